# SPDX-License-Identifier: LGPL-2.1-or-later
"""Job.CollectStacks: where the processes of a job are, or a sentence that says why that is not known."""

import os
import signal
import stat
import unittest

import dvmtest
import leftovers

HANGING = os.environ.get('DVM_TEST_HANGING', '')
MPI = os.environ.get('DVM_TEST_MPI_ENDLESS')


def collect(job, ranks='', **options):
    """{rank: (node, stack, problem)}; the rows are in the order of the ranks"""
    rows = job.call('CollectStacks', '(sa{sv})', ranks, dvmtest.to_options(options))[0]
    assert [row[0] for row in rows] == sorted({row[0] for row in rows}), rows
    return {row[0]: row[1:] for row in rows}


class Stacks(dvmtest.Case):
    def hang(self, dvm, *words, np=2, **options):
        """A job whose processes are in that function, or its threads in both."""
        job, out, _ = dvm.start([HANGING, *words], np=np, personality='plain', map_by='node', **options)
        dvmtest.wait_until(lambda: out.data.count(b'hanging\n') == np * (1 + len(words)), 'all to hang')
        job.pids()
        return job

    def tool(self, text):
        """The PATH of a folder with this shell script as the tool, and the other programs that it uses."""
        folder = self.place()
        path = os.path.join(folder, 'eu-stack')
        with open(path, 'w', encoding='ascii') as file:
            file.write('#!/bin/sh\n' + text)
        os.chmod(path, stat.S_IRWXU)
        return {'PATH': f'{folder}:{os.environ["PATH"]}'}

    def end(self, job):
        job.cancel()
        job.wait()

    def test_functions(self):
        """The function in which each rank of two nodes hangs, with its node; all threads; some ranks alone."""
        dvm = self.dvm(settings=['nodes=2'])
        job = self.hang(dvm, np=4)
        stacks = collect(job)
        self.assertEqual(list(stacks), [0, 1, 2, 3])
        self.assertEqual({node for node, _, _ in stacks.values()}, {'node1', 'node2'})
        for _, stack, problem in stacks.values():
            self.assertEqual(problem, '')
            self.assertRegex(stack, r' wait_for_nothing\n.* main\n')
        self.assertEqual(list(collect(job, '1,3')), [1, 3])
        for ranks, name in (('4', 'BadParam'), ('x', 'ParseFailed')):
            with self.assertRaises(dvmtest.DBusError) as caught:
                collect(job, ranks)
            self.assertEqual(caught.exception.name, name)
        self.end(job)
        with self.assertRaises(dvmtest.DBusError) as caught:
            collect(job)
        self.assertEqual(caught.exception.name, 'NotFound')
        job = self.hang(dvm, 'threads', np=1)
        stack = collect(job)[0][1]
        self.assertIn('wait_for_nothing', stack)
        self.assertIn('wait_in_a_thread', stack)
        self.end(job)

    @unittest.skipIf(MPI is None, 'no MPI')
    def test_mpi(self):
        """An MPI program, which goes on after it was looked into."""
        dvm = self.dvm(settings=['nodes=2'])
        job, out, _ = dvm.start([MPI], np=2, hosts=['node1'])
        job.wait_running()
        stacks = dvmtest.wait_until(lambda: (lambda found: found if all(
            'MPI_Allreduce' in found[rank][1] for rank in (0, 1)) else None)(collect(job)), 'both ranks to talk')
        self.assertIn('main', stacks[0][1])
        self.end(job)
        self.assertIn(b'talking', out.finish())

    def test_stopped(self):
        """A process that is stopped has a stack, and stays stopped; others go on."""
        dvm = self.dvm(settings=['nodes=2'])
        job = self.hang(dvm)
        pids = job.pids()
        job.signal(signal.SIGSTOP, ranks='1')
        dvmtest.wait_until(lambda: leftovers.get_state(pids[1]) == 'T', 'rank 1 to stop')
        stacks = collect(job)
        self.assertIn('wait_for_nothing', stacks[0][1])
        self.assertIn('wait_for_nothing', stacks[1][1])
        # It runs for a moment when eu-stack has let it go.
        dvmtest.wait_until(lambda: leftovers.get_state(pids[0]) == 'S', 'rank 0 to sleep again')
        self.assertEqual([leftovers.get_state(pid) for pid in pids], ['S', 'T'])
        self.end(job)

    def test_ended_rank(self):
        """A rank that has ended says so; the others have their stacks."""
        dvm = self.dvm(settings=['nodes=2'])
        job = self.hang(dvm, runtime_options='recoverable')
        job.signal(signal.SIGKILL, ranks='0')
        dvmtest.wait_until(lambda: job.get('NumTerminated') == 1, 'rank 0 to end')
        stacks = collect(job)
        self.assertEqual(stacks[0][1:], ('', 'it has ended'))
        self.assertIn('wait_for_nothing', stacks[1][1])
        self.end(job)

    def test_no_tool(self):
        """Nodes without the tool name it, and its package."""
        dvm = self.dvm(settings=['nodes=2'], env={'PATH': self.place()})
        job = self.hang(dvm)
        for _, stack, problem in collect(job).values():
            self.assertEqual(stack, '')
            self.assertRegex(problem, 'eu-stack of the package elfutils')
        self.end(job)

    def test_refused(self):
        """What the tool says last when it may not look."""
        dvm = self.dvm(env=self.tool('echo PID 1; echo eu-stack: Operation not permitted >&2; exit 2\n'))
        job = self.hang(dvm, np=1)
        _, stack, problem = collect(job)[0]
        self.assertEqual(stack, '')
        self.assertRegex(problem, fr'could not read the process {job.pids()[0]}: eu-stack: Operation not permitted')
        self.end(job)

    def test_bounds(self):
        """64 KiB of a process are kept, and what is not UTF-8 is made so."""
        dvm = self.dvm(env=self.tool(r"printf 'caf\351\n'; head -c 3000000 /dev/zero | tr '\0' x" + '\n'))
        job = self.hang(dvm, np=1)
        _, stack, problem = collect(job)[0]
        self.assertEqual((stack[:5], len(stack.encode())), ('caf\ufffd\n', (64 << 10) + 2))
        self.assertIn('64 KiB', problem)
        self.end(job)

    def test_late(self):
        """Tools that take longer than the timeout are ended; ranks whose turn has not come say so. A process that the tool
        has left stopped goes on; one that was stopped before does not.
        """
        dvm = self.dvm(slots=6, env=self.tool('kill -STOP "$4"; exec sleep 600\n'))
        job = self.hang(dvm, np=6)
        job.signal(signal.SIGSTOP, ranks='1')
        dvmtest.wait_until(lambda: leftovers.get_state(job.pids()[1]) == 'T', 'rank 1 to stop')
        stacks = collect(job, timeout=1)
        self.assertEqual(sorted(problem for _, _, problem in stacks.values()),
                         ['it was not read within 1 s'] * 4 + ['its turn has not come within 1 s'] * 2)
        wanted = ['S', 'T', 'S', 'S', 'S', 'S']
        dvmtest.wait_until(lambda: [leftovers.get_state(pid) for pid in job.pids()] == wanted, 'the others to go on')
        self.end(job)

    def test_tool_crashes(self):
        """A process that a tool has left stopped which was ended by a signal goes on."""
        dvm = self.dvm(slots=1, env=self.tool('kill -STOP "$4"; kill -SEGV $$\n'))
        job = self.hang(dvm, np=1)
        self.assertRegex(collect(job)[0][2], r'^eu-stack was ended by signal 11')
        dvmtest.wait_until(lambda: leftovers.get_state(job.pids()[0]) == 'S', 'it to go on')
        self.end(job)

    def test_time_limit(self):
        """At the time limit the state and the stacks are among the errors, and the stacks are kept with the ended job."""
        dvm = self.dvm(settings=['nodes=2'])
        words = 'get-stack-traces,report-state-on-timeout'
        done = dvm.run([HANGING], np=2, personality='plain', map_by='node', timeout=1, runtime_options=words)
        self.assertEqual((done.state, 'time limit' in done.reason), (dvmtest.KILLED_BY_CMD, True), repr(done))
        err = done.err.decode()
        for line in (f'the time limit of job {done.job.nspace} has passed: RUNNING, 2 processes on node1,node2 (2 started, ',
                     'rank 0 on node1: pid ', 'rank 1 on node2: pid ', 'rank 0 on node1:\n', 'rank 1 on node2:\n'):
            self.assertIn(line, err)
        self.assertEqual(err.count('wait_for_nothing'), 2)
        kept = collect(done.job)
        self.assertEqual([(rank, row[0], row[2]) for rank, row in kept.items()], [(0, 'node1', ''), (1, 'node2', '')])
        self.assertIn('wait_for_nothing', kept[1][1])
        self.assertEqual(list(collect(done.job, '1')), [1])
        done = dvm.run([HANGING], np=1, personality='plain', timeout=1, runtime_options='report-state')
        self.assertNotIn(b'wait_for_nothing', done.err)
        self.assertIn(b'rank 0 on node1: pid ', done.err)
        for word in ('get-stack-traces', 'report-state-on-timeout'):
            self.assert_refused('BadParam', [word, 'timeout'], dvm.submit, [HANGING], np=1, runtime_options=word)

    def test_time_limit_and_cancel(self):
        """A job that is cancelled while its stacks are collected has been cancelled, and ends at once."""
        env, begun = self.slow()
        dvm = self.dvm(env=env)
        job = self.hang(dvm, np=1, timeout=1, runtime_options='get-stack-traces')
        dvmtest.wait_until(lambda: os.path.exists(begun), 'the tool to begin')
        job.cancel()
        result = job.wait()
        self.assertEqual(result['state'], dvmtest.KILLED_BY_CMD)
        self.assertNotIn('time limit', result['reason'])

    def ask(self, dvm, job, **options):
        """Asks, and goes on: a list that gets the answer."""
        answers = []
        parameters = dvmtest.GLib.Variant('(sa{sv})', ('', dvmtest.to_options(options)))
        dvm.connection.raw.call(None, job.path, 'org.dvm.Job', 'CollectStacks', parameters, None,
                                dvmtest.Gio.DBusCallFlags.NONE, 60000, None,
                                lambda source, result: answers.append(source.call_finish(result).unpack()[0]))
        return answers

    def begin(self, dvm, job, begun):
        answers = self.ask(dvm, job)
        dvmtest.wait_until(lambda: os.path.exists(begun), 'the tool to begin')
        self.assertEqual(answers, [])
        return answers

    def slow(self):
        """(the environment with a tool that begins and does not end, the file that says that it has)"""
        begun = os.path.join(self.place(), 'begun')
        return self.tool(f'touch {begun}; exec sleep 600\n'), begun

    def test_job_ends(self):
        """The job ends while its stacks are read: that is the answer, at once."""
        env, begun = self.slow()
        dvm = self.dvm(env=env)
        job = self.hang(dvm, np=1)
        answers = self.begin(dvm, job, begun)
        self.end(job)
        dvmtest.wait_until(lambda: answers, 'the answer')
        self.assertEqual(answers[0][0][2:], ('', 'it has ended'))

    def test_node_lost(self):
        """A node is lost meanwhile: its ranks say so, and the others have their stacks."""
        dvm = self.dvm(settings=['nodes=2'])
        job = self.hang(dvm, runtime_options='recoverable')
        lost = leftovers.get_parent(job.pids()[1])
        os.kill(lost, signal.SIGSTOP)
        answers = self.ask(dvm, job)
        os.kill(lost, signal.SIGKILL)
        dvmtest.wait_until(lambda: answers, 'the answer')
        self.assertIn('wait_for_nothing', answers[0][0][2])
        self.assertIn(answers[0][1][3], ('its node was lost', 'it has ended'))
        self.end(job)

    def test_end_of_dvm(self):
        """The DVM ends while a tool runs: nothing is left of it."""
        env, begun = self.slow()
        dvm = self.dvm(env=env)
        job = self.hang(dvm, np=1)
        self.begin(dvm, job, begun)
        dvm.stop()


if __name__ == '__main__':
    dvmtest.main()
