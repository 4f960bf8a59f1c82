# SPDX-License-Identifier: LGPL-2.1-or-later
"""The launchers local and ssh, with a scripted agent and commands that behave like ssh on its bad days."""

import os

import dvmtest
import launching
import leftovers

# Is called like ssh; what it does depends on the name of the host.
FAKE_SSH = '''#!/bin/sh
while [ "$1" = -p ] || [ "$1" = -o ] || [ "$1" = -T ]; do [ "$1" = -T ] && shift && continue; port=$2; shift 2; done
echo "$1 $port" >>PLACE/calls
mkdir PLACE/now.$$
ls -d PLACE/now.* 2>/dev/null | wc -l >>PLACE/many
case $1 in
    banner*) printf 'Welcome\\nto this machine\\n'; printf 'All is logged.\\n' >&2 ;;
    asks*) printf "Password: " >&2; read -r answer; echo "$answer" >PLACE/stolen; sleep 1000000 ;;
    hangs*) sleep 1000000 ;;
    far*) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255 ;;
    unknown*) echo "ssh: Could not resolve hostname $1: Name or service not known" >&2; exit 255 ;;
    silent*) echo "ssh: connect to host $1 port 22: Connection timed out" >&2; exit 255 ;;
    refuses*) echo "ssh: connect to host $1 port 22: Connection refused" >&2; exit 255 ;;
    locked*) echo "$1: Permission denied (publickey)." >&2; exit 255 ;;
    mute*) exit 255 ;;
    killed*) kill -KILL $$ ;;
    loses*) echo "dvm-agent-process 999999" >&2; echo "Connection reset by peer" >&2; exit 255 ;;
    leaves*) echo "dvm-agent-process 999999" >&2; echo "Connection to $1 closed by remote host." >&2; exit 255 ;;
    slow*) sleep 0.3 ;;
esac
rmdir PLACE/now.$$
shift
for shell in ${FAKE_SHELL:-sh}; do exec $shell -c "$*"; done
'''

REASONS = {
    'far': ('LaunchFailed', 'unreachable: ', 'No route to host'),
    'unknown': ('LaunchFailed', 'unreachable: ', 'Could not resolve'),
    'silent': ('LaunchFailed', 'unreachable: ', 'timed out'),
    'refuses': ('LaunchFailed', 'refused: ', 'Connection refused'),
    'locked': ('NoPermissions', 'authentication: ', 'Permission denied'),
    'mute': ('LaunchFailed', 'not reached: ', 'status 255'),
    'killed': ('LaunchFailed', 'ended by signal 9', ''),
    'loses': ('LaunchFailed', 'unreachable: the connection to its agent has ended', 'reset'),
    'leaves': ('LaunchFailed', 'lost: the connection to its agent has ended', 'closed by remote host'),
    'hangs': ('Timeout', 'timeout: ', 'within 2 s'),
    'asks': ('Timeout', 'timeout: ', 'Password:'),
    '-oProxyCommand=x': ('BadParam', 'is no host', ''),
    'n1:99999': ('BadParam', 'is no host', ''),
}
STRANGE = ["it's", 'two words', '$HOME `id` $(id)', 'a\\b', '"', '!x', '*', '', 'ä;|&<>', '~', '#x', '%s', '-n']


class Launchers(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.launches = []
        self.folder = self.place()
        self.ssh = self.script('fake', FAKE_SSH.replace('PLACE', self.folder))
        self.agent = self.script('agent', launching.AGENT)

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def launch(self, launcher, nodes, agent, /, **values):
        if launcher == 'ssh':
            values.setdefault('command', self.ssh)
        launch = launching.Launch(launcher, nodes, agent, **values)
        self.launches.append(launch)
        return launch

    def run_and_finish(self):
        super().run_and_finish()
        for launch in self.launches:
            self.assertEqual(launch.close(), 0, launch.log)

    def clear(self):
        for launch in self.launches:
            launch.close()
        self.doCleanups()
        super().clear()

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding='utf-8') as file:
            return file.read()

    def wait_for(self, *names):
        for name in names:
            dvmtest.wait_until(lambda one=name: os.path.exists(os.path.join(self.folder, one)), f'{name} is there')

    def run_well(self, launcher, nodes, names, **values):
        launch = self.launch(launcher, nodes, [self.agent, self.folder, *STRANGE], **values)
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.wait_for(*[f'{name}.pid' for name in names])
        for name in names:
            self.assertEqual(self.read(f'{name}.argv').split('\n'), [self.folder, *STRANGE, '--node', name, ''])
            self.assertEqual(self.read(f'{name}.token'), 'a token\n')
        launch.order('terminate')
        self.assertEqual(launch.expect('terminated'), 'terminated done')
        self.wait_for(*[f'{name}.ended' for name in names])
        self.assertEqual(launch.close(), 0)
        self.assertFalse(launch.failures())
        for name in names:
            self.assertIn(f': agent of {name} is here', '\n'.join(launch.log))
            self.assertFalse(leftovers.is_running(int(self.read(f'{name}.pid'))))
        return launch

    def test_local(self):
        self.run_well('local', ['a', 'b', 'c'], ['a', 'b', 'c'])

    def test_ssh(self):
        launch = self.run_well('ssh', ['a', 'joe@b:2222', 'banner', '[::1]:23'], ['a', 'b', 'banner', '::1'])
        self.assertEqual(sorted(self.read('calls').splitlines()), ['::1 23', 'a ', 'banner ', 'joe@b 2222'])
        self.assertIn('banner: All is logged.', '\n'.join(launch.log))
        self.assertNotIn('a token', '\n'.join(launch.log))

    def test_prefix(self):
        os.makedirs(os.path.join(self.folder, 'there', 'bin'))
        os.rename(self.agent, os.path.join(self.folder, 'there', 'bin', 'agent'))
        self.run_well('ssh', ['a'], ['a'], prefix=os.path.join(self.folder, 'there'))

    def test_other_side(self):
        """An agent that is called in another way, and its libraries."""
        script = self.script('wrapper', f'#!/bin/sh\necho "$LD_LIBRARY_PATH $1" >{self.folder}/libraries; shift; exec "$@"\n')
        self.run_well('ssh', ['a'], ['a'], agent=f"{script} 'two words' {self.agent}", library_path='/opt/dvm lib:/opt/pmix')
        self.assertEqual(self.read('libraries'), '/opt/dvm lib:/opt/pmix two words\n')
        launch = self.launch('ssh', ['b'], [self.agent, self.folder], agent="'open")
        self.assertIn('agent "\'open" is none', launch.expect('failed 0 BadParam'))
        launch.close()

    def test_tree_without_a_way(self):
        """Nobody tells the launcher that agents come: it waits for none that is to start others, and starts all itself."""
        names = [f'a{i}' for i in range(7)]
        self.run_well('ssh', names, names, tree_radix=2, timeout=3)
        launch = self.launch('ssh', [f'far{i}' for i in range(7)], [self.agent, self.folder], tree_radix=2)
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.assertEqual({code for code, _ in launch.failures().values()}, {'LaunchFailed'})
        self.assertEqual(set(launch.failures()), set(range(7)))
        launch = self.launch('ssh', ['hangs1', 'a8', 'hangs2', 'a9'], [self.agent, self.folder], tree_radix=2, grace=1)
        self.wait_for('a8.pid')
        launch.order('terminate')
        launch.expect('terminated done')
        self.assertFalse(launch.failures())
        wrong = self.launch('ssh', ['a'], [self.agent, self.folder], tree_radix='many')
        wrong.expect('launched done')
        self.assertIn('"tree-radix" is "many", and must be a number from 0', '\n'.join(wrong.log))

    def test_shells(self):
        """The remote shell may be any."""
        shells = [shell for shell in ('bash', 'zsh', 'fish', 'dash', 'csh', 'tcsh') if os.path.exists(f'/usr/bin/{shell}')]
        os.environ['FAKE_SHELL'] = 'sh'
        self.addCleanup(os.environ.pop, 'FAKE_SHELL')
        for shell in shells:
            os.environ['FAKE_SHELL'] = shell
            self.run_well('ssh', [shell], [shell])

    def test_reasons(self):
        names = list(REASONS)
        launch = self.launch('ssh', [*names, 'well'], [self.agent, self.folder], timeout=2)
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.wait_for('well.pid')
        launch.order('terminate')
        self.assertEqual(launch.expect('terminated'), 'terminated done')
        launch.close()
        failures = launch.failures()
        self.assertEqual(set(failures), set(range(len(names))))
        for rank, name in enumerate(names):
            code, *words = REASONS[name]
            self.assertEqual(failures[rank][0], code, failures[rank])
            for word in [name, *words]:
                self.assertIn(word, failures[rank][1])
        # Who asks for a password gets none, and no token.
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'stolen')))

    def test_agents_that_fail(self):
        cases = [('/nonexistent/agent', 'NotFound', 'agent missing'), (self.folder, 'NotFound', 'agent missing'),
                 (self.script('old', '#!/bin/sh\necho this is 0.0 >&2\nexit 76'), 'NotSupported', 'version: '),
                 (self.script('seven', '#!/bin/sh\necho oh no >&2\nexit 7'), 'LaunchFailed', 'status 7: oh no'),
                 (self.script('speaks', "#!/bin/sh\necho 'dvm-agent[12]: message: dvmd-agent: no: room' >&2\nexit 1"), 'LaunchFailed',
                  'status 1: no: room'),
                 (self.script('dies', '#!/bin/sh\nkill -SEGV $$'), 'LaunchFailed', 'signal 11')]
        for launcher in ('ssh', 'local'):
            for program, code, words in cases:
                launch = self.launch(launcher, ['n1'], [program])
                failure = launch.expect('failed 0 ')
                self.assertEqual(failure.split()[2], code, failure)
                self.assertIn(words, failure)
                self.assertIn('n1', failure)
                launch.close()

    def test_no_command(self):
        launch = self.launch('ssh', ['a', 'b'], [self.agent, self.folder], command='/nonexistent/ssh -x')
        self.assertEqual(launch.expect('launched'), 'launched done')
        self.assertEqual([code for code, _ in launch.failures().values()], ['LaunchFailed'] * 2)

    def test_concurrency(self):
        names = [f'slow{i}' for i in range(9)]
        self.run_well('ssh', names, names, concurrency=3)
        self.assertEqual(max(int(line) for line in self.read('many').split()), 3)

    def test_stubborn(self):
        """An agent that does not end with its input is ended all the same."""
        stubborn = self.script('stubborn', f'#!/bin/sh\ntrap "" TERM HUP\nexec >&- 2>&-\necho $$ >{self.folder}/pid.new\n'
                                           f'mv {self.folder}/pid.new {self.folder}/pid\nwhile :; do sleep 0.05; done')
        for launcher in ('local', 'ssh'):
            launch = self.launch(launcher, ['a'], [stubborn], grace=1)
            launch.expect('launched done')
            self.wait_for('pid')
            launch.order('terminate')
            self.assertEqual(launch.expect('terminated'), 'terminated done')
            pid = int(self.read('pid'))
            dvmtest.wait_until(lambda one=pid: not leftovers.is_running(one), 'the agent is gone')
            os.unlink(os.path.join(self.folder, 'pid'))
            launch.close()

    def test_cancel(self):
        launch = self.launch('ssh', ['hangs1', 'hangs2', 'hangs3'], [self.agent, self.folder], concurrency=2)
        self.wait_for('calls')
        launch.order('cancel')
        self.assertEqual(launch.expect('launched'), 'launched failed')
        self.assertFalse(launch.failures())
        launch.order('terminate')
        self.assertEqual(launch.expect('terminated'), 'terminated declined')

    def test_terminate_early(self):
        """Those that hang and those that wait for their turn are ended as well."""
        launch = self.launch('ssh', ['hangs1', 'hangs2', 'a'], [self.agent, self.folder], concurrency=2, grace=1)
        self.wait_for('calls')
        launch.order('terminate')
        launch.expect('terminated done')
        self.assertFalse(launch.failures())

    def test_end_of_the_dvm(self):
        launch = self.launch('ssh', ['a', 'hangs', 'b'], [self.agent, self.folder], concurrency=2)
        self.wait_for('a.pid')
        self.assertEqual(launch.close(), 0)
        pid = int(self.read('a.pid'))
        dvmtest.wait_until(lambda: not leftovers.is_running(pid), 'the agent is gone')


if __name__ == '__main__':
    dvmtest.main()
