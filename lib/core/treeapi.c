/* treeapi.c - calls on trees: checked, given what they come from or go to, and handed to files.c; the blocking forms are start + wait + finish and nothing else */
#include "core.h"
#include "core/tree.h"
#include <errno.h>
#include <string.h>

struct tree_order { int32_t kind; uint32_t flags, may; const void *path; size_t len; uint64_t max; const char *dir; };

static interp_status dir_fault(struct interp_session *s, const char *dir, int e, interp_error **err)
{
    struct interp__fault fault = { e == ENOENT ? INTERP_E_NOT_FOUND : e == EEXIST ? INTERP_E_EXISTS : e == EACCES || e == EPERM || e == EROFS || e == ELOOP ? INTERP_E_DENIED : e == ENOTDIR ? INTERP_E_INVAL :
                                   e == ENOMEM ? INTERP_E_NOMEM : INTERP_E_IO, "host-directory", e == EEXIST ? "name one that is not there, or set INTERP_TREE_INTO" : NULL, e, 0 };
    return interp__fail_with(&s->mem, err, &fault, "the directory %.200s of the host: %s", dir, strerror(e));
}

static interp_status start(struct interp_session *s, const struct tree_order *o, interp_call **call, interp_error **err)
{
    int up = o->kind == INTERP_CALL_PUT_TAR || o->kind == INTERP_CALL_PUT_DIR, dir = o->kind == INTERP_CALL_PUT_DIR || o->kind == INTERP_CALL_GET_DIR, e = 0;
    if (!s)
        return interp__fail(NULL, err, INTERP_E_INVAL, "argument", "the session is NULL");
    if (!call || (dir && !o->dir))
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "%s is NULL", call ? "the directory of the host" : "call");
    if (!o->max)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "max is 0: INTERP_FOREVER leaves it to tree_bytes");
    if (o->flags & ~o->may)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "flags 0x%x: this call takes none of 0x%x", o->flags, o->flags & ~o->may);
    if (o->flags & INTERP_TREE_OUTSIDE && !(o->flags & INTERP_TREE_LINKS))
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "INTERP_TREE_OUTSIDE is about links: set INTERP_TREE_LINKS, too");
    struct interp__tree *t = interp__tree_new(&s->mem, o->flags, interp__min(o->max, s->v.tree_bytes), s->v.tree_entries);
    if (!t)
        return interp__nomem(err);
    if (dir && up)
        t->walk = interp__walk_open(&s->mem, o->dir, &e);
    else if (dir) {
        t->landing = interp__landing_open(&s->mem, o->dir, (o->flags & INTERP_TREE_INTO) != 0, &e);
        t->lands = 1;
    }
    struct interp__order order = { .kind = o->kind, .op = up ? WIRE_FILE_UNPACK : WIRE_FILE_PACK, .flags = o->flags & INTERP_TREE_KEEP, .may = INTERP_TREE_KEEP, .size = INTERP_UNKNOWN, .path = o->path, .len = o->len, .tree = t };
    interp_status st = e ? dir_fault(s, o->dir, e, err) : interp__file_start(s, &order, call, err);
    if (st)
        interp__tree_free(t);
    return st;
}

enum { ALL = INTERP_TREE_LINKS | INTERP_TREE_OUTSIDE };

interp_status interp_session_put_tar_start(interp_session *s, const void *path, size_t len, uint32_t flags, interp_call **call, interp_error **err)
{
    struct tree_order o = { .kind = INTERP_CALL_PUT_TAR, .flags = flags, .may = ALL | INTERP_TREE_KEEP, .path = path, .len = len, .max = INTERP_FOREVER };
    return start(s, &o, call, err);
}
interp_status interp_session_get_tar_start(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, interp_call **call, interp_error **err)
{
    struct tree_order o = { .kind = INTERP_CALL_GET_TAR, .flags = flags, .may = ALL, .path = path, .len = len, .max = max };
    return start(s, &o, call, err);
}
interp_status interp_session_put_dir_start(interp_session *s, const void *path, size_t len, uint32_t flags, const char *dir, interp_call **call, interp_error **err)
{
    struct tree_order o = { .kind = INTERP_CALL_PUT_DIR, .flags = flags, .may = ALL | INTERP_TREE_KEEP, .path = path, .len = len, .max = INTERP_FOREVER, .dir = dir };
    return start(s, &o, call, err);
}
interp_status interp_session_get_dir_start(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, const char *dir, interp_call **call, interp_error **err)
{
    struct tree_order o = { .kind = INTERP_CALL_GET_DIR, .flags = flags, .may = ALL | INTERP_TREE_INTO, .path = path, .len = len, .max = max, .dir = dir };
    return start(s, &o, call, err);
}

/* ---- blocking forms */

static interp_status put_tar(interp_session *s, const void *path, size_t len, uint32_t flags, const struct interp__flow *w, interp_content **out, interp_error **err)
{
    interp_call *c;
    interp_status st = interp__file_blocking(s, err);
    if (!st)
        st = interp_session_put_tar_start(s, path, len, flags, &c, err);
    return st ? st : interp__file_complete(s, c, w, 1, out, err);
}
interp_status interp_session_put_tar(interp_session *s, const void *path, size_t len, uint32_t flags, const void *p, size_t n, interp_content **out, interp_error **err)
{
    struct interp__flow w = { p, n, -1 };
    if (s && !p && n)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "the archive is NULL");
    return put_tar(s, path, len, flags, &w, out, err);
}
interp_status interp_session_put_tar_fd(interp_session *s, const void *path, size_t len, uint32_t flags, int32_t fd, interp_content **out, interp_error **err)
{
    struct interp__flow w = { NULL, 0, fd };
    if (s && fd < 0)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "the descriptor is %d", (int)fd);
    return put_tar(s, path, len, flags, &w, out, err);
}

static interp_status get_tar(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, const struct interp__flow *w, interp_content **out, interp_error **err)
{
    interp_call *c;
    interp_status st = interp__file_blocking(s, err);
    if (!st)
        st = interp_session_get_tar_start(s, path, len, flags, max, &c, err);
    return st ? st : interp__file_complete(s, c, w, w->fd >= 0, out, err);
}
interp_status interp_session_get_tar(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, interp_content **out, interp_error **err)
{
    struct interp__flow w = { NULL, 0, -1 };
    if (s && !out)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "out is NULL");
    return get_tar(s, path, len, flags, max, &w, out, err);
}
interp_status interp_session_get_tar_fd(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, int32_t fd, interp_content **out, interp_error **err)
{
    struct interp__flow w = { NULL, 0, fd };
    if (s && fd < 0)
        return interp__fail(&s->mem, err, INTERP_E_INVAL, "argument", "the descriptor is %d", (int)fd);
    return get_tar(s, path, len, flags, max, &w, out, err);
}

interp_status interp_session_put_dir(interp_session *s, const void *path, size_t len, uint32_t flags, const char *dir, interp_content **out, interp_error **err)
{
    static const struct interp__flow none = { NULL, 0, -1 };
    interp_call *c;
    interp_status st = interp__file_blocking(s, err);
    if (!st)
        st = interp_session_put_dir_start(s, path, len, flags, dir, &c, err);
    return st ? st : interp__file_complete(s, c, &none, 1, out, err);
}
interp_status interp_session_get_dir(interp_session *s, const void *path, size_t len, uint32_t flags, uint64_t max, const char *dir, interp_content **out, interp_error **err)
{
    static const struct interp__flow none = { NULL, 0, -1 };
    interp_call *c;
    interp_status st = interp__file_blocking(s, err);
    if (!st)
        st = interp_session_get_dir_start(s, path, len, flags, max, dir, &c, err);
    return st ? st : interp__file_complete(s, c, &none, 1, out, err);
}
