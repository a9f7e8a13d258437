/* fuzz_wire_agent.c - what an agent may send, as the host reads it.
   SPDX-License-Identifier: MIT */
#include "fuzz_wire.h"

static void one(const uint8_t *data, size_t size) { frames(data, size, 1); }
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    one(data, size);
    fuzz_small_stack(one, data, size);
    return 0;
}
