# SPDX-License-Identifier: LGPL-2.1-or-later
"""Agents that start each other by ssh: a tree over several machines, and what happens when one of its parents fails."""

import importlib
import os
import re
import subprocess
import unittest

import dvmtest
import testhosts

test_dvm = importlib.import_module('test-dvm')
# Of 12, with a radix of 3: n1 to n3 are started from n0; n1 starts n4, n7 and n10, n2 n5, n8 and n11, n3 n6 and n9.
COUNT = 64 if test_dvm.LONG else 12

# Stands for ssh: {on} is what it does, where it runs and for which host.
FAKE_SSH = '''#!/bin/sh
here=$(hostname)
for word; do case $word in n[0-9]*) there=$word; break ;; esac; done
echo "$here $there" >>{place}/calls
case "$here $there" in
{on}
esac
exec ssh "$@"
'''
STEAL = '*) tee -a {place}/tokens | ssh "$@"; exit $? ;;'
# Nothing comes of it, and it can be seen that it was called.
HANG = '{which}) echo $$ >{place}/hangs.new; mv {place}/hangs.new {place}/hangs; exec sleep 1000000 ;;'


class Tree(test_dvm.Machines):
    test_eight = test_private = test_crowd = test_missing = test_host_goes = test_host_comes_back = None  # there

    def ssh(self, on, path=None):
        """The path of a command that is called like ssh."""
        path = path or os.path.join(self.folder, 'ssh')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(FAKE_SSH.format(place=self.folder, on=on))
        os.chmod(path, 0o755)
        return path

    def settings(self, **values):
        values = {'tree-radix': 3, **values}
        return ['--set', 'plugin-settings=' + ' '.join(f'launcher-ssh.{key.replace("_", "-")}={value}' for key, value in values.items())]

    def everybody(self, hosts):
        return ['--host', ','.join(f'{host.name}:1' for host in hosts)]

    def calls(self):
        try:
            with open(os.path.join(self.folder, 'calls'), encoding='utf-8') as file:
                return [tuple(line.split()) for line in file.read().splitlines()]
        except OSError:
            return []

    def command_lines(self, host):
        found = []
        for pid in host.processes():
            try:
                with open(f'/proc/{pid}/cmdline', encoding='utf-8', errors='replace') as file:
                    found.append(file.read().replace('\0', ' '))
            except OSError:
                pass
        return found

    def states(self, host):
        return {node['name']: node['state'] for node in self.nodes(host)[1:]}

    def assert_runs(self, host, names):
        result = self.cli(host, 'run', '--personality', 'plain', '-n', str(len(names)), '--map-by', 'node', 'hostname')
        self.assertEqual(sorted(result.stdout.split()), sorted(names), result.stderr)

    def assert_ends(self, hosts):
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)
        for host in hosts:
            testhosts.wait_until(lambda one=host: not [line for line in self.command_lines(one) if line.startswith('ssh ')],
                                 f'no ssh runs on {host.name}')

    def log(self):
        with open(self.folder + '/log', encoding='utf-8') as file:
            return file.read()

    def test_tree(self):
        """Each starts its own; no command line has a token; it goes on without a parent; a second wave is a tree, too."""
        hosts = testhosts.Hosts(COUNT, kept=[self.folder, test_dvm.BUILD])
        self.addCleanup(hosts.close)
        first = hosts[:-4] if COUNT > 12 else hosts[:12]
        self.start(hosts[0], *self.everybody(first), '--set', 'elastic=true',
                   *self.settings(command=self.ssh(STEAL.format(place=self.folder))))
        calls = self.calls()
        self.assertEqual(sorted(there for _, there in calls), sorted(host.name for host in first[1:]))
        self.assertEqual(sorted(there for here, there in calls if here == 'n0'), ['n1', 'n2', 'n3'])
        if COUNT == 12:
            self.assertEqual(sorted(there for here, there in calls if here == 'n1'), ['n10', 'n4', 'n7'])
            self.assertEqual(sorted(there for here, there in calls if here == 'n3'), ['n6', 'n9'])
        self.assertLessEqual(max(len([1 for here, _ in calls if here == host.name]) for host in hosts), 3)
        with open(os.path.join(self.folder, 'tokens'), encoding='utf-8') as file:
            tokens = {line.split()[0] for line in file}
        self.assertEqual(len(tokens), len(first) - 1)
        shown = '\n'.join(line for host in hosts for line in self.command_lines(host))
        self.assertIn('dvm-agent', shown)
        self.assertFalse([token for token in tokens if token in shown or token in self.log()])
        self.assert_runs(hosts[0], [host.name for host in first])
        hosts[1].run(['sh', '-c', 'kill -KILL $(pgrep -x dvm-agent)'])
        rest = [host.name for host in first if host.name != 'n1']
        testhosts.wait_until(lambda: self.states(hosts[0]).get('n1') != 'UP', 'n1 is lost')
        self.assertEqual({name: self.states(hosts[0])[name] for name in rest}, dict.fromkeys(rest, 'UP'))
        self.assert_runs(hosts[0], rest)
        if COUNT > 12:
            os.unlink(os.path.join(self.folder, 'calls'))
            self.cli(hosts[0], 'grow', '--hosts', ','.join(f'{host.name}:1' for host in hosts[-4:]), '--wait')
            self.assertEqual(len([1 for here, _ in self.calls() if here != 'n0']), 1, self.calls())
        self.assert_ends(hosts)

    def test_parents_that_fail(self):
        """One has no key, one no way to start anything, and one host refuses: all that can be started is, and the reason is the host's."""
        hosts = self.make(12)
        self.ssh('"n1 "*) echo "root@$there: Permission denied (publickey)." >&2; exit 255 ;;')
        os.symlink(self.folder + '/ssh', hosts[0].path('/tmp/own-ssh'))
        for number in (1, 3):
            os.symlink(self.folder + '/ssh', hosts[number].path('/tmp/own-ssh'))
        hosts[9].run(['sh', '-c', 'kill $(cat /run/sshd.pid)'])
        testhosts.wait_until(lambda: not hosts[9].is_listening(), 'no sshd')
        result = self.start(hosts[0], *self.everybody(hosts), '--allow-missing', *self.settings(command='/tmp/own-ssh'))
        self.assertRegex(result.stderr, r'n9 is missing: refused: .*Connection refused')
        self.assertEqual({name for name, state in self.states(hosts[0]).items() if state == 'UP'},
                         {host.name for host in hosts} - {'n9'})
        calls = self.calls()
        self.assertFalse([there for here, there in calls if here == 'n2'])
        self.assertTrue({'n4', 'n5', 'n7', 'n8', 'n9', 'n10', 'n11'} <= {there for here, there in calls if here == 'n0'})
        self.assertIn(('n3', 'n6'), calls)
        self.assertNotIn(('n0', 'n6'), calls)
        self.assertEqual(sorted(here for here, there in calls if there == 'n9'), ['n0', 'n3'])
        self.assert_ends(hosts)

    def test_parent_goes(self):
        """One is killed while it starts others; with time, one hangs, too: the launcher starts theirs."""
        hosts = self.make(9)
        gone = {'n1', 'n2'} if test_dvm.LONG else {'n1'}
        command = self.ssh(HANG.format(which='"n1 "*', place=self.folder))
        if test_dvm.LONG:
            hosts[2].freeze()
        starting = hosts[0].popen([test_dvm.CLI, 'start', '--bus', 'none', '--log', self.folder + '/log', '--allow-missing',
                                   *self.everybody(hosts), *self.settings(command=command, timeout=6)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        testhosts.wait_until(lambda: os.path.exists(self.folder + '/hangs'), 'n1 starts others')
        hosts[1].run(['sh', '-c', 'kill -KILL $(pgrep -x dvm-agent)'])
        output, messages = starting.communicate(timeout=testhosts.LIMIT)
        self.assertEqual((starting.returncode, output), (0, 'DVM ready\n'), messages)
        self.assertEqual({name for name, state in self.states(hosts[0]).items() if state == 'UP'},
                         {host.name for host in hosts} - gone)
        self.assertTrue({'n4', 'n7'} <= {there for here, there in self.calls() if here == 'n0'}, self.calls())
        if test_dvm.LONG:
            self.assertTrue({'n5', 'n8'} <= {there for here, there in self.calls() if here == 'n0'}, self.calls())
            hosts[2].thaw()
        self.assert_ends(hosts)

    def test_interrupted(self):
        """Ctrl-C while agents start others: nothing is left anywhere, and soon."""
        hosts = self.make(9)
        command = self.ssh(HANG.format(which='"n1 n4"', place=self.folder))
        pid = os.path.join(self.folder, 'pid')
        starting = hosts[0].popen(['sh', '-c', 'echo $$ >"$0"; exec "$@"', pid, test_dvm.CLI, 'start', '--bus', 'none', '--log',
                                   self.folder + '/log', *self.everybody(hosts), *self.settings(command=command)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        testhosts.wait_until(lambda: os.path.exists(self.folder + '/hangs'), 'n1 starts others')
        testhosts.wait_until(lambda: all('dvm-agent' in self.daemons(hosts[i]) for i in (5, 6, 7, 8)), 'the others have come')
        hosts[0].run(['sh', '-c', 'kill -INT $(cat "$0")', pid])
        output, messages = starting.communicate(timeout=testhosts.LIMIT)
        self.assertNotEqual(starting.returncode, 0, output + messages)
        self.assertEqual(output, '')
        self.assert_nothing_left(hosts)
        testhosts.wait_until(lambda: not [line for line in self.command_lines(hosts[1]) if 'sleep 1000000' in line], 'nothing hangs')

    @unittest.skipUnless(test_dvm.LONG, 'logins have to be waited for until they are given up: DVM_TEST_SOAK=1')
    def test_half_are_silent(self):
        """Half of the hosts swallow all packets, a parent among them: each is told, all others come, and nothing is left of those that came."""
        hosts = self.make(16)
        silent = {'n1', 'n4', 'n5', 'n8', 'n9', 'n12', 'n14', 'n15'}
        for host in hosts:
            if host.name in silent:
                host.cut()
        words = [*self.everybody(hosts), *self.settings(command=self.ssh(''), timeout=10)]
        result = self.start(hosts[0], *words, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, ''), result.stderr)
        self.assertIn('8 of the 16 nodes', result.stderr)
        told = re.findall(r'\b(n\d+): (?:unreachable|timeout): \S', result.stderr)
        self.assertEqual(sorted(told), sorted(silent), result.stderr)
        self.assert_nothing_left(hosts)
        result = self.start(hosts[0], *words, '--allow-missing')
        self.assertEqual(result.stdout, 'DVM ready\n', result.stderr)
        told = re.findall(r'\b(n\d+) is missing: (?:unreachable|timeout): \S', result.stderr)
        self.assertEqual(sorted(told), sorted(silent), result.stderr)
        rest = {host.name for host in hosts} - silent
        self.assertEqual({name for name, state in self.states(hosts[0]).items() if state == 'UP'}, rest)
        self.assert_runs(hosts[0], rest)
        for host in hosts:
            host.mend()
        self.assert_ends(hosts)

    @unittest.skipUnless(test_dvm.LONG, 'a time limit has to pass: DVM_TEST_SOAK=1')
    def test_start_timeout(self):
        """The start's time ends while a parent starts others: a sentence for the host that has not come, and those that have come leave."""
        hosts = self.make(9)
        command = self.ssh(HANG.format(which='"n1 n4"', place=self.folder))
        starting = hosts[0].popen([test_dvm.CLI, 'start', '--bus', 'none', '--log', self.folder + '/log', '--set', 'start-timeout=15',
                                   *self.everybody(hosts), *self.settings(command=command, timeout=600)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        testhosts.wait_until(lambda: os.path.exists(self.folder + '/hangs'), 'n1 starts n4')
        testhosts.wait_until(lambda: all('dvm-agent' in self.daemons(hosts[i]) for i in (1, 2, 3, 5, 6, 7, 8)), 'the others have come')
        output, messages = starting.communicate(timeout=testhosts.LIMIT)
        self.assertEqual((starting.returncode, output), (1, ''), messages)
        self.assertRegex(messages, r'\bn4: \S')
        self.assertNotRegex(messages, r'\bn[1235678]: ')
        self.assert_nothing_left(hosts)
        for host in hosts:
            testhosts.wait_until(lambda one=host: not [line for line in self.command_lines(one) if line.startswith('ssh ') or 'sleep 1000000' in line],
                                 f'nothing starts agents on {host.name}')


if __name__ == '__main__':
    dvmtest.main()
