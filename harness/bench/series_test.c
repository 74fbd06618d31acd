/* SPDX-License-Identifier: Apache-2.0 */
/* series_test.c - how often a measurement is repeated, by a made-up clock, and which repeats count. */
#include "harness/base/suite/unit.h"
#include "harness/bench/series.h"

enum { MS = 1000000 };

struct made_world {
    struct world base; /* first: a series sees only this */
    uint64_t now_ns;
};

static uint64_t now_ns(struct world *w)
{
    return ((struct made_world *)w)->now_ns;
}

static const struct world_ops REAL = { .module.name = "made", .now_ns = now_ns };
static const struct world_ops VIRTUAL = { .module.name = "made", .module.caps = WORLD_VIRTUAL_TIME, .now_ns = now_ns };

/* How many repeats of so many ms count; so many come before, ten times as long, that do not. */
static int repeats_of(const struct world_ops *ops, uint64_t repeat_ns, int n_cold)
{
    struct made_world w = { .base.ops = ops, .now_ns = UINT64_C(7) << 40 };
    struct series s = series_begin(&w.base);

    while (series_wants_more(&s, &w.base)) {
        const uint64_t started_ns = w.now_ns;
        w.now_ns += s.n_repeats < n_cold ? 10 * repeat_ns : repeat_ns;
        series_add(&s, &w.base, started_ns);
    }
    assert_int_equal(s.n_repeats, s.n_values + n_cold);
    for (int i = 0; i < s.n_values; i++)
        assert_true(s.value_s[i] == (double)repeat_ns * 1e-9);
    return s.n_values;
}

/* The time of the one that is discarded is not of the 60 ms. */
UNIT_TEST(repeats_fill_60_ms_3_at_least)
{
    assert_int_equal(repeats_of(&REAL, 10 * MS, 1), 6);
    assert_int_equal(repeats_of(&REAL, 11 * MS, 1), 6);
    assert_int_equal(repeats_of(&REAL, 40 * MS, 1), 3);
    assert_int_equal(repeats_of(&REAL, 400 * MS, 1), 3);
    assert_int_equal(repeats_of(&REAL, 500 * MS, 1), 2); /* together they took a second */
    assert_int_equal(repeats_of(&REAL, UINT64_C(1001) * MS, 1), 2);
    assert_int_equal(repeats_of(&REAL, 1, 1), SERIES_MAX_REPEATS);
}

UNIT_TEST(virtual_time_does_not_vary)
{
    assert_int_equal(repeats_of(&VIRTUAL, 1, 0), 2);
    assert_int_equal(repeats_of(&VIRTUAL, UINT64_C(5000) * MS, 0), 2);
}

UNIT_TEST(quantiles_are_of_sorted_values)
{
    struct series s = { .value_s = { 5, 1, 4, 2, 3, 6 }, .n_values = 6 };

    assert_true(series_quantile_s(&s, 0) == 1);
    assert_true(series_quantile_s(&s, 0.5) == 3); /* the lower of two */
    assert_true(series_quantile_s(&s, 1) == 6);
    s = (struct series){ .value_s = { 9 }, .n_values = 1 };
    assert_true(series_quantile_s(&s, 0.5) == 9);
}

UNIT_MAIN("series")
