/* SPDX-License-Identifier: Apache-2.0 */
/* synthetic_fleet.c - see synthetic_fleet.h. */
#include "harness/accept/suite/synthetic_fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"

enum { OF_REPEATS, OF_PAIRS, OF_NODES, OF_WILD, OF_WILD_REPEATS, OF_LATENCIES, OF_RANKS, N_PURPOSES };

static double normal(const struct synthetic_fleet *f, int purpose, int i)
{
    return rng_normal(f->seed * N_PURPOSES + (uint64_t)purpose, RNG_TEST, (uint64_t)i);
}

static double uniform(const struct synthetic_fleet *f, int purpose, int i)
{
    return rng_uniform(f->seed * N_PURPOSES + (uint64_t)purpose, RNG_TEST, (uint64_t)i);
}

static bool is_wild(const struct synthetic_fleet *f, int thing, int repeat)
{
    return uniform(f, OF_WILD, thing) < f->wild_ratio &&
           (int)(uniform(f, OF_WILD_REPEATS, thing) * f->n_repeats) == repeat;
}

/* Of what a healthy pair has. */
static double pair_ratio(const struct synthetic_fleet *f, int from, int to)
{
    double ratio = 1;

    for (int k = 0; k < f->n_faults; k++) {
        const struct fault *x = &f->fault[k];
        const bool is_node = x->kind == FAULT_SLOW_NODE && (from == x->a || to == x->a);
        const bool is_link = x->kind == FAULT_SLOW_LINK &&
                             ((from == x->a && to == x->b) || (x->both_ways && from == x->b && to == x->a));
        if (is_node || is_link)
            ratio = fmin(ratio, x->ratio);
    }
    return ratio;
}

static void measure_pair(struct acceptance *a, const struct synthetic_fleet *f, int repeat, int from, int to,
                         const int *node_at)
{
    const int pair = from * f->n_nodes + to, thing = repeat * f->n_nodes * f->n_nodes + pair;
    const int row = node_at ? node_at[from] : from, column = node_at ? node_at[to] : to;
    const double node = fmin(f->node_noise * normal(f, OF_NODES, from), f->node_noise * normal(f, OF_NODES, to));
    const double log_ratio = f->noise * normal(f, OF_REPEATS, thing) + f->pair_noise * normal(f, OF_PAIRS, pair) + node;

    *tournament_rate(&a->tournament, repeat, row, column) =
        SYNTHETIC_BYTES_PER_S * pair_ratio(f, from, to) * exp(log_ratio) * (is_wild(f, pair, repeat) ? 0.5 : 1);
    if (f->has_latencies && from < to) {
        const double s = SYNTHETIC_LATENCY_S * exp(f->noise * normal(f, OF_LATENCIES, thing));
        *tournament_latency(&a->tournament, repeat, row, column) = s;
        *tournament_latency(&a->tournament, repeat, column, row) = s;
    }
}

static void measure_rank(struct acceptance *a, const struct synthetic_fleet *f, int rank, int repeat)
{
    double ratio = exp(f->noise * normal(f, OF_RANKS, rank * f->n_repeats + repeat));

    for (int k = 0; k < f->n_faults; k++)
        if (f->fault[k].kind == FAULT_SLOW_RANK && f->fault[k].a == rank)
            ratio *= f->fault[k].ratio;
    if (is_wild(f, f->n_nodes * f->n_nodes + rank, repeat))
        ratio *= 0.5;
    a->metric[METRIC_GEMM].value[rank * f->n_repeats + repeat] = SYNTHETIC_FLOPS_PER_S * ratio;
}

void synthetic_fleet_measure(struct acceptance *a, const struct synthetic_fleet *f, const int *node_at)
{
    const int n_node_ranks = f->n_node_ranks > 0 ? f->n_node_ranks : 1;

    if (acceptance_open(a, f->n_nodes, f->n_nodes * n_node_ranks) != RC_OK ||
        acceptance_add_tournament(a, f->n_repeats) != RC_OK ||
        acceptance_add_metric(a, METRIC_GEMM, f->n_repeats) != RC_OK)
        abort();
    for (int i = 0; i < a->n_ranks; i++)
        a->node_of_rank[i] = i / n_node_ranks;
    a->tournament.n_repeats = f->n_repeats;
    for (int r = 0; r < f->n_repeats; r++) {
        for (int i = 0; i < f->n_nodes; i++)
            for (int j = 0; j < f->n_nodes; j++)
                if (i != j)
                    measure_pair(a, f, r, i, j, node_at);
        for (int i = 0; i < a->n_ranks; i++)
            measure_rank(a, f, i, r);
    }
}

static bool is_named(const struct finding *found, const struct fault *fault)
{
    switch (fault->kind) {
    case FAULT_SLOW_NODE:
        return found->subject == SUBJECT_NODE && found->a == fault->a && found->both_ways;
    case FAULT_SLOW_LINK:
        return found->subject == SUBJECT_LINK && found->both_ways == fault->both_ways &&
               ((found->a == fault->a && found->b == fault->b) ||
                (fault->both_ways && found->a == fault->b && found->b == fault->a));
    default:
        return found->subject == SUBJECT_RANK && found->a == fault->a;
    }
}

int synthetic_fleet_found(const struct acceptance *a, const struct synthetic_fleet *f)
{
    int n = 0;

    for (int k = 0; k < f->n_faults; k++) {
        bool is_found = false;
        for (int i = 0; i < a->n_findings; i++)
            is_found |= is_named(&a->finding[i], &f->fault[k]);
        n += is_found;
    }
    return n;
}

int synthetic_fleet_false(const struct acceptance *a, const struct synthetic_fleet *f)
{
    int n = 0;

    for (int i = 0; i < a->n_findings; i++) {
        bool is_true = false;
        for (int k = 0; k < f->n_faults; k++)
            is_true |= is_named(&a->finding[i], &f->fault[k]);
        n += !is_true;
    }
    return n;
}

int findings_of(const struct acceptance *a, enum subject subject, const char *metric)
{
    int n = 0;

    for (int i = 0; i < a->n_findings; i++)
        n += a->finding[i].subject == subject && (!metric || strcmp(a->finding[i].metric, metric) == 0);
    return n;
}
