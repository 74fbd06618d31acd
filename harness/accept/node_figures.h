/* SPDX-License-Identifier: Apache-2.0 */
/* node_figures.h - figures of a node and of a pair, from a tournament and rank metrics, for tables and maps. Private to
 * accept/. */
#ifndef HARNESS_ACCEPT_NODE_FIGURES_H
#define HARNESS_ACCEPT_NODE_FIGURES_H

#include "harness/accept/acceptance.h"

struct node_figures { /* NaN: not measured */
    /* Medians over pairs (is_judged_by_pair()) of medians over repeats. */
    double rate_out_bytes_per_s, rate_in_bytes_per_s, latency_s;
    double rank_value[ACCEPT_N_METRICS]; /* of its worst rank, the median over repeats */
};

enum pair_figure { PAIR_RATE, PAIR_LATENCY };

/* Median of the numbers in x[n]; NaN: it has no numbers. Changes the order of x. Cannot fail. */
double median_of_numbers(double *x, size_t n);
/* Median over repeats. Cannot fail. */
double pair_median(const struct tournament *t, enum pair_figure of, int from, int to);
/* The reference for pairs: the border of the best quarter of x[n], the upper for rates, the lower for latencies. (In a
 * small fleet with one slow node half of the pairs are slow.) Changes the order of x. NaN: there are no numbers.
 * Cannot fail. */
double best_quarter(double *x, size_t n, enum pair_figure of);
/* Does the pair of node and other say something about node? It does if the pairwise stage blames neither other nor
 * their link. If that leaves no pair, all pairs count. */
bool is_judged_by_pair(const struct acceptance *a, int node, int other);
/* out[n_nodes * n_nodes]: medians of all pairs, from row to column; the diagonal is NaN. Cannot fail. */
void pair_medians(double *out, const struct tournament *t, enum pair_figure of);
/* Figures of all nodes: out[n_nodes]. RC_NOMEM. */
enum rc node_figures_all(struct node_figures *out, const struct acceptance *a) MUST_CHECK;
/* out[n_repeats * n_nodes]: rates at which a node sends (is_out) or receives, for every repeat and every other node by
 * which it is judged; only rates above 0. Returns their number. Cannot fail. */
size_t node_rates(double *out, const struct acceptance *a, int node, bool is_out);

#endif
