# SPDX-License-Identifier: LGPL-2.1-or-later
"""MPI programs that start others, or find them, on several machines: nothing is shared but the network."""

import glob
import json
import os
import shutil
import time
import unittest

import dvmtest
import testhosts

BUILD = os.environ['DVM_TEST_BUILD']
CLI = os.path.join(BUILD, 'cli', 'dvm-cli')
PROGRAM = os.environ.get('DVM_TEST_MPI_SPAWN', '')
AFFINITY = os.environ.get('DVM_TEST_MPI_AFFINITY', '')


def lines(who, n, others):
    total = n + others
    return sorted(f'{who} {rank} of {n}: {others} others, together {total}, sum {total * (total - 1) // 2}' for rank in range(n))


@unittest.skipUnless(os.path.exists(PROGRAM), 'no Open MPI here')
class Machines(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.folder = self.place()
        os.chmod(self.folder, 0o755)
        self.program = shutil.copy(PROGRAM, self.folder)
        self.hosts = testhosts.Hosts(4, kept=[self.folder, BUILD])
        self.addCleanup(self.hosts.close)
        self.cli('start', '--bus', 'none', '--host', 'n0:4,n1:4,n2:4,n3:4', timeout=180)

    def clear(self):
        self.doCleanups()
        super().clear()

    def cli(self, *args, check=True, **kwargs):
        return self.hosts[0].run([CLI, *args], check=check, env={'G_DEBUG': 'fatal-warnings'}, **kwargs)

    def said(self, result, who):
        return sorted(line for line in result.stdout.splitlines() if line.startswith(who))

    def test_all(self):
        # Children on every machine, then only where no parent is.
        result = self.cli('run', '-n', '2', '--host', 'n0,n1', '--map-by', 'node', self.program, 'spawn', '8', timeout=120)
        self.assertEqual((self.said(result, 'parent'), self.said(result, 'child')), (lines('parent', 2, 8), lines('child', 8, 2)),
                         result.stdout + result.stderr)
        result = self.cli('run', '-n', '2', '--host', 'n0,n1', '--map-by', 'node', self.program, 'spawn', '4', 'n2,n3', timeout=120)
        self.assertEqual(self.said(result, 'parent'), lines('parent', 2, 4), result.stdout + result.stderr)
        # Two jobs that know of each other by a name alone.
        server = self.cli('submit', '-n', '3', '--host', 'n1,n2,n3', '--map-by', 'node', self.program, 'accept', 'ocean').stdout.strip()
        end = time.monotonic() + dvmtest.LIMIT
        while True:
            result = self.cli('run', '-n', '4', '--map-by', 'node', self.program, 'connect', 'ocean', timeout=120)
            if 'no such name' not in result.stdout or time.monotonic() > end:
                break
        self.assertEqual(self.said(result, 'client'), lines('client', 4, 3), result.stdout + result.stderr)
        self.assertEqual(self.cli('wait', server, timeout=60).returncode, 0)
        self.cli('stop')


@unittest.skipUnless(os.path.exists(AFFINITY), 'no Open MPI here')
@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, 'one cpu: everything is bound to it')
class Affinity(Machines):
    def test_all(self):
        """What MPI processes may use is what the map says, what hwloc sees, and what the kernel says."""
        program = shutil.copy(AFFINITY, self.folder)
        out = os.path.join(self.folder, 'out')
        policy = ('-n', '8', '--map-by', 'ppr:2:node', '--bind-to', 'core')
        job = self.cli('submit', *policy, '--output', f'dir={out}', program, 'stay').stdout.strip()

        def read_said():
            said = {}
            for path in glob.glob(os.path.join(out, '**', 'stdout'), recursive=True):
                with open(path, encoding='utf-8') as file:
                    said.update((int(row[0]), tuple(row[1:])) for row in map(str.split, file) if len(row) == 5)
            return said if len(said) == 8 else None

        said = dvmtest.wait_until(read_said, 'all have said what they may use')
        procs = json.loads(self.cli('job', 'procs', job, '--json').stdout)
        planned = {row['rank']: row for row in json.loads(self.cli('map', '--json', *policy, 'true').stdout)}
        for proc in procs:
            rank, cpus = proc['rank'], proc['cpuset']
            self.assertEqual(said[rank][:2], (proc['node'], cpus))
            # Two ranks of a node share the window, and each has written its rank and one.
            beside = [other['rank'] + 1 for other in procs if other['node'] == proc['node']]
            self.assertEqual(said[rank][2:], (str(len(beside)), str(sum(beside))))
            self.assertEqual(planned[rank]['cpuset'], cpus)
            if shutil.which('hwloc-ps'):
                host = self.hosts[int(proc['node'][1:])]
                row = host.run(['hwloc-ps', '-a', '--pid', str(proc['pid']), '-c'], check=True).stdout
                self.assertEqual(int(row.split()[1], 16), sum(1 << int(cpu) for cpu in cpus.split(',')))
        self.assertEqual({proc['node'] for proc in procs}, {'n0', 'n1', 'n2', 'n3'})
        self.cli('kill', job)
        self.cli('wait', job, check=False, timeout=60)
        self.cli('stop')


if __name__ == '__main__':
    dvmtest.main()
