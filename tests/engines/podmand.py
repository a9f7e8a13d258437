"""Podman's API service for the tests, as root and as an ordinary user, with private roots; the one of root also on loopback TCP without TLS."""
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
import as_user
from api import Engine
from state import Skip, read, remove_groups

NAME, ROOTLESS = 'podman', 'podman-rootless'
MADE = 'interp-rootless'
# nothing is pulled from anywhere but the registries of the tests, which speak plain HTTP
REGISTRIES = 'unqualified-search-registries = []\n%s'
INSECURE = '[[registry]]\nlocation = "127.0.0.1:%d"\ninsecure = true\n'
CONTAINERS = '[containers]\nlog_driver = "k8s-file"\n[engine]\nevents_logger = "file"\ncgroup_manager = "cgroupfs"\n'
STORAGE = '[storage]\ndriver = "overlay"\nrunroot = "%(folder)s/run"\ngraphroot = "%(folder)s/data"\nrootless_storage_path = "%(folder)s/data"\n'
POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}\n'


def answers(url):
    return Engine(url, timeout=5).kind() == 'podman'


def running(rootless):
    """The address of a service that runs here and may be used, or None."""
    candidates = ['unix:///run/user/%d/podman/podman.sock' % os.geteuid()] if rootless else ['unix:///run/podman/podman.sock']
    return next((c for c in candidates if answers(c)), None)


def program(folder):
    return ['podman', '--root', folder + '/data', '--runroot', folder + '/run', '--tmpdir', folder + '/tmp']


def command(folder, address, runc=shutil.which('runc')):
    """The service. crun does not work on hosts with cgroup v1 and v2 side by side, runc does; otherwise Podman chooses."""
    runtime = ['--runtime', 'runc'] if runc and not os.path.exists('/sys/fs/cgroup/cgroup.controllers') else []
    return program(folder) + runtime + ['system', 'service', '--time=0', address]


def configure(state, folder):
    """Writes the configuration; returns the environment that names it."""
    texts = {'registries.conf': REGISTRIES % ''.join(INSECURE % state.port(name) for name in ('registry', 'registry-auth')),
             'containers.conf': CONTAINERS, 'storage.conf': STORAGE % {'folder': folder}, '.config/containers/policy.json': POLICY}
    for name, text in texts.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)
    return {'CONTAINERS_CONF': folder + '/containers.conf', 'CONTAINERS_REGISTRIES_CONF': folder + '/registries.conf',
            'CONTAINERS_STORAGE_CONF': folder + '/storage.conf', 'HOME': folder}


def start(state):
    found = running(False)
    if found:
        return {'url': found, 'ours': False}
    if not shutil.which('podman'):
        raise Skip('there is no podman (package podman)')
    if os.geteuid() != 0:
        raise Skip("no Podman of root's answers here, and starting one needs root")
    folder = state.make(NAME)
    env = configure(state, folder)
    daemons, urls = [], ['unix://%s/podman.sock' % folder, 'tcp://127.0.0.1:%d' % state.port('podman-tcp')]
    for name, url in zip((NAME, NAME + '-tcp'), urls):
        daemon = state.spawn(name, folder, command(folder, url), env)
        daemons.append(daemon)
        state.wait(name, daemon, lambda: answers(url), 180)
    return {'url': urls[0], 'ours': True, 'daemons': daemons, 'env': {'INTERP_TEST_PODMAN_TCP': urls[1]}}


def stop(state, name=NAME):
    folder, engine = state.path(name), state.engines.get(name)
    if engine and engine['ours']:
        # they do not end with the service
        Engine(engine['url'], timeout=120).clear()
    state.end(name, folder)
    containers = folder + '/data/overlay-containers'
    for container in os.listdir(containers) if os.path.isdir(containers) else []:
        remove_groups('libpod_parent/libpod-' + container)
    for part in ('run', 'tmp'):
        state.remove(name, part)
    if os.path.exists(folder + '/podman.sock'):
        os.remove(folder + '/podman.sock')


def account():
    """(account that has ids below it to map, whether it was made for this)."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()), False
    owners = read('/etc/subuid').decode().splitlines()
    for a in pwd.getpwall():
        if 1000 <= a.pw_uid < 60000 and not a.pw_shell.endswith(('nologin', 'false')) and any(o.startswith(a.pw_name + ':') for o in owners):
            return a, False
    subprocess.check_call(['useradd', '--create-home', '--shell', '/bin/sh', MADE], stdout=subprocess.DEVNULL)
    return pwd.getpwnam(MADE), True


def start_rootless(state):
    found = running(True) if os.geteuid() else None
    if found:
        return {'url': found, 'ours': False}
    for program, package in (('podman', 'podman'), ('newuidmap', 'uidmap')):
        if not shutil.which(program):
            raise Skip('there is no %s (package %s)' % (program, package))
    user, made = account()
    # not in the state directory: that may lie where the user may not go
    folder = tempfile.mkdtemp(prefix='interp-rootless.')
    engine = {'folder': folder, 'made': user.pw_name if made else None, 'user': user.pw_name}
    state.engines[ROOTLESS] = dict(engine, ours=True, url='', daemons=[])
    state.save()
    env = configure(state, folder)
    env.update(USER=user.pw_name, LOGNAME=user.pw_name, XDG_RUNTIME_DIR=folder + '/xdg')
    os.mkdir(folder + '/xdg', 0o700)
    subprocess.check_call(['chown', '-R', '%d:%d' % (user.pw_uid, user.pw_gid), folder])
    url = 'unix://%s/podman.sock' % folder
    daemon = state.spawn(ROOTLESS, folder, command(folder, url), env, preexec_fn=as_user.dropper(user) if os.geteuid() == 0 else None, cwd=folder)
    state.wait(ROOTLESS, daemon, lambda: answers(url), 180)
    return dict(engine, url=url, ours=True, daemons=[daemon], env={'INTERP_TEST_PODMAN_ROOTLESS_USER': user.pw_name})


def stop_rootless(state):
    engine = state.engines.get(ROOTLESS, {})
    folder = engine.get('folder')
    if not folder:
        return
    if engine['url']:
        Engine(engine['url'], timeout=120).clear()
    if os.geteuid() != 0 and os.path.isdir(folder):
        # most of it belongs to ids that only the user namespace maps to the user
        env = dict(os.environ, XDG_RUNTIME_DIR=folder + '/xdg', **configure(state, folder))
        subprocess.call(program(folder) + ['unshare', 'rm', '-rf', folder + '/data'], env=env, stderr=subprocess.DEVNULL, timeout=120)
    state.end(ROOTLESS, folder)
    shutil.rmtree(folder, ignore_errors=True)
    if engine.get('made'):
        subprocess.call(['userdel', '--remove', engine['made']], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
