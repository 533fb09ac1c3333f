"""Mail clients: each sends one mail, and says in a line what it saw."""

import os
import pathlib
import smtplib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
MAIL = b"From: a@example.com\r\nTo: b@example.com\r\nSubject: Receipt 17\r\n\r\nThank you.\r\n"


class Program:
    """A client program of ours over a library: reads `login, timeout` and answers what it saw, a line each."""

    def __init__(self, *command):
        self.command = command

    def start(self, port):
        command = [str(part) for part in self.command]
        command.insert(self.command.index(PORT), str(port))
        command.remove(PORT)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"{command} did not start")

    def send(self, user, timeout):
        print(f"{user}\t{timeout * 1000}", file=self.process.stdin, flush=True)
        return self.process.stdout.readline().rstrip("\n")

    def stop(self):
        self.process.kill()
        self.process.wait(10)


PORT = "PORT"


class Smtplib:
    """Python's own client."""

    def start(self, port):
        self.port = port

    def send(self, user, timeout):
        try:
            with smtplib.SMTP("127.0.0.1", self.port, timeout=timeout) as smtp:
                smtp.login(user, "secret")
                smtp.sendmail("a@example.com", ["b@example.com"], MAIL)
            return "ok"
        except smtplib.SMTPResponseException as error:
            return f"{type(error).__name__} {error.smtp_code}"
        except OSError as error:
            return type(error).__name__

    def stop(self):
        pass


class Command:
    """A command that sends one mail and exits; what it saw is its exit code."""

    def __init__(self, line):
        self.line = line

    def start(self, port):
        self.port = port
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(MAIL)
        self.mail = file.name

    def send(self, user, timeout):
        line = self.line.format(port=self.port, user=user, timeout=timeout, mail=self.mail)
        ended = subprocess.run(line.split(), stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        return "ok" if ended.returncode == 0 else f"exit {ended.returncode}"

    def stop(self):
        os.unlink(self.mail)


CURL = (
    "curl -sS smtp://127.0.0.1:{port} --user {user}:secret --mail-from a@example.com --mail-rcpt b@example.com "
    "-T {mail} -m {timeout}"
)
MSMTP = (
    "msmtp --file=/dev/null --host=127.0.0.1 --port={port} --tls=off --auth=plain --user={user} --passwordeval=pwd "
    "--timeout={timeout} --from=a@example.com --read-recipients"
)
SWAKS = (
    "swaks --server 127.0.0.1 --port {port} --auth PLAIN --auth-user {user} --auth-password secret "
    "--from a@example.com --to b@example.com --data @{mail} --timeout {timeout}"
)


class Msmtp(Command):
    """Reads its mail from stdin."""

    def send(self, user, timeout):
        line = self.line.format(port=self.port, user=user, timeout=timeout)
        with open(self.mail, "rb") as mail:
            ended = subprocess.run(line.split(), stdin=mail, capture_output=True, timeout=120, check=False)
        return "ok" if ended.returncode == 0 else f"exit {ended.returncode}"


def logged_in(made):
    """Lists the clients that name their scope by a login, by the name in the tables."""
    nodemailer = made / "nodemailer" / "client.mjs"
    nodemailer.write_bytes((HERE / "nodemailer" / "client.mjs").read_bytes())
    return {
        "nodemailer": Program("node", nodemailer, PORT),
        "nodemailer, pooled": Program("node", nodemailer, PORT, "pool"),
        "smtplib": Smtplib(),
        "net/smtp": Program(made / "go-client", PORT),
        "Angus Mail": Program("java", "-XX:TieredStopAtLevel=1", "-cp", f"{made}/angus/*", HERE / "angus" / "Client.java", PORT),
        "lettre": Program(os.environ["ACKDROP_LETTRE"], PORT),
        "curl": Command(CURL),
        "curl --retry": Command(CURL + " --retry 2 --retry-all-errors"),
        "msmtp": Msmtp(MSMTP),
        "swaks": Command(SWAKS),
    }
