"""Asks stripe-mock, which nobody here wrote, about ours. usage: main.py OURS MOCK SPEC [JOURNAL…]"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import objects
import parameters
import requests_of
import shapes
from wire import Server


def main(ours, mock, spec, journals):
    ours, mock = Server(ours), Server(mock)
    counts = {True: 0, False: 0}

    def report(right, what, why=""):
        counts[right] += 1
        print(f"ok   {what}" if right else f"FAIL {what}: {why}", flush=True)

    known = shapes.Known(pathlib.Path(__file__).parent / "differences.tsv")
    world = objects.World(ours)
    for kind, path in objects.PATHS.items():
        compare(kind, path, world, ours, mock, known, report)
    for path in objects.PLAIN:
        same(path, ours.call("GET", path), mock.call("GET", path), known, report)
    parameters.check(json.load(open(spec)), ours, mock, world, objects.PATHS, report, known)
    for journal in journals:
        requests_of.replay(journal, mock, known, report)
    for line in known.idle():
        report(False, f"differences.tsv {line}", "explains nothing any more")
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


def compare(kind, path, world, ours, mock, known, report):
    """Compares one object, and a list of it."""
    try:
        thing = getattr(world, kind)
        customer = thing.get("customer") if isinstance(thing.get("customer"), str) else ""
        where = path.format(id=thing["id"], customer=customer)
    except (AssertionError, AttributeError, KeyError, IndexError, TypeError) as error:
        return report(False, kind, f"cannot be made here: {error}")
    same(kind, ours.call("GET", where), mock.call("GET", where), known, report)
    root = where.rsplit("/", 1)[0]
    listed = mock.call("GET", root)
    if listed[0] == 200 and listed[1].get("object") == "list":
        same(f"{kind}.list", ours.call("GET", root), listed, known, report)


def same(name, ours, theirs, known, report):
    if (ours[0], theirs[0]) != (200, 200):
        return report(False, name, f"{ours[0]} here, {theirs[0]} there: {json.dumps(ours[1])[:300]}")
    found = [(place, what) for place, what in shapes.differences(theirs[1], ours[1])]
    unknown = [f"{place} {what}" for place, what in found if not known.explains(f"{name} {place}")]
    report(not unknown, f"shape: {name}", "; ".join(unknown))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
