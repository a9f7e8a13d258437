#!/bin/sh
# quickstart.sh - gets what is missing, builds into build/, runs a session in three languages. May be run again at any time.
# SPDX-License-Identifier: MIT
set -eu

cd "$(dirname "$0")/.."
build=${BUILD_DIR:-build}

say() {
    printf '%s\n' "$*"
}
stop() {
    printf 'quickstart: %s\n' "$*" >&2
    exit 1
}
have() {
    command -v "$1" >/dev/null 2>&1
}
have_library() {
    have pkg-config && pkg-config --exists "$1"
}

# ---- what is missing here? One package name a line, for the package manager at hand.

if have apt-get; then
    manager=apt
elif have dnf; then
    manager=dnf
else
    manager=none
fi

# need TEST DEBIAN-PACKAGE FEDORA-PACKAGE
missing=
need() {
    eval "$1" && return 0
    case $manager in
        dnf) missing="$missing $3" ;;
        *) missing="$missing $2" ;;
    esac
}
look() {
    missing=
    need 'have cc || have gcc || have clang' gcc gcc
    need 'have meson' meson meson
    need 'have ninja || have ninja-build' ninja-build ninja-build
    need 'have pkg-config' pkg-config pkgconf-pkg-config
    need 'have_library yajl' libyajl-dev yajl-devel
    need 'have_library libseccomp' libseccomp-dev libseccomp-devel
    need 'have_library libcurl' libcurl4-openssl-dev libcurl-devel
    need 'have python3' python3 python3
    need 'have node' nodejs nodejs
    need 'have bash' bash bash
    # without a libc header the compiler is of no use (a compiler alone may come without it)
    need '[ -e /usr/include/stdlib.h ]' libc6-dev glibc-devel
}

install_missing() {
    case $manager in
        apt) command="env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends$missing" ;;
        dnf) command="dnf install -y$missing" ;;
        none) stop "these are missing, and there is neither apt-get nor dnf to get them:$missing" ;;
    esac
    if [ "$(id -u)" = 0 ]; then
        sudo=
    elif have sudo; then
        sudo='sudo '
    else
        stop "these are missing:$missing
Getting them needs root, and there is no sudo. As root, run:
    $command
and then this script again."
    fi
    say "Installing:$missing"
    if [ $manager = apt ]; then
        # an old package list is a common reason for a failed install: refresh it once
        ${sudo}$command || { ${sudo}apt-get update && ${sudo}$command; } || stop "this failed: ${sudo}$command"
    else
        ${sudo}$command || stop "this failed: ${sudo}$command"
    fi
}

[ "$(uname -s)" = Linux ] || stop "the local backend needs Linux; this is $(uname -s)"
look
if [ -n "$missing" ]; then
    install_missing
    look
    [ -z "$missing" ] || stop "still missing after the install:$missing"
fi

version=$(meson --version)
case $version in
    0.*) stop "meson 1.0 or newer is needed, and this is $version. Get one with: python3 -m pip install --user 'meson>=1.0'" ;;
esac

# ---- build

if [ -e "$build/build.ninja" ]; then
    say "Building in $build/"
else
    say "Setting up and building in $build/"
    # the tests are built by tests/run.sh, in folders of their own
    meson setup -Dtests=false "$build" >"$build.log" 2>&1 || { cat "$build.log" >&2; rm -f "$build.log"; stop "meson setup failed, see above"; }
    rm -f "$build.log"
fi
meson compile -C "$build" >"$build/quickstart.log" 2>&1 || { cat "$build/quickstart.log" >&2; stop "the build failed, see above"; }

# ---- run

say
say "One session, three languages. State is kept from exec to exec, and a timeout does not end the session:"
say
if ! "$build/examples/hello"; then
    say
    "$build/examples/interp/interp" doctor || true
    stop "the session did not go as it should; the table above shows what works here"
fi
say
say "Next:"
say "    $build/examples/interp/interp run python -c 'print(6 * 7)'"
say "    $build/examples/interp/interp doctor"
say "    sh tests/run.sh"
