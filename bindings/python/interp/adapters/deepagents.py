"""A sandbox backend for deepagents: `create_deep_agent(backend=backend(session), …)`."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Tuple

from .. import StatusError
from . import _run

try:
    from deepagents.backends.composite import CompositeBackend
    from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
    from deepagents.backends.sandbox import BaseSandbox
except ImportError as e:
    _run.missing('deepagents', 'deepagents', e)

if TYPE_CHECKING:
    from .. import Session

__all__ = ['InterpBackend', 'backend']

# Where the framework leaves what is too long for a model: the root of the sandbox, its default, is read-only.
ARTIFACTS = '/tmp/deepagents'


def backend(session: Session) -> CompositeBackend:
    """The backend to give to an agent: an `InterpBackend` with a place for what is too long to show."""
    inner = InterpBackend(session)
    inner.enable_capture_offload = True     # its wrapper needs a POSIX shell, head, tail and wc
    return CompositeBackend(default=inner, routes={}, artifacts_root=ARTIFACTS)


class InterpBackend(BaseSandbox):
    """The session as a place where an agent runs commands and keeps files.

    Each command is a `bash -c` (`sh -c` where there is no bash) of its own in /workspace; standard error goes into the same text, in the order in which it was
    written. A command ends at `timeout` seconds, or at the session's `timeout_ms`; 0 is no limit. Commands of several threads take turns. Reading, searching and
    editing need a `python3` in the sandbox, as in all of deepagents' sandboxes."""

    def __init__(self, session: Session, *, max_output_bytes: int = _run.LIMIT) -> None:
        self.session = session
        self._limit = max_output_bytes
        self._shell: Optional[str] = None

    @property
    def id(self) -> str:
        """The id of the session."""
        return str(self.session.info['session'])

    def execute(self, command: str, *, timeout: Optional[int] = None) -> ExecuteResponse:
        ran = _run.program(self.session, [self._shell or self._find_shell(), '-c', command], cwd='/workspace', merge=True, timeout=timeout, limit=self._limit)
        output, result = ran.stdout.decode('utf-8', 'replace'), ran.result
        if result.outcome not in ('ok', 'error'):
            output += '%s[%s%s]' % ('\n' if output and not output.endswith('\n') else '', result.outcome, ', cause %s' % result.cause if result.cause else '')
        return ExecuteResponse(output=output, exit_code=ran.exit_code, truncated=ran.truncated)

    def _find_shell(self) -> str:
        found = _run.program(self.session, ['sh', '-c', 'command -v bash'])
        self._shell = 'bash' if found.exit_code == 0 else 'sh'
        return self._shell

    def upload_files(self, files: List[Tuple[str, bytes]]) -> List[FileUploadResponse]:
        responses = []
        for path, content in files:
            error: Optional[str] = None
            try:
                if not path.startswith('/') or '\0' in path:
                    error = 'invalid_path'
                else:
                    self.session.files.write(path, content)
            except StatusError as e:
                error = _word(e)
            responses.append(FileUploadResponse(path=path, error=error))
        return responses

    def download_files(self, paths: List[str]) -> List[FileDownloadResponse]:
        responses = []
        for path in paths:
            content: Any = None
            error: Optional[str] = None
            try:
                if not path.startswith('/') or '\0' in path:
                    error = 'invalid_path'
                else:
                    content = self.session.files.read(path)
            except StatusError as e:
                error = _word(e, self._is_directory(path))
            responses.append(FileDownloadResponse(path=path, content=content, error=error))
        return responses

    def _is_directory(self, path: str) -> bool:
        try:
            return self.session.files.stat(path).type == 'dir'
        except StatusError:
            return False


def _word(error: StatusError, is_directory: bool = False) -> str:
    """The framework's word for what went wrong."""
    words = {'INTERP_E_NOT_FOUND': 'file_not_found', 'INTERP_E_DENIED': 'permission_denied'}
    return 'is_directory' if is_directory else words.get(error.code, str(error))
