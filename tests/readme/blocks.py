"""Runs a page's blocks of shell, in order, and compares what they print.

A block ```sh is run; the block ```text right behind it is what it prints, where `…` stands for anything within a line and a line of `…`
alone for any lines. A comment right before a block says otherwise:

  <!-- background -->      it goes on while the rest runs; the page goes on when GET /_ready says so
  <!-- background until WORDS -->  the same, and the page goes on when it has printed a line with these words
  <!-- end -->             ends what runs in the background, before the block
  <!-- not run: why -->    it is not run, and the test says so

Steps of a block ```yaml that are `run: …` are run as GitHub's runner would, each by `bash -e`, after its service has been started.
"""

import os
import re
import signal
import subprocess
import sys
import threading

passed = failed = 0


def blocks(page):
    """Yields (directive, language, text, line) for each fenced block; a block right behind another has the directive `behind`."""
    directive, fence, text = "", None, []
    for number, line in enumerate(page.splitlines(), 1):
        if fence is not None:
            if line.strip() == "```":
                yield directive, fence, "\n".join(text), start
                directive, fence = "behind", None
            else:
                text.append(line)
        elif line.startswith("```"):
            fence, text, start = line[3:].strip(), [], number
        elif match := re.fullmatch(r"<!-- (.*) -->", line.strip()):
            directive = match[1]
        elif line.strip():
            directive = ""


def matches(wanted, got):
    """Compares line by line; the whole of what is wanted must be there, in order and nothing between."""
    pattern = []
    for line in wanted.strip().splitlines():
        if line.strip() == "…":
            pattern.append("(?:.*\n)*?")
        else:
            pattern.append(".*".join(re.escape(part) for part in line.rstrip().split("…")) + " *\n")
    return re.fullmatch("".join(pattern), got.strip() + "\n")


def shell(text, *options):
    done = subprocess.run(["bash", *options, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    return done.returncode, done.stdout


def case(name, problem):
    global passed, failed
    if problem:
        failed += 1
        print(f"FAIL {name}\n{problem}", flush=True)
    else:
        passed += 1
        print(f"ok   {name}", flush=True)


def ready():
    """Waits until the suite on its usual port says that it is ready."""
    return subprocess.run(["ackdrop", "ready", "--timeout", "60s"], stdout=subprocess.DEVNULL, check=False).returncode == 0


def begin(text, words):
    """Starts what goes on in the background, and tells whether it has become ready."""
    process = subprocess.Popen(["bash", "-c", text], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if not words:
        return process, ready()
    said = any(words in line for line in process.stdout)
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return process, said


def stop(process):
    if process:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=30)


def job(text):
    """Runs a workflow's job: its service as the container it names, then its steps."""
    ports = re.findall(r"^\s+- (\d+:\d+)$", text, re.M)
    image = re.search(r"image: (\S+)", text)[1]
    publish = [option for port in ports for option in ("-p", f"127.0.0.1:{port}")]
    service = subprocess.check_output(["docker", "run", "-d", "--rm", *publish, image], text=True).strip()
    try:
        if not ready():
            return "its service does not become ready"
        for step in re.findall(r"- run: (?:\|\n((?:\s{10,}.*\n?)+)|(.*))", text):
            command = (step[0] or step[1]).replace("${{ job.services.ackdrop.id }}", service)
            status, said = shell(command, "-e")
            if status:
                return f"step `{command.strip()}` ended with {status}\n{said}"
    finally:
        subprocess.run(["docker", "rm", "-f", service], stdout=subprocess.DEVNULL, check=False)
    return None


def main(path):
    with open(path, encoding="utf-8") as page:
        found = list(blocks(page.read()))
    background = None
    for index, (directive, language, text, line) in enumerate(found):
        name = f"line {line}: {text.splitlines()[0] if text else ''}"
        if directive.startswith("not run"):
            print(f"     {name} ({directive})")
            continue
        if directive == "end":
            stop(background)
            background = None
        if language == "yaml" and "run:" in text:
            stop(background)
            background = None
            case(name, job(text))
        if language != "sh":
            continue
        if directive.startswith("background"):
            background, is_ready = begin(text, directive.removeprefix("background until ") if " until " in directive else "")
            case(name, None if is_ready else "it does not become ready")
            continue
        status, said = shell(text)
        behind = found[index + 1] if index + 1 < len(found) else None
        problem = None
        if behind and behind[:2] == ("behind", "text"):
            if not matches(behind[2], said):
                problem = f"--- the page says\n{behind[2]}\n--- it printed\n{said}"
        elif status:
            problem = f"it ended with {status}\n{said}"
        case(name, problem)
    stop(background)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main(sys.argv[1])
