#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Estimates pi by jobs that throw darts: Dvm.Executor in the place of concurrent.futures.ProcessPoolExecutor.

    parameter-sweep.py [--name DVM] [TASKS [DARTS]]

The tasks run wherever the DVM has slots; a shell and awk are all that they need there.
"""

import concurrent.futures
import signal
import sys

import gi

gi.require_version("Dvm", "1.0")
from gi.repository import Dvm, GLib  # noqa: E402

THROW = 'BEGIN { srand(seed); for (i = 0; i < n; i++) if (rand()^2 + rand()^2 < 1) hits++; print hits + 0 }'


def estimate(executor, tasks, darts):
    # check: a job that fails is an exception here, where its future is asked. text: its output is a str.
    futures = {executor.submit(["awk", "-v", f"n={darts}", "-v", f"seed={seed}", THROW], check=True, text=True)
               for seed in range(tasks)}
    hits = 0
    for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
        hits += int(future.result().stdout)
        print(f"{number} of {tasks} tasks: pi is about {4 * hits / (number * darts):.4f}", flush=True)


def main(arguments):
    name = None
    if arguments[:1] == ["--name"] and len(arguments) > 1:
        name, arguments = arguments[1], arguments[2:]
    try:
        tasks, darts = (list(map(int, arguments)) + [20, 100000][len(arguments):])[:2]
    except ValueError:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        # Leaving the block waits for all jobs; an exception in it, such as Ctrl-C, does so too, after cancelling.
        with Dvm.Executor(name) as executor:
            # A reader that goes ends this program, and so its jobs. GLib has just had the signal ignored.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            try:
                estimate(executor, tasks, darts)
            except BaseException:
                executor.shutdown(wait=False, cancel_futures=True)
                raise
    except (GLib.Error, Dvm.JobError, OSError) as error:
        print(f"parameter-sweep.py: {error}", file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
