/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_shard.c - E14: the ranks that have the same shard, beside all workers. */
#include "harness/exchange/collective.h"
#include "harness/exchange/exchange_state.h"
#include "harness/world/world.h"

enum rc exchange_open_shard(struct exchange *x)
{
    const struct world *w = x->shard.world;
    enum rc rc = RC_OK;

    if (!w)
        return RC_OK;
    const struct transport_plan plan = exchange_transport_plan(x, w->n_ranks, NULL);
    TRY(transport_open_planned(&x->shard_transport, x->env.transport, x->shard.world, &plan));
    x->shard_transport->fails_together = true;
out:
    return rc;
}

uint64_t exchange_moved_bytes(const struct exchange *x)
{
    uint64_t n_bytes = x->transport ? x->transport->moved.bytes_sent : 0;

    return x->shard_transport ? n_bytes + x->shard_transport->moved.bytes_sent : n_bytes;
}
