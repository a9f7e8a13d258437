"""Opening that is cancelled at any time, closing at any time, forks, descriptors and memory."""
import os
import resource
import threading
import time

from bench import SLOW, Host, InterpError, Skipped, descriptors, run, wait_for, want, within


def cancelled(b, host, ms, **more):
    """Opens, cancels after that time, closes. What the call came to."""
    start = time.monotonic()
    s, call = host.start_open(b.members(**more))
    call.fire(ms)
    code = 'OPEN'
    try:
        call.wait(30)
        run(s, 'sh', 'echo')
    except InterpError as e:
        code = e.code
        want(code in ('INTERP_E_CANCELLED',), 'after %g ms: %s', ms, e)
        within(start, ms / 1e3 + 3, 'a cancelled open')
    took = s.close()
    want(took < 5000 * SLOW, 'closing took %d ms', took)
    return code


def nothing_left(b, when):
    wait_for(lambda: not b.mine(), 5, 'left %s: %s' % (when, b.mine()))


def test_cancel_first_open(b):
    """In a fresh context: the engine is asked, and the agent's volume looked into."""
    codes = []
    for ms in (0, 1, 2, 5, 10, 20, 50, 100, 150, 200, 300):
        with Host() as h:
            codes.append('%d:%s' % (ms, cancelled(b, h, ms).replace('INTERP_E_', '')))
        nothing_left(b, 'by an open cancelled after %d ms' % ms)
    b.figure(' '.join(codes))


def test_cancel_next_open(b):
    with Host() as h:
        b.open(h).close()
        codes = []
        for ms in (0, 1, 2, 5, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200):
            codes.append('%d:%s' % (ms, cancelled(b, h, ms).replace('INTERP_E_', '')))
        b.figure(' '.join(codes))
        nothing_left(b, 'by cancelled opens')
        with b.open(h) as s:
            run(s, 'sh', 'echo')


def test_cancel_at_every_call(b):
    """Just as the engine is asked for something: each request that an open makes, in turn."""
    number = [0, -1, None]

    def delay(method, path):
        number[0] += 1
        if number[0] - 1 == number[1]:
            number[2]()
            time.sleep(0.05)
    def fire_at(h, at):
        """Whether it was open before that."""
        calls, started = [], threading.Event()

        def fire():
            started.wait(60)
            calls[0].fire(0)
        number[:] = [0, at, fire]
        s, call = h.start_open(b.members(endpoint=b.proxy.endpoint))
        calls.append(call)
        started.set()
        try:
            call.wait(20)
        except InterpError as e:
            want(e.code == 'INTERP_E_CANCELLED', 'request %d: %s', at, e)
            done = False
        else:
            done = True
        took = s.close()
        number[1] = -1
        want(took < 5000 * SLOW, 'request %d: closing took %d ms', at, took)
        nothing_left(b, 'by a cancel at request %d' % at)
        return done
    b.proxy.delay = delay
    try:
        for fresh in (True, False):
            with Host() as h:
                if not fresh:
                    number[1] = -1
                    b.open(h, endpoint=b.proxy.endpoint).close()
                for at in range(40):
                    if fresh:
                        with Host() as first:
                            done = fire_at(first, at)
                    else:
                        done = fire_at(h, at)
                    if done:
                        break
                want(done, 'it is cancelled for ever')
            b.figure('%d requests to open %s', at, 'a first sandbox' if fresh else 'the next')
    finally:
        b.proxy.delay = None


def test_close_while_opening(b):
    with Host() as h:
        for ms in (0, 5, 10, 20, 40, 80, 120):
            s, call = h.start_open(b.members())
            end = time.monotonic() + ms / 1e3
            while time.monotonic() < end and not call.drain():
                h.check(h.lib.interp_call_wait, call.handle, 1, 0)
            s.close()
            try:
                call.wait(10)
            except InterpError as e:
                want(e.code == 'INTERP_E_CLOSED', '%s', e)
        nothing_left(b, 'by closing while it opened')


def test_cancel_and_timeout_of_execs(b):
    """Nothing of such an exec goes on in the container."""
    count = "for p in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $p 2>/dev/null; echo; done | grep -c 'sleep 98[0-9]' || true"
    with b.open() as s:
        run(s, 'bash', 'true')
        x = s.exec('bash', 'sleep 981 & (setsid sleep 982 &) ; sleep 983', timeout_ms=500, grace_ms=300)
        want(x.outcome == 'timeout', '%s', x)
        x = s.exec('python', 'import subprocess,signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsubprocess.Popen(["sleep","984"],start_new_session=True)\nwhile True: pass', cancel_ms=(300, 400), grace_ms=300)
        want(x.outcome == 'cancelled', '%s', x)
        s.restart('bash')
        wait_for(lambda: run(s, 'sh', count).strip() == '0', 3, 'processes of a cancelled exec run on')


def test_fork(b):
    """A forked child frees all that it has without harm to its parent's sandbox."""
    for tls in ((False, True) if b.name == 'docker' else (False,)):
        more = {'endpoint': b.env['DOCKER_TLS'], 'docker__certs': b.env['DOCKER_CERTS']} if tls else {}
        with Host() as h:
            s = b.open(h, **more)
            run(s, 'python', 'x=1')
            opening, call = h.start_open(b.members(**more))
            call.drain()
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    s.close()
                    opening.close()
                    call.free()
                    h.close()
                    code = 0
                finally:
                    os._exit(code)
            want(os.waitpid(pid, 0)[1] == 0, 'the child did not end well')
            want(run(s, 'python', 'print(x)') == '1\n', 'the session suffered')
            call.wait(30)
            run(opening, 'sh', 'echo')
            opening.close()
            s.close()


def test_descriptors(b):
    for tls in ((False, True) if b.name == 'docker' else (False,)):
        more = {'endpoint': b.env['DOCKER_TLS'], 'docker__certs': b.env['DOCKER_CERTS']} if tls else {}
        with Host() as h:
            b.open(h, **more).close()
            before = descriptors()
            sessions = [b.open(h, **more) for _ in range(3)]
            for s in sessions:
                run(s, 'sh', 'echo')
            each = (len(descriptors()) - len(before)) / 3
            for s in sessions:
                s.close()
            b.figure('%sdescriptors of an open session: %g', 'TLS: ' if tls else '', each)
            want(each <= (4 if tls else 2), 'an open session holds %g descriptors', each)
            want(len(descriptors()) == len(before), 'descriptors are left: %s', set(descriptors().items()) - set(before.items()))


def resident():
    with open('/proc/self/statm') as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def test_open_and_close_often(b):
    with Host() as h:
        for i in range(6):
            b.open(h).close()
        before, fds = resident(), len(descriptors())
        for i in range(20):
            with b.open(h) as s:
                if i % 8 == 0:
                    run(s, 'sh', 'echo')
        grown = resident() - before
        b.figure('20 sessions one after the other: %d KiB more, %+d descriptors', grown >> 10, len(descriptors()) - fds)
        want(len(descriptors()) == fds, '%d descriptors more', len(descriptors()) - fds)
        want(grown < 1 << 20, '%d KiB more', grown >> 10)


def test_idle_memory(b):
    with Host() as h:
        b.open(h).close()
        sessions = [b.open(h) for _ in range(2)]
        before = resident()
        sessions += [b.open(h) for _ in range(5)]
        each = (resident() - before) // 5
        b.figure('an open session: %d KiB of the host', each >> 10)
        want(each < 256 << 10, 'an open session takes %d KiB of the host', each >> 10)
        for s in sessions:
            s.close()


def test_parallel_opens(b):
    """Threads of one context, all at once, in a fresh context: one fills the volume, the others wait for it."""
    n, errors, times = 12, [], []

    def one(h):
        start = time.monotonic()
        try:
            with b.open(h) as s:
                times.append(time.monotonic() - start)
                run(s, 'sh', 'echo')
        except Exception as e:
            errors.append(e)
    with Host() as h:
        threads = [threading.Thread(target=one, args=(h,)) for _ in range(n)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    want(not errors, '%d of %d failed: %s', len(errors), n, errors[:1])
    b.figure('%d at once: the last was open after %.0f ms', n, max(times) * 1e3)


def removed_while_running(b):
    with b.open() as s:
        name = s.info()['reached']['container']
        timer = threading.Timer(0.5, lambda: b.engine.call('DELETE', '/containers/%s?force=1' % name))
        timer.start()
        start = time.monotonic()
        x = s.exec('sh', 'sleep 100')
        within(start, 5, 'the end of the exec')
        want(x.outcome == 'lost' and x.result['state'] == 'gone', '%s', x)
        timer.join()
        took = s.close()
        want(took < 2000 * SLOW, 'closing what is gone took %d ms', took)


def test_container_removed_from_outside(b):
    """In the middle of an exec, and between two. Several times: whose removal comes first is a race."""
    for _ in range(4):
        removed_while_running(b)
    with b.open() as s:
        b.engine.call('DELETE', '/containers/%s?force=1' % s.info()['reached']['container'])
        try:
            x = s.exec('sh', 'echo')
            want(x.outcome == 'lost', '%s', x)
        except InterpError as e:
            want(e.code == 'INTERP_E_CLOSED', '%s', e)


def test_volume_removed_or_emptied(b):
    """Between two opens of a context that has seen it full."""
    import hashlib
    with Host() as h:
        with b.open(h) as s:
            name = [m['Name'] for m in b.engine.json('GET', '/containers/%s/json' % s.info()['reached']['container'])['Mounts'] if m['Destination'] == '/.interp'][0]
        status = b.engine.call('DELETE', '/volumes/' + name)[0]
        if status != 204:
            raise Skipped("another session uses the agent's volume")
        with b.open(h) as s:
            run(s, 'sh', 'echo')
        b.engine.call('DELETE', '/volumes/' + name)
        b.engine.json('POST', '/volumes/create', {'Name': name})
        with b.open(h) as s:
            run(s, 'sh', 'echo')
        b.engine.call('DELETE', '/volumes/' + name)
        errors = []

        def one():
            try:
                with b.open(h) as s:
                    run(s, 'sh', 'echo')
            except Exception as e:
                errors.append(e)
        threads = [threading.Thread(target=one) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        want(not errors, 'four at once after the volume was removed: %s', errors[:1])


def test_shutdown(b):
    with b.open() as s:
        timer = threading.Timer(0.3, s.shutdown)
        timer.start()
        start = time.monotonic()
        x = s.exec('sh', 'sleep 20')
        within(start, 3, 'shutdown')
        want(x.outcome == 'cancelled' and x.result['state'] == 'gone', '%s', x)
        timer.join()
