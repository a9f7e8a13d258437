/* help.c - the help texts, and how errors are told.
   SPDX-License-Identifier: MIT */
#include "cli.h"
#include <string.h>

/* clang-format off */
static const struct {
    const char *name, *text;
} pages[] = {
    { "interp",
      "usage: interp run LANG [FILE | -c CODE] [options]   run code in a sandbox\n"
      "       interp repl LANG [options]                   code piece by piece, as typed\n"
      "       interp doctor [--json]                       show what works on this machine\n"
      "       interp gc [--backend NAME]                   remove what sandboxes of dead programs left\n"
      "       interp audit verify FILE...                  find what was changed in an audit trail\n"
      "       interp exec --stdio                          sessions over a line protocol, for programs\n"
      "       interp help COMMAND                          more about a command\n"
      "       interp --version\n"
      "\n"
      "LANG is python (py, python3), javascript (js, node), bash or sh; or, without state: c, c++, go, rust, java, typescript, ruby, perl, php, lua, r.\n"
      "\n"
      "  interp run python -c 'print(6 * 7)'\n"
      "  interp run bash script.sh --timeout 10s --memory 256M\n" },
    { "run",
      "usage: interp run LANG [FILE | -c CODE] [options]\n"
      "\n"
      "Runs code once, in a sandbox of its own without a network. Its output comes as it is written.\n"
      "The value of the last expression is printed as a notebook prints it; a traceback goes to standard error.\n"
      "FILE - , or no FILE and no -c, reads the code from standard input. Ctrl-C cancels; a second Ctrl-C skips the grace time.\n"
      "\n"
      "  LANG               python (py, python3), javascript (js, node), bash, sh, c, c++, go, rust, java, typescript, ruby, perl, php, lua, r\n"
      "  -l LANG            the language, where FILE alone stands at the front: interp run -l c main.c\n"
      "  -c CODE            the code itself\n"
      "  --args ARG...      the rest of the line are arguments of the program, of a language that runs one each time: c, go, rust, ...\n"
      "  --timeout TIME     wall time: 500ms, 10s, 2m, forever; a number alone is seconds (default 30s)\n"
      "  --memory SIZE      memory of the sandbox: 64M, 1G (default 512M)\n"
      "  --stdin FILE       what the code finds on its standard input; - is ours (default: nothing)\n"
      "  --tty, -t          run it at this terminal: editors, prompts and colours work, Ctrl-C goes to the code, and there is no time limit without --timeout\n"
      "  --env NAME=VALUE   an environment variable for the code; may be given several times\n"
      "  --file [NAME=]FILE put a file of this machine into the workspace before the code runs; may be given several times\n"
      "  --mount SRC[:DST][:rw]  show a directory or file of this machine inside, read-only unless :rw; may be given several times\n"
      "  --interpreter LANG=PATH the language's interpreter here, such as python=/opt/conda/bin/python or that of a virtual environment\n"
      "  --with DIR         show a directory of software at the same path, read-only\n"
      "  --isolation LEVEL  weakest isolation accepted: full, namespaces, landlock, process (default namespaces)\n"
      "  --backend NAME     what makes the sandbox: local (default), docker, podman\n"
      "  --image IMAGE      image of a docker or podman sandbox, such as python:3.12-slim\n"
      "  --pull WHEN        fetch the image: never, missing (default), always\n"
      "  --endpoint ADDRESS where the engine listens: unix:///path, tcp://host:port\n"
      "  --runtime NAME     OCI runtime of the engine, such as runsc\n"
      "  --user UID:GID     whom the sandbox runs as\n"
      "  --keep DIR         keep the whole output, however long it is, as stdout.gz and stderr.gz in this directory\n"
      "  --json             print the whole result as one JSON object instead\n"
      "\n"
      "Exit code: that of the code (an uncaught exception is 1), or\n"
      "  2 wrong usage           122 a limit of the sandbox      124 timeout         125 no sandbox could be had\n"
      "  126 refused by policy   127 the interpreter is missing  130 cancelled       137 out of memory\n"
      "  70 the sandbox was lost 128+N the interpreter died by signal N\n" },
    { "repl",
      "usage: interp repl LANG [options]\n"
      "\n"
      "Reads code line by line and runs each piece as soon as it is whole, in one sandbox that keeps what was defined. An empty line ends a piece; Ctrl-D ends it all.\n"
      "Ctrl-C interrupts the code, and what was defined stays; at the prompt it drops what was typed. Pictures are saved as picture-N.png and so on, here.\n"
      "\n"
      "  LANG               python (py, python3), javascript (js, node), bash, sh\n"
      "  --timeout, --memory, --env, --mount, --interpreter, --with, --isolation, --backend, --image, --pull, --endpoint, --runtime, --user: see interp help run;\n"
      "                     without --timeout a piece may take as long as it likes\n" },
    { "doctor",
      "usage: interp doctor [--json]\n"
      "\n"
      "Tries what works on this machine: opens a session at each isolation level, runs each language in the best one, and asks the container engines.\n"
      "What is missing is shown with what to do about it. Exit code 0 when a session can be had without accepting less than namespaces, else 1.\n" },
    { "gc",
      "usage: interp gc [--backend NAME] [--endpoint ADDRESS] [--json]\n"
      "\n"
      "Removes containers and volumes that sandboxes left whose program is dead: by default with every engine that answers, or with the one named.\n"
      "Nothing is touched whose owner may live, on this machine or another. Exit code 0 when all that was asked could be looked at.\n" },
    { "audit",
      "usage: interp audit verify [--key-file FILE] [--head HASH] [--from-start] [--json] FILE...\n"
      "\n"
      "Reads the files of one audit trail, rotated and compressed ones (.gz) too, in any order, and finds the first record that was altered, is missing,\n"
      "stands in another place or was cut off.\n"
      "\n"
      "  --key-file FILE    the key of the trail, when it was written with one; a newline at the file's end is not part of it\n"
      "  --head HASH        a head that was kept elsewhere: it must be one of the records, else the end was cut off\n"
      "  --from-start       the first file of the trail must be there; without it, files that were rotated away before those given may be elsewhere\n"
      "  --json             print what was found as one JSON object\n"
      "\n"
      "Without a key or a kept head a trail that was written anew from the start looks good. Exit code 0 when all is good, 1 when something was found,\n"
      "2 wrong usage, 3 when a file can't be read.\n" },
    { "exec",
      "usage: interp exec --stdio\n"
      "\n"
      "Reads one JSON object a line from standard input and writes one a line to standard output, until standard input ends.\n"
      "Each request has an id, which its answers carry. Sessions run at the same time.\n"
      "\n"
      "  {\"id\":1,\"op\":\"open\",\"session\":\"s\",\"config\":{\"timeout_ms\":10000}}\n"
      "  {\"id\":2,\"op\":\"exec\",\"session\":\"s\",\"language\":\"python\",\"code\":\"x = 6\\nx * 7\",\"stream\":true}\n"
      "  {\"id\":7,\"op\":\"input\",\"session\":\"s\",\"target\":2,\"text\":\"a line\\n\",\"eof\":true}      (an exec with \"interactive\":true)\n"
      "  {\"id\":7,\"op\":\"resize\",\"session\":\"s\",\"target\":2,\"rows\":40,\"columns\":120}      (one with \"pty\":true, in a session whose config has it)\n"
      "  {\"id\":8,\"op\":\"reply\",\"session\":\"s\",\"target\":2,\"reply\":5,\"allow\":false,\"reason\":\"...\"}      (to a \"screen\" answer, config \"screen\":true)\n"
      "  {\"id\":3,\"op\":\"cancel\",\"session\":\"s\",\"target\":2}\n"
      "  {\"id\":12,\"op\":\"output\",\"session\":\"s\",\"target\":2,\"stream\":\"stdout\",\"offset\":0,\"length\":65536}      (what it has written so far; an exec with \"hold_output\":true loses nothing)\n"
      "  {\"id\":13,\"op\":\"signal\",\"session\":\"s\",\"target\":2,\"signal\":\"SIGINT\"}\n"
      "  {\"id\":14,\"op\":\"kernels\",\"session\":\"s\"}\n"
      "  {\"id\":4,\"op\":\"restart\",\"session\":\"s\",\"language\":\"python\"}\n"
      "  {\"id\":8,\"op\":\"spill_read\",\"session\":\"s\",\"target\":2,\"stream\":\"stdout\",\"offset\":0,\"length\":65536}\n"
      "  {\"id\":9,\"op\":\"spill_grep\",\"session\":\"s\",\"target\":2,\"text\":\"error\",\"limit\":10}         (also spill_save with \"path\")\n"
      "  {\"id\":10,\"op\":\"probe\",\"session\":\"s\",\"format\":\"text\"}      (what there is in the sandbox, for a model's prompt)\n"
      "  {\"id\":5,\"op\":\"close\",\"session\":\"s\"}\n"
      "  {\"id\":6,\"op\":\"doctor\"}\n"
      "\n"
      "Answers: opened, output, late, result, done, failed. The README lists the members.\n" },
    { "help", "usage: interp help [COMMAND]\n" },
};
/* clang-format on */

int help_print(FILE *f, const char *command)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (!strcmp(pages[i].name, command ? command : "interp")) {
            fputs(pages[i].text, f);
            return 0;
        }
    return -1;
}

int cmd_help(int argc, char **argv)
{
    if (argc > 1)
        return usage_error(NULL, "help shows one command at a time; not expected", argv[1]);
    if (help_print(stdout, argc ? argv[0] : NULL) < 0)
        return usage_error(NULL, "there is no such command", argv[0]);
    return fflush(stdout) ? 1 : 0;
}

int usage_error(const char *command, const char *what, const char *value)
{
    fprintf(stderr, "interp%s%s: %s%s%s\n", command ? " " : "", command ? command : "", what, value ? ": " : "", value ? value : "");
    fprintf(stderr, "Try: interp help%s%s\n", command ? " " : "", command ? command : "");
    return EXIT_USAGE;
}

void error_print(const interp_error *err)
{
    const char *remedy = interp_error_remedy(err), *reason = interp_error_reason(err);
    fprintf(stderr, "interp: %s (%s%s%s)\n", interp_error_message(err), interp_status_name(interp_error_code(err)), *reason ? ", " : "", reason);
    if (*remedy)
        fprintf(stderr, "What to do: %s\n", remedy);
}
