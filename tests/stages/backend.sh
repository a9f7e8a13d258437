#!/bin/sh
# backend.sh: the local backend through its table alone; attack rows at its own face, with and without a cgroup
. "$root/tests/stages/lib.sh"
[ -d "$root/tests/backend" ] || { fail backend 'tests/backend is not there'; finish; }
counted backend "$python" "$root/tests/common/meson_tests.py" "$build/gcc" backend
finish
