/* tree.h - whole trees up and down: what lies between the records of the wire and an archive or a directory of the host's */
#ifndef INTERP_LIB_CORE_TREE_H
#define INTERP_LIB_CORE_TREE_H
#include "core/treedir.h"
#include "core/treelinks.h"

struct interp_session;
struct interp__file;
struct interp__gunzip;

struct interp__tree {
    const struct interp__mem *mem;
    uint32_t flags;                    /* INTERP_TREE_* */
    uint64_t max_bytes, max_entries;
    uint64_t files, dirs, links, bytes, entries, left_out, changed, placed;
    struct interp__buf left;           /* JSON objects, commas between: the first of those */
    struct interp__links known;        /* of an archive: other names of theirs may follow, or what would be written through one of them */
    uint8_t failed;                    /* it ends with `fault` and `text`, once the sandbox has answered */
    struct interp__fault fault;
    struct interp__buf text;
    /* up: an archive, or a walk */
    struct interp__tar *tar;
    struct interp__gunzip *packed;
    struct interp__walk *walk;
    uint64_t of_file;                  /* content of the entry that is still to come */
    uint8_t begun, skip;               /* skip: of an entry that is left out */
    /* down: records */
    struct interp__landing *landing;
    uint8_t lands;                     /* it had one from its start */
    struct interp__buf out;            /* of an archive */
    uint32_t have, depth;
    uint16_t ends[INTERP__TREE_DEPTH]; /* of the directories that `at` is made of */
    char at[WIRE_PATH_MAX + 1], path[WIRE_PATH_MAX + INTERP__NAME_MAX + 2], target[WIRE_PATH_MAX + 1];
    size_t path_len;
    uint8_t state, had_content, head[WIRE_ENTRY];      /* had_content: of the entry before, all has come */
    struct wire_entry entry;
};

struct interp__tree *interp__tree_new(const struct interp__mem *m, uint32_t flags, uint64_t max_bytes, uint64_t max_entries);
void interp__tree_free(struct interp__tree *t);
/* Up. After any of these f may be gone: its call has failed. */
void interp__tree_write(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n, size_t room, size_t *taken);
int  interp__tree_ended(struct interp_session *s, struct interp__file *f);        /* what was written is whole: 0, or -1 when the call has failed */
void interp__tree_fill(struct interp_session *s, struct interp__file *f, size_t room);   /* from its walk */
/* Down. -1: the sandbox has no business to send that. */
int  interp__tree_data(struct interp_session *s, struct interp__file *f, const uint8_t *p, size_t n);
int  interp__tree_whole(const struct interp__file *f, uint64_t count);             /* FILE_DONE may come */
void interp__tree_finish(struct interp_session *s, struct interp__file *f);       /* the archive's end, or the directories' times */
interp_error *interp__tree_error(struct interp_session *s, const struct interp__file *f, uint64_t placed);
void interp__tree_json(const struct interp__tree *t, int more, struct interp__buf *j);
#endif
