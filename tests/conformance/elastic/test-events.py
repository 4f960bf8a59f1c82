# SPDX-License-Identifier: LGPL-2.1-or-later
"""The two phases of a change: the answer, and the one event to the one who asked."""

import os
import subprocess

import dbusdaemon
import dvmtest
import elastic
from dvmtest import MANAGER, wait_until

PATIENT = ['kill-grace=1000', 'shrink-grace=1000']


class Events:
    def test_E37_E38_E39_E43_E47_two_phases(self):
        """The answer comes while nothing is done yet, and says so much; the event comes when all is, and says the rest."""
        dvm = self.dvm(nodes=3, slots=2, gates=True, settings=PATIENT)
        deaf = self.deaf(dvm, 'node3')
        dvm.gates.hold('n9')
        grow = dvm.asker.grow('n9', req_id='one')
        plain = dvm.asker.grow('n10')
        shrink = dvm.asker.shrink('node3', req_id='two')
        self.assertEqual((grow.state, shrink.state), ('running', 'running'))
        for one in (grow, plain, shrink):
            self.assertEqual(one.get('AllocId'), one.alloc_id)
            self.assertNotEqual(one.alloc_id, '')
        self.assertEqual(len({one.alloc_id for one in (grow, plain, shrink)}), 3)
        event = plain.done()
        self.assertEqual((event.alloc_id, event.req_id, event.details['kind']), (plain.alloc_id, '', 'grow'))
        dvm.asker.settle()
        self.assertEqual(len(dvm.asker.events), 1)
        dvm.gates.release('n9')
        event = grow.done()
        self.assertEqual((event.alloc_id, event.req_id, event.details['nodes']), (grow.alloc_id, 'one', ['n9']))
        self.kill_on(deaf)
        event = shrink.done()
        self.assertEqual((event.alloc_id, event.req_id, event.details['kind']), (shrink.alloc_id, 'two', 'shrink'))
        # By the id of an allocation too there is one, and no more.
        event = dvm.asker.shrink(alloc_id=grow.alloc_id).done()
        self.assertEqual(event.alloc_id, grow.alloc_id)
        dvm.asker.settle()
        self.assertEqual(len(dvm.asker.events), 4)
        self.assert_killed(deaf, shrink)

    def test_D17_E38_reply_before_event(self):
        """However quick the change is, the event does not overtake the answer."""
        dvm = self.dvm(nodes=3, slots=1)
        heard = []
        asker = self.asker(dvm)
        asker.connection.raw.signal_subscribe(None, MANAGER[1], None, None, None, 0,
                                              lambda *args: heard.append(args[5].unpack()[-1].get('campaign')))

        def answered(connection, result):
            alloc_id, path = connection.call_finish(result).unpack()
            asker._note(alloc_id, path)
            heard.append(('answer', path))

        for i in range(4):
            for k, method in enumerate(('Shrink', 'Grow')):
                request = dvmtest.GLib.Variant('(a{sv})', (dvmtest.to_options({'hosts': ['node2', 'node3']}),))
                asker.connection.raw.call(None, *MANAGER, method, request, None, 0, 60000, None, answered)
                wait_until(lambda n=4 * i + 2 * k + 2: len(heard) == n, 'answer and event')
        self.assertEqual(len(heard), 16)
        for answer, event in zip(heard[::2], heard[1::2]):
            self.assertEqual(answer, ('answer', event))

    def test_E44_E45_D7_failure(self):
        """A failure says what it was, with both ids, and everything is as before."""
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        before = dvm.snapshot()
        dvm.gates.hold('n9')
        campaign = dvm.asker.grow('n9', 'n10', req_id='one')
        dvm.gates.release('n9', word='exit 5')
        event = campaign.failed()
        self.assertEqual((event.alloc_id, event.req_id), (campaign.alloc_id, 'one'))
        self.assertLess(event.status, 0)
        self.assertNotEqual(event.status, -1)
        self.assertEqual((campaign.get('Cause'), campaign.get('Status'), campaign.get('Reason')),
                         ('launch-failed', event.status, event.reason))
        self.assertEqual(dvm.snapshot(), before)
        self.assertEqual(dvm.get('Statistics')['campaigns-failed'], 1)

    def test_E46_D6_D13_directed(self):
        """The connection that asked is told, and nobody else, also when it has gone."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        askers = [self.asker(dvm) for _ in range(3)]
        askers[2].call('Subscribe', '()')
        dvm.gates.hold('n9', 'n10')
        grow = askers[0].grow('n9')
        leaver = self.asker(dvm)
        lost = leaver.grow('n10')
        self.assertRegex(grow.get('Requester'), r'^private:\d+$')
        self.assertNotEqual(grow.get('Requester'), lost.get('Requester'))
        self.askers.remove(leaver)
        leaver.close()
        dvm.gates.release('n9', 'n10')
        grow.done()
        lost.wait('completed')
        for asker in askers + [dvm.asker]:
            asker.settle()
        self.assertEqual([len(asker.events) for asker in askers + [dvm.asker]], [1, 0, 0, 0])

    def test_E46_D6_on_a_bus(self):
        """On a message bus it is a unicast to the unique name that asked."""
        bus = dbusdaemon.MessageBus(self.place())
        self.addCleanup(bus.stop)
        dvm = self.dvm(nodes=1, slots=1, bus='session', env={'DBUS_SESSION_BUS_ADDRESS': bus.address})
        first, second = [self.asker(dvm, dvmtest.Connection(bus.address, 'org.dvm.Manager')) for _ in range(2)]
        grow = first.grow('n9')
        self.assertEqual(grow.get('Requester'), first.connection.raw.get_unique_name())
        grow.done()
        second.settle()
        self.assertEqual((len(first.events), second.events), (1, []))

    def test_E48_refused_in_phase_one(self):
        """What is refused at once has no event, no campaign, and has changed nothing."""
        dvm = self.dvm(nodes=2, slots=1)
        before = dvm.snapshot()
        refusals = [
            ('BadParam', [], dvm.asker.grow, (), {}),
            ('BadParam', 'n9', dvm.asker.grow, ('n9:none',), {}),
            ('BadParam', 'strange-key', dvm.asker.grow, ('n9',), {'strange_key': 1}),
            ('BadParam', 'hosts', dvm.asker.call, ('Grow', '(a{sv})', {'hosts': dvmtest.GLib.Variant('s', 'n9')}), {}),
            ('NotFound', 'no-id', dvm.asker.grow, ('n9',), {'alloc_id': 'no-id'}),
            ('NotFound', 'no-id', dvm.asker.shrink, (), {'of_req_id': 'no-id'}),
            ('NotFound', 'n9', dvm.asker.shrink, ('n9',), {}),
            ('BadParam', 'bigger', dvm.asker.call, ('Allocate', '(sa{sv})', 'bigger', {}), {}),
        ]
        for name, words, call, args, kwargs in refusals:
            self.assert_refused(name, words, call, *args, **kwargs)
        dvm.asker.settle()
        self.assertEqual((dvm.asker.events, dvm.campaigns(all=True), dvm.snapshot()), ([], [], before))

    def test_D21_inheritance(self):
        """A word that is none is a mistake; a known one that cannot be done yet is not supported: and never dropped."""
        dvm = self.dvm(nodes=1, slots=1)
        self.assert_refused('BadParam', 'sometimes', dvm.asker.grow, 'n9', inheritance='sometimes')
        self.assertEqual(dvm.campaigns(all=True), [])

    def test_E49_nothing_changes(self):
        dvm = self.dvm(nodes=2, slots=1)
        for campaign in (dvm.asker.grow('node1'), dvm.asker.grow('node2', 'node1', req_id='mine')):
            self.assertEqual(campaign.path, None)
            self.assertNotEqual(campaign.alloc_id, '')
        dvm.asker.settle()
        self.assertEqual((dvm.asker.events, dvm.campaigns(all=True)), ([], []))

    def test_E40_E41_E42_D17_offers(self):
        """When all have gone each allocator is offered them, and answers as it likes, then comes the event; jobs need not wait for that."""
        place = self.place()
        until = os.path.join(place, 'answer')
        script = f'give-back until {until}; give-back done; give-back fail the office is closed; give-back decline'
        dvm = self.dvm(nodes=4, slots=1, settings=[f'test-plugin={script}'])
        pid = dvm.pid_of('node4')
        campaign = dvm.asker.shrink('node4')
        wait_until(lambda: 'offered node4 of' in dvm.log(), 'it to be offered')
        self.assert_gone(pid)
        dvm.asker.settle()
        self.assertEqual((dvm.asker.events, campaign.state in elastic.ENDED), ([], False))
        self.assertEqual((dvm.get('NodeCount'), dvm.fence()), (3, 0))
        self.assert_ran(dvm.plain('true', np=3))
        with open(until, 'w'):
            pass
        campaign.done()
        # One that fails, one that declines, and, where nobody else needs time, one that never answers.
        for name in ('node3', 'node2'):
            dvm.asker.shrink(name).done()
        self.assertEqual(dvm.log().count('offered '), 3)
        dvm = self.dvm(nodes=2, slots=1, settings=['test-plugin=give-back never', 'allocator-timeout=1'])
        dvm.asker.shrink('node2').done()
        self.assertEqual(dvm.log().count('offered '), 1)

    def test_E42_P18_the_size_that_was_asked_for(self):
        """At the event all is true: members, slots, tree, and what runs."""
        dvm = self.dvm(nodes=3, slots=2)
        for count in (1, 4):
            names = [f'n{i}' for i in range(count)]
            dvm.asker.grow(*names).event('DvmIsReady')
            self.assertEqual((dvm.get('NodeCount'), dvm.get('SlotCount')), (3 + count, 6 + 2 * count))
            pids = [dvm.pid_of(name) for name in names]
            self.assert_ran(dvm.plain('true', np=6 + 2 * count))
            dvm.asker.shrink(*names).event('DvmIsReady')
            self.assert_gone(*pids)
            self.assertEqual((dvm.get('NodeCount'), dvm.get('SlotCount')), (3, 6))

    def test_E50_no_requester(self):
        """The grow of a job has no requester, and nobody is told of it."""
        dvm = self.dvm(nodes=1, slots=1)
        dvm.asker.call('Subscribe', '()')
        job = self.assert_ran(dvm.plain('true', np=2, add_hosts=['n9']))
        row = dvm.campaigns(all=True)[0]
        dvm.asker.settle()
        self.assertEqual((row['Requester'], row['State'], dvm.asker.events), ('', 'completed', []))
        self.assertEqual(len(set(dvm.where(job))), 2)

    def test_E63_who_does_not_listen(self):
        """busctl asks, and is gone before the change is done: it is done all the same."""
        dvm = self.dvm(nodes=1, slots=1)
        for method, count in (('Grow', 2), ('Shrink', 1)):
            subprocess.run(['busctl', f'--address=unix:path={dvm.socket}', 'call', 'org.dvm.Manager', *MANAGER, method,
                            'a{sv}', '1', 'hosts', 'as', '1', 'n9'], check=True, stdout=subprocess.DEVNULL, timeout=dvmtest.LIMIT)
            wait_until(lambda one=count: dvm.get('NodeCount') == one, f'{count} nodes')
            wait_until(lambda: dvm.get('CampaignsRunning') == 0, 'its end')
        self.assertEqual([row['State'] for row in dvm.campaigns(all=True)], ['completed'] * 2)
        self.assertEqual(dvm.asker.events, [])


elastic.both(Events)
dvmtest.main()
