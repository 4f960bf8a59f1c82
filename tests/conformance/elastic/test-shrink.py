# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM that shrinks: what a departure is, who waits for it, and what becomes of jobs on nodes that go."""

import os
import signal
import socket
import subprocess

import dvmtest
import elastic
import leftovers
from dvmtest import wait_until
from elastic import WAITING

PATIENT = ['kill-grace=1000', 'shrink-grace=1000']


class Shrink:
    def test_E6_E24_E29_E30_E32_D12_departure(self):
        """That everybody has the order is no departure. Its place in the tree goes at once, its membership when it has gone."""
        dvm = self.dvm(nodes=6, slots=2, settings=PATIENT)
        deaf = self.deaf(dvm, 'node2')
        pid, rank = dvm.pid_of('node2'), dvm.members['node2']['Rank']
        repairs, epoch = dvm.get('TreeRepairs'), dvm.get('MembershipEpoch')
        campaign = dvm.asker.shrink('node2', req_id='less')
        self.assertEqual((campaign.get('Kind'), campaign.get('Targets'), campaign.get('RequestId')), ('shrink', [rank], 'less'))
        wait_until(lambda: dvm.get('TreeRepairs') == repairs + 1, 'the tree to be repaired')
        wait_until(lambda: rank not in [row['ParentRank'] for row in dvm.get_nodes() if row['Rank'] != rank], 'nobody below it')
        check = dvm.wait_held(dvm.plain('sh', '-c', f'! grep -q "^State:.[^ZX]" /proc/{pid}/status', np=10), 'map')
        dvm.asker.settle()
        self.assertEqual((campaign.state, campaign.get('Pending'), dvm.fence(), dvm.asker.events), ('running', 1, 1, []))
        self.assertEqual((dvm.get('NodeCount'), 'node2' in dvm.members), (6, True))
        self.assertEqual(dvm.get('SlotCount'), 10)
        plan = dvm.call('Map', '(aa{sv}a{sv})', [dvmtest.to_options({'argv': ['true'], 'np': 10})], {})[0]
        self.assertNotIn('node2', [row[3] for row in plan])
        self.assertTrue(leftovers.is_running(pid))
        self.kill_on(deaf)
        event = campaign.done()
        self.assert_gone(pid)
        self.assertEqual((event.details['nodes'], event.req_id), (['node2'], 'less'))
        self.assertEqual((dvm.get('NodeCount'), dvm.names()), (5, ['node1', 'node3', 'node4', 'node5', 'node6']))
        self.assertGreater(dvm.get('MembershipEpoch'), epoch)
        self.assert_ran(check)
        self.assertNotIn('node2', dvm.where(check))
        self.assertEqual((dvm.get('TreeRepairs'), campaign.get('TreeRepairs')), (repairs + 1, 1))
        self.assert_killed(deaf, campaign)

    def test_E8_E14_E25_E27_E28_E29_gates(self):
        """Mapped jobs wait at the launch gate: who has lost a node is mapped again, who has not goes on as it is."""
        dvm = self.dvm(nodes=4, slots=4, settings=PATIENT)
        said = os.path.join(dvm.place, 'said')
        deaf = self.deaf(dvm, 'node3')
        frozen = self.freeze(dvm.pid_of('node4'))
        moved = self.staged(dvm, 'sh', '-c', 'cat data && echo $DVM_NODE >>"$0"', said, np=4, map_by='node')
        stays = self.staged(dvm, 'cat', 'data', hosts=['node4'])
        for job in (moved, stays):
            job.wait_state(elastic.SYSTEM_PREP)
        self.assertIn('node3', dvm.where(moved))
        campaign = dvm.asker.shrink('node3')
        self.thaw(frozen)
        for job in (moved, stays):
            dvm.wait_held(job, 'launch')
            self.assertEqual(job.get('WaitsFor'), [campaign.path])
            states = job.job_trace()
            self.assertLess(states.index(elastic.MAP), states.index(WAITING))
            self.assertEqual(job.get('NumLaunched'), 0)
        late = dvm.wait_held(dvm.plain('true', np=12), 'map')
        self.assertNotIn(elastic.MAP, late.job_trace())
        self.assertEqual(sorted(campaign.get('HeldJobs')), sorted(job.path for job in (moved, stays, late)))
        self.kill_on(deaf)
        campaign.done()
        for job, remapped in ((moved, 1), (stays, 0), (late, 0)):
            self.assert_ran(job)
            self.assertEqual((job.get('Remapped'), job.job_trace().count(elastic.MAP)), (remapped, remapped + 1))
            self.assertNotIn('node3', dvm.where(job))
        self.assertEqual(dvm.where(stays), ['node4'])
        with open(said) as file:
            self.assertEqual(sorted(file.read().split()), sorted(dvm.where(moved)))
        self.assertEqual((dvm.get('SlotsInUse'), dvm.get('Statistics')['jobs-remapped']), (0, 1))
        # Who was remapped goes first.
        self.assertLessEqual(moved.get('StartedAt'), late.get('StartedAt'))

    def test_E28_named_hosts(self):
        """A host that a job names and that has gone is none of its hosts any more; only without any it cannot be mapped."""
        dvm = self.dvm(nodes=4, slots=2, settings=PATIENT)
        deaf = self.deaf(dvm, 'node2')
        frozen = self.freeze(dvm.pid_of('node4'))
        moved = self.staged(dvm, 'cat', 'data', np=2, hosts=['node2', 'node4'], map_by='node')
        moved.wait_state(elastic.SYSTEM_PREP)
        campaign = dvm.asker.shrink('node2')
        waits = dvm.wait_held(dvm.plain('true', hosts=['node1', 'node2']), 'map')
        without = dvm.wait_held(dvm.plain('true', hosts=['node2']), 'map')
        self.thaw(frozen)
        self.kill_on(deaf)
        campaign.done()
        self.assert_ran(moved)
        self.assertEqual((dvm.where(moved), moved.get('Remapped')), (['node4'] * 2, 1))
        self.assert_ran(waits)
        self.assertEqual(dvm.where(waits), ['node1'])
        result = without.wait()
        self.assertEqual(result['state'], dvmtest.MAP_FAILED)
        for word in ('node2', str(campaign.number)):
            self.assertIn(word, result['reason'])

    def test_E31_E54_E55_E56_crash_is_departure(self):
        """A target that is killed has left, once, whatever reports it and how often."""
        dvm = self.dvm(nodes=6, slots=2, settings=PATIENT)
        deaf = self.deaf(dvm, 'node1', 'node4')
        other = self.deaf(dvm, 'node6')
        campaign = dvm.asker.shrink('node1', 'node4', 'node6')
        self.assertEqual((dvm.fence(), campaign.get('Pending')), (3, 3))
        for name, left in (('node4', 2), ('node6', 1)):
            pid = dvm.pid_of(name)
            guard = leftovers.get_parent(pid)
            self.freeze(guard)
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not leftovers.is_running(pid), 'it to end')
            dvm.asker.settle()
            self.thaw(guard)
            wait_until(lambda one=left: dvm.fence() == one, f'{name} to count')
            self.assertEqual((campaign.state, campaign.get('Pending'), dvm.get('NodeCount')), ('running', left, 3 + left))
            self.assertNotIn(name, dvm.members)
        late = dvm.wait_held(dvm.plain('true', np=6), 'map')
        self.assertEqual(campaign.get('Pending'), 1)
        self.kill_on(deaf, 'node1')
        self.assertEqual(sorted(campaign.done().details['nodes']), ['node1', 'node4', 'node6'])
        self.assert_ran(late)
        for job in (deaf, other):
            self.assert_killed(job, campaign)
        self.assertEqual(dvm.names(), ['node2', 'node3', 'node5'])

    def test_E64_E65_D1_branches(self):
        """All of a branch leave: the order is everybody's before anybody acts on it, and the deepest goes first."""
        dvm = self.dvm(nodes=7, slots=2, settings=PATIENT, env={'G_MESSAGES_DEBUG': 'dvmd-state'})
        targets = ['node1', 'node3', 'node4', 'node7']
        deaf = self.deaf(dvm, 'node7')
        parents = {row['Rank']: row['ParentRank'] for row in dvm.get_nodes()[1:]}
        rows = {name: dvm.members[name] for name in targets}
        above = set()
        rank = rows['node7']['Rank']
        while rank:
            above.add(rank)
            rank = parents[rank]
        stay = [name for name in targets if rows[name]['Rank'] in above]
        campaign = dvm.asker.shrink(*targets)
        wait_until(lambda: campaign.get('Pending') == len(stay), f'all but {stay} to leave')
        dvm.asker.settle()
        self.assertEqual(campaign.get('Pending'), len(stay))
        for name in stay:
            self.assertTrue(leftovers.is_running(rows[name]['Pid']), name)
        self.kill_on(deaf)
        campaign.done()
        self.assert_gone(*[row['Pid'] for row in rows.values()])
        self.assertEqual((dvm.names(), campaign.get('TreeRepairs')), (['node2', 'node5', 'node6'], 1))
        self.assertNotIn('was lost', dvm.log())
        self.assert_ran(dvm.plain('true', np=6))
        self.assert_killed(deaf, campaign)

    def test_E65_D1_uplink_lost(self):
        """A target whose parent, a target too, is killed goes on leaving; one that stays goes on working."""
        dvm = self.dvm(nodes=7, slots=2, settings=PATIENT)
        deaf = self.deaf(dvm, 'node7')
        running = dvm.plain('sleep', '1000', hosts=['node4'])
        running.wait_running()
        pid = dvm.pid_of('node7')
        campaign = dvm.asker.shrink('node1', 'node3', 'node7')
        for name in ('node3', 'node1'):
            if name in dvm.members:
                try:
                    dvm.signal_agent(name, signal.SIGKILL)
                except (KeyError, ProcessLookupError):
                    pass  # in the flat tree they need not wait
        wait_until(lambda: campaign.get('Pending') == 1, 'both to be missed')
        self.assertTrue(leftovers.is_running(pid) and leftovers.is_running(deaf.pid_on['node7']))
        self.kill_on(deaf)
        campaign.done()
        self.assert_gone(pid)
        self.assertEqual((running.state, dvm.names()), (dvmtest.RUNNING, ['node2', 'node4', 'node5', 'node6']))
        running.cancel()
        running.wait()
        self.assert_killed(deaf, campaign)

    def test_D1_grace(self):
        """A target that stands still, and one that cannot end its processes, are ended by the launcher, with all they run."""
        dvm = self.dvm(nodes=4, slots=2, settings=['kill-grace=1000', 'shrink-grace=1', 'heartbeat-timeout=1', 'plugin-settings=launcher-local.grace=1'])
        deaf = self.deaf(dvm, 'node1', 'node3')
        pids = [dvm.pid_of(name) for name in ('node1', 'node3')] + list(deaf.pid_on.values())
        self.freeze(dvm.pid_of('node1'))
        campaign = dvm.asker.shrink('node1', 'node3')
        campaign.done()
        self.frozen.clear()
        wait_until(lambda: not [pid for pid in pids if leftovers.is_running(pid)], 'all to be gone')
        self.assertEqual(dvm.names(), ['node2', 'node4'])
        self.assert_killed(deaf, campaign)
        dvm.asker.grow('node1', 'node3').done()

    def test_D1_grace_is_the_end(self):
        """Once its grace is over the launcher kills at once: its own patience with agents does not come on top."""
        dvm = self.dvm(nodes=2, slots=1, settings=['shrink-grace=0.5', 'heartbeat-timeout=600', 'plugin-settings=launcher-local.grace=600'])
        pid = dvm.pid_of('node2')
        self.freeze(pid)
        dvm.asker.shrink('node2').done()
        self.frozen.clear()
        wait_until(lambda: not leftovers.is_running(pid), 'it to be gone')

    def test_D1_no_member_any_more(self):
        """An agent that was given up comes back: it is told that it is nobody, ends what it runs, and goes."""
        dvm = self.dvm(nodes=3, slots=1, settings=['heartbeat-timeout=1', 'kill-grace=0.1'])
        job = dvm.plain('sleep', '1000', hosts=['node3'])
        job.wait_running()
        pids = job.pids() + [dvm.pid_of('node3')]
        frozen = self.freeze(dvm.pid_of('node3'))
        wait_until(lambda: 'node3' not in dvm.members, 'it to be missed')
        self.assertEqual(job.wait()['state'], elastic.COMM_FAILED)
        self.thaw(frozen)
        wait_until(lambda: not [pid for pid in pids if leftovers.is_running(pid)], 'it to go')
        self.assertEqual(dvm.names(), ['node1', 'node2'])
        # It is not in: it comes as a new one.
        dvm.asker.grow('node3').done()
        self.assertEqual([row['Name'] for row in dvm.get_nodes()[1:]], ['node1', 'node2', 'node3'])

    def test_D2_back_under_another_rank(self):
        """A map names ranks: a node that has left and is back is not the one that the job was mapped onto."""
        dvm = self.dvm(nodes=4, slots=2, settings=PATIENT)
        deaf = self.deaf(dvm, 'node2')
        frozen = self.freeze(dvm.pid_of('node4'))
        job = self.staged(dvm, 'cat', 'data', np=2, hosts=['node3', 'node4'], map_by='node')
        job.wait_state(elastic.SYSTEM_PREP)
        holds = dvm.asker.shrink('node2')
        self.thaw(frozen)
        dvm.wait_held(job, 'launch')
        dvm.asker.shrink('node3').done()
        dvm.asker.grow('node3').done()
        self.assertEqual((job.state, job.get('WaitsFor')), (WAITING, [holds.path]))
        self.kill_on(deaf)
        holds.done()
        self.assert_ran(job)
        self.assertEqual((job.get('Remapped'), sorted(dvm.where(job))), (1, ['node3', 'node4']))
        self.assert_killed(deaf, holds)

    def test_D2_crash_without_campaign(self):
        """A job that has not been sent is mapped again, whatever took its node."""
        dvm = self.dvm(nodes=4, slots=2)
        frozen = self.freeze(dvm.pid_of('node4'))
        job = self.staged(dvm, 'cat', 'data', np=4, map_by='node')
        job.wait_state(elastic.SYSTEM_PREP)
        self.assertEqual(len(set(dvm.where(job))), 4)
        dvm.signal_agent('node3', signal.SIGKILL)
        wait_until(lambda: 'node3' not in dvm.members, 'it to be missed')
        self.thaw(frozen)
        self.assert_ran(job)
        self.assertEqual(job.get('Remapped'), 1)
        self.assertNotIn('node3', dvm.where(job))
        self.assertEqual((dvm.get('SlotsInUse'), dvm.campaigns(all=True)), (0, []))

    def test_D10_D19_who_is_no_target(self):
        """The controller, names that nobody has, nothing at all: refused in phase one, and nothing has changed."""
        dvm = self.dvm(nodes=2, slots=1)
        before = dvm.snapshot()
        self.assert_refused('NotSupported', socket.gethostname(), dvm.asker.shrink, socket.gethostname())
        self.assert_refused('NotSupported', socket.gethostname(), dvm.asker.shrink, 'node1', socket.gethostname())
        self.assert_refused('NotFound', 'nowhere', dvm.asker.shrink, 'node1', 'nowhere')
        self.assert_refused('BadParam', [], dvm.asker.shrink)
        self.assert_refused('NotFound', 'no-such-id', dvm.asker.shrink, alloc_id='no-such-id')
        dvm.asker.settle()
        self.assertEqual((dvm.snapshot(), dvm.campaigns(all=True), dvm.asker.events), (before, [], []))
        # The agent on the machine of the controller is one like any other; an id is minted for its release too.
        campaign = dvm.asker.shrink('node1')
        self.assertNotEqual(campaign.alloc_id, '')
        campaign.done()
        self.assertEqual(dvm.names(), ['node2'])

    def test_D15_running_jobs(self):
        """A job whose launch message has gone counts as running: it is killed, told why, and `run` says 125."""
        dvm = self.dvm(nodes=3, slots=2, settings=['kill-grace=0.2'])
        run = subprocess.Popen(dvm.cli_argv('run', '-n', '3', '--map-by', 'node', 'sleep', '1000'), env=dvm.cli_environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: dvm.list_jobs() and dvm.list_jobs()[0]['NumLaunched'] == 3, 'it to run')
        job = dvm.job(dvm.list_jobs()[0]['Id'])
        hardy = dvm.plain('sleep', '1000', np=3, map_by='node', recoverable=True)
        other = dvm.plain('sleep', '1000', hosts=['node1'], when_full='oversubscribe')
        for one in (job, hardy, other):
            one.wait_running()
        campaign = dvm.asker.shrink('node3')
        campaign.done()
        result = self.assert_killed(job, campaign)
        err = run.communicate(timeout=dvmtest.LIMIT)[1]
        self.assertEqual((run.returncode, result['state-name']), (125, 'KILLED_BY_CMD'), err)
        self.assertEqual((hardy.state, other.state), (dvmtest.RUNNING, dvmtest.RUNNING))
        self.assertEqual([row[6] > 50 for row in hardy.procs()], [row[2] == 'node3' for row in hardy.procs()])
        for one in (hardy, other):
            one.cancel()
            one.wait()

    def test_D15_drain(self):
        """With a drain-timeout the shrink waits for the jobs there: nothing new comes, and nobody is held at the launch gate."""
        dvm = self.dvm(nodes=3, slots=2, settings=['kill-grace=0.2'])
        trigger = os.path.join(dvm.place, 'trigger')
        os.mkfifo(trigger)
        job = dvm.plain('sh', '-c', 'read word <"$0"', trigger, hosts=['node3'])
        job.wait_running()
        campaign = dvm.asker.shrink('node3', drain_timeout=1000)
        self.assertEqual((campaign.state, dvm.fence()), ('waiting', 0))
        others = [self.assert_ran(dvm.plain('true', np=4)) for _ in range(3)]
        for one in others:
            self.assertNotIn(WAITING, one.job_trace())
            self.assertNotIn('node3', dvm.where(one))
        self.assertEqual((campaign.state, job.state), ('waiting', dvmtest.RUNNING))
        with open(trigger, 'w') as file:
            file.write('go\n')
        campaign.done()
        self.assert_ran(job)
        # And a job that does not end in time.
        endless = dvm.plain('sleep', '1000', hosts=['node2'])
        endless.wait_running()
        campaign = dvm.asker.shrink('node2', drain_timeout=1)
        campaign.done()
        self.assert_killed(endless, campaign)

    def test_D15_drain_lets_through(self):
        """A job on its way to a node that is drained still starts there, and is waited for."""
        dvm = self.dvm(nodes=3, slots=2)
        frozen = self.freeze(dvm.pid_of('node3'))
        job = self.staged(dvm, 'cat', 'data', hosts=['node3'])
        job.wait_state(elastic.SYSTEM_PREP)
        campaign = dvm.asker.shrink('node3', drain_timeout=1000)
        self.assertEqual(campaign.state, 'waiting')
        self.thaw(frozen)
        campaign.done()
        self.assert_ran(job)
        self.assertEqual((dvm.where(job), job.get('Remapped'), WAITING in job.job_trace()), (['node3'], 0, False))

    def test_D4_D21_fits_no_more(self):
        """What fits no more after the change ends as it asked, with the campaign named, and not before."""
        dvm = self.dvm(nodes=3, slots=2, settings=PATIENT)
        deaf = self.deaf(dvm, 'node3')
        campaign = dvm.asker.shrink('node3')
        jobs = {np: dvm.wait_held(dvm.plain('true', np=np), 'map') for np in (4, 5)}
        self.kill_on(deaf)
        campaign.done()
        self.assert_ran(jobs[4])
        result = jobs[5].wait()
        self.assertEqual(result['state'], dvmtest.MAP_FAILED)
        self.assertIn(str(campaign.number), result['reason'])
        self.assert_killed(deaf, campaign)

    def test_E66_late_reports(self):
        """What comes late of an agent that has gone changes nothing; one that never started is not taken for such."""
        dvm = self.dvm(nodes=4, slots=1, gates=True)
        pid = dvm.pid_of('node4')
        guard = leftovers.get_parent(pid)
        self.freeze(guard)
        campaign = dvm.asker.shrink('node4')
        campaign.done()
        before, log = dvm.snapshot(), dvm.log()
        # The kernel closes its connections before the process has ended.
        wait_until(lambda: not leftovers.is_running(pid), 'the agent to end')
        os.kill(guard, signal.SIGCONT)
        self.frozen.clear()
        wait_until(lambda: not leftovers.is_running(guard), 'its guard to end')
        dvm.asker.settle()
        self.assertEqual((dvm.snapshot(), campaign.state), (before, 'completed'))
        self.assertNotIn('lost', dvm.log()[len(log):])
        dvm.gates.hold('node4')
        again = dvm.asker.grow('node4')
        dvm.gates.release('node4', word='exit 1')
        again.failed()
        self.assertEqual(dvm.snapshot(), before)

    def test_E4_D3_triggers(self):
        """Every way to shrink is a campaign: by host, by allocation, by the id of a request, and on the command line."""
        dvm = self.dvm(nodes=2, slots=1)
        grown = [dvm.asker.grow(f'n{i}', f'm{i}', req_id=f'request-{i}') for i in range(5)]
        for one in grown:
            one.done()
        dvm.asker.shrink('n0').done()
        dvm.asker.shrink(alloc_id=grown[1].alloc_id).done()
        dvm.asker.shrink(of_req_id='request-2').done()
        dvm.asker.allocate('release', alloc_id=grown[3].alloc_id).done()
        ran = dvm.cli('shrink', '--alloc-id', grown[4].alloc_id, '--wait')
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(dvm.names(), ['m0', 'node1', 'node2'])
        self.assertEqual([row['Kind'] for row in dvm.campaigns(all=True)].count('shrink'), 5)

    def test_D17_fence_falls_with_each(self):
        dvm = self.dvm(nodes=5, slots=2, settings=PATIENT)
        deaf = self.deaf(dvm, 'node3', 'node4', 'node5')
        campaign = dvm.asker.shrink('node3', 'node4', 'node5')
        for left, name in ((2, 'node4'), (1, 'node5'), (0, 'node3')):
            self.assertEqual((dvm.fence(), campaign.get('Pending'), dvm.get('NodeCount')), (left + 1, left + 1, left + 3))
            self.kill_on(deaf, name)
            wait_until(lambda one=left: dvm.fence() == one, f'{name} to leave')
        campaign.done()
        self.assert_killed(deaf, campaign)


elastic.both(Shrink)
dvmtest.main()
