"""The crash tests. Each asserts on the provider's count and on the table's states, never on n8n's own success."""

import concurrent.futures
import contextlib
import dataclasses
import subprocess
import time

from lab import Broken, ask, until

ORDER = {'order': '17', 'amount': 1099, 'email': 'b@example.com', 'customer': 'cus_lab'}


class Wrong(Exception):
    """Says that a count or a state is not what it must be."""


def expect(what, got, wanted):
    if got != wanted:
        raise Wrong(f'{what}: {got}, not {wanted}')


def expect_same(what, before, after):
    """Compares rows of the table and names what changed."""
    changed = [f'{name} {old!r} -> {new[name]!r}' for one, new in zip(before, after) for name, old in one.items() if new[name] != old and name not in ('updated_at', 'alerted_at')]
    expect(f'what changed {what}', changed, [])
    expect(f'rows {what}', len(after), len(before))


@dataclasses.dataclass(frozen=True)
class Kind:
    """Is one sort of job: which workflow does it, and what its effect is at the provider."""

    name: str
    workflow: str
    file: str
    enforced: bool
    effect: str
    # The node that has the effect, and a fault's conditions for exactly this call.
    node: str
    call: dict

    def effects(self, world):
        """Counts on the provider's side."""
        if self.name == 'notify':  # The alerts are deliveries too, at a target of their own.
            return len(deliveries(world, 'orders'))
        return world.effects().get(self.effect, 0)


KINDS = {
    kind.name: kind
    for kind in (
        Kind('payment', '2 payment, by key', 'payment', True, 'charge', 'Charge', {'provider': 'stripe', 'operation': 'payment_intents.create'}),
        Kind('stripe-node', '3 payment, Stripe node', 'stripe-node', False, 'charge', 'Charge', {'provider': 'stripe', 'operation': 'charges.create'}),
        Kind('mail', '4 mail', 'mail', False, 'message', 'Mail', {'provider': 'smtp'}),
        Kind('notify', '5 webhook out', 'webhook-out', False, 'delivery', 'Notify', {'provider': 'webhook', 'path': '/hooks/orders'}),
        Kind('order', '7 order by reference', 'order', True, 'order', 'Order', {'provider': 'orders', 'operation': 'orders.create'}),
    )
}
ADVISORY = [kind for kind in KINDS.values() if not kind.enforced]
ENFORCED = [kind for kind in KINDS.values() if kind.enforced]


def deliveries(world, target):
    return world.admin(f'_hooks/{target}')['deliveries']


def received(world, kind):
    """Counts how often the provider was called for the effect, whatever came of it."""
    operation = kind.call.get('operation', 'messages.send')
    return world.stats(kind.call['provider'])['operations'].get(operation, {}).get('received', 0)


def fresh(world):
    world.reset()
    world.stock()


def make_stale(world, hours=1):
    world.change(f"claimed_at = claimed_at - interval '{hours} hours', created_at = created_at - interval '{hours} hours'")


def settled(world, kind, effects, state, rows=1):
    """Checks and tells the effects of a kind and the state of its rows."""
    expect('effects', kind.effects(world), effects)
    expect('rows', len(world.jobs()), rows)
    expect('state', sorted({job['state'] for job in world.jobs()}), [state])
    return effects, state


def unchanged_by_sweeps(world):
    """Sweeps twice and checks that no row is touched but for an alert."""
    before = world.jobs()
    world.sweep()
    world.sweep()
    expect_same('by two sweeps', before, world.jobs())


@contextlib.contextmanager
def in_background(world, *posts):
    """Posts without waiting; the answers are waited for at the end."""
    with concurrent.futures.ThreadPoolExecutor(len(posts)) as pool:
        for path in posts:
            pool.submit(world.post, path, **ORDER)
        with let_go(world):
            yield


@contextlib.contextmanager
def let_go(world):
    """Lets go whoever is held when a case ends by an error, so that nobody waits for them."""
    try:
        yield
    except BaseException:
        world.admin('_reset', {})
        raise


def held(world, count=1):
    """Waits until so many attempts are held, and gives their ids."""
    def now():
        holds = world.admin('_holds')['holds']
        return [hold['id'] for hold in holds] if len(holds) >= count else None
    return until(f'{count} held', now, pause=0.05)


def release(world, ids):
    for id in ids:
        world.admin(f'_holds/{id}/release', {'then': 'answer'})


# a. Two identical deliveries at once.


def deliver(world, path, copies):
    """Sends one event in copies of one moment; each must have arrived and been answered."""
    told = world.admin('_deliver', {'url': world.hook(path), 'body': ORDER, 'headers': {'content-type': 'application/json'}, 'copies': copies})
    expect('copies that were answered', [copy['outcome'] for copy in told['copies']], ['accepted'] * copies)


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


# b. The relay modes.


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


# c. The workflow throws, before and after the receipt is stored.


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


# d. n8n is killed while the answer is held after the commit.


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
    return doubled(world, charges=2, mails=2)


# e. The naive workflow.


def says_success(answer):
    """Checks that n8n shows green: the rows say so, and it is what makes the bug invisible."""
    expect('what n8n says', answer[0], 200)


def doubled(world, charges, mails):
    got = world.effects()
    expect('charges and mails of the naive workflow', (got.get('charge', 0), got.get('message', 0)), (charges, mails))
    return f'{charges} charges, {mails} mails', 'n8n: success'


def naive(world, rules, charges, mails, copies=1):
    fresh(world)
    for rule in rules:
        world.fault(on=1, **rule)
    if copies == 1:
        says_success(world.post('naive', **ORDER))
    else:
        deliver(world, 'naive', copies)
    return doubled(world, charges, mails)


# f. Traps of n8n's own.


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


# g. The Stripe node and the Stripe Trigger, unmodified.


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


def stripe_trigger(world, flow):
    fresh(world)
    register_trigger(world, flow)
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


def register_trigger(world, flow):
    """Activates the trigger anew, because a reset has cleared its endpoint."""
    world.deactivate(flow['id'])
    world.activate(flow['id'])
    until('the endpoint', lambda: world.stats('stripe')['operations'].get('webhook_endpoints.create', {}).get('accepted'))


def charge(world):
    headers = {'authorization': f'Bearer sk_test_~{world.name}', 'content-type': 'application/x-www-form-urlencoded'}
    status, body = ask(world.lab.url + '/v1/charges', b'amount=500&currency=usd&source=tok_visa', 'POST', headers)
    if status != 200:
        raise Broken(f'charge: {status} {body}')


# h. Completion only moves forward.


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


def late_sweeper(world):
    """The sweeper's list is held, the late worker ends the job, the list is lost: the sweeper changes nothing."""
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
            world.admin(f'_holds/{id}/release', {'then': 'drop'})
        sweep.result()
    expect_same('by the late sweeper', before, world.jobs())
    return settled(world, kind, 1, 'done')


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


# i. What the sweeper leaves alone, and what it says.


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


def alert_lost(world):
    """An alert that was refused is given again by the next sweep."""
    kind = KINDS['mail']
    fresh(world)
    world.fault(mode='forward-then-drop-response', on=1, **kind.call)
    world.fault(mode='fail-before-commit', status=503, on=1, provider='webhook', path='/hooks/alert')
    world.post(kind.name, **ORDER)
    world.sweep()
    expect('alerts', len(deliveries(world, 'alert')), 0)
    world.sweep()
    expect('alerts', len(deliveries(world, 'alert')), 1)
    effects, state = settled(world, kind, 1, 'review')
    return effects, f'{state}, 1 alert'


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


def on_schedule(world, flow):
    """The sweeper runs by its schedule too; this copy's is every second."""
    kind = KINDS['mail']
    fresh(world)
    world.fault(mode='forward-then-drop-response', on=1, **kind.call)
    world.post(kind.name, **ORDER)
    settled(world, kind, 1, 'pending')
    world.activate(flow['id'])
    try:
        until('the alert', lambda: deliveries(world, 'alert'))
    finally:
        world.deactivate(flow['id'])
    return settled(world, kind, 1, 'review')
