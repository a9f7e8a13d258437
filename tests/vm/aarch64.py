"""A machine of the other architecture, emulated: the library is built for arm64 against a root of Debian's packages, which is then the machine's system.

Packages are unpacked, not installed, for nothing here can run their scripts; the machine's first program mounts what a system has and starts the tests."""
import glob
import hashlib
import os
import shutil

import disks
import roots
from state import Failed, Skip

COMPILER = 'aarch64-linux-gnu-gcc'
KERNEL = 'linux-image-cloud-arm64'
PACKAGES = ('bash', 'dash', 'libc-bin', 'coreutils', 'util-linux', 'mount', 'kmod', 'busybox-static', 'python3', 'nodejs', 'libyajl2', 'libseccomp2', 'zlib1g', 'libcurl4', 'libpcre2-8-0',
            'libedit2', 'procps', 'grep', 'sed', 'findutils', 'tar', 'gzip', 'hostname', KERNEL)
BUILD = ('libc6-dev', 'libgcc-12-dev', 'libyajl-dev', 'libcurl4-openssl-dev', 'zlib1g-dev', 'libseccomp-dev', 'libpcre2-dev', 'libedit-dev')
# what a system does not need to run
DEVELOPMENT = ('usr/include', 'usr/lib/gcc', 'usr/lib/gcc-cross', 'usr/lib/modules', 'usr/share/perl', 'usr/lib/python3/dist-packages', 'boot')
# in the order in which they need each other
DISK_MODULES = ('virtio', 'virtio_ring', 'virtio_pci_legacy_dev', 'virtio_pci_modern_dev', 'virtio_pci', 'virtio_mmio', 'virtio_blk')
MODULES = ('overlay',)

CROSS = '''[binaries]
c = ['{compiler}', '--sysroot={root}']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
[properties]
sys_root = '{root}'
pkg_config_libdir = ['{root}/usr/lib/aarch64-linux-gnu/pkgconfig', '{root}/usr/share/pkgconfig']
needs_exe_wrapper = true
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
'''

# the first program of all, in memory: the modules of the disk, and the disk
FIRST = '''#!/bin/busybox sh
/bin/busybox mount -t devtmpfs devtmpfs /dev
for m in %s; do /bin/busybox insmod /$m.ko; done
until /bin/busybox mount -t ext4 /dev/vda /new; do /bin/busybox sleep 0.2; done
exec /bin/busybox switch_root /new /interp-init
''' % ' '.join(DISK_MODULES)

# the first one on the disk. The tests get a group with all controllers, themselves in a part of it.
INIT = '''#!/bin/bash
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin LANG=C.UTF-8 HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for where in /dev/shm /tmp /run; do mount -t tmpfs tmpfs $where; done
chmod 1777 /dev/shm /tmp
ln -sf /proc/self/fd /dev/fd
mount -t cgroup2 cgroup /sys/fs/cgroup
for m in %s; do insmod /modules/$m.ko; done
hostname vm
echo "+memory +pids +cpu" >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/tests/host
echo $$ >/sys/fs/cgroup/tests/host/cgroup.procs
[[ $(</proc/cmdline) =~ interp.now=([0-9]+) ]] && date -s @${BASH_REMATCH[1]} >/dev/null
python3 -u /interp/tests/vm/inside.py </dev/null >/dev/ttyAMA0 2>&1
sync
echo o >/proc/sysrq-trigger
sleep 1000
''' % ' '.join(MODULES)


def module(root, name):
    found = glob.glob(os.path.join(root, 'usr/lib/modules/*/kernel/**/%s.ko' % name), recursive=True)
    if len(found) != 1:
        raise Failed('module %s of the kernel: found %s' % (name, found))
    return found[0]


def root_of(folder, log):
    """The root of packages, made again when what it is made of has changed."""
    with open(os.path.abspath(__file__), 'rb') as f:
        stamp = hashlib.sha256(f.read()).hexdigest()
    root, stamped = os.path.join(folder, 'root'), os.path.join(folder, 'stamp')
    if os.path.exists(stamped):
        with open(stamped) as f:
            if f.read() == stamp:
                return root
    debs = roots.fetch(os.path.join(folder, 'apt'), log, roots.os_release('VERSION_CODENAME'), 'arm64', *PACKAGES + BUILD, needed=True)
    roots.skeleton(root)
    roots.unpack(root, debs, log)
    libraries = os.path.join(root, 'usr/lib/aarch64-linux-gnu')
    for name in os.listdir(libraries):      # a link with a whole path would lead out of the root
        link = os.path.join(libraries, name)
        if os.path.islink(link) and os.readlink(link).startswith('/'):
            target = os.path.basename(os.readlink(link))
            os.remove(link)
            os.symlink(target, link)
    shutil.rmtree(os.path.join(folder, 'build'), ignore_errors=True)
    with open(stamped, 'w') as f:
        f.write(stamp)
    return root


def built(folder, log, top, root):
    """What is tested."""
    build = os.path.join(folder, 'build')
    if not os.path.exists(os.path.join(build, 'build.ninja')):
        disks.write(folder, {'cross.ini': CROSS.format(compiler=COMPILER, root=root)})
        roots.run(log, 300, 'meson', 'setup', build, top, '--cross-file', os.path.join(folder, 'cross.ini'), '--buildtype=debugoptimized')
    roots.run(log, 2400, 'ninja', '-C', build)
    return build


def initrd(folder, log, root):
    """A file system in memory with the first program."""
    tree, target = os.path.join(folder, 'initrd.tree'), os.path.join(folder, 'initrd')
    shutil.rmtree(tree, ignore_errors=True)
    disks.write(tree, {'init': FIRST})
    os.chmod(os.path.join(tree, 'init'), 0o755)
    for name in ('bin', 'dev', 'new'):
        os.mkdir(os.path.join(tree, name))
    shutil.copy2(os.path.join(root, 'usr/bin/busybox'), os.path.join(tree, 'bin'))
    for name in DISK_MODULES:
        shutil.copy(module(root, name), tree)
    roots.run(log, 60, 'sh', '-c', 'cd "$1" && find . | cpio -o -H newc --quiet | gzip -1 >"$2"', 'sh', tree, target)
    shutil.rmtree(tree)
    return target


def machine(folder, log, top, command):
    """(kernel, initrd, disk), with the system and the project on the disk."""
    if not shutil.which(COMPILER):
        raise Skip('there is no %s' % COMPILER)
    os.makedirs(folder, exist_ok=True)
    root = root_of(folder, log)
    build, tree, disk = built(folder, log, top, root), os.path.join(folder, 'tree'), os.path.join(folder, 'disk.img')
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree)
    roots.run(log, 300, 'sh', '-c', 'from=$1 to=$2; shift 2; tar -C "$from" -cf - --exclude="*.a" "$@" . | tar -C "$to" -xf -', 'sh', root, tree, *['--exclude=./' + name for name in DEVELOPMENT])
    disks.write(tree, {'interp-init': INIT})
    os.chmod(os.path.join(tree, 'interp-init'), 0o755)
    os.makedirs(os.path.join(tree, 'modules'))
    for name in MODULES:
        shutil.copy(module(root, name), os.path.join(tree, 'modules'))
    disks.lay(os.path.join(tree, 'interp'), top, build, 'aarch64', command)
    link = tree + os.path.abspath(top)      # test programs have that path in them
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.symlink('/interp', link)
    disks.make(tree, disk, 2048, log)
    shutil.rmtree(tree)
    kernel, = glob.glob(os.path.join(root, 'boot/vmlinuz-*'))
    return kernel, initrd(folder, log, root), disk
