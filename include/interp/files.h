/* files.h - files of a session: put, get, list, stat, mkdir, rename, remove; whole trees, as tar or to and from a directory of the host. Part of <interp/interp.h>.
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

/** Flags of the calls on files; those that a call does not know are INVAL. */
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

/* ---- trees

   A tree is all that is below a directory: directories, regular files and, with LINKS, symbolic links. It goes up and down in one stream, in constant memory on both sides however large it is, but for some
   50 bytes for each link of an archive that is put, or is got with OUTSIDE.
   Everything stays below the directory that it is for: no link is followed there, names with ".." and absolute ones are DENIED, and so is what is neither file, directory nor link (hard links of an archive
   must be to files of it). Modes are permission bits; owners are nobody's. At most tree_bytes and tree_entries of the config, else LIMIT. Up to 64 directories deep.
   A call that fails has said in its message which entry it was and how many have been placed; these stay. The JSON of one that succeeds: {"files","dirs","links","bytes","left":[an entry as of list, and
   "why"],"left_total","changed","complete"}. left: what was left out, the first of it when that is much, because it is a "link" (see the flags) or another name of one, of a "type" that is none of the three, or
   "closed" (can't be read, or is too deep); and files that were "changed": shorter before they were read, zeros stand in for the rest. complete is true when nothing was.
   A file that does not say how large it is, as those of /proc, comes with all that reading it gives, up to 16 MiB; a larger one is "closed", and ends put_dir with LIMIT. */

/** Flags of the calls on trees; those that a call does not know are INVAL. */
enum {
    INTERP_TREE_KEEP = 4u,       /**< put: EXISTS when a name is taken by a file or link, which would be replaced otherwise */
    INTERP_TREE_LINKS = 8u,      /**< symbolic links too, when they lead to something within the tree; else put is DENIED and get leaves the link out. Without it all links are left out */
    INTERP_TREE_OUTSIDE = 16u,   /**< with LINKS: wherever they lead, absolute ones too */
    INTERP_TREE_INTO = 32u       /**< get_dir: the directory of the host may be there; a file of that name in it is EXISTS */
};

/** Starts putting a tree that an archive brings: tar (ustar, pax, GNU's long names), plain or packed by gzip, by interp_call_write and interp_call_write_end as for a put. path: the directory that it
    goes into, made when it is missing. A file replaces a file or link, a directory that is there stays as it is, a later entry of the same name replaces an earlier one. An archive that is damaged, cut
    off, of another kind, with sparse files or with anything behind its end but zeros (16 MiB of them) is INVAL. One write takes no more than can be unpacked at once, a MiB or so: WRITABLE says when to
    go on. T3. Errors of the start: INVAL, CLOSED, BUSY (still opening), NOMEM. */
INTERP_API interp_status interp_session_put_tar_start(interp_session *s, const void *path, size_t len, uint32_t flags, interp_call **call, interp_error **err);
/** Starts getting a directory as a tar archive: it comes as DATA events, which hold the sandbox back until they are pulled. The archive is written by the library, never by the sandbox: ustar, with pax
    headers where a name or a number needs one; times in seconds; hard links as files each. Names in it are as they are; with OUTSIDE, what was a link and is something else by now is IO, so that nothing
    is written through a link. max: bytes that the files may have, if that is less than tree_bytes. T3. Errors as above. */
INTERP_API interp_status interp_session_get_tar_start(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, interp_call **call, interp_error **err);
/** Starts putting a directory of the host, at the path dir, in the same way. It is read while the call is driven; no link in it is followed. One of its files that can't be read, or becomes shorter, ends the call.
    T3. Errors of the start: as above, and those of opening dir: NOT_FOUND, DENIED, IO. */
INTERP_API interp_status interp_session_put_dir_start(interp_session *s, const void *path, size_t len, uint32_t flags, const char *dir, interp_call **call, interp_error **err);
/** Starts getting a directory into one of the host, dir, which is made (EXISTS: it is there; see INTO) and filled while the call is driven. Files are made anew, each name once, with at most mode 0755 and never
    through a link. What has been placed by a call that fails stays, but for the file that was under way. T3. Errors of the start: as above, and those of making dir. */
INTERP_API interp_status interp_session_get_dir_start(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, const char *dir, interp_call **call, interp_error **err);

/** Blocking forms. *out gets the archive of get_tar, the JSON of all others, where it may be NULL. The archive is in memory, or comes from and goes to a descriptor of the host's, which is read to its end, written
    from where it stands, and stays open. T3. Errors as of the calls; IO of the descriptor. */
INTERP_API interp_status interp_session_put_tar(interp_session *s, const void *path, size_t len, uint32_t flags, const void *p, size_t n, interp_content **out, interp_error **err);
INTERP_API interp_status interp_session_put_tar_fd(interp_session *s, const void *path, size_t len, uint32_t flags, int32_t fd, interp_content **out, interp_error **err);
INTERP_API interp_status interp_session_get_tar(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, interp_content **out, interp_error **err);
INTERP_API interp_status interp_session_get_tar_fd(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, int32_t fd, interp_content **out, interp_error **err);
INTERP_API interp_status interp_session_put_dir(interp_session *s, const void *path, size_t len, uint32_t flags, const char *dir, interp_content **out, interp_error **err);
INTERP_API interp_status interp_session_get_dir(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, const char *dir, interp_content **out, interp_error **err);

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
