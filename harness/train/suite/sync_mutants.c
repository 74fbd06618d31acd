/* SPDX-License-Identifier: Apache-2.0 */
/* sync_mutants.c - right modes whose table has one wrong function. */
#include "harness/train/suite/sync_mutants.h"

#include <string.h>

#include "allreduce/sync_allreduce.h"
#include "harness/world/world.h"
#include "ps/ps.h"

/* Sums instead of averaging: the classic mistake of learning-rate folklore. */
static enum rc finish_sum(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    for (size_t i = 0; i < s->env.n_params; i++)
        grad[i] *= (float)s->env.n_workers;
    return sync_allreduce.finish(s, param, grad, out);
}

/* One worker's gradient never arrives. */
static enum rc finish_lost(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    if (s->env.world->rank == 1)
        memset(grad, 0, s->env.n_params * sizeof *grad);
    return sync_allreduce.finish(s, param, grad, out);
}

static enum rc begin_rate(struct sync *s, uint64_t step, float lr)
{
    return sync_allreduce.begin(s, step, lr * 1.001f);
}

/* The rate of the step before. */
static enum rc begin_late(struct sync *s, uint64_t step, float lr)
{
    return step == 0 || step % 2 == 0 ? sync_allreduce.begin(s, step, lr) : RC_OK;
}

/* The last parameter is never updated. */
static enum rc finish_tail(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    const float last = param[s->env.n_params - 1];
    const enum rc rc = sync_allreduce.finish(s, param, grad, out);

    param[s->env.n_params - 1] = last;
    return rc;
}

static enum rc finish_stale(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    const enum rc rc = sync_allreduce.finish(s, param, grad, out);

    out->staleness_count = 1;
    return rc;
}

static enum rc ps_begin_rate(struct sync *s, uint64_t step, float lr)
{
    return sync_ps.begin(s, step, lr / 2);
}

/* The worker forgets to take what the server sent back. */
static enum rc ps_finish_deaf(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    const float first = param[0];
    const enum rc rc = sync_ps.finish(s, param, grad, out);

    param[0] = first;
    return rc;
}

/* Counts the worker's own update. */
static enum rc ps_finish_own(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    const enum rc rc = sync_ps.finish(s, param, grad, out);

    out->staleness_count++;
    return rc;
}

const char *sync_mutant(struct sync_mode *out, int i)
{
    static const struct {
        const char *name;
        const struct sync_mode *like;
        enum rc (*begin)(struct sync *s, uint64_t step, float lr);
        enum rc (*finish)(struct sync *s, float *param, float *grad, struct step_cost *cost);
    } mutant[SYNC_N_MUTANTS] = {
        { "sum", &sync_allreduce, NULL, finish_sum },   { "lost", &sync_allreduce, NULL, finish_lost },
        { "rate", &sync_allreduce, begin_rate, NULL },  { "late", &sync_allreduce, begin_late, NULL },
        { "tail", &sync_allreduce, NULL, finish_tail }, { "stale", &sync_allreduce, NULL, finish_stale },
        { "ps-rate", &sync_ps, ps_begin_rate, NULL },   { "ps-deaf", &sync_ps, NULL, ps_finish_deaf },
        { "ps-own", &sync_ps, NULL, ps_finish_own },
    };

    *out = *mutant[i].like;
    if (mutant[i].begin)
        out->begin = mutant[i].begin;
    if (mutant[i].finish)
        out->finish = mutant[i].finish;
    return mutant[i].name;
}
