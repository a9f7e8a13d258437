#!/bin/sh
# cases.sh behaviours|reported|attacks root|user: rows of tests/cases through the library and a real sandbox
. "$root/tests/stages/lib.sh"
case $1 in behaviours|reported) script=$root/tests/cases/run_$1.py ;; attacks) script=$root/tests/attack/run_attacks.py ;; esac
case $2 in
root) if is_root; then counted "$1 as root" "$python" "$script"; else skip "$1 as root" 'not root'; fi ;;
user) counted "$1 as an ordinary user" "$python" "$script" --as-user auto ;;
esac
finish
