#!/usr/bin/env python3
"""What runs in the virtual machine, as a service of its systemd: parts of the tests, each in the kinds of groups that hosts are in.

The lines go to the machine outside: `FAIL ...`, `SKIP ...`, then `N passed, N failed, N skipped`."""
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
with open('/proc/cmdline') as f:
    os.environ['INTERP_TEST_SLOW'] = re.search(r'interp\.slow=(\d+)', f.read()).group(1)
import runner
from disks import UID, USER
from api import Engine
from images import Images
from state import Failed, Skip, State

TOP = os.path.dirname(runner.TESTS)
BUILD = os.path.join(TOP, 'build')
ENV = {'INTERP_LIBRARY': BUILD + '/lib/libinterp.so.0', 'INTERP_TEST_LIBRARY': BUILD + '/lib/libinterp_testing.so', 'INTERP_CLI': BUILD + '/examples/interp/interp',
       'INTERP_TEST_SLOW': os.environ['INTERP_TEST_SLOW'], 'PYTHONDONTWRITEBYTECODE': '1', 'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
       'LANG': 'C.UTF-8'}
GROUP = {'isolation': 'full', 'memory': 'cgroup', 'pids': 'cgroup', 'cgroup': 'v2'}
NONE = {'isolation': 'namespaces', 'memory': 'watch', 'pids': 'rlimit', 'cpu': 'affinity', 'cgroup': 'none'}
# a host that was given a group and keeps itself in a part of it, as a service manager of its own or systemd's DelegateSubgroup= does
OWN_GROUP = 'own=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup) && mkdir $own/host && echo $$ >$own/host/cgroup.procs && exec "$@"'

RESOURCES = [sys.executable, TOP + '/tests/attack/run_attacks.py'] + [w for row in ('R03', 'R05', 'R06', 'R07', 'R16', 'P16', 'P30', 'N52', 'N53') for w in ('--only', row)]
PYTHON = [sys.executable, TOP + '/tests/cases/run_behaviours.py', '--language', 'python']


def service(*options):
    return ['systemd-run', '--quiet', '--pipe', '--wait', '--collect'] + list(options) + ['--']


def manager(*command):
    """A command of the ordinary user's own service manager."""
    return ['runuser', '-u', USER, '--', 'env', 'XDG_RUNTIME_DIR=/run/user/%d' % UID] + list(command)


def groups(reached):
    return [sys.executable, TOP + '/tests/vm/groups.py', '--reached', json.dumps(reached)]


# name: how a command gets there, what a session reaches there, what else is run there
PLACES = [
    ('root, service', service(), dict(GROUP, ids='two', cpu='affinity'), []),
    ('root, delegated service', service('-p', 'Delegate=yes'), dict(GROUP, ids='two', cpu='cgroup'), [RESOURCES, PYTHON]),
    ('user, delegated scope', manager('systemd-run', '--user', '--quiet', '--scope', '-p', 'Delegate=yes', '--'), dict(GROUP, cpu='cgroup'), [RESOURCES, PYTHON]),
    ('user, own manager\'s service', manager('systemd-run', '--user', '--quiet', '--pipe', '--wait', '--'), dict(GROUP, cpu='affinity'), []),
    ('user, part of a delegated service', service('--uid=' + USER, '-p', 'Delegate=yes') + ['sh', '-c', OWN_GROUP.replace('$$', '$$$$'), 'sh'], dict(GROUP, cpu='cgroup'), []),
    ('user, service', service('--uid=' + USER), NONE, [RESOURCES]),
]

# on a machine of another architecture: what is written for each, from vector code to filters of system calls, then sessions
UNITS = ('unit-redact', 'unit-wire', 'unit-stream', 'unit-kframe', 'unit-kframes', 'unit-json', 'unit-tar')
CASES = [[sys.executable, TOP + '/tests/cases/run_behaviours.py', '--language', language] for language in ('python', 'bash', 'javascript')]

# of tests/engine: what control groups decide, and what must be gone from them after an exec and after a session
ROWS = ('limits.*', 'life.cancel-and-timeout-of-execs', 'life.container-removed-from-outside')
# name in tests/engine, how Debian's units start it, where it then answers
ENGINES = [
    ('docker', ['systemctl', 'start', 'docker'], 'unix:///var/run/docker.sock'),
    ('podman', ['systemctl', 'start', 'podman.socket'], 'unix:///run/podman/podman.sock'),
    ('podman-rootless', manager('systemctl', '--user', 'start', 'podman.socket'), 'unix:///run/user/%d/podman/podman.sock' % UID),
]


def doctor(tally, name, way, reached):
    """The first thing that somebody runs who has no limits: it tells the truth."""
    p = subprocess.run(way + ['env'] + ['%s=%s' % kv for kv in ENV.items()] + [ENV['INTERP_CLI'], 'doctor'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    words = ' '.join(p.stdout.split())
    want = ['memory ' + reached['memory'], 'cgroup ' + reached['cgroup']] + ([] if reached['isolation'] == 'full' else ['cgroup-missing', 'Delegate=yes'])
    missing = [w for w in want if w not in words]
    if p.returncode or missing:
        tally.fail('%s: interp doctor' % name, 'status %d, without %s' % (p.returncode, missing), p.stdout)
    else:
        tally.ok(name)


def part(tally, name, way, command):
    began = time.monotonic()
    p = subprocess.run(way + ['env'] + ['%s=%s' % kv for kv in ENV.items()] + command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, errors='replace')
    what = '%s: %s' % (name, os.path.basename(command[0] if command[0] != sys.executable else command[1]))
    lines = p.stdout.splitlines()
    counts = [re.fullmatch(r'(\d+) passed, (\d+) failed, (\d+) skipped', line) for line in lines]
    counts = next((m for m in reversed(counts) if m), None)
    for line in lines:
        if line.startswith(('FAIL ', '     ', 'not ok', '# ', 'SKIP ')) and counts:
            print(re.sub(r'^(FAIL|SKIP|not ok) ', lambda m: '%s %s: ' % (m.group(1).replace('not ok', 'FAIL'), what), line), flush=True)
    if not counts:
        tally.fail(what, 'no line with counts; ended with status %d' % p.returncode, *lines[-15:])
        return
    p_, f_, s_ = map(int, counts.groups())
    tally.passed, tally.failed, tally.skipped = tally.passed + p_, tally.failed + f_, tally.skipped + s_
    print('   (%s: %d passed, %d failed, %d skipped, %d s)' % (what, p_, f_, s_, time.monotonic() - began), flush=True)


def engine(tally, name, way, url):
    """An engine as its packages start it: the limits that it sets, looked at by the tests of engines."""
    variable = 'INTERP_TEST_' + name.upper().replace('-', '_')
    p = subprocess.run(way, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if p.returncode:
        tally.fail(name, 'it does not start: ' + p.stdout)
        return
    try:
        Images(State('/interp/engines')).load(Engine(url, timeout=60 * float(ENV['INTERP_TEST_SLOW'])), 'latest')
    except (Failed, Skip, OSError) as e:
        tally.fail(name, 'the image can not be loaded: %s' % e)
        return
    part(tally, name, ['env', '%s=%s' % (variable, url)], [sys.executable, TOP + '/tests/engine/run.py', '--engine', name] + [w for row in ROWS for w in ('--only', row)])


def rest():
    """Groups that should be gone."""
    return [folder for folder, _, _ in os.walk('/sys/fs/cgroup') if re.match(r'interp-\d+-', os.path.basename(folder))]


def main():
    print('the machine is up', flush=True)
    tally = runner.Tally()
    with open(TOP + '/part') as f, open(TOP + '/command') as g:
        chosen, command = f.read(), g.read()
    if command:
        if subprocess.call(['sh', '-c', command], env=dict(os.environ, **ENV), stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT):
            tally.fail('the command', 'ended with another status than 0')
        else:
            tally.ok('the command')
    elif chosen == 'aarch64':
        for command in [[BUILD + '/tests/' + name] for name in UNITS] + CASES + [RESOURCES]:
            part(tally, os.uname().machine, [], command)
    elif chosen == 'engines':
        for name, way, url in ENGINES:
            engine(tally, name, way, url)
    else:
        for name, way, reached, parts in PLACES:
            doctor(tally, name, way, reached)
            for command in [groups(reached)] + parts:
                part(tally, name, way, command)
                left = rest()
                if left:
                    tally.fail('%s: groups are left' % name, *left)
    tally.end()


if __name__ == '__main__':
    main()
