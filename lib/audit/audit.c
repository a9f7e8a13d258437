/* audit.c - records, their chain, and the sinks' one lock */
#include "audit_priv.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char ZERO[INTERP__SHA256_HEX] = "0000000000000000000000000000000000000000000000000000000000000000";

void interp__audit_hash(const struct audit_key *k, const void *p, size_t n, char hex[INTERP__SHA256_HEX])
{
    uint8_t out[INTERP__SHA256];
    if (!k->n) {
        interp__sha256_hex(p, n, hex);
        return;
    }
    interp__hmac_sha256(k->p, k->n, p, n, out);
    interp__hex(out, sizeof out, hex);
}

/* ---- a record from its line. The form is fixed, so that nothing in a value can be taken for a part of it. */

static int number(const char **p, const char *end, uint64_t *v)
{
    const char *from = *p;
    for (*v = 0; *p < end && **p >= '0' && **p <= '9' && *p - from < 19; (*p)++)
        *v = *v * 10 + (uint64_t)(**p - '0');
    return *p > from ? 0 : -1;
}
static int literal(const char **p, const char *end, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(end - *p) < n || memcmp(*p, text, n))
        return -1;
    *p += n;
    return 0;
}
static int hex(const char **p, const char *end, char out[INTERP__SHA256_HEX])
{
    if (end - *p < (ptrdiff_t)AUDIT_HEX)
        return -1;
    for (size_t i = 0; i < AUDIT_HEX; i++)
        if (!memchr("0123456789abcdef", (*p)[i], 16))
            return -1;
    memcpy(out, *p, AUDIT_HEX);
    out[AUDIT_HEX] = 0;
    *p += AUDIT_HEX;
    return 0;
}

int interp__audit_read_line(const struct audit_key *k, const char *line, size_t n, struct audit_line *out)
{
    const char *p = line, *end = line + n;
    uint64_t skip;
    memset(out, 0, sizeof *out);
    if (n < sizeof AUDIT_HEAD + AUDIT_TAIL_LEN || memchr(line, 0, n) || literal(&p, end, AUDIT_HEAD) || number(&p, end, &out->seq))
        return -1;
    if (!literal(&p, end, ",\"dropped\":") && number(&p, end, &out->dropped))
        return -1;
    if (literal(&p, end, ",\"time\":\"") || !(p = memchr(p, '"', (size_t)(end - p))) || literal(&p, end, "\",\"mono_ns\":") || number(&p, end, &skip) ||
        literal(&p, end, ",\"pid\":") || number(&p, end, &skip) || literal(&p, end, ",\"event\":\""))
        return -1;
    const char *name = p;
    p = memchr(p, '"', (size_t)(end - p));
    if (!p || (size_t)(p - name) >= sizeof out->event)
        return -1;
    memcpy(out->event, name, (size_t)(p - name));
    p = end - AUDIT_TAIL_LEN;
    if (p < name || literal(&p, end, AUDIT_PREV) || hex(&p, end, out->prev) || literal(&p, end, "\"" AUDIT_HASH) || hex(&p, end, out->hash) || literal(&p, end, "\"}"))
        return -1;
    char want[INTERP__SHA256_HEX];
    interp__audit_hash(k, line, n - AUDIT_HASH_LEN, want);
    out->good = !memcmp(want, out->hash, AUDIT_HEX);
    return 0;
}

/* ---- records */

void interp__audit_log(struct interp__audit *a, int32_t level, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (!a->said)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    a->said(a->said_data, level, text);
}

interp_status interp__audit_make(struct interp__audit *a, const char *event, const struct interp__buf *members)
{
    struct interp__buf *b = &a->line;
    struct timespec t;
    struct tm tm;
    char when[40] = "", hash[INTERP__SHA256_HEX];
    clock_gettime(CLOCK_REALTIME, &t);
    if (gmtime_r(&t.tv_sec, &tm))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    interp__buf_free(b);
    interp__buf_fmt(b, AUDIT_HEAD "%" PRIu64, a->seq + 1);
    if (a->pending)
        interp__buf_fmt(b, ",\"dropped\":%" PRIu64, a->pending);
    interp__buf_fmt(b, ",\"time\":\"%s.%06ldZ\",\"mono_ns\":%" PRIu64 ",\"pid\":%ld,\"event\":\"%s\"", when, t.tv_nsec / 1000, interp__now(), (long)a->pid, event);
    if (members)
        interp__buf_add(b, members->p, members->len);
    interp__buf_fmt(b, AUDIT_PREV "%s\"", a->head);
    if (b->bad || (members && members->bad)) {
        interp__buf_free(b);
        return INTERP_E_NOMEM;
    }
    if (b->len + AUDIT_HASH_LEN + 1 > AUDIT_LINE_MAX)
        return INTERP_E_LIMIT;
    interp__audit_hash(&a->key, b->p, b->len, hash);
    interp__buf_fmt(b, AUDIT_HASH "%s\"}\n", hash);
    return b->bad ? INTERP_E_NOMEM : INTERP_OK;
}

void interp__audit_commit(struct interp__audit *a, uint64_t *seq)
{
    const char *hash = (const char *)a->line.p + a->line.len - 1 - 2 - AUDIT_HEX;
    memcpy(a->head, hash, AUDIT_HEX);
    *seq = ++a->seq;
    a->records++;
    a->pending = 0;
}

/* Under the lock. */
static interp_status write_record(struct interp__audit *a, const char *event, const struct interp__buf *members, interp_error **err)
{
    int e = 0;
    uint64_t seq;
    interp_status st = interp__audit_make(a, event, members);
    if (!st && a->file.fd >= 0) {
        if (a->file.rotate && interp__audit_rotate(a, a->line.len))
            st = interp__audit_make(a, event, members);   /* the head is the new file's first record */
        if (!st && (e = interp__audit_file_put(a)))
            st = INTERP_E_IO;
    }
    if (st) {
        a->dropped++;
        a->pending++;
        if (!a->failing)
            interp__audit_log(a, 1, "the audit file %s can't be written: %s", a->file.path ? a->file.path : "", st == INTERP_E_IO ? strerror(e) : interp_status_name(st));
        a->failing = 1;
        if (st == INTERP_E_NOMEM)
            return interp__nomem(err);
        struct interp__fault f = { st, "audit-failed", "make room or give another file; on_failure \"count\" goes on without a record", e, 1 };
        return interp__fail_with(&a->mem, err, &f, "the audit record could not be written%s%s: %s", a->file.path ? " to " : "", a->file.path ? a->file.path : "",
                                 e ? strerror(e) : "it is too long");
    }
    if (a->failing)
        interp__audit_log(a, 2, "the audit file is written again");
    a->failing = 0;
    interp__audit_commit(a, &seq);
    for (unsigned i = 0; i < a->nsinks; i++)
        if (a->sinks[i].put(a->sinks[i].userdata, (const char *)a->line.p, a->line.len, seq))
            st = interp__fail(&a->mem, err, INTERP_E_CALLBACK, "audit-failed", "the host's audit callback did not take a record");
    if (st)
        a->dropped++;
    if (a->syslog.on)
        interp__audit_syslog_put(a, seq, event);
    if (a->file.in >= 0)
        interp__audit_compress(a, 0);
    if (a->line.cap > 256 << 10)   /* a long code: not kept */
        interp__buf_free(&a->line);
    return st;
}

interp_status interp__audit_write(struct interp__audit *a, const char *event, const struct interp__buf *members, interp_error **err)
{
    pthread_mutex_lock(&a->lock);
    interp_status st = write_record(a, event, members, err);
    pthread_mutex_unlock(&a->lock);
    return st;
}

void interp__audit_add_sink(struct interp__audit *a, interp__audit_put *put, void *userdata)
{
    pthread_mutex_lock(&a->lock);
    if (a->nsinks < AUDIT_SINKS) {
        a->sinks[a->nsinks].put = put;
        a->sinks[a->nsinks++].userdata = userdata;
    }
    pthread_mutex_unlock(&a->lock);
}

void interp__audit_head(struct interp__audit *a, uint64_t *seq, char hash[INTERP__SHA256_HEX])
{
    pthread_mutex_lock(&a->lock);
    *seq = a->seq;
    memcpy(hash, a->head, INTERP__SHA256_HEX);
    pthread_mutex_unlock(&a->lock);
}
uint64_t interp__audit_dropped(struct interp__audit *a)
{
    pthread_mutex_lock(&a->lock);
    uint64_t n = a->dropped + a->syslog_dropped;
    pthread_mutex_unlock(&a->lock);
    return n;
}
int interp__audit_refuses(const struct interp__audit *a)
{
    return a->refuse;
}
int interp__audit_wants_notices(const struct interp__audit *a)
{
    return a->notices;
}
int interp__audit_code(const struct interp__audit *a)
{
    return a->code;
}
size_t interp__audit_code_bytes(const struct interp__audit *a)
{
    return a->code_bytes;
}

/* ---- options, start, end */

static interp_status wrong(struct interp__audit *a, interp_error **err, const char *key, const char *must)
{
    return interp__fail(&a->mem, err, INTERP_E_INVAL, "option-value", "audit.%s %s", key, must);
}

static interp_status word(struct interp__audit *a, const char *key, const char *v, const char *const *words, int *out, interp_error **err)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(v, words[i])) {
            *out = i;
            return INTERP_OK;
        }
    char list[128];
    size_t n = 0;
    for (int i = 0; words[i] && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", words[i]);
    return interp__fail(&a->mem, err, INTERP_E_INVAL, "option-value", "audit.%s is \"%.64s\"; it must be one of %s", key, v, list);
}

static interp_status set_key(struct interp__audit *a, const void *key, size_t n, interp_error **err)
{
    if (n < INTERP__AUDIT_KEY_MIN || n > INTERP__AUDIT_KEY_MAX)
        return interp__fail(&a->mem, err, INTERP_E_INVAL, "audit-key", "the audit key has %zu bytes; it must have from %d to %d", n, INTERP__AUDIT_KEY_MIN, INTERP__AUDIT_KEY_MAX);
    if (a->key.n)
        return interp__fail(&a->mem, err, INTERP_E_INVAL, "audit-key", "an audit key and key_file can't both be given");
    if (!(a->key.p = interp__secret_alloc(INTERP__AUDIT_KEY_MAX)))
        return interp__nomem(err);
    memcpy(a->key.p, key, n);
    a->key.n = n;
    return INTERP_OK;
}

static interp_status option(struct interp__audit *a, const char *key, const struct interp__json_node *n, const char *text, interp_error **err)
{
    static const char *const codes[] = { "full", "hash", "none", NULL }, *const syncs[] = { "none", "each", "close", "interval", NULL }, *const failures[] = { "count", "refuse", NULL },
                             *const facilities[] = { "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp", "audit", "alert", "clock",
                                                     "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7", NULL };
    int is_text = n->type == INTERP__JSON_STRING && strlen(text) == n->text_len && *text, v = 0;
    interp_status st = INTERP_OK;
    static const char *const texts[] = { "path", "key_file", "code", "sync", "on_failure", "syslog_socket", "syslog_facility" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(key, texts[i]) && (!is_text || n->text_len > 4000))
            return wrong(a, err, key, "must be a text of 1 to 4000 bytes without NUL");
    if (!strcmp(key, "path"))
        st = (a->file.path = interp__strndup(&a->mem, text, n->text_len)) ? INTERP_OK : interp__nomem(err);
    else if (!strcmp(key, "key_file")) {
        uint8_t bytes[INTERP__AUDIT_KEY_MAX];
        size_t len;
        st = interp__audit_key_file(&a->mem, text, bytes, &len, err);
        if (!st)
            st = set_key(a, bytes, len, err);
        interp__wipe(bytes, sizeof bytes);
    } else if (!strcmp(key, "code"))
        st = word(a, key, text, codes, &a->code, err);
    else if (!strcmp(key, "sync"))
        st = word(a, key, text, syncs, &a->file.sync, err);
    else if (!strcmp(key, "on_failure"))
        st = word(a, key, text, failures, &a->refuse, err);
    else if (!strcmp(key, "syslog_facility")) {
        st = word(a, key, text, facilities, &v, err);
        a->syslog.facility = (uint8_t)v;
    } else if (!strcmp(key, "syslog_socket")) {
        if (strlen(text) > 100 || text[0] != '/')
            return wrong(a, err, key, "must be the absolute path of a socket, at most 100 bytes");
        st = (a->syslog.socket = interp__strndup(&a->mem, text, n->text_len)) ? INTERP_OK : interp__nomem(err);
    } else if (!strcmp(key, "syslog") || !strcmp(key, "notices")) {
        if (n->type != INTERP__JSON_BOOL)
            return wrong(a, err, key, "must be true or false");
        *(key[0] == 's' ? &a->syslog.on : &a->notices) = (int)n->i;
    } else if (!strcmp(key, "code_bytes")) {
        if (n->type != INTERP__JSON_INT || n->i < 1 || n->i > 1 << 20)
            return wrong(a, err, key, "must be a whole number from 1 to 1048576");
        a->code_bytes = (size_t)n->i;
    } else if (!strcmp(key, "rotate_bytes")) {
        if (n->type != INTERP__JSON_INT || n->i < 4096 || n->i > INT64_C(1) << 40)
            return wrong(a, err, key, "must be a whole number from 4096 to 2^40");
        a->file.rotate = (uint64_t)n->i;
    } else if (!strcmp(key, "sync_ms")) {
        if (n->type != INTERP__JSON_INT || n->i < 1 || n->i > 86400000)
            return wrong(a, err, key, "must be a whole number from 1 to 86400000");
        a->file.sync_ms = (uint64_t)n->i;
    } else
        st = interp__fail(&a->mem, err, INTERP_E_INVAL, "option-unknown", "audit has no member \"%.64s\"", key);
    return st;
}

static interp_status options(struct interp__audit *a, const struct interp__json *j, interp_error **err)
{
    const struct interp__json_node *root = interp__json_at(j, 0);
    if (root->type != INTERP__JSON_OBJECT)
        return interp__fail(&a->mem, err, INTERP_E_INVAL, "option-type", "audit must be a JSON object");
    uint32_t i = 1;
    for (uint32_t k = 0; k < root->count; k++) {
        const struct interp__json_node *n = interp__json_at(j, i);
        interp_status st = option(a, interp__json_key(j, n), n, interp__json_string(j, n), err);
        if (st)
            return st;
        i = n->next;
    }
    if (!a->file.path && (a->file.rotate || a->file.sync != SYNC_CLOSE))
        return interp__fail(&a->mem, err, INTERP_E_INVAL, "option-value", "audit.rotate_bytes and audit.sync are of a file: give path");
    if ((a->file.sync == SYNC_INTERVAL) != (a->file.sync_ms != 0))
        return interp__fail(&a->mem, err, INTERP_E_INVAL, "option-value", "audit.sync \"interval\" and sync_ms go together");
    return INTERP_OK;
}

interp_status interp__audit_new(const struct interp__mem *m, const struct interp__json *j, const void *key, size_t nkey, interp__audit_said *said, void *said_data,
                                struct interp__audit **out, interp_error **err)
{
    struct interp__audit *a = interp__alloc(m, sizeof *a);
    uint64_t torn = 0;
    if (!a)
        return interp__nomem(err);
    a->mem = *m;
    a->pid = getpid();
    a->file.fd = a->file.dir = a->file.in = a->file.out = a->syslog.fd = -1;
    a->file.sync = SYNC_CLOSE;
    a->syslog.facility = 10;
    a->refuse = 1;
    a->code_bytes = 64 << 10;
    a->said = said;
    a->said_data = said_data;
    memcpy(a->head, ZERO, sizeof ZERO);
    interp__buf_init(&a->line, &a->mem);
    pthread_mutex_init(&a->lock, NULL);
    interp_status st = nkey ? set_key(a, key, nkey, err) : INTERP_OK;
    if (!st)
        st = options(a, j, err);
    if (!st && a->file.path)
        st = interp__audit_file_open(a, &torn, err);
    if (!st) {
        static const char *const codes[] = { "full", "hash", "none" };
        struct interp__buf b;
        interp__buf_init(&b, &a->mem);
        interp__buf_fmt(&b, ",\"library\":\"%s\",\"chain\":\"%s\",\"code\":\"%s\"", INTERP_VERSION, a->key.n ? "hmac-sha256" : "sha256", codes[a->code]);
        if (torn) {
            interp__buf_fmt(&b, ",\"torn_bytes\":%" PRIu64, torn);
            interp__audit_log(a, 2, "the audit file %s ended in a torn record of %" PRIu64 " bytes, which has been cut off", a->file.path, torn);
        }
        st = interp__audit_write(a, "audit_start", &b, err);
        interp__buf_free(&b);
    }
    if (st) {
        a->file.first = 0;   /* no record of its end: it never began */
        a->records = 0;
        interp__audit_free(a, 0);
    } else
        *out = a;
    return st;
}

void interp__audit_free(struct interp__audit *a, int forked)
{
    if (!a)
        return;
    if (!forked && a->records) {
        struct interp__buf b;
        interp__buf_init(&b, &a->mem);
        interp__buf_fmt(&b, ",\"records\":%" PRIu64 ",\"records_dropped\":%" PRIu64 ",\"syslog_dropped\":%" PRIu64, a->records + 1, a->dropped, a->syslog_dropped);
        interp__audit_write(a, "audit_end", &b, NULL);
        interp__buf_free(&b);
    }
    interp__audit_file_close(a, forked);
    interp__audit_syslog_close(a);
    interp__secret_free(a->key.p, INTERP__AUDIT_KEY_MAX);
    interp__buf_free(&a->line);
    interp__free(&a->mem, a->file.path);
    interp__free(&a->mem, a->file.base);
    interp__free(&a->mem, a->syslog.socket);
    if (!forked)
        pthread_mutex_destroy(&a->lock);
    struct interp__mem m = a->mem;
    interp__free(&m, a);
}
