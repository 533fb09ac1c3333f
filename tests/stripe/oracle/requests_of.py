"""Sends the requests that programs have sent to ours to stripe-mock too: they pass its parameter check."""

import json


def replay(journal, mock, known, report):
    """`journal` is a file of `GET /_events`: whole entries, with their requests."""
    entries = [e for e in json.load(open(journal))["events"] if e["provider"] == "stripe" and e["outcome"] in ("accepted", "read")]
    name = journal.rsplit("/", 1)[-1].removesuffix(".json")
    rejected, sent = [], 0
    for entry in entries:
        request = entry["request"]
        if entry["operation"] == "schedule.run" or request is None:
            continue
        method, target = entry["line"].split(" ", 1)
        if known.explains(f"request {method} {target.split('?')[0]}"):
            continue
        status, answer = mock.call(method, target, body=request["body"] if method == "POST" else None)
        sent += 1
        if status >= 400:
            rejected.append(f"{method} {target} {request['body'][:200]}: {status} {json.dumps(answer)[:200]}")
    report(sent > 0 and not rejected, f"requests of {name}: {sent} pass stripe-mock's check", "; ".join(rejected[:5]))
