"""Between Python's texts and C's: strict, so that nothing is lost or made up on the way in."""
from __future__ import annotations

import ctypes

from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Tuple, Union

    TextOrBytes = Union[str, bytes, bytearray, memoryview]

_string_at = ctypes.string_at


def name(value: Any, what: str) -> bytes:
    """A short text of C: UTF-8, with no NUL inside (C would stop there)."""
    if not isinstance(value, str):
        raise TypeError('%s must be a str, not %s' % (what, type(value).__name__))
    data = value.encode('utf-8')
    if 0 in data:
        raise ValueError('%s must not have a NUL inside' % what)
    return data


def data(value: Any, what: str) -> bytes:
    """Bytes, or a text as UTF-8."""
    if isinstance(value, str):
        return value.encode('utf-8')
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError('%s must be str or bytes, not %s' % (what, type(value).__name__))


def path(value: Any) -> bytes:
    """A path of the sandbox as its bytes: texts are UTF-8, with surrogateescape for what is none."""
    import os
    value = os.fspath(value)
    return value if isinstance(value, bytes) else bytes(value.encode('utf-8', 'surrogateescape'))


def number(value: Any, what: str) -> int:
    """A number that fits C's uint64_t; ctypes would cut it silently."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError('%s must be an int, not %s' % (what, type(value).__name__))
    if not 0 <= value < 1 << 64:
        raise ValueError('%s must be from 0 to 2**64 - 1, not %d' % (what, value))
    return value


def switch(value: Any, what: str) -> int:
    """0 or 1."""
    if value not in (0, 1):
        raise TypeError('%s must be True or False, not %r' % (what, value))
    return int(value)


def sized(getter: Any, *handle: Any) -> bytes:
    """What a getter with a length as its last parameter gives, copied."""
    size = ctypes.c_size_t()
    pointer = getter(*handle, ctypes.byref(size))
    return _string_at(pointer, size.value) if pointer else b''


def parse(text: Union[str, bytes]) -> Any:
    """A value from JSON."""
    import json     # here: with re it is a fifth of what an import of the package would cost
    return json.loads(text)


def unparse(value: Any) -> bytes:
    """A value as JSON."""
    import json
    return json.dumps(value).encode('ascii')


def words(text: Any) -> str:
    """A short static text of the library."""
    return str(text.decode('utf-8', 'replace')) if text else ''


def version() -> Tuple[str, int]:
    return words(lib.interp_version()), int(lib.interp_version_number())
