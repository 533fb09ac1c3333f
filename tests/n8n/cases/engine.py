"""f, g. Traps of n8n's own; the Stripe node and the Stripe Trigger, unmodified."""

import time

from jobs import ORDER, Wrong, deliveries, expect, fresh, says_success
from lab import Broken, ask, until


def cases():
    yield 'f', 'n8n: Retry On Fail', '4 mails, the third refused once', retry_of_items
    yield 'f', 'n8n: Retry On Fail', '200 with a top-level `error`', error_in_body
    yield 'f', 'n8n: Retry On Fail', 'hang, timeout 1.5 s', hang_of_http
    yield 'g', 'n8n: Stripe node', 'all its operations', every_stripe_operation
    yield 'g', 'n8n: Stripe Trigger', 'signed, doubled, badly signed', stripe_trigger


def retry_of_items(world):
    """Four mails, the third is refused once: the first two go twice."""
    fresh(world)
    world.fault(mode='refuse', status=451, provider='smtp', recipient='third@example.com', on=1)
    says_success(world.post('trap-items', mails=[f'{n}@example.com' for n in ('first', 'second', 'third', 'fourth')]))
    counts = [world.admin(f'_mail?to={n}@example.com')['total'] for n in ('first', 'second', 'third', 'fourth')]
    expect('mails by item', counts, [2, 2, 1, 1])
    return '6 mails for 4', 'n8n: success'


def error_in_body(world):
    """A 200 whose body has a top-level `error` is posted again."""
    fresh(world)
    world.admin('_hooks/trap', {'body': {'id': 'x', 'error': ''}}, 'PUT')
    says_success(world.post('trap-post', **ORDER))
    expect('deliveries', len(deliveries(world, 'trap')), 3)
    return '3 deliveries', 'n8n: success'


def hang_of_http(world):
    """An answer that hangs is sent again after the node's timeout: 1.5 s here, 300 s by default."""
    fresh(world)
    world.fault(mode='drop-after-commit', how='hang', provider='webhook', path='/hooks/trap', on=1)
    began = time.monotonic()
    says_success(world.post('trap-post', **ORDER))
    if time.monotonic() - began < 1.5:
        raise Wrong('it was sent again before the timeout')
    expect('deliveries', len(deliveries(world, 'trap')), 2)
    return '2 deliveries', 'n8n: success'


class SlowMail:
    """A mail whose reply hangs is sent again after 600 s, which nothing in n8n shortens: so it goes beside all other cases, in a scope of its own."""

    def __init__(self, world):
        self.world = world
        world.admin('_faults', {'scope': 'slow', 'mode': 'drop-after-commit', 'how': 'hang', 'provider': 'smtp', 'on': 1}, scope='slow')
        world.post('trap-slow-mail', **ORDER)
        self.began = time.monotonic()

    def mails(self):
        return self.world.admin('_mail', scope='slow')['total']

    def end(self, _world):
        until('the second mail', lambda: self.mails() >= 2, patience=max(1, self.began + 660 - time.monotonic()), pause=1)
        if time.monotonic() - self.began < 590:
            raise Wrong('it was sent again before 600 s')
        expect('mails', self.mails(), 2)
        return '2 mails', 'n8n: success'


def every_stripe_operation(world):
    fresh(world)
    says_success(world.post('trap-stripe-operations'))
    stripe = world.stats('stripe')
    expect('refused', stripe['refused'], 0)
    wanted = {'charge': 1, 'customer': 1, 'coupon': 1, 'token': 1, 'meter_event': 1, 'source': 1}
    got = world.effects()
    missing = {name: got.get(name) for name in wanted if got.get(name) != wanted[name]}
    expect(f'effects that are not once, of {got}', missing, {})
    return f'{stripe["accepted"]} writes, {stripe["read"]} reads', 'none refused'


def stripe_trigger(world):
    fresh(world)
    register_trigger(world)
    charge(world)
    once = until('the event', lambda: deliveries(world, 'received'))
    expect('events', len(once), 1)
    world.fault(mode='duplicate', provider='stripe-webhooks', copies=2, on=1)
    charge(world)
    until('the doubled event', lambda: len(deliveries(world, 'received')) >= 3)
    ids = [delivery['headers'].get('webhook-id') for delivery in deliveries(world, 'received')]
    expect('executions of the doubled event', ids.count(ids[-1]), 2)
    world.fault(mode='bad-signature', provider='stripe-webhooks', on=1)
    charge(world)
    until('the badly signed event', lambda: world.stats('stripe-webhooks')['refused'] >= 1)
    expect('executions', len(deliveries(world, 'received')), 3)
    return '1 event: 1; sent twice: 2; badly signed: 0', 'n8n does not de-duplicate'


def register_trigger(world):
    """Activates the trigger anew, because a reset has cleared its endpoint."""
    id = world.asleep['stripe-trigger']['id']
    world.deactivate(id)
    world.activate(id)
    until('the endpoint', lambda: world.stats('stripe')['operations'].get('webhook_endpoints.create', {}).get('accepted'))


def charge(world):
    headers = {'authorization': f'Bearer sk_test_~{world.name}', 'content-type': 'application/x-www-form-urlencoded'}
    status, body = ask(world.lab.url + '/v1/charges', b'amount=500&currency=usd&source=tok_visa', 'POST', headers)
    if status != 200:
        raise Broken(f'charge: {status} {body}')
