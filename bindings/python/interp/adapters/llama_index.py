"""Tools for LlamaIndex agents."""
from typing import Iterable, List, Optional, Union

from .. import AsyncSession, Result, Session
from . import _run

try:
    from llama_index.core.tools import FunctionTool
except ImportError as e:
    _run.missing('llama-index-core', 'llama-index', e)

__all__ = ['tools']


def tools(session: Union[Session, AsyncSession], languages: Iterable[str] = ('python', 'bash'), *, timeout_ms: Optional[int] = None) -> List[FunctionTool]:
    """One tool for each language, named like it, that takes `code`. Its content is the text that a `Result` has for models; its raw output is the `Result`.

    With a `Session` they may be called from any threads, which take turns; with an `AsyncSession` only by await (`acall`), the languages at the same time."""
    return [_tool(session, language, timeout_ms) for language in languages]


def _tool(session: Union[Session, AsyncSession], language: str, timeout_ms: Optional[int]) -> FunctionTool:
    description, argument = _run.describe(language)
    description = '%s\n\nArgs:\n    code: %s' % (description, argument)
    if isinstance(session, AsyncSession):
        tasks = session

        async def run_async(code: str) -> Result:
            async with _run.turn(tasks, language):
                return await tasks.run(language, code, timeout_ms=timeout_ms)

        return FunctionTool.from_defaults(async_fn=run_async, name=language, description=description)
    threads = session

    def run(code: str) -> Result:
        with _run.lock(threads):
            return threads.run(language, code, timeout_ms=timeout_ms)

    return FunctionTool.from_defaults(fn=run, name=language, description=description)
