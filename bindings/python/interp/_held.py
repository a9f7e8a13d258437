"""Objects that own something of the C library, and what copy and pickle may do with them. An address is of one process, and what is there is freed once: neither
may take it along."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeVar

    S = TypeVar('S', bound='Shared')


class Held:
    """Neither copied nor pickled."""

    __slots__ = ()

    _instead = 'make one in the process that uses it'    # of pickling it

    def _refuse(self, what: str) -> NoReturn:
        name = type(self).__name__
        raise TypeError("%s %s can't be %s" % ('an' if name[0] in 'AEIOU' else 'a', name, what))

    def __copy__(self) -> Any:
        self._refuse('copied: use the same one')

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._refuse('pickled: ' + self._instead)


class Shared(Held):
    """A copy is the object itself, as of all that is immutable or meant to be shared."""

    __slots__ = ()

    def __copy__(self: S) -> S:
        return self
