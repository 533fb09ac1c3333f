"""Charges once with stripe for Python, its base URL untouched, or gets a page: prints what the program saw."""

import sys

import requests
import stripe

ca, what, name = sys.argv[1:]
try:
    if what == "charge":
        stripe.api_key = "sk_test_123"
        stripe.ca_bundle_path = ca
        charge = stripe.Charge.create(amount=1099, currency="usd", source="tok_visa", idempotency_key=name)
        print("success", charge.id)
    else:
        print("success", requests.get(name, timeout=10).status_code)
except Exception as error:
    print(type(error).__name__, error)
