# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command lines that people type most bind alike under Open MPI's mpirun and here: the kernel is asked under both.

docs/placement.md has the table; it names these commands.
"""

import os
import re
import shutil
import subprocess
import unittest

import dvmtest

CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
PROGRAM = os.environ.get('DVM_TEST_MPI_AFFINITY', '')
MPIRUN = shutil.which('mpirun.openmpi')
DOCUMENT = os.path.join(os.environ['DVM_TEST_SOURCE'], 'docs', 'placement.md')
# RANKFILE stands for a file with the first rank on the second cpu.
COMMANDS = [
    '-n 2', '-n 2 --bind-to core', '-n 2 --bind-to none', '-n 2 --bind-to hwthread', '-n 2 --map-by core',
    '-n 2 --bind-to socket', '-n 2 --map-by numa --bind-to numa', '-n 4 --oversubscribe', '-n 1 --map-by slot:PE=2',
    '-n 2 --npernode 2', '-n 2 --map-by ppr:1:core', '-n 2 --map-by node', '-n 2 --host localhost:2',
    '-n 2 --rankfile RANKFILE',
]


@unittest.skipUnless(os.path.exists(PROGRAM) and MPIRUN, 'no Open MPI with its mpirun')
@unittest.skipUnless(len(os.sched_getaffinity(0)) == 2, 'the commands are for a machine of two cpus')
class Mpirun(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.folder = self.place()
        self.rankfile = os.path.join(self.folder, 'ranks')
        with open(self.rankfile, 'w') as file:
            file.write('rank 0=localhost slot=1\nrank 1=localhost slot=0\n')

    def run_under(self, launcher, words, **more):
        """{rank: (cpus, ranks that share a window, what they have found there)}"""
        argv = [*launcher, *words.replace('RANKFILE', self.rankfile).split(), PROGRAM]
        env = dict(os.environ, TMPDIR=self.folder, **more)
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=dvmtest.LIMIT, check=False)
        self.assertEqual(done.returncode, 0, (argv, done.stdout, done.stderr))
        rows = {row[0]: tuple(row[2:]) for row in map(str.split, done.stdout.splitlines()) if len(row) == 5}
        self.assertEqual(len(rows), int(re.search(r'-n (\d+)', words).group(1)), (argv, done.stdout, done.stderr))
        return rows

    def test_commands(self):
        for words in COMMANDS:
            # mpirun 5 reads no rankfile: it takes the option for an old spelling, and refuses the new one.
            if 'RANKFILE' in words and dvmtest.open_mpi() >= 5:
                ours = self.run_under([CLI, 'run'], words, DVM_BUS='none', DVM_NOTICE='no')
                self.assertEqual({rank: row[0] for rank, row in ours.items()}, {'0': '1', '1': '0'})
                continue
            theirs = self.run_under([MPIRUN], words, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
            ours = self.run_under([CLI, 'run'], words, DVM_BUS='none', DVM_NOTICE='no')
            self.assertEqual(ours, theirs, words)

    def test_names(self):
        """Called as mpirun, dvm-cli takes the line of mpirun, old spellings of Open MPI 4 included."""
        words = '--allow-run-as-root --mca pml ob1 -n 2 --bind-to core'
        theirs = self.run_under([MPIRUN], words)
        for name in ('dvm-mpirun', 'mpiexec', 'mpirun'):
            link = os.path.join(self.folder, name)
            os.symlink(CLI, link)
            self.assertEqual(self.run_under([link], words, DVM_BUS='none', DVM_NOTICE='no'), theirs, name)

    def test_document(self):
        """The table in docs/placement.md is of these commands."""
        with open(DOCUMENT, encoding='utf-8') as file:
            text = file.read().split('### Beside mpirun', 1)[1].split('\n#', 1)[0]
        self.assertEqual(re.findall(r'^\| `(-n [^`]*)` \|', text, re.MULTILINE), [each.replace('RANKFILE', 'FILE') for each in COMMANDS])


if __name__ == '__main__':
    dvmtest.main()
