"""Drives the clients against a suite, in a network that has loopback and nothing else; prints a line a case."""

import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

MADE = Path(sys.argv[1])
BIN = os.environ["SUITE_BIN"]
HERE = Path(__file__).parent
WORK = Path(tempfile.mkdtemp(prefix="ackdrop-proxy-"))
CA = WORK / "ca.pem"
ADMIN, PROXY = "http://127.0.0.1:8080", "http://127.0.0.1:8080"
PLAIN = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and not k.startswith("ACKDROP_")}

passed = failed = 0


def case(what, right, detail=""):
    global passed, failed
    passed, failed = passed + bool(right), failed + (not right)
    print(f"ok   {what}" if right else f"FAIL {what}: {detail}", flush=True)


def admin(path, body=None, method=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(ADMIN + path, data=data, method=method)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        return json.load(answer)


def begin(rule=None):
    admin("/_faults", method="DELETE")
    admin("/_reset", {})
    if rule:
        admin("/_faults", rule)


def stripe():
    counts = admin("/_stats")["providers"]["stripe"]
    return {name: counts[name] for name in ("received", "accepted", "replayed", "withheld")} | {
        "charge": counts["effects"].get("charge", 0)
    }


traces = []


def traced(name, command):
    """Writes down every address that the command or a child of it tries to reach."""
    file = WORK / f"{len(traces)}-{name}.trace"
    traces.append(file)
    calls = "trace=connect,sendto,sendmsg,sendmmsg"
    return ["strace", "-f", "-qq", "-e", calls, "-e", "signal=none", "-o", str(file), *command]


def reached(files):
    found = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"')
    return [(m[2], int(m[1])) for file in files for m in found.finditer(file.read_text())]


def run(name, command, **env):
    done = subprocess.run(
        traced(name, command), env=PLAIN | env, capture_output=True, text=True, timeout=60, cwd=WORK
    )
    return done.returncode, (done.stdout + done.stderr).strip()


def python(what, name, **env):
    return run("python", [str(MADE / "python/bin/python"), str(HERE / "client.py"), str(CA), what, name], **env)[1]


def node(what, name, **env):
    return run("node", ["node", str(MADE / "client.mjs"), what, name], NODE_EXTRA_CA_CERTS=str(CA), **env)[1]


def curl(*args, **env):
    return run("curl", ["curl", "-sS", "--max-time", "20", *args], **env)


def sdks(way, **env):
    for name, client in (("python", python), ("node", node)):
        begin()
        saw = client("charge", "order-17", **env)
        case(f"stripe for {name} {way} charges", saw.startswith("success ch_") and stripe()["charge"] == 1, saw)
        begin({"mode": "drop-after-commit", "how": "reset", "on": 1})
        saw = client("charge", "order-18", **env)
        counts = stripe()
        right = counts == {"received": 2, "accepted": 1, "replayed": 1, "withheld": 1, "charge": 1}
        case(f"stripe for {name} {way} loses its answer and retries: one charge", saw.startswith("success") and right, (saw, counts))


def through_curl():
    proxy = ["-x", PROXY, "--cacert", str(CA)]
    charge = ["-u", "sk_test_123:", "-d", "amount=1099", "-d", "currency=usd", "-d", "source=tok_visa"]
    url = "https://api.stripe.com/v1/charges"
    begin()
    code, saw = curl(*proxy, *charge, url)
    case("curl -x charges inside the tunnel", code == 0 and '"id": "ch_' in saw and stripe()["charge"] == 1, saw)
    for how, codes in (("close", (52,)), ("reset", (56,)), ("truncate; bytes=600", (18, 56))):
        code, saw = curl(*proxy, *charge, "-H", f"X-Ackdrop-Fault: drop-after-commit; how={how}", url)
        case(f"curl -x sees {how} inside the tunnel", code in codes, (code, saw))
    begin()
    code, saw = curl("-x", PROXY, *charge, "http://api.stripe.com/v1/charges")
    case("curl -x charges by absolute URI", code == 0 and stripe()["charge"] == 1, saw)
    begin()
    curl("-x", "http://~alice@127.0.0.1:8080", "--cacert", str(CA), *charge, url)
    alice = admin("/_stats?scope=alice")["effects"]
    case("the user of the proxy names the scope", alice == {"charge": 1}, alice)
    begin()
    version = subprocess.run(["curl", "-V"], capture_output=True, text=True).stdout
    if "HTTPS-proxy" in version:
        code, saw = curl("-x", "https://127.0.0.1:443", "--proxy-cacert", *proxy[-1:], *proxy[2:], *charge, url)
        case("curl -x https:// charges, TLS inside TLS", code == 0 and stripe()["charge"] == 1, saw)


def refused():
    begin()
    unknown = "https://example.com/"
    saw = python("get", unknown, HTTPS_PROXY=PROXY)
    case("Python is refused an unknown host", "ProxyError" in saw and "403" in saw, saw)
    saw = node("get", unknown, HTTPS_PROXY=PROXY)
    case("Node is refused an unknown host", not saw.startswith("success 200"), saw)
    code, saw = curl("-x", PROXY, unknown)
    case("curl is refused an unknown host", code == 56 and "403" in saw, (code, saw))
    code, saw = curl("-x", PROXY, "http://example.com/")
    case("and told how to allow it", "--allow-host example.com" in saw, saw)
    hosts = admin("/_stats")["refused_hosts"]
    case("every one of them is listed", hosts == {"example.com:443": 3, "example.com:80": 1}, hosts)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the real one")

    def log_message(self, *_):
        pass


def allowed():
    real = http.server.HTTPServer(("127.0.0.1", 9000), Page)
    threading.Thread(target=real.serve_forever, daemon=True).start()
    for way in ([], ["-p"]):
        code, saw = curl("-x", "http://127.0.0.1:8090", *way, "http://allowed.test:9000/")
        case(f"an allowed host is reached {'in a tunnel' if way else 'by absolute URI'}", saw == "the real one", (code, saw))
    real.shutdown()


def served(name, *flags):
    with open(WORK / f"{name}.log", "w") as log:
        command = traced(name, [BIN, "--smtp", "off", "--smtps", "off", *flags])
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=PLAIN, text=True)
    while line := process.stdout.readline():
        if "http://" in line:
            return process
    sys.exit(f"the suite did not start:\n{(WORK / f'{name}.log').read_text()}")


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    names = "localhost allowed.test api.stripe.com"
    (WORK / "hosts").write_text(f"127.0.0.1 {names}\n::1 localhost api.stripe.com\n")
    begun = time.monotonic()
    processes = [
        served("suite", "--https", "127.0.0.1:443", "--ca", str(WORK)),
        served("allowing", "--http", "127.0.0.1:8090", "--https", "off", "--allow-host", "*.test"),
    ]
    try:
        # Through the proxy nobody needs the name to lead anywhere, so it does not.
        sdks("by HTTPS_PROXY", HTTPS_PROXY=PROXY)
        through_curl()
        refused()
        subprocess.run(["mount", "--bind", str(WORK / "hosts"), "/etc/hosts"], check=True)
        sdks("by name on port 443")
        allowed()
    finally:
        for process in processes:
            # The suite is strace's only child.
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGTERM)
            process.wait(10)
    away = [place for place in reached(traces) if not (place[0].startswith("127.") or place[0] == "::1")]
    case("nothing tried to leave the machine", not away, away)
    suite = [file for file in traces if "suite" in file.name]
    case("the suite itself connected to nobody", reached(suite) == [], reached(suite))
    seen = reached([file for file in traces if "allowing" in file.name])
    case("but where a host is allowed, and that was seen", ("127.0.0.1", 9000) in seen, seen)
    shutil.rmtree(WORK)
    print(f"-- took {time.monotonic() - begun:.1f} s")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
