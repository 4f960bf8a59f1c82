#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli start of nodes that start each other, by a command that is called like ssh: who starts whom, and what if one cannot."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

from dvmtest import Terminal, alive, check, contains, equal, functions, place, run_tests, wait_until

# Nodes that are lost stay DOWN here.
os.environ["DVM_HEAL"] = "false"

# Called like ssh, but everything is on this machine. Who calls it is found in the arguments of its parent; who it is called by and
# what the host is called say how it goes.
FAKE_SSH = r"""#!/bin/sh
here=$(tr '\0' '\n' </proc/$PPID/cmdline | grep -A1 -x -e --node | tail -n 1)
echo "${here:-dvmd} $1" >>PLACE/calls
case ${here:-dvmd}-$1 in
    bare*-*) echo "sh: 1: ssh: not found" >&2; exit 127 ;;
    locked*-hangs* | kills*-hangs*) exec sleep 600 ;;
    locked*-*) echo "$1: Permission denied (publickey)." >&2; exit 255 ;;
    drops*-*) echo "dvm-agent-process $$" >&2; echo "Connection reset by peer" >&2; exit 255 ;;
    *-mute*) exec sh -c 'echo dvm-agent-process $$ >&2; exec cat >/dev/null' ;;
    *-far*) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255 ;;
    dvmd-waits*) exec sleep 600 ;;
esac
exec /usr/bin/python3 -S PLACE/client "$2"
"""
# What the command asks of the machine: {0} is where it listens.
CLIENT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as machine:
    machine.connect('{0}')
    socket.send_fds(machine, [sys.argv[1].encode()], [0, 1, 2])
    answer = machine.recv(4)
    sys.exit(int.from_bytes(answer, 'little') if answer else 255)
"""
LOST = 60  # seconds; nothing that is waited for here takes so long
LONG = os.environ.get("DVM_TEST_SOAK") == "1"


class Machine:
    """Stands for sshd: what is started here is no child of the command, and lives on when that has gone."""

    def __init__(self, here):
        self.env = here.env
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(here.path + "/machine")
        self.listener.listen(1000)
        with open(here.path + "/client", "w") as file:
            file.write(CLIENT.format(here.path + "/machine"))
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            line, fds, _, _ = socket.recv_fds(client, 100000, 3)
            if len(fds) != 3:
                return
            child = subprocess.Popen(["sh", "-c", line.decode()], stdin=fds[0], stdout=fds[1], stderr=fds[2],
                                     start_new_session=True, env=self.env)
            for fd in fds:
                os.close(fd)
            status = child.wait()
            with contextlib.suppress(OSError):
                client.sendall(struct.pack("<i", status if status >= 0 else 128 - status))

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.accepting.join()


class Start:
    """Nodes by a tree of this radix: the first ones are started by dvmd, the others by these, in turn."""

    def __init__(self, here, names, radix=2, **settings):
        self.here = here
        self.machine = Machine(here)
        self.path = here.path + "/fake-ssh"
        with open(self.path, "w") as file:
            file.write(FAKE_SSH.replace("PLACE", here.path))
        os.chmod(self.path, 0o755)
        settings = {"tree-radix": radix, **{name.replace("_", "-"): value for name, value in settings.items()}}
        self.options = ["--bus", "none", "--host", ",".join(names), "--set", "launcher-command=" + self.path,
                        "--set", "plugin-settings=" + " ".join(f"launcher-ssh.{name}={value}" for name, value in settings.items())]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_rest):
        if kind is not None:
            self.here.cli("stop")
        self.machine.close()

    def run(self, *options):
        result = self.here.cli("start", *self.options, *options)
        equal((result.returncode, result.stdout), (0, "DVM ready\n"), result.stderr)
        return result.stderr

    def calls(self):
        try:
            with open(self.here.path + "/calls") as file:
                return sorted(tuple(line.split()) for line in file.read().splitlines())
        except OSError:
            return []

    def nodes(self):
        return {node["name"]: node for node in self.here.json("nodes") if node["rank"] > 0}

    def states(self):
        return {name: node["state"] for name, node in self.nodes().items()}

    def stop(self):
        pids = [node["pid"] for node in self.nodes().values() if node["pid"] > 0]
        equal(self.here.cli("stop").returncode, 0)
        for pid in pids:
            wait_until(lambda one=pid: not alive(one), f"the agent {pid} is gone")


def command_line(pid):
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read().split("\0")


def is_over(here):
    """No process of a DVM of this place lives, and no command that one has called"""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"XDG_RUNTIME_DIR={here.path}\0".encode() in file.read() and alive(int(name)):
                    return False
    return True


def test_tree():
    """each node starts its own, no more than the radix, and lives on when the one has gone that has started it"""
    with place() as here, Start(here, [f"a{i}" for i in range(7)]) as start:
        start.run()
        equal(start.calls(), [("a0", "a2"), ("a0", "a4"), ("a1", "a3"), ("a1", "a5"), ("a2", "a6"), ("dvmd", "a0"), ("dvmd", "a1")])
        nodes = start.nodes()
        equal([name for name in sorted(nodes) if "--stay" in command_line(nodes[name]["pid"])], ["a2", "a3", "a4", "a5", "a6"])
        equal({node["launcher"] for node in nodes.values()}, {"ssh"})
        os.kill(nodes["a0"]["pid"], signal.SIGKILL)
        wait_until(lambda: start.states().get("a0") != "UP", "a0 is lost")
        equal({state for name, state in start.states().items() if name != "a0"}, {"UP"})
        equal(len(here.cli("run", "-n", "6", "--map-by", "node", "echo", "here").stdout.split()), 6)
        equal({state for name, state in start.states().items() if name != "a0"}, {"UP"})
        start.stop()


def test_thousand():
    """a thousand hosts, as a range: their agents come, each has a process of a job, and all of them leave"""
    if not LONG:
        return
    with place() as here, Start(here, ["h[0001-1000]"], radix=32, timeout=120) as start:
        start.run("--timeout", "600")
        calls = start.calls()
        equal({called for _, called in calls}, {f"h{i:04}" for i in range(1, 1001)})
        # On a busy machine some come late, and dvmd calls those itself.
        by_dvmd = {called for caller, called in calls if caller == "dvmd"}
        check(32 <= len(by_dvmd) < 500, len(by_dvmd))
        equal(set(start.states().values()), {"UP"})
        result = here.cli("run", "--personality", "plain", "-n", "1000", "--map-by", "node", "printenv", "DVM_RANK")
        equal((result.returncode, sorted(map(int, result.stdout.split()))), (0, list(range(1000))), result.stderr)
        equal(set(start.states().values()), {"UP"})
        equal(here.cli("stop").returncode, 0)
        wait_until(lambda: is_over(here), "nothing is left running")


def test_few():
    """as many nodes as the radix are started by dvmd alone, and so are all without a tree; with a depth each starts more"""
    for names, options, expected in (("ab", {}, {"dvmd"}), ("abc", {"radix": 0}, {"dvmd"}),
                                     ("abcdefg", {"tree_depth": 2}, {"dvmd", "a", "b", "c"})):
        with place() as here, Start(here, names, **options) as start:
            start.run()
            equal({caller for caller, _ in start.calls()}, expected)
            start.stop()


def test_parents_that_cannot():
    """what a node has not started dvmd starts: those that failed, and after two of them also one that hangs"""
    with place() as here, Start(here, "locked,bare,a1,a2,b1,c1,d1,e1,b2,c2,d2,e2,hangs3".split(","), radix=4, timeout=3000) as start:
        start.run("--timeout", str(LOST))
        calls = start.calls()
        for name in ("b1", "b2"):
            equal([caller for caller, called in calls if called == name], ["dvmd", "locked"])
        # That one may have been ended before it could write itself down.
        check(("dvmd", "hangs3") in calls, calls)
        for name in ("c1", "c2"):
            equal([caller for caller, called in calls if called == name], ["bare", "dvmd"])
        equal([caller for caller, called in calls if called == "d1"], ["a1"])
        equal(set(start.states().values()), {"UP"})
        start.stop()


def test_no_way_at_all():
    """where no node can start another one, and many have failed, no more are tried that way; the words are those of dvmd's own attempt"""
    names = [f"bare{i}" for i in range(20)] + ["far"]
    with place() as here, Start(here, names, timeout=3000) as start:
        messages = start.run("--allow-missing", "--timeout", str(LOST))
        contains(messages, "far is missing: unreachable: ssh: connect to host far port 22: No route to host")
        equal({name for name, state in start.states().items() if state != "UP"}, {"far"})
        tried = [called for caller, called in start.calls() if caller != "dvmd"]
        check(4 <= len(tried) < 19, tried)
        start.stop()


def test_parent_does_not_come():
    """nodes do not wait for long for one that is to start them"""
    with place() as here, Start(here, ["mute", "a1", "a2", "a3", "a4"], timeout=3, grace=1) as start:
        terminal = Terminal(here, "start", "--timeout", "600", *start.options, env={"TERM": "xterm"})
        terminal.read_until(b"4 of 5 nodes")
        equal([call for call in start.calls() if call[1] in ("a2", "a4")], [("dvmd", "a2"), ("dvmd", "a4")])
        terminal.write(b"\x03")
        equal(terminal.wait(), 130)
        wait_until(lambda: is_over(here), "nothing is left running")


def test_parent_goes():
    """the node that starts others ends while it does, or their connection does before they have come"""
    with place() as here, Start(here, ["kills", "drops", "hangs1", "a1", "hangs2", "a2"], timeout=3000) as start:
        starting = here.popen("start", *start.options, "--allow-missing", "--timeout", str(LOST))
        wait_until(lambda: ("kills", "hangs2") in start.calls() and ("kills", "hangs1") in start.calls(), "others are being started")
        wait_until(lambda: here.cli("nodes", "--json").returncode == 0, "dvmd answers")
        wait_until(lambda: start.nodes()["kills"]["pid"] > 0, "its agent is known")
        os.kill(start.nodes()["kills"]["pid"], signal.SIGKILL)
        output, messages = starting.communicate(timeout=LOST)
        equal((starting.returncode, output), (0, b"DVM ready\n"), messages)
        equal({name for name, state in start.states().items() if state == "UP"}, {"drops", "hangs1", "a1", "hangs2", "a2"})
        for name in ("a1", "a2"):
            equal([caller for caller, called in start.calls() if called == name], ["drops", "dvmd"])
        start.stop()


def test_interrupted():
    """Ctrl-C while nodes start others: those that have come leave at once, what is under way ends"""
    with place() as here, Start(here, ["kills", "a1", "hangs1", "a2", "a3"], grace=1000, timeout=3000) as start:
        terminal = Terminal(here, "start", "--timeout", "600", *start.options, env={"TERM": "xterm"})
        terminal.read_until(b"4 of 5 nodes")
        terminal.write(b"\x03")
        equal(terminal.wait(), 130)
        wait_until(lambda: is_over(here), "nothing is left running")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
