# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM that grows and shrinks, with the agents that come and go: each a process, at radix 2 and at the default.

What the DVM promises about it is tested number by number in tests/conformance; here the daemons are looked at.
"""

import os
import resource
import signal

import dvmtest
import leftovers
from gi.repository import Gio, GLib

CAMPAIGN = 'org.dvm.Campaign'
PATH = '/org/dvm/campaigns'
SLEEP = ['sleep', '600']


class Elastic(dvmtest.Case):
    radix = None

    def start(self, nodes=3, settings=(), **options):
        settings = ['kill-grace=1', *settings, *([f'radix={self.radix}'] if self.radix else [])]
        return self.dvm(slots=2, settings=settings, arguments=[f'--nodes={nodes}', '--elastic'], **options)

    def events(self, dvm):
        """What this connection is told of its requests."""
        events = []
        for name in ('DvmIsReady', 'DvmModFailed'):
            dvm.connection.raw.signal_subscribe(None, None, name, None, None, Gio.DBusSignalFlags.NONE,
                                                lambda *args: events.append((args[4], args[5].unpack())))
        return events

    def request(self, dvm, method, *hosts, **keys):
        """The path of its campaign; "/": nothing changes."""
        options = {'hosts': list(hosts) or None, **keys}
        return dvm.call(method, '(a{sv})', dvmtest.to_options(options))[1]

    def grow(self, dvm, *hosts, **keys):
        return self.request(dvm, 'Grow', *hosts, **keys)

    def shrink(self, dvm, *hosts, **keys):
        return self.request(dvm, 'Shrink', *hosts, **keys)

    def look(self, dvm, campaign):
        return dvm.connection.call(campaign, dvmtest.PROPERTIES, 'GetAll', '(s)', CAMPAIGN)[0]

    def follow(self, dvm, campaign, state='completed'):
        dvmtest.wait_until(lambda: self.look(dvm, campaign)['State'] in ('completed', 'failed'), f'{campaign} to end')
        found = self.look(dvm, campaign)
        self.assertEqual(found['State'], state, found)
        self.assertEqual(found['Pending'], 0)
        return found

    def agents(self, dvm):
        """{name: pid} of the members."""
        return {row['Name']: row['Pid'] for row in dvm.get_nodes() if row['Rank'] > 0 and row['StateName'] == 'UP'}

    def membership(self, dvm):
        return [(row['Rank'], row['Name'], row['Pid']) for row in dvm.get_nodes()]

    def processes_of(self, dvm, name):
        ends = (f'--node\0{name}\0'.encode(), f'--node={name}\0'.encode())
        return {pid for pid in leftovers.find_processes([dvm.mark.encode()])
                if leftovers._read(f'/proc/{pid}/cmdline').endswith(ends)}

    def wait_gone(self, dvm, *names):
        for name in names:
            dvmtest.wait_until(lambda: not self.processes_of(dvm, name), f'nothing of {name} is left')

    def assert_works(self, dvm, nodes):
        """Ranks run on each of them, and output arrives from everywhere."""
        done = dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=2 * len(nodes), personality='plain')
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), sorted(2 * list(nodes)))

    def fake_agent(self, script):
        """Environment in which agents are this script first; $name is that of the node."""
        folder = self.place()
        real = os.path.dirname(dvmtest.DVMD)
        os.symlink(os.path.join(real, 'dvm-guard'), os.path.join(folder, 'dvm-guard'))
        with open(os.path.join(folder, 'dvm-agent'), 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nfor name; do :; done\nagent={real}/dvm-agent\n{script}\nexec $agent "$@"\n')
        os.chmod(file.name, 0o755)
        return {'DVM_LIBEXEC_DIR': folder}


class Changes(Elastic):
    """What goes well."""

    def test_grow_and_shrink(self):
        """By 1, 4 and 16; what is grown works, and what is shrunk is gone, directory and all, when it says so."""
        dvm = self.start(nodes=1)
        events = self.events(dvm)
        for n in (1, 4, 16):
            hosts = [f'x{i}' for i in range(n)]
            grown = self.follow(dvm, self.grow(dvm, *hosts, req_id=f'g{n}'))
            self.assertEqual(len(grown['Targets']), n)
            self.assertEqual(set(self.agents(dvm)), {'node1', *hosts})
            self.assert_works(dvm, ['node1', *hosts])
            shrunk = self.follow(dvm, self.shrink(dvm, *hosts, req_id=f's{n}'))
            self.assertEqual(shrunk['TreeRepairs'], 1)
            self.assertEqual(set(self.agents(dvm)), {'node1'})
            self.wait_gone(dvm, *hosts)
            dvmtest.wait_until(lambda: len([d for d in os.listdir(dvm.folder) if d.startswith('agent-')]) == 1,
                               'directories to go')
            self.assert_works(dvm, ['node1'])
        dvmtest.wait_until(lambda: len(events) == 6, 'an event for each')
        self.assertEqual([(name, body[1]) for name, body in events],
                         [('DvmIsReady', f'{kind}{n}') for n in (1, 4, 16) for kind in 'gs'])

    def test_interior_and_branch(self):
        """Targets with survivors below them, a target with only targets below it, and all but one."""
        dvm = self.start(nodes=14)
        long_job = dvm.submit(SLEEP, np=4, hosts=['node13:2', 'node14:2'], personality='plain')
        long_job.wait_running()
        for hosts in (['node1'], ['node2', 'node5', 'node6'], ['node3', 'node7', 'node8', 'node9']):
            before = set(self.agents(dvm))
            shrunk = self.follow(dvm, self.shrink(dvm, *hosts))
            self.assertEqual(shrunk['TreeRepairs'], 1)
            self.assertEqual(set(self.agents(dvm)), before - set(hosts))
            self.wait_gone(dvm, *hosts)
            self.assert_success(dvm.run(['true'], np=2, personality='plain'))
        self.assertFalse(long_job.get('Ended'))
        long_job.cancel()
        long_job.wait()
        self.follow(dvm, self.shrink(dvm, 'node4', 'node10', 'node11', 'node12', 'node14'))
        self.assert_works(dvm, ['node13'])

    def test_same_names_again(self):
        dvm = self.start(nodes=2)
        for i in range(10):
            grown = self.follow(dvm, self.grow(dvm, 'n9', 'n10'))
            self.assertEqual(list(grown['Targets']), [3 + 2 * i, 4 + 2 * i])
            self.follow(dvm, self.shrink(dvm, 'n9', 'n10'))
        self.follow(dvm, self.grow(dvm, 'n9', 'n10'))
        self.assert_works(dvm, ['node1', 'node2', 'n9', 'n10'])

    def test_both_at_once(self):
        dvm = self.start(nodes=6)
        campaigns = [self.grow(dvm, 'a1', 'a2'), self.shrink(dvm, 'node1', 'node4'), self.grow(dvm, 'b1'),
                     self.shrink(dvm, 'node2')]
        for campaign in campaigns:
            self.follow(dvm, campaign)
        self.assertEqual(set(self.agents(dvm)), {'node3', 'node5', 'node6', 'a1', 'a2', 'b1'})
        self.assert_works(dvm, ['node3', 'node5', 'node6', 'a1', 'a2', 'b1'])

    def test_one_below_another(self):
        """A shrink does not wait for the target of another one that was below its own."""
        dvm = self.start(nodes=6, settings=['kill-grace=1000', 'shrink-grace=1000'])
        deaf = ['sh', '-c', "trap '' TERM; echo deaf; exec sleep 1000"]
        job, out, _ = dvm.start(deaf, np=1, hosts=['node6'], personality='plain')
        dvmtest.wait_until(lambda: out.data == b'deaf\n', 'the trap')
        first, second = self.shrink(dvm, 'node2'), self.shrink(dvm, 'node6')
        self.follow(dvm, first)
        self.assertEqual(self.look(dvm, second)['State'], 'running')
        for pid in job.pids():
            os.kill(pid, signal.SIGKILL)
        self.follow(dvm, second)

    def test_count(self):
        dvm = self.start(nodes=2)
        self.follow(dvm, self.grow(dvm, count=2))
        self.assertEqual(list(self.agents(dvm)), ['node1', 'node2', 'node3', 'node4'])


class Faults(Elastic):
    """What goes wrong."""

    def test_killed_target(self):
        """A target that crashes has departed; the others are waited for."""
        dvm = self.start(nodes=6)
        pids = self.agents(dvm)
        for name in ('node1', 'node4'):
            os.kill(pids[name], signal.SIGSTOP)
        campaign = self.shrink(dvm, 'node1', 'node4')
        dvmtest.wait_until(lambda: self.look(dvm, campaign)['State'] == 'running', 'the order')
        os.kill(pids['node4'], signal.SIGKILL)
        dvmtest.wait_until(lambda: self.look(dvm, campaign)['Pending'] == 1, 'the first departure')
        self.assertNotIn('node4', self.agents(dvm))
        os.kill(pids['node1'], signal.SIGKILL)
        self.follow(dvm, campaign)
        self.wait_gone(dvm, 'node1', 'node4')
        self.assert_works(dvm, ['node2', 'node3', 'node5', 'node6'])

    def test_frozen_target(self):
        """It neither says LEFT nor ends: its launcher sees to it when the grace is over, with all that runs there."""
        dvm = self.start(nodes=6, settings=['shrink-grace=0.2', 'plugin-settings=launcher-local.grace=1',
                                            'heartbeat-timeout=30'])
        job = dvm.submit(SLEEP, np=2, hosts=['node1'], personality='plain')
        job.wait_running()
        ranks = job.pids()
        pid = self.agents(dvm)['node1']
        os.kill(pid, signal.SIGSTOP)
        campaign = self.shrink(dvm, 'node1', 'node6')
        found = self.follow(dvm, campaign)
        self.assertEqual(found['State'], 'completed')
        for one in [pid, *ranks]:
            self.assertFalse(os.path.exists(f'/proc/{one}'), 'gone when it says so')
        self.assertTrue(job.wait()['state'] != dvmtest.NOTIFIED)
        self.assert_works(dvm, ['node2', 'node3', 'node4', 'node5'])

    def check_roll_back(self, script, cause, words, settings=()):
        """One of three does not come: the DVM is what it was, and the next grow of the same names works."""
        place = self.place()
        flag = os.path.join(place, 'bad')
        env = self.fake_agent(f'[ $name = n2 ] && [ -e {flag} ] && {{ {script}; }}')
        dvm = self.start(env=env, settings=settings)
        events = self.events(dvm)
        before = self.membership(dvm)
        with open(flag, 'w', encoding='utf-8'):
            pass
        failed = self.follow(dvm, self.grow(dvm, 'n1', 'n2', 'n3', req_id='mine'), 'failed')
        self.assertEqual(self.membership(dvm), before)
        self.assertEqual(failed['Cause'], cause, failed)
        self.assertIn(words, failed['Reason'])
        self.assertNotEqual(failed['Status'], 0)
        self.wait_gone(dvm, 'n1', 'n2', 'n3')
        dvmtest.wait_until(lambda: events, 'the event')
        self.assertEqual([(name, body[1], body[2]) for name, body in events],
                         [('DvmModFailed', 'mine', failed['Status'])])
        os.unlink(flag)
        self.follow(dvm, self.grow(dvm, 'n1', 'n2', 'n3'))
        self.assert_works(dvm, ['node1', 'node2', 'node3', 'n1', 'n2', 'n3'])

    def test_one_that_exits(self):
        self.check_roll_back('echo broken here >&2; exit 3', 'launch-failed', 'broken here')

    def test_one_that_is_killed(self):
        self.check_roll_back('sleep 0.1; kill -9 $$', 'launch-failed', 'n2')

    def test_one_that_hangs(self):
        self.check_roll_back('exec sleep 600', 'timeout', 'n2', settings=['grow-timeout=5',  # also for those that come
                                                                         'plugin-settings=launcher-local.grace=1'])

    def test_one_with_a_wrong_token(self):
        wrong = 'case $token in *0) echo ${token%?}1;; *) echo ${token%?}0;; esac'
        # What the agent reads from stays open until it has ended, however long that takes.
        self.check_roll_back(f'(read token; {wrong}; while echo; do sleep 0.1; done) 2>&- | $agent "$@"; exit $?',
                             'authentication-failed', 'n2')

    def test_cancelled_between_launchers(self):
        """One launcher takes its time and declines: the next one is not asked for agents that nobody wants any more."""
        dvm = self.start(nodes=2, settings=['test-plugin=launcher decline; launcher delay 500; launcher decline'])
        before = self.membership(dvm)
        campaign = self.grow(dvm, 'n1', 'n2')
        dvm.connection.call(campaign, CAMPAIGN, 'Cancel', '(a{sv})', {})
        failed = self.follow(dvm, campaign, 'failed')
        self.assertEqual(failed['Cause'], 'cancelled')
        self.follow(dvm, self.grow(dvm, 'n1'))
        self.assert_works(dvm, ['node1', 'node2', 'n1'])
        self.assert_success(dvm.run(['sleep', '0.8'], np=1, personality='plain'))  # it has answered by then
        self.assertFalse(self.processes_of(dvm, 'n2'))
        self.follow(dvm, self.shrink(dvm, 'n1'))
        self.assertEqual([row[:2] for row in self.membership(dvm)], [row[:2] for row in before])

    def test_stop_in_the_middle(self):
        """The DVM ends while it grows and shrinks: nothing is left."""
        env = self.fake_agent('[ $name = n2 ] && exec sleep 600')
        dvm = self.start(nodes=4, env=env, settings=['plugin-settings=launcher-local.grace=1'])
        os.kill(self.agents(dvm)['node3'], signal.SIGSTOP)
        self.grow(dvm, 'n1', 'n2')
        self.shrink(dvm, 'node1', 'node3')
        dvm.call('Shutdown', '(a{sv})', {})
        self.assertEqual(dvm.wait_exit(), 0)

    def test_stop_between_launchers(self):
        """One launcher declines when the DVM is about to end: the next one starts nothing that nobody would wait for."""
        folder = self.place()
        asked, started = os.path.join(folder, 'asked'), os.path.join(folder, 'started')
        env = self.fake_agent(f'[ $name = n1 ] && touch {started}')
        dvm = self.start(nodes=1, env=env, settings=['plugin-settings=launcher-local.grace=1', f'test-plugin=launcher decline; launcher until {asked}; launcher decline'])
        os.kill(self.agents(dvm)['node1'], signal.SIGSTOP)
        self.grow(dvm, 'n1')
        dvm.call('Shutdown', '(a{sv})', {})
        # The agent that stands still is all that the end waits for.
        dvmtest.wait_until(lambda: 'have not ended in time' in dvm.log(), 'the end of that agent to begin')
        with open(asked, 'w', encoding='utf-8'):
            pass
        self.assertEqual(dvm.wait_exit(), 0)
        self.assertFalse(os.path.exists(started), dvm.log())
        self.assertFalse(dvm.processes(), dvm.log())


class ChangesRadix2(Changes):
    radix = 2


class FaultsRadix2(Faults):
    radix = 2


class Fixed(Elastic):
    """A DVM that is not elastic."""

    def test_refused(self):
        dvm = self.dvm(slots=2, arguments=['--nodes=2'])
        before = self.membership(dvm)
        for method, keys in (('Grow', {'hosts': ['n9']}), ('Grow', {'count': 1}), ('Shrink', {'hosts': ['node1']})):
            self.assert_refused('NotElastic', '--elastic', self.request, dvm, method,
                                *keys.pop('hosts', ()), **keys)
        self.assertEqual(self.membership(dvm), before)

    def test_nodes_that_are_there(self):
        """They are no change, and an allocation that is minted (D14, D16)."""
        dvm = self.dvm(slots=2, arguments=['--nodes=2'])
        alloc_id, campaign = dvm.call('Grow', '(a{sv})', dvmtest.to_options({'hosts': ['node2']}))
        self.assertEqual(campaign, '/')
        self.assertTrue(alloc_id)


class Requests(Elastic):
    """What is wrong with a request is said at once."""

    def test_more_than_there_can_be(self):
        dvm = self.start(nodes=2)
        resource.prlimit(dvm.pid, resource.RLIMIT_NOFILE, (200, 200))
        before = self.membership(dvm)
        for keys in ({'count': 100}, {'count': 2**31 - 1}, {'hosts': [f'n{i}' for i in range(100)]}):
            self.assert_refused('OutOfResource', 'the limit of dvmd is 200', self.request, dvm, 'Grow',
                                *keys.pop('hosts', ()), **keys)
        self.assertEqual(self.membership(dvm), before)
        self.assertEqual(dvm.get('CampaignsRunning'), 0)

    def test_refused(self):
        dvm = self.start(nodes=2)
        bad = 'BadParam'
        for name, words, method, keys in (
                (bad, 'hosts', 'Grow', {}),
                (bad, 'colour', 'Grow', {'colour': 'red'}),
                (bad, 'count', 'Grow', {'count': 0}),
                (bad, 'count', 'Grow', {'count': 1, 'hosts': ['n9']}),
                (bad, 'type', 'Grow', {'count': 'many'}),
                (bad, 'drain-timeout', 'Grow', {'hosts': ['n9'], 'drain_timeout': 1}),
                (bad, 'absolute', 'Grow', {'hostfile': 'here'}),
                (bad, 'alloc-id', 'Shrink', {}),
                ('NotFound', 'a', 'Shrink', {'alloc_id': 'a', 'of_req_id': 'b'}),
                (bad, 'inheritance', 'Grow', {'hosts': ['n9'], 'inheritance': 'nephew'})):
            keys = {key: GLib.Variant('as', value) if isinstance(value, list) else value for key, value in keys.items()}
            self.assert_refused(name, words, dvm.call, method, '(a{sv})', dvmtest.to_options(keys))
        self.assertEqual(len(self.agents(dvm)), 2)
        self.assertEqual(dvm.get('CampaignsRunning'), 0)


if __name__ == '__main__':
    dvmtest.main()
