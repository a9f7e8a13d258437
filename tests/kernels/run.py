"""Runs the rows of tests/cases/behaviours.jsonl and of own.jsonl on one kernel:

    python3 run.py LANGUAGE [INTERPRETER] [PART-OF-ID]        LANGUAGE: python, javascript, bash, sh

Failures are printed with the reason; the last line is `N passed, N failed, N skipped`."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import harness                                                          # noqa: E402
import own                                                              # noqa: E402
import own_python                                                       # noqa: E402,F401

SLOW = float(os.environ.get('INTERP_TEST_SLOW', '1'))


def text(b):
    return b.decode('utf-8', 'surrogateescape') if isinstance(b, (bytes, bytearray)) else b


def slow(bad):
    """Nothing else is wrong."""
    return all(b.startswith('took ') for b in bad)


def check(want, x):
    final, bad = x['final'], []
    error = final.get('error') or {}
    results = [d for d in x['displays'] if d['kind'] == 'result']
    shown = [d for d in x['displays'] if d['kind'] == 'display']
    out, err = text(x['stdout']), text(x['stderr'])
    first = text(results[0]['mime'].get('text/plain', b'')) if results else None
    # Late output that comes while the next exec runs is in the row's stdout where the row was made with one pipe for all execs.
    both = text(b''.join(d for n, d in x['seq'] if n in ('stdout', 'late')))
    if x['late_during'] and want.get('stdout', '').replace(text(x['late_during']), '', 1) == out:    # which of the two was read first is chance
        out = want['stdout']
    elif x['late_during'] and want.get('stdout', out) != out or 'stdout_re' in want and not re.search(want['stdout_re'], out, re.S):
        out = both
    plain = {'status': final['status'], 'exit_code': final.get('exit_code'), 'signal': final.get('signal'), 'stdout': out,
             'stderr': err, 'stdout_bytes': bytes(x['stdout']).hex(), 'result': first, 'displays': len(shown),
             'error_type': error.get('type'), 'error_message': error.get('message'), 'error_line': error.get('line'),
             'error_column': error.get('column'), 'late': text(x['late_before']['stdout']),
             'source': (error.get('frames') or [{}])[-1].get('source'), 'function': (error.get('frames') or [{}])[-1].get('function')}
    for k, v in want.items():
        if k in plain:
            if plain[k] != v:
                bad.append('%s is %.300r, not %.300r' % (k, plain[k], v))
        elif k in ('stdout_re', 'stderr_re', 'result_re'):
            s = {'s': {'o': out, 'e': err}.get(k[3]), 'r': first or ''}[k[0]] if k[0] == 'r' else (out if k[3] == 'o' else err)
            if not re.search(v, s, re.S):
                bad.append('%s: %.300r does not match %r' % (k, s, v))
        elif k in ('stdout_has', 'stderr_has'):
            if v not in (out if k[3] == 'o' else err):
                bad.append('%s: %.300r lacks %r' % (k, out if k[3] == 'o' else err, v))
        elif k == 'mimes':
            have = set((results or shown)[0]['mime']) if results or shown else set()
            if not set(v) <= have:
                bad.append('mimes are %r, not %r' % (have, v))
        elif k in ('tb_has', 'tb_not'):
            for w in v:
                if (w in error.get('traceback', '')) != (k == 'tb_has'):
                    bad.append('%s %r: %s' % (k, w, error.get('traceback')))
        elif k == 'max_ms':
            if x['ms'] > v * SLOW:
                bad.append('took %.0f ms, more than %d' % (x['ms'], v))
        elif k == 'order':
            merged = []
            for n, d in x['seq']:
                if merged and merged[-1][0] == n:
                    merged[-1][1] += text(d)
                else:
                    merged.append([n, text(d)])
            if merged != v:
                bad.append('order is %r' % merged)
        else:
            bad.append('unknown key %s' % k)
    if not slow(bad) and error and 'error_type' not in want:
        bad.append('error: %s' % error.get('traceback'))
    return bad


BEGUN = {'python': 'open("%s", "w").close()', 'javascript': 'fs.writeFileSync("%s", "")', 'bash': ': >%s', 'sh': ': >%s'}


def run(row, kernel, folder):
    fails = []
    for i, s in enumerate(row['steps']):
        if s.get('pause_ms'):
            time.sleep(s['pause_ms'] / 1e3)
        if s.get('meanwhile'):
            subprocess.run(['sh', '-c', s['meanwhile'].replace('{dir}', folder)], check=True)
        begun = '%s/begun-%d' % (folder, i) if '{begun}' in s['code'] else None
        code = s['code'].replace('{begun}', BEGUN.get(kernel.language, '%s') % begun).replace('{dir}', folder)
        options = dict(s.get('opts', {}))
        if options.pop('sigint_before', None):
            kernel.interrupt_idle()
        who = 'tree' if kernel.kind == 'script' else 'pid'
        plan = [(s['interrupt_ms'] / 1e3, who, signal.SIGINT)] if 'interrupt_ms' in s else []
        plan += [(a / 1e3, w, getattr(signal, 'SIG' + n)) for a, w, n in s.get('escalate', [])]
        x = kernel.exec(code, s.get('timeout_ms', 20000) / 1e3 * SLOW, s['stdin'].encode() if 'stdin' in s else None,
                        plan, s.get('env'), options, begun)
        bad = check(s['expect'], x)
        if bad:
            fails.append((i, s['code'], bad))
        if x['final']['status'] in ('died', 'timeout'):
            if x['final']['status'] == 'timeout' or kernel.kind != 'script':
                break
    return fails


def attempt(row, language, exe):
    """[(step, code, complaints)] of the row in a kernel of its own."""
    try:
        kernel = harness.Kernel(language, exe)
    except Exception as e:
        return [(-1, '', ['start: %r' % e])]
    try:
        with tempfile.TemporaryDirectory(prefix='interp-kernel.') as folder:
            return row['run'](kernel) or [] if 'run' in row else run(row, kernel, folder)
    except Exception as e:
        return [(-1, '', ['%r\n%s' % (e, traceback.format_exc())])]
    finally:
        kernel.close()


def version(exe):
    p = subprocess.run([exe, '--version'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    m = re.search(rb'(\d+(?:\.\d+)+)', p.stdout)
    return tuple(int(n) for n in m.group(1).split(b'.')) if m else (0,)


def main():
    language = sys.argv[1]
    exe = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] else {
        'python': '/usr/bin/python3', 'javascript': '/usr/bin/node', 'bash': '/usr/bin/bash', 'sh': '/bin/sh'}[language]
    part = sys.argv[3] if len(sys.argv) > 3 else ''
    have = version(exe)
    rows = []
    with open(os.path.join(HERE, '..', 'cases', 'behaviours.jsonl'), encoding='utf-8') as f:
        rows += [json.loads(l) for l in f if l.strip()]
    rows += own.ROWS
    passed = failed = skipped = 0

    def number(v):
        return tuple(int(n) for n in v.split('.'))
    for row in rows:
        languages = row['lang'] if isinstance(row['lang'], list) else [row['lang']]
        if part not in row['id']:
            continue
        if language not in languages and not (language == 'sh' and row['id'] in own.SH_ROWS):
            continue
        need = row.get('min_py') or row.get('min_node')
        if need and have < number(need):
            print('SKIP %s: needs version %s' % (row['id'], need))
            skipped += 1
            continue
        if 'needs' in row and subprocess.run([exe, '-c', 'import ' + row['needs']], stderr=subprocess.DEVNULL).returncode:
            print('SKIP %s: %s is not there' % (row['id'], row['needs']))
            skipped += 1
            continue
        fails = attempt(row, language, exe)
        for _ in range(2):                        # the fastest of three: a busy machine is not told from a slow driver by one look
            if fails and all(slow(bad) for _, _, bad in fails):
                fails = attempt(row, language, exe)
        if fails:
            failed += 1
            print('FAIL %s: %s' % (row['id'], row['title']))
            for i, code, bad in fails:
                print('   exec %d %.90r' % (i, code))
                for b in bad:
                    print('      ' + b)
        else:
            passed += 1
    print('%s %s (%s)' % (language, exe, '.'.join(map(str, have))))
    print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
