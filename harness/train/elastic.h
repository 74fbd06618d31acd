/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic.h - --elastic (exchange.E13): batches that servers hand out, in place of a share for each worker.
 *
 * A run has --steps times --workers batches, and batch b is what worker b mod W takes in step b / W of a run that is
 * not elastic (train.L1), at the learning rate of that step. Which worker takes it is decided while it runs.
 *
 * Invariants
 *   V1  Throughput is of all batches, whoever did them, joined for them or is lost since: of the time in which W at a
 *       time were done, by the book (ps/leases.h): the first server's, or of who took its place. W are the workers
 *       that begin the run, however many there are meanwhile: a round is a number of samples, and takes less time with
 *       more workers. So the interval is of a rate that may have changed: who came and went when is in the report.
 *       Costs of a step, losses and records of steps are of the workers that are left of these W, of as many steps as
 *       the one of them has done that has done the fewest.
 *   V2  The run has done as many steps as have all their batches in every part of the parameters: a checkpoint of one
 *       that was stopped says so many, and whoever goes on from it takes each batch that is missing.
 *   V3  The time in which a worker asks for a batch is in no step's. It asks where it was given none ahead, as at its
 *       first step, and where few batches are left (ps/leases.h).
 *   V4  A worker other than worker 0 that alone gets SIGINT, SIGTERM or SIGHUP (a process: worlds that it may leave,
 *       world_leave()) does the batch that it has to its end, says so to the servers, and leaves: the others go on,
 *       and it ends well. The signal of worker 0, of a server, of a process of threads or mpi, or by the run's
 *       launcher stops the run: each worker ends with the batch that it has, so that they have done different numbers
 *       of steps (stop.Z4).
 *   V5  Who joins (exchange.E15, world.W9) runs with the options of the others, and compares all that must be equal
 *       with those of rank 0. It probes and reports nothing of its own: what it has done is in the book.
 *   V6  With --server-save what a server had not written when it was lost is done again, by whoever asks (ps/audit.h):
 *       workers do more steps than there are batches, at most elastic_most_again() more, and throughput (V1) is of
 *       batches that are done in the end, in all the time that this took.
 */
#ifndef HARNESS_TRAIN_ELASTIC_H
#define HARNESS_TRAIN_ELASTIC_H

#include <stdio.h>

#include "harness/train/train.h"

/* Of a job whose steps are known, and all that --elastic does not go with. opts: as given; it implies --on-loss report.
 * RC_INVAL names what is wrong. */
enum rc elastic_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;

/* With --server-save: of n_batches, those that are handed out again at most where servers are lost, so that one worker
 * may have to do so many more: of each server what it has not written yet, and what each worker had then and before. */
size_t elastic_most_again(const struct train_job *job, size_t n_batches);

static inline bool elastic_is_on(const struct train_job *job)
{
    return job->exchange.n_batches > 0;
}

/* Of the result's ranks the server that has the book at the end, or, where that was lost when all was over, one that
 * knows it (server_facts.follows_book); -1: none does. */
int elastic_book_rank(const struct train_result *r);
/* "120, 119: 240 batches, 1 handed out again, 0 samples lost": steps of the workers that are left, and batches; or that
 * these numbers are not known. */
const char *elastic_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
/* Who came and went before all batches were done, by the book; at most MOST_WORKER_CHANGES. */
size_t elastic_changes(const struct train_job *job, const struct train_result *r, const struct worker_change **out);
/* "joined", "left", "lost" */
const char *worker_change_word(enum worker_change_kind what);
/* Lines of the same, of a run that workers may join. */
void elastic_tell_changes(FILE *to, const struct train_job *job, const struct train_result *r);
/* Of the summary; nothing of a run that is not elastic. */
void record_elastic(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
