"""Whether the engines of the tests are fit for use: every image runs on every engine as a sandbox would run it, TLS lets in whom it should, pulls work.

check.py [LABEL...], as in INTERP_TEST_LABEL: the environment that `start.py env` prints names the engines. It tests the set-up and not the library."""
import base64
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
from api import Engine
from images import ARCHITECTURE, IMAGES, REPOSITORY
from runner import Tally

# other ways to an engine that is looked at by itself
DOORS = ('DOCKER_TLS', 'PODMAN_TCP')
ENGINES = ('DOCKER', 'DOCKER_TLS', 'PODMAN', 'PODMAN_TCP', 'PODMAN_ROOTLESS')
# what runs in each image: reads a line, and answers with proof of what it is
SHELL = ['/bin/sh', '-c', 'read line; echo "$line $(id -u)"; echo to stderr >&2; echo denied >/file || exit 7']
PROGRAMS = {
    'latest': ['/bin/sh', '-c', 'read line; python3 -c "import json" && node -e 0 && bash -c : && echo "$line $(id -u)"; echo to stderr >&2; '
                                'echo >/file || exit 7'],
    'nopython': ['/bin/sh', '-c', 'command -v python3 node || { read line; echo "$line $(id -u)"; }; echo to stderr >&2; echo >/file || exit 7'],
    'musl-node': ['/bin/sh', '-c', 'read line; node -e 0 && echo "$line $(id -u)"; echo to stderr >&2; echo >/file || exit 7'],
    'noshell': ['/usr/bin/python3', '-c', 'import os, ssl, sqlite3, sys\nprint(input(), os.getuid() + os.path.lexists("/bin/sh"), flush=True)\n'
                                          'print("to stderr", file=sys.stderr)\ntry: open("/file", "w")\nexcept OSError: sys.exit(7)'],
}


def body(tag):
    return {'Image': '%s:%s' % (REPOSITORY, tag), 'Entrypoint': PROGRAMS.get(tag, SHELL), 'Cmd': [], 'User': '0:0', 'WorkingDir': '/',
            'OpenStdin': True, 'StdinOnce': True, 'AttachStdin': True, 'AttachStdout': True, 'AttachStderr': True, 'Tty': False,
            'NetworkDisabled': True, 'StopSignal': 'SIGKILL', 'StopTimeout': 0, 'Labels': {'libinterp.check': 'yes'}, 'Healthcheck': {'Test': ['NONE']},
            'HostConfig': {'ReadonlyRootfs': True, 'NetworkMode': 'none', 'CapDrop': ['ALL'], 'SecurityOpt': ['no-new-privileges'],
                           'LogConfig': {'Type': 'none'}, 'PidsLimit': 64, 'Memory': 256 << 20, 'MemorySwap': 256 << 20,
                           'Ulimits': [{'Name': 'nofile', 'Soft': 1024, 'Hard': 1024}, {'Name': 'nproc', 'Soft': 512, 'Hard': 512}],
                           'Tmpfs': {'/tmp': 'rw,size=1m,mode=1777,noexec', '/run': 'rw,size=1m,mode=755,noexec', '/var/tmp': 'rw,size=1m,mode=1777,noexec'}}}


def session(engine, tag):
    """(stdout, stderr, exit code) of one container, which is removed."""
    container = engine.json('POST', '/containers/create', body(tag))['Id']
    try:
        stream = engine.attach(container)
        try:
            stream.send(b'hello\n')
            engine.json('POST', '/containers/%s/start' % container)
            out = {1: b'', 2: b''}
            for kind, data in iter(stream.frame, None):
                out[kind] += data
        finally:
            stream.close()
        return out[1], out[2], engine.json('POST', '/containers/%s/wait' % container)['StatusCode']
    finally:
        engine.json('DELETE', '/containers/%s?force=1&v=1' % container)


def foreign(engine, tally, name):
    """An image of another architecture either fails to start with an error, or an emulator runs it."""
    try:
        out, err, code = session(engine, 'arm64')
    except (OSError, RuntimeError) as e:
        print('%s: start of the arm64 image: %s' % (name, str(e)[-200:]))
        return tally.ok(name)
    print('%s: the arm64 image ended with %d: %r %r' % (name, code, out, err[-200:]))
    tally.ok(name) if (out == b'hello 0\n') == (code == 7) else tally.fail(name, 'neither ran nor failed')


def images(engine, tally, label, tags=IMAGES):
    for tag in tags:
        name = '%s runs %s' % (label, tag)
        if engine.call('GET', '/images/%s:%s/json' % (REPOSITORY, tag))[0] == 404:
            tally.skip(name, 'the engine has no such image')
        elif IMAGES[tag][2]:
            foreign(engine, tally, name)
        else:
            try:
                out, err, code = session(engine, tag)
            except (OSError, RuntimeError) as e:
                tally.fail(name, e)
                continue
            good = out == b'hello 0\n' and b'to stderr\n' in err and code == 7
            tally.ok(name) if good else tally.fail(name, 'stdout %r, stderr %r, exit code %d' % (out, err, code))


def doors(tally):
    """The TLS socket: its client comes in; no certificate, a stranger's certificate and plain HTTP do not."""
    url, client, stranger = (os.environ[k] for k in ('INTERP_TEST_DOCKER_TLS', 'INTERP_TEST_DOCKER_CERTS', 'INTERP_TEST_DOCKER_STRANGER'))
    tally.ok('tls client') if Engine(url, client).kind() else tally.fail('tls client', 'refused')
    for name, engine in (('stranger', Engine(url, stranger)), ('plain', Engine(url))):
        tally.ok(name) if engine.kind() is None else tally.fail('tls ' + name, 'was let in')


def pull(engine, reference, auth=None):
    """None, or the error."""
    headers = {'X-Registry-Auth': base64.urlsafe_b64encode(json.dumps(auth).encode()).decode()} if auth else {}
    path = '/images/create?fromImage=%s' % reference
    status, _, data = engine.call('POST', path, b'', headers)
    lines = [line for line in data.decode('utf-8', 'replace').splitlines() if '"error' in line] if status == 200 else [data.decode('utf-8', 'replace')]
    return '%d %s' % (status, ' '.join(lines)[:300]) if status != 200 or lines else None


def pulls(engine, tally, label):
    e = os.environ
    host, guarded = e['INTERP_TEST_REGISTRY'], e['INTERP_TEST_REGISTRY_AUTH']
    auth = {'username': e['INTERP_TEST_REGISTRY_USER'], 'password': e['INTERP_TEST_REGISTRY_PASSWORD'], 'serveraddress': guarded}
    repository = '%s/%s' % (host, REPOSITORY)
    for name, reference, login, works in (
            ('tag', repository + ':musl', None, True), ('digest', repository + '@' + e['INTERP_TEST_DIGEST_MUSL'], None, True),
            ('list of architectures', repository + ':multi', None, True), ('missing tag', repository + ':missing', None, False),
            ('no password', '%s/%s:musl' % (guarded, REPOSITORY), None, False),
            ('wrong password', '%s/%s:musl' % (guarded, REPOSITORY), dict(auth, password='wrong'), False),
            ('password', '%s/%s:musl' % (guarded, REPOSITORY), auth, True)):
        name = '%s pulls: %s' % (label, name)
        error = pull(engine, reference, login)
        status, _, data = engine.call('GET', '/images/%s/json' % reference)
        if (error is None) != works or (status == 200) != works:
            tally.fail(name, 'error %s, inspect %d' % (error, status))
        elif works and json.loads(data)['Architecture'] != ARCHITECTURE:
            tally.fail(name, 'is for %s' % json.loads(data)['Architecture'])
        else:
            tally.ok(name)
        if status == 200:
            engine.call('DELETE', '/images/%s' % reference)


def main():
    tally = Tally('engines: ')
    for label in sys.argv[1:] or ENGINES:
        url = os.environ.get('INTERP_TEST_' + label)
        if not url:
            tally.skip(label, 'does not run')
            continue
        engine = Engine(url, os.environ['INTERP_TEST_DOCKER_CERTS'] if label == 'DOCKER_TLS' else None)
        try:
            print('%s: %s %s' % (label, engine.kind(), engine.version()))
            images(engine, tally, label, ['latest'] if label in DOORS else IMAGES)
            if label == 'DOCKER_TLS':
                doors(tally)
            elif not os.environ.get('INTERP_TEST_DIGEST_MULTI'):
                tally.skip(label + ' pulls', 'no registry runs, or not with the images for it')
            else:
                pulls(engine, tally, label)
        except (OSError, RuntimeError) as e:
            tally.fail(label, e)
    return tally.end()


if __name__ == '__main__':
    sys.exit(main())
