# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scheduler outside of the DVM, played by scripted allocators: it grants, refuses, delays, answers twice, dies, never answers, and
asks for things itself; and who gets which nodes back."""

import os
import re
import signal
import subprocess
import sys
from unittest import mock

import dbusdaemon
import dvmtest
from dvmtest import MANAGER, PROPERTIES, to_options, wait_until

ALLOC = os.environ.get('DVM_TEST_PMIX_ALLOC', '')
ALLOC_FAILED, TIMEOUT = -188, -24


class Case(dvmtest.Case):
    def elastic(self, *steps, nodes=1, settings=()):
        """The first step of each allocator is its nodes of the start: none."""
        script = '; '.join(['allocator decline', 'other decline', *steps])
        return self.dvm(slots=2, arguments=[f'--nodes={nodes}'],
                        settings=['elastic=true', 'pmix=eager', f'test-plugin={script}', *settings])

    def allocate(self, dvm, directive, connection=None, **request):
        call = connection.call if connection else dvm.connection.call
        return call(*MANAGER, 'Allocate', '(sa{sv})', directive, to_options(request))[0]

    def later(self, dvm, directive, **request):
        """A request that is not waited for: the answer, or the error's name and words, are its only item one day."""
        answers = []

        def on_answer(raw, result):
            try:
                answers.append(raw.call_finish(result).unpack()[0])
            except dvmtest.GLib.Error as error:
                answers.append((dvmtest.Gio.DBusError.get_remote_error(error).rpartition('.')[2], error.message))

        dvm.connection.raw.call(None, *MANAGER, 'Allocate', dvmtest.GLib.Variant('(sa{sv})', (directive, to_options(request))), None,
                                dvmtest.Gio.DBusCallFlags.NONE, dvmtest.LIMIT * 1000, None, on_answer)
        return answers

    def refused(self, name, words, function, *args, **kwargs):
        with self.assertRaises(dvmtest.DBusError) as caught:
            function(*args, **kwargs)
        self.assertEqual(caught.exception.name, name, caught.exception)
        self.assertIn(words, caught.exception.message)

    def session(self, dvm, path, name):
        return dvm.connection.call(path, PROPERTIES, 'Get', '(ss)', 'org.dvm.Session', name)[0]

    def names(self, dvm):
        return sorted(row['Name'] for row in dvm.get_nodes() if row['Rank'] > 0 and row['StateName'] == 'UP')

    def quiet(self, dvm, *names):
        wait_until(lambda: self.names(dvm) == sorted(names) and dvm.get('CampaignsRunning') == 0, f'{names}')

    def nothing(self, dvm, *names):
        """A request that was refused has left no trace."""
        objects = dvm.connection.call('/org/dvm', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects')[0]
        self.assertEqual([path for path in objects if 'sessions' in path and not path.endswith('/0')], [])
        self.assertEqual(dvm.call('ListCampaigns', '(a{sv})', to_options({'all': True}))[0], [])
        self.assertEqual(self.names(dvm), sorted(names))

    def asked(self, dvm):
        return re.findall(r'asked (\S+) of', dvm.log())

    def tool(self, dvm, node, *words):
        def find():
            for folder, _, names in os.walk(dvm.folder):
                if f'pmix.{node}.tool' in names:
                    return os.path.join(folder, f'pmix.{node}.tool')
            return None

        path = wait_until(find, f'the server of {node} to let tools in')
        tool = subprocess.Popen([ALLOC, '--tool', path, *words], stdout=subprocess.PIPE, text=True,
                                env={key: value for key, value in os.environ.items() if key != 'G_DEBUG'})
        self.tools.append(tool)
        return tool

    tools = ()

    def setUp(self):
        super().setUp()
        self.tools = []

    def clear(self):
        for tool in self.tools:
            tool.kill()
            tool.wait()
            tool.stdout.close()
        super().clear()


class Decides(Case):
    def test_grants(self):
        """As it was asked for; other nodes under its own id, number and limit; or it leaves it to the DVM (S7)."""
        dvm = self.elastic('decide done', 'decide done hosts=x1:3,x2 alloc-id=sched.7 session=12 time=3000', 'decide decline',
                           'decide done')
        first = self.allocate(dvm, 'new', hosts=['n8'], share=False)
        second = self.allocate(dvm, 'new', count=1, share=False, warn_timeout=5)
        third = self.allocate(dvm, 'new', hosts=['n9'])
        self.quiet(dvm, 'n8', 'n9', 'node1', 'x1', 'x2')
        self.assertEqual((second['alloc-id'], second['session']), ('sched.7', '/org/dvm/sessions/12'))
        self.assertNotEqual(self.session(dvm, second['session'], 'ExpiresAt'), 0)
        rows = {row['Name']: row for row in dvm.get_nodes()}
        self.assertEqual([(rows[name]['Allocator'], rows[name]['Slots']) for name in ('n8', 'x1', 'x2')],
                         [('hosts', 2), ('test', 3), ('test', 2)])
        self.allocate(dvm, 'release', alloc_id='sched.7')
        self.quiet(dvm, 'n8', 'n9', 'node1')
        self.assertEqual(self.asked(dvm), ['new', 'new', 'release'])
        self.assertIn(f"offered x1,x2 of sched.7", dvm.log())
        self.assertRegex(dvm.log(), rf"asked new of 0 by private:\d+ \(bus\.{os.getuid()}, uid {os.getuid()}\): .*'share': <false>")
        self.assertEqual(len({first['alloc-id'], second['alloc-id'], third['alloc-id']}), 3)

    def test_another_decides(self):
        """What one leaves open the next one is asked."""
        dvm = self.elastic('decide decline', 'other-decide done hosts=x1', 'decide decline', 'other-decide fail not by me')
        self.allocate(dvm, 'new', count=1, share=False)
        self.quiet(dvm, 'node1', 'x1')
        self.assertEqual([row['Allocator'] for row in dvm.get_nodes() if row['Name'] == 'x1'], ['other'])
        self.refused('AllocFailed', 'not by me', self.allocate, dvm, 'new', count=1)
        self.quiet(dvm, 'node1', 'x1')

    def test_refuses(self):
        """With its own words; what it says that is no answer is a refusal too."""
        dvm = self.elastic('decide fail not today', 'decide wrong', 'decide done hosts=+e', 'decide done', 'decide fail not this one')
        self.refused('AllocFailed', 'not today', self.allocate, dvm, 'new', hosts=['n8'])
        self.refused('AllocFailed', 'colour', self.allocate, dvm, 'new', hosts=['n8'])
        self.refused('BadParam', 'no hosts', self.allocate, dvm, 'new', hosts=['n8'])
        self.nothing(dvm, 'node1')
        answer = self.allocate(dvm, 'new', hosts=['n8'])
        self.quiet(dvm, 'n8', 'node1')
        self.refused('AllocFailed', 'not this one', self.allocate, dvm, 'release', alloc_id=answer['alloc-id'])
        self.quiet(dvm, 'n8', 'node1')

    def test_is_not_asked(self):
        """What the DVM itself refuses never comes to it (R52)."""
        dvm = self.elastic('decide done')
        self.refused('BadParam', 'colour', self.allocate, dvm, 'new', colour='red')
        self.refused('NotFound', 'nobody', self.allocate, dvm, 'extend', alloc_id='nobody', hosts=['n8'])
        self.refused('NotFound', 'nobody', self.allocate, dvm, 'release', alloc_id='nobody')
        self.refused('NotFound', 'nobody', self.allocate, dvm, 'cancel', alloc_id='nobody')
        self.assertEqual(self.asked(dvm), [])

    def test_delays_and_answers_twice(self):
        """Nothing happens before its answer, others are served, and its second answer is not heard."""
        go = os.path.join(self.place(), 'go')
        dvm = self.elastic(f'decide until {go}', 'decide twice', 'decide done hosts=x1', 'decide done', 'allocator twice',
                           'allocator done x2', 'give-back twice', 'give-back done')
        answers = self.later(dvm, 'new', count=1)
        wait_until(lambda: self.asked(dvm) == ['new'], 'it to be asked')
        dvm.run(['true'])
        self.nothing(dvm, 'node1')
        with open(go, 'w'):
            pass
        wait_until(lambda: answers, 'the answer')
        self.quiet(dvm, 'node1', 'x1')
        other = self.allocate(dvm, 'new', count=1)
        self.quiet(dvm, 'node1', 'x1', 'x2')
        self.allocate(dvm, 'release', alloc_id=other['alloc-id'])
        self.quiet(dvm, 'node1', 'x1')
        self.assertEqual(dvm.log().count('offered x2 of'), 1)

    def test_never_answers(self):
        """Whoever never answers is not waited for longer than allocator-timeout, whatever it was asked."""
        dvm = self.elastic('decide never', 'decide done', 'decide done', 'allocator never', 'allocator done x1', settings=['allocator-timeout=1'])
        self.refused('Timeout', 'allocator test has not answered within 1 s', self.allocate, dvm, 'new', count=1)
        self.refused('Timeout', 'allocator-timeout', self.allocate, dvm, 'new', count=1)
        self.nothing(dvm, 'node1')
        self.allocate(dvm, 'new', count=1)
        self.quiet(dvm, 'node1', 'x1')

    def test_dies(self):
        """Without its scheduler nobody decides: each request is refused, and the DVM goes on."""
        dvm = self.elastic('decide done', 'decide die the scheduler has gone')
        answer = self.allocate(dvm, 'new', hosts=['n8'])
        self.quiet(dvm, 'n8', 'node1')
        for _ in range(2):
            self.refused('AllocFailed', 'the scheduler has gone', self.allocate, dvm, 'release', alloc_id=answer['alloc-id'])
        self.assertEqual(dvm.run(['true'], np=4).state, dvmtest.NOTIFIED)

    def test_end_of_the_dvm(self):
        """Who waits for a scheduler learns that the DVM has ended."""
        dvm = self.elastic('decide never')
        self.later(dvm, 'new', count=1)
        wait_until(lambda: self.asked(dvm) == ['new'], 'it to be asked')
        dvm.stop()


class Withdrawn(Case):
    def test_cancelled(self):
        """A request that waits for a scheduler can be taken back, by the id that its requester gave it."""
        dvm = self.elastic('decide never', 'decide decline', 'allocator never')
        for _ in range(2):
            answers = self.later(dvm, 'new', count=1, req_id='mine')
            wait_until(lambda: dvm.log().count('asked new') >= 1, 'it to be asked')
            dvm.get('State')
            self.assertEqual(answers, [])
            self.assertEqual(self.allocate(dvm, 'cancel', of_req_id='mine', req_id='no')['req-id'], 'no')
            wait_until(lambda: answers, 'the answer')
            self.assertIn('withdrawn', answers[0][1])
        self.refused('NotFound', 'mine', self.allocate, dvm, 'cancel', of_req_id='mine')
        self.nothing(dvm, 'node1')

    def test_not_by_others(self):
        """A program has no right to what somebody else has asked for."""
        dvm = self.elastic('decide never')
        answers = self.later(dvm, 'new', count=1, req_id='mine')
        wait_until(lambda: self.asked(dvm) == ['new'], 'it to be asked')
        done = dvm.run([ALLOC, 'cancel', 'req=mine'])
        self.assertEqual(done.lines, ['0 cancel -23'], done)
        self.assertEqual(answers, [])
        self.allocate(dvm, 'cancel', of_req_id='mine')
        wait_until(lambda: answers, 'the answer')

    def test_of_one_name(self):
        """Who takes back what it has asked for by its own id means that, and not what somebody else calls the same."""
        dvm = self.elastic('decide never', 'decide never')
        answers = self.later(dvm, 'new', count=1, req_id='mine')
        wait_until(lambda: self.asked(dvm) == ['new'], 'it to be asked')
        go = os.path.join(dvm.place, 'go')
        job, out, _ = dvm.start([ALLOC, 'rank', '0', 'new', 'count=1', 'req=mine', 'rank', '1', 'file', go, 'cancel', 'req=mine'], np=2)
        wait_until(lambda: self.asked(dvm) == ['new'] * 2, 'the other one to be asked')
        with open(go, 'w', encoding='utf-8'):
            pass
        job.wait()
        self.assertIn('1 cancel 0', out.finish().decode())
        self.assertEqual(answers, [])
        self.allocate(dvm, 'cancel', of_req_id='mine')
        wait_until(lambda: answers, 'the answer')
        self.nothing(dvm, 'node1')

    def test_tool_gone(self):
        """What a tool has asked for is withdrawn when it goes."""
        dvm = self.elastic('decide never')
        tool = self.tool(dvm, 'node1', 'new', 'count=1')
        wait_until(lambda: self.asked(dvm) == ['new'], 'it to be asked')
        self.assertRegex(dvm.log(), r'by pmix:\S+@tool-1-1-1\.0 \(\S+@tool-1-1-1, uid')
        tool.kill()
        wait_until(lambda: 'withdrawn' in dvm.log(), 'the request to be withdrawn')
        self.nothing(dvm, 'node1')

    def test_job_gone(self):
        """Nodes that are granted to a job that has ended meanwhile go back where they came from."""
        go = os.path.join(self.place(), 'go')
        dvm = self.elastic(f'decide until {go}', 'decide done hosts=x1', 'give-back done')
        job = dvm.submit([ALLOC, 'new', 'count=1'], np=1)
        wait_until(lambda: self.asked(dvm) == ['new'], 'it to be asked')
        job.cancel()
        job.wait()
        with open(go, 'w'):
            pass
        wait_until(lambda: 'offered x1 of' in dvm.log(), 'the node to go back')
        self.nothing(dvm, 'node1')


class Codes(Case):
    def test_to_programs(self):
        """A program gets the refusal as a status."""
        dvm = self.elastic('decide fail not today', 'decide never', settings=['allocator-timeout=1'])
        done = dvm.run([ALLOC, 'new', 'list=n8', 'new', 'list=n8'])
        self.assertEqual([line.split()[2] for line in done.lines], [str(ALLOC_FAILED), str(TIMEOUT)], done)
        self.nothing(dvm, 'node1')


class Several(Case):
    def test_each_its_own(self):
        """A release is offered to every allocator, with the nodes that it has brought, once (E40, S28)."""
        dvm = self.elastic('allocator done x1', 'allocator decline', 'other done y1', 'allocator decline', 'other decline',
                           'allocator done x2')
        ids = [self.allocate(dvm, 'new', count=1)['alloc-id'] for _ in range(2)]
        self.allocate(dvm, 'new', hosts=['n9'])
        self.quiet(dvm, 'n9', 'node1', 'x1', 'y1')
        rows = {row['Name']: row['Allocator'] for row in dvm.get_nodes()}
        self.assertEqual([rows[name] for name in ('x1', 'y1', 'n9')], ['test', 'other', 'hosts'])
        self.allocate(dvm, 'release', hosts=['x1', 'y1'])
        self.quiet(dvm, 'n9', 'node1')
        offers = re.findall(r'((?:other )?offered \S+) of', dvm.log())
        self.assertEqual(sorted(offers), ['offered x1', 'other offered y1'])
        told = re.findall(r'((?:other )?told of the release of \S+), of which \[(.*)\]', dvm.log())
        self.assertEqual(sorted(told), [('other told of the release of x1,y1', 'y1'), ('told of the release of x1,y1', 'x1')])
        self.assertEqual(len(set(ids)), 2)
        # One that has brought none of the nodes hears of it, too.
        self.allocate(dvm, 'new', count=1)
        self.quiet(dvm, 'n9', 'node1', 'x2')
        self.allocate(dvm, 'release', hosts=['x2'])
        self.quiet(dvm, 'n9', 'node1')
        self.assertIn('other told of the release of x2, of which [] are its own', dvm.log())
        # What nobody takes back is offered to all.
        self.allocate(dvm, 'release', hosts=['n9'])
        self.quiet(dvm, 'node1')
        offers = re.findall(r'((?:other )?offered n9) of', dvm.log())
        self.assertEqual(sorted(offers), ['offered n9', 'other offered n9'])

    def test_not_used(self):
        """Nodes that an allocator has found, and that cannot be used, go back to it, those in use do not."""
        dvm = self.elastic('decide done hosts=x1 session=5', 'decide done hosts=x2,x1 session=5')
        self.allocate(dvm, 'new', count=1)
        self.refused('Exists', '5', self.allocate, dvm, 'new', count=1)
        self.quiet(dvm, 'node1', 'x1')
        wait_until(lambda: 'offered x2 of' in dvm.log(), 'x2 to go back')
        self.assertNotIn('offered x1', dvm.log())


class Pushes(Case):
    def test_directives(self):
        """It grows, extends, warns of the end of, and releases what is somebody else's."""
        place = self.place()
        go = [os.path.join(place, f'go{i}') for i in range(4)]
        steps = [f'push until {go[0]}', 'push done extend session=1 hosts=x2', f'push until {go[1]}', 'push done warn session=1 seconds=77',
                 f'push until {go[2]}', 'push done release session=1', f'push until {go[3]}', 'push done release session=9']
        dvm = self.elastic('decide done hosts=x1', *steps)
        answer = self.allocate(dvm, 'new', count=1, req_id='mine')
        self.quiet(dvm, 'node1', 'x1')
        told = []
        dvm.connection.raw.signal_subscribe(None, MANAGER[1], 'AllocTimeoutWarning', None, None, 0,
                                            lambda *args: told.append(args[5].unpack()))

        def let(number):
            with open(go[number], 'w'):
                pass

        let(0)
        self.quiet(dvm, 'node1', 'x1', 'x2')
        let(1)
        wait_until(lambda: told, 'the warning')
        self.assertEqual(told, [(answer['alloc-id'], 'mine', 77)])
        let(2)
        self.quiet(dvm, 'node1')
        self.assertIn(f'offered x1,x2 of {answer["alloc-id"]}', dvm.log())
        let(3)
        wait_until(lambda: 'asks for “release”, which is refused' in dvm.log(), 'the refusal')

    def test_control(self):
        """It pauses, resumes and ends what runs in a session, and is told when that has ended (S22)."""
        place = self.place()
        go = [os.path.join(place, f'go{i}') for i in range(3)]
        dvm = self.elastic('decide done hosts=x1', f'push until {go[0]}', 'push done control-session session=1 pause=true',
                           f'push until {go[1]}', 'push done control-session session=1 resume=true', f'push until {go[2]}',
                           'push done terminate session=1')
        answer = self.allocate(dvm, 'new', count=1, share=False, inheritance='none')
        self.quiet(dvm, 'node1', 'x1')
        job = dvm.submit(['sleep', '1000'], np=1, personality='plain', target=[answer['alloc-id']])
        job.wait_running()

        def let(number):
            with open(go[number], 'w'):
                pass

        def stopped():
            with open(f'/proc/{job.pids()[0]}/stat') as file:
                return file.read().rpartition(')')[2].split()[0] == 'T'

        let(0)
        wait_until(stopped, 'the job to stand still')
        let(1)
        wait_until(lambda: not stopped(), 'the job to go on')
        let(2)
        self.assertEqual(job.wait()['state'], dvmtest.KILLED_BY_CMD)
        self.quiet(dvm, 'node1')
        wait_until(lambda: f'completed session 1 of {answer["alloc-id"]}: [({job.get("Id")},' in dvm.log(), 'the word of its end')

    def test_session_with_a_job(self):
        """It makes a session with a job in it, which ends with that (S15)."""
        go = os.path.join(self.place(), 'go')
        dvm = self.elastic(f'push until {go}', 'push done session x1 sh -c true')
        with open(go, 'w'):
            pass
        wait_until(lambda: 'completed session 1 of' in dvm.log(), 'the word of its end')
        wait_until(lambda: dvm.get('CampaignsRunning') == 0, 'the campaigns')

    def test_warning_to_a_program(self):
        """R65-R68: to the one that asked, as PMIx's own event; its neighbour hears of nothing."""
        go = os.path.join(self.place(), 'go')
        dvm = self.elastic('decide done', f'push until {go}', 'push done warn session=1 seconds=30', nodes=2)
        words = ['register', 'fence', 'rank', '1', 'new', 'list=n9', 'req=mine', 'warn=30', 'wait', '2', 'all', 'settle', '100', 'fence']
        job, out, _ = dvm.start([ALLOC, *words], np=2, map_by='node')
        wait_until(lambda: b'event -195' in out.data, 'the node')
        with open(go, 'w'):
            pass
        result = job.wait()
        lines = out.finish().decode().splitlines()
        self.assertEqual(result['state'], dvmtest.NOTIFIED, (result, lines))
        alloc = re.search(r'id=(\S+)', lines[0])[1]
        self.assertEqual(lines[2:], [f'1 event -194 id={alloc} req=mine left=30'])
        self.assertIn("'warn-timeout': <uint32 30>", dvm.log())


class Tools(Case):
    def test_end(self):
        """What a tool owned goes the way of its inheritance when it goes, is killed, or its node's agent dies."""
        dvm = self.elastic(nodes=2)
        go = os.path.join(self.place(), 'go')
        tools = [self.tool(dvm, 'node1', 'register', 'new', 'list=n7', 'inherit=1', 'wait', '1', 'file', go),
                 self.tool(dvm, 'node1', 'register', 'new', 'list=n8', 'inherit=1', 'wait', '1', 'stay'),
                 self.tool(dvm, 'node2', 'register', 'new', 'list=n9', 'inherit=1', 'wait', '1', 'stay')]
        self.quiet(dvm, 'n7', 'n8', 'n9', 'node1', 'node2')
        with open(go, 'w'):
            pass
        tools[0].communicate(timeout=dvmtest.LIMIT)
        self.quiet(dvm, 'n8', 'n9', 'node1', 'node2')
        tools[1].kill()
        self.quiet(dvm, 'n9', 'node1', 'node2')
        rows = {row['Name']: row['Pid'] for row in dvm.get_nodes()}
        os.kill(rows['node2'], dvmtest.signal.SIGKILL)
        self.quiet(dvm, 'node1')

class Scripted:
    """A scheduler on a bus that answers what the test says: calls wait until then."""

    PATH, INTERFACE = '/org/dvm/Scheduler', 'org.dvm.Scheduler'
    XML = os.path.join(os.environ['DVM_TEST_SAMPLES'], '..', '..', 'dbus', 'org.dvm.Scheduler.xml')

    def __init__(self, address, name):
        self.connection = dvmtest.Connection(address, 'org.freedesktop.DBus')
        self.calls = []
        with open(self.XML, encoding='utf-8') as f:
            interface = dvmtest.Gio.DBusNodeInfo.new_for_xml(f.read()).interfaces[0]
        self.connection.raw.register_object(self.PATH, interface, self.on_call, None, None)
        self.ask_bus('RequestName', '(su)', name, 0)

    def ask_bus(self, method, signature, *arguments):
        return self.connection.call('/org/freedesktop/DBus', 'org.freedesktop.DBus', method, signature, *arguments)[0]

    def on_call(self, connection, sender, path, interface, method, arguments, invocation):
        self.calls.append((method, arguments.unpack(), invocation))

    def wait(self, method):
        """The arguments, and what answers."""
        call = wait_until(lambda: next((call for call in self.calls if call[0] == method), None), f'{method} to be called')
        self.calls.remove(call)
        return call[1], call[2]

    def decide(self, **answer):
        arguments, invocation = self.wait('Decide')
        invocation.return_value(dvmtest.GLib.Variant('(ba{sv})', (True, to_options(answer))))
        return arguments

    def find(self, dvm):
        """The connections of that DVM."""
        names = [name for name in self.ask_bus('ListNames', '()') if name.startswith(':')]
        return [name for name in names if self.ask_bus('GetConnectionUnixProcessID', '(s)', name) == dvm.pid]

    def push(self, connection, receiver, directive, **request):
        connection.raw.emit_signal(receiver, self.PATH, self.INTERFACE, 'Push',
                                   dvmtest.GLib.Variant('(sa{sv})', (directive, to_options(request))))


class OnTheBus(Case):
    """The scheduler of the samples, a program of its own on a bus of its own; and one that does what no good one does."""

    NAME = 'org.example.Scheduler'

    def setUp(self):
        super().setUp()
        self.schedulers = []
        self.folder = self.place()
        self.bus = dbusdaemon.MessageBus(self.folder)

    def clear(self):
        for scheduler in self.schedulers:
            scheduler.kill()
            scheduler.wait()
        super().clear()
        self.bus.stop()

    def scheduler(self, *words):
        self.said = os.path.join(self.folder, f'said{len(self.schedulers)}')
        with open(self.said, 'w') as log:
            scheduler = subprocess.Popen([sys.executable, os.path.join(os.environ['DVM_TEST_SAMPLES'], 'scheduler.py'), *words],
                                         env={**os.environ, 'DBUS_SESSION_BUS_ADDRESS': self.bus.address}, stdout=log, stderr=log)
        self.schedulers.append(scheduler)
        self.wait_said(f'{self.NAME} has')
        return scheduler

    def wait_said(self, *words):
        def find():
            with open(self.said) as f:
                lines = f.read().splitlines()
            return lines if all(any(line.startswith(word) for line in lines) for word in words) else None

        return wait_until(find, f'the scheduler to say {words}')

    def on_bus(self, name=NAME, **options):
        wishes = f'allocator-bus.name={name} allocator-bus.bus={self.bus.address}'
        return self.try_dvm(settings=['elastic=true', 'launcher=local', f'plugin-settings={wishes}', *options.pop('settings', ())], **options)

    def start(self):
        dvm = self.on_bus()
        self.assertEqual(dvm.answer, 'READY\n')
        dvm.connection = dvm.connect()
        return dvm

    def start_logical(self, *settings):
        """It asks nobody for its nodes."""
        dvm = self.on_bus(arguments=['--nodes=1'], slots=2, settings=settings)
        self.assertEqual(dvm.answer, 'READY\n')
        dvm.connection = dvm.connect()
        return dvm

    def rows(self, dvm):
        return {row['Name']: (row['Allocator'], row['Slots']) for row in dvm.get_nodes() if row['Rank'] > 0}

    def test_grants_and_takes_back(self):
        """Its nodes at the start, more of them by its decision under its own name, and none when there are none."""
        self.scheduler('--nodes', 'n1:4,n2:3,n3:2', '--start', '1')
        dvm = self.start()
        self.assertEqual(self.rows(dvm), {'n1': ('bus', 4)})
        answer = self.allocate(dvm, 'new', count=2, share=False)
        self.quiet(dvm, 'n1', 'n2', 'n3')
        self.assertEqual((answer['alloc-id'], self.rows(dvm)['n3']), ('sample.1', ('bus', 2)))
        self.refused('OutOfResource', '1 nodes are asked for, and 0 are free', self.allocate, dvm, 'new', count=1)
        self.refused('OutOfResource', "elsewhere is none of the scheduler's nodes", self.allocate, dvm, 'new', hosts=['elsewhere'])
        self.assert_success(dvm.run(['true'], np=5, target=['sample.1']))
        self.allocate(dvm, 'release', alloc_id='sample.1')
        self.quiet(dvm, 'n1')
        self.wait_said('back: n2 n3', 'ended: sample.1 with 1 jobs')
        self.allocate(dvm, 'new', hosts=['n2'])
        self.quiet(dvm, 'n1', 'n2')

    def test_share(self):
        self.scheduler('--nodes', 'n1,n2,n3', '--most', '1')
        dvm = self.start()
        self.allocate(dvm, 'new', count=1, share=False)
        self.refused('OutOfResource', f'uid {os.getuid()} has 1 nodes, and may have 1', self.allocate, dvm, 'new', count=1)

    def test_its_time(self):
        """It warns and ends of itself, with the jobs."""
        self.scheduler('--nodes', 'n1,n2', '--time', '2', '--warn', '1')
        dvm = self.start()
        warned = []
        dvm.connection.raw.signal_subscribe(None, MANAGER[1], 'AllocTimeoutWarning', None, None, dvmtest.Gio.DBusSignalFlags.NONE,
                                            lambda *arguments: warned.append(arguments[5].unpack()))
        other = dvmtest.Connection(self.bus.address, self.NAME)
        overheard = dvmtest.Signals(other)
        self.allocate(dvm, 'new', count=1, share=False)
        self.quiet(dvm, 'n1', 'n2')
        job = dvm.submit(['sleep', '1000'], np=1, target=['sample.1'])
        self.assertEqual(job.wait()['state'], dvmtest.KILLED_BY_CMD)
        self.quiet(dvm, 'n1')
        wait_until(lambda: warned, 'the warning')
        self.assertEqual([row[0] for row in warned], ['sample.1'])
        lines = self.wait_said('ended: sample.1 with 1 jobs')
        self.assertEqual([line.partition(' ')[0] for line in lines[-4:]], ['warn:', 'release:', 'back:', 'ended:'], lines)
        # It has told this DVM alone: others, which have the same scheduler, would obey.
        with self.assertRaises(dvmtest.DBusError):
            other.call('/org/dvm/Scheduler', 'org.dvm.Scheduler', 'Nothing')
        while dvmtest.GLib.MainContext.default().iteration(False):
            pass
        self.assertEqual(overheard.heard, [])

    def test_not_there(self):
        """Nobody gets nodes without it, jobs go on, and it is found when it comes, also after the bus has gone."""
        scheduler = self.scheduler('--nodes', 'n1:2,n2')
        dvm = self.start()
        job = dvm.submit(['sleep', '1000'], np=1)
        job.wait_running()
        scheduler.kill()
        scheduler.wait()
        self.refused('AllocFailed', f'The scheduler {self.NAME}, which decides of nodes, is not on', self.allocate, dvm, 'new', count=1)
        self.bus.stop()
        wait_until(lambda: self.cannot_reach(dvm), 'it to see that the bus has gone')
        self.bus.start()
        self.scheduler('--nodes', 'n1:2,n2')
        self.allocate(dvm, 'new', hosts=['n2'])
        self.quiet(dvm, 'n1', 'n2')
        self.assertEqual(job.state, dvmtest.RUNNING)
        job.cancel()

    def cannot_reach(self, dvm):
        try:
            self.allocate(dvm, 'new', count=1)
        except dvmtest.DBusError as error:
            self.assertEqual(error.name, 'AllocFailed', error)
            return 'cannot be reached' in error.message
        return False

    def test_no_start_without_it(self):
        for name, words in ((self.NAME, 'is not on'), ('example', 'names no service of a bus')):
            dvm = self.on_bus(name)
            self.assertNotEqual(dvm.answer, 'READY\n')
            dvm.process.wait(dvmtest.LIMIT)
            self.assertIn(words, dvm.log())

    def test_answers_too_late(self):
        """The requester has been told that it takes too long; what is given then goes back."""
        scheduler = self.scheduler('--nodes', 'n1,n2')
        dvm = self.on_bus(settings=['allocator-timeout=1'])
        dvm.connection = dvm.connect()
        scheduler.send_signal(signal.SIGSTOP)
        self.refused('Timeout', '', self.allocate, dvm, 'new', count=1)
        scheduler.send_signal(signal.SIGCONT)
        self.wait_said('new by', 'back: n2')
        self.nothing(dvm, 'n1')

    def test_late_as_asked_for(self):
        """The hosts that were asked for are given back, too; and one connection is enough for a DVM that looks for the bus itself."""
        dvm = self.start_logical('allocator-timeout=2')
        self.bus.stop()
        wait_until(lambda: self.cannot_reach(dvm), 'it to see that the bus has gone')
        self.bus.start()
        scheduler = Scripted(self.bus.address, self.NAME)
        answers = self.later(dvm, 'new', count=1)
        scheduler.decide()
        wait_until(lambda: answers, 'one more node of this machine')
        self.quiet(dvm, 'node1', 'node2')
        answers = self.later(dvm, 'new', hosts=['n8:2,n9'])
        arguments, invocation = scheduler.wait('Decide')
        wait_until(lambda: answers, 'its end')
        self.assertEqual(answers[0][0], 'Timeout', answers)
        self.assertEqual(len(scheduler.find(dvm)), 1)
        invocation.return_value(dvmtest.GLib.Variant('(ba{sv})', (True, {})))
        arguments, invocation = scheduler.wait('GiveBack')
        self.assertEqual(arguments, ('', ['n8', 'n9'], {}))
        invocation.return_dbus_error('org.example.Error', 'no time')
        line = f"The scheduler {self.NAME} has not taken GiveBack('', ['n8', 'n9'], {{}}): The scheduler {self.NAME}: no time"
        wait_until(lambda: line in dvm.log(), 'it to say that they are lost')
        self.assertEqual(self.names(dvm), ['node1', 'node2'])

    def test_untold(self):
        """A session that ends when there is no bus is a line of the log."""
        dvm = self.start_logical()
        scheduler = Scripted(self.bus.address, self.NAME)
        answers = self.later(dvm, 'new', hosts=['n8'], share=False)
        scheduler.decide(hosts=['n8:2'], alloc_id='mine.1')
        wait_until(lambda: answers, 'the node')
        self.quiet(dvm, 'n8', 'node1')
        self.later(dvm, 'release', alloc_id='mine.1')
        scheduler.decide()
        self.assertEqual(scheduler.wait('GiveBack')[0], ('mine.1', ['n8'], {'all': ['n8']}))
        self.bus.stop()
        wait_until(lambda: re.search(r"has not taken SessionEnded\(\d+, 'mine.1', .*cannot be reached", dvm.log()), 'it to be said')

    def test_logical_nodes(self):
        """Neither a scheduler that is not there nor one that has no good name is asked for them, and what it wants is heard from the start."""
        self.assertEqual(self.on_bus('example', arguments=['--nodes=1']).answer, 'READY\n')
        dvm = self.start_logical()
        scheduler = Scripted(self.bus.address, self.NAME)
        stranger = Scripted(self.bus.address, 'org.example.Stranger')
        receiver = wait_until(lambda: scheduler.find(dvm), 'a connection')[0]

        def listens():
            scheduler.push(scheduler.connection, receiver, 'warn', alloc_id='none', seconds=1)
            return 'asks for “warn”, which is refused' in dvm.log()

        wait_until(listens, 'it to listen')
        # Of strangers it hears nothing, also when they speak to it alone.
        stranger.push(stranger.connection, receiver, 'new', hosts=['n8'])
        stranger.push(stranger.connection, None, 'new', hosts=['n9'])
        stranger.find(dvm)
        scheduler.push(scheduler.connection, receiver, 'terminate', alloc_id='none')
        wait_until(lambda: 'asks for “terminate”, which is refused' in dvm.log(), 'it to hear')
        self.nothing(dvm, 'node1')

    def test_no_bus_is_started(self):
        """GLib would run dbus-launch; the socket of a session is found without it."""
        place = self.place()
        launched = os.path.join(place, 'launched')
        os.mkdir(os.path.join(place, 'run'))
        with open(os.path.join(place, 'dbus-launch'), 'w', opener=lambda path, flags: os.open(path, flags, 0o700)) as f:
            f.write(f'#!/bin/sh\ntouch {launched}\nexit 1\n')
        environment = {'DISPLAY': ':99', 'PATH': f"{place}:{os.environ['PATH']}"}
        with mock.patch.dict(os.environ, environment):
            os.environ.pop('DBUS_SESSION_BUS_ADDRESS', None)
            settings = ['elastic=true', 'launcher=local', f'plugin-settings=allocator-bus.name={self.NAME}']
            dvm = self.try_dvm(settings=settings, place=place)
            self.assertNotEqual(dvm.answer, 'READY\n')
            self.assertIn('the session bus cannot be reached: There is no such bus here', dvm.log())
            self.assertFalse(os.path.exists(launched))
            dvm.process.wait(dvmtest.LIMIT)
            os.symlink(os.path.join(self.folder, 'session'), os.path.join(place, 'run', 'bus'))
            self.scheduler('--nodes', 'n1')
            self.assertEqual(self.try_dvm(settings=settings, place=place).answer, 'READY\n')
            os.unlink(os.path.join(place, 'run', 'bus'))

    def test_sample_counts(self):
        """Each call is answered, what it gives is taken from the pool, and a caller that goes leaves it."""
        self.scheduler('--nodes', 'n1,n2,n3', '--time', '5000000')
        dvm, other = (dvmtest.Connection(self.bus.address, self.NAME) for _ in range(2))

        def decide(connection, directive, **request):
            return connection.call('/org/dvm/Scheduler', 'org.dvm.Scheduler', 'Decide', '(sua{sv}a{sv})', directive, 0,
                                   to_options(request), to_options({'uid': 7, 'name': 'somebody'}))

        granted = decide(dvm, 'new', count=1)
        self.assertEqual(granted, (True, {'hosts': ['n1:1'], 'alloc-id': 'sample.1', 'time': 5000000}))
        self.refused('AllocFailed', '', decide, dvm, 'new', hosts=['n2'], time='soon')
        self.refused('OutOfResource', 'gets nodes here, and no time', decide, dvm, 'extend', time=7)
        self.assertEqual(decide(dvm, 'reaquire', hosts=['n2'], alloc_id='sample.1'), (True, {'hosts': ['n2:1']}))
        self.refused('OutOfResource', 'n2 is in use by uid 7', decide, other, 'new', hosts=['n2'])
        dvm.close()
        self.wait_said('gone: ')
        self.assertEqual(decide(other, 'new', count=3)[1]['hosts'], ['n1:1', 'n2:1', 'n3:1'])
        other.close()


if __name__ == '__main__':
    dvmtest.main()
