/* SPDX-License-Identifier: Apache-2.0 */
/* rank_fit.h - the distance of each rank from the fleet in one metric, used by outliers.c and straggler.c. Private. */
#ifndef HARNESS_ACCEPT_RANK_FIT_H
#define HARNESS_ACCEPT_RANK_FIT_H

#include "harness/accept/blame.h"
#include "harness/accept/evidence.h"

struct ranked {
    double deviation; /* towards worse, on the metric's scale; NaN: fewer than two repeats */
    double p, q;
    bool is_blamed;
};

struct rank_fit {
    const struct acceptance *a;
    int metric;
    double level, false_discovery_ratio;
    struct evidence *evidence; /* [n_ranks] */
    struct ranked *rank;       /* [n_ranks] */
    int n_values;              /* ranks with a value */
    double fleet;              /* middle of the ranks that are not blamed, on the metric's scale; NaN: none */
    struct noise noise;
    double *scratch; /* [n_ranks] */
};

/* RC_NOMEM. No rank is blamed for a metric that was not measured, or with fewer than three values. */
enum rc rank_fit_open(struct rank_fit *out, const struct acceptance *a, int metric,
                      const struct blame_terms *terms) MUST_CHECK;
void rank_fit_close(struct rank_fit *f); /* accepts a zeroed one */
/* Value of the metric for y on its scale. */
double rank_fit_metric(const struct rank_fit *f, double y);
/* "70.1 % of the fleet's median"; without a percentage if the fleet's value is nearly 0. */
void rank_fit_words(char *out, size_t n_bytes, const struct rank_fit *f, double measured);
/* Append a finding for each blamed rank, the worst first. If a node has several ranks with values and all of them are
 * blamed, one finding of the node replaces theirs. text: words a rank's evidence. RC_NOMEM. */
enum rc rank_fit_findings(struct acceptance *a, const struct rank_fit *f,
                          void (*text)(char *out, size_t n_bytes, const struct rank_fit *f, const void *arg, int rank),
                          const void *arg) MUST_CHECK;

#endif
