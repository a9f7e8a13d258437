/* audit_priv.h - what the files of audit/ share */
#ifndef INTERP_LIB_AUDIT_PRIV_H
#define INTERP_LIB_AUDIT_PRIV_H
#include "audit.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fds.h"
#include "base/secret.h"
#include "base/zmem.h"
#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

/* A record is one line: {"v":1,"seq":N,...,"prev":"<64 hex>","hash":"<64 hex>"}. hash covers all bytes before ,"hash": and so the previous hash. */
#define AUDIT_HEAD     "{\"v\":1,\"seq\":"
#define AUDIT_PREV     ",\"prev\":\""
#define AUDIT_HASH     ",\"hash\":\""
#define AUDIT_HEX      64u
#define AUDIT_HASH_LEN (sizeof AUDIT_HASH - 1 + AUDIT_HEX + 2)          /* ,"hash":"..."} */
#define AUDIT_TAIL_LEN (sizeof AUDIT_PREV - 1 + AUDIT_HEX + 1 + AUDIT_HASH_LEN)
#define AUDIT_LINE_MAX ((size_t)16 << 20)

struct audit_key { uint8_t *p; size_t n; };                            /* n 0: none */
void interp__audit_hash(const struct audit_key *k, const void *p, size_t n, char hex[INTERP__SHA256_HEX]);
/* Looks at a line without its newline: 0 and its parts, or -1 when it is none of ours; *good: its hash is right. */
struct audit_line { uint64_t seq, dropped; char prev[INTERP__SHA256_HEX], hash[INTERP__SHA256_HEX], event[32]; int good; };
int interp__audit_read_line(const struct audit_key *k, const char *p, size_t n, struct audit_line *out);

enum { SYNC_NONE, SYNC_EACH, SYNC_CLOSE, SYNC_INTERVAL };
struct audit_file {                                                    /* file.c, rotate.c */
    int dir, fd;                                                       /* fd -1: none */
    char *path, *base;                                                 /* base: within dir */
    uint64_t size, first;                                              /* bytes that are whole records; seq of the first of them, 0: unknown or empty */
    uint64_t rotate, sync_ms, synced;
    int sync, dirty;
    /* a rotated file that is being compressed, a slice with each record */
    int in, out;
    char *name;
    z_stream z;
};
struct audit_syslog { int fd, on; uint8_t facility; char *socket; uint64_t retry; };

#define AUDIT_SINKS 4
struct interp__audit {
    struct interp__mem mem;
    pthread_mutex_t lock;                                              /* of everything; held over the sinks, so that they see records in their order */
    pid_t pid;
    uint64_t seq, records, dropped, pending, syslog_dropped;           /* pending: dropped since the last record that was written */
    char head[INTERP__SHA256_HEX];
    struct audit_key key;
    struct audit_file file;
    struct audit_syslog syslog;
    struct { interp__audit_put *put; void *userdata; } sinks[AUDIT_SINKS];
    unsigned nsinks;
    interp__audit_said *said;
    void *said_data;
    struct interp__buf line;
    int refuse, notices, code, failing;
    size_t code_bytes;
};
/* audit.c */
interp_status interp__audit_make(struct interp__audit *a, const char *event, const struct interp__buf *members);   /* into a->line; nothing has changed yet */
void interp__audit_commit(struct interp__audit *a, uint64_t *seq);                                                /* a->line is the chain's new head */
void interp__audit_log(struct interp__audit *a, int32_t level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* file.c */
interp_status interp__audit_file_open(struct interp__audit *a, uint64_t *torn, interp_error **err);
int  interp__audit_file_put(struct interp__audit *a);                          /* a->line; 0 or an errno */
void interp__audit_file_close(struct interp__audit *a, int forked);
int  interp__audit_write_all(int fd, uint64_t at, const void *p, size_t n);    /* at: where the file ends. 0 or an errno */
/* rotate.c */
int  interp__audit_rotate(struct interp__audit *a, uint64_t next_bytes);       /* 1: the file is a new one */
void interp__audit_compress(struct interp__audit *a, uint64_t until);          /* a slice; until not 0: all of it while there is time */
void interp__audit_compress_find(struct interp__audit *a);                     /* takes up what an earlier program left */
void interp__audit_compress_drop(struct interp__audit *a);
/* syslog.c */
void interp__audit_syslog_put(struct interp__audit *a, uint64_t seq, const char *event);
void interp__audit_syslog_close(struct interp__audit *a);
#endif
