"""The verbs of E2B's SDK over a session, so that programs written for it move over: `from interp.adapters.e2b import Sandbox`.

    with Sandbox.create() as sandbox:
        execution = sandbox.run_code('print("hello"); 6 * 7')
        result = sandbox.commands.run('ls /workspace')
        sandbox.files.write('notes.txt', 'text')

Names and shapes of what comes back are E2B's. What differs: relative paths are below /workspace, there is one user and no network, and `template`, ports, watching,
pausing and connecting to a running sandbox are not there."""
from __future__ import annotations

import json
import posixpath
import shlex
import threading
import time
from base64 import b64encode
from datetime import datetime, timezone
from enum import Enum
from itertools import count
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from .. import Exec, Session, StatusError
from .. import Result as _Result
from .._text import parse
from . import _run

__all__ = ['CommandExitException', 'CommandHandle', 'CommandResult', 'Context', 'EntryInfo', 'Execution', 'ExecutionError', 'FileType', 'InvalidArgumentException',
           'Logs', 'NotFoundException', 'OutputMessage', 'Result', 'Sandbox', 'SandboxException', 'TimeoutException', 'WriteInfo']

WORKSPACE = '/workspace'


class SandboxException(Exception):
    """Base of the errors of this module."""


class TimeoutException(SandboxException):
    """It took too long, or the sandbox is gone."""


class InvalidArgumentException(SandboxException):
    """An argument is wrong."""


class NotFoundException(SandboxException):
    """There is no such file or context."""


# -- what code comes to

class OutputMessage(NamedTuple):
    """A piece of output."""

    line: str
    timestamp: int
    error: bool = False

    def __str__(self) -> str:
        return self.line


class ExecutionError(NamedTuple):
    """The error that code ended with."""

    name: str
    value: str
    traceback: str


class Logs:
    """What code printed, in pieces."""

    def __init__(self, stdout: Optional[List[str]] = None, stderr: Optional[List[str]] = None) -> None:
        self.stdout, self.stderr = stdout or [], stderr or []

    def __repr__(self) -> str:
        return 'Logs(stdout: %r, stderr: %r)' % (self.stdout, self.stderr)


_FORMS = {'text/plain': 'text', 'text/html': 'html', 'text/markdown': 'markdown', 'image/svg+xml': 'svg', 'image/png': 'png', 'image/jpeg': 'jpeg', 'application/pdf': 'pdf',
          'text/latex': 'latex', 'application/json': 'json', 'application/javascript': 'javascript'}


class Result:
    """A value or a display in every form that it has; pictures are base64."""

    text: Optional[str] = None
    html: Optional[str] = None
    markdown: Optional[str] = None
    svg: Optional[str] = None
    png: Optional[str] = None
    jpeg: Optional[str] = None
    pdf: Optional[str] = None
    latex: Optional[str] = None
    json: Any = None
    javascript: Optional[str] = None

    def __init__(self, forms: Dict[str, Union[str, bytes]], is_main_result: bool = False) -> None:
        self.is_main_result = is_main_result
        self.extra: Dict[str, str] = {}
        for mime, data in forms.items():
            value: Any = data if isinstance(data, str) else b64encode(data).decode('ascii')
            if mime not in _FORMS:
                self.extra[mime] = value
                continue
            if mime == 'application/json':
                try:
                    value = parse(value)
                except ValueError:
                    continue
            setattr(self, _FORMS[mime], value)

    def formats(self) -> List[str]:
        """Names of the forms that there are."""
        return [name for name in _FORMS.values() if getattr(self, name)] + list(self.extra)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __repr__(self) -> str:
        return 'Result(%s)' % self.text if self.text else 'Result(Formats: %s)' % ', '.join(self.formats())

    def _repr_html_(self) -> Optional[str]:
        return self.html

    def _repr_png_(self) -> Optional[str]:
        return self.png


class Execution:
    """What `run_code` gives."""

    def __init__(self) -> None:
        self.results: List[Result] = []
        self.logs = Logs()
        self.error: Optional[ExecutionError] = None
        self.execution_count: Optional[int] = None

    @property
    def text(self) -> Optional[str]:
        """The value of the last expression."""
        return next((r.text for r in self.results if r.is_main_result), None)

    def __repr__(self) -> str:
        return 'Execution(Results: %r, Logs: %r, Error: %r)' % (self.results, self.logs, self.error)


class Context(NamedTuple):
    """An interpreter of its own: variables of one are not those of another."""

    id: str
    language: str
    cwd: str


# -- commands

class CommandResult:
    """What a command came to."""

    def __init__(self, stdout: str, stderr: str, exit_code: int, error: Optional[str] = None) -> None:
        self.stdout, self.stderr, self.exit_code, self.error = stdout, stderr, exit_code, error

    def __repr__(self) -> str:
        return 'CommandResult(stdout=%r, stderr=%r, exit_code=%r)' % (self.stdout, self.stderr, self.exit_code)


class CommandExitException(SandboxException, CommandResult):
    """A command that failed."""

    def __init__(self, stdout: str, stderr: str, exit_code: int, error: Optional[str] = None) -> None:
        SandboxException.__init__(self, 'Command exited with code %d and error:\n%s' % (exit_code, stderr))
        CommandResult.__init__(self, stdout, stderr, exit_code, error)


def _check_command(ran: _run.Ran) -> CommandResult:
    outcome = ran.result.outcome
    out = ran.stdout.decode('utf-8', 'replace'), ran.stderr.decode('utf-8', 'replace')
    if outcome == 'timeout':
        raise TimeoutException('the command took too long; %s' % (ran.result.cause or ''))
    if outcome == 'lost' or ran.result.state == 'gone':
        raise TimeoutException('the sandbox is gone')
    if ran.exit_code:
        raise CommandExitException(out[0], out[1], ran.exit_code, None if outcome == 'error' else outcome)
    return CommandResult(out[0], out[1], 0)


class CommandHandle:
    """A command that runs in the background. What it wrote comes with `wait`; it never stands still because nobody asks. Output past the session's
    `output_head_bytes` and `output_tail_bytes` is left out, which a line in the middle says."""

    def __init__(self, commands: 'Commands', running: Exec, pid: int, kernel: str) -> None:
        self._commands, self._running, self._kernel = commands, running, kernel
        self.pid = pid      # a number for `send_stdin` and `kill`: that of the command in this sandbox, not of a process
        self._ran: Optional[_run.Ran] = None
        self._turn = threading.Lock()

    def wait(self, on_stdout: Optional[Callable[[str], Any]] = None, on_stderr: Optional[Callable[[str], Any]] = None) -> CommandResult:
        """Waits for the end; raises `CommandExitException` when the command failed."""
        ran = self._finish()
        for handler, data in ((on_stdout, ran.stdout), (on_stderr, ran.stderr)):
            if handler and data:
                handler(data.decode('utf-8', 'replace'))
        return _check_command(ran)

    def _finish(self) -> _run.Ran:
        with self._turn:
            return self._take()

    def _take(self) -> _run.Ran:
        if self._ran is None:
            result = self._running.result()
            self._running.close()
            self._ran = _run.Ran(result.stdout_bytes, result.stderr_bytes, result.truncated() or result.truncated('stderr'), result)
            self._commands._forget(self)
        return self._ran

    def _reap(self) -> None:
        """Takes what it came to, if it has ended, which frees its interpreter. Who waits for it does that already."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            if self._ran is None and self._running._ended():
                self._take()
        except StatusError:
            pass    # told to who asks for this command
        finally:
            self._turn.release()

    def __iter__(self) -> Iterator[Tuple[Optional[str], Optional[str], None]]:
        """(stdout, None, None) and (None, stderr, None), at the end."""
        ran = self._finish()
        if ran.stdout:
            yield ran.stdout.decode('utf-8', 'replace'), None, None
        if ran.stderr:
            yield None, ran.stderr.decode('utf-8', 'replace'), None

    def kill(self) -> bool:
        """Ends the command; whether it was still running."""
        if self._ran is not None:
            return False
        self._running.cancel()
        self._running.cancel()      # at once
        return self._finish().result.outcome == 'cancelled'


def _both(on_stdout: Optional[Callable[[str], Any]], on_stderr: Optional[Callable[[str], Any]]) -> Optional[Callable[[str, bytes], Any]]:
    if on_stdout is None and on_stderr is None:
        return None
    from codecs import getincrementaldecoder
    new = getincrementaldecoder('utf-8')
    decoders = {'stdout': new('replace'), 'stderr': new('replace')}

    def deliver(stream: str, data: bytes) -> None:
        handler, text = on_stdout if stream == 'stdout' else on_stderr, decoders[stream].decode(data)
        if handler and text:
            handler(text)
    return deliver


class Commands:
    """Commands: a `bash` each (`sh` where there is no bash), apart from the state of the interpreters."""

    def __init__(self, sandbox: 'Sandbox') -> None:
        self._sandbox = sandbox
        self._running: Dict[int, CommandHandle] = {}
        self._kernels = _run.Kernels('command')
        self._numbers = count(1)

    def run(self, cmd: str, background: bool = False, envs: Optional[Dict[str, str]] = None, user: Optional[str] = None, cwd: Optional[str] = None,
            on_stdout: Optional[Callable[[str], Any]] = None, on_stderr: Optional[Callable[[str], Any]] = None, stdin: Optional[bool] = None,
            timeout: Optional[float] = 60, request_timeout: Optional[float] = None) -> Any:
        """Runs a command; `CommandResult`, or with `background` a `CommandHandle`. A command that fails raises `CommandExitException`, one that takes longer than
        `timeout` seconds (0: no limit) `TimeoutException`."""
        if user not in (None, 'user'):
            raise InvalidArgumentException('there is one user in the sandbox; commands can not run as %s' % user)
        where = _absolute(cwd) if cwd else WORKSPACE
        if background:
            return self._start(cmd, envs, where, bool(stdin), timeout)
        try:
            ran = _run.program(self._sandbox.session, self._sandbox._shell(cmd), cwd=where, env=envs, timeout=timeout or 0, on_output=_both(on_stdout, on_stderr))
        except StatusError as e:
            raise _translated(e) from e
        return _check_command(ran)

    def _start(self, cmd: str, envs: Optional[Dict[str, str]], cwd: str, stdin: bool, timeout: Optional[float]) -> CommandHandle:
        argv = self._sandbox._shell(cmd)
        self._reap()
        kernel = self._kernels.take()
        try:
            running = self._sandbox.session.start('sh', _run.script(argv, cwd, False), kernel=kernel, env=envs, interactive=stdin, timeout_ms=_run.milliseconds(timeout or 0))
        except BaseException as e:
            self._kernels.give(kernel)
            if isinstance(e, StatusError):
                raise _translated(e) from e
            raise
        handle = CommandHandle(self, running, next(self._numbers), kernel)
        self._running[handle.pid] = handle
        return handle

    def _reap(self) -> None:
        for handle in tuple(self._running.values()):
            handle._reap()

    def _forget(self, handle: CommandHandle) -> None:
        if self._running.pop(handle.pid, None):
            self._kernels.give(handle._kernel)

    def list(self) -> List[int]:
        """The numbers of the commands that run in the background."""
        self._reap()
        return sorted(self._running)

    def connect(self, pid: int) -> CommandHandle:
        """The handle of a command that runs in the background."""
        self._reap()
        if pid not in self._running:
            raise NotFoundException('there is no command %d' % pid)
        return self._running[pid]

    def kill(self, pid: int) -> bool:
        """Ends a command in the background; whether there was one."""
        return pid in self._running and self._running[pid].kill()

    def send_stdin(self, pid: int, data: Union[str, bytes]) -> None:
        """Feeds the standard input of a command that was started with `stdin=True`. Waits for room as long as that takes."""
        handle = self.connect(pid)
        left = data.encode('utf-8') if isinstance(data, str) else bytes(data)
        while left:
            left = left[handle._running.write(left):]
            if left:
                handle._reap()      # moves things on, where nobody waits for the command
                time.sleep(0.01)

    def close_stdin(self, pid: int) -> None:
        """Ends it: the command sees end of file."""
        self.connect(pid)._running.end_input()


# -- files

class FileType(Enum):
    FILE = 'file'
    DIR = 'dir'
    SYMLINK = 'symlink'


class WriteInfo:
    """A file that was written."""

    def __init__(self, name: str, type: Optional[FileType], path: str) -> None:
        self.name, self.type, self.path = name, type, path

    def __repr__(self) -> str:
        return '%s(%s)' % (type(self).__name__, ', '.join('%s=%r' % item for item in vars(self).items()))


class EntryInfo(WriteInfo):
    """A file or directory."""

    def __init__(self, info: Any, path: str) -> None:
        kinds = {'file': FileType.FILE, 'dir': FileType.DIR, 'link': FileType.SYMLINK}
        super().__init__(path.rsplit('/', 1)[1] or '/', kinds.get(info.type), path)
        self.size: int = info.size
        self.mode: int = info.mode & 0o7777
        self.permissions = ''.join(letter if info.mode >> bit & 1 else '-' for bit, letter in zip(range(8, -1, -1), 'rwxrwxrwx'))
        self.modified_time = datetime.fromtimestamp(info.mtime, timezone.utc)


def _absolute(path: str) -> str:
    if '\0' in path:
        raise InvalidArgumentException('a path must not have a NUL inside')
    return posixpath.normpath(posixpath.join(WORKSPACE, path))


def _translated(error: StatusError) -> SandboxException:
    kinds = {'INTERP_E_NOT_FOUND': NotFoundException, 'INTERP_E_INVAL': InvalidArgumentException, 'INTERP_E_TIMEOUT': TimeoutException, 'INTERP_E_CLOSED': TimeoutException}
    return kinds.get(error.code, SandboxException)(str(error))


class Filesystem:
    """Files."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def _do(self, name: str, *arguments: Any, **more: Any) -> Any:
        try:
            return getattr(self._session.files, name)(*arguments, **more)
        except StatusError as e:
            raise _translated(e) from e

    def read(self, path: str, format: str = 'text', user: Optional[str] = None, request_timeout: Optional[float] = None) -> Any:
        """The content of a file: `format` is "text", "bytes" or "stream"."""
        if format not in ('text', 'bytes', 'stream'):
            raise InvalidArgumentException('format is %r; it must be text, bytes or stream' % format)
        data: bytes = self._do('read', _absolute(path))
        return data.decode('utf-8', 'replace') if format == 'text' else bytearray(data) if format == 'bytes' else (data[i:i + 65536] for i in range(0, len(data), 65536))

    def write(self, path: str, data: Any, user: Optional[str] = None, request_timeout: Optional[float] = None) -> WriteInfo:
        """Writes a file, with the directories above it; `data` is a text, bytes or an open file."""
        content = data.read() if hasattr(data, 'read') else data
        where = _absolute(path)
        self._do('write', where, content.encode('utf-8') if isinstance(content, str) else bytes(content))
        return WriteInfo(where.rsplit('/', 1)[1], FileType.FILE, where)

    def write_files(self, files: Iterable[Dict[str, Any]], user: Optional[str] = None, request_timeout: Optional[float] = None) -> List[WriteInfo]:
        """Writes several files: a dict with `path` and `data` each."""
        return [self.write(f['path'], f['data']) for f in files]

    def list(self, path: str, depth: Optional[int] = 1, user: Optional[str] = None, request_timeout: Optional[float] = None) -> List[EntryInfo]:
        """What is in a directory, and `depth` - 1 levels of directories below it."""
        if depth is not None and depth < 1:
            raise InvalidArgumentException('depth is %r; it must be at least 1' % depth)
        where, found = _absolute(path), []
        for info in self._do('list', where):
            entry = EntryInfo(info, '%s/%s' % (where.rstrip('/'), info.name))
            found.append(entry)
            if entry.type is FileType.DIR and (depth or 1) > 1:
                found += self.list(entry.path, (depth or 1) - 1)
        return found

    def exists(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> bool:
        return bool(self._do('exists', _absolute(path)))

    def get_info(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> EntryInfo:
        where = _absolute(path)
        return EntryInfo(self._do('stat', where), where)

    def remove(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> None:
        """Removes a file, or a directory and all that is in it."""
        self._do('remove', _absolute(path), recursive=True)

    def rename(self, old_path: str, new_path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> EntryInfo:
        self._do('rename', _absolute(old_path), _absolute(new_path))
        return self.get_info(new_path)

    def make_dir(self, path: str, user: Optional[str] = None, request_timeout: Optional[float] = None) -> bool:
        """Makes a directory and those above it; False when it is there already."""
        if self.exists(path):
            return False
        self._do('mkdir', _absolute(path), parents=True)
        return True


# -- the sandbox

# How an interpreter is sent to a directory.
_CHANGE = {'python': 'import os as _os; _os.chdir(%r); del _os', 'javascript': 'process.chdir(%s)', 'bash': 'cd -- %s', 'sh': 'cd -- %s'}


class Sandbox:
    """One session behind E2B's verbs. Takes the options of a `Session` by name, and E2B's `timeout` (seconds that the sandbox may stand without a call) and `envs`."""

    def __init__(self, *, timeout: Optional[float] = None, envs: Optional[Dict[str, str]] = None, metadata: Optional[Dict[str, str]] = None, session: Optional[Session] = None,
                 **options: Any) -> None:
        if timeout is not None:
            options.setdefault('session_idle_ms', max(1000, int(timeout * 1000)))
        if session is not None and (options or envs):
            raise InvalidArgumentException('a session that is given has its options already: %s' % ', '.join(sorted(options) + ['envs'] * bool(envs)))
        self._metadata = dict(metadata or {})
        try:
            self.session = session or Session(env=envs, **options)
        except StatusError as e:
            raise _translated(e) from e
        self.sandbox_id: str = str(self.session.info['session'])
        self.commands, self.files = Commands(self), Filesystem(self.session)
        self._contexts = count(1)
        self._shell_name: Optional[str] = None

    @classmethod
    def create(cls, **options: Any) -> 'Sandbox':
        return cls(**options)

    def run_code(self, code: str, language: Optional[str] = None, context: Optional[Context] = None, on_stdout: Optional[Callable[[OutputMessage], Any]] = None,
                 on_stderr: Optional[Callable[[OutputMessage], Any]] = None, on_result: Optional[Callable[[Result], Any]] = None,
                 on_error: Optional[Callable[[ExecutionError], Any]] = None, envs: Optional[Dict[str, str]] = None, timeout: Optional[float] = None,
                 request_timeout: Optional[float] = None) -> Execution:
        """Runs code; variables stay, for each language and context. Longer than `timeout` seconds (300 when not given, 0: no limit) raises `TimeoutException`."""
        if language and context:
            raise InvalidArgumentException('give language or context, not both')
        execution = Execution()
        pieces = {'stdout': execution.logs.stdout, 'stderr': execution.logs.stderr}

        def deliver(stream: str) -> Callable[[str], None]:
            handler = on_stdout if stream == 'stdout' else on_stderr

            def piece(text: str) -> None:
                pieces[stream].append(text)
                if handler:
                    handler(OutputMessage(text, time.time_ns(), stream == 'stderr'))
            return piece
        try:
            with _run.lock(self.session, context.id if context else None):
                events = self.session.stream((context.language if context else language or 'python').lower(), code, kernel=context.id if context else None, env=envs,
                                             timeout_ms=_run.milliseconds(300 if timeout is None else timeout))
                result = _run.collect(events, 0, _both(deliver('stdout'), deliver('stderr'))).result
        except StatusError as e:
            raise _translated(e) from e
        self._fill(execution, result)
        for found in execution.results:
            if on_result:
                on_result(found)
        if execution.error and on_error:
            on_error(execution.error)
        return execution

    def _fill(self, execution: Execution, result: _Result) -> None:
        if result.outcome == 'timeout' or result.state == 'gone':
            raise TimeoutException('the code took too long' if result.outcome == 'timeout' else 'the sandbox is gone')
        execution.execution_count = result.exec
        execution.results = [Result(forms) for forms in result.rich]
        if result.value is not None:
            execution.results.append(Result(result.value_mime or {'text/plain': result.value}, True))
        error = result.error
        if error is not None:
            execution.error = ExecutionError(error.type, error.message, error.traceback)
        elif not result.ok:
            execution.error = ExecutionError(result.outcome, '%s%s' % (result.cause or '', '' if result.exit_code is None else ' exit code %d' % result.exit_code), str(result))

    def create_code_context(self, cwd: Optional[str] = None, language: Optional[str] = None, request_timeout: Optional[float] = None) -> Context:
        """An interpreter of its own for `run_code(context=…)`. `InvalidArgumentException` when it can not work in that directory."""
        context = Context('context-%d' % next(self._contexts), (language or 'python').lower(), _absolute(cwd or WORKSPACE))
        change = _CHANGE.get(context.language)
        if change:
            word = context.cwd if context.language == 'python' else json.dumps(context.cwd) if context.language == 'javascript' else shlex.quote(context.cwd)
            error = self.run_code(change % word, context=context).error
            if error:
                self._delete_context(context)
                raise InvalidArgumentException('the context can not work in %s: %s' % (context.cwd, error.value or error.name))
        elif cwd:
            raise InvalidArgumentException('cwd is for %s, not for %s' % (', '.join(_CHANGE), context.language))
        return context

    def _delete_context(self, context: Context) -> None:
        try:
            self.session.delete_kernel(context.language, context.id)
        except StatusError:
            pass    # it has ended by itself

    def is_running(self, request_timeout: Optional[float] = None) -> bool:
        return self.session.status == 'open'

    def get_info(self) -> Dict[str, Any]:
        """What the session says of itself, with the sandbox's id and the metadata that it was given."""
        return dict(self.session.info, sandbox_id=self.sandbox_id, metadata=self._metadata)

    def kill(self, request_timeout: Optional[float] = None) -> bool:
        """Ends the sandbox; whether it was running."""
        was = self.is_running()
        self.session.close()
        return was

    def _shell(self, cmd: str) -> List[str]:
        if self._shell_name is None:
            try:
                found = _run.program(self.session, ['sh', '-c', 'command -v bash'])
            except StatusError as e:
                raise _translated(e) from e
            self._shell_name = 'bash' if found.exit_code == 0 else 'sh'
        return [self._shell_name, '-c', cmd]

    def __enter__(self) -> 'Sandbox':
        return self

    def __exit__(self, *_: Any) -> None:
        self.kill()
