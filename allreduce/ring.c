/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - collectives around a ring: rank r sends to rank r + 1.
 *
 * What the two halves of an allreduce do, of whole chunks and of segments: ring_half.h. `owned` is 1 in an allreduce, 0
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
 * communication library (InterCom), SHPCC 1994.
 */
#include <stdlib.h>

#include "allreduce/one_to_all.h"
#include "allreduce/part_message.h"
#include "allreduce/ring_half.h"
#include "harness/base/arena.h"
#include "harness/base/opt.h"
#include "harness/base/range.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_ring;

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

static enum rc half(struct ring *ring, const struct ring_circle *o, float *data, size_t n_elems, int first, bool add)
{
    const struct ring_half whole = { .collective = &ring->base,
                                     .circle = o,
                                     .data = data,
                                     .n_elems = n_elems,
                                     .first = first,
                                     .add = add,
                                     .n_segments = n_segments(ring->base.env.opts, n_elems, o->n_members),
                                     .scratch = ring->scratch,
                                     .flight = ring->flight };

    return ring_half(&whole, &ring->n_steps);
}

static enum rc reduce_scatter(struct ring *ring, const struct ring_circle *o, float *data, size_t n_elems, int owned)
{
    return half(ring, o, data, n_elems, o->index - 1 + owned, true);
}

static enum rc allgather(struct ring *ring, const struct ring_circle *o, float *data, size_t n_elems, int owned)
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
    scatter.tag = ring_tag(ring->n_steps++);
    scatter.flight = ring->chunks;
    TRY(one_to_all(&ring->base, &scatter));
    if (w->rank == call->root) {
        ring->n_steps += (uint32_t)((w->n_ranks - 2) * /* of the others */
                                    n_segments(ring->base.env.opts, call->n_elems, w->n_ranks - 1));
        return RC_OK;
    }
    const struct ring_circle others = circle_of_others(ring, call->root);
    TRY(allgather(ring, &others, data, call->n_elems, 0));
out:
    return rc;
}

static enum rc ring_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct ring *ring = (struct ring *)c;
    const struct ring_circle all = circle_of_all(ring);
    const size_t n_elems = call->n_elems;
    enum rc rc = RC_OK;

    switch (call->type) {
    case COLL_ALLREDUCE:
        TRY(reduce_scatter(ring, &all, data, n_elems, 1));
        if (all.n_members > 1)
            TRY(part_round(c, data, ring_chunk(all.index + 1, all.n_members, n_elems)));
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

/* Of each half: the largest of p chunks crosses p - 1 links. What the root of a broadcast sends travels at once and
 * shares its link: one latency; then a chunk crosses p - 2 links. Segments of a chunk follow one
 * another: a latency for all of them; additions count as if the next segment's way hid none of them. */
static struct collective_cost ring_critical_path(const void *opts, const struct collective_call *call,
                                                 const struct collective_group *group)
{
    const bool broadcasts = call->type == COLL_BROADCAST;
    const int n_ranks = group->n_ranks;
    const uint64_t n_elems = call->n_elems, n_members = (uint64_t)n_ranks - (broadcasts ? 1 : 0);
    const struct one_to_all scatter = scatter_of(call);
    struct collective_cost path = { 0 };

    (void)opts;
    if (n_ranks == 1 || n_elems == 0)
        return path;
    const struct collective_cost gather = ring_half_path(n_elems, (int)n_members, false, call->wire);
    const struct collective_cost reduce = ring_half_path(n_elems, (int)n_members, true, call->wire);
    const struct collective_cost round = collective_round_cost((n_elems + n_members - 1) / n_members, call->wire);
    if (broadcasts)
        path = (struct collective_cost){ 1, one_to_all_cost(&scatter, call->root, n_ranks).bytes, 0, 0, 0 };
    if (call->type & (COLL_ALLREDUCE | COLL_REDUCE_SCATTER))
        path = collective_cost_sum(reduce, round);
    return call->type == COLL_REDUCE_SCATTER ? path : collective_cost_sum(path, gather);
}

const struct collective_ops collective_ring = {
    .module.name = "ring",
    .module.caps = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER | COLL_BROADCAST | COLL_NARROW,
    .module.options = table,
    .module.opts_bytes = sizeof(struct ring_opts),
    .module.memory = ring_memory,
    .open = ring_open,
    .run = ring_run,
    .predict = ring_predict,
    .critical_path = ring_critical_path,
    .close = ring_close,
};
