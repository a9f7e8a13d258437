"""Where engines listen, and what is said of an address that leads nowhere."""
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

from bench import Skipped, environment, run, want
from fake import Raw, Server
from check_pulls import docker_config

BACKEND = 'INTERP_E_BACKEND'


def works(b, **more):
    with b.open(**dict({'endpoint': None}, **more)) as s:
        want(run(s, 'sh', 'echo hi') == 'hi\n', 'no echo')
        return s.info()['reached']


def tls(b):
    if b.name != 'docker':
        raise Skipped('the TLS engine is Docker')
    return b.need('DOCKER_TLS', 'DOCKER_CERTS', 'DOCKER_STRANGER')


def test_tls(b):
    url, certs, stranger = tls(b)
    works(b, endpoint=url, docker__certs=certs)
    works(b, endpoint=url.replace('tcp://', 'https://'), docker__certs=certs)
    works(b, endpoint=url.replace('127.0.0.1', 'localhost'), docker__certs=certs)
    b.refused(BACKEND, 'engine-tls', endpoint=url, docker__certs=stranger)
    b.refused(BACKEND, 'engine-tls', endpoint=url.replace('tcp://', 'https://'))
    b.refused(BACKEND, 'engine-tls', endpoint=url)
    b.refused(BACKEND, 'engine-tls', endpoint=url, docker__certs='/nonexistent')
    with tempfile.TemporaryDirectory() as folder:
        for name in ('ca.pem', 'cert.pem', 'key.pem'):
            shutil.copy(os.path.join(certs, name), folder)
        openssl = ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=another', '-keyout', folder + '/x', '-out', folder + '/ca.pem']
        subprocess.run(openssl, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        b.refused(BACKEND, 'engine-tls', endpoint=url, docker__certs=folder)   # a server of another authority
        with open(folder + '/key.pem', 'w') as f:
            f.write('no key')
        b.refused(BACKEND, 'engine-tls', endpoint=url, docker__certs=folder)


def test_tls_stream(b):
    """Bulk both ways over TLS, a kill, and many small execs."""
    url, certs, _ = tls(b)
    with b.open(endpoint=url, docker__certs=certs) as s:
        x = s.exec('python', 'import sys,hashlib;d=sys.stdin.buffer.read();print(len(d),hashlib.sha256(d).hexdigest());sys.stdout.write("y"*8000000)', stdin=b'x' * 8000000)
        want(x.outcome == 'ok' and x.bytes('stdout').split(b'\n')[0] == ('%d %s' % (8000000, hashlib.sha256(b'x' * 8000000).hexdigest())).encode(), 'stdin: %s', x.outcome)
        want(len(x.bytes('stdout')) > 8000000, 'stdout has %d bytes', len(x.bytes('stdout')))
        for i in range(50):
            run(s, 'python', 'x=1')


def test_environment(b):
    if b.backend == 'podman':
        with environment(CONTAINER_HOST=b.endpoint):
            works(b)
        with environment(CONTAINER_HOST='tcp://127.0.0.1:1'):
            b.refused(BACKEND, 'engine-absent', endpoint=None)
            works(b, endpoint=b.endpoint)                 # what the config says comes first
        return
    with environment(DOCKER_HOST=b.endpoint):
        works(b)
    with environment(DOCKER_HOST='unix:///nonexistent/docker.sock'):
        b.refused(BACKEND, 'engine-absent', endpoint=None)
        works(b, endpoint=b.endpoint)
    url, certs, stranger = tls(b)
    with environment(DOCKER_HOST=url, DOCKER_TLS_VERIFY='1', DOCKER_CERT_PATH=certs):
        works(b)
    with environment(DOCKER_HOST=url, DOCKER_TLS_VERIFY='1', DOCKER_CERT_PATH=stranger):
        b.refused(BACKEND, 'engine-tls', endpoint=None)


@contextlib.contextmanager
def docker_context(name, host, certs=None):
    with docker_config({'currentContext': name}) as folder:
        key = hashlib.sha256(name.encode()).hexdigest()
        meta = os.path.join(folder, 'contexts', 'meta', key)
        os.makedirs(meta)
        with open(meta + '/meta.json', 'w') as f:
            json.dump({'Name': name, 'Metadata': {}, 'Endpoints': {'docker': {'Host': host, 'SkipTLSVerify': False}}}, f)
        if certs:
            shutil.copytree(certs, os.path.join(folder, 'contexts', 'tls', key, 'docker'))
        yield folder


def test_contexts(b):
    if b.backend != 'docker':
        raise Skipped('contexts are Docker\'s')
    with docker_context('mine', b.endpoint):
        works(b)
        with environment(DOCKER_CONTEXT='other'):
            b.refused('INTERP_E_NOT_FOUND', 'docker-context', endpoint=None)
    with docker_config({'currentContext': 'gone'}):
        b.refused('INTERP_E_NOT_FOUND', 'docker-context', endpoint=None)
    with docker_config('{'):
        b.refused('INTERP_E_INVAL', 'engine-config', endpoint=None)
    with docker_context('broken', '') as folder:
        b.refused('INTERP_E_UNSUPPORTED', 'endpoint', endpoint=None)
        os.mkfifo(folder + '/fifo')
        os.replace(folder + '/fifo', folder + '/config.json')
        b.refused('INTERP_E_INVAL', 'engine-config', 3, endpoint=None)
    with environment(DOCKER_CONFIG='/' + 'x' * 5000):
        b.refused('INTERP_E_INVAL', 'engine-config', endpoint=None)
    url, certs, _ = tls(b)
    with docker_context('secured', url, certs):
        works(b)


def test_tcp(b):
    if b.name == 'podman':
        url, = b.need('PODMAN_TCP')
        works(b, endpoint=url)
        works(b, endpoint=url.replace('127.0.0.1', 'localhost'))      # ::1 first, where nobody listens
        works(b, endpoint=url.replace('tcp://', 'http://') + '/')
        return
    raise Skipped('the engine on plain TCP is Podman')


def test_bad_addresses(b):
    for endpoint, code, reason in (
            ('ssh://user@host', 'INTERP_E_UNSUPPORTED', 'endpoint'), ('relative/path', 'INTERP_E_UNSUPPORTED', 'endpoint'), ('fd://3', 'INTERP_E_UNSUPPORTED', 'endpoint'),
            ('npipe:////./pipe/x', 'INTERP_E_UNSUPPORTED', 'endpoint'), ('unix://relative', 'INTERP_E_INVAL', 'endpoint'), ('unix://', 'INTERP_E_INVAL', 'endpoint'),
            ('unix:///' + 'x' * 120, 'INTERP_E_INVAL', 'endpoint'), ('tcp://', 'INTERP_E_INVAL', 'endpoint'), ('tcp://:2375', 'INTERP_E_INVAL', 'endpoint'),
            ('tcp://host:port', 'INTERP_E_INVAL', 'endpoint'), ('tcp://host:123456', 'INTERP_E_INVAL', 'endpoint'), ('tcp://host:99999', None, None), ('tcp://host:1/path', 'INTERP_E_INVAL', 'endpoint'),
            ('tcp://[::1', 'INTERP_E_INVAL', 'endpoint'), ('tcp://[]:1', 'INTERP_E_INVAL', 'endpoint'), ('tcp://user@host:1', 'INTERP_E_INVAL', 'endpoint'), ('tcp://a?b:1', 'INTERP_E_INVAL', 'endpoint'),
            ('tcp://nonesuch.invalid:2375', BACKEND, 'engine-host'), ('tcp://127.0.0.1:1', BACKEND, 'engine-absent'), ('tcp://[::1]:1', BACKEND, 'engine-absent'),
            ('unix:///nonexistent/x.sock', BACKEND, 'engine-absent'), ('/nonexistent/x.sock', BACKEND, 'engine-absent'), ('unix:///etc/passwd', BACKEND, 'engine-absent'), ('unix:///tmp', BACKEND, 'engine-absent')):
        if code is None:
            try:
                b.open(endpoint=endpoint).close()
            except Exception as e:
                want(e.code in ('INTERP_E_INVAL', BACKEND), '%s: %s', endpoint, e)
            continue
        try:
            b.refused(code, reason, 15, endpoint=endpoint)
        except Exception as e:
            raise type(e)('%s: %s' % (endpoint, e)) from None


def test_bad_certs(b):
    """A value that names no directory is refused: it doesn't mean "without TLS"."""
    option = b.backend + '__certs'
    for bad in ('', '\0', '/a\0', 5, True, ['/a'], {'path': '/a'}, '/' + 'x' * 511, '/' + 'x' * 5000):
        b.refused('INTERP_E_INVAL', 'endpoint', endpoint='tcp://127.0.0.1:1', **{option: bad})
    with environment(DOCKER_HOST='tcp://127.0.0.1:1', DOCKER_TLS_VERIFY='1', DOCKER_CERT_PATH='/' + 'x' * 511):
        if b.backend == 'docker':
            b.refused('INTERP_E_INVAL', 'endpoint', endpoint=None)
    with environment(HOME='/' + 'x' * 511, DOCKER_HOST='tcp://127.0.0.1:1', DOCKER_TLS_VERIFY='1'):
        if b.backend == 'docker':
            b.refused('INTERP_E_INVAL', 'endpoint', endpoint=None)


def test_tls_by_environment(b):
    """DOCKER_TLS_VERIFY holds for an address of TCP whoever named it; nothing is sent in plain text."""
    if b.backend != 'docker':
        raise Skipped('the variable is Docker\'s')
    heard = []

    def hear(c):
        heard.append(c.recv(65536))
    with Raw(hear, tcp=True) as s, environment(DOCKER_TLS_VERIFY='1', DOCKER_CERT_PATH='/nonexistent'):
        b.refused(BACKEND, 'engine-tls', endpoint=s.endpoint)
        b.refused(BACKEND, 'engine-tls', endpoint=s.endpoint.replace('tcp://', 'http://'))
        want(not any(h and h[0] != 0x16 for h in heard), 'plain text went out: %s', heard)
    url, certs, _ = tls(b)
    with environment(DOCKER_TLS_VERIFY='1', DOCKER_CERT_PATH=certs):
        works(b, endpoint=url)
        works(b, endpoint=b.endpoint)


SLOW_NAMES = '''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
int looks, wrong;
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hint, struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    looks++;
    return wrong ? EAI_AGAIN : real(strcmp(host, "engine.test") ? host : "127.0.0.1", service, hint, found);
}
'''
NAMES = '''import ctypes, sys
sys.path.insert(0, %r)
from bench import Host, InterpError
names = ctypes.CDLL(None)
looks, wrong = ctypes.c_int.in_dll(names, 'looks'), ctypes.c_int.in_dll(names, 'wrong')
h = Host()
def opens(members, n):
    """Lookups while the config is set, and while it is opened n times; the last error's reason."""
    looks.value = 0
    with h.config(dict({'backend': %r, 'image': 'x', 'open_timeout_ms': 60000}, **members)) as c:
        told, looks.value = looks.value, 0
        for i in range(n):
            s, call = ctypes.c_void_p(), ctypes.c_void_p()
            try:
                h.check(h.lib.interp_session_open, h.ctx, c, ctypes.byref(s))
            except InterpError as e:
                reason = e.facts['reason']
    print(told, looks.value, reason, flush=True)
opens({'endpoint': 'tcp://engine.test:1'}, 3)
wrong.value = 1
opens({'endpoint': 'tcp://engine.test:1'}, 2)
wrong.value = 0
opens({'endpoint': 'tcp://engine.test:1'}, 1)
opens({'endpoint': 'tcp://engine.test'}, 1)
opens({'endpoint': 'tcp://engine.test', %r: '/nonexistent'}, 1)
wrong.value = 1
opens({'endpoint': 'tcp://second.test:1'}, 2)
'''


def test_names(b):
    """An engine's name is looked up when a config names the engine, and never in an open; addresses outlive a name service that fails."""
    cc = shutil.which('cc') or shutil.which('gcc')
    if not cc:
        raise Skipped('no C compiler')
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/names.c', 'w') as f:
            f.write(SLOW_NAMES)
        subprocess.run([cc, '-shared', '-fPIC', '-o', folder + '/names.so', folder + '/names.c', '-ldl'], check=True)
        p = subprocess.run([sys.executable, '-c', NAMES % (os.path.dirname(os.path.abspath(__file__)), b.backend, b.backend + '.certs')], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=dict(os.environ, LD_PRELOAD=folder + '/names.so'), timeout=600)
    lines = [l.split() for l in p.stdout.decode().splitlines()]
    want(len(lines) == 6, '%s %s', p.stdout, p.stderr.decode()[-500:])
    want(not any(l[1] != '0' for l in lines), 'an open looked a name up: %s', lines)
    want([l[0] for l in lines] == ['1', '1', '1', '1', '1', '1'], 'lookups of the configs: %s', lines)
    want([l[2] for l in lines[:4]] == ['engine-absent'] * 4 and lines[4][2] in ('engine-absent', 'engine-tls') and lines[5][2] == 'engine-host', 'errors: %s', lines)


def test_permission(b):
    """A socket that this user may not use: says so."""
    if os.geteuid() != 0:
        raise Skipped('needs root')
    with Server() as s:
        os.chmod(s.folder, 0o755)
        os.chmod(s.path, 0o600)
        code = ('import os,sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); sys.path.insert(0, %r); import interp_host as h\n'
                'try: h.Host().open({"backend": %r, "endpoint": %r, "image": "x"})\nexcept h.InterpError as e: print(e.facts["code"], e.facts["reason"])' %
                (os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'), b.backend, s.endpoint))
        out = subprocess.run([sys.executable, '-c', code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120).stdout.decode()
        if 'INTERP' not in out:
            raise Skipped('the ordinary user can not load the library: %s' % out[-200:].strip())
        want(out.strip() == 'INTERP_E_BACKEND engine-permission', 'it says %s', out)


def test_probe(b):
    offers = b.host.probe(b.members(image=None))
    want(offers['engine'] == b.backend and offers['rootless'] == b.rootless and offers['cpus'] > 0, 'it offers %s', offers)
    b.figure('%s', json.dumps(offers))
