/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_group.h - some ranks with a GPU each: one communicator of NCCL over them, in the memory of their GPUs, and a
 * stream of its own. What "nccl" and "nccl-hierarchical" share.
 *
 *     begin    the stream waits for the gradients (side.I2); ncclGroupStart
 *     sum ...  in place
 *     end      ncclGroupEnd; a mark behind the group
 *     wait     until the mark is reached; the compute waits for the mark, too (side.I3)
 *
 * Invariants
 *   D1  No call of the library blocks: it is asked (ncclCommGetAsyncError) until it is through, and between, whether a
 *       rank of the world was lost or has failed. What it was not through with when that was found is ended by
 *       ncclCommAbort, on this rank; the others find the same.
 *   D2  The host waits for the device only when a mark is reached: no wait of it depends on another rank.
 *   D3  Whatever can be wrong before there is a communicator (no library, another version, two ranks on one GPU) is
 *       found by all ranks of the world alike, and named.
 */
#ifndef ALLREDUCE_NCCL_GROUP_H
#define ALLREDUCE_NCCL_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "allreduce/nccl_library.h"
#include "harness/base/rc.h"
#include "harness/compute/side.h"
#include "harness/exchange/collective.h"

struct world;

struct nccl_group {
    const char *name; /* of the collective */
    struct world *world, *members;
    struct nccl_library library;
    struct compute_side *side;
    ncclComm_t communicator; /* NULL: none, or aborted */
    bool *in_flight;         /* [n_groups]: ended, and not waited for */
    size_t n_groups;
    bool in_group; /* between begin and end */
    int timeout_ms;
    enum rc failed; /* D1: every later call returns it */
    char why[RC_MESSAGE_BYTES];
};

/* Of env: transport (its world), compute, timeout_ms, n_groups. members: those of this rank, a part of that world or it
 * itself. Collective over the world. *out is written on errors too: close it. RC_UNSUPPORTED, RC_MISMATCH (D3);
 * RC_DEVICE, RC_PEER, RC_TIMEOUT, RC_NOMEM. */
enum rc nccl_group_open(struct nccl_group *out, const char *name, const struct collective_env *env,
                        struct world *members) MUST_CHECK;
void nccl_group_close(struct nccl_group *g); /* accepts a zeroed one */

enum rc nccl_group_begin(struct nccl_group *g) MUST_CHECK;
/* data[n_elems], of the device. Between begin and end, queued in this order, the same on all members. */
enum rc nccl_group_sum(struct nccl_group *g, float *data, size_t n_elems) MUST_CHECK;
enum rc nccl_group_sum_to_first(struct nccl_group *g, float *data,
                                size_t n_elems) MUST_CHECK;                              /* others' is undefined */
enum rc nccl_group_spread(struct nccl_group *g, float *data, size_t n_elems) MUST_CHECK; /* that of member 0 */
enum rc nccl_group_end(struct nccl_group *g, size_t group) MUST_CHECK;
enum rc nccl_group_wait(struct nccl_group *g, size_t group) MUST_CHECK;
/* rc was raised, here or by what works between begin and wait: RC_OK changes nothing, else the communicator is aborted,
 * and the reason kept. Returns rc. */
enum rc nccl_group_give_up(struct nccl_group *g, enum rc rc) MUST_CHECK;

/* Is the library there at all? Before anything starts; "--reducer NAME: ...". */
enum rc nccl_check_library(const char *name) MUST_CHECK;

#endif
