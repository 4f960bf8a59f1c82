# SPDX-License-Identifier: LGPL-2.1-or-later
"""Questions and forms: what the user fills in becomes one call of the DVM, and what that refuses is said in the form."""

import os
from typing import Any, Callable, Dict, List, Optional

from dvm import DVM, Dvm

from ._toolkit import Adw, GLib, Gtk, _, ngettext
from .link import Link, ask
from .lists import make_button


def confirm(parent: Any, heading: str, body: str, label: str, done: Callable[[], object]) -> None:
    """A question before something that cannot be taken back."""
    words = {'heading': heading, 'body': body, 'default_response': 'no', 'close_response': 'no'}
    # From libadwaita 1.5 on it is a part of the window; one that is a window gives its text less room than GTK 4.18 wants.
    inside = hasattr(Adw, 'AlertDialog')
    dialog = Adw.AlertDialog(**words) if inside else Adw.MessageDialog(transient_for=parent, **words)
    dialog.add_response('no', _('_Keep'))
    dialog.add_response('yes', label)
    dialog.set_response_appearance('yes', Adw.ResponseAppearance.DESTRUCTIVE)
    dialog.connect('response', lambda _dialog, response: done() if response == 'yes' else None)
    if inside:
        dialog.present(parent)
    else:
        dialog.present()


class Form(Adw.Window):
    """A form with a button that does it. It stays open until the DVM has accepted what is asked for."""

    __gtype_name__ = 'DvmMonitorForm'

    def __init__(self, parent: Any, link: Link, title: str, label: str, done: Callable[[str], object]) -> None:
        super().__init__(transient_for=parent, modal=True, title=title, default_width=460, resizable=False)
        self._link = link
        self._done = done
        self._first: Any = None
        self._group = Adw.PreferencesGroup()
        self._error = Gtk.Label(wrap=True, xalign=0, css_classes=['error'], visible=False)
        self._button = make_button(label, css='suggested-action')
        # A handler of a child that knows the form would keep it for ever.
        self._button.connect('clicked', lambda button: button.get_root().submit())
        cancel = make_button(_('_Cancel'), 'window.close')
        header = Adw.HeaderBar(show_start_title_buttons=False, show_end_title_buttons=False)
        header.pack_start(cancel)
        header.pack_end(self._button)
        body = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=12, margin_top=18, margin_bottom=18, margin_start=18, margin_end=18)
        body.append(self._group)
        body.append(self._error)
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        box.append(header)
        box.append(body)
        self.set_content(box)
        self.set_default_widget(self._button)
        keys = Gtk.ShortcutController()
        keys.add_shortcut(Gtk.Shortcut(trigger=Gtk.ShortcutTrigger.parse_string('Escape'), action=Gtk.NamedAction.new('window.close')))
        self.add_controller(keys)

    def _add_row(self, title: str, child: Any) -> None:
        row = Adw.ActionRow(title=title, focusable=False)
        child.set_valign(Gtk.Align.CENTER)
        child.update_property([Gtk.AccessibleProperty.LABEL], [title])
        row.add_suffix(child)
        self._group.add(row)

    def add_entry(self, title: str, text: str = '') -> Any:
        # A reader of the screen sees neither the text nor the focus of an entry that is a row.
        entry = Gtk.Entry(text=text, activates_default=True, width_chars=28)
        self._add_row(title, entry)
        if self._first is None:
            self._first = entry
            self.connect('map', lambda *_args: entry.grab_focus())
        return entry

    def add_number(self, title: str, value: int, most: int) -> Any:
        spin = Gtk.SpinButton(adjustment=Gtk.Adjustment(lower=1, upper=most, step_increment=1, page_increment=16, value=value),
                              numeric=True)
        spin.get_delegate().set_activates_default(True)
        self._add_row(title, spin)
        return spin

    def describe(self, text: str) -> None:
        self._group.set_description(text)

    def make_call(self) -> Callable[[DVM], str]:
        """Of what is filled in; ValueError with a sentence, if that cannot be. Its value is a sentence, too."""
        raise NotImplementedError

    def submit(self) -> None:
        try:
            call = self.make_call()
        except ValueError as error:
            self._fail(str(error))
            return
        self._button.set_sensitive(False)
        self._link.work(call, self._finish, self._fail)

    def _finish(self, sentence: str) -> None:
        self._done(sentence)
        self.close()

    def _fail(self, sentence: str) -> None:
        self._button.set_sensitive(True)
        self._error.set_text(sentence)
        self._error.set_visible(True)


class SubmitForm(Form):
    __gtype_name__ = 'DvmMonitorSubmitForm'

    def __init__(self, parent: Any, link: Link, done: Callable[[str], object]) -> None:
        super().__init__(parent, link, _('New Job'), _('_Submit'), done)
        self._command = self.add_entry(_('Command'))
        self._procs = self.add_number(_('Processes'), 1, 10_000_000)
        self._cwd = self.add_entry(_('Directory'), os.getcwd())
        self._label = self.add_entry(_('Label'))
        self.describe(_('The program runs with the environment of the DVM.'))

    def make_call(self) -> Callable[[DVM], str]:
        text = self._command.get_text().strip()
        if not text:
            raise ValueError(_('The command is missing: a program and its arguments, as in a shell.'))
        try:
            words = GLib.shell_parse_argv(text)[1]
        except GLib.Error as error:
            raise ValueError(_('The command cannot be read: %s') % error.message) from error
        procs = self._procs.get_value_as_int()
        options: Dict[str, Any] = {'cwd': self._cwd.get_text() or '/'}
        if self._label.get_text():
            options['label'] = self._label.get_text()

        def call(vm: DVM) -> str:
            job = ask(vm, 'submit', Dvm.JobSpec(words, np=procs, **options))
            number: int = job.props.id
            return _('Job %d is submitted') % number

        return call


def _split_hosts(text: str) -> List[str]:
    return text.replace(',', ' ').split()


def _tell_change(answer: Any) -> str:
    campaign: Optional[Any] = answer[1]
    if campaign is None:
        return _('The DVM stays as it is')
    number: int = campaign.props.id
    return _('Campaign %d has begun') % number


class GrowForm(Form):
    __gtype_name__ = 'DvmMonitorGrowForm'

    def __init__(self, parent: Any, link: Link, done: Callable[[str], object]) -> None:
        super().__init__(parent, link, _('Add Nodes'), _('_Add'), done)
        self._nodes = self.add_entry(_('Number of nodes, or their names'), '1')
        self.describe(_('With a number the DVM chooses. Names may have slots behind them, as in n9:2.'))

    def make_call(self) -> Callable[[DVM], str]:
        text = self._nodes.get_text().strip()
        if not text:
            raise ValueError(_('A number of nodes, or their names, is missing.'))
        request: Dict[str, Any] = {'count': int(text)} if text.isdecimal() else {'hosts': _split_hosts(text)}
        if request.get('count', 1) not in range(1, 1 << 32):
            raise ValueError(_('The number of nodes is at least 1.'))
        return lambda vm: _tell_change(ask(vm, 'grow', **request))


class ShrinkForm(Form):
    __gtype_name__ = 'DvmMonitorShrinkForm'

    def __init__(self, parent: Any, link: Link, node: str, done: Callable[[str], object]) -> None:
        super().__init__(parent, link, _('Remove Nodes'), _('_Remove'), done)
        self._nodes = self.add_entry(_('Names of the nodes'), node)
        self.describe(_('Processes that run there are ended with them.'))

    def make_call(self) -> Callable[[DVM], str]:
        hosts = _split_hosts(self._nodes.get_text())
        if not hosts:
            raise ValueError(_('The names of the nodes that are to leave are missing.'))
        return lambda vm: _tell_change(ask(vm, 'shrink', hosts=hosts))


def describe_cancel(processes: int) -> str:
    if processes == 0:
        return _('The job has no processes yet, and never gets any then.')
    return ngettext('Its process is ended, and what it has not saved is lost.',
                    'All its processes are ended, and what they have not saved is lost.', processes)
