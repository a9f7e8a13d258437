"""Files of a session, the asyncio face."""
from __future__ import annotations

from ctypes import byref, c_void_p
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterable, AsyncIterator, Dict, Iterable, List, Optional, Tuple, Type, Union

from . import _ffi, _files, _text
from ._files import FileInfo
from ._handle import Handle
from ._held import Held, Shared
from ._library import lib
from .errors import BusyError, InvalidError, NotFoundError, check

if TYPE_CHECKING:
    from ._aio import AsyncContext, AsyncSession
    from ._files import Path


async def _next(context: 'AsyncContext', call: int) -> Optional[bytes]:
    """The next bytes of a get; None at its end, which may be an error."""
    event, err = c_void_p(), c_void_p()
    while True:
        status = check(lib.interp_call_next(call, byref(event)), err)
        if status == _ffi.AGAIN:
            await context._wait(call)
        elif status == _ffi.DONE:
            check(lib.interp_call_finish(call, None, byref(err)), err)
            return None
        else:
            piece = _files.data_of(event)
            if piece:
                return piece


async def _write(context: 'AsyncContext', call: int, piece: bytes) -> bool:
    """Writes all of it to a put; False when that has failed, which its end tells."""
    event, err = c_void_p(), c_void_p()
    while piece:
        taken = _files.write(call, piece)
        if taken is None:
            return False
        piece = piece[taken:]
        while piece:
            status = check(lib.interp_call_next(call, byref(event)), err)
            if status == _ffi.AGAIN:
                await context._wait(call)
            else:
                break
    return True


class Turn:
    """One task at a time waits for a call; another one is told so and changes nothing."""

    __slots__ = ('_what', '_taken')

    def __init__(self, what: str) -> None:
        self._what, self._taken = what, False

    def __enter__(self) -> None:
        if self._taken:
            raise BusyError('another task waits for this %s' % self._what, 'task')
        self._taken = True

    def __exit__(self, *_: Any) -> None:
        self._taken = False


class AsyncReader(Held):
    """The bytes of a file as they come, for `async for`. Not asking holds the sandbox back. `async with`, or `close`, when not all is read."""

    _instead = 'take the bytes of `await reader.read()`'

    def __init__(self, session: 'AsyncSession', what: Tuple[Any, Tuple[Any, ...]]) -> None:
        s, self._session, call = session._pointer(), session, c_void_p()
        self._handle = Handle(call, session._owner._free, 'file')
        self._turn = Turn('file')
        _files.begin(s, what, call)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._handle.ended:
            raise StopAsyncIteration
        with self._turn:
            try:
                piece = await _next(self._session._owner, self._handle.alive())
            except BaseException:
                self.close()
                raise
        if piece is None:
            self.close()
            raise StopAsyncIteration
        return piece

    async def read(self) -> bytes:
        """All that is left."""
        return b''.join([piece async for piece in self])

    def close(self) -> None:
        """Lets go of it. Idempotent."""
        self._handle.end(wait=False)

    async def __aenter__(self) -> 'AsyncReader':
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        handle = getattr(self, '_handle', None)
        if handle is not None and not handle.ended:
            from ._aio import _Ending
            self._session._owner._in_loop(_Ending(handle))


class AsyncFiles(Shared):
    """Files of a session, as `session.files`; as `Files`, to be awaited."""

    __slots__ = ('_session',)

    def __init__(self, session: 'AsyncSession') -> None:
        self._session = session

    async def _finish(self, call: int) -> Dict[str, Any]:
        while await _next(self._session._owner, call) is not None:
            pass
        return _files.facts(call)

    async def _run(self, what: Tuple[Any, Tuple[Any, ...]]) -> Dict[str, Any]:
        box = c_void_p()
        try:
            return await self._finish(_files.begin(self._session._pointer(), what, box))
        finally:
            lib.interp_call_free(box)

    async def read(self, path: 'Path', *, max_bytes: Optional[int] = None) -> bytes:
        """The content of a regular file; LimitError when it is larger than max_bytes."""
        async with self.open_read(path, max_bytes=max_bytes) as reader:
            return await reader.read()

    async def read_text(self, path: 'Path', encoding: str = 'utf-8', errors: str = 'strict', *, max_bytes: Optional[int] = None) -> str:
        """The same as text."""
        return (await self.read(path, max_bytes=max_bytes)).decode(encoding, errors)

    def open_read(self, path: 'Path', *, max_bytes: Optional[int] = None) -> AsyncReader:
        """A file of any size as an iterator of its bytes."""
        return AsyncReader(self._session, _files.get_call(_text.path(path), max_bytes))

    async def write(self, path: 'Path', data: 'Union[str, bytes, bytearray, memoryview, Iterable[bytes], AsyncIterable[bytes], Any]', *, mode: int = 0o644) -> None:
        """Makes or replaces a file; as `Files.write`, and an async iterable of bytes will do too."""
        await self._put(_files.put_call(_text.path(path), _files.size_of(data), mode), data)

    async def _put(self, what: Tuple[Any, Tuple[Any, ...]], data: Any) -> Dict[str, Any]:
        box = c_void_p()
        try:
            call = _files.begin(self._session._pointer(), what, box)
            owner = self._session._owner
            if hasattr(data, '__aiter__'):
                async for piece in data:
                    if not await _write(owner, call, _text.data(piece, 'data')):
                        break
            else:
                for piece in _files.pieces(data):
                    if not await _write(owner, call, piece):
                        break
            _files.write_end(call)
            return await self._finish(call)
        finally:
            lib.interp_call_free(box)

    async def list(self, path: 'Path' = '.', *, recursive: bool = False, limit: int = _files.LIST_MAX) -> 'List[FileInfo]':
        """A directory in order of names, `limit` entries at most; its `complete` is False when that left some out."""
        at = _text.path(path)
        return _files.listing(at, await self._run(_files.list_call(at, recursive, limit)))

    async def stat(self, path: 'Path') -> FileInfo:
        """What there is under a name; a link itself, not what it leads to."""
        at = _text.path(path)
        return _files.info(at, await self._run(_files.stat_call(at)))

    async def exists(self, path: 'Path') -> bool:
        """Whether there is anything under a name."""
        try:
            await self.stat(path)
        except (NotFoundError, InvalidError) as e:
            if _files.is_absent(e):
                return False
            raise
        return True

    async def mkdir(self, path: 'Path', *, parents: bool = True) -> bool:
        """Makes a directory; False when it was there, which is ExistsError without `parents`."""
        return bool((await self._run(_files.mkdir_call(_text.path(path), parents)))['created'])

    async def rename(self, old: 'Path', new: 'Path', *, replace: bool = True) -> None:
        """Renames, over a file that is there unless `replace` is False (ExistsError)."""
        await self._run(_files.rename_call(_text.path(old), _text.path(new), replace))

    async def remove(self, path: 'Path', *, recursive: bool = False) -> int:
        """Removes a file, a link or an empty directory; with `recursive` a directory with all in it. How many names it removed."""
        return int((await self._run(_files.remove_call(_text.path(path), recursive)))['removed'])

    async def put_tree(self, source: 'Path', path: 'Path' = '.', *, links: bool = False) -> int:
        """Copies a directory of this machine into one of the sandbox; as `Files.put_tree`. Reading the files of this machine blocks the loop, a piece at a time."""
        return int((await self._run(_files.put_tree_call(_text.path(path), source, links)))['files'])

    async def get_tree(self, path: 'Path', dest: 'Path', *, max_bytes: Optional[int] = None, links: bool = False) -> 'List[FileInfo]':
        """Copies a directory of the sandbox to a directory of this machine, which must not be there yet; as `Files.get_tree`."""
        at = _text.path(path)
        return _files.left_out(at, await self._run(_files.get_tree_call(at, dest, max_bytes, links)))

    async def put_tar(self, archive: 'Union[bytes, bytearray, memoryview, Iterable[bytes], AsyncIterable[bytes], Any]', path: 'Path' = '.', *, links: bool = True) -> int:
        """Unpacks a tar archive below a directory of the sandbox; as `Files.put_tar`, and an async iterable of bytes will do too."""
        return int((await self._put(_files.put_tar_call(_text.path(path), links), archive))['files'])

    def get_tar(self, path: 'Path' = '.', *, max_bytes: Optional[int] = None, links: bool = True) -> AsyncReader:
        """A directory of the sandbox as a tar archive, for `async for`."""
        return AsyncReader(self._session, _files.get_tar_call(_text.path(path), max_bytes, links))
