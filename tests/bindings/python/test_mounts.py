"""Directories of this machine inside, and interpreters of one's own. Each test makes its files in a directory that ordinary users can reach."""
import asyncio
import glob
import os
import shutil
import stat
import subprocess
import sys
import tempfile

import interp
import pytest

ROOT = os.geteuid() == 0


@pytest.fixture
def here():
    """A directory of ours below /var/tmp, without symbolic links in its path; pytest's own is closed to others."""
    made = os.path.realpath(tempfile.mkdtemp(prefix='interp-mounts.', dir='/var/tmp'))
    os.chmod(made, 0o755)
    yield made
    shutil.rmtree(made)


def put(path, text='text\n', mode=0o644):
    with open(path, 'w') as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def mounts_of(s):
    return {m['target']: m for m in s.info['reached']['mounts']}


def refused(reason, **config):
    with pytest.raises(interp.StatusError) as e:
        interp.Session(**config)
    assert e.value.reason == reason, e.value
    assert e.value.remedy or reason in ('mount-path',), e.value
    return str(e.value)


def test_read_only_directory_and_file(here):
    os.mkdir(here + '/d')
    put(here + '/d/a', 'of the host\n')
    put(here + '/single', 'alone\n')
    put(here + '/secret', 'not shown\n')
    with interp.Session(mounts=[(here + '/d', '/data'), {'source': here + '/single', 'target': '/workspace/deep/file', 'mode': 'ro'}, (here + '/d',)]) as s:
        r = s.bash('cat /data/a /workspace/deep/file %s/d/a; ls /workspace/deep; ls %s' % (here, here))
        assert r.stdout == 'of the host\nalone\nof the host\nfile\nd\n', r
        for write in ('echo x > /data/a', 'touch /data/b', 'rm /data/a', 'mkdir /data/d', 'echo x > /workspace/deep/file', 'chmod 600 /data/a'):
            assert s.bash(write).exit_code != 0, write
        put(here + '/d/later', 'new\n')
        reached = mounts_of(s)
        assert set(reached) == {'/data', '/workspace/deep/file', here + '/d'} and all(m['mode'] == 'ro' for m in reached.values())
        if all(m['how'] == 'overlay' for m in reached.values()):
            assert s.info['reached']['shared_inodes'] is False
        assert 'mounted_bytes' not in s.info['reached']['unenforced']
    with open(here + '/d/a') as f:
        assert f.read() == 'of the host\n'


def test_overlay_shares_no_inodes(here):
    """No word of what the host does there, no lock of the host's to wait for, no socket to talk to."""
    import fcntl
    import socket
    put(here + '/a')
    with socket.socket(socket.AF_UNIX) as listener, open(here + '/a') as f, interp.Session(mounts=[(here, '/data')]) as s:
        if mounts_of(s)['/data']['how'] != 'overlay':
            pytest.skip('no overlay of %s here' % here)
        listener.bind(here + '/socket')
        listener.listen(1)
        os.chmod(here + '/socket', 0o777)
        fcntl.flock(f, fcntl.LOCK_EX)
        r = s.python('import fcntl, socket\nfcntl.flock(open("/data/a"), fcntl.LOCK_EX | fcntl.LOCK_NB)\n'
                     'try:\n    socket.socket(socket.AF_UNIX).connect("/data/socket")\nexcept OSError as e:\n    print(type(e).__name__)')
        assert r.stdout in ('ConnectionRefusedError\n', 'FileNotFoundError\n'), r


def test_writable_directory(here):
    os.mkdir(here + '/d')
    put(here + '/d/mine', 'before\n', 0o600)
    os.chmod(here + '/d', 0o700)
    before = os.stat(here + '/d')
    with interp.Session(mounts=[(here + '/d', '/data', 'rw')]) as s:
        r = s.bash('cat /data/mine; echo after > /data/mine; mkdir /data/sub; echo new > /data/sub/x; stat -c %U /data /data/mine')
        assert r.ok and r.stdout == 'before\nuser\nuser\n', r
        info = s.info['reached']
        assert mounts_of(s)['/data'] == {'target': '/data', 'mode': 'rw', 'how': 'bind', 'owner': 'user'} and info['shared_inodes'] is True
        assert 'mounted_bytes' in info['unenforced']
        # nothing can be left there that gives rights on the host
        r = s.python('import os\ndone = []\ndef t(name, f, *a):\n    try:\n        f(*a)\n        done.append(name)\n    except OSError:\n        pass\n'
                     'os.chdir("/data")\nopen("p", "w").close()\nt("chmod", os.chmod, "p", 0o4755)\nt("setgid", os.chmod, "p", 0o2755)\nfd = os.open("p", os.O_RDONLY)\n'
                     't("fchmod", os.fchmod, fd, 0o6755)\nt("create", os.open, "q", os.O_CREAT | os.O_WRONLY, 0o4755)\nt("device", os.mknod, "n", 0o600 | 0o020000, os.makedev(1, 3))\n'
                     't("chown", os.chown, "p", 0, 0)\ndone')
        assert r.value == '[]', r
        assert s.python('import os; os.chmod("/data/p", 0o755)').ok
    with open(here + '/d/mine') as f:
        assert f.read() == 'after\n'
    made = os.stat(here + '/d/sub/x')
    assert (made.st_uid, made.st_gid) == (before.st_uid, before.st_gid) and not stat.S_IMODE(os.stat(here + '/d/p').st_mode) & 0o6000


def test_writable_file_and_nested(here):
    os.mkdir(here + '/ro')
    os.mkdir(here + '/rw')
    os.mkdir(here + '/ro/out')
    put(here + '/f', 'a\n')
    with interp.Session(mounts=[(here + '/ro', '/in'), (here + '/rw', '/in/out', 'rw'), (here + '/f', '/one', 'rw')]) as s:
        assert s.bash('echo b >> /one; echo c > /in/out/made; ! touch /in/x 2>/dev/null').ok
    with open(here + '/f') as f, open(here + '/rw/made') as g:
        assert (f.read(), g.read()) == ('a\nb\n', 'c\n')


@pytest.mark.skipif(not ROOT, reason='only root has a closed directory of another user')
def test_root_shows_what_is_closed_to_others(here):
    os.makedirs(here + '/closed/d')
    put(here + '/closed/d/a', 'inside\n', 0o600)
    for path in ('/closed', '/closed/d', '/closed/d/a'):
        os.chown(here + path, 12345, 12345)
    os.chmod(here + '/closed/d', 0o700)
    os.chmod(here + '/closed', 0o700)
    with interp.Session(mounts=[(here + '/closed/d', '/data')]) as s:
        assert s.bash('cat /data/a').stdout == 'inside\n'


def test_sources_that_can_not_be_had(here):
    os.mkdir(here + '/d')
    os.symlink(here + '/d', here + '/link')
    os.symlink('d', here + '/d/loop')
    os.mkfifo(here + '/fifo')
    assert here + '/none' in refused('mount-source', mounts=[(here + '/none', '/data')])
    assert here + '/link' in refused('mount-symlink', mounts=[(here + '/link', '/data')])
    assert here + '/link' in refused('mount-symlink', mounts=[(here + '/link/loop', '/data')])
    assert refused('mount-symlink', mounts=[('/proc/self/root/etc', '/data')])
    assert refused('mount-symlink', mounts=[('/proc/self/cwd', '/data')])
    assert refused('mount-source', mounts=[(here + '/fifo', '/data')])
    assert refused('mount-source', mounts=[('/dev/null', '/data')])
    assert '/proc' in refused('mount-submounts', mounts=[('/', '/data')])
    for bad in ('', 'relative', here + '/../x', here + '//d', here + '/./d', '/' + 'x' * 200, here + '/a\nb'):
        refused('mount-path', mounts=[(bad, '/data')])


def test_targets_that_are_no_place_for_a_mount(here):
    for target in ('/', '/usr', '/etc', '/etc/passwd', '/proc', '/proc/1', '/dev/shm', '/sys', '/run/interp', '/run/interp/s', '/lib64', '/tmp', '/home'):
        with pytest.raises(interp.InvalidError) as e:
            interp.Session(mounts=[(here, target)])
        assert e.value.reason == 'mount-target' and target in str(e.value)
    with pytest.raises(interp.StatusError) as e:
        interp.Session(mounts=[(here, '/data'), (here, '/data/')])
    assert e.value.reason == 'mount-target'
    for target in ('/data/../etc', 'data', '/a//b'):
        refused('mount-path', mounts=[(here, target)])
    # a link on the way of a target, in a directory of the host, leads nowhere: not even to the host's own /etc
    os.mkdir(here + '/d')
    os.symlink(here, here + '/d/out')
    os.symlink('/etc', here + '/d/etc')
    for target in ('/data/out/x', '/data/etc/x'):
        refused('mount-target', mounts=[(here + '/d', '/data', 'rw'), (here, target)])
    assert sorted(os.listdir(here)) == ['d']
    with pytest.raises(interp.InvalidError):
        interp.Session(mounts=[(here, '/data', 'rx')])
    with pytest.raises(TypeError):
        interp.Session(mounts=[here])
    with pytest.raises(interp.StatusError) as e:
        interp.Session(mounts=[(here, '/m%d' % i) for i in range(40)])
    assert e.value.reason == 'mount-count'


def test_a_source_that_is_swapped_while_it_is_opened(here):
    """A directory that becomes a symbolic link and back, over and over: what is shown is the directory, or nothing."""
    os.makedirs(here + '/top/real')
    os.makedirs(here + '/secret')
    put(here + '/top/real/word', 'good\n')
    put(here + '/secret/word', 'secret\n')
    swap = subprocess.Popen([sys.executable, '-c', '''if 1:
        import ctypes, os, sys
        os.chdir(sys.argv[1] + '/top')
        os.symlink(sys.argv[1] + '/secret', 'link')
        libc = ctypes.CDLL(None)
        print('on', flush=True)
        while True:
            libc.renameat2(-100, b'real', -100, b'link', 2)
        ''', here], stdout=subprocess.PIPE)
    try:
        swap.stdout.readline()
        seen = set()
        for _ in range(40):
            try:
                with interp.Session(mounts=[(here + '/top/real', '/data')]) as s:
                    seen.add(s.bash('cat /data/word').stdout)
            except interp.StatusError as e:
                assert e.reason in ('mount-symlink', 'mount-source'), e
                seen.add(e.reason)
        assert 'secret\n' not in seen and seen, seen
    finally:
        swap.kill()
        swap.wait()
        swap.stdout.close()


def pyenv():
    """A Python of one's own outside of /usr (INTERP_TEST_PYTHON names one), or None. Not this process's, so that the two can't be taken for one another."""
    for path in [os.environ.get('INTERP_TEST_PYTHON', '')] + sorted(glob.glob(os.path.expanduser('~/.pyenv/versions/3.*/bin/python3')) + glob.glob('/opt/*/bin/python3')):
        if os.access(path, os.X_OK) and os.path.realpath(path) != os.path.realpath(sys.executable):
            return path
    return None


needs_pyenv = pytest.mark.skipif(pyenv() is None, reason='no second Python outside of /usr that this user may run')


@needs_pyenv
def test_python_of_ones_own():
    path = pyenv()
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(path)))
    with interp.Session(interpreters={'python': path}) as s:
        assert s.info['reached']['interpreters']['python'] == os.path.realpath(path)
        r = s.python('import sys, json, sqlite3, ctypes\nprint(sys.prefix)\nopen(sys.prefix + "/x", "w")')
        assert r.stdout == prefix + '\n' and r.error and r.error.type in ('OSError', 'PermissionError'), r
        assert s.bash('command -v python3').stdout.startswith(prefix)


@needs_pyenv
def test_virtual_environment(here):
    """Made by links to a Python whose own directory is a link: all of it must be there inside."""
    base = os.path.dirname(os.path.dirname(os.path.realpath(pyenv())))
    os.symlink(base, here + '/current')
    subprocess.check_call([here + '/current/bin/python3', '-m', 'venv', '--without-pip', here + '/venv'])
    site = glob.glob(here + '/venv/lib/python3*/site-packages')[0]
    put(site + '/only_here.py', 'answer = 42\n')
    with interp.Session(interpreters={'python': here + '/venv/bin/python'}) as s:
        r = s.python('import sys, only_here, json\nprint(sys.prefix, only_here.answer, sys.prefix != sys.base_prefix)')
        assert r.stdout == '%s/venv 42 True\n' % here, r
        assert s.bash('ls %s' % here).stdout.split() == ['current', 'venv']

    async def other():
        async with interp.AsyncSession(interpreters={'python': here + '/venv/bin/python'}, runtimes=[here + '/current']) as s:
            return (await s.python('import only_here; only_here.answer')).value
    assert asyncio.run(other()) == '42'


def test_runtimes(here):
    """One that is part of every sandbox, one inside another, one by a link; each is told of."""
    os.makedirs(here + '/r/in')
    put(here + '/r/in/x')
    os.symlink(here + '/r', here + '/link')
    with interp.Session(runtimes=['/usr/share', here + '/r', here + '/r/in', here + '/link'], interpreters={'python': '/usr/bin/python3'}) as s:
        assert s.bash('cat %s/r/in/x %s/link/in/x; ! touch %s/r/y 2>/dev/null' % (here, here, here)).stdout == 'text\ntext\n'
        assert {'/usr/share', here + '/r', here + '/r/in', here + '/link'} <= set(mounts_of(s))
        assert s.python('6 * 7').value == '42'


def test_node_of_ones_own(here):
    node = shutil.which('node')
    if not node:
        pytest.skip('no node')
    os.makedirs(here + '/node/bin')
    shutil.copy2(os.path.realpath(node), here + '/node/bin/node')
    with interp.Session(interpreters={'javascript': here + '/node/bin/node'}) as s:
        assert s.javascript('process.execPath').value == "'%s/node/bin/node'" % here


def test_interpreters_that_can_not_be_used(here):
    os.makedirs(here + '/bin')
    put(here + '/bin/shim', '#!/bin/sh\nexec python3 "$@"\n', 0o755)
    put(here + '/bin/data', 'no program', 0o644)
    assert here + '/none' in refused('runtime-missing', interpreters={'python': here + '/none'})
    assert 'pyenv which' in refused('interpreter-script', interpreters={'python': here + '/bin/shim'})
    assert refused('interpreter', interpreters={'python': here + '/bin/data'})
    assert refused('interpreter', interpreters={'python': here})
    home = os.path.realpath(os.path.expanduser('~'))
    if home != '/':
        assert refused('runtime-broad', runtimes=[home])
    with pytest.raises(interp.InvalidError):
        interp.Session(interpreters={'cobol': '/usr/bin/cobc'})
    with pytest.raises(interp.InvalidError):
        interp.Session(interpreters={'python': 'python3'})


@pytest.mark.skipif(ROOT, reason='nothing is closed to root')
def test_closed_directories_are_named(here):
    os.makedirs(here + '/home/.pyenv/bin')
    put(here + '/home/.pyenv/bin/python', 'x', 0o755)
    os.chmod(here + '/home', 0)
    try:
        assert here + '/home is closed' in refused('runtime-closed', interpreters={'python': here + '/home/.pyenv/bin/python'})
        assert here + '/home is closed' in refused('mount-closed', mounts=[(here + '/home/.pyenv', '/data')])
    finally:
        os.chmod(here + '/home', 0o700)


@pytest.mark.parametrize('backend', ['docker', 'podman'])
def test_engines(backend, here):
    with pytest.raises(interp.StatusError) as e:
        interp.Session(backend=backend, image='x:latest', endpoint='tcp://127.0.0.1:9', mounts=[(here, '/data')])
    assert e.value.reason == 'mounts-remote'
    endpoint = os.environ.get('INTERP_TEST_' + backend.upper())
    if not endpoint:
        pytest.skip('INTERP_TEST_%s is not set' % backend.upper())
    os.mkdir(here + '/d')
    os.chmod(here + '/d', 0o777)
    put(here + '/d/a')
    os.symlink(here + '/d', here + '/link')
    config = {'backend': backend, 'image': 'interp-test:latest', 'endpoint': endpoint}
    assert refused('mount-symlink', mounts=[(here + '/link', '/data')], **config)
    assert refused('mount-source', mounts=[(here + '/none', '/data')], **config)
    with interp.Session(mounts=[(here + '/d', '/in'), (here + '/d', '/out', 'rw')], interpreters={'python': '/usr/bin/python3'}, **config) as s:
        assert s.bash('cat /in/a; ! touch /in/b 2>/dev/null; touch /out/c').stdout == 'text\n'
        assert {k: v['mode'] for k, v in mounts_of(s).items()} == {'/in': 'ro', '/out': 'rw'}
        assert 'mounted_bytes' in s.info['reached']['unenforced']
        assert s.python('1 + 1').value == '2'
    assert sorted(os.listdir(here + '/d')) == ['a', 'c']
