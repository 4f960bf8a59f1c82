# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nodes that come back: agents that die, again and again, and a controller that stands still."""

import os
import signal
import time

import dvmtest

COMM_FAILED, MAP_FAILED = 56, 69


class Heal(dvmtest.Case):
    def start(self, nodes=3, settings=(), **options):
        return self.dvm(settings=[f'nodes={nodes}', 'slots=2', 'heal=true', *settings], **options)

    def row(self, dvm, name):
        return next((row for row in dvm.get_nodes() if row['Name'] == name and row['Rank'] > 0), None)

    def wait_row(self, dvm, name, state, after=0):
        """Its row, once it is in that state as a rank that comes after that one."""
        def is_so():
            row = self.row(dvm, name)
            return row is not None and row['StateName'] == state and row['Rank'] > after
        dvmtest.wait_until(is_so, f'{name} to be {state} as a rank after {after}')
        return self.row(dvm, name)

    def kill(self, dvm, name):
        row = self.row(dvm, name)
        os.kill(row['Pid'], signal.SIGKILL)
        return row['Rank']

    def run_everywhere(self, dvm, nodes):
        finished = dvm.run(['sh', '-c', 'echo $DVM_NODENAME'], np=2 * nodes, personality='plain')
        self.assert_success(finished)

    def check_end(self, dvm):
        self.assertEqual(dvm.stop(), 0)
        dvm.check_clean()

    def test_killed(self):
        """A static DVM: the node is back as a new rank, jobs run there, those of others have not noticed."""
        dvm = self.start()
        other = dvm.submit(['sleep', '1000'], np=1, hosts=['node1'])
        job = dvm.submit(['sleep', '1000'], np=1, hosts=['node2'])
        for each in (other, job):
            each.wait_running()
        rank = self.kill(dvm, 'node2')
        self.assertEqual(job.wait()['state'], COMM_FAILED)
        late = dvm.submit(['true'], np=2, hosts=['node2'], personality='plain')
        self.assertEqual(late.wait()['state'], dvmtest.NOTIFIED)
        row = self.wait_row(dvm, 'node2', 'UP', rank)
        self.assertEqual((row['Rank'], row['Slots']), (4, 2))
        self.assertEqual([each['Rank'] for each in dvm.get_nodes()], [0, 1, 3, 4])
        self.assert_success(dvm.run(['true'], np=5, personality='plain'))
        other.cancel()
        other.wait()
        self.assertIn('the node is back, as rank 4', dvm.log())
        self.check_end(dvm)

    def test_pmix(self):
        """The new agent serves PMIx jobs, together with the old ones."""
        dvm = self.start(nodes=2)
        program = os.environ['DVM_TEST_PMIX_CLIENT']
        self.assert_success(dvm.run([program, 'data'], np=4))
        rank = self.kill(dvm, 'node1')
        self.wait_row(dvm, 'node1', 'UP', rank)
        self.assert_success(dvm.run([program, 'data'], np=4))
        self.check_end(dvm)

    def test_limit(self):
        """Killed again and again it is given up, and says so. Others are as they were."""
        dvm = self.start(settings=['heal-limit=2', 'heal-pause=300'])
        rank = 0
        for _ in range(2):
            rank = self.kill(dvm, 'node3')
            rank = self.wait_row(dvm, 'node3', 'UP', rank)['Rank']
        self.kill(dvm, 'node3')
        row = self.wait_row(dvm, 'node3', 'DOWN')
        self.assertIn('given up after 2 attempts', row['Reason'])
        job = dvm.submit(['true'], np=6, personality='plain')
        self.assertEqual(job.wait()['state'], MAP_FAILED)
        self.run_everywhere(dvm, 2)
        self.check_end(dvm)

    def test_only_node(self):
        """Without any node it tries on, and a job that comes waits."""
        dvm = self.start(nodes=1, settings=['heal-limit=0', 'heal-pause=0.2'])
        rank = self.kill(dvm, 'node1')
        self.wait_row(dvm, 'node1', 'UP', rank)
        self.run_everywhere(dvm, 1)
        self.check_end(dvm)

    def test_elastic_at_radix_2(self):
        """Interior agents of a tree, several at once."""
        dvm = self.start(nodes=7, settings=['radix=2', 'elastic=true'])
        ranks = [self.kill(dvm, name) for name in ('node1', 'node2', 'node5')]
        for name, rank in zip(('node1', 'node2', 'node5'), ranks):
            self.wait_row(dvm, name, 'UP', rank)
        self.run_everywhere(dvm, 7)
        dvm.call('Grow', '(a{sv})', dvmtest.to_options({'hosts': ['n8']}))
        self.wait_row(dvm, 'n8', 'UP')
        self.run_everywhere(dvm, 8)
        self.check_end(dvm)

    def test_end_meanwhile(self):
        """The end of the DVM, while an agent is down and while one is being started."""
        for settings, state in ((['heal-pause=300', 'heal-limit=0'], 'DOWN'), ([], 'ADDED')):
            dvm = self.start(settings=settings)
            rank = self.kill(dvm, 'node2')
            self.wait_row(dvm, 'node2', state, rank - 1)
            self.check_end(dvm)

    def test_restart(self):
        """By command: a node that was given up, and one that is up, with its jobs only if that is said."""
        dvm = self.dvm(settings=['nodes=2', 'slots=2', 'heal=false'])
        rank = self.kill(dvm, 'node1')
        self.wait_row(dvm, 'node1', 'DOWN')
        restart = lambda number, **options: dvm.connection.call(f'/org/dvm/nodes/{number}', 'org.dvm.Node', 'Restart',
                                                                '(a{sv})', dvmtest.to_options(options))
        restart(rank)
        self.wait_row(dvm, 'node1', 'UP', rank)
        job = dvm.submit(['sleep', '1000'], np=1, hosts=['node2'])
        job.wait_running()
        self.assert_refused('NotReady', 'force', restart, 2)
        self.assert_refused('NotSupported', 'controller', restart, 0)
        self.assertEqual(self.row(dvm, 'node2')['StateName'], 'UP')
        restart(2, force=True)
        result = job.wait()
        self.assertEqual(result['state'], COMM_FAILED)
        self.assertIn('node2 was lost: it is started again by command', result['reason'])
        self.wait_row(dvm, 'node2', 'UP', 2)
        self.run_everywhere(dvm, 2)
        self.check_end(dvm)

    def freeze(self, pids, seconds, condition=lambda: True):
        """Those processes stand still for so long, and until something has happened."""
        begin = time.monotonic()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            dvmtest.wait_until(lambda: time.monotonic() - begin > seconds and condition(), 'the time to pass')
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def is_gone(self, pids):
        return not any(os.path.exists(f'/proc/{pid}/exe') for pid in pids)

    def test_controller_that_stands_still_for_long(self):
        """All agents have left when it goes on: it says so, and starts them again."""
        dvm = self.start(settings=['heartbeat-timeout=1', 'controller-grace=1'])
        job = dvm.submit(['sleep', '1000'], np=2)
        job.wait_running()
        pids = [row['Pid'] for row in dvm.get_nodes() if row['Rank'] > 0]
        self.freeze([dvm.pid], 5, lambda: self.is_gone(pids))
        self.assertEqual(job.wait()['state'], COMM_FAILED)
        for number in (1, 2, 3):
            self.wait_row(dvm, f'node{number}', 'UP', 3)
        self.assertIn('The controller stood still for ', dvm.log())
        self.run_everywhere(dvm, 3)
        self.check_end(dvm)

    def test_controller_that_stands_still(self):
        """Agents that are still there are found again, and nothing has happened to them or to their jobs."""
        dvm = self.start(settings=['heartbeat-timeout=1', 'controller-grace=60'])
        job = dvm.submit(['sleep', '1000'], np=2)
        job.wait_running()
        self.freeze([dvm.pid], 5)
        self.run_everywhere_but_one(dvm)
        self.assertEqual([row['Rank'] for row in dvm.get_nodes()], [0, 1, 2, 3])
        self.assertIn('The controller stood still for ', dvm.log())
        job.cancel()
        job.wait()
        self.check_end(dvm)

    def test_machine_that_stands_still(self):
        """All of them at once: neither side judges the other."""
        dvm = self.start(settings=['heartbeat-timeout=1', 'controller-grace=2'])
        job = dvm.submit(['sleep', '1000'], np=2)
        job.wait_running()
        self.freeze(dvm.daemons, 6)
        self.run_everywhere_but_one(dvm)
        self.assertEqual([row['Rank'] for row in dvm.get_nodes()], [0, 1, 2, 3])
        job.cancel()
        job.wait()
        self.check_end(dvm)

    def run_everywhere_but_one(self, dvm):
        """Where another job has two slots."""
        self.assert_success(dvm.run(['true'], np=4, personality='plain'))


if __name__ == '__main__':
    dvmtest.main()
