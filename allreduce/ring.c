/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - sum around a ring: reduce-scatter, then allgather. Not overlapped with compute, not fused.
 *
 * The vector is cut into p chunks (range_part); ranks and chunks are counted modulo p. In step s of the reduce-scatter,
 * s = 0 .. p - 2, rank r sends chunk r - s to rank r + 1, receives chunk r - s - 1 from rank r - 1, and adds it to its
 * own; after p - 1 steps rank r holds the sum of chunk r + 1. In step s of the allgather it sends chunk r + 1 - s,
 * which is a sum, and overwrites chunk r - s with the one it receives. Empty chunks (n < p) are not sent.
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

/* Step k of all runs uses tag TAG_RING + k % N_TAGS, so that a duplicate of a message does not match a later receive.
 */
enum { TAG_RING = 0x1000, N_TAGS = 0x1000 };

struct ring {
    struct reduction base;
    struct arena arena;
    float *scratch;   /* one chunk as received; unused if the transport adds in place (TR_ADD) */
    uint32_t n_steps; /* steps so far, in all runs; the same on every rank */
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

/* One step: send chunk `sent` of data to the next rank, receive chunk `received` from the previous one, and add it to
 * data or overwrite data with it. data NULL: hollow, messages have their n_bytes in n_hollow_bytes and no contents. */
static enum rc ring_step(struct ring *ring, float *data, struct range sent, struct range received, bool add)
{
    struct transport *t = ring->base.env.transport;
    const int p = t->world->n_ranks, r = t->world->rank, timeout_ms = ring->base.env.timeout_ms;
    const bool adds_in_place = add && (t->ops->module.caps & TR_ADD);
    const bool hollow = data == NULL;
    const uint32_t tag = TAG_RING + ring->n_steps++ % N_TAGS;
    float *into = hollow ? NULL : add && !adds_in_place ? ring->scratch : data + received.offset_elems;
    const size_t sent_bytes = sent.n_elems * sizeof(float), received_bytes = received.n_elems * sizeof(float);
    struct xfer tx = { .peer = (r + 1) % p,
                       .tag = tag,
                       .ptr = hollow ? NULL : data + sent.offset_elems,
                       .n_bytes = hollow ? 0 : sent_bytes,
                       .n_hollow_bytes = hollow ? sent_bytes : 0 };
    struct xfer rx = { .peer = (r + p - 1) % p,
                       .tag = tag,
                       .ptr = into,
                       .n_bytes = hollow ? 0 : received_bytes,
                       .n_hollow_bytes = hollow ? received_bytes : 0,
                       .add = adds_in_place };
    enum rc rc = RC_OK;

    if (sent.n_elems > 0 && received.n_elems > 0)
        TRY(transport_exchange(t, &tx, &rx, timeout_ms));
    else if (sent.n_elems > 0) {
        TRY(transport_send(t, &tx));
        TRY(transport_wait(t, &tx, timeout_ms));
    } else if (received.n_elems > 0) {
        TRY(transport_recv(t, &rx));
        TRY(transport_wait(t, &rx, timeout_ms));
    }
    if (received.n_elems > 0 && rx.n_bytes + rx.n_hollow_bytes != received_bytes)
        FAIL(RC_MISMATCH, "ring: rank %d sent %zu bytes where %zu belong", rx.peer, rx.n_bytes + rx.n_hollow_bytes,
             received_bytes);
    if (add && !adds_in_place && received.n_elems > 0) {
        compute_accumulate(ring->base.env.compute, hollow ? NULL : data + received.offset_elems, into,
                           received.n_elems);
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
