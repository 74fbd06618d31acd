/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_slowed.c - --slow-rank: a worker that computes at a part of its speed. It pauses behind what it has computed, so
 * that both together take 1 / ratio as long; where it sends gradients while it computes others, behind each of them. A
 * pause that the system makes longer than it was to be is made up for by the next.
 */
#include "harness/exchange/exchange.h"
#include "harness/train/rank_state.h"

static bool is_slowed(const struct rank *r)
{
    return r->job->faults.slow_rank == r->world->rank;
}

void rank_slowed_begin(struct rank *r)
{
    if (!is_slowed(r))
        return;
    r->slowed.since_ns = world_now_ns(r->world);
    r->slowed.waited_ns = 0;
}

enum rc rank_slow(struct rank *r)
{
    struct slowed *s = &r->slowed;
    enum rc rc = RC_OK;

    if (!is_slowed(r))
        return RC_OK;
    TRY(compute_sync(r->compute)); /* compute.C2: what is counted has taken its time */
    const uint64_t now_ns = world_now_ns(r->world), waited_ns = exchange_cost(r->exchange).waited_ns;
    const uint64_t computed_ns = now_ns - s->since_ns - (waited_ns - s->waited_ns);
    s->owed_ns += (int64_t)((double)computed_ns * (1 / r->job->faults.slow_ratio - 1));
    s->since_ns = now_ns;
    s->waited_ns = waited_ns;
    if (s->owed_ns > 0) {
        world_pause(r->world, (uint64_t)s->owed_ns);
        s->since_ns = world_now_ns(r->world);
        s->owed_ns -= (int64_t)(s->since_ns - now_ns);
    }
out:
    return rc;
}
