#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""DVMs that grow and shrink, real agents: what the verbs and options say and do."""

import sys

from dvmtest import check, contains, dvm, equal, functions, place, run_tests


def names(here):
    return [node["name"] for node in here.json("nodes") if node["rank"] > 0]


def refused(here, status, mention, *args):
    result = here.cli(*args)
    equal((result.returncode, result.stdout), (status, ""), f"{args}: {result.stderr}")
    contains(result.stderr, mention, f"{args}")


def test_add_host_usage():
    """--add-host and --add-hostfile are checked before anything is asked of a DVM"""
    with place() as here:
        for verb in ("run", "submit"):
            for words, mention in (
                (["--add-host", "n9:x"], "n9:x"),
                (["--add-host", "+n1"], "relative"),
                (["--add-host", "n9,,n10"], "a name is missing"),
                (["--add-host", "^n9"], "no host"),
                (["--add-hostfile", "a", "--add-hostfile", "b"], "once"),
            ):
                result = here.cli(verb, *words, "true")
                equal((result.returncode, result.stdout), (2, ""), result.stderr)
                contains(result.stderr, mention)
        result = here.cli("map", "--add-host", "n9", "true")
        equal(result.returncode, 2, "a map adds no nodes")


def test_usage():
    """which nodes are meant must be said, and in one way"""
    with place() as here:
        for args, mention in (
            (["grow"], "which nodes are to come"),
            (["grow", "--wait", "--req-id", "r"], "which nodes are to come"),
            (["grow", "--hosts", "n9", "--count", "2"], "--count and --hosts"),
            (["grow", "--hostfile", "f", "--count", "2"], "--count and --hostfile"),
            (["grow", "--hostfile", "f", "--hostfile", "g"], "once"),
            (["grow", "--count", "0"], "--count"),
            (["grow", "--hosts", ""], "--hosts"),
            (["grow", "n9"], "n9"),
            (["shrink"], "which nodes are to go"),
            (["shrink", "--req-id", "r", "--drain-timeout", "3"], "which nodes are to go"),
            (["shrink", "--hosts", "n9", "--drain-timeout", "soon"], "--drain-timeout"),
            (["campaign"], "missing"),
            (["campaign", "show"], "campaign is missing"),
            (["campaign", "cancle", "1"], "did you mean 'cancel'?"),
            (["campaign", "explode", "1"], "show and cancel"),
            (["session", "show"], "session is missing"),
            (["session", "shwo", "0"], "did you mean 'show'?"),
            (["session", "list", "0"], "too much"),
        ):
            refused(here, 2, mention, *args)
        refused(here, 2, "UTF-8", "grow", "--hosts", b"n\xff")
        for args in (["grow", "--hosts", "n9"], ["shrink", "--hosts", "n9"], ["campaigns"], ["campaign", "1"], ["sessions"]):
            refused(here, 1, "no DVM is running", *args)


def test_not_elastic():
    """a DVM that is not elastic refuses a job that would add nodes, and says so"""
    with dvm("--nodes=1", "--slots=1") as here:
        result = here.cli("run", "--personality", "plain", "--add-host", "n9", "true")
        equal((result.returncode, result.stdout), (125, ""), result.stderr)
        check(result.stderr != "", "a sentence")
        hostfile = here.path + "/more"
        with open(hostfile, "w") as file:
            file.write("n9 slots=2\nn10 slots=no\n")
        result = here.cli("run", "--personality", "plain", "--add-hostfile", "more", "true", cwd=here.path)
        equal(result.returncode, 125)
        contains(result.stderr, hostfile + ":2: ")
        equal(here.json("status")["elastic-mode"], False)
        for args in (["grow", "--hosts", "n9"], ["shrink", "--hosts", "node1"]):
            refused(here, 1, "elastic", *args)
        equal(names(here), ["node1"])


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
