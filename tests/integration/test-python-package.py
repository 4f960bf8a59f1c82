#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The package dvm: DVMs that a program starts, grows and stops, jobs as objects, events, asyncio, the executor, and how it is installed."""

import asyncio
import atexit
import concurrent.futures
import copy
import glob
import html.parser
import importlib.util
import math
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import dvm
from dvm import Dvm

import dvmtest
import leftovers
from dvmtest import LIMIT, wait_until

SOURCE = os.environ['DVM_TEST_SOURCE']
BUILD = os.environ['DVM_TEST_BUILD']
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
SLEEP = ['sleep', '1000']


def soak(test):
    """Of a test that takes seconds: it is there with DVM_TEST_SOAK=1 alone."""
    return test if LONG else None


def refuse():
    raise LookupError('not here')


class Case(dvmtest.Case):
    """A place of its own for the DVMs, which are marked: none of their processes is left."""

    dies = False  # whether dvmd is killed, which then leaves its files

    def setUp(self):
        super().setUp()
        self.home = self.place()
        self.mark = f'DVM_TEST_MARK={os.path.basename(self.home)}'
        self.saved = dict(os.environ)
        os.mkdir(os.path.join(self.home, 'run'), 0o700)
        os.environ.update({'XDG_RUNTIME_DIR': os.path.join(self.home, 'run'), 'HOME': self.home, 'XDG_STATE_HOME': self.home,
                           'XDG_CONFIG_HOME': self.home, 'TMPDIR': self.home, 'DVM_TEST_MARK': os.path.basename(self.home)})
        os.environ.pop('DVM_SOCKET', None)
        os.environ.pop('DVM_NAME', None)

    def processes(self):
        return [pid for pid in leftovers.find_processes([self.mark.encode()]) if leftovers.is_running(pid)]

    def run_and_finish(self):
        getattr(self, self._testMethodName)()
        wait_until(lambda: not self.processes(), 'the processes of the DVMs to end')
        if not self.dies:
            self.assertIn(leftovers.list_tree(os.environ['XDG_RUNTIME_DIR']), ([], ['dvm']))

    def clear(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        os.environ.clear()
        os.environ.update(self.saved)
        super().clear()

    def run_script(self, script, **options):
        return subprocess.run([sys.executable, '-c', script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=LIMIT, check=False, **options)


class Start(Case):
    def test_two_at_once(self):
        """Each has a name of its own, and leaving the block ends it; one that was there already goes on."""
        with dvm.start(nodes=2, slots=3) as one, Dvm.start('other', nodes=1) as two:
            self.assertEqual((two.name, len(one.nodes()), len(two.nodes())), ('other', 2, 1))
            self.assertEqual([node.props.slots for node in one.nodes()], [3, 3])
            self.assertNotEqual(one.socket, two.socket)
            with Dvm.connect('other') as again, dvm.connect(address=one.socket) as third:
                self.assertEqual((len(again.nodes()), len(third.nodes())), (1, 2))
            self.assertFalse(again.connected)
            self.assertTrue(two.connected)
            self.assertIn('other connected', repr(two))
            pid = one.pid
        self.assertFalse(leftovers.is_running(pid))
        self.assertIn('closed', repr(one))
        with self.assertRaisesRegex(RuntimeError, 'closed'):
            one.run(['true'])
        one.stop()

    def test_exception_ends_it(self):
        with self.assertRaises(ZeroDivisionError), dvm.start(nodes=1, settings={'kill_grace': 0.1}) as vm:
            job = vm.submit(SLEEP)
            1 // 0
        with self.assertRaises((Dvm.DvmError, Dvm.JobError, RuntimeError)):
            job.wait(LIMIT)

    def test_jobs_that_do_not_want_to_end(self):
        """After the grace they are killed at once, whatever the settings of the DVM say."""
        vm = dvm.start(nodes=1, settings={'kill-grace': 600})
        job = vm.submit(['sh', '-c', 'trap "" TERM; echo here; while :; do sleep 0.05; done'])
        self.assertEqual(next(iter(job)), 'here')
        vm.stop(grace=1)

    def test_refused(self):
        for words, options in (('nodes', {'nodes': 0}), ('nothing', {'settings': {'nothing': 1}}), ('no name', {'name': 'a b'}),
                               ('cannot go together', {'nodes': 1, 'hosts': ['n1', 'n2']})):
            with self.assertRaisesRegex(Dvm.BadParamError, words):
                dvm.start(**options)
        with self.assertRaisesRegex(Dvm.DvmError, 'runs already'), dvm.start('mine', nodes=1):
            dvm.start('mine', nodes=1)
        with self.assertRaisesRegex(Dvm.DvmError, 'nowhere'):
            dvm.start(hostfile=os.path.join(self.home, 'nowhere'))
        with self.assertRaises(Dvm.NotFoundError):
            dvm.connect('nothing')
        with self.assertRaises(TypeError):
            dvm.connect('nothing', address='/x')

    def test_no_dvm_cli(self):
        os.environ['DVM_CLI'] = '/nonexistent/dvm-cli'
        with self.assertRaisesRegex(Dvm.NotFoundError, '/nonexistent/dvm-cli'):
            dvm.start(nodes=1)
        del os.environ['DVM_CLI']
        os.environ['PATH'] = self.home
        with self.assertRaisesRegex(Dvm.NotFoundError, 'dvm-env.sh'):
            dvm.start(nodes=1)

    @soak
    def test_interrupted(self):
        """A start that is interrupted leaves nothing: here by a DVM that waits for nodes that never come."""
        agent = os.path.join(self.home, 'never')
        with open(agent, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nexec sleep 1000\n')
        os.chmod(agent, 0o755)
        script = ('import dvm, sys\ntry:\n    dvm.start(hosts=["n1"], launcher="ssh", settings={"launcher-command": sys.argv[1]})\n'
                  'except KeyboardInterrupt:\n    sys.exit(7)\n')
        process = subprocess.Popen([sys.executable, '-c', script, agent], stdin=subprocess.DEVNULL)
        try:
            wait_until(lambda: any(leftovers.find_children(pid, 'sleep') for pid in self.processes()) or process.poll() is not None,
                       'the start of the agent')
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(LIMIT), 7)
        finally:
            process.kill()
            process.wait()

    def test_killed(self):
        """The DVM of a program that is killed ends by itself; keep=True is for those that are to stay."""
        script = 'import dvm, os\nvm = dvm.start({0}nodes=1{1})\nprint(vm.name, flush=True)\nos.kill(os.getpid(), 9)\n'
        done = self.run_script(script.format('', ''))
        self.assertEqual(done.returncode, -9, done.stderr)
        wait_until(lambda: not self.processes(), 'the DVM to end')
        self.run_script(script.format('"stays", ', ', keep=True'))
        with dvm.connect('stays') as vm:
            self.assertEqual(vm.run(['true']).returncode, 0)
            vm.stop()

    def wrap_cli(self, words):
        """A dvm-cli that does more than the real one, by lines of the shell; those wait for the file "go"."""
        path = os.path.join(self.home, 'dvm-cli')
        real = os.environ.get('DVM_CLI') or shutil.which('dvm-cli')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nreal={real}\ncd {self.home}\nif [ "$1" = start ]; then\n{words}\nfi\nexec "$real" "$@"\n')
        os.chmod(path, 0o755)
        return dict(os.environ, DVM_CLI=path)

    def make_file(self, name):
        open(os.path.join(self.home, name), 'w', encoding='utf-8').close()

    def await_file(self, name):
        wait_until(lambda: os.path.exists(os.path.join(self.home, name)), name)

    def test_interrupted_submit(self):
        """The DVM has the job, and its answer is still to come: nobody would hear of the job, which is cancelled."""
        def interrupt():
            main = threading.main_thread().ident
            wait_until(lambda: vm.thread._pending and sys._current_frames()[main].f_code.co_name == 'wait', 'the call')
            os.kill(os.getpid(), signal.SIGINT)

        with dvm.start(nodes=1) as vm:
            os.kill(vm.pid, signal.SIGSTOP)
            helper = threading.Thread(target=interrupt)
            try:
                with self.assertRaises(KeyboardInterrupt):
                    helper.start()
                    vm.submit(SLEEP)
            finally:
                os.kill(vm.pid, signal.SIGCONT)
                helper.join()
            wait_until(lambda: [job.props.ended for job in vm.jobs(all=True)] == [True], 'the end of the job')

    def test_killed_while_it_starts(self):
        """The DVM that comes up after its program has gone ends, too."""
        environment = self.wrap_cli(': >begun; while [ ! -e go ]; do sleep 0.02; done')
        process = subprocess.Popen([sys.executable, '-c', 'import dvm; dvm.start(nodes=1)'], stdin=subprocess.DEVNULL, env=environment)
        self.await_file('begun')
        process.kill()
        process.wait()
        self.make_file('go')

    def test_interrupted_when_it_has_come(self):
        """A DVM that was ready just before the interrupt is not left behind, whether dvm-cli has heard of that or was ended by it."""
        for status in (0, 128 + signal.SIGTERM):
            environment = self.wrap_cli(f'trap "" TERM; "$real" "$@"; : >ready; while [ ! -e go ]; do sleep 0.02; done; exit {status}')
            process = subprocess.Popen([sys.executable, '-c', 'import dvm, sys\ntry:\n    dvm.start(nodes=1)\nexcept KeyboardInterrupt:\n    sys.exit(7)'],
                                       stdin=subprocess.DEVNULL, env=environment)
            try:
                self.await_file('ready')
                process.send_signal(signal.SIGINT)
                self.make_file('go')
                self.assertEqual(process.wait(LIMIT), 7)
            finally:
                process.kill()
                process.wait()
            wait_until(lambda: not self.processes(), 'the end of the DVM')
            for name in ('ready', 'go'):
                os.unlink(os.path.join(self.home, name))

    def test_cancelled_start(self):
        """A task that is cancelled while its DVM comes up has it stopped, and the program goes on."""
        async def main():
            task = asyncio.create_task(dvm.start_async('dropped', nodes=1))
            await asyncio.to_thread(self.await_file, 'ready')
            task.cancel()
            self.make_file('go')
            with self.assertRaises(asyncio.CancelledError):
                await task

        os.environ.update(self.wrap_cli('"$real" "$@"; : >ready; while [ ! -e go ]; do sleep 0.02; done; exit 0'))
        asyncio.run(main())
        wait_until(lambda: not self.processes(), 'the end of the DVM')

    def test_cancelled_when_it_has_come(self):
        """A task that is cancelled while its DVM has come, of which the loop has not heard."""
        async def main():
            task = asyncio.create_task(dvm.start_async('late', nodes=1))
            await asyncio.sleep(0)
            # The loop stands still.
            wait_until(lambda: all(thread.name != 'dvm start' for thread in threading.enumerate()), 'the DVM')
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        wait_until(lambda: not self.processes(), 'the end of the DVM')

    def test_fork_while_it_starts(self):
        """A child does not wait for the thread that starts a DVM, which it has not."""
        def is_waiting():
            return any(frame.f_code.co_name == 'await_start' for frame in sys._current_frames().values())

        os.environ.update(self.wrap_cli('while [ ! -e go ]; do sleep 0.02; done'))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            starting = pool.submit(dvm.start, nodes=1)
            try:
                wait_until(is_waiting, 'the thread')
                child = os.fork()
                if child == 0:
                    os._exit(3)
                try:
                    wait_until(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT), 'the end of the child')
                finally:
                    os.kill(child, signal.SIGKILL)
                    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                self.assertEqual(status, 3)
            finally:
                self.make_file('go')
                starting.result(LIMIT).stop()

    def test_child_of_fork(self):
        """The DVM is the program's: a child that leaves the block does not end it, and one that lives on does not keep it."""
        script = ('import dvm, os, sys, time\nwith dvm.start("shared", nodes=1) as vm:\n    child = os.fork()\n    if child == 0:\n        sys.exit(3)\n'
                  '    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), vm.run(["echo", "there"]).stdout, end="", flush=True)\n'
                  '    if os.fork() == 0:\n        os.closerange(1, 3)\n        while os.path.exists(vm.socket):\n            time.sleep(0.05)\n        os._exit(0)\n    os.kill(os.getpid(), 9)\n')
        done = self.run_script(script)
        self.assertEqual((done.returncode, done.stdout), (-9, '3 there\n'))

    def test_child_that_connects(self):
        """It could only wait for ever."""
        with dvm.start(nodes=1) as vm:
            child = os.fork()
            if child == 0:
                try:
                    dvm.connect(address=vm.socket)
                except RuntimeError as error:
                    os._exit(7 if 'forkserver' in str(error) else 8)
                finally:
                    os._exit(9)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)

    def test_dvm_that_dies(self):
        self.dies = True
        with dvm.start(nodes=1) as vm:
            job = vm.submit(SLEEP)
            events = vm.events()
            os.kill(vm.pid, signal.SIGKILL)
            with self.assertRaises(Dvm.ShuttingDownError):
                job.wait(LIMIT)
            self.assertEqual(list(job), [])
            list(events)
            self.assertIn('gone', repr(vm))
            self.assertIn('gone', vm._repr_html_())
            self.assertIn('sleep 1000', job._repr_html_())

    def test_coroutines(self):
        async def main():
            async with await dvm.start_async(nodes=1, elastic=True) as vm:
                growth = await vm.grow_async(1)
                names = await vm.shrink_async(growth)
                async with await dvm.connect_async(address=vm.socket) as again:
                    done = await again.run_async(['true'])
                return growth.nodes == names, done.returncode

        self.assertEqual(asyncio.run(main()), (True, 0))


class Shared(Case):
    """Cases that share one DVM, which is what they are about not."""

    settings = {'kill_grace': 0.2}

    def run_and_finish(self):
        with dvm.start(nodes=2, slots=4, elastic=True, settings=self.settings) as self.vm:
            getattr(self, self._testMethodName)()
        wait_until(lambda: not self.processes(), 'the processes of the DVM to end')


class Jobs(Shared):
    def test_run(self):
        done = self.vm.run(['sh', '-c', 'echo out $WORD; echo err >&2'], n=2, env={'WORD': 'yes'})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'out yes\n' * 2, 'err\n' * 2))
        self.assertEqual(self.vm.run(['sh', '-c', 'echo out; exit 3']).returncode, 3)
        with self.assertRaises(subprocess.CalledProcessError):
            self.vm.run(['false'], check=True)
        with self.assertRaisesRegex(Dvm.JobError, 'no-such-program'):
            self.vm.run(['no-such-program-at-all'])
        with self.assertRaises(Dvm.BadParamError):
            self.vm.run(['true'], map_by='rubbish')
        with self.assertRaises(TypeError):
            self.vm.run(Dvm.JobSpec(['true']), np=2)
        with self.assertRaises(TimeoutError):
            self.vm.run(SLEEP, timeout=0.05)
        wait_until(lambda: not self.vm.jobs(), 'the end of the job that took too long')

    def test_lines(self):
        """They come while the job runs, to each who asks, and the last one without an end of its line."""
        go = os.path.join(self.home, 'go')
        job = self.vm.submit(['sh', '-c', f'echo one; while [ ! -e {go} ]; do sleep 0.01; done; echo; printf three'])
        lines = iter(job)
        self.assertEqual(next(lines), 'one')
        self.assertFalse(job.done())
        self.assertIsNone(job.returncode)
        open(go, 'w').close()
        self.assertEqual(list(lines), ['', 'three'])
        self.assertEqual(list(job), ['one', '', 'three'])
        self.assertEqual((job.wait(LIMIT).stdout, job.returncode, list(job.errors)), ('one\n\nthree', 0, []))

    def test_objects(self):
        job = self.vm.submit(SLEEP, output=False, n=2)
        with self.assertRaisesRegex(TimeoutError, f'job {job.id} '):
            job.wait(0.01)
        wait_until(lambda: job.state == 'RUNNING', 'the job to run')
        self.assertTrue(set(job.nodes) <= {'node1', 'node2'})
        found = self.vm.job(job.id)
        self.assertEqual((found.nspace, found.args), (job.nspace, SLEEP))
        self.assertEqual([record.props.id for record in self.vm.jobs()], [job.id])
        job.send_signal(signal.SIGUSR1)
        self.assertEqual((job.wait(LIMIT).returncode, found.wait(LIMIT).returncode), (-signal.SIGUSR1, -signal.SIGUSR1))
        short = self.vm.submit(['true'], n=1, hosts=['node2'])
        short.wait(LIMIT)
        self.assertEqual(short.nodes, ['node2'])
        job.cancel()
        self.assertIn(f'signal {int(signal.SIGUSR1)}', repr(job))
        with self.assertRaises(Dvm.NotFoundError):
            self.vm.job(77)
        cancelled = self.vm.submit(SLEEP)
        cancelled.cancel()
        with self.assertRaisesRegex(Dvm.JobError, 'KILLED_BY_CMD'):
            cancelled.wait(LIMIT)

    def test_asyncio(self):
        async def main():
            job = await self.vm.submit_async(['sh', '-c', 'echo a; sleep 0.02; echo b'])
            lines = [line async for line in job]
            done = await asyncio.gather(*(self.vm.run_async(['sh', '-c', f'exit {code}']) for code in range(20)))
            task = asyncio.ensure_future(self.vm.run_async(SLEEP))
            while not self.vm.jobs():
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            # Before the answer of the DVM, too.
            tasks = [asyncio.ensure_future(self.vm.run_async(SLEEP)) for _ in range(20)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self.assertTrue(all(task.cancelled() for task in tasks))
            with self.assertRaises(subprocess.CalledProcessError):
                await self.vm.run_async(['false'], check=True)
            # One that stops to wait leaves the job and the others that wait for it alone.
            job = await self.vm.submit_async(['sleep', '0.1'])
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(job, 0.01)
            return lines, [result.returncode for result in done], (await job).returncode

        self.assertEqual(asyncio.run(main()), (['a', 'b'], list(range(20)), 0))
        wait_until(lambda: not self.vm.jobs(), 'the end of the job whose task was cancelled')

    def test_notebooks(self):
        """Whatever users have named is text in their tables."""
        sleeping = self.vm.submit(['sh', '-c', 'sleep 1000', '<b>&'])
        result = self.vm.run(['sh', '-c', 'echo "<b>&"; exit 3'])
        self.assertIn('<td>exit 3</td>', result._repr_html_())
        fresh = self.vm.submit(SLEEP)
        self.assertNotIn('UNDEF', fresh._repr_html_())
        fresh.cancel()
        self.assertIn('<pre>&lt;b&gt;&amp;\n</pre>', result._repr_html_())
        tables = [self.vm._repr_html_(), self.vm.nodes()._repr_html_(), self.vm.jobs()._repr_html_(), self.vm.job(sleeping.id)._repr_html_()]
        for table in tables:
            tags = []
            parser = html.parser.HTMLParser()
            parser.handle_starttag = lambda tag, attributes: tags.append(tag)
            parser.feed(table)
            self.assertEqual(set(tags), {'table', 'tr', 'th', 'td'})
        self.assertIn(f'<td>{self.vm.name}</td><td>2</td><td>8</td>', tables[0])
        self.assertIn('<td>node2</td><td>UP</td>', tables[1])
        for table in tables[2:]:
            self.assertIn('&lt;b&gt;&amp;', table)

    def test_pickle(self):
        """What a program has of a DVM can be kept, and sent to others."""
        result = self.vm.run(['sh', '-c', 'echo one; exit 3'])
        with self.assertRaises(Dvm.JobError) as caught:
            with self.vm.executor() as executor:
                executor.submit(['sh', '-c', 'echo late; sleep 1000'], text=True, timeout=1).result(LIMIT)
        error = caught.exception
        self.assertEqual(error.stdout, 'late\n')
        for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            self.assertEqual((again.args, again.returncode, again.stdout), (result.args, 3, 'one\n'))
            self.assertTrue(again.job.to_variant().equal(result.job.to_variant()))
            self.assertEqual(again.job.returncode, 3)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.stdout, again.job.props.id), (str(error), 'late\n', error.job.props.id))
        nodes = pickle.loads(pickle.dumps(self.vm.nodes()))
        self.assertEqual([node.props.name for node in nodes], ['node1', 'node2'])
        self.assertIn('node2', nodes._repr_html_())
        for live in (self.vm, self.vm.job(result.job.props.id)):
            with self.assertRaisesRegex(TypeError, 'another process: send'):
                pickle.dumps(live)

    def test_fork(self):
        child = os.fork()
        if child == 0:
            try:
                self.vm.nodes()
            except RuntimeError as error:
                os._exit(7 if 'fork' in str(error) else 8)
            finally:
                os._exit(9)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.assertEqual(self.vm.run(['true']).returncode, 0)


class Size(Shared):
    def test_grow_and_shrink(self):
        growth = self.vm.grow(2)
        self.assertEqual(growth.nodes, ['node3', 'node4'])
        job = self.vm.submit(SLEEP, hosts=['node4'])
        wait_until(lambda: job.state == 'RUNNING', 'the job to run')
        # The idle one that came last.
        self.assertEqual(self.vm.shrink(1), ['node3'])
        self.assertEqual(self.vm.shrink(growth), ['node4'])
        self.assertEqual(self.vm.grow(hosts=['n9:2']).nodes, ['n9'])
        self.assertEqual(self.vm.shrink(hosts=['n9', 'node2']), ['n9', 'node2'])
        self.assertEqual([node.props.name for node in self.vm.nodes()], ['node1'])
        for count in (0, 2, -1):
            with self.assertRaisesRegex(Dvm.BadParamError, 'has 1 that may'):
                self.vm.shrink(count)
        with self.assertRaises(Dvm.DvmError):
            self.vm.shrink(hosts=['unknown'])
        with self.assertRaises(Dvm.JobError):
            job.wait(LIMIT)

    def test_not_elastic(self):
        with dvm.start(nodes=1) as vm, self.assertRaisesRegex(Dvm.NotElasticError, 'elastic'):
            vm.grow(1)


class Events(Shared):
    def test_callback(self):
        seen = []
        kinds = set()
        over = threading.Event()

        def on_event(event):
            seen.append(event)
            if event.kind == 'job' and event.new == 'NOTIFIED':
                over.set()

        self.vm.watch(lambda event: kinds.add(event.kind), 'job')
        stop = self.vm.watch(on_event, ['job', 'proc'])
        job = self.vm.submit(['true'], n=2)
        self.assertTrue(over.wait(LIMIT))
        stop()
        n_seen = len(seen)
        self.vm.run(['true'])
        self.assertEqual(len(seen), n_seen)
        states = [event for event in seen if event.kind == 'job']
        self.assertEqual({event.id for event in seen}, {job.id})
        self.assertEqual([event.old for event in states[1:]], [event.new for event in states[:-1]])
        self.assertEqual({event.rank for event in seen if event.kind == 'proc'}, {0, 1})
        self.assertEqual(kinds, {'job'})
        with self.assertRaisesRegex(ValueError, '"jobs"'):
            self.vm.watch(on_event, ['jobs'])
        with self.assertRaisesRegex(ValueError, '"jobs"'):
            self.vm.watch(on_event, 'jobs')

    def test_bad_arguments(self):
        for options, names in (({'n': 0}, 'n=0'), ({'env': {'A=B': 'c'}}, '"A=B"'), ({'env': {'': 'c'}}, '""'), ({'env': {'A': None}}, 'unset_env')):
            with self.assertRaisesRegex(ValueError, names):
                self.vm.submit(['true'], **options)
        for n in (2.5, '2', None):
            with self.assertRaisesRegex(TypeError, 'integer'):
                self.vm.submit(['true'], n=n)

    def test_callback_that_waits(self):
        """It is told that it must not, and the DVM goes on."""
        errors = []

        def on_event(event):
            try:
                self.vm.run(['true'])
            except RuntimeError as error:
                errors.append(str(error))

        stop = self.vm.watch(on_event, ['job'])
        self.vm.run(['true'])
        stop()
        self.assertRegex(errors[0], 'callback')

    def test_iteration(self):
        events = self.vm.events(['node', 'campaign'])
        growth = self.vm.grow(1)
        self.vm.shrink(growth)
        events.close()
        events.close()
        found = list(events)
        self.assertEqual([(event.name, event.new) for event in found if event.kind == 'node' and event.new != 'ADDED'],
                         [('node3', 'UP'), ('node3', 'NOT_INCLUDED')])
        self.assertEqual([(event.id, event.new) for event in found if event.new == 'completed'], [(1, 'completed'), (2, 'completed')])
        pairs = [(event.kind, event.id, event.new) for event in found]
        self.assertEqual(len(pairs), len(set(pairs)))

    def test_unwanted(self):
        """Of the tens of signals of a job those of the kinds that are wanted come to Python, and no others."""
        handled = []
        whole = dvm._events.Subscription._on_signal

        def count(subscription, connection, sender, path, interface, name, *rest):
            handled.append(name)
            whole(subscription, connection, sender, path, interface, name, *rest)

        with unittest.mock.patch.object(dvm._events.Subscription, '_on_signal', count):
            events = self.vm.events(['job', 'campaign'])
            for _ in range(3):
                self.vm.run(['true'], n=2)
            n_ended = 0
            for event in events:
                n_ended += event.new == 'NOTIFIED'
                if n_ended == 3:
                    break
            events.close()
        self.assertLessEqual(set(handled), {'JobsChanged', 'StateChanged', 'InterfacesAdded', 'InterfacesRemoved'})
        self.assertNotIn('StateChanged', handled)

    def test_asyncio(self):
        async def main():
            seen = []
            with self.vm.events(['job']) as events:
                await self.vm.run_async(['true'])
                async for event in events:
                    seen.append(event.new)
                    if event.new == 'NOTIFIED':
                        break
            return seen

        seen = asyncio.run(main())
        self.assertIn('RUNNING', seen)

    def test_end(self):
        """A loop over the events ends with the DVM."""
        events = self.vm.events()
        thread = threading.Thread(target=self.vm.stop)
        thread.start()
        kinds = {event.kind for event in events}
        thread.join()
        self.assertIn('dvm', kinds)


class Executor(Shared):
    def test_commands(self):
        with self.vm.executor() as executor:
            self.assertIsInstance(executor, concurrent.futures.Executor)
            self.assertEqual(executor.submit(['echo', 'x'], n=2, text=True).result(LIMIT).stdout, 'x\nx\n')
            results = executor.map(['echo'], range(3), n=1, text=True)
            self.assertEqual([done.stdout for done in results], ['0\n', '1\n', '2\n'])
            self.assertEqual(executor.submit(['cat'], stdin=b'given', text=True).result(LIMIT).stdout, 'given')
            with self.assertRaises(TypeError):
                executor.submit(['echo'], 'x')
            with self.assertRaisesRegex(TypeError, 'capture_output'):
                executor.submit(['cat'], stdin=b'given')

    def test_calls(self):
        with dvm.DvmExecutor(self.vm) as executor:
            # What it prints is no part of the answer.
            futures = [executor.submit(sorted, [3, 1, 2], reverse=True), executor.submit(len, bytes(3000000)), executor.submit(print, 'hello')]
            self.assertEqual(list(executor.map(math.factorial, (4, 5), timeout=LIMIT)), [24, 120])
            self.assertEqual([future.result(LIMIT) for future in futures], [[3, 2, 1], 3000000, None])

    def test_calls_that_fail(self):
        with dvm.DvmExecutor(self.vm) as executor:
            with self.assertRaisesRegex(LookupError, 'not here') as caught:
                executor.submit(refuse).result(LIMIT)
            self.assertIn('in refuse', str(caught.exception.__cause__))
            with self.assertRaisesRegex(dvm.WorkerError, 'status 3'):
                executor.submit(os._exit, 3).result(LIMIT)
            with self.assertRaisesRegex(TypeError, 'cannot be sent back'):
                executor.submit(open, os.devnull).result(LIMIT)
            with self.assertRaisesRegex(TypeError, 'lambda'):
                executor.submit(lambda: 1)
            with self.assertRaises(TypeError):
                executor.map(math.sqrt, [1], n=2)

    def test_cancel(self):
        with dvm.DvmExecutor(self.vm, max_pending=1) as executor:
            future = executor.submit(subprocess.run, SLEEP)
            wait_until(future.running, 'the call')
            waiting = executor.submit(math.sqrt, 4)
            self.assertTrue(future.cancel())
            with self.assertRaises(concurrent.futures.CancelledError):
                future.result(LIMIT)
            self.assertEqual(waiting.result(LIMIT), 2)
            self.assertFalse(waiting.cancel())
            left = [executor.submit(subprocess.run, SLEEP) for _ in range(3)]
            executor.shutdown(wait=False, cancel_futures=True)
            left[0].cancel()
            concurrent.futures.wait(left, LIMIT)
            self.assertTrue(all(future.cancelled() for future in left))

    def test_program_without_a_guard(self):
        """A worker that reads the program for a function does not begin it again."""
        path = os.path.join(self.home, 'program.py')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'import dvm\ndef double(n):\n    return 2 * n\nwith dvm.DvmExecutor(dvm.connect(address={self.vm.socket!r})) as executor:\n'
                       '    print(executor.submit(double, 4).result())\n')
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 1)
        self.assertIn('if __name__ == "__main__":', done.stderr)

    @soak
    def test_program_with_a_guard(self):
        path = os.path.join(self.home, 'program.py')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'import dvm\ndef double(n):\n    return 2 * n\nif __name__ == "__main__":\n    with dvm.DvmExecutor(dvm.connect(address={self.vm.socket!r}'
                       ')) as executor:\n        print(executor.submit(double, 4).result())\n')
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (0, '8\n'), done.stderr)


class Tutorial(Case):
    def test_programs(self):
        """The blocks of docs/python.md, one after the other, as one program."""
        with open(os.path.join(SOURCE, 'docs', 'python.md'), encoding='utf-8') as file:
            blocks = re.findall(r'^```python\n(.*?)^```$', file.read(), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 5)
        program = os.path.join(self.home, 'tutorial.py')
        with open(program, 'w', encoding='utf-8') as file:
            file.write('\n'.join(blocks))
        done = subprocess.run([sys.executable, program], cwd=self.home, capture_output=True, text=True, timeout=LIMIT, check=False,
                              stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('the best angle is 45', done.stdout)
        self.assertRegex(done.stdout, '\n3 have worked; expr: ')


class Dask(Case):
    """The example, with the real library."""

    @soak
    def test_example(self):
        if importlib.util.find_spec('distributed') is None:
            self.skipTest('no Dask here: the package python3-distributed has it')
        done = subprocess.run([sys.executable, os.path.join(SOURCE, 'examples', 'python', 'dask-on-dvm.py')], cwd=self.home, timeout=LIMIT,
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (0, '2 workers: 328350\n3 workers: 328350\n'), done.stderr)


class Installed(Case):
    """The package where others than the build tree have it."""

    tree = None

    def install(self):
        """Once for all."""
        if Installed.tree is None:
            Installed.tree = tempfile.mkdtemp(prefix='dvmtest-', dir='/tmp')
            atexit.register(shutil.rmtree, Installed.tree)
            subprocess.run([shutil.which('meson', path='/usr/bin') or 'meson', 'install', '-C', BUILD, '--no-rebuild', '--quiet',
                            '--destdir', Installed.tree], check=True, stdin=subprocess.DEVNULL)
        path, = glob.glob(os.path.join(Installed.tree, '**', 'dvm-env.sh'), recursive=True)
        return path

    def bare(self):
        """The environment without what the build tree has set."""
        names = ('PYTHONPATH', 'GI_TYPELIB_PATH', 'LD_LIBRARY_PATH', 'MANPATH', 'DVM_CLI', 'DVM_DVMD', 'DVM_LIBEXEC_DIR', 'DVM_PLUGIN_PATH')
        environment = {name: value for name, value in os.environ.items() if name not in names}
        return dict(environment, PATH='/usr/bin:/bin')

    script = 'import dvm\nwith dvm.start(nodes=1) as vm: print(vm.run(["echo", "works"]).stdout, end=""); print(dvm.__file__)'

    def test_env_sh(self):
        path = self.install()
        prefix = os.path.dirname(os.path.dirname(os.path.dirname(path)))
        show = f'"$0" -c \'{self.script}\' && echo "$PATH|$MANPATH|$LD_LIBRARY_PATH"'
        for shell in ('bash', 'zsh', 'sh') if LONG else ('bash',):
            if shutil.which(shell) is None:
                continue
            before = f'set -eu; DVM_PREFIX={prefix}; ' if shell == 'sh' else 'set -eu; '
            done = subprocess.run([shell, '-c', f'{before}. {path}; . {path}; {show}', sys.executable], env=self.bare(), capture_output=True,
                                  text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)
            self.assertEqual((done.returncode, done.stderr), (0, ''), shell)
            said, where, variables = done.stdout.splitlines()
            self.assertEqual(said, 'works')
            self.assertTrue(where.startswith(prefix), where)
            path_now, manpath, libraries = variables.split('|')
            self.assertEqual(path_now, f'{prefix}/bin:/usr/bin:/bin')
            self.assertRegex(manpath, rf'^{re.escape(prefix)}/\S*man::?$')
            self.assertNotIn(':', libraries)
        done = subprocess.run(['sh', '-c', f'DVM_PREFIX=/nonexistent; . {path}; echo "$PATH"'], env=self.bare(), capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stdout, '/usr/bin:/bin\n')
        self.assertIn('/nonexistent/bin/dvm-cli', done.stderr)

    def test_modulefile(self):
        found = glob.glob('/usr/lib/*/modulecmd.tcl') + glob.glob('/usr/share/modules/libexec/modulecmd.tcl')
        if not found:
            self.skipTest('no Environment Modules here: the package environment-modules has modulecmd.tcl')
        path = self.install()
        prefix = os.path.dirname(os.path.dirname(os.path.dirname(path)))
        folder = os.path.join(self.home, 'modulefiles', 'dvm')
        os.makedirs(folder)
        shutil.copy(os.path.join(os.path.dirname(path), 'modulefile'), os.path.join(folder, '0.1.0'))
        command = f'eval "$({found[0]} sh load dvm/0.1.0)"; "$0" -c \'{self.script}\'; echo "$MANPATH"; eval "$({found[0]} sh unload dvm/0.1.0)"; echo "$PATH"'
        environment = dict(self.bare(), MODULEPATH=os.path.dirname(folder), DVM_PREFIX=prefix)
        done = subprocess.run(['sh', '-c', command, sys.executable], env=environment, capture_output=True, text=True, timeout=LIMIT, check=False,
                              stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        said, where, manpath, path_now = done.stdout.splitlines()
        self.assertEqual((said, path_now), ('works', '/usr/bin:/bin'))
        self.assertTrue(where.startswith(prefix), where)
        self.assertRegex(manpath, rf'^{re.escape(prefix)}/\S*man:')

    @soak
    def test_pip(self):
        """Without a build and without a network, from a copy: setuptools writes beside the sources."""
        if not all(map(importlib.util.find_spec, ('pip', 'setuptools'))):
            self.skipTest('no pip or no setuptools: the packages python3-pip and python3-setuptools have them')
        shutil.copytree(os.path.join(SOURCE, 'introspection'), os.path.join(self.home, 'source'))
        site = os.path.join(self.home, 'site')
        subprocess.run([sys.executable, '-m', 'pip', 'install', '--quiet', '--no-build-isolation', '--no-deps', '--no-index',
                        '--disable-pip-version-check', '--root-user-action=ignore', '--target', site, os.path.join(self.home, 'source')],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=dict(self.bare(), PIP_CONFIG_FILE=os.devnull))
        environment = dict(os.environ, PYTHONPATH=site)
        script = self.script + '\nimport gi.overrides.Dvm as overrides, importlib.metadata as m\nprint(overrides.__file__, m.version("dvm"))'
        done = self.run_script(script, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        said, where, more = done.stdout.splitlines()
        self.assertEqual((said, where), ('works', f'{site}/dvm/__init__.py'))
        self.assertEqual(more, f'{site}/gi/overrides/Dvm.py 0.1.0')
        self.assertTrue(os.path.exists(f'{site}/dvm/py.typed'))
        self.assertTrue(os.path.exists(f'{site}/dvm/_Dvm.pyi'))

    def test_import_errors(self):
        """A sentence that says what is missing and how it is got."""
        package = os.path.join(BUILD, 'introspection', 'python')
        cases = [('typelib', {'GI_TYPELIB_PATH': ''}, 'GI_TYPELIB_PATH.*'), ('overrides', {'PYTHONPATH': package}, 'gi/overrides/Dvm.py')]
        for name, changes, words in cases:
            done = self.run_script('import dvm', env=dict(os.environ, **changes))
            last = done.stderr.splitlines()[-1]
            self.assertRegex(last, f'^ImportError: dvm .*{words}', name)
            self.assertIn('dvm-env.sh', last)
        done = self.run_script('import sys; sys.modules["gi"] = None; import dvm')
        self.assertRegex(done.stderr.splitlines()[-1], '^ImportError: dvm needs PyGObject.*python3-gi')
        # A Python without modules of the system, which finds the folder of our overrides and takes it for gi.
        done = subprocess.run([sys.executable, '-S', '-c', 'import gi.overrides; import dvm'], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              timeout=LIMIT, check=False)
        self.assertRegex(done.stderr.splitlines()[-1], '^ImportError: dvm needs PyGObject.*python3-gi')


if __name__ == '__main__':
    dvmtest.main()
