/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_local.c - modes that exchange nothing: "single" (one worker) and "none" (every worker for
 * itself: the control, what compute alone would give).
 */
#include <stdlib.h>

#include "harness/compute/optimizer.h"
#include "harness/exchange/sync_mode.h"
#include "harness/world/world.h"

struct local {
    struct sync base;
    struct optimizer optimizer;
};

static struct local *self(struct sync *s)
{
    return (struct local *)s;
}

static enum rc open_as(struct sync **out, const struct sync_env *env, const struct sync_mode *ops)
{
    struct local *l = calloc(1, sizeof *l);
    enum rc rc;

    if (!l)
        return rc_raise(RC_NOMEM, "mode %s: no memory", ops->module.name);
    l->base = (struct sync){ .ops = ops, .env = *env };
    TRY(optimizer_init(&l->optimizer, env->compute, env->n_params, env->momentum, env->weight_decay,
                       env->velocity_init));
    *out = &l->base;
    l = NULL;
out:
    free(l);
    return rc;
}

static enum rc none_open(struct sync **out, const struct sync_env *env)
{
    return open_as(out, env, &sync_none);
}

static enum rc single_open(struct sync **out, const struct sync_env *env)
{
    if (env->n_workers != 1)
        return rc_raise(RC_INVAL, "mode single: has one worker, not %d", env->n_workers);
    return open_as(out, env, &sync_single);
}

static enum rc local_begin(struct sync *s, uint64_t step, float lr)
{
    (void)step;
    self(s)->optimizer.rule.lr = lr;
    return RC_OK;
}

static enum rc local_finish(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    const uint64_t ready_ns = world_now_ns(s->env.world);

    enum rc rc;

    TRY(optimizer_step(&self(s)->optimizer, param, grad));
    *out = (struct step_cost){ .apply_ns = world_now_ns(s->env.world) - ready_ns };
out:
    return rc;
}

static enum rc local_final(struct sync *s, float *param, float *velocity)
{
    (void)param;
    optimizer_velocity(&self(s)->optimizer, velocity);
    return RC_OK;
}

static struct wire_plan local_wire_plan(const struct sync *s)
{
    (void)s;
    return (struct wire_plan){ 0 };
}

static void local_close(struct sync **s)
{
    optimizer_fini(&self(*s)->optimizer);
    free(*s);
    *s = NULL;
}

const struct sync_mode sync_none = {
    .module.name = "none",
    .open = none_open,
    .begin = local_begin,
    .finish = local_finish,
    .final = local_final,
    .wire_plan = local_wire_plan,
    .close = local_close,
};

const struct sync_mode sync_single = {
    .module.name = "single",
    .module.caps = MODE_SHARED_PARAMS | MODE_ONE_WORKER,
    .open = single_open,
    .begin = local_begin,
    .finish = local_finish,
    .final = local_final,
    .wire_plan = local_wire_plan,
    .close = local_close,
};
