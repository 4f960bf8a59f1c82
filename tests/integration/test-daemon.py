# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon itself: its end by signals, its death, its names, buses, sockets and clients."""

import glob
import json
import os
import pty
import signal
import socket
import subprocess
import threading
import time

import dvmtest
import leftovers
from dvmtest import FORCED_EXIT, KILLED_BY_CMD, NOTIFIED, Gio, GLib

CLIENT = os.environ.get('DVM_TEST_PMIX_CLIENT', '')

DEAF = ['sh', '-c', "trap '' TERM; echo deaf; while :; do sleep 1000; done"]


class End(dvmtest.Case):
    def test_sigterm_with_jobs(self):
        """Running, waiting and leaving children behind: all are ended, and nothing is left."""
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        jobs = [dvm.submit(['sleep', '1000'], np=2), dvm.submit(['sleep', '1000'], np=2),
                dvm.submit(['true'], np=4)]
        jobs[0].wait_running()
        jobs[1].wait_running()
        self.assertEqual(dvm.stop(), 0)
        dvm.check_clean()
        self.assertFalse(os.path.exists(dvm.socket))

    def test_other_signals(self):
        dvm = self.dvm(slots=1)
        dvm.submit(['sleep', '1000'], np=1).wait_running()
        self.assertEqual(dvm.stop(signal.SIGINT), 0)
        dvm.check_clean()

    def test_nothing_to_say(self):
        """An orderly life leaves its beginning and its end in the log, and no other word, however it ends."""
        def end(dvm, how):
            if isinstance(how, dict):
                dvm.call('Shutdown', '(a{sv})', dvmtest.to_options(how))
                return dvm.wait_exit()
            return dvm.stop(how)
        for nodes in ('1', '3'):
            for how in (signal.SIGTERM, signal.SIGINT, {}, {'force': True}):
                dvm = self.dvm(slots=2, settings=[f'nodes={nodes}'])
                self.assert_success(dvm.run(['true'], np=2))
                self.assert_success(dvm.run(['true'], np=2, personality='plain'))
                dvm.submit(['sleep', '1000'], np=1).wait_running()
                self.assertEqual(end(dvm, how), 0)
                self.assertRegex(dvm.log(), rf'\Advmd\[{dvm.pid}\]: message: dvmd: The DVM is ready: .*\n'
                                            rf'dvmd\[{dvm.pid}\]: message: dvmd: The DVM has ended: .*\n\Z')
                dvm.check_clean()

    def test_environment_before_threads(self):
        """Whoever changes the environment of a process with threads is told so by GLib."""
        for nodes in ('1', '4'):
            dvm = self.dvm(slots=1, settings=[f'nodes={nodes}'], env={'G_MESSAGES_DEBUG': 'all'})
            self.assert_success(dvm.run(['true'], np=1))
            self.assertEqual(dvm.stop(), 0)
            self.assertIn('dvm-agent[', dvm.log())
            self.assertNotIn('not thread-safe', dvm.log())

    def test_interrupt_at_a_terminal(self):
        """Ctrl-C reaches all that belong to the terminal; the agent ends when its controller says so."""
        place, folder = self.place(), self.place()
        mark = f'DVM_TEST_MARK={place}'
        env = dict(os.environ, XDG_RUNTIME_DIR=place, HOME=place, XDG_CONFIG_HOME=place, DVM_TEST_MARK=place)
        ready, tell = os.pipe()
        pid, terminal = pty.fork()
        if pid == 0:
            os.set_inheritable(tell, True)
            os.execve(dvmtest.DVMD, [dvmtest.DVMD, '--bus=none', '--set=kill-grace=300', f'--ready-fd={tell}'], env)
        os.close(tell)
        self.assertEqual(os.read(ready, 100), b'READY\n')
        os.close(ready)
        connection = dvmtest.Connection(f'unix:path={place}/dvm/default/bus')
        deaf = ['sh', '-c', "trap '' TERM; : >deaf; while :; do sleep 1000; done"]
        options = dvmtest.to_options({'np': 1, 'cwd': folder})
        path = connection.call(*dvmtest.MANAGER, 'Submit', '(asa{sv})', deaf, options)[0]
        get = lambda name: connection.call(path, dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Job', name)[0]
        dvmtest.wait_until(lambda: os.path.exists(f'{folder}/deaf'), 'the trap')
        os.write(terminal, b'\x03')
        dvmtest.wait_until(lambda: get('State') == KILLED_BY_CMD, 'the first signal')
        self.assertTrue(leftovers.find_agents(pid))
        os.write(terminal, b'\x03')
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(terminal)
        self.assertEqual(leftovers.find_processes([mark.encode()]), [])
        self.assertEqual(leftovers.list_tree(place), [])

    def test_the_terminal_goes(self):
        """A dvmd that belongs to a terminal ends with it, and not before."""
        place = self.place()
        env = dict(os.environ, XDG_RUNTIME_DIR=place, HOME=place, XDG_CONFIG_HOME=place)
        ready, tell = os.pipe()
        pid, terminal = pty.fork()
        if pid == 0:
            os.set_inheritable(tell, True)
            os.execve(dvmtest.DVMD, [dvmtest.DVMD, '--bus=none', f'--ready-fd={tell}'], env)
        os.close(tell)
        self.assertEqual(os.read(ready, 100), b'READY\n')
        os.close(ready)
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_waiters_are_answered(self):
        """Who waits for a job when the DVM ends learns how the job ended."""
        dvm = self.dvm(slots=1, settings=['kill-grace=0.5'])
        job = dvm.submit(['sleep', '1000'], np=1)
        job.wait_running()
        answers = []
        dvm.connection.raw.call(None, job.path, 'org.dvm.Job', 'Wait', GLib.Variant('(a{sv})', ({},)), None, 0, -1, None,
                                lambda raw, result: answers.append(raw.call_finish(result).unpack()[0]))
        job.get('State')  # calls of one connection come in their order
        self.assertEqual(dvm.stop(), 0)
        dvmtest.wait_until(lambda: answers, 'the answer')
        self.assertEqual(answers[0]['state'], KILLED_BY_CMD)

    def test_second_signal_is_at_once(self):
        dvm = self.dvm(slots=1, settings=['kill-grace=300'])
        job, out, _ = dvm.start(DEAF, np=1)
        dvmtest.wait_until(lambda: out.data == b'deaf\n', 'trap')
        dvm.process.send_signal(signal.SIGTERM)
        dvmtest.wait_until(lambda: job.state == KILLED_BY_CMD, 'the first signal')
        self.assertEqual(dvm.stop(), 0)
        dvm.check_clean()

    def test_shutdown(self):
        dvm = self.dvm(slots=1, settings=['kill-grace=0.5'])
        dvm.submit(['sleep', '1000'], np=1).wait_running()
        dvm.call('Shutdown', '(a{sv})', {})
        self.assertEqual(dvm.wait_exit(), 0)
        dvm.check_clean()

    def test_shutdown_by_force(self):
        dvm = self.dvm(slots=1, settings=['kill-grace=300'])
        _, out, _ = dvm.start(DEAF, np=1)
        dvmtest.wait_until(lambda: out.data == b'deaf\n', 'trap')
        dvm.call('Shutdown', '(a{sv})', dvmtest.to_options({'force': True}))
        self.assertEqual(dvm.wait_exit(), 0)
        dvm.check_clean()

    def test_shutdown_with_a_limit(self):
        dvm = self.dvm(slots=1, settings=['kill-grace=300'])
        _, out, _ = dvm.start(DEAF, np=1)
        dvmtest.wait_until(lambda: out.data == b'deaf\n', 'trap')
        dvm.call('Shutdown', '(a{sv})', dvmtest.to_options({'timeout': 1}))
        self.assertEqual(dvm.wait_exit(), 0)
        dvm.check_clean()

    def test_nothing_is_taken_while_it_ends(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=300'])
        job, out, _ = dvm.start(DEAF, np=1)
        dvmtest.wait_until(lambda: out.data == b'deaf\n', 'trap')
        dvm.process.send_signal(signal.SIGTERM)
        dvmtest.wait_until(lambda: job.state == KILLED_BY_CMD, 'the signal to have come')
        self.assert_refused('ShuttingDown', 'ending', dvm.submit, ['true'])
        self.assertFalse(dvm.get('Ready'))
        self.assertEqual(dvm.stop(), 0)

    def test_end_in_the_middle_of_a_launch(self):
        for calls in range(8):
            dvm = self.dvm(slots=16, settings=['kill-grace=0.5'])
            dvm.submit(['sleep', '1000'], np=16)
            for _ in range(calls):
                dvm.get('Version')
            self.assertEqual(dvm.stop(), 0)
            dvm.check_clean()

    def test_end_while_it_is_made(self):
        """A signal that comes as soon as its directory is there ends it as any other."""
        for _ in range(5):
            runtime = os.path.join(self.place(), 'run')
            os.mkdir(runtime, 0o700)
            process = subprocess.Popen([dvmtest.DVMD, '--bus=none', '--nodes=2'], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=dict(os.environ, XDG_RUNTIME_DIR=runtime))
            try:
                # No pause: it is a matter of a millisecond.
                end = time.monotonic() + dvmtest.LIMIT
                while not os.path.exists(os.path.join(runtime, 'dvm', 'default', 'lock')) and time.monotonic() < end:
                    pass
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(dvmtest.LIMIT), 0)
            finally:
                process.kill()
                process.wait()
            self.assertEqual(leftovers.list_tree(runtime), [])

    def test_end_before_ready(self):
        """A signal that comes in the middle of the start."""
        for pause in range(12):
            dvm = dvmtest.Dvm.__new__(dvmtest.Dvm)
            dvm.early = lambda: (time.sleep(pause / 500), dvm.process.send_signal(signal.SIGTERM))
            dvm.__init__(slots=1)
            self.dvms.append(dvm)
            # Before the handlers are there the signal itself ends it, and nothing has been made.
            self.assertIn(dvm.wait_exit(), (0, -signal.SIGTERM), dvm.log())
            if dvm.process.returncode == 0:
                self.assertFalse(dvm.processes(), dvm.log())
                dvm.check_clean()


class Death(dvmtest.Case):
    def test_kill_9_and_takeover(self):
        """The next one finds the socket, directories and processes of a crashed one, and puts all in order."""
        dvm = self.dvm(slots=2)
        dvm.submit(['sh', '-c', 'sleep 1000 & exec sleep 1000'], np=2).wait_running()
        self.assertEqual(dvm.stop(signal.SIGKILL), -signal.SIGKILL)
        self.assertTrue(os.path.exists(dvm.socket))
        second = self.dvm(slots=2, place=dvm.place)
        self.assertIn('left behind', second.log())
        self.assert_success(second.run(['true'], np=2))
        dvmtest.wait_until(lambda: not dvm.processes(), 'what the first left to end')
        sessions = os.path.join(second.runtime, 'dvm', 'default', 'sessions')
        self.assertEqual(second.stop(), 0)
        self.assertFalse(os.path.exists(sessions))
        second.check_clean()

    def find_shared_memory(self, dvm):
        self.assert_success(dvm.run(['true'], np=2))
        links = leftovers.list_descriptors([dvm.agent])
        shared = [link for link in links if link.startswith(f'/dev/shm/dvm-{os.getuid()}-')]
        self.assertEqual(len(shared), 1)
        return shared[0]

    def test_shared_memory_of_a_crashed_one(self):
        """The agent takes it along, when its controller has gone."""
        dvm = self.dvm(slots=2)
        shared = self.find_shared_memory(dvm)
        dvm.stop(signal.SIGKILL)
        dvmtest.wait_until(lambda: not os.path.exists(shared), 'the shared memory to go')

    def crash_with_shared_memory(self):
        """(the DVM that was, its shared memory, which nobody has cleared away)"""
        for _ in range(50):
            dvm = self.dvm(slots=2)
            shared = self.find_shared_memory(dvm)
            # Stopped before: nobody is to clean up behind another one. Children first: the kernel lets those go on who
            # lose their parent while they are stopped.
            daemons = dvm.daemons
            for pid in daemons:
                os.kill(pid, signal.SIGSTOP)
            for pid in reversed(daemons):
                os.kill(pid, signal.SIGKILL)
            dvm.wait_exit()
            dvmtest.wait_until(lambda: not dvm.processes(), 'all to end')
            if os.path.isdir(shared):
                return dvm, shared
            # Any DVM of this user that starts at this moment takes it away, also that of another test.
        return self.fail('the shared memory was gone 50 times: the daemons of the test clear it away themselves')

    def test_shared_memory_of_crashed_agents(self):
        """It is taken away by the next one's start, without any job."""
        dvm, shared = self.crash_with_shared_memory()
        second = self.dvm(slots=2, place=dvm.place)
        self.assertFalse(os.path.exists(shared))
        self.assertEqual(second.stop(), 0)

    def test_ranks_end_with_their_daemon(self):
        dvm = self.dvm(slots=4)
        job = dvm.submit(['sleep', '1000'], np=4)
        job.wait_running()
        pids = job.pids()
        dvm.stop(signal.SIGKILL)
        dvmtest.wait_until(lambda: not any(leftovers.is_running(pid) for pid in pids), 'the ranks to end')

    def test_stale_socket(self):
        """A socket in the way that nobody listens on."""
        place = self.place()
        folder = os.path.join(place, 'run', 'dvm', 'default')
        os.makedirs(folder, mode=0o700)
        for path in ('run', 'run/dvm', 'run/dvm/default'):
            os.chmod(os.path.join(place, path), 0o700)
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(os.path.join(folder, 'bus'))
        stale.close()
        dvm = self.dvm(slots=1, place=place)
        self.assert_success(dvm.run(['true']))

    def test_stale_socket_of_its_own_path(self):
        place = self.place()
        path = os.path.join(place, 'socket')
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(path)
        stale.close()
        dvm = self.dvm(slots=1, socket=path)
        self.assert_success(dvm.run(['true']))
        self.assertEqual(dvm.stop(), 0)
        self.assertFalse(os.path.exists(path))

    def test_socket_path_that_is_something_else(self):
        """A file of the user is not removed for a socket."""
        place = self.place()
        path = os.path.join(place, 'precious')
        with open(path, 'w') as f:
            f.write('data')
        dvm = self.try_dvm(slots=1, socket=path)
        self.assertTrue(dvm.answer.startswith('ERROR: '), dvm.answer)
        self.assertIn('precious', dvm.answer)
        self.assertNotEqual(dvm.wait_exit(), 0)
        with open(path) as f:
            self.assertEqual(f.read(), 'data')
        dvm.check_clean()

    def test_socket_path_of_another(self):
        first = self.dvm(slots=1)
        second = self.try_dvm(slots=1, socket=first.socket)
        self.assertTrue(second.answer.startswith('ERROR: '), second.answer)
        self.assertNotEqual(second.wait_exit(), 0)
        self.assert_success(first.run(['true']))


class Names(dvmtest.Case):
    def test_two_of_one_name(self):
        first = self.dvm(slots=1)
        second = self.try_dvm(slots=1, place=first.place)
        self.assertTrue(second.answer.startswith('ERROR: '), second.answer)
        self.assertIn(str(first.pid), second.answer)
        self.assertIn('default', second.answer)
        self.assertNotEqual(second.wait_exit(), 0)
        self.assert_success(first.run(['true']))

    def test_two_of_two_names(self):
        first = self.dvm(slots=1)
        second = self.dvm(slots=1, name='other', place=first.place)
        self.assert_success(first.run(['true']))
        self.assert_success(second.run(['true']))
        self.assertEqual(second.stop(), 0)
        self.assert_success(first.run(['true']))
        self.assertEqual(first.stop(), 0)
        first.check_clean()

    def test_many_at_once_of_one_name(self):
        """However they race: one wins, the others say so."""
        place = self.place()
        found = []
        threads = [threading.Thread(target=lambda: found.append(dvmtest.Dvm(slots=1, place=place))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.dvms += found
        winners = [dvm for dvm in found if dvm.answer == 'READY\n']
        self.assertEqual(len(winners), 1, [dvm.answer for dvm in found])
        for dvm in found:
            if dvm is not winners[0]:
                self.assertIn('ERROR: ', dvm.answer)
                self.assertNotEqual(dvm.wait_exit(), 0)
        winners[0].connection = winners[0].connect()
        self.assert_success(winners[0].run(['true']))

    def test_without_runtime_directory(self):
        """No XDG_RUNTIME_DIR, as on a clean machine: a private directory in /tmp."""
        name = f'test{os.getpid()}'
        folder = f'/tmp/dvm-{os.geteuid()}'
        existed = os.path.exists(folder)
        dvm = self.try_dvm(slots=1, name=name, env={'XDG_RUNTIME_DIR': ''})
        self.assertEqual(dvm.answer, 'READY\n')
        dvm.socket = f'{folder}/{name}/bus'
        self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
        dvm.connection = dvm.connect()
        self.assert_success(dvm.run(['true']))
        self.assertEqual(dvm.stop(), 0)
        self.assertFalse(os.path.exists(f'{folder}/{name}'))
        if not existed:
            self.assertTrue(not os.path.exists(folder) or os.listdir(folder))


class Bus(dvmtest.Case):
    def setUp(self):
        super().setUp()
        # One of our own: its address stays, and it can be ended.
        self.folder = self.place()
        self.address = f'unix:path={self.folder}/session'
        self.daemon = None
        self.start_bus()

    def start_bus(self):
        self.daemon = subprocess.Popen(['dbus-daemon', '--session', '--nofork', '--nopidfile',
                                        f'--address={self.address}', '--print-address=1'],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.daemon.stdout.readline()

    def stop_bus(self):
        self.daemon.terminate()
        self.daemon.wait()
        self.daemon.stdout.close()

    def clear(self):
        super().clear()
        self.stop_bus()

    def dvm_on_bus(self, **options):
        env = dict(options.pop('env', {}), DBUS_SESSION_BUS_ADDRESS=self.address)
        dvm = self.try_dvm(bus='session', env=env, **options)
        if dvm.answer == 'READY\n':
            dvm.connection = dvmtest.Connection(self.address, 'org.dvm.Manager')
        return dvm

    def has_owner(self, name='org.dvm.Manager'):
        connection = dvmtest.Connection(self.address, 'org.freedesktop.DBus')
        try:
            return connection.call('/org/freedesktop/DBus', 'org.freedesktop.DBus', 'NameHasOwner', '(s)', name)[0]
        finally:
            connection.close()

    def test_job_over_the_bus(self):
        dvm = self.dvm_on_bus(slots=2)
        done = dvm.run(['echo', 'hello'], np=2)
        self.assert_success(done)
        self.assertEqual(done.lines, ['hello'] * 2)
        self.assertTrue(done.job.get('Submitter').startswith(':'))
        self.assertEqual(done.job.get('SubmitterPid'), os.getpid())

    def test_name_is_released(self):
        dvm = self.dvm_on_bus(slots=1)
        self.assertTrue(self.has_owner())
        dvm.submit(['sleep', '1000'], np=1).wait_running()
        self.assertEqual(dvm.stop(), 0)
        self.assertFalse(self.has_owner())
        dvm.check_clean()

    def test_name_is_taken(self):
        """Another runtime directory, the same bus: the name decides."""
        first = self.dvm_on_bus(slots=1)
        second = self.dvm_on_bus(slots=1)
        self.assertTrue(second.answer.startswith('ERROR: '), second.answer)
        self.assertIn('org.dvm.Manager', second.answer)
        self.assertNotEqual(second.wait_exit(), 0)
        second.check_clean()
        self.assert_success(first.run(['true']))

    def test_own_name(self):
        dvm = self.dvm_on_bus(slots=1, name='blue')
        self.assertEqual(dvm.answer, 'READY\n')
        self.assertTrue(self.has_owner('org.dvm.Manager.blue'))
        self.assertFalse(self.has_owner())
        dvm.connection.name = 'org.dvm.Manager.blue'
        self.assert_success(dvm.run(['true']))

    def test_bus_that_goes(self):
        """The DVM goes on with its socket, and its jobs do not notice."""
        dvm = self.dvm_on_bus(slots=2)
        job = dvm.submit(['sleep', '1000'], np=1)
        job.wait_running()
        self.stop_bus()
        self.start_bus()
        dvm.connection = dvm.connect()
        self.assertEqual(job.state, dvmtest.RUNNING)
        self.assert_success(dvm.run(['true']))

    def test_no_bus(self):
        """An address where nobody is, and nobody asked for a bus: said, and gone on with the socket."""
        dvm = dvmtest.Dvm.__new__(dvmtest.Dvm)
        dvm.default_bus = True
        dvm.__init__(slots=1, env={'DBUS_SESSION_BUS_ADDRESS': f'unix:path={self.folder}/nobody'})
        self.dvms.append(dvm)
        self.assertEqual(dvm.answer, 'READY\n')
        self.assertIn('goes on with its socket', dvm.log())
        dvm.connection = dvm.connect()
        self.assert_success(dvm.run(['true']))

    def test_bus_that_was_asked_for_is_not_there(self):
        dvm = self.try_dvm(slots=1, bus='session',
                           env={'DBUS_SESSION_BUS_ADDRESS': f'unix:path={self.folder}/nobody'})
        self.assertTrue(dvm.answer.startswith('ERROR: '), dvm.answer)
        self.assertNotEqual(dvm.wait_exit(), 0)
        dvm.check_clean()


class Clients(dvmtest.Case):
    def test_garbage_on_the_socket(self):
        dvm = self.dvm(slots=1)
        for data in (b'', b'\0', b'\0AUTH\r\n', b'GET / HTTP/1.0\r\n\r\n', b'\0' * 4096, os.urandom(65536)):
            client = socket.socket(socket.AF_UNIX)
            client.connect(dvm.socket)
            try:
                client.sendall(data)
            except OSError:
                pass
            client.close()
        self.assert_success(dvm.run(['true']))

    def test_clients_that_say_nothing(self):
        """Half-open connections keep nobody else out."""
        dvm = self.dvm(slots=1)
        silent = []
        for _ in range(40):
            client = socket.socket(socket.AF_UNIX)
            client.connect(dvm.socket)
            silent.append(client)
        dvm.connection = dvm.connect()
        self.assert_success(dvm.run(['true']))
        self.assertEqual(dvm.stop(), 0)
        for client in silent:
            client.close()

    def test_many_clients(self):
        dvm = self.dvm(slots=4)
        clients = [dvm.connect() for _ in range(100)]
        for client in clients:
            self.assertEqual(client.call(*dvmtest.MANAGER[:1], dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Manager',
                                         'Ready')[0], True)
        # Only dvmd is counted: the agent may still be starting a PMIx server ahead of the first job.
        before = leftovers.count_descriptors([dvm.pid])
        for client in clients:
            client.close()
        dvmtest.wait_until(lambda: leftovers.count_descriptors([dvm.pid]) <= before - 100, 'connections to close')

    def test_subscriber_that_vanishes(self):
        dvm = self.dvm(slots=2)
        for _ in range(10):
            other = dvm.connect()
            other.call(*dvmtest.MANAGER, 'Subscribe')
            other.raw.call(None, '/org/dvm/Manager', 'org.dvm.Manager', 'Submit',
                           GLib.Variant('(asa{sv})', (['true'], {})), None, 0, -1, None, None)
            other.raw.flush_sync(None)
            other.close()
        # A submission without an answer may be lost with its connection; what was accepted ends.
        self.assert_success(dvm.run(['true']))

        def all_ended():
            statistics = dvm.get('Statistics')
            return statistics['jobs-ended'] == statistics['jobs-submitted']
        dvmtest.wait_until(all_ended, 'all to end')

    def test_state_changes_are_told(self):
        dvm = self.dvm(slots=1)
        heard = []
        dvm.connection.raw.signal_subscribe(None, 'org.dvm.Job', 'StateChanged', None, None, 0,
                                            lambda *args: heard.append(args[5].unpack()[1]))
        dvm.call('Subscribe', '()')
        done = dvm.run(['true'])
        dvmtest.wait_until(lambda: heard and heard[-1] == NOTIFIED, 'the last state')
        # The first ones were over before there was an object to tell of.
        trace = done.job.job_trace()
        self.assertEqual(heard, trace[-len(heard):])
        self.assertGreater(len(heard), 10)

    def test_memory_over_many_jobs(self):
        """A thousand jobs later the daemon is as small as before."""
        dvm = self.dvm(slots=4, settings=['history-limit=10'])

        def run(count):
            jobs = [dvm.submit(['true'], np=1, personality='plain') for _ in range(count)]
            jobs[-1].wait()
            dvmtest.wait_until(lambda: dvm.get('SlotsInUse') == 0, 'all to end')
        run(300)
        before = dvm.rss()
        descriptors = leftovers.count_descriptors(dvm.daemons)
        run(1000)
        self.assert_growth(dvm, before, 4 << 20)
        self.assertLessEqual(leftovers.count_descriptors(dvm.daemons), descriptors + 16)  # cgroups that wait for the next job


class Trace(dvmtest.Case):
    def test_file(self):
        """Every transition of the DVM's job, of jobs and of processes, and the same as Job.GetTrace tells."""
        place = self.place()
        path = os.path.join(place, 'trace')
        dvm = self.dvm(slots=2, settings=[f'trace-file={path}'])
        job = dvm.run(['true'], np=2).job
        told, name = job.trace(), job.nspace
        self.assertEqual(dvm.stop(), 0)
        with open(path) as file:
            lines = [json.loads(line) for line in file]
        own = [(line['what'], line['old-number'], line['new-number'], line['note']) for line in lines if line['job'] == name]
        self.assertEqual(own, [tuple(row[1:]) for row in told])
        self.assertEqual([line['rank'] for line in lines if line['what'].startswith('rank')].count(1), 3)
        states = [line['new'] for line in lines if line['what'] == 'dvm']
        self.assertEqual((states[0], states[-1]), ('INIT', 'DAEMONS_TERMINATED'))
        self.assertIn('VM_READY', states)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_full_disk(self):
        """It costs the trace and nothing else."""
        dvm = self.dvm(slots=1, settings=['trace-file=/dev/full'])
        for _ in range(3):
            self.assertEqual(dvm.run(['true']).code, 0)
        self.assertEqual(dvm.log().count('/dev/full cannot be written'), 1)

    def test_no_such_place(self):
        done = subprocess.run([dvmtest.DVMD, '--bus=none', '--trace-file=/nowhere/at/all'], stderr=subprocess.PIPE,
                              env=dict(os.environ, XDG_RUNTIME_DIR=self.place()), timeout=dvmtest.LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'/nowhere/at/all cannot be opened', done.stderr)


class OneShot(dvmtest.Case):
    def start(self, **options):
        """A private daemon on a socket pair, as `dvm-cli run` starts it."""
        ours, theirs = socket.socketpair()
        dvm = dvmtest.Dvm.__new__(dvmtest.Dvm)
        dvm.peer = theirs
        dvm.__init__(**options)
        theirs.close()
        self.dvms.append(dvm)
        self.assertEqual(dvm.answer, 'READY\n', dvm.log())
        stream = Gio.SocketConnection.new_from_fd(ours.detach()) if hasattr(Gio.SocketConnection, 'new_from_fd') else \
            Gio.Socket.new_from_fd(ours.detach()).connection_factory_create_connection()
        connection = dvmtest.Connection.__new__(dvmtest.Connection)
        connection.name = None
        connection.raw = Gio.DBusConnection.new_sync(stream, None, Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT, None,
                                                     None)
        connection.raw.set_exit_on_close(False)
        dvm.connection = connection
        return dvm

    def test_ends_after_its_job(self):
        dvm = self.start(slots=2)
        done = dvm.run(['echo', 'hello'], np=2)
        self.assert_success(done)
        self.assertEqual(done.lines, ['hello'] * 2)
        # Its client may still ask; when that has left, it ends.
        self.assertEqual(done.job.get('ExitCode'), 0)
        self.assert_refused('ShuttingDown', 'ending', dvm.submit, ['true'])
        dvm.connection.close()
        self.assertEqual(dvm.wait_exit(), 0)
        dvm.check_clean()

    def test_ends_with_its_client(self):
        dvm = self.start(slots=2, settings=['kill-grace=0.5'])
        dvm.submit(['sleep', '1000'], np=2).wait_running()
        dvm.connection.close()
        self.assertEqual(dvm.wait_exit(), 0)
        dvm.check_clean()

    def test_killed(self):
        """What it has left goes with the next DVM, though that has another name; and two of a name do not meet."""
        place = self.place()
        dvms = [self.start(slots=1, place=place, name=name, settings=['pmix-tools=session']) for name in (None, 'blue')]
        for dvm in dvms:
            dvm.start([CLIENT, 'fence-without', '1'], np=1)
        tools = os.path.join(place, f'dvm-pmix-{os.geteuid()}')
        dvmtest.wait_until(lambda: len(glob.glob(os.path.join(tools, 'agent-*', 'pmix.*.tool'))) == 2, 'both are found by tools')
        for dvm in dvms:
            dvm.stop(signal.SIGKILL)
        own = os.path.join(dvms[0].runtime, 'dvm', f'run-{dvms[0].pid}')
        self.assertTrue(os.path.exists(own))
        other = self.dvm(slots=1, place=place, name='blue', settings=['pmix-tools=none'])
        self.assertFalse(os.path.exists(own))
        other.stop()
        other.check_clean()
        self.assertFalse(os.path.exists(tools))


if __name__ == '__main__':
    dvmtest.main()
