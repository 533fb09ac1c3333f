"""Starts ackdrop for a part's cases, and talks to it."""

import contextlib
import json
import os
import socket
import subprocess
import urllib.request

BIN = os.environ["SUITE_BIN"]
# A user's own settings, such as ACKDROP_HTTP, are none of this run's.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("ACKDROP_")}


@contextlib.contextmanager
def running(listeners):
    """Gives the addresses of as many HTTP listeners of one suite, and ends it afterwards."""
    command = [BIN, "serve", "--log", "off", "--https", "off", "--smtp", "off", "--smtps", "off"]
    command += ["--http", "127.0.0.1:0"] * listeners
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = (line.split() for line in process.stdout)
            first = next(line[1] for line in lines if line[:1] == ["http"])
            yield ask(first.removeprefix("http://"), "/_addresses")["http"]
        finally:
            process.terminate()


def ask(address, path, body=None, key=None):
    request = urllib.request.Request(f"http://{address}{path}", data=body and json.dumps(body).encode())
    if key:
        request.add_header("authorization", f"Bearer {key}")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def head_and_whole(address, key):
    """Charges once over a bare socket; says how long the answer's head and the whole answer are."""
    body = b"amount=1099&currency=usd&source=tok_visa"
    head = f"POST /v1/charges HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nconnection: close\r\ncontent-length: {len(body)}\r\n"
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as conn:
        conn.sendall(head.encode() + b"content-type: application/x-www-form-urlencoded\r\n\r\n" + body)
        answer = b"".join(iter(lambda: conn.recv(65536), b""))
    return answer.index(b"\r\n\r\n") + 4, len(answer)
