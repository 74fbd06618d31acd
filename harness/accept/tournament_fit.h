/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tournament_fit.h - estimates the best rates of each node, sending and receiving, and how far each pair of nodes is
 * below them. blame.c uses this model of a tournament to blame. Private to accept/.
 *
 * All values are on a scale on which higher is better: logarithms of rates, negative logarithms of latencies. A latency
 * has no direction: then a node has one side, and only pairs i < j count.
 *
 * Invariants
 *   F1  A node's side is as good as the best tenth of its pairs with nodes that are not blamed. (With few pairs: the
 *       best or second best.) If a node is slow, nearly all its pairs are slow. If some are not slow, the cause is
 *       the network between the nodes.
 *   F2  A pair of nodes is expected to be as good as the worse of their two sides. If both are blamed, it is expected
 *       to be as bad as both delays in sequence.
 *   F3  With few nodes (fewer than eight pairs for each side) a side counts as no better than the fleet, and pairs are
 *       compared with the fleet. A side of few pairs follows their values, and would hide their difference. With two
 *       nodes the better direction is the fleet.
 *   F4  The fleet, and the differences within it, come from the nodes that are not blamed. Blame is computed again
 *       without the blamed nodes, until nothing changes or MOST_ROUNDS are over. A side that is still beyond the border
 *       then stays blamed: the fewer nodes that are left prove less, but do not acquit it.
 */
#ifndef HARNESS_ACCEPT_TOURNAMENT_FIT_H
#define HARNESS_ACCEPT_TOURNAMENT_FIT_H

#include "harness/accept/blame.h"
#include "harness/accept/evidence.h"

enum { SIDE_SENDS, SIDE_RECEIVES, N_SIDES };

struct tournament_metric {
    const char *name, *unit;
    bool higher_is_better, is_directed;
    size_t offset; /* offset of its values in struct tournament */
};
extern const struct tournament_metric tournament_rates, tournament_latencies;

struct fitted {                        /* one side of a node, or one pair */
    double value, expected, deviation; /* NaN: not measured, or too little to tell */
    double p, q;
    bool is_blamed;
};

struct tournament_fit {
    const struct tournament_metric *metric;
    int n_nodes, n_sides;
    double level;              /* highest q that is blamed */
    struct evidence *evidence; /* [n_nodes][n_nodes] */
    struct fitted *pair;       /* [n_nodes][n_nodes] */
    struct fitted *side;       /* [n_nodes][N_SIDES] */
    double fleet;              /* accept.F4: the middle of pairs of nodes that are not blamed */
    double side_fleet[N_SIDES], side_between, side_dof;
    struct noise noise; /* of pairs */
    size_t n_tests;
    double *scratch, *p; /* [n_nodes * (n_nodes + N_SIDES)] */
};

/* n_metrics: number of metrics whose findings are judged together. RC_NOMEM. */
enum rc tournament_fit_open(struct tournament_fit *out, const struct tournament *t,
                            const struct tournament_metric *metric, const struct blame_terms *terms,
                            int n_metrics) MUST_CHECK;
void tournament_fit_close(struct tournament_fit *f); /* accepts a zeroed one */
/* Is there a pair with two repeats or more? */
bool tournament_has(const struct tournament *t, const struct tournament_metric *metric);

/* Index of the pair of node and peer that belongs to this side. */
static inline size_t side_pair(const struct tournament_fit *f, int side, int node, int peer)
{
    const int from = side == SIDE_SENDS ? node : peer, to = side == SIDE_SENDS ? peer : node;

    return (size_t)from * (size_t)f->n_nodes + (size_t)to;
}
static inline struct fitted *fitted_side(const struct tournament_fit *f, int node, int side)
{
    return &f->side[(size_t)node * N_SIDES + (size_t)(f->metric->is_directed ? side : SIDE_SENDS)];
}

#endif
