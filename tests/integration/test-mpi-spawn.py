# SPDX-License-Identifier: LGPL-2.1-or-later
"""MPI programs that start others or find them while they run: unmodified Open MPI, over several nodes."""

import os
import signal
import unittest

import dvmtest
import leftovers
import testhosts
from dvmtest import NOTIFIED, RUNNING

PROGRAM = os.environ.get('DVM_TEST_MPI_SPAWN', '')
CLIENT = os.environ.get('DVM_TEST_PMIX_DATA', '')


def lines(who, n, others):
    """What n ranks say that have found so many others."""
    total = n + others
    return [f'{who} {rank} of {n}: {others} others, together {total}, sum {total * (total - 1) // 2}' for rank in range(n)]


class Case(dvmtest.Case):
    def nodes(self, n=4, slots=4, **options):
        return self.dvm(settings=[f'nodes={n}', f'slots={slots}', 'kill-grace=0.5'], **options)

    def job_after(self, dvm, number):
        """The job with that number, when it has ended."""
        job = dvm.job(number)
        dvmtest.wait_until(lambda: job.get('Ended'), f'job {number} to end')
        return job


@unittest.skipUnless(PROGRAM and os.path.exists(PROGRAM), 'no Open MPI')
class Spawn(Case):
    def check_spawn(self, dvm, parents=2, children=4, **options):
        done = dvm.run([PROGRAM, 'spawn', str(children)], np=parents, **options)
        self.assert_success(done)
        self.assertEqual([line for line in sorted(done.lines) if line.startswith('parent')], lines('parent', parents, children), done)
        return done

    def test_one_node(self):
        dvm = self.nodes(1)
        self.check_spawn(dvm, 1, 1)
        self.check_spawn(dvm, 2, 2)

    def test_over_nodes(self):
        """Parents on two nodes, children on four."""
        dvm = self.nodes()
        self.check_spawn(dvm, 2, 8, map_by='node')

    def test_on_other_nodes(self):
        """None of the children is where a parent is."""
        dvm = self.nodes()
        done = dvm.run([PROGRAM, 'spawn', '2', 'node3,node4'], np=2, hosts=['node1', 'node2'], map_by='node')
        self.assert_success(done)
        self.assertEqual([line for line in sorted(done.lines) if line.startswith('parent')], lines('parent', 2, 2), done)

    def test_twice(self):
        dvm = self.nodes(2)
        done = dvm.run([PROGRAM, 'spawn-twice', '2'], np=2, map_by='node')
        self.assert_success(done)
        self.assertEqual([line for line in sorted(done.lines) if line.startswith('parent')],
                         sorted(lines('parent', 2, 2) * 2), done)

    def test_multiple(self):
        dvm = self.nodes(2)
        done = dvm.run([PROGRAM, 'multiple', '1', '2'], np=2, map_by='node')
        self.assert_success(done)
        self.assertEqual([line for line in sorted(done.lines) if line.startswith('parent')], lines('parent', 2, 3), done)

    def test_child_dies(self):
        """One that dies before it has connected: its job ends, and the parents wait as long as Open MPI is told to."""
        dvm = self.nodes(2)
        done = dvm.run([PROGRAM, 'die-in-spawn'], np=2, map_by='node', env={'OMPI_MCA_pmix_base_exchange_timeout': '1'})
        self.assertNotEqual(done.state, NOTIFIED, done)
        self.assert_no_processes(dvm)
        self.check_spawn(dvm)

    def test_shared_memory_of_children(self):
        """What Open MPI hands on from its own environment is not about other nodes."""
        dvm = self.nodes(4)
        for _ in range(2):
            self.check_spawn(dvm, 2, 8, map_by='node')


@unittest.skipUnless(PROGRAM and os.path.exists(PROGRAM), 'no Open MPI')
class Connect(Case):
    """Two jobs that somebody has submitted one after the other."""

    def start_server(self, dvm, name, n, **options):
        job, out, err = dvm.start([PROGRAM, 'accept', name], np=n, **options)
        dvmtest.wait_until(lambda: b'published' in out.data or job.get('Ended'), 'the name to be published')
        self.assertFalse(job.get('Ended'), (job.get('Reason'), bytes(err.data)))
        return job, out

    def check_pair(self, dvm, servers, clients, name='ocean', **options):
        job, out = self.start_server(dvm, name, servers, **options)
        done = dvm.run([PROGRAM, 'connect', name], np=clients, **options)
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), lines('client', clients, servers), done)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        out.finish()
        self.assertEqual(sorted(bytes(out.data).decode().splitlines()), sorted(lines('server', servers, clients) + ['published']))

    def test_by_name(self):
        dvm = self.nodes()
        self.check_pair(dvm, 3, 4, map_by='node')

    def test_again(self):
        """The name is free again when it has been unpublished, or its job has ended."""
        dvm = self.nodes(2)
        for _ in range(2):
            self.check_pair(dvm, 1, 2, map_by='node')
        job, _ = self.start_server(dvm, 'ocean', 1)
        job.cancel()
        job.wait()
        done = dvm.run([PROGRAM, 'connect', 'ocean'])
        self.assertEqual(done.lines, ['no such name'], done)
        self.check_pair(dvm, 1, 1)

    def test_nobody_has_that_name(self):
        dvm = self.nodes(1)
        done = dvm.run([PROGRAM, 'connect', 'nobody'])
        self.assertEqual(done.lines, ['no such name'], done)


@unittest.skipIf(testhosts.why_not(), testhosts.why_not() or '')
@unittest.skipUnless(PROGRAM and os.path.exists(PROGRAM), 'no Open MPI')
class Machines(Case):
    """The same between machines, where nothing is shared but the network."""


if __name__ == '__main__':
    dvmtest.main()
