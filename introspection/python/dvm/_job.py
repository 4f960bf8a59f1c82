# SPDX-License-Identifier: LGPL-2.1-or-later
"""A job of a DVM: it can be waited for, awaited, and its output read line by line as it comes."""

import asyncio
import concurrent.futures
import os
import threading
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Generator, Iterator, List, NoReturn, Optional, Tuple, cast

from ._html import make_table
from ._library import Dvm, Gio, GLib
from ._thread import settle, wake_loop

if TYPE_CHECKING:
    from ._machine import DVM

_CHUNK = 1 << 16


class Output:
    """What a stream has brought so far. Whoever waits for more is woken by the thread that reads it."""

    def __init__(self, closed: bool) -> None:
        self._data = bytearray()
        self._closed = closed
        self._changed = threading.Condition()
        self._wakers: List[Callable[[], None]] = []

    def add(self, piece: bytes) -> None:
        """An empty piece is the end."""
        with self._changed:
            self._data += piece
            self._closed = self._closed or not piece
            self._changed.notify_all()
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    def get_text(self) -> str:
        with self._changed:
            return self._data.decode(errors='replace')

    def _take(self, begin: int) -> Tuple[Optional[str], int, bool]:
        """Under the lock: the line that begins there, if it is whole, where the next one begins, and whether there are no more."""
        end = self._data.find(b'\n', begin)
        if end >= 0:
            return self._data[begin:end].decode(errors='replace'), end + 1, False
        if self._closed and begin < len(self._data):
            return self._data[begin:].decode(errors='replace'), len(self._data), False
        return None, begin, self._closed

    def __iter__(self) -> Iterator[str]:
        begin = 0
        while True:
            with self._changed:
                line, begin, over = self._take(begin)
                while line is None and not over:
                    self._changed.wait()
                    line, begin, over = self._take(begin)
            if line is None:
                return
            yield line

    async def __aiter__(self) -> AsyncIterator[str]:
        begin = 0
        loop = asyncio.get_running_loop()
        while True:
            woken = asyncio.Event()
            with self._changed:
                line, begin, over = self._take(begin)
                if line is None and not over:
                    self._wakers.append(lambda: wake_loop(loop, woken))
            if line is not None:
                yield line
            elif over:
                return
            else:
                await woken.wait()


class Job:
    """A job that dvm.submit() has submitted, or that dvm.job() has found: then its output is not ours."""

    def __init__(self, dvm: 'DVM', record: Optional[Dvm.Job], args: List[str]) -> None:
        self._dvm = dvm
        self._outputs = [Output(True), Output(True)]
        self._n_open = 0
        self._ended = False
        self._has_nodes = False
        self._end: 'concurrent.futures.Future[Dvm.Job]' = concurrent.futures.Future()
        # None until the DVM has accepted it: then others get to see the job.
        self.record = cast(Dvm.Job, record)
        self.args = args

    # ---- in the thread of the DVM ----

    def _open_pipe(self, index: int) -> int:
        """The writing end; the other one is read until the job has ended."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        stream = Gio.UnixInputStream.new(reading, True)
        self._outputs[index] = Output(False)
        self._n_open += 1
        stream.read_bytes_async(_CHUNK, GLib.PRIORITY_DEFAULT, None, self._on_output, index)
        return writing

    def _on_output(self, stream: Any, result: Any, index: int) -> None:
        try:
            piece = stream.read_bytes_finish(result).get_data() or b''
        except GLib.Error:
            piece = b''
        self._outputs[index].add(piece)
        if piece:
            stream.read_bytes_async(_CHUNK, GLib.PRIORITY_DEFAULT, None, self._on_output, index)
            return
        stream.close()
        self._n_open -= 1
        self._end_if_over()

    def _follow(self) -> None:
        client = self._dvm.client

        def on_ended(_client: Any, result: Any, *_data: object) -> None:
            try:
                client.wait_finish(result)
            except BaseException as error:
                self._close(error)
            else:
                self._ended = True
                self._end_if_over()

        client.wait_async(self.record, 0, None, on_ended)

    def _end_if_over(self) -> None:
        if self._ended and self._n_open == 0:
            settle(self._end, self.record)

    def _close(self, error: BaseException) -> None:
        """The connection is lost, or the job was not accepted: there is no more output."""
        settle(self._end, error=error)
        for output in self._outputs:
            output.add(b'')

    # ---- for any thread ----

    @property
    def id(self) -> int:
        return self.record.props.id

    @property
    def nspace(self) -> str:
        """Its namespace, of PMIx."""
        return self.record.props.nspace

    def _refresh(self) -> None:
        client = self._dvm.client
        self._dvm.thread.wait(client.refresh_job_async, client.refresh_job_finish, self.record)

    def _read(self) -> 'Dvm._JobProps':
        """The record, as it is now; after the end it does not change any more."""
        if not self.done():
            self._refresh()
        return self.record.props

    @property
    def state(self) -> str:
        return self._read().state_name

    @property
    def nodes(self) -> List[str]:
        """The names of the nodes that it has processes on, or had."""
        has_ended = self._ended
        # What tells of an end does not name them: they are asked for once more.
        if has_ended and not self._has_nodes:
            self._refresh()
        self._has_nodes = has_ended
        return list(self._read().nodes)

    @property
    def returncode(self) -> Optional[int]:
        """As subprocess has it: the exit code, or minus the signal that ended the job; None before its end."""
        return self.record.returncode if self.done() else None

    @property
    def stdout(self) -> str:
        """What it has written so far."""
        return self._outputs[0].get_text()

    @property
    def stderr(self) -> str:
        return self._outputs[1].get_text()

    @property
    def errors(self) -> Output:
        """The lines of standard error, to be iterated over as the job itself is for standard output."""
        return self._outputs[1]

    def done(self) -> bool:
        """Whether it has ended, or can be waited for no more."""
        return self._end.done()

    def _complete(self) -> 'Dvm.CompletedJob[str]':
        return Dvm.complete_job(self.record, self.args, self.stdout, self.stderr)

    def wait(self, timeout: Optional[float] = None) -> 'Dvm.CompletedJob[str]':
        """The result of a job that has ended: a Dvm.CompletedJob, which is a subprocess.CompletedProcess.

        TimeoutError after timeout seconds, and the job goes on. A job that came to no end of its own is a Dvm.JobError.
        """
        done, _ = concurrent.futures.wait([self._end], timeout)
        if not done:
            raise TimeoutError(f'job {self.id} has not ended within {timeout} s')
        self._end.result()
        return self._complete()

    async def _wait(self) -> 'Dvm.CompletedJob[str]':
        # Shielded: a task that is cancelled stops waiting, and the others that wait for the job do not.
        await asyncio.shield(asyncio.wrap_future(self._end))
        return self._complete()

    def __await__(self) -> 'Generator[Any, None, Dvm.CompletedJob[str]]':
        return self._wait().__await__()

    def __iter__(self) -> Iterator[str]:
        """The lines of its standard output, without their ends, from the first one, until the job has ended."""
        return iter(self._outputs[0])

    def __aiter__(self) -> AsyncIterator[str]:
        return self._outputs[0].__aiter__()

    def cancel(self) -> None:
        """Ends it: SIGTERM, some time, SIGKILL. Waiting for it then raises Dvm.JobError. Nothing happens when it has ended."""
        client = self._dvm.client
        try:
            self._dvm.thread.wait(client.cancel_job_async, client.cancel_job_finish, self.record)
        except Dvm.DvmError:
            if not self._read().ended:
                raise

    def send_signal(self, signum: int, ranks: str = '') -> None:
        """To all processes, or to some of them: "0-3,7"."""
        client = self._dvm.client
        self._dvm.thread.wait(client.send_signal_async, client.send_signal_finish, self.record, int(signum), ranks or None)

    def _describe(self) -> Tuple[str, str]:
        """Without asking the DVM: the state that is known, and how it ended."""
        state = self.record.props.state_name
        if not self.done():
            return state, ''
        code = self.returncode
        return state, '' if code is None else f'exit {code}' if code >= 0 else f'signal {-code}'

    def __reduce__(self) -> NoReturn:
        raise TypeError('a dvm.Job cannot be sent to another process: send what wait() gives, or its id for dvm.job() of a DVM there')

    def __repr__(self) -> str:
        return f'<dvm.Job {self.id} {" ".join(word for word in (*self._describe(), *self.args) if word)}>'

    def _repr_html_(self) -> str:
        try:
            self._read()
        except (GLib.Error, RuntimeError):
            # The DVM has gone, or this is the thread that talks to it: what is known will do.
            pass
        state, end = self._describe()
        return make_table(['job', 'command', 'state', 'end'], [[str(self.id), ' '.join(self.args), state, end]])
