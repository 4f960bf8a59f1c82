# SPDX-License-Identifier: LGPL-2.1-or-later
"""Another user of a node, who knows all but what the kernel keeps from him: the PMIx server hears nothing of him."""

import json
import os
import signal
import unittest

import dvmtest
import testhosts

BUILD = os.environ['DVM_TEST_BUILD']
CLI = os.path.join(BUILD, 'cli', 'dvm-cli')
ALLOC = os.environ['DVM_TEST_PMIX_ALLOC']
DATA = os.environ['DVM_TEST_PMIX_DATA']
STRANGER = os.environ['DVM_TEST_PMIX_STRANGER']
ENDLESS = os.environ.get('DVM_TEST_MPI_ENDLESS')
COUNT = 500 if os.environ.get('DVM_TEST_SOAK') == '1' else 10  # attempts of each kind
OWNER, OTHER = 64070, 64071
RUNNING = ('RUNNING', 'REGISTERED')  # the second: all its ranks have connected
AGAIN = 'n=$0; while [ $n -gt 0 ]; do "$@" || exit 0; n=$((n - 1)); done'


class Strangers(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.folder = self.place()
        os.chmod(self.folder, 0o755)
        self.hosts = testhosts.Hosts(1, kept=[self.folder, BUILD])
        self.addCleanup(self.hosts.close)
        self.host = self.hosts[0]
        for uid in (OWNER, OTHER):
            self.host.run(['install', '-d', '-m', '700', '-o', str(uid), '-g', str(uid), f'/tmp/{uid}'])

    def clear(self):
        self.doCleanups()
        super().clear()

    def run_as(self, uid, argv, env=None, **kwargs):
        return self.host.run(self.words_as(uid, argv), env={**self.home(uid), **(env or {})}, timeout=600, **kwargs)

    def words_as(self, uid, argv):
        return ['setpriv', f'--reuid={uid}', f'--regid={uid}', '--clear-groups', '--', *argv]

    def home(self, uid):
        kept = {name: os.environ[name] for name in ('LSAN_OPTIONS',) if name in os.environ}
        return {'HOME': f'/tmp/{uid}', 'TMPDIR': f'/tmp/{uid}', 'XDG_RUNTIME_DIR': f'/tmp/{uid}', 'G_DEBUG': 'fatal-warnings', **kept}

    def cli(self, *args, **kwargs):
        return self.run_as(OWNER, [CLI, *args], **kwargs)

    def start(self, *args):
        self.cli('start', '--bus', 'none', '--log', f'/tmp/{OWNER}/log', '--host', 'n0:9', *args)

    def log(self):
        with open(self.host.path(f'/tmp/{OWNER}/log'), encoding='utf-8', errors='replace') as file:
            return file.read()

    def job(self, number):
        return json.loads(self.cli('job', 'show', '--json', number).stdout)

    def submit(self, *args):
        number = self.cli('submit', *args).stdout.strip()
        testhosts.wait_until(lambda: self.job(number)['state'] in RUNNING, f'{number} runs')
        return number

    def read_environment(self, text):
        env = dict(line.split('=', 1) for line in text.splitlines() if line.startswith('PMIX_'))
        self.assertIn('@', env['PMIX_NAMESPACE'])
        return env, int(next(value for name, value in env.items() if name.startswith('PMIX_SERVER_URI')).rsplit(':', 1)[1])

    def steal(self):
        """The environment of a rank that has not connected, and where its server listens."""
        env, port = self.read_environment(self.cli('run', '-n', '1', 'env').stdout)
        idle = self.submit('-n', '1', 'sleep', '1000')
        nspace = env['PMIX_NAMESPACE'].split('@')[0] + '@' + str(self.job(idle)['id'])
        return {**env, 'PMIX_NAMESPACE': nspace, 'PMIX_RANK': '0'}, nspace, port

    def clients(self, port):
        """The ports of the owner's processes that are connected there."""
        with open(f'/proc/{self.host.pid}/net/tcp', encoding='utf-8') as file:
            lines = [line.split() for line in file.readlines()[1:]]
        return [int(words[1].split(':')[1], 16) for words in lines
                if words[2].endswith(f':{port:04X}') and words[3] == '01' and int(words[7]) == OWNER]

    def attempt(self, env, *args, uid=OTHER, count=COUNT):
        return self.run_as(uid, ['sh', '-c', AGAIN, str(count), STRANGER, '--uid', str(OWNER), *args], env=env).stdout

    def refused(self, env, *args):
        said = self.attempt(env, *args).splitlines()
        self.assertEqual([line.split()[0] for line in said], ['out'] * COUNT, (args, said[-40:]))

    def heard(self, env, *args):
        """Of the owner the very same is heard: the attempts are none that nobody would."""
        said = self.attempt(env, *args, uid=OWNER, count=1)
        self.assertRegex(said, r'^in as ', (args, self.log()[-2000:]))

    def assert_unnamed(self, nspace):
        """Names of jobs begin with the id of the DVM, which no argument and no path of a socket has, for others to read."""
        for path in [f'/proc/{pid}/cmdline' for pid in self.host.processes()] + [f'/proc/{self.host.pid}/net/unix']:
            with open(path, encoding='utf-8') as file:
                self.assertNotIn(nspace.split('@')[0].removeprefix('dvm-'), file.read(), path)

    def attack(self, env, nspace, port):
        done_that = f'/tmp/{OTHER}/done-that'
        self.host.run(['chmod', '777', f'/tmp/{OTHER}'])
        spawn = ['spawn', '/usr/bin/touch', done_that]
        for way in ('rank', 'tool'):
            for words in (spawn, ['kill', nspace], ['abort', nspace], ['alloc'], ['publish', 'evil'], ['lookup', 'secret'],
                          ['get', nspace, 'pmix.hname'], ['event', nspace]):
                self.refused(env, way, *words)
        for way in ('rank', 'tool'):
            for closing in ('--half-close', '--close'):
                self.refused(env, closing, way, *spawn)
        ports = self.clients(port)
        self.assertGreaterEqual(len(ports), 2)
        for number, own in enumerate(ports[:2]):
            self.refused(env, '--from', f'127.0.0.{9 + number}:{own}', ('rank', 'tool')[number], *spawn)
        self.assertFalse(os.path.exists(self.host.path(done_that)))
        record = f'/tmp/{OWNER}/record'
        self.heard(env, '--record', record, 'tool', *spawn)
        testhosts.wait_until(lambda: os.path.exists(self.host.path(done_that)), 'the owner has done it')
        self.host.run(['chmod', '755', f'/tmp/{OWNER}'])
        said = self.run_as(OTHER, [STRANGER, 'broken', str(port), record, str(4 * COUNT)]).stdout
        self.assertEqual(said, f'{4 * COUNT} broken\n')
        self.assertRegex(self.log(), f'A connection of a process of user {OTHER} to the PMIx server of user {OWNER} is closed unread')

    def check(self, *args):
        """Real jobs run all the time, and end as they would have."""
        # All clients come to one port.
        self.start('--set', 'pmix-servers=1', *args)
        go = f'/tmp/{OWNER}/go'
        words = ['fence', 'file', go, 'fence', 'rank', '0', 'spawn', '--', 'true', ';']
        jobs = [self.submit('-n', '2', ALLOC, *words)]
        if ENDLESS is not None:
            jobs.append(self.submit('-n', '2', ENDLESS))
        env, nspace, port = self.steal()
        self.assert_unnamed(nspace)
        testhosts.wait_until(lambda: len(self.clients(port)) >= 2 * len(jobs), 'the clients have connected')
        before = len(json.loads(self.cli('jobs', '--all', '--json').stdout))
        self.attack(env, nspace, port)
        after = json.loads(self.cli('jobs', '--all', '--json').stdout)
        self.assertEqual(len(after), before + 1, 'the owner alone has spawned one')
        self.assertEqual([job for job in jobs if self.job(job)['state'] in RUNNING], jobs, self.log())
        self.run_as(OWNER, ['touch', go])
        self.assertEqual(self.cli('wait', jobs[0]).returncode, 0)
        self.assertEqual([node['state'] for node in json.loads(self.cli('nodes', '--json').stdout)[1:]], ['UP'])
        self.assertNotRegex(self.log(), r'is not heard while|SIGSEGV|lost')
        self.cli('stop')

    def test_static(self):
        self.check()

    def test_private(self):
        """The DVM of one run has the server in dvmd itself."""
        place = f'/tmp/{OWNER}'
        script = f'env >{place}/new; mv {place}/new {place}/env; until [ -e {place}/go ]; do sleep 0.1; done; exec {ALLOC} fence'
        job = self.host.popen(self.words_as(OWNER, [CLI, 'run', '-n', '1', 'sh', '-c', script]), env=self.home(OWNER))
        self.addCleanup(job.kill)
        testhosts.wait_until(lambda: os.path.exists(self.host.path(f'{place}/env')), 'the job runs')
        with open(self.host.path(f'{place}/env'), encoding='utf-8') as file:
            env, _ = self.read_environment(file.read())
        for way in ('rank', 'tool'):
            self.refused(env, way, 'spawn', '/usr/bin/true')
            self.refused(env, '--half-close', way, 'spawn', '/usr/bin/true')
        self.run_as(OWNER, ['touch', f'{place}/go'])
        self.assertEqual(job.wait(testhosts.LIMIT), 0)

    def test_elastic(self):
        self.check('--set', 'elastic=true')

    def test_squatted(self):
        """Another user has made the directory in /tmp that would be ours: a DVM has another, and is found there."""
        taken = f'/tmp/dvm-{OWNER}'
        self.host.run(['install', '-d', '-m', '777', '-o', str(OTHER), taken])
        env = {'XDG_RUNTIME_DIR': ''}
        self.cli('start', '--bus', 'none', env=env)
        self.assertEqual(self.cli('run', '-n', '1', 'echo', 'here', env=env).stdout, 'here\n')
        places = [name for name in os.listdir(self.host.path(f'/tmp/{OWNER}')) if name.startswith('.dvm-')]
        self.assertEqual(len(places), 1)
        self.assertEqual(os.stat(self.host.path(f'/tmp/{OWNER}/{places[0]}')).st_mode & 0o777, 0o700)
        self.assertEqual(os.listdir(self.host.path(taken)), [])
        # It stays to be found when the name is free again, and there is no second one beside it.
        self.host.run(['rmdir', taken])
        self.assertEqual(self.cli('run', '-n', '1', 'echo', 'here', env=env).stdout, 'here\n')
        second = self.cli('start', '--bus', 'none', env=env, check=False)
        self.assertIn('runs already', second.stderr)
        self.cli('stop', env=env)

    def say(self, *words, options=()):
        result = self.cli('run', '-n', '1', *options, DATA, *words)
        self.assertEqual(result.returncode, 0, result)
        return result.stdout.splitlines()

    def start_munged(self):
        self.host.run(['install', '-d', '-m', '755', '/run/munge'])
        self.host.run(['sh', '-c', 'umask 077; head -c 1024 /dev/urandom >/run/munge/key'])
        files = [f'--{what}-file=/run/munge/{what}' for what in ('key', 'log', 'pid', 'seed')]
        munged = self.host.popen(['/usr/sbin/munged', '--foreground', '--force', *files])
        self.addCleanup(munged.wait)
        self.addCleanup(munged.terminate)
        testhosts.wait_until(lambda: os.path.exists(self.host.path('/run/munge/munge.socket.2')), 'munged is there')
        return munged

    @unittest.skipUnless(os.path.exists('/usr/sbin/munged'), 'no munge here')
    def test_munge(self):
        """Where it was asked for, a client proves its user by munge, and nothing else will do; without a munged there is no DVM."""
        configuration = self.host.path(f'/tmp/{OWNER}/.config/dvm')
        os.makedirs(configuration)
        with open(f'{configuration}/dvm.conf', 'w', encoding='utf-8') as file:
            file.write('[dvm]\npmix-security = munge\n')
        for result in (self.cli('start', '--bus', 'none', '--host', 'n0:4', check=False), self.cli('run', '-n', '1', 'true', check=False)):
            self.assertNotEqual(result.returncode, 0)
            self.assertIn('pmix-security=munge: ', result.stderr)
            self.assertIn('no munged answers on n0', result.stderr)
        self.start_munged()
        self.assertEqual(self.cli('run', '-n', '2', ALLOC, 'fence').returncode, 0)
        self.start()
        self.assertEqual(self.cli('run', '-n', '2', ALLOC, 'fence', 'spawn', '--', 'true', ';').returncode, 0)
        env, _, _ = self.steal()
        self.assertEqual(env['PMIX_SECURITY_MODE'], 'munge')
        for way in ('rank', 'tool'):
            self.heard(env, way, 'alloc')
        for mode in ('native', 'none'):
            said = self.attempt({**env, 'PMIX_SECURITY_MODE': mode, 'PMIX_MCA_psec': mode}, 'rank', 'alloc', uid=OWNER, count=1)
            self.assertNotRegex(said, '^in ', mode)
        self.assertEqual(self.cli('run', '-n', '2', ALLOC, 'fence').returncode, 0)
        self.cli('stop')

    @unittest.skipUnless(os.path.exists('/usr/sbin/munged'), 'no munge here')
    def test_credentials(self):
        """munge says whose a credential is: once, and of none that somebody has made up; it does not hold up others."""
        place = f'/tmp/{OWNER}/credential'
        munged = self.start_munged()
        self.start()
        self.assertEqual(self.say('credential', place, 'types=native,munge', 'timeout=20'), ['credential SUCCESS'])
        whose = f'validate SUCCESS {OWNER} {OWNER} munge'
        self.assertEqual(self.say('validate', place, 'validate', place), [whose, 'validate INVALID-CRED'])
        with open(self.host.path(place), 'rb') as file:
            forged = bytearray(file.read())
        forged[20] ^= 1
        with open(self.host.path(place), 'wb') as file:
            file.write(forged)
        self.assertEqual(self.say('validate', place), ['validate INVALID-CRED'])
        # The client's own library must not wait for munged, too.
        self.host.run(['sh', '-c', 'kill -STOP $(cat /run/munge/pid)'])
        try:
            said = self.say('credential', place, 'timeout=1', 'lookup', 'port', options=['-x', 'PMIX_MCA_psec=native'])
            self.assertEqual(said, ['credential TIMEOUT', 'lookup NOT-FOUND'])
        finally:
            self.host.run(['sh', '-c', 'kill -KILL $(cat /run/munge/pid)'])
            # nsenter has stopped itself with it.
            munged.send_signal(signal.SIGCONT)
        self.cli('stop')


if __name__ == '__main__':
    dvmtest.main()
