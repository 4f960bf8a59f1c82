# SPDX-License-Identifier: LGPL-2.1-or-later
"""What makes the library feel at home in Python: job descriptions with keywords, exceptions, asyncio.

PyGObject loads this module with `from gi.repository import Dvm`; everything here is then in Dvm. The executor has a
module of its own, _dvm_executor.py.
"""

import asyncio
import collections
import difflib
import functools
import os
import selectors

from gi.repository import Gio, GLib, GObject

from ..module import get_introspection_module
from ..overrides import override

_Dvm = get_introspection_module('Dvm')
__all__ = ['AppSpec', 'Campaign', 'Client', 'CompletedJob', 'DvmError', 'EventLoop', 'Executor', 'Job', 'JobError', 'JobFuture',
           'JobSpec', 'Node', 'Proc', 'Session', 'StateChange', 'complete_job', 'connect', 'iterate_results', 'make_error', 'run',
           'start']


# ---- errors ----

class DvmError(GLib.Error):
    """An error of the domain DVM_ERROR. Each code but FAILED has a class of its own: NOT_FOUND is Dvm.NotFoundError."""

    def __str__(self):
        return self.message

    def __repr__(self):
        return f'{type(self).__name__}({self.message!r})'


def _make_error_classes():
    bases = {'BAD_PARAM': ValueError, 'PARSE_FAILED': ValueError, 'NOT_FOUND': LookupError}
    classes = {}
    for code in _Dvm.Error.__enum_values__.values():
        nick = code.value_nick.replace('-', '_').upper()
        if nick == 'FAILED':
            classes[int(code)] = DvmError
            continue
        name = ''.join(word.capitalize() for word in nick.split('_')) + 'Error'
        parents = (DvmError, bases[nick]) if nick in bases else (DvmError,)
        classes[int(code)] = type(name, parents, {'__module__': __name__, '__doc__': f'The error DVM_ERROR_{nick}.'})
    return classes


_ERRORS = _make_error_classes()
for _class in _ERRORS.values():
    globals()[_class.__name__] = _class
    __all__.append(_class.__name__)
del _class


def make_error(code, message):
    """The exception for a code of DVM_ERROR."""
    return _ERRORS[int(code)](message, 'dvm-error-quark', int(code))


def _translate(error):
    """The exception of Python for a GError; those of other domains stay as they are."""
    if error.domain != 'dvm-error-quark':
        return error
    return _ERRORS.get(error.code, DvmError)(error.message, error.domain, error.code)


def _raising(function):
    """function, with exceptions of our own."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except GLib.Error as error:
            raise _translate(error) from None

    return call


# ---- what to run ----

def _to_argv(command):
    if isinstance(command, (str, bytes, os.PathLike)):
        command = [command]
    return [os.fspath(word) for word in command]


def _to_env(env):
    if not hasattr(env, 'items'):
        return list(env)
    for name, value in env.items():
        if not name or '=' in name:
            raise ValueError(f'env: "{name}" is no name of a variable: it has at least one character, and no "="')
        if value is None:
            raise ValueError(f'env: "{name}" is None: a value is text, and unset_env=["{name}"] is for a variable that is not to be there')
    return [f'{name}={value}' for name, value in env.items()]


@functools.lru_cache(maxsize=None)
def _list_settable(base):
    return frozenset(pspec.name.replace('-', '_') for pspec in base.list_properties() if pspec.flags & GObject.ParamFlags.WRITABLE)


def _check_options(base, options, others=()):
    """GObject names its own type alone where an option is not there, and does not tell what there is."""
    settable = _list_settable(base)
    for option in options:
        if option in settable:
            continue
        names = sorted(settable.union(others))
        close = difflib.get_close_matches(option, names, 1, 0.65)
        told = f'did you mean "{close[0]}"?' if close else 'there are ' + ', '.join(names)
        raise TypeError(f'{base.__name__} has no option "{option}"; {told}')


@override
class AppSpec(_Dvm.AppSpec):
    """AppSpec(argv, np=2, cwd=..., env={...}, unset_env=[...], clear_env=True, hosts=[...],
    hostfile=..., preload_files=[...], preload_dir=..., preload_binary=True, session_cwd=True, pset=...,
    map_by=..., rank_by=..., bind_to=...)"""

    def __init__(self, argv=None, *, env=None, cwd=None, **properties):
        _check_options(type(self), properties, ('env', 'cwd'))
        super().__init__(**properties)
        # By the functions: words, paths and variables need not be UTF-8, which values of properties must be.
        if argv is not None:
            self.set_argv(_to_argv(argv))
        if env is not None:
            self.set_env(_to_env(env))
        if cwd is not None:
            self.set_cwd(os.fspath(cwd))

    def __repr__(self):
        return f'<Dvm.AppSpec {self.get_argv()} np={self.props.np}>'


@override
class JobSpec(_Dvm.JobSpec):
    """JobSpec(argv, np=2, label='night', ...): one application, and options of it and of the job.

    JobSpec(apps=[AppSpec(...), AppSpec(...)], ...) is a job of several applications.
    """

    _APP_OPTIONS = ('np', 'cwd', 'env', 'unset_env', 'clear_env', 'hosts', 'hostfile', 'preload_files',
                    'preload_dir', 'preload_binary', 'session_cwd', 'pset')

    def __init__(self, argv=None, *, apps=(), **options):
        app_options = {key: options.pop(key) for key in self._APP_OPTIONS if key in options}
        if argv is None and app_options:
            raise TypeError(f'{", ".join(app_options)}: for the application, and argv is not given')
        _check_options(type(self), options, self._APP_OPTIONS)
        super().__init__(**options)
        if argv is not None:
            self.add_app(AppSpec(argv, **app_options))
        for app in apps:
            self.add_app(app)

    @property
    def apps(self):
        return [self.get_app(index) for index in range(self.get_n_apps())]

    def __repr__(self):
        return f'<Dvm.JobSpec {self.apps}>'

    validate = _raising(_Dvm.JobSpec.validate)

    @staticmethod
    def new_from_json(json, length=-1):
        return _raising(_Dvm.JobSpec.new_from_json)(json, length)


# ---- records ----

def _restore(name, properties):
    return getattr(_Dvm, name).new_from_variant(GLib.Variant.parse(GLib.VariantType('a{sv}'), properties, None, None))


class _Stored:
    """Records can be pickled and copied: what comes of it does not change with the DVM any more."""

    def __reduce_ex__(self, protocol):
        return _restore, (type(self).__name__, self.to_variant().print_(True))

    def __copy__(self):
        restore, words = self.__reduce_ex__(0)
        return restore(*words)

    def __deepcopy__(self, _memo):
        return self.__copy__()


@override
class Job(_Stored, _Dvm.Job):
    @property
    def returncode(self):
        """As subprocess has it: the exit code, or minus the signal that ended the job; None before its end."""
        if not self.props.ended:
            return None
        return -self.props.exit_signal if self.props.exit_signal else self.props.exit_code

    def __repr__(self):
        return f'<Dvm.Job {self.props.id} {self.props.state_name}>'


@override
class Node(_Stored, _Dvm.Node):
    def __repr__(self):
        return f'<Dvm.Node {self.props.rank} {self.props.name} {self.props.state_name}>'


@override
class Session(_Stored, _Dvm.Session):
    def __repr__(self):
        return f'<Dvm.Session {self.props.id} {self.props.alloc_id!r}>'


@override
class Campaign(_Stored, _Dvm.Campaign):
    def __repr__(self):
        return f'<Dvm.Campaign {self.props.id} {self.props.kind.value_nick} {self.props.state.value_nick}>'


@override
class Proc(_Dvm.Proc):
    def __repr__(self):
        return f'<Dvm.Proc rank={self.get_rank()} node={self.get_node()} pid={self.get_pid()}>'


# ---- asyncio ----

class _ContextSource(GLib.Source):
    """Ready when the descriptors of asyncio are, or when its next timer is due."""

    def __init__(self, fd):
        super().__init__()
        self.add_unix_fd(fd, GLib.IOCondition.IN)

    def prepare(self):
        return False, -1

    def check(self):
        return False

    def dispatch(self, callback, args):
        self.set_ready_time(-1)
        return GLib.SOURCE_CONTINUE


class _Selector(selectors.EpollSelector):
    """Waits in a GLib main context: the descriptor of an epoll set can be polled itself."""

    def __init__(self, context):
        super().__init__()
        self._context = context
        self._source = _ContextSource(self.fileno())
        self._source.attach(context)

    def select(self, timeout=None):
        blocks = timeout is None or timeout > 0
        if timeout is not None and blocks:
            self._source.set_ready_time(GLib.get_monotonic_time() + int(timeout * 1e6) + 1)
        # asyncio may be given nothing: it looks at what is due and comes again.
        self._context.iteration(blocks)
        self._source.set_ready_time(-1)
        return super().select(0)

    def close(self):
        self._source.destroy()
        super().close()


class EventLoop(asyncio.SelectorEventLoop):
    """An event loop of asyncio that runs a GLib main context too: the thread's default one, if none is given."""

    def __init__(self, context=None):
        super().__init__(_Selector(context or GLib.MainContext.get_thread_default() or GLib.MainContext.default()))


def run(main, *, debug=None):
    """As asyncio.run(), with a Dvm.EventLoop: the calls of Dvm.Client can be awaited in it."""
    with asyncio.Runner(debug=debug, loop_factory=EventLoop) as runner:
        return runner.run(main)


def _start(client, start, finish, args, kwargs, cancellable):
    """Starts a call and returns the asyncio future of its answer. Cancelling that ends the waiting, not the job."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    if cancellable is None:
        cancellable = Gio.Cancellable()

    def on_done(source, result):
        try:
            value = finish(client, result)
        except GLib.Error as error:
            if not future.done():
                future.set_exception(_translate(error))
        else:
            if not future.done():
                future.set_result(value)

    future.add_done_callback(lambda future: future.cancelled() and cancellable.cancel())
    start(client, *args, cancellable=cancellable, callback=on_done, **kwargs)
    return future


def _awaitable(info, finish, defaults):
    """The function of an …_async: without a callback it can be awaited, in an EventLoop."""
    start = getattr(_Dvm.Client, info.get_name())
    n_args = [argument.get_name() for argument in info.get_arguments()].index('cancellable')

    @functools.wraps(start)
    def call(self, *args, **kwargs):
        if len(args) > n_args + 1 or kwargs.get('callback') is not None:
            return start(self, *args, **kwargs)
        if not isinstance(asyncio._get_running_loop(), EventLoop):
            raise RuntimeError(f'{info.get_name()}() without a callback is for coroutines in a Dvm.EventLoop: see Dvm.run()')
        cancellable = args[n_args] if len(args) > n_args else kwargs.pop('cancellable', None)
        for name in list(defaults)[:max(0, n_args - len(args))]:
            kwargs.setdefault(name, defaults[name])
        return _start(self, start, finish, args[:n_args], kwargs, cancellable)

    return call


def _plain(info, defaults):
    function = _raising(getattr(_Dvm.Client, info.get_name()))
    names = [argument.get_name() for argument in info.get_arguments()]
    n_args = names.index('cancellable') if 'cancellable' in names else len(names) - 1

    @functools.wraps(function)
    def call(self, *args, **kwargs):
        for name in list(defaults)[:max(0, n_args - len(args))]:
            kwargs.setdefault(name, defaults[name])
        return function(self, *args, **kwargs)

    return call


# ---- the size of the DVM ----

# The keys of a request, and their types on the bus.
_REQUEST = {'hosts': 'as', 'hostfile': 's', 'count': 'u', 'alloc-id': 's', 'of-req-id': 's', 'req-id': 's', 'target': 's',
            'share': 'b', 'session': 'u', 'inheritance': 's', 'child-separate': 'b', 'time': 'u', 'warn-timeout': 'u',
            'drain-timeout': 'u'}


def _requesting(call, argument='request', types=_REQUEST):
    """call, with the keys of its request as keywords: grow(hosts=['n9:2'], req_id='mine')."""

    @functools.wraps(call)
    def wrapper(self, *args, **kwargs):
        words = [word for word in kwargs if word.replace('_', '-') in types]
        request = {word.replace('_', '-'): kwargs.pop(word) for word in words}
        if request:
            kwargs[argument] = GLib.Variant('a{sv}', {key: GLib.Variant(types[key], request[key]) for key in request})
        return call(self, *args, **kwargs)

    return wrapper


# Those of ControlSession.
_DIRECTIVES = {'instantiate': 'b', 'extend': 'u', 'pause': 'b', 'resume': 'b', 'preempt': 'b', 'restore': 'b', 'signal': 'i',
               'terminate': 'b', 'separate': 'b', 'hosts': 'as', 'apps': 'aa{sv}', 'nspace': 's', 'time': 'u',
               'inheritance': 's'}

# What Python has no use for: that it did not fail, which an exception would say.
_RESULTS = {'grow': lambda result: tuple(result[1:]), 'shrink': lambda result: tuple(result[1:]),
            'allocate': lambda result: result.unpack(), 'control_session': lambda result: result.unpack(),
            'extend_session': lambda result: result[1], 'release_session': lambda result: result[1]}


def _returning(function, convert):
    return functools.wraps(function)(lambda *args, **kwargs: convert(function(*args, **kwargs)))


def _add_size_calls(klass):
    for verb, convert in _RESULTS.items():
        keys = ('directives', _DIRECTIVES) if verb == 'control_session' else ('request', _REQUEST)
        setattr(klass, verb, _returning(_requesting(getattr(klass, verb), *keys), convert))
        setattr(klass, f'{verb}_finish', _returning(getattr(klass, f'{verb}_finish'), convert))
        setattr(klass, f'{verb}_async', _requesting(getattr(klass, f'{verb}_async'), *keys))
    return klass


def _add_calls(klass):
    """Each call of the client: with exceptions of our own, and awaitable."""
    defaults = {'wait': {'timeout_ms': 0}, 'list_jobs': {'all': False}, 'shutdown': {'force': False},
                'wait_campaign': {'timeout_ms': 0}, 'list_campaigns': {'all': False}, 'grow': {'request': None},
                'collect_stacks': {'ranks': None, 'timeout': 0},
                'shrink': {'request': None}, 'allocate': {'request': None}, 'extend_session': {'request': None},
                'release_session': {'request': None}, 'signal_session': {'nspace': None}}
    infos = {info.get_name(): info for info in _Dvm.Client.__info__.get_methods()}
    for name, info in infos.items():
        verb = name.removesuffix('_async')
        if verb != name:
            finish = getattr(_Dvm.Client, verb + '_finish')
            if verb in _RESULTS:
                finish = _returning(finish, _RESULTS[verb])
            setattr(klass, name, _awaitable(info, finish, defaults.get(verb, {})))
        elif info.can_throw_gerror():
            setattr(klass, name, _plain(info, defaults.get(name, {})))
    return _add_size_calls(klass)


StateChange = collections.namedtuple('StateChange', ['job', 'old', 'new', 'reason'])


# The processes in which a client has connected, of this one and those that it is a fork() of.
_connected_in = set()


def _in_one_process(call):
    """GDBus has one thread for all connections, which a child of fork() has not: call would never return there."""

    @functools.wraps(call)
    def check(*args, **kwargs):
        _connected_in.add(os.getpid())
        if len(_connected_in) > 1:
            raise RuntimeError('a child of fork() cannot talk to a DVM when its parent has: begin that process as a program of its own, or by the '
                               'methods "spawn" and "forkserver" of multiprocessing')
        return call(*args, **kwargs)

    return check


def _add_connects(klass):
    for name in ('connect_sync', 'connect_async'):
        setattr(klass, name, _in_one_process(getattr(klass, name)))
    return klass


@override
@_add_connects
@_add_calls
class Client(_Dvm.Client):
    """Dvm.Client(name=None). Each call X has X_async(), which can be awaited under Dvm.run()."""

    async def follow(self, what):
        """`async for change in client.follow(what)`: the StateChanges of a job until it has ended.

        what: a JobSpec, which is submitted, and none of its states is missed; or a job, from what it is now on.
        """
        changes = asyncio.Queue()
        handlers = [(self, self.connect('notify::connected', lambda *_: changes.put_nowait(None)))]

        def watch(job):
            handlers.append((job, job.connect('state-changed', lambda *change: changes.put_nowait(StateChange(*change)))))
            handlers.append((job, job.connect('notify::ended', lambda *_: changes.put_nowait(None))))
            return job, self.watch_job_async(job)

        def finish(client, result):
            # In the callback: when the coroutine goes on, changes may have come already.
            return watch(_Dvm.Client.submit_finish(client, result))

        try:
            if isinstance(what, Job):
                job, watching = watch(what)
            else:
                await self.subscribe_async()
                job, watching = await _start(self, _Dvm.Client.submit_async, finish, (what,), {}, None)
            await watching
            if job.props.ended:
                changes.put_nowait(None)
            while (change := await changes.get()) is not None:
                yield change
            if not job.props.ended:
                raise make_error(_Dvm.Error.SHUTTING_DOWN, 'The connection to the DVM is lost: it has ended')
        finally:
            for source, handler in handlers:
                source.disconnect(handler)

    def __repr__(self):
        where = self.get_address() if self.get_connected() else 'not connected'
        return f'<Dvm.Client {self.props.name or "default"} {where}>'


# ---- whole DVMs, by the package dvm ----

def start(name=None, **options):
    """`with Dvm.start(nodes=4) as dvm`: dvm.start(), which docs/python.md describes."""
    import dvm
    return dvm.start(name, **options)


def connect(name=None, **options):
    """A DVM that is there: dvm.connect()."""
    import dvm
    return dvm.connect(name, **options)


from ._dvm_executor import CompletedJob, Executor, JobError, JobFuture, complete_job, iterate_results  # noqa: E402, it needs what is above
