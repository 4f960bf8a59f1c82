# SPDX-License-Identifier: LGPL-2.1-or-later
"""How reservations end: released, inherited, out of time, with their parent or with the DVM; and what becomes of nodes and jobs."""

import os
import time

import dvmtest
import elastic
import sessions
from dvmtest import wait_until
from elastic import KILLED_BY_CMD, NEVER_LAUNCHED
from sessions import READY, WARNING


class End:
    def owner(self, dvm, *words, **options):
        """A job that asks, and ends when it is let go: job, function that lets it go, its sessions."""
        go, let_go = self.gate(dvm)
        n = sum(1 for word in ' '.join(words).split() if word in ('new', 'extend'))
        job = self.program(dvm, 'register', *words, f'wait {n}', go, **options)
        self.wait_said(job, 'event', n)
        return job, let_go, [each for each in self.sessions(dvm) if each.get('Owner') == job.nspace]

    def test_R53_R60_R63_released_by_an_owner(self):
        """Whoever owns it, the maker or a job spawned into it, ends it at once: what was brought leaves, with what runs there."""
        dvm = self.dvm(nodes=2, slots=1)
        session = self.reserve(dvm, 'n9', 'node2')
        there = self.stay(dvm, target=[session.alloc_id], hosts=['n9'])
        stays = self.stay(dvm, target=[session.alloc_id], hosts=['node2'])
        campaign = dvm.asker.allocate('release', alloc_id=session.alloc_id)
        campaign.done()
        self.assert_killed(there, campaign)
        self.assertEqual((dvm.names(), stays.get('Ended'), dvm.default.nodes),
                         (['node1', 'node2'], False, ['node1', 'node2']))
        self.assertEqual((session.state, session.nodes), ('terminating', []))
        stays.cancel()
        session.wait_gone()

    def test_R53_owner_spawned_into(self):
        """A job that was put into a reservation may give it back, one that was not may not."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9:2')
        stranger = self.program(dvm, f'release id={session.alloc_id}')
        self.assertEqual(self.said(stranger)[0].status, sessions.NO_PERMISSIONS)
        self.assertTrue(session.there())
        inside = self.program(dvm, f'register release id={session.alloc_id} wait 1', target=[session.alloc_id, ''], node='node1')
        self.assertEqual([line.status for line in self.said(inside)], [0, READY])
        session.wait_gone()
        self.assertEqual(dvm.names(), ['node1'])

    def test_R53_by_hosts(self):
        """Neither are nodes of somebody else's reservation released by their names."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9')
        stranger = self.program(dvm, 'release list=n9')
        self.assertEqual(self.said(stranger)[0].status, sessions.NO_PERMISSIONS)
        self.assertEqual((session.nodes, dvm.names()), (['n9'], ['n9', 'node1']))

    def test_R54_with_the_dvm(self):
        """The end of the DVM is the end of all of them, and nothing is left."""
        dvm = self.dvm(nodes=1, slots=1)
        for i in range(3):
            self.reserve(dvm, f'n{i + 7}', inheritance='none')
        dvm.call('Shutdown', '(a{sv})', {})
        dvm.wait_exit()
        dvm.check_clean()

    def test_R6_R44_R55_scheduler(self):
        """A scheduler owns every session: what it takes back goes as any release, with an event for nobody."""
        place = self.place()
        go = os.path.join(place, 'go')
        dvm = self.dvm(nodes=1, slots=1, settings=[f'test-plugin=push until {go}; push done release n9'])
        session = self.reserve(dvm, 'n9')
        job = self.stay(dvm, target=[session.alloc_id])
        with open(go, 'w'):
            pass
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        wait_until(lambda: dvm.names() == ['node1'] and dvm.get('CampaignsRunning') == 0, 'n9 to leave')
        dvm.asker.settle()
        self.assertEqual([event.campaign for event in dvm.asker.events], [session.campaign.path])

    def test_R56_R17_none(self):
        """NONE: at the end of the owner all goes back, also under its children."""
        dvm = self.dvm(nodes=1, slots=4)
        go, let_go = self.gate(dvm)
        job, end, (session,) = self.owner(dvm, f'new list=n9:2 inherit=1 spawn sep=1 id=@ -- sleep 1000 ;')
        self.wait_said(job, 'spawn')
        self.assertEqual((session.get('Inheritance'), len(session.get('Jobs'))), ('none', 1))
        child = dvmtest.Job(dvm, session.get('Jobs')[0])
        end()
        self.assert_ran(job)
        session.wait_gone()
        self.assertEqual(child.wait()['state'], KILLED_BY_CMD)
        wait_until(lambda: dvm.names() == ['node1'], 'n9 to leave')

    def test_R57_child(self):
        """CHILD: it outlives its owner until the last of the derived children has ended."""
        dvm = self.dvm(nodes=1, slots=4)
        job, end, (session,) = self.owner(dvm, 'new list=n9:2 inherit=2 spawn sep=1 id=@ -- sleep 1000 ;')
        child = dvmtest.Job(dvm, wait_until(lambda: session.get('Jobs'), 'the child')[0])
        child.wait_running()
        end()
        self.assert_ran(job)
        self.assertEqual((session.state, session.nodes, child.get('Ended')), ('active', ['n9'], False))
        self.assertEqual(self.where_runs(dvm, np=1), ['node1'])
        child.cancel()
        child.wait()
        session.wait_gone()
        wait_until(lambda: dvm.names() == ['node1'], 'n9 to leave')

    def test_R58_R61_R62_R64_default(self):
        """DEFAULT: at the end of the owner the nodes are for all, stay, and nobody is killed."""
        dvm = self.dvm(nodes=1, slots=4)
        job, end, (session,) = self.owner(dvm, 'new list=n9:2 spawn sep=1 id=@ -- sleep 1000 ;')
        child = dvmtest.Job(dvm, wait_until(lambda: session.get('Jobs'), 'the child')[0])
        child.wait_running()
        end()
        self.assert_ran(job)
        wait_until(lambda: session.get('Shared'), 'its nodes to be for all')
        self.assertEqual((session.nodes, child.get('Ended'), dvm.names()), (['n9'], False, ['n9', 'node1']))
        self.assertEqual(self.where_runs(dvm, hosts=['n9'], np=1), ['n9'])
        child.cancel()
        child.wait()
        self.assertEqual(dvm.names(), ['n9', 'node1'])
        dvm.asker.shrink(alloc_id=session.alloc_id).done()
        session.wait_gone()
        self.assertEqual(dvm.names(), ['node1'])

    def test_R59_child_default(self):
        """CHILD_DEFAULT: they are for all when the last derived child has ended."""
        dvm = self.dvm(nodes=1, slots=4)
        job, end, (session,) = self.owner(dvm, 'new list=n9:2 inherit=4 spawn sep=1 id=@ -- sleep 1000 ;')
        child = dvmtest.Job(dvm, wait_until(lambda: session.get('Jobs'), 'the child')[0])
        child.wait_running()
        end()
        self.assert_ran(job)
        self.assertFalse(session.get('Shared'))
        child.cancel()
        child.wait()
        wait_until(lambda: session.get('Shared'), 'its nodes to be for all')
        self.assertEqual((session.nodes, dvm.names()), (['n9'], ['n9', 'node1']))

    def test_R42_at_any_depth(self):
        """A child of a child, spawned elsewhere, still counts; one that only uses the reservation does not."""
        dvm = self.dvm(nodes=1, slots=8)
        stay, let_go = self.gate(dvm)
        inner = self.script(dvm, f'spawn sep=1 -- {self.script(dvm, stay)} ;')
        job, end, (session,) = self.owner(dvm, f'new list=n9:2 inherit=2 spawn sep=1 -- {inner} ;')
        wait_until(lambda: len([row for row in dvm.list_jobs() if not row['Ended']]) >= 2, 'the grandchild')
        foreign = self.stay(dvm, target=[session.alloc_id])
        end()
        self.assert_ran(job)
        self.assertEqual(session.state, 'active')
        let_go()
        session.wait_gone()
        foreign.wait()

    def test_D3_R60_startup_nodes_revert(self):
        """Nodes of the start that go back revert to the default session, without any campaign."""
        dvm = self.dvm(nodes=3, slots=2)
        job, end, (session,) = self.owner(dvm, 'new list=node3,n9 inherit=1', node='node1')
        self.assertEqual((session.nodes, dvm.default.nodes), (['n9', 'node3'], ['node1', 'node2']))
        end()
        self.assert_ran(job)
        session.wait_gone()
        wait_until(lambda: dvm.names() == ['node1', 'node2', 'node3'], 'n9 to leave')
        self.assertEqual(dvm.default.nodes, ['node1', 'node2', 'node3'])
        self.assertEqual([row['Kind'] for row in dvm.campaigns(all=True)], ['grow', 'shrink'])

    def test_S6_with_the_parent(self):
        """A session that was asked for from within another one ends with it, unless it is separate."""
        dvm = self.dvm(nodes=1, slots=2)
        parent = self.reserve(dvm, 'n7:4')
        go, _ = self.gate(dvm)
        job = self.program(dvm, f'register new list=n8 wait 1 new list=n9 sep=1 wait 2 {go}', target=[parent.alloc_id])
        self.wait_said(job, 'event', 2)
        child, separate = (self.by_alloc(dvm, each.facts['id']) for each in self.lines(job, finished=False) if each.kind == 'new')
        self.assertEqual((child.get('Parent'), separate.get('Parent'), separate.get('Separate')), (parent.path, parent.path, True))
        self.assertEqual(sorted(parent.get('Children')), sorted([child.path, separate.path]))
        self.release(dvm, parent)
        for each in (parent, child):
            each.wait_gone()
        job.wait()
        wait_until(lambda: 'n8' not in dvm.members and dvm.get('CampaignsRunning') == 0, 'n8 to leave')
        self.assertEqual(separate.nodes, ['n9'])
        self.assertEqual(separate.get('Parent'), '/')

    def test_S23_R69_R70_time(self):
        """At the end of its time it is released; the warning changes nothing, and an extension in time saves it."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n9', time=3600)
        self.assertLess(abs(session.get('ExpiresAt') / 1e6 - time.time() - 3600), 60)
        job = self.stay(dvm, target=[session.alloc_id])
        begin = time.time()
        dvm.asker.allocate('extend', alloc_id=session.alloc_id, time=1)
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        session.wait_gone()
        self.assertGreaterEqual(time.time() - begin, 0.9)
        wait_until(lambda: dvm.names() == ['node1'], 'n9 to leave')
        saved = self.reserve(dvm, 'n9', time=60)
        before = saved.get('ExpiresAt')
        dvm.asker.allocate('extend', alloc_id=saved.alloc_id, time=3600)
        self.assertGreater(saved.get('ExpiresAt'), before + 3000 * 1000000)

    def test_R65_R67_R68_warning(self):
        """Whoever asked is told before the end, with the ids and the seconds that are left, and nobody else is."""
        dvm = self.dvm(nodes=1, slots=4)
        go, let_go = self.gate(dvm)
        other = self.program(dvm, f'register {go}')
        job = self.program(dvm, 'register new list=n9 req=mine time=3600 wait 1 extend id=@ time=60 warn=59 wait 2',
                           'extend id=@ time=3600')
        lines = self.said(job)
        warnings = [each for each in lines if each.kind == 'event' and each.status == WARNING]
        self.assertEqual(len(warnings), 1, lines)
        self.assertEqual(warnings[0].facts['req'], 'mine')
        self.assertIn(int(warnings[0].facts['left']), range(30, 60))
        self.assertEqual(lines[-1].status, 0, lines)
        let_go()
        self.assertEqual(self.said(other), [])

    def test_R67_warning_on_the_bus(self):
        """The same for one on the bus."""
        dvm = self.dvm(nodes=1, slots=1)
        other = self.asker(dvm)
        heard = {asker: [] for asker in (dvm.asker, other)}
        for asker, seen in heard.items():
            asker.connection.raw.signal_subscribe(None, dvmtest.MANAGER[1], 'AllocTimeoutWarning', None, None, 0,
                                                  lambda c, s, p, i, n, v, seen=seen: seen.append(v.unpack()))
        session = self.reserve(dvm, 'n9', req_id='mine')
        alloc_id = session.alloc_id
        dvm.asker.allocate('extend', alloc_id=alloc_id, time=60, warn_timeout=59)
        wait_until(lambda: heard[dvm.asker], 'the warning')
        self.assertEqual(heard[dvm.asker][0][:2], (alloc_id, 'mine'))
        self.assertIn(heard[dvm.asker][0][2], range(30, 60))
        self.assertEqual(session.state, 'active')
        dvm.asker.settle()
        self.assertEqual((len(heard[dvm.asker]), heard[other]), (1, []))

    def test_S28_offered_once(self):
        """Its allocator is told once of what it gave, before the event."""
        dvm = self.dvm(nodes=1, slots=1, settings=['test-plugin=allocator decline; allocator done x7,x8; give-back done'])
        session = self.reserve(dvm, count=2)
        self.assertEqual({dvm.members[name]['Allocator'] for name in session.nodes}, {'test'})
        alloc_id = session.alloc_id
        dvm.asker.allocate('release', alloc_id=alloc_id).done()
        session.wait_gone()
        self.assertEqual(dvm.names(), ['node1'])
        offers = [line for line in dvm.log().splitlines() if 'offered' in line and alloc_id in line]
        self.assertEqual([line.partition('offered ')[2] for line in offers], [f'x7,x8 of {alloc_id}'])

    def test_D18_parked_job(self):
        """A job that is parked, one of whose sessions ends, never launches, says why, and is not moved elsewhere."""
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        one, two = self.reserve(dvm, 'node2'), self.reserve(dvm, 'n7', 'node1')
        dvm.gates.hold('n9')
        grow = dvm.asker.grow('n9')
        jobs = [dvm.plain('true', target=[one.alloc_id]), dvm.plain('true', target=[two.alloc_id, one.alloc_id])]
        for job in jobs:
            dvm.wait_held(job, 'map')
        one.call('Release')
        for job in jobs:
            result = job.wait()
            self.assertEqual(result['state'], NEVER_LAUNCHED, result)
            self.assertIn(str(one.number), result['reason'])
        dvm.gates.release('n9')
        grow.done()

    def test_S5_goes_with_its_last_job(self):
        """A session that is released while a job of it runs has given its nodes back, and goes when that has ended."""
        dvm = self.dvm(nodes=2, slots=1)
        session = self.reserve(dvm, 'node2')
        alloc_id = session.alloc_id
        job = self.stay(dvm, target=[alloc_id])
        self.assertEqual(session.call('Release')[0], '/')
        self.assertEqual((session.state, session.nodes, job.get('Ended')), ('terminating', [], False))
        self.assertEqual(dvm.default.nodes, ['node1', 'node2'])
        self.assert_refused('NotFound', alloc_id, dvm.plain, 'true', target=[alloc_id])
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        session.wait_gone()

    def test_S5_a_thousand(self):
        """A thousand sessions made and ended leave nothing behind."""
        dvm = self.dvm(nodes=2, slots=1, elastic=False)
        sizes = []
        for _ in range(4):
            for _ in range(250):
                session = self.reserve(dvm, 'node2')
                session.call('Release')
            sizes.append(dvm.rss())
        self.assertEqual(self.sessions(dvm), [])
        if not dvm.is_instrumented():
            self.assertLess(sizes[-1] - sizes[1], 1 << 20, sizes)


sessions.cases(End)
dvmtest.main()
