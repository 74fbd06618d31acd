/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_undo.c - back to the last common step, after a rank was lost (exchange.E7): before a chunk is updated, its
 * old parameters and optimiser's state are copied to the host; each chunk counts its updates.
 */
#include "harness/exchange/exchange_state.h"
#include "harness/world/world.h"

size_t exchange_undo_bytes(const struct sync_mode *mode, const struct compute_backend *compute,
                           const struct optimizer_rule *rule, size_t n_params)
{
    const size_t n_arrays = 1 + (size_t)optimizer_n_moments(rule);

    return mode->module.caps & MODE_SYNCHRONOUS && compute->touches_memory ? n_arrays * n_params * sizeof(float) : 0;
}

void exchange_keep_chunk(struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    const size_t n_bytes = chunk.n_elems * sizeof(float);
    const int n_arrays = 1 + optimizer_n_moments(&x->env.optimizer);

    if (!x->keeps_undo)
        return;
    if (x->undo_param)
        compute_get(x->optimizer.compute, x->undo_param + chunk.offset_elems, x->param + chunk.offset_elems, n_bytes);
    for (int i = 0; i < OPTIMIZER_MAX_MOMENTS && x->undo_moment[i]; i++)
        compute_get(x->optimizer.compute, x->undo_moment[i] + chunk.offset_elems,
                    x->optimizer.moment[i] + chunk.offset_elems, n_bytes);
    world_charge(x->env.world, 0, 2.0 * n_arrays * (double)n_bytes); /* each float is read and written */
}

enum rc exchange_stop(struct exchange *x, uint64_t *n_steps)
{
    uint64_t n_least = UINT64_MAX;
    enum rc rc = RC_OK;

    if (x->communicator && x->n_pending == 0)
        TRY(communicator_finish(x->communicator));
    communicator_close(&x->communicator); /* from here on this task alone reads and writes the chunks */
    for (size_t k = 0; k < x->buckets.n_chunks; k++) {
        n_least = x->state[k].n_updates < n_least ? x->state[k].n_updates : n_least;
        x->state[k].pending = false;
    }
    while (chunk_queue_pop(&x->queue) != NO_CHUNK)
        continue;
    x->n_pending = 0;
    x->posted.n_completed = x->posted.n_posted;
    *n_steps = n_least;
out:
    return rc;
}

static void undo_chunk(struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    const size_t n_bytes = chunk.n_elems * sizeof(float);

    if (x->undo_param)
        compute_put(x->optimizer.compute, x->param + chunk.offset_elems, x->undo_param + chunk.offset_elems, n_bytes);
    for (int i = 0; i < OPTIMIZER_MAX_MOMENTS && x->undo_moment[i]; i++)
        compute_put(x->optimizer.compute, x->optimizer.moment[i] + chunk.offset_elems,
                    x->undo_moment[i] + chunk.offset_elems, n_bytes);
    x->state[k].n_updates--;
}

enum rc exchange_undo_to(struct exchange *x, uint64_t n_steps)
{
    for (size_t k = 0; k < x->buckets.n_chunks; k++) {
        const uint64_t n = x->state[k].n_updates;
        if (n < n_steps || n > n_steps + 1 || (n > n_steps && !x->keeps_undo))
            return rc_raise(RC_INVAL, "chunk %zu has gone through %llu steps; it cannot be taken to step %llu", k,
                            (unsigned long long)n, (unsigned long long)n_steps);
    }
    for (size_t k = 0; k < x->buckets.n_chunks; k++)
        if (x->state[k].n_updates > n_steps)
            undo_chunk(x, k);
    x->keeps_undo = false; /* what was kept is used up */
    return RC_OK;
}
