"""One exec in flight, and how the blocking face waits."""
from __future__ import annotations

import time
from _signal import SIG_BLOCK, SIG_SETMASK, SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, pthread_sigmask  # type: ignore[import-not-found, unused-ignore]
from ctypes import byref, c_size_t, c_uint64, c_void_p, create_string_buffer
from threading import current_thread, main_thread

from . import _event, _ffi, _screen, _text
from ._context import BaseContext, Cancel
from ._event import Event
from ._handle import Handle, Use
from ._held import Held
from ._library import lib
from ._result import Result
from .errors import ClosedError, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Iterator, Optional, Type

    from ._details import Output
    from ._session import Session
    from ._text import TextOrBytes

# How long one call into the library waits, in milliseconds. In the main thread a signal ends a wait at once, unless another thread's share of it was to hear it;
# and whoever ends an exec from another thread waits for this.
SLICE_MS = 250
# The first wait is so short that a signal may be missed meanwhile: what ends by then is spared the masks.
BRIEF_MS = 5
_SIGNALS = (SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2, SIGCHLD)


def _wait(call: int, timeout_ms: int, err: c_void_p) -> int:
    """interp_call_wait. A signal that comes between Python's last look and the sleep would be missed: it is blocked until the sleep has begun."""
    if current_thread() is not main_thread():
        return int(lib.interp_call_wait(call, timeout_ms, _ffi.WAIT_INTR, byref(err)))
    before = pthread_sigmask(SIG_BLOCK, ())
    try:
        pthread_sigmask(SIG_BLOCK, _SIGNALS)     # runs handlers that are due, which may raise
        return int(lib.interp_call_wait_masked(call, timeout_ms, _ffi.WAIT_INTR, sum([1 << (int(n) - 1) for n in before]), byref(err)))
    finally:
        try:
            pthread_sigmask(SIG_SETMASK, before)     # and here
        except BaseException:
            lib.interp_error_free(err)
            err.value = None
            raise


def wait(context: BaseContext, call: int, timeout_ms: Optional[float] = None) -> bool:
    """Until the call has an event or is done; False when the time is up. Signal handlers run meanwhile, and may raise."""
    err = c_void_p()
    end = None if timeout_ms is None else time.monotonic() + timeout_ms / 1e3
    most = BRIEF_MS
    while True:
        left = most
        if end is not None:
            left = max(0, min(most, int((end - time.monotonic()) * 1e3 + 0.999)))
        status = _wait(call, left, err) if most > BRIEF_MS else lib.interp_call_wait(call, left, _ffi.WAIT_INTR, byref(err))
        most = SLICE_MS
        if context._raised.first is not None:
            context._reraise()
        if status == _ffi.OK:
            return True
        if status == _ffi.E_INTR:
            lib.interp_error_free(err)
            err.value = None
        elif status != _ffi.AGAIN:
            check(status, err)
        if end is not None and time.monotonic() >= end:
            return False


def complete(context: BaseContext, call: int, on_event: Optional[Callable[[c_void_p], None]] = None) -> None:
    """Drives an operation that is no exec to its end; raises its error."""
    event, err = c_void_p(), c_void_p()
    while True:
        status = lib.interp_call_next(call, byref(event))
        if status == _ffi.OK:
            if on_event:
                on_event(event)
        elif status == _ffi.AGAIN:
            wait(context, call)
        elif status == _ffi.DONE:
            break
        else:
            check(status, err)
    check(lib.interp_call_finish(call, None, byref(err)), err)


def write(call: int, data: bytes) -> int:
    """interp_call_write: how many bytes were taken."""
    taken, err = c_size_t(), c_void_p()
    check(lib.interp_call_write(call, data, len(data), byref(taken), byref(err)), err)
    return int(taken.value)


def output(call: int, offset: int, stream: str, limit: int) -> Output:
    from ._details import Output
    number = {'stdout': _ffi.STREAM_STDOUT, 'stderr': _ffi.STREAM_STDERR}.get(stream)
    if number is None:
        raise ValueError('stream must be "stdout" or "stderr", not %r' % (stream,))
    size, at, err = c_size_t(), c_uint64(), c_void_p()
    space = create_string_buffer(max(1, min(_text.number(limit, 'limit'), 1 << 20)))
    status = check(lib.interp_call_output(call, number, _text.number(offset, 'offset'), space, len(space), byref(size), byref(at), byref(err)), err)
    return Output(space.raw[:size.value], at.value, at.value + size.value, status == _ffi.DONE)


def let_go(call: int) -> None:
    """Nobody reads held output any more: it must not stall the code."""
    err = c_void_p()
    check(lib.interp_call_output(call, _ffi.STREAM_STDOUT, _ffi.FOREVER, None, 0, None, None, byref(err)), err)


def send_signal(call: int, number: int) -> None:
    err = c_void_p()
    check(lib.interp_call_signal(call, _text.number(int(number), 'number'), byref(err)), err)


def resize(call: int, rows: int, columns: int) -> None:
    err = c_void_p()
    check(lib.interp_call_resize(call, _text.number(rows, 'rows'), _text.number(columns, 'columns'), byref(err)), err)


class _Inside:
    """A use of an exec: its call and its session are held."""

    __slots__ = ('exec', 'call', 'held', '_uses')

    def __init__(self, exec: 'Exec') -> None:
        self.exec = exec
        self._uses = Use(exec._handle), Use(exec._session._handle, child=True)

    def __enter__(self) -> '_Inside':
        self.call = self._uses[0].__enter__()
        try:
            self.held = self._uses[1].__enter__()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            self._uses[1].__exit__()
        finally:
            self._uses[0].__exit__()

    def wait(self, timeout_ms: Optional[float]) -> bool:
        if not self.held:
            return True     # its session is gone and has ended it: what is left is to be read
        return wait(self.exec._session._context, self.call, timeout_ms)

    def next(self, wait: bool = True) -> Optional[Event]:
        """The next event; None when there are no more, or none yet and it is not to wait."""
        pointer, err = c_void_p(), c_void_p()
        while True:
            status = check(lib.interp_call_next(self.call, byref(pointer)), err)
            if status == _ffi.OK:
                if lib.interp_event_type(pointer) == _ffi.EV_SCREEN:
                    _screen.ask(self.exec._session._screen, self.call, pointer)
                    continue
                event = _event.from_c(pointer)
                if event is not None:
                    return event
            elif status == _ffi.AGAIN and self.held and wait:
                self.wait(None)
            else:
                return None

    def finished(self) -> bool:
        """Whether the result is there, which it takes."""
        if self.exec._result is None:
            out, err = c_void_p(), c_void_p()
            if check(lib.interp_call_finish(self.call, byref(out), byref(err)), err) == _ffi.AGAIN:
                return False
            self.exec._result = Result(out.value or 0)
        return True

    def finish(self) -> Result:
        while not self.finished():
            if not self.held:
                raise ClosedError('the session is closed', 'closed')
            self.wait(None)
        assert self.exec._result is not None
        return self.exec._result


class Exec(Held):
    """An exec that has been started. Iterate it for its events; the last one has type "result".

    Not asking for events stalls the code once its pipe is full, if it was started to stream. Dropping an unfinished one cancels it; the session
    stays usable."""

    _instead = 'wait for its result, and take result.json()'

    def __init__(self, session: 'Session', call: c_void_p, cancel: Optional[Cancel]) -> None:
        self._session, self._cancel = session, cancel
        self._handle = Handle(call, lib.interp_call_free, 'exec', None if cancel is None else lambda _: cancel.fire(), session._handle)
        self._result: Optional[Result] = None
        self._told = False

    @property
    def session(self) -> 'Session':
        return self._session

    def wait(self, timeout_ms: Optional[float] = None) -> bool:
        """Waits until there is an event, or, where it does not stream, the result. False when the time is up: nothing is ended by that, come back
        later."""
        if self._result is not None:
            return True
        with _Inside(self) as inside:
            return inside.wait(timeout_ms)

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        if self._told:
            raise StopIteration
        with _Inside(self) as inside:
            event = inside.next()
            if event is not None:
                return event
            result = inside.finish()
        self._told = True
        self.close()
        return Event('result', result=result)

    def result(self) -> Result:
        """Waits for the end and gives the result. Events that nobody took are dropped."""
        if self._result is not None:
            return self._result
        with _Inside(self) as inside:
            let_go(inside.call)
            while inside.next() is not None:
                pass
            result = inside.finish()
        self._told = True
        self.close()
        return result

    def _ended(self) -> bool:
        """Whether `result` would give it at once; never waits. Drops the events that there are."""
        if self._result is not None:
            return True
        with _Inside(self) as inside:
            while inside.wait(0):
                if inside.next(wait=False) is None:
                    return inside.finished()
        return False

    def output(self, offset: int = 0, stream: str = 'stdout', limit: int = 65536) -> Output:
        """What it has written from that offset on, as far as it is there, without waiting: `limit` bytes at most. Ask on at `next`, until `ended`; between, come
        back when you like, or `wait`. Started with `hold_output=True` nothing is lost meanwhile (the code stalls when much is unread); without, what a result keeps can
        be read, and `offset` of the answer tells of a gap. To be read before `result` is asked for."""
        with _Inside(self) as inside:
            return output(inside.call, offset, stream, limit)

    def signal(self, number: int) -> None:
        """Sends a signal to the processes that it has started; SIGINT reaches the interpreter too, as Ctrl-C would."""
        with _Inside(self) as inside:
            send_signal(inside.call, number)

    def resize(self, rows: int, columns: int) -> None:
        """Changes the size of its terminal, if it was started with `pty=True`; programs hear of it by SIGWINCH."""
        with _Inside(self) as inside:
            resize(inside.call, rows, columns)

    def write(self, data: TextOrBytes) -> int:
        """Feeds standard input of an exec that was started with `interactive=True`. Never blocks: says how many bytes were taken; when that is less
        than all, an event
        of type "writable" says that there is room again. What is given before the interpreter is ready waits."""
        raw = _text.data(data, 'data')
        with _Inside(self) as inside:
            return write(inside.call, raw)

    def end_input(self) -> None:
        """Ends standard input once all that was written has been read: the code sees end of file. Twice is fine."""
        err = c_void_p()
        with _Inside(self) as inside:
            check(lib.interp_call_write_end(inside.call, byref(err)), err)

    def cancel(self) -> None:
        """Asks it to end; the result follows. A second time skips the rest of the grace time. Any thread, any signal handler. Fires the cancel
        object that it was started with."""
        if self._cancel is not None:
            self._cancel.fire()

    def close(self) -> None:
        """Lets go of it: an unfinished one is cancelled and its result dropped. Idempotent."""
        self._handle.end(wait=False)

    def __enter__(self) -> 'Exec':
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        handle = getattr(self, '_handle', None)
        if handle is not None:
            handle.end(wait=False)


def run(context: BaseContext, call: int, screen: Optional[_screen.Screen] = None) -> Result:
    """The short way of an exec without events that nobody else can see: wait, finish."""
    out, err = c_void_p(), c_void_p()
    while True:
        wait(context, call)
        if check(lib.interp_call_finish(call, byref(out), byref(err)), err) != _ffi.AGAIN:
            return Result(out.value or 0)
        while lib.interp_call_next(call, byref(out)) == _ffi.OK:
            if lib.interp_event_type(out) == _ffi.EV_SCREEN:
                _screen.ask(screen, call, out)
        out.value = None
