"""Decodes all that ackdrop shows to stripe-python's classes, and checks every field against its annotation. usage: decode.py FOLDER

An annotation that is not Optional must be there; Optional ones may be null or missing, for stripe-python does not tell the two apart.
Its enumerations are open (`Union[Literal[…], str]`): they are closed here. known.tsv names what the SDK lacks, each with a reason."""

import ast
import importlib
import inspect
import json
import sys
import types
import typing
from fnmatch import fnmatchcase
from pathlib import Path

import stripe
from stripe import _util
from stripe._stripe_object import UntypedStripeObject
import typing_extensions

LISTS = (stripe.ListObject, stripe.SearchResultObject)
LITERALS = (typing.Literal, typing_extensions.Literal)


def imported_for_types(module, seen={}):
    """Returns the names that a module imports under TYPE_CHECKING only: its annotations name them, and nothing else does."""
    if module.__name__ not in seen:
        names = seen[module.__name__] = {}
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
                for each in node.body:
                    source = importlib.import_module(each.module)
                    names.update((alias.asname or alias.name, getattr(source, alias.name)) for alias in each.names)
    return seen[module.__name__]


def annotations(cls, seen={}):
    """Returns the fields of a class, those it inherits included, each with its annotation."""
    if cls not in seen:
        hints = {}
        for each in reversed(cls.__mro__):
            if issubclass(each, stripe.StripeObject) and each is not stripe.StripeObject:
                module = sys.modules[each.__module__]
                own = types.SimpleNamespace(__annotations__=each.__dict__.get("__annotations__", {}))
                hints.update(typing.get_type_hints(own, {**vars(module), **imported_for_types(module)}))
        seen[cls] = {name: hint for name, hint in hints.items() if typing.get_origin(hint) is not typing.ClassVar}
    return seen[cls]


def optional(hint):
    return typing.get_origin(hint) is typing.Union and type(None) in typing.get_args(hint)


def differences(value, hint, at):
    """Yields (place, what differs) of a value and its annotation."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any or isinstance(hint, typing.TypeVar):
        return
    if origin is typing.Union:
        if value is None and type(None) in args:
            return
        closed = any(typing.get_origin(arg) in LITERALS for arg in args)
        choices = [arg for arg in args if arg is not type(None) and not (closed and arg is str)]
        own = [arg for arg in choices if (typing.get_origin(arg) or arg) is type(value)]
        found = [list(differences(value, arg, at)) for arg in own or choices]
        # The choice that fits best says what is wrong.
        yield from min(found, key=len)
    elif origin in LITERALS:
        if value not in args:
            yield at, f"is {value!r}, not one of {', '.join(map(repr, args))}"
    elif origin is list or hint is list:
        if not isinstance(value, list):
            yield at, f"is {value!r}, not a list"
        else:
            for number, each in enumerate(value):
                yield from differences(each, args[0], f"{at}[{number}]")
    elif origin is dict or (origin or hint) is UntypedStripeObject:
        if not isinstance(value, (dict, stripe.StripeObject)):
            yield at, f"is {value!r}, not a hash"
            return
        if type(value) is not stripe.StripeObject and isinstance(value, stripe.StripeObject):
            yield from fields(value, at)  # What an event is about has a class of its own.
        for name, each in (value._data if isinstance(value, stripe.StripeObject) else value).items():
            yield from differences(each, args[-1], f"{at}.{name}")
    elif inspect.isclass(origin or hint) and issubclass(origin or hint, stripe.StripeObject):
        if not isinstance(value, origin or hint):
            yield at, f"is {type(value).__name__}, not {hint.__qualname__ if inspect.isclass(hint) else hint}"
        else:
            yield from fields(value, at, args)
    elif hint is float and type(value) is int:
        return
    elif type(value) is not hint:
        yield at, f"is {value!r}, not {getattr(hint, '__name__', hint)}"


def fields(value, at="", args=()):
    """Yields what differs in an object's fields from its class."""
    hints = annotations(type(value))
    if "object" in value and type(value) is stripe.StripeObject:
        yield at, f"{value['object']} has no class"
    where = f"{at}." if at else ""
    for name, hint in hints.items():
        if name in value:
            hint = typing.List[args[0]] if args and isinstance(value, LISTS) and name == "data" else hint
            yield from differences(value[name], hint, where + name)
        elif not optional(hint) and not (name == "deleted" or value._data.get("deleted")):
            yield where + name, "is missing"
    for name in value._data:
        if name not in hints and name != "object":
            yield where + name, "is untyped"


class Known:
    """The differences that are the SDK's own, each with its reason; one that is none any more is an error too."""

    def __init__(self):
        rows = (Path(__file__).parent / "known.tsv").read_text().splitlines()
        self.rows = [row.split("\t")[0] for row in rows if row and not row.startswith("#")]
        self.used = set()

    def explains(self, name):
        found = {row for row in self.rows if fnmatchcase(name, row.replace("[", "[[]"))}
        self.used |= found
        return bool(found)


def decode(path):
    """Yields what is wrong with one file."""
    value = json.loads(path.read_text())
    decoded = _util.convert_to_stripe_object(value, api_mode="V2" if value["object"].startswith("v2.") else "V1")
    if type(decoded) is stripe.StripeObject:
        yield "", f"{value['object']} has no class"
        return
    if isinstance(decoded, LISTS):
        classes = {type(each) for each in decoded.data}
        if len(classes) != 1:
            yield "data", f"holds {classes or 'nothing'}"
            return
        yield from fields(decoded, args=tuple(classes))
    else:
        yield from fields(decoded)


def main(folder):
    known, failed = Known(), 0

    def report(what, problems):
        nonlocal failed
        failed += bool(problems)
        print(f"FAIL python decode {what}: {'; '.join(problems)}" if problems else f"ok   python decode {what}", flush=True)

    for path in sorted(Path(folder).glob("*.json")):
        try:
            found = list(decode(path))
        except Exception as error:
            found = [("", f"{type(error).__name__}: {error}")]
        report(path.stem, [f"{place} {what}" for place, what in found if not known.explains(f"{path.stem} {place}")])
    for row in known.rows:
        if row not in known.used:
            report("known.tsv", [f"`{row}` explains nothing any more"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
