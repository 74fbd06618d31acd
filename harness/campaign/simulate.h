/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate.h - predictions for models on a described cluster, for every way to exchange and every number of GPUs.
 *
 *   simulate.c         options to ways and points, also with something changed, points to simulations, simulations to
 *                      predictions
 *   simulate_report.c  answer, tables, records, charts and page
 *
 * Invariants
 *   M1  A point is the efficiency of a way: the simulated step time of one GPU alone, which updates and exchanges
 *       nothing, over the step time of all GPUs. With several seeds it is the mean.
 *   M2  All simulations are planned, and all input is checked, before the first one runs.
 *   M3  The same input gives the same bytes, in every file of the folder: no file contains a time, a date or the number
 *       of processes.
 *   M4  A point with a failed simulation is reported, in the table and as a record of kind "failure". All other points
 *       are unaffected, and the command ends with an error.
 *   M5  A band has two parts; half its width is the root of the sum of their squares. One is chance, from other draws
 *       (prediction.h). The other is the calibration: each calibrated value alone is changed up and down by the
 *       spread of its source (prediction.h), and the larger change of the efficiency counts. A cluster with
 *       neither part has no band.
 */
#ifndef HARNESS_CAMPAIGN_SIMULATE_H
#define HARNESS_CAMPAIGN_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/bottleneck.h"
#include "harness/campaign/prediction.h"
#include "harness/campaign/simulated_run.h"
#include "harness/exchange/consistency.h"
#include "harness/exchange/placement.h"

struct column;
struct table;

enum {
    SIMULATE_MOST_COUNTS = 64,
    SIMULATE_MOST_WAYS = 64,
    SIMULATE_MOST_MODELS = 16,
    SIMULATE_WAY_BYTES = 96,
    SIMULATE_CHART_BYTES = 320,
    SIMULATE_SENTENCE_BYTES = 1024,
    SIMULATE_MOST_SEEDS = 20,
    SIMULATE_MOST_MESSAGES = 65536, /* at once, GPUs x servers: more take an hour each */
    SIMULATE_USUAL_SEEDS = 5,
    SIMULATE_N_WHAT_IFS = 5,
    SIMULATE_SETTING_BYTES = 256
};

struct simulate_terms { /* borrowed; lists are comma-separated */
    const char *models, *modes, *gpus, *servers, *placements;
    const char *profiles;                         /* "MODEL=FILE,MODEL=FILE" */
    const char *published;                        /* GPU with published rates for models without profile; "": none */
    const char *published_rates, *published_rows; /* files: of single GPUs; of published tables */
    const char *cluster, *cluster_set;
    const char *ps_transport; /* of servers; "cluster": the cluster's own */
    const char *overlap;
    uint64_t bucket_bytes; /* of collectives; 0: all gradients at once, as to servers */
    bool has_what_if, has_assumptions;
    uint64_t n_seeds; /* 0: chosen by the randomness of the cluster */
};

struct simulate_way { /* to exchange */
    enum row_mode mode;
    char reducer[ROW_REDUCER_BYTES];          /* of a collective mode */
    char consistency[CONSISTENCY_TEXT_BYTES]; /* of servers, as the next two */
    char placement[PLACEMENT_TEXT_BYTES];
    int n_servers; /* 0: one for each host of workers */
    size_t cluster;
};

struct simulate_point {
    size_t profile, way;
    int n_gpus, n_servers;
    size_t alone[SIMULATE_MOST_SEEDS], together[SIMULATE_MOST_SEEDS]; /* simulations: of one GPU, and of all */
    struct prediction_band efficiency;      /* mean over seeds (M5); zeros before it is simulated */
    double step_s, images_per_s, exposed_s; /* means over seeds */
    struct bottleneck bottleneck;           /* of the first seed */
};

enum change_kind { CHANGE_WHAT_IF, CHANGE_ASSUMED, CHANGE_SLOW_LINK, CHANGE_CALIBRATED };
enum system { SYSTEM_ONE_HOST, SYSTEM_COLLECTIVE, SYSTEM_ASYNC, SYSTEM_SYNC, SIMULATE_N_SYSTEMS };

struct simulate_system {
    bool is_there; /* false: it does not fit, or would take too long */
    size_t point;  /* after those of the table */
};

struct simulate_system_figures {              /* of the first seed */
    double network_bytes_per_gpu, card_ratio; /* per step; the busiest card */
    double staleness_count;                   /* NaN: there are no servers */
    double slow_ratio;                        /* of throughput, with one slow link over without it */
};

struct simulate_change { /* a point with something changed */
    enum change_kind kind;
    size_t point;
    int what;                             /* index of the what-if, or key of an assumption or calibrated value */
    char setting[SIMULATE_SETTING_BYTES]; /* "key=value,...", appended to --cluster-set */
    bool is_possible;                     /* false: it was not simulated */
    size_t together, alone;               /* alone: for CHANGE_CALIBRATED */
    double ratio;                         /* of throughput, changed over unchanged; NaN before it is simulated */
};

struct simulate { /* owned */
    const struct simulate_terms *terms;
    const char *folder; /* where files go; borrowed */
    struct used_profiles profiles;
    struct used_cluster cluster[2]; /* for workers alone; for servers */
    size_t n_clusters;
    struct simulate_way way[SIMULATE_MOST_WAYS + SIMULATE_N_SYSTEMS]; /* after n_ways: of systems */
    size_t n_ways;
    int n_gpus[SIMULATE_MOST_COUNTS]; /* ascending */
    size_t n_counts;
    struct simulate_point *point; /* by profile, then way, then GPUs */
    size_t n_points, n_left_out;  /* left out: above SIMULATE_MOST_MESSAGES */
    uint64_t least_left_out;      /* the least GPUs x servers among these */
    size_t n_all_points;          /* including those of systems */
    struct simulate_system system[SIMULATE_MOST_MODELS][SIMULATE_N_SYSTEMS];
    struct simulate_change *change;
    size_t n_changes;
    int n_seeds;
    struct simulation_set simulations;
};

/* Check all that terms name, and plan (M2). Writes profiles into folder. RC_INVAL names option or file, and value. */
enum rc simulate_open(struct simulate *out, const char *folder, const struct simulate_terms *terms) MUST_CHECK;
/* RC_PEER: a signal came. Failures are stored in the points (M4). */
enum rc simulate_run(struct simulate *s, const struct simulations_env *env) MUST_CHECK;
/* Why the simulation failed; NULL: it did not. */
const char *simulate_failure(const struct simulate *s, const struct simulate_point *p);
void simulate_close(struct simulate *s); /* accepts a zeroed one */

/* Set the profiles, in the order of models. RC_INVAL. */
enum rc simulate_find_profiles(struct simulate *s) MUST_CHECK;
/* "ring"; "ps sync, whole, one server per host". */
void simulate_way_name(char *out, size_t n_bytes, const struct simulate_way *w);
/* The first part of the name: "ps". */
const char *simulate_way_exchange(const struct simulate_way *w);

/* NULL: there is no such change. */
const struct simulate_change *simulate_change_of(const struct simulate *s, enum change_kind kind, size_t point,
                                                 int what);
/* Is there a change of this point? */
bool simulate_is_changed(const struct simulate *s, size_t point);
bool simulate_has_bands(const struct simulate *s);
bool simulate_is_explained(const struct simulate *s, size_t point);
/* The n_most assumptions that change a point most, the largest change first. */
struct table *simulate_assumptions_table(const struct simulate *s, size_t point, size_t n_most);
const char *simulate_system_name(int system);
/* The system must be there (is_there). */
struct simulate_system_figures simulate_system_figures_of(const struct simulate *s, size_t profile, int system);
/* is_short: at most 100 columns, without columns of the table of points. */
struct table *simulate_systems_table(const struct simulate *s, bool is_short);
/* For each model, the network traffic of a collective and of servers; passed to print(arg, line). */
void simulate_network_claims(const struct simulate *s, void (*print)(void *arg, const char *line), void *arg);
/* "network x 2"; i below SIMULATE_N_WHAT_IFS. */
const char *simulate_what_if_name(const struct simulate *s, int i);

/* Has this cluster any randomness? */
bool simulate_is_random(const struct cluster *c);

/* All tables, and assumptions: table.txt. */
enum rc simulate_print(const struct simulate *s, FILE *to) MUST_CHECK;
/* The answer in a few lines, and one table of at most 100 columns. RC_NOMEM, RC_IO. */
enum rc simulate_print_answer(const struct simulate *s, FILE *to) MUST_CHECK;
/* The contents of the folder that the answer does not have, in at most 100 columns. RC_NOMEM, RC_IO. */
enum rc simulate_print_rest(const struct simulate *s, FILE *to) MUST_CHECK;
/* A record of kind "prediction" for every point, and one of kind "cluster" for each cluster. */
enum rc simulate_write(const struct simulate *s, const char *path) MUST_CHECK;
/* Write tables and pictures into the folder; without gnuplot only tables, which is reported to `to`. */
enum rc simulate_draw(const struct simulate *s, FILE *to) MUST_CHECK;
/* One HTML page, with the pictures of the folder. */
enum rc simulate_page(const struct simulate *s, const char *path) MUST_CHECK;

#endif
