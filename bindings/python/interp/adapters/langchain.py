"""Tools for LangChain, and for LangGraph agents."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Optional, Tuple, Union

from .. import AsyncSession
from . import _run

try:
    from langchain_core.tools import BaseTool, StructuredTool
except ImportError as e:
    _run.missing('langchain-core', 'langchain', e)

if TYPE_CHECKING:
    from .. import Result, Session

__all__ = ['tools']


def tools(session: Union[Session, AsyncSession], languages: Iterable[str] = ('python', 'bash'), *, timeout_ms: Optional[int] = None) -> List[BaseTool]:
    """One tool for each language, named like it, that takes `code`. A tool's content is the text that a `Result` has for models; its artifact is the `Result`.

    With a `Session` they may be called from any threads, which take turns; with an `AsyncSession` only by await (`ainvoke`), the languages at the same time."""
    return [_tool(session, language, timeout_ms) for language in languages]


def _tool(session: Union[Session, AsyncSession], language: str, timeout_ms: Optional[int]) -> BaseTool:
    description, argument = _run.describe(language)
    func: Optional[Callable[..., Any]] = None
    coroutine: Optional[Callable[..., Any]] = None
    if isinstance(session, AsyncSession):
        tasks = session

        async def coroutine(code: str) -> Tuple[str, Result]:
            async with _run.turn(tasks, language):
                result = await tasks.run(language, code, timeout_ms=timeout_ms)
            return str(result), result
    else:
        threads = session

        def func(code: str) -> Tuple[str, Result]:
            with _run.lock(threads):
                result = threads.run(language, code, timeout_ms=timeout_ms)
            return str(result), result
    schema = {'title': language, 'type': 'object', 'properties': {'code': {'type': 'string', 'description': argument}}, 'required': ['code']}
    return StructuredTool(name=language, description=description, args_schema=schema, func=func, coroutine=coroutine, response_format='content_and_artifact')
