/* SPDX-License-Identifier: Apache-2.0 */
/*
 * campaign.h - many launches of many points, and what they gave.
 *
 * A point is one way to train (model, mode, workers); it is launched several times, the points taking
 * turns, so that a machine that drifts drifts under all of them.
 */
#ifndef HARNESS_CAMPAIGN_CAMPAIGN_H
#define HARNESS_CAMPAIGN_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/file.h"
#include "harness/base/rc.h"
#include "harness/measure/interval.h"

enum { MAX_LAUNCHES = 1000, LAUNCH_NAME_BYTES = 160 };

struct launch { /* the summary record of one launch; NaN: null there */
    double throughput_samples_per_s, low_samples_per_s, high_samples_per_s;
    double efficiency_ratio, bound_ratio;
    double compute_s, wait_s, wire_s, server_s, apply_s;
    double loss_last, accuracy_ratio, staleness_mean_count, staleness_max_count, seconds_to_target_s;
};

struct curve { /* loss against time and samples, of a point's first launch; owned */
    size_t n_points;
    double *seconds, *samples_count, *loss;
};

struct point {
    char model[32], mode[32];
    int n_workers, n_servers;
    uint64_t batch_per_worker_count; /* as the launches used it */
    uint64_t n_steps;                /* of a launch */
    double step_flops, step_s;       /* of all workers, GEMMs; recorded time (replay), else 0 */
    uint64_t default_steps;          /* of its model */
    bool over_budget;                /* n_steps is the least there is, and two turns of it do not fit */
    bool oversubscribed;             /* more threads of workers than cores */
    bool servers_share;              /* servers run on the workers' cores */
    size_t n_launches;
    struct launch *launch; /* [MAX_LAUNCHES room as asked]; owned */
    struct curve curve;
};

struct campaign {
    char dir[512];
    char cluster_name[64]; /* sim */
    bool is_launched;      /* by mpirun or srun: which points share cores is told by their records */
    int n_threads;         /* of each worker */
    bool is_virtual;       /* sim: launches are equal, intervals are within the run */
    size_t n_launches_wanted, n_launches_done; /* of each point; of all */
    struct point *point;                       /* owned */
    size_t n_points;
    struct atomic_file runs; /* runs.jsonl in the making */
};

/* Make results_dir/<date>-<name>, with -2, -3, ... when taken. RC_INVAL names what is in the way. */
enum rc campaign_open(struct campaign *c, const char *results_dir, const char *name) MUST_CHECK;
/* Add a point; RC_NOMEM. *out is valid until the next add. */
enum rc campaign_add(struct campaign *c, struct point **out) MUST_CHECK;
/* Read the JSON lines of one launch at path: into the point, and on to runs.jsonl with launch_index. Removes
 * path. RC_MISMATCH: no summary in it. */
enum rc campaign_take(struct campaign *c, struct point *p, const char *path) MUST_CHECK;
/* Put runs.jsonl in place. */
enum rc campaign_commit(struct campaign *c) MUST_CHECK;
/* Accepts a zeroed one. A campaign that was not committed leaves no file and, where it is empty, no folder. */
void campaign_close(struct campaign *c);

/* "lenet ps, 2 workers" */
void point_name(char *out, size_t n_bytes, const struct point *p);
/* Set oversubscribed and servers_share of a point whose workers have n_threads each, and n_cores in all. */
void point_mark_shared_cores(struct point *p, int n_threads, long n_cores);
/* Copy one member of every launch: out[p->n_launches]. */
void point_values(double *out, const struct point *p, size_t member_offset);
/* Mean over launches of a member (offsetof(struct launch, ...)); NaN if any is. */
double point_mean(const struct point *p, size_t member_offset);
/* Throughput: geometric mean over launches, interval on logarithms; with one launch, within it. */
struct interval point_throughput(const struct point *p);
/* The point of (model, mode, n_workers), NULL if none. */
const struct point *campaign_find(const struct campaign *c, const char *model, const char *mode, int n_workers);
/* Efficiency of p against the model's "single" point; the mean alone (ends NaN) where an interval cannot be
 * had; NaN: no such point. */
struct interval campaign_efficiency(const struct campaign *c, const struct point *p);
/* Decide which of two points has the higher member (offsetof(struct launch, ...)); a value that is not positive:
 * cannot tell, ratios NaN. */
struct decision campaign_decide(const struct point *a, const struct point *b, size_t member_offset);
/* Largest worker count at which the model ran in this mode, and in other_mode (NULL: whatever), with a core for every
 * worker; 0: none. */
int campaign_largest(const struct campaign *c, const char *model, const char *mode, const char *other_mode);

/* table.c: a row for each point, and what the columns are. */
enum rc campaign_print(const struct campaign *c, FILE *to) MUST_CHECK;
/* verdict.c: which mode is faster, in plain words. */
void campaign_verdict(const struct campaign *c, FILE *to);
/* charts.c: tab-separated data and pictures in c->dir. RC_UNSUPPORTED: no gnuplot (data is written). */
enum rc campaign_draw(const struct campaign *c) MUST_CHECK;

#endif
