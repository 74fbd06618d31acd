/* SPDX-License-Identifier: Apache-2.0 */
/* ps_rank.h - what a rank has in a test that calls mode ps without an exchange. */
#ifndef PS_SUITE_PS_RANK_H
#define PS_SUITE_PS_RANK_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cluster/cluster.h"
#include "harness/compute/compute.h"
#include "harness/exchange/sync_mode.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/ps.h"

struct ps_rank {
    struct world *w; /* borrowed */
    struct compute *compute;
    struct transport *transport;
    struct buckets buckets;
    struct placement placement;
    struct sync *sync;
    float *param, *grad; /* malloc()ed; NULL: none */
};

/* One segment of n_params in one bucket, split among n_servers, and *env for it: without a transport and a rule. */
static inline enum rc ps_rank_open_split(struct ps_rank *r, struct sync_env *env, struct world *w, size_t n_params,
                                         int n_workers, int n_servers)
{
    const struct segment segment = { 0, n_params };
    enum rc rc;

    *r = (struct ps_rank){ .w = w };
    TRY(compute_open(&r->compute, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(buckets_open(&r->buckets, &segment, 1, &(struct bucket_opts){ 0, 0 }));
    TRY(placement_open(&r->placement, &(struct placement_opts){ PLACEMENT_SPLIT, 0 }, &segment, 1, n_servers));
    *env = (struct sync_env){ .world = w,
                              .compute = r->compute,
                              .buckets = &r->buckets,
                              .placement = &r->placement,
                              .n_workers = n_workers,
                              .n_servers = n_servers,
                              .timeout_ms = 120000 };
out:
    return rc;
}

/* Accepts one that is not open, or in part. */
static inline void ps_rank_close(struct ps_rank *r)
{
    transport_close(&r->transport); /* before the memory of what may still be posted goes */
    if (r->sync)
        r->sync->ops->close(&r->sync);
    buckets_close(&r->buckets);
    placement_close(&r->placement);
    compute_close(&r->compute);
    free(r->param);
    free(r->grad);
    r->param = r->grad = NULL;
}

/* Whole servers and workers, of which each case is a run of its own: ps_trial_main(). */
struct ps_trial {
    size_t n_params;
    int n_workers, n_servers;
    uint64_t n_cases;
    void (*choose)(struct sync_env *env, uint64_t k);               /* case k's rules; NULL: none */
    enum rc (*work)(struct ps_rank *r, void *arg, uint64_t k);      /* of a worker */
    enum rc (*end)(const struct ps_rank *r, void *arg, uint64_t k); /* of each rank behind that; NULL: nothing */
    void *arg;
    const struct transport_ops *transport; /* by ps_trial_main() */
};

static inline enum rc ps_trial_case(struct ps_rank *r, struct sync_env *env, const struct ps_trial *t, uint64_t k)
{
    enum rc rc;

    TRY(transport_open(&r->transport, t->transport, r->w));
    env->transport = r->transport;
    if (t->choose)
        t->choose(env, k);
    TRY(sync_ps.open(&r->sync, env));
    TRY(r->w->rank < t->n_workers ? t->work(r, t->arg, k) : sync_ps.servers->serve(r->sync, 0));
    if (t->end)
        TRY(t->end(r, t->arg, k));
    TRY(world_barrier(r->w));
out:
    transport_close(&r->transport);
    if (r->sync)
        sync_ps.close(&r->sync);
    return rc;
}

static inline enum rc ps_trial_body(struct world *w, void *arg)
{
    const struct ps_trial *t = arg;
    struct ps_rank r;
    struct sync_env env;
    enum rc rc;

    TRY(ps_rank_open_split(&r, &env, w, t->n_params, t->n_workers, t->n_servers));
    float *zeros = r.param = calloc(t->n_params, sizeof *zeros);
    if (!zeros)
        FAIL(RC_NOMEM, "no memory for %zu parameters", t->n_params);
    env.slice_param = zeros;
    for (uint64_t k = 0; k < t->n_cases; k++)
        TRY(ps_trial_case(&r, &env, t, k));
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    ps_rank_close(&r);
    return rc;
}

/* The exit code of a test: arguments are WORLD TRANSPORT. */
static inline int ps_trial_main(int argc, char **argv, struct ps_trial *t, const atomic_int *n_failures)
{
    const struct world_ops *world = NULL;
    struct cluster cluster;

    cluster_default(&cluster);
    if (argc < 3 || world_find(&world, argv[1]) != RC_OK || transport_find(&t->transport, argv[2]) != RC_OK) {
        fprintf(stderr, "usage: %s WORLD TRANSPORT\n", argv[0]);
        return 2;
    }
    const struct world_opts opts = { .cluster = &cluster };
    const enum rc rc = world_run(world, &opts, t->n_workers + t->n_servers, ps_trial_body, t);
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", rc_message());
    return rc != RC_OK || atomic_load(n_failures) > 0;
}

/* A step of one chunk. */
static inline enum rc ps_push_pull(struct sync *s, float lr, float *param, float *grad, struct chunk_cost *out)
{
    const struct chunk_work both = { 0, EXCHANGE_PUSH | EXCHANGE_PULL, lr, param, grad };
    enum rc rc;

    TRY(ps_post(s, &both));
    TRY(ps_complete(s, param, out));
out:
    return rc;
}

#endif
