# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every object, property and method that introspection shows, with right, wrong and hostile arguments: a new method comes in
by itself. Drawn from DVM_TEST_SEED (printed, 1 unless set); with DVM_TEST_SOAK=1 also from twenty that nobody knew before."""

import functools
import os
import random
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))

from gi.repository import GLib

import dvmtest
import leftovers
from dvmtest import PROPERTIES, DBusError, wait_until

INTROSPECTABLE = 'org.freedesktop.DBus.Introspectable'
# It ends what the others are tried on.
# The other one takes the object away that is walked.
SKIPPED = {'Shutdown', 'Restart'}
TEXTS = ['', '0', '0-3', '1-', ',', '0-4294967295', '99999999999', '%s%n', '/', 'ü', 'true', 'all', '-1', '\x01\x7f', '../..']
HUGE = 1 << 20
MANY = 100000
RANDOM_CALLS = 5
# A message may nest 64 containers. GLib writes also what is deeper, and then nobody reads it (test-strangers.py has that).
DEEP_MAX = 50
NESTED_MAX = 5
SEED = os.environ.get('DVM_TEST_SEED', '1')
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
N_SEEDS = 20


def deep(levels):
    value = GLib.Variant('u', 1)
    for _ in range(levels):
        value = GLib.Variant('v', value)
    return value


def plain_value(kind):
    """The simplest value of a type."""
    if kind[0] == 'a':
        return {} if kind[1] == '{' else []
    if kind[0] == '(':
        return tuple(plain_value(part) for part in split(kind[1:-1]))
    return {'s': '', 'o': '/', 'g': '', 'b': False, 'd': 0.0, 'v': GLib.Variant('u', 0)}.get(kind, 0)


def split(signature):
    parts = []
    while signature:
        end = len(signature)
        for length in range(1, len(signature) + 1):
            if GLib.VariantType.string_is_valid(signature[:length]):
                end = length
                break
        parts.append(signature[:end])
        signature = signature[end:]
    return parts


class Draw(random.Random):
    nested = 0  # dictionaries around what is drawn

    def text(self):
        return self.choice(TEXTS) if self.random() < 0.95 else 'x' * HUGE

    def variant(self):
        kinds = ['u', 'i', 's', 'as', 'b', 'h', 'd', 't', 'ay', 'aay', 'a{ss}', 'o', 'deep']
        kind = self.choice(kinds + ['aa{sv}'] if self.nested < NESTED_MAX else kinds)
        if kind == 'deep':
            return deep(self.randint(1, DEEP_MAX if self.nested == 0 else DEEP_MAX // 2))
        self.nested += 1
        value = GLib.Variant(kind, self.value(kind))
        self.nested -= 1
        return value

    def value(self, kind, keys=()):
        if kind == 's':
            return self.text()
        if kind == 'v':
            return self.variant()
        if kind == 'o':
            return self.choice(['/', '/org/dvm', '/org/dvm/jobs/1', '/' + 'a' * 5000])
        if kind in 'uthybqinxd':
            return self.number(kind)
        if kind[0] == 'a' and kind[1] == '{':
            value = split(kind[2:-1])[1]
            names = ['np', 'hosts', 'alloc-id', 'req-id', 'share', 'drain-timeout', 'ids', 'ranks', 'label', 'all', 'limit', 'columns', 'timeout', 'argv', 'stdin-fd', 'env', 'colour',
                     'target', 'session', 'inheritance', 'time', 'warn-timeout', 'child-separate', 'of-req-id', 'nspace', 'apps',
                     'instantiate', 'extend', 'pause', 'resume', 'preempt', 'restore', 'signal', 'terminate', 'separate', 'priority', 'after', 'after-ok', 'singleton']
            return {self.choice(names) if self.random() < 0.9 else self.text()[:300]: self.value(value)
                    for _ in range(self.randint(0, 4))}
        if kind[0] == 'a':
            # Many of the small ones alone: a hundred thousand long texts fill the memory of the test, not of dvmd.
            if self.random() < 0.02 and kind[1:] in ('s', 'u', 'y', 'h'):
                return [self.choice(TEXTS) if kind[1] == 's' else self.value(kind[1:])] * MANY
            return [self.value(kind[1:]) for _ in range(self.randint(0, 3))]
        return tuple(self.value(part) for part in split(kind[1:-1]))

    def number(self, kind):
        return {'b': self.choice([True, False]), 'y': self.randint(0, 255), 'd': self.choice([0.5, float('inf'), float('nan')]),
                'i': self.choice([-2 ** 31, -1, 0, 15, 2 ** 31 - 1]), 'h': self.choice([-1, 0, 7, 2 ** 31 - 1]),
                't': self.choice([0, 2 ** 64 - 1])}.get(kind, self.choice([0, 1, 2, 100, 65535]))


@functools.cache
def unknown_keys():
    """Once: it takes Python longer to make them than dvmd to refuse them."""
    return [GLib.Variant('a{sv}', {f'k{i}': GLib.Variant('u', i) for i in range(MANY)}),
            GLib.Variant('a{sv}', {'x' * 300: deep(DEEP_MAX)})]


class Walk(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.start(SEED)

    def start(self, seed):
        print(f'# DVM_TEST_SEED={seed}', flush=True)
        self.draw = Draw(seed)
        self.one = self.dvm(settings=['nodes=1', 'slots=4', 'elastic=true'])
        self.grown = self.one.call('Grow', '(a{sv})', {'hosts': GLib.Variant('as', ['n9'])})[1]
        self.one.connection.call(self.grown, 'org.dvm.Campaign', 'Wait', '(a{sv})', {})
        self.job = self.one.submit(['/bin/sleep', '1000'], np=1)
        self.job.wait_running()
        # The PMIx server of a node starts with the first job there, and stays.
        self.one.submit(['/bin/true'], np=1, hosts=['n9']).wait()

    def interfaces(self, path='/org/dvm'):
        """(path, interface element) of every object that introspection leads to, and of our job."""
        text = self.one.connection.call(path, INTROSPECTABLE, 'Introspect')[0]
        root = ElementTree.fromstring(text)
        for interface in root.findall('interface'):
            if interface.get('name').startswith('org.dvm.'):
                yield path, interface
        if path == '/org/dvm/campaigns':
            # Those that have ended answer, but are not listed.
            yield from self.interfaces(self.grown)
        for node in root.findall('node'):
            yield from self.interfaces(f'{path}/{node.get("name")}')

    def refuses(self, path, interface, method, parameters):
        """The call with these parameters, a variant, ends in an error."""
        try:
            self.one.connection.raw.call_sync(self.one.connection.name, path, interface, method, parameters, None, 0, -1, None)
        except GLib.Error as error:
            self.assertNotIn('NoReply', error.message, f'{interface}.{method}')
            return True
        return False

    def call(self, path, interface, method, signature, values, fds=()):
        """None for an answer, else the name of the error."""
        connection = self.one.connection
        try:
            connection.call(path, interface, method, signature, *values, fds=fds)
        except DBusError as error:
            self.assertNotIn('NoReply', error.name, f'{interface}.{method} {signature}')
            return error.name
        for fd in connection.fds:
            os.close(fd)
        return None

    def n_fds(self):
        return leftovers.count_descriptors(self.one.daemons)

    def test_properties(self):
        n = 0
        for path, interface in self.interfaces():
            name = interface.get('name')
            for element in interface.findall('property'):
                value = self.one.connection.raw.call_sync(
                    self.one.connection.name, path, PROPERTIES, 'Get', GLib.Variant('(ss)', (name, element.get('name'))), None,
                    0, -1, None).get_child_value(0).get_variant()
                self.assertEqual(value.get_type_string(), element.get('type'), f'{path} {element.get("name")}')
                for wrong in (GLib.Variant(element.get('type'), plain_value(element.get('type'))), deep(20)):
                    self.assertIsNotNone(self.call(path, PROPERTIES, 'Set', '(ssv)', (name, element.get('name'), wrong)))
                n += 1
            for wrong in self.draw.sample(TEXTS, 5):
                self.assertIsNotNone(self.call(path, PROPERTIES, 'Get', '(ss)', (name, wrong)), wrong)
        self.assertGreater(n, 60)
        self.job.cancel()
        self.job.wait()

    def try_method(self, path, interface, method, kinds):
        signature = f'({"".join(kinds)})'
        for wrong in ('(d)', f'({"".join(kinds)}d)', '(a{sv}a{sv}a{sv}a{sv})'):
            values = tuple(plain_value(kind) for kind in split(wrong[1:-1]))
            self.assertIsNotNone(self.call(path, interface, method, wrong, values), f'{method} takes {wrong}')
        for _ in range(RANDOM_CALLS if kinds else 1):
            values = [self.draw.value(kind) for kind in kinds]
            if method.startswith('Wait'):
                values[-1]['timeout'] = GLib.Variant('u', 1)
            with open('/dev/null', 'rb') as null:
                self.call(path, interface, method, signature, values, fds=[null.fileno()] * self.draw.randint(0, 2))
        if kinds and kinds[-1] == 'a{sv}':
            values = [GLib.Variant(kind, plain_value(kind)) for kind in kinds[:-1]]
            for keys in unknown_keys():
                self.assertTrue(self.refuses(path, interface, method, GLib.Variant.new_tuple(*values, keys)),
                                f'{method} takes unknown keys')

    def shrink(self):
        """What hostile requests have brought goes again."""
        wait_until(lambda: self.one.get('CampaignsRunning') == 0, 'the campaigns to end')
        names = [row['Name'] for row in self.one.get_nodes()[1:] if row['Name'] not in ('node1', 'n9')]
        if names:
            campaign = self.one.call('Shrink', '(a{sv})', {'hosts': GLib.Variant('as', names)})[1]
            self.one.connection.call(campaign, 'org.dvm.Campaign', 'Wait', '(a{sv})', {})

    def test_methods(self):
        self.walk_methods()
        for _ in range(N_SEEDS if LONG else 0):
            self.finish(self.one)
            self.start(str(random.SystemRandom().randrange(2 ** 32)))
            self.walk_methods()

    def walk_methods(self):
        before = self.n_fds()
        memory = self.one.rss()
        seen = set()
        for path, interface in list(self.interfaces()):
            for element in interface.findall('method'):
                name = element.get('name')
                kinds = [arg.get('type') for arg in element.findall('arg') if arg.get('direction') != 'out']
                if name not in SKIPPED:
                    self.try_method(path, interface.get('name'), name, kinds)
                    seen.add(name)
        self.assertLessEqual({'Submit', 'SubmitMany', 'Map', 'ListProcs', 'Drain', 'GetTopology', 'FindNode', 'Grow', 'Shrink', 'Allocate',
                              'ListCampaigns', 'ListSessions', 'Release', 'Cancel', 'FindSession', 'ControlSession', 'Extend', 'Pause',
                              'Terminate', 'Signal'}, seen)
        self.assertIsNone(self.one.process.poll())
        for path, interface in list(self.interfaces('/org/dvm/nodes')):
            if not path.endswith('/0'):
                self.call(path, 'org.dvm.Node', 'Resume', '(a{sv})', ({},))
        self.shrink()
        self.one.call('CancelJobs', '(a{sv})', {'all': GLib.Variant('b', True)})
        wait_until(lambda: self.one.get('JobsRunning') == 0 and self.one.get('JobsHeld') == 0, 'the jobs to end')
        wait_until(lambda: self.n_fds() <= before, 'the descriptors to come back')
        if not self.one.is_instrumented():
            self.assertLess(self.one.rss() - memory, 256 << 20)

    def test_sessions(self):
        """Each operation on sessions with values of its type that are as odd as can be, alone and beside others, on sessions that
        there are and that there are not."""
        manager = ('/org/dvm/Manager', 'org.dvm.Manager', 'ControlSession', '(ua{sv})')
        app = {'argv': GLib.Variant('as', ['true']), 'np': GLib.Variant('u', 2 ** 32 - 1)}
        odd = {'b': [True, False], 'u': [0, 1, 2 ** 32 - 1], 'i': [-2 ** 31, -1, 0, 19, 64, 2 ** 31 - 1], 's': ['', 'x' * HUGE, 'a@1', '@'],
               'as': [[], [''], ['n8'] * 1000, ['n8:4294967296']], 'aa{sv}': [[], [{}], [app], [app] * 100]}
        operations = {'instantiate': 'b', 'extend': 'u', 'pause': 'b', 'resume': 'b', 'preempt': 'b', 'restore': 'b', 'signal': 'i',
                      'separate': 'b', 'terminate': 'b'}
        beside = {'hosts': 'as', 'apps': 'aa{sv}', 'nspace': 's', 'time': 'u', 'inheritance': 's'}
        seen = set()
        for operation, kind in operations.items():
            for session in (2 ** 32 - 1, 2 ** 32 - 2, 0, 1):
                for value in odd[kind]:
                    directives = {operation: GLib.Variant(kind, value)}
                    seen.add(self.call(*manager, (session, directives)))
                    key = self.draw.choice(sorted(beside))
                    directives[key] = GLib.Variant(beside[key], self.draw.choice(odd[beside[key]]))
                    seen.add(self.call(*manager, (session, directives)))
        self.assertLessEqual({None, 'BadParam', 'NotFound', 'NotSupported'}, seen)
        for time in odd['u']:
            for warning in odd['u']:
                self.call('/org/dvm/Manager', 'org.dvm.Manager', 'Allocate', '(sa{sv})',
                          ('new', {'hosts': GLib.Variant('as', ['node1']), 'time': GLib.Variant('u', time), 'warn-timeout': GLib.Variant('u', warning)}))
        self.shrink()
        self.one.call('CancelJobs', '(a{sv})', {'all': GLib.Variant('b', True)})
        wait_until(lambda: self.one.get('JobsRunning') == 0 and self.one.get('JobsHeld') == 0, 'the jobs to end')


if __name__ == '__main__':
    dvmtest.main()
