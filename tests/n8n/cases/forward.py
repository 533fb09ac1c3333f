"""h. Completion only moves forward, whoever is late."""

import concurrent.futures
import subprocess
from functools import partial

from jobs import ADVISORY, KINDS, ORDER, expect, expect_same, fresh, held, in_background, let_go, make_stale, release, settled
from lab import until


def cases():
    for kind in KINDS.values():
        yield 'h', kind.workflow, 'late worker after a sweep', partial(late_worker, kind=kind)
    for then, fault in (('answer', 'late sweeper after the worker'), ('drop', 'late sweeper, its list lost')):
        yield 'h', '6 sweeper', fault, partial(late_sweeper, then=then)
    yield 'h', '9 resolve', 'two humans, one late', late_human
    for kind in ADVISORY:
        yield 'h', kind.workflow, 'taken between claim and mark', partial(taken_before_mark, kind=kind)


def late_worker(world, kind):
    """Held after the commit, the sweeper ends the job, the answer comes: the late worker changes nothing."""
    fresh(world)
    world.fault(mode='hold-after-commit', on=1, **kind.call)
    with in_background(world, kind.name):
        ids = held(world)
        make_stale(world)
        world.sweep()
        before = world.jobs()
        state = 'review' if kind.name in ('mail', 'notify') else 'done'
        settled(world, kind, 1, state)
        release(world, ids)
    expect_same('by the late worker', before, world.jobs())
    return settled(world, kind, 1, state)


def late_sweeper(world, then):
    """The sweeper's list is held, the late worker ends the job, the list is answered or lost: the sweeper changes nothing."""
    kind = KINDS['stripe-node']
    fresh(world)
    world.fault(mode='hold-after-commit', on=1, **kind.call)
    world.fault(mode='hold-before-commit', on=1, provider='stripe', operation='charges.list')
    with concurrent.futures.ThreadPoolExecutor(2) as pool, let_go(world):
        worker = pool.submit(world.post, kind.name, **ORDER)
        first = held(world)
        make_stale(world)
        sweep = pool.submit(world.post, 'sweep')
        both = held(world, 2)
        release(world, first)
        worker.result()
        before = world.jobs()
        expect('state after the worker', before[0]['state'], 'done')
        for id in set(both) - set(first):
            world.admin(f'_holds/{id}/release', {'then': then})
        sweep.result()
    expect_same('by the late sweeper', before, world.jobs())
    return settled(world, kind, 1, 'done')


def late_human(world):
    """Bob resolves a job while Alice, who was a moment earlier, is still waiting for the evidence: hers changes nothing."""
    kind = KINDS['stripe-node']
    fresh(world)
    world.fault(mode='fail-before-forward', on=1, **kind.call)
    world.post(kind.name, **ORDER)
    world.sweep()
    settled(world, kind, 0, 'review')
    key = world.jobs()[0]['key']
    world.fault(mode='hold-before-commit', on=1, provider='stripe', operation='charges.list')
    with concurrent.futures.ThreadPoolExecutor(1) as pool, let_go(world):
        alice = pool.submit(world.post, 'resolve', key=key, by='alice', again=True)
        ids = held(world)
        world.post('resolve', key=key, by='bob', again=True)
        before = world.jobs()
        expect('resolution', before[0]['resolution'], 'not found, sent again by bob')
        release(world, ids)
        alice.result()
    expect_same('by the late human', before, world.jobs())
    return settled(world, kind, 1, 'done', rows=2)


def taken_before_mark(world, kind):
    """The sweeper takes a job between its claim and its mark: the worker must not have the effect."""
    fresh(world)
    lock = subprocess.Popen(['psql', '-X', '-q', '-A', '-t', '-h', '127.0.0.1', '-p', str(world.lab.pg_port), '-U', 'lab', '-d', world.jobs_database],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        lock.stdin.write('SELECT pg_advisory_lock(17);\n\\echo locked\n')
        lock.stdin.flush()
        while lock.stdout.readline().strip() != 'locked':
            pass
        with in_background(world, f'{kind.name}-locked'):
            until('a claim', lambda: world.jobs("state = 'claimed'"))
            make_stale(world)
            world.sweep()
            settled(world, kind, 0, 'review')
            lock.stdin.write('SELECT pg_advisory_unlock(17);\n')
            lock.stdin.flush()
    finally:
        lock.stdin.close()
        lock.wait()
    return settled(world, kind, 0, 'review')
