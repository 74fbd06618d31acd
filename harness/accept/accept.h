/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept.h - an acceptance test from its first stage to its last, on every rank.
 *
 * Invariants
 *   A1  Stages run in the order of enum accept_stage, each on all ranks; rank 0 alone has what they measured.
 *   A2  A rank that is lost (world.W8) ends the test on all ranks with RC_OK: what was measured is kept, stage[].why
 *       says who is lost, and lost_rank is that rank. So does a signal; what had not ended has no data.
 *   A3  keep() is called on rank 0 before the first stage and behind every one: whatever ends the process later, that
 *       much can be on disk.
 *   A4  out->is_partial until the last stage has ended, or a rank was lost.
 */
#ifndef HARNESS_ACCEPT_ACCEPT_H
#define HARNESS_ACCEPT_ACCEPT_H

#include "harness/accept/stages.h"

struct accept_terms { /* borrowed; equal on all ranks */
    const struct criteria *criteria;
    const struct inject *inject;
    const struct transport_ops *transport;
    const struct compute_backend *backend;
    const struct cluster *cluster; /* in virtual time, what is simulated; NULL elsewhere */
    double stall_abort_s;          /* as the world's: a message is awaited longer than a silent rank is */
    const char *wait;              /* of ranks that train, as --wait of train; NULL, auto: as train chooses */
    bool node_per_rank;            /* each rank counts as a node, whatever its host */
    uint64_t seed;
    /* Rank 0, may be NULL. progress: done_ratio of the whole test, by the expected length of stages. */
    void (*progress)(void *arg, double done_ratio, const char *what);
    void (*keep)(void *arg, const struct acceptance *so_far);
    void *arg;
};

/* Do faults name ranks and nodes that there are? Before accept_rank(), whose ranks and nodes these are. Collective.
 * RC_INVAL, the same on all ranks; RC_NOMEM, RC_PEER. */
enum rc accept_check(struct world *w, const struct accept_terms *terms) MUST_CHECK;
/* Body of a rank; collective. out: filled on rank 0, whose owner closes it, also after an error: then it holds what was
 * measured before. Errors: those of the stages, but for A2. */
enum rc accept_rank(struct world *w, struct compute *compute, int n_threads, const struct accept_terms *terms,
                    struct acceptance *out) MUST_CHECK;

#endif
