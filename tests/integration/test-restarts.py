# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes that have failed are started again, as often as max-restarts says."""

import os
import re
import signal

import dvmtest
import leftovers
from dvmtest import ABORTED_BY_SIG, CALLED_ABORT, FAILED_TO_START, KILLED_BY_CMD, NON_ZERO_TERM, NOTIFIED, wait_until

CLIENT = os.environ['DVM_TEST_PMIX_CLIENT']
EVENTS = os.environ.get('DVM_TEST_PMIX_EVENTS', '')
RESTART = 2
COMM_FAILED = 56


class Restarts(dvmtest.Case):
    def run_failing(self, dvm, script, personality='plain', **options):
        return dvm.run(['sh', '-c', script], personality=personality, **options)

    def test_until_it_ends_well(self):
        """Each process has the number for itself, and is what it was: rank, cpus, directory, streams."""
        dvm = self.dvm(slots=4, settings=['nodes=2'])
        script = ('echo $DVM_RANK $DVM_RESTART $DVM_NODE $(grep Cpus_allowed_list /proc/self/status) $PWD; printf half$DVM_RANK; '
                  'test $DVM_RESTART = 2 || kill -9 $$')
        for personality in ('plain', 'pmix'):
            done = self.run_failing(dvm, script, personality, np=3, map_by='node', max_restarts=2, output='tag', cwd='/tmp')
            self.assertEqual((done.state, done.code), (NOTIFIED, 0), done)
            self.assertEqual((done.job.get('Restarts'), done.job.get('NumLaunched'), done.job.get('NumTerminated')), (6, 3, 3))
            for rank in range(3):
                lines = [line.split('stdout>:')[1].strip() for line in done.lines if f',{rank}]' in line]
                self.assertEqual([line for line in lines if line.startswith('half')], [f'half{rank}'] * 3, lines)
                lines = [line.split() for line in lines if not line.startswith('half')]
                self.assertEqual([(line[0], line[1]) for line in lines], [(str(rank), str(n)) for n in range(3)])
                self.assertEqual(len({tuple(line[2:]) for line in lines}), 1, lines)
                states = [row[3] for row in done.job.trace() if row[1] == f'rank {rank}']
                self.assertEqual(states.count(RESTART), 2, states)
            self.assertIn('started again', dvm.log())

    def test_used_up(self):
        """Then the job ends as it would have at once."""
        dvm = self.dvm(slots=2)
        for how, state, code, number in (('exit 7', NON_ZERO_TERM, 7, 0), ('kill -11 $$', ABORTED_BY_SIG, 0, 11)):
            done = self.run_failing(dvm, f'echo $DVM_RESTART; {how}', runtime_options='max-restarts=2')
            self.assertEqual((done.state, done.code, done.signal), (state, code, number), done)
            self.assertEqual((done.lines, done.job.get('Restarts')), (['0', '1', '2'], 2))

    def test_recoverable(self):
        done = self.run_failing(self.dvm(slots=4), 'test $DVM_RANK = 1 || { echo $DVM_RESTART; exit 3; }', np=2, max_restarts=1,
                         recoverable=True)
        self.assertEqual((done.state, done.lines), (NOTIFIED, ['0', '1']), done)

    def test_what_is_no_failure(self):
        dvm = self.dvm(slots=2)
        done = self.run_failing(dvm, 'echo $DVM_RESTART; exit 3', max_restarts=5, runtime_options='error-nonzero-status=no')
        self.assertEqual((done.state, done.lines, done.job.get('Restarts')), (NOTIFIED, ['0'], 0), done)
        done = self.run_failing(dvm, 'echo ${DVM_RESTART-unset}')
        self.assertEqual(done.lines, ['unset'])

    def test_standard_input(self):
        """What a process has read is gone with it, and the next one does not go on in the middle."""
        for options in ({}, {'pty': True}):
            dvm = self.dvm(slots=2)
            path = os.path.join(dvm.place, 'read')
            # Linux drops what a terminal still holds when its session leader ends: the first process stays until its words have come.
            script = f'read line; echo "got $line"; test $DVM_RESTART = 1 && exit; until test -e {path}; do sleep 0.01; done; exit 1'
            # More than the first process, and what is before it, can hold.
            job, out, err = dvm.start(['sh', '-c', script], stdin=b'a\nb\n' * 500000, np=1, personality='plain', max_restarts=1, **options)
            wait_until(lambda: b'got a' in out.data, 'the words of the first process')
            open(path, 'w').close()
            result = job.wait()
            text = out.finish().decode()
            err.finish()
            # The echo of a terminal may stand before them on their line.
            self.assertEqual((result['state'], re.findall(r'got (\w*)', text)), (NOTIFIED, ['a', '']), (result, text))

    def test_standard_input_of_all(self):
        """One that comes back does not hold up the input of the others."""
        done = self.run_failing(self.dvm(slots=2), 'test $DVM_RANK = 1 && exec wc -c; test $DVM_RESTART = 3', np=2, stdin_target='all',
                         stdin=b'x' * 1000000, max_restarts=3)
        self.assertEqual((done.state, done.lines), (NOTIFIED, ['1000000']), done)

    def test_continuous(self):
        """As often as it takes, or as another number says."""
        dvm = self.dvm(slots=2)
        for limit, state, restarts in ((0, NOTIFIED, 3), (2, NON_ZERO_TERM, 2)):
            done = self.run_failing(dvm, 'test $DVM_RESTART = 3', runtime_options='continuous', max_restarts=limit)
            self.assertEqual((done.state, done.job.get('Restarts')), (state, restarts), done)

    def test_program_that_is_missing(self):
        dvm = self.dvm(slots=2)
        done = dvm.run(['/nowhere/program'], max_restarts=5)
        self.assertEqual((done.state, done.job.get('Restarts')), (FAILED_TO_START, 0), done)
        path = os.path.join(dvm.place, 'program')
        with open(path, 'w') as program:
            program.write('#!/bin/sh\nrm "$0"\nexit 1\n')
        os.chmod(path, 0o755)
        done = dvm.run([path], max_restarts=5)
        self.assertEqual((done.state, done.job.get('Restarts'), done.result['failed-rank']), (FAILED_TO_START, 0, 0), done)
        self.assertIn('program', done.reason)
        self.assert_no_processes(dvm)

    def test_what_it_left(self):
        """The processes of its group are ended before it comes again, also when they hold its output open."""
        dvm = self.dvm(slots=2, settings=['kill-grace=0.2'])
        path = os.path.join(dvm.place, 'left')
        script = (f'if test $DVM_RESTART = 0; then trap "" TERM; sleep 1000 & echo $! >{path}; exit 1; fi; '
                  f'kill -0 $(cat {path}) 2>/dev/null && echo alive || echo gone')
        done = self.run_failing(dvm, script, max_restarts=1)
        self.assertEqual((done.state, done.lines), (NOTIFIED, ['gone']), done)

    def test_what_it_left_without_output(self):
        """The next process has its place for itself, whoever holds the output."""
        dvm = self.dvm(slots=2, settings=['kill-grace=1'])
        path = os.path.join(dvm.place, 'left')
        script = (f'if test $DVM_RESTART = 0; then trap "" TERM; sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >{path}; exit 1; fi; '
                  f'kill -0 $(cat {path}) 2>/dev/null && echo alive || echo gone')
        done = self.run_failing(dvm, script, max_restarts=1)
        self.assertEqual((done.state, done.lines), (NOTIFIED, ['gone']), done)

    def test_paused(self):
        """A process of a job that is paused comes back, and is paused."""
        dvm = self.dvm(slots=2)
        path = os.path.join(dvm.place, 'first')
        # Without exec the shell may be stopped in its vfork(), where it counts as waiting and not as stopped.
        script = f'test $DVM_RESTART = 1 && echo went on && exit 0; echo $$ >{path}.new; mv {path}.new {path}; exec sleep 1000'
        job = dvm.submit(['sh', '-c', script], np=1, personality='plain', max_restarts=1)
        wait_until(lambda: os.path.exists(path), 'the process')
        job.signal(signal.SIGSTOP)
        with open(path) as file:
            pid = int(file.read())
        wait_until(lambda: leftovers.get_state(pid) == 'T', 'the process to stop')
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: job.get('Restarts') == 1, 'the next one')
        wait_until(lambda: leftovers.get_state(job.procs()[0][5]) == 'T', 'the next one to stop')
        job.signal(signal.SIGCONT)
        self.assertEqual(job.wait()['state'], NOTIFIED)

    def test_cancelled(self):
        """In a pause as while it runs, and by its time limit."""
        dvm = self.dvm(slots=4, settings=['kill-grace=0.2'])
        for script in ('exit 1', 'test $DVM_RESTART -ge 2 && exec sleep 1000; exit 1'):
            job = dvm.submit(['sh', '-c', script], np=2, max_restarts=1000)
            wait_until(lambda: job.get('Restarts') >= 4, 'four restarts')
            job.cancel()
            self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
            self.assert_no_processes(dvm)
        done = self.run_failing(dvm, 'exit 1', np=2, max_restarts=1000, timeout=1)
        self.assertEqual(done.state, KILLED_BY_CMD, done)
        self.assertEqual(dvm.get('SlotsInUse'), 0)

    def test_others_fail(self):
        """One whose restarts are used up takes along those that wait in a pause."""
        dvm = self.dvm(slots=4, settings=['kill-grace=0.2'])
        done = self.run_failing(dvm, 'test $DVM_RANK = 0 && exec sleep 1000; exit $DVM_RANK', np=3, max_restarts=1)
        self.assertEqual(done.state, NON_ZERO_TERM, done)
        self.assertIn(done.code, (1, 2))
        self.assert_no_processes(dvm)

    def test_signal_in_a_pause(self):
        """It is kept for the process that comes."""
        dvm = self.dvm(slots=2)
        path = os.path.join(dvm.place, 'go')
        job = dvm.submit(['sh', '-c', f'test -e {path} && exec sleep 1000; exit 1'], np=1, max_restarts=1000, personality='plain')
        wait_until(lambda: job.get('Restarts') >= 3 and job.procs()[0][6] == RESTART, 'a pause')
        with open(path, 'w'):
            pass
        job.signal(signal.SIGUSR1)
        wait_until(lambda: any('signal 10' in row[4] for row in job.trace()), 'the end by the signal')
        job.pids()
        job.signal(signal.SIGUSR2)
        wait_until(lambda: any('signal 12' in row[4] for row in job.trace()), 'the end by another one')
        self.assertEqual(len([row for row in job.trace() if 'signal 10' in row[4]]), 1)
        job.cancel()
        job.wait()

    def test_refused(self):
        dvm = self.dvm(slots=2)
        for words, options in ((['max-restarts', 'stop-on-exec'], {'max_restarts': 1, 'runtime_options': 'stop-on-exec'}),
                               (['2', '3'], {'max_restarts': 2, 'runtime_options': 'max-restarts=3'}),
                               (['-1', '4294967295'], {'runtime_options': 'max-restarts=-1'}),
                               (['4294967295'], {'runtime_options': 'max-restarts'}),
                               (['autorestart'], {'runtime_options': 'autorestart'}),
                               (['autorestart'], {'runtime_options': 'autorestart=no,max-restarts=1'}),
                               (['max-restarts'], {'max_restarts': 'often'})):
            self.assert_refused('BadParam', words, lambda: dvm.submit(['true'], **options))


class Moves(dvmtest.Case):
    """A rank whose node is lost starts again on another one."""
    SETTINGS = ('slots=2', 'heal=false', 'heartbeat-timeout=1', 'controller-grace=0.5', 'kill-grace=0.2',
                'plugin-settings=launcher-local.grace=1')

    def start(self, nodes, *settings):
        return self.dvm(settings=[f'nodes={nodes}', *self.SETTINGS, *settings])

    def kill_agent(self, dvm, name):
        row = next(row for row in dvm.get_nodes() if row['Name'] == name and row['StateName'] == 'UP' and row['Rank'] > 0)
        os.kill(row['Pid'], signal.SIGKILL)
        return row['Rank']

    def submit_waiting(self, dvm, restarts=1, **options):
        """Says where it is and what number it has, and in its last incarnation it ends."""
        script = f'echo rank $DVM_RANK $DVM_RESTART $DVM_NODE; printf half; test $DVM_RESTART = {restarts} || exec sleep 1000; wc -c'
        return dvm.start(['sh', '-c', script], personality='plain', max_restarts=restarts, **options)

    def fill(self, dvm, node):
        dvm.submit(['sleep', '1000'], np=2, hosts=[node], personality='plain').wait_running()

    def node_of(self, job, rank):
        return job.procs()[rank][2]

    def test_moves(self):
        """Its output goes on where it was, its input is empty, and what the bus shows follows."""
        dvm = self.start(3)
        job, out, err = self.submit_waiting(dvm, stdin=b'words\n' * 100000, np=1, output='tag')
        wait_until(lambda: dvm.get('Statistics')['output-bytes'] == len('rank 0 0 node1\nhalf'), 'the first one')
        first = job.procs()[0][5]
        self.kill_agent(dvm, 'node1')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        lines = [line.split('stdout>:')[1].strip() for line in out.finish().decode().splitlines()]
        self.assertEqual(lines, ['rank 0 0 node1', 'half', 'rank 0 1 node2', 'half0'])
        err.finish()
        self.assertFalse(os.path.exists(f'/proc/{first}'))
        self.assertEqual((job.get('Restarts'), job.get('Nodes'), self.node_of(job, 0)), (1, ['node2'], 'node2'))
        self.assertIn('it is started again on node2: node1 was lost', dvm.log())
        self.assertEqual(dvm.get('SlotsInUse'), 0)
        self.assert_no_processes(dvm)

    def test_no_node(self):
        """Where no node is without the job, and none comes, it fails as without restarts."""
        dvm = self.start(2)
        job, out, err = self.submit_waiting(dvm, np=4)
        wait_until(lambda: out.data.count(b'half') == 4, 'all ranks')
        self.kill_agent(dvm, 'node1')
        self.assertEqual(job.wait()['state'], COMM_FAILED)
        self.assertIn('node1 was lost', job.get('Reason'))
        out.finish()
        err.finish()
        self.assert_no_processes(dvm)

    def test_two_nodes(self):
        """Two are lost at once: each rank is started once more, and those of the third node have not noticed."""
        dvm = self.start(5)
        job, out, err = self.submit_waiting(dvm, np=6)
        wait_until(lambda: out.data.count(b'half') == 6, 'all ranks')
        pids = [row[5] for row in job.procs()]
        for name in ('node1', 'node2'):
            self.kill_agent(dvm, name)
        wait_until(lambda: job.get('Restarts') == 4 and job.get('NumTerminated') == 4, 'the new ones')
        self.assertEqual([row[5] for row in job.procs()[4:]], pids[4:])
        self.assertEqual({row[2] for row in job.procs()[:4]}, {'node4', 'node5'})
        job.cancel()
        job.wait()
        text = out.finish().decode()
        err.finish()
        self.assertEqual([text.count(f'rank {rank} 1 ') for rank in range(6)], [1] * 4 + [0] * 2, text)
        self.assert_no_processes(dvm)

    def test_signals(self):
        dvm = self.start(2)
        script = 'trap "echo heard $DVM_RESTART; exit 0" USR1; echo at $DVM_RESTART; while :; do sleep 0.05; done'
        job, out, err = dvm.start(['sh', '-c', script], np=2, map_by='slot', personality='plain', max_restarts=1)
        wait_until(lambda: out.data.count(b'at 0') == 2, 'both ranks')
        self.kill_agent(dvm, 'node1')
        wait_until(lambda: out.data.count(b'at 1') == 2, 'both ranks elsewhere')
        self.assertEqual({row[2] for row in job.procs()}, {'node2'})
        job.signal(signal.SIGUSR1)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(out.finish().count(b'heard 1'), 2)
        err.finish()

    def test_healed(self):
        """Where nothing else has room it goes to the same host, when that is back."""
        dvm = self.start(2, 'heal=true')
        self.fill(dvm, 'node2')
        job, out, err = self.submit_waiting(dvm, np=1)
        wait_until(lambda: b'half' in out.data, 'the first one')
        rank = self.kill_agent(dvm, 'node1')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertIn('rank 0 1 node1', out.finish().decode())
        err.finish()
        row = next(row for row in dvm.get_nodes() if row['Name'] == 'node1')
        self.assertGreater(row['Rank'], rank)
        self.assertEqual(job.get('Nodes'), ['node1'])

    def test_again(self):
        """The node that it has come to is lost, too: its number counts on."""
        dvm = self.start(3)
        job, out, err = self.submit_waiting(dvm, restarts=2, np=1)
        for number in range(2):
            wait_until(lambda: f'rank 0 {number} node{number + 1}' in out.data.decode(), 'the rank')
            self.kill_agent(dvm, f'node{number + 1}')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertIn('rank 0 2 node3', out.finish().decode())
        err.finish()
        self.assertEqual((job.get('Restarts'), job.get('Nodes')), (2, ['node3']))

    def test_agent_that_stands_still(self):
        """Its ranks run on, and are ended before they start elsewhere."""
        dvm = self.start(2)
        job, out, err = self.submit_waiting(dvm, np=1)
        wait_until(lambda: b'half' in out.data, 'the first one')
        first = job.procs()[0][5]
        agent = next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node1' and row['Rank'] > 0)
        os.kill(agent, signal.SIGSTOP)
        try:
            wait_until(lambda: b'rank 0 1 node2' in out.data, 'the next one')
            self.assertFalse(os.path.exists(f'/proc/{first}/exe'))
        finally:
            if os.path.exists(f'/proc/{agent}'):
                os.kill(agent, signal.SIGCONT)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        out.finish()
        err.finish()

    def test_input_of_others(self):
        """A rank that waits for a node holds up nothing that the others read."""
        dvm = self.start(3)
        self.fill(dvm, 'node3')
        script = 'echo at $DVM_RANK; test $DVM_RANK = 0 && exec sleep 1000; echo $(wc -c)'
        job, out, err = dvm.start(['sh', '-c', script], stdin=b'x' * 10000000, stdin_target='all', np=2, map_by='node',
                                  personality='plain', max_restarts=1)
        wait_until(lambda: out.data.count(b'at ') == 2, 'both ranks')
        self.kill_agent(dvm, 'node1')
        wait_until(lambda: b'10000000' in out.data, 'all of the input')
        self.assertEqual(job.procs()[0][6], RESTART)
        job.cancel()
        job.wait()
        out.finish()
        err.finish()

    def test_grown(self):
        """A node that comes has room for it."""
        dvm = self.dvm(settings=self.SETTINGS, arguments=['--nodes=2', '--elastic'])
        self.fill(dvm, 'node2')
        job, out, err = self.submit_waiting(dvm, np=1)
        wait_until(lambda: b'half' in out.data, 'the first one')
        self.kill_agent(dvm, 'node1')
        wait_until(lambda: job.procs()[0][6] == RESTART, 'the loss')
        dvm.call('Grow', '(a{sv})', dvmtest.to_options({'hosts': ['node3']}))
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertIn('rank 0 1 node3', out.finish().decode())
        err.finish()

    def test_reserved(self):
        """It stays where its job may be, and what it has taken there is free again."""
        dvm = self.dvm(settings=self.SETTINGS, arguments=['--nodes=3', '--elastic'])
        answer = dvm.call('ControlSession', '(ua{sv})', 0, dvmtest.to_options({'instantiate': True, 'hosts': ['node1', 'node2']}))
        number = int(answer[0]['session'].rpartition('/')[2])
        job, out, err = self.submit_waiting(dvm, restarts=2, np=1, session=number)
        for count in range(2):
            wait_until(lambda: f'rank 0 {count} node{count + 1}' in out.data.decode(), 'the rank')
            self.assertEqual(dvm.get('SlotsInUse'), 1)
            self.kill_agent(dvm, f'node{count + 1}')
        self.assertEqual(job.wait()['state'], COMM_FAILED)
        out.finish()
        err.finish()
        self.assertEqual(dvm.get('SlotsInUse'), 0)

    def test_time_limit(self):
        """It goes on while a rank waits; so does the end of the DVM, which leaves nothing."""
        dvm = self.start(2)
        self.fill(dvm, 'node2')
        job, out, err = self.submit_waiting(dvm, np=1, timeout=5)
        late, *readers = self.submit_waiting(dvm, np=1)
        wait_until(lambda: b'half' in out.data and b'half' in readers[0].data, 'the first ones')
        self.kill_agent(dvm, 'node1')
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assertIn('time', job.get('Reason'))
        self.assertEqual(late.procs()[0][6], RESTART)
        self.finish(dvm)
        for reader in (out, err, *readers):
            reader.finish()

    def test_stays(self):
        """Jobs that cannot move end as without restarts, and the log says why."""
        for why, options in (('with --personality plain', {}), ('they are bound', {'personality': 'plain', 'bind_to': 'core'})):
            dvm = self.start(2)
            job = dvm.submit(['sleep', '1000'], np=1, max_restarts=5, **options)
            job.wait_running()
            self.kill_agent(dvm, 'node1')
            self.assertEqual(job.wait()['state'], COMM_FAILED)
            self.assertIn('its processes on node1 are not started again elsewhere: ', dvm.log())
            self.assertIn(why, dvm.log())

    def test_cancelled(self):
        """While it looks for a node."""
        dvm = self.start(2)
        job, out, err = self.submit_waiting(dvm, np=1)
        wait_until(lambda: b'half' in out.data, 'the first one')
        self.kill_agent(dvm, 'node1')
        wait_until(lambda: job.procs()[0][6] == RESTART, 'the loss')
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        out.finish()
        err.finish()
        self.assert_no_processes(dvm)


class Pmix(dvmtest.Case):
    def test_before_the_library(self):
        """A process that fails before PMIx_Init comes to it later, and the others have waited for it."""
        dvm = self.dvm(slots=4, settings=['nodes=2'])
        script = 'test $DVM_RANK = 1 && test $DVM_RESTART -lt 2 && exit 1; exec "$0" data'
        done = dvm.run(['sh', '-c', script, CLIENT], np=4, map_by='node', max_restarts=2)
        self.assert_success(done)
        self.assertEqual(done.job.get('Restarts'), 2)

    def test_after_the_library(self):
        """One that has called PMIx_Init is not started again, and that is said."""
        dvm = self.dvm(slots=4)
        done = dvm.run([CLIENT, 'die'], np=4, max_restarts=3)
        self.assertEqual((done.job.get('Failed'), done.job.get('Restarts')), (True, 0), done)
        wait_until(lambda: 'has called PMIx_Init' in dvm.log(), 'the reason')

    def test_alone(self):
        """One that is alone in its job is started again, also where it has called PMIx_Init, and comes to it as the first one did."""
        for private in (False, True):
            dvm = self.dvm(slots=4, settings=[] if private else ['nodes=1', 'elastic=true'])
            script = 'test $DVM_RESTART -lt 3 || exec "$0" on -3001 fence tell -3001 2 await -3001; exec "$0" fence die'
            done = dvm.run(['sh', '-c', script, EVENTS], np=1, max_restarts=3)
            self.assertEqual((done.state, sorted(done.lines), done.job.get('Restarts')), (NOTIFIED, ['0: -3001 from 0', '0: tell -3001 SUCCESS'], 3), done)

    def comes_back(self, hosts, nodes, np=4):
        """Rank 1 dies twice: the others are told each time, fail in what they have begun with it, and meet it in the next fence."""
        dvm = self.dvm(settings=[f'nodes={nodes}', 'slots=4', 'kill-grace=0.5'])
        script = 'test $DVM_RANK = 1 || exec "$0" on -402,-4 fence await -402 await -4 fence await -402 2 await -4 2 fence fence;' \
                 'test $DVM_RESTART -lt 2 || exec "$0" fence fence; exec "$0" fence die'
        others = [rank for rank in range(np) if rank != 1]
        done = dvm.run(['sh', '-c', script, EVENTS], np=np, hosts=hosts, map_by='node', max_restarts=2, recoverable=True)
        self.assertEqual((done.state, done.job.get('Restarts')), (NOTIFIED, 2), done)
        told = [f'{rank}: {line} timed' for rank in others
                for line in ['-402 from UNDEF.-1 affected=1 exit=137'] * 2 + [f'-4 from UNDEF.-1 affected=1 again={number}' for number in (1, 2)]]
        self.assertEqual(sorted(done.lines), sorted(told))
        self.in_the_middle(dvm, hosts, others)
        self.used_up(dvm, hosts, others)

    def in_the_middle(self, dvm, hosts, others):
        """Those that wait in a fence for one that dies are told so, and meet the next process in one that they begin after that."""
        path = os.path.join(dvm.place, f'waiting{len(hosts)}')
        wait = ' '.join(f'file "$1".{rank}' for rank in others)
        script = f'test $DVM_RANK = 1 || exec "$0" fence meet "--$1" fence; test $DVM_RESTART = 1 && exec "$0" meet fence; exec "$0" fence {wait} die'
        done = dvm.run(['sh', '-c', script, EVENTS, path], np=len(others) + 1, hosts=hosts, map_by='node', max_restarts=1, recoverable=True)
        self.assertEqual((done.state, done.job.get('Restarts'), sorted(done.lines)), (NOTIFIED, 1, [f'{rank}: met later' for rank in others]), done)

    def used_up(self, dvm, hosts, others):
        """When it does not come any more the others are not kept: neither where it was a client nor where it had yet to become one."""
        for last in ('exec "$0" die', 'kill -9 $$', 'exit 3'):
            script = f'test $DVM_RANK = 1 || exec "$0" on -402,-4,-404 fence await -4 fence; test $DVM_RESTART = 1 && {{ {last}; }}; exec "$0" fence die'
            done = dvm.run(['sh', '-c', script, EVENTS], np=len(others) + 1, hosts=hosts, map_by='node', recoverable=True, **{'runtime-options': 'max-restarts=1,error-nonzero-status=no'})
            codes = {row[0]: row[7] for row in done.job.procs()}
            self.assertEqual(({codes[rank] for rank in others}, done.job.get('Restarts')), ({21}, 1), (last, done))

    def test_data(self):
        """What the next process puts is there for those that have not asked before, on its node and on another one."""
        dvm = self.dvm(settings=['nodes=2', 'slots=4'])
        asked, put, done = (os.path.join(dvm.place, name) for name in ('asked', 'put', 'done'))
        words = ['put k second touch PUT file DONE', 'get . 1 k touch ASKED file PUT get . 2 k', 'file PUT get . 1 k', 'file PUT get . 1 k touch DONE']
        texts = [text.replace('PUT', put).replace('ASKED', asked).replace('DONE', done) for text in words]
        script = f'test $DVM_RANK = 0 && exec "$0" {texts[1].replace("get . 2 k", "")}; test $DVM_RANK = 2 && exec "$0" {texts[2]}; test $DVM_RANK = 3 && exec "$0" {texts[3]};' \
                 f'test $DVM_RESTART = 0 || exec "$0" {texts[0]}; exec "$0" put k first file {asked} die'
        result = dvm.run(['sh', '-c', script, os.environ['DVM_TEST_PMIX_DATA']], np=4, hosts=['node1:3', 'node2:1'], max_restarts=1, recoverable=True)
        self.assertEqual((result.state, sorted(result.lines)), (NOTIFIED, ['get SUCCESS first', 'get SUCCESS second', 'get SUCCESS second']), result)

    def test_comes_back(self):
        self.comes_back(['node1:4'], 1)

    def test_open_fence(self):
        """One that has come to a fence before the failure does not go on with one that comes after it, without the process that is back."""
        dvm = self.dvm(settings=['nodes=2', 'slots=4'])
        path = os.path.join(dvm.place, 'waiting')
        script = 'case $DVM_RANK$DVM_RESTART in 00) exec "$0" fence meet "--$1" fence;; 10) exec "$0" fence file "$1".0 die;; 11) exec "$0" meet fence;;' \
                 '20) exec "$0" on -4 fence await -4 meet fence;; 30) exec "$0" fence meet fence;; esac'
        done = dvm.run(['sh', '-c', script, EVENTS, path], np=4, hosts=['node1:3', 'node2:1'], max_restarts=1, recoverable=True)
        self.assertEqual((done.state, sorted(done.lines)), (NOTIFIED, ['0: met later', '2: -4 from UNDEF.-1 affected=1 again=1 timed']), done)

    def test_comes_back_elsewhere(self):
        self.comes_back(['node1:2', 'node2:2'], 2)

    def test_comes_back_alone_there(self):
        self.comes_back(['node1:1', 'node2:1', 'node3:1'], 3, 3)

    def test_killed_while_others_connect(self):
        """One that is killed beside ranks that have connected may have been in PMIx_Init: its server does not bear another one."""
        dvm = self.dvm(slots=4)
        script = 'test $DVM_RANK = 1 || exec "$0" wait; while test ! -e "$1"; do sleep 0.02; done; kill -9 $$'
        path = os.path.join(dvm.place, 'go')
        job = dvm.submit(['sh', '-c', script, CLIENT, path], np=2, max_restarts=3)
        wait_until(lambda: job.get('NumRegistered') == 1, 'the other one')
        with open(path, 'w'):
            pass
        self.assertEqual((job.wait()['state'], job.get('Restarts')), (ABORTED_BY_SIG, 0))
        wait_until(lambda: 'may have been in PMIx_Init' in dvm.log(), 'the reason')

    def test_reincarnation(self):
        """Processes are told that they are the first ones unless that may change."""
        dvm = self.dvm(slots=4)
        words = [word for rank in '01' for word in ('get', '.', rank, 'pmix.reinc')]
        for options, wanted in (({}, ['get SUCCESS 0'] * 4), ({'max_restarts': 1}, ['get NOT-FOUND'] * 4)):
            done = dvm.run([os.environ['DVM_TEST_PMIX_DATA'], *words], np=2, **options)
            self.assertEqual((done.state, done.lines), (NOTIFIED, wanted), done)

    def test_fences(self):
        """Those of a job whose processes may come back do not go by the tree, which counts them."""
        dvm = self.dvm(slots=1, settings=['nodes=4', 'radix=2', 'kill-grace=0.5'])
        for options, counted in (({}, 1), ({'max_restarts': 1}, 0)):
            job = dvm.submit([CLIENT, 'wait'], np=4, **options)
            wait_until(lambda one=job: one.get('NumRegistered') == 4, 'its processes')
            self.assertEqual(dvm.get('Statistics')['tree-fence-jobs'], counted)
            job.cancel()
            job.wait()

    def test_abort(self):
        done = self.dvm(slots=4).run([CLIENT, 'abort'], np=2, max_restarts=3)
        self.assertEqual((done.state, done.job.get('Restarts')), (CALLED_ABORT, 0), done)


if __name__ == '__main__':
    dvmtest.main()
