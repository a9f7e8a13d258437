"""What the adapters share: programs run apart from the state of the interpreters, and locks, since frameworks call tools from several threads or tasks."""
from __future__ import annotations

import asyncio
import shlex
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple
from weakref import WeakKeyDictionary

from .. import FOREVER

if TYPE_CHECKING:
    from .. import AsyncSession, Event, Exec, Result, Session
    from .._config import Env
    from .._text import TextOrBytes

# Bytes kept of each output stream of a program; what comes after them is counted and dropped.
LIMIT = 4 << 20
# The interpreter that starts programs: not the default one, whose directory and variables belong to whoever uses the session beside the adapter.
KERNEL = 'programs'


class Ran(NamedTuple):
    """What came of a program."""

    stdout: bytes
    stderr: bytes
    truncated: bool
    result: 'Result'

    @property
    def exit_code(self) -> int:
        """Its exit code as shells say it; 124 for a timeout, as timeout(1), and 128 + signal."""
        r = self.result
        if r.outcome == 'timeout':
            return 124
        if r.signal:
            return 128 + r.signal
        return r.exit_code if r.exit_code is not None else 0 if r.ok else 1


def missing(name: str, extra: str, error: ImportError) -> NoReturn:
    raise ImportError('%s is not installed: pip install "interp[%s]"' % (name, extra)) from error


def script(argv: Sequence[str], cwd: Optional[str], merge: bool) -> str:
    """Shell code that runs a program and leaves the shell as it was."""
    words = ' '.join(shlex.quote(word) for word in argv)
    if cwd is not None:
        words = '(cd -- %s && exec %s)' % (shlex.quote(cwd), words)
    return words + (' 2>&1' if merge else '')


def milliseconds(seconds: Optional[float]) -> Optional[int]:
    """A framework's timeout: None is the session's own, 0 none at all."""
    if seconds is None:
        return None
    return FOREVER if seconds <= 0 else max(1, int(seconds * 1000))


class Collector:
    def __init__(self, limit: int, on_output: Optional[Callable[[str, bytes], Any]]) -> None:
        self.limit, self.on_output = limit, on_output
        self.kept: Dict[str, bytearray] = {'stdout': bytearray(), 'stderr': bytearray()}
        self.truncated = False
        self.result: Optional['Result'] = None

    def take(self, event: 'Event') -> None:
        if event.type == 'result':
            self.result = event.result
        elif event.type == 'output' and event.stream in self.kept:
            kept = self.kept[event.stream]
            room = self.limit - len(kept)
            kept += event.data[:room] if room < len(event.data) else event.data
            self.truncated = self.truncated or len(event.data) > room
            if self.on_output:
                self.on_output(event.stream, event.data)
        elif event.type == 'gap':
            self.truncated = True

    def ran(self) -> Ran:
        assert self.result is not None
        return Ran(bytes(self.kept['stdout']), bytes(self.kept['stderr']), self.truncated, self.result)


def program(session: 'Session', argv: Sequence[str], *, cwd: Optional[str] = None, merge: bool = False, stdin: Optional['TextOrBytes'] = None,
            env: Optional['Env'] = None, timeout: Optional[float] = None, limit: int = LIMIT, on_output: Optional[Callable[[str, bytes], Any]] = None) -> Ran:
    """Runs a program and waits. All its output is taken, whatever the session's own bounds; `merge` sends both streams into the first, in their order."""
    with lock(session, KERNEL):
        return collect(session.stream('sh', script(argv, cwd, merge), kernel=KERNEL, stdin=stdin, env=env, timeout_ms=milliseconds(timeout)), limit, on_output)


def collect(events: 'Exec', limit: int = LIMIT, on_output: Optional[Callable[[str, bytes], Any]] = None) -> Ran:
    """Follows an exec that streams to its end."""
    collector = Collector(limit, on_output)
    with events:
        for event in events:
            collector.take(event)
    return collector.ran()


_locks: 'WeakKeyDictionary[Session, Dict[str, Any]]' = WeakKeyDictionary()
_locks_lock = threading.Lock()


def lock(session: 'Session', kernel: Optional[str] = None) -> Any:
    """The turn of the interpreters of that name: one thread at a time runs something in them. All else of a session is for any thread."""
    with _locks_lock:
        return _locks.setdefault(session, {}).setdefault(kernel or 'default', threading.RLock())


class Kernels:
    """Names of interpreters for tasks that run at the same time: each takes one that is free, or a new one."""

    def __init__(self, prefix: str) -> None:
        self._prefix, self._free, self._made = prefix, [], 0   # type: str, List[str], int

    def take(self) -> str:
        with _locks_lock:
            if self._free:
                return self._free.pop()
            self._made += 1
            return '%s-%d' % (self._prefix, self._made)

    def give(self, name: str) -> None:
        self._free.append(name)


async def program_async(session: 'AsyncSession', kernels: Kernels, argv: Sequence[str], *, cwd: Optional[str] = None,
                        stdin: Optional['TextOrBytes'] = None, timeout: Optional[float] = None, limit: int = LIMIT) -> Ran:
    """As `program`, for tasks, several at a time."""
    collector = Collector(limit, None)
    kernel = kernels.take()
    try:
        async with session.stream('sh', script(argv, cwd, False), kernel=kernel, stdin=stdin, timeout_ms=milliseconds(timeout)) as events:
            async for event in events:
                collector.take(event)
    finally:
        kernels.give(kernel)
    return collector.ran()


_turns: 'WeakKeyDictionary[AsyncSession, Dict[str, asyncio.Lock]]' = WeakKeyDictionary()


def turn(session: 'AsyncSession', language: str) -> asyncio.Lock:
    """The turn of a language's interpreter: one exec at a time runs in it."""
    found = _turns.setdefault(session, {})
    if language not in found:
        found[language] = asyncio.Lock()
    return found[language]


def describe(language: str) -> Tuple[str, str]:
    """What a tool for that language says to a model: the tool, and its argument."""
    names = {'python': 'Python', 'javascript': 'JavaScript (Node.js)', 'bash': 'Bash', 'sh': 'shell (POSIX sh)'}
    kept = {'python': 'variables, functions and imports', 'javascript': 'variables and functions', 'bash': 'variables, functions and the working directory',
            'sh': 'variables, functions and the working directory'}
    show = ' The value of the last expression is shown, as in a notebook.' if language in ('python', 'javascript') else ''
    return ('Runs %s code in a sandbox that stays open: %s are kept from one call to the next, and so are files in /workspace.%s Gives what the code printed, and its '
            'error if it failed. There is no network.' % (names.get(language, language), kept.get(language, 'files'), show),
            'The %s code to run.' % names.get(language, language))
