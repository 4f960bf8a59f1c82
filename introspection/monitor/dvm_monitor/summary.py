# SPDX-License-Identifier: LGPL-2.1-or-later
"""The line of numbers above the pages: what the DVM has, and what it does."""

from typing import Any, Dict

from . import facts
from ._toolkit import Gtk, _


def describe_state(info: Dict[str, Any]) -> str:
    return _('ready') if info.get('Ready') else str(info.get('StateName', '')).lower().replace('_', ' ')


class Summary(Gtk.Box):
    __gtype_name__ = 'DvmMonitorSummary'

    def __init__(self) -> None:
        super().__init__(homogeneous=True, css_classes=['summary'])
        self._values: Dict[str, Any] = {}
        for key, title in (('state', _('State')), ('nodes', _('Nodes')), ('slots', _('Slots in use')), ('running', _('Running')),
                           ('waiting', _('Waiting')), ('ended', _('Ended')), ('campaigns', _('Campaigns'))):
            value = Gtk.Label(label='–', css_classes=['title-3', 'numeric'])
            value.update_property([Gtk.AccessibleProperty.DESCRIPTION], [title])
            box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
            box.append(value)
            box.append(Gtk.Label(label=title, css_classes=['caption', 'dim-label']))
            self._values[key] = value
            self.append(box)

    def tell_silent(self) -> None:
        self._values['state'].set_text(_('no answer'))

    def update(self, snapshot: facts.Snapshot) -> None:
        info = snapshot.info
        used, slots = info.get('SlotsInUse', 0), info.get('SlotCount', 0)
        texts = {
            'state': describe_state(info),
            'nodes': str(info.get('NodeCount', 0)),
            'slots': f'{used}/{slots}',
            'running': str(info.get('JobsRunning', 0)),
            'waiting': str(info.get('JobsHeld', 0)),
            'ended': str(info.get('Statistics', {}).get('jobs-ended', 0)),
            'campaigns': str(info.get('CampaignsRunning', 0)),
        }
        for key, text in texts.items():
            self._values[key].set_text(text)
