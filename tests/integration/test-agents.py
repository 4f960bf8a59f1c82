# SPDX-License-Identifier: LGPL-2.1-or-later
"""Agents of their own: what the controller knows of them, and how they and it part."""

import os
import signal
import unittest

import dvmtest
import leftovers

# Nodes that are lost stay DOWN here: test-heal.py is about those that come back.
os.environ['DVM_HEAL'] = 'false'

COMM_FAILED, MAP_FAILED = 56, 69
DEAF = ['sh', '-c', "trap '' TERM; (setsid sleep 1000 >/dev/null 2>&1 &); echo deaf; while :; do sleep 1000; done"]


class Agents(dvmtest.Case):
    def start(self, nodes=4, **options):
        return self.dvm(settings=[f'nodes={nodes}', 'slots=2'], **options)

    def pids(self, dvm):
        return {row['Name']: row['Pid'] for row in dvm.get_nodes() if row['Rank'] > 0}

    def wait_state(self, dvm, name, state):
        def row():
            return next(each for each in dvm.get_nodes() if each['Name'] == name and each['Rank'] > 0)
        dvmtest.wait_until(lambda: row()['StateName'] == state, f'{name} to be {state}')
        return row()

    def test_topology_of_like_nodes(self):
        """One node says for all that are alike: the others are not asked, and need not be able to answer."""
        dvm = self.start()
        get = lambda rank: dvm.connection.call(f'/org/dvm/nodes/{rank}', 'org.dvm.Node', 'GetTopology')[0]
        first = get(1)
        self.assertIn('<topology', first)
        pid = self.pids(dvm)['node2']
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertEqual(get(2), first)
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_one_that_leaves(self):
        """An agent that somebody else ends is a lost one, with what runs there; the DVM goes on."""
        dvm = self.dvm(settings=['nodes=4', 'slots=8'])
        jobs = [dvm.submit(['sleep', '1000'], np=2, hosts=hosts, recoverable=recoverable)
                for hosts, recoverable in ((['node3:2'], False), (['node2:1', 'node3:1'], False), (['node3:2'], True))]
        survivor = dvm.submit(['sh', '-c', '[ $DVM_RANK = 1 ] && exec sleep 1000; read line; exit 0'], np=2,
                              hosts=['node2:1', 'node3:1'], recoverable=True, stdin='0')
        for job in [*jobs, survivor]:
            job.wait_running()
        os.kill(self.pids(dvm)['node3'], signal.SIGTERM)
        self.wait_state(dvm, 'node3', 'DOWN')
        for job in jobs:
            result = job.wait()
            self.assertEqual(result['state'], COMM_FAILED, result)
            self.assertIn('node3 was lost: its agent leaves: a signal ends it', result['reason'])
        os.close(survivor.attach(stdin=True)['stdin'])
        self.assertEqual(survivor.wait()['state'], dvmtest.NOTIFIED)
        self.assert_success(dvm.run(['true'], np=6, personality='plain'))

    def leave_slowly(self, dvm, grace):
        """The agent of node3 is told to go while a job runs there that needs so long; the job and the file in which it says that it had the time."""
        note = os.path.join(self.place(), 'ended')
        job, out, _ = dvm.start(['sh', '-c', f'trap "echo term; sleep {grace}; echo >{note}; exit 0" TERM; echo here; while :; do sleep 0.05; done'], np=1, hosts=['node3'])
        dvmtest.wait_until(lambda: out.data == b'here\n', 'the trap')
        os.kill(self.pids(dvm)['node3'], signal.SIGTERM)
        # What the agent has said before has come then, too.
        dvmtest.wait_until(lambda: out.data == b'here\nterm\n', 'the agent to leave')
        return job, note

    def test_grace_of_one_that_leaves(self):
        """What runs there has its grace before anybody hears of the loss. Nothing new is placed there; the end of the DVM waits, too."""
        dvm = self.start()
        job, note = self.leave_slowly(dvm, 0.5)
        done = dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=6, personality='plain')
        self.assertNotIn('node3', done.lines, done)
        self.assertFalse(os.path.exists(note))
        result = job.wait()
        self.assertTrue(os.path.exists(note))
        self.assertEqual(result['state'], COMM_FAILED, result)
        self.assertIn('node3 was lost: its agent leaves: a signal ends it', result['reason'])
        self.assertEqual(self.wait_state(dvm, 'node3', 'DOWN')['SlotsInUse'], 0)

    def test_end_while_one_leaves(self):
        """The end of the DVM waits for what runs there, too."""
        dvm = self.start()
        job, note = self.leave_slowly(dvm, 0.5)
        dvm.call('Shutdown', '(a{sv})', {})
        job.wait()
        self.assertTrue(os.path.exists(note))
        self.assertEqual(dvm.wait_exit(), 0)

    @unittest.skipUnless(os.environ.get('DVM_TEST_SOAK') == '1', 'it takes seconds: DVM_TEST_SOAK=1')
    def test_one_that_leaves_for_ever(self):
        """An agent that stops on its way is lost after the grace, and killed."""
        dvm = self.dvm(settings=['nodes=4', 'slots=2', 'kill-grace=0.2', 'heartbeat-timeout=300'])
        job, _ = self.leave_slowly(dvm, 1000)
        pid = self.pids(dvm)['node3']
        os.kill(pid, signal.SIGSTOP)
        self.assertEqual(job.wait()['state'], COMM_FAILED)
        self.wait_state(dvm, 'node3', 'DOWN')

    def test_one_that_dies_while_the_dvm_ends(self):
        """Nobody waits for an agent that was lost on the way to the end."""
        dvm = self.start()
        pid = self.pids(dvm)['node2']
        os.kill(pid, signal.SIGSTOP)
        dvm.call('Shutdown', '(a{sv})', {})
        dvmtest.wait_until(lambda: not dvm.get('Ready'), 'the end to begin')
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(dvm.wait_exit(), 0)


class Deaths(dvmtest.Case):
    """Of a DVM of one node, and its processes."""

    def start_deaf(self, **options):
        dvm = self.dvm(slots=2, settings=['kill-grace=300', 'controller-grace=1'], **options)
        self.assert_success(dvm.run(['true']))
        job, out, _ = dvm.start(DEAF, np=1)
        dvmtest.wait_until(lambda: out.data == b'deaf\n', 'the trap')
        return dvm, job

    def wait_nothing(self, dvm):
        """Neither of its jobs nor of the lost agent does any process live."""
        dvmtest.wait_until(lambda: dvm.processes() == [dvm.pid], 'all but dvmd to end')

    def check_without_node(self, dvm, job, waiting):
        """Every job ends, and for its true reason; the DVM stays, and says what it lacks."""
        result = job.wait()
        self.assertEqual(result['state'], COMM_FAILED, result)
        self.assertRegex(result['reason'], f'^{dvm.get_nodes()[1]["Name"]} was lost: [a-z]')
        for late in (waiting, dvm.submit(['true'], np=1)):
            result = late.wait()
            self.assertEqual((result['state'], result['reason']),
                             (MAP_FAILED, 'None of the nodes that the job may use is up'))
        self.assertEqual(dvm.get_nodes()[1]['StateName'], 'DOWN')
        self.assertIn('was lost: ', dvm.log())
        self.assertEqual(dvm.get('SlotsInUse'), 0)
        self.wait_nothing(dvm)
        self.assertEqual(dvm.stop(), 0)
        dvm.check_clean()

    def test_agent(self):
        dvm, job = self.start_deaf()
        shared = [link for link in leftovers.list_descriptors([dvm.agent]) if link.startswith('/dev/shm/dvm-')]
        folder = dvm.node_folder
        waiting = dvm.submit(['true'], np=2)
        os.kill(dvm.agent, signal.SIGKILL)
        dvmtest.wait_until(lambda: not os.path.exists(folder), 'its directory to go')
        self.assertFalse(os.path.exists(shared[0]))
        self.check_without_node(dvm, job, waiting)

    def test_guards(self):
        """Either of them: the agent has nobody to clean up behind it any more, and leaves."""
        for number in range(2):
            dvm, job = self.start_deaf()
            waiting = dvm.submit(['true'], np=2)
            guards = [pid for pid in dvm.daemons if pid not in (dvm.pid, dvm.agent, *dvm.servers)]
            self.assertEqual(len(guards), 2)
            os.kill(guards[number], signal.SIGKILL)
            self.check_without_node(dvm, job, waiting)

    def test_agent_and_controller(self):
        dvm, _ = self.start_deaf()
        os.kill(dvm.agent, signal.SIGKILL)
        dvm.stop(signal.SIGKILL)
        dvmtest.wait_until(lambda: not dvm.processes(), 'all to end')

    def test_controller(self):
        dvm, _ = self.start_deaf()
        dvm.stop(signal.SIGKILL)
        dvmtest.wait_until(lambda: not dvm.processes(), 'all to end')

    def test_frozen_agent_and_force(self):
        """Force means now, also for an agent that does nothing any more: it is gone when dvmd is."""
        # Whoever would give it time would give it more than the test waits.
        dvm = self.dvm(slots=1, settings=['kill-grace=600', 'heartbeat-timeout=600', 'controller-grace=600',
                                          'plugin-settings=launcher-local.grace=600'])
        job = dvm.submit(['sleep', '1000'], np=1)
        job.wait_running()
        os.kill(dvm.agent, signal.SIGSTOP)
        dvm.call('Shutdown', '(a{sv})', dvmtest.to_options({'force': True}))
        self.assertEqual(dvm.wait_exit(), 0)
        self.assertEqual(dvm.processes(), [])
        dvm.check_clean()

    def test_guard_that_has_not_begun(self):
        """One that is ended before it heeds anything leaves no core dump: it is told by no signal that makes one."""
        folder = self.place()
        said = os.path.join(folder, 'said')
        real = os.path.join(os.path.dirname(dvmtest.DVMD), 'dvm-guard')
        with open(os.path.join(folder, 'dvm-guard'), 'w', encoding='utf-8') as guard:
            guard.write(f'#!/bin/sh\nfor node; do :; done\n[ "$node" = n9 ] || exec {real} "$@"\n'
                        f'for name in HUP INT QUIT ABRT ALRM USR1 USR2 TERM; do trap "echo $name >>{said}; exit 1" $name; done\n'
                        f'echo up >{said}\nwhile :; do sleep 0.05; done\n')
        os.chmod(guard.name, 0o755)
        dvm = self.dvm(slots=1, settings=['elastic=true', 'nodes=1'], env={'DVM_LIBEXEC_DIR': folder})
        dvm.call('Grow', '(a{sv})', dvmtest.to_options({'hosts': ['n9']}))
        dvmtest.wait_until(lambda: os.path.exists(said), 'the guard of n9 to be there')
        dvm.call('Shutdown', '(a{sv})', dvmtest.to_options({'force': True}))
        self.assertEqual(dvm.wait_exit(), 0)
        with open(said, encoding='utf-8') as file:
            words = file.read().split()
        self.assertEqual(len(words), 2, words)
        self.assertNotIn(words[1], ('QUIT', 'ABRT'))
        dvm.check_clean()

    def test_frozen_agent(self):
        """It is found, and it is ended with the DVM."""
        dvm = self.dvm(slots=1, settings=['heartbeat-timeout=1', 'controller-grace=1'])
        job = dvm.submit(['sleep', '1000'], np=1)
        job.wait_running()
        os.kill(dvm.agent, signal.SIGSTOP)
        result = job.wait()
        self.assertEqual(result['state'], COMM_FAILED, result)
        self.assertIn('nothing was heard for', result['reason'])
        self.assertEqual(dvm.stop(), 0)
        dvmtest.wait_until(lambda: not dvm.processes(), 'all to end')


if __name__ == '__main__':
    dvmtest.main()
