# SPDX-License-Identifier: LGPL-2.1-or-later
# What the package uses of Gio.
from typing import Any, Callable, Optional

class Cancellable:
    def is_cancelled(self) -> bool: ...
    def cancel(self) -> None: ...

class DBusSignalFlags:
    NONE: DBusSignalFlags

class UnixInputStream:
    @classmethod
    def new(cls, fd: int, close_fd: bool) -> UnixInputStream: ...
    def read_bytes_async(self, count: int, io_priority: int, cancellable: Optional[Cancellable], callback: Callable[..., None],
                         user_data: Any = ...) -> None: ...
