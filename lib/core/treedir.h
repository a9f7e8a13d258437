/* treedir.h - directories of the host, on the far side of a tree's transfer: walked for a put, filled by a get. No link is followed below them. */
#ifndef INTERP_LIB_CORE_TREEDIR_H
#define INTERP_LIB_CORE_TREEDIR_H
#include "core/tar.h"

/* A walk gives a directory before what is in it. type 0: it is neither file, directory nor link. */
struct interp__walk;
struct interp__walk *interp__walk_open(const struct interp__mem *m, const char *dir, int *error);     /* NULL: *error is an errno */
int  interp__walk_next(struct interp__walk *w, struct interp__tree_entry *e);   /* 1; 0: no more; or a negative errno, e->path being whose it is. A file is open to be read until the next */
long interp__walk_read(struct interp__walk *w, void *p, size_t n);              /* of that file; a negative errno; 0: it has become shorter */
void interp__walk_free(struct interp__walk *w);

/* A landing is entered one directory below the other; names are single components. All give 0 or an errno. */
struct interp__landing;
struct interp__landing *interp__landing_open(const struct interp__mem *m, const char *dir, int into, int *error);   /* into: it may be there already */
int  interp__landing_dir(struct interp__landing *l, const char *name, const struct interp__tree_entry *e);          /* made, and entered */
void interp__landing_up(struct interp__landing *l);
int  interp__landing_file(struct interp__landing *l, const char *name, const struct interp__tree_entry *e);         /* made; its content follows */
int  interp__landing_write(struct interp__landing *l, const void *p, size_t n);
int  interp__landing_close(struct interp__landing *l);                          /* the file is whole */
int  interp__landing_link(struct interp__landing *l, const char *name, const struct interp__tree_entry *e);
void interp__landing_free(struct interp__landing *l, int failed);               /* a file that is not whole goes; failed: so does what was made of it while that is empty */
#endif
