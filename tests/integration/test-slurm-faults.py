# SPDX-License-Identifier: LGPL-2.1-or-later
"""Commands of Slurm that warn, hang or are killed, jobs that end under a campaign, and several DVMs in one job: a sentence, and Slurm and
the DVM agree afterwards. A real Slurm, of which all nodes are this machine; what is wrong with a command is in a script before it."""

import os
import shutil
import signal
import subprocess
import unittest

import dvmtest
import leftovers
import slurm

CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
soak = unittest.skipUnless(LONG, 'it takes seconds: DVM_TEST_SOAK=1')
NAMES = ('fn1', 'fn2', 'fn3')
WHERE = ['sh', '-c', 'echo $DVM_NODE']
WARNING = '#!/bin/sh\necho "NAME: warning: the weather is bad"\necho "NAME: warning: it is" >&2\nexec REAL "$@"\n'
# The first call goes wrong, later ones do not.
HANGING = '#!/bin/sh\n[ -e PLACE/asked ] || { : >PLACE/asked; exec sleep 1000000; }\nexec REAL "$@"\n'
KILLED = '#!/bin/sh\n[ -e PLACE/asked ] || { : >PLACE/asked; kill -KILL $$; }\nexec REAL "$@"\n'
KILLED_AFTER = '#!/bin/sh\nREAL "$@"\nkill -KILL $$\n'
# Its messages come after its end, on a way of their own.
LATE = '#!/bin/sh\nREAL "$@" 2>PLACE/words\nstatus=$?\n(sleep 0.3; cat PLACE/words >&2) &\nexit $status\n'
HELD = '#!/bin/sh\n: >PLACE/asked\nuntil [ -e PLACE/go ]; do sleep 0.05; done\nexec REAL "$@"\n'
SHARED = slurm.Shared(NAMES, resizes=True)
# srun waits for twice as long.
QUICK = slurm.Shared(NAMES, more='MessageTimeout=2\n')


@unittest.skipIf(slurm.explain_absence(), slurm.explain_absence())
class Case(dvmtest.Case):
    shared = SHARED

    def setUp(self):
        super().setUp()
        self.cluster = self.shared.get()
        self.cluster.wait_idle()
        self.folder = self.place()

    def allocate(self, nodes, *words):
        self.allocation = self.cluster.allocate(nodes, *(words or ('--ntasks-per-node=2', '--mem=100')))
        self.addCleanup(self.allocation.release)
        return self.allocation

    def script(self, text, *names):
        """Stands for these commands of Slurm."""
        for name in names:
            path = os.path.join(self.folder, name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text.replace('PLACE', self.folder).replace('REAL', shutil.which(name) or '').replace('NAME', name))
            os.chmod(path, 0o755)

    def start(self, nodes, *settings, **more):
        """An elastic DVM in a job of so many nodes, which finds the scripts before the commands."""
        allocation = self.allocate(nodes)
        return self.dvm(settings=['kill-grace=1', *settings], arguments=['--elastic'],
                        env={**allocation.get_variables(), 'PATH': f'{self.folder}:{os.environ["PATH"]}', **more})

    def names(self, dvm):
        return sorted(row['Name'] for row in dvm.get_nodes() if row['Rank'] > 0 and row['StateName'] == 'UP')

    def held(self):
        """The nodes that the job has, as Slurm says."""
        names = self.cluster.run(['squeue', '--noheader', f'--jobs={self.allocation.job}', '--format=%N']).strip()
        return self.cluster.run(['scontrol', 'show', 'hostnames', names]).split()

    def jobs(self):
        return self.cluster.run(['squeue', '--noheader', '--format=%i']).split()

    def call(self, dvm, method, **request):
        dvm.call(method, '(a{sv})', dvmtest.to_options(request))
        dvmtest.wait_until(lambda: dvm.get('CampaignsRunning') == 0, 'no campaign to run')

    def check(self, dvm, *names, more=()):
        """The DVM has these nodes, and the job these and those, and no other job is there."""
        self.assertEqual((self.names(dvm), self.held()), (list(names), sorted([*names, *more])), dvm.log())
        self.assertEqual(self.jobs(), [self.allocation.job])
        self.assertEqual(set(dvm.run(WHERE, np=2 * len(names)).lines), set(names))

    def begin(self, dvm, method, **request):
        """Calls it without waiting for the answer."""
        dvm.connection.raw.call(None, *dvmtest.MANAGER, method, dvmtest.GLib.Variant('(a{sv})', (dvmtest.to_options(request),)), None,
                                dvmtest.Gio.DBusCallFlags.NONE, -1, None, None)

    def wait_for(self, name):
        dvmtest.wait_until(lambda: os.path.exists(os.path.join(self.folder, name)), f'{name} is there')


class Commands(Case):
    def test_warnings(self):
        """What is said before the answer, on either way, is no part of it."""
        self.script(WARNING, 'squeue', 'scontrol', 'salloc', 'srun')
        dvm = self.start(2, 'plugin-settings=allocator-slurm.interval=1')
        self.call(dvm, 'Grow', count=1)
        self.check(dvm, *NAMES)
        self.assertNotIn('does not say', dvm.log())

    def test_late_words(self):
        """The number of the second job is read after its end, for the one is a message and the other is output."""
        self.script(LATE, 'salloc')
        dvm = self.start(2, 'allocator-timeout=10')
        self.call(dvm, 'Grow', count=1)
        self.check(dvm, *NAMES)

    @soak
    def test_hangs(self):
        """A command that does not end is killed, the node stays in the job, and the next change is not held up."""
        self.script(HANGING, 'scontrol')
        dvm = self.start(3, 'plugin-settings=allocator-slurm.timeout=15')
        self.call(dvm, 'Shrink', hosts=['fn2'])
        self.assertIn('keeps them; scontrol says: scontrol has not ended within 15 s (allocator-slurm.timeout)', dvm.log())
        self.assertEqual([pid for pid in dvm.processes() if leftovers._get_program(pid) == 'sleep'], [])
        self.check(dvm, 'fn1', 'fn3', more=['fn2'])
        self.call(dvm, 'Shrink', hosts=['fn3'])
        self.check(dvm, 'fn1', more=['fn2'])

    @soak
    def test_killed_before(self):
        """scontrol is killed before it has done anything, as a job becomes larger: all is as it was."""
        self.script(KILLED, 'scontrol')
        dvm = self.start(2)
        with self.assertRaises(dvmtest.DBusError) as caught:
            self.call(dvm, 'Grow', count=1)
        self.assertIn(f'job {self.allocation.job} of Slurm gets no more nodes', caught.exception.message)
        dvmtest.wait_until(lambda: self.jobs() == [self.allocation.job], 'the second job to go')
        self.check(dvm, 'fn1', 'fn2')

    def test_killed_after(self):
        """scontrol has done it, and could not say so: Slurm is asked."""
        self.script(KILLED_AFTER, 'scontrol')
        dvm = self.start(2)
        self.call(dvm, 'Shrink', hosts=['fn2'])
        self.assertNotIn('does not take nodes back', dvm.log())
        self.check(dvm, 'fn1')

    @soak
    def test_killed_between(self):
        """The same with more nodes, which go back and come again."""
        self.script(KILLED_AFTER, 'scontrol')
        dvm = self.start(1)
        for _ in range(2):
            self.call(dvm, 'Grow', count=2)
            self.check(dvm, *NAMES)
            if not self.cluster.resizes():
                return
            self.call(dvm, 'Shrink', hosts=['fn2', 'fn3'])
            self.check(dvm, 'fn1')


@soak
class Stopped(Case):
    """Half an allocation does not answer: slurmd is there, and stands still."""
    shared = QUICK

    def stop(self, *names):
        daemons = [one for one in self.cluster.daemons if one.args[-2] == '-N' and one.args[-1] in names]
        self.assertEqual(len(daemons), len(names))
        for one in daemons:
            one.send_signal(signal.SIGSTOP)
            self.addCleanup(one.send_signal, signal.SIGCONT)

    def check_reason(self, dvm, name):
        reason = next(row['Reason'] for row in dvm.get_nodes() if row['Name'] == name)
        self.assertRegex(reason, f'^srun says: Task launch for .* failed on node {name}: ')

    def test_start(self):
        """The DVM has the nodes that answer, and the reason of each other one is in srun's words."""
        self.allocate(3)
        self.stop('fn1', 'fn3')
        dvm = self.dvm(settings=['kill-grace=1', 'allow-missing=true'], env=self.allocation.get_variables())
        self.assertEqual(self.names(dvm), ['fn2'], dvm.log())
        for name in ('fn1', 'fn3'):
            self.check_reason(dvm, name)
        self.assertEqual(set(dvm.run(WHERE, np=2).lines), {'fn2'})

    def test_start_of_all(self):
        """Without --allow-missing the start fails, and names those nodes alone."""
        self.allocate(3)
        self.stop('fn1', 'fn3')
        dvm = self.try_dvm(env=self.allocation.get_variables())
        self.assertRegex(dvm.answer, '2 of the 3 nodes of the DVM did not come: ')
        self.assertRegex(dvm.answer, 'srun says: Task launch for .* failed on node fn1: ')
        self.assertNotIn('fn2', dvm.answer)
        dvm.wait_exit()

    def test_grow(self):
        """A grow that a node does not come to fails for the reason of that node, and all is as it was."""
        self.allocate(3)
        self.stop('fn3')
        dvm = self.dvm(settings=['kill-grace=1', 'hosts=fn1:2'], arguments=['--elastic'], env=self.allocation.get_variables())
        self.call(dvm, 'Grow', hosts=['fn2', 'fn3'])
        self.assertRegex(dvm.log(), r'campaign 1 \(grow of fn2, fn3\) has failed: fn3: srun says: Task launch for ')
        self.assertEqual(self.names(dvm), ['fn1'])
        self.call(dvm, 'Grow', hosts=['fn2'])
        self.assertEqual(self.names(dvm), ['fn1', 'fn2'])


class Ends(Case):
    def check_end(self, dvm, *others):
        """The job has ended and the DVM with it, in good order; nothing of it waits in the queue."""
        self.assertEqual(dvm.wait_exit(), 0, dvm.log())
        self.assertRegex(dvm.log(), 'The DVM has ended: .*Slurm ends|The DVM has ended: Job .* of Slurm ends')
        dvmtest.wait_until(lambda: self.jobs() == list(others), f'no job to be left: {self.jobs()}')
        dvmtest.wait_until(lambda: dvm.processes() == [], 'all processes to end')

    @soak
    def test_in_a_grow(self):
        """scancel, while a second job waits for nodes that somebody else has."""
        dvm = self.start(2)
        mine = self.allocation
        other = self.allocate(1, '--exclusive', '--nodelist=fn3')
        self.begin(dvm, 'Grow', count=1)
        dvmtest.wait_until(lambda: len(self.jobs()) == 3, 'the second job')
        self.cluster.run(['scancel', mine.job])
        self.check_end(dvm, other.job)

    @soak
    def test_in_a_shrink(self):
        """scancel, while scontrol is at work."""
        self.script(HELD, 'scontrol')
        dvm = self.start(2)
        self.begin(dvm, 'Shrink', hosts=['fn2'])
        self.wait_for('asked')
        self.cluster.run(['scancel', self.allocation.job])
        self.script('', 'go')
        self.check_end(dvm)


class Several(Case):
    @soak
    def test_two_dvms(self):
        """Two in one job have the same nodes; one that leaves the job leaves both."""
        first = self.start(2)
        second = self.dvm(settings=['kill-grace=1'], name='second', arguments=['--elastic'], env=self.allocation.get_variables())
        for dvm in (first, second):
            self.check(dvm, 'fn1', 'fn2')
        self.call(first, 'Shrink', hosts=['fn2'])
        dvmtest.wait_until(lambda: self.names(second) == ['fn1'], 'the other one to have heard')
        for dvm in (first, second):
            self.check(dvm, 'fn1')
        # Slurm kills agents and guards at once: nobody is left who would remove their directories.
        for name in os.listdir(os.path.join(second.runtime, 'dvm')):
            if name.startswith('agent-'):
                shutil.rmtree(os.path.join(second.runtime, 'dvm', name))

    @soak
    def test_taken_name(self):
        """A second start of the same name says so, and the first one goes on."""
        allocation = self.allocate(2)
        place = dict(XDG_RUNTIME_DIR=self.folder, XDG_STATE_HOME=self.folder, XDG_CONFIG_HOME=self.folder, HOME=self.folder, DVM_BUS='none')
        allocation.environment.update(place)
        self.addCleanup(lambda: subprocess.run([CLI, 'stop', '--force'], env={**os.environ, **place}, check=False, stdin=subprocess.DEVNULL,
                                               capture_output=True, timeout=60))
        allocation.run([CLI, 'start'])
        with self.assertRaisesRegex(AssertionError, 'runs already|already'):
            allocation.run([CLI, 'start'])
        self.assertEqual(sorted(allocation.run([CLI, 'run', '-n', '4', *WHERE]).split()), ['fn1', 'fn1', 'fn2', 'fn2'])
        allocation.run([CLI, 'stop'])

    @soak
    def test_nested(self):
        """A DVM in a step of srun has the nodes of the job, and its ranks may call srun themselves."""
        allocation = self.allocate(2)
        allocation.environment.update(XDG_RUNTIME_DIR=self.folder, XDG_STATE_HOME=self.folder, XDG_CONFIG_HOME=self.folder, HOME=self.folder,
                                      DVM_BUS='none')
        inner = 'echo $DVM_NODE $(srun --overlap --nodes=1 --ntasks=1 --nodelist=$DVM_NODE sh -c \'echo $SLURMD_NODENAME\')'
        said = allocation.run(['srun', '--overlap', '--nodes=1', '--ntasks=1', CLI, 'run', '-n', '2', '--map-by', 'node', 'sh', '-c', inner])
        self.assertEqual(sorted(said.splitlines()), ['fn1 fn1', 'fn2 fn2'])
        dvmtest.wait_until(lambda: allocation.list_steps() == [], 'no step to be left')


if __name__ == '__main__':
    dvmtest.main()
