/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_order.h - possible orders of ranks in a ring or tree. A launcher chooses such an order when it numbers ranks.
 * The placement of ranks on hosts is fixed. Pure.
 *
 * In a ring each rank sends to the next. Of neighbouring ranks on one host only the last sends to another host. So pack
 * uses a host's network card once in each direction, spread once for every rank of the host. The same holds one level
 * up, for hosts that share the uplink of a switch. Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, name both.
 * Reordering ranks by measured locality speeds up an allreduce several times: Luo et al., Cloud Collectives, arXiv
 * 2105.14088, 2021.
 *
 * Invariants
 *   O1  Every order holds each rank once. Ranks of a node keep their order, and rank 0 is first.
 *   O2  By switches: if their names are a tree, all nodes of a switch, on each level, are neighbours. The next node is
 *       the one that has most switches in common with the last; among equals the first.
 *   O3  Shortest: a message between two nodes costs its latency plus its bytes over their rate, the lower of the two
 *       measured directions. The way around all nodes starts as the launcher's order. It is changed by reversing parts
 *       of it (2-opt: Croes, Operations Research 6(6), 1958). A part is reversed only if the two hops that change
 *       become shorter by more than least_gain_ratio. So differences between repeats of a healthy fleet change nothing.
 *   O4  If costs are those of a tree of switches (equal below a switch, and higher above it), and differ by enough, the
 *       result is a shortest way. Proof: suppose a switch is left twice, by hops to b and to d. The hop between the two
 *       nodes that were left is cheaper than either, and b to d costs no more than the more expensive one. So a
 *       reversal would still gain.
 */
#ifndef HARNESS_ACCEPT_RANK_ORDER_H
#define HARNESS_ACCEPT_RANK_ORDER_H

#include "harness/accept/acceptance.h"

enum { RANK_ORDER_SWITCHES_BYTES = 256 };

/* out[n_ranks] := the ranks of node[0], then those of node[1], ...; node[n_nodes] has each node once. Cannot fail. */
void rank_order_of_nodes(int *out, const struct acceptance *a, const int *node);
/* out[n_ranks] := RANK_ORDER_SPREAD: the first rank of each node, then the second of each that has one, ... */
void rank_order_spread(int *out, const struct acceptance *a);
/* accept.O2. node[n_nodes] := the order of nodes; switches[n_nodes]: names from the top level down, separated by dots:
 * "spine.leaf3". RC_NOMEM. */
enum rc rank_order_by_switches(int *node, const char (*switches)[RANK_ORDER_SWITCHES_BYTES], int n_nodes) MUST_CHECK;
/* accept.O3. node[n_nodes] := the order of nodes, for messages of n_bytes. *is_known := false: a pair was not measured,
 * and node is unchanged. RC_NOMEM. */
enum rc rank_order_shortest(int *node, bool *is_known, const struct tournament *t, double n_bytes,
                            double least_gain_ratio) MUST_CHECK;
/* Slurm's name for the order: "block" (pack) or "cyclic" (spread); NULL: neither. */
const char *rank_order_distribution(const struct acceptance *a, int kind);

#endif
