/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predict.h - step times with more workers than were measured, on the cluster that was measured.
 *
 * The input is runs (recorded_open_runs()) at several numbers of workers, and the description of their cluster that
 * gradmark calibrate wrote. Points that differ only in workers form a setting. Every size of it is simulated with the
 * options of its launches, and so are the requested sizes (see extrapolate()).
 *
 * Invariants
 *   Y1  The check predicts the largest measured size of a setting from the smaller ones alone.
 *   Y2  The band has four independent parts. Two are from extrapolate(): the spread between sizes, and the drift of the
 *       unexplained part. The third is the 95 % interval of the largest used size over its launches. The fourth is the
 *       change of predictions with a higher, and a lower, link rate. The rate is changed by the largest residual of the
 *       calibration's fit, for messages whose bytes take longer than alpha.
 *   Y3  Too little data is refused, and the message says what is missing: a setting of fewer than two sizes with two
 *       ranks or more, a point launched once (simulated ones repeat exactly), runs of one host, a cluster without
 *       measured links.
 *   Y4  The same input gives the same bytes.
 *   Y5  Points with stages or shards are left out, and their number is reported. With more ranks there are several
 *       layouts, each with its bubbles and messages, and no ratio of a smaller layout predicts them. layouts.h does.
 */
#ifndef HARNESS_CAMPAIGN_PREDICT_H
#define HARNESS_CAMPAIGN_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/recorded.h"
#include "harness/campaign/simulations.h"
#include "harness/cluster/cluster.h"

/*
 * The step time with more workers than were measured, from simulations of all sizes and from the ratios
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

enum { PREDICT_MAX_SIZES = 32 };
enum predict_variant { VARIANT_AS_MEASURED, VARIANT_FASTER, VARIANT_SLOWER, N_VARIANTS }; /* links */

struct predict_terms { /* borrowed */
    const char *runs, *cluster;
    const char *profile; /* in place of the one that the runs name; "": that one */
    const char *to;      /* "8,16" */
};

struct predicted_size {
    const struct point *point; /* as measured; NULL: to be predicted */
    int n_workers;
    size_t simulation;   /* the first of N_VARIANTS */
    double measured_log; /* half the 95 % interval of its launches, as a logarithm; 0: simulated */
    /* Results. Of the measured sizes only the largest is predicted: the check. */
    bool is_predicted;
    struct extrapolation by;
    double calibration_log, band_log;
};

struct predicted_setting {
    char name[LAUNCH_NAME_BYTES];
    struct predicted_size size[PREDICT_MAX_SIZES]; /* measured ones first, by workers */
    size_t n_measured, n_sizes;
};

struct prediction { /* owned */
    const struct predict_terms *terms;
    struct recorded runs;
    struct cluster cluster;
    struct cluster_sources *sources;
    double residual_ratio; /* of the fit of links */
    struct predicted_setting *setting;
    struct simulation *simulation;
    size_t n_settings, n_simulations;
    size_t n_cut; /* Y5 */
};

/* Read the input, check it (Y3), and plan. RC_INVAL names what is wrong or missing. */
enum rc prediction_open(struct prediction *out, const struct predict_terms *terms) MUST_CHECK;
enum rc prediction_run(struct prediction *p, const struct simulations_env *env) MUST_CHECK;
/* A part of prediction_run(): predict size from the first n_used measured sizes of its setting, after their simulation
 * (Y2). */
void prediction_of_size(const struct prediction *p, const struct predicted_setting *s, size_t n_used,
                        struct predicted_size *size);
void prediction_close(struct prediction *p); /* accepts a zeroed one */

/* All details of the predictions: table.txt. */
enum rc prediction_print(const struct prediction *p, FILE *to) MUST_CHECK;
/* The answer in a few lines, and one table of at most 100 columns. RC_NOMEM, RC_IO. */
enum rc prediction_print_answer(const struct prediction *p, FILE *to) MUST_CHECK;
/* An explanation of the figures. RC_NOMEM, RC_IO. */
enum rc prediction_print_rest(const struct prediction *p, FILE *to) MUST_CHECK;
/* Write records: kind "prediction" for each requested size, "check" for each setting, "size" for each measured size. */
enum rc prediction_write(const struct prediction *p, const char *path) MUST_CHECK;
enum rc prediction_page(const struct prediction *p, const char *path) MUST_CHECK;

#endif
