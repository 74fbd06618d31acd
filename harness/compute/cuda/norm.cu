/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm.cu - batch normalisation of y(C, n): every channel is one row.
 *
 * Forward: moments of parts of rows; one thread a channel merges them in order, in double; then z. The moments
 * are those of Chan, Golub and LeVeque (1979): means and squared distances of groups are merged, never squares of
 * large numbers subtracted. Backward likewise with two sums. The mask of a relu whose output was not kept is
 * worked out by the same function that computed the output, so it is the same bit for bit.
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

static __global__ void moments_total_kernel(float *mean, float *inv_std, float *running_mean, float *running_var,
                                            const struct moments *partial, struct cuda_norm s, size_t n_parts)
{
    for (size_t c = thread_index(); c < s.C; c += thread_stride()) {
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
        mean[c] = (float)middle;
        inv_std[c] = (float)(1.0 / sqrt(m2 / n + (double)s.epsilon));
        const double unbiased = n > 1.0 ? m2 / (n - 1.0) : m2 / n, share = (double)s.momentum;
        running_mean[c] = (float)((1.0 - share) * (double)running_mean[c] + share * middle);
        running_var[c] = (float)((1.0 - share) * (double)running_var[c] + share * unbiased);
    }
}

/* What a channel's values become, before add and relu. */
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
static __global__ void norm_kernel(float *z, const float *y, const float *add, const float *mean, const float *inv_std,
                                   const float *gamma, const float *beta, struct cuda_norm s, struct row_split split)
{
    const struct row_part part = row_part_here(s.n, split);
    const size_t row = part.row * s.n;
    const bool aligned = is_aligned16(z + row) && is_aligned16(y + row) && (add == NULL || is_aligned16(add + row));
    const struct norm_channel k = norm_channel_of(part.row, mean, inv_std, gamma, beta);

    for (size_t i = part.begin + threadIdx.x * VECTOR_ELEMS; i < part.end; i += BLOCK_THREADS * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, part.end);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        struct quad q = quad_load(y + row + i, n_here, wide), a = { { 0.0f, 0.0f, 0.0f, 0.0f } };
        if (add != NULL)
            a = quad_load(add + row + i, n_here, wide);
#pragma unroll
        for (int j = 0; j < VECTOR_ELEMS; j++) {
            float v = norm_value(q.v[j], k);
            if (add != NULL)
                v += a.v[j];
            q.v[j] = s.relu && v < 0.0f ? 0.0f : v;
        }
        quad_store(z + row + i, q, n_here, wide);
    }
}

void cuda_batch_norm(float *z, float *mean, float *inv_std, float *running_mean, float *running_var, const float *y,
                     const float *gamma, const float *beta, const float *add, const struct cuda_norm *s, void *partial,
                     cuda_stream stream)
{
    const struct row_split split = row_split_of(s->n);
    const unsigned n_blocks = (unsigned)(s->C * split.n_parts);
    struct moments *parts = (struct moments *)partial;

    CUDA_LAUNCH_MEETING(moments_kernel, n_blocks, BLOCK_THREADS, stream, parts, y, s->n, split);
    CUDA_LAUNCH(moments_total_kernel, blocks_for(s->C), BLOCK_THREADS, stream, mean, inv_std, running_mean, running_var,
                parts, *s, split.n_parts);
    CUDA_LAUNCH(norm_kernel, n_blocks, BLOCK_THREADS, stream, z, y, add, mean, inv_std, gamma, beta, *s, split);
}

static __global__ void fold_kernel(float *scale, float *shift, const float *gamma, const float *beta,
                                   const float *running_mean, const float *running_var, struct cuda_norm s)
{
    for (size_t c = thread_index(); c < s.C; c += thread_stride()) {
        const float k = gamma[c] / sqrtf(running_var[c] + s.epsilon);
        scale[c] = k;
        shift[c] = beta[c] - running_mean[c] * k;
    }
}

void cuda_batch_norm_fold(float *scale, float *shift, const float *gamma, const float *beta, const float *running_mean,
                          const float *running_var, const struct cuda_norm *s, cuda_stream stream)
{
    CUDA_LAUNCH(fold_kernel, blocks_for(s->C), BLOCK_THREADS, stream, scale, shift, gamma, beta, running_mean,
                running_var, *s);
}

/* --- backward --- */

struct norm_grad { /* arrays of the backward pass; z NULL: the mask comes from y */
    float *dy, *dz;
    const float *y, *z, *gamma, *beta, *mean, *inv_std;
    struct cuda_norm s;
    struct row_split split;
};

/* The gradient before the relu, elements [i, i + n_here) of the row that begins at `row`. */
static __device__ __forceinline__ struct quad masked_dz(const struct norm_grad &g, size_t i, size_t n_here, bool wide,
                                                        const struct quad &y, struct norm_channel k)
{
    struct quad dz = quad_load(g.dz + i, n_here, wide), z;

    if (!g.s.relu)
        return dz;
    if (g.z != NULL)
        z = quad_load(g.z + i, n_here, wide);
#pragma unroll
    for (int j = 0; j < VECTOR_ELEMS; j++)
        dz.v[j] = (g.z != NULL ? z.v[j] : norm_value(y.v[j], k)) > 0.0f ? dz.v[j] : 0.0f;
    return dz;
}

static __device__ __forceinline__ bool grad_aligned(const struct norm_grad &g, size_t row)
{
    return is_aligned16(g.dz + row) && is_aligned16(g.y + row) && is_aligned16(g.dy + row) &&
           (g.z == NULL || is_aligned16(g.z + row));
}

struct pair {
    float sum, product;
};

/* partial[part] = sums of dz and dz (y - mean); dz becomes the masked one. */
static __global__ void norm_grad_parts_kernel(struct pair *partial, struct norm_grad g)
{
    __shared__ float shared[2][BLOCK_WARPS];
    const struct row_part part = row_part_here(g.s.n, g.split);
    const size_t row = part.row * g.s.n;
    const bool aligned = grad_aligned(g, row);
    const struct norm_channel k = norm_channel_of(part.row, g.mean, g.inv_std, g.gamma, g.beta);
    struct pair p = { 0.0f, 0.0f };

    for (size_t i = part.begin + threadIdx.x * VECTOR_ELEMS; i < part.end; i += BLOCK_THREADS * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, part.end);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        const struct quad y = quad_load(g.y + row + i, n_here, wide);
        const struct quad dz = masked_dz(g, row + i, n_here, wide, y, k);
        if (g.s.relu)
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

static __global__ void norm_grad_total_kernel(float *dgamma, float *dbeta, const struct pair *partial,
                                              const float *inv_std, size_t C, size_t n_parts)
{
    for (size_t c = thread_index(); c < C; c += thread_stride()) {
        double sum = 0.0, product = 0.0;
        for (size_t k = 0; k < n_parts; k++) {
            sum += (double)partial[c * n_parts + k].sum;
            product += (double)partial[c * n_parts + k].product;
        }
        dbeta[c] = (float)sum;
        dgamma[c] = (float)(product * (double)inv_std[c]);
    }
}

/* dy = gamma inv_std (dz - dbeta / n - (y - mean) inv_std dgamma / n); dy may be dz's memory. */
static __global__ void norm_grad_kernel(struct norm_grad g, const float *dgamma, const float *dbeta)
{
    const struct row_part part = row_part_here(g.s.n, g.split);
    const size_t c = part.row, row = c * g.s.n;
    const bool aligned = grad_aligned(g, row);
    const float scale = g.gamma[c] * g.inv_std[c], mean = g.mean[c];
    const float level = dbeta[c] / (float)g.s.n, slope = g.inv_std[c] * dgamma[c] / (float)g.s.n;

    for (size_t i = part.begin + threadIdx.x * VECTOR_ELEMS; i < part.end; i += BLOCK_THREADS * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, part.end);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        const struct quad y = quad_load(g.y + row + i, n_here, wide);
        struct quad d = quad_load(g.dz + row + i, n_here, wide);
#pragma unroll
        for (int j = 0; j < VECTOR_ELEMS; j++)
            d.v[j] = scale * fmaf(mean - y.v[j], slope, d.v[j] - level);
        quad_store(g.dy + row + i, d, n_here, wide);
    }
}

void cuda_batch_norm_grad(float *dy, float *dgamma, float *dbeta, float *dz, const float *y, const float *z,
                          const float *gamma, const float *beta, const float *mean, const float *inv_std,
                          const struct cuda_norm *s, void *partial, cuda_stream stream)
{
    const struct row_split split = row_split_of(s->n);
    const struct norm_grad g = { dy, dz, y, z, gamma, beta, mean, inv_std, *s, split };
    const unsigned n_blocks = (unsigned)(s->C * split.n_parts);
    struct pair *parts = (struct pair *)partial;

    CUDA_LAUNCH_MEETING(norm_grad_parts_kernel, n_blocks, BLOCK_THREADS, stream, parts, g);
    CUDA_LAUNCH(norm_grad_total_kernel, blocks_for(s->C), BLOCK_THREADS, stream, dgamma, dbeta, parts, inv_std, s->C,
                split.n_parts);
    CUDA_LAUNCH(norm_grad_kernel, n_blocks, BLOCK_THREADS, stream, g, dgamma, dbeta);
}
