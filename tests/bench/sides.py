# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the benches have in common: two or more commands that are timed in turn, and how the figures are printed."""
import statistics, subprocess, sys, time

LIMIT = 60


class Side:
    """One command, its times and how often it failed."""

    def __init__(self, name, command, env=None, reading=None):
        self.name, self.command, self.env, self.reading = name, command, env, reading
        self.times, self.failed, self.hung = [], 0, 0

    def run(self):
        start = time.monotonic()
        try:
            done = subprocess.run(self.command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.hung += 1
            return
        elapsed = (time.monotonic() - start) * 1e3
        if done.returncode != 0:
            self.failed += 1
            self.error = done.stderr.decode(errors="replace").strip()[-200:]
        else:
            self.times.append(self.reading(done.stdout.decode()) if self.reading else elapsed)

    def text(self):
        if not self.times:
            return f"{self.name}: no run succeeded ({self.failed} failed, {self.hung} hung) {getattr(self, 'error', '')}"
        trouble = f", {self.failed} failed, {self.hung} hung" if self.failed or self.hung else ""
        return (f"{self.name}: {statistics.median(self.times):.1f} ms"
                f" ({min(self.times):.1f} / {max(self.times):.1f}){trouble}")


def compare(title, runs, ours, *others):
    for side in (ours, *others):  # caches warm, not counted
        side.run()
        side.times, side.failed, side.hung = [], 0, 0
    for _ in range(runs):
        for side in (ours, *others):
            side.run()
    print(f"{title}\n  {ours.text()}")
    for other in others:
        ratio = ""
        if ours.times and other.times:
            ratio = f"  ratio {statistics.median(ours.times) / statistics.median(other.times):.2f}"
        print(f"  {other.text()}{ratio}")
    sys.stdout.flush()


def version(command):
    try:
        text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()
        return text.strip().split("\n")[0]
    except OSError:
        return f"{command[0]} is not installed"


def read_figures(parser, options):
    """The figures of --only, each once; another one than those of its default is wrong usage."""
    known = {name.lower() for name in parser.get_default("only").split(",")}
    names = list(dict.fromkeys(word.strip().lower() for word in options.only.split(",")))
    for name in names:
        if name not in known:
            parser.error(f"--only: there is no figure '{name}' here; there are {parser.get_default('only')}")
    return names
