/* SPDX-License-Identifier: Apache-2.0 */
/* prediction_band.c - see prediction_band.h. */
#include "harness/campaign/prediction_band.h"

#include <math.h>

#include "harness/measure/interval.h"

static void set_ends(struct prediction_band *b, double half)
{
    b->low = fmin(b->mean, fmax(b->mean - half, 0));
    b->high = fmax(b->mean, fmin(b->mean + half, 1));
}

struct prediction_band prediction_band_of(const double *x, size_t n)
{
    struct prediction_band b = { .mean = 0, .low = NAN, .high = NAN };
    double squares = 0;

    for (size_t i = 0; i < n; i++)
        b.mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - b.mean) * (x[i] - b.mean);
    if (n < PREDICTION_BAND_LEAST)
        return b;
    const double half = student_t_975((double)(n - 1)) * sqrt(squares / (double)(n - 1) * (1 + 1 / (double)n));
    set_ends(&b, half);
    return b;
}

void prediction_band_widen(struct prediction_band *b, const double *moves, size_t n)
{
    const double half = isnan(b->high) ? 0 : b->high - b->mean;
    double squares = half * half;

    for (size_t i = 0; i < n; i++)
        squares += moves[i] * moves[i];
    if (n > 0)
        set_ends(b, sqrt(squares));
}
