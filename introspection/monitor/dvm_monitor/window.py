# SPDX-License-Identifier: LGPL-2.1-or-later
"""The window: pages, the selected job beside them, and the actions, which keys and buttons share."""

import os
from typing import Any, Callable, Dict, List, Optional

from . import dialogs, facts
from ._toolkit import Adw, Gio, GLib, Gtk, N_, _
from .campaigns import CampaignsPage
from .details import Details
from .jobs import JobsPage
from .link import Link, ask
from .lists import name_widget
from .map import MapPage
from .nodes import NodesPage
from .output import OutputWindow
from .summary import Summary

# Page: its title and its icon.
PAGES = (('jobs', N_('Jobs'), 'view-list-symbolic'), ('nodes', N_('Nodes'), 'network-server-symbolic'),
         ('map', N_('Map'), 'view-grid-symbolic'), ('campaigns', N_('Campaigns'), 'view-refresh-symbolic'))


class Window(Adw.ApplicationWindow):
    __gtype_name__ = 'DvmMonitorWindow'

    def __init__(self, app: Any, name: Optional[str], address: Optional[str]) -> None:
        # Windows of several DVMs are told apart by it.
        shown = name or address or os.environ.get('DVM_SOCKET') or os.environ.get('DVM_NAME')
        title = ' – '.join(filter(None, [shown, _('DVM Monitor')]))
        super().__init__(application=app, title=title, default_width=1100, default_height=720)
        self.set_icon_name(app.get_application_id())
        self._title = name or _('DVM Monitor')
        self._job: Optional[facts.Job] = None
        self._node: Optional[facts.Node] = None
        self.link = Link(name, address, self._on_snapshot)
        self._jobs = JobsPage(lambda ids: self.link.see('jobs', ids), self._on_job)
        self._nodes = NodesPage(lambda ids: self.link.see('nodes', ids), self._on_node)
        self._map = MapPage(self.link)
        self._campaigns = CampaignsPage()
        self._details = Details(self.link)
        self._pages: Dict[str, Any] = {'jobs': self._jobs, 'nodes': self._nodes, 'map': self._map, 'campaigns': self._campaigns}
        self._is_silent = False
        self._add_actions()
        self.set_content(self._make_content())
        self.connect('close-request', self._on_close)
        self._tell_none(_('Looking for a DVM'), '')
        self.link.start()
        self._timer = GLib.timeout_add_seconds(1, self._on_second)

    # ---- what is in it ----

    def _make_content(self) -> Any:
        self._views = Adw.ViewStack(vexpand=True)
        for name, title, icon in PAGES:
            page = self._views.add_titled(self._pages[name], name, _(title))
            page.set_icon_name(icon)
        self._summary = Summary()
        body = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        body.append(self._summary)
        body.append(Gtk.Separator())
        self._flap = Adw.Flap(flap_position=Gtk.PackType.END, content=self._views, flap=self._details, reveal_flap=False,
                              separator=Gtk.Separator(orientation=Gtk.Orientation.VERTICAL), vexpand=True, swipe_to_open=False)
        body.append(self._flap)
        self._none = Adw.StatusPage(icon_name=self.get_icon_name(), vexpand=True)
        self._stack = Gtk.Stack(vexpand=True)
        self._stack.add_named(self._none, 'none')
        self._stack.add_named(body, 'dvm')
        self._toasts = Adw.ToastOverlay(child=self._stack, vexpand=True)
        self._toast: Any = None
        self._narrow = Adw.ViewSwitcherBar(stack=self._views)
        content = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        for child in (self._make_header(), self._make_search(), self._toasts, self._narrow):
            content.append(child)
        return content

    def _make_header(self) -> Any:
        header = Adw.HeaderBar(centering_policy=Adw.CenteringPolicy.STRICT)
        switcher = Adw.ViewSwitcherTitle(stack=self._views, title=self._title)
        switcher.connect('notify::title-visible', lambda *_args: self._narrow.set_reveal(switcher.get_title_visible()))
        header.set_title_widget(switcher)
        header.pack_start(name_widget(Gtk.Button(icon_name='list-add-symbolic', action_name='win.submit'), _('New Job')))
        menu = name_widget(Gtk.MenuButton(icon_name='open-menu-symbolic', menu_model=self._make_menu(), primary=True), _('Main Menu'))
        self._find = name_widget(Gtk.ToggleButton(icon_name='edit-find-symbolic'), _('Find'))
        self._side = name_widget(Gtk.ToggleButton(icon_name='sidebar-show-right-symbolic'), _('Details of the Job'))
        for child in (menu, self._side, self._find):
            header.pack_end(child)
        self._side.connect('toggled', lambda button: self._show_details(button.get_active()))
        self._flap.connect('notify::reveal-flap', lambda *_args: self._side.set_active(self._flap.get_reveal_flap()))
        return header

    def _make_search(self) -> Any:
        self._entry = Gtk.SearchEntry(hexpand=True, placeholder_text=_('Number, name, state or command'))
        name_widget(self._entry, _('Find'))
        self._entry.connect('search-changed', lambda entry: self._filter(entry.get_text()))
        self._entry.connect('activate', lambda _entry: self._focus_page())
        bar = Gtk.SearchBar(child=Adw.Clamp(child=self._entry, maximum_size=420))
        bar.connect_entry(self._entry)
        bar.bind_property('search-mode-enabled', self._find, 'active', 3)
        bar.connect('notify::search-mode-enabled', self._on_search_mode)
        self._search = bar
        return bar

    def _on_search_mode(self, bar: Any, _property: Any) -> None:
        """All rows are there again before one of them gets the focus."""
        if not bar.get_search_mode():
            self._filter('')
            GLib.idle_add(self._focus_page)

    @staticmethod
    def _make_menu() -> Any:
        menu, styles, last = Gio.Menu(), Gio.Menu(), Gio.Menu()
        for label, value in ((_('As the _Desktop'), 'default'), (_('_Light'), 'light'), (_('_Dark'), 'dark')):
            styles.append(label, f"app.style('{value}')")
        size = Gio.Menu()
        size.append(_('_Add Nodes…'), 'win.grow')
        size.append(_('_Remove Nodes…'), 'win.shrink')
        last.append(_('_Keyboard Shortcuts'), 'win.show-help-overlay')
        last.append(_('_About DVM Monitor'), 'app.about')
        menu.append_section(None, size)
        menu.append_section(_('Style'), styles)
        menu.append_section(None, last)
        return menu

    def _filter(self, text: str) -> None:
        for name in ('jobs', 'nodes', 'campaigns'):
            self._pages[name].set_filter(text)

    # ---- what the DVM tells ----

    def _on_second(self) -> bool:
        """What is shown is that of before, where the DVM does not answer."""
        if self.link.is_silent() and not self._is_silent:
            self._is_silent = True
            self._summary.tell_silent()
            if self._stack.get_visible_child_name() == 'dvm':
                self.complain(_('The DVM does not answer. What is shown is how it was.'))
            else:
                self._none.set_description(_('There is one, which does not answer.'))
        return True

    def _on_snapshot(self, snapshot: Optional[facts.Snapshot], sentence: str) -> None:
        if self._is_silent:
            self._is_silent = False
            self.say(_('The DVM answers again.') if snapshot is not None else sentence)
        if snapshot is None:
            self._tell_none(_('No DVM'), sentence)
            return
        self._summary.update(snapshot)
        self._jobs.update(snapshot)
        self._nodes.update(snapshot)
        self._campaigns.update(snapshot)
        self._map.update(snapshot, self._job)
        self._stack.set_visible_child_name('dvm')
        for name in ('submit', 'grow', 'shrink', 'find'):
            self.lookup_action(name).set_enabled(True)

    def _tell_none(self, title: str, sentence: str) -> None:
        self._none.set_title(title)
        self._none.set_description(GLib.markup_escape_text(sentence))
        self._stack.set_visible_child_name('none')
        # What there was is no more: the next DVM has other jobs.
        nothing = facts.Snapshot({}, [], [], [], {}, 0)
        self._jobs.selection.set_selected(Gtk.INVALID_LIST_POSITION)
        for name in ('jobs', 'nodes', 'campaigns'):
            self._pages[name].update(nothing)
        self._map.update(nothing, None)
        for action in ('submit', 'grow', 'shrink', 'find'):
            self.lookup_action(action).set_enabled(False)

    def _on_job(self, job: Optional[facts.Job]) -> None:
        self._job = job
        live = job is not None and not job.is_over
        for name in ('cancel-job', 'hold-job', 'release-job'):
            self.lookup_action(name).set_enabled(live)
        for name in ('show-output', 'show-map'):
            self.lookup_action(name).set_enabled(job is not None)
        self._details.show_job(job)

    def _on_node(self, node: Optional[facts.Node]) -> None:
        self._node = node
        self.lookup_action('drain-node').set_enabled(node is not None and not node.is_drained)
        self.lookup_action('resume-node').set_enabled(node is not None and node.is_drained)

    def _show_toast(self, sentence: str, seconds: int) -> None:
        if self._toast is not None:
            self._toast.dismiss()
        self._toast = Adw.Toast(title=GLib.markup_escape_text(sentence), timeout=seconds)
        self._toast.connect('dismissed', self._on_dismissed)
        self._toasts.add_toast(self._toast)
        # It goes from the screen before everybody has read it, and stays with the window for a reader.
        self.update_property([Gtk.AccessibleProperty.DESCRIPTION], [sentence])

    def _on_dismissed(self, toast: Any) -> None:
        if toast is self._toast:
            self._toast = None

    def say(self, sentence: str) -> None:
        """What has come of an action; the next sentence takes its place. Long ones stay longer."""
        self._show_toast(sentence, 10 if len(sentence) < 80 else 20)

    def complain(self, sentence: str) -> None:
        """What the DVM has refused, in its words: it stays until it is closed, or there is something else to say."""
        self._show_toast(sentence, 0)

    # ---- actions ----

    def _add_actions(self) -> None:
        actions: List[Any] = [
            ('submit', self._submit, None), ('grow', self._grow, None), ('shrink', self._shrink, None), ('find', self._start_find, None),
            ('cancel-job', self._cancel_job, None), ('hold-job', lambda: self._do_job('hold_job', _('Job %d waits until it is released')), None),
            ('release-job', lambda: self._do_job('release_job', _('Job %d is not held any more')), None),
            ('show-output', self._show_output, None), ('show-map', lambda: self.show_page('map'), None),
            ('show-details', lambda: self._show_details(True), None), ('hide-details', lambda: self._show_details(False), None),
            ('drain-node', lambda: self._do_node('drain_node', _('Node %s takes no new jobs'), ''), None),
            ('resume-node', lambda: self._do_node('resume_node', _('Node %s takes jobs')), None),
            ('cancel-campaign', self._cancel_campaign, 'u'), ('select-job', self._jobs.select, 'u'), ('show-page', self.show_page, 's'),
        ]
        for name, function, kind in actions:
            action = Gio.SimpleAction.new(name, GLib.VariantType(kind) if kind else None)
            action.connect('activate', self._make_handler(function))
            self.add_action(action)
        self._on_job(None)
        self._on_node(None)

    @staticmethod
    def _make_handler(function: Callable[..., object]) -> Callable[..., None]:
        def handle(_action: Any, parameter: Any) -> None:
            if parameter is None:
                function()
            else:
                function(parameter.unpack())

        return handle

    def show_page(self, name: str) -> None:
        if name in self._pages:
            self._views.set_visible_child_name(name)
            self._focus_page()

    def _focus_page(self) -> bool:
        self._pages[self._views.get_visible_child_name()].focus()
        return bool(GLib.SOURCE_REMOVE)

    def _show_details(self, shown: bool) -> None:
        if self._flap.get_reveal_flap() != shown:
            self._flap.set_reveal_flap(shown)
        if shown:
            self._details.refresh()

    def _start_find(self) -> None:
        self._search.set_search_mode(True)
        self._entry.grab_focus()

    def _submit(self) -> None:
        dialogs.SubmitForm(self, self.link, self.say).present()

    def _grow(self) -> None:
        dialogs.GrowForm(self, self.link, self.say).present()

    def _shrink(self) -> None:
        dialogs.ShrinkForm(self, self.link, self._node.name if self._node else '', self.say).present()

    def _do_job(self, verb: str, sentence: str) -> None:
        job = self._job
        if job is not None:
            number = job.id
            self.link.work(lambda vm: ask(vm, verb, ask(vm, 'find_job', str(number))), lambda _answer: self.say(sentence % number), self.complain)

    def _cancel_job(self) -> None:
        job = self._job
        if job is not None:
            self.show_question(_('Cancel Job %d?') % job.id, dialogs.describe_cancel(job.live), _('_Cancel Job'),
                               lambda: self._do_job('cancel_job', _('Job %d is being cancelled')))

    def show_question(self, heading: str, body: str, label: str, done: Callable[[], object]) -> None:
        dialogs.confirm(self, heading, body, label, done)

    def _do_node(self, verb: str, sentence: str, *args: Any) -> None:
        node = self._node
        if node is not None:
            name = node.name
            self.link.work(lambda vm: ask(vm, verb, ask(vm, 'find_node', name), *args), lambda _answer: self.say(sentence % name), self.complain)

    def _cancel_campaign(self, number: int) -> None:
        def cancel() -> None:
            self.link.work(lambda vm: ask(vm, 'cancel_campaign', ask(vm, 'find_campaign', str(number))),
                           lambda _answer: self.say(_('Campaign %d is being taken back') % number), self.complain)

        self.show_question(_('Take Growth %d Back?') % number, _('What has come of it leaves again.'), _('_Take Back'), cancel)

    def _show_output(self) -> None:
        if self._job is not None:
            OutputWindow(self, self.link, self._job).present()

    def _on_close(self, *_args: Any) -> bool:
        if self._timer:
            GLib.source_remove(self._timer)
            self._timer = 0
        self.link.close()
        return False
