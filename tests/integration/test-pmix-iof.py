# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tools and processes that pull the output of jobs, by PMIx_IOF_pull(), from whatever node."""

import os
import re
import signal
import subprocess

import dvmtest
import leftovers
from dvmtest import NOTIFIED, wait_until

ALLOC = os.environ.get('DVM_TEST_PMIX_ALLOC', '')
NO_SUCH, NOT_SUPPORTED, BAD_PARAM = -46, -47, -27
OUT, ERR = 2, 4
# More than pipes, sockets and credits hold.
MUCH = 64 * 1024 * 1024
SOME = 4 * 1024 * 1024
LINE = b'0123456789abcde\n'


def fnv(data):
    total = 2166136261
    for byte in data:
        total = (total ^ byte) * 16777619 & 0xffffffff
    return f'{total:08x}'


class Pull(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.tools = []

    def clear(self):
        for tool in self.tools:
            tool.kill()
            tool.wait()
        super().clear()

    def start(self, nodes=2, settings=(), slots=4):
        return self.dvm(slots=slots, settings=['elastic=true', 'pmix=eager', *settings], arguments=[f'--nodes={nodes}'])

    def path(self, dvm, name):
        return os.path.join(dvm.place, name)

    def touch(self, dvm, name):
        with open(self.path(dvm, name), 'w', encoding='utf-8'):
            pass

    def waits(self, dvm, name, script):
        """A program that runs the script when that file is there."""
        return ['sh', '-c', f'while [ ! -e {self.path(dvm, name)} ]; do sleep 0.01; done; {script}']

    def tool(self, dvm, node, *words):
        """A tool that runs, and what it says."""
        ends = os.pipe()
        tool = subprocess.Popen([ALLOC, '--tool', dvm.tool_file(node), *words], stdout=ends[1],
                                env={key: value for key, value in os.environ.items() if key != 'G_DEBUG'})
        os.close(ends[1])
        self.tools.append(tool)
        return tool, dvmtest.Reader(ends[0])

    def wait_said(self, reader, words, times=1):
        wait_until(lambda: reader.data.count(words.encode()) >= times, f'{words!r} {times} times')

    def finish(self, tool, reader=None):
        if reader is None:
            return super().finish(tool)
        text = reader.finish().decode()
        self.assertEqual(tool.wait(dvmtest.LIMIT), 0, text)
        return text.splitlines()[1:]

    def lines(self, size):
        return f'yes {LINE.decode().strip()} | head -c {size}'

    def is_held_up(self, job):
        """The processes of its pipeline wait, and have something to write."""
        pipeline = leftovers.find_children(job.pids()[0], 'yes') + leftovers.find_children(job.pids()[0], 'head')
        return len(pipeline) == 2 and all(leftovers.get_state(pid) == 'S' for pid in pipeline)

    def is_still(self, dvm, job, out):
        """Nothing of it comes while another job of its node starts, and writes what takes the same way, and ends."""
        size = len(out.data)
        if size == 0 or not self.is_held_up(job):
            return False
        self.assertEqual(dvm.run(['echo', 'behind'], np=1, hosts=['node1']).lines, ['behind'])
        return len(out.data) == size and self.is_held_up(job)

    def pulls(self, dvm):
        return dvm.get('Statistics')['output-pulls']


class Basics(Pull):
    def test_both(self):
        """A tool on each of two nodes, and a rank of another job, get what they ask for of a job over both nodes."""
        dvm = self.start()
        job, out, err = dvm.start(self.waits(dvm, 'go', 'echo out of $PMIX_RANK; echo err of $PMIX_RANK >&2'), np=4, map_by='node')
        job.wait_running()
        readers = [self.tool(dvm, 'node1', 'pull', 'out+err', job.nspace, 'pulled', '72', 'told'),
                   self.tool(dvm, 'node2', 'pull', 'out', f'{job.nspace}.1,{job.nspace}.2', 'pulled', '18', 'told'),
                   self.tool(dvm, 'node2', 'pull', 'err', f'{job.nspace}.3', 'pull', 'out', f'{job.nspace}.3', 'pulled', '18', 'told')]
        rank, said, _ = dvm.start([ALLOC, 'pull', 'out+err', f'{job.nspace}.0', 'pulled', '18', 'told'], np=1, hosts=['node2'])
        for (_, reader), times in zip(readers, (1, 1, 2)):
            self.wait_said(reader, ' pull 0\n', times)
        self.wait_said(said, ' pull 0\n')
        self.touch(dvm, 'go')

        def told(ranks, channel, word):
            return [f'0 told {job.nspace}.{rank} {channel} 9 {fnv(f"{word} of {rank}".encode() + bytes([10]))}' for rank in ranks]

        everything = told(range(4), OUT, 'out') + told(range(4), ERR, 'err')
        lines = [sorted(line for line in self.finish(*reader) if 'told' in line) for reader in readers]
        self.assertEqual(lines[0], sorted(everything), dvm.log())
        self.assertEqual(lines[1], told((1, 2), OUT, 'out'))
        self.assertEqual(lines[2], sorted(told((3,), OUT, 'out') + told((3,), ERR, 'err')))
        self.assertEqual(rank.wait()['state'], NOTIFIED)
        self.assertEqual(sorted(line for line in said.finish().decode().splitlines() if 'told' in line),
                         told((0,), OUT, 'out') + told((0,), ERR, 'err'))
        self.assertEqual(job.wait()['state'], NOTIFIED)
        # Others get all of it as well.
        self.assertEqual(sorted(out.finish().decode().splitlines()), [f'out of {rank}' for rank in range(4)])
        self.assertEqual(sorted(err.finish().decode().splitlines()), [f'err of {rank}' for rank in range(4)])
        wait_until(lambda: self.pulls(dvm) == 0, 'the pulls to end with the job')

    def test_much(self):
        """All of it comes, in its order, and once where it is pulled twice on a node; what was before is not there."""
        dvm = self.start()
        script = 'echo before; ' + self.waits(dvm, 'go', self.lines(SOME))[2]
        job, out, _ = dvm.start(['sh', '-c', script], np=1)
        wait_until(lambda: b'before' in out.data, 'the first line')
        tools = [self.tool(dvm, 'node2', 'pull', 'out', job.nspace, 'pulled', str(SOME), 'told') for _ in range(2)]
        for _, reader in tools:
            self.wait_said(reader, ' pull 0\n')
        self.touch(dvm, 'go')
        for tool in tools:
            self.assertEqual(self.finish(*tool)[1:], [f'0 told {job.nspace}.0 {OUT} {SOME} {fnv(LINE * (SOME // 16))}'])
        self.assertEqual(job.wait()['state'], NOTIFIED)

    def test_refused(self):
        """Jobs and ranks that there are not, nothing named, channels that have no output, and directives."""
        dvm = self.start()
        job, _, _ = dvm.start(['sleep', '1000'], np=2)
        over = dvm.run(['true'], np=1).job
        job.wait_running()
        _, reader = tool = self.tool(
            dvm, 'node2', 'pull', 'out', 'nobody', 'pull', 'out', f'{job.nspace}.2', 'pull', 'out', over.nspace, 'pull', 'out',
            f'{job.nspace},nobody.0', 'pull', 'out', 'none', 'pull', 'diag', job.nspace, 'pull', 'no', job.nspace,
            'pull', 'out/pmix.iof.csize', job.nspace, 'pull', 'out/pmix.iof.stop', job.nspace, 'pull', 'out', f'{job.nspace}.-5',
            'pull', 'out/test.unknown', job.nspace, 'drop', 'drop')
        self.assertEqual([int(line.split()[2]) for line in self.finish(*tool)],
                         [NO_SUCH, NO_SUCH, NO_SUCH, NO_SUCH, NOT_SUPPORTED, NOT_SUPPORTED, NOT_SUPPORTED, NOT_SUPPORTED, NOT_SUPPORTED, NOT_SUPPORTED,
                          0, 0, NO_SUCH])
        self.assertIn('which there is not', dvm.log())
        wait_until(lambda: self.pulls(dvm) == 0, 'nobody to pull')

    def test_drop(self):
        """One of two pulls is dropped, then the other: the job is sent no more, and what it says is kept for others again."""
        dvm = self.start()
        job = dvm.submit(self.waits(dvm, 'one', 'echo one; ' + self.waits(dvm, 'two', 'echo two')[2]), np=1)
        job.wait_running()
        tool, reader = self.tool(dvm, 'node1', 'pull', 'out', f'{job.nspace}.0', 'pull', 'err', job.nspace, 'drop', 'pulled', '4', 'drop',
                                 'file', self.path(dvm, 'end'), 'told')
        self.wait_said(reader, ' drop 0\n')
        self.assertEqual(self.pulls(dvm), 1)
        self.touch(dvm, 'one')
        self.wait_said(reader, ' drop 0\n', 2)
        wait_until(lambda: self.pulls(dvm) == 0, 'the job to be pulled no more')
        self.touch(dvm, 'two')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.touch(dvm, 'end')
        self.assertEqual(self.finish(tool, reader)[4:], [f'0 told {job.nspace}.0 {OUT} 4 {fnv(b"one" + bytes([10]))}'])
        self.assertEqual(dvmtest.Reader(job.attach(stdout=True)['stdout']).finish(), b'two\n')


class Marks(Pull):
    def setUp(self):
        super().setUp()
        if 'marks' not in dvmtest.pmix_library():
            self.skipTest('libpmix of this version marks what is pulled by itself')

    def pulled(self, tool):
        """Its pieces, in one text."""
        lines = [line.split(' ', 3)[3] for line in self.finish(*tool) if ' piece ' in line]
        return ''.join(lines).replace('\\012', '\n')

    def test_marks(self):
        """Tools of one server pull a job that is marked in a way of its own: each gets it in its way, and those who read it in that."""
        dvm = self.start()
        script = 'printf "<a>\\nb"; echo e$PMIX_RANK >&2; printf c; echo "$$" >' + self.path(dvm, 'pid')
        job, out, err = dvm.start(self.waits(dvm, 'go', script), np=2, map_by='node', output='rank')
        job.wait_running()
        number = job.nspace.split('@')[1]
        rows = {
            'out': '[1]<stdout>: <a>\n[1]<stdout>: bc\n',
            'out+err/pmix.iof.tag': f'[{number},1]<stdout>: <a>\n[{number},1]<stdout>: bc\n[{number},1]<stderr>: e1\n',
            'out/pmix.iof.tagfull': f'[{job.nspace},1]<stdout>: <a>\n[{job.nspace},1]<stdout>: bc\n',
            'out/pmix.iof.xml': '<stdout rank="1">&lt;a&gt;&#10;</stdout>\n<stdout rank="1">bc</stdout>\n',
            'out/pmix.iof.mrg': '<a>\nbce1\n',
            'err/pmix.iof.raw': 'e1\n',
        }
        tools = {how: self.tool(dvm, 'node2', 'show', 'pull', how, f'{job.nspace}.1', 'pulled', str(len(text)))
                 for how, text in rows.items()}
        for _, reader in tools.values():
            self.wait_said(reader, ' pull 0\n')
        self.touch(dvm, 'go')
        for how, text in rows.items():
            # Both streams of a rank come on ways of their own.
            self.assertEqual(sorted(self.pulled(tools[how])), sorted(text), how)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(sorted(out.finish().decode().splitlines()), ['[0]<stdout>: <a>', '[0]<stdout>: bc', '[1]<stdout>: <a>', '[1]<stdout>: bc'])
        self.assertEqual(sorted(err.finish().decode().splitlines()), ['[0]<stderr>: e0', '[1]<stderr>: e1'])
        wait_until(lambda: self.pulls(dvm) == 0, 'the pulls to end with the job')

    def test_ends(self):
        """A pull that marks ends, while one of the same job that does not goes on; what nobody pulls any more is kept for others."""
        dvm = self.start()
        job = dvm.submit(self.waits(dvm, 'one', 'echo one; ' + self.waits(dvm, 'two', 'echo two')[2]), np=1)
        job.wait_running()
        plain, plain_said = self.tool(dvm, 'node1', 'show', 'pull', 'out', job.nspace, 'pulled', '4', 'drop')
        self.wait_said(plain_said, ' pull 0\n')
        marked, said = self.tool(dvm, 'node1', 'show', 'pull', 'out/pmix.iof.rank', job.nspace, 'pulled', '17', 'drop', 'file', self.path(dvm, 'end'))
        self.wait_said(said, ' pull 0\n')
        self.touch(dvm, 'one')
        self.wait_said(said, ' drop 0\n')
        self.assertEqual(self.pulled((plain, plain_said)), 'one\n')
        wait_until(lambda: self.pulls(dvm) == 0, 'the job to be pulled no more')
        self.touch(dvm, 'two')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.touch(dvm, 'end')
        self.assertEqual(self.pulled((marked, said)), '[0]<stdout>: one\n')
        self.assertEqual(dvmtest.Reader(job.attach(stdout=True)['stdout']).finish(), b'two\n')

    def test_time(self):
        """Time, node and process of each line, and nothing more for a directive that is off, or not one of these."""
        dvm = self.start()
        job, _, _ = dvm.start(self.waits(dvm, 'go', 'echo line'), np=1, hosts=['node1'])
        job.wait_running()
        tool = self.tool(dvm, 'node2', 'show', 'pull', 'out/pmix.iof.tagdet/pmix.tsout', job.nspace, 'pulled', '60')
        self.wait_said(tool[1], ' pull 0\n')
        pid = job.pids()[0]
        self.touch(dvm, 'go')
        self.assertRegex(self.pulled(tool), r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d{4}' +
                         re.escape(f'[{job.nspace},0][node1:{pid}]<stdout>: line\n') + '$')

    def test_refused(self):
        """Marks that contradict each other, or are no flags; none of them leaves something behind."""
        dvm = self.start()
        job, _, _ = dvm.start(['sleep', '1000'], np=1)
        job.wait_running()
        tool = self.tool(dvm, 'node2', 'pull', 'out/pmix.iof.tag/pmix.iof.rank', job.nspace, 'pull', 'out/=pmix.iof.xml', job.nspace,
                         'pull', 'err/pmix.iof.mrg', job.nspace, 'pull', 'out/pmix.iof.tag/=pmix.iof.dir', job.nspace,
                         'pull', 'out/pmix.iof.dir', job.nspace)
        self.assertEqual([int(line.split()[2]) for line in self.finish(*tool)], [BAD_PARAM, BAD_PARAM, BAD_PARAM, NOT_SUPPORTED, BAD_PARAM])
        self.assertEqual(self.pulls(dvm), 0)

    def test_slow(self):
        """A tool that does not read what is marked for it holds up the job, as any other; then all comes, line by line."""
        dvm = self.start()
        job, out, _ = dvm.start(self.waits(dvm, 'go', self.lines(SOME)), np=1, hosts=['node1'])
        job.wait_running()
        size = SOME + SOME // 16 * len('[0]<stdout>: ')
        tool, reader = self.tool(dvm, 'node2', 'gate', self.path(dvm, 'gate'), 'pull', 'out/pmix.iof.rank', job.nspace, 'pulled', str(size), 'told')
        self.wait_said(reader, ' pull 0\n')
        self.touch(dvm, 'go')
        wait_until(lambda: self.is_still(dvm, job, out), 'the job to stand still')
        self.touch(dvm, 'gate')
        line = b'[0]<stdout>: ' + LINE
        self.assertEqual(self.finish(tool, reader)[1:], [f'0 told {job.nspace}.0 {OUT} {size} {fnv(line * (SOME // 16))}'])
        self.assertEqual(job.wait()['state'], NOTIFIED)


class Slow(Pull):
    def test_slow(self):
        """A tool that does not read stops the job that writes, no other one, and grows no daemon; then all comes."""
        dvm = self.start()
        job, out, _ = dvm.start(self.waits(dvm, 'go', self.lines(MUCH)), np=1, hosts=['node1'])
        job.wait_running()
        tool, reader = self.tool(dvm, 'node2', 'gate', self.path(dvm, 'gate'), 'pull', 'out', job.nspace, 'pulled', str(MUCH), 'told')
        self.wait_said(reader, ' pull 0\n')
        before = self.memory(dvm)
        self.touch(dvm, 'go')
        wait_until(lambda: self.is_still(dvm, job, out), 'the job to stand still')
        self.assertLess(len(out.data), MUCH)
        self.assertFalse(job.get('Ended'))
        for pid, size in self.memory(dvm).items() if not dvm.is_instrumented() else ():
            self.assertLess(size - before.get(pid, size), 24 * 1024 * 1024, dvm.processes())
        self.assertEqual(dvm.run(['echo', 'another'], np=1).lines, ['another'])
        self.touch(dvm, 'gate')
        self.assertEqual(self.finish(tool, reader)[1].split()[3:5], [str(OUT), str(MUCH)])
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(len(out.finish()), MUCH)

    def memory(self, dvm):
        """Bytes of each daemon and PMIx server."""
        sizes = {}
        for pid in [dvm.pid, *dvm.daemons]:
            with open(f'/proc/{pid}/statm', encoding='utf-8') as file:
                sizes[pid] = int(file.read().split()[1]) * 4096
        return sizes


class Ends(Pull):
    def stuck(self, dvm, node='node2'):
        """A job that a tool holds up, and the tool."""
        job, out, _ = dvm.start(self.waits(dvm, 'go', self.lines(MUCH)), np=1, hosts=['node1'])
        job.wait_running()
        tool, reader = self.tool(dvm, node, 'gate', self.path(dvm, 'gate'), 'pull', 'out', job.nspace, 'stay')
        self.wait_said(reader, ' pull 0\n')
        self.touch(dvm, 'go')
        wait_until(lambda: self.is_still(dvm, job, out), 'the job to stand still')
        return job, out, tool

    def test_tool(self):
        """The tool is killed while it holds up the job: that goes on."""
        dvm = self.start()
        job, out, tool = self.stuck(dvm)
        wait_until(lambda: 'has not read for 5 seconds' in dvm.log(), 'the log says why the job waits')
        tool.kill()
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())
        self.assertEqual(len(out.finish()), MUCH)
        wait_until(lambda: self.pulls(dvm) == 0, 'the pull to end')

    def test_job(self):
        """The job is killed while it is held up."""
        dvm = self.start()
        job, _, _ = self.stuck(dvm)
        job.cancel()
        self.assertNotEqual(job.wait()['state'], NOTIFIED)
        wait_until(lambda: self.pulls(dvm) == 0, 'the pull to end')
        self.touch(dvm, 'gate')
        self.assertEqual(dvm.run(['echo', 'another'], np=1).lines, ['another'])

    def test_node(self):
        """The node of the tool is lost, with its server: the job of the other node goes on."""
        dvm = self.start(nodes=3)
        job, out, _ = self.stuck(dvm, 'node3')
        os.kill(next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node3'), signal.SIGKILL)
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())
        self.assertEqual(len(out.finish()), MUCH)

    def test_server(self):
        """The PMIx server of the tool is killed: the job goes on."""
        dvm = self.start()
        job, out, _ = self.stuck(dvm)
        agent = next(row['Pid'] for row in dvm.get_nodes() if row['Name'] == 'node2')
        for pid in leftovers.find_children(agent, 'dvm-pmix'):
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())
        self.assertEqual(len(out.finish()), MUCH)


if __name__ == '__main__':
    dvmtest.main()
