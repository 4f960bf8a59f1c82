# SPDX-License-Identifier: LGPL-2.1-or-later
"""The D-Bus API of a real dvmd, on a bus and on the private socket at once."""

import os
import pwd
import random
import shutil
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))

from gi.repository import GLib

import dbusdaemon
import dvmtest
from dvmtest import ABORTED_BY_SIG, KILLED_BY_CMD, LIMIT, MANAGER, NOTIFIED, PROPERTIES, RUNNING, TERMINATED, Signals, wait_until

NAME = 'org.dvm.Manager'
OBJECT_MANAGER = ('/org/dvm', 'org.freedesktop.DBus.ObjectManager')
# spec/000, a job that needs no new agents.
ORDER = [1, 2, 3, 4, 8, 10, 11, 5, 6, 7, 12, 13, 20, 18, 14, 31, 34, 35]


class Case(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.buses = []

    def clear(self):
        super().clear()
        for bus in self.buses:
            bus.stop()

    def bus(self, **options):
        self.buses.append(dbusdaemon.MessageBus(self.place(), **options))
        return self.buses[-1]

    def dvm_on_bus(self, **options):
        """(DVM, connection through its bus)"""
        bus = self.bus(**options)
        dvm = self.dvm(slots=4, bus='session', env={'DBUS_SESSION_BUS_ADDRESS': bus.address})
        dvm.bus = bus
        return dvm, dvmtest.Connection(bus.address, NAME)

    def refused(self, name, part, function, *args, **kwargs):
        with self.assertRaises(dvmtest.DBusError) as caught:
            function(*args, **kwargs)
        self.assertEqual(caught.exception.name, name, caught.exception)
        self.assertIn(part, caught.exception.message)


class Jobs(Case):
    def test_states_in_order(self):
        dvm = self.dvm(slots=4)
        signals = Signals(dvm.connection)
        dvm.connection.call(*MANAGER, 'Subscribe')
        job = dvm.submit(['/bin/true'], np=2)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        signals.wait(OBJECT_MANAGER[0], 'InterfacesRemoved')
        heard = [new for _, new, _ in signals.of(job.path, 'StateChanged')]
        self.assertEqual(heard, job.job_trace())
        self.assertEqual([state for state in heard if state in ORDER], heard)
        positions = [heard.index(state) for state in (1, 2, 3, 4, 11, 5, 6, 12, 13, 20, RUNNING, TERMINATED, NOTIFIED)]
        self.assertEqual(positions, sorted(positions))

    def test_values_come_first(self):
        """Whoever hears StateChanged has had the value; the last values come before the object leaves."""
        dvm = self.dvm(slots=4)
        signals = Signals(dvm.connection)
        job = dvm.submit(['/bin/sh', '-c', 'exit 3'], np=1)
        job.wait()
        signals.wait(OBJECT_MANAGER[0], 'InterfacesRemoved')
        known = {}
        for path, name, arguments in signals.heard:
            if name == 'InterfacesAdded':
                known.update(arguments[1]['org.dvm.Job'])
            elif name == 'PropertiesChanged':
                known.update(arguments[1])
            elif name == 'InterfacesRemoved':
                break
        final = dvm.connection.call(job.path, PROPERTIES, 'GetAll', '(s)', 'org.dvm.Job')[0]
        self.assertEqual({key: known[key] for key in final}, final)
        self.assertEqual(final['ExitCode'], 3)
        self.assertTrue(final['Ended'] and final['Failed'])

    def test_output_bytes(self):
        """How much a job has written is read while it runs, and told once when it has ended."""
        dvm = self.dvm(slots=4)
        signals = Signals(dvm.connection)
        job = dvm.submit(['/bin/sh', '-c', 'for i in 0 1 2 3 4 5 6 7 8 9; do echo 12345; echo 1234567 >&2; sleep 0.02; done; exec sleep 1000'], np=2)
        columns = {'columns': GLib.Variant('as', ['OutputBytes'])}
        dvmtest.wait_until(lambda: dvm.call('ListJobs', '(a{sv})', columns)[0] == [{'OutputBytes': 280}], 'all of it')
        self.assertEqual(dvm.connection.call(job.path, PROPERTIES, 'Get', '(ss)', 'org.dvm.Job', 'OutputBytes'), (280,))
        job.cancel()
        job.wait()
        signals.wait(OBJECT_MANAGER[0], 'InterfacesRemoved')
        told = [arguments[1]['OutputBytes'] for path, name, arguments in signals.heard
                if name == 'PropertiesChanged' and path == job.path and 'OutputBytes' in arguments[1]]
        self.assertEqual(told, [280])

    def test_methods(self):
        dvm = self.dvm(slots=4)
        job = dvm.submit(['/bin/sleep', '1000'], np=2, label='l')
        job.wait_running()
        rows, rest = dvm.call('ListJobs', '(a{sv})', {'label': GLib.Variant('s', 'l')})
        self.assertEqual((len(rows), rest), (1, ''))
        self.assertEqual(rows[0]['Namespace'], job.nspace)
        self.assertEqual(dvm.call('FindJob', '(s)', job.nspace), (job.path,))
        nodes, rest = dvm.call('ListNodes', '(sa{sv})', '', {})
        self.assertEqual([node['Rank'] for node in nodes], [0, 1])
        self.assertEqual(nodes[1]['SlotsInUse'], 2)
        self.assertEqual(len(job.procs()), 2)
        job.signal(15, ranks='1')
        self.assertEqual(job.wait()['state'], ABORTED_BY_SIG)
        second = dvm.submit(['/bin/sleep', '1000'], np=1)
        second.wait_running()
        self.assertEqual(dvm.call('CancelJobs', '(a{sv})', {'ids': GLib.Variant('s', '2')}), (1,))
        self.assertEqual(dvm.call('WaitJob', '(sa{sv})', second.nspace, {})[0]['state'], KILLED_BY_CMD)

    def test_session(self):
        dvm = self.dvm(slots=4)
        job = dvm.submit(['/bin/sleep', '1000'], np=1)
        job.wait_running()
        path = dvm.get('DefaultSession')
        session = dvm.connection.call(path, PROPERTIES, 'GetAll', '(s)', 'org.dvm.Session')[0]
        self.assertEqual((session['Id'], session['State'], session['Jobs']), (0, 'active', [job.path]))
        self.assertEqual(len(session['Nodes']), dvm.get('NodeCount'))
        objects = dvm.connection.call(*OBJECT_MANAGER, 'GetManagedObjects')[0]
        self.assertEqual(set(objects), {MANAGER[0], path, job.path})
        job.cancel()
        job.wait()

    def test_history(self):
        dvm = self.dvm(slots=4, settings=['history-limit=2'])
        if dvm.get('HistoryLimit') != 2:
            self.skipTest('history-limit is no setting')
        for _ in range(3):
            dvm.submit(['/bin/true'], np=1).wait()
        self.refused('NotFound', 'forgotten', dvm.job(1).wait)
        self.assertEqual(dvm.job(2).wait()['state'], NOTIFIED)


class Buses(Case):
    def test_both_at_once(self):
        dvm, bus = self.dvm_on_bus()
        signals = Signals(bus)
        job = dvm.submit(['/bin/true'], np=1)
        job.wait()
        signals.wait(OBJECT_MANAGER[0], 'InterfacesRemoved')
        self.assertEqual(signals.of(job.path, 'StateChanged'), [])
        result = bus.call(job.path, 'org.dvm.Job', 'Wait', '(a{sv})', {})[0]
        self.assertEqual(result['state'], NOTIFIED)

    def test_requester(self):
        dvm, bus = self.dvm_on_bus()
        path = bus.call(*MANAGER, 'Submit', '(asa{sv})', ['/bin/true'], {})[0]
        get = lambda name: bus.call(path, PROPERTIES, 'Get', '(ss)', 'org.dvm.Job', name)[0]
        self.assertEqual(get('Submitter'), bus.raw.get_unique_name())
        self.assertEqual((get('SubmitterUid'), get('SubmitterPid')), (os.getuid(), os.getpid()))
        mine = dvm.submit(['/bin/true'])
        self.assertRegex(mine.get('Submitter'), r'^private:\d+$')

    def test_subscription_ends_with_its_owner(self):
        dvm, bus = self.dvm_on_bus()
        other = dvmtest.Connection(dvm.bus.address, NAME)
        other.call(*MANAGER, 'Subscribe')
        signals = Signals(bus)
        dvm.submit(['/bin/true'], np=1).wait()
        signals.wait(MANAGER[0], 'JobsChanged')
        other.close()

        def quiet():
            signals.heard.clear()
            job = dvm.submit(['/bin/true'], np=1)
            job.wait()
            signals.wait(OBJECT_MANAGER[0], 'InterfacesRemoved')
            return not signals.of(MANAGER[0], 'JobsChanged')

        wait_until(quiet, 'JobsChanged to cease')

    def test_busctl(self):
        if not shutil.which('busctl'):
            self.skipTest('no busctl')
        dvm, bus = self.dvm_on_bus()
        run = lambda *args: subprocess.run(['busctl', '--user', *args], env=dict(os.environ, DBUS_SESSION_BUS_ADDRESS=dvm.bus.address), check=True,
                                           capture_output=True, text=True, timeout=LIMIT).stdout
        out = run('call', '--', NAME, *MANAGER, 'Submit', 'asa{sv}', '2', 'uname', '-n', '1', 'np', 'u', '4')
        self.assertEqual(out, 'o "/org/dvm/jobs/1"\n')
        wait_until(lambda: run('get-property', NAME, '/org/dvm/jobs/1', 'org.dvm.Job', 'State') == f'u {NOTIFIED}\n',
                   'the job to end')
        self.assertIn(TERMINATED, dvm.job(1).job_trace())
        self.assertIn('/org/dvm/Manager', run('tree', NAME))
        self.assertIn('.Statistics', run('introspect', NAME, MANAGER[0]))

    def test_name_is_released(self):
        dvm, bus = self.dvm_on_bus()
        bus.call(*MANAGER, 'Shutdown', '(a{sv})', {})
        self.assertEqual(dvm.wait_exit(), 0)
        with self.assertRaises(dvmtest.DBusError) as caught:
            bus.call(*MANAGER, 'FindJob', '(s)', 'x')
        self.assertIn(caught.exception.name.rsplit('.', 1)[-1], ('ServiceUnknown', 'NameHasNoOwner'))

    def test_bus_that_goes(self):
        dvm, bus = self.dvm_on_bus()
        dvm.bus.process.terminate()
        wait_until(lambda: bus.raw.is_closed(), 'the bus to go')
        self.assertEqual(dvm.submit(['/bin/true'], np=1).wait()['state'], NOTIFIED)

    @unittest.skipUnless(os.getuid() == 0, 'needs another user')
    def test_another_user(self):
        """May look, may not touch."""
        dvm, bus = self.dvm_on_bus(open_to_all=True)
        job = dvm.submit(['/bin/sleep', '1000'], np=1)
        job.wait_running()
        nobody = pwd.getpwnam('nobody')

        def call(*args):
            return subprocess.run(['gdbus', 'call', '--address', dvm.bus.address, '--dest', NAME, *args], timeout=LIMIT,
                                  user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], capture_output=True,
                                  text=True, env={'PATH': os.environ['PATH']}, cwd='/')

        manager = ['--object-path', MANAGER[0], '--method']
        at_job = ['--object-path', job.path, '--method']
        at_session = ['--object-path', '/org/dvm/sessions/0', '--method']
        at_node = ['--object-path', '/org/dvm/nodes/1', '--method']
        seen = call(*at_job, f'{PROPERTIES}.Get', 'org.dvm.Job', 'State')
        self.assertEqual(seen.stdout, f'(<uint32 {RUNNING}>,)\n', seen.stderr)
        for attempt in ([*manager, f'{NAME}.Submit', "['true']", '{}'], [*manager, f'{NAME}.Shutdown', '{}'],
                        [*manager, f'{NAME}.CancelJobs', "{'all': <true>}"], [*at_job, 'org.dvm.Job.Cancel', '{}'],
                        [*at_job, 'org.dvm.Job.Signal', '9', '{}'], [*at_job, 'org.dvm.Job.Continue', '{}'],
                        [*at_job, 'org.dvm.Job.Hold', '{}'], [*at_job, 'org.dvm.Job.Release', '{}'],
                        [*at_job, 'org.dvm.Job.CollectStacks', '', '{}'],
                        [*at_job, 'org.dvm.Job.Attach', '{}'], [*at_job, 'org.dvm.Job.Resize', '1', '1', '{}'],
                        [*manager, f'{NAME}.Grow', "{'hosts': <['n9']>}"], [*manager, f'{NAME}.Shrink', "{'hosts': <['n9']>}"],
                        [*manager, f'{NAME}.Allocate', 'new', "{'hosts': <['n9']>}"], [*manager, f'{NAME}.Reload', '{}'],
                        [*manager, f'{NAME}.ControlSession', '0', "{'pause': <true>}"],
                        [*at_session, 'org.dvm.Session.Release', '{}'], [*at_session, 'org.dvm.Session.Extend', '{}'],
                        [*at_session, 'org.dvm.Session.Pause', '{}'], [*at_session, 'org.dvm.Session.Resume', '{}'],
                        [*at_session, 'org.dvm.Session.Signal', '9', '{}'], [*at_session, 'org.dvm.Session.Terminate', '{}'],
                        [*at_node, 'org.dvm.Node.Drain', 'why', '{}'], [*at_node, 'org.dvm.Node.Resume', '{}'],
                        [*at_node, 'org.dvm.Node.Restart', '{}']):
            done = call(*attempt)
            self.assertNotEqual(done.returncode, 0, attempt)
            self.assertIn('org.dvm.Error.NoPermissions', done.stderr, attempt)
        self.assertEqual(job.state, RUNNING)
        job.cancel()
        job.wait()


class Hostile(Case):
    def test_random_arguments(self):
        """Typed messages with any content: errors or answers, and the daemon lives."""
        dvm = self.dvm(slots=4)
        job = dvm.submit(['/bin/sleep', '1000'], np=1)
        job.wait_running()
        draw = random.Random(os.environ.get('DVM_TEST_SEED', '1'))
        methods = {(*MANAGER, 'Submit'): '(asa{sv})', (*MANAGER, 'SubmitApps'): '(aa{sv}a{sv})',
                   (*MANAGER, 'ListJobs'): '(a{sv})', (*MANAGER, 'ListNodes'): '(sa{sv})',
                   (*MANAGER, 'ListPlugins'): '(a{sv})',
                   (*MANAGER, 'WaitJob'): '(sa{sv})', (*MANAGER, 'FindJob'): '(s)',
                   (job.path, 'org.dvm.Job', 'ListProcs'): '(sa{sv})', (job.path, 'org.dvm.Job', 'ListDevices'): '(sa{sv})', (job.path, 'org.dvm.Job', 'Attach'): '(a{sv})',
                   (job.path, 'org.dvm.Job', 'Signal'): '(ia{sv})', (job.path, 'org.dvm.Job', 'Wait'): '(a{sv})',
                   (job.path, 'org.dvm.Job', 'GetTrace'): '(a{sv})', (job.path, 'org.dvm.Job', 'CollectStacks'): '(sa{sv})'}
        for _ in range(400):
            (path, interface, method), signature = draw.choice(list(methods.items()))
            try:
                dvm.connection.call(path, interface, method, signature, *random_body(draw, signature))
            except dvmtest.DBusError as error:
                self.assertNotIn('NoReply', error.name)
            for fd in getattr(dvm.connection, 'fds', []):
                os.close(fd)
            dvm.connection.fds = []
        self.assertIsNone(dvm.process.poll())
        dvm.call('CancelJobs', '(a{sv})', {'all': GLib.Variant('b', True)})
        job.wait()

    def test_strangers(self):
        """Garbage before authentication, and peers that say nothing."""
        dvm = self.dvm(slots=4)
        sockets = []
        for data in (b'', b'\0', b'\0AUTH EXTERNAL 39393939\r\n', b'GET / HTTP/1.1\r\n\r\n', b'\0AUTH ANONYMOUS\r\n',
                     os.urandom(4096), b'\0' + b'A' * 100000):
            peer = socket.socket(socket.AF_UNIX)
            peer.connect(dvm.socket)
            try:
                peer.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            sockets.append(peer)
        self.assertEqual(dvm.submit(['/bin/true'], np=1).wait()['state'], NOTIFIED)
        for peer in sockets:
            peer.close()
        self.assertEqual(dvm.submit(['/bin/true'], np=1).wait()['state'], NOTIFIED)


KEYS = ['np', 'name', 'label', 'env', 'cwd', 'timeout', 'ids', 'limit', 'columns', 'stdin', 'stdout', 'argv', 'hosts', 'ranks',
        'stdin-fd', 'all', 'state', 'map-by', 'output', 'argv-bytes', 'env-bytes', 'cwd-bytes', 'signals', '', 'x' * 300]


def random_value(draw):
    return draw.choice([
        GLib.Variant('u', draw.choice([0, 1, 2, 100, 4294967295])), GLib.Variant('i', draw.randint(-3, 3)),
        GLib.Variant('s', random_text(draw)), GLib.Variant('as', [random_text(draw) for _ in range(draw.randint(0, 3))]),
        GLib.Variant('b', draw.choice([True, False])), GLib.Variant('h', draw.randint(-2, 70000)), GLib.Variant('d', 0.5),
        GLib.Variant('v', GLib.Variant('v', GLib.Variant('u', 1))), GLib.Variant('a{ss}', {random_text(draw): 'x'}),
        GLib.Variant('ay', b'\xff\x00\xfe'), GLib.Variant('aay', [b'\xff', b'']), GLib.Variant('t', 2 ** 64 - 1)])


def random_text(draw):
    return draw.choice(['', '0', '0-3', '1-', ',', '4294967295', '99999999999', '%s%n', '/', 'ü', 'a' * 5000, 'true', 'all', '-1'])


def random_dict(draw):
    return {draw.choice(KEYS): random_value(draw) for _ in range(draw.randint(0, 4))}


def random_body(draw, signature):
    body = []
    if 'aa{sv}' in signature:
        return [[random_dict(draw) for _ in range(draw.randint(0, 3))], random_dict(draw)]
    if signature.startswith('(as'):
        body.append([random_text(draw) for _ in range(draw.randint(0, 3))])
    elif signature.startswith('(s'):
        body.append(random_text(draw))
    elif signature.startswith('(i'):
        body.append(draw.choice([-1, 0, 65, 1000, 2 ** 31 - 1]))
    if signature.endswith('a{sv})'):
        options = random_dict(draw)
        if 'as' not in signature:
            options['timeout'] = GLib.Variant('u', 1)
        body.append(options)
    return body


if __name__ == '__main__':
    dvmtest.main()
