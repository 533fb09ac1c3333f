"""b. The relay modes, by their common names."""

import concurrent.futures
from functools import partial

from jobs import KINDS, ORDER, expect, fresh, settled, unchanged_by_sweeps


def cases():
    for kind in KINDS.values():
        yield 'b', kind.workflow, 'forward-and-respond', partial(passes, kind=kind)
        yield 'b', kind.workflow, 'fail-before-forward', partial(fails_before, kind=kind)
        yield 'b', kind.workflow, 'forward-then-drop-response', partial(drops_after, kind=kind)
    yield 'b', KINDS['payment'].workflow, 'every answer lost', drops_every_answer


def passes(world, kind):
    fresh(world)
    world.fault(mode='forward-and-respond', on=1, **kind.call)
    world.post(kind.name, **ORDER)
    unchanged_by_sweeps(world)
    return settled(world, kind, 1, 'done')


def fails_before(world, kind):
    fresh(world)
    world.fault(mode='fail-before-forward', on=1, **kind.call)
    world.post(kind.name, **ORDER)
    if kind.enforced:
        unchanged_by_sweeps(world)
        return settled(world, kind, 1, 'done')
    world.sweep()
    settled(world, kind, 0, 'review')
    unchanged_by_sweeps(world)
    key = world.jobs()[0]['key']
    # Evidence of nothing is no evidence: without a human's word nothing changes.
    world.post('resolve', key=key, by='alice')
    settled(world, kind, 0, 'review')
    # Two humans who click at once make one resend.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda by: world.post('resolve', key=key, by=by, again=True), ('alice', 'bob')))
    effects, state = settled(world, kind, 1, 'done', rows=2)
    return effects, f'review, resolved: {state}'


def drops_after(world, kind):
    fresh(world)
    world.fault(mode='forward-then-drop-response', on=1, **kind.call)
    world.post(kind.name, **ORDER)
    if not kind.enforced:
        marks = [name for name in ('handle', 'execution_id') if world.jobs()[0][name]]
        expect('what was written before the effect', marks, ['handle', 'execution_id'])
    world.sweep()
    if kind.enforced or kind.name == 'stripe-node':
        unchanged_by_sweeps(world)
        return settled(world, kind, 1, 'done')
    settled(world, kind, 1, 'review')
    unchanged_by_sweeps(world)
    world.post('resolve', key=world.jobs()[0]['key'], by='alice')
    expect('resolution', world.jobs()[0]['resolution'], 'found by alice')
    effects, state = settled(world, kind, 1, 'done')
    return effects, f'review, resolved: {state}'


def drops_every_answer(world):
    """All tries of n8n's own retry lose their answer, the replayed ones too; the sweeper ends it."""
    kind = KINDS['payment']
    fresh(world)
    rule = world.fault(mode='drop-after-commit', how='reset', **kind.call)
    world.post(kind.name, **ORDER)
    settled(world, kind, 1, 'pending')
    world.admin(f'_faults/{rule["id"]}', method='DELETE')
    world.sweep()
    return settled(world, kind, 1, 'done')
