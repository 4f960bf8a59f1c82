# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM of several machines that is attacked, cut, frozen, or badly started."""

import importlib
import json
import os
import re
import subprocess
import sys
import time

import dvmtest
import testhosts

test_dvm = importlib.import_module('test-dvm')
BUILD = test_dvm.BUILD
CLI = test_dvm.CLI
CLIENT = os.environ.get('DVM_TEST_PMIX_CLIENT', '')
MARK = 'nobody-on-the-wire-reads-this'

# Writes all frames of an interface to standard output, until standard input ends.
CAPTURE = '''
import os, select, socket, sys
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.bind((sys.argv[1], 0))
print('ready', file=sys.stderr, flush=True)
while True:
    ready, _, _ = select.select([wire, sys.stdin], [], [])
    if wire in ready:
        os.write(1, wire.recv(1 << 17))
    elif not os.read(0, 1):
        break
'''

# Stands for ssh: what it does depends on the host.
FAKE_SSH = '''#!/bin/sh
for word; do
  case $word in
    n1) exec sleep 600 ;;
    n2) echo "All that you do here is watched" >&2; exec ssh "$@" ;;
    n3) echo "root@n3: Permission denied (publickey,password)." >&2; exit 255 ;;
    n4) exit 255 ;;
    n5) echo "sh: 1: dvm-agent: not found" >&2; exit 127 ;;
    n6) echo "ssh: connect to host n6 port 22: Connection refused" >&2; exit 255 ;;
  esac
done
exec ssh "$@"
'''

# An ssh that asks, whatever it is told.
ASKING_SSH = '''#!/bin/sh
exec ssh -o BatchMode=no "$@"
'''

# Keeps what every agent is given.
STEALING_SSH = '''#!/bin/sh
tee -a {place}/tokens | ssh "$@"
'''


class Faults(test_dvm.Machines):
    test_eight = test_crowd = test_missing = test_host_goes = test_host_comes_back = None  # there
    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def log(self):
        with open(os.path.join(self.folder, 'log'), encoding='utf-8', errors='replace') as file:
            return file.read()

    def capture(self, hosts, host):
        with open(os.path.join(self.folder, 'frames'), 'wb') as frames:
            process = subprocess.Popen(['nsenter', '-t', str(hosts.keeper_pid), '-n', sys.executable, '-c', CAPTURE, host.port],
                                       stdin=subprocess.PIPE, stdout=frames, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stderr.readline(), 'ready\n')
        return process

    def frames(self, process):
        process.stdin.close()
        process.wait(testhosts.LIMIT)
        process.stderr.close()
        with open(os.path.join(self.folder, 'frames'), 'rb') as file:
            return file.read()

    def run_marked(self, host):
        """A job on n1 whose environment, arguments and output have the mark."""
        done = self.cli(host, 'run', '--personality', 'plain', '--host', 'n1', '-n', '1', '-x', f'WORD={MARK}',
                        'sh', '-c', 'echo $WORD $0', MARK)
        self.assertEqual(done.stdout, f'{MARK} {MARK}\n')

    def agent_words(self, host):
        """The command line of the agent of a host."""
        for pid in host.processes():
            with open(f'/proc/{pid}/cmdline', encoding='utf-8') as file:
                words = file.read().split('\0')
            if os.path.basename(words[0]) == 'dvm-agent':
                return words
        raise AssertionError(f'no agent on {host.name}')

    def option(self, words, name):
        return next(word.split('=', 1)[1] for word in words if word.startswith(f'--{name}='))

    def submit(self, host, hosts, np, *argv, personality='plain'):
        return self.cli(host, 'submit', '--personality', personality, '--host', hosts, '--map-by', 'node', '-n', str(np), *argv).stdout.strip()

    def reason(self, host, job):
        testhosts.wait_until(lambda: json.loads(self.cli(host, 'job', 'show', '--json', job).stdout)['ended'], f'{job} ends')
        return json.loads(self.cli(host, 'job', 'show', '--json', job).stdout)['reason']

    # Who listens, and who would like to.

    def test_nothing_to_read(self):
        hosts = self.make(2)
        for security in ('tls', 'none'):
            capture = self.capture(hosts, hosts[1])
            self.start(hosts[0], '--host', 'n0:1,n1:1', '--set', f'security={security}')
            self.run_marked(hosts[0])
            self.cli(hosts[0], 'stop')
            frames = self.frames(capture)
            self.assertGreater(len(frames), 10000)
            self.assertEqual(MARK.encode() in frames, security == 'none', security)
            self.assertEqual('security=none: everybody' in self.log(), security == 'none', security)
            self.assert_nothing_left(hosts)

    def test_strangers(self):
        hosts = self.make(3)
        ssh = self.script('ssh', STEALING_SSH.format(place=self.folder))
        self.start(hosts[0], '--host', 'n0:1,n1:1', '--set', f'launcher-command={ssh}')
        words = self.agent_words(hosts[1])
        place = self.option(words, 'controller').split(',')[0].removeprefix('tcp:')
        answer = hosts[2].run(['openssl', 's_client', '-connect', place, '-brief'], check=False)
        self.assertNotEqual(answer.returncode, 0, answer)
        self.assertNotIn('CONNECTION ESTABLISHED', answer.stdout + answer.stderr)
        with open(os.path.join(self.folder, 'tokens'), encoding='utf-8') as file:
            stolen = file.readline()
        end = stolen.index(' ')
        changed = ('0' if stolen[end - 2] != '0' else '1').join((stolen[:end - 2], stolen[end - 1:]))
        for token in (stolen, changed):
            rogue = hosts[2].run([*[word for word in words[:1]], '--guarded', f'--controller={self.option(words, "controller")}',
                                  '--node', 'n2'], check=False, stdin_text=token)
            self.assertNotEqual(rogue.returncode, 0, rogue)
        self.assertRegex(self.log(), f'[Rr]efused .*{re.escape(hosts[2].address)}')
        self.assertNotIn(stolen[:end], self.log())
        self.assertEqual([node['state'] for node in self.nodes(hosts[0])[1:]], ['UP', 'UP'])
        self.run_marked(hosts[0])
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def test_listen_address(self):
        hosts = self.make(2)
        for host in hosts:
            host.run(['ip', 'addr', 'add', f'10.91.0.{host.number + 1}/16', 'dev', 'eth0'])
        # A network that all of them are in, and an address that the first one alone has.
        for address in ('10.91.0.0/16', '10.91.0.1'):
            self.start(hosts[0], '--host', 'n0:1,n1:1', '--set', f'listen-address={address}')
            self.assertRegex(self.option(self.agent_words(hosts[1]), 'controller'), r'^tcp:10\.91\.0\.1:[0-9]+$')
            self.run_marked(hosts[0])
            self.cli(hosts[0], 'stop')
            self.assert_nothing_left(hosts)

    # Machines that go.

    def start_four(self, hosts):
        self.start(hosts[0], '--host', 'n0:4,n1:4,n2:4,n3:4', '--set', 'heartbeat-timeout=2', '--set', 'controller-grace=2')

    def test_cut_in_the_middle(self):
        """Of a launch, a fence and output: each of these jobs fails with the name, and one elsewhere goes on."""
        hosts = self.make(4)
        self.start_four(hosts)
        other = self.submit(hosts[0], 'n1', 1, 'sleep', '600')
        output = self.submit(hosts[0], 'n2', 1, 'sh', '-c', 'while :; do echo line; done')
        fence = self.submit(hosts[0], 'n1,n2,n3', 3, 'sh', '-c', 'if [ $DVM_NODE = n2 ]; then sleep 600; fi; exec "$0" data', CLIENT,
                            personality='pmix')
        for job in (other, output, fence):
            testhosts.wait_until(lambda one=job: self.state(hosts[0], one) in ('RUNNING', 'REGISTERED'), f'{job} runs')
        hosts[2].cut()
        launch = self.submit(hosts[0], 'n1,n2,n3', 3, 'sleep', '600')
        for job in (output, fence, launch):
            self.assertIn('n2', self.reason(hosts[0], job))
        self.assertEqual(self.state(hosts[0], other), 'RUNNING')
        result = self.cli(hosts[0], 'run', '--personality', 'plain', '--host', 'n0,n1,n3', '--map-by', 'node', '-n', '3', 'hostname')
        self.assertEqual(sorted(result.stdout.split()), ['n0', 'n1', 'n3'], result.stderr)
        testhosts.wait_until(lambda: not self.daemons(hosts[2]), f'the agent of n2 has ended: {self.daemons(hosts[2])}')
        self.cli(hosts[0], 'kill', other)
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def test_frozen(self):
        hosts = self.make(4)
        self.start_four(hosts)
        there = self.submit(hosts[0], 'n2', 1, 'sleep', '600')
        other = self.submit(hosts[0], 'n3', 1, 'sleep', '600')
        for job in (there, other):
            testhosts.wait_until(lambda one=job: self.state(hosts[0], one) == 'RUNNING', f'{job} runs')
        hosts[2].freeze()
        self.assertIn('n2', self.reason(hosts[0], there))
        self.assertEqual([node['state'] for node in self.nodes(hosts[0])[1:]], ['UP', 'UP', 'DOWN', 'UP'])
        hosts[2].thaw()
        testhosts.wait_until(lambda: not self.daemons(hosts[2]), f'the agent of n2 has ended: {self.daemons(hosts[2])}')
        self.assertEqual(self.state(hosts[0], other), 'RUNNING')
        self.cli(hosts[0], 'kill', other)
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def test_controller_cut(self):
        """Three levels of agents reach each other, and not the controller: all are gone with their processes, at the same time."""
        hosts = self.make(8)
        self.start(hosts[0], '--host', ','.join(f'{host.name}:1' for host in hosts), '--set', 'radix=2',
                   '--set', 'heartbeat-timeout=2', '--set', 'controller-grace=10')
        self.assertEqual(max(node['depth'] for node in self.nodes(hosts[0])), 3)
        job = self.submit(hosts[0], 'n0', 1, 'sleep', '600')
        there = self.submit(hosts[0], ','.join(host.name for host in hosts[1:]), 7, 'sh', '-c', 'trap "" TERM; while :; do sleep 1; done')
        for one in (job, there):
            testhosts.wait_until(lambda job=one: self.state(hosts[0], job) == 'RUNNING', f'{one} runs')
        hosts[0].cut()
        cut = time.monotonic()
        for host in hosts[1:]:
            testhosts.wait_until(lambda one=host: not self.daemons(one), f'the agent of {host.name} has ended')
        # Another 7 seconds for killing, on a machine that has other things to do; one level after another would take more than 20.
        self.assertLess(time.monotonic() - cut, 2 * 5 / 4 + 10 + 7)
        for host in hosts[1:]:
            testhosts.wait_until(lambda one=host: 'trap' not in self.commands(one), f'no process is left on {host.name}')
        hosts[0].mend()
        self.assertIn('was lost', self.reason(hosts[0], there))
        self.assertEqual([node['state'] for node in self.nodes(hosts[0])[1:3]], ['UP', 'DOWN'])
        self.assertEqual(self.state(hosts[0], job), 'RUNNING')
        self.cli(hosts[0], 'kill', job)
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def commands(self, host):
        """The command lines of all processes of a host."""
        lines = []
        for pid in host.processes():
            try:
                with open(f'/proc/{pid}/cmdline', encoding='utf-8') as file:
                    lines.append(file.read().replace('\0', ' '))
            except OSError:
                pass  # it has ended
        return '\n'.join(lines)

    def test_loss(self):
        """Of every 100 packets from and to n1 30 are lost: it takes its time, and all is right."""
        hosts = self.make(2)
        self.start(hosts[0], '--host', 'n0:1,n1:1', '--set', 'heartbeat-timeout=120')
        hosts[1].lose(30)
        for _ in range(3):
            done = self.cli(hosts[0], 'run', '--personality', 'plain', '--host', 'n1', '-n', '1', 'seq', '2000', timeout=300)
            self.assertEqual(done.stdout.split(), [str(i) for i in range(1, 2001)])
        hosts[1].lose(0)
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    # Machines that do not come.

    def test_bad_ssh(self):
        hosts = self.make(7)
        settings = ['--set', f'launcher-command={self.script("ssh", FAKE_SSH)}', '--set', 'launcher-timeout=10']
        everybody = ','.join(f'{host.name}:1' for host in hosts)
        result = self.start(hosts[0], '--host', everybody, *settings, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, ''), result.stderr)
        self.assertIn('5 of the 7 nodes', result.stderr)
        for words in ('n1: timeout: ', 'n3: authentication: ', 'n4: ', 'n5: agent missing: ', 'n6: refused: '):
            self.assertIn(words, result.stderr)
        self.assert_nothing_left(hosts)
        result = self.start(hosts[0], '--host', everybody, *settings, '--allow-missing')
        self.assertEqual([node['state'] for node in self.nodes(hosts[0])[1:]], ['UP', 'DOWN', 'UP', 'DOWN', 'DOWN', 'DOWN', 'DOWN'])
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)

    def allow_passwords(self, host):
        """Nobody gets in without one from now on."""
        host.run(['sh', '-c', 'kill $(cat /run/sshd.pid)'])
        testhosts.wait_until(lambda: not host.is_listening(), 'no sshd')
        host.run(['sh', '-c', 'sed -e "s/^PasswordAuthentication.*/PasswordAuthentication yes/" -e "s/^PermitRootLogin.*/PermitRootLogin yes/" '
                              '-e "s/^AuthorizedKeysFile.*/AuthorizedKeysFile none/" /run/dvm-hosts/sshd_config >/run/sshd_config && '
                              '/usr/sbin/sshd -f /run/sshd_config'])
        testhosts.wait_until(host.is_listening, 'an sshd')

    def test_password(self):
        """A machine that wants one: nobody is asked, with a terminal or without, and the cause is told at once."""
        hosts = self.make(2)
        self.allow_passwords(hosts[1])
        asking = self.script('asks', ASKING_SSH)
        for settings in ([], ['--set', f'launcher-command={asking}']):
            arguments = ['start', '--bus', 'none', '--host', 'n0:1,n1:1', '--set', 'launcher-timeout=50', *settings]
            begin = time.monotonic()
            result = self.cli(hosts[0], *arguments, check=False)
            self.assertEqual(result.returncode, 1, result)
            self.assertRegex(result.stderr, r'\bn1: authentication: ', settings)
            # The DVM in the foreground has the terminal of its shell.
            line = ' '.join([CLI, *arguments, '--foreground'])
            result = hosts[0].run(['script', '--quiet', '--return', '--command', line, '/dev/null'], check=False)
            self.assertEqual(result.returncode, 1, result)
            self.assertRegex(result.stdout, r'\bn1: authentication: ', settings)
            self.assertNotIn("'s password:", result.stdout)
            self.assertLess(time.monotonic() - begin, 40, settings)
            self.assert_nothing_left(hosts)

    def test_other_version(self):
        """What is installed there is another dvm: the refusal names both versions."""
        hosts = self.make(2)
        own = self.cli(hosts[0], '--version').stdout.split()[-1]
        other = '9' * len(own)
        place = os.path.join(self.folder, 'bin')
        os.mkdir(place)
        for name in ('dvm-agent', 'dvmd-tls.so'):
            with open(os.path.join(BUILD, 'daemon', name), 'rb') as file:
                program = file.read()
            with open(os.path.join(place, name), 'wb') as file:
                file.write(program.replace(b'\0' + own.encode() + b'\0', b'\0' + other.encode() + b'\0'))
            os.chmod(os.path.join(place, name), 0o755)
        os.symlink(os.path.join(BUILD, 'daemon', 'dvm-guard'), os.path.join(place, 'dvm-guard'))
        # Where the program looks for its libraries, from its own directory.
        os.symlink(os.path.join(BUILD, 'libdvm-gobject'), os.path.join(self.folder, 'libdvm-gobject'))
        os.symlink(os.path.join(BUILD, 'daemon', 'plugin'), os.path.join(place, 'plugin'))
        result = self.start(hosts[0], '--host', 'n0:1,n1:1', '--set', f'launcher-prefix={self.folder}', check=False)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, rf'\bn1: version: .*\b{re.escape(own)}\b')
        self.assertRegex(result.stderr, rf'\bn1: version: .*\b{re.escape(other)}\b')
        self.assert_nothing_left(hosts)


if __name__ == '__main__':
    dvmtest.main()
