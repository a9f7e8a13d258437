"""Plays the host of one guest agent in mode "stdio": builds and reads frames, keeps credit, starts kernels, runs execs."""
import os, select, signal, socket, struct, subprocess, time

HELLO, WELCOME, CREDIT, DATA, NOP, FATAL, BYE = range(1, 8)
START, READY, STOP, GONE = range(16, 20)
EXEC, EXIT, INTERRUPT, LATE = range(32, 36)
SIGNAL, RESIZE = 36, 37
REQUEST, REPLY = 48, 49
FILE, DONE, FILE_CANCEL = 64, 65, 66
END = 1
WINDOW, PUT_WINDOW, LATE_WINDOW, PAYLOAD = 131072, 524288, 65536, 65520
PUT, GET = 1, 2
PASSED, PATHS, SCRIPT = 1, 2, 3
FINAL, DIED, KILLED, NOT_RUN, PROTOCOL, STOPPED = range(1, 7)
OK, ERROR, EXITED, INTERRUPTED = range(1, 5)
ALIVE, PROVEN, UNPROVEN = 1, 2, 3
FOREVER = (1 << 64) - 1
SEC = 10**9
KHEAD = struct.Struct("<IIBBHI")
EXIT_FIELDS = ("id", "how", "status", "interrupted", "kernel_state", "exit_code", "signal", "wall", "cpu", "peak", "ooms", "limits", "flags", "step")


class Lost(Exception):
    pass


def text(b):
    return struct.pack("<H", len(b)) + b


def many(items):
    return struct.pack("<H", len(items)) + b"".join(text(i) for i in items)


def kframe(kind, json=b"", bin=b"", token=0, status=0):
    return KHEAD.pack(len(json), len(bin), ord(kind), status, 0, token) + json + bin


class Reply(dict):
    __getattr__ = dict.__getitem__


class Host:
    """auto: give credit back for all that comes, as a host without limits would."""

    def __init__(self, agent, wrap=(), hello=True, lease=0, watch=0, auto=True, stdio_pipes=False):
        if stdio_pipes:
            self.p = subprocess.Popen(list(wrap) + [agent, "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.rfd, self.wfd = self.p.stdout.fileno(), self.p.stdin.fileno()
        else:
            a, b = socket.socketpair()
            self.p = subprocess.Popen(list(wrap) + [agent, "stdio"], stdin=b, stdout=b)
            b.close()
            self.s = a
            self.rfd = self.wfd = a.fileno()
        self.seq = self.taken = 0
        self.buf, self.at = bytearray(), 0
        self.frames = []
        self.auto = auto
        self.chan = 16
        self.data = {}
        self.window = {}
        self.sent = {}
        self.seen_late = []
        self.wire_bytes = 0
        self.exits = {}
        self.careless = False  # a test sends DATA of its own making
        if hello:
            self.hello(lease, watch)
            self.welcome = self.want(WELCOME)[3]

    # ---- frames
    def raw(self, b):
        while b:
            try:
                b = b[os.write(self.wfd, b):]
            except BlockingIOError:
                select.select([], [self.wfd], [])

    def frame(self, kind, payload=b"", channel=0, flags=0):
        self.seq += 1
        return struct.pack("<IBBHII", len(payload), kind, flags, channel, self.seq, self.taken) + payload

    def send(self, kind, payload=b"", channel=0, flags=0):
        self.raw(self.frame(kind, payload, channel, flags))

    def hello(self, lease=0, watch=0, lo=1, hi=1, lifetime=FOREVER, kill=SEC):
        self.send(HELLO, struct.pack("<HHI16s16sQQIIQQ", lo, hi, 0, b"s" * 16, b"", lease, watch, 0o022, 0, lifetime, kill))

    def _pull(self, timeout):
        while True:
            if len(self.buf) - self.at >= 16:
                size, kind, flags, ch, seq, ack = struct.unpack_from("<IBBHII", self.buf, self.at)
                if len(self.buf) - self.at >= 16 + size:
                    assert seq == self.taken + 1, "frame number"
                    assert ack <= self.seq, "ack beyond what was sent"
                    self.taken = seq
                    p = bytes(self.buf[self.at + 16:self.at + 16 + size])
                    self.at += 16 + size
                    return kind, flags, ch, p
            del self.buf[:self.at]
            self.at = 0
            r, _, _ = select.select([self.rfd], [], [], max(0, timeout))
            if not r:
                return None
            try:
                d = os.read(self.rfd, 1 << 20)
            except ConnectionResetError:
                d = b""
            if not d:
                raise Lost()
            self.wire_bytes += len(d)
            self.buf.extend(d)

    def pump(self, timeout=0):
        """Takes in one frame; DATA goes into self.data[channel]."""
        f = self._pull(timeout)
        if f is None:
            return None
        kind, flags, ch, p = f
        if kind == DATA:
            left = self.window.get(ch, WINDOW) - len(p)
            assert left >= 0, "DATA beyond the window"
            self.window[ch] = left
            self.data.setdefault(ch, bytearray()).extend(p)
            if self.auto and left < WINDOW // 2:
                self.credit(ch, WINDOW - left)
        elif kind == CREDIT:
            self.sent[ch] = self.sent.get(ch, 0) - struct.unpack("<I", p)[0]
            assert self.sent[ch] >= 0 or self.careless, "more credit than was used"
        elif kind == LATE:
            self.seen_late.append((p[:16], p[16], struct.unpack_from("<I", p, 17)[0], p[21:]))
        else:
            self.frames.append(f)
        return f

    def credit(self, ch, n):
        if ch != 1:
            self.window[ch] = self.window.get(ch, WINDOW) + n
        self.send(CREDIT, struct.pack("<I", n), ch)

    def want(self, kind, timeout=20):
        end = time.monotonic() + timeout
        while True:
            for i, f in enumerate(self.frames):
                if f[0] == kind:
                    return self.frames.pop(i)
                if f[0] == FATAL:
                    raise Lost(f[3])
            if self.pump(end - time.monotonic()) is None and time.monotonic() >= end:
                raise TimeoutError("no frame of type %d" % kind)

    def until(self, condition, timeout=20):
        """Takes frames in until the condition holds."""
        end = time.monotonic() + timeout
        while not condition():
            if self.pump(min(0.2, end - time.monotonic())) is None and time.monotonic() >= end:
                raise TimeoutError("what was waited for did not come")

    def until_said(self, x, words, stream=1):
        """The exec's code has got so far as to write this."""
        self.until(lambda: words in self.data.get(x.base + stream, b""))

    def run_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump(end - time.monotonic())

    def feed(self, ch, b, end=True, window=WINDOW):
        """DATA within the window; takes in what comes meanwhile."""
        first = True
        while b or first:
            first = False
            room = window - self.sent.get(ch, 0)
            if b and not room:
                if self.pump(20) is None:
                    raise TimeoutError("no credit")
                continue
            n = min(len(b), room, PAYLOAD)
            piece, b = b[:n], b[n:]
            self.sent[ch] = self.sent.get(ch, 0) + n
            self.send(DATA, piece, ch, END if end and not b else 0)

    # ---- files
    def file(self, op, path, mode=0o644):
        ch = self.chan
        self.chan += 1
        self.send(FILE, struct.pack("<HBBIQQ", ch, op, 0, mode, FOREVER, 20 * SEC) + text(path) + text(b""))
        return ch

    def file_done(self, ch, timeout=20):
        done = self.want(DONE, timeout)[3]
        fields = dict(zip(("channel", "error", "type", "more", "mode", "size", "mtime", "count"), struct.unpack("<HHBBIQQQ", done)))
        assert fields["channel"] == ch, fields
        return Reply(fields)

    # ---- kernels
    def start(self, kernel, kind, candidates, args, blob, env=(), template=b"", flags=0, timeout=60 * SEC, identity=(0, 0, 0, 0), wait=True):
        ch = self.chan
        self.chan += 1
        env = list(env) or [b"PATH=/usr/local/bin:/usr/bin:/bin", b"LANG=C.UTF-8"]
        self.send(START, struct.pack("<HHBBHQ4Q", kernel, ch, kind, flags, 0, timeout, *identity) + many(candidates) + many(args) + many(env) + text(template))
        if blob is not None:
            self.feed(ch, blob)
        self.start_channel = ch
        return self.ready() if wait else ch

    def ready(self, timeout=70):
        p = self.want(READY, timeout)[3]
        kernel, status, restored, code, sig = struct.unpack_from("<HBBii", p)
        at, out = 12 + 32, []
        for _ in range(3):
            n, = struct.unpack_from("<H", p, at)
            out.append(p[at + 2:at + 2 + n])
            at += 2 + n
        return Reply(kernel=kernel, status=status, restored=restored, exit_code=code, signal=sig, identity=struct.unpack_from("<4Q", p, 12), path=out[0], info=out[1], text=out[2])

    def exec_start(self, kernel, code, timeout=60 * SEC, grace=20 * SEC, stdin=None, token=None, prefix=b"", send_code=True, cpu=FOREVER, idle=FOREVER):
        base, self.chan = self.chan, self.chan + 3
        if self.chan > 60000:
            self.chan = 16
        for c in range(base, base + 3):
            self.window.pop(c, None), self.sent.pop(c, None), self.data.pop(c, None)
        eid = os.urandom(16)
        token = token or struct.unpack("<I", os.urandom(4))[0]
        msg = self.frame(EXEC, struct.pack("<16sHHIIIQQI", eid, kernel, base, 1 if stdin is not None else 0, 1, token, timeout, grace, len(code)) + text(prefix) + struct.pack("<QQQHH", cpu, idle, FOREVER, 24, 80))
        if send_code and len(code) <= PAYLOAD:
            self.sent[base] = len(code)
            msg += self.frame(DATA, code, base, END)
            self.raw(msg)
        else:
            self.raw(msg)
            if send_code:
                self.feed(base, code)
        if stdin:
            self.feed(base + 1, stdin)
        elif stdin is not None:
            self.send(DATA, b"", base + 1, END)
        return Reply(id=eid, base=base, token=token)

    def exec_wait(self, x, timeout=90):
        end = time.monotonic() + timeout
        while x.id not in self.exits:
            f = self.want(EXIT, end - time.monotonic())
            r = Reply(zip(EXIT_FIELDS, struct.unpack("<16sBBBBiiQQQIIIB", f[3][:65])))
            self.exits[r.id] = r
        r = self.exits.pop(x.id)
        r.update(zip(("control", "out", "err"), (bytes(self.data.get(x.base + i, b"")) for i in range(3))))
        return r

    def exec(self, kernel, code, wait=90, **k):
        return self.exec_wait(self.exec_start(kernel, code, **k), wait)

    def interrupt(self, x, hard=0):
        self.send(INTERRUPT, x.id + bytes([4, hard]))

    def stop(self, kernel):
        self.send(STOP, struct.pack("<H", kernel))
        return struct.unpack("<HB", self.want(GONE)[3])

    def close(self):
        for f in (lambda: self.send(BYE), lambda: self.p.wait(5)):
            try:
                f()
            except (OSError, subprocess.TimeoutExpired):
                self.p.kill()
        if hasattr(self, "s"):
            self.s.close()
        return self.p.wait()

    def ended(self, timeout=20):
        try:
            return self.p.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
