/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_fit.c - the distance of each rank from the fleet in one metric, used by outliers.c and straggler.c; see
 * rank_fit.h.
 */
#include "harness/accept/rank_fit.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/measure/robust.h"

static const double ROUNDING = 1e-12;
enum { MOST_ROUNDS = 8, LEAST_RANKS = 3, WORDS_BYTES = 200 };

/* Detours may be 0, and twice next to nothing is next to nothing: the scale is ln(start + x), which is linear below
 * start. With a least effect of 0.1 a rank is not blamed that loses less than 0.01 of its time, or 1 ms at once. */
static double start_of(int metric)
{
    static const double DETOUR_RATIO = 0.1, LONGEST_DETOUR_S = 0.01;

    return metric == METRIC_DETOUR ? DETOUR_RATIO : metric == METRIC_LONGEST_DETOUR ? LONGEST_DETOUR_S : 0;
}

double rank_fit_metric(const struct rank_fit *f, double y)
{
    const double start = start_of(f->metric), x = f->a->metric[f->metric].higher_is_better ? exp(y) : exp(-y);

    return x - start > ROUNDING * start ? x - start : 0;
}

static struct evidence rank_evidence(const struct rank_metric *m, double start, int rank)
{
    double y[ACCEPT_MAX_REPEATS];
    int n = 0;

    for (int r = 0; m->value && r < m->n_repeats; r++) {
        const double x = m->value[(size_t)rank * (size_t)m->n_repeats + (size_t)r] + start;
        if (x > 0 && x >= start && !isinf(x)) /* a rate or a time of 0 was not measured; nor is less than no detour */
            y[n++] = m->higher_is_better ? log(x) : -log(x);
    }
    return evidence_of(y, n);
}

/* Of ranks that are not blamed: their middle, and what they differ by. */
static void fit_ranks(struct rank_fit *f)
{
    size_t n = 0;

    for (int i = 0; i < f->a->n_ranks; i++)
        if (evidence_is(&f->evidence[i]) && !f->rank[i].is_blamed)
            f->scratch[n++] = f->evidence[i].value;
    f->fleet = robust_median(f->scratch, n);
    noise_add_between(&f->noise, f->scratch, n, 0);
    for (int i = 0; i < f->a->n_ranks; i++)
        f->rank[i].deviation = f->fleet - f->evidence[i].value;
}

static bool blame_ranks(struct rank_fit *f, const double *q)
{
    bool changed = false;

    for (int i = 0; i < f->a->n_ranks; i++) {
        struct ranked *r = &f->rank[i];
        const double q_now = r->p < 1 ? *q++ : 1;
        const bool stays = r->is_blamed && r->p < 1; /* the fewer ranks that are left prove less, but do not acquit */
        r->q = stays ? r->q : q_now;
        changed |= r->is_blamed != (r->q <= f->level);
        r->is_blamed = r->q <= f->level;
    }
    return changed;
}

static enum rc fit_until_stable(struct rank_fit *f)
{
    bool changed = true;
    enum rc rc = RC_OK;

    for (int round = 0; changed && round < MOST_ROUNDS; round++) {
        size_t n = 0;
        fit_ranks(f);
        for (int i = 0; i < f->a->n_ranks; i++) {
            struct ranked *r = &f->rank[i];
            r->p = f->n_values >= LEAST_RANKS && evidence_is(&f->evidence[i])
                       ? noise_p(&f->noise, &f->evidence[i], r->deviation)
                       : 1;
            if (r->p < 1)
                f->scratch[n++] = r->p;
        }
        TRY(robust_q_values(f->scratch, f->scratch, n, (size_t)f->n_values));
        changed = blame_ranks(f, f->scratch);
    }
out:
    return rc;
}

enum rc rank_fit_open(struct rank_fit *out, const struct acceptance *a, int metric, const struct blame_terms *terms)
{
    const struct rank_metric *m = &a->metric[metric];
    const size_t n = (size_t)a->n_ranks;
    struct rank_fit f = { .a = a,
                          .metric = metric,
                          .level = terms->false_discovery_ratio / (terms->n_looks > 1 ? terms->n_looks : 1),
                          .false_discovery_ratio = terms->false_discovery_ratio };
    enum rc rc = RC_OK;

    f.evidence = calloc(n, sizeof *f.evidence);
    f.rank = calloc(n, sizeof *f.rank);
    f.scratch = calloc(n, sizeof *f.scratch);
    if (!f.evidence || !f.rank || !f.scratch)
        FAIL(RC_NOMEM, "no memory for %zu ranks", n);
    for (int i = 0; i < a->n_ranks; i++) {
        f.evidence[i] = rank_evidence(m, start_of(metric), i);
        f.n_values += evidence_is(&f.evidence[i]);
    }
    f.noise = noise_of_repeats(f.evidence, n, blame_border(terms->least_effect_ratio, m->higher_is_better), f.scratch);
    TRY(fit_until_stable(&f));
    *out = f;
    f = (struct rank_fit){ .a = a };
out:
    rank_fit_close(&f);
    return rc;
}

void rank_fit_close(struct rank_fit *f)
{
    free(f->evidence);
    free(f->rank);
    free(f->scratch);
    *f = (struct rank_fit){ .n_values = 0 };
}

void rank_fit_words(char *out, size_t n_bytes, const struct rank_fit *f, double measured)
{
    const double fleet = rank_fit_metric(f, f->fleet);
    const char *unit = f->a->metric[f->metric].unit;

    if (start_of(f->metric) > 0)
        snprintf(out, n_bytes, "%.3g %s, where the fleet's median is %.3g", measured, unit, fleet);
    else
        snprintf(out, n_bytes, "%.1f %% of the fleet's median", 100 * measured / fleet);
}

static struct finding rank_finding(const struct rank_fit *f, int rank)
{
    const struct rank_metric *m = &f->a->metric[f->metric];

    return (struct finding){ .stage = m->stage,
                             .subject = SUBJECT_RANK,
                             .a = rank,
                             .b = f->a->node_of_rank[rank],
                             .metric = m->name,
                             .unit = m->unit,
                             .measured = rank_fit_metric(f, f->evidence[rank].value),
                             .expected = rank_fit_metric(f, f->fleet),
                             .q_value = fmin(1, f->rank[rank].q * f->false_discovery_ratio / f->level) };
}

/* Are all ranks of the node, two or more, blamed? */
static bool is_node_blamed(const struct rank_fit *f, int node)
{
    int n = 0, n_blamed = 0;

    for (int i = 0; i < f->a->n_ranks; i++)
        if (f->a->node_of_rank[i] == node && evidence_is(&f->evidence[i])) {
            n++;
            n_blamed += f->rank[i].is_blamed;
        }
    return n >= 2 && n_blamed == n;
}

/* Of its ranks: the median of what they have, and the least certain q. */
static struct finding node_finding(const struct rank_fit *f, int node)
{
    struct finding finding = { .q_value = 0 };
    char words[WORDS_BYTES];
    size_t n = 0;

    for (int i = 0; i < f->a->n_ranks; i++)
        if (f->a->node_of_rank[i] == node && evidence_is(&f->evidence[i])) {
            const struct finding one = rank_finding(f, i);
            const double q_value = fmax(finding.q_value, one.q_value);
            f->scratch[n++] = one.measured;
            finding = one;
            finding.q_value = q_value;
        }
    finding.subject = SUBJECT_NODE;
    finding.a = finding.b = node;
    finding.measured = robust_median(f->scratch, n);
    rank_fit_words(words, sizeof words, f, finding.measured);
    snprintf(finding.text, sizeof finding.text, "all %zu ranks of it, median %s", n, words);
    return finding;
}

/* The blamed rank that is farthest from the fleet, of those not done; -1: none is left. */
static int worst_left(const struct rank_fit *f, const bool *is_done)
{
    int worst = -1;

    for (int i = 0; i < f->a->n_ranks; i++)
        if (f->rank[i].is_blamed && !is_done[i] && (worst < 0 || f->rank[i].deviation > f->rank[worst].deviation))
            worst = i;
    return worst;
}

enum rc rank_fit_findings(struct acceptance *a, const struct rank_fit *f,
                          void (*text)(char *out, size_t n_bytes, const struct rank_fit *f, const void *arg, int rank),
                          const void *arg)
{
    bool *is_done = calloc((size_t)a->n_ranks, sizeof *is_done);
    enum rc rc = RC_OK;

    if (!is_done)
        FAIL(RC_NOMEM, "no memory for %d ranks", a->n_ranks);
    for (int i = worst_left(f, is_done); i >= 0; i = worst_left(f, is_done)) {
        const int node = a->node_of_rank[i];
        const bool of_node = is_node_blamed(f, node);
        struct finding finding = of_node ? node_finding(f, node) : rank_finding(f, i);

        if (!of_node)
            text(finding.text, sizeof finding.text, f, arg, i);
        for (int k = 0; k < a->n_ranks; k++)
            is_done[k] |= k == i || (of_node && a->node_of_rank[k] == node);
        TRY(acceptance_add_finding(a, &finding));
    }
out:
    free(is_done);
    return rc;
}
