"""Tools for LlamaIndex."""
import asyncio

import interp
import pytest

pytest.importorskip('llama_index.core')
from interp.adapters import llama_index  # noqa: E402


def test_tools(session):
    python, bash = llama_index.tools(session)
    assert (python.metadata.name, bash.metadata.name) == ('python', 'bash')
    schema = python.metadata.get_parameters_dict()
    assert schema['required'] == ['code'] and schema['properties']['code']['type'] == 'string' and 'variables' in python.metadata.description
    out = python.call(code='x = 6\nx * 7')
    assert out.content == '[value]\n42' and not out.is_error and isinstance(out.raw_output, interp.Result) and out.tool_name == 'python'
    out = python.call(code='1/0')
    assert 'ZeroDivisionError' in out.content and out.raw_output.error.line == 1
    assert bash.call('cat', ).content == '' and asyncio.run(python.acall(code='x')).content == '[value]\n6'


def test_as_an_agent_calls_it(session):
    from llama_index.core.tools.calling import call_tool_with_selection
    from llama_index.core.llms.llm import ToolSelection
    tools = llama_index.tools(session)
    out = call_tool_with_selection(ToolSelection(tool_id='1', tool_name='bash', tool_kwargs={'code': 'echo $((6 * 7))'}), tools)
    assert out.content == '42'


def test_with_asyncio():
    async def main():
        async with interp.AsyncSession() as s:
            python, bash = llama_index.tools(s, timeout_ms=10000)
            outs = await asyncio.gather(*(python.acall(code=str(n)) for n in range(3)), bash.acall(code='echo hi'))
            return [out.content for out in outs]
    assert asyncio.run(main()) == ['[value]\n0', '[value]\n1', '[value]\n2', 'hi']
