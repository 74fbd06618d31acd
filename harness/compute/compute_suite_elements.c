/* SPDX-License-Identifier: Apache-2.0 */
/* compute_suite_elements.c - GEMM and the element-wise operations against double precision. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compute/compute_suite_kit.h"

static void gemm_case(struct suite *s, const void *arg)
{
    struct gemm g = *(const struct gemm *)arg;
    const size_t M = (size_t)g.M, N = (size_t)g.N, K = (size_t)g.K;
    const float *a = suite_integers(s, M * K, 1), *b = suite_integers(s, K * N, 2);
    float *c = g.beta == 0.0f ? suite_dirty(s, M * N) : suite_integers(s, M * N, 3);
    double *want = g.beta == 0.0f ? suite_zeros(M * N) : suite_double(c, M * N);

    g.a = a;
    g.b = b;
    g.c = c;
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < K; k++)
                sum +=
                    (double)a[g.transpose_a ? k * M + i : i * K + k] * (double)b[g.transpose_b ? j * K + k : k * N + j];
            want[i * N + j] = want[i * N + j] * (double)g.beta + sum;
        }
    compute_gemm(s->c, &g);
    suite_check(s, "c", c, want, M * N, 0.0);
    free(want);
}

/* Real values: the error of a sum of K products, and equal bits at every alignment (C1). */
static void gemm_real_case(struct suite *s, const void *arg)
{
    struct gemm g = *(const struct gemm *)arg;
    const size_t M = (size_t)g.M, N = (size_t)g.N, K = (size_t)g.K;
    const float *a = suite_reals(s, M * K, 4), *b = suite_reals(s, K * N, 5);
    float *c = suite_dirty(s, M * N);
    double *want = suite_zeros(M * N);

    g.a = a;
    g.b = b;
    g.c = c;
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++)
            for (size_t k = 0; k < K; k++)
                want[i * N + j] +=
                    (double)a[g.transpose_a ? k * M + i : i * K + k] * (double)b[g.transpose_b ? j * K + k : k * N + j];
    compute_gemm(s->c, &g);
    suite_check(s, "c", c, want, M * N, 1e-6 * (double)K);
    free(want);
}

void suite_gemm(struct suite *s)
{
    static const int shape[][3] = { { 1, 1, 1 },    { 8, 1, 1 },    { 1, 8, 1 },    { 1, 1, 1000 },
                                    { 3, 5, 7 },    { 17, 13, 11 }, { 33, 65, 29 }, { 16, 300, 9 },
                                    { 16, 9, 300 }, { 32, 10, 64 }, { 1, 64, 128 }, { 128, 1, 64 } };
    static const float beta[] = { 0.0f, 1.0f, 0.5f };

    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        for (int t = 0; t < 4; t++) {
            struct gemm g = { .M = shape[i][0], .N = shape[i][1], .K = shape[i][2] };
            g.transpose_a = (t & 1) != 0;
            g.transpose_b = (t & 2) != 0;
            suite_run(s, "gemm, real values", gemm_real_case, &g);
            for (size_t k = 0; k < sizeof beta / sizeof beta[0]; k++) {
                g.beta = beta[k];
                suite_run(s, "gemm", gemm_case, &g);
            }
        }
}

struct box { /* (outer, n, inner) */
    size_t outer, n, inner;
};

static void bias_add_case(struct suite *s, const void *arg)
{
    const struct box *box = arg;
    const size_t n = box->outer * box->n * box->inner;
    float *y = suite_integers(s, n, 1), *bias = suite_integers(s, box->n, 2);
    double *want = suite_double(y, n);

    for (size_t i = 0; i < n; i++)
        want[i] += (double)bias[i / box->inner % box->n];
    compute_bias_add(s->c, y, bias, box->outer, box->n, box->inner);
    suite_check(s, "y", y, want, n, 0.0);
    free(want);
}

static void bias_grad_case(struct suite *s, const void *arg)
{
    const struct box *box = arg;
    const size_t n = box->outer * box->n * box->inner;
    float *dy = suite_integers(s, n, 1), *dbias = suite_integers(s, box->n, 2);
    double *want = suite_double(dbias, box->n);

    for (size_t i = 0; i < n; i++)
        want[i / box->inner % box->n] += (double)dy[i];
    compute_bias_grad(s->c, dbias, dy, box->outer, box->n, box->inner);
    suite_check(s, "dbias", dbias, want, box->n, 0.0);
    free(want);
}

static void bias_grad_real_case(struct suite *s, const void *arg)
{
    const struct box *box = arg;
    const size_t n = box->outer * box->n * box->inner;
    float *dy = suite_reals(s, n, 3), *dbias = suite_reals(s, box->n, 4);
    double *want = suite_double(dbias, box->n);

    for (size_t i = 0; i < n; i++)
        want[i / box->inner % box->n] += (double)dy[i];
    compute_bias_grad(s->c, dbias, dy, box->outer, box->n, box->inner);
    suite_check(s, "dbias", dbias, want, box->n, 1e-6 * (double)(box->outer * box->inner + 1));
    free(want);
}

static void swap_case(struct suite *s, const void *arg)
{
    const struct box *box = arg;
    const size_t n_a = box->outer, n_b = box->n, n_inner = box->inner, n = n_a * n_b * n_inner;
    float *in = suite_reals(s, n, 1), *out = suite_dirty(s, n);
    double *want = suite_zeros(n);

    for (size_t i = 0; i < n_a; i++)
        for (size_t j = 0; j < n_b; j++)
            for (size_t k = 0; k < n_inner; k++)
                want[(j * n_a + i) * n_inner + k] = (double)in[(i * n_b + j) * n_inner + k];
    compute_swap_axes(s->c, out, in, n_a, n_b, n_inner);
    suite_check(s, "out", out, want, n, 0.0);
    free(want);
}

static void relu_case(struct suite *s, const void *arg)
{
    const size_t n = *(const size_t *)arg;
    float *x = suite_integers(s, n, 1), *dx = suite_integers(s, n, 2);
    double *want = suite_double(x, n), *want_dx = suite_double(dx, n);

    for (size_t i = 0; i < n; i++) {
        want[i] = want[i] > 0.0 ? want[i] : 0.0;
        want_dx[i] = want[i] > 0.0 ? want_dx[i] : 0.0;
    }
    compute_relu(s->c, x, n);
    suite_check(s, "x", x, want, n, 0.0);
    compute_relu_grad(s->c, dx, x, n);
    suite_check(s, "dx", dx, want_dx, n, 0.0);
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    compute_relu(s->c, x, n);
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            suite_fail(s, "a NaN became %g", (double)x[i]);
    free(want);
    free(want_dx);
}

static void zero_case(struct suite *s, const void *arg)
{
    const size_t n = *(const size_t *)arg;
    float *x = suite_dirty(s, n), *y = suite_integers(s, n, 1), *more = suite_integers(s, n, 2);
    double *none = suite_zeros(n), *sum = suite_double(y, n);

    compute_zero(s->c, x, n);
    suite_check(s, "zero", x, none, n, 0.0);
    for (size_t i = 0; i < n; i++)
        sum[i] += (double)more[i];
    compute_accumulate(s->c, y, more, n);
    suite_check(s, "accumulate", y, sum, n, 0.0);
    free(none);
    free(sum);
}

/* Two steps with powers of two: exact, and the second sees the velocity of the first. */
static void sgd_case(struct suite *s, const void *arg)
{
    const struct sgd *sgd = arg;
    const size_t n = 67;
    const bool with_v = sgd->momentum != 0.0f;
    float *p = suite_integers(s, n, 1), *v = suite_integers(s, n, 2), *g = suite_integers(s, n, 3);
    double *want_p = suite_double(p, n), *want_v = suite_double(v, n), *want_g = suite_double(g, n);

    for (int step = 0; step < 2; step++) {
        for (size_t i = 0; i < n; i++) {
            const double d = (double)sgd->grad_scale * want_g[i] + (double)sgd->weight_decay * want_p[i];
            const double velocity = (double)sgd->momentum * want_v[i] + d;
            if (with_v)
                want_v[i] = velocity;
            want_p[i] -= (double)sgd->lr * velocity;
        }
        compute_sgd_step(s->c, p, with_v ? v : NULL, g, n, sgd);
    }
    suite_check(s, "p", p, want_p, n, 0.0);
    suite_check(s, "v", v, want_v, n, 0.0);
    suite_check(s, "g", g, want_g, n, 0.0);
    free(want_p);
    free(want_v);
    free(want_g);
}

/* Without gradient a velocity dies out, not into denormal numbers but to 0. */
static void sgd_fading_case(struct suite *s, const void *arg)
{
    const struct sgd sgd = { 0.5f, 0.5f, 0.0f, 1.0f };
    const size_t n = 19;
    float *p = suite_integers(s, n, 1), *v = suite_integers(s, n, 2), *g = suite_dirty(s, n);
    double *none = suite_zeros(n);

    (void)arg;
    for (size_t i = 0; i < n; i++)
        g[i] = 0.0f;
    for (int step = 0; step < 110; step++) /* 2^-110: small, still normal */
        compute_sgd_step(s->c, p, v, g, n, &sgd);
    suite_check(s, "v", v, none, n, 0.0);
    free(none);
}

void suite_elements(struct suite *s)
{
    static const struct box box[] = { { 1, 1, 1 },  { 1, 1, 100 }, { 1, 16, 64 }, { 3, 5, 1 },  { 7, 10, 1 },
                                      { 4, 3, 17 }, { 2, 33, 9 },  { 32, 8, 4 },  { 5, 1, 31 }, { 1, 3, 1000 } };
    static const size_t n_elems[] = { 0, 1, 3, 16, 97, 4099 };
    static const struct sgd sgd[] = { { 0.5f, 0.0f, 0.0f, 1.0f },
                                      { 0.5f, 0.5f, 0.0f, 1.0f },
                                      { 0.25f, 0.5f, 0.25f, 0.5f },
                                      { 0.5f, 0.0f, 0.5f, 0.25f },
                                      { 1.0f, 0.25f, 0.0f, 0.25f } };

    for (size_t i = 0; i < sizeof box / sizeof box[0]; i++) {
        suite_run(s, "bias_add", bias_add_case, &box[i]);
        suite_run(s, "bias_grad", bias_grad_case, &box[i]);
        suite_run(s, "bias_grad, real values", bias_grad_real_case, &box[i]);
        suite_run(s, "swap_axes", swap_case, &box[i]);
    }
    for (size_t i = 0; i < sizeof n_elems / sizeof n_elems[0]; i++) {
        suite_run(s, "relu", relu_case, &n_elems[i]);
        suite_run(s, "zero and accumulate", zero_case, &n_elems[i]);
    }
    for (size_t i = 0; i < sizeof sgd / sizeof sgd[0]; i++)
        suite_run(s, "sgd_step", sgd_case, &sgd[i]);
    suite_run(s, "sgd_step, fading", sgd_fading_case, NULL);
}
