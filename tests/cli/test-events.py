#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli events, with real DVMs."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from gi.repository import Gio, GLib

from dvmtest import CLI, check, contains, dvm, equal, functions, place, run_tests, wait_until

STATES = ["INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE", "MAP", "MAP_COMPLETE", "LAUNCH_APPS", "RUNNING", "TERMINATED",
          "NOTIFIED"]


class Events:
    """dvm-cli events that has begun to follow."""

    def __init__(self, here, *args, **options):
        self.process = here.popen("events", "--verbose", *args, **options)
        line = self.process.stderr.readline().decode()
        contains(line, "following the DVM", "the beginning")

    def end(self, wanted=0):
        stdout, stderr = self.process.communicate(timeout=60)
        equal(self.process.returncode, wanted, f"exit status, {stderr}")
        return stdout.decode(), stderr.decode()

    def objects(self, wanted=0):
        return [json.loads(line) for line in self.end(wanted)[0].splitlines()]


def submit(here, *args):
    result = here.cli("submit", "--personality", "plain", *args)
    equal(result.returncode, 0, result.stderr)
    return result.stdout.strip()


def test_every_state():
    """every state of every job is told, in order, however short the jobs are"""
    with dvm("--slots=32") as here:  # no job waits for another one
        blocker = submit(here, "-n", "1", "sleep", "600")
        events = Events(here, "--json", "--until-idle", "--kind", "job,proc")
        jobs = [submit(here, "-n", "1", "true") for _ in range(20)]
        here.cli("wait", *jobs)
        here.cli("kill", "-9", blocker)
        rows = events.objects()
        for job in jobs:
            mine = [row for row in rows if row["name"] == job and row["kind"] == "job"]
            equal([row["new"] for row in mine if row["new"] in STATES], STATES, job)
            for before, after in zip(mine, mine[1:]):
                equal(after["old"], before["new"], job)
            procs = [row for row in rows if row["name"] == job and row["kind"] == "proc"]
            check(all(row["rank"] == 0 for row in procs), "ranks")
            equal(procs[-1]["new"], "TERMINATED", job)
        check(all(re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$", row["time"]) for row in rows), "times")
        equal(sorted(row["time"] for row in rows), [row["time"] for row in rows], "the order")
        check(all(row["object"] == f"/org/dvm/jobs/{row['id']}" and row["current"] is False for row in rows), "objects")


def test_start_in_a_storm():
    """whoever begins while many jobs end misses the end of none"""
    with dvm("--slots=4") as here:
        blocker = submit(here, "-n", "4", "sleep", "600")
        script = 'for i in $(seq 60); do "$0" submit --personality plain -n 1 true; done'
        subprocess.run(["bash", "-c", script, CLI], env=here.env, stdout=subprocess.DEVNULL, check=True)
        here.cli("kill", "-9", blocker)
        watchers = [here.popen("events", "--until-idle") for _ in range(8)]
        for watcher in watchers:
            watcher.communicate(timeout=60)
            equal(watcher.returncode, 0)


def connect(here):
    return Gio.DBusConnection.new_for_address_sync(f"unix:path={here.path}/dvm/default/bus",
                                                   Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT, None, None)


def call(connection, method, signature, *values, interface="org.dvm.Manager"):
    """What the manager answers."""
    reply = connection.call_sync(None, "/org/dvm/Manager", interface, method, GLib.Variant(signature, values), None, 0, 300000,
                                 None)
    return reply.unpack()[0]


def test_beside_thousands():
    """who follows ten thousand jobs hears of the end of each, also when he reads nothing for a while, and others are served"""
    with dvm("--slots=4") as here, tempfile.TemporaryFile() as output:
        submit(here, "-n", "4", "sleep", "600")
        events = Events(here, "--json", "--until-idle", "--kind", "job", stdout=output)
        slow = Events(here, "--json", "--until-idle", "--kind", "job")
        options = {"np": GLib.Variant("u", 1), "personality": GLib.Variant("s", "plain")}
        connection = connect(here)
        jobs = call(connection, "SubmitMany", "(a(asa{sv})a{sv})", [(["sleep", "600"], options)] * 10000, {})
        equal(len(jobs), 10000)
        equal(here.json("job", "show", "1")["num-procs"], 4, "others are served")
        equal((events.process.poll(), slow.process.poll()), (None, None), "nobody is sent away")
        equal(call(connection, "CancelJobs", "(a{sv})", {"all": GLib.Variant("b", True)}), 10001)
        equal(events.process.wait(300), 0)
        late, _ = slow.process.communicate(timeout=300)
        equal(slow.process.returncode, 0)
        output.seek(0)
        for lines in (output, late.splitlines()):
            ends = {row["object"]: row["new"] for row in map(json.loads, lines)}
            equal(set(ends), {*jobs, "/org/dvm/jobs/1"}, "each of them is told of")
            equal(set(ends.values()), {"KILLED_BY_CMD"}, "and so is its end")
        events.process.stderr.close()
        connection.close_sync(None)


def test_filters():
    """jobs, kinds and counts are chosen; what is now comes first if asked for"""
    with dvm("--slots=4") as here:
        one = submit(here, "-n", "2", "sleep", "600")
        two = submit(here, "-n", "1", "sleep", "600")
        wait_until(lambda: here.json("job", "show", one)["num-launched"] == 2, "it runs")
        events = Events(here, "--json", "--procs", "--until-idle", one)
        here.cli("kill", "-9", two)
        here.cli("wait", two)
        here.cli("kill", "-9", one)
        rows = events.objects()
        equal({row["name"] for row in rows}, {one})
        equal({row.get("rank") for row in rows}, {None, 0, 1})
        result = here.cli("events", "--json", "--current", "--kind", "node,dvm,session", "--count", "4")
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        equal([row["new"] for row in rows if row["kind"] == "session"], ["active"])
        equal({row["kind"] for row in rows}, {"node", "dvm", "session"})
        check(all(row["current"] and row["old"] == "" for row in rows), "these are no changes")
        equal([row["new"] for row in rows if row["kind"] == "node"], ["UP", "UP"])
        equal(here.cli("events", "--until-idle").returncode, 0, "nothing to wait for")


def test_text():
    """a line for people has time, object, states and reason"""
    with dvm("--slots=2") as here:
        events = Events(here, "--count", "1")
        job = submit(here, "-n", "1", "true")
        text, _ = events.end()
        check(re.match(rf"^\d\d:\d\d:\d\d\.\d\d\d job {job}: \w+ -> \w+( \(.*\))?\n$", text), text)


def test_usage():
    """wrong kinds are named"""
    with place() as here:
        for args, mention in (
            (["--kind", "jobs"], "'jobs' is no kind of event"),
            (["--kind", "node", "1"], "of the kinds job and proc alone"),
            (["--count", "0"], "not '0'"),
        ):
            result = here.cli("events", *args)
            equal(result.returncode, 2, f"{args}")
            contains(result.stderr, mention)
        equal(here.cli("events").returncode, 1, "no DVM")


def test_ends():
    """Ctrl-C, a reader that goes and a DVM that goes end it, each in its way"""
    with dvm("--slots=2") as here:
        events = Events(here)
        events.process.send_signal(signal.SIGINT)
        equal(events.end(-signal.SIGINT), ("", ""))
        events = Events(here)
        events.process.stdout.close()
        equal(events.process.wait(60), 0, "nothing happens, and yet the reader is missed")
        events.process.stderr.close()
        with open("/dev/full", "w") as full:
            result = here.cli("events", "--current", stdout=full)
        equal(result.returncode, 1)
        contains(result.stderr, "cannot write to standard output")
        pipe = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" events --current | head -1', CLI], env=here.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        equal((pipe.returncode, pipe.stderr, pipe.stdout.count("\n")), (0, "", 1))
        events = Events(here)
        equal(here.cli("stop").returncode, 0)
        _, stderr = events.end(1)
        contains(stderr, "the DVM has gone")


def test_reconnect():
    """with --reconnect the next DVM is followed too"""
    with dvm("--slots=2") as here:
        env = {"XDG_CONFIG_HOME": here.path}
        events = Events(here, "--json", "--reconnect", "--kind", "dvm,job")
        equal(here.cli("stop").returncode, 0)
        here.process.wait(60)
        equal(here.cli("start", "--bus", "none", env=env).returncode, 0)
        seen = []
        try:
            while not seen or seen[-1]["new"] != "connected":
                seen.append(json.loads(events.process.stdout.readline()))
            # Now and then it has to be followed before the job is there.
            contains(events.process.stderr.readline().decode(), "following the DVM")
            job = submit(here, "-n", "1", "true")
            while seen[-1]["new"] != "NOTIFIED":
                seen.append(json.loads(events.process.stdout.readline()))
            equal(seen[-1]["name"], job)
        finally:
            here.cli("stop", "--force", env=env)
            events.process.terminate()
            events.end(-signal.SIGTERM)
        check(("connected", "gone") in [(row["old"], row["new"]) for row in seen], f"{seen}")


if __name__ == "__main__":
    check(os.path.exists(CLI), "no dvm-cli")
    sys.exit(run_tests(functions(globals())))
