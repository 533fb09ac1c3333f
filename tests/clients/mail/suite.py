"""A running ackdrop, and its admin API."""

import json
import os
import subprocess
import urllib.request

# Every ACKDROP_… is a setting of it, and it refuses those that it does not know.
ENV = {name: value for name, value in os.environ.items() if not name.startswith("ACKDROP_")}


class Ackdrop:
    def __enter__(self):
        listen = ["--http", "127.0.0.1:0", "--smtp", "127.0.0.1:0", "--https", "off", "--smtps", "off", "--log", "off"]
        # curl sends QUIT after its -m, and waits two minutes more for the answer.
        listen += ["--hang-cap", "10s"]
        command = [os.environ["SUITE_BIN"], "serve", *listen]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENV)
        for line in self.process.stdout:
            name, _, url = line.strip().partition(" ")
            if name == "http":
                self.url = url.strip()
            if name == "smtp":
                self.port = int(url.rpartition(":")[2])
                return self
        raise SystemExit("ackdrop did not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)

    def call(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, method=method), timeout=30) as answer:
            return json.load(answer)

    def reset(self, scope):
        self.call(f"/_reset?scope={scope}", method="POST")

    def settled(self, scope):
        """Returns the counts of mail in a scope, once no attempt is under way: a client may end before its last one does."""
        self.call(f"/_expect?scope={scope}", {"expect": "smtp.received >= 0", "timeout": "10s", "settle": "10ms"})
        return self.call(f"/_stats?scope={scope}")["providers"]["smtp"]

    def expect(self, scope, *expectations):
        """Asks `ackdrop assert`, and returns what it says if they do not hold."""
        command = [os.environ["SUITE_BIN"], "assert", *expectations, "--scope", scope, "--url", self.url, "--settle", "50ms"]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=ENV)
        return asked.returncode and asked.stdout + asked.stderr
