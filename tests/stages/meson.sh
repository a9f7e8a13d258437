#!/bin/sh
# meson.sh FOLDER [BUILD-DIR [JOBS [SLOW]]]: the meson tests of tests/FOLDER; "rest": those of no other stage
. "$root/tests/stages/lib.sh"
folder=$1 dir=${2:-$build/gcc} jobs=${3:-1} slow=${4:-1}
if [ "$folder" = rest ]; then
    counted rest "$python" "$root/tests/common/meson_tests.py" "$dir" --jobs "$jobs" --slow "$slow" --except unit agent kernels backend api fuzz bench cases attack cli
elif [ ! -d "$root/tests/$folder" ]; then
    fail "$folder" "tests/$folder is not there"
else
    counted "$folder" "$python" "$root/tests/common/meson_tests.py" "$dir" --jobs "$jobs" --slow "$slow" "$folder"
fi
finish
