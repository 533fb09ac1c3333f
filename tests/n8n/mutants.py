"""The guards of the lab's workflows, each broken once: the case that looks at it must turn red, and for a wrong count or state."""

import dataclasses
from functools import partial
from typing import Callable

import flows
from cases import crashes, deliveries, forward, modes, sweeps
from jobs import ADVISORY, KINDS, Wrong


@dataclasses.dataclass(frozen=True)
class Mutant:
    """Is a copy of a workflow with one guard broken, and the case that must see it."""

    name: str
    suffix: str
    workflow: str
    # The webhook that the case calls, and in its stead the mutant's.
    path: str
    breaks: Callable
    case: Callable

    def made(self, originals):
        return self.breaks(flows.made_from(originals[self.workflow], self.suffix))

    def try_on(self, world, book):
        world.instead = {self.path: f'{self.path.removesuffix("-locked")}-{self.suffix}'}
        try:
            told = self.case(world)
        except Wrong as wrong:
            book.say(True, f'm  {self.name}: red, as it must be ({wrong})')
        except Exception as error:
            book.wrong('m', self.name, 'broken for another reason', error)
        else:
            book.say(False, f'm  {self.name}: still green ({told})')
        finally:
            world.instead = {}


def stateless(flow):
    for name in ('Receipt', 'Done'):
        flows.edited(flow, name, "AND state = 'claimed'", '')
    return flow


def unlooked(flow):
    return flows.always(flows.waits_for_lock(flow, 'Claimed?'), 'Still ours?')


def split_at_commas(flow):
    """Gives the claim's parameters as one string, which n8n splits."""
    options = flows.node(flow, 'Claim')['parameters']['options']
    options['queryReplacement'] = options['queryReplacement'].replace('{{ [', '{{ (').replace(', JSON.stringify($json.body)] }}', ") + ',{}' }}")
    return flow


def of_workers():
    """Breaks the same guards in every correct workflow."""
    for kind in KINDS.values():
        told = partial(Mutant, workflow=kind.file)
        yield told(f'{kind.workflow}: no claim', 'noclaim', path=kind.name, breaks=lambda flow: flows.always(flow, 'Claimed?'), case=partial(deliveries.delivered_at_once, kind=kind, copies=20))
        yield told(f'{kind.workflow}: done without its state condition', 'nostate', path=kind.name, breaks=stateless, case=partial(forward.late_worker, kind=kind))
        yield told(f'{kind.workflow}: parameters as a string', 'commas', path=kind.name, breaks=split_at_commas, case=partial(deliveries.keys_with_commas, kind=kind))
    for kind in ADVISORY:
        yield Mutant(f'{kind.workflow}: no look at whose job it is', 'nomark', kind.file, f'{kind.name}-locked', unlooked, partial(forward.taken_before_mark, kind=kind))


def of_sweeper():
    mail, payment = KINDS['mail'], KINDS['payment']
    for name, suffix, breaks, case in (
        ('resends mails', 'resends', flows.mails_again, partial(modes.drops_after, kind=mail)),
        ("charges the Stripe node's again", 'charges', lambda flow: flows.edited(flow, 'Take', "WHEN kind = 'stripe-node' THEN 'look up'", "WHEN kind = 'stripe-node' THEN 'charge again'"),
         partial(modes.drops_after, kind=KINDS['stripe-node'])),
        ('uses a key of any age', 'oldkeys', lambda flow: flows.edited(flow, 'Take', 'hours => $2::int', 'hours => 1000 + $2::int'), partial(sweeps.key_too_old, found=True)),
        ('takes fresh claims', 'fresh', lambda flow: flows.edited(flow, 'Take', 'AND claimed_at < now() - make_interval(mins => $1::int)', 'AND $1::int > 0'), partial(sweeps.fresh_claim, kind=mail)),
        ('takes jobs in any state', 'takesall', lambda flow: flows.edited(flow, 'Take', "WHERE state = 'pending' OR state = 'claimed' AND claimed_at < now() - make_interval(mins => $1::int)", 'WHERE $1::int > 0'),
         partial(modes.passes, kind=payment)),
        ('forgets receipts', 'receipts', lambda flow: flows.edited(flow, 'Take', "WHEN provider_ref IS NOT NULL THEN 'done'", ''), partial(crashes.throws_after_receipt, kind=payment)),
        ('puts back without a state condition', 'putsback', lambda flow: flows.edited(flow, 'Back to pending', "AND state = 'claimed'", ''), partial(forward.late_sweeper, then='drop')),
        ('settles without a state condition', 'settles', lambda flow: flows.edited(flow, 'Settle', "AND state = 'claimed'", ''), partial(forward.late_sweeper, then='answer')),
        ('alerts each time', 'alerts', lambda flow: flows.edited(flow, 'Take alerts', 'alerted_at IS NULL AND (alerting_at IS NULL OR alerting_at < now() - make_interval(mins => $2::int))', '$2::int > 0'), partial(sweeps.one_alert, kind=mail)),
        ('forgets an alert that was not given', 'forgets', lambda flow: flows.edited(flow, 'Take alerts', 'OR alerting_at < now() - make_interval(mins => $2::int)', 'OR $2::int < 0'), sweeps.alert_crashed),
        ('never tells of long pending', 'shrugs', lambda flow: flows.edited(flow, 'Take alerts', "OR state = 'pending' AND sweeps >= $1::int", 'OR $1::int < 0'), partial(sweeps.long_pending, kind=payment)),
    ):
        yield Mutant(f'6 sweeper: {name}', suffix, 'sweeper', 'sweep', breaks, case)


def of_resolve():
    yield Mutant('9 resolve: closes without its state condition', 'closes', 'resolve', 'resolve', lambda flow: flows.edited(flow, 'Close', "AND state = 'review'", ''), forward.late_human)


ALL = [*of_workers(), *of_sweeper(), *of_resolve()]
