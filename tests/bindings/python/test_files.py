"""Files of a session, from both faces."""
import asyncio
import io
import os

import interp
import pytest


def test_there_and_back(session):
    files = session.files
    data = bytes(range(256)) * 4000
    files.write('all.bin', data, mode=0o600)
    assert files.read('all.bin') == data and session.sh('stat -c %a all.bin').stdout == '600\n'
    files.write('new/dir/é.txt', 'é\n')
    assert files.read_text('new/dir/é.txt') == 'é\n' and session.sh('cat new/dir/*').stdout == 'é\n'
    files.write('from-file', io.BytesIO(data))
    files.write('from-pieces', (data[i:i + 1000] for i in range(0, len(data), 1000)))
    assert files.read('from-file') == files.read('from-pieces') == data
    files.write('empty', b'')
    assert files.read('empty') == b''
    assert session.python('open("all.bin", "rb").read() == bytes(range(256)) * 4000').value == 'True'


def test_names_are_bytes(session):
    names = [b'bad \xff name', 'Simple – Générer.csv'.encode(), b'-rf', b'new\nline', b'a b;touch x']
    for n in names:
        session.files.write(n, n)
    found = session.files.list()
    assert sorted(os.fsencode(e.name) for e in found) == sorted(names) and found.complete
    for e in found:
        assert session.files.read(e.path) == os.fsencode(e.name) and session.files.stat(e.path).is_file
        assert session.files.remove(e.path) == 1
    assert session.files.list() == []


def test_listing_and_the_rest(session):
    files = session.files
    assert files.mkdir('d/e') is True and files.mkdir('d/e') is False
    files.write('d/f', '123')
    session.sh('ln -s f d/l; touch -d @1000000000 d/f')
    assert [(e.path, e.name, e.type) for e in files.list('d')] == [('d/e', 'e', 'dir'), ('d/f', 'f', 'file'), ('d/l', 'l', 'link')]
    assert [e.path for e in files.list(recursive=True)] == ['d', 'd/e', 'd/f', 'd/l']
    assert files.stat('d/f').size == 3 and files.stat('d/f').mtime == 1000000000 and files.stat('d/l').target == 'f' and files.stat('d').is_dir
    few = files.list('d', limit=2)
    assert len(few) == 2 and not few.complete
    files.rename('d/f', 'd/e/g')
    assert files.exists('d/e/g') and not files.exists('d/f')
    files.write('x', 'x')
    with pytest.raises(interp.ExistsError):
        files.rename('x', 'd/e/g', replace=False)
    assert files.remove('d', recursive=True) == 4


def test_errors(session):
    with pytest.raises(interp.NotFoundError, match='"nothing"'):
        session.files.read('nothing')
    with pytest.raises(interp.InvalidError):
        session.files.read('../etc/passwd')
    with pytest.raises(interp.DeniedError):
        session.sh('ln -s /etc/passwd out') and session.files.read('out')
    with pytest.raises(interp.InvalidError):
        session.files.read('.')
    with pytest.raises(interp.InvalidError):
        session.files.write('x', b'', mode=0o4755)
    session.files.write('big', b'x' * 1000)
    with pytest.raises(interp.LimitError):
        session.files.read('big', max_bytes=999)
    with pytest.raises(TypeError):
        session.files.write('x', 3.5)
    assert not session.files.exists('x')


def broken():
    yield b'half'
    raise OSError('the source broke')


def test_what_breaks_half_way_leaves_nothing(session):
    with pytest.raises(OSError, match='the source broke'):
        session.files.write('half', broken())
    assert not session.files.exists('half')
    session.sh('head -c 20000000 /dev/zero > big')
    with session.files.open_read('big') as reader:
        assert len(next(reader)) > 0
    assert sum(len(piece) for piece in session.files.open_read('big')) == 20000000
    reader = session.files.open_read('nothing')
    with pytest.raises(interp.NotFoundError):
        next(reader)
    assert list(reader) == []
    session.files.write('after', 'it')
    assert session.files.read('after') == b'it'


def test_full_disk():
    with interp.Session(workspace_bytes=2 << 20) as s:
        with pytest.raises(interp.LimitError):
            s.files.write('big', b'x' * (4 << 20))
        assert s.files.list() == []


def test_asyncio():
    async def main():
        async with interp.AsyncSession() as s:
            data = os.urandom(3000000)

            async def pieces():
                for i in range(0, len(data), 70000):
                    await asyncio.sleep(0)
                    yield data[i:i + 70000]

            await asyncio.gather(s.files.write('a', data), s.files.write('b', pieces()), s.files.write('c/d', io.BytesIO(data)), s.python('import time; time.sleep(.1)'))
            got = await asyncio.gather(*(s.files.read(n) for n in ('a', 'b', 'c/d')))
            assert got == [data] * 3
            total = 0
            async with s.files.open_read('a') as reader:
                async for piece in reader:
                    total += len(piece)
            assert total == len(data)
            assert [e.name for e in await s.files.list()] == ['a', 'b', 'c'] and (await s.files.stat('c')).is_dir and not await s.files.exists('z')
            assert await s.files.mkdir('m/n') and await s.files.remove('m', recursive=True) == 2
            await s.files.rename('a', 'z')
            assert await s.files.read_text('z', 'latin-1') == data.decode('latin-1')
            with pytest.raises(interp.NotFoundError):
                await s.files.read('a')
            task = asyncio.ensure_future(s.files.write('never', slow()))
            await asyncio.sleep(.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not await s.files.exists('never')

    async def slow():
        yield b'half'
        await asyncio.sleep(60)

    asyncio.run(main())
