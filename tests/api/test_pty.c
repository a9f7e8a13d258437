/* test_pty.c - execs at a pseudo-terminal: what is typed, what is shown, sizes, keys, the end of input and of the terminal.
   SPDX-License-Identifier: MIT */
#include "box.h"

static void until(interp_call *k, const char *want)
{
    static char buf[1 << 16];
    size_t n;
    for (interp_status st = INTERP_AGAIN; st != INTERP_DONE;) {
        n = 0;
        st = interp_call_output(k, INTERP_STREAM_STDOUT, 0, buf, sizeof buf - 1, &n, NULL, NULL);
        buf[n] = 0;
        if (strstr(buf, want))
            return;
        (void)interp_call_wait(k, 10, 0, NULL);
    }
    FAIL("\"%s\" never came, but \"%s\"", want, buf);
}
static void type(interp_call *k, const char *text)
{
    size_t taken = 0;
    OK(interp_call_write(k, text, strlen(text), &taken, ERR));
    CHECK_INT(taken, strlen(text));
}
static const char *shown(const interp_result *r) { return interp_result_text(r, INTERP_STREAM_STDOUT, NULL); }

#define PTY "{\"pty\":true,\"timeout_ms\":600000"
#define NODE "/usr/bin/node"

/* What says whether it is at a terminal, how large it is, and what was typed there; and that the next exec is at none. */
static const struct { const char *language, *program, *code, *want, *after, *then; } rows[] = {
    { "bash", "/bin/bash", "test -t 0 && test -t 1 && test -t 2 && stty size; echo $TERM; read x; echo \"got $x\"", "33 101\r\nxterm-256color\r\n", "test -t 0 || test -t 1 || test -t 2 || : </dev/tty || echo none", "none\n" },
    { "sh", "/bin/dash", "test -t 0 && test -t 1 && test -t 2 && stty size; echo $TERM; read x; echo \"got $x\"", "33 101\r\nxterm-256color\r\n", "test -t 0 || test -t 1 || test -t 2 || (: </dev/tty) || echo none", "none\n" },
    { "python", "/usr/bin/python3", "import os, sys\nif sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty(): print('%d %d' % os.get_terminal_size()[::-1])\nprint(os.environ['TERM'])\nprint('got', input())",
      "33 101\r\nxterm-256color\r\n", "import os, sys\ntry: open('/dev/tty')\nexcept OSError: print(sys.stdout.isatty(), os.environ['TERM'])", "False dumb\n" },
    { "javascript", NODE, "if (process.stdin.isTTY && process.stdout.isTTY) console.log(process.stdout.rows, process.stdout.columns); console.log(process.env.TERM);\n"
      "await new Promise((done) => process.stdin.once('data', (d) => { console.log('got ' + String(d).trim()); process.stdin.pause(); done(); }))", "33 101\r\nxterm-256color\r\n",
      "console.log(process.stdout.isTTY, process.env.TERM)", "undefined dumb\n" },
    { "perl", "/usr/bin/perl", "print `stty size`, $ENV{TERM}, \"\\n\" if -t STDIN and -t STDOUT and -t STDERR; $_ = <STDIN>; print \"got $_\"", "33 101\r\nxterm-256color\r\n", "print -t STDOUT ? 'one' : 'none'", "none" },
};
enum { ROWS = sizeof rows / sizeof *rows };

TEST(every_language)
{
    struct box b = new_box("{\"pty\":true}");
    for (size_t i = 0; i < ROWS; i++) {
        if (!has_program(rows[i].program))
            continue;
        for (int again = 0; again < 2; again++) {
            interp_call *k = start_exec(&b, rows[i].language, rows[i].code, PTY ",\"interactive\":true,\"pty_rows\":33,\"pty_columns\":101}");
            until(k, "xterm");
            type(k, "b\303\266b\n");   /* without an end: a line is enough */
            interp_result *r = finish_exec(k);
            EXPECT_OK(r);
            const char *text = shown(r);
            if (!strstr(text, rows[i].want) || !strstr(text, "got b\303\266b\r\n"))
                FAIL("%s showed \"%s\"", rows[i].language, text);
            CHECK_STR(interp_result_text(r, INTERP_STREAM_STDERR, NULL), "");
            interp_result_free(r);
            r = exec_request(b.s, new_request(b.x, rows[i].language, rows[i].after, NULL));
            EXPECT_OK(r);
            EXPECT_TEXT(r, INTERP_STREAM_STDOUT, rows[i].then);
            interp_result_free(r);
        }
    }
    free_box(&b);
}

/* Ctrl-C that is typed reaches what runs in front, and is neither a cancel nor the end of the state. */
TEST(ctrl_c)
{
    static const struct { const char *language, *code, *after, *want; } keys[] = {
        { "python", "kept = 1; import time; print('ready', flush=True); time.sleep(60)", "print(kept)", "1\n" },
        { "bash", "kept=1; bash -c 'echo ready; exec sleep 60'", "echo $kept", "1\n" },   /* it is not between two commands then */
        { "javascript", "var kept = 1; console.log('ready'); for (;;) {}", "console.log(kept)", "1\n" },
    };
    struct box b = new_box("{\"pty\":true}");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (i == 2 && !has_program(NODE))
            continue;
        interp_call *k = start_exec(&b, keys[i].language, keys[i].code, PTY ",\"interactive\":true}");
        until(k, "ready");
        type(k, "\003");
        interp_result *r = finish_exec(k);
        EXPECT(r, INTERP_OUTCOME_ERROR, "", INTERP_STATE_PRESERVED);
        CHECK_STR(interp_result_interrupted(r), "signal");
        interp_result_free(r);
        EXPECT_RUN(b.s, keys[i].language, keys[i].after, keys[i].want);
    }
    /* what catches it goes on; with keys as bytes it is one */
    interp_call *k = start_exec(&b, "bash", "stty raw -echo; echo ready; dd bs=1 count=3 2>/dev/null | od -An -tx1; stty sane", PTY ",\"interactive\":true}");
    until(k, "ready");
    type(k, "\003\r\033");
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    CHECK_STR(interp_result_interrupted(r), "");
    CHECK(strstr(shown(r), "03 0d 1b"));
    interp_result_free(r);
    free_box(&b);
}

TEST(resize)
{
    struct box b = new_box("{\"pty\":true}");
    interp_call *k = start_exec(&b, "python",
                           "import os, signal, time\nsizes = []\nsignal.signal(signal.SIGWINCH, lambda *a: sizes.append(os.get_terminal_size()))\nprint('ready', flush=True)\n"
                           "while not sizes: time.sleep(0.01)\nprint('%d rows, %d columns' % sizes[-1][::-1])", PTY "}");
    IS(interp_call_resize(k, 0, 80, ERR), INTERP_E_INVAL);
    IS(interp_call_resize(k, 24, 65536, ERR), INTERP_E_INVAL);
    until(k, "ready");
    OK(interp_call_resize(k, 7, 65535, ERR));
    interp_result *r = finish_exec(k);
    EXPECT_OK(r);
    CHECK(strstr(shown(r), "7 rows, 65535 columns\r\n"));
    interp_result_free(r);
    if (has_program(NODE)) {
        k = start_exec(&b, "javascript", "let size; process.stdout.on('resize', () => { size = process.stdout.rows + ' rows, ' + process.stdout.columns + ' columns'; });\n"
                                    "console.log('ready'); while (!size) await new Promise((go) => setTimeout(go, 10)); console.log(size)", PTY "}");
        until(k, "ready");
        OK(interp_call_resize(k, 9, 55, ERR));
        r = finish_exec(k);
        EXPECT_OK(r);
        CHECK(strstr(shown(r), "9 rows, 55 columns\r\n"));
        interp_result_free(r);
    }
    /* before it begins */
    k = start_exec(&b, "bash", "stty size", PTY "}");
    OK(interp_call_resize(k, 9, 11, ERR));
    r = finish_exec(k);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "9 11\r\n");
    interp_result_free(r);
    k = start_exec(&b, "bash", "sleep 1", NULL);
    SAYS(interp_call_resize(k, 24, 80, ERR), INTERP_E_INVAL, "no terminal");
    wait_done(k);
    IS(interp_call_resize(k, 24, 80, ERR), INTERP_E_CLOSED);
    interp_call_free(k);
    free_box(&b);
}

/* The end of input is a key: in an unfinished line it takes two. Without `interactive` it comes after what the request brings. */
TEST(end_of_input)
{
    static const struct { const char *input, *want; } ends[] = { { "", "0" }, { "two\nlines\n", "10" }, { "no line", "7" } };
    struct box b = new_box("{\"pty\":true}");
    for (int interactive = 0; interactive < 2; interactive++)
        for (size_t i = 0; i < 3; i++) {
            char json[128];
            snprintf(json, sizeof json, PTY ",\"interactive\":%s}", interactive ? "true" : "false");
            interp_request *q = new_request(b.x, "bash", "stty -echo; cat | wc -c", json);
            if (!interactive && *ends[i].input)
                OK(interp_request_set_stdin(q, ends[i].input, strlen(ends[i].input), ERR));
            interp_call *k = NULL;
            NEED(interp_session_exec_start(b.s, q, &k, ERR));
            interp_request_free(q);
            if (interactive) {
                if (*ends[i].input)
                    type(k, ends[i].input);
                OK(interp_call_write_end(k, ERR));
            }
            interp_result *r = finish_exec(k);
            EXPECT_OK(r);
            const char *last = strrchr(shown(r), ' ');
            char want[16];
            snprintf(want, sizeof want, "%s\r\n", ends[i].want);
            if (strcmp(last ? last + 1 : shown(r), want) != 0 && !strstr(shown(r), want))
                FAIL("\"%s\" typed: showed \"%s\", not %s", ends[i].input, shown(r), want);
            interp_result_free(r);
        }
    free_box(&b);
}

/* All that was shown before the end is there, each time, and no byte of it in the next exec. */
TEST(nothing_lost)
{
    struct box b = new_box("{\"pty\":true,\"output_head_bytes\":4000000}");
    for (int i = 0; i < 60; i++) {
        interp_result *r = exec_request(b.s, new_request(b.x, "bash", "seq 1 2000; printf end", PTY "}"));
        EXPECT_OK(r);
        size_t n;
        const char *text = interp_result_text(r, INTERP_STREAM_STDOUT, &n);
        if (n != 8893 + 2000 + 3 || strcmp(text + n - 9, "2000\r\nend") != 0)
            FAIL("round %d: %zu bytes, ending in \"%s\"", i, n, n > 20 ? text + n - 20 : text);
        interp_result_free(r);
        EXPECT_RUN(b.s, "bash", "printf x", "x");
    }
    interp_result *r = exec_request(b.s, new_request(b.x, "python", "import sys\nfor i in range(30000): print('%099d' % i)", PTY "}"));
    EXPECT_OK(r);
    size_t n;
    const char *text = interp_result_text(r, INTERP_STREAM_STDOUT, &n);
    CHECK_INT(n, 30000 * 101);
    for (size_t i = 0; i < 30000 && n == 30000 * 101; i++)
        if (atoi(text + i * 101) != (int)i || text[i * 101 + 99] != '\r')
            FAIL("line %zu is \"%.101s\"", i, text + i * 101);
    interp_result_free(r);
    free_box(&b);
}

/* What still runs at the terminal is hung up with it, the kernel is not; what a thread writes there later is nobody's. */
TEST(hang_up)
{
    struct box b = new_box("{\"pty\":true}");
    interp_result *r = exec_request(b.s, new_request(b.x, "bash", "bash -c 'trap \"echo hup >/workspace/heard; exit\" HUP; echo ready; while :; do read -t 0.1 x || (($? > 128)) || exit; done' & sleep 0.3; kept=yes", PTY "}"));
    EXPECT_OK(r);
    interp_result_free(r);
    EXPECT_RUN(b.s, "bash", "for i in {1..200}; do jobs -r | grep -q . || break; sleep 0.1; done; jobs -r; echo $kept", "yes\n");
    r = exec_request(b.s, new_request(b.x, "python", "import threading, time\ngo = threading.Event()\ndef late():\n    go.wait()\n    try: print('late')\n    except OSError: pass\nt = threading.Thread(target=late); t.start()\nprint('shown')", PTY "}"));
    EXPECT_OK(r);
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "shown\r\n");
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "go.set(); t.join(); print('here')", "here\n");
    free_box(&b);
}

/* The library's own programs for terminals, made by the code itself. */
TEST(ptys_of_its_own)
{
    struct box b = new_box("{\"pty\":true}");
    EXPECT_RUN(b.s, "python", "import os, pty\npid, fd = pty.fork()\nif pid == 0: os.execvp('tty', ['tty'])\nprint(os.read(fd, 100).decode().strip())", "/dev/pts/0\n");
    /* there is a bound, and the exec that finds none left says so and runs nothing */
    EXPECT_RUN(b.s, "python", "held = []\ntry:\n    while True: held.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))\nexcept OSError: print(len(held) <= 64)", "True\n");
    interp_result *r = exec_request(b.s, new_request(b.x, "bash", "echo ran", PTY "}"));
    EXPECT(r, INTERP_OUTCOME_ERROR, "pty", INTERP_STATE_PRESERVED);
    CHECK_INT(interp_result_ran(r), 0);
    CHECK(strstr(interp_result_error_message(r, NULL), "pseudo-terminal"));
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "");
    interp_result_free(r);
    EXPECT_RUN(b.s, "python", "for fd in held: os.close(fd)\nprint('closed')", "closed\n");
    r = exec_request(b.s, new_request(b.x, "bash", "echo ran", PTY "}"));
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "ran\r\n");
    interp_result_free(r);
    free_box(&b);
}

/* Deadlines and cancels hold at a terminal whose keys do nothing; keys can't be put into it by its programs. */
TEST(ends_all_the_same)
{
    struct box b = new_box("{\"pty\":true,\"grace_ms\":300}");
    interp_result *r = exec_request(b.s, new_request(b.x, "bash", "trap '' INT HUP; stty raw; while :; do :; done", "{\"pty\":true,\"timeout_ms\":500}"));
    CHECK_INT(interp_result_outcome(r), INTERP_OUTCOME_TIMEOUT);
    interp_result_free(r);
    interp_call *k = start_exec(&b, "python", "import sys\nwhile True: sys.stdout.write('x' * 1000)", PTY ",\"stream\":true}");   /* nobody pulls */
    usleep(200000);
    interp_call_free(k);
    EXPECT_RUN(b.s, "bash", "echo there", "there\n");
    r = exec_request(b.s, new_request(b.x, "python", "import fcntl, termios\ntry: fcntl.ioctl(0, termios.TIOCSTI, b'x')\nexcept OSError as e: print(e.errno)", PTY "}"));
    EXPECT_TEXT(r, INTERP_STREAM_STDOUT, "1\r\n");
    interp_result_free(r);
    free_box(&b);
}

TEST(refused)
{
    struct box b = new_box(NULL);
    interp_call *k = NULL;
    interp_request *q = new_request(b.x, "bash", "tty", "{\"pty\":true}");
    SAYS(interp_session_exec_start(b.s, q, &k, ERR), INTERP_E_INVAL, "pty");
    interp_request_free(q);
    EXPECT_RUN(b.s, "bash", "ls /dev/ptmx /dev/pts /dev/tty 2>/dev/null; echo none", "none\n");
    free_box(&b);
    b = new_box("{\"pty\":true}");
    q = new_request(b.x, "bash", "tty", "{\"pty_rows\":20}");
    SAYS(interp_session_exec_start(b.s, q, &k, ERR), INTERP_E_INVAL, "pty_rows");
    interp_request_free(q);
    free_box(&b);
}
TAP_MAIN()
