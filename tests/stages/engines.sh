#!/bin/sh
# engines.sh [newer]: Docker and Podman, also of an ordinary user, as this machine runs them or, as root, as the stage starts them itself with roots of
# their own; newer: those out of Debian's newer suites, and gVisor
. "$root/tests/stages/lib.sh"
# not `log`: counted has that
said=$logs/engines-start.log
if [ "${1:-}" = newer ]; then names='registry docker newer' labels='DOCKER_TRIXIE PODMAN_TRIXIE DOCKER_SID PODMAN_SID'; else names=all labels=; fi
# INTERP_TEST_ENGINES is the state directory of engines that were started by hand and shall go on
engines() { "$python" "$root/tests/engines/start.py" ${INTERP_TEST_ENGINES:+--state "$INTERP_TEST_ENGINES"} "$@"; }
stop() {
    started=$(sed -nE 's/^(started|found) ([a-z-]*):.*/\2/p' "$said" | tr '\n' ' ')
    # shellcheck disable=SC2086
    [ -z "$started" ] || engines stop $started >"$logs/engines-stop.log" 2>&1 || fail 'engines stop' "$(cat "$logs/engines-stop.log")"
}

trap 'stop; exit 1' HUP INT TERM
# shellcheck disable=SC2086
engines start $names >"$said" 2>&1
cat "$said"
passed=$((passed + $(grep -cE '^(started|running|found) ' "$said")))
failed=$((failed + $(grep -c '^FAIL ' "$said")))
skipped=$((skipped + $(grep -c '^SKIP ' "$said")))
[ $((passed + failed + skipped)) -gt 0 ] || fail engines 'start.py said nothing of use' "$(tail -n 10 "$said")"
settings=$(engines env) && eval "$settings" || fail engines 'no settings could be had'

if env | grep -qE '^INTERP_TEST_(DOCKER|PODMAN)'; then
    fit() { counted "set-up of $*" "$python" "$root/tests/engines/check.py" "$@"; }
    INTERP_TEST_SLOW=${INTERP_TEST_SLOW:-2}
    export INTERP_TEST_SLOW
    # each engine with the cases that hold for every backend, then with what is an engine's own; faults: with another engine of its own, so root alone
    cases() {
        what=$1 on=$2 backend=$3 config="{\"image\":\"interp-test:latest\",\"endpoint\":\"$4\"}"; shift 4
        counted "$what on $on" "$python" "$root/tests/cases/run_$what.py" --backend "$backend" --config "$config" "$@"
    }
    own() { counted "engine tests on $1" "$python" "$root/tests/engine/run.py" --engine "$1"; }
    faults() { if is_root; then counted "faults of $1" "$python" "$root/tests/engine/run.py" --engine "$1" --faults; else skip "faults of $1" 'not root'; fi; }
    of_docker() {
        fit DOCKER DOCKER_TLS
        running=
        lane silent cases reported docker docker "$1" --only SES-12        # a minute and a half without a word
        cases behaviours docker docker "$1"
        cases reported docker docker "$1" --without SES-12
        lanes
        own docker
    }
    of_podman() { fit PODMAN PODMAN_TCP; cases behaviours podman podman "$1"; cases reported podman podman "$1"; own podman; }
    others() {
        [ -z "${INTERP_TEST_PODMAN_ROOTLESS:-}" ] || { fit PODMAN_ROOTLESS; own podman-rootless; }
        [ -z "${INTERP_TEST_DOCKER:-}" ] || faults docker
        [ -z "${INTERP_TEST_PODMAN:-}" ] || faults podman
    }
    # lane NAME COMMAND...: beside the others, for engines mostly wait; its output and its counts come with `lanes`
    lane() {
        name=$1; shift
        # shellcheck disable=SC2031
        (passed=0 failed=0 skipped=0; "$@"; finish) >"$logs/lane-$name.log" 2>&1 &
        running="$running $name:$!"
    }
    lanes() {
        for one in $running; do
            wait "${one#*:}"
            counted "${one%:*}" cat "$logs/lane-${one%:*}.log"
        done
        running=
    }
    running=
    if [ "${1:-}" = newer ]; then
        for label in $labels; do
            eval "endpoint=\${INTERP_TEST_$label:-}"
            case $label in DOCKER*) backend=docker ;; *) backend=podman ;; esac
            [ -z "$endpoint" ] || { fit "$label"; cases behaviours "$label" "$backend" "$endpoint"; cases reported "$label" "$backend" "$endpoint"; }
        done
        # gVisor, when it was there as Docker was started: each system call costs it much more
        if ! command -v runsc >/dev/null 2>&1; then skip gvisor 'no runsc here (Debian: package runsc)'
        elif [ -z "${INTERP_TEST_DOCKER:-}" ]; then skip gvisor 'no Docker of ours to run it'
        else
            INTERP_TEST_SLOW=4
            counted 'behaviours of Python under gVisor' "$python" "$root/tests/cases/run_behaviours.py" --backend docker --language python \
                --config "{\"image\":\"interp-test:latest\",\"runtime\":\"runsc\",\"endpoint\":\"$INTERP_TEST_DOCKER\"}"
        fi
    else
        [ -z "${INTERP_TEST_DOCKER:-}" ] || lane docker of_docker "$INTERP_TEST_DOCKER"
        [ -z "${INTERP_TEST_PODMAN:-}" ] || lane podman of_podman "$INTERP_TEST_PODMAN"
        lane others others
        lanes
    fi
fi
stop
finish
