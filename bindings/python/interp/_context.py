"""Contexts: what sessions are made in. Programs that need none of their own use the default one without seeing it."""
from __future__ import annotations

import ctypes
import itertools
import os
import threading
from ctypes import byref, c_void_p

from . import _ffi, _handle
from ._held import Held, Shared
from ._library import lib
from ._redact import Redacts, redacted
from .errors import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Type, Union
    from types import TracebackType

    # A log sink: level (1 error, 2 warning, 3 information, 4 debug) and a line.
    Log = Callable[[int, str], None]

    from ._screen import Audit

# The C function pointers of the sinks in use. They must live until the library has dropped them, which may be after their context's Python object
# has gone.
_sinks: Dict[int, Any] = {}
_numbers = itertools.count(1)


@_ffi.DESTROY_FN  # type: ignore[untyped-decorator, unused-ignore]
def _drop_sink(number: int) -> None:
    _sinks.pop(number, None)


class _Raised(threading.local):
    """What the log callback has raised on this thread, on its way back: the first exception. It goes with the thread."""

    first: Optional[BaseException] = None


class BaseContext(Held, Redacts):
    """What both kinds of contexts share: the C object and the log."""

    def __init__(self, flags: int, log: Optional[Log], audit: Optional[Audit] = None, audit_key: Optional[bytes] = None) -> None:
        self._raised = _Raised()
        pointer, err = c_void_p(), c_void_p()
        self._handle = _handle.Handle(pointer, lib.interp_ctx_free, 'context')
        check(lib.interp_ctx_new(flags, byref(pointer), byref(err)), err)
        if log is not None:
            self._set_log(pointer, log)
        if audit is not None:
            self._set_audit(pointer, audit, audit_key)
        elif audit_key is not None:
            raise TypeError('audit_key goes with audit')

    def _redact_handle(self) -> _handle.Handle:
        return self._handle

    def redacted(self, data: Union[str, bytes]) -> Union[str, bytes]:
        """A text as this context redacts what comes out of its sessions."""
        return redacted(self._handle, data)

    def _set_log(self, pointer: c_void_p, log: Log) -> None:
        raised = self._raised    # not self: the sink must not keep the context

        def sink(_: Any, level: int, message: int, size: int) -> None:
            _handle.in_callback(1)
            try:
                log(level, ctypes.string_at(message, size).decode('utf-8', 'replace'))
            except BaseException as e:
                if raised.first is None:
                    raised.first = e
            finally:
                _handle.in_callback(-1)

        number = next(_numbers)
        _sinks[number] = _ffi.LOG_FN(sink)
        err = c_void_p()
        check(lib.interp_ctx_set_log(pointer, _sinks[number], number, _drop_sink, byref(err)), err)

    def _set_audit(self, pointer: c_void_p, audit: Audit, key: Optional[bytes]) -> None:
        from . import _screen
        _screen.start(pointer, audit, key)
        tell = _screen.callback(audit)
        if tell is None:
            return
        raised = self._raised

        def sink(_: Any, record: int, size: int, seq: int) -> int:
            _handle.in_callback(1)
            try:
                assert tell is not None
                tell(ctypes.string_at(record, size - 1).decode('utf-8', 'replace'))
                return 0
            except BaseException as e:
                if raised.first is None:
                    raised.first = e
                return 1
            finally:
                _handle.in_callback(-1)

        number = next(_numbers)
        _sinks[number] = _ffi.AUDIT_FN(sink)
        err = c_void_p()
        check(lib.interp_audit_set_callback(pointer, _sinks[number], number, _drop_sink, byref(err)), err)

    @property
    def audit_head(self) -> Tuple[int, str, int]:
        """The head of the audit trail: number and hash of its last record, to be kept elsewhere, and how many records were dropped."""
        from . import _screen
        with _handle.Use(self._handle) as x:
            return _screen.head(x)

    def _reraise(self) -> None:
        """Raises what the log callback raised on this thread during the last call."""
        e = self._raised.first
        if e is not None:
            self._raised.first = None
            raise e

    def __del__(self) -> None:
        handle = getattr(self, '_handle', None)
        if handle is not None:
            handle.end(wait=False)


class Context(BaseContext):
    """A context of blocking calls: sessions of it may be used from any threads, each exec by one thread at a time.

    `log` is called with a level and a line, on whatever thread is inside the library; it may not call this package. What it raises comes out of the
    call
    during which it was called. Closing a context closes its sessions.

    `audit` starts its audit trail: the path of a file, a callable that is given each record as a line of JSON (and called as `log` is; a record that it raises on
    counts as not taken), or a mapping of options ({"path": …, "sync": "each", "callback": …}). `audit_key` makes the chain one that only who has the key can write."""

    def __init__(self, *, log: Optional[Log] = None, audit: Optional[Audit] = None, audit_key: Optional[bytes] = None) -> None:
        super().__init__(0, log, audit, audit_key)

    def languages(self, added: Iterable[Mapping[str, Any]] = ()) -> List[Dict[str, Any]]:
        """The languages that there are, and those of `added` (as a session takes `languages`): name, aliases, state (whether kernels keep it),
        compiles, programs (what is looked for in the sandbox)."""
        from . import _config
        with _handle.Use(self._handle) as x:
            return _config.languages(x, added)

    def close(self) -> None:
        """Shuts its sessions down and lets go of it. Idempotent."""
        self._handle.end()
        self._reraise()

    def __enter__(self) -> 'Context':
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()


_default: Optional[Tuple[int, Context]] = None
_default_lock = threading.RLock()


def _new_lock() -> None:
    global _default_lock
    _default_lock = threading.RLock()


os.register_at_fork(after_in_child=_new_lock)


def default_context() -> Context:
    """The context of sessions that were given none; made at first use, one for each process."""
    global _default
    with _default_lock:
        if _default is None or _default[0] != _handle.forks() or _default[1]._handle.ended:
            _default = (_handle.forks(), Context())
        return _default[1]


class Cancel(Shared):
    """Ends what it is given to: opens and execs that got it as `cancel=`. One may serve many; a fired one stays fired.

    `fire` may be called from any thread and from signal handlers. Firing again skips the rest of the grace time. What had ended keeps its true
    outcome."""

    _instead = 'fire it in the process that made it'

    def __init__(self, context: Optional[BaseContext] = None) -> None:
        owner = context or default_context()
        pointer, err = c_void_p(), c_void_p()
        with _handle.Use(owner._handle) as x:
            check(lib.interp_cancel_new(x, byref(pointer), byref(err)), err)
        self._pointer = pointer.value or 0
        self._fork = _handle.forks()

    def fire(self) -> None:
        if self._fork == _handle.forks():
            lib.interp_cancel_fire(self._pointer)

    @property
    def fired(self) -> bool:
        return bool(lib.interp_cancel_fired(self._pointer))

    def __del__(self, release: Any = _handle.release, free: Any = lib.interp_cancel_free) -> None:
        pointer = getattr(self, '_pointer', 0)
        if pointer:
            release(free, pointer)
