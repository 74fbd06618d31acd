/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background_test.c - a function runs once for each start, while the caller continues; mutants must fail.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "harness/base/suite/test_allocations.h"
#include "harness/base/suite/unit.h"
#include "harness/world/background.h"
#include "harness/world/suite/sleeping_threads.h"

enum { N_STARTS = 300 };

struct counter {
    atomic_bool busy;
    atomic_int n_overlaps;
    int n_runs, in, out; /* plain memory: visible to the other thread by start and wait (world.B2) */
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

/* background_start(), or a mutant of it. */
typedef void start_fn(struct background *b, struct counter *c);

static void start(struct background *b, struct counter *c)
{
    (void)c;
    background_start(b);
}

static int count_failures(start_fn *how)
{
    struct counter c = { .in = 0 };
    struct background *b = NULL;
    int n_failures = 0;

    assert_int_equal(background_open(&b, count, &c), RC_OK);
    for (int i = 1; i <= N_STARTS; i++) {
        c.in = i;
        how(b, &c);
        background_wait(b);
        n_failures += c.n_runs != i || c.out != 2 * i + 1;
        background_wait(b); /* at once */
    }
    background_close(&b);
    assert_null(b);
    background_close(&b);
    return n_failures + atomic_load(&c.n_overlaps);
}

/* world.B1 and B2. */
UNIT_TEST(every_start_is_one_run)
{
    assert_int_equal(count_failures(start), 0);
}

static void starts_twice(struct background *b, struct counter *c)
{
    background_start(b);
    if (c->in == 5)
        background_start(b);
}

static void forgets_one(struct background *b, struct counter *c)
{
    if (c->in != 7)
        background_start(b);
}

static void starts_with_old_input(struct background *b, struct counter *c)
{
    const int in = c->in;

    c->in = in - 1;
    background_start(b);
    background_wait(b);
    c->in = in;
}

UNIT_TEST(mutants_are_caught)
{
    assert_true(count_failures(starts_twice) > 0);
    assert_true(count_failures(forgets_one) > 0);
    assert_true(count_failures(starts_with_old_input) > 0);
}

/* world.B1: a start waits for the run before; the close for the last one (world.B2). */
UNIT_TEST(starts_wait_for_one_another)
{
    struct counter c = { .in = 4 };
    struct background *b = NULL;

    assert_int_equal(background_open(&b, count, &c), RC_OK);
    for (int i = 0; i < N_STARTS; i++)
        background_start(b);
    background_close(&b);
    assert_int_equal(c.n_runs, N_STARTS);
    assert_int_equal(c.n_overlaps, 0);
    assert_int_equal(c.out, 9);
}

UNIT_TEST(unused_threads_end)
{
    struct counter c = { .in = 0 };
    struct background *b = NULL;

    for (int i = 0; i < 50; i++) {
        assert_int_equal(background_open(&b, count, &c), RC_OK);
        background_close(&b);
    }
    assert_int_equal(c.n_runs, 0);
}

static void count_tick(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* Goes on once the caller has ticked five times while it waits: for ever, if its wait has no slices. */
static void await_ticks(void *arg)
{
    while (atomic_load((atomic_int *)arg) < 5)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

UNIT_TEST(a_waiting_caller_ticks)
{
    struct background *b = NULL;
    atomic_int n_ticks = 0;

    assert_int_equal(background_open(&b, await_ticks, &n_ticks), RC_OK);
    background_set_tick(b, count_tick, &n_ticks);
    background_start(b);
    background_wait(b);
    assert_true(atomic_load(&n_ticks) >= 5);
    background_close(&b);
}

/* world.B3. A thread that spun would never sleep in the kernel. */
UNIT_TEST(idle_threads_sleep)
{
    struct counter c = { .in = 0 };
    struct background *b = NULL;

    assert_int_equal(background_open(&b, count, &c), RC_OK);
    background_start(b);
    background_wait(b);
    await_sleeping_threads(1);
    background_start(b); /* and it wakes up again */
    background_close(&b);
    assert_int_equal(c.n_runs, 2);
}

/* world.B3 */
UNIT_TEST(nothing_allocates_after_open)
{
    struct counter c = { .in = 0 };
    struct background *b = NULL;

    assert_int_equal(background_open(&b, count, &c), RC_OK);
    const size_t before = test_allocations();
    for (int i = 0; i < 100; i++)
        background_start(b);
    background_wait(b);
    const size_t after = test_allocations();
    background_close(&b);
    assert_true(before > 0);
    assert_int_equal(after - before, 0);
}

UNIT_MAIN("background")
