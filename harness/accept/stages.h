/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages.h - what an acceptance test measures, stage by stage.
 *
 * Each stage is collective over env->world, and fills its part of env->out on rank 0 alone. It judges nothing
 * (judge.h).
 *
 * Invariants
 *   S1  A stage that cannot measure (one node, no transport) leaves its data empty, says why in stage[].why, and is
 *       RC_OK: the others go on. An error ends the test: the world is broken.
 *   S2  Between repeats ranks agree (rank 0 decides, all get it) whether another one follows: by the evidence, by
 *       --stage-limit, by a signal. So nobody waits for a rank that has left.
 *   S3  Pairs of a tournament share no node, so nobody's link has other traffic: circle method, n - 1 rounds, of an
 *       odd number of nodes one idles in each round and none is dropped.
 *   S4  Ranks of one kernel (namespaces of one machine) compute in turns: otherwise they would measure each other.
 */
#ifndef HARNESS_ACCEPT_STAGES_H
#define HARNESS_ACCEPT_STAGES_H

#include "harness/accept/acceptance.h"
#include "harness/accept/criteria.h"
#include "harness/accept/inject.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

struct fleet { /* of every rank, the same on all; owned */
    int n_nodes, n_ranks;
    int *node_of_rank; /* [n_ranks] */
    int *first_rank;   /* [n_nodes] */
    int *n_node_ranks; /* [n_nodes] */
    int *turn_of_rank; /* [n_ranks]: S4; ranks with equal turns may compute at once */
    int n_turns;
    struct accept_node *node; /* [n_nodes] */
};
/* Collective. RC_NOMEM. */
enum rc fleet_open(struct fleet *out, struct world *w) MUST_CHECK;
void fleet_close(struct fleet *f); /* accepts a zeroed one */

struct stage_env { /* of one rank; borrowed */
    struct world *world;
    const struct fleet *fleet;
    const struct criteria *criteria;
    const struct inject *inject; /* n_faults 0: none */
    const struct transport_ops *transport;
    const struct compute_backend *backend;
    struct compute *compute;
    int n_threads;
    int timeout_ms; /* of a message; WAIT_FOREVER in virtual time */
    uint64_t seed;
    struct acceptance *out; /* rank 0; NULL elsewhere */
    /* Rank 0: part of the stage that is done (0 to 1), and what is under way. NULL: nobody asks. */
    void (*progress)(void *arg, double done_ratio, const char *what);
    void *progress_arg;
    uint64_t started_ns; /* of this stage, on the world's clock: for criteria->stage_limit_s */
};

typedef enum rc stage_fn(struct stage_env *env);

stage_fn stage_preflight, stage_compute, stage_noise, stage_pairwise, stage_collectives, stage_ps, stage_training,
    stage_integrity, stage_soak;

/* S2: rank 0 wants to go on (wants, read on rank 0 alone), no signal, within the stage's limit. The same on all ranks.
 * Collective. */
enum rc stage_goes_on(struct stage_env *env, bool wants, bool *out) MUST_CHECK;
/* Own values of this rank, value[n_repeats], to metric `metric` of env->out. Collective. RC_NOMEM. */
enum rc stage_keep_metric(struct stage_env *env, int metric, const double *value, int n_repeats) MUST_CHECK;

#endif
