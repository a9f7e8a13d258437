# Shared by the stages; run.sh exports root, build, logs, python and INTERP_*. A stage ends with the line `N passed, N failed, N skipped`.
set -u
passed=0 failed=0 skipped=0

ok() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAIL $1"; shift; for line in "$@"; do echo "     $line"; done; }
skip() { skipped=$((skipped + 1)); echo "SKIP $1: $2"; }
# Adds the counts that a program of tests printed last into a log; a status without a failure is one.
add() {
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$2" | tail -n 1)
    if [ -n "$line" ]; then
        # shellcheck disable=SC2086
        set -- "$1" "$2" "$3" $(echo "$line" | sed 's/[^0-9 ]//g')
        passed=$((passed + $4)) failed=$((failed + $5)) skipped=$((skipped + $6))
        [ "$3" = 0 ] || [ "$5" != 0 ] || fail "$1" "ended with status $3"
        told=$(grep -ac '^SKIP ' "$2")
        [ "$6" -le "$told" ] || echo "SKIP $1: $(($6 - told)) more, for which that program prints no reason"
    else
        fail "$1" "no line with counts; ended with status $3" "$(tail -n 5 "$2")"
    fi
}
# counted NAME COMMAND...: runs it, shows its output and adds its counts
counted() {
    name=$1; shift
    log=$(mktemp "$logs/part.XXXXXX")
    { "$@"; echo $? >"$log.status"; } 2>&1 | tee "$log" | grep -avE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'
    add "$name" "$log" "$(cat "$log.status")"
    rm -f "$log" "$log.status"
}
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ] || exit 1
    exit 0
}
is_root() { [ "$(id -u)" = 0 ]; }
# configure DIR COMPILER [MESON-OPTION]...: unless that is done
configure() {
    dir=$1 compiler=$2; shift 2
    [ ! -f "$dir/build.ninja" ] || return 0
    rm -rf "$dir"
    CC=$compiler meson setup "$dir" "$root" -Dprefix="$dir/prefix" -Dlibdir=lib --buildtype=debugoptimized "$@"
}
# programs DIR PATTERN: builds those of its programs whose names match, and what they need
programs() {
    ninja -C "$1" build.ninja || return 1
    # shellcheck disable=SC2046
    ninja -C "$1" $(ninja -C "$1" -t targets all | sed -nE "s#^($2): [a-z]+_LINKER.*#\1#p")
}
setup() { configure "$@" && ninja -C "$1"; }
