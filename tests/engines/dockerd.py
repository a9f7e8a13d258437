"""Docker Engine for the tests: one that runs already, or one of our own with private roots, on a unix socket and on loopback TCP with mutual TLS."""
import json
import os
import shutil
import zlib

import certs
from api import Engine
from state import Failed, Skip, remove_groups

NAME = 'docker'


def running():
    """The address of an engine that runs here and may be used, or None."""
    candidates = [os.environ.get('DOCKER_HOST', ''), 'unix:///var/run/docker.sock']
    if os.environ.get('XDG_RUNTIME_DIR'):
        candidates.append('unix://%s/docker.sock' % os.environ['XDG_RUNTIME_DIR'])
    return next((c for c in candidates if c.startswith('unix://') and Engine(c, timeout=5).kind() == 'docker'), None)


def group_of(state, name):
    """Of control groups, and of containerd's names; another state directory has another."""
    return 'interp-%s-%08x' % (name, zlib.crc32(state.folder.encode()))


def configuration(state, name, server):
    """dockerd's own file. No bridge and no packet filter: sandboxes have no network, and the host's is none of ours."""
    folder, group = state.path(name), group_of(state, name)
    config = {
        'hosts': ['unix://%s/docker.sock' % folder, 'tcp://127.0.0.1:%d' % state.port(name + '-tls')],
        'tlsverify': True, 'tlscacert': server + '/ca.pem', 'tlscert': server + '/cert.pem', 'tlskey': server + '/key.pem',
        'data-root': folder + '/data', 'exec-root': folder + '/exec', 'pidfile': folder + '/pid', 'group': 'root',
        'bridge': 'none', 'iptables': False, 'exec-opts': ['native.cgroupdriver=cgroupfs'], 'cgroup-parent': '/' + group,
        # should it use a containerd that runs already, then in a namespace of its own
        'containerd-namespace': group, 'containerd-plugins-namespace': group + '-plugins', 'shutdown-timeout': 5,
    }
    runsc = shutil.which('runsc')
    if runsc:
        config['runtimes'] = {'runsc': {'path': runsc, 'runtimeArgs': ['--network=none', '--platform=ptrace']}}
    return config


def start(state):
    found = running()
    if found:
        return {'url': found, 'ours': False}
    if os.geteuid() != 0:
        raise Skip('no Docker Engine answers here, and starting one needs root')
    if not shutil.which('dockerd'):
        raise Skip('there is no dockerd (package docker.io)')
    folder = state.make(NAME)
    server, client, stranger = certs.make(state.make('certs'))
    config = state.write(json.dumps(configuration(state, NAME, server), indent=1), NAME, 'daemon.json')
    # one that was killed leaves its pid, and the next one that has this pid by chance would keep it from starting
    if os.path.exists(folder + '/pid'):
        os.remove(folder + '/pid')
    url = 'unix://%s/docker.sock' % folder
    daemon = state.spawn(NAME, folder, ['dockerd', '--config-file', config])
    state.wait(NAME, daemon, lambda: Engine(url, timeout=5).kind() == 'docker', 180)
    tls = 'tcp://127.0.0.1:%d' % state.port('docker-tls')
    if Engine(tls, client).kind() != 'docker':
        raise Failed('dockerd does not answer on %s with the certificates in %s' % (tls, client))
    return {'url': url, 'ours': True, 'daemons': [daemon],
            'env': {'INTERP_TEST_DOCKER_TLS': tls, 'INTERP_TEST_DOCKER_CERTS': client, 'INTERP_TEST_DOCKER_STRANGER': stranger}}


def stop(state, name=NAME):
    folder, engine = state.path(name), state.engines.get(name)
    if engine and engine['ours']:
        # dockerd waits for each that ignores SIGTERM
        Engine(engine['url'], timeout=120).clear()
    state.end(name, folder)
    state.remove(name, 'exec')
    remove_groups(group_of(state, name))
    for file in ('docker.sock', 'pid'):
        if os.path.exists(os.path.join(folder, file)):
            os.remove(os.path.join(folder, file))
