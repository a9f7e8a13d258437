#!/bin/sh
# soak.sh SECONDS: the cases over and over, as root and as an ordinary user; nothing may grow or be left
. "$root/tests/stages/lib.sh"
counted soak "$python" "$root/tests/cases/run_soak.py" --seconds "$1"
finish
