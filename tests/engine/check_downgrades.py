"""An engine that did not do what it was asked for, and says so only when asked: each is refused, and the container removed."""
import contextlib

import fake
from bench import want


@contextlib.contextmanager
def altered(b, alter):
    """The proxy, which alters what it says of containers as long as this lasts. One for all: what is known of an engine is known by its address."""
    b.proxy.alter, b.proxy.requests = alter, []
    try:
        yield b.proxy
    finally:
        b.proxy.alter = None


def downgrade(b, alter, reason='engine-downgrade', code='INTERP_E_ISOLATION', **more):
    with altered(b, alter) as p:
        facts = b.refused(code, reason, endpoint=p.endpoint, **more)
        want(any(m == 'DELETE' for m, _ in p.requests), 'the container was not removed')
        want(not any(path.endswith('/start') for _, path in p.requests), 'the container was started')
        return facts


def setter(path, value):
    def alter(o):
        *outer, last = path.split('/')
        for name in outer:
            o = o[name]
        o[last] = value
    return alter


def test_unaltered(b):
    """The proxy itself changes nothing."""
    with altered(b, None) as p:
        with b.open(endpoint=p.endpoint) as s:
            want(s.exec('sh', 'echo hi').bytes('stdout') == b'hi\n', 'no echo')


def test_network(b):
    for mode in ('bridge', 'host', 'default', 'slirp4netns', ''):
        downgrade(b, setter('HostConfig/NetworkMode', mode))


def test_read_only_root(b):
    downgrade(b, setter('HostConfig/ReadonlyRootfs', False))
    downgrade(b, lambda o: o['HostConfig'].pop('ReadonlyRootfs'))


def test_privileged(b):
    downgrade(b, setter('HostConfig/Privileged', True))


def test_capabilities(b):
    if b.backend == 'docker':
        downgrade(b, setter('HostConfig/CapDrop', None))
        downgrade(b, setter('HostConfig/CapDrop', ['NET_RAW']))
        downgrade(b, setter('HostConfig/CapAdd', ['SETUID', 'SETGID', 'KILL', 'SYS_ADMIN']))
        downgrade(b, setter('HostConfig/CapAdd', ['SYS_ADMIN']), user='1000:1000')
    else:
        downgrade(b, setter('BoundingCaps', ['CAP_KILL', 'CAP_SETGID', 'CAP_SETUID', 'CAP_SYS_ADMIN']))
        downgrade(b, setter('BoundingCaps', ['CAP_KILL']), user='1000:1000')
        downgrade(b, lambda o: o.pop('BoundingCaps'))


def test_no_new_privileges(b):
    downgrade(b, setter('HostConfig/SecurityOpt', []))
    downgrade(b, setter('HostConfig/SecurityOpt', ['seccomp=unconfined']))
    downgrade(b, setter('HostConfig/SecurityOpt', None))


def test_log_driver(b):
    downgrade(b, setter('HostConfig/LogConfig', {'Type': 'json-file'}))


def test_volume(b):
    def writable(o):
        for m in o['Mounts']:
            m['RW'] = True

    def other(o):
        for m in o['Mounts']:
            if m['Destination'] == '/.interp':
                m['Name'] = 'somebody-elses'

    def more(o):
        o['Mounts'].append({'Type': 'bind', 'Source': '/', 'Destination': '/host', 'RW': True})

    downgrade(b, writable)
    downgrade(b, other)
    downgrade(b, setter('Mounts', []))
    downgrade(b, more, 'engine-mount')
    downgrade(b, lambda o: o['Mounts'].append({'Type': 'bind', 'Source': '/etc', 'Destination': '/host', 'RW': False}), 'engine-mount')


def test_namespaces(b):
    downgrade(b, setter('HostConfig/PidMode', 'host'))
    downgrade(b, setter('HostConfig/IpcMode', 'host'))
    if b.backend == 'docker':
        downgrade(b, setter('HostConfig/CgroupnsMode', 'host'))


def test_loosened(b):
    """What an engine's own configuration takes away again or adds; the error says which."""
    for more in ('seccomp=unconfined', 'apparmor=unconfined', 'systempaths=unconfined', 'label=disable', 'label:disable', 'unmask=ALL'):
        facts = downgrade(b, lambda o, more=more: o['HostConfig'].update(SecurityOpt=['no-new-privileges', more]))
        want(more in facts['message'], 'the message is %s', facts['message'])
    for name, value in (('Devices', [{'PathOnHost': '/dev/kvm', 'PathInContainer': '/dev/kvm', 'CgroupPermissions': 'rwm'}]), ('DeviceRequests', [{'Count': -1, 'Capabilities': [['gpu']]}]),
                        ('DeviceCgroupRules', ['c 1:3 rwm'])):
        facts = downgrade(b, setter('HostConfig/' + name, value))
        want(name in facts['message'], 'the message is %s', facts['message'])


def test_tmpfs(b):
    downgrade(b, setter('HostConfig/Tmpfs', {}))
    downgrade(b, setter('HostConfig/Tmpfs', None))
    for path in ('/workspace', '/tmp', '/home', '/var/tmp', '/run'):
        facts = downgrade(b, lambda o, path=path: o['HostConfig']['Tmpfs'].update({path: 'rw,nosuid'}))
        want(path in facts['message'], 'the message is %s', facts['message'])


def test_user(b):
    for user in ('', '1000', 'root'):
        downgrade(b, setter('Config/User', user))
    downgrade(b, setter('Config/User', '0:0'), user='1000:1000')


def test_limits(b):
    """Memory falls back to the agent's watch, which is told; where that does not do, it is refused."""
    with altered(b, setter('HostConfig/Memory', 0)) as p:
        with b.open(endpoint=p.endpoint) as s:
            want(s.info()['reached']['memory'] == 'watch' and s.info()['isolation'] == 'namespaces', 'reached is %s', s.info())
            x = s.exec('python', 'a=bytearray(3<<30); import time; time.sleep(25)')
            want(x.outcome == 'oom', 'memory: %s', x)
    downgrade(b, setter('HostConfig/Memory', 0), 'isolation', isolation='full')
    # swap that is not bounded: of this machine it is known whether it has any, of one behind TCP it is not; the watch takes over though the group has a limit
    with fake.Proxy(b.engine, setter('HostConfig/MemorySwap', -1), tcp=True) as p, b.open(endpoint=p.endpoint) as s:
        want(s.info()['reached']['memory'] == 'watch' and s.info()['isolation'] == 'namespaces', 'reached is %s', s.info())
        x = s.exec('python', 'a=bytearray(3<<30); import time; time.sleep(25)')
        want(x.outcome == 'oom', 'memory: %s', x)
    with altered(b, setter('HostConfig/Ulimits', [{'Name': 'fsize', 'Soft': 1, 'Hard': -1}])) as p, b.open(endpoint=p.endpoint) as s:
        want({'file_bytes', 'descriptors'} <= set(s.info()['reached']['unenforced']), 'unenforced: %s', s.info()['reached']['unenforced'])
    downgrade(b, setter('HostConfig/Ulimits', []), 'file-unenforced', file_bytes=4 << 20)
    if b.backend == 'docker':
        downgrade(b, lambda o: o['HostConfig']['Tmpfs'].update({k: v.split(',nr_inodes=')[0] + ',x' for k, v in o['HostConfig']['Tmpfs'].items()}), 'inodes-unenforced', workspace_inodes=1000)
    downgrade(b, setter('HostConfig/PidsLimit', 0), 'pids-unenforced', pids=50)
    downgrade(b, setter('HostConfig/PidsLimit', 0), 'isolation', isolation='full')

    def cpu(o):
        for k in ('NanoCpus', 'CpuQuota', 'CpuPeriod'):
            o['HostConfig'][k] = 0
    downgrade(b, cpu, 'cpu-unenforced', cpu_millis=500)


def test_runtime(b):
    key = 'OCIRuntime' if b.backend == 'podman' else 'HostConfig/Runtime'
    runtime = None
    with b.open() as s:
        runtime = s.info()['reached']['runtime']
    downgrade(b, setter(key, 'other'), 'engine-runtime', runtime=runtime)


def test_nonsense(b):
    """A description that is none."""
    for o in ({}, {'HostConfig': None}, {'HostConfig': []}, {'HostConfig': {'NetworkMode': ['none']}}, {'HostConfig': {'NetworkMode': 'none', 'ReadonlyRootfs': 'true'}}):
        def alter(real, o=o):
            real.clear()
            real.update(o)
        downgrade(b, alter, None)
