/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.c - convolutions and GEMMs of the cuda backend.
 *
 * A convolution is the GEMM y(C_out, N) = weight(C_out, K) col(K, N), K = C kernel_h kernel_w, N = B out_h out_w.
 * Pointwise (1 x 1, stride 1), col is x as stored. Otherwise im2col writes groups of columns to scratch, at most
 * CUDA_COLUMNS_BYTES at a time, and there is one GEMM for each group. For bf16 all operands are packed. Groups depend
 * on shapes alone, and weight gradients add them in order (C1).
 *
 * The gradient of the input is, with stride 1, the convolution of dy with the flipped kernel, which needs no col2im.
 * That wastes work where the output is much smaller than the input (a dense layer); there, and with larger strides, it
 * is col = weight^T dy, then col2im.
 */
#include <assert.h>
#include <string.h>

#include "harness/compute/cuda/cuda.h"

enum {
    PACKED_ROW_ELEMS = 8,  /* row lengths of packed operands are multiples of this */
    COLUMN_GROUP = 256,    /* a group has a multiple of this many columns */
    MAX_COLUMNS = 1 << 30, /* of one GEMM */
    SCRATCH_ALIGN_BYTES = 256,
};

struct conv_args {
    float *to;
    const float *a, *b; /* its inputs, in the order of compute.h */
    const float *scale, *shift, *add;
    struct conv_shape s;
    int relu, beta; /* int: no padding */
};

struct plan {
    struct cuda_window in;
    size_t C_out, K, N; /* weight (C_out, K), columns (K, N) */
    bool pointwise, bf16;
    size_t elem_bytes;    /* of a packed operand */
    size_t columns_bytes; /* packed at a time */
};

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static struct cuda_window window_of(const struct window *g)
{
    return (struct cuda_window){ g->B,        g->C,        g->H,     g->W,     g->kernel_h,     g->kernel_w,
                                 g->stride_h, g->stride_w, g->pad_h, g->pad_w, window_out_h(g), window_out_w(g) };
}

static struct plan plan_of(const struct cuda_compute *c, const struct cuda_window *in, size_t C_out)
{
    struct plan p = {
        .in = *in, .C_out = C_out, .bf16 = c->precision == PRECISION_BF16, .columns_bytes = c->columns_bytes
    };

    p.K = (size_t)in->C * (size_t)in->kernel_h * (size_t)in->kernel_w;
    p.N = (size_t)in->B * (size_t)in->out_h * (size_t)in->out_w;
    p.pointwise = in->kernel_h == 1 && in->kernel_w == 1 && in->stride_h == 1 && in->stride_w == 1;
    p.elem_bytes = p.bf16 ? sizeof(uint16_t) : sizeof(float);
    return p;
}

static bool packs_columns(const struct plan *p)
{
    return p->bf16 || !p->pointwise;
}

/* Columns of a group, each of n_rows packed elements. */
static size_t group_of(const struct plan *p, size_t n_rows)
{
    size_t n = p->columns_bytes / (n_rows * p->elem_bytes) / COLUMN_GROUP * COLUMN_GROUP;

    if (!packs_columns(p))
        n = MAX_COLUMNS;
    if (n < COLUMN_GROUP)
        n = COLUMN_GROUP;
    return n < p->N ? n : p->N;
}

static size_t packed_bytes(const struct plan *p, size_t n_rows, size_t n)
{
    return round_up(n_rows * round_up(n, PACKED_ROW_ELEMS) * p->elem_bytes, SCRATCH_ALIGN_BYTES);
}

struct operand {
    const void *data;
    size_t ld;
};

/* Columns [first, first + n) of col(K, N): packed into `to`, or x as stored. */
static struct operand columns_of(struct cuda_compute *c, const struct plan *p, void *to, const float *x, size_t first,
                                 size_t n)
{
    const size_t ld = round_up(n, PACKED_ROW_ELEMS);
    const cuda_stream stream = cuda_device_stream(c->device);

    if (!packs_columns(p))
        return (struct operand){ x + first, p->N };
    if (!c->gemm_only && p->pointwise)
        cuda_rows_to_bf16(to, ld, x + first, p->N, p->K, n, stream);
    else if (!c->gemm_only)
        cuda_im2col(to, x, &p->in, first, n, ld, p->bf16, stream);
    return (struct operand){ to, ld };
}

/* Columns [first, first + n) of from(n_rows, N): as stored, or bfloat16 in `to`. */
static struct operand matrix_columns(struct cuda_compute *c, const struct plan *p, void *to, const float *from,
                                     size_t n_rows, size_t first, size_t n)
{
    const size_t ld = round_up(n, PACKED_ROW_ELEMS);

    if (!p->bf16)
        return (struct operand){ from + first, p->N };
    if (!c->gemm_only)
        cuda_rows_to_bf16(to, ld, from + first, p->N, n_rows, n, cuda_device_stream(c->device));
    return (struct operand){ to, ld };
}

/* from(n_rows, n), rows contiguous: as stored, or bfloat16 in `to`. */
static struct operand whole_matrix(struct cuda_compute *c, const struct plan *p, void *to, const float *from,
                                   size_t n_rows, size_t n)
{
    const size_t ld = round_up(n, PACKED_ROW_ELEMS);

    if (!p->bf16)
        return (struct operand){ from, n };
    if (!c->gemm_only)
        cuda_rows_to_bf16(to, ld, from, n, n_rows, n, cuda_device_stream(c->device));
    return (struct operand){ to, ld };
}

/* --- forward --- */

static size_t forward_bytes(const struct plan *p)
{
    const size_t weight = p->bf16 ? packed_bytes(p, p->C_out, p->K) : 0;

    return weight + (packs_columns(p) ? packed_bytes(p, p->K, group_of(p, p->K)) : 0);
}

/* y(C_out, N) (+)= weight(C_out, K) col(K, N), group by group, each with its epilogue while it is in the cache. */
static void forward(struct cuda_compute *c, const struct plan *p, struct operand weight, void *columns,
                    const struct conv_args *a)
{
    const bool finish = a->scale != NULL || a->shift != NULL || a->add != NULL || a->relu;
    const size_t group = group_of(p, p->K);
    size_t n;

    for (size_t first = 0; first < p->N; first += n) {
        n = p->N - first < group ? p->N - first : group;
        const struct operand x = columns_of(c, p, columns, a->a, first, n);
        const struct cuda_gemm g = { .M = (int)p->C_out,
                                     .N = (int)n,
                                     .K = (int)p->K,
                                     .bf16 = p->bf16,
                                     .a = weight.data,
                                     .lda = weight.ld,
                                     .b = x.data,
                                     .ldb = x.ld,
                                     .beta = a->beta ? 1.0f : 0.0f,
                                     .c = a->to + first,
                                     .ldc = p->N };
        cuda_device_gemm(c->device, &g);
        if (finish && !c->gemm_only)
            cuda_epilogue(a->to + first, a->scale, a->shift, a->add != NULL ? a->add + first : NULL, a->relu != 0,
                          p->C_out, n, p->N, cuda_device_stream(c->device));
    }
}

static void run_conv(struct cuda_compute *c, const void *args)
{
    struct conv_args a;

    memcpy(&a, args, sizeof a);
    const struct cuda_window in = window_of(&a.s.in);
    const struct plan p = plan_of(c, &in, (size_t)a.s.C_out);
    const struct operand weight = whole_matrix(c, &p, c->scratch, a.b, p.C_out, p.K);
    forward(c, &p, weight, c->scratch + (p.bf16 ? packed_bytes(&p, p.C_out, p.K) : 0), &a);
}

void cuda_op_conv(struct compute *base, const struct conv_forward *op)
{
    struct cuda_compute *c = (struct cuda_compute *)base;
    const struct cuda_window in = window_of(&op->shape.in);
    const struct plan p = plan_of(c, &in, (size_t)op->shape.C_out);
    struct conv_args a;

    memset(&a, 0, sizeof a);
    a.to = op->y;
    a.a = op->x;
    a.b = op->weight;
    a.s = op->shape;
    a.scale = op->epilogue.scale;
    a.shift = op->epilogue.shift;
    a.add = op->epilogue.add;
    a.relu = op->epilogue.relu;
    if (cuda_scratch_grow(c, "conv", forward_bytes(&p)))
        cuda_log_call(c, "conv", run_conv, &a, sizeof a);
}

/* --- gradient of the input --- */

/* The convolution of dy with the flipped kernel, whose output is dx. */
static struct cuda_window flipped_window(const struct window *g, int C_out)
{
    return (struct cuda_window){ .B = g->B,
                                 .C = C_out,
                                 .H = window_out_h(g),
                                 .W = window_out_w(g),
                                 .kernel_h = g->kernel_h,
                                 .kernel_w = g->kernel_w,
                                 .stride_h = 1,
                                 .stride_w = 1,
                                 .pad_h = g->kernel_h - 1 - g->pad_h,
                                 .pad_w = g->kernel_w - 1 - g->pad_w,
                                 .out_h = g->H,
                                 .out_w = g->W };
}

/* The flipped convolution is chosen if it does at most twice the flops of weight^T dy. */
static bool flip_pays(const struct window *g)
{
    return g->stride_h == 1 && g->stride_w == 1 &&
           (double)g->H * g->W <= 2.0 * (double)window_out_h(g) * (double)window_out_w(g);
}

static size_t flipped_weight_bytes(const struct plan *flipped)
{
    return round_up(flipped->C_out * flipped->K * flipped->elem_bytes, SCRATCH_ALIGN_BYTES);
}

static void flipped_grad(struct cuda_compute *c, const struct conv_args *a)
{
    const struct cuda_window in = flipped_window(&a->s.in, a->s.C_out);
    const struct plan p = plan_of(c, &in, (size_t)a->s.in.C);

    if (!c->gemm_only)
        cuda_flip_weight(c->scratch, a->b, a->s.C_out, a->s.in.C, in.kernel_h, in.kernel_w, p.bf16,
                         cuda_device_stream(c->device));
    forward(c, &p, (struct operand){ c->scratch, p.K }, c->scratch + flipped_weight_bytes(&p), a);
}

/* Images of one GEMM of col2im_grad, whose col(K, n plane) of floats fits into columns_bytes; at least one. Of several
 * GEMMs a multiple of 8 where as many fit: each then begins at an address as aligned as the first. */
static size_t images_of(const struct plan *p)
{
    const size_t plane = (size_t)p->in.out_h * (size_t)p->in.out_w;
    const size_t n = p->columns_bytes / (p->K * plane * sizeof(float));

    if (n >= (size_t)p->in.B)
        return (size_t)p->in.B;
    if (n >= PACKED_ROW_ELEMS)
        return n / PACKED_ROW_ELEMS * PACKED_ROW_ELEMS;
    return n < 1 ? 1 : n;
}

struct grad_scratch { /* offsets in bytes; weight is at 0 */
    size_t dy, columns, end;
};

static struct grad_scratch grad_scratch_of(const struct plan *p)
{
    const size_t n = images_of(p) * (size_t)p->in.out_h * (size_t)p->in.out_w;
    struct grad_scratch g;

    g.dy = p->bf16 ? packed_bytes(p, p->C_out, p->K) : 0;
    g.columns = g.dy + (p->bf16 ? packed_bytes(p, p->C_out, n) : 0);
    g.end = g.columns + (p->pointwise ? 0 : round_up(p->K * n * sizeof(float), SCRATCH_ALIGN_BYTES));
    return g;
}

/* col(K, n plane) = weight(C_out, K)^T dy(C_out, n plane), n images at a time, then col2im; pointwise: col is dx. */
static void col2im_grad(struct cuda_compute *c, const struct conv_args *a)
{
    const struct cuda_window in = window_of(&a->s.in);
    const struct plan p = plan_of(c, &in, (size_t)a->s.C_out);
    const struct grad_scratch offset = grad_scratch_of(&p);
    const size_t plane = (size_t)in.out_h * (size_t)in.out_w, group = images_of(&p);
    const struct operand weight = whole_matrix(c, &p, c->scratch, a->b, p.C_out, p.K);
    float *columns = (float *)(void *)(c->gemm_only ? c->products : c->scratch + offset.columns);
    size_t n;

    for (size_t b = 0; b < (size_t)in.B; b += n) {
        n = (size_t)in.B - b < group ? (size_t)in.B - b : group;
        const struct operand dy = matrix_columns(c, &p, c->scratch + offset.dy, a->a, p.C_out, b * plane, n * plane);
        const struct cuda_gemm g = { .transpose_a = true,
                                     .M = (int)p.K,
                                     .N = (int)(n * plane),
                                     .K = (int)p.C_out,
                                     .bf16 = p.bf16,
                                     .a = weight.data,
                                     .lda = weight.ld,
                                     .b = dy.data,
                                     .ldb = dy.ld,
                                     .beta = p.pointwise && a->beta ? 1.0f : 0.0f,
                                     .c = p.pointwise ? a->to + b * plane : columns,
                                     .ldc = p.pointwise ? p.N : n * plane };
        cuda_device_gemm(c->device, &g);
        if (!p.pointwise && !c->gemm_only)
            cuda_col2im(a->to, columns, &in, (int)b, (int)n, a->beta != 0, cuda_device_stream(c->device));
    }
}

static void run_input_grad(struct cuda_compute *c, const void *args)
{
    struct conv_args a;

    memcpy(&a, args, sizeof a);
    if (!(a.s.in.kernel_h == 1 && a.s.in.kernel_w == 1) && flip_pays(&a.s.in))
        flipped_grad(c, &a);
    else
        col2im_grad(c, &a);
}

static size_t input_grad_bytes(const struct cuda_compute *c, const struct conv_shape *s)
{
    const struct cuda_window in = window_of(&s->in), flipped = flipped_window(&s->in, s->C_out);
    const struct plan gathered = plan_of(c, &in, (size_t)s->C_out), p = plan_of(c, &flipped, (size_t)s->in.C);

    if (!(in.kernel_h == 1 && in.kernel_w == 1) && flip_pays(&s->in))
        return flipped_weight_bytes(&p) + packed_bytes(&p, p.K, group_of(&p, p.K));
    return grad_scratch_of(&gathered).end;
}

void cuda_op_conv_input_grad(struct compute *base, const struct conv_input_grad *op)
{
    struct cuda_compute *c = (struct cuda_compute *)base;
    struct conv_args a;

    memset(&a, 0, sizeof a);
    a.to = op->dx;
    a.a = op->dy;
    a.b = op->weight;
    a.s = op->shape;
    a.beta = op->add;
    const size_t n_bytes = input_grad_bytes(c, &op->shape);
    if (cuda_scratch_grow(c, "conv_input_grad", n_bytes) && cuda_products_grow(c, "conv_input_grad", n_bytes))
        cuda_log_call(c, "conv_input_grad", run_input_grad, &a, sizeof a);
}

/* --- gradient of the weight --- */

/* Columns of a group: col is packed, and dy if bf16. */
static size_t weight_group(const struct plan *p)
{
    return group_of(p, p->K + (p->bf16 ? p->C_out : 0));
}

static void run_weight_grad(struct cuda_compute *c, const void *args)
{
    struct conv_args a;

    memcpy(&a, args, sizeof a);
    const struct cuda_window in = window_of(&a.s.in);
    const struct plan p = plan_of(c, &in, (size_t)a.s.C_out);
    const size_t group = weight_group(&p), dy_bytes = p.bf16 ? packed_bytes(&p, p.C_out, group) : 0;
    size_t n;
    for (size_t first = 0; first < p.N; first += n) {
        n = p.N - first < group ? p.N - first : group;
        const struct operand dy = matrix_columns(c, &p, c->scratch, a.a, p.C_out, first, n);
        const struct operand x = columns_of(c, &p, c->scratch + dy_bytes, a.b, first, n);
        const struct cuda_gemm g = { .transpose_b = true,
                                     .M = (int)p.C_out,
                                     .N = (int)p.K,
                                     .K = (int)n,
                                     .bf16 = p.bf16,
                                     .a = dy.data,
                                     .lda = dy.ld,
                                     .b = x.data,
                                     .ldb = x.ld,
                                     .beta = first > 0 ? 1.0f : 0.0f,
                                     .c = a.to,
                                     .ldc = p.K };
        cuda_device_gemm(c->device, &g);
    }
}

void cuda_op_conv_weight_grad(struct compute *base, const struct conv_weight_grad *op)
{
    struct cuda_compute *c = (struct cuda_compute *)base;
    const struct cuda_window in = window_of(&op->shape.in);
    const struct plan p = plan_of(c, &in, (size_t)op->shape.C_out);
    const size_t group = weight_group(&p);
    struct conv_args a;

    memset(&a, 0, sizeof a);
    a.to = op->dweight;
    a.a = op->dy;
    a.b = op->x;
    a.s = op->shape;
    if (cuda_scratch_grow(c, "conv_weight_grad",
                          (p.bf16 ? packed_bytes(&p, p.C_out, group) : 0) +
                              (packs_columns(&p) ? packed_bytes(&p, p.K, group) : 0)))
        cuda_log_call(c, "conv_weight_grad", run_weight_grad, &a, sizeof a);
}

/* --- GEMM --- */

struct gemm_args {
    const float *a, *b;
    float *c;
    int transpose_a, transpose_b, M, N, K;
    float beta;
};

/* Rows and columns of A and B as stored, before op(). */
struct stored {
    size_t a_rows, a_columns, b_rows, b_columns;
};

static struct stored stored_of(const struct gemm_args *a)
{
    const size_t M = (size_t)a->M, N = (size_t)a->N, K = (size_t)a->K;

    return (struct stored){ a->transpose_a ? K : M, a->transpose_a ? M : K, a->transpose_b ? N : K,
                            a->transpose_b ? K : N };
}

static void run_gemm(struct cuda_compute *c, const void *args)
{
    const struct plan p = { .bf16 = c->precision == PRECISION_BF16, .elem_bytes = sizeof(uint16_t) };
    struct gemm_args a;

    memcpy(&a, args, sizeof a);
    const struct stored s = stored_of(&a);
    const struct operand left = whole_matrix(c, &p, c->scratch, a.a, s.a_rows, s.a_columns);
    const struct operand right =
        whole_matrix(c, &p, c->scratch + packed_bytes(&p, s.a_rows, s.a_columns), a.b, s.b_rows, s.b_columns);
    const struct cuda_gemm g = { .transpose_a = a.transpose_a != 0,
                                 .transpose_b = a.transpose_b != 0,
                                 .M = a.M,
                                 .N = a.N,
                                 .K = a.K,
                                 .bf16 = p.bf16,
                                 .a = left.data,
                                 .lda = left.ld,
                                 .b = right.data,
                                 .ldb = right.ld,
                                 .beta = a.beta,
                                 .c = a.c,
                                 .ldc = (size_t)a.N };
    cuda_device_gemm(c->device, &g);
}

void cuda_op_gemm(struct compute *base, const struct gemm *g)
{
    struct cuda_compute *c = (struct cuda_compute *)base;
    const struct plan p = { .bf16 = c->precision == PRECISION_BF16, .elem_bytes = sizeof(uint16_t) };
    struct gemm_args a;

    memset(&a, 0, sizeof a);
    a.a = g->a;
    a.b = g->b;
    a.c = g->c;
    a.transpose_a = g->transpose_a;
    a.transpose_b = g->transpose_b;
    a.M = g->M;
    a.N = g->N;
    a.K = g->K;
    a.beta = g->beta;
    const struct stored s = stored_of(&a);
    const size_t n_bytes = packed_bytes(&p, s.a_rows, s.a_columns) + packed_bytes(&p, s.b_rows, s.b_columns);
    if (cuda_scratch_grow(c, "gemm", p.bf16 ? n_bytes : 0))
        cuda_log_call(c, "gemm", run_gemm, &a, sizeof a);
}
