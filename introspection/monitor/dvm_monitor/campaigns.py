# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of campaigns: how the DVM grows and shrinks now, and how it did so before."""

from typing import Any, List, Optional

from . import facts
from ._toolkit import GLib, Gtk, _, ngettext
from .lists import Row, Rows, describe_span, fill_state, make_button, make_empty, make_scrolled


class Card(Gtk.Box):
    """One campaign: its name and state, how far it has come, and what takes it back."""

    __gtype_name__ = 'DvmMonitorCampaignCard'

    def __init__(self) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=6, margin_top=12, margin_bottom=12, margin_start=12, margin_end=12)
        self._title = Gtk.Label(xalign=0, css_classes=['heading'])
        self._state = Gtk.Label(xalign=0)
        self._time = Gtk.Label(hexpand=True, xalign=1, css_classes=['numeric', 'dim-label'])
        self._cancel = make_button(_('_Take Back…'))
        self._cancel.set_valign(Gtk.Align.CENTER)
        self._bar = Gtk.ProgressBar(show_text=False)
        self._text = Gtk.Label(xalign=0, wrap=True, css_classes=['dim-label'])
        head = Gtk.Box(spacing=12)
        for child in (self._title, self._state, self._time, self._cancel):
            head.append(child)
        for child in (head, self._bar, self._text):
            self.append(child)

    def fill(self, campaign: facts.Campaign) -> None:
        self._title.set_text(campaign.title)
        fill_state(self._state, campaign.phase, campaign.text)
        self._time.set_text(describe_span(campaign.started, campaign.ended))
        self._cancel.set_visible(campaign.kind == 'grow' and not campaign.is_over)
        self._cancel.set_action_target_value(GLib.Variant('u', campaign.id))
        self._cancel.set_action_name('win.cancel-campaign')
        self._bar.set_visible(not campaign.is_over)
        self._bar.set_fraction(campaign.done / campaign.total if campaign.total else 0)
        self._bar.update_property([Gtk.AccessibleProperty.LABEL], [campaign.progress])
        held = ngettext('%d job waits for it', '%d jobs wait for it', campaign.held) % campaign.held if campaign.held else ''
        parts = list(filter(None, [campaign.progress, campaign.hosts, held, campaign.reason]))
        self._text.set_text(' · '.join(parts))
        # The row has the focus.
        self.get_parent().update_property([Gtk.AccessibleProperty.LABEL], [', '.join([campaign.title, campaign.text, *parts])])


class CampaignsPage(Gtk.Box):
    __gtype_name__ = 'DvmMonitorCampaignsPage'

    def __init__(self) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL)
        self._rows = Rows()
        self._all: List[Row] = []
        self._text = ''
        self._list = Gtk.ListBox(selection_mode=Gtk.SelectionMode.NONE, css_classes=['boxed-list'], valign=Gtk.Align.START,
                                 margin_top=12, margin_bottom=12, margin_start=12, margin_end=12)
        self._list.update_property([Gtk.AccessibleProperty.LABEL], [_('Campaigns')])
        self._list.bind_model(self._rows.store, self._make_card)
        self._stack = Gtk.Stack(vexpand=True)
        self._stack.add_named(make_scrolled(self._list), 'rows')
        description = _('When the DVM grows or shrinks, the progress is shown here.')
        self._stack.add_named(make_empty('view-refresh-symbolic', _('No Campaigns'), description), 'none')
        self.append(self._stack)

    @staticmethod
    def _make_card(row: Row) -> Any:
        card = Card()
        line = Gtk.ListBoxRow(child=card, activatable=False)
        card.fill(row.facts)
        handler = row.connect('changed', lambda row: card.fill(row.facts))
        card.connect('destroy', lambda _card: row.disconnect(handler))
        return line

    def update(self, snapshot: facts.Snapshot) -> None:
        self._all = self._rows.make(snapshot.campaigns)
        self._filter()
        for row in self._all:
            if not row.facts.is_over:
                row.emit('changed')

    def set_filter(self, text: str) -> None:
        self._text = text.casefold()
        self._filter()

    def _filter(self) -> None:
        text = self._text
        rows = [row for row in self._all if not text or any(text in value.casefold() for value in (row.facts.title, row.facts.hosts))]
        self._rows.show(rows)
        self._stack.set_visible_child_name('rows' if rows else 'none')

    def get(self, number: int) -> Optional[facts.Campaign]:
        row = self._rows.get(number)
        return row.facts if row else None

    def focus(self) -> None:
        self._list.child_focus(Gtk.DirectionType.TAB_FORWARD)
