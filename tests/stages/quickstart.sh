#!/bin/sh
# quickstart.sh: examples/quickstart.sh ends well
. "$root/tests/stages/lib.sh"
script=$root/examples/quickstart.sh
[ -f "$script" ] || { fail quickstart 'examples/quickstart.sh is not there'; finish; }
if (cd "$root" && BUILD_DIR=$build/quickstart timeout 840 sh "$script") >"$logs/quickstart-output.log" 2>&1 </dev/null; then
    ok
    tail -n 5 "$logs/quickstart-output.log"
else
    fail quickstart "$(tail -n 30 "$logs/quickstart-output.log")"
fi
finish
