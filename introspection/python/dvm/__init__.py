# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM from Python: started, grown and stopped by the program, jobs as objects, asyncio and concurrent.futures.

    import dvm
    with dvm.start(nodes=4) as vm:
        print(vm.run(["hostname"], n=4).stdout)

docs/python.md has a tutorial. All of the library is behind it: dvm.Dvm is what gi.repository has, vm.client the Dvm.Client.
"""

from ._events import Event, Events
from ._executor import DvmExecutor, RemoteError, WorkerError
from ._job import Job
from ._library import Dvm
from ._machine import DVM, Growth, Result, connect, connect_async, start, start_async

__all__ = ['DVM', 'Dvm', 'DvmExecutor', 'Event', 'Events', 'Growth', 'Job', 'RemoteError', 'Result', 'WorkerError', 'connect',
           'connect_async', 'start', 'start_async']
