#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli run, with a DVM and without one."""

import hashlib
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import termios
import time

from dvmtest import (
    CLI,
    DVMD,
    LIMIT,
    Terminal,
    alive,
    check,
    contains,
    dvm,
    equal,
    functions,
    place,
    run_tests,
    wait_until,
)


def where(test):
    """Runs a test twice: with a DVM that is there, and with the private one of `run`."""

    def twice():
        with dvm("--slots=8") as there:
            test(there)
        with place() as nothing:
            test(nothing)
            equal(os.listdir(nothing.path), [], "nothing is left of the private DVM")

    twice.__name__ = test.__name__
    twice.__doc__ = test.__doc__
    return twice


def run(words, **options):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, **options)


def plain(here, *args, **options):
    return here.cli("run", "--personality", "plain", *args, **options)


@where
def test_exit(here):
    """the exit status is the job's"""
    equal(plain(here, "-n", "1", "true").returncode, 0)
    equal(plain(here, "-n", "1", "false").returncode, 1)
    equal(plain(here, "-n", "2", "sh", "-c", "exit 42").returncode, 42)
    equal(plain(here, "-n", "1", "sh", "-c", "exit 255").returncode, 255)
    equal(plain(here, "-n", "1", "sh", "-c", "kill -SEGV $$").returncode, 128 + signal.SIGSEGV)
    equal(plain(here, "-n", "1", "sh", "-c", "kill -KILL $$").returncode, 137)


@where
def test_not_started(here):
    """126 and 127 as from a shell, each with a sentence"""
    result = plain(here, "-n", "1", "no-such-program-anywhere")
    equal(result.returncode, 127)
    contains(result.stderr, "no-such-program-anywhere")
    result = plain(here, "-n", "1", "/no/such/program")
    equal(result.returncode, 127)
    result = plain(here, "-n", "1", "/etc/passwd")
    equal(result.returncode, 126)
    contains(result.stderr, "/etc/passwd")
    result = plain(here, "--quiet", "-n", "1", "--wdir", "/no/such/directory", "true")
    equal(result.returncode, 125)
    contains(result.stderr, "/no/such/directory")


@where
def test_output_paths(here):
    """relative paths of output files are those of the current directory, colons in them are no qualifiers"""
    work = os.path.join(here.path, "work")
    os.mkdir(work)
    for words in (
        ["--output", "tag,file=12:30:05:copy"],
        ["--output", "dir=logs/a:1:nocopy", "--wdir", "/"],
        ["--stdout-path", "out", "--wdir", "/"],
    ):
        result = plain(here, *words, "-n", "1", "echo", "hello", cwd=work)
        equal(result.returncode, 0)
    found = sorted(os.path.relpath(os.path.join(at, name), work) for at, _, names in os.walk(work) for name in names)
    equal([re.sub("/dvm-[^/]*/", "/JOB/", name) for name in found], ["12:30:05.0.out", "logs/a:1/JOB/rank.0/stdout", "out"])
    with open(os.path.join(here.path, "job.json"), "w", encoding="utf-8") as file:
        json.dump({"argv": ["echo", "hello"], "np": 1, "cwd": work, "output": "file=f", "stdout-path": "g"}, file)
    equal(here.cli("run", "--file", file.name, cwd="/").returncode, 0)
    check(os.path.exists(os.path.join(work, "f.0.out")), "relative to the directory of the job")
    check(os.path.exists(os.path.join(work, "g")), "relative to the directory of the job")
    shutil.rmtree(work)
    os.unlink(file.name)


@where
def test_output_is_opened_first(here):
    """a file of the output that cannot be made ends the job before it begins, with the file and the cause"""
    ran = os.path.join(here.path, "ran")
    held = os.path.join(here.path, "held")
    os.makedirs(os.path.join(held, "f.1.err"))
    for words, cause in (
        (["--output", "file=/proc/x/y"], "'/proc/x/y.0.out': No such file or directory"),
        (["--output", "dir=/proc/x"], "No such file or directory"),
        (["--output", f"file={held}/f:copy"], "f.1.err': Is a directory"),
        (["--stdout-path", "/proc/x/y"], "'/proc/x/y' for stdout cannot be opened: No such file or directory"),
    ):
        result = plain(here, *words, "-n", "2", "touch", ran)
        equal(result.returncode, 125, words)
        contains(result.stderr, cause)
        check(not os.path.exists(ran), "it was not launched")
    shutil.rmtree(held)


@where
def test_output_that_is_lost(here):
    """what cannot be written comes to the screen, and the status is 125 unless the job has failed itself"""
    held = os.path.join(here.path, "held")
    os.mkdir(held)
    os.symlink("/dev/full", os.path.join(held, "f.0.out"))
    for words in (["--output", f"file={held}/f"], ["--stdout-path", "/dev/full"]):
        for code, status in ((0, 125), (3, 3)):
            result = plain(here, *words, "-n", "1", "sh", "-c", f"echo lost; exit {code}")
            equal((result.returncode, result.stdout), (status, "lost\n"), result.stderr)
            contains(result.stderr.splitlines()[-1], "No space left on device")
    directory = os.path.join(held, "gone")
    script = f"echo a; until grep -q a {directory}/*/rank.0/stdout; do sleep 0.01; done; rm -r {directory}; echo b"
    result = plain(here, "--output", f"dir={directory}", "-n", "1", "sh", "-c", script)
    equal((result.returncode, result.stdout), (125, "b\n"), result.stderr)
    contains(result.stderr.splitlines()[-1], "rank.0/stdout': the file has been removed")
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = plain(here, "-n", "1", "echo", "lost", stdout=full)
    equal(result.returncode, 125)
    contains(result.stderr, "its reader: No space left on device")
    shutil.rmtree(held)


def test_lost_output_is_remembered():
    """the record of a job says which output was lost, and so does its reason; wait ends with 125"""
    with dvm("--slots=2") as here:
        job = here.cli("submit", "--personality", "plain", "--stdout-path", "/dev/full", "-n", "1", "echo", "x").stdout.strip()
        result = here.cli("wait", job)
        equal(result.returncode, 125)
        contains(result.stderr, "/dev/full: No space left on device")
        record = here.json("job", "show", job)
        contains(record["output-error"], "/dev/full: No space left on device")
        equal((record["state"], record["reason"]), ("NOTIFIED", record["output-error"]))


@where
def test_output(here):
    """output comes back byte-exact, and so does standard error"""
    data = os.urandom(3_000_000)
    path = os.path.join(here.path, "data")
    with open(path, "wb") as file:
        file.write(data)
    result = plain(here, "-n", "1", "cat", path, text=False)
    equal(hashlib.sha256(result.stdout).digest(), hashlib.sha256(data).digest(), "standard output")
    equal(result.stderr, b"")
    result = plain(here, "-n", "1", "sh", "-c", f"cat {path} >&2", text=False)
    equal(hashlib.sha256(result.stderr).digest(), hashlib.sha256(data).digest(), "standard error")
    equal(result.stdout, b"")
    result = plain(here, "-n", "4", "echo", "x")
    equal(result.stdout, "x\n" * 4)
    result = plain(here, "--quiet", "-n", "1", "sh", "-c", "printf x; printf y >&2; exit 3")
    equal((result.stdout, result.stderr, result.returncode), ("x", "y", 3))
    os.unlink(path)


@where
def test_input(here):
    """standard input goes to rank 0: from a pipe, from a file, from nowhere"""
    data = os.urandom(1_000_000)
    result = plain(here, "-n", "1", "cat", stdin=data, text=False)
    equal(hashlib.sha256(result.stdout).digest(), hashlib.sha256(data).digest(), "pipe")
    path = os.path.join(here.path, "data")
    with open(path, "wb") as file:
        file.write(data)
    with open(path, "rb") as file:
        result = plain(here, "-n", "1", "cat", stdin=file, text=False)
    equal(hashlib.sha256(result.stdout).digest(), hashlib.sha256(data).digest(), "file")
    os.unlink(path)
    equal(plain(here, "-n", "2", "cat").stdout, "", "/dev/null")
    equal(plain(here, "-n", "2", "cat", stdin="a\n").stdout, "a\n", "rank 0 alone")
    equal(plain(here, "-n", "2", "--stdin", "all", "cat", stdin="a\n").stdout, "a\na\n", "all")
    equal(plain(here, "-n", "2", "--stdin", "none", "cat", stdin="a\n").stdout, "", "none")
    result = here.cli("run", "--personality", "plain", "-n", "1", "cat", preexec_fn=lambda: os.close(0))
    equal((result.stdout, result.returncode), ("", 0), "closed")


@where
def test_environment(here):
    """the environment and the directory are ours, bytes and all"""
    env = {"CLI_A": "one\ntwo", "G_DEBUG": "", "G_MESSAGES_DEBUG": "x", "DVM_DVMD": os.environ["DVM_DVMD"]}
    script = 'printf "%s|%s|%s|%s|%s" "$CLI_A" "$CLI_B" "${G_MESSAGES_DEBUG-none}" "${DVM_DVMD-none}" "$PWD"'
    result = plain(here, "-n", "1", "-x", "CLI_B=a=b", "-x", "CLI_A", "sh", "-c", script, env=env, cwd="/usr")
    equal(result.stdout, "one\ntwo|a=b|none|none|/usr")
    equal(result.stderr, "")
    result = plain(here, "-n", "1", "--wdir", "bin", "pwd", cwd="/usr")
    equal(result.stdout, os.path.realpath("/usr/bin") + "\n")
    result = plain(here, "-n", "1", "-x", "NO_SUCH_VARIABLE", "true")
    equal(result.returncode, 0)
    contains(result.stderr, "NO_SUCH_VARIABLE")
    result = here.cli(b"run", b"-n", b"1", b"--personality=plain", b"-x", b"RAW=\xff\xfe", b"sh", b"-c", b'printf "%s" "$RAW$1"',
                      b"sh", b"\xe9", text=False)
    equal(result.stdout, b"\xff\xfe\xe9", "bytes that are no UTF-8")


@where
def test_strange_environment(here):
    """strings without a name are not the job's, and no reason to refuse it"""
    words = ["env", "=noname=1", "==", "PLAIN=here", CLI, "run", "-n", "1", "sh", "-c", "printf %s $PLAIN"]
    result = run(words, env=here.env)
    equal((result.returncode, result.stdout, result.stderr), (0, "here", ""))


def test_no_home():
    """a user whom the system does not know, and no HOME"""
    unknown = ["unshare", "--user", "--map-user=54321", "--map-group=54321"]
    if run([*unknown, "true"]).returncode != 0:
        return
    words = [*unknown, "env", "-i", "PATH=/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/no-bus",
             "ASAN_OPTIONS=detect_leaks=0",  # known leaks of libraries would be told on standard error
             f"DVM_DVMD={DVMD}", CLI, "run", "--quiet", "-n", "1"]
    result = run([*words, "pwd"], cwd="/")
    equal((result.returncode, result.stdout, result.stderr), (0, "/\n", ""))
    result = run([*words, "printenv", "HOME"], cwd="/")
    equal((result.returncode, result.stdout, result.stderr), (1, "", ""), "its environment is that of the caller")


@where
def test_apps(here):
    """several programs make one job"""
    result = plain(here, "-n", "1", "-x", "A=1", "sh", "-c", "echo first $A", ":", "-n", "2", "sh", "-c", "echo second $A", ":", "echo", "third")
    contains(result.stderr + str(result.returncode), "0")
    lines = sorted(result.stdout.split("\n"))
    check("first 1" in lines and lines.count("second ") + lines.count("second") == 2 and "third" in lines, f"{lines}")


def test_habits_of_mpirun():
    """options that mpirun takes with one dash"""
    with place() as here:
        equal(plain(here, "-np", "1", "-host", "localhost", "-wdir", "/", "pwd").stdout, "/\n")


@where
def test_options_of_program(here):
    """what stands behind the program is the program's"""
    equal(plain(here, "-n", "1", "echo", "-n", "3", "--json", "--").stdout, "3 --json --", "options")
    equal(plain(here, "-n", "1", "--", "printf", "%s", "--help").stdout, "--help")


@where
def test_json(here):
    """--json: the last line describes the job"""
    result = plain(here, "-n", "2", "--json", "echo", "x")
    lines = result.stdout.split("\n")
    equal(lines[:2], ["x", "x"])
    job = json.loads(lines[2])
    equal((job["state"], job["exit-code"], job["num-procs"]), ("NOTIFIED", 0, 2))


@where
def test_proctable(here):
    """--output-proctable: a line for each process, here, on standard error or in a file; what follows is no value of it"""
    form = re.compile(r"\(rank, host, exe, pid\) = \((\d+), [^ ,]+, sh, (\d+)\)")
    path = os.path.join(here.path, "table")
    for value in ("", "=-", "=+", "=" + path):
        result = plain(here, "--output-proctable" + value, "-n", "3", "sh", "-c", "echo $DVM_RANK $$")
        lines = result.stdout.splitlines()
        told = [form.fullmatch(line) for line in (result.stderr if value == "=+" else result.stdout).splitlines()]
        if value == "=" + path:
            with open(path, encoding="utf-8") as file:
                told = [form.fullmatch(line) for line in file.read().splitlines()]
            os.unlink(path)
        equal([match.groups() for match in told if match is not None], sorted(tuple(line.split()) for line in lines if form.fullmatch(line) is None))
    mark = os.path.join(here.path, "mark")
    for place, why in (("/no/such/place", "No such file"), (here.path, "Is a directory")):
        result = plain(here, "--output-proctable=" + place, "-n", "1", "touch", mark)
        equal((result.returncode, os.path.exists(mark)), (125, False))
        contains(result.stderr, why)
        contains(result.stderr, "no job was started")
    for status in (0, 3):
        result = plain(here, "--output-proctable=/dev/full", "-n", "1", "sh", "-c", f"exit {status}")
        equal(result.returncode, status or 125)
        contains(result.stderr, "the processes of the job are not told")
    equal(plain(here, "--output-proctable", "-n", "1", "/no/such/program").stdout, "")
    result = plain(here, "--output-proctable", "--json", "true")
    equal(result.returncode, 2)
    contains(result.stderr, "--output-proctable=FILE")
    equal(json.loads(plain(here, "--output-proctable=+", "--json", "-n", "1", "true").stdout)["exit-code"], 0)
    equal(plain(here, "--output-proctable=", "true").returncode, 2)


@where
def test_proctable_directive(here):
    """--runtime-options output-proctable[=FILE] is --output-proctable; other words beside it stay what they are"""
    path = os.path.join(here.path, "table")
    row = "(rank, host, exe, pid) = (0, "
    for words in ("output-proctable", "recoverable,Output-Proc=-"):
        contains(plain(here, "--runtime-options", words, "-n", "1", "true").stdout, row)
    for words in (["output-proctable=" + path + ",error-nonzero-status=no"],
                  ["output-proctable=/no/such/place,error-nonzero-status=no", "--output-proctable=" + path],
                  ["error-nonzero-status=no", "--runtime-options", "output-proctable=/no/such/place,output-proctable=" + path]):
        result = plain(here, "--runtime-options", *words, "-n", "1", "sh", "-c", "exit 3")
        equal((result.returncode, result.stdout), (3, ""))
        with open(path, encoding="utf-8") as file:
            contains(file.read(), row)
        os.unlink(path)
    equal(plain(here, "--runtime-options", "output-proctable=/no/such/place", "true").returncode, 125)
    equal(plain(here, "--runtime-options", "output-proctable=", "true").returncode, 2)
    contains(plain(here, "--runtime-options", "output-proctable,nonsense", "true").stderr, "nonsense")
    contains(here.cli("submit", "--runtime-options", "output-proctable", "true").stderr, "not supported")


@where
def test_time_limit(here):
    """before the time limit ends a job its state and stacks are told; both options need it"""
    result = plain(here, "--timeout", "1", "--get-stack-traces", "--report-state-on-timeout", "-n", "2", "sleep", "600")
    check(result.returncode != 0, result.returncode)
    contains(result.stderr, "has passed: RUNNING, 2 processes")
    contains(result.stderr, "nanosleep")
    with open(os.path.join(here.path, "job.json"), "w", encoding="utf-8") as file:
        json.dump({"argv": ["sleep", "600"], "np": 1, "timeout": 1, "runtime-options": "get-stack-traces"}, file)
    result = here.cli("run", "--personality", "plain", "--file", file.name)
    os.unlink(file.name)
    contains(result.stderr, "nanosleep")
    for option in ("--get-stack-traces", "--report-state-on-timeout"):
        result = plain(here, option, "true")
        equal(result.returncode, 2)
        contains(result.stderr, "timeout")


@where
def test_restarts(here):
    """a process that fails is started again, so often at most; options, runtime-options and job files say the same"""
    for words in (["--max-restarts", "2"], ["--runtime-options", "autorestart,max-restarts=2"]):
        result = plain(here, *words, "-n", "1", "--json", "sh", "-c", "echo $DVM_RESTART; test $DVM_RESTART = 2")
        lines = result.stdout.splitlines()
        equal((result.returncode, lines[:3]), (0, ["0", "1", "2"]), result.stderr)
        equal(json.loads(lines[3])["restarts"], 2)
    equal(plain(here, "-max-restarts", "1", "-n", "1", "sh", "-c", "exit 42").returncode, 42)
    with open(os.path.join(here.path, "job.json"), "w", encoding="utf-8") as file:
        json.dump({"argv": ["sh", "-c", "echo $DVM_RESTART; test $DVM_RESTART = 1"], "np": 1, "max-restarts": 1}, file)
    equal(here.cli("run", "--file", file.name).stdout, "0\n1\n")
    os.unlink(file.name)
    equal(plain(here, "--max-restarts", "-1", "true").returncode, 2)
    result = plain(here, "--max-restarts", "1", "--runtime-options", "stop-on-exec", "true")
    equal(result.returncode, 2, result.stderr)
    contains(result.stderr, "stop-on-exec")


def test_restarts_of_killed():
    """without a DVM nobody knows whether a process that was killed was in PMIx_Init: only plain ones come back"""
    with place() as here:
        words = ["--max-restarts", "1", "-n", "1", "--json", "sh", "-c", "test $DVM_RESTART = 1 || kill -9 $$"]
        equal(plain(here, *words).returncode, 0)
        result = here.cli("run", *words)
        equal((result.returncode, json.loads(result.stdout)["restarts"]), (137, 0), result.stderr)


@where
def test_exec_agent(here):
    """exec-agent starts each process: by the words of runtime-options, or the list of a job file; what is not there is found"""
    result = plain(here, "--rtos", "exec-agent=env A='b c'", "-n", "2", "sh", "-c", "echo $A $1", "sh", "d")
    equal((result.returncode, result.stdout), (0, "b c d\n" * 2), result.stderr)
    path = os.path.join(here.path, "agent job.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"argv": ["./agent-program", "x"], "np": 1, "cwd": here.path, "exec-agent": ["sh", "-c", 'echo "$0 $@"; "$0" "$@"']}, file)
    program = os.path.join(here.path, "agent-program")
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho in $1; exit 3\n")
    equal(plain(here, "--file", path).returncode, 126)
    os.chmod(program, 0o755)
    result = plain(here, "--file", path)
    equal((result.returncode, result.stdout), (3, "./agent-program x\nin x\n"), result.stderr)
    # Of a name alone what stands in the directory of the job is found behind PATH.
    result = plain(here, "--wdir", here.path, "--rtos", "exec-agent=env", "-n", "1", "agent-program", "y")
    equal((result.returncode, result.stdout), (3, "in y\n"), result.stderr)
    os.unlink(program)
    result = plain(here, "--file", path)
    equal(result.returncode, 127)
    contains(result.stderr, "agent-program")
    os.unlink(path)
    result = plain(here, "--rtos", "exec-agent=no-such-agent", "-n", "1", "true")
    equal(result.returncode, 127)
    contains(result.stderr, "no-such-agent")
    equal(plain(here, "--rtos", "exec-agent=env,default-exec-agent", "true").returncode, 2)


@where
def test_launch_told(here):
    """--show-progress tells on standard error how many processes have been started; as a word of runtime-options, too"""
    for words in (["--show-progress"], ["--rtos", "show-progress=yes,error-nonzero-status=no"]):
        result = plain(here, *words, "-n", "3", "true")
        equal((result.returncode, result.stdout), (0, ""), result.stderr)
        contains(result.stderr, "3 of 3 processes have been started")
    equal(plain(here, "--show-progress=no", "-n", "3", "true").stderr, "")
    result = plain(here, "--rtos", "show-progress=perhaps", "true")
    equal(result.returncode, 2)
    contains(result.stderr, "perhaps")


def test_environment_of_dvm():
    """without that of the caller the processes have the environment of the DVM, and what options say"""
    script = 'echo "$ONE|$TWO|$THREE|$FOUR"'
    with dvm("--slots=8") as there:
        env = {"ONE": "1", "TWO": "2", "THREE": "3"}
        equal(plain(there, "-n", "1", "sh", "-c", script, env=env).stdout, "1|2|3|\n")
        for words in (["--fwd-environment=no"], ["--rtos", "fwd-environment=false"]):
            result = plain(there, *words, "-n", "1", "-x", "ONE", "-x", "T*", "-x", "FOUR=4", "--unset-env", "THREE", "sh", "-c", script, env=env)
            equal((result.returncode, result.stdout), (0, "1|2||4\n"), result.stderr)
            equal(plain(there, *words, "-n", "1", "sh", "-c", script, env=env).stdout, "|||\n")
        with open(os.path.join(there.path, "job.json"), "w", encoding="utf-8") as file:
            json.dump({"argv": ["sh", "-c", script], "np": 1, "env": {"TWO": "own"}}, file)
        equal(plain(there, "--file", file.name, env=env).stdout, "1|own|3|\n")
        equal(plain(there, "--fwd-environment=no", "--file", file.name, env=env).stdout, "|own||\n")
        os.unlink(file.name)
        for words in (["--fwd-environment=perhaps", "true"], ["--fwd-environment=no", "--unset-env", "T*", "true"]):
            equal(plain(there, *words).returncode, 2)


@where
def test_timeout(here):
    """--timeout ends the job, with 125 and a sentence"""
    result = plain(here, "-n", "1", "--timeout", "1", "sleep", "600")
    equal(result.returncode, 125, result.stderr)
    check(result.stderr.startswith("dvm-cli: "), result.stderr)


@where
def test_interrupted(here):
    """Ctrl-C cancels the job: 130, and no process is left"""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", "echo $$; exec sleep 600")
        pid = int(child.stdout.readline())
        check(alive(pid), "the process lives")
        child.send_signal(signum)
        _, stderr = child.communicate()
        equal(child.returncode, 128 + signum)
        check(re.fullmatch(rb"dvm-cli: cancelling job [^\n]*; interrupt again to kill it\n", stderr), f"{stderr}")
        wait_until(lambda: not alive(pid), "the process is gone")


@where
def test_interrupted_at_any_time(here):
    """an interrupt at whatever moment ends run and its job"""
    for delay in range(20):
        child = here.popen("run", "--personality", "plain", "-n", "1", "sleep", "600")
        time.sleep(delay / 1000)
        child.send_signal(signal.SIGINT)
        child.communicate()
        # Before it has set up anything the signal itself ends it.
        check(child.returncode in (130, -signal.SIGINT), f"after {delay} ms: {child.returncode}")
    if here.cli("status").returncode == 0:
        wait_until(lambda: here.json("jobs") == [], "no job is left")


@where
def test_interrupted_twice(here):
    """a second Ctrl-C kills what ignores the first"""
    script = "trap '' TERM INT HUP; echo $$; while :; do sleep 1; done"
    child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", script)
    pid = int(child.stdout.readline())
    child.send_signal(signal.SIGINT)
    contains(child.stderr.readline(), b"cancelling job")
    child.send_signal(signal.SIGINT)
    _, stderr = child.communicate()
    contains(stderr, b"killing job")
    equal(child.returncode, 130)
    wait_until(lambda: not alive(pid), "the process is gone")


@where
def test_closed_reader(here):
    """a reader that goes does not hold up the job"""
    child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", "echo x; yes | head -c 10000000; exit 5")
    child.stdout.readline()
    child.stdout.close()
    check(child.wait(120) in (5, 141), "it ends")
    child.stderr.close()


@where
def test_writes_to_nobody(here):
    """a job that writes on when nobody reads its output ends, as it does in a pipeline of a shell"""
    child = here.popen("run", "--personality", "plain", "-n", "1", "yes")
    child.stdout.readline()
    child.stdout.close()
    equal(child.wait(120), 141)
    equal(child.stderr.read(), b"")
    child.stderr.close()


@where
def test_silent_without_reader(here):
    """a job that writes nothing more goes on without a reader of its output"""
    child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", "echo x; sleep 1; exit 3")
    child.stdout.readline()
    child.stdout.close()
    equal(child.wait(120), 3)
    child.stderr.close()


def test_held():
    """a user hears that the job waits for slots"""
    with dvm("--slots=1") as here:
        here.cli("submit", "--personality", "plain", "-n", "1", "sleep", "600")
        child = here.popen("run", "--personality", "plain", "-n", "1", "true")
        contains(child.stderr.readline(), b"waits for slots")
        child.send_signal(signal.SIGINT)
        child.communicate()
        equal(child.returncode, 130)


def test_held_by_drained_node():
    """who waits for a node that is drained hears which one that is, and how it comes back"""
    with dvm("--nodes=2", "--slots=1") as here:
        here.cli("node", "drain", "node2")
        child = here.popen("run", "--personality", "plain", "-n", "2", "true")
        contains(child.stderr.readline(), b"drained nodes: node2 (dvm-cli node resume node2)")
        equal(here.cli("node", "resume", "node2").returncode, 0)
        child.communicate()
        equal(child.returncode, 0)


def test_who_failed():
    """which rank failed, where and of what, unless with --quiet; the name of who has cancelled a job"""
    with dvm("--nodes=2", "--slots=1") as here:
        script = "test $DVM_RANK = 0 || exit 3; sleep 600"
        result = plain(here, "-n", "2", "sh", "-c", script)
        equal((result.returncode, result.stderr), (3, "dvm-cli: Rank 1 on node2 ended with status 3\n"))
        result = plain(here, "--quiet", "-n", "2", "sh", "-c", script)
        equal((result.returncode, result.stderr), (3, ""))
        result = plain(here, "-n", "1", "sh", "-c", "kill -SEGV $$")
        equal((result.returncode, result.stderr), (139, "dvm-cli: Rank 0 on node1 was ended by signal 11 (Segmentation fault)\n"))
        result = plain(here, "-n", "1", "/no/such/program")
        check(result.stderr.startswith("dvm-cli: Rank 0 on node1 could not be started: "), result.stderr)
        job = here.cli("submit", "--personality", "plain", "-n", "1", "sleep", "600").stdout.strip()
        here.cli("kill", job)
        result = here.cli("wait", job)
        equal(result.returncode, 125)
        try:
            user = pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            user = f"uid {os.getuid()}"
        check(re.match(rf"dvm-cli: cancelled by {user} \(dvm-cli, pid \d+\)$", result.stderr), result.stderr)
        table = here.cli("jobs", "--all").stdout.splitlines()
        contains(table[0], "REASON")
        contains(table[1], "failed")
        contains(table[1], "Rank 1 on node2 ended with status 3")
        contains(table[-1], "cancelled")
        equal([job["state"] for job in here.json("jobs", "--all")][-1], "KILLED_BY_CMD")


@where
def test_terminal(here):
    """a terminal is read line by line, and Ctrl-C on it cancels"""
    terminal = Terminal(here, "run", "--personality", "plain", "-n", "1", "sh", "-c", "read a; echo got $a; cat; echo end")
    terminal.write(b"one\n")
    terminal.read_until(b"got one")
    terminal.write(b"two\n\x04")
    terminal.read_until(b"two\r\nend")
    equal(terminal.wait(), 0)
    terminal = Terminal(here, "run", "--personality", "plain", "-n", "1", "sh", "-c", "echo here; exec sleep 600")
    terminal.read_until(b"here")
    terminal.write(b"\x03")
    equal(terminal.wait(), 130)


@where
def test_passed_on(here):
    """SIGUSR1 and SIGUSR2 are for the processes of the job, and run goes on"""
    script = "trap 'echo one' USR1; trap 'echo two; exit 7' USR2; echo here; while :; do sleep 0.05; done"
    child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", script)
    for line, signum in ((b"here\n", signal.SIGUSR1), (b"one\n", signal.SIGUSR2), (b"two\n", 0)):
        equal(child.stdout.readline(), line)
        if signum:
            child.send_signal(signum)
    child.communicate()
    equal(child.returncode, 7)


def signal_set(pid, name):
    """One of the sets of signals of a process: SigBlk, ShdPnd"""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        mask = next(int(line.split()[1], 16) for line in status if line.startswith(name + ":"))
    return {signum for signum in range(1, 65) if mask >> (signum - 1) & 1}


def test_passed_on_before_the_job_is_known():
    """a signal that comes before the DVM has answered reaches the processes as soon as they are there"""
    with dvm("--slots=2") as here:
        os.kill(here.process.pid, signal.SIGSTOP)
        try:
            child = here.popen("run", "--personality", "plain", "-n", "2", "sleep", "600")
            wait_until(lambda: signal.SIGUSR1 in signal_set(child.pid, "SigBlk"), "it looks for signals itself")
            child.send_signal(signal.SIGUSR1)
            wait_until(lambda: signal.SIGUSR1 not in signal_set(child.pid, "ShdPnd"), "it has read the signal")
        finally:
            os.kill(here.process.pid, signal.SIGCONT)
        _, errors = child.communicate()
        equal(child.returncode, 128 + signal.SIGUSR1, errors)
        contains(errors, b"was ended by signal 10")


def test_passed_on_too_early():
    """a job that waits for slots has nobody who would hear it"""
    with dvm("--slots=1") as here:
        first = here.cli("submit", "--personality", "plain", "-n", "1", "sleep", "600").stdout.strip()
        child = here.popen("run", "--personality", "plain", "-n", "1", "true")
        contains(child.stderr.readline(), b"waits for slots")
        child.send_signal(signal.SIGUSR1)
        contains(child.stderr.readline(), b"a signal was not passed on: ")
        here.cli("kill", first)
        child.communicate()
        equal(child.returncode, 0)


def test_stopped():
    """Ctrl-Z stops the processes of the job, and continuing continues them"""
    with dvm("--slots=2") as here:
        child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", "echo $$; exec sleep 600")
        pid = int(child.stdout.readline())
        state = lambda of: open(f"/proc/{of}/stat").read().rsplit(")", 1)[1].split()[0]
        child.send_signal(signal.SIGTSTP)
        wait_until(lambda: state(pid) == "T" and state(child.pid) == "T", "both are stopped")
        child.send_signal(signal.SIGCONT)
        wait_until(lambda: state(pid) != "T", "the process goes on")
        child.send_signal(signal.SIGINT)
        child.communicate()
        equal(child.returncode, 130)


def test_job_control():
    """in the background of a shell the terminal is the shell's; in the foreground it is the job's"""
    with dvm("--slots=2") as here:
        shell = Terminal(here, "--norc", "--noprofile", "-i", program="/bin/bash", env={"PS1": "$ ", "HISTFILE": ""})
        script = "echo up; read a; echo got $a; cat; exit 6"
        # What is typed too early is the shell's.
        in_foreground = lambda: os.tcgetpgrp(shell.fd) != shell.pid

        shell.write(f"{CLI} run --personality plain -n 1 sh -c '{script}' &\n".encode())
        shell.read_until(b"up\r\n")
        shell.write(b"echo $((1000 + 1))\n")
        shell.read_until(b"1001")
        shell.write(b"fg\n")
        wait_until(in_foreground, "it is in the foreground")
        shell.write(b"word\n")
        shell.read_until(b"got word")
        shell.write(b"\x1a")
        shell.read_until(b"Stopped")
        wait_until(lambda: not in_foreground(), "the shell is in the foreground")
        # As of every program that Ctrl-Z stops
        shell.write(b"echo status-$?\n")
        shell.read_until(f"status-{128 + signal.SIGTSTP}".encode())
        shell.write(b"bg\n")
        shell.write(b"echo $((1000 + 2))\n")
        shell.read_until(b"1002")
        shell.write(b"fg\n")
        wait_until(in_foreground, "it is in the foreground again")
        shell.write(b"more\n")
        shell.read_until(b"more\r\nmore")
        shell.write(b"\x04")
        wait_until(lambda: not in_foreground(), "it has ended")
        shell.write(b"echo status $?\n")
        shell.read_until(b"status 6")
        shell.write(b"exit\n")
        shell.wait()


def test_pty():
    """--pty gives a terminal as large as ours, whose keys are the job's"""
    with dvm("--slots=2") as here:
        script = "test -t 0 && test -t 1 && echo terminal; stty size; read a; echo got $a; exec cat"
        terminal = Terminal(here, "run", "--personality", "plain", "-n", "1", "--pty", "sh", "-c", script, size=(33, 111))
        terminal.read_until(b"terminal")
        terminal.read_until(b"33 111")
        terminal.write(b"word\r")
        terminal.read_until(b"got word")
        terminal.write(b"\x03")
        equal(terminal.wait(), 130)


def test_resize():
    """the terminal of a job is as large as that of run, then of who attaches, and its program is told of every change"""
    script = 'trap "stty size" WINCH; echo begin; stty size; while :; do sleep 0.05; done'
    with dvm("--slots=2") as here:
        runs = Terminal(here, "run", "--personality", "plain", "-n", "1", "--pty", "sh", "-c", script, size=(33, 111))
        runs.read_until(b"33 111")
        termios.tcsetwinsize(runs.fd, (41, 99))
        runs.read_until(b"41 99")
        runs.write(b"\x03")
        equal(runs.wait(), 130)
        here.cli("submit", "--personality", "plain", "-n", "1", "--stdin", "0", "--pty", "sh", "-c", script)
        joins = Terminal(here, "attach", "2", size=(20, 70))
        joins.read_until(b"20 70")
        termios.tcsetwinsize(joins.fd, (21, 71))
        joins.read_until(b"21 71")
        here.cli("kill", "2")
        joins.wait()


def test_killed():
    """when run itself is killed, its private DVM and its job end"""
    with place() as here:
        child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", "echo $$; exec sleep 600")
        pid = int(child.stdout.readline())
        child.kill()
        child.communicate()
        wait_until(lambda: not alive(pid), "the process is gone")


def test_left_behind():
    """a job that was submitted stays when its client has gone, and one that was run says why it ended"""
    with dvm("--slots=2") as here:
        here.cli("submit", "--personality", "plain", "-n", "1", "sleep", "600")
        child = here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", "echo; exec sleep 600")
        child.stdout.readline()
        child.kill()
        child.communicate()
        wait_until(lambda: len(here.json("jobs")) == 1, "the job of run has ended")
        jobs = here.json("jobs", "--all")
        equal([job["state"] for job in jobs], ["RUNNING", "KILLED_BY_CMD"])
        contains(jobs[1]["reason"], "has left")


def test_no_pmix():
    """a PMIx server that cannot start fails the job that needs it, with a sentence"""
    broken = {"PMIX_MCA_gds": "none-such"}
    with place() as here:
        result = here.cli("run", "-n", "1", "true", env=broken)
        equal(result.returncode, 125)
        contains(result.stderr, "The PMIx server could not be started")
        contains(result.stderr.splitlines()[-1], "The PMIx server could not be started")
        equal(plain(here, "-n", "1", "true", env=broken).returncode, 0)
        equal(os.listdir(here.path), [], "nothing is left of the private DVM")


def test_many():
    """runs beside each other do not disturb each other"""
    with dvm("--slots=32") as here:
        children = [here.popen("run", "--personality", "plain", "-n", "1", "sh", "-c", f"echo {i}; exit {i}") for i in range(20)]
        for i, child in enumerate(children):
            stdout, stderr = child.communicate()
            equal((stdout, child.returncode), (f"{i}\n".encode(), i), stderr)


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
