/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - pooling of the cpu backend: a task takes whole planes; the inner loop runs one tap over a row of outputs, or
 * over all windows of 2 x 2 that cover the input. */
#include <math.h>
#include <string.h>

#include "harness/compute/cpu/cpu.h"

enum { ROW = 512 }; /* outputs at a time: their maxima and argmax stay in the first-level cache */

struct pool { /* one call; those it does not use are NULL */
    const struct cpu_kernels *kernels;
    const struct window *g;
    int out_h, out_w;
    float *out;               /* y, or dx */
    const float *in;          /* x, or dy */
    uint8_t *argmax;          /* max_pool */
    const uint8_t *argmax_in; /* max_pool_grad */
    bool add;
    void (*plane)(const struct pool *t, size_t i, float *scratch);
    void (*planes)(const struct pool *t, struct index_range planes); /* instead: all planes of a task in one call */
    struct cpu *c;
    size_t in_plane, out_plane; /* elements */
};

struct bounds {
    int from, to; /* [from, to): taps of a window inside the image, or outputs for which a tap has an input */
};

static struct bounds inside(int first, int kernel, int n)
{
    return (struct bounds){ first < 0 ? -first : 0, first + kernel > n ? n - first : kernel };
}

/* Outputs o of [first, last) whose input o stride + left is in [0, n). */
static struct bounds reached(int first, int last, int stride, int left, int n)
{
    struct bounds s = { first, last };

    if (left < 0 && s.from < (-left + stride - 1) / stride)
        s.from = (-left + stride - 1) / stride;
    if (left >= n)
        s.to = s.from;
    else if (s.to > (n - 1 - left) / stride + 1)
        s.to = (n - 1 - left) / stride + 1;
    if (s.to < s.from)
        s.to = s.from;
    return s;
}

/* Some of the B C planes, one after the other. */
static void pool_task(void *arg, int task, int thread)
{
    const struct pool *t = arg;
    const struct index_range planes = cpu_item_range((size_t)t->g->B * (size_t)t->g->C, t->in_plane, task);

    if (t->planes != NULL)
        t->planes(t, planes);
    for (size_t i = planes.from; i < planes.from + planes.n && t->planes == NULL; i++)
        t->plane(t, i, t->c->own_elems > 0 ? cpu_own(t->c, thread) : NULL);
}

static void run(struct compute *base, struct pool t)
{
    struct cpu *c = cpu_of(base);

    t.c = c;
    t.kernels = c->kernels;
    t.in_plane = (size_t)t.g->H * (size_t)t.g->W;
    t.out_plane = (size_t)t.out_h * (size_t)t.out_w;
    thread_pool_run(c->pool, pool_task, &t, cpu_n_item_ranges((size_t)t.g->B * (size_t)t.g->C, t.in_plane));
}

static void run_window(struct compute *c, struct pool t)
{
    t.out_h = window_out_h(t.g);
    t.out_w = window_out_w(t.g);
    run(c, t);
}

/* Outputs [from, to) of row o_h: y, argmax(out_w) from x(H, W). */
static void max_row(const struct pool *t, float *y, uint8_t *argmax, const float *x, int o_h, int from, int to)
{
    const struct window *g = t->g;
    const int top = o_h * g->stride_h - g->pad_h;
    const struct bounds rows = inside(top, g->kernel_h, g->H);
    int32_t tap[ROW];

    for (int o = from; o < to; o++) { /* the first tap inside the image, until another is larger */
        y[o] = -INFINITY;
        tap[o - from] = rows.from * g->kernel_w + inside(o * g->stride_w - g->pad_w, g->kernel_w, g->W).from;
    }
    for (int i = rows.from; i < rows.to; i++)
        for (int j = 0; j < g->kernel_w; j++) {
            const struct bounds s = reached(from, to, g->stride_w, j - g->pad_w, g->W);
            if (s.from < s.to)
                t->kernels->pool->max_tap(y + s.from, tap + (s.from - from),
                                          x + (size_t)(top + i) * (size_t)g->W +
                                              (size_t)(s.from * g->stride_w + j - g->pad_w),
                                          (size_t)g->stride_w, i * g->kernel_w + j, (size_t)(s.to - s.from));
        }
    t->kernels->pool->narrow(argmax + from, tap, (size_t)(to - from));
}

/* y, argmax(out_h, out_w) of plane i from x(H, W), in pieces of at most ROW outputs of a row. */
static void max_plane(const struct pool *t, size_t i, float *scratch)
{
    const float *x = t->in + i * t->in_plane;

    (void)scratch;
    for (int o = 0; o < t->out_h; o++) {
        const size_t row = i * t->out_plane + (size_t)o * (size_t)t->out_w;
        for (int from = 0; from < t->out_w; from += ROW)
            max_row(t, t->out + row, t->argmax + row, x, o, from, from + ROW < t->out_w ? from + ROW : t->out_w);
    }
}

/* Windows of 2 x 2 that cover the image without overlap. Planes follow each other without a gap, and H is even, so that
 * all rows of a task's planes are one array of rows. */
static bool is_in_quads(const struct cpu *c, const struct window *g)
{
    return g->kernel_h == 2 && g->kernel_w == 2 && g->stride_h == 2 && g->stride_w == 2 && g->pad_h == 0 &&
           g->pad_w == 0 && g->H % 2 == 0 && g->W % 2 == 0 && (size_t)g->W / 2 <= c->kernels->pool->quads_max_w;
}

static void max_quads(const struct pool *t, struct index_range planes)
{
    const size_t first = planes.from * t->out_plane;

    t->kernels->pool->max_quads(t->out + first, t->argmax + first, t->in + planes.from * t->in_plane, (size_t)t->out_w,
                                planes.n * (size_t)t->out_h);
}

void cpu_max_pool(struct compute *c, const struct pool_forward *op)
{
    run_window(c, (struct pool){ .g = &op->window,
                                 .out = op->y,
                                 .in = op->x,
                                 .argmax = op->argmax,
                                 .plane = max_plane,
                                 .planes = is_in_quads(cpu_of(c), &op->window) ? max_quads : NULL });
}

/* dx(H, W) of plane i = 0, unless the operation adds to dx. */
static void clear_plane(const struct pool *t, size_t i)
{
    if (!t->add)
        memset(t->out + i * t->in_plane, 0, t->in_plane * sizeof *t->out);
}

static void max_grad_plane(const struct pool *t, size_t i, float *scratch)
{
    const struct window *g = t->g;
    float *dx = t->out + i * t->in_plane;
    const float *dy = t->in + i * t->out_plane;
    const uint8_t *argmax = t->argmax_in + i * t->out_plane;
    ptrdiff_t shift[256] = { 0 };

    (void)scratch;
    for (int k = 0; k < g->kernel_h * g->kernel_w; k++)
        shift[k] = (ptrdiff_t)(k / g->kernel_w - g->pad_h) * g->W + k % g->kernel_w - g->pad_w;
    clear_plane(t, i);
    for (int o = 0; o < t->out_h; o++, dy += t->out_w, argmax += t->out_w) {
        const ptrdiff_t row = (ptrdiff_t)o * g->stride_h * g->W;
        for (int k = 0; k < t->out_w; k++)
            dx[row + (ptrdiff_t)k * g->stride_w + shift[argmax[k]]] += dy[k];
    }
}

static void max_quads_grad(const struct pool *t, struct index_range planes)
{
    const size_t first = planes.from * t->out_plane;

    t->kernels->pool->max_quads_grad(t->out + planes.from * t->in_plane, t->in + first, t->argmax_in + first,
                                     (size_t)t->out_w, planes.n * (size_t)t->out_h);
}

void cpu_max_pool_grad(struct compute *c, const struct pool_grad *op)
{
    run_window(c, (struct pool){ .g = &op->window,
                                 .out = op->dx,
                                 .in = op->dy,
                                 .argmax_in = op->argmax,
                                 .add = op->add,
                                 .plane = max_grad_plane,
                                 .planes = !op->add && is_in_quads(cpu_of(c), &op->window) ? max_quads_grad : NULL });
}

static void avg_plane(const struct pool *t, size_t i, float *scratch)
{
    t->kernels->average_plane(t->out + i * t->out_plane, t->in + i * t->in_plane, scratch, t->g, false);
}

/* Scratch of average_plane, for each thread. */
static size_t bordered_elems(const struct window *g)
{
    return 2 * ((size_t)g->H + 2 * (size_t)g->pad_h) * ((size_t)g->W + 2 * (size_t)g->pad_w);
}

void cpu_avg_pool(struct compute *c, const struct pool_forward *op)
{
    if (cpu_scratch(cpu_of(c), bordered_elems(&op->window), 0))
        run_window(c, (struct pool){ .g = &op->window, .out = op->y, .in = op->x, .plane = avg_plane });
}

/* dx[i stride] += scale dy[i] */
static void scatter(float *restrict dx, size_t stride, const float *restrict dy, float scale, size_t n)
{
    if (stride == 1)
        for (size_t i = 0; i < n; i++)
            dx[i] += scale * dy[i];
    else
        for (size_t i = 0; i < n; i++)
            dx[i * stride] += scale * dy[i];
}

static void avg_grad_plane(const struct pool *t, size_t i, float *scratch)
{
    const struct window *g = t->g;
    float *dx = t->out + i * t->in_plane;
    const float *dy = t->in + i * t->out_plane, scale = 1.0f / (float)(g->kernel_h * g->kernel_w);

    (void)scratch;
    clear_plane(t, i);
    for (int o = 0; o < t->out_h; o++, dy += t->out_w) {
        const int top = o * g->stride_h - g->pad_h;
        const struct bounds rows = inside(top, g->kernel_h, g->H);
        for (int k = rows.from; k < rows.to; k++)
            for (int j = 0; j < g->kernel_w; j++) {
                const struct bounds s = reached(0, t->out_w, g->stride_w, j - g->pad_w, g->W);
                if (s.from < s.to)
                    scatter(dx + (size_t)(top + k) * (size_t)g->W + (size_t)(s.from * g->stride_w + j - g->pad_w),
                            (size_t)g->stride_w, dy + s.from, scale, (size_t)(s.to - s.from));
            }
    }
}

/* With stride 1 the gradient is an average pool of dy with this window. */
static struct window flipped(const struct window *g)
{
    struct window back = *g;

    back.H = window_out_h(g);
    back.W = window_out_w(g);
    back.pad_h = g->kernel_h - 1 - g->pad_h;
    back.pad_w = g->kernel_w - 1 - g->pad_w;
    return back;
}

static void avg_flipped_plane(const struct pool *t, size_t i, float *scratch)
{
    const struct window back = flipped(t->g);

    t->kernels->average_plane(t->out + i * t->in_plane, t->in + i * t->out_plane, scratch, &back, t->add);
}

void cpu_avg_pool_grad(struct compute *c, const struct pool_grad *op)
{
    const struct window *g = &op->window, back = flipped(g);
    struct pool t = { .g = g, .out = op->dx, .in = op->dy, .add = op->add, .plane = avg_grad_plane };

    if (g->stride_h == 1 && g->stride_w == 1)
        t.plane = avg_flipped_plane;
    if (t.plane == avg_grad_plane || cpu_scratch(cpu_of(c), bordered_elems(&back), 0))
        run_window(c, t);
}

/* Input rows, or columns, that output o of n_out averages. */
static struct bounds input_range(int o, int n_in, int n_out)
{
    return (struct bounds){ (int)((int64_t)o * n_in / n_out), (int)(((int64_t)(o + 1) * n_in + n_out - 1) / n_out) };
}

static void adaptive_plane(const struct pool *t, size_t i, float *scratch)
{
    const float *x = t->in + i * t->in_plane;
    float *y = t->out + i * t->out_plane;
    const size_t W = (size_t)t->g->W;

    (void)scratch;
    for (int o_h = 0; o_h < t->out_h; o_h++)
        for (int o_w = 0; o_w < t->out_w; o_w++) {
            const struct bounds rows = input_range(o_h, t->g->H, t->out_h),
                                columns = input_range(o_w, t->g->W, t->out_w);
            const size_t n = (size_t)(columns.to - columns.from), n_rows = (size_t)(rows.to - rows.from);
            const float *from = x + (size_t)rows.from * W + (size_t)columns.from;
            double sum = 0.0;
            if (n == W)
                sum = t->kernels->sum(from, n_rows * n);
            else
                for (size_t h = 0; h < n_rows; h++)
                    sum += t->kernels->sum(from + h * W, n);
            *y++ = (float)(sum / (double)(n_rows * n));
        }
}

void cpu_adaptive_pool(struct compute *c, const struct pool_forward *op)
{
    run(c, (struct pool){ .g = &op->window,
                          .out = op->y,
                          .in = op->x,
                          .out_h = op->out_h,
                          .out_w = op->out_w,
                          .plane = adaptive_plane });
}

static void adaptive_grad_plane(const struct pool *t, size_t i, float *scratch)
{
    const size_t W = (size_t)t->g->W;
    float *dx = t->out + i * t->in_plane;
    const float *dy = t->in + i * t->out_plane;

    (void)scratch;
    clear_plane(t, i);
    for (int o_h = 0; o_h < t->out_h; o_h++)
        for (int o_w = 0; o_w < t->out_w; o_w++, dy++) {
            const struct bounds rows = input_range(o_h, t->g->H, t->out_h),
                                columns = input_range(o_w, t->g->W, t->out_w);
            const size_t n = (size_t)(columns.to - columns.from), n_rows = (size_t)(rows.to - rows.from);
            const float each = *dy / (float)(n_rows * n);
            float *to = dx + (size_t)rows.from * W + (size_t)columns.from;
            for (size_t h = 0; h < n_rows; h++)
                t->kernels->add_constant(to + h * W, each, n);
        }
}

void cpu_adaptive_pool_grad(struct compute *c, const struct pool_grad *op)
{
    run(c, (struct pool){ .g = &op->window,
                          .out = op->dx,
                          .in = op->dy,
                          .add = op->add,
                          .out_h = op->out_h,
                          .out_w = op->out_w,
                          .plane = adaptive_grad_plane });
}
