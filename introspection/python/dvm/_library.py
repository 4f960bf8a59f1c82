# SPDX-License-Identifier: LGPL-2.1-or-later
"""The library through introspection, or an ImportError that says what is missing and where it would be found."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Types of our own: those of PyGObject are in another package, which users may not have, and know nothing of this library.
    from . import _Dvm as Dvm, _Gio as Gio, _GLib as GLib
else:
    try:
        # Without PyGObject the folder of our overrides alone is a gi, and an empty one.
        from gi import require_version
    except ImportError as error:
        raise ImportError('dvm needs PyGObject, the module gi, which this Python does not have: install python3-gi and use '
                          '/usr/bin/python3, or a venv that was made by it with --system-site-packages') from error

    try:
        require_version('Dvm', '1.0')
        from gi.repository import Dvm, Gio, GLib
    except (ImportError, ValueError) as error:
        place = os.environ.get('GI_TYPELIB_PATH')
        where = f'GI_TYPELIB_PATH is {place}' if place else 'GI_TYPELIB_PATH is not set'
        raise ImportError(f'dvm cannot load the library libdvm-gobject: {error}. Its typelib, Dvm-1.0.typelib, is in the package '
                          f'gir1.2-dvm-1.0; for an installation in another place, source its share/dvm/dvm-env.sh ({where})') from error

    if not hasattr(Dvm, 'CompletedJob'):
        raise ImportError('dvm needs the overrides of libdvm-gobject for Python, gi/overrides/Dvm.py, which are installed with it: for '
                          'an installation in another place, source its share/dvm/dvm-env.sh, which sets PYTHONPATH')

__all__ = ['Dvm', 'GLib', 'Gio']
