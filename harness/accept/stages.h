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
 *   S3  Pairs of a tournament share no node, so nobody's link has other traffic: circle method, n - 1 rounds, of an odd
 *       number of nodes one idles in each round and none is dropped.
 *   S4  Ranks of one kernel (namespaces of one machine) compute in turns: otherwise they would measure each other; so
 *       do pairs of nodes of one kernel (matches.h). In virtual time they cannot, and all are at work at once.
 */
#ifndef HARNESS_ACCEPT_STAGES_H
#define HARNESS_ACCEPT_STAGES_H

#include "harness/accept/acceptance.h"
#include "harness/accept/blame.h"
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
/* Nodes are hosts, in the order of their first ranks, by the names that they give themselves; in virtual time those of
 * the description, "node0", "node1", ..., and so is each rank with node_per_rank: for self-tests on one host. Equal
 * names of two hosts get the number of the node behind them. Collective. RC_NOMEM, RC_PEER. */
enum rc fleet_open(struct fleet *out, struct world *w, bool node_per_rank) MUST_CHECK;
/* Nodes and ranks of an acceptance_open()ed test of as many. Cannot fail. */
void fleet_describe(struct acceptance *out, const struct fleet *f);
void fleet_close(struct fleet *f); /* accepts a zeroed one */

struct stage_env { /* of one rank; borrowed */
    struct world *world;
    const struct fleet *fleet;
    const struct criteria *criteria; /* as for these nodes: criteria_for_nodes() */
    const struct inject *inject;     /* n_faults 0: none */
    const struct transport_ops *transport;
    const struct compute_backend *backend;
    const struct cluster *cluster; /* in virtual time, what is simulated; NULL elsewhere, or where nobody says */
    struct compute *compute;
    int n_threads;
    int timeout_ms; /* of a message; WAIT_FOREVER in virtual time */
    uint64_t seed;
    const char *wait;       /* accept_terms.wait */
    struct acceptance *out; /* rank 0; NULL elsewhere */
    /* Rank 0: part of the stage that is done (0 to 1), and what is under way. NULL: nobody asks. */
    void (*progress)(void *arg, double done_ratio, const char *what);
    void *progress_arg;
    uint64_t started_ns; /* of this stage, on the world's clock: for criteria->stage_limit_s */
    /* Rank 0: why stage_goes_on() ended a stage that had more to do; "": it did not, as before each stage. */
    char ended[ACCEPT_TEXT_BYTES];
};

typedef enum rc stage_fn(struct stage_env *env);

stage_fn stage_preflight, stage_compute, stage_noise, stage_pairwise, stage_collectives, stage_ps, stage_training,
    stage_integrity, stage_soak;

/* S2: rank 0 wants to go on (wants, read on rank 0 alone), no rank's process has received a signal, and the stage is
 * within its limit of time. The same on all ranks. Where rank 0 wants to and may not, that is in env->ended, and a
 * signal in out->stop_signal. Collective over env->world; no rank leaves before all have come. RC_PEER, RC_NOMEM. */
enum rc stage_goes_on(struct stage_env *env, bool wants, bool *out) MUST_CHECK;
/* The same over a part of env->world that has its rank 0 as rank 0. */
enum rc stage_part_goes_on(struct stage_env *env, struct world *part, bool wants, bool *out) MUST_CHECK;
/* Own values of this rank, value[n_repeats], to metric `metric` of env->out, in place of those that it has. Collective.
 * RC_NOMEM, RC_PEER. */
enum rc stage_keep_metric(struct stage_env *env, int metric, const double *value, int n_repeats) MUST_CHECK;
/* Element i of what this rank got is another one than was to be expected. NaN is. Inline: of every element. */
static inline void stage_check_sum(struct wrong_sum *wrong, size_t i, float value, float expected)
{
    if (value != expected && wrong->n_wrong++ == 0) {
        wrong->element = i;
        wrong->value = (double)value;
        wrong->expected = (double)expected;
    }
}
/* Of a stage's sums of n_bytes, checked n_checks times: what is wrong on each rank, into env->out of rank 0; *own is
 * then zeroed. Where compute has no numbers nothing was checked. Collective. RC_NOMEM, RC_PEER. */
enum rc stage_keep_wrong(struct stage_env *env, enum accept_stage stage, size_t n_bytes, struct wrong_sum *own,
                         int n_checks) MUST_CHECK;
/* Rank 0: why the stage has no data, or less than was asked for; elsewhere nothing. */
void stage_why(struct stage_env *env, enum accept_stage stage, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Rank 0: so much of the stage is done; elsewhere nothing. */
void stage_progress(struct stage_env *env, double done_ratio, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Does time pass without work? */
static inline bool stage_is_virtual(const struct stage_env *env)
{
    return env->world->ops->module.caps & WORLD_VIRTUAL_TIME;
}

#endif
