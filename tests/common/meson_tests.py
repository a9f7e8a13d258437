#!/usr/bin/env python3
"""Runs the meson tests of one or more folders of tests/ and counts what they say: meson_tests.py BUILD-DIR [--jobs N] [--slow N] [--except] FOLDER...

A test that ends with `N passed, N failed, N skipped` is counted by that line, one that speaks TAP by its lines, any other as one. A folder's tests
are those of the suite of that name, and those whose command lies in tests/FOLDER. With --except: all tests but those of the folders."""
import argparse
import json
import os
import re
import subprocess
import sys

COUNT = re.compile(r'^(\d+) passed, (\d+) failed, (\d+) skipped$', re.M)
TAP = re.compile(r'^(not )?ok\b[ \d]*-? ?([^#\n]*)(# *SKIP\w* *(.*))?$', re.M | re.I)


def belongs(test, folder):
    return any(s.split(':')[-1] == folder for s in test['suite']) or any('/tests/%s/' % folder in w for w in test['cmd'])


def count(entry):
    """(passed, failed, skipped, lines to show)"""
    out, result, name = entry.get('stdout') or '', entry['result'], entry['name'].split(' / ')[-1]
    lines = [line for line in out.splitlines() if line.startswith('SKIP ')]
    whole = COUNT.findall(out)
    if whole:
        passed, failed, skipped = (int(n) for n in whole[-1])
    else:
        rows = TAP.findall(out)
        skipped = sum(1 for r in rows if r[2])
        failed = sum(1 for r in rows if r[0] and not r[2])
        passed = len(rows) - skipped - failed
        lines += ['SKIP %s: %s' % (r[1].strip() or name, r[3]) for r in rows if r[2] and not any(s.startswith('SKIP %s:' % r[1].strip()) for s in lines)]
        if not rows:
            passed, failed, skipped = (1, 0, 0) if result in ('OK', 'EXPECTEDFAIL') else (0, 0, 1) if result == 'SKIP' else (0, 1, 0)
            if skipped:
                lines.append('SKIP %s: %s' % (name, out.strip().splitlines()[-1] if out.strip() else 'the test says no reason'))
    if result not in ('OK', 'SKIP', 'EXPECTEDFAIL') and not failed:
        failed += 1
        lines.append('FAIL %s: %s, exit status %s' % (name, result, entry.get('returncode')))
    if failed:
        text = out + '\n' + (entry.get('stderr') or '')
        shown = [line for line in text.splitlines() if re.match(r'not ok|FAIL|# \S+\.\w+:\d+: |# .*(still running|died by)|==\d+==|SUMMARY|.*(ERROR|runtime error|WARNING):', line)] or text.splitlines()[-30:]
        lines += ['FAIL in %s' % name] + ['     ' + line for line in shown[:60]]
    return passed, failed, skipped, lines


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('build')
    p.add_argument('--jobs', default='1')
    p.add_argument('--slow', default='1')
    p.add_argument('--except', dest='rest', action='store_true')
    p.add_argument('folders', nargs='+')
    o = p.parse_args()
    tests = json.loads(subprocess.check_output(['meson', 'introspect', '--tests', o.build]))
    chosen = [t for t in tests if any(belongs(t, f) for f in o.folders) != o.rest]
    if not chosen:
        print('%sno meson test %s %s' % (('', 'FAIL ')[not o.rest], 'besides' if o.rest else 'belongs to', ', '.join(o.folders)))
        print('0 passed, %d failed, 0 skipped' % (0 if o.rest else 1))
        sys.exit(0 if o.rest else 1)
    log = 'stage-%s%s' % ('not-' if o.rest else '', '-'.join(o.folders))
    env = dict(os.environ, INTERP_TEST_SLOW=o.slow)
    names = sorted({t['name'] for t in chosen})
    status = subprocess.call(['meson', 'test', '-C', o.build, '--no-rebuild', '--logbase', log, '--num-processes', o.jobs, '--timeout-multiplier', o.slow] + names,
                             env=env, stdout=subprocess.DEVNULL)
    total, wanted, seen = [0, 0, 0], {t['name'] for t in chosen}, set()
    path = os.path.join(o.build, 'meson-logs', log + '.json')
    with open(path, encoding='utf-8', errors='replace') as f:
        for line in f:
            entry = json.loads(line)
            seen.add(entry['name'].split(' / ')[-1].split(':')[-1])
            passed, failed, skipped, lines = count(entry)
            total = [total[0] + passed, total[1] + failed, total[2] + skipped]
            print('%s: %d passed, %d failed, %d skipped (%.1f s)' % (entry['name'], passed, failed, skipped, entry['duration']))
            for shown in lines:
                print(shown)
    for name in sorted(wanted - seen):
        total[1] += 1
        print('FAIL %s: did not run' % name)
    if status and not total[1]:
        total[1] += 1
        print('FAIL meson test ended with status %d' % status)
    print('%d passed, %d failed, %d skipped' % tuple(total))
    sys.exit(1 if total[1] else 0)


if __name__ == '__main__':
    main()
