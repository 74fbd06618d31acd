/* SPDX-License-Identifier: Apache-2.0 */
/* ps_rank.h - what a rank has in a test that calls mode ps without an exchange. */
#ifndef PS_SUITE_PS_RANK_H
#define PS_SUITE_PS_RANK_H

#include <stdlib.h>

#include "harness/compute/compute.h"
#include "harness/exchange/sync_mode.h"
#include "harness/net/transport.h"
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
