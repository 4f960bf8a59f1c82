#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli doctor: what is found here and on nodes, with real daemons, and what it says helps."""

import json
import os
import stat
import subprocess
import sys

from dvmtest import LIMIT, check, contains, dvm, equal, functions, place, run_tests

# Called like ssh, but everything is on this machine. The host's name says how it goes.
FAKE_SSH = """#!/bin/sh
case $1 in
    far*) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255 ;;
    secret*) echo "$1: Permission denied (publickey)." >&2; exit 255 ;;
esac
exec sh -c "$2"
"""

NODE_CHECKS = {"programs", "pmix", "hwloc", "cgroup", "runtime", "shm", "tmp", "limits", "name", "clock"}


def fake_ssh(here):
    path = here.path + "/fake-ssh"
    with open(path, "w") as file:
        file.write(FAKE_SSH)
    os.chmod(path, 0o755)
    return "launcher-command=" + path


def examine(here, status, *words, **options):
    """The findings as {(node, check): finding}, which are as JSON has them."""
    result = here.cli("doctor", "--json", *words, **options)
    equal(result.returncode, status, f"{words}: {result.stdout}{result.stderr}")
    rows = json.loads(result.stdout)
    return {(row["node"], row["check"]): row for row in rows}


def checks_of(found, node):
    return {check_name for name, check_name in found if name == node}


def test_without_a_dvm():
    """a private DVM is started, and looked at; nothing of it is left"""
    with place() as here:
        found = examine(here, 0)
        node = next(name for name, what in found if what == "programs")
        equal(checks_of(found, node), NODE_CHECKS)
        equal(checks_of(found, ""), {"dvmd", "bus", "ssh", "dvm"})
        contains(found["", "dvm"]["found"], "private DVM")
        check("OpenPMIx" in found[node, "pmix"]["found"], found[node, "pmix"])
        contains(found[node, "hwloc"]["found"], "hardware thread")
        equal(here.cli("status").returncode, 1)


def test_nodes_of_a_dvm():
    """each node of a DVM is looked at, beside what runs there; one that is drained is told"""
    with dvm("--nodes=3", "--slots=1") as here:
        submitted = here.cli("submit", "-n", "3", "sleep", "1000")
        equal(submitted.returncode, 0, submitted.stderr)
        found = examine(here, 0)
        contains(found["", "dvm"]["found"], "is running")
        for node in ("node1", "node2", "node3"):
            equal(checks_of(found, node), NODE_CHECKS, node)
            equal(found[node, "clock"]["verdict"], "ok")
        equal(here.cli("kill", submitted.stdout.strip()).returncode, 0)
        equal(here.cli("node", "drain", "node2").returncode, 0)
        found = examine(here, 0)
        equal(found["node2", "node"]["verdict"], "note", found)
        contains(found["node2", "node"]["mend"], "node resume")
        equal(checks_of(found, "node3"), NODE_CHECKS)
        text = here.cli("doctor")
        equal(text.returncode, 0)
        line = next(line for line in text.stdout.splitlines() if " hwloc " in line)
        equal(line.split()[0], "node1,node3", text.stdout)
        contains(text.stdout, "To mend:\n")


def test_hosts():
    """hosts that do not come are told in their own words, with what helps; the others are looked at"""
    with place() as here:
        words = ("--host", "one,far,secret,two", "--set", fake_ssh(here))
        found = examine(here, 1, *words)
        contains(found["far", "node"]["found"], "No route to host")
        contains(found["far", "node"]["mend"], "firewall")
        contains(found["secret", "node"]["found"], "Permission denied (publickey)")
        contains(found["secret", "node"]["mend"], "ssh-copy-id")
        for node in ("one", "two"):
            equal(checks_of(found, node), NODE_CHECKS, node)
        text = here.cli("doctor", *words)
        equal(text.returncode, 1)
        contains(text.stdout, "  far node: see whether the host is up")
        found = examine(here, 1, "--host", "far", "--set", fake_ssh(here))
        equal(found["", "nodes"]["verdict"], "bad")
        contains(found["", "nodes"]["found"], "No route to host")
        text = here.cli("doctor", "--host", "far", "--set", fake_ssh(here)).stdout
        contains(text, "  far node; nodes: see whether the host is up")
        equal(text.count("see whether the host is up"), 1, "what helps is said once")
        hosts = here.path + "/hosts"
        with open(hosts, "w") as file:
            file.write("one\ntwo slots=3\n")
        found = examine(here, 0, "--hostfile", hosts, "--set", fake_ssh(here))
        equal(checks_of(found, "two"), NODE_CHECKS)


def test_wrong_setting():
    """a setting that is wrong is wrong usage, and messages of the private DVM are no part of what is found"""
    with place() as here:
        result = here.cli("doctor", "--set", "nix=1")
        equal((result.returncode, result.stdout), (2, ""))
        contains(result.stderr, 'there is no setting "nix"')
        result = here.cli("doctor", "--host", "one,far", "--set", fake_ssh(here))
        equal((result.returncode, result.stderr), (1, ""))


def test_no_node_comes():
    """a DVM to which none of its nodes has come says so, and counts nothing"""
    with place() as here:
        found = examine(here, 1, "--host", "far,secret", "--set", fake_ssh(here))
        contains(found["", "nodes"]["found"], "no node has answered: 2 of the 2 nodes of the DVM did not come")
        equal({name for name, what in found if what == "node"}, {"far", "secret"})


def test_wrong_words():
    """hosts that cannot be read, and a launcher that is not there, are findings: nothing else is looked at in their place"""
    with place() as here:
        for words, told in ((("--hostfile", "/nonexistent"), "/nonexistent"), (("--host", "localhost:x"), "number of slots"),
                            (("--host", "localhost", "--launcher", "nix"), 'There is no launcher "nix"')):
            found = examine(here, 1, *words)
            equal(found["", "nodes"]["verdict"], "bad", words)
            contains(found["", "nodes"]["found"], told)
            check(not any(what in NODE_CHECKS for _, what in found), found)


def test_what_is_wrong():
    """a limit, a mode, a directory and a program that are wrong are found; --fix mends what is safe"""
    with place() as here:
        run = here.path + "/loose"
        os.mkdir(run)
        os.chmod(run, 0o755)
        env = {"XDG_RUNTIME_DIR": run}
        words = ["sh", "-c", 'ulimit -n 512; exec "$@"', "sh", os.environ["DVM_CLI"]]
        found = {}
        for row in json.loads(subprocess.run([*words, "doctor", "--json"], stdout=subprocess.PIPE, env={**here.env, **env}, timeout=LIMIT).stdout):
            found.setdefault(row["check"], []).append(row)
        equal([row["verdict"] for row in found["limits"]], ["note"], found["limits"])
        contains(found["limits"][0]["found"], "512 open files")
        equal([row["verdict"] for row in found["runtime"]], ["note", "ok"], found["runtime"])
        equal(stat.S_IMODE(os.stat(run).st_mode), 0o755, "nothing is changed without --fix")
        found = examine(here, 0, "--fix", env=env)
        equal(stat.S_IMODE(os.stat(run).st_mode), 0o700)
        equal(next(row["verdict"] for row in found.values() if row["check"] == "leftovers"), "ok")
        found = examine(here, 1, env={"TMPDIR": "/nonexistent"})
        equal(next(row["verdict"] for row in found.values() if row["check"] == "tmp"), "bad")


def test_no_dvmd():
    """without dvmd nothing can be started, and that is a finding; a DVM that is named and not there is an error"""
    with place() as here:
        found = examine(here, 1, env={"DVM_DVMD": here.path + "/none"})
        equal(found["", "dvmd"]["verdict"], "bad")
        equal(found["", "dvm"]["verdict"], "bad")
        result = here.cli("doctor", "--name", "other")
        equal((result.returncode, result.stdout), (1, ""))
        contains(result.stderr, "no DVM named other is running")
        equal(here.cli("doctor", "x").returncode, 2)


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
