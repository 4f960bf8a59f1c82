from typing import Any

from dvm._Gio import *

ApplicationFlags: Any
DBusCallFlags: Any
IOErrorEnum: Any
ListStore: Any
Menu: Any
SimpleAction: Any

def io_error_quark() -> int: ...
