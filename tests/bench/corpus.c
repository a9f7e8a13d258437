/* corpus.c - output as programs write it, and output made against the redaction engine; the same bytes in every run.
   SPDX-License-Identifier: MIT */
#include "corpus.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t state;
static uint32_t pick(uint32_t n)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) >> 33) % n;
}
static const char *word(void)
{
    static const char *const words[] = { "request", "completed", "connection", "timeout", "worker", "started", "handler", "cache", "miss", "hit", "database", "query", "user", "session", "token", "refresh",
                                         "parse", "error", "warning", "retry", "batch", "epoch", "loss", "train", "model", "saved", "loading", "config", "default", "value", "index", "table", "column", "row",
                                         "bytes", "queue", "message", "topic", "offset", "skipped", "password", "reset", "secret", "key", "authorization", "failed", "for", "the", "and", "with", "from" };
    return words[pick(sizeof words / sizeof *words)];
}
static size_t letters(char *to, const char *alphabet, size_t n)
{
    uint32_t len = (uint32_t)strlen(alphabet);
    for (size_t i = 0; i < n; i++)
        to[i] = alphabet[pick(len)];
    return n;
}
static const char B64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char ALNUM[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
static const char HEX[] = "0123456789abcdef";
#define ADD(...) (n += (size_t)sprintf(to + n, __VA_ARGS__))

static size_t log_line(char *to)
{
    size_t n = 0;
    ADD("2026-%02u-%02uT%02u:%02u:%02u.%03uZ %s [%s-%u] ", 1 + pick(12), 1 + pick(28), pick(24), pick(60), pick(60), pick(1000), pick(2) ? "INFO" : "DEBUG", word(), pick(64));
    switch (pick(5)) {
    case 0: ADD("GET https://api.example.com/v1/%s/%u?page=%u HTTP/1.1 %u %uB %u.%03ums client=%u.%u.%u.%u", word(), pick(99999), pick(50), 200 + pick(300), pick(99999), pick(900), pick(1000), 20 + pick(150), pick(256), pick(256), pick(256)); break;
    case 1: ADD("%s %s %s: %s=%u %s=%s id=", word(), word(), word(), word(), pick(9999), word(), word()); n += letters(to + n, HEX, 32); break;
    case 2: ADD("com.example.%s.%s.%sService: %s %s (%s:%u)", word(), word(), word(), word(), word(), word(), pick(2000)); break;
    case 3: ADD("  File \"/usr/lib/python3.11/site-packages/%s/%s.py\", line %u, in %s_%s", word(), word(), pick(3000), word(), word()); break;
    default: for (uint32_t k = 6 + pick(14); k; k--) ADD("%s ", word());
    }
    return n + letters(to + n, "\n", 1);
}
static size_t table_line(char *to)
{
    size_t n = 0;
    if (pick(2))
        for (int i = 0; i < 12; i++)
            ADD("%s%u.%0*u", i ? "," : "", pick(1000), 1 + (int)pick(6), pick(10));
    else
        for (int i = 0; i < 7; i++)
            ADD(" %10.4f |", (double)pick(2000000) / 100 - 10000);
    ADD(" %-12s\n", word());
    return n;
}
static size_t json_line(char *to)
{
    size_t n = 0;
    ADD("{\"id\":%u,\"uuid\":\"", pick(1000000));
    n += letters(to + n, HEX, 32);
    ADD("\",\"user\":{\"name\":\"%s_%s\",\"email\":\"%s.%s@example.com\",\"tags\":[\"%s\",\"%s\"]},\"score\":%.4f,\"active\":true,\"url\":\"https:\\/\\/example.com\\/%s\\/%u\",\"text\":\"%s %s %s %s\\n%s\"}\n",
        word(), word(), word(), word(), word(), word(), (double)pick(100000) / 1e4, word(), pick(9999), word(), word(), word(), word(), word());
    return n;
}
static size_t code_line(char *to)
{
    size_t n = 0;
    switch (pick(4)) {
    case 0: ADD("    def %s_%s(self, %s, %s=None):\n", word(), word(), word(), word()); break;
    case 1: ADD("        return self.%s.%s(%s=%s, timeout=%u)\n", word(), word(), word(), word(), pick(99)); break;
    case 2: ADD("static int %s_%s(struct %s *%s, size_t %s)\n", word(), word(), word(), word(), word()); break;
    default: ADD("  if (%s->%s != %u) { log_%s(\"%s: %%d\", %s); }\n", word(), word(), pick(100), word(), word(), word());
    }
    return n;
}
static size_t base64_line(char *to)
{
    letters(to, B64, 76);
    to[76] = '\n';
    return 77;
}
static size_t usual_line(char *to, uint32_t kind)
{
    return kind == 0 ? log_line(to) : kind == 1 ? table_line(to) : kind == 2 ? json_line(to) : kind == 3 ? base64_line(to) : code_line(to);
}
/* Made-up secrets, in parts so that none stands here. */
static size_t secret(char *to)
{
    size_t n = 0;
    switch (pick(8)) {
    case 0: ADD("gh%s", "p_"); return n + letters(to + n, ALNUM, 36);
    case 1: ADD("AK%s", "IA"); return n + letters(to + n, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16);
    case 2: ADD("sk-%s", "ant-api03-"); return n + letters(to + n, ALNUM, 95);
    case 3: ADD("ey%s", "J"); n += letters(to + n, ALNUM, 33); ADD(".ey%s", "J"); n += letters(to + n, ALNUM, 60); ADD("."); return n + letters(to + n, ALNUM, 43);
    case 4: ADD("postgres://%s:", "app"); n += letters(to + n, ALNUM, 16); ADD("@db.example.com:5432/x"); return n;
    case 5: ADD("10.%u.%u.%u", pick(256), pick(256), pick(256)); return n;
    case 6: ADD("Authorization: %s ", "Bearer"); return n + letters(to + n, ALNUM, 40);
    default: ADD("-----BEGIN %s KEY-----\n", "RSA PRIVATE"); for (int i = 0; i < 12; i++) n += base64_line(to + n); ADD("-----END %s KEY-----", "RSA PRIVATE"); return n;
    }
}
/* Starts of secrets that turn out to be none. */
static size_t near_line(char *to)
{
    size_t n = 0;
    for (int i = 0; i < 8; i++) {
        switch (pick(12)) {
        case 0: ADD("gh%s", "p_"); n += letters(to + n, ALNUM, 20); break;
        case 1: ADD("AK%s", "IA"); n += letters(to + n, "ABCDEFGH", 10); break;
        case 2: ADD("sk-"); break;
        case 3: ADD("ey%s", "J"); n += letters(to + n, ALNUM, 40); break;
        case 4: ADD("://"); n += letters(to + n, ALNUM, 8); ADD(":"); break;
        case 5: ADD("10."); break;
        case 6: ADD("xo%s", "xb-1"); break;
        case 7: ADD("-----BEGIN "); break;
        case 8: ADD("password="); break;
        case 9: ADD("authorization: "); break;
        case 10: ADD("SK0"); n += letters(to + n, HEX, 20); break;
        default: ADD("/home/ ");
        }
        n += letters(to + n, " \t,;", 1);
    }
    ADD("\n");
    return n;
}

const char *const corpus_names[CORPORA] = { "mixed", "logs", "tables", "json", "base64", "code", "secret a 10 KB", "secret a 256 B", "near misses", "eyJ again", "ghp_ again", "10. again", "one letter", "random" };

void corpus_fill(int which, char *to, size_t size)
{
    static char line[8192];
    uint32_t kind = 0, left = 0;
    size_t next = 0;
    state = 12345 + (uint64_t)which;
    for (size_t n = 0; n < size;) {
        size_t k = 0;
        switch (which) {
        case CORPUS_MIXED: case CORPUS_SECRETS: case CORPUS_DENSE:
            if (!left--) {
                kind = pick(5);
                left = 20 + pick(200);
            }
            k = usual_line(line, kind);
            if (which != CORPUS_MIXED && n > next) {
                uint32_t gap = which == CORPUS_DENSE ? 256 : 10240;
                line[k - 1] = ' ';
                k += secret(line + k);
                line[k++] = '\n';
                next = n + gap / 2 + pick(gap);
            }
            break;
        case CORPUS_NEAR: k = near_line(line); break;
        case CORPUS_EYJ: k = (size_t)sprintf(line, "ey%s", "J"); break;
        case CORPUS_GHP: k = (size_t)sprintf(line, "gh%s", "p_"); break;
        case CORPUS_TEN: k = (size_t)sprintf(line, "10."); break;
        case CORPUS_LETTER: memset(line, 'A', k = 4096); break;
        case CORPUS_RANDOM: for (k = 0; k < 4096; k++) line[k] = (char)pick(256); break;
        default: k = usual_line(line, (uint32_t)(which - CORPUS_LOGS));
        }
        k = k < size - n ? k : size - n;
        memcpy(to + n, line, k);
        n += k;
    }
}
void corpus_value(char *to, int number)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=!$";
    state = 777 + (uint64_t)number * 13;
    to[letters(to, alphabet, (size_t)(16 + number % 32))] = 0;
}
