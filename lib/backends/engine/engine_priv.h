/* engine_priv.h - one sandbox in a container engine. Data flows: endpoint -> rest -> open (image, volume, container, attach) -> stream -> close. */
#ifndef INTERP_LIB_ENGINE_PRIV_H
#define INTERP_LIB_ENGINE_PRIV_H
#include "engine.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/curl.h"
#include "base/json.h"
#include "base/sha256.h"
#include <pthread.h>

#define ENGINE_API_MIN 41u             /* 1.41: Docker 20.10, Podman 4.3 */
#define ENGINE_API_MAX 44u             /* 1.44: the newest that we were written for, the oldest that Docker 29 takes */
#define ENGINE_CALL_MS 30000u          /* an ordinary call */
#define ENGINE_REMOVE_MS 10000u        /* gc's removal of one container, beside which others wait */
#define ENGINE_END_MS 120000u          /* a removal at the end of a sandbox, which the core bounds by itself: one that is cut may leave half a container in Podman */
#define ENGINE_CONNECT_MS 5000u
#define ENGINE_ANSWER_MAX (4u << 20)   /* bytes of one answer; `info` of a busy Podman has 20 KB */
#define ENGINE_LIST_MAX (16u << 20)    /* bytes of a list of containers: some 12,000 */
#define ENGINE_LABEL "io.libinterp."
#define ENGINE_LIBPOD "/v4.0.0/libpod"   /* Podman's own API, beside the one that it shares with Docker */

/* ---- endpoint.c: where an engine listens */
struct interp__endpoint {
    int tcp, tls;
    char path[108];                    /* of the socket: as long as sockaddr_un has room */
    char host[256], port[8];           /* TCP */
    char resolve[900];                 /* "host:port:address,address" when host is a name: curl never resolves, it would start a thread */
    char certs[512];                   /* directory of ca.pem, cert.pem, key.pem */
    char text[400];                    /* for people: "unix:///var/run/docker.sock (DOCKER_HOST)" */
};
struct interp__engine_failure { interp_status code; const char *reason, *remedy; int err; char message[768]; };
int interp__engine_fail(struct interp__engine_failure *f, interp_status code, const char *reason, int err, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));                                             /* -1 */
int interp__endpoint_find(struct interp__endpoint *e, const struct interp__mem *m, enum interp__engine_kind kind, const char *asked, const char *certs, struct interp__engine_failure *f);
/* Reads a file of at most 1 MiB as JSON. 0, 1: not there, -1: failed with f (which may be NULL). */
int interp__engine_json_file(struct interp__json *j, const struct interp__mem *m, const char *path, struct interp__engine_failure *f);
const char *interp__engine_home(void);                                                 /* "" when there is none */

struct interp__engine;
/* ---- names.c */
void interp__name_prepare(struct interp__engine *s, const struct interp__endpoint *e);   /* may block on the name service when the name is new or in doubt */
int  interp__name_use(struct interp__engine *s, struct interp__endpoint *e, struct interp__engine_failure *f);   /* sets resolve, never blocks; -1: nothing is known */
void interp__name_doubt(struct interp__engine *s, const struct interp__endpoint *e);     /* no connection came about there */

/* ---- answers.c: reading engine JSON; absent or of another type is "" or 0 */
uint32_t interp__answer_at(const struct interp__json *j, uint32_t object, const char *path);          /* members by name, '/' between; 0: absent */
const char *interp__answer_text(const struct interp__json *j, uint32_t object, const char *path);
int64_t interp__answer_number(const struct interp__json *j, uint32_t object, const char *path);
int interp__answer_true(const struct interp__json *j, uint32_t object, const char *path);
int interp__answer_has(const struct interp__json *j, uint32_t array, const char *value);              /* a text among an array's */
/* What an engine says is wrong: `message` or `cause` of a JSON body, else its first line. Printable, at most n - 1 bytes. */
void interp__answer_error(const struct interp__mem *m, const struct interp__buf *body, char *out, size_t n);

/* ---- rest.c: one call at a time over libcurl, without blocking */
struct interp__rest {
    const struct interp__curl *curl;
    const interp_host_ops *h;
    interp_link *l;
    const struct interp__endpoint *where;
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers, *addresses;   /* both must outlive the call */
    struct interp__buf body;           /* the answer's */
    struct interp__buf sent;           /* the request's */
    void (*on_line)(void *arg, const char *line, size_t n);   /* when set, the answer is lines, and each is handed over as it comes */
    void *on_line_arg;
    char error[CURL_ERROR_SIZE];
    size_t most;                       /* bytes of an answer that are taken */
    size_t head;                       /* bytes of the answer's head so far */
    char api[16], libpod[16];          /* its headers of what the engine speaks; libpod: only Podman has it */
    int fds[6];
    unsigned nfds;
    uint64_t timer;                    /* libcurl's next time-out, INTERP__NEVER: none */
    uint64_t connect_at;               /* another attempt at a busy socket; INTERP__NEVER: none waits */
    unsigned attempts;
    int status, code, os_error;        /* of the call that is done: HTTP status (0: none), CURLcode, errno */
    uint8_t busy, done, too_long;
};
int  interp__rest_init(struct interp__rest *r, const interp_host_ops *h, interp_link *l, const struct interp__mem *m, const char **why);   /* -1: no libcurl */
void interp__rest_rest(struct interp__rest *r);                                        /* gives back all that it holds; the next call takes it again */
/* Starts a call; body is copied; type NULL: none. -1: out of memory. */
int  interp__rest_call(struct interp__rest *r, const char *method, const char *path, const void *body, size_t n, const char *type, uint64_t timeout_ms);
int  interp__rest_header(struct interp__rest *r, const char *line);                    /* of the next call */
void interp__rest_step(struct interp__rest *r);                                        /* tries everything */
void interp__rest_cancel(struct interp__rest *r);
int  interp__rest_url(const struct interp__endpoint *e, const char *path, char *out, size_t n);   /* -1: too long */
void interp__rest_common(const struct interp__curl *c, CURL *easy, const struct interp__endpoint *e);   /* how to reach an endpoint */

/* ---- stream.c: the attached stream */
struct interp__attach {
    const struct interp__curl *curl;
    CURLM *multi;
    CURL *easy;
    int fd;
    uint32_t mask;                     /* watched for */
    uint8_t connecting, connected, answered, eof, unread, heard;   /* heard: a byte of the agent's has come */
    struct interp__buf head, out;      /* HTTP answer; what of our request is not sent yet */
    uint8_t *in;                       /* bytes not yet handed on, frames of the engine among them */
    size_t in_at, in_len;
    uint8_t frame[8];
    unsigned frame_len;
    uint32_t frame_left;
    char noise[400];                   /* the last of what came on the container's standard error */
    size_t noise_len;
};

/* ---- box: one sandbox */
enum interp__engine_stage {
    ENGINE_IDLE, ENGINE_FACTS_WAIT, ENGINE_PING, ENGINE_VERSION, ENGINE_INFO, ENGINE_IMAGE, ENGINE_PULL, ENGINE_VOLUME_WAIT, ENGINE_VOLUME, ENGINE_HELPER, ENGINE_HELPER_LOOK, ENGINE_HELPER_PUT, ENGINE_HELPER_DROP,
    ENGINE_CREATE, ENGINE_READ_BACK, ENGINE_CONNECT, ENGINE_START, ENGINE_UNDO,
    ENGINE_GC_LIST, ENGINE_GC_REMOVE, ENGINE_GC_VOLUMES, ENGINE_GC_VOLUME, ENGINE_OPEN, ENGINE_FAILED
};
enum { ENGINE_FILL_UNKNOWN, ENGINE_FILL_BUSY, ENGINE_FILL_DONE };
struct interp__engine_facts {
    unsigned api, cpus;                /* api: minor version that we speak; cpus 0: unknown */
    int podman, rootless, limits, cgroup2;   /* limits: memory, CPU and pids can be limited */
    char version[48], arch[16];
};
struct interp__engine_left {           /* a container whose removal was given up, or which the engine may still make: gc's, though its owner lives */
    struct interp__engine_left *next;
    uint64_t since;
    const void *listed;                /* the gc that has seen it last */
    char name[80];
};
struct interp__engine_known {          /* of one endpoint, kept for the context's life */
    struct interp__engine_known *next;
    char key[900];
    enum { ENGINE_UNASKED, ENGINE_ASKING, ENGINE_ASKED } asked;       /* for the facts: one asks, the others wait */
    struct interp__engine_facts facts;
    int fill[2];                       /* the agent's volume, one per architecture */
    struct interp__engine_left *left;
    struct { char name[256], arch[16], volume[96]; } images[16];       /* looked at before: only the architecture is taken from here, the id is read back */
    unsigned next_image;
};
struct interp__engine_name { struct interp__engine_name *next; int stale, wrong; char host[256], addresses[600]; };   /* stale: to be looked up again; wrong: getaddrinfo's number */
struct interp__engine {
    struct interp__mem mem;
    enum interp__engine_kind kind;
    pthread_mutex_t lock;              /* of all below */
    struct { const void *p; size_t n; char volume[96]; } agents[2];       /* the volume that has an agent is named by its hash, which takes milliseconds */
    struct interp__engine_known *known;
    struct interp__engine_name *names;
};
enum interp__engine_task { ENGINE_SANDBOX, ENGINE_GC, ENGINE_PROBE };
struct interp__box {
    struct interp__engine *s;
    const interp_host_ops *h;
    interp_link *l;
    struct interp__mem mem;
    struct interp__endpoint where;
    struct interp__engine_known *known;
    struct interp__engine_facts facts;
    struct interp__rest rest;
    struct interp__attach attach;
    enum interp__engine_stage stage;
    interp_spec spec;                  /* its texts are below */
    char *image, *pull, *runtime, *user;   /* user NULL: root inside, without privileges, and user code as another id */
    char session[40], name[64], helper[72], volume[96], prefix[16], arch[16];
    unsigned nproc;                    /* RLIMIT_NPROC: counted over all of a user's processes on the host, so no limit of ours; named since a daemon may not raise its own */
    unsigned tries;                    /* of the call in progress */
    uint64_t retry_at, progress_at;    /* retry_at: a call is to be made again then; INTERP__NEVER: none */
    enum interp__engine_task task;
    uint8_t failed, created, helper_made, unsure, said_version, asking, filling, put, recalled, again_once, pulled;
    struct interp__buf dead, later;    /* names to remove, NUL behind each; later: could not be removed, and are tried again */
    struct interp__buf binds;          /* what is shown of the host's files: source, target, "ro" or "rw", NUL behind each */
    struct interp__buf volumes;        /* paths that the image declares as volumes, NUL behind each */
    int64_t pid;                       /* of the process that made it: a forked child may only forget */
    char pull_error[512];              /* an `error` line among a pull's */
    /* unsure: a request that makes a container was sent and not answered, so there may yet come one */
    uint8_t gc_round;
    uint8_t closing, killing, ending, gone;   /* ending: the container's end has been asked for; gone: and is proven */
    unsigned end_tries;
};

/* open.c: the steps up to an open stream */
int  interp__box_start(struct interp__box *b, struct interp__engine_failure *f);
void interp__box_step(struct interp__box *b);                                          /* tries everything; ends in OPEN or in FAILED, and tells */
int  interp__box_fail(struct interp__box *b, const struct interp__engine_failure *f);  /* tells the core; -1 */
/* Makes a call and goes to `stage`, where its answer is dealt with. */
void interp__box_call(struct interp__box *b, enum interp__engine_stage stage, const char *method, const char *prefix, const struct interp__buf *path, const struct interp__buf *body, const char *type);
void interp__box_get(struct interp__box *b, enum interp__engine_stage stage, const char *method, const char *path);
interp_status interp__agent_volume(struct interp__box *b, const char *arch, char *out, size_t n);   /* UNSUPPORTED: no agent for that architecture; NOMEM */
void interp__box_made(struct interp__box *b);
void interp__box_release(struct interp__box *b);                                       /* others may do what we were doing for all */
void interp__image_forget(struct interp__box *b);                                      /* what is remembered of this image may be wrong */
/* list.c: the next element of a JSON array, *at 0 for the first. 1: it is at *from, 0: that was all, -1: this is no array */
int  interp__list_next(const uint8_t *p, size_t n, size_t *at, size_t *from, size_t *len);
/* gc.c: what dead owners left */
void interp__gc_list(struct interp__box *b);
void interp__gc_next(struct interp__box *b);                                           /* what is to be removed now */
void interp__gc_answered(struct interp__box *b, int good);
void interp__gc_leave(struct interp__box *b, const char *name);                        /* a container that could not be removed in time */
/* end.c: kill and close */
void interp__box_end(struct interp__box *b);                                           /* starts the end */
void interp__box_end_step(struct interp__box *b);                                      /* sets gone */
/* fail.c: what an engine's refusal means */
int  interp__call_failed(struct interp__box *b, struct interp__engine_failure *f, const char *what);   /* the call that is done has failed; -1 */
int  interp__start_failed(struct interp__box *b, struct interp__engine_failure *f, int status, const char *said);   /* -1; 1: the agent's volume was empty */
int  interp__stream_ended(struct interp__box *b, struct interp__engine_failure *f);    /* why an attached stream has ended: -1, told; 0: nobody said anything */
/* create.c */
void interp__create_body(struct interp__box *b, struct interp__buf *out);
int  interp__create_check(struct interp__box *b, struct interp__buf *reached, struct interp__engine_failure *f);   /* the read-back; -1: refused */
/* binds.c: directories of the host inside */
int  interp__binds_take(struct interp__box *b, struct interp__engine_failure *f);      /* looks at the spec's; -1: refused */
void interp__binds_body(const struct interp__box *b, struct interp__buf *out);         /* members of Mounts, each after a comma */
int  interp__binds_check(const struct interp__box *b, const struct interp__json *j, uint32_t mounts, struct interp__engine_failure *f);
void interp__binds_reached(const struct interp__box *b, struct interp__buf *reached);
int  interp__binds_has(const struct interp__box *b, const char *target);
/* image.c */
void interp__image_path(struct interp__buf *out, const char *image);                   /* percent-encoded */
void interp__pull_path(struct interp__buf *out, const char *image);
int  interp__image_ok(const char *image);                                              /* looks like a name or an id: nothing in it could change the meaning of a path */
int  interp__pull_auth(struct interp__box *b, struct interp__buf *header);             /* adds credentials for X-Registry-Auth. 1: there are some, 0: none, -1: no memory */
void interp__pull_line(void *box, const char *line, size_t n);
/* tar.c */
void interp__tar_one(struct interp__buf *out, const char *name, const void *p, size_t n);
int  interp__tar_is(const uint8_t *tar, size_t len, const void *p, size_t n);          /* the first file in an archive has exactly this content */
/* owner.c */
struct interp__owner { char machine[INTERP__SHA256_HEX], boot[48]; uint64_t pidns, start; int64_t pid; };
void interp__owner_here(struct interp__owner *o);
void interp__owner_labels(struct interp__buf *out, const char *kind, const char *name, const char *session);   /* a Labels object; name (of the container), session NULL: none */
int  interp__process_gone(int64_t pid, uint64_t start);                                /* 1: the process of that start time has ended; 0: it lives, or who knows */

/* stream.c */
int  interp__attach_start(struct interp__box *b);                                      /* -1: no memory or no connection */
int  interp__attach_step(struct interp__box *b);                                       /* 0 goes on, 1 attached, -1 failed: head and code say how */
void interp__attach_free(struct interp__box *b);
void interp__attach_watch(struct interp__box *b, uint32_t mask);
interp_status interp__attach_read(struct interp__box *b, void *buf, size_t cap, size_t *n);
interp_status interp__attach_write(struct interp__box *b, const void *buf, size_t len, size_t *n);
int  interp__attach_status(const struct interp__box *b);                               /* HTTP status of the answer, 0: none yet */
#endif
