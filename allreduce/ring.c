/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - collectives around a ring: rank r sends to rank r + 1. Not overlapped with compute, not fused.
 *
 * The vector is cut into p chunks (range_part); ranks and chunks are counted modulo p. Both halves of an allreduce have
 * p - 1 steps, s = 0 .. p - 2. `owned` is 1 in an allreduce, 0 in the types that are one half of it:
 *
 *   reduce-scatter  rank r sends chunk r - s - 1 + owned, receives the chunk before it and adds it to its own; at the
 *                   end it holds the sum of chunk r + owned.
 *   allgather       rank r holds chunk r + owned; it sends chunk r - s + owned and overwrites the chunk before it with
 *                   the one that it receives.
 *
 * Empty chunks (n < p) are not sent. Chunk i is always added in the order of ranks i, i + 1, ... (i + 1, i + 2, ... in
 * reduce-scatter alone), so every run gets the same bits (A1); not those of "root", which adds in another order.
 *
 * A broadcast cuts the vector into p - 1 chunks, sends one from the root to each other rank, and they gather them in a
 * ring of their own (van de Geijn's algorithm for long vectors, in which the root, which has all, stays in the ring).
 *
 * Cost per rank: p - 1 messages and about n (p - 1) / p elements for each half, as many additions in the first. Of a
 * broadcast: its root sends n elements, each other rank n (p - 2) / (p - 1).
 *
 * Sources: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009; Barnett et al., Interprocessor collective
 * communication library (InterCom), SHPCC 1994.
 */
#include <stdlib.h>

#include "allreduce/one_to_all.h"
#include "harness/base/arena.h"
#include "harness/base/range.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_ring;

/* Step k of all runs uses tag TAG_RING + k % N_TAGS (what the root of a broadcast sends is a step, too), so that a
 * duplicate of a message does not match a later receive.
 */
enum { TAG_RING = 0x1000, N_TAGS = 0x1000 };

struct ring {
    struct collective base;
    struct arena arena;
    float *scratch;      /* one chunk as received; unused if the transport adds in place (TR_ADD) */
    uint32_t n_steps;    /* steps so far, in all runs; the same on every rank */
    struct xfer *chunks; /* [n_ranks]: of a broadcast's root; NULL: not opened for it */
};

/* Chunk i of n_elems over p ranks; i may be any integer, taken modulo p. */
static struct range chunk_of(int i, int p, size_t n_elems)
{
    return range_part(n_elems, p, i >= 0 && i < p ? i : ((i % p) + p) % p);
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

static void ring_close(struct collective **c)
{
    struct ring *ring = (struct ring *)*c;

    arena_close(&ring->arena);
    free(ring->chunks);
    free(ring);
    *c = NULL;
}

static enum rc ring_open(struct collective **out, const struct collective_env *env)
{
    const bool adds = env->types & (COLL_ALLREDUCE | COLL_REDUCE_SCATTER);
    const int n_ranks = env->transport->world->n_ranks;
    const size_t n_elems = adds ? max_chunk_elems(env->max_elems, n_ranks) : 0;
    struct ring *ring = calloc(1, sizeof *ring);
    struct collective *base = &ring->base;
    enum rc rc;

    if (!ring)
        return rc_raise(RC_NOMEM, "collective ring: no memory");
    TRY(arena_open(&ring->arena, arena_floats_bytes(n_elems)));
    ring->scratch = arena_floats(&ring->arena, n_elems);
    if (env->types & COLL_BROADCAST) {
        ring->chunks = calloc((size_t)n_ranks, sizeof *ring->chunks);
        if (!ring->chunks)
            FAIL(RC_NOMEM, "collective ring: no memory for %d ranks", n_ranks);
    }
    *out = base;
    base = NULL;
out:
    if (base)
        ring_close(&base);
    return rc;
}

struct circle { /* of n_members ranks: this rank is member `index` and sends to rank `next` */
    int n_members, index, next, previous;
};

static struct circle circle_of_all(const struct ring *ring)
{
    const int p = ring->base.env.transport->world->n_ranks, r = ring->base.env.transport->world->rank;

    return (struct circle){ p, r, (r + 1) % p, (r + p - 1) % p };
}

/* Without rank `root`, which does not call; the rank behind it is member 0. */
static struct circle circle_of_others(const struct ring *ring, int root)
{
    const int p = ring->base.env.transport->world->n_ranks, r = ring->base.env.transport->world->rank;
    const int q = p - 1, index = (r - root + p) % p - 1;

    return (struct circle){ q, index, (root + 1 + (index + 1) % q) % p, (root + 1 + (index + q - 1) % q) % p };
}

/* One step: send range `sent` of data to the next rank, receive range `received` from the previous one, and add it to
 * data or overwrite data with it. data NULL: hollow, messages have their n_bytes in n_hollow_bytes and no contents. */
static enum rc ring_step(struct ring *ring, const struct circle *o, float *data, struct range sent,
                         struct range received, bool add)
{
    struct transport *t = ring->base.env.transport;
    const int timeout_ms = ring->base.env.timeout_ms;
    const bool adds_in_place = add && (t->ops->module.caps & TR_ADD);
    const bool hollow = data == NULL;
    const uint32_t tag = TAG_RING + ring->n_steps++ % N_TAGS;
    float *into = hollow ? NULL : add && !adds_in_place ? ring->scratch : data + received.offset_elems;
    const size_t sent_bytes = sent.n_elems * sizeof(float), received_bytes = received.n_elems * sizeof(float);
    struct xfer tx = { .peer = o->next,
                       .tag = tag,
                       .ptr = hollow ? NULL : data + sent.offset_elems,
                       .n_bytes = hollow ? 0 : sent_bytes,
                       .n_hollow_bytes = hollow ? sent_bytes : 0 };
    struct xfer rx = { .peer = o->previous,
                       .tag = tag,
                       .ptr = into,
                       .n_bytes = hollow ? 0 : received_bytes,
                       .n_hollow_bytes = hollow ? received_bytes : 0,
                       .add = adds_in_place };
    enum rc rc = RC_OK;

    if (sent.n_elems == 0 && received.n_elems == 0) /* of many ranks and few elements */
        return RC_OK;
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

/* All steps of a half, which begins by sending chunk `first`: what is received in a step is sent in the next one. */
static enum rc half(struct ring *ring, const struct circle *o, float *data, size_t n_elems, int first, bool add)
{
    const int p = o->n_members;
    struct range sent = chunk_of(first, p, n_elems);
    enum rc rc = RC_OK;

    for (int s = 0; s < p - 1; s++) {
        const struct range received = chunk_of(first - s - 1, p, n_elems);
        TRY(ring_step(ring, o, data, sent, received, add));
        sent = received;
    }
out:
    return rc;
}

static enum rc reduce_scatter(struct ring *ring, const struct circle *o, float *data, size_t n_elems, int owned)
{
    return half(ring, o, data, n_elems, o->index - 1 + owned, true);
}

static enum rc allgather(struct ring *ring, const struct circle *o, float *data, size_t n_elems, int owned)
{
    return half(ring, o, data, n_elems, o->index + owned, false);
}

/* What the root of a broadcast sends. */
static struct one_to_all scatter_of(const struct collective_call *call)
{
    return (struct one_to_all){ .n_elems = call->n_elems, .parts = PART_CHUNK_OF_OTHERS, .sender = call->root };
}

static enum rc broadcast(struct ring *ring, const struct collective_call *call, float *data)
{
    const struct world *w = ring->base.env.transport->world;
    struct one_to_all scatter = scatter_of(call);
    enum rc rc = RC_OK;

    if (w->n_ranks == 1)
        return RC_OK;
    scatter.data = data;
    scatter.tag = TAG_RING + ring->n_steps++ % N_TAGS;
    scatter.xfer = ring->chunks;
    TRY(one_to_all(&ring->base, &scatter));
    if (w->rank == call->root) {
        ring->n_steps += (uint32_t)w->n_ranks - 2; /* of the others */
        return RC_OK;
    }
    const struct circle others = circle_of_others(ring, call->root);
    TRY(allgather(ring, &others, data, call->n_elems, 0));
out:
    return rc;
}

static enum rc ring_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct ring *ring = (struct ring *)c;
    const struct circle all = circle_of_all(ring);
    const size_t n_elems = call->n_elems;
    enum rc rc = RC_OK;

    switch (call->type) {
    case COLL_ALLREDUCE:
        TRY(reduce_scatter(ring, &all, data, n_elems, 1));
        TRY(allgather(ring, &all, data, n_elems, 1));
        break;
    case COLL_REDUCE_SCATTER:
        TRY(reduce_scatter(ring, &all, data, n_elems, 0));
        break;
    case COLL_ALLGATHER:
        TRY(allgather(ring, &all, data, n_elems, 0));
        break;
    case COLL_BROADCAST:
        TRY(broadcast(ring, call, data));
        break;
    case COLL_TYPES_END:
        break;
    }
out:
    return rc;
}

/* Of one half: all chunks but one are sent; with `adds` those received, all but one, are added. */
static struct collective_cost half_cost(size_t n_elems, int p, int not_sent, int not_received, bool adds)
{
    struct collective_cost cost = { 0 };

    for (int i = 0; i < p; i++) {
        const uint64_t n_chunk = chunk_of(i, p, n_elems).n_elems;
        const uint64_t n_sent = i == not_sent % p ? 0 : n_chunk;
        cost.msgs += n_sent > 0;
        cost.bytes += n_sent * sizeof(float);
        cost.adds += adds && i != not_received % p ? n_chunk : 0;
    }
    return cost;
}

static struct collective_cost plus(struct collective_cost a, struct collective_cost b)
{
    return (struct collective_cost){ a.msgs + b.msgs, a.bytes + b.bytes, a.adds + b.adds };
}

static struct collective_cost broadcast_cost(const struct collective_call *call, int rank, int p)
{
    const struct one_to_all scatter = scatter_of(call);
    const int distance = (rank - call->root + p) % p; /* member distance - 1 of the others */

    return distance == 0 ? one_to_all_cost(&scatter, rank, p)
                         : half_cost(call->n_elems, p - 1, distance, distance - 1, false);
}

static struct collective_cost ring_predict(const void *opts, const struct collective_call *call, int rank, int n_ranks)
{
    const int owned = call->type == COLL_ALLREDUCE;
    const size_t n_elems = call->n_elems;
    struct collective_cost cost = { 0 };

    (void)opts;
    if (n_ranks == 1)
        return cost;
    if (call->type == COLL_BROADCAST)
        return broadcast_cost(call, rank, n_ranks);
    if (call->type != COLL_ALLGATHER)
        cost = half_cost(n_elems, n_ranks, rank + owned, rank + n_ranks - 1 + owned, true);
    if (call->type != COLL_REDUCE_SCATTER)
        cost = plus(cost, half_cost(n_elems, n_ranks, rank + 1 + owned, rank + owned, false));
    return cost;
}

/* Of each half: the largest of p chunks crosses p - 1 links. What the root of a broadcast sends travels at once and
 * shares its link: one latency; then a chunk crosses p - 2 links. */
static struct collective_cost ring_critical_path(const void *opts, const struct collective_call *call, int n_ranks)
{
    const bool broadcasts = call->type == COLL_BROADCAST;
    const uint64_t n_elems = call->n_elems, n_members = (uint64_t)n_ranks - (broadcasts ? 1 : 0);
    const struct one_to_all scatter = scatter_of(call);
    struct collective_cost path = { 0 };

    (void)opts;
    if (n_ranks == 1 || n_elems == 0)
        return path;
    const uint64_t n_links = n_members - 1, n_largest = (n_elems + n_members - 1) / n_members;
    const struct collective_cost gather = { .msgs = n_links, .bytes = n_links * n_largest * sizeof(float) };
    const struct collective_cost reduce = { gather.msgs, gather.bytes, .adds = n_links * n_largest };
    if (broadcasts)
        path = (struct collective_cost){ 1, one_to_all_cost(&scatter, call->root, n_ranks).bytes, 0 };
    if (call->type & (COLL_ALLREDUCE | COLL_REDUCE_SCATTER))
        path = reduce;
    return call->type == COLL_REDUCE_SCATTER ? path : plus(path, gather);
}

const struct collective_ops collective_ring = {
    .module.name = "ring",
    .module.caps = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER | COLL_BROADCAST,
    .module.memory = ring_memory,
    .open = ring_open,
    .run = ring_run,
    .predict = ring_predict,
    .critical_path = ring_critical_path,
    .close = ring_close,
};
