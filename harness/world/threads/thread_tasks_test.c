/* SPDX-License-Identifier: Apache-2.0 */
/* thread_tasks_test.c - task_suite in threads, its mutants, cores of tasks, and how tasks end when a rank does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/world/cores.h"
#include "harness/world/suite/ends_kit.h"
#include "harness/world/suite/task_mutants.h"
#include "harness/world/suite/task_suite.h"
#include "harness/world/task.h"

extern const struct world_ops world_threads;

static const struct world_opts plain = { .bind_cores = false };

static enum rc suite_body(struct world *w, void *arg)
{
    struct world *part = NULL;
    enum rc rc;

    atomic_fetch_add((atomic_int *)arg, task_suite(w, NULL));
    TRY(world_split(w, w->rank % 2, 0, &part)); /* tasks can be started from a part as well */
    atomic_fetch_add((atomic_int *)arg, task_suite(part, NULL));
out:
    world_split_close(&part);
    return rc;
}

static void suite_passes(void **state)
{
    (void)state;
    for (int n_ranks = 1; n_ranks <= 3; n_ranks++) {
        atomic_int n_failures = 0;
        assert_int_equal(world_run(&world_threads, &plain, n_ranks, suite_body, &n_failures), RC_OK);
        assert_int_equal(atomic_load(&n_failures), 0);
    }
}

struct trial {
    const struct task_mutant *mutant;
    int n_failures;
    const char *failed_case;
};

static enum rc mutant_body(struct world *w, void *arg)
{
    struct trial *trial = arg;
    struct world_ops ops = *w->ops;
    const struct world_ops *real = w->ops;

    ops.tasks = trial->mutant->ops;
    w->ops = &ops;
    trial->n_failures = task_suite(w, &trial->failed_case);
    w->ops = real;
    return RC_OK;
}

static bool is_caught(const struct trial *t)
{
    return t->n_failures > 0 && strcmp(t->failed_case, t->mutant->failed_case) == 0;
}

/* What mistakes times may be hidden once, by a machine that lets a thread wait for long. */
static void suite_catches_mutants(void **state)
{
    enum { MAX_TRIALS = 20 };

    (void)state;
    for (const struct task_mutant *m = task_mutants(); m->name; m++) {
        struct trial trial = { .mutant = m };
        print_message("mutant %s\n", m->name);
        for (int i = 0; i < (m->failed_case ? MAX_TRIALS : 1) && !(m->failed_case && is_caught(&trial)); i++) {
            trial = (struct trial){ .mutant = m };
            (void)!world_run(&world_threads, &plain, 1, mutant_body, &trial);
        }
        assert_int_equal(trial.n_failures > 0, m->failed_case != NULL);
        if (m->failed_case)
            assert_string_equal(trial.failed_case, m->failed_case);
    }
}

/* world.K5, W5 */
static void tasks_of_others_are_told(void **state)
{
    (void)state;
    ends_are_told_to_tasks(&world_threads, &plain);
}

static enum rc count_cores(struct world *w, void *arg)
{
    struct core_set set;

    (void)w;
    cores_thread_set(&set);
    *(int *)arg = cores_in_set(&set);
    return RC_OK;
}

static enum rc cores_body(struct world *w, void *arg)
{
    const enum task_core where[] = { TASK_ON_OWN_CORES, TASK_ON_SPARE_CORE, TASK_ANYWHERE };
    int *n_cores = arg;
    enum rc rc = RC_OK;

    for (int i = 0; w->rank == 0 && i < 3; i++) {
        struct task *t = NULL;
        const struct task_opts opts = { "counter", where[i], count_cores, &n_cores[i] };
        TRY(world_spawn(&t, w, &opts));
        TRY(world_join(&t));
    }
out:
    return rc;
}

static void expect_cores_of_tasks(const struct world_opts *opts, int n_ranks, int n_each, int n_left)
{
    const int n_workers = opts->n_bound_ranks > 0 ? opts->n_bound_ranks : n_ranks, n_cores = cores_allowed_count();
    const struct core_shares shares = cores_share_out(n_cores, n_workers, opts->n_threads, n_ranks - n_workers);
    struct core_set spare;
    int n_seen[3];

    cores_left_over(&shares, &spare);
    assert_int_equal(cores_in_set(&spare), n_left);
    assert_int_equal(world_run(&world_threads, opts, n_ranks, cores_body, n_seen), RC_OK);
    assert_int_equal(n_seen[0], n_each);
    assert_int_equal(n_seen[1], n_left > 0 ? n_left : n_each);
    assert_int_equal(n_seen[2], n_cores);
}

/* An equal part of the cores to each of n ranks; one to each; one to each of n workers, and to a server. */
static void tasks_run_where_they_are_told(void **state)
{
    const int n_cores = cores_allowed_count();

    (void)state;
    for (int n = 1; n <= n_cores; n++) {
        const struct world_opts part = { .bind_cores = true }, one = { .bind_cores = true, .n_threads = 1 };
        const struct world_opts served = { .bind_cores = true, .n_bound_ranks = n, .n_threads = 1 };
        expect_cores_of_tasks(&part, n, n_cores / n, n_cores % n);
        expect_cores_of_tasks(&one, n, 1, n_cores - n);
        expect_cores_of_tasks(&served, n + 1, 1, n < n_cores ? n_cores - n - 1 : 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_passes),
        cmocka_unit_test(suite_catches_mutants),
        cmocka_unit_test(tasks_of_others_are_told),
        cmocka_unit_test(tasks_run_where_they_are_told),
    };

    if (argc > 1 && strcmp(argv[1], "mutants") == 0)
        cmocka_set_test_filter("suite_catches_mutants");
    else
        cmocka_set_skip_filter("suite_catches_mutants");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
