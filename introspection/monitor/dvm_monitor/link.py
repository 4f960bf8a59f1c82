# SPDX-License-Identifier: LGPL-2.1-or-later
"""The way to the DVM. A thread reads it, and looks for it again when it has gone; a few others do what the user wants.

Answers come to the main context, where the window is.
"""

import concurrent.futures
import threading
import time
from typing import Any, Callable, Iterable, Optional

import dvm
from dvm import DVM, Dvm
from gi.repository import GLib

from . import facts
from ._toolkit import _
from .reader import Reader

# Seconds. A person does not read faster than the first one; without signals a round comes by the second one.
_BETWEEN_ROUNDS = 0.4
_PERIOD = 1.0
_WORKERS = 4
# From then on a DVM is said not to answer, and when the window is closed it is not waited for longer than the other.
_SILENT = 5.0
_PATIENCE = 1.0


def get_message(error: BaseException) -> str:
    """The sentence of the DVM, without what D-Bus puts before it."""
    text = str(error.message if isinstance(error, GLib.Error) else error)
    if text.startswith('GDBus.Error:'):
        text = text.partition(': ')[2]
    return text


def ask(vm: DVM, verb: str, *args: Any, **kwargs: Any) -> Any:
    """The answer of a call of the library, for a thread that may wait."""
    client = vm.client
    return vm.thread.wait(getattr(client, f'{verb}_async'), getattr(client, f'{verb}_finish'), *args, **kwargs)


class Link:
    """on_snapshot(snapshot): None when there is no DVM, then with the sentence that says so."""

    def __init__(self, name: Optional[str], address: Optional[str],
                 on_snapshot: Callable[[Optional[facts.Snapshot], str], None]) -> None:
        self._name = name
        self._address = address
        self._on_snapshot = on_snapshot
        self._vm: Optional[DVM] = None
        self._reader: Optional[Reader] = None
        self._sought = 0.0  # when a connection was begun that is not there yet; 0: none
        self._closed = threading.Event()
        self._woken = threading.Event()
        self._seen: 'dict[str, set[int]]' = {}
        self._workers = concurrent.futures.ThreadPoolExecutor(_WORKERS, 'dvm-monitor')
        self._thread = threading.Thread(target=self._follow, name='dvm-monitor-reader', daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._woken.set()
        reader = self._reader
        if reader is not None:
            reader.close()
        # One that makes a connection cannot be told to stop.
        self._thread.join(_PATIENCE if self._sought else None)
        self._workers.shutdown(wait=False, cancel_futures=True)

    def see(self, kind: str, ids: Iterable[int]) -> None:
        """The rows of that kind that are on the screen."""
        self._seen[kind] = set(ids)
        reader = self._reader
        if reader is not None:
            reader.see(kind, ids)
            self._woken.set()

    def is_silent(self) -> bool:
        """There is a DVM, and it has not answered for a while."""
        reader = self._reader
        asked = reader.asked if reader is not None else self._sought
        return asked > 0 and time.monotonic() - asked > _SILENT

    # ---- in the thread that reads ----

    def _tell(self, snapshot: Optional[facts.Snapshot], sentence: str = '') -> None:
        def tell() -> bool:
            if not self._closed.is_set():
                self._on_snapshot(snapshot, sentence)
            return bool(GLib.SOURCE_REMOVE)

        GLib.idle_add(tell)

    def _follow(self) -> None:
        sentence = ''
        while not self._closed.is_set():
            try:
                self._sought = time.monotonic()
                with dvm.connect(self._name, address=self._address) as vm:
                    self._serve(vm)
                sentence = _('The DVM has ended. The next one at the same place is followed.')
            except (GLib.Error, RuntimeError, OSError) as error:
                sentence = get_message(error)
            self._vm = self._reader = None
            self._sought = 0.0
            self._tell(None, sentence)
            self._closed.wait(_PERIOD)

    def _serve(self, vm: DVM) -> None:
        """Until it has gone."""
        reader = Reader(vm, self._woken.set)
        try:
            for kind, ids in self._seen.items():
                reader.see(kind, ids)
            self._reader, self._vm = reader, vm
            self._sought = 0.0
            while vm.connected and not self._closed.is_set():
                self._tell(reader.read())
                self._closed.wait(_BETWEEN_ROUNDS)
                self._woken.wait(_PERIOD - _BETWEEN_ROUNDS)
                self._woken.clear()
        finally:
            self._vm = self._reader = None
            reader.close()

    # ---- what the user wants ----

    def work(self, function: Callable[[DVM], Any], done: Callable[[Any], object], failed: Callable[[str], object]) -> None:
        """function(vm) in a thread of its own, then done(its value) or failed(a sentence) in the main context."""

        def run() -> Any:
            vm = self._vm
            if vm is None:
                raise Dvm.make_error(Dvm.Error.NOT_FOUND, _('there is no DVM: it has ended, or has not begun'))
            return function(vm)

        def on_done(future: 'concurrent.futures.Future[Any]') -> None:
            if future.cancelled():
                return
            error = future.exception()

            def tell() -> bool:
                if self._closed.is_set():
                    pass
                elif error is not None:
                    failed(get_message(error))
                else:
                    done(future.result())
                return bool(GLib.SOURCE_REMOVE)

            GLib.idle_add(tell)
            self._woken.set()

        self._workers.submit(run).add_done_callback(on_done)
