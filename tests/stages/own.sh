#!/bin/sh
# own.sh: the backend of examples/backend, outside the library and over a socket to another process, under the rows that hold for every backend
. "$root/tests/stages/lib.sh"
command -v bwrap >/dev/null 2>&1 || { skip 'a backend of one'\''s own' 'there is no bwrap (package bubblewrap)'; finish; }
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
"$python" "$root/examples/backend/server.py" "$dir/socket" >"$logs/own-server.log" 2>&1 &
server=$!
for _ in $(seq 300); do [ -S "$dir/socket" ] || sleep 0.2; done
INTERP_TEST_PLUGIN=$build/gcc/examples/backend/remote.so
export INTERP_TEST_PLUGIN
for rows in behaviours reported; do
    counted "$rows on a backend of one's own" "$python" "$root/tests/cases/run_$rows.py" --backend remote --config "{\"remote.socket\":\"$dir/socket\"}"
done
# hosts that order nonsense, or nothing: turned away, and nothing is left of them
if said=$("$python" - "$dir/socket" 2>&1 <<'EOF'
import socket, sys
def host(order):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    s.connect(sys.argv[1])
    s.sendall(order)
    while s.recv(4096):
        pass
for order in (b'open 65536 5\nhello', b'open no-size 5\nhello', b'shut 1 1\nx', b'open 65536 99999999\n', b'open 65536'):
    try:
        host(order)
    except ConnectionResetError:
        pass
EOF
); then ok; else fail 'a backend of one'\''s own: hosts that order nonsense' "$said"; fi
# what the server has made ends with its sessions
for _ in $(seq 150); do if pgrep -P "$server" >/dev/null; then sleep 0.2; fi; done
if pgrep -P "$server" >/dev/null; then fail 'a backend of one'\''s own' 'the server still has sandboxes'; else ok; fi
finish
