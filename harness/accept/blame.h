/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blame.h - finds slow nodes and slow links in a tournament of all pairs of nodes. Pure.
 *
 * The rate between two nodes is that of the slowest part of the way: b(i, j) = min(out(i), in(j), link(i, j)). A slow
 * node is slow with nearly all nodes, a slow link with one. So a node's own rate is estimated by robust location over
 * its pairs with nodes that are not blamed, in each direction. A pair that is slower than its two nodes allow is a slow
 * link. A node or link is blamed if it is farther than least_effect_ratio from the fleet, and significant. Significant
 * means: at false_discovery_ratio over all nodes, directions and links of the tournament (Benjamini, Hochberg 1995).
 *
 * Invariants
 *   B1  Deterministic; invariant under a renumbering of the nodes.
 *   B2  A pair is blamed only if neither of its nodes explains it.
 *   B3  In a fleet without any fault at most false_discovery_ratio of tournaments blame anything, with any common
 *       noise and a few wild values. A fleet whose nodes permanently differ by more than the border is not such a
 *       fleet: its slower nodes are named.
 *   B4  Too little data (one node, one repeat) means no blame. If two nodes have one direction slower than the other,
 *       that direction is named as a link: the data cannot say which node causes it. With three and four nodes noise is
 *       hardly known, and only effects far beyond it are found.
 *   B5  If more than a tenth of all pairs (and more than six) are beyond what their nodes explain, these are not faults
 *       of single links: the network is built that way, or a switch is slow. Then there is one finding of SUBJECT_FLEET
 *       in place of one per pair.
 *   -   Findings of rates come before those of latencies; in each group nodes before links, the worst first. A node
 *       with both directions blamed has both_ways; otherwise text names the direction. Latencies have no direction.
 */
#ifndef HARNESS_ACCEPT_BLAME_H
#define HARNESS_ACCEPT_BLAME_H

#include "harness/accept/acceptance.h"

struct blame_terms {
    double false_discovery_ratio, least_effect_ratio;
    int n_looks; /* most looks at the evidence: each look gets its part of the false-discovery rate */
};

/* Append the findings of a tournament's rates and latencies to a. RC_NOMEM. */
enum rc blame_tournament(struct acceptance *a, const struct blame_terms *terms) MUST_CHECK;
/* Early stopping: open[n_nodes * n_nodes] := pairs for which more repeats could still change the verdict on their rate,
 * or on that of one of their nodes. That is: the interval contains the border of blame. *n_open: their number. With
 * fewer than two repeats all pairs are open. Latencies do not keep a pair open. RC_NOMEM. */
enum rc blame_open_pairs(const struct tournament *t, const struct blame_terms *terms, bool *open,
                         int *n_open) MUST_CHECK;

#endif
