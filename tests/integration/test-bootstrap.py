# SPDX-License-Identifier: LGPL-2.1-or-later
"""Agents that nobody starts: services of their nodes, which find the controller, wait for it and come back to it."""

import os
import signal
import socket
import subprocess
import threading
import unittest

import dvmtest
import munge
from dvmtest import wait_until

AGENT = os.path.join(os.path.dirname(dvmtest.DVMD), 'dvm-agent')
USAGE = 2


class Service:
    """What systemd does for an agent: it is started again whenever it ends. Its machine has directories of its own."""

    def __init__(self, site, node, secret=None, words=()):
        self.folder = os.path.join(site.folder, f'machine-{len(site.services)}')
        for name in ('', 'run', 'tmp'):
            os.makedirs(os.path.join(self.folder, name), mode=0o700, exist_ok=True)
        self.log_path = os.path.join(self.folder, 'log')
        self.argv = [AGENT, '--bootstrap', f'--node={node}', *words]
        self.argv += [f'--set=bootstrap-secret={secret}'] if secret else []
        self.env = dict(os.environ, XDG_RUNTIME_DIR=os.path.join(self.folder, 'run'), XDG_CONFIG_HOME=site.home,
                        HOME=self.folder, TMPDIR=os.path.join(self.folder, 'tmp'), G_DEBUG='fatal-warnings')
        self.statuses = []
        self.process = None
        self.stopping = False
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()
        site.services.append(self)
        wait_until(lambda: self.process is not None, 'an agent to be started')

    def work(self):
        while not self.stopping:
            with open(self.log_path, 'ab') as log:
                self.process = subprocess.Popen(self.argv, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.statuses.append(self.process.wait())

    def log(self):
        with open(self.log_path, errors='replace') as f:
            return f.read()

    def wait_log(self, words, times=1, after=0):
        wait_until(lambda: self.log()[after:].count(words) >= times, f'“{words}” in {self.log()}')

    def stop(self):
        """Within the limit, and nothing of it is left."""
        self.stopping = True
        told = None
        # Each process once, also one that was started meanwhile: a second signal ends an agent that has not ended yet by SIGKILL.
        while self.thread.is_alive():
            if told is not self.process:
                told = self.process
                told.send_signal(signal.SIGTERM)
            self.thread.join(0.2)
        return self.statuses[-1]


class Bootstrap(munge.Users, dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.folder = self.place()
        self.home = os.path.join(self.folder, 'home')
        os.makedirs(os.path.join(self.home, 'dvm'), mode=0o700)
        self.services = []
        self.addCleanup(self.end_services)
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            self.port = probe.getsockname()[1]
        self.secret = self.write_secret('secret', 'the nodes of this site know these words')
        self.configure('n1:2,n2:2')

    def end_services(self):
        for service in self.services:
            service.stopping = True
            if service.process.poll() is None:
                service.process.kill()
            service.thread.join()

    def write_secret(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, 'w') as f:
            f.write(text + '\n')
        os.chmod(path, mode)
        return path

    def configure(self, hosts, **settings):
        """The one file, which all nodes have."""
        settings = {'bootstrap-controller': f'127.0.0.1:{self.port}', 'bootstrap-secret': self.secret, 'bootstrap-pause': 0.3,
                    'launcher': 'bootstrap', 'listen-address': '127.0.0.0/8', 'controller-grace': 1, 'hosts': hosts,
                    'elastic': 'true', **{name.replace('_', '-'): value for name, value in settings.items()}}
        with open(os.path.join(self.home, 'dvm', 'dvm.conf'), 'w') as f:
            f.write('[dvm]\n' + ''.join(f'{name} = {value}\n' for name, value in settings.items()))

    def controller(self, settings=()):
        return self.dvm(place=self.folder, settings=settings)

    def row(self, dvm, name):
        return next((row for row in dvm.get_nodes() if row['Name'] == name and row['Rank'] > 0), None)

    def wait_row(self, dvm, name, state, after=0):
        def is_so():
            row = self.row(dvm, name)
            return row is not None and row['StateName'] == state and row['Rank'] > after
        wait_until(is_so, f'{name} to be {state} as a rank after {after}')
        return self.row(dvm, name)

    def run_on(self, dvm, *names):
        finished = dvm.run(['true'], np=2 * len(names), personality='plain')
        self.assert_success(finished)
        self.assertEqual(sorted(row[2] for row in finished.job.procs()), sorted(2 * names))

    def check_end(self, dvm):
        self.assertEqual(dvm.stop(), 0)
        dvm.check_clean()

    def check_services(self):
        for service in self.services:
            # One that has only just been started has no handler yet.
            self.assertIn(service.stop(), (0, -signal.SIGTERM), service.log())
            for name in ('run', 'tmp'):
                left = [each for _, _, files in os.walk(os.path.join(service.folder, name)) for each in files]
                self.assertEqual(left, [])

    def test_life(self):
        """Agents before their controller; jobs; a shrink, a grow; the end, and the next controller."""
        services = [Service(self, 'n1.site.org'), Service(self, 'n2')]
        for service in services:
            service.wait_log('waits for its controller: No link to rank 0: 127.0.0.1')
        dvm = self.controller(settings=['heartbeat-timeout=2', 'kill-grace=1'])
        self.run_on(dvm, 'n1', 'n2')
        self.assertEqual(self.row(dvm, 'n1')['Launcher'], 'bootstrap')
        dvm.call('Shrink', '(a{sv})', dvmtest.to_options({'hosts': ['n2']}))
        wait_until(lambda: self.row(dvm, 'n2') is None, 'n2 to leave')
        services[1].wait_log('n2 is none of the nodes of this DVM')
        self.run_on(dvm, 'n1')
        dvm.call('Grow', '(a{sv})', dvmtest.to_options({'hosts': ['n2:2']}))
        self.wait_row(dvm, 'n2', 'UP')
        self.run_on(dvm, 'n1', 'n2')
        self.assertEqual(dvm.log().count('An agent waits: n2 is none of'), 1)
        self.check_end(dvm)
        self.assertEqual({status for service in services for status in service.statuses}, {0})
        again = self.controller()
        self.run_on(again, 'n1', 'n2')
        before = len(services[1].log())
        self.check_end(again)
        services[1].wait_log('Connection refused', after=before)
        self.assertEqual(services[1].stop(), 0)
        self.check_services()

    def test_controller_killed(self):
        """Its agents end what runs there, and are there for the next one; so is one that was killed itself."""
        services = [Service(self, 'n1'), Service(self, 'n2')]
        dvm = self.controller()
        job = dvm.submit(['sleep', '1000'], np=4, personality='plain')
        job.wait_running()
        pids = job.pids()
        dvm.process.kill()
        dvm.process.wait()
        again = self.controller()
        self.run_on(again, 'n1', 'n2')
        self.assertEqual([pid for pid in pids if os.path.exists(f'/proc/{pid}')], [])
        self.check_end(again)
        for service in services:
            service.wait_log('is let in as rank', times=2)
        self.check_services()

    def test_agent_killed(self):
        """Given up or not: the node is back as soon as its agent is. Pauses and limits are for agents that are started."""
        self.configure('n1:2,n2:2', heal_limit=0, heal_pause=300)
        services = [Service(self, 'n1'), Service(self, 'n2')]
        dvm = self.controller()
        row = self.row(dvm, 'n2')
        services[1].process.kill()
        back = self.wait_row(dvm, 'n2', 'UP', row['Rank'])
        self.assertEqual((back['Rank'], back['Slots']), (3, 2))
        self.run_on(dvm, 'n1', 'n2')
        dvm.connection.call('/org/dvm/nodes/3', 'org.dvm.Node', 'Restart', '(a{sv})', {})
        self.wait_row(dvm, 'n2', 'UP', 3)
        self.run_on(dvm, 'n1', 'n2')
        self.check_end(dvm)
        self.check_services()

    def test_not_there_at_the_start(self):
        """A DVM that came up without a node takes it when its agent comes."""
        self.configure('n1:2,n2:2', allow_missing='true', start_timeout=1, grow_timeout=1)
        Service(self, 'n1')
        dvm = self.controller()
        self.assertEqual(self.row(dvm, 'n2')['StateName'], 'DOWN')
        self.assertIn('its agent starts by itself, and has not come within 1 s', dvm.log())
        Service(self, 'n2')
        self.wait_row(dvm, 'n2', 'UP')
        dvm.call('Grow', '(a{sv})', dvmtest.to_options({'hosts': ['n3']}))
        wait_until(lambda: 'n3: no report within 1 s' in dvm.log(), 'the grow to fail')
        wait_until(lambda: self.row(dvm, 'n3') is None, 'n3 to be forgotten')
        Service(self, 'n3').wait_log('n3 is none of the nodes of this DVM')
        self.run_on(dvm, 'n1', 'n2')
        self.check_end(dvm)
        self.check_services()

    def test_why_not_there(self):
        """A start that has waited in vain says what is known of the cause: no munged here, or the agent that was refused."""
        self.configure('n1:2', bootstrap_auth='munge', bootstrap_secret='', bootstrap_munge_socket=self.folder + '/nowhere', start_timeout=1)
        dvm = self.try_dvm(place=self.folder)
        self.assertEqual(dvm.wait_exit(), 1)
        self.assertIn(f"within 1 s; munge of the controller's machine does not work: Failed to access \"{self.folder}/nowhere\"", dvm.answer)
        self.configure('n1:2', start_timeout=2)
        thief = Service(self, 'n1', secret=self.write_secret('other', 'other words that no node knows here'))
        dvm = self.try_dvm(place=self.folder)
        thief.wait_log('it refuses: The token is none of this DVM')
        self.assertEqual(dvm.wait_exit(), 1)
        self.assertRegex(dvm.answer, r'within 2 s; the last one that was refused: 127\.0\.0\.1.*: The token is none of this DVM')
        self.check_services()

    def test_strangers(self):
        """Another secret, another node, a second agent, and hundreds that say nothing: none of them keeps a node out."""
        self.configure('n1:2', start_timeout=60)
        other = self.write_secret('other', 'other words that no node knows here')
        thief = Service(self, 'n1', secret=other)
        stranger = Service(self, 'n9')
        crowd = []
        threading.Thread(target=self.flood, args=(crowd,), daemon=True).start()
        wait_until(lambda: len(crowd) > 200, 'a crowd')
        Service(self, 'n1')
        wait_until(lambda: self.dvms, 'the DVM to be ready')
        dvm = self.dvms[0]
        self.assertEqual(dvm.answer, 'READY\n', dvm.log())
        dvm.connection = dvm.connect()
        second = Service(self, 'n1')
        thief.wait_log('it refuses: The token is none of this DVM')
        stranger.wait_log('it refuses: n9 is none of the nodes of this DVM')
        second.wait_log('it refuses: n1 has an agent already, that of the node n1, rank 1')
        self.run_on(dvm, 'n1')
        self.assertEqual([row['Name'] for row in dvm.get_nodes()][1:], ['n1'])
        self.assertIn('Refused 127.0.0.1', dvm.log())
        self.assertNotIn('other words', dvm.log() + thief.log())
        for each in crowd:
            each.close()
        self.check_end(dvm)
        self.check_services()

    def flood(self, crowd):
        """Before the only node has come, its controller is up and waits."""
        threading.Thread(target=self.try_dvm, kwargs={'place': self.folder}, daemon=True).start()
        while len(crowd) <= 300:
            one = socket.socket()
            try:
                one.connect(('127.0.0.1', self.port))
                crowd.append(one)
            except OSError:
                one.close()

    @unittest.skipIf(munge.find_munged() is None, 'no munged here')
    def test_munge(self):
        """No file with a secret: munge proves both ends, waits where there is no munged, and is there again when that is."""
        ours, theirs = self.munged('ours'), self.munged('theirs', key=b'another site')
        self.configure('n1:2,n2:2', bootstrap_auth='munge', bootstrap_secret='', bootstrap_munge_socket=ours.socket)
        ours.stop()
        services = [Service(self, 'n1'), Service(self, 'n2')]
        for service in services:
            service.wait_log('waits for its controller: munge does not prove who it is: ')
        ours.start()
        place = f'--set=bootstrap-controller=localhost:{self.port}'
        strangers = [Service(self, 'n1', words=[place]), Service(self, 'n1', words=[f'--set=bootstrap-munge-socket={theirs.socket}']),
                     Service(self, 'n1', secret=self.secret, words=['--set=bootstrap-auth=secret'])]
        dvm = self.controller()
        self.run_on(dvm, 'n1', 'n2')
        for stranger, words in zip(strangers, ('Its credential of munge is for another DVM', 'munge does not take its credential: Invalid credential',
                                               'Agents that start by themselves join this DVM by munge alone')):
            stranger.wait_log(f'it refuses: {words}')
        row = self.row(dvm, 'n2')
        ours.stop()
        services[1].process.kill()
        services[1].wait_log('munge does not prove who it is', times=2)
        ours.start()
        back = self.wait_row(dvm, 'n2', 'UP', row['Rank'])
        self.assertGreater(back['Rank'], row['Rank'])
        self.run_on(dvm, 'n1', 'n2')
        self.check_end(dvm)
        self.check_services()

    @unittest.skipIf(munge.find_munged() is None, 'no munged here')
    def test_munge_of_the_machine(self):
        """dvm-agent --check asks munged as an agent would; doctor hands it on."""
        ours = self.munged('ours')
        self.configure('n1:2', bootstrap_auth='munge', bootstrap_munge_socket=ours.socket)
        env = dict(os.environ, XDG_CONFIG_HOME=self.home, XDG_RUNTIME_DIR=self.folder)

        def check():
            done = subprocess.run([AGENT, '--check', '--node=n1'], env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            return [line.split('\t') for line in done.stdout.splitlines() if line.split('\t')[1] == 'munge']
        self.assertEqual(check(), [['n1', 'munge', 'ok', 'munge proves who an agent of this machine is', '']])
        ours.stop()
        (_, _, verdict, text, mend), = check()
        self.assertEqual(verdict, 'bad')
        self.assertIn('bootstrap-auth=munge: ', text)
        self.assertIn('munged', mend)
        self.configure('n1:2')
        self.assertEqual(check(), [])

    def test_check_of_the_machine(self):
        """dvm-agent --check reads the settings as an agent that starts by itself does, and the secret."""
        env = dict(os.environ, XDG_CONFIG_HOME=self.home, XDG_RUNTIME_DIR=self.folder)

        def check(**settings):
            self.configure('n1:2', **settings)
            done = subprocess.run([AGENT, '--check', '--node=n1'], env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            return [line.split('\t')[1:4] for line in done.stdout.splitlines() if line.split('\t')[1] in ('bootstrap', 'munge')]
        right, place = check()
        self.assertEqual(right, ['bootstrap', 'ok', 'the secret can be read, and by nobody else'])
        self.assertEqual(place, ['bootstrap', 'note', f'bootstrap-controller: with 127.0.0.1:{self.port} each machine looks for the controller on itself'])
        self.assertEqual(check(bootstrap_controller='localhost:7817')[1][:2], ['bootstrap', 'note'])
        self.assertEqual(check(bootstrap_controller='node0:7817'), [right])
        for secret, sentence in ((self.write_secret('open', 'the nodes of this site know these words', 0o644), 'chmod 600'),
                                 (os.path.join(self.folder, 'missing'), 'No such file')):
            (name, verdict, text), = check(bootstrap_controller='node0:7817', bootstrap_secret=secret)
            self.assertEqual((name, verdict), ('bootstrap', 'bad'))
            self.assertIn(sentence, text)
        self.assertEqual(check(bootstrap_controller='node0:7817', bootstrap_munge_socket='/run/munge/socket')[1],
                         ['bootstrap', 'note', 'bootstrap-munge-socket is not used, for bootstrap-auth is secret'])
        (name, verdict, text), note = check(bootstrap_controller='node0:7817', bootstrap_auth='munge', bootstrap_munge_socket='munge.socket')
        self.assertEqual((name, verdict), ('munge', 'bad'))
        self.assertIn('bootstrap-auth=munge: ' if 'library' in text else 'the whole path of the socket', text)
        self.assertEqual(note, ['bootstrap', 'note', 'bootstrap-secret is not used, for bootstrap-auth is munge'])

    def test_wrong_settings(self):
        """Each is a sentence and the status of wrong usage, after which systemd does not try again."""
        open_to_all = self.write_secret('open', 'the nodes of this site know these words', 0o640)
        env = dict(os.environ, XDG_CONFIG_HOME=self.home, XDG_RUNTIME_DIR=self.folder)
        for words, sentence in ((['--set', f'bootstrap-secret={open_to_all}'], 'chmod 600'),
                                (['--set', 'bootstrap-secret='], 'the whole path'),
                                (['--set', 'bootstrap-controller=node0'], 'HOST:PORT'),
                                (['--set', 'bootstrap-auth=munge', '--set', 'bootstrap-munge-socket=munge.socket'], 'the whole path of the socket'),
                                (['--set', 'bootstrap-auth=kerberos'], 'it takes "secret" or "munge"'),
                                (['--node='], 'the name of a node'), ([f'--node={"n" * 256}'], 'the name of a node'),
                                (['--controller', 'tcp:127.0.0.1:1'], 'takes no --controller')):
            done = subprocess.run([AGENT, '--bootstrap', *words], env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(sentence, done.stderr)
        for setting, sentence in ((f'bootstrap-secret={open_to_all}', 'chmod 600'), ('bootstrap-controller=', 'HOST:PORT')):
            dvm = self.try_dvm(place=self.folder, settings=[setting])
            self.assertNotEqual(dvm.answer, 'READY\n')
            self.assertNotEqual(dvm.wait_exit(), 0)
            self.assertIn(sentence, dvm.log())
        with socket.socket() as other:
            other.bind(('127.0.0.1', self.port))
            other.listen()
            dvm = self.try_dvm(place=self.folder)
            self.assertNotEqual(dvm.wait_exit(), 0)
            self.assertIn(f'bootstrap-controller: No port of port-range={self.port}-{self.port} can be listened at', dvm.log())


if __name__ == '__main__':
    dvmtest.main()
