/* base.h - types, status codes, errors, cancel, context. Part of <interp/interp.h>.
   SPDX-License-Identifier: MIT

   Thread classes, named in each comment:
     T1  any thread, any time, concurrently
     T2  functions of a context that several threads may call at once (short internal lock)
     T3  one thread at a time per object; the library detects a violation and answers INTERP_E_BUSY
   In a threaded context each call is such an object of its own: several threads may start calls of one session at once, wait each for its own, and read and feed them. Functions of a session may come
   from several threads at once too; a text that one of them hands out is borrowed until any thread asks for it again. One thread at a time does a session's work, whosever call it is for, so callbacks
   may come on any of them.
   Common rules: a NULL handle gives INTERP_E_INVAL (a getter its neutral value). `*out` is written only on success, `*err` only on failure, and never
   read; `err` may be NULL. Text handed out is NUL-terminated. All input is copied. After fork() a child may only free handles that it inherited; everything else
   answers INTERP_E_FORKED. The library starts no thread, installs no signal handler, prints nothing. */
#ifndef INTERP_BASE_H
#define INTERP_BASE_H
#include <stddef.h>
#include <stdint.h>
#if defined(__GNUC__) || defined(__clang__)
#  define INTERP_API __attribute__((visibility("default")))
#else
#  define INTERP_API
#endif
#ifdef __cplusplus
#  define INTERP_BEGIN_DECLS extern "C" {
#  define INTERP_END_DECLS }
#else
#  define INTERP_BEGIN_DECLS
#  define INTERP_END_DECLS
#endif

/** Version of these headers, 0xMMmmpp. Compare with interp_version_number(), which is the library's. */
#define INTERP_VERSION_NUMBER 0x000100u

INTERP_BEGIN_DECLS

typedef struct interp_ctx     interp_ctx;      /**< backends, loop, defaults; children keep it alive */
typedef struct interp_config  interp_config;   /**< how to open a session */
typedef struct interp_session interp_session;  /**< one sandbox with any number of kernels */
typedef struct interp_request interp_request;  /**< one exec to run */
typedef struct interp_call    interp_call;     /**< any operation in flight */
typedef struct interp_event   interp_event;    /**< read through getters; borrowed until the next interp_call_next or interp_call_free */
typedef struct interp_result  interp_result;   /**< immutable, any thread, outlives session and context */
typedef struct interp_error   interp_error;    /**< owned by the caller: interp_error_free */
typedef struct interp_cancel  interp_cancel;   /**< the one object that any thread and any signal handler may poke */
typedef int32_t               interp_status;   /**< 0, a positive INTERP_AGAIN or INTERP_DONE, or a negative INTERP_E_* */

#define INTERP_NTS     ((size_t)-1)   /**< as a length: the text ends at its NUL */
#define INTERP_FOREVER UINT64_MAX     /**< as a duration or size: no limit. 0 is INTERP_E_INVAL; the default is what an uncalled setter leaves */
#define INTERP_UNKNOWN UINT64_MAX     /**< a counter that could not be measured */
#define INTERP_NONE    INT32_MIN      /**< exit code, signal, line: there is none */

/** Status codes. Append-only; treat an unknown negative one as failure. */
enum {
    INTERP_OK            = 0,
    INTERP_AGAIN         = 1,    /**< nothing now; not an error, no error object */
    INTERP_DONE          = 2,    /**< no more, ever; not an error, no error object */
    INTERP_E_INVAL       = -1,   /**< an argument is wrong; the message names it */
    INTERP_E_NOMEM       = -2,   /**< out of memory */
    INTERP_E_BUSY        = -3,   /**< kernel busy, another thread is inside, wrong drive mode, or the context is sealed */
    INTERP_E_CLOSED      = -4,   /**< session shut down or expired, sandbox gone: open a new one */
    INTERP_E_CANCELLED   = -5,   /**< an open, restart or close was cancelled (an exec reports an outcome instead) */
    INTERP_E_TIMEOUT     = -6,   /**< an open, restart or close took too long (an exec reports an outcome instead) */
    INTERP_E_INTR        = -7,   /**< only from interp_call_wait with INTERP_WAIT_INTR: a signal came */
    INTERP_E_FORKED      = -8,   /**< the handle belongs to the parent process */
    INTERP_E_UNSUPPORTED = -9,   /**< not in this build, or not by this backend */
    INTERP_E_NOT_FOUND   = -10,  /**< no such backend, kernel, path (a missing interpreter is a result, not an error) */
    INTERP_E_EXISTS      = -11,  /**< the name is taken */
    INTERP_E_DENIED      = -12,  /**< policy or permission */
    INTERP_E_LIMIT       = -13,  /**< one of our bounds: too large, too many */
    INTERP_E_IO          = -14,  /**< a file or descriptor of the host failed */
    INTERP_E_ISOLATION   = -15,  /**< the isolation or a limit that was asked for can't be had here; the remedy says what to do */
    INTERP_E_IMAGE       = -16,  /**< image missing or unusable */
    INTERP_E_BACKEND     = -17,  /**< the backend failed; the reason has the detail */
    INTERP_E_PROTOCOL    = -18,  /**< the sandbox broke the protocol; it has been killed */
    INTERP_E_CALLBACK    = -19   /**< a callback of the host failed */
};

/** Library version as 0xMMmmpp. T1. */
INTERP_API uint32_t interp_version_number(void);
/** Library version as text, "0.1.0". Static. T1. */
INTERP_API const char *interp_version(void);
/** "INTERP_E_BUSY" and so on; never NULL, also for a code that this library does not know. Static. T1. */
INTERP_API const char *interp_status_name(interp_status st);
/** 1 when this build has the feature, else 0: "backend.local", "backend.docker", "backend.podman", "agent.x86_64", "agent.aarch64", "redact.pcre2", "option.<name>", "request.<name>". T1. */
INTERP_API int32_t interp_has(const char *feature);
/** The registry of options, for programs that make tables, forms or checks of it: a JSON array with one object for each option of a config or request that has
    a name. Members: `scope` ("config", "request"), `name` (of the setter and the JSON key), `type` ("text", "number", "switch"), `default` (null: something
    else decides, `doc` says what; "forever": no limit), `since`, `trust` ("host"; or "tool": a model's tool call may set it, within the config's value), `doc`; of numbers also
    `min`, `max`, `forever` (whether INTERP_FOREVER is a value) and `unit` ("bytes", "ms", "millis" or null). Later versions may add members.
    Static, with a NUL after it; `n` (or NULL) gets its length. T1. */
INTERP_API const char *interp_options_json(size_t *n);

/* ---- errors. All getters accept NULL. Thread class T1 (an error is immutable). */

/** The status that the failed function returned; INTERP_OK for NULL. */
INTERP_API interp_status interp_error_code(const interp_error *e);
/** Stable identifier for programs, such as "userns-limit" or "option-range"; "" for NULL. Borrowed. */
INTERP_API const char *interp_error_reason(const interp_error *e);
/** One sentence for people: what was wrong, with the value. Never NULL. Borrowed. */
INTERP_API const char *interp_error_message(const interp_error *e);
/** What to do about it; "" when there is nothing to say. Borrowed. */
INTERP_API const char *interp_error_remedy(const interp_error *e);
/** 1 when the same call may succeed later without any change, else 0. */
INTERP_API int32_t interp_error_retryable(const interp_error *e);
/** errno of the system call that failed, 0 when none did. */
INTERP_API int32_t interp_error_errno(const interp_error *e);
/** The error as a JSON object {code, reason, message, remedy, retryable, errno}; *len (may be NULL) gets its length. Never NULL. Borrowed. */
INTERP_API const char *interp_error_json(const interp_error *e, size_t *len);
/** Frees an error; NULL is fine. */
INTERP_API void interp_error_free(interp_error *e);

/* ---- cancel */

/** Makes a cancel object of this context, with one reference. Attach it to configs (cancels the open) or requests (cancels the exec); one object may
    serve many. A fired one stays fired: what starts with it ends cancelled at once and runs nothing. T2. Errors: INVAL, NOMEM, FORKED. */
INTERP_API interp_status interp_cancel_new(interp_ctx *x, interp_cancel **out, interp_error **err);
/** Adds a reference and returns t (NULL for NULL). T1. */
INTERP_API interp_cancel *interp_cancel_ref(interp_cancel *t);
/** Asks everything it is attached to to end. Firing again skips the rest of the grace. A call that has ended keeps its true outcome.
    T1; safe in a signal handler, idempotent, never blocks. The caller must hold a reference. */
INTERP_API void interp_cancel_fire(interp_cancel *t);
/** 1 when it has been fired. T1, safe in a signal handler. */
INTERP_API int32_t interp_cancel_fired(const interp_cancel *t);
/** Drops one reference; NULL is fine. T1. */
INTERP_API void interp_cancel_free(interp_cancel *t);

/* ---- context */

/** Flags of interp_ctx_new. */
enum { INTERP_CTX_LOOP = 1u };   /**< driven by one event loop over interp_ctx_fd; blocking forms answer INTERP_E_BUSY */

/** Allocator of a context: grows, shrinks, allocates (p NULL) and frees (new_size 0) memory. Must be thread-safe. old_size is what was asked for. */
typedef void *(*interp_realloc_fn)(void *userdata, void *p, size_t old_size, size_t new_size);
/** Log sink: level 1 error, 2 warning, 3 information, 4 debug; msg has len bytes and a NUL. May come on any thread that is inside the library;
    calling the library from it gives INTERP_E_BUSY. */
typedef void (*interp_log_fn)(void *userdata, int32_t level, const char *msg, size_t len);

/** Makes a context. flags 0: blocking forms and interp_call_wait from any threads, one per call at a time. INTERP_CTX_LOOP: one thread at a time
    drives all its sessions through interp_ctx_fd, _dispatch and _next. A program that wants both makes two contexts. Errors: INVAL, NOMEM, IO. T1. */
INTERP_API interp_status interp_ctx_new(uint32_t flags, interp_ctx **out, interp_error **err);
/** The same with an allocator for everything that the library itself allocates for this context (JSON parser included, not libseccomp). */
INTERP_API interp_status interp_ctx_new_alloc(uint32_t flags, interp_realloc_fn fn, void *userdata, interp_ctx **out, interp_error **err);
/** Drops the caller's hold; NULL is fine. Sessions still open are shut down; memory goes with the last child. Waits at most close_timeout_ms for sandboxes
    that are still ending; in a LOOP context at most 1 s, and not at all when sessions were closed (interp_session_close_start) and dispatched until they were gone. In a forked child: frees memory only. Exclusive. */
INTERP_API void interp_ctx_free(interp_ctx *x);
/** LOOP context: the one descriptor to watch for reading, level-triggered; readable when and only when dispatch has work, deadlines included. The same number
    for life; never close or read it. -1 for a threaded context. T2. */
INTERP_API int interp_ctx_fd(interp_ctx *x);
/** LOOP context: does what is due, bounded and fair, never blocks. OK, or AGAIN when more is left (the descriptor stays readable).
    T3. Errors: BUSY (threaded context, or re-entered), FORKED. */
INTERP_API interp_status interp_ctx_dispatch(interp_ctx *x, interp_error **err);
/** LOOP context: names a call that has events (OK) or says AGAIN. A call is named again only after its interp_call_next has said AGAIN and news came. T3. */
INTERP_API interp_status interp_ctx_next(interp_ctx *x, interp_call **call);
/** LOOP context: the next notice, an event that belongs to no call: OK and *ev, borrowed until the next call of this function, or AGAIN. To be asked after each dispatch; a bounded number waits.
    Notices are records of the audit trail (AUDIT), the end of a session that nobody asked for (SESSION_GONE), and, from the first time that this function was called on, what background work writes while
    no streaming exec of its session is in flight (LATE_OUTPUT): such output is then not held for the next result. T3. */
INTERP_API interp_status interp_ctx_next_notice(interp_ctx *x, const interp_event **ev);
/** Threaded context: looks after sessions with no call in flight (their sandboxes' ends, reaping) until stop is fired. Blocks. T2. */
INTERP_API interp_status interp_ctx_run(interp_ctx *x, interp_cancel *stop, interp_error **err);
/** Sets the log sink; before the first open only (else BUSY). destroy (may be NULL) runs once with userdata when the context goes, or at once on failure. T2. */
INTERP_API interp_status interp_ctx_set_log(interp_ctx *x, interp_log_fn fn, void *userdata, void (*destroy)(void *), interp_error **err);
/** Sets the guest agent for an architecture ("x86_64", "aarch64") in place of the built-in one; before the first open only. The bytes are copied. T2. */
INTERP_API interp_status interp_ctx_set_agent(interp_ctx *x, const char *arch, const void *p, size_t n, interp_error **err);

INTERP_END_DECLS
#endif
