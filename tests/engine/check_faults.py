"""An engine of our own is killed, frozen and filled. Each test has the right error or outcome in time, and nothing is left after gc."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import bench
from bench import SLOW, Bench, Host, InterpError, Skipped, run, wait_for, want, within

import dockerd
import podmand
from api import Engine
from check_collect import made
from state import Failed, Skip, State, born

ENGINES = {'docker': dockerd, 'podman': podmand}
own = {}


def exported(engine, image, f):
    """Whether f has it whole: an export that breaks off ends like one that does not, but for the end of its tar."""
    import http.client
    f.seek(0)
    f.truncate()
    h = http.client.HTTPConnection('engine')
    h.sock = engine.connect()
    h.request('GET', '/images/get?names=' + image)
    answer = h.getresponse()
    want(answer.status == 200, 'export: %d', answer.status)
    shutil.copyfileobj(answer, f)
    h.close()
    size = f.tell()
    f.seek(max(0, size - 1024))
    whole = size > 1024 and f.read() == bytes(1024)
    f.seek(0)
    return whole


class Own(Bench):
    """A private engine with the image that the tests use, taken from the one that runs."""

    def __init__(self, b, image='interp-test:latest', prepare=None):
        if b.name not in ENGINES:
            raise Skipped('engines of that kind are not started here')
        if os.geteuid() != 0 or not b.engine:
            raise Skipped('needs root, and a running engine to take an image from')
        self.module = ENGINES[b.name]
        self.state = State(tempfile.mkdtemp(prefix='interp-f.'))
        if prepare:
            prepare(self.state)
        self.start()
        self.given = b
        super().__init__(b.name, b.verbose)
        self.connect()
        self.figures = b.figures
        with tempfile.TemporaryFile() as f:
            if not exported(b.engine, image, f):
                want(exported(b.engine, image, f), 'the export of %s broke off, twice', image)
            status, _, data = self.engine.call('POST', '/images/load?quiet=1', f)
            want(status == 200, 'load: %d %s', status, data)

    def start(self):
        """Starts it, or starts it again."""
        for attempt in (1, 2):
            try:
                found = self.module.start(self.state)
                break
            except (Skip, Failed) as e:
                if attempt == 2 or isinstance(e, Skip):
                    raise Skipped(str(e))
        if not found['ours']:
            raise Skipped('somebody else\'s engine runs here')
        self.state.engines[self.module.NAME] = found
        self.state.save()

    def connect(self):
        self.endpoint = self.state.engines[self.module.NAME]['url']
        self.engine = Engine(self.endpoint, timeout=60)

    def pids(self):
        return [d['pid'] for d in self.state.engines[self.module.NAME]['daemons'][:1]]

    def signal(self, number):
        for pid in self.pids():
            os.kill(pid, number)
        if number == signal.SIGKILL:
            wait_for(lambda: not any(born(pid) for pid in self.pids()), 10, 'the daemon did not end')
            with contextlib.suppress(ChildProcessError):
                for pid in self.pids():
                    os.waitpid(pid, 0)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGCONT)
        self.host.close()
        self.module.stop(self.state)
        self.state.lock.close()
        shutil.rmtree(self.state.folder, ignore_errors=True)


@contextlib.contextmanager
def engine(b):
    """The same one for all tests; a failed test's is not used again."""
    if b.name not in own:
        own[b.name] = Own(b)
    o = own[b.name]
    o.figures = b.figures
    try:
        yield o
    except BaseException:
        own.pop(b.name).end()
        raise


def gone_after_gc(o, h):
    def gone():
        h.gc(o.members())
        return not o.mine()
    wait_for(gone, 10, 'something is left after gc')


def exec_thread(s, code='sleep 60', **more):
    kept, started = {}, threading.Event()

    def go():
        start = time.monotonic()
        try:
            kept['x'] = s.exec('sh', code, on_start=started.set, **more)
        except Exception as e:
            kept['error'] = e
        kept['seconds'] = time.monotonic() - start
    t = threading.Thread(target=go)
    t.start()
    started.wait(60)
    return t, kept


def test_killed_and_restarted(b):
    """SIGKILL in the middle of an exec."""
    with engine(b) as o, Host() as h:
        s = o.open(h, close_timeout_ms=5000)
        idle = o.open(h, close_timeout_ms=5000)
        t, kept = exec_thread(s)
        time.sleep(0.5)
        start = time.monotonic()
        o.signal(signal.SIGKILL)
        t.join(20 * SLOW)
        want(not t.is_alive(), 'the exec did not end')
        want('x' in kept and kept['x'].outcome == 'lost' and kept['x'].result['state'] == 'gone', 'the exec: %s', kept.get('x') or kept.get('error'))
        b.figure('the exec ended %.2f s after the engine', time.monotonic() - start)
        o.refused('INTERP_E_BACKEND', 'engine-absent', 3, h)
        want(s.close() < 6000 * SLOW, 'closing took too long')
        want(idle.close() < 6000 * SLOW, 'closing took too long')
        o.start()
        o.connect()
        gone_after_gc(o, h)
        with o.open(h) as s:
            run(s, 'sh', 'echo')


def test_restart_between_opens(b):
    """A context goes on with an engine that has been restarted."""
    with engine(b) as o, Host() as h:
        o.open(h).close()
        o.signal(signal.SIGKILL)
        o.start()
        o.connect()
        with o.open(h) as s:
            run(s, 'sh', 'echo')


def test_frozen_while_opening(b):
    with engine(b) as o:
        for ms in (0, 20, 50, 100, 200):
            with Host() as h:
                start = time.monotonic()
                s, call = h.start_open(o.members(open_timeout_ms=1500, close_timeout_ms=800))
                end = time.monotonic() + ms / 1e3
                while time.monotonic() < end and not call.drain():
                    h.check(h.lib.interp_call_wait, call.handle, 1, 0)
                o.signal(signal.SIGSTOP)
                try:
                    call.wait(20)
                except InterpError as e:
                    want(e.code == 'INTERP_E_TIMEOUT', 'frozen after %d ms: %s', ms, e)
                within(start, 3, 'opening')
                took = s.close()
                want(took < 2000 * SLOW, 'closing took %d ms', took)
                o.signal(signal.SIGCONT)
                wait_for(lambda: o.engine.kind(), 10, 'the engine did not go on')
                time.sleep(0.3)
                gone_after_gc(o, h)
        with Host() as h, o.open(h) as s:
            run(s, 'sh', 'echo')


def test_frozen_while_executing(b):
    with engine(b) as o, Host() as h:
        s = o.open(h, close_timeout_ms=800)
        run(s, 'sh', 'echo')
        t, kept = exec_thread(s, timeout_ms=1000, grace_ms=500)
        time.sleep(0.3)
        o.signal(signal.SIGSTOP)
        t.join(20 * SLOW)
        want('x' in kept and kept['x'].outcome == 'timeout', 'the exec: %s', kept.get('x') or kept.get('error'))
        b.figure('frozen: an exec of timeout 1 s and grace 0.5 s ended after %.2f s, %s, state %s', kept['seconds'], kept['x'].outcome, kept['x'].result['state'])
        want(kept['seconds'] < 6 * SLOW, 'it took %.1f s', kept['seconds'])
        start = time.monotonic()
        s.close()
        within(start, 2, 'closing')
        o.signal(signal.SIGCONT)
        wait_for(lambda: o.engine.kind(), 10, 'the engine did not go on')
        gone_after_gc(o, h)


def test_frozen_for_a_moment(b):
    """The session goes on where it was."""
    with engine(b) as o, Host() as h, o.open(h) as s:
        run(s, 'python', 'x=7')
        t, kept = exec_thread(s, 'sleep 1; echo done')
        o.signal(signal.SIGSTOP)
        time.sleep(2)
        o.signal(signal.SIGCONT)
        t.join(20 * SLOW)
        want('x' in kept and kept['x'].outcome == 'ok' and kept['x'].bytes('stdout') == b'done\n', 'the exec: %s', kept.get('x') or kept.get('error'))
        want(run(s, 'python', 'print(x)') == '7\n', 'the state is lost')


def test_frozen_while_closing(b):
    with engine(b) as o, Host() as h:
        s = o.open(h, close_timeout_ms=1000)
        run(s, 'bash', 'sleep 1000 &')
        name = s.info()['reached']['container']
        o.signal(signal.SIGSTOP)
        took = s.close()
        b.figure('close_timeout_ms 1000: closing took %.0f ms', took)
        want(900 < took < 2500 * SLOW, 'closing took %d ms', took)
        o.signal(signal.SIGCONT)
        wait_for(lambda: o.engine.kind(), 10, 'the engine did not go on')
        gone_after_gc(o, h)
        want(name not in o.containers(), 'it is still there')


def test_parallel_opens(b):
    """Thirty threads of one context, in a fresh one."""
    with engine(b) as o, Host() as h:
        errors, times = [], []

        def one():
            start = time.monotonic()
            try:
                with o.open(h, open_timeout_ms=120000, close_timeout_ms=60000) as s:
                    times.append(time.monotonic() - start)
                    run(s, 'sh', 'echo')
            except Exception as e:
                errors.append(e)
        threads = [threading.Thread(target=one) for _ in range(30)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        want(not errors, '%d of 30 failed: %s', len(errors), errors[:1])
        b.figure('30 at once: the last was open after %.1f s', max(times))
        wait_for(lambda: not o.mine(), 10, 'left: %s' % o.mine())


def test_half_removed(b):
    """A removal that was cut short has taken the container from Podman's storage and not from its database."""
    if b.backend != 'podman':
        raise Skipped('the two stores are Podman\'s')
    with engine(b) as o:
        name = made(o, pid='999999')
        stored = o.state.path(o.module.NAME, 'data', 'overlay-containers', 'containers.')
        identifier = o.engine.json('GET', '/containers/%s/json' % name)['Id']
        with open(stored + 'json') as f:
            rest = [c for c in json.load(f) if c['id'] != identifier]
        with open(stored + 'json', 'w') as f:
            json.dump(rest, f)
        with open(stored + 'lock', 'r+b') as f:      # who has written last: Podman reads anew
            f.write(os.urandom(64))
        want(o.engine.call('GET', '/containers/json?all=1')[0] == 500, 'the test is wrong: Podman lists its containers')
        o.host.gc(o.members())
        want(o.engine.call('GET', '/containers/json?all=1')[0] == 200 and name not in o.containers(), 'it is still there')


def test_disk_full(b):
    """No room on the engine's disk for the agent, a container or an image."""
    def prepare(state):
        data = state.make(ENGINES[b.name].NAME, 'data')
        if subprocess.call(['mount', '-t', 'tmpfs', '-o', 'size=900m', 'tmpfs', data]):
            raise Skipped('no tmpfs can be mounted')
    o = Own(b, 'interp-test:nopython', prepare)
    filler = o.state.path(o.module.NAME, 'data', 'filler')
    try:
        with Host() as h:
            with o.open(h, image='interp-test:nopython') as s:
                run(s, 'sh', 'echo')
            for v in o.engine.json('GET', '/volumes')['Volumes'] or []:
                o.engine.call('DELETE', '/volumes/' + v['Name'])
            with open(filler, 'wb', 0) as f, contextlib.suppress(OSError):
                while True:
                    f.write(bytes(1 << 20))
            with open(filler, 'ab', 0) as f, contextlib.suppress(OSError):
                while True:
                    f.write(bytes(512))
            for n in range(2):
                with Host() as fresh:
                    try:
                        o.open(fresh, image='interp-test:nopython', open_timeout_ms=20000).close()
                    except InterpError as e:
                        b.figure('%s (%s): %s', e.code, e.facts['reason'], e.facts['message'][:150])
                        want(e.code in ('INTERP_E_IO', 'INTERP_E_BACKEND'), '%s', e)
                    else:
                        want(False, 'it opened on a full disk')
            os.unlink(filler)
            with Host() as fresh:
                gone_after_gc(o, fresh)
                with o.open(fresh, image='interp-test:nopython') as s:
                    run(s, 'sh', 'echo')
    finally:
        with contextlib.suppress(OSError):
            os.unlink(filler)
        o.end()


def test_zz_end(b):
    """The engine of our own ends, and leaves nothing."""
    if b.name in own:
        own.pop(b.name).end()
