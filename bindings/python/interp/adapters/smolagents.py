"""A Python executor for smolagents: `CodeAgent(executor=InterpExecutor(session), …)`."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Dict, Iterable, Optional, Set

from . import _run

try:
    import PIL.Image
    from smolagents.local_python_executor import BASE_BUILTIN_MODULES, CodeOutput, InterpreterError
    from smolagents.monitoring import AgentLogger, LogLevel
    from smolagents.remote_executors import RemotePythonExecutor
    from smolagents.utils import AgentError
except ImportError as e:
    _run.missing('smolagents', 'smolagents', e)

if TYPE_CHECKING:
    from .. import Result, Session

__all__ = ['InterpExecutor']

# The answer travels in an exception, whose message is bounded: the whole of it is kept until it is asked for.
_KEEP_ANSWER = '''
class _KeepAnswer:
    kept = ''
    def __init__(self, tool):
        self.tool = tool
    def __call__(self, *args, **kwargs):
        try:
            return self.tool(*args, **kwargs)
        except BaseException as e:
            self.kept = getattr(e, 'value', '')
            raise
final_answer = _KeepAnswer(final_answer)
'''


class InterpExecutor(RemotePythonExecutor):
    """Runs an agent's steps in the session's Python: state is kept, tools that are Python source run inside, `final_answer` ends the agent.

    `authorized_imports` names what code may import beside smolagents' own list ("numpy", "os.path", "json.*" for all of its parts); left out, everything that the
    sandbox has. What code does is confined by the sandbox in any case; the list keeps a model to what it was told. `close_session` closes the session with the
    agent's `cleanup`.

    Values come back as JSON, never as pickles: what `final_answer` gives must be numbers, texts, lists, dicts, dates, arrays, pictures or the like."""

    def __init__(self, session: Session, authorized_imports: Optional[Iterable[str]] = None, *, timeout_ms: Optional[int] = None, close_session: bool = False,
                 logger: Any = None) -> None:
        super().__init__([], logger or AgentLogger(level=LogLevel.ERROR), allow_pickle=False)
        self.session = session
        self._timeout_ms, self._close = timeout_ms, close_session
        self._allowed: Optional[Set[str]] = None if authorized_imports is None else set(authorized_imports) | set(BASE_BUILTIN_MODULES)
        if self._allowed is not None and '*' in self._allowed:
            self._allowed = None

    def __call__(self, code_action: str) -> CodeOutput:
        self._check_imports(code_action)
        return self.run_code_raise_errors(code_action)

    def send_tools(self, tools: Dict[str, Any]) -> None:
        super().send_tools(tools)
        if 'final_answer' in tools:
            self.run_code_raise_errors(_KEEP_ANSWER)

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Runs code; its error is raised as the framework wants it, with the text that a model needs."""
        with _run.lock(self.session):
            result = self.session.python(code, timeout_ms=self._timeout_ms)
            error, logs = result.error, result.stdout
            if error is not None and error.type.rsplit('.', 1)[-1] == self.FINAL_ANSWER_EXCEPTION:
                return CodeOutput(output=self._answer(), logs=logs, is_final_answer=True)
        if not result.ok:
            raise AgentError(str(result), self.logger)
        return CodeOutput(output=_value(result), logs=logs, is_final_answer=False)

    def _answer(self) -> Any:
        kept = _run.collect(self.session.stream('python', 'import sys; sys.stdout.write(final_answer.kept); None'), limit=64 << 20)
        try:
            return self._deserialize_final_answer(kept.stdout.decode('utf-8', 'replace'), False)
        except Exception as e:      # what the sandbox says may be anything
            raise AgentError('The final answer can not be read: %s' % ('it is larger than 64 MiB' if kept.truncated else e), self.logger) from None

    def install_packages(self, additional_imports: Any) -> Any:
        """Nothing can be fetched: what tools require must be in the sandbox. Where it is missing, their imports say so."""
        return additional_imports

    def cleanup(self) -> None:
        """Called by the agent's own `cleanup`."""
        if self._close:
            self.session.close()

    def _check_imports(self, code: str) -> None:
        if self._allowed is None:
            return
        try:
            tree = ast.parse(code)
        except SyntaxError:
            return      # the sandbox's Python says it better
        for node in ast.walk(tree):
            names = [n.name for n in node.names] if isinstance(node, ast.Import) else [node.module or ''] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                if not self._may_import(name):
                    raise InterpreterError('Import of %s is not allowed. Authorized imports are: %s' % (name, sorted(self._allowed)))

    def _may_import(self, name: str) -> bool:
        parts = name.split('.')
        starts = ['.'.join(parts[:i]) for i in range(1, len(parts) + 1)]
        allowed: Set[str] = self._allowed or set()
        return any(start in allowed or start + '.*' in allowed for start in starts)


def _value(result: Result) -> Any:
    """The value of a step: a picture as a picture, all else as the text that it shows."""
    from io import BytesIO
    forms: Dict[str, Any] = dict(result.value_mime)
    for mime in ('image/png', 'image/jpeg'):
        if isinstance(forms.get(mime), bytes):
            try:
                return PIL.Image.open(BytesIO(forms[mime]))
            except Exception:       # what the sandbox says may be anything
                pass
    return result.value
