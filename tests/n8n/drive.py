"""Runs the crash tests and prints one table: workflow × fault → effects, final state.

    drive.py NODE N8N POSTGRES_BIN [--passes N] [--only LETTERS] [--keep] [--write]

The letters are those of README.md, m the guards that are broken on purpose, s the mail that hangs for 600 s.
"""

import argparse
import concurrent.futures
import contextlib
import functools
import os
import pathlib
import signal
import sys
import threading
import time
import traceback

import cases
import flows
import lab
import mutants
from cases import ADVISORY, ENFORCED, KINDS, Wrong


def variants(originals):
    """Makes the copies that throw, and those that wait for the test."""
    for kind in KINDS.values():
        yield flows.throws(flows.made_from(originals[kind.file], 'before'), kind.node if kind.name != 'order' else 'Look up')
        yield flows.throws(flows.made_from(originals[kind.file], 'after'), 'Receipt')
    for kind in ADVISORY:
        yield flows.waits_for_lock(flows.made_from(originals[kind.file], 'locked'), 'Claimed?')


def steady(trigger, scheduled):
    """Lists the cases of the n8n that nobody kills: letter, workflow, fault, what to do."""
    every = list(KINDS.values())
    for kind in every:
        for copies in (2, 20):
            yield 'a', kind.workflow, f'{copies} deliveries at once', functools.partial(cases.delivered_at_once, kind=kind, copies=copies)
        yield 'a', kind.workflow, 'ids 17,a and 17,b', functools.partial(cases.keys_with_commas, kind=kind)
        yield 'a', kind.workflow, 'an event without an id', functools.partial(cases.no_event_id, kind=kind)
    for copies in (2, 20):
        yield 'a', '8 gate as published ✗', f'{copies} deliveries at once', functools.partial(cases.published_gate, copies=copies)
    for kind in every:
        yield 'b', kind.workflow, 'forward-and-respond', functools.partial(cases.passes, kind=kind)
        yield 'b', kind.workflow, 'fail-before-forward', functools.partial(cases.fails_before, kind=kind)
        yield 'b', kind.workflow, 'forward-then-drop-response', functools.partial(cases.drops_after, kind=kind)
    yield 'b', KINDS['payment'].workflow, 'every answer lost', cases.drops_every_answer
    for kind in every:
        yield 'c', kind.workflow, 'throws before the receipt', functools.partial(cases.throws_before_receipt, kind=kind)
        yield 'c', kind.workflow, 'throws after the receipt', functools.partial(cases.throws_after_receipt, kind=kind)
    naive = '1 naive ✗'
    stripe, smtp = {'provider': 'stripe'}, {'provider': 'smtp'}
    drop = 'forward-then-drop-response'
    for fault, rules, charges, mails, copies in (
        ('no fault', [], 1, 1, 1),
        ('fail-before-forward, both', [{'mode': 'fail-before-forward', **stripe}, {'mode': 'fail-before-forward', **smtp}], 1, 1, 1),
        ('drop-response, charge', [{'mode': drop, **stripe}], 2, 1, 1),
        ('drop-response, mail', [{'mode': drop, **smtp}], 1, 2, 1),
        ('drop-response, both', [{'mode': drop, **stripe}, {'mode': drop, **smtp}], 2, 2, 1),
        ('2 deliveries at once', [], 2, 2, 2),
    ):
        yield 'e', naive, fault, functools.partial(cases.naive, rules=rules, charges=charges, mails=mails, copies=copies)
    yield 'f', 'n8n: Retry On Fail', '4 mails, the third refused once', cases.retry_of_items
    yield 'f', 'n8n: Retry On Fail', '200 with a top-level `error`', cases.error_in_body
    yield 'f', 'n8n: Retry On Fail', 'hang, timeout 1.5 s', cases.hang_of_http
    yield 'g', 'n8n: Stripe node', 'all its operations', cases.every_stripe_operation
    yield 'g', 'n8n: Stripe Trigger', 'signed, doubled, badly signed', functools.partial(cases.stripe_trigger, flow=trigger)
    for kind in every:
        yield 'h', kind.workflow, 'late worker after a sweep', functools.partial(cases.late_worker, kind=kind)
    yield 'h', '6 sweeper', 'late sweeper after the worker', cases.late_sweeper
    for kind in ADVISORY:
        yield 'h', kind.workflow, 'taken between claim and mark', functools.partial(cases.taken_before_mark, kind=kind)
    for kind in every:
        yield 'i', kind.workflow, 'swept while at work', functools.partial(cases.fresh_claim, kind=kind)
    yield 'i', '6 sweeper', 'key 25 h old, payment there', functools.partial(cases.key_too_old, found=True)
    yield 'i', '6 sweeper', 'key 25 h old, payment not there', functools.partial(cases.key_too_old, found=False)
    for name in ('mail', 'notify'):
        yield 'i', KINDS[name].workflow, 'review, three sweeps, two at once', functools.partial(cases.one_alert, kind=KINDS[name])
    yield 'i', '6 sweeper', 'alert refused once', cases.alert_lost
    for kind in ENFORCED:
        yield 'i', kind.workflow, 'provider down for four sweeps', functools.partial(cases.long_pending, kind=kind)
    yield 'i', '6 sweeper', 'by its schedule', functools.partial(cases.on_schedule, flow=scheduled)


class Book:
    """Counts what held and what did not, and keeps the rows of the table."""

    def __init__(self):
        self.lock = threading.Lock()
        self.passed = self.failed = 0
        self.rows = {}

    def say(self, held, text):
        with self.lock:
            self.passed += held
            self.failed += not held
            print(('ok   ' if held else 'FAIL ') + text, flush=True)

    def row(self, letter, workflow, fault, effects, state, seconds):
        told = (str(effects), state)
        before = self.rows.setdefault((letter, workflow, fault), told)
        if told == before:
            self.say(True, f'{letter}  {workflow}, {fault}: {effects}, {state}  [{seconds:.1f} s]')
        else:
            self.say(False, f'{letter}  {workflow}, {fault}: {told}, and {before} in the pass before')

    def table(self):
        """Draws what was measured, by letter and in the order of the first pass."""
        lines = [('', 'workflow', 'fault', 'effects', 'final state'), ('---',) * 5]
        lines += [(*key, *told) for key, told in sorted(self.rows.items(), key=lambda row: row[0][0])]
        return ''.join(f'| {" | ".join(line)} |\n' for line in lines)

    def case(self, world, letter, workflow, fault, do):
        began = time.monotonic()
        try:
            effects, state = do(world)
        except Exception as error:
            return self.wrong(letter, workflow, fault, error)
        self.row(letter, workflow, fault, effects, state, time.monotonic() - began)

    def wrong(self, letter, workflow, fault, error):
        self.say(False, f'{letter}  {workflow}, {fault}: {error}')
        if not isinstance(error, (Wrong, lab.Broken)):
            traceback.print_exception(error)

    def several(self, world, letter, fault, do):
        """Runs a case that yields a row for each of several workflows."""
        began = time.monotonic()
        try:
            for workflow, effects, state in do(world):
                self.row(letter, workflow, fault, effects, state, time.monotonic() - began)
                began = time.monotonic()
        except Exception as error:
            self.wrong(letter, 'all', fault, error)


def run_steady(world, book, options, trigger, scheduled):
    world.prepare()
    slow = cases.SlowMail(world) if 's' in options.only else None
    for number in range(options.passes):
        print(f'-- pass {number + 1} of {options.passes}', flush=True)
        for letter, *case in steady(trigger, scheduled):
            if letter in options.only:
                book.case(world, letter, *case)
        if number == 0 and 'm' in options.only:
            print('-- guards broken on purpose: each must turn its case red', flush=True)
            for mutant in mutants.ALL:
                mutant.try_on(world, book)
    if slow:
        book.case(world, 'f', 'n8n: Retry On Fail', 'a mail that hangs, 600 s', slow.end)


def run_killed(world, book, options):
    world.prepare()
    for _ in range(options.passes):
        if 'd' in options.only:
            book.several(world, 'd', 'SIGKILL, answer held', cases.killed_while_held)
            book.case(world, 'd', '1 naive ✗', 'SIGKILL, answer held, sent again', cases.naive_killed_while_held)
        if 'f' in options.only:
            book.several(world, 'f', 'SIGKILL in the wait', cases.waits_and_a_crash)


PAGE = pathlib.Path(__file__).parent / 'README.md'
BEGIN, END = '<!-- measured -->\n', '<!-- end -->\n'


def compare(book, write):
    """Holds the page's table to what was measured, or writes it anew."""
    head, rest = PAGE.read_text().split(BEGIN)
    _, tail = rest.split(END)
    page = head + BEGIN + book.table() + END + tail
    if write:
        PAGE.write_text(page)
    elif page != PAGE.read_text():
        return book.say(False, 'the table of README.md is not what was measured; --write writes it anew')
    book.say(True, 'the table of README.md is what was measured')


def stop(*_):
    """Ends as an interrupt does, so that everything that was started ends too."""
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, stop)
    parser = argparse.ArgumentParser()
    parser.add_argument('node', type=pathlib.Path)
    parser.add_argument('n8n')
    parser.add_argument('postgres')
    parser.add_argument('--passes', type=int, default=2)
    parser.add_argument('--only', default='abcdefghims')
    parser.add_argument('--keep', action='store_true', help='keep the logs and say where they are')
    parser.add_argument('--write', action='store_true', help='write the table of README.md anew')
    options = parser.parse_args()
    book = Book()
    began = time.monotonic()
    originals = lab.workflows()
    flows.unscheduled(originals['sweeper'])
    tests = flows.of_tests()
    scheduled = flows.every_second(flows.made_from(lab.workflows()['sweeper'], 'schedule'))
    trigger = tests.pop('stripe-trigger')
    everything = [*originals.values(), *variants(originals), *tests.values(), *(mutant.made(originals) for mutant in mutants.ALL)]
    with lab.Lab(os.environ['SUITE_BIN'], options.node, options.n8n, options.postgres, options.keep) as here:
        steady_world = lab.World(here, 'steady', everything, asleep=[trigger, scheduled])
        killed_world = lab.World(here, 'killed', [*originals.values(), tests['wait']])
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            running = [pool.submit(run_steady, steady_world, book, options, trigger, scheduled), pool.submit(run_killed, killed_world, book, options)]
            for one in running:
                with contextlib.suppress(KeyboardInterrupt):
                    try:
                        one.result()
                    except Exception as error:
                        book.wrong('-', 'the lab', 'setting up', error)
    print(book.table())
    if set(parser.get_default('only')) <= set(options.only):
        compare(book, options.write)
    print(f'took {time.monotonic() - began:.0f} s')
    sys.exit(book.failed > 0 or book.passed == 0)


if __name__ == '__main__':
    main()
