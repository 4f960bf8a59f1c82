#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli config, job timing and nodes: what can be looked at."""

import json
import os
import re
import subprocess
import sys
import time

from dvmtest import check, contains, dvm, equal, functions, place, run_tests, wait_until


def write_conf(here, text):
    os.makedirs(os.path.join(here.path, "dvm"), exist_ok=True)
    path = os.path.join(here.path, "dvm", "dvm.conf")
    with open(path, "w") as file:
        file.write(text)
    return path


def test_config_sources():
    """every setting is there with its value and where it comes from"""
    with place() as here:
        settings = {one["name"]: one for one in here.json("config")}
        check({"kill-grace", "history-limit", "pmix"} <= set(settings), f"{set(settings)}")
        for one in settings.values():
            equal(set(one), {"name", "value", "built-in", "source", "place", "takes", "description"})
        equal((settings["kill-grace"]["value"], settings["kill-grace"]["source"]), ("5", "built-in"))
        path = write_conf(here, "# mine\n[dvm]\nkill-grace = 2\nhistory-limit = 7\npmix = eager\n")
        result = here.cli("config", "--json", "--set", "pmix=lazy", env={"DVM_HISTORY_LIMIT": "9"})
        found = {one["name"]: (one["value"], one["source"], one["place"]) for one in json.loads(result.stdout)}
        equal(found["kill-grace"], ("2", "user-file", f"{path}:3"))
        equal(found["history-limit"], ("9", "environment", "DVM_HISTORY_LIMIT"))
        equal(found["pmix"], ("lazy", "command-line", ""))
        equal([one["name"] for one in here.json("config", "--changed")], ["history-limit", "kill-grace", "pmix"])
        equal([one["name"] for one in here.json("config", "pmix")], ["pmix"])
        equal(here.cli("config").stdout.split("\n")[0].split(), ["SETTING", "VALUE", "SOURCE", "PLACE"])
        contains(here.cli("config", "kill-grace").stdout, "Built in: 5\n")


MACHINE = ("--topology", "package:2 numa:1 core:4 pu:2")


def test_defaults():
    """what jobs get that say nothing: program before job before DVM before what is built in; it is told, and changes at once"""
    with place() as here:
        def started(*args):
            result = here.cli("start", "--bus", "none", *args)
            return result.returncode, result.stderr

        def nodes(*args):
            result = here.cli("map", "--json", *args)
            equal(result.returncode, 0, result.stderr)
            return "".join(row["node"][-1] for row in json.loads(result.stdout))

        show = ("sh", "-c", "echo $DVM_NODE")
        equal(started("--nodes", "3", "--slots", "4", "--map-by", "node", "--bind-to", "none", "--output", "tag", "--display", "map")[0], 0)
        try:
            equal(here.json("info")["defaults"], {"map-by": "node", "bind-to": "none", "output": "tag", "display": "map"})
            equal({one["name"]: one["value"] for one in here.json("config", "--running", "map-by", "output")}, {"map-by": "node", "output": "tag"})
            contains(here.cli("status").stdout, "Defaults: map-by node, bind-to none, output tag, display map\n")
            equal(nodes("-n", "3", "x"), "123")
            equal(nodes("-n", "2", "--map-by", "slot", "x"), "11")
            equal(nodes("-n", "3", "--map-by", ":OVERSUBSCRIBE", "x"), "123")
            equal(nodes("-n", "2", "x", ":", "-n", "2", "--map-by", "slot", "y"), "1211")
            # A job that is told where its output goes and what is shown has that alone.
            result = here.cli("run", "--personality", "plain", "-n", "2", *show)
            check(re.search(r"^RANK ", result.stdout, re.MULTILINE), result.stdout)
            equal(sorted(line.split()[-1] for line in result.stdout.splitlines() if "stdout" in line), ["node1", "node2"])
            result = here.cli("run", "--personality", "plain", "--display", "allocation", "--output", "rank", "-n", "1", *show)
            check(not re.search(r"^RANK ", result.stdout, re.MULTILINE), result.stdout)
            contains(result.stdout, "[0]<stdout>: node1")
            result = here.cli("run", "--personality", "plain", "--json", "-n", "1", "true")
            equal(json.loads(result.stdout)["state"], "NOTIFIED", result.stdout)
            # Of those of the command line the settings that are read again leave the values.
            write_conf(here, "[dvm]\nrank-by = slow\n")
            result = here.cli("reload")
            check(result.returncode != 0, result.stdout)
            contains(result.stderr, "The settings have a wrong default for jobs: rank-by: ")
            write_conf(here, "[dvm]\nrank-by = slot\nmap-by = core\n")
            equal(here.cli("reload").returncode, 0)
            equal({name: here.json("info")["defaults"][name] for name in ("map-by", "rank-by")}, {"map-by": "node", "rank-by": "slot"})
        finally:
            equal(here.cli("stop").returncode, 0)
        write_conf(here, "[dvm]\n")
        for words, mention in (
            (("--map-by", "slow"), "map-by: unknown word “slow”"),
            (("--map-by", "core", "--bind-to", "numa"), "bind-to: “numa” is above what map-by gives a process, “core”"),
            (("--set", "map-by=rankfile:file=/x"), "“rankfile” is for one job"),
            (("--output", "shout"), "output: unknown word “shout”"),
            (("--display", "shout"), "option --display: unknown word 'shout'"),
        ):
            status, told = started(*words)
            equal(status, 2, told)
            contains(told, mention)
            equal(here.cli("status").returncode, 1)
        # It is told where the word was said.
        result = here.cli("start", "--bus", "none", env={**here.env, "DVM_MAP_BY": "slow"})
        equal(result.returncode, 2, result.stderr)
        contains(result.stderr, "(DVM_MAP_BY: map-by = slow)")
        write_conf(here, "[dvm]\nmap-by = slow\n")
        result = here.cli("start", "--bus", "none")
        equal(result.returncode, 2, result.stderr)
        contains(result.stderr, "dvm.conf:2: map-by = slow)")


def test_defaults_and_job():
    """a default that contradicts what a job says is not for that job"""
    with place() as here:
        def cpus(defaults, *words):
            env = {**here.env, **{"DVM_" + name: value for name, value in defaults.items()}}
            number = [] if "-n" in words else ["-n", "2"]
            result = here.cli("map", *MACHINE, "--json", *number, *words, "x", env=env)
            equal(result.returncode, 0, result.stderr)
            return [row["cpuset"] for row in json.loads(result.stdout)]

        equal(cpus({}), ["0-1", "2-3"])
        equal(cpus({"MAP_BY": "package"}), ["0-7", "8-15"])
        equal(cpus({"MAP_BY": "package", "BIND_TO": "core"}), ["0-1", "8-9"])
        equal(cpus({"MAP_BY": "package", "BIND_TO": "package"}, "--map-by", "core"), ["0-1", "2-3"])
        equal(cpus({"MAP_BY": "core", "RANK_BY": "fill"}, "--bind-to", "package"), ["0-7", "8-15"])
        equal(cpus({"MAP_BY": "package:SPAN", "RANK_BY": "span"}, "--map-by", "slot", "--bind-to", "core"), ["0-1", "2-3"])
        equal(cpus({"MAP_BY": ":OVERSUBSCRIBE"}, "--when-full", "refuse"), ["0-1", "2-3"])
        for words in (["--map-by", ":OVERSUBSCRIBE"], ["--when-full", "oversubscribe"]):
            equal(cpus({"BIND_TO": "core"}, "-n", "17", *words), [""] * 17)
            equal(cpus({"BIND_TO": "core:overload-allowed"}, "-n", "17", *words)[0], "0-1")
        equal(cpus({"BIND_TO": "core"}, "--map-by", ":OVERSUBSCRIBE", "--bind-to", "package"), ["0-7", "8-15"])
        with open(os.path.join(here.path, "ranks"), "w") as file:
            file.write("rank 0=head slot=3\nrank 1=head slot=1\n")
        equal(cpus({"BIND_TO": "package"}, "--rankfile", os.path.join(here.path, "ranks")), ["6-7", "2-3"])
        equal(cpus({"BIND_TO": "package"}, "--cpu-set", "3,1"), ["2-3,6-7", "2-3,6-7"])


def test_config_running():
    """a DVM that runs tells its own settings, and what waits for a restart"""
    with dvm("--slots=2", "--set", "kill-grace=3") as here:
        settings = {one["name"]: one for one in here.json("config", "--running")}
        equal(set(settings), {one["name"] for one in here.json("config")})
        one = settings["kill-grace"]
        equal((one["value"], one["source"], one["changes"], one["waiting"]), ("3", "command-line", "at-once", ""))
        check("kill-grace" in {one["name"] for one in here.json("config", "--running", "--changed")}, "it was given")
        write_conf(here, "[dvm]\nhistory-limit = 7\nradix = 4\n")
        equal(here.cli("reload").returncode, 0)
        settings = {one["name"]: one for one in here.json("config", "--running", "radix", "history-limit")}
        equal((settings["history-limit"]["value"], settings["radix"]["value"]), ("7", "32"))
        contains(settings["radix"]["waiting"], "4")
        contains(here.cli("config", "--running", "radix").stdout, "After a restart: 4")
        equal(here.cli("config", "-r").stdout.split("\n")[0].split()[:4], ["SETTING", "VALUE", "SOURCE", "PLACE"])
        result = here.cli("config", "--running", "--set", "radix=5")
        equal(result.returncode, 2)
        contains(result.stderr, "--set is for a DVM that is started")
        result = here.cli("config", "--running", "radxi")
        equal(result.returncode, 2)
        contains(result.stderr, "did you mean 'radix'?")
    with place() as here:
        equal(here.cli("config", "--running").returncode, 1)


def test_config_mistakes():
    """mistakes are told with their place"""
    with place() as here:
        result = here.cli("config", "kill-garce")
        equal(result.returncode, 2)
        contains(result.stderr, "did you mean 'kill-grace'?")
        result = here.cli("config", "--set", "kill-grace=x")
        equal((result.returncode, result.stdout), (1, ""))
        contains(result.stderr, 'dvm-cli: command line: "x" is no value of kill-grace')
        path = write_conf(here, "[dvm]\n\nkil-grace = 2\n")
        result = here.cli("config")
        equal(result.returncode, 1)
        contains(result.stderr, f'dvm-cli: {path}:3: there is no setting "kil-grace"')
        result = here.cli("config", env={"DVM_DVMD": "/no/dvmd"})
        equal(result.returncode, 1)
        contains(result.stderr, "/no/dvmd")
        result = here.cli("config", env={"DVM_DVMD": "/bin/true"})
        contains(result.stderr, "not understood")


def test_dump_is_for_a_full_disk_too():
    """dvmd says when its settings cannot be written"""
    with place() as here, open("/dev/full", "w") as full:
        result = subprocess.run([os.environ["DVM_DVMD"], "--dump-config"], stdout=full, env=here.env)
        check(result.returncode != 0, "a full disk is no success")


def test_timing():
    """timing tells how long each phase took, of several jobs the median"""
    with dvm("--slots=4") as here:
        go = here.path + "/go"
        jobs = []
        for program in (["true"], ["true"], ["sh", "-c", f"until test -e {go}; do sleep 0.02; done"]):
            jobs.append(here.cli("submit", "--personality", "plain", "-n", "2", *program).stdout.strip())
        here.cli("wait", *jobs[:2])
        wait_until(lambda: here.json("job", "show", jobs[2])["state"] == "RUNNING", "it runs")
        # It lasts longer than all that has been, however slow that was.
        longest = max(row["took-us"] or 0 for job in jobs for row in here.json("job", "timing", job)["phases"])
        end = time.monotonic() + 0.3 + longest / 1e6
        wait_until(lambda: time.monotonic() > end, "it to have lasted longest")
        with open(go, "w"):
            pass
        here.cli("wait", jobs[2])
        one = here.json("job", "timing", jobs[2])
        equal(one["jobs"], [jobs[2]])
        phases = {row["phase"]: row for row in one["phases"]}
        equal(list(phases), ["submitted", "mapped", "first-process", "all-running", "registered", "ended", "notified"])
        equal(phases["registered"]["took-us"], None, "a plain job registers nowhere")
        known = [row for row in one["phases"] if row["at-us"] is not None]
        check(phases["ended"]["took-us"] >= 300000, f"it lasted: {phases['ended']}")
        equal(max(known[:-1], key=lambda row: row["took-us"])["phase"], "ended", "it lasted after all ran")
        equal(sum(row["took-us"] for row in known), known[-1]["at-us"], "the phases follow each other")
        equal(sorted(row["at-us"] for row in known), [row["at-us"] for row in known])
        three = {row["phase"]: row for row in here.json("job", "timing", *jobs)["phases"]}
        equal(three["ended"]["jobs"], 3)
        equal(three["ended"]["most-us"], phases["ended"]["took-us"])
        check(three["ended"]["least-us"] <= three["ended"]["took-us"] <= longest, "the median is not the mean")
        text = here.cli("job", "timing", jobs[0]).stdout
        equal(text.split("\n")[0].split(), ["PHASE", "MS", "SINCE", "START"])
        check("registered" not in text, text)
        contains(here.cli("job", "timing", *jobs).stdout, "MEDIAN MS")
        result = here.cli("job", "show", *jobs)
        equal(result.returncode, 2, "only timing takes several")
        equal(here.cli("job", "timing", "999").returncode, 1)


def test_nodes():
    """nodes are chosen by rank and state, and so are columns"""
    with dvm("--slots=3") as here:
        equal([node["rank"] for node in here.json("nodes", "--ids", "1-5,9")], [1])
        equal([node["rank"] for node in here.json("nodes", "--state", "UP,DOWN")], [0, 1])
        equal(here.json("nodes", "--state", "DOWN"), [])
        equal([node["rank"] for node in here.json("nodes", "--state", "up")], [0, 1])
        equal([node["rank"] for node in here.json("nodes", "--free")], [1])
        lines = here.cli("nodes", "--columns", "name,free,state", "--ids", "1").stdout.split("\n")
        equal(lines[0].split(), ["NAME", "FREE", "STATE"])
        equal(lines[1].split()[1:], ["3", "UP"])
        check(len(re.findall(r"\S+", here.cli("nodes", "--columns=all").stdout.split("\n")[0])) >= 16, "all columns")
        for args, mention in ((["--columns", "nmae"], "'nmae' is no column"), (["--ids", "3-1"], "not '3-1'"), (["--ids", "x"], "not 'x'"),
                              (["--state", "AWAY"], "'AWAY' is no state"), (["--columns", ""], "empty")):
            result = here.cli("nodes", *args)
            equal(result.returncode, 2, f"{args}")
            contains(result.stderr, mention)


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
