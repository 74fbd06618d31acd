/* SPDX-License-Identifier: Apache-2.0 */
/* sync_allreduce.c - one reduction of the whole gradient per step, then SGD on every worker. */
#include "allreduce/sync_allreduce.h"

#include <stdlib.h>

#include "allreduce/reducer.h"
#include "harness/compute/optimizer.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

struct allreduce {
    struct sync base;
    struct optimizer optimizer;
    struct transport *transport;
    struct reduction *reduction;
};

static struct allreduce *self(struct sync *s)
{
    return (struct allreduce *)s;
}

static void allreduce_close(struct sync **s)
{
    transport_close(&self(*s)->transport); /* first: what is posted may be in the reducer's memory */
    reducer_close(&self(*s)->reduction);
    optimizer_fini(&self(*s)->optimizer);
    free(*s);
    *s = NULL;
}

static enum rc allreduce_open(struct sync **out, const struct sync_env *env)
{
    struct allreduce *a = calloc(1, sizeof *a);
    struct sync *base = &a->base;
    enum rc rc;

    if (!a)
        return rc_raise(RC_NOMEM, "mode allreduce: no memory");
    a->base = (struct sync){ .ops = &sync_allreduce, .env = *env };
    TRY(optimizer_init(&a->optimizer, env->compute, env->n_params, env->momentum, env->weight_decay,
                       env->velocity_init));
    a->optimizer.rule.grad_scale = 1.0f / (float)env->n_workers;
    TRY(transport_open(&a->transport, env->transport, env->world));
    const struct reduce_env reduce = {
        .transport = a->transport, .compute = env->compute, .timeout_ms = env->timeout_ms, .opts = env->reducer_opts
    };
    TRY(reducer_open(&a->reduction, env->reducer, &reduce, env->n_params));
    *out = base;
    base = NULL;
out:
    if (base)
        allreduce_close(&base);
    return rc;
}

static enum rc allreduce_begin(struct sync *s, uint64_t step, float lr)
{
    (void)step;
    self(s)->optimizer.rule.lr = lr;
    return RC_OK;
}

static enum rc allreduce_finish(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    enum rc rc;

    *out = (struct step_cost){ 0 };
    TRY(reducer_run(self(s)->reduction, grad, s->env.n_params));
    const uint64_t reduced_ns = world_now_ns(s->env.world);
    TRY(optimizer_step(&self(s)->optimizer, param, grad));
    out->apply_ns = world_now_ns(s->env.world) - reduced_ns;
out:
    return rc;
}

static enum rc allreduce_final(struct sync *s, float *param, float *velocity)
{
    (void)param;
    optimizer_velocity(&self(s)->optimizer, velocity);
    return RC_OK;
}

/* The reducer's critical path, cut into its messages: as many on the link as bytes say. */
static struct wire_plan allreduce_wire_plan(const struct sync *s)
{
    const struct cost path = s->env.reducer->critical_path(s->env.reducer_opts, s->env.n_workers, s->env.n_params);
    const struct cost own =
        s->env.reducer->predict(s->env.reducer_opts, s->env.n_workers - 1, s->env.n_workers, s->env.n_params);

    if (own.msgs == 0)
        return (struct wire_plan){ 0 };
    const size_t message_bytes = (size_t)(own.bytes / own.msgs);
    return (struct wire_plan){ message_bytes, (double)path.msgs, (double)path.bytes / (double)message_bytes };
}

const struct sync_mode sync_allreduce = {
    .module.name = "allreduce",
    .module.caps = MODE_SYNCHRONOUS | MODE_SHARED_PARAMS | MODE_REDUCER,
    .open = allreduce_open,
    .begin = allreduce_begin,
    .finish = allreduce_finish,
    .final = allreduce_final,
    .wire_plan = allreduce_wire_plan,
    .close = allreduce_close,
};
