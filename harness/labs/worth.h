/* SPDX-License-Identifier: Apache-2.0 */
/* worth.h - is a training worth several machines? From times to a target, start-up included. Pure. */
#ifndef HARNESS_LABS_WORTH_H
#define HARNESS_LABS_WORTH_H

#include <stdbool.h>
#include <stddef.h>

struct way_to_target {
    const char *name; /* borrowed */
    int n_workers;
    double start_s;      /* until the first step: the mean of what was measured */
    double to_target_s;  /* from there to the target; NaN: not reached */
    double start_half_s; /* half of the interval in which that mean is; 0: it is exact */
};

enum worth_reason {
    WORTH_NEVER,       /* no several workers reach the target */
    WORTH_NOT_SOONER,  /* than one alone, by 5 % at least */
    WORTH_ANOTHER_WAY, /* on one machine is as soon */
    WORTH_UNSURE,      /* the intervals of start-up do not tell which is sooner, `against` or several */
    WORTH_DEAR,        /* sooner, at less than half the efficiency */
    WORTH_WORTH_IT,
};

struct worth {
    enum worth_reason reason;
    const struct way_to_target *several; /* the soonest of several workers; NULL: none reaches the target */
    const struct way_to_target *alone;   /* the soonest way on one machine, the first included; NULL: none */
    double gain_ratio;                   /* time of one worker / that of several; NaN without several */
    double efficiency_ratio;             /* that / workers */
    const struct way_to_target *against; /* WORTH_UNSURE: one alone, or another way; else NULL */
    double pays_from_s; /* time to target alone from which on several are sooner in spite of their start;
                           infinite: their steps gain nothing */
    double pays_from_least_s, pays_from_most_s; /* that, at either end of the intervals of both starts */
};

/* workers[n_workers]: one worker, which comes first, and several; another[n_another]: other ways on one machine. The
 * verdict lends from both. Cannot fail. */
struct worth worth_of(const struct way_to_target *workers, size_t n_workers, const struct way_to_target *another,
                      size_t n_another);
/* Should one distribute? */
bool worth_distributes(const struct worth *v);
/* In a sentence. */
void worth_print(char *out, size_t n_bytes, const struct worth *v);

#endif
