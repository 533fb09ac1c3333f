"""Holds a part's table against the one that README.md keeps; writes it there with CLIENTS_WRITE=1.

    section.py PART <table
"""

import difflib
import os
import sys
from pathlib import Path

README = Path(__file__).resolve().parent / "README.md"


def keep(part, text):
    """Keeps `text` between the two comments that name the part, prints a line about it, and says whether all is well."""
    begin, end = f"<!-- {part}: measured -->\n", f"<!-- /{part} -->"
    whole = README.read_text()
    before, rest = whole.split(begin)
    found, after = rest.split(end)
    if os.environ.get("CLIENTS_WRITE"):
        README.write_text(before + begin + text + end + after)
    elif found != text:
        print(f"FAIL {part}: README.md keeps another table than what was measured (tests/clients/run --write writes it)")
        for line in difflib.unified_diff(found.splitlines(), text.splitlines(), "kept", "measured", n=0, lineterm=""):
            print(f"     {line}")
        return False
    print(f"ok   {part}: README.md keeps the table as measured")
    return True


if __name__ == "__main__":
    sys.exit(0 if keep(sys.argv[1], sys.stdin.read()) else 1)
