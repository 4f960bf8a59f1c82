# SPDX-License-Identifier: LGPL-2.1-or-later
"""Output: complete, in order, to whom it belongs; readers that do not read, that leave, that come late."""

import os
import re
import select
import time

import dvmtest
import leftovers
from dvmtest import KILLED_BY_CMD, NOTIFIED, GLib

MIB = 1 << 20

# Writes a numbered line after the other until so many bytes are out.
WRITER = ('import os,sys\n'
          'rank=int(os.environ["DVM_RANK"]); size=int(sys.argv[1]); sent=0; i=0\n'
          'while sent < size:\n'
          '  lines = b"".join(b"%03d %010d %s\\n" % (rank, i + k, b"x" * 48) for k in range(1024)); i += 1024\n'
          '  lines = lines[:size - sent]\n'
          '  view = memoryview(lines)\n'
          '  while view: view = view[os.write(1, view):]\n'
          '  sent += len(lines)\n')


def writer(size):
    return ['/usr/bin/python3', '-c', WRITER, str(size)]


class Complete(dvmtest.Case):
    def check_rank(self, data, rank, size):
        """All lines of one rank are there, in their order."""
        self.assertEqual(len(data), size)
        for i, line in enumerate(data.split(b'\n')[:-1]):
            self.assertEqual(line[:14], b'%03d %010d' % (rank, i))

    def test_16_ranks_of_one_mebibyte(self):
        """Lines of 64 bytes: no rank loses one, or has them in another order."""
        dvm = self.dvm(slots=16)
        done = dvm.run(writer(MIB), np=16)
        self.assert_success(done)
        self.assertEqual(len(done.out), 16 * MIB)
        by_rank = {rank: [] for rank in range(16)}
        # Pieces of ranks alternate anywhere, so each piece ends in a whole line only with tags.
        tagged = dvm.run(writer(MIB), np=16, output='tag')
        self.assert_success(tagged)
        for line in tagged.out.split(b'\n')[:-1]:
            match = re.match(rb'\[[^\]]*?(\d+)\]<stdout>:? ?(\d{3} \d{10}) x{48}$', line)
            self.assertIsNotNone(match, line)
            self.assertEqual(int(match[1]), int(match[2][:3]))
            by_rank[int(match[1])].append(match[2])
        for rank, lines in by_rank.items():
            self.assertEqual(lines, [b'%03d %010d' % (rank, i) for i in range(MIB // 64)])

    def test_order_of_one_rank(self):
        done = self.dvm(slots=1).run(writer(4 * MIB))
        self.assert_success(done)
        self.check_rank(done.out, 0, 4 * MIB)

    def test_both_streams(self):
        done = self.dvm(slots=4).run(['sh', '-c', 'echo out $DVM_RANK; echo err $DVM_RANK >&2'], np=4)
        self.assertEqual(sorted(done.out.splitlines()), [b'out %d' % i for i in range(4)])
        self.assertEqual(sorted(done.err.splitlines()), [b'err %d' % i for i in range(4)])

    def test_no_newline_at_the_end(self):
        done = self.dvm(slots=1).run(['printf', 'no newline'])
        self.assertEqual(done.out, b'no newline')

    def test_bytes_that_are_no_text(self):
        data = bytes(range(256)) * 64
        done = self.dvm(slots=1).run(['cat'], stdin=data)
        self.assertEqual(done.out, data)


class Formats(dvmtest.Case):
    def test_tag(self):
        dvm = self.dvm(slots=3)
        done = dvm.run(['sh', '-c', 'echo a; echo b >&2; printf c'], np=3, output='tag')
        out = sorted(done.out.decode().splitlines())
        self.assertEqual(len(out), 6, done)
        for line in out:
            self.assertRegex(line, r'^\[[^\]]*[012]\]<stdout>:? ?[ac]$')
        for line in done.err.decode().splitlines():
            self.assertRegex(line, r'^\[[^\]]*[012]\]<stderr>:? ?b$')

    def test_merge(self):
        done = self.dvm(slots=1).run(['sh', '-c', 'echo out; echo err >&2'], output='merge-stderr-to-stdout')
        self.assertEqual(sorted(done.out.splitlines()), [b'err', b'out'])
        self.assertEqual(done.err, b'')

    def test_tag_merge(self):
        done = self.dvm(slots=1).run(['sh', '-c', 'echo out; echo err >&2'], output='tag,merge-stderr-to-stdout')
        lines = sorted(done.out.decode().splitlines())
        self.assertIn('<stderr>', lines[0])
        self.assertIn('<stdout>', lines[1])

    def test_stdout_path(self):
        dvm = self.dvm(slots=2)
        paths = [os.path.join(dvm.home, name) for name in ('out', 'err')]
        job = dvm.submit(['sh', '-c', 'echo out; echo err >&2'], np=2, stdout_path=paths[0], stderr_path=paths[1])
        self.assertEqual(job.wait()['state'], NOTIFIED)
        contents = []
        for path in paths:
            with open(path, 'rb') as f:
                contents.append(f.read())
        self.assertEqual(contents, [b'out\n' * 2, b'err\n' * 2])

    def test_stdout_path_that_cannot_be(self):
        dvm = self.dvm(slots=2)
        self.assert_refused('BadParam', '/no/such/place', dvm.submit, ['true'], stdout_path='/no/such/place/out')
        self.assert_refused('BadParam', dvm.home, dvm.submit, ['true'], stdout_path=dvm.home)
        self.assertEqual(dvm.get('Statistics')['jobs-submitted'], 0)

    def test_full_disk(self):
        """Nothing hangs and nobody else is hurt when the output cannot be written."""
        dvm = self.dvm(slots=2)
        job = dvm.submit(writer(4 * MIB), np=1, stdout_path='/dev/full')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertIn('/dev/full', dvm.log())

    def test_full_disk_is_told(self):
        """Who reads the standard error of a job hears that its standard output is lost."""
        done = self.dvm(slots=2).run(writer(4 * MIB), stdout_path='/dev/full')
        self.assertEqual(done.state, NOTIFIED)
        self.assertIn(b'output cannot be written to /dev/full', done.err)

    def test_directory_of_files(self):
        dvm = self.dvm(slots=2)
        folder = os.path.join(dvm.home, 'results')
        done = dvm.run(['sh', '-c', 'echo out $DVM_RANK'], np=2, output=f'dir={folder}')
        self.assert_success(done)
        found = {}
        for place, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(place, name)) as f:
                    found[os.path.join(place, name)] = f.read()
        self.assertEqual(sorted(text for text in found.values() if text), ['out 0\n', 'out 1\n'], found)


class Readers(dvmtest.Case):
    def test_reader_that_never_reads(self):
        """50 MiB against a closed door: the writer is held up, everything else goes on, and then not a byte is lost."""
        size = 50 * MIB
        dvm = self.dvm(slots=4, settings=['kill-grace=0.5'])
        self.assert_success(dvm.run(writer(MIB)))
        progress = os.path.join(dvm.home, 'progress')
        script = WRITER.replace('  sent += len(lines)\n',
                                f'  sent += len(lines); open("{progress}", "w").write(str(sent))\n')
        job = dvm.submit(['/usr/bin/python3', '-c', script, str(size)], np=1)
        job.wait_state(dvmtest.RUNNING)
        fd = job.attach(stdout=True)['stdout']
        before = dvm.rss()
        held = self.wait_for_standstill(job)
        with open(progress) as f:
            sent = int(f.read())
        self.assertLess(sent, 8 * MIB, 'bytes under way')
        self.assert_growth(dvm, before, 16 * MIB)
        # Others do not notice.
        done = dvm.run(writer(2 * MIB), np=2)
        self.assert_success(done)
        self.assertEqual(len(done.out), 4 * MIB)
        self.assertTrue(held)
        self.assertEqual(job.state, dvmtest.RUNNING)
        data = dvmtest.Reader(fd).finish()
        self.assertEqual(job.wait()['state'], NOTIFIED)
        # What went out before the attach was kept, at most 1 MiB of it; the end is all there.
        self.assertLessEqual(len(data), size)
        self.assertEqual(data[-64:], b'000 %010d ' % (size // 64 - 1) + b'x' * 48 + b'\n')
        first = int(data[data.index(b'\n') + 1:][4:14])
        for i, line in enumerate(data.split(b'\n')[1:-1]):
            self.assertEqual(line[4:14], b'%010d' % (first + i))
        self.assert_growth(dvm, before, 16 * MIB)

    def wait_for_standstill(self, job):
        """Until all writers of the job sleep in write and together have written much: their pipes stay full.

        They share one window: the first of them may fill it before another has ended its first write."""
        pids = job.pids()

        def look():
            seen = []
            for pid in pids:
                with open(f'/proc/{pid}/io') as f:
                    written = int(re.search(r'wchar: (\d+)', f.read())[1])
                with open(f'/proc/{pid}/wchan') as f:
                    where = f.read()
                with open(f'/proc/{pid}/stat') as f:
                    state = f.read().rpartition(')')[2].split()[0]
                seen.append((written, where, state))
            return seen
        last = [look(), time.monotonic()]

        def stands():
            now = look()
            # One that is not let run has another state.
            if now != last[0] or any(state != 'S' for _, _, state in now) or sum(written for written, _, _ in now) < 65536:
                last[:] = [now, time.monotonic()]
            return time.monotonic() - last[1] > 0.5
        return dvmtest.wait_until(stands, 'the writers to be held up')

    def test_every_byte_of_50_mebibytes(self):
        """The descriptor is given at Submit and not read until the writer stands still."""
        size = 50 * MIB
        dvm = self.dvm(slots=2)
        self.assert_success(dvm.run(writer(MIB)))
        before = dvm.rss()
        read_end, write_end = os.pipe()
        job = dvm.submit(writer(size), [write_end], np=1, stdout_fd=GLib.Variant('h', 0))
        os.close(write_end)
        job.wait_state(dvmtest.RUNNING)
        self.wait_for_standstill(job)
        self.assert_growth(dvm, before, 16 * MIB)
        data = dvmtest.Reader(read_end).finish()
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(len(data), size)
        self.assertEqual([int(line[4:14]) for line in data.split(b'\n')[:-1]], list(range(size // 64)))

    def test_cancel_of_a_job_whose_reader_does_not_read(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        # The second rank has the window for itself, as it may have by chance.
        job = dvm.submit(['sh', '-c', '[ $PMIX_RANK = 1 ] || sleep 0.3; exec cat /dev/zero'], np=2)
        job.wait_state(dvmtest.RUNNING)
        fd = job.attach(stdout=True)['stdout']
        self.wait_for_standstill(job)
        job.cancel()
        dvmtest.wait_until(lambda: job.get('Ended'), 'the end of the job')
        self.assert_no_processes(dvm)
        self.assertEqual(dvm.get('SlotsInUse'), 0)
        # Its output is not delivered yet, so that Wait still waits; it ends when the reader goes.
        self.assert_refused('Timeout', 'Job 1', job.call, 'Wait', '(a{sv})', dvmtest.to_options({'timeout': 100}))
        os.close(fd)
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)

    def test_stop_of_a_dvm_whose_reader_does_not_read(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        job = dvm.submit(['cat', '/dev/zero'], np=2)
        job.wait_state(dvmtest.RUNNING)
        fd = job.attach(stdout=True)['stdout']
        self.wait_for_standstill(job)
        self.assertEqual(dvm.stop(), 0)
        dvm.check_clean()
        os.close(fd)

    def test_reader_that_leaves(self):
        """The rest is drained: the job does not see it."""
        dvm = self.dvm(slots=2)
        job = dvm.submit(['sh', '-c', 'read line; head -c 20000000 /dev/zero && echo done > ' + dvm.home + '/done'],
                         np=1, stdin='0')
        fds = job.attach(stdin=True, stdout=True)
        os.close(fds['stdout'])
        os.write(fds['stdin'], b'go\n')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertTrue(os.path.exists(dvm.home + '/done'))
        os.close(fds['stdin'])

    def test_client_that_vanishes_in_an_attach(self):
        """The connection closes while the answer with the descriptors is on its way, many times."""
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        job = dvm.submit(['sh', '-c', 'while :; do echo line; sleep 0.01; done'], np=1)
        job.wait_state(dvmtest.RUNNING)
        before = leftovers.count_descriptors(dvm.daemons)
        for _ in range(50):
            other = dvm.connect()
            other.raw.call(None, job.path, 'org.dvm.Job', 'Attach', GLib.Variant('(a{sv})', ({},)), None, 0, -1, None,
                           None)
            other.raw.flush_sync(None)
            other.close()
        self.assertEqual(job.state, dvmtest.RUNNING)
        dvmtest.wait_until(lambda: leftovers.count_descriptors(dvm.daemons) <= before + 2, 'descriptors to be closed')
        fd = job.attach(stdout=True)['stdout']
        self.assertEqual(os.read(fd, 5), b'line\n')
        job.cancel()
        os.close(fd)
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)

    def test_owner_of_stdin_that_vanishes(self):
        dvm = self.dvm(slots=2)
        job = dvm.submit(['cat'], np=1, stdin='0')
        fds = job.attach(stdin=True)
        self.assert_refused('Exists', 'owner', job.attach, stdin=True)
        os.close(fds['stdin'])
        self.assertEqual(job.wait()['state'], NOTIFIED)

    def test_the_last_mebibyte_is_kept(self):
        dvm = self.dvm(slots=1)
        job = dvm.submit(writer(3 * MIB), np=1)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        fd = job.attach(stdout=True)['stdout']
        data = dvmtest.Reader(fd).finish()
        self.assertEqual(data[-64:-49], b'000 %010d ' % (3 * MIB // 64 - 1))
        self.assertGreater(len(data), MIB // 2)
        self.assertLessEqual(len(data), MIB)
        again = dvmtest.Reader(job.attach(stdout=True)['stdout']).finish()
        self.assertEqual(again, b'')

    def test_two_readers(self):
        dvm = self.dvm(slots=1)
        job = dvm.submit(['sh', '-c', 'read line; seq 10000'], np=1, stdin='0')
        readers = [dvmtest.Reader(job.attach(stdout=True)['stdout']) for _ in range(2)]
        fds = job.attach(stdin=True)
        os.write(fds['stdin'], b'go\n')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        expected = b''.join(b'%d\n' % i for i in range(1, 10001))
        self.assertEqual([reader.finish() for reader in readers], [expected] * 2)
        os.close(fds['stdin'])


class Input(dvmtest.Case):
    SHOW = ['sh', '-c', 'printf "%s:%s\\n" $DVM_RANK "$(cat)"']

    def test_rank_0(self):
        done = self.dvm(slots=3).run(self.SHOW, np=3, stdin=b'hello')
        self.assertEqual(sorted(done.lines), ['0:hello', '1:', '2:'])

    def test_another_rank(self):
        done = self.run_with_target('2')
        self.assertEqual(sorted(done), ['0:', '1:', '2:hello'])

    def test_all(self):
        self.assertEqual(sorted(self.run_with_target('all')), ['0:hello', '1:hello', '2:hello'])

    def test_none(self):
        done = self.dvm(slots=3).run(self.SHOW, np=3)
        self.assertEqual(sorted(done.lines), ['0:', '1:', '2:'])

    def run_with_target(self, target):
        dvm = self.dvm(slots=3)
        job = dvm.submit(self.SHOW, np=3, stdin=target)
        fds = job.attach(stdin=True, stdout=True)
        reader = dvmtest.Reader(fds['stdout'])
        os.write(fds['stdin'], b'hello')
        os.close(fds['stdin'])
        self.assertEqual(job.wait()['state'], NOTIFIED)
        return reader.finish().decode().splitlines()

    def test_target_none(self):
        dvm = self.dvm(slots=2)
        done = dvm.submit(self.SHOW, np=2, stdin='none')
        self.assertEqual(done.wait()['state'], NOTIFIED)

    def test_target_that_is_not_there(self):
        """A rank that the job does not have: known only when its number of ranks is."""
        dvm = self.dvm(slots=2)
        try:
            job = dvm.submit(['cat'], np=2, stdin='5')
        except dvmtest.DBusError as error:
            self.assertEqual(error.name, 'BadParam')
            return
        job.wait()
        self.assertIn('5', dvm.log() + job.get('Reason'))

    def test_much(self):
        data = os.urandom(8 * MIB)
        done = self.dvm(slots=1).run(['cat'], stdin=data)
        self.assert_success(done)
        self.assertTrue(done.out == data, f'{len(done.out)} bytes')

    def test_much_to_all(self):
        data = os.urandom(MIB)
        dvm = self.dvm(slots=4)
        job = dvm.submit(['sh', '-c', 'test $DVM_RANK = 1 && sleep 0.3; cksum'], np=4, stdin='all')
        fds = job.attach(stdin=True, stdout=True)
        reader = dvmtest.Reader(fds['stdout'])
        dvmtest.feed(fds['stdin'], data)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        sums = set(reader.finish().splitlines())
        self.assertEqual(len(sums), 1, sums)
        self.assertIn(str(MIB).encode(), sums.pop())

    def test_nobody_reads_it(self):
        """The program ends without having read: nothing hangs."""
        dvm = self.dvm(slots=1)
        done = dvm.run(['true'], stdin=b'x' * (4 * MIB))
        self.assert_success(done)

    def test_slow_target_holds_up_itself_alone(self):
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        job, _, _ = dvm.start(['sleep', '1000'], stdin=b'x' * (8 * MIB), np=1)
        job.wait_running()
        before = dvm.rss()
        self.assert_success(dvm.run(['cat'], stdin=b'y' * MIB))
        self.assert_growth(dvm, before, 8 * MIB)
        job.cancel()
        self.assertEqual(job.wait()['state'], KILLED_BY_CMD)


class Terminal(dvmtest.Case):
    SHOW = ['/usr/bin/python3', '-c', 'import os,sys; print([os.isatty(i) for i in range(3)], flush=True); '
            'print(input()[::-1], flush=True)']

    def read_until(self, fd, pattern):
        data = b''
        end = time.monotonic() + dvmtest.LIMIT
        while not re.search(pattern, data):
            self.assertLess(time.monotonic(), end, data)
            if select.select([fd], [], [], 1)[0]:
                piece = os.read(fd, 4096)
                if not piece:
                    break
                data += piece
        self.assertRegex(data, pattern)
        return data

    def test_no_terminal_without_asking(self):
        done = self.dvm(slots=1).run(self.SHOW, stdin=b'abc\n')
        self.assertEqual(done.lines, ['[False, False, False]', 'cba'])

    def test_terminal(self):
        dvm = self.dvm(slots=1)
        job = dvm.submit(self.SHOW, np=1, pty=True)
        fds = job.attach(stdin=True, stdout=True)
        self.read_until(fds['stdout'], rb'\[True, True, True\]\r?\n')
        os.write(fds['stdin'], b'abc\n')
        self.read_until(fds['stdout'], rb'cba\r?\n')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        for fd in fds.values():
            os.close(fd)

    def test_end_of_file(self):
        dvm = self.dvm(slots=1)
        job = dvm.submit(['cat'], np=1, pty=True)
        fds = job.attach(stdin=True, stdout=True)
        os.write(fds['stdin'], b'abc\n')
        os.close(fds['stdin'])
        self.read_until(fds['stdout'], rb'abc\r?\n.*abc\r?\n')
        result = job.wait()
        self.assertEqual(result['state'], NOTIFIED, result)
        os.close(fds['stdout'])

    def test_attach_pty(self):
        dvm = self.dvm(slots=1)
        job = dvm.submit(self.SHOW, np=1, pty=True)
        fds = job.attach(pty=True)
        self.assertEqual(list(fds), ['pty'])
        fd = fds['pty']
        self.read_until(fd, rb'\[True, True, True\]\r?\n')
        self.assert_refused('Exists', 'owner', job.attach, pty=True)
        os.write(fd, b'abc\n')
        self.read_until(fd, rb'cba\r?\n')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertEqual(os.read(fd, 4096), b'')
        os.close(fd)

    def test_attach_pty_before_and_after(self):
        """Before the job has a process, and when it has ended."""
        dvm = self.dvm(slots=1, settings=['kill-grace=0.5'])
        first = dvm.submit(['sleep', '1000'], np=1)
        first.wait_running()
        job = dvm.submit(self.SHOW, np=1, pty=True)
        fd = job.attach(pty=True)['pty']
        os.write(fd, b'early\n')
        first.cancel()
        self.read_until(fd, rb'ylrae\r?\n')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        os.close(fd)
        second = dvm.submit(['sh', '-c', 'tty >/dev/null && echo kept'], np=1, pty=True)
        self.assertEqual(second.wait()['state'], NOTIFIED)
        fd = second.attach(pty=True)['pty']
        self.read_until(fd, rb'kept\r?\n')
        self.assertEqual(os.read(fd, 4096), b'')
        os.close(fd)

    def test_terminal_that_closes(self):
        """Closing is end-of-file for the program, and its output is drained."""
        dvm = self.dvm(slots=1)
        job = dvm.submit(['sh', '-c', 'cat; head -c 1000000 /dev/zero'], np=1, pty=True)
        fd = job.attach(pty=True)['pty']
        os.write(fd, b'abc\n')
        self.read_until(fd, rb'abc\r?\n')
        os.close(fd)
        self.assertEqual(job.wait()['state'], NOTIFIED)


if __name__ == '__main__':
    dvmtest.main()
