# SPDX-License-Identifier: LGPL-2.1-or-later
"""DvmExecutor: Dvm.Executor, whose tasks may be calls of Python functions, too."""

import concurrent.futures
import os
import pickle
import sys
import time
from multiprocessing import spawn
from typing import Any, Callable, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, ParamSpec, TypeVar, Union, overload

from . import worker
from ._library import Dvm
from ._machine import DVM, Command, check_main

P = ParamSpec('P')
T = TypeVar('T')


class WorkerError(RuntimeError):
    """The process of a call has ended before it could answer."""


class RemoteError(Exception):
    """The traceback of an exception where it was raised: the cause of the exception that a future has."""

    def __str__(self) -> str:
        return f'\n{self.args[0]}'


def pack_call(function: Callable[..., Any], args: Any, kwargs: Any) -> bytes:
    """What the worker reads. The function is found there by its module, as those of multiprocessing are."""
    main = sys.modules.get('__main__')
    if getattr(function, '__module__', None) == '__main__' and not getattr(main, '__file__', None):
        raise TypeError(f'{function!r} is defined in no file, and another process cannot import it: put it into a module')
    try:
        call = pickle.dumps((function, args, kwargs))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f'the call of {function!r} cannot be sent to another process: {error}. Functions of a module can, with '
                        'arguments that can be pickled; lambdas and functions in functions cannot') from error
    preparation = spawn.get_preparation_data('dvm.worker')
    del preparation['authkey']
    if b'__main__' not in call:
        # Nothing there needs the program, whose top level would run again.
        for key in ('init_main_from_name', 'init_main_from_path'):
            preparation.pop(key, None)
    return pickle.dumps((preparation, call))


class _CallFuture(concurrent.futures.Future):  # type: ignore[type-arg]
    """The future of the value of a call, which is that of the job behind it."""

    def __init__(self, job: Any) -> None:
        super().__init__()
        self._job = job

    def cancel(self) -> bool:
        # Its own end comes with the job's.
        return bool(self._job.cancel())

    def running(self) -> bool:
        return bool(self._job.running())

    def settle(self, job: Any) -> None:
        if job.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
            return
        try:
            value = _read_answer(job.result())
        except BaseException as error:
            self.set_exception(error)
        else:
            self.set_result(value)


def _read_answer(done: Any) -> Any:
    try:
        good, value, trace = pickle.loads(done.stdout)
    except Exception as error:
        said = done.stderr.decode(errors='replace').strip()
        raise WorkerError(f'the process of the call (job {done.job.props.id}) ended with status {done.returncode} and gave no '
                          f'answer that can be read ({error}); it said: {said or "nothing"}') from None
    if good:
        return value
    value.__cause__ = RemoteError(trace)
    raise value


class DvmExecutor(Dvm.Executor):
    """DvmExecutor(dvm=None, max_pending=256, options={...}): an executor of concurrent.futures over a DVM.

    dvm: a DVM, its name, or None for the usual one. submit(["prog", ...], n=2) runs a program, submit(function, ...) calls a
    function in a process of its own, wherever there is a slot: Python and its modules have to be there under the same paths.
    options: those of Dvm.JobSpec() for the processes of calls, such as env.
    """

    def __init__(self, dvm: Union[None, str, DVM] = None, *, max_pending: int = 256, options: Optional[Mapping[str, Any]] = None) -> None:
        check_main()
        self._call_options: Dict[str, Any] = {'env': {}, **(options or {})}
        if isinstance(dvm, DVM):
            super().__init__(address=dvm.socket, max_pending=max_pending)
        else:
            super().__init__(dvm, max_pending=max_pending)

    @overload
    def submit(self, command: Command, /, *, text: Literal[True], **options: Any) -> 'concurrent.futures.Future[Dvm.CompletedJob[str]]': ...

    @overload
    def submit(self, command: Command, /, *, text: Literal[False] = ..., capture_output: Literal[True],
               **options: Any) -> 'concurrent.futures.Future[Dvm.CompletedJob[bytes]]': ...

    @overload
    def submit(self, command: Command, /, **options: Any) -> 'concurrent.futures.Future[Dvm.CompletedJob[Any]]': ...

    @overload
    def submit(self, command: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> 'concurrent.futures.Future[T]': ...

    def submit(self, command: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A Future: of a Dvm.CompletedJob for a command line or a Dvm.JobSpec, of its value for the call of a function."""
        if callable(command):
            return self._submit_call(command, args, kwargs)
        if args:
            raise TypeError('a command is one list of words: submit(["prog", "argument"])')
        if 'n' in kwargs:
            kwargs['np'] = kwargs.pop('n')
        return super().submit(command, **kwargs)

    def _submit_call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        words = [sys.executable, os.path.abspath(worker.__file__)]
        job = super().submit(words, capture_output=True, stdin=pack_call(function, args, kwargs), **self._call_options)
        future = _CallFuture(job)
        job.add_done_callback(future.settle)
        return future

    @overload
    def map(self, command: Callable[..., T], *iterables: Iterable[Any], timeout: Optional[float] = None,
            chunksize: int = 1) -> Iterator[T]: ...

    @overload
    def map(self, command: Command, *iterables: Iterable[Any], timeout: Optional[float] = None, text: Literal[True],
            **options: Any) -> 'Iterator[Dvm.CompletedJob[str]]': ...

    @overload
    def map(self, command: Command, *iterables: Iterable[Any], timeout: Optional[float] = None,
            **options: Any) -> 'Iterator[Dvm.CompletedJob[Any]]': ...

    def map(self, command: Any, *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: int = 1,
            **options: Any) -> Iterator[Any]:
        """As map() of any executor. For a command line the items are more words of it."""
        if not callable(command):
            if 'n' in options:
                options['np'] = options.pop('n')
            results: Iterator[Any] = super().map(command, *iterables, timeout=timeout, **options)
            return results
        if options:
            raise TypeError(f'{", ".join(options)}: a function gets the items alone; what its processes are is said by options={{...}}')
        futures: List[Any] = [self.submit(command, *items) for items in zip(*iterables)]
        return Dvm.iterate_results(futures, None if timeout is None else time.monotonic() + timeout)
