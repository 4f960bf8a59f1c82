# SPDX-License-Identifier: LGPL-2.1-or-later
"""What elastic mode is when nothing changes size, and what a DVM without it is."""

import signal
import xml.etree.ElementTree as ElementTree

import dvmtest
import elastic
from dvmtest import MANAGER, wait_until
from elastic import WAITING


class Inert:
    def test_E1_E2_D16_off(self):
        """Without elastic mode: no campaign, nobody is parked, and a loss is an error as it always was."""
        dvm = self.dvm(nodes=3, slots=2, elastic=False)
        self.assertEqual((dvm.get('ElasticMode'), dvm.fence(), dvm.get('CampaignsRunning')), (False, 0, 0))
        before = dvm.snapshot()
        self.assert_refused('NotElastic', [], dvm.asker.grow, 'n9')
        self.assert_refused('NotElastic', [], dvm.asker.shrink, 'node2')
        self.assert_refused('NotElastic', [], dvm.asker.allocate, 'new', hosts=['n9'])
        ran = dvm.cli('run', '-n', '1', '--add-host', 'n9', 'true')
        self.assertNotEqual(ran.returncode, 0)
        dvm.asker.settle()
        self.assertEqual((dvm.snapshot(), dvm.campaigns(all=True), dvm.asker.events), (before, [], []))
        frozen = self.freeze(dvm.pid_of('node3'))
        mapped = self.staged(dvm, 'true', np=3, map_by='node')
        mapped.wait_state(elastic.SYSTEM_PREP)
        running = dvm.plain('sleep', '1000', hosts=['node2'])
        running.wait_running()
        dvm.signal_agent('node2', signal.SIGKILL)
        self.assertEqual(running.wait()['state'], elastic.COMM_FAILED)
        self.thaw(frozen)
        self.assertGreater(mapped.wait()['state'], 50)
        for job in (running, mapped):
            self.assertIn('node2', job.get('Reason'))
            self.assertEqual((job.get('Remapped'), WAITING in job.job_trace()), (0, False))
        self.assertEqual((dvm.asker.events, dvm.campaigns(all=True)), ([], []))

    def test_E3_E62_nothing_changes(self):
        """With it, as long as nothing changes size, everything is the same: the order of states, the environment of jobs."""
        seen = []
        for on in (False, True):
            dvm = self.dvm(nodes=2, slots=2, elastic=on)
            self.assertEqual(dvm.get('ElasticMode'), on)
            done = dvm.run(['env'], np=4, personality='plain')
            self.assert_success(done)
            names = sorted({line.split('=')[0] for line in done.lines})
            jobs = [self.assert_ran(dvm.plain('true')) for _ in range(5)]
            self.assertNotIn(WAITING, [state for job in jobs + [done.job] for state in job.job_trace()])
            seen.append((names, done.job.job_trace(), self.signals(dvm)))
        self.assertEqual(seen[0], seen[1])

    def test_E3_C9_two_events(self):
        """To jobs a change of size adds nothing, and to the bus two signals."""
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        before = dvm.run(['env'], personality='plain')
        dvm.gates.hold('n9')
        campaign = dvm.asker.grow('n9')
        job, out, _ = dvm.start(['env'], np=1, personality='plain')
        dvm.wait_held(job, 'map')
        dvm.gates.release('n9')
        campaign.done()
        self.assert_ran(job)
        self.assertEqual(*[sorted(line.split('=')[0] for line in data.decode().splitlines()) for data in (before.out, out.finish())])
        self.assertLessEqual({'DvmIsReady', 'DvmModFailed'}, self.signals(dvm))

    def signals(self, dvm):
        text = dvm.connection.call(MANAGER[0], 'org.freedesktop.DBus.Introspectable', 'Introspect')[0]
        root = ElementTree.fromstring(text)
        return {each.get('name') for each in root.find(f"interface[@name='{MANAGER[1]}']").findall('signal')}

    def test_E59_E60_E61_marker(self):
        """The state is seen by name, on the bus, on the command line and in the log; nothing happens in it, and it is left by itself."""
        dvm = self.dvm(nodes=1, slots=1, gates=True, env={'G_MESSAGES_DEBUG': 'dvmd-state'})
        dvm.gates.hold('n9')
        campaign = dvm.asker.grow('n9')
        heard = []
        dvm.asker.connection.raw.signal_subscribe(None, 'org.dvm.Job', None, None, None, 0,
                                                  lambda *args: heard.append((args[2], *args[5].unpack()[:2])))
        jobs = [dvm.wait_held(dvm.plain('true'), 'map') for _ in range(2)]
        jobs[1].cancel()
        self.assertEqual(jobs[1].wait()['state'], elastic.KILLED_BY_CMD)
        # A busy DVM tells of one job after another, and answers between them.
        ends = {(jobs[0].path, WAITING), (jobs[1].path, elastic.KILLED_BY_CMD)}
        elastic.wait_until(lambda: ends <= {(path, new) for path, _, new in heard}, 'all that has happened to be told')
        facts = lambda: [jobs[0].get(name) for name in ('State', 'NumLaunched', 'StartedAt', 'Nodes', 'HeldAt', 'Reason')]
        before, count = facts(), len(heard)
        self.assertEqual(before[:4], [WAITING, 0, 0, []])
        listed = dvm.cli('jobs')
        self.assertIn(f'waiting for campaign {campaign.number}', listed.stdout)
        self.assertIn('WAITING_FOR_DAEMONS', dvm.cli('jobs', '--json').stdout)
        self.assertIn('WAITING_FOR_DAEMONS', dvm.log())
        dvm.asker.settle()
        self.assertEqual((facts(), len(heard)), (before, count))
        dvm.gates.release('n9')
        campaign.done()
        self.assert_ran(jobs[0])
        self.assertEqual(jobs[0].job_trace().count(WAITING), 1)

    def test_D20_two_shapes(self):
        """The tests have trees in which some agents are below others, and flat ones."""
        dvm = self.dvm(nodes=7, slots=1)
        depths = sorted(row['Depth'] for row in dvm.get_nodes())
        self.assertEqual(depths, [0, 1, 1, 2, 2, 2, 2, 3] if self.radix == 2 else [0] + [1] * 7)

    def test_E69_broadcasts(self):
        """That all have a broadcast is known to the controller alone, once for each, in their order, and not before they have it."""
        dvm = self.dvm(nodes=8, slots=1, env={'G_MESSAGES_DEBUG': 'dvmd-router'})

        def complete():
            lines = [line for line in dvm.log().splitlines() if 'All members have broadcast' in line]
            self.assertEqual([line for line in lines if 'dvm-agent' in line], [])
            numbers = [int(line.split()[-1]) for line in lines]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
            return len(numbers)

        self.assert_ran(dvm.plain('true', np=8))
        dvm.asker.shrink('node2').done()
        dvm.asker.grow('node2').done()
        self.assertGreaterEqual(complete(), dvm.get('Statistics')['broadcasts'])
        frozen = self.freeze(dvm.pid_of('node8'))
        campaign = dvm.asker.grow('n9')
        dvm.wait_reported('n9')
        before = complete()
        dvm.asker.settle()
        self.assertEqual((complete(), campaign.state), (before, 'running'))
        self.thaw(frozen)
        campaign.done()
        self.assertGreater(complete(), before)

    def test_D21_timeout_and_fit(self):
        """The time limit of a job counts from its start, and whether it fits is judged on the nodes that there are then."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        dvm.gates.hold('n9')
        campaign = dvm.asker.grow('n9')
        limited = dvm.wait_held(dvm.plain('true', timeout=1), 'map')
        fits = dvm.wait_held(dvm.plain('true', np=2), 'map')
        begin = dvmtest.time.monotonic()
        wait_until(lambda: dvmtest.time.monotonic() > begin + 1.3, 'its time limit to pass')
        self.assertEqual(limited.state, WAITING)
        dvm.gates.release('n9')
        campaign.done()
        for job in (limited, fits):
            self.assert_ran(job)


elastic.both(Inert)
dvmtest.main()
