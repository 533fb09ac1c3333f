"""Runs every mail client against every fault, and compares what was counted and seen with expected.json and README.md.

    drive.py FOLDER [--write]

FOLDER is where the clients were installed; --write keeps what was measured as what is expected, and as README.md's tables.
"""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tomllib

from clients import logged_in
from postfix import Postfix
from suite import Ackdrop
from table import rows, tables, update

HERE = pathlib.Path(__file__).parent
# How long a client waits for an answer that never comes, and for one that does.
SHORT, LONG = 4, 60


def measure(ackdrop, client, scope, fault):
    """Runs one case, and returns attempts, effects, duplicates and what the program saw."""
    ackdrop.reset(scope)
    rule = fault.get("rule")
    if rule:
        place = {"provider": "smtp"} if is_of_session(fault) else {"provider": "smtp", "scope": scope}
        rule = ackdrop.call("/_faults", rule | place)["id"]
    hang = fault.get("rule", {}).get("how") == "hang"
    saw = client.send("~" + scope, SHORT if hang else LONG)
    counts = ackdrop.settled(scope)
    effects = counts["effects"].get("message", 0)
    check(counts["accepted"] == effects == counts["effects"].get("recipient", 0), f"effects differ from accepted: {counts}")
    check(counts["received"] == counts["accepted"] + counts["refused"] + counts["failed"], f"the outcomes: {counts}")
    check(counts["received"] == counts["answered"] + counts["withheld"] + counts["lost"], f"the fates: {counts}")
    if rule:
        [rule] = [r for r in ackdrop.call("/_faults")["faults"] if r["id"] == rule]
        check(rule["fired"] == fault["fired"], f"the fault fired {rule['fired']} times, not {fault['fired']}")
        ackdrop.call(f"/_faults/{rule['id']}", method="DELETE")
    measured = counts["received"], effects, counts["duplicates"]
    names = "smtp.received", "smtp.message", "duplicates"
    wrong = ackdrop.expect(scope, *(f"{name} == {n}" for name, n in zip(names, measured)))
    check(not wrong, f"`ackdrop assert` says otherwise: {wrong}")
    return [*measured, saw]


def is_of_session(fault):
    return fault.get("rule", {}).get("step") == "greeting"


def check(holds, why):
    if not holds:
        raise AssertionError(why)


class Report:
    failed = 0

    def case(self, name, problem=None):
        self.failed += bool(problem)
        # One write a line: clients run at the same time.
        sys.stdout.write(f"FAIL {name}: {problem}\n" if problem else f"ok   {name}\n")
        sys.stdout.flush()


def main(made, write):
    faults = tomllib.loads((HERE / "faults.toml").read_text())
    expected = HERE / "expected.json"
    wanted = {} if write else json.loads(expected.read_text())
    clients = logged_in(made)
    if os.geteuid() == 0:
        clients["Postfix"] = Postfix(SHORT)
    # Postfix logs in nowhere: the default scope is its own.
    scopes = {name: "default" if name == "Postfix" else f"c{i}" for i, name in enumerate(clients)}
    report, measured = Report(), {name: {} for name in clients}

    def case(ackdrop, name, fault):
        try:
            got = measure(ackdrop, clients[name], scopes[name], faults[fault])
            measured[name][fault] = got
            want = got if write else wanted.get(name, {}).get(fault)
            problem = got != want and f"measured {got}, expected {want}"
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            problem = str(error) or type(error).__name__
        report.case(f"{name}, {fault}", problem)

    def cases(ackdrop, name, of_session):
        for fault, about in faults.items():
            if name in about.get("clients", clients) and is_of_session(about) == of_session:
                case(ackdrop, name, fault)

    # Whatever hangs for ever fails, and everything that was started ends.
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("FAIL mail: it takes longer than 5 minutes"))
    signal.alarm(300)
    started = []
    with Ackdrop() as ackdrop, concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
        try:
            for client in clients.values():
                client.start(ackdrop.port)
                started.append(client)
            list(pool.map(lambda name: cases(ackdrop, name, of_session=False), clients))
            # A fault at the greeting knows no scope yet: one client at a time.
            for name in clients:
                cases(ackdrop, name, of_session=True)
        finally:
            for client in started:
                client.stop()

    if "Postfix" not in clients:
        print("SKIPPED: Postfix, which starts only as root")
        return 1 if report.failed or os.environ.get("CI") == "true" else 77
    if write and not report.failed:
        expected.write_text(rows(measured))
    if not report.failed:
        report.case("README.md shows what was measured", update(HERE / "README.md", tables(faults, measured), write))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), "--write" in sys.argv))
