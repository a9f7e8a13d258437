"""A minimal host over the public headers, by ctypes: one threaded context, sessions, execs with streamed events.

The library is the one that the environment names: INTERP_LIBRARY=/exact/path/libinterp.so.0. Python 3.8 and newer."""
import ctypes
import json
import os
import threading
import time

OK, AGAIN, DONE = 0, 1, 2
EV_OUTPUT, EV_DONE, EV_LATE_OUTPUT = 1, 8, 9
STREAMS = {1: 'stdout', 2: 'stderr'}
NONE = -2 ** 31

_P, _PP, _S, _Z, _I, _U32, _U64 = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32,
                                   ctypes.c_uint32, ctypes.c_uint64)
_ZP = ctypes.POINTER(_Z)
# name: (result, arguments...), as in include/interp/*.h
PROTOTYPES = {
    'interp_version': (_S,),
    'interp_has': (_I, _S),
    'interp_status_name': (_S, _I),
    'interp_error_code': (_I, _P),
    'interp_error_json': (_P, _P, _ZP),
    'interp_error_free': (None, _P),
    'interp_cancel_new': (_I, _P, _PP, _PP),
    'interp_cancel_fire': (None, _P),
    'interp_cancel_free': (None, _P),
    'interp_ctx_new': (_I, _U32, _PP, _PP),
    'interp_ctx_free': (None, _P),
    'interp_ctx_add_backend': (_I, _P, _P, _P, _P, _PP),
    'interp_redact_add': (_I, _P, _S, _S, _Z, _PP),
    'interp_config_new': (_I, _P, _PP, _PP),
    'interp_config_set_json': (_I, _P, _S, _Z, _PP),
    'interp_config_free': (None, _P),
    'interp_session_open': (_I, _P, _P, _PP, _PP),
    'interp_session_exec_start': (_I, _P, _P, _PP, _PP),
    'interp_session_restart': (_I, _P, _S, _S, _PP),
    'interp_session_shutdown': (None, _P),
    'interp_session_close': (_P, _P),
    'interp_session_status': (_I, _P),
    'interp_session_info_json': (_P, _P, _ZP),
    'interp_request_new': (_I, _P, _PP, _PP),
    'interp_request_free': (None, _P),
    'interp_request_set_json': (_I, _P, _S, _Z, _PP),
    'interp_request_set_code': (_I, _P, _S, _Z, _PP),
    'interp_request_set_stdin': (_I, _P, _S, _Z, _PP),
    'interp_request_set_options': (_I, _P, _S, _Z, _PP),
    'interp_request_set_cancel': (_I, _P, _P, _PP),
    'interp_call_wait': (_I, _P, _U64, _U32, _PP),
    'interp_call_next': (_I, _P, _PP),
    'interp_call_finish': (_I, _P, _PP, _PP),
    'interp_call_free': (None, _P),
    'interp_event_type': (_I, _P),
    'interp_event_exec': (_U64, _P),
    'interp_event_stream': (_I, _P),
    'interp_event_offset': (_U64, _P),
    'interp_event_seq': (_U64, _P),
    'interp_event_data': (_P, _P, _ZP),
    'interp_result_json': (_P, _P, _ZP),
    'interp_result_head': (_P, _P, _I, _ZP),
    'interp_result_tail': (_P, _P, _I, _ZP),
    'interp_result_ok': (_I, _P),
    'interp_result_exit_code': (_I, _P),
    'interp_result_free': (None, _P),
}


def load(path=None):
    """The library with its prototypes set; path or INTERP_LIBRARY must be an absolute path (nothing is searched)."""
    path = path or os.environ.get('INTERP_LIBRARY', '')
    if not os.path.isabs(path):
        raise SystemExit('INTERP_LIBRARY must be the absolute path of the library, not %r' % path)
    lib = ctypes.CDLL(path)
    for name, (result, *arguments) in PROTOTYPES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class InterpError(Exception):
    """A call failed: code ("INTERP_E_BUSY"), reason, message, remedy, retryable, errno."""

    def __init__(self, facts):
        super().__init__('%s (%s): %s' % (facts.get('code'), facts.get('reason'), facts.get('message')))
        self.facts = facts
        self.code = facts.get('code')


class Exec:
    """What one exec came to: result (the JSON), events, and times of the host's clock."""

    def __init__(self):
        self.result, self.events, self.late_events, self.ms = None, [], [], 0.0
        self.head = {}
        self.tail = {}
        self.fired = self.ended = 0.0                                   # when cancel_when had the cancel object fired, and the end
        self.heard, self.through = threading.Event(), threading.Event()     # some output has come; nothing more comes

    def bytes(self, stream):
        """Every byte of a stream: from the events when they were streamed, else what the result kept."""
        if self.streamed:
            return b''.join(e['data'] for e in self.events if e['stream'] == stream)
        return self.head[stream] + self.tail[stream]

    def late(self, stream):
        """Late output that came with this exec, as events or in the result."""
        parts = [e['data'] for e in self.late_events if e['stream'] == stream]
        for item in self.result.get('late') or []:
            if item['stream'] == stream:
                parts.append(from_json(item))
        return b''.join(parts)

    @property
    def outcome(self):
        return self.result['outcome']

    def __str__(self):
        r = self.result
        words = ['%s=%s' % (k, r.get(k)) for k in ('outcome', 'cause', 'state', 'exit_code', 'signal', 'ran', 'interrupted')]
        return '%s in %.0f ms, stdout %r stderr %r error %r' % (' '.join(words), self.ms, self.bytes('stdout')[-300:], self.bytes('stderr')[-300:],
                                                                 (r.get('error') or {}).get('message'))


def from_json(item):
    """The bytes of an object with text, or base64 where they were no valid UTF-8."""
    if item.get('base64') is not None:
        import base64
        return base64.b64decode(item['base64'])
    return (item.get('text') or '').encode()


class Host:
    """One threaded context. INTERP_TEST_PLUGIN=/exact/path.so registers a backend out of a plug-in: its function example_backend gives the table."""

    def __init__(self, path=None):
        self.lib = load(path)
        self.ctx = _P()
        self.check(self.lib.interp_ctx_new, 0, ctypes.byref(self.ctx))
        if os.environ.get('INTERP_TEST_PLUGIN'):
            self.plugin = ctypes.CDLL(os.environ['INTERP_TEST_PLUGIN'])
            self.plugin.example_backend.restype = _P
            self.check(self.lib.interp_ctx_add_backend, self.ctx, self.plugin.example_backend(), None, None)

    def check(self, function, *arguments):
        err = _P()
        status = function(*arguments, ctypes.byref(err))
        if status >= 0:
            return status
        name = self.lib.interp_status_name(status).decode()
        facts = {'code': name}
        if err:
            facts = json.loads(self.text(self.lib.interp_error_json, err))
            self.lib.interp_error_free(err)
            if facts.get('code') != name:
                facts['message'] = 'status %s but error %s: %s' % (name, facts.get('code'), facts.get('message'))
        raise InterpError(facts)

    def text(self, getter, *handle):
        size = _Z()
        pointer = getter(*handle, ctypes.byref(size))
        return ctypes.string_at(pointer, size.value) if pointer else b''

    def redact(self, name, value):
        """Registers a value that must not come out of any session."""
        data = value.encode()
        self.check(self.lib.interp_redact_add, self.ctx, name.encode(), data, len(data))

    def open(self, config=None):
        c, s = _P(), _P()
        self.check(self.lib.interp_config_new, self.ctx, ctypes.byref(c))
        try:
            if config:
                data = json.dumps(config).encode()
                self.check(self.lib.interp_config_set_json, c, data, len(data))
            self.check(self.lib.interp_session_open, self.ctx, c, ctypes.byref(s))
        finally:
            self.lib.interp_config_free(c)
        return Session(self, s)

    def close(self):
        if self.ctx:
            self.lib.interp_ctx_free(self.ctx)
        self.ctx = _P()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Session:
    event_delay_s = 0       # what a slow consumer takes for each event

    def __init__(self, host, handle):
        self.host, self.lib, self.handle = host, host.lib, handle

    def info(self):
        return json.loads(self.host.text(self.lib.interp_session_info_json, self.handle) or b'{}')

    def restart(self, language, kernel=None):
        self.host.check(self.lib.interp_session_restart, self.handle, language.encode(), kernel.encode() if kernel else None)

    def shutdown(self):
        self.lib.interp_session_shutdown(self.handle)

    def close(self):
        """Ends the sandbox; returns the milliseconds that it took."""
        start = time.monotonic()
        if self.handle:
            self.lib.interp_session_close(self.handle)
        self.handle = _P()
        return (time.monotonic() - start) * 1e3

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def exec(self, language, code, stdin=None, stream=True, cancel_ms=(), cancel_when=None, options=None, wall_limit_s=300, on_start=None, **members):
        """Runs code to its end. cancel_ms: when a timer thread fires the cancel object, once each; 0: before the start. members: further members of the
        request's JSON. on_start: called once the exec has been started. cancel_when: called then in a thread of its own with the Exec; the cancel object
        fires when it returns. After wall_limit_s the call is given up (TimeoutError)."""
        lib, check = self.lib, self.host.check
        request, call, cancel, ev = _P(), _P(), _P(), _P()
        members.update(language=language, stream=1 if stream else 0)
        if isinstance(code, str):
            code = code.encode('utf-8', 'surrogateescape')
        timers, waiting, x = [], None, Exec()
        x.streamed = stream
        check(lib.interp_request_new, self.host.ctx, ctypes.byref(request))
        try:
            data = json.dumps(members).encode()
            check(lib.interp_request_set_json, request, data, len(data))
            check(lib.interp_request_set_code, request, code, len(code))
            if stdin is not None:
                stdin = stdin.encode() if isinstance(stdin, str) else stdin
                check(lib.interp_request_set_stdin, request, stdin, len(stdin))
            if options:
                data = json.dumps(options).encode()
                check(lib.interp_request_set_options, request, data, len(data))
            if cancel_ms or cancel_when:
                check(lib.interp_cancel_new, self.host.ctx, ctypes.byref(cancel))
                check(lib.interp_request_set_cancel, request, cancel)
            if any(ms <= 0 for ms in cancel_ms):
                lib.interp_cancel_fire(cancel)
            start = time.monotonic()
            check(lib.interp_session_exec_start, self.handle, request, ctypes.byref(call))
            for ms in cancel_ms:
                timers.append(threading.Timer(ms / 1e3, lib.interp_cancel_fire, (cancel,)))
                timers[-1].daemon = True
                timers[-1].start()
            if cancel_when:
                def wait():
                    cancel_when(x)
                    x.fired = time.monotonic()
                    lib.interp_cancel_fire(cancel)
                waiting = threading.Thread(target=wait, daemon=True)
                waiting.start()
            if on_start:
                on_start()
            while True:
                status = lib.interp_call_next(call, ctypes.byref(ev))
                if status == OK:
                    self._event(x, ev, start)
                    if self.event_delay_s:
                        time.sleep(self.event_delay_s)
                elif status == DONE:
                    break
                elif status == AGAIN:
                    if time.monotonic() - start > wall_limit_s:
                        raise TimeoutError('no result after %d s' % wall_limit_s)
                    check(lib.interp_call_wait, call, 1000, 0)
                else:
                    raise InterpError({'code': lib.interp_status_name(status).decode(), 'message': 'interp_call_next'})
            self._finish(x, call)
            x.ended = time.monotonic()
            x.ms = (x.ended - start) * 1e3
        finally:
            x.through.set()
            if waiting:
                waiting.join()
            for timer in timers:
                timer.cancel()
                timer.join()
            lib.interp_call_free(call)
            lib.interp_request_free(request)
            lib.interp_cancel_free(cancel)
        return x

    def _event(self, x, ev, start):
        lib, kind = self.lib, self.lib.interp_event_type(ev)
        if kind in (EV_OUTPUT, EV_LATE_OUTPUT):
            event = {'stream': STREAMS.get(lib.interp_event_stream(ev)), 'offset': lib.interp_event_offset(ev), 'seq': lib.interp_event_seq(ev),
                     'exec': lib.interp_event_exec(ev), 'data': self.host.text(lib.interp_event_data, ev), 'ms': (time.monotonic() - start) * 1e3}
            (x.events if kind == EV_OUTPUT else x.late_events).append(event)
            x.heard.set()

    def _finish(self, x, call):
        lib, result = self.lib, _P()
        self.host.check(lib.interp_call_finish, call, ctypes.byref(result))
        if not result:
            raise InterpError({'code': 'INTERP_OK', 'message': 'an exec that has ended gave no result'})
        try:
            x.result = json.loads(self.host.text(lib.interp_result_json, result))
            for number, name in STREAMS.items():
                size = _Z()
                pointer = lib.interp_result_head(result, number, ctypes.byref(size))
                x.head[name] = ctypes.string_at(pointer, size.value) if pointer else b''
                pointer = lib.interp_result_tail(result, number, ctypes.byref(size))
                x.tail[name] = ctypes.string_at(pointer, size.value) if pointer else b''
            x.ok = lib.interp_result_ok(result)
        finally:
            lib.interp_result_free(result)


def disagreements(x, previous_seq=0):
    """What holds for every exec, whatever it ran: result against events and result against itself. Returns complaints."""
    r, bad = x.result, []
    if bool(r['ok']) != (r['outcome'] == 'ok') or bool(x.ok) != r['ok']:
        bad.append('ok %r (getter %r) with outcome %r' % (r['ok'], x.ok, r['outcome']))
    if r['state'] not in ('preserved', 'restored', 'reset', 'gone'):
        bad.append('state %r' % r['state'])
    if r['claimed_by'] not in ('host', 'guest'):
        bad.append('claimed_by %r' % r['claimed_by'])
    if r['outcome'] == 'ok' and r['exit_code'] != 0:
        bad.append('ok with exit code %r' % r['exit_code'])
    if not x.streamed:
        if x.events or x.late_events:
            bad.append('events although none were asked for')
        return bad
    if r['late']:
        bad.append('a streaming exec has late output in its result, not as events')
    seq = previous_seq
    for e in sorted(x.events + x.late_events, key=lambda e: e['seq']):
        if e['seq'] <= seq:
            bad.append('event number %d after %d' % (e['seq'], seq))
        seq = e['seq']
        if len(e['data']) > 65536:
            bad.append('an event of %d bytes' % len(e['data']))
    for name in ('stdout', 'stderr'):
        at = 0
        for e in x.events:
            if e['stream'] != name:
                continue
            if e['offset'] != at or e['exec'] != r['exec']:
                bad.append('%s event at offset %d of exec %d, expected %d of exec %d' % (name, e['offset'], e['exec'], at, r['exec']))
            at = e['offset'] + len(e['data'])
        data, facts = x.bytes(name), r[name]
        if facts['total_bytes'] != len(data):
            bad.append('%s total_bytes %d, events carried %d' % (name, facts['total_bytes'], len(data)))
        lines = data.count(b'\n') + (1 if data and not data.endswith(b'\n') else 0)
        if facts['total_lines'] != lines:
            bad.append('%s total_lines %r, events carried %d' % (name, facts['total_lines'], lines))
        if facts['truncated']:
            if not data.startswith(x.head[name]) or not data.endswith(x.tail[name]):
                bad.append('%s head or tail is no part of the events' % name)
        elif x.head[name] + x.tail[name] != data:
            bad.append('%s of the result differs from its events' % name)
    return bad
