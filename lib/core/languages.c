/* languages.c - how each kernel is found and started. The agent knows no language; this table does. */
#include "blobs.h"
#include "core.h"
#include <string.h>

#define BLOB_OF(name) interp__blob_##name, interp__blob_##name##_end

static const char *const PYTHON[] = { "python3", "python", NULL };
static const char *const PYTHON_ARGS[] = { "-c", NULL };
static const char *const NODE[] = { "node", "nodejs", NULL };
static const char *const NODE_ARGS[] = { "--expose-internals", "--no-warnings", "-e", NULL };
static const char *const BASH[] = { "bash", NULL };
static const char *const BASH_ARGS[] = { "--noprofile", "--norc", "/dev/fd/4", NULL };
static const char *const SH[] = { "sh", NULL };
static const char *const SH_ARGS[] = { "/dev/fd/4", NULL };

static const struct interp__language LANGUAGES[] = {
    { .name = "python", .alias = "python3", .candidates = PYTHON, .args = PYTHON_ARGS, .kind = WIRE_KIND_PASSED, .caches = 1, .minimum = "Python 3.6",
      .driver = interp__blob_python, .driver_end = interp__blob_python_end, .boot = interp__blob_python_boot, .boot_end = interp__blob_python_boot_end },
    { .name = "javascript", .alias = "js", .candidates = NODE, .args = NODE_ARGS, .kind = WIRE_KIND_PATHS, .caches = 1, .minimum = "Node.js 16",
      .driver = interp__blob_javascript, .driver_end = interp__blob_javascript_end, .boot = interp__blob_javascript_boot, .boot_end = interp__blob_javascript_boot_end },
    { .name = "bash", .candidates = BASH, .args = BASH_ARGS, .kind = WIRE_KIND_SCRIPT, .minimum = "bash 4",
      .driver = interp__blob_bash, .driver_end = interp__blob_bash_end, .code_template = interp__blob_bash_template, .template_end = interp__blob_bash_template_end },
    { .name = "sh", .candidates = SH, .args = SH_ARGS, .kind = WIRE_KIND_SCRIPT, .minimum = "a POSIX shell",
      .driver = interp__blob_sh, .driver_end = interp__blob_sh_end, .code_template = interp__blob_sh_template, .template_end = interp__blob_sh_template_end },
};

const struct interp__language *interp__language_at(uint32_t i)
{
    return i < sizeof LANGUAGES / sizeof *LANGUAGES ? &LANGUAGES[i] : NULL;
}
const struct interp__language *interp__language_find(const char *name)
{
    for (uint32_t i = 0; i < sizeof LANGUAGES / sizeof *LANGUAGES; i++)
        if (!strcmp(LANGUAGES[i].name, name) || (LANGUAGES[i].alias && !strcmp(LANGUAGES[i].alias, name)))
            return &LANGUAGES[i];
    return NULL;
}

/* What every kernel finds in its environment unless the config says otherwise: no colours, no pagers, no questions. */
const char *const interp__base_env[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home", "USER=user", "LOGNAME=user", "SHELL=/bin/sh", "TMPDIR=/tmp",
    "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=dumb", "NO_COLOR=1", "CLICOLOR=0", "PAGER=cat", "GIT_PAGER=cat", "DEBIAN_FRONTEND=noninteractive",
    "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1", "MPLBACKEND=Agg", "PYTHONUNBUFFERED=1", NULL
};
