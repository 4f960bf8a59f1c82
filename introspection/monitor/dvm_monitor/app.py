# SPDX-License-Identifier: LGPL-2.1-or-later
"""The program: its options, its keys, light and dark."""

import argparse
import os
import signal
import sys
from typing import Any, Iterable, List, Optional, Tuple

from . import _toolkit
from ._toolkit import Adw, Gdk, Gio, GLib, Gtk, _

ID = 'org.dvm.Monitor'

# Groups of the window of shortcuts. Action: its keys, and what that window says of it.
KEYS = (
    (_toolkit.N_('Pages'), (
        ("win.show-page('jobs')", ('<Alt>1',), _toolkit.N_('Jobs')),
        ("win.show-page('nodes')", ('<Alt>2',), _toolkit.N_('Nodes')),
        ("win.show-page('map')", ('<Alt>3',), _toolkit.N_('Map')),
        ("win.show-page('campaigns')", ('<Alt>4',), _toolkit.N_('Campaigns')),
    )),
    (_toolkit.N_('Jobs'), (
        ('win.submit', ('<Control>n',), _toolkit.N_('New job')),
        ('win.show-details', ('<Control>i',), _toolkit.N_('Details of the selected job')),
        ('win.show-output', ('<Control>o',), _toolkit.N_('Output of the selected job')),
        ('win.show-map', ('<Control>m',), _toolkit.N_('Map of the selected job')),
        ('win.hold-job', ('<Control>h',), _toolkit.N_('Hold the selected job')),
        ('win.release-job', ('<Control>r',), _toolkit.N_('Release the selected job')),
        ('win.cancel-job', ('<Control>Delete',), _toolkit.N_('Cancel the selected job')),
    )),
    (_toolkit.N_('Nodes'), (
        ('win.drain-node', ('<Control>d',), _toolkit.N_('Drain the selected node')),
        ('win.resume-node', ('<Control>u',), _toolkit.N_('Resume the selected node')),
        ('win.grow', ('<Control>plus',), _toolkit.N_('Add nodes')),
        ('win.shrink', ('<Control>minus',), _toolkit.N_('Remove nodes')),
    )),
    (_toolkit.N_('Window'), (
        ('win.find', ('<Control>f',), _toolkit.N_('Find')),
        ('win.show-help-overlay', ('<Control>question', 'F1'), _toolkit.N_('Keyboard shortcuts')),
        ('window.close', ('<Control>w',), _toolkit.N_('Close the window')),
        ('app.quit', ('<Control>q',), _toolkit.N_('Quit')),
    )),
)

_STYLES = {'default': Adw.ColorScheme.DEFAULT, 'light': Adw.ColorScheme.FORCE_LIGHT, 'dark': Adw.ColorScheme.FORCE_DARK}


class App(Adw.Application):
    def __init__(self, version: str, options: argparse.Namespace) -> None:
        # Each program is one of its own: two may show two DVMs.
        super().__init__(application_id=ID, flags=Gio.ApplicationFlags.NON_UNIQUE)
        self._version = version
        self._options = options

    def do_startup(self) -> None:
        Adw.Application.do_startup(self)
        folder = os.path.dirname(os.path.abspath(__file__))
        display = Gdk.Display.get_default()
        provider = Gtk.CssProvider()
        provider.load_from_path(os.path.join(folder, 'style.css'))
        Gtk.StyleContext.add_provider_for_display(display, provider, Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION)
        # Where the program is not installed.
        Gtk.IconTheme.get_for_display(display).add_search_path(os.path.join(os.path.dirname(folder), 'icons'))
        self._add_actions()
        for number in (signal.SIGINT, signal.SIGTERM):
            GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, number, self._quit)

    def _add_actions(self) -> None:
        style = Gio.SimpleAction.new_stateful('style', GLib.VariantType('s'), GLib.Variant('s', self._options.style))
        style.connect('change-state', self._on_style)
        style.change_state(GLib.Variant('s', self._options.style))
        self.add_action(style)
        for name, function in (('quit', self._quit), ('about', self._show_about)):
            action = Gio.SimpleAction.new(name, None)
            action.connect('activate', lambda _action, _parameter, function=function: function())
            self.add_action(action)
        for _title, actions in KEYS:
            for detailed, keys, _text in actions:
                self.set_accels_for_action(detailed, list(keys))

    def do_activate(self) -> None:
        from .window import Window
        window = self.get_active_window()
        if window is None:
            window = Window(self, self._options.name, self._options.address)
            window.set_help_overlay(make_shortcuts())
        window.present()

    def _quit(self) -> bool:
        for window in self.get_windows():
            window.close()
        self.quit()
        return bool(GLib.SOURCE_REMOVE)

    def _on_style(self, action: Any, value: Any) -> None:
        if value.get_string() in _STYLES:
            action.set_state(value)
            self.get_style_manager().set_color_scheme(_STYLES[value.get_string()])

    def _show_about(self) -> None:
        Adw.AboutWindow(transient_for=self.get_active_window(), application_name=_('DVM Monitor'), application_icon=ID, version=self._version,
                        comments=_('The nodes and jobs of a distributed virtual machine'), license_type=Gtk.License.LGPL_2_1,
                        developer_name=_('The dvm project')).present()


def _make_group(title: str, actions: Iterable[Tuple[str, Tuple[str, ...], str]]) -> str:
    shortcuts = ''.join(f'<child><object class="GtkShortcutsShortcut"><property name="accelerator">{GLib.markup_escape_text(" ".join(keys))}'
                        f'</property><property name="title">{GLib.markup_escape_text(_(text))}</property></object></child>'
                        for _action, keys, text in actions)
    return (f'<child><object class="GtkShortcutsGroup"><property name="title">{GLib.markup_escape_text(_(title))}</property>'
            f'{shortcuts}</object></child>')


def make_shortcuts() -> Any:
    """By a builder: only that can put sections into such a window. In two columns it is no higher than a small screen."""
    groups = ''.join(_make_group(title, actions) for title, actions in KEYS)
    interface = ('<interface><object class="GtkShortcutsWindow" id="overlay"><property name="modal">1</property><child>'
                 '<object class="GtkShortcutsSection"><property name="section-name">all</property><property name="max-height">14</property>'
                 f'{groups}</object></child></object></interface>')
    return Gtk.Builder.new_from_string(interface, -1).get_object('overlay')


def _parse(version: str, words: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='dvm-monitor', description=_('Shows a DVM in a window: its nodes, jobs and campaigns.'))
    parser.add_argument('--name', metavar=_('NAME'), help=_('the DVM of that name'))
    parser.add_argument('--socket', metavar=_('PATH'), help=_('the DVM behind this socket'))
    parser.add_argument('--style', choices=list(_STYLES), default='default', help=_('light or dark, whatever the desktop is'))
    parser.add_argument('--version', action='version', version=f'dvm-monitor {version}')
    options = parser.parse_args(words)
    if options.name is not None and options.socket is not None:
        parser.error(_('a DVM has a name or a socket: give one of them'))
    options.address = options.socket
    return options


def main(version: str, locale_dir: str, words: Optional[List[str]] = None) -> int:
    _toolkit.set_up_texts(locale_dir)
    options = _parse(version, words)
    # Threads that read take turns with the one that draws.
    sys.setswitchinterval(0.00005)
    if Gdk.Display.get_default() is None:
        print('dvm-monitor: ' + _('there is no display: it needs a desktop session, or DISPLAY or WAYLAND_DISPLAY'), file=sys.stderr)
        return 1
    _toolkit.collect_in_main_context()
    GLib.set_application_name(_('DVM Monitor'))
    return int(App(version, options).run(None))
