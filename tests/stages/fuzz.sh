#!/bin/sh
# fuzz.sh SECONDS [SEED]: each fuzz target that long; with a seed the same inputs each time, so that a run that fails was not one of chance
. "$root/tests/stages/lib.sh"
[ -d "$root/tests/fuzz" ] || { fail fuzz 'tests/fuzz is not there'; finish; }
counted 'fuzz seeds' "$python" "$root/tests/common/meson_tests.py" "$build/gcc" fuzz
command -v clang >/dev/null 2>&1 || { skip fuzz 'no clang'; finish; }
log=$logs/build-fuzz.log
if ! { configure "$build/fuzz" clang -Dfuzz=true -Db_lundef=false && programs "$build/fuzz" 'tests/fuzz/fuzz_[a-z_]+'; } >"$log" 2>&1; then
    fail 'fuzz build' "$(tail -n 30 "$log")"
    finish
fi
found=
for target in "$build"/fuzz/tests/fuzz/fuzz_*; do
    [ -f "$target" ] && [ -x "$target" ] || continue
    found=1 name=${target##*/fuzz_} corpus=$build/fuzz/corpus/${target##*/}
    mkdir -p "$corpus"
    seeds=$root/tests/fuzz/corpus/$name
    [ -d "$seeds" ] || seeds=
    # shellcheck disable=SC2086
    if (cd "$build/fuzz" && timeout -k 10 $(($1 + 60)) "$target" -seed="${2:-0}" -max_total_time="$1" -timeout=10 -rss_limit_mb=2048 -close_fd_mask=1 -artifact_prefix="$corpus.crash-" "$corpus" $seeds) >"$logs/fuzz-$name.log" 2>&1 </dev/null; then
        echo "fuzz $name: $(grep -o 'Done [0-9]* runs in [0-9]* second' "$logs/fuzz-$name.log")"
        ok
    else
        fail "fuzz $name" "$(grep -E 'ERROR|SUMMARY|Test unit written|runtime error' "$logs/fuzz-$name.log" | head -n 10)" "$(tail -n 3 "$logs/fuzz-$name.log")"
    fi
done
[ -n "$found" ] || fail fuzz 'no fuzz target was built'
finish
