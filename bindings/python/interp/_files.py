"""Files of a session: what both faces share, and the blocking face."""
from __future__ import annotations

import errno
import os
from ctypes import byref, c_void_p

from . import _exec, _ffi, _text
from ._handle import Handle, Use
from ._held import Held, Shared
from ._library import lib
from .errors import ClosedError, InvalidError, NotFoundError, StatusError, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Type, Union

    from ._context import BaseContext
    from ._session import Session

    Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]

# One piece of what is handed to the library at a time.
PIECE = 256 << 10
LIST_MAX = 10000


def name(entry: Dict[str, Any], text: str, base64: str) -> str:
    """A name of an entry as a str that `_text.path` makes the same bytes of."""
    if base64 in entry:
        from base64 import b64decode
        return b64decode(entry[base64]).decode('utf-8', 'surrogateescape')
    return str(entry[text])


class FileInfo:
    """What there is under a name.

    `path` is as it was asked for or, in a list, the listed directory and the name; `name` its last component (in a recursive list: below the listed
    directory); `type` "file", "dir", "link", "fifo", "socket", "char" or "block"; `size` in bytes; `mode` permission bits; `mtime` seconds since
    1970; `target` where a link leads (`stat` only); `closed` a directory that a recursive list could not enter."""

    __slots__ = ('path', 'name', 'type', 'size', 'mode', 'mtime', 'target', 'closed')

    def __init__(self, path: str, name: str, type: str, size: int, mode: int, mtime: float, target: Optional[str] = None, closed: bool = False) -> None:
        self.path, self.name, self.type, self.size, self.mode, self.mtime, self.target, self.closed = path, name, type, size, mode, mtime, target, closed

    @property
    def is_dir(self) -> bool:
        return self.type == 'dir'

    @property
    def is_file(self) -> bool:
        return self.type == 'file'

    def __repr__(self) -> str:
        return 'FileInfo(%r, %r, size=%d)' % (self.path, self.type, self.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileInfo) and all(getattr(self, k) == getattr(other, k) for k in self.__slots__)

    __hash__ = None  # type: ignore[assignment]


class Listing(list):  # type: ignore[type-arg]
    """A list of FileInfo; `complete` says whether it is all that there is."""

    complete = True


def info(at: bytes, facts: Dict[str, Any]) -> FileInfo:
    shown = at.decode('utf-8', 'surrogateescape')
    target = name(facts, 'target', 'target_base64') if 'target' in facts else None
    return FileInfo(shown, shown.rstrip('/').rpartition('/')[2] or shown, facts['type'], facts['size'], facts['mode'], facts['mtime_ms'] / 1000, target)


def listing(at: bytes, facts: Dict[str, Any]) -> 'List[FileInfo]':
    top = at.decode('utf-8', 'surrogateescape')
    top = '' if top in ('.', './') else top.rstrip('/') + '/'
    found = Listing()
    for e in facts['entries']:
        n = name(e, 'name', 'path_base64')
        found.append(FileInfo(top + n, n, e['type'], e['size'], e['mode'], e['mtime_ms'] / 1000, None, bool(e.get('closed'))))
    found.complete = facts['complete']
    return found


# ---- the start of each call; gives (function, arguments before &call)

def put_call(at: bytes, size: Optional[int], mode: int) -> Tuple[Any, Tuple[Any, ...]]:
    return lib.interp_session_put_start, (at, len(at), _ffi.UNKNOWN if size is None else size, _text.number(mode, 'mode'))


def get_call(at: bytes, max_bytes: Optional[int]) -> Tuple[Any, Tuple[Any, ...]]:
    return lib.interp_session_get_start, (at, len(at), _ffi.FOREVER if max_bytes is None else _text.number(max_bytes, 'max_bytes'))


def list_call(at: bytes, recursive: bool, limit: int) -> Tuple[Any, Tuple[Any, ...]]:
    return lib.interp_session_list_start, (at, len(at), _ffi.FILE_RECURSIVE if recursive else 0, _text.number(limit, 'limit'))


def stat_call(at: bytes) -> Tuple[Any, Tuple[Any, ...]]:
    return lib.interp_session_stat_start, (at, len(at))


def mkdir_call(at: bytes, parents: bool) -> Tuple[Any, Tuple[Any, ...]]:
    return lib.interp_session_mkdir_start, (at, len(at), _ffi.FILE_PARENTS if parents else 0)


def rename_call(old: bytes, new: bytes, replace: bool) -> Tuple[Any, Tuple[Any, ...]]:
    return lib.interp_session_rename_start, (old, len(old), new, len(new), 0 if replace else _ffi.FILE_KEEP)


def remove_call(at: bytes, recursive: bool) -> Tuple[Any, Tuple[Any, ...]]:
    return lib.interp_session_remove_start, (at, len(at), _ffi.FILE_RECURSIVE if recursive else 0)


def begin(session: int, what: Tuple[Any, Tuple[Any, ...]], call: c_void_p) -> int:
    """Starts it; `call`, which whoever frees it has already, gets it."""
    err = c_void_p()
    check(what[0](session, *what[1], byref(call), byref(err)), err)
    return call.value or 0


def facts(call: int) -> Dict[str, Any]:
    """The JSON of a finished call."""
    value: Dict[str, Any] = _text.parse(_text.sized(lib.interp_call_json, call))
    return value


def data_of(event: c_void_p) -> bytes:
    return _text.sized(lib.interp_event_data, event) if lib.interp_event_type(event) == _ffi.EV_DATA else b''


def pieces(source: Any) -> Iterator[bytes]:
    """Bytes, a binary file, or an iterable of bytes, in pieces."""
    if isinstance(source, (str, bytes, bytearray, memoryview)):
        whole = memoryview(_text.data(source, 'data'))
        for i in range(0, len(whole), PIECE):
            yield bytes(whole[i:i + PIECE])
        return
    read = getattr(source, 'read', None)
    if read is None or isinstance(source, Reader):     # whose read takes no size
        for piece in source:
            yield _text.data(piece, 'data')
        return
    while True:
        piece = read(PIECE)
        if not piece:
            return
        yield _text.data(piece, 'data')


def size_of(source: Any) -> Optional[int]:
    return len(_text.data(source, 'data')) if isinstance(source, (str, bytes, bytearray, memoryview)) else None


class Reader(Held):
    """The bytes of a file as they come: iterate it for pieces. Not asking holds the sandbox back. `with`, or `close`, when not all is read."""

    _instead = 'take the bytes of reader.read()'

    def __init__(self, session: 'Session', what: Tuple[Any, Tuple[Any, ...]]) -> None:
        self._session, call = session, c_void_p()
        self._handle = Handle(call, lib.interp_call_free, 'file', None, session._handle)
        with Use(session._handle) as s:
            begin(s, what, call)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._handle.ended:
            raise StopIteration
        try:
            with Use(self._session._handle), Use(self._handle) as call:
                piece = _next(self._session._context, call)
        except BaseException:
            self.close()
            raise
        if piece is None:
            self.close()
            raise StopIteration
        return piece

    def read(self) -> bytes:
        """All that is left."""
        return b''.join(self)

    def close(self) -> None:
        """Lets go of it. Idempotent."""
        self._handle.end(wait=False)

    def __enter__(self) -> 'Reader':
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        handle = getattr(self, '_handle', None)
        if handle is not None:
            handle.end(wait=False)


def _next(context: 'BaseContext', call: int) -> Optional[bytes]:
    """The next bytes of a get; None at its end, which may be an error."""
    event, err = c_void_p(), c_void_p()
    while True:
        status = check(lib.interp_call_next(call, byref(event)), err)
        if status == _ffi.AGAIN:
            _exec.wait(context, call)
        elif status == _ffi.DONE:
            check(lib.interp_call_finish(call, None, byref(err)), err)
            return None
        else:
            piece = data_of(event)
            if piece:
                return piece


class Files(Shared):
    """Files of a session, as `session.files`. Paths are of the sandbox: relative ones below /workspace. Names may be any bytes: a str that is
    not UTF-8 carries them as surrogateescape has it."""

    __slots__ = ('_session',)

    def __init__(self, session: 'Session') -> None:
        self._session = session

    def _run(self, what: Tuple[Any, Tuple[Any, ...]], drive: Optional[Callable[[int], None]] = None, on_event: Optional[Callable[[c_void_p], None]] = None) -> Dict[str, Any]:
        box = c_void_p()
        with Use(self._session._handle) as s:
            try:
                call = begin(s, what, box)
                if drive:
                    drive(call)
                _exec.complete(self._session._context, call, on_event)
                return facts(call)
            finally:
                lib.interp_call_free(box)

    def read(self, path_: 'Path', *, max_bytes: Optional[int] = None) -> bytes:
        """The content of a regular file; LimitError when it is larger than max_bytes."""
        got: List[bytes] = []
        self._run(get_call(_text.path(path_), max_bytes), None, lambda event: got.append(data_of(event)))
        return b''.join(got)

    def read_text(self, path_: 'Path', encoding: str = 'utf-8', errors: str = 'strict', *, max_bytes: Optional[int] = None) -> str:
        """The same as text."""
        return self.read(path_, max_bytes=max_bytes).decode(encoding, errors)

    def open_read(self, path_: 'Path', *, max_bytes: Optional[int] = None) -> Reader:
        """A file of any size as an iterator of its bytes."""
        return Reader(self._session, get_call(_text.path(path_), max_bytes))

    def write(self, path_: 'Path', data: 'Union[str, bytes, bytearray, memoryview, Iterable[bytes], Any]', *, mode: int = 0o644) -> None:
        """Makes or replaces a file: a text (as UTF-8), bytes, a binary file object, or an iterable of bytes. Missing parents are made; the file is
        there when it is whole, or not at all."""
        context = self._session._context

        def drive(call: int) -> None:
            send(pieces(data), call, lambda: _exec.wait(context, call))

        self._run(put_call(_text.path(path_), size_of(data), mode), drive)

    def list(self, path_: 'Path' = '.', *, recursive: bool = False, limit: int = LIST_MAX) -> 'List[FileInfo]':
        """A directory in order of names, `limit` entries at most; its `complete` is False when that left some out."""
        at = _text.path(path_)
        return listing(at, self._run(list_call(at, recursive, limit)))

    def stat(self, path_: 'Path') -> FileInfo:
        """What there is under a name; a link itself, not what it leads to."""
        at = _text.path(path_)
        return info(at, self._run(stat_call(at)))

    def exists(self, path_: 'Path') -> bool:
        """Whether there is anything under a name."""
        try:
            self.stat(path_)
        except (NotFoundError, InvalidError) as e:
            if is_absent(e):
                return False
            raise
        return True

    def mkdir(self, path_: 'Path', *, parents: bool = True) -> bool:
        """Makes a directory; False when it was there, which is ExistsError without `parents`."""
        return bool(self._run(mkdir_call(_text.path(path_), parents))['created'])

    def rename(self, old: 'Path', new: 'Path', *, replace: bool = True) -> None:
        """Renames, over a file that is there unless `replace` is False (ExistsError)."""
        self._run(rename_call(_text.path(old), _text.path(new), replace))

    def remove(self, path_: 'Path', *, recursive: bool = False) -> int:
        """Removes a file, a link or an empty directory; with `recursive` a directory with all in it. How many names it removed."""
        return int(self._run(remove_call(_text.path(path_), recursive))['removed'])

    def put_tree(self, source: 'Path', path_: 'Path' = '.', *, links: bool = False) -> int:
        """Copies a directory of this machine into one of the sandbox: directories and regular files with their permission bits. Links are left out, or with `links` taken along, which is
        DeniedError when one leads out of the directory. How many files it put. At most the config's tree_bytes and tree_entries, else LimitError."""
        return int(self._run(put_tree_call(_text.path(path_), source, links))['files'])

    def get_tree(self, path_: 'Path', dest: 'Path', *, max_bytes: Optional[int] = None, links: bool = False) -> 'List[FileInfo]':
        """Copies a directory of the sandbox to a directory of this machine, which must not be there yet. Directories and regular files, with `links` also links that stay within it, without set-user-id and
        the like; what was left out (links, devices, what could not be read) is returned. LimitError when the files have more than max_bytes together, or the tree more than the config's tree_bytes and tree_entries."""
        at = _text.path(path_)
        return left_out(at, self._run(get_tree_call(at, dest, max_bytes, links)))

    def put_tar(self, archive: 'Union[bytes, bytearray, memoryview, Iterable[bytes], Any]', path_: 'Path' = '.', *, links: bool = True) -> int:
        """Unpacks a tar archive, plain or gzip'ed, below a directory of the sandbox: bytes, a binary file object, or an iterable of bytes. DeniedError names the entry that would leave it. How many files it put."""
        context = self._session._context

        def drive(call: int) -> None:
            send(pieces(archive), call, lambda: _exec.wait(context, call))

        return int(self._run(put_tar_call(_text.path(path_), links), drive)['files'])

    def get_tar(self, path_: 'Path' = '.', *, max_bytes: Optional[int] = None, links: bool = True) -> Reader:
        """A directory of the sandbox as a tar archive: an iterator of its bytes, to be read or closed."""
        return Reader(self._session, get_tar_call(_text.path(path_), max_bytes, links))


def put_tree_call(at: bytes, source: Any, links: bool) -> Tuple[Any, Tuple[Any, ...]]:
    source = os.fsencode(source)
    if not os.path.isdir(source):
        raise NotADirectoryError('%r is no directory' % source)
    return lib.interp_session_put_dir_start, (at, len(at), _ffi.TREE_LINKS if links else 0, source)


def get_tree_call(at: bytes, dest: Any, max_bytes: Optional[int], links: bool) -> Tuple[Any, Tuple[Any, ...]]:
    dest = os.fsencode(dest)
    if os.path.lexists(dest):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(dest))
    if not os.path.isdir(os.path.dirname(os.path.abspath(dest))):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(dest))
    return lib.interp_session_get_dir_start, (at, len(at), _ffi.TREE_LINKS if links else 0, _ffi.FOREVER if max_bytes is None else _text.number(max_bytes, 'max_bytes'), dest)


def put_tar_call(at: bytes, links: bool) -> Tuple[Any, Tuple[Any, ...]]:
    return lib.interp_session_put_tar_start, (at, len(at), _ffi.TREE_LINKS if links else 0)


def get_tar_call(at: bytes, max_bytes: Optional[int], links: bool) -> Tuple[Any, Tuple[Any, ...]]:
    return lib.interp_session_get_tar_start, (at, len(at), _ffi.TREE_LINKS if links else 0, _ffi.FOREVER if max_bytes is None else _text.number(max_bytes, 'max_bytes'))


def left_out(at: bytes, facts: Dict[str, Any]) -> 'List[FileInfo]':
    """What a tree's JSON says has been left out; its `complete` is False when that is more than it names."""
    for e in facts['left']:
        e['closed'] = e['type'] == 'dir' and e['why'] == 'closed'
    left = [e for e in facts['left'] if e['why'] != 'changed']
    return listing(at, {'entries': left, 'complete': len(left) == facts['left_total']})


def is_absent(error: StatusError) -> bool:
    """Whether it says that there is nothing under that name: also where something above it is no directory."""
    return isinstance(error, NotFoundError) or error.reason == 'not-directory'


def send(source: Iterator[bytes], call: int, wait: Callable[[], Any]) -> None:
    """Writes all of it to a put and ends it; stops where the call has failed, which its end tells."""
    event = c_void_p()
    for piece in source:
        while piece:
            taken = write(call, piece)
            if taken is None:
                return
            piece = piece[taken:]
            if piece:
                wait()
                while lib.interp_call_next(call, byref(event)) == _ffi.OK:
                    pass
    write_end(call)


def write(call: int, piece: bytes) -> Optional[int]:
    """How many bytes of it a put took; None when it has failed."""
    try:
        return _exec.write(call, piece)
    except ClosedError:
        return None


def write_end(call: int) -> None:
    """Ends what a put is given, unless it has failed."""
    err = c_void_p()
    try:
        check(lib.interp_call_write_end(call, byref(err)), err)
    except ClosedError:
        pass
