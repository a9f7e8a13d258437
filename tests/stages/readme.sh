#!/bin/sh
# readme.sh: each whole C program of the README, built against the installed library and run
. "$root/tests/stages/lib.sh"
[ -f "$root/README.md" ] || { fail readme 'README.md is not there'; finish; }
work=$build/readme
rm -rf "$work" && mkdir -p "$work"
meson install -C "$build/gcc" --no-rebuild >"$work/install.log" 2>&1 || { fail 'readme install' "$(tail -n 10 "$work/install.log")"; finish; }
prefix=$build/gcc/prefix
awk -v dir="$work" '/^```c$/ { n++; inside = 1; next } /^```/ { inside = 0 } inside { print > (dir "/block" n ".c") }' "$root/README.md"
for source in "$work"/block*.c; do
    [ -f "$source" ] && grep -q 'main *(' "$source" || continue
    program=${source%.c}
    flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs libinterp) || { fail "readme pkg-config" 'libinterp.pc can not be used'; break; }
    # shellcheck disable=SC2086
    if ! cc -std=c11 -Wall -Wextra -Werror -o "$program" "$source" $flags >"$program.log" 2>&1; then
        fail "readme ${program##*/} builds" "$(tail -n 20 "$program.log")"
    elif ! (cd "$work" && LD_LIBRARY_PATH=$prefix/lib timeout 60 "$program") >"$program.log" 2>&1 </dev/null; then
        fail "readme ${program##*/} runs" "$(tail -n 20 "$program.log")"
    else
        echo "${program##*/} says: $(head -c 300 "$program.log")"
        ok
    fi
done
[ $((passed + failed)) -gt 0 ] || fail readme 'no whole C program in the README'
finish
