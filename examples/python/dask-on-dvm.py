#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cluster of Dask whose workers are jobs of a DVM: where the DVM has slots, a worker is, and both grow together.

    dask-on-dvm.py [NODES]

It starts a DVM of so many nodes (2) on this machine, computes on it, lets it grow by one node, and computes again.
"""

import asyncio
import logging
import sys

import dvm
from distributed import Client, Scheduler, SpecCluster
from distributed.deploy.spec import ProcessInterface


class DvmWorker(ProcessInterface):
    """A worker of Dask in a job of one process. What it says stays with the job: it is asked for when there is trouble."""

    def __init__(self, scheduler, name=None, vm=None, options=None):
        super().__init__(scheduler=scheduler, name=name)
        self.vm = vm
        self.words = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--name", str(name), "--nthreads", "1",
                      "--no-nanny", "--no-dashboard"]
        self.options = options or {}
        self.job = None

    async def start(self):
        await super().start()
        self.job = await self.vm.submit_async(self.words, label="dask-worker", **self.options)

    async def close(self):
        if self.job is not None and not self.job.done():
            await asyncio.to_thread(self.job.cancel)
        await super().close()


class DvmCluster(SpecCluster):
    """DvmCluster(vm, workers=4): scale() and adapt() begin and end workers, as with other clusters of Dask."""

    def __init__(self, vm, workers, **options):
        self.vm = vm
        scheduler = {"cls": Scheduler, "options": {"dashboard": False, "host": "127.0.0.1"}}
        worker = {"cls": DvmWorker, "options": {"vm": vm, "options": options}}
        super().__init__(workers={number: worker for number in range(workers)}, scheduler=scheduler, worker=worker,
                         silence_logs=logging.WARNING)

    def scale_to_slots(self):
        """A worker for each slot of the DVM."""
        self.scale(sum(node.props.slots for node in self.vm.nodes()))


def compute(client):
    futures = client.map(lambda n: n * n, range(100))
    return client.submit(sum, futures).result()


def main(nodes):
    with dvm.start(nodes=nodes, slots=1, elastic=True) as vm, DvmCluster(vm, nodes) as cluster, Client(cluster) as client:
        client.wait_for_workers(nodes)
        print(f"{nodes} workers: {compute(client)}", flush=True)
        vm.grow(1)
        cluster.scale_to_slots()
        client.wait_for_workers(nodes + 1)
        print(f"{nodes + 1} workers: {compute(client)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
