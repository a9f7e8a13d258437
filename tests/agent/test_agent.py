#!/usr/bin/env python3
"""Tests of the guest agent alone: this program plays the host. Usage: test_agent.py AGENT [name...]
Last line: N passed, N failed, N skipped."""
import os, random, select, shutil, signal, struct, subprocess, sys, tempfile, time, traceback
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import host
from host import *

KERNELS = os.path.join(HERE, "..", "..", "lib", "guest", "kernels")
FAKE = open(os.path.join(HERE, "fake.py"), "rb").read()
BOOT = [b"-I", b"-S", b"-c", b"import os;exec(compile(os.pread(4,1<<20,0),'driver','exec'))"]
ROOT = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
MOUNT = ["sh", "-c", 'mount -t tmpfs none /run && exec "$0" "$@"']  # the agent's directory stays out of ours
NS = ["unshare"] + ROOT + ["--pid", "--fork", "--kill-child", "--mount-proc"] + MOUNT
SAME_PIDS = ["unshare"] + ROOT + ["--mount"] + MOUNT
SLOW = float(os.environ.get("INTERP_TEST_SLOW", "1"))
AGENT = None
tests = []


class Skip(Exception):
    pass


def test(f):
    tests.append(f)
    return f


def code(c, token=0):
    return kframe("E", b'{"n":1,"name":"<exec 1>","env":{},"options":{}}', c, token)


def fake(h, kernel=1, **k):
    r = h.start(kernel, PASSED, [b"no-such-python", b"python3"], BOOT, FAKE, **k)
    return r


class Session(Host):
    def __init__(self, start=True, **k):
        super().__init__(AGENT, NS, **k)
        if start:
            r = fake(self)
            assert r.status == 1, r

    def run(self, c, kernel=1, **k):
        return self.exec(kernel, code(c), **k)

    def run_start(self, c, kernel=1, **k):
        return self.exec_start(kernel, code(c), **k)

    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.close()


def alive(mark):
    n = 0
    for p in os.listdir("/proc"):
        if p.isdigit():
            try:
                n += mark.encode() in open("/proc/%s/cmdline" % p, "rb").read() and int(p) != os.getpid()
            except OSError:
                pass
    return n


def there(mark, n=1):
    """A process has no command line for a moment after its exec."""
    end = time.monotonic() + 20 * SLOW
    while alive(mark) < n and time.monotonic() < end:
        time.sleep(0.01)
    return alive(mark) >= n


def gone_soon(mark, timeout=20):
    end = time.monotonic() + timeout * SLOW
    while alive(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


marks = iter(range(971000, 979000))


def mark():
    return "%d.%d" % (next(marks), os.getpid())


def fatal_for(send, hello=True):
    h = Host(AGENT, NS, hello=hello)
    h.careless = True
    try:
        try:
            send(h)
        except BrokenPipeError:
            pass
        h.want(GONE)
    except Lost as e:
        assert h.ended() is not None, "the agent goes on after a violation"
        return e.args[0] if e.args else b""
    finally:
        h.close()
    assert 0, "no end"


# ---------------------------------------------------------------- life line and the host's mistakes
@test
def welcome():
    with Session(start=False) as h:
        v, arch, caps, ids, ll, scoped, mem, uid = struct.unpack("<HHIBBBBI", h.welcome)
        assert v == 1 and arch in (1, 2) and caps == 0 and ids in (1, 2) and mem == 0
        assert uid == 1000 or ids == 1


@test
def version():
    assert b"version" in fatal_for(lambda h: h.hello(lo=2, hi=9), hello=False)


@test
def garbage_from_host():
    F = lambda h: h.frame(NOP)
    for send in (lambda h: h.raw(os.urandom(64)),
                 lambda h: h.raw(b"\xff" * 16),
                 lambda h: h.raw(struct.pack("<IBBHII", 70000, 4, 0, 16, 2, 0)),
                 lambda h: h.raw(struct.pack("<IBBHII", 0, 99, 0, 0, 2, 0)),
                 lambda h: h.raw(struct.pack("<IBBHII", 0, EXIT, 0, 0, 2, 0)),
                 lambda h: h.raw(struct.pack("<IBBHII", 0, NOP, 0, 0, 9, 0)),
                 lambda h: h.raw(struct.pack("<IBBHII", 0, NOP, 0, 0, 2, 77)),
                 lambda h: h.raw(struct.pack("<IBBHII", 0, NOP, 1, 0, 2, 0)),
                 lambda h: h.raw(struct.pack("<IBBHII", 0, NOP, 0, 5, 2, 0)),
                 lambda h: h.hello(),
                 lambda h: h.send(REPLY, b"\0" * 9),
                 lambda h: h.send(START, b"\1\0"),
                 lambda h: h.send(START, struct.pack("<HHBBHQ4Q", 1, 16, 9, 0, 0, 0, 0, 0, 0, 0) + b"\0" * 8),
                 lambda h: h.send(START, struct.pack("<HHBBHQ4Q", 1, 16, 1, 0, 0, 0, 0, 0, 0, 0) + many([b"a\0b"]) + b"\0" * 6),
                 lambda h: h.send(START, struct.pack("<HHBBHQ4Q", 1, 16, 1, 0, 0, 0, 0, 0, 0, 0) + b"\xff\xff"),
                 lambda h: h.send(EXEC, b"\0" * 10),
                 lambda h: h.send(INTERRUPT, b"\0" * 18),
                 lambda h: h.send(CREDIT, struct.pack("<I", WINDOW + 1), 16)):
        assert b"protocol" in fatal_for(send)
    assert b"protocol" in fatal_for(lambda h: h.send(NOP), hello=False)


@test
def random_orders():
    """Frames that are well formed on the outside: the agent ends with FATAL or goes on, and never by a signal."""
    import random
    seed = int(os.environ.get("INTERP_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
    rnd = random.Random(seed)
    start = struct.pack("<HHBBHQ4Q", 1, 16, 1, 0, 0, SEC, 0, 0, 0, 0) + many([b"python3"]) + many(BOOT) + many([b"PATH=/usr/bin:/bin"]) + text(b"@F@@0@@1@@2@@T@@E@@D@")
    execute = struct.pack("<16sHHIIIQQI", b"k" * 16, 1, 20, 1, 1, 7, SEC // 5, SEC // 5, 40) + text(b"A=b ") + struct.pack("<QQQHH", FOREVER, FOREVER, FOREVER, 24, 80)
    for n in range(120):
        h = Host(AGENT, NS)
        h.careless = True
        try:
            for i in range(rnd.randrange(1, 12)):
                kind = rnd.choice([START, START, EXEC, EXEC, DATA, DATA, DATA, CREDIT, STOP, INTERRUPT, RESIZE, NOP])
                p = bytearray({START: start, EXEC: execute, CREDIT: struct.pack("<I", rnd.randrange(9)), STOP: b"\1\0", INTERRUPT: b"k" * 16 + b"\4\0", RESIZE: b"k" * 16 + b"\1\0\2\0"}.get(kind, b""))
                if kind == DATA:
                    p = bytearray(rnd.choice([FAKE, code(b"1" * 4), os.urandom(rnd.randrange(40)), b""]))
                if kind == START and rnd.random() < 0.5:
                    p[4] = rnd.randrange(1, 4)
                if p and rnd.random() < 0.4:
                    for _ in range(rnd.randrange(1, 4)):
                        p[rnd.randrange(len(p))] = rnd.randrange(256)
                if rnd.random() < 0.1:
                    p = p[:rnd.randrange(len(p) + 1)]
                h.send(kind, bytes(p), rnd.choice([16, 16, 20, 20, 21, 22, 1]) if kind in (DATA, CREDIT) else 0, rnd.randrange(2) if kind == DATA else 0)
            h.run_for(rnd.choice([0, 0.02, 0.3]))
            h.send(BYE)
        except (BrokenPipeError, Lost):
            pass
        h.s.close()
        end = h.ended()
        assert end in (0, 1), "seed %d round %d: ended with %s" % (seed, n, end)


@test
def windows_are_enforced():
    def too_much_code(h):
        fake(h)
        h.exec_start(1, b"\0" * 200000, send_code=False)
        # E frame whose kernel never reads: a stopped process
        h.send(DATA, struct.pack("<II", 0, 199984) + b"E" + b"\0" * 7, h.chan - 3)
        for _ in range(40):
            h.send(DATA, b"x" * 60000, h.chan - 3)

    def stdin_after_end(h):
        fake(h)
        x = h.exec_start(1, code(b"time.sleep(600)"), stdin=b"")
        h.send(DATA, b"x", x.base + 1)

    def stdin_unannounced(h):
        fake(h)
        x = h.exec_start(1, code(b"time.sleep(600)"))
        h.send(DATA, b"x", x.base + 1)

    def more_code(h):
        fake(h)
        x = h.exec_start(1, code(b"time.sleep(600)"))
        h.send(DATA, b"x", x.base)

    def short_code(h):
        fake(h)
        x = h.exec_start(1, code(b"pass"), send_code=False)
        h.send(DATA, b"x", x.base, END)

    def busy(h):
        fake(h)
        h.exec_start(1, code(b"time.sleep(600)"))
        h.exec_start(1, code(b"1"))

    def credit(h):
        fake(h)
        x = h.exec_start(1, code(b"time.sleep(600)"))
        h.credit(x.base, 1)

    def flood(h):
        fake(h)
        base = h.chan
        h.chan += 3
        c = code(b"time.sleep(600)")
        h.raw(h.frame(EXEC, struct.pack("<16sHHIIIQQI", b"i" * 16, 1, base, 1, 1, 7, FOREVER, 0, len(c)) + text(b"") + struct.pack("<QQQHH", FOREVER, FOREVER, FOREVER, 24, 80)) + h.frame(DATA, c, base, END))
        for _ in range(8):
            h.send(DATA, b"x" * 60000, base + 1)
    for f in (too_much_code, stdin_after_end, stdin_unannounced, more_code, short_code, busy, credit, flood):
        assert b"protocol" in fatal_for(f), f


@test
def frames_of_ended_channels_are_dropped():
    with Session() as h:
        x = h.run_start(b"1")
        h.exec_wait(x)
        for c in range(3):
            h.send(CREDIT, struct.pack("<I", 5), x.base + c)
        h.send(DATA, b"x" * 1000, x.base)
        h.send(DATA, b"x" * 1000, x.base + 1, END)
        h.interrupt(x)
        assert h.run(b"1").how == FINAL


@test
def end_of_stream():
    m = mark()
    h = Session()
    x = h.run_start(b"subprocess.Popen(['sleep','%s']); time.sleep(60)" % m.encode())
    assert there(m)
    h.s.close()
    assert h.ended() == 0 and gone_soon(m)


@test
def half_a_frame_then_end():
    h = Session()
    h.raw(h.frame(NOP)[:9])
    h.s.shutdown(1)
    assert h.ended() == 0
    h.s.close()
    h = Session(start=False)
    b = h.frame(NOP) + h.frame(NOP) + h.frame(STOP, b"\7\0")
    for i in range(len(b)):  # byte by byte is as good as whole
        h.raw(b[i:i + 1])
    assert struct.unpack("<HB", h.want(GONE)[3]) == (7, 1)
    h.close()


@test
def bye():
    h = Session()
    h.send(BYE)
    assert h.ended() == 0
    h.s.close()


@test
def lease():
    def ends_after():
        h = Session(start=False, lease=4 * SEC)
        for _ in range(10):
            time.sleep(0.45)
            h.send(NOP)
        t = time.monotonic()
        assert h.ended() == 0
        h.s.close()
        return time.monotonic() - t

    took = [ends_after()]
    while min(took) >= 4 + SLOW and len(took) < 3:  # what a busy machine adds comes and goes
        took.append(ends_after())
    assert 3.5 < min(took) < 4 + SLOW, took
    h = Session(start=False, lease=3 * SEC)
    fake(h, wait=False)
    while not h.frames:  # nor does it end while a kernel starts
        h.send(NOP)
        h.pump(0.1)
    assert h.ready().status == 1
    assert h.run(b"time.sleep(3.5)").how == FINAL  # the lease is longer while an exec runs
    assert h.ended() == 0
    h.s.close()


@test
def not_pid_1():
    m = mark()
    h = Host(AGENT, SAME_PIDS)
    assert fake(h).status == 1
    r = h.exec(1, code(b"subprocess.Popen(['sleep','%s'], start_new_session=True); print(os.getppid(), flush=True)" % m.encode()))
    assert r.how == FINAL and there(m)
    h.s.close()
    assert h.ended() == 0 and gone_soon(m)
    # killed outright: supervisors see the end of their sockets
    h = Host(AGENT, SAME_PIDS)
    assert fake(h).status == 1
    h.exec(1, code(b"subprocess.Popen(['sleep','%s'], start_new_session=True)" % m.encode()))
    h.p.kill()
    assert gone_soon(m)
    h.s.close()


@test
def over_pipes():
    h = Host(AGENT, NS, stdio_pipes=True)
    assert fake(h).status == 1
    assert h.exec(1, code(b"print('x' * 300000, flush=True)")).out == b"x" * 300000 + b"\n"
    h.p.stdin.close()
    assert h.ended() == 0


# ---------------------------------------------------------------- starts
@test
def start_answers():
    with Session(start=False) as h:
        r = h.start(1, PASSED, [b"nope", b"/no/such"], BOOT, None)
        assert r.status == 2 and r.path == b""
        r = fake(h)
        assert r.status == 1 and r.path.endswith(b"/python3") and r.info == b'{"language":"fake"}' and r.identity[0]
        st = os.stat(r.path)
        assert r.identity == (st.st_ino, st.st_mtime_ns, st.st_ctime_ns, st.st_size)
        r2 = h.start(2, PASSED, [b"python3"], BOOT, None, flags=1, identity=(1, 2, 3, 4))
        assert r2.status == 3 and r2.identity == r.identity
        assert h.start(2, PASSED, [b"python3"], BOOT, FAKE).status == 1
        assert h.exec(2, code(b"1")).how == FINAL
        r = h.start(3, PASSED, [b"python3"], BOOT, FAKE, flags=1, identity=r2.identity)
        assert r.status == 1
        r = h.start(4, PASSED, [b"python3"], [b"-c", b"import sys; sys.stderr.write('oh no'); sys.exit(7)"], b"")
        assert (r.status, r.exit_code, r.signal, r.text) == (4, 7, 0, b"oh no"), r
        r = h.start(4, PASSED, [b"python3"], [b"-c", b"import os; os.write(2, b'y' * 9000); os.kill(os.getpid(), 9)"], b"")
        assert (r.status, r.exit_code, r.signal, r.text) == (4, -1, 9, b"y" * 4096), r
        r = h.start(4, PASSED, [b"python3"], [b"-c", b"import time; time.sleep(60)"], b"", timeout=SEC // 3)
        assert r.status == 6
        r = h.start(4, PASSED, [b"python3"], [b"-c", b"import os,time; os.write(3, b'z' * 16); time.sleep(60)"], b"")
        assert r.status == 7
        r = h.start(4, PASSED, [b"python3"], [b"-c", b"import os,time; os.write(3, b'\\0'*8+b'c'+b'\\0'*7); time.sleep(60)"], b"")
        assert r.status == 7  # cached code that nobody asked for
        assert h.exec(4, code(b"1")).how == NOT_RUN
        assert h.exec(1, code(b"1")).how == FINAL


@test
def start_is_done_as_the_user():
    with Session(start=False) as h:
        if h.welcome[8] != 2:
            raise Skip("one id")
        d = "/tmp/agent-test-%d" % os.getpid()
        os.mkdir(d, 0o755)
        try:
            shutil.copy("/bin/true", d + "/python3")
            os.chmod(d + "/python3", 0o750)
            r = h.start(1, PASSED, [b"python3"], BOOT, FAKE, env=[b"PATH=" + d.encode() + b":/usr/bin"])
            assert r.status == 1 and r.path == b"/usr/bin/python3", r
            os.mkdir(d + "/dir/")
            os.mkdir(d + "/dir/python3")
            r = h.start(2, PASSED, [b"python3"], BOOT, FAKE, env=[b"PATH=.:%s/dir:relative:/usr/bin" % d.encode()])
            assert r.path == b"/usr/bin/python3", r
        finally:
            shutil.rmtree(d)


@test
def cached_code_passes_with_credit():
    with Session(start=False, auto=False) as h:
        ch = fake(h, flags=2, wait=False)
        h.until(lambda: len(h.data.get(ch, b"")) == 120016)  # within the first window
        assert h.ready().status == 1
        assert h.data[ch][16:] == b"cached" * 20000


@test
def early_exec_waits():
    with Session(start=False) as h:
        h.start(1, PASSED, [b"python3"], BOOT, FAKE, wait=False)
        x = h.run_start(b"print('early', flush=True)", stdin=b"abc")
        assert h.ready().status == 1
        r = h.exec_wait(x)
        assert r.how == FINAL and r.out == b"early\n"
        h.start(2, PASSED, [b"python3"], [b"-c", b"import time; time.sleep(60)"], b"", wait=False)
        t = time.monotonic()
        x = h.exec_start(2, code(b"1"), timeout=SEC // 2)
        r = h.exec_wait(x)
        assert r.how == KILLED and not r.flags & 2 and r.interrupted == 1 and r.kernel_state == PROVEN and time.monotonic() - t < 5 * SLOW, r
        assert h.ready().status == 6
        h.start(3, PASSED, [b"python3"], [b"-c", b"import sys; sys.exit(1)"], b"", wait=False)
        r = h.exec(3, code(b"1"))
        assert r.how == NOT_RUN and r.kernel_state == PROVEN and h.ready().status == 4
        assert h.exec(99, code(b"1")).how == NOT_RUN


@test
def sixteen_kernels():
    with Session(start=False) as h:
        for i in range(16):
            h.start(100 + i, PASSED, [b"python3"], BOOT, FAKE, wait=False)
        for i in range(16):
            assert h.ready(60).status == 1
        assert h.start(200, PASSED, [b"python3"], BOOT, None).status == 5
        xs = [h.exec_start(100 + i, code(b"print(%d, flush=True)" % i)) for i in range(16)]
        for i, x in enumerate(xs):
            assert h.exec_wait(x).out == b"%d\n" % i
        assert h.stop(107) == (107, 1)
        assert h.start(200, PASSED, [b"python3"], BOOT, FAKE).status == 1
        took = []
        for i in range(16):
            if i != 7:
                t = time.monotonic()
                assert h.stop(100 + i) == (100 + i, 1)
                took.append(time.monotonic() - t)
        assert sorted(took)[4] < 0.2 * SLOW, took


# ---------------------------------------------------------------- execs
@test
def plain_exec():
    with Session() as h:
        r = h.run(b"x = 1")
        assert r.how == FINAL and r.status == OK and r.kernel_state == ALIVE and r.flags == 2 and r.exit_code == -1 and r.signal == 0 and r.interrupted == 0
        r = h.run(b"print('out', x, flush=True); os.write(2, b'err')")
        assert r.out == b"out 1\n" and r.err == b"err"
        r = h.run(b"open('/dev/stderr', 'w').write('e'); open('/dev/stdout', 'w').write('o')")
        assert r.status == OK and r.err == b"e" and r.out == b"o", r
        assert h.run(b"1/0").status == ERROR
        assert h.run(b"sys.exit(3)").status == EXITED
        r = h.run(b"print(os.getuid(), os.getgid(), os.getgroups(), sorted(os.listdir('/proc/self/fd')), flush=True)")
        assert r.out.startswith(b"1000 1000 []") or h.welcome[8] == 1, r.out
        r = h.run(b"print(open('/proc/self/status').read(), flush=True)").out.decode()
        f = dict(l.split(":\t", 1) for l in r.splitlines() if ":\t" in l)
        assert f["CapEff"] == f["CapPrm"] == f["CapBnd"] == f["CapAmb"] == "0" * 16 and f["NoNewPrivs"] == "1", f
        assert f["SigBlk"] == "0" * 16 and int(f["SigIgn"], 16) & ~(1 << 1 | 1 << 12 | 1 << 24) == 0, f


@test
def what_a_kernel_starts_with():
    with Session(start=False) as h:
        r = h.start(1, PASSED, [b"python3"], [b"-S", b"-c", b"""
import os, resource, signal, sys
print = lambda *a: os.write(2, (' '.join(map(str, a)) + chr(10)).encode())
print('fds', sorted(int(x) for x in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + x)))
print('links', os.readlink('/proc/self/fd/0'), os.readlink('/proc/self/fd/1'))
print('blob', os.read(4, 100))
try: os.pwrite(4, b'x', 0); print('blob writable')
except OSError: print('blob read-only')
print('sid', os.getsid(0) == os.getpid())
print('stack', resource.getrlimit(resource.RLIMIT_STACK)[0] == 64 << 20, resource.getrlimit(resource.RLIMIT_CORE))
print('env', sorted(os.environ.items()))
print('umask', os.umask(0))
print('agent readable', os.access('/proc/1/environ', os.R_OK), os.access('/proc/%d/mem' % os.getppid(), os.R_OK))
for p in (1, os.getppid()):
    try: os.kill(p, 9); print('KILLED', p)
    except OSError as e: print('refused')
try: os.listdir('/run/interp'); print('LISTED')
except OSError: print('not listable')
sys.exit(5)"""], b"the blob", env=[b"PATH=/usr/bin:/bin", b"A=b c"])
        t = r.text.decode()
        assert r.exit_code == 5, (r.exit_code, r.signal, t)
        assert "fds [0, 1, 2, 3, 4]" in t or "fds [0, 1, 2, 3, 4, 5]" in t, t  # 5: the listing itself
        assert "links /dev/null /dev/null" in t and "blob b'the blob'" in t and "blob read-only" in t and "sid True" in t, t
        assert "stack True (1, 1)" in t and "('A', 'b c')" in t and "umask 18" in t, t
        if h.welcome[8] == 2:
            assert "agent readable False False" in t and t.count("refused") == 2 and "not listable" in t, t


@test
def stdin_of_an_exec():
    with Session() as h:
        assert h.run(b"print(repr(sys.stdin.read()), flush=True)").out == b"''\n"
        assert h.run(b"sys.stdin = os.fdopen(0, closefd=False); print(repr(sys.stdin.read()), flush=True)", stdin=b"abc").out == b"'abc'\n"
        assert h.run(b"print(os.read(0, 9), flush=True)", stdin=b"").out == b"b''\n"
        big = os.urandom(3 << 20)
        x = h.run_start(b"import hashlib; b = os.fdopen(0, 'rb', closefd=False).read(); print(len(b), hashlib.md5(b).hexdigest(), flush=True)", stdin=big)
        import hashlib
        assert h.exec_wait(x).out == b"%d %s\n" % (len(big), hashlib.md5(big).hexdigest().encode())
        t = time.monotonic()
        # nobody reads it
        h.careless = True
        base, h.chan = h.chan, h.chan + 3
        c = code(b"time.sleep(0.3); print('done', flush=True)")
        h.raw(h.frame(EXEC, struct.pack("<16sHHIIIQQI", b"j" * 16, 1, base, 1, 1, 9, FOREVER, 0, len(c)) + text(b"") + struct.pack("<QQQHH", FOREVER, FOREVER, FOREVER, 24, 80)) + h.frame(DATA, c, base, END) + h.frame(DATA, b"x" * 65000, base + 1) + h.frame(DATA, b"y" * 65000, base + 1))
        r = h.exec_wait(Reply(id=b"j" * 16, base=base))
        assert r.how == FINAL and r.out == b"done\n" and time.monotonic() - t < 10 * SLOW
        # closed by the reader while more comes
        x = h.run_start(b"told = []; signal.signal(2, lambda *a: told.append(1)); os.close(0)\nwhile not told: time.sleep(0.01)", stdin=b"z" * 500000)
        h.interrupt(x)
        assert h.exec_wait(x).status == OK


@test
def big_code():
    with Session() as h:
        c = b"s = '" + b"q" * (5 << 20) + b"'\nprint(len(s), flush=True)"
        assert h.run(c).out == b"%d\n" % (5 << 20)
        h.chan += 1
        assert h.run(b"print(len(s), flush=True)").out == b"%d\n" % (5 << 20)


@test
def kernel_ends_by_itself():
    with Session() as h:
        m = mark()
        r = h.run(b"print('before', flush=True); subprocess.Popen(['sleep', '%s']); os._exit(137)" % m.encode())
        assert (r.how, r.exit_code, r.signal, r.kernel_state, r.out, r.flags) == (DIED, 137, 0, PROVEN, b"before\n", 2), r
        assert gone_soon(m)
        assert h.run(b"1").how == NOT_RUN
        assert fake(h).status == 1
        r = h.run(b"os.kill(os.getpid(), 11)")
        assert (r.how, r.exit_code, r.signal, r.kernel_state) == (DIED, -1, 11, PROVEN), r
        assert fake(h).status == 1
        # a grandchild that holds control open makes no difference
        t = time.monotonic()
        r = h.run(b"pid = os.fork()\nif not pid: time.sleep(60)\nos._exit(9)")
        assert r.how == DIED and r.exit_code == 9 and time.monotonic() - t < 10 * SLOW, r
        assert fake(h).status == 1
        # final, then death at once
        r = h.run(b"put('f', b'{}', token=token, status=1); os._exit(3)")
        assert r.how == FINAL and r.kernel_state in (ALIVE, PROVEN), r
        assert h.run(b"1").how in (NOT_RUN, DIED)  # the agent may not have heard of it yet
        assert h.run(b"1").how == NOT_RUN
        assert fake(h).status == 1
        # half a frame, then death
        r = h.run(b"ctl.sendall(H.pack(100, 0, ord('d'), 0, 0, token) + b'{\"half'); os._exit(4)")
        assert (r.how, r.exit_code) == (DIED, 4) and r.control.endswith(b'{"half'), r
        # dies while idle
        assert fake(h).status == 1
        x = h.run_start(b"kept = os.dup(1); threading.Timer(0.2, lambda: (os.write(kept, b'ends'), os._exit(1))).start()")
        h.exec_wait(x)
        h.until(lambda: h.seen_late)
        h.run_for(0.2)
        assert h.run(b"1").how in (NOT_RUN, DIED) and h.run(b"1").how == NOT_RUN
        r = h.start(1, PASSED, [b"python3"], BOOT, FAKE)
        assert r.status == 1 and h.run(b"1").how == FINAL


@test
def garbage_from_the_kernel():
    with Session() as h:
        for i, c in enumerate((b"ctl.sendall(b'?' * 16); time.sleep(60)",
                               b"put('x', b'{}', token=token); time.sleep(60)",
                               b"put('f', b'{}', token=token ^ 1, status=1); time.sleep(60)",
                               b"put('f', b'{}', token=token, status=4); time.sleep(60)",   # nobody interrupted
                               b"put('f', b'{}', token=token, status=0); time.sleep(60)",
                               b"put('f', b'{}', token=token, status=9); time.sleep(60)",
                               b"ctl.sendall(H.pack(2, 0, ord('f'), 1, 0, token) + b'{}' + b'more'); time.sleep(60)",
                               b"a = H.pack(2, 0, ord('f'), 1, 0, token) + b'{}'; ctl.sendall(a + a); time.sleep(60)",
                               b"ctl.sendall(H.pack(1 << 21, 0, ord('d'), 0, 0, token)); time.sleep(60)",
                               b"ctl.sendall(H.pack(0, 1 << 26, ord('d'), 0, 0, token)); time.sleep(60)",
                               b"ctl.sendall(H.pack(2, 0, ord('d'), 0, 7, token) + b'{}'); time.sleep(60)",
                               b"put('o', token=token); time.sleep(60)",
                               b"put('r', b'{}', token=token); time.sleep(60)",
                               b"ctl.close(); os.closerange(3, 256); time.sleep(60)")):
            t = time.monotonic()
            r = h.run(c)
            assert r.how == PROTOCOL and r.kernel_state == PROVEN and time.monotonic() - t < 10 * SLOW, (c, r)
            assert h.run(b"1").how == NOT_RUN
            assert fake(h).status == 1
        # words sent between execs answer nothing
        h.run(b"kept = os.dup(1); threading.Timer(0.1, lambda: (put('f', b'{}', token=token, status=1), os.write(kept, b'sent'))).start()")
        h.until(lambda: h.seen_late)
        r = h.run(b"1")
        assert r.how == PROTOCOL and not r.flags & 2 and r.kernel_state == PROVEN, r


@test
def final_before_its_code():
    with Session() as h:
        # the kernel learns the token from P, its code comes later
        h.run(b"""
orig = get
def get(n):
    b = orig(n)
    if n == 16 and b[8:9] == b'P':
        put('f', b'{}', token=struct.unpack('<I', b[12:])[0], status=1)
    return b
""".replace(b"orig = get", b"import __main__, struct; orig = __main__.get").replace(b"def get", b"def bad") + b"__main__.get = bad\n")
        x = h.run_start(b"1" + b" " * 300000, send_code=False)
        r = h.exec_wait(x)
        assert r.how == PROTOCOL and not r.flags & 2, r


@test
def exec_in_the_moment_of_death():
    with Session() as h:
        for i in range(60):
            h.run(b"threading.Timer(%f, lambda: os._exit(1)).start()" % (0.001 * (i % 6)))
            if i % 2:
                time.sleep(0.0007 * (i % 11))
            r = h.run(b"1")
            while r.how == FINAL:
                r = h.run(b"1")
            assert r.how in (NOT_RUN, DIED) and r.kernel_state == PROVEN, r
            assert fake(h).status == 1


# ---------------------------------------------------------------- files
def helper_of(h):
    """The one child of the agent's, which is one of ours."""
    pid, end = h.p.pid, time.monotonic() + 10
    for _ in range(2):
        children = []
        while not children and time.monotonic() < end:
            children = open("/proc/%d/task/%d/children" % (pid, pid)).read().split()
        pid = int(children[0])
    return pid


@test
def puts():
    d = tempfile.mkdtemp()
    os.chmod(d, 0o777)
    path = os.path.join(d, "f").encode()
    blob = random.Random(1).randbytes(3000001)
    try:
        for pipes in (False, True):
            with Session(start=False, stdio_pipes=pipes) as h:
                for at, window in ((0, PUT_WINDOW), (2999000, PUT_WINDOW), (1500000, 200000)):
                    ch = h.file(PUT, path)
                    h.feed(ch, blob[at:], window=window)
                    r = h.file_done(ch)
                    assert r.error == 0 and r.size == len(blob) - at and open(path, "rb").read() == blob[at:], r
                # header and payload in pieces, between them another frame's beginning
                h.careless = True
                ch = h.file(PUT, path)
                sent = b"".join(h.frame(DATA, blob[i * 60000:(i + 1) * 60000], ch, END if i == 4 else 0) for i in range(5)) + h.frame(NOP)
                for cut in range(0, len(sent), 23456):
                    h.raw(sent[cut:cut + 23456])
                    time.sleep(0.01)
                assert h.file_done(ch).size == 300000 and open(path, "rb").read() == blob[:300000]
                ch = h.file(GET, path)
                assert h.file_done(ch).size == 300000 and h.data[ch] == blob[:300000]
    finally:
        shutil.rmtree(d)


@test
def a_put_that_stands_still():
    """All of a window waits in the agent, and what else is asked for does not."""
    d = tempfile.mkdtemp()
    os.chmod(d, 0o777)
    path = os.path.join(d, "f").encode()
    blob = random.Random(2).randbytes(2 * PUT_WINDOW)
    try:
        for stop in (0, 3):  # before its first byte, and when its pipes are large
            with Session(start=False) as h:
                ch = h.file(PUT, path)
                h.feed(ch, blob[:stop * 65536], end=False, window=PUT_WINDOW)
                h.run_for(0.2)
                pid = helper_of(h)
                os.kill(pid, signal.SIGSTOP)
                first = PUT_WINDOW - h.sent.get(ch, 0)
                h.feed(ch, blob[stop * 65536:][:first], end=False, window=PUT_WINDOW)
                assert fake(h).status == 1
                assert h.run(b"print(1, flush=True)").out == b"1\n"
                os.kill(pid, signal.SIGCONT)
                h.feed(ch, blob[stop * 65536 + first:], window=PUT_WINDOW)
                assert h.file_done(ch).size == len(blob) and open(path, "rb").read() == blob

        def too_much(h):
            ch = h.file(PUT, path)
            os.kill(helper_of(h), signal.SIGSTOP)
            for i in range(9):
                h.send(DATA, bytes(PAYLOAD), ch)

        assert b"protocol" in fatal_for(too_much)
    finally:
        shutil.rmtree(d)


# ---------------------------------------------------------------- floods
@test
def withheld_credit():
    with Session(auto=False) as h:
        x = h.run_start(b"t = b'0123456789abcdef' * 4096\nfor i in range(20): os.write(1, t)")
        h.until(lambda: len(h.data.get(x.base + 1, b"")) == WINDOW)
        y = fake(h, 2)
        assert y.status == 1
        x2 = h.exec_start(2, code(b"print(2, flush=True)"))
        assert h.exec_wait(x2).out == b"2\n"  # another kernel is not held up
        h.credit(x.base + 1, 1000)
        h.until(lambda: len(h.data[x.base + 1]) == WINDOW + 1000)
        h.auto = True
        h.credit(x.base + 1, WINDOW)
        r = h.exec_wait(x)
        assert r.how == FINAL and r.out == b"0123456789abcdef" * 4096 * 20
        # the drain at the end waits for credit too
        h.auto = False
        x = h.run_start(b"for i in range(2): os.write(1, b'x' * 65536)\nos.write(1, b'y' * 60000)")
        h.until(lambda: len(h.data.get(x.base + 1, b"")) == WINDOW)
        h.run_for(0.2)
        assert not h.frames
        h.credit(x.base + 1, 50000)
        h.run_for(0.2)
        assert not h.frames
        h.credit(x.base + 1, 50000)
        r = h.exec_wait(x)
        assert r.how == FINAL and len(r.out) == WINDOW + 60000
        # a stop does not wait for it
        x = h.run_start(b"while 1: os.write(1, b'x' * 65536)")
        h.until(lambda: len(h.data.get(x.base + 1, b"")) == WINDOW)
        t = time.monotonic()
        assert h.stop(1) == (1, 1) and time.monotonic() - t < 5 * SLOW
        assert h.exec_wait(x).how == STOPPED


@test
def interrupt_through_a_flood():
    with Session(auto=False) as h:
        x = h.run_start(b"while 1: os.write(1, b'x' * 65536); os.write(2, b'y' * 999)")
        h.until(lambda: len(h.data.get(x.base + 1, b"")) == WINDOW)
        h.interrupt(x)
        h.auto = True
        for i in (1, 2):
            h.credit(x.base + i, WINDOW - h.window.get(x.base + i, WINDOW))
        r = h.exec_wait(x)
        assert r.how == FINAL and r.status == INTERRUPTED and r.interrupted == 4, r


@test
def control_flood():
    with Session(auto=False) as h:
        x = h.run_start(b"for i in range(200): put('d', b'{}', b'z' * 20000, token=token)")
        h.until(lambda: len(h.data.get(x.base, b"")) == WINDOW)
        h.auto = True
        h.credit(x.base, WINDOW)
        r = h.exec_wait(x)
        assert r.how == FINAL and len(r.control) == 200 * 20018 + 18


@test
def host_that_reads_nothing():
    with Session() as h:
        x = h.run_start(b"t = b'x' * 65536\nfor i in range(300): os.write(1, t)")
        time.sleep(0.5)  # not reading; then everything is there
        r = h.exec_wait(x)
        assert r.how == FINAL and len(r.out) == 300 * 65536
        # thousands of orders without a read
        msg = b"".join(h.frame(STOP, struct.pack("<H", 500 + i % 1000)) for i in range(20000))
        import threading
        t = threading.Thread(target=h.raw, args=(msg,))
        t.start()
        time.sleep(0.3)
        while sum(f[0] == GONE for f in h.frames[-1:]) == 0 or len(h.frames) < 20000:
            assert h.pump(20)
        t.join()


@test
def throughput():
    with Session() as h:
        t = time.monotonic()
        r = h.run(b"t, left = b'x' * 65536, 3200 * 65536\nwhile left: left -= os.write(1, t[:left])")
        t = time.monotonic() - t
        assert len(r.out) == 3200 * 65536
        print("   200 MiB in %.2f s" % t)


# ---------------------------------------------------------------- the ladder
@test
def deadline_and_interrupt():
    with Session() as h:
        walls = []
        for _ in range(3):
            r = h.run(b"time.sleep(600)", timeout=SEC // 3)
            assert (r.how, r.status, r.interrupted, r.kernel_state) == (FINAL, INTERRUPTED, 1, ALIVE) and 0.33 < r.wall / SEC, r
            walls.append(r.wall / SEC)
        assert min(walls) < 0.33 + SLOW, walls
        x = h.run_start(b"try:\n  print('up', flush=True); time.sleep(600)\nexcept BaseException: print('caught', flush=True)")
        h.until_said(x, b"up")
        h.interrupt(x)
        r = h.exec_wait(x)
        assert (r.how, r.status, r.interrupted, r.out) == (FINAL, OK, 4, b"up\ncaught\n"), r
        h.run(b"signal.signal(2, signal.SIG_DFL); signal.signal = lambda *a: None")
        r = h.run(b"time.sleep(600)", timeout=SEC // 4)
        assert (r.how, r.signal, r.interrupted) == (DIED, 2, 1), r


@test
def stubborn_kernel():
    with Session() as h:
        m = mark()
        # daemons, ignored signals, stopped processes, threads
        c = b"""
for i in range(1, 65):
    try: signal.signal(i, signal.SIG_IGN)
    except (OSError, ValueError): pass
a = ['sleep', '%s']
subprocess.Popen(a); subprocess.Popen(a, start_new_session=True)
os.spawnlp(os.P_NOWAIT, 'sh', 'sh', '-c', "trap '' INT TERM HUP; (sleep %s & sleep %s &) & kill -STOP $$")
if not os.fork():
    os.setsid()
    if not os.fork(): os.execlp('sleep', *a)
    os._exit(0)
print('up', flush=True)
while 1: time.sleep(1)
""" % ((m.encode(),) * 3)
        x = h.run_start(c, grace=SEC)
        h.until_said(x, b"up\n")
        t = time.monotonic()
        h.interrupt(x)
        r = h.exec_wait(x)
        assert r.out == b"up\n" and r.how == KILLED and r.kernel_state == PROVEN and r.signal == 9 and r.interrupted == 4, r
        assert 0.8 < time.monotonic() - t < 1 + 2 * SLOW, time.monotonic() - t
        assert alive(m) == 0
        assert fake(h).status == 1
        x = h.run_start(b"signal.signal(2, signal.SIG_IGN); print('up', flush=True); time.sleep(600)", grace=60 * SEC)
        h.until_said(x, b"up\n")
        h.interrupt(x)
        h.run_for(0.2)
        t = time.monotonic()
        h.interrupt(x)  # the second one skips the grace
        r = h.exec_wait(x)
        assert r.how == KILLED and time.monotonic() - t < 10 * SLOW and r.interrupted == 4, r
        assert fake(h).status == 1
        x = h.run_start(b"time.sleep(600)", grace=60 * SEC)
        h.run_for(0.1)
        h.interrupt(x, hard=1)
        assert h.exec_wait(x).how == KILLED


@test
def at_work_on_a_kill():
    """The end of a tree that can't be proven yet: the agent says that it is at work, and nothing else."""
    with Session() as h:
        pid = helper_of(h)
        os.kill(pid, signal.SIGSTOP)
        t = time.monotonic()
        h.send(STOP, struct.pack("<H", 1))
        for _ in range(3):
            assert h.want(NOP)[2:] == (0, b"")
        assert time.monotonic() - t > 1.4
        os.kill(pid, signal.SIGCONT)
        assert struct.unpack("<HB", h.want(GONE)[3]) == (1, 1)
        h.frames = [f for f in h.frames if f[0] != NOP]  # those of before
        h.run_for(1.2)
        assert not h.frames, h.frames


@test
def children_first():
    with Session() as h:
        # a kernel that waits for a child which ignores nothing: SIGINT reaches both; one that takes only TERM goes at half of the grace
        c = b"""
signal.signal(2, lambda *a: None)
p = subprocess.Popen(['python3', '-c', "import signal,time\\nsignal.signal(2, lambda *a: None)\\nprint('r', flush=True)\\nwhile 1: time.sleep(9)"])
print('code', p.wait(), flush=True)
"""
        x = h.run_start(c, grace=6 * SEC)
        h.until_said(x, b"r\n")
        t = time.monotonic()
        h.interrupt(x)
        r = h.exec_wait(x)
        assert r.how == FINAL and b"code -15" in r.out and 2.9 < time.monotonic() - t < 3.1 + 2 * SLOW, r
        # started by an earlier exec: left alone; so is what ignores SIGINT
        m = mark()
        h.run(b"bg = subprocess.Popen(['sleep', '%s'], stdout=2)" % m.encode())
        time.sleep(0.05)
        x = h.run_start(b"ig = subprocess.Popen(['sh', '-c', 'trap \"\" INT; echo up; sleep %s; :']); time.sleep(600)" % m.encode())
        h.until_said(x, b"up\n")
        assert there(m, 3)  # the shell and both sleeps
        h.interrupt(x)
        r = h.exec_wait(x)
        assert r.status == INTERRUPTED and alive(m) == 3, alive(m)
        assert h.stop(1) == (1, 1) and alive(m) == 0


@test
def fork_bomb():
    if os.geteuid() != 0:
        raise Skip("needs a process limit per user id")
    with Session() as h:
        m = mark()
        c = b"""
import resource
resource.setrlimit(resource.RLIMIT_NPROC, (150, 150))
if not os.fork():
    os.execlp('python3', 'python3', '-S', '-c', '''
import os
while 1:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass
''', '%s')
signal.signal(2, signal.SIG_IGN)
while 1: time.sleep(1)
""" % m.encode()
        if h.welcome[8] != 2:
            raise Skip("one id")
        x = h.run_start(c, grace=SEC // 2)
        n, begun = 0, time.monotonic()
        while n <= 50 and time.monotonic() < begun + 20 * SLOW:
            h.run_for(0.2)
            n = alive(m)
        t = time.monotonic()
        h.interrupt(x)
        r = h.exec_wait(x)
        assert n > 50 and r.how == KILLED and r.kernel_state == PROVEN, (n, r)
        assert alive(m) == 0
        print("   %d processes, gone %.0f ms after the interrupt" % (n, (time.monotonic() - t) * 1e3))


# ---------------------------------------------------------------- late output
@test
def packets():
    """A pipe whose writer made packets (O_DIRECT) gives one a read: all that was there at the end belongs to the exec."""
    with Session(auto=False) as h:
        x = h.run_start(b"import fcntl; os.write(1, b'x' * %d); fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)\nfor i in range(12): os.write(1, b'%%d;' %% i)" % WINDOW)
        h.until(lambda: len(h.data.get(x.base + 1, b"")) == WINDOW and b"f" in h.data.get(x.base, b""))
        h.credit(x.base + 1, WINDOW)
        r = h.exec_wait(x)
        assert r.out == b"x" * WINDOW + b"".join(b"%d;" % i for i in range(12)), r.out[WINDOW:]
        assert not h.seen_late


@test
def packets_of_one_that_runs():
    """They come as they are written, not with the next write or at the end."""
    with Session() as h:
        x = h.run_start(b"import fcntl; fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)\nfor i in range(2000): os.write(1, b'%d;' % i)\ntime.sleep(600)")
        want = b"".join(b"%d;" % i for i in range(2000))
        end = time.monotonic() + 10 * SLOW
        while h.data.get(x.base + 1) != want and time.monotonic() < end:
            h.pump(0.1)
        assert h.data[x.base + 1] == want, len(h.data[x.base + 1])
        h.interrupt(x)
        h.exec_wait(x)


@test
def an_end_that_waits_for_room():
    """The code is through, and the host gives no credit for what it has left: nothing is given up before the host is heard of past the exec's own time; a cancel does not wait for ever either."""
    left = b"os.write(1, b'x' * %d)" % (WINDOW + 1000)
    with Session(auto=False) as h:
        def begin():
            x = h.run_start(left, timeout=3 * SEC, grace=SEC)
            end = time.monotonic() + 20 * SLOW
            while (len(h.data.get(x.base + 1, b"")) < WINDOW or b"f" not in h.data.get(x.base, b"")) and time.monotonic() < end:
                h.pump(0.1)
            return x
        # a host that is away and comes back has all of it
        x = begin()
        h.run_for(5)
        assert not h.frames
        h.credit(x.base + 1, WINDOW)
        r = h.exec_wait(x)
        assert (r.how, r.status, r.interrupted, len(r.out)) == (FINAL, OK, 0, WINDOW + 1000) and not h.seen_late, r
        # one that is there and gives none; what is given up is late
        for send in (lambda: None, lambda: h.interrupt(x), lambda: h.interrupt(x, 1)):
            x = begin()
            send()
            h.run_for(3.2)
            h.send(NOP)
            r = h.exec_wait(x, 10 * SLOW)
            assert (r.how, r.status, r.interrupted, len(r.out)) == (FINAL, OK, 0, WINDOW), r
            h.until(lambda: sum(len(l[3]) for l in h.seen_late) == 1000)
            h.seen_late.clear()
            h.credit(1, 1000)


@test
def frames_with_descriptors():
    """Each message that brings descriptors ends a read: the last frames of a shell are read to their end all the same, while another process keeps its socket."""
    evil = b"import array, socket, time; s = socket.socket(fileno=0)\nfor i in range(15): s.sendmsg([b'\\0'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))])\nprint(1, flush=True)\ntime.sleep(600)"
    d, t = driver("bash.sh"), driver("bash.template")
    with Session(start=False) as h:
        r = h.start(1, SCRIPT, [b"bash"], [b"--noprofile", b"--norc", b"/dev/fd/4"], d, template=t)
        assert r.status == 1, r
        r = h.exec(1, b"x=1; for n in {10..20}; do python3 -c \"%s\" <&$n & done >/tmp/sent.$$ 2>/dev/null; until [ -s /tmp/sent.$$ ]; do sleep 0.01; done; rm /tmp/sent.$$; set -u; echo $undefined" % evil, wait=10 * SLOW)
        assert (r.how, r.exit_code, r.kernel_state, r.interrupted) == (DIED, 1, ALIVE, 0), r
        assert h.exec(1, b"echo $x").out == b"1\n"


@test
def started_again():
    """A shell that is started again has the time of the exec that waits for it, not that of its first start."""
    with Session(start=False) as h:
        r = h.start(1, SCRIPT, [b"bash"], [b"--noprofile", b"--norc", b"/dev/fd/4"], driver("bash.sh"), template=driver("bash.template"), timeout=3 * SEC)
        assert r.status == 1, r
        assert h.exec(1, b"x=1; echo on").out == b"on\n"
        r = h.exec(1, b"kill -9 $$")
        assert (r.how, r.kernel_state) == (DIED, ALIVE), r
        pid = helper_of(h)  # its supervisor, which is to start it
        os.kill(pid, signal.SIGSTOP)
        x = h.exec_start(1, b"echo $x")
        h.run_for(3.3)
        os.kill(pid, signal.SIGCONT)
        r = h.exec_wait(x)
        assert (r.how, r.out) == (FINAL, b"1\n"), r


def stopped(root):
    """Whether a process below this one is stopped."""
    todo = [root]
    while todo:
        pid = todo.pop()
        try:
            todo += [int(p) for p in open("/proc/%d/task/%d/children" % (pid, pid)).read().split()]
            if open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0] == "T":
                return True
        except OSError:
            pass
    return False


@test
def pipes_that_nobody_opened():
    """An exec that ends before its shell opened the streams leaves no descriptor behind."""
    with Session(start=False) as h:
        r = h.start(1, SCRIPT, [b"bash"], [b"--noprofile", b"--norc", b"/dev/fd/4"], driver("bash.sh"), template=driver("bash.template"))
        assert r.status == 1, r
        agent = open("/proc/%d/task/%d/children" % (h.p.pid, h.p.pid)).read().split()[0]  # of unshare
        count = []
        for _ in range(4):
            h.exec(1, b"(sleep 0.1; kill -STOP $$) & :")
            h.until(lambda: stopped(h.p.pid))
            r = h.exec(1, b"echo", timeout=SEC // 10, grace=SEC // 10)
            assert r.how == KILLED, r
            try:
                count.append(len(os.listdir("/proc/%s/fd" % agent)))
            except PermissionError:
                raise Skip("the agent's descriptors can't be seen")
        h.until(lambda: len(os.listdir("/proc/%s/fd" % agent)) <= min(count))  # what the killed held is closed when its end is seen


@test
def late_output():
    with Session() as h:
        x = h.run_start(b"go = threading.Event(); o = os.dup(1); late = threading.Thread(target=lambda: (go.wait(), os.write(o, b'late'), os.close(o))); late.start()")
        h.exec_wait(x)
        r = h.run(b"go.set(); late.join(); print('second', flush=True)")
        h.until(lambda: h.seen_late)
        assert r.out == b"second\n" and h.seen_late == [(x.id, 1, 0, b"late")], h.seen_late
        # a window, then counting; the writer is never held up
        h.seen_late.clear()
        x = h.run_start(b"p = subprocess.Popen(['python3', '-c', \"import os\\nos.read(0, 1)\\nfor i in range(40): os.write(2, b'x' * 50000)\"], stdin=subprocess.PIPE)")
        h.exec_wait(x)
        h.run(b"p.stdin.close()")
        end = time.monotonic() + 20 * SLOW
        while h.run(b"print(p.poll(), flush=True)").out == b"None\n":
            assert time.monotonic() < end, "held up"
            h.run_for(0.05)
        got = sum(len(l[3]) for l in h.seen_late)
        assert got <= LATE_WINDOW and all(l[:2] == (x.id, 2) for l in h.seen_late)
        h.credit(1, 65536)
        h.until(lambda: sum(len(l[3]) + l[2] for l in h.seen_late) >= 40 * 50000 - 131072)
        # in total nothing is unaccounted for
        h.run_for(0.3)
        h.credit(1, 65536)
        h.until(lambda: sum(len(l[3]) + l[2] for l in h.seen_late) == 40 * 50000)


@test
def late_table():
    with Session() as h:
        h.run(b"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)) if resource.getrlimit(7)[1] >= 4096 else 0; held = []")
        for i in range(300):
            r = h.run(b"held.append(os.dup(1)); held.append(os.dup(2))")
            assert r.how == FINAL and r.status == OK, (i, r)
        r = h.run(b"""
n = 0
signal.signal(13, signal.SIG_IGN)
for f in held:
    try: os.write(f, b'x')
    except OSError: n += 1
print(n, flush=True)""")
        assert 300 <= int(r.out) <= 360, r.out
        h.until(lambda: len(h.seen_late) == 600 - int(r.out))


# ---------------------------------------------------------------- usage
@test
def usage():
    with Session() as h:
        r = h.run(b"t = time.process_time()\nwhile time.process_time() - t < 0.3: pass")
        assert 0.29 < r.cpu / SEC < 0.5 and r.wall >= r.cpu * 0.9, r
        r = h.run(b"subprocess.run(['python3', '-S', '-c', 'import time\\nt = time.process_time()\\nwhile time.process_time() - t < 0.3: pass'])")
        assert 0.25 < r.cpu / SEC < 0.6, r
        r = h.run(b"time.sleep(0.1)")
        assert r.cpu / SEC < 0.05, r
        r = h.run(b"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); signal.signal(25, signal.SIG_DFL); f = open('/tmp/f%d' % os.getpid(), 'wb'); os.unlink(f.name); f.write(b'x' * 5000); f.flush()")
        assert r.how == DIED and r.signal == 25 and r.limits & 16, r


@test
def memory_watch():
    with Session(watch=300 << 20) as h:
        assert h.welcome[11] == 2
        r = h.run(b"b = bytearray(50 << 20); time.sleep(0.2)")
        assert r.how == FINAL and 50 << 20 < r.peak < 200 << 20, r
        m = mark()
        t = time.monotonic()
        r = h.run(b"subprocess.Popen(['sleep', '%s']); p = subprocess.Popen(['python3', '-c', 'b = bytearray(400 << 20); import time; time.sleep(60)']); p.wait()" % m.encode())
        assert r.how == KILLED and r.flags & 1 and r.limits & 1 and r.kernel_state == PROVEN and r.peak > 300 << 20, r
        assert time.monotonic() - t < 10 * SLOW and gone_soon(m)
        # shared memory counts, but once for all that map it, and so does what a fork left shared
        fill = b"import mmap; m = mmap.mmap(-1, %d << 20)\nfor i in range(0, len(m), 4096): m[i] = 1\n"
        assert fake(h).status == 1
        r = h.run(fill % 200 + b"b = bytearray(b'x') * (60 << 20)\nready, say = os.pipe(); stay, end = os.pipe()\n"
                  b"for i in range(3):\n  if not os.fork():\n    os.close(end); n = sum(m[i] for i in range(0, len(m), 4096)); os.write(say, b'.'); os.read(stay, 1); os._exit(0)\n"
                  b"for i in range(3): os.read(ready, 1)\ntime.sleep(1); os.close(end)\nfor i in range(3): os.wait()")
        assert r.how == FINAL and r.status == OK and r.peak > 250 << 20, r
        r = h.run(fill % 400 + b"time.sleep(60)")
        assert r.how == KILLED and r.flags & 1 and r.peak > 300 << 20, r
        # only background processes
        assert fake(h).status == 1
        h.run(b"p = subprocess.Popen(['python3', '-c', 'import time; time.sleep(1); b = bytearray(400 << 20); time.sleep(60)', '%s'])" % m.encode())
        end = time.monotonic() + 20 * SLOW
        while not alive(m) and time.monotonic() < end:          # what is just being executed has no arguments to be seen by
            time.sleep(0.01)
        assert gone_soon(m)


# ---------------------------------------------------------------- real drivers
def driver(name):
    p = os.path.join(KERNELS, name)
    if not os.path.exists(p):
        raise Skip("no " + name)
    return open(p, "rb").read()


def real_exec(h, kernel, c, **k):
    token = struct.unpack("<I", os.urandom(4))[0]
    return h.exec(kernel, code(c, token), token=token, **k)


@test
def real_python():
    d, b = driver("python.py"), driver("python_boot.py")
    with Session(start=False) as h:
        r = h.start(1, PASSED, [b"python3"], [b"-c", b], d, flags=2)
        assert r.status == 1, r
        cached = h.data[h.start_channel][16:]
        assert real_exec(h, 1, b"x = 41").how == FINAL
        r = real_exec(h, 1, b"print('hi'); x + 1")
        assert r.out == b"hi\n" and b"42" in r.control, r
        assert real_exec(h, 1, b"import time; time.sleep(30)", timeout=SEC // 3).status == INTERRUPTED
        assert real_exec(h, 1, b"x").how == FINAL
        assert real_exec(h, 1, b"input()", stdin=b"line\n").status == OK
        r = h.start(2, PASSED, [b"python3"], [b"-c", b], cached, flags=1, identity=(0, 0, 0, 0))
        assert r.status == 3
        r = h.start(2, PASSED, [b"python3"], [b"-c", b], cached, flags=1, identity=r.identity)
        assert r.status == 1 and real_exec(h, 2, b"1").status == OK, r


@test
def real_node():
    d, b = driver("javascript.js"), driver("javascript_boot.js")
    if not shutil.which("node"):
        raise Skip("no node")
    with Session(start=False) as h:
        r = h.start(1, PATHS, [b"node"], [b"--expose-internals", b"--no-warnings", b"-e", b], d)
        assert r.status == 1, r
        r = real_exec(h, 1, b"console.log('hey'); 1 + 1")
        assert r.how == FINAL and r.out == b"hey\n", r
        t = time.monotonic()
        r = real_exec(h, 1, b"require('fs').readFileSync(0, 'utf8')", stdin=b"some input" * 20000)
        assert r.status == OK and time.monotonic() - t < 10 * SLOW, r
        r = real_exec(h, 1, b"while (true) {}", timeout=SEC // 2)
        assert r.status == INTERRUPTED and real_exec(h, 1, b"1").status == OK


@test
def real_bash():
    d, t = driver("bash.sh"), driver("bash.template")
    with Session(start=False) as h:
        r = h.start(1, SCRIPT, [b"bash"], [b"--noprofile", b"--norc", b"/dev/fd/4"], d, template=t)
        assert r.status == 1 and r.restored == 0, r
        m = mark()
        assert h.exec(1, b"x=1; echo hi; echo no >&2; (sleep %s >/dev/null 2>&1 &)" % m.encode()).err == b"no\n"
        assert h.exec(1, b"echo $x; cat", stdin=b"in\n" * 50000).out == b"1\n" + b"in\n" * 50000
        assert h.exec(1, b'echo "$A"', prefix=b"A='q r' ").out == b"q r\n"
        # a FIFO that is opened once more when its writer is gone would wait for the next one
        assert h.exec(1, b"cat /dev/stdin; sleep 0.1; cat /dev/stdin - | wc -c", stdin=b"in\n").out == b"in\n0\n"
        # what the user can fill of the agent's directory is not what the next exec needs
        assert b"denied" in h.exec(1, b"echo >> $BASH_SOURCE").err or os.geteuid() != 0
        r = h.exec(1, b"exit 4")
        assert r.status == EXITED and b"4" in r.control
        r = h.exec(1, b"sleep 30", timeout=SEC // 2)
        assert r.status == INTERRUPTED, r
        r = h.exec(1, b"set -e; false")
        assert (r.how, r.exit_code, r.kernel_state) == (DIED, 1, ALIVE), r
        r = h.exec(1, b"echo again $x")
        assert r.how == FINAL and r.out == b"again 1\n" and there(m) and alive(m) == 1, r
        r = h.exec(1, b"trap '' INT; while :; do :; done", timeout=SEC // 2, grace=SEC // 2)
        assert r.how == KILLED and r.kernel_state == PROVEN and alive(m) == 0, r
        r = h.start(1, SCRIPT, [b"bash"], [b"--noprofile", b"--norc", b"/dev/fd/4"], d, template=t)
        assert r.status == 1 and r.restored == 1, r
        assert h.exec(1, b"echo then $x").out == b"then 1\n"
        big = b"y=" + b"a" * (1 << 20) + b"; echo ${#y}"
        assert h.exec(1, big).out == b"%d\n" % (1 << 20)
        assert h.stop(1) == (1, 1)
        r = h.start(1, SCRIPT, [b"bash"], [b"--noprofile", b"--norc", b"/dev/fd/4"], d, template=t)
        assert r.restored == 0 and h.exec(1, b"echo -$x-").out == b"--\n"


def main():
    global AGENT
    AGENT = os.path.abspath(sys.argv[1])
    only = sys.argv[2:]
    passed = failed = skipped = 0
    for f in tests:
        if only and f.__name__ not in only:
            continue
        t = time.monotonic()
        try:
            f()
            passed += 1
            print("ok   %-36s %.2f s" % (f.__name__, time.monotonic() - t), flush=True)
        except Skip as e:
            skipped += 1
            print("skip %-36s %s" % (f.__name__, e), flush=True)
        except Exception:
            failed += 1
            print("FAIL %-36s" % f.__name__, flush=True)
            traceback.print_exc(file=sys.stdout)
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
