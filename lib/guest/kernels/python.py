# Python driver of libinterp: runs in the sandbox inside the interpreter that runs the user's code; see PROTOCOL.md.
# CPython 3.6 to 3.14, standard library only.  python_boot.py runs this text with a private copy of the builtins, so user code
# that replaces print, len or open does not reach the driver.
#
# Start-up time decides what is imported where: at the start only modules written in C, everything else on first need through
# std(), which never finds a file of the user's.  What only some execs need is in files of its own, python_*.py, compiled into this
# module on first use: see part().
import builtins
import os
import sys
import time
import _codecs
import _frozen_importlib
import _frozen_importlib_external
import _functools
import _io
import _signal
import _thread

DRIVER = '<interp driver>'                  # file name of this code: frames with it never reach a traceback
VERSION = sys.version_info
TEXT_CAP, MESSAGE_CAP = 64 << 10, 16 << 10
HTML_CAP, BINARY_CAP, TOTAL_CAP = 1 << 20, 8 << 20, 32 << 20
JSON_CAP = 1 << 20                          # of a frame's JSON
BUNDLES, PARTS_EACH, MIME_CAP = 250, 16, 127        # displays an exec, forms of one, length of a MIME type: the host takes no more
TOP_AWAIT = 0x2000 if VERSION >= (3, 8) else 0      # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
ONLY_AST = 0x400                                    # ast.PyCF_ONLY_AST
COROUTINE = 0x80                                    # inspect.CO_COROUTINE
FUTURE = 0x1fc0000 if VERSION >= (3, 8) else 0x1e0000    # bits of co_flags that `from __future__` sets
OK, ERROR, EXIT, INTERRUPTED = 1, 2, 3, 4
IDLE, RUN = 0, 1
NULL = 0x103                                        # device number of /dev/null: Linux, Documentation/admin-guide/devices.txt

# References of our own: user code may replace the attributes.
getpid, get_ident, sleep, perf = os.getpid, _thread.get_ident, time.sleep, time.perf_counter
dup, dup2, close, os_fstat, os_read, os_write, kill_self, environ = os.dup, os.dup2, os.close, os.fstat, os.read, os.write, os._exit, os.environ
set_signal, get_signal, SIGINT = _signal.signal, _signal.getsignal, _signal.SIGINT
from_bytes = int.from_bytes
modules, real_import = sys.modules, builtins.__import__


class State(object):
    pid = getpid()
    main_thread = get_ident()
    phase = IDLE             # RUN: user code (or code called for it) runs; SIGINT raises KeyboardInterrupt
    guarded = False          # the main thread is inside a frame: SIGINT is noted, frames are never torn
    pending = False          # noted
    interrupted = False      # SIGINT came in this exec
    in_exec = False          # between E and f: the only time at which frames may be sent
    token = b'\0\0\0\0'
    count = 0
    flags = 0                # __future__ features switched on so far
    total = 0                # bytes of rich results of this exec
    shown = []               # of each display of this exec, its size
    handles = {}             # display_id -> number of its display in this exec, from 1
    loop = task = None
    cancelled = False
    cells = {}               # file name -> linecache entry
    cells_size = 0           # characters in them
    last = None              # value of _
    err_dirty = False        # stderr was written last
    unordered = False        # the reader is slow: order of the two streams is given up for this exec
    budget = 0
    ticking = False
    through = False          # let_through() was called before
    late = False             # something ran since the last exec ended
    own = None              # Owner of this exec's threads, made for the first one
    terminal = False        # the streams are a terminal
    had_stdin = True        # the last exec had input, so what is buffered of it must go
    fflush = None
    module_count = 0


S = State()


# ---------------------------------------------------------------- parts that are compiled on first use
PARTS = {}                                  # name -> text; join.py fills it in
part_lock = _thread.RLock()


def part(name):
    """Have the definitions of python_NAME.py in this module."""
    if name in PARTS:
        with part_lock:                     # an interrupt on the way leaves it to the next call
            if name in PARTS:
                exec(compile(PARTS[name], DRIVER, 'exec', 0, True), globals())
                del PARTS[name]


def in_part(name, function):
    """Stands for a function of a part."""
    def call(*args, **kwargs):
        part(name)
        return globals()[function](*args, **kwargs)
    call.__name__ = call.__qualname__ = function
    return call


# ---------------------------------------------------------------- imports that no file of the user's can capture
STD = []                     # directories of the standard library
try:
    _base = os.path.dirname(os.__file__)
    STD = [p for p in sys.path if p and (p == _base or p.startswith(_base + os.sep) or p.endswith('.zip')
                                         or os.path.basename(p) == 'lib-dynload')
           and os.path.basename(p) not in ('site-packages', 'dist-packages')]
    if _base not in STD:
        STD.append(_base)
except AttributeError:
    pass
_std_private = {}
_std_names = getattr(sys, 'stdlib_module_names', None)


def std_names():
    """Names of the modules of the standard library; made from its directories before 3.10."""
    global _std_names
    if _std_names is None:
        names = set(sys.builtin_module_names)
        for d in STD:
            try:
                names.update(n.partition('.')[0] for n in os.listdir(d))
            except OSError:
                pass
        _std_names = names
    return _std_names


def genuine(module):
    """Is this module the standard library's, or a user's file of the same name?"""
    try:
        origin = module.__spec__.origin
    except AttributeError:
        return module.__name__ == 'os.path' if isinstance(module, type(sys)) else False
    if origin in ('built-in', 'frozen') or origin is None:
        return True
    return any(origin.startswith(d + os.sep) for d in STD) and '-packages' + os.sep not in origin


class StdOnly(object):
    """While entered, imports of this thread find the standard library only, also those that the library itself does late:
    modules of the user's with such a name are put aside, and put back afterwards."""

    def __enter__(self):
        self.outer = FINDER.std_thread
        if self.outer == get_ident():
            return self
        names = std_names()
        self.aside, self.before = {}, None
        for name, module in list(modules.items()):
            top = name.partition('.')[0]
            if top in names and top not in ('__main__', 'site', 'sitecustomize', 'usercustomize') and not genuine(module):
                self.aside[name] = module
        for name in self.aside:
            modules.pop(name, None)
        for name, module in _std_private.items():       # private packages import parts of themselves late
            if name not in modules:
                modules[name] = module
                self.aside.setdefault(name, None)
        self.before = set(modules)
        FINDER.std_thread = get_ident()
        if FINDER not in sys.meta_path:
            sys.meta_path.insert(0, FINDER)
        return self

    def __exit__(self, *exc):
        if self.outer == get_ident():
            return
        FINDER.std_thread = self.outer
        # What was loaded stays for the user, unless the user's own path has, or had, another module of that name.
        hide = set(n.partition('.')[0] for n in self.aside)
        for name in [n for n in modules if n not in self.before]:
            top = name.partition('.')[0]
            if top in hide or shadowed(top):
                hide.add(top)
                _std_private.setdefault(name, modules.pop(name, None))
        for name, module in self.aside.items():
            if module is None:
                modules.pop(name, None)
            else:
                modules[name] = module


def shadowed(top):
    for d in list(sys.path or ()):
        if d in STD:
            return False
        base = os.path.join(d, top) if isinstance(d, str) else top
        if os.path.isdir(base) or os.path.isfile(base + '.py'):
            return True
    return False


def std(name):
    """The module of the standard library with this name."""
    m = _std_private.get(name)
    if m is not None:
        return m
    m = modules.get(name)
    if m is None or not genuine(m):
        with StdOnly():
            try:
                real_import(name)
            except Exception:               # an import that was interrupted leaves a package's parts without the package: clear them away
                for part in [p for p in modules if p.startswith(name + '.')]:
                    del modules[part]
                real_import(name)
            m = modules[name]
    _std_private[name] = m
    return m


class AfterLoad(object):
    """A loader that does what the given one does, then calls a hook."""

    def __init__(self, loader, hook):
        self.loader, self.hook = loader, hook

    def create_module(self, spec):
        return self.loader.create_module(spec) if hasattr(self.loader, 'create_module') else None

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        try:
            self.hook(module)
        except Exception:
            pass

    def __getattr__(self, name):
        return getattr(self.loader, name)


class Finder(object):
    """First on sys.meta_path: serves StdOnly, and runs our hooks after the modules they are for."""
    std_thread = None

    def find_spec(self, name, path=None, target=None):
        hook = HOOKS.get(name)
        if self.std_thread == get_ident():
            spec = self.find_std(name, path)
        elif hook is None:
            return None
        else:
            spec = None
            for f in sys.meta_path:
                if f is not self and hasattr(f, 'find_spec'):
                    spec = f.find_spec(name, path, target)
                    if spec is not None:
                        break
        if spec is not None and hook is not None and hasattr(spec.loader, 'exec_module'):
            spec.loader = AfterLoad(spec.loader, hook)
        return spec

    def find_std(self, name, path):
        if path is None and name.partition('.')[0] not in std_names():
            return None
        for f in (_frozen_importlib.BuiltinImporter, _frozen_importlib.FrozenImporter):
            spec = f.find_spec(name, path)
            if spec is not None:
                return spec
        return _frozen_importlib_external.PathFinder.find_spec(name, STD if path is None else path)

    def invalidate_caches(self):
        pass


FINDER = Finder()
HOOKS = {}


# ---------------------------------------------------------------- frames
_path, sys.path[:] = sys.path[:], STD       # no other thread is there yet
try:
    import _socket
    from _json import encode_basestring_ascii as quote, make_scanner
finally:
    sys.path[:] = _path


class ScannerOptions(object):
    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo = {}


scan = make_scanner(ScannerOptions())


def encode(o):
    """JSON, for what the driver itself sends."""
    if o is None:
        return 'null'
    if isinstance(o, str):
        return quote(str(o))
    if o is True or o is False:
        return 'true' if o else 'false'
    if isinstance(o, int):
        return int.__repr__(o)
    if isinstance(o, dict):
        return '{' + ','.join([quote(k) + ':' + encode(v) for k, v in o.items()]) + '}'
    return '[' + ','.join([encode(v) for v in o]) + ']'


class Gone(BaseException):
    """The agent closed control."""


class Control(object):
    def __init__(self, fd):
        self.fd = fd
        self.sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fd)
        self.sock.setblocking(True)
        self.buf = bytearray()
        self.fds = []
        self.lock = _thread.allocate_lock()

    def fill(self, n):
        """Have n bytes in buf. What comes in one piece (usually P and E) takes one call; descriptors wait in fds for their frame."""
        while len(self.buf) < n:
            part, ancillary, _, _ = self.sock.recvmsg(max(16384, min(n - len(self.buf), 1 << 20)), 64, _socket.MSG_CMSG_CLOEXEC)
            for level, kind, raw in ancillary:
                if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                    for i in range(0, len(raw) - 3, 4):
                        self.fds.append(int.from_bytes(raw[i:i + 4], sys.byteorder))
            if not part:
                raise Gone()
            self.buf += part

    def receive(self):
        buf = self.buf
        if len(buf) < 16:
            self.fill(16)
        head = bytes(buf[:16])
        body = 16 + from_bytes(head[0:4], 'little')
        end = body + from_bytes(head[4:8], 'little')
        if len(buf) < end:
            self.fill(end)
        json, blob = buf[16:body], bytes(buf[body:end])
        del buf[:end]
        fds = None
        if head[8] == 80:                   # P
            fds, self.fds = self.fds, []
        return chr(head[8]), head[9], head[12:16], scan(json.decode('utf-8'), 0)[0] if json else {}, blob, fds

    def send(self, kind, status, obj, blob=b'', sent=None):
        """Send a frame, then call sent(); False when none may be sent now, or by this process."""
        if getpid() != S.pid:
            return False                    # a forked child never talks on control
        json = encode(obj).encode('ascii') if obj is not None else b''
        if len(json) > JSON_CAP and 'error' in obj:     # most of it escapes
            error = obj['error']
            error.update(frames=error['frames'][-10:], message=clip(error['message'], 4096), traceback=clip(error['traceback'], 16384))
            json = encode(obj).encode('ascii')
        frame = b''.join((len(json).to_bytes(4, 'little'), len(blob).to_bytes(4, 'little'), kind, bytes((status, 0, 0)),
                          S.token, json, blob))
        mine = get_ident() == S.main_thread
        old, S.guarded = S.guarded, S.guarded or mine
        try:
            with self.lock:
                if kind != b'r' and not S.in_exec:
                    return False
                if kind == b'f':
                    S.in_exec = False
                self.sock.sendall(frame)
                if sent is not None:
                    sent()
        finally:
            if mine:
                S.guarded = old
        if mine and S.pending and not old:
            S.pending = False
            if S.phase == RUN:
                raise KeyboardInterrupt()
        return True


# ---------------------------------------------------------------- streams
CELLS, CELLS_SIZE = 2000, 4 << 20           # texts of execs that are kept for tracebacks
BUDGET, REFILL, TICK = 100, 20, 0.05
text_write, text_flush = _io.TextIOWrapper.write, _io.TextIOWrapper.flush
real_out = real_err = real_in = None


def wait_read(fd):
    """Wait, a little, until the agent has read what this process wrote to fd: that makes the order across the two pipes the
    order of the writes."""
    if S.unordered or S.phase != RUN:
        return
    end = None
    ioctl = std('fcntl').ioctl
    while True:
        try:
            n = int.from_bytes(ioctl(fd, 0x541B, b'\0\0\0\0'), sys.byteorder)       # FIONREAD
        except OSError as e:
            if not of_stream(e):
                raise
            return
        if n == 0:
            return
        now = perf()
        if end is None:
            end = now + 0.02
        elif now > end:
            S.unordered = True
            return
        sleep(0)


# A thread belongs to the exec that started it: what it prints later is late output of that one, never another exec's.
start_thread = _thread.start_new_thread


class Owner(object):
    """An exec's streams, kept open for its threads."""
    def __init__(self):
        self.fds = [high(1), high(2)]

    def write(self, i, s):
        data = memoryview(s.encode('utf-8', 'interp_escape'))
        try:
            while data:
                data = data[os_write(self.fds[i - 1], data):]
        except OSError:
            pass                            # nobody takes it any more
        return len(s)

    def __del__(self):
        for fd in self.fds:
            try:
                close(fd)
            except Exception:
                pass


def high(fd):
    """A copy of fd out of the way of user code."""
    for n in range(control.fd - 5, 63, -1):
        try:
            os.fstat(n)
        except OSError:
            dup2(fd, n, False)
            return n
    return dup(fd)


owners = {}                                 # threads that have one


def owner_now():
    own = owners.get(get_ident()) or S.own
    if own is None:
        own = S.own = Owner()
        look_closely()
    return own


def with_owner(function):
    own = owner_now()

    def run(*args, **kwargs):
        owners[get_ident()] = own
        look_closely()
        try:
            return function(*args, **kwargs)
        finally:
            owners.pop(get_ident(), None)
    return run


def owning(name, original):
    def start(function, *args, **kwargs):
        try:
            if callable(function) and getpid() == S.pid:
                function = with_owner(function)
        except OSError:
            pass                            # no descriptor left: its output goes where the exec of the day has it
        return original(function, *args, **kwargs)
    start.__name__ = start.__qualname__ = name
    return start


def hook_threads():
    for name in ('start_new_thread', 'start_new', 'start_joinable_thread'):
        if hasattr(_thread, name):
            setattr(_thread, name, owning(name, getattr(_thread, name)))
            if hasattr(modules.get('threading'), '_' + name):       # loaded by a .pth file before we came
                setattr(modules['threading'], '_' + name, getattr(_thread, name))


def hook_pools(m):
    """A pool's thread works for the exec that gave it the work."""
    make, run = m._WorkItem.__init__, m._WorkItem.run

    def __init__(self, *args, **kwargs):
        make(self, *args, **kwargs)
        self._interp_owner = owner_now()

    def run_owned(self, *args, **kwargs):
        me = get_ident()
        before = owners.get(me)
        owners[me] = self._interp_owner
        try:
            return run(self, *args, **kwargs)
        finally:
            if before is None:
                owners.pop(me, None)
            else:
                owners[me] = before
    m._WorkItem.__init__, m._WorkItem.run = __init__, run_owned


def of_stream(e):
    """Whether a stream's own code has raised it: it is in C, a signal handler of user code, which may come in anywhere, is not."""
    return e.__traceback__.tb_next is None


class Out(_io.TextIOWrapper):
    """Flushed at every newline for the first BUDGET lines of an exec and REFILL more each TICK; what prints faster is buffered in
    blocks, with a thread that flushes, and does not even come here: see let_through()."""

    def write(self, s):
        if owners:
            own = owners.get(get_ident())
            if own is not None and own is not S.own:
                return own.write(1, s)
        if S.err_dirty:
            S.err_dirty = False
            try:
                text_flush(real_err)
                wait_read(2)
            except (ValueError, OSError) as e:
                if not of_stream(e):
                    raise
        n = text_write(self, s)
        if S.phase != RUN:
            S.late = True
            if '\n' in s:
                text_flush(self)
        elif '\n' in s:
            if S.budget > 0:
                S.budget -= 1
                text_flush(self)
            else:
                let_through(self)
        return n


class Err(_io.TextIOWrapper):
    def write(self, s):
        if owners:
            own = owners.get(get_ident())
            if own is not None and own is not S.own:
                return own.write(2, s)
        if not S.err_dirty:
            look_closely()
            try:
                text_flush(real_out)
                wait_read(1)
            except (ValueError, OSError) as e:
                if not of_stream(e):
                    raise
            S.err_dirty = True
        if S.phase != RUN:
            S.late = True
        return text_write(self, s)


# In an exec that prints fast and has no threads of its own, print() calls TextIOWrapper.write itself: a method in Python takes it three
# times as long.  What it calls is a partial whose target is exchanged, as user code may keep what sys.stdout.write was.
through = _functools.partial(len)


def let_through(out):
    """The exec prints fast: buffer its lines, and have the ticker flush them."""
    S.budget = 0
    if out is real_out and S.own is None and not owners and 'write' not in out.__dict__:
        S.through = True
        through.__setstate__((text_write.__get__(out), (), {}, None))
        out.write = through
        if owners:                          # a thread of an earlier exec has just begun
            look_closely()
    if not S.ticking:
        start_ticker()


def look_closely():
    """From here on each write of real_out comes to Out.write."""
    if S.through:
        through.__setstate__((Out.write.__get__(real_out), (), {}, None))
        if real_out.__dict__.get('write') is through:
            real_out.__dict__.pop('write', None)


def start_ticker():
    if getpid() == S.pid:
        try:
            S.ticking = True
            start_thread(ticker, ())
        except BaseException as e:
            S.ticking = False
            if not (isinstance(e, Exception) and of_stream(e)):
                raise


bell = _thread.allocate_lock()              # let go: the ticker is to end
bell.acquire()


def ticker():
    on = True
    while on:
        rung = bell.acquire(True, TICK)
        on = S.ticking = not rung and S.budget <= 0 and S.phase == RUN      # who counted on it up to here has the flush below, who comes later a new one
        if on:
            S.budget = REFILL
        look_closely()
        try:
            text_flush(real_out)
        except Exception:
            pass


def before_fork():
    """A fork beside a thread is warned of, and the child would wait for ever for what the thread holds."""
    flush()
    if S.ticking and getpid() == S.pid and bell.locked():
        threads, end = _thread._count(), perf() + 0.1
        bell.release()
        while _thread._count() >= threads and perf() < end:
            sleep(0)


def escape_error(e):
    # What came in as a surrogate escape goes out as the byte it was, any other lone surrogate as \udXXX: printing never fails.
    if not isinstance(e, UnicodeEncodeError):
        raise e
    out = []
    for c in e.object[e.start:e.end]:
        n = ord(c)
        out.append(bytes([n - 0xdc00]) if 0xdc80 <= n <= 0xdcff else ('\\u%04x' % n).encode())
    return b''.join(out), e.end


_codecs.register_error('interp_escape', escape_error)


class Raw(_io.FileIO):
    """Writes to a descriptor that can be exchanged, see leave().  In C: between a write and the note that it was made no signal handler of
    user code comes in, which would have it made again."""

    def __init__(self, fd, name):
        super(Raw, self).__init__(fd, 'w', False)
        self.number, self.name = fd, name

    def leave(self):
        """Stay with what it writes to, whatever becomes of the descriptor."""
        self._checkClosed()
        super(Raw, self).__init__(dup(self.number), 'w', True)

    def fileno(self):
        self._checkClosed()
        return self.number

    def isatty(self):
        self._checkClosed()
        return S.terminal and os.isatty(super(Raw, self).fileno())

    def _dealloc_warn(self, source):
        pass                                # one that was left goes with the thread that hung in it

    # what is behind the descriptor changes with each exec, and is a pipe or a terminal
    seekable, seek, tell, truncate = _io._RawIOBase.seekable, _io._RawIOBase.seek, _io._RawIOBase.tell, _io._RawIOBase.truncate


def make_streams():
    global real_out, real_err
    real_out = Out(_io.BufferedWriter(Raw(1, '<stdout>'), 1 << 16), 'utf-8', 'interp_escape', newline='\n')
    real_err = Err(_io.BufferedWriter(Raw(2, '<stderr>'), 1 << 13), 'utf-8', 'backslashreplace', newline='\n', line_buffering=True)
    real_out.mode = real_err.mode = 'w'
    S.err_dirty = False


def make_stdin():
    global real_in
    raw = _io.FileIO(0, 'r', closefd=False)
    raw.name = '<stdin>'
    real_in = _io.TextIOWrapper(_io.BufferedReader(raw), 'utf-8', 'surrogateescape')
    real_in.mode = 'r'
    sys.stdin = sys.__stdin__ = real_in


def broken(stream):
    """Is this stream (or the one of sys with this name) none, or closed?  A writer of the user's own need not have `closed`."""
    if isinstance(stream, str):
        stream = getattr(sys, stream, None)
    if stream is None:
        return True
    try:
        return stream.closed is True
    except AttributeError:
        return False
    except Exception:
        return True                         # detached


def flush():
    out, err = getattr(sys, 'stdout', None), getattr(sys, 'stderr', None)
    for s in (out, err) if out is real_out and err is real_err else (out, real_out, err, real_err):
        try:
            s.flush()
        except KeyboardInterrupt:
            raise
        except Exception:
            pass


def retire():
    """Give late output that is still in our buffers to the pipes it belongs to.  A pipe that nobody reads may be full, or a thread
    may hang in one with the buffer's lock: then the streams are made anew, the old ones stay with their pipe, and the next exec goes on."""
    if S.terminal:                          # it was hung up: what is still held for it must not reach the next exec
        S.late = S.terminal = False
        leave_streams()
        return
    if not S.late and _thread._count() <= S.ticking:
        return
    S.late = False
    done = _thread.allocate_lock()
    done.acquire()

    def work():
        try:
            flush()
        finally:
            done.release()
    try:
        start_thread(work, ())
    except Exception:
        return
    if not done.acquire(True, 0.05):
        leave_streams()


def leave_streams():
    """Make the streams anew; the old ones stay with what they write to."""
    old_out, old_err = real_out, real_err
    for s in (old_out, old_err):
        try:
            s.buffer.raw.leave()
        except Exception:
            pass                            # closed or detached
    make_streams()
    if getattr(sys, 'stdout', None) is old_out:
        sys.stdout = sys.__stdout__ = real_out
    if getattr(sys, 'stderr', None) is old_err:
        sys.stderr = sys.__stderr__ = real_err


def take_terminal():
    """Have the terminal for our own, so that its keys reach what runs in front. Its end is no reason for us to end; programs that we start hear of it as they would."""
    S.terminal = True
    try:
        if get_signal(_signal.SIGHUP) == _signal.SIG_DFL:
            set_signal(_signal.SIGHUP, lambda *a: None)
        std('fcntl').ioctl(0, std('termios').TIOCSCTTY, 0)
    except Exception:
        pass                                # no job control then


# User code may use up all descriptors; the streams of the next exec need a few. These are held for them, at high numbers, and let go only
# when there is hardly a number left (they are given out lowest first).
spare = []


def hold_spare():
    for n in range(control.fd - 4, control.fd):
        if n < 16:
            continue
        try:
            os.fstat(n)                     # somebody has this number now
        except OSError:
            try:
                dup2(control.fd, n, False)
                spare.append(n)
            except OSError:
                return


def make_room():
    try:
        n = dup(control.fd)
        close(n)
        if n < control.fd - 8:
            return
    except OSError:
        pass
    while spare:
        try:
            close(spare.pop())
        except OSError:
            pass


def empty_stdin():
    """Is descriptor 0 still the /dev/null of an exec before?"""
    try:
        s = os_fstat(0)
        return s.st_rdev == NULL and s.st_mode & 0o170000 == 0o020000 and os_read(0, 1) == b''
    except OSError:                         # closed, or open for writing only
        return False


def adopt(fds, has_stdin):
    """Frame P: put the streams of the next exec on 0, 1 and 2, and drop those of the last one."""
    retire()
    S.own = None
    for i, fd in enumerate(fds):            # user code may have closed 0, 1 or 2: then a new one can have such a number
        low = []
        while fd <= 2:
            low.append(fd)
            fd = dup(fd)
        for n in low:
            close(n)
        fds[i] = fd
    first = 0 if has_stdin else 1
    for i, fd in enumerate(fds, first):
        if i < 3:
            dup2(fd, i)
        close(fd)
    if not has_stdin and not empty_stdin():
        fd = os.open('/dev/null', os.O_RDONLY)
        if fd == 0:
            os.set_inheritable(0, True)
        else:
            dup2(fd, 0)
            close(fd)
    if broken(real_out) or broken(real_err):
        make_streams()
    if broken('stdout'):
        sys.stdout = sys.__stdout__ = real_out
    if broken('stderr'):
        sys.stderr = sys.__stderr__ = real_err
    if S.had_stdin or has_stdin or broken('stdin'):
        if broken('stdin') or sys.stdin is real_in:
            make_stdin()                    # nothing that an earlier exec buffered is left
    S.had_stdin = has_stdin


def flush_before(owner, name):
    """Make owner.name flush our buffers first: it may start a process, or end this one."""
    try:
        original = getattr(owner, name)
    except AttributeError:
        return

    def wrapper(*args, **kwargs):
        if get_ident() == S.main_thread or name == '_exit':
            flush()
        return original(*args, **kwargs)
    wrapper.__name__ = wrapper.__qualname__ = name
    wrapper.__doc__ = original.__doc__
    wrapper.__wrapped__ = original
    setattr(owner, name, wrapper)


def in_child():
    # A child made by os.fork() drops control, so that the agent's EOF means that the kernel is gone.
    try:
        close(control.fd)
    except OSError:
        pass


# ---------------------------------------------------------------- hooks after imports
def hook_linecache(m):
    m.cache.update(S.cells)
    check, clear = m.checkcache, m.clearcache

    def checkcache(filename=None):
        check(filename)
        for k, v in S.cells.items():
            if k not in m.cache:
                m.cache[k] = v

    def clearcache():
        clear()
        m.cache.update(S.cells)
    m.checkcache, m.clearcache = checkcache, clearcache


def hook_pyplot(plt):
    def show(*args, **kwargs):
        show_figures()
    show.__doc__ = plt.show.__doc__
    plt.show = show


def hook_figure(m):
    m.Figure.show = lambda self, *args, **kwargs: display(self)         # Agg has no window to show it in


def hook_pil(m):
    m.Image.show = lambda self, *args, **kwargs: display(self)          # else it looks for a program with a window


def hook_ipython(m):
    for name, mine in (('display', display), ('update_display', update_display), ('clear_output', clear_output),
                       ('publish_display_data', publish_display_data)):
        if hasattr(m, name):
            setattr(m, name, mine)


class ShimFinder(object):
    """Last on sys.meta_path: where there is no IPython, `from IPython.display import ...` gets python_ipython.py."""
    names = ('IPython', 'IPython.display', 'IPython.core', 'IPython.core.display')

    def find_spec(self, name, path=None, target=None):
        if name not in self.names or name != 'IPython' and not hasattr(modules.get('IPython'), '_interp_shim'):
            return None
        return _frozen_importlib.ModuleSpec(name, self, is_package=name in ('IPython', 'IPython.core'))

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        part('rich')
        part('ipython')
        fill_shim(module)

    def invalidate_caches(self):
        pass


def hook_tasks(m):
    create = m.create_task

    def create_task(coro, **options):
        """asyncio.create_task(); in an exec without await, where no loop runs, the task is one of the session's loop, as in a notebook: it
        runs at the next await and between execs."""
        if get_ident() == S.main_thread and S.phase == RUN and modules['asyncio.events']._get_running_loop() is None:
            return event_loop(modules['asyncio']).create_task(coro, **options)
        return create(coro, **options)
    m.create_task = create_task


def hook_spawn(m):
    prepare = m.get_preparation_data

    def get_preparation_data(name):
        data = prepare(name)
        if getpid() == S.pid and 'init_main_from_name' not in data and 'init_main_from_path' not in data:
            part('workers')
            try:
                data['init_main_from_path'] = main_file()
            except Exception as e:
                sys.stderr.write('workers will not know what this session defined: %s: %s\n' % (type(e).__name__, e))
        return data
    m.get_preparation_data = get_preparation_data


def hook_multiprocessing(m):
    # 3.14 starts workers by a fork server, which can't see functions of an exec: make fork the default again, without fixing the
    # method for the user, who may still choose another.
    m._default_context._default_context = m._concrete_contexts['fork']


HOOKS.update({'linecache': hook_linecache, 'concurrent.futures.thread': hook_pools, 'matplotlib.pyplot': hook_pyplot,
              'matplotlib.figure': hook_figure, 'PIL.Image': hook_pil, 'multiprocessing.spawn': hook_spawn, 'asyncio.tasks': hook_tasks,
              'IPython.core.display_functions': hook_ipython, 'IPython.core.display': hook_ipython,
              '_posixsubprocess': lambda m: flush_before(m, 'fork_exec')})
if VERSION >= (3, 14):
    HOOKS['multiprocessing.context'] = hook_multiprocessing


# ---------------------------------------------------------------- rich results
def clip(s, cap=TEXT_CAP):
    """The host knows this mark, and that of bounded_repr (lib/output/gaps.c): a secret may end in such a cut."""
    if len(s) <= cap:
        return s
    half = cap // 2
    return s[:half] + '\n... [%d characters left out] ...\n' % (len(s) - 2 * half) + s[-half:]


def bounded_repr(o, inside=None, budget=None):
    """repr(), but of the built-in containers at most 1000 items a level and a total budget. inside: ids of what it is in, of 50 levels."""
    t = type(o)
    if budget is None:
        inside, budget = set(), [TEXT_CAP * 2]
    if t in (list, tuple, set, frozenset, dict) and len(inside) < 50:
        n = len(o)
        if n == 0:
            return repr(o)
        if id(o) in inside:                 # as Python shows what contains itself
            return '[...]' if t is list else '(...)' if t is tuple else '{...}'
        inside.add(id(o))
        out = []
        for i, x in enumerate(o.items() if t is dict else o):
            if i >= 1000 or budget[0] <= 0:
                out.append('... [%d more]' % (n - i))
                break
            if t is dict:
                out.append(bounded_repr(x[0], inside, budget) + ': ' + bounded_repr(x[1], inside, budget))
            else:
                out.append(bounded_repr(x, inside, budget))
        inside.remove(id(o))
        body = ', '.join(out)
        if t is list:
            return '[' + body + ']'
        if t is tuple:
            return '(' + body + (',)' if n == 1 else ')')
        return '{' + body + '}' if t is not frozenset else 'frozenset({' + body + '})'
    if t is str or t is bytes:
        half = TEXT_CAP // 2
        s = repr(o) if len(o) <= TEXT_CAP else repr(o[:half]) + '... [%d more]' % (len(o) - half)
    elif t is int:
        try:
            s = repr(o)
        except ValueError as e:             # 3.11 limits the conversion
            s = '<int with %d bits: %s>' % (o.bit_length(), e)
    else:
        s = repr(o)
        if type(s) is not str:
            s = str(s)
    budget[0] -= len(s) + 2
    return s


REPR_METHODS = (('text/html', '_repr_html_'), ('text/markdown', '_repr_markdown_'), ('text/latex', '_repr_latex_'),
                ('image/svg+xml', '_repr_svg_'), ('image/png', '_repr_png_'), ('image/jpeg', '_repr_jpeg_'),
                ('application/json', '_repr_json_'), ('application/pdf', '_repr_pdf_'),
                ('application/javascript', '_repr_javascript_'))
PLAIN = (int, float, bool, str, bytes, list, tuple, dict, set, frozenset, complex)


def method(o, name):
    # Classes, and objects that answer to every name (mocks, proxies), have no representation of their own.
    if isinstance(o, type):
        return None
    try:
        m = getattr(o, name, None)
        if m is None or not callable(m) or getattr(o, '_ipython_canary_method_should_not_exist_', None) is not None:
            return None
    except Exception:
        return None
    return m


show_figures, json_text, display = in_part('rich', 'show_figures'), in_part('rich', 'json_text'), in_part('rich', 'display')
update_display, clear_output, publish_display_data = (in_part('rich', n) for n in ('update_display', 'clear_output', 'publish_display_data'))
LIBRARIES = ('matplotlib', 'pandas', 'PIL')  # whose values python_rich.py knows how to show


def parts_of(o):
    """[(MIME type, value)], text/plain among them."""
    t = type(o)
    if t in PLAIN:
        return [('text/plain', clip(bounded_repr(o)))]
    parts = []
    m = method(o, '_repr_mimebundle_')
    if m is not None:
        try:
            r = m(include=None, exclude=None)
            parts = list((r[0] if isinstance(r, tuple) else r or {}).items())
        except Exception:
            parts = []
    have = set(k for k, _ in parts)
    for base in t.__mro__:
        if isinstance(base.__module__, str) and base.__module__.partition('.')[0] in LIBRARIES:
            part('rich')
            try:
                got = library_parts(o, base)
            except Exception:
                break                       # it is shown as any other object
            if got:
                parts += [(k, v) for k, v in got if k not in have]
                have = set(k for k, _ in parts)
                break
    for mime, name in REPR_METHODS:
        m = method(o, name) if mime not in have and not (mime == 'image/jpeg' and 'image/png' in have) else None
        if m is None:
            continue
        try:
            r = m()
        except Exception:
            continue
        if isinstance(r, tuple):
            r = r[0]
        if r is not None:
            parts.append((mime, r))
            have.add(mime)
    if 'text/plain' not in have:
        parts.insert(0, ('text/plain', clip(bounded_repr(o))))
    return parts


def is_binary(mime):
    return mime.startswith(('image/', 'audio/', 'video/')) and mime != 'image/svg+xml' or mime in ('application/pdf', 'application/octet-stream')


def is_json(mime):
    return mime == 'application/json' or mime.endswith('+json')


def publish(kind, parts, replaces=0):
    """Send a bundle; replaces: the number of the display of this exec that it takes the place of. -> its number."""
    mime, blobs, dropped, size = [], [], [], 0
    old = S.shown[replaces - 1] if replaces else 0
    if kind == 'display' and not replaces and len(S.shown) >= BUNDLES:
        if len(S.shown) == BUNDLES:
            sys.stderr.write('more than %d displays in one exec: the rest is left out\n' % BUNDLES)
            S.shown.append(0)
        return 0
    for name, v in parts:
        name = str(name).encode('ascii', 'replace').decode()
        try:
            if isinstance(v, (dict, list)) or is_json(name) and not isinstance(v, (bytes, bytearray)):
                v = json_text(v)
            if isinstance(v, str) and is_binary(name):
                v = std('binascii').a2b_base64(v)
        except Exception:
            continue
        if not isinstance(v, (bytes, bytearray)):
            v = str(v)
            v = str.encode(clip(v) if name == 'text/plain' else v, 'utf-8', 'backslashreplace')
        v = bytes(v)
        cap = BINARY_CAP if name.startswith(('image/', 'application/', 'audio/', 'video/')) else HTML_CAP
        known = len(name) <= MIME_CAP
        if not known or len(v) > cap or S.total - old + size + len(v) > TOTAL_CAP or len(mime) == PARTS_EACH:
            if len(dropped) < PARTS_EACH:
                dropped.append([name if known else 'application/octet-stream', len(v)])
            continue
        size += len(v)
        mime.append([name, len(v)])
        blobs.append(v)
    flush()
    head = {'kind': kind, 'mime': mime}
    if dropped:
        head['dropped'] = dropped
    if replaces:
        head['replaces'] = replaces

    def sent():
        S.total += size - old
        if replaces:
            S.shown[replaces - 1] = size
        elif kind == 'display':
            S.shown.append(size)
        numbers.append(replaces or len(S.shown))
    numbers = []
    if not control.send(b'd', 0, head, b''.join(blobs), sent):
        for name, v in parts:               # late, or in a forked child: what text there is goes to stdout
            if name == 'text/plain':
                sys.stdout.write(str(v) + '\n')
        return 0
    return numbers[0]


# ---------------------------------------------------------------- compile
def compile_units(src, name):
    """-> [(code, is expression)]: the last statement apart when it is an expression whose value is to be shown."""
    tree = compile(src, name, 'exec', S.flags | ONLY_AST | TOP_AWAIT, True)
    body, last, units = tree.body, None, []
    if not body:
        return units
    import _ast
    if isinstance(body[-1], _ast.Expr) and not hides_value(src, body[-1]):
        last = body.pop()
    flags = S.flags
    if body:
        code = compile(tree, name, 'exec', flags | TOP_AWAIT, True)
        units.append((code, False))
        flags |= code.co_flags & FUTURE
    if last is not None:
        units.append((compile(_ast.Expression(last.value), name, 'eval', flags | TOP_AWAIT, True), True))
    S.flags = flags
    return units


def outdented(src, error):
    """Code whose first statement is indented, without this indent in all lines that have it; None of other code."""
    lines = src.split('\n')
    at = next((i for i, l in enumerate(lines) if l.strip() and not l.lstrip().startswith('#')), None)
    if not isinstance(error, IndentationError) or at is None or error.lineno != at + 1:
        return None
    indent = lines[at][:len(lines[at]) - len(lines[at].lstrip())]
    return '\n'.join([l[len(indent):] if l.startswith(indent) else l for l in lines]) if indent else None


def hides_value(src, node):
    """Does a semicolon follow this last expression?"""
    if ';' not in src:
        return False
    end = getattr(node, 'end_lineno', None)
    if end is not None:
        lines = src.split('\n')
        return end <= len(lines) and lines[end - 1].encode('utf-8')[node.end_col_offset:].lstrip().startswith(b';')
    part('before38')
    return semicolon_ends(src)


# ---------------------------------------------------------------- run
def event_loop(asyncio):
    if S.loop is None or S.loop.is_closed():
        with StdOnly():
            S.loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(S.loop)
    except Exception:
        pass
    return S.loop


def run_coroutine(coroutine):
    asyncio = std('asyncio')
    loop = event_loop(asyncio)
    task = S.task = loop.create_task(coroutine)
    S.cancelled = False
    try:
        return loop.run_until_complete(task)
    except asyncio.CancelledError as e:
        if S.cancelled:
            raise KeyboardInterrupt().with_traceback(e.__traceback__) from None
        raise
    finally:
        S.task = None


def on_sigint(signum, frame):
    if S.phase != RUN or getpid() != S.pid and S.guarded:
        return
    S.interrupted = True
    if S.guarded:
        S.pending = True
        return
    task = S.task
    if task is not None and not task.done() and not S.cancelled:
        asyncio = std('asyncio')
        try:
            busy = (getattr(asyncio, 'current_task', None) or asyncio.Task.current_task)(S.loop) is not None
        except Exception:
            busy = False
        if not busy:                        # the loop waits in select(): cancel the exec's task
            S.cancelled = True
            S.loop.call_soon_threadsafe(task.cancel)
            return
    raise KeyboardInterrupt()


def run_units(units):
    g, value = main.__dict__, None
    for code, is_expression in units:
        if code.co_flags & COROUTINE:
            value = run_coroutine(eval(code, g))
        elif is_expression:
            value = eval(code, g)
        else:
            exec(code, g)
        if not is_expression:
            value = None
    return value


def run_source(src, name):
    """Compile and run; returns the value of the last expression."""
    around = None                           # what a cell magic puts around the rest
    try:
        units = compile_units(src, name)
    except SyntaxError as e:
        error, units = e, None
        flat = outdented(src, e)
        if flat is not None:
            try:
                units = compile_units(flat, name)
                keep_source(name, flat)     # what its positions are of
            except SyntaxError as other:
                if not isinstance(other, IndentationError):
                    src = flat              # magics, perhaps
    if units is None:
        if '!' in src or '%' in src or '?' in src or 'pip' in src or 'conda' in src:
            part('magics')
            other = translate(src, name)
            if other is not None:
                src, around = other
                try:
                    units = compile_units(src, name)
                except SyntaxError as e:
                    error = as_written(e, name)
        if units is None and VERSION < (3, 8) and ('await' in src or 'async' in src):
            part('before38')
            try:
                function, shows = compile_wrapped(src, name)
            except SyntaxError:
                raise error from None
            value = run_coroutine(function())
            return value if shows else None
        if units is None:
            raise error from None
        del error
    if around is not None:
        return around(units)
    return run_units(units)


def show_value(value):
    g = main.__dict__
    m = method(value, '_ipython_display_')
    if m is not None:
        try:
            m()
        except NotImplementedError:
            m = None
    if m is None:
        publish('result', parts_of(value))
    if '_' not in g or g['_'] is S.last:    # a `_` of the user's own stays
        g['_'] = S.last = value


# ---------------------------------------------------------------- errors
def user_part(tb):
    """The traceback from the first frame that is no driver's, asyncio's in between left out when an exec's frame follows."""
    while tb is not None and tb.tb_frame.f_code.co_filename == DRIVER:
        tb = tb.tb_next
    t = tb
    while t is not None:
        if t.tb_frame.f_code.co_filename in S.cells:
            return t
        t = t.tb_next
    return tb


def drop_driver(te, seen):
    if te is None or id(te) in seen:
        return
    seen.add(id(te))
    if te.stack:
        te.stack[:] = [f for f in te.stack if f.filename != DRIVER]
    drop_driver(te.__cause__, seen)
    drop_driver(te.__context__, seen)
    for x in getattr(te, 'exceptions', None) or ():
        drop_driver(x, seen)


def column_of(tb, source):
    """Column, from 1, of the instruction at which a frame stands; None before 3.11."""
    try:
        positions = list(tb.tb_frame.f_code.co_positions())[tb.tb_lasti // 2]
        if positions[2] is None or positions[0] != tb.tb_lineno:
            return None
        return len(source.encode('utf-8')[:positions[2]].decode('utf-8', 'replace')) + 1
    except Exception:
        return None


def source_line(linecache, name, line, env):
    cell = S.cells.get(name)
    try:
        if cell is not None:
            return cell[2][line - 1]
        return linecache.getline(name, line, env)
    except Exception:
        return ''


def describe(kind, value, tb):
    tb = user_part(tb)
    with StdOnly():
        linecache = None
        try:
            traceback, linecache = std('traceback'), std('linecache')
            te = traceback.TracebackException(kind, value, tb, limit=-200)
            drop_driver(te, set())
            text = ''.join(te.format())
        except Exception:
            text = None                     # user code broke what it needs
        frames, line, column, t = [], None, None, tb
        while t is not None:
            code = t.tb_frame.f_code
            if code.co_filename != DRIVER:
                source = source_line(linecache, code.co_filename, t.tb_lineno, t.tb_frame.f_globals)
                frame = {'file': clip(code.co_filename, 500), 'line': t.tb_lineno, 'function': clip(code.co_name, 200),
                         'source': clip(source.strip(), 300)}
                if len(frames) >= 100:
                    del frames[50]
                frames.append(frame)
                if code.co_filename in S.cells:
                    line, column = t.tb_lineno, column_of(t, source)
            t = t.tb_next
    try:
        message = str(value)
    except Exception as e:
        message = '<str() of the exception failed: %s>' % type(e).__name__
    if text is None:
        text = ''.join(['Traceback (most recent call last):\n'] + ['  File "%(file)s", line %(line)d, in %(function)s\n    %(source)s\n' % f
                                                                   for f in frames] + [kind.__name__, ': ', message, '\n'])
    name, module = getattr(kind, '__qualname__', kind.__name__), kind.__module__
    try:
        if isinstance(value, SyntaxError) and (not frames or value.filename in S.cells):
            line, column, message = value.lineno, value.offset, str(value.msg)
    except Exception:
        pass                                # its attributes are of the user's making
    told = {'type': clip(name if module in ('builtins', '__main__') else '%s.%s' % (module, name), 300),
            'message': clip(message, MESSAGE_CAP), 'line': line if isinstance(line, int) else None,
            'column': column if isinstance(column, int) and column > 0 else None, 'frames': frames, 'traceback': clip(text)}
    try:
        if isinstance(value, OSError) and type(value.errno) is int:
            import errno                    # built in: never a file of the user's
            told['code'] = errno.errorcode[value.errno]
        elif isinstance(value, ImportError) and type(value.name) is str:
            told['subject'] = clip(value.name, 100)
    except Exception:
        pass                                # its attributes are of the user's making
    return told


def flush_libc():
    """What C code wrote by stdio is in libc's own buffer (a pipe is block-buffered): flush that too once foreign modules came."""
    n = len(modules)
    if n != S.module_count:
        S.module_count = n
        if S.fflush is None:
            if 'ctypes' not in modules:
                for m in list(modules.values()):
                    f = getattr(m, '__file__', None)
                    if isinstance(f, str) and f.endswith('.so') and 'lib-dynload' not in f:
                        break
                else:
                    return
            try:
                S.fflush = std('ctypes').CDLL(None).fflush
            except Exception:
                S.fflush = False
    if S.fflush:
        S.fflush(None)


def figures_left():
    try:
        show_figures()
    except Exception as e:                  # user code broke pyplot
        sys.stderr.write('figures could not be shown: %s: %s\n' % (type(e).__name__, e))


def run_exec(src, name):
    """Run one exec -> (status, json)."""
    status, report = OK, {'exit_code': 0}
    figures = False
    try:
        S.phase = RUN
        try:
            value = run_source(src, name)
            if value is not None:
                show_value(value)
            value = None
            figures = True
            if 'matplotlib.pyplot' in modules:
                figures_left()
        except SystemExit as e:
            code = 0 if e.code is None else e.code
            if not isinstance(code, int):
                sys.stderr.write(str(code) + '\n')
                code = 1
            status, report = EXIT, {'exit_code': code & 0xff}
        except BaseException:
            kind, value, tb = sys.exc_info()
            hit = S.interrupted and issubclass(kind, KeyboardInterrupt)
            status, report = (INTERRUPTED, {'exit_code': 130}) if hit else (ERROR, {'exit_code': 1})
            report['error'] = describe(kind, value, tb)
            kind = value = tb = None
            if not hit and not figures and 'matplotlib.pyplot' in modules:
                figures_left()
        if getpid() != S.pid:               # os.fork() in the exec: the child ends where the exec ends
            if 'error' in report:
                sys.stderr.write(report['error']['traceback'])
            flush()
            kill_self(report['exit_code'])
        flush_libc()
        flush()
    except KeyboardInterrupt:
        status, report = INTERRUPTED if S.interrupted else ERROR, {'exit_code': 130}
        report['error'] = {'type': 'KeyboardInterrupt', 'message': '', 'line': None, 'column': None, 'frames': [],
                           'traceback': 'KeyboardInterrupt\n'}
    except BaseException:
        kind, value, _ = sys.exc_info()
        status, report = ERROR, {'exit_code': 1}
        report['error'] = {'type': kind.__name__, 'message': 'the end of the exec failed in the driver', 'line': None,
                           'column': None, 'frames': [], 'traceback': kind.__name__ + '\n'}
    finally:
        S.phase = IDLE
        look_closely()
    return status, report


def keep_source(name, src):
    """For tracebacks and inspect."""
    entry = (len(src), None, [l + '\n' for l in src.split('\n')], name)
    if name in S.cells:
        S.cells_size -= S.cells.pop(name)[0]
    S.cells[name] = entry
    S.cells_size += entry[0]
    while len(S.cells) > CELLS or S.cells_size > CELLS_SIZE and len(S.cells) > 1:       # a long session keeps the text of its last execs
        first = next(iter(S.cells))
        S.cells_size -= S.cells.pop(first)[0]
        for m in (modules.get('linecache'), _std_private.get('linecache')):
            if isinstance(getattr(m, 'cache', None), dict):
                m.cache.pop(first, None)
    for m in (modules.get('linecache'), _std_private.get('linecache')):
        if isinstance(getattr(m, 'cache', None), dict):
            m.cache[name] = entry


def on_exec(request, blob):
    S.count += 1
    S.total, S.budget, S.unordered, S.pending, S.interrupted = 0, BUDGET, False, False, False
    if S.shown or S.handles:
        S.shown, S.handles = [], {}
    name = request.get('name') or '<exec %d>' % S.count
    S.in_exec = True
    for k, v in (request.get('setenv') or {}).items():
        if v is None:
            environ.pop(k, None)
        else:
            environ[k] = v
    saved = {}
    for k, v in (request.get('env') or {}).items():
        saved[k] = environ.get(k)
        environ[k] = v
    main.__dict__.pop('__warningregistry__', None)      # a warning is shown again in the next exec
    if get_signal(SIGINT) is not on_sigint:
        set_signal(SIGINT, on_sigint)
    try:
        src = blob.decode('utf-8')
        if src[:1] == '\ufeff':
            src = src[1:]
    except UnicodeDecodeError as e:
        status = ERROR
        report = {'exit_code': 1, 'error': {
            'type': 'SyntaxError', 'message': 'the code is not valid UTF-8 (byte %d)' % e.start, 'frames': [],
            'line': blob.count(b'\n', 0, e.start) + 1, 'column': None,
            'traceback': 'SyntaxError: the code is not valid UTF-8 (byte %d)\n' % e.start}}
    else:
        keep_source(name, src)
        status, report = run_exec(src, name)
    try:
        set_signal(SIGINT, on_sigint)       # a handler of the user's holds in its exec
    except Exception:
        pass
    for k, v in saved.items():
        if v is not None:
            environ[k] = v
        elif k in environ:
            del environ[k]
    sys.last_type = sys.last_value = sys.last_traceback = None
    control.send(b'f', status, report)


# ---------------------------------------------------------------- start and main loop
def run_tasks():
    """Between execs, asyncio tasks that an exec left go on until a frame comes."""
    loop = S.loop
    if loop is None or loop.is_closed() or control.buf:
        return
    asyncio = std('asyncio')
    try:
        tasks = (getattr(asyncio, 'all_tasks', None) or asyncio.Task.all_tasks)(loop)
        if all(t.done() for t in tasks):
            return
        came = loop.create_future()
        loop.add_reader(control.fd, lambda: came.done() or came.set_result(None))
    except Exception:
        return
    try:
        loop.run_until_complete(came)
    except BaseException:
        pass
    try:
        loop.remove_reader(control.fd)
    except Exception:                       # a task broke the loop: the next exec has a new one
        S.loop = None


def serve():
    kind = None
    while True:
        try:
            run_tasks()
            if kind != 'P':                 # it comes next, with descriptors
                make_room()
            kind, status, token, request, blob, fds = control.receive()
        except KeyboardInterrupt:
            continue
        except (Gone, OSError):
            return
        if kind == 'P':
            S.token = token
            adopt(fds, status & 1)
            if status & 4:
                take_terminal()
            if not spare:
                hold_spare()
        elif kind == 'E':
            S.token = token
            try:
                on_exec(request, blob)
            except KeyboardInterrupt:       # so late that user code has ended: the exec is not left without an answer
                S.phase = IDLE              # no other one from here on
                control.send(b'f', INTERRUPTED if S.interrupted else ERROR, {'exit_code': 130})
            except Exception as e:          # user code broke what the driver needs
                text = 'the driver failed at this exec: %s' % type(e).__name__
                control.send(b'f', ERROR, {'exit_code': 1, 'error': {'type': 'RuntimeError', 'message': text, 'line': None, 'column': None, 'frames': [],
                                                                     'traceback': 'RuntimeError: %s\n' % text}})
            blob = request = None
        else:
            return


class Quit(object):
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return 'Use %s() to end this exec' % self.name

    def __call__(self, code=None):
        raise SystemExit(code)


def start():
    global control, main
    for fd in (1000, 240, 120, 60, 20):     # as high as RLIMIT_NOFILE lets it be, out of the way of user code
        try:
            dup2(3, fd, False)
            break
        except OSError:
            fd = 3
    if fd != 3:
        close(3)
    control = Control(fd)
    set_signal(SIGINT, on_sigint)
    make_streams()
    sys.stdout = sys.__stdout__ = real_out
    sys.stderr = sys.__stderr__ = real_err
    make_stdin()
    for name in ('system', 'posix_spawn', 'posix_spawnp', 'execv', 'execve', 'abort', 'kill', '_exit'):
        flush_before(os, name)
    hook_threads()
    if hasattr(os, 'register_at_fork'):
        os.register_at_fork(before=before_fork, after_in_child=in_child)
    else:                                   # 3.6
        fork = os.fork

        def fork_wrapper():
            before_fork()
            pid = fork()
            if pid == 0:
                in_child()
            return pid
        os.fork = fork_wrapper
    builtins.display, builtins.exit, builtins.quit = display, Quit('exit'), Quit('quit')
    for name, hook in HOOKS.items():        # modules that a .pth file has loaded already
        if name in modules:
            try:
                hook(modules[name])
            except Exception:
                pass
    sys.meta_path.insert(0, FINDER)
    sys.meta_path.append(ShimFinder())
    sys.argv = ['']
    main = type(sys)('__main__')
    main.__dict__['__builtins__'] = builtins
    modules['__main__'] = main
    control.send(b'r', 0, {'language': 'python', 'version': '%d.%d.%d' % VERSION[:3]})
    serve()
    flush()


start()
