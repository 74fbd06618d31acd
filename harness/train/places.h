/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - what every rank of a run has come to: a rank is (worker, stage, shard), and servers are of a stage.
 *
 * The result of a run in stages (job_stages.h) is that of its first stage; what the ranks of the others have come to is
 * brought there, and each rank has a record of its own.
 *
 * Invariants
 *   K1  worker_index and stage_index of a worker's record are those of its rank (job_stages.G1), and shard_index is
 *       which shard it has of what its stage is (job_shard.H1): 0 where that is not cut. Of data parallelism alone they
 *       are its rank, 0 and 0. A server has a stage alone.
 */
#ifndef HARNESS_TRAIN_PLACES_H
#define HARNESS_TRAIN_PLACES_H

#include "harness/report/record.h"
#include "harness/train/train.h"

/* Of a run in stages, behind its ranks' trainings: *whole, on the first rank of pipe, which is worker 0's, is that
 * rank's result, and gets what the other stages have come to. own: the result of this rank's stage. Collective over
 * pipe. RC_NOMEM; as world_gather(). */
enum rc places_gather(struct train_result *whole, struct world *pipe, const struct train_job *job,
                      const struct train_result *own) MUST_CHECK;
void places_free(struct train_result *r); /* what places_gather() has put there */
/* A record of kind "rank" for each rank of each stage (K1); of a worker with the parts of its mean step, over the same
 * steps as the summary's. RC_NOMEM; as report_write(). */
enum rc places_write_ranks(struct report *to, const struct train_job *job, const struct train_result *r,
                           const struct train_summary *s) MUST_CHECK;

#endif
