# SPDX-License-Identifier: LGPL-2.1-or-later
"""The launcher slurm, in allocations of a real Slurm whose nodes are all this machine."""

import os
import shutil
import signal
import unittest

import dvmtest
import launching
import leftovers
import slurm

STEP = 'dvm-agents'
# Is called as srun, and hangs as one does that waits for resources.
HANGING = '#!/bin/sh\necho "srun: error: Requested nodes are busy" >&2\nexec sleep 1000000\n'
# Likewise, when the first of two agents is there.
HALF = '#!/bin/sh\necho "0: dvm-agent-process $$ n1" >&2\necho "0: the first one" >&2\nexec sleep 1000000\n'
# Likewise; what it is given beside the first agent is written down.
WAITING = '#!/bin/sh\ncase " $* " in *" --nodes=2 "*) ;; *) exec REAL "$@" ;; esac\n' \
          'echo "0: dvm-agent-process $$ n1" >&2\nread -r line && echo "$line" >PLACE/given\n'
# What srun 22.05 has said when the slurmd of n2 was stopped; of 20 s the first agent has waited.
REFUSED = '#!/bin/sh\ncase " $* " in *" --nodes=2 "*) ;; *) exec REAL "$@" ;; esac\ncat >&2 <<END\n' \
          '0: dvm-agent-process 4711 n1\n' \
          'srun: error: slurm_receive_msgs: [[localhost]:33943] failed: Socket timed out on send/recv operation\n' \
          'srun: error: Task launch for StepId=1.0 failed on node n2: Socket timed out on send/recv operation\n' \
          'srun: error: Application launch failed: Socket timed out on send/recv operation\n' \
          'srun: Job step aborted: Waiting up to 5 seconds for job step to finish.\n' \
          '0: slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-28T19:19:39 ***\n' \
          'srun: error: n1: task 0: Killed\n' \
          'END\nexit 140\n'
# An srun that has said so, and does not end.
REFUSED_SLOWLY = '#!/bin/sh\ncase " $* " in *" --nodes=2 "*) ;; *) exec REAL "$@" ;; esac\n' \
                 'echo "srun: error: Task launch for StepId=1.0 failed on node n2: Socket timed out on send/recv operation" >&2\nexec sleep 1000000\n'
# Is called as squeue, and answers when it may.
SQUEUE = '#!/bin/sh\n: >PLACE/asked\nuntil [ -e PLACE/go ]; do sleep 0.05; done\necho "n[1-2]"\n'
# Does not end with its input, nor by a signal that asks.
STUBBORN = '#!/bin/sh\ntrap "" TERM HUP\nfor word; do last=$word; done\nexec >&- 2>&-\necho $$ >PLACE/$last.new\n' \
           'mv PLACE/$last.new PLACE/$last.pid\nwhile :; do sleep 0.05; done\n'
SHARED = slurm.Shared()


@unittest.skipIf(slurm.explain_absence(), slurm.explain_absence())
class SlurmLaunch(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.launches = []
        self.folder = self.place()
        self.agent = self.script('agent', launching.AGENT)
        self.cluster = SHARED.get()
        self.allocation = self.cluster.allocate(2, '--ntasks-per-node=2', '--mem=500')
        self.addCleanup(self.allocation.release)

    def clear(self):
        for launch in self.launches:
            launch.close()
        for dvm in self.dvms:
            dvm.discard()
        super().clear()

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def launch(self, nodes, agent, environment=None, **values):
        """A launch in the allocation."""
        launch = launching.Launch('slurm', nodes, agent, start=lambda argv, **options: self.cluster.popen(
            argv, {**self.allocation.environment, **(environment or {})}, **options), **values)
        self.launches.append(launch)
        return launch

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding='utf-8') as file:
            return file.read()

    def wait_for(self, *names):
        for name in names:
            dvmtest.wait_until(lambda one=name: os.path.exists(os.path.join(self.folder, one)), f'{name} is there')

    def wait_for_no_step(self):
        """Slurm forgets a step when its nodes have said that it has ended, which may be after its srun has."""
        dvmtest.wait_until(lambda: self.allocation.list_steps() == [], 'no step to be left')

    def end(self, launch):
        launch.order('terminate')
        self.assertEqual(launch.expect('terminated'), 'terminated done')
        self.wait_for_no_step()
        self.assertEqual(launch.close(), 0)

    def start_dvm(self, *settings):
        return self.dvm(env=self.allocation.get_variables(), settings=['hosts=n1:2,n2:2', *settings])

    def states(self, dvm):
        return {node['Name']: node['State'] for node in dvm.get_nodes()}

    # ---- a DVM ----

    def test_dvm(self):
        """It is chosen by itself, starts all agents by one step, and the allocation is the user's all the while."""
        dvm = self.start_dvm()
        rows = [node for node in dvm.get_nodes() if node['Rank'] > 0]
        self.assertEqual([node['Launcher'] for node in rows], ['slurm'] * 2)
        self.assertEqual([line.split()[1] for line in self.allocation.list_steps()], [STEP])
        script = 'echo $DVM_NODE $SLURM_JOB_ID $SLURM_NTASKS ${SLURM_PROCID-none} ${SLURM_STEP_ID-none}'
        done = dvm.run(['sh', '-c', script], np=4)
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), sorted(f'{node} {self.allocation.job} 4 none none' for node in ('n1', 'n2') * 2))
        job, _, _ = dvm.start(['sleep', '1000'], np=4)
        job.wait_running()
        # All of the allocation's cpus and memory, while a job has them.
        out = self.allocation.run(['srun', '--immediate=20', '--nodes=2', '--ntasks=4', '--mem=500', 'sh', '-c', 'echo $SLURMD_NODENAME'])
        self.assertEqual(sorted(out.split()), ['n1', 'n1', 'n2', 'n2'])
        job.cancel()
        job.wait()
        self.assertEqual(dvm.stop(), 0)
        self.wait_for_no_step()
        dvm.check_clean()

    def test_launch(self):
        """Agents get their words and their secret, which neither ps nor Slurm shows."""
        token = f'dvm1:token-of-srun-{os.getpid()}'
        words = [self.folder, "it's", 'two words', '$HOME', '']
        launch = self.launch(['n1', 'n2'], [self.agent, *words], token=token)
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.wait_for('n1.pid', 'n2.pid')
        for name in ('n1', 'n2'):
            self.assertEqual(self.read(f'{name}.argv').split('\n'), [*words, '--node', name, ''])
        self.assertEqual({self.read('n1.token'), self.read('n2.token')}, {token + '\n'})
        seen = self.cluster.run(['scontrol', '--details', 'show', 'step']) + self.cluster.run(['squeue', '--steps', '--format=%all'])
        for pid in self.cluster.find_processes():
            # The program that plays the DVM gets it as an argument.
            if pid not in (launch.process.pid, os.getpid()):
                seen += leftovers.describe_process(pid) + leftovers._read(f'/proc/{pid}/environ').decode(errors='replace')
        self.assertIn('dvm-agent', seen)
        self.assertNotIn(token, seen)
        self.end(launch)
        self.assertIn(': n1: agent of n1 is here', '\n'.join(launch.log))
        self.assertFalse(launch.failures())

    def test_lost_agent(self):
        dvm = self.start_dvm()
        daemons = {leftovers._read(f'/proc/{pid}/cmdline').split(b'\0')[-2].decode(): pid for pid in dvm.processes()
                   if leftovers._get_program(pid) == 'dvm-agent'}
        self.assertEqual(sorted(daemons), ['n1', 'n2'])
        job, _, _ = dvm.start(['sleep', '1000'], np=4, recoverable=True)
        job.wait_running()
        os.kill(daemons['n1'], signal.SIGKILL)
        dvmtest.wait_until(lambda: self.states(dvm)['n1'] != self.states(dvm)['n2'], 'the loss of n1 to be noticed')
        job.cancel()
        job.wait()
        done = dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=2)
        self.assertEqual(done.lines, ['n2'] * 2)
        self.assertEqual([line.split()[1] for line in self.allocation.list_steps()], [STEP])
        self.assertEqual(dvm.stop(), 0)
        self.wait_for_no_step()

    def test_killed_controller(self):
        """Nothing goes on in the allocation without its DVM."""
        dvm = self.start_dvm()
        job, _, _ = dvm.start(['sleep', '1000'], np=4)
        job.wait_running()
        dvm.process.kill()
        dvm.wait_exit()
        self.wait_for_no_step()
        dvmtest.wait_until(lambda: dvm.processes() == [], 'the processes to end')

    def test_only_its_nodes(self):
        """Nodes that are not of the allocation, or are reached in a way of their own, are another launcher's."""
        dvm = self.try_dvm(env=self.allocation.environment, settings=['hosts=n1,elsewhere', 'launcher=slurm'])
        self.assertIn('the launcher that was asked for does not start agents there', dvm.answer + dvm.log())
        dvm.wait_exit()
        for nodes, environment in ((['n1', 'n3'], {}), (['n1'], {'SLURM_JOB_ID': '77', 'SLURM_JOB_NODELIST': ''}),
                                   (['n1'], {'SLURM_JOB_ID': '', 'SLURM_JOBID': ''})):
            launch = self.launch(nodes, [self.agent, self.folder], environment)
            self.assertEqual(launch.expect('launched'), 'launched declined')
            self.assertEqual(launch.close(), 0)
        # What the environment says is that of the start: the allocation may have grown. Wishes of the user's squeue are not the launcher's.
        launch = self.launch(['n2'], [self.agent, self.folder], {'SLURM_JOB_NODELIST': 'n1', 'SQUEUE_STATES': 'PENDING'})
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.wait_for('n2.pid')
        self.end(launch)

    # ---- agents that fail, and those that do not end ----

    def test_reasons(self):
        cases = [('/nonexistent/agent', {}, 'NotFound', 'agent missing'),
                 (self.script('old', '#!/bin/sh\necho this is 0.0 >&2\nexit 76'), {}, 'NotSupported', 'version: '),
                 (self.script('seven', '#!/bin/sh\necho oh no >&2\nexit 7'), {}, 'LaunchFailed', 'status 7: oh no'),
                 (self.script('dies', '#!/bin/sh\nkill -SEGV $$'), {}, 'LaunchFailed', 'signal 11'),
                 (self.agent, {'options': '--gres=nonsense:1'}, 'LaunchFailed', 'generic resource'),
                 (self.agent, {'options': '"'}, 'LaunchFailed', 'are no words')]
        for program, values, code, words in cases:
            launch = self.launch(['n1', 'n2'], [program, self.folder], **values)
            failure = launch.expect('failed 0 ')
            self.assertEqual(failure.split()[2], code, failure)
            self.assertIn('n1: ', failure)
            self.assertIn(words, failure)
            launch.order('terminate')
            launch.expect('terminated')
            self.assertEqual(launch.close(), 0)
        # The step of an agent that cannot be started ends with it.
        self.wait_for_no_step()

    def test_hanging(self):
        """An srun that gets no resources is ended in time."""
        self.script('srun', HANGING)
        path = {'PATH': f'{self.folder}:{os.environ["PATH"]}'}
        launch = self.launch(['n1', 'n2'], [self.agent, self.folder], path, timeout=1, grace=1)
        self.assertEqual(launch.expect('failed 0 ').split()[2], 'Timeout')
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.end(launch)
        launch = self.launch(['n1'], [self.agent, self.folder], path)
        dvmtest.wait_until(lambda: any('busy' in line for line in launch.log), 'srun to speak')
        launch.order('cancel')
        self.assertEqual(launch.expect('launched'), 'launched failed')
        launch.order('terminate')
        self.assertEqual(launch.expect('terminated'), 'terminated declined')
        self.assertEqual(launch.close(), 0)

    def launch_in_part(self, text, **values):
        """A launch of two, of which n2 fails; n1 starts by the real srun, and the reason of n2 is returned."""
        self.script('srun', text.replace('REAL', shutil.which('srun')).replace('PLACE', self.folder))
        launch = self.launch(['n1', 'n2'], [self.agent, self.folder], {'PATH': f'{self.folder}:{os.environ["PATH"]}'}, grace=1, **values)
        launch.expect('launched done')
        self.wait_for('n1.pid')
        self.assertEqual(self.allocation.list_steps()[0].split()[1:], [STEP])
        self.end(launch)
        self.assertEqual(list(launch.failures()), [1], launch.seen)
        self.assertFalse([line for line in launch.seen if line.startswith('ends')], launch.seen)
        self.assertIn('started again', '\n'.join(launch.log))
        return launch.failures()[1]

    def test_refused(self):
        """A node that does not take its task takes no other along: these are started again without it."""
        code, reason = self.launch_in_part(REFUSED)
        self.assertEqual(code, 'LaunchFailed')
        self.assertEqual(reason, 'n2: srun says: Task launch for StepId=1.0 failed on node n2: Socket timed out on send/recv operation')

    def test_refused_slowly(self):
        """The others are not late while srun, which starts them no more, has not ended: it is ended."""
        code, reason = self.launch_in_part(REFUSED_SLOWLY, timeout=2)
        self.assertEqual(code, 'LaunchFailed')
        self.assertIn('failed on node n2', reason)

    def test_start_timeout(self):
        """A start that may not last as long as launcher-timeout has the nodes that come in half of its time."""
        self.script('srun', WAITING.replace('REAL', shutil.which('srun')).replace('PLACE', self.folder))
        dvm = self.dvm(env={**self.allocation.get_variables(), 'PATH': f'{self.folder}:{os.environ["PATH"]}', 'SLURM_CONF': self.cluster.configuration},
                       settings=['hosts=n1:2,n2:2', 'start-timeout=5', 'allow-missing=true', 'heal=false'])
        rows = {node['Name']: node for node in dvm.get_nodes() if node['Rank'] > 0}
        self.assertEqual({name: row['StateName'] for name, row in rows.items()}, {'n1': 'UP', 'n2': 'DOWN'})
        self.assertIn('srun has not started its agent within 2 s', rows['n2']['Reason'])
        self.assertEqual(dvm.stop(), 0)
        self.wait_for_no_step()

    def test_waiting(self):
        """A node that does not come in time likewise. No agent has begun by then, which would end again."""
        code, reason = self.launch_in_part(WAITING, timeout=1)
        self.assertEqual(code, 'Timeout')
        self.assertEqual(reason, 'n2: timeout: srun has not started its agent within 1 s')
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'given')))

    def ask(self, **values):
        """A launch whose squeue has been asked, and answers when "go" is there."""
        self.script('squeue', SQUEUE.replace('PLACE', self.folder))
        launch = self.launch(['n1', 'n2'], [self.agent, self.folder],
                             {'PATH': f'{self.folder}:{os.environ["PATH"]}', 'SLURM_JOB_NODELIST': 'n1'}, **values)
        self.wait_for('asked')
        return launch

    def test_ended_before(self):
        """Agents that are ended while squeue is asked are not started, and nothing is left to decline."""
        launch = self.ask()
        launch.order('terminate 0')
        self.assertEqual(launch.expect('terminated'), 'terminated done')
        self.script('go', '')
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.wait_for('n2.pid')
        self.end(launch)
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'n1.argv')))
        self.assertFalse(launch.failures())
        os.remove(os.path.join(self.folder, 'go'))
        os.remove(os.path.join(self.folder, 'asked'))
        launch = self.ask(timeout=1)
        launch.order('terminate')
        self.assertEqual(launch.expect('terminated'), 'terminated done')
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.assertEqual(launch.close(), 0)

    def test_hanging_squeue(self):
        """The start is another launcher's in time, and the log says why."""
        launch = self.ask(timeout=1)
        self.assertEqual(launch.expect('launched'), 'launched declined')
        self.assertEqual(launch.close(), 0)
        self.assertIn('squeue does not say which nodes the job has', '\n'.join(launch.log))
        self.assertIn('within 1 s', '\n'.join(launch.log))

    def test_cancelled_among_others(self):
        """Agents that have not come when their start is cancelled are ended in time, also where others go on."""
        self.script('srun', HALF)
        path = {'PATH': f'{self.folder}:{os.environ["PATH"]}'}
        # What ends them is not that they are late.
        launch = self.launch(['n1', 'n2'], [self.agent, self.folder], path, grace=1, timeout=1000)
        dvmtest.wait_until(lambda: any('the first one' in line for line in launch.log), 'the first agent')
        launch.order('cancel')
        launch.order('terminate 1')
        self.assertEqual(launch.expect('terminated'), 'terminated done')
        self.end(launch)
        self.assertIn('launched failed', launch.seen)

    def test_stubborn(self):
        """One that does not end is ended alone, and the others go on."""
        agent = self.script('stubborn', STUBBORN.replace('PLACE', self.folder))
        launch = self.launch(['n1', 'n2'], [agent], grace=1)
        self.wait_for('n1.pid', 'n2.pid')
        first, second = int(self.read('n1.pid')), int(self.read('n2.pid'))
        launch.order('terminate 0')
        self.assertEqual(launch.expect('terminated'), 'terminated done')
        self.assertFalse(leftovers.is_running(first))
        self.assertTrue(leftovers.is_running(second))
        self.end(launch)
        dvmtest.wait_until(lambda: not leftovers.is_running(second), 'the second one to be killed')


if __name__ == '__main__':
    dvmtest.main()
