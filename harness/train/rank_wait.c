/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_wait.c - how ranks wait for each other: by the same rule in every mode.
 *
 * auto, for a run by itself: all ranks spin where every host has a core for each thread of its workers, and for each
 * rank, servers included; else all sleep. Threads of a worker are those of --threads, one that exchanges beside
 * computing, and one of a library that has its own (collective.A11). Threads of a pool do not count beside a server:
 * while their worker waits for it they have nothing to do. compare chooses spin or sleep for all points that it
 * compares (campaign/wait.c).
 * spin: a server spins only where it has a core too; on a worker's it takes time from who gives it work.
 * Servers beside workers (--colocate) run on the workers' cores: with auto all ranks sleep, with spin the servers do.
 * The threads of a worker's pool wait for each other as part of computing: they spin where each has a core of its own,
 * whatever the mode and the policy.
 */
#include <string.h>

#include "harness/train/rank_state.h"

enum wait_policy train_wait_policy(const char *text)
{
    return strcmp(text, "spin") == 0 ? WAIT_SPIN : strcmp(text, "sleep") == 0 ? WAIT_SLEEP : WAIT_AUTO;
}

/* A server on a core that a worker needs only takes time from it by spinning. */
static enum wait_policy own_policy(const struct rank *r, enum wait_policy of_workers)
{
    return rank_is_worker(r) || (r->ranks_have_cores && !r->job->opts.colocate) ? of_workers : WAIT_SLEEP;
}

/* Trainings at once share the cores of a host, and so does a driver. */
static struct world *sharing_cores(const struct rank *r)
{
    return r->job->all ? r->job->all : r->feed.own ? r->feed.all : r->world;
}

enum rc rank_needs_core(struct rank *r)
{
    bool has_cores;
    enum rc rc;

    TRY(world_has_cores(sharing_cores(r), 1, &has_cores)); /* as rank_choose_wait() of the others asks */
    TRY(world_has_cores(sharing_cores(r), 1, &has_cores));
    world_set_wait(r->feed.world, WAIT_SLEEP); /* workers compute meanwhile, on cores that they may need */
out:
    return rc;
}

/* Of a worker, beside those that compute. */
static int n_exchange_threads(const struct rank *r)
{
    const struct collective_ops *collective = r->job->collective;

    return r->exchanging.overlap + (collective && collective->module.caps & COLL_THREADS);
}

enum rc rank_choose_wait(struct rank *r)
{
    const int n_beside = rank_is_worker(r) ? n_exchange_threads(r) : 0;
    const int n_threads = rank_is_worker(r) ? rank_n_threads(r) + n_beside : 0;
    struct world *all = sharing_cores(r);
    enum wait_policy policy = r->job->wait;
    enum rc rc = RC_OK;

    if (rank_is_virtual(r))
        return RC_OK;
    TRY(world_has_cores(all, n_threads, &r->has_cores));
    TRY(world_has_cores(all, 1 + n_beside, &r->ranks_have_cores));
    if (policy == WAIT_AUTO)
        policy = r->has_cores && r->ranks_have_cores && !r->job->opts.colocate ? WAIT_SPIN : WAIT_SLEEP;
    world_set_wait(r->world, own_policy(r, policy));
    if (r->feed.client)
        world_set_wait(r->feed.world, r->world->wait);
    r->result.wait = policy;
out:
    return rc;
}

/* With overlap the communicators need cores too: where there is none for them, they run on those of the pools. */
bool rank_pool_may_spin(const struct rank *r)
{
    return rank_n_threads(r) <= r->world->n_own_cores && (r->has_cores || !r->exchanging.overlap);
}
