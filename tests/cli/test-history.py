#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli history: what stays of jobs and campaigns when their DVM has gone."""

import contextlib
import json
import os
import shutil
import signal
import stat
import sqlite3
import subprocess
import sys

from dvmtest import CLI, alive, check, contains, equal, functions, place, run_alone, run_tests, wait_until


def cli(here, *words, status=0):
    result = here.cli(*words)
    equal(result.returncode, status, f"{words}: {result.stdout}{result.stderr}")
    return result


def start(here, *words):
    cli(here, "start", "--bus", "none", *words)


def history(here, *words):
    return json.loads(cli(here, "history", "--json", *words).stdout)


def archive(here):
    """The file, of the DVM without a name"""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(here.env["XDG_STATE_HOME"]) for name in names if name == "archive"]
    equal(len(found), 1)
    return found[0]


def test_jobs():
    """jobs of two DVMs, one after the other, with how they ended; filters; nothing but the owner may read it"""
    with place() as here:
        contains(cli(here, "history", status=1).stderr, "There is no archive")
        start(here, "--slots", "2")
        cli(here, "run", "-n", "2", "--job-name", "good", "--label", "night", "true")
        cli(here, "run", "-n", "1", "sh", "-c", "exit 7", status=7)
        cli(here, "stop")
        start(here, "--slots", "2")
        number = cli(here, "submit", "-n", "1", "sleep", "1000").stdout.strip()
        cli(here, "kill", number)
        cli(here, "wait", number, status=125)
        cli(here, "stop")
        rows = history(here)
        equal([(row["id"], row["name"], row["state"], row["exit"], row["procs"], row["command"]) for row in rows[:2]],
              [(1, "good", "done", "0", 2, "true"), (2, "sh", "failed", "7", 1, "sh -c exit 7")])
        equal((rows[2]["id"], rows[2]["state"]), (1, "cancelled"))
        equal(rows[0]["label"], "night")
        check(rows[0]["instance"] == rows[1]["instance"] != rows[2]["instance"], "each DVM has its own")
        check(rows[0]["created"] <= rows[0]["started"] <= rows[0]["ended"] <= rows[1]["ended"], rows)
        equal([row["exit"] for row in history(here, "--failed")][:1], ["7"])
        equal([row["id"] for row in history(here, "--job-name", "good")], [1])
        equal([row["id"] for row in history(here, "--label", "night")], [1])
        equal(len(history(here, "1")), 2)
        equal(len(history(here, "--last", "1")), 1)
        equal(history(here, "--last", "1")[0]["state"], "cancelled")
        equal(len(history(here, "--since", "1h")), 3)
        equal(history(here, "--until", "1h"), [])
        equal(history(here, "--since", "2100-01-01"), [])
        equal(len(history(here, "--until", "2100-01-01T12:00")), 3)
        equal(len(history(here, "--user", str(os.getuid()))), 3)
        equal(history(here, "--user", "4294967294"), [])
        text = cli(here, "history").stdout
        equal(text.splitlines()[0].split(), ["ID", "NAME", "USER", "STATE", "EXIT", "PROCS", "ENDED", "TIME", "COMMAND"])
        contains(text, "sh -c exit 7")
        equal(stat.S_IMODE(os.stat(archive(here)).st_mode), 0o600)


def test_words():
    """words are translated for people, and not for programs"""
    with place() as here:
        start(here)
        cli(here, "run", "-n", "1", "sh", "-c", "kill -9 $$", status=137)
        contains(cli(here, "jobs", "--all").stdout, " SIGKILL ")
        cli(here, "stop")
        # A locale that need not be installed
        shutil.copytree("/usr/lib/locale/C.utf8", here.path + "/locale/de_DE.utf8")
        here.env.update(LOCPATH=here.path + "/locale", LC_ALL="de_DE.UTF-8", LANGUAGE="", DVM_LOCALE_DIR=os.path.join(os.path.dirname(CLI), "..", "po"))
        row, = history(here)
        equal((row["state"], row["exit"]), ("failed", "SIGKILL"))
        equal(cli(here, "history").stdout.splitlines()[1].split()[3:5], ["gescheitert", "SIGKILL"])


def test_never_started():
    """a job that the DVM has refused has no exit code, and none that looks like success, as in the list of jobs"""
    with place() as here:
        start(here, "--slots", "2")
        cli(here, "run", "-n", "3", "true", status=125)
        listed = [cli(here, *words).stdout.splitlines() for words in (("jobs", "--all"), ("history",))]
        equal([dict(zip(head.split(), row.split()))["EXIT"] for head, row in listed], ["-", "-"])
        cli(here, "stop")
        row, = history(here)
        equal((row["state"], row["exit"], row["procs"]), ("failed", "", 0))


def test_campaigns():
    """changes of size, with their hosts"""
    with place() as here:
        start(here, "--elastic", "--nodes", "2", "--slots", "1")
        cli(here, "shrink", "--hosts", "node2", "--wait")
        cli(here, "stop")
        rows = history(here, "--campaigns")
        equal([(row["kind"], row["state"], row["hosts"]) for row in rows], [("shrink", "completed", "node2")])
        equal(history(here), [])


def test_limits():
    """what is older than archive-days goes when the next DVM starts; archive-file = none keeps nothing; one elsewhere is written there"""
    with place() as here:
        start(here)
        for _ in range(3):
            cli(here, "run", "-n", "1", "true")
        cli(here, "stop")
        with sqlite3.connect(archive(here)) as database:
            database.execute("UPDATE records SET ended = ended - 40 * 86400000000 WHERE id < 3")
        database.close()
        equal(len(history(here)), 3)
        start(here)
        cli(here, "stop")
        equal([row["id"] for row in history(here)], [3])
        start(here, "--set", "archive-file=none")
        cli(here, "run", "-n", "1", "true")
        cli(here, "stop")
        equal(len(history(here)), 1)
        elsewhere = here.path + "/elsewhere"
        start(here, "--set", f"archive-file={elsewhere}")
        cli(here, "run", "-n", "1", "hostname")
        cli(here, "stop")
        equal([row["command"] for row in history(here, "--archive", elsewhere)], ["hostname"])


def test_waiting():
    """of jobs that waited, what they have is written and no empty properties: many end at once when a DVM does"""
    with place() as here:
        start(here, "--slots", "1")
        cli(here, "submit", "--hold", "--array", "1-200", "-n", "1", "true")
        cli(here, "stop")
        rows = history(here, "--last", "1000")
        equal([(row["id"], row["name"], row["state"], row["procs"]) for row in rows], [(i, f"true[{i}]", "cancelled", 0) for i in range(1, 201)])
        with contextlib.closing(sqlite3.connect(archive(here))) as database:
            n_bytes, = database.execute("SELECT sum(length(record)) FROM records").fetchone()
        check(n_bytes / 200 < 700, f"{n_bytes / 200} bytes for each job")


def test_size():
    """the oldest go when the archive is too large"""
    with place() as here:
        path = here.path + "/small"
        start(here, "--set", f"archive-file={path}", "--set", "archive-size=1 MiB", "--slots", "1")
        cli(here, "run", "-n", "1", "true")
        cli(here, "stop")
        database = sqlite3.connect(path)
        with database:
            for i in range(2, 502):
                database.execute("INSERT INTO records SELECT kind, instance, ?, ended + ?, failed, uid, label, name, zeroblob(8000) FROM records WHERE id = 1", (i, i))
        database.close()
        start(here, "--set", f"archive-file={path}", "--set", "archive-size=1 MiB")
        cli(here, "stop")
        database = sqlite3.connect(path)
        ids = [row[0] for row in database.execute("SELECT id FROM records ORDER BY id")]
        database.close()
        check(50 < len(ids) < 200, f"{len(ids)} are left")
        equal(ids[-1], 501)
        check(os.stat(path).st_size < 1.3 * 2**20, os.stat(path).st_size)


def ask(path, question):
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as database:
        return database.execute(question).fetchall()


def find_dvmd(here, name="default"):
    with open(f"{here.state}/dvm/{name}/watch") as file:
        return int(file.read().split()[0])


def kill_dvmd(here, name="default"):
    pid = find_dvmd(here, name)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid), "it has ended")


def test_killed():
    """a job that runs as its DVM is killed is lost, with the reason, at once and after the next start; one of a DVM that lives is not"""
    with place() as here:
        path = here.path + "/shared"
        for name in ("one", "two"):
            start(here, "--name", name, "--slots", "2", "--set", f"archive-file={path}")
            cli(here, "submit", "--name", name, "-n", "1", "--label", name, "--job-name", "long", "sleep", "1000")
            cli(here, "run", "--name", name, "-n", "1", "true")
        wait_until(lambda: ask(path, "SELECT count(*) FROM running") == [(2,)], "both jobs are put down")
        equal([row["name"] for row in history(here, "--archive", path)], ["true", "true"])
        kill_dvmd(here, "one")

        def seen(*words):
            return [(row["label"], row["id"], row["state"], row["exit"]) for row in history(here, "--archive", path, *words)]

        lost = [("one", 1, "lost", "")]
        for words in (("--failed",), ("--label", "one"), ("--job-name", "long"), ("--user", str(os.getuid()), "1"), ("--since", "1h", "--failed")):
            equal(seen(*words), lost, words)
        equal((seen("--label", "two"), seen("--until", "1h"), seen("--campaigns"), len(seen())), ([], [], [], 3))
        row, = history(here, "--archive", path, "--failed")
        contains(row["reason"], "its DVM was killed")
        check(row["started"] < row["ended"], row)
        before = history(here, "--archive", path)
        # The next that writes takes them among those that have ended; what it shows is the same.
        start(here, "--name", "one", "--set", f"archive-file={path}")
        wait_until(lambda: ask(path, "SELECT count(*) FROM running") == [(1,)], "that of the other DVM is left")
        equal(history(here, "--archive", path), before)
        for name in ("one", "two"):
            cli(here, "stop", "--name", name)
        equal(seen("--label", "two"), [("two", 1, "cancelled", "SIGTERM")])
        equal(ask(path, "SELECT count(*) FROM running"), [(0,)])


def test_killed_early():
    """a job that waits as its DVM is killed, and a campaign that goes on, are lost as well, and those that have ended are not"""
    with place() as here:
        start(here, "--elastic", "--nodes", "1", "--slots", "1")
        path = archive(here)
        cli(here, "grow", "--hosts", "more", "--wait")
        cli(here, "submit", "-n", "1", "--host", "more", "--label", "runs", "sleep", "1000")
        wait_until(lambda: here.json("job", "show", "1")["state"] == "RUNNING", "it runs")
        cli(here, "submit", "-n", "1", "--hold", "--label", "waits", "true")
        cli(here, "submit", "-n", "1", "--hold", "--label", "goes", "true")
        cli(here, "shrink", "--hosts", "more", "--drain-timeout", "600")
        wait_until(lambda: ask(path, "SELECT count(*) FROM running") == [(4,)], "jobs and the campaign are put down")
        cli(here, "kill", "3")
        wait_until(lambda: ask(path, "SELECT count(*) FROM running") == [(3,)], "one is cancelled")
        equal(history(here, "--label", "waits") + history(here, "--campaigns", "--failed"), [])
        # As it was when it had waited, it had no node yet.
        wait_until(lambda: ask(path, "SELECT count(*) FROM running WHERE id = 1 AND instr(record, 'StartedAt')") == [(1,)], "it is put down as it runs")
        kill_dvmd(here)

        def seen(*words):
            return [(row["id"], row["label"], row["state"], row["nodes"], row["started"] is not None) for row in history(here, *words)]

        lost = [(1, "runs", "lost", "more", True), (2, "waits", "lost", "", False)]
        equal([row for row in seen() if row[0] != 3], lost)
        equal(seen("3"), [(3, "goes", "cancelled", "", False)])
        campaigns = history(here, "--campaigns")
        equal([(row["id"], row["kind"], row["state"], row["hosts"]) for row in campaigns], [(1, "grow", "completed", "more"), (2, "shrink", "lost", "more")])
        equal(history(here, "--campaigns", "--failed"), campaigns[1:])
        contains(campaigns[1]["reason"], "its DVM was killed, or its machine went down: how the campaign ended is not known")
        contains(cli(here, "history", "--campaigns").stdout, "lost")
        start(here, "--slots", "1")
        wait_until(lambda: ask(path, "SELECT count(*) FROM running") == [(0,)], "they are taken")
        equal(([row for row in seen() if row[0] != 3], history(here, "--campaigns")), (lost, campaigns))
        cli(here, "stop")


def fill_disk(here):
    start(here, "--slots", "1")
    path = archive(here)
    cli(here, "run", "-n", "1", "true")
    filler = here.state + "/filler"
    with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(512)):
            pass
    for i in range(30):
        cli(here, "run", "-n", "1", "--label", f"of-{i}", "sh", "-c", "exit 3", status=3)

    def told():
        return cli(here, "status").stderr

    wait_until(lambda: "archive of the DVM cannot be written now" in told(), "status tells it")
    contains(told(), "the log of the DVM could not be written; lines that it lacks: ")
    found = [row["verdict"] for row in json.loads(here.cli("doctor", "--json").stdout) if row["check"] == "disk"]
    equal(found, ["bad", "bad"])
    numbers = here.json("job", "show", "30")
    equal(numbers["exit-code"], 3)
    contains(cli(here, "run", "-n", "1", "--report-uri", here.state + "/uri", "true", status=125).stderr, "No space left on device")
    contains(cli(here, "run", "-n", "1", "--output", f"file={here.state}/out", "echo", "x", status=125).stderr, "No space left on device")
    check(len(history(here)) < 30, "the archive has no room for them")
    os.unlink(filler)
    wait_until(lambda: "archive" not in told(), "it is written")
    equal({row["label"] for row in history(here, "--failed")} - {""}, {f"of-{i}" for i in range(30)})
    contains(cli(here, "logs").stdout, "lines before this one are lost")
    contains(cli(here, "logs").stdout, f"The archive {path} is written again")
    cli(here, "stop")
    # A disk that was full before: all that is in the archive can be read, and the next DVM says where it is short of room.
    before = history(here)
    with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(512)):
            pass
    equal(history(here), before)
    contains(cli(here, "start", "--bus", "none", "--name", "default").stderr, "has hardly any room: the DVM cannot write its log and its history there")
    cli(here, "run", "-n", "1", "true")
    cli(here, "stop")


def full_disk():
    """Of test_full, in a mount namespace of its own: the state directory has no room while jobs end"""
    with place() as here:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k,mode=0700", "tmpfs", here.state], check=True)
        try:
            fill_disk(here)
        finally:
            here.end_dvms()
            subprocess.run(["umount", "-l", here.state], check=True)


def test_full():
    """a disk that is full is told by status and the log; what has ended meanwhile is written when there is room again"""
    run_alone(full_disk)


def test_damage():
    """an archive that is none is told, and the DVM works all the same; wrong usage is named"""
    with place() as here:
        path = here.path + "/text"
        with open(path, "w") as file:
            file.write("this is no database, and long enough to be taken for one" * 100)
        contains(cli(here, "history", "--archive", path, status=1).stderr, "not a database")
        empty = here.path + "/empty"
        with open(empty, "w"):
            pass
        contains(cli(here, "history", "--archive", empty, status=1).stderr, f"The archive {empty} is empty: its DVM has not begun to write it")
        start(here, "--set", f"archive-file={path}")
        cli(here, "run", "-n", "1", "true")
        contains(cli(here, "logs").stdout, "Jobs that have ended are not kept")
        cli(here, "stop")
        for words, part in ((("--since", "yesterday"), "no time such as"), (("--user", "no-such-user"), "there is no user"),
                            (("x",), "no number of a job"), (("--campaigns", "--label", "x"), "not of campaigns")):
            contains(cli(here, "history", *words, status=2).stderr, part)


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
