/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_update.c - the steps of optimisers whose rate each parameter's own gradients set: see compute.h. Compiled as
 * kernels.c is. */
#include <math.h>

#include "harness/compute/cpu/kernels.h"

extern const struct cpu_update_kernels CPU_UPDATE_KERNELS;

static void adagrad(float *restrict p, float *restrict sum, const float *restrict g, size_t n, const struct adagrad *s)
{
    const float lr = s->lr, epsilon = s->epsilon, decay = s->weight_decay, scale = s->grad_scale;

    for (size_t i = 0; i < n; i++) {
        const float d = scale * g[i] + decay * p[i], next = sum[i] + d * d;
        const float kept = next < UPDATE_SQUARES_MIN ? 0.0f : next;
        sum[i] = kept;
        p[i] -= lr * d / (sqrtf(kept) + epsilon);
    }
}

static void adam(float *restrict p, float *restrict m, float *restrict v, const float *restrict g, size_t n,
                 const struct adam *s)
{
    const float beta1 = s->beta1, rest1 = s->rest1, beta2 = s->beta2, rest2 = s->rest2;
    const float rate = s->rate, root = s->root, epsilon = s->epsilon, decay = s->weight_decay, scale = s->grad_scale;

    for (size_t i = 0; i < n; i++) {
        const float d = scale * g[i] + decay * p[i];
        const float next_m = beta1 * m[i] + rest1 * d, next_v = beta2 * v[i] + rest2 * (d * d);
        const float kept_m = fabsf(next_m) < SGD_VELOCITY_MIN ? 0.0f : next_m;
        const float kept_v = next_v < UPDATE_SQUARES_MIN ? 0.0f : next_v;
        m[i] = kept_m;
        v[i] = kept_v;
        p[i] -= rate * kept_m / (root * sqrtf(kept_v) + epsilon);
    }
}

const struct cpu_update_kernels CPU_UPDATE_KERNELS = {
    .adagrad = adagrad,
    .adam = adam,
};
