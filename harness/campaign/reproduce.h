/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reproduce.h - predicts a table of published efficiencies by simulation, and reports the error of every row.
 *
 *   reproduce.c           rows to points, points to simulations, simulations to predictions and their bands
 *   reproduce_fit.h       constants that are fitted to some of the rows
 *   reproduce_report.c    answer, tables, records, charts and page
 *
 * Invariants
 *   J1  Nothing is fitted to a row or a model but by --fit (reproduce_fit.h). (Values of a cluster, equal for all its
 *       rows, may have been chosen with rows in view; its description then says so.) Only model, gpus, mode, servers,
 *       transport, cluster, system, batch and rate of the baseline of a row are used in a simulation. Its efficiency is
 *       only compared with the result.
 *   J2  Predicted efficiency is the simulated step time of one GPU alone, which updates and exchanges nothing, over the
 *       step time of all GPUs. If a row has a baseline of one host (published_rows.h), it is the step time of that
 *       baseline over that of all GPUs, as both have the same batch. A baseline itself is not compared.
 *   J3  The same input gives the same bytes, in every file of the folder: no file contains a time, a date or the number
 *       of processes.
 *   J4  Points with equal simulations are simulated once.
 *   J5  A row with a failed simulation is reported, in the table and as a record of kind "failure". All other rows are
 *       unaffected, and the command ends with an error.
 *   J7  After a signal the rows whose simulations are finished are reported as without one, but for a band that lacks a
 *       simulation. The others are not in table and records. Rows run before what is only of bands and charts.
 *   J8  Published images/s of one GPU contain its jitter and its update. So predicted images/s are the efficiency times
 *       that rate for each GPU, and a predicted step is as long as these images/s say. Without a published rate, the
 *       rate of one GPU is the simulated one. With a baseline of one host the rate is that of each of its GPUs. It is
 *       also taken as that of one GPU in simulations, if no profile has one.
 *   J6  A band shows how far the prediction may be off. Each assumed constant alone is set to the ends of its range
 *       (assumed_ranges()). Each calibrated value alone is changed up and down by the spread of its source
 *       (calibration_spread()), and the larger change counts both ways. Chance is the range of one further draw
 *       (prediction.h). Each side is the root of the sum of squares. Of a time, and of jitter, the upper end alone
 *       is simulated: the lower side is in proportion. Points that only charts show have calibrated values alone.
 *       On each side the band of a row is at least as wide as predictions of other published tables were wrong, of a
 *       fit those after a fit (known_errors.h). The larger counts, not both: constants of those tables were assumed
 *       as well.
 *       Where no other table counts, and constants move nothing, there is no band.
 */
#ifndef HARNESS_CAMPAIGN_REPRODUCE_H
#define HARNESS_CAMPAIGN_REPRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/known_errors.h"
#include "harness/campaign/prediction.h"
#include "harness/campaign/published_rows.h"
#include "harness/campaign/simulated_run.h"

struct progress;
struct report;
struct reproduce_fit;

/* Outstanding messages between servers and workers, GPUs x servers: the most that was tested. */
enum { REPRODUCE_MOST_MESSAGES = 65536, REPRODUCE_DRAWS = PREDICTION_BAND_LEAST - 1 };
enum { REPRODUCE_PATH_BYTES = USED_PROFILE_PATH_BYTES, REPRODUCE_CHART_BYTES = 320, REPRODUCE_FIT_BYTES = 1024 };
struct column;
struct table;

struct reproduce_terms {                 /* borrowed; equal for all rows */
    const char *profiles;                /* "MODEL=FILE,MODEL=FILE" */
    const char *cluster;                 /* of rows that name no cluster; "": not given */
    const char *cluster_set;             /* "key=value,...": for all clusters */
    const char *ps_transport;            /* of rows of ps without one; "cluster": the cluster's own */
    const char *placement, *consistency; /* of rows of servers without them; consistency: for mode ps, not ps-async */
    const char *overlap;
    uint64_t bucket_bytes; /* of collectives; 0: all gradients at once, as to servers */
    bool has_ps_transport, has_placement, has_bucket_bytes; /* given by an option, which is stronger than a system */
    const struct published_system *system; /* of rows that name none, if it has their exchange; NULL: none */
    bool has_charts;                       /* also simulate points that only charts show */
    bool is_own_table;                     /* of the user, not horovod-512 */
    bool ignores_columns;                  /* with unknown names */
    bool has_bands;
    const struct reproduce_fit *fit; /* of these predictions; NULL: nothing was fitted */
};

struct moved_value { /* a constant, and the two simulations with it at an end of its range: lower, higher */
    int key;
    bool is_calibrated;
    double low_share; /* of a time: the move down over the move up; NaN: the lower end is simulated */
    struct {
        size_t alone, together;
    } end[2];
    double down, up; /* by how much it moves the prediction, each >= 0 */
};

struct point_of_row { /* row NULL: only for a chart */
    const struct published_row *row;
    size_t profile, cluster;
    enum row_mode mode;
    const char *reducer, *gradients;      /* of the row; borrowed, as the next two */
    const char *placement, *consistency;  /* of servers */
    const struct published_row *baseline; /* of one host, which the efficiency is relative to; NULL: 1 GPU */
    int n_gpus, n_servers, batch;
    bool is_fitted;            /* a constant was fitted to its row, which is in no error then */
    size_t alone, together;    /* simulations: of its baseline, and of all GPUs */
    struct moved_value *moved; /* [n_moved], owned: of the band */
    size_t n_moved;
    size_t draw_alone[REPRODUCE_DRAWS], draw_together[REPRODUCE_DRAWS]; /* the same with other draws of chance */
    int n_draws;
    bool has_band;
    struct known_errors_range known;  /* of other tables; of rows with a band */
    struct prediction_band band;      /* J6; low, high NaN: none */
    bool is_wide_by_known;            /* `known` alone makes the band too wide to tell */
    double assumed_low, assumed_high; /* the same by what is assumed, calibrated and random alone */
    double predicted_ratio;           /* NaN before it is simulated, and if that failed */
    double baseline_images_per_s;     /* of each GPU of the baseline (J8); NaN likewise */
};

struct reproduction { /* owned */
    const struct reproduce_terms *terms;
    char name[64];
    const char *folder; /* where files go; borrowed */
    struct published_rows rows;
    struct used_profiles profiles;
    struct used_cluster *cluster;
    struct point_of_row *point; /* points of rows first, in their order */
    struct simulation_set simulations;
    struct known_errors known;
    size_t n_clusters, n_points;
    int stop_signal; /* it ended the simulations early (J7); 0: none did */
};

/* Read the rows, check all that they name, and plan. name: of the reproduction. Writes profiles into folder.
 * RC_INVAL: "FILE:LINE: ...". */
enum rc reproduction_open(struct reproduction *out, const char *name, const char *path, const char *folder,
                          const struct reproduce_terms *terms) MUST_CHECK;
/* RC_PEER: a signal came; what is finished is in the points (J7). */
enum rc reproduction_run(struct reproduction *r, const struct simulations_env *env) MUST_CHECK;
/* Is its row the baseline that its efficiency is relative to, with more than one GPU? */
bool point_is_baseline(const struct point_of_row *p);
/* Does its row count, does it exchange anything, and is it no baseline? */
bool point_is_compared(const struct point_of_row *p);
/* Are its workers on several hosts, or its servers on other hosts than these? */
bool point_is_on_several_hosts(const struct reproduction *r, const struct point_of_row *p);
/* Its baseline: on one GPU it updates, and sends nothing. */
struct point_of_row point_alone(const struct point_of_row *p);
/* Was the point simulated, be it that this failed? */
bool point_is_finished(const struct reproduction *r, const struct point_of_row *p);
/* Images/s of all GPUs, and the time of a step and of its exchange that no computing hides (J8). NaN as
 * predicted_ratio. */
struct point_figures {
    double images_per_s, step_s, exposed_s;
};
struct point_figures point_figures_of(const struct reproduction *r, const struct point_of_row *p);
void reproduction_close(struct reproduction *r); /* accepts a zeroed one */

/* Number of rows, and of those that are finished. */
struct reproduce_count {
    size_t n_rows, n_finished;
};
struct reproduce_count reproduction_count(const struct reproduction *r);

struct reproduce_error { /* over the compared rows of one kind of mode that no constant was fitted to */
    size_t n_rows;
    const char *of;                   /* their exchange; "allreduce": several algorithms */
    double mean_points, worst_points; /* of the absolute error, in points (percent of 1); NaN: no rows */
    double mean_factor;               /* between predicted and published throughput, at least 1; geometric mean */
    const struct point_of_row *worst;
    size_t n_bands, n_held; /* rows with a band, and those of them that lie in it */
};
struct reproduce_error reproduction_error(const struct reproduction *r, bool has_servers);
/* Name of its exchange: "ring", "allreduce" if no algorithm is given, "ps". */
const char *point_exchange(const struct point_of_row *p);
/* Transport of a point: "rdma". */
const char *point_transport(const struct reproduction *r, const struct point_of_row *p);
/* The simulation of p with further settings of its cluster, and the draws of a seed (0: the usual ones). RC_NOMEM. */
enum rc reproduction_find_simulation(size_t *out, struct reproduction *r, const struct point_of_row *p,
                                     const char *variation, uint64_t seed) MUST_CHECK;
/* A step of the baseline over a step of all, of two simulations; NaN: one has no result. */
double reproduction_efficiency(const struct reproduction *r, size_t alone, size_t together);
/* Does the key change a step of the baseline of p? One GPU sends nothing. */
bool point_baseline_moves(const struct point_of_row *p, int key);
/* Set p.band, and what each constant moves. All points have their prediction. */
void reproduction_find_band(const struct reproduction *r, struct point_of_row *p);
/* Have rows bands? Have points that only charts show? */
bool reproduction_has_bands(const struct reproduction *r);
bool reproduction_has_chart_bands(const struct reproduction *r);
/* The constant that moves p most; NULL: p has no band, or none moves it. */
const char *point_widest(const struct point_of_row *p);
/* Is the band too wide to tell anything? */
bool point_cannot_tell(const struct point_of_row *p);
/* How many rows lie in their bands; "" without bands. */
void reproduction_held_text(char *out, size_t n_bytes, const struct reproduction *r);
/* Which rows cannot be told, and what to measure: a line for each constant, passed to print(arg, line). */
void reproduction_cannot_tell_lines(const struct reproduction *r, void (*print)(void *arg, const char *line),
                                    void *arg);
/* Of the collectives on c. */
uint64_t reproduction_bucket_bytes(const struct reproduction *r, const struct used_cluster *c);
/* Which rows are relative to one host: a line for each such baseline, passed to print(arg, line). */
void reproduction_baseline_lines(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg);
/* Explain the bands, or why a cluster has none: a line for each cluster, passed to print(arg, line). */
void reproduction_band_lines(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg);
/* What an efficiency of the table is: "published", or "given" in a user's table. */
const char *reproduction_of_table(const struct reproduction *r);
/* The errors in a few lines, and one table of at most 100 columns. RC_NOMEM, RC_IO. */
enum rc reproduction_print_answer(const struct reproduction *r, FILE *to) MUST_CHECK;
/* The contents of the folder that the answer does not have. RC_NOMEM, RC_IO. */
enum rc reproduction_print_rest(const struct reproduction *r, FILE *to) MUST_CHECK;
/* Table, means, and assumptions: table.txt. */
enum rc reproduction_print(const struct reproduction *r, FILE *to) MUST_CHECK;
/* A record of kind "prediction" for every finished row, two of kind "errors", one of kind "cluster" for each cluster,
 * and after a signal one of kind "stopped". */
enum rc reproduction_write(const struct reproduction *r, const char *path) MUST_CHECK;
/* Write tables and pictures into the folder; without gnuplot only tables, which is reported to `to`. */
enum rc reproduction_draw(const struct reproduction *r, FILE *to) MUST_CHECK;
/* "MODEL-CLUSTER" of p's chart: "vgg16-pascal-25g-roce" for a preset or for "a/b/pascal-25g-roce.yaml". */
void reproduce_chart_name(char *out, size_t n_bytes, const struct reproduction *r, const struct point_of_row *p);
/* One HTML page, with the pictures of the folder. */
enum rc reproduction_page(const struct reproduction *r, const char *path) MUST_CHECK;

#endif
