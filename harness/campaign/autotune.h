/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autotune.h - finds how a training exchanges its gradients fastest on this machine (--autotune), before its first
 * step: trials of some steps each, in the world of the run. Not its learning rate: tuning.c.
 *
 * Options are tried one after the other, each with what the ones before came to (one factor at a time: Daniel, Journal
 * of the American Statistical Association 68(342), 1973), in the order of autotune_values.c: what an option gains only
 * together with a later one is not found.
 *
 * Invariants
 *   T1  An option that the user gave is not tried; those of a reducer are tried while it is the one in use.
 *   T2  The values of an option are in a race (autotune_race.h) with the one in use, the default first. n_planned is
 *       the number of all values of all options: a search in which nothing differs leaves its defaults in at most 5 %
 *       of cases.
 *   T3  What came out of all races is compared with the defaults once more, alone, in new trials; unless it is faster
 *       again, the defaults stay. The ratio that is reported is of these.
 *   T4  A trial is a training from the same seed, of whose first steps nothing is measured; its step is the mean of
 *       those behind, from start to start. It saves, records, checks and evaluates nothing, and no drill fails in it.
 *   T5  Rank 0 decides; the others get what it decided. A value that a rank cannot have is tried on none.
 *   T6  An option for whose race there is no time left is not tried, and counted. The clock is the world's: in sim the
 *       budget is virtual time, and races have no more than RACE_MIN_ROUNDS rounds, as nothing varies there.
 *   T7  Settings of a file (autotune_file.c) are applied without trials. What they were found for must be the same in
 *       what they depend on most; machine, batch and threads that differ are warned of.
 */
#ifndef HARNESS_CAMPAIGN_AUTOTUNE_H
#define HARNESS_CAMPAIGN_AUTOTUNE_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/campaign/autotune_race.h"
#include "harness/train/train.h"

enum { AUTOTUNE_MAX_OPTIONS = 8, AUTOTUNE_NAME_BYTES = 48, AUTOTUNE_VALUE_BYTES = 32 };

struct autotune_opts {
    bool wanted;
    double budget_s;
    const char *file;
};
extern const struct opt autotune_opt_table[];

struct autotune_option { /* that is tried */
    char name[AUTOTUNE_NAME_BYTES];
    char reducer[AUTOTUNE_NAME_BYTES]; /* T1: whose option it is; "": of every one */
    int n_values;
    char value[RACE_MAX_ARMS - 1][AUTOTUNE_VALUE_BYTES];
};

struct autotune_plan { /* no pointers: rank 0's is that of all */
    int n_options, n_values;
    struct autotune_option option[AUTOTUNE_MAX_OPTIONS];
    double budget_s;
};

struct autotune_setting {
    char value[AUTOTUNE_MAX_OPTIONS][AUTOTUNE_VALUE_BYTES]; /* of option i of the plan; "": as without it */
};

struct autotune_trial {
    int option; /* of the plan; -1: all together, T3 */
    struct autotune_setting setting;
    int round; /* from 1 */
    bool is_in_use;
    uint64_t n_steps; /* that were measured */
    double step_s, left_s;
    struct race_verdict so_far; /* after this round, against the one in use */
    const char
        *outcome; /* "in_use", "slower", "not_shown", "faster", "chosen", "impossible"; NULL: the search was stopped */
};

struct autotune { /* zeroed, then autotune_run(); autotune_free() */
    struct autotune_plan plan;
    struct autotune_setting chosen;
    bool has_changes;        /* chosen is not the defaults */
    struct race_verdict all; /* T3; ratio NaN: there was nothing to compare */
    int n_pairs;             /* of that */
    int n_untried;           /* T6 */
    bool is_stopped;         /* by a signal: the defaults stay, and no step can be begun any more */
    uint64_t n_begun;        /* steps of all trials: train_job.n_begun_before of what runs next in this world */
    double spent_s;
    struct autotune_trial *trial; /* rank 0: [n_trials]; owned */
    size_t n_trials;
};

/* --- autotune_values.c: what is tried --- */

/* Of a prepared job; group: as it was parsed. RC_INVAL: it cannot be tuned, or every option is given. */
enum rc autotune_plan(struct autotune_plan *out, const struct autotune_opts *opts, const struct train_job *job,
                      const struct opt_group *group, int n_groups) MUST_CHECK;
/* *opts is what the job asks of its world: also what any of its trials would, so far as they can do without. */
void autotune_ask_world(struct world_opts *opts, const struct autotune_plan *plan, const struct train_job *job);
/* Is it one that autotune may set? */
bool autotune_sets(const char *option);
/* *out := base with these settings; borrows from base. Errors: as train_vary(). */
enum rc autotune_job(struct train_job *out, const struct train_job *base, const struct autotune_plan *plan,
                     const struct autotune_setting *setting) MUST_CHECK;
/* "reducer=tree bucket-bytes=65536"; "the defaults". */
void autotune_setting_text(char *out, size_t n_bytes, const struct autotune_plan *plan,
                           const struct autotune_setting *setting);

/* --- autotune.c: the search --- */

/* Collective over w, a world of base->n_ranks ranks. log: rank 0's lines; NULL: none. Errors: as train_rank(). */
enum rc autotune_run(struct autotune *a, struct world *w, const struct autotune_plan *plan,
                     const struct train_job *base, FILE *log) MUST_CHECK;
void autotune_free(struct autotune *a); /* accepts a zeroed one */

/* --- autotune_records.c: what is kept --- */

/* A record of each trial, and one of what was chosen. */
enum rc autotune_write(struct report *to, const struct autotune *a) MUST_CHECK;
/* The settings as a file, with what they are for. job: before they were applied. */
enum rc autotune_save(const char *path, const struct autotune *a, const struct train_job *job) MUST_CHECK;

/* --- autotune_file.c: what is used again --- */

enum { AUTOTUNE_MAX_FACTS = 20, AUTOTUNE_FACT_BYTES = 160 };

struct autotune_fact { /* of what settings are for */
    const char *name;
    bool must_agree; /* T7 */
    char value[AUTOTUNE_FACT_BYTES];
};
/* Of a job on this machine; returns how many. */
int autotune_facts(struct autotune_fact out[AUTOTUNE_MAX_FACTS], const struct train_job *job);

struct autotune_file;
/* RC_INVAL: path cannot be read, or is no such file. */
enum rc autotune_file_open(struct autotune_file **out, const char *path) MUST_CHECK;
/* Set the options in group, which borrows from the file. RC_INVAL: one was given, or cannot be set. */
enum rc autotune_file_apply(const struct autotune_file *f, struct opt_group *group, int n_groups) MUST_CHECK;
/* T7. RC_INVAL names what differs, with both values; warnings to `to` (NULL: none). */
enum rc autotune_file_check(const struct autotune_file *f, const struct train_job *job, FILE *to) MUST_CHECK;
void autotune_file_close(struct autotune_file **f); /* NULL-safe, nulls */

#endif
