# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real dvmd of one's own for a test: start, submit, wait for conditions, stop, and see that nothing is left.

Each program of this folder is a set of unittest cases that ends in dvmtest.main(), which prints TAP.
"""

import functools
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
import uuid

import gi
gi.require_version('Gio', '2.0')
from gi.repository import Gio, GLib

import leftovers

# Under nohup, or behind an "&" of a script, some signals come ignored, and children would go on ignoring them.
for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
    if signal.getsignal(signum) is signal.SIG_IGN:
        signal.signal(signum, signal.SIG_DFL)

LIMIT = 60  # seconds; a test that waits so long has failed
MANAGER = ('/org/dvm/Manager', 'org.dvm.Manager')
PROPERTIES = 'org.freedesktop.DBus.Properties'
DVMD = os.environ.get('DVM_DVMD', 'dvmd')
SCRIPTED = os.environ.get('DVM_DVMD_SCRIPTED', 'dvmd-scripted')
SCRIPTED_PLUGINS = ('allocator-test', 'allocator-other', 'launcher-test', 'mapper-test')

# The numbers of the contract that the tests speak of.
RUNNING, TERMINATED, NOTIFIED = 14, 31, 35
KILLED_BY_CMD, FAILED_TO_START, ABORTED_BY_SIG, ABORTED_WO_SYNC = 51, 53, 54, 55
CALLED_ABORT, NON_ZERO_TERM, FORCED_EXIT, MAP_FAILED = 58, 62, 64, 69
PROC_TERMINATED = 20


class DBusError(Exception):
    """An error that the daemon answered: its name without org.dvm.Error. and its sentence."""

    def __init__(self, name, message):
        super().__init__(f'{name}: {message}')
        self.name = name.replace('org.dvm.Error.', '')
        self.message = message


@functools.cache
def pmix_library():
    """What the libpmix at hand does: names of tests/lib/pmix-library.h, in small letters."""
    done = subprocess.run([os.environ['DVM_TEST_PMIX_LIBRARY']], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


@functools.cache
def open_mpi():
    """The first number of Open MPI's release."""
    done = subprocess.run(['mpirun.openmpi', '--version'], capture_output=True, text=True, check=True)
    return int(re.search(r'\) (\d+)\.', done.stdout).group(1))


def wait_until(condition, what, limit=LIMIT):
    """Runs the main context until condition() is true; the value is returned."""
    context = GLib.MainContext.default()
    end = time.monotonic() + limit
    tick = GLib.timeout_add(5, lambda: True)
    try:
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f'waited {limit} s in vain: {what}')
            context.iteration(True)
    finally:
        GLib.source_remove(tick)


def to_variant(key, value):
    """A Python value as the type that the option has; a GLib.Variant is taken as it is."""
    if isinstance(value, GLib.Variant):
        return value
    if isinstance(value, bool):
        return GLib.Variant('b', value)
    if isinstance(value, int):
        return GLib.Variant('u', value)
    if isinstance(value, str):
        return GLib.Variant('s', value)
    if isinstance(value, bytes):
        return GLib.Variant.new_from_bytes(GLib.VariantType('ay'), GLib.Bytes(value), True)
    if isinstance(value, dict):
        return GLib.Variant('a{ss}', value)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], bytes):
        return GLib.Variant.new_array(GLib.VariantType('ay'), [to_variant(key, word) for word in value])
    if isinstance(value, (list, tuple)):
        return GLib.Variant('as', value)
    raise TypeError(f'{key}: {type(value)}')


def to_options(options):
    return {key.replace('_', '-'): to_variant(key, value) for key, value in options.items() if value is not None}


class Connection:
    """A D-Bus connection to a DVM: peer to peer, or through a bus (then with the name of the DVM)."""

    def __init__(self, address, name=None):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
        if name is not None:
            flags |= Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        self.raw = wait_until(lambda: self._try_connect(address, flags), f'a place at {address}')
        self.raw.set_exit_on_close(False)
        self.name = name

    @staticmethod
    def _try_connect(address, flags):
        """None: too many connect at this moment."""
        try:
            return Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
        except GLib.Error as error:
            if not error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.WOULD_BLOCK):
                raise
            return None

    def call(self, path, interface, method, signature='()', *args, fds=(), limit=LIMIT):
        """The answer unpacked; with fds, those descriptors travel along. Descriptors come back in self.fds."""
        fd_list = Gio.UnixFDList.new()
        for fd in fds:
            fd_list.append(fd)
        try:
            answer, out = self.raw.call_with_unix_fd_list_sync(
                self.name, path, interface, method, GLib.Variant(signature, args), None,
                Gio.DBusCallFlags.NO_AUTO_START, int(limit * 1000), fd_list, None)
        except GLib.Error as error:
            remote = Gio.DBusError.get_remote_error(error)
            if remote is None:
                raise
            raise DBusError(remote, error.message.split(': ', 1)[-1]) from None
        self.fds = out.steal_fds() if out is not None else []
        return answer.unpack()

    def close(self):
        if not self.raw.is_closed():
            self.raw.close_sync(None)


class Signals:
    """What a connection hears of the DVM, in order: (path, name, arguments)."""

    def __init__(self, connection):
        self.heard = []
        connection.raw.signal_subscribe(connection.name, None, None, None, None, Gio.DBusSignalFlags.NONE, self.add)

    def add(self, connection, sender, path, interface, name, parameters):
        if path.startswith('/org/dvm'):
            self.heard.append((path, name, parameters.unpack()))

    def of(self, path, name):
        return [arguments for where, what, arguments in self.heard if where == path and what == name]

    def wait(self, path, name, condition=lambda arguments: True):
        return wait_until(lambda: [a for a in self.of(path, name) if condition(a)], f'{name} of {path}')


class Job:
    def __init__(self, dvm, path):
        self.dvm = dvm
        self.path = path

    def call(self, method, signature='(a{sv})', *args, **kwargs):
        if signature == '(a{sv})' and not args:
            args = ({},)
        return self.dvm.connection.call(self.path, 'org.dvm.Job', method, signature, *args, **kwargs)

    def get(self, name):
        return self.dvm.connection.call(self.path, PROPERTIES, 'Get', '(ss)', 'org.dvm.Job', name)[0]

    @property
    def state(self):
        return self.get('State')

    @property
    def nspace(self):
        return self.get('Namespace')

    def wait(self, limit=LIMIT):
        """The result of Wait: state, state-name, exit-code, exit-signal, failed-rank, reason."""
        try:
            return self.call('Wait', '(a{sv})', to_options({'timeout': int(limit * 1000)}), limit=limit + 5)[0]
        except DBusError as error:
            if limit < LIMIT:
                raise
            lines = [str(error)] + [str(entry) for entry in self.trace()] + [str(row) for row in self.procs()]
            lines += [leftovers.describe_process(pid) for pid in self.dvm.processes()]
            raise AssertionError('\n'.join(lines + [self.dvm.stacks()])) from None

    def wait_state(self, *states):
        return wait_until(lambda: self.state in states, f'{self.path} in state {states}')

    def wait_running(self):
        return self.wait_state(RUNNING, 16)

    def cancel(self):
        self.call('Cancel')

    def signal(self, number, **options):
        self.call('Signal', '(ia{sv})', number, to_options(options))

    def procs(self):
        return self.call('ListProcs', '(sa{sv})', '', {})[0]

    def pids(self):
        """Of all its processes. One that acts may not have been told yet, and 0 is the group of the caller for kill()."""
        def find():
            pids = [row[5] for row in self.procs()]
            return (pids,) if all(pids) or self.get('Ended') else None
        return wait_until(find, f'the pids of {self.path}')[0]

    def trace(self):
        return self.call('GetTrace')[0]

    def job_trace(self):
        """The states of the job itself in their order."""
        return [new for _, what, _, new, _ in self.trace() if what == 'job']

    def attach(self, **streams):
        """name -> descriptor, of the caller."""
        handles = self.call('Attach', '(a{sv})', to_options(streams))[0]
        fds = self.dvm.connection.fds
        return {name: fds[handle] for name, handle in handles.items()}


class Reader(threading.Thread):
    """Reads a descriptor to its end."""

    def __init__(self, fd):
        super().__init__(daemon=True)
        self.fd = fd
        self.data = bytearray()
        self.start()

    def run(self):
        while True:
            try:
                piece = os.read(self.fd, 1 << 16)
            except OSError:  # a terminal whose other side has gone
                piece = b''
            if not piece:
                break
            self.data += piece
        os.close(self.fd)

    def finish(self):
        self.join(LIMIT)
        if self.is_alive():
            raise AssertionError(f'no end-of-file within {LIMIT} s, {len(self.data)} bytes so far')
        return bytes(self.data)


class Finished:
    """What came of a job that was run to its end."""

    def __init__(self, job, result, out, err):
        self.job = job
        self.result = result
        self.out = out
        self.err = err
        self.state = result['state']
        self.code = result['exit-code']
        self.signal = result['exit-signal']
        self.reason = result['reason']

    @property
    def lines(self):
        return self.out.decode(errors='replace').splitlines()

    def __repr__(self):
        return f'{self.result} out={self.out[-500:]!r} err={self.err[-500:]!r}'


def give_script(settings):
    """The script of the setting "test-plugin" as settings of those plugins, or None without one."""
    script = next((setting.split('=', 1)[1] for setting in settings if setting.startswith('test-plugin=')), None)
    if script is None:
        return None
    others = [setting for setting in settings if not setting.startswith(('test-plugin=', 'plugin-settings='))]
    values = [setting.split('=', 1)[1] for setting in settings if setting.startswith('plugin-settings=')]
    return others + ['plugin-settings=' + ' '.join(values + [f'{name}.script={shlex.quote(script)}' for name in SCRIPTED_PLUGINS])]


class Dvm:
    peer = None  # the socket of its only client
    early = None  # called when the process is there and not yet ready
    default_bus = False  # nothing is said about the bus

    def __init__(self, slots=None, name=None, bus=None, settings=(), env=None, place=None, socket=None,
                 session=False, arguments=()):
        self.session = session  # of its own, without a terminal
        self.arguments = list(arguments)  # more of dvmd
        self.place = place or tempfile.mkdtemp(prefix='dvmtest-', dir='/tmp')
        self.runtime = os.path.join(self.place, 'run')
        self.home = os.path.join(self.place, 'home')
        for path in (self.runtime, self.home):
            os.makedirs(path, mode=0o700, exist_ok=True)
        self.mark = f'DVM_TEST_MARK={uuid.uuid4()}'
        self.folder = os.path.join(self.runtime, 'dvm', name or 'default')
        self.socket = socket or os.path.join(self.folder, 'bus')
        self.log_path = os.path.join(self.place, f'log-{uuid.uuid4().hex[:6]}')
        self.before = leftovers.list_shared_places()
        self.cgroups_before = leftovers.list_cgroups()
        self.connection = None
        self.namespaces = []
        self._start(slots, name, bus, settings, env or {}, socket)

    def _start(self, slots, name, bus, settings, env, socket):
        scripted = give_script(settings)
        self.argv = [DVMD if scripted is None else SCRIPTED]
        settings = settings if scripted is None else scripted
        passed = [self.peer.fileno()] if self.peer is not None else []
        if passed:
            self.argv += [f'--fd={passed[0]}', '--one-shot']
        elif not self.default_bus:
            self.argv += [f'--bus={bus or "none"}']
        self.argv += [f'--slots={slots}'] if slots else []
        self.argv += [f'--name={name}'] if name else []
        self.argv += [f'--socket={socket}'] if socket else []
        self.argv += [f'--set={setting}' for setting in settings] + self.arguments
        ready, tell = os.pipe()
        environment = dict(os.environ, XDG_RUNTIME_DIR=self.runtime, HOME=self.home, G_DEBUG='fatal-warnings',
                           XDG_CONFIG_HOME=self.home, TMPDIR=self.place)
        environment.update(env)
        key, value = self.mark.split('=')
        environment[key] = value
        with open(self.log_path, 'wb') as log:
            self.process = subprocess.Popen(self.argv + [f'--ready-fd={tell}'], env=environment, pass_fds=[tell] + passed,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.place,
                                            start_new_session=self.session)
        os.close(tell)
        if self.early is not None:
            self.early()
        self.answer = Reader(ready).finish().decode()
        self.agents = leftovers.find_agents(self.pid)

    # ---- use ----

    @property
    def pid(self):
        return self.process.pid

    @property
    def agent(self):
        """The pid of the process that has the node's processes: its agent, which a one-shot DVM has inside."""
        return self.agents[0] if self.agents else self.pid

    @property
    def node_folder(self):
        """The runtime directory of the node's agent."""
        names = [name for name in os.listdir(self.folder) if name.startswith('agent-')]
        return os.path.join(self.folder, names[0]) if names else self.folder

    @property
    def daemons(self):
        """The pids of all processes of the DVM itself: dvmd, guards, agents, PMIx servers."""
        return leftovers.find_daemons(self.pid)

    @property
    def servers(self):
        """The pids of the PMIx servers of all agents, which come with jobs and go after them."""
        return [pid for agent in self.agents for pid in leftovers.find_children(agent, 'dvm-pmix')]

    def connect(self):
        return Connection(f'unix:path={self.socket}')

    def call(self, method, signature, *args, **kwargs):
        return self.connection.call(*MANAGER, method, signature, *args, **kwargs)

    def get(self, name):
        return self.connection.call(MANAGER[0], PROPERTIES, 'Get', '(ss)', MANAGER[1], name)[0]

    def submit(self, argv, fds=(), **options):
        path = self.call('Submit', '(asa{sv})', argv, to_options(options), fds=fds)[0]
        return self._note(path)

    def submit_apps(self, apps, fds=(), **options):
        apps = [to_options(app) for app in apps]
        path = self.call('SubmitApps', '(aa{sv}a{sv})', apps, to_options(options), fds=fds)[0]
        return self._note(path)

    def _note(self, path):
        job = Job(self, path)
        self.namespaces.append(job.nspace)
        return job

    def run(self, argv, stdin=None, apps=None, limit=LIMIT, **options):
        """Submits with pipes, feeds stdin (bytes), and waits for the end. One process, unless np says otherwise."""
        if not apps:
            options.setdefault('np', 1)
        job, out, err = self.start(argv, stdin=stdin, apps=apps, **options)
        result = job.wait(limit)
        return Finished(job, result, out.finish(), err.finish())

    def start(self, argv, stdin=None, apps=None, stdin_target=None, **options):
        """(job, reader of stdout, reader of stderr)"""
        if stdin_target is not None:
            options['stdin'] = stdin_target
        pipes = [os.pipe(), os.pipe()]
        fds = [pipe[1] for pipe in pipes]
        options['stdout-fd'] = GLib.Variant('h', 0)
        options['stderr-fd'] = GLib.Variant('h', 1)
        if stdin is not None:
            pipes.append(os.pipe())
            fds.append(pipes[2][0])
            options['stdin-fd'] = GLib.Variant('h', 2)
        try:
            job = self.submit_apps(apps, fds, **options) if apps else self.submit(argv, fds, **options)
        finally:
            for fd in fds:
                os.close(fd)
        if stdin is not None:
            feed(pipes[2][1], stdin)
        return job, Reader(pipes[0][0]), Reader(pipes[1][0])

    def job(self, number):
        return Job(self, f'/org/dvm/jobs/{number}')

    def get_nodes(self):
        """The rows of ListNodes, the controller's first."""
        rows, rest = self.call('ListNodes', '(sa{sv})', '', {})
        while rest:
            more, rest = self.call('ListNodes', '(sa{sv})', rest, {})
            rows += more
        return rows

    def list_jobs(self, **options):
        """The rows of ListJobs, of all its pages."""
        rows, rest = self.call('ListJobs', '(a{sv})', to_options(options))
        while rest:
            more, rest = self.call('ListJobs', '(a{sv})', to_options({**options, 'ids': rest}))
            rows += more
        return rows

    def log(self):
        with open(self.log_path, 'r', errors='replace') as f:
            return f.read()

    def rss(self):
        """Resident memory of dvmd and of its agents in bytes."""
        servers = self.servers
        return sum(leftovers.get_rss(pid) for pid in self.daemons if pid not in servers)

    def is_instrumented(self):
        """Under the address sanitizer memory says nothing: what was freed is kept for a while."""
        with open(f'/proc/{self.pid}/maps') as f:
            return 'libasan' in f.read()

    # ---- the end ----

    def processes(self):
        marks = [self.mark.encode()] + [f'DVM_JOBID={nspace}'.encode() for nspace in self.namespaces]
        return leftovers.find_processes(marks)

    def tool_file(self, node='node1'):
        """Where tools find the server of a node: the file of its agent, which is whole when it is there. Servers write theirs bit by bit."""
        pattern = os.path.join(self.place, 'dvm-pmix-*', '*', f'pmix.{node}.tool')
        return wait_until(lambda: glob.glob(pattern), f'the server of {node} to let tools in')[0]

    def job_processes(self):
        """A PMIx server may come and go at any moment: a process is judged when it has a program, or has ended."""
        def find():
            pids = self.processes()
            daemons = self.daemons
            found = [pid for pid in pids if pid not in daemons and leftovers.is_running(pid)]
            return None if any(leftovers.is_forked(pid) or leftovers.is_ending(pid) for pid in found) else (found,)
        return wait_until(find, 'processes that begin or end to have done so')[0]

    def wait_exit(self):
        try:
            wait_until(lambda: self.process.poll() is not None, 'dvmd to end')
        except AssertionError as error:
            raise AssertionError(f'{error}\n{self.stacks()}') from None
        return self.process.returncode

    def stacks(self):
        """Where the threads of a dvmd that hangs are, if there is a debugger to tell."""
        if shutil.which('gdb') is None:
            return 'no gdb'
        return subprocess.run(['gdb', '-p', str(self.pid), '-batch', '-nx', '-ex', 'thread apply all bt 25'],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                              timeout=60).stdout.decode(errors='replace')

    def stop(self, number=signal.SIGTERM):
        """Ends dvmd and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait_exit()

    def check_clean(self):
        """Nothing of this DVM is left; call it after the end."""
        left = self.processes()
        if left:
            raise AssertionError('processes are left: ' + '; '.join(map(leftovers.describe_process, left)))
        files = leftovers.list_tree(self.runtime)
        if files not in ([], ['dvm']):
            raise AssertionError(f'files are left in the runtime directory: {files}')
        # A pid comes again: what was there before it is not this DVM's.
        groups = {name for pid in [self.pid] + self.agents for name in leftovers.list_cgroups(pid)} - self.cgroups_before
        if groups:
            raise AssertionError(f'cgroups are left: {groups}')
        allowed = {'run', 'home'}
        strange = [n for n in os.listdir(self.place) if n not in allowed and leftovers._OURS.search(n)]
        if strange:
            raise AssertionError(f'files are left in TMPDIR: {strange}')
        new = leftovers.list_shared_places() - self.before
        # Other tests may run beside this one: theirs go away or are locked.
        wait_until(lambda: not [p for p in new if os.path.lexists(p) and not leftovers.is_in_use(p)],
                   f'files to go: {sorted(new)}')

    def discard(self):
        """After a failure: nothing that we started may disturb the next test."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def feed(fd, data):
    """Writes data to fd from a thread, then closes it."""

    def work():
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(fd, view[:1 << 16]):]
        except BrokenPipeError:
            pass
        os.close(fd)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


class Case(unittest.TestCase):
    """A test with DVMs, each of which ends with its test and leaves nothing behind."""

    def setUp(self):
        self.dvms = []
        self.places = []

    def dvm(self, clean=True, **options):
        """Starts a DVM and connects to it."""
        dvm = self.try_dvm(**options)
        self.assertEqual(dvm.answer, 'READY\n')
        dvm.connection = dvm.connect()
        return dvm

    def try_dvm(self, **options):
        dvm = Dvm(**options)
        self.dvms.append(dvm)
        return dvm

    def place(self):
        path = tempfile.mkdtemp(prefix='dvmtest-', dir='/tmp')
        self.places.append(path)
        return path

    def start_tool(self, dvm, program, *words, node='node1'):
        """A PMIx tool of that node, which is ended with the test. One that is a launcher gives the directory of temporary files the mode 0755 (libpmix
        5.0), and as root that of the machine: it has its own."""
        tool = subprocess.Popen([program, '--tool', dvm.tool_file(node), *words], stdout=subprocess.PIPE, text=True,
                                env={**{key: value for key, value in os.environ.items() if key != 'G_DEBUG'}, 'TMPDIR': self.place()})
        self.addCleanup(tool.stdout.close)
        self.addCleanup(tool.kill)
        return tool

    def lines_of(self, tool):
        """What it has said, when it has ended well."""
        out = tool.communicate(timeout=LIMIT)[0]
        self.assertEqual(tool.returncode, 0, out)
        return out.splitlines()

    def finish(self, dvm):
        """An orderly end; called for every DVM that runs at the end of a test."""
        if dvm.process.poll() is None:
            self.assertEqual(dvm.stop(), 0, 'exit status of dvmd')
            dvm.check_clean()
        if dvm.connection is not None:
            dvm.connection.raw.close(None, None)

    def assert_refused(self, error_name, words, call, *args, **kwargs):
        """The call is answered by this error, and its sentence has all the words."""
        with self.assertRaises(DBusError) as caught:
            call(*args, **kwargs)
        self.assertEqual(caught.exception.name, error_name, str(caught.exception))
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, caught.exception.message)

    def assert_no_processes(self, dvm):
        """No process of any of its jobs lives at this moment."""
        left = [leftovers.describe_process(pid) for pid in dvm.job_processes()]
        self.assertEqual(left, [])

    def assert_growth(self, dvm, before, limit):
        """The daemon has grown by less than limit bytes since it had before bytes."""
        growth = dvm.rss() - before
        if not dvm.is_instrumented():
            self.assertLess(growth, limit)

    def assert_success(self, finished):
        self.assertEqual(finished.state, NOTIFIED, repr(finished))
        self.assertEqual(finished.code, 0, repr(finished))

    def run_and_finish(self):
        getattr(self, self._testMethodName)()
        for dvm in self.dvms:
            self.finish(dvm)

    def clear(self):
        self.doCleanups()
        for dvm in self.dvms:
            dvm.discard()
        for path in self.places + [dvm.place for dvm in self.dvms]:
            shutil.rmtree(path, ignore_errors=True)


def _print_diagnostics(text):
    for line in text.splitlines():
        print(f'# {line}')


def _run_one(case, number):
    name = f'{type(case).__name__}.{case._testMethodName}'
    begin = time.monotonic()
    if getattr(case, '__unittest_skip__', False):
        print(f'ok {number} {name} # SKIP {case.__unittest_skip_why__}', flush=True)
        return True
    try:
        case.setUp()
        case.run_and_finish()
        print(f'ok {number} {name}')
        good = True
    except unittest.SkipTest as skip:
        print(f'ok {number} {name} # SKIP {skip}')
        good = True
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        good = False
        print(f'not ok {number} {name}')
        for dvm in case.dvms:
            _print_diagnostics(f'---- log of {" ".join(dvm.argv)}\n{dvm.log()[-20000:]}')
        _print_diagnostics(traceback.format_exc())  # last: a long report is cut from above
    finally:
        case.clear()
    print(f'# {time.monotonic() - begin:.2f} s')
    sys.stdout.flush()
    return good


def main():
    """Runs the cases of the program, or those whose names contain an argument, and prints TAP."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    cases = [case for group in suite for case in group]
    words = sys.argv[1:]
    if words:
        cases = [case for case in cases if any(word in case.id() for word in words)]
    print(f'1..{len(cases)}')
    sys.stdout.flush()
    good = [_run_one(case, number) for number, case in enumerate(cases, 1)]
    sys.exit(0 if all(good) else 1)
