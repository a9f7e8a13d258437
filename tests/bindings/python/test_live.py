"""Execs that run while nobody waits, kernels, probe: both faces."""
import asyncio
import signal
import time

import interp
import pytest

LINES = 'import sys\nfor i in range(40000): sys.stdout.write("%08d\\n" % i)'
WANT = b''.join(b'%08d\n' % i for i in range(40000))


def test_output_by_offset(session):
    e = session.start('python', LINES, hold_output=True)
    seen, at = [], 0
    while True:
        piece = e.output(at, limit=7001)
        assert piece.offset == at and piece.next == at + len(piece.data)
        seen.append(piece.data)
        at = piece.next
        if piece.ended:
            break
        if not piece.data:
            e.wait(50)
    assert b''.join(seen) == WANT and e.result().ok
    e = session.start('python', LINES, hold_output=True)    # nobody reads: the result comes all the same
    assert e.result().ok
    e = session.start('bash', 'echo kept; sleep 30')
    while b'kept' not in e.output().data:
        e.wait(20)
    assert e.output(2).data == b'pt\n' and not e.output(5).ended and e.output(0, 'stderr').data == b''
    for bad in ({'stream': 'both'}, {'offset': -1}):
        with pytest.raises(ValueError):
            e.output(**bad)
    e.close()
    with pytest.raises(interp.ClosedError):
        e.output()


def test_signal(session):
    e = session.start('python', 'import time\ntry:\n    print("ready", flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print("caught")')
    while not e.output().data:
        e.wait(20)
    e.signal(signal.SIGINT)
    r = e.result()
    assert r.ok and r.stdout == 'ready\ncaught\n' and r.interrupted == 'signal'
    e = session.start('bash', 'sleep 60')
    with pytest.raises(interp.InvalidError):
        e.signal(99)
    e.close()


def test_kernels(session):
    assert session.kernels == []
    session.python('x = 1')
    e = session.start('bash', 'sleep 30', kernel='work')
    first, second = session.kernels
    assert (first.language, first.name, first.state, first.exec) == ('python', 'default', 'idle', None) and first.version and first.path
    assert (second.language, second.name, second.exec) == ('bash', 'work', 2) and second.state in ('starting', 'busy')
    session.delete_kernel('bash', 'work')
    assert e.result().outcome == 'cancelled' and len(session.kernels) == 1
    with pytest.raises(interp.NotFoundError):
        session.delete_kernel('bash', 'work')


def test_environment(session):
    session.python('import os')
    session.set_env('COLOUR', 'blue')
    session.set_env('TERM', None)
    assert session.python('print(os.environ.get("COLOUR"), os.environ.get("TERM"))').stdout == 'blue None\n'
    assert session.bash('echo $COLOUR ${TERM-unset}').stdout == 'blue unset\n'
    with pytest.raises(interp.InvalidError):
        session.set_env('A=B', 'x')


def test_a_signal_is_never_missed(session):
    """However it falls, before the sleep or in it, the handler runs at once; one that was missed would run when the wait is over."""
    from ctypes import c_void_p

    from interp import _exec, _ffi
    heard, err = [], c_void_p()
    old = signal.signal(signal.SIGALRM, lambda *_: heard.append(time.monotonic()))
    e = session.start('bash', 'sleep 30')
    try:
        with _exec._Inside(e) as inside:
            for i in range(80):
                before = len(heard)
                signal.setitimer(signal.ITIMER_REAL, 0.000001 + i % 40 * 0.000005)
                while len(heard) == before:
                    status, returned = _exec._wait(inside.call, 200, err), time.monotonic()
                    if status == _ffi.E_INTR:
                        _exec.lib.interp_error_free(err)
                    # it is heard before the wait begins, or ends it
                    assert status != _ffi.AGAIN or len(heard) == before or returned - heard[-1] > 0.1, i
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        e.close()


def test_probe(session):
    found = session.probe()
    assert found['network'] == 'none' and {'bash', 'python'} <= {language['name'] for language in found['languages']}
    assert str(found) == found.text and 'No network' in found.text and session.probe() == found


def test_limits(session):
    assert session.python('while True: pass', cpu_ms=300).cause == 'cpu'
    assert session.bash('sleep 60', idle_output_ms=300).cause == 'idle_output'
    with interp.Session(session_lifetime_ms=3000) as s:
        r = s.bash('sleep 60')
        assert (r.outcome, r.cause, r.state) == ('timeout', 'lifetime', 'gone')


def test_async_faces():
    async def main():
        async with interp.AsyncSession() as s:
            e = s.start('python', LINES, hold_output=True)
            seen, at = [], 0
            while True:
                piece = e.output(at)
                assert piece.offset == at
                seen.append(piece.data)
                at = piece.next
                if piece.ended:
                    break
                if not piece.data:
                    await e.wait(50)
            assert b''.join(seen) == WANT
            assert (await e).ok
            assert (await s.start('python', LINES, hold_output=True)).ok
            found = await s.probe()
            assert 'No network' in str(found)
            assert [k.language for k in s.kernels] == ['python']
            await s.delete_kernel('python')
            assert s.kernels == []
            e = s.start('bash', "sh -c 'echo ready; exec sleep 60'")
            while not e.output().data:
                await e.wait(20)
            e.signal(signal.SIGTERM)
            assert (await e).exit_code == 143
    asyncio.run(main())
