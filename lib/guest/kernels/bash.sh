# Bash driver of libinterp (bash 4.0 and newer), see PROTOCOL.md.  Bash itself is the read loop: it reads this text, then the lines of
# bash.template for each exec, from the command pipe.  So no loop and no function of ours is around user code: `break`, `return`,
# `declare`, `local`, `set --` and line numbers are as in a script.
#   50: replies.  52, 53, 54: the streams of the exec, open only while it runs.  The shell's own 0, 1 and 2 are /dev/null, so that
#   `set -x` and `set -v` never show a line of the driver.
# The build may drop lines that begin with #: the shell reads this byte by byte.
case ${BASH_VERSINFO[0]} in [123]) printf 'bash 4.0 or newer is needed; this is %s\n' "$BASH_VERSION" >&2; exit 97 ;; esac
exec 50>&3 3>&- 4<&- </dev/null >/dev/null 2>/dev/null
unset "${!INTERP_@}"
# State of a shell before us: two files, written in turn; `state` names the complete one.
__interp_d='@D@' __interp_r=0 __interp_k=0
if [[ -f $__interp_d/state ]]; then
  . "$__interp_d/state"
  . "$__interp_d/state.$__interp_k"         # all variables of the shell before us, the driver's too; its last line is our own number
  __interp_r=2 __interp_d='@D@'
fi
# A user's function named `builtin` or `command` is removed where it does not do what its name says: in POSIX mode, which an assignment
# alone can turn on, `unset` is looked up before functions.  Nothing here but these two names is called without them.
__interp_repair() {
  local ok=
  builtin eval ok=1
  command eval ok=1$ok
  [[ $ok == 11 ]] || { POSIXLY_CORRECT=y; unset -f builtin command eval; unset POSIXLY_CORRECT; }
}
__interp_repair
builtin set +e
__interp_i= __interp_s=0 __interp_c=0 __interp_on=
# `exit` in the main shell ends the exec, not the shell: a DEBUG trap makes each function and the exec's file return.
exit() {
  local s=$? t
  case ${1-} in *[!0-9-]*) builtin printf 'exit: %s: numeric argument required\n' "$1" >&2; set -- 2 ;; esac
  if [[ $BASH_SUBSHELL -ne 0 ]]; then builtin exit "${1-$s}"; fi
  [[ $__interp_on ]] || return 0
  builtin set +e
  __interp_c=$(( ${1-$s} & 255 )) __interp_i=x
  t=$(builtin trap -p EXIT)
  case $t in
    *__interp_end*|'') ;;
    *) t=${t#trap -- }; t=${t% EXIT}; builtin trap '__interp_end "$@"' EXIT; builtin eval "builtin eval $t" ;;
  esac
  builtin set -T
  builtin trap 'return $__interp_c' DEBUG
}
# hup: a terminal is hung up when its exec ends, which must not end the shell. A handler is not inherited by programs.
__interp_hup() { [[ $(builtin trap -p HUP) ]] || builtin trap : HUP; }
# begin TOKEN: the streams are open.  Gives $? of the last exec to this one.
__interp_begin() {
  __interp_i= __interp_on=1
  if [[ -t 52 ]]; then __interp_hup; fi
  builtin printf "\000\000\000\000\000\000\000\000o\000\000\000$1" >&50
  return "$__interp_s"
}
# done TOKEN: the final frame.
__interp_done() {
  local st=2
  __interp_on=
  __interp_repair
  builtin set +e
  case $__interp_i in i) st=4 ;; x) st=3 ;; *) [[ $__interp_s -ne 0 ]] || st=1 ;; esac
  __interp_i=
  builtin printf "\021\000\000\000\000\000\000\000f\00$st\000\000$1{\"exit_code\":%3d}" "$__interp_s" >&50
}
# save "$@": what a new shell needs to go on, by builtins only. What the new shell runs by name comes before functions and aliases.
__interp_save() {
  local n=$(( 1 - __interp_k ))
  {
    builtin declare -p
    builtin printf 'builtin cd -- %q\n' "$PWD"
    if [[ ${OLDPWD+x} ]]; then builtin printf 'OLDPWD=%q\n' "$OLDPWD"; else builtin printf 'unset OLDPWD\n'; fi
    builtin printf 'set --'; [[ $# -eq 0 ]] || builtin printf ' %q' "$@"; builtin printf '\n'
    builtin umask -p; builtin declare -f; builtin alias -p; builtin shopt -p; builtin trap -p; builtin set +o
    builtin printf '__interp_k=%s\n' "$n"
  } >|"$__interp_d/state.$n" 2>/dev/null && builtin printf '__interp_k=%s\n' "$n" >|"$__interp_d/state" && __interp_k=$n
}
# end: the EXIT trap. `ended` tells the agent that the save is of the very end.
__interp_end() { __interp_save "$@" && : >|"$__interp_d/ended"; }
# Shell errors such as those of `set -e`, `set -u` and ${x:?} really end the shell: it saves its state, the next one goes on from it.
if [[ $__interp_r -eq 0 ]]; then
  builtin trap '__interp_end "$@"' EXIT            # nothing can be set yet, so no subshell is needed to look
else
  case $(builtin trap -p EXIT) in *__interp_end*|'') builtin trap '__interp_end "$@"' EXIT ;; esac
fi
# SIGINT: leave the innermost function or the exec's file, then the DEBUG trap leaves the outer ones.  Such a trap leaves bash 5.2 with
# SIGCHLD blocked and the INT trap marked as running: __interp_fix sets the trap again and runs a subshell.  The template runs it at the
# top level (the DEBUG trap would make a function return), and without words that an alias could replace.
__interp_int='if [[ $__interp_on ]]; then __interp_i=i __interp_c=130; builtin set +e; builtin set -T; builtin trap "return 130" DEBUG; return 130; fi'
__interp_fix='\builtin trap - DEBUG; \builtin set +T; (\builtin :); \builtin trap "$__interp_int" INT; __interp_s=$__interp_c'
builtin trap "$__interp_int" INT
builtin printf -v __interp_q '{"language":"bash","version":"%s.%s.%s"}' "${BASH_VERSINFO[@]:0:3}"
builtin printf -v __interp_c '\\%03o' "${#__interp_q}"
builtin printf "$__interp_c\000\000\000\000\000\000\000r\00$__interp_r\000\000\000\000\000\000%s" "$__interp_q" >&50
__interp_c=0
