/* exec_lines.c - lines in, answers out.
   SPDX-License-Identifier: MIT */
#include "exec.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CHUNK     ((size_t)64 << 10)
#define READ_TURN ((size_t)4 << 20) /* read in one turn of the loop */
#define KEEP      ((size_t)1 << 20) /* an empty buffer larger than this is freed */

static void empty(struct buf *b)
{
    b->len = 0;
    if (b->cap > KEEP)
        buf_free(b);
}

/* ---- in */

static void too_long(struct loop *io)
{
    answer_failed(io, NULL, INTERP_E_LIMIT, "line-too-long", "the line is longer than 64 MiB", "send less at a time");
}

static void split(struct loop *io)
{
    struct buf *b = &io->line;
    size_t start = 0;
    char *newline;
    while (b->len > io->seen && (newline = memchr(b->p + io->seen, '\n', b->len - io->seen))) {
        size_t end = (size_t)(newline - b->p);
        if (io->skipping)
            io->skipping = 0;
        else if (end - start > LINE_MAX_BYTES)
            too_long(io);
        else
            op_line(io, b->p + start, end - start);
        start = io->seen = end + 1;
    }
    if (io->skipping)
        start = b->len;
    if (start)
        memmove(b->p, b->p + start, b->len - start);
    b->len -= start;
    if (b->len > LINE_MAX_BYTES) {
        too_long(io);
        io->skipping = 1;
        b->len = 0;
    }
    io->seen = b->len;
    if (!b->len)
        empty(b);
}

void lines_read(struct loop *io)
{
    for (size_t total = 0; !io->input_ended && total < READ_TURN && lines_waiting(io) < QUEUE_HIGH;) {
        ssize_t got = end_read(&io->in, buf_room(&io->line, CHUNK), CHUNK);
        if (got > 0) {
            io->line.len += (size_t)got;
            total += (size_t)got;
            split(io);
        } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        } else {
            if (got < 0)
                fprintf(stderr, "interp exec: can't read standard input: %s\n", strerror(errno));
            io->input_ended = 1;
        }
    }
    if (io->input_ended && io->line.len) {
        op_line(io, io->line.p, io->line.len); /* a last line without its newline */
        io->seen = 0;
        empty(&io->line);
    }
}

/* ---- out */

size_t lines_waiting(const struct loop *io)
{
    return io->queue.len - io->written;
}

void lines_write(struct loop *io)
{
    while (!io->output_ended && lines_waiting(io)) {
        ssize_t put = end_write(&io->out, io->queue.p + io->written, lines_waiting(io));
        if (put >= 0) {
            io->written += (size_t)put;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (io->written > KEEP) {
                memmove(io->queue.p, io->queue.p + io->written, lines_waiting(io));
                io->queue.len -= io->written;
                io->written = 0;
            }
            return;
        } else {
            fprintf(stderr, "interp exec: can't write to standard output: %s\n", strerror(errno));
            io->output_ended = 1;
        }
    }
    io->written = 0;
    empty(&io->queue);
}

struct buf *answer(struct loop *io, const struct id *id, const char *event)
{
    buf_text(&io->queue, "{");
    if (id && id->raw) {
        buf_text(&io->queue, "\"id\":");
        buf_add(&io->queue, id->raw, id->raw_len);
        buf_text(&io->queue, ",");
    }
    buf_text(&io->queue, "\"event\":\"");
    buf_text(&io->queue, event);
    buf_text(&io->queue, "\"");
    return &io->queue;
}

void answer_end(struct loop *io)
{
    buf_text(&io->queue, "}\n");
}

void answer_done(struct loop *io, const struct id *id)
{
    answer(io, id, "done");
    answer_end(io);
}

void answer_error(struct loop *io, const struct id *id, const interp_error *err, interp_status st)
{
    if (!err) {
        answer_failed(io, id, st, "", interp_status_name(st), "");
        return;
    }
    size_t n = 0;
    const char *json = interp_error_json(err, &n);
    struct buf *b = answer(io, id, "failed");
    buf_text(b, ",\"error\":");
    buf_add(b, json, n);
    answer_end(io);
}

void answer_failed(struct loop *io, const struct id *id, interp_status st, const char *reason, const char *message, const char *remedy)
{
    const char *const parts[][2] = {
        { "{\"code\":", interp_status_name(st) }, { ",\"reason\":", reason }, { ",\"message\":", message }, { ",\"remedy\":", remedy }
    };
    struct buf *b = answer(io, id, "failed");
    buf_text(b, ",\"error\":");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_text(b, parts[i][0]);
        buf_string(b, parts[i][1], strlen(parts[i][1]));
    }
    buf_text(b, st == INTERP_E_BUSY ? ",\"retryable\":true,\"errno\":0}" : ",\"retryable\":false,\"errno\":0}");
    answer_end(io);
}
