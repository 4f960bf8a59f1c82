# SPDX-License-Identifier: LGPL-2.1-or-later
"""What others have got wrong: each case ten times, and none of them fails."""

import signal
import socket
import subprocess
import time

import dvmtest
import elastic
import leftovers
from dvmtest import wait_until

TIMES = 10
ROUNDS = 5


class Peers:
    def test_1_two_grows_at_once(self):
        dvm = self.dvm(nodes=2, slots=1)
        other = self.asker(dvm)
        for i in range(TIMES):
            grows = [dvm.asker.grow(f'a{i}'), other.grow(f'b{i}')]
            for one in grows:
                one.done()
            self.assert_ran(dvm.plain('true', np=4))
            dvm.asker.shrink(f'a{i}', f'b{i}').done()
        self.assertEqual(dvm.names(), ['node1', 'node2'])

    def test_2_one_bad_host_of_three(self):
        """All of it is taken back, and the same nodes can be grown at once."""
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        for _ in range(TIMES):
            before = dvm.snapshot()
            dvm.gates.hold('n9')
            bad = dvm.asker.grow('n8', 'n9', 'n10')
            dvm.gates.release('n9', word='exit 1')
            bad.failed()
            self.assertEqual(dvm.snapshot(), before)
            dvm.asker.grow('n8', 'n9', 'n10').done()
            self.assert_ran(dvm.plain('true', np=5))
            dvm.asker.shrink('n8', 'n9', 'n10').done()

    def test_3_one_that_never_reports(self):
        """It is given up in time, and nobody waits for it any more."""
        dvm = self.dvm(nodes=2, slots=1, gates=True, settings=['grow-timeout=5'])
        names = [f'n{i}' for i in range(TIMES)]
        dvm.gates.hold(*names)
        grows, jobs = [], []
        for name in names:
            grows.append(dvm.asker.grow(name))
            jobs.append((dvm.plain('true'), dvm.plain('true', hosts=['node1'])))
        for grow, (waits, other) in zip(grows, jobs):
            grow.failed()
            self.assertEqual(grow.get('Cause'), 'timeout')
            self.assertEqual(waits.wait()['state'], elastic.NEVER_LAUNCHED)
            self.assert_ran(other)

    def test_4_killed(self):
        """The node of an agent that is killed is in no map any more, and its processes are gone."""
        dvm = self.dvm(nodes=TIMES + 2, slots=1)
        for i in range(1, TIMES + 1):
            job = dvm.plain('sleep', '1000', hosts=[f'node{i}'])
            job.wait_running()
            pid = job.pids()[0]
            dvm.signal_agent(f'node{i}', signal.SIGKILL)
            self.assertEqual(job.wait()['state'], elastic.COMM_FAILED)
            self.assert_ran(dvm.plain('true', np=TIMES + 2 - i, map_by='node'))
            wait_until(lambda one=pid: not leftovers.is_running(one), 'its process to end')

    def test_5_shrink_under_a_process(self):
        """The event comes when the process is gone, and who has started it is told."""
        dvm = self.dvm(nodes=2, slots=1)
        for _ in range(TIMES):
            dvm.asker.grow('n9').done()
            run = subprocess.Popen(dvm.cli_argv('run', '-n', '1', '--host', 'n9', 'sh', '-c', 'echo $$; exec sleep 1000'),
                                   env=dvm.cli_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
            pid = int(run.stdout.readline())
            dvm.asker.shrink('n9').event('DvmIsReady')
            self.assert_gone(pid)
            err = run.communicate(timeout=dvmtest.LIMIT)[1]
            self.assertEqual(run.returncode, 125, err)

    def test_6_the_node_of_the_head(self):
        dvm = self.dvm(nodes=2, slots=1)
        for _ in range(TIMES):
            self.assert_refused('NotSupported', [], dvm.asker.shrink, socket.gethostname())
            self.assert_ran(dvm.plain('true', np=2))

    def test_7_one_that_is_in(self):
        dvm = self.dvm(nodes=2, slots=1)
        for _ in range(TIMES):
            self.assertEqual(dvm.asker.grow('node2').path, None)
        dvm.asker.settle()
        self.assertEqual((dvm.asker.events, dvm.campaigns(all=True)), ([], []))

    def test_9_many_short_ones(self):
        dvm = self.dvm(nodes=16, slots=8)
        for _ in range(TIMES):
            self.assert_ran(dvm.plain('true', np=128))

    def test_10_round_trips(self):
        """They do not come in steps of 40 ms."""
        dvm = self.dvm(nodes=2, slots=1)
        for _ in range(TIMES):
            for act in (lambda: dvm.get('NodeCount'), lambda: dvm.plain('true', hosts=['node2']).wait()):
                # One that takes less shows that there are no steps; on a machine that does much else many take more.
                for _ in range(200):
                    begin = time.monotonic()
                    act()
                    if time.monotonic() - begin < 0.04:
                        break
                else:
                    self.fail('none took less than 40 ms')

    def test_12_nothing_piles_up(self):
        """At each event the agents are gone, not dying."""
        dvm = self.dvm(nodes=2, slots=1)
        names = [f'n{i}' for i in range(4)]
        for _ in range(TIMES):
            dvm.asker.grow(*names).done()
            self.assertEqual(len(leftovers.find_agents(dvm.pid)), 6)
            dvm.asker.shrink(*names).event('DvmIsReady')
            self.assertEqual(len(leftovers.find_agents(dvm.pid)), 2)


class Once(elastic.Case):
    """Where the shape of the tree does not matter, or would make the test wait long."""

    def test_8_frozen(self):
        """Agents that stand still are noticed, each of them, and the others are not taken for such."""
        dvm = self.dvm(nodes=TIMES + 2, slots=1, settings=['heartbeat-timeout=1'])
        for i in range(TIMES):
            self.freeze(dvm.pid_of(f'node{i + 3}'))
        wait_until(lambda: dvm.names() == ['node1', 'node2'], 'all to be missed')
        self.assert_ran(dvm.plain('true', np=2))
        for pid in list(self.frozen):
            self.thaw(pid)

    def test_11_of_the_head(self):
        """Jobs come and go, and it does not grow."""
        dvm = self.dvm(nodes=1, slots=8, settings=['history-limit=50'])

        def run_some():
            job = (['true'], dvmtest.to_options({'np': 1, 'personality': 'plain'}))
            paths = dvm.call('SubmitMany', '(a(asa{sv})a{sv})', [job] * 80, {})[0]
            self.assert_ran(dvmtest.Job(dvm, paths[-1]))
            wait_until(lambda: dvm.get('JobsRunning') == 0, 'all to end')

        # How far the heap reaches depends on how many jobs waited at once: it reaches that late on a busy machine, so some rounds come first.
        # What is lost is lost in every round, so the middle one counts.
        for _ in range(2 * TIMES):
            run_some()
        sizes = [leftovers.get_rss(dvm.pid)]
        for _ in range(ROUNDS):
            for _ in range(TIMES):
                run_some()
            sizes.append(leftovers.get_rss(dvm.pid))
        growth = sorted(after - before for before, after in zip(sizes, sizes[1:]))
        if not dvm.is_instrumented():
            self.assertLess(growth[ROUNDS // 2], TIMES * 80 * 500, f'{sizes}: more than 500 bytes for each job')


elastic.both(Peers)
dvmtest.main()
