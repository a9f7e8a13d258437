"""Tools for LangChain, called as its agents call them."""
import asyncio

import interp
import pytest

pytest.importorskip('langchain_core')
from interp.adapters import langchain  # noqa: E402
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel  # noqa: E402
from langchain_core.messages import AIMessage, ToolMessage  # noqa: E402


def call(name, code, number='1'):
    return {'type': 'tool_call', 'id': number, 'name': name, 'args': {'code': code}}


def test_tools(session):
    python, bash = langchain.tools(session)
    assert (python.name, bash.name) == ('python', 'bash') and list(python.args) == ['code'] and 'variables' in python.description and 'code' in python.tool_call_schema['required']
    assert python.invoke({'code': 'x = 6\nx * 7'}) == '[value]\n42'
    assert bash.invoke({'code': 'cd /tmp; pwd'}).strip() == '/tmp' and bash.invoke({'code': 'pwd'}).strip() == '/tmp'
    message = python.invoke(call('python', 'print(x)\n1/0'))
    assert isinstance(message, ToolMessage) and message.tool_call_id == '1' and message.status == 'success'
    assert message.content.startswith('6\nTraceback') and isinstance(message.artifact, interp.Result) and message.artifact.error.type == 'ZeroDivisionError'
    assert asyncio.run(python.ainvoke({'code': 'x'})) == '[value]\n6'


def test_an_agent_calls_several_at_a_time(session):
    """Tools of one session that a framework's threads call at the same time take turns."""
    tools = {t.name: t for t in langchain.tools(session, ['python', 'bash', 'sh'])}

    async def main():
        calls = [call(name, code, str(n)) for n, (name, code) in enumerate([('python', 'import time; time.sleep(0.1); "p"'), ('bash', 'sleep 0.1; echo b'), ('sh', 'echo s'), ('python', '"q"')])]
        return await asyncio.gather(*(tools[c['name']].ainvoke(c) for c in calls))
    assert [m.content.strip() for m in asyncio.run(main())] == ["[value]\n'p'", 'b', 's', "[value]\n'q'"]


def test_with_asyncio():
    async def main():
        async with interp.AsyncSession() as s:
            python, bash = langchain.tools(s, timeout_ms=10000)
            found = await asyncio.gather(*(python.ainvoke({'code': str(n)}) for n in range(4)), bash.ainvoke({'code': 'echo hi'}))
            with pytest.raises(NotImplementedError):
                python.invoke({'code': '1'})
            return found
    assert asyncio.run(main()) == ['[value]\n0', '[value]\n1', '[value]\n2', '[value]\n3', 'hi']


def test_a_loop_with_a_model(session):
    """The round that an agent makes: the model's call, the tool's message, the model's answer."""
    tools = {t.name: t for t in langchain.tools(session)}
    model = FakeMessagesListChatModel(responses=[AIMessage('', tool_calls=[{'name': 'python', 'args': {'code': 'sum(range(10))'}, 'id': 'a'}]), AIMessage('It is 45.')])
    messages = [('user', 'Add them up.')]
    answer = model.invoke(messages)
    messages += [answer] + [tools[c['name']].invoke({**c, 'type': 'tool_call'}) for c in answer.tool_calls]
    assert messages[-1].content == '[value]\n45' and model.invoke(messages).content == 'It is 45.'


def test_a_session_that_is_gone(session):
    python = langchain.tools(session)[0]
    session.close()
    with pytest.raises(interp.ClosedError):
        python.invoke({'code': '1'})


def test_timeout(session):
    python = langchain.tools(session, timeout_ms=200)[0]
    assert '[timeout, cause wall' in python.invoke({'code': 'while True: pass'})
