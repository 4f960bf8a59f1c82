#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A run without a DVM has a private one on the machines that it names."""

import os
import select
import signal
import socket
import subprocess
import sys

from dvmtest import DVMD, LIMIT, check, contains, dvm, equal, functions, place, run_tests, wait_until

LOCAL = ("--launcher", "local", "--personality", "plain")


def daemons(here):
    """Those of the place, which is in their words or in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words, open(f"/proc/{pid}/environ", "rb") as environ:
                text = words.read()
                if any(name in text for name in (b"dvmd", b"dvm-agent", b"dvm-guard")) and here.path.encode() in text + environ.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def is_clean(here):
    wait_until(lambda: not daemons(here), "no daemon is left")
    equal([name for name in os.listdir(here.path) if name == "dvm" and os.listdir(here.path + "/dvm")], [], "no directory is left")


def nodes_of(result):
    equal(result.returncode, 0, result.stderr)
    return sorted(result.stdout.split())


def test_list():
    """--host: its nodes with their slots, each with an agent of its own"""
    with place() as here:
        result = here.cli("run", *LOCAL, "--host", "a:2,b", "-n", "3", "sh", "-c", "echo $DVM_NODE/$(cat /proc/$PPID/comm)")
        equal(nodes_of(result), ["a/dvm-agent", "a/dvm-agent", "b/dvm-agent"])
        is_clean(here)
        result = here.cli("run", *LOCAL, "--host", "a:2,b:1", "-n", "4", "true")
        equal(result.returncode, 125)
        contains(result.stderr, "3 slots")
        is_clean(here)


def test_file():
    """--hostfile: so does a file, of which --host chooses"""
    with place() as here:
        path = here.path + "/hosts"
        with open(path, "w") as file:
            file.write("a slots=1\nb slots=2\nc slots=4\n")
        command = ["sh", "-c", "echo $DVM_NODE"]
        result = here.cli("run", *LOCAL, "--hostfile", path, "-n", "7", *command)
        equal(nodes_of(result), ["a", "b", "b", "c", "c", "c", "c"])
        result = here.cli("run", *LOCAL, "--hostfile", path, "--host", "c:1,a", "-n", "2", *command)
        equal(nodes_of(result), ["a", "c"])
        result = here.cli("run", *LOCAL, "--host", "a", "-n", "1", *command, ":", "--host", "b", "-n", "1", *command)
        equal(nodes_of(result), ["a", "b"])
        os.remove(path)
        is_clean(here)


def test_this_machine():
    """this machine alone stays one process"""
    with place() as here:
        for names in ([], ["--host", "localhost:2"], ["--host", os.uname().nodename + ":2"]):
            result = here.cli("run", "--personality", "plain", *names, "-n", "1", "sh", "-c", "cat /proc/$PPID/comm")
            equal((result.returncode, result.stdout), (0, "dvmd\n"), names)
        is_clean(here)


def test_unreachable():
    """a host that is not reached is named, with the words of ssh"""
    with place() as here:
        ssh = here.path + "/ssh"
        with open(ssh, "w") as file:
            file.write("#!/bin/sh\necho 'ssh: the words of ssh' >&2\nexit 255\n")
        os.chmod(ssh, 0o755)
        result = here.cli("run", "--set", f"launcher-command={ssh}", "--host", "localhost,far", "-n", "2", "true")
        equal((result.returncode, result.stdout), (125, ""))
        lines = [line for line in result.stderr.splitlines() if line.startswith("dvm-cli: ")]
        equal(len(lines), 1, result.stderr)
        contains(lines[0], "far: ")
        contains(lines[0], "the words of ssh")
        is_clean(here)


def test_signals():
    """it ends with its job, by signals too, and when run is killed"""
    with place() as here:
        for signum, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)):
            run = here.popen("run", *LOCAL, "--host", "a,b", "-n", "2", "sh", "-c", "echo x; sleep 1000", text=True)
            equal(run.stdout.readline() + run.stdout.readline(), "x\nx\n")
            run.send_signal(signum)
            run.communicate(timeout=60)
            equal(run.returncode, status)
            is_clean(here)


def test_early_signal():
    """a signal while its nodes are coming ends it"""
    with place() as here:
        ssh = here.path + "/ssh"
        with open(ssh, "w") as file:
            file.write(f"#!/bin/sh\ntouch {here.path}/asked\nexec sleep 1000\n")
        os.chmod(ssh, 0o755)
        run = here.popen("run", "--set", f"launcher-command={ssh}", "--host", "far", "-n", "1", "true")
        wait_until(lambda: os.path.exists(here.path + "/asked"), "the launcher is asked")
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
        equal(run.returncode, 143)
        is_clean(here)


def parent(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(next(line.split()[1] for line in file if line.startswith("PPid:")))


def test_proctable():
    """--output-proctable waits for the processes of all nodes; an agent that is lost afterwards ends the run"""
    nodes = ("--host", "a,b,c,d", "-n", "4", "--map-by", "node")
    with place() as here:
        for _ in range(3):
            result = here.cli("run", *LOCAL[:2], *nodes, "--output-proctable", "sleep", "0.2")
            equal([line.split(" = ")[1].split(", ")[:2] for line in result.stdout.splitlines()], [[f"({i}", "abcd"[i]] for i in range(4)])
        table = here.path + "/table"
        run = here.popen("run", *LOCAL, *nodes, "--output-proctable=" + table, "sleep", "600", text=True)
        wait_until(lambda: os.path.exists(table), "the table is there")
        with open(table, encoding="utf-8") as file:
            ranks = [int(line.split()[-1].rstrip(")")) for line in file]
        equal(len(ranks), 4)
        os.kill(parent(ranks[2]), signal.SIGKILL)
        _, told = run.communicate(timeout=60)
        equal(run.returncode, 125)
        contains(told, "c was lost: the agent was ended by signal 9")
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in ranks), "no process of the job is left")
        os.unlink(table)
        is_clean(here)


def test_refused():
    """what is for a private DVM is refused where one runs; two files are, too"""
    with dvm("--slots=1") as here:
        result = here.cli("run", "--launcher", "local", "-n", "1", "true")
        equal(result.returncode, 2)
        contains(result.stderr, "--launcher is for the private DVM")
    with place() as here:
        result = here.cli("run", *LOCAL, "--hostfile", "/a", "true", ":", "--hostfile", "/b", "true")
        equal(result.returncode, 2)
        contains(result.stderr, "one hostfile, not /a and /b")
        result = here.cli("run", "--launcher", "nix", "--host", "far", "-n", "1", "true")
        equal(result.returncode, 125)
        contains(result.stderr, 'There is no launcher "nix"')
        is_clean(here)


def test_interrupted_early():
    """a private DVM whose dvm-cli goes while they greet each other ends without a word"""
    with place() as here:
        for has_read in (True, False):
            ours, theirs = socket.socketpair()
            reads, writes = os.pipe()
            with ours, theirs:
                script = 'exec "$0" --bus=none --one-shot --fd=3 --ready-fd=4 3<&"$1" 4>&"$2"'
                words = ["bash", "-c", script, DVMD, str(theirs.fileno()), str(writes)]
                child = subprocess.Popen(words, pass_fds=(theirs.fileno(), writes), stderr=subprocess.PIPE, env=here.env)
                theirs.close()
                os.close(writes)
                ours.sendall(b"\0AUTH EXTERNAL 30\r\n")
                check(select.select([ours], [], [], LIMIT)[0], "it answers")
                if has_read:
                    ours.recv(4096)
            equal(child.communicate(timeout=LIMIT)[1], b"", f"{has_read}")
            os.close(reads)


def test_settings():
    """where the DVM is to be is also said by settings, and what is wrong with it is told, not passed over"""
    with place() as here:
        for words, told in ((("--launcher", "nix"), 'There is no launcher "nix"'),
                            (("--host", "localhost", "--set", "launcher=nix"), 'There is no launcher "nix"'),
                            (("--set", "hostfile=/nonexistent"), "/nonexistent"),
                            (("--set", "hosts=localhost:x"), "number of slots")):
            result = here.cli("run", *words, "-n", "1", "true")
            equal(result.returncode, 125, f"{words}: {result.stdout}{result.stderr}")
            contains(result.stderr, told)
        for word, told in (("nix=1", 'command line: there is no setting "nix"'),
                           ("plugin-settings=x", 'plugin-settings: "x" is not of the form'),
                           ("plugin-settings=mapper-nix.a=b", 'plugin-settings: mapper-nix.a is for nobody: there is no plugin "mapper-nix"')):
            for verb in (("run", "-n", "1", "true"), ("start",), ("doctor",)):
                result = here.cli(verb[0], "--set", word, *verb[1:])
                equal(result.returncode, 2, f"{verb} {word}: {result.stdout}{result.stderr}")
                contains(result.stderr, f"dvm-cli: {told}")
                equal(len(result.stderr.splitlines()), 2, "that, once, and where help is")
        os.makedirs(os.path.join(here.path, "dvm"), 0o700, exist_ok=True)
        settings = os.path.join(here.path, "dvm", "dvm.conf")
        with open(settings, "w") as file:
            file.write("[dvm]\nplugin-settings = mapper-nix.a=b\n")
        result = here.cli("map", "-n", "1", "true")
        equal((result.returncode, result.stdout), (2, ""))
        contains(result.stderr, 'there is no plugin "mapper-nix"')
        os.unlink(settings)
        equal(here.cli("run", "--set", "nix=1", "true").stderr.count("there is no setting"), 1, "once")
        result = here.cli("run", "--set", "nodes=2", "--set", "slots=1", "--personality", "plain", "-n", "2", "sh", "-c", "echo $DVM_NODE")
        equal((result.returncode, sorted(result.stdout.split())), (0, ["node1", "node2"]), result.stderr)
        is_clean(here)


sys.exit(run_tests(functions(globals())))
