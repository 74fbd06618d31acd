/* SPDX-License-Identifier: Apache-2.0 */
/* crossover.c - see crossover.h. */
#include "harness/campaign/crossover.h"

#include <math.h>

static const double EQUAL = 1e-9;

struct crossovers crossovers_find(const int *n_gpus, const double *first, const double *second, size_t n)
{
    struct crossovers c = { .are_equal = true, .first_leads = false, .n = 0 };
    double before = 0, before_at = 0; /* the last point that is not equal: logarithms of ratio and of GPUs */
    bool has_before = false;

    for (size_t i = 0; i < n; i++) {
        const double lead = log(first[i] / second[i]), at = log(n_gpus[i]);
        if (!(fabs(lead) > EQUAL))
            continue;
        if (!has_before)
            c.first_leads = lead > 0;
        else if (before * lead < 0) {
            if (c.n < CROSSOVER_MOST)
                c.gpus[c.n] = exp(before_at + (at - before_at) * before / (before - lead));
            c.n++;
        }
        has_before = true;
        c.are_equal = false;
        before = lead;
        before_at = at;
    }
    return c;
}
