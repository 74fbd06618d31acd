/* SPDX-License-Identifier: Apache-2.0 */
/* layer.c - first values of parameters. */
#include "models/layer.h"

#include <math.h>

#include "harness/base/rng.h"

void layer_init_normal(float *param, struct segment s, double variance, uint64_t seed)
{
    const double deviation = sqrt(variance);

    for (size_t i = s.at; i < s.at + s.n_elems; i++)
        param[i] = (float)(deviation * rng_normal(seed, RNG_INIT, i));
}

void layer_init_he(float *param, struct segment weight, size_t fan_in, uint64_t seed)
{
    layer_init_normal(param, weight, 2.0 / (double)fan_in, seed);
}

void layer_init_value(float *param, struct segment s, float value)
{
    for (size_t i = s.at; i < s.at + s.n_elems; i++)
        param[i] = value;
}

void layer_init_zero(float *param, struct segment s)
{
    layer_init_value(param, s, 0.0f);
}
