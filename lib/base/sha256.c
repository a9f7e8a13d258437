/* sha256.c - names as in FIPS 180-4 */
#include "sha256.h"
#include <string.h>

/* Section 4.2.2: first 32 bits of the fractional parts of the cube roots of the first 64 primes */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void block(uint32_t h[8], const uint8_t *p)
{
    uint32_t w[64], v[8];
    for (unsigned t = 0; t < 16; t++, p += 4)
        w[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (unsigned t = 16; t < 64; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10) + w[t - 7] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + w[t - 16];
    }
    memcpy(v, h, sizeof v);
    for (unsigned t = 0; t < 64; t++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + K[t] + w[t];
        uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        h[i] += v[i];
}

void interp__sha256_init(struct interp__sha256 *c)
{
    static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(c->h, start, sizeof start);
    c->n = 0;
}

void interp__sha256_add(struct interp__sha256 *c, const void *data, size_t n)
{
    const uint8_t *p = data;
    size_t have = c->n % 64;
    c->n += n;
    if (have) {
        size_t part = 64 - have < n ? 64 - have : n;
        if (part)
            memcpy(c->rest + have, p, part);
        p += part;
        n -= part;
        if (have + part < 64)
            return;
        block(c->h, c->rest);
    }
    for (; n >= 64; p += 64, n -= 64)
        block(c->h, p);
    if (n)
        memcpy(c->rest, p, n);
}

void interp__sha256_end(struct interp__sha256 *c, uint8_t out[INTERP__SHA256])
{
    uint8_t last[128] = { 0 };
    size_t left = c->n % 64, end = left < 56 ? 64 : 128;
    memcpy(last, c->rest, left);
    last[left] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[end - 1 - i] = (uint8_t)(c->n * 8 >> 8 * i);
    for (size_t at = 0; at < end; at += 64)
        block(c->h, last + at);
    for (unsigned i = 0; i < INTERP__SHA256; i++)
        out[i] = (uint8_t)(c->h[i / 4] >> (24 - 8 * (i % 4)));
    explicit_bzero(last, sizeof last);
    explicit_bzero(c, sizeof *c);
}

void interp__hmac_sha256(const void *key, size_t nkey, const void *p, size_t n, uint8_t out[INTERP__SHA256])
{
    struct interp__sha256 c;
    uint8_t k[64] = { 0 }, pad[64];
    if (nkey > sizeof k) {
        interp__sha256_init(&c);
        interp__sha256_add(&c, key, nkey);
        interp__sha256_end(&c, k);
    } else if (nkey)
        memcpy(k, key, nkey);
    for (unsigned i = 0; i < sizeof k; i++)
        pad[i] = k[i] ^ 0x36;
    interp__sha256_init(&c);
    interp__sha256_add(&c, pad, sizeof pad);
    interp__sha256_add(&c, p, n);
    interp__sha256_end(&c, out);
    for (unsigned i = 0; i < sizeof k; i++)
        pad[i] = k[i] ^ 0x5c;
    interp__sha256_init(&c);
    interp__sha256_add(&c, pad, sizeof pad);
    interp__sha256_add(&c, out, INTERP__SHA256);
    interp__sha256_end(&c, out);
    explicit_bzero(k, sizeof k);
    explicit_bzero(pad, sizeof pad);
}

void interp__hex(const uint8_t *p, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = 0;
}

void interp__sha256_hex(const void *data, size_t n, char out[INTERP__SHA256_HEX])
{
    struct interp__sha256 c;
    uint8_t b[INTERP__SHA256];
    interp__sha256_init(&c);
    interp__sha256_add(&c, data, n);
    interp__sha256_end(&c, b);
    interp__hex(b, sizeof b, out);
}
