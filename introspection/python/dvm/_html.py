# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables for notebooks."""

import html
from typing import Iterable, List, Sequence

from ._library import Dvm


def make_table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = '') -> str:
    """Whatever users have named is text there, and never markup."""

    def cells(kind: str, texts: Sequence[object]) -> str:
        return '<tr>' + ''.join(f'<{kind}>{html.escape(str(text))}</{kind}>' for text in texts) + '</tr>'

    title = f'<caption>{html.escape(caption)}</caption>' if caption else ''
    return f'<table>{title}{cells("th", heads)}{"".join(cells("td", row) for row in rows)}</table>'


class Nodes(List[Dvm.Node]):
    """A list of Dvm.Node."""

    def _repr_html_(self) -> str:
        return make_table(['rank', 'name', 'state', 'slots', 'in use'],
                          [[p.rank, p.name, p.state_name, p.slots, p.slots_in_use] for p in (node.props for node in self)])


class Jobs(List[Dvm.Job]):
    """A list of Dvm.Job: the records of jobs."""

    def _repr_html_(self) -> str:
        return make_table(['job', 'command', 'state', 'processes'],
                          [[p.id, ' '.join(p.command), p.state_name, p.num_procs] for p in (job.props for job in self)])
