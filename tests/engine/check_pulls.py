"""Fetching images: policies, progress, digests, credentials, refusals, cancel."""
import base64
import contextlib
import json
import os
import shutil
import tempfile
import time

from bench import InterpError, environment, run, want
from fake import Proxy

REPOSITORY = 'interp-test'


@contextlib.contextmanager
def absent(b, *names):
    """Images that are not there, neither before nor after. Not by force: Podman would take every name of the same image."""
    for n in names:
        b.engine.call('DELETE', '/images/%s' % n)
    try:
        yield
    finally:
        for n in names:
            b.engine.call('DELETE', '/images/%s' % n)


@contextlib.contextmanager
def docker_config(data):
    folder = tempfile.mkdtemp(prefix='interp-config.')
    with open(folder + '/config.json', 'w') as f:
        f.write(data if isinstance(data, str) else json.dumps(data))
    try:
        with environment(DOCKER_CONFIG=folder):
            yield folder
    finally:
        shutil.rmtree(folder)


def open_with_progress(b, **more):
    s, call = b.host.start_open(b.members(**more))
    try:
        events = call.wait(120)
        run(s, 'sh', 'echo')
        return events
    finally:
        s.close()


def test_policies(b):
    registry, = b.need('REGISTRY')
    name = '%s/%s:musl' % (registry, REPOSITORY)
    with absent(b, name):
        b.refused('INTERP_E_IMAGE', 'image-not-found', image=name, pull='never')
        want(b.engine.call('GET', '/images/%s/json' % name)[0] != 200, '`never` fetched it')
        events = open_with_progress(b, image=name)
        want(events and all(e['step'] == 'pull' and e['image'] == name and isinstance(e['status'], str) for e in events), 'events are %s', events)
        b.figure('%d events, such as %s', len(events), json.dumps(events[-1]))
        want(not open_with_progress(b, image=name), '`missing` fetched what is there')
        want(open_with_progress(b, image=name, pull='always'), '`always` did not fetch')
        open_with_progress(b, image=name, pull='never')


def test_image_removed_between_opens(b):
    """What is remembered of an image is not trusted to be there."""
    registry, = b.need('REGISTRY')
    name = '%s/%s:musl' % (registry, REPOSITORY)
    with absent(b, name):
        open_with_progress(b, image=name)
        b.engine.call('DELETE', '/images/%s?force=1' % name)
        b.refused('INTERP_E_IMAGE', 'image-not-found', image=name, pull='never')
        open_with_progress(b, image=name)
        b.engine.call('DELETE', '/images/%s?force=1' % name)
        want(open_with_progress(b, image=name), 'it was not fetched again')


def test_digest(b):
    registry, digest, other = b.need('REGISTRY', 'DIGEST_NOPYTHON', 'DIGEST_MUSL')
    name = '%s/%s@%s' % (registry, REPOSITORY, digest)
    tagged = '%s/%s:nopython@%s' % (registry, REPOSITORY, digest)
    with absent(b, name, '%s/%s:nopython' % (registry, REPOSITORY)):
        with b.open(image=name) as s:
            run(s, 'sh', 'echo')
        with b.open(image=name, pull='never') as s:
            run(s, 'sh', 'echo')
        with contextlib.suppress(InterpError):
            b.open(image=tagged).close()
    wrong = '%s/%s@sha256:%s' % (registry, REPOSITORY, '0' * 64)
    b.refused('INTERP_E_IMAGE', 'image-not-found', image=wrong)
    b.refused('INTERP_E_INVAL', 'image-name', image='%s/%s@sha256:12' % (registry, REPOSITORY))


def test_list_of_architectures(b):
    registry, _ = b.need('REGISTRY', 'DIGEST_MULTI')
    name = '%s/%s:multi' % (registry, REPOSITORY)
    with absent(b, name), b.open(image=name) as s:
        run(s, 'sh', 'echo')


def test_refusals(b):
    registry, = b.need('REGISTRY')
    b.refused('INTERP_E_IMAGE', 'image-not-found', 30, image='%s/%s:nonesuch' % (registry, REPOSITORY))
    b.refused('INTERP_E_IMAGE', ('image-not-found', 'image-auth'), 30, image='%s/nonesuch/x:1' % registry)
    b.refused('INTERP_E_IMAGE', 'image-pull', 30, image='127.0.0.1:1/nonesuch:1')
    facts = b.refused('INTERP_E_INVAL', 'image-name', 30, image='%s/Upper:1' % registry)
    want('Upper' in facts['message'], 'the message does not name it')


def test_credentials(b):
    registry, user, password = b.need('REGISTRY_AUTH', 'REGISTRY_USER', 'REGISTRY_PASSWORD')
    name = '%s/%s:musl' % (registry, REPOSITORY)

    def entry(word):
        return {'auth': base64.b64encode(('%s:%s' % (user, word)).encode()).decode()}
    with absent(b, name):
        with docker_config({}):
            b.refused('INTERP_E_IMAGE', 'image-auth', 30, image=name)
        with docker_config({'auths': {registry: entry(password[::-1])}}):
            facts = b.refused('INTERP_E_IMAGE', 'image-auth', 30, image=name)
            want(password[::-1] not in json.dumps(facts), 'the password is in the error')
        for config in ('not json', {'auths': []}, {'auths': {registry: 3}}, {'auths': {registry: {'auth': '%%%'}}}, {'auths': {registry: {'auth': base64.b64encode(b'nocolon').decode()}}},
                       {'credsStore': 'desktop', 'auths': {registry: {}}}):
            with docker_config(config):
                b.refused('INTERP_E_IMAGE', 'image-auth', 30, image=name)
        with docker_config({'auths': {'https://' + registry: entry(password)}}):
            with b.open(image=name) as s:
                run(s, 'sh', 'echo')
    if b.backend == 'podman':
        with absent(b, name), docker_config({}) as folder:
            with open(folder + '/auth.json', 'w') as f:
                json.dump({'auths': {registry: entry(password)}}, f)
            with environment(REGISTRY_AUTH_FILE=folder + '/auth.json'), b.open(image=name) as s:
                run(s, 'sh', 'echo')


def test_cancel(b):
    """At any time of a pull: cancelled at once, and no container."""
    registry, = b.need('REGISTRY')
    name = '%s/%s:nopython' % (registry, REPOSITORY)
    with absent(b, name):
        for ms in (0, 1, 5, 20, 50, 100, 200, 400):
            for attempt in (1, 2, 3):       # the fastest of three counts
                s, call = b.host.start_open(b.members(image=name, pull='always'))
                call.fire(ms)
                start, ended = time.monotonic(), None
                try:
                    call.wait(20)
                except InterpError as e:
                    ended = time.monotonic() - start
                    want(e.code == 'INTERP_E_CANCELLED', '%s', e)
                s.close()
                if ended is None or ended < ms / 1e3 + 1:
                    break
            want(ended is None or ended < ms / 1e3 + 1, 'cancelled after %d ms it took %.2f s at best', ms, ended or 0)


def test_slow_registry(b):
    """A pull that does not come to its end is ended by open_timeout_ms."""
    registry, = b.need('REGISTRY')

    def delay(method, path):
        if '/images/create' in path:
            time.sleep(3)
    with Proxy(b.engine, delay=delay) as p:
        b.refused('INTERP_E_TIMEOUT', None, 3, endpoint=p.endpoint, image='%s/%s:musl' % (registry, REPOSITORY), pull='always', open_timeout_ms=1500)
