#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs one job for each line of standard input, all at once, with asyncio.

    many-jobs.py [-j N] [--name DVM] PROGRAM [ARGUMENTS] < lines

Each line is one more argument of the program. A line is printed for each job as it ends: exit code, number, argument.
Ctrl-C cancels the jobs. The exit status is 0 if all jobs succeeded, 1 if one failed, 125 if the DVM could not be asked.
"""

import argparse
import asyncio
import os
import signal
import sys

import gi

gi.require_version("Dvm", "1.0")
from gi.repository import Dvm, GLib  # noqa: E402


async def run_one(client, limit, arguments, line):
    """True if the job of this line succeeded."""
    async with limit:
        spec = Dvm.JobSpec([*arguments.command, line], np=1, cwd=os.getcwd())
        job = await client.submit_async(spec)
        # Each wait is one call that the DVM answers when the job has ended: no signals, no polling.
        await client.wait_async(job)
    print(f"{job.returncode}\tjob {job.props.id}\t{line}", flush=True)
    if job.props.reason:
        print(f"many-jobs.py: {line}: {job.props.reason}", file=sys.stderr)
    return not job.props.failed


async def main(arguments):
    client = Dvm.Client.new(arguments.name)
    # Whatever ends this program, Ctrl-C too, ends its jobs.
    client.set_jobs_end_with_client(True)
    await client.connect_async()
    # A reader that goes does so, too. GLib has just had the signal ignored.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # The DVM takes any number of jobs and lets them wait for slots; a limit is kind to others who use it.
    limit = asyncio.Semaphore(arguments.jobs)
    lines = [line.rstrip("\n") for line in sys.stdin]
    return all(await asyncio.gather(*(run_one(client, limit, arguments, line) for line in lines)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", "--jobs", type=int, default=1000, help="so many jobs at a time (default: 1000)")
    parser.add_argument("--name", help="name of the DVM")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="PROGRAM")
    options = parser.parse_args()
    if not options.command:
        parser.error("the program is missing")
    if options.jobs < 1:
        parser.error("-j must be at least 1")
    try:
        # Not asyncio.run(): this loop runs GLib's sources too.
        sys.exit(0 if Dvm.run(main(options)) else 1)
    except GLib.Error as error:
        print(f"many-jobs.py: {error.message}", file=sys.stderr)
        sys.exit(125)
    except KeyboardInterrupt:
        sys.exit(130)
