# SPDX-License-Identifier: LGPL-2.1-or-later
"""Settings that are read again while the DVM runs."""

import json
import os
import signal
import subprocess

import dvmtest
from dvmtest import wait_until

EMPTY = ('Reload', '(a{sv})', {})


class Reload(dvmtest.Case):
    def start(self, text='', **options):
        place = self.place()
        self.conf = os.path.join(place, 'home', 'dvm', 'dvm.conf')
        os.makedirs(os.path.dirname(self.conf))
        self.write(text)
        return self.dvm(slots=2, place=place, session=True, **options)

    def write(self, *lines):
        with open(self.conf, 'w') as file:
            file.write('\n'.join(['[dvm]', *lines, '']))

    def test_history_limit(self):
        """Lower: the oldest jobs are forgotten; higher: those that come are kept."""
        dvm = self.start('history-limit = 5')
        for _ in range(5):
            dvm.run(['true'], np=1)
        self.write('history-limit = 2')
        dvm.call(*EMPTY)
        self.assertEqual(dvm.get('HistoryLimit'), 2)
        self.assertIn('history-limit is 2 now', dvm.log())
        self.assert_refused('NotFound', 'more than 2 ended jobs ago', dvm.job(3).get, 'State')
        dvm.job(4).get('State')
        self.write('history-limit = 3')
        dvm.call(*EMPTY)
        dvm.run(['true'], np=1)
        for number in (4, 5, 6):
            dvm.job(number).get('State')
        self.write('history-limit = 0')
        dvm.call(*EMPTY)
        for number in (4, 5, 6):
            self.assert_refused('NotFound', 'HistoryLimit', dvm.job(number).get, 'State')

    def test_kill_grace(self):
        dvm = self.start('kill-grace = 300')
        job, out, _ = dvm.start(['sh', '-c', "trap '' TERM; echo deaf; while :; do sleep 1000; done"], np=1)
        wait_until(lambda: out.data == b'deaf\n', 'trap')
        self.write('kill-grace = 0.1')
        dvm.call(*EMPTY)
        job.cancel()
        job.wait()

    def test_what_stays_on_top(self):
        """The command line and the environment win over a file, then as at the start."""
        dvm = self.start('history-limit = 5', settings=['history-limit=7'])
        self.write('history-limit = 9', 'pmix = eager')
        dvm.call(*EMPTY)
        self.assertEqual(dvm.get('HistoryLimit'), 7)
        self.assertIn('pmix stays lazy until the DVM is started again, then it is eager', dvm.log())

    def test_a_broken_file(self):
        dvm = self.start('history-limit = 5')
        for lines, words in ((['history-limit = 9', 'kill-grace = soon'], 'dvm.conf:3'), (['colour = red'], 'dvm.conf:2'),
                             (['history-limit = 9', 'what is this'], 'dvm.conf:3'),
                             (['history-limit = 9', '[other]'], 'dvm.conf:3')):
            self.write(*lines)
            self.assert_refused('ParseFailed', words, dvm.call, *EMPTY)
            self.assertEqual(dvm.get('HistoryLimit'), 5)
        self.write('history-limit = 9', 'trace-file = /no/such/place')
        self.assert_refused('Failed', '/no/such/place', dvm.call, *EMPTY)
        self.assertEqual(dvm.get('HistoryLimit'), 5)
        self.assert_refused('BadParam', 'colour', dvm.call, 'Reload', '(a{sv})', dvmtest.to_options({'colour': 'red'}))
        self.write('history-limit = 9')
        dvm.call(*EMPTY)
        self.assertEqual(dvm.get('HistoryLimit'), 9)

    def test_hangup(self):
        """Without a terminal SIGHUP reads the settings again, also those that are wrong."""
        dvm = self.start()
        self.write('history-limit = 4')
        dvm.process.send_signal(signal.SIGHUP)
        wait_until(lambda: dvm.get('HistoryLimit') == 4, 'the settings to be read')
        self.write('history-limit = many')
        dvm.process.send_signal(signal.SIGHUP)
        wait_until(lambda: 'stay as they were' in dvm.log(), 'the message')
        self.assertEqual(dvm.get('HistoryLimit'), 4)

    def test_trace_file(self):
        """Renamed and opened again, as logrotate does it; then another one, then none."""
        path = os.path.join(self.place(), 'trace')
        dvm = self.start(f'trace-file = {path}')
        dvm.run(['true'], np=1)
        os.rename(path, path + '.1')
        dvm.call(*EMPTY)
        dvm.run(['true'], np=1)
        self.write(f'trace-file = {path}.2')
        dvm.call(*EMPTY)
        dvm.run(['true'], np=1)
        self.write()
        dvm.call(*EMPTY)
        dvm.run(['true'], np=1)
        jobs = []
        for name in (path + '.1', path, path + '.2'):
            with open(name) as file:
                jobs.append({json.loads(line)['job'].partition('@')[2] for line in file} - {''})
        self.assertEqual(jobs, [{'1'}, {'2'}, {'3'}])

    def test_disabled_plugins(self):
        dvm = self.start()

        def active():
            return {row['name']: row['active'] for row in dvm.call('ListPlugins', '(a{sv})', {})[0]}

        self.assertTrue(active()['round-robin'])
        self.write('disabled-plugins = mapper-round-robin')
        dvm.call(*EMPTY)
        self.assertFalse(active()['round-robin'])
        self.assert_refused('BadParam', '“ppr:N:OBJECT”, “rankfile”, “seq”', dvm.submit, ['true'], np=1)
        self.write()
        dvm.call(*EMPTY)
        self.assertTrue(active()['round-robin'])
        self.assert_success(dvm.run(['true'], np=1))

    def test_command_line(self):
        dvm = self.start()
        self.write('history-limit = 4')
        cli = [os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli'), 'reload', f'--socket={dvm.socket}']
        done = subprocess.run(cli, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))
        self.assertEqual(dvm.get('HistoryLimit'), 4)
        self.write('history-limit = -4')
        done = subprocess.run(cli, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('dvm.conf:2', done.stderr)


if __name__ == '__main__':
    dvmtest.main()
