/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_errors.h - how far published efficiencies lie from their predictions: the own error of the predictor, in no
 * constant of a description. scripts/measure prediction writes the rows, results/published/errors.csv, which is
 * compiled in.
 *
 * Invariants
 *   E1  A row is never judged by its own table: rows whose description has the same name are left out. The
 *       hosts of NC24rs_v2-infiniband and NC24rs_v2-ethernet are the same, but not their names: both count.
 *   E2  Rows with the same exchange (collective, servers) on as many hosts (one, several) count. If they are of fewer
 *       than KNOWN_ERRORS_LEAST tables, all rows on as many hosts count.
 *   E3  Each table has the same weight, be it long or short. A file has a table for each of its clusters.
 *   E4  The range is that of a conformal prediction for a row of one more table (Lee, Barber and Willett,
 *       "Distribution-free inference with hierarchical data", 2023): K tables, and one more whose errors are unknown,
 *       have the same weight, and 8 of 10 parts of it are at or below the range, whatever the sign. If tables are
 *       alike, a row of one more lies in it with a probability of at least 0.8. Of 4 tables it is the largest error;
 *       fewer have no such range, and their largest error says less.
 *   E5  A prediction with fitted constants is judged by other predictions with fitted constants, on any hosts: each
 *       error is a multiple of how far off the fit leaves its own rows (at least KNOWN_ERRORS_OF_FIT). Each fit has the
 *       same weight: a table may have one of one host, and one of several. If there are fewer than KNOWN_ERRORS_LEAST
 *       fits, it is judged as if nothing were fitted.
 */
#ifndef HARNESS_CAMPAIGN_KNOWN_ERRORS_H
#define HARNESS_CAMPAIGN_KNOWN_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

enum { KNOWN_ERRORS_LEAST = 5, KNOWN_ERRORS_NAME_BYTES = 64 };
#define KNOWN_ERRORS_OF_FIT 0.01 /* a ratio: a point, to which published efficiencies are exact */

struct known_error { /* a row */
    bool has_servers, is_on_several;
    char table[KNOWN_ERRORS_NAME_BYTES]; /* its file */
    char cluster[KNOWN_ERRORS_NAME_BYTES];
    double ratio;     /* published less predicted efficiency */
    double fit_ratio; /* mean absolute error of the rows of its fit; NaN: nothing was fitted */
};

struct known_errors { /* owned */
    struct known_error *row;
    size_t n_rows;
};

struct known_errors_of { /* what is predicted */
    bool has_servers, is_on_several, is_fitted;
    const char *cluster; /* the name in its description; borrowed */
};

struct known_errors_range {
    double most;             /* 8 of 10 rows of one more table are less far off (E4). NaN: no row counts */
    bool is_of_fits;         /* E5: `most` is a multiple of the mean error of the rows of a fit, else a ratio */
    size_t n_rows, n_tables; /* that count; is_of_fits: n_tables of fits */
    bool has_both_exchanges; /* E2: too few of its own */
};

/* Read the rows of a text as in errors.csv. RC_INVAL: line by number. RC_NOMEM. */
enum rc known_errors_read(struct known_errors *out, const char *text) MUST_CHECK;
/* Those that are compiled in. */
enum rc known_errors_open(struct known_errors *out) MUST_CHECK;
void known_errors_close(struct known_errors *e); /* accepts a zeroed one */
/* RC_NOMEM. */
enum rc known_errors_find(struct known_errors_range *out, const struct known_errors *e,
                          const struct known_errors_of *of) MUST_CHECK;

#endif
