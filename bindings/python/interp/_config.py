"""From keyword arguments to the C library's configs and requests."""
from __future__ import annotations

import os
from collections.abc import Mapping
from ctypes import byref, c_void_p

from . import _options, _text
from ._context import Cancel
from ._library import lib
from .errors import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

    from ._typing import RequestOptions

    Env = Mapping[str, _text.TextOrBytes]
    PathLike = Union[str, 'os.PathLike[str]']
    # (source), (source, target), (source, target, mode) or {'source': ..., 'target': ..., 'mode': ...}; mode is 'ro' or 'rw'
    Mount = Union[Tuple[PathLike], Tuple[PathLike, Optional[PathLike]], Tuple[PathLike, Optional[PathLike], str], Mapping[str, PathLike]]

    class StartOptions(RequestOptions, total=False):
        """Options of a request, and the files that it brings: names to contents, put before the code runs."""

        files: Mapping[Union[str, bytes], _text.TextOrBytes]
        labels: Mapping[str, str]

    class RunOptions(StartOptions, total=False):
        """What `run` takes by name."""

        stdin: _text.TextOrBytes
        env: Env
        options: Dict[str, Any]
        cancel: Cancel


class HostFiles:
    """What of this machine's files a session sees, and whose interpreters it uses."""

    __slots__ = ('mounts', 'runtimes', 'interpreters')

    def __init__(self, mounts: Optional[Iterable[Mount]] = None, runtimes: Optional[Iterable[PathLike]] = None,
                 interpreters: Optional[Mapping[str, PathLike]] = None) -> None:
        self.mounts, self.runtimes, self.interpreters = mounts, runtimes, interpreters


def _unknown(key: str, known: Mapping[str, Any], what: str) -> TypeError:
    from difflib import get_close_matches
    near = get_close_matches(key, known, 1)
    return TypeError('%s has no option %r%s' % (what, key, '; did you mean %r?' % near[0] if near else ''))


def known(values: Mapping[str, Any]) -> None:
    """Refuses what is no option of a session."""
    for key in values:
        if key not in _options.CONFIG:
            raise _unknown(key, _options.CONFIG, 'a session')


def _set(pointer: c_void_p, prefix: str, registry: Mapping[str, type], what: str, values: Mapping[str, Any]) -> None:
    err = c_void_p()
    for key, value in values.items():
        if key not in registry:
            raise _unknown(key, registry, what)
        if value is None:
            continue
        setter = getattr(lib, prefix + key)
        c_value = _text.name(value, key) if registry[key] is str else _text.switch(value, key) if registry[key] is bool else _text.number(value, key)
        check(setter(pointer, c_value, byref(err)), err)


def _add_languages(pointer: c_void_p, languages: Iterable[Mapping[str, Any]]) -> None:
    err = c_void_p()
    for language in languages:
        text = _text.unparse(language)
        check(lib.interp_config_add_language(pointer, text, len(text), byref(err)), err)


def _add_args(pointer: c_void_p, args: Iterable[str]) -> None:
    err = c_void_p()
    if isinstance(args, (str, bytes)):
        raise TypeError('args is a list of strings, not one string')
    for arg in args:
        text = _text.data(arg, 'args')
        check(lib.interp_request_add_arg(pointer, text, len(text), byref(err)), err)


def languages(x: int, added: Iterable[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """What interp_config_languages_json says."""
    pointer, err = c_void_p(), c_void_p()
    check(lib.interp_config_new(x, byref(pointer), byref(err)), err)
    try:
        _add_languages(pointer, added)
        found: List[Dict[str, Any]] = _text.parse(_text.sized(lib.interp_config_languages_json, pointer))
        return found
    finally:
        lib.interp_config_free(pointer)


def _set_env(setter: Any, pointer: c_void_p, env: Env) -> None:
    err = c_void_p()
    for key, value in env.items():
        c_value = _text.data(value, 'env[%r]' % key)
        check(setter(pointer, _text.name(key, 'a name of env'), c_value, len(c_value), byref(err)), err)


def _path(value: Any, what: str) -> bytes:
    return _text.name(os.fsdecode(value) if isinstance(value, os.PathLike) else value, what)


def _set_files(pointer: c_void_p, files: HostFiles) -> None:
    err = c_void_p()
    for mount in files.mounts or ():
        parts: Tuple[Any, ...]
        if isinstance(mount, Mapping):
            parts = tuple(mount.get(key) for key in ('source', 'target', 'mode'))
            if not set(mount) <= {'source', 'target', 'mode'}:
                raise TypeError('a mount has source, target and mode, not %s' % ', '.join(sorted(set(mount) - {'source', 'target', 'mode'})))
        elif isinstance(mount, (tuple, list)) and 1 <= len(mount) <= 3:
            parts = tuple(mount)
        else:
            raise TypeError('a mount is (source, target, mode) or {"source": ..., "target": ..., "mode": ...}, not %r' % (mount,))
        source, target, mode = (parts + (None, None))[:3]
        check(lib.interp_config_add_mount(pointer, _path(source, 'the source of a mount'), None if target is None else _path(target, 'the target of a mount'),
                                          _text.name(mode or 'ro', 'the mode of a mount'), byref(err)), err)
    for directory in files.runtimes or ():
        check(lib.interp_config_add_runtime(pointer, _path(directory, 'a runtime'), byref(err)), err)
    for language, path in (files.interpreters or {}).items():
        check(lib.interp_config_set_interpreter(pointer, _text.name(language, 'a language'), _path(path, 'an interpreter'), byref(err)), err)


def new_config(x: int, env: Optional[Env], backend_options: Optional[Mapping[str, Any]], cancel: Optional[Cancel],
               values: Mapping[str, Any], files: Optional[HostFiles] = None, redact: Optional[Mapping[str, Any]] = None,
               more: Optional[Mapping[str, Any]] = None) -> c_void_p:
    """A C config, to be freed by the caller."""
    pointer, err = c_void_p(), c_void_p()
    check(lib.interp_config_new(x, byref(pointer), byref(err)), err)
    try:
        _set(pointer, 'interp_config_set_', _options.CONFIG, 'a session', {k: v for k, v in values.items() if k != 'languages'})
        _add_languages(pointer, values.get('languages') or ())
        if env:
            _set_env(lib.interp_config_set_env, pointer, env)
        if more:
            text = _text.unparse(more)
            check(lib.interp_config_set_json(pointer, text, len(text), byref(err)), err)
        if files:
            _set_files(pointer, files)
        if redact:
            from ._redact import set_rules
            set_rules(pointer, redact)
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
        values = dict(values)
        labels = values.pop('labels', None)
        if 'files' in values:
            for name, content in (values.pop('files') or {}).items():
                path = _text.path(name)
                text = _text.data(content, 'a file')
                check(lib.interp_request_add_file(pointer, path, len(path), text, len(text), byref(err)), err)
        if values:
            _set(pointer, 'interp_request_set_', _options.REQUEST, 'an exec', {k: v for k, v in values.items() if k != 'args'})
            _add_args(pointer, values.get('args') or ())
        for key, value in (labels or {}).items():
            check(lib.interp_request_set_label(pointer, _text.name(key, 'a name of labels'), _text.name(value, 'labels[%r]' % key), byref(err)), err)
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


def more(audit: Any, labels: Optional[Mapping[str, str]], policy: Optional[Mapping[str, Any]], screen: Any) -> Dict[str, Any]:
    """What a config takes as JSON only."""
    values: Dict[str, Any] = {}
    if audit is not None:
        from . import _screen
        if _screen.callback(audit) is not None:
            raise TypeError('an audit callback is of a context: Context(audit=...)')
        values['audit'] = _screen.options(audit)
    if labels:
        values['labels'] = dict(labels)
    if policy is not None:
        values['policy'] = policy
    if screen is not None:
        values['screen'] = True
    return values
