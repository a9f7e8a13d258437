#!/bin/sh
# kernels.sh [all]: the drivers alone, a harness playing the agent; with "all" each Python and Node.js that can be found here
. "$root/tests/stages/lib.sh"
run=$root/tests/kernels/run.py
[ -f "$run" ] || { fail kernels "tests/kernels/run.py is not there"; finish; }
one() { echo "-- $*"; counted "kernels $*" "$python" "$run" "$@"; }
if [ "${1:-}" = all ]; then
    found=
    for exe in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.[6-9].*/bin/python "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.[1-9][0-9].*/bin/python /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9]; do
        [ -x "$exe" ] && { found=1; one python "$exe"; }
    done
    [ -n "$found" ] || skip 'kernels python versions' 'no Python of another version (pyenv) here'
    # Node.js versions from the npm package "node", one folder each
    if command -v npm >/dev/null 2>&1; then
        for version in 16 18 20 22 24; do
            folder=$build/node/$version exe=$build/node/$version/node_modules/node/bin/node
            [ -x "$exe" ] || { mkdir -p "$folder" && npm install --silent --no-audit --no-fund --prefix "$folder" "node@$version" >/dev/null 2>&1; }
            if [ -x "$exe" ]; then one javascript "$exe"; else skip "kernels node $version" 'npm can not install it here'; fi
        done
    else
        skip 'kernels node versions' 'no npm'
    fi
else
    one python
    if command -v node >/dev/null 2>&1; then one javascript; else skip 'kernels javascript' 'no node'; fi
    one bash
    one sh
fi
finish
