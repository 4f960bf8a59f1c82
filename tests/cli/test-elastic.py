#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""DVMs that grow and shrink, real agents: what the verbs and options say and do."""

import sys

from dvmtest import check, contains, dvm, equal, functions, place, run_tests


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
        equal([node["name"] for node in here.json("nodes")[1:]], ["node1"])


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
