/* backend.h - how a sandbox is made: the table that a backend fills in and the services that the core gives it.
   SPDX-License-Identifier: MIT

   A backend makes a sandbox, starts the guest agent in it, gives a byte stream to it, and kills it for certain. Deadlines, caps,
   results belong to the core. No slot ever blocks: the core owns the poll loop; the backend asks it to watch descriptors and timers.
   Slots of one link run on one thread at a time; of different links concurrently. The core never calls a slot from inside a service call, nor the
   reverse: `notify` and `fail` only mark. Both tables are size-first and append-only: `struct_size` smaller than version 1's is an error, extra slots are ignored. */
#ifndef INTERP_BACKEND_H
#define INTERP_BACKEND_H
#include <interp/base.h>
INTERP_BEGIN_DECLS

typedef struct interp_link interp_link;   /**< the core's side of one sandbox; valid until the backend's close has notified CLOSED, or abandon has returned */

/** Masks of watch. */
enum { INTERP_IO_IN = 1u, INTERP_IO_OUT = 2u };
/** News for notify. OPENED, KILLED, STATS, CLOSED end what the slot of that name started; READABLE and WRITABLE ask for read and write to be tried. */
enum { INTERP_LINK_OPENED = 1, INTERP_LINK_READABLE = 2, INTERP_LINK_WRITABLE = 3, INTERP_LINK_KILLED = 4, INTERP_LINK_STATS = 5, INTERP_LINK_CLOSED = 6 };
/** Isolation levels, weakest first (interp_spec.min_isolation). */
enum { INTERP_ISOLATION_PROCESS = 1, INTERP_ISOLATION_LANDLOCK = 2, INTERP_ISOLATION_NAMESPACES = 3, INTERP_ISOLATION_FULL = 4 };
/** interp_spec.flags: the limit was asked for by the host, so it must be enforced or open fails (else it is a default, reported when unenforced). */
enum { INTERP_SPEC_MEMORY_ASKED = 1u, INTERP_SPEC_CPU_ASKED = 2u, INTERP_SPEC_PIDS_ASKED = 4u, INTERP_SPEC_INODES_ASKED = 8u, INTERP_SPEC_FILE_ASKED = 16u, INTERP_SPEC_WORKSPACE_ASKED = 32u, INTERP_SPEC_PTY = 64u };
/** interp_spec.mount_flags: WRITABLE, what is written inside is written to the host's directory; RUNTIME, software at the same path inside (target is source), whose own path may be a symbolic link. */
enum { INTERP_MOUNT_WRITABLE = 1u, INTERP_MOUNT_RUNTIME = 2u };

/** Services of the core. Valid until the backend's destroy has run. Check struct_size before using a slot newer than version 1. */
typedef struct interp_host_ops {
    uint32_t struct_size, reserved0;
    /** Watches a descriptor for INTERP_IO_* (level-triggered); mask 0 forgets it, which must come before the descriptor is closed. Any number. */
    interp_status (*watch)(interp_link *l, int fd, uint32_t mask);
    /** One timer a link: advance is called at this CLOCK_MONOTONIC time in nanoseconds; 0 = none. */
    interp_status (*timer)(interp_link *l, uint64_t deadline_ns);
    /** "Call advance before sleeping": the backend holds bytes or work of its own. */
    void (*again)(interp_link *l);
    /** The one call for any thread: advance soon. */
    void (*wake)(interp_link *l);
    /** Marks news, INTERP_LINK_*. */
    void (*notify)(interp_link *l, int32_t what);
    /** Progress of open as a JSON object, for PROGRESS events. */
    void (*progress)(interp_link *l, const char *json, size_t len);
    /** Ends the step in progress (or the link, once open) with an error; message and remedy are sentences, remedy may be "". Returns code. */
    interp_status (*fail)(interp_link *l, interp_status code, const char *reason, int32_t sys_errno, const char *message, const char *remedy);
    /** The value that the config has for "<name of this backend>.<key>", as JSON text; NOT_FOUND when it was not set. Borrowed until the link ends.
        To be asked for in open: a key set by the host that nobody asked for there makes opening fail. */
    interp_status (*option)(interp_link *l, const char *key, const char **json, size_t *len);
    /** The guest agent for an architecture; UNSUPPORTED when this build has none, NOMEM. Borrowed until the link ends. */
    interp_status (*agent)(interp_link *l, const char *arch, const void **data, size_t *len);
    /** What was reached, as a JSON object: isolation, ids, memory, cpu, pids, landlock, shared_inodes, unenforced. Before OPENED. When interp_spec names mounts, `mounts` is an array
        with one object for each that stands, {target, mode, …}: a backend that does not give as many as were asked for has its sandbox closed, and opening fails.
        `interpreters` may have, by language, the path inside that stands for one of interp_spec; `home` and `tmp` directories that stand for /home and /tmp. */
    void (*reached)(interp_link *l, const char *json, size_t len);
    /** The context's allocator. */
    void *(*realloc)(interp_link *l, void *p, size_t old_size, size_t new_size);
    /** The context's log, levels as in interp_log_fn. */
    void (*log)(interp_link *l, int32_t level, const char *msg, size_t len);
} interp_host_ops;

/** What to make. Append-only; zero or NULL means not asked. Texts are borrowed for the duration of open. */
typedef struct interp_spec {
    uint32_t struct_size, flags;
    const char *session_id, *owner_label;
    uint64_t memory_bytes, workspace_bytes, workspace_inodes, file_bytes, deadline_ns;
    uint32_t cpu_millis, pids, min_isolation, descriptors;
    const char *image, *pull, *endpoint, *runtime, *user;   /**< as the config's options of those names; "" when not set */
    uint32_t nmounts, ninterpreters;
    const char *const *mount_sources, *const *mount_targets;   /**< nmounts each: absolute paths without "." and "..", UTF-8; of the host, and inside */
    const uint32_t *mount_flags;                              /**< INTERP_MOUNT_*, nmounts */
    const char *const *interpreter_languages, *const *interpreters;   /**< ninterpreters each: which program inside is the language's interpreter */
} interp_spec;

/** The backend. open, advance, read, write, kill, close, abandon are required; a missing optional slot is INTERP_E_UNSUPPORTED. */
typedef struct interp_backend_ops {
    uint32_t struct_size;
    uint32_t needs_host_ops;   /**< smallest interp_host_ops.struct_size that it can work with, else UNSUPPORTED at registration */
    const char *name;          /**< copied; a-z, 0-9, '-' */
    /** Starts and returns; notify(OPENED) or fail() ends it. *inst may be set even when it fails; close is called exactly once when it was set. */
    interp_status (*open)(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst);
    /** A watched descriptor, the timer, again or wake fired: try everything. */
    void (*advance)(void *inst);
    /** OK with *n > 0, AGAIN, DONE (end of stream), or an error. */
    interp_status (*read)(void *inst, void *buf, size_t cap, size_t *n);
    /** OK with *n > 0, AGAIN, or an error. A retry may come with another address and more bytes. */
    interp_status (*write)(void *inst, const void *buf, size_t len, size_t *n);
    /** Starts the kill, which must not need the guest's help; notify(KILLED) when the sandbox is verified gone. */
    interp_status (*kill)(void *inst);
    /** Optional. Starts; notify(STATS) after `reached` was called with the figures. */
    interp_status (*stats)(void *inst);
    /** Starts; notify(CLOSED) is the last word, after which inst is gone. Kills what still runs. */
    void (*close)(void *inst);
    /** Frees memory and descriptors now, no I/O: past close's deadline, or in a forked child. inst is gone. */
    void (*abandon)(void *inst);
    /** Optional. Like open, but instead of making a sandbox removes what sandboxes of dead owners have left, and nothing of anybody else's; progress() tells of each thing removed
        ({"step":"gc","removed":"container","name":…}). notify(OPENED) when it is through; then close is called. */
    interp_status (*gc)(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst);
    /** Optional. Like open, but only looks: is the backend usable, and what does it offer? reached() gets that as a JSON object; then notify(OPENED), or fail() with what is wrong and its remedy. */
    interp_status (*probe)(void *backend, const interp_host_ops *h, interp_link *l, const interp_spec *spec, void **inst);
    /** Optional. A config has named this backend, and this endpoint ("": none): does now what the first open would do once and take long over, such as loading a library or looking up a host
        name. It may block; it is called on the thread that sets the config, possibly on several at once. Whatever goes wrong is told by open. */
    void (*prepare)(void *backend, const char *endpoint);
    /** Reserved, NULL: pause, resume, reopen, list. */
    void (*reserved[5])(void);
} interp_backend_ops;

/** Registers a backend under its name. The table is copied. destroy (may be NULL) runs once with backend when the context goes and the last link has ended; on failure it runs
    at once. T2; before the first open only. Errors: INVAL (table too small, slot missing, bad name), EXISTS, UNSUPPORTED (needs a newer core), BUSY (sealed). */
INTERP_API interp_status interp_ctx_add_backend(interp_ctx *x, const interp_backend_ops *ops, void *backend, void (*destroy)(void *), interp_error **err);

INTERP_END_DECLS
#endif
