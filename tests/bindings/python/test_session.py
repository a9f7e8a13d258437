"""The blocking face."""
import json
import pickle
import threading
import time

import interp
import pytest

from conftest import LATE, SLOW, busy, inside, once


def test_value_output_and_state(session):
    r = session.python('print("héllo")\nx = 6\nx * 7')
    assert r.ok and r.outcome == 'ok' and r.cause is None and r.state == 'preserved' and r.ran is True and r.exit_code == 0 and r.signal is None
    assert r.stdout == 'héllo\n' and r.stdout_bytes == 'héllo\n'.encode() and r.stderr == '' and r.value == '42' and r.value_mime == {'text/plain': '42'}
    assert r.interrupted is None and r.claimed_by == 'guest' and r.exec == 1 and r.language == 'python' and r.kernel == 'default'
    assert r.usage.wall_ns > 0 and r.error is None and r.rich == [] and r.late == []
    assert r.check() is r and json.loads(r.json_text()) == r.json() and r.json()['value']['text'] == '42'
    assert session.python('x').value == '6'


def test_every_language(session):
    assert session.bash('echo $((6 * 7))').stdout == '42\n'
    assert session.sh('echo $((6 * 7))').stdout == '42\n'
    r = session.javascript('6 * 7')
    assert r.value == '42' or r.cause == 'interpreter'
    assert session.run('bash', b'echo bytes').stdout == 'bytes\n'


def test_failure_of_user_code_is_a_result(session):
    r = session.python('def f():\n    1/0\nf()')
    assert not r.ok and r.outcome == 'error' and r.exit_code == 1
    assert r.error.type == 'ZeroDivisionError' and r.error.line == 2 and [f.function for f in r.error.frames] == ['<module>', 'f'] and 'line 2' in r.error.traceback
    with pytest.raises(interp.ExecError, match='ZeroDivisionError') as caught:
        r.check()
    assert caught.value.result is r
    assert session.bash('exit 3').exit_code == 3
    r = session.python('import os, signal; os.kill(os.getpid(), signal.SIGKILL)')
    assert r.outcome == 'crashed' and r.signal == 9 and r.state == 'reset' and 'SIGKILL' in str(r)


def test_timeout(session):
    start = time.monotonic()
    r = session.bash('sleep 30', timeout_ms=300, grace_ms=500)
    assert r.outcome == 'timeout' and r.cause == 'wall' and r.interrupted == 'wall' and time.monotonic() - start < 20 * SLOW
    assert session.bash('echo on').stdout == 'on\n'


def test_stdin_env_options_kernels(session):
    assert session.bash('cat', stdin=b'a\0\xffb').stdout_bytes == b'a\0\xffb'
    assert session.bash('cat', stdin='é').stdout_bytes == 'é'.encode()
    assert session.bash('cat', stdin=bytearray(b'x')).stdout == 'x'
    assert session.bash('echo $A', env={'A': 'é'}).stdout == 'é\n' and session.bash('echo $A').stdout == '\n'
    session.python('x = 1')
    assert session.python('x = 2', kernel='other').ok and session.python('x').value == '1' and session.python('x', kernel='other').value == '2'
    session.restart('python', kernel='other')
    assert not session.python('x', kernel='other').ok and session.python('x').value == '1'
    with pytest.raises(interp.NotFoundError):
        session.restart('python', kernel='never')


def test_two_kernels_at_a_time(session):
    a = session.start('bash', 'until [ -e go ]; do sleep 0.01; done; echo a', kernel='a')
    b = session.start('bash', 'until [ -e go ]; do sleep 0.01; done; echo b', kernel='b')
    with pytest.raises(interp.BusyError):
        session.bash('echo', kernel='a')
    assert not a.wait(10)
    session.files.write('go', '')
    assert b.result().stdout == 'b\n' and a.result().stdout == 'a\n' and a.result() is a.result()


def test_threads_of_one_session(session):
    """Each waits for its own exec; the first is let go on by the second, and is fed and signalled from outside."""
    found = {}

    def run(name, code):
        found[name] = session.sh(code, kernel=name)

    threads = [threading.Thread(target=run, args=('first', 'while [ ! -e go ]; do sleep 0.01; done; echo first')), threading.Thread(target=run, args=('second', 'sleep 0.1; touch go; echo second'))]
    for t in threads:
        t.start()
        time.sleep(0.05)
    for t in threads:
        t.join(30)
    assert [found[name].stdout for name in ('first', 'second')] == ['first\n', 'second\n']
    run = session.start('bash', 'read a; sh -c "echo $a; exec sleep 100"', interactive=True)
    results = []
    waits = threading.Thread(target=lambda: results.append(run.result()))
    waits.start()
    while not inside(run):
        time.sleep(0.01)
    time.sleep(0.1)
    assert run.write('words\n') == 6 and session.python('6 * 7').value == '42'
    with pytest.raises(interp.BusyError):
        run.wait(10)
    while b'words' not in run.output().data:
        time.sleep(0.01)
    run.signal(2)
    waits.join(30)
    assert results[0].interrupted == 'signal' and results[0].stdout == 'words\n'


def test_streaming(session):
    events = list(session.stream('bash', 'echo out; echo err >&2; sleep 0.05; printf more'))
    assert [e.type for e in events].count('result') == 1 and events[-1].result.ok
    assert b''.join(e.data for e in events if e.stream == 'stdout') == b'out\nmore' and b''.join(e.data for e in events if e.stream == 'stderr') == b'err\n'
    assert [e.seq for e in events[:-1]] == sorted({e.seq for e in events[:-1]})
    e = session.stream('bash', 'echo x')
    assert e.result().stdout == 'x\n' and list(e) == []


def test_a_stream_that_is_dropped(session):
    for event in session.stream('bash', 'while :; do echo y; done'):
        assert event.data
        break
    assert session.bash('echo on').stdout == 'on\n'


def test_background_output_is_late(session):
    session.bash(LATE)
    r, end = session.bash('touch go; echo now'), time.monotonic() + 30 * SLOW
    while not r.late and time.monotonic() < end:
        r = session.bash('echo now')
    assert r.stdout == 'now\n' and [(item.stream, item.exec, item.data) for item in r.late] == [('stdout', 1, b'late\n')] and '[late stdout of exec 1]\nlate' in str(r)


def test_cancel(session):
    cancel = interp.Cancel()
    once(lambda: busy(session), cancel.fire)
    r = session.bash('sleep 30', cancel=cancel)
    assert r.outcome == 'cancelled' and r.interrupted == 'cancel' and cancel.fired
    assert session.bash('echo never', cancel=cancel).ran is False
    e = session.start('bash', 'sleep 30')
    e.cancel()
    assert e.result().outcome == 'cancelled'
    with pytest.raises(interp.CancelledError):
        interp.Session(cancel=cancel)


def test_interactive_input(session):
    e = session.stream('python', 'while True:\n    try:\n        print("got", input(), flush=True)\n    except EOFError:\n        break', interactive=True)
    said = b''
    assert e.write('one\n') == 4
    for event in e:
        said += event.data
        if said == b'got one\n':
            assert e.write(b'two\n') == 4
            e.end_input()
            e.end_input()
    assert said == b'got one\ngot two\n' and event.result.ok
    # more than there is room for
    e = session.stream('bash', 'sleep 0.2; wc -c', interactive=True)
    left, writable = bytes(8 << 20), 0
    left = left[e.write(left):]
    assert left
    for event in e:
        if event.type == 'writable':
            writable += 1
            left = left[e.write(left):]
            if not left:
                e.end_input()
        last = event
    assert last.result.stdout.strip() == str(8 << 20) and writable
    e = session.start('bash', 'cat')
    with pytest.raises(interp.InvalidError):
        e.write(b'x')
    assert e.result().ok
    with pytest.raises(TypeError, match='True or False'):
        session.start('bash', 'cat', interactive=2)


def test_truncated_output():
    with interp.Session(output_head_bytes=100, output_tail_bytes=50) as s:
        r = s.bash('seq 1 1000')
        whole = b''.join(b'%d\n' % n for n in range(1, 1001))
        assert r.truncated() and not r.truncated('stderr') and r.total_bytes() == len(whole) and r.total_lines() == 1000
        assert whole.startswith(r.head()) and whole.endswith(r.tail()) and 0 < len(r.head()) <= 100 and 0 < len(r.tail()) <= 50
        assert len(r.stdout) <= 150 and 'left out' in r.stdout and r.stdout.encode() == r.stdout_bytes and r.stdout.startswith('1\n2\n')


def test_bytes_that_are_no_text(session):
    r = session.bash(r"printf '\xff\xfea'")
    assert r.stdout_bytes == b'\xff\xfea' and r.stdout == '\ufffd\ufffda'
    with pytest.raises(UnicodeEncodeError):
        session.bash('echo \udcff')
    with pytest.raises(interp.InvalidError):
        session.bash('a\0b')


def test_rich_values(session):
    code = 'class R:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return {"text/plain": "R", "text/html": "<b>R</b>", "image/png": b"\\x89PNG", "application/json": {"a": 1}}\nR()'
    r = session.python(code)
    assert r.value == 'R' and r.value_mime['text/html'] == '<b>R</b>' and r.value_mime['image/png'] == b'\x89PNG'
    bundle = r._repr_mimebundle_()
    assert bundle['image/png'] == 'iVBORw==' and bundle['application/json'] == {'a': 1} and bundle['text/plain'] == r.text
    assert set(r._repr_mimebundle_(include=['text/html'])) == {'text/html'} and 'text/html' not in r._repr_mimebundle_(exclude=['text/html'])


PICTURE = ("import zlib, struct\ndef chunk(k, d): return struct.pack('>I', len(d)) + k + d + struct.pack('>I', zlib.crc32(k + d))\nclass P:\n    def _repr_png_(self):\n"
           "        return b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 7, 5, 8, 0, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(bytes(40))) + chunk(b'IEND', b'')\n"
           "    def __repr__(self): return '<P>'\n")


def test_parts_and_pictures(session):
    r = session.python(PICTURE + 'display(P())\ndisplay({"text/plain": "b", "text/html": "<b>"}, raw=True)\n[P()]')
    assert [(p.mime, p.display) for p in r.parts] == [('text/plain', None), ('text/plain', 0), ('image/png', 0), ('text/plain', 1), ('text/html', 1)]
    picture, = r.pictures
    assert picture.size == (7, 5) and picture.is_picture and r._repr_png_() == picture.data and r._repr_mimebundle_()['image/png'].startswith('iVBORw')
    assert r.text == "[value]\n[<P>]\n[display: picture: image/png, 7x5, %d bytes]\n<P>\n[display: text/html]\nb" % len(picture.data)
    r = session.python('P()')
    assert r.text == '[value]\n<P>\n[the value is a picture: image/png, 7x5, %d bytes]' % len(r.value_mime['image/png']) and r.pictures[0].display is None
    assert session.python('1')._repr_png_() is None and session.python('x = 1').parts == []
    r = session.python('display({"text/plain": "p", "text/html": "x" * 2000000}, raw=True)')
    assert r.text == '[display]\np\n[left out as too big: text/html, 2000000 bytes]'
    r = session.python('h = display(P(), display_id=True)\ndisplay("b")\nh.update("a")')
    assert [d['text/plain'] for d in r.rich] == ["'a'", "'b'"] and r.pictures == []


def test_text_for_a_model(session):
    assert str(session.python('print("a")\n5')) == 'a\n[value]\n5'
    assert str(session.python('pass')) == ''
    text = str(session.python('import sys\nsys.stderr.write("warn\\n")\n1/0'))
    assert text.startswith('[stderr]\nwarn\nTraceback') and text.endswith('ZeroDivisionError: division by zero\n[error, exit code 1, state preserved]')
    session.bash(':')
    text = str(session.bash('sleep 60', timeout_ms=300))
    assert text.startswith('[hint] ') and '\n[timeout, cause wall' in text


def test_options_are_checked():
    with pytest.raises(TypeError, match="did you mean 'memory_bytes'"):
        interp.Session(memry_bytes=1)
    with pytest.raises(TypeError, match='memory_bytes must be an int'):
        interp.Session(memory_bytes='1')
    with pytest.raises(TypeError, match='pids must be an int'):
        interp.Session(pids=True)
    with pytest.raises(ValueError, match='2\\*\\*64'):
        interp.Session(timeout_ms=-1)
    with pytest.raises(ValueError, match='NUL'):
        interp.Session(backend='lo\0cal')
    with pytest.raises(interp.InvalidError) as caught:
        interp.Session(memory_bytes=1)
    e = caught.value
    assert e.code == 'INTERP_E_INVAL' and e.reason == 'option-range' and 'memory_bytes' in str(e) and not e.retryable and isinstance(e, ValueError)
    assert str(pickle.loads(pickle.dumps(e))) == str(e)
    with pytest.raises(interp.NotFoundError):
        interp.Session(backend='nowhere')
    with pytest.raises(interp.StatusError):
        interp.Session(backend_options={'local.nothing': 1})


def test_options_reach_the_sandbox():
    with interp.Session(env={'A': 'b'}, timeout_ms=interp.FOREVER, memory_bytes=64 << 20) as s:
        assert s.bash('echo $A').stdout == 'b\n'
        assert s.info['backend'] == 'local' and s.info['session'] == s.bash('').session and s.status == 'open'
        with pytest.raises(TypeError, match='an exec has no option'):
            s.bash('', timeout=5)
        with pytest.raises(interp.InvalidError):
            s.run('cobol', '')


def test_after_close(session):
    e = session.start('bash', 'sleep 30')
    session.close()
    session.close()
    assert session.status == 'gone'
    r = e.result()
    assert r.outcome == 'cancelled' and r.state == 'gone'
    with pytest.raises(interp.ClosedError):
        session.bash('')


def test_shutdown_from_another_thread(session):
    once(lambda: busy(session), session.shutdown)
    r = session.bash('sleep 30')
    assert r.outcome == 'cancelled' and r.state == 'gone'
    with pytest.raises(interp.ClosedError):
        session.bash('')


def test_close_from_another_thread(session):
    thread = once(lambda: busy(session), session.close)
    assert session.bash('sleep 30').state == 'gone'
    thread.join()


def test_gc_where_there_is_nothing_to_collect():
    with pytest.raises(interp.UnsupportedError):
        interp.gc()


def test_features():
    assert interp.has('backend.local') and not interp.has('nothing') and interp.has('option.memory_bytes')
    assert set(interp.__all__) <= set(dir(interp)) | set(interp._LATER)
    for name in interp.__all__:
        assert getattr(interp, name) is not None
    with pytest.raises(AttributeError):
        interp.nothing
