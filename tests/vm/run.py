#!/usr/bin/env python3
"""The parts of the tests that control groups touch, in a virtual machine whose groups are version 2 alone, under systemd, as most users have them:
the local backend in the kinds of groups that a host may be in.

    run.py [--folder FOLDER] [--build BUILD] [--command COMMAND]

Needs root (debootstrap) and qemu. Without a usable KVM the machine is emulated, at a tenth of the speed. --command runs that in the machine instead, as
root. The last line is `N passed, N failed, N skipped`."""
import argparse
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
import disks
import runner
from state import Failed, Skip, tail

TOP = os.path.dirname(runner.TESTS)
UP = b'the machine is up'
# (accelerator, seconds until the machine has to be up, how much longer everything may take inside)
ACCELERATORS = [('kvm', 60, 2), ('tcg,thread=multi', 300, 20)]
LIMIT = 4500


def boot(accelerator, slow, folder, made, drives):
    console = os.path.join(folder, 'console.log')
    command = ['qemu-system-' + platform.machine(), '-accel', accelerator, '-cpu', 'max', '-smp', '2', '-m', '3072', '-nodefaults', '-no-reboot', '-display', 'none',
               '-kernel', made[1], '-initrd', made[2], '-append',
               'root=/dev/vda rw quiet console=ttyS0 panic=-1 systemd.unified_cgroup_hierarchy=1 systemd.wants=interp-vm.service interp.slow=%d' % slow,
               '-serial', 'file:' + console, '-serial', 'stdio']
    for drive in drives:
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


def said(folder, made, drives, tally):
    """What a machine says once it is up, line by line, on the first accelerator that boots it."""
    why = []
    for accelerator, up_within, slow in ACCELERATORS:
        if accelerator == 'kvm' and not os.access('/dev/kvm', os.R_OK | os.W_OK):
            continue
        process, up = boot(accelerator, slow, folder, made, drives), False
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
        why.append('%s: %s' % (accelerator, tail(os.path.join(folder, 'qemu.log')) or tail(os.path.join(folder, 'console.log')) or 'says nothing'))
    tally.fail('vm', 'no machine came up', *why)


def install():
    """qemu, and what makes a disk."""
    missing = [package for program, package in (('debootstrap', 'debootstrap'), ('mkfs.ext4', 'e2fsprogs'), ('qemu-system-' + platform.machine(), 'qemu-system-x86'))
               if not shutil.which(program, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')]
    if missing and subprocess.call(['apt-get', 'install', '-y', '-q', '--no-install-recommends'] + missing, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=dict(os.environ, DEBIAN_FRONTEND='noninteractive')):
        raise Skip('%s can not be had here' % ', '.join(missing))


def whole(options, tally):
    if os.geteuid() != 0:
        raise Skip('a root disk is made by root only')
    if platform.machine() not in disks.KERNELS:
        raise Skip('no virtual machine is described for %s' % platform.machine())
    os.makedirs(options.folder, exist_ok=True)
    install()
    log = os.path.join(options.folder, 'disks.log')
    made = disks.system(options.folder, log, disks.KERNELS[platform.machine()])
    project = disks.project(options.folder, log, TOP, options.build, options.command)
    ended = None
    for line in said(options.folder, made, [made[0], project], tally):
        ended = re.fullmatch(r'(\d+) passed, (\d+) failed, (\d+) skipped', line)
        if not ended:
            print(line, flush=True)
    if ended:
        tally.passed, tally.failed, tally.skipped = (mine + int(theirs) for mine, theirs in zip((tally.passed, tally.failed, tally.skipped), ended.groups()))
    elif not tally.failed:
        tally.fail('vm', 'the machine was switched off before it had counted', tail(os.path.join(options.folder, 'console.log')))


def main():
    p = argparse.ArgumentParser(description='Tests in a virtual machine with cgroup version 2.')
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
