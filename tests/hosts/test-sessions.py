# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program that asks for machines from inside a job, spawns onto them and gives them back, on several machines; MPI programs that spawn."""

import importlib
import os
import re

import dvmtest
import testhosts

test_dvm = importlib.import_module('test-dvm')
PROGRAM = os.environ['DVM_TEST_PMIX_ALLOC']


class Sessions(test_dvm.Machines):
    test_crowd = test_eight = test_missing = test_host_goes = test_host_comes_back = None  # there

    def test_asks_spawns_and_gives_back(self):
        """Two more machines for one program, of whatever machine, for as long as it needs them."""
        hosts = self.make(5)
        self.start(hosts[0], '--host', 'n0:2,n1:2,n2:2', '--elastic', '--set', 'radix=2')
        for node in ('n0', 'n2'):
            words = ('register new list=n3:1,n4:1 req=mine wait 1 spawn np=2 map=node id=@ tag=1 -- hostname ; ended @@ '
                     'release id=@ wait 2').split()
            done = self.cli(hosts[0], 'run', '--host', node, '-n', '1', PROGRAM, *words)
            said = [line.split() for line in done.stdout.splitlines() if line.startswith('0 ')]
            self.assertEqual([words[1:3] for words in said if words[1] not in ('started', 'ended')],
                             [['new', '0'], ['event', '-195'], ['spawn', '0'], ['release', '0'], ['event', '-195']], done.stdout)
            where = [line for line in done.stdout.splitlines() if re.search(r'\bn[34]$', line)]
            self.assertEqual(sorted(line[-2:] for line in where), ['n3', 'n4'], done.stdout)
            names = [row['name'] for row in self.nodes(hosts[0])[1:] if row['state'] == 'UP']
            self.assertEqual(names, ['n0', 'n1', 'n2'])
            for host in hosts[3:]:
                testhosts.wait_until(lambda one=host: not self.daemons(one), f'no daemon on {host.name}')
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)


if __name__ == '__main__':
    dvmtest.main()
