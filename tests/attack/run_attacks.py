#!/usr/bin/env python3
"""Rows of attacks.jsonl against the library and a real sandbox.

A row with `check` is a Python snippet. It runs twice, each time in a fresh session: as `python3 FILE` from a Bash exec and as a Python exec; its standard output
must match the regular expression, the session must go on working, and after the close nothing of it may be left. Rows without `check` run when
they have a helper here. INTERP_LIBRARY names the library; INTERP_TEST_LIBRARY the white-box one, which can leave out a layer."""
import fcntl
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
import interp_host
import mounts
import runner
import trees

MIB = 1 << 20
PRELUDE = '''import ctypes,os,errno,sys
L=ctypes.CDLL(None,use_errno=True)
def sc(n,*a):
  ctypes.set_errno(0)
  r=L.syscall(n,*[ctypes.c_long(x) if isinstance(x,int) else x for x in a])
  return r if r!=-1 else errno.errorcode[ctypes.get_errno()]
'''
# A kernel has descriptors of its own: these hold for programs only.
PROGRAM_ONLY = ('P09', 'H01')
# How the exec ends where it does not end with exit code 0: (outcome, exit code) by way.
ENDS = {
    ('R02', 'exec'): ('crashed', 0),            # the snippet leaves by os._exit
    ('P27', 'program'): ('error', 1),           # E2BIG is an uncaught OSError
    ('P27', 'exec'): ('error', 1),
}
# kill(-1) reaches the shell that started the program, too: how that exec ends is the attacker's business.
ANY_END = {('P02', 'program')}
# Rows that do not fit this sandbox as they stand, with the reason: (old, new) in the snippet, or another `check`.
AMENDED = {
}
# With one id the filter refuses shared memory that belongs to no process.
ONE_ID = {'R07': '^segments 0$'}
# Ends by the memory limit: the kernel itself (oom), or its child (the shell says 137, oom_kills counts it).
OOM = ('R03', 'R06', 'R07')
MAX_MS = {'P11': 2000, 'E01': 2000, 'E02': 4000}


class Skip(Exception):
    pass


def expect(condition, *words):
    if not condition:
        raise AssertionError(' '.join(str(w) for w in words))


class Attacks(mounts.MountAttacks, trees.TreeAttacks):
    def __init__(self, host, options):
        self.host, self.options = host, options
        self.mark = 'INTERP_TEST_MARK=%s' % uuid.uuid4().hex
        self.reached = None
        self.ran = set()       # (id, way) of the snippets that really ran

    def config(self, flags='', **more):
        name, value = self.mark.split('=')
        config = {'backend': self.options.backend, 'pids': 64, 'file_bytes': 256 * MIB, 'env': {name: value}, 'close_timeout_ms': 60000}
        words = flags.split()
        while words:
            word = words.pop(0)
            if word in ('--mem', '--disk', '--fsize'):
                key = {'--mem': 'memory_bytes', '--disk': 'workspace_bytes', '--fsize': 'file_bytes'}[word]
                config[key] = int(words.pop(0)) * MIB
            elif word == '--inodes':
                config['workspace_inodes'] = int(words.pop(0))
            elif word == '--cg':
                words.pop(0)
            elif word not in ('--overlay', '--no-seccomp'):
                raise Skip('this runner does not know the flag %s' % word)
        config.update(json.loads(self.options.config))
        config.update(more)
        return config

    def open(self, flags='', **more):
        s = self.host.open(self.config(flags, **more))
        if self.reached is None:
            self.reached = s.info().get('reached', {})
        return s

    def learn(self):
        self.open().close()

    # ---- rows with a check

    def ways(self, row):
        return ('program',) if row['id'] in PROGRAM_ONLY else ('program', 'exec')

    def run_checked(self, row, way):
        """Complaints."""
        flags = row.get('flags', '')
        if '--cg' in flags and self.reached.get('memory') != 'cgroup':
            raise Skip('no memory cgroup to write here (memory: %s)' % self.reached.get('memory'))
        if '--no-seccomp' in flags:
            host, more = white_box()
            with host:
                return self.run_in(host, row, way, flags, more)
        return self.run_in(self.host, row, way, flags, {})

    def run_in(self, host, row, way, flags, more):
        bad = []
        self.ran.add((row['id'], way))
        with host.open(self.config(flags, **more)) as s:
            code = PRELUDE + row['try'] + '\n'
            if way == 'program':
                x = s.exec('bash', 'cat > /tmp/row.py', stdin=code)
                if x.outcome != 'ok':
                    return ['can\'t write the program: %s' % x]
                x = s.exec('bash', 'python3 /tmp/row.py', timeout_ms=int(30000 * runner.SLOW))
            else:
                x = s.exec('python', code, timeout_ms=int(30000 * runner.SLOW))
            bad += self.judge(row, way, x)
            bad += self.usable(s, 'bash' if way == 'program' else 'python')
        bad += ['left after close: %s' % r for r in runner.left_over(self.mark)]
        return bad

    def judge(self, row, way, x):
        bad, name, out = [], row['id'], x.bytes('stdout').decode('utf-8', 'replace')
        refused = self.reached.get('ids') == 'one' and ONE_ID.get(name)
        check = refused or row['check']
        if not re.search(check, out):
            bad.append('stdout %r does not match %r: %s' % (out[-500:], check, x))
        if name == 'H02' and ('INTERP_TEST_HOST_SECRET' in out):
            bad.append('the environment of the host is there: %s' % out)
        if name == 'P24' and x.bytes('stdout') != bytes(range(256)):
            bad.append('not the exact bytes: %r' % x.bytes('stdout'))
        if name in MAX_MS and x.ms > MAX_MS[name] * runner.SLOW:
            bad.append('took %.0f ms' % x.ms)
        bad += interp_host.disagreements(x)
        r = x.result
        if (name in OOM and not refused) or (name == 'R16' and not out):
            killed = r['outcome'] == 'oom' and r['cause'] == 'memory' and r['state'] in ('reset', 'restored') and r['claimed_by'] == 'host'
            child = way == 'program' and r['outcome'] == 'error' and r['exit_code'] == 137 and r['usage']['oom_kills'] >= 1
            if not killed and not child:
                bad.append('not an end by the memory limit: %s, oom_kills %s' % (x, r['usage']['oom_kills']))
        elif (name, way) not in ANY_END:
            outcome, code = ENDS.get((name, way), ('ok', 0))
            if (r['outcome'], r['exit_code']) != (outcome, code):
                bad.append('ended as %s' % x)
        return bad

    def usable(self, s, language):
        """A next exec of the same kernel works, and so does its standard output."""
        code = {'python': 'print("still " + "usable")', 'bash': 'echo still usable', 'javascript': 'console.log("still usable")'}[language]
        try:
            x = s.exec(language, code)
        except interp_host.InterpError as e:
            return ['the session is not usable afterwards: %s' % e]
        if x.outcome != 'ok' or x.bytes('stdout') != b'still usable\n':
            return ['the session is not usable afterwards: %s' % x]
        return []

    # ---- rows by helper: what they should come to is in the row's own words

    def finish(self, s, language='python'):
        bad = self.usable(s, language)
        s.close()
        rest = runner.left_over(self.mark)
        expect(not bad and not rest, *(bad + rest))

    def help_S44(self):
        with self.open() as s:
            x = s.exec('python', 'import fcntl,os\nf=os.open("/usr/bin/env",os.O_RDONLY); fcntl.flock(f,fcntl.LOCK_EX); print("held")')
            if x.bytes('stdout') == b'held\n' or x.outcome == 'error':
                with open('/usr/bin/env', 'rb') as f:
                    try:
                        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except OSError:
                        expect(self.reached.get('shared_inodes'), 'the guest holds a lock on the host\'s file, and shared_inodes is not reported')
            self.finish(s)

    def help_P13(self):
        for language, code in (('python', 'import os; os.kill(os.getpid(),19)'), ('bash', "python3 -c 'import os; os.kill(os.getpid(),19)'"), ('bash', 'kill -STOP $$')):
            def stopped(language=language, code=code):
                with self.open() as s:
                    x = s.exec(language, code, timeout_ms=1000, grace_ms=1000)
                    expect(x.outcome == 'timeout' and x.result['cause'] == 'wall', language, x)
                    self.finish(s, language)
                return x.ms
            least, limit = runner.fastest(stopped, 2000 + 500 * runner.SLOW), 2000 + 500 * runner.SLOW
            expect(least < limit, language, 'late by', least)

    def help_P14(self):
        """While all pids are taken a fresh kernel either has room of its own or can't start: limit, pids. The kernel that took them goes on, and
        once it has been restarted there is room again."""
        with self.open() as s:
            hoard = s.exec('python', PRELUDE + 'import time\nwhile True:\n  try:\n    if os.fork()==0: time.sleep(60); os._exit(0)\n  except OSError as e: print(errno.errorcode[e.errno]); break')
            expect(hoard.bytes('stdout') == b'EAGAIN\n' and hoard.outcome == 'ok', hoard)
            x = s.exec('bash', 'echo 1')
            expect((x.outcome, x.bytes('stdout')) == ('ok', b'1\n') or (x.outcome, x.result['cause'], x.result['ran']) == ('limit', 'pids', False), 'with all pids taken:', x)
            expect(not self.usable(s, 'python'), 'the kernel that took them:', self.usable(s, 'python'))
            s.restart('python')
            expect(not self.usable(s, 'bash'), 'after the restart:', self.usable(s, 'bash'))
            self.finish(s)
            expect(self.reached.get('pids') != 'cgroup' or 'pids' in hoard.result['usage']['limits_hit'], 'EAGAIN by the limit is not in', hoard.result['usage'])

    def help_P16(self):
        if self.reached.get('memory') not in ('cgroup', 'watch'):
            raise Skip('memory is not limited here')
        with self.open(memory_bytes=64 * MIB) as s:
            x = s.exec('python', 'x=[]\nwhile True: x.append(bytearray(1<<20))', timeout_ms=int(30000 * runner.SLOW))
            expect(x.outcome == 'oom' and x.result['cause'] == 'memory' and x.result['claimed_by'] == 'host' and x.result['state'] == 'reset', x)
            self.finish(s)

    def help_P25(self):
        with self.open() as s:
            s.exec('python', 'import os')
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            x = s.exec('python', 'while 1: os.write(1,b"A"*65536)', stream=False, timeout_ms=3000, grace_ms=2000)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            expect(x.outcome == 'timeout', x)
            expect(x.result['stdout']['truncated'] and x.result['stdout']['total_bytes'] > 10 * MIB, 'only %d bytes' % x.result['stdout']['total_bytes'])
            expect(len(x.bytes('stdout')) <= 65536, 'kept %d bytes' % len(x.bytes('stdout')))
            expect(grown < 32, 'the host grew by %d MiB' % grown)
            self.finish(s)

    def agent_pids(self):
        return [p for p in runner.descendants() if runner.inner_pid(p) == 1 and (runner.stat_fields(p) or (0, 'X'))[1] not in 'XZ']

    def help_P30(self):
        def lost():
            with self.open() as s:
                s.exec('python', '1')
                pids = self.agent_pids()
                expect(len(pids) == 1, 'candidates for the agent:', pids)
                failed = []

                def kill():
                    try:
                        os.kill(pids[0], signal.SIGKILL)
                    except PermissionError as e:
                        failed.append(e)
                timer = threading.Timer(0.5, kill)
                x = s.exec('python', 'while True: pass', timeout_ms=8000, grace_ms=500, on_start=timer.start)
                timer.join()
                if failed:
                    raise Skip('this user may not signal the agent')
                expect(x.outcome == 'lost' and x.result['state'] == 'gone', x)
                rest = runner.left_over(self.mark, 10 * runner.SLOW)
                expect(not rest or all(' Z ' in r for r in rest), rest)
                try:
                    again = s.exec('python', '1')
                    raise AssertionError('an exec after the loss: %s' % again)
                except interp_host.InterpError as e:
                    expect(e.code == 'INTERP_E_CLOSED', e)
                return x.ms
        limit = 500 + 1000 * runner.SLOW
        least = runner.fastest(lost, limit)
        expect(least < limit, 'told only after', least)
        with self.open() as s:
            self.finish(s)

    def help_R13(self):
        with self.open() as s:
            self.usable(s, 'python')

            def busy():
                x = s.exec('python', 'while 1: pass', timeout_ms=1000, grace_ms=60000)
                expect(x.outcome == 'timeout' and x.result['cause'] == 'wall' and x.result['state'] == 'preserved', x)
                return x.ms
            least = runner.fastest(busy, 2000)
            expect(least < 2000 + 500 * runner.SLOW, 'late by', least)
            self.finish(s)

    def victim(self, code, fork=False):
        """A host process of its own with a session that has run the code; returns (process, pids below it with their start times)."""
        script = ('import sys,os,json,time\nsys.path.insert(0,%r)\nimport interp_host\nh=interp_host.Host()\ns=h.open(json.loads(%r))\n'
                  'x=s.exec("bash",%r)\n%sprint("ready",x.outcome,flush=True)\ntime.sleep(60)\n')
        text = script % (os.path.join(runner.TESTS, 'common'), json.dumps(self.config()), code,
                         'if os.fork()==0:\n  os.close(1); time.sleep(60); os._exit(0)\n' if fork else '')
        process = subprocess.Popen([sys.executable, '-c', text], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        line = process.stdout.readline()
        expect(line == b'ready ok\n', 'the host process says', line)
        below = {p for p in runner.descendants(process.pid) if runner.inner_pid(p) is not None}
        expect(below, 'no process of the sandbox below the host process')
        return process, below

    def killed_host(self, code, limit_ms, fork=False):
        least = runner.fastest(lambda: self.after_kill(code, fork), limit_ms * runner.SLOW)
        expect(least <= limit_ms * runner.SLOW, 'sandbox gone only after %.0f ms, at most %d' % (least, limit_ms))

    def after_kill(self, code, fork):
        """Milliseconds from the host's end to the sandbox's."""
        process, below = self.victim(code, fork)
        children = [p for p, parent in runner.descendants(process.pid).items() if parent == process.pid and runner.inner_pid(p) is None]
        os.kill(process.pid, signal.SIGKILL)
        start = time.monotonic()
        while True:
            rest = [p for p in below if (runner.stat_fields(p) or (0, 'X'))[1] not in 'XZ'] + [p for p in runner.marked(self.mark) if p not in (os.getpid(), process.pid)
                                                                                            and runner.inner_pid(p) is not None]
            ms = (time.monotonic() - start) * 1e3
            if not rest or ms > 5000 * runner.SLOW:
                break
            time.sleep(0.005)
        for p in children:
            os.kill(p, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        expect(not rest, 'alive %.0f ms after the host was killed:' % ms, rest)
        return ms

    def help_H07(self):
        self.killed_host('setsid sleep 600 & sleep 600 & echo started', 100)

    def help_N65(self):
        self.killed_host('setsid sleep 600 & echo started', 1000, fork=True)
        time.sleep(0.1)

    def help_N41(self):
        self.killed_host('for i in 1 2 3 4 5 6 7 8; do (while :; do (sleep 0.01 &) ; done) & done; sleep 0.3; echo started', 1000)

    def help_N24(self):
        """Frames that come while no exec is in flight: the next exec is never reported before it has run."""
        with self.open() as s:
            x = s.exec('python', SOCKETS + 'import threading,time\ndef w():\n  time.sleep(.2)\n  open("/tmp/writes","w").close()\n  for f in sockets():\n    os.write(f,struct.pack("<IIBBHI",17,0,102,1,0,0)+b\'{"exit_code": 0  }\')\n'
                       'threading.Thread(target=w).start()')
            expect(x.outcome == 'ok', x)
            s.exec('bash', 'until [ -e /tmp/writes ]; do sleep 0.02; done; sleep 0.4')
            x = s.exec('python', 'open("/tmp/ran","w").close()')
            ran = s.exec('bash', 'test -e /tmp/ran && echo yes || echo no').bytes('stdout')
            if x.outcome == 'ok':
                expect(ran == b'yes\n', 'ok was reported but the code did not run:', x)
            else:
                expect(x.outcome == 'crashed' and x.result['cause'] == 'protocol' and x.result['state'] == 'reset', x)
            self.finish(s)

    def help_N29(self):
        with self.open() as s:
            x = s.exec('python', 'import subprocess,time\np=subprocess.Popen(["sh","-c","until [ -e /tmp/go ]; do sleep .02; done; echo FROM-EXEC-1"])')
            first = x.result['exec']
            x = s.exec('python', 'open("/tmp/go","w").close(); p.wait(); print("two")')
            expect(x.bytes('stdout') == b'two\n', x)
            late, end = x.late_events, time.monotonic() + 10 * runner.SLOW
            while not late and time.monotonic() < end:       # its last words may come just after the exec that waited for it
                late = s.exec('python', '0').late_events
            expect(b''.join(e['data'] for e in late) == b'FROM-EXEC-1\n' and all(e['exec'] == first for e in late), 'late:', late)
            self.finish(s)

    def help_N30(self):
        with self.open() as s:
            x = s.exec('python', SOCKETS + 'import subprocess\nfor f in sockets(): os.set_inheritable(f,True)\nsubprocess.Popen(["sleep","30"],close_fds=False); os._exit(7)')
            expect(x.outcome == 'crashed' and x.result['exit_code'] == 7 and x.result['claimed_by'] == 'host', x)
            expect(x.ms < 2000 * runner.SLOW, 'only after', x.ms)
            self.finish(s)

    def help_N67(self):
        with self.open() as s:
            evil = ('import array,socket,time\ns=socket.socket(fileno=0)\nfor i in range(15): s.sendmsg([b"\\0"],[(socket.SOL_SOCKET,socket.SCM_RIGHTS,array.array("i",[1]))])\n'
                    'open("/tmp/sent","w").close()\ntime.sleep(600)\n')
            s.exec('bash', 'cat > /tmp/evil.py', stdin=evil)
            x = s.exec('bash', 'kept=1; yes & busy=$!; for n in {10..20}; do python3 /tmp/evil.py <&$n & done 2>/dev/null\nwhile [ ! -e /tmp/sent ]; do sleep 0.01; done\nkill $busy; set -u; echo $undefined', timeout_ms=int(60000 * runner.SLOW))
            expect(x.outcome == 'error' and x.result['state'] == 'preserved' and not x.result['interrupted'], x)
            x = s.exec('bash', 'echo $kept; pkill -f evil.py')
            expect(x.bytes('stdout') == b'1\n', x)
            self.finish(s)

    def help_N33(self):
        with self.open() as s:
            x = s.exec('python', SOCKETS + 'import time\nfor f in sockets():\n  os.set_blocking(f,True)\n  os.write(f,struct.pack("<IIBBHI",1<<31,0,100,0,0,0))\n'
                       '  try:\n    for i in range(64): os.write(f,b"x"*(1<<20))\n  except OSError: pass\ntime.sleep(100)', timeout_ms=120000)
            expect(x.outcome == 'crashed' and x.result['cause'] == 'protocol' and x.result['claimed_by'] == 'host', x)
            expect(x.ms < 5000 * runner.SLOW, 'only after', x.ms)
            self.finish(s)

    def help_N34(self):
        with self.open() as s:
            names = ('traceback', 'json', 'asyncio', 're', 'ast', 'linecache', 'inspect', 'struct', 'socket', 'codeop', 'base64')
            s.exec('python', 'for n in %r: open(n+".py","w").write("raise ImportError(1)")' % (names,))
            for kernel in ('default', 'fresh'):
                x = s.exec('python', '1/0', kernel=kernel)
                error = x.result['error'] or {}
                expect(x.outcome == 'error' and error.get('type') == 'ZeroDivisionError' and '1/0' in (error.get('traceback') or ''), kernel, x, error)
                x = s.exec('python', '[1]', kernel=kernel)
                expect(x.outcome == 'ok' and x.result['value']['text'] == '[1]', kernel, x)
            self.finish(s)

    def help_N36(self):
        with self.open() as s:
            for name in ('builtin', 'printf', 'eval', 'command', 'source', 'trap', 'unset', 'exec', 'return', 'read', 'set', 'declare', 'cd', 'shopt', 'export', 'local', 'test', 'true'):
                s.exec('bash', '%s() { :; }' % name)
                x = s.exec('bash', 'echo x')
                expect(x.outcome == 'ok' and x.bytes('stdout') == b'x\n', 'with a function', name, x)
                s.restart('bash')
            self.finish(s, 'bash')

    def help_N37(self):
        with self.open() as s:
            x = s.exec('javascript', 'JSON.stringify=()=>"{}"; Buffer.from=()=>Buffer.alloc(0); Array.prototype.push=()=>0; Buffer.concat=()=>Buffer.alloc(0); 1')
            if x.outcome == 'error' and x.result['cause'] == 'interpreter':
                raise Skip('no JavaScript in the sandbox')
            x = s.exec('javascript', 'console.log("after"); 5')
            if x.outcome == 'ok':
                expect(x.bytes('stdout') == b'after\n' and x.result['value']['text'] == '5', x, x.result['value'])
            else:
                expect(x.outcome == 'crashed' and x.result['state'] == 'reset', x)
                self.finish(s, 'javascript')

    def help_N53(self):
        try:
            with self.open(memory_bytes=64 * MIB, workspace_bytes=256 * MIB) as s:
                x = s.exec('python', FILL)
                expect(x.bytes('stdout') == b'ENOSPC\n' and x.outcome == 'ok', 'neither refused nor ENOSPC:', x)
        except interp_host.InterpError as e:
            expect(e.code in ('INTERP_E_INVAL', 'INTERP_E_ISOLATION', 'INTERP_E_LIMIT'), e)
        with self.open(memory_bytes=64 * MIB) as s:
            x = s.exec('python', FILL)
            expect(x.bytes('stdout') == b'ENOSPC\n' and x.outcome == 'ok', x)
            self.finish(s)

    # ---- found by attacking the agent; no row

    def more_private_full(self):
        """What a shell may write of the agent's directory is full, and its code can't be made to grow: all languages go on, a restart too."""
        with self.open() as s:
            s.exec('javascript', '1')
            x = s.exec('bash', 'cd $__interp_d; mkdir d; for ((i = 0; i < 10000; i++)); do : > d/$i || break; done 2>/dev/null; echo $i; cd /workspace')
            expect(x.outcome == 'ok' and int(x.bytes('stdout')) < 10000, x)
            x = s.exec('bash', '(head -c 300000000 /dev/zero >> $BASH_SOURCE) 2>/dev/null; stat -c %s $BASH_SOURCE; sleep 60 <$BASH_SOURCE >/dev/null 2>&1 &')
            expect(x.outcome == 'ok' and int(x.bytes('stdout')) < 1000, x)
            expect(s.exec('javascript', '1').outcome == 'ok', 'javascript')
            for code in ('echo hi', 'echo hi #' + 'x' * (16 * MIB - 9), 'echo hi #' + 'x' * (16 * MIB - 9)):
                x = s.exec('bash', code)
                expect(x.outcome == 'ok' and x.bytes('stdout') == b'hi\n', x)
            s.restart('bash')
            x = s.exec('bash', 'echo hi')
            expect(x.outcome == 'ok' and x.bytes('stdout') == b'hi\n', x)
            self.finish(s)

    def more_private_names(self):
        """Also where the user owns the agent's directory: nothing in it can be made, moved or removed but a shell's state."""
        with self.open() as s:
            x = s.exec('python', PRIVATE)
            expect(x.outcome == 'ok' and x.bytes('stdout') == b'', x)
            self.finish(s)

    def more_shared_memory(self):
        if self.reached.get('memory') not in ('cgroup', 'watch'):
            raise Skip('memory is not limited here')
        with self.open(memory_bytes=128 * MIB) as s:
            x = s.exec('python', 'import mmap,time\nm=mmap.mmap(-1,400<<20)\nfor i in range(0,400<<20,4096): m[i]=1\ntime.sleep(25)')
            expect(x.outcome == 'oom' and x.result['cause'] == 'memory', x)
            self.finish(s)

    def more_few_descriptors(self):
        """A host that may open few descriptors is told just that, whatever step it was."""
        script = ('import sys,json,resource\nsys.path.insert(0,%r)\nimport interp_host\nh=interp_host.Host()\nresource.setrlimit(resource.RLIMIT_NOFILE,(%d,%d))\n'
                  'try:\n  h.open(json.loads(%r)).close()\n  print("opened")\nexcept interp_host.InterpError as e: print(e.code,e.facts["reason"])\n')
        seen = set()
        for limit in range(12, 56, 4):
            p = subprocess.run([sys.executable, '-c', script % (os.path.join(runner.TESTS, 'common'), limit, limit, json.dumps(self.config()))], stdout=subprocess.PIPE)
            expect(p.stdout in (b'opened\n', b'INTERP_E_LIMIT host-descriptors\n'), limit, 'descriptors:', p.stdout)
            seen.add(p.stdout)
        expect(len(seen) == 2, seen)

    def more_packets(self):
        with self.open() as s:
            for _ in range(30):
                x = s.exec('python', 'import fcntl,os\nfcntl.fcntl(1,fcntl.F_SETFL,os.O_DIRECT)\nfor i in range(12): os.write(1,b"%d;"%i)')
                expect(x.bytes('stdout') == b''.join(b'%d;' % i for i in range(12)), x)
            self.finish(s)

    def more_memory_files(self):
        """What dies gives back its files in memory after it has closed its socket to us: that is no breach of the protocol."""
        with self.open(memory_bytes=1536 * MIB, file_bytes=1024 * MIB) as s:
            x = s.exec('python', 'import os\nk = []\nfor i in range(16):\n  k.append(os.memfd_create("x"))\n  for j in range(64): os.write(k[-1], bytes(1 << 20))\nos.kill(os.getpid(), 9)')
            expect((x.outcome, x.result['cause'], x.result['signal']) == ('crashed', None, 'SIGKILL'), x)
            self.finish(s)

    def more_stdin_again(self):
        with self.open() as s:
            for language, code in (('javascript', 'console.log(fs.readFileSync("/dev/stdin", "utf8") + fs.readFileSync("/dev/stdin", "utf8").length)'),
                                   ('bash', 'cat /dev/stdin; sleep .1; cat /dev/stdin | wc -c'), ('sh', 'sleep .1; cat /dev/stdin; cat < /dev/stdin | wc -c')):
                x = s.exec(language, code, stdin='in', timeout_ms=int(5000 * runner.SLOW))
                if x.outcome == 'error' and x.result['cause'] == 'interpreter':
                    continue
                expect(x.outcome == 'ok' and x.bytes('stdout') == b'in0\n', language, x)
            self.finish(s)


PRIVATE = '''import os
def t(what, f, *a):
  try: f(*a)
  except OSError: return
  print(what, a)
R = '/run/interp'
for d in (R, R + '/c', R + '/p'):
  t('mkdir', os.mkdir, d + '/x')
  t('open', os.open, d + '/x', os.O_WRONLY | os.O_CREAT)
  t('fifo', os.mkfifo, d + '/x')
  t('link', os.symlink, '/', d + '/x')
for d in 'cps':
  t('rename', os.rename, R + '/' + d, R + '/x')
  t('rmdir', os.rmdir, R + '/' + d)
'''
FILL = '''import errno
try:
  with open('/workspace/f','wb') as f:
    while True: f.write(b'x'*(1<<20))
except OSError as e: print(errno.errorcode[e.errno])
'''
NO_SECCOMP = 0x100     # BOOT_NO_SECCOMP of lib/guest/boot.h
SOCKETS = '''import os,stat,struct
def sockets():
  r=[]
  for n in os.listdir('/proc/self/fd'):
    try:
      if int(n)>2 and stat.S_ISSOCK(os.fstat(int(n)).st_mode): r.append(int(n))
    except OSError: pass
  return r
'''


def white_box():
    """A host with the white-box library, and what its sessions need to leave the system-call filter out."""
    path = os.environ.get('INTERP_TEST_LIBRARY')
    if not path or not os.path.exists(path):
        raise Skip('needs the white-box library (INTERP_TEST_LIBRARY), which was not built')
    return interp_host.Host(path), {'local.testing': NO_SECCOMP}


def leak_descriptors():
    """A careless host: open files without close-on-exec."""
    for number in (9, 77):
        f = os.open('/etc/passwd', os.O_RDONLY)
        os.dup2(f, number, inheritable=True)
        os.close(f)


def main():
    p = runner.parser('Runs attacks.jsonl against the library.')
    p.add_argument('--way', choices=['program', 'exec'], help='rows with a check: only as a program, or only as an exec')
    options = p.parse_args()
    runner.become(options, __file__)
    runner.harden()
    os.environ['INTERP_TEST_HOST_SECRET'] = 'of the host'
    leak_descriptors()
    tally = runner.Tally()
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cases')
    with open(os.path.join(folder, 'attacks.jsonl'), encoding='utf-8') as f:
        rows = [json.loads(line) for line in f]
    without = []
    for row in rows:
        if row['id'] in AMENDED and runner.chosen(row['id'], options.only):
            reason, changes = AMENDED[row['id']]
            print('AMENDED %s: %s' % (row['id'], reason))
            for key, (old, new) in changes.items():
                if old not in row[key]:
                    raise SystemExit('the row %s is no longer what AMENDED expects' % row['id'])
                row[key] = row[key].replace(old, new)
    with interp_host.Host() as host:
        attacks = Attacks(host, options)
        attacks.learn()
        work = []
        for row in rows:
            name = row['id']
            if not runner.chosen(name, options.only):
                continue
            helper = getattr(attacks, 'help_' + name, None)
            if not helper and 'check' not in row:
                without.append(name)
            jobs = [(name + '/' + way, lambda row=row, way=way: attacks.run_checked(row, way)) for way in attacks.ways(row) if 'check' in row and options.way in (None, way)]
            if helper and not options.way:
                jobs.append((name + '/helper', helper))
            work += jobs
        work += [(name, getattr(attacks, name)) for name in dir(attacks) if name.startswith('more_') and runner.chosen(name, options.only) and not options.way]
        titles = {row['id']: row['title'] for row in rows}
        counted = set()
        for label, job in work:
            start = time.monotonic()
            try:
                bad = job() or []
            except Skip as e:
                tally.skip(label, e)
                continue
            except AssertionError as e:
                bad = [e]
            except Exception as e:
                bad = ['%s: %s' % (type(e).__name__, e)]
            if label.endswith(('/program', '/exec')):
                counted.add(tuple(label.split('/')))
            if bad:
                tally.fail(label, titles.get(label.split('/')[0], ''), *bad)
            else:
                tally.ok(label)
                if options.verbose:
                    print('ok   %s (%.0f ms)' % (label, (time.monotonic() - start) * 1e3), flush=True)
    if counted != attacks.ran:
        tally.fail('end', 'rows were counted that did not run', sorted(counted ^ attacks.ran))
    runner.told.clear()
    rest = runner.left_over(attacks.mark, 1)
    if rest:
        tally.fail('end', 'processes of a sandbox are left', *rest)
    else:
        tally.ok('end')
    if without:
        print('not run here (no check and no helper; engines, egress, files, or a host step): %s' % ' '.join(without))
    sys.exit(tally.end())


if __name__ == '__main__':
    main()
