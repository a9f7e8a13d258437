/* main.c - `interp`: libinterp on the command line. A thin program over the public API.
   SPDX-License-Identifier: MIT */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

/* 0, 1 and 2 are always something, so that nothing of ours gets their numbers. */
static int fill_standard(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = { { "run", cmd_run }, { "repl", cmd_repl }, { "doctor", cmd_doctor }, { "gc", cmd_gc }, { "audit", cmd_audit }, { "exec", cmd_exec }, { "help", cmd_help } };

    if (fill_standard() < 0)
        return 70;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, which each command handles */
    if (argc < 2) {
        help_print(stderr, NULL);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        return cmd_help(argc - 2, argv + 2);
    if (!strcmp(name, "--version") || !strcmp(name, "version")) {
        printf("interp %s\n", interp_version());
        return fflush(stdout) ? 1 : 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name))
            return commands[i].run(argc - 2, argv + 2);
    return usage_error(NULL, "there is no such command", name);
}
