# SPDX-License-Identifier: LGPL-2.1-or-later
"""A desktop of our own: a display that nobody sees, a session bus, and what a screen reader sees of the window on it."""

import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from dvmtest import LIMIT, Failed, check, wait_until

WIDTH, HEIGHT = 1100, 720
# Rows of a list that are too many to be read one by one.
MANY = 50
# It is for the program: what the tree of a screen reader warns of is no matter of ours. GLib reads it once.
os.environ.pop("G_DEBUG", None)


def missing():
    """Why the tests cannot run here; empty if they can."""
    for program, package in (("Xvfb", "xvfb"), ("xdotool", "xdotool"), ("dbus-daemon", "dbus-daemon")):
        if shutil.which(program) is None:
            return f"no {program} here ({package})"
    try:
        import gi
        for name, version in (("Gtk", "4.0"), ("Adw", "1"), ("Atspi", "2.0"), ("GdkPixbuf", "2.0")):
            gi.require_version(name, version)
    except (ImportError, ValueError) as error:
        return str(error)
    return ""


def read_line(fd, what):
    """What a program writes when it is ready."""
    text = b""
    while not text.endswith(b"\n"):
        check(select.select([fd], [], [], LIMIT)[0], f"{what} does not come up")
        piece = os.read(fd, 256)
        check(piece, f"{what} has ended")
        text += piece
    return text.decode().strip()


class Desktop:
    def __init__(self):
        self.processes = []
        self.path = tempfile.mkdtemp(prefix="dvmmonitor-")
        os.chmod(self.path, 0o700)
        # Whatever else it finds of a desktop is not ours: neither settings nor another display.
        for name in ("WAYLAND_DISPLAY", "DBUS_STARTER_ADDRESS", "AT_SPI_BUS_ADDRESS", "GTK_A11Y", "GTK_THEME"):
            os.environ.pop(name, None)
        os.environ.update(XDG_RUNTIME_DIR=self.path, XDG_CONFIG_HOME=self.path, XDG_CACHE_HOME=self.path, XDG_DATA_HOME=self.path, HOME=self.path,
                          GDK_BACKEND="x11", GSK_RENDERER="cairo", GSETTINGS_BACKEND="memory", NO_AT_BRIDGE="0", LC_ALL="C.UTF-8", LIBGL_ALWAYS_SOFTWARE="1")
        os.environ["DISPLAY"] = ":" + self.start(["Xvfb", "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-fbdir", self.path, "-nolisten", "tcp", "-noreset", "-nocursor",
                                                  "-displayfd"], "the display")
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = self.start(["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"], "the bus")
        # The pointer is where no tip comes up.
        run_xdotool("mousemove", str(WIDTH - 1), str(HEIGHT - 1))
        from gi.repository import Atspi
        self.atspi = Atspi
        Atspi.init()

    def start(self, command, what):
        reading, writing = os.pipe()
        form = f"={writing}" if command[0] == "dbus-daemon" else None
        command = [*command[:-1], command[-1] + form] if form else [*command, str(writing)]
        self.processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                               pass_fds=[writing], start_new_session=True))
        os.close(writing)
        with os.fdopen(reading, "rb", 0) as pipe:
            return read_line(pipe.fileno(), what)

    def close(self):
        # What the bus has started ends with it; the display goes when they have.
        for process in reversed(self.processes):
            process.terminate()
            process.wait(LIMIT)
        shutil.rmtree(self.path, ignore_errors=True)

    def picture(self, path):
        """What is on the display now, as PNG. The file of Xvfb is an image of xwd: a header, colours, and pixels of 4 bytes."""
        from gi.repository import GdkPixbuf, GLib
        with open(os.path.join(self.path, "Xvfb_screen0"), "rb") as file:
            data = file.read()
        header = struct.unpack(">25I", data[:100])
        line = header[12]
        pixels = data[header[0] + 12 * header[19]:][:line * HEIGHT]
        rgb = bytearray(WIDTH * HEIGHT * 3)
        for channel, offset in ((0, 2), (1, 1), (2, 0)):
            rgb[channel::3] = pixels[offset::4]
        pixbuf = GdkPixbuf.Pixbuf.new_from_bytes(GLib.Bytes.new(bytes(rgb)), GdkPixbuf.Colorspace.RGB, False, 8, WIDTH, HEIGHT, WIDTH * 3)
        if path:
            pixbuf.savev(path, "png", [], [])
        return rgb


class Monitor:
    """The program on that desktop, as somebody has it who cannot see it."""

    def __init__(self, desktop, *options, command=None, env=None):
        self.desktop = desktop
        self.process = subprocess.Popen([*(command or [sys.executable, os.environ["DVM_TEST_MONITOR"]]), *options], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE,
                                        env={**os.environ, "G_DEBUG": "fatal-warnings", "PYTHONFAULTHANDLER": "1", **(env or {})})
        os.set_blocking(self.process.stderr.fileno(), False)
        self.said = b""

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed("it does not end") from None
        finally:
            self.said += self.process.stderr.read() or b""
            self.process.stderr.close()
        check(status == 0 and b"Traceback" not in self.said, self.describe_end())

    def describe_end(self):
        """How the process has ended, and the last that it wrote: a crash says in which function, by PYTHONFAULTHANDLER."""
        status = self.process.returncode
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with the status {status}"
        return f"it has ended {how}, and said: {self.said.decode(errors='replace')[-4000:]}"

    def check_running(self):
        if self.process.poll() is not None:
            self.said += self.process.stderr.read() or b""
            raise Failed(self.describe_end())

    # ---- the accessible tree ----

    def application(self):
        root = self.desktop.atspi.get_desktop(0)
        for index in range(root.get_child_count()):
            child = root.get_child_at_index(index)
            if child is not None and child.get_process_id() == self.process.pid:
                return child
        return None

    def walk(self, node=None, depth=0):
        """(depth, role, name) and the object, of all that is there but of very long lists."""
        node = node or self.application()
        if node is None:
            return
        try:
            yield depth, node.get_role_name(), node.get_name() or "", node
            n = node.get_child_count()
            children = [node.get_child_at_index(index) for index in range(n if n <= MANY else 0)]
        except Exception:  # it has gone meanwhile
            return
        for child in children:
            if child is not None:
                yield from self.walk(child, depth + 1)

    def names(self, role=None):
        return [name for _, this, name, _ in self.walk() if name and (role is None or this == role)]

    def descriptions(self):
        """What windows say of themselves: the last sentence stays there when it has gone from the screen."""
        return [node.get_description() or "" for depth, role, _, node in self.walk() if depth == 1]

    def dump(self):
        return "\n".join(f"{'  ' * depth}{role}: {name}" for depth, role, name, _ in self.walk() if name)

    def shows(self, *texts):
        end = time.monotonic() + LIMIT
        while True:
            names = self.names() + self.descriptions()
            absent = [text for text in texts if not any(text in name for name in names)]
            if not absent:
                return names
            self.check_running()
            check(time.monotonic() < end, f"{absent} is never shown:\n{self.dump()}")
            time.sleep(0.05)

    def hides(self, text):
        wait_until(lambda: not any(text in name for name in self.names()), f"a window without {text}")
        self.check_running()

    # ---- keys ----

    def window(self):
        """The topmost one: a form is above its window."""
        found = run_xdotool("search", "--onlyvisible", "--pid", str(self.process.pid)).split()
        return found[-1] if found else None

    def focus(self):
        """There is no window manager, which would do it."""
        wait_until(self.window, "a window")
        window = self.window()
        if run_xdotool("getwindowfocus").strip() != window:
            run_xdotool("windowfocus", "--sync", window)

    def press(self, *keys):
        for key in keys:
            self.focus()
            run_xdotool("key", "--clearmodifiers", key)

    def type(self, text):
        self.focus()
        run_xdotool("type", "--clearmodifiers", text)


def run_xdotool(*words):
    """What it prints. A window that has gone meanwhile is no failure: the next key goes to another one."""
    return subprocess.run(["xdotool", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, timeout=LIMIT).stdout
