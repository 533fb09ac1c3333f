"""What was measured: its row in expected.tsv, its words in a line, its cell in README.md."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected.tsv"
OUTCOMES = ["accepted", "replayed", "refused", "failed"]
NUMBERS = ["attempts", *OUTCOMES, "charges"]
ROW = ["client", "way", "case"]


def values(stats, saw):
    counts = stats["providers"]["stripe"]["operations"]["charges.create"]
    outcomes = {outcome: counts[outcome] for outcome in OUTCOMES}
    return {"attempts": counts["received"], **outcomes, "charges": stats["effects"].get("charge", 0), "saw": saw}


def words(measured):
    if measured is None:
        return "nothing"
    outcomes = ", ".join(f"{outcome} {measured[outcome]}" for outcome in OUTCOMES if measured[outcome])
    return f"attempts {measured['attempts']} ({outcomes}), charges {measured['charges']}, saw {measured['saw']}"


def read():
    _, *lines = EXPECTED.read_text().splitlines()
    rows = {}
    for line in lines:
        *cells, saw = line.split("\t")
        numbers = dict(zip(NUMBERS, map(int, cells[len(ROW):]), strict=True))
        rows[tuple(cells[:len(ROW)])] = {**numbers, "saw": saw}
    return rows


def write(measured):
    lines = [[*ROW, *NUMBERS, "saw"]]
    lines += [[*row, *(str(values[name]) for name in NUMBERS), values["saw"]] for row, values in measured.items()]
    EXPECTED.write_text("".join("\t".join(line) + "\n" for line in lines))


def markdown(clients, faults, measured):
    text = ""
    for client, about in clients.items():
        ways = about["ways"]
        lines = [["fault", *(way["says"] for way in ways.values())], ["---"] * (len(ways) + 1)]
        for case, fault in faults.items():
            cells = [cell(measured[client, way, case], "rule" in fault) for way in ways]
            lines.append([fault["says"], *cells])
        text += f"\n### {about.get('says', client)}, {version(about)}\n\n"
        text += "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return text + "\n"


def version(about):
    manifest, pattern = about["version"]
    return re.search(pattern, (HERE / manifest).read_text())[1]


def cell(measured, fault):
    saw = measured["saw"]
    saw = f"`{saw}`" if saw != "success" else "**success**" if fault else saw
    return f"{measured['attempts']} / {measured['charges']} {saw}"
