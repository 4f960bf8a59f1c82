# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM of several machines, by ssh: dvm-cli start --hostfile, jobs across them, and what happens when one goes."""

import json
import os
import re
import shutil

import dvmtest
import testhosts

BUILD = os.environ['DVM_TEST_BUILD']
CLI = os.path.join(BUILD, 'cli', 'dvm-cli')
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
NAMES = ('dvmd', 'dvm-agent', 'dvm-guard', 'dvm-pmix')


class Machines(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.folder = self.place()
        os.chmod(self.folder, 0o755)

    def clear(self):
        self.doCleanups()
        super().clear()

    def make(self, count):
        hosts = testhosts.Hosts(count, kept=[self.folder, BUILD])
        self.addCleanup(hosts.close)
        return hosts

    def cli(self, host, *args, check=True, **kwargs):
        """dvm-cli on that host"""
        return host.run([CLI, *args], check=check, env={'G_DEBUG': 'fatal-warnings'}, **kwargs)

    def hostfile(self, text):
        path = os.path.join(self.folder, 'hosts')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def start(self, host, *args, check=True, heal=False):
        """heal: nodes that are lost come back; else they stay DOWN"""
        args = ['--set', f'heal={str(heal).lower()}', *args]
        return self.cli(host, 'start', '--bus', 'none', '--log', self.folder + '/log', *args, check=check, timeout=180)

    def nodes(self, host):
        return json.loads(self.cli(host, 'nodes', '--json').stdout)

    def daemons(self, host):
        found = []
        for pid in host.processes():
            try:
                with open(f'/proc/{pid}/comm', encoding='utf-8') as comm:
                    found += [name for name in [comm.read().strip()] if name in NAMES]
            except OSError:
                pass
        return found

    def assert_nothing_left(self, hosts):
        for host in hosts:
            testhosts.wait_until(lambda one=host: not self.daemons(one), f'no daemon is left on {host.name}: {self.daemons(host)}')

    def test_eight(self):
        hosts = self.make(8)
        hostfile = self.hostfile('# all of them\n' + ''.join(f'{host.name} slots=2\n' for host in hosts))
        self.start(hosts[0], '--hostfile', hostfile, '--set', 'radix=2')
        nodes = self.nodes(hosts[0])
        self.assertEqual([(node['name'], node['state'], node['slots']) for node in nodes[1:]], [(host.name, 'UP', 2) for host in hosts])
        self.assertEqual([node['launcher'] for node in nodes[1:]], ['local'] + ['ssh'] * 7)
        self.assertGreaterEqual(max(node['depth'] for node in nodes), 2)
        result = self.cli(hosts[0], 'run', '--personality', 'plain', '-n', '16', 'hostname')
        self.assertEqual(sorted(result.stdout.split()), sorted([host.name for host in hosts] * 2), result.stderr)
        ring = os.environ.get('DVM_TEST_RING')
        if ring is not None:
            own = os.path.join(self.folder, 'ring')
            shutil.copy(ring, own)
            result = self.cli(hosts[0], 'run', '-n', '16', own, timeout=120)
            self.assertEqual(len(re.findall(r'sum of ranks 120: right$', result.stdout, re.MULTILINE)), 16, result.stdout + result.stderr)
        self.assertIn('├─ ', self.cli(hosts[0], 'nodes').stdout)
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def test_private(self):
        """A run without a DVM has one on the machines that it names, which ends with it."""
        hosts = self.make(3)
        hostfile = self.hostfile('n1 slots=2\nn2 slots=1\n')
        plain = ['--personality', 'plain']
        result = self.cli(hosts[0], 'run', *plain, '--hostfile', hostfile, '-n', '3', 'hostname')
        self.assertEqual(sorted(result.stdout.split()), ['n1', 'n1', 'n2'], result.stderr)
        self.assert_nothing_left(hosts)
        result = self.cli(hosts[0], 'run', *plain, '--host', 'n0:1,n2:1', '-n', '2', 'hostname')
        self.assertEqual(sorted(result.stdout.split()), ['n0', 'n2'], result.stderr)
        self.assert_nothing_left(hosts)
        result = self.cli(hosts[0], 'run', *plain, '--host', 'n1:1,n2:1', '--timeout', '3', '-n', '2', 'sleep', '600', check=False)
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assert_nothing_left(hosts)
        hosts[2].run(['sh', '-c', 'kill $(cat /run/sshd.pid)'])
        testhosts.wait_until(lambda: not hosts[2].is_listening(), 'no sshd')
        result = self.cli(hosts[0], 'run', *plain, '--host', 'n1:1,n2:1', '-n', '2', 'hostname', check=False)
        self.assertEqual((result.returncode, result.stdout), (125, ''), result.stderr)
        self.assertRegex(result.stderr, r'n2: refused: .*Connection refused')
        self.assert_nothing_left(hosts)

    def test_crowd(self):
        """As many machines as one is good for: started, used and stopped, and each is as it was."""
        hosts = self.make(64 if LONG else 16)
        before = {host: len(host.processes()) for host in hosts}
        self.start(hosts[0], '--host', ','.join(f'{host.name}:1' for host in reversed(hosts)))
        result = self.cli(hosts[0], 'run', '--personality', 'plain', '--host', 'localhost', '-n', '1', 'hostname')
        self.assertEqual(result.stdout, 'n0\n', 'of the machines, which all have this name, it is that of the DVM')
        self.assertEqual([node['state'] for node in self.nodes(hosts[0])[1:]], ['UP'] * len(hosts))
        result = self.cli(hosts[0], 'run', '--personality', 'plain', '-n', str(len(hosts)), 'hostname')
        self.assertEqual(sorted(result.stdout.split()), sorted(host.name for host in hosts), result.stderr)
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)
        for host in hosts:
            testhosts.wait_until(lambda one=host: len(one.processes()) == before[one], f'{host.name} is as it was')
            self.assertEqual(os.listdir(host.path('/dev/shm')), [], host.name)

    def test_missing(self):
        hosts = self.make(4)
        hosts[2].run(['sh', '-c', 'kill $(cat /run/sshd.pid)'])
        testhosts.wait_until(lambda: not hosts[2].is_listening(), 'no sshd')
        hosts[3].cut()
        hosts[1].run(['hostname', 'n1.cluster'])
        everybody = ['--host', 'n0:1,n1:1,n2:1,n3:1,nowhere:1', '--set', 'launcher-timeout=10']
        result = self.start(hosts[0], *everybody, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, ''), result.stderr)
        self.assertIn('3 of the 5 nodes', result.stderr)
        self.assertRegex(result.stderr, r'\bn2: refused: ')
        self.assertRegex(result.stderr, r'\bn3: (unreachable|timeout): ')
        self.assertRegex(result.stderr, r'\bnowhere: unreachable: ')
        self.assert_nothing_left(hosts)
        result = self.start(hosts[0], *everybody, '--allow-missing')
        self.assertEqual(result.stdout, 'DVM ready\n')
        self.assertEqual(len(re.findall(' is missing: ', result.stderr)), 3, result.stderr)
        self.assertEqual([node['state'] for node in self.nodes(hosts[0])[1:]], ['UP', 'UP', 'DOWN', 'DOWN', 'DOWN'])
        result = self.cli(hosts[0], 'run', '--personality', 'plain', '-n', '2', 'hostname', '-s')
        self.assertEqual(sorted(result.stdout.split()), ['n0', 'n1'])
        result = self.cli(hosts[0], 'run', '--personality', 'plain', '--host', 'n1.cluster', '-n', '1', 'hostname')
        self.assertEqual(result.stdout, 'n1.cluster\n', 'a node is known by its own whole name, too')
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def test_doctor(self):
        """Over real ssh: each host by itself, and one without sshd in its own words."""
        hosts = self.make(4)
        hosts[2].run(['sh', '-c', 'kill $(cat /run/sshd.pid)'])
        testhosts.wait_until(lambda: not hosts[2].is_listening(), 'no sshd')
        done = self.cli(hosts[0], 'doctor', '--json', '--host', 'n1,n2,n3', check=False, timeout=180)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        found = {(row['node'], row['check']): row for row in json.loads(done.stdout)}
        self.assertIn('refused', found['n2', 'node']['found'])
        self.assertIn('sshd', found['n2', 'node']['mend'])
        for name in ('n1', 'n3'):
            for check in ('programs', 'pmix', 'hwloc', 'runtime', 'shm', 'tmp', 'limits', 'clock'):
                self.assertEqual(found[name, check]['verdict'], 'ok', found[name, check])
        testhosts.wait_until(lambda: not self.daemons(hosts[1]) and not self.daemons(hosts[3]), 'nothing of the DVM is left')

    def test_host_comes_back(self):
        """A machine is cut off for longer than it is tried at once, and mended: it is a node again, as a new rank."""
        hosts = self.make(3)
        self.start(hosts[0], '--host', 'n0:1,n1:1,n2:1', '--set', 'heartbeat-timeout=2', '--set', 'controller-grace=1',
                   '--set', 'heal-pause=1', '--set', 'heal-limit=1000', '--set', 'launcher-timeout=3', heal=True)
        node = lambda: next((each for each in self.nodes(hosts[0])[1:] if each['name'] == 'n2'), {'rank': 0, 'state': ''})
        hosts[2].cut()
        testhosts.wait_until(lambda: node()['state'] in ('DOWN', 'ADDED'), 'n2 is down')
        waiting = self.cli(hosts[0], 'submit', '--personality', 'plain', '--host', 'n2', '-n', '1', 'true').stdout.strip()
        testhosts.wait_until(lambda: node()['rank'] > 4, 'an attempt has failed')
        hosts[2].mend()
        testhosts.wait_until(lambda: node()['state'] == 'UP', 'n2 is back')
        self.assertEqual(self.cli(hosts[0], 'wait', waiting).returncode, 0)
        result = self.cli(hosts[0], 'run', '--personality', 'plain', '-n', '3', '--map-by', 'node', 'hostname')
        self.assertEqual(sorted(result.stdout.split()), ['n0', 'n1', 'n2'], result.stderr)
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def test_host_goes(self):
        """A machine is cut off: the job there fails with its name, the other goes on, and the DVM lives."""
        hosts = self.make(4)
        self.start(hosts[0], '--host', 'n0:1,n1:1,n2:1,n3:1', '--set', 'heartbeat-timeout=3', '--set', 'controller-grace=2')
        script = ['--personality', 'plain', 'sh', '-c', 'sleep 600']
        here = self.cli(hosts[0], 'submit', '--host', 'n1', '-n', '1', *script).stdout.strip()
        there = self.cli(hosts[0], 'submit', '--host', 'n2,n3', '-n', '2', *script).stdout.strip()
        for job in (here, there):
            testhosts.wait_until(lambda one=job: self.state(hosts[0], one) == 'RUNNING', f'{job} runs')
        hosts[3].cut()
        testhosts.wait_until(lambda: self.nodes(hosts[0])[4]['state'] == 'DOWN', 'n3 is down')
        result = self.cli(hosts[0], 'wait', there, check=False)
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertIn('n3', json.loads(self.cli(hosts[0], 'job', 'show', '--json', there).stdout)['reason'])
        self.assertEqual(self.state(hosts[0], here), 'RUNNING')
        result = self.cli(hosts[0], 'run', '--personality', 'plain', '-n', '2', 'hostname')
        self.assertEqual(sorted(result.stdout.split()), ['n0', 'n2'], result.stderr)
        # Who is alone ends by itself, with all that it has started.
        testhosts.wait_until(lambda: not self.daemons(hosts[3]), f'the agent of n3 has ended: {self.daemons(hosts[3])}')
        self.cli(hosts[0], 'kill', here)
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def state(self, host, job):
        return json.loads(self.cli(host, 'job', 'show', '--json', job).stdout)['state']


if __name__ == '__main__':
    dvmtest.main()
