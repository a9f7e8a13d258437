"""The executor under smolagents' own CodeAgent, with a model that says what it is told to."""
import pytest

pytest.importorskip('smolagents')
from interp.adapters.smolagents import InterpExecutor  # noqa: E402
from smolagents import CodeAgent, FinalAnswerTool, tool  # noqa: E402
from smolagents.local_python_executor import InterpreterError, PythonExecutor  # noqa: E402
from smolagents.models import ChatMessage, MessageRole, Model  # noqa: E402
from smolagents.utils import AgentError  # noqa: E402


class Told(Model):
    """A model that takes its steps from a list, and keeps what it was shown."""

    def __init__(self, *steps):
        super().__init__(model_id='told')
        self.steps, self.shown = list(steps), []

    def generate(self, messages, **_):
        self.shown.append(str(messages[-1].content))
        return ChatMessage(role=MessageRole.ASSISTANT, content='Thought: so.\n<code>\n%s\n</code>' % self.steps.pop(0))


@tool
def double(n: int) -> int:
    """Doubles a number.

    Args:
        n: the number
    """
    return n * 2


def test_an_agent(session):
    model = Told('y = double(n=21)\nprint("y is", y)', 'import socket', 'y / 0', 'y += 1\nfinal_answer({"y": y, "pair": (1, 2)})')
    executor = InterpExecutor(session, ['numpy'])
    assert isinstance(executor, PythonExecutor)
    agent = CodeAgent(tools=[double], model=model, executor=executor, verbosity_level=-1)
    assert agent.run('Go on.') == {'y': 43, 'pair': (1, 2)}
    assert 'y is 42' in model.shown[1] and 'Import of socket is not allowed' in model.shown[2] and 'ZeroDivisionError' in model.shown[3]


def test_state_and_values(session):
    executor = InterpExecutor(session)
    executor.send_variables({'given': [1, {'a': 2}], 'when': (1, 2)})
    out = executor('print(given)\nwhen')
    assert (out.output, out.logs, out.is_final_answer) == ('(1, 2)', "[1, {'a': 2}]\n", False)
    assert executor('class P:\n    def _repr_mimebundle_(self, **_):\n        return {"text/plain": "P", "image/png": b"no picture"}\nP()').output == 'P'
    assert executor('import sys; kept = 5').output is None and executor('kept').output == '5'
    with pytest.raises(AgentError, match='NameError'):
        executor('nothing')
    with pytest.raises(AgentError, match='SyntaxError'):
        executor('x = = 1')


def test_final_answers(session):
    executor = InterpExecutor(session)
    executor.send_tools({'final_answer': FinalAnswerTool()})
    for code, value in (('"x" * 3000000', 'x' * 3000000), ('[None, True, 1.5, "\\u20ac", b"\\xff"]', [None, True, 1.5, '€', b'\xff']), ('answer=7', 7)):
        out = executor('print("said")\nfinal_answer(%s)' % code)
        assert out.is_final_answer and out.output == value and out.logs == 'said\n'
    with pytest.raises(AgentError, match='serialize'):
        executor('final_answer(object())')
    # one that the code made itself is an answer without a value, not a way to the host
    with pytest.raises(AgentError):
        executor('class FinalAnswerException(Exception): pass\nfinal_answer.kept = "pickle:gASVBQAAAAAAAABLLg=="\nraise FinalAnswerException("x")')


def test_imports(session):
    executor = InterpExecutor(session, ['os.path', 'json.*'])
    for fine in ('import os.path', 'import json.decoder as d', 'from json import decoder', 'import math, re', 'from datetime import datetime'):
        executor(fine)
    for bad in ('import os', 'import subprocess', 'from os import system', 'def f():\n    import ctypes', 'import math, socket', 'from . import x'):
        with pytest.raises(InterpreterError, match='not allowed'):
            executor(bad)
    InterpExecutor(session, ['*'])('import socket')


def test_pictures(session):
    code = ('import base64\nclass P:\n    def _repr_png_(self):\n'
            '        return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==")\nP()')
    assert InterpExecutor(session)(code).output.size == (1, 1)


def test_clean_up(session):
    agent = CodeAgent(tools=[], model=Told('final_answer(1)'), executor=InterpExecutor(session, close_session=True), verbosity_level=-1)
    with agent:
        assert agent.run('Go on.') == 1
    assert session.status == 'gone'
