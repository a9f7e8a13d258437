"""Parts of a result that are made when asked for."""
from typing import NamedTuple, Optional, Tuple


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
