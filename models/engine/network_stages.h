/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_stages.h - a network cut into stages, each of which is a network of its own: for pipelines, in which a place
 * computes one stage.
 *
 * Invariants
 *   U1  A cut before node c is possible where of all nodes before c exactly one is read by nodes from c on, the image
 *       is not, no concatenation has parts on both sides, c is no dropout, which works in the place of its input, and
 *       no loss is before it: losses are the last stage's.
 *   U2  A stage is the nodes between two cuts, renumbered; where they read the output of the stage before, they read
 *       NODE_IMAGE. Its parameters and its state are a range of the network's: the stages' in order, one behind the
 *       other, are the network's, with the same initial values to the bit.
 *   U3  Every stage has parameters.
 */
#ifndef MODELS_ENGINE_NETWORK_STAGES_H
#define MODELS_ENGINE_NETWORK_STAGES_H

#include "models/engine/network.h"

enum { NETWORK_MAX_STAGES = 64 };

/* Stages of a network: stage i has the nodes [end[i - 1], end[i]), the first from 0 on. */
struct network_stages {
    int n_stages;
    int end[NETWORK_MAX_STAGES];
};

/* The most stages that the network can be cut into (U1, U3). */
int network_most_stages(const struct network *n);
/* The cut into n_stages whose most expensive stage costs the least; of several, the earliest cuts. cost: [n_nodes],
 * none below 0. RC_INVAL: n_stages is not 1 to network_most_stages() (names it) or NETWORK_MAX_STAGES. RC_NOMEM. */
enum rc network_balance(struct network_stages *out, const struct network *n, const double *cost,
                        int n_stages) MUST_CHECK;
struct network_limits {                                                /* which stages there may be */
    bool (*fits)(void *arg, int number, int first_node, int end_node); /* stage number with [first_node, end_node) */
    void *arg;
};
/* The same of cuts whose stages all fit. RC_INVAL also: there is none. fits is called n_stages x places^2 / 2 times. */
enum rc network_balance_within(struct network_stages *out, const struct network *n, const double *cost, int n_stages,
                               const struct network_limits *limits) MUST_CHECK;
/* The multiply-adds of each node, forward and backward: costs for network_balance() without a profile. cost:
 * [n_nodes]. */
void network_flops_of_nodes(const struct network *n, double *cost);
struct network_range { /* of the parameters and of the state of all the network */
    size_t first_param, n_params;
    size_t first_state, n_state;
};
/* U2: what of it is stage number's. */
struct network_range network_stage_range(const struct network *n, const struct network_stages *s, int number);
/* Elements for one image that stage `number`, which is not the last, passes on. */
size_t network_passed_elems(const struct network *n, const struct network_stages *s, int number);
/* U2: stage `number` of whole, closed by network_close(). RC_NOMEM. */
enum rc network_open_stage(struct network **out, const struct network *whole, const struct network_stages *s,
                           int number) MUST_CHECK;

#endif
