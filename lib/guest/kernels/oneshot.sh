# One-shot driver of libinterp: each exec builds a program and becomes it; see PROTOCOL.md.  lib/core/oneshot.c puts in what the language needs:
# the lines in which a percent sign stands before a word in capitals.
#   9: replies.  6, 7, 8: the streams of the exec, open only while it runs.  The shell's own 0, 1 and 2 are /dev/null.
# What is built lies in a directory that nobody can guess; the shell after this one takes it away.
exec 9>&3 3>&- 4<&- </dev/null >/dev/null 2>/dev/null
__interp_w=$PWD __interp_d=${TMPDIR:-/tmp}/.interp-$INTERP_BUILD __interp_h=$INTERP_HEAP
unset INTERP_BUILD INTERP_HEAP
trap '' INT
[ ! -e "$__interp_d" ] || command rm -rf "$__interp_d" || { command chmod -R u+rwx "$__interp_d"; command rm -rf "$__interp_d"; }
# find NAME...: the first of them that is there, in __interp_x
__interp_find() {
  for __interp_x; do
    case $__interp_x in
    /*) [ ! -x "$__interp_x" ] || [ -d "$__interp_x" ] || return 0 ;;
    *) ! command -v "$__interp_x" >/dev/null || return 0 ;;
    esac
  done
  return 1
}
# build STATUS: tells how the build went, with what it said
__interp_build() {
  __interp_l=0
  [ ! -s "$__interp_d/log" ] || __interp_l=$(($(command wc -c <"$__interp_d/log")))
  [ "$__interp_l" -le 262144 ] || __interp_l=262144
  __interp_b=$(command printf '\\%03o\\%03o\\%03o' $((__interp_l & 255)) $((__interp_l >> 8 & 255)) $((__interp_l >> 16 & 255)))
  command printf "\000\000\000\000$__interp_b\000b\00$1\000\000$__interp_t" >&9
  [ "$__interp_l" = 0 ] || command head -c "$__interp_l" "$__interp_d/log" >&9
}
# run TOKEN CODE NAME PACKAGE MAIN COUNT NAME=VALUE... ARGUMENT...
__interp_run() {
  __interp_t=$1 __interp_f=$2 __interp_name=$3 __interp_package=$4 __interp_main=$5 __interp_n=$6
  shift 6
  while [ "$__interp_n" -gt 0 ]; do export "$1"; shift; __interp_n=$((__interp_n - 1)); done
  trap - INT
  command printf "\000\000\000\000\000\000\000\000o\000\000\000$__interp_t" >&9
  __interp_s=%FILE
  if command mkdir -m 700 "$__interp_d" "$__interp_d/src" "$__interp_d/out" && command cat "$__interp_f" >"$__interp_d/src/$__interp_s" && cd "$__interp_d/src"; then :; else
    __interp_build 2
    exit 1
  fi
  # what lies in the workspace can be included and imported as if it were beside the code
  (set -- "$__interp_w"/*; [ $# -le 512 ] && [ -e "$1" ] && command ln -s "$@" .)
%TOOLCHAINS
  __interp_build 3
  exit 127
}
%READY
