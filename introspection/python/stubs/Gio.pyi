from typing import Any, Callable, Optional

ApplicationFlags: Any
DBusCallFlags: Any
IOErrorEnum: Any
ListStore: Any
Menu: Any
SimpleAction: Any

def io_error_quark() -> int: ...

class Cancellable:
    def is_cancelled(self) -> bool: ...
    def cancel(self) -> None: ...

class DBusSignalFlags:
    NONE: DBusSignalFlags

class UnixInputStream:
    @classmethod
    def new(cls, fd: int, close_fd: bool) -> UnixInputStream: ...
    def read_bytes_async(self, count: int, io_priority: int, cancellable: Optional[Cancellable], callback: Callable[..., None],
                         user_data: object = ...) -> None: ...
