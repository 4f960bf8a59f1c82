# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of jobs: a list with a time line for each, what is shown of them, and the job that is selected."""

import time
from typing import Any, Callable, List, Optional, Set

from . import facts
from ._toolkit import GLib, Gtk, Pango, _, ngettext
from .lists import (Row, Rows, Seen, describe_span, fill_state, make_column, make_empty, make_label, make_scrolled, make_view, matches,
                    name_choice)
from .timeline import Axis, Timeline

# Seconds; 0 fits the axis to the jobs.
SPANS = (0, 60, 600, 3600, 86400)
_KINDS = (None, (facts.WAITING, facts.STARTING), (facts.RUNNING,), (facts.DONE, facts.FAILED, facts.CANCELLED), (facts.FAILED,))


class JobsPage(Gtk.Box):
    __gtype_name__ = 'DvmMonitorJobsPage'

    def __init__(self, see: Callable[[Set[int]], None], on_selected: Callable[[Optional[facts.Job]], None]) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL)
        self._rows = Rows()
        self._all: List[Row] = []
        self._text = ''
        self._on_selected = on_selected
        self._axis = Axis(SPANS[0])
        self._selected: Optional[int] = None
        self._timelines: 'set[Any]' = set()
        self.selection = Gtk.SingleSelection(model=self._rows.store, autoselect=False, can_unselect=True)
        self.selection.connect('notify::selected-item', self._on_selection)
        self._view = make_view(self.selection, self._make_columns(Seen(see)), _('Jobs'))
        self._view.connect('activate', lambda *_args: self.activate_action('win.show-details', None))
        self._stack = Gtk.Stack(vexpand=True)
        self._stack.add_named(make_scrolled(self._view, True), 'rows')
        self._stack.add_named(make_empty('view-list-symbolic', _('No Jobs'), _('Jobs appear here as soon as they are submitted.')), 'none')
        self._stack.add_named(make_empty('edit-find-symbolic', _('Nothing Found'), _('No job has this text and this state.')), 'filtered')
        self.append(self._make_bar())
        self.append(self._stack)
        self._timer = GLib.timeout_add_seconds(1, self._on_second)

    def _make_columns(self, seen: Seen) -> List[Any]:
        def number(label: Any, value: int) -> None:
            label.set_text(str(value) if value else '–')

        def fill_command(label: Any, row: Row) -> None:
            if label.get_text() != row.facts.command:
                label.set_text(row.facts.command)
                label.set_tooltip_text(row.facts.command)

        return [
            make_column(_('Job'), lambda: make_label(1, True), lambda label, row: label.set_text(str(row.facts.id)), 60, seen=seen,
                        name=lambda job: ', '.join([_('Job %d') % job.id, job.text, job.command])),
            make_column(_('State'), make_label, lambda label, row: fill_state(label, row.facts.phase, row.facts.text), 180),
            make_column(_('Timeline'), self._make_timeline, lambda line, row: line.show_job(row.facts), expand=True),
            make_column(_('Time'), lambda: make_label(1, True), self._fill_time, 70),
            make_column(_('Processes'), lambda: make_label(1, True), lambda label, row: number(label, row.facts.procs), 92),
            make_column(_('User'), make_label, lambda label, row: label.set_text(row.facts.user), 76),
            make_column(_('Command'), lambda: make_label(css='monospace'), fill_command, expand=True),
        ]

    def _make_timeline(self) -> Timeline:
        line = Timeline(self._axis)
        line.connect('map', self._timelines.add)
        line.connect('unmap', self._timelines.discard)
        return line

    @staticmethod
    def _fill_time(label: Any, row: Row) -> None:
        label.set_text(describe_span(row.facts.started, row.facts.ended) or '–')

    def _make_bar(self) -> Any:
        bar = Gtk.Box(spacing=12, margin_start=12, margin_end=12, margin_top=6, margin_bottom=6)
        self._kind = Gtk.DropDown.new_from_strings([_('All jobs'), _('Waiting'), _('Running'), _('Ended'), _('Failed')])
        name_choice(self._kind, _('State of the jobs that are shown'))
        self._kind.connect('notify::selected', lambda *_args: self._filter())
        spans = Gtk.DropDown.new_from_strings([_('Time of the jobs'), _('Last minute'), _('Last 10 minutes'), _('Last hour'), _('Last day')])
        name_choice(spans, _('Span of the time line'))
        spans.connect('notify::selected', self._on_span)
        self._count = Gtk.Label(hexpand=True, xalign=0, css_classes=['dim-label'], ellipsize=Pango.EllipsizeMode.END)
        for child in (self._kind, self._count, spans):
            bar.append(child)
        return bar

    def _on_span(self, spans: Any, _property: Any) -> None:
        self._axis.wanted = SPANS[spans.get_selected()]
        self._draw_timelines()

    def _draw_timelines(self) -> None:
        self._axis.fit((row.facts for row in self._rows.shown), time.time())
        for line in self._timelines:
            line.queue_draw()

    def _on_second(self) -> bool:
        if self.get_mapped():
            self._draw_timelines()
            for row in self._all:
                if row.facts.phase == facts.RUNNING:
                    row.emit('changed')
        return True

    def do_unroot(self) -> None:
        if self._timer:
            GLib.source_remove(self._timer)
            self._timer = 0
        Gtk.Box.do_unroot(self)

    # ---- what is shown ----

    def update(self, snapshot: facts.Snapshot) -> None:
        self._all = self._rows.make(snapshot.jobs)
        self._filter()
        n = len(self._rows)
        text = ngettext('%d job', '%d jobs', n) % n
        if snapshot.hidden:
            text += ' · ' + ngettext('%d more is waiting behind them', '%d more are waiting behind them', snapshot.hidden) % snapshot.hidden
        self._count.set_text(text)
        selected = self._rows.get(self._selected) if self._selected is not None else None
        self._on_selected(selected.facts if selected else None)

    def set_filter(self, text: str) -> None:
        self._text = text.casefold()
        self._filter()

    def _filter(self) -> None:
        kinds = _KINDS[self._kind.get_selected()]
        rows = [row for row in self._all if (kinds is None or row.facts.phase in kinds) and self._has_text(row.facts)]
        self._rows.show(rows)
        self._draw_timelines()
        self._stack.set_visible_child_name('rows' if rows else 'filtered' if self._all else 'none')

    def _has_text(self, job: facts.Job) -> bool:
        text = self._text
        return not text or text == str(job.id) or matches(text, job.nspace, job.text, job.user, job.command)

    def _on_selection(self, *_args: Any) -> None:
        row = self.selection.get_selected_item()
        self._selected = row.facts.id if row is not None else None
        self._on_selected(row.facts if row is not None else None)

    def select(self, number: int) -> None:
        """The job of that number, if it is shown."""
        for index, row in enumerate(self._rows.shown):
            if row.facts.id == number:
                self.selection.set_selected(index)
                return

    def focus(self) -> None:
        self._view.grab_focus()
