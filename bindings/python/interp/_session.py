"""Sessions of the blocking face."""
from __future__ import annotations

import atexit
import time
import warnings
import weakref
from ctypes import byref, c_void_p

from . import _config, _event, _exec, _ffi, _screen, _text
from ._context import Cancel, Context, default_context
from ._exec import Exec
from ._files import Files
from ._handle import Handle, Use
from ._held import Held
from ._library import lib
from ._redact import Redacts
from ._result import Result
from .errors import ClosedError, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Type

    from typing_extensions import Unpack

    from ._details import Kernel, Probe
    from ._redact import Rules
    from ._typing import ConfigOptions

STATUS = {_ffi.SESSION_OPENING: 'opening', _ffi.SESSION_OPEN: 'open', _ffi.SESSION_SHUTDOWN: 'shutdown', _ffi.SESSION_GONE: 'gone'}


def kernels_of(s: int) -> 'List[Kernel]':
    from ._details import Kernel
    return [Kernel(k['language'], k['kernel'], k['state'], k['exec'], k['version'], k['path']) for k in _text.parse(_text.sized(lib.interp_session_kernels_json, s))]


def probe_of(s: int) -> 'Probe':
    from ._details import Probe
    found = Probe(_text.parse(_text.sized(lib.interp_session_probe_json, s)))
    found.text = _text.sized(lib.interp_session_probe_text, s).decode('utf-8', 'replace')
    return found


def set_env(s: int, name: str, value: Optional[_text.TextOrBytes]) -> None:
    err, c_name = c_void_p(), _text.name(name, 'name')
    if value is None:
        check(lib.interp_session_unset_env(s, c_name, byref(err)), err)
    else:
        raw = _text.data(value, 'value')
        check(lib.interp_session_set_env(s, c_name, raw, len(raw), byref(err)), err)


class Session(Held, Redacts):
    """One sandbox, open until it is closed: variables, functions and files stay from one exec to the next.

        with Session(memory_bytes=256 << 20) as s:
            print(s.python('print(6 * 7)'))

    Options go by name; README.md lists them and `help(interp.ConfigOptions)` names them. Beside them: `env` for all interpreters, `backend_options`
    ({"docker.certs": "/dir"}) for what only one backend knows, `cancel` to end the opening, `context` instead of the default one.

    `mounts` are directories and files of this machine to show inside: (source, target, mode), read-only unless the mode is "rw". `interpreters` names the
    interpreter of a language, as {"python": "/home/me/venv/bin/python"}; what it needs appears at the same path, read-only. `runtimes` are more directories of software.

    `redact` is what must not leave this session, beside what its context has: {"values": {name: value}, "patterns": {name: regex}, "detectors": ...}; detectors are
    True (those on at first), False, [names] or {name: True or False}.

    `policy` are rules for code ({"imports": {"deny": ["os"]}, "commands": {…}, "paths": {…}, "languages": […]}); `screen` is asked before
    each exec, with a `Question`: None or True lets it run, False or `Deny(reason)` does not, `Rewrite(code)` runs other code. It is called by whoever waits for the exec.
    `audit` (a path, or options) starts the context's audit trail, `labels` stand on this session's records.

    One thread at a time may use it; a second one gets `BusyError`. `shutdown`, `close`, `Exec.cancel` and `Cancel.fire` are for any thread."""

    def __init__(self, *, context: Optional[Context] = None, env: Optional[_config.Env] = None, backend_options: Optional[Mapping[str, Any]] = None,
                 mounts: Optional[Iterable[_config.Mount]] = None, runtimes: Optional[Iterable[_config.PathLike]] = None,
                 interpreters: Optional[Mapping[str, _config.PathLike]] = None, redact: Optional[Rules] = None, cancel: Optional[Cancel] = None,
                 audit: Optional[_screen.Audit] = None, labels: Optional[Mapping[str, str]] = None, policy: Optional[Mapping[str, Any]] = None,
                 screen: Optional[_screen.Screen] = None,
                 **options: 'Unpack[ConfigOptions]') -> None:
        self._context = context or default_context()
        self._screen = screen
        pointer, call, err = c_void_p(), c_void_p(), c_void_p()
        self._handle = Handle(pointer, lib.interp_session_close, 'session', lib.interp_session_shutdown)
        try:
            with Use(self._context._handle) as x:
                config = _config.new_config(x, env, backend_options, cancel, options, _config.HostFiles(mounts, runtimes, interpreters), redact,
                                            _config.more(audit, labels, policy, screen))
                try:
                    check(lib.interp_session_open_start(x, config, byref(pointer), byref(call), byref(err)), err)
                    _exec.complete(self._context, call.value or 0)
                    self._context._reraise()
                finally:
                    lib.interp_call_free(call)
                    lib.interp_config_free(config)
        except BaseException:
            self._handle.end()
            raise
        _open_sessions.add(self)

    _redact_of = 'session_'

    def _redact_handle(self) -> Handle:
        return self._handle

    # -- running code

    def run(self, language: str, code: _text.TextOrBytes, *, stdin: Optional[_text.TextOrBytes] = None, env: Optional[_config.Env] = None,
            options: Optional[Dict[str, Any]] = None, cancel: Optional[Cancel] = None, **request: 'Unpack[_config.StartOptions]') -> Result:
        """Runs code and waits for the result, whatever the code does.

        `stdin` is what it finds on its standard input (empty without), `env` holds for this exec only, `options` are the language's, `kernel=` names
        the interpreter (a new name starts another one), `timeout_ms=` and `grace_ms=` override the session's. Ctrl-C ends the exec and raises
        KeyboardInterrupt; the session stays usable."""
        call = c_void_p()
        with Use(self._handle) as s:
            try:
                self._start(s, call, language, code, False, stdin, env, options, cancel, request)
                return _exec.run(self._context, call.value or 0, self._screen)
            finally:
                lib.interp_call_free(call)

    def start(self, language: str, code: _text.TextOrBytes, *, stream: bool = False, stdin: Optional[_text.TextOrBytes] = None,
              env: Optional[_config.Env] = None, options: Optional[Dict[str, Any]] = None, cancel: Optional[Cancel] = None, **request: 'Unpack[_config.StartOptions]') -> Exec:
        """Starts code and returns at once; `Exec.result` waits. Several may run at a time, each in a kernel of its own."""
        call = c_void_p()
        if cancel is None:
            cancel = Cancel(self._context)
        started = Exec(self, call, cancel)
        try:
            with Use(self._handle) as s:
                self._start(s, call, language, code, stream, stdin, env, options, cancel, request)
        except BaseException:
            started.close()
            raise
        return started

    def stream(self, language: str, code: _text.TextOrBytes, *, stdin: Optional[_text.TextOrBytes] = None, env: Optional[_config.Env] = None,
               options: Optional[Dict[str, Any]] = None, cancel: Optional[Cancel] = None, **request: 'Unpack[_config.StartOptions]') -> Exec:
        """Starts code and gives its events to iterate: every byte of its output as it comes, then the result. Who does not iterate holds the code
        up, as a pipe does."""
        return self.start(language, code, stream=True, stdin=stdin, env=env, options=options, cancel=cancel, **request)

    def _start(self, s: int, call: c_void_p, language: str, code: _text.TextOrBytes, stream: bool, stdin: Optional[_text.TextOrBytes],
               env: Optional[_config.Env], options: Optional[Dict[str, Any]], cancel: Optional[Cancel], request: Mapping[str, Any]) -> None:
        err = c_void_p()
        with Use(self._context._handle) as x:
            r = _config.new_request(x, language, code, stream, stdin, env, options, cancel, request)
        try:
            check(lib.interp_session_exec_start(s, r, byref(call), byref(err)), err)
        finally:
            lib.interp_request_free(r)

    def python(self, code: _text.TextOrBytes, **more: 'Unpack[_config.RunOptions]') -> Result:
        """`run('python', code, …)`"""
        return self.run('python', code, **more)

    def javascript(self, code: _text.TextOrBytes, **more: 'Unpack[_config.RunOptions]') -> Result:
        """`run('javascript', code, …)`"""
        return self.run('javascript', code, **more)

    def bash(self, code: _text.TextOrBytes, **more: 'Unpack[_config.RunOptions]') -> Result:
        """`run('bash', code, …)`"""
        return self.run('bash', code, **more)

    def sh(self, code: _text.TextOrBytes, **more: 'Unpack[_config.RunOptions]') -> Result:
        """`run('sh', code, …)`"""
        return self.run('sh', code, **more)

    def restart(self, language: str, kernel: str = 'default') -> None:
        """Ends an interpreter and all its processes; the next exec starts a fresh one. Files stay."""
        self._operate(lib.interp_session_restart_start, _text.name(language, 'language'), _text.name(kernel, 'kernel'))

    def delete_kernel(self, language: str, kernel: str = 'default') -> None:
        """Ends an interpreter as `restart` does, and forgets it: it makes room for another one, of at most 16."""
        self._operate(lib.interp_session_kernel_delete_start, _text.name(language, 'language'), _text.name(kernel, 'kernel'))

    @property
    def kernels(self) -> 'List[Kernel]':
        """The interpreters that were started, the oldest first."""
        with Use(self._handle) as s:
            return kernels_of(s)

    def set_env(self, name: str, value: Optional[_text.TextOrBytes]) -> None:
        """Sets an environment variable from now on, or takes it away (None): interpreters that run have it with their next exec."""
        with Use(self._handle) as s:
            set_env(s, name, value)

    def probe(self) -> 'Probe':
        """What there is in the sandbox: languages, packages, programs, disk, limits. A dict; its str() is a text for a model's prompt. Cheap when nothing has changed."""
        self._operate(lib.interp_session_probe_start)
        with Use(self._handle) as s:
            return probe_of(s)

    def _operate(self, start: Any, *names: bytes) -> None:
        call, err = c_void_p(), c_void_p()
        with Use(self._handle) as s:
            try:
                check(start(s, *names, byref(call), byref(err)), err)
                _exec.complete(self._context, call.value or 0)
            finally:
                lib.interp_call_free(call)

    # -- the session itself

    @property
    def files(self) -> Files:
        """Its files: `read`, `write`, `list`, `stat`, `mkdir`, `rename`, `remove` and more."""
        return Files(self)

    @property
    def info(self) -> Dict[str, Any]:
        """Session id, backend, isolation and what was reached of what was asked for."""
        with Use(self._handle) as s:
            facts: Dict[str, Any] = _text.parse(_text.sized(lib.interp_session_info_json, s) or b'{}')
            return facts

    @property
    def status(self) -> str:
        """"opening", "open", "shutdown" or "gone"."""
        if self._handle.ended or self._handle.forked:
            return 'gone'
        with Use(self._handle) as s:
            return STATUS.get(lib.interp_session_status(s), 'gone')

    def shutdown(self) -> None:
        """Kills the sandbox at once and ends what runs in it; `close` still frees it. Any thread; idempotent."""
        if self._handle.ended or self._handle.forked:
            return
        with Use(self._handle) as s:
            lib.interp_session_shutdown(s)

    def close(self) -> None:
        """Ends the sandbox and waits until it is gone, `close_timeout_ms` at most. What another thread runs in it ends. Idempotent."""
        self._handle.end()
        self._context._reraise()

    def __enter__(self) -> 'Session':
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        handle: Optional[Handle] = getattr(self, '_handle', None)
        if handle is None or handle.ended:
            return
        if not handle.forked:
            warn('a Session was not closed: use `with`, or its close()', ResourceWarning, source=self)
        handle.end(wait=False)


_open_sessions: 'weakref.WeakSet[Session]' = weakref.WeakSet()


def _at_exit() -> None:
    """Ends the sandboxes of a program that did not, all at a time; whoever is still inside one, a daemon thread say, has a moment to leave."""
    left = [s._handle for s in _open_sessions if not s._handle.ended]
    for s in list(_open_sessions):
        try:
            s.shutdown()
        except ClosedError:
            pass    # another thread was faster
    end = time.monotonic() + 5
    while left and time.monotonic() < end:
        left = [handle for handle in left if not handle.end(wait=False)]
        if left:
            time.sleep(0.01)


atexit.register(_at_exit)


def gc(*, context: Optional[Context] = None, backend_options: Optional[Mapping[str, Any]] = None, cancel: Optional[Cancel] = None,
       **options: 'Unpack[ConfigOptions]') -> int:
    """Removes what sandboxes of dead programs left with a container engine (`backend='docker'`), and nothing whose owner may live. How many things
    it removed."""
    owner = context or default_context()
    removed = []

    def note(event: c_void_p) -> None:
        if 'removed' in (_event.progress(event) or {}):
            removed.append(1)

    call, err = c_void_p(), c_void_p()
    with Use(owner._handle) as x:
        config = _config.new_config(x, None, backend_options, cancel, options)
        try:
            check(lib.interp_ctx_gc_start(x, config, byref(call), byref(err)), err)
            _exec.complete(owner, call.value or 0, note)
        finally:
            lib.interp_call_free(call)
            lib.interp_config_free(config)
    return len(removed)
