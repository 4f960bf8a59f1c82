# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the window shows of jobs, nodes and campaigns: small values that do not change, made of rows of the bus."""

import dataclasses
import functools
import pwd
from typing import Any, Dict, List, Mapping, Optional, Tuple

from dvm import Dvm

from ._toolkit import N_, _, ngettext

JOB_COLUMNS = ['Id', 'Namespace', 'State', 'Ended', 'Failed', 'HeldAt', 'Paused', 'WaitsFor', 'AwaitedJobs', 'NumProcs', 'NumLaunched',
               'NumTerminated', 'SubmitterUid', 'Command', 'CreatedAt', 'StartedAt', 'EndedAt', 'Reason', 'ExitCode', 'ExitSignal',
               'OutputBytes']
NODE_COLUMNS = ['Rank', 'Name', 'StateName', 'Slots', 'SlotsInUse', 'Reason', 'ParentRank', 'MemoryAllotted']
CAMPAIGN_COLUMNS = ['Id', 'Kind', 'State', 'AllocId', 'Hosts', 'Targets', 'Pending', 'HeldJobs', 'Reason', 'StartedAt', 'EndedAt']

# Of these a colour is made. The first ones have not ended.
WAITING, STARTING, RUNNING, DONE, FAILED, CANCELLED = 'waiting', 'starting', 'running', 'done', 'failed', 'cancelled'

_HELD = {
    'slots': N_('waiting for slots'),
    'cpus': N_('waiting for cpus'),
    'devices': N_('waiting for devices'),
    'session': N_('waiting for its session'),
    'limit': N_('waiting for other jobs to end'),
    'hold': N_('waiting for its release'),
}


@functools.lru_cache(maxsize=256)
def find_user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@dataclasses.dataclass(frozen=True)
class Job:
    id: int
    nspace: str
    phase: str
    text: str  # the state in words
    user: str
    procs: int
    live: int
    command: str
    created: int  # µs since the epoch
    started: int  # 0: it has not
    ended: int  # 0: it has not
    reason: str
    exit: str
    output: int = 0  # bytes that it has written
    rate: float = -1  # of them in a second; below 0: not known

    @property
    def is_over(self) -> bool:
        return self.phase in (DONE, FAILED, CANCELLED)


def _join_numbers(paths: List[str]) -> str:
    return ', '.join(path.rpartition('/')[2] for path in paths)


def _describe_wait(row: Mapping[str, Any]) -> str:
    """Empty: it does not wait."""
    campaigns, jobs, held = row.get('WaitsFor', []), row.get('AwaitedJobs', []), str(row.get('HeldAt', ''))
    if campaigns:
        return ngettext('waiting for campaign %s', 'waiting for campaigns %s', len(campaigns)) % _join_numbers(campaigns)
    if held == 'jobs' and not jobs:
        return _('waiting for jobs of its name')
    if held == 'jobs':
        return ngettext('waiting for job %s', 'waiting for jobs %s', len(jobs)) % _join_numbers(jobs)
    if held in _HELD:
        return _(_HELD[held])
    if row.get('State', 0) == int(Dvm.JobState.READY_FOR_DEBUG):
        return _('waiting for a debugger')
    return _('waiting for %s') % held if held else ''


def _describe_state(row: Mapping[str, Any]) -> Tuple[str, str]:
    """The phase and the words for it, which are those of dvm-cli."""
    paused = row.get('Paused', False)
    if row.get('State', 0) == int(Dvm.JobState.KILLED_BY_CMD):
        return CANCELLED, _('cancelled')
    if row.get('Failed', False):
        return FAILED, _('failed')
    if row.get('Ended', False):
        return DONE, _('done')
    waits = _describe_wait(row)
    if waits:
        return WAITING, waits
    if row.get('NumLaunched', 0) == 0:
        return STARTING, _('starting (paused)') if paused else _('starting')
    return RUNNING, _('running (paused)') if paused else _('running')


def _describe_exit(row: Mapping[str, Any]) -> str:
    if not row.get('Ended', False):
        return ''
    signal: int = row.get('ExitSignal', 0)
    code: int = row.get('ExitCode', 0)
    return _('signal %d') % signal if signal else _('exit status %d') % code


def make_job(row: Mapping[str, Any], rate: float = -1) -> Job:
    phase, text = _describe_state(row)
    over = phase in (DONE, FAILED, CANCELLED)
    return Job(id=row['Id'], nspace=row.get('Namespace', ''), phase=phase, text=text, user=find_user(row.get('SubmitterUid', 0)),
               procs=row.get('NumProcs', 0), live=max(row.get('NumLaunched', 0) - row.get('NumTerminated', 0), 0),
               command=' '.join(row.get('Command', [])), created=row.get('CreatedAt', 0), started=row.get('StartedAt', 0),
               ended=row.get('EndedAt', 0) if row.get('Ended', False) else 0, reason=row.get('Reason', ''), exit=_describe_exit(row),
               output=row.get('OutputBytes', 0), rate=-1 if over else rate)


@dataclasses.dataclass(frozen=True)
class Usage:
    """Of a node, as its agent has measured it. Below 0: it does not tell."""

    load: float = -1
    memory: int = -1
    total: int = -1


def make_usage(values: Optional[Mapping[str, Any]]) -> Usage:
    if not values:
        return Usage()
    total = values.get('mem-total', -1)
    unused = sum(values.get(key, 0) for key in ('mem-free', 'buffers', 'cached'))
    return Usage(values.get('load-1', -1), max(total - unused, 0) if total >= 0 else -1, total)


@dataclasses.dataclass(frozen=True)
class Node:
    id: int  # its rank
    name: str
    state: str
    slots: int
    used: int
    parent: int
    reason: str
    allotted: int = 0  # bytes of memory that the scheduler has given of it

    @property
    def phase(self) -> str:
        return {'UP': RUNNING, 'DO_NOT_USE': WAITING}.get(self.state, FAILED if self.state == 'DOWN' else STARTING)

    @property
    def is_drained(self) -> bool:
        return self.state == 'DO_NOT_USE'

    @property
    def text(self) -> str:
        words = {'UP': _('up'), 'DO_NOT_USE': _('drained'), 'DOWN': _('down')}
        return words.get(self.state, self.state.lower().replace('_', ' '))


def make_node(row: Mapping[str, Any]) -> Node:
    return Node(id=row['Rank'], name=row.get('Name', ''), state=row.get('StateName', ''), slots=row.get('Slots', 0),
                used=row.get('SlotsInUse', 0), parent=row.get('ParentRank', 0), reason=row.get('Reason', ''),
                allotted=row.get('MemoryAllotted', 0))


@dataclasses.dataclass(frozen=True)
class Campaign:
    id: int
    kind: str
    state: str
    alloc_id: str
    hosts: str
    total: int
    done: int
    held: int  # jobs that wait for it
    reason: str
    started: int
    ended: int

    @property
    def is_over(self) -> bool:
        return self.state in ('completed', 'failed')

    @property
    def phase(self) -> str:
        return {'waiting': WAITING, 'running': RUNNING, 'rolling-back': FAILED, 'completed': DONE}.get(self.state, FAILED)

    @property
    def progress(self) -> str:
        """Empty: nothing has come of it."""
        return '' if self.state == 'failed' else _('{done} of {total} nodes').format(done=self.done, total=self.total)

    @property
    def title(self) -> str:
        return (_('Growth %d') if self.kind == 'grow' else _('Shrinking %d')) % self.id

    @property
    def text(self) -> str:
        words = {'waiting': _('waiting'), 'running': _('running'), 'rolling-back': _('being taken back'), 'completed': _('done'),
                 'failed': _('failed')}
        return words.get(self.state, self.state)


def make_campaign(row: Mapping[str, Any]) -> Campaign:
    total = len(row.get('Targets', []))
    kind, state = row.get('Kind', ''), row.get('State', '')
    # A growth brings all of its nodes or none; those that leave again are no longer pending, either.
    pending = total if kind == 'grow' and state != 'completed' else row.get('Pending', 0)
    return Campaign(id=row['Id'], kind=kind, state=state, alloc_id=row.get('AllocId', ''),
                    hosts=', '.join(row.get('Hosts', [])), total=total, done=max(total - pending, 0),
                    held=len(row.get('HeldJobs', [])), reason=row.get('Reason', ''), started=row.get('StartedAt', 0),
                    ended=row.get('EndedAt', 0))


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """All that is shown, of one moment."""

    info: Dict[str, Any]
    jobs: List[Job]
    nodes: List[Node]
    campaigns: List[Campaign]
    usage: Dict[int, Usage]
    hidden: int  # live jobs that are not among jobs
