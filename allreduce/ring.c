/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - sum around a ring: reduce-scatter, then allgather. Not overlapped with compute, not fused.
 *
 * The vector is cut into p chunks (range_part). In step s of the
 * reduce-scatter rank r sends chunk r - s to r + 1 and adds chunk r - s - 1 from r - 1; after
 * p - 1 steps it owns the sum of chunk r + 1. The allgather passes the sums on the same way. Empty
 * chunks (n < p) are not sent.
 *
 * Cost per rank: 2 (p - 1) messages, about 2 n (p - 1) / p elements sent, half as many additions.
 * Chunk i is always added in the order of ranks i, i + 1, ..., so every rank gets the same bits (A1);
 * not the bits of "root", which adds in another order.
 *
 * Source: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
 */
#include <assert.h>
#include <stdlib.h>

#include "allreduce/reducer.h"
#include "harness/base/arena.h"
#include "harness/base/range.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct reducer reducer_ring;

/* Steps take turns with so many tags: a message that comes twice is never taken for the next one. */
enum { TAG_RING = 0x1000, N_TAGS = 0x1000 };

struct ring {
    struct reduction base;
    struct arena arena;
    float *scratch;   /* one chunk; unused where the transport adds in place */
    uint32_t n_steps; /* so far, in all runs; the same on every rank */
};

/* Chunk i of n_elems over p ranks; i may be any integer, taken modulo p. */
static struct range chunk_of(int i, int p, size_t n_elems)
{
    return range_part(n_elems, p, ((i % p) + p) % p);
}

static size_t max_chunk_elems(size_t n_elems, int n_ranks)
{
    return n_elems / (size_t)n_ranks + 1;
}

static struct memory_need ring_memory(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    return (struct memory_need){ .worker_bytes = max_chunk_elems(facts->n_params, facts->n_workers) * sizeof(float) };
}

static enum rc ring_open(struct reduction **out, const struct reduce_env *env, size_t max_elems)
{
    struct ring *ring = calloc(1, sizeof *ring);
    const size_t n_elems = max_chunk_elems(max_elems, env->transport->world->n_ranks);
    enum rc rc;

    if (!ring)
        return rc_raise(RC_NOMEM, "reducer ring: no memory");
    TRY(arena_open(&ring->arena, arena_floats_bytes(n_elems)));
    ring->scratch = arena_floats(&ring->arena, n_elems);
    *out = &ring->base;
    ring = NULL;
out:
    free(ring);
    return rc;
}

/* Send `give`, receive `take` (added or overwritten), from and to the neighbours. */
static enum rc ring_step(struct ring *ring, float *data, struct range give, struct range take, bool add)
{
    struct transport *t = ring->base.env.transport;
    const int p = t->world->n_ranks, r = t->world->rank, timeout_ms = ring->base.env.timeout_ms;
    const bool fused = add && (t->ops->module.caps & TR_ADD);
    const bool hollow = data == NULL;
    const uint32_t tag = TAG_RING + ring->n_steps++ % N_TAGS;
    float *into = hollow ? NULL : add && !fused ? ring->scratch : data + take.offset_elems;
    struct xfer tx = { .peer = (r + 1) % p, .tag = tag, .ptr = hollow ? NULL : data + give.offset_elems };
    struct xfer rx = { .peer = (r + p - 1) % p, .tag = tag, .ptr = into, .add = fused };
    enum rc rc = RC_OK;

    *(hollow ? &tx.n_hollow_bytes : &tx.n_bytes) = give.n_elems * sizeof(float);
    *(hollow ? &rx.n_hollow_bytes : &rx.n_bytes) = take.n_elems * sizeof(float);
    if (give.n_elems > 0 && take.n_elems > 0)
        TRY(transport_exchange(t, &tx, &rx, timeout_ms));
    else if (give.n_elems > 0) {
        TRY(transport_send(t, &tx));
        TRY(transport_wait(t, &tx, timeout_ms));
    } else if (take.n_elems > 0) {
        TRY(transport_recv(t, &rx));
        TRY(transport_wait(t, &rx, timeout_ms));
    }
    if (take.n_elems > 0 && rx.n_bytes + rx.n_hollow_bytes != take.n_elems * sizeof(float))
        FAIL(RC_MISMATCH, "ring: rank %d sent %zu bytes where %zu belong", rx.peer, rx.n_bytes + rx.n_hollow_bytes,
             take.n_elems * sizeof(float));
    if (add && !fused && take.n_elems > 0) {
        compute_accumulate(ring->base.env.compute, hollow ? NULL : data + take.offset_elems, into, take.n_elems);
        TRY(compute_sync(ring->base.env.compute));
    }
out:
    return rc;
}

static enum rc ring_run(struct reduction *red, float *data, size_t n_elems)
{
    struct ring *ring = (struct ring *)red;
    const int p = red->env.transport->world->n_ranks, r = red->env.transport->world->rank;
    enum rc rc = RC_OK;

    for (int s = 0; s < p - 1; s++)
        TRY(ring_step(ring, data, chunk_of(r - s, p, n_elems), chunk_of(r - s - 1, p, n_elems), true));
    for (int s = 0; s < p - 1; s++)
        TRY(ring_step(ring, data, chunk_of(r + 1 - s, p, n_elems), chunk_of(r - s, p, n_elems), false));
out:
    return rc;
}

static struct cost ring_predict(const void *opts, int rank, int n_ranks, size_t n_elems)
{
    struct cost cost = { 0 };

    (void)opts;
    for (int i = 0; n_ranks > 1 && i < n_ranks; i++) {
        const size_t n_chunk = chunk_of(i, n_ranks, n_elems).n_elems;
        const bool scattered = i != (rank + 1) % n_ranks, gathered = i != (rank + 2) % n_ranks;
        cost.msgs += (n_chunk > 0) * (uint64_t)(scattered + gathered);
        cost.bytes += n_chunk * sizeof(float) * (uint64_t)(scattered + gathered);
        cost.adds += i != rank ? n_chunk : 0;
    }
    return cost;
}

static struct cost ring_critical_path(const void *opts, int n_ranks, size_t n_elems)
{
    const uint64_t n_steps = n_elems > 0 ? (uint64_t)n_ranks - 1 : 0;
    const uint64_t n_largest = (n_elems + (size_t)n_ranks - 1) / (size_t)n_ranks;

    (void)opts;
    return (struct cost){ .msgs = 2 * n_steps,
                          .bytes = 2 * n_steps * n_largest * sizeof(float),
                          .adds = n_steps * n_largest };
}

static void ring_close(struct reduction **r)
{
    arena_close(&((struct ring *)*r)->arena);
    free(*r);
    *r = NULL;
}

const struct reducer reducer_ring = {
    .module.name = "ring",
    .module.memory = ring_memory,
    .open = ring_open,
    .run = ring_run,
    .predict = ring_predict,
    .critical_path = ring_critical_path,
    .close = ring_close,
};
