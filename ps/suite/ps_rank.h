/* SPDX-License-Identifier: Apache-2.0 */
/* ps_rank.h - what a rank has in a test that calls mode ps without an exchange. */
#ifndef PS_SUITE_PS_RANK_H
#define PS_SUITE_PS_RANK_H

#include <stdlib.h>

#include "harness/exchange/sync_mode.h"
#include "harness/net/transport.h"

struct ps_rank {
    struct world *w; /* borrowed */
    struct compute *compute;
    struct transport *transport;
    struct buckets buckets;
    struct placement placement;
    struct sync *sync;
    float *param, *grad; /* malloc()ed; NULL: none */
};

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

#endif
