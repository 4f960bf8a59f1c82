#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Submits a job to a running DVM and prints its states as they change, until it ends.

    submit-and-follow.py [-n NP] [--name DVM] PROGRAM [ARGUMENTS]

The exit status is the job's: its exit code, 128 + the signal that ended it, 125 if the DVM failed it.
"""

import argparse
import os
import signal
import sys

import gi

gi.require_version("Dvm", "1.0")
from gi.repository import Dvm, GLib  # noqa: E402


def exit_status(job):
    if job.props.exit_signal:
        return 128 + job.props.exit_signal
    if job.props.exit_code:
        return job.props.exit_code
    return 125 if job.props.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", "--np", type=int, default=1, help="number of processes")
    parser.add_argument("--name", help="name of the DVM")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="PROGRAM")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("the program is missing")

    app = Dvm.AppSpec.new(arguments.command)
    app.set_np(arguments.np)
    app.set_cwd(os.getcwd())
    spec = Dvm.JobSpec.new()
    spec.add_app(app)

    loop = GLib.MainLoop()
    status = [125]

    def on_state_changed(job, old, new, reason):
        names = [Dvm.job_state_to_string(state) for state in (old, new)]
        print(f"{names[0]} -> {names[1]}" + (f": {reason}" if reason else ""), flush=True)

    def on_ended(client, result, job):
        try:
            client.wait_finish(result)
            status[0] = exit_status(job)
            print(f"{job.props.nspace} ended as {job.props.state_name}, exit status {status[0]}", flush=True)
        except GLib.Error as error:
            print(f"submit-and-follow.py: {error.message}", file=sys.stderr)
        loop.quit()

    try:
        client = Dvm.Client.new(arguments.name)
        client.connect_sync()
        # A reader that goes ends this program, and not the job. GLib has just had the signal ignored.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        # Before the job is there, so that none of its states is missed.
        client.subscribe()
        job = client.submit(spec)
        job.connect("state-changed", on_state_changed)
        client.watch_job(job)
        print(f"submitted {job.get_object_path()}", flush=True)
        client.wait_async(job, 0, None, on_ended, job)
        loop.run()
    except GLib.Error as error:
        print(f"submit-and-follow.py: {error.message}", file=sys.stderr)
    return status[0]


if __name__ == "__main__":
    sys.exit(main())
