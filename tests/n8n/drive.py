"""Runs the crash tests and prints one table: workflow × fault → effects, final state.

    drive.py NODE N8N POSTGRES_BIN [--passes N] [--only LETTERS] [--keep] [--write]

The letters are those of README.md, m the guards that are broken on purpose, s the mail that hangs for 600 s.
"""

import argparse
import concurrent.futures
import contextlib
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
from cases import crashes, engine
from jobs import ADVISORY, KINDS, Wrong


def variants(originals):
    """Makes the copies that throw, and those that wait for the test."""
    for kind in KINDS.values():
        yield flows.throws(flows.made_from(originals[kind.file], 'before'), kind.node if kind.name != 'order' else 'Look up')
        yield flows.throws(flows.made_from(originals[kind.file], 'after'), 'Receipt')
    yield flows.throws(flows.made_from(originals['sweeper'], 'crash'), 'Any alert?')
    yield flows.throws(flows.made_from(originals['resolve'], 'crash'), 'Send again')
    for kind in ADVISORY:
        yield flows.waits_for_lock(flows.made_from(originals[kind.file], 'locked'), 'Claimed?')


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


def run_steady(world, book, options):
    world.prepare()
    slow = engine.SlowMail(world) if 's' in options.only else None
    for number in range(options.passes):
        print(f'-- pass {number + 1} of {options.passes}', flush=True)
        for letter, *case in cases.steady():
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
        for letter, fault, do in crashes.kills():
            if letter in options.only:
                book.several(world, letter, fault, do)


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
        steady_world = lab.World(here, 'steady', everything, asleep={'stripe-trigger': trigger, 'scheduled': scheduled})
        killed_world = lab.World(here, 'killed', [*originals.values(), tests['wait']])
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            running = [pool.submit(run_steady, steady_world, book, options), pool.submit(run_killed, killed_world, book, options)]
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
