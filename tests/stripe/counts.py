"""Holds what was counted of a program against effects.json, and keeps its journals. usage: counts.py URL LAGGING SCOPE FOLDER

Leaves FOLDER/{SCOPE}.json and FOLDER/{SCOPE}-lagging.json, each as one page of `GET /_events` would be."""

import json
import pathlib
import sys
import urllib.error
import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
EXPECTED = json.loads((pathlib.Path(__file__).parent / "effects.json").read_text())
# What is 0 where effects.json names nothing else.
OTHERS = ("duplicates", "replayed", "refused", "failed", "incomplete", "unknown", "in_flight", "withheld", "lost", "open")


def ask(url, body=None):
    with OPENER.open(url, body and json.dumps(body).encode(), timeout=30) as answer:
        return json.load(answer)


def wait(url, scope, expected):
    """Waits until nothing is in flight and the effects are there; that they never are is for the comparison to tell."""
    texts = [f"{provider}.{name} == {count}" for provider, each in expected.items() for name, count in each["effects"].items()]
    try:
        ask(f"{url}/_expect?scope={scope}", {"expect": texts, "timeout": "5s", "settle": "100ms"})
    except urllib.error.HTTPError as error:
        assert error.code == 417, error.read()


def journal(url, scope):
    since, more, entries = 0, True, {}
    while more:
        page = ask(f"{url}/_events?scope={scope}&since={since}&limit=1000")
        assert not page["journal_trimmed"], "the journal has lost entries"
        # An entry that has changed in between is shown again: its last state counts.
        entries.update((entry["id"], entry) for entry in page["events"])
        since, more = page["next"], page["has_more"]
    return {"events": [entries[id] for id in sorted(entries)]}


def differences(expected, counted):
    """Yields what differs in two tables of counts; what is not expected is expected to be 0."""
    for name in sorted({*expected, *counted}):
        if expected.get(name, 0) != counted.get(name, 0):
            yield f"{name} is {counted.get(name, 0)}, not {expected.get(name, 0)}"


def check(suite, url, scope, folder):
    wait(url, scope, EXPECTED[suite])
    stats = ask(f"{url}/_stats?scope={scope}")
    for provider, expected in EXPECTED[suite].items():
        counted = stats["providers"].get(provider, {})
        wrong = list(differences(expected["effects"], counted.get("effects", {})))
        for name in OTHERS:
            wrong += differences({name: expected.get(name, 0)}, {name: counted.get(name, 0)})
        what = f"{scope} counts: {suite}, {provider}"
        print(f"FAIL {what}: {'; '.join(wrong)}" if wrong else f"ok   {what}")
    if stats["unmatched"]:
        print(f"FAIL {scope} counts: {suite}: stray paths {stats['unmatched_last']}")
    name = scope if suite == "main" else f"{scope}-{suite}"
    (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(journal(url, scope)))


def main(url, lagging, scope, folder):
    check("main", url, scope, folder)
    check("lagging", lagging, scope, folder)


main(*sys.argv[1:])
