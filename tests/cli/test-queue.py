#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that wait, on the command line."""

import sys

from dvmtest import check, contains, dvm, equal, functions, place, run_tests, wait_until


def submit(here, *words):
    result = here.cli("submit", *([] if "-n" in words else ["-n", "1"]), *words)
    equal((result.returncode, result.stderr), (0, ""), words)
    return result.stdout.strip()


def state(here, job):
    lines = here.cli("job", "show", job).stdout.split("\n")
    return next(line.split(None, 1)[1].strip() for line in lines if line.split(None, 1)[:1] == ["State:"])


def refused(here, status, part, *words):
    result = here.cli(*words)
    equal(result.returncode, status, f"{words}: {result.stderr}")
    contains(result.stderr, part, words)


def test_hold():
    """a job waits for its release; one that has its nodes is not held"""
    with dvm("--slots=2") as here:
        job = submit(here, "--hold", "--priority", "-5", "true")
        wait_until(lambda: state(here, job) == "waiting for its release", "it is held")
        contains(here.cli("jobs").stdout, "waiting for its release")
        shown = here.json("job", "show", job)
        equal((shown["held-at"], shown["priority"]), ("hold", -5))
        equal(here.cli("job", "release", job).returncode, 0)
        equal(here.cli("wait", job).returncode, 0)
        refused(here, 1, "has ended", "job", "hold", job)
        running = submit(here, "sleep", "1000")
        wait_until(lambda: state(here, running) == "running", "it runs")
        refused(here, 1, "has its nodes already", "job", "hold", running)
        waiting = submit(here, "-n", "2", "true")
        equal(here.cli("job", "hold", waiting).returncode, 0)
        equal(here.cli("kill", waiting, running).returncode, 0)
        equal(here.cli("wait", waiting).returncode, 125)


def test_priority():
    """the priority of jobs that wait is changed, of several and of arrays, below 0 too"""
    with dvm("--slots=2") as here:
        running = submit(here, "sleep", "1000")
        jobs = [submit(here, "-n", "2", "true") for _ in range(3)]
        array = submit(here, "--array", "0-1", "-n", "2", "true")
        equal(here.cli("job", "priority", jobs[0], jobs[2], "-5").returncode, 0)
        equal(here.cli("job", "--quiet", "priority", array, "7").returncode, 0)
        equal(here.cli("job", "priority", f"{array[6:]}[1]", "-1000", "--quiet").returncode, 0)
        equal(here.cli("job", "priority", jobs[1], "--", "-3").returncode, 0)
        shown = here.json("jobs")
        equal([job["priority"] for job in shown], [0, -5, -3, -5, 7, -1000])
        refused(here, 1, "has its nodes already", "job", "priority", running, "1")
        for value in ("1001", "-1001", "x", "1.5", "-x"):
            refused(here, 2, "-1000 to 1000" if value != "-x" else "unknown option", "job", "priority", jobs[0], value)
        refused(here, 2, "number is missing", "job", "priority", "3")
        refused(here, 1, "99", "job", "priority", "99", "3")
        equal(here.cli("kill", running).returncode, 0)
        equal(here.cli("wait", *jobs, array).returncode, 0)


def test_after():
    """a job waits for others, and says so; what cannot come any more ends it with a sentence"""
    with dvm("--slots=4") as here:
        first = submit(here, "--job-name", "one", "sleep", "1000")
        second = submit(here, "--after-any", first, "true")
        third = submit(here, "--after-ok", f"{first},{second}", "true")
        fourth = submit(here, "--singleton", "--job-name", "one", "true")
        equal(state(here, second), f"waiting for job {first.split('@')[1]}")
        equal(state(here, third), f"waiting for jobs {first.split('@')[1]}, {second.split('@')[1]}".replace(", ", ","))
        equal(state(here, fourth), "waiting for jobs of its name")
        equal(here.cli("run", "-n", "1", "--after", first, "true").returncode, 0)
        equal(here.cli("kill", first).returncode, 0)
        equal(here.cli("wait", second, fourth).returncode, 0)
        result = here.cli("wait", third)
        equal(result.returncode, 125)
        contains(result.stderr, f"it was to run after {first} had ended well")


def test_stop():
    """a run that waits says for what; a DVM that ends tells it why"""
    with dvm("--slots=2") as here:
        run = here.popen("run", "-n", "1", "--hold", "true", text=True)
        line = run.stderr.readline()
        contains(line, "waits until 'dvm-cli job release")
        equal(here.cli("stop").returncode, 0)
        _, rest = run.communicate(timeout=60)
        equal(run.returncode, 125, rest)
        check(rest.strip() != "", "it says why")


def test_usage():
    """wrong values are named, before anything is sent; a private DVM has nobody who releases"""
    with place() as here:
        for value in ("1001", "-1001", "x", "1.5"):
            refused(here, 2, "-1000 to 1000", "submit", "--priority", value, "true")
        refused(here, 2, "no job", "submit", "--after", "3,,4", "true")
        refused(here, 2, "named twice", "submit", "--after-ok", "3,3", "true")
        refused(here, 2, "wait-for-slots", "submit", "--wait-for-slots", "--when-full", "refuse", "true")
        refused(here, 125, "nobody could release it", "run", "--hold", "-n", "1", "true")
        refused(here, 2, "did you mean 'hold'", "job", "hodl", "1")
    with dvm("--slots=2") as here:
        refused(here, 1, "there is no job", "submit", "--after", "1", "true")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
