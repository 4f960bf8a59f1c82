# SPDX-License-Identifier: LGPL-2.1-or-later
"""PMIx_Notify_event: who is told of an event, by range, once each, over jobs, nodes and servers; and the survivors of a job."""

import os
import signal
import subprocess
import time

import dvmtest
import pmixsteps
from dvmtest import NOTIFIED

CLIENT = os.environ.get('DVM_TEST_PMIX_EVENTS', '')
RM, LOCAL, NAMESPACE, SESSION, GLOBAL, CUSTOM, PROC_LOCAL = (str(number) for number in range(1, 8))
KILLED_BY_CMD, ABORTED_BY_SIG, CALLED_ABORT = 51, 54, 58
# An event of programs, the one that is told behind it, and one of those that libpmix calls events of the system.
EVENT, LAST, SYSTEM = '-3001', '-3002', '-300'
PROCS, NODES, CANCEL = 'pmix.monitor.presuse', 'pmix.monitor.ndresuse', 'pmix.monitor.cancel'
UPDATE = '-114'  # PMIX_MONITOR_RESUSAGE_UPDATE
DOWN, UP = 2, 3  # states of nodes
READY = '-58'  # PMIX_READY_FOR_DEBUG
JOB_START, JOB_END = '-191', '-145'
# Of one source all come in their order: who has got the last one has got each that was told before, and each copy of it.
UNTIL_LAST = ['await', LAST]


class Case(pmixsteps.Case):
    client = CLIENT

    def nodes(self, n=3, settings=(), **options):
        return super().nodes(n, settings, **options)

    def end(self, *jobs):
        """The lines of each, sorted."""
        found = []
        for job in jobs:
            result = job.wait()
            text = job.said.finish().decode()
            self.assertEqual(result['state'], NOTIFIED, (result, text))
            found.append(sorted(text.splitlines()))
        return found if len(found) > 1 else found[0]

    def listen(self, dvm, name, *words, np=1, host='node1', **options):
        """A job that has registered for both events when it is returned, and ends with the last one."""
        ready = [word for rank in range(np) for word in ('rank', str(rank), 'touch', self.path(f'{name}{rank}'))]
        job = self.start(dvm, 'on', f'{EVENT},{LAST}', *ready, 'all', *words, *UNTIL_LAST, np=np, host=host, **options)
        self.wait_for(*(f'{name}{rank}' for rank in range(np)))
        return job

    def heard(self, source, ranks, text='hello'):
        return sorted(line for rank in ranks for line in (f'{rank}: {EVENT} from {source} text={text}', f'{rank}: {LAST} from {source}'))

    def both(self, *details, scope=GLOBAL):
        """The words by which both events are told."""
        return ['tell', EVENT, scope, 'text=hello', *details, 'tell', LAST, scope, *(word for word in details if word.startswith('to='))]

    def told(self, rank=0):
        return [f'{rank}: tell {EVENT} SUCCESS', f'{rank}: tell {LAST} SUCCESS']

    def tool(self, dvm, *words, node='node1'):
        return subprocess.Popen([CLIENT, '--tool', dvm.tool_file(node), *words], stdout=subprocess.PIPE, text=True, env={**os.environ, 'PEER_FILE': self.path('peer')})

    def say(self, tool):
        """Its lines, when it has ended well."""
        try:
            lines = tool.communicate(timeout=dvmtest.LIMIT)[0].splitlines()
        finally:
            tool.kill()
        self.assertEqual(tool.returncode, 0, lines)
        return lines


class Ranges(Case):
    def test_namespace(self):
        """The others of a job, on one node and on three, and nobody else; the source has its own handlers alone."""
        for n, host in ((1, 'node1:6'), (3, 'node1:2,node2:2,node3:2')):
            dvm = self.nodes(n, ['pmix-servers=1'])
            other = self.listen(dvm, f'other{n}')
            words = ['fence', 'rank', '3', *self.both(scope=NAMESPACE), 'all']
            job = self.listen(dvm, f'job{n}', *words, np=6, host=host)
            self.assertEqual(self.end(job), sorted(self.heard(3, range(6)) + self.told(3)))
            self.end_last(dvm, other, 'only this')

    def end_last(self, dvm, other, text):
        """The other job has not heard anything but this."""
        sender = self.start(dvm, 'tell', EVENT, GLOBAL, f'text={text}', 'tell', LAST, GLOBAL)
        self.end(sender)
        self.assertEqual(self.end(other), self.heard(f'{sender.nspace}.0', [0], text))

    def test_global(self):
        """Every job of the DVM, of any server of each node, and its own: once each."""
        dvm = self.nodes(3, ['pmix-servers=2'])
        jobs = [self.listen(dvm, f'on{node}{i}-', np=2, host=f'node{node}:2') for node in (1, 2) for i in range(3)]
        wide = self.listen(dvm, 'wide', np=6, host='node1:2,node2:2,node3:2')
        sender = self.listen(dvm, 'sender', 'fence', 'rank', '1', *self.both(), 'all', np=2, host='node1:1,node3:1')
        self.assertEqual(self.end(sender), sorted(self.heard(1, range(2)) + self.told(1)))
        for job, np in [(job, 2) for job in jobs] + [(wide, 6)]:
            self.assertEqual(self.end(job), self.heard(f'{sender.nspace}.1', range(np)))

    def test_undefined(self):
        """A range that is not said is the whole DVM."""
        dvm = self.nodes(2)
        job = self.listen(dvm, 'job', host='node2')
        sender = self.start(dvm, *self.both(scope='0'))
        self.end(sender)
        self.assertEqual(self.end(job), self.heard(f'{sender.nspace}.0', [0]))

    def test_local(self):
        """All of the node, whatever server they have, and nobody elsewhere; also where handlers of everything are passed by."""
        for private in ((), ('private',)):
            dvm = self.nodes(2, ['pmix-servers=3'])
            near = [self.listen(dvm, f'{len(private)}near{i}') for i in range(3)]
            far = self.listen(dvm, f'{len(private)}far', host='node2')
            sender = self.start(dvm, *self.both(*private, scope=LOCAL))
            self.end(sender)
            for job in near:
                self.assertEqual(self.end(job), self.heard(f'{sender.nspace}.0', [0]))
            self.end_last(dvm, far, 'only this')

    def test_custom(self):
        """Processes of other jobs, one by one and whole: those that are named, of whatever node and server."""
        dvm = self.nodes(3, ['elastic=true', 'pmix-servers=2'])
        job = self.listen(dvm, 'job', np=4, host='node1:2,node2:2')
        other = self.listen(dvm, 'other')
        to = [f'to={job.nspace}:{rank}' for rank in (1, 2)]
        tool = self.tool(dvm, 'name', *self.both(*to, *to, *(f'to={other.nspace}{rank}' for rank in (':0', '', ':0')), scope=CUSTOM), 'tell', LAST, CUSTOM, f'to={job.nspace}:0',
                         f'to={job.nspace}:3')
        name, *lines = self.say(tool)
        self.assertEqual(lines, [*self.told(), f'0: tell {LAST} SUCCESS'])
        self.assertEqual(self.end(other), self.heard(f'{name}.0', [0]))
        self.assertEqual(self.end(job), sorted(self.heard(f'{name}.0', [1, 2]) + [f'{rank}: {LAST} from {name}.0' for rank in (0, 3)]))

    def test_way(self):
        """Single processes of a job whose launch went to all agents at once are told on the same way, others by their agent alone."""
        dvm = self.nodes(8, ['elastic=true'])
        wide = self.listen(dvm, 'wide', np=16, host=','.join(f'node{i}:2' for i in range(1, 9)))
        near, far = self.listen(dvm, 'near'), self.listen(dvm, 'far', 'await', EVENT, 'touch', self.path('told'), host='node4')
        before = dvm.get('Statistics')['broadcasts']
        self.say(self.tool(dvm, 'tell', EVENT, LOCAL, 'text=near', 'tell', EVENT, CUSTOM, 'text=one', f'to={wide.nspace}:9', 'tell', EVENT, CUSTOM, 'text=narrow',
                           f'to={far.nspace}'))
        self.wait_for('told')
        self.assertEqual(dvm.get('Statistics')['broadcasts'] - before, 2)
        self.end(self.start(dvm, 'tell', LAST, GLOBAL))
        heard = [[line.split('text=')[-1] for line in self.end(job) if 'text=' in line] for job in (near, far)]
        self.assertEqual(heard, [['near'], ['narrow']])
        self.assertEqual([(line.split(':')[0], line.split('text=')[-1]) for line in self.end(wide) if 'text=' in line], [('0', 'near'), ('1', 'near'), ('9', 'one')])

    def test_nobody(self):
        """For the process itself, and for the DVM: no other is told."""
        dvm = self.nodes(1, ['pmix-servers=1'])
        job = self.listen(dvm, 'job')
        sender = self.start(dvm, 'on', EVENT, 'tell', EVENT, RM, 'tell', EVENT, PROC_LOCAL, 'text=own', 'await', EVENT, '2')
        self.assertEqual(self.end(sender), sorted([f'0: tell {EVENT} SUCCESS'] * 2 + [f'0: {EVENT} from 0', f'0: {EVENT} from 0 text=own']))
        self.end_last(dvm, job, 'only this')

    def test_session(self):
        """The jobs that share a session with the source, and no others, which what is for everybody does not reach either."""
        dvm = self.nodes(1, ['elastic=true'])
        answer = dvm.call('Allocate', '(sa{sv})', 'new', dvmtest.to_options({'hosts': ['n9:8'], 'share': False}))[0]
        campaign = ('org.dvm.Campaign', 'State')
        dvmtest.wait_until(lambda: dvm.connection.call(answer['campaign'], dvmtest.PROPERTIES, 'Get', '(ss)', *campaign)[0] == 'completed',
                           'the nodes of the session')
        mine = {'target': [answer['alloc-id']], 'host': 'n9'}
        near, far = self.listen(dvm, 'near', **mine), self.listen(dvm, 'far')
        sender = self.start(dvm, *self.both(scope=SESSION), **mine)
        self.end(sender)
        self.assertEqual(self.end(near), self.heard(f'{sender.nspace}.0', [0]))
        self.end(self.start(dvm, 'tell', EVENT, GLOBAL, 'text=walled', **mine))
        self.end_last(dvm, far, 'only this')

    def test_types(self):
        """Values of every type arrive as they were, and events of the system as all others."""
        dvm = self.nodes(2)
        job = self.start(dvm, 'on', f'{EVENT},{SYSTEM}', 'fence', 'rank', '0', 'tell', SYSTEM, NAMESPACE, 'types', 'tell', EVENT, NAMESPACE, 'all', 'await',
                         EVENT, np=2, host='node1:1,node2:1')
        said = [f'{SYSTEM} from 0 number=2.5 large=18446744073709551614 bytes=4', f'{EVENT} from 0']
        self.assertEqual(self.end(job), sorted([f'{rank}: {line}' for rank in (0, 1) for line in said]
                                               + [f'0: tell {code} SUCCESS' for code in (SYSTEM, EVENT)]))

    def test_tools(self):
        """A tool is told as a process is: of what is for all, and by its name."""
        dvm = self.nodes(2, ['elastic=true'])
        tool = self.tool(dvm, 'touch', self.path('peer'), 'on', f'{EVENT},{LAST}', 'touch', self.path('ready'), *UNTIL_LAST)
        self.wait_for('peer', 'ready')
        with open(self.path('peer'), encoding='utf-8') as file:
            name = file.read()
        senders = [self.start(dvm, 'tell', EVENT, *words, host='node2')
                   for words in ((GLOBAL, 'text=all'), (SESSION, 'text=session'), (CUSTOM, 'text=name', f'to={name}:0'), (CUSTOM, 'text=whole', f'to={name}'))]
        for sender in senders:
            self.end(sender)
        last = self.start(dvm, 'tell', EVENT, LOCAL, 'text=far', 'tell', EVENT, NAMESPACE, 'text=job', 'tell', LAST, GLOBAL, host='node2')
        self.end(last)
        lines = sorted(self.say(tool))
        self.assertEqual(lines, sorted([f'0: {EVENT} from {sender.nspace}.0 text={text}' for sender, text in zip(senders, ('all', 'session', 'name', 'whole'))]
                                       + [f'0: {LAST} from {last.nspace}.0']))
        self.end(self.start(dvm, 'tell', EVENT, CUSTOM, f'to={name}', host='node2'))


    def test_ready(self):
        """That a process is ready for a debugger is for the DVM alone, which answers."""
        dvm = self.nodes(1)
        job = self.listen(dvm, 'job', 'on', READY)
        sender = self.start(dvm, 'on', READY, 'tell', READY, GLOBAL, 'tell', READY, RM)
        self.assertEqual([line for line in self.end(sender) if 'tell' in line], [f'0: tell {READY} SUCCESS'] * 2)
        self.end_last(dvm, job, 'only this')


class Jobs(Case):
    """Tools are told of the start and the end of every job."""

    def listen_to_jobs(self, dvm, name, *words, node='node1', late=False):
        """A tool that has registered for both when it is there; late: when that file is."""
        wait = ['file', self.path(late)] if late else []
        before = dvm.get('Statistics')['tools']
        tool = self.tool(dvm, *wait, 'on', f'{JOB_START},{JOB_END},{LAST}', 'touch', self.path(name), *words, *UNTIL_LAST, node=node)
        dvmtest.wait_until(lambda: dvm.get('Statistics')['tools'] == before + 1, 'the DVM to know the tool')
        if not late:
            self.wait_for(name)
        return tool

    def started(self, nspace):
        return f'0: {JOB_START} from UNDEF.-1 affected={nspace}.-2 timed'

    def heard_of(self, *ends):
        """ends: (namespace, exit status)"""
        return [line for nspace, status in ends
                for line in (self.started(nspace), f'0: {JOB_END} from UNDEF.-1 affected={nspace}.-2 '
                                                   f'status={status} exit={status} timed')]

    def until_last(self, dvm, *tools):
        """The job that has told the last event, and what each has heard by then of others: it may tell before it is known to run."""
        teller = self.start(dvm, 'tell', LAST, GLOBAL)
        self.end(teller)
        heard = [self.say(tool) for tool in tools]
        return teller.nspace, [[line for line in lines if f'affected={teller.nspace}.' not in line] for lines in heard]

    def test_told(self):
        """On every node, once each, also the one that has spawned the job; those who register later hear of no job that was before."""
        for servers in (1, 0):
            dvm = self.nodes(2, ['elastic=true', f'pmix-servers={servers}'])
            here = f'{servers}'
            tools = [self.listen_to_jobs(dvm, here + name, node=node) for name, node in (('near', 'node1'), ('other', 'node1'), ('far', 'node2'))]
            late = self.listen_to_jobs(dvm, here + 'late', late=here + 'over')
            ended = [dvm.run(['sh', '-c', f'exit {status}'], hosts=['node1:1']) for status in (0, 3)]
            failed = dvm.run(['/no/such/program'])
            self.assertEqual(failed.code, 127)
            in_part = [{'argv': ['true'], 'np': 1, 'hosts': ['node1']}, {'argv': ['/no/such/program'], 'np': 1, 'hosts': ['node2']}]
            self.assertEqual(dvm.run(None, apps=in_part).code, 127)
            self.assert_success(dvm.run(['true'], runtime_options='donotlaunch'))
            spawner = self.listen_to_jobs(dvm, here + 'spawner', 'spawn', 'true', 'await', JOB_END, 'touch', self.path(here + 'spawned'))
            self.wait_for(here + 'spawned')
            spawned = dvm.job(6).nspace
            self.touch(here + 'over')
            self.wait_for(here + 'late')
            teller, heard = self.until_last(dvm, *tools, late, spawner)
            both = self.heard_of((ended[0].job.nspace, 0), (ended[1].job.nspace, 3))
            last = [f'0: {LAST} from {teller}.0']
            for lines in heard[:3]:
                self.assertEqual(lines, both + self.heard_of((spawned, 0)) + last)
            self.assertEqual(heard[3], last)
            self.assertEqual(heard[4], self.heard_of((spawned, 0)) + last)
            self.finish(dvm)

    def test_not_wanted(self):
        """A process that spawns a job is told of start and end, unless it says that it does not want to be."""
        dvm = self.nodes(2)
        words = [word for how in (['no-events'], ['no-end'], []) for word in ('spawn', 'true', *how, 'file', self.path(f'ended{len(how and how[0])}'))]
        job = self.start(dvm, 'on', f'{JOB_START},{JOB_END},{LAST}', *words, 'await', JOB_END, 'tell', LAST, PROC_LOCAL, *UNTIL_LAST)
        for number, how in ((2, 'no-events'), (3, 'no-end'), (4, '')):
            dvmtest.wait_until(lambda: any(row['Ended'] and row['Id'] == number for row in dvm.list_jobs(all=True)), 'the end of a job')
            self.touch(f'ended{len(how)}')
        lines = self.end(job)
        name = job.nspace.rsplit('@', 1)[0]
        self.assertEqual([line for line in lines if LAST not in line], sorted([self.started(f'{name}@3'), *self.heard_of((f'{name}@4', 0))]))


class Late(Case):
    """Those that connect, or register a handler, after the event: once each, with its source."""

    def test_handlers(self):
        dvm = self.nodes(2, ['pmix-servers=1'])
        told, over = self.path('told'), self.path('over')
        words = ['file', told, 'on', f'{EVENT},{LAST}', 'await', EVENT, *UNTIL_LAST, 'on', EVENT, 'on', f'{EVENT},-3003', 'on', 'any', 'file', over]
        job = self.start(dvm, 'fence', 'rank', '0', 'touch', self.path('up'), 'all', *words, np=4, host='node1:2,node2:2')
        self.wait_for('up')
        # A job that ends takes nothing of others along.
        short = self.listen(dvm, 'short', host='node1:1,node2:1', np=2)
        sender = self.start(dvm, *self.both(), host='node2')
        self.end(sender)
        self.end(short)
        self.touch('told')
        other = self.start(dvm, 'tell', '-3003', GLOBAL)
        self.end(other)
        self.touch('over')
        lines = [line for line in self.end(job) if '-3003' not in line]
        self.assertEqual(lines, self.heard(f'{sender.nspace}.0', range(4)))

    def test_connections(self):
        """Of a job that has begun before, also where others of it have heard already."""
        dvm = self.nodes(2, ['pmix-servers=1'])
        words = ['on', f'{EVENT},{LAST}', *UNTIL_LAST]
        late = self.start(dvm, '--after', self.path('told'), *words, np=4, host='node1:2,node2:2')
        late.wait_running()
        early = self.listen(dvm, 'early', host='node2')
        sender = self.start(dvm, *self.both(), host='node1')
        self.end(sender)
        self.assertEqual(self.end(early), self.heard(f'{sender.nspace}.0', [0]))
        self.touch('told')
        self.assertEqual(self.end(late), self.heard(f'{sender.nspace}.0', range(4)))

    def test_one_after_another(self):
        """A rank that runs one PMIx program after another: what is told between them comes to the next one, and what has been told comes no more."""
        dvm = self.nodes(2, ['pmix-servers=1'])
        words = f'{CLIENT} on {EVENT} await {EVENT} && touch {self.path("first")}$DVM_RANK && while ! test -e {self.path("told")}; do sleep 0.05; done && exec {CLIENT} on {EVENT},{LAST} await {LAST}'
        job, job_out, _ = dvm.start(['sh', '-c', words], np=2, hosts=['node1:1,node2:1'])
        job.said = job_out
        dvmtest.wait_until(lambda: job.get('NumRegistered') == 2, 'both to be there')
        before = self.start(dvm, 'tell', EVENT, GLOBAL, 'text=before')
        self.end(before)
        self.wait_for('first0', 'first1')
        between = self.start(dvm, 'tell', EVENT, GLOBAL, 'text=between', 'tell', LAST, GLOBAL)
        self.end(between)
        self.touch('told')
        lines = [f'{rank}: {EVENT} from {sender.nspace}.0 text={text}' for rank in (0, 1) for sender, text in ((before, 'before'), (between, 'between'))]
        self.assertEqual(self.end(job), sorted(lines + [f'{rank}: {LAST} from {between.nspace}.0' for rank in (0, 1)]))

    def test_too_many(self):
        """Of more than can be kept the last ones come, and the log says once that the others did not."""
        dvm = self.nodes(1, ['pmix-servers=1'])
        late = self.start(dvm, '--after', self.path('told'), 'on', '-3003', 'await', '-3003', '512', 'touch', self.path('heard'), np=2)
        late.wait_running()
        self.end(self.start(dvm, 'flood', '600', '-3003', GLOBAL))
        self.assertNotIn('misses events', dvm.log())
        self.touch('told')
        self.assertEqual(len(self.end(late)), 2 * 512)
        self.assertEqual(dvm.log().count('misses events'), 1, dvm.log())

    def test_not_cached(self):
        """An event that is for those alone who have a handler now."""
        dvm = self.nodes(1)
        words = ['on', f'{EVENT},{LAST}', *UNTIL_LAST]
        late = self.start(dvm, '--after', self.path('told'), *words)
        late.wait_running()
        job = self.start(dvm, 'touch', self.path('up'), 'file', self.path('told'), *words)
        self.wait_for('up')
        sender = self.start(dvm, 'tell', EVENT, GLOBAL, 'not-cached', 'tell', LAST, GLOBAL)
        self.end(sender)
        self.touch('told')
        self.assertEqual(self.end(job, late), [[f'0: {LAST} from {sender.nspace}.0']] * 2)


    def test_room(self):
        """What is for the source alone, or for a process that has finalized, takes no place of what others have yet to take."""
        dvm = self.nodes(1, ['pmix-servers=1', 'elastic=true'], env={'PMIX_MCA_pmix_max_events': '8'})
        late = self.start(dvm, 'on', '-3003', 'touch', self.path('up'), 'await', '-3003', 'touch', self.path('heard'), 'file', self.path('told'), 'on', EVENT, 'await', EVENT, '2')
        done = self.start(dvm, '--end', self.path('told'), 'fence')
        self.wait_for('up', 'told.finalized')
        own = ['tell', '-3003', NAMESPACE] * 8
        sender = self.start(dvm, *own, 'tell', EVENT, GLOBAL, 'text=hello', *own, 'touch', self.path('sent'), 'file', self.path('told'))
        self.wait_for('sent')
        # To what has finalized, and then to who says that all have come.
        vain = ['tell', '-3003', CUSTOM, f'to={done.nspace}'] * 8
        name = self.say(self.tool(dvm, 'name', *vain, 'tell', EVENT, CUSTOM, 'text=tool', f'to={late.nspace}', *vain, 'tell', '-3003', CUSTOM, f'to={late.nspace}'))[0]
        self.wait_for('heard')
        self.touch('told')
        lines = [line for line in self.end(late) if EVENT in line]
        self.assertEqual(lines, sorted([f'0: {EVENT} from {sender.nspace}.0 text=hello', f'0: {EVENT} from {name}.0 text=tool']))
        self.end(done, sender)


class Relays(Case):
    """A tree of agents, in which that of node1 has those of node3 and node4 below it, and that of node3 the one of node7."""

    def freeze(self, dvm, name):
        """What comes to the agent of the node stays in its sockets, and goes with it."""
        pid = next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == name)
        os.kill(pid, signal.SIGSTOP)
        return pid

    def check_lost(self, scope, *to):
        """The agent of node1 is lost with the events of rank 0 for those below it, and with those of rank 3 for those above it."""
        dvm = self.nodes(7, ['radix=2', 'heal=false', 'elastic=true'])
        self.assertEqual(dvm.get('TreeDepth'), 3)
        tell = self.both(*to, scope=scope)
        job = self.start(dvm, 'on', f'{EVENT},{LAST}', 'fence', 'rank', '0', 'touch', self.path('up'), 'all', 'file', self.path('frozen'),
                         'rank', '0', *tell, 'touch', self.path('told'), 'rank', '3', 'touch', self.path('going'), *tell, 'all', 'await', LAST, '2',
                         np=4, host='node2:1,node3:1,node5:1,node7:1')
        self.wait_for('up')
        pid = self.freeze(dvm, 'node1')
        self.touch('frozen')
        # The controller has told all by then, and those below cannot have heard of it.
        self.wait_for('told', 'going')
        os.kill(pid, signal.SIGKILL)
        heard = self.heard(0, range(4)) + self.heard(3, range(4))
        self.assertEqual(self.end(job), sorted(self.told(0) + self.told(3) + heard))
        dvmtest.wait_until(lambda: [row['State'] for row in dvm.get_nodes()[1:]] == [DOWN] + [UP] * 6, 'node1 to be lost')

    def test_custom(self):
        """Processes that are named, one by one and by their job, hear of it once."""
        self.check_lost(CUSTOM, 'to=.:1', 'to=.')

    def test_custom_ranks(self):
        self.check_lost(CUSTOM, *(f'to=.:{rank}' for rank in range(4)))

    def test_session(self):
        """All jobs of the session."""
        self.check_lost(SESSION)


class Refused(Case):
    def answer(self, dvm, *words, **options):
        return self.end(self.start(dvm, *words, **options))

    def test_bad_input(self):
        """The server says what is wrong, and goes on."""
        dvm = self.nodes(1)
        for words, status in ((['99'], 'BAD-PARAM'), ([CUSTOM], 'BAD-PARAM'), ([GLOBAL, 'to=.:0'], 'BAD-PARAM'), ([GLOBAL, 'bad'], 'BAD-PARAM'),
                              ([CUSTOM, 'to=dvm-nobody@1'], 'NOT-FOUND'), ([CUSTOM, 'to=.:7'], 'NOT-FOUND'),
                              ([GLOBAL, f'size={256 * 1024}'], 'OUT-OF-RESOURCE'), ([GLOBAL, f'size={255 * 1024}'], 'SUCCESS')):
            self.assertEqual(self.answer(dvm, 'tell', EVENT, *words), [f'0: tell {EVENT} {status}'])
        for code in ('-160', '-165', '-170'):
            self.assertEqual(self.answer(dvm, 'tell', code, CUSTOM, 'to=.:0', 'group'), [f'0: tell {code} NOT-SUPPORTED'])
        self.assertIn('99 is not a range of an event: use 0 to 7', dvm.log())
        self.assertIn('pmix.evproc of an event is not a process', dvm.log())
        self.assertNotIn('was ended by signal', dvm.log())
        # One that has grown is replaced, and stays a moment for tools.
        dvmtest.wait_until(lambda: len(dvm.servers) == 1, 'there is one server')

    def test_rights(self):
        """Of processes of others those of the jobs that it may control, and none of the range is told where one may not be."""
        dvm = self.nodes(2, ['pmix-servers=1'])
        job = self.listen(dvm, 'job')
        self.assertEqual(self.answer(dvm, 'tell', EVENT, CUSTOM, 'to=.', f'to={job.nspace}'), [f'0: tell {EVENT} NO-PERMISSIONS'])
        self.assertEqual(self.answer(dvm, 'tell', EVENT, CUSTOM, f'to={job.nspace}:0', host='node2'), [f'0: tell {EVENT} NO-PERMISSIONS'])
        sender = self.start(dvm, *self.both(scope=SESSION))
        self.end(sender)
        self.assertEqual(self.end(job), self.heard(f'{sender.nspace}.0', [0]))


class Floods(Case):
    def test_flood(self):
        """Of very many events those that are too many are refused; others are told, by others and later on."""
        dvm = self.nodes(2, ['pmix-servers=1'])
        job = self.listen(dvm, 'job', host='node2')
        for n, weight, word in ((5000, 1, 'text=flood'), (40, 200, f'size={200 * 1024}')):
            begun = time.monotonic()
            flood = self.start(dvm, 'flood', str(n), '-3003', GLOBAL, word)
            refused = int(self.end(flood)[0].split()[-1])
            self.assertLessEqual((n - refused) * weight, 1024 + 128 * (time.monotonic() - begun))
            self.assertEqual(dvm.log().count(f'{flood.nspace}.0 tells of too many events'), 1 if refused else 0)
        sender = self.start(dvm, *self.both())
        self.end(sender)
        self.assertEqual(self.end(job), self.heard(f'{sender.nspace}.0', [0]))

    def test_pieces(self):
        """The server takes each piece of a header: one that it left there may keep the room that the rest needs."""
        if 'groups' not in dvmtest.pmix_library():
            self.skipTest('the headers of the inside of libpmix 6.0 are not served')
        dvm = self.nodes(1)
        flood = self.start(dvm, 'flood', '20', EVENT, GLOBAL, 'text=flood', env={'PMIX_CUT_WRITES': '1'})
        self.assertEqual(self.end(flood), ['0: refused 0'])


class Monitors(Case):
    """PMIx_Process_monitor: those of the job are told, on whatever node; the process itself is not."""

    def watch(self, alert, *words):
        dvm = self.nodes(2)
        others = [word for rank in ('1', '2') for word in ('rank', rank, 'await', alert)]
        job = self.start(dvm, 'on', alert, 'fence', 'rank', '0', *words, *others, 'all', 'fence', np=3, host='node1:2,node2:1')
        self.assertEqual(self.end(job), [f'{rank}: {alert} from 0' for rank in (1, 2)])

    def test_file(self):
        self.touch('still')
        self.watch('-110', 'watch', self.path('still'))

    def test_heartbeats(self):
        self.watch('-109', 'beats')

    def test_cancel(self):
        """Of a process that has taken its monitors back nothing is told; another one's of the same file is."""
        dvm = self.nodes(2)
        still = self.path('still')
        self.touch('still')
        job = self.start(dvm, 'on', '-110', 'fence', 'rank', '0', 'watch', still, 'monitor', CANCEL, 'none', 'all', 'fence', 'rank', '1', 'watch', still, 'rank', '2', 'await', '-110',
                         'all', 'fence', np=3, host='node1:2,node2:1')
        self.assertEqual([line for line in self.end(job) if line[0] != '0'], ['2: -110 from 1'])

    def test_refused(self):
        """What nobody watches is refused: another kind of monitor, a list of devices, a word that there is not."""
        dvm = self.nodes(1)
        kinds = ('pmix.monitor.dkresuse', 'pmix.monitor.netresuse', 'pmix.odd')
        job = self.start(dvm, *(word for kind in kinds for word in ('monitor', kind, 'none')))
        self.assertEqual(self.end(job), ['0: monitor none NOT-SUPPORTED'] * 3)


class Usage(Case):
    """PMIx_Process_monitor of what processes and nodes use: once, or again and again for who has asked."""

    def burn(self, dvm, np=1, host='node1'):
        job = dvm.submit(['sleep', '1000'], np=np, hosts=[host], personality='plain')
        job.wait_running()
        return job

    def test_once(self):
        """Answers with a row for each; nothing else comes."""
        dvm = self.nodes(2)
        job = self.burn(dvm, 3, 'node1:1,node2:2')
        for words, status, rows in (([PROCS, f'to={job.nspace}'], 'SUCCESS', 3), ([PROCS, f'to={job.nspace}:2', 'to=.'], 'SUCCESS', 2),
                                    ([NODES], 'SUCCESS', 2), ([NODES, 'host=node2', 'node=0'], 'SUCCESS', 2),
                                    ([PROCS], 'NOT-SUPPORTED', 0), ([PROCS, 'to=nobody'], 'NOT-FOUND', 0), ([PROCS, f'to={job.nspace}:0', f'to={job.nspace}:9'], 'NOT-FOUND', 0),
                                    ([PROCS, 'host=node1'], 'NOT-SUPPORTED', 0), ([NODES, 'to=.'], 'NOT-SUPPORTED', 0), ([NODES, 'host=nowhere'], 'NOT-FOUND', 0),
                                    ([NODES, 'every=0'], 'BAD-PARAM', 0), ([NODES, 'pmix.odd=1'], 'NOT-SUPPORTED', 0), ([NODES, 'code=-400'], 'BAD-PARAM', 0)):
            with self.subTest(words=words):
                self.assertEqual(self.end(self.start(dvm, 'use', *words, host='node2')), [f'0: use {status} rows={rows}'])

    def test_again(self):
        """By events, with the name that it was given, until that is cancelled; those that go are left out, and the end is told."""
        dvm = self.nodes(2)
        one, other = self.burn(dvm), self.burn(dvm, host='node2')
        job = self.start(dvm, 'on', f'{UPDATE},{EVENT},{LAST}', 'use', PROCS, 'every=1', 'id=both', f'to={one.nspace}', f'to={other.nspace}:0', 'await', UPDATE, '2',
                         'monitor', CANCEL, 'other', 'monitor', CANCEL, 'both', 'monitor', CANCEL, 'both',
                         'use', NODES, 'every=1', f'code={EVENT}', 'host=node2', 'await', EVENT, '2', 'monitor', CANCEL, 'none',
                         'touch', self.path('up'), 'file', self.path('gone'), 'use', PROCS, 'every=1', f'code={LAST}', f'to={other.nspace}', *UNTIL_LAST,
                         'touch', self.path('left'), 'await', LAST, '2')
        self.wait_for('up')
        one.cancel()
        one.wait()
        self.touch('gone')
        self.wait_for('left')
        other.cancel()
        lines = self.end(job)
        answers = [line for line in lines if ' from ' not in line]
        self.assertEqual(answers, sorted(['0: use SUCCESS rows=2', '0: monitor other NOT-FOUND', '0: monitor both SUCCESS', '0: monitor both NOT-FOUND',
                                          '0: use SUCCESS rows=1', '0: monitor none SUCCESS', '0: use SUCCESS rows=1']))
        self.assertEqual({line for line in lines if f' {UPDATE} ' in line}, {f'0: {UPDATE} from UNDEF.-1 rows=2 id=both timed'})
        self.assertEqual({line for line in lines if f' {EVENT} ' in line}, {f'0: {EVENT} from UNDEF.-1 rows=1 timed'})


    def test_caller_gone(self):
        """The monitors of a process, and of a tool, end with it, killed or not: a server has room for 256, and others have it then."""
        dvm = self.nodes(1, ['pmix-servers=1', 'elastic=true'])
        one = ['use', NODES, 'every=1']
        full = one * 256 + ['use', NODES]
        answers = ['0: use OUT-OF-RESOURCE rows=0'] + ['0: use SUCCESS rows=1'] * 256
        killed = self.start(dvm, *full, 'die')
        self.assertEqual(killed.wait()['exit-signal'], 9)
        self.assertEqual(sorted(killed.said.finish().decode().splitlines()), answers)
        with self.tool(dvm, *full, 'die') as tool:
            self.assertEqual(sorted(tool.communicate(timeout=dvmtest.LIMIT)[0].splitlines()), answers)
        self.assertEqual(self.end(self.start(dvm, *one)), ['0: use SUCCESS rows=1'])


class Survivors(Case):
    """Those of a job that may lose processes are told of each that ends otherwise than it should."""

    CODES = {'die': (-402, 137), 'leave 0': (-200, 0), 'leave 3': (-404, 3)}

    def test_ends(self):
        dvm = self.nodes(2)
        codes = ','.join(str(code) for code, _ in self.CODES.values())
        words = ['on', codes, 'fence']
        for rank, how in enumerate(self.CODES):
            words += ['rank', str(rank + 2), *how.split()]
        words += ['all', *(word for code, _ in self.CODES.values() for word in ('await', str(code)))]
        job = self.start(dvm, *words, np=5, host='node1:3,node2:2', map_by='node', recoverable=True)
        lines = self.end(job)
        for survivor in (0, 1):
            for rank, (code, status) in enumerate(self.CODES.values()):
                self.assertIn(f'{survivor}: {code} from UNDEF.-1 affected={rank + 2} exit={status} timed', lines)
        self.assertEqual(len([line for line in lines if line[0] in '01']), 2 * len(self.CODES), lines)

    def test_node(self):
        """Of a node that is lost, besides, as a whole."""
        dvm = self.nodes(2, ['heal=false'])
        job = self.start(dvm, 'on', '-61,-231', 'await', '-61', '2', 'await', '-231', np=4, host='node1:2,node2:2', map_by='node', recoverable=True)
        dvmtest.wait_until(lambda: job.get('NumRegistered') == 4, 'all to be there')
        os.kill(next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node2'), 9)
        self.assertEqual(self.end(job), sorted(f'{rank}: {line}' for rank in (0, 2)
                                               for line in ('-231 from UNDEF.-1 timed', '-61 from UNDEF.-1 affected=1 timed', '-61 from UNDEF.-1 affected=3 timed')))

    def test_not_told(self):
        """Unless the job wants to hear nothing of it, of a node neither."""
        dvm = self.nodes(2, ['heal=false'])
        job = self.start(dvm, 'on', f'-402,-61,-231,{LAST}', 'fence', 'rank', '2', 'die', 'rank', '0', 'file', self.path('lost'), 'tell', LAST, NAMESPACE, 'all', 'await', LAST,
                         np=4, host='node1:3,node2:1', **{'recoverable': True, 'runtime-options': 'notifyerrors=no'})
        dvmtest.wait_until(lambda: job.get('NumTerminated') == 1, 'the one to be gone')
        os.kill(next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node2'), 9)
        dvmtest.wait_until(lambda: job.get('NumTerminated') == 2, 'that of the node, too')
        self.touch('lost')
        self.assertEqual(self.end(job), sorted([f'0: tell {LAST} SUCCESS', f'0: {LAST} from 0', f'1: {LAST} from 0']))

    def test_shrink(self):
        """Of a node that leaves in good order as of one that is lost: each process once, also one that has ended before its node has gone."""
        dvm = self.nodes(3, ['elastic=true'])
        codes = '-61,-231,-200,-400,-401,-402,-404,-8'
        job = self.start(dvm, 'on', codes, 'fence', 'touch', self.path('up'), 'await', '-61', '4', 'await', '-231', '2', np=6, host='node1:2,node2:2,node3:2', map_by='node',
                         recoverable=True)
        self.wait_for('up')
        dvmtest.wait_until(lambda: job.get('NumRegistered') == 6, 'all to be there')
        dvm.call('Shrink', '(a{sv})', dvmtest.to_options({'hosts': ['node2', 'node3']}))
        self.assertEqual([line for line in self.end(job) if line[0] in '03'],
                         sorted(f'{rank}: {line}' for rank in (0, 3)
                                for line in ['-231 from UNDEF.-1 timed'] * 2 + [f'-61 from UNDEF.-1 affected={gone} timed' for gone in (1, 2, 4, 5)]))

    def test_abort(self):
        """PMIx_Abort of some of a job, of any node: those end, and the others are told of each, and go on."""
        dvm = self.nodes(2, ['elastic=true'])
        for how in ({'recoverable': True}, {'runtime-options': 'recoverable'}):
            words = ['on', '-8', 'fence', 'rank', '0', 'abort', '3', 'to=.:2', 'to=.:3', 'to=.:99', 'rank', '1', 'await', '-8', '2', 'abort', '4', 'to=.:1', 'rank', '0', 'all', 'await', '-8', '3']
            job = self.start(dvm, *words, np=4, host='node1:2,node2:2', map_by='node', **how)
            lines = [f'-8 from UNDEF.-1 affected={rank} exit={code} timed' for rank, code in ((1, 4), (2, 3), (3, 3))]
            expected = ['0: abort SUCCESS', *(f'0: {line}' for line in lines), *(f'1: {line}' for line in lines[1:])]
            # Whether one that has ended itself, or was ended, gets to say something is chance.
            self.assertEqual([line for line in self.end(job) if line[0] in '01' and line != '1: abort SUCCESS'], sorted(expected))
            self.assertIn(f'{job.nspace}.0 cannot abort: Job {job.nspace} has no process 99', dvm.log())
            self.assertEqual([row[6:9] for row in job.procs()[1:]], [(CALLED_ABORT, 4, 0), (CALLED_ABORT, 3, 0), (CALLED_ABORT, 3, 0)])

    def test_abort_of_nobody(self):
        """Of a rank that there is not nobody is ended, and none that comes behind the last one either."""
        dvm = self.nodes(2, ['elastic=true'])
        words = ['fence', 'rank', '0', 'abort', '3', 'to=.:99', 'all', 'fence']
        job = self.start(dvm, *words, np=4, host='node1:2,node2:2', map_by='node', recoverable=True)
        self.assertEqual(self.end(job), ['0: abort SUCCESS'])
        self.assertIn(f'{job.nspace}.0 cannot abort: Job {job.nspace} has no process 99', dvm.log())

    def test_abort_by_others(self):
        """A tool, and a job's parent, may do so; of a job that may lose no process all end."""
        dvm = self.nodes(2, ['elastic=true'])
        job = self.start(dvm, 'on', '-8', 'touch', self.path('up'), 'await', '-8', np=2, host='node1:1,node2:1', recoverable=True)
        other = self.start(dvm, 'fence', 'touch', self.path('other'), 'fence', 'file', self.path('never'), np=2)
        self.wait_for('up', 'other')
        self.say(self.tool(dvm, 'abort', '5', f'to={job.nspace}:1', f'to={other.nspace}:1', 'to=dvm-nobody@1:0'))
        self.assertEqual([line for line in self.end(job) if line[0] == '0'], ['0: -8 from UNDEF.-1 affected=1 exit=5 timed'])
        self.assertEqual(other.wait()['state'], KILLED_BY_CMD)
        self.assertIn('called PMIx_Abort with status 5: as told', other.get('Reason'))
        whole = self.start(dvm, 'fence', 'rank', '0', 'abort', '6', 'to=.:1', 'all', 'file', self.path('never'), np=2)
        result = whole.wait()
        self.assertEqual((result['state'], result['exit-code'], result['failed-rank']), (CALLED_ABORT, 6, 0), result)

    def test_others(self):
        """A job that may lose none ends, and nobody is told."""
        dvm = self.nodes(1)
        job = self.start(dvm, 'on', '-402', 'fence', 'rank', '1', 'die', 'all', 'await', '-402', np=2)
        self.assertEqual(job.wait()['state'], ABORTED_BY_SIG)
        self.assertEqual(job.said.finish(), b'')


if __name__ == '__main__':
    dvmtest.main()
