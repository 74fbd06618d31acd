/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - a tag for each round: two rounds may have the same two ranks, and messages of one tag keep their order
 * (net.T4), so that a rank which is a barrier ahead is not mistaken for one of this. */
#include "allreduce/barrier.h"

#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { TAG_BARRIER = 0x6000 };

int barrier_n_rounds(int n_ranks)
{
    int n = 0;

    while ((n_ranks - 1) >> n > 0)
        n++;
    return n;
}

enum rc barrier_run(struct transport *t, int timeout_ms)
{
    const int p = t->world->n_ranks, r = t->world->rank, n_rounds = barrier_n_rounds(p);
    enum rc rc = RC_OK;

    for (int k = 0; k < n_rounds; k++) {
        const int distance = (int)(1u << k);
        struct xfer tx = { .peer = (r + distance) % p, .tag = TAG_BARRIER + (uint32_t)k };
        struct xfer rx = { .peer = (r + p - distance) % p, .tag = TAG_BARRIER + (uint32_t)k };
        TRY(transport_exchange(t, &tx, &rx, timeout_ms));
    }
out:
    return rc;
}
