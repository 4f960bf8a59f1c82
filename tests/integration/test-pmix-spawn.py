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


class Inherited:
    def test_output(self):
        """What a spawned job says, and what is spawned by that, comes where the output of the first one goes."""
        dvm = self.start()
        child = [ALLOC, 'jobs', 'spawn', 'np=2', '--', 'sh', '-c', 'echo grandchild; echo to stderr >&2', '\\;', 'ended', '@@']
        done = dvm.run([ALLOC, 'jobs', 'spawn', '--', *child, ';', 'ended', '@@'], output='tag')
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        number = int(done.job.nspace.split('@')[1])
        self.assertEqual(sorted(line for line in done.lines if 'grandchild' in line),
                         [f'[{number + 2},{rank}]<stdout>: grandchild' for rank in (0, 1)], done)
        self.assertEqual(sorted(done.err.decode().splitlines()), [f'[{number + 2},{rank}]<stderr>: to stderr' for rank in (0, 1)], done)

    def test_environment(self):
        """Directory, variables and parent are those of the process that spawns; what it says itself comes first."""
        dvm = self.start()
        place = dvm.place
        script = 'echo $ONE-$TWO-$THREE-$FOUR; pwd'
        done = dvm.run([ALLOC, 'jobs', 'spawn', 'env=TWO:child', 'env=FOUR:new', 'unset=THREE', '--', 'sh', '-c', script, ';',
                        'ended', '@@', 'spawn', 'cwd=/usr', '--', ALLOC, 'parent', ';', 'ended', '@@', 'parent'],
                       env={'ONE': 'parent', 'TWO': 'parent', 'THREE': 'parent'}, cwd=place)
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        self.assertIn('parent-child--new', done.lines)
        self.assertIn(os.path.realpath(place), done.lines)
        self.assertIn(f'0 parent {done.job.nspace}.0', done.lines)
        self.assertIn('0 parent none', done.lines)


class Control:
    def state_of(self, dvm, number):
        """The states of the processes in the kernel: T is stopped."""
        states = []
        for pid in dvm.job(number).pids():
            with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
                states.append(file.read().rsplit(')', 1)[1].split()[0])
        return ''.join(states)

    def test_operations(self):
        """Jobs that it has spawned are signalled, stopped, and ended."""
        dvm = self.start()
        go = os.path.join(dvm.place, 'go')
        job, out, _ = dvm.start([ALLOC, 'jobs', 'spawn', 'np=2', '--', 'sleep', '1000', ';', 'control', 'pause', '@@', 'file', go,
                                 'control', 'resume', '@@', 'control', 'term', '@@', 'ended', '@@',
                                 'spawn', '--', 'sleep', '1000', ';', 'control', 'kill', '@@', 'ended', '@@',
                                 'spawn', '--', 'sleep', '1000', ';', 'control', 'signal=10', '@@.0', 'ended', '@@'], np=1)
        wait_until(lambda: b'control' in out.data, 'the first control')
        wait_until(lambda: self.state_of(dvm, int(job.nspace.split('@')[1]) + 1) == 'TT', 'both to be stopped')
        with open(go, 'w', encoding='utf-8'):
            pass
        result = job.wait()
        lines = [re.sub(r'dvm-\w+@\d+', 'N', line) for line in out.finish().decode().splitlines()]
        self.assertEqual(result['state'], NOTIFIED, (result, lines, dvm.log()))
        self.assertEqual([line for line in lines if 'control' in line], ['0 control 0'] * 5, lines)
        self.assertEqual([line.split(' exit')[0] for line in lines if 'ended' in line],
                         ['0 ended N status=-183', '0 ended N status=-183', '0 ended N status=-184'], lines)

    def test_refused(self):
        """Jobs of others, jobs that are not there, two things at once, and what there is not."""
        dvm = self.start()
        other, _, _ = dvm.start(['sleep', '1000'], np=1)
        done = dvm.run([ALLOC, 'control', 'kill', other.nspace, 'abort', other.nspace, 'control', 'kill', 'nobody', 'control',
                        'kill+pause', other.nspace, 'control', 'restart', other.nspace])
        self.assertEqual(done.lines, ['0 control -23', '0 abort 0', '0 control -46', '0 control -27', '0 control -47'], done)
        self.assertFalse(other.get('Ended'))
        other.cancel()
        other.wait()

    def test_abort(self):
        """A process ends what it has spawned, and goes on."""
        dvm = self.start()
        done = dvm.run([ALLOC, 'jobs', 'spawn', '--', 'sleep', '1000', ';', 'abort', '@@', 'ended', '@@'])
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        self.assertRegex([line for line in done.lines if 'ended' in line][0], '^0 ended .* status=-183 ')
        job = dvm.job(int(done.job.nspace.split('@')[1]) + 1)
        self.assertIn(f'pmix:{done.job.nspace}.0 called PMIx_Abort with status 7: as the test has it', job.get('Reason'))


class OneNode(Basics, Inherited, Control, Spawn):
    nodes = 1


class ThreeNodes(Basics, Inherited, Spawn):
    nodes = 3


class AtRadix2(Basics, Control, Spawn):
    nodes = 5
    radix = 2


if __name__ == '__main__':
    dvmtest.main()
