/* test_policy_shell.c - screening rules against shell code: what runs a command, in all the forms that shells and the programs that run others have.
   SPDX-License-Identifier: MIT */
#include "policy_check.h"

static const char *const curl = "{\"commands\":{\"deny\":[\"curl\"]}}";

TEST(shell_denied)
{
    static const char *const codes[] = {
        "curl x", "a=1 curl x", "/usr/bin/curl x", "echo a; curl x", "a && curl", "a | curl", "a || ! curl", "if true; then curl x; fi", "for i in 1 2; do curl $i; done", "while curl x; do :; done", "$(curl x)", "echo \"$(curl x)\"", "x=`curl x`",
        "echo ${x:-$(curl)}", "c'ur'l x", "c\\url x", "\"curl\" x", "$'cu\\x72l' x", "cu\\\nrl x", "(curl x)", "{ curl x; }", "cat <(curl x)", "f() { curl x; }; f", "function f { curl x; }", "case x in a) curl;; esac", "case x in (a|b) echo;; *) curl ;; esac",
        "cat <<E\n$(curl x)\nE\n", "cat <<E; curl x\nE\n", "cat <<'E'\nE\ncurl x", "cat <<-E\n\tE\ncurl x", "sh -c 'curl x'", "bash -lc \"curl x\"", "sudo -u root curl x", "env A=1 curl x", "timeout -s KILL 5 curl x", "xargs -n 1 curl", "find . -exec curl {} \\;",
        "eval 'cu''rl x'", "eval cu\"rl\" x", "trap 'curl x' EXIT", "alias l='curl x'; l", "bash <<E\ncurl x\nE", "bash <<< 'curl x'", "nohup nice -n 5 curl x &", "2>/dev/null curl x", ">out curl x", "echo $((1 + $(curl x)))", "[[ -n $(curl x) ]]", "a=($(curl x))",
        "$((1)) ; curl x", "$( (curl x) )", "$((curl x) )", "echo a # c\ncurl x", "echo 'a\nb'; curl x", "time curl x", "coproc curl x", "! curl", "echo a#b; curl x", "until false; do curl; done", "select x in a; do curl; done", "if [[ a < b ]]; then curl; fi",
        "command -v x; command curl", "exec curl x", "a=b\\\n curl x", "echo \\`; curl", "echo a &> f; curl", "echo >&2; curl", "cat <<A <<B\nx\nA\n$(curl)\nB\n", NULL };
    all(curl, "bash", codes, "commands");
}
TEST(shell_let_through)
{
    static const char *const codes[] = {
        "echo curl", "# curl x", "echo 'a; curl x'", "echo \"a; curl x\"", "cat <<'E'\n$(curl x)\nE\n", "cat <<E\ncurl x\nE\n", "curly x", "x=curl", "for curl in a; do :; done", "case curl in curl) echo;; esac", "[[ curl == x ]]", "a=(curl x)", "echo a >curl",
        "echo $curl ${curl}", "ls # ; curl", "echo a\\; curl", "grep 'curl' f", "(( curl + 1 ))", "cat <<-E\n\tcurl\n\tE\n", "$x", "eval \"$x\"", "sh -c \"$x\"", "", "printf '%s' \"`echo curl`\"", NULL };
    all(curl, "bash", codes, "");
}
TEST(shell_allow_list)
{
    static const char *const yes[] = { "ls -l", "cd /tmp && ls | grep x", "/bin/ls", "f() { ls; }; f", "if [ -f x ]; then echo y; fi", "x=1; echo $x", "for i in *; do ls \"$i\"; done", "ls > out.txt 2>&1", "env -S 'ls'", NULL };
    static const char *const no[] = { "cat x", "/tmp/ls", "./ls", "$cmd", "l?", "{ls,-l}", "eval \"$x\"", "bash script.sh", "echo x | sh", "source x", ". x", "ls | cat", "\"$(ls)\"", "env -S \"$x\"", NULL };
    all("{\"commands\":{\"allow\":[\"ls\",\"grep\",\"bash\",\"sh\",\"env\",\"eval\",\"source\",\".\"]}}", "bash", yes, "");
    all("{\"commands\":{\"allow\":[\"ls\",\"grep\",\"bash\",\"sh\",\"env\",\"eval\",\"source\",\".\"]}}", "bash", no, "commands");
}

TEST(shell_options_of_shells)
{
    static const char *const codes[] = {
        "bash -euo pipefail -c 'curl x'", "bash -o pipefail -c 'curl x'", "bash -O extglob -c 'curl x'", "bash +O extglob -c 'curl x'", "bash -eoO pipefail extglob -c 'curl x'",
        "bash -c -e 'curl x'", "bash --norc -c 'curl x'", "bash --rcfile f -c 'curl x'", "bash -c -- 'curl x'", NULL };
    named(curl, "bash", codes, "commands", "curl");
}
TEST(shell_parts_known_at_run_time)
{
    static const char *const codes[] = {
        "bash -c \"curl $U\"", "eval \"curl $U\"", "trap \"curl $U\" EXIT", "trap -- 'curl x' EXIT", "sh -c \"cd $D && curl $U\"", "eval curl $U", "sudo sh -c \"curl $U\"",
        NULL };
    named(curl, "bash", codes, "commands", "curl");
}
TEST(shell_words_of_the_grammar)
{
    static const char *const codes[] = {
        "time { curl x; }", "coproc { curl x; }", "coproc N { curl x; }", "coproc N (curl x)", "coproc N while curl x; do :; done", "time -p curl x", "time -p { curl x; }",
        "time -- curl", "! { curl x; }", "! time curl", "time ! curl x", "time (curl x)", "coproc curl x", NULL };
    named(curl, "bash", codes, "commands", "curl");
}
TEST(shell_options_of_programs)
{
    static const char *const codes[] = {
        "timeout --signal KILL 5 curl x", "timeout --sig KILL 5 curl x", "timeout --signal=KILL 5 curl x", "timeout -k 1 --foreground 5 curl x", "timeout $T curl x",
        "timeout -vsKILL 5 curl", "env --chdir /tmp curl x", "env --ch /tmp curl x", "env --unset A curl x", "env -i -u A B=$c curl x", "env - curl", "env -S 'curl x'",
        "env -S'curl x'", "env --split-string='curl x'", "env -vS 'curl x'", NULL };
    named(curl, "bash", codes, "commands", "curl");
}
TEST(shell_input_that_is_code)
{
    static const char *const codes[] = {
        "xargs -0I {} curl x", "xargs -0I{} curl", "xargs --max-args 1 curl", "xargs --replace curl x", "xargs -i curl {}", "xargs -d '\\n' -P 4 -n 1 curl",
        "bash -s x <<'EOF'\ncurl x\nEOF\n", "bash -s <<'EOF' x\ncurl x\nEOF\n", "<<E bash\ncurl x\nE\n", "bash - <<E\ncurl $x\nE\n", "bash /dev/stdin <<E\ncurl x\nE\n",
        "<<<'curl x' bash", "bash <<< \"curl $U\"", "sudo bash <<E\ncurl x\nE", "sudo -s <<E\ncurl x\nE", "su user <<E\ncurl x\nE", "cat <<A | bash <<B\nx\nA\ncurl x\nB\n",
        NULL };
    named(curl, "bash", codes, "commands", "curl");
}
TEST(shell_programs)
{
    static const char *const codes[] = {
        "flock f curl x", "flock -n 9 curl x", "flock -w 5 f -c 'curl x'", "flock -c 'curl x' f", "flock f sh -c 'curl x'", "setsid -w curl", "stdbuf -oL curl",
        "stdbuf -o L curl", "nice curl", "nice -10 curl", "nice -n 10 curl", "nice --adjustment 3 curl", "ionice -c 3 curl", "ionice -c3 -n 1 curl", "chrt -f 10 curl",
        "chrt --sched-period 3 -d 0 curl", "taskset -c 0-3 curl", "taskset 0x3 curl", "nohup curl", "unshare -n curl", "unshare --map-user 3 curl", "unshare -rR / curl",
        "chroot / curl", "chroot --userspec a:b / curl", "sudo -u root curl", "sudo --user root curl", "sudo -Eu root -- curl", "sudo A=b curl", "doas -u a curl",
        "su -c 'curl x'", "su root -c 'curl x'", "su - root --command 'curl x'", "su -lc 'curl x' root", "script -c 'curl x' f", "script -qc 'curl x' f",
        "script f --command='curl x'", "watch curl x", "watch -n 5 'curl x'", "watch -n5 -d 'ls; curl x'", "parallel curl ::: a b", "parallel -j 4 'curl {}' ::: a",
        "parallel ::: 'curl x'", "parallel ::: curl", "find . -exec curl {} +", "find . -execdir curl {} \\;", "find . -ok curl \\;",
        "find . -exec sudo ls \\; -exec curl {} \\;", "find . -exec sh -c 'curl x' \\;", "entr curl x", "ls | entr -r curl x", "runuser -u u curl", "runuser u -c 'curl x'",
        "systemd-run --user -p A=b curl x", "strace -f -o x curl", "ltrace curl", "gdb --args curl x", "gdb -ex run --args sudo curl", "busybox curl", "busybox sh -c 'curl x'",
        "command -p curl", "builtin command curl", "builtin eval 'curl x'", "exec -a n curl", "exec -cl curl", "xvfb-run -a curl", "dbus-run-session -- curl",
        "/usr/bin/time -f %e curl", "\\time -o f curl", "time -o f curl", "perf stat -e x curl", "perf stat -- env curl", NULL };
    named(curl, "bash", codes, "commands", "curl");
}
TEST(shell_behind_unknown_words)
{
    static const char *const codes[] = {
        "sudo $flags curl x", "$SUDO curl x", "$SUDO env curl", "sudo --never-heard-of x curl", "timeout --what KILL 5 bash -c 'curl x'", NULL };
    named(curl, "bash", codes, "commands", "curl");
}
TEST(shell_grammar)
{
    static const char *const codes[] = {
        "{fd}>/dev/null curl x", "1000>f curl x", "if [[ a ]] then curl x; fi", "if (true) then curl x; fi", "if { true; } then curl; fi", "for i do curl x; done",
        "for i in a; do curl; done", "for i\ndo curl; done", "for ((i=0;i<3;i++)); do curl x; done", "for ((i=0;i<3;i++)) do curl x; done", "for ((;;)) { curl x; }",
        "select x in a; do curl; done", "f@() { curl x; }; f@", "echo @($(curl x))", "echo \"$( [[ a =~ (b) ]]; curl x )\"", "[[ a =~ (#) ]]; curl x", "[[ a =~ a;b ]]; curl",
        "i\\\nf curl x; then :; fi", "(curl() { :; }); curl x", "sh -c 'curl() { :; }'; curl x", "curl() { :; }; unset -f curl; curl", "curl() { :; }; curl",
        "x=1 [[ a || curl x ]]", "> f [[ a || curl x ]]", "echo ${x:-<(curl x)}", "mapfile -C 'curl x' a", "echo `echo \\`curl x\\``", "echo \"`curl \\\"x\\\"`\"",
        "bash -c 'bash -c \"curl x\"'", "eval eval eval curl", "cat <<E\n${x:-$(curl)}\nE\n", "exec 3<>f; curl", "${x:-curl} ; curl", "a=([0]=$(curl) b)",
        "declare -a a=(\"$(curl)\")", "case x in (x) curl;; esac", "case $x in\n a|b) ls ;;\n *) curl ;;\nesac", "while read -r l; do curl $l; done < f",
        "until curl; do :; done", "cat < <(curl x)", "echo x > >(curl)", "[[ -f <(curl) ]]", "f() ( curl )", "function f ( curl )", "function f() { curl; }",
        "if :; then :; elif curl; then :; else :; fi", "{ :; } | curl", "a=1 b=2 curl", "$(:) curl", "./x & curl", "echo $'a' ; curl", "curl\tx", "unshare <<E\ncurl x\nE\n",
        NULL };
    named(curl, "bash", codes, "commands", "curl");
}
TEST(shell_names_with_holes)
{
    static const char *const codes[] = {
        "{curl,-s,x}", "cu$()rl x", "\"$N\"curl", "c${x}url", "/bin/cu$@rl", "${X:-curl} x", "\"${X-/usr/bin/curl}\" x", "$(which curl) x", "sudo \"$(command -v curl)\" x", "time function f { curl x; }; f", NULL };
    all(curl, "bash", codes, "commands");
}
TEST(shell_not_a_command)
{
    static const char *const codes[] = {
        "command -v curl", "type curl", "echo curl", "sudo apt-get install curl", "sudo -E apt-get install curl", "pip install curl", "apt-get install -y curl",
        "$PKG install curl", "git commit -m 'curl x'", "timeout 5 ls curl", "xargs -I{} ls curl", "bash -euo pipefail -c 'ls curl'", "bash script curl", "bash -c 'ls' curl",
        "trap - EXIT", "trap '' INT", "trap 2 3", "find . -name curl", "find . -exec ls curl \\;", "x=\"it's\"; ls", "echo \"${x:-'a b'}\"", "cat <<E\nit's\nE\n",
        "cat <<'E'\ncurl $(\nE\n", "[[ $x =~ ^(a|b)$ ]] && ls", "[[ $x == *'('* ]]", "((i++))", "((i < 3)) && ls", "for ((i=0;i<3;i++)); do cat x; done", "x=$((1 + (2 * 3)))",
        "x=$(( ${#a[@]} - 1 ))", "arr=(a b 'c d'); echo \"${arr[@]}\"", "case $x in a|b) ls;; *) ls;; esac", "echo $(case x in a) ls;; esac)", "echo ${x//\\'/}",
        "echo \"${x%\\\"}\"", "time ls", "f() { ls; }; f", "which curl", "coproc N { ls; }", "if [[ a ]]; then ls; fi", "watch -n 5 ls", "sudo -v",
        "cat <<-E | grep x\n\tcurl\n\tE", "echo a &>f", "alias ll='ls -l'", "printf '%s\\n' \"$x\"", "echo \"$(echo \"a 'b' $(ls)\")\"", "su -c 'ls' user", "!(a) ",
        "while :; do break; done", "eval \"$(ssh-agent -s)\"", "ls \\\n -l", "x=${y:-it}", "set -euo pipefail", "echo 'a'\\''b'",
        "cat > f << 'EOF'\n#!/bin/bash\ncurl\nEOF\nchmod +x f", "diff <(ls a) <(ls b)", "export A=b; ls", "a[1]=x", "let i=i+1", "test -f x && ls || echo no", "exec > f 2>&1",
        "ls |& cat", "trap 'rm -f x' EXIT", "echo ${x@Q}", "[ -z \"$x\" ]", "read -r a b <<< \"$x\"", "select x in a; do break; done", "echo {1..3}", "env FOO=curl ls",
        "cd /tmp; ls *.txt", "declare -A m=([a]=1 [b]=2)", "echo \"${m[a]}\" ${!m[@]}", "x=(${y[@]/#/-})", "echo \"${x/'a'/b}\"", "wait $!", "echo $$ $? $# $@ $* $0 $1",
        "kill %1", "echo \"a\\\"b\"", "ls; # it's a comment\nls", "#it's", "{ ls; } 2>&1 | cat", "(cd x && ls) || exit 1", NULL };
    all(curl, "bash", codes, "");
}
TEST(shell_allowed_forms)
{
    static const char *const rules = "{\"commands\":{\"allow\":[\"ls\",\"cat\",\"time\",\"bash\",\"env\",\"sudo\",\"timeout\",\"xargs\",\"chrt\"]}}";
    static const char *const yes[] = {
        "for ((i=0;i<3;i++)); do cat x; done", "time cat x", "time { ls; }", "coproc N { ls; }", "timeout 5 ls", "timeout \"$T\" ls", "env -u A B=c ls", "sudo -u x ls",
        "xargs -0I {} ls {}", "bash -euo pipefail -c 'ls'", "trap_() { ls; }; trap_", "f() { ls; }; f", "if [[ a ]] then ls; fi", "chrt -f 10 ls", "[[ a =~ (b) ]] && ls",
        "env -S 'ls'", "ls /x | xargs -n1 cat", "((i++))", "curl() { ls; }; curl", NULL };
    static const char *const no[] = {
        "$x", "time $x", "env $x", "timeout 5 $x", "sudo --never x ls", "bash -c \"$x\"", "bash -c \"ls $x\"", "bash x", "xargs bash", "xargs sudo", "ls | bash",
        "(curl() { ls; }); curl", "curl", "env -S 'curl x'", "bash -c 'curl'", "env -S 'env -u' A curl", "l?", "time -o f curl", "ls $(curl)", "sudo -s", NULL };
    all(rules, "bash", yes, "");
    all(rules, "bash", no, "commands");
}
static void uncertain(const char *language, const char *const *codes)
{
    for (; *codes; codes++)
        if (strcmp(check("{\"commands\":{\"deny\":[\"x\"]}}", language, *codes), "commands") || !strstr(policy_said.reason, "can't be read with certainty"))
            tap_fail(__FILE__, __LINE__, "%s \"%s\" is read: %s", language, *codes, policy_said.reason);
}
/* What shells read in different ways, or has no end, is not read at all. */
TEST(shell_unsure)
{
    static const char *const bash[] = {
        "cat <<E\nE\\\n\ncurl x\nE\n", "alias s=sudo; s curl", "alias 'l=ls #'; l '\ncurl #'", "alias e='echo \"'\n e \"; curl; echo \"", "echo ${ curl x; }",
        "env -S 'sudo -u' A curl", "echo 'a", "echo \"a", "echo ${x", "echo $(ls", "echo `ls", "cat <<E\nx", "(ls", "echo $((1", "[[ a", "a=(b", "echo \\", "case x in",
        "$((ls); (ls))", "echo \"${x:-it's}\"", "ls )", "[[ a ;", "x=$[1+1]", "echo \"$(cat <<E)\"\nx\nE\n", "echo $'a\\0b'", "f() ls ls ) ls", "for x in (a); do ls; done", "a=(b <<E\ncurl x\nE\n)", "a=(b; c)",
        NULL };
    static const char *const sh[] = {
        "((curl x))", "(( curl + 1 ))", "ls &>f curl x", "echo $'\\'; curl x #'", "echo \"${N#it's}\"", "echo \"${N^it's}\"; curl", "for ((;;)); do ls; done", "echo <(ls)",
        "a=(ls)", "{fd}>f ls", "echo 'a", "echo \"a", "echo ${x", "echo $(ls", "echo `ls", "(ls", "echo $((1", "echo \\", NULL };
    uncertain("bash", bash);
    uncertain("sh", sh);
}
TEST(sh_is_not_bash)
{
    static const char *const rules = "{\"commands\":{\"allow\":[\"ls\",\"echo\",\"env\"]}}";
    static const char *const no[] = {
        "echo \"${NAME:-it's}\"; curl --version | head -1", "echo \"${NAME:-'a}b'}\"; curl", "[[ a && curl ]]", "[[ a || curl x ]]", "echo \"${N-'}\"; curl x #'", "cat <<E\nx",
        NULL };
    static const char *const yes[] = {
        "echo \"${NAME:-it's}\"", "echo \"${NAME:-'a'}\"; ls", "echo \"${N%'x'}\"", "[[ $x == a ]] && ls", "[ a = b ] && ls", "ls &>f", "ls &>f; ls", "echo $'a\\n'",
        "ls >f 2>&1", "x=$((1+2))", "echo \"${#x}\" \"${x%.*}\" \"${x:=a}\"", "if ls; then ls; fi", "(ls)", "echo a", NULL };
    static const char *const denied[] = {
        "time curl", "time -p curl x", "time { curl x; }", "time -o f curl", "command curl", NULL };
    all(rules, "sh", no, "commands");
    all(rules, "sh", yes, "");
    named(curl, "sh", denied, "commands", "curl");
}
/* Code in code in code: to a limit, and there it ends as uncertain. */
TEST(shell_depth)
{
    for (int levels = 8; levels <= 80; levels += 72) {
        struct interp__buf b;
        interp__buf_init(&b, &interp__mem_default);
        for (int i = 0; i < levels; i++)
            interp__buf_fmt(&b, "bash <<'E%d'\n", i);
        interp__buf_str(&b, "ls\n");
        for (int i = levels; i-- > 0;)
            interp__buf_fmt(&b, "E%d\n", i);
        CHECK_STR(check(curl, "bash", interp__buf_text(&b)), levels > 12 ? "commands" : "");
        CHECK(levels <= 12 || !strcmp(policy_said.what, "very deep nesting"));
        interp__buf_free(&b);
    }
}
TAP_MAIN()
