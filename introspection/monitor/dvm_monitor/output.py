# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of a job in a window of its own: what was kept of it first, then what comes. A bounded part of it is held."""

import os
from typing import Any, List, Tuple

from dvm import DVM, Dvm

from . import facts
from ._toolkit import Adw, Gio, GLib, Gtk, _
from .link import Link, ask
from .lists import make_scrolled

_CHUNK = 1 << 16
MAX_CHARACTERS = 1 << 20


def attach(vm: DVM, number: int) -> Tuple[int, ...]:
    """The descriptors of standard output and standard error. For a thread that may wait."""
    streams = Dvm.Streams.STDOUT | Dvm.Streams.STDERR
    fds = ask(vm, 'attach', ask(vm, 'find_job', str(number)), streams)
    return tuple(fd for fd in fds if isinstance(fd, int) and not isinstance(fd, bool) and fd >= 0)


class OutputWindow(Adw.Window):
    __gtype_name__ = 'DvmMonitorOutputWindow'

    def __init__(self, parent: Any, link: Link, job: facts.Job) -> None:
        super().__init__(transient_for=parent, default_width=720, default_height=480, title=_('Output of Job %d') % job.id)
        self._cancellable = Gio.Cancellable()
        self._n_open = 0
        self._buffer = Gtk.TextBuffer()
        self._errors = self._buffer.create_tag('errors')
        self._view = Gtk.TextView(buffer=self._buffer, editable=False, monospace=True, cursor_visible=False, wrap_mode=Gtk.WrapMode.CHAR,
                                  left_margin=12, right_margin=12, top_margin=12, bottom_margin=12)
        self._view.update_property([Gtk.AccessibleProperty.LABEL], [_('Output of Job %d') % job.id])
        self._note = Gtk.Label(label=_('Waiting for output'), xalign=0, css_classes=['dim-label'], margin_start=12, margin_end=12,
                               margin_top=6, margin_bottom=6, wrap=True)
        header = Adw.HeaderBar(title_widget=Adw.WindowTitle(title=_('Output of Job %d') % job.id, subtitle=job.command))
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        for child in (header, make_scrolled(self._view), self._note):
            box.append(child)
        self.set_content(box)
        keys = Gtk.ShortcutController()
        for key in ('Escape', '<Control>w'):
            keys.add_shortcut(Gtk.Shortcut(trigger=Gtk.ShortcutTrigger.parse_string(key), action=Gtk.NamedAction.new('window.close')))
        self.add_controller(keys)
        self.connect('close-request', self._on_close)
        self._styles = Adw.StyleManager.get_default()
        self._handler = self._styles.connect('notify::dark', self._on_style)
        # Of a handler of its child no collector knows that it is a part of a cycle: the window would stay for ever.
        self.connect('realize', self._on_style)
        link.work(lambda vm: attach(vm, job.id), self._on_attached, self._note.set_text)

    def _on_style(self, *_args: Any) -> None:
        """The red of a light window cannot be read in a dark one."""
        self._errors.set_property('foreground-rgba', self._view.get_style_context().lookup_color('error_color')[1])

    def _on_close(self, *_args: Any) -> bool:
        if self._handler:
            self._styles.disconnect(self._handler)
            self._handler = 0
        self._cancellable.cancel()
        return False

    def _on_attached(self, fds: Tuple[int, ...]) -> None:
        if self._cancellable.is_cancelled():
            for fd in fds:
                os.close(fd)
            return
        tags: List[Any] = [None, self._errors]
        for fd, tag in zip(fds, tags):
            self._n_open += 1
            self._read(Gio.UnixInputStream.new(fd, True), tag)

    def _read(self, stream: Any, tag: Any) -> None:
        stream.read_bytes_async(_CHUNK, GLib.PRIORITY_DEFAULT_IDLE, self._cancellable, self._on_read, tag)

    def _on_read(self, stream: Any, result: Any, tag: Any) -> None:
        try:
            piece = stream.read_bytes_finish(result).get_data() or b''
        except GLib.Error as error:
            piece = b''
            if error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED):
                stream.close()
                return
        if piece:
            self._add(piece, tag)
            self._read(stream, tag)
            return
        stream.close()
        self._n_open -= 1
        if self._n_open == 0:
            self._note.set_text(_('The job has closed its output.') if self._buffer.get_char_count()
                                else _('There is no output: the job has written none, or it goes elsewhere.'))

    def _add(self, piece: bytes, tag: Any) -> None:
        text = piece.decode(errors='replace').replace('\0', '\N{REPLACEMENT CHARACTER}')
        self._note.set_text(_('The output is followed as it comes.'))
        adjustment = self._view.get_vadjustment()
        at_end = adjustment.get_value() + adjustment.get_page_size() >= adjustment.get_upper() - 8
        end = self._buffer.get_end_iter()
        if tag is None:
            self._buffer.insert(end, text)
        else:
            self._buffer.insert_with_tags(end, text, tag)
        surplus = self._buffer.get_char_count() - MAX_CHARACTERS
        if surplus > 0:
            cut = self._buffer.get_iter_at_offset(surplus)
            cut.forward_line()
            self._buffer.delete(self._buffer.get_start_iter(), cut)
            self._note.set_text(_('The last part of the output is shown; earlier lines have been dropped.'))
        if at_end:
            self._view.scroll_to_mark(self._buffer.create_mark(None, self._buffer.get_end_iter(), False), 0, False, 0, 0)
