/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extrapolate.h - what a step takes with more workers than were measured, from simulations of all of them and from what
 * measured steps took longer, or less long, than simulated ones. Pure.
 *
 * A step is compute and what is exposed of the exchange beside it. Of the largest size that may be used, each part's
 * measured time over its simulated one is what the simulated parts of the target are multiplied by. Where some
 * simulated exchange is less than EXTRAPOLATE_LEAST_RATIO of its step, parts cannot be told apart: then it is the ratio
 * of whole steps.
 *
 * Invariants
 *   X1  Sizes whose measured times are the simulated ones give the simulated time of the target.
 *   X2  The prediction is of the largest used size alone; the others give its spread: how far predictions by the ratios
 *       of each of them are from it, and as much again for each time that the target is as far (in the logarithm of
 *       workers) from the largest as that other one.
 *   X3  What measured steps took longer, or less long, than simulated ones is not explained, so it may be another
 *       amount with more workers: by EXTRAPOLATE_DRIFT_RATIO of it, assumed, for every doubling from the largest used
 *       size on.
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

struct size_times { /* of a number of workers */
    int n_workers;
    struct step_times measured, simulated;
};

struct extrapolation {
    double step_s;
    double compute_ratio, exchange_ratio; /* measured over simulated; of whole steps: both the same */
    bool is_whole;                        /* of whole steps */
    double
        spread_log;   /* largest |logarithm| of a prediction by another used size over this one; 0 with one size (X2) */
    double drift_log; /* the part of |logarithm of step_s over the simulated step| that may be another one (X3) */
};

struct size_target {
    int n_workers; /* more than of all used sizes */
    struct step_times simulated;
};

/* used[n], n >= 1, in rising order of workers, each another number; all steps > 0, 0 <= compute <= step. */
struct extrapolation extrapolate(const struct size_times *used, size_t n, const struct size_target *target);
/* The half-width of a band, as a logarithm, of parts that are independent. */
double extrapolate_band_log(const struct extrapolation *x, double launches_log, double calibration_log);

#endif
