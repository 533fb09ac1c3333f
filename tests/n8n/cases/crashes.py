"""c, d. The workflow throws; n8n is killed while an answer is held after the commit, or in a wait."""

import time
from functools import partial

from jobs import KINDS, ORDER, Wrong, deliveries, expect, fresh, held, in_background, make_stale, says_success, settled, unchanged_by_sweeps
from lab import until

from .naive import doubled


def cases():
    for kind in KINDS.values():
        yield 'c', kind.workflow, 'throws before the receipt', partial(throws_before_receipt, kind=kind)
        yield 'c', kind.workflow, 'throws after the receipt', partial(throws_after_receipt, kind=kind)
    yield 'c', '9 resolve', 'throws before it closes the job', resolve_crashed


def kills():
    """Lists the cases that kill n8n; each yields a row for each of several workflows."""
    yield 'd', 'SIGKILL, answer held', killed_while_held
    yield 'd', 'SIGKILL, answer held, sent again', naive_killed_while_held
    yield 'f', 'SIGKILL in the wait', waits_and_a_crash


def throws_before_receipt(world, kind):
    fresh(world)
    world.post(f'{kind.name}-before', **ORDER)
    settled(world, kind, 1, 'claimed')
    make_stale(world)
    world.sweep()
    state = 'review' if not kind.enforced and kind.name != 'stripe-node' else 'done'
    unchanged_by_sweeps(world)
    return settled(world, kind, 1, state)


def throws_after_receipt(world, kind):
    fresh(world)
    world.post(f'{kind.name}-after', **ORDER)
    settled(world, kind, 1, 'claimed')
    make_stale(world)
    before = world.admin('_stats')['total']['received']
    world.sweep()
    expect('calls of a provider by the sweeper', world.admin('_stats')['total']['received'] - before, 0)
    return settled(world, kind, 1, 'done')


def resolve_crashed(world):
    """A resend is never lost and never doubled: n8n dies between sending again and closing the job."""
    kind = KINDS['mail']
    fresh(world)
    world.fault(mode='fail-before-forward', on=1, **kind.call)
    world.post(kind.name, **ORDER)
    world.sweep()
    key = world.jobs()[0]['key']
    world.post('resolve-crash', key=key, by='alice', again=True)
    expect('states', [job['state'] for job in world.jobs()], ['review', 'done'])
    world.post('resolve', key=key, by='alice', again=True)
    return settled(world, kind, 1, 'done', rows=2)


def killed_while_held(world):
    """All kinds at once, so that one crash and one start do for them."""
    fresh(world)
    for kind in KINDS.values():
        world.fault(mode='hold-after-commit', **kind.call)
    with in_background(world, *KINDS):
        held(world, len(KINDS))
        world.kill()
    world.admin('_faults', method='DELETE')
    for kind in KINDS.values():
        expect(f'effects of {kind.name} at the crash', kind.effects(world), 2 if kind.effect == 'charge' else 1)
    world.restart()
    expect('states after the restart', {job['state'] for job in world.jobs()}, {'claimed'})
    make_stale(world)
    world.sweep()
    unchanged_by_sweeps(world)
    rows = {job['kind']: job['state'] for job in world.jobs()}
    for kind in KINDS.values():
        state = 'review' if kind.name in ('mail', 'notify') else 'done'
        expect(f'effects of {kind.name}', kind.effects(world), 2 if kind.effect == 'charge' else 1)
        expect(f'state of {kind.name}', rows[kind.name], state)
        yield kind.workflow, 1, state


def naive_killed_while_held(world):
    """The shop got no answer when n8n died, so it sends the event again: the mail goes twice."""
    fresh(world)
    world.fault(mode='hold-after-commit', provider='smtp', on=1)
    with in_background(world, 'naive'):
        held(world)
        world.kill()
    world.restart()
    says_success(world.post('naive', **ORDER))
    yield '1 naive ✗', *doubled(world, charges=2, mails=2)


def waits_and_a_crash(world):
    """A wait of 70 s is kept in the database and goes on after a crash; one of 30 s is kept in memory and is gone."""
    fresh(world)
    for seconds in (30, 70):
        world.post('trap-wait', seconds=seconds)
    until('both effects', lambda: len(deliveries(world, 'wait')) == 2)
    began = time.monotonic()
    # n8n writes the long wait down a moment after the effect, in several steps.
    waiting = 'SELECT count(*) FROM execution_entity WHERE status = \'waiting\' AND "stoppedAt" IS NOT NULL'
    until('the long wait in the database', lambda: world.lab.sql(f'n8n_{world.name}', waiting) == '1')
    time.sleep(2)
    world.kill()
    world.restart()
    until('the end of the long wait', lambda: len(deliveries(world, 'waited')) >= 1, patience=150, pause=0.5)
    if time.monotonic() - began < 60:
        raise Wrong('something went on too early')
    time.sleep(2)  # Nothing else may come: the short one is 40 s past its end.
    seconds = [delivery['body'] for delivery in deliveries(world, 'waited')]
    expect('what went on', ['70' in body for body in seconds], [True])
    expect('effects', len(deliveries(world, 'wait')), 2)
    yield 'n8n: Wait 30 s', 1, 'crashed, never goes on'
    yield 'n8n: Wait 70 s', 1, 'goes on after the restart'
