"""Steps of reported.jsonl that put, get and list files, over <interp/files.h>; a library without it has none of them."""
import base64
import ctypes
import hashlib
import json

import interp_host

_P, _S, _Z, _U32, _U64, _I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32
_PP = ctypes.POINTER(_P)
PROTOTYPES = {'interp_session_put': (_I, _P, _S, _Z, _U32, _S, _Z, _PP), 'interp_session_get': (_I, _P, _S, _Z, _U64, _PP, _PP),
              'interp_session_list': (_I, _P, _S, _Z, _U32, _U64, _PP, _PP), 'interp_content_data': (_P, _P, ctypes.POINTER(_Z)), 'interp_content_free': (None, _P)}
FOREVER = 2 ** 64 - 1
MEMBERS = {'file', 'content', 'content_b64', 'content_generated', 'get', 'as_text', 'sha256_equals', 'list'}
# Content that the rows have in prose: of a step, and what is wanted of one.
GENERATED = {'FIL-12': bytes(i * 7 % 251 for i in range(251)) * (8 * 1024 * 1024 // 251 + 1)}
WANTED = {'FIL-09': bytes(range(255, -1, -1)) + b'\r\n\0\n'}
CODES = {'invalid_argument': ('INTERP_E_INVAL', 'INTERP_E_LIMIT'), 'denied': ('INTERP_E_DENIED',),
         'error': ('INTERP_E_IO', 'INTERP_E_NOT_FOUND', 'INTERP_E_EXISTS')}


def available(lib):
    if not hasattr(lib, 'interp_session_put'):
        return False
    for name, (result, *arguments) in PROTOTYPES.items():
        getattr(lib, name).restype, getattr(lib, name).argtypes = result, arguments
    return True


def put(session, path, content):
    path = path.encode()
    session.host.check(session.lib.interp_session_put, session.handle, path, len(path), 0o644, content, len(content))


def fetch(session, function, path, *arguments):
    out, path = _P(), path.encode()
    session.host.check(function, session.handle, path, len(path), *arguments, ctypes.byref(out))
    try:
        return session.host.text(session.lib.interp_content_data, out)
    finally:
        session.lib.interp_content_free(out)


def run(row, path, step):
    """Does the step; returns complaints."""
    lib, error, got = row.session.lib, None, None
    try:
        if 'file' in step:
            content = base64.b64decode(step['content_b64']) if 'content_b64' in step else GENERATED[row.row['id']][:8 << 20] if 'content_generated' in step else step['content'].encode()
            put(row.session, step['file'], content)
        elif 'get' in step:
            got = fetch(row.session, lib.interp_session_get, step['get'], FOREVER)
        else:
            got = json.loads(fetch(row.session, lib.interp_session_list, step['list'], 0, 1000).decode())
    except interp_host.InterpError as e:
        error = e
    bad, expected = [], row.expectations(path)
    if error is not None and not expected:
        bad.append('step %s: %s' % (path, error))
    if error is None and 'file' in step and fetch(row.session, lib.interp_session_get, step['file'], FOREVER) != content:
        bad.append('step %s: what was put is not there' % path)
    if 'sha256_equals' in step and got is not None:
        said = next(x for p, x, _ in reversed(row.done) if x is not None).bytes('stdout').strip().decode()
        if hashlib.sha256(got).hexdigest() != said:
            bad.append('step %s: the sandbox says %s' % (path, said))
    for wanted in expected:
        words = wanted.get('status_in') or [wanted['status']]
        if error is not None:
            if not any(error.code in CODES.get(w, ()) for w in words):
                bad.append('step %s: %s, wanted %s' % (path, error, words))
            continue
        if 'ok' not in words:
            bad.append('step %s: done, wanted %s' % (path, words))
        checks = {'content': lambda v: got == v.encode(), 'content_note': lambda v: got == WANTED[row.row['id']], 'length': lambda v: len(got) == v,
                  'encoding': lambda v: got.decode(v) is not None, 'names': lambda v: [e['name'] for e in got['entries']] == v}
        for key, value in wanted.items():
            if key in checks and not checks[key](value):
                bad.append('step %s: %s is not %.100r: %.200r' % (path, key, value, got))
            elif key not in checks and key not in ('at', 'status', 'status_in', 'note'):
                row.partly.add(key)
    return bad
