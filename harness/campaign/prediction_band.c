/* SPDX-License-Identifier: Apache-2.0 */
/* prediction_band.c - see prediction_band.h. */
#include "harness/campaign/prediction_band.h"

#include <math.h>

#include "harness/measure/interval.h"

static void set_ends(struct prediction_band *b, double below, double above)
{
    b->low = fmin(b->mean, fmax(b->mean - below, 0));
    b->high = fmax(b->mean, fmin(b->mean + above, 1));
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
    set_ends(&b, half, half);
    return b;
}

/* The root of half squared and the squares of moves[n]. */
static double half_with(double half, const double *moves, size_t n)
{
    double squares = isnan(half) ? 0 : half * half;

    for (size_t i = 0; i < n; i++)
        squares += moves[i] * moves[i];
    return sqrt(squares);
}

void prediction_band_widen_sides(struct prediction_band *b, const double *down, const double *up, size_t n)
{
    if (n > 0)
        set_ends(b, half_with(b->mean - b->low, down, n), half_with(b->high - b->mean, up, n));
}

void prediction_band_widen(struct prediction_band *b, const double *moves, size_t n)
{
    prediction_band_widen_sides(b, moves, moves, n);
}
