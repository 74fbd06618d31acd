/* SPDX-License-Identifier: Apache-2.0 */
/*
 * campaign.h - many launches of many points, and what they gave.
 *
 * A point is one way to train: values of options (--model=lenet --mode=ps --workers=2 --batch=64). It is launched
 * several times. Launch i of every point is of block i: in a block each point is launched once, comparable ones next to
 * each other, in an order drawn anew for each block, so that a machine that drifts, or changes its speed, does so under
 * all of them; and all are trained from one seed, another in each block. Two points are compared by the pairs of their
 * launches in the same block (measure/paired.h).
 *
 * A point assigns model, mode and workers, and any other option that a campaign sweeps. Two points differ in what they
 * assign. Points are comparable when every option that both assign has the same value, mode and layout aside:
 * efficiency, verdict and charts compare such points alone.
 *
 * The layout of a point (train/layout.h) is its workers, the stages of each, and the shards of its dense layers: what
 * the options workers, stages and shard-dense assign. A campaign without the latter two compares numbers of workers;
 * one with them compares layouts of as many ranks, stages of all workers, at the same batch of all.
 */
#ifndef HARNESS_CAMPAIGN_CAMPAIGN_H
#define HARNESS_CAMPAIGN_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/file.h"
#include "harness/base/partial_file.h"
#include "harness/base/rc.h"
#include "harness/campaign/layout_words.h"
#include "harness/measure/interval.h"
#include "harness/measure/paired.h"
#include "harness/report/seal.h"
#include "harness/train/train.h"

struct json_t; /* jansson.h */
struct table;  /* report/table.h */

enum {
    MAX_LAUNCHES = 1000,
    MAX_ASSIGNMENTS = 6,
    OPTION_BYTES = 24,
    VALUE_BYTES = 64,
    FAILURE_BYTES = RC_MESSAGE_BYTES,
    CAMPAIGN_DIR_BYTES = 512,
    LAUNCH_NAME_BYTES = MAX_ASSIGNMENTS * (OPTION_BYTES + VALUE_BYTES),
};

struct launch { /* the summary record of one launch; NaN: null there */
    double throughput_samples_per_s, low_samples_per_s, high_samples_per_s;
    double efficiency_ratio, bound_ratio, bound_low_ratio, bound_high_ratio;
    double step_mean_s, compute_s, wait_s, wire_s, server_s, apply_s, rest_s;
    double loss_last, accuracy_ratio, staleness_mean_count, staleness_max_count;
    double seconds_to_target_s, samples_to_target_count;                     /* NaN: the target loss was not reached */
    double steal_ratio, others_cores_count, taken_cores_ratio, frequency_hz; /* what else ran on its machine */
    bool did_not_learn;           /* as the launch judged itself: "learned" is "no" */
    bool was_disturbed;           /* likewise */
    bool switched, never_settled; /* likewise; where neither: a steady state, or too short to tell */
    int session;                  /* how often its campaign had been interrupted and continued */
};

struct curve { /* loss of the rounds that a launch recorded, against time and samples of all workers; owned */
    size_t n_points;
    double *seconds, *samples_count, *loss;
};

struct assignment { /* --option=value */
    char option[OPTION_BYTES], value[VALUE_BYTES];
};

struct point {
    struct assignment assigned[MAX_ASSIGNMENTS];
    int n_assigned;
    const struct workload *workload;          /* as assigned, */
    const struct module *mode;                /* looked up when the point was added */
    const struct module *used[TRAIN_N_KINDS]; /* what its launches use; NULL: nothing of that kind, or not known yet */
    int n_workers, n_servers;                 /* servers: of each stage */
    int n_stages, n_shards;          /* of each worker, of the dense layers of a group of workers; 0, 1: not cut */
    int n_drivers;                   /* of --input feed; of a campaign that is planned, not of one that is read */
    bool servers_beside;             /* on the workers' cores: --colocate */
    int n_threads;                   /* of each worker */
    long n_host_cores;               /* of the hosts of a launch, the most of its launches; 0: not known */
    uint64_t batch_per_worker_count; /* as the launches used it */
    uint64_t global_batch_count;     /* likewise, of strong scaling (train/global_batch.h); 0: weak, or not known */
    int n_averaged;                  /* gradients that its parameter servers make one update of, as the launches told;
                                        0: they apply each */
    bool lowers_stale;               /* they apply each at its rate over its staleness */
    uint64_t n_steps;                /* of a launch */
    uint64_t launch_global_batch;    /* that its launches are given, of a layout; 0: as the user says */
    uint64_t launch_micro_batches;   /* likewise, of a worker's batch */
    struct layout_facts moves;       /* as the last launch told */
    double tuned_lr;                 /* that its launches are given (--tune-lr); 0: as the user says */
    double learning_rate;            /* of the last step recorded, as scaled for its workers; NaN: not known */
    double step_flops, step_s;       /* of all workers, GEMMs; recorded time (replay), else 0 */
    uint64_t default_steps;          /* of its model */
    bool over_budget;                /* n_steps is the minimum, and two turns do not fit the budget */
    bool oversubscribed;             /* more threads of workers than cores */
    bool servers_share;              /* servers run on the workers' cores */
    int n_busy_threads;              /* of workers: that compute, and that exchange beside it; 0: not known */
    enum wait_policy wait;           /* of its launches: sweep_set_wait(); WAIT_AUTO: not decided */
    size_t n_launches;
    struct launch *launch;               /* [MAX_LAUNCHES room as asked], launch i of block i; owned */
    size_t n_failures, n_failures_now;   /* launches that failed; since the campaign was continued last */
    bool is_given_up;                    /* too many failed: it is launched no more */
    bool is_fate_unknown;                /* records of an older version do not say whether it was given up */
    char failure[FAILURE_BYTES];         /* the last one that failed, and why */
    size_t n_failed_trials;              /* (--tune-lr), which give nothing up but a rate */
    char failed_trial[FAILURE_BYTES];    /* as failure */
    char encryption[ENCRYPTION_BYTES];   /* of the last launch: exchange_encryption(); "": none, or not known */
    char not_learned[NOT_LEARNED_BYTES]; /* what the first launch that did not learn says of it; "": none, or nothing */
    struct curve *curve;                 /* of each launch: [n_curves], with room as for launches; owned */
    size_t n_curves, n_curves_room;
};

struct campaign {
    char dir[CAMPAIGN_DIR_BYTES];
    bool made_dir;         /* dir was made by campaign_open() */
    char cluster_name[64]; /* sim */
    char machine[160];     /* "2 cores, x86_64", of a campaign that was kept; "": this machine */
    char exchange[256];    /* how all points exchange, where that is not by default: "overlap on"; "": by default */
    bool is_launched;      /* by mpirun or srun: which points share cores is read from their records */
    bool is_virtual;       /* sim: launches are equal, intervals are within the run */
    size_t n_launches_wanted, n_launches_done; /* of each point; of all */
    struct point *point;                       /* owned */
    size_t n_points;
    struct atomic_file runs; /* runs.jsonl in the making: runs.jsonl.partial (base/partial_file.h) */
    struct seal seal;        /* of its last line */
    bool is_unsealed;        /* runs was begun by a version without seals, and stays so (report/seal.h, E1) */
    bool is_kept;            /* campaign_close() leaves it as it is; else it drops it */
    int session;             /* of the launches taken from now on */
    double spent_s;          /* when the last of the launches was taken: of all sessions together */
    char *hosts;             /* of the launches that were read again: "|one|other|"; NULL: of none; owned */
};

/* Make results_dir/<date>-<name>, with -2, -3, ... when taken. RC_INVAL names what is in the way. */
enum rc campaign_open(struct campaign *c, const char *results_dir, const char *name) MUST_CHECK;
/* Add a point with these assignments. RC_INVAL, RC_UNSUPPORTED: no such model or mode; RC_NOMEM. *out is valid
 * until the next add. */
enum rc campaign_add(struct campaign *c, const struct assignment *assigned, int n_assigned,
                     struct point **out) MUST_CHECK;
/* Go on with the campaign in folder dir: c->runs.stream is at the beginning of its records, to be read. RC_INVAL as
 * partial_file_reopen(). */
enum rc campaign_reopen(struct campaign *c, const char *dir) MUST_CHECK;
/* Read the JSON lines of one launch at path: into the point, and on to runs.jsonl with launch_index, the block, and
 * block_position, its place in it; there they are, whatever ends this process, when it returns RC_OK. In real worlds
 * the summary gets campaign_s, c->spent_s, and session_index too. Removes path. RC_MISMATCH: no summary in it; RC_IO;
 * the point is as before, and so are the records. */
enum rc campaign_take(struct campaign *c, struct point *p, size_t block_position, const char *path) MUST_CHECK;
/* The same of a launch that is in runs.jsonl already: text[n_bytes]. Sets c->spent_s. */
enum rc campaign_retake(struct campaign *c, struct point *p, const char *text, size_t n_bytes) MUST_CHECK;
/* Add a piece to runs.jsonl, lines of records, which are sealed: all of it is there, whatever ends this process, or
 * nothing of it. RC_IO, RC_NOMEM. */
enum rc campaign_keep(struct campaign *c, const char *text, size_t n_bytes) MUST_CHECK;
/* Read a record of the launch of p that is under way, number n_launches, for which there is room: its steps, its
 * summary. Others are nothing to p. RC_MISMATCH: it has no kind. RC_NOMEM. */
enum rc point_read_record(struct point *p, const struct json_t *record) MUST_CHECK;
/* Hosts of the ranks of a launch, which are in order: one that the rank before has not is another. Zeroed: none. */
struct hosts {
    char last[256]; /* names have 253 letters at most; a longer one is told by the first of them */
    int n;
};
/* Count the host of the next rank (NULL: not known); true: it is another one than that of the rank before. */
bool hosts_add(struct hosts *hosts, const char *host);
/* order[c->n_points] := the points of a block in the order in which they are launched: sets of comparable points one
 * after the other, both these and the points of each in an order drawn from (seed, block). In the order of points with
 * seed 0, and of simulated launches, which are all equal. The same on every process. RC_NOMEM. */
enum rc campaign_block_order(size_t *order, const struct campaign *c, uint64_t seed, size_t block) MUST_CHECK;
/* Put runs.jsonl in place. */
enum rc campaign_commit(struct campaign *c) MUST_CHECK;
/* Accepts a zeroed one. A campaign that was not committed leaves its records as runs.jsonl.partial; where it made the
 * folder, and has none, it removes what it made. */
void campaign_close(struct campaign *c);

/* --- points.c: what points assign --- */

/* The value that p assigns to an option; NULL: none. */
const char *point_value(const struct point *p, const char *option);
/* Has every option that both assign the same value, mode and layout aside? */
bool point_comparable(const struct point *a, const struct point *b);
/* "lenet ps, 2 workers, batch 64"; "lenet ps, layout 2x2x1, batch 64" */
void point_name(char *out, size_t n_bytes, const struct point *p);
/* What comparable points have in common, model first: "lenet, batch 64"; between: ", ", pair: " ". */
void point_setting(char *out, size_t n_bytes, const struct point *p, const char *between, const char *pair);
/* Is an option worth a column: assigned by some point, and not model, mode or of a layout? Name i of those; NULL behind
 * the last. */
const char *campaign_other_option(const struct campaign *c, int i);
/* Set oversubscribed and servers_share of a point, with n_cores in all. */
void point_mark_shared_cores(struct point *p, long n_cores);
/* Cores that a launch of p uses: one for each thread of each of its ranks, and one for each server that is not beside a
 * worker. */
long point_n_cores(const struct point *p);
/* The point with exactly these assignments, in any order; NULL: none. */
const struct point *campaign_find(const struct campaign *c, const struct assignment *assigned, int n_assigned);
/* The point whose assignments are keys of a record, as texts; NULL: none. */
struct json_t;
struct point *campaign_point_of(struct campaign *c, const struct json_t *record);
/* The first point comparable to p, of this mode, with so many workers and p's stages and shards, if one has launches of
 * those; NULL: none. */
const struct point *campaign_find_like(const struct campaign *c, const struct point *p, const struct module *mode,
                                       int n_workers);
/* The comparable point that efficiency is measured by: of one rank, and a mode that has one worker; of layouts, where
 * there is none such, of one that sums gradients, which are one rank's there; NULL: none. */
const struct point *campaign_find_baseline(const struct campaign *c, const struct point *p);
/* The first comparable point with as many workers that exchange nothing; NULL: none. */
const struct point *campaign_find_control(const struct campaign *c, const struct point *p);
/* The most launches that a point has. */
size_t campaign_most_launches(const struct campaign *c);
/* Is point i the representative of the points comparable to it: the first of those with the most assignments? A set of
 * charts and a verdict are made for each representative. */
bool campaign_represents(const struct campaign *c, size_t i);
/* Largest worker count of a point comparable to p in this mode, with launches and a core for every worker, where also
 * other_mode (NULL: any) has launches; 0: none. */
int campaign_largest(const struct campaign *c, const struct point *p, const struct module *mode,
                     const struct module *other_mode);
/* The points of two modes, comparable to like, that use equally many cores, a core for each server too, with launches
 * of both: those with the most. false: there are none, or neither mode has servers. */
bool campaign_equal_cores(const struct campaign *c, const struct point *like, const struct module *const mode[2],
                          const struct point *out[2]);

/* --- layout_points.c: layouts of points --- */

/* Does p say more of its layout than how many workers it has? */
bool point_has_layout(const struct point *p);
bool campaign_has_layouts(const struct campaign *c);
/* Has some point comparable to p a layout? */
bool campaign_compares_layouts(const struct campaign *c, const struct point *p);
/* n_stages and n_shards := what is assigned, else 1. RC_INVAL: is no number of them. */
enum rc point_set_layout(struct point *p) MUST_CHECK;
struct layout point_layout(const struct point *p);
/* Of those that compute, the stages of all workers; and of these and servers and what feeds them. */
int point_n_ranks(const struct point *p);
int point_n_launched_ranks(const struct point *p);
/* "4x1x1", of a point without a layout too; where modes differ among the points comparable to p: "ps:4x1x1". */
enum { LAYOUT_NAME_BYTES = 64 };
void point_layout_name(char *out, const struct campaign *c, const struct point *p);
/* What the summary of a launch tells of its layout. */
void point_read_layout(struct point *p, const struct json_t *summary);

/* --- figures.c: what launches gave --- */

/* Copy one member of every launch: out[p->n_launches]. */
void point_values(double *out, const struct point *p, size_t member_offset);
/* Mean over launches of a member (offsetof(struct launch, ...)); NaN if any is. */
double point_mean(const struct point *p, size_t member_offset);
/* Arithmetic mean over launches of a member, and its interval (interval.I3); with one launch no interval; NaN if any
 * is. */
struct interval point_interval(const struct point *p, size_t member_offset);
/* A worker's mean step and what it consists of (measure/steps.h, E4), in the order in which it is shown. */
struct step_part {
    const char *name; /* "compute" */
    size_t at;        /* of struct launch */
};
enum { N_STEP_PARTS = 6 };
extern const struct step_part step_whole, step_parts[N_STEP_PARTS];
/* Throughput: geometric mean over launches, interval on logarithms; with one launch, within it. */
struct interval point_throughput(const struct point *p);
/* Throughput over its bound (train/bound.h): like throughput's; NaN where some launch has no bound, or one that failed,
 * whose ratio is no part of a mean (B3). */
struct interval point_bound(const struct point *p);
/* Launches whose bound failed (B3). */
size_t point_n_failed_bounds(const struct point *p);
/* Efficiency of p against its baseline; the mean alone (ends NaN) where an interval cannot be had; NaN: there is no
 * baseline. */
struct interval campaign_efficiency(const struct campaign *c, const struct point *p);
/* A member (offsetof(struct launch, ...)) of a over that of b, by pairs of launches; no pairs where a value of either
 * is not positive. */
struct comparison campaign_compare(const struct point *a, const struct point *b, size_t member_offset);

/* --- marks.c: which launches ran under conditions that cast doubt on them --- */

enum launch_mark {
    MARK_DISTURBED, /* others took too much of the machine, or its frequency differs from that of the point's launches
                     */
    MARK_UNSTEADY,  /* the speed switched, or the run never settled */
    N_MARKS
};
/* "disturbed", "unsteady". */
const char *mark_column(enum launch_mark mark);
bool launch_has_mark(const struct point *p, size_t launch, enum launch_mark mark);
size_t point_n_marked(const struct point *p, enum launch_mark mark);
bool campaign_has_mark(const struct campaign *c, enum launch_mark mark);
/* Nothing is told of a comparison in which more than this part of the launches, or of the pairs of launches, have one
 * and the same mark. */
#define WITHHELD_RATIO 0.25
/* Has a point too many launches with some mark? */
bool point_is_doubtful(const struct point *p);
/* Pairs of launches in the same block of which at least one has the mark. */
size_t pairs_n_marked(const struct point *a, const struct point *b, enum launch_mark mark);
/* A line of how many of the pairs of two points have which mark. Nothing where none has. */
void pairs_tell_marks(const struct point *a, const struct point *b, FILE *to);
/* A line for each mark of each point: how many launches, and by what; then what the marks are. Nothing where none is.
 */
void campaign_tell_marks(const struct campaign *c, FILE *to);

/* --- losses.c: losses of equal samples --- */

/* Mean of the curve, straight between the rounds recorded, over the last tenth of the first samples_count samples, from
 * the first round recorded on. NaN: the launch saw fewer, its first round is behind them, or a loss among them is not
 * a number. */
double curve_loss_at(const struct curve *k, double samples_count);
/* The samples of all workers that every launch of the points comparable to p saw: where their losses are compared;
 * NaN: not known. */
double campaign_equal_samples(const struct campaign *c, const struct point *p);
/* The samples of all workers at the end of a launch of p; NaN: not known. */
double point_samples(const struct point *p);
/* Mean over launches of curve_loss_at(). */
double point_loss_at(const struct point *p, double samples_count);

/* --- failures.c: launches that failed, and launches of several sessions --- */

#define NO_BLOCK SIZE_MAX /* the place of a trial */
/* A launch of p, or with NO_BLOCK a trial, failed, or left no records: count it, and keep a record of it (kind
 * "failure"), which says whether p is given up now: p->is_given_up, as the caller has set it. RC_IO, RC_NOMEM. */
enum rc campaign_fail(struct campaign *c, struct point *p, size_t block_position, const char *why) MUST_CHECK;
/* The same of one whose record is there. */
void point_retake_failure(struct point *p, const struct json_t *record);
/* Of launches. */
bool campaign_has_failures(const struct campaign *c);
/* A line for each point of which some launch, and one for each of which some trial failed: how many, what became of it,
 * why the last one did. */
void campaign_tell_failures(const struct campaign *c, FILE *to);
/* A line where blocks hold launches of several sessions: their pairs were not made shortly after each other. */
void campaign_tell_sessions(const struct campaign *c, FILE *to);

/* --- what is shown --- */

/* table.c: how points exchange, two tables with a row for each point (what it gives; its step), and what the columns
 * are. */
enum rc campaign_print(const struct campaign *c, FILE *to) MUST_CHECK;
/* Of a table with one column for the size of a point: its workers, or in a campaign with layouts its layout. */
const char *point_size_title(const struct campaign *c);
enum rc point_print_size(struct table *t, const struct campaign *c, const struct point *p) MUST_CHECK;
/* answer.c: of each setting in at most five lines: how many workers to use, which mode is faster with equal resources,
 * and what gradient exchange costs. RC_NOMEM. */
enum rc campaign_answer(const struct campaign *c, FILE *to) MUST_CHECK;
/* table.c: one table of at most 100 columns where neither options nor names are long, given to show(). */
typedef void show_table_fn(const struct table *t, FILE *to);
enum rc campaign_print_short(const struct campaign *c, show_table_fn *show, FILE *to) MUST_CHECK;
/* A line for each of its marks: the meaning, and how many rows have it. */
void campaign_print_short_marks(const struct campaign *c, FILE *to);
/* table_csv.c: a row for each point, with units in the titles and all digits, as comma-separated values. RC_NOMEM. */
enum rc campaign_print_csv(const struct campaign *c, FILE *to) MUST_CHECK;
/* verdict.c: which mode is faster, and whether the difference lies in computing or in the exchange, in plain words.
 * RC_NOMEM. */
enum rc campaign_verdict(const struct campaign *c, FILE *to) MUST_CHECK;
/* verdict_records.c: write answer.txt, the lines of campaign_answer(), and verdicts.jsonl, a record for each
 * comparison, into c->dir. RC_INVAL, RC_IO, RC_NOMEM: a file that could not be written is not there, or is the former
 * one. */
enum rc campaign_keep_verdicts(const struct campaign *c) MUST_CHECK;
/* Remove both: of records that become more they tell a part. */
void campaign_remove_verdicts(const struct campaign *c);
/* scaling.c: weak or strong: is the batch of all workers that of every point (--global-batch)? */
bool campaign_scales_strongly(const struct campaign *c);
/* scaling.c: "weak scaling: batch 32 per worker", "strong scaling: batch 64 of all workers", for a title. */
void point_scaling_text(char *out, size_t n_bytes, const struct point *p);
/* scaling.c: a line on strong scaling, which is not what is usual; nothing on weak scaling. */
void campaign_tell_scaling(const struct campaign *c, FILE *to);
/* learning.c: launches of p that did not learn. */
size_t point_n_unlearned(const struct point *p);
/* learning.c: "; but ps did not learn in 2 of 3 launches", at the end of a line that compares two points: who does not
 * learn may be fast for nothing. Nothing where all did. */
void points_tell_unlearned(const struct point *a, const struct point *b, FILE *to);
/* encryption.c: a line of the modes that were encrypted, one of those that were not, one of those that had no network.
 */
void campaign_tell_encryption(const struct campaign *c, FILE *to);
/* learning.c: a line for each point of which some launch did not learn: in how many, why, and what to try. */
void campaign_tell_unlearned(const struct campaign *c, FILE *to);
/* The parts of campaign_print(), for pages: the two tables, each given to show(), and what stands under them. */
enum rc campaign_print_gains(const struct campaign *c, show_table_fn *show, FILE *to) MUST_CHECK;
enum rc campaign_print_steps(const struct campaign *c, show_table_fn *show, FILE *to) MUST_CHECK;
void campaign_print_notes(const struct campaign *c, FILE *to);
/* charts.c: tab-separated data and pictures in c->dir. A chart that would be empty is left out, one that fails does not
 * stop the others: a line to `to` names each. RC_UNSUPPORTED: no gnuplot (data is written); else as the first that
 * failed. */
enum rc campaign_draw(const struct campaign *c, FILE *to) MUST_CHECK;
struct chart_of {                      /* points that are comparable */
    const char *shows;                 /* "throughput", "cost", ... */
    char name[LAUNCH_NAME_BYTES + 16]; /* of its files, .svg, .png and .tsv aside */
    char setting[LAUNCH_NAME_BYTES];   /* "lenet, batch 64" */
};
/* Remove what campaign_draw() has left in c->dir: of records that become more it shows a part. */
void campaign_remove_charts(const struct campaign *c);
/* Chart i of those that campaign_draw() draws or leaves out, in its order; false: behind the last. */
bool campaign_chart(const struct campaign *c, size_t i, struct chart_of *out);

#endif
