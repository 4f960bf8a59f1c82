# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM as an object: started by the program or there already, it runs jobs, grows and shrinks."""

import asyncio
import concurrent.futures
import operator
import os
import sys
import threading
import weakref
from multiprocessing import process
from typing import TYPE_CHECKING, Any, Callable, Collection, Iterable, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Union

from ._events import KINDS, Event, Events, Subscription
from ._html import Jobs, Nodes, make_table
from ._job import Job
from ._library import Dvm
from ._start import Keeper, Setting, Started, make_name, stop_daemon
from ._thread import MainThread, settle, settle_as

if TYPE_CHECKING:
    from ._executor import DvmExecutor

Path = Union[str, bytes, 'os.PathLike[str]', 'os.PathLike[bytes]']
Command = Union[Path, Sequence[Path], Dvm.JobSpec]
# The result of a job, whose output is text.
Result = Dvm.CompletedJob[str]


class Growth(NamedTuple):
    """What a grow has brought: the allocation, by which it can be given back, and the names of its nodes."""

    alloc_id: str
    nodes: List[str]


def _request(hosts: Optional[Iterable[str]], hostfile: Optional[Any], options: Mapping[str, Any]) -> 'dict[str, Any]':
    request = {key: value for key, value in options.items() if value is not None}
    if hosts is not None:
        request['hosts'] = hosts.split(',') if isinstance(hosts, str) else list(hosts)
    if hostfile is not None:
        request['hostfile'] = os.path.abspath(hostfile)
    return request


class DVM:
    """By start() or connect(). Leaving a `with` stops the one that was started, and leaves the other one alone.

    The methods can be called from any thread. Those that wait have a twin X_async() for coroutines, in an event loop of any kind.
    """

    def __init__(self, name: str, client: Dvm.Client, thread: MainThread, started: Optional[Started]) -> None:
        self._name = name
        self.client = client
        self.thread = thread
        self._started = started
        self._keeper: Optional[Keeper] = None
        self._jobs: 'weakref.WeakSet[Job]' = weakref.WeakSet()
        self._closed = False
        self.subscribed = False

    @property
    def name(self) -> str:
        """As it was given to start() or connect(): a name, or an address."""
        return self._name

    @property
    def socket(self) -> str:
        """The address at which others connect: connect(address=dvm.socket)."""
        return self._started.socket if self._started else str(self.client.get_address())

    @property
    def pid(self) -> Optional[int]:
        """Of dvmd, if this program has started it."""
        return self._started.pid if self._started else None

    @property
    def connected(self) -> bool:
        return not self._closed and bool(self.client.get_connected())

    # ---- jobs ----

    def _spec(self, command: Command, n: int, options: 'dict[str, Any]') -> Dvm.JobSpec:
        if not isinstance(command, Dvm.JobSpec):
            n = operator.index(n)
            if n < 1:
                raise ValueError(f'n={n}: a job has at least one process; Dvm.JobSpec(...) without np has as many as there are slots')
            given: 'dict[str, Any]' = {'np': n, 'cwd': os.getcwd(), **options}
            return Dvm.JobSpec(command, **given)
        if options:
            raise TypeError(f'{", ".join(options)}: to be said in the JobSpec')
        return command

    def _begin(self, spec: Dvm.JobSpec, output: bool) -> 'concurrent.futures.Future[Job]':
        """The future of a Job."""
        args = spec.get_app(0).get_argv() if spec.get_n_apps() > 0 else []
        job = Job(self, None, args)

        def start(cancellable: Any, callback: Any) -> None:
            fds = []
            try:
                for index in range(2 if output else 0):
                    fds.append(job._open_pipe(index))
                self.client.submit_with_fds_async(spec, -1, *(fds or (-1, -1)), cancellable, callback)
            finally:
                for fd in fds:
                    os.close(fd)

        def finish(result: Any) -> Job:
            try:
                job.record = self.client.submit_with_fds_finish(result)
            except BaseException as error:
                job._close(error)
                raise
            self._jobs.add(job)
            job._follow()
            return job

        return self.thread.call(start, finish)

    def _cancel(self, job: Job) -> None:
        self.thread.call(self.client.cancel_job_async, self.client.cancel_job_finish, job.record)

    def _cancel_unwanted(self, begun: 'concurrent.futures.Future[Job]') -> None:
        """The DVM may have the job already, while its answer is still to come."""
        begun.add_done_callback(lambda _done: None if begun.exception() is not None else self._cancel(begun.result()))

    def submit(self, command: Command, *, n: int = 1, output: bool = True, **options: Any) -> Job:
        """A Job of n processes, when the DVM has accepted it. command: the words of a command line, or a Dvm.JobSpec.

        Options are those of Dvm.JobSpec(). output=False: the output is not for this program, such as with stdout_path=.
        """
        self.thread.check_waiting()
        begun = self._begin(self._spec(command, n, options), output)
        try:
            return begun.result()
        except BaseException:
            self._cancel_unwanted(begun)
            raise

    def run(self, command: Command, *, n: int = 1, timeout: Optional[float] = None, check: bool = False,
            **options: Any) -> 'Dvm.CompletedJob[str]':
        """As subprocess.run(): its result, with returncode, stdout and stderr. After timeout seconds the job is cancelled."""
        job = self.submit(command, n=n, **options)
        try:
            result = job.wait(timeout)
        except BaseException:
            if not job.done():
                job.cancel()
            raise
        if check:
            result.check_returncode()
        return result

    async def submit_async(self, command: Command, *, n: int = 1, output: bool = True, **options: Any) -> Job:
        begun = self._begin(self._spec(command, n, options), output)
        answer: 'concurrent.futures.Future[Job]' = concurrent.futures.Future()
        begun.add_done_callback(lambda _done: settle_as(answer, begun))
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            self._cancel_unwanted(begun)
            raise

    async def run_async(self, command: Command, *, n: int = 1, check: bool = False, **options: Any) -> 'Dvm.CompletedJob[str]':
        """As run(). A task that is cancelled cancels the job."""
        job = await self.submit_async(command, n=n, **options)
        try:
            result = await job
        except asyncio.CancelledError:
            self._cancel(job)
            raise
        if check:
            result.check_returncode()
        return result

    def job(self, reference: Union[int, str]) -> Job:
        """One that is there: by its number, its namespace, or its name. Its output is not for this program."""
        record = self.thread.wait(self.client.find_job_async, self.client.find_job_finish, str(reference))
        job = Job(self, record, list(record.props.command))
        self._jobs.add(job)
        self.thread.do(job._follow)
        return job

    def jobs(self, *, all: bool = False) -> Jobs:
        """The records of those that have not ended; all: also of those that have, as far as they are known."""
        return Jobs(self.thread.wait(self.client.list_jobs_async, self.client.list_jobs_finish, all))

    def executor(self, **options: Any) -> 'DvmExecutor':
        """A DvmExecutor of this DVM."""
        from ._executor import DvmExecutor
        return DvmExecutor(self, **options)

    # ---- nodes ----

    def nodes(self) -> Nodes:
        """The records of the nodes that jobs run on."""
        rows = self.thread.wait(self.client.list_nodes_async, self.client.list_nodes_finish)
        # Rank 0 is the controller, which is a node only if it has slots.
        return Nodes(row for row in rows if row.props.rank != 0 or row.props.slots > 0)

    def _change(self, verb: str, request: 'dict[str, Any]') -> str:
        """The allocation, when all of the change is done."""
        start, finish = getattr(self.client, f'{verb}_async'), getattr(self.client, f'{verb}_finish')
        alloc_id, campaign = self.thread.wait(start, finish, **request)
        if campaign is not None:
            self.thread.wait(self.client.wait_campaign_async, self.client.wait_campaign_finish, campaign, 0)
            if campaign.props.state != Dvm.CampaignState.COMPLETED:
                raise Dvm.make_error(Dvm.Error.FAILED, f'the {verb} has failed: {campaign.props.reason}')
        return str(alloc_id)

    def grow(self, count: Optional[int] = None, *, hosts: Optional[Iterable[str]] = None, hostfile: Optional[Any] = None,
             **options: Any) -> Growth:
        """Adds count nodes, which the DVM chooses, or those that are named; it has to be elastic. Returns when they are there.

        Options are the keys of Grow: alloc_id, req_id, share, time, warn_timeout, ...
        """
        alloc_id = self._change('grow', _request(hosts, hostfile, {'count': count, **options}))
        session = self.thread.wait(self.client.find_session_async, self.client.find_session_finish, alloc_id)
        return Growth(alloc_id, list(session.props.nodes))

    def _choose_nodes(self, count: int) -> List[str]:
        """Those with the fewest processes, of these the youngest; never the controller's."""
        rows = [row.props for row in self.nodes() if row.props.rank != 0]
        if not 1 <= count <= len(rows):
            raise Dvm.make_error(Dvm.Error.BAD_PARAM, f'{count} nodes cannot leave: the DVM has {len(rows)} that may')
        rows.sort(key=lambda props: (props.slots_in_use, -props.rank))
        return [props.name for props in rows[:count]]

    def shrink(self, what: Union[None, int, Growth] = None, *, hosts: Optional[Iterable[str]] = None, **options: Any) -> List[str]:
        """Takes nodes out and returns their names, when they have gone: what grow() returned, so many, or those that are named.

        Of a number the idle ones and the youngest go first. Options are the keys of Shrink: alloc_id, drain_timeout, ...
        """
        if isinstance(what, Growth):
            options['alloc_id'] = what.alloc_id
        elif what is not None:
            hosts = self._choose_nodes(what)
        before = {row.props.name for row in self.nodes()}
        self._change('shrink', _request(hosts, None, options))
        return sorted(before - {row.props.name for row in self.nodes()})

    async def grow_async(self, count: Optional[int] = None, **options: Any) -> Growth:
        return await asyncio.to_thread(self.grow, count, **options)

    async def shrink_async(self, what: Union[None, int, Growth] = None, **options: Any) -> List[str]:
        return await asyncio.to_thread(self.shrink, what, **options)

    # ---- events ----

    def events(self, kinds: Collection[str] = KINDS) -> Events:
        """`for event in dvm.events()` and `async for event in dvm.events()`: all that happens from this call on."""
        return Events(self, kinds)

    def watch(self, callback: Callable[[Event], object], kinds: Collection[str] = KINDS) -> Callable[[], None]:
        """callback(event) for each event, in the thread that talks to the DVM, for which it must not wait. Returns what ends it."""

        def tell(event: Optional[Event]) -> None:
            if event is None:
                return
            try:
                callback(event)
            except Exception:
                sys.excepthook(*sys.exc_info())

        subscription = self.thread.do(lambda: Subscription(self, kinds, tell))
        return lambda: self.thread.do(subscription.close)

    # ---- the end ----

    def close(self) -> None:
        """Ends the connection. The DVM goes on, and so do its jobs."""
        if self._closed:
            return
        self._closed = True
        self.thread.close()
        for job in list(self._jobs):
            job._close(RuntimeError(f'the connection to the DVM {self.name} is closed'))

    def stop(self, *, grace: float = 10, force: bool = False) -> None:
        """Ends its jobs and then the DVM, and returns when its process has gone. After grace seconds, or with force, jobs are killed."""
        self.thread.check_ours()
        if self.connected:
            socket = self.socket.removeprefix('unix:path=').partition(',')[0]
            stop_daemon(socket, grace, force)
        if self._keeper is not None:
            self._keeper.dismiss()
            self._keeper = None
        self.close()

    async def stop_async(self, *, grace: float = 10, force: bool = False) -> None:
        await asyncio.to_thread(self.stop, grace=grace, force=force)

    def __enter__(self) -> 'DVM':
        return self

    def __exit__(self, *_error: object) -> None:
        if not self.thread.is_ours():
            # A child of fork() leaves the block, too; the DVM is its parent's.
            return
        if self._started is not None:
            self.stop()
        else:
            self.close()

    async def __aenter__(self) -> 'DVM':
        return self

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.to_thread(self.__exit__)

    def __reduce__(self) -> NoReturn:
        raise TypeError('a DVM cannot be sent to another process: send its socket, for dvm.connect(address=...) there')

    def __repr__(self) -> str:
        state = 'closed' if self._closed else 'connected' if self.connected else 'gone'
        return f'<dvm.DVM {self.name} {state}>'

    def _repr_html_(self) -> str:
        if not self.connected:
            return make_table(['DVM', 'state'], [[self.name, 'closed' if self._closed else 'gone']])
        nodes = self.nodes()
        slots, used = (sum(getattr(row.props, key) for row in nodes) for key in ('slots', 'slots_in_use'))
        heads = ['DVM', 'nodes', 'slots', 'in use', 'jobs']
        return make_table(heads, [[self.name, str(len(nodes)), str(slots), str(used), str(len(self.jobs()))]]) + nodes._repr_html_()


def check_main() -> None:
    """A worker that reads the program for its functions must not do what the program does."""
    if getattr(process.current_process(), '_inheriting', False):
        raise RuntimeError('a worker reads this program to find a function, and it begins a DVM again: put what the program does below '
                           'if __name__ == "__main__":')


def _connect(make_client: Callable[[], Dvm.Client], title: str, started: Optional[Started] = None) -> DVM:
    check_main()
    thread = MainThread(f'dvm {title}')
    try:
        client = thread.do(make_client)
        thread.wait(client.connect_async, client.connect_finish)
    except BaseException:
        thread.close()
        raise
    return DVM(title, client, thread, started)


def connect(name: Optional[str] = None, *, address: Optional[str] = None) -> DVM:
    """A DVM that is there: by its name, by the address of its socket, or as dvm-cli finds it ($DVM_SOCKET, $DVM_NAME)."""
    if name is not None and address is not None:
        raise TypeError('a DVM has a name or an address: give one of them')
    make = (lambda: Dvm.Client.new_for_address(address)) if address is not None else (lambda: Dvm.Client.new(name))
    return _connect(make, name or address or 'default')


def start(name: Optional[str] = None, *, nodes: Optional[int] = None, slots: Union[None, int, str] = None,
          hosts: Union[None, str, Iterable[str]] = None, hostfile: Optional[Any] = None, launcher: Optional[str] = None,
          allow_missing: bool = False, elastic: bool = False, timeout: Optional[int] = None, log: Optional[Any] = None,
          settings: Optional[Mapping[str, Setting]] = None, bus: str = 'none', keep: bool = False) -> DVM:
    """Starts a DVM and returns when it takes jobs: `with dvm.start(nodes=4) as vm`. The options are those of dvm-cli start.

    Without a name it has one of its own, so that it is in nobody's way. It ends with this program, however that ends, unless
    keep is true. What dvm-cli refuses is a Dvm.BadParamError, a DVM that does not come up a Dvm.DvmError with the reason.
    """
    check_main()
    options = {'nodes': nodes, 'slots': slots, 'hosts': hosts, 'hostfile': hostfile, 'launcher': launcher,
               'allow_missing': allow_missing, 'elastic': elastic, 'timeout': timeout, 'log': log, 'settings': settings}
    name = name or make_name()
    keeper = Keeper(name, bus, options)
    try:
        started = keeper.await_start()
        dvm = _connect(lambda: Dvm.Client.new_for_address(started.socket), name, started)
        if keep:
            keeper.dismiss()
        else:
            dvm._keeper = keeper
    except BaseException:
        keeper.give_up()
        raise
    return dvm


def _stop_unwanted(answer: 'concurrent.futures.Future[DVM]') -> None:
    if not answer.cancelled() and answer.exception() is None:
        threading.Thread(target=answer.result().stop, name='dvm stop').start()


async def start_async(name: Optional[str] = None, **options: Any) -> DVM:
    """As start(), for coroutines: `async with await dvm.start_async(nodes=4) as vm`."""
    answer: 'concurrent.futures.Future[DVM]' = concurrent.futures.Future()

    def begin() -> None:
        try:
            vm = start(name, **options)
        except BaseException as error:
            settle(answer, error=error)
            return
        # The task that has started it may have been cancelled.
        if answer.set_running_or_notify_cancel():
            answer.set_result(vm)
        else:
            vm.stop()

    threading.Thread(target=begin, name='dvm start').start()
    try:
        return await asyncio.wrap_future(answer)
    except asyncio.CancelledError:
        # The DVM may have come while the loop did something else.
        answer.add_done_callback(_stop_unwanted)
        raise


async def connect_async(name: Optional[str] = None, *, address: Optional[str] = None) -> DVM:
    return await asyncio.to_thread(lambda: connect(name, address=address))
