"""Runs model-written code in a sandbox: Python, JavaScript, Bash and sh, with state kept from one exec to the next.

    import interp

    with interp.Session() as session:
        print(session.python('print("hello")\\n6 * 7'))

Blocking: `Session`, `Exec`, `Result`, `Cancel`, `gc`. For asyncio: `AsyncSession`, `AsyncExec`. What user code does is a `Result`; an exception
means that nothing ran."""
from __future__ import annotations

from . import _ffi, _text
from ._context import Cancel, Context, default_context
from ._event import Event
from ._exec import Exec
from ._files import FileInfo, Files, Reader
from ._library import lib as _lib
from ._library import path as _path
from ._result import Result
from ._screen import Deny, Question, Rewrite, audit_verify
from ._session import Session, gc
from .errors import (BackendError, BusyError, CallbackError, CancelledError, ClosedError, DeniedError, Error, ExecError, ExistsError, ForkedError, HostIOError,
                     ImageError, InterruptedCallError, InvalidError, IsolationError, LimitError, NoMemoryError, NotFoundError, ProtocolError, StatusError,
                     TimedOutError, UnsupportedError)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from ._aio import AsyncContext, AsyncExec, AsyncSession
    from ._aio_files import AsyncFiles, AsyncReader
    from ._details import Change, ChangeSet, ErrorInfo, Frame, Kernel, Late, Output, Part, Probe, Usage
    from ._spill import Match, Spill
    from ._typing import ConfigOptions, RequestOptions

__version__ = _text.words(_lib.interp_version())
# As a duration: no limit.
FOREVER = _ffi.FOREVER

__all__ = ['AsyncContext', 'AsyncExec', 'AsyncFiles', 'AsyncReader', 'AsyncSession', 'BackendError', 'BusyError', 'CallbackError', 'Cancel', 'CancelledError', 'Change', 'ChangeSet', 'ClosedError',
           'ConfigOptions', 'Context', 'DeniedError', 'Deny', 'Error', 'ErrorInfo', 'Event', 'Exec', 'ExecError', 'ExistsError', 'FOREVER', 'FileInfo', 'Files', 'ForkedError', 'Frame',
           'HostIOError', 'ImageError', 'InterruptedCallError', 'InvalidError', 'IsolationError', 'Kernel', 'Late', 'LimitError', 'Match', 'NoMemoryError', 'NotFoundError',
           'Output', 'Part', 'Probe', 'ProtocolError', 'Question', 'Reader', 'RequestOptions', 'Result', 'Rewrite', 'Session', 'Spill', 'StatusError', 'TimedOutError', 'UnsupportedError', 'Usage', 'audit_verify', 'default_context', 'gc', 'has',
           'library_path', 'options']


def has(feature: str) -> bool:
    """Whether the loaded library has a feature: "backend.local", "agent.x86_64", "option.memory_bytes", …"""
    return bool(_lib.interp_has(_text.name(feature, 'feature')))


def options() -> List[Dict[str, Any]]:
    """The registry of options of the loaded library, one dict each: `scope` ("config" for `Session`, "request" for `run`), `name`, `type` ("text", "number",
    "switch"), `default` (None where something else decides, as `doc` says; "forever" for no limit), `doc`, `since`, `trust`; numbers also have `min`, `max`, `forever`, `unit`."""
    found: List[Dict[str, Any]] = _text.parse(_text.sized(_lib.interp_options_json))
    return found


def library_path() -> str:
    """The file that the library was loaded from."""
    return _path()


# asyncio and typing are most of what an import would cost, and many programs need neither
_LATER = {'Change': '_details', 'ChangeSet': '_details', 'AsyncContext': '_aio', 'AsyncExec': '_aio', 'AsyncSession': '_aio', 'AsyncFiles': '_aio_files', 'AsyncReader': '_aio_files', 'ConfigOptions': '_typing', 'RequestOptions': '_typing',
          'ErrorInfo': '_details', 'Frame': '_details', 'Kernel': '_details', 'Late': '_details', 'Match': '_spill', 'Output': '_details', 'Part': '_details', 'Probe': '_details', 'Spill': '_spill', 'Usage': '_details'}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module
        return getattr(import_module('.' + _LATER[name], __name__), name)
    raise AttributeError('module %r has no attribute %r' % (__name__, name))
