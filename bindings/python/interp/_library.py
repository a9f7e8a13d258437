"""Loads the C library, once, when the package is imported.

From one exact path and never by a search: INTERP_LIBRARY when it is set, else the file beside this module."""
from __future__ import annotations

import ctypes
import os

from . import _ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


def path() -> str:
    """The file to load."""
    chosen = os.environ.get('INTERP_LIBRARY')
    if chosen:
        if not os.path.isabs(chosen):
            raise ImportError('INTERP_LIBRARY must be the absolute path of libinterp, not %r' % chosen)
        return chosen
    return os.path.join(_HERE, 'libinterp.so.0')


class _Loaded(_ffi.Library):
    """Looks a function up and declares it when it is used first: for all of them that would be a third of an import."""

    def __init__(self, file: str) -> None:
        self._file, self._dll = file, ctypes.CDLL(file)

    def __getattr__(self, name: str) -> Any:
        prototype = _ffi.PROTOTYPES.get(name)
        if prototype is None:
            raise AttributeError(name)
        try:
            function = self._dll[name]
        except AttributeError:
            raise ImportError('%s has no function %s: it is no libinterp that fits this package' % (self._file, name)) from None
        function.restype, function.argtypes = prototype[0], prototype[1:]
        setattr(self, name, function)
        return function


def load(file: str) -> _ffi.Library:
    """The library in that file; ImportError when it can't be loaded or is older than these declarations."""
    try:
        library = _Loaded(file)
    except OSError as e:
        raise ImportError('the library of interp can not be loaded: %s. Install the wheel, or set INTERP_LIBRARY to the absolute path of '
                          'libinterp.so.0' % e) from None
    _check_version(file, library.interp_version_number(), (library.interp_version() or b'?').decode('ascii', 'replace'))
    return library


def _check_version(file: str, number: int, text: str) -> None:
    want = _ffi.VERSION_NUMBER
    if number < want or number >> 16 != want >> 16:
        raise ImportError('%s is libinterp %s; this package needs %d.%d.%d or newer of the same major version' % (
            file, text, want >> 16, want >> 8 & 255, want & 255))


lib = load(path())
