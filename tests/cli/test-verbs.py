#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The verbs that look at jobs and change them, with a real DVM."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

from dvmtest import CLI, alive, check, contains, dvm, equal, functions, place, run_tests, wait_until

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")


def submit(here, *args):
    result = here.cli("submit", "--personality", "plain", *args)
    equal(result.returncode, 0, result.stderr)
    check(result.stdout.endswith("\n") and result.stdout.count("\n") == 1, result.stdout)
    return result.stdout.strip()


def test_submit_and_wait():
    """submit prints the namespace; wait ends as the job did"""
    with dvm("--slots=4") as here:
        job = submit(here, "-n", "2", "sh", "-c", "exit 7")
        equal(here.cli("wait", job).returncode, 7)
        equal(here.cli("wait", job).returncode, 7, "again")
        good = submit(here, "-n", "1", "true")
        equal(here.cli("wait", good).returncode, 0)
        equal(here.cli("wait", good, job).returncode, 7, "both")
        jobs = json.loads(here.cli("wait", "--json", good, job).stdout)
        equal([entry["namespace"] for entry in jobs], [good, job])
        number = here.json("job", "show", job)["id"]
        equal(here.cli("wait", str(number)).returncode, 7, "by number")
        for reference in (str(number), job, f"/org/dvm/jobs/{number}"):
            equal(here.json("job", reference)["namespace"], job, "job without a view shows it")
        equal(here.cli("wait", f"/org/dvm/jobs/{number}").returncode, 7, "by path")
        missing = submit(here, "-n", "1", "no-such-program-anywhere")
        result = here.cli("wait", missing)
        equal(result.returncode, 127)
        contains(result.stderr, "no-such-program-anywhere")
        result = here.cli("wait", "no-such-job")
        equal(result.returncode, 125)
        contains(result.stderr, "no-such-job")


def test_full_socket():
    """a DVM that does not look at who waits at its socket is there, and that is said"""
    with place() as here:
        path = os.path.join(here.path, "full")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(0)
        first = socket.socket(socket.AF_UNIX)
        first.connect(path)
        result = here.cli("--socket", path, "status")
        equal(result.returncode, 1, result.stderr)
        contains(result.stderr, "The DVM cannot be reached")
        contains(result.stderr, "takes no more connections")
        first.close()
        listener.close()


def test_submit_file():
    """submit --file takes the job from JSON"""
    with dvm("--slots=4") as here:
        path = os.path.join(here.path, "job.json")
        with open(path, "w") as file:
            json.dump({"personality": "plain", "apps": [{"argv": ["sh", "-c", "exit $CODE"], "np": 1}]}, file)
        result = here.cli("submit", "--file", path, env={"CODE": "9"})
        equal(result.returncode, 0, result.stderr)
        equal(here.cli("wait", result.stdout.strip()).returncode, 9)
        with open(path, "w") as file:
            file.write("{")
        result = here.cli("submit", "--file", path)
        check(result.returncode in (1, 2), "a broken file")
        contains(result.stderr, path)
        equal(here.cli("submit", "--file", path, "true").returncode, 2)


def test_jobs():
    """jobs lists what runs, with --all what has ended too"""
    with dvm("--slots=4") as here:
        equal(here.json("jobs"), [])
        ended = submit(here, "-n", "1", "true")
        here.cli("wait", ended)
        job = submit(here, "-n", "2", "--job-name", "naps", "--label", "mine", "sleep", "600")
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 2, "it runs")
        jobs = here.json("jobs")
        equal([entry["namespace"] for entry in jobs], [job])
        entry = jobs[0]
        equal((entry["state"], entry["name"], entry["label"], entry["num-procs"]), ("RUNNING", "naps", "mine", 2))
        equal(entry["command"], ["sleep", "600"])
        check(TIME.match(entry["created-at"]), entry["created-at"])
        equal(entry["submitter-pid"] > 0, True)
        table = here.cli("jobs").stdout.split("\n")
        equal(table[0].split(), ["ID", "NAMESPACE", "STATE", "SESSION", "PROCS", "CREATED", "ELAPSED", "EXIT", "COMMAND"])
        contains(table[1], "sleep 600")
        both = here.json("jobs", "--all")
        equal({entry["namespace"] for entry in both}, {ended, job})
        equal(here.cli("kill", job).returncode, 0)
        here.cli("wait", job)
        equal(here.json("jobs"), [])


def test_node():
    """node show, drain, resume, topology; a job waits for a drained node"""
    with dvm("--slots=2") as here:
        shown = here.json("node", "show", "1")
        equal((shown["rank"], shown["state"], shown["slots"]), (1, "UP", 2))
        contains(here.cli("node", "show", shown["name"]).stdout, "UP")
        contains(here.cli("node", "topology", "1").stdout, "<topology")
        contains(here.cli("node", "topology", "0").stdout, "<topology")
        equal(here.cli("node", "drain", "1", "--reason", "new memory").returncode, 0)
        shown = here.json("node", "show", "1")
        equal((shown["state"], shown["reason"]), ("DO_NOT_USE", "new memory"))
        job = submit(here, "-n", "1", "true")
        wait_until(lambda: here.json("job", "show", job)["held-at"] == "slots", "it waits")
        equal(here.cli("node", "resume", "1").returncode, 0)
        equal(here.cli("wait", job).returncode, 0)
        result = here.cli("node", "drain", "0")
        equal(result.returncode, 1)
        contains(result.stderr, "controller")
        contains(here.cli("node", "show", "nowhere").stderr, "nowhere")
        equal(here.cli("node", "show", "77").returncode, 1)
        contains(here.cli("node", "drian", "1").stderr, "drain")
        equal(here.cli("node", "drain").returncode, 2)
        equal(here.cli("node", "restart", "0").returncode, 1)
        equal(here.cli("node", "resume", "--force", "1").returncode, 2)
        job = submit(here, "-n", "1", "sleep", "1000")
        wait_until(lambda: here.json("job", "show", job)["state"] == "RUNNING", "it runs")
        contains(here.cli("node", "restart", "1").stderr, "force")
        equal(here.cli("node", "restart", "1", "--force").returncode, 0)
        wait_until(lambda: [(node["rank"], node["state"]) for node in here.json("nodes")][1:] == [(2, "UP")], "it is back")


def get_map(here, *args):
    result = here.cli("map", "--json", *args)
    equal(result.returncode, 0, result.stderr)
    return json.loads(result.stdout)


def test_map():
    """map and job map show where ranks go; map starts nothing, with and without a DVM"""
    # The machine of the test may have fewer cores.
    unbound = ("--bind-to", "none")
    with dvm("--slots=4") as here:
        rows = get_map(here, *unbound, "-n", "2", "no-such-program", ":", "-n", "1", "other")
        equal([(row["rank"], row["app"], row["local-rank"], row["note"]) for row in rows],
              [(0, 0, 0, ""), (1, 0, 1, ""), (2, 1, 2, "")])
        equal(get_map(here, *unbound, "-n", "3", "--ranks", "1", "x"), [rows[1]])
        equal(here.json("info")["statistics"]["jobs-submitted"], 0)
        job = submit(here, "-n", "3", "sleep", "600")
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 3, "it runs")
        equal([row["rank"] for row in here.json("job", "map", job)], [0, 1, 2])
        equal([row["rank"] for row in here.json("job", "map", job, "--ranks", "1-2")], [1, 2])
        equal(here.cli("job", "map", job).stdout.count("\n"), 4)
        contains(here.cli("map", *unbound, "-n", "2", "x").stdout, "waits for slots")
        result = here.cli("map", *unbound, "-n", "5", "x")
        equal(result.returncode, 1)
        contains(result.stderr, "4 slots")
        equal(here.cli("map").returncode, 2)
        equal(here.cli("kill", job).returncode, 0)
        here.cli("wait", job)
    with place() as here:
        equal([row["rank"] for row in get_map(here, *unbound, "-n", "2", "x")], [0, 1])
        rows = get_map(here, "--topology", "core:2 pu:1", "--slots", "3", "-n", "3", "x")
        equal([row["note"] for row in rows], ["not bound: more processes than cpus"] * 3)
        with open(os.path.join(here.path, "none.xml"), "w") as file:
            file.write('<?xml version="1.0"?><topology version="2.0"><object type="Machine" os_index="0" cpuset="0x1"/></topology>')
        none = os.path.join(here.path, "none.xml")
        contains(here.cli("map", "--topology", none, "x").stderr, f"{none}: the XML describes no hardware thread")
        machine = subprocess.run(["lstopo-no-graphics", "-i", "core:2 pu:1", "--of", "xml"], capture_output=True, text=True, check=True).stdout
        incomplete = re.sub('(type="PU" .*) complete_cpuset="[^"]*"', r"\1", machine, count=1)
        for content, mention in (("\n", " is not the XML of a machine"), ("core:2 pu:1", " is not the XML of a machine"),
                                 ('<topology><object type="PU">', ": The text is not the XML of an hwloc topology"),
                                 (incomplete, ": The text is not the XML of an hwloc topology, as “lstopo --of xml” writes it: line 13: the PU has no")):
            wrong = os.path.join(here.path, "wrong.xml")
            with open(wrong, "w") as file:
                file.write(content)
            for before in ((), ("--topology", "core:2 pu:1")):
                contains(here.cli("map", *before, "--topology", wrong, "x").stderr, wrong + mention)
        contains(here.cli("map", "--topology", "pu:1", "--topology", "pu:x", "--topology", none, "x").stderr, "topology: “pu:x” does not")
        contains(here.cli("map", "--topology", "foo 99999 bar:7x", "x").stderr, "topology: it is neither a description")
        contains(here.cli("map", "--topology", "core:5000 pu:1", "x").stderr, "topology: a node has 4096 hardware threads at most")
        equal(here.cli("map", "--nodes", "3", "x").returncode, 2)
        equal(here.cli("map", *["--topology", "pu:1"] * 65, "x").returncode, 2)
        for words in (["package:2,core"], ["pu:2", "--slots", "a"], ["pu:2", "--slots", ""], ["pu:2", "--nodes", "1000000"],
                      ["pu:4097"], ["pu:513"], ["numa:1(memory=1GB) core:64 pu:65"], ["core:4096 pu:1"], ["<topology>"], ["pu:2", "--bind-to", "crate"]):
            result = here.cli("map", "--topology", *words, "x")
            equal(result.returncode, 2, f"{words}: {result.stderr}")


def test_display_map():
    """run --display map shows the map and the output; donotlaunch shows the map alone"""
    for where in (place, lambda: dvm("--slots=4")):
        with where() as here:
            for args in (("--display", "map"), ("--runtime-options", "donotlaunch"),
                         ("--display", "map", "--runtime-options", "donotlaunch")):
                result = here.cli("run", "--personality", "plain", *args, "-n", "2", "echo", "the output")
                equal(result.returncode, 0, result.stderr)
                equal(result.stdout.count("LOCAL"), 1, f"{args}: {result.stdout}")
                equal(result.stdout.count("the output"), 0 if "donotlaunch" in args else 2, f"{args}")
            equal(here.cli("run", "--display", "map", "--json", "true").returncode, 2)
            for args in (("--display", "allocation"), ("--display", "map,allocation")):
                result = here.cli("run", "--personality", "plain", *args, "-n", "1", "true")
                equal(result.returncode, 0, result.stderr)
                check(re.match(r"NODE +SLOTS +MAX\n\S+ +\d+ +\d+\n", result.stdout), f"{args}: {result.stdout}")
                equal(result.stdout.count("LOCAL"), args[1].count("map"), f"{args}: {result.stdout}")


def test_display_of_a_job():
    """job map --display has the tables of run, of a job that has its nodes"""
    with dvm("--slots=1") as here:
        unbound = ["--personality", "plain", "--bind-to", "none"]
        job = submit(here, *unbound, "-n", "1", "sleep", "600")
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 1, "it runs")
        result = here.cli("job", "map", "--display", "map,allocation", job)
        check(re.fullmatch(r"NODE +SLOTS +MAX\n\S+ +\d+ +\d+\nRANK +APP [^\n]*\n +0 [^\n]*\n", result.stdout), result.stdout)
        contains(here.cli("job", "map", "--display", "bindings:parseable", job).stdout, "<bindings>")
        waiting = submit(here, *unbound, "-n", "1", "true")
        result = here.cli("job", "map", "--display", "map", waiting)
        equal((result.returncode, result.stdout), (1, ""))
        contains(result.stderr, "has no nodes yet")
        for words in (["--display", "mop"], ["--display", "map", "--ranks", "0"], ["--display", "map", "--picture"], ["--display", "map", "--json"],
                      ["--display", "map", "--json-lines"], ["--display", ":parseable"]):
            result = here.cli("job", "map", *words, job)
            equal((result.returncode, result.stdout), (2, ""), f"{words}: {result.stderr}")
        equal(here.cli("job", "procs", "--display", "map", job).returncode, 2)
        result = here.cli("job", "map", "--display", "topo=nowhere", job)
        equal((result.returncode, result.stdout), (1, ""))


def test_display_bindings():
    """run --display bindings, --report-bindings and --bind-to core:report show the cpus of each rank"""
    with dvm("--slots=4") as here:
        for args in (("--display", "bindings"), ("--report-bindings",), ("--bind-to", "core:report"),
                     ("--display-map", "--report-bindings")):
            result = here.cli("run", "--personality", "plain", "-q", "--bind-to-core", *args, "-n", "1", "echo", "the output")
            equal(result.returncode, 0, f"{args}: {result.stderr}")
            equal(result.stdout.count("LOCAL"), 1 if "--display-map" in args else 0, f"{args}: {result.stdout}")
            check(re.search(r"BOUND TO CPUS\n *0  \S+ +\d", result.stdout), f"{args}: {result.stdout}")


def test_job():
    """job show, procs and trace, for people and as JSON"""
    with dvm("--slots=4") as here:
        job = submit(here, "-n", "3", "sleep", "600")
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 3, "it runs")
        contains(here.cli("job", "show", job).stdout, "sleep 600")
        procs = here.json("job", "procs", job)
        equal([proc["rank"] for proc in procs], [0, 1, 2])
        for proc in procs:
            check(alive(proc["pid"]), "the pid is right")
            equal(proc["state"], "RUNNING")
        equal([proc["rank"] for proc in here.json("job", "procs", job, "--ranks", "1-2")], [1, 2])
        equal(here.cli("job", "procs", job).stdout.count("\n"), 4)
        equal(here.cli("kill", job).returncode, 0)
        here.cli("wait", job)
        good = submit(here, "-n", "1", "true")
        here.cli("wait", good)
        trace = here.json("job", "trace", good)
        states = [entry["new"] for entry in trace if entry["what"].startswith("job")]
        wanted = ["INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE", "LAUNCH_DAEMONS", "DAEMONS_REPORTED",
                  "VM_READY", "MAP", "MAP_COMPLETE", "SYSTEM_PREP", "LAUNCH_APPS", "SEND_LAUNCH_MSG", "STARTED", "RUNNING",
                  "TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"]
        equal([state for state in states if state in wanted], wanted, "the order of states")
        check(all(TIME.match(entry["time"]) for entry in trace), "times")
        lines = here.cli("job", "trace", "--json-lines", good).stdout.splitlines()
        equal([json.loads(line) for line in lines], trace, "one object a line")
        contains(here.cli("job", "trace", good).stdout, "NOTIFIED")
        result = here.cli("job", "show", "999")
        equal(result.returncode, 1)
        contains(result.stderr, "999")


def test_stacks():
    """job stacks, for people and as JSON"""
    with dvm("--slots=4") as here:
        job = submit(here, "-n", "2", "sleep", "600")
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 2, "it runs")
        wait_until(lambda: all("nanosleep" in row["stack"] for row in here.json("job", "stacks", job)), "both sleep")
        node = here.json("job", "procs", job)[0]["node"]
        equal([(row["rank"], row["node"], row["problem"]) for row in here.json("job", "stacks", job)],
              [(0, node, ""), (1, node, "")])
        text = here.cli("job", "stacks", "--ranks", "1", "--timeout", "20", job).stdout
        check(text.startswith(f"rank 1 on {node}:\n  PID "), text)
        contains(text, "nanosleep")
        for wrong, words in ((["--timeout", "4000"], "3600"), (["--ranks", "7"], "ranks 0 to 1")):
            result = here.cli("job", "stacks", *wrong, job)
            equal(result.returncode, 1)
            contains(result.stderr, words)
        equal(here.cli("kill", job).returncode, 0)
        here.cli("wait", job)
        result = here.cli("job", "stacks", job)
        equal(result.returncode, 1)
        contains(result.stderr, "has ended")


def test_continue():
    """job continue lets a job go on that waits for a debugger"""
    with dvm("--slots=2") as here:
        job = submit(here, "-n", "2", "--runtime-options", "stop-on-exec", "true")
        wait_until(lambda: here.json("job", "show", job)["state"] == "READY_FOR_DEBUG", "it waits")
        equal([proc["state"] for proc in here.json("job", "procs", job)], ["READY_FOR_DEBUG"] * 2)
        equal(here.cli("job", "continue", job).returncode, 0)
        equal(here.cli("wait", job).returncode, 0)
        result = here.cli("job", "continue", job)
        equal(result.returncode, 1)
        contains(result.stderr, "has ended")


def test_kill():
    """kill cancels, or sends a signal"""
    with dvm("--slots=4") as here:
        job = submit(here, "-n", "1", "sleep", "600")
        equal(here.cli("kill", job).returncode, 0)
        check(here.cli("wait", job).returncode >= 125, "a cancelled job has failed")
        equal(here.json("job", "show", job)["state"], "KILLED_BY_CMD")
        for args in (["-s", "USR1"], ["-s", "SIGUSR1"], ["-s", "10"], ["-USR1"], ["-10"], ["--signal=usr1"]):
            job = submit(here, "-n", "1", "sh", "-c", "trap 'exit 33' USR1; while :; do sleep 0.05; done")
            wait_until(lambda: here.json("job", "show", job)["num-launched"] == 1, "it runs")
            # A signal before the trap is set ends the shell by that signal.
            equal(here.cli("kill", *args, job).returncode, 0)
            check(here.cli("wait", job).returncode in (33, 128 + signal.SIGUSR1), f"{args}")
        job = submit(here, "-n", "1", "sleep", "600")
        equal(here.json("kill", "-9", job), [{"namespace": job, "action": "signal", "signal": "SIGKILL"}])
        check({"number": 9, "name": "SIGKILL"} in here.json("kill", "-l"), "kill -l --json")
        result = here.cli("kill", "no-such-job")
        equal(result.returncode, 1)
        contains(result.stderr, "no-such-job")
        result = here.cli("kill", job)
        check(result.returncode in (0, 1), "a job that has ended")


def test_attach_without_reader():
    """attach leaves, and the job goes on, when nobody reads its output any more"""
    with dvm("--slots=2") as here:
        job = here.cli("submit", "--personality", "plain", "-n", "1", "yes").stdout.strip()
        child = here.popen("attach", "--no-stdin", job)
        child.stdout.readline()
        child.stdout.close()
        equal(child.wait(120), 141)
        child.stderr.close()
        equal(len(here.json("jobs")), 1)


def test_attach():
    """attach shows what was kept and what comes, feeds the job, and leaves it running on Ctrl-C"""
    with dvm("--slots=4") as here:
        job = submit(here, "-n", "1", "--stdin", "0", "sh", "-c", "echo kept; echo err >&2; read a; echo got $a; exit 4")
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 1, "it runs")
        result = here.cli("attach", job, stdin="word\n")
        equal((result.stdout, result.returncode), ("kept\ngot word\n", 4))
        contains(result.stderr, "err\n")
        job = submit(here, "-n", "1", "sh", "-c", "echo $$; exec sleep 600")
        child = here.popen("attach", job)
        pid = int(child.stdout.readline())
        child.send_signal(signal.SIGINT)
        _, stderr = child.communicate()
        equal(child.returncode, 130)
        contains(stderr, b"goes on")
        check(alive(pid), "the job goes on")
        here.cli("kill", job)
        here.cli("wait", job)
        job = submit(here, "-n", "1", "sh", "-c", "echo kept; exit 3")
        equal(here.cli("wait", job).returncode, 3)
        result = here.cli("attach", job)
        equal((result.stdout, result.returncode), ("kept\n", 3), "an ended job")


def test_nodes_status_info():
    """nodes, status and info"""
    with dvm("--slots=3") as here:
        plugins = here.json("plugins")
        equal({(one["kind"], one["name"], one["active"], one["path"]) for one in plugins},
              {("mapper", "colocate", True, ""), ("mapper", "object", True, ""), ("mapper", "pe-list", True, ""), ("mapper", "ppr", True, ""),
               ("mapper", "rank-file", True, ""), ("mapper", "round-robin", True, ""), ("mapper", "seq", True, ""),
               ("allocator", "bus", True, ""), ("allocator", "flux", True, ""), ("allocator", "slurm", True, ""), ("allocator", "gridengine", True, ""),
               ("allocator", "lsf", True, ""), ("allocator", "pbs", True, ""), ("allocator", "hosts", True, ""),
               ("launcher", "bootstrap", True, ""), ("launcher", "local", True, ""), ("launcher", "flux", True, ""), ("launcher", "slurm", True, ""), ("launcher", "gridengine", True, ""),
               ("launcher", "lsf", True, ""), ("launcher", "pbs", True, ""), ("launcher", "ssh", True, ""), ("launcher", "pdsh", True, ""), ("launcher", "pals", True, "")})
        equal(here.cli("plugins").stdout.split("\n")[0].split(), ["KIND", "NAME", "ACTIVE", "DESCRIPTION", "WORDS", "PATH"])
        nodes = here.json("nodes")
        equal([node["rank"] for node in nodes], [0, 1])
        equal((nodes[0]["slots"], nodes[1]["slots"], nodes[1]["state"]), (0, 3, "UP"))
        equal(here.cli("nodes").stdout.split("\n")[0].split()[:4], ["RANK", "NAME", "STATE", "SLOTS"])
        status = here.json("status")
        equal((status["running"], status["ready"], status["slot-count"], status["node-count"]), (True, True, 3, 1))
        contains(here.cli("status").stdout, "ready")
        info = here.json("info")
        equal((info["ready"], info["slot-count"]), (True, 3))
        check(TIME.match(info["started-at"]), info["started-at"])
        check(isinstance(info["statistics"], dict), "statistics")
        contains(here.cli("info").stdout, "slot-count: 3\n")
        pipe = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" jobs | head -1', CLI], env=here.env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        equal((pipe.returncode, pipe.stderr), (0, ""), "a closed pipe")


def test_query():
    """info --query asks for keys, narrowed by its options"""
    with dvm("--slots=2", "--elastic=true", "--launcher=local") as here:
        job = here.cli("submit", "-n", "2", "--pset", "ice", "sleep", "600").stdout.strip()
        equal(here.json("info", "--query", "psets,num-psets", "--nspace", job), {"psets": ["ice"], "num-psets": 1})
        members = here.json("info", "--query", "pset-members", "--pset", "ice")["pset-members"]
        equal(len(members), 2, members)
        here.cli("grow", "--hosts", "n9:3", "--req-id", "mine", "--wait")
        allocation = here.json("info", "--query", "allocations", "--of-req-id", "mine")["allocations"][0]["alloc-id"]
        equal(here.json("info", "--query", "slots", "--alloc-id", allocation), {"slots": 3})
        equal(here.json("info", "--query", "alloc-properties", "--of-req-id", "mine", "--property", "nodes"), {"alloc-properties": {"nodes": ["n9"]}})
        for words, part in ((("alloc-status", "--alloc-id", "none"), "there is none of what its qualifiers name"),
                            (("group-members", "--group", "none"), "there is none of what its qualifiers name"),
                            (("psets", "--group", "x"), "psets takes no qualifier “group”"), (("pset-members",), "pset-members needs the qualifier “pset”")):
            refused = here.cli("info", "--query", *words)
            equal(refused.returncode, 1)
            contains(refused.stderr, part)
        for option in ("alloc-id", "of-req-id", "property", "group", "pset"):
            refused = here.cli("info", f"--{option}", "x")
            equal((refused.returncode, refused.stderr.split("\n")[0]), (2, f"dvm-cli: --{option} goes with --query"))


def test_state_machines():
    """info --state-machines draws what the dvmd beside it has; no DVM is asked"""
    with place() as here:
        drawn = here.cli("info", "--state-machines")
        equal(drawn.returncode, 0)
        names = ["dvm", "job", "campaign", "agent", "local-daemon", "local-job", "local-process"]
        equal(re.findall(r'^digraph "(.+)" {$', drawn.stdout, re.MULTILINE), names)
        contains(drawn.stdout, '  "RUNNING" -> "TERMINATED" [label="all-terminated"];\n')
        for other in (["--json"], ["--query", "version"]):
            refused = here.cli("info", "--state-machines", *other)
            equal(refused.returncode, 2)
            contains(refused.stderr, "--state-machines goes with neither --query nor --json")
        equal(here.cli("info", "--state-machines", env={"DVM_DVMD": "/no/dvmd"}).returncode, 1)


def test_pmix():
    """info --pmix says which library the dvmd beside it has, and what of it is compiled in; no DVM is asked"""
    with place() as here:
        told = json.loads(here.cli("info", "--pmix", "--json").stdout)
        version = re.match(r"[0-9.]+[0-9]", subprocess.run(["pkg-config", "--modversion", "pmix"], capture_output=True, text=True, check=True).stdout)[0]
        equal(told["built-with"], version)
        contains(told["runs-with"], version)
        with open(os.path.join(os.path.dirname(CLI), "..", "daemon", "pmix", "dvmd-pmix-config.h"), encoding="utf-8") as file:
            defined = re.findall(r"^#define (HAVE_PMIX_\w+)", file.read(), re.MULTILINE)
        for word, gate in (("groups", "HAVE_PMIX_INSIDE"), ("key-numbers", "HAVE_PMIX_KEYS"), ("qualified-values", "HAVE_PMIX_VALUES")):
            equal(told["abilities"][word], gate in defined)
        text = here.cli("info", "--pmix").stdout.splitlines()
        for word, there in told["abilities"].items():
            contains(text, f"abilities.{word}: {'yes' if there else 'no'}")
        for other in (["--query", "version"], ["--state-machines"]):
            refused = here.cli("info", "--pmix", *other)
            equal(refused.returncode, 2)
            contains(refused.stderr, "--pmix goes with neither --query nor --state-machines")
        equal(here.cli("info", "--pmix", env={"DVM_DVMD": "/no/dvmd"}).returncode, 1)


def test_full():
    """when the slots are taken a job waits, is refused, or oversubscribes"""
    with dvm("--slots=2") as here:
        job = submit(here, "-n", "2", "sleep", "600")
        wait_until(lambda: here.json("job", "show", job)["num-launched"] == 2, "it runs")
        waiting = submit(here, "-n", "1", "true")
        wait_until(lambda: here.json("job", "show", waiting)["held-at"] == "slots", "it waits")
        contains(here.cli("jobs").stdout, "waiting for slots")
        result = here.cli("run", "--personality", "plain", "-n", "1", "--when-full", "refuse", "true")
        equal(result.returncode, 125)
        check(result.stderr.startswith("dvm-cli: "), result.stderr)
        result = here.cli("run", "--personality", "plain", "-n", "1", "--when-full", "oversubscribe", "true")
        equal(result.returncode, 0, result.stderr)
        result = here.cli("run", "--personality", "plain", "-n", "3", "true")
        equal(result.returncode, 125, "more than there will ever be")
        here.cli("kill", "-9", job)
        equal(here.cli("wait", waiting).returncode, 0)


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
