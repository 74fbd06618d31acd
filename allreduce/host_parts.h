/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_parts.h - the inputs of one host's ranks to a collective, which each of these ranks can read and write.
 *
 * A part is the data itself, if it is in shares (exchange.A8), and so is the input, of an allreduce out of place (A13).
 * Else it is a slot of each rank, through which data goes piece by piece:
 *
 *     data in shares    part[r] is the data of rank r, brought[r] its input        one piece: all of it
 *     own data          both are the slot of rank r, which it copies to and from    pieces of at most n_slot_elems
 *
 * Only host_parts_meet() orders the ranks' accesses to parts.
 *
 * A short sum takes one meeting: each rank copies what it brings into a short slot, and then adds those of all ranks by
 * itself. Each rank has two short slots, and uses them in turn. Who writes into one again has met the others since it
 * was read: they came to the meeting of the short sum between.
 */
#ifndef ALLREDUCE_HOST_PARTS_H
#define ALLREDUCE_HOST_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/range.h"
#include "harness/base/rc.h"
#include "harness/exchange/collective.h"

struct share;
struct world;

struct host_parts {
    struct world *group; /* of the ranks of this host, in the order of the transport's world */
    int host, n_hosts;   /* this host's number */
    /* what follows is private to host_parts.c */
    struct share *share; /* of each rank: counts[n_ranks], a slot */
    const float **operand;
    float **result, **part, **brought; /* [group->n_ranks] */
    uint32_t n_meetings, n_short;      /* so far */
    uint64_t limit_ns;
    size_t n_slot_elems;
};

struct host_piece {     /* of the data of a call, in one piece or piece by piece; the same on every rank of the host */
    struct range range; /* of the elements of the call */
    bool is_slot;       /* parts are slots */
};

/* Collective over the world of env->transport. n_slot_elems: small, if the work on a piece should stay in caches. *out
 * is written on errors too: close it. RC_NOMEM; RC_UNSUPPORTED: memory cannot be shared; RC_PEER. */
enum rc host_parts_open(struct host_parts *out, const struct collective_env *env, size_t n_slot_elems) MUST_CHECK;
void host_parts_close(struct host_parts *h); /* accepts a zeroed one */

/* The piece of data[call->n_elems] that begins at from_elems. data NULL: no data, in one piece. Cannot fail. */
struct host_piece host_parts_piece(struct host_parts *h, const struct collective_env *env,
                                   const struct collective_call *call, float *data, size_t from_elems);
/* The element at offset_elems of the call, which is in the piece, of rank r of the host; NULL: no data. */
float *host_parts_at(const struct host_parts *h, const struct host_piece *piece, int r, size_t offset_elems);
/* The same of what the rank brings: it is elsewhere only in a call out of place. */
const float *host_parts_brought_at(const struct host_parts *h, const struct host_piece *piece, int r,
                                   size_t offset_elems);
/* Copy elements of the call, all in the piece, from what this rank brings into its slot, and from there to data. Do
 * nothing if parts are not slots. */
void host_parts_put(const struct host_parts *h, const struct host_piece *piece, const float *brought,
                    struct range range);
void host_parts_get(const struct host_parts *h, const struct host_piece *piece, float *data, struct range range);
/* Waits until every rank of the host has made the same number of calls; then what each wrote before can be read.
 * Errors: share_wait(). */
enum rc host_parts_meet(struct host_parts *h) MUST_CHECK;

/* May a sum be short? Then it has more additions and copies, which take less time than a meeting. Pure. */
bool host_parts_is_short(size_t n_elems, int n_ranks);
/* data[i] = sum of brought[i] over the ranks of the host, in their order, of a short sum; NULL: no data. Errors: those
 * of meetings. */
enum rc host_parts_sum_short(struct host_parts *h, const struct collective_env *env, float *data, const float *brought,
                             size_t n_elems) MUST_CHECK;

/* The target of a sum. */
enum host_sum { HOST_SUM_TO_ALL, HOST_SUM_TO_FIRST, HOST_SUM_TO_OWN };

/* Sums a range of what the ranks of the host bring, in their order, to the parts that `to` selects; OWN: to own[i]
 * for element i of the call. Syncs the compute. */
enum rc host_parts_sum(struct host_parts *h, const struct collective_env *env, const struct host_piece *piece,
                       struct range range, enum host_sum to, float *own) MUST_CHECK;
/* data[i] = element i of rank r, in a range of the piece. Syncs the compute. */
enum rc host_parts_copy(struct host_parts *h, const struct collective_env *env, const struct host_piece *piece,
                        struct range range, int r, float *data) MUST_CHECK;

/* The cost of a copy of n_elems. Pure. */
struct collective_cost host_parts_copy_cost(size_t n_elems);

/* Slice i of n_slices of a range, to be summed by one rank: slices begin on cache lines within the range. */
struct range host_parts_slice(struct range range, int n_slices, int i);
struct range host_parts_common(struct range a, struct range b); /* empty ones have offset 0 */

#endif
