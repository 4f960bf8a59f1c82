# SPDX-License-Identifier: LGPL-2.1-or-later
"""PMIx programs of different jobs that publish, look up, ask for each other's data, and connect."""

import itertools
import os
import re
import socket
import signal
import subprocess
import unittest

import dvmtest
from dvmtest import NOTIFIED

REGISTERED = 16

ALLOC = os.environ.get('DVM_TEST_PMIX_ALLOC', '')
CLIENT = os.environ.get('DVM_TEST_PMIX_DATA', '')
OUT_OF_RESOURCE = -29


class Case(dvmtest.Case):
    def nodes(self, n=2, **options):
        return self.dvm(settings=[f'nodes={n}', 'slots=4', 'kill-grace=0.5'], **options)

    def path(self, name):
        if not hasattr(self, 'folder'):
            self.folder = self.place()
        return os.path.join(self.folder, name)

    def say(self, dvm, *words, np=1, host='node1', **options):
        """What the ranks of a job on that node say, which ends well."""
        done = dvm.run([CLIENT, *words], np=np, hosts=[host], **options)
        self.assert_success(done)
        return done.lines

    def begin(self, dvm, *words, host='node1', np=1, **options):
        job, out, _ = dvm.start([CLIENT, *words], np=np, hosts=[host], **options)
        return job, out

    def end(self, job, out):
        result = job.wait()
        out.finish()
        self.assertEqual(result['state'], NOTIFIED, (result, bytes(out.data)))
        return bytes(out.data).decode().splitlines()

    def wait_for(self, path):
        dvmtest.wait_until(lambda: os.path.exists(path), path)


class Data(Case):
    def test_between_jobs(self):
        """What one publishes for good is there for those who come later, on whatever node."""
        dvm = self.nodes()
        self.assertEqual(self.say(dvm, 'lookup', 'port'), ['lookup NOT-FOUND'])
        self.assertEqual(self.say(dvm, 'publish', 'port', 'here', 'persist=0'), ['publish SUCCESS'])
        self.assertEqual(self.say(dvm, 'lookup', 'port', host='node2'), ['lookup SUCCESS port=here:0'])
        self.assertEqual(self.say(dvm, 'publish', 'port', 'again', host='node2'), ['publish DUPLICATE-KEY'])
        # Nobody else's: of its own it had nothing.
        self.assertEqual(self.say(dvm, 'unpublish', 'port', 'unpublish', 'all', 'lookup', 'port', host='node2'),
                         ['unpublish NOT-FOUND', 'unpublish SUCCESS', 'lookup SUCCESS port=here:0'])
        # Those that are there; the missing ones stay empty.
        self.assertEqual(self.say(dvm, 'lookup', 'nothing,port'), ['lookup SUCCESS port=here:0'])

    def test_of_a_job(self):
        """What is not meant for longer goes with its job; and who has published can take it back."""
        dvm = self.nodes()
        self.assertEqual(self.say(dvm, 'publish', 'port', 'here', 'lookup', 'port', 'unpublish', 'port', 'lookup', 'port', 'publish', 'port',
                                  'there'),
                         ['publish SUCCESS', 'lookup SUCCESS port=here:0', 'unpublish SUCCESS', 'lookup NOT-FOUND', 'publish SUCCESS'])
        self.assertEqual(self.say(dvm, 'lookup', 'port'), ['lookup NOT-FOUND'])

    def test_types(self):
        dvm = self.nodes(1)
        self.assertEqual(self.say(dvm, 'types'), ['types right'])

    def test_ranges(self):
        """A namespace is not seen from another job."""
        dvm = self.nodes()
        self.assertEqual(self.say(dvm, 'publish', 'port', 'mine', 'range=3', 'persist=0', 'lookup', 'port'),
                         ['publish SUCCESS', 'lookup SUCCESS port=mine:0'])
        self.assertEqual(self.say(dvm, 'lookup', 'port'), ['lookup NOT-FOUND'])
        self.assertEqual(self.say(dvm, 'publish', 'near', 'node', 'range=2', 'persist=0'), ['publish SUCCESS'])
        self.assertEqual(self.say(dvm, 'lookup', 'near'), ['lookup SUCCESS near=node:0'])
        self.assertEqual(self.say(dvm, 'lookup', 'near', host='node2'), ['lookup NOT-FOUND'])

    def test_wait(self):
        dvm = self.nodes()
        job, out = self.begin(dvm, 'touch', self.path('up'), 'lookup', 'port,name', 'wait=0', 'timeout=50')
        self.wait_for(self.path('up'))
        self.assertEqual(self.say(dvm, 'publish', 'port', 'p', 'persist=0', host='node2'), ['publish SUCCESS'])
        self.assertEqual(self.say(dvm, 'publish', 'name', 'n', 'persist=1', 'lookup', 'name', 'wait=1', 'timeout=1', host='node2')[0],
                         'publish SUCCESS')
        self.assertEqual(self.end(job, out), ['lookup SUCCESS port=p:0 name=n:0'])

    def test_nobody_publishes(self):
        dvm = self.nodes()
        self.assertEqual(self.say(dvm, 'lookup', 'port', 'wait=0', 'timeout=1', 'lookup', 'port'), ['lookup TIMEOUT', 'lookup NOT-FOUND'])

    def test_waiting_and_killed(self):
        dvm = self.nodes()
        job, _ = self.begin(dvm, 'touch', self.path('up'), 'lookup', 'port', 'wait=0')
        self.wait_for(self.path('up'))
        os.kill(job.pids()[0], signal.SIGKILL)
        self.assertNotEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(self.say(dvm, 'publish', 'port', 'p', 'persist=1', 'lookup', 'port'),
                         ['publish SUCCESS', 'lookup SUCCESS port=p:0'])

    def test_bad_input(self):
        dvm = self.nodes(1)
        words = ['publish', 'port', 'p']
        self.assertEqual(self.say(dvm, *words, 'range=9', *words, 'range=1', *words, 'range=6', *words, 'persist=9', *words, 'bad-range=1',
                                  'lookup', 'port', 'bad-range=1', *words, 'required=1', 'lookup', 'port', 'required=1', 'lookup', 'port'),
                         ['publish BAD-PARAM'] * 5 + ['lookup BAD-PARAM', 'publish NOT-SUPPORTED', 'lookup NOT-SUPPORTED', 'lookup NOT-FOUND'])

    def test_tool(self):
        """What a tool publishes is there for jobs, until it has gone."""
        dvm = self.dvm(settings=['nodes=1', 'slots=4', 'elastic=true'])
        tool = subprocess.Popen([CLIENT, '--tool', dvm.tool_file(), 'publish', 'port', 'tool', 'touch',
                                 self.path('published'), 'file', self.path('enough')], stdout=subprocess.PIPE, text=True)
        try:
            self.wait_for(self.path('published'))
            self.assertEqual(self.say(dvm, 'lookup', 'port'), ['lookup SUCCESS port=tool:0'])
        finally:
            open(self.path('enough'), 'w').close()
            out, _ = tool.communicate()
        self.assertEqual((tool.returncode, out), (0, 'publish SUCCESS\n'))

    def test_session(self):
        """What is for a session is seen by its jobs alone, and goes with it."""
        dvm = self.dvm(settings=['nodes=1', 'slots=2', 'elastic=true', 'kill-grace=0.5'])
        answer = dvm.call('Allocate', '(sa{sv})', 'new', dvmtest.to_options({'hosts': ['n9:2'], 'share': False}))[0]
        campaign = ('org.dvm.Campaign', 'State')
        dvmtest.wait_until(lambda: dvm.connection.call(answer['campaign'], dvmtest.PROPERTIES, 'Get', '(ss)', *campaign)[0] == 'completed',
                           'the nodes of the session')

        def say(*words, **options):
            done = dvm.run([CLIENT, *words], **options)
            self.assert_success(done)
            return done.lines

        mine = {'target': [answer['alloc-id']]}
        self.assertEqual(say('publish', 'near', 'a', 'range=4', 'persist=0', 'publish', 'far', 'b', 'persist=4', **mine), ['publish SUCCESS'] * 2)
        self.assertEqual(say('lookup', 'near,far', **mine), ['lookup SUCCESS near=a:0 far=b:0'])
        self.assertEqual(say('lookup', 'near,far'), ['lookup SUCCESS far=b:0'])
        dvm.call('Allocate', '(sa{sv})', 'release', dvmtest.to_options({'alloc-id': answer['alloc-id']}))
        dvmtest.wait_until(lambda: say('lookup', 'far') == ['lookup NOT-FOUND'], 'what is of the session to go')


class Log(Case):
    """PMIx_Log of ranks to the output of their job."""

    def log(self, dvm, *words, host='node2', **options):
        done = dvm.run([CLIENT, *words], hosts=[host], **options)
        self.assert_success(done)
        return done.out.decode(), done.err.decode()

    def test_output(self):
        """A text is there before PMIx_Log returns, whole lines on the stream that was named."""
        dvm = self.nodes()
        self.assertEqual(self.log(dvm, 'log', 'stdout', 'one', 'log', 'stderr', 'two\nthree\n'),
                         ('one\nlog SUCCESS\nlog SUCCESS\n', 'two\nthree\n'))

    def test_marked(self):
        """As output of the rank is, and as the directives say."""
        dvm = self.nodes()
        self.assertEqual(self.log(dvm, 'log', 'stdout', 'one', output='tag')[0].replace('log SUCCESS', 'one').splitlines(),
                         ['[1,0]<stdout>: one'] * 2)
        self.assertEqual(self.log(dvm, 'log', 'stderr', 'two', 'tag')[1], '[stderr] two\n')
        self.assertRegex(self.log(dvm, 'log', 'stderr', 'two', 'time')[1], r'\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d two\n\Z')

    def test_refused(self):
        """What cannot be done is not done by halves; once: the first channel that there is."""
        dvm = self.nodes()
        self.assertEqual(self.log(dvm, 'log', 'stderr', 'one', 'then=email'), ('log NOT-SUPPORTED\n', ''))
        self.assertEqual(self.log(dvm, 'log', 'email', 'one', 'then=stderr', 'then=stdout', 'once'), ('log SUCCESS\n', 'one\n'))
        self.assertEqual(self.log(dvm, 'log', 'email', 'one', 'once'), ('log NOT-SUPPORTED\n', ''))
        self.assertEqual(self.log(dvm, 'log', 'stderr', 'one', 'xml'), ('log NOT-SUPPORTED\n', ''))


# A /dev of its own for dvmd and all that it starts, with a syslog or without one.
WITH_SYSLOG = """set -e
mkdir -p {place}/dev
mount --rbind /dev {place}/dev
mount -t tmpfs tmpfs /dev
for file in {place}/dev/*; do ln -s $file /dev/${{file##*/}}; done
rm -f /dev/log
{link}
exec {again} {dvmd} "$@"
"""


class Syslog(Case):
    """PMIx_Log to syslog(3)."""

    def setUp(self):
        super().setUp()
        alone = ['unshare', '-m'] if os.geteuid() == 0 else ['unshare', '-r', '-m']
        if subprocess.run([*alone, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], capture_output=True, check=False).returncode != 0:
            self.skipTest('a syslog of its own needs a mount namespace')
        self.alone = ' '.join(alone)
        # The user that root of the namespace was before: callers on the bus say who they are by their number.
        self.again = '' if os.geteuid() == 0 else f'unshare --user --map-user={os.geteuid()} --map-group={os.getegid()}'
        self.syslog = None
        self.addCleanup(setattr, dvmtest, 'DVMD', dvmtest.DVMD)

    def start(self, with_syslog=True, kind=socket.SOCK_DGRAM, **options):
        folder = self.place()
        link = ''
        if with_syslog:
            self.syslog = socket.socket(socket.AF_UNIX, kind)
            self.addCleanup(self.syslog.close)
            self.syslog.bind(os.path.join(folder, 'log'))
            if kind == socket.SOCK_STREAM:
                self.syslog.listen()
            self.syslog.settimeout(dvmtest.LIMIT)
            link = f'ln -s {folder}/log /dev/log'
        with open(os.path.join(folder, 'script'), 'w', encoding='utf-8') as file:
            file.write(WITH_SYSLOG.format(place=folder, link=link, again=self.again, dvmd=dvmtest.DVMD))
        wrapper = os.path.join(folder, 'dvmd')
        with open(wrapper, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nexec {self.alone} sh {folder}/script "$@"\n')
        os.chmod(wrapper, 0o755)
        program, dvmtest.DVMD = dvmtest.DVMD, wrapper
        try:
            return self.dvm(settings=['nodes=2', 'slots=4', 'kill-grace=0.5', 'elastic=true'], **options)
        finally:
            dvmtest.DVMD = program

    def said(self, dvm, *words):
        return self.say(dvm, *words, host='node2')

    def received(self, priority, program, subject, text):
        message = self.syslog.recv(65536).decode()
        self.assertRegex(message, rf'\A<{8 + priority}>[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d {program}\[\d+\]: job \S+ rank 0{subject}: says: {text}\Z')

    def test_system(self):
        """One message each, of the facility user, with the priority that was asked for; the log of the DVM has what is no detail."""
        dvm = self.start()
        self.assertEqual(self.said(dvm, 'log', 'syslog', 'for the operator', 'pri=0', 'log', 'gsys', 'a detail', 'pri=6', 'log', 'syslog', 'two\nlines'),
                         ['log SUCCESS'] * 3)
        self.received(0, 'dvmd', ' on node2', 'for the operator')
        self.received(6, 'dvmd', ' on node2', 'a detail')
        self.received(3, 'dvmd', ' on node2', r'two\\nlines')
        dvmtest.wait_until(lambda: re.search(r'job \S+ rank 0 on node2: says: for the operator', dvm.log()), 'the text in the log')
        self.assertNotIn('a detail', dvm.log())

    def test_local(self):
        """That of the node is written on the node, also beside other channels; once: the first one that there is."""
        dvm = self.start()
        self.assertEqual(self.said(dvm, 'log', 'lsys', 'near', 'pri=4'), ['log SUCCESS'])
        self.received(4, 'dvm-pmix', '', 'near')
        self.assertEqual(self.said(dvm, 'log', 'lsys', 'both', 'then=stdout'), ['both', 'log SUCCESS'])
        self.received(3, 'dvm-pmix', '', 'both')
        self.assertEqual(self.said(dvm, 'log', 'email', 'first', 'then=lsys', 'then=syslog', 'then=stdout', 'once'), ['log SUCCESS'])
        self.received(3, 'dvm-pmix', '', 'first')
        self.assertEqual(self.said(dvm, 'log', 'stdout', 'one', 'then=lsys', 'once', 'log', 'gsys', 'last'), ['one', 'log SUCCESS', 'log SUCCESS'])
        self.received(3, 'dvmd', ' on node2', 'last')

    def test_stream(self):
        """Some syslogs listen for connections."""
        dvm = self.start(kind=socket.SOCK_STREAM)
        self.assertEqual(self.said(dvm, 'log', 'syslog', 'by a stream'), ['log SUCCESS'])
        data = b''
        # Before it was looked whether somebody is there.
        while not data:
            connection, _ = self.syslog.accept()
            with connection:
                data = connection.recv(65536)
        self.assertRegex(data, rb'says: by a stream\0\Z')

    def test_tool(self):
        """A tool has an output of its own, and no other one."""
        dvm = self.start()
        tool = subprocess.run([CLIENT, '--tool', dvm.tool_file(), 'log', 'stderr', 'one', 'log', 'syslog', 'of a tool', 'log', 'stderr', 'two', 'then=syslog',
                               'log', 'stdout', 'three', 'then=syslog', 'once'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=dvmtest.LIMIT, check=False)
        self.assertEqual((tool.returncode, tool.stdout.split(), tool.stderr), (0, 'log NOT-SUPPORTED log SUCCESS log NOT-SUPPORTED log SUCCESS'.split(), ''))
        self.received(3, 'dvmd', ' on node1', 'of a tool')
        self.received(3, 'dvmd', ' on node1', 'three')
        dvmtest.wait_until(lambda: 'says: of a tool' in dvm.log(), 'the text in the log')

    def test_full(self):
        """A syslog that reads nothing keeps nobody waiting, and the caller is told."""
        dvm = self.start()
        more = [word for number in range(600) for word in ('log', 'syslog', f'number {number}')]
        lines = self.said(dvm, *more)
        self.assertEqual(set(lines), {'log SUCCESS', 'log RESOURCE-BUSY'})
        for number in range(lines.index('log RESOURCE-BUSY')):
            self.received(3, 'dvmd', ' on node2', f'number {number}')
        self.assertIn('wants to log something: the syslog on ', dvm.log())

    def test_none(self):
        """Without a syslog nothing is said to be written; once: another channel will do."""
        dvm = self.start(with_syslog=False)
        said = self.said(dvm, 'log', 'syslog', 'one', 'log', 'gsys', 'two', 'log', 'lsys', 'three', 'log', 'stdout', 'four', 'then=syslog',
                         'log', 'stdout', 'five', 'then=lsys', 'log', 'syslog', 'six', 'then=lsys', 'then=stdout', 'once')
        # The text does not go through the pipe of the process, and may outrun what is still there.
        self.assertLess(said.index('six'), said.index('log SUCCESS'))
        self.assertEqual([line for line in said if line != 'six'], ['log NOT-SUPPORTED'] * 5 + ['log SUCCESS'])
        self.assertNotIn('says: ', dvm.log())
        self.assertIn('.0 wants to log something: there is no syslog on ', dvm.log())

    def test_wrong(self):
        """A priority is one of eight."""
        dvm = self.start()
        self.assertEqual(self.said(dvm, 'log', 'syslog', 'one', 'pri=8', 'log', 'syslog', 'two', 'pri=7'), ['log BAD-PARAM', 'log SUCCESS'])
        self.received(7, 'dvmd', ' on node2', 'two')


class Credentials(Case):
    """PMIx_Get_credential and PMIx_Validate_credential where no munged runs; with one: tests/hosts/test-strangers.py."""

    @unittest.skipIf(os.path.exists('/run/munge/munge.socket.2'), 'munged runs here')
    def test_no_munged(self):
        dvm = self.nodes(1)
        with open(self.path('text'), 'w', encoding='utf-8') as file:
            file.write('MUNGE:of nobody:')
        open(self.path('empty'), 'w').close()
        self.assertEqual(self.say(dvm, 'credential', self.path('new'), 'validate', self.path('text'), 'validate', self.path('empty'), 'credential',
                                  self.path('new'), 'types=native,sasl', 'credential', self.path('new'), 'required=1', 'lookup', 'port'),
                         ['credential NOT-SUPPORTED', 'validate NOT-SUPPORTED', 'validate BAD-PARAM', 'credential NOT-SUPPORTED',
                          'credential NOT-SUPPORTED', 'lookup NOT-FOUND'])
        dvmtest.wait_until(lambda: 'gives no credential: ' in dvm.log(), 'the reason in the log')


class Peers(Case):
    """Two jobs on two nodes."""

    # Else keys of PMIx's own are known of a job when a rank has been asked for one of its own, or has connected.
    ASKS_FOR_JOBS = 'asks-for-jobs' in dvmtest.pmix_library()

    def begin_peer(self, dvm, *words, np=2, **options):
        """The second job, on node2; its namespace is in the file PEER_FILE when it is up."""
        self.peer = self.path('peer')
        job, out = self.begin(dvm, *words, host='node2', np=np, **options)
        self.wait_for(self.peer)
        return job, out

    def test_job_info(self):
        """What every process can ask of its job, its node and the DVM."""
        dvm = self.nodes()
        keys = ['pmix.rm.name', 'pmix.srv.nspace', 'pmix.srv.rank', 'pmix.euid', 'pmix.egid', 'pmix.cmd.line', 'pmix.lprocs', 'pmix.alias']
        words = [word for key in keys for word in ('get', '.', 'job', key)]
        words += ['get', '.', 'job', 'pmix.lpeers', 'node=node2', 'get', '.', '0', 'pmix.parent', 'get', '.', '0', 'pmix.spawned']
        job, out = self.begin(dvm, 'rank', '0', *words, host='node1:1,node2:2', np=3)
        nspace = job.nspace.split('@')[0]
        lines = self.end(job, out)
        self.assertEqual(lines[:5], ['get SUCCESS dvm', f'get SUCCESS {nspace}', 'get SUCCESS 1', f'get SUCCESS {os.getuid()}',
                                     f'get SUCCESS {os.getgid()}'])
        self.assertIn('rank 0 get . job pmix.rm.name', lines[5])
        self.assertEqual(lines[6:], ['get SUCCESS 0', f'get SUCCESS {socket.gethostname()}', 'get SUCCESS 1,2', 'get NOT-FOUND', 'get NOT-FOUND'])

    def test_no_such_node(self):
        """The library (4.2) waits two seconds where all processes of the job are on its node, and asks nobody; from 5.0.7 on it answers itself where we find nothing."""
        dvm = self.nodes()
        finds_none = 'finds-no-peers' in dvmtest.pmix_library()
        self.assertEqual(self.say(dvm, 'rank', '0', 'peers', 'nowhere', '.', 'peers', 'node2', '.', host='node1:1,node2:1', np=2),
                         ['peers SUCCESS' if finds_none else 'peers NOT-FOUND', 'peers SUCCESS 1'])
        self.assertIn(self.say(dvm, 'peers', 'nowhere', '.'), [['peers SUCCESS']] if finds_none else (['peers TIMEOUT'], ['peers NOT-FOUND']))
        self.assertEqual(self.say(dvm, 'query', 'pmix.qry.peers', 'nspace=.', 'host=nowhere'), ['query NOT-FOUND'])

    def test_queries(self):
        """Jobs, processes, nodes and slots; by whatever node; and what cannot be answered."""
        dvm = self.nodes()
        words = ['query', 'pmix.qry.ns', 'query', 'pmix.job.size', 'nspace=.', 'query', 'pmix.qry.ptable', 'nspace=.',
                 'query', 'pmix.qry.lptable', 'nspace=.', 'query', 'pmix.qry.ptable', 'nspace=.', 'host=node1', 'rank=0',
                 'query', 'pmix.num.slots,pmix.qry.aslots', 'query', 'pmix.num.slots', 'host=node2', 'query', 'pmix.query.allc',
                 'query', 'pmix.qry.peers', 'nspace=.', 'host=node2', 'query', 'pmix.qry.node', 'nspace=.', 'query', 'pmix.qry.node']
        # A rank that has not connected yet is told as one that runs. A fence that the rank is in may be faster than the word that it has.
        job, out = self.begin(dvm, 'rank', '2', 'file', self.path('connected'), *words, 'touch', self.path('asked'), 'all', 'file', self.path('asked'),
                              host='node1:1,node2:2', np=3)
        job.wait_state(REGISTERED)
        with open(self.path('connected'), 'w', encoding='utf-8'):
            pass
        lines = self.end(job, out)
        row = '{}:node{}:' + CLIENT + ':1:0:6'
        rows = [row.format(0, 1), row.format(1, 2), row.format(2, 2)]
        node = '[pmix.node.arr [pmix.hname node{0}] [pmix.nodeid {1}] [pmix.num.slots 4]]'
        self.assertEqual([line.removeprefix('query SUCCESS ') for line in lines if line.startswith('query')], [
            f'[pmix.qry.ns {job.nspace}]', '[pmix.job.size 3]', f'[pmix.qry.ptable {" ".join(rows)}]', f'[pmix.qry.lptable {" ".join(rows[1:])}]',
            f'[pmix.qry.ptable {rows[0]}]', '[pmix.num.slots 8] [pmix.qry.aslots 5]', '[pmix.num.slots 4]',
            f'[pmix.query.allc {node.format(1, 0)} {node.format(2, 1)}]', '[pmix.qry.peers 1 2]', '[pmix.qry.node node1,node2]', '[pmix.qry.node node1,node2]'])
        faults = ['query', 'pmix.qry.qlst', 'query', 'pmix.num.slots,pmix.qry.qlst', 'query', 'pmix.num.slots', 'host=nowhere', 'query',
                  'pmix.qry.ptable', 'query', 'pmix.qry.ptable', 'nspace=nobody', 'query', 'pmix.query.alloc', 'id=x', 'query', 'pmix.qry.ns', 'pmix.odd=1',
                  'query', 'pmix.qry.ptable', 'nspace=.', 'rank=77', 'query', 'pmix.qry.psets', 'nspace=', 'query', 'pmix.qry.spawn', 'nspace=']
        # A rank without a namespace: also the client's library falls over that, unless it goes straight to the server.
        if 'asks-at-once' in dvmtest.pmix_library():
            faults += ['query', 'pmix.num.slots', 'rank=0', 'fresh=1', 'query', 'pmix.num.slots', 'rank=0', 'nspace=', 'fresh=1']
        self.assertEqual([' '.join(line.split()[:2]) for line in self.say(dvm, *faults)],
                         ['query NOT-SUPPORTED', 'query PARTIAL-SUCCESS', 'query NOT-FOUND', 'query BAD-PARAM', 'query NOT-FOUND', 'query NOT-FOUND',
                          'query NOT-SUPPORTED', 'query NOT-FOUND', *['query BAD-PARAM'] * (faults.count('query') - 8)])

    def test_spawn_info(self):
        """What a spawn says besides reaches the processes of the new job; what is told of every job stays as it is."""
        dvm = self.nodes()
        asks = ['get', '.', 'job', 'site.colour', 'get', '.', 'job', 'pmix.job.size', 'get', '.', '0', 'pmix.parent', 'get', '.', '0', 'pmix.spawned']
        for node in ('node1', 'node2'):
            job, out, _ = dvm.start([ALLOC, 'jobs', 'spawn', 'np=2', f'host={node}:2', 'info=site.colour:blue', 'info=pmix.job.size:#99', '--',
                                     CLIENT, 'rank', '0', *asks, ';', 'ended', '@@'], np=1, hosts=['node1'])
            self.assertEqual(job.wait()['state'], dvmtest.NOTIFIED, dvm.log())
            said = [line for line in out.finish().decode().splitlines() if line.startswith('get ')]
            self.assertEqual(said, ['get SUCCESS blue', 'get SUCCESS 2', f'get SUCCESS {job.nspace}.0', 'get SUCCESS true'])

    def test_large_spawn_info(self):
        """A job may be told 256 KiB; more is refused with the status of the standard, and the server goes on."""
        dvm = self.nodes()
        asks = [CLIENT, 'get', '.', 'job', 'site.a', 'get', '.', 'job', 'site.b', ';', 'ended', '@@']
        below = [f'info=site.a:{"a" * 130000}', f'info=site.b:{"b" * 130000}']
        job, out, _ = dvm.start([ALLOC, 'jobs', 'spawn', *below, 'info=site.c:' + 'c' * 5000, '--', 'true', ';', 'spawn', *below, '--', *asks],
                                np=1, hosts=['node1'])
        self.assertEqual(job.wait()['state'], dvmtest.NOTIFIED, dvm.log())
        # Longer lines than a piece of output may have those of another process in them.
        lines = re.sub(r'0 (started|ended|spawn 0) [^\n]*\n', '', out.finish().decode()).splitlines()
        self.assertEqual(lines[0], f'0 spawn {OUT_OF_RESOURCE} nspace=')
        self.assertEqual([line for line in lines if line.startswith('get ')], ['get SUCCESS ' + 'a' * 130000, 'get SUCCESS ' + 'b' * 130000])

    def test_large_answers(self):
        """An answer of 16 MiB is given; of a larger one the status says so, and the server goes on."""
        dvm = self.dvm(settings=['nodes=1', 'slots=16', 'kill-grace=0.5'])
        words = ['sh', '-c', 'exec sleep 1000', *['x' * 121000] * 14]
        size = sum(len(word) + 1 for word in words)
        jobs = []
        for number in range((16 << 20) // size + 1):
            jobs.append(dvm.submit(words, np=1, personality='plain'))
            jobs[-1].wait_running()
            if number == (16 << 20) // size - 1:
                line, = self.say(dvm, 'query', 'pmix.qry.nsinfo')
                self.assertTrue(line.startswith('query SUCCESS [pmix.qry.nsinfo '), line[:100])
                self.assertGreater(len(line), len(jobs) * size)
        self.assertEqual(self.say(dvm, 'query', 'pmix.qry.nsinfo'), ['query OUT-OF-RESOURCE'])
        line, = self.say(dvm, 'query', 'pmix.qry.ns')
        self.assertEqual(len(line.split(',')), len(jobs) + 1, line)
        for job in jobs:
            job.cancel()
            job.wait()

    def ask_first(self, dvm, *words, **options):
        """What rank 0 says while the others are there."""
        job, out = self.begin(dvm, 'fence', '.', 'rank', '0', *words, 'all', 'fence', '.', **options)
        return [line for line in self.end(job, out) if not line.startswith('fence')]

    def test_node_ids(self):
        """A node has one number, for its processes and queries, whatever nodes a job has; and its own ranks, as before."""
        dvm = self.nodes()
        peers = ['query', 'pmix.qry.peers', 'nspace=.', 'fresh=1']
        asks = ['get', '.', '0', 'pmix.nodeid', 'get', '.', 'job', 'pmix.nodeid', 'get', '.', 'job', 'pmix.srv.rank', *peers, 'node=1']
        self.assertEqual(self.ask_first(dvm, *asks, host='node2:2', np=2), ['get SUCCESS 1'] * 2 + ['get SUCCESS 2', 'query SUCCESS [pmix.qry.peers 0 1]'])
        asks = ['get', '.', '0', 'pmix.nodeid']
        for node in (1, 2):
            asks += ['get', '.', 'job', 'pmix.lpeers', f'node=node{node}']
        for which in (['node=0'], ['node=1', 'host=node2'], ['node=1', 'host=node1'], ['node=2'], ['node=4294967295']):
            asks += [*peers, *which]
        self.assertEqual(self.ask_first(dvm, *asks, host='node1:1,node2:2', np=3),
                         ['get SUCCESS 0', 'get SUCCESS 0', 'get SUCCESS 1,2', 'query SUCCESS [pmix.qry.peers 0]',
                          'query SUCCESS [pmix.qry.peers 1 2]', 'query NOT-FOUND', 'query NOT-FOUND', 'query NOT-FOUND'])

    def test_idle_qualifiers(self):
        """A place that a key has no use for is refused for that key; other qualifiers are passed over."""
        dvm = self.nodes(1)
        words = ['query', 'pmix.qry.ns', 'host=node1', 'query', 'pmix.qry.ns', 'fresh=1', 'query', 'pmix.hwlocxml2', 'host=node1',
                 'query', 'pmix.num.slots', 'pset=ocean', 'query', 'pmix.num.slots,pmix.qry.ns', 'host=node1', 'query', 'pmix.job.size', 'nspace=.', 'node=1',
                 'query', 'pmix.num.slots', 'host=node1', 'id=', 'fresh=1', 'query', 'pmix.job.size', 'nspace=.', 'rank=0',
                 'query', 'pmix.qry.debug', 'nspace=.', 'rank=0']
        self.assertEqual([line.split()[1] for line in self.say(dvm, *words)],
                         ['NOT-SUPPORTED', 'SUCCESS', 'NOT-SUPPORTED', 'SUCCESS', 'PARTIAL-SUCCESS', 'NOT-SUPPORTED', 'NOT-SUPPORTED', 'SUCCESS', 'SUCCESS'])

    def test_many_questions(self):
        """A query has 512 keys, also of what the node's server knows."""
        dvm = self.nodes(1)
        for key in ('pmix.num.slots', 'pmix.qry.debug'):
            enough, too_many = self.say(dvm, 'query', ','.join([key] * 512), 'query', ','.join([key] * 513), 'fresh=1')
            self.assertEqual((enough.split()[1], enough.count(f'[{key} ')), ('SUCCESS', 512))
            self.assertEqual(too_many, 'query OUT-OF-RESOURCE')

    def test_data_of_another_job(self):
        """Of the job as a whole, and of its ranks, without a connect."""
        dvm = self.nodes()
        job, out = self.begin_peer(dvm, 'put', 'mine', 'theirs', 'rank', '1', 'touch', self.path('peer'), 'all', 'file', self.path('enough'))
        job_size, host = ['get', '@', 'all', 'pmix.job.size'], ['get', '@', '1', 'pmix.hname']
        lines = self.say(dvm, 'get', '@', '1', 'mine', *job_size, 'get', '@', '1', 'nothing', env={'PEER_FILE': self.peer})
        self.assertEqual(lines, ['get SUCCESS theirs', 'get SUCCESS 2', 'get NOT-FOUND'])
        if self.ASKS_FOR_JOBS:
            lines = self.say(dvm, *job_size, 'get', '@', '1', 'mine', *host, env={'PEER_FILE': self.peer})
            self.assertEqual(lines, ['get SUCCESS 2', 'get SUCCESS theirs', 'get SUCCESS node2'])
        open(self.path('enough'), 'w').close()
        self.end(job, out)
        self.assertEqual(self.say(dvm, 'get', '@', 'all', 'pmix.job.size', 'get', 'dvm-nobody@1', '0', 'mine', env={'PEER_FILE': self.peer}),
                         ['get NOT-FOUND', 'get NOT-FOUND'])
        # And again: what libpmix has noted of a job that it does not know lets nobody wait.
        for _ in range(2):
            self.assertEqual(self.say(dvm, *['get', 'dvm-nobody@1', '0', 'mine'] * 2, *['get', 'dvm-nobody@2', '1', 'mine'] * 2, np=2),
                             ['get NOT-FOUND'] * 8)

    def test_fresh(self):
        """What a rank has put anew is what is told to those who ask for what is fresh, on its node and on another one."""
        dvm = self.nodes()
        for host in ('node1:2', 'node1:1,node2:1'):
            # Of another node such a library asks its own server alone, which has the first value.
            n_old = 1 if ',' in host and 'refreshes-nearby' in dvmtest.pmix_library() else 0
            get = ['get', '.', '0', 'color']
            job, out = self.begin(dvm, 'rank', '0', 'put', 'color', 'red', 'all', 'fence', '.', *get, 'fence', '.', 'rank', '0', 'put', 'color', 'blue', 'all', 'fence', '.',
                                  *get, 'fresh=1', 'fence', '.', host=host, np=2)
            self.assertEqual(sorted(self.end(job, out)), ['fence SUCCESS'] * 8 + ['get SUCCESS blue'] * (2 - n_old) + ['get SUCCESS red'] * (2 + n_old), host)

    def test_more_than_a_message(self):
        """What is more than daemons tell each other at once is refused for all who wait for it, and the next request is served."""
        dvm = self.nodes()
        job, out = self.begin(dvm, 'rank', '0', 'publish-large', 'port', '70', 'put-large', 'color', '70', 'all', 'fence', '.', 'rank', '1', 'get', '.', '0', 'color', 'all',
                              'fence', '.', 'collect=1', 'fence', '.', 'lookup', 'port', host='node1:1,node2:1', np=2)
        self.assertEqual(sorted(self.end(job, out)),
                         ['fence ERROR'] * 2 + ['fence SUCCESS'] * 4 + ['get OUT-OF-RESOURCE'] + ['lookup NOT-FOUND'] * 2 + ['publish OUT-OF-RESOURCE'])

    def test_data_that_never_comes(self):
        """Its rank does not put anything: the time limit of who asks ends that, and so does the end of the job."""
        dvm = self.nodes()
        job, out = self.begin_peer(dvm, 'touch', self.path('peer'), 'file', self.path('enough'), 'file', self.path('never'), np=1)
        self.assertEqual(self.say(dvm, 'get', '@', '0', 'mine', 'timeout=1', env={'PEER_FILE': self.peer}), ['get TIMEOUT'])
        other, said = self.begin(dvm, 'touch', self.path('asks'), 'get', '@', '0', 'mine', env={'PEER_FILE': self.peer})
        self.wait_for(self.path('asks'))
        job.cancel()
        self.assertEqual(self.end(other, said), ['get NOT-FOUND'])

    def ask_of_ended(self, how, words=(), late=False):
        """What one rank of each node is told of two others of its job that end like that, one on each node. Both stay until
        both have asked: with its last rank a node forgets a job."""
        dvm = self.nodes()
        asks = [word for rank in '13' for key in ('mine', 'pmix.hname') for word in ('get', '.', rank, key)]
        up, gate, told = self.path('up'), self.path('gate'), [self.path('told0'), self.path('told2')]
        begun = self.path('begun')
        # libpmix lets a rank wait for ever that asks for one of its node which has not called PMIx_Init yet, and puts nothing.
        first = ['file', begun, 'touch', up] if late else ['file', gate]
        askers = ['rank', '0', *first, *asks, 'touch', told[0], 'file', told[1], 'rank', '2', *first, *asks, 'touch', told[1], 'file', told[0]]
        job, out, _ = dvm.start([CLIENT, 'rank', '1', *words, 'touch', begun, *(['file', gate] if late else []), *how,
                                 'rank', '3', 'put', 'mine', 'y', *how, *askers], np=4, hosts=['node1:2', 'node2:2'], recoverable=True,
                                output='tag')
        if late:
            # Of the two one was asked by now at least.
            self.wait_for(up)
        else:
            dvmtest.wait_until(lambda: all(row[6] >= 20 for row in job.procs() if row[0] in (1, 3)), 'the ends of two ranks')
        open(gate, 'w').close()
        lines = self.end(job, out)
        for path in (begun, up, gate, *told):
            if os.path.exists(path):
                os.unlink(path)
        return [[line.partition(': ')[2] for line in lines if line.startswith(f'[1,{rank}]')] for rank in (0, 2)]

    def test_of_an_ended_rank(self):
        """What a rank has put, and what is known of it, is there until its job ends, by whatever node."""
        expected = ['get SUCCESS x', 'get SUCCESS node1', 'get SUCCESS y', 'get SUCCESS node2']
        for how in ([], ['die']):
            self.assertEqual(self.ask_of_ended(how, ['put', 'mine', 'x']), [expected] * 2, how)

    def test_of_a_silent_rank(self):
        """One that has ended and put nothing lets nobody wait, whether it is asked for before or after that."""
        for late in (False, True):
            for how in ([], ['die']):
                lines = self.ask_of_ended(how, late=late)
                self.assertEqual(lines[1], ['get NOT-FOUND', 'get SUCCESS node1', 'get SUCCESS y', 'get SUCCESS node2'], (how, late))
                self.assertEqual(lines[0], ['get TIMEOUT', *lines[1][1:]], (how, late))

    def test_same_node(self):
        dvm = self.nodes(1)
        peer = self.path('peer')
        job, out = self.begin(dvm, 'put', 'mine', 'theirs', 'touch', peer, 'file', self.path('enough'))
        self.wait_for(peer)
        lines = self.say(dvm, 'get', '@', 'all', 'pmix.job.size', 'get', '@', '0', 'mine', env={'PEER_FILE': peer})
        self.assertEqual(lines, ['get SUCCESS 1' if self.ASKS_FOR_JOBS else 'get NOT-FOUND', 'get SUCCESS theirs'])
        open(self.path('enough'), 'w').close()
        self.end(job, out)

    def both(self, dvm, first, second, np=2, **options):
        """What the ranks of both say, the second one begun first; each knows the other's namespace."""
        mine = self.path('first')
        env = {'PEER_FILE': mine}
        job, out = self.begin_peer(dvm, 'rank', '0', 'touch', self.path('peer'), 'all', 'file', mine, *second, np=np, env=env)
        done = dvm.run([CLIENT, 'rank', '0', 'touch', mine, 'all', *first], np=np, hosts=['node1'], env={'PEER_FILE': self.peer}, **options)
        return done, job, out

    def test_connect(self):
        dvm = self.nodes()
        words = ['put', 'mine', 'x', 'connect', '@', 'get', '@', '1', 'mine', 'fence', '@', 'disconnect', '@']
        done, job, out = self.both(dvm, words, words)
        expected = sorted(['connect SUCCESS', 'get SUCCESS x', 'fence SUCCESS', 'disconnect SUCCESS'] * 2)
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), expected)
        self.assertEqual(sorted(self.end(job, out)), expected)

    def lose_node(self, *words, late=False):
        """
        Two jobs of two nodes each do so together, and node4 is lost: its rank does not come, or (late) has come, and one that stays comes after that.
        What both jobs say.
        """
        dvm = self.dvm(settings=['nodes=4', 'slots=4', 'kill-grace=0.5', 'heal=false'])
        mine, peer, lost, never = (self.path(f'{name}-{len(words)}-{late}') for name in ('mine', 'peer', 'lost', 'never'))
        *before, last = words
        after = [last, '@', 'fence', '.', 'lookup', 'port']
        job, out = self.begin(dvm, 'rank', '0', 'touch', peer, 'all', 'file', mine, *before, 'rank', '0', *after, 'rank', '1', *(after if late else ['file', never]),
                              host='node3:1,node4:1', np=2, recoverable=True, env={'PEER_FILE': mine})
        self.wait_for(peer)
        other, said = self.begin(dvm, 'rank', '0', 'touch', mine, 'all', *before, *(['rank', '1', 'file', lost, 'all'] if late else []), *after,
                                 host='node1:1,node2:1', np=2, recoverable=True, env={'PEER_FILE': peer})
        lines = 4 if before else 0
        dvmtest.wait_until(lambda: out.data.count(b'\n') + said.data.count(b'\n') == lines and dvm.get('Statistics')['collectives-open'] == 1, 'the others to wait')
        os.kill(next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node4'), signal.SIGKILL)
        dvmtest.wait_until(lambda: [row['StateName'] for row in dvm.get_nodes()].count('DOWN') == 1, 'the node to be lost')
        open(lost, 'w').close()
        said = self.end(other, said), self.end(job, out)
        numbers = dvm.get('Statistics')
        self.assertEqual([numbers[name] for name in ('collectives-open', 'calls-open', 'jobs-known-elsewhere', 'jobs-ended-in-part')], [0] * 4)
        return said

    def test_node_dies(self):
        """A node is lost while others wait: all of them are told, in both jobs, whoever comes late, too, and go on."""
        for words, late in ((['connect'], False), (['connect'], True), (['connect', '@', 'disconnect'], False)):
            first, second = self.lose_node(*words, late=late)
            meets = [f'{words[-1]} LOST-CONNECTION']
            before = ['connect SUCCESS'] if len(words) > 1 else []
            self.assertEqual(sorted(first), sorted([*before, *meets, 'fence SUCCESS', 'lookup NOT-FOUND'] * 2), (words, late))
            self.assertEqual(sorted(second), sorted([*before * 2, *meets, 'fence LOST-CONNECTION', 'lookup NOT-FOUND']), (words, late))

    def test_peer_dies(self):
        """One of the other job's ranks dies instead of connecting: its job ends, and nobody waits."""
        dvm = self.nodes()
        done, job, out = self.both(dvm, ['connect', '@'], ['rank', '1', 'die', 'all', 'connect', '@'])
        self.assertEqual(done.state, NOTIFIED, done)
        self.assertEqual(len(done.lines), 2)
        for line in done.lines:
            self.assertNotIn('SUCCESS', line)
        self.assertNotEqual(job.wait()['state'], NOTIFIED)

    def test_asked_for_while_it_goes(self):
        """Whoever asks for data of a job that is just going is answered, and so is everybody after that."""
        dvm = self.nodes(1)
        for i in range(8):
            mine, theirs, second = self.path(f'mine{i}'), self.path(f'theirs{i}'), self.path(f'second{i}')
            # Both have connected: a rank that ends before that is never missed in a fence (see daemon/pmix/README.md).
            job, _ = self.begin(dvm, 'rank', '0', 'touch', theirs, 'rank', '1', 'touch', second, 'all', 'file', self.path('never'), np=2)
            self.wait_for(second)
            other, said = self.begin(dvm, 'file', theirs, 'rank', '0', 'touch', mine, 'all', 'fence', '@', 'get', '@', '0', 'nothing',
                                     'timeout=1', np=2, env={'PEER_FILE': theirs})
            self.wait_for(mine)
            os.kill(job.pids()[0], signal.SIGKILL)
            lines = self.end(other, said)
            self.assertEqual(len([line for line in lines if line in ('get NOT-FOUND', 'get TIMEOUT')]), 2, lines)
            job.wait()

    def test_nobody_connects(self):
        dvm = self.nodes()
        done, job, out = self.both(dvm, ['connect', '@', 'timeout=1', 'lookup', 'port'], ['file', self.path('enough')], np=1)
        self.assertEqual(done.lines, ['connect TIMEOUT', 'lookup NOT-FOUND'], done)
        open(self.path('enough'), 'w').close()
        self.end(job, out)

    def test_time_limits(self):
        """A limit ends what waits for others of its node and of other nodes, and nothing that is over."""
        dvm = self.nodes()
        begun = []
        for host, what in itertools.product(('node1:4', 'node1:2,node2:2'), ('connect', 'disconnect')):
            # The lookups take longer than the limits.
            in_time = ['fence', '.', what, '.', 'timeout=1', 'lookup', 'never', 'wait=1', 'timeout=2', 'fence', '.']
            late = ['fence', '.', 'rank', '0', 'lookup', 'never', 'wait=1', 'timeout=4', 'all', what, '.', 'timeout=1', 'fence', '.', what, '.', 'fence', '.']
            begun.append((self.begin(dvm, *in_time, host=host, np=4), [f'{what} SUCCESS', 'fence SUCCESS', 'fence SUCCESS', 'lookup TIMEOUT'] * 4))
            begun.append((self.begin(dvm, *late, host=host, np=4),
                          [f'{what} TIMEOUT', f'{what} SUCCESS', *['fence SUCCESS'] * 3] * 4 + ['lookup TIMEOUT']))
        for (job, out), said in begun:
            self.assertEqual(sorted(self.end(job, out)), sorted(said))

    def test_connect_to_nobody(self):
        dvm = self.nodes()
        lines = self.say(dvm, 'connect', 'dvm-nobody@1', 'disconnect', 'dvm-nobody@1')
        self.assertEqual([line.split()[0] for line in lines], ['connect', 'disconnect'])
        for line in lines:
            self.assertNotIn('SUCCESS', line)


if __name__ == '__main__':
    dvmtest.main()
