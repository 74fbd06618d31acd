/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.cu - gradients of biases, and the losses.
 *
 * Sums over rows take two launches: blocks sum parts of a row (row_split_of), then one thread per row adds the parts in
 * order, in double. Within a block, thread t takes the vectors t, t + 256, ...
 */
#include "harness/compute/cuda/kernels.cuh"

size_t cuda_sums_bytes(size_t C, size_t n)
{
    return C * row_split_of(n).n_parts * 3 * sizeof(float);
}

/* --- bias gradients --- */

/* partial[part] = sum of a part of a row of dy(C, n), which is masked first if relu is given, then packed if asked. */
static __global__ void bias_parts_kernel(float *partial, struct conv_bias_grad g, struct row_split split)
{
    __shared__ float shared[BLOCK_WARPS];
    const struct row_part part = row_part_here(g.n, split);
    float *row = g.dy + part.row * g.n;
    const float *mask = g.relu != NULL ? g.relu + part.row * g.n : NULL;
    uint16_t *packed = g.dy_packed != NULL ? g.dy_packed + part.row * packed_ld(g.n) : NULL;
    const bool aligned = is_aligned16(row) && is_aligned16(mask);
    float sum = 0.0f;

    for (size_t i = part.begin + threadIdx.x * VECTOR_ELEMS; i < part.end; i += BLOCK_THREADS * VECTOR_ELEMS) {
        const size_t n_here = quad_elems(i, part.end);
        const bool wide = aligned && n_here == VECTOR_ELEMS;
        struct quad q = quad_load(row + i, n_here, wide);
        if (mask != NULL) {
            const struct quad m = quad_load(mask + i, n_here, wide);
#pragma unroll
            for (int k = 0; k < VECTOR_ELEMS; k++)
                q.v[k] = m.v[k] > 0.0f ? q.v[k] : 0.0f;
            quad_store(row + i, q, n_here, wide);
        }
        if (packed != NULL)
            operands_store_some(packed + i, q.v, n_here);
        sum += (q.v[0] + q.v[1]) + (q.v[2] + q.v[3]);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

static __global__ void bias_total_kernel(float *dbias, const float *partial, size_t C, size_t n_parts)
{
    for (size_t c = thread_index(); c < C; c += thread_stride()) {
        double sum = 0.0;
        for (size_t k = 0; k < n_parts; k++)
            sum += (double)partial[c * n_parts + k];
        dbias[c] = (float)sum;
    }
}

void cuda_conv_bias_grad(const struct conv_bias_grad *op, void *partial, cuda_stream stream)
{
    const struct row_split split = row_split_of(op->n);
    float *parts = (float *)partial;

    CUDA_LAUNCH_BARRIER(bias_parts_kernel, (unsigned)(op->C * split.n_parts), BLOCK_THREADS, stream, parts, *op, split);
    CUDA_LAUNCH(bias_total_kernel, blocks_for(op->C), BLOCK_THREADS, stream, op->dbias, parts, op->C, split.n_parts);
}

/* One block per element of dbias(n). */
static __global__ void bias_grad_kernel(float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    __shared__ float shared[BLOCK_WARPS];
    const size_t channel = blockIdx.x, n_elems = outer * inner;
    float sum = 0.0f;

    for (size_t i = threadIdx.x; i < n_elems; i += BLOCK_THREADS)
        sum += dy[(i / inner * n + channel) * inner + i % inner];
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        dbias[channel] += sum;
}

void cuda_bias_grad(float *dbias, const float *dy, size_t outer, size_t n, size_t inner, cuda_stream stream)
{
    if (outer * n * inner > 0)
        CUDA_LAUNCH_BARRIER(bias_grad_kernel, (unsigned)n, BLOCK_THREADS, stream, dbias, dy, outer, n, inner);
}

/* --- losses --- */

struct loss_part {
    double loss;
    uint64_t n_correct;
};

size_t cuda_loss_bytes(size_t n)
{
    return (n > MAX_SPLITS ? n : (size_t)MAX_SPLITS + 1) * sizeof(struct loss_part);
}

/* The largest value and its first index; a NaN is never larger. */
struct largest {
    float value;
    unsigned long long index;
};

static __device__ __forceinline__ struct largest larger_of(struct largest a, struct largest b)
{
    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

static __device__ __forceinline__ struct largest warp_largest(struct largest v)
{
#pragma unroll
    for (int distance = WARP_THREADS / 2; distance > 0; distance /= 2) {
        struct largest other;
        other.value = __shfl_down_sync(ALL_LANES, v.value, distance);
        other.index = __shfl_down_sync(ALL_LANES, v.index, distance);
        v = larger_of(v, other);
    }
    return v;
}

/* For thread 0. */
static __device__ __forceinline__ struct largest block_largest(struct largest v, struct largest *shared)
{
    const unsigned lane = threadIdx.x % WARP_THREADS, warp = threadIdx.x / WARP_THREADS;

    v = warp_largest(v);
    if (lane == 0)
        shared[warp] = v;
    __syncthreads();
    if (warp == 0)
        v = warp_largest(shared[lane < BLOCK_WARPS ? lane : 0]);
    return v;
}

/* logits(B, K), one block per row: maximum, sum of exponentials, loss, then the gradient. */
static __global__ void softmax_kernel(struct loss_part *part, struct softmax_xent op)
{
    __shared__ struct largest all[BLOCK_WARPS];
    __shared__ double sums[BLOCK_WARPS];
    __shared__ float top;
    __shared__ double total;
    const size_t K = op.K;
    const float *x = op.logits + blockIdx.x * K;
    struct largest best = { x[0], 0 };
    double sum = 0.0;

    for (size_t k = threadIdx.x; k < K; k += BLOCK_THREADS) {
        const struct largest here = { x[k], k };
        best = larger_of(best, here);
    }
    best = block_largest(best, all);
    if (threadIdx.x == 0)
        top = best.value;
    __syncthreads();
    for (size_t k = threadIdx.x; k < K; k += BLOCK_THREADS)
        sum += (double)expf(x[k] - top);
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0) {
        const size_t right = op.label[blockIdx.x];
        total = sum;
        part[blockIdx.x].loss = right < K ? log(sum) - ((double)x[right] - (double)top) : (double)NAN;
        part[blockIdx.x].n_correct = best.index == right ? 1 : 0;
    }
    __syncthreads();
    if (op.dlogits == NULL)
        return;
    for (size_t k = threadIdx.x; k < K; k += BLOCK_THREADS) {
        const double p = (double)expf(x[k] - top) / total - (k == op.label[blockIdx.x] ? 1.0 : 0.0);
        op.dlogits[blockIdx.x * K + k] = (float)((double)op.weight * p / (double)op.B);
    }
}

/* One block sums all parts. */
static __global__ void loss_total_kernel(double *loss, uint64_t *n_correct, const struct loss_part *part,
                                         size_t n_parts, double divisor)
{
    __shared__ double sums[BLOCK_WARPS];
    __shared__ unsigned long long counts[BLOCK_WARPS];
    double sum = 0.0;
    unsigned long long count = 0;

    for (size_t i = threadIdx.x; i < n_parts; i += BLOCK_THREADS) {
        sum += part[i].loss;
        count += part[i].n_correct;
    }
    sum = block_sum(sum, sums);
    count = block_sum(count, counts);
    if (threadIdx.x == 0) {
        *loss = sum / divisor;
        *n_correct = count;
    }
}

void cuda_softmax_xent(const struct softmax_xent *op, double *loss, uint64_t *n_correct, void *partial,
                       cuda_stream stream)
{
    struct loss_part *part = (struct loss_part *)partial;

    CUDA_LAUNCH_BARRIER(softmax_kernel, (unsigned)op->B, BLOCK_THREADS, stream, part, *op);
    CUDA_LAUNCH_BARRIER(loss_total_kernel, 1, BLOCK_THREADS, stream, loss, n_correct, part, op->B, (double)op->B);
}

/* One block per part of the n values, divided like a row. */
static __global__ void mean_square_kernel(struct loss_part *part, float *dy, const float *y, const float *target,
                                          size_t n, struct row_split split)
{
    __shared__ double shared[BLOCK_WARPS];
    const struct row_part here = row_part_here(n, split);
    double sum = 0.0;

    for (size_t i = here.begin + threadIdx.x; i < here.end; i += BLOCK_THREADS) {
        const float e = y[i] - target[i];
        sum += (double)e * (double)e;
        if (dy != NULL)
            dy[i] = 2.0f * e / (float)n;
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        part[blockIdx.x].loss = sum;
        part[blockIdx.x].n_correct = 0;
    }
}

void cuda_mean_square(double *loss, float *dy, const float *y, const float *target, size_t n, void *partial,
                      cuda_stream stream)
{
    const struct row_split split = row_split_of(n);
    struct loss_part *part = (struct loss_part *)partial;
    uint64_t *unused = &part[split.n_parts].n_correct;

    CUDA_LAUNCH_BARRIER(mean_square_kernel, (unsigned)split.n_parts, BLOCK_THREADS, stream, part, dy, y, target, n,
                        split);
    CUDA_LAUNCH_BARRIER(loss_total_kernel, 1, BLOCK_THREADS, stream, loss, unused, part, split.n_parts, (double)n);
}
