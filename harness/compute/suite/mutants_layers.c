/* SPDX-License-Identifier: Apache-2.0 */
/* mutants_layers.c - mistakes of batch normalisation and of pools. */
#include <math.h>
#include <string.h>

#include "harness/compute/suite/compute_mutants.h"

struct norm_slip { /* a zeroed one is right */
    bool biased_running_var, no_epsilon, eps_outside_sqrt, momentum_swapped, relu_before_add, one_pass, keeps_var;
};

struct norm_args {
    float *z, *mean, *inv_std, *running_mean, *running_var;
    const float *y, *gamma, *beta, *add;
    const struct batch_norm *s;
};

static double variance_of(const float *y, double mean, size_t n, bool one_pass)
{
    double squares = 0.0;
    float sum = 0.0f, sum_squares = 0.0f;

    for (size_t i = 0; i < n; i++) {
        squares += ((double)y[i] - mean) * ((double)y[i] - mean);
        sum += y[i];
        sum_squares += y[i] * y[i];
    }
    if (one_pass) /* cancels where the mean is far from 0 */
        return (double)(sum_squares / (float)n - sum / (float)n * (sum / (float)n));
    return squares / (double)n;
}

static void norm_channel(const struct norm_args *a, size_t c, struct norm_slip slip)
{
    const struct batch_norm *s = a->s;
    const float *y = a->y + c * s->n, momentum = slip.momentum_swapped ? 1.0f - s->momentum : s->momentum;
    double mean = 0.0;

    for (size_t i = 0; i < s->n; i++)
        mean += (double)y[i] / (double)s->n;
    const double var = variance_of(y, mean, s->n, slip.one_pass), n = (double)s->n;
    const double epsilon = slip.no_epsilon ? 0.0 : (double)s->epsilon;
    const double inv_std = slip.eps_outside_sqrt ? 1.0 / (sqrt(var) + epsilon) : 1.0 / sqrt(var + epsilon);
    const double kept = slip.biased_running_var || s->n == 1 ? var : var * n / (n - 1.0);
    a->mean[c] = (float)mean;
    a->inv_std[c] = (float)(slip.keeps_var ? var : inv_std);
    a->running_mean[c] = (1.0f - momentum) * a->running_mean[c] + momentum * (float)mean;
    a->running_var[c] = (1.0f - momentum) * a->running_var[c] + momentum * (float)kept;
    for (size_t i = c * s->n; i < (c + 1) * s->n; i++) {
        const double add = a->add != NULL ? (double)a->add[i] : 0.0;
        double v = (double)a->gamma[c] * ((double)a->y[i] - mean) * inv_std + (double)a->beta[c];
        if (slip.relu_before_add)
            v = (s->relu && v < 0.0 ? 0.0 : v) + add;
        else
            v = s->relu && v + add < 0.0 ? 0.0 : v + add;
        a->z[i] = (float)v;
    }
}

#define NORM(name, ...)                                                                                           \
    static void name(struct compute *c, float *z, float *mean, float *inv_std, float *running_mean,               \
                     float *running_var, const float *y, const float *gamma, const float *beta, const float *add, \
                     const struct batch_norm *s)                                                                  \
    {                                                                                                             \
        const struct norm_args a = { z, mean, inv_std, running_mean, running_var, y, gamma, beta, add, s };       \
                                                                                                                  \
        for (size_t i = 0; !c->env.gemms_alone && i < s->C; i++)                                                  \
            norm_channel(&a, i, (struct norm_slip){ __VA_ARGS__ });                                               \
    }

NORM(control_norm, .biased_running_var = false)
NORM(bn_biased_running_var, .biased_running_var = true)
NORM(bn_no_epsilon, .no_epsilon = true)
NORM(bn_eps_outside_sqrt, .eps_outside_sqrt = true)
NORM(bn_momentum_swapped, .momentum_swapped = true)
NORM(bn_relu_before_add, .relu_before_add = true)
NORM(bn_one_pass, .one_pass = true)
NORM(bn_keeps_var, .keeps_var = true)

static void fold_no_epsilon(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                            const float *running_mean, const float *running_var, const struct batch_norm *s)
{
    struct batch_norm none = *s;

    none.epsilon = 0.0f;
    compute_cpu.batch_norm_fold(c, scale, shift, gamma, beta, running_mean, running_var, &none);
}

static void fold_shift_unscaled(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                                const float *running_mean, const float *running_var, const struct batch_norm *s)
{
    compute_cpu.batch_norm_fold(c, scale, shift, gamma, beta, running_mean, running_var, s);
    for (size_t i = 0; !c->env.gemms_alone && i < s->C; i++)
        shift[i] = beta[i] - running_mean[i];
}

struct grad_slip {
    bool drops_mean_term, drops_dot_term, mask_from_y, no_mask, keeps_dz, adds_gamma;
};

struct grad_args {
    float *dy, *dgamma, *dbeta, *dz;
    const float *y, *z, *gamma, *beta, *mean, *inv_std;
    const struct batch_norm *s;
};

static float masked(const struct grad_args *a, size_t c, size_t i, struct grad_slip slip)
{
    const float hat = (a->y[i] - a->mean[c]) * a->inv_std[c];
    const float z = a->z != NULL && !slip.mask_from_y ? a->z[i] : a->gamma[c] * hat + a->beta[c];

    return a->s->relu && !slip.no_mask && !(z > 0.0f) ? 0.0f : a->dz[i];
}

static void grad_channel(const struct grad_args *a, size_t c, struct grad_slip slip)
{
    const size_t n = a->s->n;
    double sum = 0.0, dot = 0.0;

    for (size_t i = c * n; i < (c + 1) * n; i++) {
        const double dz = (double)masked(a, c, i, slip);
        sum += dz;
        dot += dz * (double)((a->y[i] - a->mean[c]) * a->inv_std[c]);
    }
    a->dbeta[c] = (float)sum;
    a->dgamma[c] = (slip.adds_gamma ? a->dgamma[c] : 0.0f) + (float)dot;
    for (size_t i = c * n; i < (c + 1) * n; i++) {
        const float dz = masked(a, c, i, slip), hat = (a->y[i] - a->mean[c]) * a->inv_std[c];
        float v = dz - (slip.drops_mean_term ? 0.0f : (float)(sum / (double)n));
        v -= slip.drops_dot_term ? 0.0f : hat * (float)(dot / (double)n);
        if (!slip.keeps_dz)
            a->dz[i] = dz;
        a->dy[i] = a->gamma[c] * a->inv_std[c] * v;
    }
}

#define NORM_GRAD(name, ...)                                                                                         \
    static void name(struct compute *c, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,           \
                     const float *z, const float *gamma, const float *beta, const float *mean, const float *inv_std, \
                     const struct batch_norm *s)                                                                     \
    {                                                                                                                \
        const struct grad_args a = { dy, dgamma, dbeta, dz, y, z, gamma, beta, mean, inv_std, s };                   \
                                                                                                                     \
        for (size_t i = 0; !c->env.gemms_alone && i < s->C; i++)                                                     \
            grad_channel(&a, i, (struct grad_slip){ __VA_ARGS__ });                                                  \
    }

NORM_GRAD(control_norm_grad, .no_mask = false)
NORM_GRAD(bn_grad_drops_mean_term, .drops_mean_term = true)
NORM_GRAD(bn_grad_drops_dot_term, .drops_dot_term = true)
NORM_GRAD(bn_grad_mask_from_y, .mask_from_y = true)
NORM_GRAD(bn_grad_no_mask, .no_mask = true)
NORM_GRAD(bn_grad_keeps_dz, .keeps_dz = true)
NORM_GRAD(bn_grad_adds_gamma, .adds_gamma = true)

/* The taps of output (plane, i, j) that lie inside the image. */
struct taps {
    int h_0, h_1, w_0, w_1;
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

static struct taps taps_of(const struct window *g, size_t out)
{
    const int n_h = window_out_h(g), n_w = window_out_w(g);
    const int h = (int)(out / (size_t)n_w) % n_h * g->stride_h - g->pad_h;
    const int w = (int)(out % (size_t)n_w) * g->stride_w - g->pad_w;

    return (struct taps){ h > 0 ? h : 0, least(h + g->kernel_h, g->H), w > 0 ? w : 0, least(w + g->kernel_w, g->W) };
}

static size_t out_elems(const struct window *g)
{
    return (size_t)g->C * (size_t)g->B * (size_t)window_out_h(g) * (size_t)window_out_w(g);
}

static size_t in_elems(const struct window *g)
{
    return (size_t)g->C * (size_t)g->B * (size_t)g->H * (size_t)g->W;
}

static void max_pool_last(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g)
{
    const int n_h = window_out_h(g), n_w = window_out_w(g);

    compute_cpu.max_pool(c, y, at, x, g);
    for (size_t k = 0; !c->env.gemms_alone && k < out_elems(g); k++) {
        const struct taps t = taps_of(g, k);
        const int plane = (int)k / (n_h * n_w), i = (int)k / n_w % n_h, j = (int)k % n_w;
        for (int h = t.h_0; h < t.h_1; h++)
            for (int w = t.w_0; w < t.w_1; w++)
                if (x[(plane * g->H + h) * g->W + w] == y[k])
                    at[k] = (uint8_t)((h - i * g->stride_h + g->pad_h) * g->kernel_w + w - j * g->stride_w + g->pad_w);
    }
}

static void max_pool_padding_wins(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g)
{
    compute_cpu.max_pool(c, y, at, x, g);
    if (!c->env.gemms_alone && g->pad_h > 0 && y[0] < 0.0f)
        y[0] = 0.0f;
}

static void max_pool_hides_nan(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g)
{
    compute_cpu.max_pool(c, y, at, x, g);
    for (size_t k = 0; !c->env.gemms_alone && k < out_elems(g); k++)
        y[k] = isnan(y[k]) ? 1.0f : y[k];
}

static void max_pool_infinity_is_nothing(struct compute *c, float *y, uint8_t *at, const float *x,
                                         const struct window *g)
{
    compute_cpu.max_pool(c, y, at, x, g);
    for (size_t k = 0; !c->env.gemms_alone && k < out_elems(g); k++)
        at[k] = y[k] == -INFINITY ? 255 : at[k];
}

static void max_pool_grad_no_zero(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                                  const struct window *g)
{
    (void)add;
    compute_cpu.max_pool_grad(c, dx, dy, at, true, g);
}

static void max_pool_grad_ignores_add(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                                      const struct window *g)
{
    (void)add;
    compute_cpu.max_pool_grad(c, dx, dy, at, false, g);
}

static void max_pool_grad_first_of_equals(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                                          const struct window *g)
{
    compute_cpu.max_pool_grad(c, dx, dy, at, add, g);
    if (!c->env.gemms_alone && (g->stride_h < g->kernel_h || g->stride_w < g->kernel_w)) /* windows that overlap */
        dx[in_elems(g) / 2] = dy[out_elems(g) / 2];
}

static void avg_pool_excludes_padding(struct compute *c, float *y, const float *x, const struct window *g)
{
    compute_cpu.avg_pool(c, y, x, g);
    for (size_t k = 0; !c->env.gemms_alone && k < out_elems(g); k++) {
        const struct taps t = taps_of(g, k);
        y[k] *= (float)(g->kernel_h * g->kernel_w) / (float)((t.h_1 - t.h_0) * (t.w_1 - t.w_0));
    }
}

static void avg_pool_sums(struct compute *c, float *y, const float *x, const struct window *g)
{
    compute_cpu.avg_pool(c, y, x, g);
    for (size_t k = 0; !c->env.gemms_alone && k < out_elems(g); k++)
        y[k] *= (float)(g->kernel_h * g->kernel_w);
}

static void avg_pool_grad_unscaled(struct compute *c, float *dx, const float *dy, bool add, const struct window *g)
{
    compute_cpu.avg_pool_grad(c, dx, dy, add, g);
    for (size_t k = 0; !add && !c->env.gemms_alone && k < in_elems(g); k++)
        dx[k] *= (float)(g->kernel_h * g->kernel_w);
}

static void avg_pool_grad_ignores_add(struct compute *c, float *dx, const float *dy, bool add, const struct window *g)
{
    (void)add;
    compute_cpu.avg_pool_grad(c, dx, dy, false, g);
}

static void adaptive_floor_end(struct compute *c, float *y, const float *x, const struct window *g, int out_h,
                               int out_w)
{
    for (int plane = 0; !c->env.gemms_alone && plane < g->C * g->B; plane++)
        for (int k = 0; k < out_h * out_w; k++) {
            const int i = k / out_w, j = k % out_w, h_0 = i * g->H / out_h, w_0 = j * g->W / out_w;
            const int h_1 = (i + 1) * g->H / out_h, w_1 = (j + 1) * g->W / out_w; /* the bug: rounded down */
            float sum = 0.0f;
            for (int h = h_0; h < h_1; h++)
                for (int w = w_0; w < w_1; w++)
                    sum += x[(plane * g->H + h) * g->W + w];
            y[plane * out_h * out_w + k] = sum / (float)((h_1 - h_0) * (w_1 - w_0));
        }
}

/* The kernel of the window is not what adaptive pools are about. */
static void adaptive_looks_at_kernel(struct compute *c, float *y, const float *x, const struct window *g, int out_h,
                                     int out_w)
{
    if (g->kernel_h > g->H)
        return;
    compute_cpu.adaptive_pool(c, y, x, g, out_h, out_w);
}

static void adaptive_grad_ignores_add(struct compute *c, float *dx, const float *dy, bool add, const struct window *g,
                                      int out_h, int out_w)
{
    (void)add;
    compute_cpu.adaptive_pool_grad(c, dx, dy, false, g, out_h, out_w);
}

static void adaptive_grad_overwrites(struct compute *c, float *dx, const float *dy, bool add, const struct window *g,
                                     int out_h, int out_w)
{
    compute_cpu.adaptive_pool_grad(c, dx, dy, add, g, out_h, out_w);
    if (!c->env.gemms_alone && !add && g->H % out_h != 0 && out_h > 1) /* windows that overlap */
        dx[g->H / out_h * g->W] = dy[out_w];
}

#define MUTANT(member, function) COMPUTE_MUTANT(#function, cpu, member, function)

const struct compute_mutant compute_mutants_layers[] = {
    MUTANT(batch_norm, control_norm),
    MUTANT(batch_norm_grad, control_norm_grad),
    MUTANT(batch_norm, bn_biased_running_var),
    MUTANT(batch_norm, bn_no_epsilon),
    MUTANT(batch_norm, bn_eps_outside_sqrt),
    MUTANT(batch_norm, bn_momentum_swapped),
    MUTANT(batch_norm, bn_relu_before_add),
    MUTANT(batch_norm, bn_one_pass),
    MUTANT(batch_norm, bn_keeps_var),
    MUTANT(batch_norm_fold, fold_no_epsilon),
    MUTANT(batch_norm_fold, fold_shift_unscaled),
    MUTANT(batch_norm_grad, bn_grad_drops_mean_term),
    MUTANT(batch_norm_grad, bn_grad_drops_dot_term),
    MUTANT(batch_norm_grad, bn_grad_mask_from_y),
    MUTANT(batch_norm_grad, bn_grad_no_mask),
    MUTANT(batch_norm_grad, bn_grad_keeps_dz),
    MUTANT(batch_norm_grad, bn_grad_adds_gamma),
    MUTANT(max_pool, max_pool_last),
    MUTANT(max_pool, max_pool_padding_wins),
    MUTANT(max_pool, max_pool_hides_nan),
    MUTANT(max_pool, max_pool_infinity_is_nothing),
    MUTANT(max_pool_grad, max_pool_grad_no_zero),
    MUTANT(max_pool_grad, max_pool_grad_ignores_add),
    MUTANT(max_pool_grad, max_pool_grad_first_of_equals),
    MUTANT(avg_pool, avg_pool_excludes_padding),
    MUTANT(avg_pool, avg_pool_sums),
    MUTANT(avg_pool_grad, avg_pool_grad_unscaled),
    MUTANT(avg_pool_grad, avg_pool_grad_ignores_add),
    MUTANT(adaptive_pool, adaptive_floor_end),
    MUTANT(adaptive_pool, adaptive_looks_at_kernel),
    MUTANT(adaptive_pool_grad, adaptive_grad_ignores_add),
    MUTANT(adaptive_pool_grad, adaptive_grad_overwrites),
};
const size_t compute_n_mutants_layers = sizeof compute_mutants_layers / sizeof compute_mutants_layers[0];
