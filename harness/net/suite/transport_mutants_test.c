/* SPDX-License-Identifier: Apache-2.0 */
/* transport_mutants_test.c - each suite catches every mutant planted for it, in the case meant for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/net/suite/transport_loss_suite.h"
#include "harness/net/suite/transport_mutants.h"
#include "harness/net/suite/transport_suite.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;

enum { N_RANKS = 3, MUTANT_TIMEOUT_MS = 3000, LOSS_TIMEOUT_MS = 1000, HEALTHY_TIMEOUT_MS = 20000 };

struct trial {
    const struct transport_mutant *mutant;
    int n_failures;          /* on rank 0, which hears of the others' */
    const char *failed_case; /* likewise */
};

static enum rc body(struct world *w, void *arg)
{
    struct trial *trial = arg;
    const char *const limited = trial->mutant->invariant, *failed_case = NULL;
    const int timeout_ms = limited[0] ? MUTANT_TIMEOUT_MS : HEALTHY_TIMEOUT_MS;
    const int n_failures = transport_suite_limited(w, trial->mutant->ops, limited, timeout_ms, &failed_case);

    if (w->rank == 0) {
        trial->n_failures = n_failures;
        trial->failed_case = failed_case;
    }
    return RC_OK;
}

struct loss_trial {
    const struct transport_ops *ops;
    struct transport_loss_plan plan;
    atomic_int n_failures;
};

static enum rc loss_body(struct world *w, void *arg)
{
    struct loss_trial *trial = arg;

    atomic_fetch_add(&trial->n_failures, transport_loss_suite(w, trial->ops, &trial->plan));
    return RC_OK;
}

static bool fails_at_loss(const struct transport_ops *ops, int nth, int timeout_ms)
{
    const struct world_opts opts = { .on_loss = ON_LOSS_REPORT };
    struct loss_trial trial = { .ops = ops, .plan = { nth, timeout_ms, false } };

    assert_int_equal(world_run(&world_threads, &opts, N_RANKS, loss_body, &trial), RC_OK);
    return atomic_load(&trial.n_failures) > 0;
}

/* The first case that fails is `wanted`; NULL: none does. */
static void try_losses(const struct transport_ops *ops, const char *wanted)
{
    for (int i = 0; transport_loss_case(i); i++) {
        const bool is_wanted = wanted && strcmp(transport_loss_case(i), wanted) == 0;
        const bool fails = fails_at_loss(ops, i, is_wanted ? LOSS_TIMEOUT_MS : HEALTHY_TIMEOUT_MS);
        if (fails && !is_wanted)
            fail_msg("%s broke \"%s\"", ops->module.name, transport_loss_case(i));
        if (fails)
            return;
    }
    assert_null(wanted);
}

static void try_mutant(void **state)
{
    struct trial trial = { .mutant = *state };
    const struct world_opts opts = { .bind_cores = false };

    if (strncmp(trial.mutant->invariant, "loss ", 5) == 0) {
        try_losses(trial.mutant->ops, trial.mutant->invariant);
        return;
    }
    assert_int_equal(world_run(&world_threads, &opts, N_RANKS, body, &trial), RC_OK);
    if (trial.mutant->invariant[0] == '\0') {
        assert_int_equal(trial.n_failures, 0);
        try_losses(trial.mutant->ops, NULL);
        return;
    }
    assert_true(trial.n_failures > 0);
    assert_non_null(trial.failed_case);
    const size_t n_chars = strlen(trial.mutant->invariant);
    if (strncmp(trial.failed_case, trial.mutant->invariant, n_chars) != 0 ||
        (trial.failed_case[n_chars] != ' ' && trial.failed_case[n_chars] != '\0'))
        fail_msg("%s broke \"%s\", not %s", trial.mutant->ops->module.name, trial.failed_case, trial.mutant->invariant);
}

/* transport_mutants_test NAME: "losetail"; "none" must pass. */
int main(int argc, char **argv)
{
    struct transport_mutant mutant;

    if (argc != 2 || !transport_mutant_find(&mutant, argv[1])) {
        fprintf(stderr, "%s: no such mutant\n", argc == 2 ? argv[1] : "");
        return 2;
    }
    const struct CMUnitTest test[] = { cmocka_unit_test_prestate(try_mutant, &mutant) };
    return cmocka_run_group_tests_name(argv[1], test, NULL, NULL);
}
