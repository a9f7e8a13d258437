#!/usr/bin/env python3
"""The parts of the tests that control groups touch, in a virtual machine whose groups are version 2 alone, under systemd, as most users have them:
the local backend in the kinds of groups that a host may be in, or the limits of Docker and Podman as Debian starts them. Or, part aarch64, a machine of that
architecture, where what is built for it runs.

    run.py groups|engines|aarch64 [--folder FOLDER] [--build BUILD] [--command COMMAND]

Needs root (debootstrap) and qemu. Without a usable KVM the machine is emulated, at a tenth of the speed. --command runs that in the machine instead, as
root. The last line is `N passed, N failed, N skipped`."""
import argparse
import collections
import contextlib
import os
import platform
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'common'))
import aarch64
import disks
import runner
from state import Failed, Skip, tail

TOP = os.path.dirname(runner.TESTS)
UP = b'the machine is up'
# (accelerator, seconds until the machine has to be up, how much longer everything may take inside)
KVM, EMULATED = ('kvm', 60, 2), ('tcg,thread=multi', 300, 20)
LIMIT = 4500
# what the machine says comes over the last serial line
Machine = collections.namedtuple('Machine', 'architecture accelerators options kernel initrd words drives')


def groups_machine(options, log):
    if platform.machine() not in disks.KERNELS:
        raise Skip('no virtual machine is described for %s' % platform.machine())
    root, kernel, initrd = disks.system(options.folder, log, disks.KERNELS[platform.machine()])
    project = disks.project(options.folder, log, TOP, options.build, options.part, options.command)
    return Machine(platform.machine(), [KVM, EMULATED], ['-serial', 'file:' + os.path.join(options.folder, 'console.log'), '-serial', 'stdio'], kernel, initrd,
                   'root=/dev/vda rw quiet console=ttyS0 panic=-1 systemd.unified_cgroup_hierarchy=1 systemd.wants=interp-vm.service', [root, project])


def aarch64_machine(options, log):
    if platform.machine() == 'aarch64':
        raise Skip('this machine is one itself')
    kernel, initrd, disk = aarch64.machine(os.path.join(options.folder, 'aarch64'), log, TOP, options.command)
    return Machine('aarch64', [EMULATED], ['-machine', 'virt', '-serial', 'stdio'], kernel, initrd, 'console=ttyAMA0 loglevel=0 panic=-1', [disk])


# part: its machine, and the programs that this takes, with their packages
DISK = {'debootstrap': 'debootstrap', 'mkfs.ext4': 'e2fsprogs'}
X86 = dict(DISK, **{'qemu-system-x86_64': 'qemu-system-x86'})
ARM = dict(DISK, **{'qemu-system-aarch64': 'qemu-system-arm', 'cpio': 'cpio', 'aarch64-linux-gnu-gcc': 'gcc-aarch64-linux-gnu'})
PARTS = {'groups': (groups_machine, X86), 'engines': (groups_machine, X86), 'aarch64': (aarch64_machine, ARM)}


def boot(accelerator, slow, folder, machine):
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(folder, 'console.log'))      # of another machine
    command = ['qemu-system-' + machine.architecture, '-accel', accelerator, '-cpu', 'max', '-smp', '2', '-m', '3072', '-nodefaults', '-no-reboot', '-display', 'none',
               '-kernel', machine.kernel, '-initrd', machine.initrd, '-append', '%s interp.slow=%d interp.now=%d' % (machine.words, slow, time.time())] + machine.options
    for drive in machine.drives:
        command += ['-drive', 'file=%s,format=raw,if=virtio,snapshot=on,cache=unsafe' % drive]
    with open(os.path.join(folder, 'qemu.log'), 'wb') as errors:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)


def lines(process, up_within, limit):
    """What the machine says, line by line, until it is switched off; TimeoutError when it does not come up."""
    began, rest, up = time.monotonic(), b'', False
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = began + (limit if up else up_within) - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if not selector.select(left):
                continue
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                return
            *whole, rest = (rest + data.replace(b'\r', b'')).split(b'\n')
            for line in whole:
                if line == UP:
                    up = True
                yield line


def last_words(folder):
    texts = [tail(path) for path in (os.path.join(folder, name) for name in ('qemu.log', 'console.log')) if os.path.exists(path)]
    return next(filter(None, texts), 'it says nothing')


def said(folder, machine, tally):
    """What a machine says once it is up, line by line, on the first accelerator that boots it."""
    why = []
    for accelerator, up_within, slow in machine.accelerators:
        if accelerator == 'kvm' and not os.access('/dev/kvm', os.R_OK | os.W_OK):
            continue
        process, up = boot(accelerator, slow, folder, machine), False
        try:
            for line in lines(process, up_within, LIMIT):
                if up:
                    yield line.decode('utf-8', 'replace')
                up = up or line == UP
        except TimeoutError:
            if up:
                tally.fail('vm', 'it was not done within %d s' % LIMIT)
        finally:
            process.kill()
            process.wait()
        if up:
            return
        why.append('%s: %s' % (accelerator, last_words(folder)))
    tally.fail('vm', 'no machine came up', *why)


def install(needs):
    missing = [package for program, package in needs.items() if not shutil.which(program, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')]
    if missing and subprocess.call(['apt-get', 'install', '-y', '-q', '--no-install-recommends'] + missing, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=dict(os.environ, DEBIAN_FRONTEND='noninteractive')):
        raise Skip('%s can not be had here' % ', '.join(missing))


def whole(options, tally):
    if os.geteuid() != 0:
        raise Skip('a root disk is made by root only')
    described, needs = PARTS[options.part]
    os.makedirs(options.folder, exist_ok=True)
    install(needs)
    machine = described(options, os.path.join(options.folder, 'disks.log'))
    ended = None
    for line in said(options.folder, machine, tally):
        counts = re.fullmatch(r'(\d+) passed, (\d+) failed, (\d+) skipped', line)
        ended = counts or ended
        if not counts:
            print(line, flush=True)
    if ended:
        tally.passed, tally.failed, tally.skipped = (mine + int(theirs) for mine, theirs in zip((tally.passed, tally.failed, tally.skipped), ended.groups()))
    elif not tally.failed:
        tally.fail('vm', 'the machine was switched off before it had counted', last_words(options.folder))


def main():
    p = argparse.ArgumentParser(description='Tests in a virtual machine with cgroup version 2.')
    p.add_argument('part', choices=sorted(PARTS))
    p.add_argument('--folder', default=os.path.join(TOP, 'build', 'vm'), help='where the disks are kept')
    p.add_argument('--build', default=os.path.join(TOP, 'build', 'gcc'), help='what is tested')
    p.add_argument('--command', help='run this in the machine, as root, and nothing else')
    options, tally = p.parse_args(), runner.Tally()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))   # the machine ends with us
    try:
        whole(options, tally)
    except Skip as e:
        tally.skip('vm', e)
    except Failed as e:
        tally.fail('vm', e)
    sys.exit(tally.end())


if __name__ == '__main__':
    main()
