# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of nodes: the tree in which messages go from the controller to them, with slots, load and memory of each."""

from typing import Any, Callable, Dict, List, Optional, Set

from . import facts
from ._toolkit import Gio, GLib, Gtk, Pango, _, ngettext
from .lists import (Filler, Row, Rows, Seen, describe_bytes, fill_state, focus_row, make_button, make_column, make_empty, make_label,
                    make_scrolled, make_view, matches)


class Meter(Gtk.Box):
    """A bar and the same in words."""

    __gtype_name__ = 'DvmMonitorMeter'

    def __init__(self) -> None:
        super().__init__(spacing=8)
        self._bar = Gtk.LevelBar(hexpand=True, valign=Gtk.Align.CENTER, min_value=0, max_value=1)
        for name in (Gtk.LEVEL_BAR_OFFSET_LOW, Gtk.LEVEL_BAR_OFFSET_HIGH, Gtk.LEVEL_BAR_OFFSET_FULL):
            self._bar.remove_offset_value(name)
        self._label = Gtk.Label(xalign=1, width_chars=7, css_classes=['numeric'])
        self.append(self._bar)
        self.append(self._label)

    def set(self, part: float, text: str, name: str) -> None:
        self._bar.set_value(min(max(part, 0.0), 1.0))
        self._bar.set_visible(part >= 0)
        self._label.set_hexpand(part < 0)
        self._bar.update_property([Gtk.AccessibleProperty.LABEL], [f'{name}: {text}'])
        self._label.set_text(text)


class NodesPage(Gtk.Box):
    __gtype_name__ = 'DvmMonitorNodesPage'

    def __init__(self, see: Callable[[Set[int]], None], on_selected: Callable[[Optional[facts.Node]], None]) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL)
        self._rows = Rows()
        self._all: List[Row] = []
        self._text = ''
        self._shape: List[Any] = []
        self._on_selected = on_selected
        self._root = Filler(self._on_filled)
        self._selected: Optional[int] = None
        self._is_arranging = self._had_focus = False
        tree = Gtk.TreeListModel.new(self._root.store, False, True, lambda row: row.children)
        self.selection = Gtk.SingleSelection(model=tree, autoselect=False, can_unselect=True)
        self.selection.connect('notify::selected-item', self._on_selection)
        self._view = make_view(self.selection, self._make_columns(Seen(see)), _('Nodes'))
        self._stack = Gtk.Stack(vexpand=True)
        self._stack.add_named(make_scrolled(self._view, True), 'rows')
        self._stack.add_named(make_empty('network-server-symbolic', _('No Nodes'), _('An elastic DVM gets nodes by Add Nodes.')), 'none')
        self._stack.add_named(make_empty('edit-find-symbolic', _('Nothing Found'), _('No node has this text.')), 'filtered')
        self._count = Gtk.Label(hexpand=True, xalign=0, css_classes=['dim-label'], ellipsize=Pango.EllipsizeMode.END)
        self.append(self._make_bar())
        self.append(self._stack)

    def _make_bar(self) -> Any:
        bar = Gtk.Box(spacing=6, margin_start=12, margin_end=12, margin_top=6, margin_bottom=6)
        bar.append(self._count)
        for label, action, tip in ((_('_Drain'), 'win.drain-node', _('The node takes no new jobs')),
                                   (_('_Resume'), 'win.resume-node', _('The node takes jobs again')),
                                   (_('_Add Nodes…'), 'win.grow', _('The DVM grows')),
                                   (_('Re_move Nodes…'), 'win.shrink', _('The DVM shrinks'))):
            bar.append(make_button(label, action, tip))
        return bar

    def _make_columns(self, seen: Seen) -> List[Any]:
        def wrap(item: Any) -> Any:
            return Gtk.TreeExpander(child=item.cell, indent_for_icon=True)

        def fill_slots(meter: Any, row: Row) -> None:
            node = row.facts
            meter.set(node.used / node.slots if node.slots else -1, f'{node.used}/{node.slots}' if node.slots else '–', _('Slots in use'))

        def fill_load(meter: Any, row: Row) -> None:
            load = row.extra.load if row.extra else -1
            meter.set(load / max(row.facts.slots, 1) if load >= 0 else -1, f'{load:.2f}' if load >= 0 else '–', _('Load'))

        def fill_memory(meter: Any, row: Row) -> None:
            usage = row.extra or facts.Usage()
            known = usage.total > 0
            meter.set(usage.memory / usage.total if known else -1, describe_bytes(usage.memory) if known else '–', _('Memory in use'))

        def fill_allotted(label: Any, row: Row) -> None:
            label.set_text(describe_bytes(row.facts.allotted) if row.facts.allotted > 0 else '–')

        def fill_reason(label: Any, row: Row) -> None:
            label.set_text(row.facts.reason)
            label.set_tooltip_text(row.facts.reason or None)

        self._allotted = make_column(_('Memory allotted'), lambda: make_label(1, True), fill_allotted, 146)
        return [
            make_column(_('Name'), make_label, lambda label, row: label.set_text(row.facts.name), 140, expand=True, seen=seen, wrap=wrap,
                        name=lambda node: ', '.join(filter(None, [node.name, node.text, node.reason]))),
            make_column(_('Rank'), lambda: make_label(1, True), lambda label, row: label.set_text(str(row.facts.id)), 56),
            make_column(_('State'), make_label, lambda label, row: fill_state(label, row.facts.phase, row.facts.text), 90),
            make_column(_('Slots'), Meter, fill_slots, 126),
            make_column(_('Load'), Meter, fill_load, 126),
            make_column(_('Memory'), Meter, fill_memory, 136),
            make_column(_('Reason'), make_label, fill_reason, 70, expand=True),
        ]

    # ---- what is shown ----

    def update(self, snapshot: facts.Snapshot) -> None:
        # The controller stands in the tree only where it has slots; the others hang below the window then.
        nodes = [node for node in snapshot.nodes if node.id != 0 or node.slots > 0]
        self._all = self._rows.make(nodes, snapshot.usage)
        self._show_allotted(any(node.allotted > 0 for node in nodes))
        up = sum(node.state == 'UP' for node in nodes)
        self._count.set_text(ngettext('%d node', '%d nodes', len(nodes)) % len(nodes) + ' · ' + _('%d up') % up)
        self._arrange()
        self._tell_selected()

    def _show_allotted(self, shown: bool) -> None:
        """Few DVMs are told of it by their scheduler. A column that is not visible would keep its room in GTK 4.8."""
        if shown and self._allotted.get_column_view() is None:
            self._view.insert_column(self._view.get_columns().get_n_items() - 1, self._allotted)
        elif not shown and self._allotted.get_column_view() is not None:
            self._view.remove_column(self._allotted)

    def set_filter(self, text: str) -> None:
        self._text = text.casefold()
        self._arrange()

    def _arrange(self) -> None:
        """The tree is made anew when its shape has changed alone."""
        rows = [row for row in self._all if not self._text or matches(self._text, row.facts.name, row.facts.text, row.facts.reason)]
        shape = [(row.facts.id, row.facts.parent) for row in rows]
        self._stack.set_visible_child_name('rows' if rows else 'filtered' if self._all else 'none')
        if shape == self._shape:
            return
        self._shape = shape
        below: Dict[int, List[Row]] = {}
        there = {row.facts.id for row in rows}
        roots = []
        for row in rows:
            parent = row.facts.parent
            if parent in there and parent != row.facts.id:
                below.setdefault(parent, []).append(row)
            else:
                roots.append(row)
        again = False
        for row in rows:
            children = below.get(row.facts.id)
            again = again or bool(children) or row.children is not None
            row.children = None
            if children:
                row.children = Gio.ListStore.new(Row)
                row.children.splice(0, 0, children)
        self._is_arranging = True
        self._had_focus = self._had_focus or self._view.get_focus_child() is not None
        if again:
            self._root.clear()
        self._root.show(roots)

    def _on_filled(self) -> None:
        """A tree that was made anew has the same node selected, where that is still there, and the focus that it had."""
        self._is_arranging = False
        row = self._rows.get(self._selected) if self._selected is not None else None
        if row is not None and self._get_selected_row() is not row:
            rows = (self.selection.get_item(index).get_item() for index in range(self.selection.get_n_items()))
            self.selection.set_selected(next((index for index, other in enumerate(rows) if other is row), Gtk.INVALID_LIST_POSITION))
        if self._had_focus:
            self._had_focus = False
            GLib.idle_add(self._focus_selected)
        self._on_selection()

    def _focus_selected(self) -> bool:
        row = self._get_selected_row()
        if row is None or not focus_row(row):
            self._view.grab_focus()
        return bool(GLib.SOURCE_REMOVE)

    def _get_selected_row(self) -> Optional[Row]:
        item = self.selection.get_selected_item()
        return item.get_item() if item is not None else None

    def _on_selection(self, *_args: Any) -> None:
        if not self._is_arranging:
            row = self._get_selected_row()
            self._selected = row.facts.id if row is not None else None
            self._tell_selected()

    def _tell_selected(self) -> None:
        row = self._rows.get(self._selected) if self._selected is not None else None
        self._on_selected(row.facts if row is not None else None)

    def focus(self) -> None:
        self._view.grab_focus()
