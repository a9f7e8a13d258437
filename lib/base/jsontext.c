/* jsontext.c - UTF-8, JSON strings, base64 */
#include "json.h"
#include <string.h>

/* Length of the sequence at p: 1 to 4; 0 invalid; -1 cut off by the end but fine so far. Table 3-7 of the Unicode standard. */
static int sequence(const uint8_t *p, size_t n)
{
    uint8_t c = p[0], low = 0x80, high = 0xBF;
    int len;
    if (c < 0x80)
        return 1;
    if (c >= 0xC2 && c <= 0xDF)
        len = 2;
    else if (c >= 0xE0 && c <= 0xEF) {
        len = 3;
        if (c == 0xE0)
            low = 0xA0;
        else if (c == 0xED)
            high = 0x9F;
    } else if (c >= 0xF0 && c <= 0xF4) {
        len = 4;
        if (c == 0xF0)
            low = 0x90;
        else if (c == 0xF4)
            high = 0x8F;
    } else
        return 0;
    for (int i = 1; i < len; i++) {
        if ((size_t)i >= n)
            return -1;
        if (p[i] < low || p[i] > high)
            return 0;
        low = 0x80, high = 0xBF;
    }
    return len;
}

size_t interp__utf8_valid(const void *v, size_t n)
{
    const uint8_t *p = v;
    size_t i = 0;
    while (i < n) {
        int k = sequence(p + i, n - i);
        if (k <= 0)
            return i;
        i += (size_t)k;
    }
    return n;
}

size_t interp__utf8_whole(const void *v, size_t n)
{
    const uint8_t *p = v;
    /* a cut sequence starts in the last three bytes */
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        uint8_t c = p[n - back];
        if ((c & 0xC0) == 0x80)
            continue;
        return sequence(p + n - back, back) == -1 ? n - back : n;
    }
    return n;
}

void interp__json_text(struct interp__buf *out, const void *v, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    const uint8_t *p = n ? v : "";   /* an empty buffer has none */
    interp__buf_add(out, "\"", 1);
    size_t run = 0, i = 0;
    while (i < n) {
        int k = p[i] < 0x20 || p[i] == '"' || p[i] == '\\' || p[i] == 0x7F ? 0 : sequence(p + i, n - i);
        if (k > 0) {
            i += (size_t)k;
            continue;
        }
        interp__buf_add(out, p + run, i - run);
        uint8_t c = p[i];
        if (c >= 0x80)
            interp__buf_str(out, "\xEF\xBF\xBD");
        else if (c == '"' || c == '\\')
            interp__buf_add(out, (char[]){ '\\', (char)c }, 2);
        else if (c == '\n')
            interp__buf_str(out, "\\n");
        else if (c == '\t')
            interp__buf_str(out, "\\t");
        else if (c == '\r')
            interp__buf_str(out, "\\r");
        else
            interp__buf_add(out, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
        run = ++i;
    }
    interp__buf_add(out, p + run, n - run);
    interp__buf_add(out, "\"", 1);
}

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";   /* RFC 4648 section 4 */

void interp__json_base64(struct interp__buf *out, const void *v, size_t n)
{
    const uint8_t *p = v;
    interp__buf_add(out, "\"", 1);
    for (size_t i = 0; i < n; i += 3) {
        uint32_t b = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
        char c[4] = { ALPHABET[b >> 18], ALPHABET[b >> 12 & 63], i + 1 < n ? ALPHABET[b >> 6 & 63] : '=', i + 2 < n ? ALPHABET[b & 63] : '=' };
        interp__buf_add(out, c, 4);
    }
    interp__buf_add(out, "\"", 1);
}

int interp__base64_decode(struct interp__buf *out, const char *p, size_t n)
{
    if (n % 4)
        return -1;
    for (size_t i = 0; i < n; i += 4) {
        uint32_t b = 0;
        int pad = 0;
        for (int k = 0; k < 4; k++) {
            char c = p[i + (size_t)k];
            const char *at = c && c != '=' ? strchr(ALPHABET, c) : NULL;
            if (c == '=' && i + 4 == n && k >= 2)
                pad++;
            else if (!at || pad)
                return -1;
            b = b << 6 | (at ? (uint32_t)(at - ALPHABET) : 0);
        }
        uint8_t o[3] = { (uint8_t)(b >> 16), (uint8_t)(b >> 8), (uint8_t)b };
        interp__buf_add(out, o, (size_t)(3 - pad));
    }
    return 0;
}
