#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli and a DVM of another version: a real one, behind a peer that changes on the way what another version would say or lack."""

import array
import contextlib
import os
import re
import socket
import sys
import threading

from dvmtest import check, contains, dvm, equal, functions, run_tests

CHUNK = 1 << 16
MOST_FDS = 16


class Peer:
    """Takes connections at `path` and hands them on to a DVM; pairs of bytes of one length are replaced in requests and in answers."""

    def __init__(self, path, dvm_path, requests=(), answers=()):
        self.path, self.dvm_path = path, dvm_path
        self.requests, self.answers = requests, answers
        self.threads, self.ends = [], []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen()
        self.start(self.accept)

    def start(self, function, *args):
        self.threads.append(threading.Thread(target=function, args=args, daemon=True))
        self.threads[-1].start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                far.connect(self.dvm_path)
                self.ends += [near, far]
                self.start(self.hand_on, near, far, self.requests)
                self.start(self.hand_on, far, near, self.answers)

    def hand_on(self, source, target, pairs):
        """Bytes and descriptors, to the end of either side."""
        with contextlib.suppress(OSError):
            while True:
                data, ancillary, _, _ = source.recvmsg(CHUNK, socket.CMSG_SPACE(MOST_FDS * array.array("i").itemsize))
                fds = array.array("i")
                for level, kind, what in ancillary:
                    if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                        fds.frombytes(what)
                for old, new in pairs:
                    data = data.replace(old, new)
                if not data:
                    break
                sent = target.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if fds else [])
                target.sendall(data[sent:])
                for fd in fds:
                    os.close(fd)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        # A thread that waits for one of these goes on.
        for end in (self.listener, *self.ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        for end in (self.listener, *self.ends):
            end.close()


@contextlib.contextmanager
def other_version(here, name, requests=()):
    """The words that choose the DVM behind a peer, which tells a version of nines."""
    own = own_version(here)
    peer = Peer(f"{here.path}/{name}", f"{here.path}/dvm/default/bus", requests, [(own.encode(), nines(own).encode())])
    try:
        yield ["--socket", peer.path]
    finally:
        peer.close()


def own_version(here):
    return here.cli("--version").stdout.split()[-1]


def nines(version):
    return re.sub(r"\d", "9", version)


def test_status():
    """status tells both versions, once and on standard error; what it prints for programs is what it always is"""
    with dvm("--nodes=1", "--slots=2") as here, other_version(here, "other") as words:
        own = own_version(here)
        result = here.cli(*words, "status")
        equal((result.returncode, len(result.stderr.splitlines())), (0, 1), result.stderr)
        contains(result.stderr, f"this DVM is of version {nines(own)} and dvm-cli of version {own}")
        contains(result.stdout, nines(own))
        equal(here.cli(*words, "--quiet", "status").stderr, "")
        told = here.cli(*words, "status", "--json")
        contains(told.stdout, f'"version":"{nines(own)}"')
        contains(told.stderr, f"of version {nines(own)}")
        equal(here.cli("status").stderr, "", "a DVM of the same version is no news")


def test_doctor():
    """doctor notes another version, with what helps, and looks at the nodes all the same"""
    with dvm("--nodes=1", "--slots=2") as here, other_version(here, "other") as words:
        result = here.cli(*words, "doctor")
        equal(result.returncode, 0, result.stdout + result.stderr)
        line = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["dvm"] or " dvm " in line)
        contains(line, "note")
        contains(line, f"a DVM of version {nines(own_version(here))} is running")
        contains(result.stdout, "start it again when its jobs have ended, in the version of dvm-cli")
        contains(result.stdout, "clock")


def test_jobs_go_on():
    """jobs of what both versions know run as ever, with their output and their status"""
    with dvm("--nodes=1", "--slots=2") as here, other_version(here, "other") as words:
        result = here.cli(*words, "run", "-n", "1", "sh", "-c", "cat; echo out; echo err >&2; exit 3", stdin="in\n")
        equal((result.returncode, sorted(result.stdout.split())), (3, ["in", "out"]), result.stderr)
        contains(result.stderr, "err")
        equal(len(here.json(*words, "jobs", "--all")), 1)


def test_request_that_is_not_known():
    """a request that the DVM does not know is refused with a sentence that names the cause, and an option with its name and both versions"""
    lacks = [(b"ListJobs\0", b"ListJobz\0"), (b"timeout\0", b"timeoux\0")]
    with dvm("--nodes=1", "--slots=2") as here, other_version(here, "older", lacks) as words:
        result = here.cli(*words, "jobs")
        equal((result.returncode, result.stdout), (1, ""), result.stderr)
        contains(result.stderr, "The DVM does not know this request, it is of another version than this program")
        contains(result.stderr, "ListJobz")
        own = own_version(here)
        result = here.cli(*words, "run", "--timeout", "60", "true")
        check(result.returncode != 0, result)
        contains(result.stderr, "timeoux: unknown option")
        contains(result.stderr, f"this DVM is of version {nines(own)} and dvm-cli of version {own}")
        equal(here.cli(*words, "run", "true").returncode, 0, "what it knows it does")


def test_lists_in_older_words():
    """lists are asked for in older words, if the DVM does not know those of today"""
    with dvm("--nodes=1", "--slots=2") as here, other_version(here, "older", [(b"once\0", b"oncx\0")]) as words:
        here.cli("submit", "sleep", "1000")
        for command, text in ((["nodes"], "node1"), (["jobs"], "sleep"), (["top", "--batch"], "node1"),
                              (["events", "--kind", "job", "--current", "--count", "1"], "1")):
            result = here.cli(*words, *command)
            equal(result.returncode, 0, result.stderr)
            contains(result.stdout, text)
        equal(here.cli("kill", "1").returncode, 0)


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
