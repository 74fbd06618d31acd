/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autotune.h - finds the fastest gradient exchange for a training on this machine (--autotune), before its first step.
 * It makes trials of some steps each in the world of the run. It does not tune the learning rate: see tuning.c.
 *
 * Options are tried one after another in the order of autotune_values.c, each with the results of the earlier ones (one
 * factor at a time: Daniel, Journal of the American Statistical Association 68(342), 1973). A gain that an option has
 * only together with a later one is not found.
 *
 * Invariants
 *   T1  An option that the user gave is not tried. Options of a reducer are tried only while that reducer is in use.
 *   T2  The values of an option compete in a race (J1 to J4 below) with the one in use, the default first. n_planned
 *       is the number of all values of all options: if nothing differs, a search changes a default in at most 5 % of
 *       cases.
 *   T3  The result of all races is compared with the defaults once more, alone, in new trials. The defaults stay unless
 *       it is faster again. The reported ratio is from these trials.
 *   T4  A trial is a training from the same seed. Its first steps are not measured; its step time is the mean over the
 *       later ones, from start to start. It saves, records, checks and evaluates nothing, and injects no fault.
 *   T5  Rank 0 decides and sends its decision to all ranks. A value that one rank cannot use is tried on no rank.
 *   T6  If there is no time left for the race of an option, the option is not tried, and counted. The clock is the
 *       world's: in sim the budget is virtual time, and races have at most RACE_MIN_ROUNDS rounds, as nothing varies.
 *   T7  Settings of a file are applied without trials. The most important facts for which they were
 *       found must be equal. A different machine, batch or number of threads causes a warning.
 */
#ifndef HARNESS_CAMPAIGN_AUTOTUNE_H
#define HARNESS_CAMPAIGN_AUTOTUNE_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/train/train.h"

/*
 * Compares settings with the one in use, from trials of all of them in turns. Statistics only:
 * autotune.h runs the trials.
 *
 * Invariants
 *   J1  A round is one trial of the arm in use (0) and one of each other arm that is still in the race. The order
 *       differs from round to round, so that changes of the machine affect all arms.
 *   J2  An arm is compared with arm 0 in pairs of the same round, as steps of arm 0 / steps of the arm (paired.h).
 *       Above 1 it is faster. The interval is that of one of n_planned comparisons with a joint level of 95 %
 *       (Bonferroni).
 *   J3  An arm leaves the race after RACE_DROP_ROUNDS rounds or later if it is slower at 95 %. This only saves time
 *       (racing: Maron and Moore, Advances in Neural Information Processing Systems 6, 1994), and does not favour other
 *       arms: only an arm that was in all rounds is called faster than arm 0.
 *   J4  Another arm replaces arm 0 only if its whole interval is above 1, and its ratio is at least RACE_LEAST_RATIO.
 *       If there are several such arms, the one with the greatest ratio does.
 */

enum { RACE_MAX_ARMS = 17, RACE_MIN_ROUNDS = 5, RACE_MAX_ROUNDS = 20, RACE_DROP_ROUNDS = 3 };
#define RACE_LEAST_RATIO 1.005 /* a smaller gain does not justify a change of the default */

struct race_verdict { /* of an arm against arm 0, J2 */
    double ratio, ratio_low, ratio_high, p;
    /* ratio: NaN without a round; interval: infinitely wide with fewer than two */
};

struct race { /* no pointers: can be copied to another rank byte by byte */
    int n_arms;
    int n_rounds_wanted, n_rounds; /* done */
    int n_planned;                 /* J2 */
    bool is_out[RACE_MAX_ARMS];
    int n_out;
    int out_after[RACE_MAX_ARMS]; /* number of rounds, for arms that are out */
    double step_s[RACE_MAX_ARMS][RACE_MAX_ROUNDS];
    struct race_verdict verdict[RACE_MAX_ARMS]; /* [0]: not used */
};

/* Start with all arms in the race. None of these functions can fail. */
void race_init(struct race *r, int n_arms, int n_rounds, int n_planned);
/* The arm of turn 0 .. n_arms - 1 in the current round (J1), in the race or not. */
int race_arm_of_turn(const struct race *r, int turn);
/* Remove an arm that cannot be tried from all further rounds. May be called repeatedly. */
void race_leave(struct race *r, int arm);
/* End the round; every arm in the race has a step_s of it. */
void race_end_round(struct race *r);
/* Is there another round? */
bool race_goes_on(const struct race *r);
/* The winner by J4; 0: the one in use stays. */
int race_winner(const struct race *r);
/* The verdict by J2, from the first n rounds of an arm. */
struct race_verdict race_judge(const struct race *r, int arm, int n_rounds);

enum { AUTOTUNE_MAX_OPTIONS = 8, AUTOTUNE_NAME_BYTES = 48, AUTOTUNE_VALUE_BYTES = 32 };

struct autotune_opts {
    double budget_s; /* 0: no trials */
    const char *file;
};
extern const struct opt autotune_opt_table[];

struct autotune_option { /* an option that is tried */
    char name[AUTOTUNE_NAME_BYTES];
    char reducer[AUTOTUNE_NAME_BYTES]; /* T1: reducer to which it belongs; "": to all */
    int n_values;
    char value[RACE_MAX_ARMS - 1][AUTOTUNE_VALUE_BYTES];
};

struct autotune_plan { /* no pointers: all ranks copy rank 0's */
    int n_options, n_values;
    struct autotune_option option[AUTOTUNE_MAX_OPTIONS];
    double budget_s;
};

struct autotune_setting {
    char value[AUTOTUNE_MAX_OPTIONS][AUTOTUNE_VALUE_BYTES]; /* of option i of the plan; "": not set */
};

struct autotune_trial {
    int option; /* of the plan; -1: all together, T3 */
    struct autotune_setting setting;
    int round; /* from 1 */
    bool is_in_use;
    uint64_t n_steps; /* number of measured steps */
    double step_s, left_s;
    struct race_verdict so_far; /* after this round, against the setting in use */
    const char
        *outcome; /* "in_use", "slower", "not_shown", "faster", "chosen", "impossible"; NULL: the search was stopped */
};

struct autotune { /* zeroed, then autotune_run(); autotune_free() */
    struct autotune_plan plan;
    struct autotune_setting chosen;
    bool has_changes;        /* chosen differs from the defaults */
    struct race_verdict all; /* T3; ratio NaN: there was nothing to compare */
    int n_pairs;             /* of T3 */
    int n_untried;           /* T6 */
    bool is_stopped;         /* by a signal: the defaults stay, and no further step can begin */
    uint64_t n_begun;        /* steps of all trials: train_job.n_begun_before of the next run in this world */
    double spent_s;
    struct autotune_trial *trial; /* rank 0: [n_trials]; owned */
    size_t n_trials;
};

/* --- autotune_values.c: the candidates --- */

/* Plan for a prepared job; group: as it was parsed. RC_INVAL: it cannot be tuned, or every option is given. */
enum rc autotune_plan(struct autotune_plan *out, const struct autotune_opts *opts, const struct train_job *job,
                      const struct opt_group *group, int n_groups) MUST_CHECK;
/* Add to *opts, the job's world options, what any of its trials would request, if trials can run without it, too. */
void autotune_ask_world(struct world_opts *opts, const struct autotune_plan *plan, const struct train_job *job);
/* May autotune set this option? */
bool autotune_sets(const char *option);
/* *out := base with these settings; borrows from base. Errors: as train_vary(). */
enum rc autotune_job(struct train_job *out, const struct train_job *base, const struct autotune_plan *plan,
                     const struct autotune_setting *setting) MUST_CHECK;
/* Prints "reducer=tree bucket-bytes=65536", or "the defaults". */
void autotune_setting_text(char *out, size_t n_bytes, const struct autotune_plan *plan,
                           const struct autotune_setting *setting);

/* --- autotune.c: the search --- */

/* Search. Collective over w, a world of base->n_ranks ranks. log: lines of rank 0; NULL: none. Errors: as train_rank().
 */
enum rc autotune_run(struct autotune *a, struct world *w, const struct autotune_plan *plan,
                     const struct train_job *base, FILE *log) MUST_CHECK;
void autotune_free(struct autotune *a); /* accepts a zeroed one */

/* --- autotune_records.c: records and files of the result --- */

/* Write a record of each trial, and one of the chosen setting. */
enum rc autotune_write(struct report *to, const struct autotune *a) MUST_CHECK;
/* Write the settings to a file, with the facts for which they hold. job: before they were applied. */
enum rc autotune_save(const char *path, const struct autotune *a, const struct train_job *job) MUST_CHECK;

/* --- use of saved settings --- */

enum { AUTOTUNE_MAX_FACTS = 20, AUTOTUNE_FACT_BYTES = 160 };

struct autotune_fact { /* a fact for which settings hold */
    const char *name;
    bool must_agree; /* T7 */
    char value[AUTOTUNE_FACT_BYTES];
};
/* Facts of a job on this machine; returns their number. */
int autotune_facts(struct autotune_fact out[AUTOTUNE_MAX_FACTS], const struct train_job *job);

struct autotune_file;
/* RC_INVAL: path cannot be read, or is not such a file. */
enum rc autotune_file_open(struct autotune_file **out, const char *path) MUST_CHECK;
/* Set the options in group, which borrows from the file. RC_INVAL: an option was given, or cannot be set. */
enum rc autotune_file_apply(const struct autotune_file *f, struct opt_group *group, int n_groups) MUST_CHECK;
/* Check T7. RC_INVAL names the difference, with both values; warnings go to `to` (NULL: none). */
enum rc autotune_file_check(const struct autotune_file *f, const struct train_job *job, FILE *to) MUST_CHECK;
void autotune_file_close(struct autotune_file **f); /* NULL-safe, nulls */

#endif
