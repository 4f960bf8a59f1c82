# SPDX-License-Identifier: LGPL-2.1-or-later
"""Slots: who may start, who waits, in which order; many jobs at once; jobs that have ended."""

import os
import socket

import dvmtest
from dvmtest import KILLED_BY_CMD, MAP_FAILED, NOTIFIED

ALLOCATE = 3


class Slots(dvmtest.Case):
    def test_more_than_given(self):
        dvm = self.dvm(slots=4)
        done = dvm.run(['true'], np=5)
        self.assertEqual(done.state, MAP_FAILED, done)
        self.assertIn('5', done.reason)
        self.assertIn('4', done.reason)
        self.assertEqual(dvm.get('Statistics')['procs-launched'], 0)
        self.assertEqual(dvm.get('SlotsInUse'), 0)
        self.assert_success(dvm.run(['true'], np=4))

    def test_more_than_given_oversubscribed(self):
        done = self.dvm(slots=2).run(['true'], np=5, when_full='oversubscribe')
        self.assert_success(done)
        self.assertEqual(len(done.job.procs()), 5)

    def test_more_than_nobody_gave(self):
        """Hardware threads are no limit: the job takes all and runs oversubscribed."""
        dvm = self.dvm()
        threads = os.cpu_count()
        done = dvm.run(['true'], np=threads * 3 + 1)
        self.assert_success(done)
        self.assertEqual(dvm.get('SlotCount'), len(os.sched_getaffinity(0)))

    def test_all_free_slots(self):
        dvm = self.dvm(slots=5)
        first = dvm.submit(['sleep', '1000'], np=2)
        first.wait_running()
        second = dvm.submit(['true'])
        self.assertEqual(second.wait()['state'], NOTIFIED)
        self.assertEqual(second.get('NumProcs'), 3)

    def test_waits_until_it_fits(self):
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        first = dvm.submit(['sleep', '1000'], np=3)
        first.wait_running()
        second = dvm.submit(['true'], np=2)
        second.wait_state(ALLOCATE)
        self.assertEqual(second.get('HeldAt'), 'slots')
        self.assertEqual(dvm.get('JobsHeld'), 1)
        self.assertEqual(dvm.get('SlotsInUse'), 3)
        first.cancel()
        self.assertEqual(second.wait()['state'], NOTIFIED)
        self.assertEqual(second.get('HeldAt'), '')
        self.assertEqual(dvm.get('JobsHeld'), 0)
        self.assertEqual(dvm.get('SlotsInUse'), 0)

    def test_first_come_first_served(self):
        """A small job does not overtake a large one that waits."""
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        order = os.path.join(dvm.home, 'order')
        first = dvm.submit(['sleep', '1000'], np=3)
        first.wait_running()
        # Of PMIx jobs each has a server of its own, which may be quicker than that of another.
        jobs = [dvm.submit(['sh', '-c', f'test $DVM_RANK = 0 && echo {name} >> {order}; true'], np=np, personality='plain')
                for name, np in (('large', 4), ('small', 1), ('smaller', 1))]
        jobs[2].wait_state(ALLOCATE)
        self.assertEqual([job.state for job in jobs], [ALLOCATE] * 3)
        first.cancel()
        for job in jobs:
            self.assertEqual(job.wait()['state'], NOTIFIED)
        started = [job.get('StartedAt') for job in jobs]
        self.assertLess(started[0], started[1])
        self.assertLessEqual(started[1], started[2])
        with open(order) as f:
            self.assertEqual(f.readline(), 'large\n')

    def test_refuse(self):
        dvm = self.dvm(slots=4)
        first = dvm.submit(['sleep', '1000'], np=3)
        first.wait_running()
        done = dvm.run(['true'], np=2, when_full='refuse')
        self.assertEqual(done.state, MAP_FAILED, done)
        self.assertIn('wait', done.reason)
        self.assert_success(dvm.run(['true'], np=1, when_full='refuse'))

    def test_oversubscribe_overtakes(self):
        dvm = self.dvm(slots=2)
        first = dvm.submit(['sleep', '1000'], np=2)
        first.wait_running()
        self.assert_success(dvm.run(['true'], np=2, when_full='oversubscribe'))

    def test_cancel_while_waiting(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        first = dvm.submit(['sleep', '1000'], np=2)
        first.wait_running()
        second = dvm.submit(['true'], np=2)
        third = dvm.submit(['true'], np=1)
        third.wait_state(ALLOCATE)
        second.cancel()
        result = second.wait()
        self.assertEqual(result['state'], KILLED_BY_CMD)
        self.assertNotIn(13, second.job_trace())
        self.assertEqual(second.get('HeldAt'), '')
        first.cancel()
        self.assertEqual(third.wait()['state'], NOTIFIED)

    def test_unknown_host(self):
        dvm = self.dvm(slots=2)
        done = dvm.run(['true'], hosts=['no-such-host'])
        self.assertEqual(done.state, MAP_FAILED, done)
        self.assertIn('no-such-host', done.reason)

    def test_hostfile(self):
        """A file chooses nodes and slots; what is wrong with it is told at once, by file and line."""
        dvm = self.dvm(slots=4)
        path = os.path.join(dvm.home, 'hosts')

        def write(text):
            with open(path, 'w') as f:
                f.write(text)

        write(f'# mine\n{os.uname().nodename} slots=2 max_slots=3\n')
        job = dvm.submit(['true'], hostfile=path)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(job.get('NumProcs'), 2)
        done = dvm.run(['true'], np=3, hostfile=path)
        self.assertEqual(done.state, MAP_FAILED, done)
        self.assert_success(dvm.run(['true'], np=3, hostfile=path, when_full='oversubscribe'))
        done = dvm.run(['true'], np=4, hostfile=path, when_full='oversubscribe')
        self.assertEqual(done.state, MAP_FAILED, done)
        write('\nelsewhere\n')
        done = dvm.run(['true'], hostfile=path)
        self.assertEqual(done.state, MAP_FAILED, done)
        self.assertIn(f'{path}:2: “elsewhere” is not a node', done.reason)
        write('one two\n')
        self.assert_refused('ParseFailed', f'{path}:1', dvm.submit, ['true'], hostfile=path)
        self.assert_refused('NotFound', path + '.not', dvm.submit, ['true'], hostfile=path + '.not')
        self.assert_refused('BadParam', ['hostfile', 'absolute'], dvm.submit, ['true'], hostfile='hosts')
        self.assertEqual(dvm.get('SlotsInUse'), 0)

    def test_hosts_of_applications(self):
        """Each application goes where its own hosts are, and as often as they say."""
        dvm = self.dvm(slots=4)
        host = os.uname().nodename
        apps = [{'argv': ['true'], 'np': 2, 'hosts': [f'{host}:2']}, {'argv': ['true'], 'np': 2}]
        self.assert_success(dvm.run(None, apps=apps))
        apps[0]['np'] = 3
        self.assertEqual(dvm.run(None, apps=apps).state, MAP_FAILED)

    def test_so_many_on_each_node(self):
        dvm = self.dvm(slots=4)
        job = dvm.submit(['true'], map_by='ppr:3:node')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(job.get('NumProcs'), 3)
        self.assertEqual(dvm.run(['true'], np=4, map_by='ppr:3:node').state, MAP_FAILED)
        self.assert_refused('BadParam', 'colocate', dvm.submit, ['true'], map_by='colocate')

    def test_environment_travels_once(self):
        dvm = self.dvm(slots=4)
        env = {f'NAME_{i}': 'x' * 20 for i in range(20)}
        sizes = []
        for value in ('a', 'a', 'b', 'a'):
            before = dvm.get('Statistics')
            done = dvm.run(['sh', '-c', 'test $NAME_0 = %s' % value], np=2, env={**env, 'NAME_0': value})
            self.assert_success(done)
            after = dvm.get('Statistics')
            sizes.append(after['environment-bytes'] - before['environment-bytes'])
            self.assertLess(after['launch-bytes'] - before['launch-bytes'], 1000)
        self.assertGreater(sizes[0], 400)
        self.assertEqual(sizes, [sizes[0], 0, sizes[0], 0])

    def test_slots_of_a_host(self):
        dvm = self.dvm(slots=4)
        host = os.uname().nodename
        done = dvm.run(['true'], np=3, hosts=[f'{host}:2'])
        self.assertEqual(done.state, MAP_FAILED, done)
        self.assert_success(dvm.run(['true'], np=2, hosts=[f'{host}:2']))

    def test_slots_of_a_host_whose_slots_nobody_gave(self):
        dvm = self.dvm()
        host = os.uname().nodename
        self.assert_success(dvm.run(['true'], np=300))
        if dvm.get('SlotCount') > 1:
            done = dvm.run(['true'], np=2, hosts=[f'{host}:1'])
            self.assertEqual(done.state, MAP_FAILED, done)


class Many(dvmtest.Case):
    def test_200_jobs_at_once(self):
        dvm = self.dvm(slots=8)
        jobs = [dvm.submit(['sh', '-c', f'exit {i % 3}'], np=1 + i % 2) for i in range(200)]
        results = [job.wait() for job in jobs]
        for i, result in enumerate(results):
            self.assertEqual(result['exit-code'], i % 3, (i, result))
        self.assertEqual(dvm.get('SlotsInUse'), 0)
        self.assertEqual(dvm.get('JobsRunning'), 0)
        statistics = dvm.get('Statistics')
        self.assertEqual((statistics['jobs-submitted'], statistics['jobs-ended']), (200, 200))
        self.assert_no_processes(dvm)

    def test_200_jobs_side_by_side(self):
        """All run at the same time: nobody ends before the last has started."""
        dvm = self.dvm(slots=200)
        gate = os.path.join(dvm.home, 'gate')
        os.mkfifo(gate)
        jobs = [dvm.submit(['sh', '-c', f'read line < {gate}; exit 0'], np=1, personality='plain') for _ in range(200)]
        dvmtest.wait_until(lambda: dvm.get('JobsRunning') == 200, 'all to run')
        fd = os.open(gate, os.O_RDWR)
        os.write(fd, b'go\n' * 200)
        for job in jobs:
            self.assertEqual(job.wait()['state'], NOTIFIED)
        os.close(fd)

    def test_many_ranks(self):
        dvm = self.dvm(slots=128)
        done = dvm.run(['sh', '-c', 'echo $DVM_RANK'], np=128)
        self.assert_success(done)
        self.assertEqual(sorted(map(int, done.lines)), list(range(128)))

    def test_jobs_before_ready_are_kept(self):
        """A submission may come as soon as there is a socket."""
        for _ in range(5):
            dvm = dvmtest.Dvm.__new__(dvmtest.Dvm)
            dvm.early = lambda: self.submit_early(dvm)
            dvm.__init__(slots=2)
            self.dvms.append(dvm)
            self.assertEqual(dvm.answer, 'READY\n')
            self.assertEqual(self.early_job.wait()['state'], NOTIFIED)
            self.assertTrue(dvm.get('Ready'))

    def is_open(self, path):
        """It is there a moment before somebody listens."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(path) == 0

    def submit_early(self, dvm):
        dvmtest.wait_until(lambda: self.is_open(dvm.socket), 'the socket')
        dvm.connection = dvm.connect()
        self.early_job = dvm.submit(['true'], np=2)


class Ended(dvmtest.Case):
    def test_history_limit(self):
        # One after another: the history is in the order in which jobs end.
        dvm = self.dvm(slots=1, settings=['history-limit=3'])
        jobs = [dvm.submit(['true'], np=1) for _ in range(6)]
        names = [job.nspace if i >= 3 else None for i, job in enumerate(jobs)]
        for job in jobs[3:]:
            job.wait()
        dvmtest.wait_until(lambda: dvm.get('Statistics')['jobs-ended'] == 6, 'all to end')
        self.assertEqual(dvm.get('HistoryLimit'), 3)
        for number in (1, 2, 3):
            self.assert_refused('NotFound', 'HistoryLimit', dvm.job(number).get, 'State')
            self.assert_refused('NotFound', 'HistoryLimit', dvm.job(number).wait)
        for number in (4, 5, 6):
            self.assertEqual(dvm.job(number).state, NOTIFIED)
            self.assertEqual(dvm.call('FindJob', '(s)', names[number - 1])[0], f'/org/dvm/jobs/{number}')
        rows = dvm.list_jobs(all=True)
        self.assertEqual([row['Id'] for row in rows], [4, 5, 6])

    def test_no_history(self):
        dvm = self.dvm(slots=2, settings=['history-limit=0'])
        job = dvm.submit(['sleep', '1000'], np=1)
        job.wait_running()
        job.cancel()
        dvmtest.wait_until(lambda: dvm.get('Statistics')['jobs-ended'] == 1, 'the end')
        self.assert_refused('NotFound', '1', dvm.job(1).wait)

    def test_wait_that_is_open_survives_a_short_history(self):
        dvm = self.dvm(slots=2, settings=['history-limit=0'])
        gate = os.path.join(dvm.home, 'gate')
        os.mkfifo(gate)
        job = dvm.submit(['sh', '-c', 'cat "$0"; exit 4', gate], np=1)
        answers = []
        dvm.connection.raw.call(None, job.path, 'org.dvm.Job', 'Wait', dvmtest.GLib.Variant('(a{sv})', ({},)), None, 0, -1, None,
                                lambda raw, result: answers.append(raw.call_finish(result).unpack()[0]))
        job.get('State')  # calls of one connection come in their order
        with open(gate, 'wb'):
            pass
        dvmtest.wait_until(lambda: answers, 'the answer')
        self.assertEqual(answers[0]['exit-code'], 4)

    def test_ended_jobs_answer(self):
        dvm = self.dvm(slots=2)
        done = dvm.run(['sh', '-c', 'exit 3'])
        for _ in range(2):
            self.assertEqual(done.job.wait(), done.result)
        self.assertEqual(dvm.call('WaitJob', '(sa{sv})', done.job.nspace, {})[0], done.result)
        rows = dvm.list_jobs()
        self.assertEqual(rows, [])
        managed = dvm.connection.call('/org/dvm', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects')[0]
        self.assertNotIn(done.job.path, managed)
        done.job.cancel()
        self.assertEqual(done.job.get('ExitCode'), 3)

    def test_wait_times_out(self):
        dvm = self.dvm(slots=2)
        job = dvm.submit(['sleep', '1000'], np=1)
        options = dvmtest.to_options({'timeout': 50})
        self.assert_refused('Timeout', '50', job.call, 'Wait', '(a{sv})', options)
        self.assert_refused('Timeout', '50', dvm.call, 'WaitJob', '(sa{sv})', job.nspace, options)
        job.wait_running()

    def test_client_that_vanishes_in_a_wait(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        job = dvm.submit(['sleep', '1000'], np=1)
        other = dvm.connect()
        other.raw.call(None, job.path, 'org.dvm.Job', 'Wait', dvmtest.GLib.Variant('(a{sv})', ({},)), None, 0, -1,
                       None, None)
        other.raw.flush_sync(None)
        other.close()
        job.wait_running()
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)


if __name__ == '__main__':
    dvmtest.main()
