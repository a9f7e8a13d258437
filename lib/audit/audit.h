/* audit.h - the audit trail of a context: records in one hash chain, and where they go. Knows nothing of sessions: core/audit.c says what is recorded. */
#ifndef INTERP_LIB_AUDIT_H
#define INTERP_LIB_AUDIT_H
#include "base/buf.h"
#include "base/json.h"
#include "base/sha256.h"

struct interp__audit;
enum { INTERP__AUDIT_CODE_FULL, INTERP__AUDIT_CODE_HASH, INTERP__AUDIT_CODE_NONE };
enum { INTERP__AUDIT_KEY_MIN = 16, INTERP__AUDIT_KEY_MAX = 4096 };

/* One of the core's own sinks: a line with its newline (len counts it), under the trail's lock. Not 0: it could not take it. */
typedef int interp__audit_put(void *userdata, const char *line, size_t len, uint64_t seq);
typedef void interp__audit_said(void *userdata, int32_t level, const char *text);   /* news about the sinks themselves, for the log */

/* Makes a trail from an options object (interp_audit_open has the members). key may be NULL; it is copied. Opens and checks the file, continues its chain, writes the first record. */
interp_status interp__audit_new(const struct interp__mem *m, const struct interp__json *j, const void *key, size_t nkey, interp__audit_said *said, void *said_data,
                                struct interp__audit **out, interp_error **err);
/* Writes the last record, ends what can be ended shortly, frees. In a forked child: memory and descriptors only. */
void interp__audit_free(struct interp__audit *a, int forked);
/* The core's sinks; before the first record of a session. */
void interp__audit_add_sink(struct interp__audit *a, interp__audit_put *put, void *userdata);
/* Writes a record: members is what comes between the head and the chain, each with a comma before it. What a sink of the core's or the file can't take is an error; a record that the file has not
   taken is counted and no part of the chain. Any thread. */
interp_status interp__audit_write(struct interp__audit *a, const char *event, const struct interp__buf *members, interp_error **err);
void interp__audit_head(struct interp__audit *a, uint64_t *seq, char hash[INTERP__SHA256_HEX]);
uint64_t interp__audit_dropped(struct interp__audit *a);                       /* records that are in no chain, and messages that syslog did not take */
int interp__audit_refuses(const struct interp__audit *a);                      /* on_failure: nothing runs that can't be recorded */
int interp__audit_wants_notices(const struct interp__audit *a);
int interp__audit_code(const struct interp__audit *a);
size_t interp__audit_code_bytes(const struct interp__audit *a);

/* verify.c */
struct interp__audit_report { struct interp__buf json; int ok; };
interp_status interp__audit_verify(const struct interp__mem *m, const char *const *paths, uint32_t n, const void *key, size_t nkey, const char *head, struct interp__audit_report *out, interp_error **err);
/* Reads a key file: its bytes but for one newline at the end. The caller wipes. */
interp_status interp__audit_key_file(const struct interp__mem *m, const char *path, uint8_t key[INTERP__AUDIT_KEY_MAX], size_t *n, interp_error **err);
#endif
