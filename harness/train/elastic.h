/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic.h - --elastic (exchange.E13): servers assign batches to workers, instead of a fixed share for each worker.
 *
 * A run has --steps times --workers batches. Batch b is the one that worker b mod W takes in step b / W of a run that
 * is not elastic (train.L1), at the learning rate of that step. Which worker takes it is decided during the run.
 *
 * Invariants
 *   V1  Throughput counts all batches, also those of workers that joined later or were lost. It is measured over the
 *       time in which each W batches were completed, as the work queue has it (ps.B11): the first server's, or its
 *       replacement's. W is the number of workers at the start, even if it changes. A round is a number of samples, so
 *       it takes less time with more workers. The interval therefore describes a rate that may change; the report lists
 *       which workers came and left, and when. Costs of a step, losses and step records cover the remaining workers
 *       among these W. They cover as many steps as the slowest of them has completed.
 *   V2  The run has completed as many steps as have all their batches in every part of the parameters. A checkpoint of
 *       a stopped run records this number; a run that resumes from it takes each missing batch.
 *   -   The time a worker spends requesting a batch is in no step's time. It requests one if none was assigned ahead,
 *       as at its first step and when few batches are left (ps/recovery/leases.h).
 *   V4  A worker other than worker 0 may get SIGINT, SIGTERM or SIGHUP alone (a process, in worlds that it may leave:
 *       world_leave()). It then completes its current batch, informs the servers and leaves. The other workers
 *       continue, and its exit is a success. The signal stops the whole run if it is for worker 0, for a server, for a
 *       process of threads or mpi, or from the run's launcher. Each worker then completes its current batch, so workers
 *       may end with different numbers of steps (world.Z4).
 *   -   A worker that joins (exchange.E15, world.W9) runs with the same options as the other workers, and compares all
 *       that must be equal with rank 0. It does not probe and writes no report: its work is in the work queue.
 */
#ifndef HARNESS_TRAIN_ELASTIC_H
#define HARNESS_TRAIN_ELASTIC_H

#include <stdio.h>

#include "harness/train/train.h"

/* Check and apply --elastic, for a job whose steps are known. opts: as given; it implies --on-loss report. RC_INVAL
 * names the option that --elastic cannot be combined with. */
enum rc elastic_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;

static inline bool elastic_is_on(const struct train_job *job)
{
    return job->exchange.n_batches > 0;
}

/* The rank of the server that holds the work queue at the end. If it was lost after all work was done: a server that
 * knows the queue (server_facts.follows_book). -1: no server does. */
int elastic_book_rank(const struct train_result *r);
/* "120, 119: 240 batches, 1 handed out again, 0 samples lost": steps of the remaining workers, and batches; or that
 * these numbers are unknown. */
const char *elastic_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
/* Workers that came and left before all batches were done, from the work queue; at most MOST_WORKER_CHANGES. */
size_t elastic_changes(const struct train_job *job, const struct train_result *r, const struct worker_change **out);
/* "joined", "left", "lost" */
const char *worker_change_word(enum worker_change_kind what);
/* Print these changes as lines, for a run that workers may join. */
void elastic_tell_changes(FILE *to, const struct train_job *job, const struct train_result *r);
/* Add to the summary; nothing unless the run is elastic. */
void record_elastic(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
