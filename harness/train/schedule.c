/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - learning-rate scaling and warm-up. */
#include "harness/train/schedule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"

enum { MOST_EPOCHS = 1000 }; /* of a warm-up */

#define LR_SCALINGS "none|linear|sqrt" /* in the order of the enum */

enum rc lr_scaling_parse(enum lr_scaling *out, double *warmup_epochs, const char *text)
{
    const char *colon = strchr(text, ':');
    char name[16];

    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    const int i = text_choice(LR_SCALINGS, name);
    *warmup_epochs = 0;
    if (i < 0 || (colon && i == LR_SCALING_NONE))
        return rc_raise(RC_INVAL, "--lr-scaling %s: must be none, linear, linear:E, sqrt or sqrt:E", text);
    if (colon && !(text_to_f64(colon + 1, warmup_epochs) && *warmup_epochs >= 0 && *warmup_epochs <= MOST_EPOCHS))
        return rc_raise(RC_INVAL, "--lr-scaling %s: the epochs of the warm-up must be from 0 to %d", text, MOST_EPOCHS);
    *out = (enum lr_scaling)i;
    return RC_OK;
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
