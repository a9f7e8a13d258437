/* sha256.h - SHA-256 (FIPS 180-4). Here because none of the libraries that we need has one; names content, guards nothing secret. */
#ifndef INTERP_LIB_BASE_SHA256_H
#define INTERP_LIB_BASE_SHA256_H
#include <stddef.h>
#include <stdint.h>

#define INTERP__SHA256_HEX 65u
void interp__sha256_hex(const void *p, size_t n, char out[INTERP__SHA256_HEX]);   /* lower case, NUL behind */
#endif
