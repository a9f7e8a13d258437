"""Threads, signals, fork, garbage, the end of the interpreter, callbacks: whatever the order, nothing crashes, leaks or hangs."""
import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time

import interp
import pytest
import runner
from interp import _context, _handle

from conftest import SLOW, busy, descriptors, inside, once, resident_kib

MANY = int(os.environ.get('INTERP_TEST_SESSIONS', '200'))
SMALL = dict(memory_bytes=32 << 20, workspace_bytes=4 << 20)


def script(code, timeout=60):
    """Runs Python code in a process of its own."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    return subprocess.run([sys.executable, '-X', 'dev', '-c', code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, universal_newlines=True,
                          timeout=timeout * SLOW)


def test_many_sessions_without_a_leak():
    def one():
        with interp.Session(**SMALL) as s:
            assert s.sh('echo x').stdout == 'x\n'
    for _ in range(20):
        one()
    gc.collect()
    before, children, kib = descriptors(), len(runner.descendants()), resident_kib()
    for _ in range(MANY):
        one()
    gc.collect()
    grown = resident_kib() - kib
    print('%d sessions: %d KiB grown' % (MANY, grown))
    assert descriptors() == before and len(runner.descendants()) <= children
    assert grown < 1024 + MANY * 2


def test_many_execs_without_a_leak(session):
    def some(n):
        for _ in range(n):
            session.python('x = "y" * 1000\nx').text
            list(session.stream('python', 'print(1)'))
            interp.Cancel()
    some(100)
    gc.collect()
    kib = resident_kib()
    some(500)
    gc.collect()
    assert resident_kib() - kib < 2048


def test_a_session_for_each_thread():
    wrong = []

    def work(n):
        try:
            for k in range(2):
                with interp.Session(**SMALL) as s:
                    for i in range(20):
                        r = s.sh('echo %d %d' % (n, i))
                        if r.stdout != '%d %d\n' % (n, i):
                            wrong.append(r)
        except BaseException as e:
            wrong.append(e)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_threads_that_fight_over_one_session():
    """Every answer is a result or one of the three exceptions that say what is wrong; the session's end comes in the middle of it."""
    s = interp.Session(**SMALL)
    wrong, results, over = [], [], threading.Event()

    def work(n):
        rng = random.Random(n)
        while not over.is_set():
            try:
                what = rng.randrange(5)
                if what == 0:
                    results.append(s.sh('echo x', kernel='k%d' % n))
                elif what == 1:
                    for _ in s.stream('sh', 'echo x; echo y', kernel='k%d' % n):
                        pass
                elif what == 2:
                    s.start('sh', 'sleep 5', kernel='k%d' % n).cancel()
                elif what == 3:
                    s.start('sh', 'sleep 5', kernel='k%d' % n).close()
                else:
                    s.status
            except (interp.BusyError, interp.ClosedError):
                time.sleep(0.001)
            except BaseException as e:
                wrong.append(e)
                raise
    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    end = time.monotonic() + 30 * SLOW
    time.sleep(1.5)
    while not results and not wrong and time.monotonic() < end:
        time.sleep(0.05)
    s.close()
    time.sleep(0.5)
    over.set()
    for t in threads:
        t.join()
    assert not wrong and results


def test_closing_under_streams():
    """The session goes while threads pull from it: each sees a result or `ClosedError`."""
    wrong, ends = [], []

    def pull(s, n):
        try:
            while True:
                for e in s.stream('sh', 'while :; do echo y; done', kernel='k%d' % n):
                    if e.type == 'result':
                        ends.append(e.result.state)
        except interp.ClosedError:
            pass
        except interp.BusyError:
            pass
        except BaseException as e:
            wrong.append(e)
            raise
    for i in range(20):
        s = interp.Session(**SMALL)
        threads = [threading.Thread(target=pull, args=(s, n)) for n in range(2)]
        for t in threads:
            t.start()
        time.sleep(0.005 * i)
        s.close()
        for t in threads:
            t.join()
    assert not wrong


def test_a_handler_that_throws_anywhere(monkeypatch):
    """A signal handler may raise between any two steps of the binding: no use of a session stays open by that, no exec stays in flight, nothing is freed twice."""
    # what is thrown inside a __del__ is lost; pytest would keep it, and with it the very object whose end it came into
    monkeypatch.setattr(sys, 'unraisablehook', lambda *_: None)
    rng, thrown, armed = random.Random(7), 0, []

    def throw(*_):
        if armed:
            armed.clear()
            raise Thrown
    work = [lambda s: s.sh(':'), lambda s: list(s.stream('sh', 'echo a; echo b')), lambda s: s.start('sh', ':').result(), lambda s: (s.status, s.info),
            lambda s: s.start('sh', 'sleep 0.01').wait(1), lambda s: s.restart('sh', 'other') if s.sh(':', kernel='other').ok else None]
    old = signal.signal(signal.SIGALRM, throw)
    try:
        with interp.Session(**SMALL) as s:
            s.sh(':')
            end = time.monotonic() + 4
            while time.monotonic() < end or thrown <= 20 and time.monotonic() < end + 60 * SLOW:
                armed.append(1)
                try:
                    signal.setitimer(signal.ITIMER_REAL, rng.random() * 0.003 + 1e-5)
                    for _ in range(8):
                        rng.choice(work)(s)
                except Thrown:
                    thrown += 1
                armed.clear()
                assert not any(use[1]() for h in (s._handle, s._context._handle) for use in h._uses.values())
                assert s.sh('echo on').stdout == 'on\n'
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert thrown > 20 and s.status == 'gone'


def test_a_handle_whose_end_was_interrupted():
    """Thrown out before freeing has begun: the next one who comes frees it, once."""
    freed = []
    handle = _handle.Handle(5, freed.append, 'thing')
    finish, handle_finish = _handle.Handle._finish, []

    def interrupted(self):
        if not handle_finish:
            handle_finish.append(1)
            raise Thrown
        finish(self)
    _handle.Handle._finish = interrupted
    try:
        use = _handle.Use(handle)
        assert use.__enter__() == 5 and not handle.end(wait=False) and not freed
        with pytest.raises(Thrown):
            use.__exit__()
        with pytest.raises(interp.ClosedError):
            handle.alive()
        assert handle.end() and freed == [5] and handle.end() and freed == [5]
    finally:
        _handle.Handle._finish = finish
    # thrown out without leaving, while another thread waits for the end
    handle = _handle.Handle(6, freed.append, 'thing')
    use = _handle.Use(handle)
    use.__enter__()
    thread = threading.Thread(target=handle.end)
    thread.start()
    time.sleep(0.1)
    assert freed == [5]
    del use
    thread.join(10)
    assert freed == [5, 6] and not thread.is_alive()


def test_an_owner_whose_end_was_interrupted():
    freed = []
    end, tries = _handle.Handle.end, []

    def interrupted(self, wait=True):
        if not tries:
            tries.append(1)
            raise Thrown
        return end(self, wait)
    handle = _handle.Handle(7, freed.append, 'thing')
    _handle.Handle.end = interrupted
    try:
        with pytest.raises(Thrown):
            handle.end()
        del handle
        assert freed == [7]
    finally:
        _handle.Handle.end = end


def test_closing_an_exec_that_another_thread_waits_for(session):
    e = session.start('bash', 'sleep 30')
    once(lambda: inside(e), e.close)
    began = time.monotonic()
    assert e.result().outcome == 'cancelled' and time.monotonic() - began < 20 * SLOW
    assert session.bash('echo on').stdout == 'on\n'


@pytest.fixture
def interrupts():
    """Python's own handler, also where this was started with SIGINT ignored, as shells do in the background."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


def test_ctrl_c_comes_at_once(session, interrupts):
    for start in (lambda: session.bash('sleep 30'), lambda: list(session.stream('bash', 'sleep 30')), lambda: session.start('bash', 'sleep 30').wait()):
        took = []
        while len(took) < 3 and (not took or took[-1] >= 0.3 * SLOW):     # the fastest counts
            sent = []

            def send():
                sent.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                once(lambda: busy(session), send)
                start()
            took.append(time.monotonic() - sent[0])
            print('KeyboardInterrupt after %.0f ms' % (took[-1] * 1e3))
            gc.collect()
            assert session.bash('echo on').stdout == 'on\n'
        assert took[-1] < 0.3 * SLOW


def test_signal_handlers_run_meanwhile(session):
    seen = []

    def handler(*_):
        seen.append(time.monotonic())
        if len(seen) == 5:
            e.write('x\n')         # which lets the exec end
    e = session.start('bash', 'read a; echo $a', interactive=True)
    old = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        assert e.result().stdout == 'x\n'
        assert len(seen) >= 5
        # a handler that closes what it interrupts
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, lambda *_: session.close())
        e = session.start('bash', 'sleep 30')
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        assert e.result().state == 'gone'
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    with pytest.raises(interp.ClosedError):
        session.bash('')


def test_ctrl_c_while_opening():
    code = '''
import interp, signal
signal.signal(signal.SIGALRM, signal.default_int_handler)
for i in range(40):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005 * (i + 1))
        with interp.Session() as s:
            s.sh('sleep 1')
    except KeyboardInterrupt:
        pass
with interp.Session() as s:
    print(s.sh('echo on').stdout, end='')
'''
    done = script(code)
    assert done.returncode == 0 and done.stdout == 'on\n', done.stderr


def _in_child(session, exec_, queue):
    said = []
    for action in (lambda: session.bash('echo'), lambda: exec_.result(), session.restart.__get__(session, type(session))):
        try:
            action(*(['bash'] if action.__class__.__name__ == 'method' else []))
            said.append('worked')
        except interp.ForkedError:
            said.append('forked')
    with session:
        pass
    del session, exec_
    gc.collect()
    with interp.Session(**SMALL) as own:
        said.append(own.bash('echo child').stdout)
    queue.put(said)


def test_fork(session):
    context = multiprocessing.get_context('fork')
    e = session.start('bash', 'sleep 1; echo parent')
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(session, e, queue))
    child.start()
    assert queue.get(timeout=60) == ['forked', 'forked', 'forked', 'child\n']
    child.join()
    assert child.exitcode == 0
    assert e.result().stdout == 'parent\n' and session.bash('echo on').stdout == 'on\n'


def test_fork_while_a_thread_is_inside(session):
    thread = threading.Thread(target=lambda: session.bash('sleep 1'))
    thread.start()
    time.sleep(0.2)
    pid = os.fork()
    if not pid:
        try:
            session.close()
            gc.collect()
            with interp.Session(**SMALL) as s:
                os._exit(0 if s.sh('echo x').stdout == 'x\n' else 2)
        finally:
            os._exit(1)
    end = time.monotonic() + 30 * SLOW
    done = (0, 0)
    while not done[0] and time.monotonic() < end:
        done = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
    if not done[0]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    thread.join()
    assert done == (pid, 0) and session.bash('echo on').stdout == 'on\n'


def test_pool_of_workers():
    context = multiprocessing.get_context('fork')
    with context.Pool(4) as pool:
        assert pool.map(_square, range(12)) == [n * n for n in range(12)]


def _square(n):
    with interp.Session(**SMALL) as s:
        return int(s.bash('echo $((%d * %d))' % (n, n)).stdout)


# a warning that is kept would keep the session that it is about
@pytest.mark.filterwarnings('ignore::ResourceWarning')
def test_garbage_in_any_order():
    before = descriptors()
    for seed in range(12):
        context = interp.Context()
        session = interp.Session(context=context, **SMALL)
        result = session.bash('echo x')
        pending, stream, cancel = session.start('bash', 'sleep 9', kernel='a'), session.stream('bash', 'echo y', kernel='b'), interp.Cancel(context)
        next(stream)
        things = [context, session, result, pending, stream, cancel]
        del context, session, pending, stream, cancel
        random.Random(seed).shuffle(things)
        if seed % 2:
            things.append(things)       # a cycle: the collector takes them in its own order
            del things
            gc.collect()
        else:
            while things:
                things.pop()
        assert result.stdout == 'x\n'
    gc.collect()
    assert descriptors() <= before


def test_results_outlive_everything():
    with interp.Context() as context:
        with interp.Session(context=context, **SMALL) as s:
            r = s.python('print("x")\n1/0')
    del s
    gc.collect()
    assert r.stdout == 'x\n' and r.error.type == 'ZeroDivisionError' and r.json()['outcome'] == 'error'


def test_a_closed_context_closes_its_sessions():
    context = interp.Context()
    s = interp.Session(context=context, **SMALL)
    context.close()
    with pytest.raises(interp.ClosedError):
        s.bash('')
    s.close()
    with pytest.raises(interp.ClosedError):
        interp.Session(context=context)


@pytest.mark.parametrize('tail', ['', 'import sys; sys.exit(3)', 'raise KeyError', 'import gc; gc.disable(); s.loop = s', 'del s, r; interp = None',
                                  'import threading; threading.Thread(target=lambda: s.bash("sleep 30"), daemon=True).start(); import time; time.sleep(0.3)',
                                  'async def main():\n    a = await interp.AsyncSession().open(); await a.bash("echo"); main.a = a\nimport asyncio; asyncio.run(main())'])
def test_end_of_the_interpreter(tail):
    began = time.monotonic()
    done = script('import interp\ns = interp.Session()\nr = s.bash("echo x")\ne = s.start("bash", "sleep 30", kernel="b")\nprint(r.stdout, end="", flush=True)\n' + tail)
    code = 3 if 'exit' in tail else 1 if 'KeyError' in tail else 0
    assert done.returncode == code and done.stdout == 'x\n', done.stderr
    assert time.monotonic() - began < 20 * SLOW
    assert 'Error' not in done.stderr or 'KeyError' in tail, done.stderr


def test_a_log_at_the_end_of_the_interpreter():
    """The library drops the callback while the interpreter ends: nothing is said about that."""
    done = script('import interp\nlog = lambda level, line: None\nc = interp.Context(log=log)\ns = interp.Session(context=c)\ns.bash("echo")\nc.self = [c, s]')
    assert (done.returncode, done.stderr) == (0, '')


def test_nothing_is_left_after_the_end():
    mark = 'INTERP_TEST_MARK=%d-%d' % (os.getpid(), time.monotonic_ns())
    name, value = mark.split('=')
    done = script('import interp\ns = interp.Session(env={%r: %r})\ns.bash("sleep 300 &")' % (name, value))
    assert done.returncode == 0, done.stderr
    assert not runner.left_over(mark, 20.0)


class Thrown(Exception):
    pass


def test_log_exceptions_travel_back():
    """The library logs too seldom to wait for it: the sink that it would call is called, as C calls it."""
    lines = []

    def log(level, line):
        lines.append((level, line))
        if level == 1:
            raise Thrown(line)
    before = set(_context._sinks)
    context = interp.Context(log=log)
    (number,) = set(_context._sinks) - before
    sink = _context._sinks[number]
    text = 'wörds'.encode() + b'\xff'
    session = interp.Session(context=context, **SMALL)
    sink(None, 3, text, len(text))
    assert lines == [(3, 'wörds\ufffd')] and session.bash('echo x').stdout == 'x\n'
    sink(None, 1, text, len(text))
    with pytest.raises(Thrown):
        session.bash('echo x')
    assert session.bash('echo on').stdout == 'on\n'
    # what another thread's callback raised is that thread's, and goes with it
    for _ in range(3):
        thread = threading.Thread(target=lambda: sink(None, 1, b'other', 5))
        thread.start()
        thread.join()
        assert session.bash('echo on').stdout == 'on\n'
    # what comes too late for a call comes out of the close
    sink(None, 1, b'late', 4)
    with pytest.raises(Thrown, match='late'):
        session.close()
    assert session.status == 'gone'
    del session, context, sink
    gc.collect()
    assert number not in _context._sinks


def test_garbage_inside_a_callback():
    """A result that dies while the library is inside a callback is freed once the callback is over."""
    with interp.Session(**SMALL) as s:
        r = s.bash('echo')
        _handle.in_callback(1)
        del r
        assert len(_handle._put_off) == 1
        _handle.in_callback(-1)
        s.bash('echo')
        gc.collect()
        assert not _handle._put_off


def test_no_descriptor_thread_or_handler():
    code = '''
import os, signal, threading
handlers = [signal.getsignal(n) for n in range(1, 30)]
fds = os.listdir('/proc/self/fd')
import interp
with interp.Session() as s:
    s.bash('echo')
    assert threading.active_count() == 1 and len(os.listdir('/proc/self/task')) == 1
    for fd in os.listdir('/proc/self/fd'):
        assert int(fd) < 3 or not os.path.exists('/proc/self/fd/' + fd) or not os.get_inheritable(int(fd))
assert [signal.getsignal(n) for n in range(1, 30)] == handlers
'''
    done = script(code)
    assert done.returncode == 0, done.stderr


def test_copies(session):
    r = session.python('print(6)\n7')
    for copied in copy.copy(r), copy.deepcopy({'artifact': [r]})['artifact'][0]:
        assert copied is r
    spill, cancel, files = r.spill, interp.Cancel(), session.files
    assert copy.deepcopy(spill) is spill and copy.deepcopy(cancel) is cancel and copy.deepcopy(files) is files
    (_, last) = copy.deepcopy(list(session.stream('sh', 'echo x')))
    assert last.result.stdout == 'x\n'
    session.files.write('f', 'z')
    exec, reader, context = session.start('sh', 'echo y'), session.files.open_read('f'), interp.Context()
    alone = session, exec, reader, context, session._handle
    for what in alone:
        for copied in copy.copy, copy.deepcopy:
            with pytest.raises(TypeError, match="^an? %s can't be copied: " % type(what).__name__):
                copied(what)
    for what in alone + (r, spill, cancel, files):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="^an? %s can't be pickled: " % type(what).__name__):
                pickle.dumps([what], protocol)
    with pytest.raises(TypeError, match=r'a Result .*: take result\.json\(\)'):
        pickle.dumps(r)
    with pytest.raises(TypeError, match='Result'):
        pickle.dumps(interp.ExecError(r))
    del spill, last, cancel
    gc.collect()
    assert r.stdout == '6\n' and r.value == '7' and exec.result().stdout == 'y\n' and reader.read() == b'z'
    context.close()


def test_copies_of_asyncio():
    async def main():
        async with interp.AsyncSession() as s:
            await s.files.write('f', 'z')
            exec, reader, files = s.start('sh', 'echo y'), s.files.open_read('f'), s.files
            assert copy.deepcopy(files) is files
            for what in s, s._owner, exec, reader:
                for wrong in copy.copy, copy.deepcopy, pickle.dumps:
                    with pytest.raises(TypeError, match="^an %s can't be " % type(what).__name__):
                        wrong(what)
            assert (await exec).stdout == 'y\n' and await reader.read() == b'z'
    asyncio.run(main())


def test_a_result_for_another_process():
    """What a worker can not hand over is an error of the one who asks, and harms neither."""
    ran = script('''
import concurrent.futures, multiprocessing, interp
def work():
    with interp.Session() as s:
        return s.sh('echo x')
def facts():
    return work().json()
with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('fork')) as pool:
    try:
        pool.submit(work).result()
    except TypeError as e:
        print(e)
    print(pool.submit(facts).result()['stdout']['text'])
''')
    assert ran.returncode == 0 and ran.stdout == "a Result can't be pickled: take result.json()\nx\n\n", ran.stderr
