# SPDX-License-Identifier: LGPL-2.1-or-later
"""The time line of a job: when it waited, when it ran, and how it ended, on an axis that all jobs share."""

import itertools
import time
from typing import Any, Iterable, List, Optional, Tuple

from . import facts
from ._toolkit import Graphene, Gtk, _
from .lists import describe_span

COLOURS = {
    facts.WAITING: 'warning_bg_color',
    facts.STARTING: 'warning_bg_color',
    facts.RUNNING: 'accent_bg_color',
    facts.DONE: 'success_bg_color',
    facts.FAILED: 'error_bg_color',
    facts.CANCELLED: 'dvm_grey',
}

# Seconds, and jobs that are looked at.
_SHORTEST = 10.0
_FITTED = 25

Segment = Tuple[float, float, str]


class Axis:
    """The last span seconds, up to now; of 0 so many that the first jobs of the list fit in."""

    def __init__(self, span: float) -> None:
        self.wanted = span
        self.span = span or _SHORTEST

    def fit(self, jobs: Iterable[facts.Job], now: float) -> None:
        created = [job.created / 1e6 for job in itertools.islice(jobs, _FITTED)]
        self.span = self.wanted or max(now - min(created, default=now), _SHORTEST) * 1.02

    def place(self, job: facts.Job, now: float) -> List[Segment]:
        """Parts of the job as parts of the axis: begin, end (0 to 1), and the phase that gives the colour."""

        def at(time_us: float) -> float:
            return min(max(1 - (now - time_us / 1e6) / self.span, 0.0), 1.0)

        end = job.ended or now * 1e6
        started = job.started or end
        parts = [(at(job.created), at(started), facts.WAITING)]
        if job.started:
            parts.append((at(started), at(end), job.phase if job.is_over else facts.RUNNING))
        elif job.is_over:
            # A moment, that would not be seen.
            parts.append((at(end) - 0.01, at(end), job.phase))
        return [part for part in parts if part[1] > 0]


def describe(job: facts.Job) -> str:
    """The same in words."""
    waited = _('waited %s') % describe_span(job.created, job.started or job.ended)
    ran = _('ran %s') % describe_span(job.started, job.ended) if job.started else ''
    return ', '.join(filter(None, [waited, ran, job.text]))


class Timeline(Gtk.Widget):
    __gtype_name__ = 'DvmMonitorTimeline'

    def __init__(self, axis: Axis) -> None:
        super().__init__(accessible_role=Gtk.AccessibleRole.IMG, hexpand=True, valign=Gtk.Align.FILL)
        self.axis = axis
        self.job: Optional[facts.Job] = None
        # Made when it is asked for: a job that runs has another one each second.
        self.set_has_tooltip(True)
        self.connect('query-tooltip', self._on_tooltip)

    def show_job(self, job: facts.Job) -> None:
        self.job = job
        self.update_property([Gtk.AccessibleProperty.LABEL], [describe(job)])
        self.queue_draw()

    def _on_tooltip(self, _widget: Any, _x: int, _y: int, _by_key: bool, tooltip: Any) -> bool:
        if self.job is None:
            return False
        tooltip.set_text(describe(self.job))
        return True

    def do_measure(self, orientation: Any, _size: int) -> Tuple[int, int, int, int]:
        natural = 140 if orientation == Gtk.Orientation.HORIZONTAL else 14
        return (60 if orientation == Gtk.Orientation.HORIZONTAL else 10, natural, -1, -1)

    def do_snapshot(self, snapshot: Any) -> None:
        if self.job is None:
            return
        width, height = self.get_width(), self.get_height()
        context = self.get_style_context()
        bar = min(height, 12.0)
        for begin, end, phase in self.axis.place(self.job, time.time()):
            found, colour = context.lookup_color(COLOURS[phase])
            if not found:
                colour = context.get_color()
            area = Graphene.Rect()
            thick = bar / 2 if phase == facts.WAITING else bar
            area.init(begin * width, (height - thick) / 2, max((end - begin) * width, 2.0), thick)
            snapshot.append_color(colour, area)
