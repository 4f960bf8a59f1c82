# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes and PMIx tools that start jobs, on whatever node they are, and what they are told of them."""

import os
import re
import subprocess

import dvmtest
from dvmtest import NOTIFIED, wait_until

ALLOC = os.environ.get('DVM_TEST_PMIX_ALLOC', '')
NOT_FOUND, NOT_EXECUTABLE, MAP_FAILED, TIMEOUT, KILLED = -190, -177, -179, -24, -183
BAD_PARAM, NO_SUCH, NOT_SUPPORTED = -27, -46, -47


class Spawn(dvmtest.Case):
    nodes = 1
    radix = None

    def start(self, slots=4, settings=(), nodes=None):
        settings = [*settings] + ([f'radix={self.radix}'] if self.radix else [])
        return self.dvm(slots=slots, settings=settings, arguments=[f'--nodes={nodes or self.nodes}'])

    def spawned(self, line):
        """The namespace that a spawn was answered."""
        match = re.fullmatch(r'\d+ spawn 0 nspace=(dvm-\S+)', line)
        self.assertIsNotNone(match, line)
        return match[1]


class Basics:
    def test_twice(self):
        """By a rank of the last node: a job, and another one, whose end is told."""
        dvm = self.start()
        last = f'node{self.nodes}'
        done = dvm.run([ALLOC, 'jobs', 'spawn', '--', 'hostname', ';', 'ended', '@@', 'spawn', 'np=2', '--', 'sh', '-c', 'exit 3', ';',
                        'ended', '@@'], hosts=[last])
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        said = [line for line in done.lines if line.startswith('0 ')]
        first, second = self.spawned(said[0]), self.spawned(said[3])
        self.assertNotEqual(first, second)
        self.assertEqual(said[1], f'0 started {first}')
        self.assertEqual(said[2], f'0 ended {first} status=0 exit=0')
        self.assertEqual(said[4], f'0 started {second}')
        self.assertEqual(said[5], f'0 ended {second} status=-187 exit=3')


class OneNode(Basics, Spawn):
    nodes = 1


class ThreeNodes(Basics, Spawn):
    nodes = 3


class AtRadix2(Basics, Spawn):
    nodes = 5
    radix = 2


if __name__ == '__main__':
    dvmtest.main()
