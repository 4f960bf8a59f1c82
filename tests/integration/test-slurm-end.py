# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM lives as long as the job of Slurm that it is in: how long that is, and what becomes of the DVM when Slurm ends it, or takes nodes.

All nodes are this machine; their agents are tasks of a step, by the launcher slurm.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import unittest

import dvmtest
import slurm

CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
NAMES = ('en1', 'en2')
# Each rank notes that it runs, which signals it gets, and that it has had the time to end in good order.
RANK = 'trap "echo TERM >>$0.signals; sleep 0.3; echo ended >>$0.ended; exit 0" TERM; trap "echo USR1 >>$0.signals" USR1; echo >>$0.here; ' \
       'while :; do sleep 0.05; done'
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
# Jobs of the first partition go when one of the second wants their nodes, after a time of grace.
PREEMPTION = """PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=low Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=CANCEL GraceTime=20
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""
SHARED = slurm.Shared(NAMES, more='ReturnToService=0\nKillWait=20\n')


@unittest.skipIf(slurm.explain_absence(), slurm.explain_absence())
class Case(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.cluster = SHARED.get()
        self.cluster.wait_idle()
        self.folder = self.place()
        self.notes = os.path.join(self.folder, 'rank')

    def start(self, *words, arguments=(), settings=()):
        """A DVM in a job of both nodes."""
        self.allocation = self.cluster.allocate(2, '--ntasks-per-node=2', *words)
        self.addCleanup(self.allocation.release)
        return self.dvm(settings=['kill-grace=5', *settings], arguments=arguments, env=self.allocation.get_variables())

    def read(self, what):
        with contextlib.suppress(FileNotFoundError), open(f'{self.notes}.{what}', encoding='utf-8') as file:
            return file.read().split('\n')[:-1]
        return []

    def start_ranks(self, dvm):
        """One on each node, as Slurm sees them before it is used against them."""
        job, _, _ = dvm.start(['sh', '-c', RANK, self.notes], np=2, map_by='node')
        dvmtest.wait_until(lambda: len(self.read('here')) == 2, 'the ranks to run')
        return job

    def states(self, dvm):
        return {row['Name']: row['StateName'] for row in dvm.get_nodes() if row['Rank'] > 0}

    def check_end(self, dvm, *words):
        """It has ended in good order, as a whole and for this reason."""
        self.assertEqual(dvm.wait_exit(), 0)
        for word in words:
            self.assertIn(word, dvm.log())
        self.assertNotIn('is started again', dvm.log())
        self.assertNotIn('has failed', dvm.log())
        dvmtest.wait_until(lambda: dvm.processes() == [], 'all processes to end')


class Time(Case):
    def expires(self, dvm):
        """When the default session ends, in seconds since the epoch."""
        return dvm.connection.call('/org/dvm/sessions/0', dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Session', 'ExpiresAt')[0] / 1e6

    def set_limit(self, words):
        """What it is then, as Slurm says; None: none."""
        if words:
            self.cluster.run(['scontrol', 'update', f'JobId={self.allocation.job}', words])
        said = self.cluster.run(['squeue', '--noheader', f'--jobs={self.allocation.job}', '--format=%e']).strip()
        return None if said == 'NONE' else int(subprocess.run(['date', '+%s', '-d', said], check=True, capture_output=True).stdout)

    def test_limit(self):
        """The time of the job is the default session's, also when somebody changes it."""
        dvm = self.start('--time=10', settings=['plugin-settings=allocator-slurm.interval=1'])
        end = self.set_limit('')
        dvmtest.wait_until(lambda: abs(self.expires(dvm) - end) < 5, 'the limit to be known')
        shown = subprocess.run([CLI, 'session', 'show', '0'], env={**os.environ, 'XDG_RUNTIME_DIR': dvm.runtime, 'DVM_BUS': 'none'}, check=True, capture_output=True,
                               text=True, timeout=60).stdout
        self.assertRegex(shown, r'Time left: 9m')
        later = self.set_limit('TimeLimit=20')
        self.assertGreater(later, end + 500)
        dvmtest.wait_until(lambda: abs(self.expires(dvm) - later) < 5, 'the new limit to be known')
        self.assertIsNone(self.set_limit('TimeLimit=UNLIMITED'))
        dvmtest.wait_until(lambda: self.expires(dvm) == 0, 'no limit to be known')


class Ends(Case):
    def test_cancelled(self):
        """scancel: jobs have their grace, the DVM ends, and nothing of it is left."""
        dvm = self.start()
        self.start_ranks(dvm)
        self.cluster.run(['scancel', self.allocation.job])
        self.check_end(dvm, 'The DVM has ended: ', 'Slurm ends')
        self.assertEqual(self.read('ended'), ['ended'] * 2)
        self.cluster.wait_idle()

    def test_reason(self):
        """Who waits for a job is told that Slurm has ended it."""
        allocation = self.cluster.allocate(2)
        self.addCleanup(allocation.release)
        place = dict(XDG_RUNTIME_DIR=self.folder, XDG_STATE_HOME=self.folder, XDG_CONFIG_HOME=self.folder, HOME=self.folder, DVM_BUS='none')
        allocation.environment.update(place)
        with allocation.popen([CLI, 'run', '-n', '2', 'sh', '-c', RANK, self.notes], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            dvmtest.wait_until(lambda: len(self.read('here')) == 2, 'the ranks to run')
            self.cluster.run(['scancel', allocation.job])
            process.wait(60)
            ended = self.read('ended')
            err = process.communicate(timeout=60)[1]
        self.assertNotEqual(process.returncode, 0)
        self.assertIn('Slurm ends', err)
        self.assertNotIn('was lost', err)
        self.assertEqual(ended, ['ended'] * 2, err)

    def test_warned(self):
        """The signals of sbatch --signal=USR1 and --signal=TERM: the first one is the jobs', the second one ends the DVM. The job goes on."""
        dvm = self.start()
        self.start_ranks(dvm)
        self.cluster.run(['scancel', '--signal=USR1', self.allocation.job])
        dvmtest.wait_until(lambda: self.read('signals') == ['USR1'] * 2, 'the ranks to have their signal')
        self.assertEqual(self.states(dvm), dict.fromkeys(NAMES, 'UP'))
        self.cluster.run(['scancel', '--signal=TERM', self.allocation.job])
        self.check_end(dvm, 'The DVM has ended: Slurm ends the agents of the DVM: STEP ')
        self.assertEqual(self.read('ended'), ['ended'] * 2)
        self.assertEqual(self.cluster.run(['squeue', '--noheader', '--format=%i %T']).split(), [self.allocation.job, 'RUNNING'])

    def test_gone(self):
        """Agents that Slurm knows nothing of: when one is lost, or now and then, Slurm is asked whether there is still a job."""
        for interval in (0, 1):
            dvm = self.start(settings=['launcher=local', f'plugin-settings=allocator-slurm.interval={interval}'])
            job, _, _ = dvm.start(['sleep', '1000'], np=2)
            job.wait_running()
            self.cluster.run(['scancel', self.allocation.job])
            if interval == 0:
                os.kill(dvm.agents[0], signal.SIGKILL)
            self.check_end(dvm, f'The DVM has ended: Job {self.allocation.job} of Slurm ends: it is ')
            self.cluster.wait_idle()

    def test_script_gone(self):
        """A script ends and has not stopped its DVM, of which Slurm knows nothing: it is asked at once."""
        script, log = (os.path.join(self.folder, name) for name in ('script', 'log'))
        places = dict(dict.fromkeys(('HOME', 'XDG_RUNTIME_DIR', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME'), self.folder), DVM_BUS='none')
        self.addCleanup(subprocess.run, [CLI, 'stop', '--force'], env={**os.environ, **places}, check=False, capture_output=True, timeout=60)
        with open(script, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nexport {" ".join("=".join(pair) for pair in places.items())}\n'
                       f'{CLI} start --launcher local --set plugin-settings=allocator-slurm.interval=100000 --report-pid {self.folder}/pid --log {log}\n')
        job = self.cluster.run(['sbatch', '--parsable', '--nodes=2', f'--output={self.folder}/out', script]).strip()
        dvmtest.wait_until(lambda: self.cluster.run(['squeue', '--noheader', '--format=%i']) == '', 'the script to end')
        with open(f'{self.folder}/pid', encoding='ascii') as file:
            pid = int(file.read())
        dvmtest.wait_until(lambda: not os.path.exists(f'/proc/{pid}'), 'the DVM to end')
        with open(log, encoding='utf-8') as file:
            self.assertIn(f'The DVM has ended: Job {job} of Slurm ends: ', file.read())

    def test_lost(self):
        """The loss of all agents alone is not the end: they are started again."""
        dvm = self.start(settings=['launcher=local'])
        for pid in dvm.agents:
            os.kill(pid, signal.SIGKILL)
        dvmtest.wait_until(lambda: 'DOWN' in self.states(dvm).values(), 'the loss')
        dvmtest.wait_until(lambda: self.states(dvm) == dict.fromkeys(NAMES, 'UP'), 'the nodes to be back')


@unittest.skipUnless(LONG, 'it takes seconds: DVM_TEST_SOAK=1')
class Slow(Case):
    def own_cluster(self, more=''):
        self.cluster = slurm.Slurm(NAMES, more='KillWait=20\n' + more)
        self.addCleanup(self.cluster.stop)

    def test_preempted(self):
        """Another job takes the nodes: jobs of the DVM have the grace of Slurm, and the DVM ends within it."""
        self.own_cluster(PREEMPTION)
        dvm = self.start('--partition=low')
        self.start_ranks(dvm)
        urgent = self.cluster.popen(['salloc', '--quiet', '--nodes=2', '--partition=urgent', 'true'], stdin=subprocess.DEVNULL)
        self.addCleanup(urgent.wait, 60)
        self.check_end(dvm, 'The DVM has ended: Slurm ends the agents of the DVM: ')
        self.assertEqual(self.read('ended'), ['ended'] * 2)
        self.assertEqual(urgent.wait(60), 0)

    def test_script(self):
        """A script of sbatch whose last command is a run: scancel reaches script and agents, and the run waits until ranks have had their grace."""
        script = os.path.join(self.folder, 'script')
        out = os.path.join(self.folder, 'out')
        places = ' '.join(f'{name}={self.folder}' for name in ('HOME', 'XDG_RUNTIME_DIR', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME'))
        with open(script, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\ntrap : TERM\nexport DVM_BUS=none {places}\n{CLI} run -n 2 sh -c {shlex.quote(RANK)} {self.notes}\n'
                       f'echo status $? after $(wc -l <{self.notes}.ended)\n')
        self.own_cluster()
        job = self.cluster.run(['sbatch', '--parsable', '--nodes=2', f'--output={out}', script]).strip()
        dvmtest.wait_until(lambda: len(self.read('here')) == 2, 'the ranks to run')
        self.cluster.run(['scancel', job])
        self.cluster.wait_idle()
        with open(out, encoding='utf-8') as file:
            self.assertIn('status 143 after 2\n', file.read())

    def check_one_of_two(self, stopped):
        """A start that may last less long than srun waits has the other node in time."""
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            dvm = self.dvm(settings=['start-timeout=16', 'allow-missing=true', 'heal=false'], env=self.allocation.get_variables())
            self.assertEqual(self.states(dvm), {NAMES[0]: 'UP', NAMES[1]: 'DOWN'})
            self.assertIn('srun has not started its agent within 8 s', dvm.log())
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
        # A small step ends what the first srun has begun.
        self.assertEqual(dvm.stop(), 0)
        dvmtest.wait_until(lambda: dvm.processes() == [], 'all processes to end')

    def test_stopped_slurmd(self):
        """Half of the nodes start nothing any more: srun gives up the whole step, the start fails, names that node alone, and nothing is left of it."""
        self.own_cluster()
        stopped = next(daemon for daemon in self.cluster.daemons if daemon.args[-1] == NAMES[1])
        self.allocation = self.cluster.allocate(2, '--ntasks-per-node=2')
        self.addCleanup(self.allocation.release)
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            dvm = self.try_dvm(settings=['kill-grace=1'], env=self.allocation.get_variables())
            self.assertTrue(dvm.answer.startswith(f'ERROR: 1 of the 2 nodes of the DVM did not come: {NAMES[1]}: '), dvm.answer)
            self.assertEqual(dvm.process.wait(dvmtest.LIMIT), 1)
            self.assertIn(f'failed on node {NAMES[1]}: Socket timed out', dvm.log())
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
        dvmtest.wait_until(lambda: dvm.processes() == [], 'all processes to end')
        dvmtest.wait_until(lambda: self.allocation.list_steps() == [], 'no step to be left')
        self.check_one_of_two(stopped)
        dvm = self.dvm(env=self.allocation.get_variables())
        self.assertEqual(self.states(dvm), dict.fromkeys(NAMES, 'UP'))
        self.finish(dvm)


class Nodes(Case):
    def clear_node(self, dvm):
        """Slurm kills agents and guards at once: nobody is left who would remove their directories."""
        for name in os.listdir(os.path.join(dvm.runtime, 'dvm')):
            if name.startswith('agent-'):
                shutil.rmtree(os.path.join(dvm.runtime, 'dvm', name))

    def check_rest(self, dvm):
        """The others go on, and what was lost is not tried again."""
        done = dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=2)
        self.assertEqual(done.lines, ['en1'] * 2, done)
        self.assertEqual(dvm.stop(), 0)
        self.assertNotIn('is started again', dvm.log())
        self.clear_node(dvm)
        dvm.check_clean()

    def test_taken(self):
        """A node that leaves the job leaves the DVM."""
        dvm = self.start(arguments=['--elastic'])
        self.cluster.run(['scontrol', 'update', f'JobId={self.allocation.job}', 'NodeList=en1'])
        dvmtest.wait_until(lambda: self.states(dvm) == {'en1': 'UP'}, 'en2 to leave')
        self.assertIn(f'it has left job {self.allocation.job} of Slurm', dvm.log())
        self.check_rest(dvm)

    def test_down(self):
        """A node that Slurm marks down is lost, for the reason that Slurm has."""
        dvm = self.start('--no-kill')
        self.addCleanup(self.cluster.run, ['scontrol', 'update', 'NodeName=en2', 'State=RESUME'])
        self.cluster.run(['scontrol', 'update', 'NodeName=en2', 'State=DOWN', 'Reason=fire in the rack'])
        dvmtest.wait_until(lambda: self.states(dvm)['en2'] == 'DOWN', 'the loss of en2')
        row = next(row for row in dvm.get_nodes() if row['Name'] == 'en2')
        self.assertTrue(row['Reason'].startswith('Slurm has marked it down (fire in the rack)'), row['Reason'])
        self.assertNotIn('started again', row['Reason'])
        self.check_rest(dvm)


if __name__ == '__main__':
    dvmtest.main()
