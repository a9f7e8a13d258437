# quick.sh - what changes of itself in a sandbox, and the state of directories that interp_dirs names. Lines for probe.c, tabs between the fields.
p() { interp_ifs=$IFS IFS='	'; printf '%s\n' "$*"; IFS=$interp_ifs; }
cd /workspace 2>/dev/null
p cwd "$PWD"
df -Pk . 2>/dev/null | { read -r _; read -r _ size _ free _; p disk "$size" "$free"; }
interp_dirs 2>/dev/null || :
