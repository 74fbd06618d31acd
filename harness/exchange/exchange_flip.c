/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_flip.c - a bit of a gradient, flipped on order: what a fault of memory does, for drills. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "harness/exchange/exchange_state.h"

enum { FLIPPED_BIT = 20 }; /* of the 23 of a float's fraction */
enum { SIGN_BIT = 31 }; /* where the update is divided by what gradients are like: the first one by this one itself */

static bool is_divided(const struct optimizer_rule *rule)
{
    return rule->kind == OPTIMIZER_ADAGRAD || rule->kind == OPTIMIZER_ADAM;
}

static float flipped(const struct optimizer_rule *rule, float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits ^= UINT32_C(1) << (is_divided(rule) ? SIGN_BIT : FLIPPED_BIT);
    memcpy(&x, &bits, sizeof x);
    return x;
}

struct element { /* that the update reads */
    float param, grad, moment[OPTIMIZER_MAX_MOMENTS];
};

/* By what the update of chunk k changes it, but for the velocity of steps before. */
static double update_of(const struct exchange *x, size_t k, const struct element *e, float grad)
{
    const struct optimizer_rule *rule = &x->optimizer.rule;
    const double t = (double)(x->n_updates_before + x->state[k].n_updates + 1), lr = (double)x->state[k].lr;
    const double d = (double)x->optimizer.grad_scale * (double)grad + rule->weight_decay * (double)e->param;

    if (rule->kind == OPTIMIZER_ADAGRAD)
        return lr * d / (sqrt((double)e->moment[0] + d * d) + rule->epsilon);
    if (rule->kind == OPTIMIZER_ADAM) {
        const double m = rule->beta1 * (double)e->moment[0] + (1 - rule->beta1) * d;
        const double v = rule->beta2 * (double)e->moment[1] + (1 - rule->beta2) * d * d;
        return lr * m / (1 - pow(rule->beta1, t)) / (sqrt(v / (1 - pow(rule->beta2, t))) + rule->epsilon);
    }
    return lr * d;
}

/* Is the parameter another one behind the update? Not where the gradient is 0, or far too small beside it. */
static bool changes(const struct exchange *x, size_t k, const struct element *e)
{
    enum { N_ROUNDINGS = 64 }; /* so that momentum and decay do not round it away */
    const double difference = update_of(x, k, e, flipped(&x->optimizer.rule, e->grad)) - update_of(x, k, e, e->grad);

    return fabs(difference) > N_ROUNDINGS * (double)FLT_EPSILON * fabs((double)e->param);
}

/* The gradients that the update reads: copies of the host's where the exchange is staged. */
static enum rc get(struct exchange *x, float *out, const float *host, const float *own, size_t offset, size_t n)
{
    if (!x->is_staged || !host)
        return compute_fetch(x->optimizer.compute, out, own + offset, n * sizeof *out);
    memcpy(out, host + offset, n * sizeof *out);
    return RC_OK;
}

enum { N_AT_ONCE = 256 };

/* Of n elements from `from` on, what the update reads; moments that the rule has not are 0. */
static enum rc get_elements(struct element out[N_AT_ONCE], struct exchange *x, size_t from, size_t n)
{
    float values[N_AT_ONCE];
    enum rc rc;

    memset(out, 0, n * sizeof *out);
    TRY(get(x, values, x->host_grad, x->grad, from, n));
    for (size_t i = 0; i < n; i++)
        out[i].grad = values[i];
    TRY(get(x, values, NULL, x->param, from, n));
    for (size_t i = 0; i < n; i++)
        out[i].param = values[i];
    for (int m = 0; m < optimizer_n_moments(&x->optimizer.rule); m++) {
        TRY(get(x, values, NULL, x->optimizer.moment[m], from, n));
        for (size_t i = 0; i < n; i++)
            out[i].moment[m] = values[i];
    }
out:
    return rc;
}

/* *out: the element of chunk k that is to be changed. */
static enum rc find_element(size_t *out, struct exchange *x, size_t k)
{
    const size_t end = x->buckets.chunk[k].offset_elems + x->buckets.chunk[k].n_elems;
    struct element element[N_AT_ONCE];
    enum rc rc = RC_OK;

    *out = x->flip.elem_index;
    for (size_t from = x->flip.elem_index; from < end; from += N_AT_ONCE) {
        const size_t n = end - from < N_AT_ONCE ? end - from : N_AT_ONCE;
        TRY(get_elements(element, x, from, n));
        for (size_t i = 0; i < n; i++)
            if (changes(x, k, &element[i])) {
                *out = from + i;
                return RC_OK;
            }
    }
out:
    return rc;
}

static bool is_ordered(const struct exchange *x, size_t k)
{
    const struct range chunk = x->buckets.chunk[k];
    const size_t drawn = x->flip.elem_index;

    return x->state[k].step == (uint32_t)x->flip.step && drawn >= chunk.offset_elems &&
           drawn < chunk.offset_elems + chunk.n_elems;
}

void exchange_flip_pulled(struct exchange *x, size_t k)
{
    static const struct optimizer_rule plain = { .kind = OPTIMIZER_SGD };
    float *param = x->host_param + x->flip.elem_index;

    if (is_ordered(x, k))
        *param = flipped(&plain, *param);
}

enum rc exchange_flip(struct exchange *x, size_t k)
{
    size_t elem;
    float grad;
    enum rc rc = RC_OK;

    if (!is_ordered(x, k))
        return RC_OK;
    TRY(find_element(&elem, x, k));
    TRY(get(x, &grad, x->host_grad, x->grad, elem, 1));
    grad = flipped(&x->optimizer.rule, grad);
    if (x->is_staged)
        memcpy(x->host_grad + elem, &grad, sizeof grad);
    else {
        compute_put(x->optimizer.compute, x->grad + elem, &grad, sizeof grad);
        TRY(compute_sync(x->optimizer.compute)); /* what is put is lent until then */
    }
out:
    return rc;
}
