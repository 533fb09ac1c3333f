"""Sends parameters that stripe-mock rejects, one at a time, to every operation that ours has: ours rejects them as well."""

import json
import re

# Where objects are found a second time: the kinds whose ids stand in the path.
BELOW = {
    "/v1/balance/history/{id}": ("balance_transaction", None),
    "/v1/charges/{charge}/refunds/{refund}": ("charge", "refund"),
}

BAD = {"integer": "abc", "number": "abc", "boolean": "maybe", "object": "text", "array": "text"}


def kinds(schema):
    """Returns the JSON types that a schema allows, and its words where it is an enumeration."""
    if "anyOf" in schema:
        parts = [kinds(part) for part in schema["anyOf"]]
        return set().union(*(part[0] for part in parts)), [w for part in parts for w in part[1]]
    if "$ref" in schema:
        return {"object"}, []
    return {schema.get("type", "string")}, schema.get("enum", [])


def wrong_value(schema):
    """Returns a value that the schema forbids; None where any text is right."""
    types, words = kinds(schema)
    if types == {"string"}:
        return "no_such_word" if words and schema.get("enum") else {"a": "b"}
    if "string" in types and not words:
        return None
    for name in ("integer", "number", "boolean", "object", "array"):
        if name in types:
            return BAD[name]
    return None


def parameters(operation):
    """Returns the top-level parameters of an operation: name -> schema."""
    out = {p["name"]: p["schema"] for p in operation.get("parameters", []) if p["in"] == "query"}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        out.update(content["schema"].get("properties", {}))
    return out


def required(operation):
    names = [p["name"] for p in operation.get("parameters", []) if p["in"] == "query" and p.get("required")]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        names += content["schema"].get("required", [])
    return names


def plain_value(schema):
    """Returns some value that the schema allows, for a parameter that must be there."""
    types, words = kinds(schema)
    if words:
        return next(w for w in words if w)
    if "string" in types:
        return "usd"
    if "integer" in types or "number" in types:
        return 100
    if "boolean" in types:
        return True
    if "array" in types:
        item = schema.get("items") or next(p["items"] for p in schema["anyOf"] if p.get("type") == "array")
        return [plain_value(item)]
    props = schema.get("properties", {})
    return {name: plain_value(props[name]) for name in schema.get("required", [])} or {"a": "b"}


def check(spec, ours, mock, world, paths, report, known):
    """Walks every operation of the specification that ours has."""
    for path, operations in sorted(spec["paths"].items()):
        for method, operation in sorted(operations.items()):
            method = method.upper()
            real = fill(path, world, paths)
            if real is None:
                continue
            status, answer = ours.call(method if method == "GET" else "POST" if method == "POST" else method, real, {"no_such_parameter": "1"})
            message = json.dumps(answer)
            name = f"{method} {path}"
            if "Unrecognized request URL" in message:
                continue
            refused(name, "no_such_parameter", "1", {}, ours, mock, method, real, report, known)
            base = {}
            params = parameters(operation)
            for needed in required(operation):
                base[needed] = plain_value(params[needed])
            for param, schema in sorted(params.items()):
                value = wrong_value(schema)
                if value is not None:
                    refused(name, param, value, base, ours, mock, method, real, report, known)


def refused(name, param, value, base, ours, mock, method, path, report, known):
    params = {**base, param: value}
    status, answer = mock.call(method, path, params)
    if status != 400:
        return
    status, answer = ours.call(method, path, params)
    error = (answer or {}).get("error", {})
    named = re.split(r"[\[.]", str(error.get("param") or ""))[0]
    right = status == 400 and named == param
    label = f"{name} {param}={value}"
    if right or not known.explains(label):
        report(right, f"refused: {label}", f"{status} {json.dumps(error)[:200]}")


def fill(path, world, paths):
    """Puts ids of objects that exist into a path; None where ours has no such object."""
    parts = re.findall(r"\{(\w+)\}", path)
    if not parts:
        return path
    if path in BELOW:
        outer, inner = BELOW[path]
        return path.format(**{part: getattr(world, kind)["id"] for part, kind in zip(parts, (outer, inner))})
    for kind, shown in paths.items():
        root = shown.split("/{")[0]
        if path.startswith(root + "/{"):
            try:
                thing = getattr(world, kind)
                thing["id"]
            except (AttributeError, AssertionError, TypeError, KeyError, IndexError):
                return None
            if len(parts) == 1:
                return re.sub(r"\{\w+\}", str(thing["id"]), path)
            if path.startswith("/v1/customers/{customer}/") and len(parts) == 2:
                try:
                    inner = (world.payment_method if "payment_methods" in path else world.card)["id"]
                except (AssertionError, KeyError, IndexError):
                    return None
                return re.sub(r"\{\w+\}", inner, path.replace("{customer}", world.customer["id"]), count=1)
            return None
    return None
