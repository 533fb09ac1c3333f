"""Sends the requests that programs have sent to ours to stripe-mock too: they pass its parameter check.

usage: requests_of.py MOCK JOURNAL…   (main.py does it as well, with everything else)"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import shapes
from wire import Server


def replay(journal, mock, known, report):
    """`journal` is a file of `GET /_events`: whole entries, with their requests."""
    name = pathlib.Path(journal).stem
    rejected, sent = [], 0
    for entry in json.load(open(journal))["events"]:
        request = entry["request"]
        # What the suite does by itself, and what is refused on purpose, is no request of a program that should pass.
        if entry["provider"] != "stripe" or entry["outcome"] not in ("accepted", "read") or entry["client"] is None:
            continue
        method, target = entry["line"].split(" ", 1)
        target = re.sub("^/~[^/]+", "", target)
        if known.explains(f"request {method} {target.split('?')[0]}"):
            continue
        status, answer = mock.call(method, target, body=request["body"] if method == "POST" else None)
        sent += 1
        if status >= 400:
            rejected.append(f"{method} {target} {(request['body'] or '')[:200]}: {status} {json.dumps(answer)[:200]}")
    report(sent > 0 and not rejected, f"requests of {name}: {sent} pass stripe-mock's check", "; ".join(rejected[:5]))


def main(mock, journals):
    def report(right, what, why=""):
        print(f"ok   {what}" if right else f"FAIL {what}: {why}", flush=True)

    known = shapes.Known(pathlib.Path(__file__).parent / "differences.tsv")
    for journal in journals:
        replay(journal, Server(mock), known, report)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
