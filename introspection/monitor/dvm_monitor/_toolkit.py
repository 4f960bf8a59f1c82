# SPDX-License-Identifier: LGPL-2.1-or-later
"""GTK and libadwaita, in the versions that the program is written for, and texts in the language of the user."""

import gc
import gettext
import os

import gi

gi.require_version('Gtk', '4.0')
gi.require_version('Adw', '1')
gi.require_version('PangoCairo', '1.0')

from gi.repository import Adw, Gdk, Gio, GLib, GObject, Graphene, Gtk, Pango  # noqa: E402

_DOMAIN = 'dvm'
_MS_BETWEEN_COLLECTIONS = 200


def set_up_texts(locale_dir: str) -> None:
    gettext.bindtextdomain(_DOMAIN, os.environ.get('DVM_LOCALE_DIR', locale_dir))


def _(text: str) -> str:
    return gettext.dgettext(_DOMAIN, text)


def N_(text: str) -> str:
    """Marked for translation, which comes when it is shown."""
    return text


def ngettext(one: str, many: str, n: int) -> str:
    return gettext.dngettext(_DOMAIN, one, many, n)


def _collect() -> bool:
    due = [generation for generation, (n, most) in enumerate(zip(gc.get_count(), gc.get_threshold())) if n > most]
    if due:
        gc.collect(due[-1])
    return True


def collect_in_main_context() -> None:
    """A closed window is a cycle, which Python frees in the thread that happens to look for cycles; GTK crashes if that is another one."""
    gc.disable()
    GLib.timeout_add(_MS_BETWEEN_COLLECTIONS, _collect)


__all__ = ['Adw', 'GLib', 'GObject', 'Gdk', 'Gio', 'Graphene', 'Gtk', 'N_', 'Pango', '_', 'collect_in_main_context', 'ngettext', 'set_up_texts']
