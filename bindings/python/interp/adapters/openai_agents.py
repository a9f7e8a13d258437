"""A sandbox client for the OpenAI Agents SDK: `SandboxRunConfig(client=InterpSandboxClient(), options=InterpSandboxClientOptions(…))`."""
from __future__ import annotations

import asyncio
import io
import tarfile
import uuid
from pathlib import Path
from typing import Any, Dict, Literal, Optional

from .. import AsyncSession, NotFoundError, StatusError
from . import _run

try:
    from agents.sandbox.errors import (ExecTimeoutError, ExecTransportError, WorkspaceArchiveReadError, WorkspaceArchiveWriteError,
                                       WorkspaceReadNotFoundError)
    from agents.sandbox.manifest import Manifest
    from agents.sandbox.session import SandboxSession, SandboxSessionState
    from agents.sandbox.session.base_sandbox_session import BaseSandboxSession
    from agents.sandbox.session.dependencies import Dependencies
    from agents.sandbox.session.manager import Instrumentation
    from agents.sandbox.session.runtime_helpers import RESOLVE_WORKSPACE_PATH_HELPER, RuntimeHelperScript
    from agents.sandbox.session.sandbox_client import BaseSandboxClient, BaseSandboxClientOptions
    from agents.sandbox.session.workspace_payloads import coerce_write_payload
    from agents.sandbox.snapshot import SnapshotBase, SnapshotSpec, resolve_snapshot
    from agents.sandbox.types import ExecResult, User
    from agents.sandbox.util.tar_utils import UnsafeTarMemberError, validate_tar_bytes
    from agents.sandbox.workspace_paths import posix_path_for_error, sandbox_path_str
    from pydantic import Field
except ImportError as e:
    _run.missing('openai-agents', 'openai-agents', e)

__all__ = ['InterpSandboxClient', 'InterpSandboxClientOptions', 'InterpSandboxSession', 'InterpSandboxSessionState']


class InterpSandboxClientOptions(BaseSandboxClientOptions):
    """What each sandbox is made with: `options` are those of `interp.Session`, by name."""

    type: Literal['interp'] = 'interp'
    options: Dict[str, Any] = Field(default_factory=dict)


class InterpSandboxSessionState(SandboxSessionState):
    """A session as it is written down. A sandbox does not outlive its program: what is resumed elsewhere is a new one, with the snapshot's files."""

    type: Literal['interp'] = 'interp'
    options: Dict[str, Any] = Field(default_factory=dict)
    interp_session: str = ''


class InterpSandboxSession(BaseSandboxSession):
    """One sandbox. Commands are programs of their own and may run at the same time; the limits are the session's options. There is one user, no network and no port to
    reach it by."""

    state: InterpSandboxSessionState

    def __init__(self, *, state: InterpSandboxSessionState, session: AsyncSession) -> None:
        self.state = state
        self._session = session
        self._kernels = _run.Kernels('program')
        self._root_made = False

    @property
    def session(self) -> AsyncSession:
        """The session below, for what the SDK has no words for: `await sandbox.session.python(…)`."""
        return self._session

    # -- life

    async def _prepare_backend_workspace(self) -> None:
        root = self.state.manifest.root
        made = await self._program(['mkdir', '-p', '--', root], None, root=None)
        if made.exit_code:
            raise WorkspaceArchiveWriteError(path=Path(root), message='the workspace %s can not be made in the sandbox: %s' % (root, made.stderr.decode('utf-8', 'replace').strip()))
        self._root_made = True

    async def running(self) -> bool:
        return self._session.status == 'open'

    async def _shutdown_backend(self) -> None:
        await self._session.close()

    # -- commands

    async def exec(self, *command: Any, timeout: Optional[float] = None, shell: Any = True, user: Any = None) -> ExecResult:
        self._one_user(user)
        return await super().exec(*command, timeout=timeout, shell=shell)

    async def _exec_internal(self, *command: Any, timeout: Optional[float] = None) -> ExecResult:
        root = self.state.manifest.root if self._root_made else None
        ran = await self._program([str(word) for word in command], timeout, root)
        return ExecResult(stdout=ran.stdout, stderr=ran.stderr, exit_code=ran.exit_code)

    async def _program(self, argv: Any, timeout: Optional[float], root: Optional[str], limit: int = _run.LIMIT) -> _run.Ran:
        try:
            ran = await _run.program_async(self._session, self._kernels, argv, cwd=root, timeout=timeout, limit=limit)
        except StatusError as e:
            raise ExecTransportError(command=argv, cause=e, message=str(e), retryable=e.retryable) from e
        if ran.result.outcome == 'timeout':
            raise ExecTimeoutError(command=argv, timeout_s=timeout, context={'cause': ran.result.cause, 'stdout': ran.stdout[-4096:].decode('utf-8', 'replace')})
        if ran.result.outcome == 'lost' or ran.result.state == 'gone':
            raise ExecTransportError(command=argv, message='the sandbox is gone: %s' % (ran.result.cause or ran.result.outcome))
        return ran

    @staticmethod
    def _one_user(user: Any) -> None:
        if user is not None:
            name = user.name if isinstance(user, User) else user
            raise ExecTransportError(command=(), message='this sandbox has one user: nothing can run as %s' % name, retryable=False)

    # -- files

    def _runtime_helpers(self) -> Any:
        helpers: tuple[RuntimeHelperScript, ...] = (RESOLVE_WORKSPACE_PATH_HELPER,)
        return helpers

    async def _validate_path_access(self, path: Any, *, for_write: bool = False) -> Path:
        checked: Path = await self._validate_remote_path_access(path, for_write=for_write)
        return checked

    async def read(self, path: Path, *, user: Any = None) -> io.IOBase:
        self._one_user(user)
        where = await self._validate_path_access(path)
        return io.BytesIO(await self._get(path, sandbox_path_str(where)))

    async def _get(self, path: Path, where: str) -> bytes:
        try:
            return bytes(await self._session.files.read(where))
        except NotFoundError as e:
            raise WorkspaceReadNotFoundError(path=path, cause=e) from e
        except StatusError as e:
            raise WorkspaceArchiveReadError(path=path, context={'reason': str(e)}, cause=e, retryable=e.retryable) from e

    async def _read_bounded(self, path: Path, *, max_bytes: int) -> bytes:
        where = sandbox_path_str(await self._validate_path_access(path))
        ran = await self._program(['sh', '-c', '[ -e "$1" ] || exit 44; [ -f "$1" ] || exit 45; exec head -c "$2" < "$1"', 'sh', where, str(max_bytes)], 30.0, None, max_bytes)
        if ran.exit_code == 44:
            raise WorkspaceReadNotFoundError(path=path)
        if ran.exit_code or ran.truncated:
            raise WorkspaceArchiveReadError(path=path)
        return ran.stdout

    async def write(self, path: Path, data: io.IOBase, *, user: Any = None) -> None:
        self._one_user(user)
        content = await asyncio.to_thread(coerce_write_payload(path=path, data=data).stream.read)
        where = await self._validate_path_access(path, for_write=True)
        await self._put(path, sandbox_path_str(where), content)

    async def _put(self, path: Path, where: str, content: bytes) -> None:
        try:
            await self._session.files.write(where, content)
        except StatusError as e:
            raise WorkspaceArchiveWriteError(path=path, context={'reason': str(e)}, cause=e, retryable=e.retryable) from e

    # -- the whole workspace

    async def persist_workspace(self) -> io.IOBase:
        root = self.state.manifest.root
        excludes = ['--exclude=./%s' % rel.as_posix() for rel in sorted(self._persist_workspace_skip_relpaths()) if rel.as_posix() not in ('', '.')]
        archive = '/tmp/.interp-%s.tar' % uuid.uuid4().hex
        error = posix_path_for_error(self._workspace_root_path())
        try:
            ran = await self._program(['tar', '-C', root, *excludes, '-cf', archive, '.'], None, None)
            if ran.exit_code:
                raise WorkspaceArchiveReadError(path=error, context={'reason': ran.stderr.decode('utf-8', 'replace')[:4096]})
            raw = await self._get(error, archive)
        finally:
            await self._remove(archive)
        return await asyncio.to_thread(_portable, raw, error)

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        root, error = self.state.manifest.root, posix_path_for_error(self._workspace_root_path())
        raw = await asyncio.to_thread(data.read)
        if not isinstance(raw, bytes):
            raise WorkspaceArchiveWriteError(path=error, context={'reason': 'non_bytes_tar_payload'})
        try:
            await asyncio.to_thread(validate_tar_bytes, raw, allow_external_symlink_targets=False)
        except UnsafeTarMemberError as e:
            raise WorkspaceArchiveWriteError(path=error, context={'reason': e.reason, 'member': e.member}, cause=e) from e
        archive = '/tmp/.interp-%s.tar' % uuid.uuid4().hex
        try:
            await self._put(error, archive, raw)
            ran = await self._program(['sh', '-c', 'mkdir -p -- "$1" && exec tar -C "$1" -xf "$2"', 'sh', root, archive], None, None)
            if ran.exit_code:
                raise WorkspaceArchiveWriteError(path=error, context={'reason': ran.stderr.decode('utf-8', 'replace')[:4096]})
        finally:
            await self._remove(archive)

    async def _remove(self, path: str) -> None:
        try:
            await self._program(['rm', '-f', '--', path], 10.0, None)
        except ExecTransportError:
            pass    # the sandbox is gone, and the file with it


def _portable(raw: bytes, error: Path) -> io.IOBase:
    """The archive without what no other sandbox takes: pipes, sockets, devices. It lay in the sandbox, so it may be any bytes: nothing in it may be larger than it."""
    out = io.BytesIO()
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode='r:') as have, tarfile.open(fileobj=out, mode='w', format=tarfile.PAX_FORMAT) as kept:
            for member in have:
                if member.issparse() or not 0 <= member.size <= len(raw):
                    raise tarfile.ReadError('%s has not the size of a file in this archive' % member.name)
                if member.isfile() or member.isdir() or member.issym() or member.islnk():
                    kept.addfile(member, have.extractfile(member) if member.isfile() else None)
    except (tarfile.TarError, OSError, ValueError) as e:
        raise WorkspaceArchiveReadError(path=error, cause=e) from e
    out.seek(0)
    return out


class InterpSandboxClient(BaseSandboxClient[InterpSandboxClientOptions]):
    """Makes sandboxes on this machine (or with `backend="docker"` in the options, in containers): real ones, where the SDK's own local client confines nothing."""

    backend_id = 'interp'
    supports_default_options = True

    def __init__(self, *, instrumentation: Optional[Instrumentation] = None, dependencies: Optional[Dependencies] = None) -> None:
        super().__init__()
        self._instrumentation = instrumentation if instrumentation is not None else Instrumentation()
        self._dependencies = dependencies
        self._open: Dict[str, AsyncSession] = {}

    async def create(self, *, snapshot: SnapshotSpec | SnapshotBase | None = None, manifest: Optional[Manifest] = None,
                     options: Optional[InterpSandboxClientOptions] = None) -> SandboxSession:
        manifest = self._checked(manifest if manifest is not None else Manifest())
        session_id = uuid.uuid4()
        state = InterpSandboxSessionState(session_id=session_id, manifest=manifest, snapshot=resolve_snapshot(snapshot, str(session_id)),
                                          options=dict(options.options) if options is not None else {})
        return await self._start(state)

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        if not isinstance(state, InterpSandboxSessionState):
            raise TypeError('InterpSandboxClient.resume expects an InterpSandboxSessionState')
        state.assert_path_grants_rebound()
        self._checked(state.manifest)
        living = self._open.get(state.interp_session)
        if living is not None and living.status == 'open':
            inner = InterpSandboxSession(state=state, session=living)
            inner._set_start_state_preserved(True)
            return self._wrap_session(inner, instrumentation=self._instrumentation)
        state.workspace_root_ready = False
        return await self._start(state)

    async def _start(self, state: InterpSandboxSessionState) -> SandboxSession:
        env = await state.manifest.environment.resolve()
        session = await AsyncSession(env=env, **state.options).open()
        state.interp_session = session.info['session']
        self._open = {key: s for key, s in self._open.items() if s.status == 'open'}
        self._open[state.interp_session] = session
        return self._wrap_session(InterpSandboxSession(state=state, session=session), instrumentation=self._instrumentation)

    def _checked(self, manifest: Manifest) -> Manifest:
        for grant in manifest.extra_path_grants:
            if grant.host_path is not None:
                raise ValueError('directories of the host are given to this sandbox by its options (options={"mounts": …}), not by a path grant: %s' % grant.path)
        checked: Manifest = self._validate_manifest_for_create(manifest)
        return checked

    async def delete(self, session: SandboxSession) -> SandboxSession:
        inner = session._inner
        if not isinstance(inner, InterpSandboxSession):
            raise TypeError('InterpSandboxClient.delete expects an InterpSandboxSession')
        await inner.shutdown()
        self._open.pop(inner.state.interp_session, None)
        return session

    def deserialize_session_state(self, payload: Dict[str, object]) -> SandboxSessionState:
        return self._deserialize_session_state_payload(payload, InterpSandboxSessionState)
