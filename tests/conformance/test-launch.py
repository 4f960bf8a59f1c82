# SPDX-License-Identifier: LGPL-2.1-or-later
"""The state machines (spec/000): one test or more per number of section 0 of the conformance list, on a real dvmd."""

import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'integration'))

import dvmtest
from dvmtest import GLib, wait_until

# Nodes that are lost stay DOWN here: test-heal.py is about those that come back.
os.environ['DVM_HEAL'] = 'false'

PMIX_CLIENT = os.environ['DVM_TEST_PMIX_CLIENT']

UP_TO_SEND = ['INIT', 'INIT_COMPLETE', 'ALLOCATE', 'ALLOCATION_COMPLETE', 'LAUNCH_DAEMONS', 'DAEMONS_REPORTED',
              'VM_READY', 'MAP', 'MAP_COMPLETE', 'SYSTEM_PREP', 'LAUNCH_APPS', 'SEND_LAUNCH_MSG']
NUMBERS = {'INIT': 1, 'INIT_COMPLETE': 2, 'ALLOCATE': 3, 'ALLOCATION_COMPLETE': 4, 'MAP': 5, 'MAP_COMPLETE': 6,
           'SYSTEM_PREP': 7, 'LAUNCH_DAEMONS': 8, 'DAEMONS_LAUNCHED': 9, 'DAEMONS_REPORTED': 10, 'VM_READY': 11,
           'READY_FOR_DEBUG': 19, 'LAUNCH_APPS': 12, 'SEND_LAUNCH_MSG': 13, 'RUNNING': 14, 'REGISTERED': 16, 'LOCAL_LAUNCH_COMPLETE': 18,
           'STARTED': 20, 'TERMINATED': 31, 'NOTIFY_COMPLETED': 34, 'NOTIFIED': 35}
ORDER = UP_TO_SEND + ['STARTED', 'LOCAL_LAUNCH_COMPLETE', 'RUNNING', 'REGISTERED', 'TERMINATED', 'NOTIFY_COMPLETED',
                      'NOTIFIED']


def numbers(names):
    return [NUMBERS[name] for name in names]


def rank_states(job, rank):
    return [new for _, what, _, new, _ in job.trace() if what == f'rank {rank}']


def stat_state(pid):
    with open(f'/proc/{pid}/stat') as stat:
        return stat.read().rpartition(')')[2].split()[0]


class Launch(dvmtest.Case):
    def test_L1_two_machines(self):
        """The DVM's own job is one of the jobs; jobs and processes each have their states."""
        dvm = self.dvm(slots=2)
        self.assertEqual((dvm.get('State'), dvm.get('StateName')), (11, 'VM_READY'))
        done = dvm.run(['true'], np=2)
        self.assertEqual(rank_states(done.job, 0)[-1], 20)
        self.assertEqual(done.job.job_trace()[-1], 35)

    def test_L1_tables_of_agents(self):
        """Each agent has tables of its own, from its report to its end; what they say is what the controller knows."""
        dvm = self.dvm(slots=1, settings=['nodes=2'], env={'G_MESSAGES_DEBUG': 'dvmd-state'})
        self.assert_success(dvm.run(['true'], np=2))
        self.assertEqual(dvm.stop(), 0)
        for node in ('node1', 'node2'):
            said = [line for line in dvm.log().splitlines() if f'{node}:' in line and 'local-' in line]
            self.assert_in_order(said, 'local-daemon', ['DAEMONS_REPORTED', 'VM_READY', 'DAEMONS_TERMINATED'])
            self.assert_in_order(said, 'local-job', ['LOCAL_LAUNCH_COMPLETE', 'TERMINATED'])
            self.assert_in_order(said, 'local-process', ['RUNNING', 'TERMINATED'])

    def assert_in_order(self, lines, machine, states):
        seen = [line.rpartition('-> ')[2] for line in lines if machine in line and '-> ' in line]
        self.assertEqual([state for state in seen if state in states], states, lines)

    def test_L2_every_change_follows_the_last(self):
        """No change is made beside the machine: each starts where the one before ended, and time does not go back."""
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        ended = [dvm.run(['sh', '-c', f'exit {code}'], np=3) for code in (0, 3)]
        cancelled = dvm.submit(['sleep', '1000'], np=2)
        cancelled.wait_running()
        cancelled.cancel()
        cancelled.wait()
        for job in [done.job for done in ended] + [cancelled]:
            last = {}
            times = []
            for when, what, old, new, _ in job.trace():
                self.assertEqual(old, last.get(what, 0 if what == 'job' else 1), job.trace())
                last[what] = new
                times.append(when)
            self.assertEqual(times, sorted(times))

    def test_L3_numbers_and_names(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        ends = {
            (35, 'NOTIFIED'): dvm.run(['true']).job,
            (53, 'FAILED_TO_START'): dvm.run(['/no/such/program']).job,
            (54, 'ABORTED_BY_SIG'): dvm.run(['sh', '-c', 'kill -SEGV $$']).job,
            (62, 'NON_ZERO_TERM'): dvm.run(['false']).job,
            (69, 'MAP_FAILED'): dvm.run(['true'], np=3).job,
            (58, 'CALLED_ABORT'): dvm.run([PMIX_CLIENT, 'abort']).job,
        }
        killed = dvm.submit(['sleep', '1000'], np=1)
        killed.wait_running()
        killed.cancel()
        killed.wait()
        ends[(51, 'KILLED_BY_CMD')] = killed
        for expected, job in ends.items():
            self.assertEqual((job.get('State'), job.get('StateName')), expected)
            self.assertEqual(job.get('Failed'), expected[0] > 50)
            self.assertTrue(job.get('Ended'))

    def test_L4_order(self):
        done = self.dvm(slots=4).run([PMIX_CLIENT, 'nothing'], np=4)
        self.assert_success(done)
        self.assertEqual(done.job.job_trace(), numbers(ORDER))

    def test_L4_order_without_pmix(self):
        """What never happens is not seen: a program that never calls PMIx_Init is never REGISTERED."""
        done = self.dvm(slots=4).run(['true'], np=4, personality='plain')
        self.assertEqual(done.job.job_trace(), numbers([name for name in ORDER if name != 'REGISTERED']))

    def test_L5_no_new_agents(self):
        trace = self.dvm(slots=1).run(['true']).job.job_trace()
        at = trace.index(NUMBERS['LAUNCH_DAEMONS'])
        self.assertEqual(trace[at + 1], NUMBERS['DAEMONS_REPORTED'])

    def test_L5_donotlaunch(self):
        dvm = self.dvm(slots=3)
        done = dvm.run(['touch', os.path.join(dvm.place, 'touched')], np=3, runtime_options='donotlaunch')
        self.assertEqual(done.job.job_trace(), numbers(UP_TO_SEND[:4] + UP_TO_SEND[5:9] +
                                                       ['TERMINATED', 'NOTIFY_COMPLETED', 'NOTIFIED']))
        self.assertEqual([row[2] for row in done.job.procs()], [dvm.get_nodes()[1]['Name']] * 3)
        self.assertFalse(os.path.exists(os.path.join(dvm.place, 'touched')))
        self.assertEqual(dvm.get('Statistics')['procs-launched'], 0)

    def test_L6_agents_report(self):
        dvm = self.dvm()
        self.assertEqual((dvm.get('NodesExpected'), dvm.get('NodesReported'), dvm.get('NodeCount')), (1, 1, 1))
        agent = dvm.get_nodes()[1]
        self.assertEqual((agent['Rank'], agent['StateName'], agent['Pid']), (1, 'UP', dvm.agent))
        self.assertNotEqual(dvm.agent, dvm.pid)
        self.assertEqual(agent['Name'], socket.gethostname())
        self.assertNotEqual(agent['Topology'], '')
        # Slots that nobody gave: what the machine has for us, and for the agent that has inherited it.
        self.assertEqual(agent['Slots'], len(os.sched_getaffinity(0)))
        self.assertEqual(dvm.get_nodes()[0]['Slots'], 0)

    def test_L7_jobs_wait_for_ready(self):
        """A job that comes before the DVM is ready is kept, and the kept ones go in their order."""
        dvm = self.dvm(slots=1, env={'G_MESSAGES_DEBUG': 'dvmd-state dvmd'})
        self.assertTrue(dvm.get('Ready'))
        self.assertEqual(dvm.get('MembershipEpoch'), 1)
        log = dvm.log()
        self.assertLess(log.index('DAEMONS_REPORTED -> VM_READY'), log.index('distributed'))
        self.assertLess(log.index('distributed'), log.index('The DVM is ready'))

    def test_L8_independent(self):
        dvm = self.dvm(slots=4)
        slow = dvm.submit(['sleep', '1000'], np=1)
        slow.wait_running()
        for code in (0, 1):
            self.assertEqual(dvm.run(['sh', '-c', f'exit {code}']).code, code)
        self.assertEqual(slow.state, dvmtest.RUNNING)
        slow.cancel()
        slow.wait()

    def test_L9_counts(self):
        dvm = self.dvm(slots=3)
        job = dvm.submit([PMIX_CLIENT, 'wait'], np=3)
        job.wait_state(NUMBERS['REGISTERED'])
        self.assertEqual([job.get(f'Num{name}') for name in ('Procs', 'Launched', 'Registered', 'Terminated')],
                         [3, 3, 3, 0])
        pids = job.pids()
        self.assertEqual(len(set(pids)), 3)
        for pid in pids:
            os.kill(pid, 0)
        job.cancel()
        job.wait()
        self.assertEqual(job.get('NumTerminated'), 3)

    def check_debug_stop(self, argv, option, way, release=None):
        """Waits for a debugger, goes on, ends well; returns what was true of it while it waited."""
        dvm = self.dvm(slots=2)
        job, out, _ = dvm.start(argv, np=2, runtime_options=option)
        job.wait_state(NUMBERS['READY_FOR_DEBUG'])
        self.assertEqual(job.get('StateName'), 'READY_FOR_DEBUG')
        self.assertEqual([job.get(f'Num{name}') for name in ('Procs', 'Launched', 'Terminated')], [2, 2, 0])
        self.assertEqual([row[6] for row in job.procs()], [9, 9])
        self.assertEqual(out.data, b'')
        if option == 'stop-on-exec':
            for pid in job.pids():
                wait_until(lambda pid=pid: stat_state(pid) == 'T', 'it to be stopped')
                with open(f'/proc/{pid}/maps') as maps:
                    self.assertNotIn('libc.so', maps.read(), 'its loader has not run')
        (release or (lambda job: job.call('Continue', '(a{sv})', {})))(job)
        self.assertEqual(job.wait()['state-name'], 'NOTIFIED')
        states = job.job_trace()
        self.assertEqual(states[states.index(NUMBERS['STARTED']):states.index(NUMBERS['TERMINATED'])],
                         numbers(['STARTED', 'LOCAL_LAUNCH_COMPLETE', 'READY_FOR_DEBUG'] + way))
        return out.finish()

    def test_L9_ready_for_debug(self):
        """Stopped at the first instruction; a program like any other."""
        said = self.check_debug_stop(['sh', '-c', 'echo gone on'], 'stop-on-exec', ['RUNNING'])
        self.assertEqual(said, b'gone on\n' * 2)

    def test_L9_ready_for_debug_by_signal(self):
        """SIGCONT does it too, and the job goes on when the last rank does."""
        def release(job):
            job.signal(signal.SIGCONT, ranks='1')
            wait_until(lambda: rank_states(job, 1)[-1] == 20, 'rank 1 to run')
            self.assertEqual(job.state, NUMBERS['READY_FOR_DEBUG'])
            job.signal(signal.SIGCONT)
        self.check_debug_stop(['sh', '-c', 'echo gone on'], 'stop-on-exec', ['RUNNING'], release)

    def test_L9_ready_for_debug_in_init(self):
        """In PMIx_Init, of a PMIx client and of an MPI program that knows nothing of it, and in MPI_Init of MPICH."""
        programs = [[PMIX_CLIENT, 'data'], [os.environ['DVM_TEST_RING']]]
        if 'DVM_TEST_MPICH_WORLD' in os.environ:
            programs.append([os.environ['DVM_TEST_MPICH_WORLD']])
        for argv in programs:
            self.check_debug_stop(argv, 'stop-in-init', ['RUNNING', 'REGISTERED'])

    def test_L9_ready_for_debug_in_app(self):
        """Where the program itself says."""
        self.check_debug_stop([PMIX_CLIENT, 'stop'], 'stop-in-app', ['RUNNING', 'REGISTERED'])

    def test_L9_debug_stop_that_ends(self):
        """Cancel, the time limit and the end of the DVM take those that wait as well, wherever they do."""
        dvm = self.dvm(slots=6, settings=['kill-grace=20'])
        jobs = [dvm.submit(argv, np=1, runtime_options=option, timeout=timeout)
                for argv, option in ((['sleep', '600'], 'stop-on-exec'), ([PMIX_CLIENT, 'data'], 'stop-in-init'))
                for timeout in (0, 2, 600)]
        for number, job in enumerate(jobs):
            if number % 3 != 1:
                job.wait_state(NUMBERS['READY_FOR_DEBUG'])
        for job in (jobs[0], jobs[3]):
            job.cancel()
        for job in jobs[:2] + jobs[3:5]:
            self.assertEqual(job.wait()['state'], dvmtest.KILLED_BY_CMD)
        self.assertEqual(dvm.stop(), 0)
        dvm.check_clean()

    def test_L9_debug_stop_that_is_none(self):
        """Let go on before it waits: it does not wait. One that never would runs, but is not called RUNNING before."""
        dvm = self.dvm(slots=2)
        job = dvm.submit(['sleep', '600'], np=2, runtime_options='stop-in-init')
        job.wait_state(NUMBERS['LOCAL_LAUNCH_COMPLETE'])
        job.call('Continue', '(a{sv})', {})
        job.wait_state(NUMBERS['RUNNING'])
        job.signal(signal.SIGSTOP)
        for pid in job.pids():
            wait_until(lambda pid=pid: stat_state(pid) == 'T', 'it to be stopped')
        job.call('Continue', '(a{sv})', {})
        for pid in job.pids():
            wait_until(lambda pid=pid: stat_state(pid) == 'S', 'it to go on')
        job.cancel()
        job.wait()

    def test_L10_submitter_hears(self):
        """Whoever submitted is told of the start and of the end, without having asked for anything else."""
        dvm = self.dvm(slots=1)
        heard = []
        dvm.connection.raw.signal_subscribe(None, 'org.dvm.Job', 'StateChanged', None, None, 0,
                                            lambda *args: heard.append((args[2], args[5].unpack()[1])))
        job = dvm.submit(['true'])
        wait_until(lambda: (job.path, NUMBERS['NOTIFIED']) in heard, 'the end to be told')
        states = [state for path, state in heard if path == job.path]
        self.assertEqual(states.count(NUMBERS['STARTED']), 1)
        self.assertEqual(states[-1], NUMBERS['NOTIFIED'])

    def test_L11_either_order(self):
        """TERMINATED comes once, after output and exit status, whichever was first."""
        dvm = self.dvm(slots=1)
        exit_first = dvm.run(['true'])  # as they come
        self.assertIn(rank_states(exit_first.job, 0), ([4, 6, 20], [4, 7, 20]))
        output_first = dvm.run(['sh', '-c', 'exec >&- 2>&-; read line; exit 0'], stdin=b'')
        self.assertEqual(rank_states(output_first.job, 0)[-1], 20)
        held = dvm.submit(['sh', '-c', 'exec >&- 2>&- </dev/null; exec sleep 1000'], np=1)
        wait_until(lambda: rank_states(held, 0)[-1:] == [6], 'the output to be closed')
        held.signal(signal.SIGKILL)
        held.wait()
        self.assertEqual(rank_states(held, 0), [4, 6, 54])

    def test_L12_the_end_of_a_dvm(self):
        for force, state in ((False, 'DAEMONS_TERMINATED'), (True, 'FORCED_EXIT')):
            dvm = self.dvm(slots=1, env={'G_MESSAGES_DEBUG': 'dvmd-state'})
            self.assertEqual(dvm.run(['true']).job.job_trace()[-3:],
                             numbers(['TERMINATED', 'NOTIFY_COMPLETED', 'NOTIFIED']))
            dvm.call('Shutdown', '(a{sv})', {'force': GLib.Variant('b', force)})
            self.assertEqual(dvm.wait_exit(), 0)
            self.assertIn(f'-> {state}', dvm.log())

    def test_L12_one_shot(self):
        """A DVM for one job ends by itself, at ALL_JOBS_COMPLETE."""
        log = subprocess.run([os.environ['DVM_CLI'], 'run', '-n', '2', 'true'], timeout=dvmtest.LIMIT,
                             env=dict(os.environ, XDG_RUNTIME_DIR=self.place(), G_MESSAGES_DEBUG='dvmd-state'),
                             stderr=subprocess.PIPE, check=True).stderr.decode()
        self.assertIn('-> ALL_JOBS_COMPLETE', log)

    def test_L13_a_failed_job_ends_alone(self):
        dvm = self.dvm(slots=4)
        other = dvm.submit(['sleep', '1000'], np=1)
        other.wait_running()
        done = dvm.run(['sh', '-c', 'test $DVM_RANK = 1 && exit 7; exec sleep 1000'], np=3)
        self.assertEqual((done.state, done.code, done.result['failed-rank']), (dvmtest.NON_ZERO_TERM, 7, 1))
        self.assertIn('Rank 1', done.reason)
        self.assertEqual(other.state, dvmtest.RUNNING)
        self.assertEqual(dvm.get('StateName'), 'VM_READY')
        self.assertEqual(len(dvm.job_processes()), 1)
        other.cancel()
        other.wait()

    def kill_agent(self, dvm, name):
        """Its agent dies, and the controller has seen it."""
        row = next(row for row in dvm.get_nodes() if row['Name'] == name)
        os.kill(row['Pid'], signal.SIGKILL)
        wait_until(lambda: [r['StateName'] for r in dvm.get_nodes() if r['Name'] == name] == ['DOWN'], f'{name} is down')

    def test_L13_lost_nodes(self):
        """A node that is lost ends the jobs that it had, by name, and nothing else; without any the DVM lives on."""
        dvm = self.dvm(slots=1, settings=['nodes=3', 'kill-grace=0.5'])
        other, job = (dvm.submit(['sleep', '1000'], np=np) for np in (1, 2))
        for one in (other, job):
            one.wait_running()
        self.kill_agent(dvm, 'node3')
        result = job.wait()
        self.assertEqual(result['state'], 56, result)
        self.assertRegex(result['reason'], '^node3 was lost: ')
        self.assertEqual(rank_states(job, 1)[-1], 56)
        self.assertEqual((other.state, dvm.get('StateName')), (dvmtest.RUNNING, 'VM_READY'))
        for name in ('node2', 'node1'):
            self.kill_agent(dvm, name)
        self.assertEqual(other.wait()['state'], 56)
        self.assertEqual((dvm.get('StateName'), dvm.get('NodeCount'), dvm.get('SlotCount')), ('VM_READY', 0, 0))
        self.assertEqual(dvm.run(['true']).state, 69)

    def test_L14_files_on_a_lost_node(self):
        """That is not the failure of its files: it goes on to the launch gate, and fails there with the node's name."""
        dvm = self.dvm(slots=1, settings=['nodes=2', 'kill-grace=0.5'])
        large = os.path.join(self.place(), 'large')
        with open(large, 'wb') as file:
            file.truncate(4 << 30)
        job = dvm.submit(['true'], np=2, preload_files=[large])
        job.wait_state(NUMBERS['SYSTEM_PREP'])
        self.kill_agent(dvm, 'node2')
        result = job.wait()
        self.assertEqual(result['state'], 63, result)
        self.assertIn('node2', result['reason'])
        self.assertEqual(job.job_trace()[-3:], numbers(['SYSTEM_PREP', 'LAUNCH_APPS']) + [63])
        self.assertEqual(dvm.get('SlotsInUse'), 0)

    def test_L14_files_after_map(self):
        """Files are on the nodes of the job when its processes start, and they are brought there after MAP."""
        dvm = self.dvm(slots=2)
        place = self.place()
        with open(os.path.join(place, 'data'), 'w') as file:
            file.write('content')
        with open(os.path.join(place, 'program'), 'w') as file:
            file.write('#!/bin/sh\ncat data\n')
        os.chmod(os.path.join(place, 'program'), 0o755)
        done = dvm.run(['./program'], np=2, cwd=place, preload_binary=True, preload_files=['data'])
        self.assert_success(done)
        self.assertEqual(done.out, b'contentcontent')
        at = done.job.job_trace().index(NUMBERS['MAP'])
        self.assertEqual(done.job.job_trace()[at:at + 4], numbers(['MAP', 'MAP_COMPLETE', 'SYSTEM_PREP', 'LAUNCH_APPS']))
        # Not for a job that is only to be mapped.
        done = dvm.run(['true'], runtime_options='donotlaunch', preload_files=['/no/such/file'])
        self.assertEqual(done.state, NUMBERS['NOTIFIED'])

    def test_L14_failure(self):
        """What cannot be staged is FILES_POSN_FAILED; the slots come back, the DVM goes on, and `run` says 125."""
        dvm = self.dvm(slots=2)
        done = dvm.run(['true'], np=2, preload_files=['/no/such/file'])
        self.assertEqual((done.job.get('State'), done.job.get('StateName')), (71, 'FILES_POSN_FAILED'))
        self.assertEqual(done.job.job_trace()[-3:], numbers(['MAP_COMPLETE', 'SYSTEM_PREP']) + [71])
        self.assertIn('/no/such/file', done.job.get('Reason'))
        self.assertIn(dvm.get_nodes()[0]['Name'], done.job.get('Reason'))
        self.assertEqual(dvm.get('SlotsInUse'), 0)
        self.assert_success(dvm.run(['true'], np=2))
        ran = subprocess.run([os.environ['DVM_CLI'], '--socket', dvm.socket, 'run', '-n', '1', '--preload-files',
                              '/no/such/file', 'true'], timeout=dvmtest.LIMIT, stderr=subprocess.PIPE)
        self.assertEqual(ran.returncode, 125)
        self.assertIn(b'/no/such/file', ran.stderr)

    def test_L15_slots(self):
        dvm = self.dvm(slots=4)
        job = dvm.submit(['sleep', '1000'], np=3)
        job.wait_running()
        self.assertEqual((dvm.get('SlotsInUse'), dvm.get_nodes()[1]['SlotsInUse']), (3, 3))
        job.cancel()
        job.wait()
        self.assertEqual((dvm.get('SlotsInUse'), dvm.get_nodes()[1]['SlotsInUse']), (0, 0))

    def test_L15_slots_of_a_lost_node(self):
        """Those of a job that goes on without it are given back at once, the others at its end."""
        dvm = self.dvm(slots=2, settings=['nodes=2', 'kill-grace=0.5'])
        job = dvm.submit(['sleep', '1000'], np=4, recoverable=True)
        job.wait_running()
        self.assertEqual((dvm.get('SlotsInUse'), dvm.get('SlotCount')), (4, 4))
        self.kill_agent(dvm, 'node2')
        self.assertEqual((dvm.get('SlotsInUse'), dvm.get('SlotCount')), (2, 2))
        self.assertEqual([row['SlotsInUse'] for row in dvm.get_nodes()], [0, 2, 0])
        job.cancel()
        job.wait()
        self.assertEqual(dvm.get('SlotsInUse'), 0)


dvmtest.main()
