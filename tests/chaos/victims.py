# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whom chaos strikes, and how: the two tables that a new kind of process, or of fault, is a line in."""

import os
import signal

import leftovers


class Target:
    """One victim: its processes, and the nodes and jobs that it takes along."""

    def __init__(self, kind, pids=(), nodes=(), jobs=(), thing=None):
        self.kind = kind
        self.pids = list(pids)
        self.nodes = set(nodes)
        self.jobs = set(jobs)
        self.thing = thing

    def __str__(self):
        return ' '.join([','.join(sorted(self.nodes)), *map(str, self.pids)]).strip() or self.kind


def list_below(pid, program):
    """The pids of all processes below this one that execute a program of that name."""
    found = []
    for child in leftovers._list_children(pid):
        found += [child] * (leftovers._get_program(child) == program) + list_below(child, program)
    return found


def find_agents(world):
    return [Target('agent', [pid], [node]) for node, pid in world.agents().items()]


def find_guards(world):
    """The outer and the inner one of each agent, one by one."""
    found = []
    for node, pid in world.agents().items():
        pid = leftovers.get_parent(pid)
        while leftovers._get_program(pid) == 'dvm-guard':
            found.append(Target('guard', [pid], [node]))
            pid = leftovers.get_parent(pid)
    return found


def find_branches(world):
    """An agent with its guards, all at the same time."""
    found = []
    for target in [one for one in find_agents(world) if world.can_lose_branch(one)]:
        pid = leftovers.get_parent(target.pids[0])
        while leftovers._get_program(pid) == 'dvm-guard':
            target.pids.append(pid)
            pid = leftovers.get_parent(pid)
        target.kind = 'branch'
        found.append(target)
    return found


def find_ranks(world):
    return [Target('rank', [pid], jobs=[job]) for job in world.live_jobs() for pid in world.rank_pids(job)]


def find_pmix(world):
    """Servers of libpmix that are processes of their own, where there are such."""
    return [Target('pmix', [pid], [node]) for node, agent in world.agents().items() for pid in list_below(agent, 'dvm-pmix')]


def find_launchers(world):
    """What holds an agent of another machine: its ssh, below the controller."""
    found = []
    for pid in list_below(world.controller, 'ssh'):
        words = leftovers._read(f'/proc/{pid}/cmdline').decode(errors='replace').split('\0')
        found.append(Target('launcher', [pid], [name for name in world.agents() if name in words]))
    return found


def find_clients(world):
    return [Target('client', client.pids, jobs=[client]) for client in world.live_clients()]


def find_controller(world):
    return [] if world.gone else [Target('controller', [world.controller], world.agents())]


def find_connections(world):
    return [Target('connection', thing=one) for one in world.connections]


def find_machines(world):
    return [Target('machine', nodes=[host.name], thing=host) for host in world.machines()]


# name: who it is
VICTIMS = {
    'agent': find_agents,
    'guard': find_guards,
    'branch': find_branches,
    'rank': find_ranks,
    'pmix': find_pmix,
    'launcher': find_launchers,
    'client': find_clients,
    'controller': find_controller,
    'connection': find_connections,
    'machine': find_machines,
}


def send(number):
    def strike(target):
        for pid in target.pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
    return strike


def cut_connection(target):
    target.thing.close()


# (victim, fault): (weight, what is done, what undoes it or None). Whom it kills is not undone.
FAULTS = {
    ('agent', 'kill'): (6, send(signal.SIGKILL), None),
    ('agent', 'segv'): (3, send(signal.SIGSEGV), None),
    ('agent', 'freeze'): (6, send(signal.SIGSTOP), send(signal.SIGCONT)),
    ('guard', 'kill'): (4, send(signal.SIGKILL), None),
    ('guard', 'segv'): (2, send(signal.SIGSEGV), None),
    ('guard', 'freeze'): (3, send(signal.SIGSTOP), send(signal.SIGCONT)),
    ('branch', 'kill'): (2, send(signal.SIGKILL), None),
    ('branch', 'freeze'): (2, send(signal.SIGSTOP), send(signal.SIGCONT)),
    ('rank', 'kill'): (6, send(signal.SIGKILL), None),
    ('rank', 'segv'): (3, send(signal.SIGSEGV), None),
    ('rank', 'freeze'): (4, send(signal.SIGSTOP), send(signal.SIGCONT)),
    ('pmix', 'kill'): (5, send(signal.SIGKILL), None),
    ('pmix', 'segv'): (3, send(signal.SIGSEGV), None),
    ('pmix', 'freeze'): (3, send(signal.SIGSTOP), send(signal.SIGCONT)),
    ('launcher', 'kill'): (4, send(signal.SIGKILL), None),
    ('launcher', 'freeze'): (2, send(signal.SIGSTOP), send(signal.SIGCONT)),
    ('client', 'kill'): (4, send(signal.SIGKILL), None),
    ('client', 'segv'): (2, send(signal.SIGSEGV), None),
    ('client', 'freeze'): (3, send(signal.SIGSTOP), send(signal.SIGCONT)),
    ('controller', 'kill'): (1, send(signal.SIGKILL), None),
    ('controller', 'segv'): (1, send(signal.SIGSEGV), None),
    ('controller', 'freeze'): (3, send(signal.SIGSTOP), send(signal.SIGCONT)),
    ('connection', 'cut'): (3, cut_connection, None),
    ('machine', 'cut'): (4, lambda target: target.thing.cut(), lambda target: target.thing.mend()),
    ('machine', 'unplug'): (2, lambda target: target.thing.cut(carrier=False), lambda target: target.thing.mend()),
    ('machine', 'lossy'): (3, lambda target: target.thing.lose(20), lambda target: target.thing.lose(0)),
    ('machine', 'freeze'): (3, lambda target: target.thing.freeze(), lambda target: target.thing.thaw()),
}
# Seconds until a fault is undone: machines may be missed, processes are back before that.
PAUSES = {'machine': [0.1, 0.5, 2, 6]}
SHORT_PAUSES = [0.02, 0.1, 0.3, 0.8]
# These end nothing that has come to its end otherwise.
HARMLESS = {('guard', 'freeze'), ('rank', 'freeze'), ('client', 'freeze'), ('connection', 'cut')}
# All that there is of a node's own: who has lost them all has nobody but the controller.
DAEMONS = ('agent', 'guard', 'branch')
# After these there is nobody to ask, and everything comes to its end.
ENDS_ALL = {('controller', 'kill'), ('controller', 'segv')}
