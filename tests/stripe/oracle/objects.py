"""The objects that both servers are asked for: how ours is made, and where both show it."""

import json

CARD = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2034, "cvc": "123"}


class World:
    """Makes each object once, and those that it needs before it."""

    def __init__(self, ours):
        self.ours = ours
        self.known = {}

    def __getattr__(self, name):
        if name.startswith("_") or name not in RECIPES:
            raise AttributeError(name)
        if name not in self.known:
            self.known[name] = RECIPES[name](self)
        return self.known[name]

    def post(self, path, **params):
        return self.ours.made(path, **params)


def _customer(w):
    customer = w.post("/v1/customers", email="oracle@example.com", name="Oracle", source="tok_visa",
                      address={"line1": "1 Street", "city": "Town", "country": "US", "postal_code": "12345", "state": "CA"},
                      shipping={"name": "Oracle", "address": {"line1": "1 Street", "country": "US"}},
                      metadata={"order": "17"})
    method = w.post("/v1/payment_methods", type="card", card=CARD)
    w.known["kept_method"] = w.post(f"/v1/payment_methods/{method['id']}/attach", customer=customer["id"])
    w.post(f"/v1/customers/{customer['id']}", invoice_settings={"default_payment_method": method["id"]})
    return customer


def _disputed(w):
    charge = w.post("/v1/charges", amount=2000, currency="usd", source="tok_createDispute")
    status, page = w.ours.call("GET", "/v1/disputes", {"charge": charge["id"]})
    return page["data"][0]


def _transaction(w):
    return w.ours.call("GET", f"/v1/balance_transactions/{w.charge['balance_transaction']}")[1]


def _subscription(w):
    return w.post("/v1/subscriptions", customer=w.customer["id"], items=[{"price": w.recurring["id"]}])


def _item(w):
    return w.subscription["items"]["data"][0]


def _event(w):
    w.customer
    return w.ours.call("GET", "/v1/events", {"limit": 1})[1]["data"][0]


def _source_card(w):
    return w.ours.call("GET", f"/v1/customers/{w.customer['id']}/sources")[1]["data"][0]


def _invoice(w):
    w.invoiceitem
    return w.post("/v1/invoices", customer=w.customer["id"], pending_invoice_items_behavior="include")


def _invoice_payment(w):
    w.post("/v1/invoiceitems", customer=w.customer["id"], amount=800, currency="usd")
    invoice = w.post("/v1/invoices", customer=w.customer["id"], pending_invoice_items_behavior="include")
    w.post(f"/v1/invoices/{invoice['id']}/pay")
    return w.ours.call("GET", "/v1/invoice_payments", {"invoice": invoice["id"]})[1]["data"][0]


RECIPES = {
    "customer": _customer,
    "token": lambda w: w.post("/v1/tokens", card=CARD),
    "charge": lambda w: w.post("/v1/charges", amount=2000, currency="usd", customer=w.customer["id"],
                               description="one", metadata={"order": "17"}, receipt_email="a@example.com"),
    "payment_method": lambda w: (w.customer, w.known["kept_method"])[1],
    "payment_intent": lambda w: w.post("/v1/payment_intents", amount=2000, currency="usd", customer=w.customer["id"],
                                       payment_method=w.payment_method["id"], confirm=True,
                                       return_url="https://example.com/back"),
    "setup_intent": lambda w: w.post("/v1/setup_intents", customer=w.customer["id"], usage="off_session",
                                     payment_method=w.payment_method["id"], payment_method_types=["card"]),
    "refund": lambda w: w.post("/v1/refunds", charge=w.charge["id"], amount=500, metadata={"why": "test"}),
    "dispute": _disputed,
    "balance_transaction": _transaction,
    "event": _event,
    "webhook_endpoint": lambda w: w.post("/v1/webhook_endpoints", url="http://127.0.0.1:9/hook", enabled_events=["*"]),
    "source": lambda w: w.post("/v1/sources", type="ach_credit_transfer", currency="usd", owner={"email": "oracle@example.com"}),
    "card": _source_card,
    "product": lambda w: w.post("/v1/products", name="Thing", description="A thing", metadata={"a": "b"}),
    "price": lambda w: w.post("/v1/prices", product=w.product["id"], unit_amount=1500, currency="usd"),
    "recurring": lambda w: w.post("/v1/prices", product=w.product["id"], unit_amount=900, currency="usd",
                                  recurring={"interval": "month"}),
    "coupon": lambda w: w.post("/v1/coupons", percent_off=25, duration="once"),
    "promotion_code": lambda w: w.post("/v1/promotion_codes", promotion={"type": "coupon", "coupon": w.coupon["id"]}),
    "invoiceitem": lambda w: w.post("/v1/invoiceitems", customer=w.customer["id"], amount=700, currency="usd"),
    "invoice": _invoice,
    "invoice_payment": _invoice_payment,
    "subscription": _subscription,
    "subscription_item": _item,
    "checkout.session": lambda w: w.post("/v1/checkout/sessions", mode="payment", success_url="https://example.com/ok",
                                         line_items=[{"price": w.price["id"], "quantity": 1}]),
    "test_helpers.test_clock": lambda w: w.post("/v1/test_helpers/test_clocks", frozen_time=1_900_000_000),
    "billing.meter": lambda w: w.post("/v1/billing/meters", display_name="Calls", event_name="calls",
                                      default_aggregation={"formula": "sum"}),
    "country_spec": lambda w: w.ours.call("GET", "/v1/country_specs/US")[1],
}

# Where both show an object: `{id}` is its id, `{customer}` its customer's.
PATHS = {
    "customer": "/v1/customers/{id}",
    "token": "/v1/tokens/{id}",
    "charge": "/v1/charges/{id}",
    "payment_method": "/v1/payment_methods/{id}",
    "payment_intent": "/v1/payment_intents/{id}",
    "setup_intent": "/v1/setup_intents/{id}",
    "refund": "/v1/refunds/{id}",
    "dispute": "/v1/disputes/{id}",
    "balance_transaction": "/v1/balance_transactions/{id}",
    "event": "/v1/events/{id}",
    "webhook_endpoint": "/v1/webhook_endpoints/{id}",
    "source": "/v1/sources/{id}",
    "card": "/v1/customers/{customer}/cards/{id}",
    "product": "/v1/products/{id}",
    "price": "/v1/prices/{id}",
    "coupon": "/v1/coupons/{id}",
    "promotion_code": "/v1/promotion_codes/{id}",
    "invoiceitem": "/v1/invoiceitems/{id}",
    "invoice": "/v1/invoices/{id}",
    "invoice_payment": "/v1/invoice_payments/{id}",
    "subscription": "/v1/subscriptions/{id}",
    "subscription_item": "/v1/subscription_items/{id}",
    "checkout.session": "/v1/checkout/sessions/{id}",
    "test_helpers.test_clock": "/v1/test_helpers/test_clocks/{id}",
    "billing.meter": "/v1/billing/meters/{id}",
    "country_spec": "/v1/country_specs/{id}",
}

# What has no id of its own, or is only listed.
PLAIN = ["/v1/balance"]


def _deleted(w, path, **params):
    return w.ours.call("DELETE", f"{path}/{w.post(path, **params)['id']}")


def _expanded(w, kind, *fields):
    return w.ours.call("GET", PATHS[kind].format(id=getattr(w, kind)["id"]), {"expand": list(fields)})


def _meter_event(w, **more):
    return {"event_name": getattr(w, "billing.meter")["event_name"], "payload": {"stripe_customer_id": w.customer["id"], "value": "3"}, **more}


def _meter_event_v2(w):
    headers = {"Content-Type": "application/json", "Stripe-Version": "2026-10-28.endive"}
    return w.ours.call("POST", "/v2/billing/meter_events", body=json.dumps(_meter_event(w, identifier="two")), headers=headers)


def _adjustment(w):
    w.post("/v1/billing/meter_events", **_meter_event(w, identifier="mistaken"))
    params = {"event_name": "calls", "type": "cancel", "cancel": {"identifier": "mistaken"}}
    return w.ours.call("POST", "/v1/billing/meter_event_adjustments", params)


def _discounted(w):
    items, coupon = [{"price": w.recurring["id"], "quantity": 3}], w.post("/v1/coupons", percent_off=10, duration="forever")
    subscription = w.post("/v1/subscriptions", customer=w.customer["id"], items=items, discounts=[{"coupon": coupon["id"]}])
    return w.ours.call("GET", f"/v1/subscriptions/{subscription['id']}", {"expand": ["discounts"]})


def _below(w, kind, rest):
    return w.ours.call("GET", f"{PATHS[kind].format(id=getattr(w, kind)['id'])}/{rest}")


# What else ours answers with, to be compared with what stripe-mock answers to the same, and for the SDKs to decode: what cannot be
# looked up by itself, what is left of what was deleted, what a search finds, expanded fields.
MORE = {
    "billing.meter_event.made": lambda w: w.ours.call("POST", "/v1/billing/meter_events", _meter_event(w, identifier="one")),
    "billing.meter_event_adjustment.made": _adjustment,
    "v2.billing.meter_event.made": _meter_event_v2,
    "discount.expanded": _discounted,
    "line_item.list": lambda w: _below(w, "invoice", "lines"),
    "item.list": lambda w: _below(w, "checkout.session", "line_items"),
    "customer.deleted": lambda w: _deleted(w, "/v1/customers"),
    "product.deleted": lambda w: _deleted(w, "/v1/products", name="Gone"),
    "coupon.deleted": lambda w: _deleted(w, "/v1/coupons", percent_off=5),
    "invoiceitem.deleted": lambda w: _deleted(w, "/v1/invoiceitems", customer=w.customer["id"], amount=300, currency="usd"),
    "webhook_endpoint.deleted": lambda w: _deleted(w, "/v1/webhook_endpoints", url="http://127.0.0.1:9/gone", enabled_events=["*"]),
    "customer.search": lambda w: (w.customer, w.ours.call("GET", "/v1/customers/search", {"query": 'email:"oracle@example.com"'}))[1],
    "charge.expanded": lambda w: _expanded(w, "charge", "customer", "balance_transaction", "refunds"),
    "payment_intent.expanded": lambda w: _expanded(w, "payment_intent", "customer", "payment_method", "latest_charge.balance_transaction"),
    "subscription.expanded": lambda w: _expanded(w, "subscription", "customer", "latest_invoice.lines", "default_payment_method"),
    "invoice.expanded": lambda w: _expanded(w, "invoice", "customer", "lines"),
    "checkout.session.expanded": lambda w: _expanded(w, "checkout.session", "line_items", "customer"),
}
