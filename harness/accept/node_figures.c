/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_figures.c - figures of a node and of a pair, from a tournament and rank metrics, for tables and maps; see
 * node_figures.h.
 */
#include "harness/accept/node_figures.h"

#include <math.h>
#include <stdlib.h>

#include "harness/measure/sorted.h"

double median_of_numbers(double *x, size_t n)
{
    size_t n_numbers = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            x[n_numbers++] = x[i];
    if (n_numbers == 0)
        return NAN;
    sorted_make(x, n_numbers);
    return sorted_median(x, n_numbers);
}

double best_quarter(double *x, size_t n, enum pair_figure of)
{
    size_t n_numbers = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            x[n_numbers++] = x[i];
    if (n_numbers == 0)
        return NAN;
    sorted_make(x, n_numbers);
    return of == PAIR_RATE ? x[n_numbers - 1 - (n_numbers - 1) / 4] : x[(n_numbers - 1) / 4];
}

/* --- which pairs judge a node --- */

static bool is_blamed_itself(const struct acceptance *a, int node)
{
    for (int i = 0; i < a->n_findings; i++)
        if (a->finding[i].stage == ACCEPT_PAIRWISE && a->finding[i].subject == SUBJECT_NODE && a->finding[i].a == node)
            return true;
    return false;
}

static bool is_blamed_between(const struct acceptance *a, int node, int other)
{
    for (int i = 0; i < a->n_findings; i++) {
        const struct finding *f = &a->finding[i];
        if (f->stage == ACCEPT_PAIRWISE && f->subject == SUBJECT_LINK &&
            ((f->a == node && f->b == other) || (f->a == other && f->b == node)))
            return true;
    }
    return false;
}

static bool is_fair(const struct acceptance *a, int node, int other)
{
    return !is_blamed_itself(a, other) && !is_blamed_between(a, node, other);
}

bool is_judged_by_pair(const struct acceptance *a, int node, int other)
{
    bool has_fair = false;

    for (int k = 0; k < a->n_nodes && !has_fair; k++)
        has_fair = k != node && is_fair(a, node, k);
    return node != other && (!has_fair || is_fair(a, node, other));
}

/* --- medians --- */

double pair_median(const struct tournament *t, enum pair_figure of, int from, int to)
{
    double x[ACCEPT_MAX_REPEATS];

    for (int r = 0; r < t->n_repeats; r++)
        x[r] = of == PAIR_RATE ? *tournament_rate(t, r, from, to) : *tournament_latency(t, r, from, to);
    return median_of_numbers(x, (size_t)t->n_repeats);
}

void pair_medians(double *out, const struct tournament *t, enum pair_figure of)
{
    for (int i = 0; i < t->n_nodes; i++)
        for (int j = 0; j < t->n_nodes; j++)
            out[(size_t)i * (size_t)t->n_nodes + (size_t)j] = i == j ? NAN : pair_median(t, of, i, j);
}

/* The median of row i (from it), or of column i (to it), of pair[n][n]. x[n] is room. */
static double median_of_line(const struct acceptance *a, const double *pair, size_t i, bool is_row, double *x)
{
    const size_t n = (size_t)a->n_nodes;

    for (size_t k = 0; k < n; k++)
        x[k] = !is_judged_by_pair(a, (int)i, (int)k) ? NAN : is_row ? pair[i * n + k] : pair[k * n + i];
    return median_of_numbers(x, n);
}

/* The worst rank's median over repeats. */
static double worst_rank(const struct acceptance *a, int metric, int node)
{
    const struct rank_metric *m = &a->metric[metric];
    double worst = NAN, x[ACCEPT_MAX_REPEATS];

    for (int r = 0; m->value && r < a->n_ranks; r++) {
        if (a->node_of_rank[r] != node)
            continue;
        for (int k = 0; k < m->n_repeats; k++)
            x[k] = m->value[(size_t)r * (size_t)m->n_repeats + (size_t)k];
        const double median = median_of_numbers(x, (size_t)m->n_repeats);
        if (isnan(worst) || (m->higher_is_better ? median < worst : median > worst))
            worst = median;
    }
    return worst;
}

static enum rc of_tournament(struct node_figures *out, const struct acceptance *a)
{
    const struct tournament *t = &a->tournament;
    const size_t n = (size_t)t->n_nodes;
    double *pair = malloc(n * n * sizeof *pair), *x = malloc(n * sizeof *x);
    enum rc rc = RC_OK;

    if (!pair || !x)
        FAIL(RC_NOMEM, "no memory for the medians of %zu nodes", n);
    pair_medians(pair, t, PAIR_RATE);
    for (size_t i = 0; i < n; i++) {
        out[i].rate_out_bytes_per_s = median_of_line(a, pair, i, true, x);
        out[i].rate_in_bytes_per_s = median_of_line(a, pair, i, false, x);
    }
    pair_medians(pair, t, PAIR_LATENCY);
    for (size_t i = 0; i < n; i++)
        out[i].latency_s = median_of_line(a, pair, i, true, x);
out:
    free(pair);
    free(x);
    return rc;
}

enum rc node_figures_all(struct node_figures *out, const struct acceptance *a)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < a->n_nodes; i++) {
        out[i] = (struct node_figures){ .rate_out_bytes_per_s = NAN, .rate_in_bytes_per_s = NAN, .latency_s = NAN };
        for (int m = 0; m < ACCEPT_N_METRICS; m++)
            out[i].rank_value[m] = worst_rank(a, m, i);
    }
    if (a->tournament.n_repeats > 0)
        TRY(of_tournament(out, a));
out:
    return rc;
}

size_t node_rates(double *out, const struct acceptance *a, int node, bool is_out)
{
    const struct tournament *t = &a->tournament;
    size_t n = 0;

    for (int k = 0; t->n_repeats > 0 && k < a->n_nodes; k++) {
        if (!is_judged_by_pair(a, node, k))
            continue;
        for (int r = 0; r < t->n_repeats; r++) {
            const double rate = is_out ? *tournament_rate(t, r, node, k) : *tournament_rate(t, r, k, node);
            if (rate > 0) /* a file may hold any number */
                out[n++] = rate;
        }
    }
    return n;
}
