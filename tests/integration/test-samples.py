#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The samples of introspection/ against a real dvmd: each does what it says, and says what is wrong."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import unittest

import dbusdaemon
import dvmtest
import leftovers
from dvmtest import wait_until

SAMPLES = os.environ['DVM_TEST_SAMPLES']
# The way of a plain job (spec/000); REGISTERED is passed by programs that call PMIx_Init.
WAY = ['UNDEF', 'INIT', 'INIT_COMPLETE', 'ALLOCATE', 'ALLOCATION_COMPLETE', 'LAUNCH_DAEMONS', 'DAEMONS_REPORTED',
       'VM_READY', 'MAP', 'MAP_COMPLETE', 'SYSTEM_PREP', 'LAUNCH_APPS', 'SEND_LAUNCH_MSG', 'STARTED',
       'LOCAL_LAUNCH_COMPLETE', 'RUNNING']


# Not by the first line of the file: the Python is the one that runs this test.
INTERPRETERS = {'.py': [sys.executable], '.js': ['gjs', '-m'], '.sh': ['sh']}

NEEDS = {'grow-and-shrink.js': ['gjs'], 'monitor.js': ['gjs'], 'reserve-and-run.js': ['gjs'], 'sweep.sh': ['jq'], 'with-busctl.sh': ['busctl'], 'with-gdbus.sh': ['gdbus']}


def sample(name, *arguments):
    """The words that run a sample."""
    for program in NEEDS.get(name, ()):
        if shutil.which(program) is None:
            raise unittest.SkipTest(f'{name} needs {program}, which is not installed')
    return [*INTERPRETERS[os.path.splitext(name)[1]], os.path.join(SAMPLES, name), *arguments]


def command(language):
    """The sample in this language; a program of the build for those that are compiled."""
    if language == 'python':
        return sample('submit-and-follow.py')
    program = os.environ.get(f'DVM_TEST_SAMPLE_{language.upper()}')
    if not program:
        raise unittest.SkipTest(f'the build has no sample in {language}: valac and vapigen make it')
    return [program]


class Follow(dvmtest.Case):
    language = 'python'

    def follow(self, *arguments):
        words = command(self.language)
        dvm = self.dvm(slots=4)
        environment = dict(os.environ, DVM_SOCKET=dvm.socket)
        done = subprocess.run([*words, *arguments], env=environment, capture_output=True, text=True, timeout=dvmtest.LIMIT, check=False)
        self.assertEqual(done.stderr, '')
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r'^submitted /org/dvm/jobs/[0-9]+$')
        steps = [line.split(':')[0].split(' -> ') for line in lines if ' -> ' in line]
        # Each step begins where the one before ended.
        self.assertEqual([step[0] for step in steps[1:]], [step[1] for step in steps[:-1]])
        return done.returncode, [steps[0][0]] + [step[1] for step in steps], lines[-1]

    def test_success(self):
        status, states, last = self.follow('-n', '2', 'true')
        self.assertEqual(status, 0)
        self.assertEqual(states, WAY + ['TERMINATED', 'NOTIFY_COMPLETED', 'NOTIFIED'])
        self.assertRegex(last, 'ended as NOTIFIED, exit status 0$')

    def test_exit_code(self):
        status, states, _ = self.follow('sh', '-c', 'exit 3')
        self.assertEqual((status, states[-1]), (3, 'NON_ZERO_TERM'))

    def test_signal(self):
        status, states, _ = self.follow('sh', '-c', 'kill -9 $$')
        self.assertEqual((status, states[-1]), (137, 'ABORTED_BY_SIG'))

    def test_no_such_program(self):
        status, states, _ = self.follow('no-such-program-at-all')
        self.assertEqual((status, states[-1]), (127, 'FAILED_TO_START'))


class FollowInC(Follow):
    language = 'c'


class FollowInVala(Follow):
    language = 'vala'


class Case(dvmtest.Case):
    """A DVM, and samples that are sent to its socket."""

    def setUp(self):
        super().setUp()
        self.buses = []

    def clear(self):
        super().clear()
        for bus in self.buses:
            bus.stop()

    def start_bus(self):
        """The address of a session bus of our own."""
        self.buses.append(dbusdaemon.MessageBus(self.place()))
        return self.buses[-1].address

    def environment(self, dvm):
        path = f'{os.path.dirname(os.environ["DVM_CLI"])}:{os.environ["PATH"]}'
        return dict(os.environ, DVM_SOCKET=dvm.socket, PATH=path, TERM='xterm', LC_ALL='C.UTF-8')

    def run_sample(self, dvm, *words, stdin='', cwd=None, env=None):
        return subprocess.run(sample(*words), env=env or self.environment(dvm), input=stdin, capture_output=True, text=True,
                              timeout=dvmtest.LIMIT, check=False, cwd=cwd)

    def start_sample(self, dvm, *words, **options):
        return subprocess.Popen(sample(*words), env=self.environment(dvm), stdin=subprocess.DEVNULL, **options)


class ManyJobs(Case):
    def test_results(self):
        dvm = self.dvm(slots=4)
        done = self.run_sample(dvm, 'many-jobs.py', 'true', stdin=''.join(f'{n}\n' for n in range(200)))
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        rows = [line.split('\t') for line in done.stdout.splitlines()]
        self.assertEqual(sorted((int(row[2]), row[0]) for row in rows), [(n, '0') for n in range(200)])

    def test_failure(self):
        done = self.run_sample(self.dvm(slots=2), 'many-jobs.py', '-j', '1', 'sh', '-c', 'exit $0', stdin='0\n3\n')
        self.assertEqual((done.returncode, done.stdout), (1, '0\tjob 1\t0\n3\tjob 2\t3\n'))
        self.assertIn('status 3', done.stderr)

    def test_interrupt(self):
        """Ctrl-C ends the program, and the program's end its jobs."""
        dvm = self.dvm(slots=1)
        lines = subprocess.Popen(['echo', '1000'], stdout=subprocess.PIPE)
        process = subprocess.Popen(sample('many-jobs.py', 'sleep'), env=self.environment(dvm), stdin=lines.stdout)
        lines.stdout.close()
        lines.wait()
        wait_until(lambda: dvm.get('JobsRunning') == 1, 'the job')
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(dvmtest.LIMIT), 130)
        wait_until(lambda: dvm.get('JobsRunning') == 0, 'the end of the job')


class ParameterSweep(Case):
    def test_result(self):
        done = self.run_sample(self.dvm(slots=4), 'parameter-sweep.py', '10', '2000')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertRegex(done.stdout.splitlines()[-1], r'^10 of 10 tasks: pi is about 3\.[01]')

    def test_wrong_arguments(self):
        done = self.run_sample(self.dvm(slots=1), 'parameter-sweep.py', 'many')
        self.assertEqual(done.returncode, 2)
        self.assertIn('TASKS', done.stderr)


class Monitor(Case):
    """The one in JavaScript: what it says in a pipe, what it draws on a terminal, and when it ends."""

    def start_monitor(self, dvm, **options):
        process = self.start_sample(dvm, 'monitor.js', **options)
        self.processes.append(process)
        return process

    def setUp(self):
        super().setUp()
        self.processes = []

    def clear(self):
        for process in self.processes:
            process.kill()
            process.wait()
        super().clear()

    def monitor_in_pipe(self, dvm):
        """(process, reader of its lines), when it has shown the nodes."""
        process = self.start_monitor(dvm, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out = dvmtest.Reader(os.dup(process.stdout.fileno()))
        process.stdout.close()
        wait_until(lambda: out.data.count(b'node ') == 2, 'the nodes')
        return process, out

    def test_once(self):
        dvm = self.dvm(slots=2)
        dvm.submit(['tail', '-f', '/dev/null', '\x1b[2J'], np=2).wait_running()
        done = self.run_sample(dvm, 'monitor.js', '--once')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[1], r'^node \S+: UP, 2 slots$')
        self.assertRegex(lines[3], r'^ +1  RUNNING +2/2  tail -f /dev/null \?\[2J$')

    def test_lines(self):
        dvm = self.dvm(slots=1)
        process, out = self.monitor_in_pipe(dvm)
        first = dvm.submit(['sleep', '1000'], np=1)
        wait_until(lambda: b'job 1 runs: sleep 1000\n' in out.data or b'job 1 is RUNNING' in out.data, 'the first job')
        second = dvm.submit(['sleep', '1001'], np=1)
        wait_until(lambda: b'job 2 is ' in out.data, 'the second job')
        first.cancel()
        wait_until(lambda: b'job 1 ended as KILLED_BY_CMD: sleep 1000\n' in out.data, 'the end of the first job')
        wait_until(lambda: b'job 2 runs: sleep 1001\n' in out.data, 'the second job to run')
        second.cancel()
        wait_until(lambda: b'job 2 ended' in out.data, 'the end of the second job')
        process.send_signal(signal.SIGINT)
        self.assertEqual((process.wait(dvmtest.LIMIT), process.stderr.read()), (0, b''))
        process.stderr.close()
        out.finish()

    def test_nodes_that_come_and_go(self):
        dvm = self.dvm(settings=['nodes=1', 'elastic=true'])
        process, out = self.monitor_in_pipe(dvm)
        hosts = dvmtest.to_options({'hosts': ['n9']})
        dvm.call('Grow', '(a{sv})', hosts)
        wait_until(lambda: b'node n9: ' in out.data, 'the node')
        wait_until(lambda: dvm.get('CampaignsRunning') == 0, 'the campaign to end')
        dvm.call('Shrink', '(a{sv})', hosts)
        wait_until(lambda: b'node n9 has left\n' in out.data, 'the node to leave')
        process.send_signal(signal.SIGINT)
        self.assertEqual((process.wait(dvmtest.LIMIT), process.stderr.read()), (0, b''))
        process.stderr.close()
        out.finish()

    def test_dvm_that_goes(self):
        dvm = self.dvm(slots=1)
        process, out = self.monitor_in_pipe(dvm)
        self.assertEqual(dvm.stop(), 0)
        self.assertEqual((process.wait(dvmtest.LIMIT), process.stderr.read()), (0, b'monitor.js: the DVM has ended\n'))
        process.stderr.close()
        out.finish()

    def test_terminal(self):
        """Drawn in its place, and no larger than the terminal."""
        dvm = self.dvm(slots=1)
        ours, its = pty.openpty()
        termios.tcsetwinsize(its, (10, 40))
        process = self.start_monitor(dvm, stdout=its, stderr=its, preexec_fn=lambda: os.dup2(its, 0))
        os.close(its)
        out = dvmtest.Reader(ours)
        jobs = [dvm.submit(['tail', '-f', '/dev/null', 'x' * 100], np=1) for _ in range(20)]
        wait_until(lambda: b' more lines' in out.data, 'a picture that is cut off')
        for job in jobs:
            job.cancel()
        wait_until(lambda: b'\n20 jobs have ended, 20 of them failed' in out.data, 'the ends of the jobs')
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(dvmtest.LIMIT), 0)
        pictures = out.finish().decode().split('\x1b[J')[1:]
        for number, picture in enumerate(pictures):
            lines = picture.split('\r\n')
            height = len(lines) - 1
            self.assertLess(height, 10)
            self.assertLess(max(map(len, lines[:-1])), 40)
            # The next one begins where this one did.
            self.assertEqual(lines[-1], f'\x1b[{height}A\r' if number + 1 < len(pictures) else '')

    def test_wrong_arguments(self):
        done = self.run_sample(self.dvm(slots=1), 'monitor.js', '--twice')
        self.assertEqual(done.returncode, 125)
        self.assertIn('--twice', done.stderr)


class WithBus(Case):
    """busctl and gdbus, on a bus and on the socket."""

    def dvm_on_bus(self):
        """(DVM, environment in which it is found on a session bus alone)"""
        address = self.start_bus()
        dvm = self.dvm(slots=2, bus='session', env={'DBUS_SESSION_BUS_ADDRESS': address})
        environment = dict(self.environment(dvm), DBUS_SESSION_BUS_ADDRESS=address)
        del environment['DVM_SOCKET']
        return dvm, environment

    def check_busctl(self, dvm, env=None):
        done = self.run_sample(dvm, 'with-busctl.sh', 'sh', '-c', 'exit 3', env=env)
        self.assertEqual((done.returncode, done.stderr), (3, ''))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:2], ['submitted /org/dvm/jobs/1', 'ended as "NON_ZERO_TERM", exit code 3, signal 0'])
        return lines[2:]

    def test_busctl(self):
        self.assertEqual(self.check_busctl(self.dvm(slots=1)), [])

    def test_busctl_on_a_bus(self):
        last, = self.check_busctl(*self.dvm_on_bus())
        self.assertRegex(last, '^signals seen: [1-9]')

    def test_busctl_signal(self):
        done = self.run_sample(self.dvm(slots=1), 'with-busctl.sh', 'sh', '-c', 'kill -9 $$')
        self.assertEqual(done.returncode, 137, done)

    def check_gdbus(self, dvm, env=None):
        words = ['prog', "it's", 'a \\ b']
        done = self.run_sample(dvm, 'with-gdbus.sh', '-n', '2', 'true', *words, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], 'submitted /org/dvm/jobs/1')
        self.assertIn("StateName = 'NOTIFIED'", lines)
        self.assertIn('NumProcs = 2', lines)
        self.assertEqual(dvm.job(1).get('Command'), ['true', *words])

    def test_gdbus(self):
        self.check_gdbus(self.dvm(slots=2))

    def test_gdbus_on_a_bus(self):
        self.check_gdbus(*self.dvm_on_bus())


class Sweep(Case):
    def test_sweep(self):
        dvm = self.dvm(slots=2)
        place = self.place()
        done = self.run_sample(dvm, 'sweep.sh', '0', '3', 'x', '--', 'sh', '-c', 'echo "got $VALUE"; [ $VALUE = x ] || exit $VALUE',
                               cwd=place)
        self.assertEqual((done.returncode, done.stderr), (1, ''))
        rows = [line.split('\t')[:3] for line in done.stdout.splitlines()]
        self.assertEqual(rows, [['0', 'NOTIFIED', '0'], ['3', 'NON_ZERO_TERM', '3'], ['x', 'NOTIFIED', '0'], ['3 jobs, 1 failed']])
        with open(os.path.join(place, 'out-x')) as file:
            self.assertEqual(file.read(), 'got x\n')
        self.assertEqual(self.run_sample(dvm, 'sweep.sh', '0', '--', 'true', cwd=place).returncode, 0)

    def test_wrong_arguments(self):
        dvm = self.dvm(slots=1)
        for words in (['1', '2'], ['--', 'true'], ['a/b', '--', 'true'], []):
            self.assertEqual(self.run_sample(dvm, 'sweep.sh', *words).returncode, 2, words)


class GrowAndShrink(Case):
    """Nodes come, a job runs on them, and they go again: by the signals that the program gets."""

    name = 'grow-and-shrink.py'

    def start(self, *settings):
        return self.dvm(settings=['nodes=1', 'slots=1', *settings])

    def test_cycle(self):
        dvm = self.start('elastic=true')
        for exit_code in (0, 3):
            done = self.run_sample(dvm, self.name, '--hosts', 'n9,n10', 'sh', '-c', f'exit {exit_code}')
            self.assertEqual((done.returncode, done.stderr), (exit_code, ''))
            lines = done.stdout.splitlines()
            alloc_id = lines[0].split()[-1]
            self.assertEqual(lines[1], f'grow of {alloc_id} is done: n9 n10')
            self.assertRegex(lines[2], r'^\S+ ran on n9 n10: (NOTIFIED|NON_ZERO_TERM)$')
            self.assertEqual(lines[4], f'shrink of {alloc_id} is done: n9 n10')
        self.assertEqual(dvm.get('NodeCount'), 1)

    def test_not_elastic(self):
        done = self.run_sample(self.start(), self.name, '--hosts', 'n9', 'true')
        self.assertEqual((done.returncode, done.stdout), (125, ''))
        self.assertIn('--elastic', done.stderr)

    def test_wrong_arguments(self):
        dvm = self.start()
        for words in ([], ['--hosts', 'n9'], ['true']):
            self.assertIn(self.run_sample(dvm, self.name, *words).returncode, (2, 125), words)


class GrowAndShrinkInJavaScript(GrowAndShrink):
    name = 'grow-and-shrink.js'


class ReserveAndRun(Case):
    """Nodes are for one alone for a while, and for longer when the warning is answered."""

    name = 'reserve-and-run.py'

    def test_cycle(self):
        dvm = self.dvm(settings=['nodes=2', 'slots=1', 'elastic=true'])
        done = self.run_sample(dvm, self.name, '--hosts', 'node2,n9', 'sh', '-c', 'exit 3')
        self.assertEqual((done.returncode, done.stderr), (3, ''))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], '/org/dvm/sessions/1 has node2 n9')
        self.assertRegex(lines[1], r'^\S+ ran on node2 n9: NON_ZERO_TERM$')
        self.assertRegex(lines[2], r'^\S+ is given back$')
        # What was there stays, what came has gone.
        self.assertEqual([row['Name'] for row in dvm.get_nodes()[1:]], ['node1', 'node2'])

    def test_more_time(self):
        dvm = self.dvm(settings=['nodes=1', 'slots=1', 'elastic=true'])
        done = self.run_sample(dvm, self.name, '--time', '2', '--warn', '1', '--hosts', 'n9', 'sleep', '2.5')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertRegex(done.stdout, r'(?m)^extended with [01] s left$')

    def test_refused(self):
        dvm = self.dvm(settings=['nodes=1', 'slots=1'])
        done = self.run_sample(dvm, self.name, '--hosts', 'n9', 'true')
        self.assertEqual((done.returncode, done.stdout), (125, ''))
        self.assertIn('--elastic', done.stderr)
        self.assertIn(self.run_sample(dvm, self.name, 'true').returncode, (2, 125))


class ReserveAndRunInJavaScript(ReserveAndRun):
    name = 'reserve-and-run.js'


class NoReader(Case):
    """A sample ends when nobody reads what it says, without a word, and gives back what it has taken."""

    def run_unread(self, dvm, words, stdin='', cwd=None, env=None):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = subprocess.run(words, env=env or self.environment(dvm), cwd=cwd, input=stdin, stdout=writing, stderr=subprocess.PIPE, text=True,
                                  timeout=dvmtest.LIMIT, check=False)
        finally:
            os.close(writing)
        self.assertEqual(done.stderr, '', words)
        return done.returncode

    def test_python(self):
        dvm = self.dvm(slots=2)
        for words, stdin in ((['submit-and-follow.py', 'sleep', '1000'], ''), (['many-jobs.py', 'true'], '1\n'),
                             (['parameter-sweep.py', '2', '100'], '')):
            self.assertEqual(self.run_unread(dvm, sample(*words), stdin), -signal.SIGPIPE, words)

    def test_with_nodes(self):
        dvm = self.dvm(settings=['nodes=1', 'elastic=true'])
        for name in ('grow-and-shrink.py', 'reserve-and-run.py', 'grow-and-shrink.js', 'reserve-and-run.js'):
            self.assertEqual(self.run_unread(dvm, sample(name, '--hosts', 'n9', 'sleep', '1000')), 141, name)
            self.assertEqual([row['Name'] for row in dvm.get_nodes()[1:]], ['node1'], name)

    def test_c(self):
        self.assertEqual(self.run_unread(self.dvm(slots=1), [*command('c'), 'sleep', '1000']), -signal.SIGPIPE)

    def test_vala(self):
        self.assertEqual(self.run_unread(self.dvm(slots=1), [*command('vala'), 'sleep', '1000']), 141)

    def test_monitor(self):
        self.assertEqual(self.run_unread(self.dvm(slots=1), sample('monitor.js')), 0)

    def test_shell(self):
        """A job whose number nobody has read is cancelled, and no file is left."""
        dvm = self.dvm(slots=1)
        place = self.place()
        for name in ('with-busctl.sh', 'with-gdbus.sh'):
            environment = dict(self.environment(dvm), TMPDIR=place)
            self.assertEqual(self.run_unread(dvm, sample(name, 'sleep', '1000'), env=environment), 141, name)
            wait_until(lambda: dvm.get('JobsRunning') == 0, 'the job to end')
            self.assertEqual(os.listdir(place), [], name)

    def test_shell_on_a_bus(self):
        """The monitor of the bus goes, too."""
        address = self.start_bus()
        dvm = self.dvm(slots=1, bus='session', env={'DBUS_SESSION_BUS_ADDRESS': address})
        place = self.place()
        environment = dict(self.environment(dvm), DBUS_SESSION_BUS_ADDRESS=address, TMPDIR=place)
        del environment['DVM_SOCKET']
        self.assertEqual(self.run_unread(dvm, sample('with-busctl.sh', 'sleep', '1000'), env=environment), 141)
        mark = f'TMPDIR={place}'.encode()
        wait_until(lambda: not [pid for pid in leftovers.find_processes([mark]) if leftovers.is_running(pid)], 'its processes to end')
        self.assertEqual(os.listdir(place), [])

    def test_sweep(self):
        # Some shells end as the last program of a pipe did.
        status = self.run_unread(self.dvm(slots=1), sample('sweep.sh', '0', '--', 'true'), cwd=self.place())
        self.assertIn(status, (141, -signal.SIGPIPE))

    def test_scheduler(self):
        environment = dict(os.environ, DBUS_SESSION_BUS_ADDRESS=self.start_bus())
        self.assertEqual(self.run_unread(None, sample('scheduler.py', '--nodes', 'n1:4'), env=environment), -signal.SIGPIPE)


class Nowhere(unittest.TestCase):
    """No daemon: a sentence, and no endless wait."""

    dvms = ()

    def run_and_finish(self):
        getattr(self, self._testMethodName)()

    def clear(self):
        pass

    def check(self, *words):
        path = f'{os.path.dirname(os.environ["DVM_CLI"])}:{os.environ["PATH"]}'
        environment = dict(os.environ, DVM_SOCKET='/nonexistent/bus', PATH=path)
        done = subprocess.run([*words], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=dvmtest.LIMIT, check=False)
        self.assertEqual((done.returncode, done.stdout), (125, ''))
        self.assertRegex(done.stderr, '/nonexistent/bus|No such file or directory')
        self.assertNotIn('Traceback', done.stderr)

    def test_no_dvm(self):
        for words in (['submit-and-follow.py', 'true'], ['many-jobs.py', 'true'], ['parameter-sweep.py'], ['monitor.js'],
                      ['monitor.js', '--once'], ['with-busctl.sh', 'true'], ['with-gdbus.sh', 'true'],
                      ['sweep.sh', '1', '--', 'true']):
            with self.subTest(sample=words[0]):
                self.check(*sample(*words))

    def test_no_dvm_in_c(self):
        self.check(*command('c'), 'true')

    def test_no_dvm_in_vala(self):
        self.check(*command('vala'), 'true')


if __name__ == '__main__':
    dvmtest.main()
