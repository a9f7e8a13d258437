/* start.c - KERNEL_START: find the interpreter as the user would, take the driver text, start the process, answer. */
#include "guest.h"

#define BLOB_MAX (64u << 20)

struct spec specs[KERNELS];

static uint32_t skip_list(struct wire_in *in, const uint8_t *base, unsigned max)
{
    uint32_t at = (uint32_t)(in->p - base);
    unsigned n = interp__wire_u16(in);
    if (n > max)
        in->bad = 1;
    for (; n && !in->bad; n--) {
        struct wire_str s = interp__wire_string(in);
        for (unsigned i = 0; i < s.len; i++)
            in->bad |= !s.p[i];
    }
    return at;
}

static int keep_spec(struct spec *s, const struct wire_start *m)
{
    struct wire_in in;
    s->len = (uint32_t)(m->rest.end - m->rest.p);
    memcpy(s->raw, m->rest.p, s->len);
    interp__wire_in_init(&in, s->raw, s->len);
    s->candidates = skip_list(&in, s->raw, 64);
    s->args = skip_list(&in, s->raw, 250);
    s->env = skip_list(&in, s->raw, 500);
    struct wire_str t = interp__wire_string(&in);
    s->template_len = t.len;
    s->template = in.bad ? 0 : (uint32_t)(t.p - s->raw);
    return in.bad ? -1 : 0;
}

/* ---- looking for the interpreter */
static int usable(struct kernel *k)
{
    struct statx_k s;
    if (sys_statx(AT_FDCWD, k->path, 0, &s) < 0 || (s.mode & S_IFMT) != S_IFREG)
        return 0;
    long r = sc4(NR_faccessat2, AT_FDCWD, PTR(k->path), 1, AT_EACCESS);
    if (r == -E_NOSYS || r == -E_PERM) {
        unsigned bit = s.uid == A.facts.user_uid ? 0100 : s.gid == A.facts.user_gid ? 0010 : 0001;
        r = s.mode & bit ? 0 : -E_ACCES;
    }
    if (r < 0)
        return 0;
    k->identity.inode = s.ino;
    k->identity.size = s.size;
    k->identity.mtime_ns = (uint64_t)s.mtime.sec * NSEC + s.mtime.nsec;
    k->identity.ctime_ns = (uint64_t)s.ctime.sec * NSEC + s.ctime.nsec;
    return 1;
}

static int try_path(struct kernel *k, const uint8_t *dir, size_t nd, const uint8_t *name, size_t n)
{
    if (nd + n + 2 > PATH_LEN)
        return 0;
    memcpy(k->path, dir, nd);
    if (nd)
        k->path[nd++] = '/';
    memcpy(k->path + nd, name, n);
    k->path[nd + n] = 0;
    return usable(k);
}

static int look(struct kernel *k, const struct spec *s)
{
    struct wire_in in;
    struct wire_str path = { NULL, 0 };
    interp__wire_in_init(&in, s->raw + s->env, s->len - s->env);
    for (unsigned n = interp__wire_u16(&in); n; n--) {
        struct wire_str e = interp__wire_string(&in);
        if (e.len > 5 && memcmp(e.p, "PATH=", 5) == 0)
            path.p = e.p + 5, path.len = (uint16_t)(e.len - 5);
    }
    interp__wire_in_init(&in, s->raw + s->candidates, s->len - s->candidates);
    for (unsigned n = interp__wire_u16(&in); n; n--) {
        struct wire_str c = interp__wire_string(&in);
        if (!c.len)
            continue;
        if (c.p[0] == '/') {
            if (try_path(k, NULL, 0, c.p, c.len))
                return 1;
            continue;
        }
        for (size_t at = 0; at < path.len;) {
            size_t to = at;
            while (to < path.len && path.p[to] != ':')
                to++;
            /* relative entries would mean the workspace */
            if (path.p[at] == '/' && try_path(k, path.p + at, to - at, c.p, c.len))
                return 1;
            at = to + 1;
        }
    }
    k->path[0] = 0;
    memset(&k->identity, 0, sizeof k->identity);
    return 0;
}

static int find(struct kernel *k)
{
    /* as the user: files of the agent's own group must not look executable */
    sc1(NR_setfsgid, (long)A.facts.user_gid);
    int ok = look(k, &specs[kernel_index(k)]);
    sc1(NR_setfsgid, (long)sc0(NR_getegid));
    return ok;
}

/* ---- the message */
void start_answer(struct kernel *k, uint8_t status)
{
    if (k->respawn) /* the host did not ask for this start: the waiting EXEC answers */
        return;
    struct wire_ready_msg m = {
        .kernel = k->id, .status = status, .restored = k->restored, .exit_code = k->exit_code, .signal = k->signal, .id = k->identity,
        .path = { (const uint8_t *)k->path, (uint16_t)strlen(k->path) }, .info = { (const uint8_t *)k->info, (uint16_t)k->info_len },
        .text = { (const uint8_t *)k->text, (uint16_t)k->text_len }
    };
    struct wire_out o;
    out_begin(&o, PATH_LEN + 2 * TEXT_MAX + 128);
    interp__wire_put_ready(&o, &m);
    out_end(WIRE_KERNEL_READY, 0, &o);
}

static void refuse(uint16_t id, uint8_t status)
{
    struct wire_ready_msg m = { .kernel = id, .status = status, .exit_code = -1 };
    struct wire_out o;
    out_begin(&o, 128);
    interp__wire_put_ready(&o, &m);
    out_end(WIRE_KERNEL_READY, 0, &o);
}

void start_request(const struct wire_frame *f)
{
    struct wire_start m;
    if (interp__wire_get_start(f, &m) < 0 || m.kind < WIRE_KIND_PASSED || m.kind > WIRE_KIND_SCRIPT || m.channel < WIRE_CHANNEL_FIRST)
        fatal("protocol", "malformed KERNEL_START");
    struct kernel *k = kernel_find(m.kernel);
    for (struct kernel *q = kernels; !k && q < kernels + KERNELS; q++)
        if (q->stage == K_FREE)
            k = q;
    for (struct kernel *q = kernels; !k && q < kernels + KERNELS; q++)
        if (q->stage == K_DEAD && q->kind != WIRE_KIND_SCRIPT && !q->x.phase && q->supervisor < 0) {
            kernel_forget(q); /* for the host a dead framed kernel is the same as none */
            k = q;
        }
    if (!k) {
        refuse(m.kernel, WIRE_READY_LIMIT);
        return;
    }
    if (k->stage != K_FREE && k->stage != K_STALE && k->stage != K_DEAD)
        fatal("protocol", "KERNEL_START for a kernel that is there");
    if (k->stage == K_DEAD && k->supervisor >= 0) { /* a shell that ended and left its tree: end that too, it needs no answer */
        sys_close(k->supervisor);
        k->supervisor = -1;
    }
    uint32_t gen = k->gen;
    if (k->stage == K_FREE) {
        memset(k, 0, offsetof(struct kernel, x));
        k->supervisor = k->control = k->command = k->blob = k->errors = -1;
    }
    k->gen = gen + 1;
    k->id = m.kernel;
    k->channel = m.channel;
    k->kind = m.kind;
    k->flags = m.flags;
    k->credit = WIRE_WINDOW;
    k->stage = K_BLOB;
    k->respawn = 0;
    k->blob_bytes = k->blob_eaten = 0;
    k->text_len = k->info_len = 0;
    k->exit_code = -1, k->signal = 0;
    k->start_deadline = m.timeout_ns && m.timeout_ns < UINT64_MAX - A.now ? A.now + m.timeout_ns : UINT64_MAX;
    if (k->blob >= 0) {
        sys_close(k->blob);
        k->blob = -1;
    }
    if (keep_spec(&specs[kernel_index(k)], &m) < 0)
        fatal("protocol", "malformed KERNEL_START");
    if (!find(k)) {
        kernel_kill(k, WIRE_HOW_NOT_RUN, WIRE_READY_MISSING);
        return;
    }
    if (k->flags & WIRE_START_CACHED && memcmp(&k->identity, &m.id, sizeof m.id) != 0) {
        start_answer(k, WIRE_READY_STALE);
        k->stage = K_STALE;
        return;
    }
    k->blob = (int)sc2(NR_memfd_create, PTR("driver"), MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (k->blob < 0)
        kernel_kill(k, WIRE_HOW_NOT_RUN, WIRE_READY_LIMIT);
}

void start_blob(struct kernel *k, const uint8_t *p, size_t n, int end)
{
    k->blob_bytes += (uint32_t)n;
    k->blob_eaten += (uint32_t)n;
    if (k->blob_bytes > BLOB_MAX || k->blob_eaten > WIRE_WINDOW)
        fatal("protocol", "driver text too long, or beyond the window");
    if (write_all(k->blob, p, n) < 0) {
        kernel_kill(k, WIRE_HOW_NOT_RUN, WIRE_READY_LIMIT);
        return;
    }
    if (end)
        start_spawn(k);
    else if (k->blob_eaten >= WIRE_WINDOW / 4) {
        send_credit(k->channel, k->blob_eaten);
        k->blob_eaten = 0;
    }
}

/* ---- the process */
static int script_pipe(struct kernel *k, int *child)
{
    int p[2];
    if (k->blob_bytes > sizeof S.scratch)
        return -1;
    (void)files_kernel_dir(k); /* user code can fill the place for these; a shell without one can't save its state, and runs */
    long n = sys_pread(k->blob, S.scratch, k->blob_bytes, 0);
    if (n != (long)k->blob_bytes || files_expand(k, S.scratch, (size_t)n, 0) < 0 || sys_pipe2(p, O_CLOEXEC) < 0)
        return -1;
    sys_fcntl(p[1], F_SETFL, O_WRONLY | O_NONBLOCK);
    *child = p[0];
    k->command = p[1];
    ep_add(k->command, EPOLLOUT | EPOLLET, EP_COMMAND, k->gen, kernel_index(k));
    return 0;
}

void start_spawn(struct kernel *k)
{
    usage_start(k);
    int s[2] = { -1, -1 }, fds[3] = { -1, -1, -1 };
    struct ring *q = &S.code[kernel_index(k)];
    if (k->control >= 0)
        sys_close(k->control);
    k->control = -1;
    if (k->kind == WIRE_KIND_SCRIPT)
        q->head = q->len = 0;
    k->head_len = 0;
    k->body = 0;
    k->restored = k->how = k->proven = k->control_ready = k->control_hangup = k->want_out = k->ready_status = k->outlives = 0;
    k->text_len = k->info_len = 0;
    k->exit_code = -1, k->signal = 0;
    k->pid = 0;
    k->feed_ready = 1;
    k->stage = K_STARTING;
    k->errors = pipe_make(PIPE_START, &fds[2]);
    if (k->errors < 0 || sys_socketpair(SOCK_STREAM | SOCK_CLOEXEC, s) < 0)
        goto bad;
    fds[0] = s[1];
    k->control = s[0];
    sys_fcntl(k->control, F_SETFL, O_RDWR | O_NONBLOCK);
    ep_add(k->control, EPOLLIN | EPOLLRDHUP | EPOLLET, EP_CONTROL, k->gen, kernel_index(k));
    if (k->kind == WIRE_KIND_SCRIPT) {
        if (script_pipe(k, &fds[1]) < 0)
            goto bad;
    } else {
        sc3(NR_lseek, k->blob, 0, 0);
        sys_fcntl(k->blob, F_ADD_SEALS, F_SEAL_ALL);
        fds[1] = k->blob;
        k->blob = -1;
    }
    if (k->supervisor < 0 && supervisor_fork(k) < 0)
        goto bad;
    struct sup_message m = { .op = SUP_SPAWN };
    if (supervisor_send(k, &m, fds, 3) < 0)
        goto bad;
    for (int i = 0; i < 3; i++)
        sys_close(fds[i]);
    return;
bad:
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            sys_close(fds[i]);
    if (k->supervisor < 0)
        k->stage = K_BLOB; /* no process yet */
    kernel_kill(k, WIRE_HOW_NOT_RUN, WIRE_READY_LIMIT);
}
