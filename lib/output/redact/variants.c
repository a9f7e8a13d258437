/* variants.c - how a value may appear in output: the encodings that programs commonly use */
#include "redact_priv.h"
#include <string.h>

static const char STANDARD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char URL_SAFE[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char LOWER[] = "0123456789abcdef", UPPER[] = "0123456789ABCDEF";

static int alnum(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Base64 of the value with `before` unknown bytes in front: only the characters that the value alone decides. */
static size_t base64(uint8_t *to, const uint8_t *p, size_t n, size_t before, const char *alphabet, struct redact_variant *v)
{
    size_t first = (before * 8 + 5) / 6, last = (before + n) * 8 / 6, k = 0;
    for (size_t c = first; c < last; c++) {
        size_t bit = c * 6 - before * 8, byte = bit / 8;
        unsigned two = (unsigned)p[byte] << 8 | (byte + 1 < n ? p[byte + 1] : 0);
        to[k++] = (uint8_t)alphabet[two >> (10 - bit % 8) & 63];
    }
    v->left = before != 0;
    v->right = (before + n) * 8 % 6 != 0;
    return k;
}
static size_t hex(uint8_t *to, const uint8_t *p, size_t n, const char *digits)
{
    for (size_t i = 0; i < n; i++) {
        to[2 * i] = (uint8_t)digits[p[i] >> 4];
        to[2 * i + 1] = (uint8_t)digits[p[i] & 15];
    }
    return 2 * n;
}
/* RFC 3986, or what forms send: '/' stays, a blank is '+' */
static size_t percent(uint8_t *to, const uint8_t *p, size_t n, const char *digits, int form)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (alnum(p[i]) || (p[i] && strchr("-_.~", p[i])) || (form && p[i] == '/'))
            to[k++] = p[i];
        else if (form && p[i] == ' ')
            to[k++] = '+';
        else {
            to[k++] = '%';
            to[k++] = (uint8_t)digits[p[i] >> 4];
            to[k++] = (uint8_t)digits[p[i] & 15];
        }
    return k;
}
static size_t unicode_escape(uint8_t *to, unsigned c)
{
    to[0] = '\\', to[1] = 'u';
    for (int i = 0; i < 4; i++)
        to[2 + i] = (uint8_t)LOWER[c >> (12 - 4 * i) & 15];
    return 6;
}
/* One character of UTF-8, or 0 where there is none. */
static size_t utf8_char(const uint8_t *p, size_t n, unsigned *c)
{
    size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xC2 && p[0] < 0xE0 ? 2 : p[0] >= 0xE0 && p[0] < 0xF0 ? 3 : p[0] >= 0xF0 && p[0] < 0xF5 ? 4 : 0;
    if (!len || len > n)
        return 0;
    *c = len == 1 ? p[0] : p[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        *c = *c << 6 | (p[i] & 0x3F);
    }
    return len;
}
enum json_style { JSON_MINIMAL, JSON_ASCII, JSON_HTML };   /* ASCII: as Python's json writes; HTML: slashes and markup escaped, as PHP and Go do */
static size_t json(uint8_t *to, const uint8_t *p, size_t n, enum json_style style)
{
    static const char special[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    size_t k = 0;
    for (size_t i = 0; i < n;) {
        unsigned c = p[i];
        size_t len = 1;
        const char *s = c ? strchr(special, (int)c) : NULL;
        if (c >= 0x80 && style == JSON_ASCII && (len = utf8_char(p + i, n - i, &c)) > 0) {
            if (c > 0xFFFF) {
                k += unicode_escape(to + k, 0xD800 + ((c - 0x10000) >> 10));
                c = 0xDC00 + ((c - 0x10000) & 0x3FF);
            }
            k += unicode_escape(to + k, c);
        } else if (s || (style == JSON_HTML && c == '/')) {
            to[k++] = '\\';
            to[k++] = s ? (uint8_t)letter[s - special] : '/';
        } else if (c < 0x20 || (style == JSON_HTML && strchr("<>&'", (int)c)))
            k += unicode_escape(to + k, c);
        else
            to[k++] = p[i];
        i += len ? len : 1;
    }
    return k;
}
/* As C, Python, Go and JavaScript show a string: backslash escapes, \xNN for what is not printable. */
static size_t quoted(uint8_t *to, const uint8_t *p, size_t n, uint8_t quote)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = p[i];
        if (c == '\\' || c == quote || c == '\n' || c == '\r' || c == '\t') {
            to[k++] = '\\';
            to[k++] = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : c;
        } else if (c < 0x20 || c >= 0x7F) {
            to[k++] = '\\';
            to[k++] = 'x';
            to[k++] = (uint8_t)LOWER[c >> 4];
            to[k++] = (uint8_t)LOWER[c & 15];
        } else
            to[k++] = c;
    }
    return k;
}
/* A single quote inside single quotes, as shells are given it. */
static size_t shell(uint8_t *to, const uint8_t *p, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (p[i] == '\'') {
            memcpy(to + k, "'\\''", 4);
            k += 4;
        } else
            to[k++] = p[i];
    return k;
}
static size_t reversed(uint8_t *to, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = p[n - 1 - i];
    return n;
}

size_t interp__redact_variants_room(size_t n)
{
    return 6 * n + 16;   /* six for each control character in JSON; base64 and percent stay below */
}

enum { LINE_MIN = 16 };   /* a line of a value of several lines that is looked for on its own */

static int lines(const uint8_t *p, size_t n, int (*take)(void *, const uint8_t *, size_t, struct redact_variant), void *userdata)
{
    static const char armour[] = "-----";
    const struct redact_variant plain = { 0, 0 };
    int st = 0;
    if (!memchr(p, '\n', n))
        return 0;
    for (size_t i = 0; i < n && !st;) {
        const uint8_t *q = memchr(p + i, '\n', n - i);
        size_t to = q ? (size_t)(q - p) : n, end = to;
        while (end > i && (p[end - 1] == '\r' || p[end - 1] == ' ' || p[end - 1] == '\t'))
            end--;
        while (i < end && (p[i] == ' ' || p[i] == '\t'))
            i++;
        if (end - i >= LINE_MIN && memcmp(p + i, armour, sizeof armour - 1) != 0)
            st = take(userdata, p + i, end - i, plain);
        i = to + 1;
    }
    return st;
}

int interp__redact_variants(const uint8_t *p, size_t n, uint8_t *work, size_t room, int (*take)(void *, const uint8_t *, size_t, struct redact_variant), void *userdata)
{
    const struct redact_variant plain = { 0, 0 };
    if (room < interp__redact_variants_room(n))
        return -1;
    int st = take(userdata, p, n, plain);
    for (size_t before = 0; before < 3 && !st; before++) {
        struct redact_variant v;
        size_t k = base64(work, p, n, before, STANDARD, &v);
        st = take(userdata, work, k, v);
        k = base64(work, p, n, before, URL_SAFE, &v);
        st = st ? st : take(userdata, work, k, v);
    }
#define TAKE(made) do { if (!st) { size_t k = made; st = take(userdata, work, k, plain); } } while (0)
    TAKE(hex(work, p, n, LOWER));
    TAKE(hex(work, p, n, UPPER));
    for (int form = 0; form < 2; form++) {
        TAKE(percent(work, p, n, UPPER, form));
        TAKE(percent(work, p, n, LOWER, form));
    }
    TAKE(json(work, p, n, JSON_MINIMAL));
    TAKE(json(work, p, n, JSON_ASCII));
    TAKE(json(work, p, n, JSON_HTML));
    TAKE(quoted(work, p, n, '\''));
    TAKE(quoted(work, p, n, '"'));
    TAKE(shell(work, p, n));
    TAKE(reversed(work, p, n));
#undef TAKE
    return st ? st : lines(p, n, take, userdata);
}

size_t interp__redact_normalise(uint8_t *to, const uint8_t *p, size_t n)
{
    struct redact_escape e = { 0, 0 };
    size_t k = 0;
    int skipping = 0;
    for (size_t i = 0; i < n; i++) {
        if (interp__redact_in_gap(&e, p[i]))
            continue;
        if (p[i] == '\n' || p[i] == '\r')
            skipping = 1;
        else if (!(skipping && (p[i] == ' ' || p[i] == '\t'))) {
            skipping = 0;
            to[k++] = p[i];
        }
    }
    return k;
}
