/* SPDX-License-Identifier: Apache-2.0 */
/* straggler.c - finds the rank that the others wait for; see outliers.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/accept/outliers.h"
#include "harness/accept/rank_fit.h"
#include "harness/accept/report_words.h"
#include "harness/measure/robust.h"

static const double WAITS_FOR_IT = 0.5; /* of what a rank computes longer */

/* Median of a rank's repeats; NaN: none. */
static double wait_of(const struct rank_metric *wait, int rank)
{
    double x[ACCEPT_MAX_REPEATS] = { 0 };
    size_t n = 0;

    for (int r = 0; wait->value && r < wait->n_repeats; r++) {
        x[n] = wait->value[(size_t)rank * (size_t)wait->n_repeats + (size_t)r];
        n += isfinite(x[n]) ? 1 : 0;
    }
    return robust_median(x, n);
}

static double longer_s(const struct rank_fit *f, int rank)
{
    return rank_fit_metric(f, f->evidence[rank].value) - rank_fit_metric(f, f->fleet);
}

/* Ranks that wait longer than this one by half of what it computes longer. */
static int n_waiting(const struct rank_fit *f, const double *wait_s, int rank)
{
    int n = 0;

    for (int i = 0; i < f->a->n_ranks; i++)
        n += wait_s[i] - wait_s[rank] > WAITS_FOR_IT * longer_s(f, rank);
    return n;
}

/* Who waits more than most ranks that are not slow is held up by another, whatever it seems to compute. */
static bool is_victim(const struct rank_fit *f, const double *wait_s, int rank)
{
    size_t n = 0;

    for (int i = 0; i < f->a->n_ranks; i++)
        if (!f->rank[i].is_blamed && !isnan(wait_s[i]))
            f->scratch[n++] = wait_s[i];
    return n > 0 && wait_s[rank] - robust_median(f->scratch, n) > WAITS_FOR_IT * longer_s(f, rank);
}

static void straggler_text(char *out, size_t n_bytes, const struct rank_fit *f, const void *arg, int rank)
{
    const double *wait_s = arg;
    const int n = n_waiting(f, wait_s, rank);
    char longer[QUANTITY_BYTES];

    quantity_text(longer, sizeof longer, longer_s(f, rank), "s");
    if (isnan(wait_s[rank]))
        snprintf(out, n_bytes, "computes %s of a step longer than the median rank; who waits was not measured", longer);
    else if (n == 0)
        snprintf(out, n_bytes, "computes %s of a step longer than the median rank, but no rank waits for it", longer);
    else
        snprintf(out, n_bytes, "computes %s of a step longer than the median rank: %d of %d other ranks wait for it",
                 longer, n, f->a->n_ranks - 1);
}

enum rc stragglers_find(struct acceptance *a, const struct blame_terms *terms)
{
    struct rank_fit f = { .n_values = 0 };
    double *wait_s = calloc((size_t)a->n_ranks, sizeof *wait_s);
    bool *victim = calloc((size_t)a->n_ranks, sizeof *victim);
    enum rc rc = RC_OK;

    if (!wait_s || !victim)
        FAIL(RC_NOMEM, "no memory for %d ranks", a->n_ranks);
    TRY(rank_fit_open(&f, a, METRIC_STEP_COMPUTE, terms));
    for (int i = 0; i < a->n_ranks; i++)
        wait_s[i] = wait_of(&a->metric[METRIC_STEP_WAIT], i);
    for (int i = 0; i < a->n_ranks; i++)
        victim[i] = f.rank[i].is_blamed && is_victim(&f, wait_s, i);
    for (int i = 0; i < a->n_ranks; i++)
        f.rank[i].is_blamed &= !victim[i];
    TRY(rank_fit_findings(a, &f, straggler_text, wait_s));
out:
    rank_fit_close(&f);
    free(wait_s);
    free(victim);
    return rc;
}
