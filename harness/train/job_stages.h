/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_stages.h - --stages S: every worker is a pipeline of S ranks, each of which computes a stage of the network
 * (models/engine/stage.h) and nothing of the rest.
 *
 * A stage is a training of its own: its job has the stage's parameters and state alone, and its ranks, one of each
 * pipeline, exchange their gradients as the mode has it. What ties the stages of a pipeline together is that gradients
 * are computed through all of them (rank_pipe.c).
 *
 * Invariants
 *   G1  Of W workers in S stages, rank r is stage r mod S of worker r / S; behind them come the servers of stage 0, of
 *       stage 1, and so on.
 *   G2  All ranks cut the network in the same places: so that the most expensive stage costs the least, by the times of
 *       --profile, or without it by the multiply-adds of its nodes. What is replayed is cut as the network that it was
 *       recorded of.
 *   G3  The parameters of all stages, one behind the other, are after each step those that --stages 1 with the same
 *       --accumulate has: to the bit where the order in which the exchange adds the workers' values of an element does
 *       not depend on its place in the gradient. So with up to 2 workers, with servers and --consistency sync, and with
 *       the reducers root, tree, halving-doubling and shm. A ring adds each of its chunks in another order.
 */
#ifndef HARNESS_TRAIN_JOB_STAGES_H
#define HARNESS_TRAIN_JOB_STAGES_H

#include "harness/train/train.h"

struct network;

/* Why this job cannot have stages; NULL: it can. */
const char *job_stages_why_not(const struct train_job *job);
/* Micro-batches of n that the stage holds at once; 0: the job is no stage. */
size_t job_stages_held(const struct train_job *job, size_t n_micro_batches);
/* Of the tensors of each way, in the host's memory, of a stage whose compute has its own (engine/device_pipe.h, V2); 0:
 * it needs none. */
size_t job_stages_places(const struct train_job *job);
/* What cannot go with --stages, of a job whose mode, world and compute are known. RC_INVAL. */
enum rc job_stages_check(const struct train_job *job) MUST_CHECK;
/* Cut the network of a job, and put the stage that the job is in its place. RC_INVAL: it has no so many stages;
 * RC_NOMEM.
 */
enum rc job_stages_resolve(struct train_job *job, struct network **network) MUST_CHECK;
/* Does --profile tell what stages cost, and is not what is trained? --model NETWORK with --stages. */
bool job_stages_only_balance(const struct train_job *job, bool model_is_given);
/* Of what a stage that replays keeps for those beside it, B samples a micro-batch: bytes. */
size_t job_stages_replay_bytes(const struct train_job *job, size_t B);
/* The most expensive stage's cost over the mean: 1 is balance. */
double job_stages_imbalance(const struct train_job *job);
/* "worker, stage 1, shard 0": what a rank of the job is, its own job where it has a shard; without stages and shards
 * "worker" or "server" alone. */
void job_stages_role(char *out, size_t n_bytes, const struct train_job *job, bool is_worker);
/* G1: the rank of all that is this job's stage of a worker. */
int job_stages_rank(const struct train_job *job, int worker);
/* The share of a step in which a stage has nothing to do, where all take as long: (S - 1) / (M + S - 1). */
double job_stages_bubble_ratio(const struct train_job *job);

#endif
