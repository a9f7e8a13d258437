"""A whole output stream of a result: read by page, searched, kept."""
from __future__ import annotations

import os
from ctypes import byref, c_size_t, c_uint64, c_void_p, create_string_buffer
from typing import NamedTuple

from . import _ffi, _text
from ._held import Shared
from ._library import lib
from .errors import NotFoundError, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

    from ._result import Result

_STREAMS = {'stdout': _ffi.STREAM_STDOUT, 'stderr': _ffi.STREAM_STDERR}
_PAGE = 1 << 16


class Match(NamedTuple):
    """A place that `Spill.grep` found."""

    line: int      # from 1, over the whole stream
    offset: int    # of the match, in bytes
    text: str      # the line, 4 KiB at most


class Spill(Shared):
    """All of one output stream: what `Result.stdout` shows of it and, when the session has a `spill_dir`, what lies between.

    Iterating gives its bytes in pieces of at most 64 KiB; what could not be kept is left out (see `gap`)."""

    __slots__ = ('_result', '_stream')

    _instead = 'take spill.read(), or spill.save(path)'

    def __init__(self, result: Result, stream: str) -> None:
        if stream not in _STREAMS:
            raise ValueError('the streams are "stdout" and "stderr", not %r' % (stream,))
        self._result, self._stream = result, stream

    @property
    def size(self) -> int:
        """All bytes that the stream had."""
        return self._result.total_bytes(self._stream)

    @property
    def readable(self) -> int:
        """How many of them can be read."""
        return int(lib.interp_result_readable_bytes(self._result._pointer, _STREAMS[self._stream]))

    @property
    def _facts(self) -> Optional[Dict[str, Any]]:
        facts: Optional[Dict[str, Any]] = self._result.json()[self._stream]['spill']
        return facts

    @property
    def on_disk(self) -> bool:
        """Whether it was put aside in the session's `spill_dir`."""
        return bool(self._facts and self._facts['bytes'])

    @property
    def gap(self) -> Optional[Tuple[int, int]]:
        """From where to where bytes are missing in the middle; None when none are."""
        facts = self._facts
        if facts and facts['bytes']:
            return tuple(facts['gap']) if facts['gap'] else None
        if not self._result.truncated(self._stream):
            return None
        return len(self._result.head(self._stream)), self.size - len(self._result.tail(self._stream))

    @property
    def error(self) -> Optional[str]:
        """Why something could not be put aside ("ENOSPC": the disk was full)."""
        return self._facts['error'] if self._facts else None

    def read(self, offset: int = 0, n: int = -1) -> bytes:
        """Up to n bytes (all that follow when negative) from offset; less before a gap, b'' at the end. NotFoundError inside a gap."""
        parts: List[bytes] = []
        offset = _text.number(offset, 'offset')
        left = (1 << 63) if n < 0 else n
        while left > 0:
            try:
                part = self._page(offset, min(left, _PAGE if n < 0 else 1 << 20))
            except NotFoundError:
                if not parts:
                    raise
                break
            if not part:
                break
            parts.append(part)
            offset += len(part)
            left -= len(part)
        return b''.join(parts)

    def _page(self, offset: int, n: int) -> bytes:
        page, got, err = create_string_buffer(n), c_size_t(), c_void_p()
        status = check(lib.interp_result_read(self._result._pointer, _STREAMS[self._stream], offset, page, n, byref(got), byref(err)), err)
        return b'' if status == _ffi.DONE else page.raw[:got.value]

    def __iter__(self) -> Iterator[bytes]:
        offset, gap = 0, self.gap
        while offset < self.size:
            if gap and gap[0] <= offset < gap[1]:
                offset = gap[1]
                continue
            try:
                part = self._page(offset, _PAGE)
            except NotFoundError:    # the end could not be written
                return
            if not part:
                return
            yield part
            offset += len(part)

    def find(self, text: _text.TextOrBytes, start: int = 0) -> Optional[Tuple[int, int]]:
        """Offset and line of the first place at or after start where the text stands; None when there is none."""
        data = _text.data(text, 'text')
        offset, line, err = c_uint64(), c_uint64(), c_void_p()
        status = check(lib.interp_result_find(self._result._pointer, _STREAMS[self._stream], data, len(data), _text.number(start, 'start'), byref(offset), byref(line), byref(err)), err)
        return None if status == _ffi.DONE else (offset.value, line.value)

    def grep(self, text: _text.TextOrBytes, limit: int = 100, start: int = 0) -> List[Match]:
        """The first lines (limit at most) at or after the offset start in which the text stands, each once."""
        found: List[Match] = []
        while len(found) < limit:
            hit = self.find(text, start)
            if hit is None:
                break
            offset, line = hit
            before = self._around(max(0, offset - 2048), offset).rsplit(b'\n', 1)[-1]
            after = self.read(offset, 2048)
            end = after.find(b'\n')
            found.append(Match(line, offset, (before + (after if end < 0 else after[:end])).decode('utf-8', 'replace')))
            if end < 0:    # a longer line: on to its end
                rest = self.find(b'\n', offset)
                if rest is None:
                    break
                start = rest[0] + 1
            else:
                start = offset + end + 1
        return found

    def _around(self, start: int, end: int) -> bytes:
        gap = self.gap
        if gap and start < gap[1] <= end:
            start = gap[1]
        return self.read(start, end - start)

    def save(self, path: Union[str, 'os.PathLike[str]']) -> None:
        """Keeps it: a new gzip file, for this user only."""
        err = c_void_p()
        check(lib.interp_result_save(self._result._pointer, _STREAMS[self._stream], os.fsencode(path), byref(err)), err)

    def __repr__(self) -> str:
        return '<interp.Spill of %s: %d of %d bytes>' % (self._stream, self.readable, self.size)
