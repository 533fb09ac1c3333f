"""The tables of README.md, and the same as data."""

import json

BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def tables(faults, measured):
    """Shows each client's cases: attempts, effects, duplicates, and what it saw."""
    text = ""
    for name, cases in measured.items():
        text += f"\n### {name}\n\n" + row(["fault", "attempts", "effects", "duplicates", "what the program saw"])
        text += row(["---", "---:", "---:", "---:", "---"])
        for fault in filter(cases.get, faults):
            attempts, effects, duplicates, saw = cases[fault]
            doubled = f"**{effects}**" if duplicates else effects
            text += row([fault, attempts, doubled, duplicates, saw])
    return text + "\n"


def rows(measured):
    """Writes the cases as JSON, a line each."""
    clients = []
    for name, cases in measured.items():
        lines = ",\n".join(f"    {json.dumps(fault)}: {json.dumps(case)}" for fault, case in cases.items())
        clients.append(f"  {json.dumps(name)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(clients) + "\n}\n"


def update(page, text, write):
    """Puts the tables into the page, or tells that it shows others."""
    old = page.read_text()
    head, _, rest = old.partition(BEGIN)
    _, _, tail = rest.partition(END)
    new = head + BEGIN + text + END + tail
    if write:
        page.write_text(new)
    elif new != old:
        return "it shows other numbers; `tests/clients/run --write mail` writes it anew"
    return None
