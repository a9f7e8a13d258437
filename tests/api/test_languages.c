/* test_languages.c - one-shot languages: build and run apart, structured errors, a host's own, and nothing left behind.
   SPDX-License-Identifier: MIT */
#include "box.h"

/* A language that needs nothing but what every sandbox here has: its compiler is a shell script. Code "bad ..." does not build, "slow" builds for a minute. */
static const char OWN[] =
    "{\"languages\":[{\"name\":\"toy\",\"aliases\":[\"toy2\"],\"file\":\"main.toy\",\"install\":\"the toy compiler\","
    "\"compile\":[\"sh\",\"-c\",\"case $(cat $0) in bad*) echo $0:3:7: error[T9]: it is bad; echo $0:4: warning: so it is; exit 5;; slow*) sleep 60;; none*) exit 96;; die*) kill -9 $$;; quiet*) exit 3;; esac;"
    " echo building; printf '#!/bin/sh\\\\n' >$1/p; cat $0 >>$1/p; chmod 755 $1/p\",\"{file}\",\"{out}\"],"
    "\"run\":[\"{out}/p\",\"it's {heap_mib}\",\"{workspace}\"],\"env\":{\"TOY\":\"{name}\"},"
    "\"errors\":[\"%f:%l:%c: %s[%k]: %m\",\"%f:%l: %s: %m\"],\"run_errors\":[{\"match\":\"toy: %m at %f:%l\",\"type\":\"Toy\"}]}]}";

/* Nothing of a build is left once the shell after it is ready, which the next exec of that language waits for. */
static void expect_clean(struct box *b)
{
    EXPECT_RUN(b->s, "bash", "for i in {1..200}; do set -- /tmp/.interp-*; [ -e \"$1\" ] || break; sleep 0.1; done; rm -f /workspace/here.h; ls -A /tmp /workspace | sort -u", "\n/tmp:\n/workspace:\n");
}

TEST(own_language)
{
    struct box b = new_box(OWN);
    interp_result *r = exec_with(b.x, b.s, "toy2", "echo \"out $1 $2 $3 $4 $TOY $X\"; cat; echo err >&2; pwd; exit 7", "{\"stdin\":\"in\\n\",\"args\":[\"a'b\",\"\"],\"env\":{\"X\":\"x y'z\"}}");
    EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "out it's 256 /workspace a'b  main x y'z\nin\n/workspace\n");
    EXPECT_TEXT(r, INTERP_STREAM_STDERR, "err\n");
    CHECK_INT(interp_result_exit_code(r), 7);
    CHECK_STR(interp_result_step(r), "run");
    CHECK_STR(interp_result_claimed_by(r), "host");
    CHECK_STR(interp_result_compile_output(r, NULL), "building\n");
    EXPECT_JSON(interp_result_json(r, NULL), strlen(interp_result_json(r, NULL)), "d['step']=='run' and d['compile_output']=='building\\n' and d['language']=='toy' and d['error'] is None");
    interp_result_free(r);
    r = run(b.s, "toy", "echo $X$1; exit 0");   /* nothing of the exec before is left: environment, arguments */
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "it's 256\n");
    interp_result_free(r);
    r = run(b.s, "toy", "bad thing");
    EXPECT(r, INTERP_OUTCOME_ERROR, "compile", INTERP_STATE_PRESERVED);
    CHECK_INT(interp_result_exit_code(r), 5);
    CHECK_INT(interp_result_ran(r), 0);
    CHECK_STR(interp_result_step(r), "compile");
    CHECK_STR(interp_result_error_type(r, NULL), "CompileError");
    CHECK_STR(interp_result_error_message(r, NULL), "it is bad");
    CHECK_INT(interp_result_error_line(r), 3);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "");
    EXPECT_TEXT(r, INTERP_STREAM_STDERR, "");
    EXPECT_JSON(interp_result_json(r, NULL), strlen(interp_result_json(r, NULL)),
                "d['error']['column']==7 and d['error']['code']=='T9' and d['error']['diagnostics'][1]=={'severity':'warning','file':'main.toy','line':4,'column':None,'code':None,'message':'so it is'} and d['ran'] is False");
    interp_result_free(r);
    r = run(b.s, "toy", "echo 'toy: went wrong at x/main.toy:2' >&2\nexit 1");
    CHECK_STR(interp_result_error_type(r, NULL), "Toy");
    CHECK_STR(interp_result_error_message(r, NULL), "went wrong");
    CHECK_INT(interp_result_error_line(r), INTERP_NONE);   /* of a file of that name elsewhere */
    interp_result_free(r);
    interp_result *out = NULL;   /* the only toolchain says that it can't do it */
    NEED(interp_session_run(b.s, "toy", "none", INTERP_NTS, &out, ERR));
    EXPECT(out, INTERP_OUTCOME_ERROR, "interpreter", 0);
    CHECK(strstr(interp_result_error_message(out, NULL), "looked for sh in /usr/local/sbin") && strstr(interp_result_error_message(out, NULL), "install the toy compiler"));
    interp_result_free(out);
    r = run(b.s, "toy", "die");
    EXPECT(r, INTERP_OUTCOME_ERROR, "compile", 0);
    CHECK_INT(interp_result_exit_code(r), 137);
    CHECK_STR(interp_result_error_message(r, NULL), "Killed");
    interp_result_free(r);
    r = run(b.s, "toy", "quiet");
    CHECK_STR(interp_result_error_message(r, NULL), "the build failed and said nothing");
    interp_result_free(r);
    expect_clean(&b);
    free_box(&b);
}

/* Variables that a session sets and unsets while it runs: code of such languages is text that nothing may stand in front of, and their kernels are there before the exec. */
TEST(environment_while_it_runs)
{
    struct box b = new_box(OWN);
    static const char code[] = "echo \"${A-none} ${PAGER-none}\"; exit 0";
    EXPECT_RUN(b.s, "toy", code, "none cat\n");
    OK(interp_session_set_env(b.s, "A", "it's \"q\" $HOME", INTERP_NTS, ERR));
    OK(interp_session_unset_env(b.s, "PAGER", ERR));
    EXPECT_RUN(b.s, "toy", code, "it's \"q\" $HOME none\n");
    EXPECT_RUN(b.s, "toy", code, "it's \"q\" $HOME none\n");
    OK(interp_session_unset_env(b.s, "A", ERR));
    interp_result *r = exec_with(b.x, b.s, "toy", "bad $A", NULL);
    EXPECT(r, INTERP_OUTCOME_ERROR, "compile", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    EXPECT_RUN(b.s, "toy", code, "none none\n");
    free_box(&b);
}

TEST(signals_and_limits)
{
    struct box b = new_box(OWN);
    interp_result *r = run(b.s, "toy", "kill -SEGV $$");
    EXPECT(r, INTERP_OUTCOME_CRASHED, "", INTERP_STATE_PRESERVED);
    CHECK_INT(interp_result_signal(r), 11);
    interp_result_free(r);
    r = run(b.s, "toy", "exit 139");
    EXPECT(r, INTERP_OUTCOME_ERROR, "", 0);
    CHECK_INT(interp_result_exit_code(r), 139);
    CHECK_INT(interp_result_signal(r), INTERP_NONE);
    interp_result_free(r);
    /* the program, and what it left behind, is gone with its deadline; so is a build */
    r = exec_with(b.x, b.s, "toy", "setsid sleep 600 & sleep 600", "{\"timeout_ms\":2500,\"grace_ms\":6000}");
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_PRESERVED);
    CHECK_STR(interp_result_step(r), "run");
    interp_result_free(r);
    r = exec_with(b.x, b.s, "toy", "slow", "{\"compile_timeout_ms\":300,\"grace_ms\":60000}");
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_PRESERVED);
    CHECK_STR(interp_result_step(r), "compile");
    CHECK_INT(interp_result_ran(r), 0);
    interp_result_free(r);
    r = exec_with(b.x, b.s, "toy", "sleep 2.6; echo done", "{\"compile_timeout_ms\":2500,\"timeout_ms\":20000}");   /* the program has the rest */
    EXPECT_OK(r);
    interp_result_free(r);
    /* a daemon that outlives its program does not outlive its exec */
    EXPECT_RUN(b.s, "toy", "(setsid sh -c 'sleep 600' >/dev/null 2>&1 &) ; echo left", "left\n");
    interp_cancel *t = NULL;
    NEED(interp_cancel_new(b.x, &t, ERR));
    interp_request *q = new_request(b.x, "toy", "echo started; sleep 600", "{\"grace_ms\":60000}");
    NEED(interp_request_set_cancel(q, t, ERR));
    struct later l;
    later_start(&l, 300000, fire, t);
    r = exec_request(b.s, q);
    later_join(&l);
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    interp_cancel_free(t);
    expect_clean(&b);
    EXPECT_RUN(b.s, "python", "import os\nn=0\nfor p in os.listdir('/proc'):\n  try: n += b'sleep' in open('/proc/%s/cmdline' % p,'rb').read()\n  except OSError: pass\nprint(n)", "0\n");
    free_box(&b);
}

TEST(busy_and_queue)
{
    struct box b = new_box(OWN);
    interp_call *k = NULL, *k2 = NULL;
    interp_request *q = new_request(b.x, "toy", "sleep 0.3; echo one", NULL);
    NEED(interp_session_exec_start(b.s, q, &k, ERR));
    IS(interp_session_exec_start(b.s, q, &k2, ERR), INTERP_E_BUSY);
    NEED(interp_request_set_kernel(q, "second", ERR));
    NEED(interp_session_exec_start(b.s, q, &k2, ERR));
    interp_request_free(q);
    interp_result *r = finish_exec(k), *r2 = finish_exec(k2);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "one\n");
    EXPECT_TEXT(r2, INTERP_STREAM_STDOUT, "one\n");
    interp_result_free(r);
    interp_result_free(r2);
    for (int i = 0; i < 12; i++)   /* one process each, never out of kernels */
        EXPECT_RUN(b.s, "toy", "echo $0 | sed s,.*/,,", "p\n");
    NEED(interp_session_restart(b.s, "toy", NULL, ERR));
    EXPECT_RUN(b.s, "toy2", "echo again", "again\n");
    free_box(&b);
}

TEST_LONG(compiled, 600)
{
    static const struct { const char *language, *good, *want, *bad, *code_of_run; int line, column, exit_code; const char *crash_type; int crash_line; } row[] = {
        { "c", "#include <stdio.h>\n#include \"here.h\"\nint main(int c, char **v) { int x; while (scanf(\"%d\", &x) == 1) printf(\"%d\\n\", x * HERE); return 0; }", "42\n", "int main(void)\n{\n    int x = ;\n}", "int main(void) { return 3; }", 3, 13, 3, "", 0 },
        { "cpp", "#include <iostream>\n#include \"here.h\"\nint main() { int x; while (std::cin >> x) std::cout << x * HERE << '\\n'; }", "42\n", "int main()\n{\n    int x = ;\n}", "int main() { return 3; }", 3, 13, 3, "", 0 },
        { "go", "package main\nimport \"fmt\"\nfunc main() { var x int; fmt.Scan(&x); fmt.Println(x * 7) }", "42\n", "package main\nfunc main() {\n    var x int = \"x\"\n    _ = x\n}", "package main\nfunc main() {\n    var a []int\n    _ = a[len(a)]\n}", 3, 17, 2, "panic", 4 },
        { "java", "public class Some { public static void main(String[] a) throws Exception { System.out.println(System.in.read() - '0' + 36 ); } }", "42\n", "class Some {\n    int f() { return \"x\"; }\n}", "class H {}\nclass Some {\n    public static void main(String[] a) { int[] x = {}; x[1] = 2; }\n}", 2, 22, 1, "java.lang.ArrayIndexOutOfBoundsException", 3 },
        { "perl", "while (<STDIN>) { print $_ * 7, \"\\n\" }", "42\n", NULL, "use strict;\ndie \"oops\";", 0, 0, 255, "Died", 2 },
        { "ruby", "puts $stdin.read.to_i * 7", "42\n", NULL, "x = 1\ndef f() = Integer('x')\nf", 0, 0, 1, "ArgumentError", 2 },
        { "php", "<?php echo intval(fgets(STDIN)) * 7, \"\\n\";", "42\n", NULL, "<?php\nfunction f() { throw new LogicException('oops'); }\nf();", 0, 0, 255, "LogicException", 2 },
        { "lua", "print(io.read('n') * 7)", "42\n", NULL, "local x = nil\nx.y = 1", 0, 0, 1, "Error", 2 },
        { "r", "cat(7 * as.integer(readLines(file('stdin'), 1)), '\\n', sep='')", "42\n", NULL, "x <- 1\nstop('oops')", 0, 0, 1, "Error", 0 },
        { "rust", "use std::io::*;\nfn main() { let mut s = String::new(); stdin().read_to_string(&mut s).unwrap(); println!(\"{}\", s.trim().parse::<i32>().unwrap() * 7); }", "42\n", "fn main() {\n    let x: i32 = \"x\";\n}", "fn main() {\n    panic!(\"oops\");\n}", 2, 18, 101, "panic", 2 },
        { "ts", "const x: number = 6; console.log(x * 7);", "42\n", "const x: = 3;\n", "enum E { A = 3 }\nfunction f(x: number): never { throw new TypeError('oops') }\nf(E.A)", 1, 0, 1, "TypeError", 2 },
    };
    struct box b = new_box("{\"timeout_ms\":120000,\"memory_bytes\":1073741824}");
    int ran = 0;
    EXPECT_RUN(b.s, "bash", "echo '#define HERE 7' >here.h", "");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        interp_result *r = NULL;
        interp_request *q = new_request(b.x, row[i].language, row[i].good, "{\"stdin\":\"6\\n\"}");
        NEED(interp_session_exec(b.s, q, &r, ERR));
        interp_request_free(q);
        if (!strcmp(interp_result_cause(r), "interpreter")) {
            printf("# %s\n", interp_result_error_message(r, NULL));
            interp_result_free(r);
            continue;
        }
        ran++;
        EXPECT_OK(r);
        EXPECT_TEXT(r, INTERP_STREAM_STDOUT, row[i].want);
        interp_result_free(r);
        if (row[i].bad) {
            r = run(b.s, row[i].language, row[i].bad);
            EXPECT(r, INTERP_OUTCOME_ERROR, "compile", INTERP_STATE_PRESERVED);
            char expr[200];
            snprintf(expr, sizeof expr, "d['error']['type']=='CompileError' and d['error']['line']==%d and (d['error']['column']==%d or %d==0) and d['stderr']['text']==''", row[i].line, row[i].column, row[i].column);
            EXPECT_JSON(interp_result_json(r, NULL), strlen(interp_result_json(r, NULL)), expr);
            interp_result_free(r);
        }
        r = run(b.s, row[i].language, row[i].code_of_run);
        EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
        CHECK_INT(interp_result_exit_code(r), row[i].exit_code);
        if (strcmp(interp_result_error_type(r, NULL), row[i].crash_type) || (row[i].crash_line && interp_result_error_line(r) != row[i].crash_line))
            show_result(__FILE__, __LINE__, r, row[i].crash_type);
        interp_result_free(r);
    }
    if (!ran)
        SKIP("no toolchain at all here");
    free_box(&b);
}

TEST(memory)
{
    struct box b = new_box("{\"memory_bytes\":100000000,\"timeout_ms\":60000}");
    interp_result *r = run(b.s, "c", "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) { char *p = malloc(1 << 20); if (!p) return 1; memset(p, 1, 1 << 20); } }");
    EXPECT(r, INTERP_OUTCOME_OOM, "memory", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    EXPECT_RUN(b.s, "c", "#include <stdio.h>\nint main(void) { puts(\"again\"); }", "again\n");
    free_box(&b);
}

TEST(redacted)
{
    struct box b = { new_ctx(0), NULL };
    NEED(interp_redact_add(b.x, "KEY", "s3cr3t-value-9", INTERP_NTS, ERR));
    b.s = open_with(b.x, OWN);
    interp_result *r = exec_with(b.x, b.s, "toy", "bad", "{\"env\":{\"K\":\"v\"}}");
    interp_result_free(r);
    NEED(interp_session_run(b.s, "c", "#error s3cr3t-value-9\n", INTERP_NTS, &r, ERR));
    CHECK(strstr(interp_result_json(r, NULL), "s3cr3t") == NULL);
    if (strcmp(interp_result_cause(r), "interpreter")) {
        CHECK(strstr(interp_result_error_message(r, NULL), "[REDACTED:KEY]") != NULL);
        CHECK(strstr(interp_result_compile_output(r, NULL), "[REDACTED:KEY]") != NULL);
        EXPECT_JSON(interp_result_json(r, NULL), strlen(interp_result_json(r, NULL)), "d['redactions']['KEY']>=1 and '[REDACTED:KEY]' in d['error']['diagnostics'][0]['message']");
    }
    interp_result_free(r);
    free_box(&b);
}

TEST(refused)
{
    static const struct { const char *json, *says; } row[] = {
        { "{\"languages\":{}}", "languages must be a list" },
        { "{\"languages\":[3]}", "a language must be a JSON object" },
        { "{\"languages\":[{\"file\":\"a\",\"run\":[\"x\"]}]}", "a language needs a \"name\"" },
        { "{\"languages\":[{\"name\":\"a b\",\"file\":\"a\",\"run\":[\"x\"]}]}", "a language needs a \"name\"" },
        { "{\"languages\":[{\"name\":\"python\",\"file\":\"a\",\"run\":[\"x\"]}]}", "\"python\" is a language with kernels of its own" },
        { "{\"languages\":[{\"name\":\"z\",\"aliases\":[\"js\"],\"file\":\"a\",\"run\":[\"x\"]}]}", "\"js\" is a language with kernels of its own" },
        { "{\"languages\":[{\"name\":\"z\",\"run\":[\"x\"]}]}", "language \"z\": file is missing" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"../x\",\"run\":[\"x\"]}]}", "language \"z\": file is missing or no file name" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\"}]}", "language \"z\": run is missing" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"run\":\"x\"}]}", "run must be a list of 1 to 64 strings" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"run\":[]}]}", "run must be a list of 1 to 64 strings" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"run\":[\"bin/x\"]}]}", "run has an empty or a relative name" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"run\":[\"x\",4]}]}", "run has something that is no string" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"run\":[\"x\",\"{fiel}\"]}]}", "run has {fiel}: {file}, {src}" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"run\":[\"x\"],\"comple\":[\"y\"]}]}", "language \"z\" has no member \"comple\"" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"run\":[\"x\"],\"env\":{\"A=\":\"y\"}}]}", "env must be an object of strings" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"run\":[\"x\"],\"errors\":[\"%q\"]}]}", "the pattern \"%q\" is wrong: a letter behind %" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"run\":[\"x\"],\"errors\":[{\"type\":\"T\"}]}]}", "errors must be a list of patterns" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"toolchains\":[{\"run\":[\"x\"],\"walk\":1}]}]}", "toolchains has an object with a member" },
        { "{\"languages\":[{\"name\":\"z\",\"file\":\"a\",\"toolchains\":[{\"run\":[\"x\"]}],\"run\":[\"x\"]}]}", "can't both be given" },
    };
    interp_ctx *x = new_ctx(0);
    interp_config *c = new_config(x, "{\"languages\":[{\"name\":\"kept\",\"file\":\"a\",\"run\":[\"x\"]}]}");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (!SAYS(interp_config_set_json(c, row[i].json, INTERP_NTS, ERR), INTERP_E_INVAL, row[i].says))
            printf("# %s\n", row[i].json);
    }
    IS(interp_config_add_language(c, "[]", INTERP_NTS, ERR), INTERP_E_INVAL);
    IS(interp_config_add_language(c, NULL, 0, ERR), INTERP_E_INVAL);
    NEED(interp_config_add_language(c, "{\"name\":\"lua\",\"file\":\"a.lua\",\"run\":[\"mylua\",\"{file}\"]}", INTERP_NTS, ERR));   /* in place of the built-in */
    char name[64];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "{\"name\":\"l%d\",\"file\":\"a\",\"run\":[\"x\"]}", i);
        NEED(interp_config_add_language(c, name, INTERP_NTS, ERR));
    }
    IS(interp_config_add_language(c, "{\"name\":\"more\",\"file\":\"a\",\"run\":[\"x\"]}", INTERP_NTS, ERR), INTERP_E_LIMIT);
    size_t n;
    const char *j = interp_config_languages_json(c, &n);
    EXPECT_JSON(j, n, "[l['programs'] for l in d if l['name']=='lua']==['mylua'] and [l['name'] for l in d][:5]==['python','javascript','bash','sh','c'] and len(d)==4+11-1+32 and d[0]['state'] and not d[4]['state'] and d[4]['compiles'] and d[4]['programs']=='cc, gcc, clang, tcc'");
    j = interp_config_json(c, &n);
    EXPECT_JSON(j, n, "d['languages'][:2]==['kept','lua']");
    interp_config_free(c);
    interp_request *q = new_request(x, "c", "x", NULL);
    for (int i = 0; i < 256; i++)
        NEED(interp_request_add_arg(q, "x", INTERP_NTS, ERR));
    IS(interp_request_add_arg(q, "x", INTERP_NTS, ERR), INTERP_E_LIMIT);
    IS(interp_request_add_arg(q, "a\0b", 3, ERR), INTERP_E_INVAL);
    IS(interp_request_set_json(q, "{\"args\":\"x\"}", INTERP_NTS, ERR), INTERP_E_INVAL);
    IS(interp_request_set_json(q, "{\"args\":[1]}", INTERP_NTS, ERR), INTERP_E_INVAL);
    interp_request_free(q);
    interp_session *s = open_with(x, NULL);
    interp_result *r = NULL;
    SAYS(interp_session_run(s, "cobol", "x", INTERP_NTS, &r, ERR), INTERP_E_INVAL, "\"cobol\" is no language here: there are python, javascript, bash, sh, c, c++, go");
    q = new_request(x, "python", "1", "{\"args\":[\"x\"]}");
    SAYS(interp_session_exec(s, q, &r, ERR), INTERP_E_INVAL, "python has no program that could take arguments");
    interp_request_free(q);
    q = new_request(x, "c", "1", "{\"options\":{\"x\":1}}");
    IS(interp_session_exec(s, q, &r, ERR), INTERP_E_INVAL);
    interp_request_free(q);
    EXPECT_RUN(s, "py", "print(1)", "1\n");
    EXPECT_RUN(s, "python3", "print(2)", "2\n");
    interp_session_close(s);
    interp_ctx_free(x);
}

TAP_MAIN()
