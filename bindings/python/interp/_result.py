"""What an exec came to."""
from __future__ import annotations

from ctypes import byref, c_char_p, c_size_t, c_uint32, string_at

from . import _ffi, _text
from ._handle import release
from ._held import Shared
from ._library import lib
from .errors import ExecError

TYPE_CHECKING = False   # typing is a third of what an import would cost
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple, Union

    from ._details import ChangeSet, ErrorInfo, Late, Part, Usage
    from ._spill import Spill

    # One value in several forms: MIME type -> text, or bytes where the type is none of text.
    Bundle = Dict[str, Union[str, bytes]]

_STATES = {_ffi.STATE_PRESERVED: 'preserved', _ffi.STATE_RESTORED: 'restored', _ffi.STATE_RESET: 'reset', _ffi.STATE_GONE: 'gone'}
_STREAMS = {'stdout': _ffi.STREAM_STDOUT, 'stderr': _ffi.STREAM_STDERR}


def _known(value: int) -> Optional[int]:
    return None if value == _ffi.UNKNOWN else value


def _some(value: int) -> Optional[int]:
    return None if value == _ffi.NONE else value


def _is_text(mime: str) -> bool:
    return mime.startswith('text/') or mime.endswith('+json') or mime in ('image/svg+xml', 'application/json', 'application/javascript')


class Result(Shared):
    """What an exec came to: immutable, usable from any thread, valid when session and context have gone.

    `ok` is the test for success. `str(result)` is a text made for a model to read."""

    __slots__ = ('_pointer', '_facts', '__weakref__')

    _instead = 'take result.json()'

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer
        self._facts: Optional[Dict[str, Any]] = None

    def __del__(self, release: Any = release, free: Any = lib.interp_result_free) -> None:
        pointer = getattr(self, '_pointer', 0)
        if pointer:
            self._pointer = 0
            release(free, pointer)

    # -- how it ended

    @property
    def ok(self) -> bool:
        """Whether it succeeded: the outcome is "ok"."""
        return bool(lib.interp_result_ok(self._pointer))

    @property
    def outcome(self) -> str:
        """"ok", "error", "timeout", "cancelled", "oom", "limit", "crashed", "denied" or "lost"; treat any other as failure."""
        return _text.words(lib.interp_result_outcome_name(self._pointer))

    @property
    def cause(self) -> Optional[str]:
        """Why, as a word ("wall", "memory", "interpreter", …); None when the outcome says it all."""
        return _text.words(lib.interp_result_cause(self._pointer)) or None

    @property
    def state(self) -> str:
        """What is left of the interpreter: "preserved", "restored", "reset" (the next exec starts a fresh one, files are kept) or "gone" (open a new
        session)."""
        return _STATES.get(lib.interp_result_state(self._pointer), 'gone')

    @property
    def ran(self) -> Optional[bool]:
        """Whether user code may have run; None when nobody knows."""
        value = _some(lib.interp_result_ran(self._pointer))
        return None if value is None else bool(value)

    @property
    def interrupted(self) -> Optional[str]:
        """"wall", "cpu", "idle_output" or "cancel" when the code was sent a signal by us, whatever it made of it."""
        return _text.words(lib.interp_result_interrupted(self._pointer)) or None

    @property
    def exit_code(self) -> Optional[int]:
        return _some(lib.interp_result_exit_code(self._pointer))

    @property
    def signal(self) -> Optional[int]:
        """Number of the signal that ended the interpreter."""
        return _some(lib.interp_result_signal(self._pointer))

    @property
    def claimed_by(self) -> str:
        """Who vouches for outcome, exit code and state: "host", or "guest" when only the interpreter said so."""
        return _text.words(lib.interp_result_claimed_by(self._pointer))

    def check(self) -> 'Result':
        """The result itself when it is ok, else raises `ExecError`."""
        if not self.ok:
            raise ExecError(self)
        return self

    # -- output

    @property
    def stdout(self) -> str:
        """Standard output as text: all of it, or its start, one line that says how much is missing, and its end. Bytes that are no UTF-8 show as
        U+FFFD."""
        return self.stdout_bytes.decode('utf-8', 'replace')

    @property
    def stderr(self) -> str:
        """Standard error, as `stdout`."""
        return self.stderr_bytes.decode('utf-8', 'replace')

    @property
    def stdout_bytes(self) -> bytes:
        """`stdout` before it was decoded."""
        return _text.sized(lib.interp_result_text, self._pointer, _ffi.STREAM_STDOUT)

    @property
    def stderr_bytes(self) -> bytes:
        """`stderr` before it was decoded."""
        return _text.sized(lib.interp_result_text, self._pointer, _ffi.STREAM_STDERR)

    def head(self, stream: str = 'stdout') -> bytes:
        """The kept start of a stream."""
        return _text.sized(lib.interp_result_head, self._pointer, _STREAMS[stream])

    def tail(self, stream: str = 'stdout') -> bytes:
        """The kept end of a stream; empty unless it was truncated."""
        return _text.sized(lib.interp_result_tail, self._pointer, _STREAMS[stream])

    def total_bytes(self, stream: str = 'stdout') -> int:
        """All bytes that the stream had, kept or not."""
        return int(lib.interp_result_total_bytes(self._pointer, _STREAMS[stream]))

    def total_lines(self, stream: str = 'stdout') -> int:
        """All lines that the stream had."""
        return int(lib.interp_result_total_lines(self._pointer, _STREAMS[stream]))

    def truncated(self, stream: str = 'stdout') -> bool:
        """Whether bytes are missing between head and tail."""
        return bool(lib.interp_result_truncated(self._pointer, _STREAMS[stream]))

    @property
    def spill(self) -> Spill:
        """All of standard output, also what `stdout` leaves out: `spill.read(offset, n)`, `spill.grep(text)`, `spill.save(path)`, bytes by iterating."""
        return self.spill_of('stdout')

    def spill_of(self, stream: str) -> Spill:
        """The same of either stream."""
        from ._spill import Spill
        return Spill(self, stream)

    # -- value and displays

    @property
    def value(self) -> Optional[str]:
        """The value of the last expression, as its language shows it; None when there was none."""
        size = c_size_t()
        pointer = lib.interp_result_value(self._pointer, byref(size))
        return string_at(pointer, size.value).decode('utf-8', 'replace') if pointer else None

    @property
    def value_mime(self) -> Bundle:
        """The value in every form that it has, by MIME type."""
        return self._bundles()[0]

    @property
    def rich(self) -> List[Bundle]:
        """What the code displayed (plots, tables), without the value: one bundle of MIME types each."""
        return self._bundles()[1]

    @property
    def parts(self) -> List[Part]:
        """Every form of the value, then of each display: MIME type, data, and which of them it belongs to."""
        from ._details import Part
        value, rich = self._bundles()
        return [Part(mime, data, None) for mime, data in value.items()] + [Part(mime, data, i) for i, mimes in enumerate(rich) for mime, data in mimes.items()]

    @property
    def pictures(self) -> List[Part]:
        """The `parts` that are pictures: plots, images."""
        return [part for part in self.parts if part.is_picture]

    def _bundles(self) -> Tuple[Bundle, List[Bundle]]:
        found: Dict[int, Bundle] = {}
        mime, number, size = c_char_p(), c_uint32(), c_size_t()
        for i in range(lib.interp_result_part_count(self._pointer)):
            pointer = lib.interp_result_part(self._pointer, i, byref(mime), byref(number), byref(size))
            name, data = _text.words(mime.value), string_at(pointer, size.value) if pointer else b''
            found.setdefault(number.value, {}).setdefault(name, data.decode('utf-8', 'replace') if _is_text(name) else data)
        # bundle 0 is the value, when there is one: the JSON says whether there is
        value = found.pop(0, {}) if 0 in found and self.json()['value'] is not None else {}
        return value, [found[n] for n in sorted(found)]

    # -- the rest

    @property
    def error(self) -> Optional[ErrorInfo]:
        """The error of user code with its traceback; None when there was none."""
        from ._details import ErrorInfo, Frame
        e = self.json()['error']
        if e is None:
            return None
        frames = tuple(Frame(f.get('file') or '', f.get('line'), f.get('function'), f.get('source')) for f in e.get('frames') or [])
        return ErrorInfo(e.get('type') or '', e.get('message') or '', e.get('line'), e.get('column'), frames, e.get('traceback') or '', e.get('hint'))

    @property
    def hint(self) -> Optional[str]:
        """What to do about a failure, in words for a model; None when there is nothing to say."""
        return _text.words(_text.sized(lib.interp_result_hint, self._pointer)) or None

    @property
    def step(self) -> Optional[str]:
        """Which step of a one-shot language ended the exec: "compile" or "run"; None for other languages."""
        return _text.words(lib.interp_result_step(self._pointer)) or None

    @property
    def compile_output(self) -> str:
        """What the compiler of a one-shot language said."""
        return _text.words(_text.sized(lib.interp_result_compile_output, self._pointer))

    @property
    def usage(self) -> Usage:
        from ._details import Usage
        facts = self.json()['usage']
        return Usage(_known(lib.interp_result_wall_ns(self._pointer)), _known(lib.interp_result_cpu_ns(self._pointer)),
                     _known(lib.interp_result_memory_peak_bytes(self._pointer)), facts['oom_kills'] or 0, tuple(facts['limits_hit']))

    @property
    def files(self) -> Optional[ChangeSet]:
        """What the exec did to the files of the workspace, with `change_set=True`; None without."""
        from ._details import changes
        return changes(self.json()['files'])

    @property
    def late(self) -> List[Late]:
        """Late output; empty when the exec streamed, where it comes as events."""
        from base64 import b64decode

        from ._details import Late
        return [Late(item['stream'], item['exec'], b64decode(item['base64']) if item.get('base64') is not None else item['text'].encode('utf-8'))
                for item in self.json()['late']]

    @property
    def exec(self) -> int:
        """The session's number of this exec, from 1."""
        return int(self.json()['exec'])

    @property
    def language(self) -> str:
        return str(self.json()['language'])

    @property
    def kernel(self) -> str:
        return str(self.json()['kernel'])

    @property
    def session(self) -> str:
        """The id of the session."""
        return str(self.json()['session'])

    def json_text(self) -> str:
        """Everything as JSON."""
        return _text.sized(lib.interp_result_json, self._pointer).decode('utf-8')

    def json(self) -> Dict[str, Any]:
        """Everything as a dict, in the names that all faces of the library share. Do not change it."""
        if self._facts is None:
            self._facts = _text.parse(_text.sized(lib.interp_result_json, self._pointer))
        return self._facts

    @property
    def text(self) -> str:
        """A text for a model: what it wrote, the value, the error; and the outcome, where that is not "ok"."""
        parts = [self.stdout]
        for title, part in (('stderr', self.stderr), ('value', self.value)):
            if part:
                parts.append('[%s]\n%s' % (title, part))
        error = self.error
        if error:
            parts.append(error.traceback or '%s: %s' % (error.type, error.message))
        if self.hint:
            parts.append('[hint] ' + self.hint)
        shown = self.parts
        parts += ['[the value is a picture: %s]' % str(part) for part in shown if part.display is None and part.is_picture]
        for i, mimes in enumerate(self.rich):
            plain = mimes.get('text/plain')
            forms = ['picture: ' + str(part) if part.is_picture else part.mime for part in shown if part.display == i and part.mime != 'text/plain']
            parts.append('[display%s]%s' % (': ' + '; '.join(sorted(forms)) if forms else '', '\n' + plain if isinstance(plain, str) else ''))
        for bundle in [self.json()['value'] or {}] + self.json()['rich']:
            parts += ['[left out as too big: %s, %d bytes]' % (mime, size) for mime, size in bundle.get('dropped', ())]
        for late in self.late:
            parts.append('[late %s of exec %d]\n%s' % (late.stream, late.exec, late.data.decode('utf-8', 'replace')))
        if not self.ok:
            parts.append('[%s]' % ', '.join(self._verdict()))
        return '\n'.join(part[:-1] if part.endswith('\n') else part for part in parts if part)

    def _verdict(self) -> List[str]:
        words = [self.outcome]
        if self.cause:
            words.append('cause %s' % self.cause)
        if self.exit_code is not None:
            words.append('exit code %d' % self.exit_code)
        if self.signal is not None:
            words.append('signal %s' % (self.json()['signal'] or self.signal))
        return words + ['state %s' % self.state]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return '<interp.Result %s>' % ' '.join(self._verdict())

    def _repr_png_(self) -> Optional[bytes]:
        """For notebooks: the value as a PNG, or the last PNG that was displayed."""
        found = [part.data for part in self.parts if part.mime == 'image/png' and isinstance(part.data, bytes)]
        return (found[0] if self.value_mime.get('image/png') else found[-1]) if found else None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        """For notebooks: the value's forms, and those that it does not have from the displays, the last first, with the whole text as text/plain."""
        from base64 import b64encode
        bundle: Dict[str, Any] = {}
        value, rich = self._bundles()
        for forms in [value] + rich[::-1]:
            for mime, data in forms.items():
                if mime in bundle:
                    continue
                if mime == 'application/json' or mime.endswith('+json'):
                    try:
                        bundle[mime] = _text.parse(data)
                    except ValueError:
                        continue
                else:
                    bundle[mime] = data if isinstance(data, str) else b64encode(data).decode('ascii')
        bundle['text/plain'] = self.text
        return {m: d for m, d in bundle.items() if (not include or m in include) and not (exclude and m in exclude)}
