# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that a job brings along: what arrives, what is refused, and that nothing of them stays."""

import gzip
import io
import os
import resource
import signal
import subprocess
import tarfile
import threading
import zipfile

import dvmtest
from dvmtest import GLib, wait_until

FILES_POSN_FAILED, KILLED_BY_CMD, NON_ZERO_TERM, ABORTED_BY_SIG, SYSTEM_PREP = 71, 51, 62, 54, 7
LARGE = 4 << 30  # a file with nothing in it: it takes no room, and is never read to its end
PMIX_CLIENT = os.environ['DVM_TEST_PMIX_CLIENT']


class Staging(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.files = os.path.realpath(self.place())

    def file(self, name, content=b'content\n', mode=0o644, size=None):
        path = os.path.join(self.files, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(content)
            if size:
                file.truncate(size)
        os.chmod(path, mode)
        return path

    def sessions(self, dvm):
        """What is in the session directories."""
        path = os.path.join(dvm.node_folder, 'sessions')
        return [name for folder in os.listdir(path) for name in os.listdir(os.path.join(path, folder))]

    def assert_staging_failed(self, dvm, done, *words):
        self.assertEqual((done.state, done.result['state-name']), (FILES_POSN_FAILED, 'FILES_POSN_FAILED'), repr(done))
        for word in words + (dvm.get_nodes()[1]['Name'],):
            self.assertIn(word, done.reason)
        self.assertEqual(done.job.job_trace()[-2:], [SYSTEM_PREP, FILES_POSN_FAILED])
        self.assertEqual((dvm.get('SlotsInUse'), self.sessions(dvm)), (0, []))
        self.assert_success(dvm.run(['true'], np=2))

    def test_files_arrive(self):
        dvm = self.dvm(slots=2)
        self.file('sub/deep/b', b'deep')
        self.file('program', b'#!/bin/sh\necho runs', mode=0o751)
        a = self.file('a', b'x' * 1000001)
        for personality in ('pmix', 'plain'):
            done = dvm.run(['sh', '-c', 'cd $DVM_SESSION_DIR; wc -c <a; cat sub/deep/b; stat -c %a program a; ./program'],
                           cwd=self.files, preload_files=[a, 'sub/deep/b', './program'], personality=personality)
            self.assert_success(done)
            self.assertEqual(done.lines, ['1000001', 'deep751', '644', 'runs'])
        self.assertEqual(self.sessions(dvm), [])

    def test_directory_of_the_program(self):
        """It stays where it was, unless it is to be the session directory; that is the one that PMIx speaks of."""
        dvm = self.dvm(slots=2)
        self.file('a')
        plain = dvm.run(['sh', '-c', 'pwd -P'], cwd=self.files, preload_files=['a'])
        self.assertEqual(plain.lines, [self.files])
        for personality in ('pmix', 'plain'):
            there = dvm.run(['sh', '-c', 'test "$PWD" = "$DVM_SESSION_DIR"; echo $?; ls'], cwd=self.files,
                            preload_files=['a'], personality=personality,
                            **{'set-cwd-to-session-dir': True})
            self.assertEqual(there.lines[0], '0')
            self.assertIn('a', there.lines)
        # A job without files has one if it is PMIx's; MPI is told of it for the sake of files alone.
        look = 'test -d "$DVM_SESSION_DIR"; echo $? ${OMPI_FILE_LOCATION-none}'
        self.assertEqual(dvm.run(['sh', '-c', look], np=2).lines, ['0 none'] * 2)
        self.assertEqual(dvm.run(['sh', '-c', look], personality='plain', np=1).lines, ['1 none'])
        bare = dvm.run(['pwd'], personality='plain', **{'set-cwd-to-session-dir': True})
        self.assertIn('/sessions/', bare.lines[0])
        self.assertEqual(self.sessions(dvm), [])

    def test_relative_to_another_directory(self):
        dvm = self.dvm(slots=2)
        self.file('a')
        done = dvm.run(['sh', '-c', 'pwd; cat $DVM_SESSION_DIR/a'], cwd='/', preload_dir=self.files, preload_files=['a'])
        self.assertEqual(done.lines, ['/', 'content'])

    def test_binary(self):
        """The copy runs, in the session directory, with the files beside it."""
        dvm = self.dvm(slots=2)
        path = self.file('bin/program', b'#!/bin/sh\necho $0 $1; cat a; exit 7\n', mode=0o755)
        self.file('a')
        done = dvm.run(['bin/program', 'word'], cwd=self.files, preload_binary=True, preload_files=['a'])
        self.assertEqual((done.state, done.code), (NON_ZERO_TERM, 7), repr(done))
        self.assertRegex(done.lines[0], r'/sessions/[^/]*/program word$')
        self.assertEqual(done.lines[1], 'content')
        # It is a copy: the original may go when the job runs.
        job, out, _ = dvm.start([path], cwd=self.files, preload_binary=True, preload_files=['a'], np=1)
        self.assertEqual(job.wait()['exit-code'], 7)
        self.assertIn('content', out.finish().decode())

    def test_binary_of_path(self):
        dvm = self.dvm(slots=2)
        self.file('program', b'#!/bin/sh\necho found\n', mode=0o755)
        done = dvm.run(['program'], env={'PATH': f'/nowhere:{self.files}:/bin'}, preload_binary=True)
        self.assertEqual(done.lines, ['found'])
        self.assert_staging_failed(dvm, dvm.run(['no-such-program'], preload_binary=True), 'no-such-program', 'PATH')

    def test_binary_with_pmix(self):
        dvm = self.dvm(slots=2)
        self.assert_success(dvm.run([PMIX_CLIENT, 'nothing'], np=2, preload_binary=True))

    def test_several_applications(self):
        """They share the directory, and a file that two of them want comes once."""
        dvm = self.dvm(slots=2)
        self.file('a')
        self.file('one', b'#!/bin/sh\ncat a two\n', mode=0o755)
        self.file('two', b'#!/bin/sh\n# two\n', mode=0o755)
        app = {'cwd': self.files, 'np': 1, 'preload_binary': True, 'preload_files': ['a']}
        done = dvm.run(None, apps=[dict(app, argv=['./one']), dict(app, argv=['./two'])])
        self.assertEqual(done.lines, ['content', '#!/bin/sh', '# two'])

    def test_names_are_refused(self):
        dvm = self.dvm(slots=2)
        for name, words in [('a/../../b', 'leads out'), ('0', 'ranks'), ('x/', 'name of a file'), ('', 'name of a file'),
                            ('a,b/..', 'name of a file')]:
            self.assert_refused('BadParam', words, dvm.submit, ['true'], preload_files=[name])
        self.assert_refused('BadParam', 'same name', dvm.submit, ['true'], preload_files=['/x/a', '/y/a'])
        self.assert_refused('BadParam', 'preload-binary', dvm.submit, ['true'], preload_binary='yes')

    def tar(self, name, entries, mode='w'):
        """An archive; each of the entries is a name, and a text, or values of a TarInfo."""
        path = os.path.join(self.files, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with tarfile.open(path, mode) as archive:
            for entry, content in entries:
                info = tarfile.TarInfo(entry)
                info.mode = 0o750
                for key, value in (content if isinstance(content, dict) else {'size': len(content)}).items():
                    setattr(info, key, value)
                archive.addfile(info, None if isinstance(content, dict) else io.BytesIO(content.encode()))
        return name

    def test_archives(self):
        """What is in them comes to where they would be themselves, on each node."""
        dvm = self.dvm(slots=1, arguments=['--nodes=2'])
        large = 'x' * 1000001
        entries = [('./', {'type': tarfile.DIRTYPE}), ('./run', '#!/bin/sh\necho runs\n'), ('sub/deep/large', large), ('none', {'type': tarfile.DIRTYPE}),
                   ('sub/link', {'type': tarfile.SYMTYPE, 'linkname': '../run'}), ('nothing', '')]
        script = 'cd $DVM_SESSION_DIR/in; wc -c <sub/deep/large; stat -c %a run; sub/link; test -d none && test -f nothing && ls -A'
        for name, mode in (('in/a.tar', 'w'), ('in/a.tgz', 'w:gz'), ('in/a.tar.bz2', 'w:bz2'), ('in/a.tar.xz', 'w:xz')):
            self.tar(name, entries, mode)
            done = dvm.run(['sh', '-c', script], np=2, cwd=self.files, preload_files=[name])
            self.assert_success(done)
            self.assertEqual(sorted(done.lines), sorted(2 * ['1000001', '750', 'runs', 'none', 'nothing', 'run', 'sub']))
        with zipfile.ZipFile(os.path.join(self.files, 'b.zip'), 'w', zipfile.ZIP_DEFLATED) as archive:
            archive.writestr('d/a', large)
        self.file('plain')
        done = dvm.run(['sh', '-c', 'cd $DVM_SESSION_DIR; wc -c <d/a; cat plain'], cwd=self.files, preload_files=['b.zip', 'plain'], np=1)
        self.assertEqual(done.lines, ['1000001', 'content'])
        many = [(f'd{i % 7}/f{i}', '') for i in range(3000)]
        done = dvm.run(['sh', '-c', 'find $DVM_SESSION_DIR -type f | wc -l'], np=1, cwd=self.files, preload_files=[self.tar('many.tar', many)])
        self.assertEqual(done.lines, ['3000'])
        for entries in [], entries[:1]:
            done = dvm.run(['sh', '-c', 'ls $DVM_SESSION_DIR | wc -l'], np=2, cwd=self.files, preload_files=[self.tar('empty.tar', entries)])
            self.assert_success(done)
            self.assertEqual(done.lines, ['1', '1'])
        self.assertEqual(self.sessions(dvm), [])

    def test_archives_that_are_wrong(self):
        """Nothing leaves the session directory, by its name or by a link, and what is no archive is told."""
        dvm = self.dvm(slots=2)
        outside = self.place()
        link = {'type': tarfile.SYMTYPE}
        rows = [([('../x', '')], '../x'), ([('a/../../x', '')], 'a/../../x'), ([(f'{outside}/x', '')], f'{outside}/x'), ([('0/x', '')], 'digits'),
                ([('l', {**link, 'linkname': outside})], 'leads'), ([('a/l', {**link, 'linkname': '../../x'})], 'leads'),
                ([('d/s', {**link, 'linkname': '..'}), ('d/l', {**link, 'linkname': 's/..'})], 'leads'),
                ([('l', {**link, 'linkname': 'sub'}), ('sub/a', 'a'), ('l/x', 'x')], 'l/x'),
                ([('a', 'one'), ('a', 'two')], 'there already'), ([('d', {'type': tarfile.FIFOTYPE})], 'neither'),
                ([('d', {'type': tarfile.CHRTYPE, 'devmajor': 1, 'devminor': 3})], 'neither'),
                ([('a', 'a'), ('h', {'type': tarfile.LNKTYPE, 'linkname': 'a'})], 'hard link')]
        for number, (entries, word) in enumerate(rows):
            self.assert_staging_failed(dvm, dvm.run(['true'], cwd=self.files, preload_files=[self.tar(f'wrong{number}.tar', entries)]), word)
        self.assertEqual(os.listdir(outside), [])
        whole = self.file('whole.tgz', gzip.compress(b'no archive' * 1000))
        with open(os.path.join(self.files, self.tar('cut.tgz', [('a', 'abc' * 100000 + str(os.urandom(50000)))], 'w:gz')), 'r+b') as file:
            file.truncate(20000)
        for path, word in ((whole, 'cannot be unpacked'), ('cut.tgz', 'cannot be unpacked'), (self.file('text.zip', b'text'), 'cannot be unpacked'),
                           ('gone.tar', 'No such'), (self.file('none.zip', b''), 'cannot be unpacked')):
            self.assert_staging_failed(dvm, dvm.run(['true'], cwd=self.files, preload_files=[path]), os.path.basename(path), word)

    def test_part_of_another_version(self):
        """What unpacks was replaced while the DVM ran: a job with an archive says so, and one without does not need it."""
        folder = self.place()
        program = os.path.join(os.path.dirname(dvmtest.DVMD), 'dvmd-unpack.so')
        with open(program, 'rb') as file:
            part = file.read()
        version = subprocess.run([dvmtest.DVMD, '--version'], check=True, capture_output=True).stdout.split()[1]
        self.assertEqual(part.count(b'\0' + version + b'\0'), 1)
        with open(os.path.join(folder, 'dvmd-unpack.so'), 'wb') as file:
            file.write(part.replace(b'\0' + version + b'\0', b'\0' + b'9' * len(version) + b'\0'))
        dvm = self.dvm(slots=2, env={'DVM_LIBEXEC_DIR': folder})
        done = dvm.run(['true'], cwd=self.files, preload_files=[self.tar('a.tar', [('a', 'a')])])
        self.assert_staging_failed(dvm, done, f'is of dvm {"9" * len(version)}, and this process of another build ({version.decode()}): ')

    def test_what_is_no_file(self):
        dvm = self.dvm(slots=2)
        os.mkfifo(os.path.join(self.files, 'fifo'))
        os.symlink('loop', os.path.join(self.files, 'loop'))
        for path, word in [('fifo', 'a FIFO'), (self.files, 'a directory'), ('/dev/zero', 'a device'), ('gone', 'No such'),
                           ('loop', 'symbolic links')]:
            done = dvm.run(['true'], cwd=self.files, preload_files=[path])
            self.assert_staging_failed(dvm, done, os.path.basename(path), word)

    def test_unreadable(self):
        dvm = self.dvm(slots=2)
        if os.geteuid() == 0:
            self.skipTest('root may read everything')
        path = self.file('secret', mode=0)
        self.assert_staging_failed(dvm, dvm.run(['true'], preload_files=[path]), path, 'Permission denied')

    def begin(self, dvm, **options):
        """A job whose file is on its way: its first part has arrived."""
        path = self.file('large', size=LARGE)
        job = dvm.submit(['true'], np=1, preload_files=[path], **options)
        wait_until(lambda: self.sessions(dvm), 'the file to come')
        return job, path

    def test_cancel(self):
        dvm = self.dvm(slots=2)
        for personality in ('pmix', 'plain'):
            job, _ = self.begin(dvm, personality=personality)
            self.assertEqual(job.state, SYSTEM_PREP)
            job.cancel()
            self.assertEqual(job.wait()['state'], KILLED_BY_CMD)
            self.assertEqual((dvm.get('SlotsInUse'), self.sessions(dvm)), (0, []))

    def test_nobody_waits_for_another_one(self):
        """While a large file is on its way other jobs come and go, also with files."""
        dvm = self.dvm(slots=2)
        job, _ = self.begin(dvm)
        small = self.file('small')
        for _ in range(5):
            self.assert_success(dvm.run(['sh', '-c', 'cat $DVM_SESSION_DIR/small'], preload_files=[small]))
        self.assertEqual(job.state, SYSTEM_PREP)
        before = dvm.rss()
        wait_until(lambda: self.size_of_stage(dvm) > 64 << 20, 'some of it to arrive')
        self.assert_growth(dvm, before, 8 << 20)
        job.cancel()
        job.wait()

    def size_of_stage(self, dvm):
        path = os.path.join(dvm.node_folder, 'sessions')
        sizes = [0]
        for folder, _, names in os.walk(path):
            sizes += [os.lstat(os.path.join(folder, name)).st_size for name in names]
        return max(sizes)

    def test_shrinking_file(self):
        dvm = self.dvm(slots=2)
        job, path = self.begin(dvm)
        os.truncate(path, 0)
        result = job.wait()
        self.assertEqual(result['state'], FILES_POSN_FAILED)
        self.assertIn(path, result['reason'])
        self.assertIn('became shorter', result['reason'])
        self.assert_success(dvm.run(['true']))

    def test_growing_file(self):
        """One that is written without an end."""
        dvm = self.dvm(slots=2)
        path = self.file('growing', size=128 << 20)
        stop = threading.Event()

        def grow():
            while not stop.wait(0.001):
                with open(path, 'ab') as file:
                    file.write(b'x')

        writer = threading.Thread(target=grow, daemon=True)
        writer.start()
        try:
            done = dvm.run(['true'], preload_files=[path])
        finally:
            stop.set()
            writer.join()
        self.assert_staging_failed(dvm, done, path, 'grew while it was being read')

    def test_removed_while_read(self):
        """It is open: its content arrives."""
        dvm = self.dvm(slots=2)
        path = self.file('going', size=64 << 20)
        job, out, _ = dvm.start(['sh', '-c', 'wc -c <$DVM_SESSION_DIR/going'], np=1, preload_files=[path])
        wait_until(lambda: self.sessions(dvm), 'the file to come')
        os.unlink(path)
        self.assertEqual(job.wait()['state'], dvmtest.NOTIFIED)
        self.assertEqual(out.finish(), b'67108864\n')

    def test_no_room(self):
        """The daemon may write no more than so much into a file."""
        dvm = self.dvm(slots=2)
        path = self.file('large', size=64 << 20)
        resource.prlimit(dvm.agent, resource.RLIMIT_FSIZE, (16 << 20, resource.RLIM_INFINITY))
        done = dvm.run(['true'], preload_files=[path])
        self.assert_staging_failed(dvm, done, 'large', 'File too large')

    def test_every_end(self):
        """However a job with files ends, they go."""
        dvm = self.dvm(slots=2, settings=['kill-grace=0.5'])
        path = self.file('a')
        for personality in ('pmix', 'plain'):
            options = {'preload_files': [path], 'personality': personality, 'np': 1}
            killed = dvm.submit(['sleep', '1000'], **options)
            killed.wait_running()
            self.assertIn('a', self.sessions(dvm))
            os.kill(killed.pids()[0], signal.SIGKILL)
            self.assertEqual(killed.wait()['state'], ABORTED_BY_SIG)
            self.assertEqual(self.sessions(dvm), [])
            late = dvm.submit(['sleep', '1000'], timeout=1, **options)
            self.assertEqual(late.wait()['state'], KILLED_BY_CMD)
            self.assertEqual(self.sessions(dvm), [])
            never = dvm.submit(['/no/such/program'], **options)
            self.assertEqual(never.wait()['exit-code'], 127)
            self.assertEqual(self.sessions(dvm), [])

    def test_end_of_the_dvm(self):
        """While files are on their way: orderly and forced; the case sees that nothing is left."""
        for force in (False, True):
            dvm = self.dvm(slots=2)
            self.begin(dvm)
            dvm.call('Shutdown', '(a{sv})', {'force': GLib.Variant('b', force)})
            self.assertEqual(dvm.wait_exit(), 0)
            dvm.check_clean()

    def test_plain_job_and_then_pmix(self):
        """The PMIx server that starts later takes nobody's directory."""
        dvm = self.dvm(slots=2)
        path = self.file('a')
        job = dvm.submit(['sleep', '1000'], np=1, personality='plain', preload_files=[path])
        job.wait_running()
        self.assert_success(dvm.run([PMIX_CLIENT, 'nothing']))
        self.assertIn('a', self.sessions(dvm))
        job.cancel()
        job.wait()
        self.assertEqual(self.sessions(dvm), [])


dvmtest.main()
