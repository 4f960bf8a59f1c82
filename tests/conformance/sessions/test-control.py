# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sessions as their owner or a scheduler directs them: S7-S26."""

import os
import signal

import dvmtest
import sessions
from dvmtest import GLib, wait_until
from elastic import KILLED_BY_CMD

ALL = 0xffffffff


def is_stopped(pid):
    with open(f'/proc/{pid}/stat') as file:
        return file.read().rpartition(')')[2].split()[0] in 'Tt'


class Control:
    def pids(self, *jobs):
        return [pid for job in jobs for pid in job.pids()]

    def wait_stopped(self, jobs, stopped=True):
        wait_until(lambda: all(is_stopped(pid) == stopped for pid in self.pids(*jobs)), f'stopped: {stopped}')

    def apps(self, *argv, np=1):
        return GLib.Variant('aa{sv}', [dvmtest.to_options({'argv': list(argv), 'np': np})])

    def test_S10_one_operation(self):
        """Two operations in one request are one too many, and none is too few."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n9')
        job = self.stay(dvm, target=[session.alloc_id])
        self.assert_no_trace(dvm, 'BadParam', ['pause', 'terminate'], self.control, dvm, session.number, pause=True, terminate=True)
        self.assert_no_trace(dvm, 'BadParam', [], self.control, dvm, session.number)
        self.assert_no_trace(dvm, 'BadParam', 'colour', self.control, dvm, session.number, pause=True, colour='red')
        self.assert_no_trace(dvm, 'NotFound', '77', self.control, dvm, 77, pause=True)
        self.assertFalse(is_stopped(job.pids()[0]))

    def test_S25_not_supported(self):
        """What sessions cannot be asked for says so."""
        dvm = self.dvm(nodes=1, slots=1)
        for directives in ({'provision': 'image'}, {'count': 2, 'instantiate': True}):
            before = self.state_of(dvm)
            with self.assertRaises(dvmtest.DBusError) as caught:
                self.control(dvm, 0, **directives)
            self.assertIn(caught.exception.name, ('NotSupported', 'BadParam'))
            self.assertEqual(self.state_of(dvm), before)
        for word, value in (('provision', 'image'), ('provision-nodes', 'n9'), ('image', 'x'), ('count', 2), ('cpus', 4)):
            self.assert_no_trace(dvm, 'NotSupported', word, self.control, dvm, 0, instantiate=True, hosts=['n9'],
                                 **{word.replace('-', '_'): value})

    def test_S16_pause_and_resume(self):
        """All jobs of a session stop and go on, no others, and twice is as once."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9:4')
        inside = [self.stay(dvm, target=[session.alloc_id]) for _ in range(2)]
        outside = self.stay(dvm)
        for _ in range(2):
            self.control(dvm, session.number, pause=True)
            self.wait_stopped(inside)
        self.assertEqual((session.state, is_stopped(outside.pids()[0])), ('paused', False))
        session.call('Resume')
        self.wait_stopped(inside, False)
        self.assertEqual(session.state, 'active')
        session.call('Pause')
        self.wait_stopped(inside)
        self.control(dvm, session.number, resume=True)
        self.control(dvm, session.number, resume=True)
        self.wait_stopped(inside, False)

    def test_S16_no_double_signal(self):
        """A job that is stopped is not stopped again, and one SIGCONT starts it."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9:4')
        # One that starts programs again and again may be stopped in vfork, where it is not seen to stand.
        script = "trap 'echo continued' CONT; sleep 60 & echo ready; while :; do wait; done"
        job, out, _ = dvm.start(['sh', '-c', script], np=1, target=[session.alloc_id], personality='plain')
        wait_until(lambda: b'ready' in out.data, 'the shell')
        for _ in range(3):
            session.call('Pause')
            self.wait_stopped([job])
        for _ in range(3):
            session.call('Resume')
        wait_until(lambda: b'continued' in out.data, 'it to go on')
        session.call('Pause')
        self.wait_stopped([job])
        session.call('Resume')
        wait_until(lambda: out.data.count(b'continued') == 2, 'it to go on again')
        job.cancel()
        job.wait()
        self.assertEqual(out.finish().count(b'continued'), 2)

    def test_S16_paused_before_it_comes(self):
        """A job that comes to a paused session waits until that goes on."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n9')
        session.call('Pause')
        job = dvm.plain('true', target=[session.alloc_id])
        other = self.assert_ran(dvm.plain('true'))
        self.assertNotEqual(other.get('Session'), session.path)
        self.assertFalse(job.get('Ended'))
        self.assertNotEqual(job.get('HeldAt'), '')
        session.call('Resume')
        self.assert_ran(job)

    def test_S17_preempt_and_restore(self):
        """Preempted jobs keep what they have; a namespace chooses among them."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9:2')
        jobs = [self.stay(dvm, target=[session.alloc_id]) for _ in range(2)]
        self.control(dvm, session.number, preempt=True, nspace=jobs[0].nspace)
        self.wait_stopped(jobs[:1])
        self.assertFalse(is_stopped(jobs[1].pids()[0]))
        self.assertEqual(dvm.members['n9']['SlotsInUse'], 2)
        self.control(dvm, session.number, preempt=True)
        self.wait_stopped(jobs)
        self.control(dvm, session.number, restore=True)
        self.wait_stopped(jobs, False)

    def test_S18_signal(self):
        """To all of them, or to those of a namespace."""
        dvm = self.dvm(nodes=1, slots=4)
        session = self.reserve(dvm, 'n9:4')
        outside = self.stay(dvm)
        jobs = [self.stay(dvm, target=[session.alloc_id]) for _ in range(3)]
        self.control(dvm, session.number, signal=GLib.Variant('i', signal.SIGUSR1), nspace=jobs[0].nspace)
        self.assertEqual(jobs[0].wait()['exit-signal'], signal.SIGUSR1)
        self.assertEqual([job.get('Ended') for job in jobs[1:]], [False, False])
        session.call('Signal', '(ia{sv})', signal.SIGUSR2, {})
        self.assertEqual([job.wait()['exit-signal'] for job in jobs[1:]], [signal.SIGUSR2] * 2)
        self.assertFalse(outside.get('Ended'))
        self.assert_no_trace(dvm, 'BadParam', '4711', self.control, dvm, session.number, signal=GLib.Variant('i', 4711))
        self.assert_no_trace(dvm, 'NotFound', 'no-such', self.control, dvm, session.number, signal=GLib.Variant('i', 10),
                             nspace='no-such')

    def test_S19_S24_S28_terminate(self):
        """Paused jobs go on first, all end, and only then the nodes leave."""
        dvm = self.dvm(nodes=1, slots=2, settings=['kill-grace=0.3'])
        session = self.reserve(dvm, 'n9:2', inheritance='none')
        # One that starts programs again and again may be stopped in vfork, where it is not seen to stand.
        script = "trap 'echo told; exit 0' TERM; sleep 60 & echo ready; while :; do wait; done"
        job, out, _ = dvm.start(['sh', '-c', script], np=1, target=[session.alloc_id], personality='plain')
        wait_until(lambda: b'ready' in out.data, 'the shell')
        session.call('Pause')
        self.wait_stopped([job])
        session.call('Terminate')
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assertIn(b'told', out.finish())
        session.wait_gone()
        wait_until(lambda: dvm.names() == ['node1'] and dvm.get('CampaignsRunning') == 0, 'n9 to leave')
        self.assertEqual([row['Kind'] for row in dvm.campaigns(all=True)], ['grow', 'shrink'])

    def test_S24_default_keeps(self):
        """A session that ends with its default inheritance leaves its nodes in the pool, for all."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n9')
        job = self.stay(dvm, target=[session.alloc_id])
        session.call('Terminate')
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        session.wait_gone()
        self.assertEqual(self.where_runs(dvm), ['n9', 'node1'])

    def test_S20_extend(self):
        """By nodes, by time, by what becomes of it; by nothing is an error."""
        dvm = self.dvm(nodes=1, slots=1)
        session = self.reserve(dvm, 'n8', time=60)
        before = session.get('ExpiresAt')
        self.assert_no_trace(dvm, 'BadParam', [], self.control, dvm, session.number, extend=0)
        self.control(dvm, session.number, extend=3600)
        self.assertGreater(session.get('ExpiresAt'), before)
        answer = self.control(dvm, session.number, extend=0, hosts=['n9'], inheritance='none')
        self.assertNotEqual(answer['campaign'], '/')
        wait_until(lambda: session.nodes == ['n8', 'n9'], 'n9')
        self.assertEqual(session.get('Inheritance'), 'none')
        session.call('Extend', '(a{sv})', dvmtest.to_options({'time': 7200}))
        self.assertGreater(session.get('ExpiresAt'), before + 7000 * 1000000)

    def test_S12_S14_R7_instantiate_standing(self):
        """Without applications it stands until somebody ends it; nodes that are there are withheld at once."""
        dvm = self.dvm(nodes=2, slots=1)
        answer = self.control(dvm, 0, instantiate=True, hosts=['node2', 'n9'])
        session = sessions.Session(dvm, answer['session'])
        self.assertEqual(answer['alloc-id'], session.alloc_id)
        wait_until(lambda: session.nodes == ['n9', 'node2'], 'n9')
        self.assertEqual(self.where_runs(dvm), ['node1'])
        self.assertEqual(self.where_runs(dvm, session=session.number), ['n9', 'node2'])
        self.assertTrue(session.there())
        self.assert_no_trace(dvm, 'Exists', str(session.number), self.control, dvm, session.number, instantiate=True, hosts=['n10'])
        session.call('Terminate')
        session.wait_gone()
        self.assert_no_trace(dvm, 'Exists', str(session.number), self.control, dvm, session.number, instantiate=True, hosts=['node2'])

    def test_S12_S15_instantiate_with_apps(self):
        """With applications the answer comes when they run, and the session ends after the last of them."""
        dvm = self.dvm(nodes=1, slots=1, gates=True)
        go, let_go = self.gate(dvm)
        path = go.split()[1]
        script = f'while ! test -e {path}; do sleep 0.02; done'
        answer = self.control(dvm, 0, instantiate=True, hosts=['n8', 'n9'], inheritance='none',
                              apps=self.apps('sh', '-c', script, np=2))
        session = sessions.Session(dvm, answer['session'])
        job = dvm.job(dvm.call('FindJob', '(s)', answer['nspace'])[0].rpartition('/')[2])
        self.assertIn(job.get('StateName'), ('RUNNING', 'REGISTERED'))
        self.assertEqual((job.get('Session'), sorted(dvm.where(job))), (session.path, ['n8', 'n9']))
        let_go()
        self.assert_ran(job)
        session.wait_gone()
        wait_until(lambda: dvm.names() == ['node1'], 'the nodes to leave')

    def test_S13_apps_without_resources(self):
        """Applications without anything to run on are refused."""
        dvm = self.dvm(nodes=1, slots=1)
        self.assert_no_trace(dvm, 'BadParam', [], self.control, dvm, 0, instantiate=True, apps=self.apps('true'))
        self.assertEqual(dvm.list_jobs(all=True), [])

    def test_S15_S22_launch_fails(self):
        """Applications that cannot run are the answer, and the session goes."""
        dvm = self.dvm(nodes=2, slots=1)
        with self.assertRaises(dvmtest.DBusError) as caught:
            self.control(dvm, 0, instantiate=True, hosts=['node2'], apps=self.apps('/no/such/program'))
        self.assertIn('/no/such/program', caught.exception.message)
        wait_until(lambda: self.sessions(dvm) == [], 'the session to go')
        self.assertEqual(self.where_runs(dvm), ['node1', 'node2'])

    def test_S11_all_of_them(self):
        """The number of all is every session of the caller, and never the default one."""
        dvm = self.dvm(nodes=1, slots=2)
        made = [self.reserve(dvm, f'n{i}:2') for i in (8, 9)]
        jobs = [self.stay(dvm, target=[each.alloc_id]) for each in made]
        outside = self.stay(dvm)
        self.control(dvm, ALL, pause=True)
        self.wait_stopped(jobs)
        self.assertEqual(([each.state for each in made], dvm.default.state), (['paused', 'paused'], 'active'))
        self.assertFalse(is_stopped(outside.pids()[0]))
        self.control(dvm, ALL, terminate=True)
        for each in made:
            each.wait_gone()
        self.assertFalse(outside.get('Ended'))
        self.assert_no_trace(dvm, 'NotSupported', 'default', self.control, dvm, 0, pause=True)

    def test_S21_separate(self):
        """A session can be cut loose from the one that it hangs on."""
        dvm = self.dvm(nodes=1, slots=2)
        parent = self.reserve(dvm, 'n8')
        child = self.reserve(dvm, 'n9', session=parent.number)
        self.assertEqual((child.get('Parent'), child.get('Separate')), (parent.path, False))
        self.control(dvm, child.number, separate=True)
        self.assertTrue(child.get('Separate'))
        self.release(dvm, parent)
        parent.wait_gone()
        self.assertEqual((child.nodes, child.get('Parent')), (['n9'], '/'))

    def test_S7_S8_forwarded(self):
        """With an outside scheduler attached others' requests go to it, with their names, from whatever node; its answer counts."""
        steps = ['done hosts=x7', 'decline', 'fail not today', 'done', 'fail no more of that'] + ['fail not from here'] * 2
        script = '; '.join(f'decide {step}' for step in steps)
        dvm = self.dvm(nodes=2, slots=2, settings=[f'test-plugin={script}'])
        first = self.reserve(dvm, count=1)
        self.assertEqual(first.nodes, ['x7'])
        second = self.reserve(dvm, 'n9')
        self.assertEqual(second.nodes, ['n9'])
        self.assert_no_trace(dvm, 'AllocFailed', 'not today', dvm.asker.allocate, 'new', hosts=['n10'], share=False)
        self.assertIn(dvm.asker.connection.raw.get_unique_name() or 'private:', dvm.log())
        # What is to be done with a session is asked too, and refused.
        self.control(dvm, second.number, pause=True)
        self.assertRegex(dvm.log(), rf"asked control-session of {second.number} by private:\d+ .*'pause': <true>")
        self.assert_no_trace(dvm, 'AllocFailed', 'no more of that', self.control, dvm, second.number, resume=True)
        self.assertEqual(second.state, 'paused')
        # A process on any node has the same answer, and is named.
        jobs = [self.program(dvm, 'new list=n12', node=node) for node in ('node1', 'node2')]
        answers = [[line.status for line in self.said(job)] for job in jobs]
        self.assertEqual((answers[0], len(answers[0])), (answers[1], 1))
        self.assertLess(answers[0][0], 0)
        for job in jobs:
            self.assertIn(f'asked new of 0 by pmix:{job.nspace}.0 ({job.nspace}, ', dvm.log())

    def test_S9_entitled(self):
        """The owner's namespace or user; a process that is neither is refused."""
        dvm = self.dvm(nodes=1, slots=2)
        session = self.reserve(dvm, 'n9')
        job = self.program(dvm, f'extend id={session.alloc_id} time=60 release id={session.alloc_id}')
        self.assertEqual([line.status for line in self.said(job)], [sessions.NO_PERMISSIONS] * 2)
        self.control(dvm, session.number, connection=dvm.connect(), pause=True)
        self.assertEqual(session.state, 'paused')

    def test_S22_S26_complete(self):
        """The scheduler that asked for a session is told of its end with every job of it; what it says that is unknown is passed over."""
        place = self.place()
        go = os.path.join(place, 'go')
        dvm = self.dvm(nodes=1, slots=2, settings=[f'test-plugin=push until {go}; push done session node1 sh -c true'])
        with open(go, 'w'):
            pass
        wait_until(lambda: 'completed session' in dvm.log(), 'the scheduler to be told')
        self.assertEqual(self.sessions(dvm), [])
        # Its job, which has ended well.
        self.assertRegex(dvm.log(), r"completed session 1 of \S+: \[\(1, 3[0-9], 0, ''\)\]")

    def test_S26_unknown(self):
        """Of what a scheduler asks for that is passed over which is not known, and the rest is done; a tool is refused."""
        go = os.path.join(self.place(), 'go')
        push = 'push done control-session session=1 pause=true colour=red'
        dvm = self.dvm(nodes=1, slots=2, settings=[f'test-plugin=push until {go}; {push}'])
        session = self.reserve(dvm, 'n9')
        self.assert_no_trace(dvm, 'BadParam', 'colour', self.control, dvm, session.number, pause=True, colour='red')
        with open(go, 'w'):
            pass
        wait_until(lambda: session.state == 'paused' or 'is refused' in dvm.log(), 'the session to be paused')
        self.assertEqual(session.state, 'paused', dvm.log())


sessions.cases(Control)
dvmtest.main()
