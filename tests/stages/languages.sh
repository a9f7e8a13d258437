#!/bin/sh
# languages.sh [install]: one-shot languages with every toolchain that Debian has; "install" gets those that are missing, as root with apt-get
. "$root/tests/stages/lib.sh"
if [ "${1:-}" = install ]; then
    for package in gcc:gcc g++:g++ perl:perl ruby:ruby php:php-cli lua5.4:lua5.4 Rscript:r-base-core rustc:rustc javac:default-jdk-headless; do
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin command -v "${package%%:*}" >/dev/null && continue
        if [ "$(id -u)" != 0 ] || ! DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${package#*:}" >"$logs/languages-install.log" 2>&1; then
            skip "languages ${package#*:}" 'apt-get can not install it here'
        fi
    done
fi
counted languages "$build/gcc/tests/api-languages"
finish
