# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rounds of chaos: what is drawn for each, the strikes, and how many of which there were.

Drawn from DVM_TEST_SEED (printed; 1 unless set) for DVM_CHAOS_ROUNDS rounds. With DVM_TEST_SOAK=1 from a new seed for ten minutes.
DVM_CHAOS_FIRST begins with that round of the seed: each draws for itself. DVM_CHAOS_ONLY="agent kill,rank freeze" leaves out all other faults.
"""

import collections
import os
import random
import resource
import threading
import time

import victims

LONG = os.environ.get('DVM_TEST_SOAK') == '1'
SEED = os.environ.get('DVM_TEST_SEED') or (str(random.SystemRandom().randrange(2 ** 32)) if LONG else '1')
ROUNDS = int(os.environ.get('DVM_CHAOS_ROUNDS', '20'))
ONLY = [tuple(words.split()) for words in os.environ.get('DVM_CHAOS_ONLY', '').split(',') if words]
FIRST = int(os.environ.get('DVM_CHAOS_FIRST', '1'))
SECONDS = int(os.environ.get('DVM_CHAOS_SECONDS', '600'))


class Round:
    """What is drawn for one round, and the strikes that it makes."""

    def __init__(self, place, number):
        self.rng = random.Random(f'{SEED}:{number}')
        self.world = place
        self.number = number
        self.struck = []
        self.hits = set()
        self.killed = collections.defaultdict(set)  # node -> pids of its daemons
        self.timers = []

    def draw_fault(self):
        """(key, target) of a fault that has a victim at this moment, or None."""
        keys = ONLY or list(victims.FAULTS)
        for _ in range(50):
            key = self.rng.choices(keys, [victims.FAULTS[one][0] for one in keys])[0]
            targets = victims.VICTIMS[key[0]](self.world)
            if targets:
                return key, self.rng.choice(targets)
        return None

    def strike(self):
        drawn = self.draw_fault()
        if drawn is None:
            return
        key, target = drawn
        _, strike, undo = victims.FAULTS[key]
        self.struck.append((key, str(target)))
        if key not in victims.HARMLESS:
            self.hits |= target.nodes | target.jobs
        if undo is None and key[0] in victims.DAEMONS:
            for node in target.nodes:
                self.killed[node].update(target.pids)
        strike(target)
        self.world.gone |= key in victims.ENDS_ALL
        if undo is not None:
            pause = self.rng.choice(victims.PAUSES.get(key[0], victims.SHORT_PAUSES))
            self.timers.append(threading.Timer(pause, undo, [target]))
            self.timers[-1].start()

    def run(self):
        """The sentences that say what is wrong."""
        self.world.load(self.rng, self.rng.randint(3, 8), self.rng.randint(1, 3), f'r{self.number}')
        time.sleep(self.rng.choice([0, 0, 0.01, 0.05, 0.2]))
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3, 5])):
            self.strike()
            time.sleep(self.rng.choice([0, 0, 0, 0.02, 0.1]))
        self.settle_down()
        if self.world.gone:
            # An agent and both of its guards.
            return self.world.bury(any(len(pids) >= 3 for pids in self.killed.values()))
        problems = self.world.finish_load(self.hits)
        problems += self.world.check_untouched(self.hits)
        self.world.restore()
        return problems + self.world.check_settled()

    def settle_down(self):
        for timer in self.timers:
            timer.join()


def run(case, place):
    """All rounds, on this world."""
    print(f'# DVM_TEST_SEED={SEED}')
    # A process that is told to crash leaves no core.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    counts = collections.Counter()
    end = time.monotonic() + SECONDS
    number = FIRST
    while time.monotonic() < end if LONG else number < FIRST + ROUNDS:
        one = Round(place, number)
        try:
            problems = one.run()
        except AssertionError as error:
            problems = [str(error)]
        finally:
            one.settle_down()
            print(f'# round {number}: {", ".join(f"{victim} {fault} ({target})" for (victim, fault), target in one.struck)}', flush=True)
        case.assertEqual(problems, [], f'DVM_TEST_SEED={SEED} DVM_CHAOS_FIRST={number} DVM_CHAOS_ROUNDS=1')
        counts.update(key for key, _ in one.struck)
        number += 1
    print(f'# {number - FIRST} rounds, {sum(counts.values())} faults, {place.n_dvms} DVMs: '
          + ', '.join(f'{victim} {fault} {n}' for (victim, fault), n in sorted(counts.items())))
