#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli start with many nodes, real agents: what comes, what does not, and how it is shown."""

import json
import os
import re
import resource
import signal
import sys

from dvmtest import Failed, Terminal, alive, check, contains, equal, functions, place, run_tests, wait_until

# Nodes that are lost stay DOWN here: test-heal.py is about those that come back.
os.environ["DVM_HEAL"] = "false"

# Called like ssh, but everything is on this machine. What the host is called says how it goes.
FAKE_SSH = """#!/bin/sh
while [ "$1" = -p ]; do port=$2; shift 2; done
echo "$1 $port" >>PLACE/calls
case ${1#*@} in
    far*) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255 ;;
    refuses*) echo "ssh: connect to host $1 port 22: Connection refused" >&2; exit 255 ;;
    secret*) echo "$1: Permission denied (publickey)." >&2; exit 255 ;;
    bare*) exec sh -c "${2%%dvm-agent *}no-such-agent /no/such/agent" ;;
    mute*) exec sh -c 'echo dvm-agent-process $$ >&2; exec cat >/dev/null' ;;
    hangs*) exec sleep 600 ;;
esac
exec sh -c "$2"
"""


def fake_ssh(here):
    path = here.path + "/fake-ssh"
    with open(path, "w") as file:
        file.write(FAKE_SSH.replace("PLACE", here.path))
    os.chmod(path, 0o755)
    return "launcher-command=" + path


class Started:
    """A DVM by dvm-cli start, ended by dvm-cli stop; nothing of it is left."""

    def __init__(self, here, *args, **options):
        self.here = here
        result = here.cli("start", "--bus", "none", "--json", *args, **options)
        equal(result.returncode, 0, result.stderr)
        self.lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.pids = []

    def __enter__(self):
        self.nodes = self.here.json("nodes")
        self.pids = [self.lines[-1]["pid"]] + [node["pid"] for node in self.nodes if node["pid"] > 0]
        return self

    def __exit__(self, *args):
        result = self.here.cli("stop")
        equal((result.returncode, result.stderr), (0, ""), "stop")
        for pid in self.pids:
            wait_until(lambda: not alive(pid), f"process {pid} is gone")


def places(nodes):
    return [(node["rank"], node["name"], node["state"], node["slots"]) for node in nodes if node["rank"] > 0]


def test_logical():
    """--nodes K makes K nodes on this machine, each with an agent and slots of its own"""
    with place() as here, Started(here, "--nodes", "4", "--slots", "2") as dvm:
        equal(places(dvm.nodes), [(rank, f"node{rank}", "UP", 2) for rank in range(1, 5)])
        equal([(node["launcher"], node["allocator"]) for node in dvm.nodes], [("", "")] + [("local", "hosts")] * 4)
        equal([(node["parent-rank"], node["depth"]) for node in dvm.nodes], [(0, 0)] + [(0, 1)] * 4)
        equal(len(set(dvm.pids)), 5, "each agent is a process of its own")
        progress = [(line["nodes-reported"], line["nodes-expected"]) for line in dvm.lines[:-1]]
        equal(progress[-1], (4, 4))
        equal(progress, sorted(set(progress)), "it only goes up")
        result = here.cli("run", "--personality", "plain", "-n", "8", "sh", "-c", "echo $DVM_NODE")
        equal(sorted(result.stdout.split()), sorted([f"node{rank}" for rank in range(1, 5)] * 2), result.stderr)
        status = here.json("status")
        equal((status["node-count"], status["slot-count"]), (4, 8))


def parents(text):
    """From the drawn tree: [(depth, name)]"""
    drawn = []
    for line in text.splitlines()[1:]:
        match = re.match(r"\s*\d+\s\s((?:│  |   |├─ |└─ )*)(\S+)", line)
        drawn.append((len(match[1]) // 3, match[2]))
    return drawn


def test_tree():
    """nodes are drawn as the tree that JSON tells of"""
    with place() as here, Started(here, "--nodes", "7", "--slots", "1", "--set", "radix=2") as dvm:
        depths = {node["name"]: node["depth"] for node in dvm.nodes}
        ranks = {node["rank"]: node["name"] for node in dvm.nodes}
        check(max(depths.values()) in (2, 3), f"seven nodes at radix 2: {depths}")
        result = here.cli("nodes")
        drawn = parents(result.stdout)
        equal(sorted(name for _, name in drawn), sorted(depths))
        path = []
        above = {}
        for depth, name in drawn:
            equal(depths[name], depth, result.stdout)
            path[depth:] = [name]
            above[name] = path[depth - 1] if depth else None
        for node in dvm.nodes[1:]:
            equal(above[node["name"]], ranks[node["parent-rank"]], result.stdout)
        flat = here.cli("nodes", "--flat").stdout
        equal([int(line.split()[0]) for line in flat.splitlines()[1:]], list(range(8)))
        check("─" not in flat, flat)
        check("─" not in here.cli("nodes", "--columns", "rank,name").stdout, "columns are a list")
        contains(here.cli("nodes", "--columns", "name", "--tree").stdout, "├─ ")
        contains(here.cli("nodes", env={"LC_ALL": "C"}).stdout, "|- ")
        equal(here.cli("nodes", "--tree", "--flat").returncode, 2)


def test_terminal():
    """a bar shows how many nodes have come"""
    with place() as here:
        terminal = Terminal(here, "start", "--bus", "none", "--nodes", "4", env={"TERM": "xterm"})
        try:
            equal(terminal.wait(), 0)
            contains(terminal.output, b"4 of 4 nodes")
            check(terminal.output.endswith(b"\r\x1b[KDVM ready\r\n"), terminal.output)
        finally:
            equal(here.cli("stop").returncode, 0)


def test_names_of_this_machine():
    """under the launcher local every name is a logical node, with the slots of list or file"""
    with place() as here:
        with Started(here, "--launcher", "local", "--host", "alpha:3,beta,gamma,gamma", "--slots", "1") as dvm:
            equal(places(dvm.nodes), [(1, "alpha", "UP", 3), (2, "beta", "UP", 1), (3, "gamma", "UP", 2)])
        hostfile = here.path + "/hosts"
        with open(hostfile, "w") as file:
            file.write("alpha slots=2 max_slots=4\nbeta slots=3\ngamma\n^gamma\n")
        with Started(here, "--launcher", "local", "--hostfile", hostfile) as dvm:
            equal(places(dvm.nodes), [(1, "alpha", "UP", 2), (2, "beta", "UP", 3)])
            equal([node["slots-max"] for node in dvm.nodes[1:]], [4, 0])
        with Started(here, "--launcher", "local", "--hostfile", hostfile, "--host", "beta:1") as dvm:
            equal(places(dvm.nodes), [(1, "beta", "UP", 1)])


def test_like_ssh():
    """a command like ssh gets user, host and port of a hostfile"""
    with place() as here:
        hostfile = here.path + "/hosts"
        with open(hostfile, "w") as file:
            file.write("one slots=2\nann@two port=2222\nthree username=bob\n")
        with Started(here, "--hostfile", hostfile, "--slots", "1", "--set", fake_ssh(here)) as dvm:
            equal(places(dvm.nodes), [(1, "one", "UP", 2), (2, "two", "UP", 1), (3, "three", "UP", 1)])
            with open(here.path + "/calls") as calls:
                equal(sorted(calls.read().splitlines()), ["ann@two 2222", "bob@three ", "one "])
            equal([node["launcher"] for node in dvm.nodes[1:]], ["ssh"] * 3)
            equal(here.cli("run", "--personality", "plain", "-n", "4", "sh", "-c", "echo $DVM_NODE").stdout.split().count("one"), 2)


def no_agents(here):
    """No process of a DVM of this place lives."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment, open(f"/proc/{pid}/comm") as name:
                if (f"XDG_RUNTIME_DIR={here.path}\0".encode() in environment.read() and alive(int(pid))
                        and name.read() in ("dvmd\n", "dvm-agent\n", "dvm-guard\n")):
                    return False
        except OSError:
            pass
    return True


def test_missing():
    """a DVM comes up with all nodes or says which are missing and why, and leaves nothing"""
    with place() as here:
        result = here.cli("start", "--bus", "none", "--host", "one,far,secret,two,refuses,bare", "--set", fake_ssh(here))
        equal((result.returncode, result.stdout), (1, ""), result.stderr)
        for words in (("far", "unreachable"), ("secret", "authentication"), ("refuses", "refused"), ("bare", "agent missing")):
            if not re.search(rf"\b{words[0]}: {words[1]}\b", result.stderr):
                raise Failed(f"{words} is not in {result.stderr!r}")
        check("one:" not in result.stderr and "two:" not in result.stderr, result.stderr)
        wait_until(lambda: no_agents(here), "nothing is left running")


def test_allow_missing():
    """--allow-missing goes on without them; they are DOWN, with the reason"""
    with place() as here:
        with Started(here, "--host", "one,far,two", "--slots", "1", "--allow-missing", "--set", fake_ssh(here)) as dvm:
            equal([state for _, _, state, _ in places(dvm.nodes)], ["UP", "DOWN", "UP"])
            contains(dvm.nodes[2]["reason"], "No route to host")
            told = [line for line in dvm.lines if line.get("kind") == "node"]
            equal([(line["name"], line["state"]) for line in told], [("far", "DOWN")])
            contains(told[0]["reason"], "unreachable")
            text = here.cli("nodes").stdout
            line = [line for line in text.splitlines() if re.search(r"\bfar\b", line)][0]
            check(re.match(r"\s*2  far\s+DOWN\s", line), text)
            contains(line, "unreachable")
            result = here.cli("run", "--personality", "plain", "-n", "2", "sh", "-c", "echo $DVM_NODE")
            equal(sorted(result.stdout.split()), ["one", "two"], result.stderr)
        result = here.cli("start", "--bus", "none", "--host", "one,far", "--allow-missing", "--set", fake_ssh(here))
        try:
            equal((result.returncode, result.stdout), (0, "DVM ready\n"))
            contains(result.stderr, "node far is missing: unreachable: ssh: connect to host far")
        finally:
            here.cli("stop")
        result = here.cli("start", "--bus", "none", "--host", "far,secret", "--allow-missing", "--set", fake_ssh(here))
        equal(result.returncode, 1, "none at all is too few")
        contains(result.stderr, "far: unreachable")
        contains(result.stderr, "secret: authentication")


def test_lost():
    """the job of a node that is lost fails with its name, and nothing looks like a good end"""
    with place() as here:
        with Started(here, "--nodes", "2", "--slots", "1") as dvm:
            job = here.cli("submit", "--personality", "plain", "-n", "2", "sleep", "600").stdout.strip()
            wait_until(lambda: here.json("jobs")[0]["state"] == "RUNNING", "it runs")
            os.kill([node["pid"] for node in dvm.nodes if node["name"] == "node2"][0], signal.SIGKILL)
            result = here.cli("wait", job)
            equal(result.returncode, 125)
            contains(result.stderr, "node2 was lost: ")
            line = [line for line in here.cli("jobs", "--all").stdout.splitlines() if "failed" in line][0]
            check(re.search(r"\s-\s+sleep 600\s+node2 was lost: ", line), line)
            ranks = [line.split() for line in here.cli("job", "procs", job).stdout.splitlines()]
            equal([(rank[5], rank[6]) for rank in ranks[1:]], [("KILLED_BY_CMD", "SIGTERM"), ("COMM_FAILED", "-")])


def test_silent():
    """an agent that never reports, and an ssh that hangs, end the start in time, by name"""
    with place() as here:
        # The time is also for the one that reports.
        result = here.cli("start", "--bus", "none", "--host", "one,mute,hangs", "--timeout", "8", "--set", fake_ssh(here))
        equal(result.returncode, 1)
        check(re.search(r"2 of the 3 nodes.*\bmute\b.*\bhangs\b.*timeout.*within 8 s", result.stderr), result.stderr)
        wait_until(lambda: no_agents(here), "nothing is left running")


def test_no_command():
    """a launcher whose command is not there says so, for each node"""
    with place() as here:
        result = here.cli("start", "--bus", "none", "--host", "one,two", "--set", "launcher-command=/no/such/ssh")
        equal((result.returncode, result.stdout), (1, ""))
        check(re.search(r"2 of the 2 nodes.*\bone\b.*\btwo\b.*cannot be started.*does not exist", result.stderr), result.stderr)


def test_full_table():
    """where descriptors do not suffice for all agents, the start fails before it begins and says why; a soft limit is none"""
    with place() as here:
        result = here.cli("start", "--bus", "none", "--nodes", "100",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)))
        equal((result.returncode, result.stdout), (1, ""))
        said = re.search("Too many open files: 100 agents would take ([0-9]+), ([0-9]+) are open, ([0-9]+) are kept free, "
                         "and the limit of dvmd is 200 ", result.stderr)
        check(said and sum(int(number) for number in said.groups()) > 200, result.stderr)
        wait_until(lambda: no_agents(here), "nothing is left running")
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        check(hard > 500, f"the hard limit is {hard}")
        result = here.cli("start", "--bus", "none", "--nodes", "50",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard)))
        equal((result.returncode, result.stdout), (0, "DVM ready\n"))
        equal(here.cli("run", "-n", "1", "sh", "-c", "ulimit -Sn").stdout, "100\n")
        equal(here.cli("stop").returncode, 0)


def test_agent_cannot_begin():
    """an agent that has joined and cannot go on says why"""
    with place() as here:
        # Room for the socket of the DVM, and none for those of its nodes.
        path = here.path + "/" + "d" * (86 - len(here.path) - 1)
        os.mkdir(path, 0o700)
        result = here.cli("start", "--bus", "none", "--nodes", "2", env={"XDG_RUNTIME_DIR": path})
        equal((result.returncode, result.stdout), (1, ""))
        check(re.search("node1.*node2.*socket.*bytes", result.stderr), result.stderr)


def test_interrupted():
    """a start that is interrupted leaves no agent behind"""
    with place() as here:
        # Longer than this test waits: the second node is told when it comes, not when the third is given up.
        terminal = Terminal(here, "start", "--bus", "none", "--timeout", "600", "--host", "one,two,hangs", "--set", fake_ssh(here), env={"TERM": "xterm"})
        terminal.read_until(b"2 of 3 nodes")
        terminal.write(b"\x03")
        equal(terminal.wait(), 130)
        contains(terminal.output, b"interrupted")
        wait_until(lambda: no_agents(here), "nothing is left running")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
