/* SPDX-License-Identifier: Apache-2.0 */
/* rank_order.c - possible orders of ranks in a ring or tree; see rank_order.h. */
#include "harness/accept/rank_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/node_figures.h"

void rank_order_of_nodes(int *out, const struct acceptance *a, const int *node)
{
    int n = 0;

    for (int i = 0; i < a->n_nodes; i++)
        for (int r = 0; r < a->n_ranks; r++)
            if (a->node_of_rank[r] == node[i])
                out[n++] = r;
}

/* The rank of a node that has `index` others of it before it; -1: it has not so many. */
static int rank_of_node(const struct acceptance *a, int node, int index)
{
    for (int r = 0; r < a->n_ranks; r++)
        if (a->node_of_rank[r] == node && index-- == 0)
            return r;
    return -1;
}

void rank_order_spread(int *out, const struct acceptance *a)
{
    int n = 0;

    for (int index = 0; n < a->n_ranks; index++)
        for (int i = 0; i < a->n_nodes; i++) {
            const int r = rank_of_node(a, i, index);
            if (r >= 0)
                out[n++] = r;
        }
}

/* --- by switches --- */

/* Of how many levels, from the top, both have the same switch. */
static int common_levels(const char *a, const char *b)
{
    int n = 0;

    for (; *a && *b; n++) {
        const size_t n_a = strcspn(a, "."), n_b = strcspn(b, ".");
        if (n_a != n_b || memcmp(a, b, n_a) != 0)
            break;
        a += n_a + (a[n_a] == '.');
        b += n_b + (b[n_b] == '.');
    }
    return n;
}

enum rc rank_order_by_switches(int *node, const char (*switches)[RANK_ORDER_SWITCHES_BYTES], int n_nodes)
{
    bool *is_placed = calloc((size_t)n_nodes, sizeof *is_placed);

    if (!is_placed)
        return rc_raise(RC_NOMEM, "no memory for an order of %d nodes", n_nodes);
    for (int i = 0, last = 0; i < n_nodes; i++) {
        int best = -1, most = -1;
        for (int k = 0; k < n_nodes; k++) {
            const int n = is_placed[k] ? -1 : common_levels(switches[last], switches[k]);
            if (n > most) {
                best = k;
                most = n;
            }
        }
        node[i] = last = i == 0 ? 0 : best;
        is_placed[last] = true;
    }
    free(is_placed);
    return RC_OK;
}

/* --- the shortest way around --- */

enum { MOST_SWEEPS = 1000 }; /* more than any fleet takes: an end where roundings let costs fall for ever */

/* cost_s[n * n] := accept.O3; false: a pair was not measured. */
static bool find_costs(double *cost_s, const struct tournament *t, double n_bytes)
{
    const int n = t->n_nodes;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double rate =
                i == j ? INFINITY : fmin(pair_median(t, PAIR_RATE, i, j), pair_median(t, PAIR_RATE, j, i));
            const double latency_s = i == j ? 0 : pair_median(t, PAIR_LATENCY, i, j);
            cost_s[i * n + j] = latency_s + n_bytes / rate;
            if (!isfinite(cost_s[i * n + j]))
                return false;
        }
    return true;
}

static void reverse(int *x, int n)
{
    for (int i = 0; i < n / 2; i++) {
        const int kept = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = kept;
    }
}

/* Every two hops of the way once: from place i on to i + 1, from j on to j + 1. Was anything reversed? */
static bool shorten(int *node, const double *cost_s, int n, double least_gain_ratio)
{
    bool is_changed = false;

    for (int i = 0; i + 2 < n; i++)
        for (int j = i + 2; j < n; j++) {
            const int a = node[i], b = node[i + 1], c = node[j], d = node[(j + 1) % n];
            const double before_s = cost_s[a * n + b] + cost_s[c * n + d];
            const double after_s = cost_s[a * n + c] + cost_s[b * n + d];
            if (after_s < (1 - least_gain_ratio) * before_s) {
                reverse(node + i + 1, j - i);
                is_changed = true;
            }
        }
    return is_changed;
}

enum rc rank_order_shortest(int *node, bool *is_known, const struct tournament *t, double n_bytes,
                            double least_gain_ratio)
{
    const int n = t->n_nodes;
    double *cost_s = malloc((size_t)n * (size_t)n * sizeof *cost_s);

    if (!cost_s)
        return rc_raise(RC_NOMEM, "no memory for the costs of pairs of %d nodes", n);
    *is_known = find_costs(cost_s, t, n_bytes);
    if (*is_known) {
        for (int i = 0; i < n; i++)
            node[i] = i;
        for (int i = 0; i < MOST_SWEEPS && shorten(node, cost_s, n, least_gain_ratio); i++)
            continue;
    }
    free(cost_s);
    return RC_OK;
}

/* --- names --- */

static bool is_same(const struct acceptance *a, int kind, int as)
{
    const int *x = a->rank_order[kind].rank, *y = a->rank_order[as].rank;

    return x && y && memcmp(x, y, (size_t)a->n_ranks * sizeof *x) == 0;
}

const char *rank_order_distribution(const struct acceptance *a, int kind)
{
    return is_same(a, kind, RANK_ORDER_PACK) ? "block" : is_same(a, kind, RANK_ORDER_SPREAD) ? "cyclic" : NULL;
}
