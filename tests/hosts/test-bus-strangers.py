# SPDX-License-Identifier: LGPL-2.1-or-later
"""Another user of the machine on the system bus: every method there is, called by somebody who may not."""

import ctypes
import grp
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))

import dbusdaemon
import dvmtest
from dvmtest import Gio, GLib

NAME = 'org.dvm.Manager'
BUILD = os.environ['DVM_TEST_BUILD']
POLICY = os.path.join(os.environ['DVM_TEST_SOURCE'], 'data', 'system', 'org.dvm.Manager.conf')
STRANGER = 65534
# What everybody may do: look. Everything else is refused before it is read.
LOOKING = {'FindJob', 'FindNode', 'FindSession', 'GetTopology', 'GetTrace', 'ListCampaigns', 'ListJobs', 'ListNodes', 'ListPlugins',
           'ListDevices', 'ListProcs', 'ListSessions', 'Query', 'Subscribe', 'Unsubscribe', 'Wait', 'WaitJob'}
# Of a job it is looking; of the manager it reads files.
LOOKING_AT_A_JOB = {'Map'}
IN_OPEN = 0x20
IN_NONBLOCK = 0o4000
NAMED = '/org/dvm/Manager'
N_HOSTS = 1000000
# Just below the limit of one file; of one call it is the first file that says the same.
HOSTFILE_BYTES = 15900000
N_HOSTFILES = 12
MOST_MEMORY = 700 << 20
FILE_KEYS = ('hostfile', 'add-hostfile', 'stdout-path', 'stderr-path', 'output', 'cwd', 'preload-dir')

# Has the name, and answers as far as a client must be answered to begin.
IMPOSTOR = '''
import sys
from gi.repository import Gio, GLib
flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
bus = Gio.DBusConnection.new_for_address_sync(sys.argv[1], flags, None, None)
def serve(bus, message, incoming):
    if not incoming or message.get_message_type() != Gio.DBusMessageType.METHOD_CALL:
        return message
    print(message.get_member(), flush=True)
    reply = message.new_method_reply()
    if message.get_member() == 'Get':
        reply.set_body(GLib.Variant('(v)', (GLib.Variant('s', 'one'),)))
    bus.send_message(reply, 0)
    return None
bus.add_filter(serve)
bus.call_sync('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus', 'RequestName',
              GLib.Variant('(su)', ('org.dvm.Manager', 4)), None, 0, -1, None)
print('ready', flush=True)
GLib.MainLoop().run()
'''


# Listens where the owner of a DVM was told that it is, and notes what comes.
FALSE_SOCKET = '''
import os, sys
from gi.repository import Gio, GLib
server = Gio.DBusServer.new_sync('unix:path=' + sys.argv[1], Gio.DBusServerFlags.NONE, Gio.dbus_generate_guid(), None, None)
server.connect('new-connection', lambda server, connection: print('connected', flush=True) is None)
server.start()
os.chmod(sys.argv[1], 0o777)
print('ready', flush=True)
GLib.MainLoop().run()
'''
FLOOD = 20000 if os.environ.get('DVM_TEST_SOAK') == '1' else 4000  # calls of a kind


class Opened:
    """How often a file is opened."""

    def __init__(self, path):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(IN_NONBLOCK)
        if self.libc.inotify_add_watch(self.fd, os.fsencode(path), IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), path)

    def count(self):
        try:
            return len(os.read(self.fd, 65536)) // 16
        except BlockingIOError:
            return 0

    def close(self):
        os.close(self.fd)


def value_of(kind, path):
    """The simplest value of a type, that names the file wherever it can."""
    if kind == 'aa{sv}':
        return [dict(value_of('a{sv}', path), argv=GLib.Variant('as', ['true']))]
    if kind == 'a(asa{sv})':
        return [(['true'], value_of('a{sv}', path))]
    if kind == 'a{sv}':
        return {key: GLib.Variant('s', path) for key in FILE_KEYS}
    if kind.startswith('a'):
        return {} if kind[1] == '{' else []
    return {'s': path, 'o': '/', 'b': False}.get(kind, 0)


def walk(address, paths, file):
    """As the stranger: {path, interface, method: name of the error}, printed."""
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
    answers = {}
    for path in paths:
        text = bus.call_sync(NAME, path, 'org.freedesktop.DBus.Introspectable', 'Introspect', None, None, 0, -1, None)[0]
        for interface in ElementTree.fromstring(text).findall('interface'):
            if not interface.get('name').startswith('org.dvm.'):
                continue
            for method in interface.findall('method'):
                kinds = [arg.get('type') for arg in method.findall('arg') if arg.get('direction') != 'out']
                values = GLib.Variant(f'({"".join(kinds)})', tuple(value_of(kind, file) for kind in kinds))
                try:
                    bus.call_sync(NAME, path, interface.get('name'), method.get('name'), values, None, 0, 60000, None)
                    answer = ''
                except GLib.Error as error:
                    answer = Gio.DBusError.get_remote_error(error) or str(error)
                answers[f'{interface.get("name")}.{method.get("name")}'] = answer
    print(json.dumps(answers))


def watch(address):
    """As another client of the owner: for each byte of the input how many calls were answered since the last, and the longest time, in s."""
    connection = dvmtest.Connection(address)
    os.set_blocking(0, False)
    n_answers, worst = 0, 0.0
    while True:
        begin = time.monotonic()
        connection.call('/org/dvm/Manager', NAME, 'ListPlugins', '(a{sv})', {})
        n_answers, worst = n_answers + 1, max(worst, time.monotonic() - begin)
        asked = sys.stdin.buffer.raw.read(1)
        if asked == b'':
            return
        if asked is not None:
            print(n_answers, worst, flush=True)
            n_answers, worst = 0, 0.0
        time.sleep(0.002)


class Watcher:
    """Whether the controller stands still, and how long."""

    def __init__(self, dvm):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), '--watch', f'unix:path={dvm.socket}'],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def take(self):
        self.process.stdin.write(b'x')
        n_answers, worst = self.process.stdout.readline().split()
        return int(n_answers), float(worst)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def connect(address):
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    return Gio.DBusConnection.new_for_address_sync(address, flags, None, None)


def send(bus, path, interface, method, body, fds=()):
    """Without an answer, where it has no descriptors: the bus counts how many answers somebody waits for, and this is none."""
    message = Gio.DBusMessage.new_method_call(NAME, path, interface, method)
    message.set_body(body)
    if fds:
        message.set_unix_fd_list(Gio.UnixFDList.new_from_array([os.dup(fd) for fd in fds]))
    else:
        message.set_flags(Gio.DBusMessageFlags.NO_REPLY_EXPECTED)
    bus.send_message(message, Gio.DBusSendMessageFlags.NONE)


def flood(address, job):
    """As the stranger: more than can be served at once."""
    buses = [connect(address) for _ in range(4)]
    ids = {'ids': GLib.Variant('s', ','.join(str(2 * i) for i in range(2000)))}
    null = os.open('/dev/null', os.O_RDONLY)
    for i in range(FLOOD):
        bus = buses[i % len(buses)]
        send(bus, '/org/dvm/Manager', NAME, 'ListJobs', GLib.Variant('(a{sv})', (ids,)))
        if i % 4 == 0:
            send(bus, job, 'org.dvm.Job', 'Cancel', GLib.Variant('(a{sv})', ({},)))
            send(bus, '/org/dvm/Manager', 'org.freedesktop.DBus.Properties', 'GetAll', GLib.Variant('(s)', (NAME,)))
        if i < 400:
            send(bus, job, 'org.dvm.Job', 'Wait', GLib.Variant('(a{sv})', ({},)), [null] * 16)
    for bus in buses:
        bus.flush_sync(None)
    # What has been sent before this has been read.
    for bus in buses:
        try:
            bus.call_sync(NAME, '/org/dvm/Manager', NAME, 'FindJob', GLib.Variant('(s)', ('x',)), None, 0, 300000, None)
        except GLib.Error:
            pass
    # They stay connected: what is kept for them is kept now.
    print(json.dumps('read'), flush=True)
    sys.stdin.read()


def eavesdrop(address, path, secret):
    """As the stranger: everything that comes, signals and answers, while the owner has a job at this path and others. Printed."""
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
    heard, answers, waits = [], {}, -1

    def hear(_bus, message, incoming):
        if incoming and message.get_reply_serial() == waits:
            answers['waited'] = message.get_body().unpack()
        if incoming and message.get_body() is not None:
            heard.append(f'{message.get_member() or "answer"} {message.get_path() or ""} {message.get_body().print_(True)}')
        return message

    def call(path, interface, method, kinds='()', *values):
        try:
            answer = bus.call_sync(NAME, path, interface, method, GLib.Variant(kinds, values), None, 0, 60000, None)
            return answer.unpack() if answer is not None else ()
        except GLib.Error as error:
            heard.append(str(error))
            return Gio.DBusError.get_remote_error(error)

    def look(path):
        job = call(path, dvmtest.PROPERTIES, 'GetAll', '(s)', 'org.dvm.Job')[0]
        for name in job:
            call(path, dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Job', name)
        call('/org/dvm', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects')
        whole, sparse = ([set(row) for row in call(NAMED, NAME, 'ListJobs', '(a{sv})', {name: GLib.Variant('b', True) for name in ('all', *names)})[0]]
                         for names in ((), ('sparse',)))
        columns = call(NAMED, NAME, 'ListJobs', '(a{sv})', {name: GLib.Variant('b', True) for name in ('all', 'sparse', 'by-column', 'once')})[0][0]
        answers['by column'] = [set(columns), {len(column) for column in columns.values()}] == [whole[0], {len(whole)}]
        packed = call(NAMED, NAME, 'ListJobs', '(a{sv})', {name: GLib.Variant('b', True) for name in ('all', 'sparse', 'by-column', 'once', 'packed')})[0][0]
        whole_again = GLib.Variant.new_from_bytes(GLib.VariantType('a{sv}'), GLib.Bytes(bytes(packed['Packed'])), False)
        heard.append(f'packed {whole_again.print_(True)}')
        answers['packed'] = list(packed) == ['Packed'] and set(whole_again.unpack()) == set(columns)
        answers['left out'] = len(whole) == len(sparse) and [sorted(one - two) for one, two in zip(whole, sparse)]
        answers['loads'] = call(NAMED, NAME, 'Query', '(asa{sv})', ['node-loads'], {})
        for key in call(NAMED, NAME, 'Query', '(asa{sv})', ['query-keys'], {})[0]['query-keys']:
            for qualifiers in ({}, {'nspace': GLib.Variant('s', job['Namespace'])}):
                call(NAMED, NAME, 'Query', '(asa{sv})', [key], qualifiers)
        for kind in ('Nodes', 'Sessions', 'Campaigns'):
            call(NAMED, NAME, f'List{kind}', '(sa{sv})' if kind == 'Nodes' else '(a{sv})', *([''] if kind == 'Nodes' else []), {})
        call(path, 'org.dvm.Job', 'ListProcs', '(sa{sv})', '', {})
        answers['trace'] = call(path, 'org.dvm.Job', 'GetTrace', '(a{sv})', {})
        answers['label'] = call(NAMED, NAME, 'ListJobs', '(a{sv})', {'label': GLib.Variant('s', secret)})
        return job

    bus.add_filter(hear)
    bus.call_sync('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus', 'AddMatch',
                  GLib.Variant('(s)', ("type='signal',path_namespace='/org/dvm'",)), None, 0, -1, None)
    call(NAMED, NAME, 'Subscribe')
    # One that is answered when the job ends, and before all that is asked after that.
    wait = Gio.DBusMessage.new_method_call(NAME, path, 'org.dvm.Job', 'Wait')
    wait.set_body(GLib.Variant('(a{sv})', ({},)))
    waits = bus.send_message(wait, Gio.DBusSendMessageFlags.NONE)[1]
    answers['running'] = look(path)
    print('ready', flush=True)
    for ended in sys.stdin:
        answers['ended'] = look(ended.strip())
        answers['wait'] = call(ended.strip(), 'org.dvm.Job', 'Wait', '(a{sv})', {})
    print(json.dumps([heard, answers]))


class Strangers(dvmtest.Case):
    bus = None

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            raise dvmtest.unittest.SkipTest('only root can call as another user')
        self.folder = self.place()
        os.chmod(self.folder, 0o755)

    def clear(self):
        self.doCleanups()
        super().clear()
        if self.bus is not None:
            self.bus.stop()

    def start_bus(self, group=None):
        """With our policy; group: takes the place of the group dvm, which this machine may not have."""
        policy = os.path.join(self.folder, 'policy.conf')
        with open(POLICY) as source, open(policy, 'w') as copy:
            copy.write(source.read().replace('group="dvm"', f'group="{group}"') if group else source.read())
        self.bus = dbusdaemon.MessageBus(self.folder, 'system', policy_file=policy)
        os.chmod(os.path.join(self.folder, 'system'), 0o777)

    def as_stranger(self, *words):
        done = subprocess.run([sys.executable, os.path.abspath(__file__), '--as-stranger', self.bus.address, *words], user=STRANGER,
                              group=STRANGER, extra_groups=[], capture_output=True, text=True, cwd='/')
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def peak(self, dvm):
        """The most memory that it has had, in bytes."""
        with open(f'/proc/{dvm.pid}/status') as f:
            return next(int(line.split()[1]) for line in f if line.startswith('VmHWM:')) << 10

    def test_rights_first(self):
        """Nothing of what a stranger sends is read before it is refused: no file is opened, nothing large is made of it."""
        self.start_bus()
        dvm = self.try_dvm(bus='system', slots=2, settings=['elastic=true'], env={'DBUS_SYSTEM_BUS_ADDRESS': self.bus.address})
        self.assertEqual(dvm.answer, 'READY\n')
        dvm.connection = dvm.connect()
        job = dvm.submit(['/bin/sleep', '1000'], np=1)
        job.wait_running()
        private = os.path.join(self.folder, 'private')
        with open(private, 'w') as f:
            f.writelines(f'host{i}\n' for i in range(N_HOSTS))
        os.chmod(private, 0o600)
        campaign = dvm.call('Grow', '(a{sv})', dvmtest.to_options({'hosts': ['n9']}))[1]
        dvm.connection.call(campaign, 'org.dvm.Campaign', 'Wait', '(a{sv})', {})
        opened, before = Opened(private), self.peak(dvm)
        paths = ['/org/dvm/Manager', job.path, '/org/dvm/sessions/0', campaign, '/org/dvm/nodes/1']
        answers = self.as_stranger(private, *paths)
        print('# ' + json.dumps(answers))
        self.assertGreater(len(answers), 30)
        self.assertEqual(opened.count(), 0)
        self.assertLess(self.peak(dvm) - before, 16 << 20)
        for method, answer in answers.items():
            interface, name = method.rsplit('.', 1)
            if name in LOOKING or (name in LOOKING_AT_A_JOB and interface == 'org.dvm.Job'):
                self.assertNotIn('NoPermissions', answer, method)
            else:
                self.assertEqual(answer, 'org.dvm.Error.NoPermissions', method)
        # The same file, and a call of its owner: it can be seen that it is opened.
        with self.assertRaises(dvmtest.DBusError):
            dvm.call('Map', '(aa{sv}a{sv})', [{'argv': GLib.Variant('as', ['true']), 'hostfile': GLib.Variant('s', private)}], {})
        self.assertEqual(opened.count(), 1)
        opened.close()
        job.cancel()
        job.wait()

    def write_hostfiles(self):
        """The paths of twelve, all of them one file."""
        first = os.path.join(self.folder, 'hosts-0')
        with open(first, 'w') as f:
            left, i = HOSTFILE_BYTES, 0
            while left > 0:
                left -= f.write(f'h{i}\n')
                i += 1
        paths = [os.path.join(self.folder, f'hosts-{i}') for i in range(N_HOSTFILES)]
        for path in paths[1:]:
            os.link(first, path)
        return paths

    def list_calls(self, paths):
        """(method, signature, arguments) of all that take hosts, in files and in lists, as many as fit."""
        apps = [{'argv': GLib.Variant('as', ['true']), 'np': GLib.Variant('u', 1), 'hostfile': GLib.Variant('s', path)} for path in paths]
        jobs = [(['true'], {'hostfile': GLib.Variant('s', path)}) for path in paths]
        file, names = {'hostfile': GLib.Variant('s', paths[0])}, ','.join(f'h{i}' for i in range(N_HOSTS))
        lists = {'hosts': GLib.Variant('as', [names])}
        yield 'Map', '(aa{sv}a{sv})', (apps, {})
        yield 'SubmitApps', '(aa{sv}a{sv})', (apps, {})
        yield 'Submit', '(asa{sv})', (['true'], dict(file, **{'add-hostfile': GLib.Variant('s', paths[1])}))
        yield 'SubmitMany', '(a(asa{sv})a{sv})', (jobs, {})
        yield 'Grow', '(a{sv})', (file,)
        yield 'Shrink', '(a{sv})', (file,)
        yield 'Allocate', '(sa{sv})', ('new', file)
        yield 'ControlSession', '(ua{sv})', (0, dict(file, instantiate=GLib.Variant('b', True), apps=GLib.Variant('aa{sv}', apps)))
        yield 'Submit', '(asa{sv})', (['true'], lists)
        yield 'Grow', '(a{sv})', (lists,)

    def test_host_files(self):
        """Twelve host files of 15.9 MB in one call, of a stranger and of the owner: nobody waits for it, and no node is lost."""
        self.start_bus()
        dvm = self.try_dvm(bus='system', slots=2, settings=['elastic=true', 'nodes=3', 'heartbeat-timeout=5'],
                           env={'DBUS_SYSTEM_BUS_ADDRESS': self.bus.address})
        self.assertEqual(dvm.answer, 'READY\n')
        dvm.connection = dvm.connect()
        paths, agents = self.write_hostfiles(), dvm.agents
        watcher = Watcher(dvm)
        watcher.take()
        opened, before = Opened(paths[0]), self.peak(dvm)
        answers = self.as_stranger(paths[0], '/org/dvm/Manager')
        self.assertEqual((answers['org.dvm.Manager.Map'], answers['org.dvm.Manager.SubmitMany']), ('org.dvm.Error.NoPermissions',) * 2)
        # dvm-cli opens no file: it names it, and the DVM reads it, for its owner and root.
        words = [os.path.join(BUILD, 'cli', 'dvm-cli'), '--bus=system', 'map', '--hostfile', paths[0], 'true']
        done = subprocess.run(words, env=dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address, XDG_RUNTIME_DIR='/nonexistent'),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, user=STRANGER, group=STRANGER, extra_groups=[])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('needs the user that this DVM belongs to', done.stderr)
        self.assertEqual(opened.count(), 0)
        opened.close()
        print(f'# a stranger: {watcher.take()[1] * 1000:.0f} ms, {self.peak(dvm) - before >> 20} MiB')
        worst = 0
        for method, signature, arguments in self.list_calls(paths):
            watcher.take()
            begin = time.monotonic()
            try:
                answer = dvm.call(method, signature, *arguments, limit=120)
            except dvmtest.DBusError as error:
                answer = error
            took, (n_answers, stood) = time.monotonic() - begin, watcher.take()
            worst = max(worst, stood)
            # Some hundred, while that is read.
            self.assertGreater(n_answers, 20, method)
            print(f'# {method}: {took:.2f} s, {n_answers} others answered, still for {stood * 1000:.0f} ms, {self.peak(dvm) >> 20} MiB at most: {answer}'[:200])
            # What is in the limits is a job, that names no node of this DVM.
            if isinstance(answer, dvmtest.DBusError):
                self.assertEqual(answer.name, 'OutOfResource', method)
            else:
                self.assertIn('is not a node', dvmtest.Job(dvm, answer if isinstance(answer, str) else answer[0]).wait()['reason'])
        watcher.close()
        # As long as heartbeats have. Under a sanitizer all is slower, and what was freed is kept.
        if not dvm.is_instrumented():
            self.assertLess(worst, 5)
            self.assertLess(self.peak(dvm), MOST_MEMORY)
        self.assertEqual([node['StateName'] for node in dvm.get_nodes()], ['UP'] * 4)
        self.assertEqual(dvm.agents, agents)
        self.assertNotIn('lost', dvm.log())

    def test_flood(self):
        """Calls that come faster than they are served take neither its memory, nor its descriptors, nor its log, nor its time."""
        self.start_bus()
        dvm = self.try_dvm(bus='system', slots=2, env={'DBUS_SYSTEM_BUS_ADDRESS': self.bus.address})
        self.assertEqual(dvm.answer, 'READY\n')
        dvm.connection = dvm.connect()
        job = dvm.submit(['/bin/sleep', '1000'], np=1)
        job.wait_running()
        before = self.peak(dvm)
        words = [sys.executable, os.path.abspath(__file__), '--flood', self.bus.address, job.path]
        stranger = subprocess.Popen(words, user=STRANGER, group=STRANGER, extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True, cwd='/')
        self.addCleanup(stranger.stdout.close)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.stdin.close)
        self.addCleanup(stranger.kill)
        self.assertEqual(json.loads(stranger.stdout.readline()), 'read')
        print(f'# {(self.peak(dvm) - before) >> 10} KiB, {len(os.listdir(f"/proc/{dvm.pid}/fd"))} descriptors')
        self.assertLess(len(os.listdir(f'/proc/{dvm.pid}/fd')), 200)
        self.assertLess(self.peak(dvm) - before, 24 << 20)
        with open(dvm.log_path) as f:
            self.assertLess(f.read().count('may not control'), 200)
        # Those of its user go on, on the bus, too.
        self.assertEqual(dvm.run(['/bin/true']).state, dvmtest.NOTIFIED)
        own = dvmtest.Connection(self.bus.address, NAME)
        self.assertEqual(own.call(job.path, dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Job', 'Id')[0], 1)
        own.call(job.path, 'org.dvm.Job', 'Cancel', '(a{sv})', {})
        job.wait()

    def test_false_socket(self):
        """An address is no proof: a socket of another user gets nothing from the library."""
        typelibs = os.path.join(BUILD, 'introspection')
        if not os.path.exists(os.path.join(typelibs, 'Dvm-1.0.typelib')):
            self.skipTest('built without introspection')
        self.start_bus()
        path = os.path.join(self.folder, 'system-false')
        os.chmod(self.folder, 0o777)
        impostor = subprocess.Popen([sys.executable, '-c', FALSE_SOCKET, path], user=STRANGER, group=STRANGER, extra_groups=[],
                                    stdout=subprocess.PIPE, text=True, cwd='/')
        self.addCleanup(impostor.stdout.close)
        self.addCleanup(impostor.wait)
        self.addCleanup(impostor.kill)
        self.assertEqual(impostor.stdout.readline(), 'ready\n')
        code = ('import sys, gi; gi.require_version("Dvm", "1.0"); from gi.repository import Dvm\n'
                'Dvm.Client.new_for_address(sys.argv[1]).connect_sync(None)\n')
        env = dict(os.environ, GI_TYPELIB_PATH=typelibs, LD_LIBRARY_PATH=os.path.join(BUILD, 'libdvm-gobject'))
        done = subprocess.run([sys.executable, '-c', code, f'unix:path={path}'], user='daemon', group='daemon', extra_groups=[],
                              env=env, capture_output=True, text=True, cwd='/')
        self.assertIn(f'belongs to the user with the id {STRANGER}', done.stderr)

    def overhear(self, private):
        """What a stranger has heard of jobs that are full of a secret, and the answers that he got."""
        secret = 'tell-nobody'
        dvm = self.try_dvm(bus='system', slots=4, settings=[f'private={private}'], env={'DBUS_SYSTEM_BUS_ADDRESS': self.bus.address})
        dvm.connection = dvm.connect()
        words = {'name': secret, 'label': secret, 'env': {secret: secret}, 'cwd': os.path.join(self.folder, secret), 'pset': secret}
        os.makedirs(words['cwd'], exist_ok=True)
        # It writes when it is told to, where there is no room.
        for rank in range(2):
            full = os.path.join(words['cwd'], f'out.{rank}.out')
            if not os.path.lexists(full):
                os.symlink('/dev/full', full)
        go = os.path.join(words['cwd'], 'go')
        job = dvm.submit(['/bin/sh', '-c', 'until [ -e go ]; do sleep 0.05; done; echo', secret], np=2,
                         output=f'file={words["cwd"]}/out', **words)
        job.wait_running()
        there = subprocess.Popen([sys.executable, os.path.abspath(__file__), '--eavesdrop', self.bus.address, job.path, secret],
                                 user=STRANGER, group=STRANGER, extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 cwd='/')
        self.assertEqual(there.stdout.readline(), 'ready\n')
        # Its reason, what it could not write and its trace quote what it was given.
        other = dvm.submit([f'/none/{secret}'], np=1, **words)
        self.assertIn(secret, other.wait()['reason'])
        lost = dvm.submit(['/bin/echo', secret], np=1, output=f'file=/proc/{secret}', **words)
        lost.wait()
        # The owner sees all of it on the same bus.
        bus = dvmtest.Connection(self.bus.address, NAME)
        self.assertIn(secret, bus.call(other.path, dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Job', 'Reason')[0])
        self.assertTrue(bus.call(other.path, 'org.dvm.Job', 'GetTrace', '(a{sv})', {})[0])
        self.assertIn(secret, str(bus.call('/org/dvm', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects')))
        self.assertIn(secret, str(bus.call(NAMED, NAME, 'ListJobs', '(a{sv})', {'label': GLib.Variant('s', secret)})))
        with open(go, 'w'):
            self.assertIn(secret, job.wait()['output-error'])
        os.unlink(go)
        heard, answers = json.loads(there.communicate(f'{lost.path}\n{job.path}\n{other.path}\n')[0])
        done = subprocess.run([os.path.join(BUILD, 'cli', 'dvm-cli'), '--bus=system', 'wait', job.path.rsplit('/', 1)[1]], user=STRANGER, group=STRANGER,
                              extra_groups=[], env=dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address, XDG_RUNTIME_DIR='/nonexistent'),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd='/')
        self.assertEqual((done.returncode, 'cannot be written' in done.stderr), (125, True), done.stderr)
        heard.append(done.stdout + done.stderr)
        dvm.stop()
        return [line for line in heard if secret in line], answers, heard

    def test_private(self):
        """With the setting `private` nothing that was given with a job, or quotes it, comes to others; how it goes does."""
        self.start_bus()
        told, answers, _ = self.overhear('false')
        for what in ('PropertiesChanged', 'InterfacesAdded', 'JobsChanged', 'StateChanged', 'answer'):
            self.assertTrue(any(line.startswith(what) for line in told), what)
        told, answers, heard = self.overhear('true')
        self.assertEqual(told, [])
        self.assertEqual(answers['trace'], 'org.dvm.Error.NoPermissions')
        self.assertEqual(answers['label'], 'org.dvm.Error.NoPermissions')
        self.assertEqual(answers['loads'], 'org.dvm.Error.NoPermissions')
        # What is missing would tell what is empty.
        self.assertEqual(set(map(tuple, answers['left out'])), {()})
        self.assertTrue(answers['by column'] and answers['packed'])
        self.assertEqual((answers['running']['StateName'], answers['running']['NumProcs'], answers['running']['SubmitterUid']),
                         ('RUNNING', 2, 0))
        self.assertEqual(answers['running']['Command'], [])
        self.assertTrue(answers['ended']['Failed'] and answers['ended']['ReasonCode'])
        self.assertEqual((answers['wait'][0]['reason'], answers['wait'][0]['state']), ('', answers['ended']['State']))
        # Output that was lost is no success for others either.
        self.assertTrue(answers['waited'][0]['output-error'])
        self.assertTrue(any(line.startswith('PropertiesChanged') and "'Reason'" in line for line in heard))
        for what in ('PropertiesChanged', 'InterfacesAdded', 'JobsChanged', 'StateChanged'):
            self.assertTrue(any(line.startswith(what) for line in heard), what)

    def own(self, name, group):
        """Whether a member of the group gets the name."""
        code = ('import sys; from gi.repository import Gio, GLib\n'
                'bus = Gio.DBusConnection.new_for_address_sync(sys.argv[1], Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT\n'
                '    | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)\n'
                'bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",\n'
                '    GLib.Variant("(su)", (sys.argv[2], 4)), None, 0, -1, None)\n')
        done = subprocess.run([sys.executable, '-c', code, self.bus.address, name], user=STRANGER, group=STRANGER,
                              extra_groups=[group], capture_output=True, text=True, cwd='/')
        if done.returncode != 0:
            self.assertIn('AccessDenied', done.stderr)
        return done.returncode == 0

    def test_name_of_the_service(self):
        """Members of the group have names of their own; the one that everybody calls is not theirs."""
        group = next(one for one in grp.getgrall() if one.gr_gid not in (0, STRANGER))
        self.start_bus(group.gr_name)
        self.assertTrue(self.own(f'{NAME}.blue', group.gr_gid))
        self.assertFalse(self.own(NAME, group.gr_gid))
        self.assertFalse(self.own(f'{NAME}.blue', STRANGER))

    def test_environment_for_the_owner_alone(self):
        """What has the name on the bus and is another user's gets no job: the client sees it, and sends nothing."""
        group = next(one for one in grp.getgrall() if one.gr_gid not in (0, STRANGER))
        self.start_bus(group.gr_name)
        # The stranger has the plain name, as before the policy denied it, and notes what comes.
        policy = os.path.join(self.folder, 'policy.conf')
        with open(policy) as f:
            text = f.read()
        with open(policy, 'w') as f:
            f.write(text.replace('<deny own="org.dvm.Manager"/>', ''))
        self.bus.stop()
        self.bus.start()
        os.chmod(os.path.join(self.folder, 'system'), 0o777)
        impostor = subprocess.Popen([sys.executable, '-c', IMPOSTOR, self.bus.address], user=STRANGER, group=STRANGER,
                                    extra_groups=[group.gr_gid], stdout=subprocess.PIPE, text=True, cwd='/')
        self.addCleanup(impostor.stdout.close)
        self.addCleanup(impostor.wait)
        self.addCleanup(impostor.kill)
        self.assertEqual(impostor.stdout.readline(), 'ready\n')
        env = dict(os.environ, XDG_RUNTIME_DIR=self.folder, DBUS_SYSTEM_BUS_ADDRESS=self.bus.address, SECRET='private')
        for words in (['run', 'true'], ['submit', 'true'], ['map', 'true']):
            done = subprocess.run([os.path.join(BUILD, 'cli', 'dvm-cli'), '--bus=system', *words], env=env, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(f'belongs to the user with the id {STRANGER}', done.stderr)
        impostor.kill()
        self.assertNotRegex(impostor.stdout.read(), 'Submit|Map')


if __name__ == '__main__':
    if sys.argv[1:2] == ['--as-stranger']:
        walk(sys.argv[2], sys.argv[4:], sys.argv[3])
    elif sys.argv[1:2] == ['--watch']:
        watch(sys.argv[2])
    elif sys.argv[1:2] == ['--flood']:
        flood(*sys.argv[2:4])
    elif sys.argv[1:2] == ['--eavesdrop']:
        eavesdrop(*sys.argv[2:])
    else:
        dvmtest.main()
