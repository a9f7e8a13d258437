"""A small client of an engine's HTTP API: plain calls, and the hijacked stream of a container's stdin, stdout and stderr."""
import http.client
import json
import os
import socket
import ssl
import struct
import urllib.parse


def context(certs):
    """TLS as a client with the ca.pem, cert.pem and key.pem of a folder."""
    c = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=os.path.join(certs, 'ca.pem'))
    c.load_cert_chain(os.path.join(certs, 'cert.pem'), os.path.join(certs, 'key.pem'))
    return c


class Engine:
    """url: unix:///path or tcp://host:port; certs: a folder with the client's files, for mutual TLS."""

    def __init__(self, url, certs=None, timeout=60):
        self.url, self.certs, self.timeout = url, certs, timeout

    def connect(self):
        u = urllib.parse.urlparse(self.url)
        if u.scheme == 'unix':
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(self.timeout)
            try:
                s.connect(u.path)
            except OSError:
                s.close()
                raise
            return s
        s = socket.create_connection((u.hostname, u.port), self.timeout)
        return context(self.certs).wrap_socket(s, server_hostname=u.hostname) if self.certs else s

    def call(self, method, path, body=None, headers=None):
        """Returns (status, headers, body). A dict goes as JSON; a file is sent as it is, with its length."""
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers['Content-Type'] = 'application/json'
        elif hasattr(body, 'fileno'):
            headers['Content-Type'] = 'application/x-tar'
            headers['Content-Length'] = str(os.fstat(body.fileno()).st_size)
        c = http.client.HTTPConnection('engine')
        c.sock = self.connect()
        try:
            c.request(method, path, body, headers)
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def json(self, method, path, body=None, accept=(200, 201, 204)):
        """The decoded answer; an answer of another status is a RuntimeError with the engine's message."""
        status, _, data = self.call(method, path, body)
        if status not in accept:
            raise RuntimeError('%s %s: %d %s' % (method, path, status, data.decode('utf-8', 'replace').strip()[:500]))
        return json.loads(data) if data.strip() else None

    def kind(self):
        """'docker' or 'podman' when it answers, else None."""
        try:
            status, headers, _ = self.call('GET', '/_ping')
        except (OSError, http.client.HTTPException):
            return None
        if status != 200:
            return None
        return 'podman' if 'Libpod' in (headers.get('Server') or '') or headers.get('Libpod-Api-Version') else 'docker'

    def version(self):
        v = self.json('GET', '/version')
        return '%s (API %s)' % (v['Version'], v['ApiVersion'])

    def clear(self):
        """Removes every container and every volume, when it answers."""
        try:
            for c in self.json('GET', '/containers/json?all=1'):
                # Podman 5 gives one that ignores SIGTERM ten seconds, even when forced
                self.call('POST', '/containers/%s/kill' % c['Id'])
                self.call('DELETE', '/containers/%s?force=1&v=1' % c['Id'])
            for v in self.json('GET', '/volumes')['Volumes'] or []:
                self.call('DELETE', '/volumes/%s?force=1' % v['Name'])
        except (OSError, RuntimeError, http.client.HTTPException):
            pass

    def attach(self, container):
        """The stream of a container that was created and not yet started."""
        s = self.connect()
        # no bytes of the stream may follow the request before the answer's head: Docker drops them
        s.sendall(('POST /containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1&detachKeys= HTTP/1.1\r\nHost: engine\r\n'
                   'Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n' % container).encode())
        head = b''
        while b'\r\n\r\n' not in head:
            data = s.recv(4096)
            if not data:
                break
            head += data
        head, _, rest = head.partition(b'\r\n\r\n')
        status = int(head.split()[1]) if len(head.split()) > 1 else 0
        if status not in (101, 200):
            s.close()
            raise RuntimeError('attach: %s %s' % (head.decode('latin-1').split('\r\n')[0], rest.decode('utf-8', 'replace')[:500]))
        return Stream(s, rest)


class Stream:
    """stdin is raw; stdout and stderr come in frames of {1|2, 0, 0, 0, length}."""

    def __init__(self, s, rest):
        self.socket, self.buffer = s, rest

    def send(self, data):
        self.socket.sendall(data)

    def _fill(self, size):
        while len(self.buffer) < size:
            data = self.socket.recv(65536)
            if not data:
                return False
            self.buffer += data
        return True

    def frame(self):
        """(1 or 2, bytes), or None at the end."""
        if not self._fill(8):
            return None
        kind, size = struct.unpack('>B3xI', self.buffer[:8])
        if not self._fill(8 + size):
            return None
        data, self.buffer = self.buffer[8:8 + size], self.buffer[8 + size:]
        return kind, data

    def close(self):
        self.socket.close()
