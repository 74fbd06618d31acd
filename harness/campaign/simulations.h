/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulations.h - simulations that need nothing of each other, side by side: each is a process, `gradmark train --world
 * sim`.
 *
 * Invariants
 *   V1  What a simulation finds depends on what was given alone: not on how many run beside it, nor in which order.
 *   V2  The one with the most weight begins first, so that the last to end is a short one.
 *   V3  One that fails is told at once, but where another one failed for the same reason before; the others continue.
 *       It says so itself, and its figures are NaN.
 *   V4  One that ended well is kept at once (kept_simulations.h). One that is known does not run.
 */
#ifndef HARNESS_CAMPAIGN_SIMULATIONS_H
#define HARNESS_CAMPAIGN_SIMULATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/cluster/link_loads.h"

struct progress;
struct kept_simulations;

enum { SIMULATION_WORDS = 28, SIMULATION_WORD_BYTES = 1200, SIMULATION_WHY_BYTES = 320 };

struct simulation {
    /* given: options of gradmark train, all but --out and --cost */
    char (*word)[SIMULATION_WORD_BYTES]; /* [SIMULATION_WORDS]; owned */
    int n_words;
    char name[128]; /* for people */
    int n_steps;    /* as its words say */
    /* Do workers go at their own rates? Then a step is what all of them do in the time of E3 of measure/steps.h, as the
     * slowest alone is the last to end; else all end together. */
    bool is_at_own_rates;
    double weight; /* real time it takes, about; any unit */
    bool is_known; /* found before: it does not run again */
    /* found */
    double step_s;                  /* virtual time of all steps, over their number; or is_at_own_rates */
    double step_mean_s;             /* of a worker, as launches of real worlds tell it */
    double compute_s, exposed_s;    /* of a worker's step */
    char hot_tensor[96];            /* of the hottest server; "": there are no servers, or they are alike */
    double imbalance_ratio;         /* of that server; NaN: there is none */
    int hot_server;                 /* its number; 0, too, where there is none */
    double staleness_mean_count;    /* NaN: there are no servers */
    struct link_load load[N_LOADS]; /* of a step: the busiest of each kind (world_cost) */
    double network_bytes;           /* of a step: that all network cards sent */
    bool has_failed;                /* then all of these are NaN or nothing (V3) */
    char why[SIMULATION_WHY_BYTES];
};

struct simulations_env {   /* borrowed */
    const char *self_path; /* this program */
    const char *folder;    /* for files that are there while a simulation runs */
    int n_jobs;            /* processes at a time, at least 1 */
    struct progress *progress;
    struct kept_simulations *kept; /* NULL: none is kept */
};

/* RC_NOMEM. */
enum rc simulation_open(struct simulation *out) MUST_CHECK;
void simulation_close(struct simulation *s); /* accepts a zeroed one */
/* Add an option "--%s=..." or any other word. RC_INVAL: it is too long. */
enum rc simulation_add(struct simulation *s, const char *fmt, ...) PRINTF_LIKE(2, 3) MUST_CHECK;

/* How many of them are not known yet. */
size_t simulations_n_left(const struct simulation *s, size_t n);
/* Run those that are not known (V3, V4). RC_PEER: a signal came (stop.h). */
enum rc simulations_run(struct simulation *s, size_t n, const struct simulations_env *env) MUST_CHECK;
/* RC_PEER: some failed; how many, and the first of them with why. */
enum rc simulations_check(const struct simulation *s, size_t n) MUST_CHECK;

#endif
