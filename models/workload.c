/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c - the list of workloads, and the checks that every call goes through. */
#include "models/workload.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/text.h"

static const struct workload *const workloads[] = { &workload_linear,
                                                    &workload_lenet,
                                                    &workload_alexnet,
                                                    &workload_vgg16,
                                                    &workload_resnet8,
                                                    &workload_resnet50,
                                                    &workload_resnet101,
                                                    &workload_resnet152,
                                                    &workload_inception3,
                                                    &workload_replay,
                                                    NULL };

const struct workload *const *workload_all(void)
{
    return workloads;
}

enum rc workload_find(const struct workload **out, const char *name)
{
    const char *names[sizeof workloads / sizeof workloads[0]] = { NULL };

    for (size_t i = 0; workloads[i] != NULL; i++) {
        names[i] = workloads[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = workloads[i];
            return RC_OK;
        }
    }
    const char *nearest = text_nearest(name, names);
    if (nearest != NULL)
        return rc_raise(RC_INVAL, "no model \"%.40s\"; did you mean \"%s\"?", name, nearest);
    return rc_raise(RC_INVAL,
                    "no model \"%.40s\"; there are linear, lenet, alexnet, vgg16, resnet8, resnet50, "
                    "resnet101, resnet152, inception3 and replay",
                    name);
}

enum rc workload_open(struct training **out, const struct workload *ops, const struct training_env *env)
{
    struct training *t = NULL;
    enum rc rc;

    assert(env->max_batch >= 1);
    TRY(ops->open(&t, env));
    t->ops = ops;
    t->env = *env;
    *out = t;
out:
    return rc;
}

size_t workload_n_params(const struct training *t)
{
    return t->ops->n_params(t);
}

void workload_init(const struct training *t, float *param)
{
    if (param != NULL)
        t->ops->init(t, param);
}

enum rc workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                          double *mean_loss, grad_ready_fn *ready, void *arg)
{
    assert(n_samples >= 1 && n_samples <= t->env.max_batch);
    assert(param != NULL || !t->env.compute->ops->touches_memory);
    assert(grad != NULL || t->env.forward_only || !t->env.compute->ops->touches_memory);
    return t->ops->gradient(t, param, first, n_samples, grad, mean_loss, ready, arg);
}

enum rc workload_evaluate(struct training *t, const float *param, size_t n_samples, struct evaluation *out)
{
    assert(param != NULL || !t->env.compute->ops->touches_memory);
    return t->ops->evaluate(t, param, n_samples, out);
}

float *workload_state(struct training *t, size_t *n_elems)
{
    *n_elems = 0;
    return t->ops->state != NULL ? t->ops->state(t, n_elems) : NULL;
}

void workload_close(struct training **t)
{
    if (*t != NULL)
        (*t)->ops->close(t);
    *t = NULL;
}
