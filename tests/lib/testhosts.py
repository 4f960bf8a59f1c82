# SPDX-License-Identifier: LGPL-2.1-or-later
"""Test hosts: many machines on this one, on a private switch.

    with testhosts.Hosts(8) as hosts:
        hosts[0].run(['ssh', hosts[3].name, 'hostname'])

Each has namespaces of its own (network, host name, mounts, processes, IPC, cgroups), a /tmp, /run and /dev/shm of its own, an
sshd with keys that were made for the run, and /etc/hosts and ssh's configuration that know all the others. The switch is a
bridge in a network namespace of its own: this machine gets no interface and no route.

Everything lives below one process that ends with its standard input. So all ends when the test does, however it ends. What
the kernel does not remove by itself (an empty directory, empty cgroups) is removed by close(), or by the next who makes hosts.

Root alone can make them: why_not() says why they cannot be made here, and Hosts() raises SkipTest with that.
"""

import atexit
import fcntl
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LIMIT = 60  # seconds; what takes so long will never happen
# The kernel keeps 1,024 neighbours for all its network namespaces together, and drops packets beyond them.
MOST_WITH_ARP = 64
HERE = os.path.dirname(os.path.abspath(__file__))
PREFIX = 'dvm-testhosts-'
PLACE = os.path.join('/tmp', PREFIX)
TOOLS = ('ip', 'bridge', 'nft', 'nsenter', 'unshare', 'ssh', 'ssh-keygen', '/usr/sbin/sshd')
ENVIRONMENT = {'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'LANG': 'C.UTF-8', 'HOME': '/root', 'USER': 'root'}

SSHD_CONFIG = '''Port 22
HostKey /run/dvm-hosts/host-key
AuthorizedKeysFile /run/dvm-hosts/authorized_keys
PidFile /run/sshd.pid
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UseDNS no
MaxStartups 1000
MaxSessions 1000
'''
SSH_CONFIG = '''Host *
  IdentityFile /run/dvm-hosts/key
  IdentitiesOnly yes
  UserKnownHostsFile /run/dvm-hosts/known_hosts
  StrictHostKeyChecking yes
'''


def _path():
    return os.environ.get('PATH', '') + ':/usr/sbin:/sbin'


def _run(argv, **kwargs):
    result = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                            env=dict(os.environ, PATH=_path()), **{'stdin': subprocess.DEVNULL, **kwargs})
    if result.returncode:
        raise RuntimeError(f'{" ".join(argv)}: {result.returncode}: {result.stdout}')
    return result.stdout


def why_not():
    """A sentence that says why test hosts cannot be made here, or None."""
    if os.geteuid() != 0:
        return 'only root can make test hosts'
    missing = [tool for tool in TOOLS if shutil.which(tool, path=_path()) is None]
    if missing:
        return f'test hosts need {", ".join(missing)}'
    try:
        _run(['unshare', '--net', '--uts', '--mount', '--pid', '--ipc', '--cgroup', '--fork', 'sh', '-c',
              'mount -t tmpfs tmpfs /tmp && ip link add br0 type bridge && ip link add port0 type veth peer name port1'])
    except RuntimeError as error:
        return f'test hosts cannot be made here: {error}'
    return None


def wait_until(condition, what, limit=LIMIT):
    """The value of condition() as soon as that is true."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f'waited {limit} s in vain: {what}')
        time.sleep(0.005)


def _read(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def _write(path, text, mode=0o644):
    with open(path, 'w', encoding='utf-8', opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(text)


def _children(pid):
    return [int(child) for tasks in glob.glob(f'/proc/{pid}/task/*/children') for child in _read(tasks).split()]


def _remove_cgroups(path):
    for folder, _, _ in os.walk(path, topdown=False):
        os.rmdir(folder)


def find_cgroup2():
    """Where cgroup2 is mounted and may be written, or None."""
    for line in _read('/proc/self/mountinfo').splitlines():
        if ' - cgroup2 ' in line and os.access(os.path.join(line.split()[4], 'cgroup.procs'), os.W_OK):
            return line.split()[4]
    return None


def _end_cgroup(path):
    """Ends what lives in a cgroup, frozen or not, and removes it."""
    if not os.path.isdir(path):
        return
    if os.path.exists(os.path.join(path, 'cgroup.kill')):
        _write(os.path.join(path, 'cgroup.kill'), '1')
    wait_until(lambda: 'populated 0' in _read(os.path.join(path, 'cgroup.events')), f'{path} is empty')
    _remove_cgroups(path)


def remove_leftovers():
    """What a run has left that was killed: nobody holds the lock of its directory any more."""
    for place in glob.glob(PLACE + '*'):
        fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if find_cgroup2():
                _end_cgroup(os.path.join(find_cgroup2(), os.path.basename(place)))
            os.rmdir(place)
        except BlockingIOError:
            pass
        finally:
            os.close(fd)


def _leave_in_order():
    """Signals that would end the process without a word end it with its exit handlers."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda signum, frame: sys.exit(128 + signum))


class Host:
    """One of the machines."""

    def __init__(self, hosts, number):
        self.hosts = hosts
        self.number = number
        self.name = f'{hosts.prefix}{number}'
        self.address = f'10.90.{number // 250}.{number % 250 + 1}'
        self.ether = f'02:90:00:00:{number // 250:02x}:{number % 250 + 1:02x}'
        self.pid = None  # of its first process
        self.port = f'p{number}'  # of the switch
        self.cgroup = os.path.join(hosts.cgroup, str(number)) if hosts.cgroup else None

    def popen(self, argv, env=None, cwd='/', **kwargs):
        """subprocess.Popen on this host, as root and with a small environment; env is added to that."""
        enter = ['nsenter', '-t', str(self.pid), '-n', '-u', '-m', '-p', '-i', '-C', f'--wd=/proc/{self.pid}/root{cwd}', '--', *argv]
        if self.cgroup:
            enter = ['sh', '-c', 'echo $$ >"$0/cgroup.procs"; exec "$@"', self.cgroup, *enter]
        return subprocess.Popen(enter, env={**ENVIRONMENT, **(env or {})}, **{'stdin': subprocess.DEVNULL, **kwargs})

    def run(self, argv, check=True, timeout=LIMIT, stdin_text=None, **kwargs):
        """Runs a command to its end: a CompletedProcess with text. With check an error is raised if it fails."""
        given = subprocess.DEVNULL if stdin_text is None else subprocess.PIPE
        process = self.popen(argv, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)
        try:
            output, messages = process.communicate(stdin_text, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        if check and process.returncode:
            raise RuntimeError(f'{self.name}: {" ".join(argv)}: {process.returncode}: {output}{messages}')
        return subprocess.CompletedProcess(argv, process.returncode, output, messages)

    def path(self, path):
        """Where a file of the host is found from outside."""
        return f'/proc/{self.pid}/root{path}'

    def processes(self):
        """The pids, as this machine has them, of all processes of the host."""
        space = os.readlink(f'/proc/{self.pid}/ns/pid')

        def is_here(pid):
            try:
                return os.readlink(f'/proc/{pid}/ns/pid') == space
            except OSError:
                return False

        return [int(name) for name in os.listdir('/proc') if name.isdigit() and is_here(name)]

    def is_listening(self, port=22):
        lines = [line.split() for line in _read(f'/proc/{self.pid}/net/tcp').splitlines()[1:]]
        return any(fields[1].endswith(f':{port:04X}') and fields[3] == '0A' for fields in lines)

    # Faults.

    def cut(self, carrier=True):
        """Cuts the link: the network swallows everything; without carrier it is as if the plug was pulled, which the host can see."""
        if carrier:
            self.hosts.switch('bridge', 'link', 'set', 'dev', self.port, 'state', '0')
        else:
            self.hosts.switch('ip', 'link', 'set', self.port, 'down')

    def mend(self):
        """The link works again. For some seconds a host may still believe that others are not there (ARP)."""
        self.hosts.switch('ip', 'link', 'set', self.port, 'up')
        # The kernel sees a moment later that the other end is there, and has no state for a port without one.
        wait_until(lambda: ' state UP ' in self.hosts.switch('ip', 'link', 'show', 'dev', self.port), f'{self.port} has a carrier')
        self.hosts.switch('bridge', 'link', 'set', 'dev', self.port, 'state', '3')

    def lose(self, percent):
        """Loses so many of 100 packets (0 to 99), in each direction."""
        for enter, device in ((self.hosts.switch, self.port), (self._in_network, 'eth0')):
            enter('nft', f'add table netdev loss-{device}; delete table netdev loss-{device}')
            if percent:
                enter('nft', f'table netdev loss-{device} {{ chain in {{ type filter hook ingress device "{device}" priority 0; '
                             f'policy accept; numgen random mod 100 < {percent} counter drop; }}; }}')

    def count_lost(self):
        """How many packets lose() has lost: those from the host, those to it."""
        texts = [enter('nft', 'list', 'table', 'netdev', f'loss-{device}')
                 for enter, device in ((self.hosts.switch, self.port), (self._in_network, 'eth0'))]
        return [int(re.search(r'counter packets (\d+)', text).group(1)) for text in texts]

    def _in_network(self, *argv, **kwargs):
        return _run(['nsenter', '-t', str(self.pid), '-n', *argv], **kwargs)

    def freeze(self):
        """Nothing runs any more, and still the kernel of the host answers to ping and connect()."""
        if self.cgroup is None:
            raise unittest.SkipTest('no cgroup2 here, which freezes hosts')
        self._set_frozen('1')

    def thaw(self):
        self._set_frozen('0')

    def _set_frozen(self, value):
        _write(os.path.join(self.cgroup, 'cgroup.freeze'), value)
        wait_until(lambda: f'frozen {value}' in _read(os.path.join(self.cgroup, 'cgroup.events')), f'{self.name}: frozen is {value}')

    def kill(self):
        """The power fails: all its processes are gone, and its link with them."""
        os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f'/proc/{self.pid}/root/'), f'{self.name} is dead')

    # Making it.

    def find(self, pids):
        """Whether the first process of this host is a child of one of them."""
        for pid in pids:
            words = _read(f'/proc/{pid}/cmdline').split('\0')
            if 'unshare' in words[0] and self.name in words:
                for child in _children(pid):
                    if 'testhosts-init' in _read(f'/proc/{child}/cmdline'):
                        self.pid = child
        return self.pid is not None

    def connect(self):
        lines = [f'addr add {self.address}/16 dev eth0', 'link set eth0 up', 'link set lo up']
        if len(self.hosts) > MOST_WITH_ARP:
            # Entries that are given do not count, and a host that is gone is not told of by its neighbours.
            lines += [f'neigh add {host.address} lladdr {host.ether} dev eth0 nud permanent'
                      for host in self.hosts if host is not self]
        self._in_network('ip', '-batch', '-', stdin=None, input='\n'.join(lines) + '\n')

    def log(self):
        return _read(f'/proc/{self.hosts.keeper_pid}/root{self.hosts.place}/hosts/{self.number}/log')


class Hosts:
    """Hosts of the names n0, n1, ... kept: directories of /tmp and /run that they see as this machine does."""

    def __init__(self, count, prefix='n', kept=()):
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        remove_leftovers()
        _leave_in_order()
        self.prefix = prefix
        self.keeper = None
        self.keeper_pid = None
        self.place = tempfile.mkdtemp(prefix=PREFIX, dir='/tmp')
        self.lock = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        top = find_cgroup2()
        self.cgroup = os.path.join(top, os.path.basename(self.place)) if top else None
        self.hosts = [Host(self, number) for number in range(count)]
        self.kept = [os.environ[name] for name in ('DVM_TEST_BUILD', 'DVM_TEST_SOURCE') if name in os.environ] + list(kept)
        atexit.register(self.close)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __getitem__(self, number):
        return self.hosts[number]

    def __iter__(self):
        return iter(self.hosts)

    def __len__(self):
        return len(self.hosts)

    def switch(self, *argv, **kwargs):
        """Runs a command in the network of the switch."""
        return _run(['nsenter', '-t', str(self.keeper_pid), '-n', *argv], **kwargs)

    def _start(self):
        for host in self.hosts if self.cgroup else ():
            os.makedirs(host.cgroup)
        self.keeper = subprocess.Popen(
            ['unshare', '--net', '--mount', '--pid', '--ipc', '--fork', '--kill-child', '--',
             os.path.join(HERE, 'testhosts-keeper'), self.place, self.cgroup or '-', *self.kept],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True)
        if self.keeper.stdout.readline() != 'ready\n':
            raise RuntimeError(f'the keeper of the test hosts has not started: {self.keeper.poll()}')
        self.keeper_pid = _children(self.keeper.pid)[0]
        self._make_files()
        self.keeper.stdin.write(''.join(f'{host.number} {host.name}\n' for host in self.hosts))
        self.keeper.stdin.flush()
        wait_until(self._find_all, 'the hosts have started')
        self._make_links()
        for host in self.hosts:
            wait_until(lambda up=host: self._is_up(up), f'{host.name} is up')

    def _is_up(self, host):
        if not os.path.exists(f'/proc/{host.pid}/root/'):
            raise RuntimeError(f'{host.name} has not come up: {host.log()}')
        return bool(_read(host.path('/run/sshd.pid'))) and host.is_listening()

    def _find_all(self):
        if self.keeper.poll() is not None:
            raise RuntimeError(f'the keeper of the test hosts has ended: {self.keeper.returncode}')
        children = _children(self.keeper_pid)
        return all([host.pid is not None or host.find(children) for host in self.hosts])

    def _make_files(self):
        common = f'/proc/{self.keeper_pid}/root{self.place}/common'
        for name in ('key', 'host-key'):
            _run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', os.path.join(common, name)])
        _write(f'{common}/authorized_keys', _read(f'{common}/key.pub'))
        _write(f'{common}/known_hosts', '* ' + _read(f'{common}/host-key.pub'))
        _write(f'{common}/sshd_config', SSHD_CONFIG)
        _write(f'{common}/ssh_config', SSH_CONFIG)
        _write(f'{common}/hosts', '127.0.0.1 localhost\n' + ''.join(f'{host.address} {host.name}\n' for host in self.hosts))

    def _make_links(self):
        lines = ['link add br0 type bridge', 'link set br0 up']
        for host in self.hosts:
            lines += [f'link add {host.port} type veth peer name eth0 address {host.ether} netns {host.pid}',
                      f'link set {host.port} master br0 up']
        self.switch('ip', '-batch', '-', stdin=None, input='\n'.join(lines) + '\n')
        for host in self.hosts:
            host.connect()

    def close(self):
        """Ends and removes everything; may be called again."""
        atexit.unregister(self.close)
        if self.keeper is not None:
            self.keeper.stdin.close()
            try:
                self.keeper.wait(LIMIT)
            finally:
                self.keeper.kill()
                self.keeper.wait()
                self.keeper.stdout.close()
                self.keeper = None
        if self.lock is not None:
            if self.cgroup:
                _end_cgroup(self.cgroup)
            os.rmdir(self.place)
            os.close(self.lock)
            self.lock = None
