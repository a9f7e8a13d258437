/* exec_input.c - the line protocol: standard input of execs that run. What a call does not take at once waits here for its WRITABLE event.
   SPDX-License-Identifier: MIT */
#include "exec.h"
#include <string.h>

#define WAITING_MAX ((size_t)64 << 20)

static int base64_digit(int c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_decode(const char *p, size_t n, struct buf *out)
{
    if (n % 4)
        return -1;
    for (size_t i = 0; i < n; i += 4) {
        int pad = i + 4 == n ? (p[i + 3] == '=') + (p[i + 2] == '=' && p[i + 3] == '=') : 0;
        unsigned long v = 0;
        for (int k = 0; k < 4; k++) {
            int d = k >= 4 - pad ? 0 : base64_digit((unsigned char)p[i + (size_t)k]);
            if (d < 0)
                return -1;
            v = v << 6 | (unsigned long)d;
        }
        char bytes[3] = { (char)(v >> 16 & 255), (char)(v >> 8 & 255), (char)(v & 255) };
        buf_add(out, bytes, (size_t)(3 - pad));
    }
    return 0;
}

int input_take(struct op *op, const struct object *o, const char **why)
{
    const struct member *text = object_get(o, "text"), *base64 = object_get(o, "base64"), *eof = object_get(o, "eof");
    struct buf bytes = { 0 }, encoded = { 0 };
    *why = NULL;
    if ((text && text->kind != JSON_STRING) || (base64 && base64->kind != JSON_STRING) || (text && base64))
        *why = "one of \"text\" and \"base64\", as a string, is what the code is to read";
    else if (eof && eof->kind != JSON_BOOL)
        *why = "\"eof\" must be true or false";
    else if (!text && !base64 && !eof)
        *why = "\"text\", \"base64\" or \"eof\" is missing";
    else if (op->input_eof && (text || base64))
        *why = "nothing can follow \"eof\"";
    if (!*why && text)
        object_string(text, &bytes);
    if (!*why && base64) {
        object_string(base64, &encoded);
        if (base64_decode(encoded.p ? encoded.p : "", encoded.len, &bytes) < 0)
            *why = "\"base64\" is not base64";
    }
    if (!*why && op->input.len + bytes.len > WAITING_MAX)
        *why = "more than 64 MiB of input wait for this exec: send less until it has read some";
    if (!*why) {
        buf_add(&op->input, bytes.p ? bytes.p : "", bytes.len);
        op->input_eof |= eof && eof->value[0] == 't';
    }
    buf_free(&bytes);
    buf_free(&encoded);
    return *why ? -1 : 0;
}

void input_feed(struct op *op)
{
    size_t taken = 0;
    if (!op->call || op->input_ended)
        return;
    if (op->input.len && interp_call_write(op->call, op->input.p, op->input.len, &taken, NULL) == INTERP_OK) {
        memmove(op->input.p, op->input.p + taken, op->input.len - taken);
        op->input.len -= taken;
    }
    if (op->input_eof && !op->input.len) {
        (void)interp_call_write_end(op->call, NULL);   /* an exec that has ended needs none */
        op->input_ended = 1;
    }
}
