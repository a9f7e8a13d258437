"""Events of an exec that streams, copied out of the library at once."""
from __future__ import annotations

from ctypes import c_void_p

from . import _ffi, _text
from ._library import lib
from ._result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

STREAMS = {_ffi.STREAM_STDOUT: 'stdout', _ffi.STREAM_STDERR: 'stderr'}
_TYPES = {_ffi.EV_OUTPUT: 'output', _ffi.EV_LATE_OUTPUT: 'late', _ffi.EV_GAP: 'gap', _ffi.EV_PROGRESS: 'progress', _ffi.EV_WRITABLE: 'writable'}


class Event:
    """One piece of news.

    `type` is "output" (bytes of a stream), "late" (bytes that background work of an earlier exec wrote), "gap" (`missing` bytes were dropped),
    "writable" (an `Exec.write` that took less than all has room again) or "result" (the last event; `result` has it).
    `stream` is "stdout" or "stderr", `exec` the session's number of the exec that the bytes come from, `offset` their place in its stream,
    `seq` a running number over all events of the session."""

    __slots__ = ('type', 'stream', 'data', 'exec', 'offset', 'missing', 'seq', 'result')

    def __init__(self, type: str, stream: Optional[str] = None, data: bytes = b'', exec: int = 0, offset: int = 0, missing: int = 0, seq: int = 0,
                 result: Optional[Result] = None) -> None:
        self.type, self.stream, self.data, self.result = type, stream, data, result
        self.exec, self.offset, self.missing, self.seq = exec, offset, missing, seq

    @property
    def text(self) -> str:
        """`data` as text. A piece may end in the middle of a character, which shows as U+FFFD; an incremental decoder over `data` avoids that."""
        return self.data.decode('utf-8', 'replace')

    def __repr__(self) -> str:
        return 'Event(%r, %r, %r)' % (self.type, self.stream, self.data if self.result is None else self.result)


def from_c(event: c_void_p) -> Optional[Event]:
    """A copy of an exec's event; None for the types that are not for the consumer, and for those that a newer library has added."""
    type = _TYPES.get(lib.interp_event_type(event))
    if type is None or type == 'progress':
        return None
    return Event(type, STREAMS.get(lib.interp_event_stream(event)), _text.sized(lib.interp_event_data, event), lib.interp_event_exec(event),
                 lib.interp_event_offset(event), lib.interp_event_missing(event), lib.interp_event_seq(event))


def progress(event: c_void_p) -> Optional[Dict[str, Any]]:
    """The JSON of a PROGRESS event, None for others."""
    if lib.interp_event_type(event) != _ffi.EV_PROGRESS:
        return None
    value = _text.parse(_text.sized(lib.interp_event_json, event) or b'{}')
    return value if isinstance(value, dict) else None
