/* pty.c - an exec at a pseudo-terminal: its three streams are one device, made for it and hung up when it ends, so that nothing of it reaches the next exec. We hold both sides:
   the master is read as its output and written as its input; the other side is held open, since a terminal that nobody has open at the moment looks like one that has ended. */
#include "guest.h"

static int open_pair(struct exec *x, char *path, size_t cap)
{
    struct termios_k t;
    struct winsize_k size = { x->rows, x->columns, 0, 0 };
    unsigned number;
    int unlocked = 0, master = (int)sys_open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (master < 0)
        return master;
    long r = sys_ioctl(master, TIOCSPTLCK, &unlocked);
    if (r == 0)
        r = sys_ioctl(master, TIOCGPTN, &number);
    if (r == 0) {
        str_num(path, cap, str_put(path, cap, 0, "/dev/pts/"), number);
        r = x->pty = (int)sys_open(path, O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (r >= 0)
        r = sys_ioctl(x->pty, TCGETS, &t);
    if (r >= 0) {
        t.iflag |= IUTF8;
        sys_ioctl(x->pty, TCSETS, &t);
        sys_ioctl(master, TIOCSWINSZ, &size);
        return master;
    }
    sys_close(master);
    return (int)r;
}

/* Whoever leads a session opens it by its name and so has it for its own; who is passed it asks for that. */
int pty_make(struct kernel *k)
{
    struct exec *x = &k->x;
    char path[40];
    int master = open_pair(x, path, sizeof path);
    if (master < 0)
        return master;
    int in = (int)sys_fcntl(master, F_DUPFD_CLOEXEC, 3), p = in < 0 ? in : pipe_adopt(master, PIPE_EXEC);
    if (p < 0) {
        sys_close(master);
        if (in >= 0)
            sys_close(in);
        return p;
    }
    x->in_fd = in;
    x->out[0] = p;
    if (k->kind != WIRE_KIND_PASSED)
        return files_terminal(k, path);
    for (int i = 0; i < 3; i++) {
        int fd = (int)sys_fcntl(x->pty, F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
            return fd;
        x->pass[x->npass++] = fd;
    }
    return 0;
}

/* In a line that is not finished the character only hands over what is there: it takes a second one then. Where lines are off there is nothing to type. */
void pty_end(struct kernel *k)
{
    struct exec *x = &k->x;
    struct termios_k t;
    if (x->stdin_end != 1)
        return;
    x->stdin_end = 2;
    if (sys_ioctl(x->pty, TCGETS, &t) < 0 || !(t.lflag & ICANON))
        return;
    uint8_t eof[2] = { t.cc[VEOF], t.cc[VEOF] };
    ring_put(&S.input[kernel_index(k)], eof, x->typed && x->typed != '\n' && x->typed != '\r' ? 2 : 1);
}

void pty_resize(const uint8_t id[WIRE_ID], uint16_t rows, uint16_t columns)
{
    struct winsize_k size = { rows, columns, 0, 0 };
    for (struct kernel *k = kernels; k < kernels + KERNELS; k++)
        if (k->x.phase && memcmp(k->x.id, id, WIRE_ID) == 0) {
            k->x.rows = rows;      /* before it has begun: what it will begin with */
            k->x.columns = columns;
            if (k->x.phase == X_RUN && k->x.pty >= 0)
                sys_ioctl(k->x.pty, TIOCSWINSZ, &size);
            return;
        }
}
