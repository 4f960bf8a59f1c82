#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli start and stop: real daemons in the background."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys

from dvmtest import Terminal, alive, check, contains, equal, functions, place, run_tests, wait_until


def start(here, *args, **options):
    result = here.cli("start", "--bus", "none", "--json", *args, **options)
    equal(result.returncode, 0, result.stderr)
    return json.loads(result.stdout)


def is_handled(pid, signum):
    """Whether a process has a handler of its own for that signal"""
    with open(f"/proc/{pid}/status") as file:
        caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt:"))
    return bool(caught >> (signum - 1) & 1)


def end(pid):
    if alive(pid):
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not alive(pid), "the daemon is gone")


def test_start_and_stop():
    """start returns when the DVM is ready, stop when its process has gone"""
    with place() as here:
        result = here.cli("start", "--bus", "none", "--slots", "2")
        equal((result.returncode, result.stdout, result.stderr), (0, "DVM ready\n", ""))
        try:
            status = here.json("status")
            equal((status["ready"], status["slot-count"]), (True, 2))
            equal(here.cli("run", "--personality", "plain", "-n", "1", "echo", "x").stdout, "x\n")
        finally:
            result = here.cli("stop")
        equal((result.returncode, result.stdout, result.stderr), (0, "", ""))
        equal(os.listdir(here.path), [], "nothing is left")
        equal(here.cli("stop").returncode, 1, "there is none any more")


def test_default_slots():
    """slots that nobody has given are those of the hardware: threads, or what --slots or the setting names"""
    found = subprocess.run(["lstopo-no-graphics", "--only", "package"], capture_output=True, text=True, check=True).stdout
    for words, n in (((), len(os.sched_getaffinity(0))), (("--slots", "packages"), found.count("Package")),
                     (("--set", "default-slots=packages"), found.count("Package")), (("--slots", "3"), 3)):
        with place() as here:
            pid = start(here, *words)["pid"]
            try:
                equal(here.json("status")["slot-count"], n, words)
                # What nobody has given is no limit.
                result = here.cli("run", "--personality", "plain", "-n", "9", "true")
                equal(result.returncode, 125 if n == 3 else 0, f"{words}: {result.stderr}")
            finally:
                end(pid)
    with place() as here:
        for words in (("--slots", "sockets"), ("--slots", "0"), ("--slots", "-1")):
            result = here.cli("start", "--bus", "none", *words)
            equal(result.returncode, 2, words)
            contains(result.stderr, "hwthreads, cores, numas or packages")


def test_hygiene():
    """nothing of the caller's stays open in the daemon"""
    with place() as here:
        read_end, write_end = os.pipe()
        answer = start(here, pass_fds=[write_end])
        pid = answer["pid"]
        try:
            os.close(write_end)
            equal(os.read(read_end, 1), b"", "the pipe of the caller is closed")
            equal(os.readlink(f"/proc/{pid}/cwd"), "/")
            for fd in (0, 1):
                equal(os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")
            equal(os.readlink(f"/proc/{pid}/fd/2"), here.state + "/dvm/default/log")
            check(os.getsid(pid) == pid, "a session of its own")
            equal(answer["socket"], here.path + "/dvm/default/bus")
        finally:
            os.close(read_end)
            end(pid)


def test_twice():
    """a second DVM of one name is refused and named; another name is another DVM"""
    with place() as here:
        first = start(here)
        try:
            result = here.cli("start", "--bus", "none")
            equal((result.returncode, result.stdout), (1, ""))
            contains(result.stderr, "default")
            second = start(here, "--name", "other", "--slots", "5")
            try:
                equal(here.json("status", "--name", "other")["slot-count"], 5)
                equal(here.json("status", "--name", "other")["others"], "default")
                result = here.cli("status", "--name", "third")
                equal(result.returncode, 1)
                contains(result.stderr, "these run under other names: default other ('--name default' asks that one)")
                result = here.cli("status", "--json", "--name", "third")
                equal((result.returncode, json.loads(result.stdout)["others"]), (1, "default other"))
            finally:
                equal(here.cli("stop", "--name", "other").returncode, 0)
            check(not alive(second["pid"]), "the other is gone")
            equal(here.json("status")["others"], "")
            check(alive(first["pid"]), "the first goes on")
        finally:
            end(first["pid"])


def test_session_bus():
    """over the session bus: found, used and stopped, whatever its socket is called"""
    with place() as here:
        bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1", f"--address=unix:path={here.path}/session"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            here.env["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
            for name in ([], ["--name", "other"]):
                answer = json.loads(here.cli("start", "--json", "--socket", here.path + "/elsewhere", *name).stdout)
                try:
                    for options in ([], ["--bus", "session"]):
                        status = here.json("status", *name, *options)
                        contains(status["address"], here.path + "/session")
                    result = here.cli("run", "--bus", "session", *name, "--personality", "plain", "-n", "1", "cat", stdin="x")
                    equal((result.stdout, result.stderr, result.returncode), ("x", "", 0))
                    result = here.cli("stop", *name)
                    equal((result.returncode, result.stderr), (0, ""))
                    check(not alive(answer["pid"]), "gone when stop returns")
                finally:
                    end(answer["pid"])
            equal(here.cli("status", "--bus", "session").returncode, 1)
        finally:
            bus.terminate()
            bus.wait()
            bus.stdout.close()


def test_socket():
    """--socket names the private socket, and DVM_SOCKET finds it"""
    with place() as here:
        path = here.path + "/my socket"
        answer = start(here, "--socket", path)
        try:
            equal(here.cli("status", "--socket", path).returncode, 0)
            equal(here.cli("status", env={"DVM_SOCKET": path}).returncode, 0)
            equal(here.cli("stop", "--socket", path).returncode, 0)
            check(not alive(answer["pid"]), "gone")
        finally:
            end(answer["pid"])


def test_failures():
    """a DVM that cannot start says why"""
    with place() as here:
        result = here.cli("start", env={"DVM_DVMD": "/no/such/dvmd"})
        equal((result.returncode, result.stdout), (1, ""))
        contains(result.stderr, "/no/such/dvmd")
        result = here.cli("start", env={"DVM_DVMD": "/bin/false"})
        equal(result.returncode, 1)
        contains(result.stderr, "--foreground")
        result = here.cli("start", "--bus", "none", "--socket", "/no/such/directory/bus")
        equal(result.returncode, 1)
        check(result.stderr.startswith("dvm-cli: "), result.stderr)
        result = here.cli("start", "--log", "/no/such/directory/log")
        equal(result.returncode, 1)
        contains(result.stderr, "/no/such/directory/log")
        script = here.path + "/slow"
        with open(script, "w") as file:
            file.write("#!/bin/sh\nexec sleep 600\n")
        os.chmod(script, 0o755)
        result = here.cli("start", "--timeout", "1", env={"DVM_DVMD": script})
        equal(result.returncode, 1)
        contains(result.stderr, "not ready within 1 second")


def test_without_agent():
    """a dvmd alone is no whole installation, and says so"""
    with place() as here:
        alone = here.path + "/dvmd"
        shutil.copy(os.environ["DVM_DVMD"], alone)
        os.mkdir(here.path + "/empty")
        for more in ({}, {"DVM_LIBEXEC_DIR": here.path + "/empty"}):
            result = here.cli("start", "--bus", "none", env={"DVM_DVMD": alone, **more})
            equal((result.returncode, result.stdout), (1, ""))
            check(result.stderr.startswith("dvm-cli: "), result.stderr)
            equal(result.stderr.count("\n"), 1, result.stderr)
            contains(result.stderr, "dvm-agent is neither in " + here.path)
            contains(result.stderr, "the installation is not whole")
        # A job of its own needs none.
        result = here.cli("run", "--personality", "plain", "-n", "1", "echo", "x", env={"DVM_DVMD": alone})
        equal((result.returncode, result.stdout), (0, "x\n"), result.stderr)


def test_nodes_refused():
    """nodes that cannot be had are refused, with what is wrong and where"""
    with place() as here:
        hostfile = here.path + "/hosts"
        with open(hostfile, "w") as file:
            file.write("# the cluster\nnode1 slots=4\n\nnode2 slots=x\n")
        wrong = [
            ((2, "--nodes and --host"), "--nodes", "2", "--host", "a"),
            ((2, "--nodes and --hostfile"), "--nodes", "2", "--hostfile", hostfile),
            ((2, "--launcher ssh"), "--nodes", "2", "--launcher", "ssh"),
            ((2, "not '0'"), "--nodes", "0"),
            ((2, "once"), "--hostfile", hostfile, "--hostfile", hostfile),
            ((1, hostfile + ":4: slots is “x”"), "--hostfile", hostfile),
            ((1, "/no/such/file: No such file"), "--hostfile", "/no/such/file"),
            ((2, "“a:x”"), "--host", "a:x"),
            ((2, "relative names are for jobs"), "--host", "+n1"),
            ((2, "names no host"), "--host", "^a"),
            ((2, 'no launcher "pigeon"; there are: bootstrap, local, flux, slurm, gridengine, lsf, pbs, ssh, pdsh, pals'), "--host", "a", "--launcher", "pigeon"),
            ((2, "to nodes that are in the DVM grow"), "--host", "h:+1"),
            ((2, "it takes a number from 2"), "--set", "radix=1"),
            ((2, "plugin-settings: launcher-local.grace is “soon”; it must be a number"), "--set", "plugin-settings=launcher-local.grace=soon"),
        ]
        for (status, mention), *args in wrong:
            result = here.cli("start", "--bus", "none", *args)
            equal((result.returncode, result.stdout), (status, ""), args)
            contains(result.stderr, mention, args)
            equal(result.stderr.count(mention), 1, "it is said once")
        # A relative path is one of the caller's directory, not of the daemon's.
        result = here.cli("start", "--bus", "none", "--hostfile", "hosts", cwd=here.path)
        contains(result.stderr, hostfile + ":4:")
        equal(sorted(os.listdir(here.path + "/dvm")) if os.path.exists(here.path + "/dvm") else [], [], "nothing is left")


def test_names_of_this_machine():
    """several names of this machine are one node with the sum of their slots"""
    with place() as here:
        for hosts, slots in (("127.0.0.1,localhost:2", 3), ("localhost:2," + socket.gethostname(), 3), ("localhost:2,127.0.0.1:4", 6)):
            result = here.cli("start", "--bus", "none", "--host", hosts)
            equal((result.returncode, result.stderr), (0, ""), hosts)
            equal([node["slots"] for node in here.json("nodes")][1:], [slots], hosts)
            equal(here.cli("stop").returncode, 0)


def test_log_beside_the_socket():
    """there is a log where the directories of states and of what runs are one"""
    with place() as here:
        both = {"XDG_STATE_HOME": here.path}
        equal(here.cli("start", "--bus", "none", env=both).returncode, 0)
        contains(here.cli("logs", env=both).stdout, "The DVM is ready")
        equal(here.cli("stop", env=both).returncode, 0)
        contains(here.cli("logs", env=both).stdout, "The DVM is ready")


def test_hosts_of_a_file():
    """a list chooses among the hosts of the file"""
    with place() as here:
        hostfile = here.path + "/hosts"
        with open(hostfile, "w") as file:
            file.write("node1 slots=4 max_slots=4\nnode2\n")
        for mention, *args in [("“node3” is not among the hosts", "--host", "node3"), (hostfile + ":1", "--host", "node1:5")]:
            result = here.cli("start", "--bus", "none", "--hostfile", hostfile, *args)
            equal(result.returncode, 2)
            contains(result.stderr, mention)


def test_shape_in_settings():
    """settings name nodes too; what the command line asks for counts more"""
    with place() as here:
        result = here.cli("start", "--bus", "none", env={"DVM_NODES": "2", "DVM_HOSTS": "a"})
        equal(result.returncode, 1)
        contains(result.stderr, "DVM_NODES")
        contains(result.stderr, "DVM_HOSTS")
        result = here.cli("start", "--bus", "none", env={"DVM_HOSTFILE": "relative"})
        equal(result.returncode, 1)
        contains(result.stderr, "“relative” is not an absolute path")
        result = here.cli("start", "--bus", "none", "--host", "a:x", env={"DVM_NODES": "2"})
        contains(result.stderr, "“a:x”")
        # A private DVM is this machine, whatever the site has.
        result = here.cli("run", "--personality", "plain", "-n", "1", "echo", "x", env={"DVM_HOSTFILE": "/no/such/file"})
        equal((result.returncode, result.stdout), (0, "x\n"), result.stderr)


def slow_dvmd(here, script):
    path = here.path + "/dvmd"
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + script)
    os.chmod(path, 0o755)
    return {"DVM_DVMD": path}


def test_progress():
    """how many nodes have come is shown on a terminal and in JSON, and nowhere else"""
    with place() as here:
        script = """
for n in 0 1 2 3 4; do echo PROGRESS $n 4 >&3; sleep 0.05; done
echo READY >&3
"""
        env = slow_dvmd(here, script)
        result = here.cli("start", env=env)
        equal((result.returncode, result.stdout, result.stderr), (0, "DVM ready\n", ""))
        result = here.cli("start", "--json", env=env)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        equal([(line["nodes-reported"], line["nodes-expected"]) for line in lines[:-1]], [(n, 4) for n in range(5)])
        equal([line["kind"] for line in lines[:-1]], ["dvm"] * 5)
        check(lines[-1]["ready"] and "pid" in lines[-1], result.stdout)
        equal(result.stderr, "")
        terminal = Terminal(here, "start", env={**env, "TERM": "xterm"})
        equal(terminal.wait(), 0)
        contains(terminal.output, b"[####################                    ] 2 of 4 nodes")
        check(terminal.output.endswith(b"\r\x1b[KDVM ready\r\n"), terminal.output)
        for args, more in ((["--quiet"], {"TERM": "xterm"}), ([], {"TERM": "dumb"})):
            terminal = Terminal(here, "start", *args, env={**env, **more})
            equal(terminal.wait(), 0)
            equal(terminal.output, b"" if args else b"DVM ready\r\n")


def test_progress_and_failure():
    """the bar goes before the sentence comes; one node is no progress"""
    with place() as here:
        env = slow_dvmd(here, "echo PROGRESS 1 2 >&3; sleep 0.1; echo 'ERROR: node2: unreachable' >&3\n")
        terminal = Terminal(here, "start", env={**env, "TERM": "xterm"})
        equal(terminal.wait(), 1)
        check(terminal.output.endswith(b"\r\x1b[Kdvm-cli: node2: unreachable\r\n"), terminal.output)
        env = slow_dvmd(here, "echo PROGRESS 0 1 >&3; echo PROGRESS 1 1 >&3; echo READY >&3\n")
        result = here.cli("start", "--json", env=env)
        equal(len(result.stdout.splitlines()), 1, result.stdout)


def test_interrupted():
    """who interrupts a start ends the DVM, in good order"""
    for signum in (signal.SIGINT, signal.SIGTERM):
        with place() as here:
            env = slow_dvmd(here, f"trap 'echo ended >{here.path}/ended; exit' TERM\n"
                            f"echo $$ >{here.path}/began; while :; do sleep 0.05; done\n")
            child = here.popen("start", env=env)
            wait_until(lambda: os.path.exists(here.path + "/began") and open(here.path + "/began").read(), "it has begun")
            child.send_signal(signum)
            out, err = child.communicate(timeout=60)
            equal((child.returncode, out), (128 + signum, b""))
            contains(err, b"interrupted")
            check(os.path.exists(here.path + "/ended"), "the daemon was told")


def test_foreground():
    """--foreground becomes the daemon, and ends with it"""
    with place() as here:
        child = here.popen("start", "--bus", "none", "--foreground")
        equal(child.stdout.readline(), b"DVM ready\n")
        equal(here.cli("status").returncode, 0)
        equal(here.cli("stop").returncode, 0)
        child.communicate()
        equal(child.returncode, 0)


def test_stop_with_jobs():
    """stop ends the jobs, with --force at once"""
    for options in ([], ["--force"]):
        with place() as here:
            answer = start(here)
            try:
                script = "trap '' TERM; echo $$; while :; do sleep 0.1; done" if options else "echo $$; exec sleep 600"
                child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", script)
                pid = int(child.stdout.readline())
                result = here.cli("stop", *options)
                equal((result.returncode, result.stderr), (0, ""))
                check(not alive(pid), "the process is gone")
                check(not alive(answer["pid"]), "the daemon is gone")
                child.communicate()
                check(child.returncode >= 125, f"run says so: {child.returncode}")
            finally:
                end(answer["pid"])


def test_slow_end():
    """a DVM that waits for its jobs goes on ending when stop has given up or is interrupted, and stop says what it waits for"""
    with place() as here:
        answer = start(here, "--set", "kill-grace=600", "--slots", "2")
        try:
            child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", "trap '' TERM; echo here; exec sleep 600")
            equal(child.stdout.readline(), b"here\n")
            job = here.json("jobs")[0]["namespace"]
            waiting = here.popen("wait", job)
            wait_until(lambda: is_handled(waiting.pid, signal.SIGINT), "it waits")
            waiting.send_signal(signal.SIGINT)
            equal((waiting.wait(60), waiting.stderr.read().decode()),
                  (-signal.SIGINT, f"dvm-cli: job {job} goes on; 'dvm-cli wait 1' waits for it again, 'dvm-cli kill 1' ends it\n"))
            result = here.cli("stop", "--timeout", "1")
            equal((result.returncode, result.stderr), (1, "dvm-cli: the DVM has not ended within 1 second: it waits for the end of 1 job; "
                                                          "'dvm-cli stop --force' kills its processes\n"))
            stopping = here.popen("stop")
            wait_until(lambda: is_handled(stopping.pid, signal.SIGTERM), "it waits")
            stopping.terminate()
            equal((stopping.wait(60), stopping.stderr.read()),
                  (-signal.SIGTERM, b"dvm-cli: the DVM goes on ending; 'dvm-cli status' says whether it has gone\n"))
            equal(here.cli("stop", "--force").returncode, 0)
            child.communicate()
        finally:
            here.cli("stop", "--force")
            end(answer["pid"])


def test_silent():
    """a DVM that stands still is not waited for without a word, and stop keeps to its time"""
    with place() as here:
        answer = start(here)
        try:
            os.kill(answer["pid"], signal.SIGSTOP)
            children = [here.popen(*words) for words in (["status"], ["run", "--personality", "plain", "-n", "1", "true"])]
            for options in ([], ["--force"]):
                result = here.cli("stop", "--timeout", "1", *options)
                equal((result.returncode, result.stderr), (1, "dvm-cli: the DVM has not answered within 1 second\n"))
            for child in children:
                equal(child.stderr.readline(), b"dvm-cli: the DVM does not answer; interrupt to give up\n")
            os.kill(answer["pid"], signal.SIGCONT)
            for child in children:
                child.communicate()
        finally:
            os.kill(answer["pid"], signal.SIGCONT)
            end(answer["pid"])


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
