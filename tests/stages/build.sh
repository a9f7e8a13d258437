#!/bin/sh
# build.sh COMPILER: the library, its agent, examples and tests; no compiler warning is accepted
. "$root/tests/stages/lib.sh"
command -v "$1" >/dev/null 2>&1 || { skip "build $1" "no $1"; finish; }
log=$logs/build-$1.log
# a build directory that another version of the build files or another meson made is made anew once
if setup "$build/$1" "$1" >"$log" 2>&1 || { rm -rf "$build/$1"; setup "$build/$1" "$1" >"$log" 2>&1; }; then
    ok
    warnings=$(grep -c 'warning:' "$log")
    if [ "$warnings" = 0 ]; then ok; else fail "build $1 warnings" "$warnings warnings; the first:" "$(grep 'warning:' "$log" | head -n 5)"; fi
else
    fail "build $1" "$(tail -n 40 "$log")"
fi
finish
