"""Postfix as a relay host: an instance of its own in a temporary folder, which takes mail and sends it on to ackdrop."""

import itertools
import os
import pathlib
import re
import shutil
import smtplib
import socket
import subprocess
import tempfile

from clients import MAIL

MAIN = """\
compatibility_level = 3.6
queue_directory = {dir}/spool
data_directory = {dir}/data
maillog_file = /dev/stdout
myhostname = relay.test
mydestination =
local_recipient_maps =
alias_maps =
alias_database =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
relayhost = [127.0.0.1]:{upstream}
disable_dns_lookups = yes
fast_flush_domains =
smtpd_relay_restrictions = permit_mynetworks, reject
smtp_data_done_timeout = {timeout}s
queue_run_delay = 1s
minimal_backoff_time = 1s
maximal_backoff_time = 1s
"""

MASTER = """\
127.0.0.1:{port} inet n - n - - smtpd
cleanup unix  n - n - 0 cleanup
qmgr    unix  n - n 1 1 qmgr
rewrite unix  - - n - - trivial-rewrite
bounce  unix  - - n - 0 bounce
defer   unix  - - n - 0 bounce
trace   unix  - - n - 0 bounce
smtp    unix  - - n - - smtp
error   unix  - - n - - error
retry   unix  - - n - - error
anvil   unix  - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""


class Postfix:
    """Takes a mail, answers for it, and retries by itself: its log says what it saw."""

    def __init__(self, timeout):
        self.timeout = timeout

    def start(self, upstream):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ackdrop-postfix-"))
        self.dir.chmod(0o755)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (self.dir / "spool").mkdir()
        (self.dir / "data").mkdir()
        shutil.chown(self.dir / "data", "postfix", "postfix")
        (self.dir / "main.cf").write_text(MAIN.format(dir=self.dir, upstream=upstream, timeout=self.timeout))
        (self.dir / "master.cf").write_text(MASTER.format(port=self.port))
        subprocess.run(["postfix", "-c", self.dir, "check"], check=True, capture_output=True)
        master = subprocess.run(
            ["postconf", "-c", self.dir, "-h", "daemon_directory"], check=True, capture_output=True, text=True
        ).stdout.strip()
        # -s: in the foreground, with the log on stdout.
        self.process = subprocess.Popen(
            [f"{master}/master", "-s", "-c", self.dir],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "MAIL_CONFIG": str(self.dir)},
        )
        for line in self.process.stdout:
            if "daemon started" in line:
                return
        raise SystemExit("Postfix did not start")

    def send(self, _user, _timeout):
        with smtplib.SMTP("127.0.0.1", self.port, timeout=30) as smtp:
            smtp.sendmail("a@example.com", ["b@example.com"], MAIL)
        grouped = [(said, len(list(group))) for said, group in itertools.groupby(self.until_empty())]
        return "; ".join(said if times == 1 else f"{times} times {said}" for said, times in grouped)

    def until_empty(self):
        """Reads the log until nothing is queued, and returns what was said of each delivery."""
        queued, seen = set(), []
        for line in self.process.stdout:
            found = re.search(r"postfix/(\w+)\[\d+\]: ([0-9A-F]{6,}): (.*)", line)
            if not found:
                continue
            daemon, id, text = found.groups()
            if daemon == "cleanup":
                queued.add(id)
            if daemon == "smtp" and "status=" in text:
                seen.append(said(text))
            if daemon == "bounce" and "non-delivery" in text:
                seen.append("tells the sender in a mail")
            if daemon == "qmgr" and text == "removed":
                queued.discard(id)
                if not queued:
                    return seen
        raise AssertionError(f"Postfix ended: {line}")

    def stop(self):
        self.process.terminate()
        self.process.stdout.read()
        self.process.wait(10)
        shutil.rmtree(self.dir)


def said(text):
    """Shortens `to=…, dsn=4.4.2, status=deferred (lost connection with 127.0.0.1[…] while …)` to what matters."""
    dsn, status, why = re.search(r"dsn=([\d.]+), status=(\w+) \((.*)\)", text).groups()
    if status == "sent":
        return "sent"
    why = re.sub(r" (with|from) 127\.0\.0\.1\[127\.0\.0\.1\](:\d+)?", "", why)
    why = re.sub(r"^host 127\.0\.0\.1\[127\.0\.0\.1\] said: (\d+) .*", r"said \1", why)
    return f"{status} {dsn}, {why}"
