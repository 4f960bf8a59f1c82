#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli doctor: what is found here and on nodes, with real daemons, and what it says helps."""

import contextlib
import json
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys

from dvmtest import LIMIT, Skipped, check, contains, dvm, equal, functions, place, run_alone, run_tests

# Called like ssh, but everything is on this machine. The host's name says how it goes.
FAKE_SSH = """#!/bin/sh
case $1 in
    far*) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255 ;;
    locked*) echo "sh: 1: exec: /opt/dvm-agent: Permission denied" >&2; exit 126 ;;
    old*) exit 76 ;;
    secret*) echo "$1: Permission denied (publickey)." >&2; exit 255 ;;
esac
exec sh -c "$2"
"""

AGENT = os.path.join(os.path.dirname(os.environ["DVM_DVMD"]), "dvm-agent")
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
        equal((found["node2", "node"]["verdict"], found["node2", "node"]["found"]), ("note", "DO_NOT_USE"), found)
        contains(found["node2", "node"]["mend"], "node resume")
        equal(checks_of(found, "node3"), NODE_CHECKS)
        text = here.cli("doctor")
        equal(text.returncode, 0)
        line = next(line for line in text.stdout.splitlines() if " hwloc " in line)
        equal(line.split()[0], "node1,node3", text.stdout)
        contains(text.stdout, "To mend:\n")


def agent_that(here, *lines):
    """The environment in which doctor has the agent of another installation look at nodes: lines of a shell, in which "$agent" "$@" does it."""
    folder = here.path + "/other"
    os.mkdir(folder)
    for name, text in (("dvmd", f'exec "{os.environ["DVM_DVMD"]}" "$@"'), ("dvm-agent", "\n".join((f'agent="{AGENT}"', *lines)))):
        with open(f"{folder}/{name}", "w") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(f"{folder}/{name}", 0o755)
    return {"DVM_DVMD": folder + "/dvmd"}


def test_clocks():
    """a clock that is ahead or behind is told, with how far and with what helps; that of another node is not"""
    shift = 'BEGIN { FS = OFS = "\\t" } $2 == "clock" && $1 in off { $4 = sprintf("%.0f", $4 + off[$1] * 1000000) } { print }'
    with dvm("--nodes=3", "--slots=1") as here:
        env = agent_that(here, f"exec \"$agent\" \"$@\" | awk 'BEGIN {{ off[\"node1\"] = 7200; off[\"node3\"] = -90 }} {shift}'")
        found = examine(here, 0, env=env)
        clocks = [found[node, "clock"] for node in ("node1", "node2", "node3")]
        equal([row["verdict"] for row in clocks], ["note", "ok", "note"], clocks)
        for row, seconds, side in ((clocks[0], 7200, "ahead of"), (clocks[2], 90, "behind")):
            told = float(row["found"].split()[0])
            # The one who asks does not know when within the question the node looked.
            check(seconds - 30 < told <= seconds + 0.1 and side in row["found"], row)
            contains(row["mend"], "chrony")


def test_node_without_libraries():
    """a library of PMIx that is missing, and hardware that hwloc cannot describe are bad, in the words of who found it"""
    with dvm("--nodes=2", "--slots=1") as here:
        parts = here.path + "/parts"
        os.mkdir(parts)
        with open(os.path.join(os.path.dirname(AGENT), "dvm-pmix"), "rb") as file:
            program = file.read()
        check(b"\0libpmix.so.2\0" in program, "dvm-pmix needs libpmix.so.2")
        with open(parts + "/dvm-pmix", "wb") as file:
            file.write(program.replace(b"\0libpmix.so.2\0", b"\0libpmix.so.0\0"))
        os.chmod(parts + "/dvm-pmix", 0o755)
        env = agent_that(here, f"HWLOC_XMLFILE=/dev/null DVM_LIBEXEC_DIR='{parts}' exec \"$agent\" \"$@\"")
        found = examine(here, 1, env=env)
        for node in ("node1", "node2"):
            pmix, hwloc = found[node, "pmix"], found[node, "hwloc"]
            equal((pmix["verdict"], hwloc["verdict"]), ("bad", "bad"), found)
            contains(pmix["found"], "dvm-pmix does not run")
            contains(pmix["found"], "libpmix.so.0: cannot open shared object file")
            contains(pmix["mend"], "libpmix2")
            contains(hwloc["found"], "hwloc could not load the topology")
            contains(hwloc["mend"], "lstopo")
            equal(found[node, "programs"]["verdict"], "ok")


def test_description_that_is_not_there():
    """a description of the machine that cannot be read is a note: hwloc goes on without it and without a word"""
    with dvm("--nodes=1", "--slots=1") as here:
        result = here.cli("doctor", env=agent_that(here, 'HWLOC_XMLFILE=/nonexistent exec "$agent" "$@"'))
        equal(result.returncode, 0, result.stdout)
        contains(result.stdout, "HWLOC_XMLFILE names /nonexistent, which cannot be read: No such file or directory")


def test_node_without_a_program():
    """an installation outside of the build tree is complete, and without one of its programs it is not: told is which, and where it was looked for"""
    with dvm("--nodes=1", "--slots=1") as here:
        folder = here.path + "/installed"
        os.mkdir(folder)
        shutil.copy(AGENT, folder)
        with open(AGENT, "rb") as file:
            installed = re.findall(rb"/[\w./-]+/libexec/dvm", file.read())
        if any(os.path.exists(os.path.join(path.decode(), "dvm-guard")) for path in installed):
            raise Skipped(f"dvm is installed in {installed}, where an agent looks, too")
        daemon = os.path.dirname(AGENT)
        parts = ("dvm-guard", "dvm-pmix", "dvmd-tls.so")
        for part in parts:
            os.symlink(f"{daemon}/{part}", f"{folder}/{part}")
        libraries = ":".join((os.environ.get("LD_LIBRARY_PATH", ""), daemon, daemon + "/plugin", os.path.dirname(daemon) + "/libdvm-gobject")).lstrip(":")
        env = agent_that(here, f"LD_LIBRARY_PATH='{libraries}' exec '{folder}/dvm-agent' \"$@\"")
        found = examine(here, 0, env=env)
        equal(found["node1", "programs"]["verdict"], "ok", found)
        for part in parts:
            os.unlink(f"{folder}/{part}")
            row = examine(here, 1, env=env)["node1", "programs"]
            equal(row["verdict"], "bad", row)
            contains(row["found"], f"{part} is neither in {folder} nor")
            contains(row["mend"], "install all of dvm")
            os.symlink(f"{daemon}/{part}", f"{folder}/{part}")


def test_node_without_cgroups():
    """where no cgroups can be made that is a note, which says how jobs are ended there, and how the DVM gets some"""
    hide = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]
    if subprocess.run([*hide, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise Skipped("no namespaces of users and mounts here")
    with dvm("--nodes=1", "--slots=1") as here:
        found = examine(here, 0, env=agent_that(here, " ".join(shlex.quote(word) for word in hide) + ' "$agent" "$@"'))
        row = found["node1", "cgroup"]
        equal(row["verdict"], "note", found)
        contains(row["found"], "jobs are ended by their process groups")
        contains(row["mend"], "Delegate=yes")


def test_ports():
    """the ports that a firewall has to let through are told, and are those at which daemons listen"""
    with place() as here:
        launcher = fake_ssh(here)
        with dvm("--nodes=2", "--slots=1") as near:
            contains(examine(near, 0)["", "ports"]["found"], "none: all daemons are on this machine")
        with dvm("--host=one,two", "--set", launcher) as far:
            text = examine(far, 0)["", "ports"]["found"]
            ports = [int(word) for word in re.findall(r"\d+", text)]
            equal(len(ports), 3, text)
            for port in ports:
                check(any(listens_at(address, port) for address in list_addresses()), f"{text}: nothing listens at {port}")


def list_addresses():
    found = {"127.0.0.1", *subprocess.run(["hostname", "-I"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()}
    with contextlib.suppress(socket.gaierror):  # a machine need not know its own name
        found |= {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    return found


def listens_at(address, port):
    try:
        socket.create_connection((address, port), timeout=LIMIT).close()
    except OSError:
        return False
    return True


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


def test_installations():
    """an agent that may not be executed or is of another version, and ports that are taken, are told with what helps, which is not ssh"""
    with place() as here:
        found = examine(here, 1, "--host", "locked,old,one", "--set", fake_ssh(here))
        contains(found["locked", "node"]["mend"], "make dvm-agent executable on that host")
        contains(found["old", "node"]["mend"], "install dvm on that host in the same version as here")
        equal(checks_of(found, "one"), NODE_CHECKS)
        with socket.create_server(("", 0)) as taken:
            port = taken.getsockname()[1]
            found = examine(here, 1, "--host", "one", "--set", fake_ssh(here), "--set", f"port-range={port}-{port}")
        contains(found["one", "node"]["found"], f"No port of port-range={port}-{port} can be listened at")
        contains(found["one", "node"]["mend"], "give port-range more ports")


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


def test_language():
    """what agents tell is in the language of the reader, with all that differs from node to node; for programs it is English"""
    with dvm("--nodes=1", "--slots=1") as here:
        env = agent_that(here, """printf 'node1\\tshm\\tnote\\t/dev/shm has 1 MiB left; MPI processes of one node speak through it\\tmake room in /dev/shm\\n'""",
                         """printf 'node1\\ttmp\\tbad\\tsomething that nobody has translated\\tnor its remedy\\n'""", 'exec "$agent" "$@"')
        shutil.copytree("/usr/lib/locale/C.utf8", here.path + "/locale/fr_FR.utf8")
        po = os.path.join(os.path.dirname(os.environ["DVM_CLI"]), "..", "po")
        env.update(LOCPATH=here.path + "/locale", LC_ALL="fr_FR.UTF-8", LANGUAGE="", DVM_LOCALE_DIR=po)
        text = here.cli("doctor", env=env).stdout
        for words in ("/dev/shm n’a plus que 1 MiB de libre ; les processus MPI d’un nœud communiquent par là", "node1 shm: faire de la place dans /dev/shm\n",
                      "something that nobody has translated", "dvm 0.1.0 est complet", "fichiers ouverts : assez", "/dev/shm a de la place"):
            contains(text, words)
        rows = json.loads(here.cli("doctor", "--json", env=env).stdout)
        contains(str(rows), "/dev/shm has room")
        # Whatever an agent says that is no path and no name of a library has a translation.
        for row in rows:
            if row["check"] in NODE_CHECKS - {"pmix", "runtime", "clock"} and "nobody" not in row["found"]:
                check(row["found"] not in text, f"{row} is in English")


def test_what_is_not_mended():
    """a directory that others need, /tmp for one, keeps its mode with --fix, and what helps is another directory"""
    with place() as here:
        run = here.path + "/shared"

        def kept(mode, **options):
            os.chmod(run, mode)
            found = json.loads(here.cli("doctor", "--json", "--fix", env={"XDG_RUNTIME_DIR": run, **options}).stdout)
            rows = [row for row in found if row["check"] == "runtime"]
            equal(stat.S_IMODE(os.stat(run).st_mode), mode, rows)
            equal(rows[0]["verdict"], "note", rows)
            contains(rows[0]["mend"], "set XDG_RUNTIME_DIR to a directory of your own")

        os.mkdir(run)
        kept(0o1777)
        kept(0o755, HOME=run)
        if os.geteuid() == 0:
            with open(run + "/of-a-service", "w"):
                pass
            kept(0o755)
            os.unlink(run + "/of-a-service")
        os.chmod(run, 0o2700)
        rows = [row for row in examine(here, 0, env={"XDG_RUNTIME_DIR": run}).values() if row["check"] == "runtime"]
        equal([row["verdict"] for row in rows], ["ok"], "others may not look into it")


def full_runtime_dir():
    """Of test_full_runtime_dir, in a mount namespace of its own"""
    with place() as here:
        run = here.path + "/small"
        os.mkdir(run, 0o700)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k,mode=0700", "tmpfs", run], check=True)
        try:
            env = {"XDG_RUNTIME_DIR": run}
            equal(here.cli("start", "--bus", "none", "--nodes", "1", env=env).returncode, 0)
            with open(run + "/filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(512)):
                    pass
            found = examine(here, 1, env=env)["node1", "runtime"]
            equal(found["verdict"], "bad", found)
            contains(found["found"], "No space left on device")
            contains(found["mend"], f"make room in {run}")
            here.cli("stop", env=env)
        finally:
            here.end_dvms()
            subprocess.run(["umount", "-l", run], check=True)


def test_full_runtime_dir():
    """a runtime directory without room is told to be emptied, not replaced"""
    run_alone(full_runtime_dir)


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
