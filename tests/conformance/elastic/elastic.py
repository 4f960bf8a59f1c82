# SPDX-License-Identifier: LGPL-2.1-or-later
"""An elastic DVM for a test: who asks for changes and what they are told, campaigns, and agents that come when the test lets them.

Each test runs at the smallest radix and at the default: Cases with both() below.
"""

import os
import signal
import subprocess
import sys

import dvmtest
import leftovers
from dvmtest import GLib, MANAGER, PROPERTIES, to_options, wait_until

CAMPAIGN = 'org.dvm.Campaign'
CLI = os.environ.get('DVM_CLI', 'dvm-cli')
SEND_LAUNCH_MSG, LAUNCH_APPS, MAP, VM_READY, WAITING, STARTED, SYSTEM_PREP = 13, 12, 5, 11, 17, 20, 7
KILLED_BY_CMD, NEVER_LAUNCHED, COMM_FAILED = 51, 60, 56
ENDED = ('completed', 'failed')
# Ends when it is killed, and not when it is asked to.
DEAF = ['sh', '-c', "trap '' TERM HUP INT; echo deaf; while :; do sleep 1000 & wait; done"]


class Event:
    """What a requester is told: DvmIsReady or DvmModFailed."""

    def __init__(self, name, values):
        self.name = name
        self.alloc_id, self.req_id = values[:2]
        self.status, self.reason = values[2:4] if name == 'DvmModFailed' else (0, '')
        self.details = values[-1]
        self.campaign = self.details.get('campaign')

    def __repr__(self):
        return f'{self.name}{self.alloc_id, self.req_id, self.status, self.reason, self.details}'


class Campaign:
    def __init__(self, dvm, path, alloc_id='', asker=None):
        self.dvm = dvm
        self.path = path
        self.alloc_id = alloc_id
        self.asker = asker

    def __repr__(self):
        return self.path

    def get(self, name):
        return self.dvm.connection.call(self.path, PROPERTIES, 'Get', '(ss)', CAMPAIGN, name)[0]

    def get_all(self):
        return self.dvm.connection.call(self.path, PROPERTIES, 'GetAll', '(s)', CAMPAIGN)[0]

    @property
    def state(self):
        return self.get('State')

    @property
    def number(self):
        return int(self.path.rpartition('/')[2])

    def wait(self, *states):
        """Until it has one of the states; by default until it has ended."""
        states = states or ENDED

        def settled():
            state = self.state
            if state in ENDED and state not in states:
                raise AssertionError(f'{self.get_all()} instead of {states}')
            return state if state in states else None

        try:
            return wait_until(settled, f'{self.path} to be {states}')
        except AssertionError as error:
            raise AssertionError(f'{error}\n{self.get_all()}\n{self.dvm.get_nodes()}\n{self.dvm.stacks()}') from None

    def done(self):
        """Waits for its good end, with its event if somebody is to be told."""
        self.wait('completed')
        return self.event('DvmIsReady') if self.asker else None

    def failed(self):
        self.wait('failed')
        return self.event('DvmModFailed') if self.asker else None

    def event(self, name=None):
        """Waits for the event of the requester."""
        event = wait_until(lambda: next((e for e in self.asker.events if e.campaign == self.path), None),
                           f'the event of {self.path}')
        if name is not None and event.name != name:
            raise AssertionError(f'{event}\n{self.get_all()}')
        return event

    def cancel(self):
        self.dvm.connection.call(self.path, CAMPAIGN, 'Cancel', '(a{sv})', {})


class Asker:
    """Asks for changes on a connection of its own, and keeps what that is told."""

    def __init__(self, dvm, connection=None):
        self.dvm = dvm
        self.connection = connection or dvm.connect()
        self.events = []
        self.campaigns = []
        self.connection.raw.signal_subscribe(None, MANAGER[1], None, None, None, 0, self._on_signal)

    def _on_signal(self, connection, sender, path, interface, name, values):
        if name in ('DvmIsReady', 'DvmModFailed'):
            self.events.append(Event(name, values.unpack()))

    def call(self, method, signature, *args, **kwargs):
        return self.connection.call(*MANAGER, method, signature, *args, **kwargs)

    def _note(self, alloc_id, path):
        if path == '/':
            return Campaign(self.dvm, None, alloc_id)
        campaign = Campaign(self.dvm, path, alloc_id, self)
        self.campaigns.append(campaign)
        return campaign

    def grow(self, *hosts, **keys):
        return self._note(*self.call('Grow', '(a{sv})', to_options({'hosts': list(hosts) or None, **keys})))

    def shrink(self, *hosts, **keys):
        return self._note(*self.call('Shrink', '(a{sv})', to_options({'hosts': list(hosts) or None, **keys})))

    def allocate(self, directive, **request):
        answer = self.call('Allocate', '(sa{sv})', directive, to_options(request))[0]
        campaign = self._note(answer['alloc-id'], answer['campaign'])
        campaign.answer = answer
        return campaign

    def settle(self):
        """All that the DVM had sent to it before has come."""
        self.connection.call(MANAGER[0], PROPERTIES, 'Get', '(ss)', MANAGER[1], 'State')
        context = GLib.MainContext.default()
        while context.iteration(False):
            pass

    def check(self):
        """Each campaign of it that has ended has told it so, once, and nothing else has."""
        if self.connection.raw.is_closed():
            return
        self.settle()
        told = sorted(event.campaign for event in self.events)
        ended = sorted(campaign.path for campaign in self.campaigns if campaign.state in ENDED)
        if told != ended:
            raise AssertionError(f'told {self.events}, ended {ended}')

    def close(self):
        self.connection.close()


class Gates:
    """Agents that are started only when the test says so, and other than they should: a guard of ours stands above each."""

    def __init__(self, place):
        self.place = os.path.join(place, 'gates')
        self.fds = {}
        os.mkdir(self.place)
        guard = os.path.join(os.path.dirname(dvmtest.DVMD), 'dvm-guard')
        os.symlink(guard, os.path.join(self.place, 'real'))
        os.symlink(os.environ['DVM_TEST_GATE'], os.path.join(self.place, 'dvm-guard'))

    def path(self, kind, node):
        return os.path.join(self.place, f'{kind}-{node}')

    def fifo(self, path):
        if path not in self.fds:
            os.mkfifo(path)
            self.fds[path] = os.open(path, os.O_RDWR)
        return self.fds[path]

    def hold(self, *nodes):
        """The next agent of each of these waits."""
        for node in nodes:
            self.fifo(self.path('word', node))
            if os.path.exists(self.path('here', node)):
                os.unlink(self.path('here', node))
            with open(self.path('hold', node), 'w'):
                pass

    def wait(self, *nodes):
        """Until it is there and waits."""
        for node in nodes:
            wait_until(lambda one=node: os.path.exists(self.path('here', one)), f'the agent of {node} to wait')

    def release(self, *nodes, word='go'):
        for node in nodes:
            self.wait(node)
            os.unlink(self.path('hold', node))
            os.write(self.fifo(self.path('word', node)), f'{word}\n'.encode())

    def hold_late(self, node):
        """The agent gets away from its launcher; come() lets it come."""
        self.fifo(self.path('late', node))
        self.fifo(os.path.join(self.place, 'end'))
        self.release(node, word='late')
        wait_until(lambda: os.path.exists(self.path('away', node)), f'the agent of {node} to get away')

    def come(self, node):
        os.write(self.fifo(self.path('late', node)), b'go\n')

    def close(self):
        for fd in self.fds.values():
            os.close(fd)
        self.fds.clear()


class Dvm(dvmtest.Dvm):
    """An elastic one of nodes of this machine."""

    gates = None

    @property
    def members(self):
        """name -> row of ListNodes, of those that are up."""
        return {row['Name']: row for row in self.get_nodes() if row['Rank'] > 0 and row['StateName'] == 'UP'}

    def names(self):
        return sorted(self.members)

    def pid_of(self, name):
        return self.members[name]['Pid']

    def rank_of(self, name):
        """Of a node that need not have come yet."""
        return next(row['Rank'] for row in self.get_nodes() if row['Name'] == name)

    def agent_folders(self):
        """The names of the directories that agents have made below that of the controller."""
        return sorted(name for name in os.listdir(self.folder) if name.startswith('agent-'))

    def signal_agent(self, name, number):
        """To the agent of a node; its pid."""
        pid = self.pid_of(name)
        os.kill(pid, number)
        return pid

    def snapshot(self):
        """What a change that fails must not change."""
        rows = [[row[key] for key in ('Name', 'Rank', 'Pid', 'StateName', 'Slots', 'SlotsMax', 'ParentRank', 'Depth')]
                for row in self.get_nodes()]
        return rows, [self.get(name) for name in ('NodeCount', 'SlotCount', 'TreeDepth', 'LaunchFence', 'CampaignsRunning')]

    def campaigns(self, **keys):
        """The rows of ListCampaigns, of all its pages."""
        rows, rest = self.call('ListCampaigns', '(a{sv})', to_options(keys))
        while rest:
            more, rest = self.call('ListCampaigns', '(a{sv})', to_options({**keys, 'ids': rest}))
            rows += more
        return rows

    def wait_reported(self, name):
        """Until the agent of a node that is added runs and has said so. It need not be wired."""
        wait_until(lambda: [row for row in self.get_nodes() if row['Name'] == name and row['Pid'] > 0], f'{name} to report')

    def fence(self):
        return self.get('LaunchFence')

    def wait_held(self, job, at):
        """Until a job is parked at this gate."""
        wait_until(lambda: job.get('HeldAt') == at, f'{job.path} to be held at {at}: {job.trace()}')
        assert (job.state, job.get('StateName')) == (WAITING, 'WAITING_FOR_DAEMONS'), job.trace()
        return job

    def plain(self, *argv, **options):
        """A plain job: without PMIx, one process unless np says otherwise."""
        return self.submit(list(argv), personality='plain', **{'np': 1, **options})

    def where(self, job):
        """The names of the nodes of the ranks of a job."""
        return [row[2] for row in job.procs()]

    def cli(self, *words, **kwargs):
        """dvm-cli, run to its end."""
        return subprocess.run(self.cli_argv(*words), env=self.cli_environment(), stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=dvmtest.LIMIT, check=False, **kwargs)

    def cli_argv(self, *words):
        return [CLI, '--socket', self.socket, *words]

    def cli_environment(self):
        return dict(os.environ, XDG_RUNTIME_DIR=self.runtime, HOME=self.home)

    def find_agents(self):
        return leftovers.find_agents(self.pid)

    def check_quiet(self):
        """Nothing of any campaign is left: neither a ticket nor a parked job nor an agent that is no member."""
        wait_until(lambda: self.get('CampaignsRunning') == 0, f'the campaigns to end: {self.campaigns(all=True)}')
        facts = [self.get(name) for name in ('LaunchFence', 'JobsHeld')]
        if facts != [0, 0]:
            raise AssertionError(f'LaunchFence and JobsHeld are {facts}')
        held = [row for row in self.list_jobs() if row['HeldAt'] or row['State'] == WAITING]
        if held:
            raise AssertionError(f'held: {held}')
        ours = lambda: sorted(row['Pid'] for row in self.members.values())
        wait_until(lambda: sorted(self.find_agents()) == ours(), 'the agents that live to be the members')


class Case(dvmtest.Case):
    """With elastic DVMs, of which at the end of a test nothing but the members is left and every requester has heard of its campaigns."""

    radix = None

    def setUp(self):
        super().setUp()
        self.askers = []
        self.frozen = []

    def dvm(self, nodes=4, slots=2, elastic=True, gates=False, settings=(), env=None, **options):
        settings = [f'nodes={nodes}', *settings]
        settings += ['elastic=true'] if elastic else []
        settings += [f'radix={self.radix}'] if self.radix else []
        place = self.place()
        environment = dict(env or {})
        if gates:
            environment['DVM_LIBEXEC_DIR'] = os.path.join(place, 'gates')
            gates = Gates(place)
        dvm = super().dvm(slots=slots, settings=settings, env=environment, place=place, **options)
        dvm.gates = gates or None
        dvm.asker = self.asker(dvm, dvm.connection)
        return dvm

    def try_dvm(self, **options):
        dvm = Dvm(**options)
        self.dvms.append(dvm)
        return dvm

    def asker(self, dvm, connection=None):
        asker = Asker(dvm, connection)
        self.askers.append(asker)
        return asker

    def freeze(self, pid):
        os.kill(pid, signal.SIGSTOP)
        self.frozen.append(pid)
        return pid

    def thaw(self, pid):
        self.frozen.remove(pid)
        os.kill(pid, signal.SIGCONT)

    def deaf(self, dvm, *nodes, **options):
        """Processes on nodes that only SIGKILL ends: a target that has one leaves when the test kills it."""
        job, out, _ = dvm.start(DEAF, np=len(nodes), hosts=[f'{node}:1' for node in nodes], personality='plain',
                                **{'map-by': 'node', **options})
        wait_until(lambda: out.data.count(b'deaf\n') == len(nodes), 'all to be deaf')
        rows = job.procs()
        self.assertEqual(sorted(row[2] for row in rows), sorted(nodes))
        job.pid_on = {row[2]: row[5] for row in rows}
        return job

    def staged(self, dvm, *argv, **options):
        """A plain job that brings a file along: it is at SYSTEM_PREP as long as one of its nodes does not take it."""
        path = os.path.join(dvm.place, 'data')
        if not os.path.exists(path):
            with open(path, 'w') as file:
                file.write('content\n')
        return dvm.plain(*argv, preload_files=['data'], cwd=dvm.place, **options)

    def kill_on(self, job, *nodes):
        for node in nodes or job.pid_on:
            os.killpg(job.pid_on[node], signal.SIGKILL)

    def assert_killed(self, job, campaign):
        """By a shrink: D15."""
        result = job.wait()
        self.assertEqual(result['state'], KILLED_BY_CMD, result)
        self.assertIn(str(campaign.number), result['reason'])
        return result

    def assert_gone(self, *pids):
        """They have ended: of one the kernel may still be ending threads."""
        left = [leftovers.describe_process(pid) for pid in pids if leftovers.is_running(pid) and leftovers.get_state(pid) not in ('', 'Z')]
        self.assertEqual(left, [])
        wait_until(lambda: not any(leftovers.is_running(pid) for pid in pids), 'the last threads of those that have ended')

    def assert_ran(self, job):
        result = job.wait()
        self.assertEqual((result['state'], result['exit-code']), (dvmtest.NOTIFIED, 0), (result, job.trace()))
        return job

    def run_and_finish(self):
        getattr(self, self._testMethodName)()
        for asker in self.askers:
            if asker.dvm.process.poll() is None:
                asker.check()
        for dvm in self.dvms:
            if dvm.process.poll() is None and dvm.connection is not None:
                dvm.check_quiet()
            self.finish(dvm)

    def clear(self):
        for pid in self.frozen:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        for dvm in self.dvms:
            if getattr(dvm, 'gates', None):
                dvm.gates.close()
        super().clear()
        self.doCleanups()


def both(*groups):
    """The same tests in a narrow tree, where targets are interior and whole branches leave, and in a flat one (D20)."""
    module = sys.modules['__main__']
    for group in groups:
        for name, radix in ((f'{group.__name__}Radix2', 2), (f'{group.__name__}Default', None)):
            setattr(module, name, type(name, (group, Case), {'radix': radix, '__module__': '__main__'}))
