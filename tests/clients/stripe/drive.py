"""Puts every Stripe SDK through every fault of cases.json, and holds what came of it against expected.tsv and README.md.

    drive.py CLIENT COMMAND [CLIENT COMMAND …]

Each case has a scope of its own, so that its counts are its own, and a listener of its own, so that no case meets a connection
that an earlier one left in a client's pool. With CLIENTS_WRITE=1 both files are written instead.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import section
import table
from suite import BIN, ENVIRONMENT, ask, head_and_whole, running

HERE = Path(__file__).resolve().parent
CASES = json.loads((HERE / "cases.json").read_text())
FAULTS = {fault["case"]: fault for fault in CASES["faults"]}
MOST_WAYS = max(len(client["ways"]) for client in CASES["clients"].values())
PATIENCE = 150  # seconds for one program with all its cases


def main(arguments):
    programs = list(zip(arguments[::2], arguments[1::2]))
    assert [client for client, _ in programs] == list(CASES["clients"]), "a command for each client of cases.json"
    write = bool(os.environ.get("CLIENTS_WRITE"))
    expected = {} if write else table.read()
    measured, failed = {}, 0
    with running(MOST_WAYS * len(FAULTS) + 1) as [admin, *listeners]:
        failed += report("stripe: the cut lies inside the body", list(cut_inside_the_body(admin)))
        runs = [Run(client, command, admin, listeners) for client, command in programs]
        with ThreadPoolExecutor() as pool:
            for run in pool.map(Run.finished, runs):
                for row, values, problems in run.rows():
                    if not write and values and values != expected.get(row):
                        problems.append(f"expected {table.words(expected.get(row))}")
                    measured[row] = values
                    failed += report(f"{' '.join(row)}: {table.words(values)}", problems)
    if None in measured.values():
        return 1
    if write:
        table.write(measured)
    elif measured.keys() != expected.keys():
        failed += report("stripe: expected.tsv has the cases of cases.json", ["it has others"])
    text = table.markdown(CASES["clients"], FAULTS, measured)
    failed += report("stripe: README.md keeps the tables as measured", section.problems(text))
    print(text)
    return 1 if failed else 0


def report(what, problems):
    print(f"FAIL {what} ({'; '.join(problems)})" if problems else f"ok   {what}", flush=True)
    return bool(problems)


def cut_inside_the_body(admin):
    head, whole = head_and_whole(admin, "sk_test_~probe")
    cut = FAULTS["lost-truncate-body"]["rule"]["bytes"]
    if not head + 300 < cut < whole:
        yield f"a head of {head} bytes, {whole} in all, and the cut is at {cut}"


class Run:
    """One program with all its cases."""

    def __init__(self, client, command, admin, listeners):
        self.client, self.command, self.admin = client, command, admin
        self.plan, self.seen, self.trouble = [], {}, "it printed nothing of this case"
        each = [(name, way, fault) for name, way in CASES["clients"][client]["ways"].items() for fault in FAULTS.values()]
        for (name, way, fault), listener in zip(each, listeners):
            case = f"{name}.{fault['case']}"
            scope = f"{client}.{case}"
            if "rule" in fault:
                ask(admin, "/_faults", {"provider": "stripe", "operation": "charges.create", "scope": scope, **fault["rule"]})
            self.plan.append({
                "case": case,
                "url": f"http://{listener}",
                "key": f"sk_test_~{scope}",
                "retries": way.get("retries"),
                "timeout": fault.get("timeout"),
                "kept": fault.get("kept", False),
                "module": way.get("module", False),
            })

    def finished(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as plan:
            json.dump(self.plan, plan)
            plan.flush()
            command = [*shlex.split(self.command), plan.name]
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.trouble = f"it did not end within {PATIENCE} s"
                return self
        self.seen = {entry["case"]: entry for entry in map(json.loads, done.stdout.splitlines())}
        if done.returncode:
            self.trouble = f"it ended with {done.returncode}: {done.stderr.strip()[-500:]}"
        return self

    def rows(self):
        """Gives, for each case, its name, what was measured and what is wrong with it, whatever is expected."""
        fired = {rule["scope"]: rule["fired"] for rule in ask(self.admin, "/_faults")["faults"]}
        for entry in self.plan:
            way, case = entry["case"].split(".")
            seen = self.seen.get(entry["case"])
            if seen is None:
                yield (self.client, way, case), None, [self.trouble]
                continue
            scope = f"{self.client}.{entry['case']}"
            stats = ask(self.admin, f"/_stats?scope={scope}")
            listed = [charge["id"] for charge in ask(self.admin, "/v1/charges", key=entry["key"])["data"]]
            values = table.values(stats, seen["saw"])
            problems = list(never(values, stats, listed, seen))
            if "rule" in FAULTS[case] and not fired[scope]:
                problems.append("its fault never fired")
            problems += refuted(self.admin, scope, values, "rule" in FAULTS[case])
            if problems and "detail" in seen:
                problems.append(seen["detail"])
            yield (self.client, way, case), values, problems


def refuted(admin, scope, values, fault):
    """Asks `ackdrop assert` for the same counts; says what it answers when they do not hold."""
    counts = {"charge": values["charges"], "charges.create.received": values["attempts"]}
    counts |= {f"charges.create.{outcome}": values[outcome] for outcome in table.OUTCOMES}
    expectations = [f"stripe.{name} == {count}" for name, count in counts.items()]
    expectations += ["duplicates == 0", *["faults all fired"] * fault]
    options = ["--url", f"http://{admin}", "--scope", scope, "--timeout", "5s", "--settle", "0s"]
    done = subprocess.run([BIN, "assert", *options, *expectations], capture_output=True, text=True, env=ENVIRONMENT)
    return [done.stdout + done.stderr] if done.returncode else []


def never(values, stats, listed, seen):
    """Says what may not be, whatever is expected."""
    total = stats["total"]
    if values["attempts"] != sum(values[outcome] for outcome in table.OUTCOMES):
        yield "its outcomes are not as many as its attempts"
    if values["charges"] > 1 or values["charges"] != values["accepted"] or total["duplicates"]:
        yield f"{values['charges']} charges, {total['duplicates']} duplicates"
    if len(listed) != values["charges"]:
        yield f"counted {values['charges']} charges, listed {listed}"
    if seen["saw"] == "success" and [seen.get("id")] != listed:
        yield f"it was told {seen.get('id')}, listed are {listed}"
    if stats["unmatched_last"]:
        yield f"stray paths {stats['unmatched_last']}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
