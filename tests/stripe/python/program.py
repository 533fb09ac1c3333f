"""Does the program of ../README.md with stripe-python. usage: program.py URL LAGGING SCOPE"""

import json
import queue
import sys
import threading
import traceback
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import stripe

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
STEPS = []
NO_REDIRECTS = {"enabled": True, "allow_redirects": "never"}


def step(name):
    def register(function):
        STEPS.append((name, function))
        return function

    return register


def equal(got, wanted):
    assert got == wanted, f"{got!r}, not {wanted!r}"


def plain(url, value="", kind="application/x-www-form-urlencoded"):
    """Posts without the SDK and without a key: a form, or JSON."""
    if not isinstance(value, str):
        value, kind = json.dumps(value), "application/json"
    data = value.encode()
    with OPENER.open(urllib.request.Request(url, data, {"Content-Type": kind}), timeout=30) as answer:
        return answer.read()


class Program:
    """Is what the steps hand on to each other."""

    def __init__(self, url, lagging, scope):
        self.url, self.lagging, self.scope = url, lagging, scope
        self.email = f"{scope}@example.com"
        self.client = self.at(url)
        self.v1 = self.client.v1

    def at(self, url):
        return stripe.StripeClient(f"sk_test_~{self.scope}", base_addresses={"api": url})


@step("customer")
def customer(p):
    params = {"email": p.email, "name": "Ada", "metadata": {"order": "17"}}
    once = {"idempotency_key": f"{p.scope}-customer"}
    p.customer = p.v1.customers.create(params, once).id
    again = p.v1.customers.create(params, once)
    equal((again.id, again.metadata["order"]), (p.customer, "17"))


@step("payment method")
def payment_method(p):
    p.method = p.v1.payment_methods.create({"type": "card", "card": {"token": "tok_visa"}}).id
    p.v1.payment_methods.attach(p.method, {"customer": p.customer})
    p.v1.customers.update(p.customer, {"invoice_settings": {"default_payment_method": p.method}})
    field = "invoice_settings.default_payment_method"
    method = p.v1.customers.retrieve(p.customer, {"expand": [field]}).invoice_settings.default_payment_method
    assert isinstance(method, stripe.PaymentMethod), type(method)
    equal((method.id, method.customer, method.card.last4), (p.method, p.customer, "4242"))


@step("3DS")
def three_ds(p):
    intent = p.v1.payment_intents.create({
        "amount": 2000, "currency": "usd", "customer": p.customer, "payment_method": "pm_card_threeDSecure2Required", "confirm": True,
        "return_url": "https://example.com/back", "metadata": {"order": f"{p.scope}-3ds"},
    })
    equal((intent.status, intent.next_action.type), ("requires_action", "redirect_to_url"))
    plain(intent.next_action.redirect_to_url.url, "result=succeed")
    intent = p.v1.payment_intents.retrieve(intent.id, {"expand": ["latest_charge"]})
    charge = intent.latest_charge
    equal((intent.status, intent.amount_received, charge.paid, charge.captured), ("succeeded", 2000, True, True))
    p.intent, p.charge = intent.id, charge.id


@step("capture")
def capture(p):
    intent = p.v1.payment_intents.create({
        "amount": 5000, "currency": "usd", "customer": p.customer, "payment_method": p.method, "automatic_payment_methods": NO_REDIRECTS,
        "capture_method": "manual", "confirm": True,
    })
    equal((intent.status, intent.amount_capturable), ("requires_capture", 5000))
    intent = p.v1.payment_intents.capture(intent.id, {"amount_to_capture": 3000})
    equal((intent.status, intent.amount_received), ("succeeded", 3000))


@step("decline")
def decline(p):
    try:
        p.v1.payment_intents.create({
            "amount": 1000, "currency": "usd", "payment_method": "pm_card_visa_chargeDeclined", "automatic_payment_methods": NO_REDIRECTS,
            "confirm": True,
        })
    except stripe.CardError as error:
        equal((error.code, error.error.decline_code, error.http_status), ("card_declined", "generic_decline", 402))
    else:
        raise AssertionError("it was not declined")


@step("partial refund")
def refund(p):
    refund = p.v1.refunds.create({"payment_intent": p.intent, "amount": 500})
    equal((refund.status, refund.amount), ("succeeded", 500))
    charge = p.v1.charges.retrieve(p.charge)
    equal((charge.amount_refunded, charge.refunded), (500, False))
    equal([each.id for each in p.v1.refunds.list({"charge": p.charge}).data], [refund.id])


@step("product and prices")
def product(p):
    product = p.v1.products.create({"name": f"Plan {p.scope}"}).id
    price = {"product": product, "currency": "usd"}
    p.monthly = p.v1.prices.create({**price, "unit_amount": 1500, "recurring": {"interval": "month"}}).id
    p.single = p.v1.prices.create({**price, "unit_amount": 700}).id
    equal({each.id for each in p.v1.prices.list({"product": product}).data}, {p.monthly, p.single})


def advance(p, clock, to):
    p.v1.test_helpers.test_clocks.advance(clock, {"frozen_time": to})
    for _ in range(100):
        if p.v1.test_helpers.test_clocks.retrieve(clock).status == "ready":
            return
    raise AssertionError("the clock is not ready")


@step("subscription")
def subscription(p):
    begin, day = 1_900_000_000, 86_400
    clock = p.v1.test_helpers.test_clocks.create({"frozen_time": begin}).id
    customer = p.v1.customers.create({
        "test_clock": clock, "email": f"clock-{p.scope}@example.com", "payment_method": "pm_card_visa",
        "invoice_settings": {"default_payment_method": "pm_card_visa"},
    })
    made = p.v1.subscriptions.create({"customer": customer.id, "items": [{"price": p.monthly}], "trial_period_days": 7})
    equal((made.status, made.trial_end), ("trialing", begin + 7 * day))
    first = p.v1.invoices.list({"subscription": made.id}).data
    equal([(each.amount_paid, each.status) for each in first], [(0, "paid")])
    advance(p, clock, begin + 8 * day)
    advance(p, clock, begin + 8 * day + 7200)
    equal(p.v1.subscriptions.retrieve(made.id).status, "active")
    both = p.v1.invoices.list({"subscription": made.id}).data
    equal([(each.amount_paid, each.status) for each in both], [(1500, "paid"), (0, "paid")])


@step("checkout")
def checkout(p):
    session = p.v1.checkout.sessions.create({
        "mode": "payment", "customer": p.customer, "line_items": [{"price": p.single, "quantity": 2}],
        "success_url": "https://example.com/ok",
    })
    equal(session.status, "open")
    plain(session.url)
    session = p.v1.checkout.sessions.retrieve(session.id)
    equal((session.status, session.payment_status, session.amount_total), ("complete", "paid", 1400))
    equal([each.quantity for each in p.v1.checkout.sessions.line_items.list(session.id).data], [2])


@step("list and search")
def list_and_search(p):
    equal([each.id for each in p.v1.customers.list({"email": p.email}).data], [p.customer])
    found = p.v1.payment_intents.search({"query": f'metadata["order"]:"{p.scope}-3ds"'})
    equal([each.id for each in found.data], [p.intent])
    events = p.v1.events.list({"type": "charge.refunded"}).data
    equal([each.data.object["id"] for each in events], [p.charge])


@step("lagging search")
def lagging_search(p):
    customers = p.at(p.lagging).v1.customers
    query = {"query": f'metadata["order"]:"{p.scope}-late"'}
    made = customers.create({"metadata": {"order": f"{p.scope}-late"}})
    equal([each.id for each in customers.list().data], [made.id])
    equal(customers.search(query).data, [])
    plain(f"{p.lagging}/_clock?scope={p.scope}", {"advance": "61s"})
    equal([each.id for each in customers.search(query).data], [made.id])


@step("auto-pagination")
def auto_pagination(p):
    email = f"page@{p.scope}.example"
    made = [p.v1.customers.create({"name": f"page-{number}", "email": email}).id for number in range(250)]
    pages = p.v1.customers.list({"email": email, "limit": 100})
    equal([each.id for each in pages.auto_paging_iter()], made[::-1])


@step("webhook")
def webhook(p):
    with Receiver() as receiver:
        endpoint = p.v1.webhook_endpoints.create({"url": receiver.url, "enabled_events": ["product.created"]})
        plain(f"{p.url}/_faults", {"provider": "stripe-webhooks", "scope": p.scope, "mode": "duplicate", "on": 1})
        twice = p.v1.products.create({"name": f"Twice {p.scope}"}, {"idempotency_key": f"{p.scope}-twice"})
        told = [receiver.next(), receiver.next()]
        events = [p.client.construct_event(body, signature, endpoint.secret) for body, signature in told]
        equal(events[0].id, events[1].id)
        event = events[0]
        equal((event.type, event.data.object["id"], event.request.idempotency_key), ("product.created", twice.id, f"{p.scope}-twice"))
        body, signature = told[0]
        for body, secret in [(body, "whsec_other"), (body.replace(b"Twice", b"Never"), endpoint.secret)]:
            try:
                p.client.construct_event(body, signature, secret)
            except stripe.SignatureVerificationError:
                continue
            raise AssertionError("a forged delivery was verified")
        once = p.v1.products.create({"name": f"Once {p.scope}"})
        event = p.client.construct_event(*receiver.next(), endpoint.secret)
        equal(event.data.object["id"], once.id)
        assert receiver.told.empty(), "it came more than once"


class Receiver:
    """Is the application that Stripe tells of events."""

    def __enter__(self):
        self.told = told = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()
                # Last of all: the program may end before it is answered otherwise, and would be told again.
                told.put((body, self.headers["stripe-signature"]))

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def next(self):
        return self.told.get(timeout=10)


def main(url, lagging, scope):
    program, failed = Program(url, lagging, scope), 0
    for name, function in STEPS:
        try:
            function(program)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[1].lineno
            print(f"FAIL python program {name}: line {place}: {type(error).__name__}: {error}".replace("\n", " "), flush=True)
            failed += 1
        else:
            print(f"ok   python program {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
