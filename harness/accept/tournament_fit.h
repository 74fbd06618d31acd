/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tournament_fit.h - what each node sends and receives at most, and what each pair of nodes lacks beyond that: the
 * model of a tournament by which blame.c blames. Private to this room.
 *
 * All is on a scale on which higher is better: logarithms of rates, negative logarithms of latencies. A latency has no
 * direction: then there is one side of a node, and pairs i < j alone.
 *
 * Invariants
 *   F1  A node's side is as good as the best tenth of its pairs with nodes that are not blamed (of few pairs the best
 *       or second best): of a node that is slow nearly all pairs are; where some are not, the network between is.
 *   F2  A pair of nodes is expected to be as good as the worse of their two sides; where both are blamed, as bad as if
 *       one delay followed the other.
 *   F3  Of few nodes (fewer than eight pairs for each side) a side counts as no better than the fleet, and what pairs
 *       differ by is what they differ by from the fleet: sides of few pairs follow them, and would hide it. Of two
 *       nodes the better direction is the fleet.
 *   F4  The fleet, and what differs in it, is that of the nodes that are not blamed; who is blamed is found again with
 *       them left out, until nothing changes or MOST_ROUNDS are over. A side stays blamed that is still beyond the
 *       border then: the fewer nodes that are left prove less, but do not acquit it.
 */
#ifndef HARNESS_ACCEPT_TOURNAMENT_FIT_H
#define HARNESS_ACCEPT_TOURNAMENT_FIT_H

#include "harness/accept/blame.h"
#include "harness/accept/evidence.h"

enum { SIDE_SENDS, SIDE_RECEIVES, N_SIDES };

struct tournament_metric {
    const char *name, *unit;
    bool higher_is_better, is_directed;
    size_t offset; /* of its values in struct tournament */
};
extern const struct tournament_metric tournament_rates, tournament_latencies;

struct fitted {                        /* a side of a node, or a pair */
    double value, expected, deviation; /* NaN: not measured, or too little to tell */
    double p, q;
    bool is_blamed;
};

struct tournament_fit {
    const struct tournament_metric *metric;
    int n_nodes, n_sides;
    double level;              /* of q, at most */
    struct evidence *evidence; /* [n_nodes][n_nodes] */
    struct fitted *pair;       /* [n_nodes][n_nodes] */
    struct fitted *side;       /* [n_nodes][N_SIDES] */
    double fleet;              /* F4: the middle of pairs of nodes that are not blamed */
    double side_fleet[N_SIDES], side_between, side_dof;
    struct noise noise; /* of pairs */
    size_t n_tests;
    double *scratch, *p; /* [n_nodes * (n_nodes + N_SIDES)] */
};

/* n_metrics: of how many the findings are judged together. RC_NOMEM. */
enum rc tournament_fit_open(struct tournament_fit *out, const struct tournament *t,
                            const struct tournament_metric *metric, const struct blame_terms *terms,
                            int n_metrics) MUST_CHECK;
void tournament_fit_close(struct tournament_fit *f); /* accepts a zeroed one */
/* Is there a pair with two repeats or more? */
bool tournament_has(const struct tournament *t, const struct tournament_metric *metric);

/* Which of a node's pairs are those of this side. */
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
