/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_stages.h - cuts a network into stages, each a separate network: for pipelines, in which each rank computes
 * one stage.
 *
 * Invariants
 *   U1  A cut before node c is possible under these conditions. Of all nodes before c, exactly one is read by nodes
 *       from c on, and the image is not. No concatenation has parts on both sides. c is not a dropout, which works in
 *       place on its input. No loss is before c: losses belong to the last stage.
 *   U2  A stage is the nodes between two cuts, renumbered; where they read the output of the previous stage, they read
 *       NODE_IMAGE. Its parameters and its state are a range of the network's. The stages' ranges in order make up the
 *       network's, with the same initial values to the bit.
 *   U3  Every stage has parameters.
 */
#ifndef MODELS_ENGINE_NETWORK_STAGES_H
#define MODELS_ENGINE_NETWORK_STAGES_H

#include "models/engine/network.h"

enum { NETWORK_MAX_STAGES = 64 };

/* Stages of a network: stage i has the nodes [end[i - 1], end[i]); the first stage starts at 0. */
struct network_stages {
    int n_stages;
    int end[NETWORK_MAX_STAGES];
};

/* Maximum number of stages of the network (models.U1, U3). */
int network_most_stages(const struct network *n);
/* Find the cut into n_stages that minimises the cost of the most expensive stage; among equals, the earliest cuts.
 * cost: [n_nodes], none below 0. RC_INVAL: n_stages is not 1 to network_most_stages() (names it) or NETWORK_MAX_STAGES.
 * RC_NOMEM. */
enum rc network_balance(struct network_stages *out, const struct network *n, const double *cost,
                        int n_stages) MUST_CHECK;
struct network_limits {                                                /* which stages are allowed */
    bool (*fits)(void *arg, int number, int first_node, int end_node); /* stage number with [first_node, end_node) */
    void *arg;
};
/* The same, only for cuts whose stages all fit. RC_INVAL also: no such cut. fits is called n_stages x places^2 / 2
 * times. */
enum rc network_balance_within(struct network_stages *out, const struct network *n, const double *cost, int n_stages,
                               const struct network_limits *limits) MUST_CHECK;
/* The multiply-adds of each node, forward and backward: costs for network_balance() without a profile. cost:
 * [n_nodes]. */
void network_flops_of_nodes(const struct network *n, double *cost);
struct network_range { /* range of the whole network's parameters and state */
    size_t first_param, n_params;
    size_t first_state, n_state;
};
/* models.U2: the range of stage `number`. */
struct network_range network_stage_range(const struct network *n, const struct network_stages *s, int number);
/* Elements per image that stage `number`, not the last one, passes on. */
size_t network_passed_elems(const struct network *n, const struct network_stages *s, int number);
/* models.U2: open stage `number` of whole; close it with network_close(). RC_NOMEM. */
enum rc network_open_stage(struct network **out, const struct network *whole, const struct network_stages *s,
                           int number) MUST_CHECK;

#endif
