/* SPDX-License-Identifier: Apache-2.0 */
/* sync_mutants.c - right modes whose table has a wrong exchange(), or post() or end(). */
#include "harness/train/suite/sync_mutants.h"

#include <string.h>

#include "allreduce/sync_allreduce.h"
#include "harness/world/world.h"
#include "ps/ps.h"

static enum rc reduce(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out)
{
    return sync_allreduce.exchange(s, k, lr, param, grad, out);
}

static void scale(struct sync *s, size_t k, float *grad, float factor)
{
    const struct range piece = s->env.buckets->piece[k];

    for (size_t i = piece.offset_elems; i < piece.offset_elems + piece.n_elems; i++)
        grad[i] *= factor;
}

/* Sums instead of averaging: the classic mistake of learning-rate folklore. */
static enum rc exchange_sum(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out)
{
    scale(s, k, grad, (float)s->env.n_workers);
    return reduce(s, k, lr, param, grad, out);
}

/* One worker's gradient never arrives. */
static enum rc exchange_lost(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out)
{
    if (s->env.world->rank == 1)
        scale(s, k, grad, 0.0f);
    return reduce(s, k, lr, param, grad, out);
}

static enum rc exchange_rate(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out)
{
    scale(s, k, grad, 1.001f);
    return reduce(s, k, lr, param, grad, out);
}

/* The first worker's gradient for all, in place of the sum. */
static enum rc exchange_own(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out)
{
    scale(s, k, grad, s->env.world->rank == 0 ? (float)s->env.n_workers : 0.0f);
    return reduce(s, k, lr, param, grad, out);
}

/* The last element of a piece is not reduced. */
static enum rc exchange_tail(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out)
{
    const struct range piece = s->env.buckets->piece[k];
    const float last = grad[piece.offset_elems + piece.n_elems - 1];
    const enum rc rc = reduce(s, k, lr, param, grad, out);

    grad[piece.offset_elems + piece.n_elems - 1] = 0.5f * last;
    return rc;
}

static enum rc exchange_stale(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out)
{
    const enum rc rc = reduce(s, k, lr, param, grad, out);

    out->staleness_count = 1;
    return rc;
}

static enum rc ps_post_rate(struct sync *s, const struct piece_work *work)
{
    struct piece_work half = *work;

    half.lr /= 2;
    return sync_ps.post(s, &half);
}

/* The worker forgets to take what the server sent back, of the first parameter. */
static enum rc ps_end_deaf(struct sync *s, float *param, struct piece_cost *out)
{
    const float first = param[0];
    const enum rc rc = sync_ps.end(s, param, out);

    param[0] = first;
    return rc;
}

/* Counts the worker's own update. */
static enum rc ps_end_own(struct sync *s, float *param, struct piece_cost *out)
{
    const enum rc rc = sync_ps.end(s, param, out);

    out->staleness_count++;
    return rc;
}

const char *sync_mutant(struct sync_mode *out, int i)
{
    static const struct {
        const char *name;
        const struct sync_mode *like;
        enum rc (*exchange)(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *cost);
        enum rc (*post)(struct sync *s, const struct piece_work *work);
        enum rc (*end)(struct sync *s, float *param, struct piece_cost *cost);
    } mutant[SYNC_N_MUTANTS] = {
        { "sum", &sync_allreduce, .exchange = exchange_sum },
        { "lost", &sync_allreduce, .exchange = exchange_lost },
        { "rate", &sync_allreduce, .exchange = exchange_rate },
        { "own", &sync_allreduce, .exchange = exchange_own },
        { "tail", &sync_allreduce, .exchange = exchange_tail },
        { "stale", &sync_allreduce, .exchange = exchange_stale },
        { "ps-rate", &sync_ps, .post = ps_post_rate },
        { "ps-deaf", &sync_ps, .end = ps_end_deaf },
        { "ps-own", &sync_ps, .end = ps_end_own },
    };

    *out = *mutant[i].like;
    out->exchange = mutant[i].exchange ? mutant[i].exchange : out->exchange;
    out->post = mutant[i].post ? mutant[i].post : out->post;
    out->end = mutant[i].end ? mutant[i].end : out->end;
    return mutant[i].name;
}
