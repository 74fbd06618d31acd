/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.c - convolutions of the cuda backend.
 *
 * A convolution is the GEMM y(C_out, N) = weight(C_out, K) col(K, N), K = C kernel_h kernel_w, N = B out_h out_w.
 * Pointwise (1 x 1, stride 1), col is x as stored. Otherwise im2col writes groups of columns to scratch, at most
 * CUDA_COLUMNS_BYTES at a time, and there is one GEMM for each group. For bf16 all operands are packed:
 * those that the caller has packed are read as they are, the others are packed for each GEMM. Groups depend on shapes
 * alone, so with either the GEMMs have the same shapes and values, and weight gradients add groups in order
 * (compute.C1).
 *
 * The gradient of the input is, with stride 1, the convolution of dy with the flipped kernel, which needs no col2im.
 * That wastes work where the output is much smaller than the input (a dense layer); there, and with larger strides, it
 * is col = weight^T dy, then col2im.
 */
#include <assert.h>
#include <string.h>

#include "harness/compute/cuda/operand.h"

enum {
    COLUMN_GROUP = 256,    /* a group has a multiple of this many columns */
    MAX_COLUMNS = 1 << 30, /* of one GEMM */
};
_Static_assert(COLUMN_GROUP % PACKED_ROW_ELEMS == 0, "a group of packed columns begins at an aligned address");

struct conv_args {
    float *to;
    const float *a, *b;                  /* its inputs, in the order of compute.h */
    const uint16_t *a_packed, *b_packed; /* NULL: they are not */
    uint16_t *to_packed, *weight_to;     /* NULL: not wanted */
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
    return operand_bytes(n_rows, n, p->elem_bytes);
}

struct array { /* (rows, n) */
    const float *data;
    const uint16_t *packed; /* not NULL: read in place of data */
};

/* Columns [first, first + n) of from(n_rows, N): as stored, or packed into `to`. Packed rows begin aligned; columns
 * that do not are copied to where they are. */
static struct operand matrix_columns(struct cuda_compute *c, const struct plan *p, void *to, struct array from,
                                     size_t n_rows, size_t first, size_t n)
{
    const size_t ld = packed_row_elems(n), from_ld = packed_row_elems(p->N);

    if (from.packed == NULL)
        return operand_of(c, to, from.data + first, p->N, n_rows, n);
    if (first % PACKED_ROW_ELEMS == 0)
        return (struct operand){ from.packed + first, from_ld };
    cuda_align_rows(to, ld, from.packed + first, from_ld, n_rows, n, cuda_device_stream(c->device));
    return (struct operand){ to, ld };
}

/* Columns [first, first + n) of col(K, N): packed into `to`, or x as stored. */
static struct operand columns_of(struct cuda_compute *c, const struct plan *p, void *to, struct array x, size_t first,
                                 size_t n)
{
    const size_t ld = packed_row_elems(n);
    const cuda_stream stream = cuda_device_stream(c->device);

    if (p->pointwise)
        return matrix_columns(c, p, to, x, p->K, first, n);
    if (x.packed != NULL)
        cuda_im2col_packed(to, x.packed, &p->in, first, n, ld, stream);
    else if (!c->gemm_only)
        cuda_im2col(to, x.data, &p->in, first, n, ld, p->bf16, stream);
    return (struct operand){ to, ld };
}

/* Scratch of columns_of() for a group of n. */
static size_t columns_bytes(const struct plan *p, bool is_packed, size_t n)
{
    const bool is_as_stored = p->pointwise && (is_packed || !p->bf16);

    return is_as_stored ? 0 : packed_bytes(p, p->K, n);
}

/* --- forward --- */

/* The weight, where scratch is needed for it, and the columns. */
static size_t forward_bytes(const struct plan *p, bool weight_has_memory, bool x_is_packed)
{
    const size_t weight = p->bf16 && !weight_has_memory ? packed_bytes(p, p->C_out, p->K) : 0;

    return weight + columns_bytes(p, x_is_packed, group_of(p, p->K));
}

static void finish(struct cuda_compute *c, const struct plan *p, const struct conv_args *a, size_t first, size_t n)
{
    const struct epilogue e = {
        .scale = a->scale, .shift = a->shift, .add = a->add != NULL ? a->add + first : NULL, .relu = a->relu != 0
    };
    uint16_t *packed = a->to_packed != NULL ? a->to_packed + first : NULL;
    const cuda_stream stream = cuda_device_stream(c->device);

    if (c->gemm_only)
        return;
    if (e.scale != NULL || e.shift != NULL || e.add != NULL || e.relu)
        cuda_epilogue(a->to + first, packed, &e, p->C_out, n, p->N, stream);
    else if (packed != NULL)
        cuda_rows_to_bf16(packed, packed_row_elems(p->N), a->to + first, p->N, p->C_out, n, stream);
}

/* y(C_out, N) (+)= weight(C_out, K) col(K, N), group by group, each with its epilogue while it is in the cache. */
static void forward(struct cuda_compute *c, const struct plan *p, struct operand weight, void *columns,
                    const struct conv_args *a)
{
    const struct array in = { a->a, a->a_packed };
    const size_t group = group_of(p, p->K);
    size_t n;

    for (size_t first = 0; first < p->N; first += n) {
        n = p->N - first < group ? p->N - first : group;
        const struct operand x = columns_of(c, p, columns, in, first, n);
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
        finish(c, p, a, first, n);
    }
}

/* (C_out, K): as stored, as the caller packed it, or packed into `to`. */
static struct operand weight_of(struct cuda_compute *c, const struct plan *p, const struct conv_args *a, void *to)
{
    if (a->b_packed != NULL)
        return (struct operand){ a->b_packed, packed_row_elems(p->K) };
    return operand_of(c, to, a->b, p->K, p->C_out, p->K);
}

static void run_conv(struct cuda_compute *c, const void *args)
{
    struct conv_args a;

    memcpy(&a, args, sizeof a);
    const struct cuda_window in = window_of(&a.s.in);
    const struct plan p = plan_of(c, &in, (size_t)a.s.C_out);
    const bool has_memory = a.weight_to != NULL || a.b_packed != NULL;
    const struct operand weight = weight_of(c, &p, &a, has_memory ? a.weight_to : (void *)c->scratch);
    forward(c, &p, weight, c->scratch + (p.bf16 && !has_memory ? packed_bytes(&p, p.C_out, p.K) : 0), &a);
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
    a.a_packed = op->x_packed;
    a.b_packed = op->weight_is_packed ? op->weight_packed : NULL;
    a.weight_to = op->weight_is_packed ? NULL : op->weight_packed;
    a.to_packed = op->y_packed;
    a.s = op->shape;
    a.scale = op->epilogue.scale;
    a.shift = op->epilogue.shift;
    a.add = op->epilogue.add;
    a.relu = op->epilogue.relu;
    if (cuda_scratch_grow(c, "conv", forward_bytes(&p, op->weight_packed != NULL, op->x_packed != NULL)))
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
    return scratch_round_up(flipped->C_out * flipped->K * flipped->elem_bytes);
}

static void flipped_grad(struct cuda_compute *c, const struct conv_args *a)
{
    const struct cuda_window in = flipped_window(&a->s.in, a->s.C_out);
    const struct plan p = plan_of(c, &in, (size_t)a->s.in.C);

    if (a->b_packed != NULL)
        cuda_flip_packed((uint16_t *)(void *)c->scratch, a->b_packed, a->s.C_out, a->s.in.C, in.kernel_h, in.kernel_w,
                         cuda_device_stream(c->device));
    else if (!c->gemm_only)
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

static struct grad_scratch grad_scratch_of(const struct plan *p, bool dy_is_packed, bool weight_is_packed)
{
    const size_t n_images = images_of(p), n = n_images * (size_t)p->in.out_h * (size_t)p->in.out_w;
    const bool is_in_place = dy_is_packed && (n_images == (size_t)p->in.B || n % PACKED_ROW_ELEMS == 0);
    struct grad_scratch g;

    g.dy = p->bf16 && !weight_is_packed ? packed_bytes(p, p->C_out, p->K) : 0;
    g.columns = g.dy + (p->bf16 && !is_in_place ? packed_bytes(p, p->C_out, n) : 0);
    g.end = g.columns + (p->pointwise ? 0 : scratch_round_up(p->K * n * sizeof(float)));
    return g;
}

/* col(K, n plane) = weight(C_out, K)^T dy(C_out, n plane), n images at a time, then col2im; pointwise: col is dx. */
static void col2im_grad(struct cuda_compute *c, const struct conv_args *a)
{
    const struct cuda_window in = window_of(&a->s.in);
    const struct plan p = plan_of(c, &in, (size_t)a->s.C_out);
    const struct grad_scratch offset = grad_scratch_of(&p, a->a_packed != NULL, a->b_packed != NULL);
    const struct array from = { a->a, a->a_packed };
    const size_t plane = (size_t)in.out_h * (size_t)in.out_w, group = images_of(&p);
    const struct operand weight = weight_of(c, &p, a, c->scratch);
    float *columns = (float *)(void *)(c->gemm_only ? c->products : c->scratch + offset.columns);
    size_t n;

    for (size_t b = 0; b < (size_t)in.B; b += n) {
        n = (size_t)in.B - b < group ? (size_t)in.B - b : group;
        const struct operand dy = matrix_columns(c, &p, c->scratch + offset.dy, from, p.C_out, b * plane, n * plane);
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

static size_t input_grad_bytes(const struct cuda_compute *c, const struct conv_input_grad *op)
{
    const struct conv_shape *s = &op->shape;
    const struct cuda_window in = window_of(&s->in), flipped = flipped_window(&s->in, s->C_out);
    const struct plan gathered = plan_of(c, &in, (size_t)s->C_out), p = plan_of(c, &flipped, (size_t)s->in.C);

    if (!(in.kernel_h == 1 && in.kernel_w == 1) && flip_pays(&s->in))
        return flipped_weight_bytes(&p) + packed_bytes(&p, p.K, group_of(&p, p.K));
    return grad_scratch_of(&gathered, op->dy_packed != NULL, op->weight_packed != NULL).end;
}

void cuda_op_conv_input_grad(struct compute *base, const struct conv_input_grad *op)
{
    struct cuda_compute *c = (struct cuda_compute *)base;
    struct conv_args a;

    memset(&a, 0, sizeof a);
    a.to = op->dx;
    a.a = op->dy;
    a.b = op->weight;
    a.a_packed = op->dy_packed;
    a.b_packed = op->weight_packed;
    a.s = op->shape;
    a.beta = op->add;
    const size_t n_bytes = input_grad_bytes(c, op);
    if (cuda_scratch_grow(c, "conv_input_grad", n_bytes) && cuda_products_grow(c, "conv_input_grad", n_bytes))
        cuda_log_call(c, "conv_input_grad", run_input_grad, &a, sizeof a);
}

/* --- gradient of the weight --- */

/* Columns of a group: col is packed, and dy if bf16. */
static size_t weight_group(const struct plan *p)
{
    return group_of(p, p->K + (p->bf16 ? p->C_out : 0));
}

static size_t weight_dy_bytes(const struct plan *p, bool is_packed)
{
    return p->bf16 && !is_packed ? packed_bytes(p, p->C_out, weight_group(p)) : 0;
}

static void run_weight_grad(struct cuda_compute *c, const void *args)
{
    struct conv_args a;

    memcpy(&a, args, sizeof a);
    const struct cuda_window in = window_of(&a.s.in);
    const struct plan p = plan_of(c, &in, (size_t)a.s.C_out);
    const struct array left = { a.a, a.a_packed }, right = { a.b, a.b_packed };
    const size_t group = weight_group(&p), dy_bytes = weight_dy_bytes(&p, a.a_packed != NULL);
    size_t n;
    for (size_t first = 0; first < p.N; first += n) {
        n = p.N - first < group ? p.N - first : group;
        const struct operand dy = matrix_columns(c, &p, c->scratch, left, p.C_out, first, n);
        const struct operand x = columns_of(c, &p, c->scratch + dy_bytes, right, first, n);
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
    struct conv_args a;

    memset(&a, 0, sizeof a);
    a.to = op->dweight;
    a.a = op->dy;
    a.b = op->x;
    a.a_packed = op->dy_packed;
    a.b_packed = op->x_packed;
    a.s = op->shape;
    if (cuda_scratch_grow(c, "conv_weight_grad",
                          weight_dy_bytes(&p, op->dy_packed != NULL) +
                              columns_bytes(&p, op->x_packed != NULL, weight_group(&p))))
        cuda_log_call(c, "conv_weight_grad", run_weight_grad, &a, sizeof a);
}
