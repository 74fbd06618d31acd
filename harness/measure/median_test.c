/* SPDX-License-Identifier: Apache-2.0 */
/* median_test.c - ranks as tables have them (Conover), and how often the interval holds the median of lopsided values.
 */
#include "harness/measure/median.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"

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

static void ranks_are_those_of_tables(void **state)
{
    (void)state;
    holds(6, 3.5, 1, 6);
    holds(8, 4.5, 1, 8);
    holds(9, 5, 2, 8);
    holds(10, 5.5, 2, 9);
    holds(20, 10.5, 6, 15);
    holds(25, 13, 8, 18);
    holds(100, 50.5, 40, 61);
}

static void few_have_no_interval(void **state)
{
    (void)state;
    for (size_t n = 1; n < 6; n++) {
        const struct interval i = of_ranks(n);
        assert_true(i.mean == (double)(n + 1) / 2 && isnan(i.low) && isnan(i.high));
    }
    assert_true(isnan(of_ranks(0).mean));
}

/* Of values that are x^8, x even in (0, 1): the median is 1/256, the mean far above it. 11 of them: 98.8 %. */
static void it_holds_a_lopsided_median(void **state)
{
    enum { N = 11, N_TRIALS = 20000 };
    int n_held = 0;

    (void)state;
    for (int t = 0; t < N_TRIALS; t++) {
        double x[N];
        for (int i = 0; i < N; i++)
            x[i] = pow(rng_uniform(7, RNG_TEST, (uint64_t)(t * N + i)), 8);
        const struct interval i = median_interval(x, N);
        n_held += i.low <= 1.0 / 256 && 1.0 / 256 <= i.high;
    }
    assert_true(fabs((double)n_held / N_TRIALS - 0.9883) < 0.004);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranks_are_those_of_tables),
                                        cmocka_unit_test(few_have_no_interval),
                                        cmocka_unit_test(it_holds_a_lopsided_median) };

    return cmocka_run_group_tests_name("median", tests, NULL, NULL);
}
