# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the ranks of a job are on the packages and cores of its nodes: computed here, drawn by map.py."""

import dataclasses
from typing import Any, Dict, FrozenSet, Iterable, List, Set, Tuple

from dvm import DVM
from gi.repository import GLib

from .link import ask

MAX_NODES = 64


def parse_cpus(text: str) -> FrozenSet[int]:
    """Numbers of a list such as 0-3,8, as bindings and objects have them."""
    cpus: Set[int] = set()
    for part in filter(None, text.split(',')):
        first, _, last = part.partition('-')
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


@dataclasses.dataclass(frozen=True)
class Core:
    cpus: FrozenSet[int]
    ranks: Tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class NodeMap:
    name: str
    packages: Tuple[Tuple[Core, ...], ...]
    loose: Tuple[int, ...]  # ranks that are bound to no cores, or whose node has not told its own


@dataclasses.dataclass(frozen=True)
class JobMap:
    job: int
    nodes: Tuple[NodeMap, ...]
    n_hidden: int  # nodes that are not among them


def _make_node(name: str, kinds: Dict[str, List[str]], ranks: List[Tuple[int, FrozenSet[int]]]) -> NodeMap:
    cores = [parse_cpus(text) for text in kinds.get('core', kinds.get('hwthread', []))]
    packages = [parse_cpus(text) for text in kinds.get('package', [])] or [frozenset().union(*cores)] if cores else []
    all_cpus: FrozenSet[int] = frozenset().union(*cores) if cores else frozenset()

    def is_bound(cpus: FrozenSet[int]) -> bool:
        return bool(cpus & all_cpus)

    placed = tuple(
        tuple(Core(core, tuple(rank for rank, cpus in ranks if is_bound(cpus) and cpus & core)) for core in cores if core & package)
        for package in packages)
    return NodeMap(name, placed, tuple(rank for rank, cpus in ranks if not is_bound(cpus)))


def make_map(job: int, rows: Iterable[Any], topologies: Iterable[Any]) -> JobMap:
    """rows: of Map() of a job; topologies: of Query()."""
    by_node: Dict[str, List[Tuple[int, FrozenSet[int]]]] = {}
    for rank, _app, _local, node, cpus, _object, _note in rows:
        by_node.setdefault(node, []).append((rank, parse_cpus(cpus)))
    kinds: Dict[str, Dict[str, List[str]]] = {}
    for _signature, names, objects in topologies:
        kinds.update({name: objects for name in names})
    nodes = [_make_node(name, kinds.get(name, {}), ranks) for name, ranks in list(by_node.items())[:MAX_NODES]]
    return JobMap(job, tuple(nodes), max(len(by_node) - MAX_NODES, 0))


def read_map(vm: DVM, job: int) -> JobMap:
    """For a thread that may wait."""
    record = ask(vm, 'find_job', str(job))
    rows = ask(vm, 'map_job', record, None).unpack()
    names = list(dict.fromkeys(row[3] for row in rows))[:MAX_NODES]
    question = GLib.Variant('a{sv}', {'names': GLib.Variant('as', names)})
    answer = ask(vm, 'query', ['topologies'], question).unpack() if names else {}
    return make_map(job, rows, answer.get('topologies', []))
