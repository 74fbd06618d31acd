/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages.h - the measurements of an acceptance test, stage by stage.
 *
 * Each stage is collective over env->world, and fills its part of env->out on rank 0 only. It judges nothing (judge.h).
 *
 * Invariants
 *   S1  A stage that cannot measure (one node, no transport) leaves its data empty, gives the reason in stage[].why,
 *       and returns RC_OK: the next stages run. An error ends the test: the world is broken.
 *   S2  Between repeats all ranks agree whether another one follows: rank 0 decides, by the evidence, --stage-limit and
 *       signals. So no rank waits for a rank that has left.
 *   S3  Simultaneous pairs of a tournament share no node, so no link has other traffic: circle method, n - 1 rounds.
 *       With an odd number of nodes one is idle in each round, and none is left out.
 *   S4  Ranks of one kernel (namespaces of one machine) compute in turns, so that they do not disturb each other; so do
 *       pairs of nodes of one kernel (matches.h). In virtual time they cannot disturb each other, and all run at once.
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

struct soak_part; /* metrics.h */

struct fleet { /* equal on all ranks; owned */
    int n_nodes, n_ranks;
    int *node_of_rank; /* [n_ranks] */
    int *first_rank;   /* [n_nodes] */
    int *n_node_ranks; /* [n_nodes] */
    int *turn_of_rank; /* [n_ranks]: accept.S4; ranks with equal turns may compute simultaneously */
    int n_turns;
    struct accept_node *node; /* [n_nodes] */
};
/* Nodes are hosts, in the order of their first ranks, with the host names as names. In virtual time nodes and their
 * names come from the description, "node0", "node1", .... With node_per_rank each rank is such a node, for self-tests
 * on one host. If two hosts have equal names, the number of the node is appended. Collective. RC_NOMEM, RC_PEER. */
enum rc fleet_open(struct fleet *out, struct world *w, bool node_per_rank) MUST_CHECK;
/* Describe nodes and ranks in `out`, opened by acceptance_open() with these numbers. Cannot fail. */
void fleet_describe(struct acceptance *out, const struct fleet *f);
void fleet_close(struct fleet *f); /* accepts a zeroed one */

struct stage_env { /* of one rank; borrowed */
    struct world *world;
    const struct fleet *fleet;
    const struct criteria *criteria; /* adapted to these nodes: criteria_for_nodes() */
    const struct inject *inject;     /* n_faults 0: none */
    const struct transport_ops *transport;
    const struct compute_backend *backend;
    const struct cluster *cluster; /* in virtual time, what is simulated; NULL elsewhere, or if not given */
    struct compute *compute;
    int n_threads;
    int timeout_ms; /* for a message; WAIT_FOREVER in virtual time */
    uint64_t seed;
    const char *wait;       /* accept_terms.wait */
    struct acceptance *out; /* rank 0; NULL elsewhere */
    /* Rank 0: completed part of the stage (0 to 1), and the work under way. May be NULL. */
    void (*progress)(void *arg, double done_ratio, const char *what);
    void *progress_arg;
    /* Rank 0, after each training of a soak: what is measured so far. May be NULL. */
    void (*soaked)(void *arg, const struct acceptance *so_far, const struct soak_part *part);
    void *soaked_arg;
    uint64_t started_ns; /* start of this stage, on the world's clock: for criteria->stage_limit_s */
    /* Rank 0: why stage_goes_on() ended a stage that had more to do; "": it did not, as before each stage. */
    char ended[ACCEPT_TEXT_BYTES];
};

typedef enum rc stage_fn(struct stage_env *env);

stage_fn stage_preflight, stage_compute, stage_noise, stage_pairwise, stage_collectives, stage_ps, stage_training,
    stage_integrity, stage_soak;

/* accept.S2: true if rank 0 wants to continue (wants, read on rank 0 only), no rank's process has received a signal,
 * and the stage is within its time limit. Equal on all ranks. If rank 0 wants to continue and may not, env->ended has
 * the reason, and out->stop_signal a signal. Collective over env->world; no rank returns before all have called.
 * RC_PEER, RC_NOMEM. */
enum rc stage_goes_on(struct stage_env *env, bool wants, bool *out) MUST_CHECK;
/* The same over a part of env->world whose rank 0 is rank 0 of env->world. */
enum rc stage_part_goes_on(struct stage_env *env, struct world *part, bool wants, bool *out) MUST_CHECK;
/* Store values of this rank, value[n_repeats], as metric `metric` of env->out, in place of existing ones. Collective.
 * RC_NOMEM, RC_PEER. */
enum rc stage_keep_metric(struct stage_env *env, int metric, const double *value, int n_repeats) MUST_CHECK;
/* Count element i as wrong if value differs from expected; NaN differs. Inline: called for every element. */
static inline void stage_check_sum(struct wrong_sum *wrong, size_t i, float value, float expected)
{
    if (value != expected && wrong->n_wrong++ == 0) {
        wrong->element = i;
        wrong->value = (double)value;
        wrong->expected = (double)expected;
    }
}
/* Store the wrong sums of n_bytes of each rank, checked n_checks times, in env->out of rank 0; *own is then zeroed. If
 * the compute backend has no data, nothing was checked. Collective. RC_NOMEM, RC_PEER. */
enum rc stage_keep_wrong(struct stage_env *env, enum accept_stage stage, size_t n_bytes, struct wrong_sum *own,
                         int n_checks) MUST_CHECK;
/* Rank 0: set why the stage has no data, or less than requested; elsewhere a no-op. */
void stage_why(struct stage_env *env, enum accept_stage stage, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Rank 0: report the completed part of the stage; elsewhere a no-op. */
void stage_progress(struct stage_env *env, double done_ratio, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Is time virtual? */
static inline bool stage_is_virtual(const struct stage_env *env)
{
    return env->world->ops->module.caps & WORLD_VIRTUAL_TIME;
}

#endif
