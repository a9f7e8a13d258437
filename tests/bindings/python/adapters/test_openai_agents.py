"""The sandbox client under the SDK's own runner, its manifests, snapshots and tools, with a model that says what it is told to."""
import asyncio
import io
import json
import tarfile
from pathlib import Path

import interp
import pytest

pytest.importorskip('agents.sandbox')
from agents import RunConfig, Runner  # noqa: E402
from agents.sandbox import LocalSnapshotSpec, Manifest, SandboxAgent, SandboxRunConfig  # noqa: E402
from agents.sandbox.entries import Dir, File  # noqa: E402
from agents.sandbox.errors import (ExecTimeoutError, ExecTransportError, ExposedPortUnavailableError, InvalidManifestPathError, WorkspaceArchiveReadError,  # noqa: E402
                                   WorkspaceArchiveWriteError, WorkspaceReadNotFoundError)
from agents.testing import ScriptedModel, assistant_message, function_call  # noqa: E402
from interp.adapters.openai_agents import InterpSandboxClient, InterpSandboxClientOptions, InterpSandboxSession  # noqa: E402

OPTIONS = InterpSandboxClientOptions(options={'timeout_ms': 20000})


def run(work, manifest=None, **more):
    """Runs work(client, session) in a session that is started and closed."""
    async def main():
        client = InterpSandboxClient()
        session = await client.create(manifest=manifest, options=OPTIONS, **more)
        try:
            async with session:
                return await work(client, session)
        finally:
            await client.delete(session)
            assert not await session.running()
    return asyncio.run(main())


def test_an_agent():
    """The whole way: the runner makes the sandbox, the model calls the shell tool, the next turn sees what came of it."""
    model = ScriptedModel([[function_call('exec_command', {'cmd': 'wc -l < data/words.txt; echo $((6 * 7)) > answer.txt'}, call_id='c1')],
                           [function_call('exec_command', {'cmd': 'cat answer.txt; exit 3'}, call_id='c2')], [assistant_message('It is 42.')]])
    agent = SandboxAgent(name='a', model=model, instructions='Do it.', default_manifest=Manifest(entries={'data': Dir(children={'words.txt': File(content=b'a\nb\nc\n')})}))
    config = RunConfig(sandbox=SandboxRunConfig(client=InterpSandboxClient(), options=OPTIONS), tracing_disabled=True)
    result = asyncio.run(Runner.run(agent, 'How much?', run_config=config))
    said = [i['output'] for i in result.to_input_list() if i.get('type') == 'function_call_output']
    assert result.final_output == 'It is 42.' and '3' in said[0] and '42' in said[1] and 'code 3' in said[1], said


def test_commands():
    async def work(client, s):
        r = await s.exec('echo out; echo err >&2; exit 3')
        assert (r.stdout, r.stderr, r.exit_code) == (b'out\n', b'err\n', 3) and not r.ok()
        r = await s.exec('printf', '%s.', 'a b', "it's", '$HOME', shell=False)
        assert r.stdout == b"a b.it's.$HOME." and r.ok()
        assert (await s.exec('pwd')).stdout == b'/workspace\n' and (await s.exec('cd /; exit 0')).ok() and (await s.exec('pwd; echo $E')).stdout == b'/workspace\nv\n'
        rs = await asyncio.gather(*(s.exec('sleep 0.3; echo %d' % n) for n in range(4)))
        assert [r.stdout for r in rs] == [b'%d\n' % n for n in range(4)]
        assert len((await s.exec('head -c 1000000 /dev/zero')).stdout) == 1000000
        with pytest.raises(ExecTimeoutError):
            await s.exec('echo early; sleep 30', timeout=0.3)
        with pytest.raises(ExecTransportError, match='one user'):
            await s.exec('id', user='root')
        with pytest.raises(ExposedPortUnavailableError):
            await s.resolve_exposed_port(80)
        assert (await s.exec('nothing-of-that-name')).exit_code == 127
        inner = s._inner
        assert isinstance(inner, InterpSandboxSession) and (await inner.session.python('6 * 7')).value == '42'
    run(work, Manifest(environment={'value': {'E': 'v'}}))


def test_files():
    async def work(client, s):
        await s.write(Path('a/b.bin'), io.BytesIO(bytes(range(256)) * 1000))
        assert (await s.read(Path('a/b.bin'))).read() == bytes(range(256)) * 1000
        assert await s.read_bounded(Path('a/b.bin'), max_bytes=3) == b'\0\1\2'
        await s.exec('head -c 6000000 /dev/zero > long')
        assert len(await s.read_bounded(Path('long'), max_bytes=5 << 20)) == 5 << 20
        await s.rm('long')
        assert [Path(e.path).name for e in await s.ls('a')] == ['b.bin']
        await s.mkdir('c/d', parents=True)
        await s.mv('a/b.bin', 'c/d/e')
        assert (await s.exec('find . -type f')).stdout == b'./c/d/e\n'
        await s.rm('c', recursive=True)
        with pytest.raises(WorkspaceReadNotFoundError):
            await s.read(Path('c/d/e'))
        with pytest.raises(WorkspaceReadNotFoundError):
            await s.read_bounded(Path('c/d/e'), max_bytes=3)
        with pytest.raises(WorkspaceArchiveReadError):
            await s.read(Path('.'))
        with pytest.raises(InvalidManifestPathError):
            await s.read(Path('/etc/passwd'))
        assert (await s.exec('ln -s /etc/passwd link')).ok()
        with pytest.raises(InvalidManifestPathError):
            await s.read(Path('link'))
        with pytest.raises((InvalidManifestPathError, WorkspaceArchiveWriteError)):
            await s.write(Path('link'), io.BytesIO(b'x'))
        await s.apply_patch({'type': 'create_file', 'path': 'new.txt', 'diff': '+one\n+two\n'})
        assert (await s.exec('cat new.txt')).stdout.split() == [b'one', b'two']
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode='w') as tar:
            info = tarfile.TarInfo('x/y.txt')
            info.size = 2
            tar.addfile(info, io.BytesIO(b'hi'))
        buffer.seek(0)
        await s.extract('in.tar', buffer)
        assert (await s.exec('cat x/y.txt')).stdout == b'hi'
    run(work)


def test_snapshots(tmp_path):
    """What was in the workspace comes back in a new sandbox of another client, by way of the state as JSON."""
    snapshot = LocalSnapshotSpec(base_path=tmp_path)

    async def first(client, s):
        assert (await s.exec('mkdir -p d/e; echo kept > d/e/f; ln -s e d/l; chmod 750 d; mkfifo pipe')).ok()
        return client.serialize_session_state(s.state)
    payload = json.loads(json.dumps(run(first, snapshot=snapshot)))

    async def second():
        client = InterpSandboxClient()
        state = client.deserialize_session_state(payload)
        session = await client.resume(state)
        async with session:
            r = await session.exec('cat d/l/f; stat -c %a d; ls')
            assert r.stdout == b'kept\n750\nd\n', r
            # the same client gives the same sandbox as long as it is there
            again = await client.resume(session.state)
            assert again._inner.session is session._inner.session
        await client.delete(session)
        with pytest.raises(ExecTransportError):
            await session._inner.exec('true')
    asyncio.run(second())


def test_hostile_archives():
    def archive(*members):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode='w') as tar:
            for name, kind, target in members:
                info = tarfile.TarInfo(name)
                info.type, info.linkname = kind, target
                tar.addfile(info)
        return io.BytesIO(buffer.getvalue())

    async def work(client, s):
        for bad in (archive(('../x', tarfile.REGTYPE, '')), archive(('/etc/x', tarfile.REGTYPE, '')), archive(('l', tarfile.SYMTYPE, '/etc'), ('l/x', tarfile.REGTYPE, '')),
                    archive(('dev', tarfile.CHRTYPE, '')), io.BytesIO(b'no archive'), io.StringIO('text')):
            with pytest.raises(WorkspaceArchiveWriteError):
                await s._inner.hydrate_workspace(bad)
        assert (await s.exec('ls')).stdout == b''
    run(work)


def test_an_archive_that_the_sandbox_forged():
    """What is read back for a snapshot lay in the sandbox: bombs are refused, not unpacked."""
    import gzip
    from interp.adapters import openai_agents
    sparse = tarfile.TarInfo('big')
    sparse.pax_headers = {'GNU.sparse.major': '0', 'GNU.sparse.minor': '1', 'GNU.sparse.map': '0,0', 'GNU.sparse.size': str(1 << 40)}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode='w', format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(sparse)
    good, back = tarfile.TarInfo('a'), tarfile.TarInfo('b')     # its end is its own start: read on from there, it never ends
    back.size, back.type = -512, b'Z'
    endless = good.tobuf(tarfile.GNU_FORMAT) + back.tobuf(tarfile.GNU_FORMAT) + bytes(10240)
    for raw in (endless, buffer.getvalue(), gzip.compress(buffer.getvalue()), b'no archive at all', buffer.getvalue()[:600]):
        with pytest.raises(WorkspaceArchiveReadError):
            openai_agents._portable(raw, Path('/workspace'))
    assert len(openai_agents._portable(bytes(10240), Path('/workspace')).read()) == 10240


def test_options():
    assert InterpSandboxClientOptions.parse(json.loads(OPTIONS.model_dump_json())) == OPTIONS
    with pytest.raises(TypeError, match='did you mean'):
        asyncio.run(InterpSandboxClient().create(options=InterpSandboxClientOptions(options={'memry_bytes': 1})))

    async def bare():
        client = InterpSandboxClient()
        session = await client.create()
        async with session:
            assert (await session.exec('echo x')).ok()
            with pytest.raises(TypeError):
                await client.resume(None)
        await client.delete(session)
    asyncio.run(bare())
    assert interp.__version__
