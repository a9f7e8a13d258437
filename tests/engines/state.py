"""The state directory of the test engines: what was started, with its processes, ports, logs and mounts, so that it can be found again and ended."""
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import time

# What engines leave beside their main process. Only a process with one of these names is taken for theirs by the folder in its arguments: an editor or
# a `tail` of a log has that there too. What has changed its arguments, as the process that keeps a user namespace, still has the mark in its environment.
HELPERS = ('dockerd', 'containerd', 'containerd-shim', 'containerd-shim-runc-v2', 'conmon', 'podman', 'runc', 'crun', 'runsc', 'fuse-overlayfs',
           'slirp4netns', 'pasta', 'catatonit', 'rootlessport', 'docker-proxy', 'docker-registry')
MARK = 'INTERP_ENGINE_FOLDER'
# the address of a unix socket has 107 bytes, and containerd's lies deep
LONGEST = 60


class Skip(Exception):
    """This can't be had here; the text says why."""


class Failed(Exception):
    """This should have worked and did not."""


class State:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        if len(self.folder) > LONGEST:
            raise SystemExit('the state directory must have a path of at most %d bytes, for the sockets in it: %s' % (LONGEST, self.folder))
        os.makedirs(self.folder, exist_ok=True)
        s = os.stat(self.folder)
        if s.st_uid != os.geteuid() or s.st_mode & 0o022:
            raise SystemExit("the state directory must be this user's, and not writable for others: %s" % self.folder)
        self.lock = open(os.path.join(self.folder, 'lock'), 'w')
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.file = os.path.join(self.folder, 'state.json')
        self.data = {'engines': {}, 'ports': {}}
        if os.path.exists(self.file):
            with open(self.file) as f:
                self.data = json.load(f)
        self.engines = self.data['engines']

    def save(self):
        with open(self.file + '.new', 'w') as f:
            json.dump(self.data, f, indent=1, sort_keys=True)
            f.write('\n')
        os.replace(self.file + '.new', self.file)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def make(self, *names, mode=0o755):
        """A folder below the state directory."""
        path = self.path(*names)
        os.makedirs(path, mode, exist_ok=True)
        return path

    def write(self, text, *names):
        path = self.path(*names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)
        return path

    def port(self, name):
        """A loopback port, the same at each start: other engines' configuration names it."""
        if name not in self.data['ports']:
            with socket.socket() as s:
                s.bind(('127.0.0.1', 0))
                self.data['ports'][name] = s.getsockname()[1]
            self.save()
        return self.data['ports'][name]

    def spawn(self, name, folder, command, env=None, preexec_fn=None, cwd='/'):
        """Starts a daemon that lives in the folder, in a session of its own, with its output in NAME.log. The environment is a clean one: a proxy or
        DOCKER_HOST must not matter."""
        full = {'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/root', 'LANG': 'C.UTF-8', MARK: folder}
        full.update(env or {})
        log = self.path(name + '.log')
        with open(log, 'ab') as out:
            p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=full, cwd=cwd, start_new_session=True,
                                 preexec_fn=preexec_fn)
        return {'pid': p.pid, 'born': born(p.pid), 'log': log, 'process': p}

    def wait(self, name, daemon, probe, seconds):
        """Until probe() is true; else a Failed with the end of the log."""
        end = time.monotonic() + seconds
        process = daemon.pop('process')
        while not probe():
            if process.poll() is not None:
                raise Failed('%s ended with status %d\n%s' % (name, process.returncode, tail(daemon['log'])))
            if time.monotonic() > end:
                end_processes([daemon['pid']], 5)
                raise Failed('%s did not answer within %d s\n%s' % (name, seconds, tail(daemon['log'])))
            time.sleep(0.1)

    def alive(self, name):
        """Whether all that was started for it still runs."""
        daemons = self.engines.get(name, {}).get('daemons', [])
        return bool(daemons) and all(born(d['pid']) == d['born'] for d in daemons)

    def end(self, name, *folders):
        """Ends what was started for it, with everything that it left: helpers, containers, mounts."""
        engine = self.engines.get(name, {})
        for d in engine.get('daemons', []):
            if born(d['pid']) == d['born']:
                end_processes([d['pid']], 20)
        folders = [os.path.realpath(f) for f in folders]
        end_processes(related(folders), 3)
        unmount(folders)
        if self.engines.pop(name, None) is not None:
            self.save()
        left = related(folders)
        if left:
            raise Failed('%s: still there after its end: %s' % (name, ', '.join('%d %s' % (p, comm(p)) for p in left)))

    def remove(self, *names):
        shutil.rmtree(self.path(*names), ignore_errors=True)


def tail(path, lines=15):
    try:
        with open(path, errors='replace') as f:
            return ''.join('     | ' + line for line in f.readlines()[-lines:]).rstrip('\n')
    except OSError as e:
        return str(e)


def stat(pid):
    try:
        with open('/proc/%d/stat' % pid, 'rb') as f:
            return f.read().rsplit(b')', 1)[1].split()
    except OSError:
        return None


def born(pid):
    """When the process started, in the kernel's ticks: a pid alone may be another's by now. None when it is gone or a zombie."""
    words = stat(pid)
    return int(words[19]) if words and words[0] != b'Z' else None


def comm(pid):
    try:
        with open('/proc/%d/comm' % pid) as f:
            return f.read().strip()
    except OSError:
        return '?'


def read(path):
    try:
        with open(path, 'rb') as f:
            return f.read(1 << 17)
    except OSError:
        return b''


def related(folders):
    """Helpers whose arguments or environment name one of the folders, and all that descend from them: containers too."""
    wanted = [f.encode() + b'/' for f in folders]
    marks = {('%s=%s' % (MARK, f)).encode() for f in folders}
    parents, found = {}, set()
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        pid = int(name)
        words = stat(pid)
        if not words or words[0] == b'Z':
            continue
        parents[pid] = int(words[1])
        arguments = read('/proc/%d/cmdline' % pid)
        if os.path.basename(arguments.split(b'\0')[0].decode('utf-8', 'replace')).split(' ')[0] in HELPERS and (
                any(w in arguments for w in wanted) or marks & set(read('/proc/%d/environ' % pid).split(b'\0'))):
            found.add(pid)
    grown = True
    while grown:
        grown = False
        for pid, parent in parents.items():
            if parent in found and pid not in found:
                found.add(pid)
                grown = True
    return sorted(found - {os.getpid(), os.getppid()})


def end_processes(pids, seconds):
    """SIGTERM, time to end, SIGKILL."""
    alive = {p: born(p) for p in pids}
    for sig, limit in ((signal.SIGTERM, seconds), (signal.SIGKILL, 60)):
        alive = {p: b for p, b in alive.items() if b is not None and born(p) == b}
        for p in alive:
            try:
                os.kill(p, sig)
            except OSError:
                pass
        end = time.monotonic() + limit
        while time.monotonic() < end and any(born(p) == b for p, b in alive.items()):
            time.sleep(0.05)


def mounts(folders):
    """Mount points below the folders, the innermost first."""
    points = []
    with open('/proc/self/mountinfo') as f:
        for line in f:
            point = line.split()[4].encode().decode('unicode_escape')
            if any(point == folder or point.startswith(folder + '/') for folder in folders):
                points.append(point)
    return points[::-1]


def unmount(folders):
    for point in mounts(folders):
        subprocess.call(['umount', '-l', point], stderr=subprocess.DEVNULL)


def remove_groups(name):
    """Removes the control groups of that name, where they are empty: an engine makes them and leaves them."""
    top = '/sys/fs/cgroup'
    for parent in [top] + [os.path.join(top, n) for n in (os.listdir(top) if os.path.isdir(top) else [])]:
        for folder, _, _ in os.walk(os.path.join(parent, name), topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                pass
