/* fuzz_audit.c - the reader of an audit trail's lines: what it takes for a record has all of a record's parts, within the line.
   SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "audit/audit_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct audit_key none = { NULL, 0 }, key = { (uint8_t *)(uintptr_t)"0123456789abcdef", 16 };
    struct audit_line l;
    for (size_t from = 0; from <= n;) {   /* each line, in memory that ends where it does */
        const uint8_t *nl = from < n ? memchr(p + from, '\n', n - from) : NULL;
        size_t len = (nl ? (size_t)(nl - p) : n) - from;
        uint8_t *line = fuzz_copy(p + from, len);
        if (!interp__audit_read_line(&none, (char *)line, len, &l)) {
            FUZZ_CHECK(strlen(l.hash) == 64 && strlen(l.prev) == 64 && strlen(l.event) < sizeof l.event);
            FUZZ_CHECK(!memcmp(line + len - 66, l.hash, 64));
            int good = l.good;
            if (good) {   /* one bit elsewhere, and it is not */
                line[n % (len - AUDIT_HASH_LEN)] ^= 1;
                FUZZ_CHECK(interp__audit_read_line(&none, (char *)line, len, &l) || !l.good);
                line[n % (len - AUDIT_HASH_LEN)] ^= 1;
            }
            /* with a key another hash is right, never the same one. (A fuzzer can find either: it sees what its input is compared with.) */
            FUZZ_CHECK(interp__audit_read_line(&key, (char *)line, len, &l) || !(good && l.good));
        }
        free(line);
        from += len + 1;
    }
    return 0;
}
