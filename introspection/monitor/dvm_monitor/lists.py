# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rows of facts in a list of GTK, which changes as little as it can, and the columns that show them."""

import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from ._toolkit import Adw, Gio, GLib, GObject, Gtk, Pango


# Seconds in which rows are added without a pause for what else there is to do, and how many at a time.
_AT_ONCE = 0.02
_PIECE = 5


class Row(GObject.Object):
    """What is known of one job, node or campaign now. It tells by the signal changed."""

    __gtype_name__ = 'DvmMonitorRow'
    __gsignals__ = {'changed': (GObject.SignalFlags.RUN_LAST, None, ())}

    def __init__(self, facts: Any) -> None:
        super().__init__()
        self.facts = facts
        self.extra: Any = None
        self.children: Any = None  # of a tree
        self.cell: Any = None  # what shows it, in the first column

    def update(self, facts: Any, extra: Any = None) -> None:
        if facts is self.facts and extra is self.extra:
            return
        if facts != self.facts or extra != self.extra:
            self.facts = facts
            self.extra = extra
            self.emit('changed')


class Filler:
    """Fills a list store for a while and then goes on when there is time: GTK makes widgets for new rows at once."""

    def __init__(self, on_filled: Optional[Callable[[], object]] = None) -> None:
        self.store = Gio.ListStore.new(Row)
        self.shown: List[Row] = []
        self.wanted: List[Row] = []
        self._source = 0
        self._on_filled = on_filled

    def clear(self) -> None:
        self.store.remove_all()
        self.shown = []

    def show(self, rows: List[Row]) -> None:
        """Changes the part alone that differs: what is selected, and where one has scrolled to, stays."""
        self.wanted = rows
        if not self._source and self._go_on():
            self._source = GLib.idle_add(self._go_on)

    def _go_on(self) -> bool:
        """False: all are there."""
        end = time.monotonic() + _AT_ONCE
        while self.shown != self.wanted and time.monotonic() < end:
            self.shown = splice(self.store, self.shown, self.wanted, _PIECE)
        if self.shown == self.wanted:
            self._source = 0
            if self._on_filled:
                self._on_filled()
        return self.shown != self.wanted


class Rows(Filler):
    """Keeps rows in step with facts, which have ids: one row for each, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Dict[int, Row] = {}

    def get(self, number: int) -> Optional[Row]:
        return self._rows.get(number)

    def __len__(self) -> int:
        return len(self.wanted)

    def make(self, facts: Sequence[Any], extra: Optional[Dict[int, Any]] = None) -> List[Row]:
        """The rows of these facts, the old ones where there are some."""
        rows = []
        for item in facts:
            row = self._rows.get(item.id)
            if row is None:
                row = Row(item)
            row.update(item, extra.get(item.id) if extra else None)
            rows.append(row)
        self._rows = {row.facts.id: row for row in rows}
        return rows


def splice(store: Any, old: List[Any], new: List[Any], most: int) -> List[Any]:
    """Brings the store from old towards new by adding at most so many items; what is in it then."""
    begin = 0
    while begin < min(len(old), len(new)) and old[begin] is new[begin]:
        begin += 1
    end = 0
    while end < min(len(old), len(new)) - begin and old[-1 - end] is new[-1 - end]:
        end += 1
    added = new[begin:len(new) - end][:most]
    if begin + end < max(len(old), len(new)):
        store.splice(begin, len(old) - end - begin, added)
    return old[:begin] + added + (old[len(old) - end:] if end else [])


class Seen:
    """The rows that GTK has widgets for: those on the screen, and some around them."""

    def __init__(self, tell: Callable[[Set[int]], None]) -> None:
        self._ids: Dict[int, int] = {}
        self._tell = tell
        self._source = 0

    def add(self, number: int) -> None:
        self._ids[number] = self._ids.get(number, 0) + 1
        self._queue()

    def remove(self, number: int) -> None:
        self._ids[number] -= 1
        if self._ids[number] == 0:
            del self._ids[number]
        self._queue()

    def _queue(self) -> None:
        """Many come and go at once."""
        if not self._source:
            self._source = GLib.idle_add(self._tell_all)

    def _tell_all(self) -> bool:
        self._source = 0
        self._tell(set(self._ids))
        return bool(GLib.SOURCE_REMOVE)


def make_label(xalign: float = 0.0, numeric: bool = False, css: str = '') -> Any:
    label = Gtk.Label(xalign=xalign, ellipsize=Pango.EllipsizeMode.NONE if numeric else Pango.EllipsizeMode.END)
    for name in filter(None, [css, 'numeric' if numeric else '']):
        label.add_css_class(name)
    return label


def get_row(item: Any) -> Row:
    """Of a list item, which has the row, or in a tree what has it."""
    row: Row = item.get_item().get_item() if isinstance(item.get_item(), Gtk.TreeListRow) else item.get_item()
    return row


def focus_row(row: Row) -> bool:
    """False: it is not on the screen."""
    return row.cell is not None and bool(row.cell.grab_focus() or row.cell.get_parent().get_parent().grab_focus())


def _name_row(item: Any, text: str) -> None:
    """The row of a cell has the focus, and GTK calls it by its class."""
    cell = item.get_child().get_parent()
    widget = cell.get_parent() if cell is not None else None
    if widget is not None and getattr(item, 'name', None) != text:
        item.name = text
        widget.update_property([Gtk.AccessibleProperty.LABEL], [text])


def make_column(title: str, make: Callable[[], Any], fill: Callable[[Any, Row], object], width: int = -1, expand: bool = False,
                seen: Optional[Seen] = None, wrap: Optional[Callable[[Any], Any]] = None,
                name: Optional[Callable[[Any], str]] = None) -> Any:
    """make() is the widget of a cell, fill(widget, row) shows a row in it; wrap() may put it into another one.

    name(facts) is all of the row in words, for the first column.
    """
    factory = Gtk.SignalListItemFactory()

    def show(item: Any, row: Row) -> None:
        fill(item.cell, row)
        if name:
            _name_row(item, name(row.facts))

    def on_setup(_factory: Any, item: Any) -> None:
        item.cell = make()
        item.set_child(wrap(item) if wrap else item.cell)

    def on_bind(_factory: Any, item: Any) -> None:
        row = get_row(item)
        item.row = row
        item.number = row.facts.id
        item.handler = row.connect('changed', lambda row: show(item, row))
        if wrap:
            item.get_child().set_list_row(item.get_item())
        if name:
            row.cell = item.get_child()
        show(item, row)
        if seen:
            seen.add(item.number)

    def on_unbind(_factory: Any, item: Any) -> None:
        item.row.disconnect(item.handler)
        if name and item.row.cell is item.get_child():
            item.row.cell = None
        item.row = None
        if seen:
            seen.remove(item.number)

    factory.connect('setup', on_setup)
    factory.connect('bind', on_bind)
    factory.connect('unbind', on_unbind)
    column = Gtk.ColumnViewColumn(title=title, factory=factory, resizable=True, expand=expand)
    if width > 0:
        column.set_fixed_width(width)
    return column


def describe_span(begin: int, end: int) -> str:
    """Between two times in µs since the epoch: 0:07, 1:02:03. An end of 0 is now."""
    if begin == 0:
        return ''
    seconds = max(int(((end or time.time() * 1e6) - begin) / 1e6), 0)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f'{hours}:{minutes:02}:{seconds:02}' if hours else f'{minutes}:{seconds:02}'


def describe_bytes(number: float) -> str:
    for unit in ('B', 'KiB', 'MiB', 'GiB'):
        if number < 1000:
            return f'{number:.1f} {unit}' if unit != 'B' and number < 9.95 else f'{number:.0f} {unit}'
        number /= 1024
    return f'{number:.1f} TiB'


def matches(text: str, *values: object) -> bool:
    """Whether one of them has the text in it, in capitals or not."""
    return any(text in str(value).casefold() for value in values)


def fill_state(label: Any, phase: str, text: str) -> None:
    """A word in the colour of its phase: colour is never all that tells."""
    if label.get_text() != text or not label.has_css_class(f'state-{phase}'):
        label.set_text(text)
        label.set_css_classes(['state', f'state-{phase}'])


def make_empty(icon: str, title: str, description: str) -> Any:
    return Adw.StatusPage(icon_name=icon, title=title, description=description, css_classes=['compact'])


def make_view(model: Any, columns: Sequence[Any], label: str) -> Any:
    view = Gtk.ColumnView(model=model, show_row_separators=True, css_classes=['data-table', 'rows'])
    view.update_property([Gtk.AccessibleProperty.LABEL], [label])
    for column in columns:
        view.append_column(column)
    return view


class ScrolledList(Gtk.ScrolledWindow):
    """Arrows go about in the list that is in it; Tab goes on to what is beside, however many rows there are."""

    __gtype_name__ = 'DvmMonitorScrolledList'

    def do_focus(self, direction: Any) -> bool:
        if direction in (Gtk.DirectionType.TAB_FORWARD, Gtk.DirectionType.TAB_BACKWARD) and self.get_focus_child() is not None:
            return False
        return bool(Gtk.ScrolledWindow.do_focus(self, direction))


def make_scrolled(child: Any, is_list: bool = False) -> Any:
    return (ScrolledList if is_list else Gtk.ScrolledWindow)(child=child, vexpand=True, hexpand=True)


def name_widget(widget: Any, name: str) -> Any:
    """What a screen reader calls one that shows no text, and what the pointer tells of it."""
    widget.set_tooltip_text(name)
    widget.update_property([Gtk.AccessibleProperty.LABEL], [name])
    return widget


def name_choice(choice: Any, name: str) -> None:
    """Of a drop-down, the button in it too, which has the focus."""
    name_widget(choice, name)
    choice.get_first_child().update_property([Gtk.AccessibleProperty.LABEL], [name])


def make_button(label: str, action: Optional[str] = None, tooltip: str = '', css: str = '') -> Any:
    button = Gtk.Button(label=label, action_name=action, use_underline=True, tooltip_text=tooltip or None)
    # GTK would read the underscore out.
    button.update_property([Gtk.AccessibleProperty.LABEL], [label.replace('_', '')])
    if css:
        button.add_css_class(css)
    return button

