"""From keyword arguments to the C library's configs and requests."""
from __future__ import annotations

from ctypes import byref, c_void_p

from . import _options, _text
from ._context import Cancel
from ._library import lib
from .errors import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Optional

    from ._typing import RequestOptions

    Env = Mapping[str, _text.TextOrBytes]

    class RunOptions(RequestOptions, total=False):
        """What `run` takes by name."""

        stdin: _text.TextOrBytes
        env: Env
        options: Dict[str, Any]
        cancel: Cancel

_config_setters = {key: getattr(lib, 'interp_config_set_' + key) for key in _options.CONFIG}
_request_setters = {key: getattr(lib, 'interp_request_set_' + key) for key in _options.REQUEST}


def _unknown(key: str, known: Mapping[str, Any], what: str) -> TypeError:
    from difflib import get_close_matches
    near = get_close_matches(key, known, 1)
    return TypeError('%s has no option %r%s' % (what, key, '; did you mean %r?' % near[0] if near else ''))


def known(values: Mapping[str, Any]) -> None:
    """Refuses what is no option of a session."""
    for key in values:
        if key not in _options.CONFIG:
            raise _unknown(key, _options.CONFIG, 'a session')


def _set(pointer: c_void_p, setters: Mapping[str, Any], registry: Mapping[str, type], what: str, values: Mapping[str, Any]) -> None:
    err = c_void_p()
    for key, value in values.items():
        setter = setters.get(key)
        if setter is None:
            raise _unknown(key, registry, what)
        if value is None:
            continue
        c_value = _text.name(value, key) if registry[key] is str else _text.switch(value, key) if registry[key] is bool else _text.number(value, key)
        check(setter(pointer, c_value, byref(err)), err)


def _set_env(setter: Any, pointer: c_void_p, env: Env) -> None:
    err = c_void_p()
    for key, value in env.items():
        c_value = _text.data(value, 'env[%r]' % key)
        check(setter(pointer, _text.name(key, 'a name of env'), c_value, len(c_value), byref(err)), err)


def new_config(x: int, env: Optional[Env], backend_options: Optional[Mapping[str, Any]], cancel: Optional[Cancel],
               values: Mapping[str, Any]) -> c_void_p:
    """A C config, to be freed by the caller."""
    pointer, err = c_void_p(), c_void_p()
    check(lib.interp_config_new(x, byref(pointer), byref(err)), err)
    try:
        _set(pointer, _config_setters, _options.CONFIG, 'a session', values)
        if env:
            _set_env(lib.interp_config_set_env, pointer, env)
        for key, value in (backend_options or {}).items():
            text = _text.unparse(value)
            check(lib.interp_config_set_extra(pointer, _text.name(key, 'a name of backend_options'), text, len(text), byref(err)), err)
        if cancel is not None:
            check(lib.interp_config_set_cancel(pointer, cancel._pointer, byref(err)), err)
    except BaseException:
        lib.interp_config_free(pointer)
        raise
    return pointer


def new_request(x: int, language: str, code: _text.TextOrBytes, stream: bool, stdin: Optional[_text.TextOrBytes], env: Optional[Env],
                options: Optional[Dict[str, Any]], cancel: Optional[Cancel], values: Mapping[str, Any]) -> c_void_p:
    """A C request, to be freed by the caller."""
    pointer, err = c_void_p(), c_void_p()
    check(lib.interp_request_new(x, byref(pointer), byref(err)), err)
    try:
        check(lib.interp_request_set_language(pointer, _text.name(language, 'language'), byref(err)), err)
        text = _text.data(code, 'code')
        check(lib.interp_request_set_code(pointer, text, len(text), byref(err)), err)
        if values:
            _set(pointer, _request_setters, _options.REQUEST, 'an exec', values)
        if stream:
            check(lib.interp_request_set_stream(pointer, 1, byref(err)), err)
        if stdin is not None:
            text = _text.data(stdin, 'stdin')
            check(lib.interp_request_set_stdin(pointer, text, len(text), byref(err)), err)
        if env:
            _set_env(lib.interp_request_set_env, pointer, env)
        if options is not None:
            text = _text.unparse(options)
            check(lib.interp_request_set_options(pointer, text, len(text), byref(err)), err)
        if cancel is not None:
            check(lib.interp_request_set_cancel(pointer, cancel._pointer, byref(err)), err)
    except BaseException:
        lib.interp_request_free(pointer)
        raise
    return pointer
