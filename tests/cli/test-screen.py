#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Terminals of all kinds: width, colours, pagers; locales and texts that no terminal likes."""

import os
import re
import subprocess
import sys
import unicodedata

from dvmtest import CLI, Terminal, check, contains, dvm, equal, functions, run_tests

ESCAPE = b"\033["


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in line)


def terminal(here, *args, rows=24, columns=80, env=None):
    """The output of dvm-cli on a terminal of that size."""
    script = 'stty rows "$1" cols "$2" -onlcr; shift 2; exec "$@"'
    it = Terminal(here, "-c", script, "sh", str(rows), str(columns), CLI, *args,
                  env={"TERM": "xterm", "PAGER": "cat", **(env or {})}, program="/bin/sh")
    status = it.wait()
    return status, it.output


def submit(here, *args):
    result = here.cli("submit", "--personality", "plain", *args)
    equal(result.returncode, 0, result.stderr)
    return result.stdout.strip()


def test_widths():
    """tables fit on terminals of every width, and nothing crashes on a terminal of one column"""
    with dvm("--slots=4") as here:
        job = submit(here, "-n", "1", "sh", "-c", "true # 日本語 ä̈ a long line of words that goes on and on and on")
        here.cli("wait", job)
        for columns in (1, 2, 10, 20, 30, 40, 50, 60, 70, 80, 100, 200):
            for verb in (["jobs", "--all"], ["nodes"], ["plugins"], ["job", "procs", job], ["job", "trace", job], ["job", "show", job], ["--help"], ["run", "--help"]):
                status, output = terminal(here, *verb, "--no-pager", "--color=never", columns=columns)
                equal(status, 0, f"{verb} at {columns}")
                check(output, f"{verb} at {columns}")
                if columns >= 24 and verb[0] in ("jobs", "nodes", "plugins", "job") and "show" not in verb:
                    widest = max(output.decode().replace("\r", "").split("\n"), key=width)
                    check(width(widest) <= columns, f"{verb} at {columns}: {widest!r}")
        _, output = terminal(here, "jobs", "--all", env={"COLUMNS": "20"})
        contains(output, b"NAMESPACE: ", "a list of values")
        _, output = terminal(here, "jobs", "--all", columns=66)
        first = output.decode().split("\n")[0].split()
        check("CREATED" not in first and "STATE" in first and first[-1] == "COMMAND", f"{first}")
        equal(terminal(here, "jobs", env={"COLUMNS": "nonsense"})[0], 0)


def test_colour():
    """colour is for terminals, and NO_COLOR, CLICOLOR and --color are followed"""
    with dvm("--slots=1") as here:
        def has_colour(*args, env=None, tty=True):
            if tty:
                return ESCAPE in terminal(here, "nodes", *args, env=env)[1]
            return ESCAPE in here.cli("nodes", *args, env=env, text=False).stdout

        equal(has_colour(), True)
        equal(has_colour(tty=False), False)
        equal(has_colour("--color=always", tty=False), True)
        equal(has_colour("--colour", "never"), False)
        equal(has_colour(env={"NO_COLOR": "1"}), False)
        equal(has_colour(env={"NO_COLOR": ""}), True)
        equal(has_colour("--color=always", env={"NO_COLOR": "1"}), True)
        equal(has_colour(env={"CLICOLOR": "0"}), False)
        equal(has_colour(env={"CLICOLOR_FORCE": "1"}, tty=False), True)
        equal(has_colour(env={"CLICOLOR_FORCE": "0"}, tty=True), False)
        for name in ("dumb", "vt100", "no-such-terminal", ""):
            equal(has_colour(env={"TERM": name}), False, name)
        equal(has_colour(env={"TERM": "linux"}), True)
        equal(has_colour("--color=always", env={"TERM": "no-such-terminal"}), True)
        equal(has_colour("--json", "--color=always", tty=False), False)


def test_pager():
    """what does not fit goes through the pager; what fits, pipes and JSON do not"""
    with dvm("--slots=1") as here:
        mark = {"DVM_PAGER": "sed s/^/PAGED:/"}

        def is_paged(*args, rows=5, env=None):
            status, output = terminal(here, *args, rows=rows, env={**mark, **(env or {})})
            equal(status, 0, f"{args}")
            return b"PAGED:" in output

        equal(is_paged("run", "--help"), True)
        equal(is_paged("run", "--help", rows=1000), False)
        equal(is_paged("run", "--help", "--no-pager"), False)
        equal(is_paged("--no-pager", "--help"), False)
        equal(is_paged("--help"), True)
        equal(is_paged("nodes"), False, "it fits")
        equal(is_paged("nodes", rows=2), True)
        equal(is_paged("nodes", "--json", rows=2), False)
        equal(is_paged("run", "--help", env={"TERM": "dumb"}), False)
        equal(is_paged("run", "--help", env={"TERM": "no-such-terminal"}), False)
        equal(is_paged("run", "--help", env={"DVM_PAGER": "", "PAGER": "sed s/^/PAGED:/"}), False)
        status, output = terminal(here, "run", "--help", rows=5, env={"DVM_PAGER": "no-such-pager"})
        equal(status, 0)
        contains(output, b"--when-full", "without a pager the text comes all the same")
        equal(terminal(here, "run", "--help", rows=5, env={"DVM_PAGER": "head -1"})[0], 0, "a pager that leaves")
        _, output = terminal(here, "run", "--help", rows=5, env={"DVM_PAGER": 'echo "LESS=$LESS"'})
        contains(output, b"LESS=FRSX")
        _, output = terminal(here, "nodes", rows=2, env={"DVM_PAGER": "cat -v"})
        contains(output, b"^[[32m", "colours go through the pager")


def test_pipes():
    """a reader that leaves early is no failure, of whatever verb"""
    with dvm("--slots=4") as here:
        jobs = [submit(here, "-n", "1", "true") for _ in range(3)]
        here.cli("wait", *jobs)
        for verb in ("jobs --all", "jobs --all --json", "nodes", "nodes --json", "plugins", "info", "status", f"job show {jobs[0]}",
                     f"job trace {jobs[0]}", "--help", "run --help", "kill -l"):
            result = subprocess.run(["bash", "-c", f'set -o pipefail; "$0" {verb} | true', CLI], env=here.env,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            equal((result.returncode, result.stderr), (0, ""), verb)


def test_hostile_texts():
    """locales and texts that are wrong in every way are shown escaped, and nothing crashes"""
    with dvm("--slots=4") as here:
        # Not UTF-8, control characters, right-to-left overrides: as arguments and in the environment.
        job = os.fsdecode(here.cli("submit", "--personality", "plain", "-n", "1", b"--job-name", "a\033[2J\nb", "sh", "-c", "true",
                                   b"\xff\xfe\033]0;x\007", "‮abc", "\u009b2J", env={"HOSTILE": "\udcff"}).stdout.strip())
        check(job, "the job was taken")
        here.cli("wait", job)
        for locale in ("nonsense", "C", "POSIX", "de_DE.ISO-8859-1", "de_DE.UTF-8", "C.UTF-8", "zh_CN.GB18030", "\udcff", "a" * 5000):
            for args in (["jobs", "--all"], ["job", "show", job], ["job", "procs", job], ["--help"], ["jobs", "--all", "--json"]):
                result = here.cli(*args, env={"LC_ALL": locale, "LANGUAGE": "de"}, text=False)
                equal(result.returncode, 0, f"{args} {locale!r}: {result.stderr}")
                bad = re.findall(rb"[\x00-\x09\x0b-\x1f\x7f]", result.stdout)
                equal(bad, [], f"{args} {locale!r}")
                result.stdout.decode()
        for args in (["jobs", "--all", "--json"], ["job", "show", job, "--json"]):
            result = here.cli(*args, text=False)
            check(b"\\u009b2J" in result.stdout, f"{args}: {result.stdout}")
            equal(re.findall(rb"\xc2[\x80-\x9f]", result.stdout), [], f"controls of C1 in {args}")
        result = here.cli(b"job", b"show", b"\xff\033[2J", text=False)
        equal(result.returncode, 1)
        check(b"\033" not in result.stderr, f"{result.stderr}")
        for args in ([b"\xff\xfe"], [b"--\xff"], [b"run", b"-\xff", b"x"], [b"jobs", b"--name", b"\xff"]):
            result = here.cli(*args, text=False)
            equal(result.returncode, 2, f"{args}")
            contains(result.stderr, b"\\xff")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
