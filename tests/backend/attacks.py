#!/usr/bin/env python3
"""Runs the attack rows that have a `check` through local_smoke.  attacks.py SMOKE AGENT ROWS [--no-cgroup] [--only ID,ID]"""
import json, re, subprocess, sys

PRELUDE = '''import ctypes,os,errno,sys
L=ctypes.CDLL(None,use_errno=True)
def sc(n,*a):
  ctypes.set_errno(0)
  r=L.syscall(n,*[ctypes.c_long(x) if isinstance(x,int) else x for x in a])
  return r if r!=-1 else errno.errorcode[ctypes.get_errno()]
'''
OPTION = {'--mem': '--memory', '--disk': '--disk', '--inodes': '--inodes', '--fsize': '--file'}
TESTING = {'--no-seccomp': 0x100, '--no-landlock': 0x200, '--no-userns2': 0x400}


def main():
    smoke, agent, rows = sys.argv[1:4]
    no_cgroup = '--no-cgroup' in sys.argv
    only = sys.argv[sys.argv.index('--only') + 1].split(',') if '--only' in sys.argv else None
    passed = failed = skipped = 0
    for line in open(rows):
        row = json.loads(line)
        if 'check' not in row or (only and row['id'] not in only):
            continue
        flags, args, i = row.get('flags', '').split(), ['--pids', '64'], 0
        if no_cgroup and '--cg' in flags:
            skipped += 1
            print('SKIP %s: it is about what a group limits, and this run has none' % row['id'])
            continue
        while i < len(flags):
            if flags[i] in OPTION:
                args += [OPTION[flags[i]], flags[i + 1]]
                i += 1
            elif flags[i] in TESTING:
                args += ['--testing', str(TESTING[flags[i]])]
            elif flags[i] == '--cg':
                i += 1
            i += 1
        cmd = [smoke, agent] + args + ['--', '/usr/bin/python3', '-c', PRELUDE + row['try']]
        try:
            p = subprocess.run(cmd, capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
            out, err = p.stdout.decode('utf-8', 'replace').rstrip('\n'), p.stderr.decode('utf-8', 'replace')
        except subprocess.TimeoutExpired:
            out, err = 'TIMEOUT', ''
        if re.search(row['check'], out):
            passed += 1
        else:
            failed += 1
            print('FAIL', row['id'], 'got', repr(out[:200]), 'want', row['check'], err[-200:])
    print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
    return 1 if failed else 0


sys.exit(main())
