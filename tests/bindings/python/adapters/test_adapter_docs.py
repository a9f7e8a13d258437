"""Every program of ADAPTERS.md prints what stands below it."""
import re

import docs
import pytest

PROGRAMS = [pytest.param(*p[:2], id=p[2]) for p in docs.programs('ADAPTERS.md')]
NEEDS = {'agents': 'openai_agents', 'deepagents': 'deepagents', 'langchain_core': 'langchain', 'llama_index.core': 'llama_index', 'smolagents': 'smolagents'}


def test_each_adapter_has_one():
    text = '\n'.join(p.values[0] for p in PROGRAMS)
    for adapter in ADAPTERS:
        assert re.search(r'from interp\.adapters(\.%s)? import.*' % adapter, text) and adapter in text, adapter


ADAPTERS = ['deepagents', 'e2b', 'langchain', 'llama_index', 'openai_agents', 'smolagents']


@pytest.mark.parametrize('program, output', PROGRAMS)
def test_program(program, output, tmp_path):
    for package, adapter in NEEDS.items():
        if re.search(r'adapters(\.%s import| import %s)' % (adapter, adapter), program):
            pytest.importorskip(package)
    assert len(program.splitlines()) <= 24
    docs.check(program, output, tmp_path)
