"""Newer engines than the machine's distribution has: Docker and Podman out of a root of a newer Debian suite, each in a mount namespace of its own.

They share the kernel, its cgroups and the process ids with everything else, so they are ended like the others."""
import json
import os

import certs
import dockerd
import podmand
from api import Engine
from roots import bootstrap, os_release
from state import Skip

SUITES = ('trixie', 'sid')
PACKAGES = 'docker.io,podman,runc,crun,conmon,ca-certificates'
# $1: root, $2: state directory, which has the same path inside; then the command. The root becomes the namespace's real root: runc can't change roots
# in a mere chroot.
ENTER = '''set -e
root=$1 state=$2
shift 2
mount --bind "$root" "$root"
for path in proc sys dev; do mount --rbind "/$path" "$root/$path"; done
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mkdir -p "$root$state" "$root/mnt"
mount --bind "$state" "$root$state"
cd "$root"
pivot_root . mnt
exec chroot . sh -c 'umount -l /mnt; exec "$@"' sh "$@"
'''


def root_of(state, suite):
    """The suite's root with the engines in it, made once."""
    if os.geteuid() != 0:
        raise Skip('newer engines are started by root only')
    if os_release('ID') != 'debian':
        raise Skip('newer engines come out of a suite of Debian, and this is %s' % os_release('ID'))
    state.make('newer')
    root = state.path('newer', suite)
    if not os.path.exists(root + '.made'):
        bootstrap(root, state.path('newer', suite + '.log'), suite, PACKAGES)
        open(root + '.made', 'w').close()
    return root


def inside(state, suite, command):
    return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', ENTER, 'sh', root_of(state, suite), state.folder] + command


def start_docker(state, name, suite):
    folder = state.make(name)
    server, client, _ = certs.make(state.make('certs'))
    config = dockerd.configuration(state, name, server)
    config.pop('runtimes', None)
    config = state.write(json.dumps(config, indent=1), name, 'daemon.json')
    url = 'unix://%s/docker.sock' % folder
    daemon = state.spawn(name, folder, inside(state, suite, ['dockerd', '--config-file', config]))
    state.wait(name, daemon, lambda: Engine(url, timeout=5).kind() == 'docker', 60)
    return {'url': url, 'ours': True, 'daemons': [daemon]}


def start_podman(state, name, suite):
    folder = state.make(name)
    env = podmand.configure(state, folder)
    url = 'unix://%s/podman.sock' % folder
    daemon = state.spawn(name, folder, inside(state, suite, podmand.command(folder, url, 'runc')), env)
    state.wait(name, daemon, lambda: podmand.answers(url), 60)
    return {'url': url, 'ours': True, 'daemons': [daemon]}


def parts():
    """{name: (start, stop)}, as start.py has them."""
    found = {}
    for suite in SUITES:
        for kind, begin, end in (('docker', start_docker, dockerd.stop), ('podman', start_podman, podmand.stop)):
            name = '%s-%s' % (kind, suite)
            found[name] = (lambda state, n=name, s=suite, b=begin: b(state, n, s), lambda state, n=name, e=end: e(state, n))
    return found
