/* sha256.h - SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104). Here because none of the libraries that we need has one. */
#ifndef INTERP_LIB_BASE_SHA256_H
#define INTERP_LIB_BASE_SHA256_H
#include <stddef.h>
#include <stdint.h>

#define INTERP__SHA256_HEX 65u
#define INTERP__SHA256     32u
struct interp__sha256 {
    uint32_t h[8];
    uint64_t n;                /* bytes so far */
    uint8_t rest[64];
};
void interp__sha256_init(struct interp__sha256 *c);
void interp__sha256_add(struct interp__sha256 *c, const void *p, size_t n);
void interp__sha256_end(struct interp__sha256 *c, uint8_t out[INTERP__SHA256]);   /* c is wiped */
void interp__hmac_sha256(const void *key, size_t nkey, const void *p, size_t n, uint8_t out[INTERP__SHA256]);
void interp__hex(const uint8_t *p, size_t n, char *out);                          /* 2 * n lower-case digits, NUL behind */
void interp__sha256_hex(const void *p, size_t n, char out[INTERP__SHA256_HEX]);   /* lower case, NUL behind */
#endif
