"""i. What the sweeper leaves alone, keys that are too old, and alerts."""

import concurrent.futures
from functools import partial

from jobs import ENFORCED, KINDS, ORDER, deliveries, expect, fresh, held, in_background, make_stale, received, release, settled, unchanged_by_sweeps
from lab import until


def cases():
    for kind in KINDS.values():
        yield 'i', kind.workflow, 'swept while at work', partial(fresh_claim, kind=kind)
    yield 'i', '6 sweeper', 'a claim of 50 minutes', claim_of_50_minutes
    yield 'i', '6 sweeper', 'key 25 h old, payment there', partial(key_too_old, found=True)
    yield 'i', '6 sweeper', 'key 25 h old, payment not there', partial(key_too_old, found=False)
    for name in ('mail', 'notify'):
        yield 'i', KINDS[name].workflow, 'review, three sweeps, two at once', partial(one_alert, kind=KINDS[name])
    yield 'i', '6 sweeper', 'alert refused once', alert_lost
    yield 'i', '6 sweeper', 'throws before the alert', alert_crashed
    for kind in ENFORCED:
        yield 'i', kind.workflow, 'provider down for four sweeps', partial(long_pending, kind=kind)
    yield 'i', '6 sweeper', 'by its schedule', on_schedule


def fresh_claim(world, kind):
    """A fresh claim whose worker is at work is untouched, whoever sweeps."""
    fresh(world)
    world.fault(mode='hold-after-commit', on=1, **kind.call)
    with in_background(world, kind.name):
        ids = held(world)
        expect('state', world.jobs()[0]['state'], 'claimed')
        unchanged_by_sweeps(world)
        release(world, ids)
    return settled(world, kind, 1, 'done')


def claim_of_50_minutes(world):
    """How long a claim may be at work is a parameter, 45 minutes by default."""
    kind = KINDS['mail']
    fresh(world)
    world.post('mail-before', **ORDER)
    world.change("claimed_at = claimed_at - interval '50 minutes'")
    world.sweep(stale_after_minutes=60)
    settled(world, kind, 1, 'claimed')
    world.sweep()
    return settled(world, kind, 1, 'review')


def key_too_old(world, found):
    """After 25 h Stripe has forgotten the key: the sweeper looks the payment up and never asks again with it."""
    kind = KINDS['payment']
    fresh(world)
    mode = 'drop-after-commit' if found else 'fail-before-commit'
    rule = world.fault(mode=mode, **kind.call)
    world.post(kind.name, **ORDER)
    expect('effects', kind.effects(world), 1 if found else 0)
    world.admin(f'_faults/{rule["id"]}', method='DELETE')
    world.admin('_clock', {'advance': '25h'})
    make_stale(world, hours=25)
    calls = received(world, kind)
    world.sweep()
    expect('payments asked for by the sweeper', received(world, kind) - calls, 0)
    return settled(world, kind, 1 if found else 0, 'done' if found else 'review')


def one_alert(world, kind):
    """A job in review is told of once, however often one sweeps; also by two sweepers at once."""
    fresh(world)
    world.fault(mode='forward-then-drop-response', on=1, **kind.call)
    world.post(kind.name, **ORDER)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: world.sweep(), range(2)))
    world.sweep()
    expect('alerts', len(deliveries(world, 'alert')), 1)
    effects, state = settled(world, kind, 1, 'review')
    return effects, f'{state}, 1 alert'


def to_be_alerted(world):
    """Leaves a mail of which nobody knows whether it went."""
    kind = KINDS['mail']
    fresh(world)
    world.fault(mode='forward-then-drop-response', on=1, **kind.call)
    world.post(kind.name, **ORDER)
    return kind


def told_once(world, kind):
    """Sweeps, and the alert that was missing is given; sweeps again, and it is not."""
    expect('alerts before', len(deliveries(world, 'alert')), 0)
    world.sweep()
    world.sweep()
    expect('alerts', len(deliveries(world, 'alert')), 1)
    effects, state = settled(world, kind, 1, 'review')
    return effects, f'{state}, 1 alert'


def alert_lost(world):
    """An alert that was refused is given again by the next sweep."""
    kind = to_be_alerted(world)
    world.fault(mode='fail-before-commit', status=503, on=1, provider='webhook', path='/hooks/alert')
    world.sweep()
    return told_once(world, kind)


def alert_crashed(world):
    """A sweeper that dies between taking an alert and giving it: not the next one gives it, but a later one."""
    kind = to_be_alerted(world)
    world.post('sweep-crash')
    world.sweep()
    expect('alerts of the next sweep', len(deliveries(world, 'alert')), 0)
    world.change("alerting_at = alerting_at - interval '1 hour'")
    return told_once(world, kind)


def long_pending(world, kind):
    """An enforced job that stays pending is a page after so many sweeps, once."""
    fresh(world)
    world.fault(mode='fail-before-commit', status=503, **kind.call)
    world.post(kind.name, **ORDER)
    alerts = []
    for _ in range(4):
        world.sweep(alert_after_sweeps=3)
        alerts.append(len(deliveries(world, 'alert')))
    expect('alerts after each sweep', alerts, [0, 0, 1, 1])
    effects, state = settled(world, kind, 0, 'pending')
    return effects, f'{state}, 1 alert'


def on_schedule(world):
    """The sweeper runs by its schedule too; this copy's is every second."""
    kind = KINDS['mail']
    fresh(world)
    world.fault(mode='forward-then-drop-response', on=1, **kind.call)
    world.post(kind.name, **ORDER)
    settled(world, kind, 1, 'pending')
    id = world.asleep['scheduled']['id']
    world.activate(id)
    try:
        until('the alert', lambda: deliveries(world, 'alert'))
    finally:
        world.deactivate(id)
    return settled(world, kind, 1, 'review')
