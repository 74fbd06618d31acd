/* SPDX-License-Identifier: Apache-2.0 */
/* short_calls_test.c - what the shortest calls are measured to take: of made-up algorithms, and what auto makes of it.
 */
#include "allreduce/short_calls.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allreduce/collective_list.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { N_RANKS = 3, TIMEOUT_MS = 60000, PAUSE_NS = 2000000 };

static enum rc plain_open(struct collective **out, const struct collective_env *env)
{
    struct collective *c = calloc(1, sizeof *c);

    if (!c)
        return rc_raise(RC_NOMEM, "no memory");
    *out = env->max_elems == 100 && env->types == COLL_ALLREDUCE ? c : NULL;
    if (*out)
        return RC_OK;
    free(c);
    return rc_raise(RC_INVAL, "opened for more than it is called for");
}

static enum rc refused_open(struct collective **out, const struct collective_env *env)
{
    (void)out;
    (void)env;
    return rc_raise(RC_UNSUPPORTED, "not on these ranks");
}

static void plain_close(struct collective **c)
{
    free(*c);
    *c = NULL;
}

static enum rc quick_run(struct collective *c, const struct collective_call *call, float *data)
{
    (void)c;
    return (call->n_elems == 100 || call->n_elems == N_RANKS) && data[call->n_elems - 1] == 0
               ? RC_OK
               : rc_raise(RC_INVAL, "no such call");
}

static enum rc slow_run(struct collective *c, const struct collective_call *call, float *data)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };

    if (c->env.transport->world->rank == 1 && call->n_elems == 100)
        nanosleep(&pause, NULL);
    return quick_run(c, call, data);
}

static const struct collective_ops quick = { .module = { .name = "quick", .caps = COLL_ALLREDUCE },
                                             .open = plain_open,
                                             .run = quick_run,
                                             .close = plain_close },
                                   slow = { .module = { .name = "slow", .caps = COLL_ALLREDUCE },
                                            .open = plain_open,
                                            .run = slow_run,
                                            .close = plain_close },
                                   refused = { .module = { .name = "refused", .caps = COLL_ALLREDUCE },
                                               .open = refused_open,
                                               .close = plain_close },
                                   other = { .module = { .name = "other", .caps = COLL_BROADCAST },
                                             .open = plain_open,
                                             .close = plain_close };

struct seen {
    struct short_call took[N_RANKS][5];
    char chosen[N_RANKS][32], why[512];
};

static enum rc open_parts(struct transport **t, struct compute **c, struct world *w)
{
    const struct transport_ops *inproc = NULL;
    const struct compute_backend *cpu = NULL;
    enum rc rc;

    TRY(transport_find(&inproc, "inproc"));
    TRY(compute_find(&cpu, "cpu"));
    TRY(transport_open(t, inproc, w));
    TRY(compute_open(c, cpu, &(struct compute_env){ .n_threads = 1 }));
out:
    return rc;
}

static enum rc measure_body(struct world *w, void *arg)
{
    const struct collective_ops *const ops[] = { &quick, &slow, &refused, &other, &quick };
    struct seen *seen = arg;
    struct transport *t = NULL;
    struct compute *c = NULL;
    enum rc rc;

    TRY(open_parts(&t, &c, w));
    const struct collective_env env = { .kind = &collective_kind,
                                        .transport = t,
                                        .compute = c,
                                        .timeout_ms = TIMEOUT_MS,
                                        .types = COLL_ALLREDUCE | COLL_BROADCAST,
                                        .max_elems = 100 };
    TRY(short_calls_measure(seen->took[w->rank], ops, 5, &env));
out:
    transport_close(&t);
    compute_close(&c);
    return rc;
}

static void run(rank_main_fn *body, struct seen *seen)
{
    const struct world_ops *threads = NULL;

    assert_int_equal(world_find(&threads, "threads"), RC_OK);
    assert_int_equal(world_run(threads, &(struct world_opts){ 0 }, N_RANKS, body, seen), RC_OK);
}

/* The figure of the slowest rank, on all of them; none of what cannot run. */
UNIT_TEST(each_algorithm_is_measured)
{
    struct seen seen = { .why = "" };

    run(measure_body, &seen);
    const struct short_call *took = seen.took[0];
    assert_true(took[1].more_s >= 1e-9 * PAUSE_NS && took[1].few_s < took[1].more_s);
    assert_true(took[0].more_s < took[1].more_s && took[4].more_s < took[1].more_s);
    assert_true(took[0].few_s >= 0 && took[0].n_few == N_RANKS && took[0].n_more == 100);
    assert_true(isnan(took[2].few_s) && isnan(took[2].more_s) && isnan(took[3].few_s) && isnan(took[3].more_s));
    for (int r = 1; r < N_RANKS; r++)
        assert_memory_equal(seen.took[r], took, sizeof seen.took[0]);
}

UNIT_TEST(between_two_lengths_is_a_line)
{
    const struct short_call took = { 10, 30, 4, 104 }, one = { 10, 10, 3, 3 };

    assert_true(short_call_s(&took, 1) == 10 && short_call_s(&took, 4) == 10);
    assert_true(short_call_s(&took, 54) == 20 && short_call_s(&took, 104) == 30);
    assert_true(short_call_s(&one, 3) == 10);
}

static enum rc choose_body(struct world *w, void *arg)
{
    const struct collective_call few = { .type = COLL_ALLREDUCE, .n_elems = 1 };
    const struct collective_ops *automatic = NULL;
    struct seen *seen = arg;
    struct collective *chooser = NULL;
    struct transport *t = NULL;
    struct compute *c = NULL;
    float one = 1;
    enum rc rc;

    TRY(open_parts(&t, &c, w));
    TRY(collective_find(&automatic, &collective_kind, "auto"));
    const struct collective_env env = { .kind = &collective_kind,
                                        .transport = t,
                                        .compute = c,
                                        .timeout_ms = TIMEOUT_MS,
                                        .types = COLL_ALLREDUCE,
                                        .max_elems = 1 << 16 };
    TRY(collective_open(&chooser, automatic, &env));
    snprintf(seen->chosen[w->rank], sizeof seen->chosen[0], "%s", collective_chosen(chooser, &few)->module.name);
    TRY(collective_run(chooser, &few, &one));
    if (w->rank == 0)
        collective_explain(chooser, &few, seen->why, sizeof seen->why);
    rc = one == N_RANKS ? RC_OK : rc_raise(RC_MISMATCH, "the sum is %g", (double)one);
out:
    collective_close(&chooser);
    transport_close(&t);
    compute_close(&c);
    return rc;
}

UNIT_TEST(auto_goes_by_it)
{
    struct seen seen = { .why = "" };

    run(choose_body, &seen);
    for (int r = 1; r < N_RANKS; r++)
        assert_string_equal(seen.chosen[r], seen.chosen[0]);
    assert_non_null(strstr(seen.why, " for 4 bytes: "));
    assert_non_null(strstr(seen.why, ", short ones took "));
}

/* Of 4 ranks rank 0 of "root" sends 3 vectors, that of "tree" 2: the most that a call may cost. */
UNIT_TEST(the_reference_is_for_few_bytes)
{
    const struct collective_group four = { .n_ranks = 4 };
    const struct collective_ops *automatic = NULL;
    struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = 4096 };

    assert_int_equal(collective_find(&automatic, &collective_kind, "auto"), RC_OK);
    assert_int_equal(automatic->predict(NULL, &call, 0, &four).bytes, 3 * 4096 * 4);
    call.n_elems = 4097;
    assert_int_equal(automatic->predict(NULL, &call, 0, &four).bytes, 2 * 4097 * 4);
}

UNIT_MAIN("short_calls")
