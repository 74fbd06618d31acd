/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_order.h - in which order ranks could be the members of a ring or tree: what a launcher decides when it numbers
 * them. Where ranks run is given; nobody moves. Pure.
 *
 * In a ring each rank sends to the next. Of the ranks of a host that are neighbours only the last one sends to another
 * host, so pack uses a host's network card once in each direction, spread once for every rank of the host. The same
 * holds one level up, of hosts that share the uplink of a switch (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005,
 * name both; that reordering ranks by measured locality speeds an allreduce up several times: Luo et al., Cloud
 * Collectives, arXiv 2105.14088, 2021).
 *
 * Invariants
 *   O1  Every order holds each rank once. Ranks of a node keep their order, and rank 0 is first.
 *   O2  By switches: where their names are a tree, all nodes of a switch, on each level, are neighbours: behind a node
 *       comes one that has most switches in common with it, of equals the first.
 *   O3  Shortest: a message between two nodes costs its latency and its bytes over their rate, the lower one of those
 *       of both directions that were measured. The way around all nodes begins as the launcher's, and is changed by
 *       reversing parts of it (2-opt: Croes, Operations Research 6(6), 1958) while the two hops that a reversal
 *       replaces become shorter by more than least_gain_ratio: what repeats of a healthy fleet differ by changes
 *       nothing.
 *   O4  Where costs are those of a tree of switches (equal below a switch, and more above it), and differ by enough,
 *       that ends in no way that is longer than the shortest: if a switch were left twice, by hops to b and to d, the
 *       hop between the two nodes that were left is cheaper than either, and b to d no dearer than the dearer one, so a
 *       reversal would still gain.
 */
#ifndef HARNESS_ACCEPT_RANK_ORDER_H
#define HARNESS_ACCEPT_RANK_ORDER_H

#include "harness/accept/acceptance.h"

enum { RANK_ORDER_SWITCHES_BYTES = 256 };

/* out[n_ranks] := the ranks of node[0], then those of node[1], ...; node[n_nodes]: each node once. Cannot fail. */
void rank_order_of_nodes(int *out, const struct acceptance *a, const int *node);
/* out[n_ranks] := RANK_ORDER_SPREAD: the first rank of each node, then the second of each that has one, ... */
void rank_order_spread(int *out, const struct acceptance *a);
/* O2. node[n_nodes] := the order of nodes; switches[n_nodes]: names from the top level down, with dots between:
 * "spine.leaf3". RC_NOMEM. */
enum rc rank_order_by_switches(int *node, const char (*switches)[RANK_ORDER_SWITCHES_BYTES], int n_nodes) MUST_CHECK;
/* O3. node[n_nodes] := the order of nodes, by messages of n_bytes. False in *is_known: a pair was not measured, and
 * node is as it was. RC_NOMEM. */
enum rc rank_order_shortest(int *node, bool *is_known, const struct tournament *t, double n_bytes,
                            double least_gain_ratio) MUST_CHECK;
/* How a launcher makes the order: "block" (pack) or "cyclic" (spread), as Slurm names them; NULL: neither. */
const char *rank_order_distribution(const struct acceptance *a, int kind);

#endif
