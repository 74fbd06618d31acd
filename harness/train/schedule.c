/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - learning-rate scaling and warm-up. */
#include "harness/train/schedule.h"

#include <assert.h>
#include <math.h>
#include <string.h>

double schedule_factor(const char *lr_scaling, int n_workers)
{
    if (strcmp(lr_scaling, "linear") == 0)
        return n_workers;
    if (strcmp(lr_scaling, "sqrt") == 0)
        return sqrt(n_workers);
    assert(strcmp(lr_scaling, "none") == 0);
    return 1.0;
}

float schedule_lr(const struct schedule *s, uint64_t samples_count)
{
    const double epochs = (double)samples_count / (double)s->n_train;

    if (epochs >= s->warmup_epochs)
        return (float)(s->lr * s->factor);
    return (float)(s->lr * (1.0 + (s->factor - 1.0) * epochs / s->warmup_epochs));
}
