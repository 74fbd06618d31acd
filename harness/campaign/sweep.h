/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.h - a running campaign: the options it sweeps, the options of every launch, its progress.
 *
 *   plan.c          which points there are
 *   plan_layouts.c  of layouts
 *   command_line.c  the options of a launch
 *   launch.c        how launches are checked, and run in turns
 *   steps.c         how many steps a launch has
 *   tuning.c        finds the learning rate of each point before
 *   wait.c          how the workers of a launch wait for each other
 *   closing.c       what is kept and printed at the end
 *   begun.c         what its folder holds from the first launch on, so that another process can go on with it (begun.h)
 *   reload.c        the launches of a campaign that is continued
 *
 * The order of calls: fill in axis, train, given options and launcher; sweep_choose_world, sweep_plan, sweep_check,
 * sweep_choose_steps, sweep_plan_tuning, sweep_open_files (rank 0), sweep_tune, sweep_launch_all, sweep_finish (rank
 * 0). To continue one: begun_apply in the place of sweep_choose_steps, sweep_reopen_files in that of sweep_open_files.
 *
 * Invariants
 *   K1  A launch that has ended is in runs.jsonl.partial, and stays there whatever ends this process or the machine.
 *   K2  Launch i of a point is of block i: a launch that failed is repeated at once, from the same seed; where it fails
 *       max_failures times the point is given up, and the others go on. Of a trial that fails: tuning.U5.
 *   K3  Which launches there are, in which order, from which seeds, and how long, is a function of what manifest.json
 *       holds from the beginning: a continued campaign makes those that are missing, and no others.
 *   K4  Under a launcher ranks agree on a failure before a launch, and on one of rank 0 behind it. A rank that fails or
 *       dies in it ends the job, as always there (world.W4, W5): what was done before is kept, K1.
 */
#ifndef HARNESS_CAMPAIGN_SWEEP_H
#define HARNESS_CAMPAIGN_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/campaign/campaign.h"
#include "harness/report/digest.h"
#include "harness/report/progress.h"
#include "harness/report/record.h"
#include "harness/train/exchange_plan.h"
#include "harness/train/train.h"
#include "harness/world/world.h"

#define LAYOUT_AXIS "layout"
struct axis { /* an option that points assign, and its values, a comma list */
    const char *option, *values;
};

enum { MAX_TUNED_RATES = 16, TUNING_SEEDS = 2, MAX_COUNTS = 64, COUNTS_BYTES = MAX_COUNTS * 12 };
enum { CONTINUE_BYTES = 64 + 64 + 4 * CAMPAIGN_DIR_BYTES }; /* of sweep_continue_command() (begun.h) */

struct trial {                 /* of a point at a rate; rank 0 has what it gave */
    double loss[TUNING_SEEDS]; /* NaN: none */
    bool did_not_learn[TUNING_SEEDS];
    size_t n_failures; /* of it */
    bool has_failed;   /* too often: tuning.U5 */
    bool is_kept;      /* its records are in runs.jsonl */
};

struct tuning {                   /* --tune-lr; how: tuning.c */
    double rate[MAX_TUNED_RATES]; /* ascending, what LIST says; of "auto": of the point under way */
    int n_rates;                  /* 0: no tuning */
    bool is_auto;
    struct trial (*trial)[MAX_TUNED_RATES]; /* [n_points]; owned */
    size_t n_trials, n_done;                /* launches of all points */
    int n_retaken;                          /* of the point whose trials are read again */
};

struct sweep { /* in mpi every process has one; only rank 0's results are filled */
    /* Model, mode and workers (values "": as many as the cores, or the launcher, suggest), or layout, and others of
     * train_opt_table; the first varies slowest. A layout assigns workers, stages and shard-dense. */
    struct axis axis[MAX_ASSIGNMENTS];
    int n_axes;
    bool adds_baseline; /* sweep_plan() adds one worker alone to points that have none to be measured by */
    bool added_baseline;
    char left_out[FAILURE_BYTES]; /* layouts that a mode cannot have, and why: "single has one worker: 2x1x1"; "": none
                                   */
    char stages[24], shards[24];  /* of all points, where they are axes of one value */
    char chosen_workers[COUNTS_BYTES]; /* of an axis without values: "1,2,4"; "": the user named them */
    struct train_opts train;           /* of every launch whose point does not assign it */
    /* What the user gave: of train_opt_table, and of modules. Borrowed, as parsed. */
    const struct opt_group *given;
    int n_given;
    const char *tune_lr; /* "": as given; "auto", or a list of rates to try. Borrowed */
    struct tuning tuning;
    double budget_s;
    uint64_t order_seed; /* of the order of launches in each block */
    size_t *order;       /* of the block under way: [n_points]; owned */
    struct launcher launcher;
    const struct world_ops *world;
    struct campaign campaign;
    char self_path[512], launch_path[600], cost_path[600]; /* the last two: of the launch under way; cost: sim */
    const char *cost_file;                                 /* sim: where the cost of all launches goes; "": nowhere */
    struct world_cost cost;                                /* sim: of all launches */
    struct progress progress;
    uint64_t started_ns;
    bool needs_tasks, may_use_tasks;                     /* world_opts of some launch: as asked for, or by auto */
    bool may_overlap;                                    /* some launch, by --overlap auto */
    char useless[USELESS_EXCHANGE_BYTES + OPTION_BYTES]; /* what options of the exchange change nothing of; "": none */
    bool stopped;                                        /* by a signal: results so far are kept, no more is launched */
    char failure[FAILURE_BYTES];                         /* why the launch just made failed; "": it did not */
    size_t max_failures;                                 /* of a point: K2 */
    double spent_before_s;                               /* in the sessions before this one */
    struct digest *input;                                /* [n_inputs]: of input files, as they are at the beginning */
    size_t n_inputs;                                     /* of this session; owned; rank 0 */
    char despite[FAILURE_BYTES];                         /* what has changed since it was begun; "": nothing */
    bool goes_on_anyway;                                 /* whatever has changed */
    char farewell[CONTINUE_BYTES + 128];                 /* what a signal makes a rank of MPI say */
};

/* Options that every launch gets: the value is computed for the point, unless the point assigns one. */
enum derived_option {
    DERIVED_WORLD,
    DERIVED_SERVERS,
    DERIVED_REDUCER,
    DERIVED_COMPUTE,
    DERIVED_THREADS,
    DERIVED_STEPS,
    DERIVED_WAIT,
    DERIVED_SEED,
    DERIVED_LR,
    N_DERIVED,
};
/* How it is spelled. */
const char *derived_option(enum derived_option which);

/* Can only some modes be given the option? */
bool option_belongs_to_modes(const char *option);
/* Can a run of this mode be given the option? */
bool mode_takes(const struct module *mode, const char *option);

/* Samples of a step of all workers in launches of p; 0: each worker has --batch of its own. */
uint64_t sweep_global_batch(const struct sweep *s, const struct point *p);
/* A line for layouts that modes cannot have, and one for the batch that all have, where the user named none. */
void sweep_announce_layouts(const struct sweep *s, FILE *to);

/* The mode of layouts where the user names none: the first that sums gradients. */
const char *plan_layout_mode(void);

/* The group of train_opt_table in s->given. */
const struct opt_group *sweep_train_group(const struct sweep *s);
/* Threads of each worker where a point assigns none. */
int sweep_n_threads(const struct sweep *s);

/* Set world and train.world, what campaign must know of it, and one launch of each point in simulated time. RC_INVAL:
 * it needs a launcher, and there is none. */
enum rc sweep_choose_world(struct sweep *s) MUST_CHECK;
/* Add the points to s->campaign: all combinations of the axes' values, without options that a mode has no use for; and
 * before the points that lack it, where that is wanted, the baseline of their efficiency.
 * RC_INVAL: nothing to run, more workers than launched ranks, or a global batch that some point cannot share out. */
enum rc sweep_plan(struct sweep *s) MUST_CHECK;
/* How the workers of each point wait: as --wait says, and with auto in comparable points alike: they spin where all
 * these have a core for every thread of a worker, and none has its servers beside workers (--colocate). Points with
 * more computing threads than cores sleep, and make no other sleep. Servers see to themselves (train/rank_wait.c). Done
 * by sweep_plan(), in threads. Cannot fail. */
void sweep_set_wait(struct sweep *s, int n_cores);
/* The same in mpi: all points have cores alike, where every host has a core for all that was launched there. Collective
 * over all ranks. RC_NOMEM; as an allgather. */
enum rc sweep_agree_on_wait(struct sweep *s, struct world *w) MUST_CHECK;
/* Say which point makes others sleep, and whose workers spin on cores that its servers need, if there are such; where
 * --wait was given, only of servers beside workers that spin. */
void sweep_announce_wait(const struct sweep *s, int n_cores, FILE *to);

/* Resolve every launch without running it, so that bad input is found before work begins. Notes what points use, and
 * what their steps cost. RC_INVAL also: an option of a module that no point uses. */
enum rc sweep_check(struct sweep *s) MUST_CHECK;
/* p->n_steps of every point whose steps the user leaves open: its model's, or as many as let two turns of all points
 * end within the budget, 6 at least. A model is slow where a step of one worker takes over 50 ms at a quarter of the
 * rate of a GEMM of this machine, measured here; others keep theirs. After sweep_check(). */
enum rc sweep_choose_steps(struct sweep *s) MUST_CHECK;
/* The part of it that measures nothing; gemm_flops_per_s: of one thread. Cannot fail. */
void sweep_set_steps(struct sweep *s, double gemm_flops_per_s);
/* Read s->tune_lr, and count the launches it takes. RC_INVAL: no such list, or no point that learns. RC_NOMEM. */
enum rc sweep_plan_tuning(struct sweep *s) MUST_CHECK;
/* Launch every point that learns at each rate, and set its tuned_lr; w as in sweep_launch_all(). The budget begins
 * anew behind it. */
enum rc sweep_tune(struct sweep *s, struct world *w) MUST_CHECK;
/* What was tried, and chosen; nothing where nothing was tuned. */
void sweep_tell_tuning(const struct sweep *s, FILE *to);
void sweep_tuning_free(struct sweep *s);
/* Make the folder of the campaign, and choose the files that launches write. RC_INVAL as campaign_open(). Then
 * sweep_write_manifest() (begun.h). */
enum rc sweep_open_files(struct sweep *s, const char *results_dir, const char *name) MUST_CHECK;
/* Launch all points in turns, but what s->campaign holds already; w NULL: each launch is a process; else it runs in a
 * part of w. Results go to s->campaign (rank 0), and so do launches that failed, which end nothing. */
enum rc sweep_launch_all(struct sweep *s, struct world *w) MUST_CHECK;

/* Seconds of launches, of all sessions. */
double sweep_spent_s(const struct sweep *s);

/* What the user should know before the first launch: shared cores, options without effect, fewer steps than usual. */
void sweep_announce(const struct sweep *s, FILE *to);
/* launched: how sweep_launch_all() ended. Keep what was done: runs.jsonl, manifest.json (with *options, nulled), table
 * and verdict to `to`, charts; then report how it ended: RC_PEER when stopped, or launches failed, else launched; what
 * can be continued names the command. */
enum rc sweep_finish(struct sweep *s, enum rc launched, struct record **options, bool charts, FILE *to) MUST_CHECK;

#endif
