/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trials.h - the quality of the acceptance test itself: faults drawn at random are injected into its runs, and its
 * findings are compared with them. Pure, except for printing.
 *
 * Invariants
 *   T1  Trials are a function of the seed, the fleet and the kinds only. Kinds take turns; the first trial, and every
 *       n_kinds + 1st, has no fault.
 *   T2  A fault counts as found only by its own name. A slow link, node or rank is found by a finding of that link,
 *       node or rank. (A slow rank also by a finding of its node, if that has no other rank.) A node that loses
 *       messages is found by a finding of that node about late round trips, a lost rank by its number.
 *   T3  A false alarm is a finding that no fault of the trial explains: of another node, rank or link.
 */
#ifndef HARNESS_ACCEPT_TRIALS_H
#define HARNESS_ACCEPT_TRIALS_H

#include <stdio.h>

#include "harness/accept/acceptance.h"
#include "harness/accept/inject.h"

struct self_test_terms {
    int n_trials, n_faults; /* simultaneous faults of a trial: 1 to n_faults, drawn */
    int n_nodes, n_ranks;
    const int *node_of_rank; /* [n_ranks]; borrowed */
    uint64_t seed;
    double ratio;      /* of the healthy speed, for slow parts */
    double loss_ratio; /* of messages, for a node that loses some */
    bool may_kill; /* ranks may be lost: false if they belong to a launched job, which continues with the next trial */
    bool may_flip; /* the integrity stage runs */
    uint64_t integrity_steps_count; /* its steps; a bit flips in one of them; 0: more than that needs */
    bool has_pairs, has_compute;    /* the stages run that can detect slow links and nodes, slow ranks */
};

struct trial {
    struct inject inject;
    uint64_t seed;
};

struct trial_result {
    int n_faults[FAULT_N_KINDS], n_found[FAULT_N_KINDS];
    int n_false;          /* accept.T3 */
    int n_subjects;       /* healthy nodes and ranks: those that could be blamed falsely */
    double found_after_s; /* until the end of the stage that found the last of the faults; NaN: not all were found */
    bool could_test;      /* the verdict was not "no data", and only injected faults lost ranks */
    char failed[ACCEPT_TEXT_BYTES];       /* why it has no result; "": it has one */
    char untested[2 * ACCEPT_TEXT_BYTES]; /* its first criterion without data, and why; "": none */
};

/* Plan trial[n_trials]. RC_INVAL: no kind of fault can be injected into the stages of the criteria. */
enum rc self_test_plan(struct trial *trial, const struct self_test_terms *terms) MUST_CHECK;
struct trial_result self_test_score(const struct inject *injected, const struct acceptance *a);
/* Score of a trial without a result: its faults were not found. */
struct trial_result self_test_failed(const struct inject *injected, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Print a table by kind of fault: injected, found, 95 % interval (Wilson 1927); false alarms; time to detect; trials
 * that failed, and why. RC_NOMEM. */
enum rc self_test_print(const struct trial_result *result, int n, FILE *to) MUST_CHECK;
/* Write every trial as a record, and the totals as one of kind "self_test". RC_IO, RC_NOMEM. */
enum rc self_test_write(const struct trial *trial, const struct trial_result *result, int n,
                        const char *path) MUST_CHECK;
/* The ends of the 95 % interval of the ratio k / n. */
void self_test_interval(int k, int n, double *low, double *high);

#endif
