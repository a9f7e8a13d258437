"""Execs at a pseudo-terminal, in both faces."""
import asyncio

import interp
import pytest

ASK = 'echo "size $(stty size)"; read -s -p "word? " x; echo; echo "${#x} letters"; trap "stty size; exit 0" WINCH; echo waiting; while :; do sleep 0.05; done'


def test_blocking():
    with interp.Session(pty=True) as s:
        with s.stream('bash', ASK, pty=True, pty_rows=31, pty_columns=97, interactive=True) as e:
            typed = resized = False
            seen = ''
            for event in e:
                if event.type == 'output':
                    seen += event.text
                if 'word?' in seen and not typed:
                    typed = True
                    assert e.write('secret\n') == 7
                if 'waiting' in seen and not resized:
                    resized = True
                    e.resize(20, 40)
            r = e.result()
        assert r.ok and r.stderr == '' and 'secret' not in r.stdout
        assert r.stdout.startswith('size 31 97\r\n') and '6 letters\r\n' in r.stdout and r.stdout.endswith('20 40\r\n')
        with pytest.raises(interp.InvalidError):
            s.bash('tty', pty_rows=10)
        with s.start('bash', 'sleep 30') as e, pytest.raises(interp.InvalidError):
            e.resize(24, 80)


def test_asyncio():
    async def main():
        async with interp.AsyncSession(pty=True) as s:
            e = s.stream('bash', ASK, pty=True, interactive=True)
            seen = ''
            async for event in e:
                if event.type != 'output':
                    continue
                was, seen = seen, seen + event.text
                if 'word?' in seen and 'word?' not in was:
                    e.write('secret\n')
                if 'waiting' in seen and 'waiting' not in was:
                    e.resize(20, 40)
            r = await e
            assert r.ok and 'secret' not in r.stdout and r.stdout.endswith('20 40\r\n')
    asyncio.run(main())


def test_without():
    with interp.Session() as s, pytest.raises(interp.InvalidError, match='pty'):
        s.bash('tty', pty=True)
