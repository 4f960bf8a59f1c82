#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli called by the names of other launchers, and what users of theirs expect of the options that are about the DVM."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from dvmtest import CLI, LIMIT, Terminal, check, contains, dvm, equal, functions, place, run_tests, wait_until

NAMES = ("dvm-mpirun", "mpirun", "mpiexec", "prterun", "prun", "pterm", "prte", "dvm-srun", "srun")
SOURCE = os.environ["DVM_SOURCE_DIR"]
# More than what is under way to one process
NUMBERS = "".join(f"{i}\n" for i in range(100000))
# An xterm by script: it tells how it was called, and runs the program.
XTERM = '#!/bin/sh\necho "xterm $*" >> "$XTERM_LOG"\nwhile [ "$1" != -e ]; do shift; done\nshift\nexec "$@"\n'


def link(here, name):
    path = os.path.join(here.path, name)
    if not os.path.islink(path):
        os.symlink(CLI, path)
    return path


def call(here, name, *words, stdin=subprocess.DEVNULL, env=None, **options):
    if isinstance(stdin, str):
        options["input"] = stdin
    else:
        options["stdin"] = stdin
    return subprocess.run([link(here, name), *words], env={**here.env, **(env or {})}, capture_output=True, text=True,
                          timeout=LIMIT, **options)


def plain(here, name, *words, **options):
    return call(here, name, "--personality", "plain", *words, **options)


def expect(result, status, output, mention=""):
    equal((result.returncode, result.stdout), (status, output), f"{result.args}: {result.stderr}")
    contains(result.stderr, mention, f"{result.args}")


def test_names():
    """messages, help and version speak of the name that was called, whatever stands behind its dot"""
    with place() as here:
        for name in NAMES:
            expect(call(here, name, "--version"), 0, f"{name} (dvm) {call(here, 'cli', '--version').stdout.split()[1]}\n")
            equal(call(here, name, "-V").returncode, 0)
            check(call(here, name, "--help").stdout.startswith(f"Usage: {name} [OPTION...]"), name)
            wrong = call(here, name, "--no-such-option")
            expect(wrong, 2, "", f"{name}: '{name} --help' shows how it is used")
            check("dvm-cli" not in wrong.stderr, wrong.stderr)
        for name in [name for name in NAMES if name not in ("pterm", "prte")]:
            expect(call(here, name), 2, "", f"{name}: a program is missing: {name} [OPTION...] PROGRAM")
        expect(call(here, "mpirun.dvm", "--no"), 2, "", "'mpirun --help'")
        expect(call(here, "pterm", "word"), 2, "", "the argument 'word' is too much: pterm [OPTION...]")
        # A name that is none of these is dvm-cli.
        expect(call(here, "mpirunner", "run"), 2, "", "dvm-cli: a program is missing: dvm-cli run")


def test_manual():
    """the page of dvm-mpirun has each of the names"""
    with open(os.path.join(SOURCE, "cli", "man", "dvm-mpirun.1")) as page:
        text = page.read().replace("\\-", "-").partition(".SH NAMES")[2].partition(".SH")[0]
    heads = " ".join(re.findall(r"^\.TP\n(.*)$", text, re.MULTILINE))
    equal(set(re.findall(r"\\fB(.*?)\\fR", heads)), set(NAMES))


def test_completion():
    """a name has the words of its verb, and no verbs"""
    with place() as here:
        expect(call(here, "mpirun", "__complete", "--when-full", "w"), 0, "words\nwait\t\n")
        contains(call(here, "pterm", "__complete", "--for").stdout, "--force")
        equal(call(here, "mpirun", "__complete", "-n", "2", "ls", "").stdout, "program 3\n")


def test_foreign():
    """dvm-srun has the options of srun first, in its page, help and completion, and starts one process; dvm-cli run has none of them there"""
    with place() as here:
        rows = call(here, "dvm-srun", "--help").stdout.partition("Options of srun")[2].partition("\n\n")[0].splitlines()[1:]
        spelled = " ".join(re.split("   *", row.strip())[0] for row in rows if not row.startswith(" " * 20))
        options = set(re.findall(r"(?<![\w-])--?[A-Za-z][a-z_-]*", spelled))
        with open(os.path.join(SOURCE, "cli", "man", "dvm-srun.1")) as page:
            text = page.read().replace("\\-", "-").partition(".SH OPTIONS")[2].partition(".SH")[0]
        heads = " ".join(re.findall(r"^\.TP\n(.*)$", text, re.MULTILINE))
        equal(set(re.findall(r"\\fB(.*?)\\fR", heads)), options)
        check({"-N", "--nodes", "--mem"} <= options, options)
        contains(call(here, "dvm-srun", "__complete", "--nod").stdout, "--nodelist")
        check("--nodelist" not in here.cli("__complete", "run", "--nod").stdout, "of srun alone")
        # A private DVM has the settings that parameters are.
        expect(plain(here, "mpirun", "--mca", "routed_radix", "7", "-n", "1", "true"), 0, "", "'--mca routed_radix 7' is '--set radix=7' today")
        check(plain(here, "mpirun", "--prtemca", "routed_radix", "x", "-n", "1", "true").returncode in (2, 125), "the setting is read")
        expect(plain(here, "mpirun", "--mca", "prte_set_default_slots", "3", "echo", "x"), 0, "x\nx\nx\n")
        expect(plain(here, "dvm-srun", "--set", "slots=3", "echo", "x"), 0, "x\n")
        # In a job of Slurm it is what that was asked for.
        for variables, said in (({"SLURM_NTASKS": "2"}, "node1\nnode1\n"), ({"SLURM_NNODES": "2"}, "node1\nnode2\n")):
            result = plain(here, "dvm-srun", "--set", "nodes=3", "--set", "slots=2", "sh", "-c", "echo $DVM_NODE", env=variables)
            equal((result.returncode, "\n".join(sorted(result.stdout.split())) + "\n"), (0, said), result.stderr)
        # Behind ':' -c is that of srun, and a program without it has one cpu for each process.
        expect(plain(here, "dvm-srun", "--set", "slots=3", "-n", "1", "true", ":", "-n", "2", "-c", "1", "echo", "x"), 0, "x\nx\n", "'-c 1' is '--map-by :PE=1'")
        expect(plain(here, "dvm-srun", "true", ":", "-t", "5", "true"), 2, "", "unknown option '-t 5' (behind ':' only options of a program")
        if len(os.sched_getaffinity(0)) > 1:
            result = plain(here, "dvm-srun", "--set", "nodes=2", "--set", "slots=2", "--display", "map", "-n", "1", "-c", "2", "true", ":", "-n", "2", "true")
            cpus = [line.split()[4] for line in result.stdout.splitlines()[1:]]
            check(result.returncode == 0 and re.search("[-,]", cpus[0]) and not re.search("[-,]", cpus[1]) and len(cpus) == 3, result.stdout + result.stderr)
        expect(plain(here, "dvm-srun", "-N", "2", "-n", "4", "--map-by", "core", "true"), 2, "", "'--map-by core' and '-N 2' contradict each other")


def test_private():
    """without a DVM mpirun makes one for its job; prun and pterm make none"""
    with place() as here:
        for name in ("dvm-mpirun", "mpirun", "mpiexec", "prterun"):
            result = plain(here, name, "-np", "2", "echo", "x", ":", "-np", "1", "echo", "y")
            equal((result.returncode, sorted(result.stdout.split()), result.stderr), (0, ["x", "x", "y"], ""))
        expect(plain(here, "mpirun", "-n", "1", "sh", "-c", "exit 7"), 7, "")
        expect(plain(here, "mpirun", "-n", "1", "sh", "-c", "kill -9 $$"), 137, "")
        expect(plain(here, "mpirun", "-n", "1", "no-such-program"), 127, "", "mpirun: ")
        expect(plain(here, "prun", "true"), 125, "", "prun: no DVM is running")
        expect(call(here, "pterm"), 1, "", "pterm: no DVM is running")
        expect(plain(here, "mpirun", "--dvm", "search", "true"), 125, "", "no DVM is running")
        equal(os.path.exists(os.path.join(here.path, "dvm")), False, "nothing is left")


def test_which():
    """prun and pterm find a DVM by all that names it, and refuse what names none"""
    with dvm("--slots=2") as here:
        uri = os.path.join(here.path, "uri")
        expect(plain(here, "mpirun", "--report-uri", uri, "-n", "1", "true"), 0, "")
        with open(uri) as file:
            address = file.read()
        equal(address, f"unix:path={here.path}/dvm/default/bus\n")
        expect(plain(here, "mpirun", "--report-uri", "+", "-n", "1", "true"), 0, "", address)
        pid = os.path.join(here.path, "pid")
        with open(pid, "w") as file:
            file.write(f"{here.process.pid}\n")
        nspace = here.json("info")["namespace"]
        elsewhere = {"XDG_RUNTIME_DIR": here.path, "DVM_NAME": "other"}
        for words in (["--dvm-uri", address.strip()], ["--dvm-uri", f"file:{uri}"], ["--dvm", f"uri:{address.strip()}"],
                      ["--dvm", f"file:{uri}"], ["--pid", str(here.process.pid)], ["--pid", f"file:{pid}"],
                      ["--dvm", f"pid:{here.process.pid}"], ["--namespace", nspace], ["--dvm", f"ns:{nspace}"],
                      ["--dvm-uri", f"{nspace}.0;tcp4://127.0.0.1:1"]):
            expect(plain(here, "prun", *words, "-n", "1", "echo", "x", env=elsewhere), 0, "x\n")
        expect(plain(here, "prun", "-n", "1", "true", env=elsewhere), 125, "", "no DVM named other")
        for words in (["--system-server-first"], ["--dvm", "system-first"], ["--dvm", "search"]):
            expect(plain(here, "prun", *words, "-n", "1", "echo", "x"), 0, "x\n")
        for words in (["--system-server-only"], ["--dvm", "system"]):
            expect(plain(here, "prun", *words, "-n", "1", "echo", "x"), 125, "")
        for words, status, mention in (
            (["--pid", "1"], 125, "--pid 1: none of the DVMs of this user is that"),
            (["--pid", "x"], 2, "'x' is no pid"),
            (["--namespace", "nobody"], 125, "none of the DVMs"),
            (["--dvm-uri", "nonsense"], 2, "neither an address such as unix:path=PATH nor a URI of PMIx"),
            (["--dvm-uri", "unix:path=relative"], 2, "neither an address"),
            (["--dvm-uri", "file:/no/such/file"], 125, "cannot read '/no/such/file'"),
            (["--dvm-uri", "unix:path=/no/such/socket"], 125, "no DVM answers at the socket /no/such/socket"),
            (["--dvm", "nonsense"], 2, "it is one of search, pid:N"),
            (["--pid", "1", "--namespace", "x"], 2, "options --pid and --namespace exclude each other"),
            (["--dvm-uri", address.strip(), "--name", "x"], 2, "options --dvm-uri and --name exclude each other"),
            (["--report-uri", "/no/folder/uri"], 125, "no job was started"),
            (["--report-uri", "/dev/full"], 125, "--report-uri: "),
        ):
            expect(plain(here, "prun", *words, "-n", "1", "true"), status, "", mention)
        expect(call(here, "pterm", "--dvm-uri", f"file:{uri}", env=elsewhere), 0, "")
        here.process.wait(LIMIT)


def test_waiting():
    """prun waits for a DVM as long as it is told, and a signal ends that"""
    with place() as here:
        begin = time.monotonic()
        expect(plain(here, "prun", "--num-connect-retries", "1", "true"), 125, "", "no DVM is running")
        check(time.monotonic() - begin >= 1, "it has not tried again")
        waiting = [link(here, "prun"), "--personality", "plain", "--wait-to-connect", "1", "--num-connect-retries", "50"]
        for signum in (None, signal.SIGINT):
            with subprocess.Popen([*waiting, "-n", "1", "echo", "x"], env=here.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True) as prun:
                # It has gone through its first try when it handles signals.
                wait_until(lambda: "SigBlk:\t0000000000000000" not in
                           open(f"/proc/{prun.pid}/status").read(), "it takes signals")
                if signum is None:
                    equal(here.cli("start", "--bus=none").returncode, 0)
                else:
                    prun.send_signal(signum)
                equal((prun.wait(LIMIT), prun.stdout.read()), (0, "x\n") if signum is None else (130, ""))
            if signum is None:
                equal(call(here, "pterm").returncode, 0)


def test_private_uri():
    """a private DVM whose address is told takes other jobs, and ends with its own one"""
    script = 'u=$(cat "$0"); "$1" --personality plain --dvm-uri "$u" --map-by :OVERSUBSCRIBE -n 1 echo inner'
    with place() as here:
        uri = os.path.join(here.path, "uri")
        expect(plain(here, "mpirun", "--report-uri", uri, "-n", "1", "sh", "-c", script, uri, link(here, "prun")), 0, "inner\n")
        # Another one that is still connected does not keep it.
        os.remove(uri)
        with subprocess.Popen([link(here, "mpirun"), "--report-uri", uri, "--personality", "plain", "-n", "1", "sh", "-c",
                               'until [ -e "$0" ]; do sleep 0.02; done', uri + ".end"],
                              env=here.env, stdin=subprocess.DEVNULL) as outer:
            wait_until(lambda: os.path.exists(uri), "the address is told")
            with subprocess.Popen([link(here, "prun"), "--dvm-uri", f"file:{uri}", "--personality", "plain", "--map-by",
                                   ":OVERSUBSCRIBE", "-n", "1", "sh", "-c", "echo here; exec sleep 600"], env=here.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as prun:
                equal(prun.stdout.readline(), "here\n")
                open(uri + ".end", "w").close()
                equal(outer.wait(LIMIT), 0)
                check(prun.wait(LIMIT) != 0, "its job is over")
                prun.stderr.read()
        equal(os.path.exists(os.path.join(here.path, "dvm")), False, "nothing is left")


def test_keepalive():
    """the job ends when nobody holds the other end of the pipe any more"""
    with place() as here:
        path = os.path.join(here.path, "pipe")
        os.mkfifo(path)
        ours, theirs = os.pipe()
        for value, options in ((path, {}), (str(ours), {"pass_fds": [ours]})):
            with subprocess.Popen([link(here, "prterun"), "--keepalive", value, "--personality", "plain", "-n", "1", "sh", "-c",
                                   "echo runs; exec sleep 600"], env=here.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as run:
                end = os.open(path, os.O_WRONLY) if value == path else theirs
                equal(run.stdout.readline(), "runs\n")
                os.close(end)
                equal(run.wait(LIMIT), 129)
                contains(run.stderr.read(), "prterun: the pipe of --keepalive has been closed")
        os.close(ours)
        expect(plain(here, "mpirun", "--keepalive", "/etc/passwd", "true"), 2, "", "'/etc/passwd' is no pipe")
        expect(plain(here, "mpirun", "--keepalive", "987", "true"), 2, "", "neither an open descriptor nor a pipe")
        expect(plain(here, "mpirun", "--keepalive", "/no/pipe", "true"), 2, "", "neither an open descriptor nor a pipe")


def test_xterm():
    """the ranks that are named run in an xterm, the others do not"""
    with dvm("--slots=8") as here:
        folder = os.path.join(here.path, "bin")
        os.mkdir(folder)
        with open(os.path.join(folder, "xterm"), "w") as file:
            os.fchmod(file.fileno(), 0o755)
            file.write(XTERM)
        log = os.path.join(here.path, "log")
        env = {"PATH": f"{folder}:{here.env['PATH']}", "DISPLAY": ":77", "XTERM_LOG": log}

        def windows(*words):
            open(log, "w").close()
            result = plain(here, "mpirun", *words, env=env)
            equal(result.returncode, 0, result.stderr)
            with open(log) as file:
                return sorted(re.findall(r"^xterm (.*?)-T rank (\d+) -e (.*)$", file.read(), re.MULTILINE)), result.stdout

        echo = ["sh", "-c", "echo $DVM_RANK $1", "sh", "a b"]
        shown, output = windows("--xterm", "0,2-3", "-n", "5", *echo)
        equal([row[:2] for row in shown], [("", "0"), ("", "2"), ("", "3")])
        equal(sorted(output.splitlines()), [f"{i} a b" for i in range(5)])
        equal([row[:2] for row in windows("--xterm", "1!", "-n", "2", "true")[0]], [("-hold ", "1")])
        equal(len(windows("-xterm", "all", "-n", "3", "true")[0]), 3)
        equal(len(windows("--xterm", "-1", "-n", "3", "true")[0]), 3)
        # Ranks count through all programs.
        equal(windows("--xterm", "1", "-n", "1", "true", ":", "-n", "2", "sleep", "0")[0], [("", "1", "sleep 0")])
        # A program of the working directory, and one that is not there
        program = os.path.join(here.path, "own")
        with open(program, "w") as file:
            os.fchmod(file.fileno(), 0o755)
            file.write("#!/bin/sh\necho own $1\n")
        equal(windows("--wdir", here.path, "--xterm", "0", "-n", "2", "own", "x")[1], "own x\nown x\n")
        # Without an xterm the shell says so.
        bare = os.path.join(here.path, "bare")
        os.mkdir(bare)
        for name in ("sh", "true"):
            os.symlink(shutil.which(name), os.path.join(bare, name))
        result = plain(here, "mpirun", "--xterm", "0", "-n", "1", "true", env={**env, "PATH": bare})
        expect(result, 127, "", "xterm")
        for words, mention in (
            (["--xterm", "2", "-n", "2", "true"], "rank 2 is none of the job, whose last one is 1"),
            (["--xterm", "x", "true"], "takes ranks such as 0,2-4, or all"),
            (["--xterm", "3-1", "true"], "not '3-1'"),
            (["--xterm", "0,", "true"], "not '0,'"),
            (["--xterm", "0", "--preload-binary", "true"], "exclude each other"),
            (["--xterm", "0", "--file", "-"], "exclude each other"),
            (["--xterm", "0", "-x", "DISPLAY=", "true"], "DISPLAY is not set"),
        ):
            expect(plain(here, "mpirun", *words, env=env), 2, "", mention)


def test_max_vm_size():
    """no more nodes than that are taken, and those are the first"""
    with place() as here:
        equal(here.cli("start", "--bus=none", "--nodes", "3", "--slots", "1", "--max-vm-size", "2").returncode, 0)
        equal([node["name"] for node in here.json("nodes") if node["rank"] > 0], ["node1", "node2"])
        equal(call(here, "pterm").returncode, 0)
        with open(os.path.join(here.path, "hosts"), "w") as file:
            file.write("a slots=1\nb slots=1\nc slots=1\n")
        listed = ["--hostfile", "hosts", "--display", "allocation", "--launcher", "local", "-n", "1", "true"]
        for more, there in (([], 3), (["--max-vm-size", "2"], 2), (["--prtemca", "prte_max_vm_size", "1"], 1)):
            result = plain(here, "mpirun", *more, *listed, cwd=here.path)
            equal(result.returncode, 0, result.stderr)
            equal(re.findall(r"^([abc]) +1 ", result.stdout, re.MULTILINE), list("abc")[:there], result.stdout)
        words = ["--launcher", "local", "--max-vm-size", "1", "--host", "b,c", "-n", "1", "sh", "-c", "echo $DVM_NODE"]
        expect(plain(here, "mpirun", *words), 0, "b\n")
        expect(plain(here, "mpirun", "--max-vm-size", "0", "true"), 2, "", "takes a whole number from 1")


def test_stdin():
    """each rank of a list gets all of standard input, whoever reads less; the others have none"""
    script = "echo $DVM_RANK $(wc -l)"
    with dvm("--nodes=3", "--slots=2") as here:
        result = plain(here, "mpirun", "--map-by", "node", "--stdin", "0,2-4", "-n", "6", "sh", "-c", script, stdin=NUMBERS)
        equal(sorted(result.stdout.splitlines()), ["0 100000", "1 0", "2 100000", "3 100000", "4 100000", "5 0"])
        # A rank that ends early, alone on its node, keeps nobody waiting.
        early = "test $DVM_RANK = 1 && exec head -n 1; " + script
        for ranks in ("2,1", "all"):
            result = plain(here, "mpirun", "--map-by", "node", "--stdin", ranks, "-n", "3", "sh", "-c", early, stdin=NUMBERS)
            wanted = ["0", "0 100000" if ranks == "all" else "0 0", "2 100000"]
            equal(sorted(result.stdout.splitlines()), wanted, ranks)
        expect(plain(here, "mpirun", "--stdin", "0,6", "-n", "6", "true"), 2, "", "there is no rank 6")
        expect(plain(here, "mpirun", "--stdin", "0,6", "true"), 125, "", "neither a rank of this job (0 to 5), nor a list")
        for wrong in ("2-1", "0,", "-1", "1,x", ","):
            expect(plain(here, "mpirun", "--stdin", wrong, "-n", "1", "true"), 2, "", "ranks such as 0,2-4")


def test_stdin_pty():
    """ranks of a list that have terminals get what is typed, and the same end of it"""
    with dvm("--slots=2") as here:
        terminal = Terminal(here, "--pty", "--stdin", "0,1", "--personality", "plain", "-n", "2", "sh", "-c",
                            "read line; echo $DVM_RANK got $line", program=link(here, "mpirun"))
        terminal.write(b"word\r")
        terminal.read_until(b"0 got word")
        terminal.read_until(b"1 got word")
        equal(terminal.wait(), 0)


def test_parameters():
    """a parameter of the runtime that is an option is that option, and what has no effect is told"""
    with dvm("--nodes=2", "--slots=4") as here:
        nodes = ["-n", "2", "sh", "-c", "echo $DVM_NODE"]
        for words in (["--mca", "rmaps_base_mapping_policy", "node"], ["--gmca", "mapby", "node"], ["--prtemca", "mapby", "node"]):
            result = plain(here, "mpirun", *words, *nodes)
            equal(sorted(result.stdout.split()), ["node1", "node2"], result.stderr)
            contains(result.stderr, f"mpirun: '{' '.join(words)}' is '--map-by node' today (DVM_NOTICE=no hides this line)")
        result = plain(here, "mpirun", "--mca", "mapby", "node", *nodes, env={"DVM_NOTICE": "no"})
        equal((sorted(result.stdout.split()), result.stderr), (["node1", "node2"], ""))
        result = plain(here, "mpirun", "--map-by", "slot", "--prtemca", "mapby", "node", *nodes)
        equal(sorted(result.stdout.split()), ["node1", "node1"])
        contains(result.stderr, "'--prtemca mapby' has no effect, for --map-by is given")
        expect(plain(here, "mpirun", "--prtemca", "ess_base_forward_signals", "nonsense", "true"), 2, "", "'nonsense'")
        expect(plain(here, "mpirun", "--prtemca", "prte_max_vm_size", "0", "true"), 2, "", "--prtemca prte_max_vm_size=0: ")
        result = here.cli("submit", "--personality", "plain", "--prtemca", "rtos", "recoverable", "--mca", "display", "map", "-n", "1", "true")
        contains(result.stderr, "'--prtemca rtos recoverable' is '--runtime-options recoverable' today")
        contains(result.stderr, "'--mca display' has no effect: 'dvm-cli submit' has no --display")
        check(here.json("jobs", "--all"), "a job")
        check(json.loads(here.cli("job", "show", result.stdout.strip(), "--json").stdout), "a record")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
