/* SPDX-License-Identifier: Apache-2.0 */
/*
 * campaign.h - many launches of many points, and their results.
 *
 * A point is one way to train: values of options (--model=lenet --mode=ps --workers=2 --batch=64). It is launched
 * several times. Launch i of every point belongs to block i. In a block each point is launched once, comparable points
 * next to each other, in an order drawn anew for each block. So a machine that drifts, or changes its speed, does so
 * for all of them. All launches of a block train from one seed; each block has another seed. Two points are compared by
 * the pairs of their launches in the same block (measure/paired.h).
 *
 * A point assigns model, mode and workers, and any other option that a campaign sweeps. Two points differ in what they
 * assign. Points are comparable if every option that both assign has the same value, except mode and layout.
 * Efficiency, verdict and charts compare only such points.
 *
 * The layout of a point (train/layout.h) is its number of workers, the stages of each, and the shards of its dense
 * layers: the values of the options workers, stages and shard-dense. A campaign without the latter two compares numbers
 * of workers. A campaign with them compares layouts with equal numbers of ranks (stages of all workers), at the same
 * global batch.
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
#include "harness/campaign/launch_figures.h"
#include "harness/measure/disturbance.h"
#include "harness/measure/interval.h"
#include "harness/measure/paired.h"
#include "harness/report/seal.h"
#include "harness/train/layout.h"
#include "harness/train/train.h"

/* The parts of a step of a layout, in words, for simulated and for measured layouts. */

struct layout_facts { /* of a step, of the rank that sends, or needs, most; NaN: not known */
    double activations_bytes, gradients_bytes, memory_bytes;
    double bubble_ratio, imbalance_ratio; /* of a layout with stages */
};

enum { LAYOUT_CLAUSE_BYTES = 256 };

/* "moves 8.1 MB of gradients a rank and step", to follow the layout's name. Gradients and activations are known. */
void layout_describe(char out[LAYOUT_CLAUSE_BYTES], const struct layout *l, const struct layout_facts *f);
/* Is the best one cut in a way in which l is not? If the best one is not cut: is l cut at all? */
bool layout_is_of_another_kind(const struct layout *l, const struct layout *best);

struct json_t; /* jansson.h */
struct table;  /* report/table.h */
struct column; /* report/table.h */

enum {
    MAX_LAUNCHES = 1000,
    MAX_ASSIGNMENTS = 6,
    OPTION_BYTES = 24,
    VALUE_BYTES = 64,
    FAILURE_BYTES = RC_MESSAGE_BYTES,
    CAMPAIGN_DIR_BYTES = 512,
    LAUNCH_NAME_BYTES = MAX_ASSIGNMENTS * (OPTION_BYTES + VALUE_BYTES),
};

struct launch { /* the summary record of one launch */
#define MEMBER(member, key) double member;
    LAUNCH_FIGURES(MEMBER)
#undef MEMBER
    bool did_not_learn;           /* the launch's own judgement: "learned" is "no" */
    bool was_disturbed;           /* likewise */
    bool is_load_unknown;         /* likewise: nobody could tell whether other programs ran beside it */
    bool switched, never_settled; /* likewise; neither: a steady state, or too short to decide */
    int session;                  /* how often its campaign had been interrupted and continued */
};

struct curve { /* loss of the recorded rounds of a launch, over time and samples of all workers; owned */
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
    const struct module *used[TRAIN_N_KINDS]; /* used by its launches; NULL: none of that kind, or not known yet */
    int n_workers, n_servers;                 /* servers: of each stage */
    int n_stages, n_shards;          /* of each worker; of the dense layers of a group of workers; 0, 1: not cut */
    int n_drivers;                   /* of --input feed; known in a planned campaign, not in one that is read */
    bool servers_beside;             /* on the workers' cores: --colocate */
    int n_threads;                   /* of each worker */
    long n_host_cores;               /* cores of the hosts of a launch; the most of its launches; 0: not known */
    uint64_t batch_per_worker_count; /* as the launches used it */
    uint64_t global_batch_count;     /* likewise, for strong scaling (train/job_batch.h); 0: weak, or not known */
    int n_averaged;                  /* gradients that its parameter servers average into one update, from the launches;
                                        0: they apply each */
    bool lowers_stale;               /* they apply each at its rate over its staleness */
    bool is_inference;               /* its launches do not train (--forward-only) */
    uint64_t n_steps;                /* of a launch */
    uint64_t launch_global_batch;    /* option of its launches, for a layout; 0: as the user says */
    uint64_t launch_micro_batches;   /* likewise, of a worker's batch */
    struct layout_facts moves;       /* from the last launch */
    double tuned_lr;                 /* option of its launches (--tune-lr); 0: as the user says */
    double learning_rate;            /* of the last recorded step, as scaled for its workers; NaN: not known */
    double step_flops, step_s;       /* of all workers, GEMMs; recorded time (replay), else 0 */
    uint64_t default_steps;          /* of its model */
    bool over_budget;                /* n_steps is the minimum, and two rounds exceed the budget */
    bool oversubscribed;             /* more threads of workers than cores */
    bool servers_share;              /* servers run on the workers' cores */
    int n_busy_threads;              /* of workers: for compute, and for exchange beside it; 0: not known */
    enum wait_policy wait;           /* of its launches: sweep_set_wait(); WAIT_AUTO: not decided */
    size_t n_launches;
    struct launch *launch;               /* [MAX_LAUNCHES room as asked], launch i of block i; owned */
    size_t n_failures, n_failures_now;   /* launches that failed; since the last continuation of the campaign */
    bool is_given_up;                    /* too many failed: no further launches */
    bool is_fate_unknown;                /* records of an older version do not say whether it was given up */
    char failure[FAILURE_BYTES];         /* the last one that failed, and why */
    size_t n_failed_trials;              /* (--tune-lr); their failure gives up only a rate */
    char failed_trial[FAILURE_BYTES];    /* as failure */
    char encryption[ENCRYPTION_BYTES];   /* of the last launch: exchange_encryption(); "": none, or not known */
    char not_learned[NOT_LEARNED_BYTES]; /* advice of the first launch that did not learn; "": no launch or advice */
    struct curve *curve;                 /* of each launch: [n_curves], with room as for launches; owned */
    size_t n_curves, n_curves_room;
};

struct campaign {
    char dir[CAMPAIGN_DIR_BYTES];
    bool made_dir;         /* dir was made by campaign_open() */
    char cluster_name[64]; /* sim */
    char data[64];         /* ", data shards", last part of --data; "": that of the model */
    char machine[160];     /* "2 cores, x86_64", of a recorded campaign; "": this machine */
    char exchange[256];    /* exchange options of all points that differ from the defaults: "overlap on"; "": none */
    bool is_launched;      /* by mpirun or srun: the records say which points share cores */
    bool is_virtual;       /* sim: launches are equal, intervals are within the run */
    size_t n_launches_wanted, n_launches_done; /* of each point; of all */
    struct point *point;                       /* owned */
    size_t n_points;
    struct atomic_file runs; /* runs.jsonl while written: runs.jsonl.partial (base/partial_file.h) */
    struct seal seal;        /* of its last line */
    bool is_unsealed;        /* a version without seals began runs, and it stays so (report/seal.h, E1) */
    bool is_kept;            /* campaign_close() keeps the files; else it removes them */
    int session;             /* of the launches taken from now on */
    struct disturbance
        before;     /* of this machine, before the first launch of this session; all 0: it was not measured */
    double spent_s; /* time until the last launch was taken, over all sessions */
    char *hosts;    /* of the launches that were read again: "|one|other|"; NULL: no launches; owned */
};

/* Make results_dir/<date>-<name>, with -2, -3, ... if the name is taken. RC_INVAL names the obstacle. */
enum rc campaign_open(struct campaign *c, const char *results_dir, const char *name) MUST_CHECK;
/* Add a point with these assignments. RC_INVAL, RC_UNSUPPORTED: no such model or mode; RC_NOMEM. *out is valid
 * until the next add. */
enum rc campaign_add(struct campaign *c, const struct assignment *assigned, int n_assigned,
                     struct point **out) MUST_CHECK;
/* Continue the campaign in folder dir: c->runs.stream is at the beginning of its records, which are then read. RC_INVAL
 * as partial_file_reopen(). */
enum rc campaign_reopen(struct campaign *c, const char *dir) MUST_CHECK;
/* Read the JSON lines of one launch at path into the point. Append them to runs.jsonl with launch_index, the block, and
 * block_position, its place in the block. When it returns RC_OK they are there, even if this process then dies. In real
 * worlds the summary also gets campaign_s, c->spent_s, and session_index. Removes path. RC_MISMATCH: no summary in it;
 * RC_IO; the point and the records are then unchanged. */
enum rc campaign_take(struct campaign *c, struct point *p, size_t block_position, const char *path) MUST_CHECK;
/* The same for a launch that is in runs.jsonl already: text[n_bytes]. Sets c->spent_s. */
enum rc campaign_retake(struct campaign *c, struct point *p, const char *text, size_t n_bytes) MUST_CHECK;
/* Append a piece to runs.jsonl, lines of records, which are sealed. If this process dies, either all of it is there or
 * nothing. RC_IO, RC_NOMEM. */
enum rc campaign_keep(struct campaign *c, const char *text, size_t n_bytes) MUST_CHECK;
/* Read a record of the current launch of p, number n_launches, for which there is room: its steps, its summary. Other
 * records do not change p. RC_MISMATCH: it has no kind. RC_NOMEM. */
enum rc point_read_record(struct point *p, const struct json_t *record) MUST_CHECK;
/* Counts the hosts of the ranks of a launch, which are in order: a change of the name is a new host. Zeroed: none. */
struct hosts {
    char last[256]; /* names have at most 253 letters; of a longer name only the first letters are compared */
    int n;
};
/* Count the host of the next rank (NULL: not known). True: it differs from that of the rank before. */
bool hosts_add(struct hosts *hosts, const char *host);
/* order[c->n_points] := the points of a block in launch order. Sets of comparable points come one after another; the
 * sets, and the points of each set, are in an order drawn from (seed, block). With seed 0, and for simulated launches,
 * which are all equal, it is the order of points. Equal on every process. RC_NOMEM. */
enum rc campaign_block_order(size_t *order, const struct campaign *c, uint64_t seed, size_t block) MUST_CHECK;
/* Set c->data from the value of --data, "" or NULL: none. */
void campaign_set_data(struct campaign *c, const char *path);
/* Put runs.jsonl at its path. */
enum rc campaign_commit(struct campaign *c) MUST_CHECK;
/* Accepts a zeroed one. A campaign that was not committed leaves its records as runs.jsonl.partial. If it made the
 * folder and has no records, it removes what it made. */
void campaign_close(struct campaign *c);

/* --- points.c: the assignments of points --- */

/* The value that p assigns to an option; NULL: none. */
const char *point_value(const struct point *p, const char *option);
/* Has every option that both assign the same value, except mode and layout? */
bool point_comparable(const struct point *a, const struct point *b);
/* "lenet ps, 2 workers, batch 64"; "lenet ps, layout 2x2x1, batch 64" */
void point_name(char *out, size_t n_bytes, const struct point *p);
/* The common part of comparable points, model first: "lenet, batch 64"; between: ", ", pair: " ". */
void point_setting(char *out, size_t n_bytes, const struct point *p, const char *between, const char *pair);
/* Name i of the options that need a column: some point assigns them, and they are not model, mode or a part of the
 * layout. NULL after the last. */
const char *campaign_other_option(const struct campaign *c, int i);
/* Set oversubscribed and servers_share of a point, with n_cores in total. */
void point_mark_shared_cores(struct point *p, long n_cores);
/* Cores that a launch of p uses: one for each thread of each of its ranks, and one for each server that does not share
 * the cores of a worker. */
long point_n_cores(const struct point *p);
/* The point with exactly these assignments, in any order; NULL: none. */
const struct point *campaign_find(const struct campaign *c, const struct assignment *assigned, int n_assigned);
/* The point whose assignments equal the keys of a record, as texts; NULL: none. */
struct json_t;
struct point *campaign_point_of(struct campaign *c, const struct json_t *record);
/* The first point comparable to p with this mode, n_workers, and p's stages and shards; one with launches is preferred.
 * NULL: none. */
const struct point *campaign_find_like(const struct campaign *c, const struct point *p, const struct module *mode,
                                       int n_workers);
/* The comparable point that is the baseline of efficiency: it has one rank, and a mode for one worker. For layouts,
 * otherwise one whose mode sums gradients, which are those of one rank there. NULL: none. */
const struct point *campaign_find_baseline(const struct campaign *c, const struct point *p);
/* The first comparable point with as many workers and no exchange; NULL: none. */
const struct point *campaign_find_control(const struct campaign *c, const struct point *p);
/* The first comparable point with launches, whose records tell batch and scaling; NULL: none. */
const struct point *campaign_find_launched(const struct campaign *c, const struct point *like);
/* The largest number of launches of a point. */
size_t campaign_most_launches(const struct campaign *c);
/* Is point i the representative of the points comparable to it: the first of those with the most assignments? Each
 * representative gets a set of charts and a verdict. */
bool campaign_represents(const struct campaign *c, size_t i);
/* Largest worker count of a point comparable to p in this mode that has launches and a core for every worker.
 * other_mode (NULL: any) must have launches with that count, too. 0: none. */
int campaign_largest(const struct campaign *c, const struct point *p, const struct module *mode,
                     const struct module *other_mode);
/* Two points, one of each mode, comparable to like, that use equal numbers of cores, including a core for each server.
 * Both have launches. Of several such pairs, the one with the most cores. false: there is no such pair, or neither mode
 * has servers. */
bool campaign_equal_cores(const struct campaign *c, const struct point *like, const struct module *const mode[2],
                          const struct point *out[2]);

/* --- layout_points.c: layouts of points --- */

/* Does p define more of its layout than its number of workers? */
bool point_has_layout(const struct point *p);
bool campaign_has_layouts(const struct campaign *c);
/* Has some point comparable to p a layout? */
bool campaign_compares_layouts(const struct campaign *c, const struct point *p);
/* Set n_stages and n_shards from the assignments, else to 1. RC_INVAL: not a valid number. */
enum rc point_set_layout(struct point *p) MUST_CHECK;
struct layout point_layout(const struct point *p);
/* Ranks that compute, the stages of all workers; and these plus servers and drivers of --input feed. */
int point_n_ranks(const struct point *p);
int point_n_launched_ranks(const struct point *p);
/* "4x1x1", also for a point without a layout; if comparable points have different modes: "ps:4x1x1". */
enum { LAYOUT_NAME_BYTES = 64 };
void point_layout_name(char *out, const struct campaign *c, const struct point *p);
/* Read the layout facts from the summary of a launch. */
void point_read_layout(struct point *p, const struct json_t *summary);

/* --- points.c: results of launches --- */

/* Copy one member of every launch: out[p->n_launches]. */
void point_values(double *out, const struct point *p, size_t member_offset);
/* Mean over launches of a member (offsetof(struct launch, ...)); NaN if any is. */
double point_mean(const struct point *p, size_t member_offset);
/* Arithmetic mean over launches of a member, and its interval (interval.I3); with one launch no interval; NaN if any
 * is. */
struct interval point_interval(const struct point *p, size_t member_offset);
/* A worker's mean step and its parts (measure/steps.h, E4), in the order of the tables. */
struct step_part {
    const char *name; /* "compute" */
    size_t at;        /* offset in struct launch */
};
enum { N_STEP_PARTS = 6 };
extern const struct step_part step_whole, step_parts[N_STEP_PARTS];
/* Throughput: geometric mean over launches, interval on logarithms; with one launch, the interval within it. */
struct interval point_throughput(const struct point *p);
/* Throughput over its bound (train/bound.h), with an interval as that of throughput. NaN if a launch has no bound, or a
 * failed one, whose ratio cannot be averaged (B3). */
struct interval point_bound(const struct point *p);
/* Number of launches whose bound failed (B3). */
size_t point_n_failed_bounds(const struct point *p);
/* Efficiency of p against its baseline. If no interval can be computed, only the mean (ends NaN). NaN: there is no
 * baseline. */
struct interval campaign_efficiency(const struct campaign *c, const struct point *p);
/* A member (offsetof(struct launch, ...)) of a over that of b, by pairs of launches; no pairs if a value of either is
 * not positive. */
struct comparison campaign_compare(const struct point *a, const struct point *b, size_t member_offset);

/* --- marks.c: launches under doubtful conditions --- */

enum launch_mark {
    MARK_DISTURBED, /* other load took too much of the machine, or its frequency differs from the point's other launches
                     */
    MARK_UNSTEADY,  /* a level shift of the speed, or no steady state */
    N_MARKS
};
/* "disturbed", "unsteady". */
const char *mark_column(enum launch_mark mark);
bool launch_has_mark(const struct point *p, size_t launch, enum launch_mark mark);
size_t point_n_marked(const struct point *p, enum launch_mark mark);
bool campaign_has_mark(const struct campaign *c, enum launch_mark mark);
/* A comparison has no verdict if more than this part of the launches, or of the pairs of launches, have the same mark.
 */
#define WITHHELD_RATIO 0.25
bool point_is_marked(const struct point *p, enum launch_mark mark);
/* For the column "marks" of tables, in which a point has the letter of each mark that it is marked with. */
char mark_letter(enum launch_mark mark);
const char *mark_meaning(enum launch_mark mark);
/* Is a point marked with one of the marks? */
bool point_is_doubtful(const struct point *p);
/* Number of pairs of launches in the same block with the mark on at least one of them. */
size_t pairs_n_marked(const struct point *a, const struct point *b, enum launch_mark mark);
/* Print a line with the numbers of marked pairs of two points; nothing if there are none. */
void pairs_tell_marks(const struct point *a, const struct point *b, FILE *to);
/* Print a line for each mark of each point, with the number of launches and the cause; nothing if there are none. */
void campaign_tell_marked(const struct campaign *c, FILE *to);
/* Explain the marks that are there. */
void campaign_explain_marks(const struct campaign *c, FILE *to);
/* Both. */
void campaign_tell_marks(const struct campaign *c, FILE *to);
/* Print of how many launches the load of the machine is not known; nothing if of none. */
void campaign_tell_unknown_load(const struct campaign *c, FILE *to);

/* --- curves.c: losses at equal samples --- */

/* Mean of the curve, linear between the recorded rounds, over the last tenth of the first samples_count samples. The
 * range begins at the first recorded round at the earliest. NaN: the launch saw fewer samples, its first round is after
 * them, or a loss among them is not a number. */
double curve_loss_at(const struct curve *k, double samples_count);
/* The number of samples of all workers at which losses are compared: every launch of the points comparable to p saw
 * them. NaN: not known. */
double campaign_equal_samples(const struct campaign *c, const struct point *p);
/* The samples of all workers at the end of a launch of p; NaN: not known. */
double point_samples(const struct point *p);
/* Mean over launches of curve_loss_at(). */
double point_loss_at(const struct point *p, double samples_count);

/* --- notes.c: launches that failed, and launches of several sessions --- */

#define NO_BLOCK SIZE_MAX /* block position of a trial */
/* Count a launch of p, or with NO_BLOCK a trial, that failed or left no records. Writes a record of kind "failure",
 * which says whether p is given up: p->is_given_up, as the caller has set it. RC_IO, RC_NOMEM. */
enum rc campaign_fail(struct campaign *c, struct point *p, size_t block_position, const char *why) MUST_CHECK;
/* The same for a failure that has a record already. */
void point_retake_failure(struct point *p, const struct json_t *record);
/* Has some launch failed? */
bool campaign_has_failures(const struct campaign *c);
/* Print a line for each point with failed launches, and one for each with failed trials: their number, the consequence,
 * the reason of the last one. */
void campaign_tell_failures(const struct campaign *c, FILE *to);
/* Print a line if blocks hold launches of several sessions: their pairs are not close in time. */
void campaign_tell_sessions(const struct campaign *c, FILE *to);

/* --- output --- */

/* table.c: how points exchange, two tables with a row for each point (its results; its step), and an explanation of the
 * columns. */
enum rc campaign_print(const struct campaign *c, FILE *to) MUST_CHECK;
enum { MOST_POINT_COLUMNS = MAX_ASSIGNMENTS + 1 };
/* Columns of what a point assigns, to out[MOST_POINT_COLUMNS]: its model, its mode, its workers (in a campaign with
 * layouts its layout), and each other option that the campaign sweeps. Returns how many. */
size_t point_columns(struct column *out, const struct campaign *c);
/* Their cells. */
void point_print_assigned(struct table *t, const struct campaign *c, const struct point *p);
/* answer.c: at most five lines for each setting: how many workers to use, which mode is faster with equal resources,
 * and the cost of gradient exchange. RC_NOMEM. */
enum rc campaign_answer(const struct campaign *c, FILE *to) MUST_CHECK;
/* Print a line that says why the points comparable to like are not compared, and what to do. */
void campaign_tell_uncompared(const struct campaign *c, const struct point *like, FILE *to);
/* table.c: the short table, which compare prints, passed to show(). Its lines have at most 100 characters if options
 * and names are short. */
typedef enum rc show_table_fn(const struct table *t, FILE *to);
enum rc campaign_print_short(const struct campaign *c, show_table_fn *show, FILE *to) MUST_CHECK;
/* A line for each of its marks: the meaning, and the number of rows with it. */
void campaign_print_short_marks(const struct campaign *c, FILE *to);
/* table.c: a row for each point, with units in the titles and all digits, as comma-separated values. RC_NOMEM. */
enum rc campaign_print_csv(const struct campaign *c, FILE *to) MUST_CHECK;
/* verdict.c: which mode is faster, and whether the difference is in computing or in the exchange, in plain words.
 * RC_NOMEM. */
enum rc campaign_verdict(const struct campaign *c, FILE *to) MUST_CHECK;
/* verdict.c: write answer.txt, the lines of campaign_answer(), and verdicts.jsonl, a record for each
 * comparison, into c->dir. RC_INVAL, RC_IO, RC_NOMEM: a file that could not be written is missing or unchanged. */
enum rc campaign_keep_verdicts(const struct campaign *c) MUST_CHECK;
/* Remove both: when more records follow, they would be incomplete. */
void campaign_remove_verdicts(const struct campaign *c);
/* notes.c: is the scaling strong: do all points have the same global batch (--global-batch)? Otherwise it is weak. */
bool campaign_scales_strongly(const struct campaign *c);
/* notes.c: "weak scaling: batch 32 per worker", "strong scaling: batch 64 of all workers", for a title. */
void point_scaling_text(char *out, size_t n_bytes, const struct point *p);
/* notes.c: a line about strong scaling, which is unusual; nothing for weak scaling. */
void campaign_tell_scaling(const struct campaign *c, FILE *to);
/* notes.c: number of launches of p that did not learn. */
size_t point_n_unlearned(const struct point *p);
/* notes.c: "; but ps did not learn in 2 of 3 launches", at the end of a line that compares two points: speed without
 * learning has no value. Nothing if all learned. */
void points_tell_unlearned(const struct point *a, const struct point *b, FILE *to);
/* notes.c: a line for the modes that were encrypted, one for those that were not, one for those that had no
 * network. */
void campaign_tell_encryption(const struct campaign *c, FILE *to);
/* notes.c: a line for each point with launches that did not learn: how many, why, and what to try. */
void campaign_tell_unlearned(const struct campaign *c, FILE *to);
/* The parts of campaign_print(), for pages: the two tables, each passed to show(), and the notes below them. */
enum rc campaign_print_results(const struct campaign *c, show_table_fn *show, FILE *to) MUST_CHECK;
enum rc campaign_print_steps(const struct campaign *c, show_table_fn *show, FILE *to) MUST_CHECK;
void campaign_print_notes(const struct campaign *c, FILE *to);
/* charts.c: tab-separated data and pictures in c->dir. An empty chart is left out, and a chart that fails does not stop
 * the next ones: a line to `to` names each. RC_UNSUPPORTED: no gnuplot (data is written); otherwise the error of the
 * first chart that failed. */
enum rc campaign_draw(const struct campaign *c, FILE *to) MUST_CHECK;
struct chart_of {                      /* a chart of comparable points */
    const char *shows;                 /* "throughput", "cost", ... */
    char name[LAUNCH_NAME_BYTES + 16]; /* of its files, without .svg, .png and .tsv */
    char setting[LAUNCH_NAME_BYTES];   /* "lenet, batch 64" */
};
/* Remove the files of campaign_draw() in c->dir: when more records follow, they would be incomplete. */
void campaign_remove_charts(const struct campaign *c);
/* Chart i of those that campaign_draw() draws or leaves out, in its order; false: after the last. */
bool campaign_chart(const struct campaign *c, size_t i, struct chart_of *out);

#endif
