"""Files of a session, from both faces."""
import asyncio
import io
import os
import tarfile

import interp
import pytest

from conftest import descriptors


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
    assert files.exists('d/e/g') and not files.exists('d/f') and not files.exists('d/e/g/below')
    with pytest.raises(interp.ExistsError):
        files.mkdir('/workspace', parents=False)
    with pytest.raises(interp.InvalidError):
        files.exists('../x')
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


def test_a_source_that_is_another_session(session):
    with interp.Session() as other:
        other.files.write('x', b'x')
        reader = other.files.open_read('x')
    with pytest.raises(interp.ClosedError):
        session.files.write('x', reader)
    session.files.write('y', b'y' * 1000000)
    with interp.Session() as other, session.files.open_read('y') as reader:
        other.files.write('y', reader)
        assert other.files.stat('y').size == 1000000

    async def main():
        async with interp.AsyncSession() as s:
            with pytest.raises(interp.ClosedError):
                await asyncio.wait_for(s.files.write('x', gone()), 10)
            assert not await s.files.exists('x')

    async def gone():
        yield b'half'
        raise interp.ClosedError('the session is closed', 'closed')

    asyncio.run(main())
    assert not session.files.exists('x')


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
            assert [e.name for e in await s.files.list()] == ['a', 'b', 'c'] and (await s.files.stat('c')).is_dir and not await s.files.exists('z') and not await s.files.exists('a/x')
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


def test_files_of_a_request_and_the_change_set():
    with interp.Session(change_set=True, fetch_files_bytes=100) as s:
        r = s.sh('cat a.txt d/b; echo more >> a.txt; rm d/b; printf "1,2" > c.csv', files={'a.txt': 'é\n', b'd/b': b'\xff'})
        assert r.stdout_bytes == 'é\n'.encode() + b'\xff'
        assert [(c.path, c.mime, c.data) for c in r.files.created] == [('c.csv', 'text/csv', b'1,2')] and r.files.complete
        assert [(c.path, c.size, c.data) for c in r.files.changed] == [('a.txt', 8, 'é\nmore\n'.encode())] and [c.path for c in r.files.deleted] == ['d/b']
        assert s.sh('true', change_set=False).files is None
        r = s.python('1', files={'/usr/x': ''})
        assert r.outcome == 'error' and r.cause == 'files' and r.ran is False and '/usr/x' in r.error.message
        with pytest.raises(interp.InvalidError):
            s.python('1', files={'../x': ''})


def make_tree(top):
    (top / 'd' / 'e').mkdir(parents=True)
    (top / 'd' / 'run.sh').write_text('echo')
    (top / 'd' / 'run.sh').chmod(0o755)
    (top / 'd' / 'e' / 'all').write_bytes(bytes(range(256)))
    (top / 'empty').mkdir()
    (top / 'link').symlink_to('/etc/passwd')
    (top / 'dirlink').symlink_to('/etc')


def test_trees(session, tmp_path):
    make_tree(tmp_path / 'up')
    assert session.files.put_tree(tmp_path / 'up', 'in') == 2
    assert session.sh('cd in; find . | sort | tr "\\n" " "; stat -c %a d/run.sh').stdout == '. ./d ./d/e ./d/e/all ./d/run.sh ./empty 755\n'
    session.sh('cd in; ln -s /etc out; ln -s d/run.sh l; mkfifo pipe; chmod 4755 d/run.sh; mkdir shut; touch shut/x; chmod 0 shut; echo x > d/no; chmod 0 d/no')
    left = session.files.get_tree('in', tmp_path / 'down')
    assert sorted(e.name for e in left) == ['d/no', 'l', 'out', 'pipe', 'shut']
    got = tmp_path / 'down'
    assert sorted(str(p.relative_to(got)) for p in got.rglob('*')) == ['d', 'd/e', 'd/e/all', 'd/run.sh', 'empty', 'shut']
    assert (got / 'd' / 'e' / 'all').read_bytes() == bytes(range(256)) and (got / 'd' / 'run.sh').stat().st_mode & 0o7777 == 0o755
    with pytest.raises(FileExistsError):
        session.files.get_tree('in', tmp_path / 'down')
    with pytest.raises(interp.LimitError):
        session.files.get_tree('in', tmp_path / 'again', max_bytes=100)
    with pytest.raises(NotADirectoryError):
        session.files.put_tree(tmp_path / 'none')

    async def main():
        async with interp.AsyncSession() as s:
            assert await s.files.put_tree(tmp_path / 'up') == 2
            assert await s.files.get_tree('.', tmp_path / 'third') == []
    asyncio.run(main())
    assert (tmp_path / 'third' / 'd' / 'run.sh').read_text() == 'echo'


def test_links_are_taken_along_when_that_is_asked_for(session, tmp_path):
    up = tmp_path / 'up'
    make_tree(up)
    with pytest.raises(interp.DeniedError, match='link'):
        session.files.put_tree(up, 'in', links=True)
    (up / 'link').unlink()
    (up / 'dirlink').unlink()
    (up / 'here').symlink_to('d/run.sh')
    before = descriptors()
    assert session.files.put_tree(up, 'in', links=True) == 2 and session.sh('cat in/here; rm -rf in/d/e').stdout == 'echo'
    session.sh('cd in; ln -s ../../x far')
    left = session.files.get_tree('in', tmp_path / 'down', links=True)
    assert [(e.path, e.type) for e in left] == [('in/far', 'link')] and left.complete
    assert os.readlink(tmp_path / 'down' / 'here') == 'd/run.sh' and not os.path.lexists(tmp_path / 'down' / 'far')
    with pytest.raises(interp.NotFoundError):
        session.files.get_tree('none', tmp_path / 'other')
    with pytest.raises(FileNotFoundError):
        session.files.get_tree('in', tmp_path / 'no' / 'other')
    assert not (tmp_path / 'other').exists() and descriptors() == before


def test_archives(session, tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode='w:gz') as t:
        for name, data in (('a/one', b'1' * 100000), ('a/' + 'n' * 200, b'2')):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), 10 ** 9
            t.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo('l')
        link.type, link.linkname = tarfile.SYMTYPE, 'a/one'
        t.addfile(link)
    assert session.files.put_tar(packed.getvalue(), 'x') == 2
    packed.seek(0)
    assert session.files.put_tar(packed, 'y', links=False) == 2
    assert session.sh('cat x/l | wc -c; ls y').stdout == '100000\na\n'
    got = io.BytesIO(session.files.get_tar('x').read())
    with tarfile.open(fileobj=got) as t:
        assert sorted(t.getnames()) == ['a', 'a/' + 'n' * 200, 'a/one', 'l'] and t.getmember('a/one').mtime == 10 ** 9 and t.extractfile('a/one').read() == b'1' * 100000
    with pytest.raises(interp.LimitError):
        session.files.get_tar('x', max_bytes=1000).read()
    evil = io.BytesIO()
    with tarfile.open(fileobj=evil, mode='w') as t:
        t.addfile(tarfile.TarInfo('../up'))
    with pytest.raises(interp.DeniedError, match='up'):
        session.files.put_tar(evil.getvalue())
    with pytest.raises(interp.InvalidError):
        session.files.put_tar(b'no archive' * 100)

    async def main():
        async def slowly():
            whole = packed.getvalue()
            for i in range(0, len(whole), 100):
                yield whole[i:i + 100]
        async with interp.AsyncSession() as s:
            assert await s.files.put_tar(slowly(), 'x') == 2
            assert len(await s.files.get_tar('x').read()) % 512 == 0
    asyncio.run(main())
