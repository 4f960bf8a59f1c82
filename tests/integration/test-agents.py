# SPDX-License-Identifier: LGPL-2.1-or-later
"""Agents of their own: what the controller knows of them, and how they and it part."""

import os
import signal

import dvmtest


class Agents(dvmtest.Case):
    def start(self, nodes=4, **options):
        return self.dvm(settings=[f'nodes={nodes}', 'slots=2'], **options)

    def pids(self, dvm):
        return {row['Name']: row['Pid'] for row in dvm.get_nodes() if row['Rank'] > 0}

    def wait_state(self, dvm, name, state):
        def row():
            return next(each for each in dvm.get_nodes() if each['Name'] == name and each['Rank'] > 0)
        dvmtest.wait_until(lambda: row()['StateName'] == state, f'{name} to be {state}')
        return row()

    def test_topology_of_like_nodes(self):
        """One node says for all that are alike: the others are not asked, and need not be able to answer."""
        dvm = self.start()
        get = lambda rank: dvm.connection.call(f'/org/dvm/nodes/{rank}', 'org.dvm.Node', 'GetTopology')[0]
        first = get(1)
        self.assertIn('<topology', first)
        pid = self.pids(dvm)['node2']
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertEqual(get(2), first)
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_one_that_leaves(self):
        """An agent that somebody else ends is a lost one; the DVM goes on."""
        dvm = self.start()
        os.kill(self.pids(dvm)['node3'], signal.SIGTERM)
        self.wait_state(dvm, 'node3', 'DOWN')
        self.assert_success(dvm.run(['true'], np=6, personality='plain'))

    def test_one_that_dies_while_the_dvm_ends(self):
        """Nobody waits for an agent that was lost on the way to the end."""
        dvm = self.start()
        pid = self.pids(dvm)['node2']
        os.kill(pid, signal.SIGSTOP)
        dvm.call('Shutdown', '(a{sv})', {})
        dvmtest.wait_until(lambda: not dvm.get('Ready'), 'the end to begin')
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(dvm.wait_exit(), 0)


if __name__ == '__main__':
    dvmtest.main()
