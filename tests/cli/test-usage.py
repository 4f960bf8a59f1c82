#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Wrong usage and what needs no DVM."""

import json
import os
import subprocess
import sys

from dvmtest import CLI, LIMIT, check, contains, equal, functions, place, run_tests, verbs


def refuse(*args, mention):
    with place() as here:
        result = here.cli(*args)
    equal(result.returncode, 2, f"{args}: exit status, {result.stderr}")
    equal(result.stdout, "", f"{args}: output")
    check(result.stderr.startswith("dvm-cli: "), f"{args}: {result.stderr}")
    contains(result.stderr, mention, f"{args}")


def test_unknown_verbs():
    """unknown verbs are refused, with the nearest match"""
    refuse("sbumit", "x", mention="did you mean 'submit'?")
    refuse("rn", "x", mention="did you mean 'run'?")
    refuse("", mention="unknown verb ''")
    refuse(mention="a verb is missing")


def test_unknown_options():
    """unknown options are refused, with the nearest match, for every verb"""
    refuse("--jsn", mention="did you mean '--json'?")
    for verb in verbs():
        refuse(verb, "--verbsoe", mention="did you mean '--verbose'?")
        refuse(verb, "--no-such-option-at-all", mention="unknown option '--no-such-option-at-all'")
    refuse("start", "--copies", "2", mention="unknown option '--copies'")
    refuse("jobs", "-Z", mention="unknown option '-Z'")


def test_hints():
    """what other launchers call otherwise is answered with the name that it has here"""
    for given, here in (
        ("--prtemca", "needs a value: NAME VALUE"),
        ("--memory-alloc-kinds", "by mpi_memory_alloc_kinds"),
        ("--gpu-support", "the MPI of the program decides"),
        ("--pmix-prefix", "--app-pmix-prefix DIR is for one of the program"),
        ("--launch-agent", "launcher-prefix"),
        ("--debug-daemons", "'dvm-cli logs'"),
        ("--system-server", "'dvm-cli --bus system start'"),
        ("--use-hwthreads-as-cpus", "'--map-by :HWTCPUS'"),
        ("--mca", "needs a value: NAME VALUE"),
        ("--gpus=1", "--map-by device=gpu:NDEV=N"),
        ("--mem=1G", "'ulimit -v'"),
        ("--time=soon", "takes minutes"),
        ("--time=1:2:3:4", "takes minutes"),
        ("--time=1-24:61:1:1", "takes minutes"),
        ("--nodes=1-4", "is a whole number here"),
        ("--nodes=0", "is a whole number here"),
        ("--dependency=afterok", "such as afterok:3:4"),
        ("--input=file", "'< file'"),
        ("--wait=5", "takes one of 0"),
        ("--time=5 --timeout=60", "contradict each other"),
        ("--nodes=4 -n 5", "with 2 on each node are not on 4 nodes"),
        ("-t 5 -t 6", "say it once"),
        ("-n 4 -c 2", "the -c of srun is --cpus-per-task here"),
        ("--label -n 1", "'-n' is an option"),
        ("--debug", "--output-proctable"),
        ("--display=foo", "there are: map, map-devel, bindings, allocation, topo, cpus"),
        ("--display=map:foo", "there are: parseable, parsable, physical"),
    ):
        refuse("run", *given.split(), "x", mention=here)
    # Behind ':' are options of a program alone, and other verbs have none of srun.
    refuse("run", "x", ":", "-l", "x", mention="'--output tag'")
    refuse("jobs", "--cpu-bind=cores", mention="'--bind-to OBJECT'")
    refuse("start", "--prtemca", "nonsense", "1", mention="has no such parameter")
    refuse("start", "--set", "radix=4", "--mca", "routed_radix", "8", mention="contradict each other")
    refuse("start", "--rtos", "continuous", mention="that is for a job")
    refuse("jobs", "--daemonize", mention="'dvm-cli start'")
    refuse("map", "--topology", "pu:2", "--nodes", "100001", "x", mention="from 1 to 100000, not '100001'")
    for given, here in (("ps", "jobs"), ("prun", "run"), ("prte", "start"), ("pterm", "stop"), ("squeue", "jobs"), ("scancel", "kill")):
        refuse(given, "1", mention=f"did you mean '{here}'?")


def test_old_spellings():
    """spellings of other launchers that contradict each other, or what was typed beside them, are refused as they were typed"""
    for words, mention in (
        ("--bynode --byslot", "'--byslot' and '--bynode' contradict each other"),
        ("--map-by core -bynode", "'--map-by core' and '-bynode' contradict each other"),
        ("-N2 --npersocket=2", "'-N2' and '--npersocket=2' contradict each other"),
        ("--cpus-per-rank 2 --cpus-per-task 3", "'--cpus-per-rank 2' and '--cpus-per-task 3' contradict each other"),
        ("--rankfile rf --cpus-per-rank 2", "“pe” and “rankfile” contradict each other: the file says which cpus a process has"
                                            " (of '--rankfile rf --cpus-per-rank 2')"),
        ("--oversubscribe --when-full wait", "(of '--oversubscribe')"),
        ("--npernode 0", "not '0'"),
        ("--bynode=2", "takes no value"),
        ("--display map,topo=", "'topo='"),
    ):
        refuse("run", *words.split(), "x", mention=mention)
    for words in ("--stdin 5", "--output nix"):
        told = subprocess.run([CLI, "run", "--oversubscribe", *words.split(), "-n", "2", "x"], capture_output=True, text=True, timeout=LIMIT)
        check(told.returncode == 2 and "(of '" not in told.stderr, told.stderr)
    refuse("jobs", "--bynode", mention="unknown option '--bynode'")
    refuse("submit", "--display-map", "x", mention="job procs")
    refuse("submit", "--report-bindings", "x", mention="'dvm-cli job map JOB'")
    refuse("run", "a", ":", "--donotlaunch", "b", mention="behind ':' only options of a program")
    refuse("run", "a", ":", "--bynode", "--pernode", "b", mention="'--bynode' and '--pernode' contradict each other")


def test_numbers():
    """a number of processes that is none is refused with a sentence"""
    for value in ("0", "-1", "x", "1.5", "", "4294967297", "99999999999999999999"):
        refuse("run", "-n", value, "/bin/true", mention=f"not '{value}'")
        refuse("submit", f"--np={value}", "/bin/true", mention=f"not '{value}'")
    refuse("run", "-np", "0", "/bin/true", mention="option -np takes a whole number")
    for value in ("0", "65536"):
        for option in ("--nperproc", "--npernode", "--ntasks-per-node", "--npersocket", "--cpus-per-rank"):
            refuse("map", "--colocate", "7", option, value, "x", mention=f"option {option} takes a whole number from 1 to 65535, not '{value}'")
    refuse("run", "--timeout", "soon", "/bin/true", mention="--timeout")
    refuse("run", "-n", mention="needs a value")


def test_missing():
    """missing arguments are named"""
    refuse("run", mention="PROGRAM")
    refuse("submit", mention="a program is missing")
    refuse("wait", mention="JOB")
    refuse("attach", mention="JOB")
    refuse("kill", mention="a job is missing")
    refuse("job", mention="JOB")
    refuse("job", "show", mention="a job is missing")
    refuse("job", "shwo", "1", mention="did you mean 'show'?")
    refuse("run", "a", ":", mention="behind ':'")
    refuse("run", ":", "a", mention="before ':'")
    refuse("attach", "1", "2", mention="'2'")
    refuse("jobs", "1", mention="'1'")


def test_apps():
    """behind ':' only options of a program may stand"""
    refuse("run", "a", ":", "--timeout", "3", "b", mention="--timeout")
    refuse("run", "a", ":", "-n", "0", "b", mention="not '0'")
    refuse("run", "-x", "=3", "a", mention="'=3'")
    refuse("run", "--bind-to", "numa", "a", ":", "--map-by", "core", "b", mention="apps[1].bind-to: “numa” is above")
    refuse("run", "--map-by", ":OVERSUBSCRIBE", "a", ":", "--map-by", "slot:NOOVERSUBSCRIBE", "b",
           mention="apps[1].map-by: “nooversubscribe” contradicts “oversubscribe” of map-by")
    refuse("run", "a", ":", "--map-by", "rankfile:FILE=x", "b", mention="so that apps[0] cannot be placed by other words")


def test_values():
    """values that are none are refused"""
    refuse("--name", "3x", "jobs", mention="'3x'")
    refuse("--name", "a/b", "jobs", mention="'a/b'")
    refuse("--name", "a" * 65, "jobs", mention="at most 64 in all")
    refuse("jobs", "--bus", "sesion", mention="did you mean 'session'?")
    refuse("run", "--when-full", "wiat", "x", mention="did you mean 'wait'?")
    refuse("kill", "-s", "NOPE", "1", mention="'NOPE' is no signal")
    # -1 is a signal where an option may stand, and no value of one.
    refuse("kill", "-s", "-1", "1", mention="'-1' is no signal")
    refuse("session", "signal", "--all", "-s", "-1", mention="'-1' is no signal")
    refuse("session", "create", "--count", "-1", mention="not '-1'")
    refuse("session", "create", "--hosts", "n9", "--time", "-9", mention="not '-9'")
    refuse("kill", "--ranks", "1", "1", mention="needs a signal")
    refuse("node", "show", "n9", "--reason", "x", mention="--reason has no meaning for 'node show'")
    refuse("job", "trace", "1", "--ranks", "1", mention="--ranks has no meaning for 'job trace'")
    refuse("run", "--stdin", "everybody", "x", mention="everybody")


def test_help():
    """--help and --version work everywhere and go to standard output"""
    with place() as here:
        for args in [[]] + [[verb] for verb in verbs()]:
            for option in ("--help", "-h"):
                result = here.cli(*args, option)
                equal((result.returncode, result.stderr), (0, ""), f"{args}")
                contains(result.stdout, "Usage: dvm-cli")
            for option in ("--version", "-V"):
                result = here.cli(*args, option)
                equal((result.returncode, result.stderr), (0, ""), f"{args}")
                check(result.stdout.startswith("dvm-cli "), result.stdout)


def test_help_without_options():
    """a verb without options of its own has no heading for them"""
    with place() as here:
        check("\nOptions:\n" not in here.cli("plugins", "--help").stdout, "an empty heading")
        contains(here.cli("stop", "--help").stdout, "\nOptions:\n")


def test_no_dvm():
    """without a DVM a sentence says how to start one, and none is started"""
    with place() as here:
        for args in (["jobs"], ["nodes"], ["info"], ["stop"], ["status"], ["kill", "1"], ["submit", "true"], ["job", "show", "1"]):
            result = here.cli(*args)
            equal(result.returncode, 1, f"{args}")
            contains(result.stderr, "no DVM is running; 'dvm-cli start' starts one", f"{args}")
            equal(result.stdout, "")
        for args in (["wait", "1"], ["attach", "1"]):
            result = here.cli(*args)
            equal(result.returncode, 125, f"{args}")
            contains(result.stderr, "no DVM is running", f"{args}")
        result = here.cli("run", "--name", "absent", "true")
        equal(result.returncode, 125)
        contains(result.stderr, "no DVM named absent is running")
        result = here.cli("jobs", env={"DVM_SOCKET": here.path + "/none"})
        equal(result.returncode, 1)
        contains(result.stderr, here.path + "/none")
        equal(json.loads(here.cli("status", "--json").stdout), {"name": "default", "running": False, "ready": False, "others": ""})
        equal(os.listdir(here.path), [], "nothing is left behind")


def test_closed_output():
    """a reader that goes is no error; a full disk is"""
    with place() as here:
        result = subprocess.run(
            ["bash", "-c", 'set -o pipefail; "$0" kill -l | head -1', CLI], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        equal((result.returncode, result.stderr, result.stdout), (0, "", " 1 SIGHUP\n"))
        with open("/dev/full", "w") as full:
            result = here.cli("kill", "-l", stdout=full)
        equal(result.returncode, 1)
        contains(result.stderr, "standard output")
        result = subprocess.run(["bash", "-c", '"$0" kill -l >&- 2>&- <&-', CLI])
        equal(result.returncode, 1, "closed descriptors")
        result = subprocess.run(["bash", "-c", '"$0" kill -l >&-', CLI], stderr=subprocess.PIPE, text=True)
        equal((result.returncode, result.stderr), (1, "dvm-cli: cannot write to standard output: No space left on device\n"))


def test_closed_output_of_jobs():
    """what a job writes where nothing is open is lost, and so is what --display shows; what it does not write is not"""
    with place() as here:
        for words, redirection, status in (
            ("echo x", ">&-", 125), ("echo x", ">&- <&-", 125), ("sh -c 'echo x >&2'", "2>&-", 125), ("--display map,bindings true", ">&-", 125),
            ("true", ">&- 2>&- <&-", 0), ("cat", "<&-", 0), ("--display map,bindings true", ">/dev/full", 125),
        ):
            result = subprocess.run(["bash", "-c", f'"$0" run -n 1 {words} {redirection}', CLI], env=here.env, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, timeout=LIMIT)
            equal(result.returncode, status, f"{words} {redirection}: {result.stderr}")
            lines = [line for line in result.stderr.split("\n") if line.startswith("dvm-cli: ")]
            equal(len(lines), 0 if status == 0 or "2>&-" in redirection else 1, f"{words} {redirection}: {result.stderr}")


def test_closed_output_of_start():
    """a start that cannot say that the DVM is ready says so at once, and leaves it as it is"""
    with place() as here:
        for redirection in (">/dev/full", ">&-"):
            result = subprocess.run(["bash", "-c", f'"$0" start --bus none --nodes 1 {redirection}', CLI], env=here.env, stderr=subprocess.PIPE, text=True,
                                    timeout=LIMIT)
            equal((result.returncode, result.stderr),
                  (1, "dvm-cli: the DVM is ready, which could not be told: cannot write to standard output: No space left on device\n"))
            equal(here.cli("stop").returncode, 0, redirection)


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
