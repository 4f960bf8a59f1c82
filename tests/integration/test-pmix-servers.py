# SPDX-License-Identifier: LGPL-2.1-or-later
"""libpmix dies, stands still or wedges itself: the jobs with clients there end, with that reason, and nothing else does."""

import ctypes
import glob
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

import dvmtest
import leftovers
from dvmtest import KILLED_BY_CMD, NON_ZERO_TERM, NOTIFIED

# A crash is to be one, also with the sanitizers.
os.environ['ASAN_OPTIONS'] = os.environ.get('ASAN_OPTIONS', '') + ':handle_segv=0'
CLIENT = os.environ.get('DVM_TEST_PMIX_CLIENT', '')
FINALIZE = os.environ.get('DVM_TEST_MPI_FINALIZE', '')
COMM_FAILED = 56
SEND_LAUNCH_MSG, REGISTERED = 13, 16
ROUNDS = 200 if os.environ.get('DVM_TEST_SOAK') == '1' else 3
JOBS = 10000 if os.environ.get('DVM_TEST_SOAK') == '1' else 60
# What a pattern of PMIx's tools asks for; the last two end some servers by SIGSEGV.
QUESTIONS = [('pmix.client.attrs', 'all'), ('pmix.tool.attrs', 'all'), ('pmix.srvr.attrs', 'all'), ('pmix.host.attrs', 'all'),
             ('pmix.srvr.attrs',), ('pmix.host.attrs',), ('pmix.host.fns',), ('pmix.host.attrs', 'PMIx_Nothing')]
# A program that has a connection to its PMIx server, and has not come through PMIx_Init.
CONNECT = """import os, re, socket, sys, time
uri = next(value for name, value in os.environ.items() if name.startswith("PMIX_SERVER_URI"))
connection = socket.create_connection(re.search(r"tcp4?://([0-9.]+):([0-9]+)", uri).groups())
"""


WALL = 0x40000000
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def stop_thread(tid):
    """One thread stands still, the others of its process go on; False: that is not allowed."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if ptrace(PTRACE_SEIZE, tid, None, None) != 0 or ptrace(PTRACE_INTERRUPT, tid, None, None) != 0:
        return False
    os.waitpid(tid, WALL)
    return True


class Servers(dvmtest.Case):
    def server(self, dvm):
        dvmtest.wait_until(lambda: len(dvm.servers) == 1, 'there is one server')
        return dvm.servers[0]

    def begin(self, dvm, argv, np, **options):
        job, out, _ = dvm.start(argv, np=np, **options)
        dvmtest.wait_until(lambda: out.data.count(b'ready') == np or job.get('Ended'), 'all are ready')
        self.assertFalse(job.get('Ended'), job.get('Reason'))
        return job

    def check_usable(self, dvm, np, **options):
        self.assert_success(dvm.run([CLIENT, 'data'], np=np, **options))
        self.assertEqual({row['StateName'] for row in dvm.get_nodes()}, {'UP'})

    def kill_rounds(self, nodes, argv, program):
        dvm = self.dvm(slots=8, settings=[f'nodes={nodes}', 'kill-grace=0.5'])
        for _ in range(ROUNDS):
            job = self.begin(dvm, argv, 8, map_by='node')
            job.cancel()
            self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
            self.assert_success(dvm.run(program, np=2 * nodes, map_by='node'))
        dvmtest.wait_until(lambda: len(dvm.servers) <= nodes, 'the old servers have gone')

    def test_killed_in_a_fence(self):
        self.kill_rounds(1, [CLIENT, 'fence-without', '4'], [CLIENT, 'data'])

    def test_killed_in_a_fence_over_nodes(self):
        self.kill_rounds(4, [CLIENT, 'fence-without', '4'], [CLIENT, 'data'])

    @unittest.skipUnless(FINALIZE and os.path.exists(FINALIZE), 'no Open MPI')
    def test_killed_mpi_jobs(self):
        self.kill_rounds(1, [FINALIZE, '4'], [FINALIZE])

    @unittest.skipUnless(FINALIZE and os.path.exists(FINALIZE), 'no Open MPI')
    def test_killed_mpi_jobs_over_nodes(self):
        self.kill_rounds(4, [FINALIZE, '4'], [FINALIZE])

    def end_under_job(self, number):
        """A job with clients, one of programs without PMIx, and the server of the first ends."""
        dvm = self.dvm(slots=8)
        plain = dvm.submit(['sleep', '600'], np=1, personality='plain')
        job = self.begin(dvm, [CLIENT, 'fence-without', '1'], 2)
        # A rank may go on before the agent has heard that it is a client.
        job.wait_state(REGISTERED)
        os.kill(self.server(dvm), number)
        result = job.wait()
        self.assertEqual(result['state'], COMM_FAILED, result)
        self.assertFalse(plain.get('Ended'))
        self.check_usable(dvm, 4)
        return result['reason']

    def test_crash(self):
        self.assertRegex(self.end_under_job(signal.SIGSEGV),
                         r'^The PMIx server of the node \(process \d+\) was ended by signal 11')

    def test_kill(self):
        self.assertRegex(self.end_under_job(signal.SIGKILL), 'was ended by signal 9')

    def test_standstill(self):
        self.assertRegex(self.end_under_job(signal.SIGSTOP), r'has not answered for 1\d s$')

    def assert_ended_by_server(self, result, how='was ended by signal 9'):
        self.assertEqual(result['state'], COMM_FAILED, result)
        self.assertIn(how, result['reason'])

    def test_ranks_that_see_it_end(self):
        """They end by themselves, with a status of their own: the cause is told, and not that."""
        dvm = self.dvm(slots=4)
        for i in range(100 if ROUNDS == 200 else 4 * ROUNDS):
            job = self.begin(dvm, [CLIENT, 'follow'], 1 + i % 4)
            os.kill(self.server(dvm), signal.SIGKILL)
            self.assert_ended_by_server(job.wait())
        self.check_usable(dvm, 4)

    def test_ranks_that_end_first(self):
        """The agent has seen the ends of all ranks before that of the server, which has not said anything meanwhile."""
        dvm = self.dvm(slots=4)
        for pause in (0, 4):
            job = self.begin(dvm, [CLIENT, 'follow'], 2)
            job.wait_state(REGISTERED)
            server = self.server(dvm)
            os.kill(server, signal.SIGSTOP)
            pids = job.pids()
            for pid in pids:
                os.kill(pid, signal.SIGUSR1)
            dvmtest.wait_until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in pids), 'they are reaped')
            time.sleep(pause)
            os.kill(server, signal.SIGKILL)
            # They did not end for want of a server that ended so much later.
            result = job.wait()
            if pause == 0:
                self.assert_ended_by_server(result)
            else:
                self.assertEqual((result['state'], result['exit-code']), (NON_ZERO_TERM, 74), result)
        self.check_usable(dvm, 4)

    def test_ranks_that_nobody_knew(self):
        """That they have connected, and that the server has ended, comes to the agent in one turn; so does the end of theirs."""
        dvm = self.dvm(slots=4)
        place = self.place()
        for i in range(ROUNDS):
            go, out = os.path.join(place, f'go-{i}'), os.path.join(place, f'out-{i}')
            verb = ('fence-without 1', 'follow')[i % 2]
            script = f'while ! test -e {go}; do sleep 0.02; done; exec {CLIENT} {verb} > {out}'
            job = dvm.submit(['sh', '-c', script], np=1)
            job.wait_running()
            server = self.server(dvm)
            ends = [server] + job.pids() * (verb == 'follow')
            os.kill(dvm.agent, signal.SIGSTOP)
            try:
                open(go, 'w').close()
                dvmtest.wait_until(lambda: os.path.exists(out) and os.path.getsize(out), 'it has connected')
                os.kill(server, signal.SIGKILL)
                dvmtest.wait_until(lambda pids=ends: not any(map(leftovers.is_running, pids)), 'they have ended')
            finally:
                os.kill(dvm.agent, signal.SIGCONT)
            self.assert_ended_by_server(job.wait())
        self.check_usable(dvm, 4)

    def test_ranks_of_which_it_has_not_told(self):
        """The library has answered them, and the server's main thread has not come so far; of a job beside nothing changes."""
        dvm = self.dvm(slots=4, settings=['pmix-servers=1'])
        beside = dvm.submit(['sleep', '600'], np=1)
        beside.wait_running()
        place = self.place()
        go, out = os.path.join(place, 'go'), os.path.join(place, 'out')
        job = dvm.submit(['sh', '-c', f'while ! test -e {go}; do sleep 0.02; done; exec {CLIENT} fence-without 1 > {out}'], np=1)
        job.wait_running()
        server = self.server(dvm)
        if not stop_thread(server):
            self.skipTest('ptrace is not allowed here')
        open(go, 'w').close()
        try:
            dvmtest.wait_until(lambda: os.path.exists(out) and os.path.getsize(out), 'it has connected')
        finally:
            os.kill(server, signal.SIGKILL)
            # Its end is told to its parent only then.
            os.waitpid(server, WALL)
        self.assert_ended_by_server(job.wait())
        self.assertFalse(beside.get('Ended'))
        self.check_usable(dvm, 2)

    def test_ranks_that_connect_as_it_ends(self):
        """So do those that have not come through PMIx_Init, and those that come to it later."""
        dvm = self.dvm(slots=4)
        self.check_usable(dvm, 2)
        for _ in range(ROUNDS):
            job = self.connect_by_hand(dvm, 'connection.recv(1)\nsys.exit(75)')
            os.kill(self.server(dvm), signal.SIGKILL)
            self.assert_ended_by_server(job.wait())
        place = self.place()
        for argv, code in ((CLIENT, None), ('exit 3', 3)):
            go = os.path.join(place, f'go-{code}')
            job = dvm.submit(['sh', '-c', f'while ! test -e {go}; do sleep 0.02; done; {argv}'], np=1)
            job.wait_running()
            server = self.server(dvm)
            os.kill(server, signal.SIGKILL)
            dvmtest.wait_until(lambda old=server: old not in dvm.servers, 'it has ended')
            open(go, 'w').close()
            result = job.wait()
            if code is None:
                self.assert_ended_by_server(result)
            else:
                self.assertEqual((result['state'], result['exit-code']), (NON_ZERO_TERM, code), result)
        self.check_usable(dvm, 4)

    def test_end_at_any_time(self):
        """Whatever a job is at when its server ends or stands still, it ends, and the next one has another."""
        dvm = self.dvm(slots=4)
        self.check_usable(dvm, 2)
        for i in range(ROUNDS * 3):
            # A standstill is noticed after 10 s: it comes once in 25 rounds, and so at each state in turn.
            number = signal.SIGSTOP if i % 25 == 13 else (signal.SIGKILL, signal.SIGSEGV)[i // 6 % 2]
            job = dvm.submit([CLIENT, 'data'], np=4)
            for pid in dvm.servers:
                dvmtest.wait_until(lambda: job.get('State') >= i % 6 * 3 or job.get('Ended'), 'it has come so far')
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            result = job.wait()
            self.assertTrue(result['state'] == NOTIFIED or result['reason'], result)
            dvmtest.wait_until(lambda: job.nspace not in str(list(os.walk(dvm.runtime))), 'no directory of it is left')
            self.check_usable(dvm, 2)

    def test_end_while_a_job_is_forgotten(self):
        """Nothing of the job is left behind."""
        dvm = self.dvm(slots=4)
        for connected in (False, True):
            argv = [CLIENT, 'fence-without', '1'] if connected else ['sh', '-c', 'echo ready; exec sleep 600']
            job = self.begin(dvm, argv, 1)
            job.wait_running()
            old = self.server(dvm)
            os.kill(old, signal.SIGSTOP)
            for pid in job.pids():
                os.kill(pid, signal.SIGKILL)
                dvmtest.wait_until(lambda: not os.path.exists(f'/proc/{pid}'), 'the rank to be reaped')
            os.kill(old, signal.SIGKILL)
            job.wait()
            dvmtest.wait_until(lambda: job.nspace not in str(list(os.walk(dvm.runtime))), 'no directory of it is left')
            self.check_usable(dvm, 2)

    def test_end_beside_one_that_stands_still(self):
        """A job of which nobody has connected does not wait for its server, neither for what that knows nor until it forgets."""
        dvm = self.dvm(slots=4)
        self.check_usable(dvm, 2)
        for _ in range(2):
            job, out, _ = dvm.start(['sh', '-c', 'echo ready; exec sleep 600'], np=2)
            dvmtest.wait_until(lambda one=out: one.data.count(b'ready') == 2, 'it runs')
            old = self.server(dvm)
            os.kill(old, signal.SIGSTOP)
            job.cancel()
            self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
            self.assertIn(old, dvm.servers)
            os.kill(old, signal.SIGCONT)
        self.check_usable(dvm, 2)
        self.assertEqual(dvm.servers, [old])

    def test_cancelled_before_it_is_registered(self):
        """A job that its server is still to be told of ends at once, and goes from the server when that goes on, or ends."""
        dvm = self.dvm(slots=4)
        self.check_usable(dvm, 2)
        for number in (signal.SIGCONT, signal.SIGCONT, signal.SIGKILL):
            old = self.server(dvm)
            os.kill(old, signal.SIGSTOP)
            job = dvm.submit([CLIENT, 'data'], np=2)
            job.wait_state(SEND_LAUNCH_MSG)
            job.cancel()
            self.assertEqual(job.wait(limit=5)['state'], KILLED_BY_CMD)
            self.assertIn(old, dvm.servers)
            os.kill(old, number)
            self.check_usable(dvm, 2)
            self.assertEqual(dvm.servers == [old], number == signal.SIGCONT)
            left = [dvm.runtime, *glob.glob('/dev/shm/dvm-*')]
            dvmtest.wait_until(lambda: job.nspace not in str([list(os.walk(place)) for place in left]), 'nothing is left')

    def connect_by_hand(self, dvm, then):
        """A job of one rank that has a connection to its server, and does in Python what follows."""
        self.server(dvm)
        [counter] = dvmtest.wait_until(lambda: glob.glob(os.path.join(glob.escape(dvm.node_folder), 'pmix', '*', 'connections')),
                                       'the server to count')
        with open(counter, 'rb') as file:
            # A server that has just begun has made the file, and not written it yet.
            before = dvmtest.wait_until(lambda: (file.seek(0), file.read())[1], 'the server to have written its count')
            job = dvm.submit([sys.executable, '-c', CONNECT + then], np=1)
            dvmtest.wait_until(lambda: (file.seek(0), file.read())[1] != before, 'the connection to be accepted')
        return job

    def test_killed_while_it_connects(self):
        """A rank is killed between its connection and the end of PMIx_Init, when libpmix may hang over it."""
        dvm = self.dvm(slots=4)
        self.check_usable(dvm, 2)
        old = self.server(dvm)
        job = self.connect_by_hand(dvm, 'time.sleep(600)')
        os.kill(job.pids()[0], signal.SIGKILL)
        self.assertEqual(job.wait()['exit-signal'], signal.SIGKILL)
        dvmtest.wait_until(lambda: old not in dvm.servers, 'the server to have gone')
        self.check_usable(dvm, 2)

    def test_without_clients(self):
        """A job that does not speak to the server does not need it."""
        dvm = self.dvm(slots=4)
        job, out, _ = dvm.start(['sh', '-c', 'echo ready; exec sleep 600'], np=1)
        dvmtest.wait_until(lambda: b'ready' in out.data, 'it runs')
        os.kill(self.server(dvm), signal.SIGKILL)
        self.check_usable(dvm, 2)
        self.assertFalse(job.get('Ended'))
        job.cancel()
        job.wait()

    def test_other_version(self):
        """dvm-pmix was replaced, while the agent ran, by one with other messages: jobs that need one say so, and no others do."""
        folder = self.place()
        other = os.path.join(folder, 'other')
        with open(os.path.join(folder, 'dvm-pmix'), 'w', encoding='utf-8') as file:
            real = os.path.join(os.path.dirname(dvmtest.DVMD), 'dvm-pmix')
            file.write(f'#!/bin/sh\ntest ! -e {other} || set -- 00000000\nexec {real} "$@"\n')
        os.chmod(file.name, 0o755)
        with open(other, 'w', encoding='utf-8'):
            pass
        dvm = self.dvm(slots=2, env={'DVM_LIBEXEC_DIR': folder})
        done = dvm.run([CLIENT, 'data'], np=2)
        self.assertRegex(done.reason, r'; the last one: The PMIx server of the node \(process \d+\) is of another version of dvm than its agent, .*start it again$')
        self.assert_success(dvm.run(['true'], np=2, personality='plain'))
        os.unlink(other)
        self.check_usable(dvm, 2)

    def test_port_of_a_server_that_ended(self):
        """Ranks that have not connected yet know it: nobody else may listen there until their job has ended."""
        dvm = self.dvm(slots=4)
        job, out, _ = dvm.start(['sh', '-c', 'echo ready; exec sleep 600'], np=1)
        dvmtest.wait_until(lambda: b'ready' in out.data, 'it runs')
        job.wait_running()
        with open(f'/proc/{job.pids()[0]}/environ') as file:
            host, port = re.search(r'PMIX_SERVER_URI\w*=[^\0]*tcp4://([0-9.]+):(\d+)', file.read()).groups()
        ends = (host, int(port))
        old = self.server(dvm)
        os.kill(old, signal.SIGKILL)
        dvmtest.wait_until(lambda: old not in dvm.servers, 'it has ended')
        with socket.socket() as stranger:
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.assertRaises(OSError, stranger.bind, ends)
        for _ in range(50):
            with socket.create_connection(ends) as client:
                client.settimeout(dvmtest.LIMIT)
                self.assertEqual(client.recv(1), b'')
        self.assertFalse(job.get('Ended'))

        def is_free():
            with open('/proc/net/tcp') as file:
                return not any(row.split()[1].endswith(f':{int(port):04X}') and row.split()[3] == '0A' for row in file)

        self.assertFalse(is_free())
        job.cancel()
        job.wait()
        dvmtest.wait_until(is_free, 'the port is free again')
        self.check_usable(dvm, 2)

    def test_questions(self):
        """Questions that the library itself would fall over are answered; the server and its jobs live on."""
        dvm = self.dvm(slots=4, settings=['pmix=eager', 'pmix-servers=1'])
        neighbour = self.begin(dvm, [CLIENT, 'fence-without', '1'], 1)
        neighbour.wait_state(REGISTERED)
        server = self.server(dvm)
        for words in QUESTIONS:
            result = dvm.run([CLIENT, 'ask', *words], np=1)
            self.assertEqual(result.state, NOTIFIED, (words, result))
            known = (words[0] != 'pmix.tool.attrs' and words[1:] != ('PMIx_Nothing',)) or 'lists-nothing' in dvmtest.pmix_library()
            answer = b'SUCCESS' if known else b'NOT-FOUND'
            self.assertEqual(result.out, b'%s: %s\n' % (words[0].encode(), answer))
            # Sanitizers keep what was freed: another server may have come for new jobs, as this one has grown.
            self.assertEqual([pid for pid in dvm.servers if pid == server or not dvm.is_instrumented()], [server], words)
        self.check_usable(dvm, 2)
        self.assertEqual(neighbour.state, REGISTERED, neighbour.get('Reason'))
        neighbour.cancel()
        neighbour.wait()

    def test_pattrs(self):
        """A tool comes to the first server, also when there are more: a job in that does not notice, nor do others."""
        dvm = self.dvm(slots=8, settings=['elastic=true', 'pmix=eager', 'pmix-servers=4'])
        neighbour = self.begin(dvm, [CLIENT, 'fence-without', '1'], 1)
        neighbour.wait_state(REGISTERED)
        place = os.path.join(dvm.node_folder, 'pmix')

        def read_tool_file():
            names = [name for name in os.listdir(place) if name.endswith('.tool')]
            if not names:
                return None
            with open(os.path.join(place, names[0])) as file:
                return names[0], file.read()

        name, first = dvmtest.wait_until(read_tool_file, 'tools have a way in')
        beside = self.begin(dvm, [CLIENT, 'fence-without', '1'], 1)
        beside.wait_state(REGISTERED)
        servers = dvm.servers
        self.assertEqual((len(servers), read_tool_file()[1]), (2, first))
        server = 'file:' + os.path.join(place, name)
        for words in (['--host', 'all'], ['--host', 'PMIx_Get,PMIx_Spawn'], ['--server', 'PMIx_Get']):
            tool = subprocess.run(['pattrs', '--uri', server, *words], timeout=60, capture_output=True, check=False)
            # It has come to the server; without names there is no answer, which it falls over.
            if words[0] != '--host' or 'leaves-out-names' not in dvmtest.pmix_library():
                title = f'{words[0][2:].upper()} SUPPORTED ATTRIBUTES'
                self.assertIn(title.encode(), tool.stdout + tool.stderr, words)
        self.assertEqual(dvm.servers, servers)
        self.check_usable(dvm, 2)
        for job in (neighbour, beside):
            self.assertEqual(job.state, REGISTERED, job.get('Reason'))
            job.cancel()
            job.wait()

    def test_memory(self):
        """What the library leaks with each fence over nodes ends with its process."""
        dvm = self.dvm(slots=4, settings=['nodes=2'])

        def measure():
            return sum(leftovers.get_rss(pid) for pid in dvm.agents + dvm.servers)

        for _ in range(5):
            self.assert_success(dvm.run([CLIENT, 'data'], np=8, map_by='node'))
        before = measure()
        for _ in range(JOBS):
            self.assert_success(dvm.run([CLIENT, 'fence-of', '65536'], np=8, map_by='node'))
        if not dvm.is_instrumented():
            dvmtest.wait_until(lambda: measure() < before + 2 * 5 * 1024 * 1024, 'memory is what it was')


if __name__ == '__main__':
    dvmtest.main()
