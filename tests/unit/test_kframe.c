/* test_kframe.c - the header of kernel frames (lib/wire, lib/guest/kernels/PROTOCOL.md).
   SPDX-License-Identifier: MIT */
#include "tap.h"
#include "wire/wire.h"

TEST(bytes)
{
    static const uint8_t want[KFRAME_HEADER] = { 4, 3, 2, 0, 8, 7, 6, 1, 'f', 2, 0, 0, 0xdd, 0xcc, 0xbb, 0xaa };
    const struct kframe f = { .json_len = 0x00020304, .bin_len = 0x01060708, .token = 0xaabbccdd, .type = 'f', .status = 2 };
    uint8_t out[KFRAME_HEADER];
    interp__kframe_put(out, &f);
    CHECK_MEM(out, want, sizeof want);
}

TEST(round_trip)
{
    uint64_t seed = 5;
    for (int i = 0; i < 10000; i++) {
        struct kframe f = { (uint32_t)(tap_random(&seed) % (KFRAME_JSON_MAX + 1)), (uint32_t)(tap_random(&seed) % (KFRAME_BIN_MAX + 1)),
                            (uint32_t)tap_random(&seed), (uint8_t)tap_random(&seed), (uint8_t)tap_random(&seed) }, b;
        uint8_t out[KFRAME_HEADER];
        interp__kframe_put(out, &f);
        REQUIRE(interp__kframe_get(out, &b) == 0);
        CHECK(f.json_len == b.json_len && f.bin_len == b.bin_len && f.token == b.token && f.type == b.type && f.status == b.status);
    }
}

TEST(bounds)
{
    static const struct { uint32_t json, bin; int want; } row[] = {
        { 0, 0, 0 }, { KFRAME_JSON_MAX, KFRAME_BIN_MAX, 0 }, { KFRAME_JSON_MAX + 1, 0, -1 }, { 0, KFRAME_BIN_MAX + 1, -1 },
        { UINT32_MAX, 0, -1 }, { 0, UINT32_MAX, -1 }, { 0x80000000u, 0x80000000u, -1 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct kframe f = { row[i].json, row[i].bin, 1, 'd', 0 }, b;
        uint8_t out[KFRAME_HEADER];
        interp__kframe_put(out, &f);
        CHECK_INT(interp__kframe_get(out, &b), row[i].want);
    }
    CHECK_INT(KFRAME_JSON_MAX, 1 << 20);
    CHECK_INT(KFRAME_BIN_MAX, 32 << 20);
}

TEST(reserved_bytes)
{
    struct kframe f = { 1, 2, 3, 'r', 0 }, b;
    for (int at = 10; at < 12; at++)
        for (int v = 1; v < 256; v++) {
            uint8_t out[KFRAME_HEADER];
            interp__kframe_put(out, &f);
            out[at] = (uint8_t)v;
            CHECK_INT(interp__kframe_get(out, &b), -1);
        }
}

TAP_MAIN()
