/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_slices.c - what all ranks begin with: parameters and optimiser's state of rank 0, of a server its slices. */
#include <stdlib.h>

#include "harness/exchange/exchange_state.h"
#include "harness/exchange/initial.h"
#include "harness/world/world.h"

void exchange_free_slices(struct exchange *x)
{
    for (int i = 0; i < 2; i++) {
        free(x->slice[i].param);
        free(x->slice[i].moments);
        x->slice[i] = (struct slice){ 0 };
    }
}

static enum rc open_slice(const struct exchange *x, struct slice *out, int server, int n_moments)
{
    const size_t n_elems = x->placement.n_elems[server];

    out->server = server;
    out->param = malloc((n_elems > 0 ? n_elems : 1) * sizeof *out->param);
    if (n_moments > 0)
        out->moments = malloc((n_elems > 0 ? n_elems : 1) * (size_t)n_moments * sizeof *out->moments);
    if (!out->param || (n_moments > 0 && !out->moments))
        return rc_raise(RC_NOMEM, "no memory for the %zu parameters of a server", n_elems);
    return RC_OK;
}

static enum rc open_slices(struct exchange *x, int n_moments)
{
    const int n = x->env.n_servers, own = x->env.world->rank - x->env.n_workers;
    enum rc rc;

    TRY(open_slice(x, &x->slice[0], own, n_moments));
    if (x->env.opts.n_replicas > 0)
        TRY(open_slice(x, &x->slice[1], (own + n - 1) % n, n_moments));
out:
    return rc;
}

/* Array k of rank 0's optimiser to all ranks. */
static enum rc share_moment(struct exchange *x, const struct initial_state *from, int k)
{
    const size_t n_params = x->buckets.n_params;
    const float *own = from->state.moments + (size_t)k * n_params;
    struct initial_array moment = { .n_elems = n_params,
                                    .from_host = x->env.world->rank == 0 ? own : NULL,
                                    .compute = x->optimizer.compute,
                                    .memory = x->optimizer.moment[k],
                                    .placement = &x->placement };

    for (int i = 0; i < 2; i++)
        if (x->slice[i].moments)
            moment.slice[i] =
                (struct initial_slice){ x->slice[i].server,
                                        x->slice[i].moments + (size_t)k * x->placement.n_elems[x->slice[i].server] };
    if (x->shard.world) { /* E14: the file that each rank goes on from has all of it */
        compute_put(x->optimizer.compute, x->optimizer.moment[k], own, n_params * sizeof *own);
        return RC_OK;
    }
    return initial_broadcast(x->env.world, &moment);
}

enum rc exchange_share_state(struct exchange *x, const struct initial_state *from)
{
    const int n_moments = from->state.moments ? optimizer_n_moments(&x->env.optimizer) : 0;
    struct initial_array param = { .n_elems = x->shard.world ? x->shard.first_elem : x->buckets.n_params,
                                   .compute = x->env.compute,
                                   .memory = x->param,
                                   .placement = &x->placement };
    const struct initial_array running = { .n_elems = from->n_running,
                                           .compute = x->env.compute,
                                           .memory = from->running };
    enum rc rc = RC_OK;

    x->n_updates_before = from->state.n_updates;
    if (!x->env.compute->ops->touches_memory || world_is_guest(x->env.world)) /* E15 */
        return RC_OK;
    if (!x->is_worker)
        TRY(open_slices(x, n_moments));
    for (int i = 0; i < 2; i++)
        param.slice[i] = (struct initial_slice){ x->slice[i].server, x->slice[i].param };
    TRY(x->env.opts.shared_memory ? initial_broadcast_shared(&x->memory, &param)
                                  : initial_broadcast(x->env.world, &param));
    for (int k = 0; k < n_moments; k++)
        TRY(share_moment(x, from, k));
    TRY(initial_broadcast(x->env.world, &running));
out:
    return rc;
}
