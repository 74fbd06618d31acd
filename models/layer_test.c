/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_test.c - each layer, forward and backward, against the reference and central differences.
 *
 * The loss is sum(r * y) with a random r, so dy is r. A layer is linear in each of its arguments:
 * central differences in double are exact but for rounding.
 *
 * usage: layer_test conv | dense | init
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "models/layer_conv.h"
#include "models/layer_dense.h"
#include "models/reference.h"

enum { MAX_ELEMS = 8192 };

/* Values in float, and the same in double. */
struct values {
    float f[MAX_ELEMS];
    double d[MAX_ELEMS];
    size_t n;
};

static void draw(struct values *v, size_t n, uint64_t stream)
{
    assert_true(n <= MAX_ELEMS);
    v->n = n;
    for (size_t i = 0; i < n; i++) {
        v->f[i] = (float)(2.0 * rng_uniform(stream, RNG_TEST, i) - 1.0);
        v->d[i] = (double)v->f[i];
    }
}

static void assert_near(const float *got, const double *want, size_t n, double relative)
{
    double scale = 0.0;

    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(want[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= relative * scale))
            fail_msg("[%zu] is %.9g, should be %.9g (scale %.3g)", i, (double)got[i], want[i], scale);
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* (B, C, n) <-> (C, B, n) */
static void swap(float *out, const double *in, int n_a, int n_b, int n_inner)
{
    for (int a = 0; a < n_a; a++)
        for (int b = 0; b < n_b; b++)
            for (int i = 0; i < n_inner; i++)
                out[(b * n_a + a) * n_inner + i] = (float)in[(a * n_b + b) * n_inner + i];
}

struct conv_test {
    struct reference_conv g;
    struct conv layer;
    struct values x, param, r, y; /* reference layout */
    float col[MAX_ELEMS * 4], cx[MAX_ELEMS], cy[MAX_ELEMS], cr[MAX_ELEMS], cdx[MAX_ELEMS], grad[MAX_ELEMS];
    double want[MAX_ELEMS];
    float want_f[MAX_ELEMS];
};

static double conv_loss(struct conv_test *t)
{
    reference_conv(t->y.d, t->x.d, t->param.d, t->param.d + t->layer.bias.at, &t->g);
    return dot(t->r.d, t->y.d, t->y.n);
}

/* want[i] := d loss / d at[i]. */
static void conv_differences(struct conv_test *t, double *at, size_t n)
{
    const double h = 1e-3;

    for (size_t i = 0; i < n; i++) {
        const double was = at[i];
        at[i] = was + h;
        const double above = conv_loss(t);
        at[i] = was - h;
        t->want[i] = (above - conv_loss(t)) / (2.0 * h);
        at[i] = was;
    }
}

static void conv_open(struct conv_test *t, const struct reference_conv *g)
{
    const struct window in = { 0,           g->C,        g->H,        g->W,     g->kernel_h,
                               g->kernel_w, g->stride_h, g->stride_w, g->pad_h, g->pad_w };
    size_t n_params = 0;

    t->g = *g;
    conv_init(&t->layer, &n_params, &in, g->C_out);
    assert_int_equal(n_params, g->C_out * (g->C * g->kernel_h * g->kernel_w + 1));
    t->y.n = conv_y_elems(&t->layer, (size_t)g->B);
    assert_true(conv_col_elems(&t->layer, (size_t)g->B) <= sizeof t->col / sizeof t->col[0]);
    draw(&t->x, conv_x_elems(&t->layer, (size_t)g->B), 1);
    draw(&t->param, n_params, 2);
    draw(&t->r, t->y.n, 3);
    swap(t->cx, t->x.d, g->B, g->C, g->H * g->W);
    swap(t->cr, t->r.d, g->B, g->C_out, reference_out_h(g) * reference_out_w(g));
}

static void check_conv(struct conv_test *t, struct compute *c, const struct reference_conv *g)
{
    const size_t B = (size_t)g->B;
    const struct conv *l = &t->layer;
    const int out_plane = reference_out_h(g) * reference_out_w(g);

    conv_open(t, g);
    conv_loss(t);
    conv_forward(l, c, t->cy, t->col, t->cx, t->param.f, B);
    swap(t->want_f, t->y.d, g->B, g->C_out, out_plane);
    for (size_t i = 0; i < t->y.n; i++)
        t->want[i] = (double)t->want_f[i];
    assert_near(t->cy, t->want, t->y.n, 1e-5);

    memset(t->grad, 0xff, sizeof t->grad); /* gradients are set, not added to */
    conv_bias_grad(l, c, t->grad, t->cr, B);
    conv_weight_grad(l, c, t->grad, t->cr, t->col, B);
    conv_differences(t, t->param.d, t->param.n);
    assert_near(t->grad, t->want, t->param.n, 1e-5);

    conv_input_grad(l, c, t->cdx, t->col, t->cr, t->param.f, B);
    conv_differences(t, t->x.d, t->x.n);
    swap(t->want_f, t->want, g->B, g->C, g->H * g->W);
    for (size_t i = 0; i < t->x.n; i++)
        t->want[i] = (double)t->want_f[i];
    assert_near(t->cdx, t->want, t->x.n, 1e-5);
}

static void conv_matches_central_differences(void **state)
{
    static const struct reference_conv shape[] = {
        /* B  C  H  W  C_out kernel stride pad */
        { 3, 2, 4, 4, 3, 3, 3, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 }, { 2, 3, 5, 6, 4, 3, 2, 1, 1, 0, 1 },
        { 2, 2, 7, 5, 3, 3, 3, 2, 2, 1, 1 }, { 2, 1, 6, 9, 2, 5, 3, 2, 3, 2, 1 }, { 3, 4, 3, 3, 2, 1, 1, 1, 1, 0, 0 },
        { 1, 3, 4, 4, 5, 4, 4, 1, 1, 0, 0 },
    };
    struct conv_test *t = calloc(1, sizeof *t);
    struct compute *c = NULL;

    (void)state;
    assert_non_null(t);
    assert_int_equal(compute_open(&c, &compute_cpu, NULL), RC_OK);
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        check_conv(t, c, &shape[i]);
    compute_close(&c);
    free(t);
}

struct dense_test {
    struct values x, param, r, y;
    float grad[MAX_ELEMS], dx[MAX_ELEMS], out[MAX_ELEMS];
    double want[MAX_ELEMS];
};

static void dense_differences(struct dense_test *t, const struct dense *l, int B, double *at, size_t n)
{
    const double h = 1e-3;

    for (size_t i = 0; i < n; i++) {
        const double was = at[i];
        double loss[2];
        for (int side = 0; side < 2; side++) {
            at[i] = side == 0 ? was - h : was + h;
            reference_dense(t->y.d, t->x.d, t->param.d, t->param.d + l->bias.at, B, l->K, l->N);
            loss[side] = dot(t->r.d, t->y.d, t->y.n);
        }
        t->want[i] = (loss[1] - loss[0]) / (2.0 * h);
        at[i] = was;
    }
}

static void check_dense(struct dense_test *t, struct compute *c, int B, int K, int N)
{
    struct dense l;
    size_t n_params = 0;

    dense_init(&l, &n_params, K, N);
    assert_int_equal(n_params, N * K + N);
    draw(&t->x, (size_t)B * (size_t)K, 1);
    draw(&t->param, n_params, 2);
    draw(&t->r, (size_t)B * (size_t)N, 3);
    t->y.n = t->r.n;
    reference_dense(t->y.d, t->x.d, t->param.d, t->param.d + l.bias.at, B, K, N);
    dense_forward(&l, c, t->out, t->x.f, t->param.f, (size_t)B);
    assert_near(t->out, t->y.d, t->y.n, 1e-5);

    memset(t->grad, 0xff, sizeof t->grad);
    dense_bias_grad(&l, c, t->grad, t->r.f, (size_t)B);
    dense_weight_grad(&l, c, t->grad, t->r.f, t->x.f, (size_t)B);
    dense_differences(t, &l, B, t->param.d, n_params);
    assert_near(t->grad, t->want, n_params, 1e-5);
    dense_input_grad(&l, c, t->dx, t->r.f, t->param.f, (size_t)B);
    dense_differences(t, &l, B, t->x.d, t->x.n);
    assert_near(t->dx, t->want, t->x.n, 1e-5);
}

static void dense_matches_central_differences(void **state)
{
    static const int shape[][3] = { { 1, 1, 1 }, { 5, 7, 3 }, { 1, 20, 10 }, { 17, 1, 4 }, { 8, 33, 1 } };
    struct dense_test *t = calloc(1, sizeof *t);
    struct compute *c = NULL;

    (void)state;
    assert_non_null(t);
    assert_int_equal(compute_open(&c, &compute_cpu, NULL), RC_OK);
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        check_dense(t, c, shape[i][0], shape[i][1], shape[i][2]);
    compute_close(&c);
    free(t);
}

static void he_has_the_right_spread(void **state)
{
    enum { N = 20000 };
    const struct segment s = { .at = 5, .n_elems = N };
    float *param = calloc(N + 10, sizeof *param);
    double sum = 0.0, squares = 0.0;

    (void)state;
    assert_non_null(param);
    layer_init_he(param, s, 50, 9);
    for (size_t i = 0; i < N; i++) {
        sum += (double)param[5 + i];
        squares += (double)param[5 + i] * (double)param[5 + i];
    }
    assert_true(fabs(sum / N) < 5.0 * 0.2 / sqrt(N));
    assert_true(fabs(squares / N / 0.04 - 1.0) < 5.0 * sqrt(2.0 / N));
    for (size_t i = 0; i < 5; i++)
        assert_true(param[i] == 0.0f && param[5 + N + i] == 0.0f);
    free(param);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest conv[] = { cmocka_unit_test(conv_matches_central_differences) };
    const struct CMUnitTest dense[] = { cmocka_unit_test(dense_matches_central_differences) };
    const struct CMUnitTest init[] = { cmocka_unit_test(he_has_the_right_spread) };
    const char *what = argc == 2 ? argv[1] : "";

    if (strcmp(what, "conv") == 0)
        return cmocka_run_group_tests(conv, NULL, NULL);
    if (strcmp(what, "dense") == 0)
        return cmocka_run_group_tests(dense, NULL, NULL);
    if (strcmp(what, "init") == 0)
        return cmocka_run_group_tests(init, NULL, NULL);
    fprintf(stderr, "usage: layer_test conv | dense | init\n");
    return 2;
}
