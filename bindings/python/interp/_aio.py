"""The asyncio face: every session of one event loop hangs on one descriptor. No thread, no callback from C; who is ready is asked for, and each
consumer pulls."""
from __future__ import annotations

import asyncio
import inspect
import threading
import warnings
from ctypes import byref, c_void_p
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Iterable, List, Mapping, Optional, Type, TypeVar

from . import _config, _event, _exec, _ffi, _screen, _text
from ._aio_files import AsyncFiles, Turn
from ._context import BaseContext, Cancel
from ._event import Event
from ._handle import Handle, Use
from ._held import Held
from ._library import lib
from ._redact import Redacts
from ._result import Result
from ._session import STATUS, kernels_of, probe_of, set_env
from .errors import BusyError, ClosedError, check

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._context import Log
    from ._details import Kernel, Output, Probe
    from ._redact import Rules
    from ._typing import ConfigOptions

T = TypeVar('T', bound='_Closing')


def _give_up(future: 'asyncio.Future[bool]') -> None:
    if not future.done():
        future.set_result(False)


class _Closing:
    """`async with` for what closes without waiting."""

    def close(self) -> None:
        raise NotImplementedError

    async def __aenter__(self: T) -> T:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()


class AsyncContext(_Closing, BaseContext):
    """A context that the running event loop drives. Sessions that are given none share one for each loop, which goes with the last of them.

    Make it in the loop's thread, while the loop runs, and close it there. What the `log` callback raises goes to the loop's exception handler."""

    def __init__(self, *, log: Optional[Log] = None, audit: Optional[_screen.Audit] = None, audit_key: Optional[bytes] = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        super().__init__(_ffi.CTX_LOOP, log, audit, audit_key)
        self._waiting: Dict[int, 'asyncio.Future[bool]'] = {}   # calls that somebody waits for
        self._broken: Optional[BaseException] = None
        self._users = 0
        self._implicit = False
        self._fd = int(lib.interp_ctx_fd(self._handle._pointer))
        self._loop.add_reader(self._fd, self._ready)

    def _ready(self) -> None:
        err = c_void_p()
        try:
            check(lib.interp_ctx_dispatch(self._handle._pointer, byref(err)), err)
        except BaseException as e:
            # the descriptor would stay readable and turn the loop hot
            self._broken = e
            self._detach()
            raise
        self._pump()
        self._reraise()

    def _pump(self) -> None:
        """Wakes who waits for a call that has news."""
        call = c_void_p()
        if self._handle.ended:
            return
        while lib.interp_ctx_next(self._handle._pointer, byref(call)) == _ffi.OK:
            future = self._waiting.get(call.value or 0)
            if future is not None and not future.done():
                future.set_result(True)

    async def _wait(self, call: int, timeout_ms: Optional[float] = None) -> bool:
        """Until there is news of the call, or the time is up (False). To be called right after interp_call_next has said AGAIN: a call is named
        once."""
        self._usable()
        if call in self._waiting:
            raise BusyError('another task waits for this call', 'task')
        future = self._waiting[call] = self._loop.create_future()
        timer = None if timeout_ms is None else self._loop.call_later(timeout_ms / 1e3, _give_up, future)
        try:
            self._pump()
            news: bool = await future
        finally:
            # the address may be that of another call by now
            freed = self._waiting.get(call) is not future
            if not freed:
                del self._waiting[call]
            if timer is not None:
                timer.cancel()
        if freed:
            raise ClosedError('closed while a task waited for it', 'closed')
        if not news:    # a call that has some tells it, also when the context has been closed since
            self._usable()
        return news

    def _free(self, call: int) -> None:
        """Frees a call that tasks can reach. One that waits for it is woken, and looks at it no more."""
        future = self._waiting.pop(call, None)
        if future is not None and not self._loop.is_closed():
            _give_up(future)
        lib.interp_call_free(call)

    def _usable(self) -> None:
        if self._broken is not None:
            raise self._broken
        if self._handle.ended:
            raise ClosedError('the context is closed', 'closed')

    def _detach(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0 and not self._loop.is_closed() and not self._handle.forked:
            self._loop.remove_reader(fd)
            self._pump()
            for future in self._waiting.values():   # nobody else will wake them
                _give_up(future)

    def _acquire(self) -> None:
        self._users += 1

    def _release(self) -> None:
        self._users -= 1
        if self._implicit and not self._users:
            if _implicit.get(id(self._loop)) is self:
                del _implicit[id(self._loop)]
            self.close()

    def _in_loop(self, action: Callable[[], None]) -> None:
        """Runs a clean-up where the context is driven: now, when this is that thread or nothing drives it any more. The garbage collector calls from
        anywhere."""
        if not self._handle.forked and threading.get_ident() != self._thread and self._loop.is_running():
            try:
                self._loop.call_soon_threadsafe(action)
                return
            except RuntimeError:
                pass    # closed just now
        action()

    def close(self) -> None:
        """Shuts its sessions down and lets go of it. Idempotent."""
        self._detach()
        self._handle.end(wait=False)

    def __del__(self) -> None:
        handle = getattr(self, '_handle', None)
        if handle is not None and not handle.ended:
            self._in_loop(_Ending(handle, before=_Detach(self._loop, getattr(self, '_fd', -1), handle)))


class _Detach:
    """Takes a context's descriptor from its loop, once the context's Python object is being collected: holds what that needs, not the object."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, handle: Handle) -> None:
        self.loop, self.fd, self.handle = loop, fd, handle

    def __call__(self) -> None:
        if self.fd >= 0 and not self.loop.is_closed() and not self.handle.forked:
            self.loop.remove_reader(self.fd)


class _Ending:
    """The end of a handle, to be called in the loop's thread."""

    def __init__(self, handle: Handle, before: Optional[Callable[[], None]] = None, after: Optional[Callable[[], None]] = None) -> None:
        self.handle, self.before, self.after = handle, before, after

    def __call__(self) -> None:
        if self.before:
            self.before()
        self.handle.end(wait=False)
        if self.after:
            self.after()


# Contexts of sessions that were given none, by the id of their loop (which they keep alive).
_implicit: Dict[int, AsyncContext] = {}


def _context_of_loop() -> AsyncContext:
    loop = asyncio.get_running_loop()
    context = _implicit.get(id(loop))
    if context is None or context._loop is not loop or context._handle.forked:
        context = AsyncContext()
        context._implicit = True
        _implicit[id(loop)] = context
    return context


async def _complete(context: AsyncContext, call: int) -> None:
    """Follows an operation that is no exec to its end; raises its error."""
    event, err = c_void_p(), c_void_p()
    while True:
        status = lib.interp_call_next(call, byref(event))
        if status == _ffi.AGAIN:
            await context._wait(call)
        elif status == _ffi.DONE:
            break
        else:
            check(status, err)
    check(lib.interp_call_finish(call, None, byref(err)), err)


class AsyncExec(Held, _Closing):
    """An exec that has been started. `async for` gives its events, the last of type "result"; `await` of it, or of `result()`, waits for the end.

    Pulling events is what lets streaming code go on. A task that is cancelled while it waits here cancels the exec; so does dropping an unfinished
    one.
    The session stays usable. One task at a time may wait here, a second one gets `BusyError`; when another closes it, the one that waits gets `ClosedError`."""

    _instead = 'wait for its result, and take result.json()'

    def __init__(self, session: 'AsyncSession', call: c_void_p, cancel: Optional[Cancel]) -> None:
        self._session, self._cancel = session, cancel
        self._handle = Handle(call, session._owner._free, 'exec')
        self._turn = Turn('exec')
        self._result: Optional[Result] = None
        self._ahead: Optional[Event] = None    # an event that `wait` has seen
        self._deciding: Optional['asyncio.Task[None]'] = None
        self._failed: Optional[BaseException] = None    # what the session's `screen` raised
        self._told = False

    @property
    def session(self) -> 'AsyncSession':
        return self._session

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._told:
            raise StopAsyncIteration
        with self._turn:
            event = await self._next()
        if event is not None:
            return event
        self._told = True
        return Event('result', result=self._result)

    async def _next(self) -> Optional[Event]:
        """The next event; None at the end, when the result is there."""
        try:
            while self._ahead is None and self._result is None:
                if self._pull() == _ffi.AGAIN:
                    await self._session._owner._wait(self._pointer())
        except BaseException:
            self.close()
            raise
        event, self._ahead = self._ahead, None
        if event is None:
            self.close()
        return event

    def _pull(self) -> int:
        """Takes what is there: an event, or the result."""
        pointer, err = c_void_p(), c_void_p()
        call = self._pointer()
        while self._ahead is None:
            status = lib.interp_call_next(call, byref(pointer))
            if status == _ffi.DONE:
                check(lib.interp_call_finish(call, byref(pointer), byref(err)), err)
                self._result = Result(pointer.value or 0)   # the call stays until it is handed out: its output may be read on
                if self._failed is not None:
                    failed, self._failed = self._failed, None
                    self.close()
                    raise failed
                return _ffi.DONE
            if check(status, err) == _ffi.AGAIN:
                return _ffi.AGAIN
            if lib.interp_event_type(pointer) == _ffi.EV_SCREEN:
                self._deciding = asyncio.ensure_future(self._decide(_screen.question(pointer), int(lib.interp_event_reply_id(pointer))))
            else:
                self._ahead = _event.from_c(pointer)
        return _ffi.OK

    async def _decide(self, question: _screen.Question, number: int) -> None:
        """Asks the session's `screen`, which may take its time, and gives the answer."""
        answer: Any = _screen.Deny('Not run: nobody is there to decide about it.')
        try:
            if self._session._screen is not None:
                answer = self._session._screen(question)
                if inspect.isawaitable(answer):
                    answer = await answer
            self._answer(number, answer)
        except BaseException as e:
            if self._result is None and not self._handle.ended:
                self._failed = e
                self._answer(number, _screen.FAILED)
            elif isinstance(e, Exception):     # nobody who waits for the exec is left to raise it to
                self._session._owner._loop.call_exception_handler({'message': 'the screen of an exec that had ended meanwhile has failed', 'exception': e})
            elif not isinstance(e, asyncio.CancelledError):
                raise

    def _answer(self, number: int, answer: Any) -> None:
        try:
            with Use(self._handle) as call:
                _screen.reply(call, number, answer)
        except ClosedError:
            pass    # nobody waits for it any more

    def _pointer(self) -> int:
        return self._handle.alive()

    async def result(self) -> Result:
        """Waits for the end and gives the result. Events that nobody took are dropped."""
        with self._turn:
            if self._result is None:
                _exec.let_go(self._pointer())
            while True:
                event = await self._next()
                if event is None and self._result is not None:
                    return self._result

    def __await__(self) -> Any:
        return self.result().__await__()

    async def wait(self, timeout_ms: float) -> bool:
        """Whether there is an event or the result within that time. Unlike a cancelled task, a time that is up ends nothing: come back later."""
        owner = self._session._owner
        end = owner._loop.time() + timeout_ms / 1e3
        with self._turn:
            while self._ahead is None and self._result is None and self._pull() == _ffi.AGAIN:
                if not await owner._wait(self._pointer(), max(0.0, (end - owner._loop.time()) * 1e3)):
                    return False
        return True

    def output(self, offset: int = 0, stream: str = 'stdout', limit: int = 65536) -> 'Output':
        """What it has written from that offset on, as far as it is there; as `Exec.output`. `wait` waits for more."""
        return _exec.output(self._pointer(), offset, stream, limit)

    def signal(self, number: int) -> None:
        """Sends a signal to the processes that it has started; SIGINT reaches the interpreter too, as Ctrl-C would."""
        _exec.send_signal(self._pointer(), number)

    def resize(self, rows: int, columns: int) -> None:
        """Changes the size of its terminal, if it was started with `pty=True`; programs hear of it by SIGWINCH."""
        _exec.resize(self._pointer(), rows, columns)

    def write(self, data: _text.TextOrBytes) -> int:
        """Feeds standard input of an exec that was started with `interactive=True`; as `Exec.write`: never waits, says how many bytes were taken."""
        return _exec.write(self._pointer(), _text.data(data, 'data'))

    def end_input(self) -> None:
        """Ends standard input once all that was written has been read: the code sees end of file. Twice is fine."""
        err = c_void_p()
        check(lib.interp_call_write_end(self._pointer(), byref(err)), err)

    def cancel(self) -> None:
        """Asks it to end; the result follows. A second time skips the rest of the grace time. Any thread, any signal handler."""
        if self._cancel is not None:
            self._cancel.fire()

    def close(self) -> None:
        """Lets go of it: an unfinished one is cancelled and its result dropped. Idempotent."""
        self._handle.end(wait=False)

    def __del__(self) -> None:
        handle = getattr(self, '_handle', None)
        if handle is not None and not handle.ended:
            self._session._owner._in_loop(_Ending(handle))


class AsyncSession(Held, Redacts):
    """One sandbox for the tasks of one event loop.

        async with AsyncSession() as s:
            print(await s.python('print(6 * 7)'))

    Takes what `Session` takes. Tasks may use it at the same time, each with a kernel of its own."""

    def __init__(self, *, context: Optional[AsyncContext] = None, env: Optional[_config.Env] = None, backend_options: Optional[Mapping[str, Any]] = None,
                 mounts: Optional[Iterable[_config.Mount]] = None, runtimes: Optional[Iterable[_config.PathLike]] = None,
                 interpreters: Optional[Mapping[str, _config.PathLike]] = None, redact: Optional[Rules] = None, cancel: Optional[Cancel] = None,
                 audit: Optional[_screen.Audit] = None, labels: Optional[Mapping[str, str]] = None, policy: Optional[Mapping[str, Any]] = None,
                 screen: Optional[_screen.AsyncScreen] = None,
                 **options: 'Unpack[ConfigOptions]') -> None:
        self._given = (env, backend_options, cancel, options, _config.HostFiles(mounts, runtimes, interpreters), redact,
                       _config.more(audit, labels, policy, screen))
        self._screen = screen
        self._context = context
        self._handle: Optional[Handle] = None
        self._opened = False
        self._closing: Optional[asyncio.Lock] = None
        _config.known(options)

    async def open(self) -> 'AsyncSession':
        """Makes the sandbox. A task that is cancelled meanwhile leaves nothing behind."""
        if self._opened:
            raise RuntimeError('the session has been opened already')
        self._opened = True
        given = self._context
        context = self._context = given or _context_of_loop()
        context._acquire()
        try:
            await self._open(context)
        except BaseException:
            if self._handle is None:
                self._opened, self._context = False, given
                context._release()
            raise
        return self

    async def _open(self, context: AsyncContext) -> None:
        pointer, call, err = c_void_p(), c_void_p(), c_void_p()
        env, backend_options, cancel, options, files, redact, more = self._given
        handle = Handle(pointer, lib.interp_session_close, 'session', lib.interp_session_shutdown)
        try:
            with Use(context._handle) as x:
                config = _config.new_config(x, env, backend_options, cancel, options, files, redact, more)
                try:
                    check(lib.interp_session_open_start(x, config, byref(pointer), byref(call), byref(err)), err)
                finally:
                    lib.interp_config_free(config)
                context._reraise()
                await _complete(context, call.value or 0)
        except BaseException:
            lib.interp_call_free(call)
            handle.end(wait=False)
            raise
        lib.interp_call_free(call)
        self._handle = handle

    @property
    def _owner(self) -> AsyncContext:
        assert self._context is not None
        return self._context

    _redact_of = 'session_'

    def _redact_handle(self) -> Handle:
        self._pointer()
        assert self._handle is not None
        return self._handle

    def _pointer(self) -> int:
        if self._handle is None:
            raise ClosedError('the session has not been opened', 'closed', 'Use `async with`, or await its open().')
        return self._handle.alive()

    # -- running code

    def start(self, language: str, code: _text.TextOrBytes, *, stream: bool = False, stdin: Optional[_text.TextOrBytes] = None,
              env: Optional[_config.Env] = None, options: Optional[Dict[str, Any]] = None, cancel: Optional[Cancel] = None, **request: 'Unpack[_config.StartOptions]') -> AsyncExec:
        """Starts code and returns at once; await what it returns."""
        s, owner = self._pointer(), self._owner
        call, err = c_void_p(), c_void_p()
        if cancel is None:
            cancel = Cancel(owner)
        with Use(owner._handle) as x:
            r = _config.new_request(x, language, code, stream, stdin, env, options, cancel, request)
        started = AsyncExec(self, call, cancel)
        try:
            check(lib.interp_session_exec_start(s, r, byref(call), byref(err)), err)
        except BaseException:
            started.close()
            raise
        finally:
            lib.interp_request_free(r)
        return started

    def stream(self, language: str, code: _text.TextOrBytes, *, stdin: Optional[_text.TextOrBytes] = None, env: Optional[_config.Env] = None,
               options: Optional[Dict[str, Any]] = None, cancel: Optional[Cancel] = None, **request: 'Unpack[_config.StartOptions]') -> AsyncExec:
        """Starts code and gives its events to `async for`: every byte of its output as it comes, then the result. Who does not pull holds the code
        up, as a pipe does."""
        return self.start(language, code, stream=True, stdin=stdin, env=env, options=options, cancel=cancel, **request)

    async def run(self, language: str, code: _text.TextOrBytes, *, stdin: Optional[_text.TextOrBytes] = None, env: Optional[_config.Env] = None,
                  options: Optional[Dict[str, Any]] = None, cancel: Optional[Cancel] = None, **request: 'Unpack[_config.StartOptions]') -> Result:
        """Runs code and waits for the result, whatever the code does; as `Session.run`. A task that is cancelled meanwhile cancels the exec."""
        return await self.start(language, code, stdin=stdin, env=env, options=options, cancel=cancel, **request).result()

    async def python(self, code: _text.TextOrBytes, **more: 'Unpack[_config.RunOptions]') -> Result:
        """`run('python', code, …)`"""
        return await self.run('python', code, **more)

    async def javascript(self, code: _text.TextOrBytes, **more: 'Unpack[_config.RunOptions]') -> Result:
        """`run('javascript', code, …)`"""
        return await self.run('javascript', code, **more)

    async def bash(self, code: _text.TextOrBytes, **more: 'Unpack[_config.RunOptions]') -> Result:
        """`run('bash', code, …)`"""
        return await self.run('bash', code, **more)

    async def sh(self, code: _text.TextOrBytes, **more: 'Unpack[_config.RunOptions]') -> Result:
        """`run('sh', code, …)`"""
        return await self.run('sh', code, **more)

    async def restart(self, language: str, kernel: str = 'default') -> None:
        """Ends an interpreter and all its processes; the next exec starts a fresh one. Files stay."""
        await self._operate(lib.interp_session_restart_start, _text.name(language, 'language'), _text.name(kernel, 'kernel'))

    async def delete_kernel(self, language: str, kernel: str = 'default') -> None:
        """Ends an interpreter as `restart` does, and forgets it: it makes room for another one, of at most 16."""
        await self._operate(lib.interp_session_kernel_delete_start, _text.name(language, 'language'), _text.name(kernel, 'kernel'))

    @property
    def kernels(self) -> 'List[Kernel]':
        """The interpreters that were started, the oldest first."""
        return kernels_of(self._pointer())

    def set_env(self, name: str, value: Optional[_text.TextOrBytes]) -> None:
        """Sets an environment variable from now on, or takes it away (None): interpreters that run have it with their next exec."""
        set_env(self._pointer(), name, value)

    async def probe(self) -> 'Probe':
        """What there is in the sandbox: languages, packages, programs, disk, limits. A dict; its str() is a text for a model's prompt. Cheap when nothing has changed."""
        await self._operate(lib.interp_session_probe_start)
        return probe_of(self._pointer())

    async def _operate(self, start: Any, *names: bytes) -> None:
        call, err = c_void_p(), c_void_p()
        check(start(self._pointer(), *names, byref(call), byref(err)), err)
        try:
            await _complete(self._owner, call.value or 0)
        finally:
            lib.interp_call_free(call)

    # -- the session itself

    @property
    def files(self) -> AsyncFiles:
        """Its files: `read`, `write`, `list`, `stat`, `mkdir`, `rename`, `remove` and more, to be awaited."""
        return AsyncFiles(self)

    @property
    def info(self) -> Dict[str, Any]:
        """Session id, backend, isolation and what was reached of what was asked for."""
        facts: Dict[str, Any] = _text.parse(_text.sized(lib.interp_session_info_json, self._pointer()) or b'{}')
        return facts

    @property
    def status(self) -> str:
        """"opening", "open", "shutdown" or "gone"."""
        if self._handle is None:
            return 'opening'
        return 'gone' if self._handle.ended or self._handle.forked else STATUS.get(lib.interp_session_status(self._pointer()), 'gone')

    def shutdown(self) -> None:
        """Kills the sandbox at once and ends what runs in it; `close` still frees it. Any thread; idempotent."""
        handle = self._handle
        if handle is None or handle.ended or handle.forked:
            return
        with Use(handle) as s:
            lib.interp_session_shutdown(s)

    async def close(self) -> None:
        """Ends the sandbox and waits until it is gone, `close_timeout_ms` at most. What other tasks run in it ends. Idempotent."""
        handle = self._handle
        if handle is None or handle.ended:
            return
        if handle.forked:
            handle.end(wait=False)
            return
        if self._closing is None:
            self._closing = asyncio.Lock()
        async with self._closing:   # whoever comes second waits for the first, and finds it done
            if not handle.ended:
                await self._close(handle)

    async def _close(self, handle: Handle) -> None:
        call, err = c_void_p(), c_void_p()
        try:
            with Use(handle) as s:
                check(lib.interp_session_close_start(s, byref(call), byref(err)), err)
                await _complete(self._owner, call.value or 0)
        finally:
            lib.interp_call_free(call)
            if not handle.ended:
                handle.end(wait=False)
                self._owner._release()

    async def __aenter__(self) -> 'AsyncSession':
        return await self.open()

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        handle: Optional[Handle] = getattr(self, '_handle', None)
        if handle is None or handle.ended:
            return
        owner = self._owner
        if not handle.forked:
            warn('an AsyncSession was not closed: use `async with`, or await its close()', ResourceWarning, source=self)
        owner._in_loop(_Ending(handle, after=owner._release))

