#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sets nodes aside for a limited time, runs a job on them that nobody disturbs, and gives them back.

    reserve-and-run.py [--name DVM] [--time SECONDS] [--warn SECONDS] --hosts LIST PROGRAM [ARGUMENTS]

Hosts that are not in the DVM come, if it is elastic: dvm-cli start --elastic. A job that takes longer gets more time: the
DVM warns, and the program answers. The exit status is the job's, 125 if there were no nodes or the DVM failed it.
"""

import argparse
import asyncio
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


def exit_status(job):
    if job.props.exit_signal:
        return 128 + job.props.exit_signal
    return job.props.exit_code or (125 if job.props.failed else 0)


async def reserve(client, arguments):
    """The session, when its nodes are there."""
    answer = await client.allocate_async("new", hosts=arguments.hosts.split(","), share=False, time=arguments.time,
                                         warn_timeout=arguments.warn)
    if answer["campaign"] != "/":
        campaign = await client.find_campaign_async(answer["campaign"])
        await client.wait_campaign_async(campaign)
        if campaign.props.state != Dvm.CampaignState.COMPLETED:
            raise RuntimeError(campaign.props.reason)
    session = await client.find_session_async(answer["alloc-id"])
    say(f"{session.get_object_path()} has {' '.join(session.props.nodes)}")
    return session


async def extend(client, session, arguments, seconds_left):
    await client.extend_session_async(session, time=arguments.time, warn_timeout=arguments.warn)
    say(f"extended with {seconds_left} s left")


async def run(client, session, command):
    job = await client.submit_async(Dvm.JobSpec(command, cwd=os.getcwd(), np=len(session.props.nodes),
                                                target=[session.props.alloc_id]))
    await client.wait_async(job)
    await client.refresh_job_async(job)
    say(f"{job.props.nspace} ran on {' '.join(job.props.nodes)}: {job.props.state_name}")
    return exit_status(job)


async def main(arguments):
    client = Dvm.Client.new(arguments.name)
    await client.connect_async()
    session = await reserve(client, arguments)
    loop = asyncio.get_running_loop()
    tasks = set()

    def on_warning(client, alloc_id, req_id, seconds_left):
        tasks.add(loop.create_task(extend(client, session, arguments, seconds_left)))

    client.connect("alloc-timeout-warning", on_warning)
    try:
        return await run(client, session, arguments.command) if has_reader else 141
    finally:
        campaign = await client.release_session_async(session)
        if campaign is not None:
            await client.wait_campaign_async(campaign)
        say(f"{session.props.alloc_id} is given back")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", required=True, help="names of nodes, with commas: n9,n10:2")
    parser.add_argument("--time", type=int, default=3600, help="seconds that they are for us; more are asked for when these end")
    parser.add_argument("--warn", type=int, default=60, help="seconds before that end")
    parser.add_argument("--name", help="name of the DVM")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="PROGRAM")
    options = parser.parse_args()
    if not options.command:
        parser.error("the program is missing")
    try:
        sys.exit(Dvm.run(main(options)))
    except (GLib.Error, RuntimeError) as error:
        print(f"reserve-and-run.py: {error}", file=sys.stderr)
        sys.exit(125)
