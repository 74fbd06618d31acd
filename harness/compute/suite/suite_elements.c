/* SPDX-License-Identifier: Apache-2.0 */
/* suite_elements.c - GEMM and what works element by element. */
#include <math.h>

#include "harness/compute/suite/reference.h"
#include "harness/compute/suite/suite_kit.h"

enum { SUM_ARRAYS = 3 }; /* operands, at most */

static void gemm_of(struct suite *s, struct gemm g, bool exact)
{
    const size_t M = (size_t)g.M, N = (size_t)g.N, K = (size_t)g.K;
    struct array *a = suite_values(s, M * K, 1, exact), *b = suite_values(s, K * N, 2, exact);
    struct array *c = g.beta == 0.0f ? suite_dirty(s, M * N) : suite_values(s, M * N, 3, exact);
    double *want = suite_double(s, c);

    g.a = a->v;
    g.b = b->v;
    g.c = c->v;
    if (s->judging)
        reference_gemm(want, suite_double(s, a), suite_double(s, b), &g);
    compute_gemm(s->c, &g);
    suite_check(s, "c", c, want, exact ? 0.0 : suite_tolerance(s, K + 1));
}

static void gemm_case(struct suite *s, const void *arg)
{
    gemm_of(s, *(const struct gemm *)arg, true);
}

static void gemm_real_case(struct suite *s, const void *arg)
{
    gemm_of(s, *(const struct gemm *)arg, false);
}

void suite_gemm(struct suite *s)
{
    static const int shape[][3] = { { 1, 1, 1 },    { 8, 1, 1 },    { 1, 8, 1 },    { 1, 1, 1000 }, { 3, 5, 7 },
                                    { 17, 13, 11 }, { 33, 65, 29 }, { 16, 9, 300 }, { 32, 10, 64 }, { 1, 64, 128 },
                                    { 128, 1, 64 }, { 5, 3001, 9 }, { 301, 7, 40 }, { 2, 4100, 27 } };
    static const float beta[] = { 0.0f, 1.0f, 0.5f };

    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        for (int t = 0; t < 4; t++) {
            struct gemm g = { .M = shape[i][0], .N = shape[i][1], .K = shape[i][2], .beta = beta[(i + 1) % 3] };
            g.transpose_a = (t & 1) != 0;
            g.transpose_b = (t & 2) != 0;
            s->case_index = 4 * i + (size_t)t;
            suite_run_product(s, "gemm, reals", gemm_real_case, &g);
            for (size_t k = 0; k < sizeof beta / sizeof beta[0]; k++) {
                g.beta = beta[k];
                suite_run_product(s, "gemm", gemm_case, &g);
            }
        }
    s->case_index = 0;
}

struct box { /* (outer, n, inner) */
    size_t outer, n, inner;
};

static void bias_add_case(struct suite *s, const void *arg)
{
    const struct box *box = arg;
    struct array *y = suite_integers(s, box->outer * box->n * box->inner, 1), *bias = suite_integers(s, box->n, 2);
    double *want = suite_double(s, y);

    reference_bias_add(want, suite_double(s, bias), box->outer, box->n, box->inner);
    compute_bias_add(s->c, y->v, bias->v, box->outer, box->n, box->inner);
    suite_check(s, "y", y, want, 0.0);
}

static void bias_grad_of(struct suite *s, const struct box *box, bool exact)
{
    struct array *dy = suite_values(s, box->outer * box->n * box->inner, 1, exact);
    struct array *dbias = suite_values(s, box->n, 2, exact);
    double *want = suite_double(s, dbias);

    reference_bias_grad(want, suite_double(s, dy), box->outer, box->n, box->inner);
    compute_bias_grad(s->c, dbias->v, dy->v, box->outer, box->n, box->inner);
    suite_check(s, "dbias", dbias, want, exact ? 0.0 : suite_tolerance_fp32(box->outer * box->inner + 1));
}

static void bias_grad_case(struct suite *s, const void *arg)
{
    bias_grad_of(s, arg, true);
}

static void bias_grad_real_case(struct suite *s, const void *arg)
{
    bias_grad_of(s, arg, false);
}

static void swap_case(struct suite *s, const void *arg)
{
    const struct box *box = arg;
    const size_t n = box->outer * box->n * box->inner;
    struct array *in = suite_reals(s, n, 1), *out = suite_dirty(s, n);
    double *want = suite_zeros(s, n);

    reference_swap_axes(want, suite_double(s, in), box->outer, box->n, box->inner);
    compute_swap_axes(s->c, out->v, in->v, box->outer, box->n, box->inner);
    suite_check(s, "out", out, want, 0.0);
}

static void relu_grad_case(struct suite *s, const void *arg)
{
    const size_t n = *(const size_t *)arg;
    struct array *dx = suite_integers(s, n, 2), *out = suite_integers(s, n, 1);
    double *want = suite_double(s, out), *want_dx = suite_double(s, dx);

    reference_relu(want, n);
    reference_relu_grad(want_dx, want, n);
    compute_relu_grad(s->c, dx->v, out->v, n); /* of what is below 0, too */
    suite_check(s, "dx", dx, want_dx, 0.0);
}

static void zero_case(struct suite *s, const void *arg)
{
    const size_t n = *(const size_t *)arg;
    struct array *x = suite_dirty(s, n), *y = suite_integers(s, n, 1), *more = suite_integers(s, n, 2);
    double *sum = suite_double(s, y);

    compute_zero(s->c, x->v, n);
    suite_check(s, "zero", x, suite_zeros(s, n), 0.0);
    for (size_t i = 0; i < n; i++)
        sum[i] += (double)more->host[i];
    compute_accumulate(s->c, y->v, more->v, n);
    suite_check(s, "accumulate", y, sum, 0.0);
}

static float rounded_to(float x, enum wire_format format)
{
    return format == WIRE_F16 ? f32_of_f16(f16_of_f32(x)) : f32_of_bf16(bf16_of_f32(x));
}

struct sum_of { /* n_operands arrays of reals, into the last n_results of them or into others */
    size_t n;
    int n_operands, n_results;
    bool in_place;
};

/* Rounded as adding in order does. */
static void sum_case(struct suite *s, const void *arg)
{
    const struct sum_of *sum = arg;
    struct array *operand[SUM_ARRAYS], *result[SUM_ARRAYS];
    const float *from[SUM_ARRAYS];
    float *to[SUM_ARRAYS];
    double *want = suite_zeros(s, sum->n);

    if (!s->ops->sum_arrays)
        return;
    for (int j = 0; j < sum->n_operands; j++) {
        operand[j] = suite_reals(s, sum->n, (uint64_t)j + 1);
        from[j] = operand[j]->v;
        for (size_t i = 0; i < sum->n; i++)
            want[i] = (double)((float)want[i] + operand[j]->host[i]);
    }
    for (int k = 0; k < sum->n_results; k++) {
        result[k] = sum->in_place ? operand[sum->n_operands - sum->n_results + k] : suite_dirty(s, sum->n);
        to[k] = result[k]->v;
    }
    compute_sum_arrays(s->c, &(struct sum_arrays){ from, to, sum->n_operands, sum->n_results, sum->n });
    for (int k = 0; k < sum->n_results; k++)
        suite_check(s, "a sum of arrays", result[k], want, 0.0);
}

/* The rounding itself is narrow_test.c's. Those of 16 bits are in memory of as many floats. */
static void narrow_case(struct suite *s, const void *arg)
{
    const size_t n = *(const size_t *)arg;

    for (enum wire_format format = WIRE_F16; format <= WIRE_BF16 && s->ops->narrow; format++) {
        struct array *x = suite_reals(s, n, 1), *y = suite_integers(s, n, 2), *wide = suite_dirty(s, n);
        struct array *half = suite_dirty(s, n), *given = suite_reals(s, n, 3), *residual = suite_reals(s, n, 4);
        struct array *alone = suite_reals(s, n, 5);
        double *sum = suite_double(s, y), *want = suite_zeros(s, n), *sent = suite_zeros(s, n),
               *rest = suite_zeros(s, n);
        double *rounded = suite_zeros(s, n);
        for (size_t i = 0; i < n; i++) {
            const float fed = given->host[i] + residual->host[i];
            want[i] = (double)rounded_to(x->host[i], format);
            sum[i] = (double)(y->host[i] + rounded_to(x->host[i], format));
            sent[i] = (double)rounded_to(fed, format);
            rest[i] = (double)(fed - rounded_to(fed, format));
            rounded[i] = (double)rounded_to(alone->host[i], format);
        }
        suite_ignore(s, half);
        compute_narrow(s->c, (uint16_t *)(void *)half->v, x->v, n, format);
        compute_widen(s->c, wide->v, (const uint16_t *)(void *)half->v, n, format, false);
        compute_widen(s->c, y->v, (const uint16_t *)(void *)half->v, n, format, true);
        compute_round(s->c, given->v, residual->v, n, format, true);
        compute_round(s->c, alone->v, NULL, n, format, false);
        suite_check(s, "widened", wide, want, 0.0);
        suite_check(s, "widened and added", y, sum, 0.0);
        suite_check(s, "rounded with a residual", given, sent, 0.0);
        suite_check(s, "the residual", residual, rest, 0.0);
        suite_check(s, "rounded", alone, rounded, 0.0);
        suite_end_arrays(s, "narrow");
    }
}

/* Powers of two: exact. A second time with the same key gives the same mask, which is how gradients get it. */
static void dropout_case(struct suite *s, const void *arg)
{
    static const float keep[] = { 0.5f, 0.25f, 1.0f };
    const size_t n = *(const size_t *)arg;

    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t key = UINT64_C(0xfedcba9876543210) * (i + 1);
        struct array *x = suite_integers(s, n, i), *dx = suite_constant(s, n, 1.0f);
        double *want = suite_double(s, x), *want_dx = suite_double(s, dx);
        reference_dropout(want, n, keep[i], key);
        reference_dropout(want_dx, n, keep[i], key);
        compute_dropout(s->c, x->v, n, keep[i], key);
        compute_dropout(s->c, dx->v, n, keep[i], key);
        suite_check(s, "x", x, want, 0.0);
        suite_check(s, "dx", dx, want_dx, 0.0);
    }
}

static void dropout_real_case(struct suite *s, const void *arg)
{
    const size_t n = *(const size_t *)arg;
    struct array *x = suite_reals(s, n, 1);
    double *want = suite_double(s, x);

    reference_dropout(want, n, 0.7f, 12345);
    compute_dropout(s->c, x->v, n, 0.7f, 12345);
    suite_check(s, "x", x, want, suite_tolerance_fp32(0));
}

/* Two steps with powers of two: exact, and the second sees the velocity of the first. */
static void sgd_case(struct suite *s, const void *arg)
{
    const struct sgd *sgd = arg;
    const size_t n = 140001;
    const bool with_v = sgd->momentum != 0.0f;
    struct array *p = suite_integers(s, n, 1), *v = with_v ? suite_integers(s, n, 2) : NULL;
    struct array *g = suite_integers(s, n, 3);
    double *want_p = suite_double(s, p), *want_v = suite_double(s, v);

    for (int step = 0; step < 2; step++) {
        reference_sgd_step(want_p, want_v, suite_double(s, g), n, sgd);
        compute_sgd_step(s->c, p->v, with_v ? v->v : NULL, g->v, n, sgd);
    }
    suite_check(s, "p", p, want_p, 0.0);
    if (with_v)
        suite_check(s, "v", v, want_v, 0.0);
}

/* As optimisers are set in earnest: rounded, and the same bits with any number of threads. */
static void sgd_real_case(struct suite *s, const void *arg)
{
    const struct sgd sgd = { 0.01f, 0.9f, 5e-4f, 1.0f / 3.0f };
    const size_t n = *(const size_t *)arg;
    struct array *p = suite_reals(s, n, 1), *v = suite_reals(s, n, 2), *g = suite_reals(s, n, 3);
    double *want_p = suite_double(s, p), *want_v = suite_double(s, v);

    reference_sgd_step(want_p, want_v, suite_double(s, g), n, &sgd);
    compute_sgd_step(s->c, p->v, v->v, g->v, n, &sgd);
    suite_check(s, "p", p, want_p, suite_tolerance_fp32(0));
    suite_check(s, "v", v, want_v, suite_tolerance_fp32(0));
}

/* Without gradient a velocity dies out, not into denormal numbers but to 0. */
static void sgd_fading_case(struct suite *s, const void *arg)
{
    const struct sgd sgd = { 0.5f, 0.5f, 0.0f, 1.0f };
    const size_t n = 19;
    struct array *p = suite_integers(s, n, 1), *v = suite_integers(s, n, 2), *g = suite_constant(s, n, 0.0f);

    (void)arg;
    for (int step = 0; step < 110; step++) /* 2^-110: small, still normal */
        compute_sgd_step(s->c, p->v, v->v, g->v, n, &sgd);
    suite_ignore(s, p);
    suite_check(s, "v", v, suite_zeros(s, n), 0.0);
}

void suite_elements(struct suite *s)
{
    static const struct box box[] = {
        { 1, 1, 1 },    { 1, 1, 100 },  { 1, 16, 64 },   { 3, 5, 1 },     { 7, 10, 1 },
        { 4, 3, 17 },   { 2, 33, 9 },   { 32, 8, 4 },    { 5, 1, 31 },    { 1, 3, 1000 },
        { 3, 2, 9001 }, { 2000, 7, 1 }, { 1, 2, 70001 }, { 331, 433, 1 }, { 40, 50, 101 }
    };
    static const size_t n_elems[] = { 0, 1, 3, 16, 97, 4099, 140001 };
    static const struct sum_of sums[] = { { 0, 2, 2, true },       { 1, 2, 2, true },      { 97, 1, 1, false },
                                          { 97, 2, 1, false },     { 97, 2, 1, true },     { 4099, 2, 2, true },
                                          { 4099, 2, 2, false },   { 4099, 3, 1, true },   { 4099, 3, 2, false },
                                          { 4099, 3, 3, true },    { 140001, 3, 3, true }, { 140001, 2, 2, true },
                                          { 140001, 2, 2, false }, { 270001, 2, 1, false } };
    static const struct sgd sgd[] = { { 0.5f, 0.0f, 0.0f, 1.0f },
                                      { 0.25f, 0.5f, 0.0f, 1.0f },
                                      { 0.5f, 0.25f, 0.5f, 0.5f },
                                      { 0.5f, 0.0f, 0.25f, 0.25f } };

    SUITE_RUN_EACH(s, "bias_add", bias_add_case, box);
    SUITE_RUN_EACH(s, "bias_grad", bias_grad_case, box);
    SUITE_RUN_EACH(s, "bias_grad, reals", bias_grad_real_case, box);
    SUITE_RUN_EACH(s, "swap_axes", swap_case, box);
    SUITE_RUN_EACH(s, "relu_grad", relu_grad_case, n_elems);
    SUITE_RUN_EACH(s, "zero, accumulate", zero_case, n_elems);
    SUITE_RUN_EACH(s, "sum_arrays", sum_case, sums);
    SUITE_RUN_EACH(s, "narrow, widen, round", narrow_case, n_elems);
    SUITE_RUN_EACH(s, "dropout", dropout_case, n_elems);
    SUITE_RUN_EACH(s, "dropout, reals", dropout_real_case, n_elems);
    SUITE_RUN_EACH(s, "sgd_step", sgd_case, sgd);
    SUITE_RUN_EACH(s, "sgd_step, reals", sgd_real_case, n_elems);
    suite_run(s, "sgd_step without gradient", sgd_fading_case, NULL);
}
