#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the monitor knows of a DVM, without a window: rows, their bounds, the time line, the map of ranks."""

import os
import sys
import threading

import desktop
from dvmtest import check, dvm, equal, functions, place, run_tests, wait_until


def test_ids():
    """numbers that the DVM answers as ranges are counted, and the last ones are found"""
    from dvm_monitor import reader
    equal(reader.parse_ids("1-3,7"), [(1, 3), (7, 7)])
    equal(reader.count_ids("1-3,7"), 4)
    equal(reader.last_ids("1-3,7,9-20", 4), [17, 18, 19, 20])
    equal(reader.last_ids("1-3,7", 3), [2, 3, 7])
    equal(reader.last_ids("1-3", 10), [1, 2, 3])
    equal(reader.last_ids("", 3), [])
    equal(reader.last_ids("1-9", 3, "6-8"), [4, 5, 9])


def test_columns():
    """rows are made of columns of every type; one value behind the first column is that of all"""
    from gi.repository import GLib
    from dvm_monitor import reader

    def make(**columns):
        return reader.read_rows(GLib.Variant("a{sv}", {name: GLib.Variant(kind, values) for name, (kind, values) in columns.items()}))

    equal(make(Id=("au", [3, 2**32 - 1]), At=("at", [0, 2**63]), Code=("ai", [-1, 7]), Name=("as", ["ä", ""]), Over=("ab", [True, False]),
               Command=("aas", [["a", "b"], []]), Waits=("aao", [["/a"], []])),
          [{"Id": 3, "At": 0, "Code": -1, "Name": "ä", "Over": True, "Command": ["a", "b"], "Waits": ["/a"]},
           {"Id": 2**32 - 1, "At": 2**63, "Code": 7, "Name": "", "Over": False, "Command": [], "Waits": []}])
    equal(make(Id=("au", [1, 2]), Name=("as", ["x"]), Command=("aas", [["y"]])), [{"Id": 1, "Name": "x", "Command": ["y"]}, {"Id": 2, "Name": "x", "Command": ["y"]}])
    equal((make(Id=("au", []), Name=("as", [])), make()), ([], []))


def test_bounds():
    """of live jobs the oldest are kept, of ended ones the last, and the others are counted"""
    import dvm as package
    from dvm_monitor import reader
    reader.MAX_LIVE, reader.MAX_ENDED = 6, 4
    with dvm("--slots=2") as here:
        for _ in range(6):
            equal(here.cli("run", "-n", "1", "true").returncode, 0)
        equal(here.cli("submit", "-n", "1", "--hold", "--array", "0-9", "true").returncode, 0)
        with package.connect(address=os.path.join(here.path, "dvm", "default", "bus")) as vm:
            woken = threading.Event()
            it = reader.Reader(vm, woken.set)
            snapshot = it.read()
            equal([job.id for job in snapshot.jobs if job.is_over], [6, 5, 4, 3])
            equal([job.id for job in snapshot.jobs if not job.is_over], [12, 11, 10, 9, 8, 7])
            equal(snapshot.hidden, 4)
            equal({job.text for job in snapshot.jobs if not job.is_over}, {"waiting for its release"})
            # One that has changed leaves its place to one that was hidden, when the list is read anew.
            woken.clear()
            equal(here.cli("kill", "8").returncode, 0)
            check(woken.wait(60), "a change wakes the reader")
            wait_until(lambda: next(job.text for job in it.read().jobs if job.id == 8) == "cancelled", "the change is read")
            snapshot = it.read()
            equal([job.id for job in snapshot.jobs if job.is_over], [8, 6, 5, 4])
            equal(snapshot.hidden, 4)
            it.close()


def test_memory_allotted():
    """the memory that a scheduler has given of a node is read, and shown for those of which it said so"""
    import dvm as package
    from dvm_monitor import facts, reader
    with place() as here:
        here.env.update({"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "1(x2)", "SLURM_JOB_CPUS_PER_NODE": "2,1",
                         "SLURM_MEM_PER_CPU": "30"})
        words = ("--bus", "none", "--json", "--set", "launcher=local", "--set", "plugin-settings=allocator-slurm.interval=0")
        started = here.cli("start", *words)
        equal(started.returncode, 0, started.stderr)
        try:
            with package.connect(address=os.path.join(here.path, "dvm", "default", "bus")) as vm:
                it = reader.Reader(vm, lambda: None)
                equal({node.name: node.allotted for node in it.read().nodes if node.slots}, {"n1": 60 << 20, "n2": 30 << 20})
                it.close()
        finally:
            equal(here.cli("stop").returncode, 0)
    equal(facts.make_node({"Rank": 3}).allotted, 0)


def test_output():
    """a job has the bytes that it has written, and how many these are in a second, while it runs"""
    import dvm as package
    from dvm_monitor import facts, reader
    with dvm("--slots=2") as here:
        job = here.cli("submit", "--personality", "plain", "-n", "1", "sh", "-c", "while sleep 0.05; do echo 123456789; done").stdout.strip()
        with package.connect(address=os.path.join(here.path, "dvm", "default", "bus")) as vm:
            it = reader.Reader(vm, lambda: None)

            def read():
                it.see('jobs', {1})
                return it.read().jobs[0]

            wait_until(lambda: read().rate > 0, "a rate")
            found = read()
            check(found.output >= 10 and found.output % 10 == 0 and 0 < found.rate < 1000, f"{found}")
            equal(here.cli("kill", job).returncode, 0)
            wait_until(lambda: read().is_over, "the end")
            over = read()
            check(over.rate < 0 and over.output >= found.output, f"one that is over writes nothing: {found} {over}")
            it.close()
    equal(facts.make_job({"Id": 1, "State": 14}).output, 0)


def test_map():
    """ranks stand on the cores of their cpus, those that are bound to none beside them"""
    from dvm_monitor import topology
    machine = [["sig", ["n1"], {"package": ["0-3", "4-7"], "core": ["0,1", "2,3", "4,5", "6,7"]}]]
    rows = [(0, 0, 0, "n1", "0,1", "", ""), (1, 0, 1, "n1", "4", "", ""), (2, 0, 2, "n1", "", "", ""), (3, 0, 0, "n2", "0", "", "")]
    found = topology.make_map(7, rows, machine)
    equal([[core.ranks for core in package] for package in found.nodes[0].packages], [[(0,), ()], [(1,), ()]])
    equal([node.loose for node in found.nodes], [(2,), (3,)])
    equal(topology.make_map(7, [(n, 0, 0, f"n{n}", "", "", "") for n in range(70)], []).n_hidden, 6)


def test_campaigns():
    """a campaign says how far it is; a growth brings all of its nodes or none, and says nothing of them when it has failed"""
    from dvm_monitor import facts
    row = {"Id": 1, "Kind": "shrink", "State": "running", "Targets": [3, 4], "Pending": 1, "Hosts": ["n3", "n4"]}
    equal(facts.make_campaign(row).progress, "1 of 2 nodes")
    row["Kind"] = "grow"
    for state, pending, progress in (("running", 2, "0 of 2 nodes"), ("completed", 0, "2 of 2 nodes"), ("rolling-back", 1, "0 of 2 nodes"), ("failed", 0, "")):
        found = facts.make_campaign({**row, "State": state, "Pending": pending})
        equal((found.progress, found.done), (progress, 2 if state == "completed" else 0), state)


def test_timeline():
    """a job waits, runs and ends on an axis that ends now"""
    from dvm_monitor import facts
    from dvm_monitor.timeline import Axis, describe
    row = {"Id": 1, "CreatedAt": 900_000_000, "StartedAt": 950_000_000, "EndedAt": 975_000_000, "Ended": True, "State": 30}
    job = facts.make_job(row)
    equal(job.phase, facts.DONE)
    equal(Axis(100).place(job, 1000), [(0.0, 0.5, facts.WAITING), (0.5, 0.75, facts.DONE)])
    equal(Axis(10).place(job, 1000), [], "before the axis begins")
    equal(describe(job), "waited 0:50, ran 0:25, done")
    axis = Axis(0)
    axis.fit([job], 1000)
    check(100 < axis.span < 110, f"the axis fits: {axis.span}")


def test_rows():
    """a list changes where its rows do, and no more of them than is said are added at once"""
    from dvm_monitor.lists import splice

    class Store(list):
        def splice(self, position, n_removed, added):
            changes.append((position, n_removed, len(added)))
            self[position:position + n_removed] = added

    changes = []
    items = [object() for _ in range(10)]
    store = Store(items[:6])
    shown = splice(store, items[:6], items[:2] + items[3:6], 5)
    equal((shown, store, changes), (items[:2] + items[3:6], items[:2] + items[3:6], [(2, 1, 0)]))
    shown = splice(store, shown, items, 2)
    equal((shown, len(shown)), (store, 4))
    while shown != items:
        shown = splice(store, shown, items, 2)
        equal(shown, store)


if __name__ == "__main__":
    reason = desktop.missing()
    if reason:
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    sys.exit(run_tests(functions(globals())))
