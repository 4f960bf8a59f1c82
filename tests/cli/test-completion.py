#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Completion: what dvm-cli proposes, and that bash, zsh and fish really show it."""

import os
import re
import shutil
import subprocess
import sys

from dvmtest import CLI, Terminal, check, dvm, equal, functions, help_options, help_rows, place, run_tests, verbs

SOURCE = os.environ["DVM_SOURCE_DIR"]
FOLDER = os.path.join(SOURCE, "cli", "completion")


def ask(here, *words):
    """(kind, candidates) for a line; the last word is the one to be completed"""
    result = here.cli("__complete", *words)
    equal((result.returncode, result.stderr), (0, ""), f"{words}")
    kind, *rows = result.stdout.splitlines()
    return kind, {row.split("\t")[0] for row in rows}


def in_path(here):
    """An environment where dvm-cli is found by its name."""
    folder = os.path.join(here.path, "bin")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        os.symlink(CLI, os.path.join(folder, "dvm-cli"))
    return {**here.env, "PATH": folder + ":" + here.env["PATH"], "HOME": here.path}


def bash(here, line, loaded=""):
    script = loaded + 'source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; COMP_WORDS=($2); _dvm_cli; printf "%s\\n" "${COMPREPLY[@]}"'
    result = subprocess.run(["bash", "-c", script, "bash", os.path.join(FOLDER, "dvm-cli.bash"), line], env=in_path(here),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=here.path)
    equal(result.stderr, "", line)
    return set(result.stdout.split("\n")) - {""}


def fish(here, line):
    script = 'source $argv[1]; complete -C $argv[2]'
    result = subprocess.run(["fish", "--no-config", "-c", script, os.path.join(FOLDER, "dvm-cli.fish"), line], env=in_path(here),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=here.path)
    equal(result.stderr, "", line)
    return {row.split("\t")[0] for row in result.stdout.split("\n")} - {""}


ZSH_SETUP = r"""
PROMPT=; RPROMPT=; unsetopt zle_bracketed_paste prompt_cr prompt_sp; LISTMAX=0
fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D
compadd () {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits; builtin compadd -A hits "$@"; print -rl -- "HIT:"${^hits}
}
finish () { print -r -- "EN""D" }
comppostfuncs=(finish)
bindkey '^I' complete-word
print RE""ADY
"""


def zsh(here, line):
    setup = os.path.join(here.path, "setup.zsh")
    with open(setup, "w") as script:
        script.write(ZSH_SETUP % FOLDER)
    shell = Terminal(here, "-f", "-i", env={**in_path(here), "TERM": "xterm"}, program=shutil.which("zsh"))
    try:
        shell.write(f"source {setup}\n".encode())
        shell.read_until(b"READY")
        shell.write(line.encode() + b"\t")
        shell.read_until(b"END")
    finally:
        os.kill(shell.pid, 9)
        shell.wait()
    return set(re.findall(r"HIT:(\S+)", shell.output.decode(errors="replace")))


def test_tables():
    """every verb and option of --help is proposed, and the reverse"""
    with place() as here:
        equal(ask(here, ""), ("words", set(verbs())))
        for verb in verbs():
            own, common = help_options(verb)
            wanted = own | common
            equal(ask(here, verb, "-"), ("words", wanted), verb)
            equal(ask(here, verb, "--"), ("words", {option for option in wanted if option.startswith("--")}), verb)


def test_actions():
    """of a verb with actions those options are proposed that the action takes, and those of every verb"""
    with place() as here:
        common = help_options("session")[1]
        for words, own in (
            (["session", "show"], set()),
            (["session", "3"], set()),
            (["session", "list"], set()),
            (["session", "terminate"], {"--all", "--wait", "-w"}),
            (["session", "signal", "night"], {"--signal", "-s", "--job", "-j", "--all"}),
            (["session", "release"], {"--hosts", "--host", "-H", "--drain-timeout", "--req-id", "--wait", "-w"}),
            (["session", "--wait", "separate"], {"--undo", "--all"}),
            (["session", "no-such-action"], help_options("session")[0]),
            (["campaign", "cancel"], set()),
            (["node", "show"], set()),
            (["node", "drain"], {"--reason"}),
            (["node", "restart"], {"--force"}),
            (["job", "procs"], {"--ranks", "-r", "--json-lines"}),
            (["job", "map"], {"--ranks", "-r", "--json-lines", "--picture", "--svg", "--display"}),
            (["job", "trace"], {"--json-lines"}),
        ):
            equal(ask(here, *words, "-"), ("words", own | common), f"{words}")
        for shell in (bash, fish, zsh):
            equal(shell(here, "dvm-cli session separate --u"), {"--undo"}, shell.__name__)
            equal(shell(here, "dvm-cli session pause --u"), set(), shell.__name__)


def test_values():
    """it is known which options take a value, and what that may be"""
    with place() as here:
        for verb in verbs():
            text = here.cli(verb, "--help").stdout
            for words, takes_value in help_rows(text):
                for option in words:
                    offered = ask(here, verb, option, "--quie")[1]
                    equal(offered == {"--quiet"}, not takes_value, f"{verb} {option}: {offered}")
        for words, wanted in (
            (["start", "--set", "kill-"], ("words", {"kill-grace="})),
            (["start", "--set", "kill-grace=1"], ("words", set())),
            (["config", "archive-"], ("words", {"archive-days", "archive-file", "archive-size"})),
            (["--bus", "s"], ("words", {"session", "system"})),
            (["--bus=s"], ("words", {"--bus=session", "--bus=system"})),
            (["run", "-n", "2", "--when-full", "w"], ("words", {"wait"})),
            (["kill", "-s", "SIGKI"], ("words", {"SIGKILL"})),
            (["kill", "-s", "KI"], ("words", {"KILL"})),
            (["run", "-x", "XDG_RUN"], ("words", {"XDG_RUNTIME_DIR"})),
            (["run", "--wdir", ""], ("directories", set())),
            (["--socket", ""], ("files", set())),
            (["start", "--hostfile", ""], ("files", set())),
            (["run", "--add-hostfile", ""], ("files", set())),
            (["run", "--default-hostfile", ""], ("files", set())),
            (["run", "--dvm-uri", ""], ("none", set())),
            (["run", "--report-uri", ""], ("files", set())),
            (["run", "--keepalive", ""], ("files", set())),
            (["run", "--app-pmix-prefix", ""], ("directories", set())),
            (["run", "--dvm", "s"], ("words", {"search", "system", "system-first"})),
            (["stop", "--namesp"], ("words", {"--namespace"})),
            (["help", "mp"], ("words", {"mpirun"})),
            (["help", "jo"], ("words", {"job", "jobs"})),
            (["campaign", ""], ("words", {"show", "cancel"})),
            (["session", ""], ("words", {"list", "show", "create", "extend", "release", "reaquire", "cancel", "pause", "resume",
                                       "preempt", "restore", "signal", "terminate", "separate"})),
            (["session", "list", ""], ("words", set())),
            (["start", "--launcher", "s"], ("words", {"ssh", "slurm"})),
            (["run", "--rank-by", ""], ("words", {"slot", "node", "fill", "span"})),
            (["run", "--bind-to", "l"], ("words", {"l1cache", "l2cache", "l3cache"})),
            (["run", "--bind-to", "core:"], ("words", {"core:" + word for word in (
                "overload-allowed", "no-overload", "if-supported", "limit=", "report")})),
            (["map", "--map-by", "p"], ("words", {"package", "ppr:", "pe-list="})),
            (["run", "--map-by=device="], ("words", {"--map-by=device=" + word for word in ("", "gpu", "network", "block")})),
            (["run", "--map-by", "node:sp"], ("words", {"node:span"})),
            (["run", "--map-by", "NODE:pe=2:sp"], ("words", {"NODE:pe=2:span"})),
            (["run", "--map-by", "rankfile:f"], ("words", {"rankfile:file="})),
            (["run", "--map-by", "node:f"], ("words", set())),
            (["run", "--map-by", ":nol"], ("words", {":nolocal"})),
            (["run", "--map-by", "ppr:"], ("words", set())),
            (["run", "--map-by", "ppr:2:n"], ("words", {"ppr:2:numa", "ppr:2:node"})),
            (["run", "--map-by", "ppr:2:numa:p"], ("words", {"ppr:2:numa:pe="})),
            (["run", "--display", "map"], ("words", {"map", "map-devel"})),
            (["run", "--display", "map,t"], ("words", {"map,topo"})),
            (["run", "--display", "map,bindings:"], ("words", {"map,bindings:" + word for word in (
                "parseable", "parsable", "physical")})),
            (["run", "--output", "tag,"], ("words", {"tag," + word for word in (
                "tag", "tag-detailed", "tag-fullname", "rank", "timestamp", "merge-stderr-to-stdout", "dir=", "file=", "xml")})),
            (["submit", "--output", "dir=/tmp/x:n"], ("words", {"dir=/tmp/x:nocopy"})),
            (["run", "--runtime-options", "s"], ("words", {"stop-on-exec", "stop-in-init", "stop-in-app", "spawn-timeout=",
                                                           "show-progress"})),
            (["submit", "--runtime-options", "recoverable,sh"], ("words", set())),
            (["top", "--sort", "m"], ("words", set())),
            (["top", "--panel", "nodes", "--sort", "m"], ("words", {"memory", "memory-total", "memory-allotted"})),
            (["top", "-p", "nodes", "--sort", "-m"], ("words", {"-memory", "-memory-total", "-memory-allotted"})),
            (["start", "--set", "heal="], ("words", {"heal=true", "heal=false"})),
            (["start", "--set", "security="], ("words", {"security=tls", "security=none"})),
            (["start", "--set", "launcher=s"], ("words", {"launcher=ssh", "launcher=slurm"})),
            (["start", "--set", "bind-to=pack"], ("words", {"bind-to=package"})),
            (["start", "--set", "map-by=pe-list=0,1:or"], ("words", {"map-by=pe-list=0,1:ordered"})),
            (["start", "--set", "display=map,c"], ("words", {"display=map,cpus"})),
            (["start", "--set", "no-such-setting="], ("words", set())),
            (["run", "--app", ""], ("files", set())),
            (["run", "--prefix", ""], ("directories", set())),
            (["run", "--mca", "btl", ""], ("none", set())),
            (["run", "--mca", "btl", "self", "--report-pid", ""], ("files", set())),
            (["run", "--forward-signals", "USR"], ("words", {"USR1", "USR2"})),
            (["submit", "-f", ""], ("files", set())),
            (["run", ""], ("commands", set())),
            (["run", "-n", "4", "ls", ""], ("program 4", set())),
            (["run", "ls", ":", "-"], ("words", help_options("run")[0] | help_options("run")[1])),
            (["--quiet", "run", "ls", "-l", ""], ("program 3", set())),
            (["no-such-verb", "x"], ("words", set())),
            (["jobs", ""], ("none", set())),
            (["--name", ""], ("words", set())),
        ):
            equal(ask(here, *words), wanted, f"{words}")


def test_jobs():
    """jobs, nodes and DVMs are those that there are"""
    with dvm("--slots=2") as here:
        job = here.cli("submit", "--personality", "plain", "-n", "1", "sleep", "600").stdout.strip()
        ended = here.cli("submit", "--personality", "plain", "-n", "1", "true").stdout.strip()
        here.cli("wait", ended)
        equal(ask(here, "kill", ""), ("words", {job}))
        equal(ask(here, "wait", ""), ("words", {job, ended}))
        equal(ask(here, "wait", job, ended[:4]), ("words", {job, ended}))
        equal(ask(here, "attach", "1"), ("words", {"1"}))
        equal(ask(here, "attach", "1", ""), ("none", set()), "one is enough")
        equal(ask(here, "job", "procs", ""), ("words", {job, ended}))
        equal(ask(here, "--name", ""), ("words", {"default"}))
        equal(ask(here, "--name", "other", "kill", ""), ("words", set()))
        equal(len(ask(here, "run", "--host", "")[1]), 1)
        for shell in (bash, fish, zsh):
            offered = shell(here, "dvm-cli kill ")
            check(offered == {job}, f"{shell.__name__}: {offered}")
        # bash cuts words at the @ of a namespace, and puts back only what stands behind it.
        stem, at, rest = job.partition("@")
        if at:
            equal(bash(here, f"dvm-cli kill {stem}@"), {rest})


def test_elastic():
    """campaigns, sessions and the nodes that may go are those that there are"""
    with dvm("--elastic", "--nodes=2") as here:
        allocation, campaign = here.cli("grow", "--hosts", "n9", "--req-id", "mine", "--wait").stdout.split()
        equal(ask(here, "campaign", "show", ""), ("words", {campaign}))
        equal(ask(here, "campaign", "cancel", ""), ("words", set()), "it is over")
        equal(ask(here, "session", "show", "")[1], {"0", allocation, "mine"})
        equal(ask(here, "session", "pause", "1")[1], {"1"}, "a number")
        equal(ask(here, "run", "--session", "mi")[1], {"mine"})
        equal(ask(here, "run", "--target", "")[1], {"default", allocation})
        equal(ask(here, "run", "--target", "default,d")[1], {"default,default", "default," + allocation})
        equal(ask(here, "run", "--target=default,dv")[1], {"--target=default," + allocation})
        job = here.cli("submit", "--personality", "plain", "-n", "1", "sleep", "600").stdout.strip()
        equal(ask(here, "grow", "--target", "")[1], {job})
        equal(ask(here, "session", "signal", "--job", "")[1], {job})
        here.cli("kill", job)
        equal(ask(here, "shrink", "--alloc-id", "")[1], {allocation})
        equal(ask(here, "shrink", "--of-req-id", "")[1], {"mine"})
        equal(ask(here, "shrink", "--hosts", "n"), ("words", {"node1", "node2", "n9"}))
        equal(ask(here, "shrink", "--hosts", "n9,nod"), ("words", {"n9,node1", "n9,node2"}))
        equal(ask(here, "run", "--host=node1,n9"), ("words", {"--host=node1,n9"}))
        equal(ask(here, "grow", "--hosts", ""), ("none", set()))


def test_shells():
    """the scripts of the three shells show what is proposed"""
    with place() as here:
        os.mkdir(os.path.join(here.path, "a folder"))
        with open(os.path.join(here.path, "job.json"), "w") as file:
            file.write("{}")
        for shell in (bash, fish, zsh):
            name = shell.__name__
            equal(shell(here, "dvm-cli jo"), {"job", "jobs"}, name)
            equal(shell(here, "dvm-cli run --when-full "), {"wait", "refuse", "oversubscribe"}, name)
            equal(shell(here, "dvm-cli stop --fo"), {"--force"}, name)
        # A single file is put into the line at once by zsh, and is no list to be seen.
        for shell in (bash, fish):
            equal(shell(here, "dvm-cli submit --file jo"), {"job.json"}, shell.__name__)
            check("uname" in shell(here, "dvm-cli run unam"), shell.__name__)
        equal(bash(here, "dvm-cli run -n 2 ls job"), {"job.json"})
        equal(fish(here, "dvm-cli run -n 2 cat job"), {"job.json"})
        equal(bash(here, "dvm-cli --bus=s"), {"session", "system"}, "= breaks words too")
        equal(bash(here, "dvm-cli run --map-by node:sp"), {"span"}, ": breaks words too")
        for shell in (fish, zsh):
            equal(shell(here, "dvm-cli run --map-by node:no"), {"node:nolocal", "node:nooversubscribe", "node:noinherit"},
                  shell.__name__)


def test_syntax():
    """the scripts have no mistakes, and zsh finds its own by the name"""
    for shell, name in (("bash", "dvm-cli.bash"), ("zsh", "_dvm-cli"), ("fish", "dvm-cli.fish")):
        result = subprocess.run([shell, "-n", os.path.join(FOLDER, name)], stderr=subprocess.PIPE, text=True)
        equal((result.returncode, result.stderr), (0, ""), name)
    with open(os.path.join(FOLDER, "_dvm-cli")) as script:
        equal(script.readline(), "#compdef dvm-cli dvm-mpirun dvm-srun\n")


if __name__ == "__main__":
    check(os.path.isdir(FOLDER), "no completion")
    sys.exit(run_tests(functions(globals())))
