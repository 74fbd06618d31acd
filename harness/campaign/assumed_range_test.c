/* SPDX-License-Identifier: Apache-2.0 */
/* assumed_range_test.c - ranges that sources of made-up descriptions state, and of values without one (R1, R2). */
#include "harness/campaign/assumed_range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "harness/cluster/cluster_keys.h"

static void ranges_are_stated_or_a_half_to_twice_R1(void **state)
{
    static const struct {
        const char *name, *value, *source;
        double low, high;
    } cases[] = {
        { "link_latency_s", "4e-6", "assumed", 2e-6, 8e-6 },
        { "link_latency_s", "4e-6", "assumed: range 3e-6 to 5e-6; a cable", 3e-6, 5e-6 },
        { "link_bits_per_s", "8e9", "assumed: in that range chosen, range 2e9 to 9e9", 2e9, 9e9 },
        { "link_bits_per_s", "8e9", "assumed: range 9e9 to 12e9", 8e9, 12e9 }, /* the value is in it */
        { "link_bits_per_s", "8e9", "assumed: range 9e9 to many", 4e9, 16e9 },
        { "link_bits_per_s", "8e9", "assumed: range 9e9 to 2e9", 4e9, 16e9 },
        { "rdma_rate_ratio", "0.75", "assumed", 0.375, 1 }, /* no key has more than it allows */
        { "hosts_per_group_count", "3", "assumed", 2, 6 },
    };
    static struct cluster_sources sources;
    struct assumed_range r;
    struct cluster c;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int key = cluster_key_find(cases[i].name);
        cluster_default(&c);
        assert_int_equal(cluster_key_set(&c, key, cases[i].value), RC_OK);
        snprintf(sources.text[key], sizeof sources.text[key], "%s", cases[i].source);
        assert_true(assumed_range_of(&r, &c, &sources, key));
        assert_int_equal(r.key, key);
        assert_true(r.low >= cases[i].low && r.low <= cases[i].low);
        assert_true(r.high >= cases[i].high && r.high <= cases[i].high);
    }
    assert_false(assumed_range_of(&r, &c, &sources, cluster_key_find("protocol")));
    assert_false(assumed_range_of(&r, &c, &sources, cluster_key_find("staging_bytes_per_s"))); /* 0 */
}

static bool has(const struct assumed_range *range, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (range[i].key == cluster_key_find(name))
            return true;
    return false;
}

/* Of the default only what bare links and the memory of a worker need; nothing that is given, off, or no time. */
static void what_limits_nothing_has_no_band_R2(void **state)
{
    static struct cluster_sources sources;
    struct assumed_range range[CLUSTER_MAX_KEYS];
    struct cluster c;

    (void)state;
    assert_int_equal(cluster_find(&c, &sources, ""), RC_OK);
    size_t n = assumed_ranges(range, &c, &sources);
    assert_true(has(range, n, "link_bits_per_s") && has(range, n, "link_latency_s"));
    assert_true(has(range, n, "memory_bytes_per_s") && has(range, n, "local_bytes_per_s"));
    assert_false(has(range, n, "link_duplex_ratio") || has(range, n, "straggler_ratio"));
    assert_false(has(range, n, "tcp_latency_s") || has(range, n, "flops_per_s") || has(range, n, "hosts_count"));
    assert_int_equal(cluster_set(&c, &sources, "link_bits_per_s=1e9"), RC_OK);
    n = assumed_ranges(range, &c, &sources);
    assert_false(has(range, n, "link_bits_per_s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranges_are_stated_or_a_half_to_twice_R1),
                                        cmocka_unit_test(what_limits_nothing_has_no_band_R2) };

    return cmocka_run_group_tests_name("assumed_range", tests, NULL, NULL);
}
