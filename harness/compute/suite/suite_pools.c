/* SPDX-License-Identifier: Apache-2.0 */
/* suite_pools.c - pools and the losses. */
#include <math.h>

#include "harness/compute/suite/reference.h"
#include "harness/compute/suite/suite_kit.h"

/* Few distinct values, all negative: ties in every window, and a padding zero would win. */
static void max_pool_case(struct suite *s, const void *arg)
{
    const struct window *g = arg;
    const size_t n = suite_out_elems(g);
    struct array *x = suite_integers(s, suite_in_elems(g), 1), *y = suite_dirty(s, n), *argmax = suite_argmax(s, n);
    double *want = suite_zeros(s, n);
    uint8_t *want_argmax = (uint8_t *)suite_zeros(s, n / 8 + 1);

    for (size_t k = 0; k < x->n_elems; k++)
        x->host[k] -= 4.0f;
    suite_put(s, x);
    if (s->judging)
        reference_max_pool(want, want_argmax, suite_double(s, x), g);
    compute_max_pool(s->c,
                     &(struct pool_forward){ .window = *g, .y = y->v, .argmax = (uint8_t *)argmax->v, .x = x->v });
    suite_check(s, "y", y, want, 0.0);
    suite_check_argmax(s, "argmax", argmax, want_argmax);
}

/* The first NaN of a window wins; so does a window of nothing but -infinity have a first one. */
static void max_pool_nan_case(struct suite *s, const void *arg)
{
    const struct window *g = arg;
    const size_t n = suite_out_elems(g);
    struct array *x = suite_constant(s, suite_in_elems(g), -INFINITY), *y = suite_dirty(s, n);
    struct array *argmax = suite_argmax(s, n);
    double *want = suite_zeros(s, n);
    uint8_t *want_argmax = (uint8_t *)suite_zeros(s, n / 8 + 1);

    for (size_t k = 0; k < x->n_elems; k += 5)
        x->host[k] = k % 3 == 0 ? NAN : 1.0f;
    suite_put(s, x);
    reference_max_pool(want, want_argmax, suite_double(s, x), g);
    compute_max_pool(s->c,
                     &(struct pool_forward){ .window = *g, .y = y->v, .argmax = (uint8_t *)argmax->v, .x = x->v });
    suite_check(s, "y", y, want, 0.0);
    suite_check_argmax(s, "argmax", argmax, want_argmax);
}

static void max_pool_grad_of(struct suite *s, const struct window *g, bool add)
{
    const size_t n = suite_out_elems(g), n_in = suite_in_elems(g);
    struct array *dx = add ? suite_integers(s, n_in, 3) : suite_dirty(s, n_in), *dy = suite_integers(s, n, 2);
    struct array *x = suite_integers(s, n_in, 1), *argmax = suite_argmax(s, n);
    double *want = suite_zeros(s, n_in);

    reference_max_pool(suite_zeros(s, n), (uint8_t *)argmax->host, suite_double(s, x), g);
    suite_put(s, argmax);
    reference_max_pool_grad(want, suite_double(s, dy), (const uint8_t *)argmax->host, g);
    for (size_t i = 0; add && i < n_in; i++)
        want[i] += (double)dx->host[i];
    compute_max_pool_grad(
        s->c, &(struct pool_grad){
                  .window = *g, .dx = dx->v, .dy = dy->v, .argmax = (const uint8_t *)argmax->v, .add = add });
    suite_check(s, "dx", dx, want, 0.0);
}

static void max_pool_grad_case(struct suite *s, const void *arg)
{
    max_pool_grad_of(s, arg, false);
}

static void max_pool_grad_add_case(struct suite *s, const void *arg)
{
    max_pool_grad_of(s, arg, true);
}

static void avg_pool_case(struct suite *s, const void *arg)
{
    const struct window *g = arg;
    struct array *x = suite_reals(s, suite_in_elems(g), 1), *y = suite_dirty(s, suite_out_elems(g));
    double *want = suite_zeros(s, y->n_elems);

    reference_avg_pool(want, suite_double(s, x), g);
    compute_avg_pool(s->c, &(struct pool_forward){ .window = *g, .y = y->v, .x = x->v });
    suite_check(s, "y", y, want, suite_tolerance_fp32(8));
}

static void avg_pool_grad_of(struct suite *s, const struct window *g, bool add)
{
    const size_t n_in = suite_in_elems(g);
    struct array *dx = add ? suite_reals(s, n_in, 3) : suite_dirty(s, n_in);
    struct array *dy = suite_reals(s, suite_out_elems(g), 2);
    double *want = suite_zeros(s, n_in);

    reference_avg_pool_grad(want, suite_double(s, dy), g);
    for (size_t i = 0; add && i < n_in; i++)
        want[i] += (double)dx->host[i];
    compute_avg_pool_grad(s->c, &(struct pool_grad){ .window = *g, .dx = dx->v, .dy = dy->v, .add = add });
    suite_check(s, "dx", dx, want, suite_tolerance_fp32(8));
}

static void avg_pool_grad_case(struct suite *s, const void *arg)
{
    avg_pool_grad_of(s, arg, false);
}

static void avg_pool_grad_add_case(struct suite *s, const void *arg)
{
    avg_pool_grad_of(s, arg, true);
}

struct adaptive {
    struct window in; /* kernel, stride and pad are nonsense: they are not looked at */
    int out_h, out_w;
};

static void adaptive_case(struct suite *s, const void *arg)
{
    const struct adaptive *a = arg;
    const size_t n = (size_t)a->in.B * (size_t)a->in.C * (size_t)a->out_h * (size_t)a->out_w;
    struct array *x = suite_reals(s, suite_in_elems(&a->in), 1), *y = suite_dirty(s, n);
    double *want = suite_zeros(s, n);

    reference_adaptive_pool(want, suite_double(s, x), &a->in, a->out_h, a->out_w);
    compute_adaptive_pool(
        s->c, &(struct pool_forward){ .window = a->in, .out_h = a->out_h, .out_w = a->out_w, .y = y->v, .x = x->v });
    suite_check(s, "y", y, want, suite_tolerance_fp32(8));
}

static void adaptive_grad_of(struct suite *s, const struct adaptive *a, bool add)
{
    const size_t n_in = suite_in_elems(&a->in);
    struct array *dy = suite_reals(s, (size_t)a->in.B * (size_t)a->in.C * (size_t)a->out_h * (size_t)a->out_w, 2);
    struct array *dx = add ? suite_reals(s, n_in, 3) : suite_dirty(s, n_in);
    double *want = suite_zeros(s, n_in);

    reference_adaptive_pool_grad(want, suite_double(s, dy), &a->in, a->out_h, a->out_w);
    for (size_t i = 0; add && i < n_in; i++)
        want[i] += (double)dx->host[i];
    compute_adaptive_pool_grad(
        s->c, &(struct pool_grad){
                  .window = a->in, .out_h = a->out_h, .out_w = a->out_w, .dx = dx->v, .dy = dy->v, .add = add });
    suite_check(s, "dx", dx, want, suite_tolerance_fp32(8));
}

static void adaptive_grad_case(struct suite *s, const void *arg)
{
    adaptive_grad_of(s, arg, false);
}

static void adaptive_grad_add_case(struct suite *s, const void *arg)
{
    adaptive_grad_of(s, arg, true);
}

void suite_pools(struct suite *s)
{
    static const struct window window[] = {
        /* B C H W, kernel, stride, pad */
        { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 },   { 3, 1, 8, 8, 3, 3, 1, 1, 1, 1 },     { 2, 3, 5, 7, 3, 3, 1, 1, 0, 0 },
        { 2, 3, 5, 7, 3, 2, 2, 1, 1, 0 },   { 1, 2, 9, 6, 5, 3, 2, 3, 2, 1 },     { 3, 2, 8, 8, 2, 2, 2, 2, 0, 0 },
        { 2, 1, 7, 9, 2, 2, 2, 2, 0, 0 },   { 5, 17, 7, 7, 3, 3, 2, 2, 1, 1 },    { 3, 1, 1, 1, 7, 7, 1, 1, 3, 3 },
        { 1, 2, 6, 1, 3, 1, 1, 1, 1, 0 },   { 1, 2, 1, 6, 1, 3, 1, 1, 0, 1 },     { 2, 3, 6, 6, 1, 1, 2, 2, 0, 0 },
        { 1, 3, 11, 11, 7, 7, 4, 4, 2, 2 }, { 2, 1, 4, 5, 4, 5, 1, 1, 0, 0 },     { 1, 2, 5, 5, 2, 2, 3, 3, 0, 0 },
        { 2, 5, 55, 55, 3, 3, 2, 2, 0, 0 }, { 3, 5, 111, 112, 3, 3, 2, 2, 1, 1 }, { 1, 1, 19, 21, 16, 16, 1, 1, 8, 8 },
        { 3, 2, 33, 31, 3, 3, 1, 1, 1, 1 }, { 1, 1, 2, 2, 2, 2, 2, 2, 0, 0 },     { 9, 31, 16, 16, 2, 2, 2, 2, 0, 0 },
        { 2, 3, 10, 26, 2, 2, 2, 2, 0, 0 }, { 2, 1, 4, 1024, 2, 2, 2, 2, 0, 0 },  { 2, 1, 4, 1026, 2, 2, 2, 2, 0, 0 },
        { 2, 3, 8, 8, 2, 2, 2, 2, 1, 1 },   { 1, 7, 2, 4, 2, 2, 2, 2, 0, 0 },     { 1, 3, 6, 8, 2, 2, 2, 2, 0, 0 },
        { 1, 2, 4, 48, 2, 2, 2, 2, 0, 0 },
    };
    static const struct adaptive adaptive[] = {
        { { 1, 1, 1, 1, 9, 9, 9, 9, 0, 0 }, 1, 1 },    { { 2, 3, 7, 7, 9, 9, 9, 9, 0, 0 }, 1, 1 },
        { { 3, 2, 7, 5, 1, 1, 1, 1, 0, 0 }, 3, 2 },    { { 1, 5, 13, 13, 1, 1, 1, 1, 0, 0 }, 6, 6 },
        { { 2, 3, 3, 4, 1, 1, 1, 1, 0, 0 }, 7, 7 },    { { 2, 2, 6, 6, 1, 1, 1, 1, 0, 0 }, 6, 6 },
        { { 2, 17, 31, 33, 1, 1, 1, 1, 0, 0 }, 1, 1 }, { { 1, 3, 10, 14, 1, 1, 1, 1, 0, 0 }, 4, 5 },
        { { 3, 5, 97, 101, 1, 1, 1, 1, 0, 0 }, 3, 2 },
    };

    SUITE_RUN_EACH(s, "max_pool", max_pool_case, window);
    SUITE_RUN_EACH(s, "max_pool of NaNs", max_pool_nan_case, window);
    SUITE_RUN_EACH(s, "max_pool_grad", max_pool_grad_case, window);
    SUITE_RUN_EACH(s, "max_pool_grad, added", max_pool_grad_add_case, window);
    SUITE_RUN_EACH(s, "avg_pool", avg_pool_case, window);
    SUITE_RUN_EACH(s, "avg_pool_grad", avg_pool_grad_case, window);
    SUITE_RUN_EACH(s, "avg_pool_grad, added", avg_pool_grad_add_case, window);
    SUITE_RUN_EACH(s, "adaptive_pool", adaptive_case, adaptive);
    SUITE_RUN_EACH(s, "adaptive_pool_grad", adaptive_grad_case, adaptive);
    SUITE_RUN_EACH(s, "adaptive_pool_grad, added", adaptive_grad_add_case, adaptive);
}

struct loss_case {
    size_t B, K;
    float scale; /* of the logits */
    float weight;
};

/* Two calls before one sync: each has its own loss then (compute.C4). */
static void softmax_case(struct suite *s, const void *arg)
{
    const struct loss_case *l = arg;
    const size_t n = l->B * l->K;
    struct array *logits = suite_integers(s, n, 1), *other = suite_reals(s, n, 2), *dlogits = suite_dirty(s, n);
    struct array *label = suite_labels(s, l->B, (uint32_t)l->K);
    const uint32_t *of_host = (const uint32_t *)(void *)label->host, *of_backend = (const uint32_t *)(void *)label->v;
    double *want = suite_zeros(s, n), loss = 99.0, other_loss = 99.0;
    size_t n_correct = 99, other_correct = 99, want_correct = 0, want_other = 0;

    for (size_t i = 0; i < n; i++)
        logits->host[i] *= l->scale;
    suite_put(s, logits);
    const double want_loss =
        reference_softmax_xent(want, &want_correct, suite_double(s, logits), of_host, (double)l->weight, l->B, l->K);
    const double want_other_loss =
        reference_softmax_xent(NULL, &want_other, suite_double(s, other), of_host, 1.0, l->B, l->K);
    const struct softmax_xent op = { .B = l->B,
                                     .K = l->K,
                                     .mean_loss = &loss,
                                     .n_correct = &n_correct,
                                     .dlogits = dlogits->v,
                                     .logits = logits->v,
                                     .label = of_backend,
                                     .weight = l->weight };
    struct softmax_xent second = op, loss_only = op;
    second.mean_loss = &other_loss;
    second.n_correct = &other_correct;
    second.logits = other->v;
    second.weight = 1.0f;
    second.dlogits = loss_only.dlogits = NULL;
    loss_only.n_correct = NULL;
    compute_softmax_xent(s->c, &op);
    compute_softmax_xent(s->c, &second);
    suite_sync(s);
    suite_check_one(s, "C4: loss", loss, want_loss, 1e-6 * (1.0 + want_loss));
    suite_check_one(s, "C4: n_correct", (double)n_correct, (double)want_correct, 0.0);
    suite_check_one(s, "C4: second loss", other_loss, want_other_loss, 1e-6 * (1.0 + want_other_loss));
    suite_check_one(s, "C4: second n_correct", (double)other_correct, (double)want_other, 0.0);
    suite_check(s, "dlogits", dlogits, want, 1e-6 * fabs((double)l->weight) / (double)l->B);
    compute_softmax_xent(s->c, &loss_only);
    suite_sync(s);
    suite_check_one(s, "loss without gradient", loss, want_loss, 1e-6 * (1.0 + want_loss));
}

static void softmax_nan_case(struct suite *s, const void *arg)
{
    enum { B = 3, K = 5 };
    struct array *logits = suite_reals(s, B * K, 1), *label = suite_labels(s, B, K);
    double loss = 99.0;

    (void)arg;
    logits->host[K + 2] = NAN;
    suite_put(s, logits);
    compute_softmax_xent(s->c, &(struct softmax_xent){ .B = B,
                                                       .K = K,
                                                       .mean_loss = &loss,
                                                       .logits = logits->v,
                                                       .label = (const uint32_t *)(void *)label->v,
                                                       .weight = 1.0f });
    suite_sync(s);
    if (!isnan(loss))
        suite_fail(s, "the loss of a NaN is %g", loss);
}

static void mean_square_of(struct suite *s, size_t n, bool exact)
{
    struct array *y = suite_values(s, n, 1, exact), *target = suite_values(s, n, 2, exact), *dy = suite_dirty(s, n);
    double *want = suite_zeros(s, n), loss = 99.0, again = 99.0;
    const double want_loss = reference_mean_square(want, suite_double(s, y), suite_double(s, target), n);
    const double tolerance = exact ? 1e-14 * want_loss * (double)n : 1e-6 * want_loss;

    compute_mean_square(s->c, &loss, dy->v, y->v, target->v, n);
    compute_mean_square(s->c, &again, NULL, y->v, target->v, n);
    suite_sync(s);
    suite_check_one(s, "C4: loss", loss, want_loss, tolerance);
    suite_check_one(s, "C4: loss without gradient", again, want_loss, tolerance);
    suite_check(s, "dy", dy, want, 4e-6 / (double)n);
}

static void mean_square_case(struct suite *s, const void *arg)
{
    mean_square_of(s, *(const size_t *)arg, true);
}

static void mean_square_real_case(struct suite *s, const void *arg)
{
    mean_square_of(s, *(const size_t *)arg, false);
}

void suite_losses(struct suite *s)
{
    static const struct loss_case loss[] = {
        { 1, 1, 1.0f, 1.0f },    { 1, 2, 1.0f, 1.0f },     { 32, 10, 0.7f, 1.0f },  { 5, 3, 40.0f, 0.3f },
        { 7, 10, 1000.f, 1.0f }, { 3, 1000, 2.0f, 0.25f }, { 2000, 7, 1.0f, 2.0f },
    };
    static const size_t n_elems[] = { 1, 2, 8, 31, 100, 1000, 140001 };

    SUITE_RUN_EACH(s, "softmax_xent", softmax_case, loss);
    suite_run(s, "softmax_xent of a NaN", softmax_nan_case, NULL);
    SUITE_RUN_EACH(s, "mean_square", mean_square_case, n_elems);
    SUITE_RUN_EACH(s, "mean_square, reals", mean_square_real_case, n_elems);
}
