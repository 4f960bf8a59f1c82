# SPDX-License-Identifier: LGPL-2.1-or-later
"""MPI programs that start others or find them while they run: unmodified Open MPI, over several nodes."""

import os
import unittest

import dvmtest
from dvmtest import NOTIFIED

PROGRAM = os.environ.get('DVM_TEST_MPI_SPAWN', '')


def lines(who, n, others):
    """What n ranks say that have found so many others."""
    total = n + others
    return [f'{who} {rank} of {n}: {others} others, together {total}, sum {total * (total - 1) // 2}' for rank in range(n)]


class Case(dvmtest.Case):
    def nodes(self, n=4, slots=4, **options):
        return self.dvm(settings=[f'nodes={n}', f'slots={slots}', 'kill-grace=0.5'], **options)


@unittest.skipUnless(PROGRAM and os.path.exists(PROGRAM), 'no Open MPI')
class Spawn(Case):
    def check_spawn(self, dvm, parents=2, children=4, **options):
        done = dvm.run([PROGRAM, 'spawn', str(children)], np=parents, **options)
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), sorted(lines('parent', parents, children) + lines('child', children, parents)), done)

    def test_one_node(self):
        dvm = self.nodes(1)
        self.check_spawn(dvm, 1, 1)
        self.check_spawn(dvm, 2, 2)

    def check_parents(self, done, parents, children, times=1):
        self.assert_success(done)
        self.assertEqual(sorted(line for line in done.lines if line.startswith('parent')), sorted(lines('parent', parents, children) * times), done)

    def test_over_nodes(self):
        dvm = self.nodes()
        # Parents on two nodes, and several children on each: what Open MPI hands on from its own environment, as the place of its shared
        # memory, is not about other nodes.
        self.check_spawn(dvm, 2, 8, map_by='node')
        # None of the children is where a parent is.
        self.check_parents(dvm.run([PROGRAM, 'spawn', '2', 'node3,node4'], np=2, hosts=['node1', 'node2'], map_by='node'), 2, 2)
        self.check_parents(dvm.run([PROGRAM, 'spawn-twice', '2'], np=2, map_by='node'), 2, 2, 2)
        self.check_parents(dvm.run([PROGRAM, 'multiple', '1', '2'], np=2, map_by='node'), 2, 3)

    def test_full(self):
        """The next children have the slots of those that are in their MPI_Finalize."""
        dvm = self.nodes(1)
        for _ in range(4):
            self.check_parents(dvm.run([PROGRAM, 'spawn-twice', '3']), 1, 3, 2)

    def info_of(self, done, rank=0):
        """MPI_INFO_ENV of that rank, of each job that has said it."""
        self.assert_success(done)
        said, jobs = [line.split(' ', 2)[1:] for line in done.lines if line.startswith(f'{rank} ')], []
        for key, value in said:
            if key == 'command':
                jobs.append({})
            jobs[-1][key] = value
        return jobs

    def test_info_env(self):
        """The keys of MPI_INFO_ENV as mpirun has them, of several programs, too."""
        dvm = self.nodes(2)
        machine = os.uname().machine
        expected = {'command': PROGRAM, 'argv': 'info', 'maxprocs': '3', 'soft': '3', 'arch': machine, 'wdir': '/usr',
                    'thread_level': 'MPI_THREAD_SINGLE', 'ompi_num_apps': '2', 'ompi_first_rank': '0 1', 'ompi_np': '1 2'}
        stale = {'OMPI_MCA_initial_wdir': '/stale', 'OMPI_NUM_APP_CTX': '9', 'OMPI_APP_CTX_NUM_PROCS': '9'}
        done = dvm.run(None, apps=[{'argv': [PROGRAM, 'info'], 'np': 1, 'cwd': '/usr'}, {'argv': [PROGRAM, 'info', 'b'], 'np': 2, 'cwd': '/etc'}],
                            env=stale)
        self.assertEqual(self.info_of(done), [expected])
        self.assertEqual(self.info_of(done, 1), [{**expected, 'argv': 'info b', 'wdir': '/etc'}])

    def test_reserved_keys(self):
        """wdir of a spawn counts; path, file, soft and arch Open MPI keeps to itself."""
        dvm = self.nodes(2)
        for key, value in (('wdir', '/usr'), ('path', '/nowhere'), ('soft', '1'), ('arch', 'none'), ('file', '/nowhere')):
            parent, child = self.info_of(dvm.run([PROGRAM, 'info', key, value], cwd='/etc'))
            self.assertEqual((parent['wdir'], child['wdir']), ('/etc', '/usr' if key == 'wdir' else '/etc'), key)
            self.assertEqual((child['argv'], child['maxprocs'], child['ompi_num_apps']), ('info-child', '1', '1'), key)

    def test_child_dies(self):
        """One that dies before it has connected: its job ends, and the parents wait as long as Open MPI is told to."""
        dvm = self.nodes(2)
        job, _, _ = dvm.start([PROGRAM, 'die-in-spawn'], np=2, map_by='node', env={'OMPI_MCA_pmix_base_exchange_timeout': '1'})
        # Open MPI 5 cannot be told: it waits for ten minutes.
        if dvmtest.open_mpi() >= 5:
            dvmtest.wait_until(lambda: [row for row in dvm.list_jobs(all=True)
                                        if row['Id'] == 2 and row['Ended']], 'the child to end')
            job.cancel()
        self.assertNotEqual(job.wait()['state'], NOTIFIED)
        self.assert_no_processes(dvm)
        self.check_spawn(dvm)


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
        """The name is free again when it has been unpublished, or its job has ended."""
        dvm = self.nodes()
        self.check_pair(dvm, 3, 4, map_by='node')
        self.check_pair(dvm, 1, 2, map_by='node')
        job, _ = self.start_server(dvm, 'ocean', 1)
        job.cancel()
        job.wait()
        # Open MPI 5 publishes for as long as the session is there.
        if dvmtest.open_mpi() >= 5:
            self.check_pair(dvm, 1, 1, name='lake')
            return
        done = dvm.run([PROGRAM, 'connect', 'ocean'])
        self.assertEqual(done.lines, ['no such name'], done)
        self.check_pair(dvm, 1, 1)


if __name__ == '__main__':
    dvmtest.main()
