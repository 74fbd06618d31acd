/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h - the learning rate of every step.
 *
 * The rate is lr times the factor of --lr-scaling: none 1, linear W, sqrt sqrt(W), for W workers. Over
 * the first warmup_epochs it rises in a straight line from lr to the scaled rate.
 * Source: Goyal et al., "Accurate, Large Minibatch SGD", 2017 (linear, warm-up); Krizhevsky, "One weird
 * trick", 2014 (sqrt).
 */
#ifndef HARNESS_TRAIN_SCHEDULE_H
#define HARNESS_TRAIN_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/module.h"

struct schedule {
    double lr;            /* of one worker, > 0 */
    double factor;        /* schedule_factor() */
    double warmup_epochs; /* >= 0 */
    size_t n_train;       /* samples in an epoch */
};

/* The scalings: option --lr-scaling. */
extern const struct module_kind scaling_kind;
enum scaling_caps { SCALING_CHANGES_RATE = 1u << 0 }; /* where there is more than one worker */
/* scaling: one of scaling_kind. */
double schedule_factor(const struct module *scaling, int n_workers);
/* Rate of a step before which the run had seen samples_count samples of all workers. Pure. */
float schedule_lr(const struct schedule *s, uint64_t samples_count);

#endif
