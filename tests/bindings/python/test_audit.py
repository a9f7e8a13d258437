"""The audit trail and screening, on both faces."""
import asyncio
import gzip
import json
import time

import interp
import pytest

from conftest import SLOW


def records(path):
    with open(path, encoding='utf-8') as f:
        return [json.loads(line) for line in f]


def test_trail_in_a_file(tmp_path):
    path, key = tmp_path / 'audit.log', b'0123456789abcdef'
    with interp.Context(audit=path, audit_key=key) as x:
        with interp.Session(context=x, actor='ann', labels={'team': 'blue'}) as s:
            assert s.sh('echo audited', request_id='r-1', labels={'step': '2'}).ok
        seq, head, dropped = x.audit_head
        assert seq == 5 and len(head) == 64 and dropped == 0
    found = records(path)
    assert [r['event'] for r in found] == ['audit_start', 'open', 'exec_start', 'exec_end', 'close', 'audit_end']
    assert found[2]['code'] == 'echo audited' and found[2]['actor'] == 'ann' and found[2]['labels'] == {'step': '2', 'team': 'blue'} and found[3]['outcome'] == 'ok'
    good = interp.audit_verify([path], key=key, head=head)
    assert good['ok'] and good['records'] == 6 and good['ended'] and good['problem'] is None
    packed = tmp_path / 'audit.gz'
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert interp.audit_verify([packed], key=key)['ok']
    assert interp.audit_verify([path])['problem']['kind'] == 'altered'
    path.write_bytes(path.read_bytes().replace(b'audited', b'altered'))
    bad = interp.audit_verify([path], key=key)
    assert not bad['ok'] and bad['problem']['line'] == 3
    with pytest.raises(interp.HostIOError):
        interp.audit_verify([tmp_path / 'none'])


def test_trail_of_a_callback():
    seen = []
    with interp.Context(audit={'code': 'hash', 'callback': seen.append}) as x:
        with interp.Session(context=x) as s:
            s.sh('echo secret')
    found = [json.loads(line) for line in seen]
    assert [r['event'] for r in found] == ['open', 'exec_start', 'exec_end', 'close', 'audit_end']
    assert all('secret' not in line for line in seen) and len(found[1]['code_sha256']) == 64

    def fails(line):
        if '"exec_start"' in line:
            raise KeyError('full')

    with interp.Context(audit=fails) as x, interp.Session(context=x) as s:
        with pytest.raises(KeyError):
            s.sh('echo not recorded')


def test_trail_from_a_session(tmp_path):
    path = str(tmp_path / 'audit.log')
    with interp.Context() as x:
        with interp.Session(context=x, audit=path) as s, interp.Session(context=x, audit=path):
            s.sh(':')
        with pytest.raises(interp.ExistsError):
            interp.Session(context=x, audit={'path': path, 'code': 'none'})
        with pytest.raises(TypeError, match='Context'):
            interp.Session(context=x, audit=print)
    assert [r['event'] for r in records(path)].count('open') == 2


def test_rules():
    with interp.Session(policy={'imports': {'deny': ['socket']}, 'commands': {'allow': ['ls']}, 'languages': ['python', 'sh']}) as s:
        r = s.python('import os\nimport socket')
        assert r.outcome == 'denied' and r.cause == 'imports' and r.ran is False and r.state == 'preserved' and r.json()['denied']['what'] == 'socket' and '"socket"' in r.error.message
        assert s.sh('curl x').cause == 'commands' and s.bash('ls').cause == 'languages' and s.sh('ls').ok
    with pytest.raises(interp.InvalidError, match='refuse'):
        interp.Session(policy={'commands': {'refuse': []}})


def test_screen():
    asked = []

    def screen(q):
        asked.append(q)
        if 'rm' in q.code:
            return interp.Deny('no removals')
        if 'old' in q.code:
            return interp.Rewrite(q.code.replace('old', 'new'))
        if 'boom' in q.code:
            raise KeyError('boom')
        return 'no' not in q.code

    with interp.Session(screen=screen) as s:
        assert s.sh('echo yes', actor='ann').stdout == 'yes\n' and asked[0].actor == 'ann' and asked[0].language == 'sh' and asked[0].data == b'echo yes'
        r = s.sh('rm x')
        assert r.outcome == 'denied' and r.cause == 'screen' and r.error.message == 'no removals'
        assert s.sh('echo old').stdout == 'new\n' and s.sh('echo no').outcome == 'denied'
        with pytest.raises(KeyError):
            s.sh('boom')
        assert s.start('sh', 'echo old').result().stdout == 'new\n'
        events = list(s.stream('sh', 'echo yes'))
        assert b''.join(e.data for e in events) == b'yes\n' and events[-1].result.ok
        assert s.sh('echo after').ok


def test_screen_that_fails_too_late():
    async def decide(q):
        await late.wait()
        raise KeyError('late')

    async def main():
        nonlocal late
        late, said = asyncio.Event(), []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: said.append(context.get('exception')))
        async with interp.AsyncSession(screen=decide) as s:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(s.sh('echo never'), 0.1)
            late.set()
            end = time.monotonic() + 30 * SLOW
            while not said and time.monotonic() < end:
                await asyncio.sleep(0.01)
        assert [repr(e) for e in said] == ["KeyError('late')"]

    late = None
    asyncio.run(main())


def test_screen_async():
    async def decide(q):
        await asyncio.sleep(0.01)
        if 'boom' in q.code:
            raise KeyError('boom')
        return interp.Deny('later') if 'wait' in q.code else None

    async def main():
        seen = []
        async with interp.AsyncContext(audit={'callback': seen.append}) as x:
            async with interp.AsyncSession(context=x, screen=decide) as s:
                a, b = await asyncio.gather(s.sh('echo one', kernel='a'), s.sh('wait', kernel='b'))
                assert a.stdout == 'one\n' and b.outcome == 'denied' and b.error.message == 'later'
                with pytest.raises(KeyError):
                    await s.sh('boom')
                text = [e.text async for e in s.stream('sh', 'echo two') if e.type == 'output']
                assert ''.join(text) == 'two\n'
            async with interp.AsyncSession(context=x, screen=lambda q: False) as s:
                assert (await s.sh('echo no')).outcome == 'denied'
        assert sum('"event":"policy"' in line for line in seen) == 5

    asyncio.run(main())
