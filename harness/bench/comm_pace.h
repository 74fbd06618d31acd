/* SPDX-License-Identifier: Apache-2.0 */
/* comm_pace.h - which sizes are measured, how often, and for how long. For comm_bench.h and ps_bench.h, which define a
 * repeat. */
#ifndef HARNESS_BENCH_COMM_PACE_H
#define HARNESS_BENCH_COMM_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/measure/robust.h"

struct world;

enum { COMM_MOST_REPEATS = 1000 };

struct comm_plan { /* equal on all ranks, except progress; borrowed */
    const size_t *n_bytes;
    int n_sizes;
    int least_repeats, most_repeats, n_warmup; /* per size and series; least_repeats <= most_repeats */
    double budget_s;                           /* for all sizes; every size that is started gets least_repeats */
    /* On rank 0; may be NULL. done_ratio: share of the work, 0 to 1. */
    void (*progress)(void *arg, double done_ratio, const char *what);
    void *arg;
};

struct comm_end { /* of rank 0 */
    int stop_signal;
    char why[128]; /* why sizes were skipped; "": none was */
};

struct comm_decision { /* of rank 0 */
    bool size_goes_on, all_goes_on;
};

struct comm_pace {        /* of a rank; its owner sets the members above the line */
    const char *what;     /* the measured object, for progress */
    struct world *world;  /* the clock's world */
    struct world *ranks;  /* the ranks that measure; NULL: this rank does not */
    double repeat_s;      /* approximate duration of a repeat of short calls */
    int n_series;         /* measured in turns */
    double *took_s;       /* rank 0: [n_series][COMM_MOST_REPEATS], for the current size; zeros if not measured */
    struct comm_end *end; /* rank 0; else NULL */
    /* --- */
    const struct comm_plan *plan;
    bool is_virtual;
    int least_repeats, most_repeats, n_warmup; /* of the plan; in virtual time SERIES_SIM_REPEATS, without warm-up */
    uint64_t started_ns;
    int size;           /* current one */
    double size_ends_s; /* end of its share of the time: no further repeats, if least_repeats are done */
    struct comm_decision next;
};

/* Set the members that follow from the plan. Cannot fail. */
void comm_pace_init(struct comm_pace *p, const struct comm_plan *plan, bool is_virtual);
/* Call measure(arg, size) size by size, until a decision stops it. Errors: those of measure. */
enum rc comm_pace_run(struct comm_pace *p, enum rc (*measure)(void *arg, int size), void *arg) MUST_CHECK;

/* --- one size: collective over ranks --- */

void comm_pace_begin(struct comm_pace *p, int size);
/* *n_calls: calls that together take repeat_s, at most n_most, if one takes time_s. Rank 0 decides. */
enum rc comm_pace_choose_calls(const struct comm_pace *p, int *n_calls, int n_most, double time_s) MUST_CHECK;
/* Set next after n repeats of the current size. Rank 0 decides. RC_NOMEM. */
enum rc comm_pace_decide(struct comm_pace *p, int n) MUST_CHECK;

/* --- rank 0 --- */

double *comm_pace_times(const struct comm_pace *p, int series);
/* Interval of its first n times. */
struct interval comm_pace_interval(const struct comm_pace *p, int series, int n);

#endif
