/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer.h - SGD with momentum and weight decay on a range of the parameters: all of them on a worker, a
 * slice on a parameter server.
 */
#ifndef HARNESS_COMPUTE_OPTIMIZER_H
#define HARNESS_COMPUTE_OPTIMIZER_H

#include <stddef.h>

#include "harness/compute/compute.h"

struct optimizer {
    struct compute *compute; /* borrowed */
    struct sgd rule;         /* lr and grad_scale are the caller's to set before each step */
    size_t n_params;
    float *velocity; /* float[n_params] in memory of compute; NULL without momentum, or hollow */
};

/* velocity_init: the host's float[n_params], copied; NULL: zeros. RC_NOMEM. */
enum rc optimizer_init(struct optimizer *out, struct compute *c, size_t n_params, float momentum, float weight_decay,
                       const float *velocity_init) MUST_CHECK;
/* param[n_params] := after one step with grad[n_params] (read only). Synced: its errors are compute_sync's. */
enum rc optimizer_step(struct optimizer *o, float *param, const float *grad) MUST_CHECK;
/* The same of parameters `first` to first + n_elems - 1 alone, which param[n_elems] and grad[n_elems] are. */
enum rc optimizer_step_range(struct optimizer *o, size_t first, size_t n_elems, float *param,
                             const float *grad) MUST_CHECK;
/* Copy the state to the host's out float[n_params] (NULL: nothing); zeros without momentum. */
enum rc optimizer_velocity(const struct optimizer *o, float *out) MUST_CHECK;
void optimizer_fini(struct optimizer *o); /* accepts a zeroed one */

#endif
