# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM in jobs of a real Grid Engine: nodes and slots, agents by qrsh, time, and ends of all kinds."""

import json
import os
import re
import signal
import unittest

import dvmtest
import gridengine
import testhosts

BUILD = os.environ['DVM_TEST_BUILD']
CLI = os.path.join(BUILD, 'cli', 'dvm-cli')
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
NAMES = ('dvmd', 'dvm-agent', 'dvm-guard', 'dvm-pmix', 'dvm-cli', 'qrsh')
# A rank that says where it is, and what ends it.
RANK = '''trap 'echo "$(hostname) had TERM" >>{folder}/ended; exit 0' TERM
echo $(hostname) >>{folder}/ranks
while :; do sleep 0.1; done
'''


class GridEngine(dvmtest.Case):
    def setUp(self):
        super().setUp()
        reason = gridengine.explain_absence()
        if reason:
            self.skipTest(reason)
        self.folder = self.place()
        os.chmod(self.folder, 0o755)

    def clear(self):
        self.doCleanups()
        super().clear()

    def make(self, count=3, **options):
        self.hosts = testhosts.Hosts(count, kept=[self.folder, BUILD])
        self.addCleanup(self.hosts.close)
        self.cluster = gridengine.GridEngine(self.hosts, self.folder, **options)
        self.addCleanup(self.cluster.stop)

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding='utf-8') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def cli(self, *args):
        return self.hosts[0].run([CLI, *args], env={'G_DEBUG': 'fatal-warnings'}).stdout

    def submit(self, script, *words):
        """A job whose script has dvm-cli, and a command that starts a DVM."""
        head = f'cli() {{ {CLI} "$@"; }}\nstart() {{ cli start --bus none --log {self.folder}/log "$@"; }}\n'
        return self.cluster.submit(head + script, *words, environment={'G_DEBUG': 'fatal-warnings'})

    def submit_ranks(self, script, *words, options=''):
        """One whose DVM, started with such options, runs 4 ranks, and which goes on with a script."""
        path = os.path.join(self.folder, 'rank')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(RANK.format(folder=self.folder))
        job = self.submit(f'start {options} || exit\ncli run --personality plain -n 4 sh {path} &\n{script}', *words)
        self.wait_for(lambda: len(self.read('ranks').split()) == 4, job, 'four ranks')
        return job

    def wait_for(self, condition, job, what):
        testhosts.wait_until(lambda: condition() or self.cluster.show(job) is None, what)
        self.assertTrue(condition(), f'{what}: {self.cluster.output(job)} {self.read("log")} {self.cluster.log()}')

    def go(self):
        with open(os.path.join(self.cluster.root, 'go'), 'w', encoding='utf-8'):
            pass

    def wait_output(self, job):
        """What a job has written that has ended."""
        self.cluster.wait_gone(job)
        return self.cluster.output(job)

    def list_daemons(self, host):
        """(pid, name) of those of ours, and of the commands that start and end them."""
        found = []
        for pid in host.processes():
            try:
                with open(f'/proc/{pid}/comm', encoding='utf-8') as comm:
                    found += [(pid, name) for name in [comm.read().strip()] if name in NAMES]
            except OSError:
                pass
        return found

    def find_agent(self, host):
        agents = [pid for pid, name in self.list_daemons(host) if name == 'dvm-agent']
        self.assertEqual(len(agents), 1)
        return agents[0]

    def find_left(self):
        return [f'{name} on {host.name}' for host in self.hosts for _, name in self.list_daemons(host)]

    def assert_nothing_left(self):
        testhosts.wait_until(lambda: not self.find_left(), f'nothing of the DVM is left, of {self.find_left()}: {self.read("log")}')
        for host in self.hosts:
            self.assertEqual(os.listdir(host.path('/dev/shm')), [], host.name)

    def test_job(self):
        self.make()
        job = self.submit_ranks('wait', '-pe', 'dvm', '4', '-l', 'h_rt=600')
        # Hosts have two slots, and the first one is that of the script.
        places = self.cluster.list_places(job)
        nodes = [node for node in json.loads(self.cli('nodes', '--json')) if node['rank'] > 0]
        self.assertEqual({node['name']: node['slots'] for node in nodes}, places)
        self.assertEqual(sorted(places.values()), [1, 1, 2])
        self.assertEqual(sorted(self.read('ranks').split()), sorted(host for host, slots in places.items() for _ in range(slots)))
        self.assertEqual({node['name']: node['launcher'] for node in nodes if node['rank'] > 1}, {node['name']: 'gridengine' for node in nodes if node['rank'] > 1})
        self.assertEqual({node['allocator'] for node in nodes}, {'gridengine'})
        self.assertEqual(json.loads(self.cli('status', '--json'))['scheduler-job'], f'gridengine-{job}')
        left = re.search(r'Time left: (\d+)m', self.cli('session', 'show', '0'))
        self.assertEqual(left and int(left[1]), 9)
        self.cluster.run(['qdel', job])
        self.cluster.wait_gone(job)
        self.assert_nothing_left()
        self.assertEqual(sorted(self.read('ended').splitlines()), sorted(f'{host} had TERM' for host, slots in places.items() for _ in range(slots)))
        self.assertIn(f'Job {job} of Grid Engine ends: ', self.read('log'))


@unittest.skipUnless(LONG, 'DVM_TEST_SOAK=1 runs it')
class Others(GridEngine):
    """What the short run does not try."""

    test_job = None

    def test_private(self):
        """A run has a DVM of its own on the nodes of the job, and both end with the script."""
        self.make()
        job = self.submit('cli run --personality plain hostname | sort', '-pe', 'dvm', '6')
        lines = self.wait_output(job).splitlines()
        self.assertEqual(lines, sorted([host.name for host in self.hosts] * 2))
        self.assert_nothing_left()

    def test_left_behind(self):
        """The script ends, and has not stopped its DVM: Grid Engine is asked at once, and not only after the interval."""
        self.make()
        job = self.submit_ranks('while [ ! -e $SGE_ROOT/go ]; do sleep 0.1; done; exit 0', '-pe', 'dvm', '4', options='--set plugin-settings=allocator-gridengine.interval=100000')
        self.go()
        self.cluster.wait_gone(job)
        self.assert_nothing_left()
        self.assertRegex(self.read('log'), f'Job {job} of Grid Engine ends')

    def test_limit(self):
        """Grid Engine ends a job at its limit."""
        self.make()
        job = self.submit_ranks('wait', '-pe', 'dvm', '4', '-l', 'h_rt=15')
        self.cluster.wait_gone(job)
        self.assert_nothing_left()
        self.assertRegex(self.read('log'), f'Job {job} of Grid Engine ends')

    def test_refused(self):
        """A parallel environment that gives tasks to nobody: the words of Grid Engine are the reason."""
        self.make(environment={'control_slaves': 'FALSE'})
        job = self.submit('start && echo wrong', '-pe', 'dvm', '4')
        said = self.wait_output(job)
        self.assertNotIn('wrong', said)
        self.assertIn('n1: not reached: error: executing task of job 1 failed: execution daemon on host "n1" didn\'t accept task', said)
        self.assert_nothing_left()

    def test_serial(self):
        """A job without a parallel environment has a slot on its host."""
        self.make(1)
        job = self.submit('start; cli nodes --json; cli stop')
        said = self.wait_output(job)
        nodes = json.loads(said[said.index('['):said.rindex(']') + 1])
        self.assertEqual([(node['name'], node['slots'], node['allocator']) for node in nodes[1:]], [('n0', 1, 'gridengine')])
        self.assert_nothing_left()

    def test_binding(self):
        """The core that Grid Engine names is all that the ranks of a node have."""
        self.make(2)
        job = self.submit('cut -d" " -f4 $PE_HOSTFILE\nstart\ncli run --personality plain -n 2 grep Cpus_allowed_list /proc/self/status\ncli stop', '-pe', 'dvm', '2', '-binding', 'pe', 'linear:1')
        lines = self.wait_output(job).splitlines()
        cores, lists = [line for line in lines if ',' in line and 'Cpus' not in line], [line for line in lines if 'Cpus_allowed_list' in line]
        self.assertEqual(len(cores), 2, lines)
        self.assertEqual(len(lists), 2, lines)
        for line in lists:
            self.assertRegex(line, r'^Cpus_allowed_list:\s*\d+$')
        self.assert_nothing_left()

    def test_array(self):
        """Tasks of an array are jobs of their own, each with its DVM, where they share hosts, too."""
        self.make(2)
        # Both start in the same moment, as far as Grid Engine does, and each goes on until the other one is there.
        job = self.submit('start; touch $SGE_ROOT/task-$SGE_TASK_ID; until [ -e $SGE_ROOT/task-1 ] && [ -e $SGE_ROOT/task-2 ]; do sleep 0.1; done; '
                          'cli status --json; cli run --personality plain hostname; cli stop', '-pe', 'dvm', '2', '-t', '1-2')
        said = self.wait_output(job)
        names = sorted(re.findall(r'"scheduler-job": ?"([^"]*)"', said))
        self.assertEqual(names, [f'gridengine-{job}-1', f'gridengine-{job}-2'], said)
        self.assertEqual(len(re.findall(r'^n[01]$', said, re.MULTILINE)), 4, said)
        self.assert_nothing_left()

    def test_hanging(self):
        """An agent that hangs ends with the DVM, though the job has no slot left on its host for a task that would end it."""
        self.make()
        job = self.submit('start; echo started; while [ ! -e $SGE_ROOT/go ]; do sleep 0.1; done; cli stop; echo stopped', '-pe', 'dvm', '3')
        self.wait_for(lambda: 'started' in self.cluster.output(job), job, 'the DVM')
        os.kill(self.find_agent(self.hosts[1]), signal.SIGSTOP)
        self.go()
        self.assertIn('stopped', self.wait_output(job))
        self.assert_nothing_left()

    def test_killed(self):
        """An agent that is killed is started again, and Grid Engine leaves the job as it is."""
        self.make()
        job = self.submit('start; cli run --personality plain -n 6 hostname; while [ ! -e $SGE_ROOT/go ]; do sleep 0.1; done; cli run --personality plain -n 6 hostname; cli stop', '-pe', 'dvm', '6')
        self.wait_for(lambda: len(re.findall('^n', self.cluster.output(job), re.MULTILINE)) == 6, job, 'six ranks')
        [pid] = [node['pid'] for node in json.loads(self.cli('nodes', '--json')) if node['name'] == 'n1']
        os.kill(self.find_agent(self.hosts[1]), signal.SIGKILL)
        self.wait_for(lambda: [node['state'] for node in json.loads(self.cli('nodes', '--json')) if node['name'] == 'n1' and node['pid'] not in (0, pid)] == ['UP'], job, 'the agent is back')
        self.assertIn('ended by signal 9', self.read('log'))
        self.go()
        said = self.wait_output(job)
        self.assertEqual(len(re.findall('^n1$', said, re.MULTILINE)), 4, said)
        self.assert_nothing_left()


if __name__ == '__main__':
    dvmtest.main()
