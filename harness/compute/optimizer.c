/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - the state of SGD beside the parameters. */
#include "harness/compute/optimizer.h"

#include <string.h>

enum rc optimizer_init(struct optimizer *out, struct compute *c, size_t n_params, float momentum, float weight_decay,
                       const float *velocity_init)
{
    struct optimizer o = { .compute = c, .n_params = n_params };
    void *velocity = NULL;
    enum rc rc = RC_OK;

    o.rule = (struct sgd){ .momentum = momentum, .weight_decay = weight_decay, .grad_scale = 1.0f };
    if (momentum != 0.0f && c->ops->touches_memory && n_params > 0) {
        TRY(compute_memory_open(c, &velocity, n_params * sizeof(float), "momentum"));
        o.velocity = velocity;
        if (velocity_init)
            compute_put(c, o.velocity, velocity_init, n_params * sizeof(float));
    }
    *out = o;
out:
    return rc;
}

enum rc optimizer_step(struct optimizer *o, float *param, const float *grad)
{
    return optimizer_step_range(o, 0, o->n_params, param, grad);
}

enum rc optimizer_step_range(struct optimizer *o, size_t first, size_t n_elems, float *param, const float *grad)
{
    compute_sgd_step(o->compute, param, o->velocity ? o->velocity + first : NULL, grad, n_elems, &o->rule);
    return compute_sync(o->compute);
}

enum rc optimizer_velocity(const struct optimizer *o, float *out)
{
    if (out && o->velocity)
        return compute_fetch(o->compute, out, o->velocity, o->n_params * sizeof(float));
    if (out)
        memset(out, 0, o->n_params * sizeof(float));
    return RC_OK;
}

void optimizer_fini(struct optimizer *o)
{
    void *velocity = o->velocity;

    if (o->compute)
        compute_memory_close(o->compute, &velocity);
    *o = (struct optimizer){ 0 };
}
