#!/usr/bin/env python3
"""A session's groups of version 2, seen from the host: where they are, what is written in them, who is in them, what a limit does, and that they go.

    groups.py --reached JSON     what a session has to say that it reached, member by member

The last line is `N passed, N failed, N skipped`."""
import argparse
import glob
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
import interp_host
import runner

MIB = 1 << 20
TOP = '/sys/fs/cgroup'
HOST = '''import sys, time
sys.path.insert(0, %r)
import interp_host
s = interp_host.Host().open({})
s.exec('python', '1')
print('open', flush=True)
time.sleep(600)
'''
SOCKETS = '''import socket
listener, kept, queued = socket.create_server(('127.0.0.1', 0)), [], 0
for i in range(30):
    out = socket.socket()
    out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    out.connect(listener.getsockname())
    kept += [out, listener.accept()[0]]
    out.setblocking(False)
    try:
        while True: queued += out.send(bytes(1 << 16))
    except BlockingIOError: pass
print(queued)
'''


def expect(condition, *words):
    if not condition:
        raise AssertionError(' '.join(str(w) for w in words))


def read(*names):
    with open(os.path.join(*names)) as f:
        return f.read().strip()


def owners():
    """The directories of all hosts: interp-<pid>-<start>-<number>."""
    return {folder for folder, _, _ in os.walk(TOP) if os.path.basename(folder).startswith('interp-') and not folder.endswith('.service')}


def gone(paths, seconds=10):
    """What of it is still there after a while."""
    end = time.monotonic() + seconds * runner.SLOW
    while any(os.path.exists(p) for p in paths) and time.monotonic() < end:
        time.sleep(0.05)
    return [p for p in paths if os.path.exists(p)]


def boxes(before=()):
    """The sandboxes of this process that were not there before."""
    return [b for o in owners() if os.path.basename(o).startswith('interp-%d-' % os.getpid()) for b in glob.glob(o + '/[0-9]*') if b not in before]


class Groups:
    def __init__(self, host, reached):
        self.host, self.reached = host, reached
        self.has = reached.get('cgroup') == 'v2'

    def box(self, s, before):
        s.exec('python', '1')
        found = boxes(before)
        expect(len(found) == 1, 'one sandbox has the groups', found)
        return found[0]

    def t_reached(self):
        with self.host.open({}) as s:
            told = s.info()['reached']
            expect(all(told.get(k) == v for k, v in self.reached.items()), 'want', self.reached, 'have', told)

    def t_written(self):
        before = boxes()
        with self.host.open({'memory_bytes': 96 * MIB, 'workspace_bytes': 8 * MIB, 'pids': 33, 'cpu_millis': 700 if self.reached['cpu'] == 'cgroup' else 1000}) as s:
            box = self.box(s, before)
            expect(read(box, 'u', 'memory.max') == str(96 * MIB), 'memory.max', read(box, 'u', 'memory.max'))
            if os.path.exists(box + '/u/memory.swap.max'):
                expect(read(box, 'u', 'memory.swap.max') == '0', 'swap', read(box, 'u', 'memory.swap.max'))
            expect(read(box, 'u', 'pids.max') == '33', 'pids.max', read(box, 'u', 'pids.max'))
            if self.reached['cpu'] == 'cgroup':
                expect(read(box, 'u', 'cpu.max') == '70000 100000', 'cpu.max', read(box, 'u', 'cpu.max'))
            inside, agents = set(read(box, 'u', 'cgroup.procs').split()), read(box, 'a', 'cgroup.procs').split()
            inner = {runner.inner_pid(int(p)) for p in agents}
            expect(1 in inner and not read(box, 'cgroup.procs'), 'the agent is not in its group', agents)
            kernel = s.exec('python', 'import os; print(os.getpid())').bytes('stdout').decode().strip()
            expect(int(kernel) in {runner.inner_pid(int(p)) for p in inside}, 'the kernel is not among the user\'s', kernel, inside)

    def t_unseen(self):
        """User code sees its own group as the root, no file of any group, and no descriptor of one."""
        with self.host.open({}) as s:
            x = s.exec('python', '''import os
print(open('/proc/self/cgroup').read().split())
print([n for n in ('/sys/fs/cgroup', '/sys/fs', '/sys/kernel') if os.path.exists(n)])
print([n for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n) and 'cgroup' in os.readlink('/proc/self/fd/' + n)])
print([l for l in open('/proc/self/mountinfo') if ' - cgroup' in l])''')
            expect(x.bytes('stdout') == b"['0::/']\n[]\n[]\n[]\n", x)

    def t_oom(self):
        with self.host.open({'memory_bytes': 64 * MIB}) as s:
            x = s.exec('python', 'x = []\nwhile True: x.append(bytearray(1 << 20))')
            expect(x.outcome == 'oom' and x.result['cause'] == 'memory' and x.result['state'] == 'reset' and x.result['claimed_by'] == 'host', x)
            expect(x.result['usage']['oom_kills'] >= 1 and 'memory' in x.result['usage']['limits_hit'], x.result['usage'])
            x = s.exec('python', 'import subprocess\nprint(subprocess.run(["python3", "-c", "x = []\\nwhile True: x.append(bytearray(1 << 20))"]).returncode)')
            expect(x.outcome == 'ok' and x.bytes('stdout') == b'-9\n' and x.result['usage']['oom_kills'] == 1 and x.result['state'] == 'preserved', x)
            x = s.exec('python', 'print(1)')
            expect(x.outcome == 'ok' and not x.result['usage']['oom_kills'] and not x.result['usage']['limits_hit'], 'the next exec bears the last one\'s:', x.result['usage'])

    def t_sockets(self):
        """What waits in sockets is memory of who put it there."""
        with self.host.open({'memory_bytes': 64 * MIB}) as s:
            x = s.exec('python', SOCKETS)
            expect(x.outcome == 'oom' or x.outcome == 'ok' and int(x.bytes('stdout')) < 64 * MIB, x)

    def t_peak(self):
        with self.host.open({'memory_bytes': 256 * MIB}) as s:
            x = s.exec('python', 'x = bytearray(100 << 20); del x')
            peak = x.result['usage']['memory_peak_bytes']
            expect(100 * MIB <= peak <= 256 * MIB, 'peak', peak)

    def t_pids(self):
        with self.host.open({'pids': 20}) as s:
            x = s.exec('python', '''import os, time
n = 0
try:
    while n < 100:
        if not os.fork():
            time.sleep(60)
            os._exit(0)
        n += 1
except BlockingIOError: pass
print(n)''')
            expect(x.outcome == 'ok' and 10 <= int(x.bytes('stdout')) < 20 and 'pids' in x.result['usage']['limits_hit'], x)

    def t_cpu(self):
        """A fifth of a processor is a fifth, also for many; the agent is not held by the quota of the user's code."""
        if self.reached['cpu'] != 'cgroup':
            return 'no cpu controller to write'
        with self.host.open({'cpu_millis': 200}) as s:
            s.exec('python', 'import os')
            x = s.exec('python', 'for i in range(2): os.fork()\nwhile True: pass', timeout_ms=3000, grace_ms=20000)
            u = x.result['usage']
            expect(x.outcome == 'timeout' and u['cpu_ms'], x, u)
            expect(u['cpu_ms'] < 0.4 * u['wall_ms'], '%s ms of processor time in %s ms' % (u['cpu_ms'], u['wall_ms']))

    def t_many(self):
        before = boxes()
        sessions = [self.host.open({}) for _ in range(8)]
        expect(len(boxes(before)) == 8, boxes(before))
        for s in sessions:
            expect(s.exec('bash', 'echo $((1 + 1))').bytes('stdout') == b'2\n')
        made = boxes(before)
        for s in sessions:
            s.close()
        expect(not gone(made, 0), 'left by close:', gone(made, 0))

    def t_killed_host(self):
        """A host that was killed leaves an empty group; the next one takes it away, and takes no living host's."""
        p = subprocess.Popen([sys.executable, '-c', HOST % os.path.join(runner.TESTS, 'common')], stdout=subprocess.PIPE)
        expect(p.stdout.readline() == b'open\n', 'the other host did not open')
        dead = [o for o in owners() if os.path.basename(o).startswith('interp-%d-' % p.pid)]
        with interp_host.Host() as other, other.open({}) as s:
            expect(len(dead) == 1 and os.path.exists(dead[0]), 'a living host\'s group was taken', dead)
            expect(s.exec('bash', 'echo 1').bytes('stdout') == b'1\n')
        p.kill()
        p.wait()
        end = time.monotonic() + 10 * runner.SLOW
        while 'populated 1' in read(dead[0], 'cgroup.events'):
            expect(time.monotonic() < end, 'the killed host\'s sandbox runs on')
            time.sleep(0.05)
        with interp_host.Host() as other, other.open({}):
            expect(not os.path.exists(dead[0]), 'left of a killed host:', dead)

    def t_ended_context(self):
        before = owners()
        with interp_host.Host() as other:
            with other.open({}) as s:
                s.exec('python', '1')
            made = owners() - before
            expect(len(made) == 1, made)
        expect(not gone(made, 0), 'left by the end of a context:', gone(made, 0))

    def t_full(self):
        """Isolation `full` is given, or refused with a word about what to do."""
        try:
            with self.host.open({'isolation': 'full'}) as s:
                expect(self.has and s.info()['reached']['isolation'] == 'full', s.info()['reached'])
        except interp_host.InterpError as e:
            expect(not self.has and e.code == 'INTERP_E_ISOLATION' and e.facts['reason'] == 'cgroup-missing', e)

    def t_asked(self):
        """A part of a processor was asked for and can't be had: an error; the same by default is only told."""
        if self.reached['cpu'] == 'cgroup':
            return 'it can be had'
        try:
            self.host.open({'cpu_millis': 300}).close()
            raise AssertionError('it was given')
        except interp_host.InterpError as e:
            expect(e.code == 'INTERP_E_ISOLATION', e)


NEEDS_GROUP = ('t_written', 't_peak', 't_pids', 't_cpu', 't_many', 't_killed_host', 't_ended_context', 't_unseen', 't_oom', 't_sockets')


def main():
    p = argparse.ArgumentParser(description='Groups of version 2.')
    p.add_argument('--reached', required=True, type=json.loads)
    p.add_argument('--only', action='append')
    options, tally = p.parse_args(), runner.Tally()
    with interp_host.Host() as host:
        groups = Groups(host, options.reached)
        for name in [n for n in dir(Groups) if n.startswith('t_') and runner.chosen(n[2:], options.only) and (groups.has or n not in NEEDS_GROUP)]:
            try:
                why = getattr(groups, name)()
            except (AssertionError, interp_host.InterpError, OSError, ValueError, KeyError) as e:
                tally.fail('groups ' + name[2:], '%s: %s' % (type(e).__name__, e))
            else:
                tally.skip('groups ' + name[2:], why) if why else tally.ok(name)
    sys.exit(tally.end())


if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
