"""Engines that lie: a small one of our own, which can answer anything, and a proxy in front of a real one that alters its answers."""
import contextlib
import http.client
import json
import re
import select
import shutil
import socket
import tempfile
import threading
import time
import urllib.parse



class Quiet(socket.socket):
    """A peer that has gone is an error, not a signal."""

    def sendall(self, data):
        super().sendall(data, socket.MSG_NOSIGNAL)


class Server:
    """Serves a unix socket, or a port of TCP, one thread for each connection. handle(connection, method, path, body) returns (status, object or bytes), or None when
    it has dealt with the connection itself, which is then closed."""

    def __init__(self, tcp=False):
        self.folder = tempfile.mkdtemp(prefix='interp-fake.')
        self.path = self.folder + '/engine.sock'
        self.listener = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
        self.listener.bind(('127.0.0.1', 0) if tcp else self.path)
        self.listener.listen(64)
        self.endpoint = 'tcp://127.0.0.1:%d' % self.listener.getsockname()[1] if tcp else 'unix://' + self.path
        self.connections, self.ended, self.requests, self.threads = set(), False, [], []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            c = Quiet(fileno=c.detach())
            self.connections.add(c)
            t = threading.Thread(target=self._serve, args=(c,), daemon=True)
            t.start()                       # one that has not begun can't be joined
            self.threads.append(t)

    def _serve(self, c):
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            self.serve(c)
        self.connections.discard(c)
        c.close()

    def request(self, c, f):
        line = f.readline()
        if not line:
            return None
        method, path, _ = line.decode().split(' ', 2)
        length = 0
        while True:
            header = f.readline()
            if header in (b'\r\n', b''):
                break
            if header.lower().startswith(b'content-length:'):
                length = int(header.split(b':')[1])
        body = f.read(length)
        self.requests.append((method, path))
        return method, path, body

    def serve(self, c):
        f = c.makefile('rb')
        while not self.ended:
            r = self.request(c, f)
            if not r:
                return
            answer = self.handle(c, *r)
            if answer is None:
                return
            self.answer(c, *answer)

    @staticmethod
    def answer(c, status, body=b'', head=b''):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        c.sendall(b'HTTP/1.1 %d X\r\nContent-Length: %d\r\nContent-Type: application/json\r\n' % (status, len(body)) + head + b'\r\n' + body)

    def close(self):
        self.ended = True
        self.listener.close()
        for c in list(self.connections):
            with contextlib.suppress(OSError):
                c.shutdown(socket.SHUT_RDWR)
        for t in list(self.threads):
            t.join(60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Raw(Server):
    """Answers whatever it is asked by a function of the connection."""

    def __init__(self, talk, tcp=False):
        self.talk = talk
        super().__init__(tcp)

    def serve(self, c):
        self.talk(c)


def read_request(c):
    """One request's bytes, as far as they come at once."""
    return c.recv(65536)


def stay(c):
    """Until the peer has closed."""
    while c.recv(65536):
        pass


class Fake(Server):
    """Takes part in an open up to a running container, in which nobody is. answers: {regular expression of "METHOD path": (status, body), or a function of
    (connection, usual answer)}; they come before the usual ones."""

    def __init__(self, answers=None, podman=False, tcp=False):
        self.answers, self.podman = answers or {}, podman
        self.bodies, self.agent = {}, b''
        super().__init__(tcp)

    def handle(self, c, method, path, body):
        path = re.sub(r'^/v[0-9.]+(/libpod)?', '', path)
        usual = lambda: self.usual(c, method, path, body)
        for pattern, answer in self.answers.items():
            if re.match(pattern, '%s %s' % (method, path)):
                return answer(c, usual) if callable(answer) else answer
        return usual()

    def usual(self, c, method, path, body):
        name = path.split('?')[0].split('/')[2] if path.startswith('/containers/') else ''
        if path == '/version':
            return 200, {'ApiVersion': '1.41', 'MinAPIVersion': '1.12', 'Arch': 'amd64', 'Os': 'linux', 'Version': '20.10.24', 'Components': [{'Name': 'Engine'}]}
        if path == '/info':
            return 200, {'NCPU': 2, 'MemoryLimit': True, 'PidsLimit': True, 'SecurityOptions': [], 'CgroupVersion': '2'}
        if path.startswith('/images/create'):
            return 200, b'{"status":"Pulling"}\n{"status":"done"}\n'
        if path.startswith('/images/'):
            return 200, {'Id': 'sha256:00', 'Architecture': 'amd64', 'Os': 'linux', 'Config': {}}
        if path == '/volumes/create':
            return 201, {'Name': json.loads(body)['Name']}
        if path.startswith('/containers/json'):
            return 200, [{'Id': n, 'Names': ['/' + n], 'Labels': o['Labels'], 'State': 'created', 'Created': int(time.time())} for n, o in self.bodies.items()]
        if method == 'GET' and path.startswith('/volumes'):
            return 200, {'Volumes': []}
        if path.startswith('/containers/create'):
            name = urllib.parse.parse_qs(path.split('?')[1])['name'][0]
            self.bodies[name] = json.loads(body)
            return 201, {'Id': name, 'Warnings': []}
        if '/archive' in path:
            if method == 'PUT':
                self.agent = body
                return 200, b''
            return (200, self.agent) if self.agent else (404, {'message': 'Could not find the file'})
        if method == 'DELETE':
            return (204, b'') if self.bodies.pop(name, None) else (404, {'message': 'No such container'})
        if path.endswith('/json'):
            return 200, self.inspect(self.bodies[name])
        if '/attach' in path:
            c.sendall(b'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
            self.attached(c)
            return None
        if path.endswith('/start'):
            return 204, b''
        return 404, {'message': 'page not found'}

    @staticmethod
    def inspect(body):
        h = dict(body['HostConfig'], Runtime='runc')
        mount = h['Mounts'][0]
        return {'Id': 'x', 'Image': 'sha256:00', 'Config': {k: v for k, v in body.items() if k != 'HostConfig'}, 'HostConfig': h,
                'Mounts': [{'Type': 'volume', 'Name': mount['Source'], 'Destination': '/.interp', 'RW': not mount.get('ReadOnly')}]}

    def attached(self, c):
        while c.recv(65536):
            pass


class Proxy(Server):
    """In front of a real engine. alter(kind, object) changes what inspecting says of a container; delay(method, path) is called before each request."""

    def __init__(self, engine, alter=None, delay=None, tcp=False):
        self.engine, self.alter, self.delay = engine, alter, delay
        super().__init__(tcp)

    def serve(self, c):
        while not self.ended:
            r = self.request_unbuffered(c)
            if not r:
                return
            head, method, path, body = r
            self.requests.append((method, path))
            if self.delay:
                self.delay(method, path)
            if '/attach?' in path:
                return self.tunnel(c, head)
            status, headers, data = self.engine.call(method, path, body or (b'' if method != 'GET' else None), {'Content-Type': 'application/x-tar' if method == 'PUT' else 'application/json'})
            if self.alter and method == 'GET' and re.search(r'/containers/[^/]*/json$', path) and status == 200:
                o = json.loads(data)
                self.alter(o)
                data = json.dumps(o).encode()
            # what it speaks: Podman takes seconds to say that in other words
            self.answer(c, status, data, b''.join(b'%s: %s\r\n' % (k.encode(), v.encode()) for k, v in headers.items() if k.lower().endswith('api-version')))

    @staticmethod
    def request_unbuffered(c):
        head = b''
        while b'\r\n\r\n' not in head:
            data = c.recv(1)
            if not data:
                return None
            head += data
        method, path, _ = head.split(b'\r\n')[0].decode().split(' ', 2)
        m = re.search(rb'(?i)content-length: *(\d+)', head)
        length, body = int(m.group(1)) if m else 0, b''
        while len(body) < length:
            data = c.recv(min(65536, length - len(body)))
            if not data:
                return None
            body += data
        return head, method, path, body

    def tunnel(self, c, head):
        other = self.engine.connect()
        other.settimeout(None)
        try:
            other.sendall(head)
            while not self.ended:
                for s in select.select([c, other], [], [], 1)[0]:
                    data = s.recv(65536)
                    if not data:
                        return
                    (other if s is c else c).sendall(data)
        finally:
            other.close()
