/* SPDX-License-Identifier: Apache-2.0 */
/* sync_mutants.c - right modes whose table has a wrong sum(), post() or complete(). */
#include "harness/train/suite/sync_mutants.h"

#include <string.h>

#include "allreduce/sync_allreduce.h"
#include "harness/world/world.h"
#include "ps/ps.h"

static enum rc reduce(struct sync *s, size_t k, float *grad)
{
    return sync_allreduce.collective->sum(s, k, grad);
}

static void scale(struct sync *s, size_t k, float *grad, float factor)
{
    const struct range chunk = s->env.buckets->chunk[k];

    for (size_t i = chunk.offset_elems; i < chunk.offset_elems + chunk.n_elems; i++)
        grad[i] *= factor;
}

/* Sums instead of averaging: the classic mistake of learning-rate folklore. */
static enum rc sum_total(struct sync *s, size_t k, float *grad)
{
    scale(s, k, grad, (float)s->env.n_workers);
    return reduce(s, k, grad);
}

/* One worker's gradient never arrives. */
static enum rc sum_lost(struct sync *s, size_t k, float *grad)
{
    if (s->env.world->rank == 1)
        scale(s, k, grad, 0.0f);
    return reduce(s, k, grad);
}

static enum rc sum_rate(struct sync *s, size_t k, float *grad)
{
    scale(s, k, grad, 1.001f);
    return reduce(s, k, grad);
}

/* The first worker's gradient for all, in place of the sum. */
static enum rc sum_own(struct sync *s, size_t k, float *grad)
{
    scale(s, k, grad, s->env.world->rank == 0 ? (float)s->env.n_workers : 0.0f);
    return reduce(s, k, grad);
}

/* The last element of a chunk is not reduced. */
static enum rc sum_tail(struct sync *s, size_t k, float *grad)
{
    const struct range chunk = s->env.buckets->chunk[k];
    const float last = grad[chunk.offset_elems + chunk.n_elems - 1];
    const enum rc rc = reduce(s, k, grad);

    grad[chunk.offset_elems + chunk.n_elems - 1] = 0.5f * last;
    return rc;
}

static enum rc ps_post_rate(struct sync *s, const struct chunk_work *work)
{
    struct chunk_work half = *work;

    half.lr /= 2;
    return sync_ps.servers->post(s, &half);
}

/* The worker forgets to take what the server sent back, of the first parameter. */
static enum rc ps_complete_deaf(struct sync *s, float *param, struct chunk_cost *out)
{
    const float first = param[0];
    const enum rc rc = sync_ps.servers->complete(s, param, out);

    param[0] = first;
    return rc;
}

/* Counts the worker's own update. */
static enum rc ps_complete_own(struct sync *s, float *param, struct chunk_cost *out)
{
    const enum rc rc = sync_ps.servers->complete(s, param, out);

    out->staleness_count++;
    return rc;
}

const char *sync_mutant(struct sync_mode *out, int i)
{
    static const struct {
        const char *name;
        enum rc (*sum)(struct sync *s, size_t k, float *grad); /* of allreduce; NULL: of ps, one of: */
        enum rc (*post)(struct sync *s, const struct chunk_work *work);
        enum rc (*complete)(struct sync *s, float *param, struct chunk_cost *cost);
    } mutant[SYNC_N_MUTANTS] = {
        { "sum", .sum = sum_total },
        { "lost", .sum = sum_lost },
        { "rate", .sum = sum_rate },
        { "own", .sum = sum_own },
        { "tail", .sum = sum_tail },
        { "ps-rate", .post = ps_post_rate },
        { "ps-deaf", .complete = ps_complete_deaf },
        { "ps-own", .complete = ps_complete_own },
    };
    static struct collective_mode collective;
    static struct server_mode servers;

    *out = mutant[i].sum ? sync_allreduce : sync_ps;
    collective = *sync_allreduce.collective;
    servers = *sync_ps.servers;
    collective.sum = mutant[i].sum;
    servers.post = mutant[i].post ? mutant[i].post : servers.post;
    servers.complete = mutant[i].complete ? mutant[i].complete : servers.complete;
    out->collective = out->collective ? &collective : NULL;
    out->servers = out->servers ? &servers : NULL;
    return mutant[i].name;
}
