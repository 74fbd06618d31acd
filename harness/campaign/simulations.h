/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulations.h - runs independent simulations in parallel; each is a process, `gradmark train --world sim`.
 *
 * Invariants
 *   V1  The result of a simulation depends only on its input, not on the number of parallel simulations, nor on their
 *       order.
 *   V2  Simulations start stage by stage, and within a stage in the order of decreasing weight, so that the last one to
 *       end is short.
 *   V3  A failure is reported at once, unless another simulation failed for the same reason before; the rest continues.
 *       The simulation is marked as failed, and its figures are NaN.
 *       After a signal a simulation that ends without a result has not failed: it is not known, and nothing else.
 *   V4  A successful result is kept at once (kept_simulations.h). A known simulation does not run.
 */
#ifndef HARNESS_CAMPAIGN_SIMULATIONS_H
#define HARNESS_CAMPAIGN_SIMULATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/cluster/topology.h"

struct progress;
struct kept_simulations;

enum { SIMULATION_WORDS = 28, SIMULATION_WORD_BYTES = 1200, SIMULATION_WHY_BYTES = 320 };

struct simulation {
    /* Input: options of gradmark train, all but --out and --cost. */
    char (*word)[SIMULATION_WORD_BYTES]; /* [SIMULATION_WORDS]; owned */
    int n_words;
    char name[128]; /* for people */
    int n_steps;    /* as its words say */
    /* Do workers run at individual rates? Then a step is the work of all of them at the sum of their rates
     * (measure/steps.h, E3), since the slowest ends alone; if servers dropped some of it, in the time of E3. Its first
     * steps fill the queues of servers, so it is no shorter than what keeps the busiest link, or server, at work. Else
     * all end together. */
    bool is_at_own_rates;
    double weight; /* approximate real time; any unit */
    int stage;     /* those of an earlier stage start before all of a later one */
    bool is_known; /* its result is known: it does not run again */
    /* Results. */
    double step_s;                  /* virtual time of all steps, over their number; or see is_at_own_rates */
    double step_mean_s;             /* of a worker, as in records of real worlds */
    double compute_s, exposed_s;    /* of a worker's step */
    char hot_tensor[96];            /* of the busiest server; "": there are no servers, or they are alike */
    double imbalance_ratio;         /* of that server; NaN: no server */
    int hot_server;                 /* its number; also 0 without servers */
    double staleness_mean_count;    /* NaN: there are no servers */
    struct link_load load[N_LOADS]; /* per step: the busiest of each kind (world_cost) */
    double network_bytes;           /* per step: sent by all network cards */
    bool has_failed;                /* then all results are NaN or empty (V3) */
    char why[SIMULATION_WHY_BYTES];
};

struct simulations_env {   /* borrowed */
    const char *self_path; /* this program */
    const char *folder;    /* for temporary files of a simulation */
    int n_jobs;            /* processes at a time, at least 1 */
    struct progress *progress;
    struct kept_simulations *kept; /* NULL: results are not kept */
};

/* RC_NOMEM. */
enum rc simulation_open(struct simulation *out) MUST_CHECK;
void simulation_close(struct simulation *s); /* accepts a zeroed one */
/* Add an option "--%s=..." or any other word. RC_INVAL: it is too long. */
enum rc simulation_add(struct simulation *s, const char *fmt, ...) PRINTF_LIKE(2, 3) MUST_CHECK;

/* Number of simulations that are not known yet. */
size_t simulations_n_left(const struct simulation *s, size_t n);
/* Run the simulations that are not known (V3, V4). RC_PEER: a signal came (stop.h). */
enum rc simulations_run(struct simulation *s, size_t n, const struct simulations_env *env) MUST_CHECK;
/* RC_PEER: some failed; the message has their number, and the first of them with the reason. */
enum rc simulations_check(const struct simulation *s, size_t n) MUST_CHECK;

#endif
