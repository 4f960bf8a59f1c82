# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sessions that are paused, preempted, signalled and terminated with running processes: each node has an agent that is a process.

What is promised about it is tested number by number in tests/conformance; here the processes are looked at, and sessions are
ended while their jobs are on their way.
"""

import os
import signal

import dvmtest
from dvmtest import GLib, to_options, wait_until

SESSION = 'org.dvm.Session'
SLEEP = ['sleep', '600']
NEVER_LAUNCHED, KILLED_BY_CMD = 60, 51
SYSTEM_PREP, SEND_LAUNCH_MSG = 7, 13


def state_of(pid):
    """As the kernel sees it: T is stopped."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
            return file.read().rpartition(')')[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return '-'


class Sessions(dvmtest.Case):
    def start(self, nodes=3, settings=(), **options):
        return self.dvm(slots=2, settings=['kill-grace=20', 'radix=2', *settings], arguments=[f'--nodes={nodes}', '--elastic'],
                        **options)

    def control(self, dvm, number, **directives):
        return dvm.call('ControlSession', '(ua{sv})', number, to_options(directives))[0]

    def reserve(self, dvm, *hosts, **keys):
        """Nodes that are there, taken aside: the number of their session."""
        answer = self.control(dvm, 0, instantiate=True, hosts=list(hosts), **keys)
        return int(answer['session'].rpartition('/')[2])

    def state(self, dvm, number):
        try:
            return dvm.connection.call(f'/org/dvm/sessions/{number}', dvmtest.PROPERTIES, 'Get', '(ss)', SESSION, 'State')[0]
        except dvmtest.DBusError as error:
            assert error.name.endswith('NotFound'), error
            return 'ended'

    def wait_ended(self, dvm, number):
        wait_until(lambda: self.state(dvm, number) == 'ended', f'session {number} to end')

    def submit(self, dvm, number, *argv, **options):
        return dvm.submit(list(argv) or SLEEP, personality='plain', session=number, **options)

    def wait_states(self, job, stopped):
        pids = job.pids()
        self.assertTrue(pids)
        wait_until(lambda: all((state_of(pid) == 'T') == stopped for pid in pids), f'stopped: {stopped}')

    def agent_of(self, dvm, name):
        return next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == name and row['Rank'] > 0)

    def freeze(self, pid):
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(self.thaw, pid)

    def thaw(self, pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


class Stopped(Sessions):
    def test_ranks_on_every_node(self):
        """All ranks on all nodes stop and go on, once each time; those of other sessions do not."""
        dvm = self.start()
        number = self.reserve(dvm, 'node2', 'node3')
        # One that starts programs again and again may be stopped in vfork, where it is not seen to stand.
        script = "trap 'echo on' CONT; sleep 60 & echo ready; while :; do wait; done"
        job, out, _ = dvm.start(['sh', '-c', script], np=4, session=number, personality='plain')
        wait_until(lambda: out.data.count(b'ready') == 4, 'four shells')
        other = self.submit(dvm, 0, np=2)
        other.wait_running()
        for operation in ('pause', 'preempt', 'pause'):
            self.control(dvm, number, **{operation: True})
            self.wait_states(job, True)
        self.wait_states(other, False)
        self.assertEqual(self.state(dvm, number), 'paused')
        self.control(dvm, number, resume=True)
        self.control(dvm, number, restore=True)
        self.wait_states(job, False)
        wait_until(lambda: out.data.count(b'on\n') == 4, 'all to go on')
        self.control(dvm, number, restore=True)
        self.assertEqual(self.state(dvm, number), 'active')
        self.control(dvm, number, signal=GLib.Variant('i', signal.SIGKILL))
        job.wait()
        self.assertEqual(out.finish().count(b'on\n'), 4)
        other.cancel()

    def test_before_they_are_there(self):
        """A pause that comes while a job is launched stops its ranks when they are there."""
        dvm = self.start()
        number = self.reserve(dvm, 'node2', 'node3')
        agent = self.agent_of(dvm, 'node3')
        self.freeze(agent)
        job = self.submit(dvm, number, np=4)
        wait_until(lambda: job.get('NumLaunched') == 2, 'the ranks of node2')
        self.control(dvm, number, pause=True)
        self.thaw(agent)
        wait_until(lambda: job.get('NumLaunched') == 4, 'all ranks')
        self.wait_states(job, True)
        late = self.submit(dvm, number, 'true', np=1, when_full='oversubscribe')
        wait_until(lambda: late.get('HeldAt') == 'session', 'the other to wait')
        self.control(dvm, number, resume=True)
        self.wait_states(job, False)
        self.assertEqual(late.wait()['exit-code'], 0)
        self.control(dvm, number, terminate=True)
        self.wait_ended(dvm, number)

    def test_terminate_paused(self):
        """They are let go before they are told to end: nobody waits for the grace."""
        dvm = self.start()
        number = self.reserve(dvm, 'node2')
        # One that starts programs again and again may be stopped in vfork, where it is not seen to stand.
        script = "trap 'echo told; exit 0' TERM; sleep 60 & echo ready; while :; do wait; done"
        job, out, _ = dvm.start(['sh', '-c', script], np=2, session=number, personality='plain')
        wait_until(lambda: out.data.count(b'ready') == 2, 'two shells')
        self.control(dvm, number, pause=True)
        self.wait_states(job, True)
        self.control(dvm, number, terminate=True)
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assertEqual(out.finish().count(b'told'), 2)
        self.wait_ended(dvm, number)
        self.assert_success(dvm.run(['true'], np=6, personality='plain'))

    def test_cancel_paused(self):
        """So it is with a job alone that is cancelled."""
        dvm = self.start()
        number = self.reserve(dvm, 'node2')
        job = self.submit(dvm, number, np=2)
        job.wait_running()
        self.control(dvm, number, pause=True)
        self.wait_states(job, True)
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.assertEqual(self.state(dvm, number), 'paused')


class Ended(Sessions):
    """Sessions that end while their jobs are on their way."""

    def assert_never(self, dvm, number, job):
        result = job.wait()
        self.assertEqual(result['state'], NEVER_LAUNCHED)
        self.assertIn(f'session {number} ', result['reason'])
        self.assertEqual(job.get('NumLaunched'), 0)

    def test_parked(self):
        """While they are parked, for nodes that are on their way."""
        folder = self.place()
        go = os.path.join(folder, 'go')
        real = os.path.dirname(dvmtest.DVMD)
        os.symlink(os.path.join(real, 'dvm-guard'), os.path.join(folder, 'dvm-guard'))
        with open(os.path.join(folder, 'dvm-agent'), 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nfor name; do :; done\nwhile test "${{name#x}}" != "$name" -a ! -e {go}; do sleep 0.05; done\n'
                       f'exec {real}/dvm-agent "$@"\n')
        os.chmod(file.name, 0o755)
        dvm = self.start(env={'DVM_LIBEXEC_DIR': folder})
        number = self.reserve(dvm, 'node2')
        dvm.call('Grow', '(a{sv})', to_options({'hosts': ['x9']}))
        job = self.submit(dvm, number, np=1)
        wait_until(lambda: job.get('HeldAt') == 'map', 'the job to be parked')
        self.control(dvm, number, terminate=True)
        self.assert_never(dvm, number, job)
        self.wait_ended(dvm, number)
        with open(go, 'w', encoding='utf-8'):
            pass
        wait_until(lambda: dvm.get('CampaignsRunning') == 0, 'the grow to end')

    def test_mapped(self):
        """While they are placed and wait for their files."""
        dvm = self.start()
        number = self.reserve(dvm, 'node2')
        path = os.path.join(dvm.place, 'data')
        with open(path, 'wb') as file:
            file.truncate(4 << 20)
        agent = self.agent_of(dvm, 'node2')
        self.freeze(agent)
        job = self.submit(dvm, number, np=1, preload_files=[path])
        job.wait_state(SYSTEM_PREP)
        self.control(dvm, number, terminate=True)
        self.thaw(agent)
        self.assert_never(dvm, number, job)
        self.wait_ended(dvm, number)

    def test_launched(self):
        """While they are launched: what has been started there is ended."""
        dvm = self.start()
        number = self.reserve(dvm, 'node2', 'node3')
        agent = self.agent_of(dvm, 'node3')
        self.freeze(agent)
        job = self.submit(dvm, number, np=4)
        wait_until(lambda: job.get('NumLaunched') == 2, 'the ranks of node2')
        self.control(dvm, number, terminate=True)
        self.assertEqual(self.state(dvm, number), 'terminating')
        self.thaw(agent)
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.wait_ended(dvm, number)
        self.assert_no_processes(dvm)

    def test_nodes_leave(self):
        """With nodes that leave, whose processes stand still: these end, and then the nodes go."""
        dvm = self.start(nodes=1)
        number = self.reserve(dvm, 'x8', 'x9', inheritance='none')
        job = self.submit(dvm, number, np=2, map_by='node')
        job.wait_running()
        self.control(dvm, number, preempt=True)
        self.wait_states(job, True)
        self.control(dvm, number, terminate=True)
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
        self.wait_ended(dvm, number)
        wait_until(lambda: [row['Name'] for row in dvm.get_nodes() if row['Rank'] > 0] == ['node1'], 'the nodes to leave')

    def test_applications(self):
        """Applications that a session was made for: their end is its end."""
        dvm = self.start(nodes=1)
        apps = GLib.Variant('aa{sv}', [to_options({'argv': SLEEP, 'np': 2, 'personality': None})])
        answer = self.control(dvm, 0, instantiate=True, hosts=['x8', 'x9'], inheritance='none', apps=apps)
        number = int(answer['session'].rpartition('/')[2])
        job = dvm.job(dvm.call('FindJob', '(s)', answer['nspace'])[0].rpartition('/')[2])
        self.assertEqual(job.get('NumLaunched'), 2)
        self.control(dvm, number, signal=GLib.Variant('i', signal.SIGTERM), nspace=answer['nspace'])
        job.wait()
        self.wait_ended(dvm, number)
        wait_until(lambda: len(dvm.get_nodes()) == 2, 'the nodes to leave')


class Forwarded(Sessions):
    """With a scheduler outside of the DVM, which decides first (S7)."""

    def test_decided(self):
        """It declines, agrees, refuses, and names other nodes; who has no right to ask is not passed on."""
        script = ('allocator decline; decide decline; decide done; decide fail not today; decide done hosts=node3 session=12; '
                  'decide done')
        dvm = self.start(settings=[f'test-plugin={script}'])
        number = self.reserve(dvm, 'node2')
        job = self.submit(dvm, number, np=1)
        job.wait_running()
        self.control(dvm, number, pause=True)
        self.wait_states(job, True)
        self.assert_refused('AllocFailed', 'not today', self.control, dvm, number, resume=True)
        self.wait_states(job, True)
        self.assert_refused('NotFound', '77', self.control, dvm, 77, pause=True)
        self.assert_refused('BadParam', 'colour', self.control, dvm, number, pause=True, colour='red')
        self.assertEqual(self.reserve(dvm, 'node1'), 12)
        nodes = dvm.connection.call('/org/dvm/sessions/12', dvmtest.PROPERTIES, 'Get', '(ss)', SESSION, 'Nodes')[0]
        self.assertEqual(nodes, ['node3'])
        self.control(dvm, number, terminate=True)
        self.wait_ended(dvm, number)
        log = dvm.log()
        for words in (f'asked control-session of {number} by private:', "{'pause': <true>}", "{'terminate': <true>}"):
            self.assertIn(words, log)


if __name__ == '__main__':
    dvmtest.main()
