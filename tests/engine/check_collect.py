"""gc: what dead owners left goes; nothing else does."""
import os
import signal
import subprocess
import sys
import time
import json

from bench import Failure, Host, run, wait_for, want

CHILD = '''import os,sys
sys.path.insert(0, %(here)r)
import bench
from bench import Bench
b = Bench(%(name)r)
%(body)s
'''


def child(b, body):
    """A process with a bench of its own; prints are read from its stdout."""
    code = CHILD % {'here': os.path.dirname(os.path.abspath(__file__)), 'name': b.name, 'body': body}
    return subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, stdin=subprocess.PIPE)


def line(p):
    text = p.stdout.readline().decode().strip()
    if not text:
        raise Failure('the child process ended with %s' % p.wait())
    return text


def end(p):
    p.kill()
    p.wait()
    p.stdout.close()
    p.stdin.close()


def labels(b, name):
    return b.containers()[name]


ours = {}


def made(b, **changes):
    """A container with a name and the labels of this library: its name."""
    name = 'libinterp-' + os.urandom(12).hex() + ('-helper' if changes.get('kind') == 'helper' else '')
    if not ours:
        with b.open() as s:
            ours.update(labels(b, s.info()['reached']['container']))
    base = dict(ours, **{'io.libinterp.name': name})
    for k, v in changes.items():
        if v is None:
            base.pop('io.libinterp.' + k, None)
        else:
            base['io.libinterp.' + k] = v
    b.engine.json('POST', '/containers/create?name=' + name, {'Image': 'interp-test:latest', 'Cmd': ['sleep', '100'], 'Labels': base})
    return name


def test_dead_owners(b):
    p = child(b, "s = b.open(); t = b.open(); s.exec('bash', 'sleep 1000 & sleep 1000 &'); print(s.info()['reached']['container'], t.info()['reached']['container'], flush=True); sys.stdin.read()")
    mine = None
    try:
        names = line(p).split()
        mine = b.open()
        own = mine.info()['reached']['container']
        removed = [n for _, n in b.host.gc(b.members())]
        want(set(names + [own]) <= set(b.containers()), 'gc removed what living processes own: %s', removed)
        p.kill()
        p.wait()
        start = time.monotonic()
        removed = b.host.gc(b.members())
        b.figure('gc took %.0f ms', (time.monotonic() - start) * 1e3)
        left = set(b.containers())
        want(not left & set(names), 'left by a dead process: %s', left & set(names))
        want(len([1 for kind, _ in removed if kind == 'container']) == 2, 'removed %s', removed)
        want(own in left, 'gc removed our own')
        run(mine, 'sh', 'echo')
    finally:
        if mine:
            mine.close()
        end(p)


def test_killed_host_leaves_no_process(b):
    """Before any gc: the agent ends with its stream."""
    p = child(b, "s = b.open(); s.exec('bash', 'sleep 1000 & (setsid sleep 1000 &) '); print(s.info()['reached']['container'], flush=True); sys.stdin.read()")
    try:
        name = line(p)
        p.kill()
        p.wait()
        start = time.monotonic()
        wait_for(lambda: not b.engine.json('GET', '/containers/%s/json' % name)['State']['Running'], 10, 'the container of a killed process still runs')
        b.figure('ended %.0f ms after its host', (time.monotonic() - start) * 1e3)
        b.host.gc(b.members())
        want(name not in b.containers(), 'gc left it')
    finally:
        end(p)


def test_killed_host_that_had_forked(b):
    """A forked child of the host holds nothing, whether the session was idle, or had output that nobody read."""
    for busy in (False, True):
        body = "s = b.open()\n" + ("import ctypes; from interp_host import _P\n" if busy else '') + "print(s.info()['reached']['container'], flush=True)\n"
        if busy:   # an exec that prints while nobody reads: the stream is not watched
            body += ("r, c = _P(), _P(); h = b.host\nh.check(h.lib.interp_request_new, h.ctx, ctypes.byref(r)); j = b'{\"language\":\"python\",\"stream\":1}'\n"
                     "h.check(h.lib.interp_request_set_json, r, j, len(j)); k = b'print(\"x\"*50000000)'\nh.check(h.lib.interp_request_set_code, r, k, len(k))\n"
                     "h.check(h.lib.interp_session_exec_start, s.handle, r, ctypes.byref(c))\nimport time\nfor i in range(20): h.check(h.lib.interp_call_wait, c, 50, 0)\n")
        body += "p = os.fork()\nif p == 0:\n  import time; time.sleep(600); os._exit(0)\nprint(p, flush=True); sys.stdin.read()"
        p = child(b, body)
        grandchild = 0
        try:
            name, grandchild = line(p), int(line(p))
            p.kill()
            p.wait()
            wait_for(lambda: not b.engine.json('GET', '/containers/%s/json' % name)['State']['Running'], 10, 'the container runs on for the child of a killed process (%s)' % ('busy' if busy else 'idle'))
            b.host.gc(b.members())
            want(name not in b.containers(), 'gc left it')
        finally:
            if grandchild:
                os.kill(grandchild, signal.SIGKILL)
            end(p)


def test_programs_inherit_nothing(b):
    """A program that the host starts gets none of the sockets, at no time of an open."""
    seen = []
    for i in range(3):
        s, call = b.host.start_open(b.members())
        call.drain()
        while True:
            out = subprocess.run(['sh', '-c', 'ls -l /proc/self/fd'], stdout=subprocess.PIPE, close_fds=False, stdin=subprocess.DEVNULL).stdout.decode()
            mine = {l.split()[-1] for l in subprocess.run(['ls', '-l', '/proc/%d/fd' % os.getpid()], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode().splitlines() if 'socket:' in l}
            seen += [l for l in out.splitlines() if 'socket:' in l and l.split()[-1] in mine]
            if b.host.lib.interp_call_wait(call.handle, 0, 0, None) == 0 and call.drain():
                break
        call.finish()
        out = subprocess.run(['sh', '-c', 'ls -l /proc/self/fd'], stdout=subprocess.PIPE, close_fds=False, stdin=subprocess.DEVNULL).stdout.decode()
        want('socket:' not in out, 'an open session: a program inherits %s', [l for l in out.splitlines() if 'socket:' in l])
        s.close()
    b.figure('libcurl\'s own wake-up sockets, inherited while opening: %d looks saw some', len(seen))


def test_foreign(b):
    """Without our labels, of another boot, another PID namespace, another machine, of a living process, of nonsense."""
    names, volumes = [], []
    try:
        dead = subprocess.Popen(['true'])
        dead.wait()
        for changes in (
                {'kind': None}, {'name': None, 'pid': '999999'}, {'name': 'libinterp-' + '0' * 24, 'pid': '999999'}, {'boot': '00000000-0000-0000-0000-000000000000', 'machine': 'f' * 64}, {'boot': '00000000-0000-0000-0000-000000000000', 'machine': None}, {'boot': ''},
                {'pidns': '1', 'pid': str(dead.pid)}, {'pidns': '0', 'pid': str(dead.pid)}, {'pidns': None, 'pid': str(dead.pid)}, {'pid': '0'}, {'pid': '-1'}, {'pid': ''}, {'pid': None},
                {'start': None}, {'start': ''}, {'start': '0'}, {'pid': '99999999999999999999', 'start': None}, {'pid': str(dead.pid), 'start': '0'}):
            names.append(made(b, **changes))
        b.engine.json('POST', '/containers/create?name=foreign-%d-x' % os.getpid(), {'Image': 'interp-test:latest', 'Cmd': ['x'], 'Labels': {'other': 'label'}})
        names.append('foreign-%d-x' % os.getpid())
        b.engine.json('POST', '/volumes/create', {'Name': 'libinterp-agent-%s' % ('0' * 64)})
        volumes.append('libinterp-agent-%s' % ('0' * 64))
        b.engine.json('POST', '/volumes/create', {'Name': 'other-%d' % os.getpid(), 'Labels': {'io.libinterp.kind': 'agent', 'io.libinterp.pid': str(dead.pid)}})
        volumes.append('other-%d' % os.getpid())
        removed = b.host.gc(b.members())
        there = set(b.containers(None))
        want(set(names) <= there, 'gc removed %s (%s)', set(names) - there, removed)
        there = {v['Name'] for v in b.engine.json('GET', '/volumes')['Volumes'] or []}
        want(set(volumes) <= there, 'gc removed %s', set(volumes) - there)
    finally:
        for n in names:
            b.engine.call('DELETE', '/containers/%s?force=1&v=1' % n)
        for n in volumes:
            b.engine.call('DELETE', '/volumes/%s' % n)


def test_what_is_dead(b):
    """Of this boot with a process that is gone or has another start time; a zombie; a helper; a volume of another build."""
    names = []
    zombie = subprocess.Popen([sys.executable, '-c', 'pass'])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    with open('/proc/%d/stat' % zombie.pid) as f:
        start = f.read().rsplit(')', 1)[1].split()[19]
    try:
        for changes in ({'pid': '999999'}, {'start': '1'}, {'pid': str(zombie.pid), 'start': start}, {'kind': 'helper', 'pid': '999999'}):
            names.append(made(b, **changes))
        base = labels(b, names[0])
        volume = 'libinterp-agent-%s' % ('1' * 64)
        b.engine.json('POST', '/volumes/create', {'Name': volume, 'Labels': dict(base, **{'io.libinterp.kind': 'agent'})})
        removed = b.host.gc(b.members())
        there = set(b.containers(None))
        want(not set(names) & there, 'gc left %s', set(names) & there)
        want(('volume', volume) in removed, 'gc left the volume: %s', removed)
        want(not b.host.gc(b.members()), 'a second gc found more')
    finally:
        zombie.wait()
        for n in names:
            b.engine.call('DELETE', '/containers/%s?force=1&v=1' % n)


def test_running_of_another_boot(b):
    """A clone of this machine has its machine-id: what runs may be the clone's."""
    name = made(b, boot='00000000-0000-0000-0000-000000000000')
    try:
        b.engine.call('DELETE', '/containers/' + name)
        base = dict(ours, **{'io.libinterp.boot': '00000000-0000-0000-0000-000000000000', 'io.libinterp.name': name})
        b.engine.json('POST', '/containers/create?name=' + name, {'Image': 'interp-test:latest', 'Cmd': ['sleep', '100'], 'Labels': base, 'HostConfig': {
            'NetworkMode': 'none', 'Ulimits': [{'Name': 'nofile', 'Soft': 1024, 'Hard': 1024}, {'Name': 'nproc', 'Soft': 4096, 'Hard': 4096}]}})
        status, _, data = b.engine.call('POST', '/containers/%s/start' % name)
        want(status == 204, 'start: %d %s', status, data)
        b.host.gc(b.members())
        want(name in b.containers(), 'gc removed what runs')
        b.engine.call('POST', '/containers/%s/kill' % name)
        wait_for(lambda: not b.engine.json('GET', '/containers/%s/json' % name)['State']['Running'], 10, 'it runs')
        b.host.gc(b.members())
        want(name not in b.containers(), 'gc left what has ended')
    finally:
        b.engine.call('DELETE', '/containers/%s?force=1&v=1' % name)


def test_half_opened(b):
    """A host killed at any time of its first open."""
    for ms in (30, 60, 90, 150, 250, 400, 600):
        p = child(b, "import signal\nprint('go', flush=True)\nsignal.setitimer(signal.ITIMER_REAL, %f)\nb.open()\nprint('open', flush=True); sys.stdin.read()" % (ms / 1e3))
        line(p)
        p.wait()
        end(p)
    wait_for(lambda: not any(l.get('io.libinterp.pid') not in (str(os.getpid()), None) and not os.path.exists('/proc/' + l['io.libinterp.pid']) for l in b.containers().values()) or b.host.gc(b.members()) is None,
             15, 'gc leaves something: %s' % list(b.containers()))
