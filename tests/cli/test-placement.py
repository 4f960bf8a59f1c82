#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where processes go on a DVM of several nodes, real agents: --map-by, --host, --hostfile, --when-full."""

import json
import os
import socket
import sys

from dvmtest import check, contains, equal, functions, place, run_tests

SHOW = ("sh", "-c", "echo $DVM_RANK $DVM_NODE")


class Started:
    """Four nodes with two slots each."""

    def __init__(self, here, *args):
        self.here = here
        result = here.cli("start", "--bus", "none", *(args or ("--nodes", "4", "--slots", "2")))
        equal(result.returncode, 0, result.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        equal(self.here.cli("stop").returncode, 0, "stop")

    def nodes(self, *args):
        """The numbers of the nodes that the ranks have run on"""
        result = self.here.cli("run", "--personality", "plain", *args, *SHOW, cwd=self.here.path)
        equal(result.returncode, 0, result.stderr)
        return self.in_order(result.stdout)

    def apps(self, *apps):
        """The same for several programs"""
        words = []
        for app in apps:
            words += [":"] * (len(words) > 0) + [*app, *SHOW]
        result = self.here.cli("run", "--personality", "plain", *words)
        equal(result.returncode, 0, result.stderr)
        return self.in_order(result.stdout)

    @staticmethod
    def in_order(text):
        rows = sorted((int(rank), name) for rank, name in (line.split() for line in text.splitlines()))
        equal([rank for rank, _ in rows], list(range(len(rows))), text)
        return "".join(name[-1] for _, name in rows)

    def refused(self, mention, *args, status=None):
        result = self.here.cli("run", "--personality", "plain", *args, *SHOW, cwd=self.here.path)
        check(result.returncode == status if status else result.returncode != 0, f"{args}: {result.returncode} {result.stdout}")
        equal(result.stdout, "")
        contains(result.stderr, mention)
        # What a map says is what a job is told.
        result = self.here.cli("map", *args, *SHOW, cwd=self.here.path)
        check(result.returncode != 0, f"{args}: {result.stdout}")
        contains(result.stderr, mention)


def test_map_by():
    """by slot, by node, so many per node"""
    with place() as here, Started(here) as dvm:
        equal(dvm.nodes("-n", "5"), "11223")
        equal(dvm.nodes("--map-by", "slot"), "11223344")
        equal(dvm.nodes("-n", "6", "--map-by", "node"), "123412")
        equal(dvm.nodes("--map-by", "ppr:1:node"), "1234")
        equal(dvm.nodes("-n", "5", "--map-by", "PPR:2:node"), "11223")
        dvm.refused("1 of 5 processes has no place", "-n", "5", "--map-by", "ppr:1:node")
        dvm.refused("12 processes", "--map-by", "ppr:3:node")
        dvm.refused("“slot”", "--map-by", "slots", status=2)
        dvm.refused("“slot”, “seq”", "--map-by", "s", status=2)
        dvm.refused("“package” is above", "--map-by", "core", "--bind-to", "package", status=2)
        dvm.refused("unknown word “slow”", "--map-by", "slow", status=2)
        dvm.refused("“span” contradicts map-by “node”", "--map-by", "node", "--rank-by", "span", status=2)
        result = here.cli("map", "--json", "--map-by", "ppr:1:node", "true")
        equal([row["node"] for row in json.loads(result.stdout)], ["node1", "node2", "node3", "node4"], result.stderr)


def test_programs():
    """programs of one job are each placed in their own way, and take from the job what they do not say"""
    machine = ("--topology", "package:2 numa:1 core:8 pu:2")

    def rows(here, *words):
        result = here.cli("map", *machine, "--json", *words)
        equal(result.returncode, 0, result.stderr)
        return [(row["app"], row["node"], row["cpuset"]) for row in json.loads(result.stdout)]

    with place() as here:
        equal(rows(here, "-n", "2", "--map-by", "core", "--bind-to", "core", "a", ":", "-n", "4", "--map-by", "numa:PE=2", "b"),
              [(0, "head", "0-1"), (0, "head", "2-3"), (1, "head", "4-7"), (1, "head", "8-11"), (1, "head", "16-19"), (1, "head", "20-23")])
        # Each begins at the first node, where there are slots and cpus left.
        equal(rows(here, "--nodes", "2", "--slots", "4", "-n", "3", "--map-by", "core", "a", ":", "-n", "3", "--map-by", "node", "--bind-to",
                   "core", "b", ":", "-n", "1", "--bind-to", "none", "c"),
              [(0, "head", "0-1"), (0, "head", "2-3"), (0, "head", "4-5"), (1, "head", "6-7"), (1, "n001", "0-1"), (1, "n001", "2-3"),
               (2, "n001", "")])
        # Ranks go program by program, and in each of them as that one says.
        equal([row[1:] for row in rows(here, "--nodes", "2", "--slots", "4", "-n", "2", "--map-by", "node", "--bind-to", "none", "a", ":", "-n", "4",
                                       "--map-by", "slot", "--rank-by", "node", "b")],
              [("head", ""), ("n001", ""), ("head", ""), ("n001", ""), ("head", ""), ("head", "")])
        # Spellings of before, and a number of processes that the mapper knows.
        result = here.cli("map", *machine, "--json", "-n", "1", "a", ":", "--npersocket", "1", "b")
        equal([row["cpuset"] for row in json.loads(result.stdout)], ["0-1", "0-15", "16-31"], result.stderr)
        contains(result.stderr, "'--npersocket 1' is '--map-by ppr:1:package' today")
        equal(len(rows(here, "--slots", "16", "-n", "4", "--map-by", "core", "a", ":", "--map-by", "package:PE=2", "b")), 10)
        for words, mention in (
            (("--slots", "32", "-n", "9", "--map-by", "core", "a", ":", "-n", "8", "--map-by", "numa:PE=2", "b"), "apps[1]: 8 processes do not fit"),
            (("a", ":", "--map-by", "core:PE=2", "b"), "apps[1]: map-by: a process of 2 cpus (PE=2) does not fit onto one core"),
            (("--map-by", "core", "a", ":", "--map-by", "slow", "b"), "apps[1]: map-by: unknown word “slow”"),
        ):
            result = here.cli("map", *machine, *words)
            check(result.returncode != 0, result.stdout)
            contains(result.stderr, mention)
        with open(here.path + "/job.json", "w") as file:
            json.dump({"apps": [{"argv": list(SHOW), "np": 2}, {"argv": list(SHOW), "np": 2, "map-by": "node"}], "map-by": "slot",
                       "personality": "plain"}, file)
        with Started(here) as dvm:
            result = here.cli("run", "--file", here.path + "/job.json")
            equal((result.returncode, dvm.in_order(result.stdout)), (0, "1123"), result.stderr)
            equal(dvm.apps(("-n", "2"), ("-n", "3", "--map-by", "node"), ("-n", "1", "--map-by", "slot")), "112342")


def test_said_twice():
    """two values of one program's option are refused, both by name; the same one is not, nor those of two programs"""
    machine = ("--topology", "package:2 core:4 pu:1")
    with place() as here:
        for words in ("--bind-to core --bind-to package", "--map-by core --map-by :PE=2", "--rank-by slot --rank-by node", "-n 2 -c 4",
                      "-N 2 --npernode 4", "--rankfile /x --rankfile /X", "a : -n 1 -n 2"):
            for verb in (("map", *machine), ("run",)):
                result = here.cli(*verb, *words.split(), "true")
                equal(result.returncode, 2, words)
                one, other = words.replace("a : ", "").replace(" -", "\n-").split("\n")
                contains(result.stderr, f"'{one}' and '{other}' cannot stand together: say it once")
        result = here.cli("start", "--map-by", "core", "--map-by", "node")
        equal(result.returncode, 2)
        for words in ("-n 2 -c 2 --bind-to core --bind-to CORE a", "-n 1 --map-by core a : -n 1 --map-by node b"):
            equal(here.cli("map", *machine, *words.split()).returncode, 0, words)


def test_colon_in_path():
    """a path may have colons, whatever stands behind them"""
    with place() as here:
        for name in ("12:30", "ranks:c", "a:b:oversubscribe"):
            with open(os.path.join(here.path, name), "w") as file:
                file.write("rank 0=head slot=3\n")
            for words in (("--rankfile", name), ("--rankfile", os.path.join(here.path, name)),
                          ("--map-by", "rankfile:FILE=" + name.replace(":", "\\:") + ":HWTCPUS=no")):
                result = here.cli("map", "--topology", "core:4 pu:2", "--json", *words, "true", cwd=here.path)
                equal([row["cpuset"] for row in json.loads(result.stdout)], ["6-7"], f"{words} {result.stderr}")
        result = here.cli("map", "--topology", "core:4 pu:2", "--json", "--map-by", "rankfile:FILE=12:30:nolocal=no", "true", cwd=here.path)
        equal(result.returncode, 0, result.stderr)


def test_old_spellings():
    """words of other launchers place as those of today do, with one line that can be turned off"""
    with place() as here, Started(here) as dvm:
        def told(*args, **options):
            result = here.cli("map", "--json", *args, "true", **options)
            return result.returncode, result.stderr

        equal(dvm.nodes("-n", "6", "--bynode"), "123412")
        equal(dvm.nodes("-n", "5", "-byslot"), "11223")
        equal(dvm.nodes("-N", "1"), "1234")
        equal(dvm.nodes("-N2", "-n", "5"), "11223")
        equal(dvm.nodes("--pernode", "-n", "3", "--bind-to-none"), "123")
        equal(dvm.nodes("--ntasks-per-node=1"), "1234")
        equal(dvm.nodes("--mapby", "node", "-n", "2"), "12")
        line = "dvm-cli: '-N 1 --bind-to-none' is '--map-by ppr:1:node --bind-to none' today (DVM_NOTICE=no hides this line)\n"
        equal(told("-N", "1", "--bind-to-none"), (0, line))
        contains(told("-N", "1", "--map-by", ":nolocal")[1], "'-N 1' is '--map-by ppr:1:node:nolocal' today")
        equal(told("-q", "-N", "1"), (0, ""))
        for word in ("no", "0", "False"):
            equal(told("-N", "1", env={**here.env, "DVM_NOTICE": word}), (0, ""), word)
        with open(here.path + "/job.json", "w") as file:
            json.dump({"apps": [{"argv": list(SHOW), "np": 5}], "map-by": "slot", "personality": "plain"}, file)
        result = here.cli("run", "--file", here.path + "/job.json", "--bynode")
        equal((result.returncode, dvm.in_order(result.stdout)), (0, "12341"), result.stderr)
        result = here.cli("run", "--donotlaunch", "-N", "1", "true")
        equal((result.returncode, len(result.stdout.splitlines())), (0, 5), result.stderr)


def test_old_spellings_on_machines():
    """on machines with packages and cores each of them gives the map of what it is today"""
    same = (
        ("-n 6 --bynode --cpus-per-rank 2", "-n 6 --map-by node:PE=2", [(0, "0-3"), (1, "0-3"), (2, "0-3"), (0, "4-7"), (1, "4-7"), (2, "4-7")]),
        ("--npersocket 1", "--map-by ppr:1:package", [(n, cpus) for n in range(3) for cpus in ("0-15", "16-31")]),
        ("-n 3 --bycore", "-n 3 --map-by core", [(0, "0-1"), (0, "2-3"), (0, "4-5")]),
        ("-n 2 --bind-to-socket", "-n 2 --bind-to socket", [(0, "0-15"), (0, "16-31")]),
        ("-n 2 --byslot --bind-to-core", "-n 2 --map-by slot --bind-to core", [(0, "0-1"), (0, "2-3")]),
        ("-n 2 --byslot --use-hwthread-cpus --bind-to hwthread", "-n 2 --map-by slot:HWTCPUS --bind-to hwthread", [(0, "0"), (0, "1")]),
        ("--ntasks-per-node 1 --cpus-per-task 4", "--map-by ppr:1:node:PE=4", [(0, "0-7"), (1, "0-7"), (2, "0-7")]),
        ("--ppr 1:numa --bind-to-none", "--map-by ppr:1:numa --bind-to none", [(n, "") for n in (0, 0, 1, 1, 2, 2)]),
    )
    with place() as here:
        def rows(words):
            result = here.cli("map", "--topology", "package:2 numa:1 core:8 pu:2", "--nodes", "3", "--slots", "16", "--json",
                              *words.split(), "true")
            equal(result.returncode, 0, f"{words}: {result.stderr}")
            return json.loads(result.stdout)

        for old, today, expected in same:
            names = sorted({row["node"] for row in rows("-N 1")})
            found = rows(old)
            equal(found, rows(today), old)
            equal([(names.index(row["node"]), row["cpuset"] or "") for row in found], expected, old)


def test_display_of_map():
    """map takes --display map and bindings, and the spellings of before, as run does; its JSON has both"""
    with place() as here:
        def shown(*args, status=0):
            result = here.cli("map", "-q", "--topology", "core:4 pu:1", "-n", "2", *args, "true")
            equal(result.returncode, status, f"{args}: {result.stderr}")
            return result.stdout if status == 0 else result.stderr
        plain = shown()
        bindings = "RANK  NODE  BOUND TO CPUS\n   0  head  0\n   1  head  1\n"
        for args, expected in (
            (("--display-map",), plain),
            (("--display", "map"), plain),
            (("--report-bindings",), bindings),
            (("--display", "bind:physical"), bindings),
            (("--bind-to", "core:report"), bindings),
            (("--display-map", "--report-bindings"), plain + bindings),
        ):
            equal(shown(*args), expected, f"{args}")
        equal(json.loads(shown("--json", "--report-bindings", "--display-map")), json.loads(shown("--json")))
        equal(shown("--picture", "--report-bindings"), shown("--picture"))
        contains(shown("--display-topo", status=2), "'dvm-cli map' shows map and bindings")
        contains(shown("--display", "map:parseable", status=2), "--json prints a map for programs")


def test_hosts():
    """--host restricts, and limits slots, for each program"""
    with place() as here, Started(here) as dvm:
        equal(dvm.nodes("--host", "node3"), "33")
        equal(dvm.nodes("--host", "node3:1,node2"), "322")
        equal(dvm.nodes("--host", "node4:*", "--host", "node2"), "4422")
        equal(dvm.nodes("-n", "2", "--host", "^node1,^node2", "--map-by", "node"), "34")
        equal(dvm.nodes("--host", "+n1"), "22")
        equal(dvm.nodes("--host", "+e:3", "--map-by", "ppr:1:node"), "123")
        equal(dvm.apps(("-n", "1", "--host", "node4"), ("-n", "3", "--host", "node2:1,node3")), "4233")
        dvm.refused("dvm-cli: --host: “node9” is not a node of this DVM", "--host", "node1,node9")
        dvm.refused("dvm-cli: --host of program 2: “node9” is not a node", "-n", "1", "true", ":", "-n", "1", "--host", "node9")
        dvm.refused("dvm-cli: --host: no node is left: the list leaves out all", "--host", "^node1,^node2,^node3,^node4")
        dvm.refused("dvm-cli: --host: “a b”: it is not a host name", "--host", "a b", status=2)
        dvm.refused("2 slots", "-n", "3", "--host", "node2")
        dvm.refused("“node1:0”", "--host", "node1:0")
        dvm.refused("the DVM has 4 nodes", "--host", "+e:5")


def test_hostfile():
    """--hostfile chooses nodes and slots; errors name file and line"""
    with place() as here, Started(here) as dvm:
        def write(text):
            with open(here.path + "/mine", "w") as file:
                file.write(text)

        write("# mine\nnode3 slots=1\nnode1 slots=2\n")
        equal(dvm.nodes("--hostfile", "mine"), "311")
        equal(dvm.nodes("-machinefile", "mine", "--host", "node3"), "3")
        dvm.refused("3 slots", "-n", "4", "--hostfile", "mine")
        dvm.refused("“node2” is not among the hosts", "--hostfile", "mine", "--host", "node2")
        dvm.refused("once", "--hostfile", "mine", "--hostfile", "mine")
        write("node1\n\nnode7\n")
        dvm.refused(here.path + "/mine:3: “node7” is not a node of this DVM", "--hostfile", "mine")
        write("node1 slots=two\n")
        dvm.refused(here.path + "/mine:1: slots is “two”", "--hostfile", "mine")
        dvm.refused(here.path + "/no-such-file", "--hostfile", "no-such-file")
        for content in ("", "# none\n\n"):
            with open(here.path + "/empty", "w") as file:
                file.write(content)
            dvm.refused(here.path + "/empty: no host is named", "--hostfile", "empty")
        dvm.refused("have fewer processes, more for each, or more nodes", "-n", "5", "-N", "1")


def test_oversubscribe():
    """more than slots: what is free first, then evenly, up to max_slots"""
    with place() as here, Started(here) as dvm:
        with open(here.path + "/mine", "w") as file:
            file.write("node1 slots=1 max_slots=2\nnode2 slots=1\n")
        over = ("--when-full", "oversubscribe")
        equal(dvm.nodes("-n", "11", *over), "11122233344")
        equal(dvm.nodes("-n", "5", "--hostfile", "mine", *over), "11222")
        dvm.refused("there can be 2 at most", "-n", "3", "--hostfile", "mine", "--host", "node1", *over)
        dvm.refused("11 processes", "-n", "11")


def test_given_back():
    """what jobs had is free when they are over, also of those that were ended"""
    with place() as here, Started(here) as dvm:
        for _ in range(3):
            job = here.cli("submit", "--personality", "plain", "-n", "5", "--map-by", "node", "sleep", "600").stdout.strip()
            dvm.refused("free slots are only 3 of 8", "-n", "4", "--when-full", "refuse")
            equal(len(dvm.nodes()), 3)
            equal(here.cli("kill", job).returncode, 0)
            here.cli("wait", job)
            equal(here.json("status")["slots-in-use"], 0)


def test_launch_message():
    """it does not grow with processes, and hardly with nodes; an environment travels once"""
    with place() as here, Started(here) as dvm:
        def run(*args, **options):
            before = here.json("info")["statistics"]
            result = here.cli("run", "--personality", "plain", *args, "true", **options)
            equal(result.returncode, 0, result.stderr)
            after = here.json("info")["statistics"]
            return [after[key] - before[key] for key in ("launch-messages", "launch-bytes", "environment-bytes")]

        messages, size, environment = run("-n", "1")
        equal(messages, 1)
        check(0 < size < 4096, f"{size} bytes")
        check(environment > 0, "the environment of the command line")
        for args in (("-n", "8"), ("-n", "8", "--map-by", "node")):
            sizes = run(*args)
            check(sizes[1] <= size + 64, f"{args}: {sizes[1]} bytes, {size} before")
        equal(run("-n", "8")[2], 0, "the same environment")
        check(run("-n", "1", env={"MINE": "yes"})[2] > 0, "another environment")


def test_limits():
    """numbers behind hosts are limits, whatever a node has; what must fit is not oversubscribed; a job has a process"""
    n = len(os.sched_getaffinity(0))
    with place() as here:
        empty = os.path.join(here.path, "empty")
        with open(empty, "w"):
            pass

        def run(*words):
            return here.cli("run", "--personality", "plain", *words, "true", env={"DVM_BUS": "none"})

        for host in (1, n, n + 1):
            equal(run("-n", str(host), "--host", f"localhost:{host}").returncode, 0)
            result = run("-n", str(host + 1), "--host", f"localhost:{host}")
            equal(result.returncode, 125)
            contains(result.stderr, f"its nodes have {host} slot{'s' * (host != 1)}:")
        equal(run("-n", str(n + 1)).returncode, 0, "slots that nobody gave are no limit")
        # Names of one node add up, and this machine has several.
        name = socket.gethostname()
        for hosts, slots in (("localhost:1,127.0.0.1:1", 2), (f"{name}:2,127.0.0.1", 3), ("127.0.0.1,localhost,127.0.0.1", 3), (f"{name},localhost", 2)):
            equal(run("-n", str(slots), "--host", hosts).returncode, 0, hosts)
            contains(run("-n", str(slots + 1), "--host", hosts).stderr, f"its nodes have {slots} slot{'s' * (slots != 1)}:")
        for words in (("--map-by", ":NOOVERSUBSCRIBE"), ("--when-full", "refuse"), ("--when-full", "wait", "--map-by", ":NOOVERSUBSCRIBE")):
            result = run("-n", str(n + 1), *words)
            equal(result.returncode, 125, words)
            contains(result.stderr, f"its nodes have {n} slot{'s' * (n != 1)}:")
        result = run("--map-by", f"seq:FILE={empty}")
        equal(result.returncode, 125)
        contains(result.stderr, f"“seq” gives the job no process: {empty} names none")
        result = here.cli("map", "--topology", "pu:4", "--map-by", "ppr:1:package", "true", env={"DVM_BUS": "none"})
        contains(result.stderr, "“ppr” gives the job no process: none of its nodes has a package")
        # A list that names a host and leaves it out is neither one of all others nor wrong where the host is not there.
        equal(run("-n", "1", "--host", "localhost,foo,^foo").returncode, 0)
        equal(run("-n", "1", "--host", "localhost,^localhost").returncode, 125)
        equal(run("-n", "1", "--host", "^foo").returncode, 125)


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
