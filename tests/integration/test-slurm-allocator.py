# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM in an allocation of a real Slurm: it has the nodes of the job, with their slots, and gives back those that leave it.

All nodes are this machine: their agents are started by the launcher local, for which every name is that of a logical node.
"""

import json
import os
import subprocess

import dvmtest
import leftovers
import slurm

CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
NAMES = ('pn1', 'pn2', 'pn3')
WHERE = ['sh', '-c', 'echo $DVM_NODE']
CRAFT = 'Gres=craft:2 Feature=fast'
SHARED = slurm.Shared(NAMES, resizes=True, more='GresTypes=craft\n', of_nodes={'pn1': CRAFT, 'pn3': CRAFT})


class Case(dvmtest.Case):
    def setUp(self):
        super().setUp()
        absence = slurm.explain_absence()
        if absence is not None:
            self.skipTest(absence)
        self.cluster = SHARED.get()
        self.cluster.wait_idle()

    def allocate(self, nodes, *words):
        allocation = self.cluster.allocate(nodes, *words)
        self.addCleanup(allocation.release)
        return allocation

    def variables(self, allocation, **more):
        return {**allocation.get_variables(), **more}

    def slots(self, dvm):
        return {row['Name']: row['Slots'] for row in dvm.get_nodes() if row['Rank'] > 0 and row['StateName'] == 'UP'}

    def memory_of(self, dvm):
        """That which is allotted of each node, in MiB."""
        return {row['Name']: row['MemoryAllotted'] // 2**20 for row in dvm.get_nodes() if row['Rank'] > 0 and row['StateName'] == 'UP'}

    def nodes_of(self, allocation):
        """Those that the job has, as Slurm says."""
        names = self.cluster.run(['squeue', '--noheader', f'--jobs={allocation.job}', '--format=%N']).strip()
        return self.cluster.run(['scontrol', 'show', 'hostnames', names]).split()


class Commands(Case):
    """What somebody types in the shell that salloc has started."""

    def setUp(self):
        super().setUp()
        self.folder = self.place()
        self.environment = dict(XDG_RUNTIME_DIR=self.folder, XDG_STATE_HOME=self.folder, XDG_CONFIG_HOME=self.folder, HOME=self.folder,
                                DVM_BUS='none')
        self.addCleanup(lambda: subprocess.run([CLI, 'stop', '--force'], env={**os.environ, **self.environment}, check=False,
                                               stdin=subprocess.DEVNULL, capture_output=True, timeout=60))

    def cli(self, allocation, *words, status=0):
        with allocation.popen([CLI, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, out + err)
        return out if status == 0 else out + err

    def shell(self, nodes, *words):
        allocation = self.allocate(nodes, *words)
        allocation.environment.update(self.environment)
        return allocation

    def test_start(self):
        allocation = self.shell(2, '--ntasks=3')
        self.cli(allocation, 'start', '--bus', 'none', '--launcher', 'local')
        nodes = [one for one in json.loads(self.cli(allocation, 'nodes', '--json')) if one['rank'] > 0]
        self.assertEqual([(one['name'], one['slots'], one['allocator']) for one in nodes],
                         [('pn1', 2, 'slurm'), ('pn2', 1, 'slurm')])
        self.assertEqual(sorted(self.cli(allocation, 'run', '-n', '3', *WHERE).split()), ['pn1', 'pn1', 'pn2'])
        self.assertIn('slots', self.cli(allocation, 'run', '-n', '4', 'true', status=125))
        self.cli(allocation, 'stop')
        allocation.release()
        # salloc has ended when Slurm has been asked to end the job.
        slurm.wait_until(lambda: self.cluster.run(['squeue', '--noheader']) == '', 'the job to be gone')

    def test_wishes(self):
        """Nodes that are named, in the job or not, and a plugin that is not used."""
        allocation = self.shell(2)
        for words, names in [(['--host', 'elsewhere,pn2'], ['elsewhere', 'pn2']), (['--nodes', '2'], ['node1', 'node2'])]:
            self.cli(allocation, 'start', '--bus', 'none', '--launcher', 'local', *words)
            nodes = [one for one in json.loads(self.cli(allocation, 'nodes', '--json')) if one['rank'] > 0]
            self.assertEqual([(one['name'], one['allocator']) for one in nodes], [(name, 'hosts') for name in names])
            self.cli(allocation, 'stop')
        self.cli(allocation, 'start', '--bus', 'none', '--set', 'disabled-plugins=allocator-slurm')
        nodes = [one for one in json.loads(self.cli(allocation, 'nodes', '--json')) if one['rank'] > 0]
        self.assertEqual([one['allocator'] for one in nodes], ['hosts'])
        self.assertNotIn(nodes[0]['name'], NAMES)
        self.cli(allocation, 'stop')

    def test_run_without_dvm(self):
        """The private DVM of a job has the nodes of the allocation, too; a map of machines that are described needs none."""
        allocation = self.shell(2, '--ntasks-per-node=2')
        self.assertEqual(sorted(self.cli(allocation, 'run', '--launcher', 'local', '-n', '4', *WHERE).split()), ['pn1', 'pn1', 'pn2', 'pn2'])
        topology = os.path.join(self.folder, 'topology')
        with open(topology, 'w', encoding='utf-8') as file:
            file.write(subprocess.run(['lstopo-no-graphics', '--of', 'xml', '--input', 'package:1 core:4 pu:1'], check=True, capture_output=True,
                                      text=True, timeout=60).stdout)
        self.assertIn('core', self.cli(allocation, 'map', '--topology', topology, '--map-by', 'core', '--display', 'map,bindings', '-n', '2', 'true'))

    def both(self, allocation, *words, status=0):
        """What is on standard output, and on standard error."""
        with allocation.popen([CLI, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, out + err)
        return out, err

    def test_two_jobs(self):
        """Two jobs of a user on one machine: each has its own DVM, and neither uses nor ends that of the other one."""
        first, second = self.shell(1), self.shell(1)
        start = ['start', '--bus', 'none', '--launcher', 'local']
        self.assertEqual(self.both(first, *start), ('DVM ready\n', ''))
        self.assertEqual(json.loads(self.cli(first, 'status', '--json'))['scheduler-job'], f'slurm-{first.job}')
        where, said = self.both(second, 'run', '--launcher', 'local', *WHERE)
        self.assertEqual(where, 'pn2\n')
        for words in (f'slurm-{first.job}', f'slurm-{second.job}', '--name default'):
            self.assertIn(words, said)
        self.assertRegex(self.both(second, 'map', '--display', 'map', '-n', '1', 'true')[0], r'\bpn2\b')
        for words in (['submit', 'true'], ['stop'], ['jobs'], ['logs'], ['web']):
            self.assertIn(f'no DVM of the job slurm-{second.job} is running', self.both(second, *words, status=1)[1])
        out, said = self.both(second, 'status', '--json', status=1)
        self.assertEqual(json.loads(out)['others'], 'default')
        self.assertEqual(self.cli(second, '--name', 'default', 'run', *WHERE), 'pn1\n')
        out, said = self.both(second, *start)
        self.assertEqual(out, 'DVM ready\n')
        self.assertIn(f'slurm-{second.job}', said)
        self.assertIn('runs already', self.both(second, *start, status=1)[1])
        self.assertEqual([self.cli(one, 'run', *WHERE) for one in (first, second)], ['pn1\n', 'pn2\n'])
        status = json.loads(self.cli(second, 'status', '--json'))
        self.assertEqual((status['name'], status['scheduler-job'], status['others']), (f'slurm-{second.job}', f'slurm-{second.job}', 'default'))
        self.cli(second, 'stop')
        self.both(second, 'stop', status=1)
        self.assertEqual(self.cli(first, 'run', *WHERE), 'pn1\n')
        self.cli(first, 'stop')

    def test_outside(self):
        """A DVM that was started outside of any job is used inside of one by its name alone."""
        allocation = self.shell(1)
        outside = {key: value for key, value in allocation.environment.items() if not key.startswith('SLURM')}
        self.cluster.run([CLI, 'start', '--bus', 'none', '--nodes', '2'], environment=outside)
        where, said = self.both(allocation, 'run', '--launcher', 'local', *WHERE)
        self.assertEqual(where, 'pn1\n')
        self.assertIn('is of no job', said)
        self.assertEqual(self.cli(allocation, '--name', 'default', 'run', '-n', '1', *WHERE), 'node1\n')
        # From outside a DVM in a job needs no name: somebody has started it.
        self.cluster.run([CLI, 'stop'], environment=outside)
        self.cli(allocation, 'start', '--bus', 'none', '--launcher', 'local')
        self.assertEqual(self.cluster.run([CLI, 'run', *WHERE], environment=outside), 'pn1\n')
        self.cli(allocation, 'stop')

    def test_command_of_salloc(self):
        """As it is typed: “salloc dvm-cli start” stays until the DVM is ended, and the job ends with it."""
        environment = {**os.environ, **self.environment}
        words = ['salloc', '--quiet', '--nodes=2', CLI, 'start', '--bus', 'none', '--launcher', 'local', '--elastic']
        with self.cluster.popen(words, environment=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True) as process:
            self.assertEqual(process.stdout.readline(), 'DVM ready\n')
            self.assertEqual(sorted(self.cluster.run([CLI, 'run', '-n', '2', *WHERE], environment=environment).split()), ['pn1', 'pn2'])
            job = self.cluster.run(['squeue', '--noheader', '--format=%i']).strip()
            self.assertEqual(json.loads(self.cluster.run([CLI, 'status', '--json'], environment=environment))['scheduler-job'], f'slurm-{job}')
            self.cluster.run([CLI, 'stop'], environment=environment)
            said = process.communicate(timeout=60)[1]
        self.assertIn('stays in the foreground', said)
        slurm.wait_until(lambda: self.cluster.run(['squeue', '--noheader']) == '', 'the job to be gone')

    def test_named_allocator(self):
        """The setting allocator: the nodes of the job, or no DVM."""
        allocation = self.shell(2)
        words = ['start', '--bus', 'none', '--launcher', 'local', '--set', 'allocator=slurm']
        self.cli(allocation, *words)
        nodes = [one for one in json.loads(self.cli(allocation, 'nodes', '--json')) if one['rank'] > 0]
        self.assertEqual([(one['name'], one['allocator']) for one in nodes], [('pn1', 'slurm'), ('pn2', 'slurm')])
        self.cli(allocation, 'stop')
        self.assertIn('other nodes are asked for', self.cli(allocation, *words, '--host', 'pn1', status=1))
        self.assertIn('There is no allocator "slum"; there are: ', self.cli(allocation, *words[:-1], 'allocator=slum', status=2))
        allocation.environment = {key: value for key, value in allocation.environment.items() if not key.startswith('SLURM')}
        self.assertIn('in none of that one (not set: SLURM_JOB_ID, SLURM_JOBID)', self.cli(allocation, *words, status=1))

    def test_wrong(self):
        """What Slurm says of the job makes no sense: there is no DVM, and the reason is told."""
        allocation = self.shell(2)
        allocation.environment['SLURM_TASKS_PER_NODE'] = '2(x3)'
        said = self.cli(allocation, 'start', '--bus', 'none', '--launcher', 'local', status=1)
        self.assertIn('SLURM_TASKS_PER_NODE has counts for 3 nodes, and SLURM_JOB_NODELIST names 2', said)


class Sizes(Case):
    """Nodes that leave the DVM."""

    def start(self, allocation, *settings, **more):
        return self.dvm(settings=['launcher=local', 'kill-grace=1', *settings], arguments=['--elastic'], env=self.variables(allocation, **more))

    def shrink(self, dvm, *hosts):
        """Until the DVM has said what has become of them."""
        campaign = dvm.call('Shrink', '(a{sv})', dvmtest.to_options({'hosts': list(hosts)}))[1]
        dvmtest.wait_until(lambda: dvm.connection.call(campaign, dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Campaign', 'State')[0] in
                           ('completed', 'failed'), 'the shrink to end')

    def test_release(self):
        allocation = self.allocate(3, '--ntasks=5')
        dvm = self.start(allocation)
        self.assertEqual(set(self.slots(dvm)), set(NAMES))
        self.assertEqual(sum(self.slots(dvm).values()), 5)
        before = set(os.listdir(dvm.place))
        self.shrink(dvm, 'pn2')
        self.assertEqual(self.nodes_of(allocation), ['pn1', 'pn3'])
        self.assertEqual(set(self.slots(dvm)), {'pn1', 'pn3'})
        self.assertEqual(set(os.listdir(dvm.place)), before, 'scontrol has left files')
        self.shrink(dvm, 'pn3')
        keeps = f'The allocator slurm does not take nodes back: job {allocation.job} of Slurm keeps them; scontrol says: Job update'
        self.assertEqual(self.nodes_of(allocation), ['pn1'] if self.cluster.resizes() else ['pn1', 'pn3'])
        self.assertEqual(keeps not in dvm.log(), self.cluster.resizes(), dvm.log())
        self.assertEqual(set(self.slots(dvm)), {'pn1'})

    def test_memory(self):
        """By node and by cpu, or all of the node: Slurm counts the same."""
        for words, expected in [(['--mem=300'], {'pn1': 300, 'pn2': 300}),
                                (['--ntasks=3', '--mem-per-cpu=70'], {'pn1': 140, 'pn2': 70})]:
            allocation = self.allocate(2, *words)
            dvm = self.start(allocation)
            self.assertEqual(self.memory_of(dvm), expected)
            self.assertEqual(self.cluster.memory_of(allocation.job), expected)
            self.finish(dvm)
            allocation.release()
            self.cluster.wait_idle()

    def test_script(self):
        """The node that runs the script stays in the job, and another one that leaves with it goes."""
        allocation = self.allocate(3)
        dvm = self.start(allocation, SLURMD_NODENAME='pn1')
        self.shrink(dvm, 'pn1')
        self.assertEqual(self.nodes_of(allocation), list(NAMES))
        self.assertIn(f'pn1 stays in job {allocation.job} of Slurm: what has started the DVM runs on it', dvm.log())
        self.shrink(dvm, 'pn3')
        self.assertEqual(self.nodes_of(allocation), ['pn1', 'pn2'])

    def test_kept(self):
        allocation = self.allocate(2)
        dvm = self.start(allocation, 'plugin-settings=allocator-slurm.release=false')
        self.shrink(dvm, 'pn2')
        self.assertEqual(self.nodes_of(allocation), ['pn1', 'pn2'])
        self.assertIn('the setting allocator-slurm.release is false', dvm.log())

    def test_heterogeneous(self):
        """All components have nodes; none is made smaller."""
        allocation = slurm.Allocation(self.cluster, ['--nodes=1', '--ntasks=2', ':', '--nodes=2', '--ntasks=3'])
        self.addCleanup(allocation.release)
        dvm = self.start(allocation)
        slots = self.slots(dvm)
        self.assertEqual((sorted(slots), sum(slots.values())), (list(NAMES), 5))
        self.shrink(dvm, 'pn3')
        self.assertIn('is heterogeneous, and dvm does not make such a job smaller', dvm.log())


class Arrays(Case):
    """Tasks of an array: the last one has the number of the whole array."""

    def variables_of(self, folder, task):
        path = os.path.join(folder, f'env.{task}')
        slurm.wait_until(lambda: os.path.exists(path), f'task {task} to run')
        with open(path, encoding='utf-8') as file:
            variables = dict(word.split('=', 1) for word in file.read().split('\0') if word)
        return {key: value for key, value in variables.items() if key.startswith('SLURM')}

    def test_last_task(self):
        """It changes its size, and no other task does."""
        folder = self.place()
        script = os.path.join(folder, 'script')
        with open(script, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\nenv -0 >{folder}/new.$SLURM_ARRAY_TASK_ID\n'
                       f'mv {folder}/new.$SLURM_ARRAY_TASK_ID {folder}/env.$SLURM_ARRAY_TASK_ID\nexec sleep 1000\n')
        array = self.cluster.run(['sbatch', '--parsable', '--array=1-2', '--nodes=2', '--ntasks-per-node=1', '--mem=100', '--output=/dev/null',
                                  script]).strip()
        self.addCleanup(self.cluster.run, ['scancel', array])
        variables = {task: self.variables_of(folder, task) for task in (1, 2)}
        self.assertEqual((variables[2]['SLURM_JOB_ID'], variables[1]['SLURM_JOB_ID'] != array), (array, True))

        def held(task):
            names = self.cluster.run(['squeue', '--noheader', f'--jobs={array}_{task}', '--format=%N']).strip()
            return self.cluster.run(['scontrol', 'show', 'hostnames', names]).split()

        before = held(1), held(2)
        dvm = self.dvm(settings=['kill-grace=1'], arguments=['--elastic'], env=variables[2])

        def change(method, **request):
            dvm.call(method, '(a{sv})', dvmtest.to_options(request))
            dvmtest.wait_until(lambda: dvm.get('CampaignsRunning') == 0, 'no campaign to run')
            self.assertEqual((held(1), sorted(self.slots(dvm))), (before[0], held(2)), dvm.log())

        leaves = next(name for name in before[1] if name != variables[2]['SLURMD_NODENAME'])
        change('Shrink', hosts=[leaves])
        self.assertEqual(held(2), [variables[2]['SLURMD_NODENAME']])
        if self.cluster.resizes():
            change('Grow', count=1)
            self.assertEqual(len(held(2)), 2)


class Growth(Case):
    """Nodes that the job gets more, by the launcher slurm: the machines of an allocation are no logical nodes."""

    def start(self, nodes, *settings, **more):
        self.allocation = self.allocate(nodes, '--ntasks-per-node=2', '--mem=100')
        return self.dvm(settings=['kill-grace=1', *settings], arguments=['--elastic'], env=self.variables(self.allocation, **more))

    def grow(self, dvm, **request):
        return dvm.call('Grow', '(a{sv})', dvmtest.to_options(request))

    def wait_campaigns(self, dvm):
        dvmtest.wait_until(lambda: dvm.get('CampaignsRunning') == 0, 'no campaign to run')

    def jobs(self):
        return self.cluster.run(['squeue', '--noheader', '--format=%i']).split()

    def test_grow(self):
        """Slurm and the DVM have the same nodes at each step, and a job runs on the new one."""
        dvm = self.start(2)
        self.assertEqual(self.slots(dvm), {'pn1': 2, 'pn2': 2})
        self.grow(dvm, count=1)
        self.wait_campaigns(dvm)
        self.assertEqual(self.slots(dvm), dict.fromkeys(NAMES, 2), dvm.log())
        self.assertEqual(self.nodes_of(self.allocation), list(NAMES))
        self.assertEqual(self.jobs(), [self.allocation.job])
        self.assertEqual(self.memory_of(dvm), dict.fromkeys(NAMES, 100))
        self.assertEqual({row['Name']: (row['Allocator'], row['Launcher']) for row in dvm.get_nodes() if row['Rank'] > 0},
                         dict.fromkeys(NAMES, ('slurm', 'slurm')))
        done = dvm.run(WHERE, np=6)
        self.assertEqual(sorted(done.lines), sorted(NAMES * 2), done)
        dvm.call('Shrink', '(a{sv})', dvmtest.to_options({'hosts': ['pn3']}))
        self.wait_campaigns(dvm)
        # Where the job is not made of another size again it keeps the node, and the next grow has it.
        self.assertEqual('The allocator slurm does not take nodes back' not in dvm.log(), self.cluster.resizes(), dvm.log())
        self.assertEqual(self.nodes_of(self.allocation), ['pn1', 'pn2'] if self.cluster.resizes() else list(NAMES))
        # At once: that slurmd takes no credential of the second in which the job has left its node is the allocator's affair.
        self.grow(dvm, count=1)
        self.wait_campaigns(dvm)
        self.assertEqual(self.slots(dvm), dict.fromkeys(NAMES, 2), dvm.log())
        self.assertEqual(self.jobs(), [self.allocation.job])

    def wait_given_up(self, dvm, other):
        """There is no second job, nor who looks after it."""
        def find():
            return [pid for pid in dvm.processes() if 'scancel --name' in leftovers.describe_process(pid)]

        dvmtest.wait_until(lambda: sorted(self.jobs()) == sorted([self.allocation.job, other.job]) and not find(), 'no job to wait')

    def test_dvm_ends(self):
        """In good order or killed: nothing waits for nodes in its name."""
        for kill in (False, True):
            dvm = self.start(2)
            other = self.allocate(1, '--exclusive', '--nodelist=pn3')
            dvm.connection.raw.call(None, *dvmtest.MANAGER, 'Grow', dvmtest.GLib.Variant('(a{sv})', (dvmtest.to_options({'count': 1}),)), None,
                                    dvmtest.Gio.DBusCallFlags.NONE, -1, None, None)
            dvmtest.wait_until(lambda: len(self.jobs()) == 3, 'the second job')
            if kill:
                os.kill(dvm.pid, 9)
                dvm.process.wait()
            else:
                self.assertEqual(dvm.stop(), 0)
            self.wait_given_up(dvm, other)
            self.allocation.release()
            other.release()
            self.cluster.wait_idle()

    def test_by_pmix(self):
        """A rank that asks for a node gets one of Slurm, and spawns onto it."""
        dvm = self.start(2, 'pmix=eager')
        done = dvm.run([os.environ['DVM_TEST_PMIX_ALLOC'], 'register', 'jobs', 'new', 'count=1', 'share=0', 'wait', '1',
                        'spawn', 'target=@', '--', *WHERE, ';', 'ended', '@@'], np=1)
        self.assert_success(done)
        self.assertIn('pn3', done.lines, done)
        self.assertEqual(self.nodes_of(self.allocation), list(NAMES))

    def test_refused(self):
        """Slurm's own words, and no job is left that waits for nodes."""
        dvm = self.start(2, SLURM_JOB_PARTITION='nowhere')
        with self.assertRaises(dvmtest.DBusError) as caught:
            self.grow(dvm, count=1)
        self.assertIn(f'Job {self.allocation.job} of Slurm gets no more nodes; salloc says: salloc: error: ', caught.exception.message)
        self.assertIn('partition', caught.exception.message)
        self.assertEqual(self.jobs(), [self.allocation.job])
        self.assertEqual(self.slots(dvm), {'pn1': 2, 'pn2': 2})

    def test_same_constraint(self):
        """Nodes that come have the features that the job asked for: of two that are free the second one has them."""
        self.allocation = self.allocate(1, '--nodelist=pn1', '--ntasks-per-node=2', '--mem=100', '--constraint=fast')
        dvm = self.dvm(settings=['kill-grace=1'], arguments=['--elastic'], env=self.variables(self.allocation))
        self.grow(dvm, count=1)
        self.wait_campaigns(dvm)
        self.assertEqual(self.slots(dvm), {'pn1': 2, 'pn3': 2}, dvm.log())
        self.assertEqual(self.nodes_of(self.allocation), ['pn1', 'pn3'])

    def test_devices(self):
        """Slurm merges no jobs that have devices: that is said before anything is tried, also of GPUs, which a variable alone tells."""
        self.allocation = self.allocate(1, '--nodelist=pn1', '--ntasks-per-node=2', '--mem=100', '--gres=craft:1')
        dvm = self.dvm(settings=['kill-grace=1'], arguments=['--elastic'], env=self.variables(self.allocation))
        with self.assertRaises(dvmtest.DBusError) as caught:
            self.grow(dvm, count=1)
        self.assertIn(f'job {self.allocation.job} of Slurm has devices (craft:1), and Slurm makes no such job larger', caught.exception.message)
        self.assertEqual((self.jobs(), self.slots(dvm)), ([self.allocation.job], {'pn1': 2}))
        self.assertEqual(dvm.stop(), 0)
        self.allocation.release()
        self.cluster.wait_idle()
        dvm = self.start(1, SLURM_GPUS_PER_TASK='1')
        with self.assertRaises(dvmtest.DBusError) as caught:
            self.grow(dvm, count=1)
        self.assertIn('has devices (SLURM_GPUS_PER_TASK)', caught.exception.message)

    def test_no_room(self):
        """Nodes that others have: the request is over with allocator-timeout, and nothing waits in the queue."""
        dvm = self.start(2, 'allocator-timeout=2')
        other = self.allocate(1, '--exclusive', '--nodelist=pn3')
        with self.assertRaises(dvmtest.DBusError) as caught:
            self.grow(dvm, count=1)
        self.assertEqual(caught.exception.name, 'Timeout', caught.exception)
        self.wait_given_up(dvm, other)
        self.assertEqual(self.nodes_of(self.allocation), ['pn1', 'pn2'])


if __name__ == '__main__':
    dvmtest.main()
