# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a DVM may not leave behind: processes, files, shared memory."""

import fcntl
import os
import re

# What the daemon, PMIx and the MPI libraries call their files.
_OURS = re.compile(r'^(dvm-\d|pmix|prte|ompi|open-?mpi|vader|sm_segment|hwloc)', re.I)


def _read(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except OSError:
        return b''


def find_processes(marks):
    """The pids of all processes that have one of the marks (b'NAME=value') in their environment."""
    found = []
    for name in os.listdir('/proc'):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        entries = _read(f'/proc/{name}/environ').split(b'\0')
        if any(mark in entries for mark in marks) and not is_zombie(int(name)):
            found.append(int(name))
    return found


def is_zombie(pid):
    stat = _read(f'/proc/{pid}/stat')
    return b') Z ' in stat


def is_running(pid):
    return os.path.exists(f'/proc/{pid}/stat') and not is_zombie(pid)


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
    """A directory that a living daemon has locked belongs to somebody else: ours has ended."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
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


def list_cgroups(pid):
    """The cgroups that the daemon of this pid has made."""
    folder = find_cgroup()
    return [n for n in os.listdir(folder) if n.startswith(f'dvm-{pid}.')] if folder else []


def list_tree(path):
    """Every file and directory below path, relative to it."""
    found = []
    for folder, folders, files in os.walk(path):
        found += [os.path.relpath(os.path.join(folder, name), path) for name in folders + files]
    return sorted(found)
