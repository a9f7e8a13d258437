/* files.c - bench rows of files: transfers against a plain copy to tmpfs, and the change set of a large workspace.
   SPDX-License-Identifier: MIT */
#include "bench.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 100000000u
#define ROOMY "{\"memory_bytes\":2147483648,\"workspace_bytes\":1073741824,\"timeout_ms\":60000}"

static struct samples a, f;

static void must(interp_status st)
{
    if (st) {
        fprintf(stderr, "a call on files failed: %s\n", interp_status_name(st));
        exit(1);
    }
}

/* cp from tmpfs to tmpfs; the copy is removed outside of the time. */
static double copy_ms(void)
{
    char *argv[] = { "cp", "/dev/shm/interp-bench-from", "/dev/shm/interp-bench-to", NULL };
    double t = run_quiet_ms(argv);
    unlink(argv[2]);
    return t;
}

static void transfer(const char *name, int get)
{
    char *bytes = malloc(SIZE);
    memset(bytes, 'x', SIZE);
    int fd = open("/dev/shm/interp-bench-from", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int whole = fd >= 0 && write(fd, bytes, SIZE) == (ssize_t)SIZE;
    if (fd >= 0)
        close(fd);
    if (!whole) {
        note(name, "no room in /dev/shm");
        free(bytes);
        return;
    }
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, ROOMY);
    memset(&a, 0, sizeof a);
    memset(&f, 0, sizeof f);
    must(interp_session_put(s, "file", INTERP_NTS, 0644, bytes, SIZE, NULL));
    for (int i = 0, n = count(30); i < n; i++) {
        double t = now_ms();
        if (get) {   /* events as they come, nothing kept: as cp */
            interp_call *c;
            const interp_event *e;
            uint64_t total = 0;
            interp_status next = INTERP_AGAIN;
            must(interp_session_get_start(s, "file", INTERP_NTS, INTERP_FOREVER, &c, NULL));
            while (next == INTERP_AGAIN) {
                must(interp_call_wait(c, INTERP_FOREVER, 0, NULL));
                while ((next = interp_call_next(c, &e)) == INTERP_OK) {
                    size_t len = 0;
                    (void)interp_event_data(e, &len);
                    total += len;
                }
            }
            must(interp_call_finish(c, NULL, NULL));
            interp_call_free(c);
            must(total == SIZE ? INTERP_OK : INTERP_E_IO);
            samples_add(&a, now_ms() - t);
        } else {
            must(interp_session_put(s, "copy", INTERP_NTS, 0644, bytes, SIZE, NULL));
            samples_add(&a, now_ms() - t);
            must(interp_session_remove(s, "copy", INTERP_NTS, 0, NULL));
        }
        samples_add(&f, copy_ms());
    }
    report(name, "ms", &a, &f);
    interp_session_close(s);
    interp_ctx_free(x);
    unlink("/dev/shm/interp-bench-from");
    free(bytes);
}

void files_put(const char *name)
{
    transfer(name, 0);
}
void files_get(const char *name)
{
    transfer(name, 1);
}

/* The same exec with and without; the difference is what it costs. */
void files_changes(const char *name)
{
    interp_ctx *x = b_ctx();
    interp_session *s = b_open(x, ROOMY);
    interp_request *fill = b_request(x, "python", "import os\nfor d in range(100):\n    os.mkdir(str(d))\n    for i in range(100): open('%d/%d' % (d, i), 'w').write('x')\nNone", NULL);
    b_ok(b_exec(s, fill));
    interp_request *with = b_request(x, "python", "for i in range(3): open('7/%d' % i, 'a').write('y')\nNone", "{\"change_set\":1}");
    interp_request *without = b_request(x, "python", "for i in range(3): open('7/%d' % i, 'a').write('y')\nNone", NULL);
    memset(&a, 0, sizeof a);
    memset(&f, 0, sizeof f);
    b_ok(b_exec(s, with));
    for (int i = 0, n = count(60); i < n; i++) {
        double t = now_ms();
        interp_result *r = b_exec(s, with);
        samples_add(&a, now_ms() - t);
        if (interp_result_file_count(r) != 3)
            note(name, "not three changes");
        interp_result_free(r);
    }
    for (int i = 0, n = count(60); i < n; i++) {
        double t = now_ms();
        b_ok(b_exec(s, without));
        samples_add(&f, now_ms() - t);
    }
    report(name, "ms", &a, &f);
    interp_request_free(fill);
    interp_request_free(with);
    interp_request_free(without);
    interp_session_close(s);
    interp_ctx_free(x);
}
