#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-monitor in a window on a display of its own, used by keys alone, and read as a screen reader does."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import desktop
from desktop import Desktop, Monitor, run_xdotool
from dvmtest import CLI, LIMIT, Crowd, Dvm, check, contains, crowd, dvm, equal, functions, keep_going, place, resident, run_tests, wait_until

DESKTOP = None
LONG = os.environ.get("DVM_TEST_SOAK") == "1"
PICTURES = os.environ.get("DVM_TEST_PICTURES", "")
# Seconds each: they are there in the soak, and by name.
SLOW = ("test_nodes", "test_tree", "test_silent", "test_errors", "test_pictures", "test_many", "test_crowd")
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
            self.said += self.process.stderr.read() or b""
            print("\n".join(f"# it said: {line}" for line in self.said.decode(errors="replace").splitlines()))
            self.process.stderr.close()

    def page(self, key, name):
        self.press(f"alt+{key}")
        wait_until(lambda: any(role == "page tab" and text == name and self.has_state(node, "SELECTED") for _, role, text, node in self.walk()),
                   f"the page {name} is shown")

    def has_state(self, node, name):
        return node.get_state_set().contains(getattr(self.desktop.atspi.StateType, name))

    def is_focused(self, role, name):
        return any(this == role and text.startswith(name) and self.has_state(node, "FOCUSED") for _, this, text, node in self.walk())

    def has_focus(self, role, name):
        wait_until(lambda: self.is_focused(role, name), f"the focus is on the {role} {name}")

    def box(self, role, name):
        """Of the first one of that name: x, y, width, height, in its window"""
        node = next(node for _, this, text, node in self.walk() if this == role and text == name)
        box = self.desktop.atspi.Component.get_extents(node, self.desktop.atspi.CoordType.WINDOW)
        return box.x, box.y, box.width, box.height

    def resize(self, width, height):
        run_xdotool("windowsize", "--sync", self.window(), str(width), str(height))

    def size(self):
        words = run_xdotool("getwindowgeometry", "--shell", self.window()).split()
        values = dict(word.split("=") for word in words)
        return int(values["WIDTH"]), int(values["HEIGHT"])


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
            unnamed = [(role, name) for _, role, name, _ in window.walk() if role in ACTIVE and role != "image" and (name.startswith(CLASSES) or "_" in name)]
            equal(unnamed, [], "what has no name, or one with a mark for its key")


def test_focus():
    """what has the focus says what it is; Tab leaves a list however long it is, and a search gives the rows back"""
    with dvm("--nodes=2", "--slots=2") as here:
        submit(here, "-n", "1", "sleep", "611")
        submit(here, "-n", "1", "--hold", "--array", "0-3", "true")
        with Window(here) as window:
            window.shows("5 jobs", "running")
            window.press("alt+1", "End", "ctrl+i")
            window.has_focus("table row", "Job 1, running, sleep 611")
            window.shows("States")
            window.press("Tab")
            window.has_focus("push button", "Close Details")
            window.press("shift+Tab")
            window.has_focus("table row", "Job 1, ")
            window.press("shift+Tab")
            window.has_focus("push button", "Span of the time line")
            window.page(3, "Map")
            window.shows("Not bound to cores")
            window.has_focus("table cell", "node")
            window.page(2, "Nodes")
            window.has_focus("panel", "node1")
            window.press("ctrl+f")
            window.has_focus("entry", "Find")
            window.type("node2")
            window.hides("node1, up")
            window.press("Return")
            window.has_focus("panel", "node2")
            window.press("ctrl+f", "Escape")
            window.shows("node1, up")
            window.has_focus("panel", "node2")
            window.press("Up")
            window.has_focus("panel", "node1")


def test_forms():
    """a form reads its entries out, and Enter in each of them does it; the window of keys is no larger than a small screen"""
    with dvm("--slots=2") as here, Window(here) as window:
        window.shows("ready")
        window.press("F1")
        window.shows("Keyboard shortcuts", "Quit")
        width, height = window.size()
        check(width <= 1000 and height <= 680, f"the window of keys: {width} x {height}")
        window.press("Escape")
        window.hides("Quit")
        window.press("ctrl+n")
        window.has_focus("text", "Command")
        window.type("sleep 611")
        wait_until(lambda: "sleep 611" in texts(window), "the command is read")
        window.press("Tab")
        window.has_focus("spin button", "Processes")
        window.press("Up", "Return")
        window.shows("Job 1 is submitted")
        equal(len(here.json("job", "procs", "1")), 2)


def test_room():
    """nodes have room for their names and all of their columns, also beside a job, and on a small screen"""
    with dvm("--nodes=3", "--slots=2", "--set=radix=2") as here, Window(here) as window:
        window.shows("ready")
        window.page(2, "Nodes")
        window.shows("node3", "3 nodes")
        for width, beside in ((1024, False), (1100, True)):
            window.resize(width, 700)
            if beside:
                window.press("ctrl+i")
                window.shows("No Job Selected")
            end = width - (340 if beside else 0)
            wait_until(lambda end=end: end - 300 < window.box("label", "Reason")[0] < end - 60, f"the last title is in the window of {width}")
            for name in ("node1", "node3"):
                check(window.box("label", name)[2] >= 36, f"{name} has {window.box('label', name)}")


@contextlib.contextmanager
def allocation(nodes, *words, slots=1, cpus="2,1", memory="30"):
    """A DVM in what a scheduler has given: logical nodes, with the memory (MiB) of each cpu"""
    with place() as here:
        here.env.update({"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": nodes, "SLURM_TASKS_PER_NODE": str(slots), "SLURM_JOB_CPUS_PER_NODE": cpus,
                         "SLURM_MEM_PER_CPU": memory})
        started = here.cli("start", "--bus=none", "--json", "--set", "launcher=local", "--set", "plugin-settings=allocator-slurm.interval=0", *words)
        equal(started.returncode, 0, started.stderr)
        try:
            yield here
        finally:
            equal(here.cli("stop", "--force").returncode, 0)


def test_tree():
    """a tree that changes keeps the node that is selected, and the focus; memory that is allotted has a column where there is some"""
    with dvm("--nodes=3", "--slots=1", "--elastic", "--set=radix=2") as here, Window(here) as window:
        window.shows("node1", "node2")
        window.page(2, "Nodes")
        window.press("Down")
        window.has_focus("panel", "node3")
        equal(here.cli("grow", "--wait", "--hosts", "node4,node5,node6").returncode, 0)
        window.shows("node6", "6 nodes")
        window.has_focus("panel", "node3")
        window.press("ctrl+d")
        window.shows("Node node3 takes no new jobs", "node3, drained")
        check("Memory allotted" not in window.names("label"), "no scheduler has told of memory")
    with allocation("n[1-2]", slots="1(x2)") as here, Window(here) as window:
        window.shows("ready")
        window.page(2, "Nodes")
        window.shows("Memory allotted", "60 MiB", "30 MiB")


def test_silent():
    """a DVM that does not answer is told of, and a window that still looks for it can be closed"""
    with dvm("--slots=1") as here:
        stopped = here.process.pid
        with Window(here) as window:
            window.shows("ready")
            os.kill(stopped, signal.SIGSTOP)
            try:
                window.shows("no answer", "The DVM does not answer")
            finally:
                os.kill(stopped, signal.SIGCONT)
            window.shows("ready", "The DVM answers again")
        os.kill(stopped, signal.SIGSTOP)
        try:
            with Window(here) as window:
                window.shows("There is one, which does not answer")
                window.press("ctrl+q")
                equal(window.process.wait(LIMIT), 0)
        finally:
            os.kill(stopped, signal.SIGCONT)


def test_two():
    """windows of two DVMs have their names, and each shows its own"""
    with dvm("--name=one", "--slots=1") as here:
        equal(here.cli("start", "--bus=none", "--name=two", "--slots=2").returncode, 0)
        windows = []
        try:
            for name, slots in (("one", "0/1"), ("two", "0/2")):
                windows.append(Monitor(DESKTOP, "--name", name, env={"XDG_RUNTIME_DIR": here.path}))
                windows[-1].shows(f"{name} – DVM Monitor", "ready", slots)
        finally:
            for window in windows:
                window.close()
            equal(here.cli("stop", "--name=two").returncode, 0)


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
            window.shows("Growth 1, done, 1 of 1 nodes, node3")
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


def list_reds(rgb):
    """Of pixels in the output window that are red, how bright they are"""
    rows = (rgb[3 * desktop.WIDTH * y:3 * desktop.WIDTH * y + 3 * 300] for y in range(60, 130))
    return [r + g + b for row in rows for r, g, b in zip(row[::3], row[1::3], row[2::3]) if r - g > 100 and r - b > 100]


def test_errors():
    """what a job writes to standard error is red that can be read, in light and dark"""
    with dvm("--slots=1") as here:
        submit(here, "-n", "1", "sh", "-c", "while echo WWWWWWWWWWWWWWWWWWWW >&2; do sleep 0.2; done")
        for style, is_legible in (("light", lambda reds: min(reds, default=765) < 350), ("dark", lambda reds: max(reds, default=0) > 400)):
            with Window(here, "--style", style) as window:
                window.shows("running")
                window.press("alt+1", "End", "ctrl+o")
                wait_until(lambda: any("WWW" in text for text in texts(window)), "the output")
                wait_until(lambda: is_legible(list_reds(DESKTOP.picture(""))), f"letters that can be read in {style}")
                window.press("Escape")


# Opens and closes windows while another thread makes garbage, as the one that reads the DVM does; prints which threads have freed them.
FREES = """
import os, threading
from dvm_monitor import dialogs, facts, output
from dvm_monitor._toolkit import Adw, GLib, collect_in_main_context

N = 6
threads, over = [], threading.Event()
app = Adw.Application(application_id="org.dvm.Frees", flags=1 << 5)

class Link:
    def work(self, function, done, failed):
        GLib.idle_add(lambda: done((os.open("/dev/null", os.O_RDONLY),)))

def note():
    threads.append(threading.current_thread() is threading.main_thread())
    if len(threads) == N:
        over.set()
        GLib.idle_add(app.quit)

def open_one(window):
    window.weak_ref(note)
    window.present()
    GLib.idle_add(window.close)

def litter():
    while not over.is_set():
        for _ in range(1000):
            cycle = []
            cycle.append(cycle)
        over.wait(0.001)

def activate(app):
    parent = Adw.ApplicationWindow(application=app)
    parent.present()
    for _ in range(N // 2):
        open_one(output.OutputWindow(parent, Link(), facts.make_job({"Id": 1, "State": 14})))
        open_one(dialogs.GrowForm(parent, Link(), print))
    threading.Thread(target=litter, daemon=True).start()

collect_in_main_context()
app.connect("activate", activate)
app.run(None)
print(threads)
"""


def test_frees():
    """a window that was closed is freed, by the thread that draws and by no other"""
    result = subprocess.run([sys.executable, "-c", FREES], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LIMIT,
                            env={**os.environ, "G_DEBUG": "fatal-warnings", "PYTHONFAULTHANDLER": "1"})
    equal((result.returncode, result.stdout), (0, f"{[True] * 6}\n"), result.stderr)


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
    with allocation("n[1-7]", "--set", "radix=2", slots="4(x7)", cpus="4(x7)", memory="2048") as here:
        submit(here, "-n", "13", "sleep", "111")
        equal(here.cli("node", "drain", "n6", "--reason", "new memory comes").returncode, 0)
        with Window(here, "--style", "light") as window:
            window.shows("running")
            window.page(2, "Nodes")
            window.shows("n7", "drained", "new memory comes", "8.0 GiB")
            wait_until(lambda: sum(text.startswith("Memory in use: ") and not text.endswith("–") for text in window.names("level bar")) == 7, "all are measured")
            window.press("Down")
            if PICTURES:
                DESKTOP.picture(os.path.join(PICTURES, "monitor-nodes.png"))


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
