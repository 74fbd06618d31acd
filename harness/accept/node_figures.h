/* SPDX-License-Identifier: Apache-2.0 */
/* node_figures.h - what a tournament and rank metrics say of a node and of a pair, for tables and maps. Of this room.
 */
#ifndef HARNESS_ACCEPT_NODE_FIGURES_H
#define HARNESS_ACCEPT_NODE_FIGURES_H

#include "harness/accept/acceptance.h"

struct node_figures { /* NaN: not measured */
    /* Medians over pairs (is_judged_by_pair()) of medians over repeats. */
    double rate_out_bytes_per_s, rate_in_bytes_per_s, latency_s;
    double rank_value[ACCEPT_N_METRICS]; /* of its worst rank, the median over repeats */
};

enum pair_figure { PAIR_RATE, PAIR_LATENCY };

/* Of x[n] those that are numbers; NaN: none. Changes the order of x. Cannot fail. */
double median_of_numbers(double *x, size_t n);
/* Median over repeats. Cannot fail. */
double pair_median(const struct tournament *t, enum pair_figure of, int from, int to);
/* What pairs are compared with: the border of the best quarter of x[n], the upper one of rates, the lower one of
 * latencies, as of a small fleet with one slow node half of the pairs are slow. Changes the order of x; NaN: no number.
 * Cannot fail. */
double best_quarter(double *x, size_t n, enum pair_figure of);
/* Does what node and other have between them say something of node: is neither the other nor their link blamed by the
 * pairwise stage? Where that leaves no pair, all do. */
bool is_judged_by_pair(const struct acceptance *a, int node, int other);
/* out[n_nodes * n_nodes]: of all pairs, from row to column; the diagonal is NaN. Cannot fail. */
void pair_medians(double *out, const struct tournament *t, enum pair_figure of);
/* out[n_nodes]. RC_NOMEM. */
enum rc node_figures_all(struct node_figures *out, const struct acceptance *a) MUST_CHECK;
/* out[n_repeats * n_nodes]: what a node sends (is_out) or receives, of every repeat and other node by which it is
 * judged, as far as they are above 0. Returns how many there are. Cannot fail. */
size_t node_rates(double *out, const struct acceptance *a, int node, bool is_out);

#endif
