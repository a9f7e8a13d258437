/* tar.h - tar archives: one strict reader for what others made, and a writer. Pure: bytes in, entries out, nothing but the memory given; no I/O. */
#ifndef INTERP_LIB_CORE_TAR_H
#define INTERP_LIB_CORE_TAR_H
#include "base/buf.h"
#include "wire/wire.h"

enum { INTERP__TAR_BLOCK = 512, INTERP__TAR_EXTENSION_MAX = 64 << 10, INTERP__TAR_BEHIND_MAX = 16 << 20, INTERP__TREE_DEPTH = 64, INTERP__NAME_MAX = 255 };

/* One entry of a tree. path: 1 to WIRE_PATH_MAX bytes, components without "", "." and ".."; target: of a link as it is, of WIRE_TYPE_SAME a path like that. NUL behind both. */
struct interp__tree_entry { uint8_t type; uint32_t mode; uint64_t size; int64_t mtime_ns; const char *path, *target; size_t path_len, target_len; };

enum interp__tar_found { INTERP__TAR_MORE, INTERP__TAR_ENTRY, INTERP__TAR_DATA, INTERP__TAR_BAD };

struct interp__tar {
    struct interp__tree_entry entry;
    const uint8_t *data;               /* of a DATA, in what was given */
    size_t data_len;
    uint64_t headers, beside;          /* of all kinds, so far; bytes that are no content: theirs, what they say, padding */
    const char *reason, *words;        /* of a BAD, static */
    uint8_t ended;                     /* its end mark has been read: zeros may follow, to fill a block of whatever it was written on */
    uint8_t at_entry;                  /* a BAD is about path, path_len */
    /* the reader's own */
    uint8_t state, kind, has_path, has_target, has_size, has_mtime, has_pax, broken;
    uint32_t have, ext_have;
    uint64_t left, pad, size, behind;
    int64_t mtime_ns;
    size_t path_len, target_len;
    uint8_t block[INTERP__TAR_BLOCK];
    char path[WIRE_PATH_MAX + 1], target[WIRE_PATH_MAX + 1];
    uint8_t extension[INTERP__TAR_EXTENSION_MAX];
};
void interp__tar_init(struct interp__tar *t);
/* Reads on in *p, *n bytes, which it moves over what it took. MORE: all of it; ENTRY: t->entry; DATA: t->data, content of the last entry, of which all comes; BAD: no archive that is taken, for good. */
enum interp__tar_found interp__tar_read(struct interp__tar *t, const uint8_t **p, size_t *n);
/* 0, or -1 with reason and words: it may not end here. */
int interp__tar_finish(struct interp__tar *t);

void interp__tar_head(struct interp__buf *out, const struct interp__tree_entry *e);   /* what comes before an entry's content; a directory's path without "/" behind */
void interp__tar_fill(struct interp__buf *out, uint64_t size);                        /* behind content of so many bytes */
void interp__tar_end(struct interp__buf *out);

/* Makes of a name in an archive what `path` above is, in place: its length; 0: it is the directory itself; -1 with a reason. */
long interp__tree_path(char *p, size_t n, const char **reason, const char **words);
int  interp__tree_foreign(const char *p, size_t n);     /* what another system would take for a path: with ".." between backslashes, or a drive */
int  interp__tree_plain(const char *p, size_t n);       /* it is what `path` above is, but for its length */
long interp__tree_above(const char *p, size_t n);       /* how many directories are above what it names; p: such a path */
/* How many directories up a link's target leads before it goes down, if ".." is in front of it only: then it is within the tree wherever its names lead, when so many are above the link. -1: it is not to be had so. */
long interp__tree_up(const char *target, size_t n);
int  interp__tree_stays(const struct interp__tree_entry *e);   /* a link: so many are */
#endif
