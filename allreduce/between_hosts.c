/* SPDX-License-Identifier: Apache-2.0 */
/*
 * between_hosts.c - allreduce among the first ranks of hosts, of a vector that each of them has, around a ring
 * (ring.h); see between_hosts.h.
 */
#include "allreduce/between_hosts.h"

#include <stdlib.h>

#include "allreduce/part_message.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

static int n_segments(size_t n_elems, int n_hosts)
{
    return ring_n_segments(RING_SEGMENT_BYTES, n_elems, n_hosts);
}

size_t between_hosts_scratch_elems(size_t n_elems, int n_hosts)
{
    return n_elems / (size_t)n_hosts + 1 + (n_segments(n_elems, n_hosts) > 1 ? RING_MOST_SEGMENTS : 0);
}

/* --- where a rank is --- */

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

struct host_place host_place_of(const struct collective_group *group, int rank)
{
    struct host_place place = { .host = -1 };

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

/* --- open, close --- */

static enum rc open_members(struct between_hosts *b, struct world *w, int index)
{
    const int n = b->n_hosts;
    int *host = calloc((size_t)w->n_ranks, sizeof *host);
    const struct collective_group all = { .n_ranks = w->n_ranks, .host = host };
    enum rc rc;

    b->first = calloc((size_t)n, sizeof *b->first);
    if (!host || !b->first)
        FAIL(RC_NOMEM, "no memory for the hosts of %d ranks", w->n_ranks);
    TRY(world_allgather(w, &index, host, sizeof *host));
    for (int r = 0; r < w->n_ranks; r++)
        b->first[host[r]] = first_of(&all, r);
    b->circle = (struct ring_circle){ n, index, b->first[(index + 1) % n], b->first[(index + n - 1) % n] };
out:
    free(host);
    return rc;
}

/* Of the first rank of a host. */
static enum rc open_buffers(struct between_hosts *b, const struct collective_env *env)
{
    const size_t n_elems = between_hosts_scratch_elems(env->max_elems, b->n_hosts);
    enum rc rc;

    TRY(arena_open(&b->arena, arena_floats_bytes(n_elems)));
    b->scratch = arena_floats(&b->arena, n_elems);
    if (n_segments(env->max_elems, b->n_hosts) > 1) {
        b->flight = calloc((size_t)3 * RING_MOST_SEGMENTS, sizeof *b->flight);
        if (!b->flight)
            FAIL(RC_NOMEM, "no memory for the segments of messages between hosts");
    }
out:
    return rc;
}

enum rc between_hosts_open(struct between_hosts *out, const struct collective_env *env, const struct world *group,
                           int host, int n_hosts)
{
    enum rc rc;

    *out = (struct between_hosts){ .n_hosts = n_hosts };
    TRY(open_members(out, env->transport->world, host));
    if (group->rank == 0 && n_hosts > 1)
        TRY(open_buffers(out, env));
out:
    return rc;
}

void between_hosts_close(struct between_hosts *b)
{
    arena_close(&b->arena);
    free(b->first);
    free(b->flight);
    *b = (struct between_hosts){ 0 };
}

/* --- the sum --- */

enum rc between_hosts_sum(struct between_hosts *b, const struct collective *c, float *data, const float *input,
                          size_t n_elems)
{
    struct ring_half half = { .collective = c,
                              .circle = &b->circle,
                              .data = data,
                              .input = input,
                              .n_elems = n_elems,
                              .first = b->circle.index,
                              .add = true,
                              .n_segments = n_segments(n_elems, b->circle.n_members),
                              .scratch = b->scratch,
                              .flight = b->flight };
    enum rc rc;

    TRY(ring_half(&half, &b->n_steps));
    TRY(part_round(c, half.data, ring_chunk(b->circle.index + 1, b->circle.n_members, half.n_elems)));
    half.first = b->circle.index + 1;
    half.add = false;
    half.input = NULL;
    TRY(ring_half(&half, &b->n_steps));
out:
    return rc;
}

/* --- costs --- */

struct collective_cost between_hosts_cost(const struct collective_call *call, int h, int k)
{
    const size_t n_elems = call->n_elems;
    const int n = n_segments(n_elems, h);
    const struct collective_cost round = collective_round_cost(ring_chunk(k + 1, h, n_elems).n_elems, call->wire);
    const struct collective_cost scatter =
        ring_half_cost(n_elems, h, n, (struct ring_half_ends){ k + 1, k + h }, true, call->wire);
    const struct collective_cost gather =
        ring_half_cost(n_elems, h, n, (struct ring_half_ends){ k + 2, k + 1 }, false, call->wire);
    return collective_cost_sum(collective_cost_sum(round, scatter), gather);
}
