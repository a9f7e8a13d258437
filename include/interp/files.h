/* files.h - files of a session: put, get, list, stat, mkdir, rename, remove. Part of <interp/interp.h>.
   SPDX-License-Identifier: MIT

   The work is done inside the sandbox by a process with the rights and limits of user code. Any number of these calls may be in flight beside execs.

   A path is bytes without NUL, 1 to 4,095 of them; len may be INTERP_NTS. A relative path is below /workspace and does not leave it: one that would by ".." is INVAL, one that
   would by a link is DENIED. An absolute path may reach what user code may reach; below /workspace/ it is as the relative one. What a name means is decided when the work is done.

   A call that hears nothing from the sandbox for the session's timeout_ms ends with TIMEOUT; time in which the host does not write or pull does not count. Freeing an unfinished call
   abandons it: a put that was not ended leaves nothing.
   Errors of the work: NOT_FOUND, EXISTS, DENIED (no permission, a read-only place, a link that leaves the workspace), LIMIT (disk or file size full, too many processes, larger than max), INVAL (a directory
   where a file is needed or the reverse, not a regular file, a directory that is not empty), IO (anything else; the errno is the sandbox's), TIMEOUT, CLOSED. Names in messages
   and JSON are redacted; the content of files is not. */
#ifndef INTERP_FILES_H
#define INTERP_FILES_H
#include <interp/base.h>
INTERP_BEGIN_DECLS

/** What a blocking form brought back: immutable, any thread, outlives session and context. */
typedef struct interp_content interp_content;

/** Flags of the calls below; those that a call does not know are INVAL. */
enum {
    INTERP_FILE_PARENTS = 1u,    /**< mkdir: missing parents too, and a directory that is there is fine */
    INTERP_FILE_RECURSIVE = 2u,  /**< list: all below; remove: a directory with all that is in it */
    INTERP_FILE_KEEP = 4u        /**< rename: EXISTS when the new name is taken, where it would be replaced otherwise */
};

/** Starts a put: the content by interp_call_write (which takes what fits; a WRITABLE event says that there is room again), its end by interp_call_write_end. size is its length, or
    INTERP_UNKNOWN; another number of bytes is INVAL and nothing is put. mode: permission bits, at most 0777. Missing parents are made. The file appears under its name when it is
    whole, and replaces a file or a link; JSON {"size","mode","mtime_ms"}. T3. Errors of the start: INVAL, CLOSED, BUSY (still opening), NOMEM. */
INTERP_API interp_status interp_session_put_start(interp_session *s, const void *path, size_t len, uint64_t size, uint32_t mode, interp_call **call, interp_error **err);
/** Starts a get of a regular file: its content comes as DATA events, which hold the sandbox back until they are pulled. A file larger than max bytes is LIMIT (INTERP_FOREVER: none is too large); one that grows
    meanwhile is cut where it ended when it was opened, one that becomes shorter is IO, one that can't say how large it is, as those of /proc, is LIMIT past 16 MiB. JSON as of put. T3. Errors as for put. */
INTERP_API interp_status interp_session_get_start(interp_session *s, const void *path, size_t len, uint64_t max, interp_call **call, interp_error **err);
/** Starts a list of a directory, in order of names: JSON {"entries":[{"name","type","size","mode","mtime_ms"}],"complete"}, type being file, dir, link, fifo, socket, char or block. With RECURSIVE a name is
    the path below the directory, links are not followed, and a directory that could not be entered has "closed":true. A name that is not UTF-8 shows U+FFFD and has "path_base64" beside it.
    max: 1 to 1,000,000 entries; complete is false when that left some out. T3. */
INTERP_API interp_status interp_session_list_start(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, interp_call **call, interp_error **err);
/** Starts a look at one name, a link itself rather than what it leads to: JSON as an entry of list without the name, with "target" for a link. T3. */
INTERP_API interp_status interp_session_stat_start(interp_session *s, const void *path, size_t len, interp_call **call, interp_error **err);
/** Starts making a directory; JSON {"created": bool}. T3. */
INTERP_API interp_status interp_session_mkdir_start(interp_session *s, const void *path, size_t len, uint32_t flags, interp_call **call, interp_error **err);
/** Starts a rename, as rename(2); not across file systems. T3. */
INTERP_API interp_status interp_session_rename_start(interp_session *s, const void *from, size_t from_len, const void *to, size_t to_len, uint32_t flags, interp_call **call, interp_error **err);
/** Starts a remove of a file, link (not what it leads to) or empty directory; JSON {"removed": how many}. T3. */
INTERP_API interp_status interp_session_remove_start(interp_session *s, const void *path, size_t len, uint32_t flags, interp_call **call, interp_error **err);
/** What a finished call of these kinds says, "{}" before and when it failed. *len may be NULL. Borrowed until the free. T3. */
INTERP_API const char *interp_call_json(const interp_call *c, size_t *len);

/** Blocking forms: *out gets the content of the file, or the JSON of the call. T3. */
INTERP_API interp_status interp_session_put(interp_session *s, const void *path, size_t len, uint32_t mode, const void *p, size_t n, interp_error **err);
INTERP_API interp_status interp_session_get(interp_session *s, const void *path, size_t len, uint64_t max, interp_content **out, interp_error **err);
INTERP_API interp_status interp_session_list(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, interp_content **out, interp_error **err);
INTERP_API interp_status interp_session_stat(interp_session *s, const void *path, size_t len, interp_content **out, interp_error **err);
INTERP_API interp_status interp_session_mkdir(interp_session *s, const void *path, size_t len, uint32_t flags, interp_error **err);
INTERP_API interp_status interp_session_rename(interp_session *s, const void *from, size_t from_len, const void *to, size_t to_len, uint32_t flags, interp_error **err);
INTERP_API interp_status interp_session_remove(interp_session *s, const void *path, size_t len, uint32_t flags, interp_error **err);
/** The bytes, NUL behind; "" for NULL. Borrowed until the free. T1. */
INTERP_API const void *interp_content_data(const interp_content *c, size_t *len);
/** Frees it; NULL is fine. */
INTERP_API void interp_content_free(interp_content *c);

INTERP_END_DECLS
#endif
