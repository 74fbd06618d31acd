/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_fit.c - latency, rate and overhead of a class of links, from the times that pairs of ranks measured on them
 * (link_bench.h); see link_fit.h.
 */
#include "harness/bench/link_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/measure/sorted.h"

/* A pair is slow where even its faster repeats take so much longer than the slower ones of the fastest pair. */
#define DIFFERS_RATIO 1.05
/* An overhead is one where a message of a burst takes so many times what its bytes need on the wire. */
#define OVERHEAD_RATIO 2.0
/* A link is full duplex where both ways at once take at most so many times as long: repeats of one vary by as much. */
#define FULL_DUPLEX_RATIO 1.05

size_t link_size_bytes(int i)
{
    return (size_t)4 << (2 * i);
}

int link_burst_messages(int i)
{
    return 4 << i;
}

/* The median over pairs of the double at offset_bytes in each; scratch[n_pairs]. */
static double median_over_pairs(double *scratch, const struct pair_times *pair, int n_pairs, size_t offset_bytes)
{
    for (int i = 0; i < n_pairs; i++)
        memcpy(&scratch[i], (const char *)&pair[i] + offset_bytes, sizeof *scratch);
    sorted_make(scratch, (size_t)n_pairs);
    return sorted_median(scratch, (size_t)n_pairs);
}

static void find_extremes(struct link_fit *fit, const struct pair_times *pair, int n_pairs)
{
    enum { LONGEST = LINK_N_SIZES - 1 };

    fit->slowest = fit->fastest = pair[0];
    for (int i = 1; i < n_pairs; i++) {
        if (pair[i].median_s[LONGEST] > fit->slowest.median_s[LONGEST])
            fit->slowest = pair[i];
        if (pair[i].median_s[LONGEST] < fit->fastest.median_s[LONGEST])
            fit->fastest = pair[i];
    }
    fit->differs = fit->slowest.low_s[LONGEST] > DIFFERS_RATIO * fit->fastest.high_s[LONGEST];
}

/* From what a message more of a burst adds. */
static void find_overhead(struct link_fit *fit)
{
    const double wire_s = (double)link_size_bytes(0) * fit->message.slope_s, added_s = fit->burst.slope_s;

    fit->message_s = added_s > OVERHEAD_RATIO * wire_s ? added_s : 0;
    fit->is_capped = fit->message_s > fit->alpha_s / 2;
    if (fit->is_capped)
        fit->message_s = fit->alpha_s / 2;
}

/* The medians over pairs of sizes and bursts. RC_NOMEM. */
static enum rc take_medians(struct link_fit *fit, const struct pair_times *pair, int n_pairs)
{
    double *scratch = calloc((size_t)n_pairs, sizeof *scratch);

    if (!scratch)
        return rc_raise(RC_NOMEM, "no memory for the times of %d pairs", n_pairs);
    for (size_t i = 0; i < LINK_N_SIZES; i++)
        fit->median_s[i] =
            median_over_pairs(scratch, pair, n_pairs, offsetof(struct pair_times, median_s) + i * sizeof *scratch);
    for (size_t i = 0; i < LINK_N_BURSTS; i++)
        fit->burst_s[i] =
            median_over_pairs(scratch, pair, n_pairs, offsetof(struct pair_times, burst_s) + i * sizeof *scratch);
    fit->both_ratio = median_over_pairs(scratch, pair, n_pairs, offsetof(struct pair_times, both_s)) /
                      fit->median_s[LINK_N_SIZES - 1];
    free(scratch);
    return RC_OK;
}

double link_fit_duplex_ratio(const struct link_fit *f)
{
    const double n_bytes = (double)link_size_bytes(LINK_N_SIZES - 1), one_way_s = n_bytes * f->message.slope_s;
    const double both_s = f->both_ratio * f->median_s[LINK_N_SIZES - 1] - f->alpha_s;

    if (f->n_pairs == 0 || f->both_waits)
        return NAN;
    return both_s > FULL_DUPLEX_RATIO * one_way_s ? 2 * one_way_s / both_s : 2;
}

enum rc link_fit_of(struct link_fit *out, const struct pair_times *pair, int n_pairs)
{
    struct link_fit fit = { .n_pairs = n_pairs };
    double size_bytes[LINK_N_SIZES], n_messages[LINK_N_BURSTS];
    enum rc rc = RC_OK;

    if (n_pairs > 0) {
        TRY(take_medians(&fit, pair, n_pairs));
        for (int i = 0; i < LINK_N_SIZES; i++)
            size_bytes[i] = (double)link_size_bytes(i);
        for (int i = 0; i < LINK_N_BURSTS; i++)
            n_messages[i] = link_burst_messages(i);
        fit.message = line_fit_of(size_bytes, fit.median_s, LINK_N_SIZES);
        fit.burst = line_fit_of(n_messages, fit.burst_s, LINK_N_BURSTS);
        fit.alpha_s = fit.message.intercept_s;
        find_overhead(&fit);
        find_extremes(&fit, pair, n_pairs);
    }
    *out = fit;
out:
    return rc;
}
