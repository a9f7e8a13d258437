#!/bin/sh
# Installs what the tests need on Debian, Ubuntu and Fedora, where it is missing and where this user may: as root, or with sudo without a password.
# What can't be had is told as a SKIP line; what is needed to build at all then fails in the build.
set -u

has() { command -v "$1" >/dev/null 2>&1; }
library() { pkg-config --exists "$1" 2>/dev/null; }
module() { "$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)" -c "import $1" >/dev/null 2>&1; }
fuzzer() { f=${TMPDIR:-/tmp}/interp-fuzzer.$$; printf 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return p && n ? 0 : 0; }\n' >"$f.c"
    clang -fsanitize=fuzzer -o "$f" "$f.c" >/dev/null 2>&1; r=$?; rm -f "$f" "$f.c"; return $r; }
clang_major() { clang --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p' | head -n 1; }

if [ "$(id -u)" = 0 ]; then sudo=; elif has sudo && sudo -n true 2>/dev/null; then sudo='sudo -n'; else sudo=no; fi
updated=
apt() {
    [ -n "$updated" ] || { $sudo apt-get update -q >/dev/null 2>&1; updated=1; }
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends --no-remove "$@" >/dev/null 2>&1
}

# need CHECK ARGUMENT DEBIAN-PACKAGE FEDORA-PACKAGE WHAT-FOR
need() {
    "$1" "$2" && return
    if [ "$sudo" = no ]; then
        echo "SKIP install $2: missing ($5); not root and no sudo"
        return
    fi
    if has apt-get; then apt "$3"; elif has dnf; then $sudo dnf -y -q install "$4" >/dev/null 2>&1; fi
    "$1" "$2" || echo "SKIP install $2: $3 or $4 can't be had here ($5)"
}

need has cc gcc gcc 'to build'
need has gcc gcc gcc 'to build'
has apt-get && [ ! -e /usr/include/stdlib.h ] && [ "$sudo" != no ] && apt libc6-dev
need has clang clang clang 'second compiler'
need has pkg-config pkg-config pkgconf-pkg-config 'to build'
need has meson meson meson 'to build'
need has ninja ninja-build ninja-build 'to build'
need library yajl libyajl-dev yajl-devel 'to build'
need library zlib zlib1g-dev zlib-devel 'to build'
need library libseccomp libseccomp-dev libseccomp-devel 'to build'
need library libcurl libcurl4-openssl-dev libcurl-devel 'container engines'
need library libedit libedit-dev libedit-devel 'line editing of interp repl'
need library libpcre2-8 libpcre2-dev pcre2-devel 'patterns in redaction, and the tests that compare with it'
need has python3 python3 python3 'tests, and the language'
need has node nodejs nodejs 'JavaScript'
need has bwrap bubblewrap bubblewrap 'comparison'
need module ipykernel python3-ipykernel python3-ipykernel 'comparison'
need module matplotlib python3-matplotlib python3-matplotlib 'rows of behaviours.jsonl'
need module pandas python3-pandas python3-pandas 'rows of behaviours.jsonl'
need module PIL python3-pil python3-pillow 'rows of behaviours.jsonl'
need module pip python3-pip python3-pip 'rows of tests/kernels that install a package'
need module pytest python3-pytest python3-pytest 'tests of the Python binding'
need fuzzer libFuzzer "libclang-rt-$(clang_major)-dev" compiler-rt 'fuzzing'
need has aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu 'agent for aarch64'
need has busybox busybox-static busybox 'static root for tests'
need has valgrind valgrind valgrind 'optional'
need has abidw abigail-tools libabigail 'the ABI against its golden'
# Container engines are services: they are installed only where the tests may also start them, else what runs is used.
if [ "$(id -u)" = 0 ]; then
    need has debootstrap debootstrap debootstrap 'images for container engines'
    need has openssl openssl openssl 'certificates for container engines'
    need has dockerd docker.io moby-engine 'container engine'
    need has podman podman podman 'container engine'
    need has runc runc runc 'container engine'
    need has conmon conmon conmon 'Podman'
    need has newuidmap uidmap shadow-utils 'Podman of an ordinary user'
    need has fuse-overlayfs fuse-overlayfs fuse-overlayfs 'Podman of an ordinary user'
    need has slirp4netns slirp4netns slirp4netns 'Podman of an ordinary user'
    need has docker-registry docker-registry docker-distribution 'pulling images'
fi
exit 0
