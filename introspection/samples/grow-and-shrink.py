#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adds nodes to a running DVM, waits until they are there, runs a job on them, and takes them out again.

    grow-and-shrink.py [--name DVM] [--hosts LIST | --count N] PROGRAM [ARGUMENTS]

The DVM has to be elastic: dvm-cli start --elastic. The exit status is the job's, 125 if the DVM failed it or did not grow.
"""

import argparse
import os
import sys

import gi

gi.require_version("Dvm", "1.0")
from gi.repository import Dvm, GLib  # noqa: E402


has_reader = [True]


def say(text):
    """Nodes are given back also when nobody reads any more: then there is an end as soon as that is done."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        has_reader.clear()


class Change:
    """A change of the size: begun by a call, ended by a signal, which comes to whoever called and to nobody else."""

    def __init__(self, client):
        self.loop = GLib.MainLoop()
        self.failure = None
        client.connect("dvm-is-ready", self.on_ready)
        client.connect("dvm-mod-failed", self.on_failed)
        client.connect("notify::connected", lambda *_: self.end("the DVM has ended"))

    def on_ready(self, client, alloc_id, req_id, details):
        say(f"{details['kind']} of {alloc_id} is done: {' '.join(details['nodes'])}")
        self.end(None)

    def on_failed(self, client, alloc_id, req_id, status, reason, details):
        self.end(f"{details['kind']} of {alloc_id} has failed: {reason} (status {status})")

    def end(self, failure):
        self.failure = failure
        self.loop.quit()

    def wait(self, alloc_id, campaign):
        """campaign: None if nothing changes; then there is no signal either."""
        if campaign is not None:
            say(f"{campaign.get_object_path()} for {alloc_id}")
            self.loop.run()
        if self.failure is not None:
            raise RuntimeError(self.failure)


def exit_status(job):
    if job.props.exit_signal:
        return 128 + job.props.exit_signal
    return job.props.exit_code or (125 if job.props.failed else 0)


def run(client, command, nodes):
    hosts = {"hosts": nodes} if nodes else {}
    job = client.submit(Dvm.JobSpec(command, cwd=os.getcwd(), np=max(len(nodes), 1), **hosts))
    client.wait(job)
    client.refresh_job(job)
    say(f"{job.props.nspace} ran on {' '.join(job.props.nodes)}: {job.props.state_name}")
    return exit_status(job)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", default="", help="names of nodes, with commas: n9,n10:2")
    parser.add_argument("--count", type=int, default=0, help="so many nodes, which the DVM chooses")
    parser.add_argument("--name", help="name of the DVM")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="PROGRAM")
    arguments = parser.parse_args()
    if not arguments.command or bool(arguments.hosts) == bool(arguments.count):
        parser.error("the program is missing, or one of --hosts and --count is")

    try:
        client = Dvm.Client.new(arguments.name)
        client.connect_sync()
        change = Change(client)
        wish = {"hosts": arguments.hosts.split(",")} if arguments.hosts else {"count": arguments.count}
        alloc_id, campaign = client.grow(**wish)
        change.wait(alloc_id, campaign)
        try:
            nodes = client.find_session(alloc_id).props.nodes
            return run(client, arguments.command, nodes) if has_reader else 141
        finally:
            change.wait(*client.shrink(alloc_id=alloc_id))
    except (GLib.Error, RuntimeError) as error:
        print(f"grow-and-shrink.py: {error}", file=sys.stderr)
        return 125


if __name__ == "__main__":
    sys.exit(main())
