"""a. One event, delivered several times in one moment."""

from functools import partial

from jobs import KINDS, ORDER, Wrong, deliver, expect, fresh, received, settled


def cases():
    for kind in KINDS.values():
        for copies in (2, 20):
            yield 'a', kind.workflow, f'{copies} deliveries at once', partial(delivered_at_once, kind=kind, copies=copies)
        yield 'a', kind.workflow, 'ids 17,a and 17,b', partial(keys_with_commas, kind=kind)
        yield 'a', kind.workflow, 'an event without an id', partial(no_event_id, kind=kind)
    for copies in (2, 20):
        yield 'a', '8 gate as published ✗', f'{copies} deliveries at once', partial(published_gate, copies=copies)


def delivered_at_once(world, kind, copies):
    fresh(world)
    deliver(world, kind.name, copies)
    if kind.name != 'notify':
        expect('calls of the provider', received(world, kind), 1)
    return settled(world, kind, 1, 'done')


def published_gate(world, copies):
    """The gate as published doubles, and this test says so."""
    fresh(world)
    deliver(world, 'published', copies)
    expect('rows', len(world.jobs()), 1)
    charges = world.effects().get('charge', 0)
    if charges < 2:
        raise Wrong(f'charges: {charges}; the gate as published held, and the lab says that it does not')
    return charges, world.jobs()[0]['state']


def keys_with_commas(world, kind):
    """Two events whose ids have one head and a comma: two jobs, two effects."""
    fresh(world)
    for order in ('17,a', '17,b'):
        world.post(kind.name, **{**ORDER, 'order': order})
    return settled(world, kind, 2, 'done', rows=2)


def no_event_id(world, kind):
    """An event without an id is refused; nothing happens."""
    fresh(world)
    world.post(kind.name, **{name: value for name, value in ORDER.items() if name != 'order'})
    expect('rows', len(world.jobs()), 0)
    expect('effects', kind.effects(world), 0)
    return 0, 'no row'
