/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_test.c - a function runs once for each start, beside the caller; and broken helpers that must show.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "harness/base/suite/test_allocations.h"
#include "harness/world/helper.h"

enum { N_STARTS = 3000 };

struct counter {
    atomic_bool busy;
    atomic_int n_overlaps;
    int n_runs, in, out; /* plain memory: handed over by start and wait (H5) */
};

static void count(void *arg)
{
    struct counter *c = arg;

    if (atomic_exchange(&c->busy, true))
        atomic_fetch_add(&c->n_overlaps, 1);
    c->n_runs++;
    c->out = 2 * c->in + 1;
    atomic_store(&c->busy, false);
}

/* helper_start(), or a mutant of it. */
typedef void start_fn(struct helper *h, struct counter *c);

static void start(struct helper *h, struct counter *c)
{
    (void)c;
    helper_start(h);
}

static int count_failures(start_fn *how)
{
    struct counter c = { .in = 0 };
    struct helper *h = NULL;
    int n_failures = 0;

    assert_int_equal(helper_open(&h, count, &c), RC_OK);
    for (int i = 1; i <= N_STARTS; i++) {
        c.in = i;
        how(h, &c);
        helper_wait(h);
        n_failures += c.n_runs != i || c.out != 2 * i + 1;
        helper_wait(h); /* at once */
    }
    helper_close(&h);
    assert_null(h);
    helper_close(&h);
    return n_failures + atomic_load(&c.n_overlaps);
}

/* H4 and H5. */
static void every_start_is_one_run(void **state)
{
    (void)state;
    assert_int_equal(count_failures(start), 0);
}

static void starts_twice(struct helper *h, struct counter *c)
{
    helper_start(h);
    if (c->in == 5)
        helper_start(h);
}

static void forgets_one(struct helper *h, struct counter *c)
{
    if (c->in != 7)
        helper_start(h);
}

static void starts_with_old_input(struct helper *h, struct counter *c)
{
    const int in = c->in;

    c->in = in - 1;
    helper_start(h);
    helper_wait(h);
    c->in = in;
}

static void mutants_are_caught(void **state)
{
    (void)state;
    assert_true(count_failures(starts_twice) > 0);
    assert_true(count_failures(forgets_one) > 0);
    assert_true(count_failures(starts_with_old_input) > 0);
}

/* H4: a start waits for the run before; the close for the last one (H5). */
static void starts_wait_for_one_another(void **state)
{
    struct counter c = { .in = 4 };
    struct helper *h = NULL;

    (void)state;
    assert_int_equal(helper_open(&h, count, &c), RC_OK);
    for (int i = 0; i < N_STARTS; i++)
        helper_start(h);
    helper_close(&h);
    assert_int_equal(c.n_runs, N_STARTS);
    assert_int_equal(c.n_overlaps, 0);
    assert_int_equal(c.out, 9);
}

static void unused_helpers_end(void **state)
{
    struct counter c = { .in = 0 };
    struct helper *h = NULL;

    (void)state;
    for (int i = 0; i < 50; i++) {
        assert_int_equal(helper_open(&h, count, &c), RC_OK);
        assert_int_equal(helper_waited_ns(h), 0);
        helper_close(&h);
    }
    assert_int_equal(c.n_runs, 0);
}

static void pause_20_ms(void *arg)
{
    const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };

    (void)arg;
    nanosleep(&pause, NULL);
}

/* What the caller waits for is counted; what passed while it did something else is not. */
static void waits_are_counted(void **state)
{
    struct helper *h = NULL;

    (void)state;
    assert_int_equal(helper_open(&h, pause_20_ms, NULL), RC_OK);
    helper_start(h);
    helper_wait(h);
    const uint64_t once_ns = helper_waited_ns(h);
    helper_wait(h);
    assert_int_equal(helper_waited_ns(h), once_ns);
    assert_true(once_ns > 0);
    helper_close(&h);
}

static uint64_t cpu_ns(void)
{
    struct timespec used;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* H6. A helper that spun would use as much as passes: half of it is far from either. */
static void idle_helpers_sleep(void **state)
{
    const struct timespec pause = { .tv_nsec = 200 * 1000 * 1000 };
    struct counter c = { .in = 0 };
    struct helper *h = NULL;

    (void)state;
    assert_int_equal(helper_open(&h, count, &c), RC_OK);
    helper_start(h);
    helper_wait(h);
    const uint64_t before_ns = cpu_ns();
    nanosleep(&pause, NULL);
    const uint64_t used_ns = cpu_ns() - before_ns;
    helper_start(h); /* and it wakes up again */
    helper_close(&h);
    assert_int_equal(c.n_runs, 2);
    assert_true(used_ns < (uint64_t)pause.tv_nsec / 2);
}

/* H6 */
static void nothing_allocates_after_open(void **state)
{
    struct counter c = { .in = 0 };
    struct helper *h = NULL;

    (void)state;
    assert_int_equal(helper_open(&h, count, &c), RC_OK);
    const size_t before = test_allocations();
    for (int i = 0; i < 100; i++)
        helper_start(h);
    helper_wait(h);
    const size_t after = test_allocations();
    helper_close(&h);
    assert_true(before > 0);
    assert_int_equal(after - before, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_start_is_one_run),
        cmocka_unit_test(mutants_are_caught),
        cmocka_unit_test(starts_wait_for_one_another),
        cmocka_unit_test(unused_helpers_end),
        cmocka_unit_test(waits_are_counted),
        cmocka_unit_test(idle_helpers_sleep),
        cmocka_unit_test(nothing_allocates_after_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
