/* session.h - sessions, requests, calls, events. Part of <interp/interp.h>.
   SPDX-License-Identifier: MIT

   Every operation is a call: interp_X_start(..., &call), then wait or dispatch, interp_call_next for events, interp_call_finish for the outcome, interp_call_free.
   The blocking form is start + wait + finish and nothing else. In a LOOP context the blocking forms answer INTERP_E_BUSY. */
#ifndef INTERP_SESSION_H
#define INTERP_SESSION_H
#include <interp/base.h>
#include <interp/config.h>
#include <interp/result.h>
INTERP_BEGIN_DECLS

/* ---- sessions */

/** Opens a sandbox; c may be NULL (defaults). On failure there is no session. T2. Errors: INVAL, NOT_FOUND (backend), ISOLATION, UNSUPPORTED, TIMEOUT, CANCELLED, BACKEND,
    NOMEM, BUSY (LOOP context, or called from a callback), FORKED. */
INTERP_API interp_status interp_session_open(interp_ctx *x, const interp_config *c, interp_session **out, interp_error **err);
/** Starts opening: *out is a session in status OPENING at once, to be closed whatever the call comes to; *call is of kind OPEN. T2. */
INTERP_API interp_status interp_session_open_start(interp_ctx *x, const interp_config *c, interp_session **out, interp_call **call, interp_error **err);
/** Removes what sandboxes of dead owners have left with the backend that the config names: containers and volumes that this library made, whose owner's process is gone. Nothing whose owner may
    live, on this machine or another, is touched. *removed (may be NULL): how many. Blocks at most open_timeout_ms. T2. Errors: UNSUPPORTED (a backend that leaves nothing), and those of open. */
INTERP_API interp_status interp_ctx_gc(interp_ctx *x, const interp_config *c, uint64_t *removed, interp_error **err);
/** Starts that; *call is of kind GC, and each thing removed is a PROGRESS event {"step":"gc","removed":"container"|"volume","name":…}. T2. */
INTERP_API interp_status interp_ctx_gc_start(interp_ctx *x, const interp_config *c, interp_call **call, interp_error **err);
/** Starts a look at the backend that the config names, without making a sandbox: usable or not, with the reason and the remedy as the call's error. *call is of kind PROBE; what the backend offers
    comes as a PROGRESS event {"step":"probe","offers":{…}}. T2. Errors: UNSUPPORTED (a backend that can only be tried by opening, as local), and those of open. */
INTERP_API interp_status interp_ctx_probe_start(interp_ctx *x, const interp_config *c, interp_call **call, interp_error **err);
/** Runs code and waits for the result. Whatever the guest does gives INTERP_OK and a result; interp_result_ok says whether it succeeded. Returns by timeout + grace.
    T3. Errors: INVAL, BUSY (that kernel has an exec in flight), CLOSED, LIMIT, NOMEM, FORKED. */
INTERP_API interp_status interp_session_exec(interp_session *s, const interp_request *r, interp_result **out, interp_error **err);
/** Starts an exec; *call is of kind EXEC. The request may be freed at once. A second exec on a busy kernel is BUSY; one behind an abandoned call waits for it. T3. */
INTERP_API interp_status interp_session_exec_start(interp_session *s, const interp_request *r, interp_call **call, interp_error **err);
/** Short form of exec: language and code only (len may be INTERP_NTS). T3. */
INTERP_API interp_status interp_session_run(interp_session *s, const char *language, const char *code, size_t len, interp_result **out, interp_error **err);
/** Ends a kernel and all its processes, verified, so that the next exec starts a fresh one; files stay. An exec in flight on it ends with outcome cancelled, state reset.
    kernel NULL: "default". T3. Errors: INVAL, NOT_FOUND (no such kernel was started), CLOSED, NOMEM. */
INTERP_API interp_status interp_session_restart(interp_session *s, const char *language, const char *kernel, interp_error **err);
INTERP_API interp_status interp_session_restart_start(interp_session *s, const char *language, const char *kernel, interp_call **call, interp_error **err);
/** Ends a kernel as a restart does, and forgets it: it is no longer listed and makes room for another one (a session has at most 16). An exec that is started on it meanwhile brings it back, fresh.
    kernel NULL: "default". T3. Errors: INVAL, NOT_FOUND, CLOSED, NOMEM. */
INTERP_API interp_status interp_session_kernel_delete(interp_session *s, const char *language, const char *kernel, interp_error **err);
INTERP_API interp_status interp_session_kernel_delete_start(interp_session *s, const char *language, const char *kernel, interp_call **call, interp_error **err);
/** Sets an environment variable of the session from now on, as interp_config_set_env does before the open: kernels that start later have it, those that run take it over when their next exec begins
    (what they started before keeps its own). T3. Errors: INVAL, LIMIT, CLOSED, NOMEM. */
INTERP_API interp_status interp_session_set_env(interp_session *s, const char *name, const void *value, size_t n, interp_error **err);
/** Takes one away in the same way, one of those that every kernel has (TERM, LANG, …) too. No error when there is none. T3. Errors: INVAL, LIMIT, CLOSED, NOMEM. */
INTERP_API interp_status interp_session_unset_env(interp_session *s, const char *name, interp_error **err);
/** The session's kernels as a JSON array, the oldest first: {language, kernel, state ("starting", "idle", "busy", "stopping", "ended": the next exec starts a fresh one), exec (the number of the one it
    works on, or null), version, path (null before it was first ready)}. What the host knows: nobody is asked. *len may be NULL. Borrowed until the next call of this function, or close. T3. */
INTERP_API const char *interp_session_kernels_json(interp_session *s, size_t *len);
/** Looks at what there is in the sandbox, as the user there sees it: see interp_session_probe_json. What cannot have changed is not looked for again: without a call in between it costs nothing,
    else the directories of packages tell whether they have changed. T3. Errors: CLOSED, BUSY, LIMIT (16 kernels: it needs one for a moment), TIMEOUT, NOMEM. */
INTERP_API interp_status interp_session_probe(interp_session *s, interp_error **err);
INTERP_API interp_status interp_session_probe_start(interp_session *s, interp_call **call, interp_error **err);
/** What the last probe found, as JSON: {os, kernel, arch, user, cwd, languages: [{name, version, path}], missing: [names], tools: [names], packages: {language: {total, listed: [{name, version}]}} (at most
    200 each), disk: {total_bytes, free_bytes}, limits: {option: value}, reached (how each is enforced), network, complete}. Facts from inside are the guest's claims, redacted. "{}" before the first
    one. *len may be NULL. Borrowed until the next probe ends, or close. T3. */
INTERP_API const char *interp_session_probe_json(const interp_session *s, size_t *len);
/** The same as a text of a few lines that fits into a model's prompt; "" before the first one. T3. */
INTERP_API const char *interp_session_probe_text(const interp_session *s, size_t *len);
/** Kills the sandbox and ends the calls in flight (execs with outcome cancelled, state gone; others with CLOSED). The handle stays valid until interp_session_close.
    Never blocks; idempotent. T1. */
INTERP_API void interp_session_shutdown(interp_session *s);
/** Shutdown, a wait of at most close_timeout_ms for the verified end, and free. Always returns NULL. NULL is fine. LOOP context: does not wait, the loop finishes it.
    In a forked child: frees memory only. Exclusive, like free(3); calls of the session that are still held stay valid handles. */
INTERP_API interp_session *interp_session_close(interp_session *s);
/** Starts closing; the call (kind CLOSE) is done when the sandbox is verified gone. interp_session_close still frees the handle. T3. */
INTERP_API interp_status interp_session_close_start(interp_session *s, interp_call **call, interp_error **err);

/** Where a session stands. */
enum { INTERP_SESSION_OPENING = 1, INTERP_SESSION_OPEN = 2, INTERP_SESSION_SHUTDOWN = 3, INTERP_SESSION_GONE = 4 };
/** INTERP_SESSION_*; GONE for NULL. T1. */
INTERP_API int32_t interp_session_status(const interp_session *s);
/** {session, backend, isolation, reached: {...}} as JSON, once open ("{}" before). *len may be NULL. Borrowed until close. T3. */
INTERP_API const char *interp_session_info_json(const interp_session *s, size_t *len);
/** A pointer of the host's. T3. */
INTERP_API void *interp_session_userdata(const interp_session *s);
INTERP_API void interp_session_set_userdata(interp_session *s, void *p);

/* ---- requests */

/** Makes an empty request. T2. Errors: INVAL, NOMEM, FORKED. */
INTERP_API interp_status interp_request_new(interp_ctx *x, interp_request **out, interp_error **err);
/** Frees a request; NULL is fine; legal right after a start. Exclusive. */
INTERP_API void interp_request_free(interp_request *r);
/** Applies a JSON object over what is set: the setters' names, code, stdin or stdin_base64, env {name: value}, files [{path or path_base64, text or base64}], args […], options {…}, labels {name: value}. For the host's own JSON, never a model's.
    All or nothing. T3. Errors: INVAL naming the key, LIMIT, NOMEM. */
INTERP_API interp_status interp_request_set_json(interp_request *r, const char *json, size_t len, interp_error **err);
/** Sets the code: bytes of text, at most 16 MiB, no NUL inside; n may be INTERP_NTS. T3. Errors: INVAL, LIMIT, NOMEM. */
INTERP_API interp_status interp_request_set_code(interp_request *r, const void *p, size_t n, interp_error **err);
/** Sets what the code finds on its standard input (any bytes, at most 64 MiB); without it stdin is empty. T3. Errors: INVAL, LIMIT, NOMEM. */
INTERP_API interp_status interp_request_set_stdin(interp_request *r, const void *p, size_t n, interp_error **err);
/** Adds a file that is put before the code runs, its parents made where they are missing: path and content as for interp_session_put, at most 256 files of 64 MiB together. A path that was added before gets the new
    content. One that can't be put is outcome error with cause "files", and the code does not run. T3. Errors: INVAL, LIMIT, NOMEM. */
INTERP_API interp_status interp_request_add_file(interp_request *r, const void *path, size_t len, const void *p, size_t n, interp_error **err);
/** Sets an environment variable for this exec only; as interp_config_set_env, at most 14 KiB together. T3. */
INTERP_API interp_status interp_request_set_env(interp_request *r, const char *name, const void *value, size_t n, interp_error **err);
/** Options of the language as a JSON object, at most 16 KiB: javascript {"await": false, "ts": true}. T3. Errors: INVAL, LIMIT, NOMEM. */
INTERP_API interp_status interp_request_set_options(interp_request *r, const char *json, size_t len, interp_error **err);
/** Sets a label for the audit trail: name of at most 64 letters, digits, '_', '.', '-', value UTF-8 of at most 256 bytes; at most 32. It stands for the session's label of that name. T3. Errors: INVAL, LIMIT, NOMEM. */
INTERP_API interp_status interp_request_set_label(interp_request *r, const char *name, const char *value, interp_error **err);
/** Adds an argument for the program of a one-shot language; len may be INTERP_NTS. At most 256, 14 KiB together, no NUL. T3. Errors: INVAL, LIMIT, NOMEM. */
INTERP_API interp_status interp_request_add_arg(interp_request *r, const char *arg, size_t len, interp_error **err);
/** Attaches a cancel object; NULL detaches. Holds a reference. T3. */
INTERP_API interp_status interp_request_set_cancel(interp_request *r, interp_cancel *t, interp_error **err);

/* ---- calls */

/** Kinds of calls. */
enum { INTERP_CALL_OPEN = 1, INTERP_CALL_EXEC = 2, INTERP_CALL_PROBE = 5, INTERP_CALL_CLOSE = 6, INTERP_CALL_GC = 7, INTERP_CALL_RESTART = 8, INTERP_CALL_KERNEL_DELETE = 16 };
/** Kinds of calls that work on files (files.h). */
enum { INTERP_CALL_PUT = 3, INTERP_CALL_GET = 4, INTERP_CALL_LIST = 9, INTERP_CALL_STAT = 10, INTERP_CALL_MKDIR = 11, INTERP_CALL_RENAME = 12, INTERP_CALL_REMOVE = 13,
       INTERP_CALL_PUT_TAR = 17, INTERP_CALL_GET_TAR = 18, INTERP_CALL_PUT_DIR = 19, INTERP_CALL_GET_DIR = 20 };
/** Flags of interp_call_wait. */
enum { INTERP_WAIT_INTR = 1u };   /**< answer INTERP_E_INTR when a signal comes, so that a binding can run its handlers */

/** INTERP_CALL_*; 0 for NULL. T3. */
INTERP_API int32_t interp_call_kind(const interp_call *c);
/** The session it belongs to; NULL once that has been closed. T3. */
INTERP_API interp_session *interp_call_session(const interp_call *c);
/** A pointer of the host's. T3. */
INTERP_API void *interp_call_userdata(const interp_call *c);
INTERP_API void interp_call_set_userdata(interp_call *c, void *p);
/** Threaded context: drives the session until the call has an event or is done (OK), or the time is up (AGAIN; INTERP_FOREVER never, 0 looks once). Nothing is killed by
    not waiting. Several threads may wait for calls of one session, each for its own; interp_call_write, _write_end, _signal and _reply are for any thread meanwhile. T3.
    Errors: INTR (only with INTERP_WAIT_INTR), BUSY (another thread waits for this call), FORKED, IO (no descriptor for a second thread that waits in the session). */
INTERP_API interp_status interp_call_wait(interp_call *c, uint64_t timeout_ms, uint32_t flags, interp_error **err);
/** interp_call_wait for a host that must not miss a signal that comes just before the sleep: it blocks its signals, looks whether its handlers have run, and calls this. While it sleeps, and only then,
    just the signals in blocked are blocked (bit n - 1 for signal n; 0: none), as in pselect: one that is pending ends the sleep at once, as INTR with INTERP_WAIT_INTR. T3. Errors: as interp_call_wait. */
INTERP_API interp_status interp_call_wait_masked(interp_call *c, uint64_t timeout_ms, uint32_t flags, uint64_t blocked, interp_error **err);
/** Feeds standard input of an interactive exec, or the content of a put. Never blocks: *taken (at most n, maybe 0) is what was copied; when it is less than n, a WRITABLE event says that there is room again. What is given before
    the kernel is ready waits. What the code never reads is dropped with the exec. T3. Errors: INVAL (not an interactive exec or a put, after write_end, more than a put has announced), CLOSED (the call has ended), NOMEM. */
INTERP_API interp_status interp_call_write(interp_call *c, const void *p, size_t n, size_t *taken, interp_error **err);
/** Ends standard input of an interactive exec once all that was written has been read: the code sees end of file; or the content of a put. Twice is fine. T3. Errors: INVAL, CLOSED. */
INTERP_API interp_status interp_call_write_end(interp_call *c, interp_error **err);
/** Reads output of an exec by offset, while it runs and after, without taking anything away: up to size bytes of stream (INTERP_STREAM_*) from offset on, counted after redaction. *n bytes are given;
    *at (may be NULL) is the offset of the first of them: behind offset where what lies between is not kept. Looks once for news, never blocks. OK; AGAIN: nothing there yet; DONE: the exec has ended and
    there is no more. Ask on with *at + *n.
    With hold_output the library holds what has not been asked for past: asking from an offset on lets go of what lies before it, so that a reader who goes on in steps misses nothing and gets nothing
    twice, however long it pauses; the guest stalls meanwhile, as on a full pipe. Offset INTERP_FOREVER lets go of the rest of both streams (buf may be NULL). Without hold_output what the result would keep
    can be read, until it has been taken, and nothing stalls. interp_call_wait and interp_ctx_next tell of held output that was not there at the last look.
    T3. Errors: INVAL (no exec, arguments), BUSY, FORKED. */
INTERP_API interp_status interp_call_output(interp_call *c, int32_t stream, uint64_t offset, void *buf, size_t size, size_t *n, uint64_t *at, interp_error **err);
/** Sends a signal (Linux's number, 1 to 31) to the processes that the exec has started. SIGINT goes to its kernel too, as Ctrl-C: code that does not catch it ends with outcome error, interrupted
    "signal", and nothing follows it, unlike a cancel. Without effect before the code runs. A shell that gets it just between two commands may run the next one first, as shells do: send it again.
    T3. Errors: INVAL (no exec, no such signal), CLOSED (it has ended), BUSY. */
INTERP_API interp_status interp_call_signal(interp_call *c, int32_t sig, interp_error **err);
/** Changes the size of the terminal of an exec that has one (`pty` of its request), 1 to 65,535 each; programs hear of it by SIGWINCH. T3. Errors: INVAL (no terminal, sizes), CLOSED (it has ended), BUSY. */
INTERP_API interp_status interp_call_resize(interp_call *c, uint32_t rows, uint32_t columns, interp_error **err);
/** Next event: OK and *ev (borrowed until the next call of this function or the free), AGAIN, or DONE after the last. Pulling is what lets a streaming guest go on. T3. */
INTERP_API interp_status interp_call_next(interp_call *c, const interp_event **ev);
/** Answers an event that asks (SCREEN), now or later, until screen_timeout_ms is over: verdict INTERP_OK lets the code run, with {"code": …} or {"code_base64": …} that code in its place (the config's rules
    hold for it, too); INTERP_E_DENIED with {"reason": …} ends the exec as denied, cause "screen"; the reason is for the model. json may be NULL; len may be INTERP_NTS. T3.
    Errors: INVAL, NOT_FOUND (nothing waits for that reply), CLOSED (the exec has ended), LIMIT, NOMEM. */
INTERP_API interp_status interp_call_reply(interp_call *c, uint64_t reply_id, interp_status verdict, const char *json, size_t len, interp_error **err);
/** Ends a done call: takes the result of an exec (once; *out NULL afterwards or for other kinds; out may be NULL) or the error of another kind. AGAIN when it is not done.
    Does not free. T3. */
INTERP_API interp_status interp_call_finish(interp_call *c, interp_result **out, interp_error **err);
/** Frees a call; NULL is fine. An unfinished one is abandoned: cancelled, its result dropped, the session stays usable. Never blocks. T3. */
INTERP_API void interp_call_free(interp_call *c);

/* ---- events: every field by getter, neutral values where it does not apply */

/** Types of events. Append-only: skip unknown ones. */
enum {
    INTERP_EV_OUTPUT = 1,        /**< bytes of stdout or stderr */
    INTERP_EV_GAP = 2,           /**< output that was dropped: interp_event_missing bytes from interp_event_offset; only while an exec is being ended and nobody pulls */
    INTERP_EV_DATA = 3,          /**< bytes of a file, from interp_event_offset on */
    INTERP_EV_PROGRESS = 4,      /**< a step of an open, as JSON */
    INTERP_EV_WRITABLE = 5,      /**< an interp_call_write that took less than all has room again */
    INTERP_EV_SCREEN = 7,        /**< may this run? JSON {exec, language, kernel, code, code_base64 when it is no UTF-8, actor, request_id, traceparent}; answer with interp_call_reply */
    INTERP_EV_DONE = 8,          /**< the last event of a call: finish it */
    INTERP_EV_LATE_OUTPUT = 9,   /**< bytes that background work of an earlier exec wrote: of a streaming exec in flight, or a notice of the context */
    INTERP_EV_SESSION_GONE = 10, /**< a notice of the context: a session has ended without its host's doing (idle, lifetime, its sandbox died); JSON {"session", "reason", "message"} */
    INTERP_EV_AUDIT = 11         /**< a notice of the context: a record of its audit trail, as JSON without a newline; interp_event_missing says how many before it were dropped */
};
/** INTERP_EV_*; 0 for NULL. */
INTERP_API int32_t interp_event_type(const interp_event *e);
/** The session's number of the exec that the output comes from, from 1. */
INTERP_API uint64_t interp_event_exec(const interp_event *e);
/** INTERP_STREAM_*; 0 when it has none. */
INTERP_API int32_t interp_event_stream(const interp_event *e);
/** Byte offset in that exec's stream as it is seen, after redaction. */
INTERP_API uint64_t interp_event_offset(const interp_event *e);
/** Length of a GAP in bytes; of a notice: how many before it nobody took in time; 0 otherwise. */
INTERP_API uint64_t interp_event_missing(const interp_event *e);
/** Running number over all events of the session. */
INTERP_API uint64_t interp_event_seq(const interp_event *e);
/** The id of the session that a notice is about, as in interp_session_info_json; "" otherwise. */
INTERP_API const char *interp_event_session_id(const interp_event *e);
/** The bytes, at most 64 KiB. */
INTERP_API const void *interp_event_data(const interp_event *e, size_t *len);
/** What interp_call_reply takes to answer this event; 0 when it asks nothing. */
INTERP_API uint64_t interp_event_reply_id(const interp_event *e);
/** The JSON of a PROGRESS, SCREEN or AUDIT event, "" otherwise. */
INTERP_API const char *interp_event_json(const interp_event *e, size_t *len);

INTERP_END_DECLS
#endif
