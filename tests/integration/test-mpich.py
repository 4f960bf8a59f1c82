# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs whose MPI library uses neither PMIx nor PMI-1: each rank takes itself for the only one, and the job's reason says so."""

import os
import subprocess
import unittest

import dvmtest
from dvmtest import NOTIFIED, PROC_TERMINATED

MPICH = os.environ.get('DVM_TEST_MPICH', '')
OPEN_MPI = os.environ.get('DVM_TEST_MPI_FINALIZE', '')
CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
SENTENCE = 'linked with libmpich.so.12, but no rank of the job has called PMIx_Init or speaks PMI-1'


@unittest.skipUnless(MPICH and os.path.exists(MPICH), 'no MPICH')
class Mpich(dvmtest.Case):
    def reason(self, dvm, argv, **options):
        done = dvm.run(argv, **options)
        self.assertEqual(done.state, NOTIFIED, done)
        return done.result['reason']

    def cli(self, dvm, *words):
        done = subprocess.run([CLI, '--socket', dvm.socket, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=dvmtest.LIMIT, check=False)
        return done.returncode, done.stderr

    def test_said_at_the_end(self):
        dvm = self.dvm(slots=4)
        self.assertIn(SENTENCE, self.reason(dvm, [MPICH], np=2))
        # Found as the program is: in PATH, and in the directory of the job.
        self.assertIn(SENTENCE, self.reason(dvm, ['mpich'], np=2, env={'PATH': os.path.dirname(MPICH)}))
        self.assertIn(SENTENCE, self.reason(dvm, ['./mpich'], np=2, cwd=os.path.dirname(MPICH)))

    def test_said_for_all_nodes(self):
        dvm = self.dvm(slots=2, settings=['nodes=3'])
        done = dvm.run([MPICH], np=6)
        self.assertEqual(done.result['reason'].count(SENTENCE), 1)
        apps = [{'argv': ['true'], 'np': 1}, {'argv': [MPICH], 'np': 2}]
        self.assertIn(SENTENCE, dvm.run([], apps=apps).result['reason'])

    def test_on_the_command_line(self):
        dvm = self.dvm(slots=4)
        for words in (('run', '-n', '2', MPICH), ('wait', '1'), ('run', '--json', '-n', '2', MPICH)):
            status, err = self.cli(dvm, *words)
            self.assertEqual(status, 0, err)
            self.assertIn(SENTENCE, err, words)
        self.assertEqual(self.cli(dvm, 'run', '--quiet', '-n', '2', MPICH), (0, ''))

    def test_behind_a_failure(self):
        """A program that fails because it finds itself alone."""
        dvm = self.dvm(slots=4)
        reason = dvm.run([MPICH, '1'], np=2, timeout=1).result['reason']
        self.assertNotIn(SENTENCE, reason)
        last = os.path.join(dvm.place, 'last')
        os.mkfifo(last)
        job = dvm.submit_apps([{'argv': [MPICH], 'np': 2}, {'argv': ['sh', '-c', f'read x <{last}; exit 3'], 'np': 1}])
        dvmtest.wait_until(lambda: [row[6] for row in job.procs()][:2] == [PROC_TERMINATED] * 2, 'the end of ranks 0 and 1')
        with open(last, 'w', encoding='ascii') as fifo:
            fifo.write('go\n')
        result = job.wait()
        self.assertRegex(result['reason'], f'^Rank 2 on .* ended with status 3; .*{SENTENCE}')
        self.assertEqual(result['exit-code'], 3)

    def test_not_said(self):
        """Of one rank, of programs that are no MPI programs, without PMIx, and of those that find each other."""
        dvm = self.dvm(slots=4)
        self.assertEqual(self.reason(dvm, [MPICH], np=1), '')
        self.assertEqual(self.reason(dvm, ['true'], np=4), '')
        self.assertEqual(self.reason(dvm, ['sh', '-c', 'exit 0'], np=2), '')
        self.assertEqual(self.reason(dvm, [MPICH], np=2, personality='plain'), '')
        if os.path.exists(OPEN_MPI):
            self.assertEqual(self.reason(dvm, [OPEN_MPI], np=2), '')


if __name__ == '__main__':
    dvmtest.main()
