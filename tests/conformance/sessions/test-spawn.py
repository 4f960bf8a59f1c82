# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that jobs start: where they go, what they own, and with whom they end."""

import dvmtest
import sessions
from dvmtest import wait_until
from elastic import KILLED_BY_CMD
from sessions import NO_PERMISSIONS


class Spawn:
    def child_of(self, dvm, job):
        """The one job that it has started."""
        return dvmtest.Job(dvm, wait_until(lambda: job.get('Children'), f'a child of {job.path}')[0])

    def test_R32_S4_L15_into_the_parents(self):
        """Without a word a job that is spawned goes where its parent is, and knows it."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9:4')
        job = self.program(dvm, 'spawn -- sleep 1000 ; stay', target=[session.alloc_id])
        self.assertEqual(self.wait_said(job, 'spawn').status, 0)
        child = self.child_of(dvm, job)
        self.assertEqual((child.get('Session'), child.get('Parent'), dvm.where(child)), (session.path, job.path, ['n9']))
        job.cancel()
        child.wait()

    def test_R32_default(self):
        """The same in the default session, whose jobs do not see what is reserved."""
        dvm = self.dvm(nodes=1, slots=2)
        self.reserve(dvm, 'n9:4')
        job = self.program(dvm, 'spawn -- hostname ;')
        line = self.said(job)[0]
        self.assertEqual(line.status, 0)
        child = dvm.job(dvm.call('FindJob', '(s)', line.facts['nspace'])[0].rpartition('/')[2])
        self.assertEqual((child.get('Session'), dvm.where(child)), ('/org/dvm/sessions/0', ['node1']))

    def test_R25_R33_R37_asks_spawns_and_gives_back(self):
        """A program asks for two more nodes, waits, spawns onto them, and gives them back."""
        dvm = self.dvm(nodes=2, slots=1)
        job = self.program(dvm, 'register new list=n8,n9 wait 1 spawn np=2 id=@ -- sleep 1000 ; control kill @@ ended @@',
                           'release id=@ wait 2', when_full='oversubscribe')
        spawned = self.wait_said(job, 'spawn')
        child = dvm.job(dvm.call('FindJob', '(s)', spawned.facts['nspace'])[0].rpartition('/')[2])
        self.assertEqual(sorted(dvm.where(child)), ['n8', 'n9'])
        self.said(job)
        self.assertEqual(dvm.names(), ['node1', 'node2'])
        self.assertEqual(self.sessions(dvm), [])

    def test_R19_R33_target_by_key(self):
        """Several reservations at once, by upstream's key, which 4.2.2 does not name."""
        dvm = self.dvm(nodes=1, slots=1)
        go, let_go = self.gate(dvm)
        both = ','.join(f'{dvm.get("Namespace")}.alloc.{i}' for i in (1, 2))
        job = self.program(dvm, f'register new list=n8 wait 1 new list=n9 wait 2 {go} spawn np=2 target={both} -- true ;')
        self.wait_said(job, 'event', 2)
        let_go()
        line = self.said(job)[-1]
        self.assertEqual((line.kind, line.status), ('spawn', 0))
        child = dvm.job(dvm.call('FindJob', '(s)', line.facts['nspace'])[0].rpartition('/')[2])
        self.assertEqual(sorted(dvm.where(child)), ['n8', 'n9'])

    def test_R41_R43_S9_owner_by_spawn(self):
        """A job that is put into a reservation owns it, that one alone, and its children do not inherit it."""
        dvm = self.dvm(nodes=1, slots=4)
        one, two = self.reserve(dvm, 'n8:4'), self.reserve(dvm, 'n9:4')
        inside = self.program(dvm, f'spawn id={one.alloc_id} -- true ; spawn id={two.alloc_id} -- true ; stay', target=[one.alloc_id])
        self.wait_said(inside, 'spawn', 2)
        self.assertIn(inside.nspace, one.owners)
        self.assertNotIn(inside.nspace, two.owners)
        self.assertEqual([line.status for line in self.lines(inside, finished=False)], [0, NO_PERMISSIONS])
        inside.cancel()
        # A child that runs in the default session does not own what its parent owns.
        child = self.script(dvm, f'spawn id={two.alloc_id} -- true ;')
        outer = self.program(dvm, f'spawn session=0 -- {child} ; stay', target=[two.alloc_id])
        # What the child says comes there, too, and may come first.
        spawned = wait_until(lambda: next((line for line in self.lines(outer, finished=False) if (line.kind, line.status) == ('spawn', 0)), None),
                             f'{outer.path} to spawn: {outer.out.data!r}')
        inner = dvm.job(dvm.call('FindJob', '(s)', spawned.facts['nspace'])[0].rpartition('/')[2])
        inner.wait()
        self.assertNotIn(inner.nspace, two.owners)
        self.assertEqual([row for row in dvm.list_jobs(all=True) if row['Parent'] == inner.path], [])
        outer.cancel()

    def test_S27_with_the_parent(self):
        """Children end with their parent, and theirs with them; separate ones go on."""
        dvm = self.dvm(nodes=2, slots=8)
        go, let_go = self.gate(dvm)
        grand = self.script(dvm, 'spawn -- sleep 1000 ; stay')
        job = self.program(dvm, f'spawn -- {grand} ; spawn sep=1 -- sleep 1000 ; {go}')
        self.wait_said(job, 'spawn', 2)
        wait_until(lambda: len([row for row in dvm.list_jobs() if row['StateName'] in ('RUNNING', 'REGISTERED')]) == 4,
                   'all four to run')
        rows = {row['Id']: row for row in dvm.list_jobs()}
        separate = [row for row in rows.values() if row['Parent'] == job.path and 'sleep' in row['Command']]
        self.assertEqual(len(separate), 1)
        let_go()
        self.assert_ran(job)
        separate = dvm.job(separate[0]['Id'])
        for number in rows:
            other = dvm.job(number)
            if other.path not in (job.path, separate.path):
                result = other.wait()
                self.assertEqual(result['state'], KILLED_BY_CMD, result)
                self.assertIn('spawned', result['reason'])
        self.assertFalse(separate.get('Ended'))
        separate.cancel()
        separate.wait()

    def test_S27_on_the_bus(self):
        """child-separate is an option of Submit too; a job that a tool starts has no parent."""
        dvm = self.dvm(nodes=1, slots=2)
        job = dvm.plain('true', child_separate=True)
        self.assert_ran(job)
        self.assertEqual((job.get('Parent'), job.get('Children')), ('/', []))

    def test_R41_tool(self):
        """Python over the bus: nodes asked for, used and given back."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n8', 'n9')
        job = self.stay(dvm, np=2, target=[session.alloc_id], map_by='node')
        self.assertEqual(sorted(dvm.where(job)), ['n8', 'n9'])
        self.assertIn(job.nspace, session.owners)
        job.cancel()
        job.wait()
        dvm.asker.shrink(alloc_id=session.alloc_id).done()
        self.assertEqual((dvm.names(), self.sessions(dvm)), (['node1'], []))


sessions.cases(Spawn)
dvmtest.main()
