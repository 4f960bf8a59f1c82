# SPDX-License-Identifier: LGPL-2.1-or-later
"""The whole of it, as somebody sees it who sits before it."""

import json
import subprocess
import threading

import dbusdaemon
import dvmtest
import elastic
from dvmtest import wait_until


class Monitor(threading.Thread):
    """busctl monitor: the messages of a bus."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.process = subprocess.Popen(['busctl', f'--address={address}', '--json=short', 'monitor'],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.messages = []
        self.start()
        # Only some releases say that they listen.
        bus = dvmtest.Connection(address, 'org.freedesktop.DBus')
        wait_until(lambda: bus.call('/org/freedesktop/DBus', 'org.freedesktop.DBus', 'GetId') and self.messages, 'the monitor to listen')

    def run(self):
        for line in self.process.stdout:
            self.messages.append(json.loads(line))

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def find(self, member, path=None):
        return [each for each in self.messages if each.get('member') == member and path in (None, each.get('path'))]


class Shows:
    def test_E38_E46_E59_grow_under_a_monitor(self):
        """dvm-cli grow --wait, and a job in the middle that is parked and then runs on the new nodes, as a monitor sees it."""
        bus = dbusdaemon.MessageBus(self.place())
        self.addCleanup(bus.stop)
        dvm = self.dvm(nodes=2, slots=2, gates=True, bus='session', env={'DBUS_SESSION_BUS_ADDRESS': bus.address})
        monitor = Monitor(bus.address)
        self.addCleanup(monitor.close)
        on_bus = self.asker(dvm, dvmtest.Connection(bus.address, 'org.dvm.Manager'))
        dvm.gates.hold('n9', 'n10')
        cli = subprocess.Popen(dvm.cli_argv('grow', '--hosts', 'n9:2,n10:2', '--wait'), env=dvm.cli_environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        dvm.gates.wait('n9', 'n10')
        path = '/org/dvm/campaigns/' + str(dvm.campaigns()[0]['Id'])
        beside = on_bus.grow('n11')
        job = dvm.wait_held(dvm.plain('true', np=4, hosts=['n9', 'n10']), 'map')
        self.assertEqual((cli.poll(), dvm.fence() >= 2), (None, True))
        dvm.gates.release('n9', 'n10')
        out, err = cli.communicate(timeout=dvmtest.LIMIT)
        self.assertEqual(cli.returncode, 0, err)
        self.assertIn(path.rpartition('/')[2], out)
        self.assert_ran(job)
        self.assertEqual(sorted(dvm.where(job)), ['n10', 'n10', 'n9', 'n9'])
        beside.done()
        wait_until(lambda: 'completed' in [each['payload']['data'][1] for each in monitor.find('StateChanged', path)]
                   and monitor.find('InterfacesRemoved') and monitor.find('DvmIsReady'), 'the monitor to see the end')
        added = [each for each in monitor.find('InterfacesAdded') if each['payload']['data'][0] == path]
        self.assertEqual(len(added), 1)
        states = [each['payload']['data'][:2] for each in monitor.find('StateChanged', path)]
        self.assertEqual(states[-1][1], 'completed')
        events = monitor.find('DvmIsReady')
        self.assertEqual([each['destination'] for each in events], [on_bus.connection.raw.get_unique_name()])
        self.assertEqual(monitor.find('DvmModFailed'), [])

    def test_E10_E33_D15_forty_jobs(self):
        """A shrink under forty jobs that run and that come: none is lost, and none fails but those that ran on what went."""
        dvm = self.dvm(nodes=6, slots=4)
        jobs = [dvm.plain('sh', '-c', 'sleep 0.0$(($$ % 10))', np=2) for _ in range(20)]
        campaign = dvm.asker.shrink('node2', 'node5', 'node6')
        jobs += [dvm.plain('true', np=1 + i % 3) for i in range(20)]
        campaign.done()
        jobs += [dvm.plain('true', np=12) for _ in range(2)]
        killed = 0
        for job in jobs:
            result = job.wait()
            if result['state'] == elastic.KILLED_BY_CMD:
                self.assertIn(str(campaign.number), result['reason'])
                self.assertTrue({'node2', 'node5', 'node6'} & set(dvm.where(job)))
                killed += 1
            else:
                self.assert_ran(job)
        self.assertLessEqual(killed, 20)
        self.assertEqual((len(dvm.list_jobs(all=True)), dvm.get('SlotsInUse')), (42, 0))

    def test_D9_E67_a_hundred_cycles(self):
        dvm = self.dvm(nodes=2, slots=1)
        depth, before = dvm.get('TreeDepth'), dvm.rss()
        for _ in range(100):
            dvm.asker.grow('n9', 'n10').done()
            dvm.asker.shrink('n9', 'n10').done()
        self.assertEqual((dvm.names(), dvm.get('TreeDepth'), dvm.get('NodeCount')), (['node1', 'node2'], depth, 2))
        self.assert_ran(dvm.plain('true', np=2))
        self.assert_growth(dvm, before, 8 << 20)
        statistics = dvm.get('Statistics')
        self.assertEqual((statistics['campaigns-completed'], statistics['campaigns-failed']), (200, 0))


elastic.both(Shows)
dvmtest.main()
