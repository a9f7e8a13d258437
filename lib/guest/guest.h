/* guest.h - internals of the guest agent. One process (the agent, PID 1) runs the event loop; one supervisor per kernel is forked from it. */
#ifndef INTERP_LIB_GUEST_GUEST_H
#define INTERP_LIB_GUEST_GUEST_H
#include "../wire/wire.h"
#include "sys.h"

#define KERNELS     16u
#define LATES       256u
#define WORKERS     (WIRE_FILES + 1u)      /* the last one keeps what the workspace looked like */
#define PIPES       (LATES + 3u * KERNELS + WORKERS + 8u)
#define RUN_DIR     "/run/interp"
#define WORKSPACE   "/workspace"
#define TEXT_MAX    4096u            /* captured standard error of a start; also the bound of the driver's info */
#define PATH_LEN    512u
#define RING_SIZE   (WIRE_WINDOW + 4096u)
#define FILE_RING   (WIRE_PUT_WINDOW + 4096u)

/* ---- boot.c, root.c, lock.c (boot_none.c has stand-ins) */
struct boot_facts {
    int local, two_ids, landlock_abi, scoped;
    uint32_t user_uid, user_gid;
    int cg_user_tasks[3];            /* v1: write "0" in the kernel child; -1 absent */
    int cg_user_dir;                 /* v2: CLONE_INTO_CGROUP; -1 absent */
    int cg_peak, cg_oom, cg_pids, host_pidfd;
    int bare, rules, life;           /* bare: no namespaces of our own; rules: its Landlock rules, life: its pipe (boot.h); -1: none */
    const char *workspace, *run_dir; /* where these are, else NULL */
    uint32_t pids;
};
int  boot_run(int stream_fd, struct boot_facts *f);
void lock_kernel(void);              /* in the kernel's child, just before execve; on failure a line on fd 2 and exit 95 */
void lock_supervisor(void);
/* engine.c: the same for mode "stdio" */
int  engine_run(struct boot_facts *f);
void engine_lock_kernel(void);
void engine_lock_supervisor(void);

/* ---- what the whole agent knows */
struct agent {
    struct boot_facts facts;
    int ep, sigfd, workspace, pid, init;      /* init: we are PID 1 */
    uint64_t now;                             /* monotonic, of this turn of the loop */
    uint64_t lease_ns, watch_bytes, last_frame, life_end, kill_ns;      /* last_frame: when it was read, be that after `now`; kill_ns: what the end of a tree may take while nothing is wrong */
    uint64_t beat;                            /* when the host is told next that a tree is still dying; 0: none is */
    uint32_t umask, pids;
    uint8_t  greeted;
    char     run[96];                         /* RUN_DIR, or what stands in for it */
    uint8_t  run_made;
};
extern struct agent A;

/* ---- descriptors in the epoll set: kind, generation and index travel in the event */
enum ep_kind { EP_STREAM = 1, EP_STREAM_OUT, EP_SIGNAL, EP_HOST, EP_PIPE, EP_CONTROL, EP_COMMAND, EP_STDIN, EP_SUPERVISOR, EP_WORKER, EP_WORKER_IN };
int ep_add(int fd, uint32_t events, enum ep_kind kind, uint32_t gen, uint32_t index);
void ep_want_out(int fd, int on, enum ep_kind kind, uint32_t gen, uint32_t index);      /* sockets tell of room only when asked: every read of the peer would wake us */

/* ---- stream.c: the host's byte stream */
void     stream_init(int in, int out);
void     stream_event(uint32_t events);
int      stream_input(void);                                  /* reads and dispatches; 1: there may be more */
void     stream_flush(void);
size_t   out_room(void);                                      /* payload bytes of DATA that fit now (0: do not read for the host) */
uint8_t *out_place(void);                                     /* where that payload goes */
void     out_commit(uint8_t type, uint8_t flags, uint16_t channel, size_t n);
void     out_begin(struct wire_out *o, size_t max);           /* control frames: reserved room */
void     out_end(uint8_t type, uint16_t channel, struct wire_out *o);
void     send_credit(uint16_t channel, uint32_t bytes);
_Noreturn void fatal(const char *reason, const char *message);
_Noreturn void agent_end(int code);

/* ---- ring.c: a byte queue for one flow-control window */
struct ring { uint32_t head, len, size; uint8_t *buf; };
int  ring_put(struct ring *r, const void *p, size_t n);       /* 0, or -1: does not fit */
int  ring_view(const struct ring *r, struct iovec_k v[2]);    /* number of pieces */
void ring_drop(struct ring *r, size_t n);
int  ring_front(struct ring *r, const void *p, size_t n);     /* before what is there */

/* ---- pipes.c: the read ends that we own */
enum pipe_use { PIPE_FREE, PIPE_SPARE, PIPE_START, PIPE_EXEC, PIPE_LATE, PIPE_DISCARD, PIPE_FILE };
struct opipe {
    int fd;
    uint32_t gen, dropped;
    uint8_t use, stream, ready, fifo, hangup;                       /* fifo: no writer yet, so a read of 0 is no end */
    uint64_t seq;                                             /* age, to close the oldest */
    uint8_t id[WIRE_ID];
};
extern struct opipe pipes[PIPES];
extern int lates;                                             /* pipes in use as PIPE_LATE */
extern uint8_t late_hot;                                      /* a late or discarded pipe has bytes */
int  pipe_make(enum pipe_use use, int *write_end);            /* index or negative error */
int  pipe_adopt(int fd, enum pipe_use use);                   /* takes a read end that is open already */
void pipe_close(int i);
int  pipe_spare(int *write_end);                              /* one that was made ahead, else a new one */
void pipe_refill(void);
void pipe_event(uint32_t index, uint32_t gen, uint32_t events);
int  pipe_relay(int i, uint16_t channel, uint32_t *credit, uint32_t *left);   /* one read; 1: more may be had at once */
uint32_t pipe_pending(int i);
int  pipe_more(int i, uint64_t r, uint64_t n);                /* whether it may have left something: a read of r bytes, with room for n */
/* late.c */
void late_adopt(int i, const uint8_t id[WIRE_ID], uint8_t stream);
void late_credit(uint32_t bytes);
int  late_step(void);
uint64_t late_timer(void);

/* ---- kernels */
enum kernel_stage { K_FREE, K_STALE, K_BLOB, K_STARTING, K_READY, K_DYING, K_DEAD };
enum exec_phase { X_NONE, X_WAIT, X_RUN, X_LAST, X_DRAIN };   /* LAST: the kernel is dead, its last frames are being read */
#define PAST 16u
struct usage_mark { uint64_t cpu, orphans, oom, pids_max, peak; uint8_t peak_reset; int past[PAST]; };   /* past: older processes that the clock of /proc can't tell from the exec's own */
struct exec {
    uint8_t phase, cause, asked, stage,                       /* asked: the host has sent a SIGINT of its own */
             ran, how, word, step, stdin_end, stdin_lost, opened, in_ready, nudges, dying;
    uint8_t id[WIRE_ID];
    uint16_t base;
    uint32_t flags, number, token, code_bytes, code_seen, credit[3], code_eaten, code_credited, stdin_seen, stdin_eaten, stdin_credited, left[2], control_left, code_skip;
    uint64_t cpu_limit, idle_limit, cpu_look, cpu_seen, heard;           /* UINT64_MAX: no limit; cpu_look: when to look again; heard: begin, or last output */
    uint64_t began, deadline, timeout, build, grace, signalled, cut, control_gone, watch_peak, nudge;   /* cut: when what is still unread of a finished one is given up; 0: no time is set */
    uint32_t exit_flags;
    int out[2], in_fd, code_fd, pty, pass[3], npass;           /* pty: our hold of the terminal's other side, -1: there is none */
    uint16_t rows, columns;
    uint8_t typed;                                            /* the last byte that was typed there */
    char files[96];                                           /* prefix of FIFOs and code file; empty: none */
    uint8_t made;                                             /* bit n: <prefix>n exists; bit 3: the code file */
    uint32_t prefix_len;
    struct usage_mark mark;
};
struct shared { volatile uint64_t orphan_cpu; };              /* written by the supervisor, read by the agent */
struct kernel {
    uint8_t stage, kind, flags, restored, ready_status, how, proven, stopping, control_ready, control_hangup, feed_ready, respawn, outlives, want_out;
    uint8_t interrupted;                                      /* SIGINT was ordered for the exec before: P says so */
    uint8_t unheard;                                          /* signals ordered and not confirmed: the next exec waits, or they would reach it */
    uint16_t id, channel;
    uint32_t gen, credit, blob_bytes, blob_eaten, text_len, info_len;
    int supervisor, supervisor_pid, pid, control, command, blob, errors, exit_code, signal;
    uint64_t start_deadline, died_cpu, died_self, child_cpu, last_end, oom_seen, pids_seen;
    struct shared *shared;
    struct wire_identity identity;
    uint8_t head[KFRAME_HEADER];
    uint32_t head_len;
    uint64_t body;
    struct kframe frame;
    char path[PATH_LEN], dir[96];
    char text[TEXT_MAX], info[TEXT_MAX];
    struct exec x;
};
extern struct kernel kernels[KERNELS];
struct spec { uint32_t len, candidates, args, env, template, template_len; uint8_t raw[WIRE_PAYLOAD_MAX + 16]; } __attribute__((aligned(65536)));
extern struct spec specs[KERNELS];
struct secret {
    struct ring code[KERNELS], input[KERNELS], files[WORKERS];
    uint8_t code_room[KERNELS][RING_SIZE], input_room[KERNELS][RING_SIZE], file_room[WORKERS][FILE_RING], scratch[WIRE_WINDOW], prefix[KERNELS][WIRE_PAYLOAD_MAX];
} __attribute__((aligned(65536)));
extern struct secret S;                                       /* with the stream's buffers: what a forked child wipes first */
void stream_wipe(void);
static inline unsigned kernel_index(const struct kernel *k) { return (unsigned)(k - kernels); }
struct kernel *kernel_find(uint16_t id);

/* start.c */
void start_request(const struct wire_frame *f);
void start_blob(struct kernel *k, const uint8_t *p, size_t n, int end);
void start_spawn(struct kernel *k);
void start_answer(struct kernel *k, uint8_t status);          /* KERNEL_READY */
/* kernel.c */
void kernel_kill(struct kernel *k, uint8_t how, uint8_t ready_status);
void kernel_stop(uint16_t id);
void kernel_event(struct kernel *k, enum ep_kind kind, uint32_t events);
int  kernel_step(struct kernel *k);
void kernel_forget(struct kernel *k);
void supervisor_read(struct kernel *k);
/* frames.c */
int  frames_start(struct kernel *k);
int  frames_exec(struct kernel *k);
/* exec.c */
void exec_request(const struct wire_frame *f);
void exec_code(struct kernel *k, const uint8_t *p, size_t n, int end);
void exec_stdin(struct kernel *k, const uint8_t *p, size_t n, int end);
void exec_begin(struct kernel *k);
void exec_respawn(struct kernel *k);                          /* a shell that ended: start it again from the same data */
void exec_opened(struct kernel *k);
void exec_final(struct kernel *k, uint8_t word);
void exec_over(struct kernel *k, uint8_t how);                /* the kernel is gone */
int  exec_step(struct kernel *k);
void exec_cut(struct kernel *k);                              /* a finished one: no more is read for it */
void exec_refuse(struct kernel *k, uint8_t how);              /* EXIT at once, nothing ran */
/* pty.c */
int  pty_make(struct kernel *k);                              /* the streams of an exec as one terminal; 0 or negative error */
void pty_end(struct kernel *k);                               /* its input ends */
void pty_resize(const uint8_t id[WIRE_ID], uint16_t rows, uint16_t columns);
#define PTY_HOLDS (64u << 10)         /* more than its buffers do */
/* feed.c */
int  feed_kernel(struct kernel *k);
int  feed_stdin(struct kernel *k);
/* ladder.c */
void     ladder_interrupt(const uint8_t id[WIRE_ID], uint8_t cause, int hard);
void     ladder_signal(const uint8_t id[WIRE_ID], uint8_t sig);
void     ladder_step(struct kernel *k);
uint64_t ladder_since(const struct exec *x);                  /* clock ticks since boot at the exec's start, as /proc counts */
uint64_t ladder_timer(const struct kernel *k);
/* usage.c, watch.c */
void     usage_start(struct kernel *k);                       /* before its process is started ... */
int      usage_pids_full(const struct kernel *k);             /* ... and when it did not get ready: was it for want of processes? */
void     usage_begin(struct kernel *k);
void     usage_end(struct kernel *k, struct wire_exit *m);
uint64_t usage_cpu(const struct kernel *k);                   /* of the exec so far, with that of what it started and that still runs */
void     watch_step(void);
uint64_t watch_timer(void);
/* files.c */
int  files_init(void);
void files_done(void);
int  files_streams(struct kernel *k);                         /* FIFOs of an exec; 0 or negative error */
int  files_terminal(struct kernel *k, const char *path);      /* ... as names of one terminal */
int  files_code(struct kernel *k);
void files_remove(struct exec *x, int all);
void files_nudge(const struct exec *x);
int  files_kernel_dir(struct kernel *k);
int  files_has_state(const struct kernel *k);
int  files_take_ended(const struct kernel *k);
void files_drop_dir(struct kernel *k);
int  files_expand(struct kernel *k, const uint8_t *p, size_t n, int all);      /* template into the code ring */

/* ---- workers.c: file work, done by processes with the rights of user code */
void workers_init(void);
void worker_request(const struct wire_frame *f);
void worker_cancel(uint16_t channel);
int  worker_expects(const struct wire_frame *f);              /* DATA for a put, which is given as it comes; 0: not a channel of theirs */
void worker_data(uint16_t channel, const uint8_t *p, size_t n);
size_t worker_pass(uint16_t channel, int from, size_t n);     /* the same, out of a descriptor; what can't go by that way now is to be read */
uint32_t *worker_credit(uint16_t channel);
void worker_event(uint32_t index, uint32_t gen, enum ep_kind kind);
void worker_reaped(int pid);
int  workers_step(void);
uint64_t workers_timer(void);
uint64_t workers_patience(void);                              /* how long the host waits for those at work; 0: none is */
/* filework.c: the process itself. Descriptors: */
enum { WORK_CONTROL = 3, WORK_IN = 4, WORK_OUT = 5 };
#define PIPE_ROOM (64 << 10)          /* of its pipes while nothing large goes through */
enum { WORK_FILE = 'F', WORK_END = 'E', WORK_CANCEL = 'C' };  /* first byte of a message to it: the payload of FILE follows, or a u64: bytes written to its pipe */
struct work_done { struct wire_file_done d; uint64_t bytes; };/* its answer; bytes: what it has written to its pipe. Before it, of a put: u64, bytes taken out of its pipe so far */
_Noreturn void file_work(void);
#define WORK_DEPTH 64u                /* directories that are kept open, one in the other */
#define UNSIZED (16u << 20)           /* most that is read of a file that says it is empty, as those of /proc do */
struct level { int fd; uint32_t pos, have, path_len; char name[256]; uint8_t dents[4096]; };
extern struct level levels[WORK_DEPTH];
void level_enter(struct level *l, int fd, const char *name, uint32_t path_len);
struct dirent_k *level_next(struct level *l, long *error);    /* but "." and ".."; NULL: no more, *error says whether by one */
void send_bytes(const void *p, size_t n);                     /* to the agent */
void send_record(const struct wire_entry *e);
void send_records(void);                                      /* those that wait for more */
void send_beside(const void *p, size_t n);                    /* what belongs to the record before, at most 64 KiB */
struct intake { uint64_t got, total, told; };                 /* what the host sends by WORK_IN; total: UINT64_MAX until it is known */
void source_took(struct intake *s, size_t n);
int  source_wait(struct intake *s);                           /* for more of it, or its end: 0, or a negative error */
int  make_dir(const char *path, int parents, uint32_t mode, struct wire_file_done *d);
void describe_entry(struct wire_entry *w, const struct statx_k *s);
uint8_t file_type_of(uint16_t mode);
/* changes.c */
int changes_snap(int halves, struct wire_file_done *d);
int changes_diff(uint64_t budget, uint32_t most, int halves, struct wire_file_done *d);
/* tree.c */
int tree_walk(const char *path, int deep, int content, uint64_t limit, struct wire_file_done *d);   /* a list; content: a pack */
int tree_unpack(const char *path, int keep, struct wire_file_done *d);
/* filepath.c: names to descriptors, in the process above */
void paths_init(void);
int  path_open(const char *path, int flags);                  /* the flags of open, descriptor or negative error */
int  path_parent(const char *path, int make, const char **name);   /* the directory that it is in (O_PATH), and its last component */

/* ---- proc.c */
struct proc { int pid, ppid; uint64_t start, cpu, cpu_children; uint8_t mark, ignores_int, exiting, owner; uint32_t threads; };
#define PROCS 2048u
extern struct proc procs[PROCS];
unsigned proc_scan(int stop_fd);
struct proc *proc_find(unsigned n, int pid);
int      proc_read(int pid, struct proc *p);
enum { PROC_SINCE = 1, PROC_HEARS = 2 };                        /* only what was started at `since` or later; only what does not ignore SIGINT */
void     proc_mark_tree(unsigned n, int root, int only, uint64_t since);
uint64_t proc_resident(int pid, uint64_t *rest);
uint64_t proc_shared(int pid);
int proc_swapped(void);
uint64_t proc_share(int pid);

/* ---- supervisor.c: the other process */
enum sup_op { SUP_SPAWN = 1, SUP_INT, SUP_TERM, SUP_KILL_CHILDREN, SUP_SIGNAL, SUP_END, SUP_STARTED, SUP_FAILED, SUP_DIED, SUP_GONE, SUP_SIGNALLED };
struct sup_message { uint32_t op; int32_t pid, code, signal; uint32_t proven; int32_t error; uint64_t since, cpu, cpu_self; };
int  supervisor_fork(struct kernel *k);                       /* 0 or a negative error */
long supervisor_send(struct kernel *k, const struct sup_message *m, const int *fds, int nfds);
static inline long supervisor_order(struct kernel *k, uint32_t op, uint64_t since, int sig)     /* sig: of SUP_SIGNAL */
{
    struct sup_message m = { .op = op, .since = since, .signal = sig };
    return supervisor_send(k, &m, NULL, 0);
}
void fork_wipe(struct kernel *k);                             /* what a forked child must not keep; k: the kernel that it is for, NULL: none */
_Noreturn void spawn_child(struct kernel *k, const int fds[3]);   /* spawn.c: becomes the kernel */
static inline uint64_t min64(uint64_t a, uint64_t b) { return a < b ? a : b; }
#endif
