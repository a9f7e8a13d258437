"""Each limit is there, and user code has no more than it should."""
import json
import time

from bench import Skipped, run, want
from check_images import facts

MIB = 1 << 20


def limited(b):
    if b.rootless:
        offers = b.host.probe(b.members())
        if not offers['limits']:
            raise Skipped('this engine can limit nothing (no root, no cgroup v2)')


def test_memory(b):
    with b.open(memory_bytes=200 * MIB) as s:
        expected = 'watch' if b.rootless and not b.host.probe(b.members())['limits'] else 'cgroup'
        want(s.info()['reached']['memory'] == expected, 'memory is %s', s.info()['reached']['memory'])
        run(s, 'python', 'a=bytearray(50<<20)')
        x = s.exec('python', 'b=bytearray(600<<20); import time; time.sleep(25)')
        want(x.outcome == 'oom', 'memory: %s', x)
        run(s, 'python', '1')


def test_memory_of_files(b):
    """Files are memory: together they end within memory_bytes."""
    with b.open(memory_bytes=64 * MIB, workspace_bytes=48 * MIB) as s:
        if s.info()['reached']['memory'] == 'watch':
            raise Skipped('where the agent watches memory, files count as the workspace only')
        x = s.exec('python', "for d in ('workspace','tmp','home'):\n  with open('/%s/x'%d,'wb') as f:\n    for i in range(40): f.write(bytes(1<<20))\n")
        want(x.outcome in ('oom', 'limit', 'error'), 'files: %s', x)


def test_cpu(b):
    limited(b)
    with b.open(cpu_millis=300) as s:
        took = json.loads(run(s, 'python', 'import time\na=time.time();c=time.process_time()\nwhile time.time()-a<2: pass\nprint(time.process_time()-c)', timeout_ms=20000))
        b.figure('cpu_millis 300: %.2f s of CPU in 2 s', took)
        want(took < 1.0, 'with cpu_millis 300 it had %.2f s of CPU in 2 s', took)
    with b.open(cpu_millis=64000) as s:
        run(s, 'python', '1')


def test_pids(b):
    limited(b)
    with b.open(pids=20) as s:
        code = 'import subprocess\nps=[]\ntry:\n  for i in range(60): ps.append(subprocess.Popen(["sleep","30"]))\nexcept OSError as e: print(len(ps), type(e).__name__)\nfor p in ps: p.kill()\nfor p in ps: p.wait()'
        x = s.exec('python', code)
        words = x.bytes('stdout').split()
        want(x.outcome == 'ok' and len(words) == 2 and 10 <= int(words[0]) < 20 and words[1] == b'BlockingIOError', 'pids: %s', x)
        b.figure('pids 20: python and %s children', words[0].decode())
        run(s, 'sh', 'echo')


def test_ulimits(b):
    if b.rootless:
        with b.open() as s:
            unenforced = s.info()['reached']['unenforced']
        if 'file_bytes' in unenforced:      # Podman drops them there
            want('descriptors' in unenforced, 'unenforced: %s', unenforced)
            b.refused('INTERP_E_ISOLATION', 'file-unenforced', file_bytes=4 * MIB)
            return
    with b.open(file_bytes=4 * MIB, workspace_bytes=32 * MIB) as s:
        unenforced = s.info()['reached']['unenforced']
        want('file_bytes' not in unenforced and 'descriptors' not in unenforced, 'unenforced: %s', unenforced)
        limits = json.loads(run(s, 'python', "import resource as r,json\nprint(json.dumps([r.getrlimit(getattr(r,'RLIMIT_'+n)) for n in ('NOFILE','FSIZE','CORE')]))"))
        want(limits[0] == [1024, 1024] and limits[1] == [4 * MIB, 4 * MIB] and limits[2][1] in (0, 1), 'rlimits are %s', limits)
        x = s.exec('python', "import signal\nwith open('/workspace/x','wb') as f:\n  for i in range(8): f.write(bytes(1<<20))")
        want(x.outcome in ('error', 'limit', 'crashed'), 'a file of 8 MiB with file_bytes 4 MiB: %s', x)
        x = s.exec('python', "fs=[]\ntry:\n  for i in range(2000): fs.append(open('/dev/null'))\nexcept OSError as e: print(e.errno)")
        want(x.bytes('stdout') == b'24\n', 'descriptors: %s', x)


def test_workspace(b):
    with b.open(workspace_bytes=8 * MIB) as s:
        for place in ('home', 'tmp', 'workspace'):
            x = s.exec('python', "import os\ntry:\n  with open('/%s/x','wb',0) as f:\n    for i in range(20): f.write(bytes(1<<20))\nexcept OSError as e: print(e.errno)\nprint(os.stat('/%s/x').st_size <= 8<<20)" % (place, place))
            want(x.bytes('stdout') == b'28\nTrue\n', '/%s: %s', place, x)
        want('disk' in x.result['usage']['limits_hit'], 'limits_hit is %s', x.result['usage'])


def test_network(b):
    with b.open() as s:
        want(run(s, 'sh', "sed -n 's/^ *\\([a-z0-9]*\\):.*/\\1/p' /proc/net/dev").split() == ['lo'], 'interfaces: %s', run(s, 'sh', 'cat /proc/net/dev'))
        x = run(s, 'python', "import socket\nfor f in (lambda: socket.create_connection(('192.0.2.1',80),2), lambda: socket.create_connection(('127.0.0.1',2375),2), lambda: socket.getaddrinfo('example.com',80)):\n  try: f(); print('reached')\n  except OSError as e: print('no')", timeout_ms=30000)
        want(x == 'no\nno\nno\n', 'network: %r', x)


def test_privileges(b):
    with b.open() as s:
        f = facts(s)
        want(f['caps'] == [0, 0, 0, 0], 'user code has capabilities %s', f['caps'])
        want(f['nnp'] == '1' and f['seccomp'] == '2', 'no_new_privs %s, seccomp %s', f['nnp'], f['seccomp'])
        want(set(f['uids']) == {'1000'}, 'uids are %s', f['uids'])
        x = s.exec('python', "import os\nfor n in ('setuid','setgid'):\n  try: getattr(os,n)(0); print('became root')\n  except OSError: print('no')\ntry: os.kill(1,9); print('killed')\nexcept OSError: print('no')")
        want(x.bytes('stdout') == b'no\nno\nno\n', 'privileges: %s', x)
        x = s.exec('sh', 'echo x | su -c id; mount -t tmpfs x /tmp; unshare -r id; true')
        want(b'uid=0' not in x.bytes('stdout'), 'root: %s', x)


def test_agent_volume(b):
    with b.open() as s:
        for code in ('echo a >> /.interp/agent', 'rm /.interp/agent', 'mv /.interp/agent /.interp/b', 'mount -o remount,rw /.interp', 'chmod 777 /.interp', 'echo a > /.interp/new', 'ln /.interp/agent /.interp/x'):
            want(s.exec('sh', code).outcome == 'error', 'it could: %s', code)
        options = run(s, 'sh', "awk '$2==\"/.interp\"{print $4}' /proc/mounts").split(',')
        want(options[0] == 'ro', '/.interp is mounted %s', options)


def test_inodes(b):
    """Where the engine takes the limit it holds; where it does not, that is said, or refused to who asks."""
    with b.open() as s:
        unenforced = 'workspace_inodes' in s.info()['reached']['unenforced']
    want(unenforced == (b.backend == 'podman'), 'unenforced: %s', unenforced)
    if unenforced:
        b.refused('INTERP_E_ISOLATION', 'inodes-unenforced', workspace_inodes=1000)
        return
    with b.open(workspace_inodes=1000) as s:
        for place in ('workspace', 'tmp', 'home'):
            words = run(s, 'python', "n=0\ntry:\n  while n < 3000:\n    open('/%s/f%%d' %% n,'w').close(); n+=1\nexcept OSError as e: print(n <= 1000, e.errno)" % place)
            want(words.split() == ['True', '28'], '/%s: %s', place, words)


def test_runtime(b):
    if b.backend == 'podman':
        b.refused('INTERP_E_ISOLATION', 'engine-runtime', runtime='runsc')
        b.refused('INTERP_E_ISOLATION', 'engine-runtime', runtime='nonesuch')
        with b.open() as s:
            runtime = s.info()['reached']['runtime']
        with b.open(runtime=runtime) as s:
            want(s.info()['reached']['runtime'] == runtime, 'runtime is %s', s.info())
    else:
        b.refused('INTERP_E_INVAL', 'engine-runtime', runtime='nonesuch')
        with b.open(runtime='runc') as s:
            want(s.info()['reached']['runtime'] == 'runc', 'runtime is %s', s.info())
        runtimes = b.engine.json('GET', '/info')['Runtimes']
        if 'runsc' in runtimes:
            with b.open(runtime='runsc') as s:
                run(s, 'sh', 'echo')


def test_isolation_full(b):
    """full is given where everything is limited, and refused where it is not."""
    if b.rootless and not b.host.probe(b.members())['limits']:
        b.refused('INTERP_E_ISOLATION', 'isolation', isolation='full')
        b.refused('INTERP_E_ISOLATION', 'cpu-unenforced', cpu_millis=500)
        b.refused('INTERP_E_ISOLATION', 'pids-unenforced', pids=50)
        return
    with b.open(isolation='full') as s:
        want(s.info()['isolation'] == 'full', 'isolation is %s', s.info())


def test_smallest_memory(b):
    with b.open(memory_bytes=8 * MIB) as s:
        run(s, 'sh', 'echo')


def test_nothing_on_the_engines_disk(b):
    """What goes over the stream is not logged there."""
    with b.open() as s:
        run(s, 'python', 'print("x" * 3000000)')
        name = b.mine()[0]
        status, _, data = b.engine.call('GET', '/containers/%s/logs?stdout=1&stderr=1' % name)
        want(status != 200 or len(data) < 1000, 'the log has %d bytes', len(data))


def test_locked_pipe(b):
    """What keeps a pipe's lock while it waits would stop the agent, which reads it: it is refused, and copies go the other way."""
    with b.open() as s:
        text = run(s, 'python', 'import ctypes, os, socket\nc = ctypes.CDLL(None, use_errno=True)\na, b = socket.socketpair()\nr, w = os.pipe()\n'
                'for f in (lambda: c.splice(a.fileno(), None, w, None, 1, 2), lambda: c.sendfile(w, a.fileno(), None, 1), lambda: c.tee(r, w, 1, 2), lambda: c.vmsplice(w, None, 0, 0)):\n'
                '    print(f(), ctypes.get_errno())')
        want(all(line in ('-1 22', '-1 38') for line in text.splitlines()) and text.count('\n') == 4, 'what it may do: %s', text)
