# SPDX-License-Identifier: LGPL-2.1-or-later
"""MPI programs that start others, or find them, on several machines: nothing is shared but the network."""

import os
import shutil
import time
import unittest

import dvmtest
import testhosts

BUILD = os.environ['DVM_TEST_BUILD']
CLI = os.path.join(BUILD, 'cli', 'dvm-cli')
PROGRAM = os.environ.get('DVM_TEST_MPI_SPAWN', '')


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


if __name__ == '__main__':
    dvmtest.main()
