/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_overlap.h - resolves --overlap auto and --priority auto: before the world starts, whether the job rules them out;
 * then by the number of the workers' hosts.
 *
 * Between hosts, a step of VGG-16's shape took 1.00 times the longer of computing and exchange with overlap and
 * priority. It took 1.27 times with overlap alone, 1.98 times without (results/2026-11-26-overlap-check, measured with
 * allreduce). In simulation with its dense layers in 2 shards, overlap took 0.77 of the time without, and with priority
 * 0.65 (results/2026-11-27-shard-overlap). On one host the exchange uses the cores that computing needs; overlap was
 * not faster there.
 *
 * Invariants
 *   O1  --overlap auto: on if three conditions hold, else off. Workers are on several hosts; the mode is allreduce with
 *       more than one piece to exchange; nothing else in the job prevents it. The bits are the same (exchange.E3).
 *   O2  --priority auto: on if --overlap auto resolved to on; else off. It is also off where it is impossible: with
 *       --alternate-exchange, and with shards that have different numbers of pieces (exchange.E14).
 *   O3  An explicit on or off is obeyed or refused, as if auto did not exist.
 *   O4  All workers make the same choice, from facts that all of them know.
 */
#ifndef HARNESS_TRAIN_JOB_OVERLAP_H
#define HARNESS_TRAIN_JOB_OVERLAP_H

#include "harness/train/train.h"

/* Set may_overlap and overlap_reason of a job that is otherwise prepared. RC_NOMEM. */
enum rc job_overlap_resolve(struct train_job *job) MUST_CHECK;
/* The choice for a job whose workers are on n_hosts. tasks_may_send: whether tasks of this world may send; if not,
 * mpi_level gives the reason. Pure. */
struct overlap_choice job_overlap_choose(const struct train_job *job, int n_hosts, bool tasks_may_send,
                                         const char *mpi_level);
/* Add overlap, priority and overlap_reason to a summary. */
void record_overlap(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
