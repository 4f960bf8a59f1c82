#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays of jobs on the command line."""

import json
import os
import sys

from dvmtest import check, contains, dvm, equal, functions, place, run_tests, wait_until


def submit(here, *words):
    result = here.cli("submit", "-n", "1", *words)
    equal((result.returncode, result.stderr), (0, ""), words)
    return result.stdout.strip()


def refused(here, status, part, *words):
    result = here.cli(*words)
    equal(result.returncode, status, f"{words}: {result.stderr}")
    contains(result.stderr, part, words)


def lines(here):
    return here.cli("jobs").stdout.rstrip("\n").split("\n")[1:]


def test_whole():
    """one line submits many jobs, another waits for them all and ends as the first that failed"""
    with dvm("--slots=4") as here:
        out = os.path.join(here.path, "out")
        array = submit(here, "--array", "1-9:2%2", "--stdout-path", f"{out}-%a", "sh", "-c", "echo $DVM_ARRAY_INDEX; exit $((DVM_ARRAY_INDEX / 5))")
        equal(array, "array:1")
        after = submit(here, "--after-any", array, "true")
        equal(here.cli("wait", after).returncode, 0)
        equal(here.cli("wait", array).returncode, 1)
        equal(here.cli("wait", "1[1-3]").returncode, 0)
        equal(here.cli("wait", "1[3,7]", "1[1]").returncode, 1)
        for index in (1, 3, 5, 7, 9):
            with open(f"{out}-{index}", encoding="utf-8") as file:
                equal(file.read(), f"{index}\n")
        shown = here.cli("job", "show", "2").stdout
        contains(shown, "1[3], one of 5 jobs")
        contains(shown, "sh[3]")
        result = here.cli("wait", array, "--json")
        equal(result.returncode, 1)
        jobs = json.loads(result.stdout)
        equal([job["array-index"] for job in jobs], [1, 3, 5, 7, 9])
        equal(here.cli("wait", submit(here, "--after-ok", array, "true")).returncode, 125)


def test_parts():
    """jobs that wait are one line; parts of an array are held, released and cancelled"""
    with dvm("--slots=4") as here:
        array = submit(here, "--hold", "--array", "0-9", "sleep", "1000")
        wait_until(lambda: len(lines(here)) == 1, "they are one line")
        contains(lines(here)[0], "1[0-9]")
        equal(here.cli("job", "release", "1[0-1,5]").returncode, 0)
        wait_until(lambda: sum("running" in line for line in lines(here)) == 3, "three run")
        check(any("1[2-4]" in line for line in lines(here)), "the others stay in lines")
        equal(here.cli("kill", "1[0,9]").returncode, 0)
        equal(here.cli("wait", "1[0,9]").returncode, 125)
        equal(here.cli("kill", "-s", "KILL", "1[1]").returncode, 0)
        equal(here.cli("wait", "1[1]").returncode, 137)
        # Those that run or have ended are not what is meant.
        equal(here.cli("job", "release", array).returncode, 0)
        wait_until(lambda: sum("running" in line for line in lines(here)) == 4, "as many run as fit")
        equal(here.cli("job", "hold", array).returncode, 0)
        wait_until(lambda: any("1[6-8]" in line and "its release" in line for line in lines(here)), "the others are held")
        killed = here.json("kill", array)
        equal(len(killed), 7)
        wait_until(lambda: lines(here) == [], "none is left")
        refused(here, 1, "waits for its nodes", "job", "hold", array)


def test_signal():
    """a signal to an array is for the jobs that run, also for those behind one that waits; where all wait it is refused"""
    with dvm("--slots=4") as here:
        array = submit(here, "--hold", "--array", "0-2", "sleep", "1000")
        refused(here, 1, "has no processes yet", "kill", "-s", "KILL", array)
        equal(here.cli("job", "release", "1[0,2]").returncode, 0)
        wait_until(lambda: sum("running" in line for line in lines(here)) == 2, "two run")
        killed = here.cli("kill", "-s", "KILL", array)
        equal((killed.returncode, killed.stderr), (0, ""))
        equal([here.cli("wait", job).returncode for job in ("1", "3")], [137, 137])
        wait_until(lambda: len(lines(here)) == 1, "the other one waits")


def test_json():
    """an array is told as an array of jobs, and a file may describe one"""
    with dvm("--slots=4") as here:
        jobs = json.loads(submit(here, "--json", "--hold", "--array", "3,1", "true"))
        equal([(job["array-id"], job["array-index"], job["array-count"]) for job in jobs], [(1, 1, 2), (1, 3, 2)])
        path = os.path.join(here.path, "job.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"apps": [{"argv": ["true"], "np": 1}], "array": "0-2%1"}')
        equal(here.cli("submit", "--file", path).stdout, "array:3\n")
        equal(here.cli("wait", "array:3").returncode, 0)
        refused(here, 125, "SubmitMany", "run", "--file", path)


def test_forgotten():
    """of jobs that the history has lost nobody says how they ended"""
    with dvm("--slots=4", "--set", "history-limit=3") as here:
        array = submit(here, "--array", "0-9", "true")
        equal(here.cli("wait", submit(here, "--after-any", array, "true")).returncode, 0)
        refused(here, 125, "have ended and been forgotten", "wait", array)
        refused(here, 1, "there is no array 7", "kill", "array:7")


def test_usage():
    """what is no array is named, before anything is sent"""
    with place() as here:
        for text in ("", "x", "1-", "3-1", "0-9%0", "0-9:0", "4,4", "0-50000"):
            refused(here, 2, "array", "submit", "--array", text, "true")
        refused(here, 2, "can be given once", "submit", "--array", "0-1", "--array", "5", "true")
        refused(here, 2, "one application", "submit", "--array", "0-1", "-n", "1", "true", ":", "-n", "1", "true")
        refused(here, 2, "for the jobs of an array", "submit", "--output", "file=/tmp/x%a:pattern", "true")
        refused(here, 2, "unknown option '--array'", "run", "--array", "0-1", "true")
    with dvm("--slots=2") as here:
        for word in ("array:", "array:x", "[3]", "x[3]", "1[0", "12[3-4"):
            refused(here, 1, "names no jobs of an array", "kill", word)
        submit(here, "--hold", "--array", "0-1", "true")
        for word in ("1[]", "1[x]", "1[1-0]", "1[0,]"):
            refused(here, 1, "no list of indexes", "kill", word)
        refused(here, 1, "there is no job 1[7]", "kill", "1[0,7]")
        ended = submit(here, "--array", "0-1", "true")
        equal(here.cli("wait", ended).returncode, 0)
        refused(here, 1, "ended", "kill", "-s", "TERM", ended)
        refused(here, 1, "there is no job", "submit", "--after", "array:2", "true")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
