"""Holds the measured tables against those that README.md keeps, or writes them there with CLIENTS_WRITE=1."""

import difflib
import os
from pathlib import Path

README = Path(__file__).resolve().parent / "README.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->"


def problems(text):
    """Says where the kept tables differ from `text`; nothing is left to say once they were written."""
    whole = README.read_text()
    before, rest = whole.split(BEGIN)
    found, after = rest.split(END)
    if os.environ.get("CLIENTS_WRITE"):
        README.write_text(before + BEGIN + text + END + after)
        return []
    lines = difflib.unified_diff(found.splitlines(), text.splitlines(), "kept", "measured", n=0, lineterm="")
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
