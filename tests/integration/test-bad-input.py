# SPDX-License-Identifier: LGPL-2.1-or-later
"""What users get wrong: each is refused or fails with a sentence that says what was wrong."""

import os
import sys

from gi.repository import GLib

import dvmtest
from dvmtest import FAILED_TO_START, MAP_FAILED


class Programs(dvmtest.Case):
    def test_no_such_program(self):
        dvm = self.dvm(slots=4)
        done = dvm.run(['/no/such/program'], np=2)
        self.assertEqual(done.state, FAILED_TO_START, done)
        self.assertEqual(done.code, 127, done)
        self.assertIn('/no/such/program', done.reason)
        self.assert_no_processes(dvm)

    def test_stdin_of_a_rank_that_there_is_not(self):
        dvm = self.dvm(slots=2)
        self.assert_refused('BadParam', 'no rank 5', dvm.submit, ['cat'], np=2, stdin='5')
        result = dvm.submit(['cat'], stdin='5').wait()
        self.assertEqual(result['state'], MAP_FAILED, result)
        self.assertIn('0 to 1', result['reason'])

    def test_no_such_program_in_path(self):
        done = self.dvm(slots=4).run(['no-such-program-anywhere'])
        self.assertEqual((done.state, done.code), (FAILED_TO_START, 127), done)
        self.assertIn('no-such-program-anywhere', done.reason)

    def test_search_path_that_may_not_be_entered(self):
        """As shells say it: a program that is nowhere else is not found; one that is there is not executable."""
        dvm = self.dvm(slots=4)
        closed = os.path.join(dvm.home, 'closed')
        os.mkdir(closed)
        os.mkdir(os.path.join(dvm.home, 'plain'))
        with open(os.path.join(dvm.home, 'plain', 'no-program'), 'w') as f:
            f.write('data')
        os.chmod(closed, 0)
        done = dvm.run(['no-such-program-anywhere'], env={'PATH': f'{closed}:/usr/bin'})
        self.assertEqual((done.state, done.code), (FAILED_TO_START, 127), done)
        done = dvm.run(['no-program'], env={'PATH': f'{closed}:{dvm.home}/plain:/usr/bin'})
        self.assertEqual((done.state, done.code), (FAILED_TO_START, 126), done)
        self.assert_success(dvm.run(['true'], env={'PATH': f'{closed}:{dvm.home}/plain:/usr/bin'}))
        os.chmod(closed, 0o700)

    def test_not_executable(self):
        dvm = self.dvm(slots=4)
        path = os.path.join(dvm.home, 'data.txt')
        with open(path, 'w') as f:
            f.write('no program')
        done = dvm.run([path])
        self.assertEqual((done.state, done.code), (FAILED_TO_START, 126), done)
        self.assertIn('data.txt', done.reason)

    def test_directory_as_program(self):
        dvm = self.dvm(slots=4)
        done = dvm.run([dvm.home])
        self.assertEqual((done.state, done.code), (FAILED_TO_START, 126), done)

    def test_missing_interpreter(self):
        dvm = self.dvm(slots=4)
        path = os.path.join(dvm.home, 'script')
        with open(path, 'w') as f:
            f.write('#!/no/such/interpreter\n')
        os.chmod(path, 0o755)
        done = dvm.run([path])
        self.assertEqual(done.state, FAILED_TO_START, done)
        self.assertIn(done.code, (126, 127), done)
        self.assertIn('script', done.reason)

    def test_relative_path_is_relative_to_the_directory(self):
        dvm = self.dvm(slots=4)
        path = os.path.join(dvm.home, 'tool')
        with open(path, 'w') as f:
            f.write('#!/bin/sh\necho right\n')
        os.chmod(path, 0o755)
        done = dvm.run(['./tool'], cwd=dvm.home)
        self.assert_success(done)
        self.assertEqual(done.out, b'right\n')

    def test_wrong_directory(self):
        dvm = self.dvm(slots=4)
        done = dvm.run(['true'], cwd='/no/such/directory')
        self.assertEqual(done.state, FAILED_TO_START, done)
        self.assertNotEqual(done.code, 0, done)
        self.assertIn('/no/such/directory', done.reason)
        done = dvm.run(['true'], cwd='/etc/passwd')
        self.assertEqual(done.state, FAILED_TO_START, done)
        self.assertIn('/etc/passwd', done.reason)

    def test_one_bad_application_of_two(self):
        dvm = self.dvm(slots=4)
        done = dvm.run(None, apps=[{'argv': ['sleep', '600'], 'np': 2}, {'argv': ['/no/such'], 'np': 1}])
        self.assertEqual((done.state, done.code), (FAILED_TO_START, 127), done)
        self.assertEqual(done.result['failed-rank'], 2, done)
        self.assert_no_processes(dvm)


class Numbers(dvmtest.Case):
    def test_np_zero(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'np', dvm.submit, ['true'], np=0)
        self.assert_refused('BadParam', 'np', dvm.submit_apps, [{'argv': ['true'], 'np': 0}])

    def test_refused_before_any_job(self):
        """What never got a number gives none back: the jobs after it begin with 1."""
        dvm = self.dvm(slots=4)
        self.assert_refused('NotFound', 'session 99', dvm.submit, ['true'], session=99)
        self.assert_refused('BadParam', 'np', dvm.submit, ['true'], np=0)
        job = dvm.submit(['true'])
        self.assertEqual(job.path, '/org/dvm/jobs/1')
        self.assertEqual(job.wait()['state-name'], 'NOTIFIED')

    def test_np_negative(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'np', dvm.submit, ['true'], np=GLib.Variant('i', -1))
        self.assert_refused('BadParam', 'np', dvm.submit, ['true'], np=GLib.Variant('x', -1))

    def test_np_absurd(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'np', dvm.submit, ['true'], np=2**32 - 1)

    def test_no_argv(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'argv', dvm.submit, [])
        self.assert_refused('BadParam', 'argv', dvm.submit, [''])
        self.assert_refused('BadParam', 'argv', dvm.submit_apps, [{'np': 1}])
        self.assert_refused('BadParam', 'app', dvm.submit_apps, [])

    def test_nothing_of_this_makes_a_job(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'np', dvm.submit, ['true'], np=0)
        rows, rest = dvm.call('ListJobs', '(a{sv})', {'all': GLib.Variant('b', True)})
        self.assertEqual((rows, rest), ([], ''))
        self.assertEqual(dvm.submit(['true']).get('Id'), 1)


class Environment(dvmtest.Case):
    def test_value_of_one_mebibyte(self):
        dvm = self.dvm(slots=4)
        marker = os.path.join(dvm.home, 'started')
        self.assert_refused('BadParam', 'HUGE', dvm.submit, ['touch', marker], env={'HUGE': 'x' * 2**20})
        self.assert_refused('BadParam', 'HUGE', dvm.submit, ['touch', marker],
                            env_bytes=[b'HUGE=' + b'x' * 2**20])
        self.assertEqual(dvm.get('Statistics')['procs-launched'], 0)
        self.assertFalse(os.path.exists(marker))

    def test_largest_value_that_goes(self):
        dvm = self.dvm(slots=4)
        value = 'x' * (131071 - len('BIG='))
        done = dvm.run(['sh', '-c', 'echo ${#BIG}'], env={'BIG': value})
        self.assertEqual(done.out, f'{len(value)}\n'.encode(), done)
        self.assert_refused('BadParam', 'BIG', dvm.submit, ['true'], env={'BIG': value + 'x'})

    def test_argument_too_long(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'argv', dvm.submit, ['true', 'x' * 2**20])

    def test_many_large_values(self):
        """Each is fine, all together are too much for exec: the job says so."""
        dvm = self.dvm(slots=4)
        env = {f'V{i}': 'x' * 100000 for i in range(100)}
        done = dvm.run(['true'], env=env)
        self.assertEqual(done.state, FAILED_TO_START, done)
        self.assertNotEqual(done.reason, '')

    def test_bad_names(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'env', dvm.submit, ['true'], env={'': 'x'})
        self.assert_refused('BadParam', 'A=B', dvm.submit, ['true'], env={'A=B': 'x'})
        self.assert_refused('BadParam', 'NOVALUE', dvm.submit, ['true'], env_bytes=[b'NOVALUE'])


class Bytes(dvmtest.Case):
    WORDS = [bytes(range(1, 256)), b'\xff\xfe', b'', b'\xc3\xa4 line\nfeed']

    def test_argv_bytes_exactly(self):
        dvm = self.dvm(slots=4)
        argv = [sys.executable.encode(), b'-c',
                b'import os,sys; sys.stdout.buffer.write(open("/proc/self/cmdline","rb").read())'] + self.WORDS
        done = dvm.run([], argv_bytes=argv, env={'PYTHONUTF8': '0', 'LC_ALL': 'C'})
        self.assert_success(done)
        self.assertEqual(done.out.split(b'\0')[3:], self.WORDS + [b''])
        self.assertIn('\\377\\376', ' '.join(done.job.get('Command')))

    def test_env_and_cwd_bytes(self):
        dvm = self.dvm(slots=4)
        folder = os.path.join(dvm.home.encode(), b'\xff\xfe')
        os.mkdir(folder)
        done = dvm.run(['sh', '-c', 'pwd; printf STRANGE=; printenv STRANGE'], env_bytes=[b'STRANGE=\xff\xfd'], cwd_bytes=folder)
        self.assertEqual(done.out, folder + b'\nSTRANGE=\xff\xfd\n')

    def test_program_of_strange_name(self):
        dvm = self.dvm(slots=4)
        done = dvm.run([], argv_bytes=[b'/no/such/\xff'])
        self.assertEqual(done.code, 127, done)

    def test_both(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'argv-bytes', dvm.submit, ['true'], argv_bytes=[b'true'])
        self.assert_refused('BadParam', 'cwd-bytes', dvm.submit, ['true'], cwd='/', cwd_bytes=b'/')


class Keys(dvmtest.Case):
    def test_unknown_keys_of_submit(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'no-such-key', dvm.submit, ['true'], no_such_key=1)
        self.assert_refused('BadParam', 'no-such-key', dvm.submit_apps, [{'argv': ['true'], 'no-such-key': 1}])
        self.assert_refused('BadParam', 'no-such-key', dvm.submit_apps, [{'argv': ['true']}], no_such_key=1)

    def test_nearest_key_is_named(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', ['timeuot', 'timeout'], dvm.submit, ['true'], timeuot=1)

    def test_wrong_types_of_submit(self):
        dvm = self.dvm(slots=4)
        wrong = {'np': '4', 'name': 1, 'env': 'A=B', 'unset-env': 'A', 'env-clear': 1, 'cwd': 1, 'hosts': 'node',
                 'output': True, 'stdout-path': 1, 'stdin': 0, 'timeout': '1', 'recoverable': 'yes', 'label': 1,
                 'when-full': 1, 'personality': True, 'argv-bytes': 'true', 'env-bytes': 'A=B', 'cwd-bytes': '/',
                 'pty': 1, 'map-by': 1, 'runtime-options': 1, 'stdout-fd': 1, 'spawn-timeout': '1', 'exec-agent': 'env'}
        for key, value in wrong.items():
            argv = [] if key == 'argv-bytes' else ['true']
            self.assert_refused('BadParam', key, dvm.submit, argv, **{key: value})

    def test_wrong_values_of_submit(self):
        dvm = self.dvm(slots=4)
        wrong = {'when-full': 'now', 'personality': 'mpi', 'stdin': 'somebody', 'output': 'loud', 'map-by': 'luck',
                 'rank-by': 'luck', 'bind-to': 'luck', 'runtime-options': 'fast'}
        for key, value in wrong.items():
            self.assert_refused('BadParam', [key, value], dvm.submit, ['true'], **{key: value})

    def test_descriptor_that_is_not_there(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('BadParam', 'stdout-fd', dvm.submit, ['true'], stdout_fd=GLib.Variant('h', 3))

    def test_later_keys_are_refused(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('NotSupported', 'rankfile', dvm.submit, ['true'], rankfile='/etc/hosts')

    def test_options_of_other_methods(self):
        dvm = self.dvm(slots=4)
        job = dvm.submit(['sleep', '600'])
        job.wait_running()
        bad = {'no-such-key': GLib.Variant('u', 1)}
        for method, signature, args in [('Wait', '(a{sv})', (bad,)), ('Cancel', '(a{sv})', (bad,)),
                                        ('Signal', '(ia{sv})', (10, bad)), ('ListProcs', '(sa{sv})', ('', bad)), ('ListDevices', '(sa{sv})', ('', bad)),
                                        ('Attach', '(a{sv})', (bad,)), ('GetTrace', '(a{sv})', (bad,))]:
            self.assert_refused('BadParam', 'no-such-key', job.call, method, signature, *args)
        for method, signature, args in [('ListJobs', '(a{sv})', (bad,)), ('ListNodes', '(sa{sv})', ('', bad)),
                                        ('CancelJobs', '(a{sv})', (bad,)), ('WaitJob', '(sa{sv})', (job.nspace, bad)),
                                        ('Shutdown', '(a{sv})', (bad,))]:
            self.assert_refused('BadParam', 'no-such-key', dvm.call, method, signature, *args)
        self.assert_refused('BadParam', 'timeout', job.call, 'Wait', '(a{sv})', {'timeout': GLib.Variant('s', '1')})
        self.assert_refused('BadParam', 'ranks', job.call, 'Signal', '(ia{sv})', 10, {'ranks': GLib.Variant('u', 1)})
        self.assert_refused('BadParam', '', dvm.call, 'CancelJobs', '(a{sv})', {})
        self.assertEqual(job.state, dvmtest.RUNNING)

    def test_wrong_values_of_other_methods(self):
        dvm = self.dvm(slots=4)
        job = dvm.submit(['sleep', '600'], np=2)
        job.wait_running()
        self.assert_refused('BadParam', '0', job.signal, 0)
        self.assert_refused('BadParam', '1000', job.signal, 1000)
        self.assert_refused('BadParam', '2', job.signal, 10, ranks='2')
        self.assert_refused('ParseFailed', 'ranks', job.signal, 10, ranks='one')
        self.assert_refused('ParseFailed', 'ranks', job.call, 'ListProcs', '(sa{sv})', 'one', {})
        self.assert_refused('BadParam', 'pty', job.attach, pty=True)

    def test_what_is_not_there(self):
        dvm = self.dvm(slots=4)
        self.assert_refused('NotFound', '7', dvm.job(7).wait)
        self.assert_refused('NotFound', 'nobody', dvm.call, 'FindJob', '(s)', 'nobody')
        self.assert_refused('NotFound', 'nobody', dvm.call, 'WaitJob', '(sa{sv})', 'nobody', {})


class CommandLine(dvmtest.Case):
    def check_start(self, words, **options):
        dvm = self.try_dvm(**options)
        self.assertTrue(dvm.answer.startswith('ERROR: '), dvm.answer)
        self.assertNotEqual(dvm.wait_exit(), 0)
        for word in words:
            self.assertIn(word, dvm.answer)
        self.assertEqual(len(dvm.answer.splitlines()), 1, dvm.answer)
        dvm.check_clean()

    def test_wrong_settings(self):
        self.check_start(['no-such-setting'], settings=['no-such-setting=1'])
        self.check_start(['kill-grace', 'soon'], settings=['kill-grace=soon'])
        self.check_start(['history-limit'], settings=['history-limit=-1'])
        self.check_start(['kill-grace'], settings=['kill-grace'])

    def test_wrong_options(self):
        self.check_start(['--slots'], slots=-3)
        self.check_start(['bus=radio'], bus='radio')
        self.check_start(['3d'], name='3d')

    def test_socket_path_too_long(self):
        self.check_start(['107'], socket='/tmp/' + 'x' * 120)

    def test_directory_of_somebody_else(self):
        dvm_place = self.place()
        os.makedirs(os.path.join(dvm_place, 'run', 'dvm'), mode=0o700)
        os.chmod(os.path.join(dvm_place, 'run'), 0o700)
        os.chmod(os.path.join(dvm_place, 'run', 'dvm'), 0o777)
        dvm = self.try_dvm(place=dvm_place)
        self.assertTrue(dvm.answer.startswith('ERROR: '), dvm.answer)
        self.assertIn('chmod', dvm.answer)
        self.assertNotEqual(dvm.wait_exit(), 0)


if __name__ == '__main__':
    dvmtest.main()
