#!/bin/sh
# sanitize.sh address|thread: unit and API tests under ASan and UBSan, or TSan
. "$root/tests/stages/lib.sh"
case $1 in address) kinds=address,undefined ;; thread) kinds=thread ;; esac
log=$logs/build-san-$1.log
if ! { configure "$build/san-$1" gcc -Db_sanitize="$kinds" -Db_lundef=false && programs "$build/san-$1" 'tests/(unit|api)-[a-z_]+'; } >"$log" 2>&1; then
    fail "build with -fsanitize=$kinds" "$(tail -n 30 "$log")"
    finish
fi
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:halt_on_error=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
counted "sanitizer $1" "$python" "$root/tests/common/meson_tests.py" "$build/san-$1" --jobs 3 --slow 4 unit api
finish
