/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.cu - the kernels of a convolution beside its GEMMs: im2col, col2im, packing, epilogue.
 *
 * col has a row for every (channel, kernel row, kernel column) and a column for every output position
 * (image, row, column). Neighbouring threads take neighbouring columns, so reads of x and writes of col are
 * coalesced if the stride is 1.
 */
#include "harness/compute/cuda/kernels.cuh"

/* An output position: column `index` of col. */
struct column {
    int b, h, w;
};

static __device__ __forceinline__ struct column column_of(size_t index, const struct cuda_window &g)
{
    const unsigned plane_elems = (unsigned)g.out_h * (unsigned)g.out_w;
    struct column c;

    c.b = (int)divided(index, plane_elems);
    const unsigned rest = (unsigned)(index - (size_t)c.b * plane_elems);
    c.h = (int)(rest / (unsigned)g.out_w);
    c.w = (int)(rest % (unsigned)g.out_w);
    return c;
}

static __device__ __forceinline__ void column_next(struct column *c, const struct cuda_window &g)
{
    if (++c->w < g.out_w)
        return;
    c->w = 0;
    if (++c->h < g.out_h)
        return;
    c->h = 0;
    c->b++;
}

/* Of VECTOR_ELEMS neighbouring columns, the first n_here: the element of x under the kernel's first tap, whose offset
 * from the channel's first element is below 0 where the tap is in the padding. */
struct column_quad {
    long long offset[VECTOR_ELEMS];
    int h[VECTOR_ELEMS], w[VECTOR_ELEMS];
    size_t n_here;
    bool in_one_row; /* all VECTOR_ELEMS of them, in a row of the output */
};

static __device__ __forceinline__ struct column_quad column_quad_of(size_t first, size_t column, size_t n,
                                                                    const struct cuda_window &g)
{
    struct column c = column_of(first + column, g);
    struct column_quad q;

    q.n_here = quad_elems(column, n);
    q.in_one_row = q.n_here == VECTOR_ELEMS && c.w + VECTOR_ELEMS <= g.out_w;
#pragma unroll
    for (int k = 0; k < VECTOR_ELEMS; k++) {
        q.h[k] = c.h * g.stride_h - g.pad_h;
        q.w[k] = c.w * g.stride_w - g.pad_w;
        q.offset[k] = ((long long)c.b * g.H + q.h[k]) * g.W + q.w[k];
        column_next(&c, g);
    }
    return q;
}

static __device__ __forceinline__ bool is_inside(int i, int n)
{
    return (unsigned)i < (unsigned)n; /* also where i is below 0 */
}

/* The elements under one tap: row `tap_h`, column `tap_w` of the kernel. */
template <typename S>
static __device__ __forceinline__ void tap_load(float *v, const S *x, const struct column_quad &q, int tap_h, int tap_w,
                                                const struct cuda_window &g)
{
    const long long tap_offset = (long long)tap_h * g.W + tap_w;

#pragma unroll
    for (int k = 0; k < VECTOR_ELEMS; k++) {
        const bool inside = (size_t)k < q.n_here && is_inside(q.h[k] + tap_h, g.H) && is_inside(q.w[k] + tap_w, g.W);
        v[k] = inside ? operand_load(x + (q.offset[k] + tap_offset)) : 0.0f;
    }
}

/* KERNEL_W taps of a kernel's row, stride 1, columns in one row: what they share is loaded once. */
template <typename T, int KERNEL_W, typename S>
static __device__ __forceinline__ void tap_row(T *to, size_t ld, const S *x, const struct column_quad &q, int tap_h,
                                               const struct cuda_window &g)
{
    enum { SPAN = VECTOR_ELEMS + KERNEL_W - 1 };
    const bool row_inside = is_inside(q.h[0] + tap_h, g.H);
    const S *from = x + (q.offset[0] + (long long)tap_h * g.W);
    float v[SPAN];

#pragma unroll
    for (int k = 0; k < SPAN; k++)
        v[k] = row_inside && is_inside(q.w[0] + k, g.W) ? operand_load(from + k) : 0.0f;
#pragma unroll
    for (int tap_w = 0; tap_w < KERNEL_W; tap_w++)
        operands_store_some(to + (size_t)tap_w * ld, v + tap_w, VECTOR_ELEMS);
}

/* col(C taps, n) from x(C, B, H, W), whose channels are x_ld apart. One thread per VECTOR_ELEMS columns of all taps of
 * a channel, so that a place in the output is divided into image, row and column once for all of them; the grid strides
 * over (channels, groups of columns). KERNEL_W: the kernel's width if its stride is 1 and that is compiled in, else 0.
 */
template <typename T, int KERNEL_W, typename S>
static __global__ void im2col_kernel(T *col, const S *x, size_t x_ld, struct cuda_window g, size_t first, size_t n,
                                     size_t ld)
{
    const size_t n_groups = (n + VECTOR_ELEMS - 1) / VECTOR_ELEMS, taps = (size_t)g.kernel_h * (size_t)g.kernel_w;

    for (size_t i = thread_index(); i < (size_t)g.C * n_groups; i += thread_stride()) {
        const size_t channel = divided(i, n_groups), column = (i - channel * n_groups) * VECTOR_ELEMS;
        const struct column_quad q = column_quad_of(first, column, n, g);
        const S *from = x + channel * x_ld;
        T *to = col + channel * taps * ld + column;
        for (int tap_h = 0; tap_h < g.kernel_h; tap_h++) {
            if (KERNEL_W > 0 && q.in_one_row) {
                tap_row<T, KERNEL_W != 0 ? KERNEL_W : 1, S>(to, ld, from, q, tap_h, g);
                to += (size_t)g.kernel_w * ld;
                continue;
            }
            for (int tap_w = 0; tap_w < g.kernel_w; tap_w++, to += ld) {
                float v[VECTOR_ELEMS];
                tap_load(v, from, q, tap_h, tap_w, g);
                operands_store_some(to, v, q.n_here);
            }
        }
    }
}

template <typename T, typename S>
static void im2col_launch(T *col, const S *x, size_t x_ld, const struct cuda_window *g, size_t first, size_t n,
                          size_t ld, cuda_stream stream)
{
    const unsigned n_blocks = blocks_for((size_t)g->C * ((n + VECTOR_ELEMS - 1) / VECTOR_ELEMS));

    if (g->stride_w == 1 && g->kernel_w == 3)
        CUDA_LAUNCH((im2col_kernel<T, 3, S>), n_blocks, BLOCK_THREADS, stream, col, x, x_ld, *g, first, n, ld);
    else
        CUDA_LAUNCH((im2col_kernel<T, 0, S>), n_blocks, BLOCK_THREADS, stream, col, x, x_ld, *g, first, n, ld);
}

void cuda_im2col(void *col, const float *x, const struct cuda_window *g, size_t first, size_t n, size_t ld, bool bf16,
                 cuda_stream stream)
{
    const size_t x_ld = (size_t)g->B * (size_t)g->H * (size_t)g->W;

    if (bf16)
        im2col_launch((uint16_t *)col, x, x_ld, g, first, n, ld, stream);
    else
        im2col_launch((float *)col, x, x_ld, g, first, n, ld, stream);
}

void cuda_im2col_packed(uint16_t *col, const uint16_t *x, const struct cuda_window *g, size_t first, size_t n,
                        size_t ld, cuda_stream stream)
{
    const size_t x_ld = packed_ld((size_t)g->B * (size_t)g->H * (size_t)g->W);

    im2col_launch(col, x, x_ld, g, first, n, ld, stream);
}

/* One thread per element of dx, which sums its elements of col over the windows that cover it, row by row.
 * dx(C, B, H, W), images first .. first + n; col(C taps, n out_h out_w). */
static __global__ void col2im_kernel(float *dx, const float *col, struct cuda_window g, int first, int n, bool add,
                                     size_t n_elems)
{
    const size_t in_plane = (size_t)g.H * (size_t)g.W, out_plane = (size_t)g.out_h * (size_t)g.out_w;
    const size_t ld = (size_t)n * out_plane, taps = (size_t)g.kernel_h * (size_t)g.kernel_w;

    for (size_t i = thread_index(); i < n_elems; i += thread_stride()) {
        const size_t plane = divided(i, in_plane), channel = divided(plane, (size_t)n), b = plane - channel * (size_t)n;
        const unsigned rest = (unsigned)(i - plane * in_plane);
        const int h = (int)(rest / (unsigned)g.W) + g.pad_h, w = (int)(rest % (unsigned)g.W) + g.pad_w;
        const int from_h = h < g.kernel_h ? 0 : (h - g.kernel_h) / g.stride_h + 1;
        const int from_w = w < g.kernel_w ? 0 : (w - g.kernel_w) / g.stride_w + 1;
        const float *here = col + channel * taps * ld + b * out_plane;
        float *to = dx + (channel * (size_t)g.B + (size_t)first + b) * in_plane + rest;
        float sum = 0.0f;
        for (int o_h = from_h; o_h < g.out_h && o_h * g.stride_h <= h; o_h++)
            for (int o_w = from_w; o_w < g.out_w && o_w * g.stride_w <= w; o_w++) {
                const int tap = (h - o_h * g.stride_h) * g.kernel_w + w - o_w * g.stride_w;
                sum += here[(size_t)tap * ld + (size_t)o_h * (size_t)g.out_w + (size_t)o_w];
            }
        *to = add ? *to + sum : sum;
    }
}

void cuda_col2im(float *dx, const float *col, const struct cuda_window *g, int first, int n, bool add,
                 cuda_stream stream)
{
    const size_t n_elems = (size_t)g->C * (size_t)n * (size_t)g->H * (size_t)g->W;

    CUDA_LAUNCH(col2im_kernel, blocks_for(n_elems), BLOCK_THREADS, stream, dx, col, *g, first, n, add, n_elems);
}

/* weight(C_out, C taps), whose rows are ld apart */
template <typename T, typename S>
static __global__ void flip_kernel(T *out, const S *weight, size_t ld, size_t C_out, size_t taps, size_t n)
{
    for (size_t i = thread_index(); i < n; i += thread_stride()) { /* i: of the output (C, C_out, taps) */
        const size_t pair = divided(i, taps), c = divided(pair, C_out), k = pair - c * C_out, tap = i - pair * taps;
        operand_store(out + i, operand_load(weight + (k * ld + c * taps + (taps - 1 - tap))));
    }
}

template <typename T, typename S>
static void flip_launch(T *out, const S *weight, size_t ld, int C_out, int C, size_t taps, cuda_stream stream)
{
    const size_t n = (size_t)C_out * (size_t)C * taps;

    CUDA_LAUNCH((flip_kernel<T, S>), blocks_for(n), BLOCK_THREADS, stream, out, weight, ld, (size_t)C_out, taps, n);
}

void cuda_flip_weight(void *out, const float *weight, int C_out, int C, int kernel_h, int kernel_w, bool bf16,
                      cuda_stream stream)
{
    const size_t taps = (size_t)kernel_h * (size_t)kernel_w, ld = (size_t)C * taps;

    if (bf16)
        flip_launch((uint16_t *)out, weight, ld, C_out, C, taps, stream);
    else
        flip_launch((float *)out, weight, ld, C_out, C, taps, stream);
}

void cuda_flip_packed(uint16_t *out, const uint16_t *weight, int C_out, int C, int kernel_h, int kernel_w,
                      cuda_stream stream)
{
    const size_t taps = (size_t)kernel_h * (size_t)kernel_w;

    flip_launch(out, weight, packed_ld((size_t)C * taps), C_out, C, taps, stream);
}

static __global__ void rows_to_bf16_kernel(uint16_t *out, size_t out_ld, const float *in, size_t in_ld, size_t n_rows,
                                           size_t n)
{
    const size_t n_groups = (n + VECTOR_ELEMS - 1) / VECTOR_ELEMS;

    for (size_t i = thread_index(); i < n_rows * n_groups; i += thread_stride()) {
        const size_t row = divided(i, n_groups), column = (i - row * n_groups) * VECTOR_ELEMS,
                     n_here = quad_elems(column, n);
        const float *from = in + row * in_ld + column;
        uint16_t *to = out + row * out_ld + column;
        const struct quad q = quad_load(from, n_here, n_here == VECTOR_ELEMS && is_aligned16(from));
        operands_store_some(to, q.v, n_here);
    }
}

void cuda_rows_to_bf16(uint16_t *out, size_t out_ld, const float *in, size_t in_ld, size_t n_rows, size_t n,
                       cuda_stream stream)
{
    const size_t n_threads = n_rows * ((n + VECTOR_ELEMS - 1) / VECTOR_ELEMS);

    if (n_threads > 0)
        CUDA_LAUNCH(rows_to_bf16_kernel, blocks_for(n_threads), BLOCK_THREADS, stream, out, out_ld, in, in_ld, n_rows,
                    n);
}

/* Columns of an array whose first one is not aligned as a GEMM's operand wants it. */
static __global__ void align_rows_kernel(uint16_t *out, size_t out_ld, const uint16_t *in, size_t in_ld, size_t n_rows,
                                         size_t n)
{
    for (size_t i = thread_index(); i < n_rows * n; i += thread_stride()) {
        const size_t row = divided(i, n), column = i - row * n;
        out[row * out_ld + column] = in[row * in_ld + column];
    }
}

void cuda_align_rows(uint16_t *out, size_t out_ld, const uint16_t *in, size_t in_ld, size_t n_rows, size_t n,
                     cuda_stream stream)
{
    if (n_rows * n > 0)
        CUDA_LAUNCH(align_rows_kernel, blocks_for(n_rows * n), BLOCK_THREADS, stream, out, out_ld, in, in_ld, n_rows,
                    n);
}

static __global__ void epilogue_kernel(float *y, uint16_t *packed, size_t packed_ld, const float *scale,
                                       const float *shift, const float *add, bool relu, size_t n_rows, size_t n,
                                       size_t ld)
{
    const size_t n_groups = (n + VECTOR_ELEMS - 1) / VECTOR_ELEMS;

    for (size_t i = thread_index(); i < n_rows * n_groups; i += thread_stride()) {
        const size_t row = divided(i, n_groups), column = (i - row * n_groups) * VECTOR_ELEMS,
                     n_here = quad_elems(column, n);
        const size_t offset = row * ld + column;
        const bool wide =
            n_here == VECTOR_ELEMS && is_aligned16(y + offset) && (add == NULL || is_aligned16(add + offset));
        const float k = at_or(scale, row, 1.0f), b = at_or(shift, row, 0.0f);
        struct quad q = quad_load(y + offset, n_here, wide), a = { { 0.0f, 0.0f, 0.0f, 0.0f } };
        if (add != NULL)
            a = quad_load(add + offset, n_here, wide);
#pragma unroll
        for (int j = 0; j < VECTOR_ELEMS; j++) {
            const float v = fmaf(q.v[j], k, b) + a.v[j];
            q.v[j] = relu && v < 0.0f ? 0.0f : v;
        }
        quad_store(y + offset, q, n_here, wide);
        if (packed != NULL)
            operands_store_some(packed + row * packed_ld + column, q.v, n_here);
    }
}

void cuda_epilogue(float *y, uint16_t *packed, const struct epilogue *e, size_t C, size_t n, size_t ld,
                   cuda_stream stream)
{
    CUDA_LAUNCH(epilogue_kernel, blocks_for(C * ((n + VECTOR_ELEMS - 1) / VECTOR_ELEMS)), BLOCK_THREADS, stream, y,
                packed, packed_ld(ld), e->scale, e->shift, e->add, e->relu, C, n, ld);
}
