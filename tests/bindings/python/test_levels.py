"""Levels landlock and process: where namespaces can't be had. Each test runs in a process of its own behind a fence like a plain container's (tests/common/fenced.py)."""
import os
import subprocess
import sys
import textwrap

import fenced
import pytest

LANDLOCK, PROCESS = [], ['--no-landlock']
FENCED = os.path.join(os.path.dirname(os.path.abspath(fenced.__file__)), 'fenced.py')
PRELUDE = '''
import glob, os, signal, subprocess, sys, threading, time
import interp
ROOT = os.geteuid() == 0
def boxes():
    return set(glob.glob('/tmp/interp-box.*') + glob.glob(os.environ.get('TMPDIR', '/nowhere') + '/interp-box.*'))
def gone(pid):
    try:
        with open('/proc/%d/stat' % pid) as f:
            return f.read().rsplit(')', 1)[1].split()[0] in 'ZX'
    except OSError:
        return True
'''


def behind(fence, code, env=None):
    done = subprocess.run([sys.executable, FENCED] + fence + ['--', sys.executable, '-c', PRELUDE + textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, **(env or {})), universal_newlines=True, timeout=120)
    if 'SKIP' in done.stdout:
        pytest.skip(done.stdout.split('SKIP', 1)[1].strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope='module', autouse=True)
def landlock():
    out = behind(LANDLOCK, '''
        try:
            interp.Session(isolation='landlock').close()
        except interp.StatusError as e:
            print('SKIP no Landlock of ABI 6 here: %s' % e)
        ''')
    assert not out, out


def test_asked_for_is_what_counts():
    """The default is refused, with the reason; a weaker level must be accepted by name, and is then reported."""
    behind(LANDLOCK, '''
        for level in ('full', 'namespaces', None):
            try:
                interp.Session(isolation=level)
                raise SystemExit('%s was given' % level)
            except interp.StatusError as e:
                assert e.code == 'INTERP_E_ISOLATION' and e.reason in ('clone3-blocked', 'userns-seccomp', 'cgroup-missing') and e.remedy, e
        for level in ('landlock', 'process'):
            with interp.Session(isolation=level) as s:
                info = s.info
                assert info['isolation'] == 'landlock', info
                r = info['reached']
                assert r['memory'] == 'watch' and r['network'] == 'no sockets' and r['scoped'] and r['shared_inodes'] and r['ids'] == ('two' if ROOT else 'one'), r
                assert {'workspace_bytes', 'workspace_inodes'} <= set(r['unenforced']) and r['file_modes'] == ('own' if ROOT else 'ignored')
                assert s.bash('pwd; echo $HOME; echo $TMPDIR').stdout.split() == [r['cwd'], r['home'], r['tmp']]
        ''')
    behind(PROCESS, '''
        try:
            interp.Session(isolation='landlock')
            raise SystemExit('it was given')
        except interp.StatusError as e:
            assert e.reason == 'landlock-missing', e
        with interp.Session(isolation='process') as s:
            assert s.info['isolation'] == 'process' and s.info['reached']['files'] == 'host' and s.python('6 * 7').value == '42'
        ''')


def test_limits_that_can_not_be_had():
    behind(LANDLOCK, '''
        wrong = [{'workspace_bytes': 64 << 20}, {'workspace_inodes': 1000}, {'cpu_millis': 500}] + ([] if ROOT else [{'pids': 50}])
        for limit in wrong:
            try:
                interp.Session(isolation='process', **limit)
                raise SystemExit('%s was given' % limit)
            except interp.StatusError as e:
                assert e.reason == 'limit-unenforceable', e
        for level in 'landlock', 'process':
            try:
                interp.Session(isolation=level, pty=True)
                raise SystemExit('a terminal at level ' + level)
            except interp.StatusError as e:
                assert e.reason == 'pty', e
        with interp.Session(isolation='landlock', memory_bytes=128 << 20) as s:
            r = s.python('x = bytearray(400 << 20)\\nimport time\\ntime.sleep(600)', timeout_ms=60000)
            assert (r.outcome, r.cause) == ('oom', 'memory'), r
            assert s.python('1').ok
        ''')


def test_state_output_and_interrupts():
    behind(LANDLOCK, '''
        with interp.Session(isolation='landlock') as s:
            assert s.python('x = 40').ok and s.python('x + 2').value == '42'
            assert s.javascript('let a = 1; a + 1').value == '2'
            assert s.bash('v=1; cd /usr').ok and s.bash('echo $v $PWD').stdout.split() == ['1', '/usr']
            r = s.python('import time\\ntime.sleep(60)', timeout_ms=500, grace_ms=30000)
            assert r.outcome == 'timeout' and r.state == 'preserved' and s.python('x').value == '40', r
            r = s.python('import signal, time\\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\\ntime.sleep(60)', timeout_ms=3000, grace_ms=300)
            assert r.outcome == 'timeout' and r.state == 'reset', r
            assert s.bash('cat', stdin='in').stdout == 'in'
            assert s.sh('echo err >&2; exit 3').exit_code == 3
        ''')


def test_files():
    """The system read-only, a workspace, and nothing else: no other directory of the same user, no process, no socket."""
    behind(LANDLOCK, '''
        import socket, tempfile
        secret = tempfile.mkdtemp(prefix='interp-levels.')
        os.chmod(secret, 0o755)
        with open(secret + '/s', 'w') as f:
            f.write('secret')
        os.chmod(secret + '/s', 0o644)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(secret + '/socket')
        listener.listen(1)
        os.chmod(secret + '/socket', 0o777)
        other = subprocess.Popen(['sleep', '60'])
        with interp.Session(isolation='landlock') as s:
            s.python("""if 1:
                import fcntl, os, signal, socket, subprocess
                def t(f, *a, **k):
                    try:
                        return f(*a, **k)
                    except OSError as e:
                        return type(e).__name__""")
            bad = {}
            for code in ("open('%s/s').read()", "os.listdir('%s')", "open('%s/new', 'w')", "os.rename('%s/s', 'x')", "os.unlink('%s/s')", "os.truncate('%s/s', 0)",
                         "os.link('%s/s', 'x')", "os.symlink('x', '%s/l')", "os.mkdir('%s/d')"):
                got = s.python('t(lambda: %s)' % code % secret).value
                if got not in ("'PermissionError'", "'OSError'"):
                    bad[code] = got
            pid, us = other.pid, os.getpid()
            for code in ('os.kill(%d, 9)' % pid, 'os.kill(%d, 0)' % us, "open('/proc/%d/environ')" % us, "open('/proc/%d/mem')" % pid, 'os.setpriority(os.PRIO_PROCESS, %d, 19)' % pid,
                         'os.setpriority(os.PRIO_USER, 0, 19)', 'os.sched_setaffinity(%d, {0})' % pid, 'socket.socket(socket.AF_UNIX).connect("%s/socket")' % secret,
                         'socket.socket()', 'socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)', 'socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)',
                         'socket.socketpair(socket.AF_UNIX, 3 | socket.SOCK_CLOEXEC)', 'fcntl.ioctl(open("f", "w"), 0x40806685, bytes(128))', "open('/etc/shadow')", "os.listdir('/')", "os.listdir('/proc')", "open('/dev/tty')",
                         "open('/usr/new', 'w')", "os.listdir(os.environ['TMPDIR'] + '/../run')", "os.listdir(os.environ['TMPDIR'] + '/../run/c')",
                         "os.mkdir(os.environ['TMPDIR'] + '/../run/p/x')", "os.rename(os.environ['TMPDIR'] + '/../run/s', 'y')"):
                got = s.python('t(lambda: %s)' % code).value
                if got not in ("'PermissionError'", "'OSError'", "'FileNotFoundError'", "'ProcessLookupError'"):
                    bad[code] = got
            assert not bad, bad
            # what belongs to this user outside keeps its mode, owner and times, whatever is answered
            before = os.stat(secret + '/s')
            s.python("for f in (lambda: os.chmod('%s/s', 0), lambda: os.utime('%s/s', (1, 1)), lambda: os.setxattr('%s/s', 'user.x', b'1')):\\n    t(f)" % (secret, secret, secret))
            after = os.stat(secret + '/s')
            assert (before.st_mode, before.st_mtime, before.st_ctime) == (after.st_mode, after.st_mtime, after.st_ctime)
            assert s.python("import tempfile, shutil\\nopen('f', 'w').write('x')\\nshutil.copy('f', 'g')\\nopen('g').read() + str(len(os.listdir('/usr/lib')) > 1)").value == "'xTrue'"
            assert s.python("import asyncio, threading, multiprocessing, subprocess\\nsubprocess.run(['sh', '-c', 'echo y'], stdout=-1).stdout").value == "b'y" + chr(92) + "n'"
        assert other.poll() is None
        other.kill()
        with open(secret + '/s') as f:
            assert f.read() == 'secret'
        import shutil
        shutil.rmtree(secret)
        ''')


@pytest.mark.parametrize('fence', [LANDLOCK, PROCESS], ids=['landlock', 'process'])
def test_nothing_is_left(fence):
    """Daemons, double forks and stopped processes end with the session, and its directory goes, however wide, deep and closed."""
    behind(fence, '''
        level = 'process' if %r else 'landlock'
        before = boxes()
        s = interp.Session(isolation=level)
        r = s.bash('(setsid sleep 300 & echo $!) ; (trap "" TERM INT HUP; sleep 300) & echo $!; sh -c "kill -STOP \\\\$\\\\$; sleep 300" & echo $!')
        pids = [int(p) for p in r.stdout.split()]
        assert len(pids) == 3 and not any(gone(p) for p in pids), r
        assert s.python('import os\\nfor i in range(3000):\\n    open("w%%d" %% i, "w").close()\\nfor i in range(300):\\n    os.mkdir("d"); os.chdir("d")\\nos.mkdir("closed", 0)').ok
        assert len(boxes() - before) == 1
        s.close()
        assert all(gone(p) for p in pids), pids
        assert boxes() == before
        # the host killed: its sandbox notices, and the next one clears up
        child = subprocess.Popen([sys.executable, '-c', 'import interp, time; s = interp.Session(isolation="%%s"); print(s.bash("sleep 300 & echo $!").stdout, flush=True); time.sleep(60)' %% level],
                                 stdout=subprocess.PIPE)
        pid = int(child.stdout.readline())
        assert not gone(pid)
        child.kill()
        child.wait()
        for _ in range(200):
            if gone(pid):
                break
            time.sleep(0.05)
        assert gone(pid)
        place = os.path.dirname((boxes() - before).pop())
        # one that was killed before its directory had its name; a young one may be about to be named
        old, young = place + '/interp-new.%%d-old' %% os.getpid(), place + '/interp-new.%%d' %% os.getpid()
        for path in (old, young):
            os.mkdir(path, 0o700)
        code = 'import interp; interp.Session(isolation="%%s").close()' %% level
        subprocess.run([sys.executable, '-c', code], check=True)
        assert boxes() <= before and os.path.isdir(old) and os.path.isdir(young)
        os.utime(old, (1, 1))
        subprocess.run([sys.executable, '-c', code], check=True)
        assert not os.path.exists(old) and os.path.isdir(young)
        os.rmdir(young)
        ''' % bool(fence))


def test_nothing_is_left_without_its_supervisor():
    """Without scopes code that has the agent's id may kill or stop what watches over it: what it leaves ends with the session all the same."""
    behind(PROCESS, '''
        if ROOT:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        for deed in ('KILL', 'STOP'):
            s = interp.Session(isolation='process')
            pids = [int(p) for p in s.bash('setsid sleep 300 >/dev/null 2>&1 & echo $!; (setsid sleep 300 >/dev/null 2>&1 & echo $!)').stdout.split()]
            assert len(pids) == 2 and not any(gone(p) for p in pids), pids
            s.bash('kill -%s $PPID' % deed, timeout_ms=2000, grace_ms=300)
            s.close()
            for _ in range(100):
                if all(gone(p) for p in pids):
                    break
                time.sleep(0.05)
            assert all(gone(p) for p in pids), (deed, pids)
        ''')


def test_mounts_at_their_own_path():
    behind(LANDLOCK, '''
        import shutil, tempfile
        here = os.path.realpath(tempfile.mkdtemp(prefix='interp-levels.', dir='/var/tmp'))
        os.chmod(here, 0o755)
        os.mkdir(here + '/ro'); os.mkdir(here + '/rw'); os.chmod(here + '/rw', 0o777)
        open(here + '/ro/a', 'w').write('a')
        with interp.Session(isolation='landlock', mounts=[(here + '/ro',), (here + '/rw', None, 'rw')]) as s:
            assert s.bash('cat %s/ro/a; ! touch %s/ro/b 2>/dev/null; echo c > %s/rw/c; ! ls %s 2>/dev/null' % (here, here, here, here)).stdout == 'a'
            assert len(s.info['reached']['mounts']) == 2
        assert os.listdir(here + '/rw') == ['c']
        try:
            interp.Session(isolation='landlock', mounts=[(here + '/ro', '/data')])
            raise SystemExit('it was given')
        except interp.StatusError as e:
            assert e.reason == 'mount-target', e
        shutil.rmtree(here)
        ''')


def test_from_many_threads():
    behind(LANDLOCK, '''
        bad = []
        def work():
            try:
                for i in range(3):
                    with interp.Session(isolation='landlock') as s:
                        assert s.python('6 * 7').value == '42'
            except BaseException as e:
                bad.append(e)
        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not bad, bad
        ''')
