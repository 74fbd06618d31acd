/* SPDX-License-Identifier: Apache-2.0 */
/* link_fit_test.c - latency, rate and overhead of made-up pairs, by hand. */
#include "harness/base/suite/unit.h"
#include "harness/bench/link_fit.h"

#include <math.h>

#define assert_ratio(value, expected) assert_within(value, expected, 1e-9)

/* One way alpha + n / 125 MB/s, times factor; a burst of k and its answer take 2 alpha + (k - 1) gap. */
static struct pair_times pair(int from, int to, double alpha_s, double gap_s, double factor)
{
    struct pair_times p = { .from = from, .to = to };

    for (int i = 0; i < LINK_N_SIZES; i++) {
        p.median_s[i] = factor * (alpha_s + (double)link_size_bytes(i) / 125e6);
        p.low_s[i] = 0.99 * p.median_s[i];
        p.high_s[i] = 1.01 * p.median_s[i];
    }
    for (int i = 0; i < LINK_N_BURSTS; i++)
        p.burst_s[i] = factor * (2 * alpha_s + (link_burst_messages(i) - 1) * gap_s);
    p.both_s = 1.5 * factor * (alpha_s + (double)link_size_bytes(LINK_N_SIZES - 1) / 125e6);
    return p;
}

UNIT_TEST(sizes_and_bursts_are_what_they_are)
{
    assert_int_equal(link_size_bytes(0), 4);
    assert_int_equal(link_size_bytes(LINK_N_SIZES - 1), 16 << 20);
    assert_int_equal(link_burst_messages(0), 4);
    assert_int_equal(link_burst_messages(LINK_N_BURSTS - 1), 64);
}

UNIT_TEST(a_pair_gives_its_values)
{
    const struct pair_times one = pair(0, 3, 40e-6, 5e-6, 1);
    struct link_fit fit;

    assert_int_equal(link_fit_of(&fit, &one, 1), RC_OK);
    assert_int_equal(fit.n_pairs, 1);
    assert_ratio(fit.alpha_s, 40e-6);
    assert_ratio(fit.message.slope_s, 8e-9);
    assert_ratio(fit.message_s, 5e-6);
    assert_ratio(fit.both_ratio, 1.5);
    assert_true(!fit.is_capped && !fit.differs);
    assert_int_equal(fit.slowest.to, 3);
}

/* 16 MiB at 125 MB/s take 134.217728 ms behind alpha, of 40 us; while as many come in 1.5 times both. */
UNIT_TEST(both_ways_are_one_ratio)
{
    const struct pair_times one = pair(0, 3, 40e-6, 5e-6, 1);
    struct link_fit fit;

    assert_int_equal(link_fit_of(&fit, &one, 1), RC_OK);
    assert_ratio(link_fit_duplex_ratio(&fit), 2 * 134.217728 / (1.5 * 134.257728 - 0.04));
    fit.both_ratio = 1.04;
    assert_ratio(link_fit_duplex_ratio(&fit), 2);
    fit.both_ratio = 2.5;
    assert_true(link_fit_duplex_ratio(&fit) < 1);
    fit.both_waits = true;
    assert_true(isnan(link_fit_duplex_ratio(&fit)));
    fit = (struct link_fit){ .n_pairs = 0 };
    assert_true(isnan(link_fit_duplex_ratio(&fit)));
}

/* 4 bytes at 125 MB/s take 32 ns: a burst whose messages take no more has no overhead; nor is it more than half of the
 * latency, which it is part of twice. */
UNIT_TEST(an_overhead_has_limits)
{
    const struct pair_times wire = pair(0, 1, 40e-6, 32e-9, 1), heavy = pair(0, 1, 40e-6, 30e-6, 1);
    struct link_fit fit;

    assert_int_equal(link_fit_of(&fit, &wire, 1), RC_OK);
    assert_true(fit.message_s == 0 && !fit.is_capped);
    assert_int_equal(link_fit_of(&fit, &heavy, 1), RC_OK);
    assert_ratio(fit.message_s, 20e-6);
    assert_true(fit.is_capped);
    assert_ratio(fit.burst.slope_s, 30e-6);
}

/* The median pair's, and the slow one by name. */
UNIT_TEST(a_slow_link_is_told)
{
    struct pair_times p[] = { pair(0, 1, 40e-6, 5e-6, 1), pair(0, 2, 40e-6, 5e-6, 1), pair(1, 2, 40e-6, 5e-6, 1.5) };
    struct link_fit fit;

    assert_int_equal(link_fit_of(&fit, p, 3), RC_OK);
    assert_ratio(fit.alpha_s, 40e-6);
    assert_true(fit.differs);
    assert_int_equal(fit.slowest.from, 1);
    assert_int_equal(fit.slowest.to, 2);
    assert_int_equal(fit.fastest.from, 0);
    for (int i = 0; i < LINK_N_SIZES; i++)
        p[2].low_s[i] = p[0].median_s[i]; /* its repeats vary by as much */
    assert_int_equal(link_fit_of(&fit, p, 3), RC_OK);
    assert_false(fit.differs);
    p[2] = pair(1, 2, 40e-6, 5e-6, 1.04);
    assert_int_equal(link_fit_of(&fit, p, 3), RC_OK);
    assert_false(fit.differs);
}

UNIT_TEST(nothing_gives_nothing)
{
    struct link_fit fit = { .n_pairs = 7 };

    assert_int_equal(link_fit_of(&fit, NULL, 0), RC_OK);
    assert_true(fit.n_pairs == 0 && fit.alpha_s == 0 && !fit.differs);
}

UNIT_MAIN("link_fit")
