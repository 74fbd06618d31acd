/* SPDX-License-Identifier: Apache-2.0 */
/* comm_pace.h - which sizes are measured, how often, and for how long: of comm_bench.h and ps_bench.h, which know what
 * a repeat is. */
#ifndef HARNESS_BENCH_COMM_PACE_H
#define HARNESS_BENCH_COMM_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/measure/median.h"

struct world;

enum { COMM_MOST_REPEATS = 1000 };

struct comm_plan { /* the same on all ranks, but for progress; borrowed */
    const size_t *n_bytes;
    int n_sizes;
    int least_repeats, most_repeats, n_warmup; /* of each size and series; least_repeats <= most_repeats */
    double budget_s;                           /* for all; every size that is begun has least_repeats */
    /* Rank 0; NULL: nobody is told. done_ratio: of the work, 0 to 1. */
    void (*progress)(void *arg, double done_ratio, const char *what);
    void *arg;
};

struct comm_end { /* of rank 0 */
    int stop_signal;
    char why[128]; /* sizes are left out; "": none is */
};

struct comm_decision { /* of rank 0 */
    bool size_goes_on, all_goes_on;
};

struct comm_pace {        /* of a rank; its owner sets what is above the line */
    const char *what;     /* is measured, as progress says it */
    struct world *world;  /* whose clock it is */
    struct world *ranks;  /* those that measure; NULL: this one does not */
    double repeat_s;      /* that a repeat of short calls takes, about */
    int n_series;         /* that are measured in turns */
    double *took_s;       /* rank 0: [n_series][COMM_MOST_REPEATS], of the size at hand; of one that is none, zeros */
    struct comm_end *end; /* rank 0; else NULL */
    /* --- */
    const struct comm_plan *plan;
    bool is_virtual;
    int least_repeats, most_repeats, n_warmup; /* of the plan; in virtual time SERIES_SIM_REPEATS, and none warms up */
    uint64_t started_ns;
    int size;           /* at hand */
    double size_ends_s; /* when its time is over: another size waits, if any does, until then */
    struct comm_decision next;
};

/* What follows from the plan. Cannot fail. */
void comm_pace_init(struct comm_pace *p, const struct comm_plan *plan, bool is_virtual);
/* measure(arg, size), size by size, until one decides that it does not go on. Errors: those of measure. */
enum rc comm_pace_run(struct comm_pace *p, enum rc (*measure)(void *arg, int size), void *arg) MUST_CHECK;

/* --- one size: collective over ranks --- */

void comm_pace_begin(struct comm_pace *p, int size);
/* *n_calls that take repeat_s together, n_most at most, by what a call took: rank 0 says. */
enum rc comm_pace_choose_calls(const struct comm_pace *p, int *n_calls, int n_most, double time_s) MUST_CHECK;
/* next, n repeats of the size at hand being done: rank 0 says. RC_NOMEM. */
enum rc comm_pace_decide(struct comm_pace *p, int n) MUST_CHECK;

/* --- rank 0 --- */

double *comm_pace_times(const struct comm_pace *p, int series);
/* Of its first n times. */
struct interval comm_pace_interval(const struct comm_pace *p, int series, int n);

#endif
