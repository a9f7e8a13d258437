/* words.c - what people write on the command line: languages, durations, sizes.
   SPDX-License-Identifier: MIT */
#include "cli.h"
#include <string.h>
#include <strings.h>

const char *language_name(const char *word)
{
    static const char *const alias[][2] = { { "py", "python" }, { "python3", "python" }, { "js", "javascript" }, { "node", "javascript" } };
    for (size_t i = 0; i < sizeof alias / sizeof *alias; i++)
        if (!strcmp(word, alias[i][0]))
            return alias[i][1];
    return word;
}

struct unit {
    const char *name;
    uint64_t factor;
};

/* Digits, perhaps a point and up to three more, then a unit from the table (the last entry has no name). */
static int number_parse(const char *text, const struct unit *units, uint64_t *out)
{
    uint64_t value = 0, thousandths = 0, scale = 1000;
    const char *p = text;
    if (*p < '0' || *p > '9')
        return -1;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (value > UINT64_C(1000000000000000))
            return -1;
        value = value * 10 + (uint64_t)(*p - '0');
    }
    if (*p == '.') {
        for (p++; *p >= '0' && *p <= '9' && scale > 1; p++) {
            scale /= 10;
            thousandths += (uint64_t)(*p - '0') * scale;
        }
        if (scale == 1000)
            return -1;
    }
    for (; units->factor; units++)
        if (!strcasecmp(p, units->name)) {
            if (value >= UINT64_MAX / units->factor / 2)
                return -1;
            *out = value * units->factor + thousandths * units->factor / 1000;
            return 0;
        }
    return -1;
}

int duration_parse(const char *text, uint64_t *ms)
{
    static const struct unit units[] = { { "ms", 1 }, { "s", 1000 }, { "", 1000 }, { "m", 60000 }, { "min", 60000 }, { "h", 3600000 }, { NULL, 0 } };
    if (!strcmp(text, "forever")) {
        *ms = INTERP_FOREVER;
        return 0;
    }
    return number_parse(text, units, ms);
}

int size_parse(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {
        { "", 1 },          { "B", 1 },          { "K", 1u << 10 }, { "KB", 1u << 10 }, { "KiB", 1u << 10 }, { "M", 1u << 20 },
        { "MB", 1u << 20 }, { "MiB", 1u << 20 }, { "G", 1u << 30 }, { "GB", 1u << 30 }, { "GiB", 1u << 30 }, { NULL, 0 },
    };
    return number_parse(text, units, bytes);
}
