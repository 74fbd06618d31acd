/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c - the list of workloads, and the checks that every call goes through. */
#include "models/workload.h"

#include <assert.h>
#include <stddef.h>

#include "data/dataset.h"

const struct workload *workload_at(int i)
{
#define WORKLOAD_ADDRESS_(name) &workload_##name,
    static const struct workload *const all[] = { WORKLOAD_LIST(WORKLOAD_ADDRESS_) NULL };

    return all[i];
}

static const struct module *module_at(int i)
{
    return workload_at(i) != NULL ? &workload_at(i)->module : NULL;
}

const struct module_kind workload_kind = { "model", module_at, NULL, "lenet", "linear,lenet" };

static const struct module *network_at(int i)
{
#define NETWORK_ADDRESS_(name) &workload_##name.module,
    static const struct module *const all[] = { NETWORK_LIST(NETWORK_ADDRESS_) NULL };

    return all[i];
}

const struct module_kind network_kind = { "model", network_at, NULL, "resnet50", NULL };

enum rc workload_find(const struct workload **out, const char *name)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, &workload_kind, name));
    *out = (const struct workload *)m;
out:
    return rc;
}

const struct workload *workload_profile_player(void)
{
    int i = 0;

    while (!(workload_at(i)->module.caps & WORKLOAD_PLAYS_PROFILE)) /* replay is in the list */
        i++;
    return workload_at(i);
}

enum rc workload_open(struct training **out, const struct workload *w, const struct training_env *env)
{
    struct training *t = NULL;
    enum rc rc;

    assert(env->max_batch >= 1);
    TRY(w->ops->open(&t, w, env));
    t->workload = w;
    t->env = *env;
    *out = t;
out:
    return rc;
}

size_t workload_n_params(const struct training *t)
{
    return t->workload->ops->n_params(t);
}

void workload_init(const struct training *t, float *param)
{
    if (param != NULL)
        t->workload->ops->init(t, 0, param);
}

void workload_init_own(const struct training *t, uint64_t replica, float *param)
{
    if (param != NULL)
        t->workload->ops->init(t, replica, param);
}

enum rc workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                          double *mean_loss, grad_ready_fn *ready, void *arg)
{
    const size_t n_parts = workload_n_micro_batches(&t->env);

    assert(n_samples >= 1 && n_samples % n_parts == 0 && n_samples / n_parts <= t->env.max_batch);
    assert(param != NULL || !t->env.compute->ops->touches_memory);
    assert(grad != NULL || t->env.forward_only || !t->env.compute->ops->touches_memory);
    return t->workload->ops->gradient(t, param, first, n_samples, grad, mean_loss, ready, arg);
}

void workload_set_await(struct training *t, param_await_fn *await, void *arg)
{
    t->await = await;
    t->await_arg = arg;
}

enum rc workload_evaluate(struct training *t, const float *param, size_t n_samples, struct evaluation *out)
{
    assert(param != NULL || !t->env.compute->ops->touches_memory);
    return t->workload->ops->evaluate(t, param, n_samples, out);
}

float *workload_state(struct training *t, size_t *n_elems)
{
    *n_elems = 0;
    return t->workload->ops->state != NULL ? t->workload->ops->state(t, n_elems) : NULL;
}

void workload_close(struct training **t)
{
    if (*t != NULL)
        (*t)->workload->ops->close(t);
    *t = NULL;
}
