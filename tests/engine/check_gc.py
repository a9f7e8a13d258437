"""gc with engines of our own: what is listed, what is removed of it, and what one stuck container costs. Needs no engine."""
import hashlib
import os
import subprocess
import sys
import time

from bench import Host, InterpError, want, within
from fake import Fake

OTHER_BOOT = '00000000-0000-0000-0000-000000000000'


def slurp(path):
    with open(path) as f:
        return f.read().strip()


def machine():
    return hashlib.sha256(slurp('/etc/machine-id').encode()).hexdigest() if os.path.exists('/etc/machine-id') else ''


def dead_pid():
    p = subprocess.Popen(['true'])
    p.wait()
    return p.pid


def listed(i, state='exited', age=3600, name=None, names=None, kind='session', **changes):
    """One of a list of containers: ours, of this boot, and its owner is dead, but for what is said."""
    name = name or 'libinterp-%024x' % i
    labels = dict({'kind': kind, 'name': name, 'machine': machine(), 'boot': slurp('/proc/sys/kernel/random/boot_id'), 'pidns': str(os.stat('/proc/self/ns/pid').st_ino),
                   'pid': str(dead_pid_once), 'start': '5'}, **changes)
    return {'Id': '%064x' % i, 'Names': ['/' + name] if names is None else names, 'State': state, 'Created': int(time.time()) - age, 'Command': 'it has ] } \\" in it',
            'Labels': {'io.libinterp.' + k: v for k, v in labels.items() if v is not None}, 'Ports': [], 'Mounts': [{'Name': 'x', 'RW': False}]}


dead_pid_once = dead_pid()


def collect(b, containers, answers=None, **more):
    """(numbers of what was removed, the fake's requests)"""
    with Fake(dict(answers or {}, **{'GET /containers/json': (200, containers), 'DELETE': (204, b'')})) as f, Host() as h:
        removed = h.gc(b.members(**dict({'endpoint': f.endpoint, 'image': None}, **more)))
        return [int(n, 16) for _, n in removed], list(f.requests)


def test_names(b):
    """What merely has our labels is another's: an image made of a sandbox hands them on."""
    mine = [listed(1), listed(2, name='libinterp-%024x-helper' % 2, kind='helper'), listed(3, names=['/other/link', '/libinterp-%024x' % 3])]
    others = [listed(4, names=['/my_database'], state='running'), listed(5, name='my_database'), listed(6, name='libinterp-12'), listed(7, name='libinterp-%024x-x' % 7), listed(8, names=[]),
              listed(9, name='libinterp-%024X' % 0xABCDEF), dict(listed(10), Labels={'io.libinterp.kind': 'session'}), dict(listed(11), Labels=None), dict(listed(12), Names='/libinterp-%024x' % 12)]
    removed, requests = collect(b, others + mine)
    want(removed == [1, 2, 3], 'removed %s', removed)
    want(any('/containers/json' in p and 'machine%3D' + machine() in p for _, p in requests), 'it asks for every machine\'s: %s', requests)


def test_states(b):
    """Of another boot of this machine: only what has ended, or was never started in a long time."""
    states = ('running', 'paused', 'restarting', 'removing', 'created', 'exited', 'dead', 'what', '')
    removed, _ = collect(b, [listed(i, state=s, age=60, boot=OTHER_BOOT) for i, s in enumerate(states, 1)] + [listed(20, state='created', boot=OTHER_BOOT), listed(21, state='running', boot=OTHER_BOOT),
                             listed(22, boot=OTHER_BOOT, machine='f' * 64), dict(listed(23, state='created', boot=OTHER_BOOT), Created='long ago')])
    want(removed == [6, 7, 20], 'removed %s', removed)
    removed, _ = collect(b, [listed(i, state=s, age=0) for i, s in enumerate(states, 1)])
    want(removed == list(range(1, 10)), 'of this boot, with a dead owner: removed %s', removed)


def test_live_owner_without_first_thread(b):
    """A process whose first thread has ended is a zombie to look at, and lives."""
    code = 'import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint("go", flush=True)\nctypes.CDLL(None).pthread_exit(None)'
    p = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE)
    try:
        p.stdout.readline()
        while slurp('/proc/%d/stat' % p.pid).rsplit(')', 1)[1].split()[0] != 'Z':
            time.sleep(0.01)
        start = slurp('/proc/%d/stat' % p.pid).rsplit(')', 1)[1].split()[19]
        removed, _ = collect(b, [listed(1, pid=str(p.pid), start=start, state='running')])
        want(not removed, 'gc removed what a living process owns')
    finally:
        p.kill()
        os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
        removed, _ = collect(b, [listed(1, pid=str(p.pid), start=start)])
        p.wait()
        p.stdout.close()
    want(removed == [1], 'gc left what a zombie owned')


def test_long_list(b):
    removed, requests = collect(b, [listed(i, pid=str(os.getpid()), start=None, Comment='x' * 300) for i in range(1, 6000)] + [listed(6000)])
    want(removed == [6000], 'removed %s', removed)


def test_stuck(b):
    """One that the engine hangs over, one that it refuses for good, one that it refuses at first: each of the others goes, and those come last."""
    times = []

    def hang(c, usual):
        while c.recv(65536):
            pass

    def at_first(c, usual):
        times.append(time.monotonic())
        return (500, {'message': 'is running'}) if len(times) < 3 else (204, b'')
    start = time.monotonic()
    removed, requests = collect(b, [listed(i) for i in range(1, 6)], {'DELETE /containers/0*1[?]': hang, 'DELETE /containers/0*2[?]': (500, {'message': 'busy'}), 'DELETE /containers/0*3[?]': at_first},
                                open_timeout_ms=60000)
    within(start, 25, 'gc')
    want(removed == [4, 5, 3], 'removed %s', removed)
    want(sum('0001?' in p for m, p in requests if m == 'DELETE') == 1, 'it came back to what hangs: %s', requests)
    want(1 < sum('0002?' in p for m, p in requests if m == 'DELETE') < 10, 'it asked %s', requests)


def test_nonsense(b):
    for text in (b'', b'[', b'[{}', b'[{},', b'[{},]', b'{}', b'[{}]x', b'[}]', b'[{"a":1 "b"}]', b'["', b'3', b'[' * 100000, b'[,]'):
        try:
            with Fake({'GET /containers/json': (200, text)}) as f, Host() as h:
                h.gc(b.members(endpoint=f.endpoint, image=None))
        except InterpError as e:
            want(e.facts['reason'] == 'engine-answer', '%r: %s', text[:20], e)
        else:
            want(False, '%r was taken for a list', text[:20])
    for text in (b'[]', b' [ ] ', b'null', b'[{}, {} ]\n', b'[1,null,"x]",[]]'):
        with Fake({'GET /containers/json': (200, text)}) as f, Host() as h:
            want(h.gc(b.members(endpoint=f.endpoint, image=None)) == [], '%r', text)


def test_list_that_stumbles(b):
    """Podman lists nothing while one container is on its way out: it is asked again, and what goes on failing is told."""
    asked = []

    def at_last(c, usual):
        asked.append(1)
        return (500, {'message': 'container not known'}) if len(asked) < 4 else (200, [listed(1)])
    with Fake({'GET /containers/json': at_last, 'DELETE': (204, b'')}) as f, Host() as h:
        want([int(n, 16) for _, n in h.gc(b.members(endpoint=f.endpoint, image=None))] == [1], 'nothing was removed')
    with Fake({'GET /containers/json': (500, {'message': 'container not known'})}) as f, Host() as h:
        try:
            h.gc(b.members(endpoint=f.endpoint, image=None))
            want(False, 'it ended well')
        except InterpError as e:
            want(e.facts['reason'] == 'engine-refused' and 'not known' in e.facts['message'] and 'podman rm' in e.facts['remedy'], '%s', e.facts)
        want(1 < len(f.requests) < 12, 'it asked %s', f.requests)


def test_list_that_podman_alone_gives(b):
    """Half a container makes Podman's list in Docker's words fail for good; its own has names without a slash, and times as texts."""
    own = [dict(listed(i, names=[name]), Created='2026-01-01T00:00:00Z') for i, name in ((1, 'libinterp-%024x' % 1), (2, 'my_database'))]
    version = 200, {'ApiVersion': '1.41', 'MinAPIVersion': '1.12', 'Arch': 'amd64', 'Os': 'linux', 'Version': '4.3.1', 'Components': [{'Name': 'Podman Engine'}]}
    with Fake({'GET /version': version, 'GET /containers/json.all=true': (200, own), 'GET /containers/json': (500, {'message': 'container not known'}), 'DELETE': (204, b'')}) as f, Host() as h:
        removed = [int(n, 16) for _, n in h.gc(b.members(endpoint=f.endpoint, image=None))]
        want(removed == [1], 'removed %s', removed)
        want(any(p.startswith('/v4.0.0/libpod/containers/json?') and 'io.libinterp.kind' in p for _, p in f.requests), 'it asked %s', f.requests)


def test_helper_that_stayed(b):
    """A helper that could not be removed at once is gc's, though its owner lives; its anonymous volumes go with it."""
    refusals = []

    def refuse(c, usual):
        refusals.append(1)
        return (500, {'message': 'driver busy'}) if len(refusals) == 1 else usual()
    with Fake({'DELETE /containers/[^/]*-helper': refuse, 'POST /containers/[^/]*/start': (500, {'message': 'no'})}) as f, Host() as h:
        b.refused('INTERP_E_BACKEND', 'engine-start', host=h, endpoint=f.endpoint)
        want([n for n in f.bodies if n.endswith('-helper')], 'the test is wrong: no helper stayed')
        removed = h.gc(b.members(endpoint=f.endpoint, image=None))
        want(not f.bodies and len(removed) == 1, 'left: %s, removed: %s', list(f.bodies), removed)
        want(all('v=1' in p for m, p in f.requests if m == 'DELETE'), 'without v=1: %s', f.requests)
