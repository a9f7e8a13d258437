/* test_exec.c - what execs come to: state, errors, stdin, env, kernels, restart, timeout, waiting.
   SPDX-License-Identifier: MIT */
#include "box.h"

TEST(state_persists)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "python", "import os\ndef f(): return 41\nx = 1\nos.chdir('/tmp')", "");
    EXPECT_RUN(b.s, "python", "print(f() + x, os.getcwd())", "42 /tmp\n");
    EXPECT_RUN(b.s, "bash", "cd /tmp; f() { echo \"f $1\"; }; v=3; alias a=b", "");
    EXPECT_RUN(b.s, "bash", "f $v; pwd", "f 3\n/tmp\n");
    EXPECT_RUN(b.s, "python", "open('/workspace/shared', 'w').write('by python')", "");
    EXPECT_RUN(b.s, "bash", "cat /workspace/shared", "by python");
    free_box(&b);
}

TEST(python_exception)
{
    struct box b = new_box(NULL);
    interp_result *r = run(b.s, "python", "x = 1\n\ndef f():\n    return 1/0\nprint('before')\nf()");
    EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
    CHECK_INT(interp_result_ok(r), 0);
    CHECK_STR(interp_result_error_type(r, NULL), "ZeroDivisionError");
    CHECK_STR(interp_result_error_message(r, NULL), "division by zero");
    CHECK_INT(interp_result_error_line(r), 4);
    CHECK_INT(interp_result_exit_code(r), 1);
    CHECK_INT(interp_result_signal(r), INTERP_NONE);
    CHECK(strstr(interp_result_error_traceback(r, NULL), "return 1/0") != NULL);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "before\n");
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "print(x)", "1\n");
    r = run(b.s, "python", "def (");
    EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
    CHECK_STR(interp_result_error_type(r, NULL), "SyntaxError");
    CHECK_INT(interp_result_error_line(r), 1);
    interp_result_free(r);
    free_box(&b);
}

TEST(exit_codes)
{
    static const struct { const char *language, *code; int outcome, exit_code, state; } row[] = {
        { "python", "import sys; sys.exit(0)", INTERP_OUTCOME_OK, 0, INTERP_STATE_PRESERVED },
        { "python", "import sys; sys.exit(3)", INTERP_OUTCOME_ERROR, 3, INTERP_STATE_PRESERVED },
        { "bash", "exit 0", INTERP_OUTCOME_OK, 0, 0 },
        { "bash", "exit 7", INTERP_OUTCOME_ERROR, 7, 0 },
        { "bash", "false", INTERP_OUTCOME_ERROR, 1, INTERP_STATE_PRESERVED },
        { "bash", "set -e; false; echo not reached", INTERP_OUTCOME_ERROR, 1, 0 },
        { "bash", "sh -c 'exit 137'", INTERP_OUTCOME_ERROR, 137, INTERP_STATE_PRESERVED },
        { "bash", "sh -c 'kill -9 $$'", INTERP_OUTCOME_ERROR, 137, INTERP_STATE_PRESERVED },
        { "bash", "nosuchcommand", INTERP_OUTCOME_ERROR, 127, INTERP_STATE_PRESERVED },
        { "bash", "true", INTERP_OUTCOME_OK, 0, INTERP_STATE_PRESERVED },
    };
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "python", "keep = 1", "");
    EXPECT_RUN(b.s, "bash", "keep=1", "");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        interp_result *r = run(b.s, row[i].language, row[i].code);
        int state = interp_result_state(r);
        if (interp_result_outcome(r) != row[i].outcome || interp_result_exit_code(r) != row[i].exit_code
            || (row[i].state ? state != row[i].state : state != INTERP_STATE_PRESERVED && state != INTERP_STATE_RESTORED))
            show_result(__FILE__, __LINE__, r, row[i].code);
        interp_result_free(r);
    }
    EXPECT_RUN(b.s, "python", "print(keep)", "1\n");
    EXPECT_RUN(b.s, "bash", "echo $keep", "1\n");
    free_box(&b);
}

TEST(crashes)
{
    static const struct { const char *code; int exit_code, signal; } row[] = {
        { "import os; os._exit(5)", 5, INTERP_NONE },
        { "import os; os._exit(0)", 0, INTERP_NONE },
        { "import os; os.kill(os.getpid(), 9)", INTERP_NONE, SIGKILL },
        { "import os; os.kill(os.getpid(), 11)", INTERP_NONE, SIGSEGV },
        { "import os; os.abort()", INTERP_NONE, SIGABRT },
    };
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", "echo kept > /workspace/f", "");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        EXPECT_RUN(b.s, "python", "print('x' in globals()); x = 1", "False\n");   /* a fresh kernel each time */
        interp_result *r = run(b.s, "python", row[i].code);
        EXPECT(r, INTERP_OUTCOME_CRASHED, "", INTERP_STATE_RESET);
        if (interp_result_exit_code(r) != row[i].exit_code || interp_result_signal(r) != row[i].signal)
            show_result(__FILE__, __LINE__, r, row[i].code);
        CHECK_INT(interp_result_ran(r), 1);
        CHECK_STR(interp_result_claimed_by(r), "host");
        interp_result_free(r);
    }
    EXPECT_RUN(b.s, "bash", "cat /workspace/f", "kept\n");
    free_box(&b);
}

TEST(stdin_given)
{
    struct box b = new_box(NULL);
    size_t n = 1 << 20;
    char *data = malloc(n);
    for (size_t i = 0; i < n; i++)
        data[i] = (char)(i * 31 + i / 251);
    interp_request *r = new_request(b.x, "bash", "wc -c", NULL);
    OK(interp_request_set_stdin(r, data, n, ERR));
    interp_result *out = exec_request(b.s, r);
    EXPECT_OK(out);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "1048576\n");
    interp_result_free(out);
    r = new_request(b.x, "python", "import sys, hashlib; d = sys.stdin.buffer.read(); print(len(d), d[:3])", NULL);
    OK(interp_request_set_stdin(r, data, n, ERR));
    out = exec_request(b.s, r);
    EXPECT_OK(out);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "1048576 b'\\x00\\x1f>'\n");
    interp_result_free(out);
    r = new_request(b.x, "bash", "read a; read b; echo \"$b $a\"", "{\"stdin\":\"one\\ntwo\\n\"}");
    out = exec_request(b.s, r);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "two one\n");
    interp_result_free(out);
    r = new_request(b.x, "python", "print(input() + input())", "{\"stdin_base64\":\"YQpiCg==\"}");
    out = exec_request(b.s, r);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "ab\n");
    interp_result_free(out);
    free(data);
    free_box(&b);
}

TEST(stdin_not_read)
{
    struct box b = new_box(NULL);
    size_t n = 4 << 20;
    char *data = calloc(1, n);
    static const char *const code[][2] = { { "bash", "true" }, { "bash", "head -c 3 | wc -c" }, { "python", "1" }, { "bash", "exec 0<&-; echo closed" } };
    for (size_t i = 0; i < 4; i++) {
        uint64_t t = tap_now_ns();
        interp_request *r = new_request(b.x, code[i][0], code[i][1], NULL);
        OK(interp_request_set_stdin(r, data, n, ERR));
        interp_result *out = exec_request(b.s, r);
        EXPECT_OK(out);
        interp_result_free(out);
        CHECK(tap_now_ns() - t < UINT64_C(10000000000) * tap_slow());
    }
    EXPECT_RUN(b.s, "bash", "cat | wc -c", "0\n");       /* nothing is left over for the next */
    EXPECT_RUN(b.s, "python", "import sys; print(repr(sys.stdin.read()))", "''\n");
    free(data);
    free_box(&b);
}

TEST(stdin_empty)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", "cat; echo done", "done\n");
    interp_result *r = run(b.s, "python", "input()");
    EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
    CHECK_STR(interp_result_error_type(r, NULL), "EOFError");
    interp_result_free(r);
    free_box(&b);
}

TEST(env_per_exec)
{
    struct box b = new_box("{\"env\":{\"A\":\"session\"}}");
    interp_result *r = exec_with(b.x, b.s, "bash", "echo \"$A $B\"; env | grep -c '^B='", "{\"env\":{\"B\":\"it's \\\"quoted\\\" $HOME `x`\\n2\"}}");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "session it's \"quoted\" $HOME `x`\n2\n1\n");
    interp_result_free(r);
    EXPECT_RUN(b.s, "bash", "echo \"$A [$B]\"", "session []\n");
    r = exec_with(b.x, b.s, "python", "import os; print(os.environ['A'], os.environ['B'])", "{\"env\":{\"A\":\"exec\",\"B\":\"2\"}}");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "exec 2\n");
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "print(os.environ['A'], os.environ.get('B'))", "session None\n");
    r = exec_with(b.x, b.s, "javascript", "console.log(process.env.A, process.env.B)", "{\"env\":{\"A\":\"exec\",\"B\":\"2\"}}");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "exec 2\n");
    interp_result_free(r);
    EXPECT_RUN(b.s, "javascript", "console.log(process.env.A, process.env.B)", "session undefined\n");
    free_box(&b);
}

TEST(env_bytes)
{
    struct box b = new_box(NULL);
    interp_request *r = new_request(b.x, "python", "import os; print(ascii(os.environb[b'RAW']))", NULL);
    OK(interp_request_set_env(r, "RAW", "\xff\xfe\n'", 4, ERR));
    interp_result *out = exec_request(b.s, r);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "b\"\\xff\\xfe\\n'\"\n");
    interp_result_free(out);
    free_box(&b);
}

TEST(host_environment_stays_out)
{
    setenv("INTERP_TEST_LEAK", "leaked", 1);
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", "env | grep -c leaked; true", "0\n");
    free_box(&b);
}

TEST(busy_kernel)
{
    struct box b = new_box(NULL);
    interp_call *k = start_exec(&b, "python", "import time; time.sleep(0.5); print('first')", NULL), *other = (interp_call *)&other;
    interp_request *r = new_request(b.x, "python", "print('second')", NULL);
    IS(interp_session_exec_start(b.s, r, &other, ERR), INTERP_E_BUSY);
    CHECK(other == (interp_call *)&other);
    interp_result *out = NULL;
    IS(interp_session_exec(b.s, r, &out, ERR), INTERP_E_BUSY);
    out = finish_exec(k);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "first\n");
    interp_result_free(out);
    out = exec_request(b.s, r);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "second\n");
    interp_result_free(out);
    free_box(&b);
}

/* Two kernels of a session run at the same time, whatever the language. */
TEST(two_kernels_at_once)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "python", "1", "");
    interp_call *k[4];
    static const char *const wait_code =
        "import os, time\nopen('/tmp/%s' % me, 'w').close()\nfor i in range(2000):\n  if all(os.path.exists('/tmp/' + n) for n in 'abcd'): break\n  time.sleep(0.01)\nprint(i < 1999)";
    char code[4][400];
    for (int i = 0; i < 2; i++) {
        char json[60];
        snprintf(code[i], sizeof code[i], "me = '%c'\n%s", 'a' + i, wait_code);
        snprintf(json, sizeof json, "{\"kernel\":\"k%d\"}", i);
        k[i] = start_exec(&b, "python", code[i], json);
    }
    for (int i = 2; i < 4; i++) {
        char json[60];
        snprintf(code[i], sizeof code[i], "touch /tmp/%c; for i in $(seq 2000); do [ -e /tmp/a -a -e /tmp/b -a -e /tmp/c -a -e /tmp/d ] && break; sleep 0.01; done; [ $i -lt 2000 ] && echo True", 'a' + i);
        snprintf(json, sizeof json, "{\"kernel\":\"k%d\"}", i);
        k[i] = start_exec(&b, "bash", code[i], json);
    }
    for (int i = 0; i < 4; i++) {
        interp_result *r = finish_exec(k[i]);
        EXPECT_OK(r);
        EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "True\n");
        interp_result_free(r);
    }
    free_box(&b);
}

TEST(kernels_are_apart)
{
    struct box b = new_box(NULL);
    interp_result_free(exec_with(b.x, b.s, "python", "x = 1", "{\"kernel\":\"one\"}"));
    interp_result *r = exec_with(b.x, b.s, "python", "print('x' in globals())", "{\"kernel\":\"two\"}");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "False\n");
    interp_result_free(r);
    r = exec_with(b.x, b.s, "python", "print('x' in globals())", "{\"kernel\":\"one\"}");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "True\n");
    EXPECT_JSON(interp_result_json(r, NULL), strlen(interp_result_json(r, NULL)), "d['kernel'] == 'one' and d['language'] == 'python' and d['exec'] == 3");
    interp_result_free(r);
    free_box(&b);
}

TEST(restart_idle)
{
    struct box b = new_box("{" SLOW_KILLS "}");
    IS(interp_session_restart(b.s, "python", NULL, ERR), INTERP_E_NOT_FOUND);
    EXPECT_RUN(b.s, "python", "x = 1; import subprocess; p = subprocess.Popen(['sleep', '1000'])", "");
    EXPECT_RUN(b.s, "bash", "y=2", "");
    int before = count_running();
    OK(interp_session_restart(b.s, "python", NULL, ERR));
    int after = count_running();
    printf("# processes: %d, after the restart %d\n", before, after);
    CHECK(after < before);
    EXPECT_RUN(b.s, "bash", "echo $y; ps -e 2>/dev/null | grep -c sleep; true", "2\n0\n");   /* the other kernel lives, the child of the first does not */
    EXPECT_RUN(b.s, "python", "print('x' in globals())", "False\n");
    OK(interp_session_restart(b.s, "python", "default", ERR));
    OK(interp_session_restart(b.s, "bash", NULL, ERR));
    EXPECT_RUN(b.s, "bash", "echo \"[$y]\"", "[]\n");
    IS(interp_session_restart(b.s, "bash", "nosuch", ERR), INTERP_E_NOT_FOUND);
    IS(interp_session_restart(b.s, "cobol", NULL, ERR), INTERP_E_INVAL);
    free_box(&b);
}

TEST(restart_during_exec)
{
    struct box b = new_box("{" SLOW_KILLS "}");
    EXPECT_RUN(b.s, "python", "x = 1", "");
    interp_call *k = start_exec(&b, "python", "import time; print('in', flush=True); time.sleep(1000)", "{\"stream\":1}"), *again = NULL;
    wait_output(k, INTERP_STREAM_STDOUT, "in\n");
    IS(interp_call_finish(k, NULL, ERR), INTERP_AGAIN);
    NEED(interp_session_restart_start(b.s, "python", NULL, &again, ERR));
    CHECK_INT(interp_call_kind(again), INTERP_CALL_RESTART);
    wait_done(again);
    OK(interp_call_finish(again, NULL, ERR));
    interp_call_free(again);
    interp_result *r = finish_exec(k);
    EXPECT(r, INTERP_OUTCOME_CANCELLED, "", INTERP_STATE_RESET);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "in\n");
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "print('x' in globals())", "False\n");
    free_box(&b);
}

TEST(timeout_keeps_state)
{
    static const struct { const char *language, *set, *loop, *get, *want; } row[] = {
        { "python", "x = 41", "while True: pass", "print(x + 1)", "42\n" },
        { "python", "x = 41", "import time; time.sleep(1000)", "print(x + 1)", "42\n" },
        { "bash", "x=42", "while :; do :; done", "echo $x", "42\n" },
        { "bash", "x=42", "sleep 1000", "echo $x", "42\n" },
        { "javascript", "var x = 41", "while (true) {}", "console.log(x + 1)", "42\n" },
        { "javascript", "var x = 41", "await new Promise(() => setTimeout(() => {}, 1e6))", "console.log(x + 1)", "42\n" },
    };
    struct box b = new_box(NULL);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (!strcmp(row[i].language, "javascript") && !has_program("/usr/bin/node")) {
            printf("# no node: javascript not looked at\n");
            break;
        }
        EXPECT_RUN(b.s, row[i].language, row[i].set, "");
        uint64_t t = tap_now_ns();
        interp_result *r = exec_with(b.x, b.s, row[i].language, row[i].loop, "{\"timeout_ms\":500,\"grace_ms\":12000}");   /* the first signal is heard, however late */
        double over = (double)(tap_now_ns() - t) / 1e6 - 500;
        char name[80];
        snprintf(name, sizeof name, "overshoot of a 500 ms timeout, %s", row[i].loop);
        MEASURE(name, over, "ms");
        EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_PRESERVED);
        CHECK_STR(interp_result_interrupted(r), "wall");
        CHECK_INT(interp_result_ran(r), 1);
        CHECK(over > -1 && over < 3000 * tap_slow());
        interp_result_free(r);
        EXPECT_RUN(b.s, row[i].language, row[i].get, row[i].want);
    }
    free_box(&b);
}

/* A host that does not look for a while: the agent keeps the deadline, the session lives. */
TEST(not_driven_past_the_deadline)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", "x=1", "");
    interp_call *k = start_exec(&b, "bash", "echo begun; sleep 1000", "{\"timeout_ms\":1500,\"grace_ms\":3000}");
    tap_sleep_ms(6000);
    interp_result *r = finish_exec(k);
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_PRESERVED);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "begun\n");
    interp_result_free(r);
    EXPECT_RUN(b.s, "bash", "echo $x", "1\n");
    free_box(&b);
}

/* Code that catches the interrupt and does not end: the kernel goes at the end of the grace, its partial output is kept. */
TEST(timeout_stubborn)
{
    struct box b = new_box("{" SLOW_KILLS "}");
    EXPECT_RUN(b.s, "python", "import time", "");      /* the time is for the code, not for the interpreter's start */
    uint64_t t = tap_now_ns();
    interp_result *r = exec_with(b.x, b.s, "python", "print('begun', flush=True)\nwhile True:\n  try:\n    while True: time.sleep(0.01)\n  except BaseException: pass", "{\"timeout_ms\":2500,\"grace_ms\":700}");
    double ms = (double)(tap_now_ns() - t) / 1e6;
    MEASURE("timeout 2500 ms + grace 700 ms, stubborn code", ms, "ms");
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_RESET);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "begun\n");
    CHECK(ms > 3100 && ms < 3200 + 4000 * tap_slow());
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "print(1)", "1\n");
    free_box(&b);
}

/* What keeps the lock of a pipe while it waits is not to be had: the agent reads that pipe. Copies that try it first do it the other way. */
TEST_LONG(locked_pipe, 90)
{
    static const char code[] =
        "import ctypes, errno, os, shutil, signal, socket, threading, time\nc = ctypes.CDLL(None, use_errno=True)\na, b = socket.socketpair()\nr, w = os.pipe()\n"
        "calls = [lambda: c.splice(a.fileno(), None, w, None, 1, 0), lambda: c.sendfile(w, a.fileno(), None, 1), lambda: c.tee(r, w, 1, 0), lambda: c.vmsplice(w, None, 0, 0)]\n"
        "print([f() == -1 and ctypes.get_errno() in (errno.EINVAL, errno.ENOSYS) for f in calls])\n"
        "open('one', 'wb').write(bytes(100000)); shutil.copyfile('one', 'two'); print(os.path.getsize('two'), os.system('cat one > three && cp one four && cmp one three && cmp one four'))\n";
    static const char attack[] =
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\nout = os.dup(1)\n"
        "def hold():\n    while True: c.splice(a.fileno(), None, out, None, 1, 0), c.sendfile(out, a.fileno(), None, 1)\n"
        "def feed():\n    for i in range(400): time.sleep(.004); os.write(b.fileno(), b'y')\n"
        "def write():\n    while True: os.write(out, b'x'); time.sleep(.0001)\n"
        "for f in (hold, write, feed): threading.Thread(target=f, daemon=True).start()\ntime.sleep(1000)";
    struct box b = new_box("{" SLOW_KILLS "}");
    EXPECT_RUN(b.s, "python", code, "[True, True, True, True]\n100000 0\n");
    interp_result *r = exec_with(b.x, b.s, "python", attack, "{\"timeout_ms\":3000,\"grace_ms\":500}");
    EXPECT(r, INTERP_OUTCOME_TIMEOUT, "wall", INTERP_STATE_RESET);
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "print(1)", "1\n");      /* the sandbox is the same and alive */
    free_box(&b);
}

TEST(interrupt_caught)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "python", "import time", "");      /* as above */
    interp_result *r = exec_with(b.x, b.s, "python", "try:\n  time.sleep(1000)\nexcept KeyboardInterrupt:\n  print('caught')", "{\"timeout_ms\":2500,\"grace_ms\":30000}");
    EXPECT_OK(r);
    CHECK_STR(interp_result_interrupted(r), "wall");
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "caught\n");
    interp_result_free(r);
    free_box(&b);
}

TEST(wait_and_finish)
{
    struct box b = new_box(NULL);
    interp_call *k = start_exec(&b, "bash", "until [ -e go ]; do sleep 0.01; done; sleep 0.3; echo slept", NULL);
    interp_result *r = (interp_result *)&r;
    const interp_event *ev;
    IS(interp_call_finish(k, &r, ERR), INTERP_AGAIN);
    CHECK(r == (interp_result *)&r);
    IS(interp_call_next(k, &ev), INTERP_AGAIN);
    uint64_t t, fastest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        t = tap_now_ns();
        IS(interp_call_wait(k, 0, 0, ERR), INTERP_AGAIN);          /* looks once */
        t = tap_now_ns() - t;
        fastest = t < fastest ? t : fastest;
    }
    CHECK(fastest < 200000000u * (uint64_t)tap_slow());
    t = tap_now_ns();
    IS(interp_call_wait(k, 200, 0, ERR), INTERP_AGAIN);
    CHECK(tap_now_ns() - t >= 199000000u);
    OK(interp_session_put(b.s, "go", 2, 0644, "", 0, ERR));
    OK(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
    OK(interp_call_wait(k, INTERP_FOREVER, 0, ERR));               /* still says that there is something */
    OK(interp_call_next(k, &ev));
    CHECK_INT(interp_event_type(ev), INTERP_EV_DONE);
    IS(interp_call_next(k, &ev), INTERP_DONE);
    IS(interp_call_next(k, &ev), INTERP_DONE);
    OK(interp_call_wait(k, INTERP_FOREVER, 0, ERR));               /* a done call never blocks */
    r = NULL;
    OK(interp_call_finish(k, &r, ERR));
    REQUIRE(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "slept\n");
    interp_result *second = (interp_result *)&second;
    OK(interp_call_finish(k, &second, ERR));                       /* once; then NULL */
    CHECK(second == NULL);
    interp_call_free(k);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "slept\n");
    interp_result_free(r);
    k = start_exec(&b, "bash", "echo x", NULL);
    wait_done(k);
    OK(interp_call_finish(k, NULL, ERR));                          /* out may be NULL */
    interp_call_free(k);
    free_box(&b);
}

static void no_op(int sig) { (void)sig; }
TEST(wait_intr)
{
    struct box b = new_box(NULL);
    struct sigaction sa = { .sa_handler = no_op };
    sigaction(SIGUSR1, &sa, NULL);
    interp_call *k = start_exec(&b, "bash", "until [ -e go ]; do sleep 0.01; done; sleep 0.3; echo slept", NULL);
    timer_t tm;
    struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    struct itimerspec its = { { 0, 20000000 }, { 0, 20000000 } };  /* again and again: one of them comes within the call */
    REQUIRE(timer_create(CLOCK_MONOTONIC, &se, &tm) == 0 && timer_settime(tm, 0, &its, NULL) == 0);
    IS(interp_call_wait(k, INTERP_FOREVER, INTERP_WAIT_INTR, ERR), INTERP_E_INTR);
    IS(interp_call_wait(k, 1, 0x80000000u, ERR), INTERP_E_INVAL);
    OK(interp_session_put(b.s, "go", 2, 0644, "", 0, ERR));
    OK(interp_call_wait(k, INTERP_FOREVER, 0, ERR));               /* without the flag a signal does not end it */
    interp_result *r = finish_exec(k);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "slept\n");
    interp_result_free(r);
    /* the blocking form restarts */
    EXPECT_RUN(b.s, "bash", "sleep 0.3; echo slept", "slept\n");
    timer_delete(tm);
    free_box(&b);
}

TEST(late_output)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", "(until [ -e go ]; do sleep 0.01; done; echo late; : > said) & echo now", "now\n");   /* a child that holds the pipe holds no call */
    interp_result *r = run(b.s, "bash", ": > go; until [ -e said ]; do sleep 0.01; done; echo later");
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "later\n");               /* never in another exec's streams */
    const char *j = interp_result_json(r, NULL);
    EXPECT_JSON(j, strlen(j), "d['late'] == [dict(d['late'][0], stream='stdout', text='late\\n', exec=1)]");
    interp_result_free(r);
    r = run(b.s, "bash", "echo third");
    j = interp_result_json(r, NULL);
    EXPECT_JSON(j, strlen(j), "d['late'] == [] and d['stdout']['text'] == 'third\\n'");
    interp_result_free(r);
    free_box(&b);
}

/* An agent that stands still while a child writes and an exec ends finds both at once: what came first goes first. */
TEST(late_output_before_the_end)
{
    struct box b = new_box(NULL);
    struct procs l = { .n = 0 };
    EXPECT_RUN(b.s, "bash", "(until [ -e go ]; do sleep 0.01; done; echo late; : > said) & echo now", "now\n");
    add_children(&l, getpid());
    REQUIRE(l.n > 2);
    interp_call *k = start_exec(&b, "bash", "echo begun; sleep 0.3; : > go; until [ -e said ]; do sleep 0.01; done; echo later", "{\"stream\":1}");
    wait_output(k, INTERP_STREAM_STDOUT, "begun\n");
    kill(l.pid[0], SIGSTOP);
    tap_sleep_ms(700);
    kill(l.pid[0], SIGCONT);
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    interp_result_free(r);
    r = run(b.s, "bash", "echo third");
    const char *j = interp_result_json(r, NULL);
    EXPECT_JSON(j, strlen(j), "d['late'] == []");
    interp_result_free(r);
    free_box(&b);
}

TEST(late_output_as_event)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "bash", "(until [ -e go ]; do sleep 0.01; done; echo late; echo late2 >&2; : > said) & echo now", "now\n");
    interp_call *k = start_exec(&b, "bash", ": > go; until [ -e said ]; do sleep 0.01; done; echo later", "{\"stream\":1}");
    int late = 0;
    for (;;) {
        const interp_event *ev;
        interp_status st = interp_call_next(k, &ev);
        if (st == INTERP_DONE)
            break;
        if (st == INTERP_AGAIN) {
            NEED(interp_call_wait(k, INTERP_FOREVER, 0, ERR));
            continue;
        }
        size_t n;
        const char *p = interp_event_data(ev, &n);
        if (interp_event_type(ev) == INTERP_EV_LATE_OUTPUT) {
            late++;
            CHECK_INT(interp_event_exec(ev), 1);
            CHECK(n >= 5 && !memcmp(p, "late", 4));
        } else if (interp_event_type(ev) == INTERP_EV_OUTPUT)
            CHECK_INT(interp_event_exec(ev), 2);
    }
    CHECK_INT(late, 2);
    interp_result *r = finish_exec(k);
    const char *j = interp_result_json(r, NULL);
    EXPECT_JSON(j, strlen(j), "d['late'] == []");                  /* never both */
    interp_result_free(r);
    free_box(&b);
}

TEST(code_of_16_mib)
{
    struct box b = new_box("{\"memory_bytes\":1073741824}");
    size_t n = 16 << 20;
    char *p = malloc(n);
    memset(p, ' ', n);
    memcpy(p, "print('first')\n#", 16);
    memcpy(p + n - 15, "\nprint('last') ", 15);
    interp_request *r = new_request(b.x, "python", NULL, "{\"timeout_ms\":60000}");
    OK(interp_request_set_code(r, p, n, ERR));
    interp_result *out = exec_request(b.s, r);
    EXPECT_OK(out);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "first\nlast\n");
    interp_result_free(out);
    memcpy(p, "echo first;     #", 17);
    memcpy(p + n - 12, "\necho last  ", 12);
    r = new_request(b.x, "bash", NULL, "{\"timeout_ms\":60000}");
    OK(interp_request_set_code(r, p, n, ERR));
    out = exec_request(b.s, r);
    EXPECT_OK(out);
    EXPECT_TEXT(out, INTERP_STREAM_STDOUT, "first\nlast\n");
    interp_result_free(out);
    free(p);
    free_box(&b);
}

TEST(empty_code)
{
    struct box b = new_box(NULL);
    static const char *const language[] = { "python", "bash", "sh" };
    static const char *const code[] = { "", "\n", "   ", "# only a comment" };
    for (int l = 0; l < 3; l++)
        for (int c = 0; c < 4; c++)
            EXPECT_RUN(b.s, language[l], code[c], "");
    free_box(&b);
}

TEST(many_execs)
{
    struct box b = new_box(NULL);
    int n = tap_slow() > 1 ? 300 : 2000;
    EXPECT_RUN(b.s, "python", "n = 0", "");
    for (int i = 0; i < n; i++) {
        interp_result *r = run(b.s, "python", "n += 1");
        if (!interp_result_ok(r)) {
            show_result(__FILE__, __LINE__, r, "not ok");
            break;
        }
        interp_result_free(r);
    }
    char want[32];
    snprintf(want, sizeof want, "%d\n", n);
    EXPECT_RUN(b.s, "python", "print(n)", want);
    free_box(&b);
}

/* Limits of the sandbox that an exec can run into. */
TEST(out_of_memory)
{
    struct box b = new_box("{\"memory_bytes\":134217728}");
    size_t jn;
    const char *info = interp_session_info_json(b.s, &jn);
    printf("# %s\n", info);
    interp_result *r = run(b.s, "python", "b = []\nwhile True: b.append(bytearray(1 << 20))");
    /* either the kernel was ended (oom), or Python got MemoryError where the limit shows as an errno */
    if (interp_result_outcome(r) == INTERP_OUTCOME_OOM)
        EXPECT(r, INTERP_OUTCOME_OOM, "memory", INTERP_STATE_RESET);
    else
        EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
    interp_result_free(r);
    EXPECT_RUN(b.s, "bash", "echo alive", "alive\n");
    free_box(&b);
}

/* A session where the blocking host thinks for a while between two execs. */
TEST(idle_between_execs)
{
    struct box b = new_box(NULL);
    EXPECT_RUN(b.s, "python", "x = 1", "");
    tap_sleep_ms(3000);
    EXPECT_RUN(b.s, "python", "print(x)", "1\n");
    free_box(&b);
}

TEST(session_idle_expires)
{
    struct box b = new_box("{\"session_idle_ms\":3000}");
    EXPECT_RUN(b.s, "sh", "x=1", "");
    while (count_running())
        tap_sleep_ms(20);
    interp_result *r = NULL;
    interp_status st = interp_session_run(b.s, "sh", "echo $x", INTERP_NTS, &r, ERR);
    if (st != INTERP_E_CLOSED || strcmp(interp_error_reason(api_err), "expired"))
        FAIL("after the idle limit: %s, reason %s", interp_status_name(st), interp_error_reason(api_err));
    api_drop();
    CHECK_INT(count_descendants(), 0);
    interp_result_free(r);
    free_box(&b);
}

TAP_MAIN()
