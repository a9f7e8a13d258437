"""What an engine's own API costs: engine_floor.py SOCKET IMAGE. Answers each line on standard input with milliseconds, -1 when it failed.

exec CONTAINER   create, start and read an exec of `python3 -c x=1`, and inspect its exit code
open             create, attach to and start a bare container without network and log, until start has answered
lines COMMAND    create, attach to and start a container of that shell command, until its 100 MB have come; timed from the start

SPDX-License-Identifier: MIT"""
import http.client
import json
import socket
import sys
import time

SOCKET, IMAGE = sys.argv[1:3]


class Engine(http.client.HTTPConnection):
    def __init__(self):
        super().__init__('engine', timeout=60)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(SOCKET)


api = Engine()


def call(method, path, body=None):
    data = json.dumps(body) if body is not None else None
    api.request(method, '/v1.41' + path, data, {'Content-Type': 'application/json'} if data else {})
    answer = api.getresponse()
    text = answer.read()
    if answer.status >= 400:
        raise OSError('%s %s: %d %r' % (method, path, answer.status, text[:200]))
    return json.loads(text) if text.strip() else None


def hijack(path, body=None):
    """A POST whose connection becomes a byte stream; what came behind the answer's head."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(SOCKET)
    data = json.dumps(body).encode() if body is not None else b''
    s.sendall(b'POST /v1.41%s HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: %d\r\n\r\n' % (path.encode(), len(data)) + data)
    head = b''
    while b'\r\n\r\n' not in head:
        more = s.recv(65536)
        if not more:
            raise OSError('the connection ended')
        head += more
    status = int(head.split(None, 2)[1])
    if status not in (101, 200):
        raise OSError('%s: %r' % (path, head[:300]))
    return s, head.split(b'\r\n\r\n', 1)[1]


def exec_once(container):
    t = time.perf_counter()
    job = call('POST', '/containers/%s/exec' % container, {'Cmd': ['python3', '-c', 'x=1'], 'AttachStdout': True, 'AttachStderr': True})['Id']
    s, rest = hijack('/exec/%s/start' % job, {'Detach': False, 'Tty': False})
    while rest or rest == b'':
        rest = s.recv(65536)
        if not rest:
            break
    s.close()
    if call('GET', '/exec/%s/json' % job)['ExitCode'] != 0:
        raise OSError('the exec failed')
    return time.perf_counter() - t


def container(command):
    return call('POST', '/containers/create', {
        'Image': IMAGE, 'Entrypoint': command, 'Cmd': [], 'NetworkDisabled': True, 'OpenStdin': True, 'StdinOnce': True, 'AttachStdin': True, 'AttachStdout': True, 'AttachStderr': True,
        'StopSignal': 'SIGKILL', 'StopTimeout': 0,
        'HostConfig': {'NetworkMode': 'none', 'LogConfig': {'Type': 'none'},
                       'Ulimits': [{'Name': 'nofile', 'Soft': 1024, 'Hard': 1024}, {'Name': 'nproc', 'Soft': 4096, 'Hard': 4096}]}})['Id']


def open_once():
    t = time.perf_counter()
    c = container(['sleep', '1000'])
    s, _ = hijack('/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1&detachKeys=' % c)
    call('POST', '/containers/%s/start' % c)
    t = time.perf_counter() - t
    s.close()
    call('DELETE', '/containers/%s?force=1&v=1' % c)
    return t


def lines_once(command):
    c = container(['sh', '-c', command])
    s, rest = hijack('/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1&detachKeys=' % c)
    got, buf = len(rest), bytearray(1 << 18)
    t = time.perf_counter()
    call('POST', '/containers/%s/start' % c)
    while True:
        n = s.recv_into(buf)
        if not n:
            break
        got += n
    t = time.perf_counter() - t
    s.close()
    call('DELETE', '/containers/%s?force=1&v=1' % c)
    if got < 100000000:
        raise OSError('%d bytes' % got)
    return t


def main():
    for line in sys.stdin:
        word, _, rest = line.strip().partition(' ')
        try:
            t = exec_once(rest) if word == 'exec' else open_once() if word == 'open' else lines_once(rest)
            print('%.6f' % (t * 1e3), flush=True)
        except (OSError, KeyError, ValueError) as e:
            print('engine_floor: %s' % e, file=sys.stderr)
            api.close()
            print('-1', flush=True)


main()
