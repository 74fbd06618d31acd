/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - the results of every rank of a run. A worker rank is (worker, stage, shard); a server belongs to a stage.
 *
 * The result of a run in stages (stages.h) is that of its first stage. The results of the other stages' ranks are
 * gathered there, and each rank has a separate record.
 *
 * Invariants
 *   P1  In a worker's record, worker_index and stage_index are those of its rank (train.G1). shard_index is its
 *       shard of its stage (train.H1): 0 if the stage is not split. With data parallelism alone they are its rank,
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
/* Write a record of kind "rank" for each rank of each stage (train.P1). A worker's has the parts of its mean step, over
 * the same steps as the summary. RC_NOMEM; as report_write(). */
enum rc places_write_ranks(struct report *to, const struct train_job *job, const struct train_result *r,
                           const struct train_summary *s) MUST_CHECK;

/* --- parameter servers: what each holds, how late gradients were, which workers waited --- */

/* Add to the summary: placement and the server that holds most, consistency, rate of stale gradients, dropped
 * gradients. Null without servers. */
void record_servers(struct record *r, const struct train_job *job, const struct train_result *result);
/* For rank i of the result: dropped gradients, lead, and staleness as a histogram (exchange/consistency.h). A worker's
 * histogram has its own steps, each with the staleness of its stalest part. A server's has all parts that it applied.
 * Null without servers. */
void record_server_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int i);
/* Write the record of kind staleness: the steps of all workers. */
enum rc write_staleness(struct report *to, const struct train_summary *s) MUST_CHECK;

/* Parts of a worker's gradient in a step, if servers drop late parts; 0: no rule of this run drops any. */
double servers_parts_per_step(const struct train_job *job, const struct train_result *result);
/* Dropped parts of gradients, of all workers. */
uint64_t servers_late_count(const struct train_result *result);
/* What servers refused, by reason, into out[n_bytes]; "" if nothing. Returns out. */
const char *servers_refused_text(char *out, size_t n_bytes, const struct train_result *result);
/* "sync:1, 40 parts of gradients came too late and were dropped": the consistency rule of a run with servers, and its
 * effect. */
void servers_consistency_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);

/* "1 of each server, on the next one; 1 server was lost and replaced, 0 updates were rolled back; 2 replicas were made
 * again, by 0.33 MB"; "": there are no replicas. */
const char *servers_replicas_text(char *out, size_t n_bytes, const struct train_job *job,
                                  const struct train_result *result);

#endif
