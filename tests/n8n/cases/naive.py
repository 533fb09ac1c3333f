"""e. The naive workflow: expected to double, and red where it does not."""

from functools import partial

from jobs import ORDER, deliver, expect, fresh, says_success


STRIPE, SMTP = {'provider': 'stripe'}, {'provider': 'smtp'}
BEFORE, AFTER = 'fail-before-forward', 'forward-then-drop-response'


def cases():
    for fault, rules, charges, mails, copies in (
        ('no fault', [], 1, 1, 1),
        (f'{BEFORE}, both', [{'mode': BEFORE, **STRIPE}, {'mode': BEFORE, **SMTP}], 1, 1, 1),
        (f'{AFTER}, charge', [{'mode': AFTER, **STRIPE}], 2, 1, 1),
        (f'{AFTER}, mail', [{'mode': AFTER, **SMTP}], 1, 2, 1),
        (f'{AFTER}, both', [{'mode': AFTER, **STRIPE}, {'mode': AFTER, **SMTP}], 2, 2, 1),
        ('2 deliveries at once', [], 2, 2, 2),
    ):
        yield 'e', '1 naive ✗', fault, partial(naive, rules=rules, charges=charges, mails=mails, copies=copies)


def naive(world, rules, charges, mails, copies=1):
    fresh(world)
    for rule in rules:
        world.fault(on=1, **rule)
    if copies == 1:
        says_success(world.post('naive', **ORDER))
    else:
        deliver(world, 'naive', copies)
    return doubled(world, charges, mails)


def doubled(world, charges, mails):
    got = world.effects()
    expect('charges and mails of the naive workflow', (got.get('charge', 0), got.get('message', 0)), (charges, mails))
    return f'{charges} charges, {mails} mails', 'n8n: success'
