/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_periods.c - a worker that does not push and pull in every step (periods.h), and where the training ends. */
#include "harness/exchange/exchange_state.h"
#include "harness/net/message_log.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

bool exchange_has_periods(const struct exchange *x)
{
    return x->has_servers && x->exchanges && periods_are_on(&x->env.opts.periods);
}

enum rc exchange_open_periods(struct exchange *x)
{
    if (!exchange_has_periods(x) || x->env.opts.periods.push_every <= 1 || !x->env.compute->ops->touches_memory)
        return RC_OK;
    return exchange_memory_open_copy(&x->memory, &x->accrued, "gradients since the last push");
}

enum rc exchange_start_periods(struct exchange *x)
{
    if (!exchange_has_periods(x) || !x->is_worker || !x->is_staged)
        return RC_OK;
    return compute_fetch(x->env.compute, x->host_param, x->param, x->buckets.n_params * sizeof(float));
}

/* What works on the host's copies, or on what the mode reads itself. */
static struct compute *host_compute(const struct exchange *x)
{
    return x->side ? x->side : x->env.compute;
}

/* The elements of the piece; NULL: hollow. */
static float *piece_at(float *floats, struct range piece)
{
    return floats ? floats + piece.offset_elems : NULL;
}

/* The gradient of the piece is added to those since the last push. */
static enum rc accrue(struct exchange *x, struct range piece)
{
    struct compute *c = host_compute(x);

    if (x->env.opts.periods.push_every <= 1)
        return RC_OK;
    compute_accumulate(c, piece_at(x->accrued, piece), piece_at(x->host_grad, piece), piece.n_elems);
    return compute_sync(c);
}

/* The worker's own step, as nothing is pulled. */
static enum rc go_on_alone(struct exchange *x, size_t k)
{
    const struct range piece = x->buckets.piece[k];
    const struct sgd own = { .lr = x->state[k].lr,
                             .weight_decay = (float)x->env.optimizer.weight_decay,
                             .grad_scale = 1.0f };
    struct compute *c = host_compute(x);

    compute_sgd_step(c, piece_at(x->host_param, piece), NULL, piece_at(x->host_grad, piece), piece.n_elems, &own);
    return compute_sync(c);
}

/* What was accrued is pushed; from here on nothing is. */
static enum rc forget_accrued(struct exchange *x, struct range piece)
{
    struct compute *c = host_compute(x);

    if (x->env.opts.periods.push_every <= 1)
        return RC_OK;
    compute_zero(c, piece_at(x->accrued, piece), piece.n_elems);
    return compute_sync(c);
}

float *exchange_pushed(const struct exchange *x)
{
    return x->env.opts.periods.push_every > 1 ? x->accrued : x->host_grad;
}

struct piece_work exchange_work_of(const struct exchange *x, size_t k, unsigned parts)
{
    return (struct piece_work){
        .k = k, .parts = parts, .lr = x->state[k].lr, .param = x->host_param, .grad = exchange_pushed(x)
    };
}

enum rc exchange_begin_periodic(struct exchange *x, size_t k)
{
    const struct range piece = x->buckets.piece[k];
    const unsigned parts = x->state[k].parts;
    const struct piece_work work = exchange_work_of(x, k, parts);
    enum rc rc;

    TRY(accrue(x, piece));
    if (!(parts & EXCHANGE_PULL))
        TRY(go_on_alone(x, k));
    if (parts & EXCHANGE_PUSH)
        TRY(exchange_compress_piece(x, piece));
    if (parts != 0)
        TRY(exchange_move_piece(x, &work));
out:
    return rc;
}

enum rc exchange_end_periodic(struct exchange *x, size_t k)
{
    return x->state[k].parts & EXCHANGE_PUSH ? forget_accrued(x, x->buckets.piece[k]) : RC_OK;
}

enum rc exchange_push_rest(struct exchange *x)
{
    const uint64_t sent_bytes = x->transport ? x->transport->moved.bytes_sent : 0;
    enum rc rc = RC_OK;

    if (!exchange_has_periods(x) || !x->is_worker || x->n_begun == 0 || x->parts & EXCHANGE_PUSH)
        return RC_OK;
    for (size_t k = 0; k < x->buckets.n_pieces; k++) {
        const struct piece_work work = exchange_work_of(x, k, EXCHANGE_PUSH);
        struct piece_cost cost = { 0 };
        if (x->log)
            x->log->step = x->state[k].step;
        TRY(exchange_compress_piece(x, x->buckets.piece[k]));
        TRY(x->sync->ops->exchange_part(x->sync, &work, &cost));
    }
    x->parts |= EXCHANGE_PUSH;
    x->counts.n_pushes++;
    x->sent_bytes += x->transport->moved.bytes_sent - sent_bytes;
out:
    return rc;
}

struct period_counts exchange_counts(const struct exchange *x)
{
    return x->counts;
}
