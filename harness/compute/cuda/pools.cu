/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools.cu - pooling, one thread per element of the output.
 *
 * A gradient is a gather: one thread per element of dx sums, row by row, over the windows that cover it. So nothing is
 * zeroed first, and no two threads write to the same element (compute.C1).
 */
#include "harness/compute/cuda/kernels.cuh"

/* Plane, row and column of element i of (planes, h, w). */
struct position {
    size_t plane;
    int h, w;
};

static __device__ __forceinline__ struct position position_of(size_t i, int h, int w)
{
    const unsigned plane_elems = (unsigned)h * (unsigned)w;
    struct position p;

    p.plane = divided(i, plane_elems);
    const unsigned rest = (unsigned)(i - p.plane * plane_elems);
    p.h = (int)(rest / (unsigned)w);
    p.w = (int)(rest % (unsigned)w);
    return p;
}

/* Windows [first, end) along one axis that cover input position i. */
struct cover {
    int first, end;
};

static __device__ __forceinline__ struct cover cover_of(int i, int kernel, int stride, int pad, int n_out)
{
    const int last = (i + pad) / stride, before = i + pad - kernel; /* window o covers o stride .. + kernel - 1 */
    struct cover c;

    c.first = before < 0 ? 0 : before / stride + 1;
    c.end = last < n_out ? last + 1 : n_out;
    return c;
}

/* Input positions [first, end) of window o that are inside the image. */
static __device__ __forceinline__ struct cover inside_of(int o, int kernel, int stride, int pad, int n_in)
{
    const int from = o * stride - pad;
    struct cover c;

    c.first = from < 0 ? 0 : from;
    c.end = from + kernel < n_in ? from + kernel : n_in;
    return c;
}

static inline size_t in_elems(const struct cuda_window *g)
{
    return (size_t)g->C * (size_t)g->B * (size_t)g->H * (size_t)g->W;
}

static inline size_t out_elems(const struct cuda_window *g)
{
    return (size_t)g->C * (size_t)g->B * (size_t)g->out_h * (size_t)g->out_w;
}

/* Where outputs go: y(C, row), packed(C, row), either of which may be NULL. */
struct pool_out {
    float *y;
    uint16_t *packed;
    size_t row, packed_row;
};

static inline struct pool_out pool_out_of(float *y, uint16_t *packed, const struct cuda_window *g)
{
    const size_t row = (size_t)g->B * (size_t)g->out_h * (size_t)g->out_w;
    const struct pool_out out = { y, packed, row, packed_ld(row) };

    return out;
}

static __device__ __forceinline__ void pool_store(const struct pool_out &out, size_t i, float v)
{
    if (out.y != NULL)
        out.y[i] = v;
    if (out.packed != NULL) {
        const size_t channel = divided(i, out.row);
        operand_store(out.packed + (channel * out.packed_row + (i - channel * out.row)), v);
    }
}

/* --- maximum --- */

static __global__ void max_pool_kernel(struct pool_out out, uint8_t *argmax, const float *x, struct cuda_window g,
                                       size_t n)
{
    for (size_t i = thread_index(); i < n; i += thread_stride()) {
        const struct position p = position_of(i, g.out_h, g.out_w);
        const struct cover rows = inside_of(p.h, g.kernel_h, g.stride_h, g.pad_h, g.H);
        const struct cover columns = inside_of(p.w, g.kernel_w, g.stride_w, g.pad_w, g.W);
        const float *plane = x + p.plane * ((size_t)g.H * (size_t)g.W);
        int best_h = rows.first, best_w = columns.first;
        float best = plane[(size_t)best_h * (size_t)g.W + (size_t)best_w];
        for (int h = rows.first; h < rows.end; h++)
            for (int w = columns.first; w < columns.end; w++) {
                const float v = plane[(size_t)h * (size_t)g.W + (size_t)w];
                if (!(v <= best) && best == best) { /* larger, or the first NaN */
                    best = v;
                    best_h = h;
                    best_w = w;
                }
            }
        pool_store(out, i, best);
        argmax[i] =
            (uint8_t)((best_h - (p.h * g.stride_h - g.pad_h)) * g.kernel_w + best_w - (p.w * g.stride_w - g.pad_w));
    }
}

void cuda_max_pool(float *y, uint16_t *packed, uint8_t *argmax, const float *x, const struct cuda_window *g,
                   cuda_stream stream)
{
    CUDA_LAUNCH(max_pool_kernel, blocks_for(out_elems(g)), BLOCK_THREADS, stream, pool_out_of(y, packed, g), argmax, x,
                *g, out_elems(g));
}

static __global__ void max_pool_grad_kernel(float *dx, const float *dy, const uint8_t *argmax, bool add,
                                            struct cuda_window g, size_t n)
{
    for (size_t i = thread_index(); i < n; i += thread_stride()) {
        const struct position p = position_of(i, g.H, g.W);
        const struct cover rows = cover_of(p.h, g.kernel_h, g.stride_h, g.pad_h, g.out_h);
        const struct cover columns = cover_of(p.w, g.kernel_w, g.stride_w, g.pad_w, g.out_w);
        const size_t plane = p.plane * ((size_t)g.out_h * (size_t)g.out_w);
        float sum = 0.0f;
        for (int h = rows.first; h < rows.end; h++)
            for (int w = columns.first; w < columns.end; w++) {
                const size_t from = plane + (size_t)h * (size_t)g.out_w + (size_t)w;
                const int mine = (p.h + g.pad_h - h * g.stride_h) * g.kernel_w + p.w + g.pad_w - w * g.stride_w;
                if (argmax[from] == mine)
                    sum += dy[from];
            }
        dx[i] = add ? dx[i] + sum : sum;
    }
}

void cuda_max_pool_grad(float *dx, const float *dy, const uint8_t *argmax, bool add, const struct cuda_window *g,
                        cuda_stream stream)
{
    CUDA_LAUNCH(max_pool_grad_kernel, blocks_for(in_elems(g)), BLOCK_THREADS, stream, dx, dy, argmax, add, *g,
                in_elems(g));
}

/* --- average --- */

static __global__ void avg_pool_kernel(struct pool_out out, const float *x, struct cuda_window g, size_t n)
{
    const float share = 1.0f / (float)(g.kernel_h * g.kernel_w);

    for (size_t i = thread_index(); i < n; i += thread_stride()) {
        const struct position p = position_of(i, g.out_h, g.out_w);
        const struct cover rows = inside_of(p.h, g.kernel_h, g.stride_h, g.pad_h, g.H);
        const struct cover columns = inside_of(p.w, g.kernel_w, g.stride_w, g.pad_w, g.W);
        const float *plane = x + p.plane * ((size_t)g.H * (size_t)g.W);
        float sum = 0.0f;
        for (int h = rows.first; h < rows.end; h++)
            for (int w = columns.first; w < columns.end; w++)
                sum += plane[(size_t)h * (size_t)g.W + (size_t)w];
        pool_store(out, i, sum * share);
    }
}

void cuda_avg_pool(float *y, uint16_t *packed, const float *x, const struct cuda_window *g, cuda_stream stream)
{
    CUDA_LAUNCH(avg_pool_kernel, blocks_for(out_elems(g)), BLOCK_THREADS, stream, pool_out_of(y, packed, g), x, *g,
                out_elems(g));
}

static __global__ void avg_pool_grad_kernel(float *dx, const float *dy, bool add, struct cuda_window g, size_t n)
{
    const float share = 1.0f / (float)(g.kernel_h * g.kernel_w);

    for (size_t i = thread_index(); i < n; i += thread_stride()) {
        const struct position p = position_of(i, g.H, g.W);
        const struct cover rows = cover_of(p.h, g.kernel_h, g.stride_h, g.pad_h, g.out_h);
        const struct cover columns = cover_of(p.w, g.kernel_w, g.stride_w, g.pad_w, g.out_w);
        const float *plane = dy + p.plane * ((size_t)g.out_h * (size_t)g.out_w);
        float sum = 0.0f;
        for (int h = rows.first; h < rows.end; h++)
            for (int w = columns.first; w < columns.end; w++)
                sum += plane[(size_t)h * (size_t)g.out_w + (size_t)w];
        dx[i] = add ? dx[i] + sum * share : sum * share;
    }
}

void cuda_avg_pool_grad(float *dx, const float *dy, bool add, const struct cuda_window *g, cuda_stream stream)
{
    CUDA_LAUNCH(avg_pool_grad_kernel, blocks_for(in_elems(g)), BLOCK_THREADS, stream, dx, dy, add, *g, in_elems(g));
}

/* --- adaptive average: output o of n_out is the mean of inputs floor(o n_in / n_out) .. ceil((o + 1) n_in / n_out) ---
 */

static __device__ __forceinline__ struct cover adaptive_inside(int o, int n_in, int n_out)
{
    struct cover c;

    c.first = (int)((long long)o * n_in / n_out);
    c.end = (int)((((long long)o + 1) * n_in + n_out - 1) / n_out);
    return c;
}

/* Outputs [first, end) whose mean includes input i. */
static __device__ __forceinline__ struct cover adaptive_cover(int i, int n_in, int n_out)
{
    struct cover c;

    c.first = (int)((long long)i * n_out / n_in);
    c.end = (int)((((long long)i + 1) * n_out + n_in - 1) / n_in);
    return c;
}

/* One warp per output, so that global pooling reads a plane coalesced. */
static __global__ void adaptive_pool_kernel(struct pool_out out, const float *x, struct cuda_window g, size_t n)
{
    const unsigned lane = threadIdx.x % WARP_THREADS;

    for (size_t i = thread_index() / WARP_THREADS; i < n; i += thread_stride() / WARP_THREADS) {
        const struct position p = position_of(i, g.out_h, g.out_w);
        const struct cover rows = adaptive_inside(p.h, g.H, g.out_h), columns = adaptive_inside(p.w, g.W, g.out_w);
        const float *plane = x + p.plane * ((size_t)g.H * (size_t)g.W);
        const unsigned n_columns = (unsigned)(columns.end - columns.first);
        const unsigned n_here = (unsigned)(rows.end - rows.first) * n_columns;
        float sum = 0.0f;
        for (unsigned k = lane; k < n_here; k += WARP_THREADS)
            sum += plane[(size_t)(rows.first + (int)(k / n_columns)) * (size_t)g.W +
                         (size_t)(columns.first + (int)(k % n_columns))];
        sum = warp_sum(sum);
        if (lane == 0)
            pool_store(out, i, sum / (float)n_here);
    }
}

void cuda_adaptive_pool(float *y, uint16_t *packed, const float *x, const struct cuda_window *g, cuda_stream stream)
{
    CUDA_LAUNCH_BARRIER(adaptive_pool_kernel, blocks_for(out_elems(g) * WARP_THREADS), BLOCK_THREADS, stream,
                        pool_out_of(y, packed, g), x, *g, out_elems(g));
}

static __global__ void adaptive_pool_grad_kernel(float *dx, const float *dy, bool add, struct cuda_window g, size_t n)
{
    for (size_t i = thread_index(); i < n; i += thread_stride()) {
        const struct position p = position_of(i, g.H, g.W);
        const struct cover rows = adaptive_cover(p.h, g.H, g.out_h), columns = adaptive_cover(p.w, g.W, g.out_w);
        const float *plane = dy + p.plane * ((size_t)g.out_h * (size_t)g.out_w);
        float sum = 0.0f;
        for (int h = rows.first; h < rows.end; h++) {
            const struct cover of_h = adaptive_inside(h, g.H, g.out_h);
            for (int w = columns.first; w < columns.end; w++) {
                const struct cover of_w = adaptive_inside(w, g.W, g.out_w);
                sum += plane[(size_t)h * (size_t)g.out_w + (size_t)w] /
                       (float)((of_h.end - of_h.first) * (of_w.end - of_w.first));
            }
        }
        dx[i] = add ? dx[i] + sum : sum;
    }
}

void cuda_adaptive_pool_grad(float *dx, const float *dy, bool add, const struct cuda_window *g, cuda_stream stream)
{
    CUDA_LAUNCH(adaptive_pool_grad_kernel, blocks_for(in_elems(g)), BLOCK_THREADS, stream, dx, dy, add, *g,
                in_elems(g));
}
