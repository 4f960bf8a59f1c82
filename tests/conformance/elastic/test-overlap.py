# SPDX-License-Identifier: LGPL-2.1-or-later
"""Campaigns that overlap: who waits for which, who goes first, and two changes of one host."""

import os
import signal

import dvmtest
import elastic
from dvmtest import wait_until
from elastic import NEVER_LAUNCHED, WAITING

# Nodes that are lost stay DOWN here: test-heal.py is about those that come back.
os.environ['DVM_HEAL'] = 'false'

PATIENT = ['kill-grace=1000', 'shrink-grace=1000']


class Overlap:
    def test_E7_E33_E34_E36_D5_mixed(self):
        """Two grows and two shrinks at once: each ends for itself, and who waits goes on when the last of them has ended."""
        dvm = self.dvm(nodes=6, slots=2, gates=True, settings=PATIENT)
        dvm.gates.hold('n9', 'n10')
        deaf = self.deaf(dvm, 'node2', 'node3')
        campaigns = {'grow9': dvm.asker.grow('n9'), 'shrink2': dvm.asker.shrink('node2'),
                     'grow10': dvm.asker.grow('n10'), 'shrink3': dvm.asker.shrink('node3')}
        self.assertEqual((dvm.get('CampaignsRunning'), dvm.fence()), (4, 4))
        job = dvm.wait_held(dvm.plain('true', np=10), 'map')

        def ends(name, act, left):
            act()
            campaigns.pop(name).done()
            self.assertEqual((dvm.get('CampaignsRunning'), dvm.fence()), (left, left))
            if left:
                self.assertEqual(job.state, WAITING)
                self.assertEqual(sorted(job.get('WaitsFor')), sorted(one.path for one in campaigns.values()))

        ends('grow10', lambda: dvm.gates.release('n10'), 3)
        # Somebody who has nothing to do with any of them is no end of one.
        dvm.signal_agent('node5', signal.SIGKILL)
        wait_until(lambda: 'node5' not in dvm.members, 'it to be missed')
        self.assertEqual((job.state, dvm.fence()), (WAITING, 3))
        ends('shrink2', lambda: self.kill_on(deaf, 'node2'), 2)
        ends('grow9', lambda: dvm.gates.release('n9'), 1)
        ends('shrink3', lambda: self.kill_on(deaf, 'node3'), 0)
        self.assert_ran(job)
        self.assertEqual(dvm.names(), ['n10', 'n9', 'node1', 'node4', 'node6'])
        self.assertLessEqual(set(dvm.where(job)), set(dvm.names()))
        self.assertEqual(job.job_trace().count(elastic.MAP), 1)
        deaf.wait()

    def test_E34_E35_gates_apart(self):
        """At the launch gate shrinks alone hold: there a grow that goes on releases nobody, and stalls nobody."""
        dvm = self.dvm(nodes=4, slots=2, gates=True, settings=PATIENT)
        dvm.gates.hold('n9')
        deaf = self.deaf(dvm, 'node2')
        frozen = self.freeze(dvm.pid_of('node4'))
        job = self.staged(dvm, 'true', hosts=['node4'])
        moved = self.staged(dvm, 'true', np=4, map_by='node')
        for one in (job, moved):
            one.wait_state(elastic.SYSTEM_PREP)
        shrink = dvm.asker.shrink('node2')
        grow = dvm.asker.grow('n9')
        self.thaw(frozen)
        for one in (job, moved):
            dvm.wait_held(one, 'launch')
            self.assertEqual(one.get('WaitsFor'), [shrink.path])
        late = dvm.wait_held(dvm.plain('true'), 'map')
        self.kill_on(deaf)
        shrink.done()
        self.assert_ran(job)
        self.assertEqual((late.get('WaitsFor'), grow.state), ([grow.path], 'running'))
        # What is to be mapped again waits at the map gate like everybody.
        self.assertEqual((moved.state, moved.get('HeldAt')), (WAITING, 'map'))
        dvm.gates.release('n9')
        grow.done()
        for one in (moved, late):
            self.assert_ran(one)
        self.assertEqual((moved.get('Remapped'), 'node2' in dvm.where(moved)), (1, False))
        self.assert_killed(deaf, shrink)

    def test_D4_who_is_aborted(self):
        """A grow that fails takes those along that were parked under it and might have used its nodes, and nobody else."""
        dvm = self.dvm(nodes=3, slots=2, gates=True)
        dvm.gates.hold('n9', 'n10')
        first = dvm.asker.grow('n9')
        may, may_not = dvm.plain('true'), dvm.plain('true', hosts=['node1', 'node2'])
        for job in (may, may_not):
            dvm.wait_held(job, 'map')
        second = dvm.asker.grow('n10')
        later = dvm.wait_held(dvm.plain('true'), 'map')
        wait_until(lambda: len(may.get('WaitsFor')) == 2, 'it to wait for the second too')
        dvm.gates.release('n10', word='exit 1')
        second.failed()
        # The second began when these were parked already: it is not what they were waiting for.
        self.assertEqual(later.wait()['state'], NEVER_LAUNCHED)
        self.assertIn(str(second.number), later.get('Reason'))
        for job in (may, may_not):
            self.assertEqual((job.state, job.get('WaitsFor')), (WAITING, [first.path]))
        dvm.gates.release('n9', word='exit 1')
        first.failed()
        self.assertEqual(may.wait()['state'], NEVER_LAUNCHED)
        self.assertIn(str(first.number), may.get('Reason'))
        self.assert_ran(may_not)

    def test_D4_remapped_is_never_aborted(self):
        """A job that has to be mapped again may be delayed by a grow that fails, and is not taken along by it."""
        dvm = self.dvm(nodes=4, slots=2, gates=True, settings=PATIENT)
        dvm.gates.hold('n9')
        deaf = self.deaf(dvm, 'node2')
        frozen = self.freeze(dvm.pid_of('node4'))
        job = self.staged(dvm, 'true', np=4, map_by='node')
        job.wait_state(elastic.SYSTEM_PREP)
        self.assertIn('node2', dvm.where(job))
        shrink = dvm.asker.shrink('node2')
        grow = dvm.asker.grow('n9')
        self.thaw(frozen)
        dvm.wait_held(job, 'launch')
        self.kill_on(deaf)
        shrink.done()
        dvm.wait_held(job, 'map')
        dvm.gates.release('n9', word='exit 1')
        grow.failed()
        self.assert_ran(job)
        self.assertEqual(job.get('Remapped'), 1)
        self.assert_killed(deaf, shrink)

    def test_D4_order(self):
        """At release they go in the order of their submission; what does not fit any more waits, or fails as it asked."""
        dvm = self.dvm(nodes=2, slots=2, gates=True, settings=PATIENT)
        dvm.gates.hold('n9')
        grow = dvm.asker.grow('n9')
        place = os.path.join(dvm.place, 'order')
        jobs = [dvm.wait_held(dvm.plain('sh', '-c', f'echo {i} >>"$0"', place, np=4, hosts=['node1', 'node2']), 'map')
                for i in range(4)]
        refuses = dvm.wait_held(dvm.plain('true', np=4, hosts=['node1', 'node2'], when_full='refuse'), 'map')
        too_large = dvm.wait_held(dvm.plain('true', np=7), 'map')
        dvm.gates.release('n9')
        grow.done()
        for job in jobs:
            self.assert_ran(job)
        with open(place) as file:
            self.assertEqual(file.read().split(), [str(i) for i in range(4) for _ in range(4)])
        self.assertEqual(refuses.wait()['state'], dvmtest.MAP_FAILED)
        self.assertEqual(too_large.wait()['state'], dvmtest.MAP_FAILED)

    def test_D4_park_limit(self):
        """Who has been parked so long is admitted before a later campaign begins; to cancel is always possible."""
        dvm = self.dvm(nodes=3, slots=2, gates=True, settings=['park-limit=1'])
        dvm.gates.hold('n9', 'n10')
        first = dvm.asker.grow('n9')
        job = dvm.wait_held(dvm.plain('true'), 'map')
        parked = dvmtest.time.monotonic()
        wait_until(lambda: dvmtest.time.monotonic() > parked + 1.2, 'park-limit to pass')
        later = dvm.asker.shrink('node3')
        third = dvm.asker.grow('n10')
        self.assertEqual([one.state for one in (later, third)], ['waiting'] * 2)
        self.assertEqual((dvm.fence(), job.get('WaitsFor'), 'node3' in dvm.members), (1, [first.path], True))
        third.cancel()
        self.assertEqual(third.failed().campaign, third.path)
        dvm.gates.release('n9')
        first.done()
        self.assert_ran(job)
        later.done()
        mapped = next(when for when, what, _, new, _ in job.trace() if (what, new) == ('job', elastic.MAP))
        self.assertLessEqual(mapped, later.get('EndedAt'))
        self.assertNotIn('node3', dvm.names())

    def test_D4_its_own_grow(self):
        """A job that adds a host waits for that, ends with it, and nobody is told of it."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        dvm.gates.hold('n9')
        job = dvm.plain('true', np=2, add_hosts=['n9:1'])
        dvm.gates.wait('n9')
        campaign = elastic.Campaign(dvm, job.get('WaitsFor')[0])
        self.assertEqual((job.get('Ended'), job.get('NumLaunched')), (False, 0))
        dvm.gates.release('n9')
        campaign.done()
        self.assert_ran(job)
        self.assertEqual(sorted(dvm.where(job)), ['n9', 'node1'])
        dvm.gates.hold('n10')
        job = dvm.plain('true', hosts=['node1'], add_hosts=['n10'])
        dvm.gates.wait('n10')
        campaign = elastic.Campaign(dvm, job.get('WaitsFor')[0])
        dvm.gates.release('n10', word='exit 1')
        campaign.failed()
        self.assertEqual(job.wait()['state'], NEVER_LAUNCHED)
        dvm.asker.settle()
        self.assertEqual((dvm.asker.events, campaign.get('Requester')), ([], ''))

    def test_D14_grow_of_a_leaving_node(self):
        """It begins when the node has gone, and may wait for that as long as it takes."""
        dvm = self.dvm(nodes=3, slots=2, settings=PATIENT)
        deaf = self.deaf(dvm, 'node2')
        pid, rank = dvm.pid_of('node2'), dvm.members['node2']['Rank']
        shrink = dvm.asker.shrink('node2')
        grow = dvm.asker.grow('node2')
        self.assertEqual((grow.state, dvm.fence()), ('waiting', 2))
        job = dvm.wait_held(dvm.plain('true', hosts=['node2']), 'map')
        self.kill_on(deaf)
        shrink.done()
        grow.done()
        self.assert_gone(pid)
        self.assert_ran(job)
        self.assertGreater(dvm.members['node2']['Rank'], rank)
        self.assert_killed(deaf, shrink)

    def test_D14_release_cancels_a_grow(self):
        """A release of a host that is being added: the grow fails as cancelled, and each who asked is told."""
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        before = dvm.snapshot()
        other = self.asker(dvm)
        dvm.gates.hold('n9')
        grow = dvm.asker.grow('n9', 'n10')
        dvm.gates.wait('n9')
        shrink = other.shrink('n9')
        grow.failed()
        self.assertEqual(grow.get('Cause'), 'cancelled')
        shrink.done()
        self.assertEqual((dvm.snapshot(), len(dvm.asker.events), len(other.events)), (before, 1, 1))

    def test_D14_one_rank_in_two_shrinks(self):
        """It counts in each, is ordered once, and both end with it."""
        dvm = self.dvm(nodes=4, slots=2, settings=PATIENT)
        other = self.asker(dvm)
        deaf = self.deaf(dvm, 'node2', 'node3')
        first = dvm.asker.shrink('node2', 'node3')
        second = other.shrink('node3', 'node4')
        wait_until(lambda: second.get('Pending') == 1, 'node4 to go')
        self.assertEqual((first.get('Pending'), dvm.fence()), (2, 3))
        self.kill_on(deaf, 'node3')
        second.done()
        self.assertEqual((first.state, first.get('Pending'), dvm.fence()), ('running', 1, 1))
        self.kill_on(deaf, 'node2')
        first.done()
        self.assertEqual(dvm.names(), ['node1'])
        deaf.wait()

    def test_D14_two_grows_of_a_host(self):
        """Refused; a job's own grow of it waits for that campaign instead."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        dvm.gates.hold('n9')
        grow = dvm.asker.grow('n9')
        self.assert_refused('Exists', 'n9', dvm.asker.grow, 'n10', 'n9')
        job = dvm.plain('true', hosts=['n9'], add_hosts=['n9'])
        wait_until(lambda: job.get('WaitsFor'), 'it to wait')
        self.assertEqual((job.get('WaitsFor'), dvm.get('CampaignsRunning')), ([grow.path], 1))
        dvm.gates.release('n9')
        grow.done()
        self.assert_ran(job)
        self.assertEqual(len(dvm.campaigns(all=True)), 1)

    def test_D14_E49_nothing_changes(self):
        """A host that is in is no change; beside one that is not, it keeps what it has."""
        dvm = self.dvm(nodes=2, slots=2)
        before = dvm.snapshot()
        same = dvm.asker.grow('node1:7', 'node2')
        self.assertEqual((same.path, dvm.snapshot(), dvm.campaigns(all=True)), (None, before, []))
        self.assertNotEqual(same.alloc_id, '')
        partly = dvm.asker.grow('node1:7', 'n9')
        partly.done()
        self.assertEqual((len(partly.get('Targets')), dvm.members['node1']['Slots']), (1, 2))
        dvm.asker.settle()
        self.assertEqual(len(dvm.asker.events), 1)

    def test_D14_down_nodes(self):
        """A node that is DOWN is not in: it can be grown, or released, and then its row goes."""
        dvm = self.dvm(nodes=3, slots=1)
        for name in ('node2', 'node3'):
            dvm.signal_agent(name, signal.SIGKILL)
            wait_until(lambda one=name: one not in dvm.members, f'{name} to be missed')
        rank = {row['Name']: row['Rank'] for row in dvm.get_nodes()}['node2']
        dvm.asker.grow('node2').done()
        self.assertGreater(dvm.members['node2']['Rank'], rank)
        self.assertEqual([row['Name'] for row in dvm.get_nodes()[1:]].count('node2'), 1)
        released = dvm.asker.shrink('node3')
        self.assertEqual(released.path, None)
        self.assertEqual(sorted(row['Name'] for row in dvm.get_nodes()[1:]), ['node1', 'node2'])

    def test_D3_roll_back_is_no_shrink(self):
        """As long as the targets of a failed grow have not gone the map gate is closed, and the launch gate is open."""
        dvm = self.dvm(nodes=3, slots=2, gates=True, settings=['shrink-grace=1000'])
        frozen = self.freeze(dvm.pid_of('node3'))
        job = self.staged(dvm, 'true', hosts=['node3'])
        job.wait_state(elastic.SYSTEM_PREP)
        dvm.gates.hold('n10')
        campaign = dvm.asker.grow('n9', 'n10')
        known = set(row['Pid'] for row in dvm.members.values())
        new = wait_until(lambda: [pid for pid in elastic.leftovers.find_agents(dvm.pid) if pid not in known], 'n9 to start')
        dvm.wait_reported('n9')
        self.freeze(new[0])
        dvm.gates.release('n10', word='exit 1')
        wait_until(lambda: campaign.state == 'rolling-back', 'the roll-back')
        parked = dvm.wait_held(dvm.plain('true', hosts=['node1']), 'map')
        self.thaw(frozen)
        self.assert_ran(job)
        self.assertNotIn(WAITING, job.job_trace())
        self.assertEqual((campaign.state, parked.state, dvm.asker.events), ('rolling-back', WAITING, []))
        self.thaw(new[0])
        campaign.failed()
        self.assert_ran(parked)
        self.assertEqual(dvm.names(), ['node1', 'node2', 'node3'])

    def test_E33_E34_E36_storm(self):
        """Eight who grow and shrink nodes of their own at the same time, and jobs all the while: everybody gets what he asked for."""
        dvm = self.dvm(nodes=3, slots=2)
        askers = [self.asker(dvm) for _ in range(4)]
        jobs = []
        for _ in range(3):
            grows = [asker.grow(f'a{i}', f'b{i}') for i, asker in enumerate(askers)]
            jobs += [dvm.plain('true', np=2) for _ in range(4)]
            for one in grows:
                one.done()
            shrinks = [asker.shrink(f'a{i}', f'b{i}') for i, asker in enumerate(askers)]
            jobs += [dvm.plain('true', np=2, hosts=['node1']) for _ in range(4)]
            for one in shrinks:
                one.done()
        for job in jobs:
            result = job.wait()
            if result['state'] != dvmtest.NOTIFIED:
                self.assertEqual(result['state'], elastic.KILLED_BY_CMD, result)
        for job in jobs:
            if set(dvm.where(job)) <= {'node1', 'node2', 'node3'}:
                self.assert_ran(job)
        self.assertEqual(dvm.names(), ['node1', 'node2', 'node3'])


elastic.both(Overlap)
dvmtest.main()
