/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blame.h - from a tournament of all pairs of nodes: which node, or which link, is slow. Pure.
 *
 * The rate between two nodes is that of the slowest on its way: b(i, j) = min(out(i), in(j), link(i, j)). A slow node
 * is slow with nearly everybody, a slow link with one; so a node's own rate is estimated by robust location over its
 * pairs with nodes that are not blamed, in each direction, and a pair that is slower than what its two nodes allow is a
 * slow link. Blamed is what is (1) farther than least_effect_ratio from what the fleet has, and (2) significant at
 * false_discovery_ratio over all nodes, directions and links of the tournament (Benjamini, Hochberg 1995).
 *
 * Invariants
 *   B1  Deterministic; invariant under a renumbering of the nodes.
 *   B2  A pair is blamed only where neither of its nodes explains it.
 *   B3  Of a fleet without any fault at most false_discovery_ratio of tournaments blame anybody, whatever its common
 *       noise and a few wild values. Nodes that differ among each other by more than the border for good are not such
 *       a fleet: the slower are named.
 *   B4  Too little to tell (one node, one repeat) is no blame. Of two nodes with one direction slower than the other
 *       that direction is named, as a link: which of the nodes it is cannot be told. Of three and four nodes noise is
 *       hardly known, and only what is far beyond it is found.
 *   B5  More than a tenth of all pairs (and more than six) beyond what their nodes explain are no faults of single
 *       links, but how the network is built, or a switch: one finding of SUBJECT_FLEET instead of one each.
 *   B6  Findings of rates are before those of latencies; of each, nodes before links, the worst first. A node whose
 *       both directions are blamed has both_ways; text says which direction else. Latencies have no direction.
 */
#ifndef HARNESS_ACCEPT_BLAME_H
#define HARNESS_ACCEPT_BLAME_H

#include "harness/accept/acceptance.h"

struct blame_terms {
    double false_discovery_ratio, least_effect_ratio;
    int n_looks; /* how often the evidence is looked at, at most: each look gets its part of the false-discovery rate */
};

/* Findings of a tournament's rates and latencies, appended to a. RC_NOMEM. */
enum rc blame_tournament(struct acceptance *a, const struct blame_terms *terms) MUST_CHECK;
/* Early stopping: open[n_nodes * n_nodes] := pairs of which more repeats could still change the verdict on their rate,
 * or on that of one of their nodes (the interval holds the border of blame). *n_open: how many. All are open before
 * there are two repeats. Latencies do not keep a pair open. RC_NOMEM. */
enum rc blame_open_pairs(const struct tournament *t, const struct blame_terms *terms, bool *open,
                         int *n_open) MUST_CHECK;

#endif
