# SPDX-License-Identifier: LGPL-2.1-or-later
"""Allocators: what they propose, and changes that they ask for themselves."""

import os

import dvmtest
import elastic
from dvmtest import wait_until


class Push:
    def test_E4_E50_E70_scheduler(self):
        """A scheduler's own changes are campaigns like any, of which nobody is told."""
        place = self.place()
        go = [os.path.join(place, f'go-{i}') for i in range(2)]
        script = f'push until {go[0]}; push done new n8:2,n9:2; push until {go[1]}; push done release n8'
        dvm = self.dvm(nodes=2, slots=1, settings=[f'test-plugin={script}'])
        dvm.asker.call('Subscribe', '()')
        for path, names in zip(go, (['n8', 'n9', 'node1', 'node2'], ['n9', 'node1', 'node2'])):
            with open(path, 'w'):
                pass
            wait_until(lambda one=names: dvm.names() == one and dvm.get('CampaignsRunning') == 0, f'{names}')
        rows = dvm.campaigns(all=True)
        self.assertEqual([(row['Kind'], row['State'], row['Requester'] in ('', 'scheduler:test')) for row in rows],
                         [('grow', 'completed', True), ('shrink', 'completed', True)])
        self.assertEqual(dvm.members['n9']['Launcher'], 'local')
        dvm.asker.settle()
        self.assertEqual(dvm.asker.events, [])
        self.assert_ran(dvm.plain('true', np=4))

    def test_D4_scheduler_goes_first(self):
        """Who has been parked too long holds back what others ask for, but not the scheduler."""
        go = os.path.join(self.place(), 'go')
        dvm = self.dvm(nodes=2, slots=1, gates=True, settings=[f'test-plugin=push until {go}; push done new n8', 'park-limit=1'])
        dvm.gates.hold('n9')
        first = dvm.asker.grow('n9')
        job = dvm.wait_held(dvm.plain('true'), 'map')
        parked = dvmtest.time.monotonic()
        wait_until(lambda: dvmtest.time.monotonic() > parked + 1.2, 'park-limit to pass')
        later = dvm.asker.grow('n10')
        with open(go, 'w'):
            pass
        wait_until(lambda: 'n8' in dvm.members, 'n8')
        self.assertEqual((first.state, later.state, job.state), ('running', 'waiting', elastic.WAITING))
        dvm.gates.release('n9')
        for one in (first, later):
            one.done()
        self.assert_ran(job)

    def test_E70_proposals(self):
        """Which nodes come is the allocator's word; who starts their agents is the launcher."""
        script = 'allocator decline; allocator done x1:3,x2; allocator fail there are none'
        dvm = self.dvm(nodes=1, slots=1, settings=[f'test-plugin={script}'])
        dvm.asker.grow(count=2).done()
        self.assertEqual(dvm.names(), ['node1', 'x1', 'x2'])
        self.assertEqual((dvm.members['x1']['Slots'], dvm.members['x1']['Launcher']), (3, 'local'))
        self.assert_refused('AllocFailed', 'there are none', dvm.asker.grow, count=2)
        # Without a word of it nodes of this machine go on being counted.
        dvm.asker.grow(count=2).done()
        self.assertEqual(dvm.get('NodeCount'), 5)


elastic.both(Push)
dvmtest.main()
