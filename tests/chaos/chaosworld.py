# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM under load, and what has to be true of it when nothing strikes it any more."""

import collections
import os
import signal
import subprocess
import threading

import dvmtest
import leftovers
from dvmtest import GLib, NOTIFIED

# A crash is to be one at once, also with the sanitizers, which would report it first.
os.environ['ASAN_OPTIONS'] = os.environ.get('ASAN_OPTIONS', '') + ':handle_segv=0'

BUILD = os.environ['DVM_TEST_BUILD']
CLI = os.path.join(BUILD, 'cli', 'dvm-cli')
CLIENT = os.environ.get('DVM_TEST_PMIX_CLIENT', '')
LINES = 300
SCRIPT = f'i=0; while [ $i -lt {LINES} ]; do echo $DVM_RANK $i; i=$((i+1)); done'
# argv, personality, whether it ends by itself. What a rank leaves behind ends with its job.
KINDS = {
    'true': (['true'], 'plain', True),
    'lines': (['sh', '-c', SCRIPT], 'plain', True),
    'slow': (['sh', '-c', f'sleep 0.2; {SCRIPT}'], 'pmix', True),
    'sleep': (['sleep', '600'], 'plain', False),
    'flood': (['sh', '-c', 'while :; do echo some output that never ends; done'], 'plain', False),
    'children': (['sh', '-c', 'sleep 600 & setsid sleep 600 & exec sleep 600'], 'plain', False),
    'data': ([CLIENT, 'data'], 'pmix', True),
}
WEIGHTS = {'true': 4, 'lines': 5, 'slow': 4, 'sleep': 3, 'flood': 2, 'children': 2, 'data': 4}
# libpmix 4.2.2 wedges a node in which a client of it was killed: these come where its server is a process of its own.
NEEDS_PMIX = {'data'}
MANAGER = '/org/dvm/Manager'


def is_contained():
    return bool(CLIENT) and os.path.exists(os.path.join(BUILD, 'daemon', 'dvm-pmix'))


def read_rest(fd):
    """A thread's work; what the job wrote is of no interest where it never ends."""
    data = bytearray()
    while True:
        piece = os.read(fd, 1 << 16)
        if not piece:
            os.close(fd)
            return bytes(data)
        if len(data) < 1 << 20:
            data += piece


def wait_empty(find, what):
    """Waits until find() finds nothing, and tells what it found last."""
    try:
        dvmtest.wait_until(lambda: not find(), what)
    except AssertionError as error:
        raise AssertionError(f'{error}: {[leftovers.describe_process(one) if isinstance(one, int) else one for one in find()]}') from None


class Output(threading.Thread):
    def __init__(self, fd):
        super().__init__(daemon=True)
        self.fd = fd
        self.data = b''
        self.start()

    def run(self):
        self.data = read_rest(self.fd)

    def finish(self):
        self.join(dvmtest.LIMIT)
        if self.is_alive():
            raise AssertionError('the output of a job has no end')
        return self.data


def is_right(kind, np, text):
    """Whether that is the whole output of a job, in the order of each rank."""
    if kind not in ('lines', 'slow'):
        return True
    rows = collections.defaultdict(list)
    for line in text.decode(errors='replace').splitlines():
        rank, _, number = line.partition(' ')
        rows[rank].append(number)
    return rows == {str(rank): [str(i) for i in range(LINES)] for rank in range(np)}


def is_excused(work, hits, words):
    """Whether it was struck itself, or its nodes, or a node that its reason names, or all that there are."""
    return work in hits or bool(work.nodes() & hits) or any(str(hit) in words for hit in hits) or work.world.names <= hits


class Work:
    """A job over the bus."""

    def __init__(self, world, kind, np):
        argv, personality, self.ends = KINDS[kind]
        self.kind, self.np, self.world = kind, np, world
        read, write = os.pipe()
        self.output = Output(read)
        try:
            self.job = world.dvm.submit(argv, fds=[write], np=np, personality=personality, map_by='node', when_full='oversubscribe',
                                        stdout_fd=GLib.Variant('h', 0))
        finally:
            os.close(write)

    def __str__(self):
        return f'{self.kind} x{self.np} {self.job.path}'

    def nodes(self):
        return {row[2] for row in self.job.procs()} if self.job else set()

    def finish(self, hits):
        """The sentences that say what is wrong with its end; hits: the nodes and jobs that were struck."""
        if not self.ends:
            try:
                self.job.cancel()
            except dvmtest.DBusError as error:
                if error.name != 'NotFound':
                    raise
        result = self.job.wait()
        text = self.output.finish()
        if result['state'] == NOTIFIED:
            return [] if self.ends and is_right(self.kind, self.np, text) else [f'{self}: well, with {len(text)} bytes: {text[-60:]!r}']
        problems = [] if result['reason'] else [f'{self}: no reason: {result}']
        if self.ends and not is_excused(self, hits, result['reason']):
            problems.append(f'{self} on {sorted(self.nodes())} has failed and nothing of it was struck: {result}')
        return problems


class Client:
    """A job of dvm-cli run."""

    def __init__(self, world, label, kind, np):
        argv, personality, self.ends = KINDS[kind]
        self.kind, self.np, self.world, self.label = kind, np, world, label
        self.process = world.open_cli('run', '--label', label, '--when-full', 'oversubscribe', '--personality', personality, '--map-by', 'node',
                                      '-n', str(np), *argv)
        self.out = Output(os.dup(self.process.stdout.fileno()))
        self.err = Output(os.dup(self.process.stderr.fileno()))
        self.process.stdout.close()
        self.process.stderr.close()

    def __str__(self):
        return f'run {self.kind} x{self.np} ({self.label})'

    @property
    def pid(self):
        return self.world.client_pid(self.process)

    @property
    def pids(self):
        """With what has started it on its machine."""
        return sorted({self.pid, self.process.pid})

    def is_live(self):
        return self.process.poll() is None

    def has_ended(self):
        self.world.wake(self.process)
        return not self.is_live()

    def end(self):
        """(status, output, messages); those that would run on are interrupted."""
        if not self.ends and self.is_live():
            os.kill(self.pid, signal.SIGTERM)
        dvmtest.wait_until(self.has_ended, f'{self} to end')
        return self.process.returncode, self.out.finish(), self.err.finish()

    def nodes(self):
        """Of its job, if it came to one."""
        found = set()
        for row in self.world.dvm.list_jobs(all=True, label=self.label):
            found |= {proc[2] for proc in self.world.dvm.job(row['Id']).procs()}
        return found

    def finish(self, hits):
        status, out, err = self.end()
        if not self.ends:
            return []
        if status == 0:
            return [] if is_right(self.kind, self.np, out) else [f'{self}: 0, with {len(out)} bytes']
        words = err.decode(errors='replace')
        return [] if is_excused(self, hits, words) else [f'{self} has failed with {status}, and nothing of it was struck: {words}']


class World:
    """A DVM of some logical nodes, which comes again when its controller has gone."""

    SETTINGS = ['nodes=4', 'elastic=true', 'radix=2', 'heartbeat-timeout=3', 'controller-grace=3', 'kill-grace=0.3', 'history-limit=200',
                'keep-output=65536', 'shrink-grace=3', 'grow-timeout=20']
    SLOTS = 4

    def __init__(self, case):
        self.case = case
        self.n_dvms = 0
        self.place = None
        self.begin()

    def begin(self):
        self.dvm = self.start()
        self.n_dvms += 1
        self.gone = False  # the controller
        self.jobs = []
        self.clients = []
        self.connections = []
        self.names = {row['Name'] for row in self.rows()}
        self.known = {}
        self.look()
        self.base = None

    def start(self):
        """The second one takes over what the first one left."""
        dvm = self.case.dvm(slots=self.SLOTS, settings=self.SETTINGS, place=self.place)
        self.place = dvm.place
        return dvm

    def open_cli(self, *words):
        environment = dict(os.environ, XDG_RUNTIME_DIR=self.dvm.runtime, G_DEBUG='fatal-warnings')
        return subprocess.Popen([CLI, '--socket', self.dvm.socket, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=environment)

    def client_pid(self, process):
        return process.pid

    def wake(self, process):
        """Nothing stands between us and the client that may have stopped by itself."""

    # ---- for the tables of victims ----

    @property
    def controller(self):
        return self.dvm.pid

    def rows(self):
        return [row for row in self.dvm.get_nodes() if row['Rank'] > 0]

    def look(self):
        """Remembers who is there: a controller that stands still says nothing."""
        self.known = {row['Name']: row['Pid'] for row in self.rows() if row['StateName'] == 'UP'}

    def agents(self):
        return self.known

    def live_jobs(self):
        return [] if self.gone else [job for job in self.jobs if not job.job.get('Ended')]

    def live_clients(self):
        return [client for client in self.clients if client.is_live()]

    def rank_pids(self, work):
        """Of those that have not ended: the numbers of the others may be somebody else's by now."""
        agents = set(self.agents().values())
        return sorted(row[5] for row in work.job.procs() if row[5] > 0 and leftovers.get_parent(row[5]) in agents)

    def can_lose_branch(self, target):
        """Whether somebody is left to end what an agent and its guards leave: here the controller."""
        return True

    def machines(self):
        return []

    # ---- load ----

    def kinds(self):
        return [kind for kind in WEIGHTS if kind not in NEEDS_PMIX or is_contained()]

    def load(self, rng, n_jobs, n_clients, mark):
        kinds = self.kinds()
        for i in range(n_jobs + n_clients):
            kind = rng.choices(kinds, [WEIGHTS[one] for one in kinds])[0]
            np = rng.choice([1, 1, 2, 4, 8])
            if i < n_jobs:
                self.jobs.append(Work(self, kind, np))
            else:
                self.clients.append(Client(self, f'{mark}-{i}', kind, np))
        while len(self.connections) < 2:
            self.connections.append(self.dvm.connect())
            self.connections[-1].raw.call(None, MANAGER, 'org.dvm.Manager', 'Subscribe', None, None, 0, -1, None, None)

    # ---- afterwards ----

    def finish_load(self, hits):
        problems = [problem for work in self.jobs + self.clients for problem in work.finish(hits)]
        self.jobs, self.clients = [], []
        self.connections = [one for one in self.connections if not one.raw.is_closed()]
        return problems

    def check_untouched(self, hits):
        states = {row['Name']: row['StateName'] for row in self.rows()}
        return [f'{name} is {states.get(name)}, and nothing has struck it' for name in sorted(self.names - hits) if states.get(name) != 'UP']

    def missing(self):
        up = {row['Name'] for row in self.rows() if row['StateName'] == 'UP'}
        return sorted(self.names - up)

    def restore(self):
        """All nodes are UP again: those that have not come back by themselves are asked for."""
        def try_once():
            missing = self.missing()
            if missing and self.dvm.get('CampaignsRunning') == 0:
                try:
                    self.dvm.call('Grow', '(a{sv})', {'hosts': GLib.Variant('as', missing)})
                except dvmtest.DBusError:  # one of them is coming, or going
                    pass
            return not missing and self.answers_everywhere()
        dvmtest.wait_until(try_once, 'the nodes to come back')
        self.look()

    def answers_everywhere(self):
        """A job of two ranks on each node ends well: also one that seemed to be there, and was about to be missed."""
        np = 2 * len(self.names)
        probe = self.dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=np, map_by='node', personality='plain')
        return probe.state == NOTIFIED and sorted(probe.lines) == sorted(2 * list(self.names))

    def sessions(self):
        """Directories of jobs, in the folders of all agents."""
        found = []
        for folder in os.listdir(self.dvm.folder):
            path = os.path.join(self.dvm.folder, folder, 'sessions')
            found += [os.path.join(folder, name) for name in (os.listdir(path) if os.path.isdir(path) else [])]
        return found

    def count_agents(self):
        return len(leftovers.find_agents(self.dvm.pid))

    def counters(self):
        """Those that are not zero."""
        found = {name: self.dvm.get(name) for name in ('SlotsInUse', 'JobsRunning', 'JobsHeld', 'CampaignsRunning')}
        return [f'{name} {value}' for name, value in found.items() if value]

    def check_settled(self):
        """Nothing of what has ended is left, and the DVM has not grown."""
        wait_empty(self.counters, 'the counters to be zero')
        wait_empty(self.dvm.job_processes, 'no process of a job')
        wait_empty(self.sessions, 'no directory of a job')
        dvmtest.wait_until(lambda: self.count_agents() == len(self.names), 'one agent for each node')
        n_fds = len(self.connections) + leftovers.count_descriptors([self.dvm.pid])
        memory = leftovers.get_rss(self.dvm.pid)
        self.base = self.base or (n_fds, memory)
        problems = [] if n_fds <= self.base[0] + 8 else [f'{n_fds} descriptors, {self.base[0]} at first']
        if memory - self.base[1] > 32 << 20 and not self.dvm.is_instrumented():
            problems.append(f'{memory >> 10} KiB, {self.base[1] >> 10} at first')
        return problems

    def bury(self, orphaned):
        """The controller has gone, and with it everything; clients have been told. Another DVM takes over. orphaned: an agent and its guards
        were killed with it, so that nobody was left to end what the ranks there had started."""
        problems = []
        self.dvm.wait_exit()
        for client in self.clients:
            status, _, err = client.end()
            if status == 0 and not client.ends or status > 0 and not err:
                problems.append(f'{client}: {status} {err!r} when the controller had gone')
        for connection in self.connections:
            connection.raw.close(None, None)
        if orphaned:
            wait_empty(lambda: [pid for pid in self.dvm.processes() if pid not in self.dvm.job_processes()], 'no daemon')
            for pid in self.dvm.job_processes():
                os.kill(pid, signal.SIGKILL)
        wait_empty(self.dvm.processes, 'nothing of a DVM without a controller')
        for job in self.jobs:
            job.output.finish()
        self.begin()
        return problems
