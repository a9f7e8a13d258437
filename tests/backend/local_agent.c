/* local_agent.c - a private agent for local_smoke: boots with the real boot.c, root.c, procfs.c, lock.c, then runs one command with the host's standard
   descriptors. Message: u32 bytes, then the arguments, each ending with a NUL. Answer: i32 wait status. Build with -DINTERP_TESTING. */
#include "../../lib/guest/boot_priv.h"

static char text[65536], *argv[256];
static struct boot_facts facts;

static void read_exactly(void *p, size_t n)
{
    for (uint8_t *d = p; n;) {
        long r = sys_read(BOOT_FD_STREAM, d, n);
        if (r == -E_INTR)
            continue;
        if (r <= 0)
            sys_exit(1);
        d += r;
        n -= (size_t)r;
    }
}

static _Noreturn void command(void)
{
    static char *envp[] = { (char *)(uintptr_t)"PATH=/usr/local/bin:/usr/bin:/bin", (char *)(uintptr_t)"HOME=/home", (char *)(uintptr_t)"LANG=C.UTF-8", 0 };
    for (int i = 0; i < 3; i++)
        if (facts.cg_user_tasks[i] >= 0 && sys_write(facts.cg_user_tasks[i], "0", 1) < 0)
            sys_exit(93);
    sc0(NR_setsid);
    sc1(NR_setfsuid, USER_ID);
    sc1(NR_chdir, PTR("/workspace"));
    sc1(NR_setfsuid, sc0(NR_geteuid));
    close_but(0, 0, 3);
    lock_kernel();
    uint64_t none = 0;
    sys_sigmask(SIG_SETMASK, &none);
    sys_execve(argv[0], argv, envp);
    sys_exit(94);
}

int guest_main(int argc, char **unused)
{
    uint32_t size;
    size_t n = 0;
    int st = 0;
    long pid, r;
    (void)argc;
    (void)unused;
    struct sigaction_k dfl = { 0, 0, 0, 0 };
    uint64_t none = 0;
    for (int s = 1; s <= 64; s++)
        sc4(NR_rt_sigaction, s, PTR(&dfl), 0, 8);
    sys_sigmask(SIG_SETMASK, &none);
    boot_keep_stdio = 1;
    boot_run(BOOT_FD_STREAM, &facts);
    read_exactly(&size, sizeof size);
    if (size >= sizeof text)
        sys_exit(1);
    read_exactly(text, size);
    for (size_t at = 0; at < size && n < 255; at += strlen(text + at) + 1)
        argv[n++] = text + at;
    if (facts.cg_user_dir >= 0) {
        struct clone_args_k a = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)facts.cg_user_dir };
        pid = sc2(NR_clone3, PTR(&a), sizeof a);
    } else
        pid = sys_fork();
    if (pid == 0)
        command();
    if (pid < 0)
        st = (int)pid;
    else {
        uint64_t chld = 1ull << (SIGCHLD - 1);
        sys_sigmask(SIG_BLOCK, &chld);
        int sig = (int)sc4(NR_signalfd4, -1, PTR(&chld), 8, O_CLOEXEC);
        struct pollfd_k p[3] = { { sig, POLLIN, 0 }, { BOOT_FD_STREAM, 0x2000, 0 }, { BOOT_FD_HOST, POLLIN, 0 } };
        for (;;) {
            int w;
            while ((r = sys_wait4(-1, &w, WNOHANG | W_ALL, 0)) > 0 && r != pid)
                ;
            if (r == pid) {
                st = w;
                break;
            }
            sys_ppoll(p, 3, 0);
            if (p[1].revents || p[2].revents)
                sys_exit(0);
            if (p[0].revents)
                sys_read(sig, text, 128);
        }
    }
    write_all(BOOT_FD_STREAM, &st, sizeof st);
    read_exactly(&size, 1);
    sys_exit(0);
}
