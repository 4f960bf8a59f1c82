# SPDX-License-Identifier: LGPL-2.1-or-later
"""The launchers ssh and pdsh with a real sshd on several machines."""

import os
import shutil
import unittest

import dvmtest
import launching
import leftovers
import testhosts

BUILD = os.environ['DVM_TEST_BUILD']


class SshLauncher(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.folder = self.place()
        self.agent = os.path.join(self.folder, 'agent')
        with open(self.agent, 'w', encoding='utf-8') as file:
            file.write(launching.AGENT)
        os.chmod(self.agent, 0o755)
        os.chmod(self.folder, 0o755)

    def clear(self):
        self.doCleanups()
        super().clear()

    def make(self, count):
        hosts = testhosts.Hosts(count, kept=[self.folder])
        self.addCleanup(hosts.close)
        return hosts

    def launch(self, hosts, nodes, agent, launcher='ssh', **values):
        libraries = ':'.join(os.path.join(BUILD, *words) for words in (('libdvm-gobject',), ('daemon', 'plugin')))

        def start(argv, **kwargs):
            return hosts[0].popen(argv, env={'LD_LIBRARY_PATH': libraries, 'PDSH_RCMD_TYPE': 'ssh'}, **kwargs)

        launch = launching.Launch(launcher, nodes, agent, start=start, **values)
        self.addCleanup(launch.close)
        return launch

    def wait_for_agent(self, host, folder='/tmp/agent'):
        testhosts.wait_until(lambda: os.path.exists(host.path(f'{folder}/{host.name}.pid')), f'the agent of {host.name} is there')

    def count_agents(self, host):
        return len([pid for pid in host.processes() if '/tmp/agent' in leftovers.describe_process(pid)])

    def test_agents(self):
        hosts = self.make(4)
        names = [host.name for host in hosts]
        launch = self.launch(hosts, ['root@n0:22', *names[1:]], [self.agent, '/tmp/agent', "it's $HOME"], concurrency=2)
        launch.expect('launched done')
        for host in hosts:
            self.wait_for_agent(host)
            with open(host.path(f'/tmp/agent/{host.name}.token'), encoding='utf-8') as file:
                self.assertEqual(file.read(), 'a token\n')
        launch.order('terminate')
        launch.expect('terminated done')
        self.assertFalse(launch.failures())
        for host in hosts:
            testhosts.wait_until(lambda one=host: os.path.exists(one.path(f'/tmp/agent/{one.name}.ended')), 'the agent has ended')

    def test_reasons(self):
        hosts = self.make(5)
        hosts[1].cut()
        hosts[2].run(['sh', '-c', 'kill $(cat /run/sshd.pid)'])
        testhosts.wait_until(lambda: not hosts[2].is_listening(), 'no sshd')
        hosts[3].freeze()
        launch = self.launch(hosts, ['n1', 'n2', 'n3', 'stranger@n4', 'nowhere'], [self.agent, '/tmp/agent'], timeout=5)
        launch.expect('launched done')
        failures = launch.failures()
        self.assertEqual(set(failures), set(range(5)))
        self.assertRegex(failures[0][1], 'n1: (unreachable|timeout): ')
        self.assertIn('n2: refused: ', failures[1][1])
        self.assertIn('n3: timeout: ', failures[2][1])
        self.assertIn('authentication: ', failures[3][1])
        self.assertIn('nowhere: unreachable: ', failures[4][1])

    def test_stubborn(self):
        """An agent that is stopped, below its guard, is ended on its own machine."""
        hosts = self.make(2)
        guard = os.path.join(BUILD, 'daemon', 'dvm-guard')
        launch = self.launch(hosts, ['n1'], [guard, self.agent, '/tmp/agent'], grace=1)
        launch.expect('launched done')
        self.wait_for_agent(hosts[1])
        hosts[1].run(['sh', '-c', 'kill -STOP $(cat /tmp/agent/n1.pid)'])
        launch.order('terminate')
        launch.expect('terminated done')
        testhosts.wait_until(lambda: self.count_agents(hosts[1]) == 0, 'nothing of the agent is left')

    @unittest.skipUnless(shutil.which('pdsh'), 'no pdsh here')
    def test_pdsh(self):
        """The real pdsh, which hands no standard input on: the token goes by a file that all hosts have."""
        hosts = self.make(3)
        tokens = os.path.join(self.folder, 'tokens')
        words = ["it's $HOME", '%h', 'a\\b', '']
        launch = self.launch(hosts, ['n1', 'n2'], [self.agent, '/tmp/agent', *words], launcher='pdsh', directory=tokens, grace=1)
        self.assertEqual(launch.expect('launched'), 'launched done')
        for host in list(hosts)[1:]:
            self.wait_for_agent(host)
            with open(host.path(f'/tmp/agent/{host.name}.token'), encoding='utf-8') as file:
                self.assertEqual(file.read(), 'a token\n')
            with open(host.path(f'/tmp/agent/{host.name}.argv'), encoding='utf-8') as file:
                self.assertEqual(file.read().split('\n'), ['/tmp/agent', *words, '--node', host.name, ''])
        self.assertEqual(os.listdir(tokens), [])
        launch.order('terminate')
        self.assertEqual(launch.expect('terminated'), 'terminated done')
        self.assertFalse(launch.failures())
        for host in list(hosts)[1:]:
            testhosts.wait_until(lambda one=host: self.count_agents(one) == 0, 'nothing of the agent is left')

    @unittest.skipUnless(shutil.which('pdsh'), 'no pdsh here')
    def test_pdsh_reasons(self):
        """The words of ssh below pdsh, and the status of the agent, are the reason."""
        hosts = self.make(4)
        hosts[1].run(['sh', '-c', 'kill $(cat /run/sshd.pid)'])
        testhosts.wait_until(lambda: not hosts[1].is_listening(), 'no sshd')
        hosts[2].freeze()
        tokens = os.path.join(self.folder, 'tokens')
        launch = self.launch(hosts, ['n1', 'n2', 'n3', 'nowhere'], ['/nonexistent/agent'], launcher='pdsh', directory=tokens, timeout=3, grace=1)
        self.assertEqual(launch.expect('launched'), 'launched done')
        failures = launch.failures()
        self.assertEqual(failures[0], ('LaunchFailed', 'n1: refused: ssh: connect to host n1 port 22: Connection refused'))
        self.assertEqual(failures[1][0], 'Timeout')
        self.assertEqual(failures[2][0], 'NotFound')
        self.assertRegex(failures[2][1], 'n3: agent missing: there is no such program: .*/nonexistent/agent: not found')
        self.assertRegex(failures[3][1], 'nowhere: unreachable: ssh: Could not resolve hostname nowhere')
        self.assertEqual(os.listdir(tokens), [])


if __name__ == '__main__':
    dvmtest.main()
