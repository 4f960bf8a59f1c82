# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that speak PMI-1, those of MPICH and such as make mistakes, on one node and on several."""

import os
import resource
import signal
import sys
import unittest

import dvmtest
from dvmtest import ABORTED_BY_SIG, ABORTED_WO_SYNC, CALLED_ABORT, NON_ZERO_TERM, NOTIFIED

# Nodes that are lost stay DOWN here.
os.environ['DVM_HEAL'] = 'false'

WORLD = os.environ.get('DVM_TEST_MPICH_WORLD', '')
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
        """The library of Debian 12 shuts the socket down that the next program would use, as below its own launcher."""
        dvm = self.dvm(slots=2)
        done = dvm.run(['sh', '-c', f'{WORLD}; {WORLD}'], np=2)
        self.assertEqual((done.state, done.code), (NON_ZERO_TERM, 128 + signal.SIGPIPE), done)
        self.assertIn('a second MPI program in one rank needs a library that leaves the PMI connection to it', dvm.log())

    def test_abort(self):
        for shape in SHAPES:
            done = self.dvm(**shape).run([WORLD, 'abort', '7'], np=4)
            self.assertEqual((done.state, done.result['exit-code']), (CALLED_ABORT, 7), done)
            self.assertRegex(done.result['reason'], '^Rank 1 on .* called PMIx_Abort or MPI_Abort with status 7$')

    def test_killed(self):
        for shape in SHAPES:
            done = self.dvm(**shape).run([WORLD, 'die'], np=4)
            self.assertEqual((done.state, done.result['exit-signal']), (ABORTED_BY_SIG, signal.SIGKILL), done)
            self.assertRegex(done.result['reason'], '^Rank 1 ')

    def test_no_finalize(self):
        done = self.dvm(slots=2, settings=['nodes=2']).run([WORLD, 'exit'], np=4)
        self.assertEqual(done.state, ABORTED_WO_SYNC, done)
        self.assertRegex(done.result['reason'], '^Rank 1 ')

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
            ('cmd=publish_name service=s port=p', 'cmd=publish_result rc=-1 msg=not_supported'),
            ('cmd=unpublish_name service=s', 'cmd=unpublish_result rc=-1 msg=not_supported'),
            ('cmd=lookup_name service=s', 'cmd=lookup_result rc=-1 msg=not_supported'),
            ('mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\narg1=x y\nendcmd\n'
             'mcmd=spawn\ntotspawns=2\nspawnssofar=2\nendcmd', 'cmd=spawn_result rc=-1 msg=not_supported'),
            ('cmd=barrier_in', 'cmd=barrier_out rc=0'), ('cmd=finalize', 'cmd=finalize_ack rc=0'))
        done, _ = self.talk(dvm, *(text for text, _ in pairs))
        self.assert_success(done)
        self.assertEqual(done.out.decode().splitlines(), ['0: ' + answer for _, answer in pairs])

    def test_no_sense(self):
        """The connection ends, and with it the job, as it does of a rank that has not finalized."""
        dvm = self.dvm(slots=2)
        for text in ('nonsense', 'cmd=', 'cmd=unknown', '=x', '@raw 20000', INIT, 'mcmd=spawn\ntotspawns=many\nendcmd'):
            done, lines = self.talk(dvm, INIT, text)
            self.assertEqual(done.state, ABORTED_WO_SYNC, (text, done))
            self.assertEqual(lines[-1], '0: the end', text)
        # Before init: it has not begun, and so need not end.
        done, lines = self.talk(dvm, 'cmd=get_maxes')
        self.assert_success(done)
        self.assertEqual(lines, ['0: the end'])
        done, lines = self.talk(dvm, 'cmd=init pmi_version=2 pmi_subversion=0')
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


if __name__ == '__main__':
    dvmtest.main()
