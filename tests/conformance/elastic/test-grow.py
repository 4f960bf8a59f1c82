# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM that grows: who waits for it, what a grow that fails leaves, and what it says."""

import os
import signal
import subprocess

import dvmtest
import elastic
import leftovers
from dvmtest import NOTIFIED, wait_until
from elastic import NEVER_LAUNCHED


class Grow:
    def test_E5_E15_E16_E18_parked_until_all_are_wired(self):
        """Who comes to the map gate waits for every grow, and for the last of its agents, and may then use them."""
        dvm = self.dvm(nodes=3, slots=1, gates=True)
        dvm.gates.hold('n9', 'n10', 'n11')
        first = dvm.asker.grow('n9', 'n10')
        second = dvm.asker.grow('n11')
        self.assertEqual((first.get('Kind'), len(first.get('Targets')), first.get('Hosts')), ('grow', 2, ['n9', 'n10']))
        self.assertEqual(dvm.fence(), 3)
        job = dvm.plain('sh', '-c', 'echo $DVM_NODE >>"$0"', os.path.join(dvm.place, 'ran'), np=6)
        dvm.wait_held(job, 'map')
        self.assertEqual(sorted(job.get('WaitsFor')), sorted([first.path, second.path]))
        self.assertIn(job.path, first.get('HeldJobs'))
        dvm.gates.release('n9')
        dvm.wait_reported('n9')
        self.assertEqual((first.state, dvm.get('NodeCount')), ('running', 3))
        dvm.gates.release('n10')
        first.done()
        self.assertEqual(dvm.get('NodeCount'), 5)
        dvm.wait_held(job, 'map')
        self.assertEqual(job.get('WaitsFor'), [second.path])
        dvm.gates.release('n11')
        second.done()
        self.assert_ran(job)
        self.assertEqual(sorted(dvm.where(job)), sorted(['node1', 'node2', 'node3', 'n9', 'n10', 'n11']))
        self.assertEqual((job.get('Remapped'), dvm.fence()), (0, 0))

    def test_E13_E16_E42_up_is_not_wired(self):
        """An agent that runs is not yet one that may be mapped onto: as long as a member has not heard of it all wait."""
        dvm = self.dvm(nodes=3, slots=1)
        frozen = self.freeze(dvm.pid_of('node3'))
        agents = len(leftovers.find_agents(dvm.pid))
        campaign = dvm.asker.grow('n9')
        job = dvm.plain('true', hosts=['n9'])
        dvm.wait_held(job, 'map')
        wait_until(lambda: len(leftovers.find_agents(dvm.pid)) == agents + 1, 'its agent to run')
        dvm.wait_reported('n9')
        dvm.asker.settle()
        self.assertEqual((campaign.state, dvm.asker.events), ('running', []))
        dvm.wait_held(job, 'map')
        self.thaw(frozen)
        campaign.done()
        self.assert_ran(job)
        self.assertEqual(dvm.where(job), ['n9'])
        # After the event the DVM has the size that was asked for, and what is asked of it now need not wait.
        self.assertEqual(dvm.names(), ['n9', 'node1', 'node2', 'node3'])
        late = self.assert_ran(dvm.plain('true', hosts=['n9']))
        self.assertNotIn(elastic.WAITING, late.job_trace())

    def test_E10_E11_E9_E61_delay_is_all(self):
        """The submitter sees a job that begins later: the same job, with nothing failed and nothing begun again."""
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        dvm.gates.hold('n9')
        campaign = dvm.asker.grow('n9:3')
        run = subprocess.Popen(dvm.cli_argv('run', '-n', '3', '--host', 'n9', 'sh', '-c', 'echo $DVM_NODE; exit 0'),
                               env=dvm.cli_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        wait_until(lambda: [row for row in dvm.list_jobs() if row['HeldAt'] == 'map'], 'it to be parked')
        job = dvm.job(dvm.list_jobs()[0]['Id'])
        before = [job.get(name) for name in ('Namespace', 'CreatedAt', 'Submitter')]
        self.assertEqual((job.get('Ended'), job.get('Failed'), job.get('NumLaunched'), run.poll()), (False, False, 0, None))
        dvm.gates.release('n9')
        campaign.done()
        out, err = run.communicate(timeout=dvmtest.LIMIT)
        self.assertEqual((run.returncode, out), (0, 'n9\n' * 3), err)
        self.assertEqual([job.get(name) for name in ('Namespace', 'CreatedAt', 'Submitter')], before)
        states = job.job_trace()
        self.assertEqual((states.count(elastic.WAITING), states.count(elastic.MAP), job.get('Failed')), (1, 1, False))

    def test_E17_E26_E35_mapped_before(self):
        """A job that was past the gate when the grow began goes on as if there was none, with the nodes that it had."""
        dvm = self.dvm(nodes=3, slots=2, gates=True)
        frozen = self.freeze(dvm.pid_of('node3'))
        dvm.gates.hold('n9')
        job = self.staged(dvm, 'true', hosts=['node3'], np=2)
        job.wait_state(elastic.SYSTEM_PREP)
        campaign = dvm.asker.grow('n9')
        parked = dvm.wait_held(dvm.plain('true'), 'map')
        self.thaw(frozen)
        self.assert_ran(job)
        self.assertNotIn(elastic.WAITING, job.job_trace())
        self.assertEqual((dvm.where(job), job.get('Remapped')), (['node3'] * 2, 0))
        self.assertEqual((campaign.state, parked.state), ('running', elastic.WAITING))
        dvm.gates.release('n9')
        campaign.done()
        self.assert_ran(parked)

    def test_E12_E19_E20_E21_E52_E58_rolled_back(self):
        """One agent of three that fails: the others go, all is as it was, and who waited for it never runs."""
        dvm = self.dvm(nodes=3, slots=1, gates=True)
        before = dvm.snapshot()
        touched = os.path.join(dvm.place, 'touched')
        dvm.gates.hold('n10', 'n11')
        campaign = dvm.asker.grow('n9', 'n10', 'n11', req_id='mine')
        job = dvm.plain('touch', touched, np=4, hosts=['n9', 'n10', 'node1', 'node2'])
        run = subprocess.Popen(dvm.cli_argv('run', '-n', '1', 'touch', touched), env=dvm.cli_environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: dvm.get('JobsHeld') == 2, 'both to be parked')
        dvm.gates.wait('n10', 'n11')
        dvm.gates.release('n11', word='exit 9')
        event = campaign.failed()
        self.assertEqual((event.alloc_id, event.req_id), (campaign.alloc_id, 'mine'))
        self.assertNotEqual(event.status, 0)
        self.assertIn('n11', event.reason)
        result = job.wait()
        self.assertEqual((result['state'], result['state-name']), (NEVER_LAUNCHED, 'NEVER_LAUNCHED'))
        self.assertIn(str(campaign.number), result['reason'])
        self.assertIn('n11', result['reason'])
        err = run.communicate(timeout=dvmtest.LIMIT)[1]
        self.assertEqual(run.returncode, 125, err)
        self.assertIn('n11', err)
        self.assertEqual(dvm.snapshot(), before)
        self.assertFalse(os.path.exists(touched))
        self.assertEqual((job.get('NumLaunched'), dvm.get('SlotsInUse')), (0, 0))
        self.assert_no_processes(dvm)
        self.assertNotIn(elastic.MAP, job.job_trace())
        self.assertEqual(len(leftovers.find_agents(dvm.pid)), 3)
        self.assert_ran(dvm.plain('true', np=3))

    def test_E22_other_grows_finish(self):
        """The failed one alone is taken back: neither another one's agents nor a node that was there before."""
        dvm = self.dvm(nodes=3, slots=1, gates=True)
        kept = dvm.members
        other = self.asker(dvm)
        dvm.gates.hold('n9', 'n10', 'n11')
        bad = dvm.asker.grow('n9', 'n10')
        good = other.grow('n11')
        running = dvm.plain('sleep', '1000', hosts=['node2'])
        dvm.gates.wait('n9', 'n10', 'n11')
        dvm.gates.release('n9')
        dvm.gates.release('n10', word='exit 1')
        bad.failed()
        self.assertEqual(good.state, 'running')
        dvm.gates.release('n11')
        good.done()
        self.assertEqual(dvm.names(), ['n11', 'node1', 'node2', 'node3'])
        for name, row in kept.items():
            self.assertEqual((row['Rank'], row['Pid']), (dvm.members[name]['Rank'], dvm.pid_of(name)))
        self.assertEqual((len(other.events), len(dvm.asker.events)), (1, 1))
        running.cancel()
        running.wait()

    def test_E23_E53_unrelated_loss(self):
        """An agent dies that has nothing to do with the grow: nobody is released for it, nobody is aborted."""
        dvm = self.dvm(nodes=4, slots=1, gates=True)
        dvm.gates.hold('n9')
        campaign = dvm.asker.grow('n9')
        jobs = [dvm.wait_held(dvm.plain('true', hosts=hosts, np=np), 'map') for hosts, np in ((None, 1), (['n9'], 1))]
        for victim in ('node2', 'node4'):
            dvm.signal_agent(victim, signal.SIGKILL)
            wait_until(lambda one=victim: one not in dvm.members, f'{victim} to be missed')
        for job in jobs:
            self.assertEqual((job.state, job.get('WaitsFor')), (elastic.WAITING, [campaign.path]))
        self.assertEqual((campaign.state, campaign.get('Pending')), ('running', 1))
        dvm.gates.release('n9')
        campaign.done()
        for job in jobs:
            self.assert_ran(job)

    def test_E67_E68_D7_every_way_to_fail(self):
        """An agent that does not start, cannot connect, is not let in, never reports: each is a roll-back and a cause of its
        own, and never the end of the DVM; and its node can be grown at once."""
        causes = {'exit 3': ('launch-failed',), 'astray': ('connect-failed', 'launch-failed'),
                  'stranger': ('authentication-failed',), 'mute': ('timeout',)}
        statuses = {}
        # The one that never reports has a DVM of its own: the others have all the time that they need.
        for words, timeout in ((('exit 3', 'astray', 'stranger'), 60), (('mute',), 5)):
            dvm = self.dvm(nodes=2, slots=1, gates=True, settings=[f'grow-timeout={timeout}'])
            before = dvm.snapshot()
            for word in words:
                dvm.gates.hold('n9')
                campaign = dvm.asker.grow('n9', 'n10')
                dvm.gates.release('n9', word=word)
                event = campaign.failed()
                self.assertIn(campaign.get('Cause'), causes[word], campaign.get_all())
                self.assertEqual((event.status, event.reason), (campaign.get('Status'), campaign.get('Reason')))
                self.assertIn('n9', event.reason)
                statuses[campaign.get('Cause')] = event.status
                self.assertEqual(dvm.snapshot(), before)
            self.assertEqual(dvm.get('StateName'), 'VM_READY')
            campaign = dvm.asker.grow('n9', 'n10')
            campaign.done()
            self.assert_ran(dvm.plain('true', np=4))
        self.assertEqual(len(set(statuses.values())), len(statuses), statuses)

    def test_E19_D7_lost_before_it_was_wired(self):
        """An agent that dies when it has reported and is not wired yet fails its campaign too."""
        dvm = self.dvm(nodes=3, slots=1)
        before = dvm.snapshot()
        frozen = self.freeze(dvm.pid_of('node3'))
        campaign = dvm.asker.grow('n9')
        old = {row[2] for row in before[0]}
        new = wait_until(lambda: [pid for pid in leftovers.find_agents(dvm.pid) if pid not in old], 'its agent')
        os.kill(new[0], signal.SIGKILL)
        wait_until(lambda: campaign.state in ('rolling-back', 'failed'), 'the roll-back to begin')
        self.thaw(frozen)
        campaign.failed()
        self.assertIn(campaign.get('Cause'), ('lost', 'launch-failed'))
        self.assertEqual(dvm.snapshot(), before)

    def test_D7_cancelled(self):
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        before = dvm.snapshot()
        dvm.gates.hold('n9')
        campaign = dvm.asker.grow('n9', 'n10')
        job = dvm.wait_held(dvm.plain('true', hosts=['n9']), 'map')
        campaign.cancel()
        event = campaign.failed()
        self.assertEqual((campaign.get('Cause'), event.status), ('cancelled', campaign.get('Status')))
        self.assertEqual(job.wait()['state'], NEVER_LAUNCHED)
        self.assertEqual(dvm.snapshot(), before)
        self.assert_refused('NotFound', campaign.alloc_id, dvm.asker.shrink, alloc_id=campaign.alloc_id)

    def test_D8_latecomer(self):
        """An agent that comes when its campaign has failed does not become a member, and leaves; it has made nothing that stays."""
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        before, folders = dvm.snapshot(), dvm.agent_folders()
        dvm.gates.hold('n9', 'n10')
        campaign = dvm.asker.grow('n9', 'n10')
        dvm.gates.wait('n10')
        dvm.gates.hold_late('n9')
        # The controller clears it away after the failure: of an agent that made it after that it would stay.
        folder = os.path.join(dvm.folder, f'{folders[0].rpartition("-")[0]}-{dvm.rank_of("n9")}')
        os.mkdir(folder, 0o700)
        dvm.gates.release('n10', word='exit 1')
        campaign.failed()
        wait_until(lambda: not os.path.exists(folder), 'what it has left to be removed')
        refused = dvm.get('Statistics')['joins-refused']
        dvm.gates.come('n9')
        wait_until(lambda: dvm.get('Statistics')['joins-refused'] > refused, 'it to be refused')
        wait_until(lambda: not [pid for pid in dvm.processes() if '--node n9' in leftovers.describe_process(pid)
                                and 'dvm-agent' in leftovers.describe_process(pid).split()[2]], 'it to end')
        self.assertEqual((dvm.snapshot(), dvm.agent_folders()), (before, folders))
        dvm.gates.close()
        dvm.asker.grow('n9').done()

    def test_E67_D9_again_and_again(self):
        """A node that has just left comes back at once, under a new rank, and no hole is left in the tree."""
        dvm = self.dvm(nodes=5, slots=1)
        shape = lambda: sorted((row['ParentRank'] == 0, row['Depth']) for row in dvm.get_nodes()[1:])
        before, depth, ranks = shape(), dvm.get('TreeDepth'), set()
        for names in (('node2',), ('node5',), ('node1', 'node3'), ('node2', 'node4', 'node5')) * 2:
            dvm.asker.shrink(*names).done()
            self.assertEqual(dvm.get('NodeCount'), 5 - len(names))
            dvm.asker.grow(*names).done()
            for name in names:
                self.assertNotIn(dvm.members[name]['Rank'], ranks)
                ranks.add(dvm.members[name]['Rank'])
            self.assertEqual((dvm.get('NodeCount'), dvm.get('TreeDepth'), shape()), (5, depth, before))
            self.assert_ran(dvm.plain('true', np=5))

    def test_E4_E70_D19_triggers(self):
        """Each way to grow makes a campaign, and agents come by the launcher."""
        dvm = self.dvm(nodes=1, slots=1)
        first = dvm.asker.grow('n2')
        first.done()
        dvm.asker.allocate('new', hosts=['n3']).done()
        dvm.asker.allocate('extend', hosts=['n4'], alloc_id=first.alloc_id).done()
        dvm.asker.grow('n5', alloc_id=first.alloc_id).done()
        hostfile = os.path.join(dvm.place, 'hosts')
        with open(hostfile, 'w') as file:
            file.write('n6 slots=2\n')
        dvm.asker.grow(hostfile=hostfile).done()
        ran = dvm.cli('run', '-n', '1', '--add-host', 'n7:1', '--host', 'n7', 'sh', '-c', 'echo $DVM_NODE')
        self.assertEqual((ran.returncode, ran.stdout), (0, 'n7\n'), ran.stderr)
        with open(hostfile, 'w') as file:
            file.write('n8 slots=1\n')
        ran = dvm.cli('run', '-n', '1', '--add-hostfile', hostfile, '--host', 'n8', 'sh', '-c', 'echo $DVM_NODE')
        self.assertEqual((ran.returncode, ran.stdout), (0, 'n8\n'), ran.stderr)
        ran = dvm.cli('grow', '--hosts', 'n9', '--wait')
        self.assertEqual(ran.returncode, 0, ran.stderr)
        dvm.asker.grow(count=1).done()
        rows = dvm.campaigns(all=True)
        self.assertEqual([row['Kind'] for row in rows], ['grow'] * 9)
        self.assertEqual({row['State'] for row in rows}, {'completed'})
        self.assertEqual(dvm.get('NodeCount'), 10)
        self.assertEqual({row['Launcher'] for row in dvm.members.values()}, {'local'})
        # By default what was added is everybody's.
        self.assert_ran(dvm.plain('true', np=11))

    def test_D17_grow_timeout_is_for_reports(self):
        """A member that is slow to hear of the new ones does not fail them."""
        dvm = self.dvm(nodes=3, slots=1, settings=['grow-timeout=1'])
        frozen = self.freeze(dvm.pid_of('node3'))
        campaign = dvm.asker.grow('n9')
        started = campaign.get('StartedAt')
        wait_until(lambda: dvmtest.time.time() * 1e6 > started + 1.5e6, 'more than grow-timeout to pass')
        self.assertEqual(campaign.state, 'running')
        self.thaw(frozen)
        campaign.done()

    def test_E57_torn_down(self):
        """The DVM ends with grows under way: they fail, who waited ends, and it does end."""
        for force in (False, True):
            dvm = self.dvm(nodes=2, slots=1, gates=True)
            dvm.gates.hold('n9', 'n10')
            campaigns = [dvm.asker.grow('n9'), dvm.asker.grow('n10')]
            job = dvm.wait_held(dvm.plain('true'), 'map')
            ended = []
            dvm.connection.raw.signal_subscribe(None, 'org.dvm.Job', 'StateChanged', job.path, None, 0,
                                                lambda *args: ended.append(args[5].unpack()[1]))
            dvm.gates.wait('n9', 'n10')
            dvm.call('Shutdown', '(a{sv})', {'force': dvmtest.GLib.Variant('b', force)})
            self.assertEqual(dvm.wait_exit(), 0)
            wait_until(lambda: ended and len(dvm.asker.events) == 2, 'all to be told')
            self.assertEqual(sorted((e.name, e.campaign) for e in dvm.asker.events),
                             sorted(('DvmModFailed', campaign.path) for campaign in campaigns))
            self.assertGreater(ended[-1], 50)
            self.assertNotEqual(ended[-1], NOTIFIED)
            dvm.check_clean()


elastic.both(Grow)
dvmtest.main()
