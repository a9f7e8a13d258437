/* fuzz_wire_host.c - what a host may send, as the agent reads it.
   SPDX-License-Identifier: MIT */
#include "fuzz_wire.h"

static void one(const uint8_t *data, size_t size) { frames(data, size, 0); }
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one(data, size);
    fuzz_small_stack(one, data, size);
    return 0;
}
