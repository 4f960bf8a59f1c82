# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads a DVM in rounds. However many jobs there are, a round asks for a bounded number of them, and a bounded number is kept.

Signals say which jobs have changed. Of live ones the oldest are kept, which run or are next; of ended ones the last.
"""

import itertools
import threading
import time
from typing import Any, Callable, Dict, Iterable, List, Set, Tuple

from dvm import DVM, Event
from gi.repository import Gio, GLib

from . import facts

MAX_LIVE = 1000
MAX_ENDED = 500
MAX_CAMPAIGNS = 100
# In one answer: other threads wait no longer than it takes to read it.
PAGE = 500
# Nodes, up to so many, are all read in each round.
FEW_NODES = 64
MAX_MEASURED = 64

# Seconds between two readings that a rate is made of
_MIN_RATE_TIME = 0.5
_MANAGER = 'org.dvm.Manager'
_PATH = '/org/dvm/Manager'
_FOREVER = 2**31 - 1
# These come by columns; of others there are few.
_BY_COLUMN = ('ListJobs', 'ListNodes')
# How the values of an array lie in memory, by its type
_NUMBERS = {'ab': 'B', 'ai': 'i', 'at': 'Q', 'au': 'I'}


def parse_ids(text: str) -> List[Tuple[int, int]]:
    """Ranges: "1-3,7" is [(1, 3), (7, 7)]."""
    ranges = []
    for part in filter(None, text.split(',')):
        first, _, last = part.partition('-')
        ranges.append((int(first), int(last or first)))
    return ranges


def count_ids(text: str) -> int:
    return sum(last - first + 1 for first, last in parse_ids(text))


def last_ids(text: str, n: int, without: str = '') -> List[int]:
    """The n highest that are not among the others, ascending."""
    skipped = {number for first, last in parse_ids(without) for number in range(first, last + 1)}
    ids = (number for first, last in reversed(parse_ids(text)) for number in range(last, first - 1, -1) if number not in skipped)
    return list(itertools.islice(ids, n))[::-1]


def format_ids(ids: Iterable[int]) -> str:
    return ','.join(str(number) for number in sorted(ids))


def read_column(column: Any) -> List[Any]:
    """The values of an array, without an object of GLib for each if there is another way."""
    kind = column.get_type_string()
    if kind == 'as':
        return list(column.get_strv())
    if kind not in _NUMBERS:
        return list(column.unpack())
    values = memoryview(column.get_data_as_bytes().get_data() or b'').cast(_NUMBERS[kind])
    return [bool(value) for value in values] if kind == 'ab' else values.tolist()


def read_rows(answer: Any) -> List[Dict[str, Any]]:
    """The rows of an answer by columns; a column behind the first one may have one value for all."""
    names: List[str] = []
    columns: List[List[Any]] = []
    for index in range(answer.n_children()):
        entry = answer.get_child_value(index)
        names.append(entry.get_child_value(0).get_string())
        columns.append(read_column(entry.get_child_value(1).get_variant()))
    n = len(columns[0]) if columns else 0
    return [dict(zip(names, values)) for values in zip(*(column * n if len(column) == 1 else column for column in columns))]


class Reader:
    """Of one connection. What is public may be called from any thread; read() is for one that may wait."""

    def __init__(self, vm: DVM, wake: Callable[[], None]) -> None:
        self._vm = vm
        self._wake = wake
        self._connection, self._owner = vm.thread.do(
            lambda: (vm.client.get_dbus_connection(), vm.client.get_dbus_name_owner()))
        self._cancellable = Gio.Cancellable()
        self._lock = threading.Lock()
        self._changed: Set[int] = set()
        self._seen: Dict[str, Set[int]] = {'jobs': set(), 'nodes': set()}
        self._nodes_changed = self._campaigns_changed = True
        self._jobs: Dict[int, facts.Job] = {}
        self._outputs: Dict[int, Tuple[float, int, float]] = {}  # of jobs: when read, bytes, rate
        self._nodes: Dict[int, facts.Node] = {}
        self._campaigns: Dict[int, facts.Campaign] = {}
        self._usage: Dict[int, facts.Usage] = {}
        self._hidden = 0
        self._fresh = True
        self.asked = 0.0  # when the question was put that has no answer yet; 0: none
        self._stop = vm.watch(self._on_event, ('dvm', 'job', 'node', 'campaign'))

    def close(self) -> None:
        self._cancellable.cancel()
        try:
            self._stop()
        except RuntimeError:
            # The connection is closed, and the subscription with it.
            pass

    def see(self, kind: str, ids: Iterable[int]) -> None:
        """These rows are on the screen: they are read in each round, and nodes among them are measured."""
        with self._lock:
            self._seen[kind] = set(ids)

    def _on_event(self, event: Event) -> None:
        with self._lock:
            if event.kind == 'job':
                self._changed.add(event.id)
            elif event.kind == 'node':
                self._nodes_changed = True
            elif event.kind == 'campaign':
                self._campaigns_changed = True
        self._wake()

    # ---- calls ----

    def _ask(self, method: str, parameters: Any, interface: str = _MANAGER) -> Any:
        self.asked = time.monotonic()
        reply = self._connection.call_sync(self._owner, _PATH, interface, method, parameters, None, Gio.DBusCallFlags.NO_AUTO_START,
                                           _FOREVER, self._cancellable)
        self.asked = 0.0
        return reply

    def _call(self, method: str, parameters: Any, interface: str = _MANAGER) -> Any:
        return self._ask(method, parameters, interface).unpack()

    def _ask_page(self, method: str, parameters: Any) -> Tuple[List[Dict[str, Any]], str]:
        reply = self._ask(method, parameters)
        answers, rest = reply.get_child_value(0), reply.get_child_value(1).get_string()
        if method not in _BY_COLUMN:
            return answers.unpack(), rest
        return [row for index in range(answers.n_children()) for row in read_rows(answers.get_child_value(index))], rest

    def _list(self, method: str, options: Dict[str, Any], limit: int, ids: str = '') -> Tuple[List[Dict[str, Any]], str]:
        """At most limit rows, page by page, and the ids of those that are not among them."""
        rows: List[Dict[str, Any]] = []
        rest = ids
        if method in _BY_COLUMN:
            options = {**options, 'by-column': GLib.Variant('b', True), 'once': GLib.Variant('b', True)}
        while len(rows) < limit:
            asked = rest
            given = {**options, 'limit': GLib.Variant('u', min(PAGE, limit - len(rows)))}
            if method == 'ListNodes':
                parameters = GLib.Variant('(sa{sv})', (asked, given))
            else:
                parameters = GLib.Variant('(a{sv})', ({**given, **({'ids': GLib.Variant('s', asked)} if asked else {})},))
            page, rest = self._ask_page(method, parameters)
            rows += page
            # A DVM that does not get on would be asked for ever.
            if not rest or rest == asked:
                break
        return rows, rest

    def _list_jobs(self, limit: int, ids: str = '') -> Tuple[List[Dict[str, Any]], str]:
        return self._list('ListJobs', {'columns': GLib.Variant('as', facts.JOB_COLUMNS)}, limit, ids)

    def _list_ids(self, method: str, **options: Any) -> str:
        """Of an answer that is as short as can be: the one that it has, and its rest."""
        rows, rest = self._list(method, {'columns': GLib.Variant('as', ['Id']), **options}, 1)
        return ','.join(filter(None, [format_ids(row['Id'] for row in rows), rest]))

    def _list_history(self, method: str, n: int) -> List[int]:
        """The ids of the last ones that have ended."""
        return last_ids(self._list_ids(method, all=GLib.Variant('b', True)), n, self._list_ids(method))

    # ---- jobs ----

    def _read_live(self) -> None:
        rows, rest = self._list_jobs(MAX_LIVE)
        self._hidden = count_ids(rest)
        self._put_jobs(rows)

    def _put_jobs(self, rows: List[Dict[str, Any]]) -> None:
        now = time.monotonic()
        for row in rows:
            self._jobs[row['Id']] = facts.make_job(row, self._measure_output(row['Id'], row.get('OutputBytes', 0), now))

    def _measure_output(self, job: int, output: int, now: float) -> float:
        """Bytes in a second since the reading before; two readings of one moment say nothing about a second."""
        when, before, rate = self._outputs.get(job, (-1.0, 0, -1.0))
        if when >= 0 and now - when < _MIN_RATE_TIME:
            return rate
        rate = (output - before) / (now - when) if when >= 0 and output >= before else -1.0
        self._outputs[job] = (now, output, rate)
        return rate

    def _read_ids(self, ids: Set[int]) -> None:
        """The DVM may have forgotten some: they leave."""
        for job in ids:
            self._jobs.pop(job, None)
        if ids:
            self._put_jobs(self._list_jobs(len(ids), format_ids(ids))[0])

    def _drop_jobs(self) -> None:
        for over, most in ((True, MAX_ENDED), (False, MAX_LIVE)):
            ids = sorted(job.id for job in self._jobs.values() if job.is_over == over)
            dropped = ids[:max(len(ids) - most, 0)] if over else ids[most:]
            for job in dropped:
                del self._jobs[job]
        self._outputs = {job: known for job, known in self._outputs.items() if job in self._jobs}

    def _read_jobs(self, changed: Set[int], seen: Set[int], n_live: int) -> None:
        if self._fresh:
            self._read_ids(set(self._list_history('ListJobs', MAX_ENDED)))
            self._read_live()
        else:
            known = {job for job in changed | seen if job in self._jobs}
            new = sorted(changed - known)[-MAX_ENDED:]
            self._read_ids(known | set(new))
        self._drop_jobs()
        n_known = sum(not job.is_over for job in self._jobs.values())
        self._hidden = max(n_live - n_known, 0)
        if self._hidden > 0 and n_known < MAX_LIVE // 2:
            self._read_live()
            self._drop_jobs()

    # ---- nodes and campaigns ----

    def _read_nodes(self, changed: bool, seen: Set[int]) -> None:
        columns = {'columns': GLib.Variant('as', facts.NODE_COLUMNS)}
        whole = changed or self._fresh or len(self._nodes) <= FEW_NODES
        ids = '' if whole else format_ids(seen & set(self._nodes))
        if not whole and not ids:
            return
        rows, _ = self._list('ListNodes', columns, 1 << 30, ids)
        found = {row['Rank']: facts.make_node(row) for row in rows}
        # A node that has not changed stays the same object, which is compared at once.
        self._nodes = {**({} if whole else self._nodes),
                       **{rank: node if self._nodes.get(rank) != node else self._nodes[rank] for rank, node in found.items()}}

    def _measure(self, seen: Set[int]) -> None:
        """In turn, if there are many."""
        ranks = [rank for rank in sorted(seen, key=lambda rank: rank in self._usage) if rank in self._nodes][:MAX_MEASURED]
        usage = {rank: value for rank, value in self._usage.items() if rank in self._nodes and rank in seen}
        for rank in ranks:
            usage.pop(rank, None)
            question = GLib.Variant('(asa{sv})', (['node-usage'], {'node': GLib.Variant('s', self._nodes[rank].name)}))
            try:
                usage[rank] = facts.make_usage(self._call('Query', question)[0]['node-usage'])
            except GLib.Error as error:
                # A node that does not tell has no value there.
                if error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED):
                    raise
                usage[rank] = facts.Usage()
        self._usage = usage

    def _read_campaigns(self) -> None:
        ids = self._list_history('ListCampaigns', MAX_CAMPAIGNS)
        columns = {'columns': GLib.Variant('as', facts.CAMPAIGN_COLUMNS)}
        rows = self._list('ListCampaigns', columns, len(ids), format_ids(ids))[0] if ids else []
        rows += self._list('ListCampaigns', columns, MAX_CAMPAIGNS)[0]
        self._campaigns = {row['Id']: facts.make_campaign(row) for row in rows}

    # ---- a round ----

    def read(self) -> facts.Snapshot:
        with self._lock:
            changed, self._changed = self._changed, set()
            seen = {kind: set(ids) for kind, ids in self._seen.items()}
            nodes_changed, self._nodes_changed = self._nodes_changed, False
            campaigns_changed, self._campaigns_changed = self._campaigns_changed, False
        info = self._call('GetAll', GLib.Variant('(s)', (_MANAGER,)), 'org.freedesktop.DBus.Properties')[0]
        self._read_jobs(changed, seen['jobs'], info.get('JobsRunning', 0) + info.get('JobsHeld', 0))
        self._read_nodes(nodes_changed, seen['nodes'])
        if campaigns_changed or any(not campaign.is_over for campaign in self._campaigns.values()):
            self._read_campaigns()
        self._measure(seen['nodes'])
        self._fresh = False
        return facts.Snapshot(info, sorted(self._jobs.values(), key=lambda job: -job.id),
                              [self._nodes[rank] for rank in sorted(self._nodes)],
                              sorted(self._campaigns.values(), key=lambda campaign: -campaign.id), dict(self._usage), self._hidden)
