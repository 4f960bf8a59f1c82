# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes: how they start, what they see, how they end, and what they leave behind."""

import os
import re
import signal
import time
import uuid

import dvmtest
from dvmtest import (ABORTED_BY_SIG, FORCED_EXIT, KILLED_BY_CMD, NON_ZERO_TERM, NOTIFIED, PROC_TERMINATED)

# L4 of the specification: INIT to NOTIFIED, by the numbers.
ORDER = [1, 2, 3, 4, 8, 10, 11, 5, 6, 7, 12, 13, 20, 18, 14, 31, 34, 35]

# Two children, one of them in a session of its own and orphaned; all of them ignore SIGTERM.
LEAVE_CHILDREN = '''
trap '' TERM HUP
sleep 1000 &
(setsid sh -c "trap '' TERM HUP; sleep 1000 & sleep 1000" >/dev/null 2>&1 </dev/null &)
(setsid sh -c "(setsid sleep 1000 &)" >/dev/null 2>&1 </dev/null &)
echo left
'''


class Ends(dvmtest.Case):
    def test_success(self):
        dvm = self.dvm(slots=4)
        done = dvm.run(['true'], np=4)
        self.assert_success(done)
        self.assertEqual(done.job.get('Ended'), True)
        self.assertEqual(done.job.get('Failed'), False)
        self.assertEqual([row[6] for row in done.job.procs()], [PROC_TERMINATED] * 4)
        self.assertEqual(done.job.get('NumLaunched'), 4)
        self.assertEqual(done.job.get('NumTerminated'), 4)

    def test_exit_code(self):
        done = self.dvm(slots=4).run(['sh', '-c', 'exit 37'])
        self.assertEqual((done.state, done.code, done.signal), (NON_ZERO_TERM, 37, 0), done)
        self.assertEqual(done.result['failed-rank'], 0, done)
        self.assertIn('37', done.reason)

    def test_exit_code_of_the_first_that_failed(self):
        """Rank 2 fails while the others run: its code is the job's, and the others are ended."""
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        done = dvm.run(['sh', '-c', 'test $DVM_RANK = 2 && exit 42; exec sleep 1000'], np=4)
        self.assertEqual((done.state, done.code), (NON_ZERO_TERM, 42), done)
        self.assertEqual(done.result['failed-rank'], 2, done)
        self.assertIn('ank 2', done.reason)
        self.assert_no_processes(dvm)

    def test_later_failures_do_not_count(self):
        dvm = self.dvm(slots=4, settings=['kill-grace=5'])
        script = "test $DVM_RANK = 1 && exit 3; trap 'exit 9' TERM; while :; do sleep 0.05; done"
        done = dvm.run(['sh', '-c', script], np=3)
        self.assertEqual((done.state, done.code, done.result['failed-rank']), (NON_ZERO_TERM, 3, 1), done)

    def test_signal(self):
        dvm = self.dvm(slots=4)
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGUSR1):
            done = dvm.run(['sh', '-c', f'kill -{int(number)} $$'])
            self.assertEqual((done.state, done.signal), (ABORTED_BY_SIG, int(number)), done)
            self.assertEqual(done.job.get('ExitSignal'), int(number))
            self.assertIn(str(int(number)), done.reason)

    def test_recoverable(self):
        """A process may fail without its job."""
        dvm = self.dvm(slots=4)
        done = dvm.run(['sh', '-c', 'test $DVM_RANK = 0 && exit 5; echo fine'], np=3, recoverable=True)
        self.assertEqual(done.state, NOTIFIED, done)
        self.assertEqual(done.lines, ['fine'] * 2)

    def test_timeout(self):
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        begin = time.monotonic()
        done = dvm.run(['sleep', '1000'], np=2, timeout=1)
        self.assertEqual(done.state, KILLED_BY_CMD, done)
        self.assertIn('limit', done.reason)
        self.assertGreaterEqual(time.monotonic() - begin, 1)
        self.assert_no_processes(dvm)

    def test_timeout_does_not_strike_later(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        self.assert_success(dvm.run(['true'], timeout=3))
        later = dvm.submit(['sleep', '1000'], np=1)
        later.wait_running()
        # One with the same limit that has begun later tells when that of the first one is over.
        self.assertEqual(dvm.run(['sleep', '1000'], timeout=3).state, KILLED_BY_CMD)
        self.assertEqual(later.state, dvmtest.RUNNING)
        later.cancel()

    def test_trace_is_in_order(self):
        dvm = self.dvm(slots=4)
        done = dvm.run(['true'], np=2)
        self.assertEqual(done.job.job_trace(), ORDER)
        times = [row[0] for row in done.job.trace()]
        self.assertEqual(times, sorted(times))
        ranks = {row[1] for row in done.job.trace()}
        self.assertEqual(ranks, {'job', 'rank 0', 'rank 1'})

    def test_iof_and_waitpid_make_terminated(self):
        dvm = self.dvm(slots=2)
        done = dvm.run(['sh', '-c', 'exec >&- 2>&-; kill -0 $$'], np=1)
        states = [row[3] for row in done.job.trace() if row[1] == 'rank 0']
        self.assertEqual(states[-1], PROC_TERMINATED, done.job.trace())
        self.assertEqual(states.count(PROC_TERMINATED), 1)


class Leaves(dvmtest.Case):
    def test_children_are_gone(self):
        """Children in the group, in sessions of their own, orphans, all deaf to SIGTERM."""
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        done = dvm.run(['sh', '-c', LEAVE_CHILDREN], np=2)
        self.assertEqual(done.lines, ['left'] * 2)
        self.assertEqual(done.state, NOTIFIED, done)
        self.assert_no_processes(dvm)

    def test_the_jobs_after_a_killed_one_run(self):
        dvm = self.dvm(slots=4, settings=['kill-grace=0.1'])
        for _ in range(3):
            job, out, _ = dvm.start(['sh', '-c', 'trap "" TERM; echo deaf; while :; do sleep 1; done'], np=1)
            dvmtest.wait_until(lambda: out.data == b'deaf\n', 'the trap')
            job.cancel()
            self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
            self.assert_success(dvm.run(['true'], np=4))

    def test_a_silent_child_is_gone(self):
        """One that keeps no pipe of its rank open: the job ends when the child has, deaf as it is."""
        dvm = self.dvm(slots=4, settings=['kill-grace=0.2'])
        for personality in ('plain', 'pmix'):
            done = dvm.run(['sh', '-c', '(trap "" TERM; exec >/dev/null 2>&1 </dev/null; sleep 1000) & exit 0'],
                           personality=personality)
            self.assertEqual(done.state, NOTIFIED, done)
            self.assertEqual(dvm.job_processes(), [])

    def test_children_get_the_grace_of_the_settings(self):
        """Longer than the limit of the test: the child that needs a second for its end has it."""
        dvm = self.dvm(slots=4, settings=['kill-grace=300'])
        up = os.path.join(dvm.place, 'up')
        # Its parent ends when the trap is there.
        script = "(setsid sh -c \"trap 'sleep 0.5; echo clean; exit' TERM; echo up; : >$0; while :; do sleep 0.02; done\" $0 &) ;" \
                 "until test -e $0; do sleep 0.02; done"
        done = dvm.run(['sh', '-c', script, up])
        self.assertEqual(done.lines, ['up', 'clean'])

    def test_children_of_a_killed_job_are_gone(self):
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        job, out, _ = dvm.start(['sh', '-c', LEAVE_CHILDREN + 'sleep 1000; sleep 1000'], np=2)
        dvmtest.wait_until(lambda: out.data.count(b'left\n') == 2, 'both to have left children')
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assert_no_processes(dvm)

    def test_orphans_of_a_job_are_not_those_of_another(self):
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        job, out, _ = dvm.start(['sh', '-c', '(setsid sleep 1000 >/dev/null 2>&1 &); echo left; exec sleep 1000'], np=1)
        dvmtest.wait_until(lambda: out.data == b'left\n' * out.data.count(b'\n') != b'', 'an orphan')
        before = dvm.job_processes()
        self.assertEqual(len(before), 2)
        self.assert_success(dvm.run(['sh', '-c', LEAVE_CHILDREN]))
        self.assertEqual(dvm.job_processes(), before)
        job.cancel()
        job.wait()
        self.assert_no_processes(dvm)

    def test_one_that_changes_programs_is_gone(self):
        """At exec a process has no environment for a moment, by which it could be told from those of another job."""
        dvm = self.dvm(slots=2)
        other = dvm.submit(['sleep', '1000'], np=1)
        other.wait_running()
        pids = other.pids()
        script = """export X='exec sh -c "$X"'; (setsid sh -c "$X" >/dev/null 2>&1 </dev/null &)"""
        for _ in range(20):
            self.assert_success(dvm.run(['sh', '-c', script], personality='plain'))
            self.assertEqual(dvm.job_processes(), pids)

    def test_environment_cleared_by_the_child(self):
        """A daemon that hides: new session, new environment, no descriptors."""
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        number = f'61000.{uuid.uuid4().int}'  # which nothing else sleeps, also of a test that runs beside this one
        done = dvm.run(['sh', '-c', f'(setsid env -i sleep {number} >/dev/null 2>&1 </dev/null &); true'])
        self.assertEqual(done.state, NOTIFIED, done)
        command = f'sleep\0{number}\0'.encode()

        def find():
            found = []
            for name in filter(str.isdigit, os.listdir('/proc')):
                try:
                    with open(f'/proc/{name}/cmdline', 'rb') as f:
                        found += [name] if f.read() == command else []
                except OSError:
                    pass
            return found
        self.assertEqual(dvm.stop(), 0)
        self.assertEqual(find(), [])
        dvm.check_clean()

    def test_stdout_closed_early(self):
        dvm = self.dvm(slots=2)
        job, out, err = dvm.start(['sh', '-c', 'echo first; exec >&- 2>&-; exec sleep 1000'], np=1)
        dvmtest.wait_until(lambda: out.data == b'first\n', 'output')
        job.wait_running()
        self.assertEqual(len(dvm.job_processes()), 1)
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assertEqual((out.finish(), err.finish()), (b'first\n', b''))

    def test_stdout_kept_open_by_a_child(self):
        """The rank is over, its child still holds the pipe: the child is ended and the job with it."""
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        done = dvm.run(['sh', '-c', 'sleep 1000 & echo out'])
        self.assert_success(done)
        self.assertEqual(done.out, b'out\n')
        self.assert_no_processes(dvm)


class Kills(dvmtest.Case):
    def test_ignores_sigterm(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        job, out, _ = dvm.start(['sh', '-c', "trap '' TERM; echo deaf; while :; do sleep 1000; done"], np=2)
        dvmtest.wait_until(lambda: out.data.count(b'deaf\n') == 2, 'traps')
        begin = time.monotonic()
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assertGreaterEqual(time.monotonic() - begin, 0.5)
        self.assert_no_processes(dvm)

    def test_grace_is_given(self):
        """Who cleans up at SIGTERM has the time for it."""
        dvm = self.dvm(slots=2, settings=['kill-grace=50'])
        job, out, _ = dvm.start(['sh', '-c', "trap 'echo cleaned; exit 0' TERM; echo up; while :; do sleep 0.05; done"],
                                np=1)
        dvmtest.wait_until(lambda: out.data == b'up\n', 'trap')
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assertEqual(out.finish(), b'up\ncleaned\n')

    def test_stopped_process_is_ended(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=50'])
        job = dvm.submit(['sleep', '1000'], np=1)
        job.wait_running()
        os.kill(job.pids()[0], signal.SIGSTOP)
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)

    def test_signal_to_all_and_to_some(self):
        dvm = self.dvm(slots=4)
        script = ("trap 'echo $DVM_RANK usr1' USR1; trap 'echo $DVM_RANK usr2; exit 0' USR2; echo $DVM_RANK up; "
                  "while :; do sleep 0.02; done")
        job, out, _ = dvm.start(['sh', '-c', script], np=4)
        dvmtest.wait_until(lambda: out.data.count(b'up\n') == 4, 'traps')
        job.signal(signal.SIGUSR1, ranks='1,3')
        dvmtest.wait_until(lambda: out.data.count(b'usr1\n') == 2, 'two signals')
        job.signal(signal.SIGUSR2)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        lines = out.finish().decode().splitlines()
        self.assertEqual(sorted(line for line in lines if 'usr1' in line), ['1 usr1', '3 usr1'])
        self.assertEqual(sorted(line for line in lines if 'usr2' in line), [f'{i} usr2' for i in range(4)])

    def test_signal_reaches_the_whole_group(self):
        dvm = self.dvm(slots=2)
        # The trap of the outer shell comes first: an "up" must not be seen before it.
        job, out, _ = dvm.start(['sh', '-c', "trap : USR1; sh -c 'trap \"echo child; exit 0\" USR1; echo up; while :; do "
                                 "sleep 0.02; done' & wait; wait"], np=1)
        dvmtest.wait_until(lambda: out.data == b'up\n', 'trap')
        job.signal(signal.SIGUSR1)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(out.finish(), b'up\nchild\n')

    def test_signal_that_ends(self):
        dvm = self.dvm(slots=2)
        job = dvm.submit(['sleep', '1000'], np=1)
        job.wait_running()
        job.signal(signal.SIGINT)
        result = job.wait()
        self.assertEqual((result['state'], result['exit-signal']), (ABORTED_BY_SIG, signal.SIGINT))
        self.assert_refused('NotFound', 'ended', job.signal, signal.SIGTERM)

    def test_cancel_at_every_stage(self):
        """From the moment of the submission on, in ever later moments: always ended, always clean."""
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        for calls in range(12):
            job = dvm.submit(['sleep', '1000'], np=4)
            for _ in range(calls):
                dvm.get('Version')
            job.cancel()
            result = job.wait()
            self.assertEqual(result['state'], KILLED_BY_CMD, result)
            self.assertIn('cancelled', result['reason'])
            self.assert_no_processes(dvm)
        self.assertEqual(dvm.get('SlotsInUse'), 0)
        job.cancel()  # once more is no error
        self.assert_success(dvm.run(['true'], np=4))

    def test_cancel_by_label(self):
        dvm = self.dvm(slots=8, settings=['kill-grace=0.5'])
        jobs = [dvm.submit(['sleep', '1000'], np=1, label='red' if i % 2 else 'blue') for i in range(4)]
        count = dvm.call('CancelJobs', '(a{sv})', dvmtest.to_options({'label': 'red'}))[0]
        self.assertEqual(count, 2)
        for job in (jobs[1], jobs[3]):
            self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        for job in (jobs[0], jobs[2]):
            job.wait_running()


class Sees(dvmtest.Case):
    def test_descriptors(self):
        """0, 1 and 2, and the one for PMI, and nothing else, whatever the daemon holds."""
        dvm = self.dvm(slots=2)
        others = [dvm.connect() for _ in range(5)]
        job = dvm.submit(['sleep', '1000'], np=1)
        done = dvm.run(['sh', '-c', 'ls /proc/$$/fd; :'], np=1)
        self.assertEqual(done.lines, ['0', '1', '2', '20'])
        done = dvm.run(['sh', '-c', 'ls /proc/$$/fd; :'], np=1, personality='plain')
        self.assertEqual(done.lines, ['0', '1', '2'])
        done = dvm.run(['sh', '-c', 'ls -l /proc/$$/fd; :'], np=1)
        self.assertIn('/dev/null', [line for line in done.lines if ' 0 ->' in line][0])
        job.cancel()
        for other in others:
            other.close()

    def test_signal_dispositions(self):
        dvm = self.dvm(slots=2)
        done = dvm.run(['cat', '/proc/self/status'])
        masks = {line.split()[1] for line in done.lines if re.match('Sig(Blk|Ign|Cgt)|ShdPnd', line)}
        self.assertEqual(masks, {'0' * 16}, done)

    def test_environment(self):
        dvm = self.dvm(slots=2, env={'G_DEBUG': 'fatal-warnings', 'G_MESSAGES_DEBUG': 'all', 'KEPT': 'yes',
                                     'PMIX_MCA_stray': '1', 'NOTIFY_SOCKET': '/nowhere'})
        done = dvm.run(['env'], np=2, env={'MINE': 'ä=b', 'KEPT2': ''})
        lines = done.lines
        for name in ('G_DEBUG', 'G_MESSAGES_DEBUG', 'PMIX_MCA_stray', 'NOTIFY_SOCKET', 'HWLOC_PLUGINS_PATH'):
            self.assertEqual([line for line in lines if line.startswith(f'{name}=')], [])
        self.assertEqual(lines.count('KEPT=yes'), 2)
        self.assertEqual(lines.count('MINE=ä=b'), 2)
        self.assertEqual(lines.count('KEPT2='), 2)
        self.assertEqual(sorted(line for line in lines if line.startswith('DVM_RANK=')), ['DVM_RANK=0', 'DVM_RANK=1'])
        self.assertEqual(lines.count('DVM_SIZE=2'), 2)
        self.assertEqual(lines.count(f'DVM_JOBID={done.job.nspace}'), 2)

    def test_environment_edits(self):
        dvm = self.dvm(slots=2, env={'GONE': '1', 'STAYS': '1', 'HWLOC_PLUGINS_PATH': '/its/own'})
        self.assertIn('HWLOC_PLUGINS_PATH=/its/own', dvm.run(['env']).lines)
        done = dvm.run(['/usr/bin/env'], env={'STAYS': '2'}, unset_env=['GONE', 'NEVER_THERE'])
        self.assertIn('STAYS=2', done.lines)
        self.assertEqual([line for line in done.lines if line.startswith('GONE=')], [])

    def test_environment_cleared(self):
        dvm = self.dvm(slots=2, env={'GONE': '1'})
        done = dvm.run(['/usr/bin/env'], env={'ONLY': 'this'}, env_clear=True, personality='plain')
        names = {line.split('=')[0] for line in done.lines}
        self.assertIn('ONLY', names)
        strange = [name for name in names if not re.match(r'ONLY$|DVM_|OMPI_', name)]
        self.assertEqual(strange, [])

    def test_plain_personality_has_no_pmix(self):
        dvm = self.dvm(slots=2)
        done = dvm.run(['env'], personality='plain')
        self.assertEqual([line for line in done.lines if line.startswith('PMIX')], [])
        done = dvm.run(['env'])
        self.assertNotEqual([line for line in done.lines if line.startswith('PMIX_RANK=')], [])

    def test_directory(self):
        dvm = self.dvm(slots=2)
        self.assertEqual(dvm.run(['pwd']).lines, [dvm.home])
        self.assertEqual(dvm.run(['pwd'], cwd='/usr').lines, ['/usr'])

    def test_process_group(self):
        """Each rank leads a group of its own, and no terminal of the daemon."""
        dvm = self.dvm(slots=2)
        done = dvm.run(['sh', '-c', 'cut -d" " -f1,5,7 /proc/$$/stat'], np=2)
        groups = set()
        for line in done.lines:
            pid, group, terminal = line.split()
            self.assertEqual(pid, group)
            self.assertEqual(terminal, '0')
            groups.add(group)
        self.assertEqual(len(groups), 2)

    def test_mpmd(self):
        dvm = self.dvm(slots=6)
        script = 'echo $DVM_RANK $DVM_SIZE $WHO $(pwd)'
        done = dvm.run(None, apps=[{'argv': ['sh', '-c', script], 'np': 2, 'env': {'WHO': 'a'}, 'cwd': '/'},
                                   {'argv': ['sh', '-c', script], 'np': 3, 'env': {'WHO': 'b'}, 'cwd': '/usr'}])
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), ['0 5 a /', '1 5 a /', '2 5 b /usr', '3 5 b /usr', '4 5 b /usr'])
        self.assertEqual([row[1] for row in done.job.procs()], [0, 0, 1, 1, 1])


if __name__ == '__main__':
    dvmtest.main()
