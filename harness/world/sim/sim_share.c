/* SPDX-License-Identifier: Apache-2.0 */
/* sim_share.c - shares of the ranks of a simulated host. Rings and the blocks take no virtual time (W3). */
#include "harness/world/share_inner.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/world_sim.h"
#include "harness/world/wait.h"

static void sim_ring(struct share *s, int peer)
{
    share_bell_ring(s, peer); /* nobody sleeps on the doorbell: it counts */
    sim_wake(world_sim_rank(s->group, peer), NULL);
}

static enum rc sim_share_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    struct sim_rank *rank = world_sim_rank(s->group, s->group->rank);
    const uint64_t now_ns = sim_now_ns(rank),
                   deadline_ns = limit_ns < SIM_NEVER - now_ns ? now_ns + limit_ns : SIM_NEVER;
    bool expired = false;
    enum rc rc = RC_OK;

    while (share_seen(s) == seen) {
        TRY(sim_check(rank));
        TRY(share_check_losses(s));
        if (expired)
            FAIL(RC_TIMEOUT, "share: not rung within %.3g s", 1e-9 * (double)limit_ns);
        expired = !sim_wait(rank, NULL, deadline_ns);
    }
out:
    return rc;
}

const struct share_ops sim_share_ops = {
    .host_group = world_sim_host_group,
    .open = share_local_open,
    .ring = sim_ring,
    .wait = sim_share_wait,
    .close = share_local_close,
};
