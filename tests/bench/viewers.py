# SPDX-License-Identifier: LGPL-2.1-or-later
"""What views other than dvm-cli's lists cost with 10,000 jobs on 4,096 nodes: for `views --all`, which has the DVM.

Each line has medians of the processor time of the program and of the DVM in ms, the time until the view is there, and the memory at most.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Views of one thing among many, and the beginning of what follows
VIEWS = [["job", "show", "5000"], ["job", "procs", "5000"], ["job", "map", "5000"], ["job", "trace", "5000"], ["job", "timing", "5000"],
         ["node", "show", "node4000"], ["sessions"], ["session", "show", "0"], ["campaigns"], ["plugins"], ["info"],
         ["map", "-n", "4096", "hostname"], ["events", "--current", "--count", "1"], ["events", "--current", "--count", "14099"]]
COMPLETIONS = [["kill", ""], ["kill", "dvm-fake@"], ["job", "show", ""], ["node", "show", ""], ["run", "--host", ""], ["run", "--target", ""],
               ["run", "--map-by", ""], ["run", "--display", ""], ["start", "--set", ""]]
HISTORIES = [[], ["--json"], ["--failed"], ["--user", "nobody"], ["--label", "none"], ["--job-name", "none"], ["--since", "1h"], ["--until", "2020-01-01"],
             ["--campaigns"], ["5000"], ["-n", "10000"], ["-n", "10000", "--json"]]
# The window says when a frame of it is there, and when one with jobs and nodes is. Without a word behind it: an empty window of libadwaita.
WINDOW = """
import os, signal, sys, time
def tell(what):
    print(what, time.monotonic(), time.process_time(), flush=True)
class Once:
    told = set()
def once(what):
    if what not in Once.told:
        Once.told.add(what)
        tell(what)
if len(sys.argv) == 1:
    import gi
    gi.require_version('Gtk', '4.0')
    gi.require_version('Adw', '1')
    from gi.repository import Adw, Gtk
    class App(Adw.Application):
        def do_activate(self):
            window = Adw.ApplicationWindow(application=self, default_width=1100, default_height=720)
            window.set_content(Adw.HeaderBar())
            window.connect('realize', lambda *_args: window.get_frame_clock().connect('after-paint', lambda _clock: once('frame')))
            window.present()
    App(application_id='org.dvm.Floor').run(None)
    sys.exit()
from dvm_monitor import app, window
make, take = window.Window.__init__, window.Window._on_snapshot
def look(self):
    once('frame')
    last = getattr(self, 'last', 0)
    if 'full' in Once.told and last > self.last_then:
        once('changed')
    if 'full' not in Once.told and len(self._jobs._rows.shown) >= min(30, len(self._jobs._rows)) > 0:
        self.last_then = last
        once('full')
def init(self, *args):
    make(self, *args)
    self.connect('realize', lambda *_args: self.get_frame_clock().connect('after-paint', lambda _clock: look(self)))
def on_snapshot(self, snapshot, sentence):
    take(self, snapshot, sentence)
    self.last = max([job.id for job in snapshot.jobs if job.is_over] if snapshot else [], default=0)
    self.queue_draw()
window.Window.__init__, window.Window._on_snapshot = init, on_snapshot
app.main('0', '/nowhere', sys.argv[1:])
"""


def processor_time(pid):
    """In seconds, of all threads that live."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def read_memory(pid, key="VmHWM"):
    """In MiB"""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) / 1024


def tell(name, runs):
    client, dvm, took, memory = (statistics.median(column) for column in zip(*runs))
    print(f"{name[:34]:34} program {client:6.0f} ms, the DVM {dvm:5.0f} ms, there after {took:6.0f} ms, {memory:4.0f} MiB", flush=True)


def run(here, build, words, env):
    """One command of dvm-cli, with those that it starts"""
    path = os.path.join(build, "cli", "dvm-cli")
    before = processor_time(here.process.pid)
    begun = time.monotonic()
    child = os.posix_spawn(path, [path, *words], {**env, "LD_LIBRARY_PATH": os.path.join(build, "libdvm-gobject")},
                           file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    took = time.monotonic() - begun
    if status != 0:
        sys.exit(f"views: {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return [1e3 * (usage.ru_utime + usage.ru_stime), 1e3 * (processor_time(here.process.pid) - before), 1e3 * took, usage.ru_maxrss / 1024]


def measure_commands(here, build, n_runs):
    for words in VIEWS:
        tell(" ".join(words), [run(here, build, ["--socket", here.socket, *words], here.env) for _ in range(n_runs)])
    for words in COMPLETIONS:
        env = {**here.env, "DVM_SOCKET": here.socket}
        tell(f"complete {' '.join(words)}", [run(here, build, ["__complete", *words], env) for _ in range(n_runs)])


def measure_history(here, build, n_runs):
    """Of a real DVM whose jobs were all called off as it ended"""
    from dvmtest import equal, place
    with place() as other:
        for words in (["start", "--bus", "none", "--slots", "4"],
                      ["submit", "-n", "1", "--hold", "--job-name", "many", "--array", "1-10000", "sleep", "600"], ["stop"]):
            equal(other.cli(*words).returncode, 0, f"{words}")
        for words in HISTORIES:
            tell(" ".join(["history", *words]), [run(here, build, ["history", *words], other.env) for _ in range(n_runs)])


class Reader:
    """One of the server-sent events; buffer: bytes, of one that takes few"""

    def __init__(self, port, buffer=None):
        self.begun = time.monotonic()
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        self.answer = http.client.HTTPResponse(self.socket)
        self.answer.begin()

    def read(self, n_jobs, n_nodes):
        """ms until so many jobs and nodes are there; what the reader itself takes for the JSON is not among them."""
        ids = {"jobs": set(), "nodes": set()}
        while True:
            line = self.answer.readline()
            took = 1e3 * (time.monotonic() - self.begun)
            if not line.startswith(b"data: "):
                continue
            data = json.loads(line[6:])
            for panel, key in (("jobs", "id"), ("nodes", "rank")):
                ids[panel] |= {row[key] for row in data.get(panel, [])}
            if len(ids["jobs"]) >= n_jobs and len(ids["nodes"]) >= n_nodes:
                return took


def fetch(port, path):
    begun = time.monotonic()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", path)
        if len(connection.getresponse().read()) == 0:
            sys.exit(f"views: {path} is empty")
    return 1e3 * (time.monotonic() - begun)


def measure_web(here, build, n_runs):
    """A page that is opened when the server has just begun, one that is opened later, two at once, and metrics"""
    figures = {"web: first picture of all": [], "web: a page later": [], "web: two at once": [], "web: /": [], "web: /metrics": []}
    path = os.path.join(build, "cli", "dvm-cli")
    n_jobs = here.count_running()
    for last in range(n_runs, 0, -1):
        server = subprocess.Popen([path, "--socket", here.socket, "web", "--json", "--no-token"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  env={**here.env, "LD_LIBRARY_PATH": os.path.join(build, "libdvm-gobject")})

        def measure(name, action, server=server):
            before = processor_time(server.pid), processor_time(here.process.pid)
            took = action()
            after = processor_time(server.pid), processor_time(here.process.pid)
            figures[name].append([1e3 * (after[0] - before[0]), 1e3 * (after[1] - before[1]), took, read_memory(server.pid)])

        begun = time.monotonic()
        port = urllib.parse.urlsplit(json.loads(server.stdout.readline())["url"]).port
        since = 1e3 * (time.monotonic() - begun)
        measure("web: first picture of all", lambda since=since, port=port: since + Reader(port).read(n_jobs, here.N_NODES))
        # The whole is kept for a second.
        time.sleep(1.5)
        measure("web: a page later", lambda port=port: Reader(port).read(n_jobs, here.N_NODES))
        time.sleep(1.5)
        measure("web: two at once", lambda port=port: max(reader.read(n_jobs, here.N_NODES) for reader in [Reader(port), Reader(port)]))
        measure("web: /", lambda port=port: fetch(port, "/"))
        measure("web: /metrics", lambda port=port: fetch(port, "/metrics"))
        if last == 1:
            before = read_memory(server.pid, "VmRSS")
            asleep = [Reader(port, 4096) for _ in range(8)]
            time.sleep(5)
            print(f"web: eight readers that take nothing for 5 s: {read_memory(server.pid, 'VmRSS') - before:.0f} MiB more")
            del asleep
        server.terminate()
        server.wait()
        server.stdout.close()
    for name, runs in figures.items():
        tell(name, runs)


def open_window(build, words, wanted, act=None):
    """{what: (ms since the start, ms of the processor)}, and the memory; act(): what is done when the window is full"""
    begun = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", WINDOW, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env={
        **os.environ, "LD_LIBRARY_PATH": os.path.join(build, "libdvm-gobject"), "GI_TYPELIB_PATH": os.path.join(build, "introspection"),
        "PYTHONPATH": ":".join(os.path.join(build, "introspection", name) for name in ("overrides", "python", "monitor"))})
    found = {}
    while wanted not in found:
        line = process.stdout.readline()
        if not line:
            sys.exit("views: the window has ended")
        what, when, cost = line.split()
        found[what] = (1e3 * (float(when) - begun), 1e3 * float(cost))
        if what == "full" and act:
            begun_act = time.monotonic() - begun
            act()
            found["act"] = (1e3 * begun_act, 0)
    memory = read_memory(process.pid)
    process.send_signal(signal.SIGTERM)
    process.wait()
    process.stdout.close()
    return found, memory


def measure_monitor(here, build, n_runs):
    """Beside an empty window: the first frame, the first one with what the DVM has, and one behind the end of a thousand jobs"""
    sys.path.insert(0, os.path.join(SOURCE, "tests", "monitor"))
    import desktop
    why = desktop.missing()
    if why:
        print(f"monitor: not measured: {why}")
        return
    figures = {"monitor: an empty window": [], "monitor: first frame": [], "monitor: first full window": [], "monitor: 1,000 jobs have ended": []}
    display = desktop.Desktop()
    try:
        for number in range(n_runs):
            found, memory = open_window(build, [], "frame")
            figures["monitor: an empty window"].append([found["frame"][1], 0, found["frame"][0], memory])

            def end_some(number=number):
                here.cli("--socket", here.socket, "kill", *[str(number * 1000 + job) for job in range(1, 1001)])

            before = processor_time(here.process.pid)
            found, memory = open_window(build, ["--socket", here.socket], "changed", end_some)
            dvm = 1e3 * (processor_time(here.process.pid) - before)
            for name, what in (("monitor: first frame", "frame"), ("monitor: first full window", "full")):
                figures[name].append([found[what][1], 0, found[what][0], memory])
            figures["monitor: 1,000 jobs have ended"].append([found["changed"][1] - found["full"][1], dvm, found["changed"][0] - found["act"][0], memory])
    finally:
        display.close()
    for name, runs in figures.items():
        tell(name, runs)


def measure_all(here, build, n_runs):
    for function in (measure_commands, measure_history, measure_web, measure_monitor):
        function(here, build, n_runs)
