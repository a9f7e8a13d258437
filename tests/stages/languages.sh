#!/bin/sh
# languages.sh [install]: one-shot languages with every toolchain that Debian has; "install" gets those that are missing, as root with apt-get
. "$root/tests/stages/lib.sh"
if [ "${1:-}" = install ]; then
    for package in gcc:gcc g++:g++ go:golang-go perl:perl ruby:ruby php:php-cli lua5.4:lua5.4 Rscript:r-base-core rustc:rustc javac:default-jdk-headless tsc:node-typescript; do
        # rustup's and its like lie in homes, where no sandbox looks
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin command -v "${package%%:*}" >/dev/null && continue
        if [ "$(id -u)" != 0 ] || ! DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${package#*:}" >"$logs/languages-install.log" 2>&1; then
            skip "languages ${package#*:}" 'apt-get can not install it here'
        fi
    done
fi
said=$logs/languages-said.log
"$build/gcc/tests/api-languages" >"$said" 2>&1
status=$?
# the program runs the toolchains that are there, and only names the others
sed -n 's/^# \(no toolchain for .*\)/\1/p' "$said" >"$said.missing"
while read -r line; do skip languages "$line"; done <"$said.missing"
counted languages sh -c 'cat "$1"; exit "$2"' sh "$said" "$status"
finish
