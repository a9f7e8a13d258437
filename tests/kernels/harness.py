"""Plays the guest agent towards a kernel, as lib/guest/kernels/PROTOCOL.md says: spawn, frames, streams, the drain rule, the
interrupt tree, a new shell from saved state.  Used by run.py and bench.py."""
import array
import fcntl
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.path.join(HERE, '..', '..', 'lib', 'guest', 'kernels')
sys.path.insert(0, KERNELS)
sys.dont_write_bytecode = True
from join import join                                                   # noqa: E402

PYTHON_PARTS = ['python_%s.py' % p for p in ('before38', 'ipython', 'magics', 'rich', 'workers')]
HEAD = struct.Struct('<IIBBH4s')
STATUS = {1: 'ok', 2: 'error', 3: 'exit', 4: 'interrupted'}
ENV = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'HOME': '/tmp', 'LANG': 'C.UTF-8', 'LC_ALL': 'C.UTF-8', 'TERM': 'dumb',
       'NO_COLOR': '1', 'MPLBACKEND': 'Agg', 'PYTHONUNBUFFERED': '1', 'TMPDIR': '/tmp'}


def text(name):
    with open(os.path.join(KERNELS, name), 'rb') as f:
        return f.read()


def stripped(name):
    """A shell driver as the build embeds it: without comment lines (the shell reads it byte by byte)."""
    return b''.join(l for l in text(name).splitlines(True) if l.strip() and not l.lstrip().startswith(b'#'))


def spec(language, exe):
    """Launch specification: kind, argv, blob, template."""
    if language == 'python':
        whole = join(os.path.join(KERNELS, 'python.py'), [os.path.join(KERNELS, p) for p in PYTHON_PARTS]).encode()
        return 'passed', [exe, '-c', text('python_boot.py').decode()], whole, None
    if language == 'javascript':
        return ('paths', [exe, '--expose-internals', '--no-warnings', '-e', text('javascript_boot.js').decode()],
                text('javascript.js'), None)
    if language == 'bash':
        return 'script', [exe, '--noprofile', '--norc', '/dev/fd/4'], stripped('bash.sh'), text('bash.template').decode()
    argv = [exe, 'sh', '/dev/fd/4'] if 'busybox' in exe else [exe, '/dev/fd/4']
    return 'script', argv, stripped('sh.sh'), text('sh.template').decode()


class Broken(Exception):
    """The kernel broke the protocol."""


def fionread(fd):
    b = array.array('i', [0])
    fcntl.ioctl(fd, termios.FIONREAD, b)
    return b[0]


def start_ticks(pid):
    try:
        with open('/proc/%d/stat' % pid) as f:
            return int(f.read().rsplit(')', 1)[1].split()[19])
    except OSError:
        return 0


def state_and_ticks(pid):
    """('S', CPU time in ticks)"""
    try:
        with open('/proc/%d/stat' % pid) as f:
            words = f.read().rsplit(')', 1)[1].split()
        return words[0], int(words[11]) + int(words[12])
    except OSError:
        return 'X', 0


def now_ticks():
    return int(time.clock_gettime(7) * os.sysconf('SC_CLK_TCK'))         # CLOCK_BOOTTIME


def signal_set(pid, name, sig):
    with open('/proc/%d/status' % pid) as f:
        return int(re.search(name + r':\s*(\w+)', f.read()).group(1), 16) >> (sig - 1) & 1


def ignores(pid, sig):
    try:
        return signal_set(pid, 'SigIgn', sig)
    except OSError:
        return 1


def interrupt_tree(pid, sig, since):
    """The kernel and the descendants that this exec started and that do not ignore the signal."""
    todo, hit = [pid], []
    while todo:
        p = todo.pop()
        hit.append(p)
        try:
            with open('/proc/%d/task/%d/children' % (p, p)) as f:
                kids = [int(x) for x in f.read().split()]
        except OSError:
            kids = []
        todo += [k for k in kids if not ignores(k, sig) and start_ticks(k) >= since]
    for p in hit:
        try:
            os.kill(p, sig)
        except ProcessLookupError:
            pass


class Kernel(object):
    def __init__(self, language, exe, cwd='/', env=None, blob=None, stack=64 << 20):
        self.language = language
        self.kind, self.argv, self.blob, self.template = spec(language, exe)
        self.cached = blob is not None
        if blob is not None:
            self.blob = blob
        self.dir = tempfile.mkdtemp(prefix='interp-kernel-')
        os.mkdir(self.dir + '/keep')
        self.cwd, self.stack = cwd, stack
        self.env = dict(ENV if env is None else env)
        if self.kind == 'script':
            self.blob = self.blob.replace(b'@D@', (self.dir + '/keep').encode())
        self.cache = None
        self.pid = None
        self.n = 0
        self.streams, self.old, self.reader = {}, {}, None
        self.reads_old = True                           # late output is read while the next exec runs
        self.start()

    # ------------------------------------------------------------ start and end
    def start(self):
        control, theirs = socket.socketpair()
        err_r, err_w = os.pipe()
        null = os.open('/dev/null', os.O_RDWR)
        if self.kind == 'script':
            four, self.commands = os.pipe()
        else:
            four = os.memfd_create('driver') if hasattr(os, 'memfd_create') else os.open(self.dir + '/blob', os.O_RDWR | os.O_CREAT)
            data = self.blob
            while data:
                data = data[os.write(four, data):]
            os.lseek(four, 0, 0)
            self.commands = None
        env = dict(self.env)
        if self.cached:
            env['INTERP_CACHED'] = '1'
        self.t0 = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                for s in (signal.SIGINT, signal.SIGPIPE):
                    signal.signal(s, signal.SIG_DFL)
                os.chdir(self.cwd)
                if self.stack:
                    import resource
                    resource.setrlimit(resource.RLIMIT_STACK, (self.stack, resource.getrlimit(resource.RLIMIT_STACK)[1]))
                high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (null, null, err_w, theirs.fileno(), four)]
                for i, fd in enumerate(high):
                    os.dup2(fd, i)
                os.closerange(5, 256)
                exe = self.argv[0]
                os.execve(exe, ['busybox' if 'busybox' in exe else exe] + self.argv[1:], env)
            finally:
                os._exit(127)
        self.pid, self.control = pid, control
        theirs.close()
        for fd in (err_w, four, null):
            os.close(fd)
        if self.kind == 'script':
            self.command(self.blob)
        self.start_err = err_r
        while True:
            try:
                kind, status, token, js, blob = self.frame(20)
            except EOFError:
                st = self.wait()
                raise RuntimeError('start failed: exit %s, stderr %r' % (os.WEXITSTATUS(st), os.read(err_r, 65536)))
            if kind == 'c':
                self.cache = blob
            elif kind == 'r':
                break
            else:
                raise Broken('frame %r before r' % kind)
        self.ready_ms = (time.perf_counter() - self.t0) * 1e3
        self.restored = status == 2
        self.ready = js
        os.close(err_r)

    def wait(self):
        _, st = os.waitpid(self.pid, 0)
        self.pid = None
        self.control.close()
        if self.commands is not None:
            os.close(self.commands)
        return st

    def close(self):
        if self.pid:
            try:
                os.killpg(self.pid, 9)
            except OSError:
                os.kill(self.pid, 9)
            self.wait()
        self.drop_streams()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ------------------------------------------------------------ frames
    def command(self, data):
        while data:
            data = data[os.write(self.commands, data):]

    def receive(self, n, timeout):
        data = b''
        while len(data) < n:
            r, _, _ = select.select([self.control], [], [], timeout)
            if not r:
                raise TimeoutError('no frame in %s s' % timeout)
            try:
                part = self.control.recv(n - len(data))
            except ConnectionResetError:
                part = b''
            if not part:
                raise EOFError()
            data += part
        return data

    def frame(self, timeout):
        j, b, kind, status, zero, token = HEAD.unpack(self.receive(16, timeout))
        if j > 1 << 20 or b > 32 << 20 or zero:
            raise Broken('bad frame header')
        js = self.receive(j, timeout)
        return chr(kind), status, token, json.loads(js.decode('utf-8')) if js else {}, self.receive(b, timeout)

    def send(self, kind, status=0, js=None, blob=b'', fds=()):
        data = json.dumps(js).encode() if js is not None else b''
        head = HEAD.pack(len(data), len(blob), ord(kind), status, 0, self.token)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else []
        self.control.sendmsg([head], rights)
        self.control.sendall(data + blob)

    # ------------------------------------------------------------ streams
    def drop_streams(self):
        for fd in list(self.streams.values()) + list(self.old):
            os.close(fd)
        self.streams, self.old = {}, {}
        self.drop_reader()

    def drop_reader(self):
        if self.reader is not None:
            os.close(self.reader)
            self.reader = None

    def take(self, res=None):
        """The drain rule: read until EAGAIN, at most what FIONREAD said."""
        res = {'stdout': b'', 'stderr': b'', 'seq': []} if res is None else res
        for name in ('stdout', 'stderr'):
            if name not in self.streams:
                continue
            fd = self.streams[name]
            n = fionread(fd)
            while n > 0:
                try:
                    d = os.read(fd, min(n, 1 << 16))
                except BlockingIOError:
                    break
                if not d:
                    break
                n -= len(d)
                res[name] += d
                res['seq'].append((name, d))
        return res

    def open_streams(self, stdin):
        """-> what the kernel gets; ours are in self.streams."""
        if self.kind == 'passed':
            fds = []
            feed = None
            if stdin is not None:
                r, feed = os.pipe()
                fds.append(r)
            for name in ('stdout', 'stderr'):
                r, w = os.pipe()
                os.set_blocking(r, False)
                self.streams[name] = r
                fds.append(w)
            return fds, feed
        prefix = '%s/s%d-' % (self.dir, self.n)
        feed = None
        for i, name in ((1, 'stdout'), (2, 'stderr')):
            os.mkfifo(prefix + str(i))
            self.streams[name] = os.open(prefix + str(i), os.O_RDONLY | os.O_NONBLOCK)
        if stdin is not None:
            os.mkfifo(prefix + '0')
            self.reader = os.open(prefix + '0', os.O_RDONLY | os.O_NONBLOCK)     # held until the kernel has opened it
            feed = os.open(prefix + '0', os.O_WRONLY)
        return prefix, feed

    # ------------------------------------------------------------ what goes on in it
    def under_way(self, begun):
        """Whether user code has begun and sleeps or computes since."""
        if not os.path.exists(begun):
            return False
        state, ticks = state_and_ticks(self.pid)
        self.first_ticks = ticks if self.first_ticks is None else self.first_ticks
        return state == 'S' or ticks - self.first_ticks >= 5

    def interrupt_idle(self):
        """SIGINT between two execs, and it has been heard."""
        os.kill(self.pid, signal.SIGINT)
        end = time.monotonic() + 20
        while (signal_set(self.pid, 'ShdPnd', signal.SIGINT) or state_and_ticks(self.pid)[0] != 'S') and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(0.02)

    def await_late(self, size, name='stdout', timeout=20):
        """So much late output of the last exec has come."""
        end = time.monotonic() + timeout
        while fionread(self.streams[name]) < size and time.monotonic() < end:
            time.sleep(0.005)

    # ------------------------------------------------------------ exec
    def exec(self, code, timeout=20, stdin=None, plan=(), env=None, options=None, begun=None):
        """plan: [(seconds, 'pid'|'tree', signal)]; begun: a file, and the seconds count from when it is there and the kernel sleeps or computes."""
        if self.pid is None:
            self.start()
        self.n += 1
        late = self.take()
        self.old.update((fd, name) for name, fd in self.streams.items())    # what comes there from now on is late output too
        self.streams = {}
        self.token = struct.pack('<I', (0x80ff00 + self.n * 0x01030725) & 0xffffffff)
        r, _, _ = select.select([self.control], [], [], 0)
        if r and self.control.recv(1, socket.MSG_PEEK):
            raise Broken('bytes on control before P')
        code = code.encode('utf-8', 'surrogateescape') if isinstance(code, str) else code
        given, feed = self.open_streams(stdin)
        res = {'stdout': bytearray(), 'stderr': bytearray(), 'displays': [], 'seq': [], 'late_before': late, 'late_during': b''}
        began, since = time.perf_counter(), now_ticks()
        js = {'n': self.n, 'name': ('exec-%d.js' if self.language == 'javascript' else '<exec %d>') % self.n,
              'env': env or {}, 'options': options or {}}
        opened = self.kind == 'passed'
        if self.kind == 'passed':
            self.send('P', 1 if stdin is not None else 0, None, b'', given)
            for fd in given:
                os.close(fd)
            self.send('E', 0, js, code)
        elif self.kind == 'paths':
            self.send('P', 1 if stdin is not None else 0, None, given.encode())
            self.send('E', 0, js, code)
        else:
            path = '%s/exec-%d.sh' % (self.dir, self.n)
            with open(path, 'wb') as f:
                f.write(code)
            prefix = ''.join("%s='%s' " % (k, v.replace("'", "'\\''")) for k, v in (env or {}).items())
            t = self.template
            for k, v in (('@F@', path), ('@0@', given + '0' if stdin is not None else '/dev/null'), ('@1@', given + '1'),
                         ('@2@', given + '2'), ('@T@', ''.join('\\%03o' % b for b in self.token)), ('@E@', prefix),
                         ('@D@', self.dir + '/keep')):
                t = t.replace(k, v)
            try:
                self.command(t.encode())
            except BrokenPipeError:
                pass
        plan, stdin = list(plan), stdin or b''
        final, base, self.first_ticks = None, None if begun else 0, None
        while final is None:
            now = time.perf_counter() - began
            if base is None and self.under_way(begun):
                base = now
            if now > timeout:
                res['final'] = {'status': 'timeout'}
                break
            if feed is not None and not stdin and opened:       # without a writer the kernel's open() would wait
                os.close(feed)
                feed = None
            due = not plan and timeout or (now + 0.01 if base is None else base + plan[0][0])
            wait = min(timeout, due) - now
            r, w, _ = select.select([self.control] + list(self.streams.values()) + (list(self.old) if self.reads_old else []), [feed] if feed is not None and stdin else [], [], max(0, wait))
            if plan and base is not None and time.perf_counter() - began >= base + plan[0][0]:
                _, who, sig = plan.pop(0)
                res['signalled'] = True
                if who == 'pid':
                    os.kill(self.pid, sig)
                else:
                    interrupt_tree(self.pid, sig, since)
            if w:
                try:
                    stdin = stdin[os.write(feed, stdin[:4096]):]
                except BrokenPipeError:
                    stdin = b''
            for fd in list(self.old):
                if fd in r:
                    d = os.read(fd, 1 << 16)
                    res['late_during'] += d
                    res['seq'].append(('late', d))
                    if not d:
                        os.close(fd)
                        del self.old[fd]
            for name, fd in list(self.streams.items()):
                if fd in r:
                    try:
                        d = os.read(fd, 1 << 16)
                    except BlockingIOError:
                        continue
                    if d:
                        res[name] += d
                        res['seq'].append((name, d))
                    elif self.kind != 'passed' and not opened:
                        time.sleep(0.0005)              # no writer has opened the FIFO yet
                    else:
                        os.close(self.streams.pop(name))
            if self.control in r:
                try:
                    kind, status, token, js, blob = self.frame(timeout)
                except EOFError:
                    st = self.wait()
                    final = {'status': 'died', 'exit_code': os.WEXITSTATUS(st) if os.WIFEXITED(st) else None,
                             'signal': os.WTERMSIG(st) if os.WIFSIGNALED(st) else None}
                    if self.kind == 'script' and os.WIFEXITED(st):
                        final['status'] = 'interrupted' if res.get('signalled') else 'exit'
                    break
                if token != self.token:
                    raise Broken('token of %r is %r, not %r' % (kind, token, self.token))
                if kind == 'o' and not opened:
                    opened = True
                    self.drop_reader()
                    for i in '012':
                        try:
                            os.unlink('%s/s%d-%s' % (self.dir, self.n, i))
                        except OSError:
                            pass
                elif kind == 'd':
                    d, at = {'kind': js['kind'], 'mime': {}, 'dropped': js.get('dropped')}, 0
                    for mime, size in js['mime']:
                        d['mime'][mime] = blob[at:at + size]
                        at += size
                    if at != len(blob):
                        raise Broken('parts of a display do not add up')
                    if len(d['mime']) > 16 or any(len(m) > 127 for m in d['mime']):
                        raise Broken('a display that the host does not take')
                    shown = [x for x in res['displays'] if x['kind'] == 'display']
                    if d['kind'] == 'clear':
                        res['displays'] = [x for x in res['displays'] if x['kind'] == 'result']
                    elif 'replaces' in js:
                        at = [i for i, x in enumerate(res['displays']) if x is shown[js['replaces'] - 1]][0]
                        res['displays'][at] = d
                    else:
                        res['displays'].append(d)
                elif kind == 'f' and status in STATUS and opened:
                    final = dict(js, status=STATUS[status])
                else:
                    raise Broken('frame %r, status %d' % (kind, status))
        if final is not None:
            res['final'] = final
        self.take(res)
        self.drop_reader()
        if feed is not None:
            os.close(feed)
        res['ms'] = (time.perf_counter() - began - (base or 0)) * 1e3
        res['stdout'], res['stderr'] = bytes(res['stdout']), bytes(res['stderr'])
        if self.kind == 'script':
            res['stderr'] = res['stderr'].replace(path.encode(), b'exec-%d.sh' % self.n)
        return res
