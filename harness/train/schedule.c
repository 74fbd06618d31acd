/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - learning-rate scaling and warm-up. */
#include "harness/train/schedule.h"

#include <math.h>

#include "harness/base/text.h"

enum lr_scaling lr_scaling_of(const char *name)
{
    return (enum lr_scaling)text_choice(LR_SCALINGS, name);
}

double lr_scaling_factor(enum lr_scaling scaling, int n_workers)
{
    switch (scaling) {
    case LR_SCALING_NONE:
        break;
    case LR_SCALING_LINEAR:
        return n_workers;
    case LR_SCALING_SQRT:
        return sqrt(n_workers);
    }
    return 1;
}

float schedule_lr(const struct schedule *s, uint64_t samples_count)
{
    const double epochs = (double)samples_count / (double)s->n_train;

    if (epochs >= s->warmup_epochs)
        return (float)(s->lr * s->factor);
    return (float)(s->lr * (1.0 + (s->factor - 1.0) * epochs / s->warmup_epochs));
}
