#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sessions by the command line, real agents: nodes taken aside, looked at, extended, handed on, given back."""

import json
import os
import signal
import sys

from dvmtest import alive, check, contains, dvm, equal, functions, place, run_tests, wait_until

# Nodes that are lost stay DOWN here: test-heal.py is about those that come back.
os.environ["DVM_HEAL"] = "false"


def elastic(*options):
    return dvm("--elastic", "--slots=2", *(options or ("--nodes=2",)))


def names(here):
    return [node["name"] for node in here.json("nodes") if node["rank"] > 0]


def done(here, *args):
    result = here.cli(*args)
    equal((result.returncode, result.stderr), (0, ""), f"{args}")
    return result.stdout


def refused(here, status, mention, *args):
    result = here.cli(*args)
    equal((result.returncode, result.stdout), (status, ""), f"{args}: {result.stderr}")
    contains(result.stderr, mention, f"{args}")


def test_usage():
    """each action takes its own options alone, and what it needs must be said"""
    with place() as here:
        for args, mention in (
            (["create"], "which nodes are to be set aside"),
            (["create", "--time", "3"], "which nodes are to be set aside"),
            (["create", "n9"], "by --hosts"),
            (["create", "--hosts", "n9", "--count", "2"], "--count and --hosts"),
            (["create", "--hosts", "n9", "--share", "--no-share"], "--share and --no-share"),
            (["create", "--hosts", "n9", "--drain-timeout", "3"], "no meaning"),
            (["create", "--hosts", "n9", "--inheritance", "chidl"], "did you mean 'child'?"),
            (["create", "--hosts", "n9", "--time", "soon"], "such as 90s"),
            (["create", "--hosts", "n9", "--time", "1:2:3:4:5"], "such as 90s"),
            (["create", "--hosts", "n9", "--time", "-1"], "--time"),
            (["create", "--hosts", "n9", "--warn-timeout", "99999d"], "--warn-timeout"),
            (["create", "--hosts", "n9", "--all"], "no meaning"),
            (["extend", "1"], "by what?"),
            (["extend", "--time", "3"], "session is missing"),
            (["extend", "1", "--time", "3", "--child-separate"], "no meaning"),
            (["release"], "session is missing"),
            (["release", "1", "--time", "3"], "no meaning"),
            (["pause"], "session is missing"),
            (["pause", "1", "--all"], "exclude"),
            (["preempt", "--all", "--job", "1"], "--all and --job"),
            (["pause", "1", "--job", "1"], "no meaning"),
            (["pause", "1", "--wait"], "no meaning"),
            (["signal", "1"], "signal is missing"),
            (["signal", "-s", "NOPE", "1"], "'NOPE' is no signal"),
            (["separate", "1", "--signal", "INT"], "no meaning"),
            (["show", "1", "2"], "argument"),
            (["paues", "1"], "did you mean 'pause'?"),
            (["explode", "1"], "terminate, separate"),
            (["destroy", "1"], "did you mean 'terminate'?"),
            (["delete", "1"], "did you mean 'release'?"),
            (["night"], "cannot be told to"),
            (["1", "--hosts", "n9"], "no meaning"),
            (["create", "--hosts", "n9", "--req-id", "x", "--", "true"], "--req-id and a program"),
            (["create", "--count", "2", "--", "true"], "--count and a program"),
        ):
            refused(here, 2, mention, "session", *args)
        refused(here, 2, "UTF-8", "session", "create", "--hosts", "n9", "--target", b"n\xff")
        refused(here, 2, "--share and --no-share", "grow", "--hosts", "n9", "--share", "--no-share")
        refused(here, 2, "which nodes", "grow", "--time", "3")
        refused(here, 1, "no DVM is running", "session", "pause", "--all")


def test_columns():
    """nodes, node, jobs and job tell of sessions by their numbers"""
    with elastic("--nodes=1") as here:
        done(here, "grow", "--hosts", "n9", "--wait")
        job = done(here, "submit", "-n", "1", "sleep", "600").strip()
        lines = [line.split() for line in done(here, "nodes", "--flat").splitlines()]
        equal(lines[0], ["RANK", "NAME", "STATE", "SLOTS", "USED", "PID", "SESSIONS", "REASON"])
        equal([line[6] for line in lines[1:]], ["-", "0", "0,1"])
        contains(done(here, "node", "show", "n9"), "0,1")
        contains(done(here, "jobs").splitlines()[0], "SESSION")
        contains(done(here, "job", "show", job), "Session")
        done(here, "kill", job)


def test_lost():
    """of a node that was lost only the row goes, and that is said; a campaign that never was is not forgotten"""
    with elastic() as here:
        pid = next(node["pid"] for node in here.json("nodes") if node["name"] == "node2")
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: [node["state"] for node in here.json("nodes") if node["name"] == "node2"] == ["DOWN"],
                   "its agent is lost")
        result = here.cli("shrink", "--hosts", "node2", "--wait")
        equal((result.returncode, result.stdout.split()[1]), (0, "-"), result.stderr)
        contains(result.stderr, "were lost before")
        equal(names(here), ["node1"])
        refused(here, 1, "There never was a campaign 999", "campaign", "show", "999")


def create(here, *args):
    """What create prints: (allocation, campaign)"""
    result = here.cli("session", "create", *args)
    equal(result.returncode, 0, f"{args}: {result.stderr}")
    return result.stdout.split()


def where(here, *args):
    """On which nodes a job of two processes runs"""
    result = here.cli("run", "--personality", "plain", "-n", "2", *args, "sh", "-c", "echo $DVM_NODE")
    equal(result.returncode, 0, f"{args}: {result.stderr}")
    return sorted(set(result.stdout.split()))


def test_reserved():
    """what create takes is for jobs that name it, by any of its names; released it is everybody's again"""
    with elastic("--nodes=3") as here:
        allocation, campaign = create(here, "--hosts", "node2", "--req-id", "mine", "--wait")
        equal(campaign, "-", "the node is there")
        session = here.json("session", "show", "mine")
        equal((session["alloc-id"], session["request-id"], session["state"], session["nodes"], session["shared"]),
              (allocation, "mine", "active", ["node2"], False))
        equal(session["owner"], f"bus.{os.getuid()}")
        number = str(session["id"])
        for name in ("mine", allocation, number, f"/org/dvm/sessions/{number}"):
            equal(here.json("session", "show", name)["id"], session["id"], name)
            equal(where(here, "--session", name), ["node2"], name)
            if name != "mine":
                contains(done(here, "session", name), allocation)
        equal(where(here, "--target", "mine"), ["node2"])
        equal(where(here, "--map-by", "node", "--target", f"{allocation},default"), ["node1", "node2"])
        equal(where(here, "--map-by", "node"), ["node1", "node3"])
        refused(here, 125, "node2", "run", "-n", "1", "--host", "node2", "true")
        for option in ("--target", "--session"):
            refused(here, 125, "nobody", "run", option, "nobody", "true")
            refused(here, 1, "nobody", "submit", option, "nobody", "true")
            refused(here, 1, "nobody", "map", option, "nobody", "true")
        refused(here, 2, "name is missing", "run", "--target", "mine,,default", "true")
        refused(here, 2, "'default' is named twice", "run", "--target", "default,mine,default", "true")
        contains(done(here, "map", "-n", "2", "--target", "mine", "true"), "node2")
        row = next(line for line in done(here, "sessions").splitlines() if allocation in line).split()
        equal((row[0], row[3], row[4], row[5]), (number, "reserved", f"bus.{os.getuid()}", "mine"))
        done(here, "session", "extend", "mine", "--hosts", "n9", "--wait")
        equal(here.json("session", "show", "mine")["nodes"], ["node2", "n9"])
        result = here.cli("session", "release", "mine", "--wait")
        equal((result.returncode, names(here)), (0, ["node1", "node2", "node3"]), result.stderr)
        equal(where(here, "--map-by", "node", "--host", "node2"), ["node2"])
        refused(here, 1, "no session 'mine'", "session", "show", "mine")
        refused(here, 1, "default session", "session", "release", "0")


def test_not_elastic():
    """nodes of the start can be taken aside without elastic mode; others cannot be had"""
    with dvm("--nodes=2", "--slots=2") as here:
        allocation, campaign = create(here, "--hosts", "node2")
        equal(campaign, "-")
        equal(where(here, "--session", allocation), ["node2"])
        equal(where(here), ["node1"])
        refused(here, 1, "elastic", "session", "create", "--hosts", "n9")
        equal([row["id"] for row in here.json("sessions")], [0, 1])
        result = here.cli("session", "release", allocation)
        equal(result.returncode, 0, result.stderr)
        contains(result.stderr, "no node leaves")
        equal(where(here, "--map-by", "node"), ["node1", "node2"])


def test_ambiguous():
    """a request id that two sessions have names neither of them"""
    with elastic() as here:
        for node in ("node1", "node2"):
            create(here, "--hosts", node, "--req-id", "twice")
        refused(here, 1, "Several sessions", "session", "release", "twice")
        refused(here, 125, "Several sessions", "run", "--session", "twice", "true")
        equal(len(here.json("sessions")), 3)
        equal(here.json("session", "show", "2")["nodes"], ["node2"])


def test_refused():
    """what is refused leaves nothing behind"""
    with elastic() as here:
        ended = done(here, "submit", "--personality", "plain", "-n", "1", "true").strip()
        here.cli("wait", ended)
        for args, mention in (
            (["create", "--hosts", "n9:x"], "n9:x"),
            (["create", "--hosts", "n9", "--target", "nobody@7"], "nobody@7"),
            (["create", "--hosts", "n9", "--target", "99"], "99"),
            (["create", "--hosts", "n9", "--target", "nobody"], "nobody"),
            (["create", "--hosts", "n9", "--target", "dvm@tool-1-1"], "is no job and no tool that is there"),
            (["create", "--hosts", "n9", "--target", ended], "has ended"),
            (["create", "--hosts", "n9", "--session", "nobody"], "nobody"),
            (["extend", "0", "--time", "10"], "default session"),
            (["cancel", "0"], "default session"),
            (["pause", "0"], "default session"),
            (["terminate", "0"], "default session"),
        ):
            refused(here, 1, mention, "session", *args)
        equal(names(here), ["node1", "node2"])
        equal(len(here.json("sessions")), 1)
        equal(here.json("campaigns", "--all"), [])


def stopped(here, job):
    """Which processes of a job stand still"""
    states = []
    for proc in here.json("job", "procs", job):
        with open(f"/proc/{proc['pid']}/stat") as stat:
            states.append(stat.read().rsplit(")", 1)[1].split()[0])
    return [state == "T" for state in states]


def test_control():
    """pause and resume, preempt and restore, signal and terminate reach the jobs of a session alone"""
    with elastic() as here:
        create(here, "--hosts", "node2", "--req-id", "mine")
        submit = ("submit", "--personality", "plain", "-n", "1")
        other = done(here, *submit, "sleep", "600").strip()
        first = done(here, *submit, "--session", "mine", "sleep", "600").strip()
        second = done(here, *submit, "--session", "mine", "sleep", "600").strip()
        for job in (other, first, second):
            wait_until(lambda: here.json("job", "show", job)["state"] == "RUNNING", "it runs")
        equal(len(here.json("session", "show", "mine")["jobs"]), 2)
        done(here, "session", "pause", "mine")
        wait_until(lambda: stopped(here, first) + stopped(here, second) == [True] * 2, "both are stopped")
        equal(stopped(here, other), [False])
        equal(here.json("session", "show", "mine")["state"], "paused")
        states = {row.split()[1]: row.split("  ") for row in done(here, "jobs").splitlines()}
        equal([any("running (paused)" in cell for cell in states[job]) for job in (other, first, second)], [False, True, True])
        equal({job["namespace"]: job["paused"] for job in here.json("jobs")}, {other: False, first: True, second: True})
        contains(done(here, "job", "show", first), "State: running (paused)")
        done(here, "session", "preempt", "mine")
        done(here, "session", "resume", "mine")
        equal(stopped(here, first), [True], "it is preempted")
        done(here, "session", "restore", "mine")
        wait_until(lambda: stopped(here, first) + stopped(here, second) == [False] * 2, "both go on")
        equal(here.json("session", "show", "mine")["state"], "active")
        equal([job["paused"] for job in here.json("jobs")], [False] * 3)
        done(here, "session", "signal", "-USR1", "mine", "--job", second)
        equal(here.cli("wait", second).returncode, 128 + signal.SIGUSR1)
        for job in (done(here, *submit, "--session", "mine", "false"), done(here, *submit, "--session", "mine", "true")):
            here.cli("wait", job.strip())
        live = here.json("job", "show", first)["id"]
        equal(here.json("session", "show", "mine")["jobs"], [f"/org/dvm/jobs/{live}"], "those that have ended are not in it")
        equal(done(here, "sessions").splitlines()[2].split()[-2], str(live))
        equal(here.json("job", "show", first)["state"], "RUNNING")
        refused(here, 1, other, "session", "preempt", "mine", "--job", other)
        done(here, "session", "preempt", "mine", "--job", first)
        wait_until(lambda: stopped(here, first) == [True], "the one is stopped")
        done(here, "session", "restore", "mine", "--job", first)
        wait_until(lambda: stopped(here, first) == [False], "it goes on")
        done(here, "session", "pause", "--all")
        wait_until(lambda: stopped(here, first) == [True], "it is stopped")
        done(here, "session", "terminate", "mine", "--wait")
        refused(here, 1, "no session 'mine'", "session", "show", "mine")
        check(here.cli("wait", first).returncode != 0, "it was ended")
        equal(here.json("job", "show", first)["state"], "KILLED_BY_CMD")
        equal(here.json("job", "show", other)["state"], "RUNNING")
        done(here, "kill", other)


def test_terminate_again():
    """who ends what is ending already has what was wanted, and may wait for it"""
    with elastic() as here:
        create(here, "--hosts", "node2", "--req-id", "mine")
        deaf = ("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done")
        job = done(here, "submit", "--personality", "plain", "-n", "1", "--session", "mine", *deaf).strip()
        wait_until(lambda: here.json("job", "show", job)["state"] == "RUNNING", "it runs")
        done(here, "session", "terminate", "mine")
        done(here, "session", "terminate", "mine", "--wait")
        equal(len(here.json("sessions")), 1)
        refused(here, 1, "no session 'mine'", "session", "terminate", "mine")


def test_waits():
    """who runs a job in a session that is paused hears why nothing happens"""
    with elastic() as here:
        create(here, "--hosts", "node2", "--req-id", "mine")
        done(here, "session", "pause", "mine")
        child = here.popen("run", "--personality", "plain", "--session", "mine", "-n", "1", "echo", "at last")
        contains(child.stderr.readline(), b"its session is paused")
        done(here, "session", "resume", "mine")
        output, errors = child.communicate(timeout=60)
        equal((child.returncode, output, errors), (0, b"at last\n", b""))


def test_owner():
    """a job owns the nodes that were taken for it; inheritance and separate say what becomes of them"""
    with elastic("--nodes=3") as here:
        job = done(here, "submit", "--personality", "plain", "-n", "1", "--host", "node1", "sleep", "600").strip()
        number = str(here.json("job", "show", job)["id"])
        allocation, _ = create(here, "--hosts", "n9", "--target", number, "--inheritance", "none", "--wait")
        kept, _ = create(here, "--hosts", "node3", "--target", job, "--inheritance", "none", "--req-id", "kept")
        session = here.json("session", "show", allocation)
        equal((session["owner"], session["owners"], session["inheritance"], session["shared"], session["separate"]),
              (job, [job], "none", False, False))
        done(here, "session", "separate", "kept")
        equal(here.json("session", "show", "kept")["separate"], True)
        done(here, "session", "separate", allocation)
        done(here, "session", "separate", allocation, "--undo")
        equal(here.json("session", "show", allocation)["separate"], False)
        done(here, "kill", job)
        wait_until(lambda: "n9" not in names(here), "given back with its owner")
        equal(here.json("session", "show", "kept")["nodes"], ["node3"])


def test_child():
    """a child ends with its parent, unless it is separate"""
    with elastic("--nodes=4") as here:
        create(here, "--hosts", "node2", "--req-id", "parent")
        create(here, "--hosts", "node3", "--req-id", "child", "--session", "parent")
        create(here, "--hosts", "node4", "--req-id", "apart", "--session", "parent", "--child-separate")
        parent = here.json("session", "show", "parent")
        child = here.json("session", "show", "child")
        equal((child["parent"], child["shared"]), (f"/org/dvm/sessions/{parent['id']}", False))
        contains(done(here, "session", "show", "child"), f"Parent: {parent['id']}\n")
        done(here, "session", "terminate", "parent", "--wait")
        wait_until(lambda: [row["request-id"] for row in here.json("sessions")] == ["", "apart"], "the child has ended")


def test_time():
    """a session ends when its time is over; an extension begins anew"""
    with elastic() as here:
        create(here, "--hosts", "node2", "--req-id", "mine", "--time", "1:00:00", "--warn-timeout", "5m")
        before = here.json("session", "show", "mine")["expires-at"]
        contains(done(here, "sessions"), "59m")
        done(here, "session", "extend", "mine", "--time", "1d")
        check(here.json("session", "show", "mine")["expires-at"] > before, "it has more time")
        contains(done(here, "session", "show", "mine"), "23h59m")
        done(here, "session", "extend", "mine", "--warn-timeout", "1h")
        done(here, "session", "extend", "mine", "--time", "0")
        equal(here.json("session", "show", "mine")["expires-at"], None)
        done(here, "session", "extend", "mine", "--time", "1")
        wait_until(lambda: len(here.json("sessions")) == 1, "its time is over")


def test_given_back():
    """what was released by its name can be had back; a grow for a session is called off"""
    with elastic() as here:
        create(here, "--hosts", "n9,n10", "--req-id", "mine", "--wait")
        done(here, "session", "release", "mine", "--hosts", "n10", "--wait")
        equal(here.json("session", "show", "mine")["nodes"], ["n9"])
        done(here, "session", "reaquire", "mine", "--wait")
        equal(here.json("session", "show", "mine")["nodes"], ["n9", "n10"])
        refused(here, 1, "Nothing has been released", "session", "reaquire", "mine", "--hosts", "n11")
        refused(here, 1, "nothing to cancel", "session", "cancel", "mine")
        told = here.json("session", "release", "mine", "--drain-timeout", "5s", "--req-id", "back", "--wait")
        equal((told["req-id"], told["result"]["state"]), ("back", "completed"))




def test_cancel():
    """who calls off what comes for a session has what was wanted when it has failed"""
    with place() as here:
        path = here.path + "/fake-ssh"
        with open(path, "w") as file:
            file.write('#!/bin/sh\ncase $1 in hangs*) exec sleep 600 ;; esac\nexec sh -c "$2"\n')
        os.chmod(path, 0o755)
        options = ("--bus", "none", "--elastic", "--host", "one,two", "--slots", "1", "--set=launcher-command=" + path)
        result = here.cli("start", *options)
        equal(result.returncode, 0, result.stderr)
        try:
            create(here, "--hosts", "two,hangs", "--req-id", "mine")
            told = here.json("session", "cancel", "mine", "--wait")
            equal((told["result"]["state"], told["result"]["cause"]), ("failed", "cancelled"))
            equal(len(here.json("sessions")), 1)
            equal(where(here, "--when-full", "oversubscribe", "--host", "two"), ["two"])
        finally:
            equal(here.cli("stop").returncode, 0)


def test_program():
    """a session that is made for a job ends with it"""
    with elastic() as here:
        refused(here, 2, "--req-id and a program", "session", "create", "--hosts", "node2", "--req-id", "x", "--", "true")
        refused(here, 2, "unknown option '--wiat'", "session", "create", "--hosts", "node2", "--", "--wiat", "true")
        refused(here, 2, "a program is missing", "session", "create", "--hosts", "node2", "--", "true", ":")
        command = ("session", "create", "--hosts", "node2,n9", "--inheritance", "none", "--", "-n", "3", "-x", "SAY=hello", "sh", "-c")
        allocation, _, job = done(here, *command, "echo $SAY $DVM_NODE; sleep 600").split()
        equal(here.json("job", "show", job)["state"], "RUNNING")
        equal(here.json("session", "show", allocation)["nodes"], ["node2", "n9"])
        equal(sorted(set(here.json("job", "show", job)["nodes"])), ["n9", "node2"])
        done(here, "kill", job)
        wait_until(lambda: len(here.json("sessions")) == 1 and names(here) == ["node1", "node2"], "it has ended")
        told = json.loads(done(here, "session", "create", "--json", "--hosts", "node2", "--", "-n", "1", "true"))
        equal(here.cli("wait", told["nspace"]).returncode, 0)
        wait_until(lambda: len(here.json("sessions")) == 1, "it has ended")
        refused(here, 1, "no-such-program", "session", "create", "--hosts", "node2", "--", "-n", "1", "/no-such-program")
        wait_until(lambda: len(here.json("sessions")) == 1, "nothing is left")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
