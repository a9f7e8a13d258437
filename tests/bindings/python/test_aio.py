"""The asyncio face: one descriptor, no thread."""
import asyncio
import gc
import threading
import time

import interp
import pytest

from conftest import SLOW, descriptors


def run(main):
    return asyncio.run(main())


def test_basics():
    async def main():
        async with interp.AsyncSession(memory_bytes=256 << 20) as s:
            assert s.status == 'open' and s.info['backend'] == 'local'
            r = await s.python('print("hi")\n6*7')
            assert r.stdout == 'hi\n' and r.value == '42'
            assert (await s.bash('cat', stdin='x')).stdout == 'x' and (await s.sh('echo $A', env={'A': 'b'})).stdout == 'b\n'
            assert (await s.start('bash', 'echo y')).stdout == 'y\n'
            await s.restart('python')
            assert not (await s.python('x')).ok
            with pytest.raises(interp.InvalidError):
                await s.run('cobol', '')
        assert s.status == 'gone'
        with pytest.raises(interp.ClosedError):
            await s.bash('')
        await s.close()
    run(main)
    from interp import _aio
    assert not _aio._implicit


def test_wrong_options():
    with pytest.raises(TypeError, match='did you mean'):
        interp.AsyncSession(memry_bytes=1)

    async def main():
        with pytest.raises(interp.InvalidError):
            async with interp.AsyncSession(memory_bytes=1):
                pass
        with pytest.raises(interp.ClosedError):
            await interp.AsyncSession().bash('')
    run(main)


def test_streaming():
    async def main():
        async with interp.AsyncSession() as s:
            events = [e async for e in s.stream('bash', 'for i in 1 2 3; do echo $i; sleep 0.02; done')]
            assert b''.join(e.data for e in events) == b'1\n2\n3\n' and events[-1].result.ok and len(events) >= 3
            async for e in s.stream('bash', 'while :; do echo y; done'):
                break
            del e
            gc.collect()
            assert (await s.bash('echo on')).stdout == 'on\n'
    run(main)


def test_interactive_input():
    async def main():
        async with interp.AsyncSession() as s:
            e = s.start('bash', 'read a; read b; echo $b $a', interactive=True)
            assert e.write('x\n') == 2
            await asyncio.sleep(0.05)
            assert e.write(b'y\n') == 2
            e.end_input()
            assert (await e).stdout == 'y x\n'
    run(main)


def test_cancelled_task():
    async def main():
        async with interp.AsyncSession() as s:
            for stream in (False, True):
                async def work():
                    if not stream:
                        return await s.bash('sleep 30')
                    async for _ in s.stream('bash', 'sleep 30'):
                        pass
                took = []
                while len(took) < 3 and (not took or took[-1] >= 0.2 * SLOW):     # the fastest counts
                    task = asyncio.ensure_future(work())
                    await asyncio.sleep(0.2)
                    start = time.monotonic()
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task
                    took.append(time.monotonic() - start)
                    assert (await s.bash('echo on')).stdout == 'on\n'
                assert took[-1] < 0.2 * SLOW, took
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(s.bash('sleep 30'), 0.2)
            assert (await s.bash('echo on')).stdout == 'on\n'
            # patience that ends nothing
            e = s.start('bash', 'read a; echo $a', interactive=True)
            assert not await e.wait(20)
            e.write('x\n')
            while not await e.wait(1000):
                pass
            assert (await e.result()).stdout == 'x\n'
            e = s.start('bash', 'sleep 30')
            e.cancel()
            assert (await e).outcome == 'cancelled'
    run(main)


def test_cancelled_open():
    async def main():
        before = descriptors()
        task = asyncio.ensure_future(interp.AsyncSession().open())
        while descriptors() <= before:      # it has begun
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        end = time.monotonic() + 5 * SLOW
        while descriptors() > before and time.monotonic() < end:
            await asyncio.sleep(0.05)
        assert descriptors() <= before
        cancel_context = interp.AsyncContext()
        cancel = interp.Cancel(cancel_context)
        cancel.fire()
        with pytest.raises(interp.CancelledError):
            await interp.AsyncSession(context=cancel_context, cancel=cancel).open()
        cancel_context.close()
    run(main)


def test_open_and_close_by_several_tasks():
    async def main():
        s = interp.AsyncSession()
        done = await asyncio.gather(s.open(), s.open(), return_exceptions=True)
        assert done[0] is s and isinstance(done[1], RuntimeError)
        work = asyncio.ensure_future(s.bash('sleep 30'))
        await asyncio.sleep(0.1)
        assert await asyncio.gather(s.close(), s.close(), s.close()) == [None] * 3 and s.status == 'gone'
        assert (await work).outcome == 'cancelled'
        await s.close()
        # one that is given up half-way is finished by the next
        s = await interp.AsyncSession().open()
        first = asyncio.ensure_future(s.close())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, s.close(), return_exceptions=True)
        assert s.status == 'gone'
        with pytest.raises(interp.InvalidError):
            s = interp.AsyncSession(memory_bytes=1)
            await s.open()
        with pytest.raises(interp.InvalidError):
            await s.open()      # one that failed may be tried again
    run(main)
    from interp import _aio
    assert not _aio._implicit


def test_back_pressure():
    """A guest whose events nobody pulls stands still: what it has written is what pipe and queue hold, however long one waits."""
    async def main():
        async with interp.AsyncSession() as s:
            e = s.stream('python', 'import os\nn = 0\nwhile n < 64 << 20:\n    n += os.write(1, b"x" * min(65536, (64 << 20) - n))\n    open("/tmp/n", "w").write(str(n))')
            seen = [0, 1]
            while len(seen) < 100 and (not seen[-1] or seen[-1] != seen[-2]):         # until it has begun, and stands
                await asyncio.sleep(0.5)
                seen.append(int((await s.bash('cat /tmp/n 2>/dev/null')).stdout or 0))
                assert seen[-1] < 8 << 20
            assert seen[-1] == seen[-2]
            total = 0
            async for event in e:
                total += len(event.data)
            assert total == 64 << 20 and e._result.ok
    run(main)


def test_tasks_with_kernels_of_their_own():
    async def main():
        async with interp.AsyncSession() as s:
            # each waits for all
            rs = await asyncio.gather(*(s.bash(': >here%d; until [ $(ls here* | wc -l) = 8 ]; do sleep 0.02; done; echo %d' % (i, i), kernel='k%d' % i) for i in range(8)))
            assert [r.stdout for r in rs] == ['%d\n' % i for i in range(8)]
            e = s.start('bash', 'sleep 30')
            task = asyncio.ensure_future(e.result())
            await asyncio.sleep(0.05)
            with pytest.raises(interp.BusyError):
                await e.result()
            e.close()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    run(main)


def test_a_context_that_is_closed_too_early():
    async def main():
        context = interp.AsyncContext()
        s = await interp.AsyncSession(context=context).open()
        task = asyncio.ensure_future(s.bash('sleep 30'))
        await asyncio.sleep(0.2)
        context.close()
        with pytest.raises(interp.ClosedError):
            await task
        with pytest.raises(interp.ClosedError):
            await s.bash('echo')
        await s.close()
    run(main)


def test_two_loops_in_two_threads():
    said = []

    def work(word):
        async def main():
            async with interp.AsyncSession() as s:
                for _ in range(5):
                    said.append((await s.bash('echo ' + word)).stdout)
        asyncio.run(main())
    threads = [threading.Thread(target=work, args=(w,)) for w in ('a', 'b')]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(said) == ['a\n'] * 5 + ['b\n'] * 5


@pytest.mark.parametrize('count', [200])
def test_many_sessions_with_slow_consumers(count):
    """One loop, no thread, one descriptor watched. Nine in ten consumers are slow; the fast tenth must not notice."""
    async def main():
        loop, threads = asyncio.get_running_loop(), threading.active_count()
        gate = asyncio.Semaphore(20)    # opening is work for the machine: 20 at a time
        sessions = [interp.AsyncSession(memory_bytes=32 << 20, workspace_bytes=4 << 20, open_timeout_ms=300000, timeout_ms=300000) for _ in range(count)]

        async def start(s):
            async with gate:
                await s.open()
                assert (await s.sh('echo warm')).ok
        await asyncio.gather(*(start(s) for s in sessions))
        assert threading.active_count() == threads
        quick, slow_pieces = [], 0

        async def slow(s):
            nonlocal slow_pieces
            got = 0
            async for e in s.stream('sh', 'head -c 1000000 /dev/zero'):
                got += len(e.data)
                slow_pieces += 1
                await asyncio.sleep(0.05)
            assert got == 1000000 and e.result.ok

        async def fast(s):
            for i in range(10):
                began = loop.time()
                assert (await s.sh('echo %d' % i)).stdout == '%d\n' % i
                quick.append(loop.time() - began)
                await asyncio.sleep(0.01)
        await asyncio.gather(*(fast(s) if i % 10 == 0 else slow(s) for i, s in enumerate(sessions)))
        assert threading.active_count() == threads
        quick.sort()
        print('%d sessions: fast execs %.1f ms at the median, %.1f ms at the worst, beside %d slow pieces' % (
            count, quick[len(quick) // 2] * 1e3, quick[-1] * 1e3, slow_pieces))
        assert quick[len(quick) // 2] < 1.0 * SLOW
        for s in sessions:
            s.shutdown()
        await asyncio.gather(*(s.close() for s in sessions))
    before = descriptors()
    run(main)
    gc.collect()
    assert descriptors() <= before + 2


def test_a_session_that_is_dropped():
    async def main():
        s = await interp.AsyncSession().open()
        with pytest.warns(ResourceWarning):
            del s
            gc.collect()
        s = await interp.AsyncSession().open()
        asyncio.get_running_loop().call_soon(lambda: None)
        with pytest.warns(ResourceWarning):
            held = [s]
            del s
            thread = threading.Thread(target=held.clear)   # collected on a thread that is not the loop's
            thread.start()
            thread.join()
        await asyncio.sleep(0.2)
        async with interp.AsyncSession() as s:
            assert (await s.bash('echo on')).stdout == 'on\n'
    run(main)
    from interp import _aio
    assert not _aio._implicit


def test_a_close_wakes_who_waits():
    """Whoever waits for an exec or a file that another task closes gets ClosedError at once; the session goes on and closes."""
    async def piece(reader):
        return await reader.__anext__()

    async def main():
        async with interp.AsyncSession() as s:
            waits = [lambda e: e.result(), lambda e: e.wait(30e3), piece]
            for i, wait in enumerate(waits):
                exec = s.start('bash', 'sleep 30', stream=i == 2)
                waiting = asyncio.ensure_future(wait(exec))
                await asyncio.sleep(0.1)
                exec.close()
                with pytest.raises(interp.ClosedError):
                    await asyncio.wait_for(waiting, 10 * SLOW)
                assert not s._owner._waiting and (await s.sh('echo on')).stdout == 'on\n'
            reader = s.files.get_tar('.')
            waiting = asyncio.ensure_future(reader.read())
            await asyncio.sleep(0)      # it has begun to wait
            reader.close()
            with pytest.raises(interp.ClosedError):
                await asyncio.wait_for(waiting, 10 * SLOW)
            # news that came just before: the call is gone when the task goes on
            exec = s.start('bash', 'sleep 30')
            waiting = asyncio.ensure_future(exec.result())
            await asyncio.sleep(0.1)
            for future in s._owner._waiting.values():
                future.set_result(True)
            exec.close()
            with pytest.raises(interp.ClosedError):
                await asyncio.wait_for(waiting, 10 * SLOW)
            assert not s._owner._waiting
        assert s.status == 'gone'
    run(main)


def test_a_second_waiter_harms_nobody():
    async def main():
        async with interp.AsyncSession() as s:
            exec = s.start('bash', 'echo a; read line; echo $line', stream=True, interactive=True)
            assert (await exec.__anext__()).data == b'a\n'
            first = asyncio.ensure_future(exec.result())
            await asyncio.sleep(0.1)
            for again in exec.result, exec.__anext__, lambda: exec.wait(10):
                with pytest.raises(interp.BusyError):
                    await again()
            exec.write('b\n')
            r = await asyncio.wait_for(first, 10 * SLOW)
            assert r.ok and (await exec.result()) is r
            # one that comes when the end is there already, but its waiter has not run yet
            exec = s.start('bash', 'echo c')
            first = asyncio.ensure_future(exec.result())
            while not any(future.done() for future in s._owner._waiting.values()):
                await asyncio.sleep(0)
            with pytest.raises(interp.BusyError):
                await exec.result()
            assert (await first).stdout == 'c\n'
            await s.files.write('f', b'x' * (8 << 20))
            reader = s.files.open_read('f')
            whole = asyncio.ensure_future(reader.read())
            await asyncio.sleep(0)
            with pytest.raises(interp.BusyError):
                await reader.__anext__()
            assert len(await whole) == 8 << 20 and not s._owner._waiting
        assert s.status == 'gone'
    run(main)
