"""A registry of images on loopback, twice over the same store: one open, one that wants a name and a password. Filled by its HTTP API, without an engine."""
import base64
import gzip
import hashlib
import http.client
import json
import os
import shutil

from images import ARCHITECTURE, IMAGES, REPOSITORY
from state import Failed, Skip

NAME = 'registry'
USER, PASSWORD = 'interp', 'pull-me'
# of PASSWORD; the registry knows bcrypt only, and not every Python has it
HTPASSWD = USER + ':$2b$05$interptestinterptesti.A3w/hVpWOTN9OyzJZygXUqTQyYlkOOi\n'
CONFIG = '''version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %(data)s}, delete: {enabled: true}}
http: {addr: "127.0.0.1:%(port)d"}
'''
AUTH = 'auth: {htpasswd: {realm: interp, path: %s}}\n'
MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json'
LIST = 'application/vnd.docker.distribution.manifest.list.v2+json'


def call(port, method, path, body=None, headers=None, password=None):
    headers = dict(headers or {})
    if password:
        headers['Authorization'] = 'Basic ' + base64.b64encode(('%s:%s' % (USER, password)).encode()).decode()
    c = http.client.HTTPConnection('127.0.0.1', port, timeout=120)
    try:
        c.request(method, path, body, headers)
        r = c.getresponse()
        return r.status, r.headers, r.read()
    finally:
        c.close()


def status(port, password=None):
    try:
        return call(port, 'GET', '/v2/', password=password)[0]
    except OSError:
        return 0


def start(state):
    if not shutil.which('docker-registry'):
        raise Skip('there is no docker-registry (package docker-registry)')
    daemons, folder = [], state.make(NAME)
    htpasswd = state.write(HTPASSWD, NAME, 'htpasswd')
    ports = [state.port(NAME), state.port(NAME + '-auth')]
    for name, port, wanted in ((NAME, ports[0], 200), (NAME + '-auth', ports[1], 401)):
        config = state.write(CONFIG % {'data': folder + '/data', 'port': port} + (AUTH % htpasswd if wanted == 401 else ''), NAME, name + '.yml')
        daemon = state.spawn(name, folder, ['docker-registry', 'serve', config])
        daemons.append(daemon)
        state.wait(name, daemon, lambda: status(port) == wanted, 120)
    if status(ports[1], PASSWORD) != 200:
        raise Failed('the registry with a password does not accept it')
    return {'url': '127.0.0.1:%d' % ports[0], 'ours': True, 'daemons': daemons,
            'env': {'INTERP_TEST_REGISTRY': '127.0.0.1:%d' % ports[0], 'INTERP_TEST_REGISTRY_AUTH': '127.0.0.1:%d' % ports[1],
                    'INTERP_TEST_REGISTRY_USER': USER, 'INTERP_TEST_REGISTRY_PASSWORD': PASSWORD}}


def stop(state):
    state.end(NAME, state.path(NAME))


def compressed(path, digest):
    """The layer as it goes into a registry, kept beside it."""
    target = '%s.%s.gz' % (path, digest[:12])
    if not os.path.exists(target):
        with open(path, 'rb') as f, open(target + '.new', 'wb') as g, gzip.GzipFile('', 'wb', 1, g, 0) as z:
            shutil.copyfileobj(f, z, 1 << 20)
        os.replace(target + '.new', target)
    return target


def put_blob(port, data):
    """data: bytes or an open file. Returns what a manifest says of it."""
    h, size = hashlib.sha256(), 0
    if isinstance(data, bytes):
        h.update(data)
        size = len(data)
    else:
        for part in iter(lambda: data.read(1 << 20), b''):
            h.update(part)
            size += len(part)
        data.seek(0)
    digest = 'sha256:' + h.hexdigest()
    if call(port, 'HEAD', '/v2/%s/blobs/%s' % (REPOSITORY, digest))[0] != 200:
        answer, headers, body = call(port, 'POST', '/v2/%s/blobs/uploads/' % REPOSITORY, b'')
        if answer == 202:
            place = headers['Location'].split('//', 1)[-1]
            place = place[place.index('/'):]
            answer, headers, body = call(port, 'PUT', place + ('&' if '?' in place else '?') + 'digest=' + digest, data,
                                         {'Content-Type': 'application/octet-stream', 'Content-Length': str(size)})
        if answer != 201:
            raise Failed('the registry refused a blob: %d %s' % (answer, body[:300]))
    return {'digest': digest, 'size': size}


def put_manifest(port, tag, manifest, kind):
    data = json.dumps(manifest, sort_keys=True).encode()
    answer, headers, body = call(port, 'PUT', '/v2/%s/manifests/%s' % (REPOSITORY, tag), data, {'Content-Type': kind})
    digest = 'sha256:' + hashlib.sha256(data).hexdigest()
    if answer != 201 or headers.get('Docker-Content-Digest') != digest:
        raise Failed('the registry refused the manifest of %s: %d %s' % (tag, answer, body[:300]))
    return {'digest': digest, 'size': len(data), 'mediaType': kind}


def push(images, tag, port):
    config, layers = images.image(tag)
    manifest = {'schemaVersion': 2, 'mediaType': MANIFEST, 'layers': [],
                'config': dict(put_blob(port, config), mediaType='application/vnd.docker.container.image.v1+json')}
    for path, digest in layers:
        with open(compressed(path, digest), 'rb') as f:
            manifest['layers'].append(dict(put_blob(port, f), mediaType='application/vnd.docker.image.rootfs.diff.tar.gzip'))
    return put_manifest(port, tag, manifest, MANIFEST)


def push_all(state, images):
    """Returns ({tag: digest}, [(tag, reason)] that can't be had). `multi` names an image for this architecture and one for arm64."""
    port, entries, missing = state.port(NAME), {}, []
    for tag in IMAGES:
        try:
            entries[tag] = push(images, tag, port)
        except Skip as e:
            missing.append((tag, str(e)))
    parts = [dict(entries[tag], platform={'architecture': IMAGES[tag][2] or ARCHITECTURE, 'os': 'linux'}) for tag in ('musl', 'arm64') if tag in entries]
    if len(parts) == 2:
        entries['multi'] = put_manifest(port, 'multi', {'schemaVersion': 2, 'mediaType': LIST, 'manifests': parts}, LIST)
    return {tag: entry['digest'] for tag, entry in entries.items()}, missing
