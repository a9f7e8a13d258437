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
/* What encoders of URLs leave as it is beside letters and digits, and how they write a blank. */
struct url_style { const char *kept; char blank; };
static const struct url_style urls[] = {
    { "-_.~", '%' },                        /* RFC 3986: curl, jq, Ruby, PHP's rawurlencode */
    { "-_.~/", '%' },                       /* Python's quote */
    { "-_.~", '+' },                          /* Python's quote_plus, Go's QueryEscape */
    { "-_.~/", '+' },
    { "-_.~!*'()", '%' },                   /* JavaScript's encodeURIComponent */
    { "-_.~!*'();/?:@&=+$,#", '%' },        /* its encodeURI */
    { "-_.*", '+' },                          /* forms as browsers, URLSearchParams and Java's URLEncoder send them */
    { "-_.", '+' },                           /* PHP's urlencode */
    { "-_.!*()", '+' },                       /* .NET's UrlEncode */
    { "-_.~$&+=:@", '%' },                  /* Go's PathEscape */
    { "-_.~!$&'()*+,;=:@", '%' }            /* a part of a path in RFC 3986 */
};
static size_t percent(uint8_t *to, const uint8_t *p, size_t n, const char *digits, const struct url_style *style)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (alnum(p[i]) || (p[i] && strchr(style->kept, p[i])))
            to[k++] = p[i];
        else if (p[i] == ' ' && style->blank == '+')
            to[k++] = '+';
        else {
            to[k++] = '%';
            to[k++] = (uint8_t)digits[p[i] >> 4];
            to[k++] = (uint8_t)digits[p[i] & 15];
        }
    return k;
}
static size_t escape(uint8_t *to, char letter, int len, unsigned c, const char *digits)
{
    to[0] = '\\', to[1] = (uint8_t)letter;
    for (int i = 0; i < len; i++)
        to[2 + i] = (uint8_t)digits[c >> 4 * (len - 1 - i) & 15];
    return (size_t)len + 2;
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
/* What writers of JSON escape beside what they must: everything that is not ASCII, and these characters; '/' by a backslash before it, others by \u. */
struct json_style { const char *also, *digits; int ascii; };
static const struct json_style jsons[] = {
    { "", LOWER, 0 },                         /* JavaScript, most others */
    { "", LOWER, 1 },                         /* Python */
    { "/", LOWER, 1 },                        /* PHP */
    { "/", LOWER, 0 },
    { "<>&", LOWER, 0 },                      /* Go */
    { "<>&='", LOWER, 0 },                    /* Java's Gson */
    { "<>&'", LOWER, 1 },                     /* Python's templates */
    { "<>&'/", LOWER, 0 },
    { "<>&'+`\"", UPPER, 1 }                  /* .NET */
};
static size_t json(uint8_t *to, const uint8_t *p, size_t n, const struct json_style *style)
{
    static const char special[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    size_t k = 0;
    for (size_t i = 0; i < n;) {
        unsigned c = p[i];
        size_t len = 1;
        const char *s = c ? strchr(special, (int)c) : NULL;
        int also = c && c < 0x80 && strchr(style->also, (int)c);
        if (c >= 0x80 && style->ascii && (len = utf8_char(p + i, n - i, &c)) > 0) {
            if (c > 0xFFFF) {
                k += escape(to + k, 'u', 4, 0xD800 + ((c - 0x10000) >> 10), style->digits);
                c = 0xDC00 + ((c - 0x10000) & 0x3FF);
            }
            k += escape(to + k, 'u', 4, c, style->digits);
        } else if ((s && !also) || (also && c == '/')) {
            to[k++] = '\\';
            to[k++] = s ? (uint8_t)letter[s - special] : '/';
        } else if (c < 0x20 || also)
            k += escape(to + k, 'u', 4, c, style->digits);
        else
            to[k++] = p[i];
        i += len ? len : 1;
    }
    return k;
}
/* What ends a run of text in HTML and XML, which tables and pictures are made of. */
struct markup_style { const char *quote, *apostrophe; };
static const struct markup_style markups[] = {
    { "\"", "'" },                            /* text between tags, as pandas and matplotlib write it */
    { "&quot;", "'" },                        /* PHP, XML's writers in Python */
    { "&quot;", "&#x27;" },                   /* Python's html.escape */
    { "&quot;", "&#39;" },                    /* JavaScript's and Ruby's */
    { "&#34;", "&#39;" },                     /* Go's */
    { "&quot;", "&apos;" }                    /* XML */
};
static size_t markup(uint8_t *to, const uint8_t *p, size_t n, const struct markup_style *style)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        const char one[] = { (char)p[i], 0 };
        const char *s = p[i] == '&' ? "&amp;" : p[i] == '<' ? "&lt;" : p[i] == '>' ? "&gt;" : p[i] == '"' ? style->quote : p[i] == '\'' ? style->apostrophe : one;
        size_t len = strlen(s) + !p[i];
        memcpy(to + k, s, len);
        k += len;
    }
    return k;
}
/* UTF-16 where it is more than the bytes with zeros between, which are passed over anyway. 0: the value is no UTF-8, or all of it is ASCII. */
static size_t utf16(uint8_t *to, const uint8_t *p, size_t n, int big)
{
    size_t k = 0;
    int wide = 0;
    for (size_t i = 0, len; i < n; i += len) {
        unsigned c, unit[2];
        if (!(len = utf8_char(p + i, n - i, &c)))
            return 0;
        wide |= c > 0x7F;
        unit[0] = c > 0xFFFF ? 0xD800 + ((c - 0x10000) >> 10) : c;
        unit[1] = 0xDC00 + ((c - 0x10000) & 0x3FF);
        for (int u = 0; u < (c > 0xFFFF) + 1; u++) {
            to[k++] = (uint8_t)(big ? unit[u] >> 8 : unit[u]);
            to[k++] = (uint8_t)(big ? unit[u] : unit[u] >> 8);
        }
    }
    return wide ? k : 0;
}
/* As C, Python, Go and JavaScript show a string: backslash escapes, \xNN for a byte that is not printable; characters: as Python's ascii(), where a character is escaped and no byte. */
static size_t quoted(uint8_t *to, const uint8_t *p, size_t n, uint8_t quote, int characters)
{
    size_t k = 0;
    for (size_t i = 0, len; i < n; i += len) {
        unsigned c = p[i];
        len = 1;
        if (c >= 0x80 && characters && !(len = utf8_char(p + i, n - i, &c)))
            len = 1;
        if (c == '\\' || c == quote || c == '\n' || c == '\r' || c == '\t') {
            to[k++] = '\\';
            to[k++] = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : (uint8_t)c;
        } else if (c < 0x20 || c >= 0x7F)
            k += c > 0xFFFF ? escape(to + k, 'U', 8, c, LOWER) : c > 0xFF ? escape(to + k, 'u', 4, c, LOWER) : escape(to + k, 'x', 2, c, LOWER);
        else
            to[k++] = (uint8_t)c;
    }
    return k;
}
/* A quote within quotes twice, as CSV and SQL write it. */
static size_t doubled(uint8_t *to, const uint8_t *p, size_t n, uint8_t quote)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        to[k++] = p[i];
        if (p[i] == quote)
            to[k++] = quote;
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
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        TAKE(percent(work, p, n, UPPER, &urls[i]));
        TAKE(percent(work, p, n, LOWER, &urls[i]));
    }
    for (size_t i = 0; i < sizeof jsons / sizeof *jsons; i++)
        TAKE(json(work, p, n, &jsons[i]));
    for (size_t i = 0; i < sizeof markups / sizeof *markups; i++)
        TAKE(markup(work, p, n, &markups[i]));
    for (int i = 0; i < 2; i++) {
        TAKE(utf16(work, p, n, i));
        TAKE(quoted(work, p, n, '\'', i));
        TAKE(quoted(work, p, n, '"', i));
    }
    TAKE(doubled(work, p, n, '"'));
    TAKE(doubled(work, p, n, '\''));
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
