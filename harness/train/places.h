/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - the results of every rank of a run. A worker rank is (worker, stage, shard); a server belongs to a stage.
 *
 * The result of a run in stages (stages.h) is that of its first stage. The results of the other stages' ranks are
 * gathered there, and each rank has a separate record.
 *
 * Invariants
 *   K1  In a worker's record, worker_index and stage_index are those of its rank (job_stages.G1). shard_index is its
 *       shard of its stage (job_shard.H1): 0 if the stage is not split. With data parallelism alone they are its rank,
 *       0 and 0. A server's record has only the stage.
 */
#ifndef HARNESS_TRAIN_PLACES_H
#define HARNESS_TRAIN_PLACES_H

#include "harness/report/record.h"
#include "harness/train/train.h"

/* For a run in stages, after its ranks' trainings. *whole, on the first rank of pipe (worker 0's), is that rank's
 * result, and receives the results of the other stages. own: the result of this rank's stage. Collective over pipe.
 * RC_NOMEM; as world_gather(). */
enum rc places_gather(struct train_result *whole, struct world *pipe, const struct train_job *job,
                      const struct train_result *own) MUST_CHECK;
void places_free(struct train_result *r); /* frees what places_gather() allocated */
/* Write a record of kind "rank" for each rank of each stage (K1). A worker's has the parts of its mean step, over the
 * same steps as the summary. RC_NOMEM; as report_write(). */
enum rc places_write_ranks(struct report *to, const struct train_job *job, const struct train_result *r,
                           const struct train_summary *s) MUST_CHECK;

#endif
