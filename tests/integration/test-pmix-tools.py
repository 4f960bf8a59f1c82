# SPDX-License-Identifier: LGPL-2.1-or-later
"""PMIx tools find a DVM, elastic or not, by all the ways in which they look for one, and nobody else's tools do."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import unittest

import dvmtest
import leftovers
from dvmtest import NOTIFIED, wait_until

ALLOC = os.environ.get('DVM_TEST_PMIX_ALLOC', '')
CLIENT = os.environ.get('DVM_TEST_PMIX_DATA', '')
EVENTS = os.environ.get('DVM_TEST_PMIX_EVENTS', '')
LAUNCHER = os.environ.get('DVM_TEST_PMIX_PRUN', '')
MPI_ALONE = os.environ.get('DVM_TEST_MPI_EXCHANGE', '')
MPI_SPAWN = os.environ.get('DVM_TEST_MPI_SPAWN', '')
PROGRAM = os.environ.get('DVM_TEST_PMIX_CLIENT', '')
MACHINE = socket.gethostname().split('.')[0]
NOBODY = 65534
# What is heeded of PMIx_IOF_pull(), with the older names.
PULLS = {*(f'iof.{word}' for word in ('tag', 'tagdet', 'tagfull', 'rank', 'ts', 'xml', 'mrg', 'raw')), 'tagout', 'tsout', 'mergeerrout'}


def find_prrte(name):
    """The program of PRRTE 3, which hands on the status of a job; others have that name, too: dvm-mpirun, and a terminal."""
    for path in filter(None, map(shutil.which, (name + '.openmpi', name))):
        told = subprocess.run([path, '--version'], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=dvmtest.LIMIT).stdout
        if '(PRRTE) 3.' in told:
            return path
    return None


class Tools(dvmtest.Case):
    def tool_environment(self, dvm, **more):
        """Of somebody who is told nothing of the DVM; tools look where temporary files are."""
        kept = {key: value for key, value in os.environ.items() if key != 'G_DEBUG' and not key.startswith('PMIX_')}
        if 'reads-freed' in dvmtest.pmix_library():
            kept.pop('MALLOC_PERTURB_', None)
        # Text that libpmix has made by vasprintf() and lost is known for its own by a whole stack alone.
        if 'ASAN_OPTIONS' in kept:
            kept['ASAN_OPTIONS'] += ':fast_unwind_on_malloc=0'
        return {**kept, 'TMPDIR': dvm.place, **more}

    def tool(self, dvm, *argv, uid=None, stdin=None, **more):
        def become():
            if uid is not None:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)

        return subprocess.run(argv, env=self.tool_environment(dvm, **more), input=stdin, capture_output=True, text=True, check=False,
                              timeout=dvmtest.LIMIT, preexec_fn=become)

    def finds(self, dvm, way='session', **more):
        """Whether a tool that is told to go that way comes to the server."""
        return self.tool(dvm, CLIENT, '--tool', way, **more).returncode == 0

    def files(self, dvm, host=MACHINE):
        return sorted(glob.glob(os.path.join(dvm.place, 'dvm-pmix-*', '*', f'pmix.{host}.tool*')))

    def wait_files(self, dvm, host=MACHINE):
        """All of them, which come one by one: without more, with the namespace, and with the pids of server, agent and dvmd."""
        return wait_until(lambda: len(self.files(dvm, host)) >= 5 and self.files(dvm, host), f'files for tools that look for {host}')

    def address(self, dvm, host=MACHINE):
        """Contents of the file, line by line; None: there is none."""
        try:
            with open(self.files(dvm, host)[0], encoding='utf-8') as file:
                return file.read().splitlines()
        except (IndexError, FileNotFoundError):
            return None

    def names(self, dvm, host=MACHINE):
        """What follows the host in the names of the files: pids and the namespace."""
        return [os.path.basename(path).split('.tool', 1)[1][1:] for path in self.files(dvm, host)]


class Ways(Tools):
    def test_ways(self):
        """By the session, by pid, by namespace, by file and address; not by those of others."""
        dvm = self.dvm(slots=2)
        files = self.wait_files(dvm)
        text = self.address(dvm)
        nspace = text[0].split('.')[0]
        pids = [dvm.pid, dvm.agent, int(text[2])]
        self.assertEqual(dvm.servers, pids[2:])
        self.assertCountEqual(self.names(dvm), ['', nspace, *map(str, pids)])
        self.assertEqual((text[3], len(text)), (f'{os.geteuid()}:{os.getegid()}', 5), text)
        self.assertTrue(self.finds(dvm))
        for way in ([f'pid={pid}' for pid in pids]
                    + ['session', f'nspace={nspace}', f'uri={text[0]}', f'uri=file:{files[0]}', files[0], 'system-first']):
            self.assertTrue(self.finds(dvm, way), way)
        for way in (f'pid={os.getpid()}', 'nspace=dvm-nobody', 'system', 'uri=file:/nowhere', '/nowhere'):
            self.assertFalse(self.finds(dvm, way), way)

    def test_private(self):
        """Nobody but the user can read the files, and who knows the address all the same is not let in."""
        dvm = self.dvm(slots=2)
        files = self.wait_files(dvm)
        for path in files:
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600, path)
            self.assertEqual(os.stat(os.path.dirname(path)).st_mode & 0o777, 0o700, path)
        if os.geteuid() != 0:
            return
        os.chmod(dvm.place, 0o755)
        address = self.address(dvm)[0]
        self.assertFalse(self.finds(dvm, uid=NOBODY))
        self.assertFalse(self.finds(dvm, f'uri={address}', uid=NOBODY))
        # The tool may know it before the log of the DVM has it.
        wait_until(lambda: f'A tool of user {NOBODY} is not let in' in dvm.log(), 'the reason in the log')
        self.assertTrue(self.finds(dvm, f'uri={address}'))

    def test_end(self):
        """No file is left of a DVM that has ended, and those of one that was killed are not taken for another's."""
        dvm = self.dvm(slots=2)
        self.wait_files(dvm)
        dvm.stop()
        self.assertEqual(glob.glob(os.path.join(dvm.place, 'dvm-pmix-*')), [])
        dead = os.path.join(dvm.place, f'dvm-pmix-{os.geteuid()}', 'agent-12345678-1')
        os.makedirs(dead)
        os.chmod(os.path.dirname(dead), 0o700)
        os.chmod(dead, 0o700)
        for name in ('lock', f'pmix.{MACHINE}.tool'):
            with open(os.path.join(dead, name), 'w', encoding='utf-8') as file:
                file.write('dvm-12345678.1;tcp4://127.0.0.1:1\n4.2.2\n1\n')
        again = self.dvm(slots=2, place=dvm.place)
        wait_until(lambda: not os.path.exists(dead) and self.files(again), 'what was left has gone')
        self.assertTrue(self.finds(again))

    def test_end_of_killed(self):
        """Nor of one whose agents were killed, at whatever moment of their start or end: it goes with the DVM."""
        dvm = self.dvm(slots=1, settings=['pmix-tools=system', 'heal=false'])
        system = os.path.join(dvm.place, f'pmix.sys.{MACHINE}')
        wait_until(lambda: os.path.exists(system), 'the system-level file')
        os.kill(dvm.agent, signal.SIGKILL)
        wait_until(lambda: dvm.get_nodes()[-1]['StateName'] == 'DOWN', 'the node is down')
        place = os.path.dirname(os.path.dirname(self.files(dvm)[0]))
        os.mkdir(os.path.join(place, 'agent-12345678-1'), 0o700)
        os.mkdir(os.path.join(place, 'agent-12345678-2'), 0o700)
        with open(os.path.join(place, 'agent-12345678-2', 'lock.1.1'), 'w', encoding='utf-8'):
            pass
        shared = f'/dev/shm/dvm-{os.geteuid()}-{os.path.basename(dvm.place)[-6:]}'
        os.mkdir(shared, 0o700)
        # As when the guards are killed, too.
        cgroup = os.path.join(leftovers.find_cgroup() or dvm.place, f'dvm-{dvm.agent}.{os.stat("/proc/self/ns/pid").st_ino}.1000')
        if leftovers.uses_cgroups():
            os.mkdir(cgroup)
        dvm.stop()
        self.assertEqual([path for path in (place, system, shared, cgroup) if os.path.exists(path)], [])

    def test_two(self):
        """With two DVMs of a user a tool has to be told which, as with the reference."""
        dvms = [self.dvm(slots=1, place=self.place())]
        dvms.append(self.dvm(slots=1, name='other', place=dvms[0].place, clean=False))
        wait_until(lambda: len([path for path in self.files(dvms[0]) if path.endswith('.tool')]) == 2, 'both have files')
        self.assertFalse(self.finds(dvms[0]))
        for dvm in dvms:
            self.assertTrue(self.finds(dvm, f'pid={dvm.pid}'))
        dvms[1].stop()
        self.assertTrue(self.finds(dvms[0]))

    def test_none(self):
        """Where the setting says so there are no files, though there is a server."""
        dvm = self.dvm(slots=2, settings=['pmix=eager', 'pmix-tools=none'])
        self.assertEqual(dvm.run([PROGRAM, 'data'], np=2).state, NOTIFIED)
        self.assertEqual(len(dvm.servers), 1)
        self.assertEqual(glob.glob(os.path.join(dvm.place, '**', 'pmix.*'), recursive=True), [])
        self.assertFalse(self.finds(dvm))

    def test_system(self):
        """The first DVM that is to be the system-level server of the machine is that, until it ends."""
        dvm = self.dvm(slots=1, place=self.place(), settings=['pmix-tools=system'])
        path = os.path.join(dvm.place, f'pmix.sys.{MACHINE}')
        wait_until(lambda: os.path.exists(path), 'the system-level file')
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertTrue(self.finds(dvm, 'system'))
        other = self.dvm(slots=1, name='other', place=dvm.place, settings=['pmix-tools=system'], clean=False)
        wait_until(lambda: 'is not the system-level PMIx server' in other.log(), 'the other one is told')
        with open(path, encoding='utf-8') as file:
            self.assertEqual(file.read().splitlines()[2], str(dvm.servers[0]))
        other.stop()
        self.assertTrue(os.path.exists(path))
        dvm.stop()
        self.assertFalse(os.path.exists(path))


class Singletons(Tools):
    """Programs with PMIx_Init() that nobody has launched."""

    def test_spawn(self):
        """One finds the system-level server and starts a job on another node, which knows that a tool is its parent, and whose output it pulls."""
        dvm = self.system(slots=2, arguments=['--nodes=2'])
        gate = os.path.join(dvm.place, 'gate')
        script = f'while [ ! -e {gate} ]; do sleep 0.01; done; echo 0123456; {ALLOC} parent >{dvm.place}/parent'
        ends = os.pipe()
        begun = subprocess.Popen([ALLOC, 'spawn', 'host=node2', 'np=1', '--', 'sh', '-c', script, ';', 'pull', 'out', '@@', 'pulled', '8', 'told'],
                                 env=self.tool_environment(dvm), stdout=ends[1])
        self.addCleanup(begun.kill)
        os.close(ends[1])
        reader = dvmtest.Reader(ends[0])
        wait_until(lambda: reader.data.count(b'\n') == 2, 'its job and its pull')
        lines = [line.split() for line in reader.data.decode().splitlines()]
        self.assertEqual((lines[0][:3], lines[1]), (['0', 'spawn', '0'], ['0', 'pull', '0']), dvm.log())
        nspace = lines[0][3].removeprefix('nspace=')
        with open(gate, 'w', encoding='utf-8'):
            pass
        self.assertEqual(begun.wait(dvmtest.LIMIT), 0)
        told = reader.finish().decode().splitlines()[-1].split()
        self.assertEqual(told[:5], ['0', 'told', f'{nspace}.0', '2', '8'])
        job = dvm.job(int(nspace.split('@')[1]))
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual([row[2] for row in job.procs()], ['node2'])
        with open(os.path.join(dvm.place, 'parent'), encoding='utf-8') as file:
            self.assertRegex(file.read(), rf'^0 parent {re.escape(nspace.split("@")[0])}@tool(-\d+)+\.0 offset=0$')

    def system(self, **options):
        """A DVM that is the system-level server of the machine."""
        dvm = self.dvm(settings=['pmix-tools=system'], **options)
        wait_until(lambda: os.path.exists(os.path.join(dvm.place, f'pmix.sys.{MACHINE}')), 'the system-level file')
        return dvm

    @unittest.skipIf('groups' not in dvmtest.pmix_library(), 'fences of this libpmix are its own')
    def test_own_name(self):
        """It fences with itself alone, by a name that the server does not know; connects to that name are refused, its own and others'."""
        dvm = self.system(slots=2)
        done = self.tool(dvm, CLIENT, 'put', 'key', 'value', 'fence', '.', 'fence', '.', 'connect', 'nobody')
        self.assertEqual((done.returncode, done.stdout.splitlines()[-3:]), (0, ['fence SUCCESS', 'fence SUCCESS', 'connect NOT-SUPPORTED']), done)
        done = dvm.run([CLIENT, 'connect', f'singleton.{MACHINE}.1'], np=2)
        self.assert_success(done)
        self.assertEqual(done.lines, ['connect NOT-SUPPORTED'] * 2, done)

    @unittest.skipUnless(os.path.exists(MPI_SPAWN) and dvmtest.open_mpi() >= 5, 'no Open MPI that looks for PMIx servers by itself')
    def test_mpi(self):
        """An MPI program runs alone, and is told by its MPI that it cannot spawn."""
        dvm = self.system(slots=2)
        # Without shared memory, which Open MPI leaves when nobody tidies up.
        alone = {'OMPI_MCA_btl': 'self'}
        done = self.tool(dvm, MPI_ALONE, **alone)
        self.assertEqual((done.returncode, done.stdout.split()[:3]), (0, ['0', 'of', '1:']), done)
        done = self.tool(dvm, MPI_SPAWN, 'spawn', '1', **alone)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('MPI_Comm_spawn', done.stderr)
        self.assertIn('does not support spawn', done.stderr)
        self.assertEqual(self.tool(dvm, MPI_ALONE, **alone).returncode, 0)
        wait_until(lambda: dvm.get('Statistics')['tools'] == 0, 'they have gone')
        # And its directory.
        for path in glob.glob(os.path.join(dvm.place, 'ompi.*')):
            shutil.rmtree(path)

    def test_alone(self):
        """Without a system-level server there is none for it: it is told so, and ends by itself."""
        dvm = self.dvm(slots=1)
        self.wait_files(dvm)
        done = self.tool(dvm, ALLOC, 'spawn', '--', 'true', ';')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('init: UNREACH', done.stderr)
        self.assertEqual(dvm.get('Statistics')['tools'], 0)


class Servers(Tools):
    def test_ended(self):
        """A server that has ended is not what tools find, whether a job has used it or not."""
        dvm = self.dvm(slots=2)
        self.wait_files(dvm)
        for _ in range(2):
            before = self.address(dvm)
            os.kill(int(before[2]), signal.SIGKILL)
            wait_until(lambda: self.address(dvm) not in (None, before), 'another server')
            self.assertNotIn(before[2], self.names(dvm))
            self.assertTrue(self.finds(dvm))
            self.assertEqual(dvm.run([PROGRAM, 'data'], np=2).state, NOTIFIED)

    def test_retired(self):
        """Nor is one that gets no new jobs, as soon as there is another one."""
        dvm = self.dvm(slots=2, settings=['pmix-servers=1'])
        self.wait_files(dvm)
        before = self.address(dvm)
        dvm.run([PROGRAM, 'die-first'], np=2)
        wait_until(lambda: self.address(dvm) not in (None, before), 'another server')
        self.assertTrue(self.finds(dvm))


    def test_handed_over(self):
        """One that is retired lets tools in until there is another one."""
        dvm = self.dvm(slots=2, settings=['pmix-servers=1'])
        way = f'uri=file:{self.wait_files(dvm)[0]}'
        for _ in range(15):
            before = self.address(dvm)
            dvm.run([PROGRAM, 'die-first'], np=2)
            while self.address(dvm) == before:
                self.assertTrue(self.finds(dvm, way))
            self.assertTrue(self.finds(dvm, way))


class Launcher(Tools):
    """The calls of prun: docs/pmix.md has what was seen of its own."""

    def prun(self, dvm, *argv, stdin=b'', late=None, **more):
        """Its status and output."""
        words = [LAUNCHER, self.wait_files(dvm)[0], *(['--late', late] if late else []), *argv]
        done = subprocess.run(words, input=stdin, env=self.tool_environment(dvm, **more), capture_output=True, check=False, timeout=dvmtest.LIMIT)
        return done.returncode, done.stdout, done.stderr

    def test_status(self):
        """It ends with the status of the job, the end of the input having come before that of the job or not."""
        dvm = self.dvm(slots=4, arguments=['--nodes=2'])
        for _ in range(20):
            self.assertEqual(self.prun(dvm, 'echo', 'hi'), (0, b'hi\n', b''))
        self.assertEqual(self.prun(dvm, 'sh', '-c', 'echo out; echo err >&2; exit 3'), (3, b'out\n', b'err\n'))
        self.assertEqual(self.prun(dvm, 'sh', '-c', 'cat; kill -INT $$', stdin=b'text\n'), (130, b'text\n', b''))

    def test_late(self):
        """It learns of the end of a job that had ended before it asked for that, whatever it has said of being told."""
        dvm = self.dvm(slots=2)
        for program in (['true'], ['sh', '-c', 'exit 3']):
            late = os.path.join(dvm.place, f'late{len(program)}')
            words = [LAUNCHER, self.wait_files(dvm)[0], '--late', late, *program]
            with subprocess.Popen(words, env=self.tool_environment(dvm), stdin=subprocess.DEVNULL) as tool:
                wait_until(lambda: [row for row in dvm.list_jobs(all=True) if row['Ended'] and len(row['Command']) == len(program)], 'the end of the job')
                with open(late, 'w', encoding='utf-8'):
                    pass
                self.assertEqual(tool.wait(dvmtest.LIMIT), 3 * (len(program) > 1))

    def test_input(self):
        """The library hands on what stands on its standard input without waiting, however slowly the job reads."""
        dvm = self.dvm(slots=2)
        go = os.path.join(dvm.place, 'go')
        text = b'0123456789abcde\n' * 131072
        words = [LAUNCHER, self.wait_files(dvm)[0], 'sh', '-c', f'while ! test -e {go}; do sleep 0.1; done; wc -c; exit 5']
        with open(os.path.join(dvm.place, 'text'), 'wb+') as file:
            file.write(text)
            file.seek(0)
            with subprocess.Popen(words, env=self.tool_environment(dvm), stdin=file, stdout=subprocess.PIPE) as tool:
                wait_until(lambda: os.lseek(file.fileno(), 0, os.SEEK_CUR) == len(text), 'all to have been read')
                with open(go, 'w', encoding='utf-8'):
                    pass
                out = tool.communicate(timeout=dvmtest.LIMIT)[0]
        self.assertEqual((tool.returncode, out.split()), (5, [str(len(text)).encode()]))

    def test_pieces(self):
        """The server reads no header before all of it is there."""
        # What knows the inside of the library does this, too.
        if 'groups' not in dvmtest.pmix_library():
            self.skipTest('the headers of the inside of libpmix 6.0 are not served')
        dvm = self.dvm(slots=2)
        text = b'0123456789abcde\n' * 8192
        self.assertEqual(self.prun(dvm, 'sh', '-c', 'wc -c; exit 4', stdin=text, PMIX_CUT_WRITES='1'), (4, f'{len(text)}\n'.encode(), b''))


class Nodes(Tools):
    def test_logical(self):
        """One of the nodes that are parts of a machine has its name, each its own; others have a server with a job."""
        dvm = self.dvm(slots=1, arguments=['--nodes=3'])
        self.wait_files(dvm)
        self.assertTrue(self.finds(dvm))
        self.assertTrue(self.finds(dvm, PMIX_HOSTNAME='node1'))
        self.assertEqual([self.files(dvm, f'node{i}') for i in (2, 3)], [[], []])
        job, _, _ = dvm.start([PROGRAM, 'fence-without', '1'], np=1, hosts=['node3'])
        self.wait_files(dvm, 'node3')
        self.assertTrue(self.finds(dvm, PMIX_HOSTNAME='node3'))
        self.assertTrue(self.finds(dvm))
        job.cancel()
        job.wait()

    def test_lost(self):
        """When the first node is lost another one has the machine's name, and what was left is not found."""
        dvm = self.dvm(slots=1, arguments=['--nodes=2'], settings=['elastic=true', 'heal=false', 'kill-grace=0.5'])
        for node in ('node1', 'node2'):
            self.wait_files(dvm, node)
        pid = next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node1')
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.files(dvm, 'node1') and self.address(dvm) == self.address(dvm, 'node2'), 'the second has it')
        self.assertTrue(self.finds(dvm))

    def test_first_leaves(self):
        """When that node leaves, another one has the machine's name."""
        dvm = self.dvm(slots=1, arguments=['--nodes=2'], settings=['elastic=true'])
        for node in ('node1', 'node2'):
            self.wait_files(dvm, node)
        self.assertEqual(self.address(dvm), self.address(dvm, 'node1'))
        dvm.call('Shrink', '(a{sv})', dvmtest.to_options({'hosts': ['node1']}))
        wait_until(lambda: not self.files(dvm, 'node1') and self.address(dvm) == self.address(dvm, 'node2'), 'the second has it')
        self.assertTrue(self.finds(dvm))


class Stock(Tools):
    """The tools that come with PMIx, as far as its version has them: docs/pmix.md has the table."""

    def begin(self, name, **options):
        if shutil.which(name) is None:
            self.skipTest(f'this PMIx has no {name}')
        dvm = self.dvm(slots=4, **options)
        self.wait_files(dvm)
        return dvm

    def stock(self, dvm, name, *words):
        """What it says, and its status."""
        done = self.tool(dvm, name, *words)
        return done.stdout + done.stderr, done.returncode

    def is_old(self, name):
        """It is that of PMIx 4.2."""
        done = subprocess.run([name, '--help'], capture_output=True, text=True, check=False)
        return '(PMIx) 4.2.' in done.stdout + done.stderr

    def falls_over(self, name, result, number):
        """Tools of 4.2 that fall over by themselves, whatever server there is."""
        if not self.is_old(name):
            return False
        self.assertEqual(result[1], -number, result)
        return True

    def test_pps(self):
        dvm = self.begin('pps')
        job, _, _ = dvm.start(['sleep', '100'], np=2)
        text, code = self.stock(dvm, 'pps')
        self.assertEqual(code, 0, text)
        self.assertIn(f'Active nspaces: {job.nspace}\n', text)
        job.cancel()
        job.wait()

    def test_pquery(self):
        dvm = self.begin('pquery')
        job, _, _ = dvm.start(['sleep', '100'], np=2)
        result = self.stock(dvm, 'pquery', '--pid', str(dvm.pid), 'PMIX_QUERY_NAMESPACES')
        if not self.falls_over('pquery', result, signal.SIGFPE):
            self.assertEqual(result[1], 0, result)
            self.assertIn(job.nspace, result[0])
        job.cancel()
        job.wait()

    def test_plookup(self):
        dvm = self.begin('plookup')
        job, out, _ = dvm.start([CLIENT, 'publish', 'port', 'here', 'file', os.path.join(dvm.place, 'go')], np=1)
        wait_until(lambda: b'publish' in out.data, 'it is published')
        result = self.stock(dvm, 'plookup', 'port')
        if not self.falls_over('plookup', result, signal.SIGSEGV):
            self.assertEqual(result[1], 0, result)
            self.assertIn('port', result[0])
        job.cancel()
        job.wait()

    def test_pevent(self):
        """A rank of a job hears of what it tells."""
        dvm = self.begin('pevent')
        ready = os.path.join(dvm.place, 'ready')
        job, out, _ = dvm.start([EVENTS, 'on', '-3000', 'touch', ready, 'await', '-3000'], np=1)
        wait_until(lambda: os.path.exists(ready), 'the rank listens')
        words = ['--event', '-3000', '--range', '5'] if self.is_old('pevent') else ['--range', 'PMIX_RANGE_GLOBAL', '--', '-3000']
        text, code = self.stock(dvm, 'pevent', *words)
        self.assertEqual(code, 0, text)
        self.assertEqual(job.wait()['state'], NOTIFIED, out.finish())

    def test_pattrs(self):
        """Of the library it knows by itself, of the DVM what that heeds: the same as it says to a query."""
        dvm = self.begin('pattrs')
        text, _ = self.stock(dvm, 'pattrs', '--server', 'PMIx_Get')
        self.assertIn('SERVER SUPPORTED ATTRIBUTES', text)
        if 'leaves-out-names' in dvmtest.pmix_library():
            self.check_functions(dvm)
        else:
            self.check_attributes(dvm)
        self.assertTrue(self.finds(dvm))

    def check_functions(self, dvm):
        """That of 4.2 falls over the answer."""
        text, _ = self.stock(dvm, 'pattrs', '--pid', str(dvm.pid), '--host-fns')
        functions = re.findall(r'^(PMIx_\w+)$', text, re.MULTILINE)
        self.assertEqual((functions.count('PMIx_Spawn'), functions.count('PMIx_Query_info'), functions.count('PMIx_Group_leave')), (1, 1, 0), text)

    def check_attributes(self, dvm):
        text, _ = self.stock(dvm, 'pattrs', '--pid', str(dvm.pid), '--host', 'PMIx_Spawn')
        listed = set(re.findall(r'^PMIX_\S+ +(pmix\.\S+)', text, re.MULTILINE))
        answer = dvm.run([CLIENT, 'query', 'pmix.qry.spawn'], np=1).out.decode()
        heeded = set(re.search(r'\[pmix.qry.spawn (\S+)\]', answer).group(1).split(','))
        self.assertLessEqual(listed, heeded)
        self.assertLessEqual({'pmix.mapby', 'pmix.wdir', 'pmix.host'}, listed)
        self.assertGreater(len(listed), len(heeded) / 2, 'older libraries do not know all')
        # Each has those that it heeds, and not those of all three.
        for function, keys in (('PMIx_Publish', {'range', 'persist', 'aperms', 'auids', 'agids', 'evrange'}),
                               ('PMIx_Lookup', {'range', 'wait', 'timeout'}), ('PMIx_Unpublish', {'range'}),
                               ('PMIx_Process_monitor', {'monitor.id', 'monitor.cancel'}),
                               ('PMIx_IOF_pull', PULLS if 'marks' in dvmtest.pmix_library() else set())):
            text, _ = self.stock(dvm, 'pattrs', '--pid', str(dvm.pid), '--host', function)
            listed = set(re.findall(r'^PMIX_\S+ +pmix\.(\S+)', text, re.MULTILINE))
            self.assertEqual(listed, keys, function)
        for _ in range(2):
            text, _ = self.stock(dvm, 'pattrs', '--pid', str(dvm.pid), '--host', 'all')
            functions = re.findall(r'^(PMIx_\w+):', text, re.MULTILINE)
            self.assertEqual((functions.count('PMIx_Spawn'), functions.count('PMIx_Query_info'), functions.count('PMIx_Group_leave')),
                             (1, 1, 0), text)
        text, _ = self.stock(dvm, 'pattrs', '--pid', str(dvm.pid), '--host', 'PMIx_Group_leave')
        if 'lists-nothing' not in dvmtest.pmix_library():
            self.assertRegex(text, 'NOT[-_]FOUND')

    def test_pctrl(self):
        dvm = self.begin('pctrl')
        job, _, _ = dvm.start(['sleep', '100'], np=2)
        for word in ('pause', 'resume', 'kill'):
            text, code = self.stock(dvm, 'pctrl', '--pid', str(dvm.pid), '--targets', f'{job.nspace}:*', f'--{word}')
            self.assertIn('granted', text, (word, code))
        self.assertEqual(job.wait()['state'], dvmtest.KILLED_BY_CMD)

    def test_palloc(self):
        dvm = self.begin('palloc', arguments=['--nodes=1'], settings=['elastic=true'])
        text, _ = self.stock(dvm, 'palloc', '--pid', str(dvm.pid), '--nodelist', 'n9')
        self.assertIn('granted', text)
        wait_until(lambda: [row for row in dvm.get_nodes() if row['Name'] == 'n9' and row['StateName'] == 'UP'], 'the node')

    def prrte(self, name):
        path = find_prrte(name)
        if path is None:
            self.skipTest(f'there is no {name} of PRRTE 3')
        return path

    def test_prun(self):
        """That of Debian 13 runs jobs of a DVM that it finds in each way: output, input, and the status of the job."""
        prun = self.prrte('prun')
        dvm = self.begin('prun', arguments=['--nodes=2'])

        def run(*words, stdin=''):
            # The tests may run as root, which prun wants to be told twice.
            return self.tool(dvm, prun, *words, stdin=stdin, PRTE_ALLOW_RUN_AS_ROOT='1', PRTE_ALLOW_RUN_AS_ROOT_CONFIRM='1')

        ways = ([], ['--pid', str(dvm.pid)], ['--dvm-uri', 'file:' + self.files(dvm)[0]], ['--namespace', self.address(dvm)[0].split('.')[0]])
        for way in ways:
            done = run(*way, '-n', '6', '--map-by', 'node', 'sh', '-c', 'echo $DVM_NODE')
            self.assertEqual((done.returncode, sorted(done.stdout.split()), done.stderr), (0, ['node1'] * 3 + ['node2'] * 3, ''), way)
        for script, expected in (('echo out; echo err >&2; exit 3', (3, 'out\n', 'err\n')), ('kill -KILL $$', (137, '', '')),
                                 ('cat; exit 4', (4, 'put\n', ''))):
            done = run('-n', '1', 'sh', '-c', script, stdin='put\n')
            self.assertEqual((done.returncode, done.stdout, done.stderr), expected, script)
        done = run('-n', '1', 'nosuchprogram')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('PMIX_ERR_JOB_EXE_NOT_FOUND', done.stdout + done.stderr)
        rows = dvm.list_jobs(all=True)
        self.assertEqual([row['Ended'] for row in rows], [True] * len(rows))
        self.assertGreaterEqual(len(rows), 7)
        wait_until(lambda: dvm.get('Statistics')['tools'] == 0, 'they have gone')

    def test_pterm(self):
        """The DVM ends in good order, and not only the tool."""
        pterm = self.prrte('pterm')
        dvm = self.begin('prun')
        job, _, _ = dvm.start(['sleep', '1000'], np=2)
        done = self.tool(dvm, pterm, '--pid', str(dvm.pid))
        self.assertEqual((done.returncode, (done.stdout + done.stderr).split()), (0, ['TERMINATING', 'DVM...DONE']), done)
        self.assertEqual(dvm.wait_exit(), 0)


if __name__ == '__main__':
    dvmtest.main()
