#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The samples of introspection/ against a real dvmd: the typelib, and that a follower sees every state."""

import os
import subprocess
import sys
import unittest

import dvmtest

SAMPLES = os.environ['DVM_TEST_SAMPLES']
# The way of a plain job (spec/000); REGISTERED is passed by programs that call PMIx_Init.
WAY = ['UNDEF', 'INIT', 'INIT_COMPLETE', 'ALLOCATE', 'ALLOCATION_COMPLETE', 'LAUNCH_DAEMONS', 'DAEMONS_REPORTED',
       'VM_READY', 'MAP', 'MAP_COMPLETE', 'SYSTEM_PREP', 'LAUNCH_APPS', 'SEND_LAUNCH_MSG', 'STARTED',
       'LOCAL_LAUNCH_COMPLETE', 'RUNNING']


def command(language):
    """The sample in this language; a program of the build for those that are compiled."""
    if language == 'python':
        return [sys.executable, os.path.join(SAMPLES, 'submit-and-follow.py')]
    program = os.environ.get(f'DVM_TEST_SAMPLE_{language.upper()}')
    if not program:
        raise unittest.SkipTest(f'the build has no sample in {language}: valac and vapigen make it')
    return [program]


class Follow(dvmtest.Case):
    language = 'python'

    def follow(self, *arguments):
        sample = command(self.language)
        dvm = self.dvm(slots=4)
        environment = dict(os.environ, DVM_SOCKET=dvm.socket)
        done = subprocess.run([*sample, *arguments], env=environment, capture_output=True, text=True, timeout=dvmtest.LIMIT, check=False)
        self.assertEqual(done.stderr, '')
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r'^submitted /org/dvm/jobs/[0-9]+$')
        steps = [line.split(':')[0].split(' -> ') for line in lines if ' -> ' in line]
        # Each step begins where the one before ended.
        self.assertEqual([step[0] for step in steps[1:]], [step[1] for step in steps[:-1]])
        return done.returncode, [steps[0][0]] + [step[1] for step in steps], lines[-1]

    def test_success(self):
        status, states, last = self.follow('-n', '2', 'true')
        self.assertEqual(status, 0)
        self.assertEqual(states, WAY + ['TERMINATED', 'NOTIFY_COMPLETED', 'NOTIFIED'])
        self.assertRegex(last, 'ended as NOTIFIED, exit status 0$')

    def test_exit_code(self):
        status, states, _ = self.follow('sh', '-c', 'exit 3')
        self.assertEqual((status, states[-1]), (3, 'NON_ZERO_TERM'))

    def test_signal(self):
        status, states, _ = self.follow('sh', '-c', 'kill -9 $$')
        self.assertEqual((status, states[-1]), (137, 'ABORTED_BY_SIG'))

    def test_no_such_program(self):
        status, states, _ = self.follow('no-such-program-at-all')
        self.assertEqual((status, states[-1]), (127, 'FAILED_TO_START'))


class FollowInC(Follow):
    language = 'c'


class FollowInVala(Follow):
    language = 'vala'


class Nowhere(unittest.TestCase):
    """No daemon: a sentence, and no endless wait."""

    dvms = ()

    def run_and_finish(self):
        getattr(self, self._testMethodName)()

    def clear(self):
        pass

    def check(self, language):
        environment = dict(os.environ, DVM_SOCKET='/nonexistent/bus')
        done = subprocess.run([*command(language), 'true'], env=environment, capture_output=True, text=True,
                              timeout=dvmtest.LIMIT, check=False)
        self.assertEqual(done.returncode, 125)
        self.assertIn('/nonexistent/bus', done.stderr)

    def test_no_dvm(self):
        self.check('python')

    def test_no_dvm_in_c(self):
        self.check('c')

    def test_no_dvm_in_vala(self):
        self.check('vala')


if __name__ == '__main__':
    dvmtest.main()
