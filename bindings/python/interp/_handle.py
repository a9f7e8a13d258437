"""A C object that threads use and one of them ends: it is freed once, and only when nobody is inside.

The library's functions that free are exclusive, like free(3). Python has more ways to meet them than C: another thread, a signal handler that runs in
the middle of a call of the same thread, the garbage collector in any thread, a forked child. All of them come through here."""
from __future__ import annotations

import os
import threading
from _thread import get_ident

from .errors import ClosedError, ForkedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Optional, Tuple

_forks = 0                                            # how often this process has been forked off since the import
_callback = threading.local()                         # .depth: inside a callback of the library
_put_off: List[Tuple[Callable[[int], Any], int]] = []  # frees that came inside a callback, where the library may not be called


def _in_child() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_in_child)


def forks() -> int:
    """Changes in a forked child."""
    return _forks


def in_callback(step: int) -> None:
    """Entering (1) or leaving (-1) a callback of the library on this thread."""
    _callback.depth = getattr(_callback, 'depth', 0) + step


def release(free: Callable[[int], Any], pointer: int) -> None:
    """Frees, now or as soon as this thread has left the callback that it is in."""
    if getattr(_callback, 'depth', 0):
        _put_off.append((free, pointer))
        return
    while _put_off:
        try:
            earlier = _put_off.pop()
        except IndexError:
            break
        earlier[0](earlier[1])
    free(pointer)


class Handle:
    """One C object. `enter` gives its pointer and keeps it alive until `leave`; `end` frees it, after everybody has left."""

    __slots__ = ('_pointer', '_free', '_hurry', '_what', '_lock', '_inside', '_ending', '_claimed', '_gone', '_waiters', '_fork')

    def __init__(self, pointer: int, free: Callable[[int], Any], what: str, hurry: Optional[Callable[[int], Any]] = None) -> None:
        self._pointer, self._free, self._what, self._hurry = pointer, free, what, hurry
        self._lock = threading.RLock()    # re-entrant: a signal handler may close what it interrupted
        self._inside: List[int] = []
        self._ending = False     # no new users
        self._claimed = False    # somebody is about to free it, nobody else may
        self._gone = False
        self._waiters: List[threading.Event] = []
        self._fork = _forks

    @property
    def ended(self) -> bool:
        return self._ending

    @property
    def forked(self) -> bool:
        return self._fork != _forks

    def enter(self) -> int:
        if self._fork != _forks:
            raise ForkedError('the %s belongs to the parent process' % self._what, 'forked', 'Open one in this process.')
        with self._lock:
            if self._ending:
                raise ClosedError('the %s is closed' % self._what, 'closed')
            self._inside.append(get_ident())
        return self._pointer

    def hold(self) -> int:
        """As `enter`, for what must still be done with a child of it: works until it is being freed, then waits until it is gone and gives 0 (and
        needs no `leave`)."""
        if self._fork != _forks:
            return 0
        with self._lock:
            if not self._claimed:
                self._inside.append(get_ident())
                return self._pointer
            event = self._waiter()
        if event:
            event.wait()
        return 0

    def leave(self) -> None:
        if self._fork != _forks:
            return
        with self._lock:
            self._inside.remove(get_ident())
            last = self._claim()
        if last:
            self._finish()

    def end(self, wait: bool = True) -> bool:
        """Frees it, or has the last one inside do that. Whoever is inside is hurried; unless this thread itself is inside, or `wait` is false, it is
        waited for.
        True when it is gone."""
        if self._fork != _forks:
            # no lock: the thread that held it at the fork is not here
            if not self._gone:
                self._ending = self._claimed = True
                self._finish()
            return True
        event = None
        with self._lock:
            first, self._ending = not self._ending, True
            mine = self._claim()
            if not mine:
                if self._gone:
                    return True
                if first and self._hurry:
                    self._hurry(self._pointer)    # under the lock, so that nobody frees it meanwhile; never blocks
                if wait and get_ident() not in self._inside:
                    event = self._waiter()
        if mine:
            self._finish()
            return True
        if event:
            event.wait()
            return True
        return False

    def _claim(self) -> bool:
        if not self._ending or self._inside or self._claimed:
            return False
        self._claimed = True
        return True

    def _waiter(self) -> Optional[threading.Event]:
        if self._gone:
            return None
        event = threading.Event()
        self._waiters.append(event)
        return event

    def _finish(self) -> None:
        try:
            release(self._free, self._pointer)
        finally:
            self._gone = True
            for event in self._waiters:
                event.set()
