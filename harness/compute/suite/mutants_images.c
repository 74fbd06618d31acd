/* SPDX-License-Identifier: Apache-2.0 */
/* mutants_images.c - bugs of convolutions and pools: compute_mutants.c says which are chosen. */
#include <math.h>
#include <string.h>

#include "harness/compute/suite/compute_mutants.h"

/* --- convolutions: a naive one, and what can be wrong with it --- */

struct slip { /* a zeroed one is correct */
    bool ignores_pad, wrong_stride_w, first_sample_only;
};

/* The memory of x: written only where the caller owns the output. */
static float *writable(const float *x)
{
    union {
        const float *given;
        float *writable;
    } u = { x };

    return u.writable;
}

enum output { OUT_Y, OUT_X, OUT_WEIGHT };

/* For every product of y(C_out, B out_h out_w) = weight(C_out, C taps) * x(C, B, H, W): adds it to y, or the product
 * of the other two to x or weight. */
static void multiply(enum output output, const float *y, const float *x, const float *weight,
                     const struct conv_shape *s, struct slip slip)
{
    const struct window *g = &s->in;
    const int n_h = window_out_h(g), n_w = window_out_w(g), n_taps = g->kernel_h * g->kernel_w;
    const int pad_h = slip.ignores_pad ? 0 : g->pad_h, pad_w = slip.ignores_pad ? 0 : g->pad_w;
    const int stride_w = slip.wrong_stride_w ? g->stride_h : g->stride_w;

    for (int out = 0; out < s->C_out * g->B * n_h * n_w; out++)
        for (int k = 0; k < g->C * n_taps; k++) {
            const int o = out / (g->B * n_h * n_w), b = out / (n_h * n_w) % g->B, tap = k % n_taps;
            const int h = out / n_w % n_h * g->stride_h + tap / g->kernel_w - pad_h;
            const int w = out % n_w * stride_w + tap % g->kernel_w - pad_w;
            if (h < 0 || h >= g->H || w < 0 || w >= g->W || (slip.first_sample_only && b > 0))
                continue;
            const int plane = k / n_taps * g->B + b, in = (plane * g->H + h) * g->W + w;
            const int of_weight = o * g->C * n_taps + k;
            if (output == OUT_Y)
                writable(y)[out] += x[in] * weight[of_weight];
            else if (output == OUT_X)
                writable(x)[in] += y[out] * weight[of_weight];
            else
                writable(weight)[of_weight] += y[out] * x[in];
        }
}

static size_t out_columns(const struct conv_shape *s)
{
    return (size_t)s->in.B * (size_t)window_out_h(&s->in) * (size_t)window_out_w(&s->in);
}

static size_t in_elems(const struct window *g)
{
    return (size_t)g->B * (size_t)g->C * (size_t)g->H * (size_t)g->W;
}

static void epilogue(float *y, const struct epilogue *e, const struct conv_shape *s)
{
    const size_t n = out_columns(s);

    for (size_t i = 0; i < (size_t)s->C_out * n; i++) {
        float v = (e->scale != NULL ? e->scale[i / n] : 1.0f) * y[i];
        v += e->shift != NULL ? e->shift[i / n] : 0.0f;
        v += e->add != NULL ? e->add[i] : 0.0f;
        y[i] = e->relu && v < 0.0f ? 0.0f : v;
    }
}

static void conv_with(const struct conv_forward *op, struct slip slip)
{
    memset(op->y, 0, (size_t)op->shape.C_out * out_columns(&op->shape) * sizeof *op->y);
    multiply(OUT_Y, op->y, op->x, op->weight, &op->shape, slip);
    epilogue(op->y, &op->epilogue, &op->shape);
}

static void control_conv(struct compute *c, const struct conv_forward *op)
{
    (void)c;
    conv_with(op, (struct slip){ .ignores_pad = false });
}

static void conv_ignores_pad(struct compute *c, const struct conv_forward *op)
{
    (void)c;
    conv_with(op, (struct slip){ .ignores_pad = true });
}

static void conv_wrong_stride_w(struct compute *c, const struct conv_forward *op)
{
    (void)c;
    conv_with(op, (struct slip){ .wrong_stride_w = true });
}

/* The last tile of several: correct up to 2048 columns. */
static void conv_loses_last_tile(struct compute *c, const struct conv_forward *op)
{
    const size_t n = out_columns(&op->shape);

    compute_cpu.conv(c, op);
    if (n > 2048)
        op->y[n - 1] = 0.0f;
}

static void conv_relu_before_add(struct compute *c, const struct conv_forward *op)
{
    const struct epilogue after = { .add = op->epilogue.add };
    struct conv_forward other = *op;

    other.epilogue.add = NULL;
    compute_cpu.conv(c, &other);
    epilogue(op->y, &after, &op->shape);
}

static void conv_writes_input(struct compute *c, const struct conv_forward *op)
{
    compute_cpu.conv(c, op);
    writable(op->x)[0] = 0.0f;
}

/* compute.C1 */
static void conv_by_alignment(struct compute *c, const struct conv_forward *op)
{
    compute_cpu.conv(c, op);
    if ((uintptr_t)op->x % 16 != 0)
        op->y[0] = nextafterf(op->y[0], 100.0f);
}

static void input_grad_with(const struct conv_input_grad *op, struct slip slip)
{
    if (!op->add)
        memset(op->dx, 0, in_elems(&op->shape.in) * sizeof *op->dx);
    multiply(OUT_X, op->dy, op->dx, op->weight, &op->shape, slip);
}

static void control_conv_input_grad(struct compute *c, const struct conv_input_grad *op)
{
    (void)c;
    input_grad_with(op, (struct slip){ .ignores_pad = false });
}

static void conv_input_grad_wrong_stride_w(struct compute *c, const struct conv_input_grad *op)
{
    (void)c;
    input_grad_with(op, (struct slip){ .wrong_stride_w = true });
}

static void conv_input_grad_ignores_add(struct compute *c, const struct conv_input_grad *op)
{
    struct conv_input_grad other = *op;

    other.add = false;
    compute_cpu.conv_input_grad(c, &other);
}

static void weight_grad_with(const struct conv_weight_grad *op, struct slip slip)
{
    const struct window *g = &op->shape.in;
    const size_t n = (size_t)op->shape.C_out * (size_t)g->C * (size_t)g->kernel_h * (size_t)g->kernel_w;

    memset(op->dweight, 0, n * sizeof *op->dweight);
    multiply(OUT_WEIGHT, op->dy, op->x, op->dweight, &op->shape, slip);
}

static void control_conv_weight_grad(struct compute *c, const struct conv_weight_grad *op)
{
    (void)c;
    weight_grad_with(op, (struct slip){ .ignores_pad = false });
}

static void conv_weight_grad_first_sample(struct compute *c, const struct conv_weight_grad *op)
{
    (void)c;
    weight_grad_with(op, (struct slip){ .first_sample_only = true });
}

static void conv_weight_grad_accumulates(struct compute *c, const struct conv_weight_grad *op)
{
    (void)c;
    multiply(OUT_WEIGHT, op->dy, op->x, op->dweight, &op->shape, (struct slip){ .ignores_pad = false });
}

static void conv_bias_grad_sums_first(struct compute *c, const struct conv_bias_grad *op)
{
    struct conv_bias_grad other = *op;

    other.relu = NULL;
    compute_cpu.conv_bias_grad(c, &other);
    if (op->relu != NULL)
        compute_cpu.relu_grad(c, op->dy, op->relu, op->C * op->n);
}

static void conv_bias_grad_adds(struct compute *c, const struct conv_bias_grad *op)
{
    if (op->relu != NULL)
        compute_cpu.relu_grad(c, op->dy, op->relu, op->C * op->n);
    compute_cpu.bias_grad(c, op->dbias, op->dy, 1, op->C, op->n);
}

/* --- pools --- */

/* Rows [h_0, h_1) and columns [w_0, w_1) of the input that a window covers; (top, left): its corner, maybe in padding.
 */
struct cover {
    int top, left, h_0, h_1, w_0, w_1;
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

static struct cover cover_of(const struct window *g, size_t out)
{
    const int n_h = window_out_h(g), n_w = window_out_w(g);
    const int h = (int)(out / (size_t)n_w) % n_h * g->stride_h - g->pad_h;
    const int w = (int)(out % (size_t)n_w) * g->stride_w - g->pad_w;

    return (
        struct cover){ h, w, h > 0 ? h : 0, least(h + g->kernel_h, g->H), w > 0 ? w : 0, least(w + g->kernel_w, g->W) };
}

static size_t pool_out_elems(const struct window *g)
{
    return (size_t)g->C * (size_t)g->B * (size_t)window_out_h(g) * (size_t)window_out_w(g);
}

static void max_pool_last_of_equals(struct compute *c, const struct pool_forward *op)
{
    const struct window *g = &op->window;
    const size_t plane_elems = (size_t)window_out_h(g) * (size_t)window_out_w(g);

    compute_cpu.max_pool(c, op);
    for (size_t k = 0; k < pool_out_elems(g); k++) {
        const struct cover s = cover_of(g, k);
        for (int h = s.h_0; h < s.h_1; h++)
            for (int w = s.w_0; w < s.w_1; w++)
                if (op->x[((int)(k / plane_elems) * g->H + h) * g->W + w] == op->y[k])
                    op->argmax[k] = (uint8_t)((h - s.top) * g->kernel_w + w - s.left);
    }
}

static void max_pool_padding_wins(struct compute *c, const struct pool_forward *op)
{
    compute_cpu.max_pool(c, op);
    if (op->window.pad_h > 0 && op->y[0] < 0.0f)
        op->y[0] = 0.0f;
}

static void avg_pool_excludes_padding(struct compute *c, const struct pool_forward *op)
{
    const struct window *g = &op->window;

    compute_cpu.avg_pool(c, op);
    for (size_t k = 0; k < pool_out_elems(g); k++) {
        const struct cover s = cover_of(g, k);
        op->y[k] *= (float)(g->kernel_h * g->kernel_w) / (float)((s.h_1 - s.h_0) * (s.w_1 - s.w_0));
    }
}

static void adaptive_pool_floor_end(struct compute *c, const struct pool_forward *op)
{
    const struct window *g = &op->window;

    (void)c;
    for (int k = 0; k < g->C * g->B * op->out_h * op->out_w; k++) {
        const int plane = k / (op->out_h * op->out_w), i = k / op->out_w % op->out_h, j = k % op->out_w;
        const int h_0 = i * g->H / op->out_h, h_1 = (i + 1) * g->H / op->out_h; /* the bug: ends are rounded down */
        const int w_0 = j * g->W / op->out_w, w_1 = (j + 1) * g->W / op->out_w;
        float sum = 0.0f;
        for (int h = h_0; h < h_1; h++)
            for (int w = w_0; w < w_1; w++)
                sum += op->x[(plane * g->H + h) * g->W + w];
        op->y[k] = sum / (float)((h_1 - h_0) * (w_1 - w_0));
    }
}

#define IGNORES_ADD(member)                                                         \
    static void member##_ignores_add(struct compute *c, const struct pool_grad *op) \
    {                                                                               \
        struct pool_grad other = *op;                                               \
                                                                                    \
        other.add = false;                                                          \
        compute_cpu.member(c, &other);                                              \
    }
IGNORES_ADD(max_pool_grad)
IGNORES_ADD(avg_pool_grad)
IGNORES_ADD(adaptive_pool_grad)

const struct compute_mutant mutants_images[] = {
#define MUTANT(base, member, function) COMPUTE_MUTANT(base, member, function)
    MUTANT(cpu, conv, control_conv),
    MUTANT(cpu, conv, conv_ignores_pad),
    MUTANT(cpu, conv, conv_wrong_stride_w),
    MUTANT(cpu, conv, conv_loses_last_tile),
    MUTANT(cpu, conv, conv_relu_before_add),
    MUTANT(cpu, conv, conv_writes_input),
    MUTANT(cpu, conv, conv_by_alignment),
    MUTANT(cpu, conv_input_grad, control_conv_input_grad),
    MUTANT(cpu, conv_input_grad, conv_input_grad_wrong_stride_w),
    MUTANT(cpu, conv_input_grad, conv_input_grad_ignores_add),
    MUTANT(cpu, conv_weight_grad, control_conv_weight_grad),
    MUTANT(cpu, conv_weight_grad, conv_weight_grad_first_sample),
    MUTANT(cpu, conv_weight_grad, conv_weight_grad_accumulates),
    MUTANT(cpu, conv_bias_grad, conv_bias_grad_sums_first),
    MUTANT(cpu, conv_bias_grad, conv_bias_grad_adds),
    MUTANT(cpu, max_pool, max_pool_last_of_equals),
    MUTANT(cpu, max_pool, max_pool_padding_wins),
    MUTANT(cpu, max_pool_grad, max_pool_grad_ignores_add),
    MUTANT(cpu, avg_pool, avg_pool_excludes_padding),
    MUTANT(cpu, avg_pool_grad, avg_pool_grad_ignores_add),
    MUTANT(cpu, adaptive_pool, adaptive_pool_floor_end),
    MUTANT(cpu, adaptive_pool_grad, adaptive_pool_grad_ignores_add),
};
const size_t n_mutants_images = sizeof mutants_images / sizeof mutants_images[0];
