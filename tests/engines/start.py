"""The engines of the tests: Docker, Podman as root and as an ordinary user, and a registry.

    start.py [--state DIR] start NAME... | stop [NAME...] | status | env | clean

NAME is docker, podman, podman-rootless, registry, or all of these; or one of the newer ones, docker-trixie, podman-trixie, docker-sid, podman-sid,
or newer for those. What runs on this machine is used as it is; as root a missing engine is started, with roots and sockets of its own below the state
directory ($INTERP_BUILD/engines when none is given). Each is given the test images, which are made once.
`start` prints a line for each NAME: started, running (by an earlier start) or found (somebody else's), or SKIP or FAIL with the reason.
`stop` ends only what `start` started, and takes the images from what was found. `env` prints shell lines that name what runs.
`clean` stops all and removes the state directory."""
import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import zlib
from http.client import HTTPException

sys.dont_write_bytecode = True
import dockerd
import newer
import podmand
import registry
from api import Engine
from images import IMAGES, REPOSITORY, Images
from state import LONGEST, Failed, Skip, State

PARTS = {'docker': (dockerd.start, dockerd.stop), 'podman': (podmand.start, podmand.stop),
         'podman-rootless': (podmand.start_rootless, podmand.stop_rootless), 'registry': (registry.start, registry.stop)}
ALL, NEWER = list(PARTS), newer.parts()
PARTS.update(NEWER)


def answers(name, engine):
    if name == 'registry':
        return registry.status(int(engine['url'].rsplit(':', 1)[1])) == 200
    return Engine(engine['url'], timeout=60).kind() is not None


def runs(state, name):
    engine = state.engines.get(name)
    return bool(engine and (state.alive(name) or not engine['ours']) and answers(name, engine))


def bring_up(state, name):
    """started, running or found."""
    if runs(state, name):
        return 'running'
    begin, end = PARTS[name]
    end(state)
    try:
        state.engines[name] = engine = begin(state)
        state.save()
        if engine['ours'] and name != 'registry':
            # what one that was killed has left
            Engine(engine['url']).clear()
    except BaseException:
        end(state)
        raise
    return 'started' if engine['ours'] else 'found'


def supply(state, images, name):
    """Gives the images; returns those that can't be had."""
    engine = state.engines[name]
    if name == 'registry':
        engine['digests'], missing = registry.push_all(state, images)
    else:
        given, missing = images.load_all(Engine(engine['url'], timeout=300))
        engine['images'] = sorted(set(engine.get('images', []) + given))
    state.save()
    return missing


def start(state, names):
    images, failed, ours = Images(state), 0, []
    for name in names:
        try:
            word = bring_up(state, name)
            if word != 'running':
                ours.append(name)
            print('%s %s: %s' % (word, name, describe(state, name)), flush=True)
            for tag, reason in supply(state, images, name):
                print('SKIP image %s:%s on %s: %s' % (REPOSITORY, tag, name, reason), flush=True)
        except Skip as e:
            print('SKIP engine %s: %s' % (name, e), flush=True)
        except (Failed, OSError, RuntimeError, HTTPException, subprocess.SubprocessError) as e:
            failed += 1
            print('FAIL engine %s: %s' % (name, e), flush=True)
        except SystemExit:
            stop(state, ours)
            raise
    return 1 if failed else 0


def describe(state, name):
    engine = state.engines[name]
    return engine['url'] if name == 'registry' else '%s, %s' % (Engine(engine['url']).version(), engine['url'])


def stop(state, names):
    failed = 0
    for name in names:
        engine = state.engines.get(name)
        if not engine:
            continue
        try:
            if not engine['ours']:
                for tag in engine.get('images', []):
                    Engine(engine['url']).call('DELETE', '/images/%s:%s' % (REPOSITORY, tag))
                del state.engines[name]
                state.save()
            else:
                PARTS[name][1](state)
            print('stopped %s' % name, flush=True)
        except (Failed, OSError) as e:
            failed += 1
            print('FAIL engine %s: %s' % (name, e), flush=True)
    return 1 if failed else 0


def env(state):
    for name, engine in sorted(state.engines.items()):
        if runs(state, name):
            values = dict(engine.get('env', {}))
            if name != 'registry':
                values['INTERP_TEST_' + name.upper().replace('-', '_')] = engine['url']
            for tag, digest in engine.get('digests', {}).items():
                values['INTERP_TEST_DIGEST_' + tag.upper().replace('-', '_')] = digest
            for key, value in sorted(values.items()):
                print('export %s=%s' % (key, shlex.quote(value)))
    print('export INTERP_TEST_IMAGES=%s' % shlex.quote(' '.join('%s:%s' % (REPOSITORY, tag) for tag in IMAGES)))
    # a client newer than the engine asks for a version that it does not know
    print('export DOCKER_API_VERSION=1.41')


def default_folder():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = os.path.abspath(os.path.join(os.environ.get('INTERP_BUILD') or os.path.join(root, 'build'), 'engines'))
    return folder if len(folder) <= LONGEST else '/tmp/interp-engines-%d-%08x' % (os.geteuid(), zlib.crc32(folder.encode()))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--state', default=default_folder(), metavar='DIR')
    p.add_argument('verb', choices=('start', 'stop', 'status', 'env', 'clean'))
    p.add_argument('names', nargs='*', choices=list(PARTS) + ['all', 'newer', []], metavar='NAME')
    o = p.parse_args()
    names = [n for word in o.names or PARTS for n in {'all': ALL, 'newer': NEWER}.get(word, [word])]
    if o.verb == 'start' and not o.names:
        p.error('start what?')
    # then what was started is ended again
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    state = State(o.state)
    if o.verb == 'start':
        return start(state, names)
    if o.verb == 'stop':
        return stop(state, names)
    if o.verb == 'env':
        env(state)
    elif o.verb == 'status':
        for name in names:
            print('%s: %s' % (name, describe(state, name) if runs(state, name) else 'not running'))
    elif stop(state, names) == 0:
        shutil.rmtree(state.folder)
    else:
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
