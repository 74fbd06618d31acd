/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_wait.c - how ranks wait for each other: the same worker by the same rule in every mode.
 *
 * auto: workers spin where every host has a core for each of their threads: those of --threads, and one where it
 * exchanges beside computing. A server counts for itself: it spins where workers do, and where there is a core for it
 * too. The threads of a worker's pool wait for each other as part of computing: they spin where each has a core of its
 * own, whatever the mode and the policy.
 */
#include <string.h>

#include "harness/train/rank_state.h"

enum wait_policy train_wait_policy(const char *text)
{
    return strcmp(text, "spin") == 0 ? WAIT_SPIN : strcmp(text, "sleep") == 0 ? WAIT_SLEEP : WAIT_AUTO;
}

/* A server on a core that a worker needs only takes time from it by spinning. */
static enum wait_policy own_policy(const struct rank *r, enum wait_policy of_workers, bool servers_have_cores)
{
    return rank_is_worker(r) || servers_have_cores ? of_workers : WAIT_SLEEP;
}

enum rc rank_choose_wait(struct rank *r)
{
    const int n_threads = rank_is_worker(r) ? rank_n_threads(r) + r->job->exchange.overlap : 0;
    enum wait_policy policy = r->job->wait;
    bool servers_have_cores = false;
    enum rc rc = RC_OK;

    if (rank_is_virtual(r))
        return RC_OK;
    TRY(world_has_cores(r->world, n_threads, &r->has_cores));
    TRY(world_has_cores(r->world, rank_is_worker(r) ? n_threads : 1, &servers_have_cores));
    if (policy == WAIT_AUTO)
        policy = r->has_cores ? WAIT_SPIN : WAIT_SLEEP;
    world_set_wait(r->world, own_policy(r, policy, servers_have_cores));
    r->result.wait = policy;
out:
    return rc;
}

/* With overlap the communicators need cores too: where there is none for them, they run on those of the pools. */
bool rank_pool_may_spin(const struct rank *r)
{
    return rank_n_threads(r) <= r->world->n_own_cores && (r->has_cores || !r->job->exchange.overlap);
}
