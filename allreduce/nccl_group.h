/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_group.h - some ranks with a GPU each: one communicator of NCCL over them, in the memory of their GPUs, and a
 * separate stream. Used by "nccl" and "nccl-hierarchical".
 *
 *     begin    the stream waits for the gradients (compute.I2); ncclGroupStart
 *     sum ...  in place
 *     end      ncclGroupEnd; a mark after the group
 *     wait     until the mark is reached; the compute waits for the mark, too (compute.I3)
 *
 * Invariants
 *   D1  No call of the library blocks: it is polled (ncclCommGetAsyncError) until it is complete. Between polls this
 *       rank checks whether a rank of the world was lost or has failed. If so, ncclCommAbort ends the incomplete work
 *       on this rank; the other ranks find the same.
 *   D2  The host waits for the device only when a mark is reached: no wait of it depends on another rank.
 *   D3  Some faults can be found before there is a communicator: no library, another version, two ranks on one GPU. All
 *       ranks of the world find and name these alike.
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
    enum rc failed; /* allreduce.D1: every later call returns it */
    char why[RC_MESSAGE_BYTES];
};

/* From env it uses transport (its world), compute, timeout_ms, n_groups. members: the group of this rank, a part of
 * that world or all of it. Collective over the world. *out is written on errors too: close it. RC_UNSUPPORTED,
 * RC_MISMATCH (allreduce.D3); RC_DEVICE, RC_PEER, RC_TIMEOUT, RC_NOMEM. */
enum rc nccl_group_open(struct nccl_group *out, const char *name, const struct collective_env *env,
                        struct world *members) MUST_CHECK;
void nccl_group_close(struct nccl_group *g); /* accepts a zeroed one */

enum rc nccl_group_begin(struct nccl_group *g) MUST_CHECK;
/* data[n_elems], of the device. Between begin and end, queued in this order, the same on all members. */
enum rc nccl_group_sum(struct nccl_group *g, float *data, size_t n_elems) MUST_CHECK;
enum rc nccl_group_sum_to_first(struct nccl_group *g, float *data,
                                size_t n_elems) MUST_CHECK;                              /* others' is undefined */
enum rc nccl_group_spread(struct nccl_group *g, float *data, size_t n_elems) MUST_CHECK; /* from member 0 */
enum rc nccl_group_end(struct nccl_group *g, size_t group) MUST_CHECK;
enum rc nccl_group_wait(struct nccl_group *g, size_t group) MUST_CHECK;
/* rc is the result of a call here, or of the work between begin and wait. RC_OK changes nothing; else the communicator
 * is aborted, and the reason kept. Returns rc. */
enum rc nccl_group_give_up(struct nccl_group *g, enum rc rc) MUST_CHECK;

/* Can the library be found? Call before anything starts; errors begin with "--reducer NAME: ...". */
enum rc nccl_check_library(const char *name) MUST_CHECK;

#endif
