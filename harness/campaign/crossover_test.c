/* SPDX-License-Identifier: Apache-2.0 */
/* crossover_test.c - where made-up rates cross over, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "harness/campaign/crossover.h"

static void assert_at(const struct crossovers *c, size_t i, double gpus)
{
    if (!(fabs(c->gpus[i] / gpus - 1) < 1e-12))
        fail_msg("crossover %zu is at %.15g GPUs, expected %.15g", i, c->gpus[i], gpus);
}

/* Rates 1 : 2 at 2 GPUs and 2 : 1 at 8: equal at 4, which is halfway in logarithms. */
static void between_two_numbers(void **state)
{
    const int n_gpus[] = { 2, 8 };
    const double first[] = { 100, 400 }, second[] = { 200, 200 };
    const struct crossovers c = crossovers_find(n_gpus, first, second, 2);

    (void)state;
    assert_int_equal(c.n, 1);
    assert_false(c.first_leads);
    assert_at(&c, 0, 4);
}

/* Ratios 8, 1/2, 1/4, 2: log2 3, -1, -2, 1 at log2 0, 4, 5, 6. */
static void there_and_back(void **state)
{
    const int n_gpus[] = { 1, 16, 32, 64 };
    const double first[] = { 8, 1, 1, 2 }, second[] = { 1, 2, 4, 1 };
    const struct crossovers c = crossovers_find(n_gpus, first, second, 4);

    (void)state;
    assert_int_equal(c.n, 2);
    assert_true(c.first_leads);
    assert_at(&c, 0, 8);
    assert_at(&c, 1, pow(2, 5 + 2.0 / 3));
}

/* Equal points lead to nobody: at the begin, and where the lead is the same before and behind. */
static void equal_points(void **state)
{
    const int n_gpus[] = { 1, 2, 4, 8, 16 };
    const double first[] = { 5, 5, 7, 5, 7 }, second[] = { 5, 5 + 1e-12, 6, 5, 6 };
    const struct crossovers same = crossovers_find(n_gpus, first, second, 5);
    const double turned[] = { 5, 5, 7, 5, 5 };
    const struct crossovers c = crossovers_find(n_gpus, turned, second, 5);

    (void)state;
    assert_int_equal(same.n, 0);
    assert_true(same.first_leads);
    assert_int_equal(c.n, 1);
    assert_true(c.gpus[0] > 4 && c.gpus[0] < 16);
    assert_false(same.are_equal);
    assert_int_equal(crossovers_find(n_gpus, first, first, 5).n, 0);
    assert_true(crossovers_find(n_gpus, first, first, 5).are_equal);
    assert_int_equal(crossovers_find(n_gpus, first, second, 0).n, 0);
}

static void more_than_are_kept(void **state)
{
    int n_gpus[2 * CROSSOVER_MOST];
    double first[2 * CROSSOVER_MOST], second[2 * CROSSOVER_MOST];
    struct crossovers c;

    (void)state;
    for (int i = 0; i < 2 * CROSSOVER_MOST; i++) {
        n_gpus[i] = i + 1;
        first[i] = 1 + i % 2;
        second[i] = 2 - i % 2;
    }
    c = crossovers_find(n_gpus, first, second, 2 * CROSSOVER_MOST);
    assert_int_equal(c.n, 2 * CROSSOVER_MOST - 1);
    assert_at(&c, 0, sqrt(2));
    assert_true(c.gpus[CROSSOVER_MOST - 1] > c.gpus[CROSSOVER_MOST - 2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_two_numbers),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(equal_points),
        cmocka_unit_test(more_than_are_kept),
    };

    return cmocka_run_group_tests_name("crossover", tests, NULL, NULL);
}
