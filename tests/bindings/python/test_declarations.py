"""The declarations are the headers'."""
import ctypes
import json
import os
import re
import subprocess
import sys

import interp
import pytest
from interp import _ffi, _options, errors

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
with open(os.path.join(TREE, 'tests', 'abi', 'layout.json'), encoding='utf-8') as f:
    LAYOUT = json.load(f)
NOT_BOUND = {'interp_ctx_add_backend'}


def test_checked_in_files_are_what_the_headers_make():
    done = subprocess.run([sys.executable, os.path.join(TREE, 'bindings', 'python', 'generate.py'), '--check'], stdout=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0, done.stdout


def test_drift_is_found(tmp_path):
    """The check of the check: a declaration that differs by one parameter."""
    copy = tmp_path / 'bindings' / 'python'
    (copy / 'interp').mkdir(parents=True)
    here = os.path.join(TREE, 'bindings', 'python')
    for name in ('generate.py', 'interp/_ffi.py', 'interp/_options.py', 'interp/_typing.py'):
        with open(os.path.join(here, name), encoding='utf-8') as f:
            text = f.read()
        if name.endswith('_ffi.py'):
            text = text.replace("'interp_call_free': (None, _POINTER)", "'interp_call_free': (None, _POINTER, _I32)")
        (copy / name).write_text(text, encoding='utf-8')
    for folder in ('include', 'lib'):
        os.symlink(os.path.join(TREE, folder), str(tmp_path / folder))
    done = subprocess.run([sys.executable, str(copy / 'generate.py'), '--check'], stdout=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 1 and '_ffi.py' in done.stdout


def test_constants():
    for name, value in LAYOUT['constants'].items():
        assert getattr(_ffi, name[len('INTERP_'):]) == value, name


def kind(text):
    """The ctypes of a parameter or result of layout.json, where one text has one meaning."""
    text = text.replace('const ', '').strip()
    if '(*' in text:
        return _ffi.DESTROY_FN
    fixed = {'interp_status': ctypes.c_int32, 'int32_t': ctypes.c_int32, 'uint32_t': ctypes.c_uint32, 'uint64_t': ctypes.c_uint64, 'size_t': ctypes.c_size_t,
             'int': ctypes.c_int, 'void': None, 'interp_log_fn': _ffi.LOG_FN, 'interp_audit_fn': _ffi.AUDIT_FN, 'interp_realloc_fn': _ffi.REALLOC_FN}
    words = re.match(r'(\w+)\s*(\**)', text)
    name, stars = words.group(1), words.group(2)
    if not stars:
        return fixed[name]
    if len(stars) == 2:
        return ctypes.POINTER(ctypes.c_char_p) if name == 'char' else ctypes.POINTER(ctypes.c_void_p)
    if name == 'char':
        return (ctypes.c_char_p, ctypes.c_void_p)    # either: text with its length beside it stays a pointer
    return ctypes.POINTER(fixed[name]) if name in fixed and fixed[name] else ctypes.c_void_p


def test_prototypes():
    functions = {n: p for n, p in LAYOUT['prototypes'].items() if '(' in p and not n.endswith('_fn')}
    assert set(functions) - NOT_BOUND == set(_ffi.PROTOTYPES)
    for name, text in functions.items():
        if name in NOT_BOUND:
            continue
        returned, arguments = re.match(r'(.*?)\((.*)\)$', text).groups()
        parts = [p for p in re.split(r',\s*(?![^()]*\))', arguments) if p.strip() != 'void']
        want = [kind(returned)] + [kind(p) for p in parts]
        have = list(_ffi.PROTOTYPES[name])
        assert len(want) == len(have), name
        for w, h in zip(want, have):
            assert h in w if isinstance(w, tuple) else h is w, (name, w, h)


def test_every_failure_has_an_exception():
    codes = {v for n, v in LAYOUT['constants'].items() if n.startswith('INTERP_E_') and n.count('_E_') == 1 and v < 0}
    assert codes == set(errors.BY_STATUS)
    for status, kind_ in errors.BY_STATUS.items():
        assert errors.StatusError in kind_.__mro__ and kind_.status == status


def test_every_option_has_its_setter():
    for scope, options in (('config', _options.CONFIG), ('request', _options.REQUEST)):
        for name, type_ in options.items():
            assert _ffi.PROTOTYPES['interp_%s_set_%s' % (scope, name)][2] is (ctypes.c_char_p if type_ is str else ctypes.c_uint64)


def test_the_registry_of_the_library_is_the_table():
    """What the loaded library says about its options, against the table that was generated from the source."""
    rows = interp.options()
    kinds = {'text': str, 'number': int, 'switch': bool}
    for scope, table in (('config', _options.CONFIG), ('request', _options.REQUEST)):
        assert {r['name']: kinds[r['type']] for r in rows if r['scope'] == scope and r['name'] not in ('language', 'stream', 'screen')} == table
    by_name = {(r['scope'], r['name']): r for r in rows}
    assert by_name['config', 'pids']['default'] == 128 and by_name['config', 'file_bytes']['default'] is None and by_name['config', 'image']['default'] is None
    assert by_name['config', 'timeout_ms']['unit'] == 'ms' and by_name['config', 'timeout_ms']['forever'] and by_name['request', 'stream']['default'] is False
    for r in rows:
        assert interp.has('%s.%s' % ('option' if r['scope'] == 'config' else 'request', r['name'])) and r['doc'] and r['trust'] in ('host', 'tool')
    # the ranges are those that the setters check
    for r in rows:
        if r['scope'] == 'config' and r['type'] == 'number':
            for value in (r['min'] - 1, r['max'] + 1):
                with pytest.raises(interp.InvalidError, match=r['name']):
                    interp.Session(**{r['name']: value})


@pytest.mark.parametrize('value, word', [('libinterp.so', 'absolute'), ('/nonexistent/libinterp.so.0', 'can not be loaded'), ('/lib/x86_64-linux-gnu/libc.so.6', 'no function')])
def test_a_library_that_is_none(value, word):
    if value.startswith('/lib') and not os.path.exists(value):
        pytest.skip('no libc at that path')
    environment = dict(os.environ, INTERP_LIBRARY=value, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run([sys.executable, '-c', 'import interp'], stderr=subprocess.PIPE, env=environment, universal_newlines=True)
    assert done.returncode == 1 and 'ImportError' in done.stderr and word in done.stderr


def test_an_older_library_is_refused():
    from interp import _library
    with pytest.raises(ImportError, match='0.0.9'):
        _library._check_version('x', 0x000009, '0.0.9')
    with pytest.raises(ImportError, match='1.0.0'):
        _library._check_version('x', 0x010000, '1.0.0')
    _library._check_version('x', 0x000200, '0.2.0')
