/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_overlap.h - what --overlap auto and --priority auto come to: before a world what would stand in the way, in it
 * on how many hosts the workers are.
 *
 * Between hosts a step of VGG-16's shape took 1.00 times the longer one of computing and exchange with overlap and
 * priority, 1.27 times with overlap alone, 1.98 times without (results/2026-11-26-overlap-check, measured with
 * allreduce); with its dense layers in 2 shards 0.77 of one without in simulation, and 0.65 by priority
 * (results/2026-11-27-shard-overlap). On one host exchanging takes the cores that computing needs, and was not faster
 * beside it.
 *
 * Invariants
 *   O1  --overlap auto: on where workers are on several hosts, in allreduce with more than one piece to exchange, and
 *       nothing else of the job stands in the way; else off. The bits are the same (exchange.E3).
 *   O2  --priority auto: on where --overlap auto has come to on; but not with --alternate-exchange, nor with shards
 *       that are not cut into equally many pieces (exchange.E14), which cannot have it; else off.
 *   O3  What off or on asks for is done, or refused, as if there were no auto.
 *   O4  All workers choose alike, from what all of them know.
 */
#ifndef HARNESS_TRAIN_JOB_OVERLAP_H
#define HARNESS_TRAIN_JOB_OVERLAP_H

#include "harness/train/train.h"

/* Set may_overlap and overlap_reason of a job that is prepared but for these. RC_NOMEM. */
enum rc job_overlap_resolve(struct train_job *job) MUST_CHECK;
/* The choice of a job whose workers are on n_hosts in a world whose tasks may send, or may not: mpi_level says why
 * then. Pure. */
struct overlap_choice job_overlap_choose(const struct train_job *job, int n_hosts, bool tasks_may_send,
                                         const char *mpi_level);
/* overlap, priority and overlap_reason of a summary. */
void record_overlap(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
