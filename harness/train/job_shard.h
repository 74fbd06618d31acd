/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_shard.h - --shard-dense K: the dense layers of the network are cut by their outputs over groups of K workers
 * (models/engine/network_shard.h); what is before them is every worker's, as without.
 *
 * The job is of the whole network, or of a stage of it (job_stages.h). Each rank trains by a job of its own, of its
 * shard, which it takes from that. A stage without dense layers is not cut: all its ranks have all of it.
 *
 * Invariants
 *   H1  Of W workers, K of which are a group, worker r is shard r mod K of group r / K: with stages the ranks of the
 *       same stage of K workers that follow one another.
 *   H2  Samples are those of train.L1, and losses each worker's own. Parameters after each step are those of
 *       --shard-dense 1 but for rounding: gradients are the same sums in another order.
 *   H3  A checkpoint is of the whole network: it has no shards, and a run goes on from it with any --shard-dense.
 *   H4  What crosses in a group is sent and waited for by the main task alone, what crosses of gradients with --overlap
 *       on by the communicator alone, each over a transport of its own (world.W6, task.K6). The main task waits within
 *       a step for main tasks at the same place of theirs, and for pieces of the step before; the communicator for
 *       pieces that were submitted before: no two ranks wait for each other. The bits are those without overlap.
 */
#ifndef HARNESS_TRAIN_JOB_SHARD_H
#define HARNESS_TRAIN_JOB_SHARD_H

#include "harness/train/train.h"

struct network;

/* Are there shards in what the ranks of a resolved job have? Of a stage without dense layers there are none. */
static inline bool job_shard_is_cut(const struct train_job *job)
{
    return job->shard.n_shards > 1;
}
/* What cannot go with --shard-dense, of a job whose mode, world, compute and ranks are known. RC_INVAL. */
enum rc job_shard_check(const struct train_job *job) MUST_CHECK;
/* Of a job whose network's options, or profile, are known. RC_INVAL: it has no dense layers, or too few outputs of one.
 * RC_NOMEM. */
enum rc job_shard_resolve(struct train_job *job) MUST_CHECK;
/* Of a job whose exchange and overlap are resolved: set shard.pieces_differ. RC_INVAL: they do, and --priority on
 * orders them. RC_NOMEM. */
enum rc job_shard_find_order(struct train_job *job) MUST_CHECK;
/* job_memory_resolve(), of the shard that has the most. network: NULL of a profile. */
enum rc job_shard_memory(struct train_job *job, const struct network *network) MUST_CHECK;
/* job_memory_of_rank(), of a stage of the job's network that is thought of: of the rank that needs most. */
enum rc job_shard_bytes(size_t *out, const struct train_job *job, const struct network *stage) MUST_CHECK;
/* *out: the job of shard `number`. It borrows all that job owns but its segments and what it resumes from, which
 * job_shard_free() frees. RC_NOMEM. */
enum rc job_shard_take(struct train_job *out, const struct train_job *job, int number) MUST_CHECK;
void job_shard_free(struct train_job *own);
/* float[job->n_params] of the whole network, and float[n] of shard `number`: one copied into its places of the other.
 */
enum rc job_shard_cut(float *own, const float *whole, const struct train_job *job, int number) MUST_CHECK;
enum rc job_shard_paste(float *whole, const float *own, const struct train_job *job, int number) MUST_CHECK;
/* rc, and where its message is of the loss of a rank it says which shard that one has. */
enum rc job_shard_explain(const struct train_job *job, enum rc rc) MUST_CHECK;
/* A record of kind "shard" for each shard of group 0 of each stage; without --shard-dense none. */
enum rc job_shard_write(struct report *to, const struct train_job *job, const struct train_result *r) MUST_CHECK;

#endif
