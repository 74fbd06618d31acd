/* SPDX-License-Identifier: Apache-2.0 */
/* reference_test.c - every gradient of the reference against central differences of its forward pass. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/compute/suite/reference.h"

enum { MAX_ELEMS = 1024 };

static void fill(double *x, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 2.0 * rng_uniform(stream, RNG_TEST, i) - 1.0;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* grad[n] is that of loss(arg) by x[n], which arg reaches. */
static void check_gradient(const double *grad, double *x, size_t n, double (*loss)(const void *arg), const void *arg)
{
    const double step = 1e-5;
    double most = 0.0;

    assert_true(n >= 1);
    for (size_t i = 0; i < n; i++) {
        const double was = x[i];
        x[i] = was + step;
        const double above = loss(arg);
        x[i] = was - step;
        const double below = loss(arg);
        x[i] = was;
        const double slope = (above - below) / (2.0 * step);
        most = fmax(most, fabs(slope));
        if (!(fabs(slope - grad[i]) <= 1e-7 * (1.0 + fabs(slope))))
            fail_msg("gradient %zu of %zu is %.12g, the slope is %.12g", i, n, grad[i], slope);
    }
    assert_true(most > 0.0); /* a loss that nothing changes proves nothing */
}

static const struct conv_shape convs[] = {
    { { 2, 3, 5, 4, 3, 3, 1, 1, 1, 1 }, 2 }, { { 1, 2, 6, 7, 1, 3, 2, 3, 0, 2 }, 3 },
    { { 2, 2, 5, 5, 3, 1, 2, 1, 1, 0 }, 2 }, { { 3, 2, 3, 4, 3, 4, 1, 1, 0, 0 }, 4 },
    { { 1, 1, 7, 7, 2, 2, 3, 3, 0, 0 }, 2 }, { { 1, 2, 2, 3, 1, 7, 1, 1, 0, 3 }, 2 },
};

struct conv_problem {
    const struct conv_shape *shape;
    double x[MAX_ELEMS], weight[MAX_ELEMS], dy[MAX_ELEMS];
    size_t n_x, n_weight, n_y;
};

static double conv_loss(const void *arg)
{
    const struct conv_problem *p = arg;
    double y[MAX_ELEMS];

    reference_conv(y, p->x, p->weight, p->shape);
    return dot(y, p->dy, p->n_y);
}

static void conv_gradients_are_slopes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++) {
        const struct window *g = &convs[i].in;
        struct conv_problem p = { .shape = &convs[i] };
        double grad[MAX_ELEMS];
        p.n_x = (size_t)(g->B * g->C * g->H * g->W);
        p.n_weight = (size_t)(convs[i].C_out * g->C * g->kernel_h * g->kernel_w);
        p.n_y = (size_t)(convs[i].C_out * g->B * window_out_h(g) * window_out_w(g));
        assert_true(p.n_x <= MAX_ELEMS && p.n_weight <= MAX_ELEMS && p.n_y <= MAX_ELEMS);
        fill(p.x, p.n_x, 1);
        fill(p.weight, p.n_weight, 2);
        fill(p.dy, p.n_y, 3);
        reference_conv_input_grad(grad, p.dy, p.weight, &convs[i]);
        check_gradient(grad, p.x, p.n_x, conv_loss, &p);
        reference_conv_weight_grad(grad, p.dy, p.x, &convs[i]);
        check_gradient(grad, p.weight, p.n_weight, conv_loss, &p);
    }
}

struct bias_problem {
    double x[MAX_ELEMS], bias[8], dy[MAX_ELEMS];
};

static double bias_relu_loss(const void *arg)
{
    const struct bias_problem *p = arg;
    double y[35];

    memcpy(y, p->x, sizeof y);
    reference_epilogue(y, NULL, p->bias, NULL, true, 5, 7);
    return dot(y, p->dy, 35);
}

/* conv_bias_grad, relu_grad */
static void bias_behind_relu_gradients_are_slopes(void **state)
{
    struct bias_problem p;
    double y[35], dy[35], dbias[5];

    (void)state;
    fill(p.x, 35, 1);
    fill(p.bias, 5, 2);
    fill(p.dy, 35, 3);
    memcpy(y, p.x, sizeof y);
    memcpy(dy, p.dy, sizeof dy);
    reference_epilogue(y, NULL, p.bias, NULL, true, 5, 7);
    reference_conv_bias_grad(dbias, dy, y, 5, 7);
    check_gradient(dbias, p.bias, 5, bias_relu_loss, &p);
    check_gradient(dy, p.x, 35, bias_relu_loss, &p);
}

struct norm_problem {
    const struct batch_norm *s;
    double y[64], gamma[4], beta[4], add[64], dz[64];
    bool with_add;
};

static void norm_forward(double *z, const struct norm_problem *p)
{
    double kept[4][4] = { { 0.0 } };

    reference_batch_norm(z, kept[0], kept[1], kept[2], kept[3], p->y, p->gamma, p->beta, p->with_add ? p->add : NULL,
                         p->s);
}

static double norm_loss(const void *arg)
{
    const struct norm_problem *p = arg;
    double z[64];

    norm_forward(z, p);
    return dot(z, p->dz, p->s->C * p->s->n);
}

static void batch_norm_gradients_are_slopes(void **state)
{
    static const struct batch_norm shape[] = { { 3, 7, 1e-3f, 0.1f, false }, { 4, 16, 1e-5f, 0.1f, true } };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct batch_norm *s = &shape[i / 2];
        struct norm_problem p = { .s = s, .with_add = i % 2 == 1 };
        double dy[64], dgamma[4], dbeta[4], dz[64], z[64];
        fill(p.y, s->C * s->n, 1);
        fill(p.gamma, s->C, 2);
        fill(p.beta, s->C, 3);
        fill(p.add, s->C * s->n, 4);
        fill(p.dz, s->C * s->n, 5);
        memcpy(dz, p.dz, sizeof dz);
        norm_forward(z, &p);
        reference_batch_norm_grad(dy, dgamma, dbeta, dz, p.y, p.with_add ? z : NULL, p.gamma, p.beta, s);
        check_gradient(dy, p.y, s->C * s->n, norm_loss, &p);
        check_gradient(dgamma, p.gamma, s->C, norm_loss, &p);
        check_gradient(dbeta, p.beta, s->C, norm_loss, &p);
        if (p.with_add)
            check_gradient(dz, p.add, s->C * s->n, norm_loss, &p);
    }
}

/* Folded, running values give what normalisation by them would. */
static void batch_norm_fold_is_batch_norm(void **state)
{
    const struct batch_norm s = { 3, 11, 1e-3f, 1.0f, false };
    const double variance_ratio = 10.0 / 11.0; /* running_var is unbiased */
    double y[33], z[33], kept[2][3], mean[3] = { 0 }, var[3] = { 0 }, gamma[3], beta[3], scale[3], shift[3];

    (void)state;
    fill(y, 33, 1);
    fill(gamma, 3, 2);
    fill(beta, 3, 3);
    reference_batch_norm(z, kept[0], kept[1], mean, var, y, gamma, beta, NULL, &s); /* momentum 1: this batch alone */
    for (size_t i = 0; i < 3; i++)
        var[i] *= variance_ratio;
    reference_batch_norm_fold(scale, shift, gamma, beta, mean, var, &s);
    reference_epilogue(y, scale, shift, NULL, false, 3, 11);
    for (size_t i = 0; i < 33; i++)
        assert_true(fabs(y[i] - z[i]) < 1e-12);
}

enum pool { MAX, AVG, ADAPTIVE };

struct pool_problem {
    const struct window *g;
    enum pool kind;
    int out_h, out_w;
    double x[MAX_ELEMS], dy[MAX_ELEMS];
    size_t n_y;
};

static double pool_loss(const void *arg)
{
    const struct pool_problem *p = arg;
    double y[MAX_ELEMS];

    if (p->kind == MAX)
        reference_max_pool(y, NULL, p->x, p->g);
    else if (p->kind == AVG)
        reference_avg_pool(y, p->x, p->g);
    else
        reference_adaptive_pool(y, p->x, p->g, p->out_h, p->out_w);
    return dot(y, p->dy, p->n_y);
}

static void check_pool(enum pool kind, const struct window *g, int out_h, int out_w)
{
    struct pool_problem p = { .g = g, .kind = kind, .out_h = out_h, .out_w = out_w };
    const size_t n_x = (size_t)(g->B * g->C * g->H * g->W);
    uint8_t argmax[MAX_ELEMS];
    double grad[MAX_ELEMS], y[MAX_ELEMS];

    p.n_y = (size_t)(g->B * g->C * out_h * out_w);
    assert_true(n_x <= MAX_ELEMS && p.n_y <= MAX_ELEMS);
    fill(p.x, n_x, 1);
    fill(p.dy, p.n_y, 2);
    if (kind == MAX) {
        reference_max_pool(y, argmax, p.x, g);
        reference_max_pool_grad(grad, p.dy, argmax, g);
    } else if (kind == AVG)
        reference_avg_pool_grad(grad, p.dy, g);
    else
        reference_adaptive_pool_grad(grad, p.dy, g, out_h, out_w);
    check_gradient(grad, p.x, n_x, pool_loss, &p);
}

static void pool_gradients_are_slopes(void **state)
{
    static const struct window window[] = { { 2, 2, 7, 6, 3, 2, 2, 1, 1, 1 },
                                            { 1, 3, 8, 8, 2, 2, 2, 2, 0, 0 },
                                            { 1, 2, 5, 5, 3, 3, 1, 1, 1, 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof window / sizeof window[0]; i++) {
        check_pool(MAX, &window[i], window_out_h(&window[i]), window_out_w(&window[i]));
        check_pool(AVG, &window[i], window_out_h(&window[i]), window_out_w(&window[i]));
        check_pool(ADAPTIVE, &window[i], 1, 1);
        check_pool(ADAPTIVE, &window[i], 3, 4);
        check_pool(ADAPTIVE, &window[i], 9, 2);
    }
}

struct loss_problem {
    double logits[35], target[35];
    uint32_t label[5];
};

static double xent_loss(const void *arg)
{
    const struct loss_problem *p = arg;

    return 0.3 * reference_softmax_xent(NULL, NULL, p->logits, p->label, 1.0, 5, 7);
}

static double square_loss(const void *arg)
{
    const struct loss_problem *p = arg;

    return reference_mean_square(NULL, p->logits, p->target, 35);
}

static void loss_gradients_are_slopes(void **state)
{
    struct loss_problem p = { .label = { 0, 6, 3, 3, 1 } };
    double grad[35];

    (void)state;
    fill(p.logits, 35, 1);
    fill(p.target, 35, 2);
    (void)reference_softmax_xent(grad, NULL, p.logits, p.label, 0.3, 5, 7);
    check_gradient(grad, p.logits, 35, xent_loss, &p);
    (void)reference_mean_square(grad, p.logits, p.target, 35);
    check_gradient(grad, p.logits, 35, square_loss, &p);
}

struct dropout_problem {
    double x[200], dy[200];
};

static double dropout_loss(const void *arg)
{
    const struct dropout_problem *p = arg;
    double y[200];

    memcpy(y, p->x, sizeof y);
    reference_dropout(y, 200, 0.6f, 77);
    return dot(y, p->dy, 200);
}

/* Dropout of the gradient is the gradient; it keeps its share; and SplitMix64 is SplitMix64. */
static void dropout_gradient_is_slope(void **state)
{
    struct dropout_problem p;
    double grad[200];
    size_t n_kept = 0;

    (void)state;
    fill(p.x, 200, 1);
    fill(p.dy, 200, 2);
    memcpy(grad, p.dy, sizeof grad);
    reference_dropout(grad, 200, 0.6f, 77);
    check_gradient(grad, p.x, 200, dropout_loss, &p);
    for (uint64_t i = 0; i < 100000; i++)
        n_kept += reference_kept(5, i, 0.6f);
    assert_true(n_kept > 59000 && n_kept < 61000); /* 6 standard deviations are 930 */
    /* Number 0 from state 0 is e220a8397b1dcdaf: its upper 24 bits are 0.88331... of 2^24. */
    assert_true(reference_kept(0, 0, 0.8834f));
    assert_false(reference_kept(0, 0, 0.8833f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_gradients_are_slopes),       cmocka_unit_test(bias_behind_relu_gradients_are_slopes),
        cmocka_unit_test(batch_norm_gradients_are_slopes), cmocka_unit_test(batch_norm_fold_is_batch_norm),
        cmocka_unit_test(pool_gradients_are_slopes),       cmocka_unit_test(loss_gradients_are_slopes),
        cmocka_unit_test(dropout_gradient_is_slope),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
