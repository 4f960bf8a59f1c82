# SPDX-License-Identifier: LGPL-2.1-or-later
"""A thread that runs a main context of GLib: calls of the library become futures of concurrent.futures.

PyGObject 3.42 has no event loop for asyncio, and Jupyter, servers and tests bring one of their own: a thread serves them all.
"""

import asyncio
import concurrent.futures
import os
import threading
from typing import Any, Callable, Optional, TypeVar

from ._library import Gio, GLib

T = TypeVar('T')


class MainThread:
    def __init__(self, name: str) -> None:
        self._context = GLib.MainContext()
        self._loop = GLib.MainLoop.new(self._context, False)
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._over = False
        self._pending: 'set[concurrent.futures.Future[Any]]' = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._context.push_thread_default()
        try:
            self._loop.run()
        finally:
            self._context.pop_thread_default()

    def is_ours(self) -> bool:
        """Whether this is no child of fork(), which has no such thread."""
        return os.getpid() == self._pid

    def check_ours(self) -> None:
        if not self.is_ours():
            raise RuntimeError('a DVM cannot be used in a child of fork(): begin that process as a program of its own, or by the methods "spawn" and '
                               '"forkserver" of multiprocessing, and connect to the DVM there')

    def post(self, function: Callable[[], object]) -> None:
        """function will be called in the thread."""
        self.check_ours()
        source = GLib.Idle(priority=GLib.PRIORITY_DEFAULT)

        def dispatch(_data: object = None) -> bool:
            function()
            return bool(GLib.SOURCE_REMOVE)

        with self._lock:
            if self._over:
                raise RuntimeError('the DVM is closed: connect to it, or start one')
            source.set_callback(dispatch)
            source.attach(self._context)

    def do(self, function: Callable[[], T]) -> T:
        """What function returns or raises, which is called in the thread."""
        if threading.current_thread() is self._thread:
            return function()
        future: 'concurrent.futures.Future[T]' = concurrent.futures.Future()

        def work() -> None:
            try:
                value = function()
            except BaseException as error:
                settle(future, error=error)
            else:
                settle(future, value)

        self._track(future)
        self.post(work)
        return future.result()

    def call(self, start: Callable[..., object], finish: Callable[..., T], *args: Any, **kwargs: Any) -> 'concurrent.futures.Future[T]':
        """The future of a call of the library: start is its X_async, finish its X_finish. Cancelling ends the waiting."""
        future: 'concurrent.futures.Future[T]' = concurrent.futures.Future()
        cancellable = Gio.Cancellable()

        def on_done(source: object, result: object, *_data: object) -> None:
            try:
                value = finish(result)
            except BaseException as error:
                settle(future, error=error)
            else:
                settle(future, value)

        def begin() -> None:
            try:
                start(*args, cancellable=cancellable, callback=on_done, **kwargs)
            except BaseException as error:
                settle(future, error=error)

        self._track(future)
        future.add_done_callback(lambda done: cancellable.cancel() if done.cancelled() else None)
        self.post(begin)
        return future

    def check_waiting(self) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError('a callback of dvm.watch() cannot wait for the DVM, whose thread it holds: start a thread or a task there')

    def wait(self, start: Callable[..., object], finish: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """The answer of a call."""
        self.check_waiting()
        return self.call(start, finish, *args, **kwargs).result()

    def _track(self, future: 'concurrent.futures.Future[Any]') -> None:
        with self._lock:
            self._pending.add(future)
        future.add_done_callback(self._forget)

    def _forget(self, future: 'concurrent.futures.Future[Any]') -> None:
        with self._lock:
            self._pending.discard(future)

    def close(self) -> None:
        """Ends the thread. What still waits for an answer gets an exception."""
        if not self.is_ours():
            return
        try:
            self.post(self._loop.quit)
        except RuntimeError:
            return
        with self._lock:
            self._over = True
        if threading.current_thread() is not self._thread:
            self._thread.join()
        with self._lock:
            left = list(self._pending)
        for future in left:
            settle(future, error=RuntimeError('the DVM is closed: connect to it, or start one'))


def settle(future: 'concurrent.futures.Future[Any]', value: object = None, error: Optional[BaseException] = None) -> None:
    """The end of future, unless it has one: whoever has cancelled it does not want another."""
    try:
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
    except concurrent.futures.InvalidStateError:
        pass


def settle_as(future: 'concurrent.futures.Future[T]', done: 'concurrent.futures.Future[T]') -> None:
    error = done.exception()
    settle(future, None if error is not None else done.result(), error)


def wake_loop(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """From any thread: sets an event of asyncio."""
    try:
        loop.call_soon_threadsafe(event.set)
    except RuntimeError:
        # That loop is closed: nothing waits in it any more.
        pass
