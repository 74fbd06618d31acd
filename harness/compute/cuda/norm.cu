/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm.cu - batch normalisation of y(C, n): every channel is one row.
 *
 * Forward: moments of parts of rows; one thread per channel merges them in order, in double; then z. Moments are merged
 * as in Chan, Golub and LeVeque (1979), from means and squared distances, which avoids subtracting large squares.
 * Backward: the same with two sums. If the output of a relu was not kept, its mask is recomputed by the function that
 * computed the output, so it is equal to the bit.
 */
#include "harness/compute/cuda/kernels.cuh"

struct moments { /* of n values: mean, and sum of squared distances from it */
    float n, mean, m2;
};

static __device__ __forceinline__ struct moments moments_merge(struct moments a, struct moments b)
{
    struct moments out = a;
    const float n = a.n + b.n;

    if (b.n == 0.0f)
        return a;
    const float delta = b.mean - a.mean, share = b.n / n;
    out.n = n;
    out.mean = a.mean + delta * share;
    out.m2 = a.m2 + b.m2 + delta * delta * (a.n * share);
    return out;
}

static __device__ __forceinline__ struct moments moments_of(const struct quad &q, size_t n)
{
    struct moments m = { (float)n, 0.0f, 0.0f };

#pragma unroll
    for (int k = 0; k < VECTOR_ELEMS; k++)
        m.mean += (size_t)k < n ? q.v[k] : 0.0f;
    m.mean /= m.n;
#pragma unroll
    for (int k = 0; k < VECTOR_ELEMS; k++) {
        const float d = (size_t)k < n ? q.v[k] - m.mean : 0.0f;
        m.m2 += d * d;
    }
    return m;
}

static __device__ __forceinline__ struct moments warp_moments(struct moments m)
{
#pragma unroll
    for (int distance = WARP_THREADS / 2; distance > 0; distance /= 2) {
        struct moments other;
        other.n = __shfl_down_sync(ALL_LANES, m.n, distance);
        other.mean = __shfl_down_sync(ALL_LANES, m.mean, distance);
        other.m2 = __shfl_down_sync(ALL_LANES, m.m2, distance);
        m = moments_merge(m, other);
    }
    return m;
}

/* For thread 0. */
static __device__ __forceinline__ struct moments block_moments(struct moments m, struct moments *shared)
{
    const unsigned lane = threadIdx.x % WARP_THREADS, warp = threadIdx.x / WARP_THREADS;
    const struct moments none = { 0.0f, 0.0f, 0.0f };

    m = warp_moments(m);
    if (lane == 0)
        shared[warp] = m;
    __syncthreads();
    if (warp == 0)
        m = warp_moments(lane < BLOCK_WARPS ? shared[lane] : none);
    return m;
}

static __global__ void moments_kernel(struct moments *partial, const float *y, size_t n, struct row_split split)
{
    __shared__ struct moments shared[BLOCK_WARPS];
    const struct row_part part = row_part_here(n, split);
    const float *row = y + part.row * n;
    const bool aligned = is_aligned16(row);
    struct moments m = { 0.0f, 0.0f, 0.0f };

    for (size_t i = part.begin + threadIdx.x * VECTOR_ELEMS; i < part.end; i += BLOCK_THREADS * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, part.end);
        m = moments_merge(m, moments_of(quad_load(row + i, n_here, aligned && n_here == VECTOR_ELEMS), n_here));
    }
    m = block_moments(m, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = m;
}

static __global__ void moments_total_kernel(struct batch_norm_forward op, const struct moments *partial, size_t n_parts)
{
    for (size_t c = thread_index(); c < op.shape.C; c += thread_stride()) {
        double n = 0.0, middle = 0.0, m2 = 0.0;
        for (size_t k = 0; k < n_parts; k++) {
            const struct moments m = partial[c * n_parts + k];
            if (m.n == 0.0f)
                continue;
            const double delta = (double)m.mean - middle, sum = n + (double)m.n;
            middle += delta * ((double)m.n / sum);
            m2 += (double)m.m2 + delta * delta * (n * (double)m.n / sum);
            n = sum;
        }
        op.mean[c] = (float)middle;
        op.inv_std[c] = (float)(1.0 / sqrt(m2 / n + (double)op.shape.epsilon));
        const double unbiased = n > 1.0 ? m2 / (n - 1.0) : m2 / n, share = (double)op.shape.momentum;
        op.running_mean[c] = (float)((1.0 - share) * (double)op.running_mean[c] + share * middle);
        op.running_var[c] = (float)((1.0 - share) * (double)op.running_var[c] + share * unbiased);
    }
}

/* z = (y - mean) scale + shift, before add and relu. */
struct norm_channel {
    float mean, scale, shift;
};

static __device__ __forceinline__ struct norm_channel norm_channel_of(size_t c, const float *mean, const float *inv_std,
                                                                      const float *gamma, const float *beta)
{
    struct norm_channel k;

    k.mean = mean[c];
    k.scale = gamma[c] * inv_std[c];
    k.shift = beta[c];
    return k;
}

static __device__ __forceinline__ float norm_value(float y, struct norm_channel k)
{
    return fmaf(y - k.mean, k.scale, k.shift);
}

/* z may be y's memory: each thread reads its elements before it writes them. */
static __global__ void norm_kernel(struct batch_norm_forward op, struct row_split split)
{
    const struct row_part part = row_part_here(op.shape.n, split);
    const size_t row = part.row * op.shape.n;
    const bool aligned = (op.z == NULL || is_aligned16(op.z + row)) && is_aligned16(op.y + row) &&
                         (op.add == NULL || is_aligned16(op.add + row));
    uint16_t *packed = op.z_packed != NULL ? op.z_packed + part.row * packed_ld(op.shape.n) : NULL;
    const struct norm_channel k = norm_channel_of(part.row, op.mean, op.inv_std, op.gamma, op.beta);

    for (size_t i = part.begin + threadIdx.x * VECTOR_ELEMS; i < part.end; i += BLOCK_THREADS * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, part.end);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        struct quad q = quad_load(op.y + row + i, n_here, wide), a = { { 0.0f, 0.0f, 0.0f, 0.0f } };
        if (op.add != NULL)
            a = quad_load(op.add + row + i, n_here, wide);
#pragma unroll
        for (int j = 0; j < VECTOR_ELEMS; j++) {
            float v = norm_value(q.v[j], k);
            if (op.add != NULL)
                v += a.v[j];
            q.v[j] = op.shape.relu && v < 0.0f ? 0.0f : v;
        }
        if (op.z != NULL)
            quad_store(op.z + row + i, q, n_here, wide);
        if (packed != NULL)
            operands_store_some(packed + i, q.v, n_here);
    }
}

void cuda_batch_norm(const struct batch_norm_forward *op, void *partial, cuda_stream stream)
{
    const struct row_split split = row_split_of(op->shape.n);
    const unsigned n_blocks = (unsigned)(op->shape.C * split.n_parts);
    struct moments *parts = (struct moments *)partial;

    CUDA_LAUNCH_BARRIER(moments_kernel, n_blocks, BLOCK_THREADS, stream, parts, op->y, op->shape.n, split);
    CUDA_LAUNCH(moments_total_kernel, blocks_for(op->shape.C), BLOCK_THREADS, stream, *op, parts, split.n_parts);
    CUDA_LAUNCH(norm_kernel, n_blocks, BLOCK_THREADS, stream, *op, split);
}

static __global__ void fold_kernel(struct batch_norm_fold op)
{
    for (size_t c = thread_index(); c < op.shape.C; c += thread_stride()) {
        const float k = op.gamma[c] / sqrtf(op.running_var[c] + op.shape.epsilon);
        op.scale[c] = k;
        op.shift[c] = op.beta[c] - op.running_mean[c] * k;
    }
}

void cuda_batch_norm_fold(const struct batch_norm_fold *op, cuda_stream stream)
{
    CUDA_LAUNCH(fold_kernel, blocks_for(op->shape.C), BLOCK_THREADS, stream, *op);
}

/* --- backward --- */

/* The gradient before the relu, elements [i, i + n_here) of the row that begins at `row`. */
static __device__ __forceinline__ struct quad masked_dz(const struct batch_norm_grad &g, size_t i, size_t n_here,
                                                        bool wide, const struct quad &y, struct norm_channel k)
{
    struct quad dz = quad_load(g.dz + i, n_here, wide), z;

    if (!g.shape.relu)
        return dz;
    if (g.z != NULL)
        z = quad_load(g.z + i, n_here, wide);
#pragma unroll
    for (int j = 0; j < VECTOR_ELEMS; j++)
        dz.v[j] = (g.z != NULL ? z.v[j] : norm_value(y.v[j], k)) > 0.0f ? dz.v[j] : 0.0f;
    return dz;
}

static __device__ __forceinline__ bool grad_aligned(const struct batch_norm_grad &g, size_t row)
{
    return is_aligned16(g.dz + row) && is_aligned16(g.y + row) && (g.dy == NULL || is_aligned16(g.dy + row)) &&
           (g.z == NULL || is_aligned16(g.z + row));
}

struct pair {
    float sum, product;
};

/* partial[part] = sums of dz and dz (y - mean); dz becomes the masked one. */
static __global__ void norm_grad_parts_kernel(struct pair *partial, struct batch_norm_grad g, struct row_split split)
{
    __shared__ float shared[2][BLOCK_WARPS];
    const struct row_part part = row_part_here(g.shape.n, split);
    const size_t row = part.row * g.shape.n;
    const bool aligned = grad_aligned(g, row);
    const struct norm_channel k = norm_channel_of(part.row, g.mean, g.inv_std, g.gamma, g.beta);
    struct pair p = { 0.0f, 0.0f };

    for (size_t i = part.begin + threadIdx.x * VECTOR_ELEMS; i < part.end; i += BLOCK_THREADS * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, part.end);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        const struct quad y = quad_load(g.y + row + i, n_here, wide);
        const struct quad dz = masked_dz(g, row + i, n_here, wide, y, k);
        if (g.shape.relu)
            quad_store(g.dz + row + i, dz, n_here, wide);
#pragma unroll
        for (int j = 0; j < VECTOR_ELEMS; j++) {
            const float d = (size_t)j < n_here ? dz.v[j] : 0.0f;
            p.sum += d;
            p.product = fmaf(d, (size_t)j < n_here ? y.v[j] - k.mean : 0.0f, p.product);
        }
    }
    p.sum = block_sum(p.sum, shared[0]);
    p.product = block_sum(p.product, shared[1]);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = p;
}

static __global__ void norm_grad_total_kernel(struct batch_norm_grad g, const struct pair *partial, size_t n_parts)
{
    for (size_t c = thread_index(); c < g.shape.C; c += thread_stride()) {
        double sum = 0.0, product = 0.0;
        for (size_t k = 0; k < n_parts; k++) {
            sum += (double)partial[c * n_parts + k].sum;
            product += (double)partial[c * n_parts + k].product;
        }
        g.dbeta[c] = (float)sum;
        g.dgamma[c] = (float)(product * (double)g.inv_std[c]);
    }
}

/* dy = gamma inv_std (dz - dbeta / n - (y - mean) inv_std dgamma / n); dy may be dz's memory. */
static __global__ void norm_grad_kernel(struct batch_norm_grad g, struct row_split split)
{
    const struct row_part part = row_part_here(g.shape.n, split);
    const size_t c = part.row, row = c * g.shape.n;
    const bool aligned = grad_aligned(g, row);
    const float scale = g.gamma[c] * g.inv_std[c], mean = g.mean[c];
    uint16_t *packed = g.dy_packed != NULL ? g.dy_packed + c * packed_ld(g.shape.n) : NULL;
    const float level = g.dbeta[c] / (float)g.shape.n, slope = g.inv_std[c] * g.dgamma[c] / (float)g.shape.n;

    for (size_t i = part.begin + threadIdx.x * VECTOR_ELEMS; i < part.end; i += BLOCK_THREADS * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, part.end);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        const struct quad y = quad_load(g.y + row + i, n_here, wide);
        struct quad d = quad_load(g.dz + row + i, n_here, wide);
#pragma unroll
        for (int j = 0; j < VECTOR_ELEMS; j++)
            d.v[j] = scale * fmaf(mean - y.v[j], slope, d.v[j] - level);
        if (g.dy != NULL)
            quad_store(g.dy + row + i, d, n_here, wide);
        if (packed != NULL)
            operands_store_some(packed + i, d.v, n_here);
    }
}

void cuda_batch_norm_grad(const struct batch_norm_grad *op, void *partial, cuda_stream stream)
{
    const struct row_split split = row_split_of(op->shape.n);
    const unsigned n_blocks = (unsigned)(op->shape.C * split.n_parts);
    struct pair *parts = (struct pair *)partial;

    CUDA_LAUNCH_BARRIER(norm_grad_parts_kernel, n_blocks, BLOCK_THREADS, stream, parts, *op, split);
    CUDA_LAUNCH(norm_grad_total_kernel, blocks_for(op->shape.C), BLOCK_THREADS, stream, *op, parts, split.n_parts);
    CUDA_LAUNCH(norm_grad_kernel, n_blocks, BLOCK_THREADS, stream, *op, split);
}
