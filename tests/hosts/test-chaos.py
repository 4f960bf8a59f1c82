# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rounds of tests/chaos with machines: their links are cut, unplugged and lossy, they freeze, and so does the ssh that holds an agent."""

import glob
import importlib
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'chaos'))

import chaosrounds
import chaosworld
import dvmtest
import leftovers
import victims
from dvmtest import Gio

test_dvm = importlib.import_module('test-dvm')
N_HOSTS = 4
SLOTS = 4
# Some rounds of these take as long as it takes to miss a machine.
SETTINGS = ['elastic=true', 'radix=2', 'heartbeat-timeout=2', 'controller-grace=2', 'kill-grace=0.3', 'history-limit=200', 'launcher-timeout=20',
            'shrink-grace=2', 'grow-timeout=30']


def find_programs(host, name):
    """The pids, as this machine has them, of the processes of a host that execute that program."""
    return [pid for pid in host.processes() if leftovers._get_program(pid) == name]


# A socket tells the other side the process that has connected it, which must be one of its machine.
CONNECT = '''
import socket, sys
one = socket.socket(socket.AF_UNIX)
one.connect(sys.argv[2])
socket.send_fds(socket.socket(fileno=int(sys.argv[1])), [b'x'], [one.fileno()])
'''


def connect_on(host, path):
    """A connection to a socket of that host, made there."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = host.popen([sys.executable, '-c', CONNECT, str(theirs.fileno()), path], pass_fds=[theirs.fileno()])
        if process.wait() != 0:
            raise AssertionError(f'{path} cannot be connected to on {host.name}')
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    stream = Gio.Socket.new_from_fd(fds[0]).connection_factory_create_connection()
    connection = dvmtest.Connection.__new__(dvmtest.Connection)
    connection.raw = Gio.DBusConnection.new_sync(stream, None, Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT, None, None)
    connection.raw.set_exit_on_close(False)
    connection.name = None
    return connection


class Process:
    """What dvmtest.Dvm wants to know of a process that is not ours to wait for."""

    def __init__(self, pid):
        self.pid = pid
        self.returncode = None

    def poll(self):
        if self.returncode is None and not leftovers.is_running(self.pid):
            self.returncode = -1
        return self.returncode


class RemoteDvm(dvmtest.Dvm):
    """A dvmd on the first host, as this machine sees it."""

    def __init__(self, hosts, log):
        self.hosts = hosts
        self.process = Process(find_programs(hosts[0], 'dvmd')[0])
        self.runtime = os.path.dirname(log)
        self.log_path = log
        self.argv = ['dvmd']
        self.namespaces = []
        self.connection = self.connect()
        self.mark = f'DVM_JOBID={self.get("Namespace")}@'.encode()

    def connect(self):
        return connect_on(self.hosts[0], '/tmp/dvm-0/default/bus')

    def job_processes(self):
        """Of every host."""
        pids = [pid for host in self.hosts for pid in host.processes()]
        return [pid for pid in pids if self.mark in leftovers._read(f'/proc/{pid}/environ') and leftovers.is_running(pid)]

    def processes(self):
        daemons = ('dvmd', 'dvm-agent', 'dvm-guard')
        return self.job_processes() + [pid for host in self.hosts for pid in host.processes() if leftovers._get_program(pid) in daemons]


class Machines(chaosworld.World):
    def __init__(self, case, hosts):
        self.hosts = hosts
        super().__init__(case)

    def start(self):
        sets = [word for setting in SETTINGS for word in ('--set', setting)]
        self.case.start(self.hosts[0], '--host', ','.join(f'{host.name}:{SLOTS}' for host in self.hosts), *sets)
        return RemoteDvm(self.hosts, os.path.join(self.case.folder, 'log'))

    def look(self):
        """The pids are those of this machine."""
        super().look()
        here = {host.name: find_programs(host, 'dvm-agent') for host in self.hosts}
        self.known = {name: here[name][0] for name in self.known if here[name]}

    def open_cli(self, *words):
        return self.hosts[0].popen([test_dvm.CLI, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={'G_DEBUG': 'fatal-warnings'})

    def client_pid(self, process):
        """The process that nsenter has started there."""
        found = victims.list_below(process.pid, 'dvm-cli')
        return found[0] if found else process.pid

    def wake(self, process):
        """nsenter stops when it sees that its child has stopped, be that over by then, and goes on only when it is told to."""
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)

    def rank_pids(self, work):
        mark = f'DVM_JOBID={work.job.nspace}'.encode()
        return sorted(pid for pid in self.dvm.job_processes() if mark in leftovers._read(f'/proc/{pid}/environ').split(b'\0'))

    def can_lose_branch(self, target):
        """On another machine it is the next agent, by the cgroups that the last one has left."""
        return bool(self.hosts[0].cgroup) or target.nodes == {self.hosts[0].name}

    def machines(self):
        """All but the one of the controller, which would lose all others."""
        return self.hosts[1:]

    def sessions(self):
        return [path for host in self.hosts for pattern in ('', 'agent-*/') for path in glob.glob(host.path(f'/tmp/dvm-*/*/{pattern}sessions/*'))]

    def count_agents(self):
        return sum(len(find_programs(host, 'dvm-agent')) for host in self.hosts)


class Chaos(test_dvm.Machines):
    test_crowd = test_eight = test_missing = test_host_goes = None  # there

    def test_rounds(self):
        hosts = self.make(N_HOSTS)
        place = Machines(self, list(hosts))
        chaosrounds.run(self, place)
        place.dvm.connection.close()
        self.cli(hosts[0], 'stop')
        self.assert_nothing_left(hosts)
        for host in hosts:
            self.assertEqual(os.listdir(host.path('/dev/shm')), [], host.name)


if __name__ == '__main__':
    dvmtest.main()
