#!/bin/sh
# The tests: sh tests/run.sh [--all] [--only STAGE]... [--no-install]
# Builds with gcc and clang under build/, runs every stage in order, prints each skip with its reason, and ends with the line
# `N passed, N failed, N skipped`. Exit status 1 when anything failed or nothing ran. As root it also runs what needs root, and the
# ordinary user's part under another account; without root what needs root is skipped.
#   --all         newer container engines, all Python and Node.js versions, every toolchain, a machine with cgroup version 2 (its engines, too), one of another
#                 architecture, long fuzzing, soak
#   --only STAGE  only this stage (and the gcc build), be it one of --all; may be given several times
#   --list        names of the stages
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
build=${INTERP_BUILD:-$root/build}
logs=$build/logs
all= only= install=1 list=
while [ $# -gt 0 ]; do
    case $1 in
    --all) all=1 ;;
    --only) only="$only ${2:?a stage}"; shift ;;
    --no-install) install= ;;
    --list) list=1 ;;
    *) echo "usage: sh tests/run.sh [--all] [--only STAGE]... [--list] [--no-install]" >&2; exit 2 ;;
    esac
    shift
done
passed=0 failed=0 skipped=0 known=
began=$(date +%s)

# wanted NAME: whether --only lets it run; with --list it is only named
wanted() {
    known="$known $1"
    if [ -n "$list" ]; then echo "$1"; return 1; fi
    case "$only " in ' ') ;; *" $1 "*) ;; *) [ "$1" = build-gcc ] || return 1 ;; esac
}
# perform NAME LIMIT-SECONDS SCRIPT [ARGUMENT]...: its output, and in a file how it ended and how long it took
perform() {
    name=$1 limit=$2 script=$3; shift 3
    start=$(date +%s)
    timeout -k 30 "$limit" sh "$root/tests/stages/$script" "$@" </dev/null 2>&1
    echo "$? $limit $(($(date +%s) - start))" >"$logs/$name.status"
}
# tally NAME: takes the counts out of its log
tally() {
    name=$1 log=$logs/$1.log
    # shellcheck disable=SC2046
    set -- $(cat "$logs/$name.status" 2>/dev/null || echo 1 0 0)
    status=$1 limit=$2 took=$3
    rm -f "$logs/$name.status"
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    if [ -n "$line" ] && [ "$status" != 124 ] && [ "$status" != 137 ]; then
        # shellcheck disable=SC2086
        set -- $(echo "$line" | sed 's/[^0-9 ]//g')
        passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
        if [ "$status" != 0 ] && [ "$2" = 0 ]; then
            failed=$((failed + 1))
            echo "FAIL $name: ended with status $status"
        fi
    else
        failed=$((failed + 1))
        echo "FAIL $name: ended with status $status$([ "$status" = 124 ] && echo " after the limit of $limit s") and no counts"
    fi
    echo "   ($name: $took s)"
}
# stage NAME LIMIT-SECONDS SCRIPT [ARGUMENT]...
stage() {
    wanted "$1" || return
    echo "== $1"
    perform "$@" | tee "$logs/$1.log"
    tally "$1"
}
# beside NAME LIMIT-SECONDS SCRIPT [ARGUMENT]...: a stage that mostly waits, beside the next ones; `join` shows what it said and takes its counts
beside() {
    wanted "$1" || return
    echo "== $1: begins, beside the next ones"
    perform "$@" >"$logs/$1.log" &
    running="$running $1:$!"
}
join() {
    for one in $running; do
        wait "${one#*:}"
        echo "== ${one%:*}"
        cat "$logs/${one%:*}.log"
        tally "${one%:*}"
    done
    running=
}
running=
# what they have begun has its own way to end
trap 'for one in $running; do pkill -P "${one#*:}" 2>/dev/null; kill "${one#*:}" 2>/dev/null; done; exit 1' HUP INT TERM

if [ -z "$list" ]; then
    mkdir -p "$logs" || exit 1
    if [ -n "$install" ]; then
        sh "$root/tests/install.sh" >"$logs/install.log" 2>&1 </dev/null
        cat "$logs/install.log"
        skipped=$((skipped + $(grep -c '^SKIP ' "$logs/install.log")))
    fi
    python=$(command -v python3) || { echo "FAIL there is no python3"; echo "0 passed, 1 failed, $skipped skipped"; exit 1; }
    INTERP_LIBRARY=${INTERP_LIBRARY:-$build/gcc/lib/libinterp.so.0}
    INTERP_TEST_LIBRARY=${INTERP_TEST_LIBRARY:-$build/gcc/lib/libinterp_testing.so}
    INTERP_CLI=${INTERP_CLI:-$build/gcc/examples/interp/interp}
    PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
    export root build logs python INTERP_LIBRARY INTERP_TEST_LIBRARY INTERP_CLI PYTHONDONTWRITEBYTECODE LC_ALL
fi

stage build-gcc 1200 build.sh gcc
stage build-clang 1200 build.sh clang
beside engines 2700 engines.sh
stage unit 700 meson.sh unit "$build/gcc" 2
stage agent 700 agent.sh
stage kernels 900 kernels.sh
stage backend 900 backend.sh
stage api 900 meson.sh api "$build/gcc" 3
stage cases-root 700 cases.sh behaviours root
stage cases-user 700 cases.sh behaviours user
stage reported-root 900 cases.sh reported root
stage reported-user 900 cases.sh reported user
stage own-backend 900 own.sh
stage attacks-root 900 cases.sh attacks root
stage attacks-user 900 cases.sh attacks user
stage readme 600 readme.sh
stage quickstart 900 quickstart.sh
stage fuzz 1200 fuzz.sh 8 1
stage sanitize-address 1500 sanitize.sh address
stage sanitize-thread 1500 sanitize.sh thread
stage cli 900 cli.sh
stage python 2000 python.sh
stage rest 900 meson.sh rest
join
if [ -n "$all$only$list" ]; then
    stage engines-newer 3600 engines.sh newer
    stage kernels-all 3600 kernels.sh all
    stage languages-all 3600 languages.sh install
    stage vm 5400 vm.sh groups
    stage vm-engines 5400 vm.sh engines
    stage vm-aarch64 7200 vm.sh aarch64
    stage fuzz-long 14400 fuzz.sh 900
    stage soak 1200 soak.sh 600
    stage python-all 3600 python.sh all
fi
[ -z "$list" ] || exit 0
for one in $only; do
    case "$known " in *" $one "*) ;; *) failed=$((failed + 1)); echo "FAIL there is no stage $one (--list names them)" ;; esac
done

echo "all stages: $(($(date +%s) - began)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
