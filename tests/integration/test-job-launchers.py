# SPDX-License-Identifier: LGPL-2.1-or-later
"""Agents that the commands of schedulers start. Scripts play these commands: they take the words, the standard input and the
output as tests/schedulers says of each, and start what they are given on this machine."""

import contextlib
import os
import shutil
import signal
import stat
import subprocess

import dvmtest
import launching
import leftovers
from dvmtest import NOTIFIED

# What all do with the name of a node, or the rank of one: those of bad days are played here.
COMMON = '''#!/bin/sh
come_to() {
    echo "$command $1" >>PLACE/calls
    case $1 in
        refuses) echo "$command: connect to refuses: Connection refused" >&2; exit 255 ;;
        fails) echo "$command: no task for you" >&2; exit 3 ;;
        mute) exit 5 ;;
        killed) kill -KILL $$ ;;
        hangs) echo "$command: waits" >&2; exec sleep 1000000 ;;
        warns) echo "$command: warning: the queue is old" >&2 ;;
    esac
}
'''

# The task of a batch system: its environment is that of the job, and what it writes is for the files of the job. It goes on without the command.
TASK = '''
    cd PLACE
    env -i PATH="PLACE/node:/usr/bin:/bin" DVM_TEST_MARK="$DVM_TEST_MARK" TMPDIR="$TMPDIR" HOME="$HOME" setsid "$@" </dev/null >>PLACE/job.out 2>>PLACE/job.err &
    wait $!
'''

COMMANDS = {
    'blaunch': '''command=blaunch
[ "$1 $2" = '-no-shell -z' ] || { echo "blaunch: $*" >&2; exit 1; }
host=$3; shift 3
come_to "$host"
exec "$@"
''',
    # The login shell is one that has never seen a line of several lines.
    'qrsh': '''command=qrsh
[ "$1 $2" = '-inherit -V' ] || { echo "qrsh: $*" >&2; exit 1; }
host=$3; shift 3
come_to "$host"
SHELL -c "$*"
status=$?
# What sge_qmaster does with the job then.
[ $status -le 128 ] || echo "task of $host failed - killing job" >>PLACE/job-killed
exit $status
''',
    'pbs_tmrsh': f'''command=pbs_tmrsh
host=$1; shift
come_to "$host"
{TASK}
''',
    'pbsdsh': f'''command=pbsdsh
[ "$1 $3" = '-h --' ] || {{ echo "pbsdsh: $*" >&2; exit 1; }}
host=$2; shift 3
come_to "$host"
{TASK}
exit 0
''',
    'flux': '''command=flux
case $* in
    'resource R -s up' | 'job info f12 R')
        case $FLUX_URI in *slow*) until [ -e PLACE/go ]; do sleep 0.05; done ;; esac
        exec cat PLACE/resources.json ;;
    'exec -q -d / -j f12 -r '*) shift 7; base=0 ;;
    'exec -q -d / -r '*) shift 5; base=3 ;;
    *) echo "flux: $*" >&2; exit 1 ;;
esac
come_to "$(sed -n "$(($1 - base + 1))p" PLACE/names)"
shift
cd /
exec "$@"
''',
    # An application of one rank, to which nobody writes.
    'mpiexec': '''command=mpiexec
[ "$1 $2 $3 $4 $5 $6 $7 $9" = '-n 1 --ppn 1 --cpu-bind none --hosts --' ] || { echo "mpiexec: $*" >&2; exit 1; }
host=$8; shift 9
come_to "$host"
export PMI_RANK=0 PMI_SIZE=1 PALS_APID=1.2 PALS_NODEID=0 PALS_FD=77
"$@" </dev/null
''',
    # Its standard input is a pair of sockets that nobody writes to. It changes some words with a percent sign.
    'pdsh': '''command=pdsh
[ "$1 $2 $3" = '-S -N -w' ] || { echo "pdsh: $*" >&2; exit 1; }
host=$4; shift 4
come_to "$host"
sh -c "$(printf %s "$*" | sed "s/%h/$host/g; s/%%/%/g")" </dev/null
status=$?
[ $status = 0 ] || echo "pdsh@here: $host: ssh exited with exit code $status" >&2
exit $status
''',
}

# launcher: (its command, the environment of a job with the nodes n1 and n2)
JOBS = {
    'lsf': ('blaunch', {'LSB_JOBID': '5', 'LSB_MCPU_HOSTS': 'NODES*2'}),
    'gridengine': ('qrsh', {'JOB_ID': '7', 'SGE_ROOT': '/opt/sge', 'PE_HOSTFILE': 'PLACE/pe'}),
    'pbs': ('pbs_tmrsh', {'PBS_JOBID': '12.server', 'PBS_NODEFILE': 'PLACE/nodes'}),
    'flux': ('flux', {'FLUX_URI': 'local:///run/flux/local'}),
    'pdsh': ('pdsh', {}),
    'pals': ('mpiexec', {'PBS_JOBID': '12.server', 'PBS_NODEFILE': 'PLACE/nodes'}),
}
BY_FILE = ('pbs', 'pdsh', 'pals')
BY_NAME = ('pdsh', 'pals')  # used if somebody asks for them
WORDS = ["it's", '$HOME', '%h', 'a\\b', '!x', '']
BAD = {
    'refuses': ('LaunchFailed', 'refuses: refused: ', 'Connection refused'),
    'fails': ('LaunchFailed', 'fails: not reached: ', 'no task for you'),
    'mute': ('LaunchFailed', 'mute: not reached: ', 'status 5'),
    'killed': ('LaunchFailed', 'killed: the launcher\'s command was ended by signal 9', ''),
    'hangs': ('Timeout', 'hangs: timeout: its agent has not started within 1 s', ': waits'),
}


class JobLaunchers(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.launches = []
        self.folder = self.place()
        self.tokens = os.path.join(self.folder, 'tokens')
        self.agent = self.script('agent', launching.AGENT)

    def clear(self):
        for launch in self.launches:
            launch.close()
        # The tasks of a batch system go on without the command that has started them, also when the test has failed.
        dvmtest.wait_until(lambda: not self.kill_tasks(), 'no task of the test is left')
        super().clear()

    def kill_tasks(self):
        """All processes that have the test's own folder among their words; returns how many there were."""
        own = (self.folder + '/').encode()
        tasks = [int(name) for name in os.listdir('/proc') if name.isdigit() and own in leftovers._read(f'/proc/{name}/cmdline')]
        for pid in tasks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(tasks)

    def script(self, name, text):
        """The file may be in use."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path + '.new', 0o755)
        os.rename(path + '.new', path)
        return path

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding='utf-8') as file:
            return file.read()

    def wait_for(self, *names):
        for name in names:
            dvmtest.wait_until(lambda one=name: os.path.exists(os.path.join(self.folder, one)), f'{name} is there')

    def job(self, launcher, names=('n1', 'n2'), command=None, **more):
        """The environment of a job with these nodes, in which that command is found."""
        command = command or JOBS[launcher][0]
        text = (COMMON + COMMANDS[command]).replace('PLACE', self.folder)
        self.script(f'{command}/{command}', text.replace('SHELL', 'csh' if os.path.exists('/bin/csh') else 'sh'))
        self.script('nodes', ''.join(f'{name}\n' * 2 for name in names))
        self.script('names', ''.join(f'{name}\n' for name in names))
        self.script('pe', ''.join(f'{name} 2 all.q@{name} UNDEFINED\n' for name in names))
        self.script('resources.json', '{"version": 1, "execution": {"R_lite": [{"rank": "3-%d", "children": {"core": "0-1"}}], "nodelist": [%s]}}'
                    % (len(names) + 2, ', '.join(f'"{name}"' for name in names)))
        pairs = ' '.join(f'{name} 2' for name in names)
        variables = {key: value.replace('PLACE', self.folder).replace('NODES*2', pairs) for key, value in JOBS[launcher][1].items()}
        return {'PATH': f'{self.folder}/{command}:/usr/bin:/bin', **variables, **more}

    def launch(self, launcher, nodes, agent, env, **values):
        if launcher in BY_FILE:
            values.setdefault('directory', self.tokens)
        environment = {key: value for key, value in os.environ.items() if key not in ('XDG_RUNTIME_DIR', 'G_DEBUG')}
        launch = launching.Launch(launcher, nodes, agent, start=lambda argv, **options: subprocess.Popen(
            argv, env={**environment, 'LD_LIBRARY_PATH': '/no/such place', **env}, **options), **values)
        self.launches.append(launch)
        return launch

    def end(self, *launches):
        for launch in launches:
            launch.order('terminate')
        for launch in launches:
            self.assertEqual(launch.expect('terminated'), 'terminated done')
            self.assertEqual(launch.close(), 0, launch.log)

    # ---- DVMs ----

    def check_dvm(self, launcher, env, **options):
        """It has the nodes of its job, whose agents that launcher has started, and leaves nothing behind."""
        dvm = self.dvm(env=env, **options)
        rows = [row for row in dvm.get_nodes() if row['Rank'] > 0]
        self.assertEqual([(row['Name'], row['Launcher']) for row in rows], [('n1', launcher), ('n2', launcher)])
        done = dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=4, map_by='slot', personality='plain')
        self.assertEqual(done.state, NOTIFIED)
        self.assertEqual(sorted(done.lines), ['n1', 'n1', 'n2', 'n2'])
        self.finish(dvm)
        cache = os.path.join(dvm.home, '.cache', 'dvm', 'agents')
        self.assertEqual(os.path.exists(cache), launcher in BY_FILE)
        self.assertEqual(os.listdir(cache) if launcher in BY_FILE else [], [])

    def test_dvms(self):
        for launcher, (command, _) in JOBS.items():
            if launcher not in BY_NAME:
                self.check_dvm(launcher, self.job(launcher))
                self.assertEqual(sorted(self.read('calls').splitlines()[-2:]), [f'{command} n1', f'{command} n2'])
        self.check_dvm('pdsh', self.job('pdsh'), settings=['launcher=pdsh'], arguments=['--host=n1:2,n2:2'])
        self.check_dvm('pals', self.job('pals'), settings=['launcher=pals'])

    def test_lost_node(self):
        """A node that does not come is told with what the command has said; the others are a DVM."""
        dvm = self.dvm(env=self.job('lsf', ('n1', 'fails')), arguments=['--allow-missing'])
        self.assertEqual({row['Name']: row['State'] for row in dvm.get_nodes() if row['Rank'] > 0 and row['Name'] == 'n1'}.keys(), {'n1'})
        self.assertIn('fails: not reached: blaunch: no task for you', dvm.log())
        self.assertEqual(dvm.run(['sh', '-c', 'echo $DVM_NODE'], np=2, map_by='slot', personality='plain').lines, ['n1', 'n1'])

    def test_nodes_untold(self):
        """An agent that is lost where the nodes of the job cannot be read any more: nothing is started there, and nobody logs in to a node of the scheduler."""
        env = self.job('gridengine')
        self.script('qrsh/qstat', '#!/bin/sh\necho "<job_info><job_list><JB_job_number>7</JB_job_number><state>r</state></job_list></job_info>"\n')
        self.script('qrsh/ssh', f'#!/bin/sh\necho "$*" >>{self.folder}/logins\nexit 255\n')
        dvm = self.dvm(env=env)
        dvm.start(['sleep', '1000'], np=2, map_by='slot')[0].wait_running()
        os.remove(os.path.join(self.folder, 'pe'))
        os.kill(dvm.agents[1], signal.SIGKILL)
        dvmtest.wait_until(lambda: 'cannot be told any more, and so nothing is started: PE_HOSTFILE' in dvm.log(), 'the start to be refused')
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'logins')))
        self.assertNotIn('Job 7 of Grid Engine ends', dvm.log())
        # Nobody is left on that node who would remove the directory of the agent.
        for name in os.listdir(os.path.join(dvm.runtime, 'dvm')):
            if name.startswith('agent-') and name.endswith('-2'):
                shutil.rmtree(os.path.join(dvm.runtime, 'dvm', name))
        self.finish(dvm)

    def test_killed_controller(self):
        """Agents without a standard input from elsewhere notice it all the same."""
        dvm = self.dvm(env=self.job('pbs'), settings=['controller-grace=1'])
        job, _, _ = dvm.start(['sleep', '1000'], np=4, map_by='slot')
        job.wait_running()
        dvm.process.kill()
        dvm.wait_exit()
        dvmtest.wait_until(lambda: dvm.processes() == [], 'the processes to end')

    def test_outside(self):
        """A launcher that is for jobs says that there is none."""
        for launcher, variables in (('lsf', 'LSB_JOBID'), ('slurm', 'SLURM_JOB_ID, SLURM_JOBID'), ('pbs', 'PBS_JOBID')):
            dvm = self.try_dvm(arguments=[f'--launcher={launcher}', '--host=n1'])
            self.assertIn(f'the launcher "{launcher}" starts agents in the job of a scheduler, and the DVM is in none of that one '
                          f'(not set: {variables})', dvm.answer + dvm.log())
            dvm.wait_exit()
        dvm = self.try_dvm(env=self.job('lsf'), arguments=['--launcher=lsf', '--host=n1,n3'])
        self.assertIn('the launcher that was asked for does not start agents there', dvm.answer + dvm.log())
        dvm.wait_exit()

    # ---- launchers alone ----

    def test_agents(self):
        """An agent gets its words, its token, PATH and LD_LIBRARY_PATH; nobody else sees the token, and it is ended on its node."""
        # Another run of this test may be under way.
        token = f'dvm1:token-of-the-test-{os.getpid()}'
        agent = self.script('environment', launching.AGENT.replace('read -r token', 'env >"$place/$last.env"\nread -r token'))
        jobs = {launcher: (launcher, self.job(launcher)) for launcher in JOBS}
        jobs['torque'] = ('pbs', self.job('pbs', command='pbsdsh'))
        jobs['job'] = ('flux', self.job('flux', FLUX_JOB_ID='f12'))
        launches = {}
        for name, (launcher, env) in jobs.items():
            place = os.path.join(self.folder, f'of-{name}')
            launches[name] = self.launch(launcher, ['n2'], [agent, place, *WORDS], env, token=token, grace=1)
        for name, (_, env) in jobs.items():
            self.assertEqual(launches[name].expect('launched'), 'launched done', name)
            self.wait_for(f'of-{name}/n2.pid')
            self.assertEqual(self.read(f'of-{name}/n2.argv').split('\n'), [os.path.join(self.folder, f'of-{name}'), *WORDS, '--node', 'n2', ''])
            self.assertEqual(self.read(f'of-{name}/n2.token'), token + '\n')
            variables = self.read(f'of-{name}/n2.env').splitlines()
            self.assertIn(f'PATH={env["PATH"]}', variables)
            self.assertIn('LD_LIBRARY_PATH=/no/such place', variables)
            self.assertEqual([one for one in variables if one.startswith(('PMI_', 'PALS_'))], [])
        for pid in [int(name) for name in os.listdir('/proc') if name.isdigit()]:
            if pid not in [os.getpid(), *(launch.process.pid for launch in launches.values())]:
                self.assertNotIn(token.encode(), leftovers._read(f'/proc/{pid}/cmdline') + leftovers._read(f'/proc/{pid}/environ'))
        self.assertEqual(stat.S_IMODE(os.stat(self.tokens).st_mode), 0o700)
        self.assertEqual(os.listdir(self.tokens), [])
        self.assertEqual({line for line in self.read('calls').splitlines()}, {f'{command} n2' for command in COMMANDS})
        pids = [int(self.read(f'of-{name}/n2.pid')) for name in jobs]
        self.end(*launches.values())
        for pid in pids:
            dvmtest.wait_until(lambda one=pid: not leftovers.is_running(one), 'the agent is gone')

    def test_reasons(self):
        """What goes wrong is told as of ssh, and a warning before the start is none of it."""
        names = [*BAD, 'warns']
        launches = {launcher: self.launch(launcher, names, [self.agent, os.path.join(self.folder, f'of-{launcher}')],
                                          self.job(launcher, names), timeout=1, grace=1) for launcher in JOBS}
        for launcher, launch in launches.items():
            self.assertEqual(launch.expect('launched'), 'launched done')
            failures = launch.failures()
            self.assertEqual(set(failures), set(range(len(BAD))), failures)
            for rank, (code, *words) in enumerate(BAD.values()):
                self.assertEqual(failures[rank][0], code, failures[rank])
                for word in words:
                    self.assertIn(word, failures[rank][1])
            self.wait_for(f'of-{launcher}/warns.pid')
            self.assertIn('warning: the queue is old', '\n'.join(launch.log))
        self.end(*launches.values())
        self.assertEqual(os.listdir(self.tokens), [])

    def test_agents_that_fail(self):
        """The status of the agent counts, where the command hands it on."""
        for launcher in ('gridengine', 'lsf', 'pbs', 'pdsh', 'pals'):
            for program, code, words in [('/nonexistent/agent', 'NotFound', 'agent missing'),
                                         (self.script('old', '#!/bin/sh\nexit 76\n'), 'NotSupported', 'version: ')]:
                launch = self.launch(launcher, ['n1'], [program], self.job(launcher))
                failure = launch.expect('failed 0 ')
                self.assertEqual(failure.split()[2], code, failure)
                self.assertIn(words, failure)
                if (launcher, code) == ('pdsh', 'NotFound'):
                    self.assertIn('/nonexistent/agent', failure, 'what the shell there has said')
                self.assertEqual(launch.close(), 0)

    def test_agents_that_are_killed(self):
        """Grid Engine ends the whole job where a task is ended by a signal, and so it is not told of one."""
        launch = self.launch('gridengine', ['n1'], [self.script('killed', '#!/bin/sh\nread -r token\nexit 137\n')], self.job('gridengine'))
        self.assertIn('ended by signal 9', launch.expect('failed 0 LaunchFailed'))
        self.assertEqual(launch.close(), 0)
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'job-killed')))

    def test_no_command(self):
        for launcher in JOBS:
            launch = self.launch(launcher, ['n1'], [self.agent, self.folder], self.job(launcher), command='/nonexistent/command -x')
            self.assertIn("the launcher's command cannot be started", launch.expect('failed 0 LaunchFailed n1: '))
            self.assertEqual(launch.close(), 0)

    def test_declined(self):
        """Nodes that are not of the job, or have an address, are another launcher's; so is a start in a job that makes no sense."""
        for launcher in JOBS:
            env = self.job(launcher)
            cases = [(['n1', 'n3'], env)] if launcher != 'pdsh' else [(['n[1-2]'], env), (['-n1'], env), (['joe@n1'], env)]
            cases += [(['n1'], {'PATH': env['PATH']})] if launcher != 'pdsh' else []
            cases += [(['n1'], dict(env, CSM_ALLOCATION_ID='3'))] if launcher == 'lsf' else []
            for nodes, variables in cases:
                launch = self.launch(launcher, nodes, [self.agent, self.folder], variables)
                self.assertEqual(launch.expect('launched'), 'launched declined', (launcher, nodes))
                self.assertEqual(launch.close(), 0)
        launch = self.launch('pbs', ['n1'], [self.agent], dict(self.job('pbs'), PBS_NODEFILE='/no/such/file'))
        self.assertEqual(launch.expect('launched'), 'launched declined')
        launch.close()
        self.assertIn('another launcher has the start: PBS_NODEFILE names', '\n'.join(launch.log))

    def test_directory(self):
        """No token goes where others might read it, and none is waited for where it is not seen."""
        os.mkdir(self.tokens, 0o755)
        launch = self.launch('pbs', ['n1'], [self.agent, self.folder], self.job('pbs'))
        failure = launch.expect('failed 0 LaunchFailed n1: ')
        self.assertIn('others have access to it', failure)
        self.assertIn('launcher-pbs.directory', failure)
        launch.close()
        os.chmod(self.tokens, 0o700)
        env = self.job('pbs')
        # The other machine has another directory of that name, and time passes fast there.
        self.script('node/sleep', f'#!/bin/sh\nrm -f {self.tokens}/*\n')
        self.script('pbs_tmrsh/pbs_tmrsh', self.read('pbs_tmrsh/pbs_tmrsh').replace('come_to "$host"', f'rm {self.tokens}/*'))
        launch = self.launch('pbs', ['n1'], [self.agent, self.folder], env)
        self.assertIn('the file with its token is not there', launch.expect('failed 0 LaunchFailed n1: not reached: '))
        self.assertEqual(launch.close(), 0)

    def test_ended_before(self):
        """Agents that are ended while flux is asked are not started."""
        env = dict(self.job('flux'), FLUX_URI='local:///slow')
        launch = self.launch('flux', ['n1', 'n2'], [self.agent, self.folder], env)
        launch.order('terminate 0')
        self.assertEqual(launch.expect('terminated'), 'terminated done')
        self.script('go', '')
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.wait_for('n2.pid')
        self.end(launch)
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'n1.argv')))
        self.assertFalse(launch.failures())


if __name__ == '__main__':
    dvmtest.main()
