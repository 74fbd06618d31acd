/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matches.c - which matches of a round of a tournament (bench/circle.h) are played at the same time; see matches.h.
 */
#include "harness/accept/matches.h"

#include "harness/bench/circle.h"

bool match_is_wanted(const struct matches *m, int a, int b)
{
    return m->wanted[a * m->n_nodes + b] || m->wanted[b * m->n_nodes + a];
}

/* Each match in the first turn in which both of its kernels are free. */
int match_turns(int *turn, const struct matches *m, int round)
{
    int *free_from = m->scratch, n_turns = 0; /* of each kernel: a turn */

    for (int i = 0; i < m->n_nodes; i++) {
        free_from[i] = 0;
        turn[i] = -1;
    }
    for (int a = 0; a < m->n_nodes; a++) {
        const int b = circle_opponent(m->n_nodes, round, a);
        if (b < a || !match_is_wanted(m, a, b))
            continue;
        int *of_a = &free_from[m->kernel[a]], *of_b = &free_from[m->kernel[b]];
        turn[a] = turn[b] = *of_a > *of_b ? *of_a : *of_b;
        *of_a = *of_b = turn[a] + 1;
        n_turns = *of_a > n_turns ? *of_a : n_turns;
    }
    return n_turns;
}
