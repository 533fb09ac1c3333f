"""What every case needs: the kinds of job, what was counted of them, and what must hold."""

import concurrent.futures
import contextlib
import dataclasses

from lab import until

ORDER = {'order': '17', 'amount': 1099, 'email': 'b@example.com', 'customer': 'cus_lab'}


class Wrong(Exception):
    """Says that a count or a state is not what it must be."""


def expect(what, got, wanted):
    if got != wanted:
        raise Wrong(f'{what}: {got}, not {wanted}')


def expect_same(what, before, after):
    """Compares rows of the table and names what changed."""
    changed = [f'{name} {old!r} -> {new[name]!r}' for one, new in zip(before, after) for name, old in one.items() if new[name] != old and name not in ('updated_at', 'alerting_at', 'alerted_at')]
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


def deliver(world, path, copies):
    """Sends one event in copies of one moment; each must have arrived and been answered."""
    told = world.admin('_deliver', {'url': world.hook(path), 'body': ORDER, 'headers': {'content-type': 'application/json'}, 'copies': copies, 'timeout': '60s'})
    expect('copies that were answered', [copy['outcome'] for copy in told['copies']], ['accepted'] * copies)


def says_success(answer):
    """Checks that n8n shows green: the rows say so, and it is what makes the bug invisible."""
    expect('what n8n says', answer[0], 200)
