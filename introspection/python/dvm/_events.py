# SPDX-License-Identifier: LGPL-2.1-or-later
"""All events of a DVM by one subscription: its signals on D-Bus, in their order."""

import asyncio
import collections
import dataclasses
import threading
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Collection, Deque, Dict, Iterator, List, Optional, Tuple

from ._library import Dvm, Gio
from ._thread import wake_loop

if TYPE_CHECKING:
    from ._machine import DVM

KINDS = ('dvm', 'job', 'proc', 'node', 'session', 'campaign', 'warning')
_NAMES = {'org.dvm.Session': 'session', 'org.dvm.Campaign': 'campaign'}
_MANAGER = 'org.dvm.Manager'
_PROPERTIES = 'org.freedesktop.DBus.Properties'
_OBJECTS = 'org.freedesktop.DBus.ObjectManager'
# Kind of event, and the signal that tells of it: interface, name, path. Each job has tens of others, which are not read.
_SIGNALS = (
    ('job', _MANAGER, 'JobsChanged', None),
    ('node', _MANAGER, 'NodesChanged', None),
    ('warning', _MANAGER, 'AllocTimeoutWarning', None),
    ('proc', 'org.dvm.Job', 'ProcStateChanged', None),
    ('session', 'org.dvm.Session', 'StateChanged', None),
    ('campaign', 'org.dvm.Campaign', 'StateChanged', None),
    ('dvm', _PROPERTIES, 'PropertiesChanged', '/org/dvm/Manager'),
)


@dataclasses.dataclass(frozen=True)
class Event:
    """Something of the DVM went from the state old to new. old is empty for what has just come, and for nodes that were not known.

    kind: dvm, job, proc (a process of the job id), node, session, campaign; warning: the time of the allocation name ends in id s
    id: number of the job, session or campaign, rank of the node
    rank: of a process, else -1
    """

    kind: str
    id: int
    name: str
    old: str
    new: str
    reason: str = ''
    rank: int = -1


def _number(path: str) -> int:
    last = path.rpartition('/')[2]
    return int(last) if last.isdigit() else 0


class Subscription:
    """In the thread of the DVM: makes events of signals and gives them to tell. None is the last one: the DVM has gone."""

    def __init__(self, dvm: 'DVM', kinds: Collection[str], tell: Callable[[Optional[Event]], None]) -> None:
        kinds = (kinds,) if isinstance(kinds, str) else kinds
        wrong = sorted(set(kinds) - set(KINDS))
        if wrong:
            raise ValueError(f'"{wrong[0]}" is no kind of event: there are {", ".join(KINDS)}')
        self._dvm = dvm
        self._kinds = frozenset(kinds)
        self._tell = tell
        self._nodes: Dict[int, Tuple[str, str]] = {}
        self._states: Dict[str, str] = {}
        self._state = ''
        self._closed = False
        client = dvm.client
        self._handler = client.connect('notify::connected', lambda *_: None if client.get_connected() else self._finish())
        self._connection = client.get_dbus_connection()
        self._matches = [self._follow(interface, name, path) for kind, interface, name, path in _SIGNALS if kind in self._kinds]
        if self._kinds & set(_NAMES.values()):
            self._matches += [self._follow(_OBJECTS, name, None) for name in ('InterfacesAdded', 'InterfacesRemoved')]
        # The answers come after all signals of before: what is listed here is what there was.
        if not dvm.subscribed:
            # Once for each connection, whose end takes it back.
            client.subscribe()
            dvm.subscribed = True
        self._list_nodes()

    def _follow(self, interface: str, name: str, path: Optional[str]) -> int:
        number: int = self._connection.signal_subscribe(self._dvm.client.get_dbus_name_owner(), interface, name, path, None,
                                                        Gio.DBusSignalFlags.NONE, self._on_signal)
        return number

    def _list_nodes(self) -> None:
        for node in self._dvm.client.list_nodes():
            self._nodes.setdefault(node.props.rank, (node.props.name, node.props.state_name))

    def _emit(self, event: Event) -> None:
        if event.kind in self._kinds and not self._closed:
            self._tell(event)

    def _on_signal(self, _connection: Any, _sender: str, path: str, interface: str, signal: str, parameters: Any, *_data: Any) -> None:
        # That a job comes is told with all of its properties.
        if self._closed or interface == _OBJECTS and parameters.get_child_value(0).get_string().startswith('/org/dvm/jobs/'):
            return
        getattr(self, f'_on_{signal}')(path, interface, parameters.unpack())

    def _on_JobsChanged(self, _path: str, _interface: str, values: Any) -> None:
        for path, old, new, reason in values[0]:
            old_name, new_name = (str(Dvm.job_state_to_string(state)) for state in (old, new))
            self._emit(Event('job', _number(path), path, old_name, new_name, reason))

    def _on_ProcStateChanged(self, path: str, _interface: str, values: Any) -> None:
        for rank, old, new in values[0]:
            old_name, new_name = (str(Dvm.proc_state_to_string(state)) for state in (old, new))
            self._emit(Event('proc', _number(path), path, old_name, new_name, rank=rank))

    def _on_NodesChanged(self, _path: str, _interface: str, values: Any) -> None:
        if any(rank not in self._nodes for rank, _ in values[0]):
            known = set(self._nodes)
            self._list_nodes()
            for rank in set(self._nodes) - known:
                self._nodes[rank] = (self._nodes[rank][0], '')
        for rank, state in values[0]:
            name, old = self._nodes.get(rank, (f'rank {rank}', ''))
            new = str(Dvm.node_state_to_string(state))
            self._nodes[rank] = (name, new)
            self._emit(Event('node', rank, name, old, new))

    def _on_StateChanged(self, path: str, interface: str, values: Any) -> None:
        old, new, reason = values
        self._tell_state(_NAMES[interface], path, old, new, reason)

    def _on_InterfacesAdded(self, _path: str, _interface: str, values: Any) -> None:
        path, interfaces = values
        for interface, properties in interfaces.items():
            if interface in _NAMES:
                self._tell_state(_NAMES[interface], path, '', properties.get('State', ''), properties.get('Reason', ''))

    def _on_InterfacesRemoved(self, _path: str, _interface: str, values: Any) -> None:
        self._states.pop(values[0], None)

    def _tell_state(self, kind: str, path: str, old: str, new: str, reason: str) -> None:
        """Not twice: one that has just come may have changed before it is told of."""
        if self._states.get(path) == new:
            return
        self._states[path] = new
        self._emit(Event(kind, _number(path), path, old, new, reason))

    def _on_PropertiesChanged(self, _path: str, _interface: str, values: Any) -> None:
        interface, changed, _ = values
        if interface == _MANAGER and 'StateName' in changed:
            self._emit(Event('dvm', 0, '', self._state, changed['StateName']))
            self._state = changed['StateName']

    def _on_AllocTimeoutWarning(self, _path: str, _interface: str, values: Any) -> None:
        alloc_id, req_id, seconds = values
        self._emit(Event('warning', seconds, alloc_id, '', '', f'{seconds} s are left' + (f' of the request {req_id}' if req_id else '')))

    def _finish(self) -> None:
        if not self._closed:
            self._tell(None)
            self.close()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for match in self._matches:
            self._connection.signal_unsubscribe(match)
        self._dvm.client.disconnect(self._handler)


class Events:
    """The events from the call of dvm.events() on, for `for` and for `async for`; they end when the DVM does, or by close()."""

    def __init__(self, dvm: 'DVM', kinds: Collection[str]) -> None:
        self._dvm = dvm
        self._changed = threading.Condition()
        self._waiting: Deque[Event] = collections.deque()
        self._over = False
        self._wakers: List[Callable[[], None]] = []
        self._subscription = dvm.thread.do(lambda: Subscription(dvm, kinds, self._put))

    def _put(self, event: Optional[Event]) -> None:
        with self._changed:
            if event is None:
                self._over = True
            else:
                self._waiting.append(event)
            self._changed.notify_all()
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    def _take(self) -> Optional[Event]:
        """Under the lock."""
        return self._waiting.popleft() if self._waiting else None

    def __iter__(self) -> Iterator[Event]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._over)
                event = self._take()
            if event is None:
                return
            yield event

    async def __aiter__(self) -> AsyncIterator[Event]:
        loop = asyncio.get_running_loop()
        while True:
            woken = asyncio.Event()
            with self._changed:
                event = self._take()
                over = self._over
                if event is None and not over:
                    self._wakers.append(lambda: wake_loop(loop, woken))
            if event is not None:
                yield event
            elif over:
                return
            else:
                await woken.wait()

    def close(self) -> None:
        """No more events come; a loop that waits for one ends. May be called more than once."""
        try:
            self._dvm.thread.do(self._subscription.close)
        except RuntimeError:
            # The DVM is closed, and the subscription with it.
            pass
        self._put(None)

    def __enter__(self) -> 'Events':
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
