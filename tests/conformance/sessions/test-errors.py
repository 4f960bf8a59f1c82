# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is refused, with which word, and that nothing of it stays (R52, RC3)."""

import os

import dvmtest
import sessions
from sessions import BAD_PARAM, NO_PERMISSIONS, NOT_FOUND, NOT_SUPPORTED


class Errors:
    def assert_all_refused(self, dvm, words, status):
        """Each of these requests of a process is refused with this status, and leaves nothing."""
        before = self.state_of(dvm)
        lines = self.said(self.program(dvm, *words, node='node1'))
        self.assertEqual([line.status for line in lines], [status] * len(lines), lines)
        self.assertGreater(len(lines), 0)
        self.assertEqual(self.state_of(dvm), before)

    def test_R27_R45_R52_target_from_a_job(self):
        """A process cannot set nodes aside for somebody else, shared or not. By upstream's key, which 4.2.2 does not name."""
        dvm = self.dvm(nodes=1, slots=2)
        self.assert_all_refused(dvm, ['new list=n9 target=somebody', 'new list=n9 target=somebody share=1'], NO_PERMISSIONS)

    def test_R46_R52_extend_of_another(self):
        """Nor add to what it does not own."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9', req_id='his')
        self.assert_all_refused(dvm, [f'extend id={session.alloc_id} list=n10', 'extend req=his list=n10'], NO_PERMISSIONS)

    def test_R47_R52_extend_of_nothing(self):
        dvm = self.dvm(nodes=1, slots=2)
        self.assert_all_refused(dvm, ['extend id=no-such list=n10', 'extend req=no-such list=n10'], NOT_FOUND)
        self.assert_no_trace(dvm, 'NotFound', 'no-such', dvm.asker.allocate, 'extend', alloc_id='no-such', hosts=['n10'])
        self.assert_no_trace(dvm, 'NotFound', '77', dvm.asker.allocate, 'extend', session=77, hosts=['n10'])

    def test_R48_R30_R52_extend_without_id(self):
        dvm = self.dvm(nodes=1, slots=2)
        self.assert_all_refused(dvm, ['extend list=n10'], BAD_PARAM)
        self.assert_no_trace(dvm, 'BadParam', [], dvm.asker.allocate, 'extend', hosts=['n10'])

    def test_R49_R38_R52_S3_unknown_target(self):
        """One bad name rejects the whole, whatever stands beside it."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9')
        for target in (['no-such'], [session.alloc_id, 'no-such'], ['', 'no-such']):
            self.assert_no_trace(dvm, 'NotFound', 'no-such', dvm.plain, 'true', target=target)
        for options in ({'session': 77}, {'alloc_id': 'no-such'}, {'alloc_req_id': 'no-such'}):
            self.assert_no_trace(dvm, 'NotFound', [], dvm.plain, 'true', **options)
        self.assertEqual(dvm.list_jobs(all=True), [])

    def test_R50_R37_R38_target_not_owned(self):
        """A process spawns only where its namespace is an owner; each entry is looked at."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9')
        words = [f'spawn target={session.alloc_id} -- true ;', f'spawn target={session.alloc_id}, -- true ;',
                 f'spawn id={session.alloc_id} -- true ;', f'spawn session={session.number} -- true ;']
        before = self.state_of(dvm)
        lines = self.said(self.program(dvm, *words))
        self.assertEqual([line.status for line in lines], [NO_PERMISSIONS] * 4, lines)
        self.assertEqual((self.state_of(dvm), len(dvm.list_jobs(all=True))), (before, 1))

    def test_R17_R51_D21_inheritance(self):
        """A word that is none is BadParam; one that cannot be done would be NotSupported, and all four can be done."""
        dvm = self.dvm(nodes=1, slots=2)
        for directive, more in (('new', {}), ('extend', {'alloc_id': self.reserve(dvm, 'n9').alloc_id})):
            self.assert_no_trace(dvm, 'BadParam', ['inheritance', 'nephew'], dvm.asker.allocate, directive, hosts=['n10'],
                                 inheritance='nephew', **more)
        self.assert_all_refused(dvm, ['new list=n10 inherit=77'], BAD_PARAM)

    def test_R52_RC3_half_wrong(self):
        """A request of which one half is wrong does nothing of the other."""
        dvm = self.dvm(nodes=2, slots=2)
        session = self.reserve(dvm, 'n9')
        refused = (('BadParam', 'new', {'hosts': ['n10'], 'colour': 'red'}),
                   ('BadParam', 'new', {}), ('NotFound', 'new', {'hosts': ['n10'], 'session': 77}),
                   ('NotFound', 'release', {'alloc_id': session.alloc_id, 'hosts': ['n9', 'node1']}),
                   ('NotFound', 'release', {'hosts': ['n9', 'nowhere']}), ('BadParam', 'release', {}),
                   ('NotFound', 'reaquire', {'alloc_id': session.alloc_id}), ('NotFound', 'reaquire', {'alloc_id': 'no-such'}),
                   ('NotFound', 'cancel', {'alloc_id': 'no-such'}),
                   ('NotFound', 'extend', {'alloc_id': session.alloc_id, 'session': session.number + 7, 'hosts': ['n10']}))
        for name, directive, request in refused:
            self.assert_no_trace(dvm, name, [], dvm.asker.allocate, directive, **request)

    def test_R52_refused_by_the_allocator(self):
        """Nor does one that the allocator refuses."""
        dvm = self.dvm(nodes=1, slots=1, settings=['test-plugin=allocator decline; allocator fail not today'])
        self.assert_no_trace(dvm, 'AllocFailed', 'not today', dvm.asker.allocate, 'new', count=1, share=False)

    def test_R52_failed_grow(self):
        """A reservation whose nodes cannot come is void, and the default session is as before."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        before = self.state_of(dvm)
        dvm.gates.hold('n9')
        campaign = dvm.asker.allocate('new', hosts=['n9', 'node1'], share=False)
        dvm.gates.release('n9', word='exit 1')
        campaign.failed()
        after = self.state_of(dvm)
        self.assertEqual((after[0], after[1]), (before[0], before[1]))
        self.assertEqual(self.where_runs(dvm), ['node1'])

    def test_S25_not_supported(self):
        """What nodes cannot be asked for by says so."""
        dvm = self.dvm(nodes=1, slots=1)
        self.assert_all_refused(dvm, ['new cpus=4'], NOT_SUPPORTED)

    def test_two_for_one_node(self):
        """Two who ask for the same node at once: one gets it, the other is told who has it, and nothing of his stays."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        dvm.gates.hold('n9')
        first = dvm.asker.allocate('new', hosts=['n9'], share=False)
        self.assert_no_trace(dvm, 'Exists', 'n9', self.asker(dvm).allocate, 'new', hosts=['n9', 'n10'], share=False)
        dvm.gates.release('n9')
        first.done()

    def test_requester_gone(self):
        """Who has gone before the answer leaves a session of his, which ends like any other."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        dvm.gates.hold('n9')
        other = self.asker(dvm)
        campaign = other.allocate('new', hosts=['n9'], share=False)
        other.close()
        dvm.gates.release('n9')
        dvmtest.wait_until(lambda: 'n9' in dvm.members, 'n9')
        session = self.sessions(dvm)[0]
        self.assertEqual((session.get('Owner'), dvm.asker.events), (sessions.TOOL, []))
        dvm.asker.allocate('release', alloc_id=campaign.answer['alloc-id']).done()
        session.wait_gone()

    def test_allocator_never_answers(self):
        """An allocator that does not answer in its time is a clear error, and another request goes on."""
        dvm = self.dvm(nodes=1, slots=1, settings=['test-plugin=allocator decline; allocator never; allocator done x9', 'allocator-timeout=1'])
        self.assert_no_trace(dvm, 'Timeout', 'test', dvm.asker.allocate, 'new', count=1, share=False)
        self.assertEqual(self.reserve(dvm, count=1).nodes, ['x9'])


sessions.cases(Errors)
dvmtest.main()
