/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages.h - --stages S: every worker is a pipeline of S ranks. Each rank computes one stage of the network
 * (models/engine/stage.h).
 *
 * Each stage is a separate training. Its job has only the stage's parameters and state. Its ranks, one of each
 * pipeline, exchange their gradients by the mode's rule. The stages of a pipeline are connected because gradients are
 * computed through all of them (stages.c).
 *
 * Invariants
 *   G1  With W workers in S stages, rank r is stage r mod S of worker r / S. After them come the servers of stage 0, of
 *       stage 1, and so on.
 *   G2  All ranks cut the network at the same nodes, to minimise the cost of the most expensive stage. The cost is the
 *       times of --profile, or without it the multiply-adds of the nodes. A replayed model is cut like the network it
 *       was recorded from.
 *   -   The parameters of all stages, concatenated, equal after each step those of --stages 1 with the same
 *       --accumulate. They are equal to the bit if the order in which the exchange adds the workers' values of an
 *       element does not depend on its position in the gradient. That holds with up to 2 workers, with servers and
 *       --consistency sync, and with the reducers root, tree, halving-doubling and shm. A ring adds each of its chunks
 *       in another order.
 */
#ifndef HARNESS_TRAIN_STAGES_H
#define HARNESS_TRAIN_STAGES_H

#include "harness/report/record.h"
#include "harness/train/train.h"

struct network;

/* Micro-batches, of n, that the stage holds at once; 0: the job is not a stage. */
size_t job_stages_held(const struct train_job *job, size_t n_micro_batches);
/* Number of host buffers for tensors in each direction, for a stage whose compute has separate memory
 * (models.V2); 0: none are needed. */
size_t job_stages_places(const struct train_job *job);
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
/* train.G1: the global rank of this job's stage of a worker. */
int job_stages_rank(const struct train_job *job, int worker);
/* Share of a step in which a stage is idle, if all stages take equal time: (S - 1) / (M + S - 1). */
double job_stages_bubble_ratio(const struct train_job *job);

/* --- the bound of a run in stages, and the utilisation of its ranks --- */

struct stage_limits {             /* of one stage, measured; seconds */
    double forward_s, backward_s; /* least time of any worker for a micro-batch in this run; 0: none */
    double latency_s;             /* of a message to the next stage */
    double pass_s;                /* of a tensor to it, after the latency */
    double gather_s, scatter_s;   /* of a micro-batch in a shard group, forward and backward; 0: it has none */
    double exchange_s; /* of its gradients among its replicas, per step, by itself; 0: no replicas; NaN: not known */
    bool overlaps;     /* it exchanges while it computes */
};

/* The least time of a step: the longest path through the schedule (models/engine/stage.h). Times are the
 * profile's, else the least that any replica of a stage computed for a micro-batch in this run. Steps follow each
 * other; each stage exchanges its gradients after its last backward, unless the exchange starts earlier. With S equal
 * stages, M micro-batches and free messages it is (M + S - 1) / M times a stage's computing in a step (Huang et al.,
 * "GPipe", 2019). One forward, one backward gives the same (Narayanan et al., "PipeDream", 2019). With unequal stages
 * it is less than that factor times the slowest stage: only that one has all its M micro-batches on the path. With its
 * own times a run cannot beat this bound: none of its actions took less, and more actions make no path shorter. The
 * bound then shows what links, exchange and variation in computing add to the schedule, not whether stages compute as
 * fast as possible. NaN: no times are known, or an exchange time is not. limits: [stages]. RC_NOMEM. */
enum rc stages_find_bound(double *bound_s, const struct train_job *job, const struct stage_limits *limits) MUST_CHECK;
/* Do the stages' compute times come from a profile, not from the run itself? */
bool stages_have_profile(const struct train_job *job);
/* Samples per second of one rank that computes the whole network alone, by the profile; NaN: no profile. */
double stages_alone_samples_per_s(const struct train_job *job);
/* Add to a summary: imbalance, bubble and bound; nothing without stages. */
void record_stages(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
