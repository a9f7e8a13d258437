"""Any image: what it lacks, what it says about itself, whom it wants to be."""
import json

from bench import Skipped, run, want

FACTS = '''import os,json
s=dict(l.split(':',1) for l in open('/proc/self/status') if ':' in l)
print(json.dumps({'uid':os.getuid(),'gid':os.getgid(),'groups':os.getgroups(),'cwd':os.getcwd(),'env':dict(os.environ),'caps':[int(s[k],16) for k in ('CapInh','CapPrm','CapEff','CapAmb')],
 'nnp':s['NoNewPrivs'].strip(),'seccomp':s['Seccomp'].strip(),'uids':s['Uid'].split(),'bnd':int(s['CapBnd'],16)}))'''


def facts(s):
    return json.loads(run(s, 'python', FACTS))


def test_debian(b):
    with b.open() as s:
        for language, code, answer in (('python', 'print(6*7)', '42\n'), ('javascript', 'console.log(6*7)', '42\n'), ('bash', 'echo $((6*7))', '42\n'), ('sh', 'echo $((6*7))', '42\n')):
            want(run(s, language, code) == answer, '%s did not print %r', language, answer)
        reached = s.info()['reached']
        want(reached['engine'] == b.backend and reached['network'] == 'none' and reached['image_id'], 'reached says %s', reached)
        b.figure('reached: %s', json.dumps(reached))


def missing(b, tag, works, lacks):
    with b.open(image=b.image(tag)) as s:
        for language, code in works:
            run(s, language, code)
        for language in lacks:
            x = s.exec(language, '1')
            want(x.outcome == 'error' and x.result['cause'] == 'interpreter' and x.result['error']['message'], '%s: %s', language, x)


def test_no_python(b):
    missing(b, 'nopython', [('sh', 'echo'), ('bash', 'echo')], ['python', 'javascript'])


def test_no_shell(b):
    missing(b, 'noshell', [('python', '1')], ['sh', 'bash', 'javascript'])


def test_musl(b):
    missing(b, 'musl', [('sh', 'echo')], ['python', 'javascript', 'bash'])


def test_musl_node(b):
    missing(b, 'musl-node', [('javascript', '1+1'), ('sh', 'echo')], ['python'])


def test_image_that_says_everything(b):
    """USER, WORKDIR, ENTRYPOINT, ENV, VOLUME, HEALTHCHECK, STOPSIGNAL."""
    with b.open(image=b.image('user')) as s:
        f = facts(s)
        want((f['uid'], f['gid'], f['groups'], f['cwd']) == (1000, 1000, [1000], '/workspace') or (f['uid'], f['gid'], f['groups'], f['cwd']) == (1000, 1000, [], '/workspace'), 'user code is %s', f)
        for name in ('PYTHONSTARTUP', 'NODE_OPTIONS', 'BASH_ENV'):
            want(name not in f['env'], '%s of the image reached user code', name)
        want(f['env'].get('HOME') not in ('/nonexistent', None), 'HOME is %r', f['env'].get('HOME'))
        run(s, 'javascript', '1+1')
        # its volume is bounded, as everything that can be written
        x = s.exec('python', "import os\nwith open('/data/x','wb') as f:\n  for i in range(4096): f.write(bytes(1<<20))", timeout_ms=60000)
        want(x.outcome != 'ok', '4 GiB went into the volume that the image declares')
        want('size=' in run(s, 'sh', "grep ' /data ' /proc/mounts"), 'the volume that the image declares is none of ours')
        want(not s.info()['reached'].get('volumes'), 'volumes were reported')


def volume_image(b, tag, path):
    """An image with one more VOLUME."""
    c = b.engine.json('POST', '/containers/create', {'Image': 'interp-test:latest', 'Cmd': ['x']})['Id']
    try:
        status, _, data = b.engine.call('POST', '/commit?container=%s&repo=interp-engine-test&tag=%s&changes=VOLUME%%20%s' % (c, tag, path), {})
        want(status == 201, 'commit: %d %s', status, data)
    finally:
        b.engine.call('DELETE', '/containers/%s?v=1' % c)
    return 'interp-engine-test:' + tag


def test_volumes_where_ours_are(b):
    for n, path in enumerate(('/workspace', '/home/sub')):
        image = volume_image(b, 'v%d' % n, path)
        try:
            with b.open(image=image) as s:
                want('tmpfs' in run(s, 'sh', "grep ' %s ' /proc/mounts" % path), '%s is no tmpfs', path)
                run(s, 'python', "open('%s/x','w').write('a')" % path)
        finally:
            b.engine.call('DELETE', '/images/%s?force=1' % image)


def test_image_renamed_between_opens(b):
    """The name goes to an image that declares volumes, after it has been seen without."""
    b.engine.call('POST', '/images/interp-test:latest/tag?repo=interp-engine-test&tag=moving')
    try:
        with b.open(image='interp-engine-test:moving'):
            pass
        volume_image(b, 'moving', '/srv')
        with b.open(image='interp-engine-test:moving') as s:
            want('tmpfs' in run(s, 'sh', "grep ' /srv ' /proc/mounts"), 'the volume is none of ours')
    finally:
        b.engine.call('DELETE', '/images/interp-engine-test:moving?force=1')


def test_image_with_an_agent_of_its_own(b):
    """An image with /.interp/agent: neither it nor the next sandbox gets that one, even when the agent's volume is made anew with it."""
    import io
    import tarfile
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode='w') as t:
        for name, data in (('.interp/agent', b'#!/bin/false\n'), ('.interp/other', b'x')):
            i = tarfile.TarInfo(name)
            i.size, i.mode = len(data), 0o755
            t.addfile(i, io.BytesIO(data))
    c = b.engine.json('POST', '/containers/create', {'Image': 'interp-test:latest', 'Cmd': ['x']})['Id']
    try:
        # Podman's copier takes exactly two empty blocks at the end
        data = tar.getvalue()
        want(b.engine.call('PUT', '/containers/%s/archive?path=/' % c, data[:4 * 512 + 1024], {'Content-Type': 'application/x-tar'})[0] == 200, 'PUT archive')
        status, _, data = b.engine.call('POST', '/commit?container=%s&repo=interp-engine-test&tag=agent' % c, {})
        want(status == 201, 'commit: %d %s', status, data)
    finally:
        b.engine.call('DELETE', '/containers/%s?v=1' % c)
    from bench import Host
    try:
        for n in range(2):   # a volume that is there, and one that is made by this image
            if n:
                for v in [v['Name'] for v in b.engine.json('GET', '/volumes')['Volumes'] or [] if v['Name'].startswith('libinterp-agent-')]:
                    if b.engine.call('DELETE', '/volumes/' + v)[0] not in (204, 404):
                        raise Skipped("another session uses the agent's volume")
            with Host() as h:
                with b.open(h, image='interp-engine-test:agent') as s:
                    run(s, 'sh', 'echo')
                    want(run(s, 'sh', 'ls -a /.interp').split() == ['.', '..', 'agent'], 'the image put something into the volume of the agent: %s', run(s, 'sh', 'ls -la /.interp'))
                with b.open(h) as s:
                    run(s, 'sh', 'echo')
    finally:
        b.engine.call('DELETE', '/images/interp-engine-test:agent?force=1')


def test_other_architecture(b):
    b.refused('INTERP_E_IMAGE', 'image-architecture', image=b.image('arm64'))


def test_read_only_root(b):
    with b.open() as s:
        for place in ('/', '/etc', '/usr/local', '/var', '/.interp', '/run', '/sys/fs/cgroup', '/proc/sys/kernel'):
            x = s.exec('sh', 'echo a > %s/x' % place)
            want(x.outcome == 'error', 'a file could be made in %s', place)
        for place in ('/workspace', '/tmp', '/home', '/var/tmp'):
            run(s, 'sh', 'echo a > %s/x && cp /bin/echo %s/e && %s/e' % (place, place, place))


def test_users(b):
    for user in ('1000:1000', '4321:77', '65534:65534', '999999:1'):
        if b.rootless and int(user.split(':')[0]) > 65535:
            continue
        with b.open(user=user) as s:
            f = facts(s)
            want('%d:%d' % (f['uid'], f['gid']) == user, 'user code is %d:%d, not %s', f['uid'], f['gid'], user)
            want(f['caps'] == [0, 0, 0, 0] and f['bnd'] == 0, 'user %s has capabilities %s, bounded by %x', user, f['caps'], f['bnd'])
            run(s, 'sh', 'echo a > /workspace/x; echo a > /tmp/x')
            for language in ('javascript', 'bash'):
                run(s, language, '1' if language == 'javascript' else 'true')
    for user in ('root', '1000', '-1:0', '1000:', '99999999999:0', '1000:1000:1000', '0x10:1'):
        b.refused('INTERP_E_INVAL', 'user', user=user)


def test_names(b):
    for name in ('Bad', 'UPPER/x:y', '../containers/x', 'a/../b', './x', '/x', 'x/', 'a b', 'a?b', 'x#y', 'a%2fb', '-x', 'x' * 600, 'a&tag=b', '{', '..'):
        b.refused('INTERP_E_INVAL', ('image-name', 'option-value'), image=name)
    b.refused('INTERP_E_INVAL', 'image-missing', image=None)


def test_by_id(b):
    identifier = b.engine.json('GET', '/images/interp-test:latest/json')['Id']
    for name in (identifier, identifier.split(':')[-1], identifier.split(':')[-1][:12]):
        with b.open(image=name, pull='never') as s:
            run(s, 'sh', 'echo')
