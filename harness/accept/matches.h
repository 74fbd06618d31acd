/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matches.h - which matches of a round of a tournament (bench/circle.h) are played at the same time. Pure.
 *
 * Invariants
 *   K1  Two simultaneous matches share no node, as in a round, and no kernel: nodes that are namespaces of one machine
 *       would compete for its cores.
 *   K2  All wanted matches of a round are played, each in one of its turns.
 */
#ifndef HARNESS_ACCEPT_MATCHES_H
#define HARNESS_ACCEPT_MATCHES_H

#include <stdbool.h>

struct matches { /* of a tournament; borrowed */
    int n_nodes;
    const bool *wanted; /* [n_nodes][n_nodes]: a match is wanted if one of its directions is */
    const int *kernel;  /* [n_nodes], 0 <= kernel < n_nodes: nodes with equal numbers share a kernel */
    int *scratch;       /* [n_nodes] */
};

bool match_is_wanted(const struct matches *m, int a, int b);
/* turn[n_nodes] := the turn of `round` in which each node plays; -1: not in this round. Returns the number of turns; 0:
 * no match of the round is wanted. */
int match_turns(int *turn, const struct matches *m, int round);

#endif
