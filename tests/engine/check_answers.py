"""Answers that no engine should give. Each ends in the right error, in time, and leaves nothing behind. Needs no engine."""
import contextlib
import json
import os
import resource
import socket
import struct
import threading
import time

from bench import Host, InterpError, want, within
from fake import Fake, Raw, read_request, stay

BACKEND = 'INTERP_E_BACKEND'
TIMEOUT = 'INTERP_E_TIMEOUT'
LONG_MS = 60000         # of what is not to end by its time: none of these threads may have stood still for as long


def head(body, extra=b''):
    return b'HTTP/1.1 200 OK\r\n' + extra + b'Content-Length: %d\r\n\r\n' % len(body) + body


def talks(b, talk, code, reason, seconds=4, **more):
    with Raw(talk) as server:
        b.refused(code, reason, seconds, endpoint=server.endpoint, **dict({'open_timeout_ms': 1500 if code == TIMEOUT else LONG_MS}, **more))


def test_garbage(b):
    def garbage(c):
        read_request(c)
        c.sendall(os.urandom(4096))
    talks(b, garbage, BACKEND, ('engine-connection', 'engine-refused', 'engine-answer'))

    def other_protocol(c):
        c.sendall(b'SSH-2.0-OpenSSH_9.2\r\n')
        read_request(c)
    talks(b, other_protocol, BACKEND, ('engine-connection', 'engine-answer'))


def test_silent(b):
    talks(b, stay, 'INTERP_E_TIMEOUT', ('engine-timeout', 'open-timeout'))


def test_closes_at_once(b):
    talks(b, lambda c: None, BACKEND, ('engine-connection', 'engine-absent'))

    def after_request(c):
        read_request(c)
    talks(b, after_request, BACKEND, 'engine-connection')

    def in_the_middle(c):
        read_request(c)
        c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"ApiVersion":')
    talks(b, in_the_middle, BACKEND, 'engine-connection')


def test_byte_by_byte(b):
    """Slow, but right: a deadline ends it."""
    def slow(c):
        read_request(c)
        for byte in head(json.dumps({'ApiVersion': '1.41', 'Os': 'linux', 'Junk': 'x' * 5000}).encode()):
            c.sendall(bytes([byte]))
            time.sleep(0.01)
    talks(b, slow, 'INTERP_E_TIMEOUT', ('engine-timeout', 'open-timeout'))


def endless(start, piece):
    def talk(c):
        read_request(c)
        c.sendall(start)
        while True:
            c.sendall(piece)
    return talk


def test_endless(b):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    talks(b, endless(b'HTTP/1.1 200 OK\r\n\r\n', b' ' * 65536), BACKEND, 'engine-answer')
    talks(b, endless(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', b'1000\r\n' + b'[' * 4096 + b'\r\n'), BACKEND, 'engine-answer')
    talks(b, endless(b'HTTP/1.1 200 OK\r\n', b'X-Header: ' + b'x' * 1000 + b'\r\n'), BACKEND, ('engine-answer', 'engine-connection'))
    talks(b, endless(b'HTTP/1.1 200 OK\r\nX: ', b'x' * 65536), BACKEND, ('engine-answer', 'engine-connection'))
    talks(b, endless(b'', b'HTTP/1.1 100 Continue\r\n\r\n'), BACKEND, ('engine-answer', 'engine-connection'))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    b.figure('endless answers: the host grew by %d KiB at most', grown)
    want(grown < 120 << 10, 'the host grew by %d KiB', grown)


def test_huge_length(b):
    def huge(c):
        read_request(c)
        c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}')
        stay(c)
    talks(b, huge, 'INTERP_E_TIMEOUT', ('engine-timeout', 'open-timeout'))


def answers(b, table, code, reason, podman=False, **more):
    with Fake(table, podman) as f:
        facts = b.refused(code, reason, 5, endpoint=f.endpoint, **dict({'open_timeout_ms': LONG_MS}, **more))
        want(not f.bodies, 'containers are left: %s', list(f.bodies))
        return facts


def test_json(b):
    deep = b'[' * 100000
    for text in (b'', b'{', b'nul', b'[]x', deep, b'{"a":' * 5000, b'\xff\xfe', b'{"a":1,"a":1}', b'"' + b'x' * 100):
        answers(b, {'GET /info': (200, text)}, BACKEND, 'engine-answer')
        answers(b, {'GET /images/': (200, text)}, BACKEND, 'engine-answer')
        answers(b, {'GET /containers/[^/]*/json': (200, text)}, BACKEND, None)


def test_types(b):
    """Well-formed JSON with members of other types."""
    for value in (b'null', b'[]', b'3', b'"x"', b'{}', b'true', b'[{"Name":3}]'):
        answers(b, {'GET /version': (200, value)}, 'INTERP_E_UNSUPPORTED', 'engine-too-old')
        answers(b, {'GET /version': (200, b'{"ApiVersion":%s,"Components":%s,"Os":%s,"MinAPIVersion":%s}' % ((value,) * 4))}, 'INTERP_E_UNSUPPORTED', ('engine-too-old', 'engine-os'))
        answers(b, {'GET /containers/[^/]*/json': (200, value)}, 'INTERP_E_ISOLATION', None)
    with Fake({'GET /info': (200, b'{"NCPU":-5,"SecurityOptions":{"a":1},"Rootless":"x"}')}) as f:
        try:
            b.open(endpoint=f.endpoint, open_timeout_ms=1500).close()
        except InterpError as e:
            want(e.code in ('INTERP_E_TIMEOUT',), '%s', e)


def test_versions(b):
    for version, reason in (('1.24', 'engine-too-old'), ('2.0', 'engine-too-old'), ('1.', 'engine-too-old'), ('', 'engine-too-old'), ('x' * 5000, 'engine-too-old')):
        answers(b, {'GET /version': (200, {'ApiVersion': version, 'Os': 'linux'})}, 'INTERP_E_UNSUPPORTED', reason)
    answers(b, {'GET /info': (200, {'OSType': 'windows'})}, 'INTERP_E_UNSUPPORTED', 'engine-os')
    # one that speaks only newer versions is asked in those
    with Fake({'GET /version': (200, {'ApiVersion': '1.54', 'MinAPIVersion': '1.52', 'Os': 'linux', 'Arch': 'amd64'}), 'GET /info': (500, {'message': 'stop'})}) as f:
        b.refused(BACKEND, 'engine-refused', endpoint=f.endpoint)
        want('/v1.52/info' in [r[1] for r in f.requests], 'asked %s', f.requests)


def test_refusals(b):
    for what in ('GET /version', 'GET /info', 'POST /volumes/create', 'POST /containers/create', 'GET /containers/', 'PUT', 'POST /containers/[^/]*/attach', 'POST /containers/[^/]*/start'):
        for status, body in ((500, {'message': 'broken'}), (500, b''), (503, b'<html>proxy</html>'), (302, b''), (418, b'\xff' * 3000), (404, {'message': 'page not found'})):
            table = {what: (status, body)}
            facts = answers(b, table, (BACKEND if not (status == 404 and 'create' in what and 'containers' in what) else 'INTERP_E_IMAGE'), None, pull='never')
            want(facts['message'], 'no message')
    answers(b, {'POST /containers/[^/]*/start': (500, {'message': 'no space left on device'})}, 'INTERP_E_IO', 'disk-full')
    answers(b, {'POST /containers/[^/]*/start': (500, {'message': 'there is no room here'})}, BACKEND, 'engine-start')
    answers(b, {'POST /containers/[^/]*/start': (500, {'message': 'container init was OOM-killed (memory limit too low?)'})}, 'INTERP_E_LIMIT', 'memory-too-small')


def attach(data, then=None):
    def talk(c, usual):
        c.sendall(data)
        if then:
            then(c)
        return None
    return {'POST /containers/[^/]*/attach': talk}


UPGRADED = b'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n'


def test_never_ran(b):
    """A container that can't run its agent: what the engine says of it, be it the runtime's words or those of a write that came too late, does not decide."""
    lost = b'Error: write unixpacket @->/proc/self/fd/13/attach: write: broken pipe'
    for image, said, code, reason in (('arm64', b'', 'INTERP_E_IMAGE', 'image-architecture'), ('arm64', lost, 'INTERP_E_IMAGE', 'image-architecture'),
                                      ('arm64', b'exec /.interp/agent: exec format error', 'INTERP_E_IMAGE', 'image-architecture'),
                                      ('amd64', b'exec /.interp/agent: exec format error', BACKEND, 'engine-volume'),
                                      ('amd64', lost, BACKEND, 'agent-ended'), ('amd64', b'', BACKEND, 'stream-end')):
        started = threading.Event()

        def start(c, usual, started=started):
            started.set()
            return usual()

        def then(c, said=said, started=started):
            started.wait(60)
            c.sendall(struct.pack('>B3xI', 2, len(said)) + said if said else b'')
        table = {'GET /info': (200, {'NCPU': 2, 'MemoryLimit': True, 'PidsLimit': True, 'Architecture': 'x86_64'}), 'GET /images/': (200, {'Id': 'sha256:00', 'Architecture': image, 'Os': 'linux', 'Config': {}}),
                 'POST /containers/[^/]*/start': start}
        message = answers(b, dict(table, **attach(UPGRADED, then)), code, reason)['message']
        want(said.decode() in message, '%r is not in %r', said, message)


def flood(piece):
    def then(c):
        with contextlib.suppress(OSError):
            while True:
                c.sendall(piece)
    return then


def test_attach(b):
    answers(b, attach(b''), BACKEND, 'engine-attach')
    answers(b, attach(os.urandom(20000)), BACKEND, 'engine-attach')
    answers(b, attach(b'HTTP/1.1 ' + b'1' * 30000), BACKEND, None)
    answers(b, attach(b'HTTP/1.1 101 UPGRADED\r\n', flood(b'X: ' + b'y' * 4000 + b'\r\n')), BACKEND, None)
    answers(b, attach(b'HTTP/1.1 409 X\r\nContent-Length: 4000000000\r\n\r\n{"message":"no"}', flood(b'x' * 4096)), BACKEND, None)
    answers(b, attach(b'HTTP/1.1 500 X\r\nContent-Length: -1\r\n\r\nfoo'), BACKEND, None)
    answers(b, attach(b'HTTP/1.1 500 X\r\nContent-Length: 16\r\n\r\n{"message":"no"}', stay), BACKEND, 'engine-start')
    answers(b, attach(b'HTTP/1.1 404 X\r\nContent-Length: 24\r\n\r\nNo such container: foo\r\n', stay), BACKEND, None)
    answers(b, attach(b'', stay), 'INTERP_E_TIMEOUT', None, open_timeout_ms=1000)


def test_frames(b):
    bad = ('INTERP_E_PROTOCOL', BACKEND)
    for data in (struct.pack('>B3xI', 3, 5) + b'hello', struct.pack('>B3xI', 1, 0xffffffff), b'\1\1\1\1\0\0\0\5hello', os.urandom(64), b'x' * 100000):
        for split in (None, 1):
            def then(c, data=data):
                c.recv(10)
                if split is None:
                    c.sendall(data)
                else:
                    for i in range(0, min(len(data), 200)):
                        c.sendall(data[i:i + 1])
                stay(c)
            with Fake(attach(UPGRADED, then)) as f:
                try:
                    b.open(endpoint=f.endpoint, open_timeout_ms=LONG_MS).close()
                except InterpError as e:
                    want(e.code in bad, '%r: %s', data[:20], e)
                else:
                    want(False, 'it opened')
    # bytes that came with the head, words on standard error, the end
    answers(b, attach(UPGRADED + struct.pack('>B3xI', 2, 11) + b'exec failed'), BACKEND, 'agent-ended')
    answers(b, attach(UPGRADED + struct.pack('>B3xI', 2, 17) + b'exec format error'), 'INTERP_E_IMAGE', 'image-architecture')
    answers(b, attach(UPGRADED), BACKEND, None)
    answers(b, attach(UPGRADED, flood(struct.pack('>B3xI', 2, 4096) + b'x' * 4096)), 'INTERP_E_TIMEOUT', None, open_timeout_ms=1000)
    answers(b, attach(UPGRADED, flood(bytes(8))), 'INTERP_E_TIMEOUT', None, open_timeout_ms=1000)
    answers(b, attach(UPGRADED, stay), 'INTERP_E_TIMEOUT', None, open_timeout_ms=1000)


def test_no_spinning(b):
    """While start does not answer, what the stream says costs nothing."""
    def start(c, usual):
        stay(c)
        return None
    for then in (None, stay):
        table = dict(attach(UPGRADED + struct.pack('>B3xI', 1, 4) + b'xxxx', then))
        table['POST /containers/[^/]*/start'] = start
        before = time.process_time()
        answers(b, table, 'INTERP_E_TIMEOUT', None, open_timeout_ms=2000)
        took = time.process_time() - before
        b.figure('%.3f s of CPU in a wait of 2 s', took)
        want(took < 0.5, 'the wait of 2 s took %.2f s of CPU', took)


def test_agent_not_kept(b):
    """An engine that loses what is put into the volume, or gives back something else."""
    answers(b, {'PUT': (200, b'')}, BACKEND, 'engine-volume')
    answers(b, {'GET /containers/[^/]*/archive': (200, b'\0' * 10240)}, BACKEND, 'engine-volume')
    answers(b, {'GET /containers/[^/]*/archive': (200, b'x' * 511)}, BACKEND, 'engine-volume')


def test_pull_lines(b):
    missing = {'GET /images/': (404, {'message': 'No such image'})}
    for body, code, reason in (
            (b'{"errorDetail":{"message":"manifest unknown"},"error":"manifest unknown"}\n', 'INTERP_E_IMAGE', 'image-not-found'),
            (b'{"status":"x"}\n' * 20000, 'INTERP_E_IMAGE', 'image-not-found'),
            (b'{"status":"x","progressDetail":{"current":"y","total":[]},"id":{}}\n', 'INTERP_E_IMAGE', 'image-not-found'),
            (b'not json\n\n\r\n{}\n[]\nnull\n', 'INTERP_E_IMAGE', None),
            (b'[' * 100000 + b'\n', 'INTERP_E_IMAGE', None),
            (b'x' * 5000000, BACKEND, 'engine-answer'),
            (b'{"error":"%s"}' % (b'y' * 100000), 'INTERP_E_IMAGE', 'image-pull')):
        table = dict(missing)
        table['POST /images/create'] = (200, body)
        answers(b, table, code, reason)

    def endless_pull(c, usual):
        with contextlib.suppress(OSError):
            c.sendall(b'HTTP/1.1 200 OK\r\n\r\n')
            while True:
                c.sendall(b'{"status":"Downloading","progressDetail":{"current":1,"total":2},"id":"a"}\n' * 100)
        return None
    answers(b, dict(missing, **{'POST /images/create': endless_pull}), 'INTERP_E_TIMEOUT', None, open_timeout_ms=1500)


def test_delete_refused(b):
    """Closing an engine that does not remove: in time, and gc finds it later."""
    with Fake({'DELETE': (500, {'message': 'busy'})}) as f, Host() as h:
        start = time.monotonic()
        b.refused('INTERP_E_TIMEOUT', None, 10, h, endpoint=f.endpoint, open_timeout_ms=1000, close_timeout_ms=1500)
        within(start, 4.5, 'opening and closing')


def altered(alter):
    def inspect(c, usual):
        status, o = usual()
        alter(o)
        return status, o
    return {'GET /containers/[^/]*/json': inspect}


def test_unbounded_swap(b):
    """An engine whose kernel does not count swap keeps the limit of memory and lets swap take the rest. Of another machine it is not known whether it has any."""
    for swap in (-1, 0, 128 << 20):
        with Fake(altered(lambda o, swap=swap: o['HostConfig'].update(MemorySwap=swap)), tcp=True) as f:
            b.refused('INTERP_E_ISOLATION', 'isolation', endpoint=f.endpoint, isolation='full', memory_bytes=64 << 20)
            want(not any('/start' in p for _, p in f.requests) and not f.bodies, 'it was started, or is left')


def test_made_and_not_told(b):
    """The engine makes the container, or its helper, and is gone before it says so: what it has made is removed once it is back."""
    for name in ('libinterp-[0-9a-f]*$', 'libinterp-[0-9a-f]*-helper$'):
        with Fake() as f, Host() as h:
            def create(c, usual, f=f):
                usual()
                os.rename(f.path, f.path + '.away')      # nobody can connect
                for other in f.connections - {c}:         # this one last: its end is the answer
                    with contextlib.suppress(OSError):   # that one has gone by itself
                        other.shutdown(socket.SHUT_RDWR)
                return None
            f.answers['POST /containers/create.name=' + name] = create
            s, call = h.start_open(b.members(endpoint=f.endpoint, close_timeout_ms=20000))
            try:
                call.wait()
                want(False, 'it opened')
            except InterpError as e:
                want(e.facts['reason'] == 'engine-connection', '%s', e)
            want(f.bodies, 'the test is wrong: nothing was made')
            timer = threading.Timer(0.5, os.rename, (f.path + '.away', f.path))
            timer.start()
            s.close()
            timer.join()
            want(not f.bodies, 'left: %s', list(f.bodies))
            want(sum(m == 'POST' and '/containers/create' in p and p.endswith('-helper') == name.endswith('helper$') for m, p in f.requests) == 1, 'made twice: %s', f.requests)


def test_agent_replaced_while_starting(b):
    """Another process writes the agent's file at that moment: its content is looked at again, once."""
    for said in ('exec /.interp/agent: text file busy', 'exec /.interp/agent: exec format error'):
        with Fake({'GET /info': (200, {'NCPU': 2, 'MemoryLimit': True, 'PidsLimit': True, 'Architecture': 'x86_64'}), 'POST /containers/[^/]*/start': (400, {'message': said})}) as f:
            b.refused(BACKEND, 'engine-volume', endpoint=f.endpoint)
            want(sum(p.endswith('/start') for _, p in f.requests) == 2, '%s: %s', said, f.requests)
            want(sum('/archive' in p for m, p in f.requests if m == 'GET') >= 3, 'the volume was not looked at again')
            want(not f.bodies, 'left: %s', list(f.bodies))


def test_terminal_in_messages(b):
    """A registry's words can't write to the operator's terminal, and are cut between characters."""
    said = '\x1b]0;title\x07\x1b[2Jdenied\x7f\u009b31m\r\n' + 'x' * 380 + '\u20ac' * 200
    for body in (json.dumps({'error': said}).encode() + b'\n', said.encode().replace(b'\r\n', b' ') + b'\n', b'\xff\xfe\x9b2J\x1b[2J' + b'y' * 300 + b'\n'):
        message = answers(b, {'GET /images/': (404, {'message': 'No such image'}), 'POST /images/create': (200, body)}, 'INTERP_E_IMAGE', None)['message']
        want(message.isprintable() and '\ufffd' not in message, 'the message is %r', message)


def test_tcp_that_is_no_engine(b):
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    port = s.getsockname()[1]
    b.refused(BACKEND, 'engine-absent', 5, endpoint='tcp://127.0.0.1:%d' % port)
    s.listen(1)
    b.refused('INTERP_E_TIMEOUT', None, 4, endpoint='tcp://127.0.0.1:%d' % port, open_timeout_ms=2000)
    s.close()
