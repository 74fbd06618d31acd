/* SPDX-License-Identifier: Apache-2.0 */
/* stage_kit.h - run stages on a world of a test's own making, and say of the evidence what the test wants. Test-only.
 */
#ifndef HARNESS_ACCEPT_SUITE_STAGE_KIT_H
#define HARNESS_ACCEPT_SUITE_STAGE_KIT_H

#include "harness/accept/stages.h"

enum { KIT_MAX_STAGES = 4 };

struct kit_run {
    const char *world, *transport, *compute;
    const char *cluster; /* settings of the simulated one, over the built-in default */
    const char *inject;
    const char *wait; /* of ranks that train; NULL: as they choose */
    int n_ranks;
    bool node_per_rank;
    int timeout_ms;           /* of messages, in real time; 0: 20 s */
    uint64_t stall_ns;        /* a rank that is silent for so long is lost; 0: nobody watches */
    struct criteria criteria; /* zeros are not valid: kit_criteria() */
    stage_fn *stage[KIT_MAX_STAGES];
    /* What blame_open_pairs() and outliers_open() say. NULL: nothing is open. */
    bool (*is_pair_open)(int n_repeats, int from, int to);
    bool (*is_metric_open)(int n_repeats);

    int signal;    /* that this process gets when progress is shown; 0: none */
    int signal_at; /* how often it has been shown before */

    /* out */
    struct acceptance accepted; /* of rank 0; acceptance_close() */
    struct fleet fleet;         /* likewise; fleet_close() */
    char ended[ACCEPT_TEXT_BYTES];
    uint64_t took_ns; /* on rank 0's clock */
    double progress;  /* the last */
    _Atomic int n_progress;
};

/* Three repeats at least, five at most, short. */
struct criteria kit_criteria(void);
/* One run; in sim of a process's life. The error of the run. */
enum rc kit_run_stages(struct kit_run *run) MUST_CHECK;
/* The same; the test fails where the run does. */
void kit_must_run(struct kit_run *run);
void kit_close(struct kit_run *run);
/* The value of a metric. */
double kit_metric(const struct kit_run *run, int metric, int rank, int repeat);

#endif
