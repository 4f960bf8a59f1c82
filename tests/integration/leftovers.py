# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a DVM may not leave behind: processes, files, shared memory."""

import fcntl
import os
import re
import time

# What the daemon, PMIx and the MPI libraries call their files.
_OURS = re.compile(r'^(dvm-(pmix-)?\d|pmix|prte|ompi|open-?mpi|vader|sm_segment|hwloc)', re.I)
SHELLS = ('sh', 'dash', 'bash', 'tcsh', 'bsd-csh')


def _read(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except OSError:
        return b''


def find_processes(marks):
    """The pids of all processes that have one of the marks (b'NAME=value') in their environment."""
    pids = [int(name) for name in os.listdir('/proc') if name.isdigit() and int(name) != os.getpid()]
    return [pid for pid in pids if _carries(pid, marks)]


def _carries(pid, marks):
    """Whether a living process has one of the marks. At exec it has no environment for a moment: then once more."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            with open(f'/proc/{pid}/environ', 'rb') as f:
                environment = f.read()
        except OSError:  # gone, or none of ours
            return False
        if any(mark in environment.split(b'\0') for mark in marks):
            return is_running(pid)
        if _is_told(pid, environment):
            return False
    return False


def _is_told(pid, environment):
    """Whether that is all of the environment, or there will never be more of it. See proc(5) for the fields."""
    fields = _read(f'/proc/{pid}/stat').rpartition(b') ')[2].split()
    if len(fields) < 49 or fields[0] in (b'Z', b'X') or int(fields[20]) == 0:  # gone, or without memory
        return True
    start, end = int(fields[47]), int(fields[48])
    return end != 0 and len(environment) >= end - start


def get_state(pid):
    """The letter that ps shows, '' when it is gone."""
    return _read(f'/proc/{pid}/stat').rpartition(b') ')[2][:1].decode()


def is_running(pid):
    """A process whose first thread has ended while others have not is one that runs: its parent has not been told."""
    # Asked once: a zombie may be reaped at any moment. See proc(5) for the fields.
    fields = _read(f'/proc/{pid}/stat').rpartition(b') ')[2].split()
    return len(fields) > 17 and fields[0] != b'X' and (fields[0] != b'Z' or int(fields[17]) > 1)


def _get_program(pid):
    """The name of the file that a process executes, '' when it is gone."""
    try:
        return os.path.basename(os.readlink(f'/proc/{pid}/exe'))
    except OSError:
        return ''


def _list_children(pid):
    found = []
    try:
        for task in os.listdir(f'/proc/{pid}/task'):
            found += [int(word) for word in _read(f'/proc/{pid}/task/{task}/children').split()]
    except OSError:
        pass
    return found


def find_children(pid, program):
    """The children of a process that execute that program."""
    return [child for child in _list_children(pid) if _get_program(child) == program]


def find_daemons(pid):
    """dvmd with this pid, and what belongs to it: guards, also those below the shells of a launcher, the agents below them, and
    their PMIx servers. Nothing else that they start does."""
    found = [pid]
    for child in _list_children(pid):
        if _get_program(child) == 'dvm-guard':
            found += find_daemons(child)
        elif _get_program(child) in SHELLS and _get_program(pid) not in ('dvm-guard', 'dvm-agent'):
            found += find_daemons(child)[1:]
        elif _get_program(child) == 'dvm-agent' and _get_program(pid) == 'dvm-guard':
            found += find_daemons(child)
        elif _get_program(child) == 'dvm-pmix' and _get_program(pid) == 'dvm-agent':
            found.append(child)
    return found


def is_forked(pid):
    """Whether an agent has just begun the process: it executes the agent's program still, and what it will be is not known."""
    return _get_program(pid) == 'dvm-agent' and _get_program(get_parent(pid)) == 'dvm-agent'


def is_ending(pid):
    """Whether the process has no program any more, and perhaps is a zombie by now."""
    return _get_program(pid) == ''


def find_agents(pid):
    """The agents of a dvmd."""
    return [daemon for daemon in find_daemons(pid) if _get_program(daemon) == 'dvm-agent']


def describe_process(pid):
    command = _read(f'/proc/{pid}/cmdline').replace(b'\0', b' ').decode(errors='replace')
    status = _read(f'/proc/{pid}/status').decode(errors='replace')
    facts = [' '.join(line.split()) for line in status.splitlines() if line.startswith(('State', 'PPid', 'NSpgid'))]
    return f'pid {pid}: {command} {facts}'


def list_shared_places():
    """What of ours is in the directories that everybody writes to."""
    found = set()
    for place in ('/tmp', '/dev/shm'):
        for name in os.listdir(place):
            path = os.path.join(place, name)
            if _OURS.search(name) and _is_own(path):
                found.add(path)
    return found


def _is_own(path):
    try:
        return os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return False


def is_in_use(path):
    """What a living daemon has locked, or has something in that is locked, belongs to somebody else: ours has ended."""
    return _is_locked(path) or any(_is_locked(os.path.join(folder, name)) for folder, folders, files in os.walk(path)
                                   for name in folders + [file for file in files if file == 'lock'])


def _is_locked(path):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(fd)


def uses_cgroups():
    """Whether a daemon that we start may make cgroups."""
    return find_cgroup() is not None and os.access(os.path.join(find_cgroup(), 'cgroup.procs'), os.W_OK)


def find_cgroup():
    """The directory of our own cgroup of version 2, or None."""
    own = [line[3:] for line in _read('/proc/self/cgroup').decode().splitlines() if line.startswith('0::')]
    for line in _read('/proc/self/mountinfo').decode().splitlines():
        fields = line.split(' - ')
        if own and fields[1].startswith('cgroup2 '):
            return fields[0].split()[4] + own[0]
    return None


def list_cgroups(pid=''):
    """The cgroups that the daemon of this pid has made, or all that daemons have made."""
    folder = find_cgroup()
    begin = f'dvm-{pid}.' if pid else 'dvm-'
    return {n for n in os.listdir(folder) if n.startswith(begin)} if folder else set()


def get_parent(pid):
    """The pid of the parent of a process, 0 when it is gone."""
    fields = _read(f'/proc/{pid}/stat').rpartition(b') ')[2].split()
    return int(fields[1]) if fields else 0


def get_rss(pid):
    """Resident memory of a process in bytes."""
    for line in _read(f'/proc/{pid}/status').splitlines():
        if line.startswith(b'VmRSS:'):
            return int(line.split()[1]) * 1024
    return 0


def count_descriptors(pids):
    """How many descriptors these processes have open, all together."""
    return sum(len(os.listdir(f'/proc/{pid}/fd')) for pid in pids)


def list_descriptors(pids):
    """What the descriptors are that these processes have open, all together."""
    found = []
    for pid in pids:
        for fd in os.listdir(f'/proc/{pid}/fd'):
            try:
                found.append(os.readlink(f'/proc/{pid}/fd/{fd}'))
            except FileNotFoundError:
                pass
    return found


def list_tree(path):
    """Every file and directory below path, relative to it."""
    found = []
    for folder, folders, files in os.walk(path):
        found += [os.path.relpath(os.path.join(folder, name), path) for name in folders + files]
    return sorted(found)
