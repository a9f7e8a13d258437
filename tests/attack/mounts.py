"""Helpers of the rows about directories of the host: each makes its own below /var/tmp, open to the sandbox's user."""
import contextlib
import ctypes
import fcntl
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

import interp_host
import runner


def expect(condition, *words):
    if not condition:
        raise AssertionError(' '.join(str(w) for w in words))


@contextlib.contextmanager
def directory():
    path = os.path.realpath(tempfile.mkdtemp(prefix='interp-attack.', dir='/var/tmp'))
    os.chmod(path, 0o755)
    try:
        yield path
    finally:
        subprocess.run(['chmod', '-R', 'u+rwx', path], check=False)
        shutil.rmtree(path)


def put(path, text, mode=0o644):
    with open(path, 'w') as f:
        f.write(text)
    os.chmod(path, mode)


class MountAttacks:
    def mounted(self, *mounts):
        return self.open(mounts=[dict(zip(('source', 'target', 'mode'), m)) for m in mounts])

    def refused(self, reasons, *mounts):
        try:
            self.mounted(*mounts).close()
        except interp_host.InterpError as e:
            expect(e.facts.get('reason') in reasons, mounts, e)
            return
        expect(False, mounts, 'was given')

    def help_S45(self):
        """Two sandboxes and the host with one directory: nobody's lock is seen by another."""
        with directory() as d:
            put(d + '/f', 'x')
            with self.mounted((d, '/c')) as a, self.mounted((d, '/c')) as b, open(d + '/f') as f:
                x = a.exec('python', 'import fcntl\nf = open("/c/f")\nfcntl.flock(f, fcntl.LOCK_EX)\nfcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)')
                expect(x.outcome == 'ok', x)
                x = b.exec('python', 'import fcntl\nf = open("/c/f")\nfcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)\nprint("free")')
                expect(x.bytes('stdout') == b'free\n', x)
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def help_N03(self):
        with directory() as d, socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            listener.bind(d + '/svc.sock')
            listener.listen(4)
            log.bind(d + '/log.sock')
            log.setblocking(False)
            for name in ('/svc.sock', '/log.sock'):
                os.chmod(d + name, 0o777)
            for mode in ('ro', 'rw'):
                with self.mounted((d, '/c', mode)) as s:
                    x = s.exec('python', 'import errno, os, socket\nout = []\nfor path in ("/c/svc.sock", "/proc/self/cwd/../c/svc.sock"):\n  try:\n    socket.socket(socket.AF_UNIX).connect(path)\n'
                               '    out.append("CONNECTED")\n  except OSError as e:\n    out.append(errno.errorcode[e.errno])\n'
                               'for kind in (2, 3):\n  for how in ("connect", "sendto"):\n    try:\n      a, b = socket.socketpair(socket.AF_UNIX, kind)\n'
                               '      out.append("CONNECTED" if a.connect("/c/log.sock") or a.send(b"x") else "") if how == "connect" else out.append("CONNECTED" if a.sendto(b"x", "/c/log.sock") else "")\n'
                               '    except OSError as e:\n      out.append(errno.errorcode[e.errno])\n'
                               'a, b = socket.socketpair()\na.send(b"pair")\nout.append(b.recv(9).decode())\nprint(*out)')
                    expect(x.outcome == 'ok' and b'CONNECTED' not in x.bytes('stdout') and b'pair' in x.bytes('stdout'), mode, x)
                    try:
                        expect(not log.recv(9), 'it arrived')
                    except BlockingIOError:
                        pass

    def more_nested_writable(self):
        """A link where a writable mount was below another one gives the next kernel no right to what it leads to."""
        with directory() as d, directory() as inner:
            os.makedirs(d + '/a/b')
            for path in (d, d + '/a', d + '/a/b', inner):
                os.chmod(path, 0o777)
            with self.mounted((d, '/data', 'rw'), (inner, '/data/a/b', 'rw')) as s:
                x = s.exec('sh', 'cd /data && mv a z && mkdir a && ln -s / a/b && echo moved')
                expect(x.bytes('stdout') == b'moved\n', x)
                x = s.exec('python', 'try:\n  print(open("/proc/self/comm", "w").write("x"))\nexcept OSError as e:\n  print(e.errno)\nprint(open("/data/f", "w").write("xyz"))')
                expect(x.bytes('stdout') == b'13\n3\n', x)

    def help_N04(self):
        with directory() as d:
            put(d + '/db', 'x', 0o666)
            with self.mounted((d, '/c', 'ro'), (d, '/w', 'rw')) as s:
                x = s.exec('python', 'import fcntl, signal\nsignal.signal(29, signal.SIG_IGN)\nfor path in ("/c/db", "/w/db"):\n  f = open(path)\n  try:\n    fcntl.fcntl(f, 1024, 0)\n    print("LEASE")\n'
                           '  except OSError as e:\n    print(type(e).__name__)')
                expect(b'LEASE' not in x.bytes('stdout'), x)
                def opened():
                    start = time.monotonic()
                    with open(d + '/db', 'a'):
                        pass
                    return (time.monotonic() - start) * 1e3
                expect(runner.fastest(opened, 1000) < 1000, 'the host waited')

    def help_T19(self):
        """No way to leave a setuid or setgid file, a device, or a file that can't be removed."""
        with directory() as d:
            os.chmod(d, 0o777)
            with self.mounted((d, '/bound', 'rw')) as s:
                x = s.exec('python', '''if 1:
                    import ctypes, os, struct
                    L = ctypes.CDLL(None, use_errno=True)
                    os.chdir('/bound')
                    shutil = __import__('shutil')
                    shutil.copy('/bin/true', 'x')
                    open('y', 'w').close()
                    def t(f, *a, **k):
                        try:
                            return f(*a, **k)
                        except OSError:
                            return None
                    fd = os.open('y', os.O_RDONLY)
                    for mode in (0o4755, 0o2755, 0o6755):
                        t(os.chmod, 'x', mode)
                        t(os.fchmod, fd, mode)
                        t(os.mknod, 'n%o' % mode, 0o100000 | mode)
                        t(os.open, 'o%o' % mode, os.O_CREAT | os.O_WRONLY, mode)
                        L.syscall(452, -100, b'x', mode, 0)                                     # fchmodat2
                        L.syscall(437, -100, b'o2%o' % mode, struct.pack('QQQ', 0o101, mode, 0), 24)   # openat2
                    t(os.mknod, 'dev', 0o060666, os.makedev(254, 0))
                    import fcntl
                    t(fcntl.ioctl, fd, 0x40086602, struct.pack('l', 0x10))                  # immutable
                    print('done')''')
                expect(x.bytes('stdout') == b'done\n', x)
            for name in os.listdir(d):
                st = os.lstat(os.path.join(d, name))
                expect(stat.S_ISREG(st.st_mode) and not st.st_mode & 0o6000, name, oct(st.st_mode))

    def help_M01(self):
        """A source, and a directory above it, that become links to a closed place and back while sandboxes are opened."""
        with directory() as d:
            os.makedirs(d + '/top/real')
            os.makedirs(d + '/secret/real')
            for path in ('/secret/word', '/secret/real/word'):
                put(d + path, 'SECRET')
            put(d + '/top/real/word', 'good')
            os.symlink(d + '/secret', d + '/top/link')
            os.symlink(d + '/secret', d + '/link')
            libc, stop = ctypes.CDLL(None), threading.Event()

            def swap():
                while not stop.is_set():
                    for a, b in ((d + '/top/real', d + '/top/link'), (d + '/top', d + '/link')):
                        libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
                        libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
            thread = threading.Thread(target=swap)
            thread.start()
            try:
                for _ in range(25):
                    for mode in ('ro', 'rw'):
                        try:
                            with self.mounted((d + '/top/real', '/c', mode)) as s:
                                x = s.exec('bash', 'cat /c/word')
                                expect(b'SECRET' not in x.bytes('stdout'), x)
                        except interp_host.InterpError as e:
                            expect(e.facts.get('reason') in ('mount-symlink', 'mount-source'), e)
            finally:
                stop.set()
                thread.join()

    def help_M02(self):
        with directory() as d:
            os.symlink('/etc', d + '/etc')
            for source in (d + '/../..', d + '/./x', '/proc/self/root/etc', '/proc/self/cwd', '/proc/thread-self/root', d + '/etc', d + '/etc/ssl', '/dev/fd/0'):
                self.refused(('mount-path', 'mount-symlink', 'mount-source', 'mount-submounts'), (source, '/c'))
            for target in ('/c/../etc', '/../c', '/c/.', '/proc', '/proc/self/root/c', '/dev/shm/c', '/run/interp/p', '/usr', '/bin', '/etc/ld.so.preload', '/.interp', '/'):
                self.refused(('mount-path', 'mount-target'), (d, target))

    def help_M03(self):
        """A link in one mounted directory does not carry the target of another one out of the sandbox."""
        with directory() as d:
            os.mkdir(d + '/a')
            os.mkdir(d + '/b')
            os.symlink(d, d + '/a/abs')
            os.symlink('../../../../../..' + d, d + '/a/rel')
            os.symlink('/proc/self/root', d + '/a/magic')
            for mode in ('ro', 'rw'):
                for target in ('/m/abs/made', '/m/rel/made', '/m/magic/made', '/m/abs'):
                    self.refused(('mount-target',), (d + '/a', '/m', mode), (d + '/b', target))
            expect(sorted(os.listdir(d)) == ['a', 'b'], os.listdir(d))

    def help_M04(self):
        """User code moves what is above a mount and puts a link in its place: the next kernel has no more rights than the first."""
        with directory() as d:
            os.chmod(d, 0o777)
            with self.mounted((d, '/workspace/p/m', 'rw')) as s:
                probe = ('import os\ndef t(f, *a):\n  try:\n    f(*a)\n    return True\n  except OSError:\n    return False\n'
                         'print(t(os.listdir, "/run/interp/s"), t(open, "/etc/x", "w"), t(open, "/proc/self/oom_score_adj", "w"), t(os.mkdir, "/run/x"), t(os.mkdir, "/run/interp/p/x"))')
                first = s.exec('python', probe).bytes('stdout')
                expect(first.endswith(b' False False False False\n'), first)
                x = s.exec('bash', 'mv /workspace/p /workspace/q 2>/dev/null; mkdir -p /workspace/p; rm -rf /workspace/p/m 2>/dev/null; ln -s / /workspace/p/m; echo end')
                expect(x.bytes('stdout') == b'end\n', x)
                for kernel in ('second', 'third'):
                    x = s.exec('python', probe, kernel=kernel)
                    expect(x.bytes('stdout') == first, first, x)

    def help_M05(self):
        """The host's own files of the same user, next to a writable mount: out of reach by every way back."""
        with directory() as d:
            os.mkdir(d + '/open')
            os.chmod(d + '/open', 0o777)
            put(d + '/secret', 'SECRET')
            with self.mounted((d + '/open', '/c', 'rw')) as s:
                x = s.exec('python', 'import os\nos.chdir("/c")\nos.symlink("../secret", "l")\nos.symlink("%s/secret", "m")\nout = []\n'
                           'for path in ("../secret", "l", "m", "/proc/self/cwd/../secret", "%s/secret"):\n  try:\n    out.append(open(path).read())\n  except OSError as e:\n    out.append(e.errno)\n'
                           'try:\n  os.link("../secret", "h")\n  out.append("LINKED")\nexcept OSError as e:\n  out.append(e.errno)\nprint(out, os.path.realpath(".."))' % (d, d))
                expect(x.outcome == 'ok' and b'SECRET' not in x.bytes('stdout') and b'LINKED' not in x.bytes('stdout') and x.bytes('stdout').endswith(b'/\n'), x)
