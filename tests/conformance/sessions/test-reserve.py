# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nodes that are set aside: for whom, from what, and who still sees them."""

import dvmtest
import sessions
from dvmtest import wait_until
from sessions import NO_PERMISSIONS, READY, TOOL


class Reserve:
    def test_R1_R7_R76_nothing_asked(self):
        """Who uses none of it gets a DVM as it was: one session of all nodes, nothing reserved, nothing limited."""
        dvm = self.dvm(nodes=3, slots=1)
        self.assertEqual(self.sessions(dvm), [])
        plain = dvm.asker.grow('n9')
        plain.done()
        session = self.sessions(dvm)[0]
        self.assertEqual((session.get('Shared'), session.get('ExpiresAt'), session.get('Inheritance')), (True, 0, 'default'))
        self.assertEqual(self.where_runs(dvm), ['n9', 'node1', 'node2', 'node3'])
        job = dvm.plain('true')
        self.assert_ran(job)
        self.assertEqual((job.get('Session'), session.nodes), ('/org/dvm/sessions/0', ['n9']))

    def test_R2_S1_S2_default_session(self):
        """The nodes of the start are the default session's, which is found by number and by its empty id."""
        dvm = self.dvm(nodes=3, slots=1, elastic=False)
        self.assertEqual(dvm.default.nodes, ['node1', 'node2', 'node3'])
        self.assertEqual((dvm.default.get('Id'), dvm.default.alloc_id, dvm.default.get('Owner')), (0, '', ''))
        self.assertEqual(dvm.call('FindSession', '(s)', '')[0], dvm.default.path)
        self.assertEqual(dvm.get('DefaultSession'), dvm.default.path)
        self.assert_refused('NotSupported', 'default session', dvm.default.call, 'Release')

    def test_R3_R19_R34_default_by_name(self):
        """An empty id among the targets is the default session."""
        dvm = self.dvm(nodes=2, slots=1)
        self.assertEqual(self.where_runs(dvm, target=['']), ['node1', 'node2'])
        session = self.reserve(dvm, 'n9')
        self.assertEqual(self.where_runs(dvm, target=[session.alloc_id, '']), ['n9', 'node1', 'node2'])
        self.assertEqual(self.where_runs(dvm, target=['']), ['node1', 'node2'])

    def test_R4_R36_R71_R72_withheld(self):
        """Reserved nodes are in the DVM, and no job of the default session sees them, however many slots it asks for."""
        dvm = self.dvm(nodes=2, slots=1)
        session = self.reserve(dvm, 'n9', 'n10')
        self.assertEqual((session.get('Shared'), session.nodes), (False, ['n10', 'n9']))
        self.assertEqual(dvm.names(), ['n10', 'n9', 'node1', 'node2'])
        self.assertEqual(dvm.default.nodes, ['node1', 'node2'])
        self.assertEqual(self.where_runs(dvm), ['node1', 'node2'])
        result = dvm.plain('true', np=3).wait()
        self.assertEqual(result['state-name'], 'MAP_FAILED', result)
        result = dvm.plain('true', hosts=['n9']).wait()
        self.assertEqual(result['state-name'], 'MAP_FAILED', result)
        self.assertEqual(self.where_runs(dvm, target=[session.alloc_id]), ['n10', 'n9'])

    def test_R5_own_namespace(self):
        """Two jobs in one reservation have a namespace each."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n9:2')
        jobs = [self.stay(dvm, target=[session.alloc_id]) for _ in range(2)]
        self.assertEqual(len({job.nspace for job in jobs}), 2)
        self.assertEqual(sorted(session.get('Jobs')), sorted(job.path for job in jobs))
        for job in jobs:
            job.cancel()

    def test_R8_R74_allocator_chooses(self):
        """Which nodes come for a number of them is the allocator's word."""
        dvm = self.dvm(nodes=1, slots=1, settings=['test-plugin=allocator decline; allocator done x7:2,x8:2'])
        session = self.reserve(dvm, count=2)
        self.assertEqual((session.nodes, session.get('ExpiresAt')), (['x7', 'x8'], 0))

    def test_R9_R22_R28_R39_R40_tool_for_another(self):
        """A tool sets nodes aside for a job, which owns them then: one namespace, for their whole life."""
        dvm = self.dvm(nodes=1, slots=4)
        go, let_go = self.gate(dvm)
        job = self.program(dvm, go)
        job.wait_running()
        session = self.reserve(dvm, 'n9', target=job.nspace)
        self.assertEqual((session.get('Owner'), session.owners, session.get('Shared')), (job.nspace, [job.nspace], False))
        shared = self.reserve(dvm, 'n10', target=job.nspace, share=True)
        self.assertEqual((shared.get('Owner'), shared.get('Shared')), (job.nspace, True))
        self.assertEqual(self.where_runs(dvm), ['n10', 'node1'])
        dvm.asker.allocate('extend', alloc_id=session.alloc_id, hosts=['n11']).done()
        self.assertEqual((session.get('Owner'), session.nodes), (job.nspace, ['n11', 'n9']))
        let_go()
        job.wait()

    def test_R10_R23_R24_tool_for_itself(self):
        """Without a target the tool's own namespace is the owner; with share the nodes are for all at once."""
        dvm = self.dvm(nodes=1, slots=1)
        own = self.reserve(dvm, 'n9')
        self.assertEqual((own.get('Owner'), own.owners), (TOOL, [TOOL]))
        shared = self.reserve(dvm, 'n10', share=True)
        self.assertEqual((shared.get('Owner'), shared.get('Shared')), (TOOL, True))
        self.assertEqual(self.where_runs(dvm), ['n10', 'node1'])

    def test_R11_R21_R25_R31_application(self):
        """A process that asks gets its nodes for its own namespace, in the DVM, and the ids in the answer."""
        dvm = self.dvm(nodes=1, slots=1)
        go, let_go = self.gate(dvm)
        job = self.program(dvm, f'register new list=n9 req=mine wait 1 {go}')
        self.wait_said(job, 'event')
        session = self.sessions(dvm)[0]
        line = self.wait_said(job, 'new')
        self.assertEqual((line.facts['id'], line.facts['req'], int(line.facts['session'])),
                         (session.alloc_id, 'mine', session.number))
        self.assertEqual((session.get('Owner'), session.get('Shared'), session.get('RequestId')), (job.nspace, False, 'mine'))
        self.assertIn('n9', dvm.names())
        self.assertEqual(self.where_runs(dvm, when_full='oversubscribe', np=2), ['node1'])
        let_go()
        self.assertEqual([line.status for line in self.said(job)], [0, READY])

    def test_R26_application_shares(self):
        """With share the nodes that a process asks for are for all, and its own in the books."""
        dvm = self.dvm(nodes=1, slots=1)
        go, let_go = self.gate(dvm)
        job = self.program(dvm, f'register new list=n9:2 share=1 wait 1 {go}')
        self.wait_said(job, 'event')
        session = self.sessions(dvm)[0]
        self.assertEqual((session.get('Owner'), session.get('Shared')), (job.nspace, True))
        self.assertEqual(self.where_runs(dvm, np=2), ['n9'])
        let_go()
        self.said(job)

    def test_R12_R15_R16_R73_orthogonal(self):
        """Whether nodes are shared and what becomes of them at the end are two things; the word left out is "default"."""
        dvm = self.dvm(nodes=1, slots=1)
        for share in (True, False):
            for word in ('none', 'child', 'default', 'child-default', None):
                session = self.reserve(dvm, 'n9', share=share, inheritance=word)
                self.assertEqual((session.get('Shared'), session.get('Inheritance')), (share, word or 'default'))
                dvm.asker.shrink(alloc_id=session.alloc_id).done()
                session.wait_gone()

    def test_R13_R14_where_it_counts(self):
        """Inheritance is heeded by NEW and EXTEND, and passed over by RELEASE, REAQUIRE and CANCEL."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n9', 'n10', inheritance='none')
        dvm.asker.allocate('extend', alloc_id=session.alloc_id, hosts=['n11']).done()
        self.assertEqual(session.get('Inheritance'), 'none')
        dvm.asker.allocate('extend', alloc_id=session.alloc_id, hosts=['n12'], inheritance='child').done()
        self.assertEqual(session.get('Inheritance'), 'child')
        dvm.asker.allocate('release', alloc_id=session.alloc_id, hosts=['n12'], inheritance='default').done()
        self.assertEqual(session.get('Inheritance'), 'child')
        dvm.asker.allocate('reaquire', alloc_id=session.alloc_id, inheritance='default').done()
        self.assertEqual((session.get('Inheritance'), session.nodes), ('child', ['n10', 'n11', 'n12', 'n9']))

    def test_R18_R66_warn_timeout(self):
        """It is advice: an allocator that decides gets it and may do nothing."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n9', time=3600, warn_timeout=60)
        self.assertGreater(session.get('ExpiresAt'), 0)
        self.assertEqual(session.state, 'active')
        decided = self.dvm(nodes=1, slots=1, settings=['test-plugin=decide done; decide done'])
        session = self.reserve(decided, 'n9', time=3600, warn_timeout=60)
        self.assertRegex(decided.log(), "asked new of .*'warn-timeout': <uint32 60>")
        decided.asker.allocate('extend', alloc_id=session.alloc_id, warn_timeout=30)
        self.assertRegex(decided.log(), "asked extend of .*'warn-timeout': <uint32 30>")
        self.assertEqual(session.state, 'active')

    def test_R20_R75_R32_R33_R35_union(self):
        """The pool of a job is exactly the union of what it targets; without a target it is the default session."""
        dvm = self.dvm(nodes=2, slots=1)
        one, two, three = (self.reserve(dvm, f'n{i}') for i in (7, 8, 9))
        self.assertEqual(self.where_runs(dvm), ['node1', 'node2'])
        self.assertEqual(self.where_runs(dvm, target=[one.alloc_id]), ['n7'])
        self.assertEqual(self.where_runs(dvm, target=[one.alloc_id, three.alloc_id]), ['n7', 'n9'])
        self.assertEqual(self.where_runs(dvm, target=[two.alloc_id, '']), ['n8', 'node1', 'node2'])
        result = dvm.plain('true', np=2, target=[two.alloc_id]).wait()
        self.assertEqual(result['state-name'], 'MAP_FAILED', result)

    def test_R29_fresh_each_time(self):
        """NEW makes a new reservation each time, also for somebody who has one."""
        dvm = self.dvm(nodes=1, slots=1)
        made = [self.reserve(dvm, f'n{i}') for i in range(3)]
        self.assertEqual(len({each.alloc_id for each in made}), 3)
        self.assertEqual([each.get('Owner') for each in made], [TOOL] * 3)
        go, let_go = self.gate(dvm)
        job = self.program(dvm, f'register new list=n8 wait 1 new list=n9 wait 2 {go}')
        self.wait_said(job, 'event', 2)
        owned = [each.alloc_id for each in self.sessions(dvm) if each.get('Owner') == job.nspace]
        self.assertEqual(len(set(owned)), 2)
        let_go()
        self.said(job)

    def test_R30_R31_extend(self):
        """EXTEND adds to the one that is named by its id, or by the id of the request that it came of."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n7', req_id='mine')
        by_id = dvm.asker.allocate('extend', alloc_id=session.alloc_id, hosts=['n8'], req_id='two')
        by_id.done()
        by_request = dvm.asker.allocate('extend', of_req_id='mine', hosts=['n9'])
        by_request.done()
        self.assertEqual((by_id.answer['alloc-id'], by_id.answer['req-id']), (session.alloc_id, 'two'))
        self.assertEqual((by_request.answer['alloc-id'], session.nodes), (session.alloc_id, ['n7', 'n8', 'n9']))
        self.assertEqual(self.where_runs(dvm), ['node1'])

    def test_D16_RC1_startup_nodes(self):
        """Without elastic mode nodes of the start can be set aside, and revert."""
        dvm = self.dvm(nodes=3, slots=1, elastic=False)
        session = self.reserve(dvm, 'node2')
        self.assertIsNone(session.campaign.path)
        self.assertEqual((self.where_runs(dvm), self.where_runs(dvm, target=[session.alloc_id])),
                         (['node1', 'node3'], ['node2']))
        self.assertEqual((dvm.default.nodes, dvm.get('NodeCount')), (['node1', 'node3'], 3))
        self.assertEqual(session.call('Release')[0], '/')
        session.wait_gone()
        self.assertEqual((self.where_runs(dvm), dvm.default.nodes), (['node1', 'node2', 'node3'],) * 2)

    def test_S29_D18_in_several(self):
        """A node may be in several sessions; its slots count once, and it is reserved while one that is not shared has it."""
        dvm = self.dvm(nodes=2, slots=2)
        one, two = self.reserve(dvm, 'node2'), self.reserve(dvm, 'node2', share=True)
        self.assertEqual((one.nodes, two.nodes, dvm.get('SlotCount')), (['node2'], ['node2'], 4))
        self.assertEqual(self.where_runs(dvm), ['node1'])
        self.assertEqual(len(dvm.where(self.assert_ran(dvm.submit(['true'], personality='plain',
                                                                  target=[one.alloc_id, two.alloc_id])))), 2)
        one.call('Release')
        self.assertEqual(self.where_runs(dvm), ['node1', 'node2'])
        self.assertEqual(two.nodes, ['node2'])


sessions.cases(Reserve)
dvmtest.main()
