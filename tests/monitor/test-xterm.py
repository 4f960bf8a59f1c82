#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real xterm on a display of its own: ranks that have one (--xterm), and dvm-cli top in one."""

import os
import shutil
import subprocess
import sys

import desktop
from desktop import Desktop, run_xdotool
from dvmtest import CLI, LIMIT, check, dvm, equal, functions, run_tests, wait_until

# The key F12 gives the text of the screen to a command.
RESOURCES = ("XTerm*printerCommand: cat >{0}", "XTerm*printAttributes: 0", "XTerm*VT100.translations: #override <Key>F12: print()")


def find_window(title):
    found = run_xdotool("search", "--onlyvisible", "--name", f"^{title}$").split()
    return found[0] if found else None


def focus(title):
    """There is no window manager, which would do it."""
    wait_until(lambda: find_window(title), f"a window “{title}”")
    window = find_window(title)
    run_xdotool("windowfocus", "--sync", window)
    return window


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def run_in_windows(here, *words):
    return here.popen("run", "--personality", "plain", *words, text=True, env={"DISPLAY": os.environ["DISPLAY"]})


def test_ranks():
    """ranks have windows with their numbers, what is typed there is theirs, and the job ends when they have"""
    with dvm("--slots=4") as here:
        said = os.path.join(here.path, "said")
        script = f'if [ $DVM_RANK -lt 2 ]; then read line; echo "$DVM_RANK $line" >>{said}.$DVM_RANK; else echo plain $DVM_RANK; fi'
        job = run_in_windows(here, "--xterm", "0-1", "-n", "3", "sh", "-c", script)
        for rank in (1, 0):
            focus(f"rank {rank}")
            equal(job.poll(), None, "it waits for its windows")
            run_xdotool("type", "--clearmodifiers", f"words for {rank}")
            run_xdotool("key", "Return")
            wait_until(lambda rank=rank: read(f"{said}.{rank}") == f"{rank} words for {rank}\n", f"rank {rank} has read its line")
        # An xterm may complain of fonts.
        equal(job.communicate(timeout=LIMIT)[0], "plain 2\n")
        equal((job.returncode, find_window("rank 0"), find_window("rank 1")), (0, None, None))


def test_hold():
    """with an exclamation mark a window stays when its program has ended, and the job is cancelled with it"""
    with dvm("--slots=2") as here:
        said = os.path.join(here.path, "said")
        job = run_in_windows(here, "--xterm", "0!", "-n", "1", "sh", "-c", f"echo over >{said}")
        wait_until(lambda: read(said) == "over\n", "the program ends")
        wait_until(lambda: find_window("rank 0"), "its window")
        equal(job.poll(), None, "the window is open")
        equal(here.cli("kill", "1").returncode, 0)
        job.communicate(timeout=LIMIT)
        check(job.returncode != 0, "it was cancelled")
        wait_until(lambda: find_window("rank 0") is None, "the window is closed")


def test_top():
    """top shows a job in an xterm, takes keys and other sizes, and leaves"""
    with dvm("--slots=2") as here:
        equal(here.cli("submit", "--personality", "plain", "-n", "1", "sleep", "611").returncode, 0)
        screen = os.path.join(here.path, "screen")
        resources = [word for line in RESOURCES for word in ("-xrm", line.format(screen))]
        xterm = subprocess.Popen(["xterm", "-geometry", "80x24", *resources, "-T", "top", "-e", CLI, "top"], env={**here.env, "DISPLAY": os.environ["DISPLAY"]},
                                 stdin=subprocess.DEVNULL, start_new_session=True)
        here.children.append(xterm)
        window = focus("top")

        def shows(*texts):
            run_xdotool("key", "F12")
            return all(text in read(screen) for text in texts)

        wait_until(lambda: shows("sleep 611", "running"), "the job")
        check(len(read(screen).rstrip().splitlines()) <= 24, read(screen))
        run_xdotool("windowsize", "--sync", window, "1000", "600")
        wait_until(lambda: shows("sleep 611") and len(read(screen).rstrip().splitlines()) > 30, "the other size")
        run_xdotool("key", "n")
        wait_until(lambda: shows("NAME"), "the nodes")
        run_xdotool("key", "q")
        equal(xterm.wait(LIMIT), 0)


def main():
    reason = desktop.missing() or ("" if shutil.which("xterm") else "no xterm here (xterm)")
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    display = Desktop()
    try:
        return run_tests(functions(globals()))
    finally:
        display.close()


if __name__ == "__main__":
    sys.exit(main())
