/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extrapolate.h - the step time with more workers than were measured, from simulations of all sizes and from the ratios
 * of measured to simulated steps. Pure.
 *
 * A step is compute plus exposed exchange. From the largest size that may be used come two ratios: the measured over
 * the simulated time of each part. The simulated parts of the target are multiplied by them. If the simulated exchange
 * of some size is less than EXTRAPOLATE_LEAST_RATIO of its step, the parts cannot be separated: then the ratio of whole
 * steps is used.
 *
 * Invariants
 *   X1  If measured and simulated times of the sizes are equal, the result is the simulated time of the target.
 *   X2  The prediction uses only the largest used size. The smaller sizes give its spread: how far predictions by their
 *       ratios are from it, times log(target / largest) / log(largest / smaller) of the numbers of workers, at least
 *       times 1.
 *   X3  The difference between measured and simulated steps is not explained, so it may change with more workers.
 *       Assumed is a change by EXTRAPOLATE_DRIFT_RATIO of it for every doubling beyond the largest used size.
 */
#ifndef HARNESS_CAMPAIGN_EXTRAPOLATE_H
#define HARNESS_CAMPAIGN_EXTRAPOLATE_H

#include <stdbool.h>
#include <stddef.h>

#define EXTRAPOLATE_LEAST_RATIO 0.01
#define EXTRAPOLATE_DRIFT_RATIO 0.25

struct step_times {
    double step_s, compute_s;
};

struct size_times { /* for a number of workers */
    int n_workers;
    struct step_times measured, simulated;
};

struct extrapolation {
    double step_s;
    double compute_ratio, exchange_ratio; /* measured over simulated; for whole steps both are equal */
    bool is_whole;                        /* the ratio is that of whole steps */
    double
        spread_log;   /* largest |logarithm| of a prediction by another used size over this one; 0 with one size (X2) */
    double drift_log; /* part of |logarithm of step_s over the simulated step| that may change (X3) */
};

struct size_target {
    int n_workers; /* more than in all used sizes */
    struct step_times simulated;
};

/* used[n], n >= 1, in increasing order of workers, all different; all steps > 0, 0 <= compute <= step. */
struct extrapolation extrapolate(const struct size_times *used, size_t n, const struct size_target *target);
/* Half the width of a band, as a logarithm, of independent parts. */
double extrapolate_band_log(const struct extrapolation *x, double launches_log, double calibration_log);

#endif
