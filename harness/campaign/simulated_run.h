/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulated_run.h - turns a training run (a model's profile, on GPUs of a cluster, by a mode) into a simulation
 * (simulations.h), and holds the set of simulations that a command needs.
 *
 * Invariants
 *   U1  Two runs with equal simulations share one simulation of a set.
 */
#ifndef HARNESS_CAMPAIGN_SIMULATED_RUN_H
#define HARNESS_CAMPAIGN_SIMULATED_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/campaign/prediction_inputs.h"
#include "harness/campaign/published_rows.h"
#include "harness/campaign/simulations.h"

struct simulated_run { /* borrowed */
    const struct used_profile *profile;
    const struct used_cluster *cluster;
    const char *cluster_set; /* "key=value,...": of cluster, as it was opened */
    const char *variation;   /* further settings, appended to it; "": none */
    enum row_mode mode;
    const char *reducer;                 /* of a collective mode; "": the default */
    const char *gradients;               /* as they are sent: "fp16"; NULL, "": fp32 */
    const char *placement, *consistency; /* of servers */
    const char *overlap;
    uint64_t bucket_bytes; /* of a collective; 0: all gradients at once */
    int n_gpus, n_servers, batch;
    uint64_t seed; /* 0: default of train */
    int stage;     /* as in simulations.h */
};

struct simulation_set { /* owned; zeroed: empty */
    struct simulation *simulation;
    size_t n;
};

/* The most servers that can share the model: one for each tensor if the placement cuts none, else INT_MAX. */
int simulated_most_servers(const struct used_profile *profile, const char *placement);
/* Name of its exchange: "ring", "allreduce" if no algorithm is given, "ps". */
const char *simulated_exchange(enum row_mode mode, const char *reducer);
/* "buckets of 32 MiB"; 0: "one bucket of all gradients". */
enum { SIMULATED_BUCKETS_BYTES = 48 };
void simulated_buckets_text(char out[SIMULATED_BUCKETS_BYTES], uint64_t n_bytes);
/* What goes to servers, and when. */
const char *simulated_servers_text(void);
/* RC_INVAL: the collective algorithm needs more GPUs on one host than the cluster has there. reducer: as in a run. */
enum rc simulated_check_hosts(const struct used_cluster *c, const char *reducer, int n_gpus) MUST_CHECK;
/* *out := the index of its simulation, which is added if there is no equal one (U1); it is of the earliest stage of
 * all runs that share it. RC_NOMEM. */
enum rc simulation_set_find(size_t *out, struct simulation_set *set, const struct simulated_run *run) MUST_CHECK;
void simulation_set_free(struct simulation_set *set); /* accepts a zeroed one */

#endif
