/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.h - a running campaign: the options that it sweeps, the options of every launch, its progress.
 *
 *   plan.c          the points, also of layouts
 *   command_line.c  the options of a launch
 *   launch.c        checks launches, and runs them in turns
 *   tuning.c        finds the learning rate of each point before the launches
 *   wait.c          how the workers of a launch wait for each other, and how many steps they make
 *   closing.c       files and output at the end
 *   begun.c         the folder from the first launch on, so that another process can continue (begun.h)
 *   reload.c        the launches of a campaign that is continued
 *
 * The order of calls: set axis, train, given options and launcher; sweep_choose_world, sweep_plan, sweep_check,
 * sweep_choose_steps, sweep_plan_tuning, sweep_open_files (rank 0), sweep_tune, sweep_launch_all, sweep_finish (rank
 * 0). To continue a campaign, begun_apply replaces sweep_choose_steps, and sweep_reopen_files sweep_open_files.
 *
 * Invariants
 *   K1  A finished launch is in runs.jsonl.partial, and stays there if this process or the machine dies.
 *   K2  Launch i of a point belongs to block i: a failed launch is repeated at once, from the same seed. After
 *       max_failures failures the point is given up, and the remaining points continue. For failed trials see
 *       tuning.U5.
 *   K3  The launches, their order, their seeds and their lengths are a function of the initial manifest.json: a
 *       continued campaign makes exactly the missing launches.
 *   K4  Under a launcher ranks agree on a failure before a launch, and on a failure of rank 0 after it. A rank that
 *       fails or dies in a launch ends the job, as always there (world.W4, W5): earlier results are kept, K1.
 */
#ifndef HARNESS_CAMPAIGN_SWEEP_H
#define HARNESS_CAMPAIGN_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/campaign/campaign.h"
#include "harness/report/digest.h"
#include "harness/report/progress.h"
#include "harness/report/record.h"
#include "harness/train/job_exchange.h"
#include "harness/train/train.h"
#include "harness/world/host_load.h"
#include "harness/world/world.h"

#define LAYOUT_AXIS "layout"
struct axis { /* an option that points assign, and its values, comma-separated */
    const char *option, *values;
};

enum { LEAST_TURNS = 2 }; /* whatever the budget is */
enum { MAX_TUNED_RATES = 16, TUNING_SEEDS = 2, MAX_COUNTS = 64, COUNTS_BYTES = MAX_COUNTS * 12 };
enum { CONTINUE_BYTES = 64 + 64 + 4 * CAMPAIGN_DIR_BYTES }; /* of sweep_continue_command() (begun.h) */

struct trial {                 /* of a point at a rate; rank 0 has the results */
    double loss[TUNING_SEEDS]; /* NaN: none */
    bool did_not_learn[TUNING_SEEDS];
    size_t n_failures; /* of this trial */
    bool has_failed;   /* too often: tuning.U5 */
    bool is_kept;      /* its records are in runs.jsonl */
};

struct tuning {                   /* --tune-lr; how: tuning.c */
    double rate[MAX_TUNED_RATES]; /* ascending, from the list; for "auto": of the current point */
    int n_rates;                  /* 0: no tuning */
    bool is_auto;
    struct trial (*trial)[MAX_TUNED_RATES]; /* [n_points]; owned */
    size_t n_trials, n_done;                /* launches of all points */
    int n_retaken;                          /* of the point whose trials are read again */
};

struct sweep { /* in mpi every process has one; only rank 0's results are filled */
    /* Model, mode and workers (values "": chosen by the cores, or by the launcher), or layout, and other options of
     * train_opt_table; the first varies slowest. A layout assigns workers, stages and shard-dense. */
    struct axis axis[MAX_ASSIGNMENTS];
    int n_axes;
    bool adds_baseline; /* sweep_plan() adds one worker alone to points without a baseline */
    bool added_baseline;
    char left_out[FAILURE_BYTES]; /* layouts impossible for a mode, and why: "single has one worker: 2x1x1"; "": none */
    char stages[24], shards[24];  /* of all points, if they are axes of one value */
    char chosen_workers[COUNTS_BYTES]; /* of an axis without values: "1,2,4"; "": the user gave them */
    struct train_opts train;           /* of every launch whose point does not assign it */
    /* What the user gave: of train_opt_table, and of modules. Borrowed, as parsed. */
    const struct opt_group *given;
    int n_given;
    const char *tune_lr; /* "": as given; "auto", or a list of rates to try. Borrowed */
    struct tuning tuning;
    double budget_s;
    uint64_t order_seed; /* for the order of launches in each block */
    size_t *order;       /* of the current block: [n_points]; owned */
    struct launcher launcher;
    const struct world_ops *world;
    struct campaign campaign;
    char self_path[512], launch_path[600], cost_path[600]; /* the last two: of the current launch; cost: sim */
    const char *cost_file;                                 /* sim: file for the cost of all launches; "": none */
    struct world_cost cost;                                /* sim: of all launches */
    struct progress progress;
    uint64_t started_ns;
    bool needs_tasks, may_use_tasks;                     /* world_opts of some launch: as requested, or by auto */
    bool may_overlap;                                    /* some launch, by --overlap auto */
    char useless[USELESS_EXCHANGE_BYTES + OPTION_BYTES]; /* warning: exchange options without effect; "": none */
    bool stopped;                                        /* by a signal: results so far are kept, no further launch */
    char failure[FAILURE_BYTES];                         /* why the last launch failed; "": it did not */
    size_t max_failures;                                 /* of a point: K2 */
    double spent_before_s;                               /* in the sessions before this one */
    struct digests inputs;                               /* of input files, at the beginning of this session; rank 0 */
    char despite[FAILURE_BYTES];                         /* changes since it was begun; "": none */
    bool goes_on_anyway;                                 /* continue despite changes */
    char farewell[CONTINUE_BYTES + 128];                 /* message of an MPI rank that a signal ends */
};

/* Options that every launch gets. The value is computed for the point, unless the point assigns one. */
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
/* The name of the option. */
const char *derived_option(enum derived_option which);

/* Do only some modes take the option? */
bool option_belongs_to_modes(const char *option);
/* Does a run of this mode take the option? */
bool mode_takes(const struct module *mode, const char *option);

/* Before the first launch: a warning, if between these two readings other programs used so much of the machine that a
 * run would be disturbed. */
void sweep_warn_if_busy(struct sweep *s, const struct host_load *before, const struct host_load *after, FILE *to);

/* Samples per step of all workers in launches of p; 0: each worker has --batch. */
uint64_t sweep_global_batch(const struct sweep *s, const struct point *p);
/* Print a line for layouts that modes cannot have, and one for the common batch, if the user gave none. */
void sweep_announce_layouts(const struct sweep *s, FILE *to);

/* The default mode for layouts: the first that sums gradients. */
const char *plan_layout_mode(void);

/* The group of train_opt_table in s->given. */
const struct opt_group *sweep_train_group(const struct sweep *s);
/* Threads of each worker if the point assigns none. */
int sweep_n_threads(const struct sweep *s);

/* Set world and train.world, the facts that campaign needs of it, and one launch per point in simulated time. RC_INVAL:
 * it needs a launcher. */
enum rc sweep_choose_world(struct sweep *s) MUST_CHECK;
/* Add the points to s->campaign: all combinations of the axes' values, without options that a mode does not use. If
 * wanted, the baseline of efficiency is added before the points that lack it.
 * RC_INVAL: nothing to run, more workers than launched ranks, or a global batch that some point cannot divide. */
enum rc sweep_plan(struct sweep *s) MUST_CHECK;
/* Set how the workers of each point wait: as --wait says, and with auto alike in comparable points. They spin if all
 * these points have a core for every thread of a worker, and no servers on the workers' cores (--colocate). Points with
 * more computing threads than cores sleep, and make no other point sleep. Servers choose for themselves
 * (train/rank_hosts.c). Done by sweep_plan(), in threads. Cannot fail. */
void sweep_set_wait(struct sweep *s, int n_cores);
/* The same in mpi: all points have enough cores if every host has a core for all that was launched there. Collective
 * over all ranks. RC_NOMEM; errors of an allgather. */
enum rc sweep_agree_on_wait(struct sweep *s, struct world *w) MUST_CHECK;
/* Report the point that makes others sleep, and points whose workers spin on cores that their servers need, if any. If
 * --wait was given, report only servers on the cores of spinning workers. */
void sweep_announce_wait(const struct sweep *s, int n_cores, FILE *to);

/* Resolve every launch without running it, so that bad input is found before work begins. Notes what points use, and
 * the cost of their steps. RC_INVAL also: an option of a module that no point uses. */
enum rc sweep_check(struct sweep *s) MUST_CHECK;
/* Set p->n_steps of every point without steps from the user: its model's default, or fewer, so that two rounds of all
 * points fit the budget, but at least 6. Only slow models get fewer: a step of one worker takes over 50 ms at a quarter
 * of the GEMM rate of this machine, measured here. After sweep_check(). */
enum rc sweep_choose_steps(struct sweep *s) MUST_CHECK;
/* The part of sweep_choose_steps() that measures nothing; gemm_flops_per_s: of one thread. Cannot fail. */
void sweep_set_steps(struct sweep *s, double gemm_flops_per_s);
/* Read s->tune_lr, and count its launches. RC_INVAL: not a valid list, or no point that learns. RC_NOMEM. */
enum rc sweep_plan_tuning(struct sweep *s) MUST_CHECK;
/* Launch every point that learns at each rate, and set its tuned_lr; w as in sweep_launch_all(). The budget starts anew
 * afterwards. */
enum rc sweep_tune(struct sweep *s, struct world *w) MUST_CHECK;
/* Print what was tried and chosen; nothing if nothing was tuned. */
enum rc sweep_tell_tuning(const struct sweep *s, FILE *to) MUST_CHECK;
void sweep_tuning_free(struct sweep *s);
/* Make the folder of the campaign, and choose the files that launches write. RC_INVAL as campaign_open(). Then call
 * sweep_write_manifest() (begun.h). */
enum rc sweep_open_files(struct sweep *s, const char *results_dir, const char *name) MUST_CHECK;
/* Would that succeed now? The same errors. Leaves nothing. */
enum rc sweep_check_files(struct sweep *s, const char *results_dir, const char *name) MUST_CHECK;
/* Launch all points in turns, except launches that s->campaign already holds. w NULL: each launch is a process; else it
 * runs in a part of w. Results go to s->campaign (rank 0), and so do failed launches, which do not end the campaign. */
enum rc sweep_launch_all(struct sweep *s, struct world *w) MUST_CHECK;

/* Seconds of launches, over all sessions. */
double sweep_spent_s(const struct sweep *s);

/* Print notes before the first launch: shared cores, options without effect, fewer steps than usual. */
void sweep_announce(const struct sweep *s, FILE *to);
/* launched: result of sweep_launch_all(). Write the results: runs.jsonl, manifest.json (with *options, nulled), table
 * and verdict to `to`, charts. Then return how the campaign ended: RC_PEER if it was stopped, or launches failed; else
 * launched. If it can be continued, the message has the command. */
enum rc sweep_finish(struct sweep *s, enum rc launched, struct record **options, bool charts, FILE *to) MUST_CHECK;

/* The layouts of a campaign, and the work that is equal for all of them. Private to plan.c. */

enum { LAYOUT_OPTIONS = 3 };
#define LAYOUT_OF_ONE_RANK "1x1x1"

#endif
