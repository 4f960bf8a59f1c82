# SPDX-License-Identifier: LGPL-2.1-or-later
"""Process sets: what processes know of those of their job, what a query answers on each node, and who is told of them."""

import os
import subprocess

import dvmtest
import pmixsteps

DATA = os.environ.get('DVM_TEST_PMIX_DATA', '')
EVENTS = os.environ.get('DVM_TEST_PMIX_EVENTS', '')
SPAWN = os.environ.get('DVM_TEST_PMIX_ALLOC', '')
CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
BAD_PARAM = -27
EXISTS = '-11'
NOT_FOUND = '-46'
NAME, NAME_LIST, MEMBERS = 'pmix.pset.nm', 'pmix.pset.nms', 'pmix.pset.mems'
NUMBER, NAMES, MEMBERSHIP = 'pmix.qry.psetnum', 'pmix.qry.psets', 'pmix.qry.pmems'
DEFINE, DELETE = '-55', '-56'


class Case(pmixsteps.Case):
    client = DATA

    def start_apps(self, dvm, *apps, **options):
        """Of each: the words of the client and its options; np is 1 for those that do not say it."""
        apps = [{'np': 1, 'argv': [DATA, *words], **own} for words, own in apps]
        job, out, err = dvm.start(None, apps=apps, **options)
        job.said, job.errors = out, err
        return job

    def say(self, job, limit=dvmtest.LIMIT):
        result = job.wait(limit)
        text = job.said.finish().decode()
        self.assertEqual(result['state'], dvmtest.NOTIFIED, (result, text))
        return text.splitlines()

    def hold(self, dvm, name, *apps, **options):
        """A job whose processes have come, and stay until a file of its name is there."""
        steps = ['fence', '.', 'rank', '0', 'touch', self.path(f'{name}-up'), 'all', 'file', self.path(name)]
        job = self.start_apps(dvm, *((steps, own) for own in apps), **options)
        self.wait_for(f'{name}-up')
        return job

    def ask(self, dvm, *words, host='node1'):
        done = dvm.run([DATA, *words], hosts=[host])
        self.assert_success(done)
        return done.lines


class Queries(Case):
    def test_same_on_each_node(self):
        """Names, number and members, of the node that has processes of the job and of one that has none; until it ends."""
        dvm = self.nodes(3)
        words = ['query', f'{NUMBER}', 'query', NAMES, 'query', MEMBERSHIP, 'pset=ocean', 'query', MEMBERSHIP, 'pset=ice', 'query', MEMBERSHIP, 'pset=none']
        none = ['query SUCCESS [pmix.qry.psetnum 0]', 'query SUCCESS [pmix.qry.psets ]', *['query NOT-FOUND'] * 3]
        self.assertEqual(self.ask(dvm, *words), none)
        job = self.hold(dvm, 'go', {'np': 2, 'pset': 'ocean', 'hosts': ['node1']}, {'hosts': ['node1']}, {'np': 2, 'pset': 'ice', 'hosts': ['node2']})
        expected = ['query SUCCESS [pmix.qry.psetnum 2]', 'query SUCCESS [pmix.qry.psets ocean,ice]', f'query SUCCESS [{MEMBERSHIP} 0 1]',
                    f'query SUCCESS [{MEMBERSHIP} 3 4]', 'query NOT-FOUND']
        for node in ('node1', 'node2', 'node3'):
            self.assertEqual(self.ask(dvm, *words, host=node), expected, node)
        self.touch('go')
        self.say(job)
        for node in ('node1', 'node2', 'node3'):
            self.assertEqual(self.ask(dvm, *words, host=node), none, node)

    def test_shared_name(self):
        """Applications of a job share a set; a set of that name of another job is in the answer too, unless one is named."""
        dvm = self.nodes(2)
        first = self.hold(dvm, 'one', {'np': 2, 'pset': 'a', 'hosts': ['node1']}, {'hosts': ['node1']}, {'pset': 'a', 'hosts': ['node2']})
        second = self.hold(dvm, 'two', {'np': 1, 'hosts': ['node1']}, {'np': 2, 'pset': 'a', 'hosts': ['node2']})
        words = ['query', f'{NAMES}', 'query', NUMBER, 'query', NUMBER, f'nspace={first.nspace}', 'query', MEMBERSHIP, 'pset=a', f'nspace={first.nspace}',
                 'query', MEMBERSHIP, 'pset=a', f'nspace={second.nspace}']
        expected = ['query SUCCESS [pmix.qry.psets a]', *['query SUCCESS [pmix.qry.psetnum 1]'] * 2, f'query SUCCESS [{MEMBERSHIP} 0 1 3]',
                    f'query SUCCESS [{MEMBERSHIP} 1 2]']
        for node in ('node1', 'node2'):
            self.assertEqual(self.ask(dvm, *words, host=node), expected, node)
        both, = self.ask(dvm, 'query', MEMBERSHIP, 'pset=a')
        self.assertEqual(sorted(both.removesuffix(']').split()[3:]), ['0', '1', '1', '2', '3'])
        self.touch('one')
        self.say(first)
        self.assertEqual(self.ask(dvm, 'query', MEMBERSHIP, 'pset=a'), [f'query SUCCESS [{MEMBERSHIP} 1 2]'])
        self.touch('two')
        self.say(second)

    def test_faults(self):
        dvm = self.nodes(1)
        words = ['query', MEMBERSHIP, 'query', MEMBERSHIP, 'pset=', 'query', NAMES, 'nspace=nobody', 'query', f'{NUMBER},{MEMBERSHIP}', 'nspace=.']
        self.assertEqual([' '.join(line.split()[:2]) for line in self.ask(dvm, *words)],
                         ['query BAD-PARAM', 'query NOT-FOUND', 'query NOT-FOUND', 'query PARTIAL-SUCCESS'])


class Processes(Case):
    def test_keys(self):
        """Each process can ask for the set of any process of its job, and those of another job."""
        dvm = self.nodes(2)
        asks = ['get', '.', '0', NAME, 'get', '.', '2', NAME]
        job = self.start_apps(dvm, (['fence', '.', *asks, 'get', '.', 'job', NAME, 'app=1', 'get', '.', 'job', MEMBERS, 'app=0'], {'np': 2, 'pset': 'ocean', 'hosts': ['node1']}),
                              (['fence', '.', *asks], {'np': 2, 'pset': 'ice', 'hosts': ['node2']}))
        lines = [line for line in self.say(job) if line.startswith('get')]
        self.assertEqual(sorted(lines), sorted(['get SUCCESS ocean', 'get SUCCESS ice'] * 4 + ['get SUCCESS ice', 'get SUCCESS 0 1'] * 2))

    def test_list(self):
        """A list of the sets of a process is not made up: there is none, of a process of any node, and a query of it is refused."""
        dvm = self.nodes(2)
        words = ['fence', '.', 'get', '.', '0', NAME_LIST, 'get', '.', '1', NAME_LIST, 'query', NAME_LIST, 'query', NAME_LIST, 'nspace=.']
        job = self.start_apps(dvm, (words, {'pset': 'ocean', 'hosts': ['node1']}), (words, {'pset': 'ice', 'hosts': ['node2']}))
        self.assertEqual(sorted(line for line in self.say(job) if not line.startswith('fence')), ['get NOT-FOUND'] * 4 + ['query NOT-SUPPORTED'] * 4)

    def test_of_another_job(self):
        """Of a job that one has connected with."""
        dvm = self.nodes(2)
        pair = [self.start(dvm, 'touch', self.path(own), 'file', self.path(other), 'connect', '@', 'get', '@', 'job', NAME, 'app=0', 'fence', '@',
                           host=node, pset=f'set-{own}', env={'PEER_FILE': self.path(other)})
                for own, other, node in (('a', 'b', 'node1'), ('b', 'a', 'node2'))]
        self.assertEqual([self.say(job)[1] for job in pair], ['get SUCCESS set-b', 'get SUCCESS set-a'])

    def test_spawned(self):
        """By the attribute of a spawn, of each application where it stands with the job; a name that is none is refused."""
        dvm = self.nodes(1)
        asks = ['get', '.', '0', NAME, 'query', MEMBERSHIP, 'pset=ocean']
        done = dvm.run([SPAWN, 'jobs', 'spawn', f'info={NAME}:a,b', '--', 'true', ';', 'spawn', 'np=2', f'info={NAME}:ocean', '--', DATA, 'rank', '1',
                        *asks, ';', 'ended', '@@'])
        self.assert_success(done)
        self.assertEqual(done.lines[0], f'0 spawn {BAD_PARAM} nspace=')
        self.assertEqual([line for line in done.lines if line.startswith(('get', 'query'))], ['get SUCCESS ocean', f'query SUCCESS [{MEMBERSHIP} 0 1]'])

    def test_refused(self):
        """With a sentence that says where and what, and nothing is started."""
        dvm = self.nodes(1)
        for name in ('', 'a,b', 'a\x1bb', 'x' * 512):
            self.assert_refused('BadParam', 'pset: ', dvm.submit, ['true'], pset=name)
        self.assert_refused('BadParam', 'personality', dvm.submit, ['true'], pset='a', personality='plain')
        self.assertEqual(self.ask(dvm, 'query', NUMBER), ['query SUCCESS [pmix.qry.psetnum 0]'])

    def test_command_line(self):
        """The option of each program, with a DVM of one job alone too."""
        words = ['fence', '.', 'rank', '0', 'get', '.', '0', NAME, 'get', '.', '1', NAME, 'query', NAMES]
        result = subprocess.run([CLI, 'run', '-n', '1', '--pset', 'ocean', DATA, *words, ':', '-n', '1', '-pset', 'ice', DATA, *words],
                                capture_output=True, text=True, timeout=dvmtest.LIMIT)
        self.assertEqual([line for line in result.stdout.splitlines() if not line.startswith('fence')],
                         ['get SUCCESS ocean', 'get SUCCESS ice', 'query SUCCESS [pmix.qry.psets ocean,ice]'], result.stderr)
        for name, why in (('a,b', '“a,b” is not the name of a process set'), ('', 'option --pset has an empty value')):
            result = subprocess.run([CLI, 'run', '--pset', name, 'true'], capture_output=True, text=True, timeout=dvmtest.LIMIT)
            self.assertEqual(result.returncode, 2)
            self.assertIn(why, result.stderr)


class EventsCase(Case):
    client = EVENTS

    def listen(self, dvm, name, *words, host='node1', **options):
        job = self.start(dvm, 'on', f'{DEFINE},{DELETE}', 'touch', self.path(name), *words, host=host, **options)
        self.wait_for(name)
        return job


class Events(EventsCase):
    def test_events(self):
        """The processes of the job, also those that register late, and others of its nodes; once each, and nobody elsewhere."""
        dvm = self.nodes(3, ['pmix-servers=2'])
        others = [self.listen(dvm, f'on{node}', *words, host=f'node{node}')
                  for node, words in ((1, ['await', DELETE]), (2, ['await', DELETE]), (3, ['file', self.path('over')]))]
        steps = ['fence', 'on', f'{DEFINE},{DELETE}', 'await', DEFINE, '1', 'fence']
        apps = [{'argv': [EVENTS, *steps], 'np': 2, 'pset': 'ocean', 'hosts': ['node1:1,node2:1']}, {'argv': [EVENTS, *steps], 'np': 1, 'hosts': ['node2']}]
        job, said, _ = dvm.start(None, apps=apps)
        job.said = said
        define = f'pset=ocean members={job.nspace}.0,{job.nspace}.1 timed'
        lines = [line.replace('members=0,1', f'members={job.nspace}.0,{job.nspace}.1') for line in self.say(job)]
        self.assertEqual(sorted(line.split(' from ')[0] for line in lines), [f'{rank}: {DEFINE}' for rank in range(3)], lines)
        self.assertTrue(all(line.endswith(define) for line in lines), lines)
        for other in others[:2]:
            lines = self.say(other)
            self.assertEqual([line.split(' from ')[0] for line in lines], [f'0: {DEFINE}', f'0: {DELETE}'])
            self.assertTrue(lines[0].endswith(define) and lines[1].endswith('pset=ocean timed'), lines)
        self.touch('over')
        self.assertEqual(self.say(others[2]), [])

    def test_shared_name(self):
        """A set goes with the last job that has one of its name."""
        dvm = self.nodes(1)
        other = self.listen(dvm, 'on', 'await', DEFINE, '3', 'touch', self.path('all'), 'await', DELETE, '2')
        first, second = (self.start(dvm, 'touch', self.path(f'up{name}'), 'file', self.path(name), pset='a') for name in ('first', 'second'))
        self.wait_for('upfirst', 'upsecond')
        self.touch('first')
        self.say(first)
        last = self.start(dvm, 'file', self.path('last'), pset='b')
        self.wait_for('all')
        for job, name in ((second, 'second'), (last, 'last')):
            self.touch(name)
            self.say(job)
        self.assertEqual([(line.split()[1], line.split('pset=')[1][0]) for line in self.say(other)],
                         [(DEFINE, 'a'), (DEFINE, 'a'), (DEFINE, 'b'), (DELETE, 'a'), (DELETE, 'b')])


class Defined(EventsCase):
    """By PMIx_Job_control()."""

    def tool(self, dvm, *words):
        return self.lines_of(self.start_tool(dvm, SPAWN, *words))[1:]

    def test_own_job(self):
        """Without members it is the caller's job; what is no name, or is one already, is refused; the set goes with the job."""
        dvm = self.nodes(2)
        held = self.hold(dvm, 'held', {'pset': 'ice'})
        names = ['ocean', 'ocean', 'ice', 'a,b', 'x' * 512]
        job, said, _ = dvm.start([SPAWN, *(word for name in names for word in ('control', f'pset={name}', 'none')), 'stay'],
                                 np=2, hosts=['node1:1,node2:1'])
        dvmtest.wait_until(lambda: said.data.count(b'stays') == 2, 'all answers')
        first, second = ([line.split()[2] for line in said.data.decode().splitlines() if line.startswith(f'{rank} control')] for rank in (0, 1))
        self.assertEqual(sorted((first[0], second[0])), sorted(('0', EXISTS)))
        for rank in (first, second):
            self.assertEqual(rank[1:], [EXISTS, EXISTS, str(BAD_PARAM), str(BAD_PARAM)])
        self.assertEqual(self.ask(dvm, 'query', MEMBERSHIP, 'pset=ocean', 'query', NUMBER, 'query', NAMES, 'query', NAMES, f'nspace={held.nspace}', host='node2'),
                         [f'query SUCCESS [{MEMBERSHIP} 0 1]', 'query SUCCESS [pmix.qry.psetnum 2]', 'query SUCCESS [pmix.qry.psets ice,ocean]',
                          'query SUCCESS [pmix.qry.psets ice]'])
        job.cancel()
        job.wait()
        self.assertEqual(self.ask(dvm, 'query', MEMBERSHIP, 'pset=ocean', 'query', NAMES), ['query NOT-FOUND', 'query SUCCESS [pmix.qry.psets ice]'])
        self.touch('held')
        self.say(held)

    def test_of_several_jobs(self):
        """By a tool: each job is told once, others are not; members leave with their jobs, and the set with the last."""
        dvm = self.nodes(3, ['elastic=true'])
        one, two = (self.listen(dvm, f'up-{name}', 'await', DEFINE, '1', 'touch', self.path(f'told-{name}'), 'file', self.path(name), np=2, host=host)
                    for name, host in (('one', 'node1:2'), ('two', 'node2:1,node3:1')))
        stranger = self.listen(dvm, 'up-stranger', 'file', self.path('over'), host='node2')
        watcher = self.start_tool(dvm, EVENTS, 'on', f'{DEFINE},{DELETE}', 'touch', self.path('watches'), 'await', DELETE, node='node3')
        self.wait_for('watches')
        self.assertEqual(self.tool(dvm, 'control', 'pset=mixed', f'{one.nspace}.1,{two.nspace},{one.nspace}.1', 'control', 'pset=no', 'none',
                                   'control', 'pset=no', 'nobody', 'control', 'pset=no', f'{one.nspace}.0,{one.nspace}.2'),
                         ['0 control 0', *[f'0 control {NOT_FOUND}'] * 3])
        self.wait_for('told-one', 'told-two')
        members = f'{one.nspace}.1,{two.nspace}.0,{two.nspace}.1'
        asks = ['query', MEMBERSHIP, 'pset=mixed', 'query', MEMBERSHIP, 'pset=mixed', f'nspace={one.nspace}']
        self.assertEqual(self.ask(dvm, *asks, host='node3'), [f'query SUCCESS [{MEMBERSHIP} 1 0 1]', f'query SUCCESS [{MEMBERSHIP} 1]'])
        self.touch('one')
        lines = self.say(one)
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(all(line.split('pset=')[1].startswith(f'mixed members={members}') or f'members=1,{two.nspace}' in line for line in lines), lines)
        self.assertEqual(self.ask(dvm, *asks[:3]), [f'query SUCCESS [{MEMBERSHIP} 0 1]'])
        self.touch('two')
        self.assertEqual(len(self.say(two)), 2)
        self.assertEqual([line.split(' from ')[0].split()[1] for line in self.lines_of(watcher)], [DEFINE, DELETE])
        self.assertEqual(self.ask(dvm, 'query', NUMBER), ['query SUCCESS [pmix.qry.psetnum 0]'])
        self.touch('over')
        self.assertEqual(self.say(stranger), [])


if __name__ == '__main__':
    dvmtest.main()
