/* SPDX-License-Identifier: Apache-2.0 */
/* compute_suite_layers.c - windows over images and losses, against double precision. */
#include <math.h>
#include <stdlib.h>

#include "harness/compute/compute_suite_kit.h"

static size_t in_elems(const struct window *g)
{
    return (size_t)g->B * (size_t)g->C * (size_t)g->H * (size_t)g->W;
}

static size_t out_elems(const struct window *g)
{
    return (size_t)g->B * (size_t)g->C * (size_t)window_out_h(g) * (size_t)window_out_w(g);
}

/* Flat index in x of what element k of col stands for; -1: padding. From the definition, digit by digit. */
static ptrdiff_t source_of(size_t k, const struct window *g)
{
    const size_t out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g);
    const size_t o_w = k % out_w, o_h = k / out_w % out_h, b = k / out_w / out_h % (size_t)g->B;
    const size_t row = k / out_w / out_h / (size_t)g->B;
    const size_t j = row % (size_t)g->kernel_w, i = row / (size_t)g->kernel_w % (size_t)g->kernel_h;
    const size_t c = row / (size_t)g->kernel_w / (size_t)g->kernel_h;
    const int h = (int)o_h * g->stride_h + (int)i - g->pad_h, w = (int)o_w * g->stride_w + (int)j - g->pad_w;

    if (h < 0 || h >= g->H || w < 0 || w >= g->W)
        return -1;
    return (((ptrdiff_t)b * g->C + (ptrdiff_t)c) * g->H + h) * g->W + w;
}

static void im2col_case(struct suite *s, const void *arg)
{
    const struct window *g = arg;
    const size_t n = out_elems(g) * (size_t)g->kernel_h * (size_t)g->kernel_w;
    float *x = suite_reals(s, in_elems(g), 1), *col = suite_dirty(s, n);
    double *want = suite_zeros(n);

    for (size_t k = 0; k < n; k++) {
        const ptrdiff_t from = source_of(k, g);
        want[k] = from < 0 ? 0.0 : (double)x[from];
    }
    compute_im2col(s->c, col, x, g);
    suite_check(s, "col", col, want, n, 0.0);
    free(want);
}

static void col2im_case(struct suite *s, const void *arg)
{
    const struct window *g = arg;
    const size_t n = out_elems(g) * (size_t)g->kernel_h * (size_t)g->kernel_w;
    float *dx = suite_dirty(s, in_elems(g)), *col = suite_integers(s, n, 2);
    double *want = suite_zeros(in_elems(g));

    for (size_t k = 0; k < n; k++) {
        const ptrdiff_t to = source_of(k, g);
        if (to >= 0)
            want[to] += (double)col[k];
    }
    compute_col2im(s->c, dx, col, g);
    suite_check(s, "dx", dx, want, in_elems(g), 0.0);
    free(want);
}

/* Few distinct values, all negative: ties in every window, and a padding zero would win. */
static void max_pool_case(struct suite *s, const void *arg)
{
    const struct window *g = arg;
    const size_t n = out_elems(g), out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g);
    float *x = suite_integers(s, in_elems(g), 1), *y = suite_dirty(s, n);
    uint32_t *at = suite_labels(s, n, 2);
    double *want = suite_zeros(n);

    for (size_t k = 0; k < in_elems(g); k++)
        x[k] -= 4.0f;
    compute_max_pool(s->c, y, at, x, g);
    for (size_t k = 0; k < n; k++) {
        const ptrdiff_t plane = (ptrdiff_t)(k / (out_h * out_w));
        const int top = (int)(k / out_w % out_h) * g->stride_h - g->pad_h;
        const int left = (int)(k % out_w) * g->stride_w - g->pad_w;
        ptrdiff_t best = -1;
        for (int h = top; h < top + g->kernel_h; h++)
            for (int w = left; w < left + g->kernel_w; w++) {
                const ptrdiff_t here = (plane * g->H + h) * g->W + w;
                if (h >= 0 && h < g->H && w >= 0 && w < g->W && (best < 0 || x[here] > x[best]))
                    best = here;
            }
        want[k] = (double)x[best];
        suite_check_one(s, "at", (double)at[k], (double)best, 0.0);
    }
    suite_check(s, "y", y, want, n, 0.0);
    free(want);
}

static void max_pool_grad_case(struct suite *s, const void *arg)
{
    const struct window *g = arg;
    const size_t n = out_elems(g);
    float *dx = suite_dirty(s, in_elems(g)), *dy = suite_integers(s, n, 2);
    uint32_t *at = suite_labels(s, n, (uint32_t)in_elems(g));
    double *want = suite_zeros(in_elems(g));

    for (size_t k = 0; k < n; k++)
        want[at[k]] += (double)dy[k];
    compute_max_pool_grad(s->c, dx, dy, at, g);
    suite_check(s, "dx", dx, want, in_elems(g), 0.0);
    free(want);
}

void suite_windows(struct suite *s)
{
    static const struct window window[] = {
        /* B  C  H  W   kernel  stride pad */
        { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 }, { 3, 1, 8, 8, 3, 3, 1, 1, 1, 1 },  { 2, 4, 4, 4, 3, 3, 1, 1, 1, 1 },
        { 2, 3, 5, 7, 3, 3, 1, 1, 0, 0 }, { 2, 3, 5, 7, 3, 2, 2, 1, 1, 0 },  { 1, 2, 9, 6, 5, 3, 2, 3, 2, 1 },
        { 3, 2, 8, 8, 2, 2, 2, 2, 0, 0 }, { 2, 1, 7, 9, 2, 2, 2, 2, 0, 0 },  { 2, 2, 7, 7, 3, 3, 2, 2, 1, 1 },
        { 2, 1, 2, 2, 5, 5, 1, 1, 2, 2 }, { 3, 1, 1, 1, 7, 7, 1, 1, 3, 3 },  { 1, 2, 6, 1, 3, 1, 1, 1, 1, 0 },
        { 1, 2, 1, 6, 1, 3, 1, 1, 0, 1 }, { 2, 3, 6, 6, 1, 1, 2, 2, 0, 0 },  { 1, 3, 11, 11, 7, 7, 4, 4, 2, 2 },
        { 2, 1, 4, 5, 4, 5, 1, 1, 0, 0 }, { 1, 1, 6, 6, 3, 3, 1, 1, 2, 2 },  { 1, 2, 5, 5, 2, 2, 3, 3, 0, 0 },
        { 2, 2, 8, 4, 3, 5, 1, 1, 1, 2 }, { 1, 1, 3, 20, 1, 5, 1, 1, 0, 2 },
    };

    for (size_t i = 0; i < sizeof window / sizeof window[0]; i++) {
        suite_run(s, "im2col", im2col_case, &window[i]);
        suite_run(s, "col2im", col2im_case, &window[i]);
        suite_run(s, "max_pool", max_pool_case, &window[i]);
        suite_run(s, "max_pool_grad", max_pool_grad_case, &window[i]);
    }
}

struct loss_case {
    size_t B, K;
    float scale; /* of the logits */
};

/* Reference: the definition, with the largest logit taken out in double. */
static double xent_reference(double *dlogits, size_t *n_correct, const float *logits, const uint32_t *label, size_t B,
                             size_t K)
{
    double loss = 0.0;

    *n_correct = 0;
    for (size_t i = 0; i < B; i++) {
        const float *row = logits + i * K;
        size_t top = 0;
        double sum = 0.0;
        for (size_t k = 0; k < K; k++)
            top = row[k] > row[top] ? k : top;
        for (size_t k = 0; k < K; k++)
            sum += exp((double)row[k] - (double)row[top]);
        for (size_t k = 0; k < K; k++)
            dlogits[i * K + k] =
                (exp((double)row[k] - (double)row[top]) / sum - (k == label[i] ? 1.0 : 0.0)) / (double)B;
        loss += log(sum) + (double)row[top] - (double)row[label[i]];
        *n_correct += top == label[i];
    }
    return loss / (double)B;
}

static void softmax_case(struct suite *s, const void *arg)
{
    const struct loss_case *l = arg;
    const size_t n = l->B * l->K;
    float *logits = suite_integers(s, n, 1), *dlogits = suite_dirty(s, n);
    uint32_t *label = suite_labels(s, l->B, (uint32_t)l->K);
    double *want = suite_zeros(n), loss = NAN;
    size_t n_correct = 0, want_correct;

    for (size_t i = 0; i < n; i++)
        logits[i] *= l->scale;
    const double want_loss = xent_reference(want, &want_correct, logits, label, l->B, l->K);
    compute_softmax_xent(s->c, &loss, dlogits, &n_correct, logits, label, l->B, l->K);
    suite_check_one(s, "loss", loss, want_loss, 1e-6 * (1.0 + want_loss));
    suite_check_one(s, "n_correct", (double)n_correct, (double)want_correct, 0.0);
    suite_check(s, "dlogits", dlogits, want, n, 1e-6 / (double)l->B);
    compute_softmax_xent(s->c, &loss, NULL, NULL, logits, label, l->B, l->K);
    suite_check_one(s, "loss without gradient", loss, want_loss, 1e-6 * (1.0 + want_loss));
    free(want);
}

static void mean_square_case(struct suite *s, const void *arg)
{
    const size_t n = *(const size_t *)arg;
    float *y = suite_integers(s, n, 1), *target = suite_integers(s, n, 2), *dy = suite_dirty(s, n);
    double *want = suite_zeros(n), sum = 0.0, loss = NAN;

    for (size_t i = 0; i < n; i++) {
        const double e = (double)y[i] - (double)target[i];
        sum += e * e;
        want[i] = 2.0 * e / (double)n;
    }
    compute_mean_square(s->c, &loss, dy, y, target, n);
    suite_check_one(s, "loss", loss, sum / (double)n, 1e-14 * sum);
    suite_check(s, "dy", dy, want, n, 4e-6 / (double)n);
    compute_mean_square(s->c, &loss, NULL, y, target, n);
    suite_check_one(s, "loss without gradient", loss, sum / (double)n, 1e-14 * sum);
    free(want);
}

/* Real values: equal bits at every alignment (C1). */
static void mean_square_real_case(struct suite *s, const void *arg)
{
    const size_t n = *(const size_t *)arg;
    float *y = suite_reals(s, n, 3), *target = suite_reals(s, n, 4);
    double sum = 0.0, loss = NAN;

    for (size_t i = 0; i < n; i++)
        sum += ((double)y[i] - (double)target[i]) * ((double)y[i] - (double)target[i]);
    compute_mean_square(s->c, &loss, NULL, y, target, n);
    suite_check_one(s, "loss", loss, sum / (double)n, 1e-6 * sum / (double)n);
}

void suite_losses(struct suite *s)
{
    static const struct loss_case loss[] = { { 1, 1, 1.0f },  { 1, 2, 1.0f },    { 32, 10, 0.7f },
                                             { 5, 3, 40.0f }, { 7, 10, 1000.f }, { 3, 1000, 2.0f } };
    static const size_t n_elems[] = { 1, 2, 8, 31, 100, 1000 };

    for (size_t i = 0; i < sizeof loss / sizeof loss[0]; i++)
        suite_run(s, "softmax_xent", softmax_case, &loss[i]);
    for (size_t i = 0; i < sizeof n_elems / sizeof n_elems[0]; i++) {
        suite_run(s, "mean_square", mean_square_case, &n_elems[i]);
        suite_run(s, "mean_square, real values", mean_square_real_case, &n_elems[i]);
    }
}
