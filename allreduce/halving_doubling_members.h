/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halving_doubling_members.h - allreduce, reduce-scatter and allgather among some ranks by recursive halving and
 * doubling: the messages and additions of each member.
 *
 * Let q be the largest power of two among p members, 2^k. Members 0 .. 2 (p - q) - 1 form pairs (2i, 2i + 1); each pair
 * is number i below. A later member is number index - (p - q).
 *
 *   fold      (not in allgather) the two of a pair exchange halves of their vectors and add: the even one the first
 *             half, the odd one the second. In allgather the helper sends the keeper its chunk.
 *   halving   (not in allgather) each number has a block, at first the vector. In each of k steps it cuts its block in
 *             two, sends its partner one half, and receives and adds the other half, which becomes its block.
 *   doubling  (not in reduce-scatter) the same steps backwards: it sends its block, and receives the half beside it.
 *   unfold    the two of a pair exchange the halves that they have; in reduce-scatter the keeper sends the helper its
 *             chunk.
 *
 * The partner in step s differs in one bit of the number; the partner with a 1 in that bit keeps the second half. In an
 * allreduce that is bit s (distance doubling: the longest messages go to neighbours), and the vector is cut into q
 * equal parts. In the other two types it is bit k - 1 - s, so that the block of a number is its members' chunks, which
 * are adjacent.
 *
 * In a pair the keeper has summed the half that its number keeps in step 0; the helper has summed the other half. So in
 * step 0 the helper sends and the keeper receives, and backwards the opposite. Only the keeper takes part in the other
 * steps. (In Rabenseifner's fold, the odd one returns its half before step 0, and gets the whole result at the end. The
 * slowest path then has n more elements and one more latency, and its link is idle in between.)
 *
 * Every sum is a balanced tree: first of a pair, then of numbers that differ in the bit of step 0, of step 1, and so
 * on. Either of two partners may add, and each sum is computed once and copied (A1). So no other algorithm has the same
 * bits. The bits of reduce-scatter, whose steps take bits in another order, differ from those of allreduce. Empty parts
 * are not sent.
 *
 * Sources: Rabenseifner, Optimization of collective reduction operations, ICCS 2004, LNCS 3036; Thakur, Rabenseifner
 * and Gropp, Int. J. High Performance Computing Applications 19(1), 2005.
 */
#ifndef ALLREDUCE_HALVING_DOUBLING_MEMBERS_H
#define ALLREDUCE_HALVING_DOUBLING_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/exchange/collective.h"

enum { HALVING_DOUBLING_TYPES = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER };

struct halving_doubling_members {        /* the same on every member, except index, data and scratch */
    const struct collective *collective; /* for its env, and its name in errors */
    const int *rank;                     /* [n_members]: in the transport's world; NULL: member i is rank i */
    int n_members, index;                /* this rank is member `index` */
    float *data;                         /* [n_elems], chunk i of n_members is member i's; NULL: no data (A5) */
    const float *input;                  /* exchange.A13, of allreduce: [n_elems]; NULL: in data */
    size_t n_elems;
    float *scratch; /* [halving_doubling_scratch_elems()]; not used by allgather, nor if the transport adds in place
                       (TR_ADD) */
};

/* Call on every member. type: of HALVING_DOUBLING_TYPES. *n_steps: steps of all runs so far, 0 at first and the same on
 * every member. Tags depend on it, so that a duplicate of a message does not match a later receive. Errors: those of
 * the transport; RC_MISMATCH: a message of another length. */
enum rc halving_doubling_run(const struct halving_doubling_members *m, enum collective_type type,
                             uint32_t *n_steps) MUST_CHECK;
/* For runs of these types (bits) with at most n_elems. Pure, as are the following functions. */
size_t halving_doubling_scratch_elems(unsigned types, size_t n_elems, int n_members);
/* What member `index` sends and adds. */
struct collective_cost halving_doubling_cost(const struct collective_call *call, int n_members, int index);
/* From first send to last receive. Messages are those of the longest chain of members: each message of a chain waits
 * for the one before it. Additions and memory count as if no member began a step (or fold, or unfold) before all had
 * ended the one before. With 2^k members that is exact. With other numbers, members without a partner in fold are
 * ahead, and their messages share links with those that are due. Then the bytes are those of eager_steps.h, up to twice
 * as many. With more than EAGER_MOST_RANKS members the bytes, and with more than 8192 the messages, count as if no
 * member were ahead. If a send waits for its receiver (MPI, long messages) no member is ahead, and the path is too
 * long. */
struct collective_cost halving_doubling_path(const struct collective_call *call, int n_members);

#endif
