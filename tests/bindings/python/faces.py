"""Both faces of the binding in the clothes of tests/common/interp_host.py, so that the rows of the C runner run through them unchanged."""
import asyncio
import threading
import time

import interp
import interp_host


class Exec(interp_host.Exec):
    """What interp_host.Exec has, filled from a Result and its events."""

    def __init__(self, streamed):
        super().__init__()
        self.streamed, self.start = streamed, time.monotonic()

    def event(self, e):
        if e.type == 'result':
            self.ended = time.monotonic()
            self.ms = (self.ended - self.start) * 1e3
            self.result, self.ok = e.result.json(), int(e.result.ok)
            for name in ('stdout', 'stderr'):
                self.head[name], self.tail[name] = e.result.head(name), e.result.tail(name)
        elif e.type in ('output', 'late'):
            item = {'stream': e.stream, 'offset': e.offset, 'seq': e.seq, 'exec': e.exec, 'data': e.data, 'ms': (time.monotonic() - self.start) * 1e3}
            (self.events if e.type == 'output' else self.late_events).append(item)
            self.heard.set()


def _code(code):
    return code.encode('utf-8', 'surrogateescape') if isinstance(code, str) else code


class _Timers:
    """Fires a cancel object after so many milliseconds each; 0: now. when: a function of the Exec, after which it fires, too."""

    def __init__(self, cancel, times, when=None, x=None):
        self.timers, self.x = [], x
        self.waiting = threading.Thread(target=self.wait, args=(cancel, when), daemon=True) if when else None
        for ms in times:
            if ms <= 0:
                cancel.fire()
            else:
                self.timers.append(threading.Timer(ms / 1e3, cancel.fire))

    def wait(self, cancel, when):
        when(self.x)
        self.x.fired = time.monotonic()
        cancel.fire()

    def start(self):
        for timer in self.timers:
            timer.daemon = True
            timer.start()
        if self.waiting:
            self.waiting.start()

    def stop(self):
        self.x.through.set()
        if self.waiting:
            self.waiting.join()
        for timer in self.timers:
            timer.cancel()
            timer.join()


def _split(config):
    config = dict(config or {})
    return config.pop('env', None), config


class BlockingHost:
    def open(self, config=None):
        env, options = _split(config)
        return BlockingSession(interp.Session(env=env, **options))


class BlockingSession:
    def __init__(self, session):
        self.session = session

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.close()

    def exec(self, language, code, stdin=None, stream=True, cancel_ms=(), cancel_when=None, options=None, **members):
        cancel = interp.Cancel()
        x = Exec(stream)
        timers = _Timers(cancel, cancel_ms, cancel_when, x)
        with self.session.start(language, _code(code), stream=stream, stdin=stdin, options=options, cancel=cancel, **members) as e:
            timers.start()
            try:
                for event in e:
                    x.event(event)
            finally:
                timers.stop()
        return x


class AsyncHost:
    """Runs a loop only as long as each operation takes: sessions must survive that."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()

    def open(self, config=None):
        env, options = _split(config)
        return AsyncFace(self.loop, self.loop.run_until_complete(interp.AsyncSession(env=env, **options).open()))

    def close(self):
        self.loop.close()


class AsyncFace:
    def __init__(self, loop, session):
        self.loop, self.session = loop, session

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.run_until_complete(self.session.close())

    def exec(self, language, code, stdin=None, stream=True, cancel_ms=(), cancel_when=None, options=None, **members):
        work = self._exec(language, code, stdin, stream, cancel_ms, cancel_when, options, members)
        if self.loop.is_running():      # asked by a thread of `cancel_when`
            return asyncio.run_coroutine_threadsafe(work, self.loop).result()
        return self.loop.run_until_complete(work)

    async def _exec(self, language, code, stdin, stream, cancel_ms, cancel_when, options, members):
        cancel = interp.Cancel(self.session._owner)
        x = Exec(stream)
        timers = _Timers(cancel, cancel_ms, cancel_when, x)
        async with self.session.start(language, _code(code), stream=stream, stdin=stdin, options=options, cancel=cancel, **members) as e:
            timers.start()
            try:
                async for event in e:
                    x.event(event)
            finally:
                await self.loop.run_in_executor(None, timers.stop)
        return x
