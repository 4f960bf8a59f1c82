# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes and PMIx tools that start jobs, on whatever node they are, and what they are told of them."""

import json
import os
import re
import signal
import subprocess
import unittest

import dvmtest
from dvmtest import KILLED_BY_CMD, NOTIFIED, wait_until

CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
ALLOC = os.environ.get('DVM_TEST_PMIX_ALLOC', '')
NOT_FOUND, NOT_EXECUTABLE, MAP_FAILED = -190, -177, -179
BAD_PARAM, NO_PERMISSIONS, NO_SUCH, NOT_SUPPORTED, NOT_LAUNCHED = -27, -23, -46, -47, -181
TIMEOUT, SYSTEM_PREP = -24, 7
IOF_COMPLETE, EXISTS, BUSY, SYS_EVENT = -173, -11, -28, -189


class Spawn(dvmtest.Case):
    nodes = 1
    radix = None

    def start(self, slots=4, settings=(), nodes=None):
        settings = [*settings] + ([f'radix={self.radix}'] if self.radix else [])
        return self.dvm(slots=slots, settings=settings, arguments=[f'--nodes={nodes or self.nodes}'])

    def spawned(self, line):
        """The namespace that a spawn was answered."""
        match = re.fullmatch(r'\d+ spawn 0 nspace=(dvm-\S+)', line)
        self.assertIsNotNone(match, line)
        return match[1]


class Basics:
    def test_twice(self):
        """By a rank of the last node: a job, and another one, whose end is told."""
        dvm = self.start()
        last = f'node{self.nodes}'
        done = dvm.run([ALLOC, 'jobs', 'spawn', '--', 'hostname', ';', 'ended', '@@', 'spawn', 'np=2', '--', 'sh', '-c', 'exit 3', ';',
                        'ended', '@@'], hosts=[last])
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        said = [line for line in done.lines if line.startswith('0 ')]
        # What is printed by the library's thread may come before the answer.
        first, second = (self.spawned(line) for line in said if ' spawn ' in line)
        self.assertNotEqual(first, second)
        self.assertEqual([line for line in said if ' spawn ' not in line],
                         [f'0 started {first}', f'0 ended {first} status=0 exit=0',
                          f'0 started {second}', f'0 ended {second} status=3 exit=3'])


class Inherited:
    def test_output(self):
        """What a spawned job says, and what is spawned by that, comes where the output of the first one goes."""
        dvm = self.start()
        child = [ALLOC, 'jobs', 'spawn', 'np=2', '--', 'sh', '-c', 'echo grandchild; echo to stderr >&2', '\\;', 'ended', '@@']
        done = dvm.run([ALLOC, 'jobs', 'spawn', '--', *child, ';', 'ended', '@@'], output='tag')
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        number = int(done.job.nspace.split('@')[1])
        self.assertEqual(sorted(line for line in done.lines if 'grandchild' in line),
                         [f'[{number + 2},{rank}]<stdout>: grandchild' for rank in (0, 1)], done)
        self.assertEqual(sorted(done.err.decode().splitlines()), [f'[{number + 2},{rank}]<stderr>: to stderr' for rank in (0, 1)], done)

    def test_forwarded(self):
        """Whatever a process says of the streams of what it spawns, they come once, where its own go."""
        dvm = self.start()
        for words in (['out=1', 'info=pmix.fwd.stderr:true'], ['info=pmix.fwd.stdout:false', 'info=pmix.fwd.stderr:false']):
            done = dvm.run([ALLOC, 'jobs', 'spawn', *words, '--', 'sh', '-c', 'echo out; echo err >&2', ';', 'ended', '@@'], output='tag')
            child = int(done.job.nspace.split('@')[1]) + 1
            self.assertEqual([line for line in done.lines if line.endswith('out')], [f'[{child},0]<stdout>: out'], done)
            self.assertEqual(done.err.decode(), f'[{child},0]<stderr>: err\n')

    def test_placement(self):
        """With INHERIT children that say nothing are placed as their parent is; without it, and where they say it, not."""
        dvm = self.start()
        script = ['sh', '-c', 'echo child $DVM_NODE']
        for policy, own, nodes in (('node:INHERIT', [], self.nodes), ('node', [], 1), ('node:INHERIT', ['map=slot'], 1)):
            done = dvm.run([ALLOC, 'jobs', 'spawn', 'np=2', *own, '--', *script, ';', 'ended', '@@'], map_by=policy)
            self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
            found = [line for line in done.lines if line.startswith('child')]
            self.assertEqual((len(found), len(set(found))), (2, min(nodes, 2)), (policy, own, done))

    def test_environment(self):
        """Directory, variables and parent are those of the process that spawns; what it says itself comes first."""
        dvm = self.start()
        place = dvm.place
        script = 'echo $ONE-$TWO-$THREE-$FOUR; pwd'
        done = dvm.run([ALLOC, 'jobs', 'spawn', 'env=TWO:child', 'env=FOUR:new', 'unset=THREE', '--', 'sh', '-c', script, ';',
                        'ended', '@@', 'spawn', 'cwd=/usr', '--', ALLOC, 'parent', ';', 'ended', '@@', 'parent'],
                       env={'ONE': 'parent', 'TWO': 'parent', 'THREE': 'parent'}, cwd=place)
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        self.assertIn('parent-child--new', done.lines)
        self.assertIn(os.path.realpath(place), done.lines)
        self.assertIn(f'0 parent {done.job.nspace}.0 offset=1', done.lines)
        self.assertIn('0 parent none offset=0', done.lines)

    def test_index(self):
        """Programs are called by their name and their rank, and found all the same."""
        dvm = self.start()
        done = dvm.run([ALLOC, 'jobs', 'spawn', 'np=2', 'info=pmix.indxargv:true', '--', 'sh', '-c', "tr '\\0' ' ' </proc/$$/cmdline", ';', 'ended', '@@'])
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        self.assertEqual(sorted(word for word in done.out.decode().split() if word.startswith('sh-')), ['sh-0', 'sh-1'], done)

    def test_program_in_directory(self):
        """A program that PATH does not have is looked for where the process starts; PATH goes first."""
        dvm = self.start()
        place = self.place()
        for name in ('here-alone', 'true'):
            with open(os.path.join(place, name), 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\necho here: $0\n')
            os.chmod(file.name, 0o755)
        spawns = [word for name in ('here-alone', 'true') for word in ('spawn', f'cwd={place}', '--', name, ';', 'ended', '@@')]
        done = dvm.run([ALLOC, 'jobs', *spawns, 'spawn', 'cwd=/', '--', 'here-alone'])
        self.assertEqual([line for line in done.lines if line.startswith('here')], ['here: ./here-alone'], done)
        self.assertIn(f'0 spawn {NOT_FOUND} nspace=', done.lines)
        self.assertEqual(dvm.run(['here-alone'], cwd=place).out, b'here: ./here-alone\n')
        self.assertEqual(dvm.run(['here-alone'], cwd=place, preload_binary=True).out[:6], b'here: ')
        self.assertIn('nor in /', dvm.run(['here-alone'], cwd='/').result['reason'])

    def test_variables(self):
        """Changes of variables that the process would have, in their order; children of children have them, too."""
        dvm = self.start()
        script = 'echo $ONE-$TWO-$THREE-$FOUR-$FIVE'
        edits = ['edit=prepnd:ONE:a', 'edit=appnd:ONE:z', 'edit=add:TWO:not', 'edit=add:THREE:set', 'edit=appnd:FOUR:made',
                 'edit=first:FIVE:b']
        child = [ALLOC, 'jobs', 'spawn', 'env=FOUR:own', 'edit=prepnd:ONE:c', '--', 'sh', '-c', script, '\\;', 'ended', '@@']
        done = dvm.run([ALLOC, 'jobs', 'spawn', *edits, '--', 'sh', '-c', script, ';', 'ended', '@@',
                        'spawn', 'edit=prepnd:ONE:a', 'env=ONE:new', 'edit=appnd:ONE:z', '--', 'sh', '-c', script, ';', 'ended', '@@',
                        'spawn', *edits, '--', *child, ';', 'ended', '@@'],
                       env={'ONE': 'here', 'TWO': 'there', 'FIVE': 'a:b:c'})
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        self.assertEqual([line for line in done.lines if line.count('-') == 4],
                         ['a:here:z-there-set-made-b:a:c', 'new:z-there---a:b:c', 'c:a:here:z-there-set-own-b:a:c'])


class Control:
    def state_of(self, dvm, number):
        """The states of the processes in the kernel: T is stopped."""
        states = []
        for pid in dvm.job(number).pids():
            with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
                states.append(file.read().rsplit(')', 1)[1].split()[0])
        return ''.join(states)

    def test_operations(self):
        """Jobs that it has spawned are signalled, stopped, and ended."""
        dvm = self.start()
        go = os.path.join(dvm.place, 'go')
        job, out, _ = dvm.start([ALLOC, 'jobs', 'spawn', 'np=2', '--', 'sleep', '1000', ';', 'control', 'pause', '@@', 'file', go,
                                 'control', 'resume', '@@', 'control', 'term', '@@', 'ended', '@@',
                                 'spawn', '--', 'sleep', '1000', ';', 'control', 'kill', '@@', 'ended', '@@',
                                 'spawn', '--', 'sleep', '1000', ';', 'control', 'signal=10', '@@.0', 'ended', '@@'], np=1)
        wait_until(lambda: b'control' in out.data, 'the first control')
        wait_until(lambda: self.state_of(dvm, int(job.nspace.split('@')[1]) + 1) == 'TT', 'both to be stopped')
        with open(go, 'w', encoding='utf-8'):
            pass
        result = job.wait()
        lines = [re.sub(r'dvm-\w+@\d+', 'N', line) for line in out.finish().decode().splitlines()]
        self.assertEqual(result['state'], NOTIFIED, (result, lines, dvm.log()))
        self.assertEqual([line for line in lines if 'control' in line], ['0 control 0'] * 5, lines)
        self.assertEqual([line.split(' exit')[0] for line in lines if 'ended' in line],
                         ['0 ended N status=-183', '0 ended N status=-183', f'0 ended N status={128 + signal.SIGUSR1}'], lines)

    def test_refused(self):
        """Jobs of others, jobs that are not there, two things at once, and what there is not."""
        dvm = self.start()
        other, _, _ = dvm.start(['sleep', '1000'], np=1)
        done = dvm.run([ALLOC, 'control', 'kill', other.nspace, 'abort', other.nspace, 'control', 'kill', 'nobody', 'control',
                        'kill+pause', other.nspace, 'control', 'restart', other.nspace])
        self.assertEqual(done.lines, ['0 control -23', '0 abort 0', '0 control -46', '0 control -27', '0 control -47'], done)
        self.assertFalse(other.get('Ended'))
        other.cancel()
        other.wait()

    def test_abort(self):
        """A process ends what it has spawned, and goes on."""
        dvm = self.start()
        done = dvm.run([ALLOC, 'jobs', 'spawn', '--', 'sleep', '1000', ';', 'abort', '@@', 'ended', '@@'])
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        self.assertRegex([line for line in done.lines if 'ended' in line][0], '^0 ended .* status=-183 ')
        job = dvm.job(int(done.job.nspace.split('@')[1]) + 1)
        self.assertIn(f'pmix:{done.job.nspace}.0 called PMIx_Abort with status 7: as the test has it', job.get('Reason'))


class Beside:
    def nodes_of(self, dvm, number):
        return [row[2] for row in dvm.job(number).procs()]

    def test_beside(self):
        """A process starts jobs beside itself and beside what it has spawned, whatever slots there are; not beside those of others."""
        dvm = self.start(slots=2, nodes=2)
        other, _, _ = dvm.start(['sleep', '1000'], np=1, hosts=['node2'])
        other.wait_running()
        done = dvm.run([ALLOC, 'spawn', 'np=2', 'map=node', '--', 'sleep', '1000', ';', 'jobs', 'spawn', 'np=0', 'beside=@@', 'nperproc=2',
                        '--', 'true', ';', 'ended', '@@', 'spawn', 'np=0', f'beside={other.nspace}', '--', 'true', ';'], hosts=['node1'])
        number = int(done.job.nspace.split('@')[1])
        self.assertEqual([int(line.split()[2]) for line in done.lines if ' spawn ' in line], [0, 0, NO_PERMISSIONS], (done, dvm.log()))
        target = self.nodes_of(dvm, number + 1)
        self.assertEqual(sorted(target), ['node1', 'node2'])
        self.assertEqual(self.nodes_of(dvm, number + 2), [node for node in target for _ in range(2)])
        self.assertEqual(sum(row['SlotsInUse'] for row in dvm.get_nodes()), 1, dvm.get_nodes())
        other.cancel()
        other.wait()


class Strangers:
    @unittest.skipUnless(os.geteuid() == 0, 'only root can be somebody else')
    def test_strangers(self):
        """A process of another user that has found the server, and says that it is a rank, or what a rank has started."""
        dvm = self.start()
        done_that = os.path.join(dvm.place, 'done-that')
        victim, _, _ = dvm.start(['sleep', '1000'], np=1)
        for words in ['spawn', 'cwd=/', '--', 'touch', done_that, ';'], ['control', 'signal=10', 'none'], ['new', 'count=1']:
            for way in ([], ['--tool', '-']):
                done = dvm.run([ALLOC, '--stranger', *way, *words], cwd='/')
                self.assertEqual(done.lines, [], (words, way, done, dvm.log()))
        dvm.run([ALLOC, '--stranger', 'abort', victim.nspace], cwd='/')
        self.assertFalse(os.path.exists(done_that))
        self.assertIn('A connection of a process of user 65534 to the PMIx server of user 0 is closed unread', dvm.log())
        self.assertFalse(victim.get('Ended'))
        done = dvm.run([ALLOC, 'spawn', '--', 'touch', done_that, ';'])
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))


class Failures:
    def spawn_all(self, dvm, *requests):
        """The statuses of them, and of a last one, which runs."""
        words = []
        for request in requests:
            words += ['spawn', *request, ';']
        done = dvm.run([ALLOC, *words, 'spawn', '--', 'true', ';'])
        self.assertEqual(done.state, NOTIFIED, (done, dvm.log()))
        return [int(line.split()[2]) for line in done.lines]

    def test_statuses(self):
        """Each failure has its own status, and the DVM goes on."""
        dvm = self.start(slots=2)
        missing = os.path.join(dvm.place, 'missing')
        self.assertEqual(self.spawn_all(dvm, ['--', '/no/such/program'], ['--', '/etc/passwd'], ['cwd=' + missing, '--', 'true'],
                                        ['host=nowhere', '--', 'true'], ['np=9', '--', 'true'], ['cwd=relative', '--', 'true'],
                                        ['map=colocate', '--', 'true'], ['require=pmix.something', '--', 'true'],
                                        ['session=77', '--', 'true'], ['id=nobodys', '--', 'true'], ['target=nobodys', '--', 'true']),
                         [NOT_FOUND, NOT_EXECUTABLE, NOT_LAUNCHED, MAP_FAILED, MAP_FAILED, BAD_PARAM, BAD_PARAM, NOT_SUPPORTED, NO_SUCH,
                          NO_SUCH, NO_SUCH, 0])

    def waiting(self):
        """A DVM, a job whose process waits for one of its own, that one's, and what lets that come: its node is not there yet."""
        place = self.place()
        go = os.path.join(place, 'go')
        with open(os.path.join(place, 'dvm-guard'), 'w', encoding='utf-8') as file:
            real = os.path.join(os.path.dirname(dvmtest.DVMD), 'dvm-guard')
            file.write(f'#!/bin/sh\nfor word; do :; done\nwhile [ "$word" = n9 ] && [ ! -e {go} ]; do sleep 0.02; done\n'
                       f'exec {real} "$@"\n')
        os.chmod(os.path.join(place, 'dvm-guard'), 0o755)
        dvm = self.dvm(slots=1, settings=['elastic=true'], arguments=['--nodes=2'], env={'DVM_LIBEXEC_DIR': place})
        job, out, _ = dvm.start([ALLOC, 'spawn', 'add=n9', 'host=n9', '--', 'true', ';'], np=1, hosts=['node2'])
        number = int(job.nspace.split('@')[1]) + 1
        wait_until(lambda: [row for row in dvm.list_jobs() if row['Id'] == number], 'the job to be there')
        return dvm, job, out, dvm.job(number), go

    def touch(self, path):
        with open(path, 'w', encoding='utf-8'):
            pass

    def test_delayed(self):
        """The answer comes when the job runs, not before."""
        dvm, job, out, child, go = self.waiting()
        self.assertEqual(out.data, b'')
        self.assertFalse(child.get('Ended'))
        self.touch(go)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertIn(f'0 spawn 0 nspace={child.nspace}', out.finish().decode().splitlines())
        self.assertEqual(child.wait()['state'], NOTIFIED)

    def test_spawner_dies(self):
        """Before its job runs: nobody is answered, its job ends with it, and the DVM goes on."""
        dvm, job, _, child, go = self.waiting()
        os.kill(job.pids()[0], signal.SIGKILL)
        job.wait()
        self.assertEqual(child.wait()['state'], KILLED_BY_CMD)
        self.touch(go)
        done = dvm.run([ALLOC, 'spawn', '--', 'true', ';'], hosts=['node2'])
        self.assertEqual(done.state, NOTIFIED, done)

    def test_node_dies(self):
        """The node of the one who waits is lost: its job goes, and nothing is left of it."""
        dvm, job, _, child, go = self.waiting()
        agent = [row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node2'][0]
        os.kill(agent, signal.SIGKILL)
        job.wait()
        self.touch(go)
        child.wait()
        done = dvm.run([ALLOC, 'spawn', '--', 'true', ';'], hosts=['node1'])
        self.assertEqual(done.state, NOTIFIED, done)

    def test_node_of_the_new_job(self):
        """A node of the new job is lost before all of that runs: the answer says so, nothing of it is left, and the next one runs."""
        dvm = self.dvm(slots=1, settings=['nodes=4', 'heal=false', 'kill-grace=0.5'])
        agent = next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node4')
        os.kill(agent, signal.SIGSTOP)
        job, out, _ = dvm.start([ALLOC, 'spawn', 'np=3', '--', 'sleep', '1000', ';', 'spawn', 'np=2', '--', 'true', ';'], np=1, hosts=['node1'])
        number = int(job.nspace.split('@')[1]) + 1
        wait_until(lambda: any(row['Id'] == number for row in dvm.list_jobs()) and sum(row[5] > 0 for row in dvm.job(number).procs()) == 2,
                   'two of three to run')
        os.kill(agent, signal.SIGKILL)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertRegex(out.finish().decode(), rf'\A0 spawn {SYS_EVENT} nspace=\n0 spawn 0 nspace=\S+\n\Z')
        wait_until(lambda: not dvm.job_processes(), 'nothing to be left')
        numbers = dvm.get('Statistics')
        self.assertEqual([numbers[name] for name in ('spawns-open', 'spawns-starting')], [0, 0])

    def test_shutdown(self):
        """Whoever waits for a job when the DVM ends does not keep it."""
        dvm, _, _, _, go = self.waiting()
        dvm.process.send_signal(signal.SIGTERM)
        self.touch(go)
        self.assertEqual(dvm.wait_exit(), 0)


class Tools:
    def tool(self, dvm, node, *words):
        """What it has said after its name, when it has ended well; and that name."""
        tool = subprocess.run([ALLOC, '--tool', dvm.tool_file(node), *words], stdout=subprocess.PIPE, text=True, check=False,
                              timeout=dvmtest.LIMIT, env={key: value for key, value in os.environ.items() if key != 'G_DEBUG'})
        self.assertEqual(tool.returncode, 0, tool.stdout)
        lines = tool.stdout.splitlines()
        return re.fullmatch(r'(\S+)\.0 is a tool', lines[0])[1], lines[1:]

    def test_tool(self):
        """A tool starts jobs, hears of them, and controls every job of its user."""
        dvm = self.dvm(slots=2, settings=['elastic=true', 'pmix=eager'], arguments=['--nodes=3'])
        other, _, _ = dvm.start(['sleep', '1000'], np=1)
        name, lines = self.tool(dvm, 'node2', 'jobs', 'spawn', 'np=2', 'out=1', '--', 'sh', '-c', 'echo said', ';', 'ended', '@@',
                                'spawn', '--', '/no/such', ';', 'control', 'kill', other.nspace, 'control', 'pause', 'none')
        self.assertEqual(lines.count('said'), 2, lines)
        # What is printed by the library's thread may come before the answer.
        # It hears of the other's start too, if it came before that was told, and of its end, if it is still there.
        told = (f'0 started {other.nspace}', f'0 ended {other.nspace} ')
        lines = sorted((line for line in lines if line != 'said' and not line.startswith(told)), key=lambda line: ' spawn 0 ' not in line)
        nspace = self.spawned(lines[0])
        self.assertEqual(lines[1:], [f'0 started {nspace}', f'0 ended {nspace} status=0 exit=0', f'0 spawn {NOT_FOUND} nspace=',
                                     '0 control 0', f'0 control {BAD_PARAM}'])
        self.assertEqual(other.wait()['state'], KILLED_BY_CMD)
        self.assertEqual(dvm.job(int(nspace.split('@')[1])).get('Submitter'), f'pmix:{name}.0')

    def test_shown_to_a_tool(self):
        """The tables come to the tool before the output of the job."""
        dvm = self.dvm(slots=2, settings=['elastic=true', 'pmix=eager'], arguments=['--nodes=2'])
        _, lines = self.tool(dvm, 'node2', 'jobs', 'spawn', 'np=2', 'map=node', 'info=pmix.dispmap:true', 'info=pmix.dispalloc:true', '--', 'echo', 'said',
                             ';', 'ended', '@@')
        shown = [line.split()[0] for line in lines if not line.startswith('0 spawn') and 'ended' not in line and 'started' not in line]
        self.assertEqual(shown, ['NODE', 'node1', 'node2', 'RANK', '0', '1', 'said', 'said'], lines)

    def test_tool_that_goes_too_early(self):
        """What its job has written before all of it was started is kept for who attaches."""
        dvm = self.dvm(slots=2, settings=['elastic=true', 'pmix=eager'], arguments=['--nodes=2'])
        agent = next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node2')
        place = dvm.tool_file('node1')
        os.kill(agent, signal.SIGSTOP)
        tool = subprocess.Popen([ALLOC, '--tool', place, 'spawn', 'np=2', 'host=node1,node2', 'map=node', 'out=1', '--',
                                 'sh', '-c', 'echo $PMIX_RANK early'], stdout=subprocess.DEVNULL,
                                env={key: value for key, value in os.environ.items() if key != 'G_DEBUG'})
        wait_until(lambda: dvm.get('Statistics')['output-bytes'] == len('0 early\n'), 'the first rank to write')
        tool.kill()
        tool.wait()
        wait_until(lambda: dvm.get('Statistics')['output-pulls'] == 0, 'the tool to be missed')
        os.kill(agent, signal.SIGCONT)
        job = dvm.job(1)
        out = dvmtest.Reader(job.attach(stdout=True)['stdout'])
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(sorted(out.finish().splitlines()), [b'0 early', b'1 early'])

    def test_input(self):
        """A tool, and a process, write to the standard input of a job, as fast as it reads and no faster."""
        dvm = self.dvm(slots=4, settings=['elastic=true', 'pmix=eager'], arguments=['--nodes=2'])
        count = ['push', '@@.0', 'x' * 20000, '100', 'push', '@@.0', '-', '0', 'ended', '@@']
        for host in ('node1', 'node2'):
            _, lines = self.tool(dvm, 'node2', 'jobs', 'spawn', 'np=2', f'host={host}:2', 'out=1', 'info=pmix.stdin:#0', '--', 'sh', '-c', 'wc -c', ';', *count)
            self.assertEqual([line for line in lines if 'push' in line or line.isdigit()].count('0 push 0'), 1, lines)
            self.assertIn(f'0 push {IOF_COMPLETE}', lines)
            self.assertEqual(sorted(int(line) for line in lines if line.isdigit()), [0, 2000000], lines)
        done = dvm.run([ALLOC, 'jobs', 'spawn', 'info=pmix.stdin:#0', '--', 'wc', '-c', ';', *count], np=1)
        self.assertIn('2000000', done.lines, done)
        other, _, _ = dvm.start(['sleep', '1000'], np=2, stdin_target='0')
        deaf, _, _ = dvm.start(['sleep', '1000'], np=1)
        _, lines = self.tool(dvm, 'node1', 'push', f'{other.nspace}.1', 'a', '1', 'push', other.nspace, 'a', '1', 'push', 'nobody.0', 'a', '1', 'push', f'{deaf.nspace}.0', 'a', '1',
                             'push', f'{other.nspace}.0', 'a', '1', 'push', f'{other.nspace}.0', 'y' * 1000, '60',
                             'push', f'{other.nspace}.0', '-', '0', 'push', f'{other.nspace}.0', 'a', '1')
        self.assertEqual(lines, [f'0 push {NOT_SUPPORTED}', f'0 push {NOT_SUPPORTED}', f'0 push {NO_SUCH}', f'0 push {NOT_SUPPORTED}', '0 push 0', '0 push 0', f'0 push {IOF_COMPLETE}', f'0 push {IOF_COMPLETE}'])
        done = dvm.run([ALLOC, 'push', f'{other.nspace}.0', 'a', '1'], np=1)
        self.assertEqual(done.lines, [f'0 push {NO_PERMISSIONS}'], done)

    def test_input_of_several(self):
        """A tool writes to all that read, to some of them, and to jobs at once; each reads what was for it, in order, to its own end."""
        dvm = self.dvm(slots=8, settings=['elastic=true', 'pmix=eager'], arguments=['--nodes=2'])
        say = ['sh', '-c', 'echo $PMIX_RANK:$(wc -c)']
        job, out, _ = dvm.start(say, np=4, stdin_target='all', **{'map-by': 'node'})
        some, some_out, _ = dvm.start(say, np=4, stdin_target='1,3')
        one, one_out, _ = dvm.start(['cat'], np=1, stdin_target='0')
        jobs = (job, some, one)
        for each in jobs:
            each.wait_running()
        a, b, c = (each.nspace for each in jobs)
        _, lines = self.tool(dvm, 'node2',
                             'push', a, 'x', '5',                                    # all of a job, 5 each
                             'push', f'{a}.0,{a}.2', 'y' * 20000, '10',              # two of it, on a node
                             'push', f'{a}.1', 'z' * 100, '3', 'push', f'{a}.1', '-', '0',
                             'push', f'{a}.1', 'late', '1',                          # its end has been
                             'push', f'{a}.1,{a}.0', 'late', '1',                    # for one of the two
                             'push', f'{b}.1,{b}.3,{c}.0,{a}', 'w' * 50, '2',        # three jobs
                             'push', f'{b}.3', 'v', '7',
                             'push', f'{a},{b},{c}.0', '-', '0')
        self.assertEqual(lines, ['0 push 0', '0 push 0', '0 push 0', f'0 push {IOF_COMPLETE}', f'0 push {IOF_COMPLETE}', '0 push 0', '0 push 0',
                                 '0 push 0', f'0 push {IOF_COMPLETE}'])
        for each in jobs:
            self.assertEqual(each.wait()['state'], NOTIFIED)
        count = 5 + 200000 + 4 + 100
        self.assertEqual(sorted(out.finish().decode().split()), [f'0:{count}', '1:305', f'2:{count - 4}', '3:105'])
        self.assertEqual(sorted(some_out.finish().decode().split()), ['0:0', '1:100', '2:0', '3:107'])
        self.assertEqual(one_out.finish(), b'w' * 100)

    def test_input_of_several_refused(self):
        """Nothing is written to any when one of them is wrong; those that have ended are passed over."""
        dvm = self.dvm(slots=8, settings=['elastic=true', 'pmix=eager'], arguments=['--nodes=2'])
        job, out, _ = dvm.start(['wc', '-c'], np=1, stdin_target='0')
        every, every_out, _ = dvm.start(['wc', '-c'], np=2, stdin_target='all')
        some, _, _ = dvm.start(['sleep', '1000'], np=4, stdin_target='1,3')
        over, _, _ = dvm.start(['true'], np=1, stdin_target='0')
        held, _, _ = dvm.start(['sleep', '1000'], np=1, stdin_target='0')
        self.assertEqual(over.wait()['state'], NOTIFIED)
        for each in (job, every, some, held):
            each.wait_running()
        its_own = held.attach(stdin=True)['stdin']
        self.addCleanup(os.close, its_own)
        waits, _, _ = dvm.start(['wc', '-c'], np=16, stdin_target='all')
        a, b, c, d, e, w = (each.nspace for each in (job, every, some, over, held, waits))
        wrong = ((f'{a}.0,nobody.0', NO_SUCH), (f'{a}.0,{b}.2', NO_SUCH), (f'{b}.0,{c}.0', NOT_SUPPORTED), (f'{b},{c}.1,{c}.2', NOT_SUPPORTED),
                 (f'{a}.0,{e}.0', EXISTS), (f'{a}.0,{w}.1', BUSY), (f'{d}.0', IOF_COMPLETE), (f'{d}.0,nobody', NO_SUCH), ('none', NOT_SUPPORTED))
        words = [word for target, _ in wrong for word in ('push', target, 'no', '1')]
        _, lines = self.tool(dvm, 'node1', *words, 'push', f'{d}.0,{a}.0,{b}', 'abc', '2', 'push', f'{b}.1,{d}.0', 'd', '1', 'push', f'{d}.0,{a}.0,{b}', '-', '0')
        self.assertEqual(lines, [f'0 push {status}' for _, status in wrong] + ['0 push 0', '0 push 0', f'0 push {IOF_COMPLETE}'])
        self.assertEqual((job.wait()['state'], out.finish().split()), (NOTIFIED, [b'6']))
        self.assertEqual((every.wait()['state'], sorted(every_out.finish().split())), (NOTIFIED, [b'6', b'7']))
        waits.cancel()
        done = dvm.run([ALLOC, 'push', f'{c}.1,nobody.0', 'a', '1'], np=1)
        self.assertEqual(done.lines, [f'0 push {NO_PERMISSIONS}'], done)

    def test_input_without_a_reader(self):
        """One of those written to does not read: who writes waits, and what was for it is dropped when it ends."""
        dvm = self.dvm(slots=8, settings=['elastic=true', 'pmix=eager'], arguments=['--nodes=2'])
        go = os.path.join(self.place(), 'go')
        job, out, _ = dvm.start(['sh', '-c', f'test $PMIX_RANK = 0 && exec sleep 1000; read line; echo $line; touch {go}; wc -c'], np=2, stdin_target='all', recoverable=True)
        job.wait_running()
        tool = self.start_tool(dvm, ALLOC, 'push', f'{job.nspace}.1', 'first\n', '1', 'push', job.nspace, 'x' * 10000, '100')
        wait_until(lambda: os.path.exists(go), 'the rank that reads')
        self.assertIsNone(tool.poll())
        job.signal(signal.SIGKILL, ranks='0')
        tool.wait(60)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(out.finish().split(), [b'first', b'1000000'])

    def test_input_of_a_tool(self):
        """The first rank of a job that a tool spawns reads what that writes, to its end, unless it is to be another one."""
        dvm = self.dvm(slots=4, arguments=['--nodes=1'])
        push = ['push', '@@.0', 'abc', '1', 'push', '@@.0', '-', '0', 'ended', '@@']
        for info in ([], ['info=pmix.stdin:0']):
            _, lines = self.tool(dvm, 'node1', 'jobs', 'spawn', 'np=2', 'out=1', *info, '--', 'sh', '-c', 'wc -c', ';', *push)
            self.assertEqual(sorted(int(line) for line in lines if line.isdigit()), [0, 3], lines)
        _, lines = self.tool(dvm, 'node1', 'jobs', 'spawn', 'out=1', 'info=pmix.stdin:none', '--', 'wc', '-c', ';', 'ended', '@@')
        self.assertIn('0', lines)
        _, lines = self.tool(dvm, 'node1', 'spawn', 'info=pmix.stdin:nobody', '--', 'cat', ';')
        self.assertEqual(lines, [f'0 spawn {BAD_PARAM} nspace='])
        self.tool(dvm, 'node1', 'spawn', '--', 'cat', ';')
        wait_until(lambda: not dvm.list_jobs(), 'the job of a tool that has written nothing and gone')

    def test_input_of_the_dead(self):
        """The job ends while a tool writes to it, and the tool while the job reads."""
        dvm = self.dvm(slots=4, settings=['elastic=true', 'pmix=eager'], arguments=['--nodes=2'])
        _, lines = self.tool(dvm, 'node2', 'jobs', 'spawn', 'host=node1', 'info=pmix.stdin:#0', '--', 'head', '-c', '1000', ';', 'push', '@@.0', 'x' * 1000, '100000', 'ended', '@@', 'push', '@@.0', 'a', '1')
        self.assertEqual(lines.count(f'0 push {IOF_COMPLETE}'), 2, lines)
        job, out, _ = dvm.start(['wc', '-c'], np=1, stdin_target='0')
        job.wait_running()
        self.tool(dvm, 'node1', 'push', f'{job.nspace}.0', 'abc', '2')
        self.assertEqual((job.wait()['state'], out.finish().decode().split()), (NOTIFIED, ['6']))

    def test_end(self):
        """A tool ends the DVM, as PRRTE has it."""
        dvm = self.dvm(slots=2, settings=['elastic=true', 'pmix=eager'], arguments=['--nodes=2'])
        self.assertEqual(self.tool(dvm, 'node2', 'control', 'term', 'none')[1], ['0 control 0'])
        self.assertEqual(dvm.wait_exit(), 0)


class Family(Spawn):
    def cli(self, dvm, *words):
        """dvm: None: there is none"""
        env = dict(os.environ, XDG_RUNTIME_DIR=dvm.runtime if dvm is not None else self.place(), DVM_BUS='none')
        return subprocess.run([CLI, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=dvmtest.LIMIT)

    def test_status_of_family(self):
        """The status of run, and of wait, is that of the first of a job, its children and theirs that failed, unless they are reported separately."""
        dvm = self.start(slots=8)
        failing = ['--', 'sh', '-c', 'echo child; exit 3', ';', 'ended', '@@']
        for child in (failing, ['--', ALLOC, 'jobs', 'spawn', '--', 'sh', '-c', 'echo child; exit 3', '\\;', 'ended', '@@', ';', 'ended', '@@']):
            line = ['-n', '1', ALLOC, 'jobs', 'spawn', *child]
            done = self.cli(dvm, 'run', *line)
            self.assertEqual((done.returncode, done.stdout.count('child\n')), (3, 1), done)
            self.assertRegex(done.stderr, r'(?s)of the family of job \d+, failed first:.*Rank 0 on \S+ ended with status 3')
            done = self.cli(dvm, 'run', '--rtos', 'report-child-jobs-separately', *line)
            self.assertEqual((done.returncode, done.stdout.count('child\n'), done.stderr), (0, 1, ''), done)
            self.assertEqual(self.cli(None, 'run', '--host', 'localhost:8', *line).returncode, 3)
        done = self.cli(dvm, 'run', '--json', '-n', '1', ALLOC, 'jobs', 'spawn', '--', 'sh', '-c', 'kill -9 $$', ';', 'ended', '@@')
        record = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((done.returncode, record['state'], record['exit-code']), (137, 'NOTIFIED', 0), done)
        self.assertEqual({key: record['first-failure'][key] for key in ('state', 'exit-code', 'exit-signal', 'failed-rank')},
                         {'state': 'ABORTED_BY_SIG', 'exit-code': 0, 'exit-signal': 9, 'failed-rank': 0})
        self.assertEqual(self.cli(dvm, 'wait', str(record['id'])).returncode, 137)
        # One that never ran, was ended on purpose, or is to outlive the job is no failure of the family.
        for words in (['spawn', '--', '/no/such', ';'], ['spawn', '--', 'sleep', '1000', ';'],
                      ['jobs', 'spawn', '--', 'sleep', '1000', ';', 'control', 'kill', '@@', 'ended', '@@'],
                      ['jobs', 'spawn', '--', 'sleep', '1000', ';', 'abort', '@@', 'ended', '@@'], ['jobs', 'spawn', 'sep=1', *failing]):
            done = self.cli(dvm, 'run', '-n', '1', ALLOC, *words)
            self.assertEqual(done.returncode, 0, done)

    def test_shown_by_nobody(self):
        """In the private DVM of a run the map of what is spawned cannot be shown, which is said."""
        line = ['--host', 'localhost:8', '-n', '1', ALLOC, 'jobs', 'spawn', 'info=pmix.dispmap:true', '--', 'true', ';', 'ended', '@@']
        done = self.cli(None, 'run', *line)
        self.assertIn(f'0 spawn {NOT_SUPPORTED} nspace=', done.stdout, done)
        self.assertIn('which is private', done.stderr)

    def test_shown_badly(self):
        """Where dvm-cli prints too much, fails or does not end, nothing is launched, and nothing of it is left."""
        folder = self.place()
        programs = os.path.join(os.environ['DVM_TEST_BUILD'], 'daemon')
        for name in os.listdir(programs):
            if name.startswith('dvm') and '.p' not in name:
                os.symlink(os.path.join(programs, name), os.path.join(folder, name))
        with open(os.path.join(folder, 'dvm-cli'), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nexec sh "${0%/*}/script"\n')
        os.chmod(os.path.join(folder, 'dvm-cli'), 0o755)
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'], arguments=['--nodes=1'], env={'DVM_LIBEXEC_DIR': folder})
        for script, words, status, reason in (
                ('head -c 1100000 /dev/zero', [], NOT_LAUNCHED, 'it takes more than 1 MiB'), ('exit 3', [], NOT_LAUNCHED, 'has failed and says nothing'),
                ('echo wrong >&2; exit 1', [], NOT_LAUNCHED, 'cannot be shown: wrong'), ('exec sleep 1000', ['timeout=1'], TIMEOUT, 'time')):
            with open(os.path.join(folder, 'script'), 'w', encoding='utf-8') as file:
                file.write(script)
            done = dvm.run([ALLOC, 'spawn', 'info=pmix.dispmap:true', *words, '--', 'echo', 'said', ';'], np=1)
            self.assertEqual(done.lines, [f'0 spawn {status} nspace='], done)
            self.assertIn(reason, done.err.decode())
        # The DVM ends while it is printed.
        dvm.start([ALLOC, 'spawn', 'info=pmix.dispmap:true', '--', 'echo', 'said', ';'], np=1)
        wait_until(lambda: any(row['State'] == SYSTEM_PREP for row in dvm.list_jobs()), 'the tables to be printed')

    def test_interrupted(self):
        """Who interrupts run ends the family."""
        dvm = self.start(slots=8)
        run = subprocess.Popen([CLI, 'run', '-n', '1', ALLOC, 'jobs', 'spawn', '--', 'sleep', '1000', ';', 'ended', '@@'], stdin=subprocess.DEVNULL,
                               env=dict(os.environ, XDG_RUNTIME_DIR=dvm.runtime, DVM_BUS='none'), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        wait_until(lambda: any(row['Id'] == 2 and row['StateName'] == 'RUNNING' for row in dvm.list_jobs()), 'the child to run')
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=dvmtest.LIMIT)
        self.assertEqual(run.returncode, 130)
        wait_until(lambda: dvm.list_jobs() == [], 'the family to end')
        self.assert_no_processes(dvm)

    def test_exec_agent(self):
        """A PMIx client that a command has started is one all the same, also one that it has spawned."""
        dvm = self.start(slots=8)
        agent = 'exec-agent=sh -c \'"$0" "$@"; exit $?\''
        done = self.cli(dvm, 'run', '--rtos', agent, '-n', '1', ALLOC, 'jobs', 'spawn', 'info=pmix.exec.agnt:env A=b', '--', 'sh', '-c', 'echo $A', ';', 'ended', '@@')
        self.assertEqual(done.returncode, 0, done)
        self.assertIn('b\n', done.stdout)

    def test_slow_start(self):
        """A job whose processes are not started in time ends, with a sentence."""
        dvm = self.start(slots=8)
        self.assertEqual(self.cli(dvm, 'run', '--spawn-timeout', '60', '-n', '1', 'true').returncode, 0)
        pid = next(row['Pid'] for row in dvm.get_nodes() if row['Rank'] == 1)
        os.kill(pid, signal.SIGSTOP)
        try:
            job = dvm.submit(['true'], np=1, personality='plain', runtime_options='spawn-timeout=1')
            wait_until(lambda: job.get('Failed'), 'the job to be late')
        finally:
            os.kill(pid, signal.SIGCONT)
        result = job.wait()
        self.assertEqual((result['state'], result['reason-code']), (KILLED_BY_CMD, 'start-time-limit'), result)
        self.assertEqual(self.cli(dvm, 'wait', str(job.get('Id'))).returncode, 125)


class OneNode(Basics, Inherited, Control, Beside, Strangers, Failures, Tools, Spawn):
    nodes = 1


class ThreeNodes(Basics, Inherited, Spawn):
    nodes = 3


class AtRadix2(Basics, Control, Spawn):
    nodes = 5
    radix = 2


if __name__ == '__main__':
    dvmtest.main()
