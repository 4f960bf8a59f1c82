# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes that are mapped by device are told which devices they have, in the words of the libraries of these."""

import os
import unittest

import dvmtest

MACHINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'offline', 'machines')
NAMES = ('DVM_DEVICES', 'CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER', 'ROCR_VISIBLE_DEVICES', 'ZE_AFFINITY_MASK', 'NCCL_IB_HCA',
         'UCX_NET_DEVICES', 'PSM3_NIC')
CPUS = sorted(os.sched_getaffinity(0))


def uuid(number):
    return f'GPU-0000000{number}-aaaa-bbbb-cccc-00000000000{number}'


def disks():
    """Of this machine: those that are on its bus."""
    folder = '/sys/class/block'
    found = []
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        path = os.path.realpath(os.path.join(folder, name))
        if '/devices/virtual/' not in path and not os.path.exists(os.path.join(path, 'partition')):
            found.append(name)
    return found


class Devices(dvmtest.Case):
    def start(self, machine, **env):
        return self.dvm(slots=8, env={'HWLOC_XMLFILE': os.path.join(MACHINES, machine), **env})

    def told(self, dvm, map_by, np=0, **options):
        """By rank: the variables that its libraries have. np 0: as many as there are devices"""
        options.setdefault('bind_to', 'none')
        argv = ['sh', '-c', f'echo $DVM_RANK; env | grep -E "^({"|".join(NAMES)})=" | sed "s/^/$DVM_RANK /"']
        if np:
            done = dvm.run(argv, map_by=map_by, np=np, **options)
        else:
            done = dvm.run(None, apps=[{'argv': argv}], map_by=map_by, **options)
        self.assert_success(done)
        ranks = {}
        for line in done.lines:
            rank, _, entry = line.partition(' ')
            name, _, value = entry.partition('=')
            ranks.setdefault(int(rank), {})
            if name in NAMES:
                ranks[int(rank)][name] = value
        return [ranks[rank] for rank in sorted(ranks)]

    def test_gpus(self):
        """Each has its own, by the uuid that the driver takes; what the user sets stays, what the daemon has does not."""
        dvm = self.start('gpus.xml', CUDA_VISIBLE_DEVICES='7')
        self.assertEqual(self.told(dvm, 'device=gpu'),
                         [{'DVM_DEVICES': f'nvml{n}', 'CUDA_VISIBLE_DEVICES': uuid(n)} for n in range(4)])
        self.assertEqual(self.told(dvm, 'device=gpu:ndev=2', np=1),
                         [{'DVM_DEVICES': 'nvml0,nvml1', 'CUDA_VISIBLE_DEVICES': f'{uuid(0)},{uuid(1)}'}])
        self.assertEqual(self.told(dvm, 'device=gpu', np=1, env={'CUDA_VISIBLE_DEVICES': '3'}),
                         [{'DVM_DEVICES': 'nvml0', 'CUDA_VISIBLE_DEVICES': '3'}])
        self.assertEqual(self.told(dvm, 'slot', np=1), [{'CUDA_VISIBLE_DEVICES': '7'}])

    def test_run_inside(self):
        """A job that a process starts by dvm-cli does not take over the devices of the job around it."""
        dvm = self.start('gpus.xml')
        cli = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
        for words, expected in (('', set()), ('--map-by device=gpu ', {'DVM_DEVICES=nvml1', f'CUDA_VISIBLE_DEVICES={uuid(1)}'})):
            done = dvm.run(['sh', '-c', f'{cli} run -n 1 --bind-to none {words}env'], np=1, map_by='device=gpu', bind_to='none')
            self.assert_success(done)
            self.assertEqual({line for line in done.lines if line.split('=')[0] in NAMES}, expected, done)
        done = dvm.run(['sh', '-c', f'{cli} run -n 1 --bind-to none env'], np=1, map_by='device=gpu', bind_to='none', env={'CUDA_VISIBLE_DEVICES': '3'})
        self.assertEqual([line for line in done.lines if line.split('=')[0] in NAMES], ['CUDA_VISIBLE_DEVICES=3'], 'what the user has set')

    def test_network(self):
        dvm = self.start('gpus.xml')
        self.assertEqual(self.told(dvm, 'device=nic'),
                         [{'DVM_DEVICES': 'mlx5_0', 'NCCL_IB_HCA': '=mlx5_0', 'UCX_NET_DEVICES': 'mlx5_0:1'},
                          {'DVM_DEVICES': 'mlx5_1', 'NCCL_IB_HCA': '=mlx5_1', 'UCX_NET_DEVICES': 'mlx5_1:1'},
                          {'DVM_DEVICES': 'eno6', 'UCX_NET_DEVICES': 'eno6'}])
        self.assertEqual(self.told(dvm, 'device=nic:ndev=3', np=1),
                         [{'DVM_DEVICES': 'mlx5_0,mlx5_1,eno6', 'NCCL_IB_HCA': '=mlx5_0,mlx5_1',
                           'UCX_NET_DEVICES': 'mlx5_0:1,mlx5_1:1,eno6'}])

    def test_pmix(self):
        """A rank asks its PMIx server, also one of its own process."""
        dvm = self.start('gpus.xml')
        done = dvm.run([os.environ['DVM_TEST_PMIX_CLIENT'], 'keys', 'pmix.dev.id'], np=2, map_by='device=gpu:ndev=2', bind_to='none')
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), ['pmix.dev.id=nvml0,nvml1', 'pmix.dev.id=nvml2,nvml3'])

    @unittest.skipIf(CPUS[:2] != [0, 1], 'the first two cpus may not be used')
    def test_vendors(self):
        """Each library by its own variable, and processes are bound near the device, as the kernel says."""
        dvm = self.start('vendors.xml')
        self.assertEqual(self.told(dvm, 'device=gpu'),
                         [{'DVM_DEVICES': 'rsmi0', 'ROCR_VISIBLE_DEVICES': 'GPU-a1b2c3d4e5f60000'},
                          {'DVM_DEVICES': 'rsmi1', 'ROCR_VISIBLE_DEVICES': 'GPU-a1b2c3d4e5f60001'},
                          {'DVM_DEVICES': 'ze0', 'ZE_AFFINITY_MASK': '0'}, {'DVM_DEVICES': 'ze1', 'ZE_AFFINITY_MASK': '1'}])
        done = dvm.run(['sh', '-c', 'echo $DVM_RANK $DVM_DEVICES $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)'],
                       np=2, map_by='device=gpu')
        self.assert_success(done)
        self.assertEqual(sorted(done.lines), ['0 rsmi0 0', '1 rsmi1 1'])

    def test_refused(self):
        dvm = self.start('nameless.xml')
        result = dvm.run(['true'], np=1, map_by='device=gpu')
        self.assertEqual(result.state, dvmtest.MAP_FAILED, result)
        self.assertIn('has no name', result.reason)
        self.assert_refused('BadParam', 'it is for device', dvm.submit, ['true'], map_by='core:ndev=2')

    def test_jobs_beside(self):
        """A job does not get the devices of another one: others are free, or it waits; one that can never fit is refused."""
        dvm = self.start('gpus.xml')
        first = dvm.submit(['sleep', '1000'], np=3, map_by='device=gpu', bind_to='none')
        first.wait_running()
        self.assertEqual(self.told(dvm, 'device=gpu', np=1)[0]['DVM_DEVICES'], 'nvml3')
        self.assertEqual(first.call('ListDevices', '(sa{sv})', '', {}), ([(rank, f'nvml{rank}') for rank in range(3)], ''))
        shared = dvm.submit(['sleep', '1000'], np=2, map_by='ppr:2:device=mlx5_1', bind_to='none')
        shared.wait_running()
        namespace = [job.get('Namespace') for job in (first, shared)]
        row = dvm.call('ListNodes', '(sa{sv})', '1', dvmtest.to_options({'columns': ['Devices']}))[0][0]
        self.assertEqual(list(row), ['Devices'])
        self.assertEqual(row['Devices'], dvm.connection.call('/org/dvm/nodes/1', dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Node', 'Devices')[0])
        for entry in (f'nvml2={namespace[0]}:2', 'nvml3=', f'mlx5_1={namespace[1]}:0-1'):
            self.assertIn(entry, row['Devices'])
        second = dvm.submit(['sleep', '1000'], np=2, map_by='device=gpu', bind_to='none')
        dvmtest.wait_until(lambda: second.get('HeldAt') == 'devices', 'it to wait')
        result = dvm.run(['true'], np=5, map_by='device=gpu', bind_to='none')
        self.assertEqual(result.state, dvmtest.MAP_FAILED, result)
        first.cancel()
        first.wait()
        second.wait_running()
        self.assertEqual(self.told(dvm, 'device=gpu', np=1)[0]['DVM_DEVICES'], 'nvml2')
        for job in (second, shared):
            job.cancel()
            job.wait()
        self.assertEqual(dvm.get('Statistics')['nodes-with-devices-used'], 0)

    @unittest.skipUnless(disks(), 'no disk is on the bus of this machine')
    def test_this_machine(self):
        """The devices of this machine are found without hwloc's help."""
        dvm = self.dvm(slots=8)
        done = dvm.run(['sh', '-c', 'echo $DVM_DEVICES'], np=1, map_by='device=block')
        self.assert_success(done)
        self.assertIn(done.lines[0], disks())


if __name__ == '__main__':
    dvmtest.main()
