/* SPDX-License-Identifier: Apache-2.0 */
/* byte_sizes_test.c - lists and sweeps of sizes, and what is refused, in which words. */
#include "harness/base/suite/unit.h"
#include "harness/bench/byte_sizes.h"

#include <string.h>

enum { MOST = 1 << 30 };

static void holds(const char *text, int n_wanted, const size_t *wanted)
{
    size_t n_bytes[BYTE_SIZES_MAX];
    int n = -1;

    assert_int_equal(byte_sizes_parse(n_bytes, &n, text, 4, MOST), RC_OK);
    assert_int_equal(n, n_wanted);
    for (int i = 0; i < n; i++)
        assert_int_equal(n_bytes[i], wanted[i]);
}

static void refused(const char *text, const char *message)
{
    size_t n_bytes[BYTE_SIZES_MAX];
    int n;

    assert_int_equal(byte_sizes_parse(n_bytes, &n, text, 4, MOST), RC_INVAL);
    if (!strstr(rc_message(), message))
        fail_msg("'%s': %s", text, rc_message());
}

UNIT_TEST(lists_and_sweeps)
{
    holds("4", 1, (const size_t[]){ 4 });
    holds("64Mi,4Ki,4K", 3, (const size_t[]){ 64 << 20, 4096, 4000 });
    holds("4:64", 5, (const size_t[]){ 4, 8, 16, 32, 64 });
    holds("4:100:x4", 3, (const size_t[]){ 4, 16, 64 });
    holds("12:1Ki:x3,8", 6, (const size_t[]){ 12, 36, 108, 324, 972, 8 });
    holds("8:8:x4", 1, (const size_t[]){ 8 });
    holds("256Mi:1Gi:x4", 2, (const size_t[]){ 256 << 20, 1 << 30 });
}

UNIT_TEST(a_sweep_of_all_sizes)
{
    size_t n_bytes[BYTE_SIZES_MAX];
    int n;

    assert_int_equal(byte_sizes_parse(n_bytes, &n, "4:1Gi", 4, MOST), RC_OK);
    assert_int_equal(n, 29);
    for (int i = 0; i < n; i++)
        assert_int_equal(n_bytes[i], (size_t)4 << i);
}

UNIT_TEST(what_is_refused)
{
    refused("", "names no size");
    refused("many", "\"many\": is no size");
    refused("4,x", "\"x\": is no size");
    refused("6", "\"6\": 6 bytes; use a multiple of 4 from 4 to 1073741824");
    refused("0", "\"0\": 0 bytes; use a multiple of 4");
    refused("2Gi", "\"2Gi\": 2147483648 bytes");
    refused("64:4", "\"64:4\": begins above its end; use 4:64");
    refused("4:64:4", "\"4\" is no factor; use x2 to x1024");
    refused("4:64:x1", "\"x1\" is no factor");
    refused("4:", "\"4:\": is no size");
    refused("4:64:x2:x2", "\"x2:x2\" is no factor");
    refused("4:1Gi,4:1Gi,4:1Gi", "these are more than 64 sizes");
}

UNIT_MAIN("byte_sizes")
