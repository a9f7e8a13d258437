#!/bin/sh
# cli.sh: the command line
. "$root/tests/stages/lib.sh"
if [ -x "$INTERP_CLI" ]; then counted cli "$python" "$root/tests/cli/run_cli.py"; else fail cli "the program was not built: $INTERP_CLI"; fi
finish
