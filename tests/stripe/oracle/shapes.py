"""Compares what both servers answer: every key that stripe-mock has exists in ours, with the same JSON type."""

import fnmatch

NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


def kind(value):
    return NAMES[type(value)]


def differences(theirs, ours, at=""):
    """Yields (place, what differs). A null on one side agrees with anything: the specification says where null may stand."""
    if theirs is None or ours is None:
        return
    if kind(theirs) != kind(ours):
        # An expandable field is an id here and an object there.
        yield at, f"is {kind(ours)}, and {kind(theirs)} there"
    elif isinstance(theirs, dict):
        for key, value in theirs.items():
            place = f"{at}.{key}" if at else key
            if key not in ours:
                yield place, f"is missing ({kind(value)} there)"
            else:
                yield from differences(value, ours[key], place)
    elif isinstance(theirs, list) and theirs and ours:
        yield from differences(theirs[0], ours[0], f"{at}[]")


class Known:
    """The differences that are known by name, each with its reason; one that is no more is an error too."""

    def __init__(self, path):
        self.rows, self.used = [], set()
        for number, line in enumerate(open(path), 1):
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                name, reason = line.split("\t", 1)
                self.rows.append((name, reason, number))

    def explains(self, name):
        for pattern, _, number in self.rows:
            if fnmatch.fnmatchcase(name, pattern.replace("[]", "[[]]")):
                self.used.add(number)
                return True
        return False

    def idle(self, requests):
        """Lists what has explained nothing; rows of requests only where requests were looked at."""
        rows = [row for row in self.rows if requests or not row[0].startswith("request ")]
        return [f"line {number}: {name}" for name, _, number in rows if number not in self.used]
