/* SPDX-License-Identifier: Apache-2.0 */
/* mutants_convs.c - mistakes of convolutions: one naive one, and what can be wrong with it. */
#include <math.h>
#include <string.h>

#include "harness/compute/suite/compute_mutants.h"

struct slip { /* a zeroed one is right */
    bool ignores_pad, wrong_stride_w, flips, clamps, swaps_kernel_axes, first_sample_only, swaps_batch;
};

enum role { FORWARD, INPUT_GRAD, WEIGHT_GRAD };

/* Adds every product to y, x or weight. */
static void multiply(enum role role, float *y, float *x, float *weight, const struct conv_shape *s,
                     const struct slip *slip)
{
    const struct window *g = &s->in;
    const int n_h = window_out_h(g), n_w = window_out_w(g), n_k = g->kernel_h * g->kernel_w;
    const int n = s->C_out * g->B * n_h * n_w;

    for (int out = 0; out < n; out++)
        for (int tap = 0; tap < g->C * n_k; tap++) {
            const int o = out / (g->B * n_h * n_w), b = out / (n_h * n_w) % g->B, k = tap % n_k;
            int h = out / n_w % n_h * g->stride_h + k / g->kernel_w - (slip->ignores_pad ? 0 : g->pad_h);
            int w = out % n_w * (slip->wrong_stride_w ? g->stride_h : g->stride_w) + k % g->kernel_w -
                    (slip->ignores_pad ? 0 : g->pad_w);
            int of_kernel = slip->flips ? n_k - 1 - k : k;
            if (slip->swaps_kernel_axes)
                of_kernel = k % g->kernel_w * g->kernel_h + k / g->kernel_w;
            if (slip->clamps) {
                h = h < 0 ? 0 : h >= g->H ? g->H - 1 : h;
                w = w < 0 ? 0 : w >= g->W ? g->W - 1 : w;
            }
            if (h < 0 || h >= g->H || w < 0 || w >= g->W || (slip->first_sample_only && b > 0))
                continue;
            const int plane = slip->swaps_batch ? b * g->C + tap / n_k : tap / n_k * g->B + b;
            float *px = &x[(plane * g->H + h) * g->W + w], *pw = &weight[(o * g->C + tap / n_k) * n_k + of_kernel];
            if (role == FORWARD)
                y[out] += *px * *pw;
            else if (role == INPUT_GRAD)
                *px += y[out] * *pw;
            else
                *pw += y[out] * *px;
        }
}

static size_t out_columns(const struct conv_shape *s)
{
    return (size_t)s->in.B * (size_t)window_out_h(&s->in) * (size_t)window_out_w(&s->in);
}

static size_t in_elems(const struct conv_shape *s)
{
    return (size_t)s->in.B * (size_t)s->in.C * (size_t)s->in.H * (size_t)s->in.W;
}

static size_t weight_elems(const struct conv_shape *s)
{
    return (size_t)s->C_out * (size_t)s->in.C * (size_t)s->in.kernel_h * (size_t)s->in.kernel_w;
}

static float *writable(const float *x) /* of memory that is, though this call may only read it */
{
    union {
        const float *given;
        float *writable;
    } u = { x };

    return u.writable;
}

/* The epilogue, rightly. */
static void finish(float *y, const struct epilogue *e, const struct conv_shape *s)
{
    const size_t n = out_columns(s);

    for (size_t i = 0; i < (size_t)s->C_out * n; i++) {
        float v = (e->scale != NULL ? e->scale[i / n] : 1.0f) * y[i];
        v += e->shift != NULL ? e->shift[i / n] : 0.0f;
        v += e->add != NULL ? e->add[i] : 0.0f;
        y[i] = e->relu && v < 0.0f ? 0.0f : v;
    }
}

static void conv_with(float *y, const float *x, const float *weight, const struct epilogue *e,
                      const struct conv_shape *s, struct slip slip)
{
    memset(y, 0, (size_t)s->C_out * out_columns(s) * sizeof *y);
    multiply(FORWARD, y, writable(x), writable(weight), s, &slip);
    finish(y, e, s);
}

#define CONV(name)                                                                                               \
    static void name(struct compute *c, float *y, const float *x, const float *weight, const struct epilogue *e, \
                     const struct conv_shape *s)
#define INPUT_GRAD_OF(name)                                                                        \
    static void name(struct compute *c, float *dx, const float *dy, const float *weight, bool add, \
                     const struct conv_shape *s)
#define WEIGHT_GRAD_OF(name) \
    static void name(struct compute *c, float *dweight, const float *dy, const float *x, const struct conv_shape *s)

CONV(control_conv)
{
    (void)c;
    conv_with(y, x, weight, e, s, (struct slip){ 0 });
}

CONV(conv_ignores_pad)
{
    (void)c;
    conv_with(y, x, weight, e, s, (struct slip){ .ignores_pad = true });
}

CONV(conv_wrong_stride_w)
{
    (void)c;
    conv_with(y, x, weight, e, s, (struct slip){ .wrong_stride_w = true });
}

CONV(conv_flips)
{
    (void)c;
    conv_with(y, x, weight, e, s, (struct slip){ .flips = true });
}

CONV(conv_clamps_edges)
{
    (void)c;
    conv_with(y, x, weight, e, s, (struct slip){ .clamps = true });
}

CONV(conv_swaps_kernel_axes)
{
    (void)c;
    conv_with(y, x, weight, e, s, (struct slip){ .swaps_kernel_axes = true });
}

CONV(conv_batch_first)
{
    (void)c;
    conv_with(y, x, weight, e, s, (struct slip){ .swaps_batch = true });
}

/* The seam of tiles: right up to 2048 columns. */
CONV(conv_loses_last_tile)
{
    const size_t n = out_columns(s);

    compute_cpu.conv(c, y, x, weight, e, s);
    if (n > 2048)
        y[n - 1] = 0.0f;
}

CONV(conv_writes_input)
{
    compute_cpu.conv(c, y, x, weight, e, s);
    writable(x)[0] = 0.0f;
}

CONV(conv_overruns)
{
    compute_cpu.conv(c, y, x, weight, e, s);
    y[(size_t)s->C_out * out_columns(s)] = 0.0f;
}

CONV(conv_by_threads)
{
    compute_cpu.conv(c, y, x, weight, e, s);
    if (c->env.n_threads == 2)
        y[0] = nextafterf(y[0], 100.0f);
}

CONV(conv_by_alignment)
{
    compute_cpu.conv(c, y, x, weight, e, s);
    if ((uintptr_t)x % 16 != 0)
        y[0] = nextafterf(y[0], 100.0f);
}

CONV(conv_rounds_weights) /* to bfloat16 where fp32 was asked for */
{
    const size_t n = weight_elems(s);
    float rounded[16384];

    if (n > sizeof rounded / sizeof rounded[0]) {
        compute_cpu.conv(c, y, x, weight, e, s);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &weight[i], sizeof bits);
        bits &= UINT32_C(0xffff0000);
        memcpy(&rounded[i], &bits, sizeof bits);
    }
    compute_cpu.conv(c, y, x, rounded, e, s);
}

CONV(epilogue_shift_before_scale)
{
    struct epilogue other = *e;

    if (e->scale == NULL || e->shift == NULL) {
        compute_cpu.conv(c, y, x, weight, e, s);
        return;
    }
    conv_with(y, x, weight, &(struct epilogue){ NULL, e->shift, NULL, false }, s, (struct slip){ 0 });
    other.shift = NULL;
    finish(y, &other, s);
}

CONV(epilogue_relu_before_add)
{
    const struct epilogue before = { e->scale, e->shift, NULL, e->relu }, after = { NULL, NULL, e->add, false };

    (void)c;
    conv_with(y, x, weight, &before, s, (struct slip){ 0 });
    finish(y, &after, s);
}

CONV(epilogue_no_add)
{
    const struct epilogue other = { e->scale, e->shift, NULL, e->relu };

    compute_cpu.conv(c, y, x, weight, &other, s);
}

CONV(epilogue_hides_nan)
{
    compute_cpu.conv(c, y, x, weight, e, s);
    for (size_t i = 0; e->relu && i < (size_t)s->C_out * out_columns(s); i++)
        y[i] = fmaxf(y[i], 0.0f);
}

CONV(epilogue_shift_by_column)
{
    const struct epilogue other = { e->scale, NULL, e->add, false };

    compute_cpu.conv(c, y, x, weight, &other, s);
    for (size_t i = 0; i < (size_t)s->C_out * out_columns(s); i++) {
        y[i] += e->shift != NULL ? e->shift[i % (size_t)s->C_out] : 0.0f;
        y[i] = e->relu && y[i] < 0.0f ? 0.0f : y[i];
    }
}

static void input_grad_with(float *dx, const float *dy, const float *weight, bool add, const struct conv_shape *s,
                            struct slip slip)
{
    if (!add)
        memset(dx, 0, in_elems(s) * sizeof *dx);
    multiply(INPUT_GRAD, writable(dy), dx, writable(weight), s, &slip);
}

INPUT_GRAD_OF(control_input_grad)
{
    (void)c;
    input_grad_with(dx, dy, weight, add, s, (struct slip){ 0 });
}

INPUT_GRAD_OF(input_grad_flips)
{
    (void)c;
    input_grad_with(dx, dy, weight, add, s, (struct slip){ .flips = true });
}

INPUT_GRAD_OF(input_grad_wrong_stride_w)
{
    (void)c;
    input_grad_with(dx, dy, weight, add, s, (struct slip){ .wrong_stride_w = true });
}

INPUT_GRAD_OF(input_grad_ignores_add)
{
    (void)add;
    compute_cpu.conv_input_grad(c, dx, dy, weight, false, s);
}

INPUT_GRAD_OF(input_grad_always_adds)
{
    (void)add;
    compute_cpu.conv_input_grad(c, dx, dy, weight, true, s);
}

INPUT_GRAD_OF(input_grad_leaves_gaps) /* what no window sees keeps what it held */
{
    const struct window *g = &s->in;
    const float was = dx[in_elems(s) - 1];

    compute_cpu.conv_input_grad(c, dx, dy, weight, add, s);
    if ((window_out_h(g) - 1) * g->stride_h + g->kernel_h - g->pad_h < g->H)
        dx[in_elems(s) - 1] = was;
}

WEIGHT_GRAD_OF(control_weight_grad)
{
    (void)c;
    memset(dweight, 0, weight_elems(s) * sizeof *dweight);
    multiply(WEIGHT_GRAD, writable(dy), writable(x), dweight, s, &(struct slip){ 0 });
}

WEIGHT_GRAD_OF(weight_grad_accumulates)
{
    (void)c;
    multiply(WEIGHT_GRAD, writable(dy), writable(x), dweight, s, &(struct slip){ 0 });
}

WEIGHT_GRAD_OF(weight_grad_first_sample)
{
    (void)c;
    memset(dweight, 0, weight_elems(s) * sizeof *dweight);
    multiply(WEIGHT_GRAD, writable(dy), writable(x), dweight, s, &(struct slip){ .first_sample_only = true });
}

WEIGHT_GRAD_OF(weight_grad_clamps_edges)
{
    (void)c;
    memset(dweight, 0, weight_elems(s) * sizeof *dweight);
    multiply(WEIGHT_GRAD, writable(dy), writable(x), dweight, s, &(struct slip){ .clamps = true });
}

WEIGHT_GRAD_OF(weight_grad_mean) /* over the batch: dy is that of a mean already */
{
    compute_cpu.conv_weight_grad(c, dweight, dy, x, s);
    for (size_t i = 0; i < weight_elems(s); i++)
        dweight[i] /= (float)s->in.B;
}

WEIGHT_GRAD_OF(weight_grad_by_threads)
{
    compute_cpu.conv_weight_grad(c, dweight, dy, x, s);
    if (c->env.n_threads == 4)
        dweight[0] = nextafterf(dweight[0], 100.0f);
}

static void conv_bias_grad_sums_first(struct compute *c, float *dbias, float *dy, const float *relu, size_t C, size_t n)
{
    compute_cpu.conv_bias_grad(c, dbias, dy, NULL, C, n);
    if (relu != NULL)
        compute_cpu.relu_grad(c, dy, relu, C * n);
}

static void conv_bias_grad_adds(struct compute *c, float *dbias, float *dy, const float *relu, size_t C, size_t n)
{
    if (relu != NULL)
        compute_cpu.relu_grad(c, dy, relu, C * n);
    compute_cpu.bias_grad(c, dbias, dy, 1, C, n);
}

static void conv_bias_grad_keeps_dy(struct compute *c, float *dbias, float *dy, const float *relu, size_t C, size_t n)
{
    (void)c;
    for (size_t i = 0; i < C * n; i++)
        dbias[i / n] = (i % n > 0 ? dbias[i / n] : 0.0f) + (relu == NULL || relu[i] > 0.0f ? dy[i] : 0.0f);
}

#define MUTANT(member, function) COMPUTE_MUTANT(#function, cpu, member, function)

const struct compute_mutant compute_mutants_convs[] = {
    MUTANT(conv, control_conv),
    MUTANT(conv_input_grad, control_input_grad),
    MUTANT(conv_weight_grad, control_weight_grad),
    MUTANT(conv, conv_ignores_pad),
    MUTANT(conv, conv_wrong_stride_w),
    MUTANT(conv, conv_flips),
    MUTANT(conv, conv_clamps_edges),
    MUTANT(conv, conv_swaps_kernel_axes),
    MUTANT(conv, conv_batch_first),
    MUTANT(conv, conv_loses_last_tile),
    MUTANT(conv, conv_writes_input),
    MUTANT(conv, conv_overruns),
    MUTANT(conv, conv_by_threads),
    MUTANT(conv, conv_by_alignment),
    MUTANT(conv, conv_rounds_weights),
    MUTANT(conv, epilogue_shift_before_scale),
    MUTANT(conv, epilogue_relu_before_add),
    MUTANT(conv, epilogue_no_add),
    MUTANT(conv, epilogue_hides_nan),
    MUTANT(conv, epilogue_shift_by_column),
    MUTANT(conv_input_grad, input_grad_flips),
    MUTANT(conv_input_grad, input_grad_wrong_stride_w),
    MUTANT(conv_input_grad, input_grad_ignores_add),
    MUTANT(conv_input_grad, input_grad_always_adds),
    MUTANT(conv_input_grad, input_grad_leaves_gaps),
    MUTANT(conv_weight_grad, weight_grad_accumulates),
    MUTANT(conv_weight_grad, weight_grad_first_sample),
    MUTANT(conv_weight_grad, weight_grad_clamps_edges),
    MUTANT(conv_weight_grad, weight_grad_mean),
    MUTANT(conv_weight_grad, weight_grad_by_threads),
    MUTANT(conv_bias_grad, conv_bias_grad_sums_first),
    MUTANT(conv_bias_grad, conv_bias_grad_adds),
    MUTANT(conv_bias_grad, conv_bias_grad_keeps_dy),
};
const size_t compute_n_mutants_convs = sizeof compute_mutants_convs / sizeof compute_mutants_convs[0];
