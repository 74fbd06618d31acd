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

/* VECTOR_ELEMS operands at once: 16 bytes of floats, 8 of bfloat16. p is aligned to that. */
static __device__ __forceinline__ void operands_store(float *p, const float *v)
{
    *reinterpret_cast<float4 *>(p) = make_float4(v[0], v[1], v[2], v[3]);
}

static __device__ __forceinline__ void operands_store(uint16_t *p, const float *v)
{
    uint2 two;

    two.x = (unsigned)bf16_bits(v[0]) | (unsigned)bf16_bits(v[1]) << 16;
    two.y = (unsigned)bf16_bits(v[2]) | (unsigned)bf16_bits(v[3]) << 16;
    *reinterpret_cast<uint2 *>(p) = two;
}

/* col(n_rows, n), n_rows = C taps, from x(C, B, H, W). One thread per VECTOR_ELEMS columns of a row; the grid strides
 * over (rows, groups of columns). */
template <typename T>
static __global__ void im2col_kernel(T *col, const float *x, struct cuda_window g, size_t first, size_t n, size_t ld,
                                     size_t n_rows)
{
    const size_t n_groups = (n + VECTOR_ELEMS - 1) / VECTOR_ELEMS, plane_elems = (size_t)g.H * (size_t)g.W;
    const unsigned taps = (unsigned)(g.kernel_h * g.kernel_w);

    for (size_t i = thread_index(); i < n_rows * n_groups; i += thread_stride()) {
        const size_t row = divided(i, n_groups), column = (i - row * n_groups) * VECTOR_ELEMS;
        const size_t channel = divided(row, taps), n_here = quad_elems(column, n);
        const unsigned tap = (unsigned)(row - channel * taps);
        const int top = (int)(tap / (unsigned)g.kernel_w) - g.pad_h, left = (int)(tap % (unsigned)g.kernel_w) - g.pad_w;
        struct column c = column_of(first + column, g);
        float v[VECTOR_ELEMS];
#pragma unroll
        for (int k = 0; k < VECTOR_ELEMS; k++) {
            const int h = c.h * g.stride_h + top, w = c.w * g.stride_w + left;
            const bool inside = (size_t)k < n_here && h >= 0 && h < g.H && w >= 0 && w < g.W;
            v[k] = inside ? x[(channel * (size_t)g.B + (size_t)c.b) * plane_elems + (size_t)h * (size_t)g.W + (size_t)w]
                          : 0.0f;
            column_next(&c, g);
        }
        T *to = col + row * ld + column;
        if (n_here == VECTOR_ELEMS && ((uintptr_t)to & (VECTOR_ELEMS * sizeof(T) - 1)) == 0) {
            operands_store(to, v);
            continue;
        }
#pragma unroll
        for (int k = 0; k < VECTOR_ELEMS; k++)
            if ((size_t)k < n_here)
                operand_store(to + k, v[k]);
    }
}

void cuda_im2col(void *col, const float *x, const struct cuda_window *g, size_t first, size_t n, size_t ld, bool bf16,
                 cuda_stream stream)
{
    const size_t n_rows = (size_t)g->C * (size_t)g->kernel_h * (size_t)g->kernel_w;
    const unsigned n_blocks = blocks_for(n_rows * ((n + VECTOR_ELEMS - 1) / VECTOR_ELEMS));

    if (bf16)
        CUDA_LAUNCH(im2col_kernel<uint16_t>, n_blocks, BLOCK_THREADS, stream, (uint16_t *)col, x, *g, first, n, ld,
                    n_rows);
    else
        CUDA_LAUNCH(im2col_kernel<float>, n_blocks, BLOCK_THREADS, stream, (float *)col, x, *g, first, n, ld, n_rows);
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

template <typename T>
static __global__ void flip_kernel(T *out, const float *weight, size_t C_out, size_t C, size_t taps, size_t n)
{
    for (size_t i = thread_index(); i < n; i += thread_stride()) { /* i: of the output (C, C_out, taps) */
        const size_t pair = divided(i, taps), c = divided(pair, C_out), k = pair - c * C_out, tap = i - pair * taps;
        operand_store(out + i, weight[(k * C + c) * taps + (taps - 1 - tap)]);
    }
}

void cuda_flip_weight(void *out, const float *weight, int C_out, int C, int kernel_h, int kernel_w, bool bf16,
                      cuda_stream stream)
{
    const size_t taps = (size_t)kernel_h * (size_t)kernel_w, n = (size_t)C_out * (size_t)C * taps;

    if (bf16)
        CUDA_LAUNCH(flip_kernel<uint16_t>, blocks_for(n), BLOCK_THREADS, stream, (uint16_t *)out, weight, (size_t)C_out,
                    (size_t)C, taps, n);
    else
        CUDA_LAUNCH(flip_kernel<float>, blocks_for(n), BLOCK_THREADS, stream, (float *)out, weight, (size_t)C_out,
                    (size_t)C, taps, n);
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
        if (n_here == VECTOR_ELEMS && ((uintptr_t)to & 7u) == 0) {
            operands_store(to, q.v);
            continue;
        }
#pragma unroll
        for (int k = 0; k < VECTOR_ELEMS; k++)
            if ((size_t)k < n_here)
                operand_store(to + k, q.v[k]);
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

static __global__ void epilogue_kernel(float *y, const float *scale, const float *shift, const float *add, bool relu,
                                       size_t n_rows, size_t n, size_t ld)
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
    }
}

void cuda_epilogue(float *y, const float *scale, const float *shift, const float *add, bool relu, size_t C, size_t n,
                   size_t ld, cuda_stream stream)
{
    CUDA_LAUNCH(epilogue_kernel, blocks_for(C * ((n + VECTOR_ELEMS - 1) / VECTOR_ELEMS)), BLOCK_THREADS, stream, y,
                scale, shift, add, relu, C, n, ld);
}
