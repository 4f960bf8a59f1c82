#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-monitor in a window on a display of its own, used by keys alone, and read as a screen reader does."""

import os
import shutil
import subprocess
import sys
import threading
import time

import desktop
from desktop import Desktop, Monitor
from dvmtest import CLI, LIMIT, Crowd, Dvm, check, contains, crowd, dvm, equal, functions, keep_going, resident, run_tests, wait_until

DESKTOP = None
LONG = os.environ.get("DVM_TEST_SOAK") == "1"
PICTURES = os.environ.get("DVM_TEST_PICTURES", "")
# Seconds each: they are there in the soak, and by name.
SLOW = ("test_nodes", "test_pictures", "test_many", "test_crowd")
# What GTK calls a widget that has no name of its own: the name of its class.
CLASSES = ("Gtk", "Adw", "DvmMonitor")
ACTIVE = ("push button", "toggle button", "check box", "combo box", "entry", "text", "table", "image")


def socket(here):
    return os.path.join(here.path, "dvm", "default", "bus")


class Window(Monitor):
    """A context: the program for the DVM of a place, with the keys."""

    def __init__(self, here, *options, command=None):
        super().__init__(DESKTOP, "--socket", here.socket if isinstance(here, Crowd) else socket(here), *options, command=command)

    def __enter__(self):
        self.focus()
        return self

    def __exit__(self, kind, *_rest):
        if kind is None:
            self.close()
        else:
            self.process.kill()
            self.process.wait()
            print("\n".join(f"# it said: {line}" for line in (self.process.stderr.read() or b"").decode().splitlines()))
            self.process.stderr.close()

    def page(self, key, name):
        self.press(f"alt+{key}")
        wait_until(lambda: any(role == "page tab" and text == name and self.has_state(node, "SELECTED") for _, role, text, node in self.walk()),
                   f"the page {name} is shown")

    def has_state(self, node, name):
        return node.get_state_set().contains(getattr(self.desktop.atspi.StateType, name))


def submit(here, *args):
    result = here.cli("submit", "--personality", "plain", *args)
    equal(result.returncode, 0, result.stderr)


def job(here, number):
    return next(row for row in here.json("jobs", "--all") if row["id"] == number)


def test_pages():
    """jobs, nodes, the map and campaigns are shown, by keys, and all that can be pressed has a name"""
    with dvm("--nodes=2", "--slots=2") as here:
        submit(here, "-n", "3", "sleep", "611")
        with Window(here) as window:
            names = window.shows("sleep 611", "running")
            contains(names, "ready", "the summary")
            contains(names, "3/4", "the summary")
            check(any(name.startswith("waited 0:00, ran ") for name in names), "the time line speaks")
            window.page(2, "Nodes")
            window.shows("node1", "node2", "Slots in use: 2/2", "Memory in use: ", "Load: ")
            window.page(3, "Map")
            window.shows("Job 1", "Package 0", "Not bound to cores: ranks 0, 1")
            window.page(4, "Campaigns")
            window.shows("No Campaigns")
            window.page(1, "Jobs")
            unnamed = [(role, name) for _, role, name, _ in window.walk() if role in ACTIVE and role != "image" and name.startswith(CLASSES)]
            equal(unnamed, [], "what has no name")


def test_jobs():
    """a job is submitted, held, released and cancelled by keys; its states and its output are shown"""
    with dvm("--slots=2") as here:
        submit(here, "-n", "1", "--hold", "sleep", "622")
        with Window(here) as window:
            window.shows("waiting for its release")
            window.press("ctrl+n")
            window.shows("The program runs with the environment of the DVM")
            window.press("Return")
            window.shows("The command is missing")
            window.type("sh -c 'echo from the job; exec sleep 633'")
            window.press("Return")
            window.shows("Job 2 is submitted", "echo from the job")
            check(any("Job 2 is submitted" in text for text in window.descriptions()), "it stays when it has gone from the screen")
            equal(job(here, 2)["command"], ["sh", "-c", "echo from the job; exec sleep 633"])
            # The first row is the younger one.
            window.press("alt+1", "Down", "Down", "ctrl+i")
            window.shows("States")
            window.press("ctrl+r")
            window.shows("Job 1 is not held any more")
            wait_until(lambda: job(here, 1)["state"] == "RUNNING", "the job runs")
            window.press("alt+1", "Up", "ctrl+o")
            wait_until(lambda: any("from the job" in text for text in texts(window)), "the output")
            window.press("Escape")
            window.press("ctrl+Delete")
            window.shows("Cancel Job 2?", "Its process is ended")
            window.press("Escape")
            window.hides("Cancel Job 2?")
            equal(job(here, 2)["state"], "RUNNING", "who keeps it has it")
            window.press("ctrl+Delete")
            window.shows("Cancel Job 2?")
            window.press("alt+c")
            window.shows("cancelled")
            wait_until(lambda: job(here, 2)["state"] == "KILLED_BY_CMD", "the job is cancelled")


def texts(window):
    """What is in text views."""
    for _, role, _, node in window.walk():
        if role in ("text", "entry"):
            interface = node.get_text_iface()
            if interface is not None:
                # The interface by its name: the object has a get_text() of its own, which later releases deprecate.
                text = window.desktop.atspi.Text
                yield text.get_text(interface, 0, text.get_character_count(interface))


def test_nodes():
    """a node is drained and resumed, nodes come and go; what the DVM refuses is said in its words"""
    with dvm("--nodes=2", "--slots=1", "--elastic") as here:
        with Window(here) as window:
            window.shows("node1", "node2")
            window.page(2, "Nodes")
            window.press("Down", "ctrl+d")
            window.shows("takes no new jobs", "drained")
            window.press("ctrl+u")
            window.hides("drained")
            window.press("ctrl+plus")
            window.shows("Number of nodes, or their names")
            window.press("ctrl+a")
            window.type("node3")
            window.press("Return")
            window.shows("Campaign 1 has begun", "node3")
            window.page(4, "Campaigns")
            window.shows("Growth 1", "1 of 1 nodes")
            window.press("ctrl+minus")
            window.shows("Names of the nodes")
            window.press("ctrl+a")
            window.type("node3")
            window.press("Return")
            window.shows("Shrinking 2")
            wait_until(lambda: "node3" not in {row["name"] for row in here.json("nodes")}, "the node leaves")
    with dvm("--nodes=1", "--slots=1") as here:
        refused = here.cli("grow", "--hosts", "node9").stderr.strip().removeprefix("dvm-cli: ")
        with Window(here) as window:
            window.shows("ready")
            window.press("ctrl+plus")
            window.shows("Number of nodes, or their names")
            window.press("ctrl+a")
            window.type("node9")
            window.press("Return")
            window.shows(refused)


def test_restart():
    """a window outlives its DVM, and shows the next one at the same place"""
    first = Dvm("--nodes=1", "--slots=1")
    try:
        submit(first, "-n", "1", "sleep", "644")
        with Window(first) as window:
            window.shows("sleep 644")
            equal(first.cli("stop", "--force").returncode, 0)
            first.process.wait()
            window.shows("No DVM")
            window.hides("sleep 644")
            second = subprocess.Popen([os.environ["DVM_DVMD"], "--bus=none", "--nodes=1", "--slots=1"], env=first.env, stdout=subprocess.DEVNULL)
            try:
                window.shows("ready")
                submit(first, "-n", "1", "sleep", "655")
                window.shows("sleep 655")
            finally:
                second.terminate()
                second.wait()
    finally:
        first.close()


def test_pictures():
    """light and dark are what they are called; the pictures of the documents are made here"""
    with dvm("--nodes=4", "--slots=4", "--elastic", "--set=radix=2") as here:
        # Nothing waits for these times: they are how long the bars of the picture are.
        submit(here, "-n", "5", "sleep", "111")
        here.cli("run", "-n", "1", "sleep", "1.5")
        submit(here, "-n", "3", "sleep", "222")
        here.cli("run", "-n", "1", "sh", "-c", "sleep 0.8; false")
        submit(here, "-n", "4", "sleep", "333")
        submit(here, "-n", "14", "sleep", "444")
        brightness = {}
        for style in ("light", "dark"):
            with Window(here, "--style", style) as window:
                window.shows("sleep 444", "failed")
                window.press("alt+1", "Down", "Down", "Down", "ctrl+i")
                window.shows("States", "Running")
                path = os.path.join(PICTURES, f"monitor-{style}.png") if PICTURES else ""
                brightness[style] = sum(DESKTOP.picture(path)) / (3 * desktop.WIDTH * desktop.HEIGHT)
        check(brightness["light"] > 180 and brightness["dark"] < 80, f"light and dark: {brightness}")


class Answers(threading.Thread):
    """Asks the main loop of the window again and again, and remembers how long its answers took."""

    def __init__(self, window):
        super().__init__(daemon=True)
        from gi.repository import Gio, GLib
        self.glib = GLib
        self.bus = Gio.DBusConnection.new_for_address_sync(os.environ["DBUS_SESSION_BUS_ADDRESS"],
                                                           Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
                                                           | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
        self.owner = next(name for name in self.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "ListNames")
                          if name.startswith(":") and self.is_of(name, window.process.pid))
        self.over = threading.Event()
        self.pid = window.process.pid
        self.times = []
        self.costs = []

    def call(self, name, path, interface, method, *words):
        parameters = self.glib.Variant("(" + "s" * len(words) + ")", words) if words else None
        return self.bus.call_sync(name, path, interface, method, parameters, None, 0, int(LIMIT * 1000), None).unpack()[0]

    def is_of(self, name, pid):
        bus = "org.freedesktop.DBus"
        if self.call(bus, "/", bus, "GetConnectionUnixProcessID", name) != pid:
            return False
        try:
            return bool(self.call(name, "/org/dvm/Monitor/window/1", "org.gtk.Actions", "DescribeAll"))
        except self.glib.Error:
            return False

    def show_page(self, name):
        """As its key does; a screen reader's view of so many rows would take longer than what is measured."""
        self.bus.call_sync(self.owner, "/org/dvm/Monitor/window/1", "org.gtk.Actions", "Activate",
                           self.glib.Variant("(sava{sv})", ("show-page", [self.glib.Variant("s", name)], {})), None, 0, int(LIMIT * 1000), None)

    def get_cost(self):
        """Seconds of a processor that the thread of the window has had, whatever else this machine does"""
        with open(f"/proc/{self.pid}/task/{self.pid}/schedstat") as file:
            return int(file.read().split()[0]) / 1e9

    def run(self):
        while not self.over.wait(0.005):
            begin, cost = time.monotonic(), self.get_cost()
            self.call(self.owner, "/org/dvm/Monitor/window/1", "org.gtk.Actions", "DescribeAll")
            self.times.append(time.monotonic() - begin)
            self.costs.append(self.get_cost() - cost)

    def stop(self):
        self.over.set()
        self.join(LIMIT)
        self.costs.sort()
        return sorted(self.times)

    def describe(self):
        return ", ".join(f"{what} {part * 100:g} % within {values[min(int(len(values) * part), len(values) - 1)] * 1000:.1f} ms"
                         for what, values in (("cost", sorted(self.costs)), ("time", sorted(self.times))) for part in (0.5, 0.99, 0.999, 1))


def wait_for_end(here, n):
    """Until so many jobs have ended in all. As long as some do, it goes on."""
    ended = -1
    while ended < n:
        before = ended
        wait_until(lambda: here.json("top", "-p", "campaigns")["jobs-ended"] > before, "jobs end")
        keep_going()
        ended = here.json("top", "-p", "campaigns")["jobs-ended"]


def test_many():
    """of many jobs a bounded number is read and shown, and the window answers meanwhile"""
    n, step = (100000, 5000) if LONG else (100, 100)
    with dvm("--slots=4") as here:
        with Window(here) as window:
            window.shows("ready")
            answers = Answers(window)
            answers.start()
            memory = []
            for begin in range(0, n, step):
                submit(here, "-n", "1", "--array", f"0-{step - 1}", "true")
                wait_for_end(here, begin + step)
                memory.append(resident(window.process.pid))
            window.shows(f"{min(n, 500)} jobs")
            wait_until(lambda: str(n) in window.names("label"), "the number of jobs that have ended")
            times = answers.stop()
            submit(here, "-n", "1", "--hold", "--array", "0-1999", "true")
            window.shows("1000 more are waiting behind them", f"{1000 + min(n, 500)} jobs")
            print(f"# {n} jobs: {len(times)} answers, half of them within {times[len(times) // 2] * 1000:.1f} ms, 99 of 100 within "
                  f"{times[len(times) * 99 // 100] * 1000:.1f} ms, all within {times[-1] * 1000:.1f} ms; memory {memory[0] >> 10} to {memory[-1] >> 10} KiB")
            check(not LONG or memory[-1] < memory[len(memory) // 4] * 1.15, f"memory grows: {memory}")


def test_crowd():
    """with 4,096 nodes, and 100,000 jobs that come and go, each page answers within 100 ms, and the memory is bounded"""
    pages = ("jobs", "nodes", "map", "campaigns")
    n, step = (100000, 5000) if LONG else (10000, 5000)
    with crowd(0) as here, Window(here) as window:
        window.page(2, "Nodes")
        window.shows(f"{here.N_NODES} nodes")
        answers = Answers(window)
        answers.start()
        memory = []
        for begin in range(0, n, step):
            answers.show_page(pages[begin // step % len(pages)])
            here.submit_many(step)
            # All of an array have the number of its first job.
            equal(here.cli("--socket", here.socket, "kill", f"array:{begin + 1}").returncode, 0)
            here.wait_for_running(0)
            memory.append(resident(window.process.pid))
        answers.show_page("jobs")
        window.shows("500 jobs")
        answers.stop()
        print(f"# {n} jobs: {answers.describe()}; memory {', '.join(str(size >> 20) for size in memory)} MiB")
        costs = answers.costs
        check(costs[len(costs) * 99 // 100] < 0.1, f"99 of 100 answers cost up to {costs[len(costs) * 99 // 100]} s")
        check(not LONG or memory[-1] < memory[len(memory) // 4] * 1.15, f"memory grows: {memory}")


def test_verb():
    """dvm-cli monitor becomes the window of the DVM that it names, and says so where there is none to start"""
    with dvm("--slots=1") as here:
        submit(here, "-n", "1", "sleep", "677")
        with Window(here, "--style", "dark", command=[CLI, "monitor"]) as window:
            window.shows("sleep 677")
        for wrong in (("--json",), ("--bus", "session"), ("--style", "green")):
            equal(here.cli("monitor", *wrong).returncode, 2, f"{wrong}")
        alone = os.path.join(here.path, "dvm-cli")
        shutil.copy(CLI, alone)
        result = subprocess.run([alone, "monitor"], env={**here.env, "LD_LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"]}, capture_output=True, text=True, check=False)
        equal(result.returncode, 1)
        contains(result.stderr, "dvm-monitor is not installed")


def test_refusals():
    """two names of a DVM, no display, and --help: a sentence and a status each"""
    def run(*options, **env):
        return subprocess.run([sys.executable, os.environ["DVM_TEST_MONITOR"], *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={**os.environ, **env}, check=False)
    result = run("--name=a", "--socket=b")
    equal(result.returncode, 2)
    contains(result.stderr, "give one of them")
    result = run(DISPLAY="", WAYLAND_DISPLAY="")
    equal(result.returncode, 1, result.stderr)
    contains(result.stderr, "there is no display")
    equal(run("--help").returncode, 0)


def main():
    global DESKTOP
    reason = desktop.missing()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    DESKTOP = Desktop()
    try:
        return run_tests([test for test in functions(globals()) if LONG or test.__name__ not in SLOW or test.__name__ in sys.argv])
    finally:
        DESKTOP.close()


if __name__ == "__main__":
    sys.exit(main())
