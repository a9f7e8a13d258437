"""The backend under deepagents' own tools, and an agent that uses them."""
import asyncio

import pytest

pytest.importorskip('deepagents')
from deepagents import create_deep_agent  # noqa: E402
from deepagents.backends.protocol import SandboxBackendProtocol, execute_accepts_timeout  # noqa: E402
from interp.adapters.deepagents import InterpBackend, backend as agent_backend  # noqa: E402
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel  # noqa: E402
from langchain_core.messages import AIMessage  # noqa: E402


@pytest.fixture
def backend(session):
    return InterpBackend(session)


def test_commands(backend):
    assert isinstance(backend, SandboxBackendProtocol) and execute_accepts_timeout(InterpBackend) and backend.id == backend.session.info['session']
    r = backend.execute('echo a; echo b >&2; echo c; exit 3')
    assert (r.output, r.exit_code, r.truncated) == ('a\nb\nc\n', 3, False)
    assert backend.execute('echo $0; pwd').output == 'bash\n/workspace\n' and backend.execute('cd /tmp; X=1').exit_code == 0
    assert backend.execute('pwd; echo ${X-none}').output == '/workspace\nnone\n'
    r = backend.execute('echo early; sleep 30', timeout=3)
    assert r.exit_code == 124 and r.output.startswith('early\n') and 'timeout' in r.output
    assert backend.execute('sleep 0.01', timeout=0).exit_code == 0 and backend.execute('kill -9 $$').exit_code == 137
    r = InterpBackend(backend.session, max_output_bytes=1000).execute('seq 1 10000')
    assert r.truncated and len(r.output) == 1000 and len(backend.execute('seq 1 10000').output) == 48894

    async def several():
        rs = await asyncio.gather(*(backend.aexecute('echo %d' % n) for n in range(6)))
        return [r.output for r in rs]
    assert asyncio.run(several()) == ['%d\n' % n for n in range(6)]


def test_files(backend):
    assert backend.write('/workspace/d/a.txt', 'one\ntwo\nthree\n').error is None
    r = backend.read('/workspace/d/a.txt', 1, 1)
    assert r.file_data['content'] == 'two' and r.start_line == 2 and r.error is None
    assert backend.edit('/workspace/d/a.txt', 'two', "it's 2").occurrences == 1 and backend.read('/workspace/d/a.txt').file_data['content'].splitlines()[1] == "it's 2"
    assert backend.edit('/workspace/d/a.txt', 'nowhere', 'x').error
    big = 'line of text\n' * 20000
    assert backend.write('/workspace/big.txt', big).error is None and backend.edit('/workspace/big.txt', big, 'small').error is None
    assert backend.read('/workspace/big.txt').file_data['content'] == 'small'
    assert [(m['path'], m['line'], m['text']) for m in backend.grep('three', '/workspace').matches] == [('/workspace/d/a.txt', 3, 'three')]
    assert [e['path'] for e in backend.glob('**/*.txt', '/workspace').matches] == ['/workspace/big.txt', '/workspace/d/a.txt'] or \
        {e['path'].rsplit('/', 1)[-1] for e in backend.glob('**/*.txt', '/workspace').matches} == {'a.txt', 'big.txt'}
    assert {(e['path'].rstrip('/').rsplit('/', 1)[-1], e['is_dir']) for e in backend.ls('/workspace').entries} == {('d', True), ('big.txt', False)}
    assert backend.delete('/workspace/d').error is None and backend.read('/workspace/d/a.txt').error


def test_transfers(backend):
    data = bytes(range(256)) * 4000
    assert [r.error for r in backend.upload_files([('/workspace/x/y/z.bin', data), ('relative', b''), ('/etc/x', b'')])][:2] == [None, 'invalid_path']
    assert backend.upload_files([('/etc/x', b'')])[0].error
    a, b, c, d = backend.download_files(['/workspace/x/y/z.bin', '/workspace/none', '/workspace/x', 'relative'])
    assert (a.content, a.error) == (data, None) and b.error == 'file_not_found' and c.error == 'is_directory' and d.error == 'invalid_path'


class Told(FakeMessagesListChatModel):
    def bind_tools(self, tools, **_):
        return self


def test_an_agent(session):
    def call(name, number, **args):
        return AIMessage('', tool_calls=[{'name': name, 'args': args, 'id': str(number)}])
    model = Told(responses=[call('write_file', 1, file_path='/workspace/p.py', content='print(6 * 7)\n'), call('execute', 2, command='python3 /workspace/p.py'),
                            call('execute', 3, command='seq 1 100000'), AIMessage('It is 42.')])
    result = create_deep_agent(model=model, backend=agent_backend(session)).invoke({'messages': [('user', 'How much?')]})
    messages = result['messages']
    said = [m.content for m in messages if m.type == 'tool']
    assert messages[-1].content == 'It is 42.' and '42' in said[1] and len(said[2]) < 100000 and 'Traceback' not in said[0], said
    # what is too long for the model is in the sandbox, whole, where the message says
    assert '/tmp/deepagents/' in said[2] and '99999\n100000' in session.bash('tail -n 2 /tmp/deepagents/large_tool_results/*').stdout, said[2]
