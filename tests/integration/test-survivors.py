# SPDX-License-Identifier: LGPL-2.1-or-later
"""A node is lost below a job that may lose ranks: the others are told, and go on."""

import contextlib
import os
import re
import signal
import time
import unittest

import dvmtest
import leftovers
from dvmtest import KILLED_BY_CMD, NOTIFIED

# Nodes that are lost stay DOWN here: test-heal.py is about those that come back.
os.environ['DVM_HEAL'] = 'false'

CLIENT = os.environ.get('DVM_TEST_PMIX_CLIENT', '')
EVENTS = os.environ.get('DVM_TEST_PMIX_EVENTS', '')
ULFM = os.environ.get('DVM_TEST_MPI_ULFM', '')
TERMINATED, COMM_FAILED = 20, 56
# The parts of Open MPI that survive failures. han has communicators of its own for each node, which a revoke does not reach.
FAULT_TOLERANT = {'OMPI_MCA_mpi_ft_enable': '1', 'OMPI_MCA_pml': 'ob1', 'OMPI_MCA_coll': '^han'}


class Survivors(dvmtest.Case):
    def nodes(self, dvm):
        return {row['Name']: row for row in dvm.get_nodes() if row['Rank'] > 0}

    def kill_agent(self, dvm, name):
        os.kill(self.nodes(dvm)[name]['Pid'], signal.SIGKILL)

    def start(self, dvm, argv, np, **options):
        job, out, _ = dvm.start(argv, np=np, recoverable=True, map_by='node', **options)
        dvmtest.wait_until(lambda: out.data.count(b'ready') == np, 'all are ready')
        return job, out

    def test_told(self):
        dvm = self.dvm(slots=2, settings=['nodes=2'])
        job, out = self.start(dvm, [CLIENT, 'node-down'], 4)
        self.kill_agent(dvm, 'node2')
        result = job.wait()
        self.assertEqual((result['state'], result['exit-code']), (NOTIFIED, 0), result)
        for rank in (0, 2):
            told = f'{rank}: event -231, node2\n{rank}: without 1\n{rank}: without 3\n'
            self.assertIn(told, out.finish().decode())
        self.assertEqual([row[6] for row in job.procs()], [TERMINATED, COMM_FAILED] * 2)

    def test_fences(self):
        """One that needs a lost rank fails; one of the others alone is made, over nodes."""
        for radix in ('2', '32'):
            dvm = self.dvm(slots=1, settings=['nodes=3', f'radix={radix}'])
            job, out = self.start(dvm, [CLIENT, 'survive'], 3)
            self.kill_agent(dvm, 'node2')
            result = job.wait()
            self.assertEqual((result['state'], result['exit-code']), (NOTIFIED, 0), result)
            text = out.finish().decode()
            for rank in (0, 2):
                self.assertIn(f'{rank}: all LOST-CONNECTION\n', text)
                self.assertIn(f'{rank}: without 1\n', text)
                self.assertIn(f'{rank}: others SUCCESS\n', text)

    def test_fences_of_one_node(self):
        """One that fails does so for all who wait for it on their node, whether their server answers it or the host does."""
        script = 'test $DVM_RANK = 1 && exec "$0" fence die; exec "$0" fence fence'
        for nodes in (1, 2):
            dvm = self.dvm(slots=4, settings=[f'nodes={nodes}'])
            hosts = [f'node{number}:4' for number in range(1, nodes + 1)]
            done = dvm.run(['sh', '-c', script, EVENTS], np=4 * nodes, hosts=hosts, recoverable=True)
            codes = {row[0]: row[7] for row in done.job.procs() if row[0] != 1}
            self.assertEqual(set(codes.values()), {21}, (nodes, codes, done))

    def test_never_comes(self):
        """Fences of the job fail, each for all, when a rank could not be started, or has ended before they begin or while they wait."""
        late = os.path.join(self.place(), 'late')
        os.mkfifo(late)
        shapes = ((3, ()), (2, ('nodes=2',)), (2, ('nodes=2', 'radix=2')), (1, ('nodes=4',)), (1, ('nodes=4', 'radix=2')))
        if 'groups' not in dvmtest.pmix_library():
            shapes = [shape for shape in shapes if shape[0] == 1]  # such a library does not miss ranks of its own server
        for slots, settings in shapes:
            dvm = self.dvm(slots=slots, settings=settings)
            n = 2 if slots == 3 else 3
            ends = [['/no/such/program'], ['true'], ['sh', '-c', f'read line <{late}']]
            # The library of a node says something else of the first fence when one of its own has gone that had connected.
            ends += [[CLIENT, 'die-first']] * (slots == 1)
            for end in ends:
                job, out, _ = dvm.start([], apps=({'argv': [CLIENT, 'fences'], 'np': n}, {'argv': end, 'np': 1}), recoverable=True)
                dvmtest.wait_until(lambda o=out: o.data.count(b'ready') == n, 'all are ready')
                if late in end[-1]:
                    with open(late, 'w', encoding='utf-8') as stream:
                        stream.write('\n')
                dvmtest.wait_until(lambda o=out: o.data.count(b'fence LOST-CONNECTION') == 2 * n,
                                   f'{n} ranks to be told twice, {slots} {settings} {end}: {out.data}')
                job.wait()

    def test_output_of_the_others(self):
        """While all write a node is lost, also one through which others send: these are heard whole, the lost one up to some byte."""
        lines = 40000
        script = f'echo ready; awk \'BEGIN {{ for (i = 0; i < {lines}; i++) printf "%080d\\n", i }}\''
        whole = ['ready', *(f'{number:080}' for number in range(lines))]
        for lost in (1, 6):
            dvm = self.dvm(slots=1, settings=['nodes=6', 'radix=2'])
            job, out, _ = dvm.start(['sh', '-c', script], np=6, recoverable=True, map_by='node', output='tag')
            dvmtest.wait_until(lambda o=out: len(o.data) > 1 << 20, 'they write')
            self.kill_agent(dvm, f'node{lost}')
            result = job.wait()
            self.assertEqual((result['state'], result['exit-code']), (NOTIFIED, 0), result)
            heard = [[] for _ in range(6)]
            for line in out.finish().decode().splitlines():
                rank, text = re.fullmatch(r'\[[^\]]*([0-5])\]<stdout>:? ?(.*)', line).groups()
                heard[int(rank)].append(text)
            cut = heard.pop(lost - 1)
            self.assertEqual([len(one) for one in heard], [len(whole)] * 5)
            self.assertTrue(all(one == whole for one in heard), 'each line, in its order')
            self.assertLess(len(cut), len(whole), 'it was lost while it wrote')
            self.assertTrue('\n'.join(whole).startswith('\n'.join(cut)), cut[-1:])

    def test_nobody_left(self):
        dvm = self.dvm(slots=2, settings=['nodes=2'])
        job, _ = self.start(dvm, ['sh', '-c', 'echo ready; exec sleep 600'], 2)
        self.kill_agent(dvm, 'node1')
        dvmtest.wait_until(lambda: self.nodes(dvm)['node1']['StateName'] == 'DOWN', 'node1 is down')
        self.assertFalse(job.get('Ended'))
        self.kill_agent(dvm, 'node2')
        result = job.wait()
        self.assertEqual(result['state'], COMM_FAILED, result)
        self.assertRegex(result['reason'], '^node2 was lost: [a-z]')

    def test_without_guards(self):
        """An agent is killed together with both of its guards: what its job has started comes to the controller, which ends it."""
        dvm = self.dvm(slots=2, settings=['nodes=2'])
        script = 'sleep 600 & setsid sh -c "sleep 600 & sleep 600" & (sleep 600 &) ; echo ready; exec sleep 600'
        job, _ = self.start(dvm, ['sh', '-c', script], 2)
        other = dvm.submit(['sleep', '600'], np=1, hosts=['node2'])
        other.wait_running()
        pids = [self.nodes(dvm)['node1']['Pid']]
        while pids[-1] != dvm.pid:
            pids.append(leftovers.get_parent(pids[-1]))
        self.assertEqual(len(pids), 4)
        for pid in pids[:-1]:
            # The end of one may be that of the next, before it is its turn.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        dvmtest.wait_until(lambda: self.nodes(dvm)['node1']['StateName'] == 'DOWN', 'node1 is down')
        job.cancel()
        job.wait()
        alive = other.pids()
        dvmtest.wait_until(lambda: dvm.job_processes() == alive,
                           f'what was on node1 has ended: {[leftovers.describe_process(pid) for pid in dvm.job_processes()]}')
        other.cancel()
        other.wait()

    def test_one_left(self):
        """Of an agent, its two guards and the controller three are killed together: the one that is left ends what the job has started."""
        script = 'sleep 600 & setsid sh -c "sleep 600 & exec sleep 600" & (sleep 600 &) ; echo ready; exec sleep 600'
        for left in (0, 1, 2):
            for order in (1, -1):
                dvm = self.dvm(slots=1, settings=['nodes=1'])
                job, out, _ = dvm.start(['sh', '-c', script], np=1)
                dvmtest.wait_until(lambda: b'ready' in out.data and len(dvm.job_processes()) == 5, 'all are there')
                pids = [self.nodes(dvm)['node1']['Pid']]
                while pids[-1] != dvm.pid:
                    pids.append(leftovers.get_parent(pids[-1]))
                self.assertEqual(len(pids), 4)
                last = pids.pop(left)
                # None of them has the time to do something about the end of another.
                for pid in pids:
                    os.kill(pid, signal.SIGSTOP)
                for pid in pids[::order]:
                    # The end of one may be that of the next, before it is its turn.
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                dvmtest.wait_until(lambda: not dvm.processes(),
                                   f'nothing is left: {[leftovers.describe_process(pid) for pid in dvm.processes()]}')
                # A process that is ending has no environment any more, and is not among those of the DVM.
                dvmtest.wait_until(lambda one=last: not leftovers.is_running(one), f'process {last} to end')

    def test_below_frozen_agents(self):
        """An agent whose parents die and stand still, one after the other, lives on."""
        dvm = self.dvm(slots=1, settings=['nodes=6', 'radix=2', 'heartbeat-timeout=10'])
        pids = {name: row['Pid'] for name, row in self.nodes(dvm).items()}
        for name, number, pause in (('node4', signal.SIGKILL, 0.03), ('node2', signal.SIGSTOP, 0.03),
                                    ('node1', signal.SIGKILL, 0.2), ('node6', signal.SIGKILL, 0.08),
                                    ('node3', signal.SIGSTOP, 0)):
            os.kill(pids[name], number)
            time.sleep(pause)
        gone = {'node1', 'node2', 'node3', 'node4', 'node6'}
        dvmtest.wait_until(lambda: {n for n, row in self.nodes(dvm).items() if row['StateName'] == 'DOWN'} >= gone,
                           'all are found')
        self.assertEqual(self.nodes(dvm)['node5']['StateName'], 'UP')
        self.assert_success(dvm.run(['true'], np=1))
        # The launcher ends them too, some time.
        for name in ('node2', 'node3'):
            try:
                os.kill(pids[name], signal.SIGKILL)
            except ProcessLookupError:
                pass
        dvmtest.wait_until(lambda: not [pid for pid in dvm.processes()
                                        if re.search('--node node[23]', leftovers.describe_process(pid))],
                           'the frozen ones have ended')

    def test_cancelled(self):
        """What is left can be ended, and nobody waits for the node."""
        dvm = self.dvm(slots=1, settings=['nodes=2', 'kill-grace=0.5'])
        job, _ = self.start(dvm, ['sh', '-c', 'echo ready; exec sleep 600'], 2)
        self.kill_agent(dvm, 'node2')
        dvmtest.wait_until(lambda: self.nodes(dvm)['node2']['StateName'] == 'DOWN', 'node2 is down')
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)

    @unittest.skipUnless(os.path.exists(ULFM) and dvmtest.open_mpi() >= 5, 'no Open MPI with fault tolerance')
    def test_mpi(self):
        """An MPI with fault tolerance revokes, shrinks and agrees after a killed rank, and after a killed node."""
        for victims, left in ((['1'], (0, 2, 3)), ([], (0, 2))):
            dvm = self.dvm(slots=2, settings=['nodes=2'])
            job, out = self.start(dvm, [ULFM, *victims], 4, env=FAULT_TOLERANT)
            if not victims:
                self.kill_agent(dvm, 'node2')
            result = job.wait()
            lines = [line for line in out.finish().decode().splitlines() if not line.endswith('ready')]
            self.assertEqual(sorted(lines), [f'{rank}: {len(left)} left, agreed on 5, sum {sum(left)}' for rank in left], result)


if __name__ == '__main__':
    dvmtest.main()
