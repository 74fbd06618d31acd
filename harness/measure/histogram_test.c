/* SPDX-License-Identifier: Apache-2.0 */
/* histogram_test.c - percentiles against a sorted list of all values. */
#include "harness/measure/histogram.h"

#include <math.h>
#include <stdlib.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"

enum { MAX_N = 5000 };

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Rank by whole numbers: the smallest r with 100 r >= percent n. */
static double nearest_rank(const uint64_t *sorted, size_t n, unsigned percent)
{
    const size_t rank = (percent * n + 99) / 100;

    return (double)sorted[rank - 1];
}

static void fill(uint64_t *x, size_t n, uint64_t seed, unsigned n_bits)
{
    for (size_t i = 0; i < n; i++) /* spread over all octaves */
        x[i] = rng_u64(seed, RNG_TEST, i) >> (64 - n_bits + rng_u64(seed, RNG_TEST, i + MAX_N) % n_bits);
}

UNIT_TEST(percentiles_are_within_the_bound_H1_H2)
{
    static uint64_t x[MAX_N];
    static struct histogram h;

    for (uint64_t seed = 0; seed < 60; seed++) {
        size_t n = seed < 40 ? 1 + seed * 5 : MAX_N;

        fill(x, n, seed, seed % 2 ? 63 : 33);
        histogram_init(&h);
        for (size_t i = 0; i < n; i++)
            histogram_add(&h, x[i]);
        qsort(x, n, sizeof *x, by_value);
        for (unsigned percent = 1; percent <= 100; percent++) {
            double exact = nearest_rank(x, n, percent), got = histogram_percentile(&h, percent);
            assert_true(fabs(got - exact) <= HISTOGRAM_ERROR_RATIO * exact);
        }
    }
}

UNIT_TEST(small_values_and_ends_are_exact_H2)
{
    static struct histogram h;

    histogram_init(&h);
    for (uint64_t i = 0; i < 256; i++)
        histogram_add(&h, i);
    for (unsigned percent = 1; percent <= 100; percent++) {
        const unsigned rank = (256 * percent + 99) / 100;

        assert_true(histogram_percentile(&h, percent) == (double)rank - 1);
    }
    histogram_add(&h, UINT64_MAX);
    assert_true(histogram_percentile(&h, 100) == (double)UINT64_MAX);
    histogram_init(&h);
    histogram_add(&h, 1234567891);
    assert_true(histogram_percentile(&h, 50) == 1234567891.0);
}

UNIT_TEST(ranks_do_not_round_up_H1)
{
    static struct histogram h;

    histogram_init(&h);
    for (uint64_t i = 1; i <= 20; i++)
        histogram_add(&h, i);
    struct percentiles p = histogram_percentiles(&h);
    assert_true(p.p50 == 10 && p.p95 == 19 && p.p99 == 20); /* p99 = max below 100 values */
}

UNIT_TEST(an_empty_one_has_none)
{
    static struct histogram h;

    histogram_init(&h);
    assert_true(isnan(histogram_percentile(&h, 50)));
}

UNIT_TEST(merging_equals_adding_H3)
{
    static uint64_t x[MAX_N];
    static struct histogram all, part[3];

    fill(x, MAX_N, 5, 40);
    histogram_init(&all);
    for (size_t i = 0; i < 3; i++)
        histogram_init(&part[i]); /* part 2 stays empty */
    for (size_t i = 0; i < MAX_N; i++) {
        histogram_add(&all, x[i]);
        histogram_add(&part[i % 2], x[i]);
    }
    histogram_merge(&part[0], &part[1]);
    histogram_merge(&part[0], &part[2]);
    assert_memory_equal(&part[0], &all, sizeof all);
}

UNIT_MAIN("histogram")
