# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM of several machines that grows and shrinks, by ssh, while links are cut."""

import importlib
import json

import dvmtest
import testhosts

test_dvm = importlib.import_module('test-dvm')


class Elastic(test_dvm.Machines):
    test_crowd = test_eight = test_missing = test_host_goes = test_host_comes_back = None  # there
    settings = ('--elastic', '--set', 'heartbeat-timeout=3', '--set', 'controller-grace=2', '--set', 'launcher-timeout=10',
                '--set', 'shrink-grace=1', '--set', 'kill-grace=0.5')

    def start_three(self, *settings):
        hosts = self.make(5)
        self.start(hosts[0], '--host', 'n0:2,n1:2,n2:2', *self.settings, *settings)
        return hosts

    def names(self, host):
        return [node['name'] for node in self.nodes(host)[1:] if node['state'] == 'UP']

    def run_on(self, host, names):
        done = self.cli(host, 'run', '--personality', 'plain', '--host', ','.join(names), '--map-by', 'node', '-n', str(len(names)),
                        'hostname')
        self.assertEqual(sorted(done.stdout.split()), sorted(names), done.stderr)

    def test_grow_and_shrink(self):
        """Other machines come and go, again and again, and leave nothing behind."""
        for radix in ('2', '32'):
            hosts = self.start_three('--set', f'radix={radix}')
            for _ in range(2):
                self.cli(hosts[0], 'grow', '--hosts', 'n3:2,n4:2', '--wait')
                self.assertEqual(self.names(hosts[0]), ['n0', 'n1', 'n2', 'n3', 'n4'])
                self.run_on(hosts[0], ['n0', 'n3', 'n4'])
                self.cli(hosts[0], 'shrink', '--hosts', 'n4,n3', '--wait')
                self.assertEqual(self.names(hosts[0]), ['n0', 'n1', 'n2'])
                for host in hosts[3:]:
                    testhosts.wait_until(lambda one=host: not self.daemons(one), f'no daemon on {host.name}')
            self.run_on(hosts[0], ['n1', 'n2'])
            self.cli(hosts[0], 'stop')
            self.assert_nothing_left(hosts)

    def test_cut_while_it_grows(self):
        """One of two cannot be reached: the other one goes again, and both can be grown when the link is mended."""
        hosts = self.start_three('--set', 'radix=2')
        before = self.nodes(hosts[0])
        hosts[4].cut()
        result = self.cli(hosts[0], 'grow', '--hosts', 'n3:2,n4:2', '--wait', check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn('n4', result.stderr)
        self.assertEqual([(node['name'], node['rank']) for node in self.nodes(hosts[0])],
                         [(node['name'], node['rank']) for node in before])
        testhosts.wait_until(lambda: not self.daemons(hosts[3]), 'no daemon on n3')
        hosts[4].mend()
        testhosts.wait_until(lambda: hosts[0].run(['ssh', '-o', 'ConnectTimeout=1', 'n4', 'true'], check=False).returncode == 0, 'n4 is there')
        self.cli(hosts[0], 'grow', '--hosts', 'n3:2,n4:2', '--wait')
        self.run_on(hosts[0], ['n3', 'n4'])
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def test_cut_while_it_shrinks(self):
        """A target that hears nothing any more has left in bounded time; it ends what it runs, and does not come back."""
        hosts = self.start_three('--set', 'radix=2')
        self.cli(hosts[0], 'grow', '--hosts', 'n3:2,n4:2', '--wait')
        job = self.cli(hosts[0], 'submit', '--personality', 'plain', '--host', 'n1', '-n', '1', 'sleep', '600').stdout.strip()
        other = self.cli(hosts[0], 'submit', '--personality', 'plain', '--host', 'n4', '-n', '1', 'sleep', '600').stdout.strip()
        show = lambda one: json.loads(self.cli(hosts[0], 'job', 'show', '--json', one).stdout)
        for one in (job, other):
            testhosts.wait_until(lambda each=one: show(each)['state'] == 'RUNNING', f'{one} runs')
        hosts[1].cut()
        self.cli(hosts[0], 'shrink', '--hosts', 'n1,n2', '--wait')
        self.assertEqual(self.names(hosts[0]), ['n0', 'n3', 'n4'])
        testhosts.wait_until(lambda: show(job)['ended'], 'the job there ends')
        self.assertEqual((show(job)['state'], show(other)['state']), ('KILLED_BY_CMD', 'RUNNING'))
        testhosts.wait_until(lambda: not self.daemons(hosts[1]), 'its agent ends')
        hosts[1].mend()
        self.run_on(hosts[0], ['n0', 'n3', 'n4'])
        self.cli(hosts[0], 'kill', other)
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)


if __name__ == '__main__':
    dvmtest.main()
