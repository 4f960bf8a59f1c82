# SPDX-License-Identifier: LGPL-2.1-or-later
"""Message buses: one that goes and comes back, one that starts dvmd, and that of the system with its policy."""

import os
import pwd
import shutil
import signal
import subprocess

import dbusdaemon
import dvmtest
import leftovers
from dvmtest import Gio, GLib

NAME = 'org.dvm.Manager'
BUS = ('/org/freedesktop/DBus', 'org.freedesktop.DBus')
BUILD = os.environ['DVM_TEST_BUILD']
SOURCE = os.environ['DVM_TEST_SOURCE']
CLI = os.path.join(BUILD, 'cli', 'dvm-cli')
POLICY = os.path.join(SOURCE, 'data', 'system', 'org.dvm.Manager.conf')
STRANGER = 65534


def cpu_ticks(pid):
    with open(f'/proc/{pid}/stat') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return int(fields[11]) + int(fields[12])


class Case(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.folder = self.place()
        self.bus = None
        self.connections = []

    def clear(self):
        for connection in self.connections:
            connection.close()
        super().clear()
        if self.bus is not None:
            self.bus.stop()

    def connect(self, name=NAME):
        connection = dvmtest.Connection(self.bus.address, name)
        self.connections.append(connection)
        return connection

    def ask_bus(self, method, signature, *args):
        connection = dvmtest.Connection(self.bus.address, 'org.freedesktop.DBus')
        try:
            return connection.call(*BUS, method, signature, *args)[0]
        finally:
            connection.close()

    def owner_pid(self, name=NAME):
        """The process that has the name, 0 if none has it."""
        try:
            return self.ask_bus('GetConnectionUnixProcessID', '(s)', name)
        except dvmtest.DBusError:
            return 0

    def wait_owner(self, pid, name=NAME):
        dvmtest.wait_until(lambda: self.owner_pid(name) == pid, f'{name} to belong to {pid}')


class Return(Case):
    def setUp(self):
        super().setUp()
        self.bus = dbusdaemon.MessageBus(self.folder)

    def on_bus(self, **options):
        env = dict(options.pop('env', {}), DBUS_SESSION_BUS_ADDRESS=self.bus.address)
        dvm = self.try_dvm(bus='session', slots=2, env=env, **options)
        self.assertEqual(dvm.answer, 'READY\n')
        self.wait_owner(dvm.pid, f'{NAME}.{options["name"]}' if 'name' in options else NAME)
        return dvm

    def test_bus_comes_back(self):
        """Jobs go on, the name is there again, and so are the objects; each is said once."""
        dvm = self.on_bus()
        private = dvm.connection = dvm.connect()
        job = dvm.submit(['sleep', '1000'], np=1)
        job.wait_running()
        for _ in range(3):
            self.bus.stop()
            dvm.connection = private
            self.assertEqual(job.state, dvmtest.RUNNING)
            self.bus.start()
            self.wait_owner(dvm.pid)
            dvm.connection = self.connect()
            self.assertEqual(job.state, dvmtest.RUNNING)
            self.assert_success(dvm.run(['true']))
        dvm.connection = private
        self.assertEqual(dvm.log().count('The message bus has gone'), 3, dvm.log())
        self.assertEqual(dvm.log().count('The message bus is back'), 3, dvm.log())
        job.cancel()

    def test_named_one_comes_back(self):
        dvm = self.on_bus(name='blue')
        self.bus.stop()
        self.bus.start()
        self.wait_owner(dvm.pid, 'org.dvm.Manager.blue')
        self.assertEqual(self.owner_pid(), 0)

    def test_looking_costs_nothing(self):
        """While there is no bus it is looked for, more and more rarely."""
        dvm = self.on_bus(env={'G_MESSAGES_DEBUG': 'dvmd-bus'})
        self.bus.stop()
        before = cpu_ticks(dvm.pid)
        dvmtest.wait_until(lambda: dvm.log().count('not back on the bus yet') >= 5, 'five tries')
        if not dvm.is_instrumented():
            self.assertLess(cpu_ticks(dvm.pid) - before, 20)
        # Doubled from 100 ms on: 5 tries are 3 s.
        self.assertLess(dvm.log().count('not back on the bus yet'), 7)
        self.bus.start()
        self.wait_owner(dvm.pid)

    def test_end_without_bus(self):
        dvm = self.on_bus()
        self.bus.stop()
        dvmtest.wait_until(lambda: 'The message bus has gone' in dvm.log(), 'it to notice')
        self.assertEqual(dvm.stop(), 0)
        dvm.check_clean()
        self.bus.start()

    def test_name_is_taken_meanwhile(self):
        """Another one was faster: said, and the name is had when it is free."""
        dvm = self.on_bus()
        dvm.process.send_signal(signal.SIGSTOP)
        self.bus.stop()
        self.bus.start()
        thief = self.connect('org.freedesktop.DBus')
        self.assertEqual(thief.call(*BUS, 'RequestName', '(su)', NAME, 4)[0], 1)
        dvm.process.send_signal(signal.SIGCONT)
        dvmtest.wait_until(lambda: 'Another DVM has the name' in dvm.log(), 'the sentence')
        dvm.connection = dvm.connect()
        self.assert_success(dvm.run(['true']))
        thief.close()
        self.wait_owner(dvm.pid)
        self.assertEqual(dvm.log().count('Another DVM has the name'), 1)


class Activation(Case):
    """A bus whose services are those of the build tree."""

    def start_bus(self, idle_exit, **settings):
        services = os.path.join(self.folder, 'services')
        os.makedirs(services, exist_ok=True)
        with open(os.path.join(BUILD, 'data', 'user', 'org.dvm.Manager.uninstalled.service')) as f:
            text = ''.join(line for line in f if not line.startswith('SystemdService='))
        self.assertIn(f'Exec={dvmtest.DVMD} --activated', text)
        with open(os.path.join(services, 'org.dvm.Manager.service'), 'w') as f:
            f.write(text)
        self.env = {'XDG_RUNTIME_DIR': os.path.join(self.folder, 'run'), 'HOME': self.folder,
                    'XDG_CONFIG_HOME': self.folder, 'TMPDIR': self.folder, 'DVM_IDLE_EXIT': idle_exit,
                    'G_DEBUG': 'fatal-warnings', 'G_MESSAGES_DEBUG': 'dvmd', **settings}
        os.mkdir(self.env['XDG_RUNTIME_DIR'], mode=0o700)
        self.bus = dbusdaemon.MessageBus(self.folder, services=services, env=self.env)

    def clear(self):
        pid = self.owner_pid() if self.bus is not None else 0
        if pid:
            os.kill(pid, signal.SIGTERM)
            dvmtest.wait_until(lambda: not os.path.exists(f'/proc/{pid}'), 'the activated one to end')
        super().clear()

    def call(self, connection, path, interface, method, signature, *args):
        """A call that starts what it needs."""
        answer = connection.raw.call_sync(NAME, path, interface, method, GLib.Variant(signature, args), None,
                                          Gio.DBusCallFlags.NONE, dvmtest.LIMIT * 1000, None)
        return answer.unpack()[0]

    def submit(self, connection, argv, **options):
        return self.call(connection, '/org/dvm/Manager', NAME, 'Submit', '(asa{sv})', argv, dvmtest.to_options(options))

    def get(self, connection, name):
        return self.call(connection, '/org/dvm/Manager', dvmtest.PROPERTIES, 'Get', '(ss)', NAME, name)

    def wait_job(self, connection, path):
        return self.call(connection, path, 'org.dvm.Job', 'Wait', '(a{sv})', {})

    def end_job(self, connection, path, gate):
        """Lets a job go that waits for its gate; its result, which was asked for before: afterwards the DVM may have left."""
        results = []
        connection.raw.call(NAME, path, 'org.dvm.Job', 'Wait', GLib.Variant('(a{sv})', ({},)), None, Gio.DBusCallFlags.NONE,
                            dvmtest.LIMIT * 1000, None, lambda raw, result: results.append(raw.call_finish(result).unpack()[0]))
        self.get(connection, 'Ready')  # calls of one connection come in their order
        with open(gate, 'w'):
            pass
        dvmtest.wait_until(lambda: results, 'the end of the job')
        return results[0]

    def wait_or_gone(self, connection, job):
        try:
            self.wait_job(connection, job)
        except GLib.Error as error:  # the next one has no such job
            self.assertIn('NotFound', Gio.DBusError.get_remote_error(error) or error.message)

    def gate(self):
        path = os.path.join(self.folder, 'gate')
        os.mkfifo(path)
        return path

    def wait_gone(self, pid):
        dvmtest.wait_until(lambda: not os.path.exists(f'/proc/{pid}'), f'{pid} to leave')

    def test_first_call_starts_it(self):
        """Submit answers, the job is kept until the DVM is ready, and it runs; with nothing to do the DVM leaves."""
        self.start_bus('1')
        self.assertEqual(self.owner_pid(), 0)
        connection = self.connect()
        gate = self.gate()
        job = self.submit(connection, ['sh', '-c', 'env; cat "$0"; exit 3', gate], np=1)
        pid = self.owner_pid()
        first = self.get(connection, 'InstanceId')
        dvmtest.wait_until(lambda: leftovers.find_agents(pid), 'its agent')
        daemons = leftovers.find_daemons(pid)
        result = self.end_job(connection, job, gate)
        self.assertEqual((result['exit-code'], result['state']), (3, dvmtest.NON_ZERO_TERM))
        self.wait_gone(pid)
        self.assertEqual([each for each in daemons if leftovers.is_running(each)], [])
        self.assertEqual(self.owner_pid(), 0)
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'run', 'dvm', 'default')), self.bus.log())
        self.assertIn('Nothing to do', self.bus.log())
        # The next one is another.
        self.assertNotEqual(self.get(connection, 'InstanceId'), first)
        self.assertNotEqual(self.owner_pid(), pid)

    def test_job_holds_it(self):
        self.start_bus('0.05')
        connection = self.connect()
        gate = self.gate()
        held = self.submit(connection, ['cat', gate], np=1)
        job = self.submit(connection, ['cat'], np=1, stdin='none')
        pid = self.owner_pid()
        self.wait_job(connection, job)
        # Much longer than idle-exit, measured by what others get done meanwhile.
        for _ in range(5):
            self.wait_job(connection, self.submit(connection, ['sleep', '0.05'], np=1))
        self.assertEqual(self.owner_pid(), pid)
        self.assertEqual(self.end_job(connection, held, gate)['exit-code'], 0)
        self.wait_gone(pid)

    def test_allocation_holds_it(self):
        """A session beyond the default one, also when no job runs; with its release the DVM may go."""
        self.start_bus('0.05', DVM_ELASTIC='true', DVM_LAUNCHER='local')
        connection = self.connect()
        manager = ('/org/dvm/Manager', NAME)
        gate = self.gate()
        held = self.submit(connection, ['cat', gate], np=1)
        dvmtest.wait_until(lambda: self.get(connection, 'Ready'), 'the DVM')
        alloc_id = self.call(connection, *manager, 'Grow', '(a{sv})', dvmtest.to_options({'hosts': ['n9']}))
        campaign = '/org/dvm/campaigns/1'
        self.assertEqual(self.call(connection, campaign, 'org.dvm.Campaign', 'Wait', '(a{sv})', {})['state'], 'completed')
        with open(gate, 'w'):
            pass
        self.wait_job(connection, held)
        pid = self.owner_pid()
        # Several times idle-exit, in which nobody asks for anything.
        subprocess.run(['sleep', '0.3'], check=True)
        self.assertEqual(self.owner_pid(), pid)
        self.assertEqual(self.owner_pid(), pid)
        self.call(connection, *manager, 'Shrink', '(a{sv})', dvmtest.to_options({'alloc-id': alloc_id}))
        self.wait_gone(pid)

    def test_no_call_is_lost(self):
        """Calls that come just as it leaves are served, by it or by the next one."""
        self.start_bus('0.02')
        connection = self.connect()
        pids = set()
        i = 0
        # Ever later after the end of a job, until it has left often enough, however long a job takes.
        while i < 60 or len(pids) <= 3:
            job = self.submit(connection, ['true'], np=1, personality='plain')
            self.assertTrue(job.startswith('/org/dvm/jobs/'))
            pids.add(self.owner_pid())
            self.wait_or_gone(connection, job)
            end = GLib.get_monotonic_time() + i * 1000
            while GLib.get_monotonic_time() < end:
                pass
            i += 1
            self.assertLess(i, 1000, self.bus.log())

    def test_it_can_stay(self):
        """idle-exit = 0: until somebody ends it."""
        self.start_bus('0')
        connection = self.connect()
        self.wait_job(connection, self.submit(connection, ['true'], np=1))
        self.assertNotIn('Nothing to do', self.bus.log())
        pid = self.owner_pid()
        self.call(connection, '/org/dvm/Manager', NAME, 'ListPlugins', '(a{sv})', {})
        os.kill(pid, signal.SIGTERM)
        self.wait_gone(pid)

    def test_it_cannot_start(self):
        """The caller hears that, and soon."""
        self.start_bus('nonsense')
        with self.assertRaises(GLib.Error) as caught:
            self.get(self.connect(), 'Version')
        self.assertIn('Spawn.ChildExited', caught.exception.message)
        self.assertIn('DVM_IDLE_EXIT', self.bus.log())

    def test_environment_of_jobs(self):
        """What made the bus start dvmd is nothing to its jobs."""
        self.start_bus('1')
        connection = self.connect()
        path = os.path.join(self.folder, 'environment')
        job = self.submit(connection, ['env'], np=1, stdout_path=path)
        self.assertEqual(self.wait_job(connection, job)['exit-code'], 0)
        with open(path) as f:
            names = {line.split('=')[0] for line in f}
        self.assertIn('DBUS_SESSION_BUS_ADDRESS', names)
        self.assertFalse({'DBUS_STARTER_ADDRESS', 'DBUS_STARTER_BUS_TYPE'} & names)

    def test_cli_does_not_start_it(self):
        self.start_bus('1')
        env = dict(os.environ, **self.env, DBUS_SESSION_BUS_ADDRESS=self.bus.address,
                   DBUS_SYSTEM_BUS_ADDRESS=f'unix:path={self.folder}/nobody')
        for words in (['status'], ['jobs'], ['--bus=session', 'jobs'], ['submit', 'true'], ['wait', '1'], ['stop']):
            done = subprocess.run([CLI] + words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0, f'{words}: {done.stdout}')
            self.assertEqual(self.owner_pid(), 0, words)
        done = subprocess.run([CLI, 'run', 'true'], env=env, stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(done.returncode, 0)
        self.assertNotIn('Activating', self.bus.log())
        # Started by somebody else, it is found.
        connection = self.connect()
        self.get(connection, 'Version')
        done = subprocess.run([CLI, '--bus=session', 'status'], env=env, stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_wrong_usage(self):
        for words in (['--name=blue'], ['--bus=none'], ['--one-shot']):
            done = subprocess.run([dvmtest.DVMD, '--activated'] + words, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn('--activated does not go with', done.stderr)


class System(Case):
    """Our policy on a bus with the rules of the system's own. Only root can be somebody else too."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        policy = POLICY
        if os.geteuid() != 0:
            # Who runs the tests is the user dvm of this bus.
            policy = os.path.join(self.folder, 'policy.conf')
            with open(POLICY) as source, open(policy, 'w') as copy:
                copy.write(source.read().replace('user="dvm"', f'user="{pwd.getpwuid(os.geteuid()).pw_name}"'))
        self.bus = dbusdaemon.MessageBus(self.folder, 'system', policy_file=policy)
        os.chmod(os.path.join(self.folder, 'system'), 0o777)

    def on_bus(self, **options):
        return self.try_dvm(bus='system', slots=2, env={'DBUS_SYSTEM_BUS_ADDRESS': self.bus.address}, **options)

    def need_root(self):
        if os.geteuid() != 0:
            self.skip('only root can call as another user')

    def skip(self, reason):
        raise dvmtest.unittest.SkipTest(reason)

    def as_stranger(self, *words):
        return subprocess.run(['busctl', f'--address={self.bus.address}', '--timeout=60'] + list(words),
                              user=STRANGER, group=STRANGER, extra_groups=[], capture_output=True, text=True, cwd='/')

    def test_owner_and_strangers(self):
        self.need_root()
        dvm = self.on_bus()
        self.assertEqual(dvm.answer, 'READY\n')
        dvm.connection = self.connect()
        done = dvm.run(['echo', 'hello'])
        self.assert_success(done)
        self.assertTrue(done.job.get('Submitter').startswith(':'))
        # Everybody may look.
        shown = self.as_stranger('introspect', NAME, '/org/dvm/Manager')
        self.assertIn('SubmitApps', shown.stdout, shown.stderr)
        shown = self.as_stranger('get-property', NAME, '/org/dvm/Manager', NAME, 'Ready')
        self.assertEqual(shown.stdout, 'b true\n', shown.stderr)
        shown = self.as_stranger('call', NAME, '/org/dvm/Manager', NAME, 'ListJobs', 'a{sv}', '1', 'all', 'b', 'true')
        self.assertIn('"echo"', shown.stdout, shown.stderr)
        # Nobody else may change.
        for call in (['/org/dvm/Manager', NAME, 'Submit', 'asa{sv}', '1', 'true', '0'],
                     ['/org/dvm/Manager', NAME, 'Shutdown', 'a{sv}', '0'],
                     ['/org/dvm/Manager', NAME, 'Grow', 'a{sv}', '0'],
                     ['/org/dvm/Manager', NAME, 'Shrink', 'a{sv}', '0'],
                     ['/org/dvm/Manager', NAME, 'Allocate', 'sa{sv}', 'new', '0'],
                     ['/org/dvm/sessions/0', 'org.dvm.Session', 'Release', 'a{sv}', '0'],
                     [done.job.path, 'org.dvm.Job', 'Cancel', 'a{sv}', '0'],
                     [done.job.path, 'org.dvm.Job', 'Attach', 'a{sv}', '1', 'stdout', 'b', 'true']):
            refused = self.as_stranger('call', NAME, *call)
            self.assertNotEqual(refused.returncode, 0, call)
            self.assertIn(f'not uid {STRANGER}', refused.stderr)

    def test_change_of_size(self):
        """The policy lets the event through to whoever asked."""
        self.need_root()
        dvm = self.on_bus(settings=['nodes=1', 'elastic=true'])
        dvm.connection = self.connect()
        signals, others = dvmtest.Signals(dvm.connection), dvmtest.Signals(self.connect())
        alloc_id, campaign = dvm.call('Grow', '(a{sv})', dvmtest.to_options({'hosts': ['n9']}))
        signals.wait('/org/dvm/Manager', 'DvmIsReady', lambda arguments: arguments[0] == alloc_id)
        others.wait('/org/dvm', 'InterfacesRemoved', lambda arguments: arguments[0] == campaign)
        self.assertEqual(others.of('/org/dvm/Manager', 'DvmIsReady'), [])

    def test_named_one(self):
        """The policy lets calls through to org.dvm.Manager.NAME too."""
        self.need_root()
        dvm = self.on_bus(name='blue')
        self.assertEqual(dvm.answer, 'READY\n')
        shown = self.as_stranger('get-property', f'{NAME}.blue', '/org/dvm/Manager', NAME, 'Ready')
        self.assertEqual(shown.stdout, 'b true\n', shown.stderr)

    def test_stranger_has_no_dvm_here(self):
        """Who is neither root nor in the group may not own the name: a sentence, and the end."""
        self.need_root()
        runtime = os.path.join(self.folder, 'stranger')
        os.mkdir(runtime, mode=0o700)
        os.chown(runtime, STRANGER, STRANGER)
        env = dict(os.environ, XDG_RUNTIME_DIR=runtime, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address, HOME='/')
        # The build tree may be out of that user's reach.
        for path in ('daemon/dvmd', 'daemon/dvm-agent', 'daemon/dvm-guard', 'libdvm-gobject/libdvm-gobject-1.0.so.0',
                     'daemon/plugin/libdvmd-plugin-1.0.so.0'):
            shutil.copy(os.path.join(BUILD, path), self.folder)
        env['LD_LIBRARY_PATH'] = self.folder
        done = subprocess.run([os.path.join(self.folder, 'dvmd'), '--bus=system', '--slots=1'], user=STRANGER, group=STRANGER,
                              extra_groups=[], env=env, capture_output=True, text=True, cwd='/')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('The name org.dvm.Manager cannot be had', done.stderr)
        self.assertIn('not allowed to own', done.stderr)

    def test_cli_finds_it(self):
        """The last place where it looks, after the socket and the session bus."""
        dvm = self.on_bus()
        elsewhere = os.path.join(self.folder, 'elsewhere')
        os.mkdir(elsewhere, mode=0o700)
        env = dict(os.environ, XDG_RUNTIME_DIR=elsewhere, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address, HOME=elsewhere,
                   DBUS_SESSION_BUS_ADDRESS=f'unix:path={elsewhere}/nobody')
        env.pop('DVM_SOCKET', None)

        def cli(*words):
            return subprocess.run([CLI, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        done = cli('run', '-n', '2', 'echo', 'hello')
        self.assertEqual((done.returncode, done.stdout), (0, 'hello\n' * 2), done.stderr)
        jobs = cli('jobs', '--all', '--json')
        self.assertIn('"echo"', jobs.stdout, jobs.stderr)
        self.assertEqual(cli('--bus=system', 'status').returncode, 0)
        self.assertNotEqual(cli('--bus=session', 'status').returncode, 0)
        dvm.connection = dvm.connect()
        self.assertEqual(dvm.get('Statistics')['jobs-submitted'], 1)

    def test_bus_comes_back(self):
        dvm = self.on_bus()
        self.wait_owner(dvm.pid)
        self.bus.stop()
        self.bus.start()
        self.wait_owner(dvm.pid)

    def test_no_system_bus(self):
        dvm = self.try_dvm(bus='system', slots=1, env={'DBUS_SYSTEM_BUS_ADDRESS': f'unix:path={self.folder}/nobody'})
        self.assertTrue(dvm.answer.startswith('ERROR: '), dvm.answer)
        self.assertEqual(dvm.wait_exit(), 1)
        dvm.check_clean()


if __name__ == '__main__':
    dvmtest.main()
