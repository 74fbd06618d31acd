/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reproduce_fit.h - one or two assumed constants of the clusters, fitted to some rows of a table for the other rows.
 *
 *   reproduce_fit.c      which rows and ranges, the grid, the values
 *   reproduce_report.c   what of it is told
 *
 * Invariants
 *   F1  A constant is fitted only if all clusters of the table that it has an effect on assume it. Its value is in all
 *       their ranges (prediction.h), and is the same for all of them. Rows on which no key has an effect, as those
 *       of one host for a key of the network, are no rows of the fit.
 *   F2  The values have the least sum of squared errors in efficiency over the rows of the fit. These are simulated on
 *       a grid, even by ratio; between its points efficiencies are interpolated. Predictions are simulated.
 *   F3  Values fit as well if the mean square of the errors grows by at most that of FIT_AS_WELL. If they are more than
 *       half of a range, by ratio, the rows cannot tell the constant, and the fit is refused.
 *   F4  Errors of rows of the fit are in no mean of other rows. With several tables each is also predicted by values
 *       that were fitted to the others alone.
 */
#ifndef HARNESS_CAMPAIGN_REPRODUCE_FIT_H
#define HARNESS_CAMPAIGN_REPRODUCE_FIT_H

#include "harness/campaign/reproduce.h"

enum { FIT_MOST_KEYS = 2, FIT_MOST_TABLES = 32, FIT_MOST_GRID = 25, FIT_SETTING_BYTES = 192 };

struct fitted {
    double value[FIT_MOST_KEYS], low[FIT_MOST_KEYS], high[FIT_MOST_KEYS]; /* from low to high values fit as well (F3) */
    bool is_told;                                                         /* F3 */
};

struct fit_pair { /* simulations: of one GPU, and of all */
    size_t alone, together;
};

enum fit_use { FIT_IN_NO_MEAN, FIT_UNSEEN, FIT_SEEN };

struct fit_row {
    enum fit_use use;
    int table;                           /* of fit_table; -1: it has no row of the fit */
    struct fit_pair grid[FIT_MOST_GRID]; /* of a row of the fit, in the simulations of `before` */
    double predicted[FIT_MOST_GRID];     /* NaN before they ran */
    struct fit_pair left_out;            /* with the values of the other tables, in those of the predictions */
};

struct fit_table { /* a table with rows of the fit */
    const char *name;
    struct fitted others; /* what the rows of the fit in other tables say */
};

struct reproduce_fit {              /* owned; zeroed: not open */
    const char *rows;               /* which: "gpus<=16"; borrowed */
    struct reproduce_terms terms;   /* of `before` */
    struct reproduction before;     /* all rows, by the clusters as they are described */
    int key[FIT_MOST_KEYS], n_keys; /* of cluster_keys */
    double least[FIT_MOST_KEYS], most[FIT_MOST_KEYS];
    struct fit_row *row; /* [n_rows]: of the points of `before`, and the first of the predictions */
    size_t n_rows, n_seen;
    struct fit_table table[FIT_MOST_TABLES];
    size_t n_tables; /* 1: no table is left out */
    struct fitted best;
};

struct fit_wish { /* borrowed; what options say */
    const char *keys, *rows;
};

/* Read the table, choose rows, and plan the simulations of f->before. The remaining parameters are those of
 * reproduction_open(). out must stay where it is. RC_INVAL names the option. */
enum rc reproduce_fit_open(struct reproduce_fit *out, const struct fit_wish *wish, const char *name, const char *path,
                           const char *folder, const struct reproduce_terms *terms) MUST_CHECK;
/* After reproduction_run(&f->before): find the values. RC_INVAL: F3. RC_PEER: a simulation failed. */
enum rc reproduce_fit_find(struct reproduce_fit *f) MUST_CHECK;
/* For a plan: values in the middle of the ranges, instead of reproduce_fit_find(). */
void reproduce_fit_pretend(struct reproduce_fit *f);
/* "KEY=VALUE,KEY=VALUE" */
void reproduce_fit_settings(char out[FIT_SETTING_BYTES], const struct reproduce_fit *f, const struct fitted *of);
/* The values of c are fitted: assumed, with what fits as well as their range. */
void reproduce_fit_mark(const struct reproduce_fit *f, struct used_cluster *c);
/* r: the predictions with the fitted values. Mark the rows of the fit, and plan the tables that are left out (F4). */
enum rc reproduce_fit_plan(struct reproduce_fit *f, struct reproduction *r) MUST_CHECK;
void reproduce_fit_close(struct reproduce_fit *f); /* accepts a zeroed one */
/* Has a fitted constant an effect on p, of r? */
bool reproduce_fit_concerns(const struct reproduce_fit *f, const struct reproduction *r, const struct point_of_row *p);
/* The mean absolute error that the fit leaves its own rows, a ratio of at least KNOWN_ERRORS_OF_FIT; NaN: none was
 * predicted. r: with a fit; its points have their predictions. */
double reproduce_fit_seen_error(const struct reproduction *r);

#endif
