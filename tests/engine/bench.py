"""What the engine tests share: opening with events and cancel, gc and probe, LOOP contexts, and a look at what is left behind."""
import contextlib
import ctypes
import json
import os
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, 'common'), os.path.join(TESTS, 'engines')]
import interp_host
from api import Engine
from interp_host import InterpError, _I, _P, _PP, _U32, _U64, _Z, _ZP

SLOW = float(os.environ.get('INTERP_TEST_SLOW', '1'))
IMAGE = 'interp-test:latest'
PROGRESS = 4
VARIABLES = ('DOCKER_HOST', 'DOCKER_TLS_VERIFY', 'DOCKER_CERT_PATH', 'DOCKER_CONFIG', 'DOCKER_CONTEXT', 'CONTAINER_HOST', 'REGISTRY_AUTH_FILE', 'XDG_RUNTIME_DIR')
interp_host.PROTOTYPES.update({
    'interp_session_open_start': (_I, _P, _P, _PP, _PP, _PP),
    'interp_session_close_start': (_I, _P, _PP, _PP),
    'interp_ctx_gc_start': (_I, _P, _P, _PP, _PP),
    'interp_ctx_probe_start': (_I, _P, _P, _PP, _PP),
    'interp_ctx_fd': (ctypes.c_int, _P),
    'interp_ctx_dispatch': (_I, _P, _PP),
    'interp_ctx_next': (_I, _P, _PP),
    'interp_config_set_cancel': (_I, _P, _P, _PP),
    'interp_event_json': (_P, _P, _ZP),
})


class Failure(Exception):
    """A test found something wrong."""


class Skipped(Exception):
    """A test can't be made here; the text says why."""


def want(condition, text, *values):
    if not condition:
        raise Failure(text % values if values else text)


def within(start, seconds, what):
    took = time.monotonic() - start
    want(took <= seconds * SLOW, '%s took %.2f s, more than %.2f s', what, took, seconds * SLOW)
    return took


def wait_for(probe, seconds, what):
    end = time.monotonic() + seconds * SLOW
    while True:
        value = probe()
        if value:
            return value
        want(time.monotonic() < end, 'after %g s: %s', seconds * SLOW, what)
        time.sleep(0.02)


class Call:
    """A call of a threaded context: its events, then its error or its end."""

    def __init__(self, host, call, cancel=None):
        self.host, self.lib, self.handle, self.cancel, self.events, self.timer = host, host.lib, call, cancel, [], None

    def fire(self, ms):
        if ms <= 0:
            self.lib.interp_cancel_fire(self.cancel)
        else:
            self.timer = threading.Timer(ms / 1e3, self.lib.interp_cancel_fire, (self.cancel,))
            self.timer.start()

    def drain(self, on_event=None):
        """Whether it is through."""
        ev = _P()
        while True:
            status = self.lib.interp_call_next(self.handle, ctypes.byref(ev))
            if status == interp_host.OK:
                if self.lib.interp_event_type(ev) == PROGRESS:
                    self.events.append(json.loads(self.host.text(self.lib.interp_event_json, ev)))
                    if on_event:
                        on_event(self.events[-1])
            elif status in (interp_host.AGAIN, interp_host.DONE):
                return status == interp_host.DONE
            else:
                raise InterpError({'code': self.lib.interp_status_name(status).decode(), 'message': 'interp_call_next'})

    def finish(self):
        try:
            self.host.check(self.lib.interp_call_finish, self.handle, None)
        finally:
            self.free()

    def wait(self, seconds=60, on_event=None):
        end = time.monotonic() + seconds * SLOW
        while not self.drain(on_event):
            if time.monotonic() > end:
                self.free()
                raise Failure('a call was not through within %g s' % (seconds * SLOW))
            self.host.check(self.lib.interp_call_wait, self.handle, 1000, 0)
        self.finish()
        return self.events

    def free(self):
        if self.timer:
            self.timer.cancel()
            self.timer.join()
        self.lib.interp_call_free(self.handle)
        self.lib.interp_cancel_free(self.cancel)
        self.handle = self.cancel = _P()


class Host(interp_host.Host):
    """A threaded context, or with loop=True one that the caller drives."""

    def __init__(self, path=None, loop=False):
        self.lib = interp_host.load(path)
        self.ctx, self.loop = _P(), loop
        self.check(self.lib.interp_ctx_new, 1 if loop else 0, ctypes.byref(self.ctx))

    @contextlib.contextmanager
    def config(self, members, cancel=None):
        c = _P()
        self.check(self.lib.interp_config_new, self.ctx, ctypes.byref(c))
        try:
            data = json.dumps(members).encode()
            self.check(self.lib.interp_config_set_json, c, data, len(data))
            if cancel:
                self.check(self.lib.interp_config_set_cancel, c, cancel)
            yield c
        finally:
            self.lib.interp_config_free(c)

    def start_open(self, members):
        """(Session, Call): the session is to be closed whatever the call comes to."""
        cancel, s, call = _P(), _P(), _P()
        self.check(self.lib.interp_cancel_new, self.ctx, ctypes.byref(cancel))
        try:
            with self.config(members, cancel) as c:
                self.check(self.lib.interp_session_open_start, self.ctx, c, ctypes.byref(s), ctypes.byref(call))
        except InterpError:
            self.lib.interp_cancel_free(cancel)
            raise
        return interp_host.Session(self, s), Call(self, call, cancel)

    def _unseen(self, function, members):
        call = _P()
        with self.config(members) as c:
            self.check(function, self.ctx, c, ctypes.byref(call))
        return Call(self, call).wait()

    def gc(self, members):
        """What was removed: [(container or volume, name)]."""
        return [(e['removed'], e['name']) for e in self._unseen(self.lib.interp_ctx_gc_start, members) if e.get('step') == 'gc']

    def probe(self, members):
        return [e['offers'] for e in self._unseen(self.lib.interp_ctx_probe_start, members) if e.get('step') == 'probe'][0]


class Bench:
    """One engine under test."""

    def __init__(self, name, verbose=False):
        self.name, self.verbose = name, verbose
        self.backend = 'docker' if name.startswith('docker') else 'podman'
        self.rootless = 'rootless' in name
        self.endpoint = os.environ.get('INTERP_TEST_' + name.upper().replace('-', '_'), '')
        self.env = {k[len('INTERP_TEST_'):]: v for k, v in os.environ.items() if k.startswith('INTERP_TEST_')}
        self.engine = Engine(self.endpoint, timeout=60) if self.endpoint else None
        self.host = Host()
        self.figures, self.proxy = [], None
        for v in VARIABLES:
            os.environ.pop(v, None)

    def need(self, *names):
        for n in names:
            if not self.env.get(n):
                raise Skipped('no $INTERP_TEST_%s' % n)
        return [self.env[n] for n in names]

    def image(self, tag):
        """The image's name, or a skip where the engine has none of it."""
        name = 'interp-test:' + tag
        if self.engine.call('GET', '/images/%s/json' % name)[0] != 200:
            raise Skipped('the engine has no image %s' % name)
        return name

    def members(self, **more):
        m = {'backend': self.backend, 'endpoint': self.endpoint, 'image': IMAGE, 'close_timeout_ms': 60000}   # a container that a slow engine had not removed in time would be left
        m.update((k.replace('__', '.'), v) for k, v in more.items())
        return {k: v for k, v in m.items() if v is not None}

    def open(self, host=None, **more):
        return (host or self.host).open(self.members(**more))

    def refused(self, code, reason=None, seconds=20, host=None, **more):
        """The error that opening comes to, which must be this one and come in time."""
        start = time.monotonic()
        try:
            s = self.open(host, **more)
        except InterpError as e:
            within(start, seconds, 'the error')
            want(code in (None, e.code) and (reason is None or e.facts['reason'] in ((reason,) if isinstance(reason, str) else reason)),
                 'error %s (%s): %s, instead of %s (%s)', e.code, e.facts['reason'], e.facts['message'], code, reason)
            if self.verbose:
                print('     %s (%s): %s | %s' % (e.code, e.facts['reason'], e.facts['message'], e.facts.get('remedy')))
            return e.facts
        s.close()
        raise Failure('it opened')

    def containers(self, label='io.libinterp.kind'):
        """Containers of this library's, with label None all: {name: labels}."""
        filters = urllib.parse.quote(json.dumps({'label': [label]} if label else {}))
        # Podman's other list fails while one of them is on its way out
        path = '/v4.0.0/libpod/containers/json?all=true&filters=' if self.backend == 'podman' else '/containers/json?all=1&filters='
        end = time.monotonic() + 20 * SLOW
        while True:
            try:
                found = self.engine.json('GET', path + filters) or []
                break
            except RuntimeError as e:
                if 'container not known' not in str(e) and 'no container with' not in str(e):
                    raise
                want(time.monotonic() < end, 'the containers can not be listed: %s', e)
                time.sleep(0.5)
        return {c['Names'][0].lstrip('/'): c['Labels'] for c in found if c['Names']}   # one that the engine is removing has lost its name

    def mine(self):
        return sorted(n for n, l in self.containers().items() if l.get('io.libinterp.pid') == str(os.getpid()))

    def figure(self, text, *values):
        self.figures.append(text % values if values else text)


def descriptors():
    found = {}
    for n in os.listdir('/proc/self/fd'):
        with contextlib.suppress(OSError):
            found[int(n)] = os.readlink('/proc/self/fd/' + n)
    return found


@contextlib.contextmanager
def environment(**variables):
    """Variables as the library sees them (getenv), for as long as this lasts. None: not set."""
    old = {k: os.environ.get(k) for k in variables}
    try:
        for k, v in variables.items():
            os.environ.pop(k, None) if v is None else os.environ.__setitem__(k, v)
        yield
    finally:
        for k, v in old.items():
            os.environ.pop(k, None) if v is None else os.environ.__setitem__(k, v)


def run(s, language, code, **more):
    """An exec that must go well: its stdout as text."""
    x = s.exec(language, code, **more)
    want(x.outcome == 'ok', 'exec: %s', x)
    return x.bytes('stdout').decode()
