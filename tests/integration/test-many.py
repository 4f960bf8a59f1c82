# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM of many nodes on this machine, each with an agent of its own: used, and damaged.

Most of it runs at radix 2, where agents stand between agents, and at the default, where all are the controller's children.
The agents of node1, node2, ... have the ranks 1, 2, ...; before anything is lost their places in the tree are the same.
"""

import collections
import os
import random
import resource
import signal
import threading
import time

import dvmtest
import leftovers
from dvmtest import ABORTED_BY_SIG, CALLED_ABORT, KILLED_BY_CMD, NOTIFIED

# Nodes that are lost stay DOWN here: test-heal.py is about those that come back.
os.environ['DVM_HEAL'] = 'false'

CLIENT = os.environ.get('DVM_TEST_PMIX_CLIENT', '')
RING = os.environ.get('DVM_TEST_RING', '')
EXCHANGE = os.environ.get('DVM_TEST_MPI_EXCHANGE', '')
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
SEED = int(os.environ.get('DVM_TEST_SEED', '1'))
COMM_FAILED = 56
SLEEP = ['sleep', '600']
MIB = 1 << 20


def read_rss(pid):
    """Resident memory in bytes."""
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith('VmRSS:')), 0)


class Many(dvmtest.Case):
    radix = None

    def start(self, nodes=8, slots=2, settings=(), arguments=(), **options):
        settings = list(settings) + ([f'radix={self.radix}'] if self.radix else [])
        return self.dvm(slots=slots, settings=settings, arguments=[f'--nodes={nodes}', *arguments], **options)

    def agents(self, dvm):
        """{name: pid} of those that are there."""
        return {row['Name']: row['Pid'] for row in dvm.get_nodes() if row['Rank'] > 0 and row['StateName'] == 'UP'}

    def nodes(self, dvm):
        return {row['Name']: row for row in dvm.get_nodes() if row['Rank'] > 0}

    def wait_down(self, dvm, *names):
        dvmtest.wait_until(lambda: {n for n, row in self.nodes(dvm).items() if row['StateName'] == 'DOWN'} >= set(names),
                           f'{names} are down: {[(n, r["StateName"]) for n, r in self.nodes(dvm).items()]}')

    def assert_works(self, dvm, ranks):
        """A job over so many ranks runs and says all that it has to say."""
        done = dvm.run([CLIENT, 'data'], np=ranks)
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), sorted(f'{rank} ok' for rank in range(ranks)))

    def assert_lost(self, result, name):
        self.assertEqual(result['state'], COMM_FAILED, result)
        self.assertIn(name, result['reason'])

    def processes_of(self, name):
        """What runs on a node: agents, guards and ranks."""
        own = set(leftovers.find_processes([self.dvms[-1].mark.encode()]))
        ranks = set(leftovers.find_processes([f'DVM_NODE={name}'.encode()])) & own
        ends = (f'--node\0{name}\0'.encode(), f'--node={name}\0'.encode())
        return ranks | {pid for pid in own if leftovers._read(f'/proc/{pid}/cmdline').endswith(ends)}

    def wait_nothing_left_of(self, name):
        dvmtest.wait_until(lambda: not self.processes_of(name), f'nothing of {name} is left')


class Uses:
    """What a DVM is for, over all nodes."""

    def test_start_and_stop(self):
        dvm = self.start()
        nodes = self.nodes(dvm)
        self.assertEqual(list(nodes), [f'node{i}' for i in range(1, 9)])
        for row in nodes.values():
            self.assertEqual((row['StateName'], row['Slots'], row['SlotsInUse']), ('UP', 2, 0), row)
            self.assertIn('dvm-agent', leftovers.describe_process(row['Pid']))
        self.assertEqual(len({row['Pid'] for row in nodes.values()}), 8)
        depths = [1, 1, 2, 2, 2, 2, 3, 3] if self.radix == 2 else [1] * 8
        self.assertEqual([row['Depth'] for row in nodes.values()], depths)

    def test_open_mpi(self):
        if not EXCHANGE:
            self.skipTest('no Open MPI here')
        dvm = self.start()
        done = dvm.run([RING], np=16)
        self.assert_success(done)
        self.assertEqual(len([line for line in done.lines if 'token' in line and 'right' in line]), 16, done)
        done = dvm.run([EXCHANGE], np=16)
        self.assert_success(done)
        self.assertEqual(sorted(done.lines, key=lambda line: int(line.split()[0])),
                         [f'{i} of 16: token {1000 if i else 1015} sum 120 large right' for i in range(16)])

    def test_environment(self):
        """Open MPI sees each node for itself; what the user has set stays."""
        dvm = self.start()
        script = 'echo $DVM_NODE $OMPI_MCA_btl_vader_backing_directory $OMPI_MCA_btl_tcp_if_include'
        done = dvm.run(['sh', '-c', script], np=16)
        rows = [line.split() for line in done.lines]
        self.assertEqual(len({tuple(row) for row in rows}), 8, done)
        self.assertEqual(len({row[1] for row in rows}), 8, done)
        self.assertEqual({row[2] for row in rows}, {'lo'}, done)
        self.assertEqual(dvm.run(['sh', '-c', 'env | grep -c btl_tcp || true'], env={'OMPI_MCA_btl_tcp_if_exclude': 'x'}).lines, ['1'])
        self.assertEqual(dvm.run(['sh', '-c', 'echo $OMPI_MCA_btl_tcp_if_include'],
                                 env={'OMPI_MCA_btl_tcp_if_include': 'mine'}).lines, ['mine'])

    def test_pmix(self):
        dvm = self.start(settings=['kill-grace=0.5'])
        for verb in ('data', 'data-direct'):
            done = dvm.run([CLIENT, verb], np=16)
            self.assert_success(done)
            self.assertEqual(sorted(done.lines), sorted(f'{i} ok' for i in range(16)))
        done = dvm.run([CLIENT, 'abort'], np=16)
        self.assertEqual((done.state, done.code, done.result['failed-rank']), (CALLED_ABORT, 7, 0), done)
        self.assertIn('no more', done.reason)
        self.assert_no_ranks(dvm)
        done = dvm.run([CLIENT, 'die'], np=16)
        self.assertEqual((done.state, done.signal, done.result['failed-rank']), (ABORTED_BY_SIG, 9, 15), done)
        self.assert_no_ranks(dvm)
        done = dvm.run([CLIENT, 'die'], np=16, recoverable=True)
        self.assertEqual((done.state, len(done.lines)), (NOTIFIED, 15), done)
        self.assertNotIn(b': SUCCESS', done.out)
        self.assert_works(dvm, 16)

    def assert_no_ranks(self, dvm):
        marks = [f'DVM_JOBID={nspace}'.encode() for nspace in dvm.namespaces]
        self.assertEqual([leftovers.describe_process(pid) for pid in leftovers.find_processes(marks)], [])

    def test_killed_while_connecting(self):
        """One rank aborts while others are still in PMIx_Init: the next job finds PMIx servers that answer."""
        dvm = self.start(slots=4, settings=['kill-grace=0.5'])
        for _ in range(6 if LONG else 2):
            self.assertEqual(dvm.run([CLIENT, 'abort'], np=32).result['state'], CALLED_ABORT)
            self.assert_works(dvm, 32)

    def test_signals(self):
        dvm = self.start()
        script = 'trap "echo got $DVM_RANK; exit 0" USR1; echo ready; while :; do sleep 0.02; done'
        job, out, _ = dvm.start(['sh', '-c', script], np=16)
        dvmtest.wait_until(lambda: out.data.count(b'ready') == 16, 'all to be ready')
        job.signal(signal.SIGUSR1)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(sorted(int(line.split()[1]) for line in out.finish().splitlines() if b'got' in line), list(range(16)))
        job = dvm.submit(SLEEP, np=16)
        job.wait_running()
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assert_no_ranks(dvm)

    def test_stdin(self):
        dvm = self.start()
        data = random.Random(SEED).randbytes(2 * MIB)
        for rank in ('0', '15') * 4:
            job, out, _ = dvm.start(['sh', '-c', 'if [ $DVM_RANK = "$0" ]; then cat; fi', rank], np=16, stdin=data, stdin_target=rank)
            self.assertEqual(job.wait()['state'], NOTIFIED)
            self.assertTrue(out.finish() == data, f'all that was written to rank {rank} came back')
        data = data[:MIB // 2]
        for _ in range(3):
            job, out, _ = dvm.start(['wc', '-c'], np=16, stdin=data, stdin_target='all')
            self.assertEqual(job.wait()['state'], NOTIFIED)
            self.assertEqual(out.finish().split(), [str(len(data)).encode()] * 16)

    def test_stdin_of_who_comes_later(self):
        """Ranks run already where others are still to be started: the input waits for all that read it."""
        dvm = self.start(nodes=2, slots=1)
        late = self.agents(dvm)['node2']
        for target in ('1', 'all'):
            os.kill(late, signal.SIGSTOP)
            try:
                job, out, _ = dvm.start(['sh', '-c', 'echo $DVM_RANK is here; cat'], np=2, stdin=b'hello\n', stdin_target=target)
                dvmtest.wait_until(lambda reader=out: b'0 is here' in reader.data, 'rank 0 runs')
            finally:
                os.kill(late, signal.SIGCONT)
            self.assertEqual(job.wait()['state'], NOTIFIED)
            self.assertEqual(out.finish().count(b'hello'), 1 if target == '1' else 2)

    def test_output(self):
        dvm = self.start()
        done = dvm.run(['sh', '-c', 'for i in $(seq 500); do echo $DVM_RANK $i; done; echo error $DVM_RANK >&2'], np=16)
        self.assert_success(done)
        seen = collections.defaultdict(list)
        for line in done.lines:
            rank, number = line.split()
            seen[int(rank)].append(int(number))
        self.assertEqual(set(seen), set(range(16)))
        for rank in seen:
            self.assertEqual(seen[rank], list(range(1, 501)), rank)
        self.assertEqual(sorted(done.err.decode().splitlines()), sorted(f'error {i}' for i in range(16)))

    def test_interleaved_jobs(self):
        """Many short jobs on all nodes at a time."""
        dvm = self.start()
        jobs = [dvm.start(['sh', '-c', 'echo $DVM_NODE'], np=1 + i % 16) for i in range(60)]
        for i, (job, out, _) in enumerate(jobs):
            self.assertEqual(job.wait()['state'], NOTIFIED)
            self.assertEqual(len(out.finish().split()), 1 + i % 16)
        self.assertEqual({row['SlotsInUse'] for row in self.nodes(dvm).values()}, {0})


class Binary(Uses, Many):
    radix = 2


class Flat(Uses, Many):
    pass


class Flood(Many):
    """What one node writes is nobody else's trouble, whether it is read or not."""

    radix = 2
    n_bytes = (1024 if LONG else 96) * MIB

    def daemons(self, dvm):
        return {'dvmd': dvm.pid, **self.agents(dvm)}

    def check_memory(self, dvm, daemons, before):
        if dvm.is_instrumented():
            return
        for name, pid in daemons.items():
            self.assertLess(read_rss(pid) - before[name], 48 * MIB, name)

    def test_flood(self):
        dvm = self.start()
        self.assert_works(dvm, 16)
        daemons = self.daemons(dvm)
        before = {name: read_rss(pid) for name, pid in daemons.items()}
        read, write = os.pipe()
        # node7 is below node3, which is below node1.
        job = dvm.submit(['head', '-c', str(self.n_bytes), '/dev/zero'], fds=[write], np=1, hosts=['node7'],
                         **{'stdout-fd': dvmtest.GLib.Variant('h', 0)})
        os.close(write)
        job.wait_running()
        for _ in range(5):  # nobody reads
            self.assert_small_job(dvm)
        self.check_memory(dvm, daemons, before)
        flood = Counter(read, self.n_bytes // 8)
        while not flood.ended:  # eight times at least, in the midst of it
            flood.go_on()
            self.assert_small_job(dvm)
            self.check_memory(dvm, daemons, before)
        flood.join(dvmtest.LIMIT)
        self.assertEqual(flood.n_bytes, self.n_bytes)
        self.assertEqual(job.wait()['state'], NOTIFIED)

    def assert_small_job(self, dvm):
        done = dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=2, hosts=['node3', 'node8'], map_by='node')
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), ['node3', 'node8'])


class Counter(dvmtest.Reader):
    """Reads a descriptor to its end and keeps nothing. From time to time it waits until it is told to go on."""

    n_bytes = 0
    ended = False

    def __init__(self, fd, at_once):
        self.at_once = at_once
        self.turns = threading.Semaphore(0)
        super().__init__(fd)

    def go_on(self):
        self.turns.release()

    def run(self):
        pause = 0
        while piece := os.read(self.fd, 1 << 18):
            if self.n_bytes >= pause:
                pause += self.at_once
                self.turns.acquire()
            self.n_bytes += len(piece)
        os.close(self.fd)
        self.ended = True


class Losses(Many):
    radix = 2

    def gate(self):
        """A file whose appearance ends the jobs of hold()."""
        return os.path.join(self.place(), 'go')

    def hold(self, dvm, gate, **options):
        job, out, _ = dvm.start(['sh', '-c', 'echo here; while [ ! -e "$0" ]; do sleep 0.02; done; echo $DVM_NODE', gate], **options)
        return job, out

    def open_gate(self, gate):
        with open(gate, 'wb'):
            pass

    def start_eight(self, dvm, gate):
        jobs = {f'node{i}': self.hold(dvm, gate, np=2, hosts=[f'node{i}']) for i in range(1, 9)}
        for name, (_, out) in jobs.items():
            dvmtest.wait_until(lambda one=out: one.data.count(b'here') == 2, f'the job of {name} runs')
        return jobs

    def check_eight(self, dvm, jobs, gate, lost):
        """Exactly the jobs of the nodes that were lost have failed; a new one runs at once, the others end well."""
        for name in lost:
            self.assert_lost(jobs[name][0].wait(), name)
        self.wait_down(dvm, *lost)
        self.open_gate(gate)
        for name in set(jobs) - set(lost):
            self.assertEqual(jobs[name][0].wait()['state'], NOTIFIED, name)
            self.assertEqual(jobs[name][1].finish().decode().split(), ['here', 'here', name, name])
        for name in lost:
            self.wait_nothing_left_of(name)
        nodes = self.nodes(dvm)
        self.assertEqual({n for n in nodes if nodes[n]['StateName'] != 'UP'}, set(lost))
        self.assert_works(dvm, 2 * (len(jobs) - len(lost)))

    def find_shared_memory(self, dvm, name):
        """The directory of the agent of a node, which it has from the first job of a client on."""
        done = dvm.run(['sh', '-c', 'dirname $OMPI_MCA_btl_vader_backing_directory'], np=1, hosts=[name])
        self.assertTrue(os.path.isdir(done.lines[0]), done)
        return done.lines[0]

    def test_interior_killed(self):
        dvm = self.start(slots=4)
        gate = self.gate()
        jobs = self.start_eight(dvm, gate)
        shared = self.find_shared_memory(dvm, 'node1')
        os.kill(self.agents(dvm)['node1'], signal.SIGKILL)
        self.assert_lost(jobs['node1'][0].wait(), 'node1')
        self.assert_works(dvm, 14)  # at once, beside the others
        dvmtest.wait_until(lambda: not os.path.exists(shared), f'{shared} is gone')
        self.check_eight(dvm, jobs, gate, ['node1'])

    def test_interior_frozen(self):
        dvm = self.start(slots=4, settings=['heartbeat-timeout=1'])
        gate = self.gate()
        jobs = self.start_eight(dvm, gate)
        frozen = self.agents(dvm)['node1']
        os.kill(frozen, signal.SIGSTOP)
        self.assert_lost(jobs['node1'][0].wait(), 'node1')
        self.assert_works(dvm, 14)
        try:
            os.kill(frozen, signal.SIGCONT)
        except ProcessLookupError:
            pass
        self.check_eight(dvm, jobs, gate, ['node1'])

    def test_half_killed(self):
        dvm = self.start(slots=4)
        gate = self.gate()
        jobs = self.start_eight(dvm, gate)
        agents = self.agents(dvm)
        lost = ['node1', 'node2', 'node4', 'node7']
        for name in lost:
            os.kill(agents[name], signal.SIGKILL)
        self.check_eight(dvm, jobs, gate, lost)

    def test_all_killed(self):
        dvm = self.start()
        job = dvm.submit(SLEEP, np=16)
        job.wait_running()
        for pid in self.agents(dvm).values():
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(job.wait()['state'], COMM_FAILED)
        self.wait_down(dvm, *[f'node{i}' for i in range(1, 9)])
        self.assertNotEqual(dvm.run(['true'], np=1).state, NOTIFIED)

    def test_spanning_job(self):
        """A job with processes on many nodes fails with the node's name, and leaves nothing on the others."""
        dvm = self.start()
        for verb, argv in (('sleep', SLEEP), ('pmix', [CLIENT, 'wait'])):
            job = dvm.submit(argv, np=2 * len(self.agents(dvm)))
            job.wait_running()
            victim = 'node3' if verb == 'sleep' else 'node2'
            os.kill(self.agents(dvm)[victim], signal.SIGKILL)
            self.assert_lost(job.wait(), victim)
            marks = [f'DVM_JOBID={job.nspace}'.encode()]
            dvmtest.wait_until(lambda m=marks: not leftovers.find_processes(m), 'no process of the job is left')
        self.assert_works(dvm, 12)

    def test_controller_killed(self):
        dvm = self.start(settings=['controller-grace=2'])
        script = 'echo $OMPI_MCA_btl_vader_backing_directory; trap "" TERM HUP INT; while :; do sleep 1; done'
        _, out, _ = dvm.start(['sh', '-c', script], np=16)
        dvmtest.wait_until(lambda: out.data.count(b'\n') == 16, 'all to run')
        shared = {os.path.dirname(path) for path in out.data.decode().split()}
        self.assertEqual(len(shared), 8)
        dvm.process.kill()
        dvm.process.wait()
        dvmtest.wait_until(lambda: not dvm.processes(), 'agents and processes to end')
        self.assertEqual([path for path in shared if os.path.exists(path)], [])
        # The place can be taken over.
        again = self.start(place=dvm.place)
        self.assert_works(again, 16)

    def test_controller_frozen(self):
        """Agents leave a controller that does not answer, and when it goes on it finds itself alone."""
        dvm = self.start(settings=['controller-grace=1', 'heartbeat-timeout=1'])
        job = dvm.submit(SLEEP, np=16)
        job.wait_running()
        os.kill(dvm.pid, signal.SIGSTOP)
        dvmtest.wait_until(lambda: dvm.job_processes() == [], 'agents and processes to end')
        os.kill(dvm.pid, signal.SIGCONT)
        self.assertEqual(job.wait()['state'], COMM_FAILED)
        self.wait_down(dvm, *[f'node{i}' for i in range(1, 9)])

    def test_controller_unreachable(self):
        """Those below the first level of the tree do not wait for their parents to give up: all leave together."""
        dvm = self.start(settings=['controller-grace=10', 'heartbeat-timeout=1'])
        self.assertEqual(max(row['Depth'] for row in dvm.get_nodes()), 3)
        agents = self.agents(dvm)
        ended = {}

        def all_ended():
            for name, pid in agents.items():
                if name not in ended and not leftovers.is_running(pid):
                    ended[name] = time.monotonic()
            return len(ended) == len(agents)

        stopped = time.monotonic()
        os.kill(dvm.pid, signal.SIGSTOP)
        dvmtest.wait_until(all_ended, 'agents to end')
        # The longest that a heartbeat takes, the grace, and time for a slow machine; one level after another would take more than 20 s.
        self.assertLess(max(ended.values()) - stopped, 1.25 + 10 + 8, ended)
        self.assertLess(max(ended.values()) - min(ended.values()), 8, ended)
        os.kill(dvm.pid, signal.SIGCONT)
        self.wait_down(dvm, *agents)

    def test_full_descriptor_table(self):
        dvm = self.start()
        self.assert_works(dvm, 16)
        pid = self.agents(dvm)['node1']
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f'/proc/{pid}/fd')), hard))
        done = dvm.run(['true'], np=2, hosts=['node1'])
        self.assertNotEqual(done.state, NOTIFIED, done)
        self.assertRegex(done.reason, 'node1')
        self.assertRegex(done.reason, '[Tt]oo many open files')
        self.assert_success(dvm.run(['true'], np=2, hosts=['node3']))  # below it
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        self.assert_works(dvm, 16)


class Starts(Many):
    """Agents that do not come."""

    def fake_agent(self, script):
        """Environment in which the agents are this script, where $name is that of the node and $agent the real one."""
        folder = self.place()
        real = os.path.join(os.path.dirname(dvmtest.DVMD))
        os.symlink(os.path.join(real, 'dvm-guard'), os.path.join(folder, 'dvm-guard'))
        with open(os.path.join(folder, 'dvm-agent'), 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nfor name; do :; done\nagent={real}/dvm-agent\n{script}\nexec $agent "$@"\n')
        os.chmod(file.name, 0o755)
        return {'DVM_LIBEXEC_DIR': folder}

    def assert_start_fails(self, script, *words, arguments=(), settings=()):
        dvm = self.try_dvm(slots=2, settings=settings, arguments=['--nodes=4', *arguments], env=self.fake_agent(script))
        self.assertTrue(dvm.answer.startswith('ERROR:'), dvm.answer)
        for word in words:
            self.assertIn(word, dvm.answer)
        self.assertNotEqual(dvm.wait_exit(), 0)
        dvmtest.wait_until(lambda: not dvm.processes(), 'guards to end')
        dvm.check_clean()

    def test_never_reports(self):
        self.assert_start_fails('[ $name = node3 ] && exec sleep 600', 'node3', settings=['start-timeout=2'])

    def test_exits(self):
        self.assert_start_fails('[ $name = node3 ] && { echo broken here >&2; exit 3; }', 'node3', 'broken here')

    def test_killed_at_start(self):
        self.assert_start_fails('[ $name = node2 ] && kill -9 $$', 'node2')

    def test_many_causes(self):
        script = '[ $name = node3 ] && exit 3; [ $name = node4 ] && exec sleep 600'
        self.assert_start_fails(script, 'node3', 'node4', settings=['start-timeout=2'])

    def test_not_an_agent(self):
        """A program that talks nonsense."""
        self.assert_start_fails('[ $name = node1 ] && exec cat', 'node1', settings=['start-timeout=2'])

    def test_allow_missing(self):
        env = self.fake_agent('[ $name = node3 ] && { echo broken here >&2; exit 3; }')
        dvm = self.start(nodes=4, arguments=['--allow-missing'], env=env)
        nodes = self.nodes(dvm)
        self.assertEqual([row['StateName'] for row in nodes.values()], ['UP', 'UP', 'DOWN', 'UP'])
        self.assertIn('broken here', nodes['node3']['Reason'])
        self.assert_works(dvm, 6)

    def test_allow_missing_that_hangs(self):
        env = self.fake_agent('[ $name = node3 ] && exec sleep 600')
        dvm = self.start(nodes=4, arguments=['--allow-missing'], env=env, settings=['start-timeout=8'])  # also for those that come
        self.assertEqual([row['StateName'] for row in self.nodes(dvm).values()], ['UP', 'UP', 'DOWN', 'UP'])
        self.wait_nothing_left_of('node3')
        self.assert_works(dvm, 6)

    def test_all_missing(self):
        self.assert_start_fails('exit 3', 'node1', 'node4', arguments=['--allow-missing'])


class RandomLosses(Many):
    """Agents are killed at random moments of many short jobs: every job ends, and tells the truth."""

    radix = 2
    rounds = 40 if LONG else 2
    KINDS = (
        ['true'],
        ['sh', '-c', 'for i in $(seq 100); do echo $DVM_RANK $i; done'],
        ['sh', '-c', 'head -c 300000 /dev/zero'],
        [CLIENT, 'data'],
        [CLIENT, 'data-direct'],
        ['sleep', '0.1'],
    )

    def test_random_losses(self):
        for i in range(self.rounds):
            seed = f'{SEED}-{i}'
            print(f'# seed {seed}')
            self.run_round(random.Random(seed))

    def submit_some(self, dvm, rng, jobs, n):
        alive = len(self.agents(dvm))
        for _ in range(n):
            argv = rng.choice(self.KINDS)
            jobs.append((argv, *dvm.start(argv, np=rng.randint(1, max(1, 2 * alive)), map_by=rng.choice(['slot', 'node']),
                                          when_full='wait')))

    def run_round(self, rng):
        dvm = self.start(settings=['kill-grace=0.5'])
        agents = self.agents(dvm)
        victims = rng.sample(sorted(agents), 4)
        jobs = []
        for i, victim in enumerate(victims):
            self.submit_some(dvm, rng, jobs, 6)
            end = time.monotonic() + rng.random() * 0.1
            dvmtest.wait_until(lambda e=end: time.monotonic() > e, 'a moment')
            os.kill(agents[victim], signal.SIGKILL)
            if rng.random() < 0.5:
                self.wait_down(dvm, *victims[:i + 1])
        self.submit_some(dvm, rng, jobs, 4)
        for argv, job, out, err in jobs:
            self.check_end(argv, job.wait(), victims)
            out.finish()
            err.finish()
        self.wait_down(dvm, *victims)
        for victim in victims:
            self.wait_nothing_left_of(victim)
        self.assert_works(dvm, 8)
        self.finish(dvm)

    def check_end(self, argv, result, victims):
        if result['state'] == NOTIFIED:
            return
        if result['state'] == dvmtest.MAP_FAILED:  # more than the slots that are left
            self.assertRegex(result['reason'], 'asks for [0-9]+ processes, but .* slots')
            return
        self.assertTrue(any(victim in result['reason'] for victim in victims), f'{argv}: {result}')
        self.assertIn(result['state'], (COMM_FAILED,), f'{argv}: {result}')


class Crowd(Many):
    def test_crowd(self):
        """As many as one machine takes."""
        n = 256 if LONG else 64
        # So many on a machine that does something else may be slow; those that are killed are found by their links.
        dvm = self.start(nodes=n, slots=1, settings=['controller-grace=60', 'heartbeat-timeout=60'])
        done = dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=n)
        self.assert_success(done)
        self.assertEqual(set(done.lines), {f'node{i}' for i in range(1, n + 1)})
        self.assert_works(dvm, 32)
        for pid in random.Random(SEED).sample(sorted(self.agents(dvm).values()), n // 4):
            os.kill(pid, signal.SIGKILL)
        dvmtest.wait_until(lambda: len(self.agents(dvm)) == n - n // 4, 'they are found')
        self.assert_success(dvm.run(['true'], np=n - n // 4))


if __name__ == '__main__':
    dvmtest.main()
