# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which session a job is in, and what becomes of it when that ends at a bad moment."""

import dvmtest
import sessions
from elastic import NEVER_LAUNCHED, SYSTEM_PREP


class Target:
    def test_S3_S4_order(self):
        """Target before number before allocation before request; at last the default session."""
        dvm = self.dvm(nodes=1, slots=1)
        made = [self.reserve(dvm, f'n{i}:4', req_id=f'r{i}') for i in range(4)]
        by = [{'target': [made[0].alloc_id]}, {'session': made[1].number}, {'alloc_id': made[2].alloc_id}, {'alloc_req_id': 'r3'}]
        for i in range(4):
            options = {}
            for each in by[i:]:
                options.update(each)
            job = self.assert_ran(dvm.plain('true', **options))
            self.assertEqual((job.get('Session'), dvm.where(job)), (made[i].path, [f'n{i}']))
        self.assertEqual(self.assert_ran(dvm.plain('true')).get('Session'), '/org/dvm/sessions/0')

    def test_S2_any_of_three(self):
        """Requests find a session by its number, the id of its allocation, and the id of its request."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n7', req_id='mine')
        for keys in ({'session': session.number}, {'alloc_id': session.alloc_id}, {'of_req_id': 'mine'},
                     {'session': session.number, 'alloc_id': session.alloc_id, 'of_req_id': 'mine'}):
            campaign = dvm.asker.allocate('extend', hosts=['n9'], **keys)
            campaign.done()
            self.assertEqual(session.nodes, ['n7', 'n9'])
            dvm.asker.allocate('release', hosts=['n9'], **keys).done()
        other = self.reserve(dvm, 'n8')
        self.assert_no_trace(dvm, 'BadParam', [], dvm.asker.allocate, 'extend', session=session.number, alloc_id=other.alloc_id,
                             hosts=['n9'])

    def test_R30_own_request_to_reaquire(self):
        """A request id means one's own allocation, whoever else has used it."""
        dvm = self.dvm(nodes=2, slots=1)
        owner = self.stay(dvm, np=1)
        session = self.reserve(dvm, 'n8', req_id='same')
        self.reserve(dvm, 'n9', req_id='same', target=owner.get('Namespace'))
        dvm.asker.allocate('release', of_req_id='same', hosts=['n8']).done()
        self.assertEqual(session.nodes, [])
        dvm.asker.allocate('reaquire', of_req_id='same').done()
        self.assertEqual(session.nodes, ['n8'])

    def test_R69_reaquire(self):
        """What was given back by name is taken back into the same allocation; the rest cannot be."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n7', 'n8', 'n9')
        self.assert_no_trace(dvm, 'NotFound', [], dvm.asker.allocate, 'reaquire', alloc_id=session.alloc_id)
        dvm.asker.allocate('release', alloc_id=session.alloc_id, hosts=['n8', 'n9']).done()
        self.assertEqual((session.nodes, dvm.names()), (['n7'], ['n7', 'node1']))
        self.assert_no_trace(dvm, 'NotFound', 'n6', dvm.asker.allocate, 'reaquire', alloc_id=session.alloc_id, hosts=['n6'])
        dvm.asker.allocate('reaquire', alloc_id=session.alloc_id, hosts=['n8']).done()
        self.assertEqual(session.nodes, ['n7', 'n8'])
        dvm.asker.allocate('reaquire', alloc_id=session.alloc_id).done()
        self.assertEqual((session.nodes, self.where_runs(dvm)), (['n7', 'n8', 'n9'], ['node1']))

    def test_D18_while_it_waits_for_slots(self):
        """A job that has not been placed when its session ends never launches."""
        dvm = self.dvm(nodes=2, slots=1)
        session = self.reserve(dvm, 'node2')
        first = self.stay(dvm, target=[session.alloc_id])
        second = dvm.plain('true', target=[session.alloc_id])
        dvmtest.wait_until(lambda: second.get('HeldAt') == 'slots', 'it to wait')
        session.call('Release')
        result = second.wait()
        self.assertEqual(result['state'], NEVER_LAUNCHED, result)
        self.assertIn(str(session.number), result['reason'])
        self.assertFalse(first.get('Ended'))
        first.cancel()
        first.wait()

    def test_D18_while_it_is_launched(self):
        """One that has been placed and not been sent never launches either; nothing of it runs, and its slots are free."""
        dvm = self.dvm(nodes=3, slots=1)
        session = self.reserve(dvm, 'node2', 'node3')
        frozen = self.freeze(dvm.pid_of('node3'))
        job = self.staged(dvm, 'true', np=2, map_by='node', target=[session.alloc_id])
        job.wait_state(SYSTEM_PREP)
        session.call('Release')
        self.thaw(frozen)
        result = job.wait()
        self.assertEqual(result['state'], NEVER_LAUNCHED, result)
        self.assertEqual(self.where_runs(dvm), ['node1', 'node2', 'node3'])

    def test_D3_D14_session_of_a_failed_grow(self):
        """A job that targets what never comes is told so."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        dvm.gates.hold('n9')
        session = self.reserve(dvm, 'n9', wait=False)
        job = dvm.wait_held(dvm.plain('true', target=[session.alloc_id]), 'map')
        dvm.gates.release('n9', word='exit 1')
        session.campaign.failed()
        result = job.wait()
        self.assertEqual(result['state'], NEVER_LAUNCHED, result)

    def test_E13_E18_waits_for_its_nodes(self):
        """A job that comes before the nodes of its reservation waits for them."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        dvm.gates.hold('n9')
        session = self.reserve(dvm, 'n9', wait=False)
        job = dvm.wait_held(dvm.plain('true', target=[session.alloc_id]), 'map')
        dvm.gates.release('n9')
        session.campaign.done()
        self.assertEqual(dvm.where(self.assert_ran(job)), ['n9'])


sessions.cases(Target)
dvmtest.main()
