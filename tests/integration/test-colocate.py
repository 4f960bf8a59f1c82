# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs beside others, on several agents: where their processes are, and what becomes of them."""

import os
import signal

import dvmtest
from dvmtest import KILLED_BY_CMD, MAP_FAILED, NOTIFIED, wait_until


class Colocate(dvmtest.Case):
    def start(self, slots=2, nodes=3, **options):
        dvm = self.dvm(slots=slots, arguments=[f'--nodes={nodes}'], **options)
        target = dvm.submit(['sleep', '1000'], np=2 * nodes - 1, **{'map-by': 'node', 'recoverable': True})
        target.wait_running()
        return dvm, target

    def nodes_of(self, job):
        return [row[2] for row in job.procs()]

    def in_use(self, dvm):
        return sum(row['SlotsInUse'] for row in dvm.get_nodes())

    def test_places(self):
        """One beside each process, some beside some, some on each node; by number, namespace and path, on the bus and in a file."""
        dvm, target = self.start()
        beside = self.nodes_of(target)
        self.assertEqual(beside, ['node1', 'node2', 'node3', 'node1', 'node2'])
        number = target.nspace.split('@')[1]
        for by, expected in (
                (f'colocate={number}', beside),
                (f'colocate={target.nspace}:1,3-4', [beside[1], beside[3], beside[4]]),
                (f'colocate=/org/dvm/jobs/{number}:0-1:nperproc=2', ['node1', 'node1', 'node2', 'node2']),
                (f'colocate={number}:npernode=1', ['node1', 'node2', 'node3'])):
            done = dvm.run(['sh', '-c', 'echo $DVM_RANK $DVM_NODE'], np=None, **{'map-by': by})
            self.assert_success(done)
            self.assertEqual([line.split()[1] for line in sorted(done.lines, key=lambda line: int(line.split()[0]))], expected, by)
            self.assertEqual([row[3] for row in done.job.call('Map')[0]], expected, by)
            self.assertEqual({row[9] for row in done.job.procs()}, {''}, 'they are not bound')

    def test_slots(self):
        """It takes none, does not wait for them, and goes on when the other job ends."""
        dvm, target = self.start()
        waiting = dvm.submit(['true'], np=6)
        self.assertEqual(self.in_use(dvm), 5)
        job = dvm.submit(['sleep', '1000'], **{'map-by': f'colocate={target.nspace}:nperproc=3'})
        job.wait_running()
        self.assertEqual((len(job.procs()), self.in_use(dvm)), (15, 5))
        target.cancel()
        self.assertEqual(waiting.wait()['state'], NOTIFIED)
        self.assertEqual((job.get('Ended'), len(job.pids())), (False, 15))
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assert_no_processes(dvm)

    def test_refused(self):
        """What does not run, is not there, or is asked for in another number."""
        dvm, target = self.start(nodes=2)
        ended = dvm.run(['true'], np=1)
        waiting = dvm.submit(['true'], np=4)
        for by, name, words in (
                ('colocate=99', 'NotFound', 'there is no job “99”'),
                (f'colocate={waiting.nspace}', 'NotReady', f'job {waiting.nspace} does not run yet (ALLOCATE)'),
                (f'colocate={ended.job.nspace}', 'NotFound', f'job {ended.job.nspace} has ended (NOTIFIED)'),
                (f'colocate={target.nspace}:3', 'NotFound', 'has the ranks 0 to 2, 3 is none of them'),
                ('colocate', 'BadParam', 'it is written colocate=JOB')):
            self.assert_refused(name, words, dvm.submit, ['true'], **{'map-by': by})
        done = dvm.run(['true'], np=5, **{'map-by': f'colocate={target.nspace}'})
        self.assertEqual(done.state, MAP_FAILED, done)
        self.assertIn('np: 5 contradicts map-by “colocate”, which makes 3 processes', done.reason)
        waiting.cancel()

    def test_node_lost(self):
        """The node takes its processes with it; a job that may lose some goes on, and another one finds those that are left."""
        dvm, target = self.start(settings=['elastic=true'])
        job = dvm.submit(['sleep', '1000'], **{'map-by': f'colocate={target.nspace}', 'recoverable': True})
        job.wait_running()
        os.kill([row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node2'][0], signal.SIGKILL)
        wait_until(lambda: job.get('NumTerminated') == 2 and target.get('NumTerminated') == 2, 'two of each to be lost')
        done = dvm.run(['true'], np=None, **{'map-by': f'colocate={target.nspace}'})
        self.assert_success(done)
        self.assertEqual(self.nodes_of(done.job), ['node1', 'node3', 'node1'])
        self.assertFalse(job.get('Ended'))


if __name__ == '__main__':
    dvmtest.main()
