"""Charges once a case with stripe-python, as the plan (a JSON file, the first argument) says, and prints what the program saw."""

import json
import sys

import stripe


CHARGE = {"amount": 1099, "currency": "usd", "source": "tok_visa"}


def charges(url, key, retries, timeout, module):
    """Gives the two calls of charges that a program makes: through a client of its own, or through the module's settings."""
    http = None if timeout is None else stripe.RequestsClient(timeout=timeout / 1000)
    if module:
        stripe.api_key, stripe.api_base, stripe.default_http_client = key, url, http
        return lambda: stripe.Charge.create(**CHARGE), lambda: stripe.Charge.list(limit=1)
    options = {} if retries is None else {"max_network_retries": retries}
    of = stripe.StripeClient(key, base_addresses={"api": url}, http_client=http, **options).v1.charges
    return lambda: of.create(CHARGE), lambda: of.list({"limit": 1})


def charge(kept, **how):
    create, list_one = charges(**how)
    if kept:
        list_one()
    try:
        made = create()
    except Exception as error:
        status = getattr(error, "http_status", None)
        return {"saw": type(error).__name__ + (f" {status}" if status else ""), "detail": str(error)}
    return {"saw": "success", "id": made.id}


with open(sys.argv[1]) as plan:
    for entry in json.load(plan):
        name = entry.pop("case")
        print(json.dumps({"case": name, **charge(**entry)}), flush=True)
