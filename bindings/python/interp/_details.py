"""Parts of a result that are made when asked for."""
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union


class Frame(NamedTuple):
    """One frame of a traceback, in user code."""

    file: str
    line: Optional[int]
    function: Optional[str]
    source: Optional[str]


class ErrorInfo(NamedTuple):
    """The error of user code, as far as its language tells."""

    type: str
    message: str
    line: Optional[int]
    column: Optional[int]
    frames: Tuple[Frame, ...]
    traceback: str
    hint: Optional[str]


class Part(NamedTuple):
    """One form of the value or of a display."""

    mime: str
    data: Union[str, bytes]     # bytes where the type is none of text
    display: Optional[int]      # of which display: its index in `rich`; None for the value

    @property
    def is_picture(self) -> bool:
        return self.mime.startswith('image/')

    @property
    def size(self) -> Optional[Tuple[int, int]]:
        """Width and height of a PNG or GIF in pixels, as its header says them; None of anything else."""
        d = self.data
        if isinstance(d, bytes) and d[:8] == b'\x89PNG\r\n\x1a\n' and d[12:16] == b'IHDR' and len(d) >= 24:
            return int.from_bytes(d[16:20], 'big'), int.from_bytes(d[20:24], 'big')
        if isinstance(d, bytes) and d[:4] == b'GIF8' and len(d) >= 10:
            return int.from_bytes(d[6:8], 'little'), int.from_bytes(d[8:10], 'little')
        return None

    def __str__(self) -> str:
        """A few words: what it is, not what is in it."""
        words = [self.mime]
        if self.size:
            words.append('%dx%d' % self.size)
        words.append('%d bytes' % len(self.data if isinstance(self.data, bytes) else self.data.encode('utf-8', 'replace')))
        return ', '.join(words)


class Usage(NamedTuple):
    """What the exec took; None where it could not be measured."""

    wall_ns: Optional[int]
    cpu_ns: Optional[int]
    memory_peak_bytes: Optional[int]
    oom_kills: int
    limits_hit: Tuple[str, ...]


class Late(NamedTuple):
    """What background work of an earlier exec wrote since the last result."""

    stream: str
    exec: int
    data: bytes


class Change(NamedTuple):
    """A file that an exec created, changed or deleted. `mime` and `sha256` are None where its content was not looked at, `data` where it did not come (`fetch_files_bytes`)."""

    path: str
    type: str
    size: Optional[int]
    mime: Optional[str]
    sha256: Optional[str]
    data: Optional[bytes]


class ChangeSet(NamedTuple):
    """What an exec did to the files of the workspace; `complete` says whether that is known to be all."""

    created: List[Change]
    changed: List[Change]
    deleted: List[Change]
    complete: bool


def _change(item: Dict[str, Any]) -> Change:
    from base64 import b64decode
    path = b64decode(item['path_base64']).decode('utf-8', 'surrogateescape') if 'path_base64' in item else item['path']
    data = item['text'].encode('utf-8') if 'text' in item else b64decode(item['base64']) if 'base64' in item else None
    return Change(path, item['type'], item.get('size'), item.get('mime'), item.get('sha256'), data)


def changes(facts: Optional[Dict[str, Any]]) -> Optional[ChangeSet]:
    if facts is None:
        return None
    lists = [[_change(item) for item in facts[name]] for name in ('created', 'changed', 'deleted')]
    return ChangeSet(lists[0], lists[1], lists[2], bool(facts['complete']))


class Output(NamedTuple):
    """A piece of an exec's output, read by offset."""

    data: bytes
    offset: int     # of its first byte; more than was asked for where something between is not kept
    next: int       # where to ask on
    ended: bool     # the exec has ended and there is no more


class Kernel(NamedTuple):
    """One interpreter of a session."""

    language: str
    name: str
    state: str              # "starting", "idle", "busy", "stopping", "ended"
    exec: Optional[int]     # number of the exec that it works on
    version: Optional[str]
    path: Optional[str]


class Probe(Dict[str, Any]):
    """What there is in a sandbox. `text`, which is also its str(), says it in a few lines for a model's prompt."""

    text: str = ''

    def __str__(self) -> str:
        return self.text
