/* core.h - the objects of the core and who calls what. One direction: api (session, call) -> exec, kernel -> peer -> link -> backend. */
#ifndef INTERP_LIB_CORE_H
#define INTERP_LIB_CORE_H
#include "audit/audit.h"
#include "base/fds.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "output/redact/redact.h"
#include "output/clean.h"
#include "output/jsoncut.h"
#include "output/spill.h"
#include "output/stream.h"
#include "policy/policy.h"
#include "wire/wire.h"
#include <interp/backend.h>
#include <interp/interp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

/* ---------------------------------------------------------------- option values (options.def) */
#define OPT_STR(scope, name, member, ...) OPT_STR_##scope(member)
#define OPT_U64(scope, name, member, ...) OPT_U64_##scope(member)
struct interp__config_values {
#define OPT_STR_config(m) char *m;
#define OPT_U64_config(m) uint64_t m; uint8_t m##_set;
#define OPT_STR_request(m)
#define OPT_U64_request(m)
#include "options.def"
#undef OPT_STR_config
#undef OPT_U64_config
#undef OPT_STR_request
#undef OPT_U64_request
};
#define OPT_STR(scope, name, member, ...) OPT_STR_##scope(member)
#define OPT_U64(scope, name, member, ...) OPT_U64_##scope(member)
struct interp__request_values {
#define OPT_STR_config(m)
#define OPT_U64_config(m)
#define OPT_STR_request(m) char *m;
#define OPT_U64_request(m) uint64_t m; uint8_t m##_set;
#include "options.def"
#undef OPT_STR_config
#undef OPT_U64_config
#undef OPT_STR_request
#undef OPT_U64_request
};

/* ---------------------------------------------------------------- guards */
struct interp__guard { atomic_int inside; };       /* thread class T3: one at a time */
int  interp__enter(struct interp__guard *g);       /* 0, or -1: another thread of the host is inside, or this is a callback */
int  interp__enter_ours(struct interp__guard *g);  /* for work that does not block: 0, or -1 when anybody is inside */
void interp__leave(struct interp__guard *g);
/* Several threads, one after the other in the order in which they came: none starves beside one that comes back at once. */
struct interp__turn { pthread_mutex_t lock; pthread_cond_t next; unsigned given, called; int held; pthread_t owner; };
void interp__turn_init(struct interp__turn *t);
void interp__turn_free(struct interp__turn *t);
int  interp__turn_take(struct interp__turn *t, int wait);   /* 0, or -1: it is this thread's already, or this is a callback, or (unless wait) it is another's */
void interp__turn_end(struct interp__turn *t);
int  interp__in_callback(void);                    /* this thread is inside a callback of the host's */
void interp__callback(int enter);

/* ---------------------------------------------------------------- loop.c: descriptors and deadlines */
struct interp__watch { struct interp_link *link; int fd; uint32_t mask, generation; };
struct interp__loop {
    const struct interp__mem *mem;
    int epoll, timer, wake;                        /* timer -1 in a threaded context: the wait has a timeout there; wake is the context's */
    struct interp__watch *watches;
    uint32_t nwatches;
    uint64_t armed;
    int poked;                                     /* wake was written by this side: dispatch has work */
};
interp_status interp__loop_init(struct interp__loop *l, const struct interp__mem *mem, int wake, int with_timer);
void interp__loop_close(struct interp__loop *l, int forked);
interp_status interp__loop_watch(struct interp__loop *l, struct interp_link *link, int fd, uint32_t mask);
void interp__loop_forget(struct interp__loop *l, struct interp_link *link);    /* all watches of a link */
/* Only sleeps: until something is to be polled, bell (-1: none) can be read, or until then. mask: of blocked signals meanwhile; NULL: as they are. -1 EINTR. Any thread; poll: false waits for the bell alone. */
int  interp__loop_sleep(const struct interp__loop *l, int poll, int bell, uint64_t until, const sigset_t *mask);
int  interp__loop_poll(struct interp__loop *l, uint64_t until);                /* waits until then (0: does not), marks links; -1 EINTR, else number of events */
void interp__loop_arm(struct interp__loop *l, uint64_t deadline);
void interp__loop_poke(struct interp__loop *l);

/* ---------------------------------------------------------------- backend and link */
struct interp__backend {
    struct interp__backend *next;
    interp_backend_ops ops;
    char *name;
    void *userdata;
    void (*destroy)(void *);
};
struct interp__extra { struct interp__extra *next; char *key, *json; int asked; };   /* asked: the backend has asked for it */
struct interp_link {
    struct interp_link *next;                      /* in the context's list of orphans */
    interp_ctx *ctx;
    struct interp__loop *loop, own;                /* own is used in a threaded context */
    struct interp__backend *backend;
    struct interp_session *session;                /* NULL: orphan */
    void *inst;
    struct interp__extra *extras;
    uint64_t timer, orphan_deadline;
    atomic_int woken;
    uint8_t fired, again, opened, closing, closed, readable, write_failed;
    interp_error *fault;
    char *reached;
    struct interp__buf progress;                   /* JSON texts, NUL between */
};
interp_status interp__link_open(interp_ctx *x, struct interp_session *s, struct interp__backend *b, int32_t kind, const interp_spec *spec, struct interp__extra *extras, struct interp_link **out, interp_error **err);   /* takes extras */
void interp__link_step(struct interp_link *l, uint64_t now);                   /* advance when something is due */
void interp__link_kill(struct interp_link *l);
void interp__link_close(struct interp_link *l);
void interp__link_free(struct interp_link *l, int forked);                     /* abandons what has not closed */
void interp__link_orphan(struct interp_link *l, uint64_t close_timeout_ms);                               /* hands it to the context's reaper */
int interp__link_reached_is(const struct interp_link *l, const char *key, const char *value);   /* a text member of `reached` */
/* A text of `reached`: its member, or with a language that member's member. 0, or -1: none, or too long for out. */
int interp__link_reached_text(const struct interp_link *l, const char *key, const char *language, char *out, size_t n);
uint32_t interp__link_reached_count(const struct interp_link *l, const char *key);              /* of an array's members */
uint64_t interp__link_due(const struct interp_link *l);
void interp__reap(interp_ctx *x, uint64_t now);                                /* drives orphans, frees the closed */

/* ---------------------------------------------------------------- context */
struct interp__code {                              /* cached driver code of one interpreter (REVIEW: made before any user code ran in its sandbox) */
    struct interp__code *next;
    const struct interp__language *language;
    const struct interp__backend *backend;
    struct wire_identity id;
    size_t len;
    uint8_t bytes[];
};
struct interp__agent { char arch[16]; void *p; size_t n; };
struct interp_ctx {
    struct interp__mem mem;
    atomic_uint refs;
    uint32_t flags;
    pid_t pid;
    int wake, sealed;
    pthread_mutex_t lock;                          /* lists below; never held over I/O or host code */
    struct interp__guard guard;                    /* LOOP: everything that drives */
    struct interp__loop loop;                      /* LOOP */
    struct interp_session *sessions;
    struct interp_link *orphans;
    atomic_uint norphans;
    atomic_int freed;                              /* the host has let go of it; children keep it */
    struct interp__backend *backends;
    struct interp__code *codes;
    struct interp__oneshot *oneshots;              /* those of languages.json */
    struct interp__agent agents[2];
    struct interp_call *ready, **ready_end;        /* LOOP: calls with news, in order */
    uint8_t dispatching;                           /* LOOP: what becomes ready needs no wake-up, interp_ctx_next comes after */
    interp_log_fn log;
    void *log_data;
    void (*log_destroy)(void *);
    uint64_t close_timeout;
    struct interp__redact_set *redact;             /* has a lock of its own */
    struct interp__audit *audit;                   /* has a lock of its own, and is the context's to its end */
    pthread_mutex_t audit_lock;                    /* whoever starts a trail holds it meanwhile, so that others of the same config wait for that */
    char *audit_json;                              /* the config's text that started it; NULL: interp_audit_open did */
    interp_audit_fn audit_fn;
    void *audit_data;
    void (*audit_destroy)(void *);
    struct interp_event *notices, **notices_end, *notice;   /* notice: what the host has in hand */
    uint32_t nnotices;
    uint8_t notices_asked;                         /* somebody takes them */
    size_t notice_bytes;
    uint64_t notice_seq;
};
interp_status interp__ctx_check(interp_ctx *x, interp_error **err);            /* NULL, forked, callback */
int  interp__forked(const interp_ctx *x);
interp_ctx *interp__ctx_ref(interp_ctx *x);
void interp__ctx_unref(interp_ctx *x);
void interp__ctx_log(interp_ctx *x, int32_t level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void interp__ctx_wake(interp_ctx *x);              /* any thread, signal handlers */
interp_status interp__ctx_agent(interp_ctx *x, const char *arch, const void **data, size_t *n);   /* UNSUPPORTED: this build has none; NOMEM */
interp_status interp__random(void *p, size_t n);

struct interp_cancel { interp_ctx *ctx; atomic_uint refs; atomic_uint fired; };
uint32_t interp__cancel_count(const interp_cancel *t);                         /* times fired, 0 for NULL */

/* ---------------------------------------------------------------- config, request */
struct interp__env { struct interp__buf text; uint32_t count; };               /* NAME=value, NUL after each */
interp_status interp__env_set(struct interp__env *e, const struct interp__mem *m, const char *name, const void *v, size_t n, size_t max_names, size_t max_bytes, interp_error **err);
interp_status interp__env_set_json(struct interp__env *e, const struct interp__mem *m, const struct interp__json *j, uint32_t object, size_t max_names, size_t max_bytes, interp_error **err);
/* labels.c: the same list, for names with '.' and '-' */
interp_status interp__label_set(struct interp__env *e, const struct interp__mem *m, const char *name, const char *value, interp_error **err);
interp_status interp__labels_set_json(struct interp__env *e, const struct interp__mem *m, const struct interp__json *j, uint32_t object, interp_error **err);
interp_status interp__extra_set(struct interp__extra **list, const struct interp__mem *m, const char *key, const char *json, size_t len, interp_error **err);
/* Sets the text of a key in a list of at most max. */
interp_status interp__text_set(struct interp__extra **list, const struct interp__mem *m, const char *key, const char *json, size_t len, uint32_t max, interp_error **err);
void interp__extras_free(struct interp__extra **list, const struct interp__mem *m);
/* What a config adds to the context's redaction; items never change, so that copies share them. */
struct interp__redactions { struct interp__redaction **p; size_t n; };
interp_status interp__redactions_set_json(struct interp__redactions *l, const struct interp__mem *m, const struct interp__json *j, uint32_t node, interp_error **err);
interp_status interp__redactions_copy(struct interp__redactions *to, const struct interp__redactions *from, const struct interp__mem *m, interp_error **err);
void interp__redactions_json(const struct interp__redactions *l, struct interp__buf *out);   /* an object; of values and patterns the names only */
void interp__redactions_free(struct interp__redactions *l, const struct interp__mem *m);
/* The set of a session: over the context's, with the config's items, and its options redact_off and redact_host. */
interp_status interp__redactions_open(interp_ctx *x, const struct interp__redactions *l, const struct interp__config_values *v, struct interp__redact_set **out, interp_error **err);
interp_status interp__redact_host(struct interp__redact_set *set, const struct interp__mem *m, interp_error **err);   /* names of the host */
/* mounts.c: directories of the host inside, and whose interpreters are used */
enum { INTERP__MOUNTS_MAX = 32, INTERP__MOUNT_PATH = 192 };
struct interp__language;
struct interp__mount { struct interp__mount *next; char *source, *target; uint32_t flags; };
struct interp__interpreter { struct interp__interpreter *next; const struct interp__language *language; char *path; };
struct interp__host_files { struct interp__mount *mounts; struct interp__interpreter *interpreters; };   /* in the order given */
interp_status interp__mount_add(struct interp__host_files *h, const struct interp__mem *m, const char *source, const char *target, uint32_t flags, interp_error **err);
interp_status interp__interpreter_set(struct interp__host_files *h, const struct interp__mem *m, const char *language, const char *path, interp_error **err);
interp_status interp__host_files_json(struct interp__host_files *h, const struct interp__mem *m, const char *key, const struct interp__json *j, uint32_t node, int *known, interp_error **err);
interp_status interp__host_files_copy(struct interp__host_files *to, const struct interp__host_files *from, const struct interp__mem *m);
void interp__host_files_free(struct interp__host_files *h, const struct interp__mem *m);
void interp__host_files_write(const struct interp__host_files *h, struct interp__buf *out);   /* members of the config's JSON, each after a comma */
struct interp__spec_lists {                         /* what interp_spec points to */
    const char *source[INTERP__MOUNTS_MAX], *target[INTERP__MOUNTS_MAX], *language[8], *path[8];
    uint32_t flags[INTERP__MOUNTS_MAX];
};
void interp__host_files_spec(const struct interp__host_files *h, struct interp__spec_lists *l, interp_spec *spec);
struct interp_config {
    interp_ctx *ctx;
    struct interp__guard guard;
    struct interp__config_values v;
    struct interp__env env;
    struct interp__host_files files;
    struct interp__extra *extras;
    struct interp__redactions redactions;
    struct interp__extra *languages;               /* name and text of each */
    interp_cancel *cancel;
    struct interp__env labels;
    struct interp__policy *policy;
    struct interp__buf audit;                      /* JSON object or empty */
    struct interp__buf json;
};
struct interp__attached { struct interp__attached *next; char *path; size_t path_len; struct interp__buf data; };   /* a file that a request brings */
struct interp_request {
    interp_ctx *ctx;
    struct interp__guard guard;
    struct interp__request_values v;
    struct interp__buf code, input;                /* input: stdin */
    uint8_t has_code, has_input;
    struct interp__env env;
    struct interp__buf options;                    /* JSON object or empty */
    struct interp__env labels;
    struct interp__buf args;                       /* NUL behind each */
    uint32_t nargs;
    struct interp__attached *files;
    interp_cancel *cancel;
};
enum { INTERP__CODE_MAX = 16 << 20 };
interp_status interp__options_set(void *values, int is_request, const struct interp__mem *m, const char *key, const struct interp__json *j, uint32_t node, int *known, interp_error **err);
interp_status interp__config_defaults(struct interp__config_values *v, const struct interp__mem *m);
interp_status interp__config_copy(struct interp__config_values *to, const struct interp__config_values *from, const struct interp__mem *m);
void interp__config_clear(struct interp__config_values *v, const struct interp__mem *m);
interp_status interp__request_defaults(struct interp__request_values *v, const struct interp__mem *m);
interp_status interp__request_copy(struct interp__request_values *to, const struct interp__request_values *from, const struct interp__mem *m);
void interp__request_clear(struct interp__request_values *v, const struct interp__mem *m);
void interp__options_json(struct interp__buf *out, const struct interp__config_values *v);   /* members, no braces */
int  interp__option_known(int is_request, const char *name);
interp_status interp__config_enter(interp_config *c, interp_error **err);       /* checks it and takes its guard: interp__leave */
void interp__config_prepare(interp_config *c);                                  /* may block: backend or endpoint have changed */

/* ---------------------------------------------------------------- languages.c */
struct interp__language {
    const char *name, *const *aliases, *const *candidates, *const *args;
    const struct interp__oneshot *oneshot;         /* a program each time: oneshot.h */
    uint8_t kind, caches, packed;                  /* packed: the driver's name in blobs.h; 0: it is not */
    const uint8_t *driver, *driver_end, *code_template, *template_end, *boot, *boot_end;   /* boot: the argument after args; NULL: none */
    const char *minimum;                           /* "Python 3.6" */
};
const uint8_t *interp__language_driver(const struct interp__language *l, const struct interp__mem *m, size_t *n);   /* what starts it; NULL: no memory */
const struct interp__language *interp__language_stateful(const char *name);    /* one with kernels that keep state, by name or alias */
/* By name or alias: stateful, then the session's own, then the built-in one-shots. An error names what there is. */
interp_status interp__language_find(struct interp_session *s, const char *name, const struct interp__language **out, interp_error **err);
interp_status interp__languages_builtin(interp_ctx *x, struct interp__oneshot **out, interp_error **err);   /* made at first use; the context's */
extern const char *const interp__base_env[];

/* ---------------------------------------------------------------- result */
struct interp__bundle { uint32_t first, count; struct interp__buf dropped; };  /* parts; dropped: JSON array or empty */
struct interp__part { char *mime, *data; size_t len, total; uint32_t bundle; };   /* total: before it was shortened */
struct interp__late { uint64_t exec, offset; int stream; struct interp__buf data; };
struct interp__change {
    char *path;
    size_t path_len;
    uint8_t how, type, has_content;                /* how: INTERP_FILE_CREATED ... */
    uint64_t size;
    const char *mime;
    char sha256[65];                               /* empty: not made */
    struct interp__buf content;
};
struct interp__changes { struct interp__change *v; uint32_t n, cap, named; uint64_t fetched; uint8_t complete; };
struct interp_result {
    struct interp__mem mem;
    int32_t outcome, state, ran, exit_code, signal, line;
    const char *cause, *interrupted, *claimed_by;  /* static texts */
    struct interp__kept out[2];
    struct interp__spill spill[2];                 /* fd -1: none */
    struct interp__part *parts;
    uint32_t nparts, nbundles;
    uint8_t has_value;                             /* bundle 0 is the value */
    struct interp__buf dropped;                    /* JSON members of dropped parts per bundle, NUL between */
    char *error_json, *error_type, *error_message, *error_traceback;   /* error_json: the guest's object, re-made; NULL when none */
    size_t type_len, message_len, traceback_len;
    char *hint, *build_output;                     /* build_output: what a one-shot's compiler said; NULL: no build */
    size_t hint_len, build_len;
    const char *step;                              /* static: "compile", "run" or "" */
    uint64_t wall_ns, cpu_ns, memory_peak;
    uint32_t oom_kills, limits_hit;
    struct interp__late *late;
    uint32_t nlate;
    uint64_t late_dropped;
    char *session, *language, *kernel, *redactions, *denied;   /* redactions, denied: JSON object; NULL: none */
    struct interp__changes *changes;               /* NULL: not asked for */
    uint64_t number;
    atomic_uintptr_t json;                         /* built at first use */
    size_t json_len;
};
interp_result *interp__result_new(const struct interp__mem *m);
interp_status interp__spill_check(struct interp_session *s, interp_error **err); /* whether files can be made in spill_dir */
void interp__spill_json(struct interp__buf *b, const struct interp__spill *d, uint64_t total);  /* result_spill.c */
void interp__result_build_json(const interp_result *r, struct interp__buf *out);
void interp__result_brief_json(struct interp__buf *out, const interp_result *r);   /* members, no braces: what it came to, without what the code put out */
void interp__result_limits_json(struct interp__buf *out, uint32_t bits);
void interp__parts_shorten(interp_result *r, size_t cap);                       /* each part to cap bytes; what can't be shortened goes to dropped */
const char *interp__outcome_name(int32_t outcome);
const char *interp__state_name(int32_t state);
const char *interp__signal_name(int32_t sig);

/* kframes.c: what a kernel says on its control channel, put together under bounds */
enum { INTERP__BUILD_MAX = 256 << 10 };             /* of what a compiler said its driver gives the start */
struct interp__kframes {
    const struct interp__mem *mem;
    struct interp__buf frame;                      /* header, json, bin of the frame under way */
    uint64_t total;                                /* bytes of parts kept */
    uint8_t final, word, build;                    /* build: status of frame b */
    uint8_t oneshot;                               /* takes frame b */
    interp_result *result;                         /* gets value, displays, error, exit_code, build_output */
    struct interp__buf code;                       /* cached code (frame c) */
};
void interp__kframes_init(struct interp__kframes *k, const struct interp__mem *m, interp_result *r);
int  interp__kframes_feed(struct interp__kframes *k, const void *p, size_t n);  /* 0, -1: broken */
void interp__kframes_free(struct interp__kframes *k);

/* ---------------------------------------------------------------- call, event */
struct interp_event {
    struct interp_event *next;
    int32_t type, stream;
    uint64_t reply_id;                             /* of what waits for an answer; 0: nothing */
    uint64_t exec, offset, seq, missing;           /* missing: length of a gap */
    uint16_t channel;                              /* gets credit back when pulled; 0: none */
    char session[2 * WIRE_ID + 1];                 /* of a notice */
    uint32_t credit;                               /* bytes of the guest's that it stands for: redaction changes their number */
    size_t len;
    char data[];                                   /* NUL behind */
};
/* Output of one stream that waits to be read by offset (hold_output). */
struct interp__hold {
    struct interp__buf data;
    uint64_t base;                                 /* offset of its first byte */
    uint32_t raw;                                  /* bytes of the guest's whose credit it holds back */
    uint8_t unread;                                /* there is more than the reader has seen to the end, or was told of */
};
struct interp_call {
    interp_ctx *ctx;
    struct interp_session *session;
    struct interp_call *next;                      /* session's list */
    struct interp_call *ready_next;
    void *userdata;
    int32_t kind;
    uint32_t refs;                                 /* the handle, the session's list */
    uint8_t done, finished, abandoned, in_ready, said_done;
    uint8_t waited, asleep, rung;                  /* threaded: a thread waits for it; that one sleeps; it has been woken, and may not have noticed yet */
    int bell;                                      /* wakes it where several threads wait in one session; -1: none, the context's wake-up does */
    atomic_int freed;                              /* by a thread that found another one inside the session: that one drops it */
    interp_error *error;
    interp_result *result;
    interp_cancel *cancel;
    uint32_t cancel_seen;
    size_t late_bytes;                             /* what late output in its events costs: no credit bounds it, so this does */
    uint64_t deadline;                             /* of a restart */
    uint64_t spared;                               /* its deadline was not looked at in time, or the agent is at work on it: it holds until then */
    struct interp_event *events, **events_end, *current;
    uint64_t last_seq;
    struct interp__hold hold[2];
    uint8_t holding;                               /* hold_output, until the reader lets go */
    uint8_t read_by_offset;                        /* somebody asks for output while it runs: what redaction holds back is not for the end only */
    struct interp__exec *exec;
    struct interp__kernel *kernel;                 /* restart */
    struct interp__file *file;                     /* while the sandbox works on it */
    struct interp__buf json;                       /* what a call on files brought */
    struct interp_event done_event;                /* last: it has no data */
};
struct interp_call *interp__call_new(struct interp_session *s, int32_t kind, interp_cancel *cancel);
interp_status interp__call_enter(struct interp_call *c, struct interp_session **s, interp_error **err);   /* takes its session's turn while it has one (*s), else the call is only memory */
void interp__call_done(struct interp_call *c, interp_error *e);                /* takes e */
void interp__call_event(struct interp_call *c, struct interp_event *e);        /* takes e */
void interp__call_unref(struct interp_call *c);
void interp__call_forked(struct interp_call *c);                                /* in a child: before it is freed */
void interp__call_drop(struct interp_session *s, struct interp_call *c);       /* the handle is gone: abandons what is unfinished */
void interp__call_news(struct interp_call *c);                                  /* a LOOP context names it; whoever waits for it wakes */
void interp__call_ring(struct interp_call *c);                                  /* wakes the thread that sleeps for it */
void interp__call_unthrottle(struct interp_call *c);                            /* gives the credit of all unpulled events back */
/* What an event costs: an agent may send output byte by byte. */
static inline size_t interp__event_cost(size_t n)
{
    return n + sizeof(struct interp_event);
}
struct interp_event *interp__event_new(struct interp_session *s, int32_t type, const void *p, size_t n);

/* ---------------------------------------------------------------- session */
struct interp__kernel {
    struct interp__kernel *next;
    const struct interp__language *language;
    char *name;
    char tag[2 * WIRE_ID + 1];                     /* of its build directory; empty unless it is a one-shot */
    uint16_t id, channel;                          /* channel: KERNEL_START's */
    enum { INTERP__KERNEL_DEAD, INTERP__KERNEL_STARTING, INTERP__KERNEL_ALIVE } state;
    uint8_t want_cache, sent_cached, stopping, had_exec;
    uint8_t doomed;                                /* to be forgotten once its tree is gone */
    uint8_t hidden;                                /* the library's own: no name that a request could have */
    uint64_t env_version;                          /* of the session's environment that it has */
    char *version, *path;                          /* as its driver says (redacted), and where the agent found it; NULL until it is ready */
    struct wire_identity cached_id;                /* of what sent_cached gave */
    const uint8_t *blob;
    size_t blob_len, blob_sent;
    uint8_t *blob_owned;
    uint32_t blob_credit, rx_left;
    struct interp__kframes frames;
    uint8_t ready_status;                          /* of the last KERNEL_READY that was not OK */
    int32_t ready_exit, ready_signal;
    char *ready_text;
    struct interp__exec *current, *queued;
};
#define INTERP__INPUT_QUEUE (256u << 10)           /* of an interactive exec: twice what the agent takes ahead */
enum { INTERP__IDLE_SOFT, INTERP__IDLE_HARD, INTERP__IDLE_NONE };
struct interp__exec {
    struct interp_call *call;
    struct interp__kernel *kernel;
    uint64_t env_version;                          /* of the session's environment that it brings its kernel */
    uint8_t own;                                   /* the library's: no number, no late output, no result for the host */
    uint8_t id[WIRE_ID];
    uint64_t cpu, idle_output, heard;              /* heard: when it began to run, or last gave output or was given room for it */
    uint64_t number, started, deadline, timeout, compile, grace;   /* deadline: the host's own, for when the agent does not answer */
    uint16_t base;
    uint32_t token;
    struct interp__buf code, input, env;           /* code: what goes on the base channel */
    struct interp__buf who;                        /* members of its audit records */
    struct interp__buf asked;                      /* the code that the host is asked about */
    uint8_t screening;                             /* it waits for the host's answer: in its kernel's queue, no clock runs but this one */
    uint64_t reply_id, screen_deadline;
    size_t code_sent, input_sent;
    uint8_t has_input, input_ended;
    uint8_t interactive, input_closed, want_room;  /* interactive: input is a queue that the host fills until input_closed; want_room: it waits for WRITABLE */
    uint8_t pty;                                   /* at a terminal, of this size */
    uint16_t rows, columns;
    uint8_t changes, looked, diffed, exited, overlapped;   /* changes.c: asked for; looked before; exited: only the look after it is missing; others were at work */
    struct interp__look *look;
    uint32_t attaching;                            /* files that are still being put: it is sent after them */
    uint8_t streaming, sent, cancelled, timed_out;
    uint8_t broken;                                /* its kernel said what can't be taken: it is being stopped */
    uint8_t ending;                                /* past its deadline, or cancelled: a consumer that does not pull holds nothing up any more */
    size_t queued;                                 /* what output in events costs, counted once ending */
    uint64_t dropped[2];                           /* not told since the last event of that stream: the next one is a gap */
    uint32_t tx_credit[2], rx_left[3], rx_owed[3]; /* base, base+1, base+2 */
    uint64_t offset[2];
    struct interp__redactor *redact[2];            /* made with the first output */
    struct interp__clean *clean[2];                /* with clean_terminal: after it, and a second one after that */
    struct interp__redactor *again[2];
    uint64_t held_since[2];                        /* when the last output came, some of which is held */
    uint8_t idle[2];                               /* INTERP__IDLE_SOFT, _HARD: what comes next; _NONE: nothing is held */
    struct interp__redact_counts counts;
    struct interp__stream out[2];
    struct interp__spill spill[2];
    struct interp__kframes frames;
    interp_result *result;
};
struct interp__tree;
struct interp__file {                              /* work on files: it outlives its call until the sandbox has answered */
    struct interp__file *next;
    struct interp_call *call;                      /* NULL: nobody waits for it */
    struct interp__exec *exec;                     /* that runs when it is there */
    uint8_t op, flags, sent, input_closed, input_ended, want_room, cancelled, unqueued;   /* unqueued: the host writes when it can be sent */
    uint16_t channel;
    uint32_t mode, tx_credit, rx_left, rx_owed;
    uint64_t limit, size, taken, offset, began, heard;   /* size: announced by a put; taken of its bytes so far; began: sent; heard: of it, or of the host, last */
    size_t path_len, other_len;
    char *path, *other;
    size_t input_at;                               /* of input: sent so far */
    struct interp__buf input, reply;
    struct interp__tree *tree;                     /* tree.h; NULL unless it is a pack or unpack */
};
struct interp_session {
    interp_ctx *ctx;
    struct interp__mem mem;
    struct interp_session *next;
    struct interp__turn turn;                      /* threaded: whoever works in it; nobody sleeps with it but a close */
    struct interp_call *sleeper;                   /* whose thread sleeps in the poll set, until... */
    uint64_t until;
    uint8_t shared;                                /* another thread came meanwhile: waiting calls get bells */
    atomic_int status, shut, closed;               /* closed: the sandbox is verified gone */
    atomic_int marked;                             /* another thread found this one inside and left it work: seen to on leaving */
    atomic_uint refs;                              /* handle */
    struct interp_link *link;
    struct interp__config_values v;
    struct interp__env env;
    struct interp__host_files files;
    struct interp__env labels;
    struct interp__policy *policy;
    struct interp__audit *audit;                   /* the context's, when there was one at the open */
    uint8_t audit_opened, audit_closed;
    struct interp__oneshot *oneshots;              /* the config's languages */
    char id[2 * WIRE_ID + 1];
    uint8_t id_bytes[WIRE_ID];
    struct wire_peer peer;
    struct interp__buf in, out;
    size_t out_at;                                 /* of out: written so far */
    const uint8_t *lent;                           /* bytes of a caller's that stand behind out: the end of a frame, while that call lasts */
    size_t nlent;
    uint64_t open_deadline, last_frame, life_end;
    uint8_t hello_sent, welcomed, in_drive;
    uint8_t outlived;                              /* its lifetime was over: what ran has timed out */
    uint8_t unseen;                                /* no session of the host's: it carries a gc or probe call, and goes with it */
    uint8_t over;                                  /* nobody has its handle any more: only references keep it */
    struct wire_welcome welcome;
    struct interp_call *calls;
    uint8_t baseline;                              /* the sandbox remembers what the workspace looks like: 1 all of it, 2 not all */
    struct interp__file *transfers;                /* in the order in which they were asked for */
    struct interp__kernel *kernels;
    uint16_t next_channel;
    uint64_t execs, seq, execs_sent;
    struct interp__late *late;                     /* held for the next result */
    uint32_t nlate;
    size_t late_bytes;
    uint64_t late_dropped;
    struct interp__past { uint8_t id[WIRE_ID]; uint64_t number, offset[2]; struct interp__redactor *redact[2]; } past[256];   /* execs that ended, for late output */
    uint32_t npast;
    uint32_t late_owed;
    struct interp__redact_set *secrets;            /* over the context's; has a lock of its own */
    struct interp__redactor *redact;               /* for values, displays and errors, each a stream of its own */
    struct interp__buf redacted;                   /* what one of them gave last */
    struct interp__redact_counts late_counts;      /* for the next result */
    struct interp__buf info, kernels_json;
    struct interp__probe *probe;
    struct interp__buf env_names;                  /* set or unset since it was opened, NUL between */
    uint64_t env_version;
    void *userdata;
    interp_error *gone;                            /* why, for what comes later */
};

/* session.c */
int  interp__session_take(struct interp_session *s, int wait);                 /* its turn, or the loop's guard: 0, or -1. wait: until other threads have let go of it */
void interp__session_leave(struct interp_session *s);                          /* lets go of it; does what was marked meanwhile; a sleeper who must do something earlier hears of it. An unneeded one ends with it */
int  interp__session_unneeded(const struct interp_session *s);                 /* whoever has its turn ends it */
void interp__session_end(struct interp_session *s, int inside);                /* the end of its handle, never waits; inside: gives its turn back, too. What has not ended of its sandbox is the reaper's */
void interp__session_forked(struct interp_session *s);                         /* the same in a child: frees memory and nothing else */
void interp__session_mark(struct interp_session *s);                           /* work for drive: does it, or leaves it to the thread that is inside */
struct interp_session *interp__session_unclosed(interp_ctx *x);                 /* one whose sandbox has not ended, with a reference */
struct interp_session *interp__session_unshut(interp_ctx *x);                   /* a session not shut down yet, with a reference; NULL: none left */
void interp__session_unref(struct interp_session *s);
void interp__session_gone(struct interp_session *s, interp_error *why);        /* takes why; ends all calls */
void interp__session_drop_call(struct interp_session *s, struct interp_call *c);
void interp__session_info(struct interp_session *s);
interp_status interp__session_enter(struct interp_session *s, interp_error **err);
interp_status interp__session_usable(struct interp_session *s, interp_error **err);
interp_status interp__loop_refuse(interp_ctx *x, interp_error **err);          /* of a blocking form in a LOOP context */
interp_status interp__call_complete(struct interp_call *c, interp_result **out, uint64_t *progress, interp_error **err);   /* waits, finishes, frees */
void interp__session_outlived(struct interp_session *s);                       /* session_lifetime_ms is over */
/* drive.c: one bounded round of work for a session, never blocks */
void interp__session_drive(struct interp_session *s, uint64_t now);
uint64_t interp__session_due(const struct interp_session *s);
void interp__session_flush(struct interp_session *s);
void interp__session_at_work(struct interp_session *s);                         /* the agent says so: a killed tree takes its time */
/* peer.c: frames out and in */
void interp__peer_hello(struct interp_session *s);
void interp__peer_frame(struct interp_session *s, uint8_t type, uint8_t flags, uint16_t channel, const void *p, size_t n);
void interp__peer_credit(struct interp_session *s, uint16_t channel, uint32_t bytes);
void interp__peer_signal(struct interp_session *s, const struct interp__exec *e, uint8_t sig);
void interp__peer_resize(struct interp_session *s, const struct interp__exec *e);
void interp__peer_interrupt(struct interp_session *s, struct interp__exec *e, int hard);
void interp__peer_pump(struct interp_session *s);                              /* code, stdin, blobs, as credit allows */
size_t interp__peer_lend(struct interp_session *s, uint16_t channel, const uint8_t *p, size_t len, size_t at, uint32_t *credit);   /* one frame, not copied, behind an empty out; settled before p goes */
void interp__peer_settle(struct interp_session *s);                              /* what is still lent is copied */
size_t interp__peer_send(struct interp_session *s, uint16_t channel, const uint8_t *p, size_t len, size_t at, uint32_t *credit, int more);   /* what credit and the buffer allow; returns the new at */
void interp__peer_rest(struct interp_session *s);                              /* after a call's end */
int  interp__peer_read(struct interp_session *s);                              /* 0, 1: more may be there, -1: the session is gone */
/* kernel.c */
enum { INTERP__KERNELS_MAX = 16 };               /* as many as the agent has room for */
struct interp__kernel *interp__kernel_find(struct interp_session *s, const struct interp__language *l, const char *name);
struct interp__kernel *interp__kernel_add(struct interp_session *s, const struct interp__language *l, const char *name);
void interp__kernel_start(struct interp_session *s, struct interp__kernel *k, uint64_t timeout_ns);
void interp__kernel_stop(struct interp_session *s, struct interp__kernel *k);
void interp__kernel_ready(struct interp_session *s, const struct wire_ready_msg *m);
void interp__kernel_gone(struct interp_session *s, uint16_t id, int proven);
void interp__kernel_forget(struct interp_session *s, struct interp__kernel *k);  /* frees it when nothing is left to do for one that was deleted */
void interp__kernel_free(struct interp_session *s, struct interp__kernel *k);
uint16_t interp__channels(struct interp_session *s);                           /* a free base channel, 4 apart */
/* exec.c */
#define INTERP__SLACK_NS UINT64_C(1000000000)    /* how long after the agent's own bound the host still waits for its word before it kills the sandbox, for a busy machine may not run an agent for half of that */
uint64_t interp__kill_ns(const struct interp_session *s);                       /* what the end of a tree may take while nothing is wrong */
uint64_t interp__killed_by(const struct interp_session *s, uint64_t order);     /* when the host has heard of a kill that the agent begins then */
struct interp__exec *interp__exec_new(struct interp_session *s, const interp_request *r, struct interp__kernel *k, struct interp_call *c, interp_error **err);
uint64_t interp__exec_silent_due(const struct interp__exec *e);                 /* when the agent should have ended it for giving no output */
void interp__exec_room(struct interp_session *s, struct interp__exec *e);       /* tells of room in an interactive exec's input */
void interp__exec_send(struct interp_session *s, struct interp__exec *e);
void interp__exec_output(struct interp_session *s, struct interp__exec *e, int stream, const uint8_t *p, size_t n);
void interp__exec_exit(struct interp_session *s, struct interp__exec *e, const struct wire_exit *m);
void interp__exec_end(struct interp_session *s, struct interp__exec *e, int32_t outcome, const char *cause, int32_t state, int32_t ran);   /* the host's own word */
/* The host's word that it may not run; rule is static. what (may be NULL): the name that the rule has met, at line (0: none). */
void interp__exec_deny(struct interp_session *s, struct interp__exec *e, const char *rule, const char *reason, const char *what, uint32_t line);
void interp__exec_cancel(struct interp_session *s, struct interp__exec *e, int hard);
void interp__exec_idle(struct interp_session *s, struct interp__exec *e, uint64_t now);   /* held output that nothing follows */
uint64_t interp__exec_idle_due(const struct interp__exec *e);
void interp__exec_free(struct interp_session *s, struct interp__exec *e);
struct interp__exec *interp__exec_by_id(struct interp_session *s, const uint8_t id[WIRE_ID]);
struct interp__exec *interp__exec_by_channel(struct interp_session *s, uint16_t channel);
/* env.c */
int  interp__env_was_changed(const struct interp_session *s, const char *item);   /* by name; item may be NAME=value */
void interp__env_changes_json(const struct interp_session *s, struct interp__buf *b);
void interp__env_changes_shell(const struct interp_session *s, struct interp__buf *b);
void interp__shell_quote(struct interp__buf *b, const char *text);
void interp__json_bytes(struct interp__buf *b, const char *p, size_t n);         /* exec.c: of no UTF-8, too */
/* probe.c */
struct interp__facts;
struct interp__probe {
    struct interp__facts *facts;
    struct interp__buf json, text;
    uint32_t sent;                                 /* the peer's count of frames when it ended: a greater one says that something may have changed */
    uint8_t full, shell;                           /* of the exec under way: all is looked at; by sh, not by Python alone */
};
void interp__probe_ended(struct interp_session *s, struct interp_call *c, struct interp__kernel *k);   /* its exec has: takes the result */
void interp__probe_free(struct interp_session *s);
/* probe_facts.c: what the probe's programs print, read under bounds, and told */
struct interp__facts *interp__facts_new(const struct interp__mem *m);
void interp__facts_free(struct interp__facts *f);
void interp__facts_read(struct interp__facts *f, const char *p, size_t n, int full);   /* full: takes the place of all; else only what changes of itself */
int  interp__facts_same(const struct interp__facts *f, const char *p, size_t n);       /* the directories are as they were */
void interp__facts_dirs(const struct interp__facts *f, struct interp__buf *out);       /* as a shell function interp_dirs */
void interp__facts_json(const struct interp__facts *f, const struct interp_session *s, int complete, struct interp__buf *out);
void interp__facts_text(const struct interp__facts *f, const struct interp_session *s, struct interp__buf *out);
/* live.c */
int  interp__hold_put(struct interp_call *c, int stream, uint64_t offset, const uint8_t *p, size_t n, size_t raw);   /* 1: it keeps the credit of raw */
void interp__hold_release(struct interp_call *c);                               /* gives its credit back: nothing is stalled any more */
void interp__host_error(interp_result *r, const char *type, const char *message, const char *traceback);
const char *interp__session_path(const struct interp_session *s);              /* PATH of its kernels */
/* hints.c */
void interp__hint(struct interp_session *s, const struct interp__exec *e, interp_result *r);
/* build.c: execs of one-shot languages */
void interp__build_exit(struct interp_session *s, struct interp__exec *e, const struct wire_exit *m);   /* outcome and cause of one whose process has ended */
void interp__build_finish(struct interp_session *s, struct interp__exec *e, interp_result *r);   /* its structured error, once its output is complete */
/* attach.c: files of a request */
interp_status interp__attached_add(struct interp__attached **list, const struct interp__mem *m, const void *path, size_t len, const void *p, size_t n, interp_error **err);
interp_status interp__attached_json(struct interp__attached **list, const struct interp__mem *m, const struct interp__json *j, uint32_t node, interp_error **err);
void interp__attached_free(struct interp__attached **list, const struct interp__mem *m);
interp_status interp__exec_attach(struct interp_session *s, struct interp__exec *e, const struct interp__attached *list, interp_error **err);
void interp__exec_detach(struct interp_session *s, struct interp__exec *e);     /* it ends: what is still being put is given up */
void interp__exec_attached(struct interp_session *s, struct interp__exec *e, interp_error *why);   /* one is there, or not; takes why */
void interp__exec_not_run(struct interp_session *s, struct interp__exec *e, const char *cause, const char *type, const char *message);   /* ends it as an error before it ran */
void interp__exec_finish(struct interp_session *s, struct interp__exec *e);
/* changes.c, mime.c */
int  interp__changes_before(struct interp_session *s, struct interp__exec *e);  /* 1: it is sent when that is through */
int  interp__changes_after(struct interp_session *s, struct interp__exec *e);   /* 1: it ends when that is through */
void interp__changes_touched(struct interp_session *s);                         /* the host has done something to the files */
int  interp__changes_data(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n);
void interp__changes_answer(struct interp_session *s, struct interp__exec *e, uint8_t op, const struct wire_file_done *m);
void interp__changes_drop(struct interp_session *s, struct interp__exec *e);
void interp__changes_end(struct interp__exec *e, int complete);
void interp__changes_doubt(const struct interp__file *f);                       /* a file of the host's is on its way meanwhile */
uint64_t interp__changes_deadline(const struct interp__file *f);
void interp__changes_json(const struct interp__changes *l, struct interp__buf *b);
void interp__changes_free(struct interp__changes *l, const struct interp__mem *m);
const char *interp__mime_guess(const char *name, const uint8_t *head, size_t n, uint64_t size);   /* static */
int interp__mime_is(const char *mime, const char *want);
int interp__mime_is_json(const char *mime);
int interp__mime_is_text(const char *mime);
int interp__mime_is_opaque(const char *mime);
/* files.c, fileapi.c, treeapi.c, listing.c */
struct interp__order { int32_t kind; uint8_t op; uint32_t flags, may, mode; uint64_t limit, size; const void *path, *other; size_t len, other_len; struct interp__tree *tree; };
struct interp__flow { const uint8_t *p; size_t n; int32_t fd; };               /* what a blocking form brings: bytes, or a descriptor that they come from or go to (-1: none) */
interp_status interp__file_start(struct interp_session *s, const struct interp__order *o, interp_call **call, interp_error **err);   /* takes its tree when it succeeds */
interp_status interp__file_blocking(struct interp_session *s, interp_error **err);
interp_status interp__file_complete(struct interp_session *s, interp_call *c, const struct interp__flow *w, int json, interp_content **out, interp_error **err);
interp_status interp__path_take(const struct interp__mem *m, const void *given, size_t n, int file, char **out, size_t *out_len, interp_error **err);   /* checked, and below /workspace relative */
void interp__file_free(struct interp_session *s, struct interp__file *f);
struct interp__file *interp__file_by_channel(struct interp_session *s, uint16_t channel);
interp_status interp__file_write(struct interp_call *c, const void *p, size_t n, int queue, size_t *taken, interp_error **err);   /* queue: what can't be sent now is kept, to a bound */
interp_status interp__file_write_end(struct interp_call *c, interp_error **err);
int  interp__file_data(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n);   /* -1: it has no business to send any */
int  interp__file_done(struct interp_session *s, const struct wire_file_done *m);                       /* -1: nobody asked */
void interp__files_send(struct interp_session *s);                              /* as many as the sandbox takes at a time */
void interp__file_pump(struct interp_session *s, struct interp__file *f);
void interp__file_cancel(struct interp_session *s, struct interp__file *f);
void interp__file_leave(struct interp_call *c);                                 /* the call goes, the work may have to go on */
void interp__files_deadline(struct interp_session *s, uint64_t now);
uint64_t interp__files_due(const struct interp_session *s);
void interp__files_free(struct interp_session *s);
interp_status interp__listing(struct interp_session *s, const struct wire_file_done *m, const struct interp__buf *records, struct interp__buf *json);
const char *interp__file_type(uint8_t type);
int64_t interp__file_mtime(uint64_t ns);                                        /* in milliseconds */
void interp__file_name(struct interp_session *s, struct interp__buf *j, const void *p, size_t n, const char *base64);   /* redacted; base64: member for one that is not UTF-8 */
/* redact.c: what comes from a sandbox passes here before anybody sees it */
/* Redacts into s->redacted; *r is made at first use. Without memory a label stands for the bytes. */
void interp__redact_out(struct interp_session *s, struct interp__redactor **r, const void *p, size_t n);
void interp__redact_idle(struct interp_session *s, struct interp__redactor *r, int hard);
void interp__redact_end(struct interp_session *s, struct interp__redactor *r);
void interp__redact_pause(struct interp_session *s, struct interp__redactor *r);   /* the end for now: more may come late */
int  interp__redact_cut(struct interp_session *s, struct interp__redactor **r);    /* bytes are missing here; -1: no memory, what comes must not be shown */
void interp__redact_text(struct interp_session *s, const void *p, size_t n);       /* a stream of its own */
void interp__redact_text_cut(struct interp_session *s, const void *p, size_t n);   /* the same of a text whose end was cut off */
void interp__redact_forget(struct interp_session *s);                           /* what those texts had in them is in no result's counts */
/* Words that may quote a secret, for logs, errors and the audit trail: of the context, or the session (not NULL). Gives p itself when that is empty; else out holds what it gives, NUL
   behind. */
const char *interp__redact_words(interp_ctx *x, const struct interp_session *s, const char *p, size_t n, struct interp__buf *out);
void interp__redact_result(struct interp_session *s, interp_result *r, struct interp__redact_counts *counts);   /* value, displays, error; then the counts */
/* screen.c: what may run. Starts the exec, asks the host about it, or ends it as denied. */
void interp__screen(struct interp_session *s, struct interp__exec *e, const interp_request *r);
void interp__screen_expired(struct interp_session *s, struct interp__exec *e);
/* audit.c: records of a session; nothing without a trail. A status is for those who refuse to go on unrecorded. */
interp_status interp__audit_of_config(interp_ctx *x, const interp_config *c, interp_error **err);   /* the config's `audit` starts the context's trail */
void interp__audit_who(struct interp_session *s, struct interp__exec *e, const interp_request *r);
interp_status interp__audit_opened(struct interp_session *s, const interp_error *why, interp_error **err);   /* why NULL: it is open */
interp_status interp__audit_exec_start(struct interp_session *s, struct interp__exec *e, const void *code, size_t n, interp_error **err);
void interp__audit_exec_end(struct interp_session *s, const struct interp__exec *e, const interp_result *r);
interp_status interp__audit_policy(struct interp_session *s, const struct interp__exec *e, const char *by, const char *decision, const char *rule, const char *reason, const void *code, size_t n, interp_error **err);
/* A file that went in or out: what is "put", "get", "remove" and so on; bytes may be INTERP_UNKNOWN, sha256 and why NULL. */
interp_status interp__audit_transfer(struct interp_session *s, const char *what, const void *path, size_t npath, uint64_t bytes, const char *sha256, const interp_error *why, interp_error **err);
void interp__audit_kill(struct interp_session *s, const struct interp__exec *e, const char *what, const char *why);
void interp__audit_error(struct interp_session *s, const interp_error *why);
void interp__audit_closed(struct interp_session *s, int verified);
void interp__notice(interp_ctx *x, struct interp_event *e);                    /* an event of the context's own, from x->mem; takes e. Any thread */
int  interp__notice_late(const struct interp_session *s, uint64_t number, int stream, uint64_t offset, const uint8_t *p, size_t n);   /* 1: it has been told */
void interp__notice_gone(const struct interp_session *s);
void interp__notices_free(interp_ctx *x);
/* late.c */
void interp__late_end(struct interp_session *s);
void interp__late_take(struct interp_session *s, const uint8_t id[WIRE_ID], int stream, uint32_t dropped, const uint8_t *p, size_t n);
void interp__late_events(struct interp_session *s, struct interp_call *c);
void interp__late_give(struct interp_session *s, interp_result *r);
void interp__late_free(struct interp_session *s);
void interp__late_remember(struct interp_session *s, struct interp__exec *e);   /* so that late frames find their exec's number, and what its streams ended in */
#endif
