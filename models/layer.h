/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.h - shared by workloads: views into the flat vectors, calls of ready(), initial values.
 *
 * Every array may be NULL on a hollow compute (models.M3), so views are taken with layer_at().
 */
#ifndef MODELS_LAYER_H
#define MODELS_LAYER_H

#include <stddef.h>

#include "models/workload.h"

/* x + i, or NULL without memory. */
static inline float *layer_at(float *x, size_t i)
{
    return x != NULL ? x + i : NULL;
}

static inline const float *layer_at_const(const float *x, size_t i)
{
    return x != NULL ? x + i : NULL;
}

/* Append n_elems to a parameter vector that has *n_params so far; returns their segment. */
static inline struct segment layer_take(size_t *n_params, size_t n_elems)
{
    const struct segment s = { .offset_elems = *n_params, .n_elems = n_elems };

    *n_params += n_elems;
    return s;
}

/* The gradient of s is final (models.M2): call ready, if there is one. */
static inline enum rc layer_ready(grad_ready_fn *ready, void *arg, struct segment s, const float *grad)
{
    return ready != NULL ? ready(arg, s, layer_at_const(grad, s.offset_elems)) : RC_OK;
}

/* The parameters of s are about to be read (models.M7): wait for them, if the training awaits parameters. s may be
 * empty. */
static inline enum rc layer_await(const struct training *t, struct segment s)
{
    return t->await != NULL && s.n_elems > 0 ? t->await(t->await_arg, s) : RC_OK;
}

/* s: independent, mean 0, bell-shaped (within 3.5 deviations). The numbers depend only on the seed and on the elements'
 * positions among all parameters (models.M1); n_before of these are before param. */
void layer_init_bell(float *param, struct segment s, size_t n_before, double variance, uint64_t seed);
/* s = value. */
void layer_init_value(float *param, struct segment s, float value);

#endif
