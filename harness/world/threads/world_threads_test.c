/* SPDX-License-Identifier: Apache-2.0 */
/* world_threads_test.c - world_suite in threads, its mutants, and how a world of threads ends: world.W4, W5. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/world/cores.h"
#include "harness/world/suite/ends_kit.h"
#include "harness/world/suite/world_mutants.h"
#include "harness/world/suite/world_suite.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;

static const struct world_opts plain = { .bind_cores = false };

static enum rc suite_body(struct world *w, void *arg)
{
    atomic_fetch_add((atomic_int *)arg, world_suite(w, NULL));
    return RC_OK;
}

static void suite_passes(void **state)
{
    static const int n_ranks[] = { 1, 2, 3, 5, 8 };

    (void)state;
    for (size_t i = 0; i < sizeof n_ranks / sizeof *n_ranks; i++) {
        atomic_int n_failures = 0;
        assert_int_equal(world_run(&world_threads, &plain, n_ranks[i], suite_body, &n_failures), RC_OK);
        assert_int_equal(atomic_load(&n_failures), 0);
    }
}

struct trial {
    const struct world_mutant *mutant;
    int n_failures; /* on rank 0 */
    const char *failed_case;
};

static enum rc mutant_body(struct world *w, void *arg)
{
    struct trial *trial = arg;
    const struct world_ops *real = w->ops;
    const char *failed_case = NULL;

    w->ops = trial->mutant->ops;
    const int n_failures = world_suite(w, &failed_case);
    w->ops = real;
    if (w->rank == 0) {
        trial->n_failures = n_failures;
        trial->failed_case = failed_case;
    }
    return RC_OK;
}

static void suite_catches_mutants(void **state)
{
    (void)state;
    for (const struct world_mutant *m = world_mutants(); m->name; m++) {
        struct trial trial = { .mutant = m };
        print_message("mutant %s\n", m->name);
        assert_int_equal(world_run(&world_threads, &plain, 4, mutant_body, &trial), RC_OK);
        assert_int_equal(trial.n_failures > 0, m->failed_case != NULL);
        if (m->failed_case)
            assert_string_equal(trial.failed_case, m->failed_case);
    }
}

/* world.W4, W5 */
static void an_end_ends_every_wait(void **state)
{
    (void)state;
    ends_are_told(&world_threads, &plain);
}

struct binding {
    int n_own_cores[4];
    bool disjoint;
};

static enum rc binding_body(struct world *w, void *arg)
{
    struct binding *binding = arg;

    binding->n_own_cores[w->rank] = w->n_own_cores;
    return RC_OK;
}

/* Workers get equal shares, the others one core each of what is left if it suffices; where there are too few cores
 * nobody is bound. */
static void cores_are_shared_equally(void **state)
{
    const int n_cores = cores_allowed_count();

    (void)state;
    for (int n_bound = 1; n_bound <= 4; n_bound++) {
        const struct world_opts opts = { .bind_cores = true, .n_bound_ranks = n_bound };
        struct binding binding = { { -1, -1, -1, -1 }, false };
        assert_int_equal(world_run(&world_threads, &opts, 4, binding_body, &binding), RC_OK);
        const int n_each = n_cores / n_bound, n_left = n_cores % n_bound;
        for (int r = 0; r < 4; r++)
            assert_int_equal(binding.n_own_cores[r], r < n_bound ? n_each : n_each > 0 && n_left >= 4 - n_bound);
    }
    assert_int_equal(cores_allowed_count(), n_cores); /* the main thread stays free */
}

struct guests {
    struct core_set set[4];
    int n_own_cores[4];
};

static enum rc guests_body(struct world *w, void *arg)
{
    struct guests *guests = arg;

    cores_thread_set(&guests->set[w->rank]);
    guests->n_own_cores[w->rank] = w->n_own_cores;
    return RC_OK;
}

/* Those that share cores run on the workers', in turn, and take none away from them. */
static void guests_have_the_cores_of_workers(void **state)
{
    const int n_cores = cores_allowed_count();

    (void)state;
    for (int n_bound = 1; n_bound <= 3; n_bound++) {
        const struct world_opts opts = { .bind_cores = true, .n_bound_ranks = n_bound, .shares_cores = true };
        struct guests guests = { 0 };
        assert_int_equal(world_run(&world_threads, &opts, 4, guests_body, &guests), RC_OK);
        for (int r = 0; r < 4; r++) {
            const int worker = r < n_bound ? r : (r - n_bound) % n_bound;
            assert_int_equal(guests.n_own_cores[r], r < n_bound ? n_cores / n_bound : 0);
            assert_memory_equal(&guests.set[r], &guests.set[worker], sizeof guests.set[r]);
        }
    }
    const struct world_opts one = { .bind_cores = true, .n_bound_ranks = 1, .shares_cores = true, .n_threads = 1 };
    struct guests guests = { 0 };
    assert_int_equal(world_run(&world_threads, &one, 2, guests_body, &guests), RC_OK); /* a second core stays free */
    assert_int_equal(guests.n_own_cores[1], 0);
    assert_memory_equal(&guests.set[1], &guests.set[0], sizeof guests.set[1]);
}

/* A world without a body: one rank, this thread; its failure is told when it is closed. */
static void one_rank_is_opened(void **state)
{
    const struct world_opts opts = { .one_thread = true };
    const struct world_opts watched = { .stall = { .abort_ns = 1 } };
    struct world *w = NULL;
    int in = 7, out = 0;

    (void)state;
    assert_int_equal(world_open(&w, &world_threads, &watched), RC_UNSUPPORTED);
    assert_null(w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(world_open(&w, &world_threads, &opts), RC_OK);
        assert_true(w->rank == 0 && w->n_ranks == 1 && w->host_rank == 0 && w->n_host_ranks == 1);
        assert_int_equal(world_barrier(w), RC_OK);
        assert_int_equal(world_allgather(w, &in, &out, sizeof in), RC_OK);
        assert_int_equal(out, 7);
        if (i == 0)
            assert_int_equal(world_close(&w), RC_OK);
    }
    world_abort(w, rc_raise(RC_IO, "the disk is full"));
    assert_int_equal(world_close(&w), RC_IO);
    assert_string_equal(rc_message(), "rank 0: the disk is full");
    assert_null(w);
    assert_int_equal(world_close(&w), RC_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(suite_passes),
        cmocka_unit_test(suite_catches_mutants),
        cmocka_unit_test(an_end_ends_every_wait),
        cmocka_unit_test(cores_are_shared_equally),
        cmocka_unit_test(guests_have_the_cores_of_workers),
        cmocka_unit_test(one_rank_is_opened),
    };

    if (argc > 1 && strcmp(argv[1], "mutants") == 0)
        cmocka_set_test_filter("suite_catches_mutants");
    else
        cmocka_set_skip_filter("suite_catches_mutants");
    return cmocka_run_group_tests(test, NULL, NULL);
}
