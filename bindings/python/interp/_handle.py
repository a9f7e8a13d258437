"""A C object that threads use and one of them ends: it is freed once, and only when nobody is inside.

The library's functions that free are exclusive, like free(3). Python has more ways to meet them than C: another thread, a signal handler that runs in
the middle of a call of the same thread, the garbage collector in any thread, a forked child. All of them come through here."""
from __future__ import annotations

import os
import threading
from _thread import get_ident
from ctypes import c_void_p
from weakref import ref

from ._held import Held
from .errors import ClosedError, ForkedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple, Union

_forks = 0                                            # how often this process has been forked off since the import
_callback = threading.local()                         # .depth: inside a callback of the library
_put_off: List[Tuple[Callable[[Any], Any], Any]] = []  # frees that came inside a callback, where the library may not be called


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
    flush()
    free(pointer)


def flush() -> None:
    """Does what was put off."""
    while _put_off:
        try:
            earlier = _put_off.pop()
        except IndexError:
            break
        earlier[0](earlier[1])


class Use:
    """A use of a handle, for `with`: gives the pointer and keeps it alive. A signal handler may throw anywhere, also between the lines of a `with`: what was not given
    back then ends when this is collected. (No __del__ for that: what is thrown in one is lost.)

    With `child`, for what must still be done with a child of the handle: works until it is being freed, then waits until it is gone and gives 0."""

    __slots__ = ('_handle', '_child', '__weakref__')

    def __init__(self, handle: 'Handle', child: bool = False) -> None:
        self._handle, self._child = handle, child

    def __enter__(self) -> int:
        return self._handle._enter(self)

    def __exit__(self, *_: Any) -> None:
        self._handle._leave(self)


class Handle(Held):
    """One C object. `Use` gives its pointer; `end` frees it, after everybody has left.

    It owns what is in its `box` from the start, also when C fills that later: nothing can be thrown between a C function that makes an object and the one who
    frees it."""

    __slots__ = ('box', '_free', '_parent', '_hurry', '_what', '_lock', '_uses', '_ending', '_claimer', '_gone', '_waiters', '_fork')

    def __init__(self, pointer: Union[int, c_void_p], free: Callable[[int], Any], what: str, hurry: Optional[Callable[[int], Any]] = None,
                 parent: Optional['Handle'] = None) -> None:
        self.box = pointer if isinstance(pointer, c_void_p) else c_void_p(pointer)
        self._free, self._what, self._hurry = free, what, hurry
        self._parent = parent             # it is freed from inside that, or after it has gone
        self._lock = threading.RLock()    # re-entrant: a signal handler may close what it interrupted
        self._uses: Dict[int, Tuple[int, ref[Use]]] = {}   # who is inside: id of a use -> its thread, and whether it lives
        self._ending = False     # no new users
        self._claimer = 0        # the thread that frees it, no other may
        self._gone = False
        self._waiters: List[threading.Event] = []
        self._fork = _forks

    @property
    def _pointer(self) -> int:
        return self.box.value or 0

    @property
    def ended(self) -> bool:
        return self._ending

    @property
    def forked(self) -> bool:
        return self._fork != _forks

    def alive(self) -> int:
        """The pointer, for who needs no `Use`: the one thread of an event loop."""
        if self._fork != _forks:
            raise ForkedError('the %s belongs to the parent process' % self._what, 'forked', 'Open one in this process.')
        if self._ending:
            raise ClosedError('the %s is closed' % self._what, 'closed')
        return self.box.value or 0

    def _enter(self, use: Use) -> int:
        if self._fork != _forks:
            if use._child:
                return 0
            self.alive()
        me, event = get_ident(), None
        with self._lock:
            if not (self._claimer if use._child else self._ending):
                self._uses[id(use)] = me, ref(use)
                return self.box.value or 0
            if not use._child:
                self.alive()
            event = self._waiter()
        if event:
            self._await(event)
        return 0

    def _leave(self, use: Use) -> None:
        if self._fork == _forks:
            with self._lock:
                self._uses.pop(id(use), None)
                mine = self._ending and self._claim()
            if mine:
                self._finish()

    def end(self, wait: bool = True) -> bool:
        """Frees it, or has the last one inside do that. Whoever is inside is hurried; unless this thread itself is inside, or `wait` is false, it is
        waited for.
        True when it is gone."""
        if self._fork != _forks:
            # no lock: the thread that held it at the fork is not here
            self._ending = True
            if not self._gone:
                self._free_once()
            return True
        event = None
        with self._lock:
            first, self._ending = not self._ending, True
            mine = self._claim()
            if not mine:
                if self._gone:
                    return True
                if first and self._hurry and not self._claimer:
                    self._hurry(self._pointer)    # under the lock, so that nobody frees it meanwhile; never blocks
                me = get_ident()
                if wait and me != self._claimer and all(thread != me for thread, _ in self._uses.copy().values()):
                    event = self._waiter()
        if mine:
            self._finish()
            return True
        if event:
            self._await(event)
            return True
        return False

    def _await(self, event: threading.Event) -> None:
        """Until it is gone. Who was thrown out without leaving does not say so: looks for itself."""
        while not event.wait(0.25):
            with self._lock:
                mine = self._claim()
            if mine:
                self._finish()

    def _claim(self) -> bool:
        """Whether this thread is to free it now: nobody is inside, and nobody else does. One that was thrown out of freeing before it had begun may come again."""
        if not self._ending or self._gone:
            return False
        if self._uses:
            self._uses = {key: use for key, use in self._uses.copy().items() if use[1]() is not None}
            if self._uses:
                return False
        if not self._claimer:
            self._claimer = get_ident()
        return self._claimer == get_ident()

    def __del__(self) -> None:
        # the owner's own __del__ may have been thrown out of
        if not getattr(self, '_gone', True):
            self.end(wait=False)

    def _waiter(self) -> Optional[threading.Event]:
        if self._gone:
            return None
        event = threading.Event()
        self._waiters.append(event)
        return event

    def _finish(self) -> None:
        """Frees it. Whoever is thrown out of here before that has happened may come again, and does: `_claim` lets the thread in."""
        if getattr(_callback, 'depth', 0):
            _put_off.append((Handle._finish, self))
            return
        flush()
        if self._parent is None:
            self._free_once()
        else:
            with Use(self._parent, child=True):
                self._free_once()

    def _free_once(self) -> None:
        try:
            pointer = self.box.value
            if pointer:
                # A handler runs between calls only, and there is none between these two lines: what is no longer in the box is freed.
                self.box.value = None
                self._free(pointer)
        finally:
            self._gone = True
            for event in self._waiters:
                event.set()
