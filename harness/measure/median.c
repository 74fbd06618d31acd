/* SPDX-License-Identifier: Apache-2.0 */
/* median.c - see median.h. */
#include "harness/measure/median.h"

#include <math.h>

#include "harness/measure/sorted.h"

#define TAIL 0.025

/* The most k >= 1 with P(fewer than k of n on one side) <= TAIL, of a binomial of probability 1/2; 0: none. */
static size_t rank_of_low(size_t n)
{
    double one = exp2(-(double)n), below = one; /* P(i of n), P(at most i) */
    size_t k = 0;

    while (below <= TAIL) {
        one *= (double)(n - k) / (double)(k + 1);
        below += one;
        k++;
    }
    return k;
}

struct interval median_interval(double *x, size_t n)
{
    struct interval i = { NAN, NAN, NAN, (double)n };

    if (n == 0)
        return i;
    sorted_make(x, n);
    i.mean = sorted_median(x, n);
    const size_t k = rank_of_low(n);
    if (k > 0) {
        i.low = x[k - 1];
        i.high = x[n - k];
    }
    return i;
}
