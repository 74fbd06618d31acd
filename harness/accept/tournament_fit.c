/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tournament_fit.c - estimates the best rates of each node, sending and receiving, and how far each pair of nodes is
 * below them. blame.c uses this model of a tournament to blame; see tournament_fit.h.
 */
#include "harness/accept/tournament_fit.h"

#include <math.h>
#include <stdlib.h>

#include "harness/measure/robust.h"
#include "harness/measure/sorted.h"

enum { MOST_ROUNDS = 8, PAIRS_PER_SIDE = 8 };
static const double TENTH_ERROR = 1.7094; /* standard error of a 0.9 quantile over that of a mean, of normal numbers */

const struct tournament_metric tournament_rates = { "bytes_per_s", "byte/s", true, true,
                                                    offsetof(struct tournament, bytes_per_s) };
const struct tournament_metric tournament_latencies = { "latency_s", "s", false, false,
                                                        offsetof(struct tournament, latency_s) };

/* NaN: not measured. */
static double better(const struct tournament *t, const struct tournament_metric *m, int repeat, int from, int to)
{
    const double *all = *(double *const *)(const void *)((const char *)t + m->offset);
    const size_t n = (size_t)t->n_nodes;
    const double x = all[((size_t)repeat * n + (size_t)from) * n + (size_t)to];

    if (!(x > 0) || isinf(x))
        return NAN;
    return m->higher_is_better ? log(x) : -log(x);
}

/* One that has no direction: the mean of both, or the one that was measured. */
static double undirected(const struct tournament *t, const struct tournament_metric *m, int repeat, int a, int b)
{
    const double there = better(t, m, repeat, a, b), back = better(t, m, repeat, b, a);

    return isnan(there) ? back : isnan(back) ? there : (there + back) / 2;
}

static struct evidence pair_evidence(const struct tournament *t, const struct tournament_metric *m, int from, int to)
{
    double x[ACCEPT_MAX_REPEATS];
    int n = 0;

    for (int r = 0; from != to && r < t->n_repeats; r++) {
        x[n] = m->is_directed ? better(t, m, r, from, to) : undirected(t, m, r, from, to);
        n += !isnan(x[n]);
    }
    return evidence_of(x, n);
}

bool tournament_has(const struct tournament *t, const struct tournament_metric *metric)
{
    for (int i = 0; t->n_repeats >= 2 && i < t->n_nodes; i++)
        for (int j = 0; j < t->n_nodes; j++) {
            const struct evidence e = pair_evidence(t, metric, i, j);
            if (evidence_is(&e))
                return true;
        }
    return false;
}

/* Is the pair one of the model, and measured? */
static bool is_pair(const struct tournament_fit *f, int from, int to)
{
    return (f->metric->is_directed || from < to) && evidence_is(&f->evidence[side_pair(f, SIDE_SENDS, from, to)]);
}

static bool is_healthy(const struct tournament_fit *f, int from, int to)
{
    return !fitted_side(f, from, SIDE_SENDS)->is_blamed && !fitted_side(f, to, SIDE_RECEIVES)->is_blamed;
}

/* accept.F1; NaN: fewer than two pairs. Peers that are blamed are left out, where others are. */
static double best_tenth_of_side(const struct tournament_fit *f, int node, int side, bool healthy_peers)
{
    size_t n = 0;

    for (int peer = 0; peer < f->n_nodes; peer++) {
        const size_t pair = side_pair(f, side, node, peer);
        if (evidence_is(&f->evidence[pair]) && !(healthy_peers && fitted_side(f, peer, N_SIDES - 1 - side)->is_blamed))
            f->scratch[n++] = f->evidence[pair].value;
    }
    if (n < 2)
        return healthy_peers ? best_tenth_of_side(f, node, side, false) : NAN;
    sorted_make(f->scratch, n);
    return f->scratch[n - 1 - (n + 5) / 10];
}

/* The middle of x[n], of an even number the better one; NaN: n is 0. */
static double better_middle(double *x, size_t n)
{
    if (n == 0)
        return NAN;
    sorted_make(x, n);
    return x[n / 2];
}

static void fit_sides(struct tournament_fit *f)
{
    size_t n = 0;

    for (int side = 0; side < f->n_sides; side++) {
        for (int i = 0; i < f->n_nodes; i++)
            fitted_side(f, i, side)->value = best_tenth_of_side(f, i, side, true);
        n = 0;
        for (int i = 0; i < f->n_nodes; i++)
            if (!fitted_side(f, i, side)->is_blamed && !isnan(fitted_side(f, i, side)->value))
                f->scratch[n++] = fitted_side(f, i, side)->value;
        f->side_fleet[side] = better_middle(f->scratch, n);
    }
    n = 0;
    for (int side = 0; side < f->n_sides; side++)
        for (int i = 0; i < f->n_nodes; i++) {
            struct fitted *s = fitted_side(f, i, side);
            s->expected = f->side_fleet[side];
            s->deviation = s->expected - s->value;
            if (!s->is_blamed && !isnan(s->deviation))
                f->scratch[n++] = s->deviation;
        }
    f->side_between = spread_between(f->scratch, n);
    f->side_dof = dof_between(n, (size_t)f->n_sides);
}

static bool is_small(const struct tournament_fit *f)
{
    return f->n_nodes - 1 < PAIRS_PER_SIDE * 2; /* n (n - 1) pairs of 2 n sides; without direction half of both */
}

/* accept.F3 */
static double side_limit(const struct tournament_fit *f, int node, int side)
{
    const double value = fitted_side(f, node, side)->value;

    return isnan(value) || (is_small(f) && value > f->fleet) ? f->fleet : value;
}

/* accept.F2 */
static double expected_of_pair(const struct tournament_fit *f, int from, int to)
{
    const double sends = side_limit(f, from, SIDE_SENDS), receives = side_limit(f, to, SIDE_RECEIVES);
    const double both = exp(-sends) + exp(-receives) - exp(-f->fleet), worse = fmin(sends, receives);

    if (fitted_side(f, from, SIDE_SENDS)->is_blamed && fitted_side(f, to, SIDE_RECEIVES)->is_blamed)
        return fmin(worse, -log(both)); /* both > exp(-worse), as a blamed side is worse than the fleet */
    return worse;
}

/* value[n] := of pairs without a blamed side. Returns n. */
static size_t healthy_pairs(const struct tournament_fit *f, double *value)
{
    size_t n = 0;

    for (int i = 0; i < f->n_nodes; i++)
        for (int j = 0; j < f->n_nodes; j++)
            if (is_pair(f, i, j) && is_healthy(f, i, j))
                value[n++] = f->evidence[side_pair(f, SIDE_SENDS, i, j)].value;
    return n;
}

/* Most pairs of three nodes have a slow one in them, but most sides are not slow: of few nodes those are the fleet. */
static void fit_fleet(struct tournament_fit *f)
{
    const double sends = f->side_fleet[SIDE_SENDS], receives = f->side_fleet[f->n_sides - 1];
    f->fleet = better_middle(f->scratch, healthy_pairs(f, f->scratch));
    if (is_small(f) && !isnan(sends) && !isnan(receives))
        f->fleet = fmin(sends, receives);
}

static void fit_pairs(struct tournament_fit *f)
{
    const int n_parameters = f->n_nodes * f->n_sides;
    double middle = 0;
    size_t n = 0;

    for (int i = 0; i < f->n_nodes; i++)
        for (int j = 0; j < f->n_nodes; j++) {
            struct fitted *pair = &f->pair[side_pair(f, SIDE_SENDS, i, j)];
            if (!is_pair(f, i, j))
                continue;
            pair->value = f->evidence[side_pair(f, SIDE_SENDS, i, j)].value;
            pair->expected = expected_of_pair(f, i, j);
            if (is_healthy(f, i, j))
                f->scratch[n++] = pair->expected - pair->value;
        }
    if (n >= 3)
        middle = robust_median(f->scratch, n);
    if (is_small(f)) /* accept.F3 */
        n = healthy_pairs(f, f->scratch);
    noise_add_between(&f->noise, f->scratch, n, is_small(f) ? 1 : (size_t)n_parameters);
    for (int i = 0; i < f->n_nodes; i++)
        for (int j = 0; j < f->n_nodes; j++)
            if (is_pair(f, i, j)) {
                struct fitted *pair = &f->pair[side_pair(f, SIDE_SENDS, i, j)];
                pair->expected -= middle; /* of best tenths: pairs are a little worse than those */
                pair->deviation = pair->expected - pair->value;
            }
}

/* The most lenient of three: nodes differ; a node's pairs differ; a fifth of the border. */
static double p_of_side(const struct tournament_fit *f, const struct fitted *s, int n_pairs)
{
    const struct evidence sure = { .n = 1 };
    const struct noise floor = { .border = f->noise.border, .dof = INFINITY };
    const double of_pairs = TENTH_ERROR * hypot(f->noise.between, f->noise.typical) / sqrt(n_pairs);

    if (!(s->deviation > f->noise.border))
        return 1;
    return fmax(noise_p(&floor, &sure, s->deviation),
                fmax(robust_upper_tail(s->deviation, f->side_between, f->side_dof),
                     robust_upper_tail(s->deviation, of_pairs, f->noise.dof)));
}

static int n_pairs_of_side(const struct tournament_fit *f, int node, int side)
{
    int n = 0;

    for (int peer = 0; peer < f->n_nodes; peer++)
        n += evidence_is(&f->evidence[side_pair(f, side, node, peer)]);
    return n;
}

/* p of all hypotheses; in f->p those below 1 */
static size_t test_all(struct tournament_fit *f)
{
    size_t n = 0;

    f->n_tests = 0;
    for (int i = 0; i < f->n_nodes; i++)
        for (int side = 0; side < f->n_sides; side++) {
            struct fitted *s = fitted_side(f, i, side);
            s->p = isnan(s->deviation) ? 1 : p_of_side(f, s, n_pairs_of_side(f, i, side));
            f->n_tests += !isnan(s->deviation);
            if (s->p < 1)
                f->p[n++] = s->p;
        }
    for (int i = 0; i < f->n_nodes; i++)
        for (int j = 0; j < f->n_nodes; j++) {
            const size_t k = side_pair(f, SIDE_SENDS, i, j);
            f->pair[k].p = is_pair(f, i, j) ? noise_p(&f->noise, &f->evidence[k], f->pair[k].deviation) : 1;
            f->n_tests += is_pair(f, i, j);
            if (f->pair[k].p < 1)
                f->p[n++] = f->pair[k].p;
        }
    return n;
}

/* q of what has p below 1, in the order of test_all(). Returns whether another side is blamed, or one less. */
static bool blame_by_q(struct tournament_fit *f, const double *q)
{
    bool changed = false;

    for (int i = 0; i < f->n_nodes; i++)
        for (int side = 0; side < f->n_sides; side++) {
            struct fitted *s = fitted_side(f, i, side);
            const double q_now = s->p < 1 ? *q++ : 1;
            const bool stays = s->is_blamed && s->p < 1;
            s->q = stays ? s->q : q_now;
            changed |= s->is_blamed != (s->q <= f->level);
            s->is_blamed = s->q <= f->level;
        }
    for (size_t k = 0; k < (size_t)f->n_nodes * (size_t)f->n_nodes; k++) {
        f->pair[k].q = f->pair[k].p < 1 ? *q++ : 1;
        f->pair[k].is_blamed = f->pair[k].q <= f->level;
    }
    return changed;
}

static enum rc fit_until_stable(struct tournament_fit *f)
{
    bool changed = true;
    enum rc rc = RC_OK;

    for (int round = 0; changed && round < MOST_ROUNDS; round++) { /* accept.F4 */
        fit_sides(f);
        fit_fleet(f);
        fit_pairs(f);
        const size_t n = test_all(f);
        TRY(robust_q_values(f->p, f->p, n, f->n_tests));
        changed = blame_by_q(f, f->p);
    }
out:
    return rc;
}

enum rc tournament_fit_open(struct tournament_fit *out, const struct tournament *t,
                            const struct tournament_metric *metric, const struct blame_terms *terms, int n_metrics)
{
    const size_t n = (size_t)t->n_nodes, n_pairs = n * n;
    struct tournament_fit f = { .metric = metric,
                                .n_nodes = t->n_nodes,
                                .n_sides = metric->is_directed ? N_SIDES : 1,
                                .level = terms->false_discovery_ratio / n_metrics };
    enum rc rc = RC_OK;

    if (terms->n_looks > 1)
        f.level /= terms->n_looks;
    f.evidence = calloc(n_pairs, sizeof *f.evidence);
    f.pair = calloc(n_pairs, sizeof *f.pair);
    f.side = calloc(n * N_SIDES, sizeof *f.side);
    f.scratch = calloc(n_pairs + n * N_SIDES, sizeof *f.scratch);
    f.p = calloc(n_pairs + n * N_SIDES, sizeof *f.p);
    if (!f.evidence || !f.pair || !f.side || !f.scratch || !f.p)
        FAIL(RC_NOMEM, "no memory for pairs of %d nodes", t->n_nodes);
    for (int i = 0; i < t->n_nodes; i++)
        for (int j = 0; j < t->n_nodes; j++) {
            f.evidence[side_pair(&f, SIDE_SENDS, i, j)] = pair_evidence(t, metric, i, j);
            f.pair[side_pair(&f, SIDE_SENDS, i, j)] = (struct fitted){ NAN, NAN, NAN, 1, 1, false };
        }
    f.noise = noise_of_repeats(f.evidence, n_pairs, blame_border(terms->least_effect_ratio, metric->higher_is_better),
                               f.scratch);
    TRY(fit_until_stable(&f));
    *out = f;
    f = (struct tournament_fit){ .n_nodes = 0 };
out:
    tournament_fit_close(&f);
    return rc;
}

void tournament_fit_close(struct tournament_fit *f)
{
    free(f->evidence);
    free(f->pair);
    free(f->side);
    free(f->scratch);
    free(f->p);
    *f = (struct tournament_fit){ .n_nodes = 0 };
}
