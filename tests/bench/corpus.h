/* corpus.h - what the redaction bench and its test run over.
   SPDX-License-Identifier: MIT */
#ifndef INTERP_TESTS_CORPUS_H
#define INTERP_TESTS_CORPUS_H
#include <stddef.h>
#include <stdint.h>

enum { CORPUS_MIXED, CORPUS_LOGS, CORPUS_TABLES, CORPUS_JSON, CORPUS_BASE64, CORPUS_CODE, CORPUS_SECRETS, CORPUS_DENSE,
       CORPUS_NEAR, CORPUS_EYJ, CORPUS_GHP, CORPUS_TEN, CORPUS_LETTER, CORPUS_RANDOM, CORPORA };   /* from CORPUS_NEAR on: adversarial */
extern const char *const corpus_names[CORPORA];
void corpus_fill(int which, char *to, size_t size);
void corpus_value(char *to, int number);               /* a value to register; to has 64 bytes */
#endif
