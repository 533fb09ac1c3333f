"""Asks stripe-mock, which nobody here wrote, about ours. usage: main.py OURS MOCK SPEC FOLDER [JOURNAL…]

Leaves every object and every list that ours shows in FOLDER, one a file, for the SDKs to decode."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import objects
import parameters
import requests_of
import shapes
from wire import Server


def main(ours, mock, spec, folder, journals):
    ours, mock = Server(ours), Server(mock)
    counts = {True: 0, False: 0}

    def report(right, what, why=""):
        counts[right] += 1
        print(f"ok   {what}" if right else f"FAIL {what}: {why}", flush=True)

    known = shapes.Known(pathlib.Path(__file__).parent / "differences.tsv")
    world = objects.World(ours)
    for kind, path in objects.PATHS.items():
        compare(kind, path, world, ours, mock, known, report, pathlib.Path(folder))
    for path in objects.PLAIN:
        shown = ours.call("GET", path)
        keep(pathlib.Path(folder), path.rsplit("/", 1)[-1], shown)
        same(path, shown, mock.call("GET", path), known, report)
    for name, answer in objects.MORE.items():
        try:
            shown = answer(world)
        except (AssertionError, KeyError, TypeError) as error:
            report(False, name, f"cannot be made here: {error}")
            continue
        keep(pathlib.Path(folder), name, shown)
        if shown[0] != 200:
            report(False, name, f"{shown[0]} here: {json.dumps(shown[1])[:300]}")
            continue
        theirs = mock.call(*ours.last)
        if theirs[0] != 404 or not known.explains(name):
            same(name, shown, theirs, known, report)
    parameters.check(json.load(open(spec)), ours, mock, world, objects.PATHS, report, known)
    for journal in journals:
        requests_of.replay(journal, mock, known, report)
    for line in known.idle(requests=bool(journals)):
        report(False, f"differences.tsv {line}", "explains nothing any more")
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


def compare(kind, path, world, ours, mock, known, report, folder):
    """Compares one object, and a list of it."""
    try:
        thing = getattr(world, kind)
        customer = thing.get("customer") if isinstance(thing.get("customer"), str) else ""
        where = path.format(id=thing["id"], customer=customer)
    except (AssertionError, AttributeError, KeyError, IndexError, TypeError) as error:
        return report(False, kind, f"cannot be made here: {error}")
    shown = ours.call("GET", where)
    keep(folder, kind, shown)
    same(kind, shown, mock.call("GET", where), known, report)
    root = where.rsplit("/", 1)[0]
    listed = mock.call("GET", root)
    if listed[0] == 200 and listed[1].get("object") == "list":
        page = ours.call("GET", root, {"limit": 100})
        keep(folder, f"{kind}.list", page)
        same(f"{kind}.list", page, listed, known, report)


def keep(folder, name, shown):
    if shown[0] == 200:
        (folder / f"{name}.json").write_text(json.dumps(shown[1]))


def same(name, ours, theirs, known, report):
    if (ours[0], theirs[0]) != (200, 200):
        return report(False, name, f"{ours[0]} here, {theirs[0]} there: {json.dumps(ours[1])[:300]}")
    found = [(place, what) for place, what in shapes.differences(theirs[1], ours[1])]
    unknown = [f"{place} {what}" for place, what in found if not known.explains(f"{name} {place}")]
    report(not unknown, f"shape: {name}", "; ".join(unknown))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:]))
