/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped_mode.h - allreduce, until it ends at one call of sum() as if a rank had been lost: some ranks have got
 * the sum of that call, the others an error in its place, and all an error at their next one. Test-only.
 */
#ifndef HARNESS_TRAIN_SUITE_STOPPED_MODE_H
#define HARNESS_TRAIN_SUITE_STOPPED_MODE_H

#include "harness/exchange/sync_mode.h"

enum stopped_bug {
    STOPPED_RIGHT,
    STOPPED_RUNS_AHEAD /* ranks that have got the last sum go on, by themselves, to the end */
};
enum { STOPPED_N_BUGS = 1 };

struct stopped_plan {    /* collective_opts of that mode */
    uint64_t n_calls;    /* which all ranks get the sum of */
    unsigned late_ranks; /* bit r: rank r gets that of the call behind them, too */
    enum stopped_bug bug;
};

extern const struct sync_mode sync_stopped;

#endif
