# POSIX sh driver of libinterp (dash, busybox ash, ...), for where there is no bash; see PROTOCOL.md.  The shell itself is the read loop, as in
# bash.sh.  `command .` keeps syntax errors and errors of special built-ins in user code from ending the shell.
#   9: replies.  6, 7, 8: the streams of the exec, open only while it runs.  The shell's own 0, 1 and 2 are /dev/null.
# Special built-ins (unset, eval, trap, set, export, exec, .) are found before functions, so no user function shadows them.
# `exit` and an interrupt end the shell; the EXIT trap saves variables, exports, aliases, options, cwd and umask, and the next shell goes on
# from there.  POSIX sh can't list functions: they are lost then.
exec 9>&3 3>&- 4<&- </dev/null >/dev/null 2>/dev/null
unset INTERP_WANT_CACHE INTERP_CACHED
__interp_d='@D@' __interp_r=0 __interp_k=0
if [ -f "$__interp_d/state" ]; then
  . "$__interp_d/state"
  __interp_p=$PPID
  . "$__interp_d/state.$__interp_k"         # all variables of the shell before us, the driver's too; its last line is our own number
  PPID=$__interp_p __interp_r=2 __interp_d='@D@'
  unset __interp_p                          # or the next state would have it
  read -r __interp_q <"$__interp_d/umask.$__interp_k" && umask "$__interp_q"
  while IFS= read -r __interp_q; do eval "alias ${__interp_q#alias }"; done <"$__interp_d/alias.$__interp_k"
  set +e
fi
__interp_s=0 __interp_on= __interp_undo=
# begin TOKEN [NAME=VALUE...]: the streams are open.  Remembers how to undo the environment of this exec, should the shell end in it.
__interp_begin() {
  if [ -t 6 ]; then trap : HUP; fi          # a terminal is hung up when its exec ends, which must not end the shell
  command printf "\000\000\000\000\000\000\000\000o\000\000\000$1" >&9
  shift
  __interp_undo=
  for __interp_n in "$@"; do
    __interp_n=${__interp_n%%=*}
    eval "case \${$__interp_n+x} in x) __interp_v_$__interp_n=\$$__interp_n; __interp_undo=\"\$__interp_undo $__interp_n=\\\$__interp_v_$__interp_n\" ;; *) __interp_undo=\"\$__interp_undo ; unset $__interp_n ;\" ;; esac"
  done
  trap 'exit 130' INT
  __interp_on=1
  return "$__interp_s"
}
__interp_done() {
  __interp_ok=
  command eval __interp_ok=1
  case $__interp_ok in 1) ;; *) unset -f command ;; esac
  trap '' INT
  set +e
  __interp_on=
  case $__interp_s in 0) __interp_n=1 ;; *) __interp_n=2 ;; esac
  command printf "\021\000\000\000\000\000\000\000f\00$__interp_n\000\000$1{\"exit_code\":%3d}" "$__interp_s" >&9
}
# quote WORD: prints it as one word that the shell reads back.
__interp_quote() {
  __interp_q=$1 __interp_t=
  while :; do
    case $__interp_q in *\'*) __interp_t=$__interp_t${__interp_q%%\'*}"'\\''" __interp_q=${__interp_q#*\'} ;; *) break ;; esac
  done
  command printf "'%s'" "$__interp_t$__interp_q"
}
# save "$@"
__interp_save() {
  case $__interp_on in 1) eval "$__interp_undo" ;; esac
  case $__interp_k in 0) __interp_n=1 ;; *) __interp_n=0 ;; esac
  command umask >|"$__interp_d/umask.$__interp_n"
  command alias >|"$__interp_d/alias.$__interp_n"
  {
    set; export -p; readonly -p; set +o
    command printf 'command cd -- '; __interp_quote "$PWD"
    case ${OLDPWD+x} in x) command printf '\nOLDPWD='; __interp_quote "$OLDPWD" ;; *) command printf '\nunset OLDPWD' ;; esac
    command printf '\nset --'; for __interp_q in "$@"; do command printf ' '; __interp_quote "$__interp_q"; done
    command printf '\n__interp_k=%s\n' "$__interp_n"
  } >|"$__interp_d/state.$__interp_n" 2>/dev/null && command printf '__interp_k=%s\n' "$__interp_n" >|"$__interp_d/state" && __interp_k=$__interp_n
}
trap '__interp_save "$@"' EXIT
trap '' INT
command printf "\036\000\000\000\000\000\000\000r\00$__interp_r\000\000\000\000\000\000%s" '{"language":"sh","version":""}' >&9
