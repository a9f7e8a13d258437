"""The disks of the virtual machine: a system out of Debian's packages with systemd and Debian's own kernel, made once, and what is tested, made anew each time.

No loop device and no mount is needed: mkfs.ext4 takes a folder."""
import glob
import hashlib
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'engines'))
import roots
from images import Images
from start import default_folder
from state import State

KERNELS = {'x86_64': 'linux-image-cloud-amd64'}
PACKAGES = ('systemd-sysv', 'dbus', 'dbus-user-session', 'libpam-systemd', 'udev', 'uidmap', 'procps', 'python3', 'nodejs', 'libyajl2', 'libseccomp2',
            'zlib1g', 'libcurl4', 'libpcre2-8-0', 'libedit2')
ENGINES = ('docker.io', 'apparmor', 'iptables', 'podman', 'crun', 'conmon', 'fuse-overlayfs', 'slirp4netns')
# what of them starts by itself waits until it is asked for
ASKED = ('docker.service', 'docker.socket', 'containerd.service', 'podman.service', 'podman.socket', 'podman-auto-update.timer', 'podman-restart.service')
# before packages are installed: a kernel's initramfs needs no more than the root disk
INITRAMFS = {'etc/initramfs-tools/conf.d/vm': 'MODULES=list\nCOMPRESS=lz4\n', 'etc/initramfs-tools/modules': 'virtio_pci\nvirtio_blk\next4\n'}
USER, UID = 'tester', 1000
# The service's output is the machine's word to us: a serial line of its own, where the kernel says nothing.
SYSTEM = {
    'etc/hostname': 'vm\n',
    'etc/hosts': '127.0.0.1 localhost vm\n',
    'etc/fstab': '/dev/vda / ext4 rw 0 0\n/dev/vdb /interp ext4 rw 0 0\n',
    'etc/systemd/system/interp-vm.service':
        '[Unit]\nAfter=multi-user.target systemd-logind.service user@%d.service\nRequiresMountsFor=/interp\nSuccessAction=poweroff-force\n'
        'FailureAction=poweroff-force\n[Service]\nType=oneshot\nExecStart=/usr/bin/python3 -u /interp/tests/vm/inside.py\n'
        'StandardInput=null\nStandardOutput=tty\nStandardError=tty\nTTYPath=/dev/ttyS1\nTimeoutStartSec=infinity\n' % UID,
    'var/lib/systemd/linger/' + USER: '',
}
# nothing of it says anything about us, and each takes seconds where a machine is emulated
MASKED = ('apt-daily.timer', 'apt-daily-upgrade.timer', 'e2scrub_all.timer', 'fstrim.timer', 'dpkg-db-backup.timer', 'systemd-timesyncd.service',
          'getty.target', 'serial-getty@ttyS0.service', 'systemd-journal-flush.service', 'systemd-update-utmp.service')


def write(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)


def make(folder, target, mib, log):
    """A disk with the folder's files; nothing is left of a disk that did not come whole."""
    new = target + '.new'
    if os.path.exists(new):
        os.remove(new)
    roots.run(log, 600, '/sbin/mkfs.ext4', '-q', '-F', '-m', '0', '-d', folder, new, '%dM' % mib)
    os.replace(new, target)


def system(folder, log, package):
    """The root disk; (disk, kernel, initramfs). It is made again when what it is made of has changed."""
    with open(os.path.abspath(__file__), 'rb') as f:
        stamp = hashlib.sha256(f.read()).hexdigest()
    made = [os.path.join(folder, name) for name in ('root.img', 'vmlinuz', 'initrd', 'stamp')]
    try:
        with open(made[3]) as f:
            if f.read() == stamp and all(os.path.exists(p) for p in made):
                return made[:3]
    except OSError:
        pass
    root = os.path.join(folder, 'root')
    roots.bootstrap(root, log)
    write(root, INITRAMFS)
    roots.install(root, log, *PACKAGES + ENGINES)
    roots.install(root, log, 'initramfs-tools', 'lz4', package)
    write(root, SYSTEM)
    roots.run(log, 60, 'chroot', root, 'useradd', '--create-home', '--uid', str(UID), '--shell', '/bin/bash', USER)
    roots.run(log, 60, 'systemctl', '--root=' + root, 'disable', *ASKED)
    units = os.path.join(root, 'etc/systemd/system')
    for name in MASKED:
        os.symlink('/dev/null', os.path.join(units, name))
    os.makedirs(os.path.join(units, 'multi-user.target.wants'), exist_ok=True)
    os.makedirs(os.path.join(root, 'interp'))
    for pattern, target in (('boot/vmlinuz-*', made[1]), ('boot/initrd.img-*', made[2])):
        shutil.copy(sorted(glob.glob(os.path.join(root, pattern)))[-1], target)
    make(root, made[0], 4096, log)
    shutil.rmtree(root)
    with open(made[3], 'w') as f:
        f.write(stamp)
    return made[:3]


def images():
    """Layers of the image that engines run, made once, also for the engines of this machine; the folder with them."""
    made = Images(State(default_folder()))
    made.image('latest')
    return made.folder


def lay(tree, top, build, part, command):
    """What is tested, below the same names as in the checkout: the tests, the built library, and programs that are built; no objects."""
    shutil.rmtree(tree, ignore_errors=True)
    unwanted = shutil.ignore_patterns('__pycache__', '*.p', '*.o', '*.a', 'corpus', 'bench', 'fuzz', 'abi', 'consumer')
    for name in ('tests', 'examples', 'include'):
        shutil.copytree(os.path.join(top, name), os.path.join(tree, name), symlinks=True, ignore=unwanted)
    for name in ('lib', 'tests', 'examples'):
        shutil.copytree(os.path.join(build, name), os.path.join(tree, 'build', name), symlinks=True, ignore=unwanted)
    write(tree, {'part': part, 'command': command or ''})


def project(folder, log, top, build, part, command):
    """A disk with that, and with the image that engines run."""
    tree, disk = os.path.join(folder, 'project'), os.path.join(folder, 'project.img')
    lay(tree, top, build, part, command)
    if part == 'engines':
        shutil.copytree(images(), os.path.join(tree, 'engines', 'images'), ignore=shutil.ignore_patterns('roots*', '*.log'))
    make(tree, disk, 3072, log)
    shutil.rmtree(tree)
    return disk
