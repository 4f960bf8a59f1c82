# SPDX-License-Identifier: LGPL-2.1-or-later
"""Debuggers: tools that start a job or find one, put daemons of theirs beside it, and let it go on."""

import os
import re
import subprocess

import dvmtest
from dvmtest import NOTIFIED, wait_until

ALLOC = os.environ.get('DVM_TEST_PMIX_ALLOC', '')
CLIENT = os.environ.get('DVM_TEST_PMIX_CLIENT', '')
EVENTS = os.environ.get('DVM_TEST_PMIX_EVENTS', '')
CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
BAD_PARAM, NO_PERMISSIONS, NOT_SUPPORTED, FAILED_TO_MAP, FAILED_TO_LAUNCH = -27, -23, -47, -179, -181
RUNNING, READY = 14, 19
RELEASE, GLOBAL = '-3', '5'
STOPS = (('pmix.dbg.init', [CLIENT, 'data']), ('pmix.dbg.notify', [CLIENT, 'stop']), ('pmix.dbg.exec', ['true']))


class Debuggers(dvmtest.Case):
    def start(self, nodes=3, slots=2, **options):
        return self.dvm(slots=slots, settings=['elastic=true', 'pmix=eager'], arguments=[f'--nodes={nodes}'], **options)

    def begin_tool(self, dvm, *words, node='node2'):
        return self.start_tool(dvm, ALLOC, *words, node=node)

    def end_tool(self, tool):
        """What it has said, without its name."""
        return self.lines_of(tool)[1:]

    def tool(self, dvm, *words, node='node2'):
        """What a tool says that does these steps, when it has ended."""
        return self.end_tool(self.begin_tool(dvm, *words, node=node))

    def nspaces(self, lines):
        """Of the jobs that it has spawned."""
        return [re.fullmatch(r'0 spawn 0 nspace=(\S+)', line)[1] for line in lines if ' spawn ' in line]

    def rows(self, lines):
        """What proc tables have told: who has asked, and process, node, program and pid."""
        return sorted((int(words[0]), words[2], words[3], words[4], int(words[5]))
                      for words in (line.split() for line in lines) if words[1:2] == ['table'])

    def table(self, job):
        return [(f'{job.nspace}.{row[0]}', row[2], row[5]) for row in job.procs()]

    def target(self, dvm, np=5, **options):
        job = dvm.submit(['sleep', '1000'], np=np, **{'map-by': 'node', **options})
        job.wait_state(READY if 'runtime_options' in options else RUNNING)
        return job

    def test_attach(self):
        """A tool finds a job that runs, whatever slots are free, and its daemons find their processes."""
        dvm = self.start()
        target = self.target(dvm, np=6)
        daemon = [ALLOC, 'debugged', 'local-table', '@@', 'table', '@@']
        for how, nodes in (([], [1, 2, 3, 1, 2, 3]), (['daemons-per-proc=2'], [1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]),
                           (['daemons-per-node=1'], [1, 2, 3]), (['map=ppr:2:node'], [1, 1, 2, 2, 3, 3])):
            lines = self.tool(dvm, 'jobs', 'table', target.nspace, 'spawn', 'np=0', 'out=1', f'debug={target.nspace}', *how, '--', *daemon, ';', 'ended', '@@')
            job = dvm.job(int(self.nspaces(lines)[0].split('@')[1]))
            self.assertEqual([row[2] for row in job.procs()], [f'node{number}' for number in nodes], how)
            self.assertEqual({row[9] for row in job.procs()}, {''}, 'they are not bound')
            self.assertEqual(sum(row['SlotsInUse'] for row in dvm.get_nodes()), 6)
            whole = self.table(target)
            self.assertEqual(sorted(line for line in lines if ' debugged ' in line), sorted(f'{rank} debugged {target.nspace}.-2' for rank in range(len(nodes))))
            seen = self.rows(lines)
            for rank, node in enumerate(nodes):
                own = [row for row in whole if row[1] == f'node{node}']
                extra = whole if rank == 0 else []
                self.assertEqual([(who, name, pid) for asker, who, name, _, pid in seen if asker == rank], sorted(own + whole + extra), how)
        target.cancel()

    def test_one_rank(self):
        """Daemons of a single process are where that is, and are told which it is."""
        dvm = self.start()
        target = self.target(dvm)
        lines = self.tool(dvm, 'jobs', 'spawn', 'np=0', 'out=1', f'debug={target.nspace}.2', '--', ALLOC, 'debugged', ';', 'ended', '@@')
        self.assertIn(f'0 debugged {target.nspace}.2', lines)
        self.assertEqual([row[2] for row in dvm.job(2).procs()], ['node3'])
        target.cancel()

    def test_refused(self):
        """What has no target, a wrong number or another policy, and daemons in the job that they debug."""
        dvm = self.start()
        target = self.target(dvm)
        for words, status in ((['info=pmix.debugger:true'], BAD_PARAM), (['daemons-per-node=1'], BAD_PARAM),
                              ([f'debug={target.nspace}', 'daemons-per-node=0'], BAD_PARAM),
                              ([f'debug={target.nspace}', 'daemons-per-node=1', 'daemons-per-proc=1'], BAD_PARAM),
                              ([f'debug={target.nspace}', 'map=node'], BAD_PARAM), (['debug=nobody@7'], -46), ([f'debug={target.nspace}.5'], -46)):
            self.assertEqual(self.tool(dvm, 'spawn', 'np=0', *words, '--', 'true', ';'), [f'0 spawn {status} nspace='], words)
        target.cancel()

    def test_stop(self):
        """A tool starts a job that stops, hears of that, and its daemons let it go on and hear of its end."""
        dvm = self.start()
        for stop, argv in STOPS:
            daemon = [ALLOC, 'jobs', 'debugged', 'rank', '0', 'let-go', '@@', 'all', 'ended', '@@']
            lines = self.tool(dvm, 'jobs', 'watch', 'spawn', 'np=5', 'map=node', 'out=1', 'info=pmix.brkpnt:mark', f'info={stop}:true', '--', *argv, ';', 'ready', '@@',
                              'spawn', 'np=0', 'out=1', 'debug=@@', 'daemons-per-node=1', '--', *daemon, ';', 'ended', '@@')
            target, daemons = self.nspaces(lines)
            self.assertEqual([line for line in lines if ' ready ' in line], [f'0 ready {target}'])
            self.assertEqual([line for line in lines if ' at ' in line], {'pmix.dbg.init': ['0 at pmix-init'], 'pmix.dbg.notify': ['0 at mark']}.get(stop, []))
            self.assertEqual([line for line in lines if 'let-go' in line], ['0 let-go 0'], stop)
            self.assertEqual(sorted(line for line in lines if f' ended {target} ' in line),
                             sorted([f'0 ended {target} status=0 exit=0'] * 2 + [f'{rank} ended {target} status=0 exit=0' for rank in (1, 2)]), stop)
            job = dvm.job(int(target.split('@')[1]))
            self.assertEqual(job.get('StateName'), 'NOTIFIED')
            states = job.job_trace()
            self.assertEqual(states[states.index(READY):][:2], [READY, RUNNING], stop)

    def test_launcher(self):
        """A debugger hears of the job of a dvm-cli run that stops, though it has not spawned it, and takes it from there."""
        dvm = self.start(nodes=2)
        name = dvm.run(['true'], np=1).job.nspace.rsplit('@', 1)[0]
        target, path = f'{name}@3', os.path.join(self.place(), 'table')
        tool = self.begin_tool(dvm, 'watch', 'spawn', '--', 'true', ';', 'ready', target, 'table', target,
                               'spawn', 'np=0', 'out=1', f'debug={target}', 'map=ppr:1:node', '--', ALLOC, 'debugged', 'local-table', '@@', ';',
                               'ended', '@@', 'let-go', target, 'ended', target)
        wait_until(lambda: any(row['Id'] == 2 and row['Ended'] for row in dvm.list_jobs(all=True)), 'the tool to have registered')
        launcher = subprocess.Popen([CLI, 'run', '--runtime-options', 'stop-in-init', f'--output-proctable={path}', '-n', '4', '--map-by', 'node', CLIENT, 'data'],
                                    env=dict(os.environ, XDG_RUNTIME_DIR=dvm.runtime, DVM_BUS='none'), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        lines = self.end_tool(tool)
        self.assertEqual(launcher.wait(dvmtest.LIMIT), 0)
        whole = self.table(dvm.job(3))
        self.assertEqual([node for _, node, _ in whole], ['node1', 'node2'] * 2)
        self.assertIn(f'0 ready {target}', lines)
        local = [(rank, *row) for row in whole for rank in (0, 1) if row[1] == f'node{rank + 1}']
        self.assertEqual([(asker, who, node, pid) for asker, who, node, _, pid in self.rows(lines)], sorted(local + [(0, *row) for row in whole]))
        with open(path, encoding='utf-8') as file:
            self.assertEqual(file.read().splitlines(), [f'(rank, host, exe, pid) = ({rank}, {node}, {CLIENT}, {pid})' for rank, (_, node, pid) in enumerate(whole)])

    def test_single_ranks(self):
        """One after the other: the job runs when the last one does."""
        dvm = self.start(nodes=1)
        for stop, argv in STOPS:
            # Who has spawned it hears of it later, too.
            lines = self.tool(dvm, 'spawn', 'np=2', f'info={stop}:true', '--', *argv, ';', 'watch', 'ready', '@@', 'let-go', '@@.1', node='node1')
            job = dvm.job(int(self.nspaces(lines)[0].split('@')[1]))
            wait_until(lambda: [row[6] for row in job.procs()][1] != 9, 'rank 1 to go on')
            self.assertEqual((job.state, job.procs()[0][6]), (READY, 9), stop)
            self.tool(dvm, 'let-go', f'{job.nspace}.0', node='node1')
            self.assertEqual(job.wait()['state'], NOTIFIED, stop)

    def spawned(self, lines, dvm):
        """The job that a spawn has answered with, and the one that was spawned with it."""
        number = int(self.nspaces(lines)[0].split('@')[1])
        return dvm.job(number), dvm.job(number + 1)

    def test_together(self):
        """Daemons in one spawn with what they debug are a job of their own beside it, and let it go on."""
        dvm = self.start()
        for words, nodes in (([], [1, 2, 3, 1, 2]), (['daemons-per-node=1'], [1, 2, 3])):
            lines = self.tool(dvm, 'jobs', 'spawn', 'np=5', 'map=node', 'info=pmix.dbg.init:true', *words, 'about=pmix.debugger:true', '--', CLIENT, 'data',
                              '::', ALLOC, 'jobs', 'debugged', 'local-table', '@@', 'rank', '0', 'let-go', '@@', 'all', 'ended', '@@', ';',
                              'ended', '@@')
            target, daemons = self.spawned(lines, dvm)
            self.assertEqual(daemons.wait()['state'], NOTIFIED, dvm.log())
            self.assertEqual([row[2] for row in target.procs()], ['node1', 'node2', 'node3', 'node1', 'node2'])
            self.assertEqual([row[2] for row in daemons.procs()], [f'node{number}' for number in nodes])
            self.assertIn(f'0 started {daemons.nspace}', lines)
            self.assertIn(f'0 ended {target.nspace} status=0 exit=0', lines)
            out = dvmtest.Reader(daemons.attach(stdout=True)['stdout']).finish().decode().splitlines()
            self.assertEqual(sorted(line for line in out if ' debugged ' in line), [f'{rank} debugged {target.nspace}.-2' for rank in range(len(nodes))])

    def test_apart(self):
        """An application that is spawned with others and is not of their world has a job with places of its own."""
        dvm = self.start()
        lines = self.tool(dvm, 'spawn', 'np=2', 'map=node', 'about=pmix.cospawn:true', '--', CLIENT, 'data', '::', CLIENT, 'data', ';', 'ended', '@@')
        first, other = self.spawned(lines, dvm)
        self.assertEqual((first.get('NumProcs'), other.get('NumProcs'), other.wait()['state']), (2, 4, NOTIFIED))
        done = dvm.run([ALLOC, 'spawn', 'about=pmix.cospawn:true', '--', 'true', '::', 'true', ';'], np=1)
        self.assertEqual(done.state, NOTIFIED, done)
        _, other = self.spawned(done.lines, dvm)
        self.assertEqual(other.wait()['state'], NOTIFIED)
        for about in ('pmix.debugger:true', 'pmix.cospawn:true'):
            lines = self.tool(dvm, 'spawn', 'np=2', f'about={about}', '--', 'sleep', '1000', '::', '/no/such/program', ';')
            self.assertEqual(lines, [f'0 spawn {FAILED_TO_LAUNCH} nspace='])
            self.assertIn('What was to be spawned with it was not started', dvm.log())
        wait_until(lambda: all(row['Ended'] for row in dvm.list_jobs(all=True)), 'all to have ended')

    def test_stop_of_some(self):
        """The ranks that are named wait alone, with what the program is told, and the job runs when the last of them does."""
        dvm = self.start()
        for stop, argv in STOPS:
            for ranks in ([1], [1, 2]):
                words = f'stop={stop}:' + '+'.join(map(str, ranks))
                lines = self.tool(dvm, 'spawn', 'np=5', 'map=node', words, '--', *argv, ';', 'watch', 'ready', '@@')
                job = dvm.job(int(self.nspaces(lines)[0].split('@')[1]))
                self.assertEqual([row[0] for row in job.procs() if row[6] == 9], ranks, words)
                for rank in ranks:
                    self.assertEqual(job.state, READY, words)
                    self.tool(dvm, 'let-go', f'{job.nspace}.{rank}')
                self.assertEqual(job.wait()['state'], NOTIFIED, words)
                states = job.job_trace()
                self.assertEqual(states[states.index(READY):][:2], [READY, RUNNING], words)
        lines = self.tool(dvm, 'spawn', 'np=5', 'stop=pmix.dbg.init:5', '--', 'true', ';')
        self.assertEqual(lines, [f'0 spawn {FAILED_TO_MAP} nspace='])

    def test_continued(self):
        """A daemon lets the processes of its node go on by itself, as one does that traces them."""
        dvm = self.start(nodes=2)
        target = dvm.submit(['true'], np=2, runtime_options='stop-on-exec', **{'map-by': 'node'})
        target.wait_state(READY)
        script = f"kill -CONT $({ALLOC} local-table {target.nspace} | cut -d' ' -f6)"
        done = dvm.run(['sh', '-c', script], np=None, **{'map-by': f'colocate={target.nspace}:npernode=1'})
        self.assertEqual((done.state, target.wait()['state']), (NOTIFIED, NOTIFIED), done)

    def test_early(self):
        """A job that is let go on before its processes wait does not wait, and runs."""
        dvm = self.start(nodes=1)
        lines = self.tool(dvm, 'spawn', 'info=pmix.dbg.init:true', '--', 'sleep', '1000', ';', 'let-go', '@@', node='node1')
        job = dvm.job(int(self.nspaces(lines)[0].split('@')[1]))
        job.wait_running()
        job.cancel()

    def test_others(self):
        """A process that is not beside it, and may not control it, does not let it go on."""
        dvm = self.start(nodes=1)
        target = self.target(dvm, np=1, runtime_options='stop-on-exec')
        done = dvm.run([ALLOC, 'let-go', target.nspace, 'spawn', 'np=0', f'debug={target.nspace}', '--', 'true', ';'], np=1)
        self.assertEqual(done.lines, [f'0 let-go {NO_PERMISSIONS}', f'0 spawn {NO_PERMISSIONS} nspace='], done)
        self.assert_success(dvm.run([EVENTS, 'tell', RELEASE, GLOBAL], np=1))
        self.assertEqual(target.state, READY)
        done = dvm.run([ALLOC, 'let-go', target.nspace], np=None, **{'map-by': f'colocate={target.nspace}'})
        self.assertEqual((done.state, done.lines), (NOTIFIED, ['0 let-go 0']), done)
        target.wait_running()
        target.cancel()


if __name__ == '__main__':
    dvmtest.main()
