#!/bin/sh
# vm.sh: in a virtual machine of Debian's with cgroup version 2 under systemd, the local backend as root and as an ordinary user, with a group and without
. "$root/tests/stages/lib.sh"
counted vm "$python" "$root/tests/vm/run.py" --folder "$build/vm" --build "$build/gcc"
finish
