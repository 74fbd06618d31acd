/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept.h - a complete acceptance test, run on every rank.
 *
 * Invariants
 *   -   Stages run in the order of enum accept_stage, each on all ranks; only rank 0 has the measurements.
 *   A2  The loss of a rank (world.W8) ends the test on all ranks with RC_OK. The measurements are kept, stage[].why
 *       names the lost rank, and so does lost_rank. A signal ends the test likewise. Unfinished stages have no data.
 *   A3  keep() is called on rank 0 before the first stage and after every stage. So if the process dies later, these
 *       results can be on disk.
 *   -   out->is_partial is true until the last stage has ended, or a rank was lost.
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
    double stall_abort_s;          /* as the world's: a message may take longer than a silent rank is tolerated */
    const char *wait;              /* of ranks that train, as --wait of train; NULL, auto: train chooses */
    bool node_per_rank;            /* each rank counts as a node, on any host */
    uint64_t seed;
    /* Rank 0, may be NULL. progress: done_ratio of the whole test, weighted by the expected duration of stages. */
    void (*progress)(void *arg, double done_ratio, const char *what);
    void (*keep)(void *arg, const struct acceptance *so_far);
    void (*soaked)(void *arg, const struct acceptance *so_far, const struct soak_part *part); /* stages.h */
    void *arg;
};

/* Check that faults name existing ranks and nodes. Call it before accept_rank(), with the same world. Collective.
 * RC_INVAL, the same on all ranks; RC_NOMEM, RC_PEER. */
enum rc accept_check(struct world *w, const struct accept_terms *terms) MUST_CHECK;
/* Body of a rank; collective. out: filled on rank 0. The caller closes it, also after an error: then it holds what was
 * measured before. Errors: those of the stages, except for accept.A2. */
enum rc accept_rank(struct world *w, struct compute *compute, int n_threads, const struct accept_terms *terms,
                    struct acceptance *out) MUST_CHECK;

#endif
