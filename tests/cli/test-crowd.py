#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every view of a DVM with 4,096 nodes and thousands of jobs is whole, and holds its memory."""

import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

from dvmtest import CLI, LIMIT, check, crowd, equal, functions, run_tests

LONG = os.environ.get("DVM_TEST_SOAK") == "1"
N_JOBS = 10000 if LONG else 1000
MIB = 1 << 20


def run(here, *args):
    """(what a verb prints, the memory that it had at most)"""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([CLI, "--socket", here.socket, *args], stdin=subprocess.DEVNULL, stdout=out, env=here.env)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        equal(child.returncode, 0, f"{args}")
        out.seek(0)
        return out.read().decode(), usage.ru_maxrss << 10


def test_views():
    """jobs, nodes, status, sessions, campaigns and top --batch have all that there is, as tables and as JSON, within bounds"""
    with crowd(N_JOBS) as here:
        jobs = set(range(1, N_JOBS + 1))
        nodes = set(range(1, here.N_NODES + 1))
        peaks = {}

        def view(*args):
            text, peaks[" ".join(args)] = run(here, *args)
            return text

        equal({row["id"] for row in json.loads(view("jobs", "--json"))}, jobs)
        equal({int(line.split()[0]) for line in view("jobs").splitlines()[1:] if line.split()[0].isdigit()}, jobs)
        equal({row["rank"] for row in json.loads(view("nodes", "--json"))} - {0}, nodes)
        equal({int(line.split()[0]) for line in view("nodes").splitlines()[1:] if line.split()[0].isdigit()} - {0}, nodes)
        status = json.loads(view("status", "--json"))
        equal((status["jobs-running"], status["node-count"]), (N_JOBS, here.N_NODES))
        check(re.search(rf"\b{N_JOBS}\b", view("status")), "status")
        sessions = json.loads(view("sessions", "--json"))
        equal([(row["id"], len(row["jobs"])) for row in sessions], [(0, N_JOBS)])
        equal(json.loads(view("campaigns", "--json")), [])
        picture = json.loads(view("top", "--json"))
        equal(({row["id"] for row in picture["jobs"]}, {row["rank"] for row in picture["nodes"]}), (jobs, nodes))
        equal([(row["load"], row["memory-total"]) for row in picture["nodes"]], [(row["rank"] / 4, 1 << 34) for row in picture["nodes"]])
        text = view("top", "--batch")
        for title, n in (("ID", N_JOBS), ("RANK", here.N_NODES)):
            rows = re.search(rf"^ *{title} .*\n((?: *\d+ .*\n)+)", text, re.M)[1].splitlines()
            equal(len({row.split()[0] for row in rows}), n, title)
        print("# MiB: " + ", ".join(f"{name} {size / MIB:.0f}" for name, size in peaks.items()))
        for name, size in peaks.items():
            check(size < (96 if LONG else 48) * MIB, f"{name} took {size >> 20} MiB")
        if LONG:
            text, peak = run(here, "top", "--json", "-n", "10", "-d", "1")
            equal([len(json.loads(line)["jobs"]) for line in text.splitlines()], [N_JOBS] * 10)
            check(peak < peaks["top --json"] + 8 * MIB, f"ten pictures took {peak >> 20} MiB")


def test_events():
    """events begins with all that there is, each once, within bounds; who begins while thousands of jobs end misses the end of none"""
    n_jobs = 5000  # several pages
    with crowd(n_jobs) as here:
        n_lines = 2 + n_jobs + here.N_NODES + 1
        text, peak = run(here, "events", "--json", "--current", "--count", str(n_lines))
        rows = [json.loads(line) for line in text.splitlines()]
        equal([row["kind"] for row in rows], ["dvm", "session", *["job"] * n_jobs, *["node"] * (here.N_NODES + 1)])
        equal([row["id"] for row in rows if row["kind"] == "job"], list(range(1, n_jobs + 1)))
        equal({(row["old"], row["new"], row["current"]) for row in rows if row["kind"] == "job"}, {("", "RUNNING", True)})
        check(peak < 48 * MIB, f"it took {peak >> 20} MiB")
        with contextlib.ExitStack() as stack:
            outputs = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(8)]
            watchers = [here.popen("--socket", here.socket, "events", "--json", "--current", "--until-idle", "--kind", "job", stdout=output) for output in outputs]
            equal(here.cli("--socket", here.socket, "kill", "array:1").returncode, 0)
            for watcher, output in zip(watchers, outputs):
                equal((watcher.communicate(timeout=LIMIT)[1], watcher.returncode), (b"", 0))
                output.seek(0)
                rows = [json.loads(line) for line in output]
                last = {row["id"]: row["new"] for row in rows}
                equal(collections.Counter(last.values()), {"KILLED_BY_CMD": len(last)}, "the last states that were told")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
