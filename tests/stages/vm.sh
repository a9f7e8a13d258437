#!/bin/sh
# vm.sh groups|engines|aarch64: in a virtual machine of Debian's with cgroup version 2 under systemd, the local backend as root and as an ordinary user, with a
# group and without, or the limits of Docker and Podman; or, emulated, on an arm64 machine
. "$root/tests/stages/lib.sh"
counted "vm $1" "$python" "$root/tests/vm/run.py" "$1" --folder "$build/vm" --build "$build/gcc"
finish
