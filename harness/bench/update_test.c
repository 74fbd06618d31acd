/* SPDX-License-Identifier: Apache-2.0 */
/* update_test.c - an update touches as many elements as were asked for, in ranges of 4 Mi; by the work it counts. */
#include "harness/base/suite/unit.h"
#include "harness/bench/update.h"

enum { MI = 1 << 20 };

/* The bytes that one update of n_elems reads and writes: three arrays of each element, five with momentum. */
static double update_bytes(const struct compute_backend *backend, size_t n_elems, double momentum, size_t n_range_elems)
{
    struct compute *c = NULL;
    const struct optimizer_rule rule = optimizer_sgd(momentum, 0);
    struct update u = { 0 };

    assert_int_equal(compute_open(&c, backend, NULL), RC_OK);
    assert_int_equal(update_open(&u, c, n_elems, &rule), RC_OK);
    assert_int_equal(u.n_range_elems, n_range_elems);
    const double before_bytes = c->total.bytes;
    assert_int_equal(update_run(&u), RC_OK);
    const double n_bytes = c->total.bytes - before_bytes;
    update_close(&u);
    update_close(&u);
    compute_close(&c);
    return n_bytes;
}

UNIT_TEST(every_element_is_updated_once)
{
    assert_true(update_bytes(&compute_cpu, 1000, 0, 1000) == 12.0 * 1000);
    assert_true(update_bytes(&compute_cpu, 1000, 0.5, 1000) == 20.0 * 1000);
    assert_true(update_bytes(&compute_cpu, 4 * MI, 0.5, 4 * MI) == 20.0 * 4 * MI);
    assert_true(update_bytes(&compute_cpu, 9 * MI + 7, 0, 4 * MI) == 12.0 * (9 * MI + 7));
    assert_true(update_bytes(&compute_hollow, 9 * MI + 7, 0.5, 9 * MI + 7) == 20.0 * (9 * MI + 7));
}

UNIT_TEST(a_zeroed_one_is_closed)
{
    struct update u = { 0 };

    assert_int_equal(update_run(&u), RC_OK);
    update_close(&u);
}

UNIT_MAIN("update")
