"""Runs both tools against one ackdrop each, and holds its log and its counts against what every worker ran.

    drive.py FOLDER

FOLDER is where the tools were installed.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).parent
WORKERS, TESTS = 8, 500
# What a test leaves behind: attempts by operation, outcome and fate.
CHARGE = {("charges.create", "accepted", "withheld(close)"): 1, ("charges.create", "replayed", "answered"): 1}
MAIL = {("messages.send", "accepted", "withheld(close)"): 1}
# How the log tells an attempt: `~gw0 stripe charges.create key=order-17 accepted withheld(close) fault=f1`.
ATTEMPT = re.compile(r"(?:~(\S+) )?(?:stripe|smtp) (\S+) .*?(accepted|replayed|refused|read|failed|incomplete) (\S+)")


def run_pytest(made, url, folder):
    """Runs the tests, and returns how many of each kind each worker's scope saw."""
    shutil.copytree(HERE / "pytest", folder, dirs_exist_ok=True)
    command = [made / "pytest" / "bin" / "python", "-m", "pytest", "-n", str(WORKERS), "-v", "-p", "no:cacheprovider"]
    said = run(command, folder, url, ORDERS=str(TESTS // 2))
    ran = collections.defaultdict(collections.Counter)
    for worker, kind in re.findall(r"\[(gw\d+)\].* PASSED \S*::test_a_(retry|mail)_", said):
        ran[worker]["charge" if kind == "retry" else "mail"] += 1
    return ran


def run_vitest(made, url, folder):
    """The same; vitest gives whole files to workers, so there are ten of them, with as many charges as mails in each."""
    shutil.copy(HERE / "vitest" / "ackdrop.ts", folder)
    shutil.copy(HERE / "vitest" / "package.json", folder)
    (folder / "node_modules").symlink_to(made / "vitest" / "node_modules")
    for file in range(10):
        shutil.copy(HERE / "vitest" / "receipts.test.ts", folder / f"receipts-{file}.test.ts")
    said = run(["npm", "test", "--silent"], folder, url, ORDERS=str(TESTS // 20), NO_COLOR="1")
    check(re.search(rf"Tests +{TESTS} passed \({TESTS}\)", said), f"not all tests passed: {said}")
    # It does not say which worker ran a test. Each begins with a reset of its scope, the first of which finds no world yet.
    ran = {}
    for worker in range(1, WORKERS + 1):
        tests = get(url, f"/_stats?scope=w{worker}")["generation"]
        ran[f"w{worker}"] = collections.Counter(charge=tests // 2, mail=tests - tests // 2)
    return ran


def run(command, folder, url, **env):
    env = {**os.environ, "ACKDROP_URL": url, **env}
    ended = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    check(ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:])
    return ended.stdout


def get(url, path):
    with urllib.request.urlopen(url + path, timeout=30) as answer:
        return json.load(answer)


def check(holds, why):
    if not holds:
        raise AssertionError(why)


def logged(log):
    """Counts the attempts of each scope in the log, which no reset forgets."""
    attempts = collections.defaultdict(collections.Counter)
    for line in log.read_text().splitlines():
        message = json.loads(line)["fields"]["message"]
        if found := ATTEMPT.match(message):
            scope, *what = found.groups()
            attempts[scope or "default"][tuple(what)] += 1
    return attempts


def expect(ran):
    """Says what a worker that ran so many charges and mails has made."""
    charges = {what: n * ran["charge"] for what, n in CHARGE.items()}
    mails = {what: n * ran["mail"] for what, n in MAIL.items()}
    return collections.Counter(charges | mails)


def sums_up(url, scopes):
    """Checks that there are no other scopes, that each holds what its last test did, and that the total is the sum of all."""
    known = [world["scope"] for world in get(url, "/_scopes")["scopes"] if world["received"]]
    check(sorted(known) == sorted(scopes), f"there are other scopes: {known}")
    each = {scope: get(url, f"/_stats?scope={scope}") for scope in scopes}
    for scope, stats in each.items():
        check(stats["effects"] in ({"charge": 1}, {"message": 1, "recipient": 1}), f"{scope} holds {stats['effects']}")
    total = get(url, "/_stats")
    for part in ("total", "effects"):
        numbers = [{name: n for name, n in stats[part].items() if isinstance(n, int)} for stats in (total, *each.values())]
        whole, *parts = map(collections.Counter, numbers)
        check(+whole == sum(parts, collections.Counter()), f"{part} {whole} is not the sum of {parts}")


def tool(name, run_tests, made):
    """Runs one tool against a suite of its own; yields each check's name and what is wrong, if anything."""
    # Every ACKDROP_… is a setting of it, and it refuses those that it does not know.
    env = {key: value for key, value in os.environ.items() if not key.startswith("ACKDROP_")}
    listen = ["--http", "127.0.0.1:0", "--smtp", "127.0.0.1:0", "--https", "off", "--smtps", "off", "--log", "json"]
    with tempfile.TemporaryDirectory(prefix="ackdrop-scopes-") as folder:
        folder, log = pathlib.Path(folder), pathlib.Path(folder) / "log"
        (folder / "tests").mkdir()
        with log.open("w") as stderr:
            command = [os.environ["SUITE_BIN"], "serve", *listen]
            suite = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=env)
        try:
            url = next(line.split()[1] for line in suite.stdout if line.split()[0] == "http")
            ran = run_tests(made, url, folder / "tests")
            tests = sum(sum(kinds.values()) for kinds in ran.values())
            yield f"{name}: {TESTS} tests by {WORKERS} workers pass", (len(ran), tests) != (WORKERS, TESTS) and ran
            resets = {scope: get(url, f"/_stats?scope={scope}")["generation"] for scope in ran}
            own = {scope: sum(kinds.values()) for scope, kinds in ran.items()}
            yield f"{name}: each scope was reset by its own tests", resets != own and resets
            sums_up(url, ran)
            yield f"{name}: the total is the sum of its scopes", None
        finally:
            suite.terminate()
            suite.wait(10)
        attempts = logged(log)
        yield f"{name}: no scope but the workers' was met", set(attempts) != set(ran) and sorted(attempts)
        for scope, kinds in sorted(ran.items()):
            wrong = attempts[scope] != expect(kinds) and f"{kinds} made {attempts[scope]}"
            yield f"{name}: {scope} made what its {sum(kinds.values())} tests did", wrong


def main(made):
    passed = failed = 0
    for name, run_tests in (("pytest", run_pytest), ("vitest", run_vitest)):
        try:
            for what, wrong in tool(name, run_tests, made):
                passed, failed = passed + (not wrong), failed + bool(wrong)
                print(f"FAIL {what}: {wrong}" if wrong else f"ok   {what}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"FAIL {name}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
