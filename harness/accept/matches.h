/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matches.h - which matches of a round of a tournament (bench/circle.h) are played at once. Pure.
 *
 * Invariants
 *   M1  Two matches at once share no node, as in a round, and no kernel either: nodes that are namespaces of one
 *       machine would take each other's cores.
 *   M2  All matches of a round that are wanted are played in one of its turns.
 */
#ifndef HARNESS_ACCEPT_MATCHES_H
#define HARNESS_ACCEPT_MATCHES_H

#include <stdbool.h>

struct matches { /* of a tournament; borrowed */
    int n_nodes;
    const bool *wanted; /* [n_nodes][n_nodes]: a match is, where one of its directions is */
    const int *kernel;  /* [n_nodes], 0 <= kernel < n_nodes: nodes with equal numbers share one */
    int *scratch;       /* [n_nodes] */
};

bool match_is_wanted(const struct matches *m, int a, int b);
/* turn[n_nodes] := in which turn of `round` each node plays; -1: not in this round. Returns how many turns there are;
 * 0: no match of the round is wanted. */
int match_turns(int *turn, const struct matches *m, int round);

#endif
