/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.c - MSER-5, walked from the end so that one pass over the series is enough.
 *
 * For a cut after d blocks the marginal standard error of the k = n_blocks - d blocks that remain is
 * (sum of squared deviations from their mean) / k^2. Welford's update gives that sum for every d,
 * block by block, and gives exactly 0 for equal values: a constant series is not cut.
 */
#include "harness/measure/steady.h"

enum { BLOCK = 5, MIN_VALUES = 20 };

static double block_mean(const double *x, size_t block)
{
    double sum = 0;

    for (size_t i = 0; i < BLOCK; i++)
        sum += x[block * BLOCK + i];
    return sum / BLOCK;
}

size_t steady_start(const double *x, size_t n)
{
    const size_t n_blocks = n / BLOCK;
    double mean = 0, sum_squares = 0, least = 0;
    size_t cut = n_blocks / 2;

    if (n < MIN_VALUES)
        return 0;
    for (size_t k = 1; k <= n_blocks; k++) { /* k blocks remain */
        double y = block_mean(x, n_blocks - k), delta = y - mean;

        mean += delta / (double)k;
        sum_squares += delta * (y - mean);
        double error = sum_squares / ((double)k * (double)k);
        if (n_blocks - k > n_blocks / 2)
            continue;
        if (n_blocks - k == n_blocks / 2 || error <= least) { /* of equals, the shortest warm-up */
            least = error;
            cut = n_blocks - k;
        }
    }
    return cut * BLOCK;
}
