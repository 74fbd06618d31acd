/* SPDX-License-Identifier: Apache-2.0 */
/* robust_test.c - middles, spreads and probabilities worked out by hand, and how often chance exceeds them. */
#include <math.h>
#include <stdbool.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/measure/robust.h"

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * (1e-6 + fabs(expected))))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* Distances from 3: 2 1 0 1 97, median 1. */
UNIT_TEST(m1_a_wild_value_moves_nothing)
{
    double x[] = { 4, 100, 1, 3, 2 }, even[] = { 1, 9, 3, 4 };

    assert_near(robust_median(x, 5), 3);
    assert_near(robust_spread(x, 5, 3), 1.482602218505602);
    assert_near(robust_median(even, 4), 3.5);
    assert_true(isnan(robust_median(x, 0)));
    assert_true(isnan(robust_spread(x, 0, 0)));
}

/* Distances of 0 1 3 7 15 in order: 1 2 3 4 6 7 8 12 14 15; h = 3, k = 3. Of 2 and 5: h = 2, k = 1. */
UNIT_TEST(m3_all_differences_of_few)
{
    const double five[] = { 15, 0, 7, 1, 3 }, two[] = { 5, 2 }, equal[] = { 4, 4, 4, 9 };
    double ten[10];

    assert_near(robust_spread_of_few(five, 5), 2.2219 * 0.844 * 3);
    assert_near(robust_spread_of_few(two, 2), 2.2219 * 0.399 * 3);
    assert_near(robust_spread_of_few(equal, 4), 0);
    for (int i = 0; i < 10; i++) /* h = 6, k = 15: 9 distances are 1, 8 are 2 */
        ten[i] = i;
    assert_near(robust_spread_of_few(ten, 10), 2.2219 * 10 / 13.8 * 2);
}

UNIT_TEST(m2_degrees_of_freedom)
{
    assert_near(robust_dof(8), 3.6);
    assert_near(robust_dof(9), 3.6);
    assert_near(robust_dof(1), 0);
    assert_near(robust_dof(1000), 15);
    assert_near(robust_dof_of_few(2), 0);
    assert_near(robust_dof_of_few(3), 1);
    assert_near(robust_dof_of_few(8), 6);
    assert_near(robust_dof_of_few(9), 6);
    assert_near(robust_dof_of_few(32), 15);
}

/* Student's t of one degree of freedom is Cauchy's distribution. */
UNIT_TEST(tails)
{
    assert_near(normal_upper_tail(0), 0.5);
    assert_near(normal_upper_tail(1.959963984540054), 0.025);
    assert_near(normal_upper_tail(-1.959963984540054), 0.975);
    assert_near(normal_upper_tail(8), 6.220960574271785e-16);
    assert_near(robust_upper_tail(3, 3, 1), 0.25);
    assert_near(robust_upper_tail(-3, 3, 1), 0.75);
    assert_near(robust_upper_tail(3.919927969080108, 2, INFINITY), 0.025);
    assert_near(robust_upper_tail(1, 0, 3), 0);
    assert_near(robust_upper_tail(0, 0, 3), 1);
    assert_near(robust_upper_tail(9, 1, 0), 1);
}

/* In order 0.005 0.01 0.03 0.04: times 4 / k 0.02 0.02 0.04 0.04. */
UNIT_TEST(m4_false_discovery_rates)
{
    const double p[] = { 0.01, 0.04, 0.03, 0.005 }, large[] = { 0.9, 0.6 }, later[] = { 0.02, 0.021 };
    double q[4];

    assert_int_equal(robust_q_values(q, p, 4, 4), RC_OK);
    assert_near(q[0], 0.02);
    assert_near(q[1], 0.04);
    assert_near(q[2], 0.04);
    assert_near(q[3], 0.02);
    assert_int_equal(robust_q_values(q, p, 4, 8), RC_OK);
    assert_near(q[0], 0.04);
    assert_near(q[1], 0.08);
    assert_int_equal(robust_q_values(q, large, 2, 4), RC_OK);
    assert_near(q[0], 1);
    assert_near(q[1], 1);
    assert_int_equal(robust_q_values(q, later, 2, 2), RC_OK); /* 0.02 x 2 is more than 0.021 */
    assert_near(q[0], 0.021);
    assert_int_equal(robust_q_values(q, NULL, 0, 0), RC_OK);
}

/* measure.M2, M3: of n normal values, how often a value's tail is at most 0.005. */
static double exceeded_ratio(int n, bool is_few)
{
    enum { N_SETS = 4000, MOST = 16 };
    int n_exceeded = 0;

    for (int set = 0; set < N_SETS; set++) {
        double x[MOST], scratch[MOST];
        for (int i = 0; i < n; i++)
            x[i] = scratch[i] = rng_normal(11, RNG_TEST, (uint64_t)(set * MOST + i));
        const double middle = robust_median(scratch, (size_t)n);
        const double spread = is_few ? robust_spread_of_few(x, (size_t)n) : robust_spread(scratch, (size_t)n, middle);
        const double dof = is_few ? robust_dof_of_few((size_t)n) : robust_dof((size_t)n);
        for (int i = 0; i < n; i++)
            n_exceeded += robust_upper_tail(x[i] - middle, spread, dof) <= 0.005;
    }
    return n_exceeded / (double)(N_SETS * n);
}

UNIT_TEST(chance_exceeds_as_often_as_said)
{
    for (int n = 4; n <= 16; n += 4)
        for (int is_few = 0; is_few < 2; is_few++) {
            const double ratio = exceeded_ratio(n, is_few);
            if (!(ratio > 0.001 && ratio < 0.0075))
                fail_msg("%d values, few %d: %g", n, is_few, ratio);
        }
}

/* Ranks as tables have them (Conover), and how often the interval holds the median of lopsided values.
 */

enum { MOST = 120 };

/* 1, 2, ..., n backwards: values are ranks. */
static struct interval of_ranks(size_t n)
{
    double x[MOST];

    for (size_t i = 0; i < n; i++)
        x[i] = (double)(n - i);
    return median_interval(x, n);
}

static void holds(size_t n, double median, double low, double high)
{
    const struct interval i = of_ranks(n);

    assert_true(i.mean == median && i.low == low && i.high == high && i.n_effective == (double)n);
}

UNIT_TEST(ranks_are_those_of_tables)
{
    holds(6, 3.5, 1, 6);
    holds(8, 4.5, 1, 8);
    holds(9, 5, 2, 8);
    holds(10, 5.5, 2, 9);
    holds(20, 10.5, 6, 15);
    holds(25, 13, 8, 18);
    holds(100, 50.5, 40, 61);
}

UNIT_TEST(few_have_no_interval)
{
    for (size_t n = 1; n < 6; n++) {
        const struct interval i = of_ranks(n);
        assert_true(i.mean == (double)(n + 1) / 2 && isnan(i.low) && isnan(i.high));
    }
    assert_true(isnan(of_ranks(0).mean));
}

/* Of values that are x^8, x even in (0, 1): the median is 1/256, the mean far above it. 11 of them: 98.8 %. */
UNIT_TEST(it_holds_a_lopsided_median)
{
    enum { N = 11, N_TRIALS = 20000 };
    int n_held = 0;

    for (int t = 0; t < N_TRIALS; t++) {
        double x[N];
        for (int i = 0; i < N; i++)
            x[i] = pow(rng_uniform(7, RNG_TEST, (uint64_t)(t * N + i)), 8);
        const struct interval i = median_interval(x, N);
        n_held += i.low <= 1.0 / 256 && 1.0 / 256 <= i.high;
    }
    assert_true(fabs((double)n_held / N_TRIALS - 0.9883) < 0.004);
}

UNIT_MAIN("robust")
