/* SPDX-License-Identifier: Apache-2.0 */
/* steady_test.c - the warm-up rule on series whose transient is known, and against its definition. */
#include "harness/measure/steady.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"

enum { N = 400 };

static void noise(double *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 1 + 0.02 * rng_normal(seed, RNG_TEST, i);
}

/* MSER-5 as its paper states it: for every cut, mean and squares anew. */
static size_t by_definition(const double *x, size_t n)
{
    const size_t n_blocks = n / 5;
    double block[N / 5], least = INFINITY;
    size_t cut = 0;

    if (n < 20)
        return 0;
    for (size_t b = 0; b < n_blocks; b++)
        block[b] = (x[5 * b] + x[5 * b + 1] + x[5 * b + 2] + x[5 * b + 3] + x[5 * b + 4]) / 5;
    for (size_t d = 0; d <= n_blocks / 2; d++) {
        const double k = (double)(n_blocks - d);
        double mean = 0, squares = 0;

        for (size_t b = d; b < n_blocks; b++)
            mean += block[b] / k;
        for (size_t b = d; b < n_blocks; b++)
            squares += (block[b] - mean) * (block[b] - mean);
        if (squares / (k * k) < least) {
            least = squares / (k * k);
            cut = d;
        }
    }
    return 5 * cut;
}

static void cuts_where_a_decaying_start_has_decayed(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        double x[N];

        noise(x, N, seed);
        for (size_t i = 0; i < N; i++)
            x[i] += 3 * exp(-(double)i / 10); /* below the noise after 50 values */
        size_t cut = steady_start(x, N);
        assert_true(cut >= 35);
        assert_true(cut <= N / 2);
    }
}

static void cuts_a_step_at_the_step(void **state)
{
    double x[N];

    (void)state;
    noise(x, N, 7);
    for (size_t i = 0; i < 60; i++)
        x[i] += 1;
    assert_in_range(steady_start(x, N), 60, 65);
}

static void cuts_little_of_what_is_steady(void **state)
{
    size_t n_cut = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        double x[N];

        noise(x, N, 100 + seed);
        n_cut += steady_start(x, N);
    }
    assert_true(n_cut < 50 * N / 4); /* on average less than a quarter is lost */
}

static void leaves_equal_values_alone(void **state)
{
    double x[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        x[i] = 0.1; /* not a binary fraction: sums round */
    for (size_t n = 0; n <= N; n++)
        assert_int_equal(steady_start(x, n), 0);
}

static void leaves_short_series_alone(void **state)
{
    double x[20];

    (void)state;
    for (size_t i = 0; i < 20; i++)
        x[i] = i < 5 ? 100 : 1;
    for (size_t n = 0; n < 20; n++)
        assert_int_equal(steady_start(x, n), 0);
    assert_int_equal(steady_start(x, 20), 5);
}

static void never_drops_more_than_half(void **state)
{
    double x[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        x[i] = -(double)i; /* never settles */
    for (size_t n = 0; n <= N; n++)
        assert_true(steady_start(x, n) <= n / 2);
}

static void equals_the_definition(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double x[N];
        size_t n = 20 + (size_t)(rng_u64(seed, RNG_TEST, 9999) % (N - 20));

        noise(x, N, seed);
        for (size_t i = 0; i < n; i++)
            x[i] += exp(-(double)i * rng_uniform(seed, RNG_TEST, 8888));
        assert_int_equal(steady_start(x, n), by_definition(x, n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_where_a_decaying_start_has_decayed),
        cmocka_unit_test(cuts_a_step_at_the_step),
        cmocka_unit_test(cuts_little_of_what_is_steady),
        cmocka_unit_test(leaves_equal_values_alone),
        cmocka_unit_test(leaves_short_series_alone),
        cmocka_unit_test(never_drops_more_than_half),
        cmocka_unit_test(equals_the_definition),
    };

    return cmocka_run_group_tests_name("steady", tests, NULL, NULL);
}
