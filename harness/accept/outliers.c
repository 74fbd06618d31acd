/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outliers.c - finds ranks or nodes that are far worse than the fleet in one metric, and ranks for which others wait;
 * see outliers.h.
 */
#include "harness/accept/outliers.h"

#include <stdio.h>

#include "harness/accept/rank_fit.h"

enum { WORDS_BYTES = 200 };

static bool is_of_stragglers(int metric)
{
    return metric == METRIC_STEP_COMPUTE || metric == METRIC_STEP_WAIT;
}

static void outlier_text(char *out, size_t n_bytes, const struct rank_fit *f, const void *arg, int rank)
{
    char words[WORDS_BYTES];

    (void)arg;
    rank_fit_words(words, sizeof words, f, rank_fit_metric(f, f->evidence[rank].value));
    snprintf(out, n_bytes, "%s, median of %d repeats", words, f->evidence[rank].n);
}

enum rc outliers_find(struct acceptance *a, int metric, const struct blame_terms *terms)
{
    struct rank_fit f = { .n_values = 0 };
    enum rc rc = RC_OK;

    if (is_of_stragglers(metric))
        return RC_OK;
    TRY(rank_fit_open(&f, a, metric, terms));
    TRY(rank_fit_findings(a, &f, outlier_text, NULL));
out:
    rank_fit_close(&f);
    return rc;
}

static bool is_rank_open(const struct rank_fit *f, int rank)
{
    const struct evidence *e = &f->evidence[rank];
    const struct ranked *r = &f->rank[rank];

    return !evidence_is(e) || noise_is_open(&f->noise, e, r->deviation) ||
           (r->deviation > f->noise.border && !r->is_blamed && noise_error(&f->noise, e) > f->noise.between);
}

bool outliers_open(const struct acceptance *a, int metric, const struct blame_terms *terms)
{
    struct rank_fit f = { .n_values = 0 };
    bool is_open = false;

    if (rank_fit_open(&f, a, metric, terms) != RC_OK) { /* without memory nothing is decided */
        rc_clear();
        return true;
    }
    for (int i = 0; i < a->n_ranks; i++)
        is_open |= is_rank_open(&f, i);
    rank_fit_close(&f);
    return is_open;
}
