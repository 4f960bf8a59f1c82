# SPDX-License-Identifier: LGPL-2.1-or-later
"""The walk of test-walk.py, over every method with hostile values, as three kinds of callers on one bus: the owner of the DVM, root, and another
user, of whom nothing may change. Root alone can be all three. Drawn from DVM_TEST_SEED (printed, 1 unless set); with DVM_TEST_SOAK=1 also
from five that nobody knew before."""

import importlib
import os
import pwd
import random
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dvmtest
import leftovers
from dvmtest import GLib, wait_until

test_contract = importlib.import_module('test-contract')
test_walk = importlib.import_module('test-walk')

NAME = 'org.dvm.Manager'
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
SEEDS = [test_walk.SEED] + [str(random.SystemRandom().randrange(2 ** 32)) for _ in range(5 if LONG else 0)]
# What fills messages is the business of test-walk.py; three callers take their time.
test_walk.MANY, test_walk.HUGE, test_walk.RANDOM_CALLS = (100000, 1 << 20, 5) if LONG else (2000, 1 << 14, 2)
# Accounts that each machine has: a bus lets nobody in whom it cannot look up.
OWNER, STRANGER = (pwd.getpwnam(name).pw_uid for name in ('daemon', 'nobody'))


class Seen:
    """What Walk wants to know of a DVM, through somebody's connection."""

    def __init__(self, address):
        self.connection = dvmtest.Connection(address, NAME)


def look(connection):
    """What everybody may see, and a stranger might change."""
    def call(name, *args):
        return connection.call('/org/dvm/Manager', NAME, name, *args)

    everything = {'all': GLib.Variant('b', True)}
    return {'jobs': sorted((row['Namespace'], row['State']) for row in call('ListJobs', '(a{sv})', everything)[0]),
            'nodes': [(row['Name'], row['Rank'], row['StateName'], row['Slots']) for row in call('ListNodes', '(sa{sv})', '', {})[0]],
            'sessions': call('ListSessions', '(a{sv})', {}),
            'campaigns': call('ListCampaigns', '(a{sv})', everything)}


def try_plainly(one, path, interface, name, kinds):
    """With the simplest right values a stranger changes nothing either. Whoever could, Drain and Resume would hide each other."""
    values = [test_walk.plain_value(kind) for kind in kinds]
    if name.startswith('Wait'):
        values[-1]['timeout'] = GLib.Variant('u', 1)
    before = look(one.one.connection)
    one.call(path, interface, name, f'({"".join(kinds)})', values)
    one.assertEqual(look(one.one.connection), before, f'{interface}.{name}')


def walk(address, seed, grown, is_stranger):
    """Every method of every object. Runs in a process of the caller's."""
    one = test_walk.Walk('test_methods')
    one.one = Seen(address)
    one.draw = test_walk.Draw(seed)
    one.grown = grown
    n = 0
    for path, interface in list(one.interfaces()):
        for element in interface.findall('method'):
            name = element.get('name')
            kinds = [arg.get('type') for arg in element.findall('arg') if arg.get('direction') != 'out']
            if is_stranger:
                try_plainly(one, path, interface.get('name'), name, kinds)
            if is_stranger or name not in test_walk.SKIPPED:
                one.try_method(path, interface.get('name'), name, kinds)
                n += 1
    one.assertGreater(n, 30)


def run_as(uid, address, seed, grown):
    """The exit status of a process of this user that walks: 0 when it has found nothing wrong."""
    words = ['--walk', address, seed, grown, 'stranger' if uid == STRANGER else 'known']
    done = subprocess.run([sys.executable, os.path.abspath(__file__), *words], user=uid, group=uid, extra_groups=[], cwd='/',
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    for line in done.stdout.splitlines():
        print(f'# as uid {uid}: {line}')
    return done.returncode


class OwnedDvm(dvmtest.Dvm):
    """A DVM of OWNER."""

    def _start(self, *args):
        for folder in (self.place, self.runtime, self.home):
            os.chown(folder, OWNER, OWNER)
        wrapper = os.path.join(self.place, 'dvmd')
        with open(wrapper, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nexec setpriv --reuid={OWNER} --regid={OWNER} --clear-groups {dvmtest.DVMD} "$@"\n')
        os.chmod(wrapper, 0o755)
        before, dvmtest.DVMD = dvmtest.DVMD, wrapper
        try:
            super()._start(*args)
        finally:
            dvmtest.DVMD = before


@unittest.skipUnless(os.getuid() == 0, 'needs other users')
class Hostile(test_contract.Case):
    def start(self):
        bus = self.bus(open_to_all=True)
        self.one = OwnedDvm(bus='session', env={'DBUS_SESSION_BUS_ADDRESS': bus.address}, settings=['nodes=1', 'slots=4', 'elastic=true'])
        self.dvms.append(self.one)
        self.assertEqual(self.one.answer, 'READY\n')
        # As root, who may what the owner may.
        self.one.connection = dvmtest.Connection(bus.address, NAME)
        self.address = bus.address
        self.grown = self.one.call('Grow', '(a{sv})', {'hosts': GLib.Variant('as', ['n9'])})[1]
        self.one.connection.call(self.grown, 'org.dvm.Campaign', 'Wait', '(a{sv})', {})
        self.job = self.one.submit(['/bin/sleep', '1000'], np=1)
        self.job.wait_running()
        self.one.submit(['/bin/true'], np=1, hosts=['n9']).wait()

    def look(self):
        """Of what its own users see, too."""
        return {**look(self.one.connection), 'descriptors of the job': sorted(leftovers.list_descriptors(self.job.pids()))}

    def test_stranger(self):
        """Nothing is done for another user, whatever is asked, and Shutdown least of all."""
        self.start()
        for seed in SEEDS:
            print(f'# DVM_TEST_SEED={seed}', flush=True)
            before = self.look()
            self.assertEqual(run_as(STRANGER, self.address, seed, self.grown), 0)
            self.assertEqual(self.look(), before)
        self.assertIsNone(self.one.process.poll())
        self.job.cancel()
        self.job.wait()

    def test_owner(self):
        self.walk_as(OWNER)

    def test_root(self):
        self.walk_as(0)

    def walk_as(self, uid):
        """The DVM answers afterwards, has nothing left open and has not grown."""
        self.start()
        before = leftovers.count_descriptors(self.one.daemons)
        memory = self.one.rss()
        for seed in SEEDS:
            print(f'# DVM_TEST_SEED={seed}', flush=True)
            self.assertEqual(run_as(uid, self.address, seed, self.grown), 0)
            self.assertIsNone(self.one.process.poll())
        test_walk.Walk.shrink(self)
        self.one.call('CancelJobs', '(a{sv})', {'all': GLib.Variant('b', True)})
        wait_until(lambda: self.one.get('JobsRunning') == 0 and self.one.get('JobsHeld') == 0, 'the jobs to end')
        wait_until(lambda: leftovers.count_descriptors(self.one.daemons) <= before, 'the descriptors to come back')
        self.assert_growth(self.one, memory, 256 << 20)


if __name__ == '__main__':
    if sys.argv[1:2] == ['--walk']:
        walk(*sys.argv[2:5], sys.argv[5] == 'stranger')
    else:
        dvmtest.main()
