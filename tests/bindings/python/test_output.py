"""What leaves a session: redaction of contexts and sessions, output that is too long to be kept, options of output."""
import asyncio
import gzip
import os
import shutil
import struct

import pytest

import interp

SECRET = 'k7Jm2Qx9' + 'w4Rt6Yz1'
SAY = "print('k7Jm2Qx9' + 'w4Rt6Yz1', 'ACME-' + '12345')"


def test_redaction_of_a_session():
    with interp.Context() as context, interp.Session(context=context, redact={'values': {'KEY': SECRET}}) as s, interp.Session(context=context) as other:
        assert s.python(SAY).stdout == '[REDACTED:KEY] ACME-12345\n'
        assert other.python(SAY).stdout == SECRET + ' ACME-12345\n'
        if interp.has('redact.pcre2'):
            other.redact_pattern('ticket', 'ACME-[0-9]+')
            assert other.python(SAY).stdout == SECRET + ' [REDACTED:ticket]\n'
        context.redact('ALL', SECRET.encode())
        r = other.python(SAY)
        assert r.stdout.startswith('[REDACTED:ALL] ') and r.json()['redactions']['ALL'] == 1
        assert context.redacted('x %s y' % SECRET) == 'x [REDACTED:ALL] y' and context.redacted(SECRET.encode()) == b'[REDACTED:ALL]'
        with pytest.raises(interp.InvalidError, match='under 8'):
            s.redact('short', 'abc')
        s.redact_detector('network')
        assert s.run('sh', 'echo 10.1.2.3').stdout == '[REDACTED:ipv4-private]\n' and other.run('sh', 'echo 10.1.2.3').stdout == '10.1.2.3\n'
        with pytest.raises(interp.NotFoundError):
            context.redact_detector('no such')
    with pytest.raises(TypeError, match='redact has'):
        interp.Session(redact={'value': {}})
    with interp.Session(redact={'detectors': ['network']}) as s:
        assert s.run('sh', 'echo 10.1.2.3').stdout == '[REDACTED:ipv4-private]\n' and s.info['redaction'] is True
    with interp.Session(redact={'values': {'KEY': SECRET}}, redact_off=True) as s:
        assert SECRET in s.python(SAY).stdout and s.info['redaction'] is False


def test_redaction_asyncio():
    async def main():
        async with interp.AsyncSession(redact={'values': {'KEY': SECRET}}) as s:
            assert (await s.python(SAY)).stdout.startswith('[REDACTED:KEY] ')
            s.redact('TICKET', 'ACME-12345')
            assert (await s.python(SAY)).stdout == '[REDACTED:KEY] [REDACTED:TICKET]\n'
            r = await s.python("for i in range(100000): print('%09d' % i)")
            assert r.spill.read(0, 10) == b'000000000\n' and r.spill.gap is not None and not r.spill.on_disk
    asyncio.run(main())


def test_spill(tmp_path):
    with interp.Session(spill_dir=str(tmp_path)) as s:
        r = s.python("import sys\nfor i in range(200000): print('%09d' % i)\nprint('err', file=sys.stderr)")
    assert os.listdir(str(tmp_path)) == []    # no name, so nothing is ever left
    whole = b''.join(b'%09d\n' % i for i in range(200000))
    spill = r.spill
    assert r.truncated() and spill.on_disk and spill.size == spill.readable == len(whole) and spill.gap is None and spill.error is None
    assert b''.join(spill) == whole and spill.read() == whole and spill.read(10, 20) == whole[10:30] and spill.read(len(whole)) == b''
    assert spill.find('000123456') == (1234560, 123457) and spill.find('none of it') is None
    found = spill.grep('7777', limit=3)
    assert [m.text for m in found] == ['000007777', '000017777', '000027777'] and [m.line for m in found] == [7778, 17778, 27778]
    assert spill.grep('0199999', start=found[0].offset)[0].text == '000199999' and spill.grep(b'x') == []
    spill.save(tmp_path / 'kept.gz')
    with gzip.open(str(tmp_path / 'kept.gz')) as f:
        assert f.read() == whole
    with pytest.raises(interp.ExistsError):
        spill.save(str(tmp_path / 'kept.gz'))
    assert r.spill_of('stderr').read() == b'err\n' and not r.spill_of('stderr').on_disk and 'stdout' in repr(spill)
    with pytest.raises(ValueError):
        r.spill_of('stdin')
    with pytest.raises(interp.HostIOError, match='/nowhere'):
        interp.Session(spill_dir='/nowhere')


def test_spill_with_a_gap(tmp_path):
    with interp.Session(spill_dir=str(tmp_path), spill_bytes=1 << 18) as s:
        spill = s.python("for i in range(200000): print('%09d' % i)").spill
        first, last = spill.gap
        assert spill.readable == spill.size - (last - first) <= 1 << 18
        with pytest.raises(interp.NotFoundError, match='goes on at %d' % last):
            spill.read(first)
        assert spill.read(first - 10) == b'%09d\n' % (first // 10 - 1) if first % 10 == 0 else len(spill.read(first - 10)) == 10
        parts = b''.join(spill)
        assert len(parts) == spill.readable and parts.startswith(b'000000000\n') and parts.endswith(b'000199999\n')
        assert [m.line for m in spill.grep('00019999')] == list(range(199991, 200001))


def test_options_of_output():
    with interp.Session(merge_streams=True, clean_terminal=True, output_tokens=100) as s:
        r = s.python("import sys\nfor i in range(3):\n  print('o', i)\n  print('e', i, file=sys.stderr)\nfor i in range(101): print('\\r%d%%' % i, end='')\nprint()")
        assert r.stdout == 'o 0\ne 0\no 1\ne 1\no 2\ne 2\n100%\n' and r.stderr == ''
        r = s.python("for i in range(10000): print('line', i)")
        assert r.truncated() and r.json()['stdout']['text_tokens'] <= 100 and r.spill.read(0, 6) == b'line 0'
    with interp.Session(value_bytes=500) as s:
        r = s.python("class V:\n  def _repr_mimebundle_(self, **k): return {'application/json': '[' + ','.join(map(str, range(5000))) + ']'}\nV()")
        import json
        value = json.loads(r.value_mime['application/json'])
        assert value[:3] == [0, 1, 2] and value[-1].endswith(' more') and r.json()['value']['cut'][0][0] == 'application/json'


ENCODERS = {
    'python': r'''
import base64, csv, html, io, json, shlex, urllib.parse as u, xml.sax.saxutils as x
b, table = v.encode(), io.StringIO()
csv.writer(table, quoting=csv.QUOTE_ALL).writerow([v])
for name, shown in {
    'text': v, 'quote': u.quote(v), 'quote all': u.quote(v, safe=''), 'quote_plus': u.quote_plus(v), 'urlencode': u.urlencode({'k': v})[2:], 'json': json.dumps(v)[1:-1],
    'json utf8': json.dumps(v, ensure_ascii=False)[1:-1], 'html': html.escape(v), 'html text': html.escape(v, quote=False), 'xml': x.escape(v), 'xml attribute': x.escape(v, {'"': '&quot;'}),
    'repr': repr(v)[1:-1], 'ascii': ascii(v)[1:-1], 'bytes': repr(b)[2:-1], 'hex': b.hex(), 'HEX': b.hex().upper(), 'base64': base64.b64encode(b).decode().rstrip('='),
    'url base64': base64.urlsafe_b64encode(b).decode().rstrip('='), 'unicode_escape': v.encode('unicode_escape').decode(), 'csv': table.getvalue().strip()[1:-1], 'sql': v.replace("'", "''"), 'backwards': v[::-1] if v.isascii() else v,
}.items():
    print(name, shown, sep='\t')
''',
    'javascript': r'''
const shown = { component: encodeURIComponent(v), uri: encodeURI(v), form: new URLSearchParams({k: v}).toString().slice(2), json: JSON.stringify(v).slice(1, -1), inspect: require('util').inspect(v).slice(1, -1),
  hex: Buffer.from(v).toString('hex'), base64: Buffer.from(v).toString('base64').replace(/=*$/, ''), 'url base64': Buffer.from(v).toString('base64url') };
for (const [name, s] of Object.entries(shown)) console.log(name + '\t' + s);
'''}


@pytest.mark.parametrize('value', ['P@ss w0rd!#2024/x*~', 'tok/en+a&b=c<9>\'x"y', 'k\u00e4se \u20ac \U0001f600 42+', 'plain-Token_1.2~3', 'back\\slash\tand tab'])
def test_encoders(value):
    """What the encoders of the languages make of a value, they themselves being asked."""
    with interp.Session(redact={'values': {'KEY': value}}) as s:
        for language, code in ENCODERS.items():
            if language == 'javascript' and not shutil.which('node'):
                continue
            halves = ['"%s"' % ''.join('\\u%04x' % u for u in struct.unpack('<%dH' % (len(h) // 2), h)) for h in (value[:9].encode('utf-16-le'), value[9:].encode('utf-16-le'))]
            if language == 'python':
                halves = [ascii(value[:9]), ascii(value[9:])]
            r = s.run(language, 'v = %s + %s\n' % tuple(halves) + code)
            lines = [line.split('\t', 1) for line in r.check().stdout.splitlines()]
            assert len(lines) >= 8
            for name, shown in lines:
                # base64 leaves a last character that the value does not decide alone
                assert '[REDACTED:KEY]' in shown and len(shown) <= 16, (language, name, shown)
