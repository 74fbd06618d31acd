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
 */
#ifndef HARNESS_CAMPAIGN_KNOWN_ERRORS_H
#define HARNESS_CAMPAIGN_KNOWN_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

enum { KNOWN_ERRORS_LEAST = 3, KNOWN_ERRORS_NAME_BYTES = 64 };

struct known_error { /* a row */
    bool has_servers, is_on_several;
    char table[KNOWN_ERRORS_NAME_BYTES]; /* its file */
    char cluster[KNOWN_ERRORS_NAME_BYTES];
    double ratio; /* published less predicted efficiency */
};

struct known_errors { /* owned */
    struct known_error *row;
    size_t n_rows;
};

struct known_errors_of { /* what is predicted */
    bool has_servers, is_on_several;
    const char *cluster; /* the name in its description; borrowed */
};

struct known_errors_range {
    double low, high;        /* 1 of 10 rows is below, and 1 above; low <= 0 <= high. NaN: no row counts */
    size_t n_rows, n_tables; /* that count */
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
