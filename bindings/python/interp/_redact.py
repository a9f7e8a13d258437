"""Redaction: what must not leave. Contexts and sessions share these methods; a session adds to what its context has."""
from __future__ import annotations

from ctypes import byref, c_size_t, c_void_p, string_at

from . import _text
from ._handle import Use
from ._library import lib
from .errors import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Union

    from ._handle import Handle

    # {'values': {name: value}, 'patterns': {name: regex}, 'detectors': True, False, [names] or {name: True or False}}
    Rules = Mapping[str, Any]


def _add(function: Any, pointer: Any, name: str, value: _text.TextOrBytes, what: str) -> None:
    err, data = c_void_p(), _text.data(value, what)
    check(function(pointer, _text.name(name, 'name'), data, len(data), byref(err)), err)


def set_rules(config: Any, rules: Rules) -> None:
    """The `redact=` of a session."""
    for key in rules:
        if key not in ('values', 'patterns', 'detectors'):
            raise TypeError('redact has values, patterns and detectors, not %r' % (key,))
    for name, value in dict(rules.get('values') or {}).items():
        _add(lib.interp_config_redact_add, config, name, value, 'a value of redact')
    for name, value in dict(rules.get('patterns') or {}).items():
        _add(lib.interp_config_redact_add_pattern, config, name, value, 'a pattern of redact')
    if rules.get('detectors') is not None:
        detectors = rules['detectors']
        text = _text.unparse({'redact': {'detectors': detectors if isinstance(detectors, (bool, dict)) else list(detectors)}})
        err = c_void_p()
        check(lib.interp_config_set_json(config, text, len(text), byref(err)), err)


class Redacts:
    """What contexts and sessions have of redaction."""

    _redact_of = ''    # which of the library's functions

    def _redact_handle(self) -> Handle:
        raise NotImplementedError

    def _redact_call(self, function: str, name: str, value: _text.TextOrBytes) -> None:
        with Use(self._redact_handle()) as pointer:
            _add(getattr(lib, 'interp_%sredact_%s' % (self._redact_of, function)), pointer, name, value, 'value')

    def redact(self, name: str, value: _text.TextOrBytes) -> None:
        """From now on the value is replaced by [REDACTED:name] in all that comes out, in its usual encodings too. At least 8 bytes. Any thread, any time."""
        self._redact_call('add', name, value)

    def redact_pattern(self, name: str, regex: str) -> None:
        """The same for what a pattern in Perl's syntax matches, or for its first group."""
        self._redact_call('add_pattern', name, regex)

    def redact_detector(self, name: str, on: bool = True) -> None:
        """Switches a built-in detector ("github-token"), a group of them ("network") or "all"."""
        err = c_void_p()
        with Use(self._redact_handle()) as pointer:
            check(getattr(lib, 'interp_%sredact_set_detector' % self._redact_of)(pointer, _text.name(name, 'name'), _text.switch(on, 'on'), byref(err)), err)


def redacted(context: Handle, data: Union[str, bytes]) -> Union[str, bytes]:
    """A text as the context redacts it."""
    out, err, size = c_void_p(), c_void_p(), c_size_t()
    given = _text.data(data, 'data')
    try:
        with Use(context) as pointer:
            check(lib.interp_redact_bytes(pointer, given, len(given), byref(out), byref(err)), err)
        got = string_at(lib.interp_redacted_data(out, byref(size)), size.value)
    finally:
        lib.interp_redacted_free(out)
    return got.decode('utf-8', 'replace') if isinstance(data, str) else got
