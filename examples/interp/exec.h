/* exec.h - `interp exec --stdio`: the state that its parts share.
   SPDX-License-Identifier: MIT

   exec_cmd.c      the command: one poll loop
   exec_lines.c    lines in and out
   exec_ops.c      from a line to the start of a call
   exec_files.c    files of a session
   exec_input.c    standard input of execs that run
   exec_live.c     output by offset, signals, the kernels of a session
   exec_spill.c    pages, search and files of whole outputs
   exec_answers.c  from a call's events to answers
   exec_table.c    sessions by name, operations in flight */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H
#include "buf.h"
#include "end.h"
#include "object.h"
#include "task.h"

#define LINE_MAX_BYTES   ((size_t)64 << 20)
#define NAME_MAX_BYTES   256u                /* name of a session */
#define ID_MAX_BYTES     1024u               /* JSON text of an id */
#define QUEUE_HIGH       ((size_t)1 << 20)   /* answers waiting to be written: past this no events are pulled and no lines read */
#define OPS_MAX          4096u               /* operations in flight */
#define OPS_MAX_BYTES    ((size_t)256 << 20) /* their lines together */
#define SESSION_BUCKETS  256u
#define CLOSED_NAMES_MAX 65536u /* names remembered to answer CLOSED; past this they are forgotten */

/* What a caller chose to name a request: the JSON text, echoed as it came, and for a string its bytes. */
struct id {
    char *raw; /* NULL: none */
    size_t raw_len;
    char *text; /* NULL for a number */
    size_t text_len;
};

/* FAILED: it did not open; its name is free, and what waited for it is answered. */
enum session_state { SESSION_OPENING, SESSION_OPEN, SESSION_CLOSING, SESSION_CLOSED, SESSION_FAILED };

#define KEPT_MAX 16 /* results that can still be asked for their whole output */
struct kept {
    struct id id;
    interp_result *result;
    interp_call *call;   /* of one with hold_output: it has what has not been read yet */
};

struct session {
    struct session *next; /* in its bucket */
    char *name;
    size_t name_len;
    enum session_state state;
    interp_session *s;
    unsigned ops, waiters; /* operations in flight; those that wait for its end counted apart */
    int close_done;        /* CLOSING: the sandbox is gone */
    struct kept kept[KEPT_MAX];
    unsigned kept_count;
};

enum op_kind { OP_OPEN, OP_EXEC, OP_RESTART, OP_PROBE, OP_CLOSE, OP_DOCTOR, OP_FILE };
struct file_op;

/* An operation whose last answer has not been given. */
struct op {
    struct task task; /* first: a call's userdata */
    struct op *next, **link;
    struct loop *io;
    struct session *session; /* NULL for the doctor */
    enum op_kind kind;
    struct id id;
    size_t weight;           /* length of its line */
    interp_call *call;       /* NULL: not started yet */
    interp_request *request; /* exec, until it starts */
    interp_cancel *cancel;   /* exec */
    char *language, *kernel; /* restart */
    struct buf input;        /* exec, put: what its standard input, or the file, is still to get */
    int as_text;             /* probe */
    int interactive, pty, input_eof, input_ended, hold_output;
    struct doctor *doctor;
    struct file_op *file;
    interp_error *error; /* close: why it failed */
    int ready;           /* there is news */
};

struct loop {
    interp_ctx *ctx;
    struct end in, out;
    struct buf line; /* input not handled yet */
    size_t seen;     /* bytes of it known to hold no newline */
    int skipping;    /* inside a line that is too long */
    int input_ended, output_ended, ending;
    struct buf queue; /* answers to write */
    size_t written;   /* of its start */
    struct session *buckets[SESSION_BUCKETS];
    size_t closed_names;
    struct op *ops, **ops_end; /* in the order they came */
    struct op *turn;           /* whose turn it is to be answered, NULL: the first; a full queue must not always stop at the same ones */
    size_t op_count, op_bytes;
};

/* ---- exec_lines.c */

/* Reads what is there, handles each complete line. */
void lines_read(struct loop *io);
/* Writes what fits. */
void lines_write(struct loop *io);
size_t lines_waiting(const struct loop *io);
/* Begins an answer, {"id":…,"event":"…" ; members follow, each with a comma before it. */
struct buf *answer(struct loop *io, const struct id *id, const char *event);
/* Ends it. */
void answer_end(struct loop *io);
void answer_done(struct loop *io, const struct id *id);
/* failed, with an error of the library's or of ours. */
void answer_error(struct loop *io, const struct id *id, const interp_error *err, interp_status st);
void answer_failed(struct loop *io, const struct id *id, interp_status st, const char *reason, const char *message, const char *remedy);

/* ---- exec_ops.c */

/* Handles one line, given without its newline. */
void op_line(struct loop *io, const char *text, size_t n);
/* Starts what waits for its session or for the rest of the input read. */
void ops_start(struct loop *io);
/* Input or output has ended: cancels and closes everything. */
void ops_end(struct loop *io);

/* ---- exec_files.c */

/* Takes the members of an operation on files. 0; -1 with a sentence in *why. */
int file_op_take(struct op *op, const char *verb, const struct object *o, const char **why);
interp_status file_op_start(struct op *op, interp_error **err);
void file_op_event(struct op *op, const interp_event *ev);
/* Its done. */
void file_op_answer(struct op *op);
void file_op_free(struct file_op *f);

/* ---- exec_input.c */

/* RFC 4648, padded. 0, or -1 when it is none. */
int base64_decode(const char *p, size_t n, struct buf *out);

/* Takes the members text or base64, and eof. 0; -1 with a sentence in *why. */
int input_take(struct op *op, const struct object *o, const char **why);
/* Gives the call what it takes now. */
void input_feed(struct op *op);

/* ---- exec_spill.c */

/* Takes the result of an exec that has ended, and its call (or NULL). */
void spill_keep(struct session *s, const struct id *id, interp_result *r, interp_call *call);
/* What is kept of the last exec of that id, or NULL. */
const struct kept *kept_find(const struct session *s, const struct id *id);
void spill_forget(struct session *s);
/* spill_read, spill_grep, spill_save. */
void spill_op(struct loop *io, const struct id *id, struct session *s, const struct object *o, const char *op);

/* A member that is a whole number; -1 when it is none, and v as it was when it is not there. */
int number_member(const struct object *o, const char *name, uint64_t *v);
/* INTERP_STREAM_*, stdout when it is not said; 0 when it is none. */
int stream_member(const struct object *o);

/* ---- exec_live.c */

/* Output by offset: of the call, or of what is kept of it. Either may be NULL. */
void output_op(struct loop *io, const struct id *id, interp_call *call, const interp_result *r, const struct object *o);
void signal_op(struct loop *io, const struct id *id, interp_call *call, const struct object *o);
void kernels_op(struct loop *io, const struct id *id, struct session *s);

/* ---- exec_answers.c */

/* Pulls events of calls with news and gives the answers, as far as the output takes them. 1 when more is ready. */
int ops_answer(struct loop *io);

/* ---- exec_table.c */

struct session *session_find(struct loop *io, const char *name, size_t n);
/* The entry of that name, made if there is none. */
struct session *session_get(struct loop *io, const char *name, size_t n);
/* Marks it closed: only the name stays. */
void session_closed(struct loop *io, struct session *s);
struct op *op_new(struct loop *io, enum op_kind kind, struct session *s, const struct id *id, size_t weight);
/* The exec in flight of that session with that id, or NULL. */
struct op *op_find_exec(struct loop *io, const struct session *s, const struct id *id);
/* Ends it without an answer. */
void op_free(struct op *op);
/* Takes a member as an id: a string or a number. -1 when it is neither or too long. */
int id_take(struct id *id, const struct member *m);
void id_free(struct id *id);
int id_same(const struct id *a, const struct id *b);
void table_free(struct loop *io);

#endif
