/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_stages.h - --stages S: every worker is a pipeline of S ranks. Each rank computes one stage of the network
 * (models/engine/stage.h).
 *
 * Each stage is a separate training. Its job has only the stage's parameters and state. Its ranks, one of each
 * pipeline, exchange their gradients by the mode's rule. The stages of a pipeline are connected because gradients are
 * computed through all of them (rank_pipe.c).
 *
 * Invariants
 *   G1  With W workers in S stages, rank r is stage r mod S of worker r / S. After them come the servers of stage 0, of
 *       stage 1, and so on.
 *   G2  All ranks cut the network at the same nodes, to minimise the cost of the most expensive stage. The cost is the
 *       times of --profile, or without it the multiply-adds of the nodes. A replayed model is cut like the network it
 *       was recorded from.
 *   G3  The parameters of all stages, concatenated, equal after each step those of --stages 1 with the same
 *       --accumulate. They are equal to the bit if the order in which the exchange adds the workers' values of an
 *       element does not depend on its position in the gradient. That holds with up to 2 workers, with servers and
 *       --consistency sync, and with the reducers root, tree, halving-doubling and shm. A ring adds each of its chunks
 *       in another order.
 */
#ifndef HARNESS_TRAIN_JOB_STAGES_H
#define HARNESS_TRAIN_JOB_STAGES_H

#include "harness/train/train.h"

struct network;

/* Why this job cannot have stages; NULL: it can. */
const char *job_stages_why_not(const struct train_job *job);
/* Micro-batches, of n, that the stage holds at once; 0: the job is not a stage. */
size_t job_stages_held(const struct train_job *job, size_t n_micro_batches);
/* Number of host buffers for tensors in each direction, for a stage whose compute has separate memory
 * (engine/device_pipe.h, V2); 0: none are needed. */
size_t job_stages_places(const struct train_job *job);
/* Check what --stages cannot be combined with, for a job whose mode, world and compute are known. RC_INVAL. */
enum rc job_stages_check(const struct train_job *job) MUST_CHECK;
/* Cut the network of a job, and replace it by the job's stage. RC_INVAL: it cannot have S stages; RC_NOMEM. */
enum rc job_stages_resolve(struct train_job *job, struct network **network) MUST_CHECK;
/* Is --profile used only for the costs of stages, and not as the model to train? True for --model NETWORK with
 * --stages. */
bool job_stages_only_balance(const struct train_job *job, bool model_is_given);
/* Bytes that a replaying stage keeps for the stages next to it, with B samples per micro-batch. */
size_t job_stages_replay_bytes(const struct train_job *job, size_t B);
/* Cost of the most expensive stage over the mean; 1 is perfect balance. */
double job_stages_imbalance(const struct train_job *job);
/* "worker, stage 1, shard 0": the role of a rank of the job (its own job if it has a shard). Without stages and shards
 * only "worker" or "server". */
void job_stages_role(char *out, size_t n_bytes, const struct train_job *job, bool is_worker);
/* G1: the global rank of this job's stage of a worker. */
int job_stages_rank(const struct train_job *job, int worker);
/* Share of a step in which a stage is idle, if all stages take equal time: (S - 1) / (M + S - 1). */
double job_stages_bubble_ratio(const struct train_job *job);

#endif
