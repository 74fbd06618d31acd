/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - collectives around a ring: rank r sends to rank r + 1.
 *
 * What the two halves of an allreduce do, of whole chunks and of segments: ring.h. `owned` is 1 in an allreduce, 0
 * in the types that are one half of it; rank r ends a reduce-scatter with chunk r + owned, and begins an allgather with
 * it.
 *
 * A broadcast cuts the vector into p - 1 chunks, sends one from the root to each other rank, and they gather them in a
 * ring of their own (van de Geijn's algorithm for long vectors, in which the root, which has all, stays in the ring).
 *
 * Cost per rank: p - 1 messages (of each segment) and about n (p - 1) / p elements for each half, as many additions in
 * the first. Of a broadcast: its root sends n elements, each other rank n (p - 2) / (p - 1).
 *
 * Sources: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009; Barnett et al., Interprocessor collective
 * communication library (InterCom), SHPCC 1994; of segments: Thakur, Rabenseifner and Gropp, Int. J. High Performance
 * Computing Applications 19(1), 2005.
 */
#include <stdlib.h>

#include "allreduce/one_to_all.h"
#include "allreduce/part_message.h"
#include "allreduce/ring.h"
#include "harness/base/arena.h"
#include "harness/base/opt.h"
#include "harness/base/range.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_ring;

/* --- half an allreduce --- */

enum { TAG_RING = 0x1000, N_TAGS = 0x1000 };

struct range ring_chunk(int i, int p, size_t n_elems)
{
    return range_part(n_elems, p, i >= 0 && i < p ? i : ((i % p) + p) % p);
}

int ring_n_segments(uint64_t segment_bytes, size_t n_elems, int p)
{
    const size_t n_most = segment_bytes / sizeof(float);
    const size_t n_largest = (n_elems + (size_t)p - 1) / (size_t)p;

    if (n_most == 0 || n_largest <= n_most)
        return 1;
    const size_t n = (n_largest + n_most - 1) / n_most;
    return n < RING_MOST_SEGMENTS ? (int)n : RING_MOST_SEGMENTS;
}

uint32_t ring_tag(uint32_t k)
{
    return TAG_RING + k % N_TAGS;
}

/* A message with this part of the data, to or from peer; one to be received is at `beside` before it is added. */
static struct part_message message(const struct ring_half *h, int peer, uint32_t k, struct range part, float *beside)
{
    return (struct part_message){ .collective = h->collective,
                                  .data = h->data,
                                  .part = part,
                                  .peer = peer,
                                  .tag = ring_tag(k),
                                  .add = h->add,
                                  .beside = beside };
}

/* What arrives in a step, counted from 0, and is sent on in the next one; step -1: what is there at first. */
static struct range chunk_in(const struct ring_half *h, int step)
{
    return ring_chunk(h->first - step - 1, h->circle->n_members, h->n_elems);
}

/* --- in segments --- */

static struct part_message *receive_of(const struct ring_half *h, int k)
{
    return &h->flight[k];
}

static struct part_message *send_of(const struct ring_half *h, int step, int k)
{
    return &h->flight[(1 + step % 2) * RING_MOST_SEGMENTS + k];
}

/* Segment k of a chunk; empty where the chunk has fewer elements. */
static struct range segment_of(const struct ring_half *h, struct range chunk, int k)
{
    struct range segment = range_part(chunk.n_elems, h->n_segments, k);

    segment.offset_elems += chunk.offset_elems;
    return segment;
}

/* Where segment k of any chunk is received beside the data: those of the next step come while others of this one wait.
 */
static float *place_beside(const struct ring_half *h, int k)
{
    const size_t p = (size_t)h->circle->n_members, n = (size_t)h->n_segments;
    const size_t n_largest = (h->n_elems + p - 1) / p;

    return h->data ? h->scratch + (size_t)k * ((n_largest + n - 1) / n) : NULL;
}

/* exchange.A13: what is sent first is this rank's own, and then sums. Each part is received once, and so added to the
 * input. */
static const float *sent_from(const struct ring_half *h, int step)
{
    return step == 0 ? h->input : NULL;
}

static enum rc post_receive(const struct ring_half *h, int step, int k, uint32_t n_before)
{
    struct part_message *m = receive_of(h, k);

    *m = message(h, h->circle->previous, n_before + (uint32_t)(step * h->n_segments + k),
                 segment_of(h, chunk_in(h, step), k), place_beside(h, k));
    m->from = h->input;
    return part_receive(m);
}

/* Behind the one of two steps ago, whose place it takes. */
static enum rc post_send(const struct ring_half *h, int step, int k, uint32_t n_before)
{
    struct part_message *m = send_of(h, step, k);
    enum rc rc;

    TRY(part_end(m));
    *m = message(h, h->circle->next, n_before + (uint32_t)(step * h->n_segments + k),
                 segment_of(h, chunk_in(h, step - 1), k), NULL);
    m->from = sent_from(h, step);
    TRY(part_send(m));
out:
    return rc;
}

static enum rc all_in_segments(const struct ring_half *h, int n_steps, uint32_t n_before)
{
    const int n = h->n_segments;
    enum rc rc = RC_OK;

    for (int i = 0; i < 3 * RING_MOST_SEGMENTS; i++)
        h->flight[i].is_posted = false;
    for (int k = 0; k < n; k++)
        TRY(post_receive(h, 0, k, n_before));
    for (int k = 0; k < n; k++)
        TRY(post_send(h, 0, k, n_before));
    for (int i = 0; i < n_steps * n; i++) {
        const int step = i / n, k = i % n;
        TRY(part_end(receive_of(h, k)));
        if (step + 1 == n_steps)
            continue;
        TRY(post_receive(h, step + 1, k, n_before));
        TRY(post_send(h, step + 1, k, n_before));
    }
    for (int i = 0; i < 2 * n; i++)
        TRY(part_end(send_of(h, i / n, i % n)));
out:
    return rc == RC_OK ? rc : part_give_up(h->flight, 3 * RING_MOST_SEGMENTS, rc);
}

enum rc ring_half(const struct ring_half *h, uint32_t *n_steps)
{
    const int n_here = h->circle->n_members - 1;
    const uint32_t n_before = *n_steps;
    enum rc rc = RC_OK;

    *n_steps += (uint32_t)(n_here * h->n_segments);
    if (h->n_segments > 1 && n_here > 0)
        return all_in_segments(h, n_here, n_before);
    for (int step = 0; step < n_here; step++) { /* of whole chunks */
        const uint32_t k = n_before + (uint32_t)step;
        struct part_message sent = message(h, h->circle->next, k, chunk_in(h, step - 1), NULL);
        struct part_message received = message(h, h->circle->previous, k, chunk_in(h, step), h->scratch);
        sent.from = sent_from(h, step);
        received.from = h->input;
        TRY(part_transfer(&sent, &received));
    }
out:
    return rc;
}

struct collective_cost ring_half_cost(size_t n_elems, int p, int n_segments, struct ring_half_ends ends, bool adds,
                                      enum wire_format wire)
{
    const uint64_t n_most = (uint64_t)n_segments;
    struct collective_cost cost = { 0 };

    for (int i = 0; i < p; i++) {
        const size_t n_chunk = ring_chunk(i, p, n_elems).n_elems;
        const size_t n_sent = i == ends.not_sent % p ? 0 : n_chunk;
        const size_t n_received = i == ends.not_received % p ? 0 : n_chunk;
        cost.msgs += n_sent < n_most ? n_sent : n_most; /* segments of an element or more */
        cost = collective_cost_sum(cost, collective_send_cost(n_sent, wire));
        cost = collective_cost_sum(cost, collective_receive_cost(n_received, wire, adds));
    }
    return cost;
}

struct collective_cost ring_half_path(size_t n_elems, int p, int n_segments, bool adds, enum wire_format wire)
{
    const size_t n_links = (size_t)p - 1, n_largest = (n_elems + (size_t)p - 1) / (size_t)p;
    struct collective_cost path = collective_cost_sum(collective_send_cost(n_links * n_largest, wire),
                                                      collective_receive_cost(n_links * n_largest, wire, adds));

    path.msgs = n_elems > 0 ? n_links : 0; /* segments of a chunk are on their way at once */
    if (n_segments > 1 && n_links > 0) {
        const uint64_t n_all = n_links * (uint64_t)n_segments;
        path.beside_bytes = path.bytes;
        path.beside_memory_bytes = path.memory_bytes / n_all * (n_all - 1);
    }
    return path;
}

/* --- the algorithm --- */

struct ring_opts {
    uint64_t segment_bytes;
};

static const struct opt table[] = {
    OPT_U64_(struct ring_opts, segment_bytes, "segment-bytes", RING_SEGMENT_TEXT, 0, 1 << 30, "bytes",
             "size of the segments of a chunk. A segment is sent on while the next one arrives. A chunk has at most "
             "64. With 0 it is sent as a whole"),
    OPT_END_,
};

struct ring {
    struct collective base;
    struct arena arena;
    float *scratch;              /* one chunk as received; unused if the transport adds in place (TR_ADD) */
    uint32_t n_steps;            /* steps so far, in all runs; the same on every rank */
    struct part_message *chunks; /* [n_ranks]: of a broadcast's root; NULL: not opened for it */
    struct part_message *flight; /* [3 RING_MOST_SEGMENTS]: of receives, and of sends of two steps; NULL: no segments */
};

/* opts NULL: defaults. */
static int n_segments(const void *opts, size_t n_elems, int p)
{
    const struct ring_opts *o = opts;

    return ring_n_segments(o ? o->segment_bytes : RING_SEGMENT_BYTES, n_elems, p);
}

/* Of a broadcast too, whose chunks are of one rank less. */
static bool has_segments(const void *opts, size_t max_elems, int n_ranks)
{
    return n_segments(opts, max_elems, n_ranks > 1 ? n_ranks - 1 : 1) > 1;
}

static size_t scratch_elems(const void *opts, size_t n_elems, int n_ranks)
{
    return n_elems / (size_t)n_ranks + 1 + (has_segments(opts, n_elems, n_ranks) ? RING_MOST_SEGMENTS : 0);
}

static struct memory_need ring_memory(const void *opts, const struct job_facts *facts)
{
    return (struct memory_need){ .worker_bytes =
                                     scratch_elems(opts, facts->n_params, facts->n_workers) * sizeof(float) };
}

static void ring_close(struct collective **c)
{
    struct ring *ring = (struct ring *)*c;

    arena_close(&ring->arena);
    free(ring->chunks);
    free(ring->flight);
    free(ring);
    *c = NULL;
}

static enum rc ring_open(struct collective **out, const struct collective_env *env)
{
    const bool adds = env->types & (COLL_ALLREDUCE | COLL_REDUCE_SCATTER);
    const int n_ranks = env->transport->world->n_ranks;
    const size_t n_elems = adds ? scratch_elems(env->opts, env->max_elems, n_ranks) : 0;
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
    if (has_segments(env->opts, env->max_elems, n_ranks)) {
        ring->flight = calloc((size_t)3 * RING_MOST_SEGMENTS, sizeof *ring->flight);
        if (!ring->flight)
            FAIL(RC_NOMEM, "collective ring: no memory for segments");
    }
    *out = base;
    base = NULL;
out:
    if (base)
        ring_close(&base);
    return rc;
}

static struct ring_circle circle_of_all(const struct ring *ring)
{
    const int p = ring->base.env.transport->world->n_ranks, r = ring->base.env.transport->world->rank;

    return (struct ring_circle){ p, r, (r + 1) % p, (r + p - 1) % p };
}

/* Without rank `root`, which does not call; the rank behind it is member 0. */
static struct ring_circle circle_of_others(const struct ring *ring, int root)
{
    const int p = ring->base.env.transport->world->n_ranks, r = ring->base.env.transport->world->rank;
    const int q = p - 1, index = (r - root + p) % p - 1;

    return (struct ring_circle){ q, index, (root + 1 + (index + 1) % q) % p, (root + 1 + (index + q - 1) % q) % p };
}

/* Half an allreduce of data; add and first: to be set. */
static struct ring_half half_of(const struct ring *ring, const struct ring_circle *o, float *data, size_t n_elems)
{
    return (struct ring_half){ .collective = &ring->base,
                               .circle = o,
                               .data = data,
                               .n_elems = n_elems,
                               .n_segments = n_segments(ring->base.env.opts, n_elems, o->n_members),
                               .scratch = ring->scratch,
                               .flight = ring->flight };
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
    scatter.tag = ring_tag(ring->n_steps++);
    scatter.flight = ring->chunks;
    TRY(one_to_all(&ring->base, &scatter));
    if (w->rank == call->root) {
        ring->n_steps += (uint32_t)((w->n_ranks - 2) * /* of the others */
                                    n_segments(ring->base.env.opts, call->n_elems, w->n_ranks - 1));
        return RC_OK;
    }
    const struct ring_circle others = circle_of_others(ring, call->root);
    struct ring_half gather = half_of(ring, &others, data, call->n_elems);
    gather.first = others.index;
    TRY(ring_half(&gather, &ring->n_steps));
out:
    return rc;
}

static enum rc ring_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct ring *ring = (struct ring *)c;
    const struct ring_circle all = circle_of_all(ring);
    const int owned = call->type == COLL_ALLREDUCE;
    struct ring_half half = half_of(ring, &all, data, call->n_elems);
    enum rc rc = RC_OK;

    if (call->type == COLL_BROADCAST)
        return broadcast(ring, call, data);
    if (call->type != COLL_ALLGATHER) { /* reduce-scatter */
        half.add = true;
        half.input = call->input;
        half.first = all.index - 1 + owned;
        TRY(ring_half(&half, &ring->n_steps));
    }
    if (call->type == COLL_ALLREDUCE && all.n_members > 1)
        TRY(part_round(c, data, ring_chunk(all.index + 1, all.n_members, call->n_elems)));
    if (call->type != COLL_REDUCE_SCATTER) { /* allgather */
        half.add = false;
        half.input = NULL;
        half.first = all.index + owned;
        TRY(ring_half(&half, &ring->n_steps));
    }
out:
    return rc;
}

static struct collective_cost broadcast_cost(const void *opts, const struct collective_call *call, int rank, int p)
{
    const struct one_to_all scatter = scatter_of(call);
    const int distance = (rank - call->root + p) % p; /* member distance - 1 of the others */

    return distance == 0 ? one_to_all_cost(&scatter, rank, p)
                         : ring_half_cost(call->n_elems, p - 1, n_segments(opts, call->n_elems, p - 1),
                                          (struct ring_half_ends){ distance, distance - 1 }, false, WIRE_F32);
}

static struct collective_cost ring_predict(const void *opts, const struct collective_call *call, int rank,
                                           const struct collective_group *group)
{
    const int owned = call->type == COLL_ALLREDUCE, n_ranks = group->n_ranks;
    const size_t n_elems = call->n_elems;
    struct collective_cost cost = { 0 };

    if (n_ranks == 1)
        return cost;
    if (call->type == COLL_BROADCAST)
        return broadcast_cost(opts, call, rank, n_ranks);
    const int n = n_segments(opts, n_elems, n_ranks);
    if (call->type == COLL_ALLREDUCE)
        cost = collective_round_cost(ring_chunk(rank + 1, n_ranks, n_elems).n_elems, call->wire);
    if (call->type != COLL_ALLGATHER)
        cost = collective_cost_sum(cost,
                                   ring_half_cost(n_elems, n_ranks, n,
                                                  (struct ring_half_ends){ rank + owned, rank + n_ranks - 1 + owned },
                                                  true, call->wire));
    if (call->type != COLL_REDUCE_SCATTER)
        cost = collective_cost_sum(cost, ring_half_cost(n_elems, n_ranks, n,
                                                        (struct ring_half_ends){ rank + 1 + owned, rank + owned },
                                                        false, call->wire));
    return cost;
}

/* Of fewer elements than members, most chunks are empty. The member that begins an element's sum is the first to get
 * it, and may then begin the next call. If each begins one, the last chunk comes to it as late as to all. */
struct collective_cost ring_allreduce_path(size_t n_elems, int p, int n_segments, enum wire_format wire, bool is_least)
{
    const struct collective_cost one = { .msgs = 1, .bytes = wire_elem_bytes(wire) };
    const struct collective_cost reduce = ring_half_path(n_elems, p, n_segments, true, wire);
    const struct collective_cost round = collective_round_cost((n_elems + (size_t)p - 1) / (size_t)p, wire);
    const bool is_short = is_least && n_elems < (size_t)p;
    const struct collective_cost gather = is_short ? one : ring_half_path(n_elems, p, n_segments, false, wire);

    return collective_cost_sum(collective_cost_sum(reduce, round), gather);
}

/* Of each half: ring_half_path(). What the root of a broadcast sends travels at once and shares its link: one latency;
 * then a chunk crosses p - 2 links. */
static struct collective_cost ring_critical_path(const void *opts, const struct collective_call *call,
                                                 const struct collective_group *group)
{
    const bool broadcasts = call->type == COLL_BROADCAST;
    const int n_ranks = group->n_ranks;
    const uint64_t n_elems = call->n_elems, n_members = (uint64_t)n_ranks - (broadcasts ? 1 : 0);
    const struct one_to_all scatter = scatter_of(call);
    struct collective_cost path = { 0 };

    if (n_ranks == 1 || n_elems == 0)
        return path;
    const int n = n_segments(opts, call->n_elems, (int)n_members);
    if (call->type == COLL_ALLREDUCE)
        return ring_allreduce_path(n_elems, n_ranks, n, call->wire, group->is_least);
    path = ring_half_path(n_elems, (int)n_members, n, call->type == COLL_REDUCE_SCATTER, WIRE_F32);
    if (broadcasts) {
        path.msgs += 1;
        path.bytes += one_to_all_cost(&scatter, call->root, n_ranks).bytes;
    }
    return path;
}

const struct collective_ops collective_ring = {
    .module.name = "ring",
    .module.caps = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER | COLL_BROADCAST | COLL_NARROW | COLL_CIRCLE,
    .module.options = table,
    .module.opts_bytes = sizeof(struct ring_opts),
    .module.memory = ring_memory,
    .open = ring_open,
    .run = ring_run,
    .predict = ring_predict,
    .critical_path = ring_critical_path,
    .close = ring_close,
};
