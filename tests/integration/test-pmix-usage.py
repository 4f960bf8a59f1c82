# SPDX-License-Identifier: LGPL-2.1-or-later
"""PMIx programs ask from any node what processes and nodes use."""

import os
import re
import signal
import time

import dvmtest
import pmixsteps

pmixsteps.Case.client = os.environ.get('DVM_TEST_PMIX_DATA', '')

PROC, NODE = 'pmix.qry.pres', 'pmix.qry.nres'
PYTHON = '/usr/bin/python3'
MIB = 64
# Holds memory, says so, and uses its cpu until it is ended.
BURNS = f'held = bytearray({MIB} << 20)\nopen("{{}}", "w").close()\nwhile True: pass'


def parse(line):
    """The lists of [KEY VALUE...] that a line of the client has."""
    stack = [[]]
    for word in re.findall(r'\[[^ \]]+|\]|[^ \[\]]+', line):
        if word == ']':
            done = stack.pop()
            stack[-1].append(done)
        elif word[0] == '[':
            stack.append([word[1:]])
        else:
            stack[-1].append(word)
    return stack[0]


def list_interfaces():
    with open('/proc/net/dev', encoding='ascii') as file:
        return {line.split(':')[0].strip() for line in file if ':' in line}


def list_disks():
    with open('/proc/diskstats', encoding='ascii') as file:
        return {line.split()[2] for line in file}


def fields(assembly):
    """The fields with one value; the key of the assembly is before them."""
    return {item[0]: item[1] for item in assembly[1:] if len(item) == 2 and isinstance(item[1], str)}


class Usage(pmixsteps.Case):
    def ask(self, dvm, *words, host='node1', status='SUCCESS'):
        """(the first value of the answer)"""
        done = dvm.run([self.client, 'query', *words], np=1, hosts=[host])
        self.assert_success(done)
        answer = parse(done.lines[-1])
        self.assertEqual(answer[:2], ['query', status], done.lines)
        return answer[2] if len(answer) > 2 else None

    def burn(self, dvm, host='node2', np=1):
        path = self.path(f'held-{host}')
        job = dvm.submit([PYTHON, '-c', BURNS.format(path)], np=np, hosts=[host], personality='plain')
        self.wait_for(path)
        return job

    def end(self, job):
        job.cancel()
        job.wait()

    def check_burning(self, dvm, job, usage, node):
        """As the kernel tells it to others: where, its memory, and cpu time that grows."""
        self.assertEqual(usage['pmix.procid'], f'{job.nspace}.0')
        self.assertEqual((usage['pmix.hname'], int(usage['pmix.ppid'])), (node, job.pids()[0]))
        self.assertTrue(usage['pmix.cmd.line'].startswith('python3'), usage)
        self.assertIn(usage['pmix.proc.osstate'], 'RSD')
        for key in ('rss', 'pss', 'vsize', 'pkvsize'):
            self.assertGreater(float(usage[f'pmix.proc.{key}']), MIB)
        self.assertLess(float(usage['pmix.proc.pss']), 4 * MIB)
        self.assertGreater(float(usage['pmix.proc.time']), 0)
        self.assertGreater(float(usage['pmix.proc.pcpu']), 0)
        self.assertEqual(int(usage['pmix.proc.nthr']), len(os.listdir(f'/proc/{job.pids()[0]}/task')))
        self.assertEqual(int(usage['pmix.proc.pri']), 19 - os.nice(0))
        self.assertLess(int(usage['pmix.proc.cpu']), os.sysconf('SC_NPROCESSORS_CONF'))
        self.assertLess(abs(int(usage['pmix.proc.samptime']) - time.time()), 60)

    def test_process(self):
        """A process of another job, on the node where it is asked and on another one."""
        dvm = self.nodes(2)
        for node, others in (('node2', 'node1'), ('node1', 'node1')):
            job = self.burn(dvm, node)
            wanted = [PROC, f'nspace={job.nspace}', 'rank=0', 'fresh=1']
            dvmtest.wait_until(lambda: float(fields(self.ask(dvm, *wanted, host=others))['pmix.proc.time']) > 0, 'cpu time to be used')
            first = fields(self.ask(dvm, *wanted, host=others))
            self.check_burning(dvm, job, first, node)
            dvmtest.wait_until(lambda: float(fields(self.ask(dvm, *wanted, host=others))['pmix.proc.time']) > float(first['pmix.proc.time']),
                               'more of it')
            self.end(job)

    def test_processes_of_a_job(self):
        """All ranks by node, those of one node, those of the own job; none of one that has no process any more."""
        dvm = self.nodes(2)
        job, out, _ = dvm.start([self.client, 'fence', '.', 'rank', '2', 'query', PROC, 'nspace=.', 'query', PROC, 'nspace=.', 'host=node1',
                                 'fresh=1', 'query', PROC, 'nspace=.', 'host=node2', 'fresh=1', 'query', PROC, 'nspace=.', 'rank=1', 'fresh=1',
                                 'touch', self.path('asked'), 'all', 'file', self.path('asked')], np=3, hosts=['node1:1,node2:2'])
        pids = job.pids()
        self.assertEqual(job.wait()['state'], dvmtest.NOTIFIED, dvm.log())
        answers = [parse(line) for line in out.finish().decode().splitlines() if line.startswith('query')]
        self.assertEqual([answer[1] for answer in answers], ['SUCCESS'] * 4)
        rows = [answer[2] for answer in answers]
        seen = [[(row[0], *(fields(row)[key] for key in ('pmix.procid', 'pmix.hname', 'pmix.ppid'))) for row in answer[1:]] for answer in rows[:3]]
        wanted = [('pmix.proc.res', f'{job.nspace}.{rank}', f'node{node}', str(pids[rank])) for rank, node in ((0, 1), (1, 2), (2, 2))]
        self.assertEqual(seen, [wanted, wanted[:1], wanted[1:]])
        # Of one process there are its values alone.
        self.assertEqual((rows[3][0], rows[3][1]), (PROC, ['pmix.procid', f'{job.nspace}.1']))

    def check_names(self, found, before, after):
        """Devices come and go while they are listed."""
        self.assertLessEqual(before & after, found)
        self.assertLessEqual(found, before | after)

    def test_node(self):
        """The machine as the kernel has it; all nodes that are up, those of a job, one by its name."""
        dvm = self.nodes(2)
        before = list_interfaces(), list_disks()
        usage = self.ask(dvm, NODE, 'host=node2')
        values = fields(usage)
        self.assertEqual(usage[1], ['pmix.hname', 'node2'])
        with open('/proc/meminfo', encoding='ascii') as file:
            memory = {line.split(':')[0]: int(line.split()[1]) / 1024 for line in file}
        self.assertAlmostEqual(float(values['pmix.node.mtot']), memory['MemTotal'], delta=1)
        self.assertAlmostEqual(float(values['pmix.node.mswpt']), memory['SwapTotal'], delta=1)
        for key in ('mfree', 'mbuf', 'mcache', 'mmap'):
            self.assertLess(float(values[f'pmix.node.{key}']), memory['MemTotal'])
        for key in ('la', 'la5', 'la15', 'mswpc', 'mswpfree'):
            self.assertGreaterEqual(float(values[f'pmix.node.{key}']), 0)
        networks = {fields(item)['pmix.net.id']: fields(item) for item in usage[1:] if item[0] == 'pmix.net.res'}
        self.check_names(set(networks), before[0], list_interfaces())
        self.assertGreater(int(networks['lo']['pmix.net.rcb']), 0)
        disks = {fields(item)['pmix.disk.id'] for item in usage[1:] if item[0] == 'pmix.disk.res'}
        self.check_names(disks, before[1], list_disks())
        job = dvm.submit(['sleep', '1000'], np=1, hosts=['node2'], personality='plain')
        job.wait_running()
        for words, names in (([], ['node1', 'node2']), ([f'nspace={job.nspace}'], ['node2'])):
            rows = self.ask(dvm, NODE, *words)
            self.assertEqual([(row[0], row[1]) for row in rows[1:]], [('pmix.node.res', ['pmix.hname', name]) for name in names])
        self.ask(dvm, NODE, 'host=node1', f'nspace={job.nspace}', status='NOT-FOUND')
        self.end(job)

    def test_refused(self):
        """Jobs, ranks and nodes that there are not, and other qualifiers; several keys have one status."""
        dvm = self.nodes(1)
        job = dvm.submit(['sleep', '1000'], np=1, personality='plain')
        job.wait_running()
        # Other clients fall over it before they ask.
        no_nspace = [('BAD-PARAM', PROC, 'rank=0', 'fresh=1')] * ('asks-at-once' in dvmtest.pmix_library())
        for status, *words in (('BAD-PARAM', PROC), *no_nspace, ('NOT-FOUND', PROC, 'nspace=nobody'),
                               ('NOT-FOUND', PROC, f'nspace={job.nspace}', 'rank=1'), ('NOT-FOUND', PROC, f'nspace={job.nspace}', 'host=nowhere'),
                               ('NOT-FOUND', NODE, 'host=nowhere'), ('NOT-FOUND', NODE, 'node=1'), ('SUCCESS', NODE, 'node=0'), ('NOT-FOUND', NODE, 'nspace=nobody'),
                               ('NOT-SUPPORTED', NODE, 'pmix.odd=1'), ('PARTIAL-SUCCESS', f'{NODE},pmix.job.size'),
                               ('SUCCESS', f'{NODE},{PROC},pmix.job.size', f'nspace={job.nspace}')):
            with self.subTest(words=words):
                self.ask(dvm, *words, status=status)
        self.end(job)
        self.ask(dvm, PROC, f'nspace={job.nspace}', 'rank=0', status='NOT-FOUND')
        self.assertEqual(self.ask(dvm, PROC, f'nspace={job.nspace}'), [PROC])

    def freeze(self, dvm, name):
        """The agent answers nothing until it is killed, or goes on at the end of the test."""
        pid = next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == name)
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(self.go_on, pid)
        return pid

    @staticmethod
    def go_on(pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def ask_frozen(self, dvm, *words):
        """(job that asks, its output), when the controller has the question"""
        job, out, _ = dvm.start([self.client, 'touch', self.path('up'), 'file', self.path('go'), 'query', *words], np=1, hosts=['node1'])
        self.wait_for('up')
        pid = self.freeze(dvm, 'node2')
        self.touch('go')
        dvmtest.wait_until(lambda: dvm.get('Statistics')['calls-open'] == 1, 'the question')
        return job, out, pid

    def finish_question(self, dvm, job, out):
        self.assertEqual(job.wait()['state'], dvmtest.NOTIFIED, dvm.log())
        return out.finish().decode().splitlines()

    def test_process_that_ends(self):
        """While it is asked for: there is nothing of it."""
        dvm = self.nodes(2)
        burning = self.burn(dvm)
        victim = burning.pids()[0]
        job, out, pid = self.ask_frozen(dvm, PROC, f'nspace={burning.nspace}', 'rank=0')
        os.kill(victim, signal.SIGKILL)
        dvmtest.wait_until(lambda: open(f'/proc/{victim}/stat', encoding='ascii').read().split(')')[1].split()[0] == 'Z', 'its end')
        self.go_on(pid)
        line, = self.finish_question(dvm, job, out)
        # The agent may read its file before it has heard of the end: then it is a zombie, without memory.
        if line != 'query NOT-FOUND':
            usage = fields(parse(line)[2])
            self.assertEqual(usage['pmix.proc.osstate'], 'Z')
            self.assertNotIn('pmix.proc.rss', usage)
        burning.wait()

    def test_lost_node(self):
        """Of a node that is lost while it is asked the status says so; the others go on."""
        dvm = self.nodes(2, settings=['heal=false'])
        job, out, pid = self.ask_frozen(dvm, NODE)
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.finish_question(dvm, job, out), ['query LOST-CONNECTION'])
        rows = self.ask(dvm, NODE)
        self.assertEqual([row[1] for row in rows[1:]], [['pmix.hname', 'node1']])
        self.ask(dvm, NODE, 'host=node2', status='NOT-FOUND')

    def test_silent_node(self):
        """A node that does not answer for ten seconds is not waited for."""
        dvm = self.nodes(2, settings=['heartbeat-timeout=60'])
        job, out, pid = self.ask_frozen(dvm, NODE, 'host=node2')
        self.assertEqual(self.finish_question(dvm, job, out), ['query TIMEOUT'])
        self.go_on(pid)
        dvmtest.wait_until(lambda: self.ask(dvm, NODE, 'host=node2')[1] == ['pmix.hname', 'node2'], 'it to answer again')

    def test_asker_gone(self):
        """The process that asks ends before the answer."""
        dvm = self.nodes(2)
        job, _, pid = self.ask_frozen(dvm, NODE)
        os.kill(job.pids()[0], signal.SIGKILL)
        self.assertNotEqual(job.wait()['state'], dvmtest.NOTIFIED)
        self.go_on(pid)
        self.assertEqual(self.ask(dvm, NODE, 'host=node2')[1], ['pmix.hname', 'node2'])


if __name__ == '__main__':
    dvmtest.main()
