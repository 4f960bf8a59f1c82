# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of the map: nodes as cards, with their packages and cores, and the ranks of one job on them."""

from typing import Any, Optional, Tuple

from . import facts
from ._toolkit import Adw, GLib, Graphene, Gtk, Pango, _, ngettext
from .link import Link
from .lists import make_empty, make_scrolled
from .topology import Core, JobMap, NodeMap, read_map

_CELL = 38
_GAP = 4
_COLUMNS = 8


class Package(Gtk.Widget):
    """The cores of a package, each with the rank that is bound to it, or with how many are."""

    __gtype_name__ = 'DvmMonitorPackage'

    def __init__(self, node: str, number: int, cores: Tuple[Core, ...]) -> None:
        super().__init__(accessible_role=Gtk.AccessibleRole.IMG, valign=Gtk.Align.START, halign=Gtk.Align.START)
        self._cores = cores
        words = '; '.join(_('core {core}: rank {ranks}').format(core=index, ranks=', '.join(map(str, core.ranks))) for index, core in enumerate(cores) if core.ranks)
        label = _('Package {package} of {node}').format(package=number, node=node) + ': ' + (words or _('no ranks'))
        self.update_property([Gtk.AccessibleProperty.LABEL], [label])
        self.set_tooltip_text(label)

    def do_measure(self, orientation: Any, _size: int) -> Tuple[int, int, int, int]:
        columns = min(len(self._cores), _COLUMNS)
        n = columns if orientation == Gtk.Orientation.HORIZONTAL else -(-len(self._cores) // _COLUMNS)
        size = n * (_CELL + _GAP) - _GAP
        return (size, size, -1, -1)

    def do_snapshot(self, snapshot: Any) -> None:
        context = self.get_style_context()
        accent = context.lookup_color('accent_bg_color')[1]
        on_accent = context.lookup_color('accent_fg_color')[1]
        grey = context.lookup_color('dvm_core')[1]
        for index, core in enumerate(self._cores):
            x, y = (index % _COLUMNS) * (_CELL + _GAP), (index // _COLUMNS) * (_CELL + _GAP)
            area = Graphene.Rect()
            area.init(x, y, _CELL, _CELL)
            snapshot.append_color(accent if core.ranks else grey, area)
            if not core.ranks:
                continue
            text = str(core.ranks[0]) if len(core.ranks) == 1 else f'{core.ranks[0]} +{len(core.ranks) - 1}'
            layout = self.create_pango_layout(text)
            layout.set_width(_CELL * Pango.SCALE)
            layout.set_alignment(Pango.Alignment.CENTER)
            layout.set_ellipsize(Pango.EllipsizeMode.END)
            point = Graphene.Point()
            point.init(x, y + (_CELL - layout.get_pixel_size()[1]) / 2)
            snapshot.save()
            snapshot.translate(point)
            snapshot.append_layout(layout, on_accent)
            snapshot.restore()


def _make_card(node: NodeMap) -> Any:
    card = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=8, css_classes=['card', 'node'], valign=Gtk.Align.START)
    card.append(Gtk.Label(label=node.name, xalign=0, css_classes=['heading']))
    for number, cores in enumerate(node.packages):
        card.append(Gtk.Label(label=_('Package %d') % number, xalign=0, css_classes=['caption', 'dim-label']))
        card.append(Package(node.name, number, cores))
    if node.loose:
        shown = ', '.join(map(str, node.loose[:24])) + (' …' if len(node.loose) > 24 else '')
        text = ngettext('Not bound to cores: rank %s', 'Not bound to cores: ranks %s', len(node.loose)) % shown
        card.append(Gtk.Label(label=text, xalign=0, wrap=True, max_width_chars=44, css_classes=['caption']))
    return card


class MapPage(Gtk.Box):
    __gtype_name__ = 'DvmMonitorMapPage'

    def __init__(self, link: Link) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL)
        self._link = link
        self._job: Optional[facts.Job] = None
        self._asked: Any = None
        self._shown: Optional[JobMap] = None
        self._wants_focus = False
        self._title = Adw.WindowTitle(margin_top=12, margin_bottom=6)
        self._cards = Gtk.FlowBox(selection_mode=Gtk.SelectionMode.NONE, homogeneous=False, valign=Gtk.Align.START, max_children_per_line=6,
                                  column_spacing=12, row_spacing=12, margin_top=6, margin_bottom=12, margin_start=12, margin_end=12)
        self._cards.update_property([Gtk.AccessibleProperty.LABEL], [_('Nodes of the job')])
        self._more = Gtk.Label(css_classes=['dim-label'], visible=False, margin_bottom=12)
        below = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        for child in (self._title, self._cards, self._more):
            below.append(child)
        self._empty = make_empty('view-grid-symbolic', _('No Map'), '')
        self._stack = Gtk.Stack(vexpand=True)
        self._stack.add_named(make_scrolled(below), 'map')
        self._stack.add_named(self._empty, 'none')
        self.append(self._stack)
        self._say(_('A job that is selected, or the latest that runs, is shown here.'))
        self.connect('map', lambda *_args: GLib.idle_add(self._ask))

    def _say(self, sentence: str) -> None:
        self._empty.set_description(GLib.markup_escape_text(sentence))
        self._stack.set_visible_child_name('none')

    def update(self, snapshot: facts.Snapshot, selected: Optional[facts.Job]) -> None:
        job = selected or next((job for job in snapshot.jobs if job.phase == facts.RUNNING), None)
        if job is None and self._job is not None:
            # The last one that was shown stays, as long as the DVM knows it.
            job = next((other for other in snapshot.jobs if other.id == self._job.id), None)
        self._job = job
        if job is None:
            self._asked = None
            self._say(_('A job that is selected, or the latest that runs, is shown here.'))
        elif self.get_mapped():
            self._ask()

    def _ask(self) -> bool:
        """Once for each job and state of it: its map does not change otherwise."""
        if self._job is not None and self._asked != (self._job.id, self._job.phase):
            self._asked = (self._job.id, self._job.phase)
            self._read(self._job)
        return bool(GLib.SOURCE_REMOVE)

    def _read(self, job: facts.Job) -> None:
        self._link.work(lambda vm: read_map(vm, job.id), lambda answer: self._show(job, answer), lambda text: self._fail(job, text))

    def _is_current(self, job: facts.Job) -> bool:
        return self._job is not None and self._job.id == job.id

    def _fail(self, job: facts.Job, sentence: str) -> None:
        if self._is_current(job):
            self._say(sentence)

    def _show(self, job: facts.Job, answer: JobMap) -> None:
        if not self._is_current(job):
            return
        self._title.set_title(_('Job %d') % job.id)
        self._title.set_subtitle(job.command)
        self._stack.set_visible_child_name('map')
        if answer == self._shown:
            return
        self._shown = answer
        self._wants_focus = self._wants_focus or self._cards.get_focus_child() is not None
        while (child := self._cards.get_first_child()) is not None:
            self._cards.remove(child)
        for node in answer.nodes:
            child = Gtk.FlowBoxChild(child=_make_card(node), focusable=True)
            child.update_property([Gtk.AccessibleProperty.LABEL], [node.name])
            self._cards.insert(child, -1)
        hidden = answer.n_hidden
        self._more.set_visible(hidden > 0)
        self._more.set_text(ngettext('%d more node is not shown', '%d more nodes are not shown', hidden) % hidden)
        if self._wants_focus and self.get_mapped():
            self.focus()

    def focus(self) -> None:
        """Of the first card; when there is none, of the one that comes."""
        self._wants_focus = not self._cards.child_focus(Gtk.DirectionType.TAB_FORWARD)
