/* redact.h - what must not leave: values, patterns, detectors. Part of <interp/interp.h>.
   SPDX-License-Identifier: MIT

   What is registered with a context is replaced by [REDACTED:name] in what its sessions put out: output, results, displays, error texts. Values are found
   in their usual encodings too (base64, hex, URLs, JSON, HTML, UTF-16, ...), over line breaks and colours. Built-in detectors know the formats of common secrets.
   This stops accidents. Code that wants a secret out can always encode it in another way: do not hand it secrets. */
#ifndef INTERP_REDACT_H
#define INTERP_REDACT_H
#include <interp/base.h>
INTERP_BEGIN_DECLS

typedef struct interp_redacted interp_redacted;   /**< a redacted text; immutable, any thread, outlives the context */

/** Registers a value: n bytes (n may be INTERP_NTS), copied into memory that is kept out of swap where the system lets us, and out of core dumps, and wiped. It holds for what comes
    out from now on; bytes that are out already can't be called back. The name (1 to 40 of A-Z, a-z, 0-9, '_', '-') is shown in its place; several values may
    share one. T1. Errors: INVAL (reason "redact-short": under 8 bytes; "redact-common": ordinary output contains it; "redact-name"), LIMIT (over 64 KiB, or too
    many), NOMEM, FORKED. */
INTERP_API interp_status interp_redact_add(interp_ctx *x, const char *name, const void *value, size_t n, interp_error **err);
/** Registers a pattern in Perl's syntax (PCRE2; n bytes, n may be INTERP_NTS). A match is replaced, or its first group when it has one; it spans at most 1,024
    bytes. Where a match takes too many steps the word is replaced, and a pattern that does so 20 times in a stream is off for the rest of it.
    T1. Errors: INVAL (reason "redact-pattern": wrong, matches less than 4 bytes, may start with nearly any byte, has a back-reference, looks back more than one
    byte), LIMIT, NOMEM, FORKED, UNSUPPORTED (a build without PCRE2: interp_has("redact.pcre2")). */
INTERP_API interp_status interp_redact_add_pattern(interp_ctx *x, const char *name, const char *pattern, size_t n, interp_error **err);
/** Switches a detector on (1) or off (0): its name ("github-token"), a group (cloud, token, structural, conn, network, host) or "all". All are on at first but
    the groups network and host (private addresses, names in home paths: what programs print all day) and putty-private-key. T1. Errors: INVAL, NOT_FOUND, FORKED. */
INTERP_API interp_status interp_redact_set_detector(interp_ctx *x, const char *name, uint64_t on, interp_error **err);
/** The same for the sessions opened with a config, on top of what the context has: a value, a pattern, a detector switched on or off. Each is checked at once, as the context's are. Their
    JSON is the config's member redact {values: [{name, value}], patterns: [{name, regex}], detectors: true (those on at first), false (none), [names] (these and no others) or
    {name: true or false}}. T3. Errors: those of the context's functions, and BUSY. */
INTERP_API interp_status interp_config_redact_add(interp_config *c, const char *name, const void *value, size_t n, interp_error **err);
INTERP_API interp_status interp_config_redact_add_pattern(interp_config *c, const char *name, const char *pattern, size_t n, interp_error **err);
INTERP_API interp_status interp_config_redact_set_detector(interp_config *c, const char *name, uint64_t on, interp_error **err);
/** The same for one session, from now on; also while it runs code in another thread. What is registered goes with the session. T1. Errors: those of the context's functions. */
INTERP_API interp_status interp_session_redact_add(interp_session *s, const char *name, const void *value, size_t n, interp_error **err);
INTERP_API interp_status interp_session_redact_add_pattern(interp_session *s, const char *name, const char *pattern, size_t n, interp_error **err);
INTERP_API interp_status interp_session_redact_set_detector(interp_session *s, const char *name, uint64_t on, interp_error **err);

/** Redacts n bytes as the library redacts output; the end of the bytes is the end of the stream: the start of a secret that it cuts off is replaced, too, when
    half of it is there. T1. Errors: INVAL, NOMEM, FORKED. */
INTERP_API interp_status interp_redact_bytes(interp_ctx *x, const void *p, size_t n, interp_redacted **out, interp_error **err);
/** The redacted bytes, a NUL behind them; *len (may be NULL) gets their number. "" for NULL. Borrowed until the free. T1. */
INTERP_API const char *interp_redacted_data(const interp_redacted *r, size_t *len);
/** How often each name was found, as a JSON object {"name":count}. "{}" for NULL. Borrowed until the free. T1. */
INTERP_API const char *interp_redacted_counts_json(const interp_redacted *r, size_t *len);
/** Frees it; NULL is fine. */
INTERP_API void interp_redacted_free(interp_redacted *r);

INTERP_END_DECLS
#endif
