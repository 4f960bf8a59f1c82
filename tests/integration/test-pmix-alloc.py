# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes and PMIx tools that change the size of the DVM, on whatever node they are, and the events that answer them."""

import os
import re
import signal
import subprocess

import dvmtest
from dvmtest import NOTIFIED, wait_until

ALLOC = os.environ.get('DVM_TEST_PMIX_ALLOC', '')
QUERY = os.environ.get('DVM_TEST_PMIX_DATA', '')
READY, MOD, OFFLINE, JOB_END = -195, -196, -232, -145


def state_of(pid):
    """As the kernel sees it: T is stopped."""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        return file.read().rpartition(')')[2].split()[0]


class Elastic(dvmtest.Case):
    radix = None

    def elastic(self, nodes=3, slots=2, settings=(), without=None):
        """without: the agent of this node cannot be started."""
        env = {'DVM_LIBEXEC_DIR': self.programs(without)} if without else {}
        settings = ['elastic=true', *settings] + ([f'radix={self.radix}'] if self.radix else [])
        return self.dvm(slots=slots, settings=settings, arguments=[f'--nodes={nodes}'], env=env)

    def programs(self, without):
        place = self.place()
        guard = os.path.join(place, 'dvm-guard')
        real = os.path.join(os.path.dirname(dvmtest.DVMD), 'dvm-guard')
        with open(guard, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nfor word; do :; done\n[ "$word" != {without} ] || exit 1\nexec {real} "$@"\n')
        os.chmod(guard, 0o755)
        return place

    def campaigns(self, dvm):
        return dvm.call('ListCampaigns', '(a{sv})', dvmtest.to_options({'all': True}))[0]

    def names(self, dvm):
        return sorted(row['Name'] for row in dvm.get_nodes() if row['Rank'] > 0 and row['StateName'] == 'UP')

    def tool(self, dvm, node, *words):
        return self.start_tool(dvm, ALLOC, *words, node=node)


class Sessions(Elastic):
    """By PMIx_Session_control(), which libpmix has from 6.0 on."""

    def control(self, dvm, *words, np=1, hosts=('node1',)):
        done = dvm.run([ALLOC, *words], np=np, hosts=list(hosts))
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        if done.lines and done.lines[0].endswith('session missing'):
            self.skipTest('the library of this build has no session control that it passes on')
        return done.lines

    def test_controlled(self):
        """A rank takes nodes aside, and its job there is stopped, goes on, is signalled, and ends with the session."""
        dvm = self.elastic()
        self.control(dvm, 'session', '0', 'pause')
        go = os.path.join(dvm.place, 'go')
        job, out, _ = dvm.start([ALLOC, 'jobs', 'session', '7', 'instantiate+hosts=node2+req=mine', 'spawn', 'session=7', '--', 'sleep', '1000', ';',
                                 'session', '7', 'pause', 'file', go, 'session', '7', 'resume', 'session', '4294967295', 'preempt', 'session', '7', 'restore',
                                 'session', '7', f'signal={int(signal.SIGUSR1)}', 'ended', '@@', 'spawn', 'session=7', '--', 'sleep', '1000', ';',
                                 'session', '7', 'terminate', 'ended', '@@'], np=1, hosts=['node1'])
        number = int(job.nspace.split('@')[1]) + 1
        wait_until(lambda: out.data.count(b' session ') == 2, 'it to be paused')
        pid, = dvm.job(number).pids()
        wait_until(lambda: state_of(pid) == 'T', 'the process to be stopped')
        with open(go, 'w', encoding='utf-8'):
            pass
        result = job.wait()
        lines = [re.sub(r'dvm-\w+@\d+', 'N', line) for line in out.finish().decode().splitlines()]
        self.assertEqual(result['state'], NOTIFIED, (result, lines, dvm.log()))
        said = [line for line in lines if ' session ' in line]
        self.assertRegex(said[0], r'^0 session 0 pmix\.alloc\.id=\S+ pmix\.alloc\.reqid=mine pmix\.session\.id=7$')
        self.assertEqual([re.sub(r' pmix\.alloc.*', '', line) for line in said], ['0 session 0'] * 7, lines)
        # All sessions together have no id.
        self.assertEqual(said[3], '0 session 0')
        self.assertEqual([line.split(' exit')[0] for line in lines if 'ended' in line], [f'0 ended N status={128 + signal.SIGUSR1}', '0 ended N status=-183'])

    def test_refused(self):
        """Sessions of others, those that are not there, and what cannot be done; a tool may do it to all."""
        dvm = self.elastic()
        self.control(dvm, 'session', '0', 'pause')
        number = dvm.call('ControlSession', '(ua{sv})', 0, dvmtest.to_options({'instantiate': True, 'hosts': ['node2']}))[0]['session'].rpartition('/')[2]
        lines = self.control(dvm, 'session', number, 'pause', 'session', '0', 'pause', 'session', '99', 'pause', 'session', number, 'pause+resume',
                             'session', number, 'signal=4711', 'session', number, 'image=new', 'session', number, 'complete', 'session', number, 'req=x')
        self.assertEqual(lines, [f'0 session {status}' for status in (-23, -47, -46, -27, -27, -47, -47, -27)])
        lines = self.lines_of(self.tool(dvm, 'node2', 'session', number, 'pause', 'session', number, 'terminate'))
        self.assertEqual([re.sub(r' pmix.*', '', line) for line in lines if ' session ' in line], ['0 session 0'] * 2)


class Processes:
    def test_grow_and_release(self):
        """By a rank that is not on the first node; its neighbours hear of nothing."""
        dvm = self.elastic()
        words = ['register', 'fence', 'rank', '2', 'new', 'list=n9,n10', 'req=mine', 'wait', '1', 'release', 'id=@', 'wait', '2',
                 'settle', '100', 'all', 'fence']
        job, out, _ = dvm.start([ALLOC, *words], np=3, map_by='node')
        wait_until(lambda: b'new' in out.data, 'the answer')
        result = job.wait()
        lines = out.finish().decode().splitlines()
        self.assertEqual(result['state'], NOTIFIED, (result, lines, dvm.log()))
        self.assertEqual(len(lines), 4, lines)
        answer = re.fullmatch(r'2 new 0 id=(\S+) req=mine session=(\d+)', lines[0])
        self.assertIsNotNone(answer, lines)
        self.assertEqual(lines[1], f'2 event {READY} id={answer[1]} req=mine')
        self.assertRegex(lines[2], f'^2 release 0 id={answer[1]} ')
        self.assertEqual(lines[3], f'2 event {READY} id={answer[1]}')
        self.assertEqual(self.names(dvm), ['node1', 'node2', 'node3'])

    def test_reserved(self):
        """Nodes that its job has reserved are there for what it spawns by their names alone; for others they are not."""
        dvm = self.elastic(nodes=1)
        script = ['--', 'sh', '-c', 'echo on $DVM_NODE', ';']
        go = os.path.join(dvm.place, 'go')
        job, out, _ = dvm.start([ALLOC, 'register', 'jobs', 'new', 'list=n9', 'share=0', 'wait', '1', 'spawn', 'host=n9', *script, 'ended', '@@',
                                 'file', go, 'spawn', 'host=node1,n9', 'map=node', 'np=2', *script, 'ended', '@@'], np=1)
        wait_until(lambda: b'ended' in out.data, 'the first child')
        other = dvm.run([ALLOC, 'spawn', 'host=n9', *script], hosts=['node1'])
        self.assertEqual(other.lines, ['0 spawn -179 nspace='])
        with open(go, 'w', encoding='utf-8'):
            pass
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())
        lines = out.finish().decode().splitlines()
        self.assertEqual(sorted(line for line in lines if line.startswith('on ')), ['on n9', 'on n9', 'on node1'], lines)

    def test_failure(self):
        """The event says what went wrong, and the DVM is what it was."""
        dvm = self.elastic(without='n9')
        done = dvm.run([ALLOC, 'register', 'new', 'list=n8,n9', 'req=mine', 'wait', '1', 'settle', '100'], hosts=['node2'])
        self.assertEqual((done.state, len(done.lines)), (NOTIFIED, 2), done)
        campaign = self.campaigns(dvm)[-1]
        self.assertEqual((campaign['State'], campaign['Cause']), ('failed', 'launch-failed'), campaign)
        self.assertEqual(done.lines[1], f'0 event {MOD} id={campaign["AllocId"]} req=mine status={campaign["Status"]}')
        self.assertEqual(self.names(dvm), ['node1', 'node2', 'node3'])

    def test_gone(self):
        """Whoever has ended is told nothing, and the change goes on."""
        dvm = self.elastic()
        done = dvm.run([ALLOC, 'register', 'new', 'list=n9'], hosts=['node2'])
        self.assertEqual(len(done.lines), 1, done)
        wait_until(lambda: self.names(dvm) == ['n9', 'node1', 'node2', 'node3'], 'n9')


class Tools:
    def test_any_node(self):
        """A tool at the server of a node asks and is told, another one is not, and the next node is as good."""
        dvm = self.elastic()
        go = os.path.join(dvm.place, 'go')
        other = self.tool(dvm, 'node2', 'register', 'file', go)
        for number, node in enumerate(('node3', 'node2')):
            lines = self.lines_of(self.tool(dvm, node, 'register', 'new', f'list=n{number}', 'req=mine', 'wait', '1', 'release',
                                            'req=mine', 'wait', '2', 'settle', '100'))
            name = re.fullmatch(r'(\S+)\.0 is a tool', lines[0])[1]
            self.assertRegex(lines[1], r'^0 new 0 id=\S+ req=mine session=\d+$')
            self.assertRegex(lines[2], rf'^0 event {READY} id=\S+ req=mine$')
            self.assertRegex(lines[3], r'^0 release 0 id=\S+ req=mine session=\d+$')
            self.assertRegex(lines[4], rf'^0 event {READY} id=\S+ req=mine$')
            self.assertEqual(len(lines), 5, lines)
            self.assertEqual([row['Requester'] for row in self.campaigns(dvm)[-2:]], [f'pmix:{name}.0'] * 2)
        with open(go, 'w', encoding='utf-8'):
            pass
        self.assertEqual(len(self.lines_of(other)), 1)
        self.assertEqual(self.names(dvm), ['node1', 'node2', 'node3'])

    def test_named_alike(self):
        """Two tools that call themselves the same, on two nodes: each hears of its own change alone."""
        dvm = self.elastic(settings=['pmix=eager'])
        tools = [self.tool(dvm, node, '--tool-name', 'same', 'register', 'new', f'list=n{node[-1]}', 'wait', '1', 'settle', '200')
                 for node in ('node2', 'node3')]
        ids = []
        for tool in tools:
            lines = self.lines_of(tool)
            self.assertEqual(len(lines), 3, lines)
            ids.append(re.search('id=([^ ]+)', lines[1])[1])
            self.assertEqual(lines[2], f'0 event {READY} id={ids[-1]}')
        self.assertEqual(len(set(ids)), 2)

    def test_leaving_node(self):
        """Whoever is connected to a node that leaves is told so before its server goes."""
        dvm = self.elastic(settings=['pmix=eager'])
        tool = self.tool(dvm, 'node2', 'ended', 'cancel', 'id=no-such', 'wait', '1')
        self.assertIn('is a tool', tool.stdout.readline())
        # It has registered before: the event may come.
        self.assertIn('cancel', tool.stdout.readline())
        self.lines_of(self.tool(dvm, 'node3', 'register', 'release', 'list=node2', 'wait', '1'))
        out = tool.communicate(timeout=dvmtest.LIMIT)[0]
        self.assertRegex(out, rf'^0 event {JOB_END} .*affected=dvm-')
        self.assertEqual(self.names(dvm), ['node1', 'node3'])

    def test_killed(self):
        """A tool that is killed takes nothing along, and nobody is told in its place."""
        dvm = self.elastic(settings=['pmix=eager'])
        for _ in range(3):
            tool = self.tool(dvm, 'node2', 'register', 'new', 'list=n9', 'stay')
            wait_until(lambda one=tool: 'stays' in one.stdout.readline(), 'the tool to be up')
            tool.kill()
            tool.wait()
            wait_until(lambda: 'n9' in self.names(dvm), 'n9')
            lines = self.lines_of(self.tool(dvm, 'node2', 'register', 'release', 'list=n9', 'wait', '1', 'settle', '100'))
            self.assertEqual(len(lines), 3, lines)

    def test_killed_together(self):
        """Of each of several tools that go in one moment it is known that it has gone: what it has taken is given back."""
        dvm = self.elastic(settings=['pmix=eager'])
        tools = [self.tool(dvm, 'node2', 'register', 'new', f'list=n{9 + i}', 'inherit=1', 'wait', '1', 'stay') for i in range(4)]
        for tool in tools:
            wait_until(lambda one=tool: 'stays' in one.stdout.readline(), 'the tool to be up')
        for tool in tools:
            tool.kill()
        wait_until(lambda: self.names(dvm) == ['node1', 'node2', 'node3'], 'their nodes to go')

    def test_of_a_rank(self):
        """A tool that a rank starts is the rank; its end is not that of the rank."""
        dvm = self.elastic(settings=['pmix=eager'])
        script = f'{ALLOC} --tool "$0" register new list=n9 wait 1 && {ALLOC} --tool - release list=n9 && echo goes on'
        done = dvm.run(['sh', '-c', script, dvm.tool_file('node2')], hosts=['node2'])
        self.assertEqual(done.state, NOTIFIED, done)
        self.assertEqual([line for line in done.lines if 'is a tool' in line], [f'{done.job.nspace}.0 is a tool'] * 2, done)
        self.assertEqual(done.lines[-1], 'goes on')
        self.assertEqual([row['Requester'] for row in self.campaigns(dvm)], [f'pmix:{done.job.nspace}.0'] * 2)


class Warnings:
    def test_drain(self):
        """The ranks on a node that leaves are told how long they have; others are not."""
        dvm = self.elastic(nodes=2, settings=['kill-grace=0.5'])
        job, out, _ = dvm.start([ALLOC, 'warned', 'stay'], np=2, map_by='node', recoverable=True)
        wait_until(lambda: out.data.count(b'stays') == 2, 'both to be up')
        answer = dvm.call('Shrink', '(a{sv})', dvmtest.to_options({'hosts': ['node2'], 'drain-timeout': 60}))
        self.assertNotEqual(answer[1], '/')
        wait_until(lambda: b' event ' in out.data, 'the warning')
        job.cancel()
        job.wait()
        wait_until(lambda: self.names(dvm) == ['node1'], 'node2 to leave')
        told = [line for line in out.finish().decode().splitlines() if 'event' in line]
        self.assertEqual(len(told), 1, told)
        self.assertRegex(told[0], rf'^1 event {OFFLINE} host=node2 terminate=1 timeout=(60|[1-5]?[0-9])$')


class Inert(Elastic):
    def test_not_elastic(self):
        """Then nobody changes its size, be it a tool."""
        dvm = self.dvm(slots=1, arguments=['--nodes=2'], settings=['pmix=eager'])
        done = dvm.run([ALLOC, 'new', 'list=n9'])
        self.assertEqual(done.lines, ['0 new -158'], done)
        self.assertEqual(self.lines_of(self.tool(dvm, 'node2', 'new', 'list=n9'))[1:], ['0 new -158'])


class Queries(Elastic):
    def test_queries(self):
        """An allocation is found by its id and by that of its request; its properties and slots are its own; the time is also that of its job."""
        dvm = self.elastic(nodes=1, slots=4)
        go = os.path.join(dvm.place, 'go')
        job, out, _ = dvm.start([ALLOC, 'register', 'new', 'list=n9:3,n10:2', 'req=mine', 'share=1', 'time=1000', 'wait', '1', 'spawn', 'target=@',
                                 'host=n9', '--', 'sleep', '1000', ';', 'file', go], np=1)
        wait_until(lambda: b'spawn 0' in out.data, 'the job in the allocation')
        said = out.data.decode()
        alloc, session = re.search(r'new 0 id=(\S+) req=mine session=(\d+)', said).groups()
        inner = re.search(r'spawn 0 nspace=(\S+)', said)[1]

        def ask(*words):
            return dvm.run([QUERY, 'query', *words], np=1, hosts=['node1']).lines[-1]

        self.assertEqual(ask('pmix.query.alloc.ids'), f'query SUCCESS [pmix.query.alloc.ids [pmix.alloc.id {alloc}]]')
        for names in ([f'id={alloc}'], ['req=mine'], [f'id={alloc}', 'req=mine']):
            self.assertEqual(ask('pmix.query.alloc', *names), 'query SUCCESS [pmix.query.alloc active]')
            self.assertEqual(ask('pmix.num.slots,pmix.qry.aslots', *names), 'query SUCCESS [pmix.num.slots 5] [pmix.qry.aslots 4]')
        self.assertEqual(ask('pmix.query.alloc.prop', f'id={alloc}'),
                         f'query SUCCESS [pmix.query.alloc.prop [pmix.alloc.releasable true] [pmix.session.id {session}] [pmix.alloc.reqid mine]'
                         ' [pmix.alloc.nlist n9,n10] [pmix.alloc.nnodes 2] [pmix.alloc.share true]]')
        self.assertEqual(ask('pmix.query.alloc.prop', f'id={alloc}', 'prop=pmix.alloc.releasable'),
                         'query SUCCESS [pmix.query.alloc.prop [pmix.alloc.releasable true]]')
        for name in (f'id={alloc}', f'nspace={inner}'):
            self.assertRegex(ask('pmix.time.remaining', name), r'^query SUCCESS \[pmix.time.remaining 9\d\d\]$')
        for status, *words in (('NOT-FOUND', 'pmix.query.alloc', 'req=others'), ('NOT-FOUND', 'pmix.query.allc', 'req=others'),
                               ('BAD-PARAM', 'pmix.query.alloc', f'id={alloc}', 'req=others'), ('BAD-PARAM', 'pmix.num.slots', f'id={alloc}', 'req='),
                               ('NOT-FOUND', 'pmix.query.alloc', 'req='), ('NOT-SUPPORTED', 'pmix.qry.ns', 'req=mine'),
                               ('BAD-PARAM', 'pmix.query.alloc.prop'),
                               ('NOT-FOUND', 'pmix.query.alloc.prop', f'id={alloc}', 'prop=pmix.odd'), ('NOT-FOUND', 'pmix.num.slots', 'id=others'),
                               ('NOT-SUPPORTED', 'pmix.num.slots', f'id={alloc}', 'host=n9'), ('NOT-FOUND', 'pmix.time.remaining', 'nspace=.')):
            with self.subTest(words=words):
                self.assertEqual(ask(*words), f'query {status}')
        with open(go, 'w', encoding='utf-8'):
            pass
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())


class AtRadix2(Processes, Tools, Warnings, Elastic):
    radix = 2


class AtTheDefault(Processes, Tools, Warnings, Elastic):
    pass


if __name__ == '__main__':
    dvmtest.main()
