# SPDX-License-Identifier: LGPL-2.1-or-later
"""All about the selected job, beside the list: its numbers, its states in the order of time, and what can be done to it."""

import time
from typing import Any, List, Optional, Tuple

from dvm import DVM, Dvm

from . import facts
from ._toolkit import Adw, Gtk, Pango, _
from .link import Link, ask
from .lists import describe_bytes, describe_span, fill_state, make_button, name_widget

# Of a job with many processes there are as many states.
_MAX_STATES = 40
_WIDTH = 340


def read_states(vm: DVM, number: int) -> List[Tuple[int, str, str]]:
    """When (µs), state, note: of the job itself. For a thread that may wait."""
    trace = ask(vm, 'get_trace', ask(vm, 'find_job', str(number))).unpack()
    return [(when, str(Dvm.job_state_to_string(new)), note) for when, what, _old, new, note in trace if what == 'job'][-_MAX_STATES:]


def format_time(microseconds: int) -> str:
    seconds, rest = divmod(microseconds, 1_000_000)
    return time.strftime('%H:%M:%S', time.localtime(seconds)) + f'.{rest // 1000:03}'


def _describe_output(job: facts.Job) -> str:
    """Empty: it has written nothing."""
    if not job.output:
        return ''
    if job.rate < 0:
        return describe_bytes(job.output)
    return _('{all}, {rate}/s').format(all=describe_bytes(job.output), rate=describe_bytes(job.rate))


def _make_row(title: str) -> Any:
    row = Adw.ActionRow(title=title, focusable=False)
    label = Gtk.Label(xalign=1, ellipsize=Pango.EllipsizeMode.END, selectable=True, css_classes=['dim-label', 'numeric'])
    row.add_suffix(label)
    row.value = label
    return row


def _fill_value(row: Any, text: str) -> None:
    """The value has the focus, for it can be copied: alone it would say nothing."""
    if row.value.get_text() != text:
        row.value.set_text(text)
        row.value.update_property([Gtk.AccessibleProperty.LABEL], [f'{row.get_title()}: {text}'])


class Details(Gtk.Box):
    __gtype_name__ = 'DvmMonitorDetails'

    def __init__(self, link: Link) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL, css_classes=['background', 'details'], width_request=_WIDTH)
        self._link = link
        self._job: Optional[facts.Job] = None
        self._asked: Any = None
        self._states: List[Any] = []
        self._title = Gtk.Label(xalign=0, hexpand=True, css_classes=['title-3'])
        self._state = Gtk.Label(xalign=0)
        self._command = Gtk.Label(xalign=0, wrap=True, max_width_chars=36, wrap_mode=Pango.WrapMode.WORD_CHAR, css_classes=['monospace'], selectable=True)
        self._rows = {key: _make_row(title) for key, title in (
            ('nspace', _('Namespace')), ('user', _('User')), ('procs', _('Processes')), ('created', _('Submitted')),
            ('time', _('Time')), ('output', _('Output')), ('exit', _('End')), ('reason', _('Reason')))}
        self._facts = Adw.PreferencesGroup()
        for row in self._rows.values():
            self._facts.add(row)
        self._trace = Adw.PreferencesGroup(title=_('States'))
        self._page = self._make_page()
        self._none = Adw.StatusPage(icon_name='view-list-symbolic', title=_('No Job Selected'), css_classes=['compact'], vexpand=True)
        self._stack = Gtk.Stack(vexpand=True)
        self._stack.add_named(self._page, 'job')
        self._stack.add_named(self._none, 'none')
        self._stack.set_visible_child_name('none')
        self.append(self._stack)
        # What is in it would take half of the window.
        self.set_hexpand(False)

    def _make_page(self) -> Any:
        close = name_widget(Gtk.Button(icon_name='window-close-symbolic', action_name='win.hide-details', css_classes=['flat'],
                                       valign=Gtk.Align.START), _('Close Details'))
        head = Gtk.Box(spacing=6)
        head.append(self._title)
        head.append(close)
        buttons = Gtk.Box(spacing=6, homogeneous=True)
        buttons.append(make_button(_('_Output'), 'win.show-output', _('What the job writes')))
        buttons.append(make_button(_('_Map'), 'win.show-map', _('Where its ranks are')))
        buttons.append(make_button(_('_Hold'), 'win.hold-job', _('It waits until it is released')))
        more = Gtk.Box(spacing=6, homogeneous=True)
        more.append(make_button(_('_Release'), 'win.release-job', _('It does not wait for a release any more')))
        more.append(make_button(_('_Cancel…'), 'win.cancel-job', _('All its processes are ended'), 'destructive-action'))
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=12, margin_top=12, margin_bottom=12, margin_start=12, margin_end=12)
        for child in (head, self._state, self._command, buttons, more, self._facts, self._trace):
            box.append(child)
        clamp = Adw.Clamp(child=box, maximum_size=_WIDTH, tightening_threshold=_WIDTH)
        return Gtk.ScrolledWindow(child=clamp, hscrollbar_policy=Gtk.PolicyType.NEVER, vexpand=True)

    def _set(self, key: str, text: str) -> None:
        row = self._rows[key]
        if key == 'reason':
            row.set_subtitle(text.replace('&', '&amp;').replace('<', '&lt;'))
        else:
            _fill_value(row, text)
        row.set_visible(bool(text))

    def show_job(self, job: Optional[facts.Job]) -> None:
        self._job = job
        self._stack.set_visible_child_name('job' if job else 'none')
        if job is None:
            return
        self._title.set_text(_('Job %d') % job.id)
        fill_state(self._state, job.phase, job.text)
        self._command.set_text(job.command)
        self._set('nspace', job.nspace)
        self._set('user', job.user)
        self._set('procs', _('{all}, {live} of them run').format(all=job.procs, live=job.live) if job.procs else '')
        self._set('created', format_time(job.created))
        self._set('time', describe_span(job.started, job.ended))
        self._set('output', _describe_output(job))
        self._set('exit', job.exit)
        self._set('reason', job.reason)
        if self.get_mapped():
            self.refresh()

    def refresh(self) -> None:
        """The states are asked for when the job has come to another one."""
        if self._job is not None and self._asked != (self._job.id, self._job.text):
            self._asked = (self._job.id, self._job.text)
            self._ask(self._job.id)

    def _ask(self, number: int) -> None:
        self._link.work(lambda vm: read_states(vm, number), lambda states: self._show_states(number, states),
                        lambda _sentence: self._show_states(number, []))

    def _show_states(self, number: int, states: List[Tuple[int, str, str]]) -> None:
        if self._job is None or self._job.id != number:
            return
        for row in self._states:
            self._trace.remove(row)
        self._states = []
        for when, name, note in states:
            row = _make_row(name.replace('_', ' ').capitalize())
            row.set_subtitle(note.replace('&', '&amp;').replace('<', '&lt;'))
            _fill_value(row, format_time(when))
            self._trace.add(row)
            self._states.append(row)
        self._trace.set_visible(bool(states))
