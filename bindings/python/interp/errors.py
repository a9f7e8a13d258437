"""Exceptions. A failure of the library is a `StatusError`; what user code did is a result, and `Result.check` makes it an `ExecError`."""
from __future__ import annotations

import ctypes

from . import _ffi
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Type

    from ._result import Result


class Error(Exception):
    """Base of everything that this package raises by itself."""


class ExecError(Error):
    """Raised by `Result.check` for an exec that did not end well."""

    def __init__(self, result: 'Result') -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        r = self.result
        said = '%s: %s' % (r.error.type, r.error.message) if r.error else 'exit code %s' % r.exit_code if r.outcome == 'error' else ''
        return ' '.join(word for word in (r.outcome, '(%s)' % r.cause if r.cause else '', said) if word)


class StatusError(Error):
    """A function of the library failed; nothing ran.

    `code` is the name of the status ("INTERP_E_BUSY"), `status` its number, `reason` a stable word for programs, `message` and `remedy` sentences for
    people, `retryable` whether the same call may succeed later without any change, `errno` that of the system call, or 0."""

    status = 0

    def __init__(self, message: str = '', reason: str = '', remedy: str = '', retryable: bool = False, errno: int = 0, status: int = 0) -> None:
        super().__init__(message, reason, remedy, retryable, errno, status)
        self.message, self.reason, self.remedy, self.retryable, self.errno = message, reason, remedy, retryable, errno
        self.status = status or type(self).status

    @property
    def code(self) -> str:
        return str((lib.interp_status_name(self.status) or b'').decode('ascii'))

    def __str__(self) -> str:
        return ' '.join(part for part in (self.message or self.code, '(%s)' % self.reason if self.reason else '', self.remedy) if part)


class InvalidError(StatusError, ValueError):
    """An argument is wrong; the message names it."""

    status = _ffi.E_INVAL


class NoMemoryError(StatusError, MemoryError):
    """Out of memory."""

    status = _ffi.E_NOMEM


class BusyError(StatusError):
    """The kernel has an exec in flight, another thread is inside the session, or a callback called the library."""

    status = _ffi.E_BUSY


class ClosedError(StatusError):
    """The session was closed, expired, or its sandbox is gone: open a new one."""

    status = _ffi.E_CLOSED


class CancelledError(StatusError):
    """An open or restart was cancelled (an exec has an outcome instead)."""

    status = _ffi.E_CANCELLED


class TimedOutError(StatusError):
    """An open, restart or close took too long (an exec has an outcome instead)."""

    status = _ffi.E_TIMEOUT


class InterruptedCallError(StatusError):
    """A signal came. Handled inside this package."""

    status = _ffi.E_INTR


class ForkedError(StatusError):
    """The object belongs to the parent process."""

    status = _ffi.E_FORKED


class UnsupportedError(StatusError):
    """Not in this build, or not by this backend."""

    status = _ffi.E_UNSUPPORTED


class NotFoundError(StatusError, LookupError):
    """There is no such backend or kernel."""

    status = _ffi.E_NOT_FOUND


class ExistsError(StatusError):
    """The name is taken."""

    status = _ffi.E_EXISTS


class DeniedError(StatusError):
    """Policy or permission."""

    status = _ffi.E_DENIED


class LimitError(StatusError):
    """A bound of the library: too large, too many."""

    status = _ffi.E_LIMIT


class HostIOError(StatusError):
    """A file or descriptor of this process failed."""

    status = _ffi.E_IO


class IsolationError(StatusError):
    """The isolation or a limit that was asked for can't be had here; the remedy says what to do."""

    status = _ffi.E_ISOLATION


class ImageError(StatusError):
    """The image is missing or unusable."""

    status = _ffi.E_IMAGE


class BackendError(StatusError):
    """The backend failed; the reason has the detail."""

    status = _ffi.E_BACKEND


class ProtocolError(StatusError):
    """The sandbox broke the protocol and was killed."""

    status = _ffi.E_PROTOCOL


class CallbackError(StatusError):
    """A callback of the host failed."""

    status = _ffi.E_CALLBACK


BY_STATUS: Dict[int, Type[StatusError]] = {c.status: c for c in StatusError.__subclasses__()}


def check(status: int, err: ctypes.c_void_p) -> int:
    """Gives back a status that is no failure; raises the exception of one that is. Takes the error object."""
    if status >= 0:
        return status
    kind = BY_STATUS.get(status, StatusError)
    if not err:
        raise kind(status=status)
    try:
        message, reason, remedy = (str((get(err) or b'').decode('utf-8', 'replace')) for get in (
            lib.interp_error_message, lib.interp_error_reason, lib.interp_error_remedy))
        raise kind(message, reason, remedy, bool(lib.interp_error_retryable(err)), int(lib.interp_error_errno(err)), status)
    finally:
        lib.interp_error_free(err)
        err.value = None
