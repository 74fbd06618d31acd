/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hierarchical.c - allreduce in the memory of each host, and by a ring, or halving and doubling, between hosts.
 *
 *     all ranks of a host    each adds a slice of all their vectors, and writes it to the first one (host_parts.h)
 *     first rank of each     allreduce of these sums (ring_half.h, halving_doubling_members.h)
 *     all ranks of a host    copy the result from the first one
 *
 * So a vector crosses a host's link as often as if the host had one rank: (h - 1) / h of it each way, twice, for h
 * hosts. On one host it is "shm".
 *
 * Additions: on each host in the order of its ranks; then by the ring chunk i of h in the order of hosts i, i + 1, ...
 * Every rank gets the same bits (A1), which depend on who shares a host.
 *
 * Compare two-level allreduce: Jia et al., Highly scalable deep learning training system with mixed-precision,
 * arXiv:1807.11205, 2018.
 */
#include <stdlib.h>

#include "allreduce/halving_doubling_members.h"
#include "allreduce/host_parts.h"
#include "allreduce/part_message.h"
#include "allreduce/ring_half.h"
#include "harness/base/arena.h"
#include "harness/base/opt.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_hierarchical;

/* SLOT_ELEMS: 1 MiB; of such a piece messages between hosts are large enough to fill a link. N_MEETINGS: of a host in a
 * call, before and behind its sum and before and behind copying that of all hosts. */
enum { SLOT_ELEMS = 1 << 18, N_MEETINGS = 4 };

struct hierarchical_opts {
    bool halving;
    uint64_t segment_bytes;
};

static const struct opt table[] = {
    OPT_BOOL_(struct hierarchical_opts, halving, "halving", "false",
              "between hosts by halving and doubling, in fewer messages; without it around a ring"),
    OPT_U64_(struct hierarchical_opts, segment_bytes, "segment-bytes", RING_SEGMENT_TEXT, 0, 1 << 30, "bytes",
             "around the ring a chunk goes in segments of about this, at most 64, each sent on while the next one "
             "comes; 0: as a whole"),
    OPT_END_,
};

struct hierarchical {
    struct collective base;
    struct host_parts host;
    struct ring_circle circle; /* of the first rank of each host */
    int *first;                /* [n_hosts]: their numbers */
    struct arena arena;
    float *scratch;              /* a chunk as received; of first ranks, as what follows */
    struct part_message *flight; /* [3 RING_MOST_SEGMENTS]: of the ring; NULL: no segments */
    uint32_t n_steps;            /* of the ring so far */
};

static void hierarchical_close(struct collective **c)
{
    struct hierarchical *h = (struct hierarchical *)*c;

    arena_close(&h->arena);
    host_parts_close(&h->host);
    free(h->first);
    free(h->flight);
    free(h);
    *c = NULL;
}

static bool halves(const void *opts)
{
    return opts && ((const struct hierarchical_opts *)opts)->halving;
}

/* Of the ring. opts NULL: defaults. */
static int n_segments(const void *opts, size_t n_elems, int n_hosts)
{
    const struct hierarchical_opts *o = opts;

    return ring_n_segments(o ? o->segment_bytes : RING_SEGMENT_BYTES, n_elems, n_hosts);
}

static bool has_segments(const void *opts, size_t max_elems, int n_hosts)
{
    return !halves(opts) && n_segments(opts, max_elems, n_hosts) > 1;
}

/* What a first rank receives at once, of n_elems. */
static size_t scratch_elems(const void *opts, size_t n_elems, int n_hosts)
{
    return halves(opts)
               ? halving_doubling_scratch_elems(COLL_ALLREDUCE, n_elems, n_hosts)
               : n_elems / (size_t)n_hosts + 1 + (has_segments(opts, n_elems, n_hosts) ? RING_MOST_SEGMENTS : 0);
}

static struct memory_need hierarchical_memory(const void *opts, const struct job_facts *facts)
{
    /* two hosts are the fewest between which something is received */
    return (struct memory_need){ .worker_bytes = scratch_elems(opts, facts->n_params, 2) * sizeof(float) };
}

static int host_of(const struct collective_group *group, int rank)
{
    return group->host ? group->host[rank] : rank;
}

/* The rank that plays for the host of this one. */
static int first_of(const struct collective_group *group, int rank)
{
    int first = 0;

    while (host_of(group, first) != host_of(group, rank))
        first++;
    return first;
}

static enum rc open_members(struct hierarchical *h, struct world *w)
{
    const int n = h->host.n_hosts, index = h->host.host;
    int *host = calloc((size_t)w->n_ranks, sizeof *host);
    const struct collective_group all = { w->n_ranks, host };
    enum rc rc;

    h->first = calloc((size_t)n, sizeof *h->first);
    if (!host || !h->first)
        FAIL(RC_NOMEM, "collective hierarchical: no memory for %d ranks", w->n_ranks);
    TRY(world_allgather(w, &h->host.host, host, sizeof *host));
    for (int r = 0; r < w->n_ranks; r++)
        h->first[host[r]] = first_of(&all, r);
    h->circle = (struct ring_circle){ n, index, h->first[(index + 1) % n], h->first[(index + n - 1) % n] };
out:
    free(host);
    return rc;
}

static bool is_first(const struct hierarchical *h)
{
    return h->host.group->rank == 0;
}

/* Of the first rank of a host. */
static enum rc open_between(struct hierarchical *h, const struct collective_env *env)
{
    const size_t n_elems = scratch_elems(env->opts, env->max_elems, h->host.n_hosts);
    enum rc rc;

    TRY(arena_open(&h->arena, arena_floats_bytes(n_elems)));
    h->scratch = arena_floats(&h->arena, n_elems);
    if (has_segments(env->opts, env->max_elems, h->host.n_hosts)) {
        h->flight = calloc((size_t)3 * RING_MOST_SEGMENTS, sizeof *h->flight);
        if (!h->flight)
            FAIL(RC_NOMEM, "collective hierarchical: no memory for segments");
    }
out:
    return rc;
}

static enum rc hierarchical_open(struct collective **out, const struct collective_env *env)
{
    struct hierarchical *h = calloc(1, sizeof *h);
    struct collective *base = &h->base;
    enum rc rc;

    if (!h)
        return rc_raise(RC_NOMEM, "collective hierarchical: no memory");
    TRY(host_parts_open(&h->host, env, SLOT_ELEMS));
    TRY(open_members(h, env->transport->world));
    if (is_first(h) && h->host.n_hosts > 1)
        TRY(open_between(h, env));
    *out = base;
    base = NULL;
out:
    if (base)
        hierarchical_close(&base);
    return rc;
}

static enum rc sum_by_ring(struct hierarchical *h, float *data, size_t n_elems)
{
    struct ring_half half = { .collective = &h->base,
                              .circle = &h->circle,
                              .data = data,
                              .n_elems = n_elems,
                              .first = h->circle.index,
                              .add = true,
                              .n_segments = n_segments(h->base.env.opts, n_elems, h->circle.n_members),
                              .scratch = h->scratch,
                              .flight = h->flight };
    enum rc rc;

    TRY(ring_half(&half, &h->n_steps));
    TRY(part_round(&h->base, half.data, ring_chunk(h->circle.index + 1, h->circle.n_members, half.n_elems)));
    half.first = h->circle.index + 1;
    half.add = false;
    TRY(ring_half(&half, &h->n_steps));
out:
    return rc;
}

/* Of the first rank of each host. */
static enum rc sum_of_hosts(struct hierarchical *h, const struct host_piece *piece)
{
    float *data = host_parts_at(&h->host, piece, 0, piece->range.offset_elems);
    const struct halving_doubling_members members = { .collective = &h->base,
                                                      .rank = h->first,
                                                      .n_members = h->host.n_hosts,
                                                      .index = h->host.host,
                                                      .data = data,
                                                      .n_elems = piece->range.n_elems,
                                                      .scratch = h->scratch };

    if (halves(h->base.env.opts))
        return halving_doubling_run(&members, COLL_ALLREDUCE, &h->n_steps);
    return sum_by_ring(h, data, piece->range.n_elems);
}

static enum rc sum_of_host(struct hierarchical *h, const struct host_piece *piece)
{
    const struct world *group = h->host.group;
    const enum host_sum to = h->host.n_hosts > 1 ? HOST_SUM_TO_FIRST : HOST_SUM_TO_ALL;
    enum rc rc;

    TRY(host_parts_meet(&h->host));
    TRY(host_parts_sum(&h->host, &h->base.env, piece, host_parts_slice(piece->range, group->n_ranks, group->rank), to,
                       NULL));
    TRY(host_parts_meet(&h->host));
out:
    return rc;
}

static enum rc run_piece(struct hierarchical *h, const struct host_piece *piece, float *data)
{
    const bool is_alone = h->host.group->n_ranks == 1, has_hosts = h->host.n_hosts > 1;
    enum rc rc = RC_OK;

    host_parts_put(&h->host, piece, data, piece->range);
    if (!is_alone)
        TRY(sum_of_host(h, piece));
    if (has_hosts && is_first(h))
        TRY(sum_of_hosts(h, piece));
    if (has_hosts && !is_alone)
        TRY(host_parts_meet(&h->host));
    if (has_hosts && !is_first(h))
        TRY(host_parts_copy(&h->host, &h->base.env, piece, piece->range, 0, data));
    else
        host_parts_get(&h->host, piece, data, piece->range);
    if (has_hosts && !is_alone)
        TRY(host_parts_meet(&h->host));
out:
    return rc;
}

static enum rc hierarchical_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct hierarchical *h = (struct hierarchical *)c;
    enum rc rc = RC_OK;

    for (size_t done = 0; done < call->n_elems;) {
        const struct host_piece piece = host_parts_piece(&h->host, &c->env, data, call->n_elems, done);
        TRY(run_piece(h, &piece, data));
        done += piece.range.n_elems;
    }
out:
    return rc;
}

/* --- costs --- */

struct place { /* of a rank */
    int n_hosts, host, n_on_host, index;
};

/* Hosts are numbered here in the order of their first ranks, whatever their numbers in the group are. */
static struct place place_of(const struct collective_group *group, int rank)
{
    struct place place = { .host = -1 };

    for (int r = 0; r < group->n_ranks; r++) {
        const bool is_here = host_of(group, r) == host_of(group, rank), is_first_there = first_of(group, r) == r;
        if (is_first_there && is_here)
            place.host = place.n_hosts;
        place.n_hosts += is_first_there;
        place.index += is_here && r < rank;
        place.n_on_host += is_here;
    }
    return place;
}

/* Of the rank of m that adds a slice: in the memory of one host. */
static struct collective_cost slice_cost(size_t n_elems, struct place at, int index)
{
    const size_t n_slice = host_parts_slice((struct range){ 0, n_elems }, at.n_on_host, index).n_elems;
    const int n_results = at.n_hosts > 1 ? 1 : at.n_on_host;

    if (at.n_on_host == 1)
        return (struct collective_cost){ 0 };
    return (struct collective_cost){ .adds = (uint64_t)(at.n_on_host - 1) * n_slice,
                                     .memory_bytes = (uint64_t)(at.n_on_host + n_results) * n_slice * sizeof(float) };
}

/* Of the first rank of host k of h. */
static struct collective_cost between_cost(const void *opts, const struct collective_call *call, int h, int k)
{
    const size_t n_elems = call->n_elems;
    const int n = n_segments(opts, n_elems, h);

    if (halves(opts))
        return halving_doubling_cost(call, h, k);
    const struct collective_cost round = collective_round_cost(ring_chunk(k + 1, h, n_elems).n_elems, call->wire);
    const struct collective_cost scatter =
        ring_half_cost(n_elems, h, n, (struct ring_half_ends){ k + 1, k + h }, true, call->wire);
    const struct collective_cost gather =
        ring_half_cost(n_elems, h, n, (struct ring_half_ends){ k + 2, k + 1 }, false, call->wire);
    return collective_cost_sum(collective_cost_sum(round, scatter), gather);
}

static struct collective_cost between_path(const void *opts, const struct collective_call *call, int h)
{
    const size_t n_elems = call->n_elems, n_largest = (n_elems + (size_t)h - 1) / (size_t)h;

    if (halves(opts))
        return halving_doubling_path(call, h);
    return collective_cost_sum(collective_round_cost(n_largest, call->wire),
                               collective_cost_sum(ring_half_path(n_elems, h, true, call->wire),
                                                   ring_half_path(n_elems, h, false, call->wire)));
}

static struct collective_cost hierarchical_predict(const void *opts, const struct collective_call *call, int rank,
                                                   const struct collective_group *group)
{
    const struct place at = place_of(group, rank);
    const struct collective_cost slice = slice_cost(call->n_elems, at, at.index);

    if (at.n_hosts == 1)
        return slice;
    return collective_cost_sum(slice, at.index > 0 ? host_parts_copy_cost(call->n_elems)
                                                   : between_cost(opts, call, at.n_hosts, at.host));
}

/* The host that has most to add comes last to the ring. */
static struct collective_cost hierarchical_critical_path(const void *opts, const struct collective_call *call,
                                                         const struct collective_group *group)
{
    struct collective_cost slice = { 0 }, copy = { 0 };
    int n_hosts = 1;

    for (int r = 0; r < group->n_ranks; r++) {
        const struct place at = place_of(group, r);
        const struct collective_cost own = slice_cost(call->n_elems, at, at.index);
        slice.memory_bytes = own.memory_bytes > slice.memory_bytes ? own.memory_bytes : slice.memory_bytes;
        slice.adds = own.adds > slice.adds ? own.adds : slice.adds; /* of a host of more ranks, whose slices are less */
        n_hosts = at.n_hosts;
        if (n_hosts > 1 && at.index > 0)
            copy = host_parts_copy_cost(call->n_elems);
    }
    if (call->n_elems > 0 && slice.adds > 0)
        slice.meetings = n_hosts > 1 ? N_MEETINGS : 2;
    if (n_hosts == 1)
        return slice;
    return collective_cost_sum(collective_cost_sum(slice, between_path(opts, call, n_hosts)), copy);
}

const struct collective_ops collective_hierarchical = {
    .module.name = "hierarchical",
    .module.caps = COLL_ALLREDUCE | COLL_SHARED | COLL_NARROW,
    .module.options = table,
    .module.opts_bytes = sizeof(struct hierarchical_opts),
    .module.memory = hierarchical_memory,
    .open = hierarchical_open,
    .run = hierarchical_run,
    .predict = hierarchical_predict,
    .critical_path = hierarchical_critical_path,
    .close = hierarchical_close,
};
