/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_test.c - the suite on span.c, on wrong versions of it that it must catch, and a ring handed to another task.
 *   span_test GROUP | span_test mutant NAME | span_test tasks
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "harness/world/suite/span_suite.h"
#include "harness/world/task.h"

extern const struct world_ops world_threads;

static void suite_holds(void **state)
{
    assert_int_equal(span_suite(&span_impl_real, *state), 0);
}

static void suite_catches(void **state)
{
    const struct span_impl *mutant = span_mutant(*state);

    assert_non_null(mutant);
    assert_int_equal(span_suite(mutant, NULL) != 0, strcmp(*state, "none") != 0);
}

enum { N_OF_EACH = 1000 };

struct shared {
    struct span_ring *ring;
    struct event *handed_over;
    int n_wrong;
};

static void add_some(struct span_ring *ring, uint32_t step)
{
    for (int32_t i = 0; i < N_OF_EACH; i++)
        span_ring_add(ring, &(struct span){ .what = "x", .step = step, .segment = i });
}

static enum rc reading_task(struct world *w, void *arg)
{
    struct shared *shared = arg;
    enum rc rc;

    (void)w;
    TRY(event_wait(shared->handed_over, UINT64_C(20000000000)));
    shared->n_wrong += span_ring_n_added(shared->ring) != N_OF_EACH;
    for (uint64_t i = 0; i < N_OF_EACH; i++)
        shared->n_wrong += span_ring_get(shared->ring, i)->segment != (int32_t)i;
    add_some(shared->ring, 1);
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct shared *shared = arg;
    const struct task_opts opts = { "reader", TASK_ANYWHERE, reading_task, shared };
    struct task *task = NULL;
    enum rc rc;

    TRY(event_open(&shared->handed_over, w, "handed over"));
    TRY(world_spawn(&task, w, &opts));
    add_some(shared->ring, 0);
    event_post(shared->handed_over);
    TRY(world_join(&task));
    shared->n_wrong += span_ring_n_added(shared->ring) != 2 * N_OF_EACH;
    for (uint64_t i = 0; i < 2 * N_OF_EACH; i++)
        shared->n_wrong += span_ring_get(shared->ring, i)->step != i / N_OF_EACH;
out:
    event_close(&shared->handed_over);
    return rc;
}

static void a_ring_is_handed_over_S3(void **state)
{
    const struct world_opts plain = { .bind_cores = false };
    struct shared shared = { 0 };

    (void)state;
    assert_int_equal(span_ring_open(&shared.ring, "main", 2 * N_OF_EACH), RC_OK);
    assert_int_equal(world_run(&world_threads, &plain, 1, body, &shared), RC_OK);
    assert_int_equal(shared.n_wrong, 0);
    span_ring_close(&shared.ring);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest group[] = { cmocka_unit_test_prestate(suite_holds, argc > 1 ? argv[1] : NULL) };
    const struct CMUnitTest mutant[] = { cmocka_unit_test_prestate(suite_catches, argc > 2 ? argv[2] : NULL) };
    const struct CMUnitTest tasks[] = { cmocka_unit_test(a_ring_is_handed_over_S3) };

    if (argc > 1 && strcmp(argv[1], "tasks") == 0)
        return cmocka_run_group_tests_name("tasks", tasks, NULL, NULL);
    return argc > 2 ? cmocka_run_group_tests_name("mutant", mutant, NULL, NULL)
                    : cmocka_run_group_tests_name("span", group, NULL, NULL);
}
