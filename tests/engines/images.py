"""The test images: layers and a configuration, kept in the state directory, and given to engines as the archive that `docker load` reads.

The archive and the registry have the same bytes, so an image has one id on every engine."""
import glob
import hashlib
import io
import json
import os
import platform
import tarfile
import tempfile

import roots
from state import Failed, Skip

REPOSITORY = 'interp-test'
PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
ARCHITECTURE = {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine())

# tag: layers, configuration, and another architecture than the host's. Layers are made in this order.
IMAGES = {
    'latest': (['base', 'languages'], {'Env': [PATH], 'Cmd': ['bash']}, None),
    'nopython': (['base'], {'Env': [PATH], 'Cmd': ['bash']}, None),
    # everything that an image can say and a sandbox must not heed
    'user': (['base', 'languages'], {
        'User': '1234:1234', 'WorkingDir': '/srv/an odd place', 'Entrypoint': ['/bin/false'], 'Cmd': ['--from-the-image'],
        'Env': [PATH, 'ODD=from the image', 'HOME=/nonexistent', 'PYTHONSTARTUP=/nonexistent', 'NODE_OPTIONS=--no-such-option', 'BASH_ENV=/nonexistent'],
        'Volumes': {'/data': {}}, 'ExposedPorts': {'8080/tcp': {}}, 'StopSignal': 'SIGUSR1',
        'Healthcheck': {'Test': ['CMD', '/bin/false'], 'Interval': 1000000000, 'Retries': 1}}, None),
    'noshell': (['noshell'], {'Env': [PATH], 'Cmd': ['python3']}, None),
    'musl': (['musl'], {'Env': [PATH], 'Cmd': ['sh']}, None),
    'musl-node': (['musl', 'musl-node'], {'Env': [PATH], 'Cmd': ['sh']}, None),
    'arm64': (['arm64'], {'Env': [PATH], 'Cmd': ['sh']}, 'arm64'),
}


def digest(path):
    h = hashlib.sha256()
    with open(path, 'rb') as f:
        for data in iter(lambda: f.read(1 << 20), b''):
            h.update(data)
    return h.hexdigest()


class Images:
    def __init__(self, state):
        self.state, self.folder = state, state.make('images')
        self.file = os.path.join(self.folder, 'layers.json')
        self.layers, self.recipe = {}, digest(roots.__file__)
        if os.path.exists(self.file):
            with open(self.file) as f:
                self.layers = json.load(f)
        # what was made by another version of the recipe is made anew
        if self.layers.get('recipe') != self.recipe:
            self.layers = {'recipe': self.recipe}

    def layer(self, name):
        """The layer's file and digest; made when it is not there."""
        path = os.path.join(self.folder, name + '.tar')
        if name not in self.layers or not os.path.exists(path):
            root, names = roots.LAYERS[name](self.state.make('images', 'roots'), self.state.path('images.log'))
            roots.pack(root, names, path)
            for old in glob.glob(path + '.*.gz'):
                os.remove(old)
            self.layers[name] = digest(path)
            with open(self.file, 'w') as f:
                json.dump(self.layers, f, indent=1)
        return path, self.layers[name]

    def image(self, tag):
        """(configuration's bytes, [(layer's file, digest)])."""
        names, config, architecture = IMAGES[tag]
        layers = [self.layer(name) for name in names]
        data = {'architecture': architecture or ARCHITECTURE, 'os': 'linux', 'created': '2026-01-01T00:00:00Z', 'config': config,
                'rootfs': {'type': 'layers', 'diff_ids': ['sha256:' + d for _, d in layers]},
                'history': [{'created': '2026-01-01T00:00:00Z', 'created_by': name} for name in names]}
        return json.dumps(data, sort_keys=True).encode(), layers

    def id(self, tag):
        return hashlib.sha256(self.image(tag)[0]).hexdigest()

    def archive(self, tag, out):
        """Writes what `docker load` and `podman load` read."""
        config, layers = self.image(tag)
        name = hashlib.sha256(config).hexdigest() + '.json'
        manifest = [{'Config': name, 'RepoTags': ['%s:%s' % (REPOSITORY, tag)], 'Layers': ['%s/layer.tar' % d for _, d in layers]}]
        with tarfile.open(fileobj=out, mode='w') as tar:
            for member, data in ((name, config), ('manifest.json', json.dumps(manifest).encode())):
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            for path, d in layers:
                info = tarfile.TarInfo('%s/layer.tar' % d)
                info.size = os.path.getsize(path)
                with open(path, 'rb') as f:
                    tar.addfile(info, f)
        out.flush()
        out.seek(0)

    def load(self, engine, tag):
        """Gives the engine the image unless it has it. Whether it was given now."""
        name = '%s:%s' % (REPOSITORY, tag)
        status, _, data = engine.call('GET', '/images/%s/json' % name)
        old = json.loads(data)['Id'] if status == 200 else None
        if old and old.split(':')[-1] == self.id(tag):
            return False
        with tempfile.TemporaryFile(dir=self.folder) as f:
            self.archive(tag, f)
            status, _, data = engine.call('POST', '/images/load?quiet=1', f)
        if status != 200 or b'"error"' in data:
            raise Failed('%s could not be loaded: %d %s' % (name, status, data.decode('utf-8', 'replace')[:500]))
        facts = engine.json('GET', '/images/%s/json' % name)
        if facts['Id'].split(':')[-1] != self.id(tag):
            raise Failed('%s was loaded and has the id %s' % (name, facts['Id']))
        if old:
            engine.call('DELETE', '/images/%s' % old)
        return True

    def load_all(self, engine):
        """Returns (tags that were given now, [(tag, reason)] that can't be had)."""
        given, missing = [], []
        for tag in IMAGES:
            try:
                if self.load(engine, tag):
                    given.append(tag)
            except Skip as e:
                missing.append((tag, str(e)))
        return given, missing
