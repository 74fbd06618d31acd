/* SPDX-License-Identifier: Apache-2.0 */
/* short_calls.c - measures how long allreduces of few bytes take here by each algorithm; see short_calls.h. */
#include "allreduce/short_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

/* Enough calls that waking a rank by chance is little of them; as many for many ranks, whose calls take longer, would
 * take too long. */
enum { N_SERIES = 3, MOST_CALLS = 16, CALLS_TIMES_RANKS = 320 };

struct timer {
    const struct collective_env *env;
    struct world *world;
    float *data; /* zeros, which stay */
    int n_calls; /* of a series */
};

static enum rc run_series(double *fastest_s, const struct timer *t, struct collective *c, size_t n_elems)
{
    const struct collective_call call = { .type = COLL_ALLREDUCE,
                                          .n_elems = n_elems,
                                          .wire = t->env->narrow ? WIRE_F16 : WIRE_F32 };
    uint64_t started_ns;
    enum rc rc;

    TRY(collective_run(c, &call, t->data)); /* all have come, and what is done once is done */
    started_ns = world_now_ns(t->world);
    for (int i = 0; i < t->n_calls; i++)
        TRY(collective_run(c, &call, t->data));
    *fastest_s = fmin(*fastest_s, 1e-9 * (double)(world_now_ns(t->world) - started_ns) / t->n_calls);
out:
    return rc;
}

static enum rc open_all(struct collective **c, const struct collective_ops *const *ops, int n, const struct timer *t,
                        size_t n_elems)
{
    struct collective_env own = *t->env;
    enum rc rc = RC_OK;

    own.types = COLL_ALLREDUCE;
    own.opts = NULL;
    own.max_elems = n_elems;
    for (int i = 0; i < n; i++) {
        rc = ops[i]->module.caps & COLL_ALLREDUCE ? collective_open(&c[i], ops[i], &own) : RC_UNSUPPORTED;
        if (rc != RC_UNSUPPORTED) /* on all ranks */
            TRY(rc);
    }
    rc = RC_OK;
out:
    return rc;
}

/* Of the slowest rank. NaN, of those that cannot run, stays. */
static enum rc agree(struct short_call *took, int n, struct world *w)
{
    const size_t n_bytes = (size_t)n * sizeof *took;
    struct short_call *all = malloc((size_t)w->n_ranks * n_bytes);
    enum rc rc;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the calls of %d ranks", w->n_ranks);
    TRY(world_allgather(w, took, all, n_bytes));
    for (int k = 0; k < w->n_ranks * n; k++) {
        struct short_call *of = &took[k % n];
        of->few_s = all[k].few_s > of->few_s ? all[k].few_s : of->few_s;
        of->more_s = all[k].more_s > of->more_s ? all[k].more_s : of->more_s;
    }
out:
    free(all);
    return rc;
}

static enum rc measure(struct short_call *took, struct collective **c, int n, const struct timer *t)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < N_SERIES; k++)
        for (int i = 0; i < n; i++) {
            if (!c[i])
                continue;
            TRY(run_series(&took[i].few_s, t, c[i], took[i].n_few));
            TRY(run_series(&took[i].more_s, t, c[i], took[i].n_more));
        }
    TRY(agree(took, n, t->world));
out:
    return rc;
}

double short_call_s(const struct short_call *took, size_t n_elems)
{
    if (n_elems <= took->n_few || took->n_more == took->n_few)
        return took->few_s;
    return took->few_s +
           (took->more_s - took->few_s) * (double)(n_elems - took->n_few) / (double)(took->n_more - took->n_few);
}

enum rc short_calls_measure(struct short_call *took, const struct collective_ops *const *ops, int n,
                            const struct collective_env *env)
{
    struct timer t = { .env = env, .world = env->transport->world };
    const size_t n_ranks = (size_t)t.world->n_ranks;
    const size_t n_more = env->max_elems < SHORT_CALL_ELEMS ? env->max_elems : SHORT_CALL_ELEMS;
    const int n_most = CALLS_TIMES_RANKS / t.world->n_ranks;
    struct collective **c = calloc((size_t)n + 1, sizeof *c);
    struct arena arena = { 0 };
    enum rc rc = RC_OK;

    t.n_calls = n_most < 2 ? 2 : n_most < MOST_CALLS ? n_most : MOST_CALLS;
    for (int i = 0; i < n; i++)
        took[i] = (struct short_call){ NAN, NAN, n_ranks < n_more ? n_ranks : n_more, n_more };
    if (!c)
        FAIL(RC_NOMEM, "no memory for %d algorithms", n);
    if (t.world->ops->module.caps & WORLD_VIRTUAL_TIME || !(env->types & COLL_ALLREDUCE) || n_more == 0)
        goto out;
    TRY(arena_open(&arena, arena_floats_bytes(n_more)));
    t.data = arena_floats(&arena, n_more);
    memset(t.data, 0, n_more * sizeof *t.data);
    TRY(open_all(c, ops, n, &t, n_more));
    for (int i = 0; i < n; i++)
        if (c[i])
            took[i].few_s = took[i].more_s = INFINITY;
    TRY(measure(took, c, n, &t));
out:
    for (int i = 0; c && i < n; i++)
        collective_close(&c[i]);
    free(c);
    arena_close(&arena);
    return rc;
}
