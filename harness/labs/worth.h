/* SPDX-License-Identifier: Apache-2.0 */
/* worth.h - is a training worth several machines? From times to a target, including start-up. Pure. */
#ifndef HARNESS_LABS_WORTH_H
#define HARNESS_LABS_WORTH_H

#include <stdbool.h>
#include <stddef.h>

struct way_to_target {
    const char *name; /* borrowed */
    int n_workers;
    double start_s;      /* until the first step: mean of the measurements */
    double to_target_s;  /* from the first step to the target; NaN: not reached */
    double start_half_s; /* half width of the interval of that mean; 0: it is exact */
};

enum worth_reason {
    WORTH_NEVER,       /* no group of several workers reaches the target */
    WORTH_NOT_SOONER,  /* several are not at least 5 % sooner than one alone */
    WORTH_ANOTHER_WAY, /* another way on one machine is as soon */
    WORTH_UNSURE,      /* the intervals of start-up do not decide which is sooner, `against` or several */
    WORTH_DEAR,        /* sooner, at less than half the efficiency */
    WORTH_WORTH_IT,
};

struct worth {
    enum worth_reason reason;
    const struct way_to_target *several; /* the soonest of several workers; NULL: none reaches the target */
    const struct way_to_target *alone;   /* the soonest way on one machine, the first included; NULL: none */
    double gain_ratio;                   /* time of one worker / that of several; NaN without several */
    double efficiency_ratio;             /* gain_ratio / workers */
    const struct way_to_target *against; /* WORTH_UNSURE: one alone, or another way; else NULL */
    double pays_from_s; /* time to target of one alone above which several are sooner, including their start;
                           infinite: their steps gain nothing */
    double pays_from_least_s, pays_from_most_s; /* the same at the ends of the intervals of both starts */
};

/* workers[n_workers]: first one worker, then several; another[n_another]: other ways on one machine. The verdict
 * borrows from both. Cannot fail. */
struct worth worth_of(const struct way_to_target *workers, size_t n_workers, const struct way_to_target *another,
                      size_t n_another);
/* The verdict in one sentence. */
void worth_print(char *out, size_t n_bytes, const struct worth *v);

#endif
