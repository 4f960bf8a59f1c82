#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the library is in Python, with the overrides of introspection/: descriptions, exceptions, asyncio, the executor."""

import asyncio
import concurrent.futures
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import gi
gi.require_version('Dvm', '1.0')
from gi.repository import Dvm, Gio, GLib

import dvmtest
from dvmtest import LIMIT, wait_until

SLEEP = ['sleep', '1000']


class WithoutDvm(unittest.TestCase):
    dvms = ()

    def run_and_finish(self):
        getattr(self, self._testMethodName)()

    def clear(self):
        pass


class Descriptions(WithoutDvm):
    def test_one_application(self):
        spec = Dvm.JobSpec(['prog', b'\xff'], np=3, cwd=b'/tmp/\xfe', env={'A': 'b'}, hosts=['h:2'], label='night')
        app, = spec.apps
        self.assertEqual(app.get_argv(), ['prog', os.fsdecode(b'\xff')])
        self.assertEqual((app.props.np, app.get_cwd(), app.get_env()), (3, os.fsdecode(b'/tmp/\xfe'), ['A=b']))
        self.assertEqual((app.props.hosts, spec.props.label), (['h:2'], 'night'))
        self.assertEqual(Dvm.JobSpec.new_from_json(spec.to_json()).to_variant(), spec.to_variant())

    def test_several_applications(self):
        spec = Dvm.JobSpec(apps=[Dvm.AppSpec('one', np=1), Dvm.AppSpec(['two', '2'])], timeout=5)
        self.assertEqual([app.get_argv() for app in spec.apps], [['one'], ['two', '2']])

    def test_mistakes(self):
        with self.assertRaisesRegex(TypeError, 'np'):
            Dvm.JobSpec(np=1)
        with self.assertRaisesRegex(TypeError, 'labell'):
            Dvm.JobSpec(['x'], labell='x')
        with self.assertRaisesRegex(TypeError, 'JobSpec has no option "unsetenv"; did you mean "unset_env"'):
            Dvm.JobSpec(['x'], unsetenv=['x'])
        with self.assertRaisesRegex(TypeError, 'JobSpec has no option "text"; there are .*clear_env.*, label, .*timeout'):
            Dvm.JobSpec(['x'], text=True)
        with self.assertRaisesRegex(TypeError, 'AppSpec has no option "hostt"; did you mean "hosts"'):
            Dvm.AppSpec(['x'], hostt=['x'])
        with self.assertRaisesRegex(Dvm.BadParamError, 'rubbish'):
            Dvm.JobSpec(['x'], map_by='rubbish:').validate()
        with self.assertRaisesRegex(ValueError, 'line 1'):
            Dvm.JobSpec.new_from_json('{')

    def test_names(self):
        self.assertIn("['one', 'two']", repr(Dvm.JobSpec(['one', 'two'])))
        self.assertEqual(repr(Dvm.Client()), '<Dvm.Client default not connected>')

    def test_each_code_has_a_class(self):
        for code in Dvm.Error.__enum_values__.values():
            words = code.value_nick.split('-')
            name = ''.join(map(str.capitalize, words)) + 'Error' if words != ['failed'] else 'DvmError'
            self.assertTrue(issubclass(getattr(Dvm, name), Dvm.DvmError), name)


class Installed(WithoutDvm):
    """The overrides that are installed, found by a Python that is told nothing but the place."""

    def test_installed(self):
        place = tempfile.mkdtemp(prefix='dvmtest-', dir='/tmp')
        try:
            subprocess.run([shutil.which('meson', path='/usr/bin') or 'meson', 'install', '-C', os.environ['DVM_TEST_BUILD'],
                            '--no-rebuild', '--quiet', '--destdir', place], check=True, stdin=subprocess.DEVNULL)
            path, = glob.glob(os.path.join(place, '**', 'gi', 'overrides', 'Dvm.py'), recursive=True)
            environment = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(os.path.dirname(path))))
            script = ('import gi; gi.require_version("Dvm", "1.0"); from gi.repository import Dvm; '
                      'import gi.overrides.Dvm as module; print(Dvm.Executor.__name__, module.__file__)')
            done = subprocess.run([sys.executable, '-c', script], env=environment, stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(done.stdout.split(), ['Executor', path])
        finally:
            shutil.rmtree(place)


class Case(dvmtest.Case):
    """A DVM, and what is left open of it closed."""

    def setUp(self):
        super().setUp()
        self.executors = []

    def clear(self):
        super().clear()
        for executor in self.executors:
            executor.shutdown(cancel_futures=True)

    def client(self, dvm):
        client = Dvm.Client.new_for_address(dvm.socket)
        client.connect_sync()
        return client

    def executor(self, dvm, **options):
        self.executors.append(Dvm.Executor(address=dvm.socket, **options))
        return self.executors[-1]


class Client(Case):
    def test_records(self):
        dvm = self.dvm(slots=2)
        client = self.client(dvm)
        job = client.submit(Dvm.JobSpec(['sh', '-c', 'exit 3'], np=2))
        self.assertIsNone(job.returncode)
        client.wait(job)
        self.assertEqual((job.returncode, repr(job)), (3, '<Dvm.Job 1 NON_ZERO_TERM>'))
        self.assertEqual([proc.get_rank() for proc in client.list_procs(job)], [0, 1])
        self.assertRegex(repr(client.list_procs(job)[0]), r'<Dvm.Proc rank=0 node=\S+ pid=\d+>')
        self.assertIn(dvm.socket, repr(client))
        nodes = client.get_nodes()
        wait_until(lambda: len(nodes) == 2, 'the nodes')
        self.assertRegex(repr([node for node in nodes][1]), r'<Dvm.Node 1 \S+ UP>')

    def test_errors(self):
        client = self.client(self.dvm(slots=1))
        with self.assertRaises(Dvm.NotFoundError) as caught:
            client.find_job('77')
        self.assertIsInstance(caught.exception, (GLib.Error, LookupError))
        self.assertTrue(caught.exception.matches(Dvm.error_quark(), Dvm.Error.NOT_FOUND))
        self.assertEqual(str(caught.exception), caught.exception.message)
        with self.assertRaises(Dvm.NotFoundError):
            Dvm.Client.new_for_address('/nonexistent/bus').connect_sync()
        cancellable = Gio.Cancellable()
        cancellable.cancel()
        with self.assertRaises(GLib.Error) as caught:
            client.get_info(cancellable)
        self.assertTrue(caught.exception.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED))

    def test_defaults(self):
        client = self.client(self.dvm(settings=['slots=1', 'map-by=node', 'display=map']))
        self.assertEqual(client.get_defaults().unpack(), {'map-by': 'node', 'display': 'map'})
        self.assertEqual(client.get_info().unpack()['Defaults'], client.get_defaults().unpack())

    def test_callbacks(self):
        """As in other languages; only a call without a callback is for coroutines."""
        client = self.client(self.dvm(slots=1))
        answers = []
        client.get_info_async(None, lambda source, result, data: answers.append((source.get_info_finish(result), data)), 5)
        wait_until(lambda: answers, 'the answer')
        self.assertEqual((answers[0][0].unpack()['SlotCount'], answers[0][1]), (1, 5))
        with self.assertRaisesRegex(RuntimeError, 'Dvm.run'):
            client.get_info_async()


class Size(Case):
    """Requests with keywords, results without a word for success, signals."""

    def elastic(self):
        return self.dvm(settings=['nodes=1', 'slots=1', 'elastic=true'])

    def test_calls(self):
        client = self.client(self.elastic())
        events = []
        client.connect('dvm-is-ready', lambda client, *event: events.append((event[0], event[1], event[2].unpack())))
        alloc_id, campaign = client.grow(hosts=['n9'], req_id='mine')
        client.wait_campaign(campaign)
        self.assertEqual(repr(campaign), '<Dvm.Campaign 1 grow completed>')
        wait_until(lambda: events, 'the event')
        self.assertEqual(events, [(alloc_id, 'mine', {'campaign': campaign.get_object_path(), 'kind': 'grow', 'nodes': ['n9']})])
        self.assertEqual([each.props.id for each in client.list_campaigns(all=True)], [1])
        self.assertEqual(client.grow(GLib.Variant('a{sv}', {'hosts': GLib.Variant('as', ['node1'])}))[1], None)
        answer = client.allocate('release', alloc_id=alloc_id)
        self.assertEqual((answer['alloc-id'], answer['campaign']), (alloc_id, '/org/dvm/campaigns/2'))
        client.wait_campaign(client.find_campaign('2'))
        with self.assertRaises(Dvm.BadParamError):
            client.shrink()

    def test_sessions(self):
        client = self.client(self.elastic())
        warnings = []
        client.connect('alloc-timeout-warning', lambda client, *warning: warnings.append(warning))
        alloc_id = client.allocate('new', hosts=['node1'], share=False, req_id='mine')['alloc-id']
        session = client.find_session('mine')
        self.assertEqual((session.props.alloc_id, session.props.nodes, session.props.shared), (alloc_id, ['node1'], False))
        self.assertIsNone(client.extend_session(session, time=1000, warn_timeout=999))
        wait_until(lambda: warnings, 'the warning')
        self.assertEqual(warnings[0][:2], (alloc_id, 'mine'))
        self.assertIn(warnings[0][2], range(900, 1000))
        for pause, state in (({'pause': True}, Dvm.SessionState.PAUSED), ({'resume': True}, Dvm.SessionState.ACTIVE)):
            client.control_session(session.props.id, **pause)
            self.assertEqual(client.find_session(alloc_id).props.state, state)
        job = client.submit(Dvm.JobSpec(SLEEP, np=1, target=[alloc_id]))
        wait_until(lambda: client.refresh_job(job) and job.props.num_launched == 1, 'the job to run')
        client.signal_session(session, 10)
        client.wait(job)
        client.refresh_job(job)
        self.assertEqual(job.returncode, -10)
        with self.assertRaises(Dvm.BadParamError):
            client.control_session(session.props.id, pause=True, terminate=True)
        self.assertIsNone(client.release_session(session))
        with self.assertRaises(Dvm.NotFoundError):
            client.pause_session(session)

    def test_sessions_in_coroutines(self):
        dvm = self.elastic()

        async def main():
            client = Dvm.Client.new_for_address(dvm.socket)
            await client.connect_async()
            answer = await client.control_session_async(0, instantiate=True, hosts=['n9'])
            await client.wait_campaign_async(await client.find_campaign_async(answer['campaign']))
            session = await client.find_session_async(answer['session'])
            await client.pause_session_async(session)
            await client.resume_session_async(session)
            campaign = await client.extend_session_async(session, hosts=['n10'])
            await client.wait_campaign_async(campaign)
            campaign = await client.release_session_async(session)
            await client.wait_campaign_async(campaign)
            return campaign

        campaign = Dvm.run(main())
        self.assertEqual(sorted(campaign.props.hosts), ['n10', 'n9'])

    def test_asyncio(self):
        dvm = self.elastic()

        async def main():
            client = Dvm.Client.new_for_address(dvm.socket)
            await client.connect_async()
            alloc_id, campaign = await client.grow_async(hosts=['n9'])
            await client.wait_campaign_async(campaign)
            session = await client.find_session_async(alloc_id)
            _, campaign = await client.shrink_async(hosts=session.props.nodes)
            await client.wait_campaign_async(campaign)
            return campaign

        self.assertEqual(repr(Dvm.run(main())), '<Dvm.Campaign 2 shrink completed>')


class Asyncio(Case):
    def connect_and(self, function):
        """Runs function(client, dvm) in an event loop."""
        dvm = self.dvm(slots=4)

        async def main():
            client = Dvm.Client.new_for_address(dvm.socket)
            await client.connect_async()
            return await function(client, dvm)

        return Dvm.run(main())

    def test_follow(self):
        async def main(client, dvm):
            return [change async for change in client.follow(Dvm.JobSpec(['sh', '-c', 'exit 3'], np=2))]

        changes = self.connect_and(main)
        self.assertEqual(changes[0].old, Dvm.JobState.UNDEF)
        self.assertEqual([change.old for change in changes[1:]], [change.new for change in changes[:-1]])
        self.assertEqual((changes[-1].new, changes[-1].job.returncode), (Dvm.JobState.NON_ZERO_TERM, 3))
        self.assertGreater(len(changes), 12)

    def test_follow_one_that_is_over(self):
        async def main(client, dvm):
            job = await client.submit_async(Dvm.JobSpec(['true'], np=1))
            await client.wait_async(job)
            return [change async for change in client.follow(await client.find_job_async(str(job.props.id)))]

        self.assertEqual(self.connect_and(main), [])

    def test_many(self):
        async def main(client, dvm):
            async def one(code):
                job = await client.submit_async(Dvm.JobSpec(['sh', '-c', f'exit {code}'], np=1))
                await client.wait_async(job)
                return job.returncode

            return await asyncio.gather(*map(one, range(100)))

        self.assertEqual(self.connect_and(main), list(range(100)))

    def test_cancelled_wait(self):
        """Nobody waits any more, and the job goes on."""
        async def main(client, dvm):
            job = await client.submit_async(Dvm.JobSpec(SLEEP, np=1))
            waiting = asyncio.ensure_future(client.wait_async(job))
            await asyncio.sleep(0)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            await client.refresh_job_async(job)
            self.assertFalse(job.props.ended)
            await client.cancel_job_async(job)
            await client.wait_async(job)
            self.assertEqual(job.props.state, Dvm.JobState.KILLED_BY_CMD)

        self.connect_and(main)

    def test_errors(self):
        async def main(client, dvm):
            with self.assertRaises(Dvm.NotFoundError):
                await client.find_job_async('77')
            with self.assertRaises(Dvm.BadParamError):
                await client.submit_async(Dvm.JobSpec(['x'], map_by='rubbish'))

        self.connect_and(main)

    def test_dvm_that_dies(self):
        async def main(client, dvm):
            spec = Dvm.JobSpec(SLEEP, np=1)
            job = await client.submit_async(spec)

            async def follow():
                async for change in client.follow(spec):
                    if change.new == Dvm.JobState.RUNNING:
                        dvm.process.kill()

            answers = await asyncio.gather(client.wait_async(job), follow(), return_exceptions=True)
            self.assertEqual([type(answer) for answer in answers], [Dvm.ShuttingDownError] * 2, answers)

        self.connect_and(main)
        self.dvms[0].process.wait()

    def test_beside_other_work(self):
        """Timers, threads and processes of asyncio and sources of GLib, all in one loop."""
        async def main(client, dvm):
            ticks = []
            GLib.idle_add(lambda: len(ticks) < 5 and (ticks.append(1) or True))
            loop = asyncio.get_running_loop()
            process = await asyncio.create_subprocess_exec('sh', '-c', 'exit 4')
            number = await loop.run_in_executor(None, lambda: 7)
            self.assertEqual((number, await process.wait()), (7, 4))
            while len(ticks) < 5:
                await asyncio.sleep(0.001)
            (await client.get_info_async()).unpack()

        self.connect_and(main)

    def test_other_loops(self):
        """An executor serves a loop of any kind."""
        dvm = self.dvm(slots=1)
        executor = self.executor(dvm)

        async def main():
            done = await asyncio.wrap_future(executor.submit(['echo', 'hello'], text=True))
            endless = asyncio.wrap_future(future := executor.submit(SLEEP))
            while not future.running():
                await asyncio.sleep(0.001)
            endless.cancel()
            await asyncio.wait([endless])
            return done.stdout, future.cancelled()

        self.assertEqual(asyncio.run(main()), ('hello\n', True))


class Executor(Case):
    def test_results(self):
        executor = self.executor(self.dvm(slots=2))
        done = executor.submit(['sh', '-c', 'echo $WORD; pwd; echo no >&2; exit 3'], capture_output=True, cwd='/',
                               env={'WORD': 'yes'}).result(LIMIT)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b'yes\n/\n', b'no\n'))
        self.assertEqual(done.job.props.state, Dvm.JobState.NON_ZERO_TERM)
        done = executor.submit(Dvm.JobSpec(['sh', '-c', 'kill -9 $$'], np=1)).result(LIMIT)
        self.assertEqual((done.returncode, done.stdout), (-9, None))

    def test_exceptions(self):
        executor = self.executor(self.dvm(slots=2))
        cases = [
            (subprocess.CalledProcessError, 'status 3', {'check': True}, ['sh', '-c', 'exit 3']),
            (Dvm.JobError, 'no-such-program', {}, ['no-such-program-at-all']),
            (Dvm.JobError, 'MAP_FAILED', {'np': 3, 'when_full': 'refuse'}, ['true']),
            (Dvm.BadParamError, 'rubbish', {'map_by': 'rubbish'}, ['true']),
        ]
        futures = [executor.submit(command, **options) for _, _, options, command in cases]
        for future, (kind, words, _, command) in zip(futures, cases):
            with self.assertRaisesRegex(kind, words):
                future.result(LIMIT)
        with self.assertRaises(TypeError):
            executor.submit(Dvm.JobSpec(['true']), np=1)

    def test_thousand(self):
        """In their order, never more than may be pending, each with its own output."""
        dvm = self.dvm(slots=4)
        executor = self.executor(dvm, max_pending=50)
        results = executor.map(['echo'], range(1000), text=True, timeout=300)
        self.assertEqual([int(done.stdout) for done in results], list(range(1000)))
        self.assertEqual(dvm.get('Statistics')['jobs-submitted'], 1000)

    def test_submitted_together(self):
        """Which go in one call: one that is refused spoils none of the others."""
        executor = self.executor(self.dvm(slots=4))
        commands = [Dvm.JobSpec(['sh', '-c', f'exit {code}'], np=1) for code in range(100)]
        commands[50] = Dvm.JobSpec(['true'], map_by='rubbish')
        commands[60] = Dvm.JobSpec(apps=[Dvm.AppSpec(['true'], np=1), Dvm.AppSpec(['sh', '-c', 'exit 60'], np=1)])
        futures = [executor.submit(command) for command in commands]
        with self.assertRaises(Dvm.BadParamError):
            futures.pop(50).result(LIMIT)
        self.assertEqual([future.result(LIMIT).returncode for future in futures], [*range(50), *range(51, 100)])

    def test_map_with_function(self):
        executor = self.executor(self.dvm(slots=2))
        results = executor.map(lambda a, b: ['sh', '-c', f'exit {a + b}'], [1, 2, 3], [10, 20, 30])
        self.assertEqual([done.returncode for done in results], [11, 22, 33])

    def test_map_that_is_left(self):
        """What nobody waits for any more is cancelled."""
        dvm = self.dvm(slots=1)
        executor = self.executor(dvm)
        with self.assertRaises(concurrent.futures.TimeoutError):
            list(executor.map(lambda n: SLEEP, range(20), timeout=0.2))
        executor.shutdown()
        self.assertEqual(dvm.get('JobsRunning'), 0)

    def test_much_output(self):
        executor = self.executor(self.dvm(slots=2))
        done = executor.submit(['head', '-c', '5000000', '/dev/zero'], capture_output=True).result(LIMIT)
        self.assertEqual((done.stdout, done.stderr), (bytes(5000000), b''))
        self.assertIs(type(done.stdout), bytes)

    def test_cancel_running(self):
        dvm = self.dvm(slots=1)
        executor = self.executor(dvm)
        running = executor.submit(SLEEP)
        waiting = executor.submit(SLEEP)
        wait_until(lambda: waiting.running() and dvm.job(running.job_id).state == dvmtest.RUNNING, 'the jobs')
        for future in (waiting, running):
            self.assertTrue(future.cancel())
            with self.assertRaises(concurrent.futures.CancelledError):
                future.result(LIMIT)
        # As soon as wait() knows of it, the job has really ended.
        concurrent.futures.wait([running], LIMIT)
        self.assertEqual(dvm.job(running.job_id).state, dvmtest.KILLED_BY_CMD)
        self.assertFalse(executor.submit(['true']).result(LIMIT).returncode)

    def test_cancel_at_any_moment(self):
        """While it is being handed over, too: none is left behind."""
        dvm = self.dvm(slots=4)
        executor = self.executor(dvm, max_pending=8)
        futures = [executor.submit(SLEEP) for _ in range(200)]
        for future in futures:
            future.cancel()
        done, left = concurrent.futures.wait(futures, LIMIT)
        self.assertEqual((len(done), len(left)), (200, 0))
        executor.shutdown()
        self.assertEqual(dvm.get('JobsRunning'), 0)

    def test_cancel_too_late(self):
        executor = self.executor(self.dvm(slots=1))
        future = executor.submit(['true'])
        future.result(LIMIT)
        self.assertFalse(future.cancel())

    def test_shutdown(self):
        dvm = self.dvm(slots=4)
        with self.executor(dvm) as executor:
            futures = [executor.submit(['true']) for _ in range(20)]
        self.assertTrue(all(future.done() for future in futures))
        with self.assertRaisesRegex(RuntimeError, 'after shutdown'):
            executor.submit(['true'])

    def test_shutdown_cancels(self):
        """What the DVM has not been given: what it has goes on."""
        dvm = self.dvm(slots=1)
        executor = self.executor(dvm, max_pending=1)
        futures = [executor.submit(['sh', '-c', 'while [ ! -e go ]; do sleep 0.01; done'], cwd=dvm.place) for _ in range(5)]
        wait_until(futures[0].running, 'the first job')
        executor.shutdown(wait=False, cancel_futures=True)
        self.assertEqual([future.cancelled() for future in futures], [False] + [True] * 4)
        open(os.path.join(dvm.place, 'go'), 'w').close()
        self.assertEqual(futures[0].result(LIMIT).returncode, 0)
        os.unlink(os.path.join(dvm.place, 'go'))

    def test_dvm_that_dies(self):
        """Every future gets an exception, whatever stood in between; nothing hangs."""
        dvm = self.dvm(slots=4)
        executor = self.executor(dvm, max_pending=10)
        futures = [executor.submit(SLEEP, capture_output=True) for _ in range(50)]
        wait_until(lambda: any(future.running() for future in futures), 'a job')
        dvm.process.kill()
        done, left = concurrent.futures.wait(futures, LIMIT)
        self.assertEqual(len(left), 0)
        self.assertEqual({type(future.exception()) for future in done}, {Dvm.ShuttingDownError})
        with self.assertRaises(concurrent.futures.BrokenExecutor):
            executor.submit(['true'])
        executor.shutdown()
        dvm.process.wait()

    def test_dvm_that_stops(self):
        dvm = self.dvm(slots=2)
        executor = self.executor(dvm, max_pending=4)
        futures = [executor.submit(SLEEP) for _ in range(10)]
        wait_until(lambda: any(future.running() for future in futures), 'a job')
        self.assertEqual(dvm.stop(), 0)
        for future in futures:
            with self.assertRaises((Dvm.JobError, Dvm.DvmError)):
                future.result(LIMIT)

    def test_no_dvm(self):
        with self.assertRaises(Dvm.NotFoundError):
            Dvm.Executor(address='/nonexistent/bus')
        with self.assertRaises(ValueError):
            Dvm.Executor(max_pending=0)

    def test_threads(self):
        executor = self.executor(self.dvm(slots=4))
        found = {}

        def work(number):
            results = executor.map(['echo', str(number)], range(20), text=True)
            found[number] = [done.stdout for done in results]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {number: [f'{number} {item}\n' for item in range(20)] for number in range(8)})

    def test_fork(self):
        """A child has no thread to do it: it is told so, and the parent goes on."""
        executor = self.executor(self.dvm(slots=1))
        child = os.fork()
        if child == 0:
            try:
                executor.shutdown()
                executor.submit(['true'])
            except RuntimeError as error:
                os._exit(7 if 'fork' in str(error) else 8)
            finally:
                os._exit(9)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.assertEqual(executor.submit(['true']).result(LIMIT).returncode, 0)

    def run_script(self, dvm, end, begin='', job='sleep 0.2; echo late', limit=LIMIT):
        script = ('import os, resource, sys, gi; gi.require_version("Dvm", "1.0"); from gi.repository import Dvm\n'
                  f'{begin}\nexecutor = Dvm.Executor(address={dvm.socket!r}, max_pending=1000)\n'
                  f'future = executor.submit(["sh", "-c", {job!r}], text=True)\n'
                  f'future.add_done_callback(lambda f: print(f.result().stdout, end="", flush=True))\n{end}')
        return subprocess.run([sys.executable, '-c', script], stdout=subprocess.PIPE, text=True, timeout=limit, check=False)

    def test_few_descriptors(self):
        """GLib ends a program that has none left: it must not come to that."""
        done = self.run_script(self.dvm(slots=4), 'print([r.stdout.strip() for r in executor.map(["echo"], range(300), text=True)])',
                               'resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))')
        self.assertEqual(done.returncode, 0)
        self.assertIn(repr([str(n) for n in range(300)]), done.stdout)

    def test_end_of_the_program(self):
        """Without a shutdown what was submitted is finished, as with other executors."""
        done = self.run_script(self.dvm(slots=1), '')
        self.assertEqual((done.returncode, done.stdout), (0, 'late\n'))

    def test_program_that_is_killed(self):
        """Its jobs end with it."""
        dvm = self.dvm(slots=1)
        done = self.run_script(dvm, f'import time\nwhile not future.running(): time.sleep(0.01)\nos.kill(os.getpid(), {int(signal.SIGKILL)})',
                               job='exec sleep 600')
        self.assertEqual((done.returncode, done.stdout), (-9, ''))
        wait_until(lambda: dvm.job(1).get('Ended'), 'the job to end')


if __name__ == '__main__':
    dvmtest.main()
