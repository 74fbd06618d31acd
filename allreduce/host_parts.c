/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_parts.c - the inputs of one host's ranks to a collective, which each of these ranks can read and write; see
 * host_parts.h.
 */
#include "allreduce/host_parts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

/* SHORT_ELEMS: the most of all ranks together. Of two ranks with 2 KiB each a short sum takes as long as any other. */
enum { LINE_ELEMS = SHARE_ALIGN_BYTES / sizeof(float), SHORT_ELEMS = 512, N_SHORT_SLOTS = 2 };

static size_t counts_bytes(int n_ranks)
{
    const size_t n_bytes = (size_t)n_ranks * sizeof(uint32_t);

    return (n_bytes + SHARE_ALIGN_BYTES - 1) / SHARE_ALIGN_BYTES * SHARE_ALIGN_BYTES;
}

/* counts[k] of rank r's block: how often rank k has come. */
static _Atomic uint32_t *counts(const struct host_parts *h, int r)
{
    return h->share->peer[r];
}

/* Whole lines. */
static size_t short_slot_elems(int n_ranks)
{
    return (SHORT_ELEMS / (size_t)n_ranks + LINE_ELEMS - 1) / LINE_ELEMS * LINE_ELEMS;
}

static float *slot(const struct host_parts *h, int r)
{
    return (float *)(void *)((char *)h->share->peer[r] + counts_bytes(h->group->n_ranks)) +
           N_SHORT_SLOTS * short_slot_elems(h->group->n_ranks);
}

static float *short_slot(const struct host_parts *h, int r, uint32_t turn)
{
    return (float *)(void *)((char *)h->share->peer[r] + counts_bytes(h->group->n_ranks)) +
           turn % N_SHORT_SLOTS * short_slot_elems(h->group->n_ranks);
}

enum rc host_parts_open(struct host_parts *out, const struct collective_env *env, size_t n_slot_elems)
{
    const bool has_slots = env->compute->ops->touches_memory;
    struct world *w = env->transport->world;
    size_t n_bytes, n_slots;
    enum rc rc;

    *out = (struct host_parts){ .limit_ns = UINT64_MAX,
                                .n_slot_elems = n_slot_elems < env->max_elems ? n_slot_elems : env->max_elems };
    if (env->timeout_ms > 0)
        out->limit_ns = (uint64_t)env->timeout_ms * 1000000u;
    TRY(world_host_group(w, &out->group, &out->host, &out->n_hosts));
    if (w->memories_are_apart && out->n_hosts < w->n_ranks)
        FAIL(RC_UNSUPPORTED,
             "the ranks of a host have no memory in common, in which reducers shm and hierarchical sum; "
             "use --reducer ring");
    n_slots = N_SHORT_SLOTS * short_slot_elems(out->group->n_ranks) + out->n_slot_elems;
    n_bytes = counts_bytes(out->group->n_ranks) + (has_slots ? n_slots * sizeof(float) : 0);
    TRY(world_share_open(out->group, n_bytes, &out->share));
    if (out->n_hosts > 1)
        out->share->together = w;
    out->part = calloc((size_t)out->group->n_ranks, sizeof *out->part);
    out->brought = calloc((size_t)out->group->n_ranks, sizeof *out->brought);
    out->result = calloc((size_t)out->group->n_ranks, sizeof *out->result);
    out->operand = calloc((size_t)out->group->n_ranks, sizeof *out->operand);
    if (!out->part || !out->brought || !out->result || !out->operand)
        FAIL(RC_NOMEM, "no memory for the parts of %d ranks", out->group->n_ranks);
out:
    return rc;
}

void host_parts_close(struct host_parts *h)
{
    free(h->operand);
    free(h->result);
    free(h->brought);
    free(h->part);
    world_share_close(&h->share);
    world_split_close(&h->group);
    *h = (struct host_parts){ 0 };
}

/* --- pieces --- */

/* The share whose block of this rank has all of data[n_elems]; NULL: none. */
static const struct share *find_share(const struct host_parts *h, const struct collective_env *env, const float *data,
                                      size_t n_elems)
{
    const uintptr_t from = (uintptr_t)data, to = from + n_elems * sizeof *data;

    for (int i = 0; i < env->n_shares; i++) {
        const struct share *s = env->share[i];
        const uintptr_t mine = s ? (uintptr_t)s->mine : 0;
        if (s && s->group->n_ranks == h->group->n_ranks && from >= mine && to <= mine + s->n_bytes)
            return s;
    }
    return NULL;
}

/* What is for rank r where `mine`, in the share, is for this rank. */
static float *same_of(const struct share *s, int r, const float *mine)
{
    return (float *)(void *)((char *)s->peer[r] + ((const char *)mine - (const char *)s->mine));
}

struct host_piece host_parts_piece(struct host_parts *h, const struct collective_env *env,
                                   const struct collective_call *call, float *data, size_t from_elems)
{
    const float *brought = call->input ? call->input : data;
    const struct share *s = data ? find_share(h, env, data, call->n_elems) : NULL;
    const struct share *of_input = s ? find_share(h, env, brought, call->n_elems) : NULL;
    const size_t n_left = call->n_elems - from_elems, n_slot = n_left < h->n_slot_elems ? n_left : h->n_slot_elems;
    const bool is_slot = data && !of_input;

    for (int r = 0; r < h->group->n_ranks; r++) {
        h->part[r] = h->brought[r] = data ? slot(h, r) : NULL;
        if (!of_input)
            continue;
        h->part[r] = same_of(s, r, data);
        h->brought[r] = same_of(of_input, r, brought);
    }
    return (struct host_piece){ .range = { from_elems, is_slot ? n_slot : n_left }, .is_slot = is_slot };
}

static float *at(float *const *part, const struct host_piece *piece, int r, size_t offset_elems)
{
    if (!part[r])
        return NULL;
    return part[r] + (piece->is_slot ? offset_elems - piece->range.offset_elems : offset_elems);
}

float *host_parts_at(const struct host_parts *h, const struct host_piece *piece, int r, size_t offset_elems)
{
    return at(h->part, piece, r, offset_elems);
}

const float *host_parts_brought_at(const struct host_parts *h, const struct host_piece *piece, int r,
                                   size_t offset_elems)
{
    return at(h->brought, piece, r, offset_elems);
}

void host_parts_put(const struct host_parts *h, const struct host_piece *piece, const float *brought,
                    struct range range)
{
    if (piece->is_slot && range.n_elems > 0)
        memcpy(host_parts_at(h, piece, h->group->rank, range.offset_elems), brought + range.offset_elems,
               range.n_elems * sizeof *brought);
}

void host_parts_get(const struct host_parts *h, const struct host_piece *piece, float *data, struct range range)
{
    if (piece->is_slot && range.n_elems > 0)
        memcpy(data + range.offset_elems, host_parts_at(h, piece, h->group->rank, range.offset_elems),
               range.n_elems * sizeof *data);
}

struct range host_parts_common(struct range a, struct range b)
{
    const size_t from = a.offset_elems > b.offset_elems ? a.offset_elems : b.offset_elems;
    const size_t a_end = a.offset_elems + a.n_elems, b_end = b.offset_elems + b.n_elems,
                 end = a_end < b_end ? a_end : b_end;

    return from < end ? (struct range){ from, end - from } : (struct range){ 0, 0 };
}

/* Where slice i begins. */
static size_t slice_begin(size_t n_elems, int n_slices, int i)
{
    const size_t begin = i < n_slices ? range_part(n_elems, n_slices, i).offset_elems : n_elems;

    return i < n_slices ? begin / LINE_ELEMS * LINE_ELEMS : begin;
}

struct range host_parts_slice(struct range range, int n_slices, int i)
{
    const size_t begin = slice_begin(range.n_elems, n_slices, i), end = slice_begin(range.n_elems, n_slices, i + 1);

    return (struct range){ range.offset_elems + begin, end - begin };
}

/* --- what ranks do together --- */

enum rc host_parts_meet(struct host_parts *h)
{
    const int n_ranks = h->group->n_ranks, rank = h->group->rank;

    h->n_meetings++;
    for (int i = 0; i < n_ranks; i++) {
        const int r = (rank + i) % n_ranks; /* not all of them the same one at once */
        atomic_store_explicit(&counts(h, r)[rank], h->n_meetings, memory_order_release);
        if (r != rank)
            share_ring(h->share, r);
    }
    return share_wait_counts(h->share, counts(h, rank), n_ranks, h->n_meetings, h->limit_ns);
}

bool host_parts_is_short(size_t n_elems, int n_ranks)
{
    return n_elems > 0 && n_elems <= SHORT_ELEMS / (size_t)n_ranks;
}

enum rc host_parts_sum_short(struct host_parts *h, const struct collective_env *env, float *data, const float *brought,
                             size_t n_elems)
{
    const struct sum_arrays op = { h->operand, h->result, h->group->n_ranks, 1, n_elems };
    const uint32_t turn = h->n_short++;
    enum rc rc;

    if (brought)
        memcpy(short_slot(h, h->group->rank, turn), brought, n_elems * sizeof *brought);
    TRY(host_parts_meet(h));
    for (int r = 0; r < op.n_operands; r++)
        h->operand[r] = brought ? short_slot(h, r, turn) : NULL;
    h->result[0] = data;
    compute_sum_arrays(env->compute, &op);
    TRY(compute_sync(env->compute));
out:
    return rc;
}

enum rc host_parts_sum(struct host_parts *h, const struct collective_env *env, const struct host_piece *piece,
                       struct range range, enum host_sum to, float *own)
{
    struct sum_arrays op = { h->operand, h->result, h->group->n_ranks, 1, range.n_elems };

    if (range.n_elems == 0)
        return RC_OK;
    for (int r = 0; r < op.n_operands; r++) {
        h->operand[r] = host_parts_brought_at(h, piece, r, range.offset_elems);
        h->result[r] = host_parts_at(h, piece, r, range.offset_elems);
    }
    if (to == HOST_SUM_TO_ALL)
        op.n_results = op.n_operands;
    if (to == HOST_SUM_TO_OWN)
        h->result[0] = own ? own + range.offset_elems : NULL;
    compute_sum_arrays(env->compute, &op);
    return compute_sync(env->compute);
}

enum rc host_parts_copy(struct host_parts *h, const struct collective_env *env, const struct host_piece *piece,
                        struct range range, int r, float *data)
{
    const struct sum_arrays op = { h->operand, h->result, 1, 1, range.n_elems };

    if (range.n_elems == 0)
        return RC_OK;
    h->operand[0] = host_parts_at(h, piece, r, range.offset_elems);
    h->result[0] = data ? data + range.offset_elems : NULL;
    compute_sum_arrays(env->compute, &op);
    return compute_sync(env->compute);
}

struct collective_cost host_parts_copy_cost(size_t n_elems)
{
    return (struct collective_cost){ .memory_bytes = 2 * (uint64_t)n_elems * sizeof(float) };
}
