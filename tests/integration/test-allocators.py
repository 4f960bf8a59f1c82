# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM that is started in the job of a scheduler has the nodes and slots of that job. Host names are those of logical nodes here."""

import getpass
import json
import os
import re
import signal
import subprocess
import time

import dvmtest
from dvmtest import NOTIFIED

RECORDED = os.path.join(os.environ['DVM_TEST_SOURCE'], 'tests', 'schedulers')
CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
RARELY = 'interval=100000'  # a question now and then comes too late for a test
LOCAL = 'launcher=local'  # its nodes are parts of this machine, whatever they are called


def recorded(*names):
    return os.path.join(RECORDED, *names)


JOBS = {
    'pbs': ({'PBS_JOBID': '12.server', 'PBS_NODEFILE': recorded('pbs', 'vnodes')}, [('n001', 3), ('n002', 1), ('n003', 2)]),
    'gridengine': ({'JOB_ID': '7', 'SGE_ROOT': '/opt/sge', 'PE_HOSTFILE': recorded('gridengine', 'pe-hostfile')},
                   [('node3.cluster.example', 4), ('node1.cluster.example', 4)]),
    'lsf': ({'LSB_JOBID': '5', 'LSB_MCPU_HOSTS': 'hostA 2 hostB 3'}, [('hostA', 2), ('hostB', 3)]),
}


# Is called as flux in an instance, and prints what is recorded.
FLUX = """#!/bin/sh
[ "$*" = 'resource R -s up' ] && exec cat '{path}'
echo "ERROR: asked for $*" >&2
exit 1
"""

# Are called as the commands of other schedulers, and print what is in the file; "hangs", "fails" and "says STATUS MESSAGE" are answers,
# too, and a file with the ending .once is what they say before, once.
TIME_COMMANDS = {
    'pbs': ('qstat', '-f 12.server'),
    'lsf': ('bjobs', '-noheader -o time_left stat 5'),
    'gridengine': ('qstat', f'-xml -r -s rs -u {getpass.getuser()}'),
}
TELLER = """#!/bin/sh
[ "$*" = '{words}' ] || {{ echo "asked for $*" >&2; exit 1; }}
mv '{path}.once' '{path}.now' 2>/dev/null || cp '{path}' '{path}.now'
case $(cat '{path}.now') in
  hangs) sleep 100000 & wait ;;
  fails) echo 'the server is down' >&2; exit 5 ;;
  says*) read -r _ status message <'{path}.now'; echo "$message" >&2; exit "$status" ;;
  *) exec cat '{path}.now' ;;
esac
"""


class Allocators(dvmtest.Case):
    def flux(self, answer=recorded('flux', 'mixed.json')):
        """The environment of an instance."""
        folder = self.place()
        path = os.path.join(folder, 'flux')
        with open(path, 'w', encoding='ascii') as file:
            file.write(FLUX.format(path=answer))
        os.chmod(path, 0o755)
        return {'FLUX_URI': 'local:///run/flux/local', 'PATH': f'{folder}:{os.environ["PATH"]}'}

    def rows(self, dvm):
        return [row for row in dvm.get_nodes() if row['Rank'] > 0]

    def test_nodes(self):
        jobs = dict(JOBS, flux=(self.flux(), [('a', 4), ('b', 4), ('c', 3)]))
        for name, (env, nodes) in jobs.items():
            dvm = self.dvm(settings=[LOCAL], env=env)
            rows = self.rows(dvm)
            self.assertEqual([(row['Name'], row['Slots']) for row in rows], nodes)
            self.assertEqual({row['Allocator'] for row in rows}, {name})
            done = dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=sum(slots for _, slots in nodes), map_by='slot',
                           personality='plain')
            self.assertEqual(done.state, NOTIFIED)
            self.assertEqual({(node, done.lines.count(node)) for node in done.lines}, set(nodes))
            self.finish(dvm)

    def test_time(self):
        """The end of an instance of Flux is that of the default session, and a set without one leaves it without."""
        with open(recorded('flux', 'mixed.json'), encoding='utf-8') as file:
            resources = json.load(file)
        resources['execution']['expiration'] = end = int(time.time()) + 5000
        answer = os.path.join(self.place(), 'limited.json')
        with open(answer, 'w', encoding='utf-8') as file:
            json.dump(resources, file)
        for env, wanted in [(self.flux(answer), end), (self.flux(), 0)]:
            dvm = self.dvm(settings=[LOCAL], env=env)
            self.assertAlmostEqual(self.expires(dvm), wanted, delta=3 if wanted else 0)
            self.finish(dvm)

    def test_time_of_flux(self):
        """Flux is asked again: an end that is moved, or taken away, is seen, and an answer that is none leaves what is known."""
        with open(recorded('flux', 'mixed.json'), encoding='utf-8') as file:
            resources = json.load(file)
        path = os.path.join(self.place(), 'moved.json')

        def answer(expiration):
            resources['execution']['expiration'] = expiration
            self.answer(path, json.dumps(resources))

        end = int(time.time()) + 5000
        answer(end)
        dvm = self.dvm(settings=[LOCAL, 'plugin-settings=allocator-flux.interval=1'], env=self.flux(path))
        self.assertAlmostEqual(self.expires(dvm), end, delta=3)
        answer(end + 1000)
        dvmtest.wait_until(lambda: abs(self.expires(dvm) - end - 1000) < 3, 'another end')
        self.answer(path, 'nonsense')
        dvmtest.wait_until(lambda: 'Flux does not say how long job of this instance lasts' in dvm.log(), 'the answer to be refused')
        self.assertAlmostEqual(self.expires(dvm), end + 1000, delta=3)
        answer(0)
        dvmtest.wait_until(lambda: self.expires(dvm) == 0, 'no end')
        self.finish(dvm)

    def expires(self, dvm):
        """When the default session ends, in seconds since the epoch."""
        return dvm.connection.call('/org/dvm/sessions/0', dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Session', 'ExpiresAt')[0] / 1e6

    def teller(self, name, answer):
        """The environment of a job in which the scheduler is asked for its time, and the file with the answer."""
        folder = self.place()
        path = os.path.join(folder, 'answer')
        self.answer(path, answer)
        program, words = TIME_COMMANDS[name]
        with open(os.path.join(folder, program), 'w', encoding='utf-8') as file:
            file.write(TELLER.format(words=words, path=path))
        os.chmod(file.name, 0o755)
        return {**JOBS[name][0], 'PATH': f'{folder}:{os.environ["PATH"]}'}, path

    def answer(self, path, text):
        with open(path + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(path + '.new', path)

    def test_time_of_others(self):
        """Schedulers that are asked by a command: their answer is the end of the default session, and a later one another end."""
        with open(recorded('gridengine', 'qstat.xml'), encoding='utf-8') as file:
            jobs = file.read().replace('@START@', time.strftime('%Y-%m-%dT%H:%M:%S'))
        with open(recorded('pbs', 'qstat-f'), encoding='utf-8') as file:
            job = file.read()
        for name, first, seconds, second, later in [
                ('pbs', job, 86400 - 5410, job.replace('walltime = 24:', 'walltime = 48:'), 2 * 86400 - 5410),
                ('lsf', '1:30 L\n', 5400, '-\n', None),
                ('gridengine', jobs, 86400, jobs.replace('>86400<', '>INFINITY<'), None)]:
            env, path = self.teller(name, first)
            dvm = self.dvm(settings=[LOCAL, f'plugin-settings=allocator-{name}.interval=1'], env=env)
            dvmtest.wait_until(lambda: abs(self.expires(dvm) - time.time() - seconds) < 60, f'the limit of {name}')
            self.answer(path, second)
            dvmtest.wait_until(lambda: abs(self.expires(dvm) - time.time() - later) < 60 if later else self.expires(dvm) == 0, 'another limit')
            self.finish(dvm)

    def test_time_untold(self):
        """A command that hangs, fails, is missing or talks nonsense leaves the session as it is, and the log says why, once."""
        env, path = self.teller('lsf', 'hangs')
        dvm = self.dvm(settings=[LOCAL, 'plugin-settings=allocator-lsf.interval=1 allocator-lsf.timeout=1'], env=env)
        said = 'LSF does not say how long job 5 lasts: '
        dvmtest.wait_until(lambda: said + 'bjobs has not ended within 1 s (allocator-lsf.timeout)' in dvm.log(), 'the command to be given up')
        self.assertEqual(self.expires(dvm), 0)
        self.answer(path, '2:00 L\n')
        dvmtest.wait_until(lambda: abs(self.expires(dvm) - time.time() - 7200) < 60, 'the limit')
        known = self.expires(dvm)
        self.answer(path, 'fails')
        dvmtest.wait_until(lambda: said + 'its command has ended with status 5, and said: the server is down' in dvm.log(), 'a failure')
        self.answer(path, 'nonsense\n')
        self.assertAlmostEqual(self.expires(dvm), known, delta=10)
        self.finish(dvm)
        self.assertEqual(dvm.log().count(said), 2)
        dvm = self.dvm(settings=[LOCAL], env={**env, 'PATH': '/usr/bin:/bin'})
        dvmtest.wait_until(lambda: said in dvm.log(), 'a command that is missing')
        self.finish(dvm)

    def check_end(self, dvm, *words):
        """The DVM ends with its job, in good order, and says why."""
        self.assertEqual(dvm.wait_exit(), 0)
        for word in words:
            self.assertIn(word, dvm.log())
        dvmtest.wait_until(lambda: dvm.processes() == [], 'all processes to end')

    def test_end_of_others(self):
        """A job that its scheduler knows no more, or shows as ended, takes the DVM along; a scheduler that has never known it does not."""
        with open(recorded('gridengine', 'qstat.xml'), encoding='utf-8') as file:
            jobs = file.read().replace('@START@', time.strftime('%Y-%m-%dT%H:%M:%S'))
        with open(recorded('pbs', 'qstat-f'), encoding='utf-8') as file:
            job = file.read()
        rows = []
        for name, first, last, reason in [
                ('pbs', job, 'says 153 qstat: Unknown Job Id 12.server\n', 'Job 12.server of PBS ends: its command has said: qstat: Unknown Job Id 12.server'),
                ('pbs', job, job.replace('job_state = R', 'job_state = C'), 'Job 12.server of PBS ends: qstat has said that it has ended (job_state C)'),
                ('lsf', '1:30 L RUN\n', 'says 255 Job <5> is not found\n', 'Job 5 of LSF ends: its command has said: Job <5> is not found'),
                ('gridengine', jobs, jobs.replace('>7<', '>70<'), 'Job 7 of Grid Engine ends: qstat does not name it among the running jobs')]:
            env, path = self.teller(name, last)
            dvm = self.dvm(settings=[LOCAL, f'plugin-settings=allocator-{name}.interval=1'], env=env)
            dvm.start(['sleep', '1000'], np=2)[0].wait_running()
            rows.append((dvm, path, first, last, reason))
        for dvm, path, first, _, _ in rows:
            dvmtest.wait_until(lambda: ' does not say how long job ' in dvm.log(), 'an answer of a scheduler that has not known the job yet')
            self.answer(path, first)
        for dvm, path, _, last, _ in rows:
            dvmtest.wait_until(lambda: self.expires(dvm) > 0, 'the limit')
            self.answer(path, last)
        for dvm, _, _, _, reason in rows:
            self.check_end(dvm, reason)

    def test_doubted_end(self):
        """One answer that the job is not there is no end, and the same words about something else are none either."""
        env, path = self.teller('lsf', '1:30 L RUN\n')
        dvm = self.dvm(settings=[LOCAL, 'plugin-settings=allocator-lsf.interval=1'], env=env)
        dvmtest.wait_until(lambda: self.expires(dvm) > 0, 'the limit')
        self.answer(path, '3:30 L RUN\n')
        self.answer(path + '.once', 'says 255 Job <5> is not found\n')
        dvmtest.wait_until(lambda: self.expires(dvm) - time.time() > 10800, 'the answer after that one')
        self.answer(path, 'says 255 Job <55> is not found, the file /opt/lsf5/conf is not found\n')
        dvmtest.wait_until(lambda: 'does not say how long job 5 lasts: its command has ended with status 255' in dvm.log(), 'a failure')
        self.answer(path, '4:30 L RUN\n')
        dvmtest.wait_until(lambda: self.expires(dvm) - time.time() > 14400, 'the job to be there')
        self.finish(dvm)

    def test_end_seen_by_loss(self):
        """Agents that are lost are a reason to ask at once. While the job runs they are started again."""
        env, path = self.teller('lsf', '1:30 L RUN\n')
        dvm = self.dvm(settings=[LOCAL], env=env)
        dvmtest.wait_until(lambda: self.expires(dvm) > 0, 'the limit')
        os.kill(dvm.agents[0], signal.SIGKILL)
        dvmtest.wait_until(lambda: 'is started again' in dvm.log(), 'a job that runs to have its agent back')
        dvmtest.wait_until(lambda: {row['StateName'] for row in self.rows(dvm)} == {'UP'}, 'all nodes')
        job = dvm.start(['sleep', '1000'], np=2)[0]
        job.wait_running()
        self.answer(path, '- EXIT\n')
        os.kill(dvm.agents[1], signal.SIGKILL)
        # Both questions are answered before the loss counts.
        reason = 'Job 5 of LSF ends: bjobs has said that it has ended (EXIT)'
        self.assertEqual(job.wait()['reason'], reason)
        self.check_end(dvm, reason)

    def test_file_gone(self):
        """The file of the job goes with it: with a scheduler that fails that is the end, with one that says that the job runs it is not."""
        env, path = self.teller('pbs', 'fails')
        nodes = os.path.join(self.place(), 'nodes')
        with open(recorded('pbs', 'vnodes'), encoding='ascii') as file:
            self.answer(nodes, file.read())
        with open(recorded('pbs', 'qstat-f'), encoding='utf-8') as file:
            job = file.read()
        dvm = self.dvm(settings=[LOCAL, 'plugin-settings=allocator-pbs.interval=1'], env={**env, 'PBS_NODEFILE': nodes})
        dvm.start(['sleep', '1000'], np=2)[0].wait_running()
        dvmtest.wait_until(lambda: ' does not say how long job ' in dvm.log(), 'a failure')
        self.answer(path, job)
        os.remove(nodes)
        dvmtest.wait_until(lambda: self.expires(dvm) > 0, 'the limit')
        self.answer(path, job.replace('walltime = 24:', 'walltime = 48:'))
        dvmtest.wait_until(lambda: self.expires(dvm) - time.time() > 100000, 'another limit')
        self.answer(path, 'fails')
        self.check_end(dvm, f'Job 12.server of PBS ends: PBS_NODEFILE, {nodes}, is not there any more, and its command has ended with status 5')

    def test_file_seen(self):
        """The scheduler is asked as soon as the file of the job is gone, and not when somebody has only written to it."""
        env, path = self.teller('pbs', 'fails')
        nodes = os.path.join(self.place(), 'nodes')
        for name, target in (('vnodes', nodes), ('qstat-f', path)):
            with open(recorded('pbs', name), encoding='utf-8') as file:
                self.answer(target, file.read())
        dvm = self.dvm(settings=[LOCAL, f'plugin-settings=allocator-pbs.{RARELY}'], env={**env, 'PBS_NODEFILE': nodes})
        dvmtest.wait_until(lambda: self.expires(dvm) > 0, 'the limit')
        self.answer(path, 'says 153 qstat: Unknown Job Id 12.server\n')
        os.remove(nodes)
        self.check_end(dvm, 'Job 12.server of PBS ends: its command has said: qstat: Unknown Job Id 12.server')

    def commands(self, place, env):
        """The environment of dvm-cli in a job, with all of its files in one place."""
        return {**os.environ, **env, **dict.fromkeys(('HOME', 'XDG_RUNTIME_DIR', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME'), place), 'DVM_BUS': 'none', 'G_DEBUG': 'fatal-warnings'}

    def test_two_starts(self):
        """Two jobs that start a DVM in the same moment have one each."""
        jobs = [self.commands(self.place(), {'LSB_JOBID': job, 'LSB_MCPU_HOSTS': 'hostA 1'}) for job in ('5', '6')]
        jobs[1].update((key, value) for key, value in jobs[0].items() if key != 'LSB_JOBID')

        def together(*words, check=True):
            """What a command says in both."""
            run = [subprocess.Popen([CLI, *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for env in jobs]
            said = [process.communicate(timeout=dvmtest.LIMIT)[0] for process in run]
            self.assertEqual([process.returncode for process in run] if check else [0, 0], [0, 0], said)
            return said

        self.addCleanup(together, 'stop', '--force', check=False)
        for _ in range(10 if LONG else 3):
            together('start', '--set', LOCAL)
            found = [json.loads(said) for said in together('status', '--json')]
            self.assertEqual([status['scheduler-job'] for status in found], ['lsf-5', 'lsf-6'])
            names = [status['name'] for status in found]
            self.assertIn(names, (['default', 'lsf-6'], ['lsf-5', 'default']))
            together('stop')

    def test_script_gone(self):
        """So it is when the script has ended in which the DVM was started, and again until the scheduler has seen that, too."""
        env, path = self.teller('lsf', '1:30 L RUN\n')
        place = self.place()
        environment = self.commands(place, env)

        def cli(*words, check=True):
            return subprocess.run([CLI, *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=check, timeout=dvmtest.LIMIT).stdout

        def left():
            return int(re.search(r'Time left: (?:(\d+)h)?', cli('session', 'show', '0'))[1] or 0)

        self.addCleanup(cli, 'stop', '--force', check=False)
        start = f'{CLI} start --json --log {place}/log --set {LOCAL} --set plugin-settings=allocator-lsf.{RARELY} && read -r word'
        with subprocess.Popen(['sh', '-c', start], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as script:
            pid = next(row['pid'] for row in map(json.loads, script.stdout) if row.get('ready'))
            dvmtest.wait_until(lambda: left() == 1, 'the limit')
            self.answer(path, '3:30 L RUN\n')
            script.stdin.close()
        dvmtest.wait_until(lambda: left() == 3, 'the question after the end of the script')
        self.answer(path, '- EXIT\n')
        dvmtest.wait_until(lambda: not os.path.exists(f'/proc/{pid}'), 'the DVM to end')
        with open(f'{place}/log', encoding='utf-8') as file:
            self.assertIn('Job 5 of LSF ends: bjobs has said that it has ended (EXIT)', file.read())

    def lsf_tasks(self, *lines):
        path = os.path.join(self.place(), 'affinity')
        with open(path, 'w', encoding='ascii') as file:
            file.writelines(f'{line}\n' for line in lines)
        return {'LSB_JOBID': '5', 'LSB_AFFINITY_HOSTFILE': path}

    def cpus_of(self, dvm, **options):
        """Those that a process of a job may use."""
        done = dvm.run(['grep', 'Cpus_allowed_list', '/proc/self/status'], np=1, personality='plain', **options)
        self.assertEqual(done.state, NOTIFIED)
        return done.lines[0].split()[1]

    def test_cpus(self):
        """The cpus that the scheduler names are those of the node: for its agent, its slots, and processes, bound or not."""
        own = sorted(os.sched_getaffinity(0))
        if len(own) < 2:
            self.skipTest('one cpu alone')
        dvm = self.dvm(settings=[LOCAL], env=self.lsf_tasks(f'n1 {own[-1]}'))
        self.assertEqual([(row['Name'], row['Slots']) for row in self.rows(dvm)], [('n1', 1)])
        self.assertEqual(self.cpus_of(dvm), str(own[-1]))
        self.assertEqual(self.cpus_of(dvm, bind_to='none'), str(own[-1]))
        self.assertEqual(dvm.run([os.environ['DVM_TEST_RING']], np=1).state, NOTIFIED)
        refused = dvm.run(['true'], np=2, map_by='hwthread:OVERSUBSCRIBE', bind_to='hwthread')
        self.assertEqual(refused.state, dvmtest.MAP_FAILED)
        # An agent that comes back is told, too.
        os.kill(dvm.agents[0], signal.SIGKILL)
        dvmtest.wait_until(lambda: self.rows(dvm)[0]['StateName'] == 'DOWN', 'the loss')
        dvmtest.wait_until(lambda: self.rows(dvm)[0]['StateName'] == 'UP', 'the node to be back')
        self.assertEqual(self.cpus_of(dvm, bind_to='none'), str(own[-1]))
        self.finish(dvm)

    def allotted(self, dvm):
        """Memory of each node, in MiB."""
        return {row['Name']: row['MemoryAllotted'] / 2**20 for row in self.rows(dvm)}

    def memory_of(self, dvm):
        """What PMIx tells a process of the memory of its node, in MiB."""
        done = dvm.run([os.environ['DVM_TEST_PMIX_CLIENT'], 'keys', 'pmix.hname', 'pmix.pmem!'], np=1, map_by='slot')
        self.assertEqual(done.state, NOTIFIED, done)
        name, size = [line.split('=', 1)[1] for line in done.lines]
        return {name: int(size) / 2**20}

    def test_memory(self):
        """The memory that the scheduler gives is that of the node, for people and for processes; an agent that comes back is told, too."""
        env = {'SLURM_JOB_ID': '7', 'SLURM_JOB_NODELIST': 'n[1-2]', 'SLURM_TASKS_PER_NODE': '1(x2)', 'SLURM_JOB_CPUS_PER_NODE': '2,1',
               'SLURM_MEM_PER_CPU': '30'}
        dvm = self.dvm(settings=[LOCAL, 'plugin-settings=allocator-slurm.interval=0'], env=env)
        self.assertEqual(self.allotted(dvm), {'n1': 60, 'n2': 30})
        self.assertEqual(self.memory_of(dvm), {'n1': 60})
        os.kill(dvm.agents[0], signal.SIGKILL)
        dvmtest.wait_until(lambda: self.rows(dvm)[0]['StateName'] == 'DOWN', 'the loss')
        dvmtest.wait_until(lambda: [row['StateName'] for row in self.rows(dvm)] == ['UP'] * 2, 'the node to be back')
        self.assertEqual(self.allotted(dvm), {'n1': 60, 'n2': 30})
        self.finish(dvm)

    def test_memory_unsaid(self):
        """Without a scheduler's word there is the memory of the machine, or what a cgroup leaves of it; more than that is nobody's to give."""
        with open('/proc/meminfo', encoding='ascii') as file:
            machine = int(file.readline().split()[1]) / 2**10
        dvm = self.dvm(arguments=['--nodes=1'])
        self.assertEqual(self.allotted(dvm), {'node1': 0})
        (usable,) = self.memory_of(dvm).values()
        self.assertTrue(0 < usable <= machine, usable)
        self.finish(dvm)
        env = {'SLURM_JOB_ID': '7', 'SLURM_JOB_NODELIST': 'n1', 'SLURM_MEM_PER_NODE': '1000T'}
        dvm = self.dvm(settings=[LOCAL, 'plugin-settings=allocator-slurm.interval=0'], env=env)
        self.assertEqual(self.allotted(dvm), {'n1': 1000 * 2**20})
        self.assertEqual(self.memory_of(dvm), {'n1': usable})
        self.finish(dvm)

    def test_memory_of_others(self):
        """A command tells it after the start, and another size later: of nodes that are up, and of the jobs that come then."""
        with open(recorded('pbs', 'qstat-f'), encoding='utf-8') as file:
            job = file.read()
        env, path = self.teller('pbs', job)
        dvm = self.dvm(settings=[LOCAL, 'plugin-settings=allocator-pbs.interval=1'], env=env)
        dvmtest.wait_until(lambda: self.allotted(dvm) == {'n001': 8192, 'n002': 8192, 'n003': 0}, 'the memory of two nodes')
        self.answer(path, job.replace('n001:ncpus=4:mem=8388608kb', 'n001:ncpus=4:mem=20mb'))
        dvmtest.wait_until(lambda: self.allotted(dvm) == {'n001': 20, 'n002': 8192, 'n003': 0}, 'less memory')
        self.assertEqual(self.memory_of(dvm), {'n001': 20})
        self.answer(path, job.replace('exec_vnode', 'exec_else'))
        dvmtest.wait_until(lambda: set(self.allotted(dvm).values()) == {0}, 'no word of memory')
        self.finish(dvm)

    def test_other_cpus(self):
        """Cpus that this machine does not have, as of another numbering: the agent keeps its own, and the log says so."""
        dvm = self.dvm(settings=[LOCAL], env=self.lsf_tasks('n1 60000'))
        dvmtest.wait_until(lambda: 'The scheduler gives the cpus pu:60000 of this node' in dvm.log(), 'a sentence on the cpus')
        with open('/proc/self/status', encoding='ascii') as file:
            own = next(line.split()[1] for line in file if line.startswith('Cpus_allowed_list'))
        self.assertEqual(self.cpus_of(dvm, bind_to='none'), own)
        self.finish(dvm)

    def test_named_nodes(self):
        """Nodes that somebody names are those of the DVM, in the job of a scheduler, too."""
        for arguments in (['--nodes=2'], ['--host=node1,node2']):
            dvm = self.dvm(settings=[LOCAL], env=JOBS['pbs'][0], arguments=arguments)
            self.assertEqual([(row['Name'], row['Allocator']) for row in self.rows(dvm)],
                             [('node1', 'hosts'), ('node2', 'hosts')])

    def test_number_alone(self):
        """The number of a job of Slurm without its nodes: this machine, and the log says why."""
        dvm = self.dvm(env={'SLURM_JOB_ID': '77'})
        self.assertEqual([row['Allocator'] for row in self.rows(dvm)], ['hosts'])
        self.assertIn('SLURM_JOB_ID is “77”, and neither SLURM_JOB_NODELIST nor SLURM_NODELIST names nodes', dvm.log())
        self.finish(dvm)
        dvm = self.dvm()
        self.finish(dvm)
        self.assertNotIn('SLURM', dvm.log())

    def test_mistakes(self):
        """A job that cannot be read is no reason to take this machine."""
        for env, words in [({'PBS_JOBID': '12', 'PBS_NODEFILE': '/no/such/file'}, 'PBS_NODEFILE names “/no/such/file”'),
                           ({'LSB_JOBID': '5'}, 'none of LSB_MCPU_HOSTS, LSB_DJOB_HOSTFILE and LSB_HOSTS'),
                           (dict(self.flux(), FLUX_JOB_ID='f12'), 'has ended with status 1, and said: ERROR: asked for job info f12 R'),
                           ({'JOB_ID': '7', 'SGE_ROOT': '/', 'PE_HOSTFILE': '/'}, 'PE_HOSTFILE names “/”')]:
            dvm = self.try_dvm(settings=[LOCAL], env=env)
            self.assertTrue(dvm.answer.startswith('ERROR: '), dvm.answer)
            self.assertIn(words, dvm.answer)
            self.assertEqual(dvm.process.wait(dvmtest.LIMIT), 1)


if __name__ == '__main__':
    dvmtest.main()
