/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_local.c - local SGD: parameters are averaged, seldom, in place of gradients (exchange.h, E8). */
#include "harness/exchange/exchange_state.h"
#include "harness/net/message_log.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

void exchange_weigh(const struct exchange *x, float *floats, size_t n, float factor)
{
    const float scale = x->env.weight * factor;

    if (scale == 1.0f)
        return;
    for (size_t i = 0; floats && i < n; i++)
        floats[i] *= scale;
    world_charge(x->env.world, (double)n, 2.0 * sizeof(float) * (double)n);
}

bool exchange_averages_now(const struct exchange *x)
{
    return ((uint64_t)x->step + 1) % x->env.opts.average_every == 0 || x->n_begun == x->env.n_steps;
}

/* The elements of the piece; NULL: hollow. */
static float *piece_of(float *floats, struct range piece)
{
    return floats ? floats + piece.offset_elems : NULL;
}

/* In the parameters themselves, or where the mode cannot reach them, in the copy that gradients are exchanged in. */
enum rc exchange_average_piece(struct exchange *x, size_t k)
{
    const struct range piece = x->buckets.piece[k];
    const size_t n_bytes = piece.n_elems * sizeof(float);
    float *floats = x->is_staged ? x->host_grad : x->param;
    struct piece_cost cost = { 0 };
    enum rc rc;

    if (x->log)
        x->log->step = x->state[k].step;
    TRY(compute_sync(x->env.compute));
    if (x->is_staged)
        TRY(compute_fetch(x->env.compute, floats + piece.offset_elems, x->param + piece.offset_elems, n_bytes));
    exchange_weigh(x, piece_of(floats, piece), piece.n_elems, 1.0f / (float)x->env.n_workers);
    const uint64_t sent_bytes = x->transport->moved.bytes_sent;
    TRY(x->sync->ops->exchange(x->sync, k, x->state[k].lr, NULL, floats, &cost));
    x->sent_bytes += x->transport->moved.bytes_sent - sent_bytes;
    if (x->is_staged)
        compute_put(x->env.compute, x->param + piece.offset_elems, floats + piece.offset_elems, n_bytes);
out:
    return rc;
}

enum rc exchange_average_rest(struct exchange *x)
{
    enum rc rc = RC_OK;

    if (x->env.opts.average_every == 0 || x->is_averaged || !x->sync)
        return RC_OK;
    for (size_t k = 0; k < x->buckets.n_pieces; k++)
        TRY(exchange_average_piece(x, k));
    x->is_averaged = true;
out:
    return rc;
}
