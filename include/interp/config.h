/* config.h - how to open a session. Part of <interp/interp.h>.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_CONFIG_H
#define INTERP_CONFIG_H
#include <interp/base.h>
#include <interp/options.h>
INTERP_BEGIN_DECLS

/** Makes a config with the defaults. T2. Errors: INVAL, NOMEM, FORKED. */
INTERP_API interp_status interp_config_new(interp_ctx *x, interp_config **out, interp_error **err);
/** Applies a JSON object over what is set; keys are the setters' names, plus env {name: value}, mounts [{source, target, mode}],
    runtimes [directory], interpreters {language: path}, languages [{...}] (as interp_config_add_language), labels {name: value}, policy {…}, audit {…} (as interp_audit_open takes it: starts the context's
    trail at the open, unless the same text has done so already), and "<backend>.<key>" for what only a backend knows. mounts and runtimes replace what was there, the others add. All or nothing:
    on an error the config is as before. len may be INTERP_NTS. T3. Errors: INVAL naming the key (unknown, given twice, wrong type, out of range, nested too deep), NOMEM. */
INTERP_API interp_status interp_config_set_json(interp_config *c, const char *json, size_t len, interp_error **err);
/** Sets an environment variable of all kernels of the session (name NUL-terminated, no '='; value n bytes, no NUL; n may be INTERP_NTS). The first 1,024 names,
    32 KiB together. T3. Errors: INVAL, LIMIT, NOMEM. */
INTERP_API interp_status interp_config_set_env(interp_config *c, const char *name, const void *value, size_t n, interp_error **err);
/** Shows a directory or file of the host inside: source is its absolute path without symbolic links (none is followed), target where it appears (NULL: at the same path), mode "ro" or
    "rw". Other file systems mounted below source are not carried in: opening says which there are. Never on top of the system (/usr, /etc, /proc, /dev, /sys, ...).
    ro: a view that shares nothing but the bytes (an overlay); where only a bind can be had, the session's `reached` says so. rw: what is written inside is written to the host's directory, by
    whoever owns source, without any of the limits of disk; no setuid or setgid bit can be set there. At most 32 with runtimes. The source is looked at when a session is opened, with this
    process's rights. T3. Errors: INVAL, EXISTS (target is taken), LIMIT, NOMEM. */
INTERP_API interp_status interp_config_add_mount(interp_config *c, const char *source, const char *target, const char *mode, interp_error **err);
/** Shows a directory of the host with software inside, read-only and at the same path; symbolic links in the path itself are resolved. T3. Errors: INVAL, EXISTS, LIMIT, NOMEM. */
INTERP_API interp_status interp_config_add_runtime(interp_config *c, const char *directory, interp_error **err);
/** Which program is the interpreter of a language: an absolute path. Locally it is the host's, and what it needs appears inside read-only at the same path: its prefix (bin, lib, ...), for a
    virtual environment that and what it was made from, and the library directories that it names. The environment is believed in what it says it was made from: an interpreter in
    a directory that a sandbox may write (a mount rw) lets code there choose which directory of this user's the next session shows. In an engine it is the image's. Its directory comes first in PATH. T3.
    Errors: INVAL (a language without kernels, a path that is not absolute), NOMEM. */
INTERP_API interp_status interp_config_set_interpreter(interp_config *c, const char *language, const char *path, interp_error **err);
/** Sets rules for the code of the session's execs, as a JSON object (replaces what was set; len may be INTERP_NTS). What breaks one is not run: outcome denied, cause the rule's name, a reason for the model, state preserved.
      languages [name]            the only ones
      code_bytes N                at most
      imports {allow, deny}       modules of Python and JavaScript, "os" with all below it; or {python: {…}, javascript: {…}}
      commands {allow, deny}      programs and builtins of Bash and sh
      paths {allow, deny}         prefixes of paths in texts and arguments, "/etc" with all below it
      dynamic "allow" | "deny"    names that are known only at run time; not set: denied where there is an allow
    The code is read, not run: this stops accidents and tells a model what it may do. What can't be read with certainty is denied where there is a rule: a quote without an end, what shells read differently.
    It is a first line and no sandbox: who wants to hide a name from it can. T3. Errors: INVAL naming the member, NOMEM. */
INTERP_API interp_status interp_config_set_policy(interp_config *c, const char *json, size_t len, interp_error **err);
/** Sets a label for the audit trail, on all records of the session; as interp_request_set_label. T3. Errors: INVAL, LIMIT, NOMEM. */
INTERP_API interp_status interp_config_set_label(interp_config *c, const char *name, const char *value, interp_error **err);
/** Attaches a cancel object to the open; NULL detaches. Holds a reference. T3. */
INTERP_API interp_status interp_config_set_cancel(interp_config *c, interp_cancel *t, interp_error **err);
/** Sets an option of a backend: key "<backend>.<key>", value as JSON text. The backend checks it at open. T3. Errors: INVAL, NOMEM. */
INTERP_API interp_status interp_config_set_extra(interp_config *c, const char *key, const char *json, size_t len, interp_error **err);
/** Adds a one-shot language, or replaces one of that name (a built-in one too; not python, javascript, bash, sh): a JSON object of at most 32 KiB,
    {"name": "zig", "aliases": [], "file": "main.zig", "compile": ["zig", "build-exe", "-femit-bin={out}/program", "{file}"], "run": ["{out}/program"],
    "env": {}, "errors": ["%f:%l:%c: %s: %m"], "run_errors": [], "install": "zig"}. compile may be missing; several ways to do it are "toolchains": [{compile, run, env}], the first
    whose programs are there and whose compile does not end with 96. In arguments {file} {src} {out} {workspace} {name} {heap_mib} (half of the memory) are filled in. Patterns of
    errors: %f file, %l line, %c column, %s severity, %m message, %k code, %t type, %* anything; "+" in front: the place of what the line before began.
    At most 32. T3. Errors: INVAL naming the member, LIMIT, NOMEM. */
INTERP_API interp_status interp_config_add_language(interp_config *c, const char *json, size_t len, interp_error **err);
/** The languages of a session with this config as a JSON array: [{"name", "aliases": [], "state": true|false (kernels keep it), "compiles": true|false, "programs": "cc, gcc, clang, tcc"
    (looked for in the sandbox)}]. *len may be NULL. Borrowed until the next call on c. NULL on NOMEM. T3. */
INTERP_API const char *interp_config_languages_json(interp_config *c, size_t *len);
/** The effective values as a JSON object; names only for env and languages. *len may be NULL. Borrowed until the next call on c. NULL on NOMEM. T3. */
INTERP_API const char *interp_config_json(interp_config *c, size_t *len);
/** Frees the config, wiping it; legal right after an open has started. NULL is fine. Exclusive. */
INTERP_API void interp_config_free(interp_config *c);

INTERP_END_DECLS
#endif
