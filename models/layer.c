/* SPDX-License-Identifier: Apache-2.0 */
/* layer.c - initial values of parameters. */
#include "models/layer.h"

#include <math.h>

#include "harness/base/rng.h"

/* The sum of four uniform numbers of 16 bits, centred, variance 1: near enough to normal, and a tenth of the
 * cost, which 138 million weights feel. */
static float bell_of(uint64_t bits)
{
    const double width_squared = 65536.0 * 65536.0 - 1.0; /* a number's variance is this / 12 */
    const int sum = (int)(bits & 0xffff) + (int)(bits >> 16 & 0xffff) + (int)(bits >> 32 & 0xffff) + (int)(bits >> 48);

    return (float)(((double)sum - 4 * 32767.5) * sqrt(3.0 / width_squared));
}

void layer_init_bell(float *param, struct segment s, size_t n_before, double variance, uint64_t seed)
{
    const float deviation = (float)sqrt(variance);

    for (size_t i = s.offset_elems; i < s.offset_elems + s.n_elems; i++)
        param[i] = deviation * bell_of(rng_u64(seed, RNG_INIT, n_before + i));
}

void layer_init_value(float *param, struct segment s, float value)
{
    for (size_t i = s.offset_elems; i < s.offset_elems + s.n_elems; i++)
        param[i] = value;
}
