#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli top on terminals, which an emulator plays, and as plain pictures."""

import json
import os
import re
import signal
import sys
import termios
import time
import xml.etree.ElementTree
import xml.sax.saxutils

import pyte

from dvmtest import CLI, LIMIT, Terminal, check, contains, dvm, equal, functions, place, run_tests, wait_until

KEYS = {"up": b"\033OA", "down": b"\033OB", "home": b"\033OH", "end": b"\033OF", "page-down": b"\033[6~", "enter": b"\r",
        "f1": b"\033OP", "f6": b"\033[17~", "f10": b"\033[21~", "tab": b"\t", "escape": b"\033"}
BACK_IN_SHELL = b"back in the shell\r\n"


class Emulator(pyte.Screen):
    """with what pyte lacks of the terminal that terminfo calls xterm: rows that scroll without a cursor among them, and repeated letters"""

    def __init__(self, columns, rows):
        super().__init__(columns, rows)
        self.last = " "

    def draw(self, data):
        super().draw(data)
        self.last = data[-1]

    def repeat(self, count=1):
        self.draw(self.last * max(count, 1))

    def scroll(self, count, edge, step):
        x, y = self.cursor.x, self.cursor.y
        top, bottom = self.margins or (0, self.lines - 1)
        for _ in range(max(count, 1)):
            self.cursor.y = top if edge == "top" else bottom
            step()
        self.cursor.x, self.cursor.y = x, y

    def scroll_up(self, count=1):
        self.scroll(count, "bottom", self.index)

    def scroll_down(self, count=1):
        self.scroll(count, "top", self.reverse_index)


class Stream(pyte.ByteStream):
    csi = {**pyte.ByteStream.csi, "S": "scroll_up", "T": "scroll_down", "b": "repeat"}
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down", "repeat"}


class Top(Terminal):
    """top, and the screen that a person has before him"""

    def __init__(self, here, *args, env=None, program=CLI, size=(24, 80), verb=("top", "-d", "1")):
        self.screen = Emulator(size[1], size[0])
        self.stream = Stream(self.screen)
        self.shown = 0
        super().__init__(here, *verb, *args, env={"TERM": "xterm-256color", **(env or {})}, program=program, size=size)

    def read_some(self, timeout):
        more = super().read_some(timeout)
        self.stream.feed(self.output[self.shown:])
        self.shown = len(self.output)
        return more

    def wait_for(self, condition, what):
        end = time.monotonic() + LIMIT
        while not condition(self.screen.display):
            if time.monotonic() > end or (not self.read_some(0.2) and self.has_ended()):
                check(condition(self.screen.display), f"{what} is never shown:\n" + "\n".join(self.screen.display)
                      + f"\nthe last that was written: {self.output[-8000:]!r}")
        return self.screen.display

    def shows(self, text):
        return self.wait_for(lambda lines: any(text in line for line in lines), text)

    def hides(self, text):
        return self.wait_for(lambda lines: not any(text in line for line in lines), f"a screen without {text}")

    def matches(self, pattern):
        return self.wait_for(lambda lines: any(re.search(pattern, line) for line in lines), pattern)

    def press(self, *keys):
        for key in keys:
            self.write(KEYS.get(key, key.encode()))

    def column(self, index):
        """Of the rows below the titles, as far as they go"""
        lines = self.screen.display[4:-1]
        return [line.split()[index] for line in lines if line.strip() and line.split()[0].isdigit()]

    def resize(self, rows, columns):
        self.read_some(0)
        self.screen.resize(rows, columns)
        termios.tcsetwinsize(self.fd, (rows, columns))

    def leave(self, key="q", status=0):
        self.press(key)
        equal(self.wait(), status, "its exit status")


def test_emulator():
    """the screen of these tests scrolls and repeats as terminals do"""
    screen = Emulator(4, 5)
    stream = Stream(screen)
    stream.feed(b"a\r\nb\r\nc\r\nd\r\ne\033[2;4r\033[2;1H\033[2S")
    equal([line.strip() for line in screen.display], ["a", "d", "", "", "e"], "two up")
    stream.feed(b"\033[T\033[r\033[5;2Hx\033[2b")
    equal([line.strip() for line in screen.display], ["a", "", "d", "", "exxx"], "one down, and a letter three times")


def submit(here, *args):
    result = here.cli("submit", "--personality", "plain", *args)
    equal(result.returncode, 0, result.stderr)
    return result.stdout.strip()


def is_state(here, job, state):
    return here.json("job", "show", job)["state"] == state


def node(here, rank):
    return next(row for row in here.json("nodes") if row["rank"] == rank)


def test_jobs():
    """jobs come and go on the screen; keys select, sort, filter, show all about one, hold, release and cancel it"""
    with dvm("--slots=3") as here:
        first = submit(here, "-n", "2", "sleep", "600")
        with_tail = submit(here, "-n", "1", "tail", "-f", "/dev/null")
        # Users may have long names, beside which 80 columns have no room for the whole command.
        top = Top(here, size=(24, 100))
        top.shows("tail -f /dev/null")
        contains(top.screen.display[0], "ready", "the header")
        # They are accepted, and may still be starting.
        top.wait_for(lambda display: "slots 3/3" in display[0] and "2 running, 0 waiting" in display[1], "the header")
        contains(top.screen.display[3], "ID+", "the column that sorts")
        equal(top.column(0), ["1", "2"])
        waits = submit(here, "-n", "1", "sleep", "77")
        top.shows("waiting for slots")

        top.press("R")
        top.wait_for(lambda _: top.column(0) == ["3", "2", "1"], "the other order")
        top.press(">")
        top.shows("NAMESPACE-")
        top.press("<", "R", "/", "tail")
        top.hides("sleep 600")
        top.shows("filter: tail")
        top.press("enter", "enter")
        top.shows("num-launched")
        contains("\n".join(top.screen.display), with_tail, "all about the job")
        top.press("q", "escape")
        top.shows("sleep 600")

        # The lowest of the rows is the job that waits.
        top.press("end", "h")
        top.shows("job 3 waits until it is released")
        top.shows("waiting for its release")
        top.press("r")
        top.shows("job 3 is not held any more")
        top.press("home", "k")
        top.shows("cancel job 1? (y/n)")
        top.press("n")
        top.shows("nothing is done")
        check(is_state(here, first, "RUNNING"), "a job that was not to be cancelled")
        top.press("k", "y")
        wait_until(lambda: here.json("job", "show", first)["ended"], "the job is cancelled")
        wait_until(lambda: is_state(here, waits, "RUNNING"), "the one that waited has its slot")
        top.hides("sleep 600")
        top.shows("sleep 77")
        top.press("a")
        top.shows("cancelled")
        top.press("a")
        top.hides("cancelled")
        top.press("x")
        top.shows("that key does nothing")
        top.leave()


def test_nodes():
    """nodes with load and memory; keys drain and undrain one, grow and shrink the DVM, and campaigns are seen"""
    with place() as here:
        equal(here.cli("start", "--bus", "none", "--nodes", "2", "--slots", "2", "--elastic").returncode, 0)
        try:
            top = Top(here, size=(30, 100))
            top.shows("nodes 2/2")
            top.press("2")
            top.matches(r"^ +1 node1 +UP +0 +2 +\d+\.\d\d +\S+[MGT] +\S+[MGT]")
            top.press("down", "d")
            top.matches(r"node2 +DO_NOT_USE +0 +2 +\d+\.\d\d +\S+[MGT] +\S+[MGT]")
            equal(node(here, 2)["state"], "DO_NOT_USE")
            equal(node(here, 1)["state"], "UP")
            top.press("u")
            top.matches(r"node2 +UP")
            top.press("k")
            top.shows("no job is selected")
            top.press("g")
            top.shows("grow by how many nodes")
            top.press("99999999999", "enter")
            top.shows("out of bounds")
            top.press("g")
            top.shows("grow by how many nodes")
            top.press("2", "enter")
            top.shows("campaign 1 has begun")
            top.matches(r"node4 +UP")
            top.press("s")
            top.shows("which hosts are to leave? node2")
            top.press("\x15", "node4", "enter")
            top.shows("campaign 2 has begun")
            top.hides("node4")
            top.press("3", "a")
            top.matches(r"1 grow +completed +2 +2 ")
            top.matches(r"2 shrink +completed +1 +1 ")
            top.press("1", "s", "nowhere", "enter")
            top.shows("nowhere")
            top.leave("f10")
        finally:
            equal(here.cli("stop", "--force").returncode, 0)


def test_sizes():
    """every size of the terminal has a picture, and a change of the size another one"""
    with dvm("--slots=2") as here:
        submit(here, "-n", "1", "sleep", "600")
        top = Top(here)
        top.shows("sleep 600")
        for rows, columns in ((24, 20), (5, 20), (3, 10), (1, 1), (2, 200), (50, 132), (7, 40), (24, 80)):
            top.resize(rows, columns)
            for key in ("2", "?", "q", "3", "1"):
                top.press(key)
            if rows > 3 and columns >= 20:
                top.shows("running")
        top.shows("sleep 600")
        top.leave()
        small = Top(here, size=(24, 20))
        small.shows("running")
        contains(small.screen.display[3], "STATE", "the titles of 20 columns")
        small.leave()


def test_mouse():
    """a click selects a row, or sorts by a title; the wheel moves"""
    with dvm("--slots=4") as here:
        for _ in range(4):
            submit(here, "-n", "1", "sleep", "600")
        top = Top(here)
        top.shows("4 running")
        top.wait_for(lambda _: len(top.column(0)) == 4, "four rows")
        check(b"\033[?1000h" in top.output or b"\033[?1006" in top.output, "the mouse is asked for")

        def click(button, x, y):
            if b"\033[?1006" in top.output:
                top.write(f"\033[<{button};{x + 1};{y + 1}M\033[<{button};{x + 1};{y + 1}m".encode())
            else:
                top.write(b"\033[M" + bytes([32 + button, 33 + x, 33 + y]) + b"\033[M" + bytes([35, 33 + x, 33 + y]))

        click(0, 5, 4 + 2)
        top.press("k")
        top.shows("cancel job 3?")
        top.press("n")
        click(64, 5, 5)
        top.press("k")
        top.shows("cancel job 1?")
        top.press("n")
        click(65, 5, 5)
        top.press("k")
        top.shows("cancel job 4?")
        top.press("n")
        click(0, 2, 3)
        top.wait_for(lambda _: top.column(0) == ["4", "3", "2", "1"], "the other order")
        click(0, top.screen.display[3].index("COMMAND"), 3)
        top.shows("COMMAND+")
        top.leave()


SHELL = 'trap : INT QUIT; saved=$(stty -g); "$@"; status=$?; [ "$(stty -g)" = "$saved" ] && echo "back in the shell"; exit $status'


def test_signals():
    """Ctrl-C, Ctrl-Z and signals leave the terminal as it was; fg paints again"""
    with dvm("--slots=2") as here:
        submit(here, "-n", "1", "sleep", "600")
        for key, status in (("\x03", 130), ("\x1c", 131), ("q", 0)):
            top = Top(here, verb=("-c", SHELL, "sh", CLI, "top"), program="/bin/sh")
            top.shows("sleep 600")
            top.leave(key, status)
            check(top.output.endswith(BACK_IN_SHELL), f"the terminal after {key!r}: {top.output[-80:]!r}")
            contains(top.output, b"\033[?1049l", "the screen of before")
        # While a question is asked, too, and by a signal of somebody else.
        top = Top(here)
        top.shows("sleep 600")
        top.press("k")
        top.shows("cancel job 1?")
        os.kill(top.pid, signal.SIGTERM)
        equal(top.wait(), 143)
        contains(top.output, b"\033[?1049l", "the screen of before")

        top = Top(here, verb=("--norc", "-i"), program="/bin/bash", env={"PS1": "prompt> ", "HISTFILE": ""})
        top.shows("prompt>")
        top.write(f"{CLI} top\n".encode())
        top.shows("sleep 600")
        top.press("\x1a")
        top.shows("Stopped")
        top.write(b"echo status-$?\n")
        top.shows(f"status-{128 + signal.SIGTSTP}")
        top.write(b"fg\n")
        top.shows("1 running")
        top.shows("sleep 600")
        top.press("q")
        top.shows("prompt>")
        top.write(b"exit\n")
        equal(top.wait(), 0)


def test_restart():
    """a DVM that goes is told of, and the next one is followed when it is there"""
    with place() as here:
        equal(here.cli("start", "--bus", "none").returncode, 0)
        submit(here, "-n", "1", "sleep", "611")
        top = Top(here)
        top.shows("sleep 611")
        equal(here.cli("stop", "--force").returncode, 0)
        top.shows("the DVM has gone")
        top.press("k", "y")
        top.shows("the DVM has gone")
        equal(here.cli("start", "--bus", "none").returncode, 0)
        try:
            top.shows("0 running")
            top.hides("the DVM has gone")
            top.hides("sleep 611")
            submit(here, "-n", "1", "sleep", "612")
            top.shows("sleep 612")
            top.leave()
        finally:
            equal(here.cli("stop", "--force").returncode, 0)


def test_silence():
    """a DVM that does not answer is told of, times stand still meanwhile, and keys work"""
    with dvm("--slots=2") as here:
        submit(here, "-n", "1", "sleep", "600")
        top = Top(here)
        top.shows("1 running")
        top.matches(r"running .* [1-9]\d*\.\d+s ")
        os.kill(here.process.pid, signal.SIGSTOP)
        try:
            top.shows("the DVM does not answer; this is how it was")
            before = next(line for line in top.screen.display if "sleep 600" in line)
            top.press("2")
            top.shows("RANK+")
            top.press("1")
            top.shows("sleep 600")
            equal(next(line for line in top.screen.display if "sleep 600" in line), before, "the time of the job")
        finally:
            os.kill(here.process.pid, signal.SIGCONT)
        top.hides("the DVM does not answer")
        top.shows("ready")
        top.leave()


def test_long_message():
    """why something is refused is read whole on a narrow screen"""
    with dvm("--slots=2") as here:
        refused = here.cli("grow", "--count", "1").stderr.strip().removeprefix("dvm-cli: ")
        check(len(refused) > 100, f"it is long: {refused}")
        top = Top(here, size=(24, 60))
        top.shows("ready")
        top.press("g")
        top.shows("grow by how many")
        top.press("1", "enter")
        top.wait_for(lambda display: refused in re.sub(" +", " ", " ".join(display)), refused)
        check(top.screen.display[-1].strip(), "it ends in the last line")
        # What has no room any more is cut.
        top.resize(4, 20)
        top.shows("…")
        top.leave()


def test_plain():
    """without a terminal that can more, a picture is printed; what cannot be written or read ends as in other verbs"""
    with dvm("--slots=2") as here:
        job = submit(here, "-n", "1", "sleep", "600")
        wait_until(lambda: is_state(here, job, "RUNNING"), "the job runs")
        result = here.cli("top")
        equal(result.returncode, 0, result.stderr)
        check(re.search(r"^ +1 " + job + r" +running +\S+ +1 +1 +\S+ +- sleep 600$", result.stdout, re.M), result.stdout)
        check(re.search(r"^ +1 \S+ +UP +1 +2 +\d+\.\d\d \S+ \S+ +- -$", result.stdout, re.M), result.stdout)
        check("\033" not in result.stdout and "CAMPAIGN" not in result.stdout, result.stdout)
        for env in ({"TERM": "dumb"}, {"TERM": ""}, {"TERM": "no-such-terminal"}):
            terminal = Terminal(here, "top", env=env)
            equal(terminal.wait(), 0, f"{env}")
            contains(terminal.output, b"sleep 600")
            check(b"\033[?" not in terminal.output, f"{env}: {terminal.output!r}")
        terminal = Terminal(here, "top", "-b", env={"TERM": "xterm"}, size=(24, 20))
        equal(terminal.wait(), 0)
        check(all(len(line.rstrip(b"\r")) <= 30 for line in terminal.output.split(b"\n")), f"{terminal.output!r}")

        equal(len(re.findall("jobs: 1 running", here.cli("top", "-b", "-n", "2", "-d", "1").stdout)), 2)
        rows = here.json("top", "-s", "-id", "-a", "-f", "sleep")
        equal([row["command"] for row in rows["jobs"]], ["sleep 600"])
        equal((rows["jobs"][0]["state"], rows["nodes"][0]["slots"], rows["slots-in-use"]), ("RUNNING", 2, 1))
        equal(here.json("top", "-f", "nothing has this")["jobs"], [])
        check(here.json("top", "-p", "nodes", "-f", "nothing has this")["jobs"], "the filter is of one panel")
        result = here.cli("top", "--sort", "colour")
        equal(result.returncode, 2)
        contains(result.stderr, "there are id, namespace")
        equal(here.popen("top", "-d", "0").wait(LIMIT), 2)
        for wrong in (["-n", "0"], ["-p", "ranks"], ["now"]):
            equal(here.cli("top", *wrong).returncode, 2, f"{wrong}")

        with open("/dev/full", "w") as full:
            result = here.cli("top", stdout=full)
        equal((result.returncode, result.stderr), (1, "dvm-cli: cannot write to standard output: No space left on device\n"))
        end, other = os.pipe()
        child = here.popen("top", "-b", "-n", "1000", stdout=other)
        os.close(other)
        os.read(end, 1)
        os.close(end)
        equal(child.wait(LIMIT), 0, "nobody reads it any more")
        child = here.popen("top", "-b", "-n", "1000", "--json", text=True)
        contains(child.stdout.readline(), '"jobs":[{"id":1,')
        equal(here.cli("stop", "--force").returncode, 0)
        out, errors = child.communicate(timeout=LIMIT)
        equal(child.returncode, 1, errors)
        contains(errors, "the DVM has gone")
    with place() as here:
        result = here.cli("top", env={"TERM": "xterm"})
        equal(result.returncode, 1)
        contains(result.stderr, "no DVM is running")
        equal(Top(here).wait(), 1, "on a terminal")


def test_output():
    """how much jobs write in a second: of each in its row, of all in the head, and as JSON; and all that it was"""
    with dvm("--slots=2") as here:
        submit(here, "-n", "1", "sh", "-c", "while echo 123456789; do sleep 0.02; done")
        quiet = submit(here, "-n", "1", "sleep", "600")
        wait_until(lambda: is_state(here, quiet, "RUNNING"), "it runs")
        lines = here.cli("top", "--json", "-n", "2", "-d", "1", "--sort", "id").stdout.splitlines()
        first, second = [json.loads(line) for line in lines]
        equal([first["output-rate"], *(row["output-rate"] for row in first["jobs"])], [None, None, None], "of one picture there is none")
        loud, still = sorted(second["jobs"], key=lambda row: row["id"])
        check(10 <= loud["output-rate"] <= 1000 and 10 <= second["output-rate"] <= 1000, f"{second}")
        equal((still["output-rate"], still["output-bytes"]), (0, 0))
        check(loud["output-bytes"] > first["jobs"][0]["output-bytes"] and loud["output-bytes"] % 10 == 0, f"{loud}")
        text = here.cli("top", "-n", "2", "-d", "1", "--sort", "-output-rate").stdout
        check(re.search(r"^jobs: 2 running, 0 waiting, 0 ended, 0\.0/s; output \d+B/s$", text, re.M), text)
        check(re.search(r" OUT/S COMMAND$", text, re.M) and re.search(r" \d+B sh -c while echo", text), text)
        top = Top(here)
        top.shows("; output ")
        top.leave()


def test_words():
    """names and terminals of every kind: no UTF-8, no colours"""
    with dvm("--slots=2") as here:
        submit(here, "-n", "1", "sh", "-c", "sleep 600 # 日本語\033[31m é")
        for env, shown in (({"LC_ALL": "C"}, "sleep 600 # ???\\x1b[31m ?"), ({"LC_ALL": "C.UTF-8"}, "\\x1b[31m é")):
            top = Top(here, env=env, size=(24, 120))
            top.shows(shown)
            top.leave()
        coloured = {cell.fg for row in self_rows(here, {}) for cell in row.values()}
        plain = {cell.fg for row in self_rows(here, {"NO_COLOR": "1"}) for cell in row.values()}
        check("green" in coloured, f"colours: {coloured}")
        equal(plain, {"default"}, "NO_COLOR")
        top = Top(here, env={"TERM": "vt100"})
        top.shows("running")
        top.leave()


def self_rows(here, env):
    top = Top(here, env=env)
    top.shows("running")
    rows = list(top.screen.buffer.values())
    top.leave()
    return rows


# Colours of the emulator as a terminal with a dark background has them
COLOURS = {"default": "#d0d0d0", "black": "#000000", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef",
           "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#ffffff"}
BACKGROUND = "#1e1e1e"
NO_BREAK = "\u00a0"  # browsers make one of several spaces


def draw(screen):
    """The screen as SVG: a text for each run of characters that look the same"""
    width, height = 8.4, 18
    texts = []
    for row in range(screen.lines):
        column = 0
        while column < screen.columns:
            first = screen.buffer[row][column]
            end = column
            while end < screen.columns and screen.buffer[row][end][1:] == first[1:]:
                end += 1
            run = "".join(screen.buffer[row][i].data for i in range(column, end))
            front, back = COLOURS.get(first.fg, COLOURS["default"]), COLOURS.get(first.bg, BACKGROUND) if first.bg != "default" else BACKGROUND
            front, back = (back, front) if first.reverse else (front, back)
            if back != BACKGROUND:
                texts.append(f'<rect x="{column * width:.1f}" y="{row * height}" width="{(end - column) * width:.1f}" height="{height}" fill="{back}"/>')
            if run.strip():
                bold = ' font-weight="bold"' if first.bold else ""
                texts.append(f'<text x="{column * width:.1f}" y="{row * height + 13}" fill="{front}" textLength="{len(run) * width:.1f}"{bold}>'
                             f"{xml.sax.saxutils.escape(run.replace(' ', NO_BREAK))}</text>")
            column = end
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 {screen.columns * width + 16:.0f} {screen.lines * height + 16}"'
            ' font-family="monospace" font-size="14">\n'
            f'<rect x="-8" y="-8" width="100%" height="100%" fill="{BACKGROUND}"/>\n' + "\n".join(texts) + "\n</svg>\n")


def test_picture():
    """the picture of the README is drawn from the screen; DVM_TEST_WRITE=1 writes it anew"""
    with dvm("--nodes=8", "--slots=4") as here:
        for np, program in (("12", "climate"), ("16", "folding"), ("8", "render")):
            os.symlink("/bin/sleep", os.path.join(here.path, program))
            submit(here, "-n", np, "--wdir", here.path, f"./{program}", "600")
        top = Top(here, size=(14, 100))
        top.shows("waiting for slots")
        contains(top.screen.display[0], "slots 28/32")
        picture = draw(top.screen)
        root = xml.etree.ElementTree.fromstring(picture)
        words = "".join(root.itertext()).replace(NO_BREAK, " ")
        for word in ("./climate", "./folding", "./render", "waiting for slots", "28/32"):
            contains(words, word, "the picture")
        if os.environ.get("DVM_TEST_WRITE"):
            with open(os.path.join(os.environ["DVM_SOURCE_DIR"], "docs", "images", "top.svg"), "w") as file:
                file.write(picture)
        top.leave()


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
