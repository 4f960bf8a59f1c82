# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Slurm of a test's own: munged, slurmctld and one slurmd for each node, all on this machine, in one folder, on free ports.
With database=True slurmdbd and a MariaDB, too: without them Slurm 22.05 makes a job of another size once only.

    cluster = slurm.Slurm(('n1', 'n2'))
    with cluster.allocate(2) as allocation:
        allocation.run(['srun', 'hostname'])
    cluster.stop()
"""

import atexit
import contextlib
import functools
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

import leftovers

LIMIT = 60  # seconds
PROGRAMS = ('munged', 'slurmctld', 'slurmd', 'srun', 'salloc', 'scontrol', 'squeue', 'scancel')
DATABASE_PROGRAMS = ('slurmdbd', 'mariadbd', 'sacctmgr')
DATABASE_TABLES = '/usr/share/mysql/mysql_system_tables.sql'
ENVIRONMENT_MARK = 'DVM_TEST_SLURM'
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
# Heterogeneous jobs start by the second one.
RESIZE = 'SchedulerParameters=permit_job_expansion,bf_interval=1\n'

CONFIGURATION = '''ClusterName=dvmtest
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={place}/munge.sock
CredType=cred/munge
SlurmctldPort={port}
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmdSpoolDir={place}/spool/%n
StateSaveLocation={place}/state
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=permit_job_expansion
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=30
TmpFS={place}/tmp-%n
InactiveLimit=0
KillWait=3
SwitchType=switch/none
SlurmdParameters=config_overrides
MailProg=/bin/true
NodeName=DEFAULT CPUs={cpus} RealMemory=1000 State=UNKNOWN
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
'''

ACCOUNTING = '''AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={place}/munge.sock
'''

DATABASE_CONFIGURATION = '''AuthType=auth/munge
AuthInfo=socket={place}/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={user}
StorageLoc=accounts
LogFile={place}/slurmdbd.log
PidFile={place}/slurmdbd.pid
'''
# What MariaDB would keep for more than one test is small.
MARIADB = ('--no-defaults', '--skip-networking', '--skip-grant-tables', '--innodb-log-file-size=4M', '--innodb-buffer-pool-size=8M', '--innodb-flush-log-at-trx-commit=0',
           '--innodb-lock-wait-timeout=900')


def find_program(name):
    """Where it is; daemons are in directories that not everybody has in PATH. None: nowhere."""
    return shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')


def explain_absence(database=False):
    """Why there can be no Slurm here, or None."""
    missing = [name for name in PROGRAMS + (DATABASE_PROGRAMS if database else ()) if find_program(name) is None]
    if missing:
        return f'no Slurm here: {", ".join(missing)} not found'
    try:
        gid = pwd.getpwuid(os.getuid()).pw_gid
    except KeyError:
        return f'slurmctld runs as a user with a name, and uid {os.getuid()} has none'
    return f'slurmctld takes the group {gid} of its user, and this is {os.getgid()}' if os.getuid() and gid != os.getgid() else None


@functools.cache
def resizes_again():
    """Whether a Slurm without a database makes a job of another size more than once: 24.11 (Debian 13) does, 22.05 (Debian 12) does not."""
    said = subprocess.run([find_program('slurmctld'), '-V'], check=True, capture_output=True, text=True, timeout=LIMIT).stdout
    year, month = re.search(r' (\d+)\.(\d+)', said).groups()
    return (int(year), int(month)) >= (24, 11)


def wait_until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f'waited {LIMIT} s in vain: {what}')
        time.sleep(0.02)


def reserve_ports(count):
    """Ports that nobody has at this moment."""
    sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Allocation:
    """A job that salloc has, and holds until it is released; its variables are those that a user's shell would have."""

    def __init__(self, cluster, words):
        self.cluster = cluster
        argv = ['salloc', '--quiet', *words, 'sh', '-c', 'env -0; printf END; exec cat']
        self.process = cluster.popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        data = b''
        while not data.endswith(b'END'):
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise AssertionError(f'salloc has ended: {self.process.communicate(timeout=LIMIT)[1].decode()}')
            data += piece
        words = [word.split('=', 1) for word in data[:-len('END')].decode().split('\0') if word]
        self.environment = dict(words)
        self.job = self.environment['SLURM_JOB_ID']

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.release()

    def popen(self, argv, **options):
        """Starts a command inside of the allocation."""
        return self.cluster.popen(argv, environment=self.environment, **options)

    def run(self, argv, **options):
        """Runs a command inside of the allocation; its standard output is returned."""
        return self.cluster.run(argv, environment=self.environment, **options)

    def get_variables(self):
        """Those of Slurm alone, for a DVM whose place is the test's: the others are of the one who has started salloc."""
        return {key: value for key, value in self.environment.items() if key.startswith('SLURM')}

    def list_steps(self):
        """What squeue calls the steps that run, without those that Slurm makes itself."""
        lines = self.cluster.run(['squeue', '--steps', '--noheader', f'--jobs={self.job}', '--format=%i %j']).splitlines()
        return [line for line in lines if not line.split()[0].endswith(('.extern', '.batch', '.interactive'))]

    def release(self):
        if self.process.poll() is None:
            self.process.stdin.close()
        try:
            self.process.wait(LIMIT)
        finally:
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                pipe.close()


class Slurm:
    def __init__(self, names=('n1', 'n2'), cpus=4, more='', database=False, words=None):
        """more: lines for slurm.conf, the last of which counts if a key is there twice; words: name -> what is said of that node, too."""
        self.names = names
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.database_port = reserve_ports(1)[0] if database else None
        self.mark = f'{ENVIRONMENT_MARK}={uuid.uuid4()}'
        self.daemons = []
        self.place = tempfile.mkdtemp(prefix='dvmtest-slurm-', dir='/tmp')
        self.configuration = os.path.join(self.place, 'slurm.conf')
        try:
            self._prepare(cpus, more, words or {})
            self._start()
        except BaseException:
            self.stop()
            raise

    def memory_of(self, job):
        """The memory that a job has of each node, in MiB, as slurmctld counts it."""
        said = self.run(['scontrol', 'show', 'job', '--details', job])
        rows = re.findall(r'Nodes=(\S+) CPU_IDs=\S* Mem=(\d+)', said)
        return {name: int(size) for names, size in rows for name in self.run(['scontrol', 'show', 'hostnames', names]).split()}

    def _prepare(self, cpus, more, words):
        os.chmod(self.place, 0o755)
        for path in ('state', 'spool', *(f'tmp-{name}' for name in self.names), *(f'spool/{name}' for name in self.names)):
            os.mkdir(os.path.join(self.place, path))
        with open(os.path.join(self.place, 'munge.key'), 'wb', opener=lambda path, flags: os.open(path, flags, 0o600)) as key:
            key.write(os.urandom(64))
        host = socket.gethostname().split('.')[0]
        port, *ports = reserve_ports(1 + len(self.names))
        nodes = [f'NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={one} {words.get(name, "")}' for name, one in zip(self.names, ports)]
        text = CONFIGURATION.format(host=host, user=self.user, place=self.place, port=port, cpus=cpus, nodes='\n'.join(nodes))
        with open(self.configuration, 'w', encoding='utf-8') as file:
            file.write(text + more)
            if self.database_port is not None:
                file.write(ACCOUNTING.format(place=self.place, port=self.database_port))

    def _start(self):
        files = {'key-file': 'munge.key', 'socket': 'munge.sock', 'pid-file': 'munged.pid', 'seed-file': 'munge.seed'}
        self._start_daemon('munged', '--foreground', '--force', *[f'--{key}={self.place}/{name}' for key, name in files.items()])
        wait_until(lambda: os.path.exists(os.path.join(self.place, 'munge.sock')), 'munged is there')
        if self.database_port is not None:
            self._start_database()
        self._start_daemon('slurmctld', '-D', '-c')
        for name in self.names:
            self._start_daemon('slurmd', '-D', '-N', name)
        self.wait_idle()

    def _start_database(self):
        path = os.path.join(self.place, 'slurmdbd.conf')
        with open(path, 'w', encoding='utf-8', opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(DATABASE_CONFIGURATION.format(place=self.place, port=self.database_port, user=self.user))
        # Nobody else gets to its socket: it asks for no password.
        os.mkdir(os.path.join(self.place, 'database'), 0o700)
        words = (*MARIADB, f'--datadir={self.place}/database', f'--user={self.user}', f'--socket={self._database_socket()}')
        with open(DATABASE_TABLES, encoding='utf-8') as file:
            tables = 'create database mysql;\nuse mysql;\n' + file.read()
        subprocess.run([find_program('mariadbd'), *words, '--bootstrap'], input=tables, text=True, check=True, capture_output=True, timeout=LIMIT)
        self._start_daemon('mariadbd', *words)
        wait_until(lambda: os.path.exists(self._database_socket()), f'MariaDB is there:\n{self.log()}')
        self._start_daemon('slurmdbd', '-D')
        wait_until(lambda: self._listens(self.database_port), 'slurmdbd is there')
        self.run(['sacctmgr', '--immediate', 'add', 'cluster', 'dvmtest'])

    def _database_socket(self):
        return os.path.join(self.place, 'database', 'socket')

    def _listens(self, port):
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', port)) == 0

    def _start_daemon(self, name, *words):
        """It ends with this process, too, if that is killed."""
        with open(os.path.join(self.place, f'{name}.out'), 'ab') as out:
            self.daemons.append(self.popen(['setpriv', '--pdeathsig', 'TERM', find_program(name), *words], stdin=subprocess.DEVNULL,
                                           stdout=out, stderr=out))

    def popen(self, argv, environment=None, **options):
        """Starts a command that speaks with this Slurm; environment: all of it, instead of ours."""
        key, value = self.mark.split('=')
        env = dict(os.environ if environment is None else environment, SLURM_CONF=self.configuration, MYSQL_UNIX_PORT=self._database_socket(), **{key: value})
        return subprocess.Popen(argv, env=env, **options)

    def run(self, argv, environment=None):
        with self.popen(argv, environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                out, err = process.communicate(timeout=LIMIT)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise AssertionError(f'{" ".join(argv)} has exited with {process.returncode}: {out}{err}')
        return out

    def allocate(self, nodes, *words):
        """An allocation of so many nodes; words: more options of salloc."""
        return Allocation(self, [f'--nodes={nodes}', *words])

    def _are_idle(self):
        died = [daemon.args[3] for daemon in self.daemons if daemon.poll() is not None]
        if died:
            raise AssertionError(f'{", ".join(died)} cannot run here:\n{self.log()}')
        try:
            # A node is there once for each of its partitions.
            lines = self.run(['sinfo', '--noheader', '--Node', '--format=%N %T']).splitlines()
            return {tuple(line.split()) for line in lines} == {(name, 'idle') for name in self.names}
        except AssertionError:  # nobody answers yet
            return False

    def wait_idle(self):
        """All nodes are there, and nobody has one."""
        wait_until(self._are_idle, f'the nodes to be idle:\n{self.log()}')

    def resizes(self):
        """Whether a job gets another size more than once."""
        return self.database_port is not None or resizes_again()

    def log(self):
        """The ends of all that the daemons have written."""
        found = []
        for name in sorted(os.listdir(self.place)):
            if name.endswith(('.log', '.out')):
                with open(os.path.join(self.place, name), encoding='utf-8', errors='replace') as file:
                    found.append(f'---- {name}\n{file.read()[-4000:]}')
        return '\n'.join(found)

    def find_processes(self):
        """All that carry the mark: daemons, commands, and what runs in steps; and those that run the steps, which do not in Slurm 24.11."""
        marked = leftovers.find_processes([self.mark.encode()])
        return marked + [pid for pid in (int(name) for name in os.listdir('/proc') if name.isdigit()) if pid not in marked and self._runs_step(pid)]

    def _runs_step(self, pid):
        """It is a slurmstepd that writes to a log of ours."""
        try:
            with open(f'/proc/{pid}/comm', encoding='utf-8', errors='replace') as file:
                name = file.read().strip()
            return name == 'slurmstepd' and any(path.startswith(self.place + '/') for path in leftovers.list_descriptors([pid]))
        except OSError:  # gone, or none of ours
            return False

    def stop(self):
        """Ends the daemons and all that they have started, whatever state they are in."""
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons = []
        for pid in self.find_processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.place, ignore_errors=True)


class Shared:
    """One Slurm for all cases of a program, each of which has an allocation of its own. It is started for the first of them, and stopped with
    the program. resizes: jobs may change their size, in the soak again and again, for which Slurm needs its database."""

    def __init__(self, *words, resizes=False, more='', of_nodes=None):
        self.words = words
        self.of_nodes = of_nodes
        self.resizes = resizes
        self.more = RESIZE + more if resizes else more
        self.cluster = None

    def get(self):
        if self.cluster is None:
            database = self.resizes and LONG and explain_absence(database=True) is None
            self.cluster = Slurm(*self.words, more=self.more, database=database, words=self.of_nodes)
            atexit.register(self.cluster.stop)
        return self.cluster
