/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - learning-rate scaling and warm-up. */
#include "harness/train/schedule.h"

#include <math.h>

struct scaling {
    struct module module;
    double (*factor)(double n_workers);
};

static double factor_none(double n_workers)
{
    (void)n_workers;
    return 1;
}

static double factor_linear(double n_workers)
{
    return n_workers;
}

static const struct scaling scaling_none = { .module.name = "none", .factor = factor_none },
                            scaling_linear = { .module = { .name = "linear", .caps = SCALING_CHANGES_RATE },
                                               .factor = factor_linear },
                            scaling_sqrt = { .module = { .name = "sqrt", .caps = SCALING_CHANGES_RATE },
                                             .factor = sqrt };

static const struct module *scaling_at(int i)
{
    static const struct module *const all[] = { &scaling_none.module, &scaling_linear.module, &scaling_sqrt.module,
                                                NULL };

    return all[i];
}

const struct module_kind scaling_kind = { "lr-scaling", scaling_at, NULL, "none", NULL };

double schedule_factor(const struct module *scaling, int n_workers)
{
    return ((const struct scaling *)scaling)->factor(n_workers);
}

float schedule_lr(const struct schedule *s, uint64_t samples_count)
{
    const double epochs = (double)samples_count / (double)s->n_train;

    if (epochs >= s->warmup_epochs)
        return (float)(s->lr * s->factor);
    return (float)(s->lr * (1.0 + (s->factor - 1.0) * epochs / s->warmup_epochs));
}
