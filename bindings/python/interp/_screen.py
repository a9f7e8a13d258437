"""Screening and the audit trail: what a host is asked, what it is told."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_uint64, c_void_p

from . import _ffi, _text
from ._handle import Use
from ._library import lib
from .errors import ClosedError, NotFoundError, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Awaitable, Callable, Dict, Mapping, Optional, Sequence, Tuple, Union

    from ._context import Context

    # A record of the trail, as one line of JSON without its newline.
    AuditCallback = Callable[[str], None]
    # A path, a callback, or the options of interp_audit_open with "callback" among them.
    Audit = Union[str, 'os.PathLike[str]', AuditCallback, Mapping[str, Any]]


class Question:
    """What is to run: `language`, `kernel`, `code` (bytes in `data`), the session's number of the `exec`, and `actor`, `request_id`, `traceparent` as they
    were given."""

    def __init__(self, facts: Dict[str, Any]) -> None:
        self.exec: int = facts['exec']
        self.language: str = facts['language']
        self.kernel: str = facts['kernel']
        self.code: str = facts['code']
        self.actor: Optional[str] = facts.get('actor')
        self.request_id: Optional[str] = facts.get('request_id')
        self.traceparent: Optional[str] = facts.get('traceparent')
        self._base64: Optional[str] = facts.get('code_base64')

    @property
    def data(self) -> bytes:
        if self._base64 is None:
            return self.code.encode('utf-8')
        import base64
        return base64.b64decode(self._base64)

    def __repr__(self) -> str:
        return 'Question(exec=%d, language=%r, code=%r)' % (self.exec, self.language, self.code)


class Deny:
    """An answer: it does not run, and this is why, written for the model."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Rewrite:
    """An answer: this runs instead."""

    def __init__(self, code: _text.TextOrBytes) -> None:
        self.code = code


if TYPE_CHECKING:
    # None and True let it run.
    Answer = Union[None, bool, Deny, Rewrite]
    Screen = Callable[[Question], Answer]
    AsyncScreen = Callable[[Question], Union[Answer, Awaitable[Answer]]]


def question(event: c_void_p) -> Question:
    return Question(_text.parse(_text.sized(lib.interp_event_json, event)))


def reply(call: int, reply_id: int, answer: Any) -> None:
    """Gives the answer. An exec that has ended meanwhile needs none."""
    verdict, text = _ffi.OK, None
    if isinstance(answer, Rewrite):
        data = _text.data(answer.code, 'the code of a Rewrite')
        try:
            text = {'code': data.decode('utf-8')}
        except UnicodeDecodeError:
            import base64
            text = {'code_base64': base64.b64encode(data).decode('ascii')}
    elif isinstance(answer, Deny):
        verdict, text = _ffi.E_DENIED, {'reason': answer.reason}
    elif answer is False:
        verdict = _ffi.E_DENIED
    elif answer is not None and answer is not True:
        raise TypeError('the answer to a screening must be None, True, False, Deny or Rewrite, not %r' % (answer,))
    json, err = None if text is None else _text.unparse(text), c_void_p()
    try:
        check(lib.interp_call_reply(call, reply_id, verdict, json, len(json or b''), byref(err)), err)
    except (ClosedError, NotFoundError):
        pass


FAILED = Deny('Not run: the check of this code failed.')


def ask(screen: Optional[Screen], call: int, event: c_void_p) -> None:
    """Asks and answers. What the callable raises denies, and is raised."""
    number = int(lib.interp_event_reply_id(event))
    if screen is None:
        reply(call, number, Deny('Not run: nobody is there to decide about it.'))
        return
    try:
        answer = screen(question(event))
        reply(call, number, answer)
    except BaseException:
        reply(call, number, FAILED)
        raise


# ---- audit

def options(audit: Audit) -> Dict[str, Any]:
    """The options of a trail, without what is Python's."""
    if callable(audit):
        return {}
    if isinstance(audit, (str, bytes)) or hasattr(audit, '__fspath__'):
        import os
        return {'path': os.fsdecode(audit)}    # type: ignore[arg-type, unused-ignore]
    return {k: v for k, v in audit.items() if k != 'callback'}


def callback(audit: Audit) -> Optional[AuditCallback]:
    if callable(audit):
        return audit
    return None if isinstance(audit, (str, bytes)) or hasattr(audit, '__fspath__') else audit.get('callback')


def start(x: c_void_p, audit: Audit, key: Optional[bytes]) -> None:
    text, err = _text.unparse(options(audit)), c_void_p()
    check(lib.interp_audit_open(x, text, len(text), key, len(key or b''), byref(err)), err)


def head(x: int) -> Tuple[int, str, int]:
    seq, dropped, err = c_uint64(), c_uint64(), c_void_p()
    text = ctypes.create_string_buffer(65)
    check(lib.interp_audit_head(x, byref(seq), text, len(text), byref(dropped), byref(err)), err)
    return seq.value, text.value.decode('ascii'), dropped.value


def audit_verify(paths: 'Sequence[Union[str, os.PathLike[str]]]', *, key: Optional[bytes] = None, head: Optional[str] = None,
                 context: Optional[Context] = None) -> Dict[str, Any]:
    """Verifies the files of one audit trail, rotated ones too, in any order: {"ok": …, "records": …, "head": …, "problem": None or {"kind", "file", "line", "seq",
    "text"}}. `head` is a hash that was kept and must be one of the records."""
    import os

    from ._context import default_context
    owner = context or default_context()
    names = [os.fsencode(p) for p in paths]
    report, err = c_void_p(), c_void_p()
    with Use(owner._handle) as x:
        check(lib.interp_audit_verify(x, (ctypes.c_char_p * len(names))(*names), len(names), key, len(key or b''),
                                      None if head is None else _text.name(head, 'head'), byref(report), byref(err)), err)
    try:
        found: Dict[str, Any] = _text.parse(_text.sized(lib.interp_audit_report_json, report))
        return found
    finally:
        lib.interp_audit_report_free(report)
