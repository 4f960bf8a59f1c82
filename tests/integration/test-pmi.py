# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that speak PMI-1, those of MPICH and such as make mistakes, on one node and on several."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import unittest

import dvmtest
from dvmtest import ABORTED_BY_SIG, ABORTED_WO_SYNC, CALLED_ABORT, NON_ZERO_TERM, NOTIFIED


def get_mpich_version():
    """The line of mpichversion that has it, '' without MPICH."""
    program = shutil.which('mpichversion')
    if program is None:
        return ''
    return ' '.join(subprocess.run([program], capture_output=True, text=True, check=True).stdout.split())


# Nodes that are lost stay DOWN here.
os.environ['DVM_HEAL'] = 'false'

WORLD = os.environ.get('DVM_TEST_MPICH_WORLD', '')
# The MPICH of Debian 12.
IS_OLD = ' 4.0.' in get_mpich_version()
DATA = os.environ.get('DVM_TEST_PMIX_DATA', '')
CLIENT = os.environ.get('DVM_TEST_PMIX_CLIENT', '')
TALK = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pmi-talk.py')]
INIT = 'cmd=init pmi_version=1 pmi_subversion=1'
GREETING = 'cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0'
SHAPES = ({'slots': 4}, {'slots': 2, 'settings': ['nodes=4']}, {'slots': 2, 'settings': ['nodes=4', 'radix=2']})
ALONE = ({'slots': 1, 'settings': ['nodes=4']}, {'slots': 1, 'settings': ['nodes=4', 'radix=2']})


@unittest.skipUnless(WORLD and os.path.exists(WORLD), 'no MPICH')
class Mpich(dvmtest.Case):
    def check_world(self, done, size, here, universe):
        self.assert_success(done)
        self.assertEqual(done.result['reason'], '')
        total, halves = sum(range(size)), (sum(range(0, size, 2)), sum(range(1, size, 2)))
        expected = [f'{rank} of {size}: {total} {halves[rank % 2]}, {here} here, {universe} in all' for rank in range(size)]
        self.assertEqual(sorted(done.out.decode().splitlines()), expected)

    def test_one_node(self):
        dvm = self.dvm(slots=4)
        for size in (1, 2, 4):
            self.check_world(dvm.run([WORLD], np=size), size, size, 4)

    def test_nodes(self):
        for radix in ('2', '32'):
            dvm = self.dvm(slots=2, settings=['nodes=4', f'radix={radix}'])
            for map_by in ('slot', 'node'):
                self.check_world(dvm.run([WORLD], np=8, map_by=map_by), 8, 2, 8)
            self.check_world(dvm.run([WORLD], np=4, map_by='node'), 4, 1, 8)
            self.check_world(dvm.run([], apps=[{'argv': [WORLD], 'np': 3}, {'argv': [WORLD], 'np': 5}]), 8, 2, 8)

    def test_one_after_the_other(self):
        """The library of Debian 12 shuts the socket down that the next program would use, as below its own launcher; that of 13 leaves it."""
        dvm = self.dvm(slots=2)
        done = dvm.run(['sh', '-c', f'{WORLD}; {WORLD}'], np=2)
        self.assertEqual((done.state, done.code), (NON_ZERO_TERM, 128 + signal.SIGPIPE) if IS_OLD else (NOTIFIED, 0), done)
        self.assertEqual('a second MPI program in one rank needs a library that leaves the PMI connection to it' in dvm.log(), IS_OLD)

    def test_abort(self):
        for shape in SHAPES:
            done = self.dvm(**shape).run([WORLD, 'abort', '7'], np=4)
            self.assertEqual((done.state, done.result['exit-code']), (CALLED_ABORT, 7), done)
            self.assertRegex(done.result['reason'], '^Rank 1 on .* called PMIx_Abort or MPI_Abort with status 7' + ('$' if IS_OLD else '\\b'))

    def test_killed(self):
        for shape in SHAPES:
            done = self.dvm(**shape).run([WORLD, 'die'], np=4)
            self.assertEqual((done.state, done.result['exit-signal']), (ABORTED_BY_SIG, signal.SIGKILL), done)
            self.assertRegex(done.result['reason'], '^Rank 1 ')

    def test_no_finalize(self):
        done = self.dvm(slots=2, settings=['nodes=2']).run([WORLD, 'exit'], np=4)
        self.assertEqual(done.state, ABORTED_WO_SYNC, done)
        self.assertRegex(done.result['reason'], '^Rank 1 ')

    def test_names(self):
        """One rank publishes for all, also for those of other nodes, and in the end there is nothing left of it."""
        for shape in SHAPES:
            dvm = self.dvm(**shape)
            done = dvm.run([WORLD, 'names'], np=4)
            self.assert_success(done)
            said = ['published', *(f'{rank}: a#port$' for rank in range(4)), 'unpublished', *(f'{rank}: none' for rank in range(4))]
            self.assertEqual(sorted(line for line in done.out.decode().splitlines() if ' of ' not in line), sorted(said), done)
            self.assertEqual(dvm.get('Statistics')['data-published'], 0)

    def test_spawn(self):
        done = self.dvm(slots=2, settings=['nodes=2']).run([WORLD, 'spawn'], np=2)
        self.assert_success(done)
        self.assertIn(b'spawn refused\n', done.out)


class Talk(dvmtest.Case):
    def talk(self, dvm, *texts, np=1, **options):
        done = dvm.run([*TALK, *texts], np=np, **options)
        return done, sorted(done.out.decode().splitlines())

    def test_answers(self):
        """To each command, and to what is too long or unknown."""
        dvm = self.dvm(slots=3)
        put = 'cmd=put kvsname=@kvs key='
        get = 'cmd=get kvsname=@kvs key='
        pairs = (
            (INIT, GREETING), ('cmd=get_maxes', 'cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024'),
            ('cmd=get_universe_size', 'cmd=universe_size rc=0 size=3'), ('cmd=get_appnum', 'cmd=appnum rc=0 appnum=0'),
            (put + 'a value=b=c', 'cmd=put_result rc=0 msg=success'), (get + 'a', 'cmd=get_result rc=0 msg=success value=b=c'),
            (get + 'b', 'cmd=get_result rc=-1 msg=key_not_found value=unknown'),
            ('cmd=get kvsname=other key=a', 'cmd=get_result rc=-1 msg=unknown_kvsname value=unknown'),
            ('cmd=put key=a value=b', 'cmd=put_result rc=-1 msg=unknown_kvsname'),
            (put + 'k' * 65 + ' value=v', 'cmd=put_result rc=-1 msg=invalid_key'),
            (put + 'k value=' + 'v' * 1025, 'cmd=put_result rc=-1 msg=value_too_long'),
            (get + 'PMI_process_mapping', 'cmd=get_result rc=0 msg=success value=(vector,(0,1,1))'),
            ('cmd=publish_name service=my s port=p', 'cmd=publish_result rc=0 msg=success'),
            ('cmd=publish_name service=my s port=q', 'cmd=publish_result rc=-1 msg=key_already_present'),
            ('cmd=lookup_name service=my s', 'cmd=lookup_result rc=0 msg=success port=p'),
            ('cmd=unpublish_name service=my s', 'cmd=unpublish_result rc=0 msg=success'),
            ('cmd=unpublish_name service=my s', 'cmd=unpublish_result rc=-1 msg=service_not_found'),
            ('cmd=lookup_name service=my s', 'cmd=lookup_result rc=-1 msg=service_not_found'),
            ('cmd=lookup_name service=', 'cmd=lookup_result rc=-1 msg=no_service_is_named'),
            ('cmd=publish_name service=s', 'cmd=publish_result rc=-1 msg=no_port_is_named'),
            ('mcmd=spawn\ntotspawns=many\nendcmd', 'cmd=spawn_result rc=-1 msg=totspawns_is_out_of_range'),
            ('mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\nargcnt=1\narg1=x y\nendcmd\n'
             'mcmd=spawn\ntotspawns=2\nspawnssofar=2\nendcmd', 'cmd=spawn_result rc=-1 msg=execname_is_missing'),
            ('cmd=barrier_in', 'cmd=barrier_out rc=0'), ('cmd=finalize', 'cmd=finalize_ack rc=0'))
        done, _ = self.talk(dvm, *(text for text, _ in pairs))
        self.assert_success(done)
        self.assertEqual(done.out.decode().splitlines(), ['0: ' + answer for _, answer in pairs])

    @staticmethod
    def spawn(*apps, preput=()):
        """apps: the number of processes, the words of the program, its info"""
        lines = []
        for number, (n, argv, info) in enumerate(apps):
            lines += ['mcmd=spawn', f'nprocs={n}', f'execname={argv[0]}', f'totspawns={len(apps)}', f'spawnssofar={number + 1}']
            lines += [f'arg{i}={arg}' for i, arg in enumerate(argv) if i > 0]
            lines += [f'argcnt={len(argv) - 1}', f'preput_num={len(preput)}']
            for i, (key, value) in enumerate(preput):
                lines += [f'preput_key_{i}={key}', f'preput_val_{i}={value}']
            lines += [f'info_num={len(info)}']
            for i, (key, value) in enumerate(info.items()):
                lines += [f'info_key_{i}={key}', f'info_val_{i}={value}']
            lines += ['endcmd']
        return '\n'.join(lines)

    def test_spawn(self):
        """Two programs on two nodes: children are where they are told to be, know what they are told, and have barriers of their own."""
        for radix in ('2', '32'):
            dvm = self.dvm(slots=4, settings=['nodes=3', f'radix={radix}'])
            texts = ['@about', INIT, 'cmd=get kvsname=@@kvs key=port', 'cmd=put kvsname=@@kvs key=k@@rank value=of@@rank', 'cmd=barrier_in',
                     'cmd=get kvsname=@@kvs key=k2', 'cmd=get_appnum', 'cmd=finalize']
            text = self.spawn((2, [*TALK, *texts], {'wdir': '/', 'host': 'node2', 'map': 'any'}),
                              (1, [os.path.basename(TALK[0]), TALK[1], *texts, 'x'], {'path': os.path.dirname(TALK[0]), 'host': 'node3'}),
                              preput=(('port', 'tag#0$x=1$'), ('other', '1')))
            job, out, _ = dvm.start([*TALK, INIT, '0:' + text, 'cmd=barrier_in', 'cmd=finalize', '@stay'], np=2, hosts=['node1'])
            dvmtest.wait_until(lambda: out.data.count(b'finalize_ack') == 5, 'the end of all')  # pylint: disable=cell-var-from-loop
            lines = sorted(out.data.decode().splitlines())
            self.assertIn('0: cmd=spawn_result rc=0 msg=success errcodes=0,0,0', lines)
            self.assertEqual(sum(line.endswith('value=tag#0$x=1$') for line in lines), 3, lines)
            self.assertEqual(sum(line.endswith('value=of2') for line in lines), 3, lines)
            self.assertEqual([line for line in lines if ' appnum' in line],
                             [f'{rank}: cmd=appnum rc=0 appnum={rank // 2}' for rank in range(3)])
            about = [line.split()[2:] for line in lines if ' about ' in line]
            self.assertEqual([row[:3] for row in about], [['3', '1', '8']] * 2 + [['3', '1', '9']], lines)
            self.assertEqual([row[3:] for row in about[:2]], [['node2', '/']] * 2, lines)
            self.assertEqual(about[2][3], 'node3', lines)
            self.assertNotEqual(about[2][4], '/', lines)
            dvmtest.wait_until(lambda: dvm.get('Statistics')['spawns-open'] == 0, 'the end of the children')  # pylint: disable=cell-var-from-loop
            job.cancel()
            job.wait()

    def test_spawn_refused(self):
        """With what was wrong, and the rank goes on; its job says why to people."""
        dvm = self.dvm(slots=2, settings=['nodes=2'])
        cases = ((self.spawn((1, ['/no/such'], {})), 'program_not_found', 'program '),
                 (self.spawn((1, ['/etc/passwd'], {})), 'program_not_executable', 'passwd'),
                 (self.spawn((1, ['true'], {'wdir': '/no/such'})), 'failed', '/no/such'),
                 (self.spawn((1, ['true'], {}), (99, ['true'], {})), 'no_place_for_it', ''),
                 (self.spawn((1, ['true'], {'host': 'node2,nowhere'})), 'no_place_for_it', '“nowhere”'),
                 (self.spawn((1, ['true'], {'path': '/bin:/usr/bin'})), 'path_is_more_than_one_directory', ''),
                 (self.spawn((1, ['true'], {'hostfile': '/no/such'})), 'not_found', '/no/such'))
        done = dvm.run([*TALK, INIT, *(text for text, _, _ in cases), 'cmd=finalize'])
        self.assert_success(done)
        self.assertEqual(done.out.decode().splitlines()[1:-1], [f'0: cmd=spawn_result rc=-1 msg={msg}' for _, msg, _ in cases], done)
        for _, _, word in cases:
            self.assertIn(word, done.err.decode())
        self.assertEqual(dvm.get('Statistics')['spawns-open'], 0)

    def test_spawner_dies(self):
        """Before it has its answer: what it has spawned ends with it, and another one is served."""
        dvm = self.dvm(slots=2, settings=['nodes=2'])
        for text in (self.spawn((2, ['sleep', '1000'], {})), 'mcmd=spawn\nnprocs=1'):
            done, _ = self.talk(dvm, INIT, '@mute ' + text, '@die')
            self.assertEqual(done.state, ABORTED_BY_SIG, done)
        dvmtest.wait_until(lambda: dvm.get('Statistics')['spawns-open'] == 0, 'the end of what was spawned')
        done, lines = self.talk(dvm, INIT, self.spawn((3, ['true'], {})), 'cmd=finalize')
        self.assertIn('0: cmd=spawn_result rc=0 msg=success errcodes=0,0,0', lines)

    def test_two(self):
        """PMI-2: pairs and attributes of a job and its nodes, names, and a spawn, whose children speak PMI-1."""
        start = ('cmd=init pmi_version=2 pmi_subversion=0', '@2 cmd=fullinit;pmirank=@rank;')
        for radix in ('2', '32'):
            dvm = self.dvm(slots=4, settings=['nodes=2', f'radix={radix}'])
            spawn = ('cmd=spawn;ncmds=1;preputcount=1;ppkey0=port;ppval0=tag;;;subcmd=' + TALK[0] + f';maxprocs=2;argc=4;argv0={TALK[1]};'
                     f'argv1={INIT};argv2=cmd=get kvsname=@kvs key=port;argv3=cmd=finalize;')
            argv = [*TALK, *start, '@2 cmd=kvs-put;key=k@rank;value=of@rank;;;', '@2 cmd=kvs-fence;', '@2 cmd=kvs-get;jobid=;key=k3;',
                    '@2 cmd=info-getjobattr;key=PMI_process_mapping;', '0:@2 cmd=info-putnodeattr;key=a;value=b;',
                    '2:@2 cmd=info-putnodeattr;key=a;value=c;', '@2 cmd=info-getnodeattr;key=a;wait=TRUE;',
                    '3:@2 cmd=name-publish;name=my name;port=p;infokeycount=0;', '@2 cmd=kvs-fence;', '@2 cmd=name-lookup;name=my name;',
                    '@2 cmd=job-connect;jobid=x;', '1:@2 ' + spawn, '@2 cmd=finalize;', '@stay']
            job, out, _ = dvm.start(argv, np=4, map_by='ppr:2:node')
            dvmtest.wait_until(lambda: out.data.count(b'finalize') == 6, 'the end of all')  # pylint: disable=cell-var-from-loop
            lines = sorted(out.data.decode().splitlines())
            for rank in range(4):
                own = [line[3:].partition(';')[2] for line in lines if line.startswith(f'{rank}: cmd=') and '-response;' in line]
                for answer in (f'rc=0;pmi-version=2;pmi-subversion=0;rank={rank};size=4;appnum=0;debugged=FALSE;pmiverbose=FALSE;',
                               'found=TRUE;value=of3;;;rc=0;', 'found=TRUE;value=(vector,(0,2,2));rc=0;',
                               f'found=TRUE;value={"bc"[rank // 2]};rc=0;', 'rc=0;port=p;value=p;', 'rc=-1;errmsg=not_supported;'):
                    self.assertIn(answer, own, (rank, lines))
            self.assertEqual(sum(line.startswith('1: cmd=spawn-response;rc=0;jobid=dvm-') for line in lines), 1, lines)
            self.assertEqual(sum(line.endswith('cmd=get_result rc=0 msg=success value=tag;') for line in lines), 2, lines)
            job.cancel()
            job.wait()
        done, _ = self.talk(dvm, *start, '1:@2 cmd=abort;isworld=TRUE;msg=no more of it;', '@wait', np=2)
        self.assertEqual((done.state, done.result['exit-code']), (CALLED_ABORT, 1), done)
        self.assertRegex(done.result['reason'], 'with status 1: no more of it$')

    def test_names_of_pmix(self):
        """They are in one store: each finds what the other has published, but for what no line of PMI can have."""
        dvm = self.dvm(slots=2, settings=['nodes=2'])
        publish = 'cmd=publish_name service=s port=tag#0$'
        apps = [{'argv': [*TALK, INIT, publish, '@stay'], 'np': 1, 'hosts': ['node1']}]
        job, out, _ = dvm.start([], apps=apps)
        dvmtest.wait_until(lambda: b'publish_result rc=0' in out.data, 'what it publishes')
        done = dvm.run([DATA, 'lookup', 's'], hosts=['node2'])
        self.assertIn(b' s=tag#0$:0\n', done.out, done)
        job.cancel()
        job.wait()
        job, out, _ = dvm.start([DATA, 'publish', 't', 'p', 'publish', 'u', 'two words', 'file', '/no/such/file'],
                                hosts=['node2'])
        dvmtest.wait_until(lambda: out.data.count(b'publish') >= 2, 'what it publishes')
        done, lines = self.talk(dvm, INIT, 'cmd=lookup_name service=t', 'cmd=lookup_name service=u', 'cmd=lookup_name service=s',
                                'cmd=finalize', hosts=['node1'])
        self.assert_success(done)
        self.assertEqual([line for line in lines if 'lookup' in line],
                         ['0: cmd=lookup_result rc=-1 msg=no_port_of_pmi', '0: cmd=lookup_result rc=-1 msg=service_not_found',
                          '0: cmd=lookup_result rc=0 msg=success port=p'])
        job.cancel()
        job.wait()

    def test_dies_before_answer(self):
        """Of one that does not wait for what it has asked nothing is left, and others are answered."""
        dvm = self.dvm(slots=2, settings=['nodes=2'])
        for _ in range(10):
            done, _ = self.talk(dvm, INIT, '@mute cmd=publish_name service=s port=p', '@die')
            self.assertEqual(done.state, ABORTED_BY_SIG, done)
        done, lines = self.talk(dvm, INIT, 'cmd=lookup_name service=s', 'cmd=finalize')
        self.assertIn('0: cmd=lookup_result rc=-1 msg=service_not_found', lines)
        self.assert_success(done)
        self.assertEqual(dvm.get('Statistics')['data-published'], 0)

    def test_no_sense(self):
        """The connection ends, and with it the job, as it does of a rank that has not finalized."""
        dvm = self.dvm(slots=2)
        for text in ('nonsense', 'cmd=', 'cmd=unknown', '=x', '@raw 20000', INIT, 'mcmd=spawn\nnprocs=1\ncmd=get_appnum'):
            done, lines = self.talk(dvm, INIT, text)
            self.assertEqual(done.state, ABORTED_WO_SYNC, (text, done))
            self.assertEqual(lines[-1], '0: the end', text)
        # Before init: it has not begun, and so need not end.
        done, lines = self.talk(dvm, 'cmd=get_maxes')
        self.assert_success(done)
        self.assertEqual(lines, ['0: the end'])
        done, lines = self.talk(dvm, 'cmd=init pmi_version=3 pmi_subversion=0')
        self.assertEqual(lines, ['0: ' + GREETING.replace('rc=0', 'rc=-1')])
        self.assert_success(dvm.run(['true']))

    def test_pairs_of_all(self):
        """Each rank gets, after the barrier, what all others have put, once more in the next one."""
        for shape in SHAPES:
            dvm = self.dvm(**shape)
            texts = [INIT]
            for turn in 'xy':
                texts += [f'cmd=put kvsname=@kvs key=k@rank value={turn}@rank', 'cmd=barrier_in']
                texts += [f'cmd=get kvsname=@kvs key=k{rank}' for rank in range(4)] + ['cmd=barrier_in']
            done, lines = self.talk(dvm, *texts, 'cmd=finalize', np=4)
            self.assert_success(done)
            for rank in range(4):
                got = [line.rpartition('=')[2] for line in done.out.decode().splitlines() if line.startswith(f'{rank}: cmd=get')]
                self.assertEqual(got, [f'{turn}{other}' for turn in 'xy' for other in range(4)], done)

    def test_dies_before_barrier(self):
        """No rank waits for it for ever, on its node or elsewhere; without end of its own it is the first failure."""
        for shape in SHAPES:
            dvm = self.dvm(**shape)
            done, _ = self.talk(dvm, INIT, '1:@die', 'cmd=barrier_in', np=4)
            self.assertEqual(done.state, ABORTED_BY_SIG, done)
            self.assertRegex(done.result['reason'], '^Rank 1 ')
            done, _ = self.talk(dvm, INIT, '1:@exit', 'cmd=barrier_in', np=4)
            self.assertEqual(done.state, ABORTED_WO_SYNC, done)
            self.assertRegex(done.result['reason'], '^Rank 1 ')

    def test_not_again(self):
        """One that has come does not come back (max-restarts), alone or in a job that may lose ranks, and that is said; one that fails before does."""
        dvm = self.dvm(slots=2)
        done, lines = self.talk(dvm, '@die', max_restarts=2)
        self.assertEqual((done.state, done.job.get('Restarts'), lines), (ABORTED_BY_SIG, 2, []), done)
        self.assertNotIn('speaks PMI', dvm.log())
        for options in ({}, {'np': 2, 'recoverable': True}):
            done, lines = self.talk(dvm, INIT, '0:@die', 'cmd=finalize', max_restarts=2, **options)
            self.assertEqual((done.job.get('Restarts'), lines.count(f'0: {GREETING}')), (0, 1), done)
            said = f'job {done.job.nspace} rank 0: '
            dvmtest.wait_until(lambda one=said: [line for line in dvm.log().splitlines() if one in line and 'of a library that speaks PMI' in line], 'the reason')

    def test_others_are_told(self):
        """In a job that may lose ranks the barrier fails for those that are left."""
        done, lines = self.talk(self.dvm(slots=3), INIT, '1:@die', 'cmd=barrier_in', 'cmd=finalize', np=3, recoverable=True)
        for rank in (0, 2):
            self.assertIn(f'{rank}: cmd=barrier_failed rc=-1 msg=other_ranks_do_not_come', lines, done)

    def check_told(self, dvm, ranks, texts, **options):
        """These ranks are told that the barrier has failed, and the job ends by itself."""
        apps = options.pop('apps', None)
        argv = [*TALK, INIT, *texts, 'cmd=barrier_in', 'cmd=finalize']
        job, out, _ = (dvm.start([], apps=[{'argv': argv, **apps[0]}, *apps[1:]], recoverable=True) if apps else
                       dvm.start(argv, recoverable=True, **options))
        failed = [f'{rank}: cmd=barrier_failed rc=-1 msg=other_ranks_do_not_come\n'.encode() for rank in ranks]
        dvmtest.wait_until(lambda: all(line in out.data for line in failed), f'{failed} in the output')
        job.wait()

    def test_not_started(self):
        """Ranks that wait for one that could not be started hear of it, on its node and on others."""
        for settings in ([], ['nodes=3'], ['nodes=3', 'radix=2']):
            dvm = self.dvm(slots=1 if settings else 3, settings=settings)
            for bad in ({'argv': ['/no/such/program']}, {'argv': ['true'], 'cwd': '/no/such/folder'}):
                self.check_told(dvm, (0, 1), (), apps=[{'np': 2}, {**bad, 'np': 1}])

    def test_not_started_later(self):
        """The others are in the barrier already when the node says so."""
        for radix in ('2', '32'):
            dvm = self.dvm(slots=1, settings=['nodes=3', f'radix={radix}'])
            pid = next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node3')
            os.kill(pid, signal.SIGSTOP)
            try:
                argv = [*TALK, INIT, 'cmd=barrier_in', 'cmd=finalize']
                apps = [{'argv': argv, 'np': 2}, {'argv': ['/no/such/program'], 'np': 1}]
                job, out, _ = dvm.start([], apps=apps, recoverable=True)
                dvmtest.wait_until(lambda: dvm.get('Statistics')['collectives-open'] == 1, 'the others')  # pylint: disable=cell-var-from-loop
            finally:
                os.kill(pid, signal.SIGCONT)
            job.wait()
            self.assertEqual(out.finish().count(b'barrier_failed'), 2)

    def test_no_descriptors(self):
        """Some ranks are started and others are not: those that are hear of it."""
        dvm = self.dvm(slots=4)
        self.assert_success(dvm.run(['true']))
        unlimited = resource.prlimit(dvm.agent, resource.RLIMIT_NOFILE)
        started = []
        while 4 not in started:
            highest = max(int(name) for name in os.listdir(f'/proc/{dvm.agent}/fd'))
            resource.prlimit(dvm.agent, resource.RLIMIT_NOFILE, (highest + 2 + 2 * len(started), unlimited[1]))
            done, lines = self.talk(dvm, INIT, 'cmd=barrier_in', 'cmd=finalize', np=4, recoverable=True)
            resource.prlimit(dvm.agent, resource.RLIMIT_NOFILE, unlimited)
            started.append(sum(line.endswith('finalize_ack rc=0') for line in lines))
            self.assertEqual(done.out.count(b'barrier_failed'), started[-1] % 4, done)
        self.assertTrue(set(started) & {1, 2, 3}, started)

    def test_leaves_child(self):
        """A rank that ends is lost, also when a child of it has its connection and its output, or its output alone."""
        for shape in SHAPES:
            dvm = self.dvm(**shape)
            for texts in (('1:@child', '1:@exit'), ('1:@close', '1:@child', '1:@exit')):
                self.check_told(dvm, (0, 2, 3), texts, np=4)

    def test_closes(self):
        """A rank lives on, and its connection does not, by which it has spoken: each barrier fails."""
        for shape in SHAPES + ALONE:
            dvm = self.dvm(**shape)
            argv = [*TALK, INIT, '1:@close', '1:@stay', *['cmd=barrier_in'] * 3, 'cmd=finalize']
            job, out, _ = dvm.start(argv, np=4, recoverable=True)
            dvmtest.wait_until(lambda: out.data.count(b'barrier_failed') == 9, 'three that are told')  # pylint: disable=cell-var-from-loop
            job.cancel()
            job.wait()

    def test_one_after_the_other(self):
        """Programs, or sessions, in the same ranks; one that ends within the second is lost."""
        for shape in SHAPES:
            dvm = self.dvm(**shape)
            texts = []
            for turn in 'xy':
                # Without the second barrier the next program may put its value before all have got that of this one.
                texts += [INIT, f'cmd=put kvsname=@kvs key=k@rank value={turn}@rank', 'cmd=barrier_in',
                          'cmd=get kvsname=@kvs key=k3', 'cmd=barrier_in', 'cmd=finalize']
            done, lines = self.talk(dvm, *texts, np=4)
            self.assert_success(done)
            for turn in 'xy':
                self.assertEqual(sum(line.endswith(f'value={turn}3') for line in lines), 4, done)
            done, _ = self.talk(dvm, INIT, 'cmd=finalize', INIT, '1:@exit', 'cmd=barrier_in', 'cmd=finalize', np=4)
            self.assertEqual(done.state, ABORTED_WO_SYNC, done)
            self.assertRegex(done.result['reason'], '^Rank 1 ')

    def test_other_program(self):
        """A barrier to which ranks come in different programs fails for each of them, and the log says why."""
        for shape in ALONE:
            dvm = self.dvm(**shape)
            texts = (INIT, '0:cmd=finalize', '0:' + INIT, 'cmd=put kvsname=@kvs key=k value=@rank', 'cmd=barrier_in', 'cmd=finalize')
            done, _ = self.talk(dvm, *texts, np=4, recoverable=True)
            self.assertEqual(done.out.count(b'barrier_failed'), 4, done)
            self.assertIn('each rank is to run as many MPI programs', dvm.log())

    def test_aborts(self):
        """With words of its own, as newer libraries hand them on."""
        done, _ = self.talk(self.dvm(slots=2), INIT, '1:cmd=abort exitcode=9 message=no more of it', '@wait', np=2)
        self.assertEqual((done.state, done.result['exit-code']), (CALLED_ABORT, 9), done)
        self.assertRegex(done.result['reason'], '^Rank 1 on .* called PMIx_Abort or MPI_Abort with status 9: no more of it$')

    def test_node_lost(self):
        """While its ranks are awaited in a barrier."""
        for radix in ('2', '32'):
            dvm = self.dvm(slots=1, settings=['nodes=3', f'radix={radix}'])
            job, out, _ = dvm.start([*TALK, INIT, '2:@wait', 'cmd=barrier_in', 'cmd=finalize'], np=3, map_by='node',
                                    recoverable=True)
            dvmtest.wait_until(lambda: out.data.count(b'init') == 3, 'init of all')  # pylint: disable=cell-var-from-loop
            os.kill(next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node3'), signal.SIGKILL)
            job.wait()
            lines = sorted(out.finish().decode().splitlines())
            for rank in (0, 1):
                self.assertIn(f'{rank}: cmd=barrier_failed rc=-1 msg=other_ranks_do_not_come', lines)

    def test_beside_pmix(self):
        """Ranks of one job that speak PMI and PMIx are not given each other's data: they wait, and the next job is served."""
        for radix in ('2', '32'):
            dvm = self.dvm(slots=2, settings=['nodes=2', f'radix={radix}'])
            talk = [*TALK, INIT, 'cmd=put kvsname=@kvs key=k@rank value=v', 'cmd=barrier_in']
            apps = [{'argv': talk, 'np': 2, 'hosts': ['node1']}, {'argv': [CLIENT, 'data'], 'np': 2, 'hosts': ['node2']}]
            done = dvm.run([], apps=apps, timeout=2)
            self.assertEqual(done.state, dvmtest.KILLED_BY_CMD, done)
            self.assertNotIn(b'barrier_out', done.out)
            self.assert_success(dvm.run([CLIENT, 'data'], np=4))

    def test_plain(self):
        """Without PMIx there is no PMI either, and nothing of a job around this one."""
        dvm = self.dvm(slots=1, env={'PMI_FD': '7', 'PMI_RANK': '3'})
        done = dvm.run(['sh', '-c', 'env | grep ^PMI_; ls /proc/self/fd'], personality='plain',
                       env={'PMI_FD': '8', 'PMI_RANK': '3', 'PMI_SIZE': '4', 'PMI_PORT': 'a:1'})
        self.assertNotIn(b'PMI_', done.out)
        self.assertNotIn(b'20\n', done.out)
        done = dvm.run(['sh', '-c', 'env | grep ^PMI_ | sort'], env={'PMI_FD': '8', 'PMI_SPAWNED': '1'})
        self.assertEqual(done.out, b'PMI_FD=20\nPMI_RANK=0\nPMI_SIZE=1\n')
        self.assertEqual(done.state, NOTIFIED)

    def test_one_of_two(self):
        """MPICH that finds PMI and PMIx is told which one to use, unless the user has said it."""
        dvm = self.dvm(slots=1)
        asked = ['sh', '-c', 'echo ${MPIR_CVAR_PMI_VERSION-none}']
        self.assertEqual(dvm.run(asked).lines, ['1'])
        self.assertEqual(dvm.run(asked, env={'MPIR_CVAR_PMI_VERSION': 'x'}).lines, ['x'])
        self.assertEqual(dvm.run(asked, personality='plain').lines, ['none'])


if __name__ == '__main__':
    dvmtest.main()
