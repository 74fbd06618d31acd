/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.c - see outcome.h. */
#include "harness/labs/outcome.h"

#include <math.h>
#include <stdio.h>

#define WELL_ABOVE 1.25

struct outcome outcome_of(const struct training_record *r, double n_samples)
{
    const double end_count = r->point[r->n_points - 1].samples_count;
    struct outcome o = { .first_loss = r->point[0].loss, .highest_loss = r->point[0].loss, .samples_count = end_count };
    double sum = 0, n = 0;

    for (size_t i = 0; i < r->n_points; i++) {
        const struct loss_point *p = &r->point[i];
        o.highest_loss = fmax(o.highest_loss, p->loss); /* the number, where the other is none */
        if (p->samples_count > end_count - n_samples) {
            sum += p->loss;
            n++;
        }
    }
    o.last_loss = sum / n;
    if (!isfinite(o.last_loss) || o.last_loss > o.first_loss)
        o.kind = OUTCOME_DIVERGED;
    else
        o.kind = isnan(r->seconds_to_target_s) ? OUTCOME_NOT_REACHED : OUTCOME_REACHED;
    return o;
}

void outcome_print(char *out, size_t n_bytes, const struct outcome *o)
{
    char rose[48] = "";

    if (o->highest_loss > WELL_ABOVE * o->first_loss)
        snprintf(rose, sizeof rose, "rose to %.2g on the way", o->highest_loss);
    switch (o->kind) {
    case OUTCOME_REACHED:
        snprintf(out, n_bytes, "%s", rose);
        break;
    case OUTCOME_NOT_REACHED:
        snprintf(out, n_bytes, "not in %.0f samples%s%s", o->samples_count, rose[0] ? ", " : "", rose);
        break;
    case OUTCOME_DIVERGED:
        snprintf(out, n_bytes, "diverged: ends at %.2g, from %.2g", o->last_loss, o->first_loss);
        break;
    }
}
