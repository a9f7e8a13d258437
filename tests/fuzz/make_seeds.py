#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: make_seeds.py [DIRECTORY]. The results are kept in corpus/; run it again after a change of the wire format."""
import gzip
import hashlib
import io
import os
import struct
import sys
import tarfile

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus')


def write(target, name, data):
    d = os.path.join(ROOT, target)
    os.makedirs(d, exist_ok=True)
    with open(os.path.join(d, name), 'wb') as f:
        f.write(data)


def string(s):
    return struct.pack('<H', len(s)) + s


def frames(*items):
    out = b''
    for seq, (kind, flags, channel, payload) in enumerate(items, 1):
        out += struct.pack('<IBBHII', len(payload), kind, flags, channel, seq, 0) + payload
    return out


IDENT = struct.pack('<QQQQ', 1, 2, 3, 4)
EXEC_ID = bytes(range(16))
HELLO = struct.pack('<HHI16s16sQQIIQQ', 1, 1, 0, b's' * 16, bytes(16), 10 ** 12, 0, 0o22, 128, 2 ** 64 - 1, 10 ** 9)
WELCOME = struct.pack('<HHIBBBBI', 1, 1, 0, 2, 6, 1, 1, 1000)
START = struct.pack('<HHBBHQ', 1, 16, 1, 2, 0, 10 ** 10) + IDENT + struct.pack('<H', 2) + string(b'python3') + string(b'python') + \
    struct.pack('<H', 1) + string(b'-c') + struct.pack('<H', 1) + string(b'A=b') + string(b'')
READY = struct.pack('<HBBii', 1, 1, 0, -1, 0) + IDENT + string(b'/usr/bin/python3') + string(b'{"language":"python"}') + string(b'')
EXEC = EXEC_ID + struct.pack('<HHIIIQQI', 1, 17, 1, 1, 0xabcdef01, 3 * 10 ** 10, 3 * 10 ** 9, 4) + string(b"A='x' ") + struct.pack('<QQQ', 10 ** 10, 2 ** 64 - 1, 2 ** 64 - 1)
EXIT = EXEC_ID + struct.pack('<BBBBiiQQQIIIB', 1, 1, 0, 1, -1, 0, 1000, 1000, 2 ** 64 - 1, 0, 0, 2, 0)

write('cut', 'table', b'\1' + b'{"schema":{"fields":[{"name":"a","type":"integer"}]},"data":[' + b','.join(b'{"a":%d,"b":"\xe2\x82\xac\\u00e4\\ud83d\\ude00 text"}' % i for i in range(40)) + b'],"last":null}')
write('cut', 'terminal', b'\1' + b'  1%\r 50%\r\x1b[2K100%\n\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2A\x1b[3;4H\x1b[Jx\x1b[9999Gy\b\b\x1b[2P\x1b[s\x1b[u\x1b[2J\xc3\xa4\xff\tz\n' * 3)
write('cut', 'string', b'\0"' + b'long text \\n' * 40 + b'"')
write('cut', 'nested', b'\2' + b'[{"k":' * 70 + b'-1.5e3' + b'}]' * 70)
write('cut', 'labels', b'\0' + b'\x1b[1;31m[REDACTED:name] \xf0\x9f\x8e\x89 word\n' * 30)
write('wire_host', 'dialogue', b'\0\0' + frames((1, 0, 0, HELLO), (16, 0, 0, START), (4, 1, 16, b'driver'), (32, 0, 0, EXEC), (4, 1, 17, b'code'), (4, 1, 18, b'stdin'),
                                                (34, 0, 0, EXEC_ID + b'\4\0'), (3, 0, 19, struct.pack('<I', 1000)), (49, 0, 0, struct.pack('<QB', 1, 1) + b'{}'), (5, 0, 0, b''), (18, 0, 0, b'\1\0'), (7, 0, 0, b'')))
write('wire_host', 'wrap', b'\1\1' + frames((5, 0, 0, b'')))
write('wire_agent', 'dialogue', b'\0\0' + frames((2, 0, 0, WELCOME), (17, 0, 0, READY), (4, 0, 18, b'output\n'), (4, 1, 17, b'frame'), (33, 0, 0, EXIT), (35, 0, 0, EXEC_ID + b'\1' + bytes(4) + b'late'),
                                                 (48, 0, 0, struct.pack('<Q', 7) + string(b'method') + b'{}'), (19, 0, 0, b'\1\0\1'), (6, 0, 0, string(b'reason') + string(b'message'))))
write('wire_agent', 'wrap', b'\1\1' + frames((3, 0, 16, struct.pack('<I', 1))))


def kframe(kind, json=b'', body=b'', status=0, token=1):
    return struct.pack('<IIBBHI', len(json), len(body), ord(kind), status, 0, token) + json + body


ERROR = (b'{"exit_code":1,"error":{"type":"ValueError","message":"bad \\u00e4 \\ud83d\\ude00","line":3,"column":null,"frames":[{"file":"<exec 7>","line":3,"function":"f","source":"1/0"}],'
         b'"traceback":"Traceback","hint":null}}')
write('kframes', 'ok', b'\x7f' + kframe('r', b'{"language":"python","version":"3.11.2"}') + kframe('o') + kframe('d', b'{"kind":"result","mime":[["text/plain",2],["image/png",3]],"dropped":[["text/html",9000000]]}', b'42\x89PN') +
      kframe('d', b'{"kind":"display","mime":[["text/html",4]]}', b'<b/>') + kframe('f', b'{"exit_code":0}', status=1))
write('kframes', 'replaced', b'\x7f' + kframe('d', b'{"kind":"display","mime":[["text/plain",1]],"dropped":[["image/png",9]]}', b'a') + kframe('d', b'{"kind":"display","mime":[["text/plain",1]]}', b'b') +
      kframe('d', b'{"kind":"display","mime":[["text/plain",3]],"replaces":1}', b'new') + kframe('d', b'{"kind":"result","mime":[["text/plain",1]]}', b'v') + kframe('d', b'{"kind":"clear","mime":[]}') +
      kframe('d', b'{"kind":"display","mime":[["text/plain",1]],"replaces":1}', b'c') + kframe('f', b'{"exit_code":0}', status=1))
write('kframes', 'error', b'\x03' + kframe('f', ERROR, status=2))
write('kframes', 'exit', b'\xff' + kframe('f', b'{"exit_code":  3}', status=3))
write('kframes', 'cache', b'\xfe' + kframe('c', b'', b'cached code' * 10) + kframe('r', b'{}'))
write('kframes', 'lies', b'\x0f' + kframe('d', b'{"kind":"result","mime":[["text/plain",99999]]}', b'x'))
write('kframes', 'deep', b'\x3f' + kframe('f', b'{"error":' + b'[' * 500, status=2))
write('kframes', 'twice', b'\x09' + kframe('f', b'{}', status=1) + kframe('f', b'{}', status=1))

write('json', 'object', b'{"a":1,"b":[true,false,null,-1.5e3,"x\\u00e4\\ud83d\\ude00\\n"],"c":{"d":{}},"e":""}')
write('json', 'deep', b'[' * 70 + b']' * 70)
write('json', 'very_deep', b'{"a":' * 5000)
write('json', 'twice', b'{"a":1,"a":2}')
write('json', 'bound', b'[9007199254740992,9007199254740993,-9007199254740992,18446744073709551616]')
write('json', 'utf8', b'["\xc3\xa4\xf0\x9f\x98\x80","\xed\xa0\x80","\xc0\x80","\xf4\x90\x80\x80"]')
write('json', 'surrogates', b'["\\ud800","\\udc00\\ud800","\\ud83d\\ude00","\\u0000"]')
write('json', 'trailing', b'{} x')
write('json', 'base64', b'aGVsbG8gd29ybGQ=')


def redact(name, how, values, text):
    write('redact', name, bytes([how, len(values)]) + b''.join(bytes([len(v) - 9]) + v for v in values) + text)


V1, V2 = b'k7Jm2Qx9w4Rt6', b'abab-abab-abab-X'
redact('plain', 1, [V1, V2], b'the \xfe\0\0 and \xfe\1\0\n')
redact('encoded', 3, [V1], b'hex \xfe\0\1 wide \xfe\0\2 lines \xfe\0\3 colours \xfe\0\4\n')
redact('again', 5, [V2], b'abab-abab-\xfe\0\0 abab-abab-abab')
# 0xFD is left out by the target: no seed has a secret in one piece
redact('token', 7, [], b'x gh\xfdp_' + b'0' * 40 + b', ey\xfdJhbcdefghij.ey\xfdJabcdefghijk.lmnopqrs\n')
redact('key', 9, [], b'-----BEGIN RSA \xfdPRIVATE KEY-----\n' + (b'A' * 64 + b'\n') * 3 + b'-----END RSA \xfdPRIVATE KEY-----\nafter\n')
redact('connection', 11, [], b'postgres:\xfd//user:pass\xfdword@host/db pass\xfdword="a b c" 10.1.2.3 /home/someone/x\n')
redact('gaps', 13, [V1], b'k7Jm' + b'\0' * 300 + b'2Qx9w4Rt6\n' + b'\n' * 300 + b'\x1b[1')
redact('idle', 0xC1, [V1], b'gh\xfdp_' + b'abc' * 13 + b' k7Jm2 \xfe\0\0 ')


def record(what, kind, flags, channel, payload):
    return bytes([what, kind, flags, channel, len(payload)]) + payload


OK_EXIT = record(4, 33, 0, 0, EXIT)
FINAL = kframe('f', b'{"exit_code":0}', status=1)
write('session', 'bash_ok', b'\0' + record(16, 4, 0, 1, b'output\n') + record(16, 4, 0, 2, b'errors\n') + record(16, 4, 0, 0, FINAL) + OK_EXIT)
write('session', 'python_stream', b'\3' + record(16, 4, 0, 0, kframe('d', b'{"kind":"result","mime":[["text/plain",2]]}', b'42')) + record(18, 4, 0, 1, b'x' * 16) + record(16, 4, 0, 0, FINAL) + OK_EXIT)
write('session', 'abandoned', b'\5' + record(16, 4, 0, 1, b'output\n') + record(16, 4, 0, 0, FINAL) + OK_EXIT + OK_EXIT)
write('session', 'crash', b'\1' + record(4, 33, 0, 0, EXEC_ID + struct.pack('<BBBBiiQQQIIIB', 2, 0, 0, 2, -1, 11, 1, 1, 1, 0, 0, 2, 0)))
write('session', 'late', b'\0' + record(16, 4, 0, 0, FINAL) + OK_EXIT + record(4, 35, 0, 0, EXEC_ID + b'\1' + bytes(4) + b'late\n') + record(16, 4, 0, 0, FINAL) + OK_EXIT)
write('session', 'request', b'\1' + record(0, 48, 0, 0, struct.pack('<Q', 7) + string(b'call') + b'{}') + record(0, 3, 0, 20, struct.pack('<I', 5)))
write('session', 'fatal', b'\1' + record(0, 6, 0, 0, string(b'reason') + string(b'message')))
write('session', 'bad_seq', b'\0' + record(8, 4, 0, 17, b'x'))


def entry(kind, path, content=b'', flags=0, size=None):
    return struct.pack('<BBIQQ', kind, flags, 0o644, len(content) if size is None else size, 10 ** 18) + string(path) + content


def file_done(count, error=0, channel=16):
    return record(0, 65, 0, 0, struct.pack('<HHBBIQQQ', channel, error, 0, 0, 0, 0, 0, count))


TREE = entry(2, b'd') + entry(1, b'd/f', b'text') + entry(3, b'd/l', b'../e') + entry(1, b'e', b'') + entry(4, b'p') + entry(2, b'shut', flags=1)
write('session', 'tree', b'\x28' + record(16, 4, 0, 0, TREE[:60]) + record(16, 4, 0, 0, TREE[60:]) + file_done(6))
write('session', 'tree_evil', b'\x28' + record(16, 4, 0, 0, entry(2, b'd') + entry(1, b'x/../f', b'text')) + file_done(2))
write('session', 'tree_short', b'\x08' + record(16, 4, 0, 0, entry(1, b'f', b'text') + entry(1, b'f', flags=2) + entry(1, b'g', size=10)) + file_done(2))
write('session', 'tree_rooted', b'\x28' + record(16, 4, 0, 0, entry(3, b'/escape', b'../secret')) + file_done(1))
write('session', 'tree_short_alone', b'\x08' + record(16, 4, 0, 0, entry(1, b'f', b'text') + entry(1, b'f', flags=2) + entry(1, b'f', flags=2)) + file_done(1))
write('session', 'tree_up', b'\x18' + record(16, 4, 0, 0, entry(1, b'f')) + file_done(0, 28))
write('session', 'raw', b'\0' + record(1, 0, 0, 0, b'\xff' * 64))


def engine(what, flags=0):
    return bytes([what | flags << 3])


def stream(kind, data):
    return struct.pack('>B3xI', kind, len(data)) + data


UPGRADED = b'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n'
DOCKER = (b'{"Id":"0","Image":"sha256:0","HostConfig":{"NetworkMode":"none","Privileged":false,"ReadonlyRootfs":true,"Memory":1048576,"NanoCpus":1000000000,"PidsLimit":10,"CapDrop":["ALL"],'
          b'"CapAdd":["SETUID","SETGID","KILL"],"SecurityOpt":["no-new-privileges"],"LogConfig":{"Type":"none"},"PidMode":"","IpcMode":"private","Runtime":"runc"},'
          b'"Mounts":[{"Type":"volume","Name":"volume","Destination":"/.interp","RW":false},{"Type":"tmpfs","Destination":"/data","RW":true}]}')
PODMAN = DOCKER.replace(b'"Id":"0"', b'"Id":"0","OCIRuntime":"runsc","BoundingCaps":["CAP_KILL","CAP_SETGID","CAP_SETUID"]').replace(b'"NanoCpus":1000000000', b'"CpuPeriod":100000,"CpuQuota":100000')
LABELS = b'"Labels":{"io.libinterp.kind":"session","io.libinterp.machine":"0","io.libinterp.boot":"0","io.libinterp.pidns":"4026531836","io.libinterp.pid":"1","io.libinterp.start":"1"}'
write('engine', 'upgraded', engine(0) + UPGRADED + stream(1, b'frame') + stream(2, b'words of the runtime') + stream(1, b'') + stream(1, b'x' * 300))
write('engine', 'frames', engine(0, 8) + stream(1, b'frame') * 5 + stream(0, b'stdin') + stream(2, b'\x00\xff') + stream(1, b'cut')[:-1])
write('engine', 'bad_frame', engine(0, 8 | 16) + stream(1, b'frame') + stream(3, b'?'))
write('engine', 'long_frame', engine(0, 8) + b'\1\0\0\0\xff\xff\xff\xff' + b'x' * 20)
write('engine', 'refused', engine(0) + b'HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"message":"no"}')
write('engine', 'docker', engine(1) + DOCKER)
write('engine', 'podman', engine(1, 4 | 1) + PODMAN)
write('engine', 'asked', engine(1, 8 | 16) + DOCKER.replace(b'1048576', b'0'))
write('engine', 'message', engine(1) + b'{"cause":"x","message":"no space left on device","response":500}')
write('engine', 'containers', engine(2) + b'[{"Id":"0a","Names":["/libinterp-0"],"State":"exited",' + LABELS + b'},{"Id":"../x","State":"running",' + LABELS + b'}]')
write('engine', 'volumes', engine(2, 8) + b'{"Volumes":[{"Name":"libinterp-agent-0",' + LABELS + b'},{"Name":"other"}],"Warnings":null}')
write('engine', 'pull', engine(3) + b'{"status":"Pulling fs layer","id":"a"}\r\n{"status":"Downloading","progressDetail":{"current":1,"total":9},"id":"a"}\n{"errorDetail":{"message":"m"},"error":"manifest unknown"}\n')
write('engine', 'plain_words', engine(3) + b'unauthorized\n')
for n, text in enumerate((b'registry:5000/a/b:tag@sha256:00', b'../x', b'[::1]:5000/x', b'unix:///run/x.sock', b'tcp://[::1]:2375', b'https://host.name:1/', b'ssh://x')):
    write('engine', 'word%d' % n, engine(4) + text)
TAR = b'agent'.ljust(100, b'\0') + b'0000755\0' + b'0000000\0' * 2 + b'00000000005\0' + b'00000000000\0' + b'        ' + b'0'
write('engine', 'tar', engine(5) + TAR.ljust(512, b'\0') + b'agent'.ljust(512, b'\0') + bytes(1024))
write('engine', 'pax', engine(5) + (TAR[:-1] + b'x').ljust(512, b'\0') + b'30 mtime=1.5\n'.ljust(512, b'\0') + TAR.ljust(512, b'\0') + b'agent'.ljust(512, b'\0') + bytes(1024))

write('diagnose', 'gcc', b'\x10%f:%l:%c: %s: %m' b'main.c:3:13: error: expected expression\n    3 |   int x = ;\n      |           ^\nmain.c:9: undefined reference to `f\'\ncollect2: error: ld returned 1 exit status\n')
write('diagnose', 'rustc', b'\0' b'error[E0308]: mismatched types\n --> main.rs:2:18\n  |\nwarning: unused\n  --> main.rs:3:9\nthread \'main\' panicked at main.rs:2:5:\noops\n')
write('diagnose', 'javac', b'\0' b'Main.java:3: error: no\n    int x = "a";\n            ^\nException in thread "main" java.lang.X: y\n\tat Main.f(Main.java:5)\n')
write('diagnose', 'scripts', b'\0' b'main.ts(3,7): error TS2322: x\nTypeError: x\n    at f (/a/main.ts.js:3:9)\nx at main.pl line 3, near "y"\nPHP Parse error:  x in main.php on line 2\nlua5.4: main.lua:2: x\nmain.rb:2:in `f\': x (E)\n')
write('diagnose', 'evil', b'\x1e' + b'%*a' * 10 + b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n' * 20)
write('diagnose', 'language', b'{"name":"toy","aliases":["t"],"file":"{name}.t","compile":["a|/b","{file}","{out}"],"run":["{out}/p","it\'s"],"env":{"A":"{heap_mib}"},"errors":["%f:%l: %m","^"],'
      b'"run_errors":[{"match":"x %m","type":"T","severity":"note"}],"name_from":["public class %i%*"],"package_from":["package %p;"],"main_from":["class %i%*"],"main_at":"%*main%*","unit":"Main","install":"toy"}')


def entry(path, flags, size=0, kind=1, content=b''):
    return struct.pack('<BBIQQ', kind, flags, 0o644, size, 10 ** 18) + string(path) + content


SECRET = b'k7Jm2Qx9w4Rt6'
write('changes', 'all', b'\3\1' + entry(b'd/new.csv', 2 | 16, 4, 1, b'a,b\n') + entry(b'link', 2, 3, 3) + entry(b'changed', 4 | 16, 12, 1, b'\x89PNG\r\n\x1a\n0123') + entry(b'gone \xff\xfe', 8, 9) + entry(b'empty', 2 | 16))
write('changes', 'secrets', b'\3\2' + entry(SECRET + b'.txt', 2 | 16, 20, 1, SECRET + b' is it\n') + entry(b'x.pdf', 4 | 16, 24, 1, b'%PDF-1.7 \0 ' + SECRET) + entry(b'b.bin', 4 | 16, 14, 1, b'\xff' + SECRET))
write('changes', 'bounds', b'\1\3' + entry(b'kept', 2 | 16, 6, 1, b'123456') + entry(b'not kept', 2 | 16, 6, 1, b'123456') + entry(b'kept too', 2 | 16, 4, 1, b'1234') + entry(b'too large', 2 | 16, 2 ** 24))
write('changes', 'cut', b'\2\4' + entry(b'n' * 300, 2) + entry(b'cut', 2 | 16, 600, 1, b'half of it'))
write('changes', 'record', b'\0\5' + entry(b'one', 2) + entry(b'two', 2)[:-2])
write('changes', 'many', b'\0\6' + entry(b'x', 8) * 2001)
write('changes', 'nameless', b'\0\7' + entry(b'x', 8) + entry(b'', 8) + entry(b'y', 8))
write('policy', 'python', b"import os.path as p, sys\nfrom os import (path, # c\n sep as s)\nx = f'{a!r:>{w}} {{}} {__import__(\"o\" \'s\')}' r'\\' b\"\"\"'\n\"\"\"\n__import__('o\\x73')\nimportlib.import_module(x)\nexec('1')\rimport \xef\xbd\x8f\xef\xbd\x93\n")
write('policy', 'javascript', b"import fs from 'node:fs'; /['/]/.test(`a${`b${require('x')}`}`) / 2; // c\xe2\x80\xa8if (x) /'/.y; r\\u0065quire('f\\x73')\nx = {a: 1} / 2; await import(\"q\"); <!-- x\n")
write('policy', 'shell', b"a=1 c'u'rl $'x\\x41' \"$(ls `id`)\" <<-E >f 2>&1; f() { x; }; case x in (a|b) echo;; *) sh -c 'y $((1 + $(z)))' ;; esac\n\t$(in)\n\tE\nfind . -exec rm {} \\; | xargs -n 1 sudo -u root eval \"a b\" ${x:-$(y)} <(z) a=(1 2) [[ a < b ]]\n")
write('policy', 'python_texts', b"open(f'/et{a!r:>{w}}c/{{}}' 'x' + '%s' % y)\nfrom importlib import import_module as im; im(name='a' 'b', package=c)\n(q := __import__)('o' + 's'); exec('exec(\"import os\")'); sys.modules['os']; getattr(b, '__import__')(rf'\\'{z}')\n")
write('policy', 'javascript_texts', b"const r = require; r('n' + `e${t}`); createRequire(u)('x'); (0, require)?.('fs'); require.call(this, 'a'); eval(\"eval('1')\"); read(`/etc/${`a${'b' + c}`}`); import {createRequire as k} from 'module'\n")
write('policy', 'shell_forms', b"bash -euo pipefail -O extglob -c \"x $U\" y; sudo -u r --gr g A=b env -S 'c d' <<<e; for ((i=0;i<3;i++)) { time -p { f; }; }\ncoproc N (g) && flock -w 5 l -c 'h' | parallel j ::: 'k'; [[ a =~ (b|#) ]] && a=(m \"${n:-'o'}\" @(p|q))\n<<'E' bash -s\ntrap 'r' EXIT; alias s='t'\nE\n${v:-w} x; {fd}>y $(which z) &>a; for i do eval b; done\n")


def record(seq, before, event):
    body = ('{"v":1,"seq":%d,"time":"2026-01-01T00:00:00.000000Z","mono_ns":5,"pid":1,"event":"%s","session":"x","prev":"%s"' % (seq, event, before)).encode()
    digest = hashlib.sha256(body).hexdigest()
    return body + b',"hash":"' + digest.encode() + b'"}\n', digest


first, digest = record(1, '0' * 64, 'audit_start')
write('audit', 'two', first + record(2, digest, 'open')[0])


def tar(tar_format, *members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w', format=tar_format) as t:
        for name, kind, more in members:
            m = tarfile.TarInfo(name)
            m.type, m.mtime, m.mode = kind, 10 ** 9, 0o640
            m.linkname = more if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ''
            m.size = len(more) if kind == tarfile.REGTYPE else 0
            t.addfile(m, io.BytesIO(more.encode()) if m.size else None)
    return out.getvalue()[:-8192]


MEMBERS = (('./d', tarfile.DIRTYPE, ''), ('./d/f', tarfile.REGTYPE, 'text\n' * 200), ('d/' + 'n' * 120, tarfile.REGTYPE, 'long'), ('l', tarfile.SYMTYPE, 'd/' + 't' * 130), ('h', tarfile.LNKTYPE, 'd/f'))
write('tar', 'pax', b'\3' + tar(tarfile.PAX_FORMAT, *MEMBERS))
write('tar', 'gnu', b'\x41' + tar(tarfile.GNU_FORMAT, *MEMBERS))
write('session', 'tree_up_packed', gzip.compress(tar(tarfile.USTAR_FORMAT, ('f', tarfile.REGTYPE, 'x'), ('l', tarfile.SYMTYPE, 'f'), ('h', tarfile.LNKTYPE, 'l')), 1, mtime=0))      # 0x1f: a put
write('tar', 'evil', b'\0' + tar(tarfile.USTAR_FORMAT, ('a/../../b', tarfile.REGTYPE, 'x'), ('p', tarfile.FIFOTYPE, '')))
