#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sessions by the command line, real agents: nodes taken aside, looked at, extended, handed on, given back."""

import os
import signal
import sys

from dvmtest import alive, check, contains, dvm, equal, functions, place, run_tests, wait_until


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
            (["create", "n9"], "too much"),
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
            (["pause", "--all", "--job", "1"], "--all and --job"),
            (["pause", "1", "--wait"], "no meaning"),
            (["signal", "1"], "signal is missing"),
            (["signal", "-s", "NOPE", "1"], "'NOPE' is no signal"),
            (["separate", "1", "--signal", "INT"], "no meaning"),
            (["show", "1", "2"], "argument"),
            (["paues", "1"], "did you mean 'pause'?"),
            (["explode", "1"], "terminate, separate"),
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


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
