/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lr_staleness.h - the rate at which a server applies a late gradient.
 *
 *   none      the rate of the worker's step
 *   inverse   that rate, over max(1, staleness) (Zhang, Gupta, Lian, Liu: Staleness-aware Async-SGD, IJCAI 2016)
 */
#ifndef HARNESS_EXCHANGE_LR_STALENESS_H
#define HARNESS_EXCHANGE_LR_STALENESS_H

#include <stdint.h>

#include "harness/base/text.h"

/* Option --lr-staleness: its choices, in the order of the enum. */
#define LR_STALENESSES "none|inverse"
enum lr_staleness { LR_STALENESS_NONE, LR_STALENESS_INVERSE };

/* name: one of LR_STALENESSES. */
static inline enum lr_staleness lr_staleness_of(const char *name)
{
    return (enum lr_staleness)text_choice(LR_STALENESSES, name);
}

static inline const char *lr_staleness_text(enum lr_staleness rule)
{
    return rule == LR_STALENESS_INVERSE ? "inverse" : "none";
}

/* The rate for a gradient after `staleness` updates by other workers. Up to one update late it is lr to the bit. */
static inline float lr_of_stale(enum lr_staleness rule, float lr, uint64_t staleness)
{
    return rule == LR_STALENESS_INVERSE && staleness > 1 ? lr / (float)staleness : lr;
}

#endif
