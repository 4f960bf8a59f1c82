# SPDX-License-Identifier: LGPL-2.1-or-later
"""Dvm.Executor: an executor as those of concurrent.futures, whose tasks are jobs of a DVM."""

import atexit
import collections
import concurrent.futures
import html
import os
import resource
import subprocess
import threading
import time
import weakref

from gi.repository import Gio, GLib

from .Dvm import Client, JobSpec, _Dvm, make_error

# How a program ends by itself; every other failure is the DVM's, or of one who cancelled the job.
_OWN_ENDS = (_Dvm.JobState.NON_ZERO_TERM, _Dvm.JobState.ABORTED_BY_SIG, _Dvm.JobState.CALLED_ABORT)
_CHUNK = 1 << 16
# Of an output in a notebook, in characters.
_SHOWN = 4000


class JobError(RuntimeError):
    """A job that did not come to an end of its own: it was not placed, not started, cancelled, out of time.

    job is its record; stdout and stderr are what it had written, where that is collected, as those of a CompletedJob.
    """

    def __init__(self, job, stdout=None, stderr=None):
        super().__init__(f'job {job.props.id} ended as {job.props.state_name}: {job.props.reason or "no reason given"}')
        self.job = job
        self.stdout = stdout
        self.stderr = stderr

    def __reduce__(self):
        return type(self), (self.job, self.stdout, self.stderr)


class CompletedJob(subprocess.CompletedProcess):
    """As subprocess.CompletedProcess, and the record of the job, which does not change any more."""

    def __init__(self, job, args, stdout, stderr):
        super().__init__(args, job.returncode, stdout, stderr)
        self.job = job

    def _repr_html_(self):
        """For notebooks: how it ended, and the end of what it has written. All of it is text there, and no markup."""
        code = self.returncode
        row = [self.job.props.id, ' '.join(map(str, self.args)), f'exit {code}' if code >= 0 else f'signal {-code}']
        cells = ''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)
        texts = [data if isinstance(data, str) else data.decode(errors='replace') for data in (self.stdout, self.stderr) if data]
        written = ''.join(f'<pre>{html.escape(text[-_SHOWN:])}</pre>' for text in texts)
        return f'<table><tr><th>job</th><th>command</th><th>end</th></tr><tr>{cells}</tr></table>{written}'


class JobFuture(concurrent.futures.Future):
    """The future of a job. cancel() cancels the job too, whether it waits or runs: until it has ended it can be."""

    # To the base class it is pending until its end: only what is pending can be cancelled there.
    def __init__(self):
        super().__init__()
        self.job_id = None

    def running(self):
        """Whether the DVM has accepted the job, and it has not ended."""
        return self.job_id is not None and not self.done()


def complete_job(job, args, stdout, stderr):
    """The CompletedJob of one that has ended; a JobError if that was no end of its own."""
    if job.props.failed and job.props.state not in _OWN_ENDS:
        raise JobError(job, stdout, stderr)
    return CompletedJob(job, args, stdout, stderr)


def iterate_results(futures, end):
    """In their order, until the time end; what nobody waits for any more is cancelled."""
    futures = collections.deque(futures)
    try:
        while futures:
            yield futures[0].result(None if end is None else end - time.monotonic())
            futures.popleft()
    finally:
        for future in futures:
            future.cancel()


class _Task:
    def __init__(self, spec, check, capture, text, stdin=None):
        self.future = JobFuture()
        self.spec = spec
        self.args = spec.get_app(0).get_argv() if spec.get_n_apps() > 0 else []
        self.check = check
        self.captures = capture
        self.text = text
        self.stdin = stdin
        self.job = None
        self.ended = False
        self.streams = []
        # These grow in place: a copy for each piece would make much output slow.
        self.output = [bytearray(), bytearray()] if capture else [None, None]

    def get_output(self):
        return [data if data is None else data.decode(errors='replace') if self.text else bytes(data) for data in self.output]

    def settle(self, error=None):
        """The end. Whoever has cancelled the future is told now that its job is really over."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            if error is not None:
                raise error
            result = complete_job(self.job, self.args, *self.get_output())
            if self.check:
                result.check_returncode()
        except Exception as caught:
            self.future.set_exception(caught)
        else:
            self.future.set_result(result)


def _make_file(data):
    """A descriptor from which data is read. It is no pipe: those who never read it hold nobody up."""
    with os.fdopen(os.memfd_create('dvm-stdin', os.MFD_CLOEXEC), 'wb') as file:
        file.write(data)
        file.flush()
        file.seek(0)
        return os.dup(file.fileno())


class Executor(concurrent.futures.Executor):
    """Runs programs as jobs of the DVM `name`, at most max_pending of them in the DVM at a time.

    Those whose output is collected are fewer, if there are few descriptors (an eighth of RLIMIT_NOFILE).

    A thread of its own talks to the DVM, so it may be used from any thread, and from any event loop (with
    asyncio.wrap_future()). Its jobs end with this process. It must not be used after a fork().
    """

    def __init__(self, name=None, *, address=None, max_pending=256):
        if max_pending < 1:
            raise ValueError(f'max_pending is {max_pending}, and must be at least 1')
        self._pid = os.getpid()
        self._max_pending = max_pending
        self._lock = threading.Lock()
        # What other threads may touch, under the lock.
        self._queue = collections.deque()
        self._cancelled = collections.deque()
        self._woken = False
        self._closed = False
        self._broken = None
        # What belongs to the thread.
        self._in_flight = set()
        self._n_captured = 0
        # Each has four descriptors while it is being submitted, and GLib ends a program that has none left.
        self._max_captured = max(1, min(max_pending, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8))
        self._context = GLib.MainContext()
        self._loop = GLib.MainLoop.new(self._context, False)
        started = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, args=(name, address, started), name='Dvm.Executor', daemon=True)
        self._thread.start()
        try:
            started.result()
        except BaseException:
            self._closed = True
            self._thread.join()
            raise
        _all.add(self)

    # ---- for any thread ----

    def submit(self, command, /, *, check=False, capture_output=False, text=False, stdin=None, **options):
        """A JobFuture of a CompletedJob. command: a JobSpec, or the words of a command line.

        Options are those of JobSpec(); without them it is one process in the current directory. As with
        subprocess.run() an exit code is a result, and with check=True an exception (CalledProcessError). A job that
        came to no end of its own is a JobError, and what the DVM refuses a DvmError. stdin: bytes for its standard
        input, with capture_output.
        """
        if not isinstance(command, JobSpec):
            command = JobSpec(command, **{'np': 1, 'cwd': os.getcwd(), **options})
        elif options:
            raise TypeError(f'{", ".join(options)}: to be said in the JobSpec')
        if os.getpid() != self._pid:
            raise RuntimeError('a Dvm.Executor cannot be used in a child of fork(): make one there')
        if stdin is not None and not (capture_output or text):
            raise TypeError('stdin is for jobs with capture_output=True')
        task = _Task(command, check, capture_output or text, text, stdin)
        with self._lock:
            if self._closed:
                raise RuntimeError('cannot submit after shutdown')
            if self._broken is not None:
                raise concurrent.futures.BrokenExecutor(str(self._broken)) from self._broken
            self._queue.append(task)
            self._wake()
        task.future.add_done_callback(lambda future: future.cancelled() and self._cancel(task))
        return task.future

    def map(self, command, *iterables, timeout=None, chunksize=1, **options):
        """As map() of any executor. command: a function that makes a command line, or a command line to be added to."""
        make = command if callable(command) else lambda *words: [*command, *map(str, words)]
        futures = [self.submit(make(*items), **options) for items in zip(*iterables)]
        return iterate_results(futures, None if timeout is None else time.monotonic() + timeout)

    def shutdown(self, wait=True, *, cancel_futures=False):
        """No job is taken any more. cancel_futures: what the DVM has not been given yet is cancelled."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._closed = True
            waiting = list(self._queue) if cancel_futures else []
            self._wake()
        for task in waiting:
            task.future.cancel()
        if wait:
            self._thread.join()

    def _cancel(self, task):
        with self._lock:
            self._cancelled.append(task)
            self._wake()

    def _wake(self):
        """Under the lock: one wake-up serves everything that is submitted until it comes."""
        if self._woken:
            return
        self._woken = True
        source = GLib.Idle(priority=GLib.PRIORITY_DEFAULT)
        source.set_callback(self._on_wake)
        source.attach(self._context)

    # ---- in the thread ----

    def _run(self, name, address, started):
        self._context.push_thread_default()
        try:
            self._client = Client.new_for_address(address) if address is not None else Client.new(name)
            self._client.connect_sync()
        except BaseException as error:
            started.set_exception(error)
        else:
            self._client.set_jobs_end_with_client(True)
            self._client.connect('notify::connected', self._on_connected)
            started.set_result(None)
            self._loop.run()
        finally:
            self._client = None
            self._context.pop_thread_default()

    def _on_wake(self, _data=None):
        with self._lock:
            self._woken = False
            cancelled, self._cancelled = self._cancelled, collections.deque()
        for task in cancelled:
            if task in self._in_flight and task.job is not None:
                self._cancel_job(task)
        self._go_on()
        return GLib.SOURCE_REMOVE

    def _go_on(self):
        """Gives the DVM what it may have, and leaves when all is done."""
        together = []
        while task := self._take():
            if task.future.cancelled() or self._broken is not None:
                task.settle(self._broken)
            elif task.captures or task.spec.get_n_apps() != 1:
                self._begin(task)
            else:
                # One call for all that can go: pipes cannot, nor jobs of several applications.
                self._enter(task)
                together.append(task)
        if len(together) > 1:
            self._client.submit_many_async([task.spec for task in together], None, self._on_submitted_many, together)
        elif together:
            self._submit(together[0])
        with self._lock:
            if self._closed and not self._queue and not self._in_flight:
                self._loop.quit()

    def _take(self):
        """The next one, if there is one and the DVM may have it."""
        with self._lock:
            if self._queue and (self._has_room(self._queue[0]) or self._broken is not None):
                return self._queue.popleft()
        return None

    def _has_room(self, task):
        return len(self._in_flight) < self._max_pending and (not task.captures or self._n_captured < self._max_captured)

    def _enter(self, task):
        self._in_flight.add(task)
        self._n_captured += task.captures

    def _leave(self, task):
        self._in_flight.remove(task)
        self._n_captured -= task.captures

    def _begin(self, task):
        self._enter(task)
        try:
            self._submit(task)
        except OSError as error:
            # Not _end(): whoever began this one goes on with the next.
            self._leave(task)
            task.settle(error)

    def _submit(self, task):
        fds = [-1, -1, -1]
        try:
            if task.stdin is not None:
                fds[0] = _make_file(task.stdin)
            for index in range(2 if task.captures else 0):
                fds[1 + index] = self._open_pipe(task, index)
            self._client.submit_with_fds_async(task.spec, *fds, None, self._on_submitted, task)
        finally:
            for fd in fds:
                if fd >= 0:
                    os.close(fd)

    def _open_pipe(self, task, index):
        """The writing end; the other one is read to its end, which comes when the job has ended."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        stream = Gio.UnixInputStream.new(reading, True)
        task.streams.append(stream)
        stream.read_bytes_async(_CHUNK, GLib.PRIORITY_DEFAULT, None, self._on_output, (task, index))
        return writing

    def _on_output(self, stream, result, data):
        task, index = data
        try:
            piece = stream.read_bytes_finish(result).get_data()
        except GLib.Error:
            piece = None
        if piece:
            task.output[index] += piece
            stream.read_bytes_async(_CHUNK, GLib.PRIORITY_DEFAULT, None, self._on_output, data)
            return
        stream.close()
        task.streams.remove(stream)
        self._end_if_over(task)

    def _on_submitted(self, client, result, task):
        try:
            self._follow(task, client.submit_with_fds_finish(result))
        except GLib.Error as error:
            self._end(task, error)

    def _on_submitted_many(self, client, result, tasks):
        try:
            jobs = client.submit_many_finish(result)
        except GLib.Error:
            # All are accepted or none is: which is at fault, and why, each is told by itself.
            for task in tasks:
                if task.future.cancelled():
                    self._end(task)
                else:
                    self._submit(task)
            return
        for task, job in zip(tasks, jobs):
            self._follow(task, job)

    def _follow(self, task, job):
        task.job = job
        task.future.job_id = job.props.id
        if task.future.cancelled():
            self._cancel_job(task)
        self._client.wait_async(job, 0, None, self._on_ended, task)

    def _on_ended(self, client, result, task):
        try:
            client.wait_finish(result)
        except GLib.Error as error:
            self._end(task, error)
            return
        task.ended = True
        self._end_if_over(task)

    def _end_if_over(self, task):
        if task.ended and not task.streams:
            self._end(task)

    def _end(self, task, error=None):
        if task not in self._in_flight:
            return
        self._leave(task)
        task.settle(error)
        self._go_on()

    def _cancel_job(self, task):
        # Only one that has ended just now cannot be cancelled.
        self._client.cancel_job_async(task.job, None, lambda client, result: None)

    def _on_connected(self, client, pspec):
        if client.get_connected():
            return
        with self._lock:
            self._broken = make_error(_Dvm.Error.SHUTTING_DOWN, 'The connection to the DVM is lost')
        # Each call that is on its way gets an error of its own; what has not been given away gets this one.
        self._go_on()


_all = weakref.WeakSet()


@atexit.register
def _finish_all():
    """As with other executors, what was submitted is finished before the program ends."""
    for executor in list(_all):
        executor.shutdown()
