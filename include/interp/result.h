/* result.h - what an exec came to. Part of <interp/interp.h>.
   SPDX-License-Identifier: MIT

   A result is immutable and self-contained: T1 throughout, valid after session and context are gone, until interp_result_free. Getters accept NULL
   and then say "failed, unknown". Everything handed out is borrowed until the free. */
#ifndef INTERP_RESULT_H
#define INTERP_RESULT_H
#include <interp/base.h>
INTERP_BEGIN_DECLS

/** Outcomes. 0 is none, so that a zeroed value is never success; treat an unknown one as failure. */
enum {
    INTERP_OUTCOME_OK        = 1,   /**< ran to the end, exit code 0 */
    INTERP_OUTCOME_ERROR     = 2,   /**< user code failed, did not compile (cause "compile"), or never ran for want of an interpreter (cause "interpreter") */
    INTERP_OUTCOME_TIMEOUT   = 3,   /**< a deadline ended it: cause "wall", "cpu", "idle_output" */
    INTERP_OUTCOME_CANCELLED = 4,   /**< the host cancelled it */
    INTERP_OUTCOME_OOM       = 5,   /**< the memory limit ended the kernel: cause "memory" */
    INTERP_OUTCOME_LIMIT     = 6,   /**< another limit ended it or kept it from starting: cause "pids", "disk", "inodes", "file_size" */
    INTERP_OUTCOME_CRASHED   = 7,   /**< the kernel process ended by itself, or broke the protocol (cause "protocol") */
    INTERP_OUTCOME_DENIED    = 8,   /**< policy refused it before it ran */
    INTERP_OUTCOME_LOST      = 9    /**< the sandbox or its stream died */
};
/** What is left of the kernel's state after the exec. */
enum {
    INTERP_STATE_PRESERVED = 1,     /**< as the code left it */
    INTERP_STATE_RESTORED  = 2,     /**< rolled back to before this exec, or to its last save */
    INTERP_STATE_RESET     = 3,     /**< the next exec starts a fresh kernel; files are kept */
    INTERP_STATE_GONE      = 4      /**< the session is gone: open a new one */
};
/** Output streams. */
enum { INTERP_STREAM_STDOUT = 1, INTERP_STREAM_STDERR = 2 };

/** Frees a result; NULL is fine. */
INTERP_API void interp_result_free(interp_result *r);
/** The test for success: 1 when the outcome is OK, else 0 (also for NULL). */
INTERP_API int32_t interp_result_ok(const interp_result *r);
/** INTERP_OUTCOME_*; 0 for NULL. */
INTERP_API int32_t interp_result_outcome(const interp_result *r);
/** "ok", "error", "timeout" and so on; "none" for NULL. */
INTERP_API const char *interp_result_outcome_name(const interp_result *r);
/** Why, as a word from an open set ("wall", "memory", "interpreter", "protocol"); "" when the outcome says it all. */
INTERP_API const char *interp_result_cause(const interp_result *r);
/** INTERP_STATE_*; GONE for NULL. */
INTERP_API int32_t interp_result_state(const interp_result *r);
/** Whether user code may have run: 1 yes, 0 no, INTERP_NONE unknown. */
INTERP_API int32_t interp_result_ran(const interp_result *r);
/** "wall", "cpu", "idle_output", "cancel", or "signal" (interp_call_signal, or Ctrl-C typed at the exec's terminal) when a SIGINT was sent during the exec, else "". */
INTERP_API const char *interp_result_interrupted(const interp_result *r);
/** Exit code, or INTERP_NONE. An uncaught exception of Python or JavaScript is 1. */
INTERP_API int32_t interp_result_exit_code(const interp_result *r);
/** Number of the signal that ended the kernel process, or INTERP_NONE. */
INTERP_API int32_t interp_result_signal(const interp_result *r);
/** Who vouches for outcome, exit code and state: "host", or "guest" when only the (possibly altered) kernel said so. */
INTERP_API const char *interp_result_claimed_by(const interp_result *r);
/** A stream as text for a model: head, one line that says how much is missing, tail. *len may be NULL. The bytes are the guest's; a NUL follows. */
INTERP_API const char *interp_result_text(const interp_result *r, int32_t stream, size_t *len);
/** The kept start of a stream, bytes. */
INTERP_API const void *interp_result_head(const interp_result *r, int32_t stream, size_t *len);
/** The kept end of a stream, bytes; empty unless it was truncated. */
INTERP_API const void *interp_result_tail(const interp_result *r, int32_t stream, size_t *len);
/** All bytes that the stream had, kept or not; counted as it is seen, after redaction. */
INTERP_API uint64_t interp_result_total_bytes(const interp_result *r, int32_t stream);
/** All newlines that the stream had, plus one for an unfinished last line. */
INTERP_API uint64_t interp_result_total_lines(const interp_result *r, int32_t stream);
/** 1 when bytes are missing between head and tail. */
INTERP_API int32_t interp_result_truncated(const interp_result *r, int32_t stream);
/** text/plain of the last expression's value, or NULL when there was none. *len may be NULL. */
INTERP_API const char *interp_result_value(const interp_result *r, size_t *len);
/** Structured error: type, message, traceback; "" when there was none. *len may be NULL. */
INTERP_API const char *interp_result_error_type(const interp_result *r, size_t *len);
INTERP_API const char *interp_result_error_message(const interp_result *r, size_t *len);
INTERP_API const char *interp_result_error_traceback(const interp_result *r, size_t *len);
/** Line of the error in the exec's own code, or INTERP_NONE. */
INTERP_API int32_t interp_result_error_line(const interp_result *r);
/** What to do about a failure, in words for a model; "" when there is nothing to say. Made by the host from the facts of this result. *len may be NULL. */
INTERP_API const char *interp_result_hint(const interp_result *r, size_t *len);
/** Which step of a one-shot language ended it: "compile" or "run"; "" for languages that keep state and when nothing was started. */
INTERP_API const char *interp_result_step(const interp_result *r);
/** What the compiler of a one-shot language said, warnings of a good build included; the first 256 KiB. *len may be NULL. */
INTERP_API const char *interp_result_compile_output(const interp_result *r, size_t *len);
/** Wall time and CPU time in nanoseconds, highest memory in bytes; INTERP_UNKNOWN when not measured. */
INTERP_API uint64_t interp_result_wall_ns(const interp_result *r);
INTERP_API uint64_t interp_result_cpu_ns(const interp_result *r);
INTERP_API uint64_t interp_result_memory_peak_bytes(const interp_result *r);
/** Parts of value and displays: each is one MIME type of one bundle. bundle 0 is the value when there is one. */
INTERP_API uint32_t interp_result_part_count(const interp_result *r);
/** Part i: its bytes, MIME type, and the number of the bundle it belongs to (each out-pointer may be NULL). NULL past the end. */
INTERP_API const void *interp_result_part(const interp_result *r, uint32_t i, const char **mime, uint32_t *bundle, size_t *len);
/** How many bytes part i had before it was shortened to the session's value_bytes; its length when it was not. 0 past the end. */
INTERP_API uint64_t interp_result_part_total_bytes(const interp_result *r, uint32_t i);
/** Everything as JSON. *len may be NULL. Never NULL; built once, any thread. */
INTERP_API const char *interp_result_json(const interp_result *r, size_t *len);

/* ---- the whole stream. What lies between head and tail is there when the session has a spill_dir: a file without a name in that directory, which the result holds open (one
   descriptor a stream) and which is gone with it. Offsets are those of the events, in the stream as it is seen, after redaction. */

/** Reads up to n bytes of a stream from offset; *got says how many, less than n at the end and before a gap. Streams that were kept whole can be read, too. Blocks on the disk.
    DONE at or past the end. Errors: NOT_FOUND (reason "spill-gap": nothing was kept there; the message says where it goes on), IO (reason "spill-read"), INVAL. */
INTERP_API interp_status interp_result_read(const interp_result *r, int32_t stream, uint64_t offset, void *p, size_t n, size_t *got, interp_error **err);
/** Finds the first place at or behind from where a text of n bytes stands (1 to 4,096; n may be INTERP_NTS): its offset, and its line, counted from 1 over the whole stream (either may be NULL).
    Looks at all there is, at most spill_bytes. DONE when it is nowhere. Errors: INVAL, IO, NOMEM. */
INTERP_API interp_status interp_result_find(const interp_result *r, int32_t stream, const void *text, size_t n, uint64_t from, uint64_t *offset, uint64_t *line, interp_error **err);
/** Keeps a stream: writes it to a new file as gzip, mode 0600; a line says where bytes are missing. Blocks: compressing takes about a second for 100 MB. On failure no file is left.
    Errors: INVAL, EXISTS (the file is there, or the path is a link), IO (reason "spill-save", with errno), NOMEM. */
INTERP_API interp_status interp_result_save(const interp_result *r, int32_t stream, const char *path, interp_error **err);
/** Bytes of the stream that can be read: all of them unless something was left out. */
INTERP_API uint64_t interp_result_readable_bytes(const interp_result *r, int32_t stream);

/** About how many tokens a language model makes of a text (n bytes; n may be INTERP_NTS): the estimate that output_tokens goes by. Models differ; it errs on the high side. 0 for NULL. T1. */
INTERP_API uint64_t interp_estimate_tokens(const void *p, size_t n);

/** What an exec did to a file. Append-only. */
enum { INTERP_FILE_CREATED = 1, INTERP_FILE_CHANGED = 2, INTERP_FILE_DELETED = 3 };
/** Files that the exec created, changed or deleted, with option change_set; 0 without. The guest's word, and the JSON ("files") has all of it: type, size, MIME type by content, SHA-256 of those up to
    16 MiB together, and whether the set is complete. What is written through a mapping that an earlier exec left behind is not seen. T1. */
INTERP_API uint32_t interp_result_file_count(const interp_result *r);
/** INTERP_FILE_*; 0 past the end. T1. */
INTERP_API int32_t interp_result_file_change(const interp_result *r, uint32_t i);
/** Its path below the workspace, redacted; "" past the end. Borrowed. T1. */
INTERP_API const char *interp_result_file_path(const interp_result *r, uint32_t i, size_t *len);
/** Its content, with option fetch_files_bytes, NUL behind; texts are redacted. NULL when it did not come. Borrowed. T1. */
INTERP_API const void *interp_result_file_data(const interp_result *r, uint32_t i, size_t *len);

INTERP_END_DECLS
#endif
