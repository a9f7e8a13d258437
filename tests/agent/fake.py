# A kernel of kind "passed" in few lines. Code is Python; helpers let a test break every rule.
import os, signal, socket, struct, sys, time, threading, subprocess
H = struct.Struct("<IIBBHI")
ctl = socket.socket(fileno=os.dup2(3, 200, False))
os.close(3); os.close(4)
signal.signal(signal.SIGINT, signal.SIG_IGN)
def put(kind, json=b"", bin=b"", token=0, status=0): ctl.sendall(H.pack(len(json), len(bin), ord(kind), status, 0, token) + json + bin)
def get(n):
    b = b""
    while len(b) < n:
        d, fds, _, _ = socket.recv_fds(ctl, n - len(b), 8)
        got.extend(fds)
        if not d: os._exit(0)
        b += d
    return b
got = []
G = {"os": os, "sys": sys, "time": time, "signal": signal, "subprocess": subprocess, "threading": threading, "put": put, "ctl": ctl, "H": H}
if os.environ.get("INTERP_WANT_CACHE"): put("c", bin=b"cached" * 20000)
put("r", b'{"language":"fake"}')
class Int(BaseException): pass
def raise_int(*a): raise Int()
while True:
    jl, bl, t, st, _, tok = H.unpack(get(16)); t = chr(t)
    if t == "P":
        token = tok
        fds, got = got, []
        if not st & 1: fds.insert(0, os.open("/dev/null", os.O_RDONLY))
        for i, f in enumerate(fds): os.dup2(f, i); os.close(f)
        del fds
        continue
    get(jl); code = get(bl)
    G["token"] = token; status = 1
    try:
        signal.signal(signal.SIGINT, raise_int)
        exec(compile(code, "<exec>", "exec"), G)
    except Int: status = 4
    except SystemExit: status = 3
    except Exception as e: status = 2; os.write(2, repr(e).encode())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    put("f", b"{}", token=token, status=status)
