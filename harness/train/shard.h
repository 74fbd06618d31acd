/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard.h - --shard-dense K: the outputs of the network's dense layers are split over groups of K workers
 * (models/engine/network_shard.h). Every worker has all layers before them, as without this option.
 *
 * The job describes the whole network, or a stage of it (stages.h). Each rank derives from it a separate job for
 * its shard and trains by that. A stage without dense layers is not split: all its ranks have all of it.
 *
 * Invariants
 *   H1  W workers form groups of K. Worker r is shard r mod K of group r / K. With stages, a group is the ranks of the
 *       same stage of K consecutive workers.
 *   H2  Samples are those of train.L1, and each worker has its own loss. Parameters after each step are those of
 *       --shard-dense 1 except for rounding: gradients are the same sums in another order.
 *   H3  A checkpoint holds the whole network, without shards. A run resumes from it with any --shard-dense.
 *   H4  Only the main task sends and awaits messages within a group. With --overlap on, only the communicator sends and
 *       awaits gradients. Each has a separate transport (world.W6, world.K6). Within a step the main task waits for
 *       main tasks at the same point, and for chunks of the step before; the communicator waits for chunks submitted
 *       earlier. So no two ranks wait for each other. The bits are those without overlap.
 */
#ifndef HARNESS_TRAIN_SHARD_H
#define HARNESS_TRAIN_SHARD_H

#include <stdbool.h>

#include "harness/net/transport.h"
#include "harness/train/train.h"

struct network;

/* Are the ranks of a resolved job split into shards? A stage without dense layers is not. */
static inline bool job_shard_is_cut(const struct train_job *job)
{
    return job->shard.n_shards > 1;
}
/* Check what --shard-dense cannot be combined with, for a job whose mode, world, compute and ranks are known.
 * RC_INVAL. */
enum rc job_shard_check(const struct train_job *job) MUST_CHECK;
/* Resolve the shards, for a job whose network options, or profile, are known. RC_INVAL: no dense layers, or one has too
 * few outputs. RC_NOMEM. */
enum rc job_shard_resolve(struct train_job *job) MUST_CHECK;
/* Set shard.chunks_differ, for a job whose exchange and overlap are resolved. RC_INVAL: the chunks differ, and
 * --priority on would order them. RC_NOMEM. */
enum rc job_shard_find_order(struct train_job *job) MUST_CHECK;
/* job_memory_resolve() for the shard that needs most. network: NULL for a profile. */
enum rc job_shard_memory(struct train_job *job, const struct network *network) MUST_CHECK;
/* job_memory_of_rank() for a hypothetical stage of the job's network: the rank that needs most. */
enum rc job_shard_bytes(size_t *out, const struct train_job *job, const struct network *stage) MUST_CHECK;
/* *out: the job of shard `number`. It borrows all that job owns, except its segments and its resume state;
 * job_shard_free() frees those. RC_NOMEM. */
enum rc job_shard_take(struct train_job *out, const struct train_job *job, int number) MUST_CHECK;
void job_shard_free(struct train_job *own);
/* whole: float[job->n_params] of the whole network; own: float[n] of shard `number`. Cut copies from whole to own;
 * paste copies back to the same places. */
enum rc job_shard_cut(float *own, const float *whole, const struct train_job *job, int number) MUST_CHECK;
enum rc job_shard_paste(float *whole, const float *own, const struct train_job *job, int number) MUST_CHECK;
/* Returns rc. If its message is about the loss of a rank, it adds that rank's shard. */
enum rc job_shard_explain(const struct train_job *job, enum rc rc) MUST_CHECK;
/* Write a record of kind "shard" for each shard of group 0 of each stage; nothing without --shard-dense. */
enum rc job_shard_write(struct report *to, const struct train_job *job, const struct train_result *r) MUST_CHECK;

/* --- moves an array between two ranks over a transport that was planned for shorter messages --- */

struct rank_move { /* equal on both sides except peer and sends */
    struct transport *transport;
    int peer;
    bool sends, is_hollow;
    uint32_t tag;      /* this tag and the next: unused between the two ranks */
    size_t most_elems; /* of a message */
    int timeout_ms;
};

/* x: float[n] on both sides. The receiver requests each message, so that no message arrives unexpected (net.T13).
 * Errors: those of the transport. */
enum rc rank_move(const struct rank_move *how, float *x, size_t n) MUST_CHECK;
/* A message with n_elems of x, or with no data (hollow). */
struct xfer rank_message(bool is_hollow, const float *x, size_t n_elems, int peer, uint32_t tag);

#endif
