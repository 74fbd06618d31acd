/* SPDX-License-Identifier: Apache-2.0 */
/* staging.c - a sync mode that wraps another: copies between device and host around its calls. */
#include "harness/exchange/staging.h"

#include <stdlib.h>

#include "harness/world/world.h"

struct staged {
    struct sync base;
    struct sync *inner;   /* the wrapped mode, on the host copies */
    struct compute *host; /* a cpu backend, which the wrapped mode computes with */
    float *param, *grad;  /* the host copies, float[n_params]; pinned if the compute can; NULL: not opened */
};

static struct staged *self(struct sync *s)
{
    return (struct staged *)s;
}

static size_t n_bytes(const struct sync *s)
{
    return s->env.n_params * sizeof(float);
}

static enum rc staged_begin(struct sync *s, uint64_t step, float lr)
{
    struct sync *inner = self(s)->inner;

    return inner->ops->begin(inner, step, lr);
}

/* Copy a segment of the gradient to the host as soon as it is final, then pass the copy to the wrapped mode.
 *
 *   grad  float[seg.n_elems], device memory
 */
static enum rc staged_grad_ready(struct sync *s, struct segment seg, const float *grad)
{
    struct sync *inner = self(s)->inner;
    float *copy = self(s)->grad + seg.offset_elems;

    compute_get(s->env.compute, copy, grad, seg.n_elems * sizeof(float));
    return inner->ops->grad_ready ? inner->ops->grad_ready(inner, seg, copy) : RC_OK;
}

static enum rc staged_finish(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    struct staged *t = self(s);
    enum rc rc;

    (void)grad; /* copied by staged_grad_ready() */
    TRY(t->inner->ops->finish(t->inner, t->param, t->grad, out));
    compute_put(s->env.compute, param, t->param, n_bytes(s));
out:
    return rc;
}

static enum rc staged_final(struct sync *s, float *param, float *velocity)
{
    struct staged *t = self(s);
    enum rc rc;

    TRY(t->inner->ops->final(t->inner, t->param, velocity));
    compute_put(s->env.compute, param, t->param, n_bytes(s));
out:
    return rc;
}

static enum rc staged_serve(struct sync *s)
{
    struct sync *inner = self(s)->inner;

    return inner->ops->serve(inner);
}

static struct wire_plan staged_wire_plan(const struct sync *s)
{
    const struct sync *inner = ((const struct staged *)s)->inner;

    return inner->ops->wire_plan(inner);
}

static void close_copies(struct staged *t)
{
    void *param = t->param, *grad = t->grad;

    compute_host_close(t->base.env.compute, &param);
    compute_host_close(t->base.env.compute, &grad);
    t->param = t->grad = NULL;
}

static enum rc open_copies(struct staged *t)
{
    struct compute *device = t->base.env.compute;
    void *memory = NULL;
    enum rc rc;

    TRY(compute_host_open(device, &memory, n_bytes(&t->base), "the host's copy of the parameters"));
    t->param = memory;
    TRY(compute_host_open(device, &memory, n_bytes(&t->base), "the host's copy of the gradients"));
    t->grad = memory;
    compute_get(device, t->param, t->base.env.param_init, n_bytes(&t->base));
out:
    return rc;
}

static void staged_close(struct sync **s)
{
    struct staged *t = self(*s);

    if (t->inner)
        t->inner->ops->close(&t->inner);
    compute_close(&t->host);
    close_copies(t);
    free(t);
    *s = NULL;
}

static const struct sync_mode staged = {
    .module.name = "staged",
    .begin = staged_begin,
    .grad_ready = staged_grad_ready,
    .finish = staged_finish,
    .final = staged_final,
    .serve = staged_serve,
    .wire_plan = staged_wire_plan,
    .close = staged_close,
};

bool staging_needed(const struct sync_mode *mode, const struct compute_backend *compute)
{
    return compute->touches_memory && !compute->host_memory && mode_exchanges(&mode->module);
}

static enum rc open_mode(struct sync **out, const struct sync_mode *mode, const struct sync_env *env)
{
    enum rc rc;

    TRY(mode->open(out, env));
    (*out)->ops = mode; /* mode->open() has set its own ops, which differ where a test wraps the mode */
out:
    return rc;
}

/* Open the wrapped mode with the host copies, and a cpu backend that works on them. */
static enum rc open_inner(struct staged *t, const struct sync_mode *mode)
{
    const struct sync_env *env = &t->base.env;
    struct sync_env inner = *env;
    struct compute_env compute = env->compute->env;
    enum rc rc;

    compute.precision = PRECISION_FP32;
    TRY(compute_open(&t->host, &compute_cpu, &compute));
    TRY(open_copies(t));
    inner.compute = t->host;
    inner.param_init = t->param;
    TRY(open_mode(&t->inner, mode, &inner));
out:
    return rc;
}

enum rc staging_open(struct sync **out, const struct sync_mode *mode, const struct sync_env *env)
{
    struct staged *t = NULL;
    struct sync *base;
    enum rc rc;

    if (!staging_needed(mode, env->compute->ops))
        return open_mode(out, mode, env);
    t = calloc(1, sizeof *t);
    if (!t)
        return rc_raise(RC_NOMEM, "mode %s: no memory", mode->module.name);
    base = &t->base;
    *base = (struct sync){ .ops = &staged, .env = *env };
    TRY(open_inner(t, mode));
    *out = base;
    base = NULL;
out:
    if (base)
        staged_close(&base);
    return rc;
}
