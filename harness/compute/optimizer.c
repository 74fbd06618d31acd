/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer.c - the list of optimisers, what each keeps beside the parameters, and which operation of the compute is
 * its step.
 */
#include "harness/compute/optimizer.h"

#include <math.h>
#include <stdlib.h>

struct optimizer_rule optimizer_sgd(double momentum, double weight_decay)
{
    return (struct optimizer_rule){ .kind = momentum != 0 ? OPTIMIZER_MOMENTUM : OPTIMIZER_SGD,
                                    .momentum = momentum,
                                    .weight_decay = weight_decay };
}

int optimizer_n_moments(const struct optimizer_rule *rule)
{
    static const int n[OPTIMIZER_N_KINDS] = { [OPTIMIZER_MOMENTUM] = 1, [OPTIMIZER_ADAGRAD] = 1, [OPTIMIZER_ADAM] = 2 };

    return n[rule->kind];
}

/* For messages. */
static const char *moment_name(const struct optimizer_rule *rule, int k)
{
    static const char *const name[OPTIMIZER_N_KINDS][OPTIMIZER_MAX_MOMENTS] = {
        [OPTIMIZER_MOMENTUM] = { "momentum" },
        [OPTIMIZER_ADAGRAD] = { "sums of squared gradients" },
        [OPTIMIZER_ADAM] = { "first moments of gradients", "second moments of gradients" }
    };

    return name[rule->kind][k];
}

/* memory[n_elems] := value, which fresh memory is for 0. */
static enum rc fill(struct compute *c, float *memory, size_t n_elems, float value)
{
    enum { CHUNK_ELEMS = 1 << 16 };
    const size_t n_chunk = n_elems < CHUNK_ELEMS ? n_elems : CHUNK_ELEMS;
    enum rc rc;

    if (value == 0.0f)
        return RC_OK;
    float *chunk = malloc(n_chunk * sizeof *chunk);
    if (!chunk)
        return rc_raise(RC_NOMEM, "no memory for %zu initial values", n_chunk);
    for (size_t i = 0; i < n_chunk; i++)
        chunk[i] = value;
    for (size_t first = 0; first < n_elems; first += n_chunk)
        compute_put(c, memory + first, chunk, (n_elems - first < n_chunk ? n_elems - first : n_chunk) * sizeof *chunk);
    rc = compute_sync(c); /* put: what is lent */
    free(chunk);
    return rc;
}

enum rc optimizer_init(struct optimizer *out, struct compute *c, size_t n_params, const struct optimizer_rule *rule,
                       const float *moments)
{
    struct optimizer o = { .compute = c, .rule = *rule, .grad_scale = 1.0f, .n_params = n_params };
    enum rc rc = RC_OK;

    for (int k = 0; k < optimizer_n_moments(rule) && c->ops->touches_memory && n_params > 0; k++) {
        void *memory = NULL;
        TRY(compute_memory_open(c, &memory, n_params * sizeof(float), moment_name(rule, k)));
        o.moment[k] = memory;
        if (moments)
            compute_put(c, o.moment[k], moments + (size_t)k * n_params, n_params * sizeof(float));
        else
            TRY(fill(c, o.moment[k], n_params, (float)rule->initial));
    }
    *out = o;
    o = (struct optimizer){ 0 };
out:
    optimizer_fini(&o);
    return rc;
}

enum rc optimizer_step(struct optimizer *o, float *param, const float *grad)
{
    return optimizer_step_range(o, 0, o->n_params, param, grad);
}

static float *moment_at(const struct optimizer *o, int k, size_t first)
{
    return o->moment[k] ? o->moment[k] + first : NULL;
}

static void sgd_step(struct optimizer *o, size_t first, size_t n_elems, float *param, const float *grad)
{
    const struct sgd s = { .lr = o->lr,
                           .momentum = (float)o->rule.momentum,
                           .weight_decay = (float)o->rule.weight_decay,
                           .grad_scale = o->grad_scale };

    compute_sgd_step(o->compute, param, moment_at(o, 0, first), grad, n_elems, &s);
}

static void adagrad_step(struct optimizer *o, size_t first, size_t n_elems, float *param, const float *grad)
{
    const struct adagrad s = { .lr = o->lr,
                               .epsilon = (float)o->rule.epsilon,
                               .weight_decay = (float)o->rule.weight_decay,
                               .grad_scale = o->grad_scale };

    compute_adagrad_step(o->compute, param, moment_at(o, 0, first), grad, n_elems, &s);
}

static void adam_step(struct optimizer *o, size_t first, size_t n_elems, float *param, const float *grad)
{
    const struct optimizer_rule *r = &o->rule;
    const double t = (double)o->n_updates + 1;
    const struct adam s = { .beta1 = (float)r->beta1,
                            .rest1 = (float)(1 - r->beta1),
                            .beta2 = (float)r->beta2,
                            .rest2 = (float)(1 - r->beta2),
                            .epsilon = (float)r->epsilon,
                            .weight_decay = (float)r->weight_decay,
                            .grad_scale = o->grad_scale,
                            .rate = (float)((double)o->lr / (1 - pow(r->beta1, t))),
                            .root = (float)(1 / sqrt(1 - pow(r->beta2, t))) };

    compute_adam_step(o->compute, param, moment_at(o, 0, first), moment_at(o, 1, first), grad, n_elems, &s);
}

enum rc optimizer_step_range(struct optimizer *o, size_t first, size_t n_elems, float *param, const float *grad)
{
    static void (*const step[OPTIMIZER_N_KINDS])(struct optimizer * o, size_t first, size_t n_elems, float *param,
                                                 const float *grad) = { [OPTIMIZER_SGD] = sgd_step,
                                                                        [OPTIMIZER_MOMENTUM] = sgd_step,
                                                                        [OPTIMIZER_ADAGRAD] = adagrad_step,
                                                                        [OPTIMIZER_ADAM] = adam_step };

    step[o->rule.kind](o, first, n_elems, param, grad);
    return compute_sync(o->compute);
}

enum rc optimizer_moments(const struct optimizer *o, float *out)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < OPTIMIZER_MAX_MOMENTS && out && o->moment[k]; k++)
        TRY(compute_fetch(o->compute, out + (size_t)k * o->n_params, o->moment[k], o->n_params * sizeof(float)));
out:
    return rc;
}

void optimizer_fini(struct optimizer *o)
{
    for (int k = 0; k < OPTIMIZER_MAX_MOMENTS && o->compute; k++) {
        void *memory = o->moment[k];
        compute_memory_close(o->compute, &memory);
    }
    *o = (struct optimizer){ 0 };
}

/* --- the list --- */

/* Adagrad's are those of Duchi, Hazan and Singer (2011), of whose delta any value above 0 will do; Adam's those of
 * Kingma and Ba (2015). */
#define ADAGRAD_EPSILON 1e-10
#define ADAM_BETA1 0.9
#define ADAM_BETA2 0.999
#define ADAM_EPSILON 1e-8

static const struct module modules[OPTIMIZER_N_KINDS] = {
    [OPTIMIZER_SGD] = { .name = "sgd", .caps = OPTIMIZER_OF_MOMENTUM_0 },
    [OPTIMIZER_MOMENTUM] = { .name = "momentum", .caps = OPTIMIZER_HAS_MOMENTUM },
    [OPTIMIZER_ADAGRAD] = { .name = "adagrad" },
    [OPTIMIZER_ADAM] = { .name = "adam" },
};

static const struct module *optimizer_at(int i)
{
    return i < OPTIMIZER_N_KINDS ? &modules[i] : NULL;
}

const struct module_kind optimizer_modules = { "optimizer", optimizer_at, NULL, NULL, NULL };

const struct module *optimizer_of_momentum(double momentum)
{
    return &modules[momentum != 0 ? OPTIMIZER_MOMENTUM : OPTIMIZER_SGD];
}

struct optimizer_rule optimizer_rule_of(const struct module *optimizer, double momentum)
{
    struct optimizer_rule rule = { .kind = (enum optimizer_kind)(optimizer - modules) };

    switch (rule.kind) {
    case OPTIMIZER_MOMENTUM:
        rule.momentum = momentum;
        break;
    case OPTIMIZER_ADAGRAD:
        rule.epsilon = ADAGRAD_EPSILON;
        break;
    case OPTIMIZER_ADAM:
        rule.beta1 = ADAM_BETA1;
        rule.beta2 = ADAM_BETA2;
        rule.epsilon = ADAM_EPSILON;
        break;
    case OPTIMIZER_SGD:
    case OPTIMIZER_N_KINDS:
        break;
    }
    return rule;
}

const char *optimizer_name(enum optimizer_kind kind)
{
    return modules[kind].name;
}
