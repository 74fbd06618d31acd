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

void layer_init_value(float *param, struct segment s, float value)
{
    for (size_t i = s.at; i < s.at + s.n_elems; i++)
        param[i] = value;
}
