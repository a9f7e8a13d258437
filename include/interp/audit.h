/* audit.h - a record of what was run. Part of <interp/interp.h>.
   SPDX-License-Identifier: MIT

   A trail is a chain of records, one JSON object a line: each carries the SHA-256 of itself and of the record before it (an HMAC when there is a key), so that a
   record that is altered, removed or moved shows. Records: audit_start, open, exec_start, exec_end, policy, limit, file, kill, error, close, audit_rotate, audit_end. What a record
   quotes is redacted first. Who has the file and no key to stop him can write a whole new chain: give a key, or keep the head elsewhere from time to time. */
#ifndef INTERP_AUDIT_H
#define INTERP_AUDIT_H
#include <interp/base.h>
INTERP_BEGIN_DECLS

typedef struct interp_audit_report interp_audit_report;   /**< what a verification found; immutable, any thread, outlives the context */

/** An audit callback: one record with its newline, len bytes and a NUL, and its number in the chain. Comes in the records' order, one at a time, on any thread that is inside the library; calling the library
    from it gives INTERP_E_BUSY. What it does not return 0 for counts as a sink that failed (on_failure below). */
typedef int32_t (*interp_audit_fn)(void *userdata, const char *record, size_t len, uint64_t seq);

/** Starts the context's trail; it holds for sessions opened from then on, and ends with the context. options is a JSON object (len may be INTERP_NTS; NULL: no members, which is a trail for the
    callback, the notices and the head only), of:
      path "FILE"           appended to, made with mode 0600, one context at a time; no symbolic link is followed. What is there must end in a record that verifies; its chain goes on. A torn last line is cut off and told
      code                  "full" (default; redacted, its first code_bytes) or "hash" (only the SHA-256 of the bytes that run, which is always there) or "none"
      code_bytes N          default 65536, at most 1048576
      key_file "FILE"       as key below, from a file; a newline at its end is not part of it
      rotate_bytes N        a file that would get longer is renamed FILE.<first>-<last> and compressed; the chain goes on in a new FILE
      sync                  "none", "close" (default), "interval" (with sync_ms: at the first record after it), "each"
      on_failure            "refuse" (default): an open or an exec that can't be recorded fails, the exec with outcome denied and cause "audit"; "count": it goes on, and the next record says how many are missing
      syslog true           a second sink: RFC 5424 to the local log socket (syslog_socket, default /dev/log; syslog_facility, default "authpriv"). Never waits; what it does not take is counted
      notices true          LOOP context: each record is an AUDIT event of interp_ctx_next_notice, too; without anybody to take them the oldest are dropped
    key (may be NULL): nkey bytes, 16 to 4,096; the chain is an HMAC-SHA256 chain then. It is copied into memory that is kept out of core dumps and, where the system lets us, out of swap.
    T2. Errors: INVAL, EXISTS (there is a trail already), IO, BUSY (reason "audit-busy": another context or process writes that file), DENIED (a file of others', or one that does not end in a good record), NOMEM, FORKED. */
INTERP_API interp_status interp_audit_open(interp_ctx *x, const char *options, size_t len, const void *key, size_t nkey, interp_error **err);
/** Gives each record of the context's trail to a callback as well; once, after the trail was started and before the first open. destroy (may be NULL) runs once with userdata when the context goes, or at once on failure.
    T2. Errors: INVAL, NOT_FOUND (no trail), BUSY (a session was opened), EXISTS, FORKED. */
INTERP_API interp_status interp_audit_set_callback(interp_ctx *x, interp_audit_fn fn, void *userdata, void (*destroy)(void *), interp_error **err);
/** The chain's head: the number of the last record and its hash as 64 hexadecimal digits and a NUL, into size bytes (at least 65); *dropped: how many records and syslog messages no sink has. All three may be NULL.
    T2. Errors: INVAL, NOT_FOUND (no trail), FORKED. */
INTERP_API interp_status interp_audit_head(interp_ctx *x, uint64_t *seq, char *hash, size_t size, uint64_t *dropped, interp_error **err);

/** Verifies files of one chain, rotated and compressed ones too, given in any order: finds the first record that was altered, is missing, stands in another place or was cut off. Of
    whole files that are missing at the start of the chain from_start of the report tells, as it may well be that they are kept elsewhere. key NULL: the chain has none. head (may be NULL): a hash that was kept, which must be one of the records. Reads the files, blocking. T2. Errors: INVAL, IO (a file can't be read), NOMEM, FORKED. */
INTERP_API interp_status interp_audit_verify(interp_ctx *x, const char *const *paths, uint32_t n, const void *key, size_t nkey, const char *head, interp_audit_report **out, interp_error **err);
/** 1 when nothing was found, else 0 (also for NULL). T1. */
INTERP_API int32_t interp_audit_report_ok(const interp_audit_report *r);
/** {ok, records, first_seq, last_seq, head, from_start, ended, dropped, problem: null or {kind, file, line, seq, text}}. from_start: the chain's first record is there; ended: the last one is audit_end; kind:
    "altered", "missing", "reordered", "cut-off". *len may be NULL. "{}" for NULL. Borrowed until the free. T1. */
INTERP_API const char *interp_audit_report_json(const interp_audit_report *r, size_t *len);
/** Frees it; NULL is fine. */
INTERP_API void interp_audit_report_free(interp_audit_report *r);

INTERP_END_DECLS
#endif
