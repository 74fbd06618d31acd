/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reproduce.h - predict a table of published efficiencies by simulation, and say of every row how wrong that is.
 *
 *   reproduce.c           rows to points, points to simulations, simulations to predictions
 *   reproduce_report.c    table and records
 *   reproduce_charts.c    predictions from one GPU on, published points beside them
 *   reproduce_page.c      all of it as a page, with what is assumed
 *
 * Invariants
 *   J1  Nothing is fitted to a row or a model, though values that a cluster has for all its rows may have been chosen
 *       beside them, which its description then says: of a row only model, gpus, mode, servers, transport, cluster,
 *       batch and its one-GPU rate reach a simulation. Its efficiency is compared with, and nothing else.
 *   J2  Predicted efficiency is the simulated time of a step of one GPU alone, which updates and exchanges nothing,
 *       over that of all of them.
 *   J3  The same input gives the same bytes, in every file of the folder: no time, date or number of processes is in
 *       one.
 *   J4  Points that are simulated alike are simulated once.
 *   J5  A row of which a simulation failed is told, in the table and as a record of kind "failure"; the others are as
 *       if it were not there, and the command ends with an error.
 *   J6  A band is how far a prediction moves when each value that was calibrated alone is as far off, up and down, as
 *       its source tells (calibration_spread.h), the larger of both: the root of the sum of squares. There is no chance
 *       in it, and no band on a cluster of which no value was calibrated with a spread.
 */
#ifndef HARNESS_CAMPAIGN_REPRODUCE_H
#define HARNESS_CAMPAIGN_REPRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/prediction_band.h"
#include "harness/campaign/published_rows.h"
#include "harness/campaign/simulated_run.h"

struct progress;

/* Messages that servers and workers have under way at once, GPUs x servers: as many as were tried. */
enum { REPRODUCE_MOST_MESSAGES = 65536 };
enum { REPRODUCE_PATH_BYTES = USED_PROFILE_PATH_BYTES, REPRODUCE_CHART_BYTES = 320 };
struct table;

struct reproduce_terms {                 /* borrowed; the same for all rows */
    const char *profiles;                /* "MODEL=FILE,MODEL=FILE" */
    const char *cluster;                 /* of rows that name none; "": there is none */
    const char *cluster_set;             /* "key=value,...": of all clusters */
    const char *ps_transport;            /* of rows of ps that tell none; "cluster": the cluster's own */
    const char *placement, *consistency; /* of servers; consistency: of mode ps, not ps-async */
    const char *overlap;
    uint64_t bucket_bytes, ps_bucket_bytes; /* 0: all gradients at once */
    bool has_charts;                        /* simulate what only charts show, too */
};

struct point_of_row { /* or of a chart alone: row NULL */
    const struct published_row *row;
    size_t profile, cluster;
    enum row_mode mode;
    const char *reducer; /* as the row's; borrowed */
    int n_gpus, n_servers, batch;
    size_t alone, together; /* simulations: of one GPU, and of all */
    struct {
        size_t alone, together;
    } moved[CALIBRATION_MOST_VALUES][2]; /* the same with a calibrated value of the cluster lower, and higher */
    struct prediction_band band;         /* J6 */
    double predicted_ratio;              /* NaN before it is simulated, and where that failed */
};

struct reproduction { /* owned */
    const struct reproduce_terms *terms;
    char name[64];
    const char *folder; /* where files go; borrowed */
    struct published_rows rows;
    struct used_profiles profiles;
    struct used_cluster *cluster;
    struct point_of_row *point; /* those of rows first, in their order */
    struct simulation_set simulations;
    size_t n_clusters, n_points;
};

/* Read the rows, check all they name, and plan. name: of what is reproduced. Writes profiles into folder.
 * RC_INVAL: "FILE:LINE: ...". */
enum rc reproduction_open(struct reproduction *out, const char *name, const char *path, const char *folder,
                          const struct reproduce_terms *terms) MUST_CHECK;
enum rc reproduction_run(struct reproduction *r, const struct simulations_env *env) MUST_CHECK;
void reproduction_close(struct reproduction *r); /* accepts a zeroed one */

struct reproduce_error { /* over the rows that count of a kind of mode */
    size_t n_rows;
    double mean_points, worst_points; /* of the absolute error, in points (percent of 1); NaN: no rows */
    const struct point_of_row *worst;
};
struct reproduce_error reproduction_error(const struct reproduction *r, bool has_servers);
/* How its exchange is called: "ring", "allreduce" where no algorithm is told, "ps". */
const char *point_exchange(const struct point_of_row *p);
/* "rdma", of a point. */
const char *point_transport(const struct reproduction *r, const struct point_of_row *p);
bool reproduction_has_bands(const struct reproduction *r);
/* What bands are, or that a cluster has none and why: a line for each cluster, to print(arg, line). */
void reproduction_band_lines(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg);
/* Of the rows. RC_NOMEM. */
enum rc reproduction_table(struct table **out, const struct reproduction *r) MUST_CHECK;
/* How wrong it is in a few lines, and one table of at most 100 columns. RC_NOMEM, RC_IO. In reproduce_answer.c, as the
 * next. */
enum rc reproduction_print_answer(const struct reproduction *r, FILE *to) MUST_CHECK;
/* What a folder has and the answer does not. RC_NOMEM, RC_IO. */
enum rc reproduction_print_rest(const struct reproduction *r, FILE *to) MUST_CHECK;
/* Table, means, and what is assumed: table.txt. */
enum rc reproduction_print(const struct reproduction *r, FILE *to) MUST_CHECK;
/* A record of kind "prediction" for every row, one of kind "errors" and one of kind "cluster" for each cluster. */
enum rc reproduction_write(const struct reproduction *r, const char *path) MUST_CHECK;
/* Tables and pictures into the folder; without gnuplot tables alone, told to `to`. */
enum rc reproduction_draw(const struct reproduction *r, FILE *to) MUST_CHECK;
/* Is point i the first one that only a chart shows of a chart? */
bool reproduce_begins_chart(const struct reproduction *r, size_t i);
/* "MODEL-CLUSTER" of the chart that p is in: "vgg16-pascal-25g-roce" of a preset or of "a/b/pascal-25g-roce.yaml". */
void reproduce_chart_name(char *out, size_t n_bytes, const struct reproduction *r, const struct point_of_row *p);
/* One page of HTML, with the pictures that are in the folder. */
enum rc reproduction_page(const struct reproduction *r, const char *path) MUST_CHECK;

#endif
