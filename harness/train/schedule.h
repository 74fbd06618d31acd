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

#include "harness/base/rc.h"

struct schedule {
    double lr;            /* of one worker, > 0 */
    double factor;        /* lr_scaling_factor() */
    double warmup_epochs; /* >= 0 */
    size_t n_train;       /* samples in an epoch */
};

enum lr_scaling { LR_SCALING_NONE, LR_SCALING_LINEAR, LR_SCALING_SQRT };

/* Of --lr-scaling: "none", "linear", or "linear:5", with 5 epochs of warm-up (else 0). RC_INVAL. */
enum rc lr_scaling_parse(enum lr_scaling *out, double *warmup_epochs, const char *text) MUST_CHECK;
double lr_scaling_factor(enum lr_scaling scaling, int n_workers);
/* Rate of a step before which the run had seen samples_count samples of all workers. Pure. */
float schedule_lr(const struct schedule *s, uint64_t samples_count);

#endif
